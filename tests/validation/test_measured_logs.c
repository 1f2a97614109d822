/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measured logs, where they are at hand: the folder in COLLSIM_DATA, or ../shared/data beside
 * the source. They are not part of the project; a missing one is skipped and named. */
#include "study/levels.h"
#include "traces/calibration.h"
#include "traces/calibration_json.h"

#include <criterion/criterion.h>
#include <criterion/logging.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef COLLSIM_SOURCE_DIR
#define COLLSIM_SOURCE_DIR "."
#endif

typedef struct measured {
    const char   *log, *calibration;
    cs_collective collective;
    uint32_t      n_ranks, given_ranks;
    size_t        n_rows, n_empty;
    double        rate_GBps, tolerance; /* 1 / B of the last regime: the asymptotic algbw */
    double        worst;                /* held-out error above 64 KiB; 0: no line describes it */
} measured;

/* Rates: the largest sizes' algbw, which the last regime must approach. */
static const measured logs[] = {
    {"a100x8_superbench_nccl_allreduce.log", "a100x8-superbench-allreduce", CS_ALLREDUCE, 8, 0, 32,
     2, 134.44, 0.03, 0.15},
    {"a100x8_superbench_nccl_allgather.log", "a100x8-superbench-allgather", CS_ALLGATHER, 8, 0, 29,
     5, 255.31, 0.03, 0.15},
    {"a100x8_superbench_nccl_reducescatter.log", "a100x8-superbench-reducescatter",
     CS_REDUCESCATTER, 8, 0, 29, 5, 264.60, 0.03, 0.17},
    {"a100x8_superbench_nccl_alltoall.log", "a100x8-superbench-alltoall", CS_ALLTOALL, 8, 0, 29, 5,
     256.36, 0.03, 0.15},
    {"h100_p5_1node8gpu_aws_batch_allreduce.txt", "h100x8-p5-allreduce", CS_ALLREDUCE, 8, 0, 32, 0,
     276.03, 0.05, 0.15},
    {"a100_p4de_2nodes16gpu_aws_allreduce.txt", "a100x16-p4de-allreduce", CS_ALLREDUCE, 16, 0, 29,
     0, 41.78, 0.03, 0.155},
    {"gb200_nvl72_1rack_coreweave_allreduce_readme.txt", "gb200x72-allreduce", CS_ALLREDUCE, 72, 0,
     5, 0, 439.19, 0.001, 0.15},
    {"gb200_nvl72_2racks_coreweave_allreduce_readme.txt", "gb200x128-allreduce", CS_ALLREDUCE, 128,
     128, 6, 0, 408.40, 0.05, 0.15},
    {"issue_nccl1453_h100x24_degraded_allreduce_srun_labels.txt",
     "h100x24-nccl1453-degraded-allreduce", CS_ALLREDUCE, 24, 0, 10, 0, 2.77, 0.06, 0},
};

/* The path of a measured log; false, and a word about it, when it is not there. */
static bool find_log(const char *name, char *path, size_t bytes)
{
    const char *folder = getenv("COLLSIM_DATA");

    snprintf(path, bytes, "%s/%s", folder != NULL ? folder : COLLSIM_SOURCE_DIR "/../shared/data",
             name);
    if (access(path, R_OK) != 0) {
        (void)fprintf(stderr, "skipped: %s is not here (set COLLSIM_DATA)\n", name);
        return false;
    }
    return true;
}

static cs_calibration *calibrate(const char *path, const measured *m)
{
    cs_calibrate_options options = {.n_ranks = m->given_ranks};
    cs_calibration      *c       = NULL;
    cs_error             err     = {0};

    cr_assert_eq(cs_calibrate(&path, 1, &options, &c, &err), CS_OK, "%s: %s: %s", m->log, err.where,
                 err.message);
    return c;
}

Test(measured_logs, rows_ranks_and_rates)
{
    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
        const measured *m = &logs[i];
        char            path[512];
        cs_calibration *c;
        double          rate;

        if (!find_log(m->log, path, sizeof path)) {
            continue;
        }
        c = calibrate(path, m);
        cr_expect_eq(c->collective, m->collective, "%s", m->log);
        cr_expect_eq(c->n_ranks, m->n_ranks, "%s: %u ranks", m->log, c->n_ranks);
        cr_expect_eq(c->n_points, m->n_rows, "%s: %zu rows", m->log, c->n_points);
        rate = 1e-9 / c->regimes[c->n_regimes - 1].line.slope_s_per_byte;
        cr_expect_float_eq(rate / m->rate_GBps, 1, m->tolerance, "%s: %.2f GB/s", m->log, rate);
        cs_calibration_free(c);
    }
}

/* Every line of them is understood, but for what stands here. */
Test(measured_logs, lines_that_are_skipped)
{
    static const struct {
        size_t   n_lines;
        uint64_t n_empty, n_messages, n_comments, n_others;
        bool     is_unchecked;
    } expected[] = {
        {53, 2, 1, 0, 0, true},  {53, 5, 1, 0, 0, true},  {53, 5, 1, 0, 0, true},
        {52, 5, 0, 0, 0, true},  {37, 0, 0, 0, 0, false}, {31, 0, 0, 0, 0, false},
        {16, 0, 0, 1, 2, false}, {17, 0, 0, 1, 2, false}, {10, 0, 0, 0, 0, false},
    };

    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
        char path[512];

        if (!find_log(logs[i].log, path, sizeof path)) {
            continue;
        }
        cs_calibration        *c       = calibrate(path, &logs[i]);
        const cs_nccl_reading *reading = &c->logs[0];
        cr_expect_eq(reading->n_lines, expected[i].n_lines, "%s: %zu lines", logs[i].log,
                     reading->n_lines);
        cr_expect_eq(reading->n_rows, logs[i].n_rows);
        cr_expect_eq(reading->remarks[CS_NCCL_EMPTY_ROWS].n, expected[i].n_empty);
        cr_expect_eq(reading->remarks[CS_NCCL_MESSAGES].n, expected[i].n_messages);
        cr_expect_eq(reading->remarks[CS_NCCL_COMMENTS].n, expected[i].n_comments);
        cr_expect_eq(reading->remarks[CS_NCCL_OTHERS].n, expected[i].n_others);
        cr_expect_eq(cs_nccl_n_skipped(reading),
                     expected[i].n_empty + expected[i].n_messages + expected[i].n_comments +
                         expected[i].n_others,
                     "%s: %llu", logs[i].log, (unsigned long long)cs_nccl_n_skipped(reading));
        cr_expect_eq(reading->remarks[CS_NCCL_UNCHECKED].n > 0, expected[i].is_unchecked);
        cr_expect_eq(reading->remarks[CS_NCCL_MISSING_ROWS].n, 0);
        cr_expect_eq(reading->remarks[CS_NCCL_OUTSIDE_RANGE].n, 0);
        cs_calibration_free(c);
    }
}

/* Sizes that were not measured: half of them are predicted to 5 %, all above 64 KiB to 15 % in
 * every regime, but for a ReduceScatter whose 16 MiB are as fast as its 8 MiB, and for 2 MiB on two
 * p4de, whose two columns are 8 % apart. */
Test(measured_logs, held_out_errors)
{
    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
        char path[512];

        if (logs[i].worst == 0 || !find_log(logs[i].log, path, sizeof path)) {
            continue;
        }
        cs_calibration *c = calibrate(path, &logs[i]);
        cr_expect_lt(c->held_out.median_ratio, 0.05, "%s: %g", logs[i].log,
                     c->held_out.median_ratio);
        for (size_t r = 0; r < c->n_regimes; r++) {
            cr_expect(c->regimes[r].max_bytes <= 65536 ||
                          c->regimes[r].held_out.max_ratio < logs[i].worst,
                      "%s: %g up to %llu B", logs[i].log, c->regimes[r].held_out.max_ratio,
                      (unsigned long long)c->regimes[r].max_bytes);
        }
        cs_calibration_free(c);
    }
}

/* SimLLM's samples of four A100: every collective that has a model, and the number of ranks that is
 * held out: alpha and bandwidth of two ranks are not those of four. */
Test(measured_logs, samples_of_simllm)
{
    static const cs_collective collectives[] = {CS_ALLREDUCE, CS_ALLGATHER, CS_REDUCESCATTER};
    char                       path[512];
    const char                *paths[1] = {path};

    if (!find_log("simllm_a100x4_nvlink_lane_b.json", path, sizeof path)) {
        return;
    }
    for (size_t i = 0; i < 3; i++) {
        cs_calibrate_options options = {
            .has_collective = true, .collective = collectives[i], .n_ranks = 4};
        cs_calibration *c   = NULL;
        cs_error        err = {0};
        cr_assert_eq(cs_calibrate(paths, 1, &options, &c, &err), CS_OK, "%s: %s", err.where,
                     err.message);
        cr_expect_eq(c->n_ranks, 4);
        cr_expect_eq(c->n_points, collectives[i] == CS_ALLREDUCE ? 22 : 21);
        cr_expect_str_eq(c->versions, "NCCL version 2.31.2");
        cr_expect_lt(c->held_out.median_ratio, 0.05);
        cr_assert_eq(c->n_others, 1);
        cr_expect_eq(c->others[0].n_ranks, 2);
        cr_expect_gt(c->others[0].error.max_ratio, 0.2);
        cs_calibration_free(c);
    }
    cs_calibrate_options broadcast = {
        .has_collective = true, .collective = CS_BROADCAST, .n_ranks = 4};
    cs_calibration *none = NULL;
    cr_expect_eq(cs_calibrate(paths, 1, &broadcast, &none, NULL), CS_ENOTSUP);
}

/* One table of NCCL: the rows of one collective and number of ranks, in order of size. */
typedef struct table {
    char     key[64];
    cs_point points[64];
    size_t   n;
} table;

/* Read the tables of a file; returns how many. */
static size_t read_tables(const char *path, table *tables, size_t most)
{
    FILE  *file = fopen(path, "r");
    char   line[200], machine[32], version[32], collective[32];
    size_t n = 0;

    cr_assert_not_null(file);
    cr_assert_not_null(fgets(line, sizeof line, file));
    while (fgets(line, sizeof line, file) != NULL) {
        unsigned           ranks = 0;
        unsigned long long bytes = 0;
        double             us    = 0;
        char               key[64];
        cr_assert_eq(sscanf(line, "%31[^,],%31[^,],%31[^,],%u,%llu,%lf", machine, version,
                            collective, &ranks, &bytes, &us),
                     6, "%s", line);
        snprintf(key, sizeof key, "%.20s %.20s %u", machine, collective, ranks);
        if (n == 0 || strcmp(tables[n - 1].key, key) != 0) {
            cr_assert_lt(n, most);
            tables[n] = (table){.n = 0};
            memcpy(tables[n++].key, key, sizeof key);
        }
        cr_assert_lt(tables[n - 1].n, 64);
        tables[n - 1].points[tables[n - 1].n++] = (cs_point){bytes, us * 1e-6};
    }
    fclose(file);
    return n;
}

static int ascending(const void *a, const void *b)
{
    const double *p = a, *q = b;

    return (*p > *q) - (*p < *q);
}

/* Every fourth size only: one that is left out lies in a gap of 16, which may hide a break. What
 * was measured is fitted well all the same. */
Test(measured_logs, tables_of_nccl)
{
    static const char *const names[] = {"a100_sxm_2.27.3", "b200_sxm_2.27.5", "h100_sxm_2.27.3"};
    static table             tables[16];
    double                   medians[64], worst[64];
    size_t                   n_all = 0;

    for (size_t f = 0; f < 3; f++) {
        char name[64], path[512];
        snprintf(name, sizeof name, "nccl_tables/%s.csv", names[f]);
        if (!find_log(name, path, sizeof path)) {
            return;
        }
        size_t n = read_tables(path, tables, 16);
        cr_assert_eq(n, 12);
        for (size_t t = 0; t < n; t++, n_all++) {
            cs_fit fit = {0};
            cr_assert_eq(
                cs_fit_regimes(tables[t].points, tables[t].n, &(cs_fit_options){0}, &fit, NULL),
                CS_OK, "%s", tables[t].key);
            cr_expect_lt(fit.in_sample.median_ratio, 0.06, "%s: %g", tables[t].key,
                         fit.in_sample.median_ratio);
            cr_expect_eq(fit.n_outliers, 0, "%s", tables[t].key);
            medians[n_all] = fit.held_out.median_ratio;
            worst[n_all]   = fit.held_out.max_ratio;
        }
    }
    qsort(medians, n_all, sizeof *medians, ascending);
    qsort(worst, n_all, sizeof *worst, ascending);
    (void)fprintf(stderr,
                  "held out of %zu tables: medians %.1f %%, at most %.1f %%; worst sizes "
                  "%.1f %%, at most %.1f %%\n",
                  n_all, 100 * medians[n_all / 2], 100 * medians[n_all - 1], 100 * worst[n_all / 2],
                  100 * worst[n_all - 1]);
    cr_expect_lt(medians[n_all / 2], 0.08);
    cr_expect_lt(worst[n_all - 1], 0.6);
}

/* What is shipped in traces/ is what the logs give. */
Test(measured_logs, shipped_calibrations)
{
    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
        const measured *m = &logs[i];
        cs_calibration *c, *shipped = NULL;
        char            path[512];

        if (!find_log(m->log, path, sizeof path)) {
            continue;
        }
        c = calibrate(path, m);
        snprintf(path, sizeof path, "%s/traces/%s.json", COLLSIM_SOURCE_DIR, m->calibration);
        cr_assert_eq(cs_calibration_load(path, &shipped, NULL), CS_OK, "%s", path);
        cr_expect_eq(shipped->n_regimes, c->n_regimes, "%s", m->log);
        for (size_t r = 0; r < c->n_regimes && r < shipped->n_regimes; r++) {
            cr_expect_eq(shipped->regimes[r].max_bytes, c->regimes[r].max_bytes);
            cr_expect_float_eq(shipped->regimes[r].bandwidth_Bps / c->regimes[r].bandwidth_Bps, 1,
                               1e-9);
            cr_expect_leq(fabs(shipped->regimes[r].alpha_s - c->regimes[r].alpha_s), 1e-12);
        }
        cs_calibration_free(c);
        cs_calibration_free(shipped);
    }
}

/* One line through everything from 1 KiB on, as relative least squares: known from a separate
 * computation for these tables: 40 us, 120.8 GB/s and 14.5 % mean, 38.5 % largest error. */
Test(measured_logs, one_line_is_not_enough)
{
    char            path[512];
    cs_nccl_log    *log = NULL;
    const measured *m   = &logs[0];
    cs_point        points[40];
    size_t          n = 0;
    FILE           *file;
    char            text[8192];
    size_t          length;
    cs_fit          one = {0}, best = {0};

    if (!find_log(m->log, path, sizeof path)) {
        return;
    }
    file = fopen(path, "rb");
    cr_assert_not_null(file);
    length = fread(text, 1, sizeof text, file);
    fclose(file);
    cr_assert_eq(cs_nccl_log_parse(text, length, path, 0, &log, NULL), CS_OK);
    cr_assert_eq(log->reading.remarks[CS_NCCL_EMPTY_ROWS].n, m->n_empty);
    cr_assert_str_eq(log->device, "A100-SXM4-40GB");
    for (size_t r = 0; r < log->n_rows; r++) {
        if (log->rows[r].size_bytes >= 1024) {
            points[n++] = (cs_point){log->rows[r].size_bytes,
                                     log->rows[r].timings[CS_NCCL_OUT_OF_PLACE].time_s};
        }
    }
    cr_assert_eq(cs_fit_regimes(points, n, &(cs_fit_options){.max_regimes = 1}, &one, NULL), CS_OK);
    cr_assert_eq(cs_fit_regimes(points, n, &(cs_fit_options){0}, &best, NULL), CS_OK);
    cr_expect_float_eq(one.regimes[0].line.intercept_s, 40e-6, 0.5e-6);
    cr_expect_float_eq(1e-9 / one.regimes[0].line.slope_s_per_byte, 120.8, 0.1);
    cr_expect_float_eq(one.in_sample.mean_ratio, 0.145, 0.001);
    cr_expect_float_eq(one.in_sample.max_ratio, 0.385, 0.001);
    cr_expect_lt(best.in_sample.max_ratio, 0.05);
    cs_nccl_log_free(log);
}

/* The log of two racks names rank 143, and its rates are those of 128 ranks. */
Test(measured_logs, two_racks_contradict_themselves)
{
    cs_calibrate_options options = {0};
    cs_calibration      *c       = NULL;
    cs_error             err     = {0};
    char                 path[512];
    const char          *paths[1] = {path};

    if (!find_log("gb200_nvl72_2racks_coreweave_allreduce_readme.txt", path, sizeof path)) {
        return;
    }
    cr_assert_eq(cs_calibrate(paths, 1, &options, &c, &err), CS_EPARSE);
    cr_assert_eq(err.input_line, 4);
    cr_assert_str_eq(err.message,
                     "144 ranks are listed, but busbw / algbw is that of 128: give the "
                     "number of ranks");
}

Test(measured_logs, what_cannot_be_calibrated)
{
    cs_calibrate_options options = {0};
    cs_calibration      *c       = NULL;
    char                 path[512];
    const char          *paths[1] = {path};

    if (find_log("a100x8_superbench_nccl_broadcast.log", path, sizeof path)) {
        cr_assert_eq(cs_calibrate(paths, 1, &options, &c, NULL), CS_ENOTSUP);
    }
    if (find_log("issue_EESSI716_osu_bw_a100x2_nv4.txt", path, sizeof path)) { /* a link */
        cr_assert_eq(cs_calibrate(paths, 1, &options, &c, NULL), CS_ENOTSUP);
    }
    if (find_log("issue_nccl595_nvidia_smi_topo_a100x4_2hca.txt", path, sizeof path)) {
        cr_assert_eq(cs_calibrate(paths, 1, &options, &c, NULL), CS_EPARSE);
    }
}

/* The link of two A100 by OSU's table, and two levels by logs of machines of one kind. */
Test(measured_logs, links_and_levels)
{
    char              osu[512], nvlink[512], nic[512];
    cs_nccl_logs      read   = {0};
    cs_error          err    = {0};
    cs_calibration   *c      = NULL;
    const char *const ones[] = {nvlink}, *const twos[] = {nic};
    cs_levels_files       files[CS_LEVELS] = {[CS_NIC] = {twos, 1}, [CS_NVLINK] = {ones, 1}};
    const cs_levels_files none             = {NULL, 0};
    cs_levels_options     options          = {.gpus_per_server = 8, .schedule = "parallel_rings"};

    if (find_log("issue_EESSI716_osu_bw_a100x2_nv4.txt", osu, sizeof osu)) {
        cr_assert_eq(cs_nccl_read(osu, 0, &read, &err), CS_OK, "%s", err.message);
        cr_assert_eq(read.logs[0]->n_rows, 26);
        cr_expect_eq(read.logs[0]->measured, CS_NCCL_RATE);
        cr_expect_float_eq(read.logs[0]->rows[25].timings[0].algbw_Bps, 93130.52e6, 1);
        cs_nccl_logs_free(&read);
    }
    if (find_log("a100x8_superbench_nccl_allreduce.log", nvlink, sizeof nvlink) &&
        find_log("a100_p4de_2nodes16gpu_aws_allreduce.txt", nic, sizeof nic)) {
        cr_assert_eq(cs_levels_calibrate(files, &none, &options, &c, &err), CS_OK, "%s",
                     err.message);
        const cs_level *nics = &c->levels->of[CS_NIC];
        cr_expect_lt(nics->logs[0].fitted.median_ratio, 0.01);
        cr_expect_lt(nics->held_out.median_ratio, 0.02);
        /* 4 NICs of 12.5 GB/s for 8 GPUs */
        cr_expect_float_eq(nics->regimes[nics->n_regimes - 1].bandwidth_Bps, 6.25e9, 0.15e9);
        cs_calibration_free(c);
    }
}
