/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/support/rng.h -- random numbers for tests: splitmix64, written apart from the library's.
 * COLLSIM_SEED=N in the environment runs every random test with another seed. */
#ifndef CT_SUPPORT_RNG_H
#define CT_SUPPORT_RNG_H

#include <stdint.h>

typedef struct ct_rng {
    uint64_t state;
} ct_rng;

/* Every so many'th of the random cases is tried, so many of n: all; with sanitizers, which make
 * them five to ten times slower and look for other faults, a quarter. scripts/test lets a build
 * without them try all. */
#ifdef __SANITIZE_ADDRESS__
enum { CT_EVERY = 4 };
#else
enum { CT_EVERY = 1 };
#endif
#define CT_CASES(n) (((n) + CT_EVERY - 1) / CT_EVERY)

/* The seed of this run: COLLSIM_SEED, or 1. */
uint64_t ct_seed(void);

/* A generator for one purpose: `salt` keeps the purposes apart. */
ct_rng ct_rng_for(uint64_t salt);

uint64_t ct_word(ct_rng *rng);

/* An integer in [0, limit); limit >= 1. */
uint32_t ct_below(ct_rng *rng, uint32_t limit);

/* A number in [low, high). */
double ct_uniform(ct_rng *rng, double low, double high);

#endif
