/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/nccl_tests.h -- what a log of nccl-tests says, and where it contradicts itself.
 *
 * One log holds one table of one program (all_reduce_perf, all_gather_perf, ...). Rows are
 *   size count type [redop] [root] time algbw busbw #wrong  time algbw busbw #wrong
 * with the out-of-place side first; with per-iteration columns each side has four more, and a
 * time stamp may follow. Units of the table: bytes, us, GB/s = 1e9 B/s; of the struct: SI.
 * Rows of size 0 are skipped, and so are all lines of which nothing is taken; they are counted by
 * what they look like, with the first of each kind, beside what casts doubt on the rows.
 *
 * The columns check each other: algbw must be size / time, and busbw / algbw is a function of
 * the number of ranks (nccl-tests, doc/PERFORMANCE.md), which must be the same in all rows and
 * fit the "# Rank" lines. Two tables in one log are refused: what stands between them cannot
 * be told apart.
 *
 * Left out: the JSON output of nccl-tests; what is in columns after the sixteen.
 */
#ifndef CS_TRACES_NCCL_TESTS_H
#define CS_TRACES_NCCL_TESTS_H

#include "cs/scenario.h"
#include "traces/nccl_remarks.h"
#include "traces/nccl_row.h"

/* Where the collective is known from. */
typedef enum cs_nccl_evidence {
    CS_NCCL_UNKNOWN,
    CS_NCCL_STATED,  /* "# Collective test concluded: all_reduce_perf", or "starting" */
    CS_NCCL_COMMAND, /* the program's name stands elsewhere in the log */
    CS_NCCL_COLUMNS, /* from the columns and from busbw / algbw */
} cs_nccl_evidence;

typedef struct cs_nccl_log {
    cs_nccl_evidence collective_from; /* CS_NCCL_UNKNOWN: `collective` means nothing */
    cs_collective    collective;
    char             program[32];    /* e.g. "all_reduce_perf", or empty */
    uint32_t         n_ranks;        /* 0: neither the Rank lines nor the rates say it */
    uint32_t         n_ranks_listed; /* by the Rank lines; 0: none */
    uint32_t         n_ranks_low;    /* what busbw / algbw allows; 0, 0: nothing known */
    uint32_t         n_ranks_high;
    bool             is_deviation; /* n_wrong is a deviation (column "error"), not a count */
    bool             is_cputime;   /* times are those of the CPU, not of the operation */
    char             device[64];   /* of the Rank lines, or empty */
    char             versions[96]; /* of NCCL and nccl-tests, or empty */
    cs_nccl_row     *rows;         /* sizes increase strictly */
    size_t           n_rows;       /* >= 1 */
    cs_nccl_reading  reading;
} cs_nccl_log;

/* Read a log of `length` bytes (at most 256 MiB). `name` is its name in errors and may be
 * NULL. `n_ranks` overrules the Rank lines where the number of ranks is known from elsewhere (0: it
 * is not); it must still fit busbw / algbw. On CS_OK *log_p is the caller's (cs_nccl_log_free).
 * Errors carry the line, and the column where one is at fault. O(length). */
cs_status cs_nccl_log_parse(const char *text, size_t length, const char *name, uint32_t n_ranks,
                            cs_nccl_log **log_p, cs_error *err);

/* NULL is allowed. */
void cs_nccl_log_free(cs_nccl_log *log);

#endif
