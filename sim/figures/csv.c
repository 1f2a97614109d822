/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data of a figure: a CSV whose first line names the columns. Every other line becomes an object
 * {NAME: VALUE}; numbers are numbers, the rest is text. An empty cell is an empty text in a column
 * that has texts, else null, which expressions take for nan. Lines that begin with '#' and empty
 * ones are skipped. */
#include "input/csv.h"
#include "base/alloc.h"
#include "figures/figure.h"
#include "input/tree.h"

#include <string.h>

enum { MAX_BYTES = 16 << 20, MOST_NAMES = 64 };

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

typedef struct reading {
    cs_csv      csv;
    const char *names[MOST_NAMES];
    size_t      n_names; /* 0: the header has not been seen */
} reading;

static cs_status read_header(reading *r, cs_error *err)
{
    for (;;) {
        char *name = NULL;
        CS_TRY(cs_csv_cell(&r->csv, &name, err));
        if (name == NULL) {
            return CS_OK;
        }
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
}

static cs_status make_value(const char *cell, const char *name, json_t **value_p, cs_error *err)
{
    double number    = 0;
    bool   is_number = cs_csv_number(cell, &number);

    if (cell[0] != '\0' && !is_number) {
        return cs_tree_text(cell, name, value_p, err);
    }
    *value_p = is_number ? json_real(number) : json_null();
    return *value_p != NULL ? CS_OK : CS_NO_MEMORY(err, "the data of a figure");
}

static cs_status read_row(reading *r, json_t *row, cs_error *err)
{
    size_t n    = 0;
    char  *cell = NULL;

    CS_TRY(cs_csv_cell(&r->csv, &cell, err));
    for (; cell != NULL; n++) {
        if (n < r->n_names) {
            json_t *value = NULL;
            CS_TRY(make_value(cell, r->names[n], &value, err));
            if (json_object_set_new(row, r->names[n], value) != 0) {
                return CS_NO_MEMORY(err, "the data of a figure");
            }
        }
        CS_TRY(cs_csv_cell(&r->csv, &cell, err));
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
    while (cs_csv_line(&r->csv)) {
        if (r->n_names == 0) {
            CS_TRY(read_header(r, err));
            continue;
        }
        json_t *row = json_object();
        if (row == NULL || json_array_append_new(rows, row) != 0) {
            return CS_NO_MEMORY(err, "the data of a figure");
        }
        CS_TRY(read_row(r, row, err));
    }
    return json_array_size(rows) > 0
               ? fill_texts(r, rows, err)
               : CS_FAIL(err, CS_EPARSE, "",
                         "has no data: accepted is a CSV whose first line names "
                         "its columns");
}

cs_status cs_figure_read_csv(const char *path, json_t **rows_p, cs_error *err)
{
    cs_error  wrong   = {0};
    reading   r       = {.n_names = 0};
    json_t   *rows    = NULL;
    cs_status status  = cs_csv_open(path, MAX_BYTES, &r.csv, &wrong);
    bool      is_open = r.csv.text != NULL;

    *rows_p = NULL;
    if (status == CS_OK) {
        rows   = json_array();
        status = rows == NULL ? CS_NO_MEMORY(&wrong, "the data of a figure")
                              : read_lines(&r, rows, &wrong);
    }
    if (status == CS_OK) {
        *rows_p = rows;
    } else {
        if (is_open) {
            cs_csv_locate(&r.csv, &wrong);
        }
        if (err != NULL && err->status == CS_OK) {
            *err = wrong;
        }
        json_decref(rows);
    }
    cs_csv_close(&r.csv);
    return status;
}
