/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The keys of a schedule: see schedule_fields.h. */
#include "config/schedule_fields.h"

#include <math.h>

#define COUNT(list) (sizeof(list) / sizeof(list)[0])
#define MAX_BYTES   ((uint64_t)1 << 50)

static const char *const head_keys[] = {
    "format", "version", "collective", "algorithm", "ranks",           "chunks",  "bytes",
    "root",   "slots",   "starts_own", "transfers", "gpus_per_server", "sockets",
};
static const char *const transfer_keys[] = {
    "round", "src",          "dst",     "chunk",    "span",     "op",  "fabric", "bytes", "shared",
    "fence", "fence_except", "fence_s", "src_slot", "dst_slot", "own", "done",   "join",
};
static const char *const formats[] = {"collsim-schedule"};
static const char *const ops[]     = {
        [CS_OP_COPY] = "copy", [CS_OP_REDUCE] = "reduce", [CS_OP_EXCHANGE] = "exchange"};
static const char *const fabrics[] = {
    [CS_NIC] = "nic", [CS_NVLINK] = "nvlink", [CS_CROSS] = "cross"};
static const char *const ends[] = {"none", "src", "dst", "both"};

static void read_collective(cs_reading *r, const cs_field *head, cs_collective *collective_p)
{
    const char *name = "";

    cs_read_required(r, head, "collective");
    cs_read_text(r, head, "collective", &name);
    if (!cs_reading_failed(r)) {
        (void)!cs_collective_find(name, collective_p, &r->error);
    }
}

static void read_name(cs_reading *r, const cs_field *head, cs_stored *s)
{
    const char *name = "";

    cs_read_text(r, head, "algorithm", &name);
    for (size_t i = 0; i + 1 < sizeof s->name && name[i] != '\0'; i++) {
        s->name[i] = name[i];
    }
}

void cs_schedule_read_head(cs_reading *r, const cs_field *head, cs_stored *s)
{
    size_t   format  = 0;
    uint32_t version = 1;

    if (!cs_read_object(r, head, head_keys, COUNT(head_keys))) {
        return;
    }
    cs_read_required(r, head, "format");
    cs_read_word(r, head, "format", formats, COUNT(formats), &format);
    cs_read_u32(r, head, "version", 1, 1, &version);
    read_collective(r, head, &s->collective);
    read_name(r, head, s);
    cs_read_required(r, head, "ranks");
    cs_read_u32(r, head, "ranks", 2, CS_MAX_RANKS, &s->n_ranks);
    cs_read_required(r, head, "chunks");
    cs_read_u32(r, head, "chunks", 1, UINT32_MAX, &s->n_chunks);
    cs_read_required(r, head, "bytes");
    cs_read_bytes(r, head, "bytes", &s->bytes);
    cs_read_u32(r, head, "root", 0, CS_MAX_RANKS - 1, &s->root);
    s->gpus_per_server = 1;
    s->sockets         = 1;
    cs_read_u32(r, head, "gpus_per_server", 1, CS_MAX_RANKS, &s->gpus_per_server);
    cs_read_u32(r, head, "sockets", 1, CS_MAX_RANKS, &s->sockets);
    cs_read_u32(r, head, "slots", 1, CS_MAX_SLOTS, &s->n_slots);
    cs_read_bool(r, head, "starts_own", &s->starts_own);
    cs_read_required(r, head, "transfers");
    s->has_slots = s->n_slots > 0;
    if (!cs_reading_failed(r)) {
        (void)!cs_stored_check(s, &r->error);
    }
}

cs_status cs_schedule_check_head(cs_reading *r, const cs_field *head, const cs_stored *s)
{
    cs_field bytes = cs_field_get(head, "bytes"), starts = cs_field_get(head, "starts_own");

    if (!cs_reading_failed(r) && (s->bytes == 0 || s->bytes > MAX_BYTES)) {
        CS_REFUSE(r, &bytes, CS_EINVAL, "%llu is outside [1, %llu]", (unsigned long long)s->bytes,
                  (unsigned long long)MAX_BYTES);
    }
    if (!cs_reading_failed(r) && s->starts_own && s->n_slots < s->n_chunks) {
        CS_REFUSE(r, &starts, CS_EINVAL, "needs as many slots as chunks");
    }
    return r->error.status;
}

static uint32_t flags_of(size_t which, uint32_t src_flag, uint32_t dst_flag)
{
    return ((which & 1u) != 0 ? src_flag : 0) | ((which & 2u) != 0 ? dst_flag : 0);
}

static void read_slots(cs_reading *r, const cs_field *item, const cs_stored *s, cs_transfer *t)
{
    uint32_t                 src_slot = 0, dst_slot = 0;
    size_t                   own = 0, done = 0;
    static const char *const keys[] = {"src_slot", "dst_slot", "own", "done"};

    for (size_t i = 0; i < COUNT(keys) && !s->has_slots; i++) {
        cs_field field = cs_field_get(item, keys[i]);
        if (field.node != NULL && !cs_reading_failed(r)) {
            r->blames_key = true;
            CS_REFUSE(r, &field, CS_EINVAL, "is accepted only in a schedule with the key 'slots'");
        }
    }
    if (!s->has_slots) {
        return;
    }
    cs_read_required(r, item, "src_slot");
    cs_read_required(r, item, "dst_slot");
    cs_read_u32(r, item, "src_slot", 0, s->n_slots - 1, &src_slot);
    cs_read_u32(r, item, "dst_slot", 0, s->n_slots - 1, &dst_slot);
    cs_read_word(r, item, "own", ends, COUNT(ends), &own);
    cs_read_word(r, item, "done", ends, COUNT(ends), &done);
    t->src_slot = (uint16_t)src_slot;
    t->dst_slot = (uint16_t)dst_slot;
    t->flags    = (uint8_t)(t->flags | flags_of(own, CS_OWN_SRC, CS_OWN_DST) |
                         flags_of(done, CS_DONE_SRC, CS_DONE_DST));
}

static void read_fence(cs_reading *r, const cs_field *item, cs_transfer *t, cs_fence *fence)
{
    bool     has_fence = false, is_shared = false, joins = false;
    cs_field cost = cs_field_get(item, "fence_s");

    *fence = (cs_fence){.except = CS_FENCE_ALL};
    cs_read_bool(r, item, "shared", &is_shared);
    cs_read_bool(r, item, "join", &joins);
    cs_read_bool(r, item, "fence", &has_fence);
    cs_read_u32(r, item, "fence_except", 0, CS_FENCE_ALL - 1, &fence->except);
    cs_read_time(r, item, "fence_s", &fence->cost_s);
    if (!cs_reading_failed(r) && !(fence->cost_s >= 0 && isfinite(fence->cost_s))) {
        CS_REFUSE(r, &cost, CS_EINVAL, "%.15g is outside [0, infinity)", fence->cost_s);
    }
    t->flags = (uint8_t)(t->flags | (is_shared ? CS_SHARED : 0) | (has_fence ? CS_FENCE : 0) |
                         (joins ? CS_JOIN : 0));
}

static void read_place(cs_reading *r, const cs_field *item, const cs_stored *s, cs_transfer *t)
{
    uint32_t span = 1;

    cs_read_required(r, item, "round");
    cs_read_u32(r, item, "round", 0, UINT32_MAX - 1, &t->round);
    cs_read_required(r, item, "src");
    cs_read_u32(r, item, "src", 0, s->n_ranks - 1, &t->src);
    cs_read_required(r, item, "dst");
    cs_read_u32(r, item, "dst", 0, s->n_ranks - 1, &t->dst);
    cs_read_required(r, item, "chunk");
    cs_read_u32(r, item, "chunk", 0, s->n_chunks - 1, &t->chunk);
    cs_read_u32(r, item, "span", 1, UINT16_MAX, &span);
    t->span = (uint16_t)span;
}

void cs_schedule_read_transfer(cs_reading *r, const cs_field *item, cs_stored *s)
{
    cs_transfer t       = {.span = 1};
    cs_fence    fence   = {0};
    cs_cluster  servers = {
         .n_ranks = s->n_ranks, .gpus_per_server = s->gpus_per_server, .sockets = s->sockets};
    size_t op = CS_OP_COPY, fabric;

    if (!cs_read_object(r, item, transfer_keys, COUNT(transfer_keys))) {
        if (!cs_reading_failed(r)) {
            CS_REFUSE(r, item, CS_EINVAL, "is not an object");
        }
        return;
    }
    read_place(r, item, s, &t);
    fabric = cs_fabric_of(&servers, t.src, t.dst);
    cs_read_word(r, item, "op", ops, COUNT(ops), &op);
    cs_read_word(r, item, "fabric", fabrics, COUNT(fabrics), &fabric);
    t.op_fabric = cs_op_fabric((cs_op)op, (uint32_t)fabric);
    t.bytes     = cs_stored_share(s, s->bytes, &t);
    cs_read_bytes(r, item, "bytes", &t.bytes);
    read_slots(r, item, s, &t);
    read_fence(r, item, &t, &fence);
    if (!cs_reading_failed(r)) {
        (void)!cs_stored_add(s, &t, &fence, &r->error);
    }
}
