/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines are taken one after the other; a word is copied out before it is read, so the text itself
 * stays as it is. */
#include "traces/bandwidth.h"

#include "base/alloc.h"
#include "cs/units.h"
#include "input/gzip.h"

#include <string.h>

enum { WORD_BYTES = 64 };

#define MAX_SERVER 0xffffffffu

/* One line and how far it has been read. */
typedef struct bandwidth_line {
    const char *begin, *at, *end;
    int         number, column; /* of the last word */
    bool        has_servers;
} bandwidth_line;

/* What a line says. */
typedef struct bandwidth_values {
    double   time_s, rate_Bps;
    uint32_t server;
} bandwidth_values;

static const char *form_of(const bandwidth_line *line)
{
    return line->has_servers ? "time server rate" : "time rate";
}

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
            return CS_FAIL(err, CS_EPARSE, "", "is not a number: accepted are lines '%s'",
                           form_of(line));
        }
        word[length++] = *line->at++;
    }
    word[length] = '\0';
    return CS_OK;
}

/* A number of a server: digits alone. */
static cs_status parse_server(const char *word, uint32_t *server_p, cs_error *err)
{
    uint64_t server = 0;

    for (const char *at = word; *at != '\0'; at++) {
        server = server * 10 + (uint64_t)(*at - '0');
        if (*at < '0' || *at > '9' || server > MAX_SERVER) {
            return CS_FAIL(err, CS_EPARSE, "server",
                           "'%s' is not a server: accepted are numbers from 0 on", word);
        }
    }
    *server_p = (uint32_t)server;
    return CS_OK;
}

/* The values of a line; *count_p is 0 where it is empty. */
static cs_status read_line(bandwidth_line *line, bandwidth_values *v, int *count_p, cs_error *err)
{
    char word[WORD_BYTES] = "";
    int  count, n_words = line->has_servers ? 3 : 2;

    v->server = 0;
    CS_TRY(next_word(line, word, err));
    for (count = 0; word[0] != '\0'; count++) {
        if (count == n_words) {
            return CS_FAIL(err, CS_EPARSE, "", "a %s word: accepted are lines '%s'",
                           line->has_servers ? "fourth" : "third", form_of(line));
        }
        if (count == 0) {
            CS_TRY(cs_parse_time(word, &v->time_s, "time", err));
        } else if (count == n_words - 1) {
            CS_TRY(cs_parse_rate(word, &v->rate_Bps, "rate", err));
        } else {
            CS_TRY(parse_server(word, &v->server, err));
        }
        CS_TRY(next_word(line, word, err));
    }
    if (count > 0 && count < n_words) {
        return CS_FAIL(err, CS_EPARSE, count == n_words - 1 ? "rate" : "server",
                       "is missing: accepted are lines '%s'", form_of(line));
    }
    *count_p = count;
    return CS_OK;
}

/* May the line stand behind what has been read? */
static cs_status check(const cs_bandwidth_trace *trace, const bandwidth_values *v, cs_error *err)
{
    double last_s  = trace->n > 0 ? trace->time_s[trace->n - 1] : -1;
    bool   is_next = trace->n > 0 && trace->server != NULL && v->time_s == last_s &&
                   v->server > trace->server[trace->n - 1];

    if (!(v->time_s > last_s) && !is_next) {
        return CS_FAIL(err, CS_EINVAL, "time", "%.15g s is not after the line before it, %.15g s%s",
                       v->time_s, last_s,
                       trace->server != NULL ? " (nor is it of a later server)" : "");
    }
    return CS_OK;
}

/* Room for one more line. */
static bool grow(cs_bandwidth_trace *trace, size_t *room, bool has_servers)
{
    size_t more = *room > 0 ? 2 * *room : 64;

    if (trace->n < *room) {
        return true;
    }
    double *time    = cs_realloc(trace->time_s, more, sizeof *time);
    trace->time_s   = time != NULL ? time : trace->time_s;
    double *rate    = cs_realloc(trace->rate_Bps, more, sizeof *rate);
    trace->rate_Bps = rate != NULL ? rate : trace->rate_Bps;
    if (has_servers) {
        uint32_t *server = cs_realloc(trace->server, more, sizeof *server);
        trace->server    = server != NULL ? server : trace->server;
        has_servers      = server == NULL; /* is it missing? */
    }
    *room = more;
    return time != NULL && rate != NULL && !has_servers;
}

static cs_status append(cs_bandwidth_trace *trace, size_t *room, const bandwidth_line *line,
                        const bandwidth_values *v, cs_error *err)
{
    if (!grow(trace, room, line->has_servers)) {
        return CS_NO_MEMORY(err, "a bandwidth trace");
    }
    if (trace->server != NULL) {
        trace->server[trace->n] = v->server;
    }
    trace->time_s[trace->n]     = v->time_s;
    trace->rate_Bps[trace->n++] = v->rate_Bps;
    return CS_OK;
}

static cs_status read_lines(bandwidth_line *line, const char *text_end, cs_bandwidth_trace *trace,
                            cs_error *err)
{
    size_t           room = 0;
    bandwidth_values values;
    int              count = 0;

    for (const char *next = line->begin; next < text_end;) {
        const char *newline = memchr(next, '\n', (size_t)(text_end - next));
        const char *end     = newline != NULL ? newline : text_end;
        const char *comment = memchr(next, '#', (size_t)(end - next));
        line->begin = line->at = next;
        line->end              = comment != NULL ? comment : end;
        line->number++;
        CS_TRY(read_line(line, &values, &count, err));
        if (count > 0) {
            line->column = 1;
            CS_TRY(check(trace, &values, err));
            CS_TRY(append(trace, &room, line, &values, err));
        }
        next = newline != NULL ? newline + 1 : text_end;
    }
    if (trace->n == 0) {
        line->number = 1;
        return CS_FAIL(err, CS_EPARSE, "", "no line '%s' in a bandwidth trace", form_of(line));
    }
    return CS_OK;
}

cs_status cs_bandwidth_parse(const char *text, size_t length, const char *name, bool has_servers,
                             cs_bandwidth_trace *trace_p, cs_error *err)
{
    cs_bandwidth_trace trace  = {0};
    bandwidth_line     line   = {.begin = text, .column = 1, .has_servers = has_servers};
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

cs_status cs_bandwidth_load(const char *path, bool has_servers, cs_bandwidth_trace *trace_p,
                            cs_error *err)
{
    char  *data   = NULL;
    size_t length = 0;

    CS_TRY(cs_gzip_read(path, CS_BANDWIDTH_MAX_BYTES, &data, &length, err));
    cs_status status = cs_bandwidth_parse(data, length, path, has_servers, trace_p, err);
    cs_free(data);
    return status;
}

void cs_bandwidth_free(cs_bandwidth_trace *trace)
{
    cs_free(trace->time_s);
    cs_free(trace->rate_Bps);
    cs_free(trace->server);
    *trace = (cs_bandwidth_trace){0};
}
