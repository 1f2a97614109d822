/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/columns.h -- one value of a map of columns X(type, key) (cs/result.h) as JSON or in a
 * CSV: a writer for every type, picked by the type's name. Numbers read back exactly; what does not
 * exist is null in JSON and an empty field in a CSV. Columns beside those of a map are written by
 * the types of their values. */
#ifndef CS_RESULTS_COLUMNS_H
#define CS_RESULTS_COLUMNS_H

#include "base/text.h"
#include "base/value.h"

#include <stdbool.h>
#include <stdint.h>

void cs_json_TEXT(cs_text *text, const char *value);
void cs_json_COUNT(cs_text *text, uint64_t value);
void cs_json_REAL(cs_text *text, double value);
void cs_json_BOOL(cs_text *text, bool value);

void cs_csv_TEXT(cs_text *text, const char *value);
void cs_csv_COUNT(cs_text *text, uint64_t value);
void cs_csv_REAL(cs_text *text, double value);
void cs_csv_BOOL(cs_text *text, bool value);

/* `, "NAME": VALUE` for every column of row `row`. */
void cs_json_extra(cs_text *text, const cs_extra_columns *extra, size_t row);

/* Every name, or every value of row `row`, with a comma behind it. */
void cs_csv_extra_names(cs_text *text, const cs_extra_columns *extra);
void cs_csv_extra(cs_text *text, const cs_extra_columns *extra, size_t row);

#endif
