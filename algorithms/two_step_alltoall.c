/* SPDX-License-Identifier: GPL-3.0-or-later */
/* MSCCL's two-step AlltoAll: inside the servers, then over the rails.
 *
 * N servers of L GPUs. In step 1 a rank sends to its mate q all its blocks for the local ranks q of
 * all servers, as one message; in step 2 q sends to the local rank q of another server the L blocks
 * that its server has for it, as one message. So a NIC sends N - 1 messages instead of (N - 1) L,
 * all to its own rail, and the same bytes. Distance by distance, so that no port waits for
 * another. A message has at most CS_MAX_PARTS blocks; where there are more, it is several.
 *
 * At local rank q, slot p N + t keeps the block of its mate p for server t; those of the rank's own
 * server have arrived for good and make room for what comes in step 2.
 *
 * Source: M. Cowan et al., "MSCCLang: Microsoft Collective Communication Language", ASPLOS 2023,
 * its Two-Step AllToAll.
 */
#include "algorithms/lib/accept.h"
#include "base/alloc.h"

#include <assert.h>
#include <math.h>

typedef struct two_step {
    const cs_scenario *scenario;
    uint32_t           servers, locals;
    bool               on_rails; /* step 2 */
    uint32_t           distance, group, rank, round;
} two_step;

/* Blocks of a step's message between two ranks, and how many messages they are. */
static uint32_t blocks_of(const two_step *a)
{
    return a->on_rails ? a->locals : a->servers;
}

static uint32_t groups_for(uint32_t blocks)
{
    return (blocks + CS_MAX_PARTS - 1) / CS_MAX_PARTS;
}

/* Ranks that every one sends to in a step. */
static uint32_t peers_of(const two_step *a)
{
    return (a->on_rails ? a->servers : a->locals) - 1;
}

static cs_status two_step_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                                cs_error *err)
{
    const cs_cluster *c = &scenario->cluster;
    uint32_t          n = c->n_ranks, servers = cs_n_servers(c), locals = c->gpus_per_server;

    (void)options;
    CS_TRY(cs_accept_pairs(scenario, "two_step_alltoall", err));
    CS_TRY(cs_accept_slots(scenario, "two_step_alltoall", n, err));
    *plan = (cs_plan){.n_chunks = n * n,
                      .n_slots  = n,
                      .n_rounds =
                          (locals - 1) * groups_for(servers) + (servers - 1) * groups_for(locals),
                      .uses = cs_uses_nvlink(c) | (locals > 1 && servers > 1 ? CS_USES_JOIN : 0u)};
    return CS_OK;
}

static cs_status two_step_open(const cs_scenario *scenario, const void *options, void **state_p,
                               cs_error *err)
{
    two_step *a = CS_NEW(two_step, 1);

    (void)options;
    if (a == NULL) {
        return CS_NO_MEMORY(err, "two_step_alltoall");
    }
    *a          = (two_step){.scenario = scenario,
                             .servers  = cs_n_servers(&scenario->cluster),
                             .locals   = scenario->cluster.gpus_per_server,
                             .distance = 1};
    a->on_rails = a->locals == 1;
    *state_p    = a;
    return CS_OK;
}

/* Block `number` of the message from this place's rank: to mate q, for server `number`; over the
 * rail, from local rank `number`. */
static cs_transfer block_of(const two_step *a, uint32_t number)
{
    const cs_scenario *s = a->scenario;
    uint32_t           n = s->cluster.n_ranks, l = a->locals;
    uint32_t           server = a->rank / l, local = a->rank % l;
    uint32_t           from, to, slot, dst;
    bool               is_last = true, is_own = true;

    if (a->on_rails) {
        uint32_t target = (server + a->distance) % a->servers;
        from            = server * l + number;
        to = dst = target * l + local;
        slot     = number * a->servers + target;
        is_own   = number == local;
    } else {
        dst     = server * l + (local + a->distance) % l;
        from    = a->rank;
        to      = number * l + dst % l;
        slot    = local * a->servers + number;
        is_last = to == dst;
    }
    return (cs_transfer){
        .src       = a->rank,
        .dst       = dst,
        .chunk     = from * n + to,
        .src_slot  = (uint16_t)slot,
        .dst_slot  = (uint16_t)slot,
        .bytes     = cs_split(s->bytes, n, to),
        .round     = a->round,
        .span      = 1,
        .flags     = (uint8_t)((is_own ? CS_OWN_SRC : 0) | (is_last ? CS_DONE_DST : 0)),
        .op_fabric = cs_op_fabric(CS_OP_COPY, cs_fabric_of(&s->cluster, a->rank, dst)),
    };
}

static void next_place(two_step *a)
{
    if (++a->rank < a->scenario->cluster.n_ranks) {
        return;
    }
    a->rank = 0;
    a->round++;
    if (++a->group < groups_for(blocks_of(a))) {
        return;
    }
    a->group = 0;
    if (++a->distance > peers_of(a) && !a->on_rails) {
        a->distance = 1;
        a->on_rails = true;
    }
}

static void two_step_next_block(void *state, cs_block *block)
{
    two_step *a = state;

    assert(a->locals > 0 && a->servers > 0);
    block->count = 0;
    while (a->distance <= peers_of(a)) {
        uint32_t first = a->group * CS_MAX_PARTS, left = blocks_of(a) - first;
        uint32_t count = left < CS_MAX_PARTS ? left : CS_MAX_PARTS;
        if (block->count + count > block->capacity) {
            return;
        }
        for (uint32_t i = 0; i < count; i++) {
            cs_transfer t = block_of(a, first + i);
            t.flags |= i > 0 ? CS_JOIN : 0;
            block->transfers[block->count++] = t;
        }
        next_place(a);
    }
}

/* Equal blocks, all together and alike: the messages of a rank one after the other, in a mesh those
 * of step 1 at once. */
static double two_step_closed_form_s(const cs_scenario *scenario, const void *options)
{
    const cs_cluster *c = &scenario->cluster;
    const cs_fabric  *f = c->fabrics;
    uint32_t          l = c->gpus_per_server, n = cs_n_servers(c);
    double            block = (double)scenario->bytes / c->n_ranks;

    (void)options;
    if (scenario->bytes % c->n_ranks != 0 || c->sockets > 1 || c->servers != NULL ||
        scenario->n_capacity > 0 || (l > 1 && cs_last_arrival(scenario) > 0) ||
        cs_waits_for_links(c, CS_NVLINK)) {
        return (double)NAN;
    }
    uint32_t serial = f[CS_NVLINK].kind == CS_DIRECT && l > 1 ? 1 : l - 1;
    double inside_s = groups_for(n) * f[CS_NVLINK].alpha_s + n * block / f[CS_NVLINK].bandwidth_Bps;
    double rails_s  = groups_for(l) * f[CS_NIC].alpha_s + l * block / f[CS_NIC].bandwidth_Bps;
    return cs_last_arrival(scenario) + serial * inside_s + (n - 1) * rails_s;
}

const cs_algorithm cs_algorithm_two_step_alltoall = {
    .name          = "two_step_alltoall",
    .summary       = "MSCCL's AlltoAll: inside the servers, then one message to each server",
    .source        = "M. Cowan et al., MSCCLang, ASPLOS 2023",
    .collectives   = 1u << CS_ALLTOALL,
    .check         = two_step_check,
    .open          = two_step_open,
    .next_block    = two_step_next_block,
    .close         = cs_free,
    .closed_form_s = two_step_closed_form_s,
};
