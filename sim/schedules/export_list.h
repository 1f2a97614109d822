/* SPDX-License-Identifier: GPL-3.0-or-later */
/* schedules/export_list.h -- a recorded schedule for the writers of one format each. */
#ifndef CS_SCHEDULES_EXPORT_LIST_H
#define CS_SCHEDULES_EXPORT_LIST_H

#include "base/arena.h"
#include "cs/recording.h"
#include "schedules/export.h"

typedef struct cs_export_list {
    const cs_scenario  *scenario;
    const cs_algorithm *algorithm;
    const cs_plan      *plan;
    cs_recording        recording;   /* without times */
    bool                is_in_place; /* the same with every chunk in a slot of its own */
} cs_export_list;

/* What one rank does, in stream order: an exchange is a send and then a receive. */
typedef struct cs_export_op {
    size_t   transfer; /* the first part of the message; n_parts of them */
    uint32_t n_parts;
    uint32_t peer;
    bool     is_send;
    size_t   first_need, n_needs; /* of cs_export_ops.needs */
} cs_export_op;

typedef struct cs_export_ops {
    cs_export_op *ops;
    size_t        n_ops;
    size_t       *needs; /* operations that must have ended before */
    size_t        n_needs;
} cs_export_ops;

/* For each rank, the numbers of its transfers: those of rank r are index[begin[r]] to
 * index[begin[r + 1] - 1]. */
typedef struct cs_export_ranks {
    size_t *begin, *index;
} cs_export_ranks;

cs_status cs_export_sort_ranks(const cs_export_list *list, cs_arena *arena, cs_export_ranks *ranks,
                               cs_error *err);

/* What an operation is, and where chunks are kept. */
typedef enum cs_export_view {
    CS_EXPORT_MESSAGES, /* parts that join are one operation; chunks are in their slots */
    CS_EXPORT_IN_PLACE, /* every part is an operation; every chunk is in a place of its own */
} cs_export_view;

/* The operations of one rank and what each needs: the last writer of every place that it uses, and
 * who read the places that it writes. */
cs_status cs_export_rank_ops(const cs_export_list *list, const cs_export_ranks *ranks,
                             uint32_t rank, cs_export_view view, cs_arena *arena,
                             cs_export_ops *ops, cs_error *err);

/* Refuse what cannot be written in place, for a format that is named in the refusal. */
cs_status cs_export_check_in_place(const cs_export_list *list, const char *format,
                                   uint32_t most_ranks, cs_error *err);

/* The writers, and what draws. */
cs_status cs_export_svg(const cs_job *job, cs_text *out, cs_error *err);
cs_status cs_export_text(const cs_export_list *list, cs_text *out, cs_error *err);
cs_status cs_export_json(const cs_export_list *list, cs_text *out, cs_error *err);
cs_status cs_export_msccl(const cs_export_list *list, cs_text *out, cs_error *err);
cs_status cs_export_mscclpp(const cs_export_list *list, cs_text *out, cs_error *err);
cs_status cs_export_goal(const cs_export_list *list, cs_text *out, cs_error *err);

#endif
