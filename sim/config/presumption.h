/* SPDX-License-Identifier: GPL-3.0-or-later */
/* config/presumption.h -- which rank an algorithm presumes late in a call, and what its ranks pay
 * to agree on it.
 *
 * An algorithm presumes a rank where it has the option `straggler`. At the barrier
 * `entry_barrier_s`, where it has that, the early ranks can agree on who is missing.
 */
#ifndef CS_CONFIG_PRESUMPTION_H
#define CS_CONFIG_PRESUMPTION_H

#include "config/montecarlo_json.h"

/* How one algorithm presumes; rows of its options. `{0}`: it presumes nobody. */
typedef struct cs_presumption {
    const cs_field *straggler; /* NULL: it presumes nobody */
    const cs_field *entry;     /* NULL: there is no such barrier */
    cs_prediction   prediction;
    double          agreement_s; /* what the barrier costs more */
} cs_presumption;

/* That of an algorithm that agrees at no cost. */
CS_API cs_presumption cs_presumption_of(const cs_algorithm *algorithm, cs_prediction prediction);

/* The rank that the options name, or CS_AUTO: none, or the algorithm presumes nobody. */
CS_API uint32_t cs_presumption_option(const cs_algorithm *algorithm, const cs_options *options);

/* Write into the options what the call is to be run with, and return who is presumed late: `known`
 * where the prediction is static or previous, else the last of the arrivals (ties: the highest).
 * Only where the algorithm presumes somebody. O(n_ranks). */
CS_API uint32_t cs_presume(const cs_presumption *presumption, const double *arrival_s,
                           uint32_t n_ranks, uint32_t known, cs_options *options);

#endif
