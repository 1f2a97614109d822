/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The keys of a schedule: see schedule_fields.h. */
#include "config/schedule_fields.h"

#include <math.h>
#include <stdio.h>

#define MAX_BYTES    ((double)((uint64_t)1 << 50))
#define MAX_TRANSFER (((uint64_t)1 << 53) - 1)

/* ---- the head ---- */

typedef struct head_keys {
    int         format;
    uint32_t    version, ranks, chunks, root, slots, gpus_per_server, sockets;
    int         collective;
    const char *algorithm;
    uint64_t    bytes;
    bool        starts_own;
} head_keys;

/* clang-format off */
static const cs_field head_fields[] = {
    CS_KEY(head_keys, format, "format", .choices = "collsim-schedule", .is_required = true),
    CS_KEY(head_keys, version, "version", .min = 1, .max = 1),
    CS_KEY(head_keys, collective, "collective", .names = &cs_collective_names, .is_required = true),
    CS_KEY(head_keys, algorithm, "algorithm", .help = "that made it"),
    CS_KEY(head_keys, ranks, "ranks", .min = 2, .max = CS_MAX_RANKS, .is_required = true),
    CS_KEY(head_keys, chunks, "chunks", .min = 1, .max = UINT32_MAX, .is_required = true),
    CS_KEY(head_keys, bytes, "bytes", .unit = CS_UNIT_SIZE, .min = 1, .max = MAX_BYTES, .is_required = true),
    CS_KEY(head_keys, root, "root", .max = CS_MAX_RANKS - 1),
    CS_KEY(head_keys, slots, "slots", .min = 1, .max = CS_MAX_SLOTS),
    CS_KEY(head_keys, starts_own, "starts_own", .max = 1),
    {.name = "transfers", .type = CS_FIELD_ANY, .offset = CS_NOWHERE, .is_required = true},
    CS_KEY(head_keys, gpus_per_server, "gpus_per_server", .fallback = 1, .min = 1, .max = CS_MAX_RANKS),
    CS_KEY(head_keys, sockets, "sockets", .fallback = 1, .min = 1, .max = CS_MAX_RANKS),
    CS_FIELD_END,
};
/* clang-format on */

void cs_schedule_read_head(cs_reading *r, const cs_place *head, cs_stored *s)
{
    head_keys keys = {.algorithm = ""};

    cs_fields_default(head_fields, &keys);
    if (!cs_read_fields(r, head, head_fields, &keys)) {
        return;
    }
    s->collective      = (cs_collective)keys.collective;
    s->n_ranks         = keys.ranks;
    s->n_chunks        = keys.chunks;
    s->bytes           = keys.bytes;
    s->root            = keys.root;
    s->gpus_per_server = keys.gpus_per_server;
    s->sockets         = keys.sockets;
    s->n_slots         = keys.slots;
    s->has_slots       = keys.slots > 0;
    s->starts_own      = keys.starts_own;
    (void)snprintf(s->name, sizeof s->name, "%s", keys.algorithm);
    (void)!cs_stored_check(s, &r->error);
}

cs_status cs_schedule_check_head(cs_reading *r, const cs_place *head, const cs_stored *s)
{
    cs_place starts = cs_place_get(head, "starts_own"), list = cs_place_get(head, "transfers");

    if (!cs_reading_failed(r) && !json_is_array(list.node)) {
        cs_refuse_kind(r, &list, "an array");
    }
    if (!cs_reading_failed(r) && s->starts_own && s->n_slots < s->n_chunks) {
        CS_REFUSE(r, &starts, CS_EINVAL, "needs as many slots as chunks");
    }
    return r->error.status;
}

/* ---- a transfer ---- */

typedef struct transfer_keys {
    uint32_t        round, src, dst, chunk, span, src_slot, dst_slot;
    int             op, fabric; /* fabric: -1: what joins the ranks */
    int             own, done;
    uint64_t        bytes; /* above MAX_TRANSFER: the chunks' share */
    bool            is_shared, joins, has_fence;
    cs_stored_fence fence;
} transfer_keys;

/* clang-format off */
#define ENDS "none|src|dst|both"
static const cs_field transfer_fields[] = {
    CS_KEY(transfer_keys, round, "round", .max = UINT32_MAX - 1.0, .is_required = true),
    CS_KEY(transfer_keys, src, "src", .max = CS_MAX_RANKS - 1, .is_required = true, .is_rank = true),
    CS_KEY(transfer_keys, dst, "dst", .max = CS_MAX_RANKS - 1, .is_required = true, .is_rank = true),
    CS_KEY(transfer_keys, chunk, "chunk", .max = UINT32_MAX, .is_required = true),
    CS_KEY(transfer_keys, span, "span", .fallback = 1, .min = 1, .max = UINT16_MAX),
    CS_KEY(transfer_keys, op, "op", .choices = "copy|reduce|exchange"), /* as cs_op */
    CS_KEY(transfer_keys, fabric, "fabric", .fallback = -1, .choices = "nic|nvlink|cross"),
    CS_KEY(transfer_keys, bytes, "bytes", .unit = CS_UNIT_SIZE, .fallback = (double)(MAX_TRANSFER + 1),
           .max = (double)MAX_TRANSFER),
    CS_KEY(transfer_keys, is_shared, "shared", .max = 1),
    CS_KEY(transfer_keys, has_fence, "fence", .max = 1),
    CS_KEY(transfer_keys, fence.except, "fence_except", .fallback = CS_FENCE_ALL, .max = CS_FENCE_ALL - 1.0),
    CS_KEY(transfer_keys, fence.cost_s, "fence_s", .unit = CS_UNIT_TIME, .max = (double)INFINITY),
    CS_KEY(transfer_keys, src_slot, "src_slot", .max = CS_MAX_SLOTS - 1.0),
    CS_KEY(transfer_keys, dst_slot, "dst_slot", .max = CS_MAX_SLOTS - 1.0),
    CS_KEY(transfer_keys, own, "own", .choices = ENDS),
    CS_KEY(transfer_keys, done, "done", .choices = ENDS),
    CS_KEY(transfer_keys, joins, "join", .max = 1),
    CS_FIELD_END,
};
/* clang-format on */

static uint32_t flags_of(int which, uint32_t src_flag, uint32_t dst_flag)
{
    return ((which & 1) != 0 ? src_flag : 0) | ((which & 2) != 0 ? dst_flag : 0);
}

static void add_slots(cs_reading *r, const cs_place *item, const cs_stored *s,
                      const transfer_keys *keys, cs_transfer *t)
{
    static const char *const names[] = {"src_slot", "dst_slot", "own", "done"};

    for (size_t i = 0; i < sizeof names / sizeof names[0] && !s->has_slots; i++) {
        cs_place place = cs_place_get(item, names[i]);
        if (place.node != NULL && !cs_reading_failed(r)) {
            r->blames_key = true;
            CS_REFUSE(r, &place, CS_EINVAL, "is accepted only in a schedule with the key 'slots'");
        }
    }
    if (!s->has_slots) {
        return;
    }
    cs_read_required(r, item, "src_slot");
    cs_read_required(r, item, "dst_slot");
    t->src_slot = (uint16_t)keys->src_slot;
    t->dst_slot = (uint16_t)keys->dst_slot;
    t->flags    = (uint8_t)(t->flags | flags_of(keys->own, CS_OWN_SRC, CS_OWN_DST) |
                         flags_of(keys->done, CS_DONE_SRC, CS_DONE_DST));
}

void cs_schedule_read_transfer(cs_reading *r, const cs_place *item, cs_stored *s)
{
    transfer_keys keys = {.round = 0};

    cs_fields_default(transfer_fields, &keys);
    if (!cs_read_fields(r, item, transfer_fields, &keys)) {
        return;
    }
    cs_transfer t = {.round = keys.round,
                     .src   = keys.src,
                     .dst   = keys.dst,
                     .chunk = keys.chunk,
                     .span  = (uint16_t)keys.span};
    uint32_t    fabric =
        keys.fabric >= 0 ? (uint32_t)keys.fabric : cs_fabric_of(r->cluster, t.src, t.dst);
    t.op_fabric = cs_op_fabric((cs_op)keys.op, fabric);
    t.bytes     = keys.bytes <= MAX_TRANSFER ? keys.bytes : cs_stored_share(s, s->bytes, &t);
    t.flags     = (uint8_t)((keys.is_shared ? CS_SHARED : 0) | (keys.has_fence ? CS_FENCE : 0) |
                        (keys.joins ? CS_JOIN : 0)); /* the share asks nobody before it */
    add_slots(r, item, s, &keys, &t);
    if (!cs_reading_failed(r)) {
        (void)!cs_stored_add(s, &t, &keys.fence, &r->error);
    }
}
