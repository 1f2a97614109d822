/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random streams: the same numbers for ever, others for other names and seeds. The expected
 * numbers were computed apart from this code (FNV-1a, splitmix64, MT19937 from the papers). */
#include "base/alloc.h"
#include "base/random.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static void check_first(uint64_t seed, const char *name, const unsigned long expected[3])
{
    gsl_rng *stream = cs_random_stream(seed, name);

    cr_assert_not_null(stream);
    for (int i = 0; i < 3; i++) {
        unsigned long value = gsl_rng_get(stream);
        cr_assert_eq(value, expected[i], "%s: number %d is %lu", name, i, value);
    }
    gsl_rng_free(stream);
}

Test(random, pinned_numbers)
{
    check_first(1, "arrivals", (unsigned long[]){3130641754, 3878128385, 3461377203});
    check_first(1, "faults", (unsigned long[]){564679019, 3775576743, 2292980822});
    check_first(2, "arrivals", (unsigned long[]){1133047411, 1855240576, 3807359900});
}

Test(random, the_environment_is_ignored)
{
    cr_assert_eq(setenv("GSL_RNG_SEED", "12345", 1), 0);
    cr_assert_eq(setenv("GSL_RNG_TYPE", "taus", 1), 0);
    check_first(1, "arrivals", (unsigned long[]){3130641754, 3878128385, 3461377203});
}

Test(random, hashes)
{
    cr_assert(cs_hash_text("") == UINT64_C(0xcbf29ce484222325));
    cr_assert(cs_hash_text("a") == UINT64_C(0xaf63dc4c8601ec8c));
    cr_assert(cs_hash_text("foobar") == UINT64_C(0x85944171f73967e8));
    cr_assert(cs_mix64(0) == UINT64_C(0xe220a8397b1dcdaf));
}

Test(random, a_clone_is_freed_like_a_stream)
{
    gsl_rng *stream = cs_random_stream(3, "clone");
    cr_assert_not_null(stream);
    gsl_rng *clone = gsl_rng_clone(stream);
    cr_assert_not_null(clone);
    cr_assert_eq(gsl_rng_get(clone), gsl_rng_get(stream));
    gsl_rng_free(clone);
    gsl_rng_free(stream);
}

Test(random, memory_runs_out)
{
    for (long passes = 0; passes < 2; passes++) {
        cs_alloc_fail_after(passes);
        gsl_rng *stream = cs_random_stream(1, "x");
        cs_alloc_fail_after(-1);
        cr_assert_null(stream);
    }
}
