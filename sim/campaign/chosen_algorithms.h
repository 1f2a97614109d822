/* SPDX-License-Identifier: GPL-3.0-or-later */
/* campaign/chosen_algorithms.h -- the algorithms that a what-if sets beside each other, each once,
 * in the order in which they were added. */
#ifndef CS_CAMPAIGN_CHOSEN_ALGORITHMS_H
#define CS_CAMPAIGN_CHOSEN_ALGORITHMS_H

#include "cs/algorithm.h"
#include "study/config.h"

enum { CS_MOST_CHOSEN_ALGORITHMS = 128 };

/* `{.n = 0}` is empty. */
typedef struct cs_chosen_algorithms {
    const char *names[CS_MOST_CHOSEN_ALGORITHMS]; /* those of the registry: static storage */
    size_t      n;
} cs_chosen_algorithms;

/* Add one; `option` is called where there is none of that name. */
CS_MUST_CHECK cs_status cs_chosen_algorithms_add(cs_chosen_algorithms *list, const char *name,
                                                 const char *option, cs_error *err);

/* Add all that do one of these collectives: bit 1 << cs_collective. */
CS_MUST_CHECK cs_status cs_chosen_algorithms_add_all(cs_chosen_algorithms *list,
                                                     uint32_t collectives, cs_error *err);

/* Sweep a configuration over them: options that only some of them have are left out for others. */
CS_MUST_CHECK cs_status cs_chosen_algorithms_sweep(const cs_chosen_algorithms *list,
                                                   cs_config *config, cs_error *err);

#endif
