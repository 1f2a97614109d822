/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/nccl_run.h -- the run that the header of a log of nccl-tests announces, in a line as
 *   # nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20
 *     agg iters: 1 validation: 1 graph: 0
 */
#ifndef CS_TRACES_NCCL_RUN_H
#define CS_TRACES_NCCL_RUN_H

#include "traces/log_line.h"

#include <stdint.h>

/* `{0}`: the log has no header. */
typedef struct cs_nccl_run {
    uint32_t line; /* where it stands; 0: nowhere */
    uint64_t min_bytes, max_bytes;
    uint64_t step_factor, step_bytes; /* the one that is not used is 0 */
    uint64_t n_warmup_iters, n_iters; /* 0: not said */
    bool     is_unchecked;            /* validation: 0 */
} cs_nccl_run;

/* Take what a comment says of the run: the header, or that nccl-tests lowered maxBytes for lack of
 * memory. False where it says nothing of the kind. */
bool cs_nccl_run_read(cs_nccl_run *run, const cs_log_line *line);

/* How many rows the run prints; 0: the header does not say. */
uint64_t cs_nccl_run_n_rows(const cs_nccl_run *run);

#endif
