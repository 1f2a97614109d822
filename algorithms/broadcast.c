/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The straggler-aware Broadcast baseline.
 *
 * While one rank is late, the others run a ring AllReduce among themselves (barrier 1 in front).
 * When it has come (barrier 2), one of them exchanges whole buffers with it, both add, and the
 * result is broadcast down a binomial tree: ceil(log2 n) (alpha + s beta) after the barrier.
 *
 * Source: "Efficient AllReduce with Stragglers" (StragglAR), baseline Broadcast.
 */
#include "algorithms/lib/accept.h"
#include "algorithms/lib/late.h"
#include "algorithms/lib/ring_pass.h"
#include "base/alloc.h"

#include <math.h>

static const cs_field broadcast_table[] = {CS_LATE_ROWS(cs_late_options), CS_FIELD_END};

enum { GATHERED = 2 }; /* slots 0 and 1 carry the ring; the result lies in GATHERED + chunk */

typedef struct broadcast {
    const cs_scenario *scenario;
    cs_late_options    options;
    cs_ring_pass       ring;
    uint32_t           n, chunks;
    bool               in_ring;
    uint32_t           holders; /* ranks that have the result; 0: the exchange is next */
    uint32_t           next;    /* next holder of the round */
    uint32_t           round;
} broadcast;

static cs_status broadcast_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                                 cs_error *err)
{
    uint32_t n = scenario->cluster.n_ranks;

    CS_TRY(cs_late_check(scenario, options, err));
    CS_TRY(cs_accept_slots(scenario, "broadcast", (uint64_t)GATHERED + n - 1, err));
    *plan = (cs_plan){.n_chunks = n - 1,
                      .n_slots  = GATHERED + n - 1,
                      .n_rounds = 2 * (n - 2) + cs_log2_ceil(n),
                      .uses = CS_USES_SPAN | CS_USES_EXCHANGE | cs_uses_nvlink(&scenario->cluster)};
    return CS_OK;
}

static cs_status broadcast_open(const cs_scenario *scenario, const void *options, void **state_p,
                                cs_error *err)
{
    broadcast *b = CS_NEW(broadcast, 1);

    if (b == NULL) {
        return CS_NO_MEMORY(err, "broadcast");
    }
    b->scenario = scenario;
    b->options  = *(const cs_late_options *)options;
    b->n        = scenario->cluster.n_ranks;
    b->chunks   = b->n - 1;
    b->in_ring  = b->chunks > 1;
    b->round    = 2 * (b->chunks - 1);
    b->ring     = (cs_ring_pass){.cluster   = &scenario->cluster,
                                 .m         = b->chunks,
                                 .skip      = b->options.straggler,
                                 .bytes     = scenario->bytes,
                                 .end_step  = 2 * (b->chunks - 1),
                                 .last_slot = CS_RING_SLOT,
                                 .keep_slot = GATHERED};
    *state_p    = b;
    return CS_OK;
}

/* A whole buffer from one rank to another. */
static void add_buffer(broadcast *b, cs_block *block, uint32_t src, uint32_t dst, cs_op op,
                       uint32_t flags)
{
    const cs_cluster *cluster = &b->scenario->cluster;

    block->transfers[block->count++] =
        (cs_transfer){.src       = src,
                      .dst       = dst,
                      .src_slot  = GATHERED,
                      .dst_slot  = GATHERED,
                      .bytes     = b->scenario->bytes,
                      .round     = b->round,
                      .span      = (uint16_t)b->chunks,
                      .flags     = (uint8_t)(flags | CS_DONE_DST),
                      .op_fabric = cs_op_fabric(op, cs_fabric_of(cluster, src, dst))};
}

/* Holder 0 is label 0, holder 1 the straggler, holder h label h - 1. */
static uint32_t holder_rank(const broadcast *b, uint32_t holder)
{
    uint32_t label = holder == 0 ? 0 : holder == 1 ? b->n - 1 : holder - 1;
    return cs_rank_of_label(label, b->options.straggler, b->n);
}

static void add_exchange(broadcast *b, cs_block *block)
{
    uint32_t own = b->chunks == 1 ? CS_OWN_SRC | CS_OWN_DST : CS_OWN_DST;

    add_buffer(b, block, holder_rank(b, 0), holder_rank(b, 1), CS_OP_EXCHANGE, own | CS_DONE_SRC);
    cs_late_fence(block, CS_FENCE_ALL, b->options.phase_barrier_s);
    b->holders = 2;
    b->round++;
}

static void add_tree(broadcast *b, cs_block *block)
{
    while (b->holders < b->n && block->count < block->capacity) {
        uint32_t to = b->holders + b->next;
        add_buffer(b, block, holder_rank(b, b->next), holder_rank(b, to), CS_OP_COPY, 0);
        b->next++;
        if (b->next == b->holders || to + 1 == b->n) {
            b->holders += b->next;
            b->next = 0;
            b->round++;
        }
    }
}

static void broadcast_next_block(void *state, cs_block *block)
{
    broadcast *b        = state;
    bool       is_first = b->ring.step == 0 && b->ring.position == 0;

    block->count = 0;
    b->in_ring   = b->in_ring && cs_ring_pass_next(&b->ring, block);
    if (b->in_ring) {
        if (is_first) {
            cs_late_fence(block, b->options.straggler, b->options.entry_barrier_s);
        }
    } else if (b->holders == 0) {
        add_exchange(b, block);
    } else {
        add_tree(b, block);
    }
}

static double broadcast_closed_form_s(const cs_scenario *scenario, const void *options)
{
    uint32_t n = scenario->cluster.n_ranks, fabric;

    if (!cs_is_uniform(scenario, &fabric)) {
        return (double)NAN;
    }
    double step = cs_message_s(scenario, fabric, cs_split(scenario->bytes, n - 1, 0));
    double main = cs_late_main_start_s(scenario, options, 2 * (n - 2) * step);
    return main + cs_log2_ceil(n) * cs_message_s(scenario, fabric, scenario->bytes);
}

const cs_algorithm cs_algorithm_broadcast = {
    .name          = "broadcast",
    .summary       = "AllReduce among the others while one rank is late, exchange, binomial tree",
    .source        = "Efficient AllReduce with Stragglers (StragglAR), its Broadcast baseline",
    .collectives   = 1u << CS_ALLREDUCE,
    .options       = broadcast_table,
    .options_bytes = sizeof(cs_late_options),
    .check         = broadcast_check,
    .open          = broadcast_open,
    .next_block    = broadcast_next_block,
    .close         = cs_free,
    .closed_form_s = broadcast_closed_form_s,
    .takes_uneven  = true,
};
