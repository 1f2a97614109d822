/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Draws of iterations: closed forms against replays, and where there is which. */
#include "montecarlo_setup.h"
#include "support/rng.h"

TestSuite(montecarlo_samples, .init = set_up, .fini = tear_down);

static void expect_agreement(const cs_case *c)
{
    enum { ITERATIONS = 600 };
    cs_samples formula = samples_of(c, ITERATIONS, false), replay = samples_of(c, ITERATIONS, true);

    cr_expect_eq(replay.n_replays + replay.n_fallbacks, ITERATIONS);
    for (size_t k = 0; k < ITERATIONS; k++) {
        double want = replay.elapsed_s[k];
        cr_assert_float_eq(formula.elapsed_s[k], want, 1e-12 * want, "%s: %zu: %.17g, not %.17g",
                           c->job.algorithm->name, k, formula.elapsed_s[k], want);
        cr_assert_float_eq(formula.exposed_s[k], replay.exposed_s[k], 1e-12 * want);
    }
    cs_samples_free(&formula);
    cs_samples_free(&replay);
}

/* Every AllReduce of the registry that runs on 8 ranks. */
Test(montecarlo_samples, closed_forms_and_replays_agree)
{
    static const char *const predictions[] = {"\"oracle\"", "\"static\"", "\"previous\"",
                                              "\"dynamic\"", "\"adaptive\""};
    cs_config               *config        = random_config();
    size_t                   count         = 0;

    ct_set(config, "montecarlo.agreement", "\"20us\"");
    for (size_t i = 0; cs_algorithms[i] != NULL; i++) {
        ct_set(config, "algorithm.name", cs_algorithms[i]->name);
        for (size_t p = i % CT_EVERY; p < 5; p += CT_EVERY) {
            ct_set(config, "montecarlo.prediction", predictions[p]);
            cs_case c   = ct_case(config, 0);
            cs_job  job = c.job;
            if (cs_job_resolve(&job, NULL) == CS_OK) {
                expect_agreement(&c);
                count++;
            }
            cs_job_release(&job);
            cs_case_free(&c);
        }
    }
    cr_expect_geq(count, 20 / CT_EVERY);
    cs_config_free(config);
}

/* These have one for equal chunks. */
Test(montecarlo_samples, closed_forms_are_used)
{
    cs_config *config = random_config();

    for (size_t i = 0; i < cs_config_count(config); i++) {
        cs_case    c       = ct_case(config, i);
        cs_samples samples = samples_of(&c, 300, false);
        cr_expect_eq(samples.n_replays, 0, "%s", c.job.algorithm->name);
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

/* Iterations of several sizes are those of each size by itself. */
Test(montecarlo_samples, every_iteration_is_of_its_case)
{
    static const size_t case_of[] = {0, 1, 1, 0, 2, 0, 1, 2};
    enum { ITERATIONS = sizeof case_of / sizeof case_of[0], CASES = 3 };
    cs_config *config = random_config();
    cs_case    cases[CASES];
    cs_samples alone[CASES], mixed = {0};
    cs_error   err = {0};

    ct_set(config, "sweep", "{\"bytes\": [56000000, 1000003, 1073741816]}");
    ct_set(config, "algorithm.name", "stragglar");
    for (size_t i = 0; i < CASES; i++) {
        cases[i] = ct_case(config, i);
        alone[i] = samples_of(&cases[i], ITERATIONS, false);
    }
    for (unsigned jobs = 1; jobs < 4; jobs += 2) {
        const cs_sampling_request request = {
            .iterations = ITERATIONS, .case_of = case_of, .n_cases = CASES, .jobs = jobs};
        cr_assert_eq(cs_samples_draw(cases, &request, &mixed, &err), CS_OK, "%s", err.message);
        for (size_t k = 0; k < ITERATIONS; k++) {
            cr_expect_eq(mixed.elapsed_s[k], alone[case_of[k]].elapsed_s[k], "%zu", k);
            cr_expect_eq(mixed.exposed_s[k], alone[case_of[k]].exposed_s[k], "%zu", k);
        }
        cs_samples_free(&mixed);
    }
    for (size_t i = 0; i < CASES; i++) {
        cs_samples_free(&alone[i]);
        cs_case_free(&cases[i]);
    }
    cs_config_free(config);
}
