/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/skew.h -- who comes late, how late, and how reliably: statistics of a trace of arrivals.
 *
 * In every call one rank is the last (of several at the same time, the highest: the lower rank
 * counts as earlier). The *straggler* is the rank that is last most often (of several, the lowest);
 * where that one has no cause (see below), but others have, the latest of these: every rank is the
 * last now and then. The *delay* of a call is how far its last rank is behind the last but one:
 * that is the time in which a schedule for one late rank can work. Distributions have no confidence
 * intervals.
 *
 * Why is it late? A rank is *late* in a call if it comes behind the first quarter (lower quartile)
 * of the others by more than
 *   - 3 times what the earlier half of the ranks is apart in most calls,
 *   - 2.5 times what ranks that are seldom late are behind in 95 % of the calls (a quarter of the
 *     ranks are taken to be such), and
 *   - 2 times the clocks' error.
 * (The first quarter, not the middle: half of the ranks may be late.) If at least half of that came
 * about before its host made the call, the cause is the host; else it is the GPU, which was still
 * busy; unknown where hosts make their calls as far apart as that. A rank that comes with the
 * others and leaves late, by the same measure, has a slow network. A rank has a cause if it is late
 * in at least 2 % of the calls, 3 times as often as a quarter of the ranks are, and so often that
 * chance would not do it to any rank in 99 of 100 traces (Poisson, with the mean of the ranks that
 * are late less often); it is the one of most of these calls. Where nobody comes late, and somebody
 * leaves late, the one that does so most often is the straggler.
 */
#ifndef CS_TRACES_SKEW_H
#define CS_TRACES_SKEW_H

#include "base/statistics.h"
#include "cs/arrivals.h"
#include "traces/pattern.h"

typedef enum cs_late_cause {
    CS_LATE_NOT,     /* not late, or too little to tell */
    CS_LATE_UNKNOWN, /* late, and the trace does not tell host and GPU apart */
    CS_LATE_HOST,
    CS_LATE_GPU,
    CS_LATE_NETWORK,
    CS_LATE_CAUSES
} cs_late_cause;

/* "host", "gpu", "network"; NULL for the others. */
const char *cs_late_cause_name(cs_late_cause cause);

/* "its host makes the call late"; NULL where it is not late. */
const char *cs_late_cause_words(cs_late_cause cause);

typedef struct cs_skew_rank {
    cs_spread arrival_s;   /* behind the first of the call */
    double    wait_mean_s; /* until the last of the call has come: time that the rank loses */
    size_t    n_last;      /* calls in which it is the last */

    cs_late_cause cause;
    size_t        n_late[CS_LATE_CAUSES]; /* calls in which it is late by that cause */
    /* Means over all calls of how far it is behind the first quarter of the others: when its host
     * makes the call, when it comes, when it leaves; NAN: not known. */
    double called_s, came_s, left_s;
} cs_skew_rank;

/* Ranks of one server, or of one rail: the ranks that are the k-th of their servers. */
typedef struct cs_skew_part {
    uint32_t      n_ranks;
    size_t        n_late; /* calls x ranks in which these are late */
    double        came_s; /* the middle of its ranks' came_s */
    double        left_s; /* .. left_s */
    cs_late_cause cause;  /* that of most of its ranks, if more than half of them are late */
} cs_skew_part;

typedef struct cs_skew {
    uint32_t      n_ranks;
    size_t        n_calls;
    cs_skew_rank *ranks; /* [n_ranks] */
    uint32_t      straggler;
    double        last_ratio;   /* share of the calls in which the straggler is last */
    double        repeat_ratio; /* share of the calls whose last rank was last in the call before;
                                   NAN with one call */
    cs_spread delay_s;          /* last behind the last but one, >= 0 */
    cs_spread
        straggler_delay_s; /* straggler behind the last of the others when they come, or, if its
                              cause is the network, leave; negative where it is not the last */
    cs_spread spread_s;    /* last behind the first */
    cs_spread zero_wait_s; /* of each call, the shortest time inside: what it takes once all
                              are there; NAN where the time inside is not known */
    double end_spread_s;   /* largest difference between the ends of a call, with what is lost
                              by rounding; NAN as above */
    double    *delays_s;   /* [n_calls] the delays, sorted: their distribution */
    cs_pattern pattern; /* of how far the straggler comes (its network is slow: leaves) behind the
                           first quarter of the others; calls count from 0 */

    cs_skew_part *servers; /* [n_servers]; NULL: not known, or one server */
    uint32_t      n_servers;
    cs_skew_part *rails; /* [n_rails]; NULL: not known, or servers of different sizes */
    uint32_t      n_rails;
} cs_skew;

/* Compute everything. The caller owns the skew (cs_skew_free) on CS_OK.
 * O(entries + ranks calls log calls). */
CS_MUST_CHECK cs_status cs_skew_compute(const cs_arrival_trace *trace, cs_skew *skew_p,
                                        cs_error *err);

/* How far each rank is behind the first quarter of the others in one call: when it comes, or
 * (`is_left`, for traces with times inside) when it leaves. `late_s` and `sorted_s`, which is
 * scratch, have room for all ranks. O(ranks log ranks). */
void cs_skew_call(const cs_arrival_trace *trace, size_t call, bool is_left, double *late_s,
                  double *sorted_s);

/* `{0}` is allowed. */
void cs_skew_free(cs_skew *skew);

#endif
