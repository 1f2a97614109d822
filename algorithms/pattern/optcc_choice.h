/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/pattern/optcc_choice.h -- which OptCC schedule runs, or which ring instead.
 *
 * The schedule goes around servers: the slow ones, those whose NICs are slow for the whole run.
 * `auto` takes what ends first:
 *
 *   with slow servers   the best schedule around them (optcc_time.h), or the fastest ring
 *                       (fallback.h) on the degraded NICs
 *   without             the fastest ring, or, where start-ups take a good part of its time, a
 *                       schedule around servers that are not slow, if that saves more of them
 *
 * With slow servers nothing runs that ends before what `auto` takes without a fault: predictions
 * and numbers of sections being what they are, a lucky choice of few bytes could.
 * Predicted times decide where they are far enough apart, otherwise the scenario's forecast.
 */
#ifndef CS_ALGORITHMS_PATTERN_OPTCC_CHOICE_H
#define CS_ALGORITHMS_PATTERN_OPTCC_CHOICE_H

#include "algorithms/pattern/optcc_time.h"
#include "cs/algorithm.h"

enum { CS_OPTCC_CHOSEN_AUTO, CS_OPTCC_CHOSEN_OPTCC, CS_OPTCC_CHOSEN_RINGS /* and on: cs_rings */ };
enum { CS_OPTCC_MOST_SLOW = 4096 };

typedef struct cs_optcc_options {
    uint32_t segments, rounds, sections, ramp;
    int      bubbles; /* auto, on, off */
    uint32_t copies;
    uint32_t around; /* servers that the schedule goes around; 0: a ring runs */
    int      chosen;
} cs_optcc_options;

extern const cs_field cs_optcc_table[];

/* Resolve the options and make the plan; refuse what cannot be. */
cs_status cs_optcc_resolve(const cs_scenario *scenario, cs_optcc_options *options, cs_plan *plan,
                           cs_error *err);

/* The `around` servers, ascending, and their slowdowns (either may be NULL): the slow ones and, if
 * these are fewer, the first of the others. `around` = 0: the slow ones. Returns how many there
 * are; CS_OPTCC_MOST_SLOW means that there may be more. O(faults squared + servers). */
uint32_t cs_optcc_servers_around(const cs_scenario *scenario, uint32_t around, uint32_t *servers,
                                 double *ratios);

/* The shape of resolved options that are not a ring's. */
cs_optcc_shape cs_optcc_resolved_shape(const cs_scenario      *scenario,
                                       const cs_optcc_options *options);

#endif
