/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arrivals out of StragglAR's training logs: records, colours, and what is torn or cut off. */
#include "arrival_file_setup.h"

Test(stragglar_log, stragglar_log)
{
    cs_arrival_notes notes = {0};
    cs_arrival_trace trace = read_text(sample_log, &defaults, &notes);

    cr_assert_eq(trace.n_calls, 2);
    cr_assert_eq(notes.n_warmup, 1);
    cr_assert_eq(notes.n_records, 6);
    cr_assert_str_eq(notes.format, "log of StragglAR");
    cr_assert_float_eq(notes.period_s, 0.5, 1e-15);
    expect_call(&trace, 0, (double[]){0, 29.75e-3});
    expect_call(&trace, 1, (double[]){1e-3, 0});
    cr_assert_eq(trace.bytes[1], 4096);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}

Test(stragglar_log, stragglar_log_with_its_warmup)
{
    const cs_arrival_options all   = {.sets_warmup = true};
    cs_arrival_notes         notes = {0};
    cs_arrival_trace         trace = read_text(sample_log, &all, &notes);

    cr_assert_eq(trace.n_calls, 3);
    expect_call(&trace, 0, (double[]){0, 0.991});
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}

Test(stragglar_log, stragglar_log_refusals)
{
    refused(RECORD(0, 0, "1 ms") "\nRank 1 | Step 0 | Forward Time: 1.0 ms | Ba", &defaults, 2, 1,
            "torn or cut off");
    refused(RECORD(0, 0, "1 ms") "\nms | AR Time: 3 ms | AR Buffer Size: 4.00 KB\n", &defaults, 2,
            6, "stands in no record");
    refused(RECORD(0, 0, "1 ms") "\n" RECORD(1, 0, "1 parsec") "\n", &defaults, 2, 109,
            "unknown unit");
    refused(RECORD(0, 0, "1 ms") "\n" RECORD(1, 0, "nan ms") "\n", &defaults, 2, 109, "");
    refused(RECORD(0, 0, "1 ms") "\n" RECORD(1, 0, "-1 ms") "\n", &defaults, 2, 109, "outside");
    refused(RECORD(0, 0, "1 ms") "\n" RECORD(1, 0, "2e6 s") "\n", &defaults, 2, 109,
            "2000000 s is outside [0, 1000000]");
    refused(RECORD(0, 0, "1 ms") "\n" RECORD(77777, 0, "1 ms") "\n", &defaults, 2, 6, "");
    refused(RECORD(0, 0, "1 ms") "\n" RECORD(0, 0, "1 ms") RECORD(1, 0, "1 ms"), &defaults, 2, 1,
            "twice");
}

Test(stragglar_log, torn_records_are_left_out_when_asked)
{
    const cs_arrival_options skip  = {.skip_incomplete = true, .sets_warmup = true};
    cs_arrival_notes         notes = {0};
    cs_arrival_trace trace = read_text(RECORD(0, 0, "1 ms") "\n" RECORD(1, 0, "2 ms") "\n" RECORD(
                                           1, 1, "2 ms") "\nRank 0 | Step 1 | Forw",
                                       &skip, &notes);

    cr_assert_eq(trace.n_calls, 1);
    cr_assert_eq(notes.n_incomplete, 1);
    cr_assert(strstr(notes.text.data, "torn records that are left out: 1, the first in line 4") !=
              NULL);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}

#define UP_TO_AR_TIME "Rank 1 | Step 1 | Iteration Time: 500.00 ms | AR Time: "

/* Wherever a record ends before its numbers do, by a line's end or by the next record. */
Test(stragglar_log, numbers_may_be_torn)
{
    static const char *const begins[] = {UP_TO_AR_TIME,
                                         UP_TO_AR_TIME "2",
                                         UP_TO_AR_TIME "2.",
                                         UP_TO_AR_TIME "2.5 ",
                                         UP_TO_AR_TIME "2.5 m",
                                         UP_TO_AR_TIME "2.5 ms | AR Buffer Size: 4.0",
                                         UP_TO_AR_TIME "2.5 ms | AR Buffer Size: 4.00 K"};
    static const char *const ends[]   = {"\n" RECORD(0, 1, "3 ms") "\n", RECORD(0, 1, "3 ms")};
    const cs_arrival_options skip     = {.skip_incomplete = true, .sets_warmup = true};

    for (size_t i = 0; i < 2 * sizeof begins / sizeof begins[0]; i++) {
        cs_arrival_notes notes = {0};
        char             text[1024];

        (void)snprintf(text, sizeof text, "%s%s%s",
                       RECORD(0, 0, "1 ms") "\n" RECORD(1, 0, "2 ms") "\n", begins[i / 2],
                       ends[i % 2]);
        refused(text, &defaults, 3, 1, "torn or cut off");
        cs_arrival_trace trace = read_text(text, &skip, &notes);
        cr_expect_eq(trace.n_calls, 1, "%s", text);
        cr_expect_eq(notes.n_incomplete, 1, "%s", text);
        cs_arrival_trace_free(&trace);
        cs_arrival_notes_free(&notes);
    }
}

/* Bars of progress end in returns only: everything may stand in one line. */
Test(stragglar_log, a_record_far_into_its_line)
{
    cs_arrival_notes notes = {0};
    char             text[2048];

    (void)snprintf(text, sizeof text, "%600s%s %s\n", "", RECORD(0, 1, "1 ms"),
                   RECORD(1, 1, "2 ms"));
    memset(text, '#', 600);
    cs_arrival_trace trace = read_text(text, &(cs_arrival_options){.sets_warmup = true}, &notes);
    cr_assert_eq(trace.n_calls, 1);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}
