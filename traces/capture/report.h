/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capture/report.h -- what was measured: as JSON, as a captured run that `collsim calibrate` reads,
 * as Chrome trace. */
#ifndef CAPTURE_REPORT_H
#define CAPTURE_REPORT_H

#include "base/text.h"
#include "executor.h"
#include "options.h"

/* One repetition. What was not measured is NAN. */
typedef struct cap_repetition {
    double     start_s;     /* CLOCK_MONOTONIC */
    double     makespan_s;  /* from the start to the last end */
    double    *end_s;       /* [n_ranks] */
    cap_times *times;       /* [n_messages]; NULL: not kept */
    uint64_t   wrong;       /* floats that are not what they should be */
    double     cpu;         /* part of all processors that was busy, 0 to 1 */
    double     retransmits; /* segments that TCP sent again */
    double oversleep_s; /* the longest that a watchdog slept too long: the machine stood still */
} cap_repetition;

/* All repetitions of one schedule. */
typedef struct cap_measurement {
    const cap_job  *job;
    const double   *late_s; /* [n_ranks], or NULL */
    bool            is_eager;
    cap_repetition *repetitions; /* [n_repetitions] */
    uint32_t        n_repetitions;
    char *extra; /* more members of the run's JSON object, each with a comma before it; or NULL.
                    Owned (cs_free) */
} cap_measurement;

/* Room for `n_repetitions` in a measurement, whose values are NAN; times are kept where
 * `keeps_times`. CS_ENOMEM only. close() takes {0}, too. */
cs_status cap_measurement_open(cap_measurement *measurement, const cap_job *job,
                               uint32_t n_repetitions, bool keeps_times, cs_error *err);
void      cap_measurement_close(cap_measurement *measurement);

/* Least, median and most of the makespans. */
typedef struct cap_summary {
    double   least_s, median_s, most_s;
    uint64_t wrong; /* of all repetitions */
} cap_summary;

cap_summary cap_summarise(const cap_measurement *measurement);

/* All of it as one JSON document, {"format": "collsim-capture", "version": 1, "runs": [..]}, times
 * in seconds; `exposed_s` counts from the last arrival on. */
void cap_report_json(cs_text *text, const char *program, const char *machine,
                     const cap_measurement *measurements, size_t n);

/* The captured run: `# collsim-capture 1 collective C schedule S ranks N machine M`, the head of
 * nccl-tests' table, a row for every measurement of the array that has the collective, schedule and
 * ranks of the first one. `time` is the median from the last arrival on. A `machine` is one word.
 */
void cap_report_table(cs_text *text, const char *program, const char *machine,
                      const cap_measurement *measurements, size_t n);

/* Chrome trace (ui.perfetto.dev) of all repetitions whose times were kept: for every rank a row of
 * what it sends and one of what it receives over each link. */
void cap_report_trace(cs_text *text, const cap_measurement *measurements, size_t n);

/* Write what the options ask for: the table (to standard output where they name no file, unless
 * they say quiet), JSON, Chrome trace. CS_ENOMEM, CS_EIO. */
cs_status cap_report_write(const char *program, const cap_options *options,
                           const cap_measurement *measurements, size_t n, cs_error *err);

#endif
