/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fits with known answers, calibrations and their JSON. */
#include "base/alloc.h"
#include "base/file.h"
#include "base/random.h"
#include "config/calibration_json.h"
#include "traces/calibrate.h"
#include "traces/fit.h"
#include "traces/plain_text.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#ifndef COLLSIM_SOURCE_DIR
#define COLLSIM_SOURCE_DIR "."
#endif

enum { MAX_POINTS = 64 };

typedef struct truth {
    uint64_t limit_bytes;
    double   intercept_s, rate_Bps;
} truth;

static double true_time(const truth *regimes, uint64_t bytes)
{
    while (bytes > regimes->limit_bytes) {
        regimes++;
    }
    return regimes->intercept_s + (double)bytes / regimes->rate_Bps;
}

/* Sizes 1 KiB, 2 KiB, ... up to `last`, with relative noise of a fixed seed. */
static size_t make_points(const truth *regimes, uint64_t last, double noise, cs_point *points)
{
    gsl_rng *random = cs_random_stream(7, "points");
    size_t   n      = 0;

    for (uint64_t bytes = 1024; bytes <= last; bytes *= 2) {
        double factor = 1 + noise * (2 * gsl_rng_uniform(random) - 1);
        points[n++]   = (cs_point){bytes, true_time(regimes, bytes) * factor};
    }
    gsl_rng_free(random);
    return n;
}

static const truth two[]   = {{1 << 20, 30e-6, 20e9}, {1ull << 33, 100e-6, 120e9}};
static const truth three[] = {
    {1 << 16, 14e-6, 17e9}, {1 << 24, 31e-6, 74e9}, {1ull << 33, 90e-6, 134e9}};

static cs_fit fit_of(const truth *regimes, double noise)
{
    cs_point points[MAX_POINTS];
    size_t   n   = make_points(regimes, 1ull << 33, noise, points);
    cs_fit   fit = {0};
    cs_error err = {0};

    cr_assert_eq(cs_fit_regimes(points, n, 0, &fit, &err), CS_OK, "%s", err.message);
    return fit;
}

static void check_exact(const truth *regimes, size_t n_regimes)
{
    cs_fit fit = fit_of(regimes, 0);

    cr_assert_eq(fit.n_regimes, n_regimes, "%zu regimes", fit.n_regimes);
    for (size_t r = 0; r < n_regimes; r++) {
        const cs_line *line = &fit.regimes[r].line;
        cr_assert_float_eq(line->intercept_s / regimes[r].intercept_s, 1, 1e-6);
        cr_assert_float_eq(line->slope_s_per_byte * regimes[r].rate_Bps, 1, 1e-6);
        if (r + 1 < n_regimes) {
            cr_assert_geq(fit.regimes[r].max_bytes, regimes[r].limit_bytes);
            cr_assert_lt(fit.regimes[r].max_bytes, 2 * regimes[r].limit_bytes);
            cr_assert_eq(fit.regimes[r + 1].min_bytes, fit.regimes[r].max_bytes + 1);
        }
    }
    cr_assert_lt(fit.in_sample.max_ratio, 1e-9);
}

Test(fit, noiseless_regimes_come_back_exactly)
{
    static const truth one[] = {{1ull << 33, 50e-6, 100e9}};

    check_exact(one, 1);
    check_exact(two, 2);
    check_exact(three, 3);
}

/* A 95 % interval around the estimate, narrow enough to say something; the truth lies inside
 * it or at most half its width outside. */
static void check_interval(double value, double low, double high, double expected)
{
    double width = high - low;

    cr_assert(low < value && value < high);
    cr_assert_lt(width, 0.3 * value, "[%g, %g]", low, high);
    cr_assert(expected > low - width / 2 && expected < high + width / 2, "[%g, %g] for %g", low,
              high, expected);
}

Test(fit, regimes_come_back_through_noise)
{
    cs_fit fit = fit_of(three, 0.01);

    cr_assert_eq(fit.n_regimes, 3);
    for (size_t r = 0; r < 3; r++) {
        check_interval(fit.regimes[r].line.intercept_s, fit.regimes[r].line.intercept_low_s,
                       fit.regimes[r].line.intercept_high_s, three[r].intercept_s);
        check_interval(fit.regimes[r].line.slope_s_per_byte,
                       fit.regimes[r].line.slope_low_s_per_byte,
                       fit.regimes[r].line.slope_high_s_per_byte, 1 / three[r].rate_Bps);
    }
    cr_assert_lt(fit.in_sample.max_ratio, 0.02);
    cr_assert_eq(fit.n_folds, 24, "%zu", fit.n_folds);
    cr_assert_eq(fit.held_out.n, 24);
    cr_assert_gt(fit.held_out.mean_ratio, fit.in_sample.mean_ratio);
}

/* Weighted least squares by hand: three points, weights 1/t^2, and t_{0.975}(1) = 12.7062. */
Test(fit, line_and_interval_by_hand)
{
    static const cs_point points[] = {{1, 2.0}, {2, 4.0}, {4, 5.0}};
    double                w0 = 0, w1 = 0, w2 = 0, y0 = 0, y1 = 0, chi2 = 0, a, b, determinant;
    cs_line               line = {0};

    for (size_t i = 0; i < 3; i++) {
        double x = (double)points[i].bytes, y = points[i].time_s, w = 1 / (y * y);
        w0 += w;
        w1 += w * x;
        w2 += w * x * x;
        y0 += w * y;
        y1 += w * x * y;
    }
    determinant = w0 * w2 - w1 * w1;
    a           = (w2 * y0 - w1 * y1) / determinant;
    b           = (w0 * y1 - w1 * y0) / determinant;
    for (size_t i = 0; i < 3; i++) {
        double ratio = (points[i].time_s - a - b * (double)points[i].bytes) / points[i].time_s;
        chi2 += ratio * ratio;
    }
    cr_assert(cs_line_fit(points, 3, &line));
    cr_assert_float_eq(line.intercept_s, a, 1e-12);
    cr_assert_float_eq(line.slope_s_per_byte, b, 1e-12);
    cr_assert_float_eq(line.slope_high_s_per_byte - b, 12.7062 * sqrt(w0 / determinant * chi2),
                       1e-4);
    cr_assert_float_eq(line.intercept_high_s - a, 12.7062 * sqrt(w2 / determinant * chi2), 1e-4);
}

Test(fit, sums_agree_with_gsl)
{
    static const cs_point points[] = {{8, 2.1e-5}, {64, 2.0e-5}, {512, 3.1e-5}, {4096, 9.9e-5}};
    cs_line_sums          sums     = {0};
    cs_line               line     = {0};
    double                error = 0, expected = 0;

    for (size_t i = 0; i < 4; i++) {
        cs_line_add(&sums, points[i]);
    }
    cr_assert(cs_line_error(&sums, &error));
    cr_assert(cs_line_fit(points, 4, &line));
    for (size_t i = 0; i < 4; i++) {
        expected += pow(cs_line_at(&line, points[i].bytes) / points[i].time_s - 1, 2);
    }
    cr_assert_float_eq(error / expected, 1, 1e-9);
}

Test(fit, intercept_is_never_negative)
{
    static const cs_point points[] = {{1000, 1e-6}, {2000, 2.3e-6}, {4000, 4.9e-6}};
    cs_line               line     = {0};

    cr_assert(cs_line_fit(points, 3, &line));
    cr_assert_eq(line.intercept_s, 0.0);
    cr_assert_gt(line.slope_s_per_byte, 1e-9);
}

/* Every segmentation of nine points, tried one by one, against the dynamic program. */
Test(fit, dynamic_program_finds_the_best_of_all)
{
    static const double times[] = {11, 12, 17, 40, 41, 43, 90, 181, 370};
    cs_point            points[9];
    double              best = HUGE_VAL;
    cs_fit              fit  = {0};

    for (size_t i = 0; i < 9; i++) {
        points[i] = (cs_point){1024ull << i, times[i] * 1e-6};
    }
    for (unsigned breaks = 0; breaks < 256; breaks++) {
        double error = 0, regimes = 0;
        size_t first    = 0;
        bool   is_valid = true;

        for (size_t i = 0; i < 9; i++) {
            cs_line line = {0};
            if (i < 8 && (breaks >> i & 1) == 0) {
                continue;
            }
            is_valid =
                is_valid && i + 1 - first >= 3 && cs_line_fit(points + first, i + 1 - first, &line);
            for (size_t k = first; is_valid && k <= i; k++) {
                error += pow(cs_line_at(&line, points[k].bytes) / points[k].time_s - 1, 2);
            }
            first = i + 1;
            regimes++;
        }
        if (is_valid) {
            best = fmin(best, 9 * log(error / 9 + 1e-6) + 3 * regimes * log(9));
        }
    }
    cr_assert_eq(cs_fit_regimes(points, 9, 0, &fit, NULL), CS_OK);
    cr_assert_float_eq(fit.criterion, best, 1e-6);
}

Test(fit, points_of_one_size_stay_together)
{
    cs_point points[16];
    cs_fit   fit = {0};

    for (size_t i = 0; i < 16; i++) {
        uint64_t bytes = 1024ull << i / 2;
        points[i] = (cs_point){bytes, (1 + 0.02 * (double)(i % 2)) * (1e-5 + (double)bytes / 1e9)};
    }
    cr_assert_eq(cs_fit_regimes(points, 16, 0, &fit, NULL), CS_OK);
    cr_assert_eq(fit.n_regimes, 1);
    cr_assert_eq(fit.n_folds, 8, "sizes are left out, not points");
}

Test(fit, refusals)
{
    static const cs_point few[]  = {{1, 1}, {2, 2}, {2, 3}};
    static const cs_point down[] = {{1, 9}, {2, 5}, {4, 2}, {8, 1}};
    cs_fit                fit    = {0};

    cr_assert_eq(cs_fit_regimes(few, 3, 0, &fit, NULL), CS_EINVAL);
    cr_assert_eq(cs_fit_regimes(NULL, 0, 0, &fit, NULL), CS_EINVAL);
    cr_assert_eq(cs_fit_regimes(down, 4, 0, &fit, NULL), CS_EINVAL);
}

/* ---- calibrations ---- */

/* A log of AllReduce on 8 ranks with the times of `two`. */
static void make_log(cs_text *text, const char *device)
{
    cs_text_add(text, "#  Rank  7 Pid 1 on a device  7 [0x07] %s\n", device);
    for (uint64_t bytes = 1024; bytes <= 1ull << 33; bytes *= 2) {
        double time_s = true_time(two, bytes), algbw = (double)bytes / time_s / 1e9;
        char   side[100];

        snprintf(side, sizeof side, " %.9g %.2f %.2f 0", time_s * 1e6, algbw, algbw * 1.75);
        cs_text_add(text, "%llu %llu float sum -1%s%s\n", (unsigned long long)bytes,
                    (unsigned long long)bytes / 4, side, side);
    }
}

static cs_calibration *make_calibration(bool extrapolate)
{
    cs_calibrate_options options = {.extrapolate = extrapolate, .date = "today"};
    cs_calibration      *c       = NULL;
    cs_nccl_log         *log     = NULL;
    const char          *name    = "folder/made.log";
    cs_text              text    = {0};
    cs_error             err     = {0};

    make_log(&text, "X100");
    cr_assert_eq(cs_nccl_log_parse(text.data, text.length, name, &log, &err), CS_OK, "%s",
                 err.message);
    cr_assert_eq(cs_calibrate_logs((const cs_nccl_log *const *)&log, &name, 1, &options, &c, &err),
                 CS_OK, "%s", err.message);
    cs_nccl_log_free(log);
    cs_text_free(&text);
    return c;
}

Test(calibration, parameters_of_the_ring)
{
    cs_calibration *c     = make_calibration(false);
    double          alpha = 0, bandwidth = 0, time_s = 0;

    cr_assert_str_eq(c->machine, "X100");
    cr_assert_str_eq(c->source, "made.log");
    cr_assert_str_eq(c->date, "today");
    cr_assert_eq(c->n_regimes, 2);
    cr_assert_eq(cs_calibration_apply(c, CS_ALLREDUCE, 8, 1 << 28, &alpha, &bandwidth, NULL),
                 CS_OK);
    cr_assert_float_eq(alpha / (100e-6 / 14), 1, 1e-5);
    cr_assert_float_eq(bandwidth / (120e9 * 14 / 8), 1, 1e-5);
    cr_assert_eq(cs_calibration_apply(c, CS_ALLREDUCE, 8, 4096, &alpha, &bandwidth, NULL), CS_OK);
    cr_assert_float_eq(alpha / (30e-6 / 14), 1, 1e-5);
    cr_assert_eq(cs_calibration_predict(c, CS_ALLREDUCE, 8, 3 << 20, &time_s, NULL), CS_OK);
    cr_assert_float_eq(time_s / true_time(two, 3 << 20), 1, 1e-5);
    cs_calibration_free(c);
}

Test(calibration, refuses_what_was_not_measured)
{
    cs_calibration *c     = make_calibration(false);
    double          alpha = -1, bandwidth = -1;
    cs_error        err = {0};

    cr_assert_eq(cs_calibration_apply(c, CS_ALLREDUCE, 8, 512, &alpha, &bandwidth, &err),
                 CS_ENOTSUP);
    cr_assert_str_eq(err.message, "not calibrated here: 512 B; accepted: 1 KiB .. 8 GiB");
    cr_assert_eq(
        cs_calibration_apply(c, CS_ALLREDUCE, 8, (1ull << 33) + 1, &alpha, &bandwidth, NULL),
        CS_ENOTSUP);
    cr_assert_eq(cs_calibration_apply(c, CS_ALLREDUCE, 16, 4096, &alpha, &bandwidth, NULL),
                 CS_ENOTSUP);
    cr_assert_eq(cs_calibration_apply(c, CS_ALLGATHER, 8, 4096, &alpha, &bandwidth, NULL),
                 CS_ENOTSUP);
    cr_assert_eq(alpha, -1.0, "outputs are left alone");
    cr_assert_eq(cs_calibration_apply(c, CS_ALLREDUCE, 8, 1024, &alpha, &bandwidth, NULL), CS_OK);
    cr_assert_eq(cs_calibration_apply(c, CS_ALLREDUCE, 8, 1ull << 33, &alpha, &bandwidth, NULL),
                 CS_OK);
    cs_calibration_free(c);
}

Test(calibration, other_ranks_only_when_allowed)
{
    cs_calibration *c      = make_calibration(true);
    double          time_s = 0;

    cr_assert_eq(cs_calibration_predict(c, CS_ALLREDUCE, 16, 1 << 28, &time_s, NULL), CS_OK);
    cr_assert_float_eq(time_s / (30 * (100e-6 / 14 + (1 << 28) / 16.0 / (120e9 * 14 / 8))), 1,
                       1e-5);
    cs_calibration_free(c);
}

Test(calibration, steps_of_the_cost_models)
{
    double steps = 0, wire_ratio = 0;

    cr_assert_eq(cs_calibration_steps(CS_ALLREDUCE, 5, &steps, &wire_ratio, NULL), CS_OK);
    cr_assert_eq(steps, 8.0);
    cr_assert_float_eq(steps * wire_ratio, 8.0 / 5, 1e-15);
    cr_assert_eq(cs_calibration_steps(CS_ALLGATHER, 5, &steps, &wire_ratio, NULL), CS_OK);
    cr_assert_eq(steps, 4.0);
    cr_assert_eq(cs_calibration_steps(CS_BROADCAST, 5, &steps, &wire_ratio, NULL), CS_ENOTSUP);
    cr_assert_eq(cs_calibration_steps(CS_ALLREDUCE, 1, &steps, &wire_ratio, NULL), CS_ENOTSUP);
}

static cs_status calibrate_two(const char *text_a, const char *text_b, cs_calibrate_options options,
                               size_t *n_points_p, cs_error *err)
{
    cs_nccl_log    *logs[2] = {NULL, NULL};
    const char     *names[] = {"a.log", "b.log"};
    cs_calibration *c       = NULL;
    cs_status       status;

    cr_assert_eq(cs_nccl_log_parse(text_a, strlen(text_a), "a.log", &logs[0], err), CS_OK, "%s",
                 err->message);
    cr_assert_eq(cs_nccl_log_parse(text_b, strlen(text_b), "b.log", &logs[1], err), CS_OK, "%s",
                 err->message);
    status      = cs_calibrate_logs((const cs_nccl_log *const *)logs, names, 2, &options, &c, err);
    *n_points_p = status == CS_OK ? c->n_points : 0;
    cs_calibration_free(c);
    cs_nccl_log_free(logs[0]);
    cs_nccl_log_free(logs[1]);
    return status;
}

Test(calibration, logs_of_one_kind_are_pooled)
{
    static const char other[] =
        "1048576 262144 float sum -1 75.0 13.98 20.97 0 74.0 14.17 21.255 0\n";
    cs_text  a = {0}, b = {0};
    size_t   n   = 0;
    cs_error err = {0};

    make_log(&a, "X100");
    make_log(&b, "Y200");
    cr_assert_eq(calibrate_two(a.data, a.data, (cs_calibrate_options){0}, &n, &err), CS_OK, "%s",
                 err.message);
    cr_assert_eq(n, 48);
    cr_assert_eq(calibrate_two(a.data, b.data, (cs_calibrate_options){0}, &n, &err), CS_EINVAL);
    cr_assert_not_null(strstr(err.message, "Y200"));
    cr_assert_str_eq(err.input, "b.log");
    err = (cs_error){0};
    cr_assert_eq(calibrate_two(a.data, other, (cs_calibrate_options){0}, &n, &err), CS_EINVAL);
    cr_assert_not_null(strstr(err.message, "allreduce on 4 ranks"));
    cs_text_free(&a);
    cs_text_free(&b);
}

Test(calibration, wrong_results_are_no_measurement)
{
    static const char wrong[] =
        "1048576 262144 float sum -1 75.0 13.98 24.47 3 74.0 14.17 24.80 0\n";
    cs_error err = {0};
    size_t   n   = 0;

    cr_assert_eq(calibrate_two(wrong, wrong, (cs_calibrate_options){0}, &n, &err), CS_EINVAL);
    cr_assert_str_eq(err.where, "#wrong");
    cr_assert_eq(err.input_line, 1);
}

static char *json_of(const cs_calibration *c)
{
    cs_text text = {0};

    cs_calibration_json(c, &text);
    cr_assert_eq(cs_text_status(&text, NULL), CS_OK);
    return text.data;
}

Test(calibration, json_reads_back_exactly)
{
    cs_calibration *c = make_calibration(true), *again = NULL;
    char           *text = json_of(c), *text_again;
    cs_error        err  = {0};

    cr_assert_eq(cs_calibration_parse(text, strlen(text), "c.json", &again, &err), CS_OK, "%s: %s",
                 err.where, err.message);
    text_again = json_of(again);
    cr_assert_str_eq(text, text_again);
    cr_assert(again->extrapolate);
    cr_assert_eq(again->regimes[1].alpha_s, c->regimes[1].alpha_s);
    cs_free(text);
    cs_free(text_again);
    cs_calibration_free(c);
    cs_calibration_free(again);
}

/* Replace the first `old` behind `after` in the JSON and expect an error at a key. */
static void check_broken(const char *after, const char *old, const char *new, const char *where)
{
    cs_calibration *c    = make_calibration(false);
    char           *text = json_of(c), *at = strstr(strstr(text, after), old);
    cs_text         broken = {0};
    cs_error        err    = {0};

    cr_assert_not_null(at);
    cs_text_add_bytes(&broken, text, (size_t)(at - text));
    cs_text_add(&broken, "%s%s", new, at + strlen(old));
    cs_calibration_free(c);
    c = NULL;
    cr_expect_eq(cs_calibration_parse(broken.data, broken.length, "c.json", &c, &err), CS_EPARSE,
                 "%s", where);
    cr_expect_str_eq(err.where, where, "'%s' instead of '%s': %s", err.where, where, err.message);
    cr_expect_str_eq(err.input, "c.json");
    cr_expect_gt(err.input_line, 0, "%s", where);
    cs_calibration_free(c);
    cs_text_free(&broken);
    cs_free(text);
}

Test(calibration, json_refusals_name_the_key)
{
    check_broken("{", "collsim-calibration-1", "other", "format");
    check_broken("{", "allreduce", "allreduced", "collective");
    check_broken("{", "out-of-place", "sideways", "column");
    check_broken("\"ranks\"", "8", "1", "ranks");
    check_broken("{", "\"machine\"", "\"maschine\"", "maschine");
    check_broken("\"regimes\"", "\"points\": 11", "\"points\": \"11\"", "regimes[0].points");
    check_broken("\"regimes\"", "\"min_bytes\": 1024", "\"min_bytes\": 0", "regimes[0].min_bytes");
    check_broken("\"regimes\"", "\"max_bytes\"", "\"max_byte\"", "regimes[0].max_byte");
    check_broken("\"regimes\"", "\"alpha_s\": ", "\"alpha_s\": 1", "regimes[0]");
    check_broken("\"regimes\"", "8589934592", "858993", "regimes[1]");
    check_broken("{", "\"extrapolate_ranks\": false", "\"extrapolate_ranks\": 0",
                 "extrapolate_ranks");
    check_broken("{", ",", "", "");
}

Test(calibration, out_of_memory)
{
    cs_calibrate_options options = {0};
    const char          *path    = COLLSIM_SOURCE_DIR "/traces/generated-ring8.log";
    cs_status            status  = CS_ENOMEM;

    for (long passes = 0; status != CS_OK; passes++) {
        cs_calibration *c = NULL;

        cr_assert_lt(passes, 1000);
        cs_alloc_fail_after(passes);
        status = cs_calibrate(&path, 1, &options, &c, NULL);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%d", (int)status);
        cs_calibration_free(c);
    }
}

/* scripts/make_sample_log.py says which parameters the log was made with. */
Test(calibration, generated_log_gives_its_parameters_back)
{
    static const double  alpha_s[] = {1.0e-6, 2.2e-6, 5.0e-6}, rate_Bps[] = {30e9, 130e9, 235e9};
    cs_calibrate_options options = {0};
    const char          *path    = COLLSIM_SOURCE_DIR "/traces/generated-ring8.log";
    cs_calibration      *c       = NULL;
    cs_text              table   = {0};
    cs_error             err     = {0};

    cr_assert_eq(cs_calibrate(&path, 1, &options, &c, &err), CS_OK, "%s", err.message);
    cr_assert_eq(c->n_regimes, 3);
    for (size_t r = 0; r < 3; r++) {
        cr_assert_float_eq(c->regimes[r].alpha_s / alpha_s[r], 1, 0.02);
        cr_assert_float_eq(c->regimes[r].bandwidth_Bps / rate_Bps[r], 1, 0.02);
    }
    cr_assert_eq(c->regimes[0].max_bytes / 1024, 362);
    cs_calibration_table(c, &table);
    cr_assert_not_null(strstr(table.data, "(GB/s)"));
    cr_assert_not_null(strstr(table.data, "allreduce on 8 ranks, 31 points, out-of-place column"));
    cs_text_free(&table);
    cs_calibration_free(c);
}

Test(calibration, shipped_files_load)
{
    static const char *const names[] = {"a100x8-superbench-allreduce",
                                        "a100x8-superbench-allgather",
                                        "a100x8-superbench-reducescatter",
                                        "a100x8-superbench-alltoall",
                                        "h100x8-p5-allreduce",
                                        "a100x16-p4de-allreduce",
                                        "gb200x72-allreduce",
                                        "gb200x128-allreduce",
                                        "h100x24-nccl1453-degraded-allreduce",
                                        "generated-ring8"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cs_calibration *c   = NULL;
        cs_error        err = {0};
        char            path[512];

        snprintf(path, sizeof path, "%s/traces/%s.json", COLLSIM_SOURCE_DIR, names[i]);
        cr_assert_eq(cs_calibration_load(path, &c, &err), CS_OK, "%s: %s: %s", path, err.where,
                     err.message);
        cr_assert_gt(strlen(c->machine), 0);
        cr_assert_gt(strlen(c->source), 0);
        cs_calibration_free(c);
    }
}

Test(calibration, texts_are_one_line_of_utf8)
{
    char text[8];

    cs_plain_text(text, sizeof text, "8 \xC3\x97 A");
    cr_assert_str_eq(text, "8 \xC3\x97 A");
    cs_plain_text(text, sizeof text, "a\nb\xFF\xC3");
    cr_assert_str_eq(text, "a?b??");
    cs_plain_text(text, sizeof text, "123456\xC3\x97");
    cr_assert_str_eq(text, "123456", "cut between characters");
    cs_plain_text(text, sizeof text, "\xC0\x80\xED\xA0\x80");
    cr_assert_str_eq(text, "?????");
}
