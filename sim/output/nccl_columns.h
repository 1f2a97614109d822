/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output/nccl_columns.h -- the columns of nccl-tests' table.
 *
 * Widths, decimals of the time, the count per rank, `none` for collectives that reduce nothing,
 * and root -1 for those without one are those of nccl-tests' src/common.cu and
 * src/{all_reduce,all_gather,...}.cu.
 */
#ifndef COLLSIM_OUTPUT_NCCL_COLUMNS_H
#define COLLSIM_OUTPUT_NCCL_COLUMNS_H

#include "base/text.h"
#include "cs/collective.h"

/* The two lines of names and units over the rows. */
void cs_nccl_add_heading(cs_text *text);

typedef struct cs_nccl_row {
    cs_collective collective;
    uint32_t      n_ranks, root;
    uint64_t      bytes;
    bool          is_float; /* `bytes` is a whole number of floats for each block; else int8 */
    double        time_s;
    double        algbw_GBps, busbw_GBps;
    const char   *wrong; /* "0", "N/A" */
} cs_nccl_row;

/* One row; in place is the same as out of place. O(1). */
void cs_nccl_add_row(cs_text *text, const cs_nccl_row *row);

#endif
