/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who is presumed late, in one place for Monte Carlo and for traces; and that a delay of days
 * leaves the time after the last arrival all its digits in both. */
#include "scenario/late_prediction.h"

#include "campaign/trace_whatif.h"
#include "campaign/trial.h"
#include "cs/arrivals.h"
#include "support/config.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { RANKS = 8, LATE = 3 };

#define ALPHA     3e-6
#define BANDWIDTH 300e9
#define BYTES     56e6 /* divides by 7 and by 8 */
#define DAYS_S    9e5

static const double ring_s = 14 * (ALPHA + BYTES / 8 / BANDWIDTH);
static const double main_s = 9 * (ALPHA + BYTES / 7 / BANDWIDTH); /* after the pre-phase */

static cs_config *config_of(const char *algorithm)
{
    cs_config *config = NULL;

    cr_assert_eq(cs_config_new(&config, NULL), CS_OK);
    ct_set(config, "cluster.nic", "{\"bandwidth\": \"300GB/s\", \"alpha\": \"3us\"}");
    ct_set(config, "bytes", "56000000");
    if (algorithm != NULL) {
        ct_set(config, "algorithm.name", algorithm);
    }
    return config;
}

static cs_trial trial_of(const char *algorithm, const char *policy, const double *arrival_s)
{
    cs_config *config = config_of(algorithm);
    cs_case    c      = {0};
    cs_trials  trials = {0};
    cs_trial   trial  = {0};
    cs_error   err    = {0};

    ct_set(config, "montecarlo", policy);
    cr_assert_eq(cs_config_case(config, 0, &c, &err), CS_OK, "%s", err.message);
    cr_assert_eq(cs_trials_open(&c, false, false, &trials, &err), CS_OK, "%s", err.message);
    cr_assert_eq(cs_trial_run(&trials, arrival_s, 0, &trial, &err), CS_OK, "%s", err.message);
    cs_trials_close(&trials);
    cs_case_free(&c);
    cs_config_free(config);
    return trial;
}

/* 900000 s have 33 bits before the 20 that are left for a fraction of a second. */
Test(late_prediction, a_trial_keeps_its_digits_behind_a_long_delay)
{
    double   arrival_s[RANKS] = {[LATE] = DAYS_S};
    cs_trial ring             = trial_of("ring", "{}", arrival_s);
    cs_trial late             = trial_of("stragglar", "{\"prediction\": \"oracle\"}", arrival_s);

    cr_expect_float_eq(ring.exposed_s, ring_s, 1e-12 * ring_s, "%.17g", ring.exposed_s);
    cr_expect_float_eq(late.exposed_s, main_s, 1e-12 * main_s, "%.17g", late.exposed_s);
    cr_expect(ring.was_replayed && late.was_replayed, "the closed form has too few digits");
    arrival_s[LATE] = 1e-3;
    ring            = trial_of("ring", "{}", arrival_s);
    cr_expect_float_eq(ring.exposed_s, ring_s, 1e-12 * ring_s);
    cr_expect_not(ring.was_replayed);
    arrival_s[LATE] = 0; /* the fallback after a long wait for another rank */
    arrival_s[5]    = DAYS_S;
    late            = trial_of("stragglar",
                               "{\"prediction\": \"static\", \"presumed\": 3, \"fallback\": \"ring\"}",
                               arrival_s);
    cr_expect(late.fell_back);
    cr_expect_float_eq(late.exposed_s, ring_s, 1e-12 * ring_s);
}

static const cs_trace_line *find(const cs_trace_report *report, const char *algorithm,
                                 cs_prediction policy)
{
    for (size_t i = 0; i < report->n_lines; i++) {
        const cs_trace_line *line = &report->lines[i];
        if (strcmp(line->algorithm, algorithm) == 0 && line->policy == policy) {
            return line;
        }
    }
    cr_assert_fail("no line of %s", algorithm);
    return NULL;
}

Test(late_prediction, a_trace_keeps_its_digits_behind_a_long_delay)
{
    double                   arrivals[2 * RANKS] = {[LATE] = DAYS_S, [RANKS + LATE] = DAYS_S / 2};
    static const char *const names[]             = {"stragglar"};
    const cs_arrival_trace   trace   = {.n_ranks = RANKS, .n_calls = 2, .arrival_s = arrivals};
    const cs_trace_options   options = {
          .algorithms = names, .n_algorithms = 1, .bytes = (uint64_t)BYTES, .period_s = (double)NAN};
    cs_trace_report report = {0};
    cs_error        err    = {0};
    cs_config      *config = config_of(NULL);

    cr_assert_eq(cs_trace_whatif(config, &trace, &options, &report, &err), CS_OK, "%s",
                 err.message);
    const cs_trace_line *ring = find(&report, "ring", CS_PREDICTION_NONE);
    const cs_trace_line *late = find(&report, "stragglar", CS_PREDICTION_STATIC);
    cr_expect_float_eq(ring->exposed_s, ring_s, 1e-12 * ring_s, "%.17g", ring->exposed_s);
    cr_expect_float_eq(late->exposed_s, main_s, 1e-12 * main_s, "%.17g", late->exposed_s);
    cr_expect_float_eq(late->saved_s.value, ring_s - main_s, 1e-12 * ring_s);
    cs_trace_report_free(&report);
    cs_config_free(config);
}

static uint32_t option_after(const char *name, cs_prediction prediction, uint32_t known,
                             const double *arrival_s, uint32_t *rank_p)
{
    const cs_algorithm *algorithm = NULL;
    cs_options          options;

    cr_assert_eq(cs_algorithm_find(name, &algorithm, NULL), CS_OK);
    cs_fields_default(algorithm->options, &options);
    cs_late_prediction p = cs_late_prediction_of(algorithm, prediction);
    cr_assert_not_null(p.straggler);
    *rank_p = cs_predict_late(&p, arrival_s, RANKS, known, &options);
    return cs_late_option(algorithm, &options);
}

Test(late_prediction, what_is_known_beforehand_and_what_is_found_out)
{
    const double        arrival_s[RANKS] = {0, 2, 1, 0.5, 2, 0, 0, 0}; /* 1 and 4 are the last */
    uint32_t            rank             = 0;
    const cs_algorithm *ring             = NULL;

    cr_expect_eq(option_after("stragglar", CS_PREDICTION_STATIC, 6, arrival_s, &rank), 6);
    cr_expect_eq(rank, 6);
    cr_expect_eq(option_after("stragglar", CS_PREDICTION_PREVIOUS, 2, arrival_s, &rank), 2);
    cr_expect_eq(rank, 2);
    cr_expect_eq(option_after("stragglar", CS_PREDICTION_ORACLE, 6, arrival_s, &rank), CS_AUTO);
    cr_expect_eq(rank, 4);
    cr_expect_eq(option_after("broadcast", CS_PREDICTION_DYNAMIC, 6, arrival_s, &rank), CS_AUTO);
    cr_expect_eq(rank, 4);
    cr_expect_eq(cs_behind_others_s(arrival_s, RANKS, 4), 0);
    cr_expect_eq(cs_behind_others_s(arrival_s, RANKS, 2), -1);
    cr_expect_eq(cs_behind_others_s(arrival_s, 4, 1), 1);
    cr_assert_eq(cs_algorithm_find("ring", &ring, NULL), CS_OK);
    cr_expect_null(cs_late_prediction_of(ring, CS_PREDICTION_STATIC).straggler);
}

/* In the order of their arrivals, of those that come together the lowest first. */
Test(late_prediction, ranks_by_arrival)
{
    enum { MOST = 40 };
    double   arrival_s[MOST];
    uint32_t ranks[MOST];

    for (uint32_t n = 1; n <= MOST; n++) {
        for (uint32_t r = 0; r < n; r++) {
            arrival_s[r] = (r * 7919 + n) % 11;
        }
        cs_ranks_by_arrival(arrival_s, n, ranks);
        for (uint32_t i = 1; i < n; i++) {
            double before_s = arrival_s[ranks[i - 1]], here_s = arrival_s[ranks[i]];
            cr_assert(before_s < here_s || (before_s == here_s && ranks[i - 1] < ranks[i]));
        }
        cr_expect_eq(ranks[n - 1], cs_last_of_arrivals(arrival_s, n));
        cs_ranks_by_arrival(NULL, n, ranks);
        for (uint32_t i = 0; i < n; i++) {
            cr_assert_eq(ranks[i], i);
        }
    }
}
