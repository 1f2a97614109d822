/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A line is cut into cells at commas or bars; the header says what each cell means. */
#include "traces/arrival_formats.h"

#include "base/column.h"
#include "cs/cluster.h"
#include "cs/units.h"
#include "traces/log_line.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_COLUMNS = 64, CELL_BYTES = 96 };

typedef enum meaning { UNUSED, ITERATION, RANK, ARRIVAL, INSIDE, QUEUED, BYTES, MEANINGS } meaning;

static const char *const meaning_names[] = {"",         "iteration", "rank", "arrival_s",
                                            "inside_s", "queued_s",  "bytes"};

static const struct {
    const char *name;
    meaning     meaning;
} known_names[] = {
    {"iteration", ITERATION}, {"step", ITERATION},      {"call", ITERATION}, {"rank", RANK},
    {"arrival", ARRIVAL},     {"arrival gap", ARRIVAL}, {"inside", INSIDE},  {"ar kernel", INSIDE},
    {"queued", QUEUED},       {"bytes", BYTES},
};

/* Ends of a column's name that say a unit. */
static const struct {
    const char *end, *unit;
} units[] = {
    {"_s", ""},
    {"_ms", "ms"},
    {"_us", "us"},
    {"_ns", "ns"},
    {" (s)", ""},
    {" (ms)", "ms"},
    {" (us)", "us"},
    {" (ns)", "ns"},
    {" (\xc2\xb5s)", "us"},
    {" (\xce\xbcs)", "us"},
};

typedef struct column {
    meaning     meaning;
    const char *unit; /* to be put behind bare numbers */
} column;

/* One cell: text without blanks and quotes around it. */
typedef struct cell {
    char text[CELL_BYTES];
    int  column; /* 1-based, in the file */
    bool is_cut; /* longer than any accepted one */
} cell;

/* How finely the times of a column are given. */
typedef struct fineness {
    double unit_s; /* of the last digit, the finest of all times but 0; 0: there is none */
    double largest_s;
} fineness;

typedef struct table {
    cs_log_reader reader;
    char          separator; /* 0: the header has not been seen */
    column        columns[MAX_COLUMNS];
    cell          cells[MAX_COLUMNS];
    size_t        n_columns;
    bool          has[MEANINGS];
    fineness      fineness[MEANINGS];
} table;

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static void take_cell(const char *text, size_t begin, size_t end, cell *out)
{
    while (begin < end && is_blank(text[begin])) {
        begin++;
    }
    while (end > begin && is_blank(text[end - 1])) {
        end--;
    }
    out->column = (int)begin + 1;
    if (end - begin >= 2 && text[begin] == '"' && text[end - 1] == '"') {
        begin++;
        end--;
    }
    out->is_cut = end - begin >= sizeof out->text;
    end         = out->is_cut ? begin + sizeof out->text - 1 : end;
    memcpy(out->text, text + begin, end - begin);
    out->text[end - begin] = '\0';
}

/* Cut a line; returns the number of cells, of which at most MAX_COLUMNS are kept. */
static size_t cut(table *t, const char *text)
{
    size_t begin = 0, end = strlen(text), count = 0;

    while (end > 0 && is_blank(text[end - 1])) {
        end--;
    }
    if (t->separator == '|') {
        while (is_blank(text[begin])) {
            begin++;
        }
        begin += text[begin] == '|';
        end -= end > begin && text[end - 1] == '|';
    }
    for (size_t at = begin; at <= end; at++) {
        if (at == end || text[at] == t->separator) {
            if (count < MAX_COLUMNS) {
                take_cell(text, begin, at, &t->cells[count]);
            }
            count++;
            begin = at + 1;
        }
    }
    return count;
}

/* Take the unit off the end of a name. */
static const char *strip_unit(char *name)
{
    size_t length = strlen(name);

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t end = strlen(units[i].end);
        if (length > end && strcmp(name + length - end, units[i].end) == 0) {
            name[length - end] = '\0';
            return units[i].unit;
        }
    }
    return "";
}

static void note_unused(const cell *c, cs_arrival_notes *notes)
{
    char text[CELL_BYTES];

    cs_plain_text(text, sizeof text, c->text);
    cs_text_add(&notes->text, "column '%s' is not used\n", text);
}

static cs_status name_column(table *t, size_t index, cs_arrival_notes *notes, cs_error *err)
{
    const cell *c   = &t->cells[index];
    column     *out = &t->columns[index];
    char        name[CELL_BYTES];

    memcpy(name, c->text, sizeof name);
    for (char *at = name; *at != '\0'; at++) {
        *at = (char)tolower((unsigned char)*at);
    }
    *out = (column){UNUSED, strip_unit(name)};
    for (size_t i = 0; i < sizeof known_names / sizeof known_names[0]; i++) {
        if (strcmp(name, known_names[i].name) == 0) {
            out->meaning = known_names[i].meaning;
        }
    }
    if (out->meaning == UNUSED) {
        note_unused(c, notes);
        return CS_OK;
    }
    if (t->has[out->meaning]) {
        t->reader.line.fault_column = c->column;
        return CS_FAIL(err, CS_EPARSE, meaning_names[out->meaning], "a second column of that kind");
    }
    t->has[out->meaning] = true;
    return CS_OK;
}

static cs_status read_header(table *t, cs_arrival_notes *notes, cs_error *err)
{
    const char *text = t->reader.line.text;

    t->separator = text[strspn(text, " \t")] == '|' ? '|' : ',';
    t->n_columns = cut(t, text);
    if (t->n_columns > MAX_COLUMNS) {
        return CS_FAIL(err, CS_EPARSE, "", "%zu columns: accepted are at most %d", t->n_columns,
                       MAX_COLUMNS);
    }
    for (size_t i = 0; i < t->n_columns; i++) {
        CS_TRY(name_column(t, i, notes, err));
    }
    if (!t->has[RANK] || !(t->has[ARRIVAL] || t->has[INSIDE]) ||
        !(t->has[ITERATION] || t->separator == '|')) {
        t->reader.line.fault_column = 1;
        return CS_FAIL(err, CS_EPARSE, "",
                       "not a trace of arrivals: accepted are a table whose first line is "
                       "iteration,rank,arrival_s (or inside_s; and bytes), a log of StragglAR, and "
                       "JSON traces");
    }
    notes->format = t->separator == '|' ? "markdown table" : "table (CSV)";
    return CS_OK;
}

/* Make a time the unit of its last digit: "4.48ms" becomes "0.01ms". */
static void keep_last_digit(char *text)
{
    char *last = NULL;

    for (; isdigit((unsigned char)*text) || *text == '.'; text++) {
        if (*text != '.') {
            *text = '0';
            last  = text;
        }
    }
    if (last != NULL) {
        *last = '1';
    }
}

/* A time; a unit of the column goes behind a bare number. */
static cs_status read_time(table *t, const cell *c, const column *col, double *time_s_p,
                           cs_error *err)
{
    char        text[CELL_BYTES + 4];
    const char *where  = meaning_names[col->meaning];
    fineness   *fine   = &t->fineness[col->meaning];
    double      unit_s = 0;
    size_t      length = strlen(c->text);

    memcpy(text, c->text, length);
    memcpy(text + length, col->unit, strlen(col->unit) + 1); /* at most 2 characters */
    CS_TRY(cs_parse_time(text, time_s_p, where, err));
    if (*time_s_p == 0) { /* 0 may be exact, whatever its digits */
        return CS_OK;
    }
    keep_last_digit(text);
    if (cs_parse_time(text, &unit_s, where, NULL) == CS_OK && unit_s > 0) {
        fine->unit_s = fine->unit_s > 0 ? fmin(fine->unit_s, unit_s) : unit_s;
    }
    fine->largest_s = fmax(fine->largest_s, *time_s_p);
    return CS_OK;
}

/* Two ends of a call, each an arrival and a time inside, differ by so much for rounding alone:
 * every time by half a unit of its last digit, and by what a double of its size holds. */
static double end_resolution_s(const table *t)
{
    const fineness *arrival = &t->fineness[ARRIVAL], *inside = &t->fineness[INSIDE];
    double          largest_s = fmax(arrival->largest_s, inside->largest_s);

    return arrival->unit_s + inside->unit_s +
           4 * (nextafter(largest_s, (double)INFINITY) - largest_s);
}

static cs_status read_cell(table *t, const cell *c, const column *col, cs_arrival_row *row,
                           cs_error *err)
{
    const char *where  = meaning_names[col->meaning];
    uint64_t    number = 0;

    if (col->meaning == UNUSED) {
        return CS_OK;
    }
    if (c->is_cut || c->text[0] == '\0') {
        return CS_FAIL(err, CS_EPARSE, where, c->is_cut ? "is too long" : "is empty");
    }
    switch (col->meaning) {
    case ITERATION:
        return cs_parse_integer(c->text, 0, UINT64_MAX >> 1, &row->iteration, where, err);
    case RANK:
        CS_TRY(cs_parse_integer(c->text, 0, CS_MAX_RANKS - 1, &number, where, err));
        row->rank = (uint32_t)number;
        return CS_OK;
    case ARRIVAL: return read_time(t, c, col, &row->arrival_s, err);
    case INSIDE: return read_time(t, c, col, &row->inside_s, err);
    case QUEUED: return read_time(t, c, col, &row->queued_s, err);
    case BYTES:
        CS_TRY(cs_parse_bytes(c->text, &row->bytes, where, err));
        return row->bytes > 0 ? CS_OK
                              : CS_FAIL(err, CS_EINVAL, where, "0 is not the size of a call");
    case UNUSED:
    case MEANINGS: break;
    }
    return CS_OK;
}

static cs_status read_row(table *t, cs_arrival_rows *rows, cs_error *err)
{
    cs_log_line   *line  = &t->reader.line;
    cs_arrival_row row   = {.line      = line->number,
                            .arrival_s = (double)NAN,
                            .inside_s  = (double)NAN,
                            .queued_s  = (double)NAN,
                            .period_s  = (double)NAN};
    size_t         count = cut(t, line->text);

    if (count != t->n_columns) {
        size_t last        = count < t->n_columns ? count - 1 : t->n_columns;
        line->fault_column = last < MAX_COLUMNS ? t->cells[last].column : 0;
        return CS_FAIL(err, CS_EPARSE, "",
                       "%zu cells where the header has %zu: torn, or two "
                       "records on one line",
                       count, t->n_columns);
    }
    row.column = t->cells[0].column;
    for (size_t i = 0; i < count; i++) {
        line->fault_column = t->cells[i].column;
        CS_TRY(read_cell(t, &t->cells[i], &t->columns[i], &row, err));
    }
    return cs_arrival_rows_add(rows, &row, err);
}

/* The line |---|---:| below a header. */
static bool is_rule(const table *t)
{
    const char *text = t->reader.line.text;

    return t->separator == '|' && strchr(text, '-') != NULL && text[strspn(text, " \t|:-")] == '\0';
}

static cs_status read_lines(table *t, cs_arrival_rows *rows, cs_arrival_notes *notes, cs_error *err)
{
    bool has_more = true;

    CS_TRY(cs_log_reader_next(&t->reader, &has_more, err));
    while (has_more) {
        const bool is_blank = t->reader.line.n_tokens == 0 || t->reader.line.is_comment;
        if (!is_blank && t->separator == 0) {
            CS_TRY(read_header(t, notes, err));
        } else if (!is_blank && !is_rule(t)) {
            CS_TRY(read_row(t, rows, err));
        }
        CS_TRY(cs_log_reader_next(&t->reader, &has_more, err));
    }
    if (t->separator == 0) {
        t->reader.line.number = 0;
        return CS_FAIL(err, CS_EPARSE, "", "is empty: accepted are traces of arrivals");
    }
    return CS_OK;
}

cs_status cs_arrival_table_read(const char *text, size_t length, const char *name,
                                cs_arrival_rows *rows, cs_arrival_notes *notes, cs_error *err)
{
    table     t      = {0};
    cs_status status = cs_log_reader_open(&t.reader, text, length, err);

    if (status == CS_OK) {
        status = read_lines(&t, rows, notes, err);
    }
    notes->end_resolution_s = end_resolution_s(&t);
    if (status != CS_OK && status != CS_ENOMEM) {
        cs_error_locate(err, name, t.reader.line.number, t.reader.line.fault_column);
    }
    cs_log_reader_close(&t.reader);
    return status;
}

/* A rank in a call; the last two where the trace knows them. */
typedef struct entry {
    uint64_t iteration;
    uint32_t rank;
    double   arrival_s, inside_s, queued_s;
    uint64_t bytes;
} entry;

static const cs_column arrival_columns[] = {CS_COLUMN(entry, iteration), CS_COLUMN(entry, rank),
                                            CS_COLUMN(entry, arrival_s), CS_COLUMN_END};
static const cs_column inside_columns[]  = {CS_COLUMN(entry, inside_s), CS_COLUMN_END};
static const cs_column queued_columns[]  = {CS_COLUMN(entry, queued_s), CS_COLUMN_END};
static const cs_column bytes_columns[]   = {CS_COLUMN(entry, bytes), CS_COLUMN_END};
static const cs_column no_columns[]      = {CS_COLUMN_END};

void cs_arrival_table_write(const cs_arrival_trace *trace, cs_text *text)
{
    const cs_column *inside = trace->inside_s != NULL ? inside_columns : no_columns;
    const cs_column *queued = trace->queued_s != NULL ? queued_columns : no_columns;
    const cs_column *bytes  = trace->bytes != NULL ? bytes_columns : no_columns;

    cs_csv_keys(text, arrival_columns);
    cs_csv_keys(text, inside);
    cs_csv_keys(text, queued);
    cs_csv_keys(text, bytes);
    cs_csv_end(text);
    for (size_t i = 0; i < trace->n_calls * trace->n_ranks; i++) {
        size_t      call = i / trace->n_ranks;
        const entry e    = {.iteration = call,
                            .rank      = (uint32_t)(i % trace->n_ranks),
                            .arrival_s = trace->arrival_s[i],
                            .inside_s  = trace->inside_s != NULL ? trace->inside_s[i] : 0,
                            .queued_s  = trace->queued_s != NULL ? trace->queued_s[i] : 0,
                            .bytes     = trace->bytes != NULL ? trace->bytes[call] : 0};
        cs_csv_row(text, &(cs_row){arrival_columns, &e, false});
        cs_csv_row(text, &(cs_row){inside, &e, false});
        cs_csv_row(text, &(cs_row){queued, &e, false});
        cs_csv_row(text, &(cs_row){bytes, &e, false});
        cs_csv_end(text);
    }
}
