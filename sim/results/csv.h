/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/csv.h -- results as comma-separated values: what `--format csv` prints. */
#ifndef CS_RESULTS_CSV_H
#define CS_RESULTS_CSV_H

#include "results/json.h"

/* Add the line of column names: the keys of CS_RESULT_MAP in their order, then `options`, the
 * columns of the sweep, `scenario` and `error`. Then a line for each row: numbers read back
 * exactly, a number that does not exist is an empty field, booleans are true and false, `options`
 * and `scenario` (NULL: empty) are JSON text. */
CS_API void cs_results_csv(cs_text *text, const cs_result_rows *rows);

#endif
