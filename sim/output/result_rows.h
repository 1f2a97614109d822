/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output/result_rows.h -- results as rows: their columns, and what `--format table|json|csv`
 * prints.
 *
 * A scenario that cannot be run is a row, too: it has what is known of it, and the reason.
 */
#ifndef CS_OUTPUT_RESULT_ROWS_H
#define CS_OUTPUT_RESULT_ROWS_H

#include "base/column.h"
#include "cs/algorithm.h"
#include "cs/model.h"
#include "cs/result.h"
#include "output/store.h"

/* Of a cs_result. */
extern const cs_column cs_result_columns[];

/* What stands beside them in a file of results; NULL is nothing. */
typedef struct cs_result_texts {
    const char *options;  /* JSON, as resolved */
    const char *scenario; /* canonical JSON, which identifies the row */
    const char *error;    /* why it could not be run, or how its schedule is wrong */
} cs_result_texts;

/* Those of a result; `reason`: why the scenario could not be run, NULL where it was. They point to
 * the arguments and to `options`, an empty text that the caller frees. */
CS_MUST_CHECK cs_status cs_result_texts_of(const cs_result *result, const char *scenario,
                                           const char *reason, cs_text *options,
                                           cs_result_texts *texts_p, cs_error *err);

/* Files of results: their table is `results`. */
extern const cs_store_table cs_results_table;

/* Add the options of a table as one object, every value as resolved: numbers and booleans as
 * they are, words as strings. Without a table: `{}`. */
void cs_options_json(cs_text *text, const cs_field *table, const void *options);

/* Was the schedule checked and found wrong? (Not verified alone may also mean: not checked.) */
bool cs_result_is_wrong(const cs_result *result);

/* What is known of a scenario that was not run: what it asked for, or nothing (`algorithm` NULL)
 * where it could not even be built; and the build that refused it. What is not known is NULL, 0 or
 * NAN; flags are never known. */
cs_result cs_refused_result(const cs_scenario *scenario, const cs_algorithm *algorithm,
                            const cs_model *model);

/* What `--format` prints: `n` results with the scenario of each, and the columns of the sweep.
 * Where `refusals` has a reason, the scenario could not be run, and its result holds what is known
 * of it. Borrowed. */
typedef struct cs_result_rows {
    const cs_result   *results;
    const char *const *scenarios, *const *refusals; /* [n] */
    cs_extra_columns extra;
    size_t           n;
    /* [n] further keys, each behind a comma, with their values as JSON: what links counted, what
     * was decided. NULL: none. NULL: of no row */
    const char *const *blocks;
} cs_result_rows;

/* Add the object of a row: the columns, then `options` and `model_options`, and, when the schedule
 * was found wrong, `wrong` with the first wrong rank, chunk and round (null where unknown) and a
 * sentence; and the blocks: `counters`, where links were counted, and `decisions`, where a
 * coordinator decided. Then come the columns of the sweep, and `scenario`, the JSON text of an
 * object that says what was run, unless it is NULL. Of a scenario that could not be run what is not
 * known is null, and `error` is the last key. */
void cs_result_json(cs_text *text, const cs_result_rows *rows, size_t index);

/* Add all of them as an array, one object a line, with a newline at the end. */
void cs_results_json(cs_text *text, const cs_result_rows *rows);

/* Add the line of names: the columns, `options`, the columns of the sweep, `scenario` and `error`.
 * Then a line for each row. */
void cs_results_csv(cs_text *text, const cs_result_rows *rows);

/* ---- the table of nccl-tests (nccl_table.c) ---- */

/* Add one table: head, `n` rows, what nccl-tests cannot say (elapsed time, bound, gap, closed
 * form), and the closing lines. Lines that do not begin with '#' are rows exactly as nccl-tests
 * prints them, so that its parsers read them; what nccl-tests does not know stands in comment
 * lines. The results share algorithm, model and everything of `scenario` but the size. The time
 * column is `exposed_s`, from which the bandwidths are computed; both halves of a row are equal,
 * because simulated time does not depend on where the result goes. `#wrong` is 0 for a verified
 * schedule, 1 for a wrong one, N/A for one that was not checked. */
void cs_results_nccl_table(cs_text *text, const cs_result *results, size_t n,
                           const cs_scenario *scenario);

#endif
