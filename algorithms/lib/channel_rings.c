/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rings of several channels: see channel_rings.h. */
#include "algorithms/lib/channel_rings.h"

#include "algorithms/lib/accept.h"

#include <math.h>

uint32_t cs_channel_steps(const cs_scenario *scenario)
{
    uint32_t half = scenario->cluster.n_ranks - 1;
    return scenario->collective == CS_ALLREDUCE ? 2 * half : half;
}

cs_plan cs_channel_plan(const cs_channel_rings *rings)
{
    const cs_cluster *cluster = &rings->scenario->cluster;
    uint32_t          parts   = cluster->n_ranks * rings->channels;

    return (cs_plan){.n_chunks             = parts,
                     .n_slots              = 2 * rings->channels,
                     .n_rounds             = cs_channel_steps(rings->scenario),
                     .uses                 = cs_uses_nvlink(cluster),
                     .chunks_differ        = rings->scenario->bytes % parts != 0,
                     .is_round_synchronous = rings->channels == 1};
}

/* Local rank at a place of a server, in the order of a channel. */
static uint32_t local_at(const cs_channel_rings *r, uint32_t channel, uint32_t place)
{
    uint32_t l = r->scenario->cluster.gpus_per_server, q = l / 2;

    if (r->order == CS_CHANNEL_ROTATED) {
        return (place + channel) % l;
    }
    uint32_t turned = channel / 2;
    bool     first  = (place < q) == (channel % 2 == 0);
    return (first ? 0 : q) + (place % q + turned) % q;
}

static uint32_t rank_at(const cs_channel_rings *r, uint32_t channel, uint32_t position)
{
    uint32_t l = r->scenario->cluster.gpus_per_server;
    return position / l * l + local_at(r, channel, position % l);
}

/* Blocks are split evenly, then their parts. */
static uint64_t part_bytes(const cs_channel_rings *r, uint32_t chunk)
{
    uint64_t block =
        cs_split(r->scenario->bytes, r->scenario->cluster.n_ranks, chunk / r->channels);
    return cs_split(block, r->channels, chunk % r->channels);
}

static cs_transfer transfer(const cs_channel_rings *r)
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

void cs_channel_next(cs_channel_rings *r, cs_block *block)
{
    uint32_t n = r->scenario->cluster.n_ranks, steps = cs_channel_steps(r->scenario);

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

double cs_channel_closed_form_s(const cs_channel_rings *r)
{
    const cs_scenario *s      = r->scenario;
    const cs_cluster  *c      = &s->cluster;
    uint32_t           parts  = c->n_ranks * r->channels;
    uint32_t           slower = c->sockets > 1 ? CS_CROSS : CS_NVLINK;
    bool               inside = c->gpus_per_server > 1;

    if (cs_n_servers(c) == 1 || s->n_faults > 0 || cs_last_arrival(s) > 0 ||
        s->bytes % parts != 0) {
        return (double)NAN;
    }
    double step_s = cs_message_s(s, CS_NIC, s->bytes / parts);
    if (inside && (r->channels * cs_message_s(s, CS_NVLINK, s->bytes / parts) > step_s ||
                   r->channels * cs_message_s(s, slower, s->bytes / parts) > step_s)) {
        return (double)NAN;
    }
    return cs_channel_steps(s) * step_s;
}
