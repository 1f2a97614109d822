/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fingerprints of runs: what changes the rows changes them, what does not does not. */
#include "montecarlo_setup.h"

static uint64_t print_of(const cs_config *config, const cs_montecarlo_options *options)
{
    uint64_t fingerprint = 0;
    cs_error err         = {0};

    cr_assert_eq(cs_montecarlo_fingerprint(config, options, &fingerprint, &err), CS_OK, "%s",
                 err.message);
    return fingerprint;
}

Test(montecarlo_fingerprint, a_fingerprint_tells_runs_apart)
{
    cs_config            *config = random_config();
    cs_montecarlo_options base   = options_of(600, 1), other[8];
    uint64_t              want   = 0;
    cs_error              err    = {0};

    ct_set(config, "sweep.bytes", "[1000, 2000, 3000, 1000003]");
    base.path = "a.db";
    want      = print_of(config, &base);
    for (int i = 0; i < 8; i++) {
        other[i] = base;
    }
    other[0].iterations  = 601;
    other[1].sampling    = CS_SAMPLING_SOBOL;
    other[2].confidence  = 0.96;
    other[3].baseline    = "rhd";
    other[4].is_replayed = true;
    other[5].is_verified = true;
    other[6].path        = NULL;
    for (int i = 0; i < 7; i++) {
        cr_expect_neq(print_of(config, &other[i]), want, "%d", i);
    }
    other[7].jobs     = 9; /* what may differ */
    other[7].path     = "b.db";
    other[7].baseline = "ring";
    cr_expect_eq(print_of(config, &other[7]), want);
    ct_set(config, "sweep.bytes", "[1000, 2000, 3000, 1000004]");
    cr_expect_neq(print_of(config, &base), want);
    base.iterations = 0;
    cr_expect_eq(cs_montecarlo_fingerprint(config, &base, &want, &err), CS_EINVAL);
    cr_expect_str_eq(err.where, "--iterations");
    cs_config_free(config);
}
