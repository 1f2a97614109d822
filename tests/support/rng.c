/* SPDX-License-Identifier: GPL-3.0-or-later */
/* splitmix64 by Sebastiano Vigna (public domain), see rng.h. */
#include "support/rng.h"

#include <stdlib.h>

uint64_t ct_seed(void)
{
    const char *text = getenv("COLLSIM_SEED");
    return text != NULL ? strtoull(text, NULL, 10) : 1;
}

ct_rng ct_rng_for(uint64_t salt)
{
    ct_rng rng = {ct_seed() * 0x2545f4914f6cdd1du + salt};

    (void)ct_word(&rng);
    return rng;
}

uint64_t ct_word(ct_rng *rng)
{
    uint64_t z = rng->state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint32_t ct_below(ct_rng *rng, uint32_t limit)
{
    return (uint32_t)((ct_word(rng) >> 32) * limit >> 32);
}

double ct_uniform(ct_rng *rng, double low, double high)
{
    return low + (high - low) * ((double)(ct_word(rng) >> 11) / 9007199254740992.0);
}
