/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measured arrivals, where they are at hand: the folder in COLLSIM_DATA, or ../shared/data beside
 * the source. They are not part of the project; a missing one is skipped and named. The expected
 * values were computed from the files by hand, not by this program. */
#include "base/alloc.h"
#include "base/file.h"
#include "traces/arrival_file.h"
#include "traces/skew.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef COLLSIM_SOURCE_DIR
#define COLLSIM_SOURCE_DIR "."
#endif

static bool find_data(const char *name, char *path, size_t bytes)
{
    const char *folder = getenv("COLLSIM_DATA");

    (void)snprintf(path, bytes, "%s/%s",
                   folder != NULL ? folder : COLLSIM_SOURCE_DIR "/../shared/data", name);
    if (access(path, R_OK) != 0) {
        (void)fprintf(stderr, "skipped: %s is not here (set COLLSIM_DATA)\n", name);
        return false;
    }
    return true;
}

static void load(const char *path, const cs_arrival_options *options, cs_arrival_trace *trace,
                 cs_arrival_notes *notes)
{
    cs_error err = {0};

    cr_assert_eq(cs_arrival_files_load(&path, 1, options, trace, notes, &err), CS_OK, "%s: %s",
                 path, err.message);
}

Test(measured_arrivals, stragglar_log)
{
    const cs_arrival_options options = {0};
    cs_arrival_trace         trace   = {0};
    cs_arrival_notes         notes   = {0};
    char                     path[512];
    double                   delay_s = 0;

    if (!find_data("stragglar_log_4xa100_llama3.2-3B_first25steps.txt", path, sizeof path)) {
        return;
    }
    load(path, &options, &trace, &notes);
    cr_assert_eq(trace.n_ranks, 4);
    cr_assert_eq(trace.n_calls, 24);
    cr_assert_eq(notes.n_records, 100);
    cr_assert_eq(notes.n_warmup, 1);
    for (size_t c = 0; c < trace.n_calls; c++) {
        double others_s = 0;
        for (uint32_t r = 0; r < 4; r++) {
            others_s = r != 2 ? fmax(others_s, cs_trace_arrival(&trace, c, r)) : others_s;
        }
        cr_assert_gt(cs_trace_arrival(&trace, c, 2), others_s, "call %zu: rank 2 is last", c);
        delay_s += (cs_trace_arrival(&trace, c, 2) - others_s) / 24;
        cr_assert_eq(trace.bytes[c], 12549804u * UINT64_C(1024));
    }
    cr_assert_float_eq(delay_s, 14.420833e-3, 1e-9);
    cr_assert_float_eq(notes.period_s, 4.82, 0.02);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}

/* Without step 0 rank 2 is last in 24 of 24 calls, with it in 24 of 25: in step 0 it is the first
 * (inside for 1753.16 ms, rank 1 for 891.84 ms). */
Test(measured_arrivals, stragglar_log_with_and_without_warmup)
{
    static const double mean_delay_s[] = {14.42083333e-3, 18.2684e-3};
    char                path[512];

    if (!find_data("stragglar_log_4xa100_llama3.2-3B_first25steps.txt", path, sizeof path)) {
        return;
    }
    for (int has_warmup = 0; has_warmup < 2; has_warmup++) {
        const cs_arrival_options options = {.sets_warmup = has_warmup != 0};
        cs_arrival_trace         trace   = {0};
        cs_arrival_notes         notes   = {0};
        cs_skew                  skew    = {0};
        size_t                   n       = has_warmup != 0 ? 25 : 24;

        load(path, &options, &trace, &notes);
        cr_assert_eq(cs_skew_compute(&trace, &skew, NULL), CS_OK);
        cr_expect_eq(skew.n_calls, n);
        cr_expect_eq(skew.straggler, 2);
        cr_expect_eq(skew.ranks[2].n_last, 24);
        cr_expect_float_eq(skew.last_ratio, 24.0 / (double)n, 1e-15);
        cr_expect_float_eq(skew.repeat_ratio, 23.0 / (double)(n - 1), 1e-15);
        cr_expect_float_eq(skew.delay_s.mean.value, mean_delay_s[has_warmup], 1e-11);
        cr_expect_eq(skew.ranks[1].n_last, n - 24);
        cr_expect_float_eq(skew.spread_s.max, has_warmup ? 861.32e-3 : 33.74e-3, 1e-12);
        cs_skew_free(&skew);
        cs_arrival_trace_free(&trace);
        cs_arrival_notes_free(&notes);
    }
}

/* They end together: gap and time in the kernel add up to 72.2 .. 76.3 us on every rank. */
Test(measured_arrivals, vllm_table)
{
    const cs_arrival_options options = {0};
    cs_arrival_trace         trace   = {0};
    cs_arrival_notes         notes   = {0};
    char                     path[512];

    if (!find_data("issue_vllm52911_tp8_allreduce_arrival_gap.md", path, sizeof path)) {
        return;
    }
    load(path, &options, &trace, &notes);
    cr_assert_eq(trace.n_ranks, 8);
    cr_assert_eq(trace.n_calls, 1);
    for (uint32_t r = 0; r < 8; r++) {
        double end_s = trace.arrival_s[r] + trace.inside_s[r];
        cr_assert(end_s > 72.1e-6 && end_s < 76.3e-6, "rank %u: %g us", r, end_s * 1e6);
    }
    cs_skew skew = {0};
    cr_assert_eq(cs_skew_compute(&trace, &skew, NULL), CS_OK);
    cr_expect_eq(skew.straggler, 7);
    cr_expect_float_eq(skew.delay_s.mean.value, (64.167 - 63.639) * 1e-6, 1e-12);
    cr_expect_float_eq(skew.zero_wait_s.mean.value, 10.519e-6, 1e-12);
    cr_expect_lt(skew.end_spread_s, 4.2e-6);
    cs_skew_free(&skew);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}

/* An artificially slowed worker, the first pipeline stage of data-parallel group 0: its 32
 * micro-batches are one step, and 17,497.3 ms of forward work there stand against 7,336.2, 7,311.0
 * and 7,315.0 ms in the busiest stages of the others. Per micro-batch, the mean of the stages is
 * 301.765 against 218 ms. */
Test(measured_arrivals, bytedance_step)
{
    const cs_arrival_options options = {.category = "forward-compute"};
    cs_arrival_trace         trace   = {0};
    cs_arrival_notes         notes   = {0};
    cs_error                 err     = {0};
    char                     path[512];

    if (!find_data("bytedance_straggler_AR_64gpu_step16_timeline.json", path, sizeof path)) {
        return;
    }
    load(path, &options, &trace, &notes);
    cr_assert_eq(trace.n_ranks, 4);
    cr_assert_eq(trace.n_calls, 1, "%zu calls", trace.n_calls);
    cr_expect_float_eq(cs_trace_arrival(&trace, 0, 0), 10.18633, 1e-5);
    cr_expect_float_eq(cs_trace_arrival(&trace, 0, 1), 0.02528, 1e-5);
    cr_expect_eq(cs_trace_arrival(&trace, 0, 2), 0);
    cr_expect_float_eq(cs_trace_arrival(&trace, 0, 3), 0.00408, 1e-5);
    cr_expect(isnan(notes.period_s));
    cr_expect(strstr(notes.text.data, "a step is that of args.step: 32 events of each thread"));
    cr_expect(strstr(notes.text.data, "rank 0 (process '0', threads: 4) works for 17497.3 ms in a "
                                      "step on average, the mean of its threads is 9656.47 ms"));
    cr_expect(strstr(notes.text.data, "rank 3 (process '3', threads: 4) works for 7315.03 ms in a "
                                      "step on average, the mean of its threads is 6977.21 ms"));
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);

    cr_assert_eq(cs_arrival_file_load(path, &trace, &err), CS_EINVAL);
    cr_assert_str_eq(err.where, "--category");
    cr_assert(strstr(err.message, "forward-compute") != NULL, "%s", err.message);
}

/* The first collective behind the step, layernorm-grads-all-reduce of the first stages, begins at
 * 46,037.3 ms in group 0 and at 21,578.1, 21,547.8 and 21,517.6 ms in the others, on one clock:
 * that is what all compute of the step has to come to, but for the waits of the pipeline. */
Test(measured_arrivals, bytedance_step_against_its_own_collective)
{
    const cs_arrival_options options    = {.category = "forward-compute,backward-compute"};
    const double             measured_s = (46037.3 - 21547.8) * 1e-3;
    cs_arrival_trace         trace      = {0};
    cs_arrival_notes         notes      = {0};
    char                     path[512];

    if (!find_data("bytedance_straggler_AR_64gpu_step16_timeline.json", path, sizeof path)) {
        return;
    }
    load(path, &options, &trace, &notes);
    cr_assert_eq(trace.n_calls, 1);
    cr_expect_float_eq(cs_behind_others_s(trace.arrival_s, 4, 0) / measured_s, 1, 0.04, "%g s",
                       cs_behind_others_s(trace.arrival_s, 4, 0));
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}

/* Only rank 0 of each job was recorded: no skew. All 80 kernels of the larger job are called
 * ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t, though by the annotations of its threads they are of
 * all-to-alls, AllReduces, AllGathers and ReduceScatters: that name does not say what a kernel is
 * of. */
Test(measured_arrivals, kineto_of_one_rank_is_refused)
{
    cs_arrival_trace trace = {0};
    cs_error         err   = {0};
    char             path[512];

    if (find_data("kineto_a100x2_hta_nccl_events.json", path, sizeof path)) {
        cr_assert_eq(cs_arrival_file_load(path, &trace, &err), CS_EINVAL);
        cr_assert(strstr(err.message, "has 2 ranks, 1 of them is in the traces") != NULL, "%s",
                  err.message);
        cr_assert(strstr(err.message, "15 allreduce calls take 3.117 ms") != NULL, "%s",
                  err.message);
    }
    err = (cs_error){0};
    if (find_data("kineto_a100x16_hta_rank0_nccl_events.json", path, sizeof path)) {
        cr_assert_eq(cs_arrival_file_load(path, &trace, &err), CS_EINVAL);
        cr_assert(strstr(err.message, "80 that do not say what they are of") != NULL, "%s",
                  err.message);
    }
}

/* A text in which every `from` has become `to`. */
static char *replaced(const char *text, const char *from, const char *to)
{
    cs_text out = {0};

    for (const char *at = strstr(text, from); at != NULL; at = strstr(text, from)) {
        cs_text_add_bytes(&out, text, (size_t)(at - text));
        cs_text_add(&out, "%s", to);
        text = at + strlen(from);
    }
    cs_text_add(&out, "%s", text);
    return out.data;
}

/* The recorded rank and a second one made of it, which is inside for exactly 1 ms more in one
 * call. */
Test(measured_arrivals, kineto_pair)
{
    const cs_arrival_options options = {0};
    cs_arrival_trace         trace   = {0};
    cs_arrival_notes         notes   = {0};
    cs_error                 err     = {0};
    char                     path[512], *text = NULL;
    size_t                   length = 0;

    if (!find_data("kineto_a100x2_hta_nccl_events.json", path, sizeof path)) {
        return;
    }
    cr_assert_eq(cs_file_read(path, 1 << 20, &text, &length, NULL), CS_OK);
    char *ranked = replaced(text, "\"backend\": \"nccl\", \"rank\": 0", "\"rank\": 1");
    char *second = replaced(ranked, "\"dur\": 2520.607,", "\"dur\": 3520.607,");
    const cs_arrival_text texts[] = {{"second", second, strlen(second)}, {"first", text, length}};
    cr_assert_eq(cs_arrival_texts_read(texts, 2, &options, &trace, &notes, &err), CS_OK, "%s: %s",
                 err.where, err.message);
    cr_assert_eq(trace.n_ranks, 2);
    cr_assert_eq(trace.n_calls, 15);
    cr_assert_eq(notes.n_records, 30);
    for (size_t c = 0; c < 15; c++) {
        double late_s = c == 5 ? 1e-3 : 0;
        cr_assert_float_eq(cs_trace_arrival(&trace, c, 0), late_s, 1e-15, "call %zu", c);
        cr_assert_eq(cs_trace_arrival(&trace, c, 1), 0, "call %zu", c);
    }
    cr_assert_eq(trace.bytes[5], 4 * 2049000);
    cr_assert_float_eq(trace.inside_s[10], 2520.607e-6, 1e-15);
    cr_assert_float_eq(notes.period_s, (4458677052057.143 - 4458676524716.094) / 14 * 1e-6, 1e-9);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
    cs_free(text);
    cs_free(ranked);
    cs_free(second);
}
