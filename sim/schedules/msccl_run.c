/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All steps are taken, with what chunks hold as names instead of numbers.
 *
 * A message takes as long as it has chunks; local steps, waiting and sending into a connection take
 * no time. A message goes as soon as its send was taken, its receive waits for it, and the sender
 * and the receiver, which do one thing at a time each way, are free; first come, first served, and
 * of those that come at once the one that goes around fewer GPUs (so that an all-to-all has no
 * collisions).
 *
 * That is the order of the stream, unless the file says the number of every message in its
 * schedule: then it is that order, as far as what a GPU has sent and received before allows.
 */
#include "schedules/msccl_program.h"

#include "base/event_queue.h"
#include "base/random.h"

#include <stdlib.h>
#include <string.h>

#define NONE CS_MSCCL_NONE

enum { IN, OUT };
enum { SENT = 1, WANTED = 2, GONE = 4, ARRIVED = 8 }; /* of messages */

/* Where a thread block is: `next` of its steps is the one to be taken. */
typedef struct worker {
    uint32_t next;
    uint32_t n_ahead;    /* messages that it sent and that have not arrived */
    uint32_t number;     /* of messages so far: the largest */
    uint32_t next_idle;  /* in the list of those that wait for a step */
    bool     is_idle;    /* in that list */
    bool     is_queued;  /* to be looked at */
    bool     has_effect; /* the step was taken, but its message does not fit in the connection */
} worker;

/* A message that can go: those with smaller keys first. */
typedef struct pending {
    uint64_t key;
    uint32_t message;
} pending;

/* A GPU's way out or in, and the messages that wait for it, in the order in which they came. */
typedef struct port {
    bool     is_busy;
    uint32_t offered; /* in this look at the ports, which have numbers */
    uint32_t first, last;
} port;

typedef struct machine {
    const cs_msccl_program *p;
    cs_msccl_run           *run;
    cs_arena               *arena;
    cs_error               *err;
    worker                 *workers;  /* [n_blocks] */
    bool                   *is_done;  /* [n_steps] */
    uint32_t               *number;   /* [n_steps] of messages up to its end: the largest */
    uint32_t               *idle;     /* [n_steps] first thread block that waits for it */
    uint32_t               *sends;    /* [n_steps] message that goes out, or NONE */
    uint32_t               *receives; /* [n_steps] message that comes in, or NONE */
    uint32_t               *queue;    /* [n_blocks] ring of thread blocks to be looked at */
    uint32_t                queue_first, n_queued, n_taken;
    pending                *ready; /* [n_blocks] messages that can go since now */
    uint32_t                n_ready, n_payloads;
    port                   *ports[2];   /* [n_gpus] in, out */
    uint32_t               *waiting[2]; /* [n_messages] next in the list of the port */
    uint32_t               *touched;    /* [n_gpus] whose ports are to be looked at */
    bool                   *is_touched; /* [n_gpus] */
    uint32_t                n_touched;
    cs_event_queue          events; /* ends of messages */
    uint32_t               *stream; /* [n_messages] in the order in which they went */
    uint32_t               *turn;   /* [n_messages] their places in the queue */
    uint32_t                n_turns;
    uint32_t                n_streamed, now, n_moments, n_looks;
} machine;

/* Connections. */

/* One end of a connection. */
typedef struct end {
    uint32_t src, dst, channel, block;
    bool     is_send;
} end;

static int by_connection(const void *left, const void *right)
{
    const end     *a = left, *b = right;
    const uint32_t x[] = {a->src, a->dst, a->channel, !a->is_send, a->block};
    const uint32_t y[] = {b->src, b->dst, b->channel, !b->is_send, b->block};

    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++) {
        if (x[i] != y[i]) {
            return x[i] < y[i] ? -1 : 1;
        }
    }
    return 0;
}

static size_t list_ends(const cs_msccl_program *p, end *ends)
{
    size_t n = 0;

    for (uint32_t i = 0; i < p->n_blocks; i++) {
        const cs_msccl_block *b = &p->blocks[i];
        if (b->send != NONE) {
            ends[n++] = (end){b->gpu, b->send, b->channel, i, true};
        }
        if (b->recv != NONE) {
            ends[n++] = (end){b->recv, b->gpu, b->channel, i, false};
        }
    }
    qsort(ends, n, sizeof *ends, by_connection);
    return n;
}

static bool is_same(const end *a, const end *b)
{
    return a->src == b->src && a->dst == b->dst && a->channel == b->channel;
}

static cs_status fail_at_block(const machine *m, const end *e, const char *what)
{
    const cs_msccl_block *b = &m->p->blocks[e->block];
    cs_status status = CS_FAIL(m->err, CS_EPARSE, "tb", "GPU %u %s GPU %u over channel %u, %s",
                               b->gpu, e->is_send ? "sends to" : "receives from",
                               e->is_send ? e->dst : e->src, e->channel, what);
    cs_error_locate(m->err, m->p->input, b->line, b->column);
    return status;
}

/* The next step of a thread block, from `at` on, that has one of the traits, or NONE. */
static uint32_t next_with(const cs_msccl_program *p, uint32_t block, uint32_t at, uint32_t traits)
{
    const cs_msccl_block *b = &p->blocks[block];

    while (at < b->first_step + b->n_steps && (p->steps[at].traits & traits) == 0) {
        at++;
    }
    return at < b->first_step + b->n_steps ? at : NONE;
}

/* The k-th send is the k-th receive. */
static cs_status match(machine *m, const end *tx, const end *rx)
{
    const cs_msccl_program *p = m->p;
    uint32_t send = next_with(p, tx->block, p->blocks[tx->block].first_step, CS_MSCCL_SENDS);
    uint32_t recv = next_with(p, rx->block, p->blocks[rx->block].first_step, CS_MSCCL_RECEIVES);

    while (send != NONE && recv != NONE) {
        const cs_msccl_step *s = &p->steps[send], *r = &p->steps[recv];
        if (s->count != r->count) {
            return CS_MSCCL_FAIL(m->err, CS_EPARSE, p, r,
                                 "receives %u chunks, and the step of GPU %u in line %d sends %u",
                                 r->count, tx->src, s->line, s->count);
        }
        m->run->messages[m->run->n_messages] = (cs_msccl_message){
            .send_step = send,
            .recv_step = recv,
            .first     = m->n_payloads,
            .count     = s->count,
        };
        m->n_payloads += s->count;
        m->sends[send]         = m->run->n_messages;
        m->receives[recv]      = m->run->n_messages;
        m->run->incoming[recv] = send;
        m->run->n_messages++;
        send = next_with(p, tx->block, send + 1, CS_MSCCL_SENDS);
        recv = next_with(p, rx->block, recv + 1, CS_MSCCL_RECEIVES);
    }
    if (send != NONE || recv != NONE) {
        return CS_MSCCL_FAIL(m->err, CS_EPARSE, p, &p->steps[send != NONE ? send : recv], "%s",
                             send != NONE ? "sends what the other GPU never receives"
                                          : "receives what the other GPU never sends");
    }
    return CS_OK;
}

static cs_status match_all(machine *m)
{
    const cs_msccl_program *p    = m->p;
    end                    *ends = CS_ARENA_NEW(m->arena, end, 2 * (size_t)p->n_blocks);

    if (ends == NULL) {
        return CS_NO_MEMORY(m->err, "a schedule");
    }
    size_t n = list_ends(p, ends);
    for (size_t i = 0; i < n; i++) {
        const end *e     = &ends[i];
        const end *next  = i + 1 < n && is_same(e, e + 1) ? e + 1 : NULL;
        bool       moves = next_with(p, e->block, p->blocks[e->block].first_step,
                               e->is_send ? CS_MSCCL_SENDS : CS_MSCCL_RECEIVES) != NONE;
        if (next != NULL && next->is_send == e->is_send) {
            return fail_at_block(m, next, "in two thread blocks");
        } else if (next != NULL) {
            CS_TRY(match(m, e, next));
            bool has_third = i + 2 < n && is_same(next, next + 1);
            if (has_third) {
                return fail_at_block(m, next + 1, "in two thread blocks");
            }
            i++;
        } else if (moves) {
            return fail_at_block(m, e,
                                 e->is_send ? "and nothing there receives from it"
                                            : "and nothing there sends to it");
        }
    }
    return CS_OK;
}

/* What chunks hold. */

static uint32_t place_of(const machine *m, const cs_msccl_step *s, bool is_src)
{
    const cs_msccl_end *e = is_src ? &s->src : &s->dst;
    return cs_msccl_place(m->p, m->run->aliases, m->p->blocks[s->block].gpu, e->buffer, e->offset);
}

static uint32_t *at_place(const machine *m, const cs_msccl_step *s, uint32_t place)
{
    return &m->run->at[(size_t)m->p->blocks[s->block].gpu * m->run->n_places + place];
}

static uint32_t chunk_of(const machine *m, uint32_t value)
{
    return (value & CS_MSCCL_OWN) != 0 ? value & ~CS_MSCCL_OWN : m->run->values[value].chunk;
}

uint64_t cs_msccl_print(const cs_msccl_run *run, uint32_t gpu, uint32_t value)
{
    return (value & CS_MSCCL_OWN) != 0 ? cs_mix64(cs_mix64(gpu) ^ (value & ~CS_MSCCL_OWN))
                                       : run->values[value].print;
}

/* A new value of a GPU: `a` + `b`, or what came with a message (b = NONE). */
static uint32_t add_value(const machine *m, const cs_msccl_step *s, uint32_t a, uint32_t b,
                          uint32_t chunk, uint64_t print, uint32_t place)
{
    uint32_t index = m->run->n_values++;

    m->run->values[index] = (cs_msccl_value){.a     = b == NONE ? index : a,
                                             .b     = b,
                                             .chunk = chunk,
                                             .place = place,
                                             .step  = (uint32_t)(s - m->p->steps),
                                             .print = print};
    return index;
}

static uint32_t add_sum(const machine *m, const cs_msccl_step *s, uint32_t a, uint32_t b,
                        uint32_t place)
{
    uint32_t gpu = m->p->blocks[s->block].gpu;
    return add_value(m, s, a, b, chunk_of(m, a),
                     cs_msccl_print(m->run, gpu, a) + cs_msccl_print(m->run, gpu, b), place);
}

/* Values for all chunks of a message that has arrived. */
static void unpack(const machine *m, const cs_msccl_step *s, cs_msccl_message *message)
{
    uint32_t sender = m->p->blocks[m->p->steps[message->send_step].block].gpu;
    uint32_t place  = place_of(m, s, (s->traits & CS_MSCCL_WRITES) == 0);

    message->first_value = m->run->n_values;
    for (uint32_t k = 0; k < s->count; k++) {
        uint32_t sent = m->run->payloads[message->first + k];
        (void)add_value(m, s, 0, NONE, chunk_of(m, sent), cs_msccl_print(m->run, sender, sent),
                        place + k);
    }
}

/* A chunk is read before anything is there. In a plan it may only be too late, which who looks for
 * races says better: what is there then is no matter. */
static cs_status note_unset(const machine *m, const cs_msccl_step *s, const cs_msccl_end *source,
                            uint32_t k)
{
    static const char *const names[] = {"input", "output", "scratch"};
    bool                     is_plan = m->p->orders != NULL;

    if (m->run->unset.status != CS_OK) {
        return CS_OK;
    }
    cs_status status = CS_MSCCL_FAIL(
        is_plan ? &m->run->unset : m->err, CS_EWRONG, m->p, s,
        "GPU %u reads chunk %u of its %s buffer before anything is there",
        m->p->blocks[s->block].gpu, (source->offset + k) / m->p->split, names[source->buffer]);
    return is_plan ? CS_OK : status;
}

static cs_status take_chunk(const machine *m, const cs_msccl_step *s, uint32_t k, uint32_t received)
{
    bool     reads = (s->traits & CS_MSCCL_READS) != 0, writes = (s->traits & CS_MSCCL_WRITES) != 0;
    bool     adds = (s->traits & CS_MSCCL_ADDS) != 0;
    uint32_t from = place_of(m, s, true) + k, to = place_of(m, s, false) + k;
    uint32_t src   = reads ? *at_place(m, s, from) : received;
    uint32_t value = src, other = received;
    const cs_msccl_end *source = &s->src;

    if (s->op == CS_MSCCL_REDUCE) {
        other  = *at_place(m, s, to);
        source = src == CS_MSCCL_NOTHING ? source : &s->dst;
    }
    if (src == CS_MSCCL_NOTHING || (adds && other == CS_MSCCL_NOTHING)) {
        CS_TRY(note_unset(m, s, source, k));
        src   = src == CS_MSCCL_NOTHING ? CS_MSCCL_OWN : src;
        other = other == CS_MSCCL_NOTHING ? CS_MSCCL_OWN : other;
        value = src;
    }
    if (adds) {
        bool     is_local = s->op == CS_MSCCL_REDUCE;
        uint32_t place    = writes ? to : from;
        value = is_local ? add_sum(m, s, other, src, place) : add_sum(m, s, src, other, place);
    }
    if (writes) {
        *at_place(m, s, to) = value;
    }
    if ((s->traits & CS_MSCCL_SENDS) != 0) {
        uint32_t message                                      = m->sends[s - m->p->steps];
        m->run->payloads[m->run->messages[message].first + k] = value;
    }
    return CS_OK;
}

/* What a step does to the chunks of its GPU. */
static cs_status take_effect(machine *m, const cs_msccl_step *s)
{
    uint32_t index = (uint32_t)(s - m->p->steps), first = NONE;

    if ((s->traits & CS_MSCCL_RECEIVES) != 0) {
        cs_msccl_message *message = &m->run->messages[m->receives[index]];
        unpack(m, s, message);
        first = message->first_value;
    }
    for (uint32_t k = 0; k < s->count && s->op != CS_MSCCL_NOP; k++) {
        CS_TRY(take_chunk(m, s, k, first == NONE ? CS_MSCCL_NOTHING : first + k));
    }
    m->run->order[m->n_taken++] = index;
    return CS_OK;
}

/* Taking steps. */

static void look_at(machine *m, uint32_t block)
{
    if (!m->workers[block].is_queued) {
        uint32_t at = m->queue_first + m->n_queued++; /* of a ring */

        m->workers[block].is_queued                              = true;
        m->queue[at < m->p->n_blocks ? at : at - m->p->n_blocks] = block;
    }
}

/* A message that was sent and is wanted can go. */
static void note(machine *m, uint32_t message, uint8_t what)
{
    cs_msccl_message *g = &m->run->messages[message];

    g->state |= what;
    if (g->state == (SENT | WANTED)) {
        const cs_msccl_block *b        = &m->p->blocks[m->p->steps[g->send_step].block];
        uint64_t              distance = (b->send + m->p->n_gpus - b->gpu) % m->p->n_gpus;
        m->ready[m->n_ready++]         = (pending){distance << 32 | b->id << 16 | b->gpu, message};
    }
}

/* The step is over: for those who wait for it, and for its thread block. */
static void finish(machine *m, uint32_t block, uint32_t step)
{
    m->is_done[step] = true;
    m->number[step]  = m->workers[block].number;
    for (uint32_t b = m->idle[step]; b != NONE; b = m->workers[b].next_idle) {
        m->workers[b].is_idle = false;
        look_at(m, b);
    }
    m->idle[step] = NONE;
    m->workers[block].next++;
    m->workers[block].has_effect = false;
}

static void count_up(worker *w, uint32_t number)
{
    w->number = number > w->number ? number : w->number;
}

/* May the step be taken now? If not, whoever makes it possible has the thread block looked at. */
static bool may_take(machine *m, uint32_t block, const cs_msccl_step *s)
{
    uint32_t index = (uint32_t)(s - m->p->steps), wait = s->waits_for;
    worker  *w = &m->workers[block];

    if (wait != NONE && !m->is_done[wait]) {
        if (!w->is_idle) {
            w->is_idle    = true;
            w->next_idle  = m->idle[wait];
            m->idle[wait] = block;
        }
        return false;
    }
    count_up(w, wait != NONE ? m->number[wait] : 0);
    if ((s->traits & CS_MSCCL_RECEIVES) != 0) {
        cs_msccl_message *message = &m->run->messages[m->receives[index]];
        if ((message->state & WANTED) == 0) {
            note(m, m->receives[index], WANTED);
        }
        if ((message->state & ARRIVED) == 0) {
            return false;
        }
        count_up(w, message->number);
    }
    return true;
}

/* Take steps of a thread block until one has to wait. */
static cs_status work(machine *m, uint32_t block)
{
    const cs_msccl_block *b = &m->p->blocks[block];
    worker               *w = &m->workers[block];

    while (w->next < b->n_steps) {
        uint32_t             index = b->first_step + w->next;
        const cs_msccl_step *s     = &m->p->steps[index];
        bool                 sends = (s->traits & CS_MSCCL_SENDS) != 0;
        if (!w->has_effect) {
            if (!may_take(m, block, s)) {
                return CS_OK;
            }
            CS_TRY(take_effect(m, s));
            if (sends) {
                w->n_ahead++;
                count_up(w, s->number);
                m->run->messages[m->sends[index]].number = w->number;
                note(m, m->sends[index], SENT);
            }
        }
        if (sends && w->n_ahead > m->p->n_ahead) {
            w->has_effect = true;
            return CS_OK;
        }
        finish(m, block, index);
    }
    return CS_OK;
}

/* Ports. */

static int by_key(const void *left, const void *right)
{
    const pending *a = left, *b = right;
    return (a->key > b->key) - (a->key < b->key);
}

static uint32_t gpu_of(const machine *m, uint32_t step)
{
    return m->p->blocks[m->p->steps[step].block].gpu;
}

static void touch(machine *m, uint32_t gpu)
{
    if (!m->is_touched[gpu]) {
        m->is_touched[gpu]         = true;
        m->touched[m->n_touched++] = gpu;
    }
}

/* Put a message behind the others that wait for a port. */
static void wait_for(machine *m, int way, uint32_t gpu, uint32_t message)
{
    port *p = &m->ports[way][gpu];

    m->waiting[way][message] = NONE;
    if (p->first == NONE) {
        p->first = message;
    } else {
        m->waiting[way][p->last] = message;
    }
    p->last = message;
    touch(m, gpu);
}

static void queue_ready(machine *m)
{
    qsort(m->ready, m->n_ready, sizeof *m->ready, by_key);
    for (uint32_t i = 0; i < m->n_ready; i++) {
        const cs_msccl_message *g    = &m->run->messages[m->ready[i].message];
        m->turn[m->ready[i].message] = m->n_turns++;
        wait_for(m, OUT, gpu_of(m, g->send_step), m->ready[i].message);
        wait_for(m, IN, gpu_of(m, g->recv_step), m->ready[i].message);
    }
    m->n_ready = 0;
}

/* The first message behind `at` (NONE: of all) that waits to go out of a GPU and whose receiver is
 * free. Those that have gone are taken off the list. */
static uint32_t next_out(machine *m, uint32_t gpu, uint32_t at)
{
    port     *p    = &m->ports[OUT][gpu];
    uint32_t *link = at == NONE ? &p->first : &m->waiting[OUT][at];

    while (*link != NONE) {
        const cs_msccl_message *g = &m->run->messages[*link];
        if ((g->state & GONE) != 0) {
            *link = m->waiting[OUT][*link];
            continue;
        }
        at = *link;
        if (!m->ports[IN][gpu_of(m, g->recv_step)].is_busy) {
            return at;
        }
        link = &m->waiting[OUT][at];
    }
    p->last = at;
    return NONE;
}

/* A heap of the first messages of GPUs, by their turns. */
static void offer(machine *m, uint32_t gpu, uint32_t at)
{
    uint32_t message = next_out(m, gpu, at), i = m->n_ready;

    if (message == NONE) {
        return;
    }
    for (m->n_ready++; i > 0 && m->ready[(i - 1) / 2].key > m->turn[message]; i = (i - 1) / 2) {
        m->ready[i] = m->ready[(i - 1) / 2];
    }
    m->ready[i] = (pending){m->turn[message], message};
}

static uint32_t take_offer(machine *m)
{
    uint32_t top = m->ready[0].message, i = 0;
    pending  last = m->ready[--m->n_ready];

    for (uint32_t child = 1; child < m->n_ready; child = 2 * i + 1) {
        child += child + 1 < m->n_ready && m->ready[child + 1].key < m->ready[child].key;
        if (m->ready[child].key >= last.key) {
            break;
        }
        m->ready[i] = m->ready[child];
        i           = child;
    }
    m->ready[i] = last;
    return top;
}

/* A GPU whose way out is free takes part. */
static void consider(machine *m, uint32_t gpu)
{
    if (!m->ports[OUT][gpu].is_busy && m->ports[OUT][gpu].offered != m->n_looks) {
        m->ports[OUT][gpu].offered = m->n_looks;
        offer(m, gpu, NONE);
    }
}

/* All GPUs for which something has changed: they, and those that wait for them. */
static void consider_all(machine *m)
{
    for (uint32_t i = 0; i < m->n_touched; i++) {
        port     *in   = &m->ports[IN][m->touched[i]];
        uint32_t *link = &in->first, last = NONE;
        m->is_touched[m->touched[i]] = false;
        consider(m, m->touched[i]);
        while (*link != NONE) {
            const cs_msccl_message *g = &m->run->messages[*link];
            if ((g->state & GONE) != 0) {
                *link = m->waiting[IN][*link];
                continue;
            }
            if (!in->is_busy) {
                consider(m, gpu_of(m, g->send_step));
            }
            last = *link;
            link = &m->waiting[IN][last];
        }
        in->last = last;
    }
    m->n_touched = 0;
}

/* Of the messages whose both ports are free the one that came first goes, then the next. */
static cs_status use_ports(machine *m)
{
    uint32_t before = m->n_streamed;

    m->n_looks++;
    queue_ready(m);
    consider_all(m);
    while (m->n_ready > 0) {
        uint32_t          index = take_offer(m);
        cs_msccl_message *g     = &m->run->messages[index];
        uint32_t          from  = gpu_of(m, g->send_step);
        port             *out = &m->ports[OUT][from], *in = &m->ports[IN][gpu_of(m, g->recv_step)];
        if (in->is_busy) {
            offer(m, from, index);
            continue;
        }
        g->state |= GONE;
        g->round                   = m->n_moments;
        out->is_busy               = true;
        in->is_busy                = true;
        m->stream[m->n_streamed++] = index;
        if (cs_events_put(&m->events, (double)m->now + g->count, index) != CS_OK) {
            return CS_NO_MEMORY(m->err, "a schedule");
        }
    }
    m->n_moments += m->n_streamed > before;
    return CS_OK;
}

/* The next messages arrive; false where there are none. */
static bool arrive(machine *m)
{
    size_t n = 0;

    m->now = m->events.count > 0 ? (uint32_t)cs_events_next_s(&m->events) : m->now;
    n      = cs_events_take(&m->events);
    for (size_t i = 0; i < n; i++) {
        cs_msccl_message *g    = &m->run->messages[m->events.batch[i].key];
        uint32_t          from = gpu_of(m, g->send_step), to = gpu_of(m, g->recv_step);
        g->state |= ARRIVED;
        m->ports[OUT][from].is_busy = false;
        m->ports[IN][to].is_busy    = false;
        touch(m, from);
        touch(m, to);
        m->workers[m->p->steps[g->send_step].block].n_ahead--;
        look_at(m, m->p->steps[g->send_step].block);
        look_at(m, m->p->steps[g->recv_step].block);
    }
    return n > 0;
}

static cs_status work_all(machine *m)
{
    for (uint32_t b = 0; b < m->p->n_blocks; b++) {
        look_at(m, b);
    }
    do {
        while (m->n_queued > 0) {
            uint32_t block = m->queue[m->queue_first];
            m->queue_first = m->queue_first + 1 < m->p->n_blocks ? m->queue_first + 1 : 0;
            m->n_queued--;
            m->workers[block].is_queued = false;
            CS_TRY(work(m, block));
        }
        CS_TRY(use_ports(m));
    } while (arrive(m));
    return CS_OK;
}

/* ... of a plan, in which all is there that is waited for: some wait for each other. */
static cs_status fail_on_circle(const machine *m, uint32_t block)
{
    const cs_msccl_program *p    = m->p;
    const cs_msccl_step    *s    = NULL;
    uint32_t                wait = NONE;
    char                    name[CS_MSCCL_NAME_BYTES], other[CS_MSCCL_NAME_BYTES];

    for (uint32_t i = 0; i <= p->n_blocks; i++) {
        uint32_t index = p->blocks[block].first_step + m->workers[block].next;
        s              = &p->steps[index];
        wait           = s->waits_for != NONE && !m->is_done[s->waits_for] ? s->waits_for
                                                                           : m->run->incoming[index];
        block          = p->steps[wait].block;
    }
    return CS_MSCCL_FAIL(
        m->err, CS_EWRONG, p, s, "%s waits for ever for %s, which in the end waits for it, too",
        cs_msccl_step_name(p, s, name), cs_msccl_step_name(p, &p->steps[wait], other));
}

/* Some step that is never taken, and what it waits for. */
static cs_status check_end(const machine *m)
{
    const cs_msccl_program *p = m->p;

    for (uint32_t i = 0; i < p->n_blocks; i++) {
        const cs_msccl_block *b = &p->blocks[i];
        if (m->workers[i].next == b->n_steps) {
            continue;
        }
        uint32_t             index = b->first_step + m->workers[i].next;
        const cs_msccl_step *s     = &p->steps[index];
        if (m->workers[i].has_effect) {
            return CS_MSCCL_FAIL(m->err, CS_EPARSE, p, s,
                                 "waits for ever: its connection is full, of %u messages that GPU "
                                 "%u never takes",
                                 p->n_ahead, b->send);
        }
        if (p->orders != NULL) {
            return fail_on_circle(m, i);
        }
        if (s->waits_for != NONE && !m->is_done[s->waits_for]) {
            const cs_msccl_step *other = &p->steps[s->waits_for];
            return CS_MSCCL_FAIL(m->err, CS_EPARSE, p, s,
                                 "waits for ever for the step in line %d, of thread block %u",
                                 other->line, p->blocks[other->block].id);
        }
        return CS_MSCCL_FAIL(m->err, CS_EPARSE, p, s,
                             "waits for ever for the step of GPU %u in line %d", b->recv,
                             p->steps[m->run->incoming[index]].line);
    }
    return CS_OK;
}

/* A message's place in the stream. */
typedef struct turn {
    uint64_t key;
    uint32_t message;
} turn;

static int by_turn(const void *left, const void *right)
{
    const turn *a = left, *b = right;
    return (a->key > b->key) - (a->key < b->key);
}

/* Put the messages in the order of their numbers and, without numbers, in that in which they went.
 * Rounds are those of the file, or the moments at which something went. */
static cs_status sort_messages(machine *m)
{
    cs_msccl_run     *run    = m->run;
    cs_msccl_message *sorted = CS_ARENA_NEW(m->arena, cs_msccl_message, run->n_messages);
    turn             *turns  = CS_ARENA_NEW(m->arena, turn, run->n_messages);
    uint32_t          round  = 0;

    if (sorted == NULL || turns == NULL) {
        return CS_NO_MEMORY(m->err, "a schedule");
    }
    for (uint32_t i = 0; i < run->n_messages; i++) {
        uint64_t number = run->messages[m->stream[i]].number;
        turns[i]        = (turn){number << 32 | i, m->stream[i]};
    }
    qsort(turns, run->n_messages, sizeof *turns, by_turn);
    for (uint32_t i = 0; i < run->n_messages; i++) {
        const cs_msccl_step *s;
        sorted[i] = run->messages[turns[i].message];
        s         = &m->p->steps[sorted[i].send_step];
        round     = m->p->has_numbers && s->round > round ? s->round : round;

        sorted[i].round = m->p->has_numbers ? round : sorted[i].round;
    }
    run->messages = sorted;
    return CS_OK;
}

/* Memory. */

static void fill(uint32_t *list, size_t n, uint32_t value)
{
    for (size_t i = 0; i < n; i++) {
        list[i] = value;
    }
}

static cs_status open_run(machine *m)
{
    const cs_msccl_program *p   = m->p;
    cs_msccl_run           *run = m->run;
    size_t n_values = 1, n_payloads = 1, n_messages = 1, n_at = (size_t)p->n_gpus * run->n_places;

    for (uint32_t i = 0; i < p->n_steps; i++) {
        const cs_msccl_step *s        = &p->steps[i];
        bool                 receives = (s->traits & CS_MSCCL_RECEIVES) != 0;
        n_values += receives ? s->count : 0u;
        n_values += (s->traits & CS_MSCCL_ADDS) != 0 ? s->count : 0u;
        n_payloads += receives ? s->count : 0u;
        n_messages += receives;
    }
    run->at         = CS_ARENA_NEW(m->arena, uint32_t, n_at);
    run->messages   = CS_ARENA_NEW(m->arena, cs_msccl_message, n_messages);
    run->payloads   = CS_ARENA_NEW(m->arena, uint32_t, n_payloads);
    run->values     = CS_ARENA_NEW(m->arena, cs_msccl_value, n_values);
    run->order      = CS_ARENA_NEW(m->arena, uint32_t, p->n_steps);
    run->incoming   = CS_ARENA_NEW(m->arena, uint32_t, p->n_steps);
    m->stream       = CS_ARENA_NEW(m->arena, uint32_t, n_messages);
    m->turn         = CS_ARENA_NEW(m->arena, uint32_t, n_messages);
    m->waiting[IN]  = CS_ARENA_NEW(m->arena, uint32_t, n_messages);
    m->waiting[OUT] = CS_ARENA_NEW(m->arena, uint32_t, n_messages);
    if (run->at == NULL || run->messages == NULL || run->payloads == NULL || run->values == NULL ||
        run->order == NULL || run->incoming == NULL || m->stream == NULL || m->turn == NULL ||
        m->waiting[IN] == NULL || m->waiting[OUT] == NULL) {
        return CS_NO_MEMORY(m->err, "a schedule");
    }
    fill(run->at, n_at, CS_MSCCL_NOTHING);
    fill(run->incoming, p->n_steps, NONE);
    return CS_OK;
}

static cs_status open_machine(machine *m)
{
    const cs_msccl_program *p = m->p;

    m->workers    = CS_ARENA_NEW(m->arena, worker, p->n_blocks);
    m->is_done    = CS_ARENA_NEW(m->arena, bool, p->n_steps);
    m->idle       = CS_ARENA_NEW(m->arena, uint32_t, p->n_steps);
    m->sends      = CS_ARENA_NEW(m->arena, uint32_t, p->n_steps);
    m->receives   = CS_ARENA_NEW(m->arena, uint32_t, p->n_steps);
    m->queue      = CS_ARENA_NEW(m->arena, uint32_t, p->n_blocks);
    m->ready      = CS_ARENA_NEW(m->arena, pending, p->n_blocks);
    m->number     = CS_ARENA_NEW(m->arena, uint32_t, p->n_steps);
    m->touched    = CS_ARENA_NEW(m->arena, uint32_t, p->n_gpus);
    m->is_touched = CS_ARENA_NEW(m->arena, bool, p->n_gpus);
    m->ports[IN]  = CS_ARENA_NEW(m->arena, port, p->n_gpus);
    m->ports[OUT] = CS_ARENA_NEW(m->arena, port, p->n_gpus);
    if (m->workers == NULL || m->is_done == NULL || m->idle == NULL || m->sends == NULL ||
        m->receives == NULL || m->queue == NULL || m->ready == NULL || m->number == NULL ||
        m->touched == NULL || m->is_touched == NULL || m->ports[IN] == NULL ||
        m->ports[OUT] == NULL) {
        return CS_NO_MEMORY(m->err, "a schedule");
    }
    fill(m->idle, p->n_steps, NONE);
    for (uint32_t g = 0; g < p->n_gpus; g++) {
        m->ports[IN][g].first  = NONE;
        m->ports[OUT][g].first = NONE;
    }
    return open_run(m);
}

/* Every GPU begins with its own chunks in its input. */
static void put_own(const machine *m)
{
    const cs_msccl_program *p    = m->p;
    uint32_t                size = cs_msccl_chunks_of(p, CS_MSCCL_INPUT);

    for (uint32_t g = 0; g < p->n_gpus; g++) {
        for (uint32_t i = 0; i < size; i++) {
            uint32_t place = cs_msccl_place(p, m->run->aliases, g, CS_MSCCL_INPUT, i);
            m->run->at[(size_t)g * m->run->n_places + place] =
                CS_MSCCL_OWN | cs_msccl_chunk(p, g, CS_MSCCL_INPUT, i);
        }
    }
}

static cs_status take_steps(machine *m)
{
    CS_TRY(open_machine(m));
    CS_TRY(match_all(m));
    put_own(m);
    CS_TRY(work_all(m));
    CS_TRY(check_end(m));
    return sort_messages(m);
}

cs_status cs_msccl_take_steps(const cs_msccl_program *p, bool aliases, cs_arena *arena,
                              cs_msccl_run *run, cs_error *err)
{
    machine m = {.p = p, .run = run, .arena = arena, .err = err};

    *run =
        (cs_msccl_run){.program = p, .aliases = aliases, .n_places = cs_msccl_n_places(p, aliases)};
    cs_status status = take_steps(&m);
    cs_events_free(&m.events);
    return status;
}
