/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output/expect_rows.h -- what NCCL is expected to show, as nccl-tests' table, JSON or CSV. */
#ifndef CS_OUTPUT_EXPECT_ROWS_H
#define CS_OUTPUT_EXPECT_ROWS_H

#include "algorithms/lib/nccl_tuning.h"
#include "base/column.h"

/* The members are the columns. */
typedef struct cs_expect_row {
    uint64_t    bytes;
    const char *algorithm, *protocol; /* static storage; "p2p": grouped sends and receives */
    uint64_t    channels;             /* CS_NO_CHANNELS: it is not known */
    double      expected_s, low_s, high_s, bound_s, busbw_GBps;
} cs_expect_row;
enum { CS_NO_CHANNELS = 0 };

/* What NCCL compares for one size. */
typedef struct cs_expect_candidate {
    const char *algorithm, *protocol;
    double      latency_us, bandwidth_GBps; /* of the estimate */
    double      estimate_us, expected_us;
    bool        is_filtered, is_chosen;
} cs_expect_candidate;

/* Add `n` rows; `is_measured`: as cs_nccl_is_measured says. */
void cs_expect_rows_json(cs_text *text, const cs_expect_row *rows, size_t n);
void cs_expect_rows_csv(cs_text *text, const cs_expect_row *rows, size_t n);
void cs_expect_rows_table(cs_text *text, const cs_expect_row *rows, size_t n, bool is_measured);

/* A range of sizes in which NCCL's choice loses. */
typedef struct cs_expect_loss {
    uint64_t    min_bytes, max_bytes;
    const char *algorithm, *protocol;     /* that would take the least time, borrowed */
    const char *chosen, *chosen_protocol; /* by NCCL, at the first size */
    double      lost_ratio;               /* the largest: time of the choice / least time - 1 */
} cs_expect_loss;

/* Add the ranges as a configuration of NCCL's example of a tuner plugin: comments, and lines of
 * collective,min,max,algo,proto,channels,nNodes,nRanks,numPipeOps,regBuff, of which -1 is any. */
void cs_expect_audit(cs_text *text, const cs_expect_loss *losses, size_t n, const char *collective,
                     uint32_t servers, uint32_t ranks, double threshold);

/* The same without the heading of expectations. */
void cs_expect_loss_lines(cs_text *text, const cs_expect_loss *losses, size_t n,
                          const char *collective, uint32_t servers, uint32_t ranks);

/* Add the candidates for a size, a comment line each. */
void cs_expect_candidates(cs_text *text, uint64_t bytes, const cs_expect_candidate *all, size_t n);

#endif
