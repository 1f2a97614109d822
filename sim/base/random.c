/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Seeded streams on gsl_rng_mt19937.
 *
 * The generator takes a seed of 32 bits: the mixed hash of seed and name is folded to that.
 * The gsl_rng is built by hand, from the public members of its struct, because
 * gsl_rng_alloc() calls GSL's error handler (which aborts by default) when out of memory.
 *
 * Source: M. Matsumoto and T. Nishimura, "Mersenne Twister", ACM TOMACS 8 (1998);
 * FNV-1a: G. Fowler, L. C. Noll, K.-P. Vo.
 */
#include "base/random.h"

#include "base/alloc.h"

#include <string.h>

gsl_rng *cs_random_stream(uint64_t seed, const char *name)
{
    gsl_rng *stream = CS_NEW(gsl_rng, 1);
    void    *state  = cs_calloc(1, gsl_rng_mt19937->size);

    if (stream == NULL || state == NULL) {
        cs_free(stream);
        cs_free(state);
        return NULL;
    }
    stream->type  = gsl_rng_mt19937;
    stream->state = state;
    cs_random_restart(stream, seed, name);
    return stream;
}

void cs_random_restart(gsl_rng *stream, uint64_t seed, const char *name)
{
    uint64_t hash = cs_mix64(cs_mix64(seed) ^ cs_hash_text(name));
    gsl_rng_set(stream, (unsigned long)((hash ^ hash >> 32) & 0xffffffffu));
}

uint64_t cs_hash_text(const char *text)
{
    return cs_hash_bytes(text, strlen(text));
}

uint64_t cs_hash_bytes(const void *data, size_t bytes)
{
    return cs_hash_add(CS_HASH_BASIS, data, bytes);
}

uint64_t cs_hash_add(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;

    for (size_t i = 0; i < bytes; i++) {
        hash = (hash ^ at[i]) * 0x100000001b3u;
    }
    return hash;
}
