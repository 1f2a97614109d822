/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/nccl_tuner.h -- what NCCL's tuner expects of its algorithms and protocols on GPUs that
 * NVSwitches join, and which it therefore chooses.
 *
 * The constants are NCCL's own (src/graph/tuning.cc of 2.28, with the rings that it finds on 8 GPUs
 * of a server), for all ranks in one server. Older versions differ: what is chosen may change at
 * half or twice the size. A tuner plug-in overrules all of it. These are NCCL's estimates, by which
 * it chooses; they are no prediction of times.
 */
#ifndef CS_TRACES_NCCL_TUNER_H
#define CS_TRACES_NCCL_TUNER_H

#include "cs/scenario.h"

#include <stddef.h>

enum { CS_NCCL_MOST_ESTIMATES = 7, CS_NCCL_CHOICE_BYTES = 24 };

/* The time of S bytes is latency_us + S / (1000 rate_GBps). */
typedef struct cs_nccl_estimate {
    const char *choice; /* "Ring/LL"; static storage */
    double      latency_us, rate_GBps;
} cs_nccl_estimate;

/* The estimates for an operation of `bytes` (nccl-tests' size column) on `n_ranks` GPUs, whose name
 * is somewhere in `machine` (A100, H100, H200, B200). Returns how many there are; 0 for other GPUs,
 * for collectives other than AllReduce, AllGather and ReduceScatter, and for less than 2 or more
 * than 8 ranks. */
size_t cs_nccl_estimates(const char *machine, cs_collective collective, uint32_t n_ranks,
                         uint64_t bytes, cs_nccl_estimate estimates[CS_NCCL_MOST_ESTIMATES]);

/* The choice with the smallest estimate; NULL where there is none. */
const char *cs_nccl_tuner_choice(const char *machine, cs_collective collective, uint32_t n_ranks,
                                 uint64_t bytes);

#endif
