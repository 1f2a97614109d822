/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A record begins where "Rank N | Step" stands and ends before the next one or at the end of the
 * line. */
#include "traces/arrival_formats.h"

#include "base/alloc.h"
#include "cs/cluster.h"
#include "cs/units.h"
#include "traces/log_line.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { WORD_BYTES = 48, START_BYTES = 128 /* more than "Rank N | Step N" takes */ };

typedef struct unit {
    const char *name;
    double      factor;
} unit;

static const unit time_units[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
static const unit size_units[] = {{"B", 1}, {"KB", 1024}, {"MB", 1048576.0}, {"GB", 1073741824.0}};

enum { N_UNITS = sizeof time_units / sizeof time_units[0] };

/* What is read of a record: a number with a unit behind a key. */
typedef struct field {
    const char *key, *name;
    const unit *units; /* [N_UNITS] */
    const char *accepted;
    double      most;
} field;

#define ACCEPTED_TIMES "s, ms, us, ns"
#define ACCEPTED_SIZES "B, KB, MB, GB (powers of 1024)"

static const field ar_time   = {"AR Time:", "AR Time", time_units, ACCEPTED_TIMES, 1e6};
static const field ar_size   = {"AR Buffer Size:", "AR Buffer Size", size_units, ACCEPTED_SIZES,
                                1125899906842624.0 /* 2^50 */};
static const field iteration = {"Iteration Time:", "Iteration Time", time_units, ACCEPTED_TIMES,
                                1e6};

/* The word at `text`, up to a blank, a bar or `end`. */
static size_t word_length(const char *text, const char *end)
{
    size_t length = strcspn(text, " \t|");

    return length < (size_t)(end - text) ? length : (size_t)(end - text);
}

/* The factor of a unit; 0: no such unit, and *is_cut_p says whether it is the begin of one. */
static double factor_of(const field *f, const char *text, size_t length, bool *is_cut_p)
{
    *is_cut_p = false;
    for (size_t i = 0; i < N_UNITS; i++) {
        bool begins = strncmp(f->units[i].name, text, length) == 0;
        if (begins && strlen(f->units[i].name) == length) {
            *is_cut_p = false;
            return f->units[i].factor;
        }
        *is_cut_p = *is_cut_p || begins;
    }
    return 0;
}

/* Number and unit at `text`, in front of `end`, where the record ends; *is_cut_p: it ends before
 * they are complete. */
static cs_status read_quantity(const char *text, const char *end, const field *f, double *value_p,
                               bool *is_cut_p, cs_error *err)
{
    char   word[WORD_BYTES];
    size_t length = 0;

    text += strspn(text, " \t");
    text      = text < end ? text : end;
    length    = word_length(text, end);
    *is_cut_p = text + length == end;
    if (*is_cut_p) {
        return CS_OK;
    }
    if (length == 0 || length >= sizeof word) {
        return CS_FAIL(err, CS_EPARSE, f->name, "has no number behind it");
    }
    memcpy(word, text, length);
    word[length] = '\0';
    CS_TRY(cs_parse_number(word, value_p, f->name, err));
    text += length;
    text += strspn(text, " \t");
    text = text < end ? text : end;
    for (length = 0; text + length < end && isalpha((unsigned char)text[length]);) {
        length++;
    }
    double factor = factor_of(f, text, length, is_cut_p);
    *is_cut_p     = *is_cut_p && text + length == end;
    if (factor == 0 && !*is_cut_p) {
        return CS_FAIL(err, CS_EPARSE, f->name, "unknown unit '%.*s': accepted are %s",
                       (int)(length < 16 ? length : 16), text, f->accepted);
    }
    *value_p *= factor;
    return CS_OK;
}

static size_t skip_blanks(const char *text, size_t at)
{
    return at + strspn(text + at, " \t");
}

static size_t skip_digits(const char *text, size_t at)
{
    return at + strspn(text + at, "0123456789");
}

/* Does a record begin here? Sets where its two numbers are. */
static bool is_start(const char *text, size_t *rank_p, size_t *step_p)
{
    size_t at = 5;

    if (strncmp(text, "Rank ", 5) != 0) {
        return false;
    }
    *rank_p = at = skip_blanks(text, at);
    if (skip_digits(text, at) == at) {
        return false;
    }
    at = skip_blanks(text, skip_digits(text, at));
    if (text[at] != '|') {
        return false;
    }
    at = skip_blanks(text, at + 1);
    if (strncmp(text + at, "Step ", 5) != 0) {
        return false;
    }
    *step_p = skip_blanks(text, at + 5);
    return skip_digits(text, *step_p) > *step_p;
}

/* The next record at or behind `text`, or NULL. */
static const char *find_start(const char *text)
{
    size_t rank, step;

    for (const char *at = strstr(text, "Rank "); at != NULL; at = strstr(at + 1, "Rank ")) {
        if (is_start(at, &rank, &step)) {
            return at;
        }
    }
    return NULL;
}

static cs_status read_integer(const char *text, uint64_t max, const char *where, uint64_t *value_p,
                              cs_error *err)
{
    char   word[WORD_BYTES];
    size_t length = strspn(text, "0123456789");

    length = length < sizeof word ? length : sizeof word - 1;
    memcpy(word, text, length);
    word[length] = '\0';
    return cs_parse_integer(word, 0, max, value_p, where, err);
}

/* Reads one field where it is there and not cut off; *is_there_p says whether. */
static cs_status read_field(const char *record, const char *end, const field *f, cs_log_line *line,
                            double *value_p, bool *is_there_p, cs_error *err)
{
    const char *at     = strstr(record, f->key);
    bool        is_cut = false;

    *is_there_p = at != NULL && at < end;
    if (!*is_there_p) {
        return CS_OK;
    }
    line->fault_column = (int)(at - line->text) + 1;
    CS_TRY(read_quantity(at + strlen(f->key), end, f, value_p, &is_cut, err));
    *is_there_p = !is_cut;
    if (!is_cut && !(*value_p >= 0 && *value_p <= f->most)) {
        return CS_FAIL(err, CS_EINVAL, f->name, "%.9g %s is outside [0, %.16g]", *value_p,
                       f->units == size_units ? "bytes" : "s", f->most);
    }
    return CS_OK;
}

/* The state of one reading. */
typedef struct log_reading {
    cs_log_line              *line;
    const cs_arrival_options *options;
    cs_arrival_rows          *rows;
    size_t                    n_torn;
    int                       first_torn;
} log_reading;

static cs_status read_record(log_reading *g, const char *record, const char *end, cs_error *err)
{
    cs_log_line   *line    = g->line;
    cs_arrival_row row     = {.line      = line->number,
                              .column    = (int)(record - line->text) + 1,
                              .arrival_s = (double)NAN,
                              .queued_s  = (double)NAN,
                              .period_s  = (double)NAN};
    size_t         rank_at = 0, step_at = 0;
    uint64_t       rank  = 0;
    double         bytes = 0, period_s = 0;
    bool           has_time = false, has_size = false, has_period = false;

    (void)is_start(record, &rank_at, &step_at);
    line->fault_column = (int)(record - line->text + (ptrdiff_t)rank_at) + 1;
    CS_TRY(read_integer(record + rank_at, CS_MAX_RANKS - 1, "Rank", &rank, err));
    line->fault_column = (int)(record - line->text + (ptrdiff_t)step_at) + 1;
    CS_TRY(read_integer(record + step_at, UINT64_MAX >> 1, "Step", &row.iteration, err));
    CS_TRY(read_field(record, end, &ar_time, line, &row.inside_s, &has_time, err));
    CS_TRY(read_field(record, end, &ar_size, line, &bytes, &has_size, err));
    CS_TRY(read_field(record, end, &iteration, line, &period_s, &has_period, err));
    if (!(has_time && has_size)) {
        line->fault_column = row.column;
        if (g->options->skip_incomplete) {
            g->first_torn = g->n_torn++ == 0 ? line->number : g->first_torn;
            return CS_OK;
        }
        return CS_FAIL(err, CS_EPARSE, has_time ? ar_size.name : ar_time.name,
                       "is missing: the record of rank %u is torn or cut off (--skip-incomplete "
                       "leaves its iteration out)",
                       (unsigned)rank);
    }
    row.rank     = (uint32_t)rank;
    row.bytes    = (uint64_t)llround(bytes);
    row.period_s = has_period ? period_s : (double)NAN;
    return cs_arrival_rows_add(g->rows, &row, err);
}

static cs_status read_line(log_reading *g, cs_error *err)
{
    const char *text   = g->line->text;
    const char *record = find_start(text);
    const char *stray  = strstr(text, ar_time.key);

    if (stray != NULL && (record == NULL || stray < record)) {
        g->line->fault_column = (int)(stray - text) + 1;
        if (!g->options->skip_incomplete) {
            return CS_FAIL(err, CS_EPARSE, ar_time.name,
                           "stands in no record: the line is torn (--skip-incomplete leaves its "
                           "iteration out)");
        }
        g->first_torn = g->n_torn++ == 0 ? g->line->number : g->first_torn;
    }
    while (record != NULL) {
        const char *next = find_start(record + 1);
        CS_TRY(read_record(g, record, next != NULL ? next : text + strlen(text), err));
        record = next;
    }
    return CS_OK;
}

bool cs_stragglar_log_is(const char *text, size_t length)
{
    for (size_t at = 0; at < length; at++) {
        const char *found = memchr(text + at, 'R', length - at);
        char        begin[START_BYTES];
        size_t      rank = 0, step = 0;

        if (found == NULL) {
            return false;
        }
        at          = (size_t)(found - text);
        size_t kept = length - at < sizeof begin ? length - at : sizeof begin - 1;
        memcpy(begin, found, kept);
        begin[kept] = '\0';
        if (is_start(begin, &rank, &step)) {
            return true;
        }
    }
    return false;
}

static cs_status read_lines(log_reading *g, cs_log_reader *reader, cs_error *err)
{
    bool has_more = true;

    CS_TRY(cs_log_reader_next(reader, &has_more, err));
    while (has_more) {
        CS_TRY(read_line(g, err));
        CS_TRY(cs_log_reader_next(reader, &has_more, err));
    }
    return CS_OK;
}

cs_status cs_stragglar_log_read(const char *text, size_t length, const char *name,
                                const cs_arrival_options *options, cs_arrival_rows *rows,
                                cs_arrival_notes *notes, cs_error *err)
{
    cs_log_reader reader = {0};
    cs_status     status = cs_log_reader_open(&reader, text, length, err);
    log_reading   g      = {.line = &reader.line, .options = options, .rows = rows};

    notes->format = "log of StragglAR";
    if (status == CS_OK) {
        status = read_lines(&g, &reader, err);
    }
    if (status != CS_OK && status != CS_ENOMEM) {
        cs_error_locate(err, name, reader.line.number, reader.line.fault_column);
    }
    cs_log_reader_close(&reader);
    CS_TRY(status);
    if (g.n_torn > 0) {
        cs_text_add(&notes->text, "torn records that are left out: %zu, the first in line %d\n",
                    g.n_torn, g.first_torn);
    }
    cs_text_add(&notes->text, "arrivals come from the AR times: all ranks leave a call together\n");
    return CS_OK;
}
