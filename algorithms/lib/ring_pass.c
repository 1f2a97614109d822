/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each step is emitted in runs in which the position does not wrap: the last position is a run of
 * its own. */
#include "algorithms/lib/ring_pass.h"

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* What all transfers of the current step have in common. */
static cs_transfer step_model(const cs_ring_pass *p)
{
    bool     reduces = p->step < p->m - 1;
    uint32_t flags   = p->step == p->first_step ? CS_OWN_SRC : 0;
    uint32_t slot    = (p->step + 1) & 1u;

    if (reduces) {
        flags |= CS_OWN_DST;
    }
    if (p->is_final && p->step + 1 >= p->m - 1) {
        flags |= CS_DONE_DST;
    }
    if (p->last_slot != CS_RING_SLOT && p->step + 1 == p->end_step) {
        slot = p->last_slot;
    }
    return (cs_transfer){.src_slot  = p->step & 1u,
                         .dst_slot  = (uint16_t)slot,
                         .round     = p->first_round + p->step - p->first_step,
                         .span      = 1,
                         .flags     = (uint8_t)flags,
                         .op_fabric = cs_op_fabric(reduces ? CS_OP_REDUCE : CS_OP_COPY, CS_NIC)};
}

static uint32_t rank_at(const cs_ring_pass *p, uint32_t position)
{
    return position + (position >= p->skip);
}

/* Positions [first, first + count), chunks from `chunk` on; the position does not wrap. */
static void emit_run(const cs_ring_pass *p, cs_transfer *out, const cs_transfer *model,
                     uint32_t first, uint32_t count, uint32_t chunk)
{
    uint64_t base = p->chunk_bytes, tail = cs_tail_of(model);
    uint32_t extra = p->n_larger, skip = p->skip, m = p->m;
    uint32_t slots = cs_slots(model->src_slot, model->dst_slot);
    uint32_t src   = first + (first >= skip);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t next = first + i + 1, dst = next + (next >= skip);
        cs_transfer_put(&out[i], src, dst, chunk, slots, base + (chunk < extra), tail);
        src   = dst;
        chunk = chunk + 1 == m ? 0 : chunk + 1;
    }
}

/* Complete chunks stay in a slot each: from the last adding step on. */
static void add_kept_slots(const cs_ring_pass *p, cs_transfer *out, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint16_t slot   = (uint16_t)(p->keep_slot + out[i].chunk);
        out[i].dst_slot = slot;
        out[i].src_slot = p->step >= p->m - 1 ? slot : out[i].src_slot;
    }
}

static void add_fabrics(const cs_ring_pass *p, cs_transfer *out, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        out[i].op_fabric =
            cs_op_fabric(cs_transfer_op(&out[i]), cs_fabric_of(p->cluster, out[i].src, out[i].dst));
    }
}

static uint32_t senders(const cs_ring_pass *p)
{
    return p->n_senders > 0 ? p->n_senders : p->m;
}

/* One run of the current step; returns how many transfers it has. */
static uint32_t next_run(cs_ring_pass *p, cs_transfer *out, uint32_t room)
{
    cs_transfer model = step_model(p);
    uint32_t    first = p->position, m = p->m;
    uint32_t    turns = p->step < m ? p->step : p->step - m;
    uint32_t    ahead = first + m - 1 - turns, chunk = ahead < m ? ahead : ahead - m;
    uint32_t    count = smaller(room, senders(p) - first);

    if (first == m - 1) {
        emit_run(p, out, &model, first, 1, chunk);
        out[0].dst = rank_at(p, 0);
        count      = 1;
    } else {
        count = smaller(count, m - 1 - first);
        emit_run(p, out, &model, first, count, chunk);
    }
    if (p->keep_slot != CS_RING_SLOT && p->step + 2 >= m) {
        add_kept_slots(p, out, count);
    }
    if (p->cluster->gpus_per_server > 1) {
        add_fabrics(p, out, count);
    }
    return count;
}

bool cs_ring_pass_next(cs_ring_pass *pass, cs_block *block)
{
    if (pass->step >= pass->end_step) {
        return false;
    }
    if (pass->chunk_bytes == 0 && pass->n_larger == 0) {
        pass->chunk_bytes = pass->bytes / pass->m;
        pass->n_larger    = (uint32_t)(pass->bytes % pass->m);
    }
    while (block->count < block->capacity && pass->step < pass->end_step) {
        uint32_t room  = (uint32_t)(block->capacity - block->count);
        uint32_t count = next_run(pass, block->transfers + block->count, room);
        block->count += count;
        pass->position += count;
        if (pass->position == senders(pass)) {
            pass->position = 0;
            pass->step++;
        }
    }
    return true;
}
