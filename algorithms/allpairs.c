/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Everybody talks to everybody: MSCCL's allpairs AllReduce in two rounds, and its halves.
 *
 * n chunks. In round 0 every rank sends chunk j to rank j, which adds them up (ReduceScatter); in
 * round 1 rank j sends the sum to all others (AllGather). In an AlltoAll, as NCCL does it, every
 * rank sends its block for j to rank j: n - 1 sends and receives in one group. Rounds are SHARED
 * groups: the n - 1 messages of a port are posted together, pay alpha once and share its
 * bandwidth. Distance by distance (every rank sends to the rank `distance` ahead), so that no port
 * has to wait for another.
 *
 * Sources: M. Cowan et al., "MSCCLang: Microsoft Collective Communication Language", ASPLOS 2023;
 * NCCL User Guide, point-to-point communication, all-to-all.
 */
#include "algorithms/lib/accept.h"
#include "base/alloc.h"

#include <math.h>

enum { SUM_SLOT = 0, FINAL_SLOT = 1, N_SLOTS = 2 };

typedef struct allpairs {
    const cs_scenario *scenario;
    uint32_t           round, end_round; /* 0: to whom a chunk belongs, 1: from it to all */
    uint32_t           distance, rank;
} allpairs;

static uint32_t first_round(cs_collective collective)
{
    return collective == CS_ALLGATHER ? 1 : 0;
}

static uint32_t rounds_of(cs_collective collective)
{
    return collective == CS_ALLREDUCE ? 2 : 1;
}

static cs_status allpairs_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                                cs_error *err)
{
    uint32_t n       = scenario->cluster.n_ranks;
    bool     is_pair = scenario->collective == CS_ALLTOALL;

    (void)options;
    if (is_pair) {
        CS_TRY(cs_accept_pairs(scenario, "allpairs", err));
    }
    *plan = (cs_plan){.n_chunks = is_pair ? n * n : n,
                      .n_slots  = N_SLOTS,
                      .n_rounds = rounds_of(scenario->collective),
                      .uses     = CS_USES_SHARED | cs_uses_nvlink(&scenario->cluster)};
    return CS_OK;
}

static cs_status allpairs_open(const cs_scenario *scenario, const void *options, void **state_p,
                               cs_error *err)
{
    allpairs *a = CS_NEW(allpairs, 1);

    (void)options;
    if (a == NULL) {
        return CS_NO_MEMORY(err, "allpairs");
    }
    uint32_t first = first_round(scenario->collective);
    *a             = (allpairs){.scenario  = scenario,
                                .round     = first,
                                .end_round = first + rounds_of(scenario->collective),
                                .distance  = 1};
    *state_p       = a;
    return CS_OK;
}

static cs_transfer current(const allpairs *a)
{
    const cs_scenario *s       = a->scenario;
    uint32_t           n       = s->cluster.n_ranks;
    uint32_t           ahead   = a->rank + a->distance;
    uint32_t           dst     = ahead < n ? ahead : ahead - n;
    bool               is_pair = s->collective == CS_ALLTOALL;
    bool               reduces = a->round == 0 && !is_pair;
    uint32_t           block   = a->round == 0 ? dst : a->rank;
    uint32_t           flags   = CS_SHARED;

    if (reduces) {
        flags |= CS_OWN_SRC | (a->distance == 1 ? CS_OWN_DST : 0);
        flags |= a->distance == n - 1 ? CS_DONE_DST : 0;
    } else {
        flags |= CS_DONE_DST | (s->collective == CS_ALLREDUCE ? 0 : CS_OWN_SRC);
    }
    return (cs_transfer){
        .src       = a->rank,
        .dst       = dst,
        .chunk     = is_pair ? a->rank * n + dst : block,
        .src_slot  = SUM_SLOT,
        .dst_slot  = reduces ? SUM_SLOT : FINAL_SLOT,
        .bytes     = cs_split(s->bytes, n, block),
        .round     = a->round - first_round(s->collective),
        .span      = 1,
        .flags     = (uint8_t)flags,
        .op_fabric = cs_op_fabric(reduces ? CS_OP_REDUCE : CS_OP_COPY,
                                  cs_fabric_of(&s->cluster, a->rank, dst)),
    };
}

static void allpairs_next_block(void *state, cs_block *block)
{
    allpairs *a = state;
    uint32_t  n = a->scenario->cluster.n_ranks;

    block->count = 0;
    while (a->round < a->end_round && block->count < block->capacity) {
        block->transfers[block->count++] = current(a);
        if (++a->rank == n) {
            a->rank = 0;
            if (++a->distance == n) {
                a->distance = 1;
                a->round++;
            }
        }
    }
}

/* alpha + (n-1)/n s beta a round, from the last arrival on: the late rank's own sending and
 * receiving take that long. */
static double allpairs_closed_form_s(const cs_scenario *scenario, const void *options)
{
    uint32_t n = scenario->cluster.n_ranks, fabric;

    (void)options;
    if (!cs_is_uniform(scenario, &fabric) || scenario->bytes % n != 0) {
        return (double)NAN;
    }
    uint64_t fan = scenario->bytes / n * (n - 1);
    return cs_last_arrival(scenario) +
           rounds_of(scenario->collective) * cs_message_s(scenario, fabric, fan);
}

const cs_algorithm cs_algorithm_allpairs = {
    .name    = "allpairs",
    .aliases = "linear",
    .summary = "MSCCL allpairs, NCCL's AlltoAll: everybody to everybody, alpha once a round",
    .source  = "M. Cowan et al., MSCCLang, ASPLOS 2023; NCCL User Guide",
    .collectives =
        1u << CS_ALLREDUCE | 1u << CS_REDUCESCATTER | 1u << CS_ALLGATHER | 1u << CS_ALLTOALL,
    .check         = allpairs_check,
    .open          = allpairs_open,
    .next_block    = allpairs_next_block,
    .close         = cs_free,
    .closed_form_s = allpairs_closed_form_s,
    .takes_uneven  = true,
};
