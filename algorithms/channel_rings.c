/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rings through all ranks, server by server: nccl_rings, with several channels, each with its share
 * of every block, flat_ring, with one, and reduce_ring, chains along them for one root.
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

#include <assert.h>
#include <math.h>

#define RINGS_DO (1u << CS_ALLREDUCE | 1u << CS_REDUCESCATTER | 1u << CS_ALLGATHER)

/* The order of ring j inside a server. */
typedef enum channel_order {
    CHANNEL_ROTATED, /* j, j + 1, .. : entries and exits differ */
    CHANNEL_SOCKETS, /* one socket, then the other (L even), so that a ring crosses between
                           them once: 0123, 2301, 1032, 3210 */
    CHANNEL_MESH,    /* no two rings over the same link of a mesh */
} channel_order;

/* Set the first group, the rest to zero. */
typedef struct channel_rings {
    const cs_scenario *scenario; /* AllReduce, ReduceScatter or AllGather */
    uint32_t           channels; /* 1 .. GPUs of the smallest server, or 1 */
    channel_order      order;
    uint32_t           n_senders; /* only the first so many positions send; 0: all */

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

/* Number `i` of 0, 1, -1, 2, -2, .., which are different up to modulo i + 1. */
static int64_t zigzag(uint32_t i)
{
    return i % 2 == 1 ? ((int64_t)i + 1) / 2 : -(int64_t)(i / 2);
}

static uint32_t modulo(int64_t a, uint32_t n)
{
    return (uint32_t)((a % n + n) % n);
}

/* Rings inside a server of l GPUs over links of which none is in two of them. Where they go on to
 * another server, and l is even, they are the l shifts of one zigzag path, whose steps all differ:
 * all links are in use. Closed ones are the Hamilton cycles of E. Lucas and Walecki (1892), both
 * ways: all links for odd l, all but l of them, one of each GPU's, for even l. */
static uint32_t mesh_rings(const cs_cluster *c)
{
    const uint32_t l = cs_least_gpus(c);

    if (l < 3) {
        return l;
    }
    return l % 2 == 1 ? l - 1 : cs_n_servers(c) > 1 ? l : l - 2;
}

static uint32_t mesh_at(const cs_cluster *c, uint32_t channel, uint32_t place)
{
    const uint32_t l = c->gpus_per_server, half = mesh_rings(c) / 2;
    const bool     is_open = cs_n_servers(c) > 1;

    if (l < 3) {
        return (place + channel) % l;
    }
    if (is_open && l % 2 == 0) {
        return modulo(channel + zigzag(place), l);
    }
    const uint32_t at      = is_open ? (place + channel) % l : place; /* enters by its own NIC */
    const uint32_t number  = channel % half;
    const uint32_t forward = channel < half ? at : (l - at) % l;
    if (forward == 0) {
        return l - 1;
    }
    return l % 2 == 1 ? modulo(number + zigzag(forward - 1), l - 1)
                      : modulo(2 * (number + zigzag(forward - 1)), l - 1);
}

/* Local rank at a place of a server of l, in the order of a channel. */
static uint32_t local_at(const channel_rings *r, uint32_t l, uint32_t channel, uint32_t place)
{
    uint32_t q = l / 2;

    assert(l > 0);
    if (r->order == CHANNEL_MESH) {
        return mesh_at(&r->scenario->cluster, channel, place);
    }
    if (r->order == CHANNEL_ROTATED || q == 0) {
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
    channel_rings *r     = state;
    uint32_t       n     = r->n_senders > 0 ? r->n_senders : r->scenario->cluster.n_ranks;
    uint32_t       steps = steps_of(r->scenario);

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

static void rings_keep_one_server(void *state)
{
    channel_rings *r = state;
    r->n_senders     = r->scenario->cluster.gpus_per_server;
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

#define CHANNEL_ROWS                                                                               \
    CS_OPTION_AUTO(nccl_options, channels, 1, MOST_CHANNELS,                                       \
                   "rings, at most one per GPU of the smallest server; auto: as many"),            \
        CS_OPTION_CHOICE(nccl_options, order, "rotated|sockets|mesh",                              \
                         "ranks inside a server: rotated by ring, one socket after the other, or " \
                         "no link of a mesh in two rings")

static const cs_field nccl_table[] = {CHANNEL_ROWS, CS_FIELD_END};

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

    const bool is_mesh = o->order == CHANNEL_MESH;

    if (is_mesh && c->uneven != NULL) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.order",
                       "mesh needs as many GPUs in every server, here are %u to %u", g,
                       c->gpus_per_server);
    }
    if (o->channels == CS_AUTO) {
        o->channels = is_mesh ? mesh_rings(c) : g;
    }
    if (is_mesh && o->channels > mesh_rings(c)) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.channels",
                       "%u rings: the mesh of %u GPUs has %u over links of their own", o->channels,
                       g, mesh_rings(c));
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
    .name            = "nccl_rings",
    .summary         = "one ring per channel, each with its share of every block, over all NICs",
    .source          = "NCCL's rings (S. Jeaugey, GTC 2017)",
    .collectives     = RINGS_DO,
    .options         = nccl_table,
    .options_bytes   = sizeof(nccl_options),
    .check           = nccl_check,
    .open            = nccl_open,
    .equal_messages  = RINGS_DO,
    .keep_one_server = rings_keep_one_server,
    .next_block      = rings_next_block,
    .close           = cs_free,
    .closed_form_s   = nccl_closed_form_s,
    .takes_uneven    = true,
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
    .equal_messages  = RINGS_DO,
    .keep_one_server = rings_keep_one_server,
    .next_block      = rings_next_block,
    .close           = cs_free,
    .closed_form_s   = flat_closed_form_s,
    .takes_uneven    = true,
};

/* ---- reduce_ring: chains along the rings ----
 *
 * The chain of a channel begins behind the root and ends there (Reduce), or begins at the root
 * (Broadcast). In turn v hop h carries chunk v - h of the channel's share: chunk k has come in the
 * turn before. A rank receives chunk k + 1 while it sends chunk k, so two slots do.
 *
 * Source: NCCL's ncclReduce and ncclBroadcast, which have no other algorithm.
 */

enum { MOST_CHUNKS = 1 << 20, MOST_AUTO_CHUNKS = 1024 };

typedef struct chain_options {
    nccl_options rings; /* first: rows of nccl_options are rows of these */
    uint32_t     chunks;
} chain_options;

static const cs_field chain_table[] = {
    CHANNEL_ROWS,
    CS_OPTION_AUTO(chain_options, chunks, 1, MOST_CHUNKS,
                   "chunks that a ring's share is cut in; auto: by alpha and bandwidth"),
    CS_FIELD_END,
};

typedef struct chains {
    channel_rings rings; /* which position is whose */
    uint32_t      chunks;
    uint32_t      turn, channel, hop; /* next */
    uint32_t      root_at;            /* the root's position in the channel's ring */
} chains;

/* Position of the root in a channel's ring. */
static uint32_t root_position(const channel_rings *r, uint32_t channel)
{
    const cs_cluster *c    = &r->scenario->cluster;
    uint32_t          root = r->scenario->root, place = 0;
    uint32_t          server = cs_server_of(c, root), l = cs_server_gpus(c, server);

    while (local_at(r, l, channel, place) != cs_local_rank(c, root)) {
        place++;
    }
    return cs_server_first(c, server) + place;
}

/* The rank that hop h of a channel starts at; of hop n - 1: at which the last one ends. */
static uint32_t chain_rank(const chains *c, uint32_t hop)
{
    const cs_scenario *s    = c->rings.scenario;
    uint32_t           from = c->root_at + (s->collective == CS_REDUCE ? 1 : 0);
    return rank_at(&c->rings, c->channel, (from + hop) % s->cluster.n_ranks);
}

/* What a byte takes between two ranks, whose NICs are as slow as they are at all times. */
static double hop_s_per_byte(const cs_scenario *s, uint32_t src, uint32_t dst)
{
    const cs_cluster *c    = &s->cluster;
    uint32_t          f    = cs_fabric_of(c, src, dst);
    double            slow = f == CS_NIC
                                 ? fmax(cs_port_slowdown_always(s, src), cs_port_slowdown_always(s, dst))
                                 : cs_server_ratio(c, cs_server_of(c, src), f);
    return slow / c->fabrics[f].bandwidth_Bps;
}

/* K chunks of x / K over hops of (alpha_h + beta_h x / K) take the sum of all hops and K - 1 times
 * the longest: the best K has (K - 1) alpha = what the other hops take for x / K. */
static uint32_t best_chunks(const cs_scenario *s, uint32_t channels)
{
    const cs_cluster *c       = &s->cluster;
    uint32_t          fabric  = cs_uses_nics(c) ? CS_NIC : CS_NVLINK;
    uint32_t          servers = cs_n_servers(c);
    double            x = (double)s->bytes / channels, others = 0;

    others += fmax(servers - 2.0, 0) / cs_least_Bps(c, CS_NIC);
    if (c->gpus_per_server > 1) {
        uint32_t inside = c->n_ranks - servers - (servers == 1 ? 1 : 0);
        others += inside / cs_least_Bps(c, CS_NVLINK);
    }
    double best = sqrt(others * x / c->fabrics[fabric].alpha_s);
    return (uint32_t)fmax(1, fmin(rint(best), fmin(x, MOST_AUTO_CHUNKS)));
}

static cs_status chain_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                             cs_error *err)
{
    chain_options    *o       = options;
    const cs_cluster *cluster = &scenario->cluster;

    CS_TRY(check_options(scenario, &o->rings, err));
    CS_TRY(cs_accept_slots(scenario, "reduce_ring", 2 * (uint64_t)o->rings.channels, err));
    o->chunks = o->chunks == CS_AUTO ? best_chunks(scenario, o->rings.channels) : o->chunks;
    if ((uint64_t)o->chunks * o->rings.channels > UINT32_MAX) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.chunks",
                       "%u chunks for each of %u rings: at most 2^32 - 1 in all are accepted",
                       o->chunks, o->rings.channels);
    }
    *plan = (cs_plan){.n_chunks = o->chunks * o->rings.channels,
                      .n_slots  = 2 * o->rings.channels,
                      .n_rounds = o->chunks + cluster->n_ranks - 2,
                      .uses     = cs_uses_nvlink(cluster)};
    return CS_OK;
}

static void enter_channel(chains *c, uint32_t channel)
{
    c->channel = channel;
    c->root_at = root_position(&c->rings, channel);
}

static cs_status chain_open(const cs_scenario *scenario, const void *options, void **state_p,
                            cs_error *err)
{
    const chain_options *o = options;
    chains              *c = CS_NEW(chains, 1);

    if (c == NULL) {
        return CS_NO_MEMORY(err, "chains");
    }
    c->rings  = rings_of(scenario, &o->rings);
    c->chunks = o->chunks;
    enter_channel(c, 0);
    *state_p = c;
    return CS_OK;
}

static cs_transfer hop_of(const chains *c)
{
    const cs_scenario *s       = c->rings.scenario;
    bool               reduces = s->collective == CS_REDUCE;
    uint32_t           number = c->turn - c->hop, chunk = c->channel * c->chunks + number;
    uint32_t           src = chain_rank(c, c->hop), dst = chain_rank(c, c->hop + 1);
    uint32_t           slot  = 2 * c->channel + (number & 1u);
    uint32_t           flags = c->hop == 0 ? CS_OWN_SRC : 0;

    flags |= reduces ? CS_OWN_DST : 0;
    flags |= !reduces || c->hop + 2 == s->cluster.n_ranks ? CS_DONE_DST : 0;
    return (cs_transfer){.src       = src,
                         .dst       = dst,
                         .chunk     = chunk,
                         .src_slot  = (uint16_t)slot,
                         .dst_slot  = (uint16_t)slot,
                         .bytes     = cs_split(s->bytes, c->rings.channels * c->chunks, chunk),
                         .round     = c->turn,
                         .span      = 1,
                         .flags     = (uint8_t)flags,
                         .op_fabric = cs_op_fabric(reduces ? CS_OP_REDUCE : CS_OP_COPY,
                                                   cs_fabric_of(&s->cluster, src, dst))};
}

static void next_hop(chains *c)
{
    if (++c->hop + 1 < c->rings.scenario->cluster.n_ranks) {
        return;
    }
    c->hop = 0;
    if (c->rings.channels > 1) {
        enter_channel(c, (c->channel + 1) % c->rings.channels);
    }
    c->turn += c->channel == 0;
}

static void chain_next_block(void *state, cs_block *block)
{
    chains  *c     = state;
    uint32_t turns = c->chunks + c->rings.scenario->cluster.n_ranks - 2;

    block->count = 0;
    while (c->turn < turns && block->count < block->capacity) {
        if (c->turn - c->hop < c->chunks) { /* else not yet, or no longer */
            block->transfers[block->count++] = hop_of(c);
        }
        next_hop(c);
    }
}

/* Every hop is a machine that does K jobs, from the arrival of its two ends on. Where chunks are
 * equal: the latest of the ways through it, from some hop on every one once, and K - 1 times the
 * longest of those. Where hops are: the largest chunk over all hops but one, and all chunks. Exact
 * for one chain and any rates that do not change. */
static double chain_closed_form_s(const cs_scenario *scenario, const void *options)
{
    const chain_options *o     = options;
    const cs_fabric     *f     = scenario->cluster.fabrics;
    chains               c     = {.rings = rings_of(scenario, &o->rings), .chunks = o->chunks};
    uint32_t             n     = scenario->cluster.n_ranks, fabric;
    double               sum_s = 0, most_s = 0, end_s = 0;

    if (o->rings.channels > 1 || !cs_capacity_is_constant(scenario)) {
        return (double)NAN;
    }
    if (scenario->bytes % o->chunks != 0) {
        bool   holds = cs_is_uniform(scenario, &fabric) && !(cs_last_arrival(scenario) > 0);
        double all_s =
            o->chunks * f[fabric].alpha_s + (double)scenario->bytes / f[fabric].bandwidth_Bps;
        uint64_t largest = cs_split(scenario->bytes, o->chunks, 0);
        return holds ? all_s + (n - 2) * cs_message_s(scenario, fabric, largest) : (double)NAN;
    }
    const uint64_t chunk_bytes = scenario->bytes / o->chunks;
    enter_channel(&c, 0);
    for (uint32_t hop = n - 1; hop-- > 0;) {
        uint32_t src = chain_rank(&c, hop), dst = chain_rank(&c, hop + 1);
        double   hop_s = f[cs_fabric_of(&scenario->cluster, src, dst)].alpha_s +
                       (double)chunk_bytes * hop_s_per_byte(scenario, src, dst);
        double from_s = fmax(cs_arrival(scenario, src), cs_arrival(scenario, dst));
        sum_s += hop_s;
        most_s = fmax(most_s, hop_s);
        end_s  = fmax(end_s, from_s + sum_s + (o->chunks - 1) * most_s);
    }
    return end_s;
}

const cs_algorithm cs_algorithm_reduce_ring = {
    .name          = "reduce_ring",
    .aliases       = "chain",
    .summary       = "Reduce and Broadcast along a chain per channel, in chunks, as NCCL's rings",
    .source        = "NCCL's ncclReduce and ncclBroadcast",
    .collectives   = 1u << CS_REDUCE | 1u << CS_BROADCAST,
    .options       = chain_table,
    .options_bytes = sizeof(chain_options),
    .check         = chain_check,
    .open          = chain_open,
    .next_block    = chain_next_block,
    .close         = cs_free,
    .closed_form_s = chain_closed_form_s,
    .takes_uneven  = true,
};
