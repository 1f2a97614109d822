/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/refused.h -- a scenario that cannot be run, as a row among results. */
#ifndef CS_RESULTS_REFUSED_H
#define CS_RESULTS_REFUSED_H

#include "cs/algorithm.h"
#include "cs/model.h"
#include "results/json.h"

/* What is known of a scenario that was not run: what it asked for, or nothing (`algorithm` NULL)
 * where it could not even be built; and the build that refused it. What is not known is NULL, 0 or
 * NAN; no flag is known. */
CS_API cs_result cs_refused_result(const cs_scenario *scenario, const cs_algorithm *algorithm,
                                   const cs_model *model);

/* Is the value of a refused scenario's column known? By the type of the column. */
#define CS_IS_KNOWN_TEXT(value)  ((value) != NULL)
#define CS_IS_KNOWN_COUNT(value) ((value) != 0)
#define CS_IS_KNOWN_REAL(value)  isfinite(value)
#define CS_IS_KNOWN_BOOL(value)  ((void)(value), false)

/* Add the object of row `row`: the keys of a result, null for what is not known, and `error`. */
CS_API void cs_refused_json(cs_text *text, const cs_result_rows *rows, size_t row);

/* Add its line: empty for what is not known; `error` is the last column. */
CS_API void cs_refused_csv(cs_text *text, const cs_result_rows *rows, size_t row);

#endif
