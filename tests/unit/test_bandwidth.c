/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bandwidth traces: what lines mean, and where the bad ones are. */
#include "base/alloc.h"
#include "traces/bandwidth.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static cs_bandwidth_trace parse(const char *text)
{
    cs_bandwidth_trace trace = {0};
    cs_error           err   = {0};

    cr_assert_eq(cs_bandwidth_parse(text, strlen(text), "t.txt", false, &trace, &err), CS_OK, "%s",
                 err.message);
    return trace;
}

Test(bandwidth, lines_with_and_without_units)
{
    cs_bandwidth_trace trace = parse("# head\n\n0 1e9\n 3ms\t200Gb/s  # half\r\n1.5 0\n2s 7GB/s");

    cr_assert_eq(trace.n, 4);
    cr_assert_eq(trace.time_s[0], 0);
    cr_assert_eq(trace.time_s[1], 3e-3);
    cr_assert_eq(trace.time_s[2], 1.5);
    cr_assert_eq(trace.time_s[3], 2);
    cr_assert_eq(trace.rate_Bps[0], 1e9);
    cr_assert_eq(trace.rate_Bps[1], 25e9);
    cr_assert_eq(trace.rate_Bps[2], 0);
    cr_assert_eq(trace.rate_Bps[3], 7e9);
    cs_bandwidth_free(&trace);
}

Test(bandwidth, bad_lines_are_located)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"", "t.txt:1:1: no line 'time rate' in a bandwidth trace"},
        {"# only\n", "t.txt:1:1: no line 'time rate' in a bandwidth trace"},
        {"0 1\n5\n", "t.txt:2:2: rate: is missing: accepted are lines 'time rate'"},
        {"0 1\n1 2 3\n", "t.txt:2:5: a third word: accepted are lines 'time rate'"},
        {"0 1\n\n1 2\n1 3\n", "t.txt:4:1: time: 1 s is not after the line before it, 1 s"},
        {"2 1\n  1 2\n", "t.txt:2:1: time: 1 s is not after the line before it, 2 s"},
        {"0 fast\n", "t.txt:1:3: rate: 'fast' is not a rate: "},
        {"x 1\n", "t.txt:1:1: time: 'x' is not a time: "},
        {"-1 1\n", "t.txt:1:1: time: '-1' is negative: "},
        {"0 1\n1 -5\n", "t.txt:2:3: rate: '-5' is negative: "},
        {"0 1e999\n", "t.txt:1:3: rate: '1e999' is too large: "},
        {"0 111111111111111111111111111111111111111111111111111111111111111111111111\n",
         "t.txt:1:3: is not a number: accepted are lines 'time rate'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cs_bandwidth_trace trace = {0};
        cs_error           err   = {0};
        char               text[800];
        size_t             length = strlen(cases[i].text);
        cr_assert_neq(cs_bandwidth_parse(cases[i].text, length, "t.txt", false, &trace, &err),
                      CS_OK);
        cs_error_text(&err, text, sizeof text);
        cr_expect_eq(strncmp(text, cases[i].error, strlen(cases[i].error)), 0, "case %zu: %s", i,
                     text);
        cr_expect_null(trace.time_s);
    }
}

Test(bandwidth, nul_bytes_are_refused)
{
    cs_bandwidth_trace trace = {0};
    cr_assert_eq(cs_bandwidth_parse("0 1\0 2", 6, "t.txt", false, &trace, NULL), CS_EPARSE);
}

Test(bandwidth, a_missing_file_is_an_io_error)
{
    cs_bandwidth_trace trace = {0};
    cr_assert_eq(cs_bandwidth_load("/nonexistent/trace", false, &trace, NULL), CS_EIO);
}

Test(bandwidth, many_lines_and_no_memory)
{
    char   text[200 * 12] = "";
    size_t length         = 0;

    for (int i = 0; i < 200; i++) {
        length += (size_t)snprintf(text + length, sizeof text - length, "%d %d\n", i, 1000 + i);
    }
    cs_bandwidth_trace trace = parse(text);
    cr_assert_eq(trace.n, 200);
    cr_assert_eq(trace.rate_Bps[199], 1199);
    cs_bandwidth_free(&trace);
    cs_status status = CS_ENOMEM;
    for (long passes = 0; status == CS_ENOMEM; passes++) {
        cr_assert_lt(passes, 100);
        cs_alloc_fail_after(passes);
        status = cs_bandwidth_parse(text, length, "t.txt", false, &trace, NULL);
        cs_alloc_fail_after(-1);
    }
    cr_assert_eq(status, CS_OK);
    cs_bandwidth_free(&trace);
}
