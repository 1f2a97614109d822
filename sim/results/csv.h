/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/csv.h -- results as comma-separated values: what `--format csv` prints. */
#ifndef CS_RESULTS_CSV_H
#define CS_RESULTS_CSV_H

#include "base/text.h"
#include "cs/result.h"

/* Add the line of column names: the keys of CS_RESULT_MAP in their order, then `options`,
 * `scenario` and `error`. */
CS_API void cs_csv_header(cs_text *text);

/* Add one line. Numbers read back exactly, a number that does not exist is an empty field,
 * booleans are true and false, `options` and `scenario` (NULL: empty) are JSON text;
 * there is no error. */
CS_API void cs_csv_row(cs_text *text, const cs_result *result, const char *scenario);

/* Add names and `n` lines; as cs_results_json(), except that `refusals` is there. */
CS_API void cs_results_csv(cs_text *text, const cs_result *results, const char *const *scenarios,
                           const char *const *refusals, size_t n);

#endif
