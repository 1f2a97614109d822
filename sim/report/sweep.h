/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report/sweep.h -- results as settings times algorithms: what the page moves through.
 *
 * A setting is what is the same for the algorithms that are compared: a value of every dim. A dim
 * is an input that varies. Of several rows of one algorithm in one setting (its options differ) the
 * fastest counts.
 */
#ifndef CS_REPORT_SWEEP_H
#define CS_REPORT_SWEEP_H

#include "report/data.h"
#include "report/quantity.h"

enum { CS_SWEEP_MOST_DIMS = 6, CS_SWEEP_MOST_CELLS = 60000 };

typedef struct cs_sweep_dim {
    const char  *name, *label;
    cs_quantity  unit;
    size_t       n;
    double      *values; /* [n] ascending; of words: none */
    const char **words;  /* [n] of words, in the order of their first rows; else NULL */
} cs_sweep_dim;

/* `{0}` may be freed. Texts are the data's or the arena's. */
typedef struct cs_sweep {
    const cs_data
        *data; /* borrowed, as the columns that every cell is asked for; NULL: not there */
    const cs_data_column *exposed, *elapsed, *bound, *error, *wrong, *verified;
    cs_sweep_dim          dims[CS_SWEEP_MOST_DIMS];
    size_t                n_dims;
    const char          **algorithms; /* [n_algorithms] in the order of their first rows */
    size_t                n_algorithms, n_settings;
    uint32_t             *index;        /* [n_settings][n_dims] places of values; settings ascend */
    uint32_t             *rows;         /* [n_settings][n_algorithms] row + 1; 0: none */
    size_t                n_left_out;   /* settings that were thinned away */
    char                  thinned[160]; /* how, in words; "" where none was */
    cs_arena              arena;
} cs_sweep;

/* Sort rows into settings. Beyond `most_cells` cells every second value of the longest dim of
 * numbers goes, until the rest fits. CS_EINVAL where more than CS_SWEEP_MOST_DIMS inputs vary, or
 * there is no column of exposed times. O(rows log rows). */
CS_MUST_CHECK cs_status cs_sweep_make(const cs_data *data, size_t most_cells, cs_sweep *sweep,
                                      cs_error *err);

/* Of a cell, the value of a column of the data; NAN: no row, or none there. */
double cs_sweep_at(const cs_sweep *sweep, size_t setting, size_t algorithm,
                   const cs_data_column *column);

/* Was a scenario run, and is it known to be right? */
typedef enum cs_cell_state {
    CS_CELL_NONE,
    CS_CELL_VERIFIED,
    CS_CELL_RUN,   /* not verified */
    CS_CELL_FAILED /* wrong, or refused: cs_sweep_error() */
} cs_cell_state;
cs_cell_state cs_sweep_state(const cs_sweep *sweep, size_t setting, size_t algorithm);
const char   *cs_sweep_error(const cs_sweep *sweep, size_t setting, size_t algorithm);

/* The value of a dim in a setting, in words: "1 GiB", "none". */
void cs_sweep_text(const cs_sweep_dim *dim, size_t place, char *text, size_t bytes);

/* The setting that is shown first: the nearest that is there to "NAME=VALUE,NAME=VALUE" in
 * `wanted` (NULL: nothing is), and where that says nothing, of sizes and delays to a large one, of
 * words to the last, of others to the middle. CS_EINVAL where a name is no dim, or the value none.
 */
CS_MUST_CHECK cs_status cs_sweep_choose(const cs_sweep *sweep, const char *wanted,
                                        size_t *setting_p, cs_error *err);

void cs_sweep_free(cs_sweep *sweep);

#endif
