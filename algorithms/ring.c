/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ring AllReduce, ReduceScatter and AllGather.
 *
 * The buffer is split in n chunks. In 2(n-1) steps (n-1 for each half) every rank sends one
 * chunk to its right neighbour: first adding, until chunk c is complete at rank c, then
 * copying, until everybody has everything. On a cluster with a slow NIC this is what ICCL
 * does after failover.
 *
 * Source: P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
 * workstations", J. Parallel Distrib. Comput. 69 (2009).
 */
#include "algorithms/lib/accept.h"
#include "algorithms/lib/ring_pass.h"
#include "base/alloc.h"
#include "cs/capacity.h"

#include <math.h>

#define RING_DOES (1u << CS_ALLREDUCE | 1u << CS_REDUCESCATTER | 1u << CS_ALLGATHER)

static uint32_t n_steps(const cs_scenario *scenario)
{
    uint32_t half = scenario->cluster.n_ranks - 1;
    return scenario->collective == CS_ALLREDUCE ? 2 * half : half;
}

/* Between servers of several GPUs it is not what a library runs. */
static const char ONE_NIC[] = "ring: one ring over all GPUs has one NIC of a server at work at a "
                              "time; nccl_rings has all of them";

static cs_status ring_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                            cs_error *err)
{
    (void)options;
    (void)err;
    const cs_cluster *c      = &scenario->cluster;
    bool              wastes = c->gpus_per_server > 1 && c->gpus_per_server < c->n_ranks;
    *plan                    = (cs_plan){.n_chunks             = c->n_ranks,
                                         .n_slots              = 2,
                                         .n_rounds             = n_steps(scenario),
                                         .uses                 = cs_uses_nvlink(c),
                                         .is_round_synchronous = true,
                                         .note                 = wastes ? ONE_NIC : NULL};
    return CS_OK;
}

static cs_status ring_open(const cs_scenario *scenario, const void *options, void **state_p,
                           cs_error *err)
{
    (void)options;
    cs_ring_pass *pass = CS_NEW(cs_ring_pass, 1);

    if (pass == NULL) {
        return CS_NO_MEMORY(err, "a ring");
    }
    uint32_t half  = scenario->cluster.n_ranks - 1;
    uint32_t first = scenario->collective == CS_ALLGATHER ? half : 0;
    *pass          = (cs_ring_pass){.cluster    = &scenario->cluster,
                                    .m          = scenario->cluster.n_ranks,
                                    .skip       = CS_RING_ALL,
                                    .bytes      = scenario->bytes,
                                    .step       = first,
                                    .first_step = first,
                                    .end_step   = first + n_steps(scenario),
                                    .last_slot  = CS_RING_SLOT,
                                    .keep_slot  = CS_RING_SLOT,
                                    .is_final   = true};
    *state_p       = pass;
    return CS_OK;
}

static void ring_keep_one_server(void *state)
{
    cs_ring_pass *pass = state;
    pass->n_senders    = pass->cluster->gpus_per_server;
}

static void ring_next_block(void *state, cs_block *block)
{
    block->count = 0;
    cs_ring_pass_next(state, block);
}

/* (alpha + largest chunk / rate) per step, from the last arrival on: the largest chunk takes every
 * step at every rank. With late ranks or slow NICs that holds for equal chunks only; a NIC
 * that is always slow slows every step by as much, since every chunk passes it. */
static double ring_closed_form_s(const cs_scenario *scenario, const void *options)
{
    uint32_t n       = scenario->cluster.n_ranks, fabric;
    bool     uniform = cs_is_uniform(scenario, &fabric);
    bool     equal   = scenario->bytes % n == 0;
    uint64_t chunk   = cs_split(scenario->bytes, n, 0);
    double   last = cs_last_arrival(scenario), slow = 1;

    (void)options;
    if (!uniform && scenario->cluster.gpus_per_server == 1 && cs_capacity_is_constant(scenario)) {
        slow    = cs_largest_slowdown(scenario);
        uniform = equal && last == 0;
    }
    if (!uniform || (last > 0 && !equal)) {
        return (double)NAN;
    }
    const cs_fabric *f = &scenario->cluster.fabrics[fabric];
    return last + n_steps(scenario) * (f->alpha_s + slow * (double)chunk / f->bandwidth_Bps);
}

const cs_algorithm cs_algorithm_ring = {
    .name            = "ring",
    .summary         = "n chunks around a ring, 2(n-1) steps; on a slow NIC this is ICCL",
    .source          = "P. Patarasuk, X. Yuan, J. Parallel Distrib. Comput. 69 (2009)",
    .collectives     = RING_DOES,
    .equal_messages  = RING_DOES,
    .keep_one_server = ring_keep_one_server,
    .check           = ring_check,
    .open            = ring_open,
    .next_block      = ring_next_block,
    .close           = cs_free,
    .closed_form_s   = ring_closed_form_s,
    .takes_uneven    = true,
};
