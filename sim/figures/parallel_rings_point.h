/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figures/parallel_rings_point.h -- one AllGather of the Parallel Rings figures, by replay, and the
 * closed forms that it must agree with.
 *
 * Sizes are those that one rank contributes, as in the OSU micro-benchmarks and on the paper's
 * axes.
 */
#ifndef CS_FIGURES_PARALLEL_RINGS_POINT_H
#define CS_FIGURES_PARALLEL_RINGS_POINT_H

#include "algorithms/stored.h"
#include "cs/result.h"
#include "figures/figures.h"

/* The paper's clusters, without the number of ranks; 4 GPUs and 4 NICs a server. A: A30, two
 * sockets with an NVLink pair each, 100 Gb/s NICs. B: H100, NVLink from each to each, 200 Gb/s
 * NICs. Rates are published link rates (NICs at 96 %) but that of A's path between the sockets, and
 * the start-up time of a NIC, which are fitted: see sim/doc/figures.md. */
extern const cs_cluster cs_rings_a, cs_rings_b;

typedef struct cs_rings_point {
    const cs_cluster *cluster;
    uint32_t          servers;
    uint64_t          block_bytes;
    const char       *algorithm;
    const char       *key, *value;  /* one option of it, or NULL */
    const char       *incast_ratio; /* on `flow` with shared receivers; NULL: on alpha-beta */
    const cs_stored  *stored;       /* this schedule instead of the algorithm, or NULL */
} cs_rings_point;

/* Run it, and add checks: the schedule is a correct AllGather, and no lower bound is above its
 * time. */
CS_MUST_CHECK cs_status cs_rings_replay(cs_figure_data *data, const cs_rings_point *point,
                                        double *elapsed_s_p, cs_error *err);

/* Start-up and bytes of one message over a fabric. */
double cs_rings_message_s(const cs_cluster *cluster, uint32_t fabric, double bytes);

/* Closed forms for blocks of `block_bytes` on N servers of L: the flat ring, one ring a NIC as NCCL
 * builds them, and Parallel Rings with all exchanges inside a server under way at once. */
double cs_rings_flat_s(const cs_cluster *cluster, uint32_t servers, uint64_t block_bytes);
double cs_rings_nccl_s(const cs_cluster *cluster, uint32_t servers, uint64_t block_bytes);
double cs_rings_parallel_s(const cs_cluster *cluster, uint32_t servers, uint64_t block_bytes);

/* |got - want| <= tolerance, for numbers in percent or points. */
void cs_rings_check_within(cs_figure_data *data, const char *what, double got, double want,
                           double tolerance);

#endif
