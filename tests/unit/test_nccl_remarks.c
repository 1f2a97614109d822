/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a log of nccl-tests leaves to know: lines that were skipped, and doubts about the rest. */
#include "base/alloc.h"
#include "base/text.h"
#include "traces/nccl_tests.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define HEADER(range, more) \
    "# nThread 1 nGpus 8 " range " warmup iters: 5 iters: 20 agg iters: 1 " more " graph: 0\n"
/* Rows whose results were right, and rows whose results were not checked. */
#define ROW_1M   "1048576 262144 float sum -1 75.0 13.98 24.47 0 75.0 13.98 24.47 0\n"
#define ROW_2M   "2097152 524288 float sum -1 93.5 22.43 39.25 0 93.5 22.43 39.25 0\n"
#define BLIND_1M "1048576 262144 float sum -1 75.0 13.98 24.47 N/A 75.0 13.98 24.47 N/A\n"
#define BLIND_2M "2097152 524288 float sum -1 93.5 22.43 39.25 N/A 93.5 22.43 39.25 N/A\n"

static cs_nccl_log *parse(const char *text)
{
    cs_nccl_log *log = NULL;
    cs_error     err = {0};

    cr_assert_eq(cs_nccl_log_parse(text, strlen(text), "folder/my.log", 0, &log, &err), CS_OK,
                 "line %d: %s: %s", err.input_line, err.where, err.message);
    return log;
}

static void expect_remark(const cs_nccl_log *log, cs_nccl_remark_kind kind, uint64_t n,
                          uint32_t line, const char *first)
{
    const cs_nccl_remark *remark = &log->reading.remarks[kind];

    cr_expect_eq(remark->n, n, "%s: %llu", cs_nccl_remark_name(kind),
                 (unsigned long long)remark->n);
    cr_expect_eq(remark->first_line, line, "%s: line %u", cs_nccl_remark_name(kind),
                 remark->first_line);
    cr_expect_str_eq(remark->first, first);
}

/* One log with every kind of line that is skipped, and with lines that are not. */
Test(nccl_remarks, skipped_lines_are_counted_by_what_they_look_like)
{
    cs_nccl_log *log =
        parse("user@login:~$ sbatch job.sh\n"
              "$ mpirun ./build/all_reduce_perf -b 1M -e 2M\n" /* names the program: used */
              "srun: job 77 queued\n"
              "\n"
              "# made by hand\n"
              "NCCL version 2.20.5+cuda12.4\n" /* used */
              "#\n"
              "# Using devices\n"
              "#  Rank  7 Group  0 Pid 1 on a device  7 [0000:08:00] X\n"
              "#   size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
              "a:1:2 [0] NCCL INFO Launch mode Parallel\n"
              "a:1:2 [0] NCCL WARN Call to ibv_create_qp failed\n"
              "a:1:2 [0] NCCL WARN and again\n"
              "0 0 float sum -1 1.20 0.00 0.00 0 1.10 0.00 0.00 0\n" ROW_1M "node-3 | " ROW_1M
              "node-3   | 0: " ROW_2M ROW_2M "   4194304   1048576\n"
              "13.98 24.47 0\n"
              "slurmstepd: error: something\n"
              "```\n"
              "# Avg bus bandwidth    : 31.1\n");

    cr_assert_eq(log->n_rows, 2);
    cr_expect_str_eq(log->reading.name, "my.log");
    cr_expect_eq(log->reading.n_lines, 23);
    cr_expect_eq(log->reading.n_rows, 2);
    cr_expect_eq(cs_nccl_n_skipped(&log->reading), 13);
    expect_remark(log, CS_NCCL_LAUNCHERS, 3, 1, "user@login:~$ sbatch job.sh");
    expect_remark(log, CS_NCCL_OTHERS, 1, 22, "```");
    expect_remark(log, CS_NCCL_COMMENTS, 1, 5, "# made by hand");
    expect_remark(log, CS_NCCL_MESSAGES, 1, 11, "a:1:2 NCCL INFO Launch mode Parallel");
    expect_remark(log, CS_NCCL_WARNINGS, 2, 12, "a:1:2 NCCL WARN Call to ibv_create_qp failed");
    expect_remark(log, CS_NCCL_EMPTY_ROWS, 1, 14,
                  "0 0 float sum -1 1.20 0.00 0.00 0 1.10 0.00 0.00 0");
    expect_remark(log, CS_NCCL_LABELLED_ROWS, 2, 16,
                  "node-3 | 1048576 262144 float sum -1 75.0 13.98 24.47 0 75.0 13.98 24.47 0");
    expect_remark(log, CS_NCCL_TORN_ROWS, 2, 19, "4194304 1048576");
    for (int k = 0; k < CS_NCCL_REMARKS; k++) {
        if (cs_nccl_remark_is_doubt((cs_nccl_remark_kind)k)) {
            expect_remark(log, (cs_nccl_remark_kind)k, 0, 0, "");
        }
    }
    cs_nccl_log_free(log);
}

/* What nccl-tests prints around its rows is understood, whatever the options. */
Test(nccl_remarks, comments_of_nccl_tests_are_not_skipped)
{
    cs_nccl_log *log = parse(
        "# nccl-tests version 2.17.1 nccl-headers=22605 nccl-library=22605\n"
        "# Collective test starting: all_reduce_perf\n" HEADER(
            "minBytes 1048576 maxBytes 2097152 step: 2(factor)",
            "validation: 1") "# Blocking Enabled: wait after each inner iteration (-m), no barrier "
                             "\n"
                             "# Parallel Init Enabled: threads call into NcclInitRank "
                             "concurrently \n"
                             "#\n# Using devices\n"
                             "#  Rank  7 Group  0 Pid 1 on a device  7 [0000:08:00] X\n"
                             "# Writing JSON output to a.json\n#\n"
                             "#                     out-of-place              in-place\n"
                             "# size count type redop root time algbw busbw #wrong time algbw "
                             "busbw #wrong\n"
                             "# (B) (elements) (us) (GB/s) (GB/s) (us) (GB/s) (GB/s)\n" ROW_1M
                                 ROW_2M "# Out of bounds values : 0 OK\n"
                             "# Avg bus bandwidth    : 31.1 \n#\n"
                             "# GPU memory usage : Total 1 GB\n"
                             "# Collective test concluded: all_reduce_perf\n");
    cs_text text = {0};

    cr_expect_eq(cs_nccl_n_skipped(&log->reading), 0);
    cs_nccl_reading_text(&log->reading, &text);
    cr_expect_str_eq(text.data, "# log        my.log: 2 rows in 20 lines, none skipped\n"
                                "# run        1048576 .. 2097152 B by a factor of 2, 20 iterations "
                                "after 5 of warm-up\n");
    cs_text_free(&text);
    cs_nccl_log_free(log);
}

Test(nccl_remarks, failures)
{
    cs_nccl_log *log =
        parse(ROW_1M ROW_2M "a: Test NCCL failure common.cu:961 'unhandled system error / '\n"
                            " .. a pid 4711: Test failure common.cu:1031\n"
                            "srun: error: a: task 0: Exited with exit code 3\n"
                            "# Out of bounds values : 3 FAILED\n"
                            "# Avg bus bandwidth    : 31.1 FAILED\n");

    expect_remark(log, CS_NCCL_FAILED_RESULTS, 1, 6, "# Out of bounds values : 3 FAILED");
    expect_remark(log, CS_NCCL_FAILED_RUN, 4, 3,
                  "a: Test NCCL failure common.cu:961 'unhandled system error / '");
    cr_expect_eq(cs_nccl_n_skipped(&log->reading), 0, "a doubt is no skipped line");
    cs_nccl_log_free(log);
}

Test(nccl_remarks, results_that_were_not_checked)
{
    cs_nccl_log *log = parse(HEADER("minBytes 1048576 maxBytes 2097152 step: 2(factor)",
                                    "validation: 0") BLIND_1M BLIND_2M);

    expect_remark(log, CS_NCCL_UNCHECKED, 1, 1, "validation: 0");
    cs_nccl_log_free(log);
    log = parse("\n" BLIND_1M BLIND_2M);
    expect_remark(log, CS_NCCL_UNCHECKED, 1, 2, "#wrong is N/A in all rows");
    cs_nccl_log_free(log);
    log = parse(BLIND_1M ROW_2M);
    expect_remark(log, CS_NCCL_UNCHECKED, 0, 0, "");
    cs_nccl_log_free(log);
}

Test(nccl_remarks, header)
{
    cs_nccl_log       *log = parse(HEADER("minBytes 1048576 maxBytes 2097152 step: 1048576(bytes)",
                                          "validation: 1") "# Reducing maxBytes to 2097151 due to memory "
                                                                 "limitation\n" ROW_1M);
    const cs_nccl_run *run = &log->reading.run;

    cr_expect_eq(run->line, 1);
    cr_expect_eq(run->min_bytes, 1048576);
    cr_expect_eq(run->max_bytes, 2097151, "lowered for lack of memory");
    cr_expect_eq(run->step_factor, 0);
    cr_expect_eq(run->step_bytes, 1048576);
    cr_expect_eq(run->n_warmup_iters, 5);
    cr_expect_eq(run->n_iters, 20);
    expect_remark(log, CS_NCCL_MISSING_ROWS, 0, 0, "");
    cs_nccl_log_free(log);
    /* Headers that say nothing that holds are comments. */
    log = parse("# nThread 1 minBytes 9 maxBytes 8 step: 2(factor)\n"
                "# minBytes eight maxBytes 8\n" ROW_1M);
    cr_expect_eq(log->reading.run.line, 0);
    expect_remark(log, CS_NCCL_COMMENTS, 2, 1, "# nThread 1 minBytes 9 maxBytes 8 step: 2(factor)");
    cs_nccl_log_free(log);
}

Test(nccl_remarks, rows_that_a_header_announces)
{
    const struct {
        cs_nccl_run run;
        uint64_t    n_rows;
    } cases[] = {
        {{.min_bytes = 8, .max_bytes = 8, .step_factor = 2}, 1},
        {{.min_bytes = 8, .max_bytes = 8589934592, .step_factor = 2}, 31},
        {{.min_bytes = 1, .max_bytes = 8589934592, .step_factor = 2}, 34},
        {{.min_bytes = 1, .max_bytes = 80, .step_factor = 3}, 4},
        {{.min_bytes = 1, .max_bytes = 81, .step_factor = 3}, 5},
        {{.min_bytes = 10, .max_bytes = 49, .step_bytes = 10}, 4},
        {{.min_bytes = 10, .max_bytes = 50, .step_bytes = 10}, 5},
        {{.min_bytes = 1, .max_bytes = (uint64_t)1 << 53, .step_factor = (uint64_t)1 << 53}, 2},
        {{.min_bytes = 0, .max_bytes = 8, .step_factor = 2}, 0},
        {{.min_bytes = 8, .max_bytes = 16}, 0},
        {{.min_bytes = 8, .max_bytes = 16, .step_factor = 1}, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cr_expect_eq(cs_nccl_run_n_rows(&cases[i].run), cases[i].n_rows, "%zu: %llu", i,
                     (unsigned long long)cs_nccl_run_n_rows(&cases[i].run));
    }
}

/* A table whose end was cut off, and one that is not the header's. */
Test(nccl_remarks, rows_that_leave_the_header)
{
    cs_nccl_log *log = parse(HEADER("minBytes 1048576 maxBytes 16777216 step: 2(factor)",
                                    "validation: 1") ROW_1M ROW_2M);

    expect_remark(log, CS_NCCL_MISSING_ROWS, 3, 1, "5 rows announced, 2 are there");
    expect_remark(log, CS_NCCL_OUTSIDE_RANGE, 0, 0, "");
    cs_nccl_log_free(log);
    log = parse(HEADER("minBytes 8 maxBytes 1048576 step: 131072(factor)", "validation: 1")
                    ROW_1M ROW_2M);
    expect_remark(log, CS_NCCL_MISSING_ROWS, 1, 1, "2 rows announced, 1 are there");
    expect_remark(log, CS_NCCL_OUTSIDE_RANGE, 1, 3, "size 2097152");
    cs_nccl_log_free(log);
    log = parse(HEADER("minBytes 1048580 maxBytes 4194304 step: 2(factor)", "validation: 1")
                    ROW_1M ROW_2M);
    expect_remark(log, CS_NCCL_OUTSIDE_RANGE, 1, 2, "size 1048576");
    cs_nccl_log_free(log);
}

/* AllGather and its like round a size down to 16 bytes on each rank: 1000 of 8 ranks is 896. Rows
 * of size 0 are rows of the run, too. */
Test(nccl_remarks, sizes_that_are_rounded_down_stay_in_the_range)
{
    static const char rows[] = "#  Rank  7 Group  0 Pid 1 on a device  7 [0000:08:00] X\n"
                               "0 0 float none -1 1.00 0.00 0.00 0 1.00 0.00 0.00 0\n"
                               "896 28 float none -1 20.00 0.04 0.04 0 20.00 0.04 0.04 0\n"
                               "# Collective test concluded: alltoall_perf\n";
    const struct {
        const char *range;
        uint64_t    n_outside, n_missing;
    } cases[] = {
        {"minBytes 100 maxBytes 1000 step: 10(factor)", 0, 0},
        {"minBytes 100 maxBytes 10000 step: 10(factor)", 0, 1},
        {"minBytes 1000 maxBytes 1001 step: 1(bytes)", 0, 1}, /* no row of size 0 is of it */
        {"minBytes 1023 maxBytes 1023 step: 2(factor)", 0, 0},
        {"minBytes 1024 maxBytes 1024 step: 2(factor)", 1, 1},
        {"minBytes 8 maxBytes 895 step: 100(factor)", 1, 1},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cs_text text = {0};
        cs_text_add(&text, "# nThread 1 nGpus 8 %s\n%s", cases[i].range, rows);
        cs_nccl_log          *log     = parse(text.data);
        const cs_nccl_remark *remarks = log->reading.remarks;
        cr_expect_eq(remarks[CS_NCCL_OUTSIDE_RANGE].n, cases[i].n_outside, "%s", cases[i].range);
        cr_expect_eq(remarks[CS_NCCL_MISSING_ROWS].n, cases[i].n_missing, "%s: %llu",
                     cases[i].range, (unsigned long long)remarks[CS_NCCL_MISSING_ROWS].n);
        cs_nccl_log_free(log);
        cs_text_free(&text);
    }
}

/* What a log has is printed, so it is one short line that steers no terminal. */
Test(nccl_remarks, texts_are_made_plain_and_short)
{
    cs_text      text = {0}, report = {0};
    cs_nccl_log *log;

    cs_text_add(&text, "x\xff\t \xc3\xa4 ");
    for (int i = 0; i < 200; i++) {
        cs_text_add(&text, "y ");
    }
    cs_text_add(&text, "\n" ROW_1M);
    log               = parse(text.data);
    const char *first = log->reading.remarks[CS_NCCL_OTHERS].first;
    cr_expect_eq(strncmp(first, "x? \xc3\xa4 y y", 8), 0, "%s", first);
    cr_expect_leq(strlen(first), 95);
    cr_expect_str_eq(first + strlen(first) - 4, " y..", "%s", first);
    cs_nccl_reading_text(&log->reading, &report);
    cr_expect_not_null(strstr(report.data, "#   skipped  other lines: 1, see line 1: x? "));
    cs_text_free(&text);
    cs_text_free(&report);
    cs_nccl_log_free(log);
}

Test(nccl_remarks, report)
{
    cs_nccl_log *log    = parse("> prompt\nmore\n0 0 float sum -1 1 0 0 0 1 0 0 0\n" BLIND_1M);
    cs_text      report = {0};

    cs_nccl_reading_text(&log->reading, &report);
    cr_expect_str_eq(
        report.data,
        "# log        my.log: 1 rows in 4 lines, 3 skipped\n"
        "# warning    results were not checked, see line 4: #wrong is N/A in all rows\n"
        "#   skipped  rows of size 0: 1, see line 3: 0 0 float sum -1 1 0 0 0 1 0 0 0\n"
        "#   skipped  other lines: 2, the first in line 1: prompt\n");
    cs_text_free(&report);
    cs_nccl_log_free(log);
}
