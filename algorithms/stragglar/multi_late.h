/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/multi_late.h -- StragglAR with another number of late ranks than one: none,
 * when a plain AllReduce of all ranks runs (the baseline), or several.
 *
 * Several: the k ranks that arrive last (of those that arrive together the highest) are late. The
 * others reduce among themselves by a circulant ReduceScatter as soon as the last of them has come;
 * label c mod (n - k) then owns chunk c. The rounds of multi_late_rounds.h follow, made for the
 * arrivals in rounds of alpha + x/C after the moment at which there is something to do. There are
 * no barriers: every rank goes on as soon as its data and ports allow, so the replay is never later
 * than the rounds one after the other, and who is a little later than its round delays only those
 * that it meets. Early ranks have labels in increasing order, late ones in the order of their
 * arrival. The chunks of an owner are neighbours in the buffer; chunk number = slot number.
 *
 * How many: for every k the schedule with the shortest predicted end wins; predictions are those of
 * alpha-beta for rounds one after the other. Schedules for k >= 2 have to be made to know their
 * rounds. They are made in the order of a bound from below on their end, until the bound says that
 * nothing better can come: first for those k where the late ranks come later than the others, then
 * for the rest, 24 of each at most, and no more than CS_MULTI_LATE_MOST_WORK together.
 *
 * Source: this project (sim/doc/stragglar.md).
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_MULTI_LATE_H
#define CS_ALGORITHMS_STRAGGLAR_MULTI_LATE_H

#include "algorithms/lib/baseline.h"

/* What was asked for, and after cs_multi_late_choose() what it came to. */
typedef struct cs_multi_late_choice {
    uint32_t    late;     /* k, or CS_AUTO */
    uint32_t    chunks;   /* 0 or CS_AUTO: the best number */
    uint32_t    roots;    /* as in cs_multi_late_shape, or CS_AUTO */
    cs_baseline baseline; /* or CS_BASELINE_AUTO */
    uint32_t    segments; /* of the baseline; CS_AUTO means 1 */
} cs_multi_late_choice;

/* A schedule for several late ranks: made once, for any number of streams. The caller of what makes
 * one frees it; NULL is allowed. It keeps nothing of the scenario. */
typedef struct cs_multi_late_schedule cs_multi_late_schedule;

void cs_multi_late_free(cs_multi_late_schedule *schedule);

/* Make one of a shape (below). Output only on CS_OK; CS_EINTERNAL when its rounds are wrong. */
struct cs_multi_late_shape;
cs_status cs_multi_late_make(const cs_scenario *scenario, const struct cs_multi_late_shape *shape,
                             cs_multi_late_schedule **schedule_p, cs_error *err);

/* Its rounds, and the late ranks in the order of their labels n - k .. n - 1; borrowed. */
struct cs_label_rounds;
const struct cs_label_rounds *cs_multi_late_rounds_of(const cs_multi_late_schedule *schedule);
const uint32_t               *cs_multi_late_order(const cs_multi_late_schedule *schedule);

/* Replace what is CS_AUTO. `one_s` is the end that is predicted for one late rank, for k = auto,
 * which may come to 1; then the rest is left as it is. Refused: k >= n, several late ranks of more
 * than CS_MULTI_LATE_MOST_RANKS, chunks that n - k does not divide. *schedule_p becomes the
 * schedule where it had to be made for the choice, else NULL. */
cs_status cs_multi_late_choose(const cs_scenario *scenario, double one_s,
                               cs_multi_late_choice *choice, cs_multi_late_schedule **schedule_p,
                               cs_error *err);

/* The plan of a choice that has been made and is not 1. Where several are late and *schedule_p is
 * NULL, the schedule is made and put there. */
cs_status cs_multi_late_plan(const cs_scenario *scenario, cs_multi_late_choice *choice,
                             cs_plan *plan, cs_multi_late_schedule **schedule_p, cs_error *err);

/* A stream of the schedule, which is borrowed, or without one (nobody is late) of the baseline;
 * cs_multi_late_close() it (NULL is allowed), also after a failure. `next` fills the empty block;
 * nothing at the end. */
typedef struct cs_multi_late_stream cs_multi_late_stream;

cs_status cs_multi_late_open(const cs_scenario *scenario, const cs_multi_late_choice *choice,
                             const cs_multi_late_schedule *schedule,
                             cs_multi_late_stream **stream_p, cs_error *err);
void      cs_multi_late_next(cs_multi_late_stream *stream, cs_block *block);
void      cs_multi_late_close(cs_multi_late_stream *stream);

/* The baseline's closed form; NAN with several late ranks, who overlap as they come. */
double cs_multi_late_closed_form_s(const cs_scenario *scenario, const cs_multi_late_choice *choice);

/* What is fixed before a schedule for several late ranks is made. */
typedef struct cs_multi_late_shape {
    uint32_t late;  /* k; 1 <= k < n */
    uint32_t parts; /* chunks per early rank: (n - k) parts in all */
    uint32_t roots; /* roots x k / (10 n) of the chunks have a late root */
} cs_multi_late_shape;

/* The best shape with k in [least_late, most_late] that ends before `limit_s`. On entry `shape`
 * says what is fixed: parts and roots, CS_AUTO where they are free. On CS_OK shape_p->late is 0
 * when there is none, and *schedule_p is its schedule if that had to be made, else NULL.
 * O(tries x the making of a schedule). */
cs_status cs_multi_late_choose_shape(const cs_scenario *scenario, uint32_t least_late,
                                     uint32_t most_late, double limit_s,
                                     cs_multi_late_shape     *shape_p,
                                     cs_multi_late_schedule **schedule_p, cs_error *err);

#endif
