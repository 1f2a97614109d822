/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/csv.h -- results as comma-separated values: what `--format csv` prints. */
#ifndef CS_RESULTS_CSV_H
#define CS_RESULTS_CSV_H

#include "base/text.h"
#include "cs/result.h"

/* Add the line of column names: the keys of CS_RESULT_MAP in their order, then `options` and
 * `scenario`. */
CS_API void cs_csv_header(cs_text *text);

/* Add one line. Numbers read back exactly, a number that does not exist is an empty field,
 * booleans are true and false, `options` and `scenario` (NULL: empty) are JSON text. */
CS_API void cs_csv_row(cs_text *text, const cs_result *result, const char *scenario);

#endif
