/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/pattern/stragglar_options.h -- what stragglar may be asked for, and what that comes to
 * in a scenario: which rank is late, or how many are; how many chunks there are; which rounds, in
 * which port model, and which pre-phase.
 */
#ifndef CS_ALGORITHMS_PATTERN_STRAGGLAR_OPTIONS_H
#define CS_ALGORITHMS_PATTERN_STRAGGLAR_OPTIONS_H

#include "algorithms/pattern/late_layout.h"
#include "algorithms/pattern/late_main.h"
#include "algorithms/pattern/late_number.h"

typedef enum cs_stragglar_model {
    CS_STRAGGLAR_AUTO,
    CS_STRAGGLAR_TELEPHONE,
    CS_STRAGGLAR_DUPLEX
} cs_stragglar_model;

typedef struct cs_stragglar_options {
    CS_LATE_OPTIONS;
    int      model;  /* cs_stragglar_model; resolved, only the last two */
    uint32_t chunks; /* 0: n - 1 */
    int      prephase;
    int      variant;
    int      ties;       /* cs_matching_ties */
    uint32_t late_ranks; /* k; 0: the baseline runs */
    uint32_t late_roots;
    int      baseline; /* cs_late_baseline */
    uint32_t steps;    /* not in the table: what a main phase takes whose rounds are searched for */
} cs_stragglar_options;

/* Of the main phase, if chunks are asked for beyond the paper's n - 1: a minute at 40 million
 * messages a second (alpha-beta, verified). */
#define CS_STRAGGLAR_MOST_MESSAGES ((uint64_t)1 << 31)

extern const cs_field cs_stragglar_table[];

/* Replace what is CS_AUTO or 0 for "as in the paper", and plan the schedule. Refused is what does
 * not exist or does not go together. Rounds that are searched for (odd numbers of ranks in the
 * telephone model, appendix E, several late ranks) are made for it. */
cs_status cs_stragglar_resolve(const cs_scenario *scenario, cs_stragglar_options *options,
                               cs_plan *plan, cs_error *err);

/* The following take resolved options. */

/* Where the rounds of the main phase come from. */
cs_late_source cs_stragglar_source(uint32_t n, const cs_stragglar_options *options);

/* Rounds of the main phase after which all is done if all ranks move in lockstep. */
uint32_t cs_stragglar_steps(uint32_t n, const cs_stragglar_options *options);

/* Owners and slots of one late rank's schedule. */
cs_late_layout cs_stragglar_layout(const cs_scenario          *scenario,
                                   const cs_stragglar_options *options);

/* The choice that belongs to another number of late ranks than one. */
cs_late_number cs_stragglar_number(const cs_stragglar_options *options);

#endif
