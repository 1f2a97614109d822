/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/ras.h -- what NCCL's RAS says of a running job as JSON (`ncclras -f json`, NCCL 2.28.7 and
 * later): who does not answer, and whose counts of collectives are behind the others'.
 *
 * A count that is behind is normal for a moment: ranks come at different times. Two snapshots tell:
 * where ranks are behind in both, and nobody has made another call between them, the communicator
 * hangs, and those who are behind, or do not answer, are who it waits for.
 */
#ifndef CS_TRACES_RAS_H
#define CS_TRACES_RAS_H

#include "base/arena.h"
#include "base/text.h"
#include "traces/arrival_file.h"

enum { CS_RAS_MOST_KINDS = 16 };

typedef enum cs_ras_state {
    CS_RAS_ANSWERS,
    CS_RAS_UNRESPONSIVE, /* not reached */
    CS_RAS_DEAD,         /* not reached for so long that RAS has given it up */
    CS_RAS_STATES
} cs_ras_state;

/* A rank; texts live in the arena. */
typedef struct cs_ras_rank {
    uint32_t     rank;
    const char  *host;     /* "": not said */
    int64_t      pid, gpu; /* -1: not said */
    cs_ras_state state;
    bool         is_starting, has_failed; /* its communicator is not ready; an asynchronous error */
    uint64_t     counts[CS_RAS_MOST_KINDS]; /* of the report's kinds */
    uint64_t     behind; /* calls of all kinds less than the rank with the most; 0 if missing */
} cs_ras_rank;

typedef struct cs_ras_comm {
    const char  *hash;
    uint32_t     size;
    cs_ras_rank *ranks; /* [n_ranks] those that answer and those that do not, by number */
    size_t       n_ranks, n_behind, n_missing;
    bool         is_stuck; /* in both snapshots, and nobody moved */
} cs_ras_comm;

/* The last snapshot, judged by the one before it. */
typedef struct cs_ras_report {
    cs_arena     arena;
    const char  *version, *time;           /* "": not said */
    const char  *kinds[CS_RAS_MOST_KINDS]; /* "AllReduce", .. */
    size_t       n_kinds, n_snapshots;
    cs_ras_comm *comms;
    size_t       n_comms;
} cs_ras_report;

/* Does a file begin as such a snapshot? What cannot be read does not. */
bool cs_ras_is_file(const char *path);
bool cs_ras_is(const char *text, size_t length);

/* Read one snapshot, or several of the same job in any order: the last two by their time stamps
 * count. The caller owns the report (cs_ras_free) on CS_OK. Errors carry file, line and column.
 * O(size of the texts). */
CS_MUST_CHECK cs_status cs_ras_read(const cs_arrival_text *texts, size_t n, cs_ras_report *report_p,
                                    cs_error *err);

/* The same from files. */
CS_MUST_CHECK cs_status cs_ras_load(const char *const *paths, size_t n, cs_ras_report *report_p,
                                    cs_error *err);

void cs_ras_free(cs_ras_report *report);

/* For people: what is wrong, and who to look at; and one object for programs. */
void cs_ras_table(const cs_ras_report *report, cs_text *text);
void cs_ras_json(const cs_ras_report *report, cs_text *text);

#endif
