/* SPDX-License-Identifier: GPL-3.0-or-later */
/* base/random.h -- seeded, named random streams on GSL's generators.
 *
 * One stream per purpose: the same (seed, name) gives the same numbers on any machine and
 * for any number of threads; GSL_RNG_* in the environment is ignored. The generator is
 * gsl_rng_mt19937, seeded with a hash of seed and name.
 */
#ifndef CS_BASE_RANDOM_H
#define CS_BASE_RANDOM_H

#include "cs/error.h"

#include <gsl/gsl_rng.h>
#include <stdint.h>

/* A new stream; the caller owns it (gsl_rng_free). NULL when out of memory. */
gsl_rng *cs_random_stream(uint64_t seed, const char *name);

/* Make an existing stream the one of (seed, name), from its begin. */
void cs_random_restart(gsl_rng *stream, uint64_t seed, const char *name);

/* The next number of the stream, strictly between 0 and 1. */
static inline double cs_random_uniform(gsl_rng *stream)
{
    return ((double)gsl_rng_get(stream) + 0.5) * 0x1p-32;
}

/* A well-mixed 64-bit word of `x` (splitmix64's finaliser): for hashes, not for sampling. */
static inline uint64_t cs_mix64(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* FNV-1a of a text, and of any bytes; cs_hash_add() goes on with a hash, at first CS_HASH_BASIS. */
#define CS_HASH_BASIS UINT64_C(0xcbf29ce484222325)
uint64_t cs_hash_text(const char *text);
uint64_t cs_hash_bytes(const void *data, size_t bytes);
uint64_t cs_hash_add(uint64_t hash, const void *data, size_t bytes);

#endif
