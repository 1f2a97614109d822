/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/skew.h -- who comes late, how late, and how reliably: statistics of a trace of arrivals.
 *
 * In every call one rank is the last (of several at the same time, the highest: the lower rank
 * counts as earlier). The *straggler* is the rank that is last most often (of several, the
 * lowest). The *delay* of a call is how far its last rank is behind the last but one: that is the
 * time in which a schedule for one late rank can work. Distributions have no confidence intervals.
 */
#ifndef CS_TRACES_SKEW_H
#define CS_TRACES_SKEW_H

#include "base/statistics.h"
#include "cs/arrivals.h"

typedef struct cs_skew_rank {
    cs_spread arrival_s;   /* behind the first of the call */
    double    wait_mean_s; /* until the last of the call has come: time that the rank loses */
    size_t    n_last;      /* calls in which it is the last */
} cs_skew_rank;

typedef struct cs_skew {
    uint32_t      n_ranks;
    size_t        n_calls;
    cs_skew_rank *ranks; /* [n_ranks] */
    uint32_t      straggler;
    double        last_ratio;    /* share of the calls in which the straggler is last */
    double        repeat_ratio;  /* share of the calls whose last rank was last in the call before;
                                    NAN with one call */
    cs_spread delay_s;           /* last behind the last but one, >= 0 */
    cs_spread straggler_delay_s; /* straggler behind the last of the others; negative where
                                    it is not the last */
    cs_spread spread_s;          /* last behind the first */
    cs_spread zero_wait_s;       /* of each call, the shortest time inside: what it takes once all
                                    are there; NAN where the time inside is not known */
    double end_spread_s;         /* largest difference between the ends of a call, with what is lost
                                    by rounding; NAN as above */
    double *delays_s;            /* [n_calls] the delays, sorted: their distribution */
} cs_skew;

/* Compute everything. The caller owns the skew (cs_skew_free) on CS_OK.
 * O(entries + ranks calls log calls). */
CS_MUST_CHECK cs_status cs_skew_compute(const cs_arrival_trace *trace, cs_skew *skew_p,
                                        cs_error *err);

/* `{0}` is allowed. */
void cs_skew_free(cs_skew *skew);

#endif
