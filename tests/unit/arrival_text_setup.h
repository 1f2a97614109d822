/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Traces as JSON texts: accepted or refused, and a timeline of two processes. */
#ifndef CS_TESTS_ARRIVAL_TEXT_SETUP_H
#define CS_TESTS_ARRIVAL_TEXT_SETUP_H

#include "base/alloc.h"
#include "traces/arrival_file.h"

#include <criterion/criterion.h>
#include <string.h>

static const cs_arrival_options defaults = {0};

static inline cs_status read_texts(char **texts, size_t n, const cs_arrival_options *options,
                                   cs_arrival_trace *trace, cs_arrival_notes *notes, cs_error *err)
{
    static const char *const names[] = {"a.json", "b.json", "c.json"};
    cs_arrival_text          list[3] = {0};

    for (size_t i = 0; i < n; i++) {
        list[i] = (cs_arrival_text){names[i], texts[i], strlen(texts[i])};
    }
    cs_status status = cs_arrival_texts_read(list, n, options, trace, notes, err);
    for (size_t i = 0; i < n; i++) {
        cs_free(texts[i]);
    }
    return status;
}

static inline cs_arrival_trace accepted(char **texts, size_t n, const cs_arrival_options *options,
                                        cs_arrival_notes *notes)
{
    cs_arrival_trace trace = {0};
    cs_error         err   = {0};

    cr_assert_eq(read_texts(texts, n, options, &trace, notes, &err), CS_OK, "%s:%d: %s: %s",
                 err.input, err.input_line, err.where, err.message);
    return trace;
}

/* Refused at a file and line (0: no line), in words that contain `word`. */
static inline void refused(char **texts, size_t n, const cs_arrival_options *options,
                           const char *input, int line, const char *word)
{
    cs_arrival_trace trace = {0};
    cs_arrival_notes notes = {0};
    cs_error         err   = {0};

    cr_expect_neq(read_texts(texts, n, options, &trace, &notes, &err), CS_OK);
    cr_expect_str_eq(err.input, input, "%s: %s", err.input, err.message);
    cr_expect_eq(err.input_line, line, "line %d: %s", err.input_line, err.message);
    cr_expect(strstr(err.message, word) != NULL, "'%s' is not in '%s'", word, err.message);
    cr_expect(trace.arrival_s == NULL && notes.text.data == NULL);
}

static char *copy_of(const char *text)
{
    return cs_strdup(text);
}

#define SPAN(cat, pid, tid, ts, dur)                                                           \
    "{\"ph\": \"X\", \"name\": \"n\", \"cat\": \"" cat "\", \"pid\": " #pid ", \"tid\": " #tid \
    ", \"ts\": " #ts ", \"dur\": " #dur "}"

/* Two processes; the first has two lanes, whose mean counts. */
static const char timeline[] =
    "[" SPAN("work", 4, 1, 0, 100) "," SPAN("work", 4, 2, 50, 300) "," SPAN(
        "work", 4, 2, 900, 40) "," SPAN("work", 4, 1, 500,
                                        20) "," SPAN("work", 5, 1, 0,
                                                     150) "," SPAN("work", 5, 1, 600,
                                                                   90) "," SPAN("idle", 5, 1, 700,
                                                                                9) "]";

#endif
