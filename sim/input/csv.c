/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "input/csv.h"

#include "base/alloc.h"
#include "base/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

cs_status cs_csv_open(const char *path, size_t most_bytes, cs_csv *csv, cs_error *err)
{
    size_t length = 0;

    *csv = (cs_csv){.path = path};
    CS_TRY(cs_file_read(path, most_bytes, &csv->text, &length, err));
    csv->at = csv->text;
    return strlen(csv->text) == length
               ? CS_OK
               : CS_FAIL(err, CS_EPARSE, "", "is no text: it has a byte of 0");
}

bool cs_csv_line(cs_csv *csv)
{
    while (*csv->at != '\0') {
        size_t length = strcspn(csv->at, "\n"), n = length;
        csv->begin  = csv->at;
        csv->rest   = csv->at;
        csv->column = 0;
        csv->line++;
        csv->at += length + (csv->at[length] == '\n');
        n -= n > 0 && csv->begin[n - 1] == '\r';
        csv->begin[n] = '\0';
        if (n > 0 && csv->begin[0] != '#') {
            return true;
        }
    }
    return false;
}

/* Quotes are taken off, and doubled ones become one. */
cs_status cs_csv_cell(cs_csv *csv, char **cell_p, cs_error *err)
{
    char *from = csv->rest, *to = from;

    *cell_p = from;
    if (from == NULL) {
        return CS_OK;
    }
    csv->column = (int)(from - csv->begin) + 1;
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
    csv->rest = *from == ',' ? from + 1 : NULL;
    *to       = '\0';
    return CS_OK;
}

void cs_csv_locate(const cs_csv *csv, cs_error *err)
{
    cs_error_locate(err, csv->path, csv->line, csv->column);
}

void cs_csv_close(cs_csv *csv)
{
    cs_free(csv->text);
    *csv = (cs_csv){0};
}

bool cs_csv_number(const char *cell, double *number_p)
{
    char  *end;
    double number = strtod(cell, &end);

    if (cell[0] == '\0' || *end != '\0' || !isfinite(number)) {
        return false;
    }
    *number_p = number;
    return true;
}
