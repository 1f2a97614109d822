/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Readers of arrival traces: what each format means, and every refusal with its place. */
#include "base/alloc.h"
#include "traces/arrival_file.h"
#include "traces/arrival_formats.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define RED   "\033[91m"
#define RESET "\033[0m"

/* A log's record. */
#define RECORD(rank, step, ar)                                                                   \
    "Rank " #rank " | Step " #step " | Forward Time: 1.00 ms | Backward Time: 2.00 ms  | Loss: " \
    "5.5 | Iteration Time: 500.00 ms | AR Time: " ar " | AR Buffer Size: 4.00 KB"

static const cs_arrival_options defaults = {0};

static cs_status read_with(const char *text, const cs_arrival_options *options,
                           cs_arrival_trace *trace, cs_arrival_notes *notes, cs_error *err)
{
    const cs_arrival_text one = {"trace", text, strlen(text)};

    return cs_arrival_texts_read(&one, 1, options, trace, notes, err);
}

static cs_arrival_trace read_text(const char *text, const cs_arrival_options *options,
                                  cs_arrival_notes *notes)
{
    cs_arrival_trace trace = {0};
    cs_error         err   = {0};

    cr_assert_eq(read_with(text, options, &trace, notes, &err), CS_OK, "%d:%d: %s: %s",
                 err.input_line, err.input_column, err.where, err.message);
    return trace;
}

/* Refused at that place, in words that contain `word`; nothing is handed out. */
static void refused(const char *text, const cs_arrival_options *options, int line, int column,
                    const char *word)
{
    cs_arrival_trace trace  = {0};
    cs_arrival_notes notes  = {0};
    cs_error         err    = {0};
    cs_status        status = read_with(text, options, &trace, &notes, &err);

    cr_expect_neq(status, CS_OK, "accepted: %s", text);
    cr_expect_eq(err.status, status);
    cr_expect(strstr(err.message, word) != NULL, "'%s' is not in '%s'", word, err.message);
    cr_expect_eq(err.input_line, line, "line %d: %s", err.input_line, err.message);
    cr_expect_eq(err.input_column, column, "column %d: %s", err.input_column, err.message);
    cr_expect(trace.arrival_s == NULL && notes.text.data == NULL);
}

static void expect_call(const cs_arrival_trace *trace, size_t call, const double *arrival_s)
{
    for (uint32_t r = 0; r < trace->n_ranks; r++) {
        cr_expect_float_eq(cs_trace_arrival(trace, call, r), arrival_s[r], 1e-15, "%zu, %u: %g",
                           call, r, cs_trace_arrival(trace, call, r));
    }
}

/* Colours, two records on one line, any order, other lines between them; step 0 is warm-up. */
static const char sample_log[] =
    "[2025-05-07 02:07:55,681] [INFO] [real_accelerator.py:239:get_accelerator] Setting\n" RED
        RECORD(1, 0, "9.0 ms") RESET "\n" RED RECORD(0, 0, "1.0 s") RESET
    "\n"
    "\n" RED RECORD(1, 1, "20.5 ms") RESET RED RECORD(0, 1, "50.25 ms") RESET
    "\n" RECORD(0, 2, "7000 us") "\r\n"
                                 "Rank 0 is still alive\n" RECORD(1, 2, "8 ms") "\n";

Test(arrival_file, table_in_any_order)
{
    cs_arrival_notes notes = {0};
    cs_arrival_trace trace = read_text("# a comment\n"
                                       "rank,iteration,arrival_s,bytes,host\r\n"
                                       "1,4,3us,1K,b\r\n"
                                       "\n" RED "0,4,0,1K,a" RESET "\n"
                                       "0,2,0.25,2048,a\n"
                                       "1,2,0,2048,b",
                                       &defaults, &notes);

    cr_assert_eq(trace.n_ranks, 2);
    cr_assert_eq(trace.n_calls, 2);
    expect_call(&trace, 0, (double[]){0.25, 0});
    expect_call(&trace, 1, (double[]){0, 3e-6});
    cr_assert_eq(trace.bytes[0], 2048);
    cr_assert_eq(trace.bytes[1], 1024);
    cr_assert_null(trace.inside_s);
    cr_assert(isnan(notes.period_s), "offsets show no period");
    cr_assert_str_eq(notes.text.data, "column 'host' is not used\n");
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}

Test(arrival_file, one_clock_shows_the_period)
{
    cs_arrival_notes notes = {0};
    cs_arrival_trace trace = read_text("iteration,rank,arrival_ms\n"
                                       "0,0,100\n0,1,101\n1,0,300\n1,1,303.5\n2,0,502\n2,1,500\n",
                                       &defaults, &notes);

    cr_assert_eq(trace.n_calls, 3);
    cr_assert_float_eq(cs_trace_arrival(&trace, 0, 1), 1e-3, 1e-15);
    cr_assert_float_eq(cs_trace_arrival(&trace, 1, 1), 3.5e-3, 1e-15);
    cr_assert_float_eq(cs_trace_arrival(&trace, 2, 0), 2e-3, 1e-15);
    cr_assert_float_eq(notes.period_s, 0.2, 1e-15);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}

Test(arrival_file, time_inside_gives_arrivals)
{
    cs_arrival_notes notes = {0};
    cs_arrival_trace trace =
        read_text("iteration,rank,inside_us\n0,0,50\n0,1,80\n0,2,10\n", &defaults, &notes);

    expect_call(&trace, 0, (double[]){30e-6, 0, 70e-6});
    cr_assert_float_eq(trace.inside_s[2], 10e-6, 1e-18);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}

Test(arrival_file, markdown_table)
{
    cs_arrival_notes notes = {0};
    cs_arrival_trace trace =
        read_text("| Rank | Start | Arrival gap (\xc2\xb5s) | AR kernel (\xc2\xb5s) |\n"
                  "| ---: | ---: | :---: | --- |\n"
                  "| 0 | 17.5 | 63.639 | 10.519 |\n"
                  "| 1 | 17.5 | 0.000 | 72.160 |\n",
                  &defaults, &notes);

    cr_assert_eq(trace.n_calls, 1);
    expect_call(&trace, 0, (double[]){63.639e-6, 0});
    cr_assert_float_eq(trace.inside_s[0], 10.519e-6, 1e-18);
    cr_assert_str_eq(notes.format, "markdown table");
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}

Test(arrival_file, table_reads_back_what_it_wrote)
{
    cs_arrival_notes notes = {0};
    cs_arrival_trace first = read_text("iteration,rank,arrival_s,inside_s,bytes\n"
                                       "7,0,0.1,0.7,3\n7,1,0.3333333333333333,0.5,3\n"
                                       "9,0,1.1,0.7,5\n9,1,1.3333333333333333,0.1,5\n",
                                       &defaults, &notes);
    cs_text          text = {0}, again = {0};

    cs_arrival_notes_free(&notes);
    cs_arrival_table_write(&first, &text);
    cs_arrival_trace second = read_text(text.data, &defaults, &notes);
    cs_arrival_table_write(&second, &again);
    cr_assert_str_eq(text.data, again.data);
    cr_assert_eq(memcmp(first.arrival_s, second.arrival_s, 4 * sizeof(double)), 0);
    cs_arrival_trace_free(&first);
    cs_arrival_trace_free(&second);
    cs_arrival_notes_free(&notes);
    cs_text_free(&text);
    cs_text_free(&again);
}

Test(arrival_file, table_refusals)
{
    static const struct {
        const char *text, *word;
        int         line, column;
    } cases[] = {
        {"", "is empty", 0, 0},
        {"\n  \n# x\n", "is empty", 0, 0},
        {"rank,arrival_s\n0,0\n", "not a trace of arrivals", 1, 1},
        {"iteration,rank,late\n0,0,0\n", "not a trace of arrivals", 1, 1},
        {"iteration,rank,arrival_s,arrival_us\n", "second column", 1, 26},
        {"iteration,rank,arrival_s\n", "no record", 0, 0},
        {"iteration,rank,arrival_s\n0,0,0\n0,1,nan\n", "", 3, 5},
        {"iteration,rank,arrival_s\n0,0,0\n0,1,inf\n", "", 3, 5},
        {"iteration,rank,arrival_s\n0,0,0\n0,1,1e999\n", "", 3, 5},
        {"iteration,rank,arrival_s\n0,0,0\n0,1,-1\n", "is negative", 3, 5},
        {"iteration,rank,arrival_s\n0,0,0\n0,1,1000001\n", "at most 1000000 s", 3, 1},
        {"iteration,rank,arrival_s\n0,0,0\n0,1,\n", "is empty", 3, 5},
        {"iteration,rank,arrival_s\n0,0,0\n0,-1,1\n", "", 3, 3},
        {"iteration,rank,arrival_s\n0,0,0\n0,1.5,1\n", "", 3, 3},
        {"iteration,rank,arrival_s\n0,0,0\n0,99999999,1\n", "", 3, 3},
        {"iteration,rank,arrival_us\n0,0,0\n0,1,3ms\n", "", 3, 5},
        {"iteration,rank,arrival_s\n0,0,0 0,1,1\n", "two records on one line", 2, 9},
        {"iteration,rank,arrival_s\n0,0\n", "2 cells", 2, 3},
        {"iteration,rank,arrival_s\n0,0,0\n0,1,1\n0,1,2\n", "twice; the first time is in line 3", 4,
         1},
        {"iteration,rank,arrival_s\n0,0,0\n1,0,1\n", "only rank 0", 2, 1},
        {"iteration,rank,arrival_s\n0,0,0\n0,2,1\n", "rank 1 is nowhere", 0, 0},
        {"iteration,rank,arrival_s\n0,0,0\n0,1,1\n1,1,3\n", "iteration 1 has 1 of 2", 4, 1},
        {"iteration,rank,arrival_s\n0,0,1\n0,1,2\n1,0,3\n1,1,1.5\n", "stepped back", 5, 1},
        {"iteration,rank,arrival_s,bytes\n0,0,0,8\n0,1,1,16\n", "one size for all", 3, 1},
        {"iteration,rank,arrival_s,bytes\n0,0,0,0\n", "not the size", 2, 7},
        {"iteration,rank,arrival_s\n0,0,0\n0,1,\x01\n", "", 3, 5},
        {"\x1f\x8b\x08", "gunzip it first", 1, 1},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        refused(cases[i].text, &defaults, cases[i].line, cases[i].column, cases[i].word);
    }
}

Test(arrival_file, incomplete_iterations_are_left_out_when_asked)
{
    const cs_arrival_options skip  = {.skip_incomplete = true};
    cs_arrival_notes         notes = {0};
    cs_arrival_trace trace = read_text("iteration,rank,arrival_s\n0,0,0\n1,1,5\n1,0,4\n2,0,6\n3,0,"
                                       "9\n3,1,8\n4,1,10\n",
                                       &skip, &notes);

    cr_assert_eq(trace.n_calls, 2);
    cr_assert_eq(notes.n_incomplete, 3);
    cr_assert_float_eq(notes.period_s, 2, 1e-15);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
    refused("iteration,rank,arrival_s\n0,0,0\n1,1,5\n", &skip, 0, 0, "no iteration is left");
}

Test(arrival_file, warmup)
{
    const cs_arrival_options two   = {.sets_warmup = true, .warmup = 2};
    cs_arrival_notes         notes = {0};
    cs_arrival_trace         trace = read_text(
                "iteration,rank,arrival_s\n5,0,0\n5,1,1\n6,0,0\n6,1,2\n9,0,0\n9,1,3\n", &two, &notes);

    cr_assert_eq(trace.n_calls, 1);
    cr_assert_eq(notes.n_warmup, 2);
    cr_assert_float_eq(cs_trace_arrival(&trace, 0, 1), 3, 0);
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
    refused("iteration,rank,arrival_s\n5,0,0\n5,1,1\n", &two, 0, 0, "1 of warm-up");
}

Test(arrival_file, options_of_other_formats_are_refused)
{
    refused("iteration,rank,arrival_s\n", &(cs_arrival_options){.category = "x"}, 0, 0,
            "JSON traces");
}

Test(arrival_file, files_that_are_not_there)
{
    cs_arrival_trace trace = {0};
    cs_error         err   = {0};

    cr_assert_eq(cs_arrival_file_load("/nonexistent/trace", &trace, &err), CS_EIO);
    err = (cs_error){0};
    cr_assert_eq(cs_arrival_file_load("", &trace, &err), CS_EINVAL);
    err = (cs_error){0};
    cr_assert_eq(cs_arrival_file_load(COLLSIM_SOURCE_DIR "/README.md,,x", &trace, &err), CS_EINVAL);
}

/* Whatever allocation fails, the answer is CS_ENOMEM and nothing leaks. */
static void fail_each_allocation(const char *text, const cs_arrival_options *options)
{
    cs_status status = CS_ENOMEM;

    for (long passes = 0; status == CS_ENOMEM && passes < 10000; passes++) {
        cs_arrival_trace trace = {0};
        cs_arrival_notes notes = {0};
        cs_error         err   = {0};
        cs_alloc_fail_after(passes);
        status = read_with(text, options, &trace, &notes, &err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || (status == CS_ENOMEM && trace.arrival_s == NULL), "%ld: %s",
                  passes, err.message);
        cs_arrival_trace_free(&trace);
        cs_arrival_notes_free(&notes);
    }
    cr_assert_eq(status, CS_OK);
}

/* Two ends can differ by a unit of the last digit of each column for rounding, and by what a double
 * of that size holds. */
Test(arrival_file, how_finely_ends_are_known)
{
    const struct {
        const char *text;
        double      resolution_s;
    } cases[] = {
        {"iteration,rank,arrival_us,inside_us\n0,0,0,8.25\n0,1,3.1,5.2\n", 0.1e-6 + 0.01e-6},
        {"iteration,rank,arrival_s,inside_s\n0,0,0,8.25ms\n0,1,3us,5ms\n", 1e-6 + 0.01e-3},
        {"iteration,rank,arrival_s,inside_s\n0,0,1e-3,2e-3\n0,1,0.000,1.0e-3\n", 1e-3 + 1e-4},
        /* an epoch's seconds in a double are 0.24 us apart */
        {"iteration,rank,arrival_s,inside_s\n0,0,1683564902.174220000,1.000000000\n"
         "0,1,1683564902.174221000,0.999999000\n",
         2e-9 + 4 * 0x1p-22},
        {"iteration,rank,arrival_s,inside_s\n0,0,0,0\n0,1,0,0\n", 4 * 4.9406564584124654e-324},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cs_arrival_notes notes = {0};
        cs_arrival_trace trace = read_text(cases[i].text, &defaults, &notes);

        cr_expect_float_eq(notes.end_resolution_s, cases[i].resolution_s,
                           1e-9 * cases[i].resolution_s, "%zu: %g instead of %g", i,
                           notes.end_resolution_s, cases[i].resolution_s);
        cs_arrival_trace_free(&trace);
        cs_arrival_notes_free(&notes);
    }
}

Test(arrival_file, ends_that_are_assumed)
{
    cs_arrival_notes notes = {0};
    cs_arrival_trace trace =
        read_text("iteration,rank,inside_us\n0,0,8.25\n0,1,5.2\n", &defaults, &notes);

    cr_expect(isnan(notes.end_resolution_s));
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
    trace = read_text(sample_log, &defaults, &notes);
    cr_expect(isnan(notes.end_resolution_s));
    cs_arrival_trace_free(&trace);
    cs_arrival_notes_free(&notes);
}

Test(arrival_file, out_of_memory)
{
    fail_each_allocation("iteration,rank,arrival_s,inside_s,bytes,x\n0,0,0,1,8,\n0,1,1,1,8,\n",
                         &defaults);
    fail_each_allocation(sample_log, &defaults);
}

/* ---- logs of StragglAR ---- */

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
