/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rings through all ranks, server by server: nccl_rings, with several channels, each with its share
 * of every block, and flat_ring, with one.
 *
 * Every ring goes through the servers in order and through all L local ranks of a server; ring
 * j has an order of its own inside the servers, so that every ring enters and leaves a server by
 * another NIC. Where servers have different numbers of GPUs, the smallest one says how many rings
 * there are at most, as in NCCL, where all ranks take the least number of channels that one of
 * them finds. In step t the rank at position i of a ring of n sends the part of the block of
 * position (i - 1 - t) mod n to position i + 1. The first n - 1 steps add (ReduceScatter), the
 * next n - 1 copy (AllGather). An iterator: O(1) state, O(1) per transfer, no allocation.
 *
 * The flat ring is what Open MPI's ring algorithms do: every server sends with the NIC of its last
 * local rank and receives with that of its first one, and the other NICs are idle.
 *
 * Sources: NCCL's ring algorithm (S. Jeaugey, "NCCL 2.0", GTC 2017); R. Thakur, R. Rabenseifner, W.
 * Gropp, "Optimization of collective communication operations in MPICH", Int. J. High Perform.
 * Comput. Appl. 19 (2005).
 */
#include "algorithms/lib/accept.h"
#include "base/alloc.h"

#include <math.h>

#define RINGS_DO (1u << CS_ALLREDUCE | 1u << CS_REDUCESCATTER | 1u << CS_ALLGATHER)

/* The order of ring j inside a server. */
typedef enum channel_order {
    CHANNEL_ROTATED, /* j, j + 1, .. : entries and exits differ */
    CHANNEL_SOCKETS, /* one socket, then the other (L even), so that a ring crosses between
                           them once: 0123, 2301, 1032, 3210 */
} channel_order;

/* Set the first group, the rest to zero. */
typedef struct channel_rings {
    const cs_scenario *scenario; /* AllReduce, ReduceScatter or AllGather */
    uint32_t           channels; /* 1 .. GPUs of the smallest server, or 1 */
    channel_order      order;

    uint32_t step, channel, position; /* next; steps count from 0 for every collective */
} channel_rings;

/* Steps of the scenario's collective. */
static uint32_t steps_of(const cs_scenario *scenario)
{
    uint32_t half = scenario->cluster.n_ranks - 1;
    return scenario->collective == CS_ALLREDUCE ? 2 * half : half;
}

/* One block per rank, in `channels` chunks each. */
static cs_plan plan_of(const channel_rings *rings)
{
    const cs_cluster *cluster = &rings->scenario->cluster;
    uint32_t          parts   = cluster->n_ranks * rings->channels;

    return (cs_plan){.n_chunks             = parts,
                     .n_slots              = 2 * rings->channels,
                     .n_rounds             = steps_of(rings->scenario),
                     .uses                 = cs_uses_nvlink(cluster),
                     .chunks_differ        = rings->scenario->bytes % parts != 0,
                     .is_round_synchronous = rings->channels == 1};
}

/* Local rank at a place of a server of l, in the order of a channel. */
static uint32_t local_at(const channel_rings *r, uint32_t l, uint32_t channel, uint32_t place)
{
    uint32_t q = l / 2;

    if (r->order == CHANNEL_ROTATED) {
        return (place + channel) % l;
    }
    uint32_t turned = channel / 2;
    bool     first  = (place < q) == (channel % 2 == 0);
    return (first ? 0 : q) + (place % q + turned) % q;
}

/* A ring goes through the servers in the order of the ranks. */
__attribute__((noinline)) static uint32_t uneven_rank_at(const channel_rings *r, uint32_t channel,
                                                         uint32_t position)
{
    const cs_cluster *c      = &r->scenario->cluster;
    uint32_t          server = cs_server_of(c, position), first = cs_server_first(c, server);

    return first + local_at(r, cs_server_gpus(c, server), channel, position - first);
}

/* In the inner loop, where servers nearly always have as many GPUs. */
static inline uint32_t rank_at(const channel_rings *r, uint32_t channel, uint32_t position)
{
    uint32_t l = r->scenario->cluster.gpus_per_server;

    return cs_is_even(&r->scenario->cluster)
               ? position / l * l + local_at(r, l, channel, position % l)
               : uneven_rank_at(r, channel, position);
}

/* Blocks are split evenly, then their parts. */
static uint64_t part_bytes(const channel_rings *r, uint32_t chunk)
{
    uint64_t block =
        cs_split(r->scenario->bytes, r->scenario->cluster.n_ranks, chunk / r->channels);
    return cs_split(block, r->channels, chunk % r->channels);
}

static cs_transfer transfer(const channel_rings *r)
{
    const cs_scenario *s = r->scenario;
    uint32_t           n = s->cluster.n_ranks, i = r->position;
    uint32_t           step    = r->step + (s->collective == CS_ALLGATHER ? n - 1 : 0);
    bool               reduces = step < n - 1;
    uint32_t           owner   = (i + 3 * n - 1 - step) % n;
    uint32_t           src     = rank_at(r, r->channel, i);
    uint32_t           dst     = rank_at(r, r->channel, i + 1 == n ? 0 : i + 1);
    uint32_t           flags   = r->step == 0 ? CS_OWN_SRC : 0;
    uint32_t           chunk   = rank_at(r, r->channel, owner) * r->channels + r->channel;

    flags |= reduces ? CS_OWN_DST : 0;
    flags |= step + 1 >= n - 1 ? CS_DONE_DST : 0;
    return (cs_transfer){.src       = src,
                         .dst       = dst,
                         .chunk     = chunk,
                         .src_slot  = (uint16_t)(2 * r->channel + (step & 1u)),
                         .dst_slot  = (uint16_t)(2 * r->channel + ((step + 1) & 1u)),
                         .bytes     = part_bytes(r, chunk),
                         .round     = r->step,
                         .span      = 1,
                         .flags     = (uint8_t)flags,
                         .op_fabric = cs_op_fabric(reduces ? CS_OP_REDUCE : CS_OP_COPY,
                                                   cs_fabric_of(&s->cluster, src, dst))};
}

static void rings_next_block(void *state, cs_block *block)
{
    channel_rings *r = state;
    uint32_t       n = r->scenario->cluster.n_ranks, steps = steps_of(r->scenario);

    block->count = 0;
    while (r->step < steps && block->count < block->capacity) {
        block->transfers[block->count++] = transfer(r);
        if (++r->position < n) {
            continue;
        }
        r->position = 0;
        if (++r->channel == r->channels) {
            r->channel = 0;
            r->step++;
        }
    }
}

/* The steps one after the other over the NICs, in seconds: exact for equal parts when a server's
 * inside is not slower than its NICs, all arrive together and no NIC is slow; otherwise NAN. */
static double form_s(const channel_rings *r)
{
    const cs_scenario *s      = r->scenario;
    const cs_cluster  *c      = &s->cluster;
    uint32_t           parts  = c->n_ranks * r->channels;
    uint32_t           slower = c->sockets > 1 ? CS_CROSS : CS_NVLINK;
    bool               inside = c->gpus_per_server > 1;

    if (cs_n_servers(c) == 1 || c->servers != NULL || c->uneven != NULL || s->n_capacity > 0 ||
        cs_last_arrival(s) > 0 || s->bytes % parts != 0) {
        return (double)NAN;
    }
    double step_s = cs_message_s(s, CS_NIC, s->bytes / parts);
    if (inside && (r->channels * cs_message_s(s, CS_NVLINK, s->bytes / parts) > step_s ||
                   r->channels * cs_message_s(s, slower, s->bytes / parts) > step_s)) {
        return (double)NAN;
    }
    return steps_of(s) * step_s;
}

/* ---- nccl_rings ---- */

enum { MOST_CHANNELS = 32767 }; /* two slots each */

typedef struct nccl_options {
    uint32_t channels;
    int      order; /* channel_order */
} nccl_options;

static const cs_field nccl_table[] = {
    CS_OPTION_AUTO(nccl_options, channels, 1, MOST_CHANNELS,
                   "rings, at most one per GPU of the smallest server; auto: as many"),
    CS_OPTION_CHOICE(nccl_options, order, "rotated|sockets",
                     "ranks inside a server: rotated by ring, or one socket after the other"),
    CS_FIELD_END,
};

static channel_rings rings_of(const cs_scenario *scenario, const nccl_options *options)
{
    return (channel_rings){.scenario = scenario,
                           .channels = options->channels,
                           .order    = (channel_order)options->order};
}

static cs_status check_options(const cs_scenario *scenario, nccl_options *o, cs_error *err)
{
    const cs_cluster *c = &scenario->cluster;
    uint32_t          g = cs_least_gpus(c);

    if (o->channels == CS_AUTO) {
        o->channels = g;
    }
    if (o->channels > g) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.channels",
                       "%u rings need as many NICs in a server, which has %u", o->channels, g);
    }
    if (o->order == CHANNEL_SOCKETS && c->uneven != NULL) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.order",
                       "sockets needs as many GPUs in every server, here are %u to %u", g,
                       c->gpus_per_server);
    }
    if (o->order == CHANNEL_SOCKETS && g % 2 != 0) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.order",
                       "sockets needs as many GPUs on either socket, got %u per server", g);
    }
    return CS_OK;
}

static cs_status nccl_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                            cs_error *err)
{
    CS_TRY(check_options(scenario, options, err));
    uint64_t n_slots = 2 * (uint64_t)((const nccl_options *)options)->channels;
    CS_TRY(cs_accept_slots(scenario, "nccl_rings", n_slots, err));
    channel_rings rings = rings_of(scenario, options);
    *plan               = plan_of(&rings);
    return CS_OK;
}

static cs_status open_rings(channel_rings rings, void **state_p, cs_error *err)
{
    channel_rings *r = CS_NEW(channel_rings, 1);

    if (r == NULL) {
        return CS_NO_MEMORY(err, "rings");
    }
    *r       = rings;
    *state_p = r;
    return CS_OK;
}

static cs_status nccl_open(const cs_scenario *scenario, const void *options, void **state_p,
                           cs_error *err)
{
    return open_rings(rings_of(scenario, options), state_p, err);
}

static double nccl_closed_form_s(const cs_scenario *scenario, const void *options)
{
    channel_rings rings = rings_of(scenario, options);
    return form_s(&rings);
}

const cs_algorithm cs_algorithm_nccl_rings = {
    .name          = "nccl_rings",
    .summary       = "one ring per channel, each with its share of every block, over all NICs",
    .source        = "NCCL's rings (S. Jeaugey, GTC 2017)",
    .collectives   = RINGS_DO,
    .options       = nccl_table,
    .options_bytes = sizeof(nccl_options),
    .check         = nccl_check,
    .open          = nccl_open,
    .next_block    = rings_next_block,
    .close         = cs_free,
    .closed_form_s = nccl_closed_form_s,
    .takes_uneven  = true,
};

/* ---- the flat ring: one channel, which knows nothing of servers ---- */

static const nccl_options flat = {.channels = 1};

static cs_status flat_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                            cs_error *err)
{
    channel_rings rings = rings_of(scenario, &flat);

    (void)options;
    (void)err;
    *plan = plan_of(&rings);
    return CS_OK;
}

static cs_status flat_open(const cs_scenario *scenario, const void *options, void **state_p,
                           cs_error *err)
{
    (void)options;
    return open_rings(rings_of(scenario, &flat), state_p, err);
}

static double flat_closed_form_s(const cs_scenario *scenario, const void *options)
{
    (void)options;
    return nccl_closed_form_s(scenario, &flat);
}

const cs_algorithm cs_algorithm_flat_ring = {
    .name        = "flat_ring",
    .summary     = "one ring through all ranks, server by server: one NIC of a server in, one out",
    .source      = "R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19 (2005); Open MPI's ring",
    .collectives = RINGS_DO,
    .check       = flat_check,
    .open        = flat_open,
    .next_block  = rings_next_block,
    .close       = cs_free,
    .closed_form_s = flat_closed_form_s,
    .takes_uneven  = true,
};
