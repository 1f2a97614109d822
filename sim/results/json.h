/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/json.h -- results as JSON: what `--format json` prints. */
#ifndef CS_RESULTS_JSON_H
#define CS_RESULTS_JSON_H

#include "base/text.h"
#include "base/value.h"
#include "cs/result.h"

/* Add the options of a table as one object, every value as resolved: numbers and booleans as
 * they are, words as strings. Without a table: `{}`. */
CS_API void cs_options_json(cs_text *text, const cs_field *table, const void *options);

/* What `--format` prints: `n` results with the scenario of each, and the columns of the sweep.
 * Where `refusals` has a reason, the scenario could not be run, its result holds what is known of
 * it, and it is an object of results/refused.h. Borrowed. */
typedef struct cs_result_rows {
    const cs_result   *results;
    const char *const *scenarios, *const *refusals; /* [n] */
    cs_extra_columns extra;
    size_t           n;
} cs_result_rows;

/* Add an array, one object a line, with a newline at the end: the keys of CS_RESULT_MAP in their
 * order, then `options` and `model_options`, and, when the schedule was found wrong, `wrong` with
 * the first wrong rank, chunk and round (null where unknown) and a sentence. Then come the columns
 * of the sweep, and `scenario`, the JSON text of an object that says what was run, unless it is
 * NULL. Numbers read back exactly; NAN is null. */
CS_API void cs_results_json(cs_text *text, const cs_result_rows *rows);

/* Was the schedule checked and found wrong? (Not verified alone may also mean: not checked.) */
CS_API bool cs_result_is_wrong(const cs_result *result);

#endif
