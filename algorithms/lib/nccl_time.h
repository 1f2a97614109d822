/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/lib/nccl_time.h -- how long a collective takes that NCCL has tuned.
 *
 * A closed form of the way in which the data move, chunk by chunk, with constants per generation of
 * GPUs and per fabric and none per machine; sim/doc/nccl.md says how good it is. In us. */
#ifndef CS_ALGORITHMS_LIB_NCCL_TIME_H
#define CS_ALGORITHMS_LIB_NCCL_TIME_H

#include "algorithms/lib/nccl_tuning.h"

/* T of one algorithm and protocol in us, available or not. O(1). */
double cs_nccl_time_us(const cs_nccl_tuning *tuning, cs_nccl_algorithm algorithm,
                       cs_nccl_protocol protocol, double bytes);

/* T of AlltoAll, grouped sends and receives, in one NVLink domain behind NVSwitch. */
double cs_nccl_alltoall_us(const cs_nccl_cluster *cluster, double bytes);

/* Is there a measurement that T's constants come from? CS_ENOTSUP says what is missing. */
CS_MUST_CHECK cs_status cs_nccl_time_check(const cs_nccl_cluster *cluster, cs_collective collective,
                                           cs_error *err);

/* What one NIC carries of NCCL's data, one way. */
double cs_nccl_nic_GBps(const cs_nccl_cluster *cluster);

/* The least time by the data sheet, in seconds: a GPU's NVLinks inside a server, a server's NICs
 * between servers. With `in_network` switches may reduce and multicast. */
double cs_nccl_bound_s(const cs_nccl_cluster *cluster, cs_collective collective, double bytes,
                       bool in_network);

/* Were clusters of this kind measured that gave no constant? */
bool cs_nccl_is_measured(const cs_nccl_cluster *cluster);

/* How far measured times are from T, as a part of T: in nine of ten cases where such clusters were
 * measured, else by judgement. */
double cs_nccl_uncertainty(const cs_nccl_cluster *cluster, cs_collective collective, double bytes);

#endif
