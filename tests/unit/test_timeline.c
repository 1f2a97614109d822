/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arrivals out of timelines: lanes of processes, names that are made plain, and every refusal. */
#include "arrival_text_setup.h"

#include <math.h>

Test(timeline, timeline)
{
    const cs_arrival_options work    = {.category = "work"};
    char                    *texts[] = {copy_of(timeline)};
    cs_arrival_notes         notes   = {0};
    cs_arrival_trace         trace   = accepted(texts, 1, &work, &notes);

    cr_assert_eq(trace.n_ranks, 2);
    cr_assert_eq(trace.n_calls, 2);
    cr_assert_float_eq(cs_trace_arrival(&trace, 0, 0), 50e-6, 1e-15);
    cr_assert_eq(cs_trace_arrival(&trace, 0, 1), 0);
    cr_assert_eq(cs_trace_arrival(&trace, 1, 0), 0);
    cr_assert_float_eq(cs_trace_arrival(&trace, 1, 1), 60e-6, 1e-15);
    cr_assert(isnan(notes.period_s));
    cr_assert(strstr(notes.text.data, "rank 1 (process '5', threads: 1) works for 0.12 ms") !=
              NULL);
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
    refused(uneven, 1, &defaults, "a.json", 0, "has 1 events 'w', another one 2");
}
