/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A plan as a program of MSCCL: signals, barriers and packets become waits for steps.
 *
 * Every thread block of the plan is one of the program, and every channel over a port that puts is
 * another one, of its proxy. What they do with chunks of their own GPU are steps of theirs; what
 * goes between GPUs is a send and a receive of two thread blocks that do nothing else, one pair for
 * each thread block and way, between a nop that stands for the operation in the order
 * (cs_msccl_order) and one that waits until it is done. A GPU's call is one more thread block: it
 * begins, waits for all thread blocks of the plan, and ends.
 *
 * Steps are made operation by operation and sorted by their thread blocks at last. What waits for a
 * step that need not be made yet (of another thread block) is noted, and found out when all are.
 */
#include "schedules/mscclpp_plan.h"

#include "base/alloc.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE CS_MSCCL_NONE

/* A way between two GPUs for what one thread block moves. */
typedef struct link {
    uint32_t src, dst;
    uint32_t tx, rx; /* thread blocks */
    uint32_t next;   /* of the same owner, or NONE */
} link;

/* A thread block of the plan, or a proxy: where its next step stands in the order. */
typedef struct actor {
    uint32_t block; /* of the program */
    uint32_t gpu;
    uint32_t sync;                        /* step behind which all before is in order, or NONE */
    uint32_t last;                        /* step, or NONE */
    uint32_t lanes[CS_MSCCLPP_MAX_LANES]; /* last step of a thread since then, or NONE */
    uint32_t links;                       /* the first one, or NONE */
} actor;

/* What is counted: signals of a channel's end, releases of a semaphore, arrivals at a barrier. */
typedef enum what { SIGNALS, SEMAPHORE, BARRIER } what;

/* One that is counted, or one that waits for it. */
typedef struct tally {
    what     kind;
    uint32_t gpu, id; /* id: channel of the plan, semaphore, barrier */
    uint32_t step, block;
    uint32_t order;   /* in which they were made */
    uint32_t n_waits; /* of a barrier: steps behind it that wait for the others */
    uint32_t turn;    /* of a barrier: of the thread block there */
    bool     waits;
} tally;

/* Someone waits for the packets in a place. */
typedef struct packet_wait {
    uint32_t step, place; /* of all scratch buffers */
} packet_wait;

typedef struct builder {
    const cs_mscclpp_plan *plan;
    cs_msccl_program      *p;
    cs_arena              *arena;
    cs_error              *err;
    bool                   failed; /* out of memory */
    cs_msccl_step         *steps;
    cs_msccl_order        *orders;
    size_t                 n_steps, step_capacity, order_capacity;
    cs_msccl_block        *blocks;
    size_t                 n_blocks, block_capacity;
    link                  *links;
    size_t                 n_links, link_capacity;
    tally                 *events;
    size_t                 n_events, event_capacity;
    packet_wait           *waits;
    size_t                 n_waits, wait_capacity;
    actor                 *actors;    /* [thread blocks of the plan] */
    actor                 *proxies;   /* [channels of the plan] */
    uint32_t              *proxy_of;  /* [channels] actor that uses it as a port, or NONE */
    uint32_t              *packets;   /* [scratch places] step that writes packets there, or NONE */
    uint32_t               n_scratch; /* places of a GPU */
    uint32_t               origin;    /* of the operation in work */
    const cs_mscclpp_op   *op;
    uint32_t               slice; /* of the pipeline in work, or NONE */
} builder;

/* Steps. */

static uint32_t add_step(builder *b, uint32_t block, uint32_t op, uint32_t wait)
{
    static const uint8_t traits[] = {
#define X(id, name, traits) [CS_MSCCL_##id] = (uint8_t)(traits),
        CS_MSCCL_OP_MAP(X)
#undef X
    };
    uint32_t index = (uint32_t)b->n_steps;

    if (!cs_grow(&b->steps, &b->step_capacity, b->n_steps + 1, 1024, sizeof *b->steps) ||
        !cs_grow(&b->orders, &b->order_capacity, b->n_steps + 1, 1024, sizeof *b->orders)) {
        b->failed = true;
        return 0; /* the builder begins with room for one */
    }
    b->steps[index]  = (cs_msccl_step){.op        = (uint8_t)op,
                                       .traits    = traits[op],
                                       .block     = block,
                                       .waits_for = wait,
                                       .line      = 1,
                                       .column    = 1};
    b->orders[index] = (cs_msccl_order){.event = index, .base = NONE, .origin = b->origin};
    b->n_steps++;
    return index;
}

static uint32_t add_block(builder *b, uint32_t gpu, uint32_t send, uint32_t recv, uint32_t channel)
{
    uint32_t index = (uint32_t)b->n_blocks;

    if (!cs_grow(&b->blocks, &b->block_capacity, b->n_blocks + 1, 256, sizeof *b->blocks)) {
        b->failed = true;
        return 0;
    }
    b->blocks[index] = (cs_msccl_block){
        .gpu = gpu, .channel = channel, .send = send, .recv = recv, .line = 1, .column = 1};
    b->n_blocks++;
    return index;
}

/* A step of an actor that its threads do each for itself. */
static uint32_t act(builder *b, actor *a, uint32_t wait)
{
    uint32_t step = add_step(b, a->block, CS_MSCCL_NOP, wait);

    b->orders[step].base = a->sync;
    a->last              = step;
    return step;
}

/* A step behind all before it and before all behind it. */
static uint32_t sync_all(builder *b, actor *a, uint32_t wait)
{
    uint32_t step = act(b, a, wait);

    b->orders[step].joins = true;
    a->sync               = step;
    for (uint32_t i = 0; i < CS_MSCCLPP_MAX_LANES; i++) {
        a->lanes[i] = NONE;
    }
    return step;
}

/* A step of one thread, behind what that one did. */
static uint32_t act_in_lane(builder *b, actor *a, uint32_t lane, uint32_t wait)
{
    uint32_t step = act(b, a, wait);

    b->orders[step].base = a->lanes[lane] != NONE ? a->lanes[lane] : a->sync;
    a->lanes[lane]       = step;
    return step;
}

static void note_event(builder *b, const tally *e)
{
    if (!cs_grow(&b->events, &b->event_capacity, b->n_events + 1, 256, sizeof *b->events)) {
        b->failed = true;
        return;
    }
    b->events[b->n_events]       = *e;
    b->events[b->n_events].order = (uint32_t)b->n_events;
    b->n_events++;
}

/* Moving chunks. */

static link *link_of(builder *b, actor *a, uint32_t src, uint32_t dst)
{
    for (uint32_t i = a->links; i != NONE; i = b->links[i].next) {
        if (b->links[i].src == src && b->links[i].dst == dst) {
            return &b->links[i];
        }
    }
    if (!cs_grow(&b->links, &b->link_capacity, b->n_links + 1, 256, sizeof *b->links)) {
        b->failed = true;
        return NULL;
    }
    uint32_t channel = (uint32_t)b->n_links; /* its own */
    link    *l       = &b->links[b->n_links];
    *l               = (link){src, dst, add_block(b, src, dst, NONE, channel),
                              add_block(b, dst, NONE, src, channel), a->links};
    a->links         = (uint32_t)b->n_links++;
    return l;
}

/* The chunks of an end that the operation in work uses: its slice, or its share of the group's. */
static cs_msccl_end part_of(const builder *b, const cs_mscclpp_end *e, uint16_t *count_p)
{
    uint32_t split = b->plan->split, first = e->index * split, size = e->size * split;
    uint32_t parts = b->slice != NONE ? CS_MSCCLPP_SLICES : b->op->n_parts;
    uint32_t part  = b->slice != NONE ? b->slice : b->op->part;

    size /= parts;
    *count_p = (uint16_t)size;
    return (cs_msccl_end){(uint16_t)(first + part * size), e->buffer};
}

/* Packets that the operation writes come from this step. */
static void note_packets(builder *b, uint32_t gpu, const cs_msccl_end *e, uint32_t count,
                         uint32_t step)
{
    for (uint32_t k = 0; k < count; k++) {
        uint32_t *writer = &b->packets[(size_t)gpu * b->n_scratch + e->offset + k];
        *writer          = *writer == NONE ? step : *writer;
    }
    b->orders[step].is_packets = true;
}

/* Copy between GPUs, or add what comes to `with` (NULL: nothing) of the receiver's; returns the
 * step that receives. `event` stands for it in the order, `after` comes before it. */
static uint32_t move(builder *b, actor *a, const cs_mscclpp_end *from, const cs_mscclpp_end *to,
                     const cs_mscclpp_end *with, uint32_t event, uint32_t after)
{
    uint16_t count = 0;
    link    *l     = link_of(b, a, from->gpu, to->gpu);

    if (l == NULL) {
        return 0;
    }
    uint32_t tx_block = l->tx, rx_block = l->rx;
    uint32_t tx         = add_step(b, tx_block, CS_MSCCL_SEND, after);
    uint32_t rx         = add_step(b, rx_block, with != NULL ? CS_MSCCL_RRC : CS_MSCCL_RECV, NONE);
    b->steps[tx].src    = part_of(b, from, &count);
    b->steps[tx].count  = count;
    b->steps[rx].dst    = part_of(b, to, &count);
    b->steps[rx].src    = with != NULL ? part_of(b, with, &count) : (cs_msccl_end){0};
    b->steps[rx].count  = count;
    b->steps[tx].number = b->op->message;
    b->steps[tx].round  = b->op->round;
    b->p->has_numbers &= b->op->message > 0;
    b->orders[tx].event = event;
    b->orders[rx].event = event;
    return rx;
}

/* Copy or add at the GPU itself. */
static uint32_t move_here(builder *b, actor *a, uint32_t op, const cs_mscclpp_end *from,
                          const cs_mscclpp_end *to, uint32_t event, bool is_flagged)
{
    uint32_t step  = add_step(b, a->block, op, NONE);
    uint16_t count = 0;

    b->steps[step].src         = part_of(b, from, &count);
    b->steps[step].dst         = part_of(b, to, &count);
    b->steps[step].count       = count;
    b->orders[step].event      = event;
    b->orders[step].is_flagged = is_flagged;
    a->last                    = step;
    return step;
}

/* The next nop is behind the receives, too. */
static void done(builder *b, actor *a, uint32_t rx)
{
    (void)act(b, a, rx);
}

/* The packets in an end are awaited, each from whoever writes it. Returns the step behind which
 * they, and those of `base`, are there (NONE: nothing was awaited yet). */
static uint32_t await_packets(builder *b, actor *a, const cs_mscclpp_end *e, uint32_t base)
{
    uint16_t     count = 0;
    cs_msccl_end part  = part_of(b, e, &count);

    for (uint32_t k = 0; k < count && !b->failed; k++) {
        if (!cs_grow(&b->waits, &b->wait_capacity, b->n_waits + 1, 256, sizeof *b->waits)) {
            b->failed = true;
            break;
        }
        uint32_t step              = act(b, a, NONE);
        b->orders[step].base       = base != NONE ? base : b->orders[step].base;
        b->orders[step].is_relaxed = true;
        b->waits[b->n_waits++]     = (packet_wait){step, a->gpu * b->n_scratch + part.offset + k};
        base                       = step;
    }
    return base;
}

/* The step that stands for the operation in work, behind the packets that it awaits. What writes
 * packets is in no order with the rest of its thread block, but with who reads them: it is a thread
 * block of its own here. */
static uint32_t begin(builder *b, actor *a, uint32_t base, bool writes_packets)
{
    uint32_t step = act(b, a, NONE);

    b->orders[step].base = base != NONE ? base : b->orders[step].base;
    if (!writes_packets) {
        return step;
    }
    uint32_t event         = add_step(b, add_block(b, a->gpu, NONE, NONE, 0), CS_MSCCL_NOP, step);
    b->orders[event].joins = true;
    (void)act(b, a, event);
    return event;
}

/* What operations do. */

static void copy_op(builder *b, actor *a)
{
    const cs_mscclpp_op *op     = b->op;
    uint32_t             traits = cs_mscclpp_traits(op->kind);
    bool                 reads  = (traits & CS_MSCCLPP_FROM_PACKETS) != 0;

    uint32_t base  = reads ? await_packets(b, a, op->src, NONE) : NONE;
    uint32_t event = begin(b, a, base, (traits & CS_MSCCLPP_TO_PACKETS) != 0);
    uint32_t step  = move_here(b, a, CS_MSCCL_COPY, op->src, op->dst, event, reads);
    if ((traits & CS_MSCCLPP_TO_PACKETS) != 0) {
        note_packets(b, a->gpu, &b->steps[step].dst, b->steps[step].count, step);
    }
}

/* put, get and packets over memory: pairs, or one src to all dst. */
static void move_op(builder *b, actor *a)
{
    const cs_mscclpp_op *op     = b->op;
    uint32_t             traits = cs_mscclpp_traits(op->kind);
    bool                 reads  = (traits & CS_MSCCLPP_FROM_PACKETS) != 0;

    uint32_t base  = reads ? await_packets(b, a, op->src, NONE) : NONE;
    uint32_t event = begin(b, a, base, (traits & CS_MSCCLPP_TO_PACKETS) != 0);
    for (uint32_t i = 0; i < op->n_dst && !b->failed; i++) {
        const cs_mscclpp_end *from = &op->src[i < op->n_src ? i : 0];
        uint32_t              rx   = move(b, a, from, &op->dst[i], NULL, event, event);
        if (b->failed) {
            return;
        }
        b->orders[rx - 1].is_flagged = reads;
        if ((traits & CS_MSCCLPP_TO_PACKETS) != 0) {
            note_packets(b, op->dst[i].gpu, &b->steps[rx].dst, b->steps[rx].count, rx);
        }
        done(b, a, rx);
    }
}

/* Where an end begins at its GPU. */
static uint32_t place_of(const builder *b, const cs_mscclpp_end *e)
{
    return cs_msccl_place(b->p, b->plan->in_place, e->gpu, e->buffer, e->index * b->plan->split);
}

static bool is_same_end(const builder *b, const cs_mscclpp_end *x, const cs_mscclpp_end *y)
{
    return x->gpu == y->gpu && place_of(b, x) == place_of(b, y);
}

/* The sum of all src into the first dst; returns the step behind which it is there. */
static uint32_t sum_up(builder *b, actor *a, uint32_t event)
{
    const cs_mscclpp_op *op    = b->op;
    bool                 flags = (cs_mscclpp_traits(op->kind) & CS_MSCCLPP_SUM_PACKETS) != 0;
    bool                 reads = op->n_src > 1 && op->src[1].gpu != a->gpu;
    uint32_t             after = event, kept = 0;

    if (reads) {
        for (uint32_t i = 1; i < op->n_src && !b->failed; i++) {
            after = move(b, a, &op->src[i], op->dst, i == 1 ? op->src : op->dst, event, after);
        }
        done(b, a, after);
        return after;
    }
    while (kept < op->n_src && !is_same_end(b, &op->src[kept], op->dst)) {
        kept++;
    }
    if (kept == op->n_src) {
        kept  = 0;
        after = move_here(b, a, CS_MSCCL_COPY, op->src, op->dst, event, false);
    }
    for (uint32_t i = 0; i < op->n_src && !b->failed; i++) {
        if (i != kept) {
            after = move_here(b, a, CS_MSCCL_REDUCE, &op->src[i], op->dst, event, flags && i > 0);
        }
    }
    return after;
}

static void sum_op(builder *b, actor *a)
{
    const cs_mscclpp_op *op    = b->op;
    bool                 flags = (cs_mscclpp_traits(op->kind) & CS_MSCCLPP_SUM_PACKETS) != 0;
    uint32_t             base  = NONE;

    for (uint32_t i = 1; flags && i < op->n_src; i++) {
        base = await_packets(b, a, &op->src[i], base);
    }
    uint32_t event = begin(b, a, base, flags && op->n_dst > 1);
    uint32_t after = sum_up(b, a, event);
    for (uint32_t i = 1; i < op->n_dst && !b->failed; i++) {
        bool     is_here = op->dst[i].gpu == a->gpu;
        uint32_t step = is_here ? move_here(b, a, CS_MSCCL_COPY, op->dst, &op->dst[i], event, false)
                                : move(b, a, op->dst, &op->dst[i], NULL, event, after);
        if (flags) {
            note_packets(b, op->dst[i].gpu, &b->steps[step].dst, b->steps[step].count, step);
        }
        if (!is_here) {
            done(b, a, step);
        }
    }
}

/* The proxy of a channel, which only one thread block may use. */
static actor *proxy_of(builder *b, const actor *a, uint32_t channel)
{
    actor   *proxy = &b->proxies[channel];
    uint32_t index = (uint32_t)(a - b->actors);

    if (b->proxy_of[channel] == NONE) {
        b->proxy_of[channel] = index;
        *proxy               = (actor){.block = add_block(b, a->gpu, NONE, NONE, 0),
                                       .gpu   = a->gpu,
                                       .sync  = NONE,
                                       .last  = NONE,
                                       .links = NONE};
    }
    return b->proxy_of[channel] == index ? proxy : NULL;
}

/* Fail about the operation in work. */
static cs_status fail_op(const builder *b, cs_status status, const char *text)
{
    char             name[CS_MSCCL_NAME_BYTES];
    cs_msccl_step    step  = {.op = CS_MSCCL_NOP};
    cs_msccl_order   order = {.origin = b->origin};
    cs_msccl_program p     = *b->p;

    p.steps  = &step;
    p.orders = &order;
    return CS_MSCCL_FAIL(b->err, status, &p, &step, "%s %s", cs_msccl_step_name(&p, &step, name),
                         text);
}

static void note_signal(builder *b, uint32_t channel, uint32_t step, uint32_t block)
{
    const cs_mscclpp_channel *c = &b->plan->channels[channel];

    note_event(
        b, &(tally){.kind = SIGNALS, .gpu = c->peer, .id = c->twin, .step = step, .block = block});
}

/* Put over ports: a thread each asks a proxy, which then does it. */
static cs_status put_op(builder *b, actor *a)
{
    const cs_mscclpp_op *op      = b->op;
    bool                 flags   = (cs_mscclpp_traits(op->kind) & CS_MSCCLPP_TO_PACKETS) != 0;
    bool                 reads   = (cs_mscclpp_traits(op->kind) & CS_MSCCLPP_FROM_PACKETS) != 0;
    bool                 flushes = op->kind == CS_MSCCLPP_PWSF;
    bool                 signals = op->kind == CS_MSCCLPP_PWS || flushes;

    if (reads) {
        (void)await_packets(b, a, op->src, NONE);
        (void)sync_all(b, a, NONE); /* of the executor's own */
    }
    for (uint32_t i = 0; i < op->n_dst && !b->failed; i++) {
        actor *proxy = proxy_of(b, a, op->ids[i]);
        if (proxy == NULL) {
            return fail_op(b, CS_ENOTSUP,
                           "uses a port that another thread block uses, too: not modelled");
        }
        uint32_t ask   = act_in_lane(b, a, i, NONE);
        uint32_t event = sync_all(b, proxy, ask);
        uint32_t rx =
            move(b, proxy, &op->src[i < op->n_src ? i : 0], &op->dst[i], NULL, event, event);
        if (flags && !b->failed) {
            note_packets(b, op->dst[i].gpu, &b->steps[rx].dst, b->steps[rx].count, rx);
            b->orders[rx - 1].is_packets =
                op->src[i < op->n_src ? i : 0].buffer == CS_MSCCL_SCRATCH;
            b->orders[rx - 1].is_flagged = reads;
        }
        (void)sync_all(b, proxy, rx);
        if (signals) {
            note_signal(b, op->ids[i], sync_all(b, proxy, NONE), a->block);
        }
        if (flushes) {
            (void)act_in_lane(b, a, i, proxy->last);
        }
    }
    return CS_OK;
}

/* signal, wait, flush, semaphores: a thread for each channel. */
static cs_status sync_op(builder *b, actor *a)
{
    const cs_mscclpp_op *op = b->op;

    for (uint32_t i = 0; i < op->n_ids && !b->failed; i++) {
        bool is_proxys =
            op->is_port && (op->kind == CS_MSCCLPP_SIGNAL || op->kind == CS_MSCCLPP_RLXSIGNAL ||
                            op->kind == CS_MSCCLPP_FLUSH);
        actor *proxy = is_proxys ? proxy_of(b, a, op->ids[i]) : NULL;
        if (is_proxys && proxy == NULL) {
            return fail_op(b, CS_ENOTSUP,
                           "uses a port that another thread block uses, too: not modelled");
        }
        bool     is_flush = op->kind == CS_MSCCLPP_FLUSH;
        uint32_t step     = act_in_lane(b, a, i, is_flush && proxy != NULL ? proxy->last : NONE);
        b->orders[step].is_relaxed =
            (cs_mscclpp_traits(op->kind) & CS_MSCCLPP_RELAXED) != 0 && !op->is_port;
        tally e = {
            .kind = SEMAPHORE, .gpu = a->gpu, .id = op->ids[i], .step = step, .block = a->block};
        switch (op->kind) {
        case CS_MSCCLPP_SIGNAL:
        case CS_MSCCLPP_RLXSIGNAL:
            note_signal(b, op->ids[i], is_proxys ? sync_all(b, proxy, step) : step, a->block);
            break;
        case CS_MSCCLPP_WAIT:
        case CS_MSCCLPP_RLXWAIT:
            e.kind  = SIGNALS;
            e.waits = true;
            note_event(b, &e);
            break;
        case CS_MSCCLPP_SEM_ACQUIRE:
            e.waits = true;
            note_event(b, &e);
            break;
        case CS_MSCCLPP_SEM_RELEASE: note_event(b, &e); break;
        default: break;
        }
    }
    return CS_OK;
}

/* All thread blocks of a barrier arrive, then each waits for all others. */
static void barrier_op(builder *b, actor *a)
{
    tally e = {.kind    = BARRIER,
               .gpu     = a->gpu,
               .id      = b->op->barrier,
               .step    = sync_all(b, a, NONE),
               .block   = a->block,
               .n_waits = b->op->n_blocks > 0 ? b->op->n_blocks - 1 : 0};

    note_event(b, &e);
    for (uint32_t i = 0; i < e.n_waits && !b->failed; i++) {
        (void)act(b, a, NONE);
    }
    (void)sync_all(b, a, NONE);
}

/* Does the first dst lie across a src of its own GPU? */
static bool overlaps(const builder *b, const cs_mscclpp_op *op)
{
    for (uint32_t i = 0; i < op->n_src; i++) {
        const cs_mscclpp_end *src = &op->src[i], *dst = op->dst;
        if (src->gpu == dst->gpu && !is_same_end(b, src, dst) &&
            place_of(b, src) < place_of(b, dst) + dst->size * b->plan->split &&
            place_of(b, dst) < place_of(b, src) + src->size * b->plan->split) {
            return true;
        }
    }
    return false;
}

static cs_status add_op(builder *b, actor *a, const cs_mscclpp_op *op, uint32_t slice)
{
    uint32_t traits = cs_mscclpp_traits(op->kind);

    b->op     = op;
    b->origin = op->origin;
    b->slice  = slice;
    if (op->n_dst > 0 && overlaps(b, op)) {
        return fail_op(b, CS_EPARSE, "reads and writes chunks that overlap");
    }
    if (op->kind == CS_MSCCLPP_NOP) {
        (void)sync_all(b, a, NONE);
    } else if (op->kind == CS_MSCCLPP_BARRIER) {
        barrier_op(b, a);
    } else if ((traits & CS_MSCCLPP_ADDS) != 0) {
        sum_op(b, a);
    } else if (op->n_dst > 0 && op->dst[0].gpu == a->gpu && op->src[0].gpu == a->gpu) {
        copy_op(b, a);
    } else if (op->n_dst > 0 && op->is_port) {
        return put_op(b, a);
    } else if (op->n_dst > 0) {
        move_op(b, a);
    } else {
        return sync_op(b, a);
    }
    return CS_OK;
}

static cs_status add_ops(builder *b, actor *a, const cs_mscclpp_block *block)
{
    for (uint32_t i = 0; i < block->n_ops; i++) {
        const cs_mscclpp_op *op = &block->ops[i];
        if (op->kind != CS_MSCCLPP_PIPELINE) {
            CS_TRY(add_op(b, a, op, NONE));
        }
        for (uint32_t s = 0; s < CS_MSCCLPP_SLICES && op->n_inner > 0; s++) {
            for (uint32_t k = 0; k < op->n_inner; k++) {
                CS_TRY(add_op(b, a, &op->inner[k], s));
            }
        }
        if (b->n_steps + b->n_events + b->n_waits > CS_MSCCL_MAX_MOVES) {
            return fail_op(b, CS_ENOTSUP, "is one of too many: accepted are 2^21 steps");
        }
    }
    return CS_OK;
}

/* Who waits for what. */

static int by_what(const void *left, const void *right)
{
    const tally   *a = left, *b = right;
    const uint32_t x[] = {a->kind, a->gpu, a->id, a->waits, a->order};
    const uint32_t y[] = {b->kind, b->gpu, b->id, b->waits, b->order};

    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++) {
        if (x[i] != y[i]) {
            return x[i] < y[i] ? -1 : 1;
        }
    }
    return 0;
}

static bool is_same_thing(const tally *a, const tally *b)
{
    return a->kind == b->kind && a->gpu == b->gpu && a->id == b->id;
}

/* Fail about a step that has been made. */
#define FAIL_STEP(b, error, status, step, ...) \
    CS_MSCCL_FAIL((error), (status), (b)->p, &(b)->p->steps[step], __VA_ARGS__)

/* "memory channel 0 from GPU 1", as the GPU that waits has it. */
static void name_thing(const builder *b, const tally *e, char name[CS_MSCCL_NAME_BYTES])
{
    if (e->kind == SEMAPHORE) {
        (void)snprintf(name, CS_MSCCL_NAME_BYTES, "semaphore %u", e->id);
    } else if (e->id == NONE) {
        (void)snprintf(name, CS_MSCCL_NAME_BYTES, "a channel of which GPU %u has no end", e->gpu);
    } else {
        const cs_mscclpp_channel *c = &b->plan->channels[e->id];
        (void)snprintf(name, CS_MSCCL_NAME_BYTES, "%s channel %u of GPU %u from GPU %u",
                       c->is_port ? "port" : "memory", c->index, c->gpu, c->peer);
    }
}

/* Signals [0, n) and who waits for them [n, all): the k-th wait goes with the k-th signal. */
static cs_status match(builder *b, const tally *events, size_t n, size_t all, cs_error *left)
{
    const tally *waits   = events + n;
    size_t       n_waits = all - n, first = 0;
    char         name[CS_MSCCL_NAME_BYTES], thing[CS_MSCCL_NAME_BYTES];

    name_thing(b, events, thing);
    if (events->kind == SEMAPHORE) {
        first = b->plan->gpus[events->gpu].semaphores[events->id];
    }
    for (size_t k = 0; k < all; k++) {
        if (events[k].block != (k < n ? events : waits)->block) {
            return FAIL_STEP(b, b->err, CS_ENOTSUP, events[k].step,
                             "%s is signalled, or waited for, by two thread blocks: not modelled",
                             thing);
        }
    }
    for (size_t k = 0; k < n_waits; k++) {
        if (k < first) {
            continue;
        }
        if (k - first >= n) {
            return FAIL_STEP(
                b, b->err, CS_EWRONG, waits[k].step,
                "%s waits for ever: it is wait %zu at %s, which is signalled %zu times",
                cs_msccl_step_name(b->p, &b->p->steps[waits[k].step], name), k + 1, thing,
                n + first);
        }
        uint32_t signal = events[k - first].step, wait = waits[k].step;
        b->p->steps[wait].waits_for = signal;
        b->p->orders[wait].is_relaxed |= b->p->orders[signal].is_relaxed;
    }
    if (n > n_waits || (events->kind == SEMAPHORE && n != n_waits)) {
        (void)FAIL_STEP(b, left, CS_EWRONG, events[n > n_waits ? n_waits : 0].step,
                        "%s is signalled %zu times and waited for %zu times: the next call would "
                        "begin with the difference",
                        thing, n, n_waits);
    }
    return CS_OK;
}

static int by_turn(const void *left, const void *right)
{
    const tally *a = left, *b = right;

    if (a->turn != b->turn) {
        return a->turn < b->turn ? -1 : 1;
    }
    return (a->order > b->order) - (a->order < b->order);
}

/* Meetings at a barrier: the k-th of all its thread blocks. */
static cs_status meet(builder *b, tally *events, size_t n)
{
    char name[CS_MSCCL_NAME_BYTES];

    for (size_t i = 1; i < n; i++) { /* those of a thread block stand in a row */
        events[i].turn = events[i].block == events[i - 1].block ? events[i - 1].turn + 1 : 0;
    }
    qsort(events, n, sizeof *events, by_turn);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && events[end].turn == events[i].turn; end++) {
        }
        for (size_t k = i; k < end; k++) {
            if (events[k].n_waits + 1 != end - i) {
                return FAIL_STEP(b, b->err, CS_EWRONG, events[k].step,
                                 "%s is for %u thread blocks, and %zu come there for the %zu. time",
                                 cs_msccl_step_name(b->p, &b->p->steps[events[k].step], name),
                                 events[k].n_waits + 1, end - i, (size_t)events[i].turn + 1);
            }
            uint32_t wait = events[k].step + 1;
            for (size_t other = i; other < end; other++) {
                if (other != k) {
                    b->p->steps[wait++].waits_for = events[other].step;
                }
            }
        }
    }
    return CS_OK;
}

static cs_status resolve_events(builder *b, cs_error *left)
{
    if (b->n_events > 0) {
        qsort(b->events, b->n_events, sizeof *b->events, by_what);
    }
    for (size_t i = 0, end, n; i < b->n_events; i = end) {
        for (end = i; end < b->n_events && is_same_thing(&b->events[i], &b->events[end]); end++) {
        }
        for (n = 0; i + n < end && !b->events[i + n].waits; n++) {
        }
        CS_TRY(b->events[i].kind == BARRIER ? meet(b, &b->events[i], end - i)
                                            : match(b, &b->events[i], n, end - i, left));
    }
    return CS_OK;
}

/* Packets. */

static cs_status resolve_packets(builder *b)
{
    char name[CS_MSCCL_NAME_BYTES];

    for (size_t i = 0; i < b->n_waits; i++) {
        const packet_wait *w = &b->waits[i];
        if (b->packets[w->place] == NONE) {
            return FAIL_STEP(
                b, b->err, CS_EWRONG, w->step,
                "%s waits for ever: nobody writes packets into chunk %u of the scratch "
                "buffer of GPU %u",
                cs_msccl_step_name(b->p, &b->p->steps[w->step], name),
                w->place % b->n_scratch / b->plan->split, w->place / b->n_scratch);
        }
        b->p->steps[w->step].waits_for = b->packets[w->place];
    }
    return CS_OK;
}

/* A use of a scratch buffer: packets are written once into a place, and no plain data. */
static cs_status check_use(const builder *b, uint32_t step, const cs_msccl_end *end,
                           bool is_packets, bool is_write, uint8_t *used)
{
    const cs_msccl_program *p   = b->p;
    const cs_msccl_step    *s   = &p->steps[step];
    uint32_t                gpu = p->blocks[s->block].gpu;
    char                    name[CS_MSCCL_NAME_BYTES], other[CS_MSCCL_NAME_BYTES];

    used[gpu] |= is_packets ? 2 : 1;
    if (used[gpu] == 3) {
        return FAIL_STEP(b, b->err, CS_ENOTSUP, step,
                         "%s uses the scratch buffer of GPU %u, in which are packets and plain "
                         "data: not modelled",
                         cs_msccl_step_name(p, s, name), gpu);
    }
    for (uint32_t k = 0; is_packets && is_write && k < s->count; k++) {
        uint32_t writer = b->packets[(size_t)gpu * b->n_scratch + end->offset + k];
        if (writer != step) {
            return FAIL_STEP(b, b->err, CS_EWRONG, step,
                             "%s writes packets into chunk %u of the scratch buffer of GPU %u, as "
                             "%s does: a call has one flag",
                             cs_msccl_step_name(p, s, name), (end->offset + k) / p->split, gpu,
                             cs_msccl_step_name(p, &p->steps[writer], other));
        }
    }
    return CS_OK;
}

static cs_status check_scratch(const builder *b)
{
    const cs_msccl_program *p    = b->p;
    uint8_t                *used = CS_ARENA_NEW(b->arena, uint8_t, p->n_gpus);

    if (used == NULL) {
        return CS_NO_MEMORY(b->err, "a schedule");
    }
    for (uint32_t i = 0; i < p->n_steps; i++) {
        const cs_msccl_step  *s = &p->steps[i];
        const cs_msccl_order *o = &p->orders[i];
        if ((s->traits & CS_MSCCL_READS) != 0 && s->src.buffer == CS_MSCCL_SCRATCH) {
            bool sends = s->op == CS_MSCCL_SEND;
            CS_TRY(
                check_use(b, i, &s->src, o->is_flagged || (sends && o->is_packets), false, used));
        }
        if ((s->traits & CS_MSCCL_WRITES) != 0 && s->dst.buffer == CS_MSCCL_SCRATCH) {
            CS_TRY(check_use(b, i, &s->dst, o->is_packets, true, used));
        }
    }
    return CS_OK;
}

/* The program. */

/* The plan's thread blocks first, then proxies, then those that only move, then the calls. */
enum { THREADS, PROXIES, MOVERS, CALLS, N_RANKS };

static void rank_blocks(const builder *b, uint8_t *ranks)
{
    uint32_t n_threads = 0;

    memset(ranks, PROXIES, b->n_blocks);
    for (uint32_t g = 0; g < b->plan->n_gpus; g++) {
        ranks[g] = CALLS;
        n_threads += b->plan->gpus[g].n_blocks;
    }
    for (uint32_t i = 0; i < n_threads; i++) {
        ranks[b->actors[i].block] = THREADS;
    }
    for (size_t i = 0; i < b->n_links; i++) {
        ranks[b->links[i].tx] = MOVERS;
        ranks[b->links[i].rx] = MOVERS;
    }
    b->p->n_threads = n_threads;
}

/* Sort the thread blocks and steps; *to_p: where steps go. */
static cs_status sort_steps(builder *b, uint32_t **to_p)
{
    cs_msccl_program *p     = b->p;
    uint8_t          *ranks = CS_ARENA_NEW(b->arena, uint8_t, b->n_blocks);
    uint32_t         *place = CS_ARENA_NEW(b->arena, uint32_t, b->n_blocks);
    uint32_t         *to    = CS_ARENA_NEW(b->arena, uint32_t, b->n_steps);
    uint32_t          n = 0, n_steps = 0;

    p->blocks = CS_ARENA_NEW(b->arena, cs_msccl_block, b->n_blocks);
    p->steps  = CS_ARENA_NEW(b->arena, cs_msccl_step, b->n_steps);
    p->orders = CS_ARENA_NEW(b->arena, cs_msccl_order, b->n_steps);
    if (ranks == NULL || place == NULL || to == NULL || p->blocks == NULL || p->steps == NULL ||
        p->orders == NULL) {
        return CS_NO_MEMORY(b->err, "a schedule");
    }
    rank_blocks(b, ranks);
    for (uint32_t rank = 0; rank < N_RANKS; rank++) {
        for (uint32_t i = 0; i < b->n_blocks; i++) {
            if (ranks[i] == rank) {
                place[i]       = n;
                p->blocks[n++] = b->blocks[i];
            }
        }
    }
    for (size_t i = 0; i < b->n_steps; i++) {
        p->blocks[place[b->steps[i].block]].n_steps++;
    }
    for (uint32_t i = 0; i < n; i++) {
        cs_msccl_block *block = &p->blocks[i];
        block->first_step     = n_steps;
        block->id             = p->gpus[block->gpu].n_blocks++;
        n_steps += block->n_steps;
        block->n_steps = 0;
    }
    for (size_t i = 0; i < b->n_steps; i++) {
        cs_msccl_block *block = &p->blocks[place[b->steps[i].block]];
        to[i]                 = block->first_step + block->n_steps++;
        p->steps[to[i]]       = b->steps[i];
        p->orders[to[i]]      = b->orders[i];
        p->steps[to[i]].block = place[b->steps[i].block];
    }
    p->n_blocks = n;
    p->n_steps  = n_steps;
    *to_p       = to;
    return CS_OK;
}

static void rename_step(const uint32_t *to, uint32_t *step)
{
    *step = *step != NONE ? to[*step] : NONE;
}

static cs_status finish_steps(builder *b)
{
    cs_msccl_program *p  = b->p;
    uint32_t         *to = NULL;

    CS_TRY(sort_steps(b, &to));
    for (uint32_t i = 0; i < p->n_steps; i++) {
        rename_step(to, &p->steps[i].waits_for);
        rename_step(to, &p->orders[i].event);
        rename_step(to, &p->orders[i].base);
        p->relaxes |= p->orders[i].is_relaxed;
    }
    for (size_t i = 0; i < b->n_events; i++) {
        rename_step(to, &b->events[i].step);
    }
    for (size_t i = 0; i < b->n_waits; i++) {
        rename_step(to, &b->waits[i].step);
    }
    for (size_t i = 0; i < (size_t)p->n_gpus * b->n_scratch; i++) {
        rename_step(to, &b->packets[i]);
    }
    for (uint32_t g = 0; g < p->n_gpus; g++) {
        rename_step(to, &p->begins[g]);
        rename_step(to, &p->ends[g]);
    }
    return CS_OK;
}

static cs_status check_size(const builder *b)
{
    const cs_msccl_program *p      = b->p;
    uint64_t                moves  = 0;
    uint64_t                places = (uint64_t)cs_msccl_n_places(p, p->in_place) * p->n_gpus;

    for (uint32_t i = 0; i < p->n_steps; i++) {
        moves += p->steps[i].count;
    }
    if (places > CS_MSCCL_MAX_PLACES || moves > CS_MSCCL_MAX_MOVES) {
        return CS_FAIL(b->err, CS_ENOTSUP, "gpus",
                       "%llu chunks in all buffers and %llu in all operations are too many: "
                       "accepted are 2^24 and 2^21",
                       (unsigned long long)places, (unsigned long long)moves);
    }
    return CS_OK;
}

/* A GPU's call ends when its thread blocks have ended. */
static void end_call(builder *b, uint32_t gpu, const actor *first, uint32_t n)
{
    actor call = {.block = gpu, .gpu = gpu, .sync = b->p->begins[gpu], .links = NONE};

    b->origin = gpu;
    for (uint32_t i = 0; i < n && !b->failed; i++) {
        (void)act(b, &call, first[i].last);
    }
    b->p->ends[gpu] = sync_all(b, &call, NONE);
}

/* Thread blocks begin and end with a nop. */
static cs_status add_gpu(builder *b, uint32_t gpu, actor *actors)
{
    const cs_mscclpp_gpu *g = &b->plan->gpus[gpu];

    for (uint32_t i = 0; i < g->n_blocks && !b->failed; i++) {
        actor *a  = &actors[i];
        b->origin = gpu;
        *a        = (actor){
                   .block = add_block(b, gpu, NONE, NONE, 0), .gpu = gpu, .sync = NONE, .links = NONE};
        (void)sync_all(b, a, b->p->begins[gpu]);
        CS_TRY(add_ops(b, a, &g->blocks[i]));
        b->origin = gpu;
        (void)sync_all(b, a, NONE);
    }
    end_call(b, gpu, actors, g->n_blocks);
    return b->failed ? CS_NO_MEMORY(b->err, "a schedule") : CS_OK;
}

/* All calls begin; what there is to keep in mind is there. */
static cs_status open_builder(builder *b)
{
    const cs_mscclpp_plan *plan     = b->plan;
    uint32_t               n_blocks = 0;
    size_t                 n_places = (size_t)plan->n_gpus * b->n_scratch;

    for (uint32_t g = 0; g < plan->n_gpus; g++) {
        n_blocks += plan->gpus[g].n_blocks;
    }
    b->actors    = CS_ARENA_NEW(b->arena, actor, n_blocks);
    b->proxies   = CS_ARENA_NEW(b->arena, actor, plan->n_channels);
    b->proxy_of  = CS_ARENA_NEW(b->arena, uint32_t, plan->n_channels);
    b->packets   = CS_ARENA_NEW(b->arena, uint32_t, n_places);
    b->p->begins = CS_ARENA_NEW(b->arena, uint32_t, plan->n_gpus);
    b->p->ends   = CS_ARENA_NEW(b->arena, uint32_t, plan->n_gpus);
    if (!cs_grow(&b->steps, &b->step_capacity, 1, 1024, sizeof *b->steps) ||
        !cs_grow(&b->orders, &b->order_capacity, 1, 1024, sizeof *b->orders) || b->actors == NULL ||
        b->proxies == NULL || b->proxy_of == NULL || b->packets == NULL || b->p->begins == NULL ||
        b->p->ends == NULL) {
        return CS_NO_MEMORY(b->err, "a schedule");
    }
    memset(b->proxy_of, 0xff, plan->n_channels * sizeof *b->proxy_of); /* NONE */
    memset(b->packets, 0xff, n_places * sizeof *b->packets);
    for (uint32_t g = 0; g < plan->n_gpus; g++) {
        actor call      = {.block = add_block(b, g, NONE, NONE, 0), .gpu = g, .sync = NONE};
        b->origin       = g;
        b->p->begins[g] = sync_all(b, &call, NONE);
    }
    return b->failed ? CS_NO_MEMORY(b->err, "a schedule") : CS_OK;
}

static cs_status build(builder *b, cs_error *left)
{
    uint32_t first = 0;

    CS_TRY(open_builder(b));
    for (uint32_t g = 0; g < b->plan->n_gpus; g++) {
        CS_TRY(add_gpu(b, g, b->actors + first));
        first += b->plan->gpus[g].n_blocks;
    }
    CS_TRY(finish_steps(b));
    CS_TRY(check_size(b));
    CS_TRY(resolve_events(b, left));
    CS_TRY(check_scratch(b));
    return resolve_packets(b);
}

static cs_status describe(const cs_mscclpp_plan *plan, const char *input, cs_arena *arena,
                          cs_msccl_program *p, cs_error *err)
{
    uint32_t chunks = plan->n_inputs > plan->n_outputs ? plan->n_inputs : plan->n_outputs;

    *p = (cs_msccl_program){.input        = input,
                            .collective   = plan->collective,
                            .root         = plan->root,
                            .n_gpus       = plan->n_gpus,
                            .n_chunks     = chunks * plan->split,
                            .n_ahead      = UINT32_MAX,
                            .in_place     = plan->in_place,
                            .out_of_place = !plan->in_place,
                            .has_numbers  = true,
                            .origins      = plan->origins,
                            .split        = plan->split};
    cs_plain_text(p->name, sizeof p->name, plan->name);
    p->gpus = CS_ARENA_NEW(arena, cs_msccl_gpu, plan->n_gpus);
    if (p->gpus == NULL) {
        return CS_NO_MEMORY(err, "a schedule");
    }
    for (uint32_t g = 0; g < plan->n_gpus; g++) {
        uint32_t n_scratch = plan->gpus[g].n_scratch * plan->split;
        p->gpus[g]         = (cs_msccl_gpu){
                    .n_chunks = {plan->n_inputs * plan->split, plan->n_outputs * plan->split, n_scratch},
                    .line     = 1,
                    .column   = 1};
        p->n_scratch = n_scratch > p->n_scratch ? n_scratch : p->n_scratch;
    }
    return CS_OK;
}

cs_status cs_mscclpp_program(const cs_mscclpp_plan *plan, const char *input, cs_arena *arena,
                             cs_msccl_program *program, cs_error *left, cs_error *err)
{
    CS_TRY(describe(plan, input, arena, program, err));
    builder b = {
        .plan = plan, .p = program, .arena = arena, .err = err, .n_scratch = program->n_scratch};
    cs_status status = build(&b, left);
    cs_free(b.steps);
    cs_free(b.orders);
    cs_free(b.blocks);
    cs_free(b.links);
    cs_free(b.events);
    cs_free(b.waits);
    for (uint32_t i = 0; status == CS_OK && !program->has_numbers && i < program->n_steps; i++) {
        program->steps[i].number = 0;
    }
    return status;
}
