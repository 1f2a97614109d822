/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/lib/nccl_diagnosis.h -- is a measured curve what NCCL shows on such servers, and if
 * not, what does it look like?
 *
 * Measured times are held against expected ones (nccl_time.h), or against a curve of the same
 * machine that was good. Three bands count: latencies up to 64 KiB, the middle, and large sizes,
 * from 64 MiB or an eighth of the largest on (else the last three), each by its median. A verdict
 * says what fits the numbers, "as if", not what has happened: a chunk size or congestion can look
 * like NICs that are missing. */
#ifndef CS_ALGORITHMS_LIB_NCCL_DIAGNOSIS_H
#define CS_ALGORITHMS_LIB_NCCL_DIAGNOSIS_H

#include "algorithms/lib/nccl_time.h"

typedef struct cs_diagnosis_row {
    uint64_t       bytes;
    double         measured_s;           /* to be set: > 0 */
    double         baseline_s;           /* to be set where there is a baseline; NAN: none */
    const char    *algorithm, *protocol; /* that NCCL should pick; "p2p": sends and receives */
    double         expected_s, bound_s;
    double         ratio;      /* measured / expected, or / baseline where there is one */
    double         efficiency; /* bound / measured */
    cs_nccl_choice choice;
} cs_diagnosis_row;

/* X(id, name, what to look at next) */
#define CS_VERDICT_MAP(X)                                                                          \
    X(BOUND, "FASTER THAN THE BOUND",                                                              \
      "the topology is not that of the log: compare 'nvidia-smi topo -m' and the number of hosts") \
    X(COLLAPSE, "COLLAPSE",                                                                        \
      "loss or congestion control: counters of the NICs (ethtool -S, rdma statistic), PFC and "    \
      "ECN, NCCL_IB_TC")                                                                           \
    X(NICS, "NICS",                                                                                \
      "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=NET,GRAPH names the NICs in use; NCCL_IB_HCA, "           \
      "NCCL_CROSS_NIC; ibstat, and ib_write_bw for each NIC")                                      \
    X(NVLS_OFF, "NVLS OFF",                                                                        \
      "NCCL_NVLS_ENABLE, the Fabric Manager (systemctl status nvidia-fabricmanager), and "         \
      "'NVLS multicast support' under NCCL_DEBUG=INFO")                                            \
    X(WRONG_ALGORITHM, "WRONG ALGORITHM",                                                          \
      "NCCL_ALGO, NCCL_PROTO and tuner plugins; NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=TUNING")         \
    X(SLOW, "SLOW", "the verdict before it, or a second log of the same servers as --baseline")    \
    X(FAST, "FAST",                                                                                \
      "more NICs, SHARP or another version than was said: --topology, --nccl-version")             \
    X(LATENCY_HIGH, "LATENCY HIGH",                                                                \
      "clocks and power limits (nvidia-smi -q -d CLOCK), CPU affinity, several GPUs per thread: "  \
      "--gpus-per-process")                                                                        \
    X(LATENCY_LOW, "LATENCY LOW", "the version and the topology: --nccl-version, --topology")      \
    X(MIDDLE, "SLOW IN THE MIDDLE",                                                                \
      "where NCCL changes its protocol: 'collsim expect --explain' for that size, NCCL_PROTO")     \
    X(NORMAL, "NORMAL", "")

typedef enum cs_verdict_kind {
#define X(id, name, next) CS_VERDICT_##id,
    CS_VERDICT_MAP(X)
#undef X
        CS_VERDICTS
} cs_verdict_kind;

const char *cs_verdict_name(cs_verdict_kind kind);
const char *cs_verdict_next(cs_verdict_kind kind);

typedef struct cs_nccl_verdict {
    cs_verdict_kind kind;
    uint64_t        from_bytes, to_bytes; /* the rows that it is about */
    char            evidence[160];
} cs_nccl_verdict;

/* What is diagnosed. */
typedef struct cs_diagnosis {
    const cs_nccl_cluster *cluster; /* borrowed, as the rows */
    cs_nccl_tuning         tuning;
    cs_collective          collective;
    bool                   has_baseline;
    cs_diagnosis_row      *rows; /* [n_rows] ascending sizes; n_rows >= 1 */
    size_t                 n_rows;
    cs_nccl_verdict        verdicts[CS_VERDICTS]; /* NORMAL alone, or all others that hold */
    size_t                 n_verdicts;
    double                 latency, large; /* medians of the ratios; NAN: too few rows */
} cs_diagnosis;

/* Fill what the rows lack, and the verdicts, with the cluster, setting, collective and rows given.
 * CS_ENOTSUP where no time is known for such a cluster, CS_EINVAL where filters leave nothing,
 * CS_ENOMEM. O(rows log rows). */
CS_MUST_CHECK cs_status cs_nccl_diagnose(cs_diagnosis *diagnosis, const cs_nccl_setting *setting,
                                         cs_error *err);

#endif
