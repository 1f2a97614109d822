/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stored rounds as a stream: see label_stream.h. */
#include "algorithms/stragglar/label_stream.h"

#include "algorithms/stragglar/rotation_stream.h"

static uint32_t turned(const cs_label_stream *s, uint32_t label)
{
    uint32_t early = s->layout->early, sum = label + s->turn;

    if (label == early) {
        return label;
    }
    return sum >= early ? sum - early : sum;
}

/* The late rank's own data are where nothing has been received yet; so are everybody's where there
 * is no pre-phase. */
static uint32_t flags_of(const cs_late_layout *l, const cs_label_transfer *t)
{
    switch (t->kind) {
    case CS_LABEL_COPY: return CS_DONE_DST;
    case CS_LABEL_EXCHANGE:
        return CS_OWN_DST | CS_DONE_DST | CS_DONE_SRC | (l->early == 1 ? CS_OWN_SRC : 0);
    case CS_LABEL_RAW: return t->src == l->early ? CS_OWN_SRC : CS_OWN_DST;
    case CS_LABEL_LAST: return (t->src == l->early ? CS_OWN_SRC : CS_OWN_DST) | CS_DONE_DST;
    }
    return 0;
}

static cs_op op_of(cs_label_kind kind)
{
    switch (kind) {
    case CS_LABEL_COPY: return CS_OP_COPY;
    case CS_LABEL_EXCHANGE: return CS_OP_EXCHANGE;
    case CS_LABEL_RAW:
    case CS_LABEL_LAST: return CS_OP_REDUCE;
    }
    return CS_OP_COPY;
}

static cs_transfer transfer_of(const cs_label_stream *s, const cs_label_transfer *t)
{
    const cs_late_layout *l = s->layout;
    uint32_t src = turned(s, t->src), dst = turned(s, t->dst), chunk = t->chunk + s->shift;
    uint32_t id = cs_late_id(l, chunk);

    return (cs_transfer){.src       = cs_late_rank(l, src),
                         .dst       = cs_late_rank(l, dst),
                         .chunk     = id,
                         .src_slot  = (uint16_t)cs_late_slot(l, src, chunk),
                         .dst_slot  = (uint16_t)cs_late_slot(l, dst, chunk),
                         .bytes     = cs_split(l->scenario->bytes, l->chunks, id),
                         .round     = s->first_round + s->round,
                         .span      = 1,
                         .flags     = (uint8_t)flags_of(l, t),
                         .op_fabric = cs_op_fabric(op_of(t->kind), CS_NIC)};
}

bool cs_label_stream_next(cs_label_stream *stream, cs_block *block)
{
    cs_label_stream       *s      = stream;
    const cs_label_rounds *rounds = s->rounds;
    bool                   first  = s->next == 0;

    while (s->round < rounds->n_rounds && block->count < block->capacity) {
        block->transfers[block->count++] = transfer_of(s, &rounds->transfers[s->next]);
        if (++s->next == rounds->round_end[s->round]) {
            s->round++;
        }
    }
    cs_late_add_fabrics(&s->layout->scenario->cluster, block->transfers, block->count);
    if (first && s->has_barrier && block->count > 0) {
        cs_late_fence(block, CS_FENCE_ALL, s->barrier_s);
    }
    return block->count > 0;
}
