/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data of a figure: a CSV whose first line names the columns. Every other line becomes an object
 * {NAME: VALUE}; numbers are numbers, the rest is text. An empty cell is an empty text in a column
 * that has texts, else null, which expressions take for nan. Lines that begin with '#' and empty
 * ones are skipped. */
#include "base/alloc.h"
#include "base/file.h"
#include "figures/figure.h"
#include "input/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BYTES = 16 << 20, MOST_NAMES = 64 };

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

typedef struct reading {
    const char *path;
    char       *at;     /* what has not been read */
    char       *begin;  /* of the line */
    int         line;   /* 1-based */
    int         column; /* of the cell; 0: unknown */
    const char *names[MOST_NAMES];
    size_t      n_names; /* 0: the header has not been seen */
} reading;

/* The next line that counts, without its end; NULL: none. */
static char *next_line(reading *r)
{
    while (*r->at != '\0') {
        size_t length = strcspn(r->at, "\n"), n = length;
        r->begin = r->at;
        r->line++;
        r->at += length + (r->at[length] == '\n');
        n -= n > 0 && r->begin[n - 1] == '\r';
        r->begin[n] = '\0';
        if (n > 0 && r->begin[0] != '#') {
            return r->begin;
        }
    }
    return NULL;
}

/* Take the cell at *rest_p off, which is then behind its comma, or NULL after the last one. Quotes
 * are taken off, and doubled ones become one. */
static cs_status take_cell(reading *r, char **rest_p, char **cell_p, cs_error *err)
{
    char *from = *rest_p, *to = from;

    r->column = (int)(from - r->begin) + 1;
    *cell_p   = from;
    if (*from != '"') {
        from += strcspn(from, ",");
        to = from;
    } else {
        from++;
        while (*from != '\0' && (*from != '"' || from[1] == '"')) {
            from += *from == '"';
            *to++ = *from++;
        }
        if (*from != '"' || (from[1] != ',' && from[1] != '\0')) {
            return CS_FAIL(err, CS_EPARSE, "", "a cell in quotes has no end");
        }
        from++;
    }
    *rest_p = *from == ',' ? from + 1 : NULL;
    *to     = '\0';
    return CS_OK;
}

static cs_status read_header(reading *r, char *line, cs_error *err)
{
    for (char *name = NULL; line != NULL;) {
        CS_TRY(take_cell(r, &line, &name, err));
        if (name[0] == '\0' || name[strspn(name, letters)] != '\0') {
            return CS_FAIL(err, CS_EPARSE, "",
                           "'%.40s' is no name of a column: it is made of letters, digits and '_'",
                           name);
        }
        for (size_t i = 0; i < r->n_names; i++) {
            if (strcmp(r->names[i], name) == 0) {
                return CS_FAIL(err, CS_EPARSE, "", "'%.40s' is there already", name);
            }
        }
        if (r->n_names == MOST_NAMES) {
            return CS_FAIL(err, CS_EPARSE, "", "more than %d columns", MOST_NAMES);
        }
        r->names[r->n_names++] = name;
    }
    return CS_OK;
}

static cs_status make_value(const char *cell, const char *name, json_t **value_p, cs_error *err)
{
    char  *end;
    double number    = strtod(cell, &end);
    bool   is_number = *end == '\0' && isfinite(number);

    if (cell[0] != '\0' && !is_number) {
        return cs_tree_text(cell, name, value_p, err);
    }
    *value_p = is_number && cell[0] != '\0' ? json_real(number) : json_null();
    return *value_p != NULL ? CS_OK : CS_NO_MEMORY(err, "the data of a figure");
}

static cs_status read_row(reading *r, char *line, json_t *row, cs_error *err)
{
    size_t n = 0;

    for (char *cell = NULL; line != NULL; n++) {
        CS_TRY(take_cell(r, &line, &cell, err));
        if (n < r->n_names) {
            json_t *value = NULL;
            CS_TRY(make_value(cell, r->names[n], &value, err));
            if (json_object_set_new(row, r->names[n], value) != 0) {
                return CS_NO_MEMORY(err, "the data of a figure");
            }
        }
    }
    return n == r->n_names
               ? CS_OK
               : CS_FAIL(err, CS_EPARSE, "", "%zu cells where the header has %zu", n, r->n_names);
}

static bool has_text(const json_t *rows, const char *name)
{
    for (size_t i = 0; i < json_array_size(rows); i++) {
        if (json_is_string(json_object_get(json_array_get(rows, i), name))) {
            return true;
        }
    }
    return false;
}

static cs_status fill_texts(const reading *r, json_t *rows, cs_error *err)
{
    for (size_t n = 0; n < r->n_names; n++) {
        size_t n_rows = has_text(rows, r->names[n]) ? json_array_size(rows) : 0;
        for (size_t i = 0; i < n_rows; i++) {
            json_t *row = json_array_get(rows, i);
            if (json_is_null(json_object_get(row, r->names[n])) &&
                json_object_set_new(row, r->names[n], json_string("")) != 0) {
                return CS_NO_MEMORY(err, "the data of a figure");
            }
        }
    }
    return CS_OK;
}

static cs_status read_lines(reading *r, json_t *rows, cs_error *err)
{
    for (char *line = next_line(r); line != NULL; line = next_line(r)) {
        r->column = 0;
        if (r->n_names == 0) {
            CS_TRY(read_header(r, line, err));
            continue;
        }
        json_t *row = json_object();
        if (row == NULL || json_array_append_new(rows, row) != 0) {
            return CS_NO_MEMORY(err, "the data of a figure");
        }
        CS_TRY(read_row(r, line, row, err));
    }
    return json_array_size(rows) > 0
               ? fill_texts(r, rows, err)
               : CS_FAIL(err, CS_EPARSE, "",
                         "has no data: accepted is a CSV whose first line names "
                         "its columns");
}

cs_status cs_figure_read_csv(const char *path, json_t **rows_p, cs_error *err)
{
    char    *text   = NULL;
    size_t   length = 0;
    cs_error wrong  = {0};
    reading  r      = {.path = path};

    *rows_p = NULL;
    CS_TRY(cs_file_read(path, MAX_BYTES, &text, &length, err));
    json_t   *rows   = json_array();
    cs_status status = rows == NULL ? CS_NO_MEMORY(&wrong, "the data of a figure") : CS_OK;
    if (status == CS_OK && strlen(text) != length) {
        status = CS_FAIL(&wrong, CS_EPARSE, "", "is no text: it has a byte of 0");
    }
    r.at   = text;
    status = status == CS_OK ? read_lines(&r, rows, &wrong) : status;
    if (status == CS_OK) {
        *rows_p = rows;
    } else {
        cs_error_locate(&wrong, path, r.line, r.column);
        if (err != NULL && err->status == CS_OK) {
            *err = wrong;
        }
        json_decref(rows);
    }
    cs_free(text);
    return status;
}
