/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AlltoAll in two steps: inside the servers, then over the rails.
 *
 * N servers of L GPUs. A block for local rank q of another server goes to the mate q in the own
 * server first; q sends to the local rank q there the L blocks that its server has for it, as one
 * message. So a NIC sends N - 1 messages instead of (N - 1) L, all to its own rail, and the same
 * bytes. By `gather`:
 *   all     MSCCL: step 1 for all servers, a rank sends to its mate q all its blocks for the local
 *           ranks q as one message, then step 2. The fewest messages.
 *   server  NCCL's PXN: server by server; while the NICs send what is gathered for one, the blocks
 *           for the next are gathered. Those for the own server come last.
 * Distance by distance, so that no port waits for another. A message has at most CS_MAX_PARTS
 * blocks; where there are more, it is several.
 *
 * At local rank q, slot p N + t keeps the block of its mate p for server t; those of the rank's own
 * server have arrived for good and make room for what comes in step 2.
 *
 * Sources: M. Cowan et al., "MSCCLang: Microsoft Collective Communication Language", ASPLOS 2023,
 * its Two-Step AllToAll; K. Mandakolathur, S. Jeaugey, "Doubling all2all Performance with NVIDIA
 * Collective Communication Library 2.12" (2022), on PXN.
 */
#include "algorithms/lib/accept.h"
#include "base/alloc.h"

#include <assert.h>
#include <math.h>

typedef struct two_step_options {
    int gather; /* ALL, BY_SERVER */
} two_step_options;

enum { ALL, BY_SERVER };

static const cs_field two_step_table[] = {
    CS_OPTION_CHOICE(two_step_options, gather, "all|server",
                     "gather the blocks for all servers first, or for one while those for another "
                     "are sent (PXN)"),
    CS_FIELD_END,
};

typedef struct two_step {
    const cs_scenario *scenario;
    uint32_t           servers, locals;
    bool               by_server, on_rails, is_over; /* on_rails: step 2 */
    uint32_t           turn; /* by server: how far ahead it is, 1 .. N - 1, and N, the own one */
    uint32_t           distance, group, rank, round;
} two_step;

/* Blocks of a step's message between two ranks, and how many messages they are. */
static uint32_t blocks_of(const two_step *a)
{
    return a->on_rails ? a->locals : a->by_server ? 1 : a->servers;
}

static uint32_t groups_for(uint32_t blocks)
{
    return (blocks + CS_MAX_PARTS - 1) / CS_MAX_PARTS;
}

static cs_status two_step_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                                cs_error *err)
{
    const cs_cluster *c = &scenario->cluster;
    uint32_t          n = c->n_ranks, servers = cs_n_servers(c), locals = c->gpus_per_server;
    bool              by_server = ((const two_step_options *)options)->gather == BY_SERVER;

    CS_TRY(cs_accept_pairs(scenario, "two_step_alltoall", err));
    CS_TRY(cs_accept_slots(scenario, "two_step_alltoall", n, err));
    *plan = (cs_plan){.n_chunks = n * n,
                      .n_slots  = n,
                      .n_rounds = (locals - 1) * (by_server ? servers : groups_for(servers)) +
                                  (servers - 1) * groups_for(locals),
                      .uses = cs_uses_nvlink(c) | (locals > 1 && servers > 1 ? CS_USES_JOIN : 0u)};
    return CS_OK;
}

static cs_status two_step_open(const cs_scenario *scenario, const void *options, void **state_p,
                               cs_error *err)
{
    two_step *a = CS_NEW(two_step, 1);

    if (a == NULL) {
        return CS_NO_MEMORY(err, "two_step_alltoall");
    }
    *a          = (two_step){.scenario  = scenario,
                             .servers   = cs_n_servers(&scenario->cluster),
                             .locals    = scenario->cluster.gpus_per_server,
                             .by_server = ((const two_step_options *)options)->gather == BY_SERVER,
                             .turn      = 1,
                             .distance  = 1};
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
        uint32_t ahead  = a->by_server ? a->turn : a->distance;
        uint32_t target = (server + ahead) % a->servers;
        from            = server * l + number;
        to = dst = target * l + local;
        slot     = number * a->servers + target;
        is_own   = number == local;
    } else {
        uint32_t target = a->by_server ? (server + a->turn) % a->servers : number;
        dst             = server * l + (local + a->distance) % l;
        from            = a->rank;
        to              = target * l + dst % l;
        slot            = local * a->servers + target;
        is_last         = to == dst;
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

/* What comes behind the last message of a step, or of one for a server. */
static void next_step(two_step *a)
{
    bool was_on_rails = a->on_rails;

    a->distance = 1;
    if (!a->by_server) {
        a->on_rails = true;
        a->is_over  = was_on_rails || a->servers == 1;
        return;
    }
    a->turn += was_on_rails;
    a->on_rails = a->locals == 1 || (!was_on_rails && a->turn < a->servers);
    a->is_over  = a->turn == a->servers && (a->locals == 1 || !was_on_rails);
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
    if ((a->on_rails && a->by_server) ||
        ++a->distance > (a->on_rails ? a->servers : a->locals) - 1) {
        next_step(a);
    }
}

static void two_step_next_block(void *state, cs_block *block)
{
    two_step *a = state;

    assert(a->locals > 0 && a->servers > 0);
    block->count = 0;
    while (!a->is_over) {
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
 * of step 1 at once. By server the NICs wait for the first blocks that are gathered, or for the
 * last ones, behind which those for the own server come. */
static double two_step_closed_form_s(const cs_scenario *scenario, const void *options)
{
    const cs_cluster *c = &scenario->cluster;
    const cs_fabric  *f = c->fabrics;
    uint32_t          l = c->gpus_per_server, n = cs_n_servers(c);
    double            block     = (double)scenario->bytes / c->n_ranks;
    bool              by_server = ((const two_step_options *)options)->gather == BY_SERVER;

    if (scenario->bytes % c->n_ranks != 0 || c->sockets > 1 || c->servers != NULL ||
        scenario->n_capacity > 0 || (l > 1 && cs_last_arrival(scenario) > 0) ||
        cs_waits_for_links(c, CS_NVLINK)) {
        return (double)NAN;
    }
    uint32_t serial  = f[CS_NVLINK].kind == CS_DIRECT && l > 1 ? 1 : l - 1;
    double   rails_s = groups_for(l) * f[CS_NIC].alpha_s + l * block / f[CS_NIC].bandwidth_Bps;
    if (by_server) {
        double inside_s = serial * (f[CS_NVLINK].alpha_s + block / f[CS_NVLINK].bandwidth_Bps);
        double first_s = inside_s + (n - 1) * rails_s, last_s = (n - 1) * inside_s + rails_s;
        return cs_last_arrival(scenario) +
               (n > 1 ? fmax(n * inside_s, fmax(first_s, last_s)) : inside_s);
    }
    double inside_s = groups_for(n) * f[CS_NVLINK].alpha_s + n * block / f[CS_NVLINK].bandwidth_Bps;
    return cs_last_arrival(scenario) + serial * inside_s + (n - 1) * rails_s;
}

const cs_algorithm cs_algorithm_two_step_alltoall = {
    .name          = "two_step_alltoall",
    .aliases       = "pxn",
    .summary       = "AlltoAll inside the servers, then one message to each server: MSCCL, PXN",
    .source        = "M. Cowan et al., MSCCLang, ASPLOS 2023; NCCL 2.12 (PXN)",
    .collectives   = 1u << CS_ALLTOALL,
    .options       = two_step_table,
    .options_bytes = sizeof(two_step_options),
    .check         = two_step_check,
    .open          = two_step_open,
    .next_block    = two_step_next_block,
    .close         = cs_free,
    .closed_form_s = two_step_closed_form_s,
};
