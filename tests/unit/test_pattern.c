/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Planted patterns of lateness are found, and noise is none. */
#include "base/alloc.h"
#include "support/rng.h"
#include "traces/pattern.h"

#include <criterion/criterion.h>
#include <math.h>

enum { MOST = 3000 };

static double late_s[MOST];

/* About normal, of standard deviation 1. */
static double noise(ct_rng *rng)
{
    double sum = -6;
    for (int i = 0; i < 12; i++) {
        sum += ct_uniform(rng, 0, 1);
    }
    return sum;
}

static cs_pattern found(size_t n)
{
    cs_pattern p;
    cr_assert_eq(cs_pattern_find(late_s, n, &p, NULL), CS_OK);
    return p;
}

Test(pattern, noise_is_steady)
{
    ct_rng rng = ct_rng_for(1701);

    for (int i = 0; i < 300; i++) {
        size_t n      = 20 + ct_below(&rng, 600);
        double mean_s = ct_uniform(&rng, 0, 10);
        for (size_t k = 0; k < n; k++) {
            late_s[k] = mean_s + noise(&rng);
        }
        cs_pattern p = found(n);
        cr_expect_eq(p.kind, CS_PATTERN_STEADY, "%d: %zu calls: %s", i, n, cs_pattern_name(p.kind));
        cr_expect_eq(p.n_changes, 0);
        cr_expect_float_eq(p.mean_s[0], mean_s, 1.5);
        cr_expect(isnan(p.slope_s_per_call));
    }
}

Test(pattern, every_so_many_calls)
{
    ct_rng rng = ct_rng_for(1702);

    for (int i = 0; i < 100; i++) {
        size_t period = 2 + ct_below(&rng, 30), n = 8 * period + 20 + ct_below(&rng, 200);
        size_t first = ct_below(&rng, (uint32_t)period);
        for (size_t k = 0; k < n; k++) {
            late_s[k] = (k % period == first ? 40 : 0) + noise(&rng);
        }
        cs_pattern p = found(n);
        cr_expect_eq(p.kind, CS_PATTERN_PERIODIC, "%d: period %zu of %zu: %s", i, period, n,
                     cs_pattern_name(p.kind));
        cr_expect_eq(p.period_calls, period, "%d: period %zu: %zu", i, period, p.period_calls);
    }
}

Test(pattern, growing)
{
    ct_rng rng = ct_rng_for(1703);

    for (int i = 0; i < 100; i++) {
        size_t n     = 60 + ct_below(&rng, 800);
        double slope = ct_uniform(&rng, 10, 40) / (double)n * (i % 2 == 0 ? 1 : -1);
        for (size_t k = 0; k < n; k++) {
            late_s[k] = 50 + slope * (double)k + noise(&rng);
        }
        cs_pattern p = found(n);
        cr_expect_eq(p.kind, CS_PATTERN_DRIFTING, "%d: %s", i, cs_pattern_name(p.kind));
        cr_expect_float_eq(p.slope_s_per_call, slope, 0.1 * fabs(slope));
    }
}

Test(pattern, from_some_call_on)
{
    ct_rng rng = ct_rng_for(1704);

    for (int i = 0; i < 100; i++) {
        size_t n = 100 + ct_below(&rng, 800), a = 10 + ct_below(&rng, (uint32_t)n / 3);
        size_t b = a + n / 3, n_steps = 1 + (size_t)i % 2;
        for (size_t k = 0; k < n; k++) {
            late_s[k] = (k < a ? 1 : n_steps == 1 || k < b ? 30 : 3) + noise(&rng);
        }
        cs_pattern p = found(n);
        cr_expect_eq(p.kind, CS_PATTERN_CHANGING, "%d: %s", i, cs_pattern_name(p.kind));
        cr_assert_eq(p.n_changes, n_steps, "%d: %zu changes, %zu planted", i, p.n_changes, n_steps);
        cr_expect_eq(p.change[0], a, "%d: call %zu, not %zu", i, p.change[0], a);
        cr_expect(n_steps == 1 || p.change[1] == b);
        cr_expect_float_eq(p.mean_s[1], 30, 1);
    }
}

Test(pattern, the_smallest_and_the_flat)
{
    for (size_t n = 1; n < 40; n++) {
        for (size_t k = 0; k < n; k++) {
            late_s[k] = 5;
        }
        cs_pattern p = found(n);
        cr_expect_eq(p.kind, CS_PATTERN_STEADY, "%zu: %s", n, cs_pattern_name(p.kind));
        cr_expect_eq(p.mean_s[0], 5);
    }
    for (long passes = 0; passes < 2; passes++) {
        cs_pattern p;
        cs_alloc_fail_after(passes);
        cs_status status = cs_pattern_find(late_s, 30, &p, NULL);
        cs_alloc_fail_after(-1);
        cr_expect_eq(status, CS_ENOMEM);
    }
}
