/* SPDX-License-Identifier: GPL-3.0-or-later */
/* campaign/montecarlo_row.h -- one scenario over many iterations with random arrivals: the
 * columns of such rows, and what `--format` prints.
 */
#ifndef CS_MONTECARLO_ROW_H
#define CS_MONTECARLO_ROW_H

#include "base/column.h"
#include "base/statistics.h"
#include "cs/build.h"
#include "output/store.h"

enum { CS_ROW_TEXT_BYTES = CS_BUILD_BYTES };

/* A number that does not exist is NAN, such a text is empty. Down to `build` the members are
 * columns, of `elapsed_s`, `exposed_s` and `saved_s` with all that is known of their spread.
 *
 * Of training (sim/doc/training.md; else null, `calls` is 1): `elapsed_s` is the time of an
 * iteration, `bytes` are those of all its calls. */
typedef struct cs_montecarlo_row {
    char      algorithm[CS_ROW_TEXT_BYTES];
    char      collective[CS_ROW_TEXT_BYTES];
    char      model[CS_ROW_TEXT_BYTES];
    uint64_t  ranks, bytes, gpus_per_server;
    char      workload[CS_ROW_TEXT_BYTES];
    uint64_t  calls;
    double    compute_s, overlap_ratio, tail_s;
    char      prediction[CS_ROW_TEXT_BYTES];
    char      fallback[CS_ROW_TEXT_BYTES];
    uint64_t  iterations;
    char      sampling[CS_ROW_TEXT_BYTES];
    double    confidence; /* of all intervals */
    double    last_arrival_mean_s;
    cs_spread elapsed_s, exposed_s;
    double    hit_ratio; /* how often the presumed rank was last, of algorithms that presume one */
    double    fallback_ratio; /* how often the fallback ran */
    char      baseline[CS_ROW_TEXT_BYTES];
    cs_spread saved_s;     /* exposed time of the baseline in the same iteration less the own one;
                              only its mean and deviation are columns */
    double      win_ratio; /* how often that was more than nothing */
    double      speedup;   /* ratio of the mean exposed times */
    double      exposed_ratio; /* of training: mean exposed time as a part of the mean iteration */
    double      iteration_speedup; /* ... ratio of the mean iterations */
    cs_estimate saved_ratio;       /* ... part of the baseline's iterations that is saved */
    cs_estimate gpu_hours_per_day; /* ... that of ranks x 24 h */
    uint64_t    replays;           /* calls that were replayed, not computed in closed form */
    bool        verified;
    char        build[CS_ROW_TEXT_BYTES];

    char *scenario;  /* canonical JSON; owned */
    char *settings;  /* for people: what sets the row apart beside its columns; owned; NULL:
                        nothing */
    char error[432]; /* why it could not be run; empty: it was */
} cs_montecarlo_row;

extern const cs_column cs_montecarlo_columns[];

/* What stands beside them in a file. */
typedef struct cs_montecarlo_texts {
    const char *scenario;
    const char *run; /* JSON of all that the row depends on (the scenario, the baseline's, how many
                        iterations, ..), which identifies it */
    const char *error; /* NULL: none */
} cs_montecarlo_texts;

/* Files of such rows: their table is `montecarlo`. */
extern const cs_store_table cs_montecarlo_table;

/* A row of which nothing is known: every number that may be missing is. */
cs_montecarlo_row cs_montecarlo_row_unknown(void);

/* `{0}` is allowed. */
void cs_montecarlo_row_free(cs_montecarlo_row *row);

/* Add `n` rows as an array of objects, one a line: the columns, those of the sweep, then `scenario`
 * and, where it could not be run, `error` (all numbers are null then). Numbers read back exactly.
 */
void cs_montecarlo_json(cs_text *text, const cs_montecarlo_row *rows, size_t n,
                        const cs_extra_columns *swept);

/* Add a line of names and `n` lines. A number that does not exist is an empty field. */
void cs_montecarlo_csv(cs_text *text, const cs_montecarlo_row *rows, size_t n,
                       const cs_extra_columns *swept);

/* Add a table for people: exposed times in us with the half-widths of their intervals; with a
 * column of settings where rows have some. */
void cs_montecarlo_print(cs_text *text, const cs_montecarlo_row *rows, size_t n);

#endif
