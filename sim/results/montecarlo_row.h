/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/montecarlo_row.h -- one scenario over many iterations with random arrivals.
 *
 * The rows of CS_MONTECARLO_MAP are the keys of the JSON object, the columns of the CSV and of
 * the SQLite table `montecarlo`, in this order. A number that does not exist is NAN.
 */
#ifndef CS_RESULTS_MONTECARLO_ROW_H
#define CS_RESULTS_MONTECARLO_ROW_H

#include "base/text.h"
#include "cs/build.h"

#include <stdint.h>

/* Of one time: mean, its confidence interval, and so on for quantiles. */
#define CS_SPREAD_MAP(X, time)  \
    X(REAL, time##_mean_s)      \
    X(REAL, time##_mean_low_s)  \
    X(REAL, time##_mean_high_s) \
    X(REAL, time##_stddev_s)    \
    X(REAL, time##_min_s)       \
    X(REAL, time##_max_s)       \
    X(REAL, time##_p50_s)       \
    X(REAL, time##_p50_low_s)   \
    X(REAL, time##_p50_high_s)  \
    X(REAL, time##_p95_s)       \
    X(REAL, time##_p95_low_s)   \
    X(REAL, time##_p95_high_s)  \
    X(REAL, time##_p99_s)       \
    X(REAL, time##_p99_low_s)   \
    X(REAL, time##_p99_high_s)

/* X(type, key): TEXT char[], COUNT uint64_t, REAL double, BOOL bool.
 * `hit_ratio`: how often the presumed rank was last, of algorithms that presume one;
 * `fallback_ratio`: how often the fallback ran; `saved`: exposed time of the baseline in the
 * same iteration less the own one; `win_ratio`: how often that was more than nothing;
 * `speedup`: ratio of the mean exposed times; `replays`: calls that were replayed, not computed
 * in closed form.
 *
 * Of training (sim/doc/training.md; else null, `calls` is 1): `elapsed` is the time of an
 * iteration, `bytes` are those of all its calls; `exposed_ratio`: mean exposed time as a part
 * of the mean iteration; `iteration_speedup`: ratio of the mean iterations; `saved_ratio`: part
 * of the baseline's iterations that is saved; `gpu_hours_per_day`: that of ranks x 24 h. */
#define CS_MONTECARLO_MAP(X)        \
    X(TEXT, algorithm)              \
    X(TEXT, collective)             \
    X(TEXT, model)                  \
    X(COUNT, ranks)                 \
    X(COUNT, bytes)                 \
    X(COUNT, gpus_per_server)       \
    X(TEXT, workload)               \
    X(COUNT, calls)                 \
    X(REAL, compute_s)              \
    X(REAL, overlap_ratio)          \
    X(REAL, tail_s)                 \
    X(TEXT, prediction)             \
    X(TEXT, fallback)               \
    X(COUNT, iterations)            \
    X(TEXT, sampling)               \
    X(REAL, confidence)             \
    X(REAL, last_arrival_mean_s)    \
    CS_SPREAD_MAP(X, elapsed)       \
    CS_SPREAD_MAP(X, exposed)       \
    X(REAL, hit_ratio)              \
    X(REAL, fallback_ratio)         \
    X(TEXT, baseline)               \
    X(REAL, saved_mean_s)           \
    X(REAL, saved_mean_low_s)       \
    X(REAL, saved_mean_high_s)      \
    X(REAL, saved_stddev_s)         \
    X(REAL, win_ratio)              \
    X(REAL, speedup)                \
    X(REAL, exposed_ratio)          \
    X(REAL, iteration_speedup)      \
    X(REAL, saved_ratio)            \
    X(REAL, saved_ratio_low)        \
    X(REAL, saved_ratio_high)       \
    X(REAL, gpu_hours_per_day)      \
    X(REAL, gpu_hours_per_day_low)  \
    X(REAL, gpu_hours_per_day_high) \
    X(COUNT, replays)               \
    X(BOOL, verified)               \
    X(TEXT, build)

enum { CS_ROW_TEXT_BYTES = CS_BUILD_BYTES };

typedef struct cs_montecarlo_row {
#define CS_ROW_TEXT(key)  char key[CS_ROW_TEXT_BYTES]
#define CS_ROW_COUNT(key) uint64_t key
#define CS_ROW_REAL(key)  double key
#define CS_ROW_BOOL(key)  bool key
#define X(type, key)      CS_ROW_##type(key);
    CS_MONTECARLO_MAP(X)
#undef X
    char *scenario;  /* canonical JSON; owned */
    char *settings;  /* for people: what sets the row apart beside its columns; owned; NULL:
                        nothing */
    char error[432]; /* why it could not be run; empty: it was */
} cs_montecarlo_row;

/* The empty text of a row is one that does not exist: null where there is one. */
static inline const char *cs_text_or_null(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}
#define CS_ROW_VALUE_TEXT(member)  cs_text_or_null(member)
#define CS_ROW_VALUE_COUNT(member) member
#define CS_ROW_VALUE_REAL(member)  member
#define CS_ROW_VALUE_BOOL(member)  member

/* `{0}` is allowed. */
CS_API void cs_montecarlo_row_free(cs_montecarlo_row *row);

/* Add `n` rows as an array of objects, one a line: the keys of the map, then `scenario` and, where
 * it could not be run, `error` (all numbers are null then). Numbers read back exactly. */
CS_API void cs_montecarlo_json(cs_text *text, const cs_montecarlo_row *rows, size_t n);

/* Add a line of names and `n` lines. A number that does not exist is an empty field. */
CS_API void cs_montecarlo_csv(cs_text *text, const cs_montecarlo_row *rows, size_t n);

/* Add a table for people: exposed times in us with the half-widths of their intervals; with a
 * column of settings where rows have some. */
CS_API void cs_montecarlo_table(cs_text *text, const cs_montecarlo_row *rows, size_t n);

#endif
