/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arrivals out of timelines: lanes of processes, names that are made plain, and every refusal. */
#include "arrival_text_setup.h"
#include "base/text.h"

#include <math.h>

Test(timeline, timeline)
{
    const cs_arrival_options work    = {.category = "work"};
    char                    *texts[] = {copy_of(timeline)};
    cs_arrival_notes         notes   = {0};
    cs_arrival_trace         trace   = accepted(texts, 1, &work, &notes);

    cr_assert_eq(trace.n_ranks, 2);
    cr_assert_eq(trace.n_calls, 2);
    cr_assert_float_eq(cs_trace_arrival(&trace, 0, 0), 150e-6, 1e-15);
    cr_assert_eq(cs_trace_arrival(&trace, 0, 1), 0);
    cr_assert_eq(cs_trace_arrival(&trace, 1, 0), 0);
    cr_assert_float_eq(cs_trace_arrival(&trace, 1, 1), 50e-6, 1e-15);
    cr_assert(isnan(notes.period_s));
    cr_assert(strstr(notes.text.data, "a step is one event of each thread") != NULL);
    cr_assert(strstr(notes.text.data,
                     "rank 0 (process '4', threads: 2) works for 0.17 ms in a step "
                     "on average, the mean of its threads is 0.115 ms\n") != NULL);
    cr_assert(strstr(notes.text.data,
                     "rank 1 (process '5', threads: 1) works for 0.12 ms in a step "
                     "on average\n") != NULL);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}

/* What a trace calls its events and processes is printed, so it must not steer a terminal. */
Test(timeline, names_are_made_plain)
{
    static const char text[] =
        "[{\"ph\": \"X\", \"cat\": \"\\u001b[31mwork\\n\", \"pid\": \"a\\u001b\", "
        "\"ts\": 0, \"dur\": 1}, "
        "{\"ph\": \"X\", \"cat\": \"\\u001b[31mwork\\n\", \"pid\": \"b\", "
        "\"ts\": 0, \"dur\": 2}]";
    const cs_arrival_text    one     = {"trace", text, sizeof text - 1};
    const cs_arrival_options options = {0};
    cs_arrival_trace         trace   = {0};
    cs_arrival_notes         notes   = {0};
    cs_error                 err     = {0};

    cr_assert_eq(cs_arrival_texts_read(&one, 1, &options, &trace, &notes, &err), CS_OK, "%s",
                 err.message);
    cr_expect(strstr(notes.text.data, "when the '?[31mwork?' of it") != NULL, "%s",
              notes.text.data);
    cr_expect(strstr(notes.text.data, "(process 'a?', threads") != NULL, "%s", notes.text.data);
    cr_expect(strchr(notes.text.data, 27) == NULL);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}

Test(timeline, timeline_refusals)
{
    char *which[]  = {copy_of(timeline)};
    char *alone[]  = {copy_of(timeline)};
    char *absent[] = {copy_of(timeline)};
    char *group[]  = {copy_of(timeline)};
    char *uneven[] = {
        copy_of("[" SPAN("w", 1, 1, 0, 1) "," SPAN("w", 2, 1, 0, 1) "," SPAN("w", 2, 1, 5, 1) "]")};

    refused(which, 1, &defaults, "a.json", 0, "say which events are a rank's work: work, idle");
    refused(alone, 1, &(cs_arrival_options){.category = "idle"}, "a.json", 0, "1 processes");
    refused(absent, 1, &(cs_arrival_options){.category = "x"}, "a.json", 0, "category 'x'");
    refused(group, 1, &(cs_arrival_options){.group = "x"}, "", 0, "choose among NCCL kernels");
    refused(uneven, 1, &defaults, "a.json", 0,
            "thread '1' of process '1' has 0 events 'w' in step 1, another one 1");
}

#define STEP(cat, pid, tid, ts, dur, step)                                                     \
    "{\"ph\": \"X\", \"name\": \"n\", \"cat\": \"" cat "\", \"pid\": " #pid ", \"tid\": " #tid \
    ", \"ts\": " #ts ", \"dur\": " #dur ", \"args\": {\"mb\": 1, \"step\": " #step "}}"

/* Two ranks of two threads, steps 16 and 18 of two micro-batches; in step 16, thread 2 of rank 0 is
 * the slow one: 170 us against 110. Events of other categories have no say. */
static const char stepped[] = "[" STEP("fwd",
                                       0, 1, 1000, 30, 16) ",\n" STEP("fwd", 0,
                                                                      1, 1100, 40, 16) ",\n" STEP("fwd", 0, 2, 1000, 80, 16) ",\n" STEP("fwd", 0, 2, 1200, 90, 16) ",\n" STEP("fwd", 1, 1, 5000, 60, 16) ",\n" STEP("fwd", 1, 1, 5100, 50, 16) ",\n" STEP("fwd",
                                                                                                                                                                                                                                                          1,
                                                                                                                                                                                                                                                          2,
                                                                                                                                                                                                                                                          5000,
                                                                                                                                                                                                                                                          20, 16) ",\n" STEP("fwd", 1, 2, 5100, 25,
                                                                                                                                                                                                                                                                             16) ",\n" STEP("fwd",
                                                                                                                                                                                                                                                                                            0, 1, 3000, 10, 18) ",\n" STEP("fwd",
                                                                                                                                                                                                                                                                                                                           0,
                                                                                                                                                                                                                                                                                                                           1,
                                                                                                                                                                                                                                                                                                                           3100,
                                                                                                                                                                                                                                                                                                                           10,
                                                                                                                                                                                                                                                                                                                           18) ",\n" STEP("fwd", 0, 2,
                                                                                                                                                                                                                                                                                                                                          3000, 10, 18) ",\n" STEP("fwd", 0, 2, 3200,
                                                                                                                                                                                                                                                                                                                                                                   10,
                                                                                                                                                                                                                                                                                                                                                                   18) ",\n" STEP("fwd",
                                                                                                                                                                                                                                                                                                                                                                                  1,
                                                                                                                                                                                                                                                                                                                                                                                  1,
                                                                                                                                                                                                                                                                                                                                                                                  7000,
                                                                                                                                                                                                                                                                                                                                                                                  10, 18) ",\n" STEP("fwd",
                                                                                                                                                                                                                                                                                                                                                                                                     1,
                                                                                                                                                                                                                                                                                                                                                                                                     1,
                                                                                                                                                                                                                                                                                                                                                                                                     7100,
                                                                                                                                                                                                                                                                                                                                                                                                     15, 18) ",\n" STEP("fwd",
                                                                                                                                                                                                                                                                                                                                                                                                                        1,
                                                                                                                                                                                                                                                                                                                                                                                                                        2,
                                                                                                                                                                                                                                                                                                                                                                                                                        7000, 10, 18) ",\n" STEP("fwd", 1, 2, 7100, 10, 18) ",\n" STEP("bwd",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                       0,
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                       1,
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                       1300, 500, 16) ",\n" SPAN("idle",
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                 0,
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                 1,
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                 0,
                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                 1) "]";

Test(timeline, steps_are_what_the_events_say)
{
    const cs_arrival_options fwd     = {.category = "fwd"};
    char                    *texts[] = {copy_of(stepped)};
    cs_arrival_notes         notes   = {0};
    cs_arrival_trace         trace   = accepted(texts, 1, &fwd, &notes);

    cr_assert_eq(trace.n_ranks, 2);
    cr_assert_eq(trace.n_calls, 2, "%zu", trace.n_calls);
    cr_expect_float_eq(cs_trace_arrival(&trace, 0, 0), 60e-6, 1e-15, "170 us against 110");
    cr_expect_eq(cs_trace_arrival(&trace, 0, 1), 0);
    cr_expect_eq(cs_trace_arrival(&trace, 1, 0), 0);
    cr_expect_float_eq(cs_trace_arrival(&trace, 1, 1), 5e-6, 1e-15, "25 us against 20");
    cr_expect_float_eq(notes.period_s, 1000e-6, 1e-15, "2000 us for two steps");
    cr_expect(strstr(notes.text.data,
                     "a step is that of args.step: up to 2 events of each thread") != NULL,
              "%s", notes.text.data);
    cr_expect(strstr(notes.text.data, "works for 0.095 ms in a step on average, the mean of its "
                                      "threads is 0.07 ms") != NULL,
              "%s", notes.text.data);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}

/* Forward and backward together are the work of a step; without steps every event is one. */
Test(timeline, several_categories)
{
    static const char two[] =
        "[" STEP("f", 0, 1, 0, 10, 0) "," STEP("f,b", 0, 1, 20, 99, 0) "," STEP(
            "b", 0, 1, 200, 30, 0) "," STEP("f", 1, 1, 0, 15, 0) "," STEP("b", 1, 1, 20, 5, 0) "]";
    const cs_arrival_options both   = {.category = "f,b"};
    char                    *list[] = {copy_of(two)}, *other[] = {copy_of(two)};
    cs_arrival_notes         notes = {0};
    cs_arrival_trace         trace;
    cs_error                 err  = {0};
    const cs_arrival_text    text = {"a.json", two, sizeof two - 1};

    refused(list, 1, &both, "a.json", 0, "has 2 events 'f,b' in step 0, another one 3");
    refused(other, 1, &(cs_arrival_options){.category = "b,f,c"}, "a.json", 0, "category 'c'");
    cr_assert_eq(cs_arrival_texts_read(&text, 1, &(cs_arrival_options){.category = "b,f"}, &trace,
                                       &notes, &err),
                 CS_OK, "%s", err.message);
    cr_expect_eq(trace.n_calls, 1);
    cr_expect_float_eq(cs_trace_arrival(&trace, 0, 0), 20e-6, 1e-15, "40 us against 20");
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}

Test(timeline, refusals_of_steps)
{
    char *text[]     = {copy_of("[" STEP("w", 1, 1, 0, 1, "16") "," STEP("w", 2, 1, 0, 1, 16) "]")};
    char *real[]     = {copy_of("[" STEP("w", 1, 1, 0, 1, 1) ",\n" STEP("w", 2, 1, 0, 1, 1.5) "]")};
    char *negative[] = {copy_of("[" STEP("w", 1, 1, 0, 1, -1) "," STEP("w", 2, 1, 0, 1, 1) "]")};
    char *some[]     = {copy_of("[" STEP("w", 1, 1, 0, 1, 1) ",\n" SPAN("w", 2, 1, 0, 1) "]")};
    char *others[]   = {copy_of("[" SPAN("w", 1, 1, 0, 1) ",\n" STEP("w", 2, 1, 0, 1, 1) "]")};
    char *back[]    = {copy_of("[" STEP("w", 1, 1, 0, 1, 7) "," STEP("w", 1, 1, 5, 1, 6) ",\n" STEP(
           "w", 2, 1, 0, 1, 6) "," STEP("w", 2, 1, 5, 1, 7) "]")};
    char *uneven[]  = {copy_of("[" STEP("w", 1, 1, 0, 1, 7) "," STEP("w", 1, 2, 0, 1, 7) "," STEP(
         "w", 2, 1, 0, 1, 7) "," STEP("w", 2, 2, 0, 1, 7) "," STEP("w", 2, 2, 5, 1, 7) "]")};
    char *missing[] = {copy_of("[" STEP("w", 1, 1, 0, 1, 7) "," STEP("w", 1, 2, 0, 1, 7) "," STEP(
        "w", 2, 1, 0, 1, 7) "," STEP("w", 2, 2, 0, 1,
                                     7) "," STEP("w", 1, 1, 5, 1,
                                                 8) "," STEP("w", 1, 2, 5, 1,
                                                             8) "," STEP("w", 2, 2, 5, 1, 8) "]")};
    char *none[]    = {copy_of("[" STEP("w", 1, 1, 0, 1, 7) "," STEP("w", 2, 1, 0, 1, 8) "]")};

    refused(text, 1, &defaults, "a.json", 1, "is no whole number from 0 on");
    refused(real, 1, &defaults, "a.json", 2, "is no whole number from 0 on");
    refused(negative, 1, &defaults, "a.json", 1, "is no whole number from 0 on");
    refused(some, 1, &defaults, "a.json", 2, "does not say its step");
    refused(others, 1, &defaults, "a.json", 2, "says its step, events of the category in front");
    refused(back, 1, &defaults, "a.json", 1, "is of step 6, and begins after one of step 7");
    refused(uneven, 1, &defaults, "a.json", 0,
            "thread '1' of process '1' has 1 events 'w' in step 7, another one 2");
    refused(missing, 1, &defaults, "a.json", 0,
            "thread '1' of process '2' has 0 events 'w' in step 8, another one 1");
    refused(none, 1, &(cs_arrival_options){.skip_incomplete = true}, "a.json", 0,
            "none of 2 steps is in all threads");
}

/* A window that begins and ends inside a step. */
Test(timeline, torn_steps_are_left_out_when_asked)
{
    const cs_arrival_options skip = {.skip_incomplete = true};
    char *texts[] = {copy_of("[" STEP("w", 1, 1, 5, 1, 7) "," STEP("w", 1, 1, 10, 3, 8) "," STEP(
        "w", 1, 1, 15, 3, 8) "," STEP("w", 1, 1, 20, 9,
                                      9) "," STEP("w", 2, 1, 0, 9,
                                                  7) "," STEP("w", 2, 1, 5, 9,
                                                              7) "," STEP("w", 2, 1, 10, 4,
                                                                          8) "," STEP("w", 2, 1, 15,
                                                                                      4, 8) "]")};
    cs_arrival_notes notes = {0};
    cs_arrival_trace trace = accepted(texts, 1, &skip, &notes);

    cr_assert_eq(trace.n_calls, 1);
    cr_expect_float_eq(cs_trace_arrival(&trace, 0, 1), 2e-6, 1e-15);
    cr_expect(isnan(notes.period_s), "one step shows no period");
    cr_expect(strstr(notes.text.data, "2 steps are not in all threads alike: left out\n") != NULL,
              "%s", notes.text.data);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}

/* What is not listed is counted. */
Test(timeline, many_ranks)
{
    cs_text          text  = {0};
    cs_arrival_notes notes = {0};

    for (int r = 0; r < 70; r++) {
        cs_text_add(&text, "%s{\"ph\": \"X\", \"cat\": \"w\", \"pid\": %d, \"ts\": 0, \"dur\": %d}",
                    r == 0 ? "[" : ",", r, r);
    }
    cs_text_add(&text, "]");
    cs_arrival_trace trace = accepted(&text.data, 1, &defaults, &notes);
    cr_assert_eq(trace.n_ranks, 70);
    cr_expect(strstr(notes.text.data, "rank 63 (process '63'") != NULL);
    cr_expect(strstr(notes.text.data, "rank 64 ") == NULL);
    cr_expect(strstr(notes.text.data, "and so on, for 6 more ranks\n") != NULL, "%s",
              notes.text.data);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}
