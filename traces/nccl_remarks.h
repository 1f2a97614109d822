/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/nccl_remarks.h -- what there is to know about the reading of a log: which lines were
 * skipped, by kind, and what casts doubt on those that were not.
 */
#ifndef CS_TRACES_NCCL_REMARKS_H
#define CS_TRACES_NCCL_REMARKS_H

#include "base/text.h"

#include <stdint.h>

/* The run that the header of a log announces, in a line as
 *   # nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20
 *     agg iters: 1 validation: 1 graph: 0
 * `{0}`: the log has no header. */
typedef struct cs_nccl_run {
    uint32_t line; /* where it stands; 0: nowhere */
    uint64_t min_bytes, max_bytes;
    uint64_t step_factor, step_bytes; /* the one that is not used is 0 */
    uint64_t n_warmup_iters, n_iters; /* 0: not said */
    bool     is_unchecked;            /* validation: 0 */
} cs_nccl_run;

/* How many rows the run prints; 0: the header does not say. */
uint64_t cs_nccl_run_n_rows(const cs_nccl_run *run);

/* Enum, name in files, is it a doubt (else: lines that were skipped), what is counted. What matters
 * most stands first. */
#define CS_NCCL_REMARK_MAP(X)                                                                      \
    X(FAILED_RESULTS, "failed-results", true, "footers by which results were wrong")               \
    X(FAILED_RUN, "failed-run", true, "lines by which the run failed")                             \
    X(WRONG_ROWS, "wrong-rows", true, "rows with wrong results in the column that is not used")    \
    X(UNCHECKED, "unchecked", true, "results were not checked")                                    \
    X(OUTSIDE_RANGE, "outside-range", true, "rows outside of minBytes .. maxBytes of the header")  \
    X(MISSING_ROWS, "missing-rows", true, "rows missing of those that the header announces")       \
    X(LABELLED_ROWS, "labelled-rows", false, "rows behind a label that is not known")              \
    X(TORN_ROWS, "torn-rows", false, "lines that begin with a number and are no rows")             \
    X(UNMEASURED_ROWS, "unmeasured-rows", false, "rows without a time in the column that is used") \
    X(EMPTY_ROWS, "empty-rows", false, "rows of size 0")                                           \
    X(WARNINGS, "nccl-warnings", false, "warnings of NCCL")                                        \
    X(MESSAGES, "nccl-messages", false, "messages of NCCL")                                        \
    X(LAUNCHERS, "launchers", false, "lines of launchers and shells")                              \
    X(COMMENTS, "comments", false, "comments that are not understood")                             \
    X(OTHERS, "others", false, "other lines")

typedef enum cs_nccl_remark_kind {
#define X(kind, name, is_doubt, what) CS_NCCL_##kind,
    CS_NCCL_REMARK_MAP(X)
#undef X
        CS_NCCL_REMARKS
} cs_nccl_remark_kind;

/* How often, and the first of them. */
typedef struct cs_nccl_remark {
    uint64_t n;          /* 0: never, the rest is empty */
    uint32_t first_line; /* 0: in none */
    char     first[96];  /* what stands there: plain, shortened */
} cs_nccl_remark;

/* One log. Lines without text are not skipped lines. */
typedef struct cs_nccl_reading {
    char           name[128]; /* of the log, without folders */
    size_t         n_lines;
    size_t         n_rows; /* with a size above 0 */
    cs_nccl_run    run;
    cs_nccl_remark remarks[CS_NCCL_REMARKS];
} cs_nccl_reading;

/* Static storage. */
const char *cs_nccl_remark_name(cs_nccl_remark_kind kind);
bool        cs_nccl_remark_is_doubt(cs_nccl_remark_kind kind);

/* Count something that was seen in a line, whose `text` is kept if it is the first. */
void cs_nccl_remark_add(cs_nccl_reading *reading, cs_nccl_remark_kind kind, int line,
                        const char *text);

uint64_t cs_nccl_n_skipped(const cs_nccl_reading *reading);

/* For people, as comments of a table: rows and lines, what was skipped, what is in doubt. */
void cs_nccl_reading_text(const cs_nccl_reading *reading, cs_text *text);

#endif
