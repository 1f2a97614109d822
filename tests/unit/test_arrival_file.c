/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Readers of arrival traces: what each format means, and every refusal with its place. */
#include "arrival_file_setup.h"
#include "base/alloc.h"
#include "traces/arrival_file.h"
#include "traces/arrival_formats.h"

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
