/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arrivals out of NCCL kernels in JSON traces of several ranks, every refusal, the samples, and
 * memory that runs out (of timelines, too). */
#include "arrival_text_setup.h"
#include "base/text.h"

#include <stdio.h>

/* An event of an NCCL kernel. */
typedef struct kernel {
    double      ts, dur;
    const char *name;      /* NULL: allreduce */
    int         nelems;    /* 0: 1000 */
    const char *group;     /* NULL: "0" */
    int         pid, size; /* size 0: 2 */
    double      queued;    /* since its launch; 0: the launch is not in the trace */
} kernel;

/* A trace as text: the caller frees it. */
static char *trace_of(int rank, const kernel *kernels, size_t n)
{
    cs_text text = {0};

    cs_text_add(&text, "{\"schemaVersion\": 1,\n");
    if (rank >= 0) {
        cs_text_add(&text, "\"distributedInfo\": {\"rank\": %d, \"world_size\": 2},\n", rank);
    }
    cs_text_add(&text,
                "\"traceEvents\": [\n{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 0}");
    for (size_t i = 0; i < n; i++) {
        const kernel *k    = &kernels[i];
        const char   *name = k->name != NULL ? k->name : "allreduce";
        cs_text_add(
            &text,
            ",\n{\"ph\": \"X\", \"cat\": \"kernel\", \"pid\": %d, \"tid\": 7, \"ts\": %.3f, "
            "\"dur\": %.3f, \"name\": \"ncclDevKernel_X(..)\", \"args\": {\"Collective "
            "name\": \"%s\", \"In msg nelems\": %d, \"dtype\": \"BFloat16\", \"Group size\": "
            "%d, \"correlation\": %zu, \"Process Group Name\": \"%s\"}}",
            k->pid, k->ts, k->dur, name, k->nelems > 0 ? k->nelems : 1000,
            k->size > 0 ? k->size : 2, i + 70, k->group != NULL ? k->group : "0");
        if (k->queued > 0) {
            cs_text_add(&text,
                        ",\n{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": "
                        "\"cudaLaunchKernelExC\", \"pid\": 4000, \"tid\": 4000, \"ts\": %.3f, "
                        "\"dur\": 5, \"args\": {\"correlation\": %zu}}",
                        k->ts - k->queued, i + 70);
        }
    }
    cs_text_add(&text, "]}\n");
    return text.data;
}

/* Who launches the kernel late, and whose kernel waits on the GPU. */
Test(kineto, launches_tell_the_host)
{
    const kernel     first[]  = {{.ts = 100, .dur = 50, .queued = 8},
                                 {.ts = 400, .dur = 50, .queued = 7}};
    const kernel     second[] = {{.ts = 1e9, .dur = 20, .queued = 9},
                                 {.ts = 1e9 + 300, .dur = 20, .queued = 38}};
    const kernel     untold[] = {{.ts = 1e9, .dur = 20, .queued = 9}, {.ts = 1e9 + 300, .dur = 20}};
    char            *texts[]  = {trace_of(0, first, 2), trace_of(1, second, 2)};
    cs_arrival_notes notes    = {0};
    cs_arrival_trace trace    = accepted(texts, 2, &defaults, &notes);

    cr_assert_not_null(trace.queued_s);
    cr_expect_float_eq(trace.queued_s[0], 8e-6, 1e-12);
    cr_expect_float_eq(trace.queued_s[1], 9e-6, 1e-12, "rank 1 comes 30 us late, its host, too");
    cr_expect_float_eq(trace.queued_s[3], 38e-6, 1e-12, "its GPU is late, its host is not");
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
    char *without[] = {trace_of(0, first, 2), trace_of(1, untold, 2)};
    trace           = accepted(without, 2, &defaults, &notes);
    cr_expect_null(trace.queued_s, "one call does not say it");
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}

/* A broadcast in front, events out of order, and clocks that have nothing to do with each other. */
Test(kineto, pairs_of_two_files)
{
    const kernel     first[]  = {{.ts = 900, .dur = 50},
                                 {.ts = 100, .dur = 5, .name = "broadcast"},
                                 {.ts = 300, .dur = 40, .nelems = 3}};
    const kernel     second[] = {{.ts = 1e9, .dur = 7, .name = "broadcast", .pid = 1},
                                 {.ts = 1e9 + 200, .dur = 90, .nelems = 3, .pid = 1},
                                 {.ts = 1e9 + 800, .dur = 20, .pid = 1}};
    char            *texts[]  = {trace_of(1, second, 3), trace_of(0, first, 3)};
    cs_arrival_notes notes    = {0};
    cs_arrival_trace trace    = accepted(texts, 2, &defaults, &notes);

    cr_assert_eq(trace.n_ranks, 2);
    cr_assert_eq(trace.n_calls, 2);
    cr_assert_float_eq(cs_trace_arrival(&trace, 0, 0), 50e-6, 1e-15, "rank 0 came last");
    cr_assert_eq(cs_trace_arrival(&trace, 0, 1), 0);
    cr_assert_eq(cs_trace_arrival(&trace, 1, 0), 0);
    cr_assert_float_eq(cs_trace_arrival(&trace, 1, 1), 30e-6, 1e-15);
    cr_assert_eq(trace.bytes[0], 6);
    cr_assert_eq(trace.bytes[1], 2000);
    cr_assert_float_eq(notes.period_s, 600e-6, 1e-12);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}

Test(kineto, other_collectives_when_asked)
{
    const cs_arrival_options broadcast = {.collective = "broadcast"};
    const kernel     one[]   = {{.ts = 100, .dur = 5, .name = "broadcast"}, {.ts = 300, .dur = 40}};
    const kernel     two[]   = {{.ts = 100, .dur = 9, .name = "broadcast"}, {.ts = 300, .dur = 40}};
    char            *texts[] = {trace_of(0, one, 2), trace_of(1, two, 2)};
    cs_arrival_notes notes   = {0};
    cs_arrival_trace trace   = accepted(texts, 2, &broadcast, &notes);

    cr_assert_eq(trace.n_calls, 1);
    cr_assert_float_eq(cs_trace_arrival(&trace, 0, 0), 4e-6, 1e-15);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}

/* A trace of rank `rank` of 2: SendRecv kernels of 10 us more on rank 1, with what their args and
 * an annotation around them say (NULL: nothing). */
typedef struct sendrecv {
    const char *collective, *annotation;
    int         nelems;
} sendrecv;

static char *sendrecv_trace(int rank, const sendrecv *kernels, size_t n)
{
    cs_text text = {0};

    cs_text_add(
        &text, "{\"distributedInfo\": {\"rank\": %d, \"world_size\": 2}, \"traceEvents\": [", rank);
    for (size_t i = 0; i < n; i++) {
        const sendrecv *k     = &kernels[i];
        double          ts_us = 1000.0 * (double)i + 7 * rank, dur_us = 50 + 10 * rank;
        cs_text_add(
            &text,
            "%s\n{\"ph\": \"X\", \"cat\": \"kernel\", \"pid\": 0, \"tid\": 20, \"ts\": %.3f, "
            "\"dur\": %.3f, \"name\": \"ncclDevKernel_SendRecv(ncclDevKernelArgs)\", "
            "\"args\": {",
            i > 0 ? "," : "", ts_us, dur_us);
        if (k->collective != NULL) {
            cs_text_add(&text,
                        "\"Collective name\": \"%s\", \"In msg nelems\": %d, "
                        "\"Out msg nelems\": 1000, \"dtype\": \"Float\", ",
                        k->collective, k->nelems);
        }
        cs_text_add(&text, "\"Group size\": 2}}");
        if (k->annotation != NULL) {
            cs_text_add(&text,
                        ",\n{\"ph\": \"X\", \"cat\": \"gpu_user_annotation\", \"pid\": 0, "
                        "\"tid\": 20, \"ts\": %.3f, \"dur\": %.3f, \"name\": \"%s\"}",
                        ts_us, dur_us, k->annotation);
        }
    }
    cs_text_add(&text, "]}\n");
    return text.data;
}

/* PyTorch writes "all_to_all" and "all_to_allv"; of the latter, and of lists of tensors, each rank
 * has a size of its own. Sends and receives in between are no calls. */
Test(kineto, all_to_all_is_a_collective)
{
    const cs_arrival_options alltoall = {.collective = "alltoall"};
    const sendrecv           one[]    = {{.collective = "all_to_all", .nelems = 1000},
                                         {.collective = "send", .nelems = 5},
                                         {.collective = "all_to_allv", .nelems = 3000},
                                         {.collective = "gather", .nelems = 5},
                                         {.collective = "all_to_allv", .nelems = 500}};
    const sendrecv           two[]    = {{.collective = "all_to_all", .nelems = 1000},
                                         {.collective = "recv", .nelems = 5},
                                         {.collective = "recv", .nelems = 5},
                                         {.collective = "all_to_allv", .nelems = 2000},
                                         {.collective = "all_to_allv", .nelems = 500}};
    char                    *texts[]  = {sendrecv_trace(0, one, 5), sendrecv_trace(1, two, 5)};
    char                    *again[]  = {sendrecv_trace(0, one, 5), sendrecv_trace(1, two, 5)};
    cs_arrival_notes         notes    = {0};
    cs_arrival_trace         trace    = accepted(texts, 2, &alltoall, &notes);

    cr_assert_eq(trace.n_calls, 3);
    for (size_t c = 0; c < 3; c++) {
        cr_expect_float_eq(cs_trace_arrival(&trace, c, 0), 10e-6, 1e-15, "rank 0 came last");
    }
    cr_expect_eq(trace.bytes[0], 4000);
    cr_expect_eq(trace.bytes[1], 12000, "the largest of both ranks");
    cr_expect_eq(trace.bytes[2], 4000);
    cr_expect(strstr(notes.text.data,
                     "ranks have different sizes in 1 calls: the largest of each call "
                     "is used\n") != NULL,
              "%s", notes.text.data);
    cr_expect(strstr(notes.text.data, "NCCL kernels that are left out: 3 sends and receives; 1 of "
                                      "'gather'\n") != NULL,
              "%s", notes.text.data);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
    refused(again, 2, &defaults, "a.json", 0,
            "no allreduce kernel is in the trace; --collective takes alltoall (6)");
}

/* Where the args do not say it, the annotation around the kernel does; a SendRecv kernel alone can
 * be of anything. */
Test(kineto, what_a_sendrecv_kernel_is_of)
{
    const cs_arrival_options alltoall  = {.collective = "alltoall"};
    const sendrecv           kernels[] = {
                  {.annotation = "nccl:all_to_all"}, {.annotation = "nccl:send 0->1"},
                  {.annotation = "Optimizer.step"},  {.annotation = "nccl:coalesced"},
                  {.annotation = "nccl:all_to_all"}, {.collective = "", .annotation = NULL}};
    char *texts[]          = {sendrecv_trace(0, kernels, 6), sendrecv_trace(1, kernels, 6)};
    char *bare[]           = {sendrecv_trace(0, kernels + 5, 1), sendrecv_trace(1, kernels + 5, 1)};
    cs_arrival_notes notes = {0};
    cs_arrival_trace trace = accepted(texts, 2, &alltoall, &notes);

    cr_assert_eq(trace.n_calls, 2);
    cr_expect_float_eq(notes.period_s, 4000e-6, 1e-12);
    cr_expect_null(trace.bytes);
    cr_expect(strstr(notes.text.data,
                     "left out: 2 sends and receives; 2 of 'coalesced' and the like; "
                     "4 that do not say what they are of (no \"Collective name\")\n") != NULL,
              "%s", notes.text.data);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
    refused(bare, 2, &alltoall, "a.json", 0,
            "no NCCL kernel of a collective is in it: 1 that do not say what they are of");
}

/* An annotation counts for kernels of its own stream whose middle is inside it. */
Test(kineto, annotations_have_their_stream_and_time)
{
    static const char begin[] =
        "[{\"ph\": \"X\", \"cat\": \"kernel\", \"pid\": 0, \"tid\": 7, \"ts\": 100, \"dur\": 10, "
        "\"name\": \"ncclDevKernel_SendRecv(..)\"}, "
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"pid\": 1, \"tid\": 7, \"ts\": 100, \"dur\": 10, "
        "\"name\": \"ncclDevKernel_SendRecv(..)\"}";
    const struct {
        int  pid, tid, ts, dur;
        bool counts;
    } cases[] = {{1, 7, 100, 10, true}, {1, 7, 104, 1, true},   {1, 7, 90, 14, false},
                 {1, 7, 106, 9, false}, {1, 8, 100, 10, false}, {2, 7, 100, 10, false}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const cs_arrival_options alltoall = {.collective = "alltoall"};
        cs_text                  text     = {0};
        cs_arrival_notes         notes    = {0};
        cs_arrival_trace         trace    = {0};

        cs_text_add(&text,
                    "%s, {\"ph\": \"X\", \"cat\": \"gpu_user_annotation\", \"pid\": 0, \"tid\": 7, "
                    "\"ts\": 99, \"dur\": 12, \"name\": \"nccl:all_to_all\"}, {\"ph\": \"X\", "
                    "\"cat\": \"gpu_user_annotation\", \"pid\": %d, \"tid\": %d, \"ts\": %d, "
                    "\"dur\": %d, \"name\": \"nccl:all_to_all\"}]",
                    begin, cases[i].pid, cases[i].tid, cases[i].ts, cases[i].dur);
        cs_status status = read_texts(&text.data, 1, &alltoall, &trace, &notes, NULL);
        cr_expect_eq(status == CS_OK, cases[i].counts, "case %zu", i);
        cs_arrival_trace_free(&trace);
        cs_arrival_notes_free(&notes);
    }
}

/* So many groups are told apart, and no more: with one more, none is dropped without a word. */
Test(kineto, process_groups_have_a_limit)
{
    enum { MOST = 4096 };
    static kernel kernels[MOST + 1];
    static char   names[MOST + 1][16];

    for (int i = 0; i <= MOST; i++) {
        (void)snprintf(names[i], sizeof names[i], "%d", i);
        kernels[i] = (kernel){.ts = 100.0 * i, .dur = 5, .group = names[i]};
    }
    kernels[MOST - 1].group = names[0];
    char            *most[] = {trace_of(0, kernels, MOST), trace_of(1, kernels, MOST)};
    char            *more[2], *one[2];
    cs_arrival_notes notes = {0};
    cs_arrival_trace trace = accepted(most, 2, &defaults, &notes);

    cr_expect_eq(trace.n_calls, 2, "group 0 is called twice");
    cr_expect(strstr(notes.text.data, "process group '0'  of 4095 groups is taken") != NULL, "%s",
              notes.text.data);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
    kernels[MOST - 1].group = names[MOST - 1];
    for (int r = 0; r < 2; r++) {
        more[r] = trace_of(r, kernels, MOST + 1);
        one[r]  = trace_of(r, kernels, MOST + 1);
    }
    refused(more, 2, &defaults, "a.json", 0, "more than 4096 process groups are in the trace");
    trace = accepted(one, 2, &(cs_arrival_options){.group = "4096"}, &notes);
    cr_expect_eq(trace.n_calls, 1, "the group that is asked for is there");
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}

Test(kineto, processes_of_one_file_are_ranks)
{
    const kernel     all[]   = {{.ts = 100, .dur = 5, .pid = 10, .size = 3},
                                {.ts = 100, .dur = 8, .pid = 9, .size = 3},
                                {.ts = 100, .dur = 2, .pid = 11, .size = 3}};
    char            *texts[] = {trace_of(-1, all, 3)};
    cs_arrival_notes notes   = {0};
    cs_arrival_trace trace   = accepted(texts, 1, &defaults, &notes);

    cr_assert_eq(trace.n_ranks, 3);
    cr_assert_eq(cs_trace_arrival(&trace, 0, 0), 0, "process 9 is rank 0");
    cr_assert_float_eq(cs_trace_arrival(&trace, 0, 2), 6e-6, 1e-15);
    cr_assert(strstr(notes.text.data, "numbered by the order of the processes") != NULL);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}

/* Group "1" is called more often; --group takes the other one. */
Test(kineto, groups)
{
    const kernel             one[]   = {{.ts = 1, .dur = 5},
                                        {.ts = 100, .dur = 5, .group = "1"},
                                        {.ts = 200, .dur = 5, .group = "1"}};
    const kernel             two[]   = {{.ts = 1, .dur = 9},
                                        {.ts = 100, .dur = 5, .group = "1"},
                                        {.ts = 200, .dur = 5, .group = "1"}};
    const cs_arrival_options zero    = {.group = "0"};
    char                    *most[]  = {trace_of(0, one, 3), trace_of(1, two, 3)};
    char                    *asked[] = {trace_of(0, one, 3), trace_of(1, two, 3)};
    char                    *none[]  = {trace_of(0, one, 3), trace_of(1, two, 3)};
    cs_arrival_notes         notes   = {0};

    cs_arrival_trace trace = accepted(most, 2, &defaults, &notes);
    cr_assert_eq(trace.n_calls, 2);
    cr_assert(strstr(notes.text.data, "process group '1'  of 2 groups") != NULL, "%s",
              notes.text.data);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
    trace = accepted(asked, 2, &zero, &notes);
    cr_assert_eq(trace.n_calls, 1);
    cr_assert_float_eq(cs_trace_arrival(&trace, 0, 0), 4e-6, 1e-15);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
    refused(none, 2, &(cs_arrival_options){.group = "5"}, "a.json", 0, "process group '5'");
}

Test(kineto, refusals_of_ranks)
{
    const kernel k[]       = {{.ts = 1, .dur = 5}, {.ts = 100, .dur = 5}};
    const kernel big[]     = {{.ts = 1, .dur = 5, .size = 16}};
    const kernel mix[]     = {{.ts = 1, .dur = 5}, {.ts = 100, .dur = 5, .pid = 3}};
    const kernel p2p[]     = {{.ts = 1, .dur = 5, .name = "send"}};
    char        *one[]     = {trace_of(0, k, 2)};
    char        *same[]    = {trace_of(1, k, 2), trace_of(1, k, 2)};
    char        *few[]     = {trace_of(0, big, 1), trace_of(1, big, 1)};
    char        *devices[] = {trace_of(0, k, 2), trace_of(1, mix, 2)};
    char        *sends[]   = {trace_of(0, k, 2), trace_of(1, p2p, 1)};

    refused(one, 1, &defaults, "a.json", 0, "has 2 ranks, 1 of them is in the traces");
    refused(same, 2, &defaults, "b.json", 0, "one file per rank");
    refused(few, 2, &defaults, "a.json", 0, "has 16 ranks, 2 of them are in the traces");
    refused(devices, 2, &defaults, "b.json", 0, "two processes or devices");
    refused(sends, 2, &defaults, "b.json", 0, "is in it: 1 sends and receives");
}

Test(kineto, refusals_of_calls)
{
    const kernel k[]        = {{.ts = 1, .dur = 5}, {.ts = 100, .dur = 50}};
    const kernel longer[]   = {{.ts = 1, .dur = 5}, {.ts = 100, .dur = 50}, {.ts = 400, .dur = 50}};
    const kernel other[]    = {{.ts = 1, .dur = 5}, {.ts = 100, .dur = 50, .nelems = 77}};
    const kernel kind[]     = {{.ts = 1, .dur = 5}, {.ts = 100, .dur = 50, .name = "allgather"}};
    const kernel overlap[]  = {{.ts = 1, .dur = 500}, {.ts = 100, .dur = 50}};
    const kernel negative[] = {{.ts = 1, .dur = 5}, {.ts = 100, .dur = -1}};
    char        *lengths[]  = {trace_of(0, k, 2), trace_of(1, longer, 3)};
    char        *sizes[]    = {trace_of(0, k, 2), trace_of(1, other, 2)};
    char        *kinds[]    = {trace_of(0, k, 2), trace_of(1, kind, 2)};
    char        *overlaps[] = {trace_of(0, overlap, 2), trace_of(1, k, 2)};
    char        *below[]    = {trace_of(0, negative, 2), trace_of(1, k, 2)};

    refused(lengths, 2, &defaults, "a.json", 0, "2 collectives of the group, another rank has 3");
    refused(sizes, 2, &defaults, "b.json", 6,
            "collective 1 of the group is allreduce of 154 bytes");
    refused(kinds, 2, &defaults, "b.json", 6, "allgather of 2000 bytes here");
    refused(overlaps, 2, &defaults, "a.json", 6, "the clock stepped back");
    refused(below, 2, &defaults, "a.json", 6, "at least 0");
}

Test(kineto, the_rest_of_a_longer_trace_is_left_out_when_asked)
{
    const cs_arrival_options skip     = {.skip_incomplete = true};
    const kernel             k[]      = {{.ts = 1, .dur = 5}, {.ts = 100, .dur = 50}};
    const kernel             longer[] = {{.ts = 1, .dur = 5}, {.ts = 100, .dur = 50}, {.ts = 400}};
    char                    *texts[]  = {trace_of(0, k, 2), trace_of(1, longer, 3)};
    cs_arrival_notes         notes    = {0};
    cs_arrival_trace         trace    = accepted(texts, 2, &skip, &notes);

    cr_assert_eq(trace.n_calls, 2);
    cr_assert(strstr(notes.text.data, "1 collectives at the end") != NULL);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}

Test(kineto, refusals_of_texts)
{
    char *cut[]      = {copy_of("{\"traceEvents\": [\n{\"ph\": \"X\", \"dur\"")};
    char *nan[]      = {copy_of("[{\"ph\": \"X\",\n \"ts\": NaN}]")};
    char *no_array[] = {copy_of("{\"events\": []}")};
    char *empty[]    = {copy_of("[]")};
    char *mixed[]    = {copy_of("[{}]"), copy_of("iteration,rank,arrival_s\n")};
    char *no_time[]  = {
         copy_of("[{\"ph\": \"X\", \"cat\": \"a\", \"pid\": 1},\n"
                  "{\"ph\": \"X\", \"cat\": \"a\", \"pid\": 2, \"ts\": 1, \"dur\": \"2\"}]")};

    refused(cut, 1, &defaults, "a.json", 2, "not JSON");
    refused(nan, 1, &defaults, "a.json", 2, "not JSON");
    refused(no_array, 1, &defaults, "a.json", 1, "no array of events");
    refused(empty, 1, &defaults, "a.json", 0, "no complete event");
    refused(mixed, 2, &defaults, "b.json", 0, "JSON");
    refused(no_time, 1, &defaults, "a.json", 1, "start");
}

/* The samples of the project: scripts/make_sample_traces.py says what they are made with. */
Test(kineto, samples)
{
    const struct {
        const char *paths;
        uint32_t    n_ranks, late;
        size_t      n_calls, n_late;
    } samples[] = {
        {COLLSIM_SOURCE_DIR "/traces/generated-arrivals8.csv", 8, 5, 200, 188},
        {COLLSIM_SOURCE_DIR "/traces/generated-stragglar4.log", 4, 2, 20, 20},
        {COLLSIM_SOURCE_DIR "/traces/generated-kineto2-rank0.json," COLLSIM_SOURCE_DIR
                            "/traces/generated-kineto2-rank1.json",
         2, 1, 12, 9},
    };

    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        cs_arrival_trace trace  = {0};
        cs_error         err    = {0};
        size_t           n_late = 0;
        cr_assert_eq(cs_arrival_file_load(samples[i].paths, &trace, &err), CS_OK, "%s: %s",
                     err.input, err.message);
        cr_expect_eq(trace.n_ranks, samples[i].n_ranks);
        cr_expect_eq(trace.n_calls, samples[i].n_calls);
        for (size_t c = 0; c < trace.n_calls; c++) {
            bool is_late = true;
            for (uint32_t r = 0; r < trace.n_ranks; r++) {
                is_late = is_late && cs_trace_arrival(&trace, c, samples[i].late) >=
                                         cs_trace_arrival(&trace, c, r);
            }
            n_late += is_late;
        }
        cr_expect_eq(n_late, samples[i].n_late, "%s: %zu", samples[i].paths, n_late);
        cs_arrival_trace_free(&trace);
    }
}

/* Whatever allocation fails, nothing leaks and nothing is handed out. (Jansson calls some
 * failures of its allocations malformed input.) */
static void fail_each_allocation(const char *const *traces, size_t n,
                                 const cs_arrival_options *options)
{
    cs_status status = CS_ENOMEM;

    for (long passes = 0; status != CS_OK && passes < 5000; passes++) {
        cs_arrival_text  texts[2] = {{0}};
        cs_arrival_trace trace    = {0};
        cs_arrival_notes notes    = {0};
        cs_error         err      = {0};
        for (size_t i = 0; i < n; i++) {
            texts[i] = (cs_arrival_text){i == 0 ? "a" : "b", traces[i], strlen(traces[i])};
        }
        cs_alloc_fail_after(passes);
        status = cs_arrival_texts_read(texts, n, options, &trace, &notes, &err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || trace.arrival_s == NULL);
        cr_assert(status == CS_OK || status == CS_ENOMEM || status == CS_EPARSE, "%ld: %s", passes,
                  err.message);
        cs_arrival_trace_free(&trace);
        cs_arrival_notes_free(&notes);
    }
    cr_assert_eq(status, CS_OK);
}

Test(kineto, out_of_memory)
{
    const kernel   k[]     = {{.ts = 1, .dur = 5}, {.ts = 100, .dur = 50, .group = "1"}};
    const sendrecv s[]     = {{.annotation = "nccl:all_to_all"}, {.annotation = "nccl:gather"}};
    char          *calls[] = {trace_of(-1, k, 2), trace_of(-1, k, 2)};
    char          *sends[] = {sendrecv_trace(0, s, 2), sendrecv_trace(1, s, 2)};
    const char    *lines[] = {timeline};

    fail_each_allocation((const char *const *)calls, 2, &defaults);
    fail_each_allocation((const char *const *)sends, 2,
                         &(cs_arrival_options){.collective = "alltoall"});
    fail_each_allocation(lines, 1, &(cs_arrival_options){.category = "work"});
    for (size_t i = 0; i < 2; i++) {
        cs_free(calls[i]);
        cs_free(sends[i]);
    }
}
