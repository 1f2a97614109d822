/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Draws of random arrivals, and a distribution of every kind. */
#ifndef CS_TESTS_ARRIVALS_SETUP_H
#define CS_TESTS_ARRIVALS_SETUP_H

#include "base/alloc.h"
#include "cs/arrival_process.h"

#include <criterion/criterion.h>

enum { N = 8, DRAWS = 20000 };

static const double values[] = {0.5, 1, 1, 4};

static const cs_distribution samples[] = {
    {.kind = CS_DISTRIBUTION_UNIFORM, .shift_s = 1, .scale_s = 3},
    {.kind = CS_DISTRIBUTION_EXPONENTIAL, .scale_s = 2},
    {.kind = CS_DISTRIBUTION_NORMAL, .shift_s = 5, .scale_s = 1},
    {.kind = CS_DISTRIBUTION_NORMAL, .shift_s = 0.5, .scale_s = 2},
    {.kind = CS_DISTRIBUTION_NORMAL, .shift_s = 0, .scale_s = 1},
    {.kind = CS_DISTRIBUTION_LOGNORMAL, .scale_s = 3, .shape = 0.5},
    {.kind = CS_DISTRIBUTION_GAMMA, .scale_s = 2, .shape = 0.3},
    {.kind = CS_DISTRIBUTION_GAMMA, .scale_s = 0.5, .shape = 7},
    {.kind = CS_DISTRIBUTION_WEIBULL, .scale_s = 2, .shape = 1.5},
    {.kind = CS_DISTRIBUTION_PARETO, .scale_s = 2, .shape = 6},
    {.kind = CS_DISTRIBUTION_EMPIRICAL, .value_s = values, .n_values = 4},
};
enum { N_SAMPLES = sizeof samples / sizeof samples[0] };

/* Draws of one process, iteration by iteration: [n][n_ranks]. */
static inline double *draw(const cs_arrival_process *p, uint32_t n_ranks, uint64_t seed, size_t n,
                           cs_sampling sampling)
{
    cs_arrival_sampler *sampler = NULL;
    cs_arrival_stream  *stream  = NULL;
    cs_error            err     = {0};
    double             *all     = CS_NEW(double, n *n_ranks);

    cr_assert_eq(cs_arrival_sampler_open(p, n_ranks, seed, n, sampling, &sampler, &err), CS_OK,
                 "%s", err.message);
    cr_assert_eq(cs_arrival_stream_open(sampler, &stream, &err), CS_OK);
    for (size_t i = 0; i < n; i++) {
        cs_arrival_draw(stream, i, all + i * n_ranks);
    }
    cs_arrival_stream_close(stream);
    cs_arrival_sampler_close(sampler);
    return all;
}

#endif
