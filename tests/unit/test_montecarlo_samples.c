/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Draws of iterations: closed forms against replays, and where there is which. */
#include "montecarlo_setup.h"

TestSuite(montecarlo_samples, .init = set_up, .fini = tear_down);

static void expect_agreement(const cs_case *c)
{
    enum { ITERATIONS = 600 };
    cs_samples formula = samples_of(c, ITERATIONS, false), replay = samples_of(c, ITERATIONS, true);

    cr_expect_eq(replay.n_replays, ITERATIONS);
    for (size_t k = 0; k < ITERATIONS; k++) {
        double want = replay.elapsed_s[k];
        cr_assert_float_eq(formula.elapsed_s[k], want, 1e-12 * want, "%s: %zu: %.17g, not %.17g",
                           c->algorithm->name, k, formula.elapsed_s[k], want);
        cr_assert_float_eq(formula.exposed_s[k], replay.exposed_s[k], 1e-12 * want);
    }
    cs_samples_free(&formula);
    cs_samples_free(&replay);
}

/* Every AllReduce of the registry that runs on 8 ranks. */
Test(montecarlo_samples, closed_forms_and_replays_agree)
{
    static const char *const predictions[] = {"\"oracle\"", "\"static\"", "\"previous\"",
                                              "\"dynamic\""};
    cs_config               *config        = random_config();
    size_t                   count         = 0;

    ct_set(config, "montecarlo.agreement", "\"20us\"");
    for (size_t i = 0; cs_algorithms[i] != NULL; i++) {
        ct_set(config, "algorithm.name", cs_algorithms[i]->name);
        for (size_t p = 0; p < 4; p++) {
            ct_set(config, "montecarlo.prediction", predictions[p]);
            cs_case c = ct_case(config, 0);
            cs_plan plan;
            if (c.algorithm->check(&c.scenario, &c.options, &plan, NULL) == CS_OK) {
                cs_fields_default(c.algorithm->options, &c.options);
                expect_agreement(&c);
                count++;
            }
            cs_case_free(&c);
        }
    }
    cr_expect_geq(count, 20);
    cs_config_free(config);
}

/* These have one for equal chunks. */
Test(montecarlo_samples, closed_forms_are_used)
{
    cs_config *config = random_config();

    for (size_t i = 0; i < cs_config_count(config); i++) {
        cs_case    c       = ct_case(config, i);
        cs_samples samples = samples_of(&c, 300, false);
        cr_expect_eq(samples.n_replays, 0, "%s", c.algorithm->name);
        cs_samples_free(&samples);
        cs_case_free(&c);
    }
    cs_config_free(config);
}

/* Where the bytes do not split, there is no closed form, and the replay takes over. */
Test(montecarlo_samples, without_a_closed_form_it_replays)
{
    cs_config *config = random_config();

    ct_set(config, "bytes", "1000003");
    cs_montecarlo_options options = options_of(300, 1);
    cs_montecarlo_report  report  = run(config, &options);
    cr_expect_str_eq(report.rows[4].algorithm, "stragglar");
    cr_expect_eq(report.rows[4].replays, 300);
    cr_expect(report.rows[4].verified);
    cs_montecarlo_report_free(&report);
    cs_config_free(config);
}

/* Verification reaches every iteration: none fails here, and each is replayed. */
Test(montecarlo_samples, every_iteration_can_be_verified)
{
    cs_config            *config  = random_config();
    cs_montecarlo_options options = options_of(300, 2);

    options.is_verified         = true;
    cs_montecarlo_report report = run(config, &options);
    for (size_t i = 0; i < report.n_rows; i++) {
        cr_expect_eq(report.rows[i].replays, 300);
        cr_expect(report.rows[i].verified);
    }
    cs_montecarlo_report_free(&report);
    cs_config_free(config);
}
