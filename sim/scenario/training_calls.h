/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario/training_calls.h -- the calls of an iteration where parameters are sharded, or experts
 * are: their collectives and sizes, and between which parts of the compute they stand.
 *
 * The forward pass is the part `forward` of the compute, the backward pass the rest; the L layers
 * share either evenly.
 *
 * fsdp. Every layer's parameters are gathered before the layer computes, in the forward and once
 * more in the backward pass, and its gradients are reduced and scattered behind that; so an
 * iteration has 2 L AllGathers and L ReduceScatters, each of an L-th of the parameters. A rank may
 * gather a layer as soon as the one `prefetch` before it begins; nobody waits for a ReduceScatter.
 * In the backward pass the next layer's AllGather goes before the last one's ReduceScatter.
 *
 * experts. In each of the E layers with experts the tokens go to them (after the first half of the
 * layer) and back (at its end), in the forward and in the backward pass: 4 E AlltoAlls of
 * tokens x experts of a token x width x bytes. Tokens are spread evenly. With `overlap` o a call
 * runs beside the part o of the half layer behind it: of another part of the batch.
 *
 * Sources: S. Rajbhandari et al., "ZeRO", SC 2020; Y. Zhao et al., "PyTorch FSDP", VLDB 16 (2023);
 * D. Lepikhin et al., "GShard", ICLR 2021.
 */
#ifndef CS_SCENARIO_TRAINING_CALLS_H
#define CS_SCENARIO_TRAINING_CALLS_H

#include "scenario/case.h"

typedef struct cs_sharding {
    uint32_t n_layers;
    double   forward_ratio; /* (0, 1) */
    uint32_t prefetch;      /* layers gathered ahead */
    uint64_t bytes;         /* fsdp: of all parameters; experts: of one AlltoAll */
    double   overlap_ratio; /* experts */
} cs_sharding;

/* Fill the calls of `t`, whose lists go to the arena. False without memory. O(layers). */
bool cs_training_fsdp(const cs_sharding *sharding, cs_arena *arena, cs_training *t);
bool cs_training_experts(const cs_sharding *sharding, cs_arena *arena, cs_training *t);

#endif
