/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines are taken one after the other; a word is copied out before it is read, so the text itself
 * stays as it is. */
#include "traces/bandwidth.h"

#include "base/alloc.h"
#include "base/file.h"
#include "cs/units.h"

#include <stdbool.h>
#include <string.h>

enum { WORD_BYTES = 64, WORDS = 2 };

/* One line and how far it has been read. */
typedef struct bandwidth_line {
    const char *begin, *at, *end;
    int         number, column; /* of the last word */
} bandwidth_line;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The next word of the line; empty at its end. */
static cs_status next_word(bandwidth_line *line, char *word, cs_error *err)
{
    size_t length = 0;

    while (line->at < line->end && is_blank(*line->at)) {
        line->at++;
    }
    line->column = (int)(line->at - line->begin) + 1;
    while (line->at < line->end && !is_blank(*line->at)) {
        if (length + 1 == WORD_BYTES || *line->at == '\0') {
            return CS_FAIL(err, CS_EPARSE, "", "is not a number: accepted are lines 'time rate'");
        }
        word[length++] = *line->at++;
    }
    word[length] = '\0';
    return CS_OK;
}

/* Both values of a line; *count_p is 0 where it is empty. */
static cs_status read_line(bandwidth_line *line, double *values, size_t *count_p, cs_error *err)
{
    static const char *const names[WORDS]     = {"time", "rate"};
    char                     word[WORD_BYTES] = "";
    size_t                   count            = 0;

    *count_p = 0;
    CS_TRY(next_word(line, word, err));
    while (word[0] != '\0') {
        if (count == WORDS) {
            return CS_FAIL(err, CS_EPARSE, "", "a third word: accepted are lines 'time rate'");
        }
        CS_TRY(
            (count == 0 ? cs_parse_time : cs_parse_rate)(word, &values[count], names[count], err));
        count++;
        CS_TRY(next_word(line, word, err));
    }
    if (count == 1) {
        return CS_FAIL(err, CS_EPARSE, "rate", "is missing: accepted are lines 'time rate'");
    }
    *count_p = count;
    return CS_OK;
}

/* May the line stand behind what has been read? */
static cs_status check(const cs_bandwidth_trace *trace, const double *values, cs_error *err)
{
    double last_s = trace->n > 0 ? trace->time_s[trace->n - 1] : -1;

    if (!(values[0] > last_s)) {
        return CS_FAIL(err, CS_EINVAL, "time", "%.15g s is not after the line before it, %.15g s",
                       values[0], last_s);
    }
    return CS_OK;
}

static cs_status append(cs_bandwidth_trace *trace, size_t *room, const double *values,
                        cs_error *err)
{
    if (trace->n == *room) {
        size_t  more    = *room > 0 ? 2 * *room : 64;
        double *time    = cs_realloc(trace->time_s, more, sizeof *time);
        trace->time_s   = time != NULL ? time : trace->time_s;
        double *rate    = cs_realloc(trace->rate_Bps, more, sizeof *rate);
        trace->rate_Bps = rate != NULL ? rate : trace->rate_Bps;
        if (time == NULL || rate == NULL) {
            return CS_NO_MEMORY(err, "a bandwidth trace");
        }
        *room = more;
    }
    trace->time_s[trace->n]     = values[0];
    trace->rate_Bps[trace->n++] = values[1];
    return CS_OK;
}

static cs_status read_lines(bandwidth_line *line, const char *text_end, cs_bandwidth_trace *trace,
                            cs_error *err)
{
    size_t room = 0, count = 0;
    double values[WORDS];

    for (const char *next = line->begin; next < text_end;) {
        const char *newline = memchr(next, '\n', (size_t)(text_end - next));
        const char *end     = newline != NULL ? newline : text_end;
        const char *comment = memchr(next, '#', (size_t)(end - next));
        line->begin = line->at = next;
        line->end              = comment != NULL ? comment : end;
        line->number++;
        CS_TRY(read_line(line, values, &count, err));
        if (count > 0) {
            line->column = 1;
            CS_TRY(check(trace, values, err));
            CS_TRY(append(trace, &room, values, err));
        }
        next = newline != NULL ? newline + 1 : text_end;
    }
    if (trace->n == 0) {
        line->number = 1;
        return CS_FAIL(err, CS_EPARSE, "", "no line 'time rate' in a bandwidth trace");
    }
    return CS_OK;
}

cs_status cs_bandwidth_parse(const char *text, size_t length, const char *name,
                             cs_bandwidth_trace *trace_p, cs_error *err)
{
    cs_bandwidth_trace trace  = {0};
    bandwidth_line     line   = {.begin = text, .column = 1};
    cs_status          status = read_lines(&line, text + length, &trace, err);

    if (status != CS_OK) {
        if (status != CS_ENOMEM) {
            cs_error_locate(err, name, line.number, line.column);
        }
        cs_bandwidth_free(&trace);
        return status;
    }
    *trace_p = trace;
    return CS_OK;
}

cs_status cs_bandwidth_load(const char *path, cs_bandwidth_trace *trace_p, cs_error *err)
{
    char  *data   = NULL;
    size_t length = 0;

    CS_TRY(cs_file_read(path, CS_BANDWIDTH_MAX_BYTES, &data, &length, err));
    cs_status status = cs_bandwidth_parse(data, length, path, trace_p, err);
    cs_free(data);
    return status;
}

void cs_bandwidth_free(cs_bandwidth_trace *trace)
{
    cs_free(trace->time_s);
    cs_free(trace->rate_Bps);
    *trace = (cs_bandwidth_trace){0};
}
