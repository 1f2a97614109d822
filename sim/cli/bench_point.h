/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli/bench_point.h -- one line of `collsim bench`: how fast one scenario is replayed. */
#ifndef CS_CLI_BENCH_POINT_H
#define CS_CLI_BENCH_POINT_H

#include "base/text.h"
#include "cs/job.h"

/* What is measured, and what came out. */
typedef struct cs_bench_point {
    cs_job   job;               /* resolved; the caller's */
    double   rate, least, most; /* transfers per second: median, least, most */
    double   ratio;             /* to the limit measured beside it, median */
    uint64_t transfers;         /* of one replay */
} cs_bench_point;

/* Replay it for at least 0.1 s (`quick`: 0.02 s) five times (three), each time beside plain C over
 * a stored ring (bench_limit.h) of as many ranks, at most 1024. */
CS_MUST_CHECK cs_status cs_bench_run(cs_bench_point *point, bool quick, cs_error *err);

/* The line above the first row of a table. */
void cs_bench_header(cs_text *text);

/* A row of the table, or an element of the JSON array that the first one opens. */
void cs_bench_row(cs_text *text, const cs_bench_point *point, bool json, bool is_first);

#endif
