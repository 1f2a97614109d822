/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A measured trace in many iterations: in order it has as many as calls and no more, so that no
 * interval counts a call twice; drawn anew it has any number. */
#include "campaign/trace_whatif.h"
#include "montecarlo_setup.h"
#include "traces/arrival_file.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CALLS = 200, SHORT_CALLS = 20, RANKS = 8 }; /* CALLS: of generated-arrivals8.csv */

static cs_config *in_order(void)
{
    cs_config *config = ct_config_example("montecarlo-trace");

    ct_set(config, "arrivals.trace.pick", "in-order");
    ct_set(config, "sweep", "{\"algorithm.name\": [\"ring\", \"stragglar\"]}");
    ct_set(config, "montecarlo", "{\"prediction\": \"static\", \"presumed\": 5}");
    return config;
}

Test(montecarlo_trace, no_more_iterations_in_order_than_calls)
{
    cs_config            *config  = in_order();
    cs_montecarlo_options options = options_of(CALLS + 1, 1);
    cs_montecarlo_report  report  = {0};
    cs_error              err     = {0};
    uint64_t              number  = 0;

    cr_expect_eq(cs_montecarlo_run(config, &options, &report, &err), CS_EINVAL);
    cr_expect_str_eq(err.where, "--iterations");
    cr_expect_str_eq(err.message,
                     "201 are more than the 200 calls of the trace, which are taken in order: "
                     "accepted are at most 200, or any number with arrivals.trace.pick=resample");
    cr_expect_eq(cs_montecarlo_fingerprint(config, &options, &number, NULL), CS_EINVAL);
    options = options_of(CALLS, 1);
    report  = run(config, &options);
    cr_expect_eq(report.rows[0].iterations, CALLS);
    cs_montecarlo_report_free(&report);
    options = options_of(CALLS + 1, 1);
    ct_set(config, "arrivals.trace.pick", "resample");
    report = run(config, &options);
    cr_expect_eq(report.rows[0].iterations, CALLS + 1);
    cs_montecarlo_report_free(&report);
    cs_config_free(config);
}

/* What is left to the program: every call once, in the row and in what the row is kept under. */
Test(montecarlo_trace, a_number_that_nobody_gave_is_that_of_the_calls)
{
    cs_config            *config = in_order();
    cs_montecarlo_options given = options_of(CALLS, 1), left = options_of(10000, 1),
                          few = options_of(9, 1);
    uint64_t keys[2]          = {0, 0};

    left.takes_fewer = few.takes_fewer = true;
    cs_montecarlo_report want = run(config, &given), got = run(config, &left);
    for (size_t i = 0; i < 2; i++) {
        cr_expect_eq(got.rows[i].iterations, CALLS);
        cr_expect_eq(got.rows[i].exposed_s.mean.high, want.rows[i].exposed_s.mean.high);
        cr_expect_eq(isnan(got.rows[i].saved_s.mean.value), i == 0);
        cr_assert_eq(cs_montecarlo_fingerprint(config, i == 0 ? &given : &left, &keys[i], NULL),
                     CS_OK);
    }
    cr_expect_eq(got.rows[1].saved_s.mean.low, want.rows[1].saved_s.mean.low);
    cr_expect_eq(keys[0], keys[1]);
    cs_montecarlo_report_free(&want);
    cs_montecarlo_report_free(&got);
    got = run(config, &few);
    cr_expect_eq(got.rows[0].iterations, 9);
    cs_montecarlo_report_free(&got);
    cs_config_free(config);
}

/* A trace of few calls of ranks 0 .. RANKS-1 that come one microsecond after the other. */
static void write_trace(const char *trace_path)
{
    FILE *file = fopen(trace_path, "w");

    cr_assert_not_null(file);
    fputs("iteration,rank,arrival_s,bytes\n", file);
    for (int call = 0; call < SHORT_CALLS; call++) {
        for (int r = 0; r < RANKS; r++) {
            fprintf(file, "%d,%d,%g,1048576\n", call, r, call + (r + call) % RANKS * 1e-6);
        }
    }
    cr_assert_eq(fclose(file), 0);
}

/* A sweep over traces: each has its own number, and the table says which. */
Test(montecarlo_trace, every_trace_of_a_sweep_has_its_own_number)
{
    cs_config            *config       = in_order();
    cs_montecarlo_options options      = options_of(10000, 1);
    char                  trace_path[] = "/tmp/cs_short_trace_XXXXXX", axis[1200];
    int                   file         = mkstemp(trace_path);
    cs_text               table        = {0};
    cs_error              err          = {0};
    cs_montecarlo_report  report       = {0};

    cr_assert_geq(file, 0);
    cr_assert_eq(close(file), 0);
    write_trace(trace_path);
    snprintf(axis, sizeof axis, "[\"%s/traces/generated-arrivals8.csv\", \"%s\"]",
             COLLSIM_SOURCE_DIR, trace_path);
    ct_set(config, "sweep", "{\"algorithm.name\": [\"ring\"]}");
    ct_set(config, "sweep.arrivals.trace.path", axis);
    options.takes_fewer = true;
    report              = run(config, &options);
    cr_expect_eq(report.rows[0].iterations, CALLS);
    cr_expect_eq(report.rows[1].iterations, SHORT_CALLS);
    cs_montecarlo_print(&table, report.rows, report.n_rows);
    cr_expect_not_null(strstr(table.data, "# 200 iterations (random)"));
    cr_expect_not_null(strstr(table.data, "# 20 iterations (random)"));
    cs_text_free(&table);
    cs_montecarlo_report_free(&report);
    options.sampling = CS_SAMPLING_SOBOL; /* 16 copies of two points each are the least */
    cr_expect_eq(cs_montecarlo_run(config, &options, &report, &err), CS_EINVAL);
    cr_expect_str_eq(err.message,
                     "20 are too few for 16 shifted sequences: accepted are 32 and more");
    cr_assert_eq(remove(trace_path), 0);
    cs_config_free(config);
}

/* ---- what a trace would have saved is the same study ---- */

static cs_trace_report whatif(void)
{
    static const char *const names[] = {"stragglar"};
    const cs_trace_options   options = {.algorithms   = names,
                                        .n_algorithms = 1,
                                        .bytes        = 512u << 20,
                                        .period_s     = (double)NAN,
                                        .agreement_s  = 20e-6,
                                        .jobs         = 3};
    cs_arrival_trace         trace   = {0};
    cs_trace_report          report  = {0};
    cs_config               *config  = NULL;
    cs_error                 err     = {0};

    cr_assert_eq(
        cs_arrival_file_load(COLLSIM_SOURCE_DIR "/traces/generated-arrivals8.csv", &trace, &err),
        CS_OK, "%s", err.message);
    cr_assert_eq(cs_config_new(&config, NULL), CS_OK);
    ct_set(config, "cluster.nic", "{\"bandwidth\": \"300GB/s\", \"alpha\": \"3us\"}");
    cr_assert_eq(cs_trace_whatif(config, &trace, &options, &report, &err), CS_OK, "%s: %s",
                 err.where, err.message);
    cs_config_free(config);
    cs_arrival_trace_free(&trace);
    return report;
}

static void expect_same(const cs_trace_line *line, const cs_montecarlo_row *row)
{
    double scale_s = row->exposed_s.mean.value;

    cr_expect_str_eq(line->algorithm, row->algorithm);
    cr_expect_float_eq(line->exposed_s, scale_s, 1e-12 * scale_s, "%s", row->prediction);
    if (line->policy != CS_PREDICTION_NONE) {
        cr_expect_str_eq(cs_prediction_name(line->policy), row->prediction);
        cr_expect_float_eq(line->saved_s.value, row->saved_s.mean.value, 1e-12 * scale_s);
        cr_expect_float_eq(line->won_ratio, row->win_ratio, 1e-15);
    }
}

Test(montecarlo_trace, in_order_it_saves_what_the_trace_would_have_saved)
{
    static const char *const policies[] = {
        "{\"prediction\": \"static\", \"presumed\": 5}",
        "{\"prediction\": \"dynamic\", \"agreement\": \"20us\"}",
        "{\"prediction\": \"adaptive\", \"presumed\": 5, \"agreement\": \"20us\"}"};
    static const cs_prediction predictions[] = {CS_PREDICTION_STATIC, CS_PREDICTION_DYNAMIC,
                                                CS_PREDICTION_ADAPTIVE};
    cs_trace_report            trace         = whatif();

    cr_assert_eq(trace.straggler, 5);
    for (int p = 0; p < 3; p++) {
        cs_config            *config  = in_order();
        cs_montecarlo_options options = options_of(CALLS, 1);
        size_t                n_found = 0;
        ct_set(config, "montecarlo", policies[p]);
        cs_montecarlo_report report = run(config, &options);
        for (size_t i = 0; i < trace.n_lines; i++) {
            const cs_trace_line *line = &trace.lines[i];
            if (line->policy == CS_PREDICTION_NONE || line->policy == predictions[p]) {
                expect_same(line, &report.rows[line->policy == CS_PREDICTION_NONE ? 0 : 1]);
                n_found++;
            }
        }
        cr_expect_eq(n_found, 2);
        cs_montecarlo_report_free(&report);
        cs_config_free(config);
    }
    cs_trace_report_free(&trace);
}
