/* SPDX-License-Identifier: GPL-3.0-or-later */
/* campaign/montecarlo.h -- every scenario of a config over many iterations with random arrivals.
 *
 * All scenarios with the same arrivals, seed and ranks see the same arrivals in iteration i (common
 * random numbers), so that differences between algorithms are taken pair by pair and are sharp.
 * Rows depend on the config and on the options that are marked (*) alone: not on the number of jobs
 * or ranks, nor on how often the program was killed and run again.
 */
#ifndef CS_CAMPAIGN_MONTECARLO_H
#define CS_CAMPAIGN_MONTECARLO_H

#include "base/statistics.h"
#include "campaign/campaign.h"
#include "campaign/samples.h"
#include "cs/build.h"
#include "study/config.h"

/* ---- rows: one scenario over many iterations (montecarlo_row.c) ---- */

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

    char *scenario;    /* canonical JSON; owned */
    char *quantiles_s; /* of exposed_s: a JSON array of numbers, from the least to the largest at
                          equal steps (cs_quantiles_of); owned; NULL: it could not be run */
    char *settings;    /* for people: what sets the row apart beside its columns; owned; NULL:
                          nothing */
    char error[432];   /* why it could not be run; empty: it was */
} cs_montecarlo_row;

extern const cs_column cs_montecarlo_columns[];

/* What stands beside them in a file. */
typedef struct cs_montecarlo_texts {
    const char *exposed_quantiles_s; /* NULL: it could not be run */
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

/* Add `n` rows as an array of objects, one a line: the columns, `exposed_quantiles_s`, the columns
 * of the sweep, then `scenario` and, where it could not be run, `error` (all numbers are null
 * then). Numbers read back exactly.
 */
void cs_montecarlo_json(cs_text *text, const cs_montecarlo_row *rows, size_t n,
                        const cs_extra_columns *swept);

/* Add a line of names and `n` lines. A number that does not exist is an empty field. */
void cs_montecarlo_csv(cs_text *text, const cs_montecarlo_row *rows, size_t n,
                       const cs_extra_columns *swept);

/* Add a table for people: exposed times in us with the half-widths of their intervals; with a
 * column of settings where rows have some. */
void cs_montecarlo_print(cs_text *text, const cs_montecarlo_row *rows, size_t n);

/* ---- the run ---- */

enum { CS_MONTECARLO_MAX_CASES = 100000, CS_MONTECARLO_QUANTILES = 101 };

typedef struct cs_montecarlo_options {
    size_t iterations;       /* (*) per scenario, 1 .. CS_MAX_ITERATIONS; one where nothing is
                                random */
    bool takes_fewer;        /* (*) where a trace taken in order has fewer calls, one iteration for
                                each; otherwise that is an error */
    cs_sampling sampling;    /* (*) */
    double      confidence;  /* (*) of all intervals, in (0, 1) */
    const char *baseline;    /* (*) algorithm; NULL: the first of the config */
    size_t      n_quantiles; /* (*) of every row, >= 2; 0: CS_MONTECARLO_QUANTILES */
    bool        is_first_setting; /* only scenarios with the baseline of the config's first one; the
                                     others count as repeats */
    bool        is_replayed;      /* (*) never use a closed form */
    bool        is_verified;      /* (*) replay and verify every iteration, not the first alone */
    unsigned    jobs;             /* threads; 0 and 1: the calling thread alone */
    cs_ranks   *ranks; /* that share the scenarios, each with so many threads; NULL: alone */
    const char *path;  /* of the file of results; NULL: none is kept */
    bool        accepts_builds; /* go on where another build has written rows into it */

    /* Called by the calling thread from time to time; iterations of all scenarios. NULL: never. */
    void (*progress)(void *user, uint64_t done, uint64_t total);
    void *user;
    /* When it becomes true, no block of iterations is begun any more. NULL: never. */
    const volatile sig_atomic_t *stop;
} cs_montecarlo_options;

typedef struct cs_montecarlo_report {
    cs_montecarlo_row  *rows; /* in the order of the config's scenarios; owned */
    size_t              n_rows;
    cs_campaign_summary count;     /* of the config's scenarios without those that repeat others */
    size_t              n_repeats; /* these: cs_config_repeats() */
    size_t              n_fixed;   /* rows of which one iteration says all, and one was run */
    size_t              failed;    /* rows with an error */
    cs_extra_columns    swept; /* of the rows, one for every key that is swept; their texts are the
                                  config's */
    cs_sweep_columns *columns; /* owned, as `values`: what `swept` points to */
    cs_value         *values;
} cs_montecarlo_report;

/* What must be the same on all ranks, as a number: the config, the options that are marked (*),
 * and whether there is a file. Errors are those of cs_montecarlo_run() that do not depend on what
 * is run. */
CS_MUST_CHECK cs_status cs_montecarlo_fingerprint(const cs_config             *config,
                                                  const cs_montecarlo_options *options,
                                                  uint64_t *fingerprint_p, cs_error *err);

/* All scenarios that do not repeat others; what the file holds is not run again. A scenario that
 * cannot be run is a row with an error. Where the machine or the program fails at a scenario it is
 * left out, and tried again next time. Errors of this function are options out of range, too many
 * scenarios, a baseline that there is not, more iterations than calls of a trace that is taken in
 * order (they would repeat calls, and intervals would count the same call as several), and a
 * scenario that the configuration refuses. On failure the file keeps what was finished, and
 * *report_p is left alone; on CS_OK the caller owns it. A rank that is not 0 works for rank 0,
 * touches no file, tells no progress, and has an empty report. Needs up to 36 bytes an iteration.
 */
CS_MUST_CHECK cs_status cs_montecarlo_run(const cs_config             *config,
                                          const cs_montecarlo_options *options,
                                          cs_montecarlo_report *report_p, cs_error *err);

/* Before the config is freed. `{0}` is allowed. */
void cs_montecarlo_report_free(cs_montecarlo_report *report);

/* Compare iterations of training with those of the baseline, pair by pair. With T and B the mean
 * times, the part 1 - T/B of the time is saved, and so many of the ranks' 24 hours a day: the
 * GPU-hours of StragglAR's Table 2 (8 GPUs and 4.75 %: 9.12). The interval of the ratio is that of
 * the mean of (b - t - (1 - T/B) b) / B over the pairs (b, t). `scratch` has room for samples->n.
 * O(n). Source of the interval: W. G. Cochran, "Sampling Techniques", 1977, section 6.3. */
void cs_training_compare(const cs_samples *samples, const cs_samples *baseline, double confidence,
                         double *scratch, cs_montecarlo_row *row);

#endif
