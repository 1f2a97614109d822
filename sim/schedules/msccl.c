/* SPDX-License-Identifier: GPL-3.0-or-later */
/* MSCCL programs as streams of transfers.
 *
 * The engine knows transfers from slot to slot and no local copies and sums. What a GPU has in a
 * chunk is a sum of its own contribution and of chunks that came with messages. Of all these sums
 * only some are seen: those that are sent, and those that are there at the end. Each of these is
 * given a slot, and every chunk of a message is added to the slots of all sums that it is part of,
 * as it comes: one part of the message per slot, the first with its bytes, the others without
 * (CS_JOIN; nothing travels twice). A copy is then two sums of one chunk, and a sum of two received
 * chunks one slot that both are added to.
 *
 * A sum goes on in the slot of the one that it was made from, where that was sent for the last time
 * before any of the rest came. A GPU's own chunk needs no slot (CS_OWN_SRC, CS_OWN_DST). Slots are
 * those of the places where sums were put first, in as many layers as are needed at once, so that
 * chunks in a row are in slots in a row.
 */
#include "schedules/msccl.h"

#include "base/alloc.h"
#include "schedules/msccl_program.h"
#include "schedules/schedule_json.h"

#include <stdlib.h>
#include <string.h>

#define NONE CS_MSCCL_NONE
#define LAST UINT32_MAX /* seen at the end */

#define MOST_LEAVES ((uint64_t)1 << 24)
#define MOST_LEASES ((uint64_t)1 << 28) /* that are looked at */

/* A slot in the making: from the first message that comes into it to the last that sends it. */
typedef struct slot_plan {
    uint32_t gpu, place, layer;
    uint32_t tail;        /* the last sum that it has held */
    uint32_t first, last; /* messages; last = LAST: it is there at the end */
    uint32_t next;        /* of the same first message */
} slot_plan;

/* A chunk of a message goes into a slot. */
typedef struct delivery {
    uint32_t slot, next; /* of the same chunk */
    uint8_t  flags;      /* CS_OWN_DST, CS_DONE_DST */
    bool     adds;
} delivery;

/* What a sum is made of. */
typedef struct leaf {
    uint32_t message, value;
} leaf;

/* Until when the layer of a place is in use. */
typedef struct lease {
    uint32_t layer, last, next;
} lease;

typedef struct builder {
    const cs_msccl_run     *run;
    const cs_msccl_program *p;
    cs_arena                arena;
    cs_error               *err;
    cs_stored              *stored;
    uint32_t               *seen;       /* [values] 1 + last message that sends it, LAST, or 0 */
    uint32_t               *slot_of;    /* [values] or NONE */
    uint32_t               *message_of; /* [values] that brought it, or NONE */
    uint32_t               *first_delivery, *last_delivery; /* [values] or NONE */
    uint8_t                *is_final; /* [values] it is what the collective owes */
    slot_plan              *slots;
    size_t                  n_slots, slot_capacity;
    delivery               *deliveries;
    size_t                  n_deliveries, delivery_capacity;
    leaf                   *leaves; /* of the sum in work */
    size_t                  n_leaves, leaf_capacity;
    uint32_t               *stack;
    size_t                  stack_capacity;
    uint64_t                all_leaves, all_leases;
    uint32_t                own; /* how often the GPU's own chunk is among them */
    uint32_t                own_chunk;
    lease                  *leases;
    size_t                  n_leases, lease_capacity;
    uint32_t               *leased; /* [gpus][places] or NONE */
    uint32_t               *begins; /* [messages] slots that begin with it, or NONE */
    uint32_t                n_layers;
    uint32_t                n_parts; /* of the message in work */
} builder;

static bool is_own(uint32_t value)
{
    return (value & CS_MSCCL_OWN) != 0;
}

static const cs_msccl_step *step_of(const builder *b, uint32_t value)
{
    return &b->p->steps[b->run->values[value].step];
}

static uint32_t gpu_of(const builder *b, uint32_t step)
{
    return b->p->blocks[b->p->steps[step].block].gpu;
}

static bool is_sum(const builder *b, uint32_t value)
{
    return b->run->values[value].b != NONE;
}

/* Which sums are seen. */

static void see_messages(builder *b)
{
    for (uint32_t i = 0; i < b->run->n_messages; i++) {
        const cs_msccl_message *m = &b->run->messages[i];
        for (uint32_t k = 0; k < m->count; k++) {
            uint32_t sent = b->run->payloads[m->first + k];
            if (!is_own(sent)) {
                b->seen[sent] = i + 1;
            }
            b->message_of[m->first_value + k] = i;
        }
    }
}

static uint32_t at_output(const builder *b, uint32_t gpu, uint32_t offset)
{
    uint32_t place = cs_msccl_place(b->p, b->run->aliases, gpu, CS_MSCCL_OUTPUT, offset);
    return b->run->at[(size_t)gpu * b->run->n_places + place];
}

/* Does a GPU have the contribution of another one to a chunk there, and nothing else? */
static bool has_chunk_of(const builder *b, uint32_t gpu, uint32_t offset, uint32_t from,
                         uint32_t chunk)
{
    uint32_t value = at_output(b, gpu, offset);

    return value != CS_MSCCL_NOTHING &&
           cs_msccl_print(b->run, gpu, value) == cs_msccl_print(b->run, from, CS_MSCCL_OWN | chunk);
}

/* How much speaks for a GPU as the root: others have its first chunk, or it has the sum of all. */
static uint32_t votes_for(const builder *b, uint32_t root)
{
    uint32_t n = b->p->n_gpus, votes = 0, value = at_output(b, root, 0);
    uint64_t sum = 0;

    for (uint32_t g = 0; g < n; g++) {
        votes += has_chunk_of(b, g, 0, root, 0);
        sum += cs_msccl_print(b->run, g, CS_MSCCL_OWN | 0);
    }
    return cs_collectives[b->p->collective].from == CS_PARTY_ROOT
               ? votes
               : value != CS_MSCCL_NOTHING && cs_msccl_print(b->run, root, value) == sum;
}

/* The root, where the file does not say it. */
static uint32_t find_root(const builder *b)
{
    uint32_t best = 0, most = 0;

    for (uint32_t root = 0; root < b->p->n_gpus; root++) {
        uint32_t votes = votes_for(b, root);
        best           = votes > most ? root : best;
        most           = votes > most ? votes : most;
    }
    return best;
}

/* What a GPU's output must have at its end: something that the collective owes it, its own chunk,
 * which it has to put there itself, or anything. */
static cs_status see_output(builder *b, uint32_t gpu, uint32_t offset)
{
    const cs_msccl_program *p     = b->p;
    uint32_t                chunk = cs_msccl_chunk(p, gpu, CS_MSCCL_OUTPUT, offset);
    uint32_t                value = at_output(b, gpu, offset);
    const cs_chunks chunks  = {p->collective, p->n_gpus, b->stored->root, cs_msccl_all_chunks(p)};
    bool            has_own = cs_chunk_contributor(&chunks, chunk) == gpu;

    if (cs_collectives[p->collective].to == CS_PARTY_ROOT && gpu != b->stored->root) {
        return CS_OK;
    }
    if (has_own && !has_chunk_of(b, gpu, offset, gpu, chunk)) {
        cs_status status =
            CS_FAIL(b->err, CS_EWRONG, "gpu",
                    "GPU %u ends without its own chunk in chunk %u of its output", gpu, offset);
        cs_error_locate(b->err, p->input, p->gpus[gpu].line, p->gpus[gpu].column);
        return status;
    }
    if (!has_own && value != CS_MSCCL_NOTHING && !is_own(value) &&
        b->run->values[value].chunk == chunk) {
        b->seen[value]     = LAST;
        b->is_final[value] = 1;
    }
    return CS_OK;
}

static cs_status see_outputs(builder *b)
{
    uint32_t size = cs_msccl_chunks_of(b->p, CS_MSCCL_OUTPUT);

    for (uint32_t g = 0; g < b->p->n_gpus; g++) {
        for (uint32_t i = 0; i < size; i++) {
            CS_TRY(see_output(b, g, i));
        }
    }
    return CS_OK;
}

/* What a sum is made of. */

static bool push(builder *b, size_t *depth, uint32_t value)
{
    if (!cs_grow(&b->stack, &b->stack_capacity, *depth + 1, 64, sizeof *b->stack)) {
        return false;
    }
    b->stack[(*depth)++] = value;
    return true;
}

/* Add the chunks of messages in a value to the leaves, and the GPU's own. */
static cs_status collect(builder *b, uint32_t value)
{
    size_t depth = 0;

    if (!push(b, &depth, value)) {
        return CS_NO_MEMORY(b->err, "a schedule");
    }
    while (depth > 0) {
        uint32_t x = b->stack[--depth];
        if (++b->all_leaves > MOST_LEAVES) {
            return CS_FAIL(b->err, CS_ENOTSUP, "algo", "sums of more than 2^24 chunks");
        }
        if (is_own(x)) {
            b->own++;
            b->own_chunk = x & ~CS_MSCCL_OWN;
        } else if (is_sum(b, x)) {
            if (!push(b, &depth, b->run->values[x].b) || !push(b, &depth, b->run->values[x].a)) {
                return CS_NO_MEMORY(b->err, "a schedule");
            }
        } else if (!cs_grow(&b->leaves, &b->leaf_capacity, b->n_leaves + 1, 64, sizeof(leaf))) {
            return CS_NO_MEMORY(b->err, "a schedule");
        } else {
            b->leaves[b->n_leaves++] = (leaf){b->message_of[x], x};
        }
    }
    return CS_OK;
}

static int by_arrival(const void *left, const void *right)
{
    const leaf *a = left, *b = right;

    if (a->message != b->message) {
        return a->message < b->message ? -1 : 1;
    }
    return (a->value > b->value) - (a->value < b->value);
}

/* The engine adds a GPU's own chunk once, to the same chunk of a message. */
static cs_status check_own(const builder *b, uint32_t value)
{
    const cs_msccl_step *s   = step_of(b, value);
    uint32_t             gpu = b->p->blocks[s->block].gpu;

    for (size_t i = 0; b->own > 0 && i < b->n_leaves; i++) {
        uint32_t chunk = b->run->values[b->leaves[i].value].chunk;
        if (chunk != b->own_chunk) {
            return CS_MSCCL_FAIL(b->err, CS_EWRONG, b->p, s,
                                 "GPU %u has the sum of chunk %u and its own chunk %u here", gpu,
                                 chunk, b->own_chunk);
        }
    }
    if (b->own > 1 || b->n_leaves == 0) {
        return CS_MSCCL_FAIL(b->err, CS_EWRONG, b->p, s,
                             "GPU %u has its own contribution to chunk %u more than once here", gpu,
                             b->own_chunk);
    }
    return CS_OK;
}

/* Slots in the making. */

static cs_status deliver(builder *b, uint32_t value, uint32_t slot, bool adds, uint8_t flags)
{
    uint32_t index = (uint32_t)b->n_deliveries;

    if (!cs_grow(&b->deliveries, &b->delivery_capacity, b->n_deliveries + 1, 1024,
                 sizeof(delivery))) {
        return CS_NO_MEMORY(b->err, "a schedule");
    }
    if (b->first_delivery[value] == NONE) {
        b->first_delivery[value] = index;
    } else {
        b->deliveries[b->last_delivery[value]].next = index;
    }
    b->last_delivery[value] = index;
    b->deliveries[b->n_deliveries++] =
        (delivery){.slot = slot, .next = NONE, .flags = flags, .adds = adds};
    return CS_OK;
}

static cs_status add_slot(builder *b, uint32_t value, uint32_t first, uint32_t *slot_p)
{
    const cs_msccl_value *v = &b->run->values[value];

    if (!cs_grow(&b->slots, &b->slot_capacity, b->n_slots + 1, 1024, sizeof *b->slots)) {
        return CS_NO_MEMORY(b->err, "a schedule");
    }
    *slot_p                = (uint32_t)b->n_slots;
    b->slots[b->n_slots++] = (slot_plan){.gpu   = gpu_of(b, v->step),
                                         .place = v->place,
                                         .tail  = value,
                                         .first = first,
                                         .last  = first,
                                         .next  = b->begins[first]};
    b->begins[first]       = *slot_p;
    return CS_OK;
}

/* Put the leaves into a slot, which holds the value then. */
static cs_status fill_slot(builder *b, uint32_t value, uint32_t slot, bool is_new)
{
    for (size_t i = 0; i < b->n_leaves; i++) {
        bool    begins = is_new && i == 0, ends = i + 1 == b->n_leaves && b->is_final[value] != 0;
        uint8_t flags =
            (uint8_t)((begins && b->own > 0 ? CS_OWN_DST : 0) | (ends ? CS_DONE_DST : 0));
        CS_TRY(deliver(b, b->leaves[i].value, slot, !begins || b->own > 0, flags));
    }
    b->slot_of[value]   = slot;
    b->slots[slot].tail = value;
    b->slots[slot].last = b->seen[value] == LAST ? LAST : b->seen[value] - 1;
    return CS_OK;
}

/* Has the slot of `base` seen its last sending of it before any of the leaves comes? */
static bool can_go_on(const builder *b, uint32_t base)
{
    bool can = b->slots[b->slot_of[base]].tail == base && b->own == 0 && b->seen[base] != LAST;

    for (size_t i = 0; i < b->n_leaves && can; i++) {
        can = b->leaves[i].message >= b->seen[base];
    }
    return can;
}

/* Give a sum that is seen its slot: that of the sum that it was made from, or a new one. */
static cs_status give_slot(builder *b, uint32_t value)
{
    uint32_t base = value, slot = NONE;

    b->n_leaves = 0;
    b->own      = 0;
    while (!is_own(base) && is_sum(b, base) && (base == value || b->slot_of[base] == NONE)) {
        CS_TRY(collect(b, b->run->values[base].b));
        base = b->run->values[base].a;
    }
    bool goes_on = base != value && !is_own(base) && b->slot_of[base] != NONE && can_go_on(b, base);
    if (!goes_on) {
        CS_TRY(collect(b, base));
        CS_TRY(check_own(b, value));
    }
    qsort(b->leaves, b->n_leaves, sizeof *b->leaves, by_arrival);
    if (goes_on) {
        slot = b->slot_of[base];
    } else {
        CS_TRY(add_slot(b, value, b->leaves[0].message, &slot));
    }
    return fill_slot(b, value, slot, !goes_on);
}

/* Chunks that nobody ever looks at still travel. */
static cs_status give_rest(builder *b)
{
    uint32_t slot = 0;

    for (uint32_t v = 0; v < b->run->n_values; v++) {
        if (is_sum(b, v) || b->first_delivery[v] != NONE) {
            continue;
        }
        CS_TRY(add_slot(b, v, b->message_of[v], &slot));
        CS_TRY(deliver(b, v, slot, false, 0));
    }
    return CS_OK;
}

/* Slots. */

/* The lowest layer of the place that is free again before the slot is used first. */
static cs_status lease_layer(builder *b, slot_plan *h)
{
    uint32_t *head = &b->leased[(size_t)h->gpu * b->run->n_places + h->place];
    uint32_t  best = NONE, n = 0;

    for (uint32_t i = *head; i != NONE; i = b->leases[i].next, n++, b->all_leases++) {
        const lease *l = &b->leases[i];
        if (l->last < h->first && (best == NONE || l->layer < b->leases[best].layer)) {
            best = i;
        }
    }
    if (b->all_leases > MOST_LEASES) {
        return CS_FAIL(b->err, CS_ENOTSUP, "algo", "too many sums of chunks at a time");
    }
    if (best == NONE) {
        if (!cs_grow(&b->leases, &b->lease_capacity, b->n_leases + 1, 1024, sizeof *b->leases)) {
            return CS_NO_MEMORY(b->err, "a schedule");
        }
        best            = (uint32_t)b->n_leases++;
        b->leases[best] = (lease){.layer = n, .next = *head};
        *head           = best;
    }
    b->leases[best].last = h->last;
    h->layer             = b->leases[best].layer;
    b->n_layers          = h->layer + 1 > b->n_layers ? h->layer + 1 : b->n_layers;
    return CS_OK;
}

static cs_status lease_layers(builder *b)
{
    b->n_layers = 1;
    for (uint32_t i = 0; i < b->run->n_messages; i++) {
        for (uint32_t h = b->begins[i]; h != NONE; h = b->slots[h].next) {
            CS_TRY(lease_layer(b, &b->slots[h]));
        }
    }
    uint64_t slots = (uint64_t)b->n_layers * b->run->n_places;
    if (slots > CS_MAX_SLOTS) {
        return CS_FAIL(b->err, CS_ENOTSUP, "algo",
                       "%llu places for chunks at a GPU are too many: accepted are %u",
                       (unsigned long long)slots, CS_MAX_SLOTS);
    }
    b->stored->n_slots = (uint32_t)slots;
    return CS_OK;
}

static uint32_t stream_slot(const builder *b, uint32_t slot)
{
    return b->slots[slot].layer * b->run->n_places + b->slots[slot].place;
}

/* The stream. */

/* Where chunk k of a message is sent from: a slot, or any place for the sender's own chunk. */
static uint32_t source_of(const builder *b, const cs_msccl_message *m, uint32_t k)
{
    const cs_msccl_step *s    = &b->p->steps[m->send_step];
    uint32_t             sent = b->run->payloads[m->first + k];

    if (!is_own(sent)) {
        return stream_slot(b, b->slot_of[sent]);
    }
    return k + cs_msccl_place(b->p, b->run->aliases, gpu_of(b, m->send_step), s->src.buffer,
                              s->src.offset);
}

static uint32_t chunk_sent(const builder *b, const cs_msccl_message *m, uint32_t k)
{
    uint32_t sent = b->run->payloads[m->first + k];
    return is_own(sent) ? sent & ~CS_MSCCL_OWN : b->run->values[sent].chunk;
}

/* Does chunk k go on what chunk k - 1 does: from the next slot, into the next ones? */
static bool goes_with(const builder *b, const cs_msccl_message *m, uint32_t k)
{
    uint32_t d  = b->first_delivery[m->first_value + k - 1],
             e  = b->first_delivery[m->first_value + k];
    bool before = is_own(b->run->payloads[m->first + k - 1]);

    if (before != is_own(b->run->payloads[m->first + k]) ||
        chunk_sent(b, m, k - 1) + 1 != chunk_sent(b, m, k) ||
        source_of(b, m, k - 1) + 1 != source_of(b, m, k)) {
        return false;
    }
    while (d != NONE && e != NONE) {
        const delivery *x = &b->deliveries[d], *y = &b->deliveries[e];
        if (stream_slot(b, x->slot) + 1 != stream_slot(b, y->slot) || x->adds != y->adds ||
            x->flags != y->flags) {
            return false;
        }
        d = x->next;
        e = y->next;
    }
    return d == e;
}

/* The chunks [first, end) of a message: a part for every place that they go to. */
static cs_status add_parts(builder *b, const cs_msccl_message *m, uint32_t first, uint32_t end)
{
    cs_transfer    t   = {.src      = gpu_of(b, m->send_step),
                          .dst      = gpu_of(b, m->recv_step),
                          .chunk    = chunk_sent(b, m, first),
                          .src_slot = (uint16_t)source_of(b, m, first),
                          .round    = m->round,
                          .span     = (uint16_t)(end - first)};
    uint8_t        own = is_own(b->run->payloads[m->first + first]) ? CS_OWN_SRC : 0;
    uint32_t       n = 0, from = b->first_delivery[m->first_value + first];
    const cs_fence none = {0};

    for (uint32_t d = from; d != NONE; d = b->deliveries[d].next) {
        n++;
    }
    if (n > CS_MAX_PARTS) {
        return CS_MSCCL_FAIL(b->err, CS_ENOTSUP, b->p, &b->p->steps[m->recv_step],
                             "what is received is part of %u sums: accepted are %u", n,
                             CS_MAX_PARTS);
    }
    b->n_parts = b->n_parts + n > CS_MAX_PARTS ? 0 : b->n_parts;
    for (uint32_t d = from; d != NONE; d = b->deliveries[d].next) {
        const delivery *x = &b->deliveries[d];
        t.dst_slot        = (uint16_t)stream_slot(b, x->slot);
        t.op_fabric       = cs_op_fabric(x->adds ? CS_OP_REDUCE : CS_OP_COPY, CS_NIC);
        t.flags           = (uint8_t)(own | x->flags | (b->n_parts > 0 ? CS_JOIN : 0));
        CS_TRY(cs_stored_add(b->stored, &t, &none, b->err));
        b->n_parts++;
    }
    return CS_OK;
}

/* Is it one message with that before it? */
static bool is_continued(const builder *b, uint32_t index)
{
    const cs_msccl_message *m = &b->run->messages[index], *before = index > 0 ? m - 1 : m;

    return index > 0 && m->number > 0 && m->number == before->number &&
           gpu_of(b, m->send_step) == gpu_of(b, before->send_step) &&
           gpu_of(b, m->recv_step) == gpu_of(b, before->recv_step) && m->round == before->round;
}

static cs_status add_messages(builder *b)
{
    for (uint32_t i = 0; i < b->run->n_messages; i++) {
        const cs_msccl_message *m = &b->run->messages[i];
        b->n_parts                = is_continued(b, i) ? b->n_parts : 0;
        for (uint32_t k = 0, end; k < m->count; k = end) {
            end = k + 1;
            while (end < m->count && goes_with(b, m, end)) {
                end++;
            }
            CS_TRY(add_parts(b, m, k, end));
        }
    }
    return CS_OK;
}

static cs_status give_slots(builder *b)
{
    for (uint32_t v = 0; v < b->run->n_values; v++) {
        if (b->seen[v] != 0) {
            CS_TRY(give_slot(b, v));
        }
    }
    return give_rest(b);
}

static cs_status open_builder(builder *b)
{
    size_t values = (size_t)b->run->n_values + 1, messages = (size_t)b->run->n_messages + 1;
    size_t places = (size_t)b->p->n_gpus * b->run->n_places;

    b->stored         = cs_stored_new();
    b->seen           = CS_ARENA_NEW(&b->arena, uint32_t, values);
    b->slot_of        = CS_ARENA_NEW(&b->arena, uint32_t, values);
    b->message_of     = CS_ARENA_NEW(&b->arena, uint32_t, values);
    b->first_delivery = CS_ARENA_NEW(&b->arena, uint32_t, values);
    b->last_delivery  = CS_ARENA_NEW(&b->arena, uint32_t, values);
    b->is_final       = CS_ARENA_NEW(&b->arena, uint8_t, values);
    b->begins         = CS_ARENA_NEW(&b->arena, uint32_t, messages);
    b->leased         = CS_ARENA_NEW(&b->arena, uint32_t, places);
    if (b->stored == NULL || b->seen == NULL || b->slot_of == NULL || b->message_of == NULL ||
        b->first_delivery == NULL || b->last_delivery == NULL || b->is_final == NULL ||
        b->begins == NULL || b->leased == NULL) {
        return CS_NO_MEMORY(b->err, "a schedule");
    }
    memset(b->slot_of, 0xff, values * sizeof *b->slot_of); /* NONE */
    memset(b->first_delivery, 0xff, values * sizeof *b->first_delivery);
    memset(b->begins, 0xff, messages * sizeof *b->begins);
    memset(b->leased, 0xff, places * sizeof *b->leased);
    return CS_OK;
}

static void describe(const builder *b)
{
    const cs_msccl_program *p = b->p;
    cs_stored              *s = b->stored;

    s->collective      = p->collective;
    s->n_ranks         = p->n_gpus;
    s->n_chunks        = cs_msccl_all_chunks(p);
    s->gpus_per_server = 1;
    s->sockets         = 1;
    s->any_servers     = true;
    s->has_slots       = true;
    memcpy(s->name, p->name, sizeof s->name);
    if (cs_collective_has_root(p->collective)) {
        s->root = p->root != NONE ? p->root : find_root(b);
    }
}

static cs_status build(builder *b)
{
    size_t bad = 0;

    CS_TRY(open_builder(b));
    describe(b);
    see_messages(b);
    CS_TRY(see_outputs(b));
    CS_TRY(give_slots(b));
    CS_TRY(lease_layers(b));
    CS_TRY(cs_stored_check(b->stored, b->err));
    CS_TRY(add_messages(b));
    return cs_stored_finish(b->stored, &bad, b->err);
}

/* The messages as a stream for the engine. */
static cs_status make_stream(const cs_msccl_run *run, cs_stored **stored_p, cs_error *err)
{
    builder   b      = {.run = run, .p = run->program, .err = err};
    cs_status status = build(&b);

    if (status != CS_OK && status != CS_ENOMEM) {
        cs_error_locate(err, b.p->input, b.p->gpus[0].line, b.p->gpus[0].column);
    }
    cs_free(b.slots);
    cs_free(b.deliveries);
    cs_free(b.leaves);
    cs_free(b.stack);
    cs_free(b.leases);
    cs_arena_free(&b.arena);
    if (status != CS_OK) {
        cs_stored_free(b.stored);
        return status;
    }
    *stored_p = b.stored;
    return CS_OK;
}

/* The entry. */

/* One way of calling a program, as a schedule. */
static cs_status run_in(const cs_msccl_program *p, bool aliases, cs_arena *arena,
                        cs_stored **stored_p, cs_error *err)
{
    cs_msccl_run run;

    CS_TRY(cs_msccl_take_steps(p, aliases, arena, &run, err));
    CS_TRY(cs_msccl_check_order(&run, err));
    if (run.unset.status != CS_OK && err != NULL && err->status == CS_OK) {
        *err = run.unset;
    }
    CS_TRY(run.unset.status);
    return make_stream(&run, stored_p, err);
}

cs_status cs_msccl_run_as(const struct cs_msccl_program *p, bool aliases, cs_stored **stored_p,
                          cs_error *err)
{
    cs_arena  arena  = {0};
    cs_status status = run_in(p, aliases, &arena, stored_p, err);

    cs_arena_free(&arena);
    return status;
}

/* Is it correct with buffers of its own too? */
static cs_status check_out_of_place(const cs_msccl_program *p, cs_error *err)
{
    cs_stored *stored  = NULL;
    cs_verdict verdict = {0};

    CS_TRY(cs_msccl_run_as(p, false, &stored, err));
    cs_status status = cs_schedule_verify(stored, &verdict, err);
    if (status == CS_OK && !verdict.is_correct) {
        status = CS_FAIL(err, CS_EWRONG, "algo", "out of place: %s", verdict.text);
        cs_error_locate(err, p->input, p->gpus[0].line, p->gpus[0].column);
    }
    cs_stored_free(stored);
    return status;
}

static cs_status read_program(const char *text, size_t length, const char *input, cs_arena *arena,
                              cs_stored **stored_p, cs_error *err)
{
    cs_msccl_program program;

    CS_TRY(cs_msccl_read(text, length, input, arena, &program, err));
    CS_TRY(cs_msccl_run_as(&program, program.in_place, stored_p, err));
    return program.in_place && program.out_of_place ? check_out_of_place(&program, err) : CS_OK;
}

cs_status cs_msccl_parse(const char *text, size_t length, const char *input, cs_stored **stored_p,
                         cs_error *err)
{
    cs_arena   arena  = {0};
    cs_stored *stored = NULL;

    if (length > CS_MSCCL_MAX_BYTES) {
        (void)CS_FAIL(err, CS_EPARSE, "", "%zu bytes of XML are too many: accepted are %d", length,
                      CS_MSCCL_MAX_BYTES);
        cs_error_locate(err, input, 1, 1);
        return CS_EPARSE;
    }
    cs_status status = read_program(text, length, input, &arena, &stored, err);
    cs_arena_free(&arena);
    if (status != CS_OK) {
        cs_stored_free(stored);
        return status;
    }
    *stored_p = stored;
    return CS_OK;
}
