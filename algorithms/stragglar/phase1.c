/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/stragglar/phase1.h"

static bool is_ring(const cs_late_layout *l)
{
    return l->prephase == CS_PREPHASE_RING;
}

uint32_t cs_phase1_rounds(const cs_late_layout *layout)
{
    return is_ring(layout) ? layout->early - 1 : cs_circulant_steps(layout->early);
}

uint32_t cs_phase1_uses(const cs_late_layout *layout)
{
    if (layout->early == 1) {
        return 0;
    }
    if (!is_ring(layout)) {
        return CS_USES_SPAN | CS_USES_JOIN;
    }
    return layout->chunks > layout->early ? CS_USES_SPAN : 0;
}

double cs_phase1_s(const cs_late_layout *layout, double chunk_bytes, double alpha_s,
                   double s_per_byte, bool *is_exact_p)
{
    uint32_t m       = layout->early;
    double   chunk_s = chunk_bytes * s_per_byte, time_s = 0;

    *is_exact_p = true;
    if (is_ring(layout)) {
        return (m - 1) * (alpha_s + cs_late_most_chunks(layout) * chunk_s);
    }
    for (uint32_t k = 1; k <= cs_circulant_steps(m); k++) {
        uint64_t width = cs_circulant_skip(m, k - 1) - cs_circulant_skip(m, k);
        uint64_t most  = (width * layout->chunks + m - 1) / m;
        time_s += alpha_s + (double)most * chunk_s;
    }
    *is_exact_p = layout->chunks % m == 0;
    return time_s;
}

void cs_phase1_start(cs_phase1 *pre, const cs_late_layout *layout, double entry_barrier_s)
{
    const cs_scenario *s = layout->scenario;

    *pre = (cs_phase1){
        .layout          = layout,
        .entry_barrier_s = entry_barrier_s,
        .ring            = {.cluster   = &s->cluster,
                            .m         = layout->early,
                            .skip      = layout->late,
                            .bytes     = s->bytes,
                            .end_step  = layout->early - 1,
                            .last_slot = layout->home,
                            .keep_slot = CS_RING_SLOT},
        .circulant       = {.cluster    = &s->cluster,
                            .m          = layout->early,
                            .n_groups   = 1,
                            .ranks      = layout->rank_at,
                            .bytes      = s->bytes,
                            .n_chunks   = layout->chunks,
                            .is_spread  = true,
                            .first_slot = layout->home},
    };
}

/* The part of the current step and position goes to the next position: in step t position i sends
 * the chunks of position i - 1 - t, as one message. */
static void add_part(const cs_phase1 *pre, cs_block *block)
{
    const cs_late_layout *l = pre->layout;
    uint32_t m = l->early, most = cs_late_most_chunks(l), step = pre->step, here = pre->position;
    uint32_t part  = (here + m - 1 - step) % m;
    uint32_t first = cs_late_first_at(l, part), span = cs_late_first_at(l, part + 1) - first;
    uint32_t src = l->rank_at[here], dst = l->rank_at[here + 1 == m ? 0 : here + 1];
    uint32_t fabric = cs_fabric_of(&l->scenario->cluster, src, dst);

    block->transfers[block->count++] =
        (cs_transfer){.src       = src,
                      .dst       = dst,
                      .chunk     = first,
                      .src_slot  = (uint16_t)((step & 1u) * most),
                      .dst_slot  = (uint16_t)(step + 2 == m ? l->home : ((step + 1) & 1u) * most),
                      .bytes     = cs_split_range(l->scenario->bytes, l->chunks, first, span),
                      .round     = step,
                      .span      = (uint16_t)span,
                      .flags     = (uint8_t)(CS_OWN_DST | (step == 0 ? CS_OWN_SRC : 0)),
                      .op_fabric = cs_op_fabric(CS_OP_REDUCE, fabric)};
}

static bool next_parts(cs_phase1 *pre, cs_block *block)
{
    uint32_t m = pre->layout->early;

    while (pre->step + 1 < m && block->count < block->capacity) {
        add_part(pre, block);
        if (++pre->position == m) {
            pre->position = 0;
            pre->step++;
        }
    }
    return block->count > 0;
}

static bool next_any(cs_phase1 *pre, cs_block *block)
{
    const cs_late_layout *l = pre->layout;

    if (!is_ring(l)) {
        return cs_circulant_next(&pre->circulant, block);
    }
    return l->chunks == l->early ? cs_ring_pass_next(&pre->ring, block) : next_parts(pre, block);
}

bool cs_phase1_next(cs_phase1 *pre, cs_block *block)
{
    bool has_more = next_any(pre, block);

    if (has_more && !pre->has_begun) {
        pre->has_begun = true;
        cs_late_fence(block, pre->layout->late, pre->entry_barrier_s);
    }
    return has_more;
}
