/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader of nccl-tests logs: every hazard of a real log in a small one, and every refusal
 * with its place (tests/logs). */
#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "cs/scenario.h"
#include "traces/nccl_tests.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#ifndef COLLSIM_SOURCE_DIR
#define COLLSIM_SOURCE_DIR "."
#endif

#define ROW_1M \
    "     1048576        262144     float     sum      -1     75.0   13.98   24.47      0"
#define SIDE_1M "     74.0   14.17   24.80      0"
#define ROW_2M \
    "     2097152        524288     float     sum      -1     93.5   22.43   39.25      0"
#define SIDE_2M "     94.0   22.31   39.04      0"
#define TABLE   ROW_1M SIDE_1M "\n" ROW_2M SIDE_2M "\n"

static cs_nccl_log *parse(const char *text)
{
    cs_nccl_log *log = NULL;
    cs_error     err = {0};

    cr_assert_eq(cs_nccl_log_parse(text, strlen(text), "log", 0, &log, &err), CS_OK,
                 "line %d: %s: %s", err.input_line, err.where, err.message);
    return log;
}

/* Is it the table above? */
static void check_table(const char *text)
{
    cs_nccl_log *log = parse(text);

    cr_assert_eq(log->n_rows, 2, "%zu rows of: %s", log->n_rows, text);
    cr_assert_eq(log->rows[0].size_bytes, 1048576);
    cr_assert_eq(log->rows[0].count, 262144);
    cr_assert_str_eq(log->rows[0].type, "float");
    cr_assert_str_eq(log->rows[0].redop, "sum");
    cr_assert_eq(log->rows[0].root, -1);
    cr_assert_float_eq(log->rows[0].timings[CS_NCCL_OUT_OF_PLACE].time_s, 75.0e-6, 1e-18);
    cr_assert_float_eq(log->rows[0].timings[CS_NCCL_IN_PLACE].time_s, 74.0e-6, 1e-18);
    cr_assert_float_eq(log->rows[1].timings[CS_NCCL_OUT_OF_PLACE].algbw_Bps, 22.43e9, 1);
    cr_assert_float_eq(log->rows[1].timings[CS_NCCL_OUT_OF_PLACE].busbw_Bps, 39.25e9, 1);
    cr_assert_float_eq(log->rows[1].timings[CS_NCCL_IN_PLACE].time_s, 94.0e-6, 1e-18);
    cr_assert(log->rows[0].timings[CS_NCCL_OUT_OF_PLACE].is_checked);
    cr_assert_eq(log->n_ranks, 8);
    cr_assert_eq(log->collective, CS_ALLREDUCE);
    cs_nccl_log_free(log);
}

Test(nccl_tests, plain_table)
{
    check_table(TABLE);
    check_table("# a comment\n\n" TABLE "# Avg bus bandwidth    : 31.1\n");
}

Test(nccl_tests, last_line_without_end)
{
    check_table(ROW_1M SIDE_1M "\n" ROW_2M SIDE_2M);
}

Test(nccl_tests, line_ends_of_other_systems)
{
    check_table(ROW_1M SIDE_1M "\r\n" ROW_2M SIDE_2M "\r\n");
    check_table(ROW_1M SIDE_1M "\r" ROW_2M SIDE_2M "\r");
}

Test(nccl_tests, labels_of_launchers_in_front)
{
    check_table("0: " ROW_1M SIDE_1M "\n0: " ROW_2M SIDE_2M "\n");
    check_table(" 0: " ROW_1M SIDE_1M "\n12: noise\n 0: " ROW_2M SIDE_2M "\n");
    check_table("[1,0]<stdout>:" ROW_1M SIDE_1M "\n[1,0]<stdout>:" ROW_2M SIDE_2M "\n");
    check_table("[prterun-host-77@1,0]<stdout>: " ROW_1M SIDE_1M "\n[1,0]<stdout>:" ROW_2M SIDE_2M);
    check_table("2026-01-31T12:00:00.123Z 0: " ROW_1M SIDE_1M "\n> " ROW_2M SIDE_2M "\n");
}

Test(nccl_tests, labels_inside_a_row)
{
    check_table(
        "[0]     1048576        262144     float     sum      -1[0]     75.0   13.98   24.47 "
        "     0[0]" SIDE_1M "\n[0]" ROW_2M "[0]" SIDE_2M "\n");
}

Test(nccl_tests, colours_and_fences)
{
    check_table("```bash\n\033[1m" ROW_1M "\033[0m" SIDE_1M "\n" ROW_2M "\033[32;1m" SIDE_2M
                "\033[0m\n```\n");
}

Test(nccl_tests, noise_between_rows)
{
    check_table("\xEF\xBB\xBFhostname:3442:3442 [0] NCCL INFO Launch mode Parallel\n" ROW_1M SIDE_1M
                "\nhost:1:2 [0] NCCL WARN something 1 2 3\n1 2 3\n" ROW_2M SIDE_2M "\nbye\n");
}

Test(nccl_tests, time_stamps_and_columns_per_iteration)
{
    check_table(ROW_1M SIDE_1M "  2026-01-31 12:00:00\n" ROW_2M SIDE_2M "  2026-01-31 12:00:01\n");
    check_table(ROW_1M "    70.00    80.00    79.00     1.20" SIDE_1M
                       "    71.00    81.00    80.00     1.30\n" ROW_2M
                       "    70.00    80.00    79.00     1.20" SIDE_2M
                       "    71.00    81.00    80.00     1.30  2026-01-31 12:00:01\n");
}

Test(nccl_tests, rows_of_size_0_are_counted_and_skipped)
{
    cs_nccl_log *log = parse("0 0 float sum 35.20 0.00 0.00 N/A 34.05 0.00 0.00 N/A\n"
                             "0 0 float sum 1.20 0.00 0.00 N/A 34.05 0.00 0.00 N/A\n" TABLE);

    cr_assert_eq(log->reading.remarks[CS_NCCL_EMPTY_ROWS].n, 2);
    cr_assert_eq(log->n_rows, 2);
    cs_nccl_log_free(log);
}

Test(nccl_tests, old_table_without_root)
{
    cs_nccl_log *log = parse(
        "#       size         count    type   redop     time   algbw   busbw  error     time   "
        "algbw   busbw  error\n"
        " 1048576 262144 float sum 74.78 14.02 24.54 1e-07 76.17 13.77 24.09 0e+00\n"
        " 2097152 524288 float sum 93.48 22.43 39.26   N/A 96.10 21.82 38.19   N/A\n");

    cr_assert_eq(log->rows[0].root, CS_NCCL_NO_ROOT);
    cr_assert(log->is_deviation);
    cr_assert_float_eq(log->rows[0].timings[CS_NCCL_OUT_OF_PLACE].n_wrong, 1e-7, 1e-15);
    cr_assert(!log->rows[1].timings[CS_NCCL_OUT_OF_PLACE].is_checked);
    cr_assert_eq(log->collective, CS_ALLREDUCE);
    cr_assert_eq(log->n_ranks, 8);
    cs_nccl_log_free(log);
}

Test(nccl_tests, blank_operation_tells_collectives_of_old_logs_apart)
{
    static const char row[] = " 1073741824 33554432 float 4413.4 243.29 212.88 N/A 4258.8 252.12 "
                              "220.61 N/A\n";
    char              text[600];
    cs_nccl_log      *log;

    snprintf(text, sizeof text,
             "# size count type time algbw busbw error time algbw busbw error\n%s", row);
    log = parse(text);
    cr_assert_eq(log->collective_from, CS_NCCL_COLUMNS);
    cr_assert_eq(log->collective, CS_ALLGATHER);
    cr_assert_eq(log->n_ranks, 8);
    cr_assert_str_eq(log->rows[0].redop, "");
    cs_nccl_log_free(log);
    snprintf(text, sizeof text,
             "# size count type redop time algbw busbw error time algbw busbw error\n%s", row);
    log = parse(text);
    cr_assert_eq(log->collective, CS_ALLTOALL);
    cs_nccl_log_free(log);
    log = parse(row);
    cr_assert_eq(log->collective_from, CS_NCCL_UNKNOWN,
                 "without a header nothing tells them apart");
    cs_nccl_log_free(log);
}

Test(nccl_tests, in_place_may_be_missing)
{
    cs_nccl_log *log = parse(ROW_1M "      N/A     N/A     N/A    N/A\n");

    cr_assert(log->rows[0].timings[CS_NCCL_OUT_OF_PLACE].is_measured);
    cr_assert(!log->rows[0].timings[CS_NCCL_IN_PLACE].is_measured);
    cs_nccl_log_free(log);
}

Test(nccl_tests, stated_program_wins)
{
    cs_nccl_log *log = parse("$ make all_gather_perf all_reduce_perf reduce_perf\n" TABLE
                             "# Collective test concluded: all_reduce_perf\n");

    cr_assert_eq(log->collective_from, CS_NCCL_STATED);
    cr_assert_str_eq(log->program, "all_reduce_perf");
    cs_nccl_log_free(log);
    log = parse("$ ./build/all_reduce_perf -b 1M -e 2M\n" TABLE);
    cr_assert_eq(log->collective_from, CS_NCCL_COMMAND);
    cs_nccl_log_free(log);
    log = parse(TABLE);
    cr_assert_eq(log->collective_from, CS_NCCL_COLUMNS);
    cs_nccl_log_free(log);
}

Test(nccl_tests, device_and_versions)
{
    cs_nccl_log *log = parse(
        "# nccl-tests version 2.17.1 nccl-headers=22605 nccl-library=22605\n"
        "#  Rank  0 Group  0 Pid 1 on a device  0 [0000:07:00] NVIDIA H100 80GB HBM3 \n"
        "#  Rank  7 Group  0 Pid 1 on a device  7 [0000:08:00] NVIDIA H100 80GB HBM3\n" TABLE);

    cr_assert_str_eq(log->device, "NVIDIA H100 80GB HBM3");
    cr_assert_str_eq(log->versions,
                     "nccl-tests version 2.17.1 nccl-headers=22605 nccl-library=22605");
    cr_assert_eq(log->n_ranks_listed, 8);
    cs_nccl_log_free(log);
}

/* Both rates are printed with two decimals: the quotient of a row of n ranks must never
 * exclude n, and a fast row must leave nothing but n. */
Test(nccl_tests, ranks_from_rates)
{
    for (unsigned n = 2; n <= 200; n += 3) {
        double       time_s = (double)(1u << 30) / 437.123e9;
        double       algbw = (double)(1u << 30) / time_s / 1e9, busbw = algbw * 2 * (n - 1) / n;
        char         text[300];
        cs_nccl_log *log;

        snprintf(text, sizeof text,
                 "1073741824 268435456 float sum -1 %.1f %.2f %.2f 0 %.1f %.2f %.2f 0\n",
                 time_s * 1e6, algbw, busbw, time_s * 1e6, algbw, busbw);
        log = parse(text);
        cr_assert_leq(log->n_ranks_low, n);
        cr_assert_geq(log->n_ranks_high, n);
        if (n < 90) {
            cr_assert_eq(log->n_ranks, n, "%u instead of %u", log->n_ranks, n);
        }
        cs_nccl_log_free(log);
    }
}

/* A number as nccl-tests prints it: two decimals, or fewer where they do not fit. */
static void print_number(double value, int width, char text[32])
{
    for (int decimals = 2; decimals >= 0; decimals--) {
        if (snprintf(text, 32, "%*.*f", width, decimals, value) <= width) {
            return;
        }
    }
    snprintf(text, 32, "%*.1e", width, value);
}

/* A row of 2 ranks whose algbw is that of the time, times `factor`. */
static cs_status parse_row(uint64_t bytes, double time_us, double factor, cs_error *err)
{
    char         time[32], algbw[32], text[300];
    double       rate_GBps = (double)bytes / time_us * 1e-3 * factor;
    cs_nccl_log *log       = NULL;

    print_number(time_us, 7, time);
    print_number(rate_GBps, 6, algbw);
    snprintf(text, sizeof text, "%llu %llu float sum -1 %s %s %s 0 N/A N/A N/A N/A\n",
             (unsigned long long)bytes, (unsigned long long)bytes / 4, time, algbw, algbw);
    cs_status status = cs_nccl_log_parse(text, strlen(text), "log", 0, &log, err);
    cs_nccl_log_free(log);
    return status;
}

/* Whatever nccl-tests prints for a size and a time is accepted: both are rounded, to three digits
 * or to seven. Where the columns have digits enough, an algbw that is off by 1 % is not. */
Test(nccl_tests, rates_are_size_by_time_as_far_as_they_are_printed)
{
    double time_us  = 1.234567;
    int    n_narrow = 0;

    for (uint64_t bytes = 8; bytes <= 1ull << 36; bytes = bytes * 3 / 2 / 4 * 4 + 4) {
        double   rate_GBps = (double)bytes / time_us * 1e-3;
        cs_error err       = {0};

        cr_expect_eq(parse_row(bytes, time_us, 1, &err), CS_OK, "%s", err.message);
        if (rate_GBps > 2 && rate_GBps < 1000) {
            cr_expect_eq(parse_row(bytes, time_us, 1.01, &err), CS_EPARSE, "%g GB/s", rate_GBps);
            cr_expect_str_eq(err.where, "algbw");
            cr_expect_gt(err.input_column, 1);
            n_narrow++;
        }
        time_us *= 1.2;
    }
    cr_expect_gt(n_narrow, 20);
}

/* With -C the time is that of the CPU, and algbw is still that of the operation. */
Test(nccl_tests, rates_are_not_those_of_cpu_times)
{
    cs_nccl_log *log = parse("# size count type redop root cputime algbw busbw #wrong cputime "
                             "algbw busbw #wrong\n"
                             "1048576 262144 float sum -1 3.10 13.98 24.47 0 3.05 14.17 24.80 0\n");

    cr_assert(log->is_cputime);
    cs_nccl_log_free(log);
}

Test(nccl_tests, groups_share_the_ranks)
{
    cs_nccl_log *log = parse("#  Rank  0 Group  0 Pid 1 on a device  0 [0000:07:00] X\n"
                             "#  Rank 15 Group  1 Pid 1 on b device  7 [0000:07:00] X\n" TABLE);

    cr_assert_eq(log->n_ranks, 8);
    cs_nccl_log_free(log);
}

Test(nccl_tests, given_ranks_overrule_the_rank_lines_but_not_the_rates)
{
    static const char text[] = "#  Rank 15 Pid 1 on b device  7 [0x07] X\n" TABLE;
    cs_nccl_log      *log    = NULL;
    cs_error          err    = {0};

    cr_assert_eq(cs_nccl_log_parse(text, strlen(text), "log", 0, &log, &err), CS_EPARSE);
    cr_assert_eq(err.input_line, 1);
    cr_assert_eq(cs_nccl_log_parse(text, strlen(text), "log", 8, &log, NULL), CS_OK);
    cr_assert_eq(log->n_ranks, 8);
    cs_nccl_log_free(log);
    cr_assert_eq(cs_nccl_log_parse(text, strlen(text), "log", 16, &log, NULL), CS_EINVAL);
}

Test(nccl_tests, nul_bytes_and_endless_lines)
{
    static const char nul[] = "# a\n" ROW_1M "\0" SIDE_1M "\n";
    cs_nccl_log      *log   = NULL;
    cs_error          err   = {0};
    cs_text           text  = {0};

    cr_assert_eq(cs_nccl_log_parse(nul, sizeof nul - 1, "log", 0, &log, &err), CS_EPARSE);
    cr_assert_eq(err.input_line, 2);
    cr_assert_eq(err.input_column, (int)strlen(ROW_1M) + 1);
    cs_text_add(&text, "# a\n");
    for (int i = 0; i < 66000; i++) {
        cs_text_add(&text, "x");
    }
    err = (cs_error){0};
    cr_assert_eq(cs_nccl_log_parse(text.data, text.length, "log", 0, &log, &err), CS_EPARSE);
    cr_assert_eq(err.input_line, 2);
    cs_text_free(&text);
    err = (cs_error){0};
    cr_assert_eq(cs_nccl_log_parse("", (size_t)256 * 1024 * 1024 + 1, "log", 0, &log, &err),
                 CS_EINVAL);
    cr_assert_eq(cs_nccl_log_parse("", 0, NULL, 0, &log, NULL), CS_EPARSE);
}

Test(nccl_tests, out_of_memory)
{
    cs_status status = CS_ENOMEM;

    for (long passes = 0; status != CS_OK; passes++) {
        cs_nccl_log *log = NULL;

        cr_assert_lt(passes, 100);
        cs_alloc_fail_after(passes);
        status = cs_nccl_log_parse(TABLE, strlen(TABLE), "log", 0, &log, NULL);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM);
        cs_nccl_log_free(log);
    }
}

/* One folder of tests/logs: its input, of any format, must give exactly the line in `error`. */
static void check_case(const char *folder)
{
    char         path[512], message[800];
    char        *text = NULL, *expected = NULL;
    size_t       length = 0, expected_length = 0;
    cs_nccl_logs logs = {0};
    cs_error     err  = {0};

    snprintf(path, sizeof path, "%s/tests/logs/%s/input.txt", COLLSIM_SOURCE_DIR, folder);
    cr_assert_eq(cs_file_read(path, 1 << 20, &text, &length, NULL), CS_OK, "%s", path);
    snprintf(path, sizeof path, "%s/tests/logs/%s/error", COLLSIM_SOURCE_DIR, folder);
    cr_assert_eq(cs_file_read(path, 1 << 20, &expected, &expected_length, NULL), CS_OK, "%s", path);
    expected[strcspn(expected, "\n")] = '\0';
    cr_expect_neq(cs_nccl_parse(text, length, "input.txt", 0, &logs, &err), CS_OK, "%s", folder);
    cr_expect_eq(logs.n, 0);
    cs_error_text(&err, message, sizeof message);
    cr_expect_str_eq(message, expected, "%s:\n  is       %s\n  expected %s", folder, message,
                     expected);
    cs_nccl_logs_free(&logs);
    cs_free(text);
    cs_free(expected);
}

Test(nccl_tests, refusals)
{
    DIR           *folder = opendir(COLLSIM_SOURCE_DIR "/tests/logs");
    struct dirent *entry;
    int            n = 0;

    cr_assert_not_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] != '.') {
            check_case(entry->d_name);
            n++;
        }
    }
    closedir(folder);
    cr_assert_geq(n, 42);
}
