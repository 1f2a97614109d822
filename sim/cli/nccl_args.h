/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli/nccl_args.h -- the options by which commands are told of NCCL and of its machine, and what
 * they make: the cluster as NCCL sees it, and its setting. */
#ifndef CS_CLI_NCCL_ARGS_H
#define CS_CLI_NCCL_ARGS_H

#include "algorithms/lib/nccl_tuning.h"
#include "cli/args.h"

/* `{0}` is valid: nothing was asked for. Texts are borrowed. */
typedef struct cs_nccl_asked {
    const char *topology, *version, *algorithms, *protocols;
    uint32_t    ranks, gpus; /* 0: not given */
    uint32_t    gpus_per_process;
    int         gpu;    /* 0: that of the topology; or 1 + cs_nccl_gpu */
    int         fabric; /* 0: that of the topology; or 1 + cs_nccl_fabric */
    bool        is_strict, has_no_nvls;
} cs_nccl_asked;

/* The table of its options, ended as all are. */
extern const cs_arg cs_nccl_args[];

/* What NCCL is and is told. Where a version is not known, the nearest one is taken, and named on
 * standard error, unless that is refused. */
CS_MUST_CHECK cs_status cs_nccl_asked_setting(const cs_nccl_asked *asked, cs_nccl_setting *setting,
                                              cs_error *err);

/* The machine that the topology says, with as many ranks and GPUs as were asked for; what is
 * assumed goes to standard error. */
CS_MUST_CHECK cs_status cs_nccl_asked_cluster(const cs_nccl_asked *asked, cs_nccl_cluster *cluster,
                                              cs_error *err);

/* "expected of NCCL 2.28, 16 ranks: 2 x 8 Hopper GPUs of ..", a comment line for people. */
void cs_nccl_heading_add(const cs_nccl_cluster *cluster, const cs_nccl_setting *setting,
                         cs_text *text);

#endif
