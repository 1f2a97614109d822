/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of arrivals as texts: read or refused, and a log of StragglAR. */
#ifndef CS_TESTS_ARRIVAL_FILE_SETUP_H
#define CS_TESTS_ARRIVAL_FILE_SETUP_H

#include "base/alloc.h"
#include "traces/arrival_file.h"

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

static inline cs_status read_with(const char *text, const cs_arrival_options *options,
                                  cs_arrival_trace *trace, cs_arrival_notes *notes, cs_error *err)
{
    const cs_arrival_text one = {"trace", text, strlen(text)};

    return cs_arrival_texts_read(&one, 1, options, trace, notes, err);
}

static inline cs_arrival_trace read_text(const char *text, const cs_arrival_options *options,
                                         cs_arrival_notes *notes)
{
    cs_arrival_trace trace = {0};
    cs_error         err   = {0};

    cr_assert_eq(read_with(text, options, &trace, notes, &err), CS_OK, "%d:%d: %s: %s",
                 err.input_line, err.input_column, err.where, err.message);
    return trace;
}

/* Refused at that place, in words that contain `word`; nothing is handed out. */
static inline void refused(const char *text, const cs_arrival_options *options, int line,
                           int column, const char *word)
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

static inline void expect_call(const cs_arrival_trace *trace, size_t call, const double *arrival_s)
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

#endif
