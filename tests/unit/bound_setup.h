/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scenarios for the tests of bounds, and what the bounds say of them. */
#ifndef CS_TESTS_BOUND_SETUP_H
#define CS_TESTS_BOUND_SETUP_H

#include "cs/bound.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { MOST_RANKS = 64 };

/* A scenario with its memory. One healthy NIC port moves 1e9 B/s. */
typedef struct bench {
    cs_scenario      scenario;
    cs_bound_context context;
    double           arrival_s[MOST_RANKS];
    cs_capacity      capacity[MOST_RANKS];
} bench;

static inline bench *new_bench(bench *b, uint32_t n, uint32_t g, double x_s, double alpha_s)
{
    *b = (bench){
        .scenario = {.bytes   = (uint64_t)(x_s * 1e9),
                     .cluster = {.n_ranks         = n,
                                 .gpus_per_server = g,
                                 .fabrics         = {{CS_SWITCHED, alpha_s, 1e9},
                                                     {CS_SWITCHED, alpha_s / 4, 8e9}}}},
        .context  = {.latency_s         = {alpha_s, alpha_s / 4},
                     .alpha_holds_port  = true,
                     .alpha_per_message = true},
    };
    b->scenario.arrival_s = b->arrival_s;
    b->scenario.capacity  = b->capacity;
    b->context.scenario   = &b->scenario;
    return b;
}

/* In the order of ranks. */
static inline bench *slow_down(bench *b, uint32_t rank, double ratio)
{
    b->capacity[b->scenario.n_capacity++] = (cs_capacity){rank, ratio, 0, (double)INFINITY};
    return b;
}

static inline double bound_of(const bench *b, const char *name)
{
    for (const cs_bound *const *bound = cs_bounds; *bound != NULL; bound++) {
        if (strcmp((*bound)->name, name) == 0) {
            return (*bound)->seconds(&b->context);
        }
    }
    cr_assert_fail("no bound %s", name);
    return (double)NAN;
}

static inline void expect_bound(const bench *b, const char *name, double want)
{
    double got = bound_of(b, name);
    cr_expect(fabs(got - want) <= 1e-12 * fabs(want), "%s: %.17g, want %.17g", name, got, want);
}

static inline void expect_best(const bench *b, const char *name, double want)
{
    const char *best;
    double      got = cs_best_bound(&b->context, &best);
    cr_expect(fabs(got - want) <= 1e-12 * want, "best: %.17g, want %.17g", got, want);
    cr_expect_str_eq(best, name);
}

static inline void expect_silent(const bench *b, const char *name)
{
    cr_expect(isnan(bound_of(b, name)), "%s speaks: %g", name, bound_of(b, name));
}

#endif
