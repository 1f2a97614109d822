/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measurements in JSON, captured runs, what NCCL says of its choice, and files that are read in a
 * stream. */
#include "base/alloc.h"
#include "base/file.h"
#include "base/text.h"
#include "traces/calibration.h"
#include "traces/nccl_tests.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIDE(us, algbw, busbw) \
    "{\"time\":" us ",\"alg_bw\":" algbw ",\"bus_bw\":" busbw ",\"nwrong\":0.000000}"
#define ROW(size, count, out, in)                                                  \
    "{\"size\":" size ",\"count\":" count ",\"type\":\"float\",\"redop\":\"sum\"," \
    "\"root\":\"    -1\",\"out_of_place\":" out ",\"in_place\":" in ",\"actual_iterations\":20}"
#define ROWS                                                                      \
    ROW("1048576", "262144", SIDE("75.000000", "13.981013", "24.466773"), "null") \
    "," ROW("2097152", "524288", SIDE("93.500000", "22.429433", "39.251508"),     \
            SIDE("94.000000", "22.310128", "39.042723"))
#define CONFIG                                                                                    \
    "\"config\":{\"nthreads\":1,\"ngpus\":4,\"minimum_bytes\":1048576,\"maximum_bytes\":4194304," \
    "\"step_factor\":2,\"warmup_iters\":5,\"iterations\":20,\"validation\":1,\"devices\":["       \
    "{\"rank\":0,\"group\":0,\"device_info\":\"NVIDIA H100\"},"                                   \
    "{\"rank\":4,\"group\":0,\"device_info\":\"NVIDIA H100\"}]},"
#define HEAD                              \
    "{\"version\":1,\"args\":[\"./build/" \
    "all_reduce_perf\",\"-b\"],\"env\":[],\"nccl_version\":22703,"
#define TAIL                                                                        \
    ",\"out_of_bounds\":{\"count\":0,\"okay\":\"true\"},\"average_bus_bandwidth\":" \
    "{\"bandwidth\":31.1,\"okay\":\"unchecked\"},\"errors\":[\"\"],\"end_time\":\"now\"}"

static cs_nccl_logs parse(const char *text)
{
    cs_nccl_logs logs = {0};
    cs_error     err  = {0};

    cr_assert_eq(cs_nccl_parse(text, strlen(text), "folder/a.json", 0, &logs, &err), CS_OK,
                 "%d:%d: %s: %s", err.input_line, err.input_column, err.where, err.message);
    return logs;
}

Test(nccl_json, a_run_of_nccl_tests)
{
    cs_nccl_logs       logs = parse(HEAD CONFIG "\"results\":[" ROWS "]" TAIL);
    const cs_nccl_log *log  = logs.logs[0];

    cr_assert_eq(logs.n, 1);
    cr_assert_str_eq(logs.names[0], "folder/a.json");
    cr_expect_str_eq(log->reading.name, "a.json");
    cr_assert_eq(log->n_rows, 2);
    cr_expect_eq(log->collective_from, CS_NCCL_COMMAND);
    cr_expect_eq(log->collective, CS_ALLREDUCE);
    cr_expect_eq(log->n_ranks, 8, "two processes of four GPUs list a device each");
    cr_expect_eq(log->n_ranks_low, 8);
    cr_expect_str_eq(log->device, "NVIDIA H100");
    cr_expect_str_eq(log->versions, "NCCL version 2.27.3");
    cr_expect_eq(log->rows[0].size_bytes, 1048576);
    cr_expect_eq(log->rows[0].count, 262144);
    cr_expect_str_eq(log->rows[0].redop, "sum");
    cr_expect_eq(log->rows[0].root, -1);
    cr_expect_float_eq(log->rows[0].timings[0].time_s, 75e-6, 1e-15);
    cr_expect(!log->rows[0].timings[1].is_measured);
    cr_expect(log->rows[1].timings[0].is_checked);
    cr_expect_float_eq(log->rows[1].timings[1].time_s, 94e-6, 1e-15);
    cr_expect_eq(log->reading.run.max_bytes, 4194304);
    cr_expect_eq(log->reading.run.n_warmup_iters, 5);
    cr_expect_eq(log->reading.remarks[CS_NCCL_MISSING_ROWS].n, 1, "of three that are announced");
    cr_expect_eq(log->reading.remarks[CS_NCCL_FAILED_RUN].n, 0);
    cs_nccl_logs_free(&logs);
}

/* Without a number of ranks, a program, or a configuration, as text without a head. */
Test(nccl_json, only_results)
{
    cs_nccl_logs logs = parse(" \n{\"results\": [" ROWS "]}");

    cr_expect_eq(logs.logs[0]->n_ranks, 8, "by busbw / algbw");
    cr_expect_eq(logs.logs[0]->collective_from, CS_NCCL_COLUMNS);
    cr_expect_eq(logs.logs[0]->reading.run.line, 0);
    cs_nccl_logs_free(&logs);
}

Test(nccl_json, doubts)
{
    cs_nccl_logs logs =
        parse("{\"config\":{\"validation\":0,\"maximum_bytes\":9000000},\"results\":[" ROWS
              "],\"out_of_bounds\":{\"okay\":\"false\"},\"average_bus_bandwidth\":{\"okay\":false},"
              "\"errors\":[\"unhandled system error\"]}");
    const cs_nccl_remark *remarks = logs.logs[0]->reading.remarks;
    cs_text               text    = {0};

    cr_expect_eq(remarks[CS_NCCL_FAILED_RESULTS].n, 1);
    cr_expect_eq(remarks[CS_NCCL_FAILED_RUN].n, 2);
    cr_expect_eq(remarks[CS_NCCL_UNCHECKED].n, 1);
    cs_nccl_reading_text(&logs.logs[0]->reading, &text);
    cr_expect_not_null(strstr(text.data, "# log        a.json: 2 rows, none skipped\n"), "%s",
                       text.data);
    cr_expect_not_null(strstr(text.data, "lines by which the run failed: 2, the first: "
                                         "average_bus_bandwidth is not okay\n"),
                       "%s", text.data);
    cs_text_free(&text);
    cs_nccl_logs_free(&logs);
}

#define SAMPLE(op, width, bytes, us, algbw, busbw)                                               \
    "{\"op\":\"" op "\",\"width\":" width ",\"bytes\":" bytes                                    \
    ",\"status\":\"measured\",\"time_us\":" us ",\"algbw_gbps\":" algbw ",\"busbw_gbps\":" busbw \
    ",\"allreduce_mismatching_ranks\":0}"
#define SAMPLES                                                                                    \
    "{\"nccl_version\":23102,\"devices\":[{\"name\":\"NVIDIA A100\"}],\"collectives\":[" SAMPLE(   \
        "allreduce", "2", "1000", "10", "0.1",                                                     \
        "0.1") "," SAMPLE("allreduce", "4", "1000", "12.5", "0.08",                                \
                          "0.12") "," SAMPLE("allgather", "2", "1000", "20", "0.05",               \
                                             "0.025") "," SAMPLE("allreduce", "2", "2000", "16",   \
                                                                 "0.125",                          \
                                                                 "0.125") ","                      \
                                                                          "{\"op\":\"allreduce\"," \
                                                                          "\"width\":2,\"bytes\":" \
                                                                          "3000,\"status\":"       \
                                                                          "\"skipped\"}," SAMPLE(  \
                                                                              "allreduce", "2",    \
                                                                              "4000", "32",        \
                                                                              "0.125",             \
                                                                              "0.125") ","         \
                                                                                       "{\"op\":"  \
                                                                                       "\"content" \
                                                                                       "ion\","    \
                                                                                       "\"width\"" \
                                                                                       ":4}]}"

Test(nccl_json, samples_of_simllm_by_collective_and_ranks)
{
    cs_nccl_logs logs = parse(SAMPLES);

    cr_assert_eq(logs.n, 3);
    cr_expect_eq(logs.logs[0]->n_rows, 3);
    cr_expect_eq(logs.logs[0]->n_ranks, 2);
    cr_expect_str_eq(logs.logs[0]->reading.name, "a.json (allreduce, 2 ranks)");
    cr_expect_eq(logs.logs[0]->reading.remarks[CS_NCCL_UNMEASURED_ROWS].n, 1);
    cr_expect_eq(logs.logs[0]->reading.remarks[CS_NCCL_OTHERS].n, 1);
    cr_expect_str_eq(logs.logs[0]->reading.remarks[CS_NCCL_OTHERS].first, "op contention");
    cr_expect_eq(logs.logs[1]->n_ranks, 4);
    cr_expect_eq(logs.logs[2]->collective, CS_ALLGATHER);
    cr_expect(!logs.logs[2]->rows[0].timings[0].is_checked, "only AllReduce is");
    cr_expect_str_eq(logs.logs[2]->versions, "NCCL version 2.31.2");
    cs_nccl_logs_free(&logs);
}

/* A file of its own, which is gone when the test ends. */
static void write_file(char path[64], const char *text, size_t length)
{
    strcpy(path, "/tmp/collsim-nccl-XXXXXX");
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    close(fd);
    cr_assert_eq(cs_file_write(path, text, length, NULL), CS_OK);
}

static cs_status calibrate(const char *text, cs_calibrate_options options, cs_calibration **c_p,
                           cs_error *err)
{
    char        path[64];
    const char *paths[1] = {path};

    write_file(path, text, strlen(text));
    cs_status status = cs_calibrate(paths, 1, &options, c_p, err);
    unlink(path);
    return status;
}

Test(nccl_json, one_of_many_is_calibrated)
{
    cs_calibrate_options options = {.has_collective = true, .collective = CS_ALLREDUCE};
    cs_calibration      *c       = NULL;
    cs_error             err     = {0};

    cr_expect_eq(calibrate(SAMPLES, (cs_calibrate_options){0}, &c, &err), CS_EINVAL);
    cr_expect_str_eq(err.message, "the file holds allreduce, allgather: give one");
    err = (cs_error){0};
    cr_expect_eq(calibrate(SAMPLES, options, &c, &err), CS_EINVAL);
    cr_expect_str_eq(err.where, "ranks");
    options.n_ranks = 16;
    err             = (cs_error){0};
    cr_expect_eq(calibrate(SAMPLES, options, &c, &err), CS_EINVAL);
    cr_expect_str_eq(err.message, "the file holds no allreduce on 16 ranks");
    options.n_ranks = 2;
    err             = (cs_error){0};
    cr_assert_eq(calibrate(SAMPLES, options, &c, &err), CS_OK, "%s", err.message);
    cr_expect_eq(c->n_points, 3);
    cr_expect_eq(c->n_ranks, 2);
    cs_calibration_free(c);
}

/* Runs of A + S / R us by the schedule of a capture. */
static void make_capture(cs_text *text, const char *schedule, double alpha_us, double rate_Bpus,
                         double steps, double wire_ratio)
{
    cs_text_add(text,
                "# collsim-capture 1 collective allreduce schedule %s ranks 4 machine a "
                "bridge, 4 NICs\n",
                schedule);
    for (uint64_t bytes = 1024; bytes <= 1 << 20; bytes *= 2) {
        for (int run = 0; run < 2; run++) {
            double us    = steps * (alpha_us + wire_ratio * (double)bytes / rate_Bpus);
            double algbw = (double)bytes / us * 1e-3;
            cs_text_add(text, "%llu %llu float sum -1 %.12g %.9f %.9f 0 N/A N/A N/A N/A\n",
                        (unsigned long long)bytes, (unsigned long long)bytes / 4, us, algbw,
                        1.5 * algbw);
        }
    }
}

/* alpha and bandwidth come back as the closed form of either schedule has them. */
Test(nccl_json, captured_runs)
{
    static const struct {
        const char *schedule;
        double      steps, wire_ratio;
    } known[] = {{"ring", 6, 0.25}, {"allpairs", 2, 0.75}};

    for (size_t k = 0; k < 2; k++) {
        cs_text         text = {0};
        cs_calibration *c    = NULL;
        cs_error        err  = {0};
        make_capture(&text, known[k].schedule, 50, 12.5, known[k].steps, known[k].wire_ratio);
        cr_assert_eq(calibrate(text.data, (cs_calibrate_options){0}, &c, &err), CS_OK, "%s: %s",
                     err.where, err.message);
        cr_expect_str_eq(c->schedule, known[k].schedule);
        cr_expect_str_eq(c->machine, "a bridge, 4 NICs");
        cr_expect_eq(c->n_points, 22, "each size was run twice");
        cr_expect_eq(cs_nccl_n_skipped(&c->logs[0]), 0);
        cr_expect_eq(c->n_ranks, 4);
        cr_expect_float_eq(c->regimes[0].alpha_s, 50e-6, 1e-12);
        cr_expect_float_eq(c->regimes[0].bandwidth_Bps / 12.5e6, 1, 1e-6);
        cs_calibration_free(c);
        cs_text_free(&text);
    }
}

Test(nccl_json, captured_schedules_without_a_closed_form)
{
    cs_text         text = {0};
    cs_calibration *c    = NULL;
    cs_error        err  = {0};

    make_capture(&text, "rhd", 50, 12.5, 4, 0.375);
    cr_assert_eq(calibrate(text.data, (cs_calibrate_options){0}, &c, &err), CS_ENOTSUP);
    cr_expect_str_eq(err.where, "schedule");
    cr_expect_not_null(strstr(err.message, "rhd: alpha and bandwidth cannot be concluded"));
    cs_text_free(&text);
}

/* NCCL_DEBUG=INFO with the subsystem TUNING, as old and as new versions write it. */
Test(nccl_json, choices_that_nccl_prints)
{
    cs_nccl_logs logs =
        parse("a:1:2 [0] NCCL INFO 1048576 Bytes -> Algo 1 proto 0 time 23.5\n"
              "1048576 262144 float sum -1 75.0 13.98 24.47 0 74.0 14.17 24.80 0\n"
              "a:1:2 [0] NCCL INFO AllReduce: 2097152 Bytes -> Algo NVLSTREE proto simple "
              "channel{Lo..Hi}={0..15}\n"
              "2097152 524288 float sum -1 93.5 22.43 39.25 0 94.0 22.31 39.04 0\n"
              "4194304 1048576 float sum -1 187.0 22.43 39.25 0 188.0 22.31 39.04 0\n");

    cr_expect_str_eq(logs.logs[0]->rows[0].choice, "Ring/LL");
    cr_expect_str_eq(logs.logs[0]->rows[1].choice, "NVLSTree/Simple");
    cr_expect_str_eq(logs.logs[0]->rows[2].choice, "");
    cr_expect_eq(cs_nccl_n_skipped(&logs.logs[0]->reading), 0);
    cs_nccl_logs_free(&logs);
}

/* A log much longer than what is in memory of it at a time says the same read in either way: its
 * lines are of all lengths, so that some lie across any border. */
Test(nccl_json, files_are_read_in_a_stream)
{
    cs_text      text  = {0};
    cs_nccl_logs whole = {0}, stream = {0};
    cs_error     err = {0};
    char         path[64], noise[4001];

    memset(noise, 'x', sizeof noise);
    for (size_t row = 0; row < 8; row++) {
        for (size_t i = 0; i < 100; i++) {
            cs_text_add(&text, "a:1:2 [0] NCCL INFO %.*s\r\n", (int)((row * 977 + i * 131) % 4000),
                        noise);
        }
        double time = 75.0 * (double)(1 << row), rate = 13.98101333;
        cs_text_add(&text, "%d %d float sum -1 %.2f %.2f %.2f 0 %.2f %.2f %.2f 0\n", 1048576 << row,
                    262144 << row, time, rate, rate * 1.75, time, rate, rate * 1.75);
    }
    write_file(path, text.data, text.length);
    cr_assert_eq(cs_nccl_parse(text.data, text.length, path, 0, &whole, &err), CS_OK, "%s",
                 err.message);
    cr_assert_eq(cs_nccl_read(path, 0, &stream, &err), CS_OK, "%s", err.message);
    cr_expect_eq(stream.logs[0]->reading.n_lines, 808);
    cr_expect_eq(stream.logs[0]->reading.remarks[CS_NCCL_MESSAGES].n, 800);
    cr_expect_eq(memcmp(&stream.logs[0]->reading, &whole.logs[0]->reading, sizeof(cs_nccl_reading)),
                 0);
    cr_assert_eq(stream.logs[0]->n_rows, 8);
    cr_expect_eq(memcmp(stream.logs[0]->rows, whole.logs[0]->rows, 8 * sizeof(cs_nccl_row)), 0);
    cs_nccl_logs_free(&whole);
    cs_nccl_logs_free(&stream);

    /* A NUL far behind the first line is named at its place. */
    const size_t at = text.length - 10;
    text.data[at]   = '\0';
    cr_assert_eq(cs_file_write(path, text.data, text.length, NULL), CS_OK);
    cr_assert_eq(cs_nccl_read(path, 0, &stream, &err), CS_EPARSE);
    cr_expect_eq(err.input_line, 808, "line %d", err.input_line);
    const char *begin = memrchr(text.data, '\n', at);
    cr_expect_eq(err.input_column, (int)(text.data + at - begin), "column %d", err.input_column);
    unlink(path);
    err = (cs_error){0};
    cr_assert_eq(cs_nccl_read(path, 0, &stream, &err), CS_EIO);
    cr_assert_eq(cs_nccl_read("/tmp", 0, &stream, NULL), CS_EIO);
    cr_expect_eq(stream.n, 0);
    cs_text_free(&text);
}

static void fail_allocations(const char *text)
{
    char      path[64];
    cs_status status = CS_ENOMEM;

    write_file(path, text, strlen(text));
    for (long passes = 0; status != CS_OK; passes++) {
        cs_nccl_logs logs = {0};
        cr_assert_lt(passes, 1000);
        cs_alloc_fail_after(passes);
        status = cs_nccl_read(path, 0, &logs, NULL);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%d", (int)status);
        cs_nccl_logs_free(&logs);
    }
    unlink(path);
}

Test(nccl_json, out_of_memory)
{
    cs_text text = {0};

    make_capture(&text, "ring", 50, 12.5, 6, 0.25);
    fail_allocations(text.data);
    fail_allocations(HEAD CONFIG "\"results\":[" ROWS "]" TAIL);
    fail_allocations(SAMPLES);
    fail_allocations("[0] NCCL INFO 1048576 Bytes -> Algo 1 proto 0 time 23.5\n"
                     "1048576 262144 float sum -1 75.0 13.98 24.47 0 74.0 14.17 24.80 0\n");
    cs_text_free(&text);
}
