/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streams at random: see support/random_stream.h. */
#include "support/random_stream.h"

void ct_stream_add_random(ct_stream *stream, ct_rng *rng, const cs_cluster *cluster, uint32_t uses,
                          uint32_t slots, uint32_t most_span)
{
    uint32_t n = cluster->n_ranks, round = 0;

    for (int i = 0; i < 300; i++) {
        static const cs_op ops[] = {CS_OP_COPY, CS_OP_REDUCE, CS_OP_EXCHANGE};
        uint32_t           src = ct_below(rng, n), dst = (src + 1 + ct_below(rng, n - 1)) % n;
        cs_op              op    = ops[ct_below(rng, (uses & CS_USES_EXCHANGE) != 0 ? 3 : 2)];
        uint32_t           flags = ct_below(rng, 4);
        bool               is_shared =
            (uses & CS_USES_SHARED) != 0 && op != CS_OP_EXCHANGE && ct_below(rng, 4) == 0;
        cs_transfer *t = ct_stream_send(stream, cluster, src, dst, ct_below(rng, 1000), op,
                                        flags | (is_shared ? CS_SHARED : 0));
        t->span     = (uint16_t)(1 + ((uses & CS_USES_SPAN) != 0 ? ct_below(rng, most_span) : 0));
        t->src_slot = (uint16_t)ct_below(rng, slots - most_span + 1);
        t->dst_slot = (uint16_t)ct_below(rng, slots - most_span + 1);
        t->chunk    = ct_below(rng, 3);
        round += ct_below(rng, 5) == 0;
        t->round = round;
        if (ct_below(rng, 60) == 0) {
            t->flags |= CS_FENCE;
            stream->fences[stream->count - 1] =
                (ct_fence){ct_below(rng, 2) == 0 ? CS_FENCE_ALL : ct_below(rng, n), 0.25};
        }
    }
}
