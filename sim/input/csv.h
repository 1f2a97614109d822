/* SPDX-License-Identifier: GPL-3.0-or-later */
/* input/csv.h -- the lines and cells of a CSV (RFC 4180, a line a record). Lines that begin with
 * '#' and empty ones are skipped.
 */
#ifndef CS_INPUT_CSV_H
#define CS_INPUT_CSV_H

#include "cs/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct cs_csv {
    const char *path;   /* borrowed */
    char       *text;   /* owned; lines and cells are cut out of it */
    char       *at;     /* what has not been read */
    char       *begin;  /* of the line */
    char       *rest;   /* of it; NULL: all cells were read */
    int         line;   /* 1-based */
    int         column; /* of the last cell; 0: none */
} cs_csv;

/* Read a file of at most `most_bytes`; cs_csv_close() it, also after an error. */
CS_MUST_CHECK cs_status cs_csv_open(const char *path, size_t most_bytes, cs_csv *csv,
                                    cs_error *err);

/* Go to the next line that counts; false: there is none. */
bool cs_csv_line(cs_csv *csv);

/* The next cell of the line, without its quotes, valid until cs_csv_close(); NULL after the last
 * one. CS_EPARSE where quotes have no end. */
CS_MUST_CHECK cs_status cs_csv_cell(cs_csv *csv, char **cell_p, cs_error *err);

/* Give an error the place where the reading is. */
void cs_csv_locate(const cs_csv *csv, cs_error *err);

void cs_csv_close(cs_csv *csv);

/* Is the cell a finite number, and nothing else? */
bool cs_csv_number(const char *cell, double *number_p);

#endif
