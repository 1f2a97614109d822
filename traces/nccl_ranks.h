/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/nccl_ranks.h -- which collective ran on how many ranks, from all that a log says. */
#ifndef CS_TRACES_NCCL_RANKS_H
#define CS_TRACES_NCCL_RANKS_H

#include "traces/nccl_heading.h"

/* Fill collective, program, n_ranks and their evidence in a log whose rows are read. `n_ranks`
 * overrules the Rank lines (0: does not). On an error *line_p is the line at fault, or 0. */
cs_status cs_nccl_log_conclude(cs_nccl_log *log, const cs_nccl_heading *heading, uint32_t n_ranks,
                               int *line_p, cs_error *err);

#endif
