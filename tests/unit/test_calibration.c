/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calibrations: parameters out of logs, what they do not speak of, and the files that are shipped.
 */
#include "algorithms/lib/nccl_tuning.h"
#include "base/alloc.h"
#include "base/file.h"
#include "calibration_setup.h"
#include "traces/calibration_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The time of an AllReduce: steps (alpha + wire_ratio S beta). */
static double model_time_s(const cs_calibration *c, uint32_t n_ranks, uint64_t bytes)
{
    double alpha = 0, bandwidth = 0, steps = 0, wire_ratio = 0;

    cr_assert_eq(cs_calibration_apply(c, CS_ALLREDUCE, n_ranks, bytes, &alpha, &bandwidth, NULL),
                 CS_OK);
    cr_assert_eq(cs_calibration_steps("", CS_ALLREDUCE, n_ranks, &steps, &wire_ratio, NULL), CS_OK);
    return steps * (alpha + wire_ratio * (double)bytes / bandwidth);
}

Test(calibration, parameters_of_the_ring)
{
    cs_calibration *c     = make_calibration(false);
    double          alpha = 0, bandwidth = 0;

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
    cr_assert_float_eq(model_time_s(c, 8, 3 << 20) / true_time(two, 3 << 20), 1, 1e-5);
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
    cs_calibration *c = make_calibration(true);

    cr_assert_float_eq(model_time_s(c, 16, 1 << 28) /
                           (30 * (100e-6 / 14 + (1 << 28) / 16.0 / (120e9 * 14 / 8))),
                       1, 1e-5);
    cs_calibration_free(c);
}

Test(calibration, steps_of_the_cost_models)
{
    double steps = 0, wire_ratio = 0;

    cr_assert_eq(cs_calibration_steps("", CS_ALLREDUCE, 5, &steps, &wire_ratio, NULL), CS_OK);
    cr_assert_eq(steps, 8.0);
    cr_assert_float_eq(steps * wire_ratio, 8.0 / 5, 1e-15);
    cr_assert_eq(cs_calibration_steps("", CS_ALLGATHER, 5, &steps, &wire_ratio, NULL), CS_OK);
    cr_assert_eq(steps, 4.0);
    cr_assert_eq(cs_calibration_steps("", CS_BROADCAST, 5, &steps, &wire_ratio, NULL), CS_ENOTSUP);
    cr_assert_eq(cs_calibration_steps("", CS_ALLREDUCE, 1, &steps, &wire_ratio, NULL), CS_ENOTSUP);
}

/* Between two regimes the parameters are those of the join; how sure a time is follows from what
 * was held out there. */
Test(calibration, times_and_between_what_they_lie)
{
    cs_calibration *c    = make_calibration(false);
    cs_estimate     time = {0};
    uint64_t        low = c->regimes[0].max_bytes, high = c->regimes[1].min_bytes;
    uint64_t        middle = (low + high) / 2;
    double          both   = (true_time(two, low) + true_time(two, high)) / 2;

    cr_assert_lt(low, high);
    c->regimes[0].held_out.max_ratio = 0.25;
    c->regimes[1].held_out.max_ratio = 1.5;
    cr_assert_eq(cs_calibration_time(c, CS_ALLREDUCE, 8, 4096, &time, NULL), CS_OK);
    cr_expect_float_eq(time.value / true_time(two, 4096), 1, 1e-5);
    cr_expect_float_eq(time.low, time.value / 1.25, 1e-15);
    cr_expect_float_eq(time.high, time.value / 0.75, 1e-15);
    cr_assert_eq(cs_calibration_time(c, CS_ALLREDUCE, 8, middle, &time, NULL), CS_OK);
    cr_expect_float_eq(time.value / both, 1, 1e-5);
    cr_expect_float_eq(time.low, time.value / 2.5, 1e-12);
    cr_expect(isinf(time.high), "an error of 150 %% leaves no upper limit");
    c->regimes[0].held_out.n = 0;
    cr_assert_eq(cs_calibration_time(c, CS_ALLREDUCE, 8, 4096, &time, NULL), CS_OK);
    cr_expect(time.low == 0 && isinf(time.high));
    cr_expect_eq(cs_calibration_time(c, CS_ALLREDUCE, 8, 512, &time, NULL), CS_ENOTSUP);
    cr_expect_eq(cs_calibration_time(c, CS_ALLREDUCE, 4, 4096, &time, NULL), CS_ENOTSUP);
    cs_calibration_free(c);
}

/* A log of times that are the model's for 4 ranks, but twice as long from 1 MiB on. */
static void make_other_log(cs_text *text)
{
    for (uint64_t bytes = 512; bytes <= 1 << 22; bytes *= 2) {
        const truth *t = bytes > two[0].limit_bytes ? &two[1] : &two[0];
        double       time_s =
            t->intercept_s * 6 / 14 + (double)bytes / t->rate_Bps * (6 / 4.0) / (14 / 8.0);
        time_s *= bytes > two[0].limit_bytes ? 2 : 1;
        double algbw = (double)bytes / time_s / 1e9;
        cs_text_add(text, "%llu %llu float sum -1 %.9g %.6f %.6f 0 N/A N/A N/A N/A\n",
                    (unsigned long long)bytes, (unsigned long long)bytes / 4, time_s * 1e6, algbw,
                    algbw * 1.5);
    }
}

Test(calibration, other_numbers_of_ranks_are_held_out)
{
    cs_text              texts[2] = {{0}, {0}};
    cs_nccl_log         *logs[2]  = {NULL, NULL};
    const char          *names[]  = {"eight.log", "four.log"};
    cs_calibrate_options options  = {.extrapolate = true};
    cs_calibration      *c        = NULL;
    cs_text              table    = {0};
    cs_estimate          time     = {0};
    cs_error             err      = {0};

    make_log(&texts[0], "X100");
    make_other_log(&texts[1]);
    for (size_t l = 0; l < 2; l++) {
        cr_assert_eq(cs_nccl_log_parse(texts[l].data, texts[l].length, names[l], 0, &logs[l], &err),
                     CS_OK, "%s", err.message);
    }
    cr_assert_eq(cs_calibrate_logs((const cs_nccl_log *const *)logs, names, 2, &options, &c, &err),
                 CS_OK, "%s", err.message);
    cr_assert_eq(c->n_ranks, 8);
    cr_assert_eq(c->n_points, 24, "the other log is not fitted");
    cr_assert_eq(c->n_others, 1);
    cr_expect_eq(c->others[0].n_ranks, 4);
    cr_expect_eq(c->others[0].error.n, 13, "512 B is out of range");
    cr_expect_float_eq(c->others[0].error.max_ratio, 0.5, 1e-4);
    cr_expect_lt(c->others[0].error.median_ratio, 1e-4);
    cr_assert_eq(cs_calibration_time(c, CS_ALLREDUCE, 4, 4096, &time, NULL), CS_OK);
    cr_expect_float_eq(time.low, time.value / 1.5, 1e-4 * time.value);
    cr_expect_float_eq(time.high, time.value * 2, 1e-3 * time.value);
    cs_calibration_table(c, &table);
    cr_expect_not_null(strstr(table.data, "# error      held out, 4 ranks: median 0.00 %"), "%s",
                       table.data);
    for (size_t l = 0; l < 2; l++) {
        cs_nccl_log_free(logs[l]);
        cs_text_free(&texts[l]);
    }
    cs_calibration_free(c);
    cs_text_free(&table);
}

static cs_status calibrate_two(const char *text_a, const char *text_b, cs_calibrate_options options,
                               size_t *n_points_p, cs_error *err)
{
    cs_nccl_log    *logs[2] = {NULL, NULL};
    const char     *names[] = {"a.log", "b.log"};
    cs_calibration *c       = NULL;
    cs_status       status;

    cr_assert_eq(cs_nccl_log_parse(text_a, strlen(text_a), "a.log", 0, &logs[0], err), CS_OK, "%s",
                 err->message);
    cr_assert_eq(cs_nccl_log_parse(text_b, strlen(text_b), "b.log", 0, &logs[1], err), CS_OK, "%s",
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
    static const char gather[] =
        "1048576 65536 float sum -1 75.0 13.98 10.485 0 74.0 14.17 10.6275 0\n";
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
    cr_assert_eq(calibrate_two(a.data, other, (cs_calibrate_options){0}, &n, &err), CS_OK);
    cr_assert_eq(n, 24, "another number of ranks is held out");
    cr_assert_eq(calibrate_two(a.data, gather, (cs_calibrate_options){0}, &n, &err), CS_EINVAL);
    cr_assert_not_null(strstr(err.message, "reducescatter on 4 ranks"));
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

/* How the logs were read goes into the calibration, and into what is printed. */
Test(calibration, readings_of_the_logs_are_kept)
{
    cs_text              a = {0}, b = {0}, table = {0};
    cs_nccl_log         *logs[2] = {NULL, NULL};
    const char          *names[] = {"folder/a.log", "folder/b.log"};
    cs_calibrate_options options = {.column = CS_NCCL_IN_PLACE};
    cs_calibration      *c       = NULL;
    cs_error             err     = {0};

    make_log(&a, "X100");
    cs_text_add(&a, "17179869184 4294967296 float sum -1 142665.0 120.42 210.74 3 N/A N/A N/A N/A\n"
                    "# Out of bounds values : 3 FAILED\n");
    cs_text_add(&b, "hello\n");
    make_log(&b, "X100");
    cr_assert_eq(cs_nccl_log_parse(a.data, a.length, names[0], 0, &logs[0], &err), CS_OK, "%s",
                 err.message);
    cr_assert_eq(cs_nccl_log_parse(b.data, b.length, names[1], 0, &logs[1], &err), CS_OK);
    cr_assert_eq(cs_calibrate_logs((const cs_nccl_log *const *)logs, names, 2, &options, &c, &err),
                 CS_OK, "%s", err.message);
    cr_assert_eq(c->n_logs, 2);
    cr_expect_str_eq(c->logs[0].name, "a.log");
    cr_expect_str_eq(c->source, "a.log, b.log");
    cr_expect_eq(c->n_points, 48, "the last row has no time in place");
    cr_expect_eq(c->logs[0].remarks[CS_NCCL_UNMEASURED_ROWS].n, 1);
    cr_expect_eq(c->logs[0].remarks[CS_NCCL_UNMEASURED_ROWS].first_line, 26);
    cr_expect_eq(c->logs[0].remarks[CS_NCCL_WRONG_ROWS].n, 1);
    cr_expect_eq(c->logs[1].remarks[CS_NCCL_WRONG_ROWS].n, 0);
    cs_calibration_table(c, &table);
    cr_expect_not_null(
        strstr(
            table.data,
            "# log        a.log: 25 rows in 27 lines, 1 skipped\n"
            "# warning    footers by which results were wrong: 1, see line 27: # Out of bounds "
            "values : 3 FAILED\n"
            "# warning    rows with wrong results in the column that is not used: 1, see line 26: "
            "size 17179869184\n"
            "#   skipped  rows without a time in the column that is used: 1, see line 26: size "
            "17179869184\n"
            "# log        b.log: 24 rows in 26 lines, 1 skipped\n"
            "#   skipped  other lines: 1, see line 1: hello\n"),
        "%s", table.data);
    cs_nccl_log_free(logs[0]);
    cs_nccl_log_free(logs[1]);
    cs_calibration_free(c);
    cs_text_free(&a);
    cs_text_free(&b);
    cs_text_free(&table);
}

/* Texts have their room in a calibration; none is cut without a word. */
Test(calibration, texts_that_do_not_fit)
{
    static char     note[400];
    cs_error        err  = {0};
    const char     *path = COLLSIM_SOURCE_DIR "/traces/generated-ring8.log";
    const char     *paths[20];
    cs_calibration *c = NULL;

    memset(note, 'n', 319);
    cr_assert_eq(cs_calibrate(&path, 1, &(cs_calibrate_options){.note = note}, &c, &err), CS_OK);
    cr_expect_str_eq(c->note, note);
    cs_calibration_free(c);
    note[319] = 'n';
    cr_expect_eq(cs_calibrate(&path, 1, &(cs_calibrate_options){.note = note}, &c, &err),
                 CS_EINVAL);
    cr_expect_str_eq(err.where, "note");
    cr_expect_not_null(strstr(err.message, "a text of 320 bytes, accepted: at most 319"));
    for (size_t i = 0; i < 20; i++) {
        paths[i] = path;
    }
    cr_assert_eq(cs_calibrate(paths, 20, &(cs_calibrate_options){0}, &c, NULL), CS_OK);
    cr_expect_str_eq(c->source + strlen(c->source) - 25, ", generated-ring8.log, ..");
    cs_calibration_free(c);
    cr_assert_eq(cs_calibrate(paths, 12, &(cs_calibrate_options){0}, &c, NULL), CS_OK);
    cr_expect_eq(strlen(c->source), 12 * strlen("generated-ring8.log") + 11 * strlen(", "));
    cs_calibration_free(c);
}

/* Two logs, of which one is held out: memory runs out at any place. */
Test(calibration, out_of_memory)
{
    cs_calibrate_options options  = {0};
    char                 other[]  = "/tmp/collsim-other-XXXXXX";
    const char          *paths[2] = {COLLSIM_SOURCE_DIR "/traces/generated-ring8.log", other};
    cs_status            status   = CS_ENOMEM;
    cs_text              text     = {0};

    make_other_log(&text);
    close(mkstemp(other));
    cr_assert_eq(cs_file_write(other, text.data, text.length, NULL), CS_OK);
    for (long passes = 0; status != CS_OK; passes++) {
        cs_calibration *c = NULL;

        cr_assert_lt(passes, 1000);
        cs_alloc_fail_after(passes);
        status = cs_calibrate(paths, 2, &options, &c, NULL);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%d", (int)status);
        cr_assert(status != CS_OK || c->n_others == 1);
        cs_calibration_free(c);
    }
    unlink(other);
    cs_text_free(&text);
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
    cr_assert_eq(c->regimes[0].max_bytes / 1024, 256);
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

/* At a break, by NCCL's own lines, by the tuner's estimates for the machine, or not at all. */
Test(calibration, what_changes_at_a_break)
{
    static const struct {
        const char *machine, *below, *above; /* choices of the log, or "" */
        cs_break    expected;
    } cases[] = {
        {"X100", "", "", {1 << 20, 2 << 20, CS_BREAK_UNKNOWN, "", ""}},
        {"8 x H100", "", "", {1 << 20, 2 << 20, CS_BREAK_TUNER, "Ring/LL", "NVLS/Simple"}},
        {"8 x H100",
         "Tree/LL",
         "Ring/LL128",
         {1 << 20, 2 << 20, CS_BREAK_LOG, "Tree/LL", "Ring/LL128"}},
        {"8 x H100", "Ring/LL", "Ring/LL", {1 << 20, 2 << 20, CS_BREAK_UNKNOWN, "", ""}},
    };

    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        cs_calibrate_options options = {.machine = cases[k].machine, .picks = cs_nccl_pick_text};
        cs_calibration      *c       = NULL;
        cs_nccl_log         *log     = NULL;
        const char          *name    = "made.log";
        cs_text              text = {0}, table = {0};
        make_log(&text, "");
        cr_assert_eq(cs_nccl_log_parse(text.data, text.length, name, 0, &log, NULL), CS_OK);
        for (size_t r = 0; r < log->n_rows; r++) {
            strcpy(log->rows[r].choice,
                   log->rows[r].size_bytes <= 1 << 20 ? cases[k].below : cases[k].above);
        }
        cr_assert_eq(
            cs_calibrate_logs((const cs_nccl_log *const *)&log, &name, 1, &options, &c, NULL),
            CS_OK);
        cr_assert_eq(c->n_breaks, 1);
        cr_expect_eq(c->breaks[0].after_bytes, cases[k].expected.after_bytes);
        cr_expect_eq(c->breaks[0].before_bytes, cases[k].expected.before_bytes);
        cr_expect_eq(c->breaks[0].evidence, cases[k].expected.evidence, "case %zu", k);
        cr_expect_str_eq(c->breaks[0].from, cases[k].expected.from);
        cr_expect_str_eq(c->breaks[0].to, cases[k].expected.to);
        cs_calibration_table(c, &table);
        cr_expect_not_null(strstr(table.data, "# break      between 1048576 and 2097152 B: "));
        cs_nccl_log_free(log);
        cs_calibration_free(c);
        cs_text_free(&text);
        cs_text_free(&table);
    }
}
