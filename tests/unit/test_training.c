/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of training: what is saved, the same bits for any number of jobs and out of the file, memory
 * that runs out, and the example. */
#include "training_setup.h"

TestSuite(training, .init = set_up, .fini = tear_down);

/* Table 2 of StragglAR: 4.75 % of the time of 8 GPUs are 9.12 GPU-hours a day. */
Test(training, gpu_hours_are_those_of_table_2)
{
    double            base_s[] = {1, 2, 3, 4}, own_s[4], scratch[4];
    cs_samples        base = {.n = 4, .elapsed_s = base_s}, own = {.n = 4, .elapsed_s = own_s};
    cs_montecarlo_row row = {.ranks = 8};

    for (int i = 0; i < 4; i++) {
        own_s[i] = base_s[i] * (1 - 0.0475);
    }
    cs_training_compare(&own, &base, 0.95, scratch, &row);
    cr_expect_float_eq(row.saved_ratio.value, 0.0475, 1e-15);
    cr_expect_float_eq(row.gpu_hours_per_day.value, 9.12, 1e-12);
    cr_expect_float_eq(row.iteration_speedup, 1 / 0.9525, 1e-15);
    /* every pair has this ratio: nothing is uncertain, though the times differ */
    cr_expect_float_eq(row.gpu_hours_per_day.low, 9.12, 1e-12);
    cr_expect_float_eq(row.gpu_hours_per_day.high, 9.12, 1e-12);
    own_s[0] += 0.1;
    own_s[3] -= 0.1; /* the same mean; residuals of +-0.1 / 2.5, t(3) = 3.1824 */
    cs_training_compare(&own, &base, 0.95, scratch, &row);
    double half = 3.182446305 * sqrt(2 * 0.04 * 0.04 / 3) / 2;
    cr_expect_float_eq(row.saved_ratio.value, 0.0475, 1e-15);
    cr_expect_float_eq(row.saved_ratio.low, 0.0475 - half, 1e-9);
    cr_expect_float_eq(row.saved_ratio.high, 0.0475 + half, 1e-9);
    cr_expect_float_eq(row.gpu_hours_per_day.high, 192 * (0.0475 + half), 1e-7);
}

Test(training, rows_add_up)
{
    cs_config            *config  = random_job();
    cs_montecarlo_options options = options_of(4000, 2);
    cs_montecarlo_report  report  = run(config, &options);

    cr_assert_eq(report.n_rows, 5);
    for (size_t i = 0; i < 5; i++) {
        const cs_montecarlo_row *row = &report.rows[i], *base = &report.rows[0];
        cr_expect_eq(row->calls, 3);
        cr_expect_eq(row->bytes, 224000000);
        cr_expect_str_eq(row->workload, "");
        cr_expect_float_eq(row->tail_s, 1e-4, 1e-18);
        cr_expect_float_eq(row->exposed_ratio,
                           row->exposed_s.mean.value / row->elapsed_s.mean.value, 1e-15);
        cr_expect_float_eq(row->last_arrival_mean_s, base->last_arrival_mean_s, 1e-12);
        cr_expect_float_eq(row->last_arrival_mean_s,
                           row->elapsed_s.mean.value - row->exposed_s.mean.value - 1e-4, 1e-12);
        if (i > 0) {
            double ratio = 1 - row->elapsed_s.mean.value / base->elapsed_s.mean.value;
            cr_expect_float_eq(row->saved_ratio.value, ratio, 1e-14);
            cr_expect_float_eq(row->saved_s.mean.value, ratio * base->elapsed_s.mean.value, 1e-14);
            cr_expect_float_eq(row->gpu_hours_per_day.value, 8 * 24 * ratio, 1e-12);
            cr_expect_float_eq(row->iteration_speedup,
                               base->elapsed_s.mean.value / row->elapsed_s.mean.value, 1e-14);
            cr_expect_lt(row->saved_ratio.low, ratio);
            cr_expect_gt(row->saved_ratio.high, ratio);
            /* common random numbers: far sharper than the times themselves */
            double time_width = (row->elapsed_s.mean.high - row->elapsed_s.mean.low) / 2e-3;
            cr_expect(strcmp(row->algorithm, "rhd") != 0 ||
                      row->saved_ratio.high - row->saved_ratio.low < time_width / 10);
        } else {
            cr_expect(isnan(row->saved_ratio.value) && isnan(row->gpu_hours_per_day.value));
        }
    }
    cs_montecarlo_report_free(&report);
    cs_config_free(config);
}

Test(training, any_number_of_jobs_gives_the_same_bits)
{
    static const unsigned jobs[]  = {2, 3, 7};
    cs_config            *config  = random_job();
    cs_montecarlo_options options = options_of(1500, 1);

    ct_set(config, "sweep.montecarlo.prediction", "[\"static\", \"previous\", \"dynamic\"]");
    for (int replayed = 0; replayed < 2; replayed++) {
        options.jobs        = 1;
        options.is_replayed = replayed;
        cs_text want        = json_of_run(config, &options);
        for (int i = 0; i < 3; i++) {
            options.jobs = jobs[i];
            cs_text got  = json_of_run(config, &options);
            cr_assert_str_eq(got.data, want.data, "%u jobs", jobs[i]);
            cs_text_free(&got);
        }
        cs_text_free(&want);
    }
    cs_config_free(config);
}

Test(training, stopped_and_run_again_it_goes_on)
{
    cs_config            *config  = random_job();
    cs_montecarlo_options options = options_of(1000, 1);
    cs_text               want    = json_of_run(config, &options);
    uint64_t              at      = 2200;

    options.path                = path;
    options.progress            = stop_at;
    options.user                = &at;
    options.stop                = &stop;
    cs_montecarlo_report report = run(config, &options);
    cr_expect(report.count.is_stopped);
    cr_expect_eq(report.n_rows, 2);
    cs_montecarlo_report_free(&report);
    stop             = 0;
    options.progress = NULL;
    options.jobs     = 2;
    for (size_t pass = 0; pass < 2; pass++) { /* the second time all out of the file */
        cs_text got = json_of_run(config, &options);
        cr_expect_str_eq(got.data, want.data);
        cs_text_free(&got);
    }
    report = run(config, &options);
    cr_expect_eq(report.count.done_before, 5);
    cs_montecarlo_report_free(&report);
    ct_set(config, "training.overlap", "0.7"); /* another run */
    report = run(config, &options);
    cr_expect_eq(report.count.done_before, 0);
    cs_montecarlo_report_free(&report);
    cs_text_free(&want);
    cs_config_free(config);
}

Test(training, every_failed_allocation_is_clean)
{
    cs_config *config = random_job();

    fail_each_allocation(config, 20, false);
    cs_config_free(config);
}

/* A bucket that an algorithm refuses is a row with the reason. */
Test(training, what_cannot_be_run_is_a_row_with_the_reason)
{
    cs_config            *config  = job_config("ring");
    cs_montecarlo_options options = options_of(10, 1);

    ct_set(config, "sweep.algorithm.name", "[\"ring\", \"stragglar\"]");
    ct_set(config, "training.buckets", "[56000000, 3]");
    cs_montecarlo_report report = run(config, &options);
    cr_assert_eq(report.n_rows, 2);
    cr_expect_str_eq(report.rows[0].error, "");
    ct_set(config, "algorithm.options.straggler", "9");
    cs_montecarlo_report_free(&report);
    report = run(config, &options);
    cr_expect_eq(report.failed, 1);
    cr_expect_neq(report.rows[1].error[0], '\0');
    cr_expect_eq(report.rows[1].calls, 2);
    cs_text text = {0};
    cs_montecarlo_print(&text, report.rows, 2);
    cr_expect_not_null(strstr(text.data, report.rows[1].error));
    cs_text_free(&text);
    cs_montecarlo_report_free(&report);
    cs_config_free(config);
}

/* The example, of which all but the straggler is known in closed form. */
Test(training, the_example_is_run)
{
    cs_config            *config  = NULL;
    cs_error              err     = {0};
    cs_montecarlo_options options = options_of(4000, 2);
    double                bytes   = 3212749824.0 * 4;

    cr_assert_eq(cs_config_load(COLLSIM_SOURCE_DIR "/configs/training-llama.json", &config, &err),
                 CS_OK, "%s", err.message);
    cs_montecarlo_report     report = run(config, &options);
    const cs_montecarlo_row *whole = report.rows, *cut = report.rows + 5;
    cr_assert_eq(report.n_rows, 10);
    cr_expect_eq(report.failed, 0);
    cr_expect_str_eq(whole->workload, "llama-3.2-3b");
    cr_expect_eq(whole->calls, 1);
    cr_expect_float_eq(whole->exposed_s.mean.value, ring(bytes), 1e-12); /* whoever is late */
    cr_expect_float_eq(whole->exposed_s.p99.value, ring(bytes), 1e-12);
    cr_expect_eq(cut->calls, 491);
    cr_expect_eq(cut->bytes, whole->bytes);
    /* what 25 MiB take is hidden, but for the last bucket, which is smaller */
    double rest = bytes - 490.0 * (25 << 20);
    cr_expect_float_eq(cut->exposed_s.mean.value, ring(rest), 0.01 * ring(bytes));
    cr_expect_geq(cut->exposed_s.min, ring(rest) - 1e-12);
    for (int i = 0; i < 2; i++) { /* StragglAR saves on one large call, and loses on small ones */
        const cs_montecarlo_row *row = i == 0 ? whole + 4 : cut + 4;
        cr_expect_str_eq(row->algorithm, "stragglar");
        cr_expect_float_eq(row->hit_ratio, 0.9, 0.02);
        cr_expect(i == 0 ? row->gpu_hours_per_day.low > 0 : row->gpu_hours_per_day.high < 0);
    }
    /* persistence x (delay against the last of the others - what StragglAR takes longer) */
    double critical_s = cs_formula_critical_delay_exact(RANKS, 9, ALPHA, bytes / RATE);
    cr_expect_float_eq(whole[4].saved_s.mean.value, 0.9 * (29.5e-3 - critical_s), 0.5e-3);
    cs_montecarlo_report_free(&report);
    cs_config_free(config);
}
