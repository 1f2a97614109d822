/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A schedule as an execution plan of MSCCL++ (schedules/mscclpp.h), in place.
 *
 * A message is: the receiver signals that its place is free, the sender waits for it, puts, and
 * signals that it is there; the receiver waits for that. What is to be added is put into the
 * receiver's scratch buffer, which adds it. GPUs of a server use memory channels, others ports.
 *
 *     sender     wait, nop, put .., nop, signal      (ports: put .., the last one pwsf)
 *     receiver   signal                   and later  wait, nop, re ..
 *
 * Each GPU does what it has to do in the order of the stream, so that nobody waits in a circle:
 * whatever is waited for belongs to an earlier message. But it waits for a message only when
 * something needs it, so that all it sends before goes out first. Signals from a GPU to another
 * over a channel are of both kinds; they come, and are waited for, in the order of the stream.
 *
 * An executor holds 64 operations, 16 channels of a type and 16 buffers of peers over them per
 * thread block, 16 semaphores and 16 barriers per GPU. So a GPU has one thread block at a time:
 * where it is full, it waits for all that is under way, and hands over to the next by a semaphore
 * or, behind 16 of these, by a barrier. What needs more than these 33 is refused. A channel belongs
 * to one thread block at either end; where one of them is over, the pair takes a new one.
 *
 * Puts say the number of their message in the schedule and its round, which no executor asks for:
 * reading the plan puts messages back in that order, and what has one number into one message.
 */
#include "base/alloc.h"
#include "schedules/export_list.h"
#include "schedules/mscclpp_plan.h"

#define NONE UINT32_MAX

enum {
    MOST_RELAYS = CS_MSCCLPP_MAX_SEMAPHORES * 2, /* semaphores, then as many barriers */
    MOST_GPUS   = 1023,
};

enum { MAIN, SCRATCH };
enum { MEMORY, PORT };

/* A message that will come, or has. */
typedef struct incoming {
    size_t   transfer; /* first part */
    uint32_t n_parts, peer;
    uint32_t channel; /* of the thread block */
    uint32_t scratch; /* first chunk, of the parts that are added */
    size_t   first_op, end_op;
} incoming;

/* A buffer of a peer in the GPU's list. */
typedef struct remote {
    uint32_t peer, buffer; /* MAIN or SCRATCH */
} remote;

/* A list of numbers. */
typedef struct numbers {
    uint32_t *list;
    size_t    n, capacity;
} numbers;

typedef struct gpu {
    cs_export_ops ops;
    size_t        next_op;
    cs_text       text; /* of its thread blocks */
    uint32_t      n_blocks, n_ops;
    uint32_t      channels[2][CS_MSCCLPP_MAX_CHANNELS]; /* of the thread block, by type */
    uint32_t      remotes[2][CS_MSCCLPP_MAX_CHANNELS];
    uint32_t      n_channels[2], n_remotes[2];
    bool          has_moved, has_waited; /* since the last nop */
    incoming     *incoming;
    size_t        n_incoming, incoming_capacity;
    uint32_t      reserved;           /* operations for these */
    uint32_t      scratch, n_scratch; /* chunks in use, and the most */
    numbers       peers[2];           /* of its channels */
    remote       *buffers;
    size_t        n_buffers, buffer_capacity;
} gpu;

/* The newest channel from a GPU to another. */
typedef struct way {
    uint32_t block, channel; /* thread block, and number in it */
} way;

typedef struct writer {
    const cs_export_list *list;
    const cs_cluster     *cluster;
    uint32_t              n;
    char                  main; /* i or o */
    gpu                  *gpus;
    way                  *ways; /* [n * n] */
    cs_arena              arena;
    cs_error             *err;
    bool                  failed; /* out of memory */
} writer;

static uint32_t type_of(const writer *w, uint32_t a, uint32_t b)
{
    return cs_server_of(w->cluster, a) == cs_server_of(w->cluster, b) ? MEMORY : PORT;
}

static const char *type_name(uint32_t type)
{
    return type == MEMORY ? "memory" : "port";
}

static uint32_t add_number(writer *w, numbers *to, uint32_t number)
{
    if (!cs_grow(&to->list, &to->capacity, to->n + 1, 16, sizeof *to->list)) {
        w->failed = true;
        return 0;
    }
    to->list[to->n] = number;
    return (uint32_t)to->n++;
}

/* Operations. */

static void begin_op(gpu *g, const char *name)
{
    cs_text_add(&g->text, "%s          {\"name\": \"%s\"", g->n_ops > 0 ? ",\n" : "", name);
    g->n_ops++;
}

static void end_op(gpu *g)
{
    cs_text_add(&g->text, "}");
}

static void add_nop(gpu *g)
{
    begin_op(g, "nop");
    end_op(g);
    g->has_moved  = false;
    g->has_waited = false;
}

/* signal or wait. What was moved is to be seen behind the signal. */
static void add_sync(gpu *g, const char *name, bool is_wait, uint32_t type, uint32_t channel)
{
    if (g->has_moved && !is_wait) {
        add_nop(g);
    }
    begin_op(g, name);
    cs_text_add(&g->text, ", \"channel_type\": \"%s\", \"channel_ids\": [%u]", type_name(type),
                channel);
    end_op(g);
    g->has_waited |= is_wait;
}

static void add_end(gpu *g, char buffer, uint32_t index, uint32_t size)
{
    cs_text_add(&g->text, "{\"type\": \"%c\", \"index\": %u, \"size\": %u}", buffer, index, size);
}

/* Everything before is behind what comes next. */
static void settle(gpu *g)
{
    if (g->has_moved || g->has_waited) {
        add_nop(g);
    }
}

/* Thread blocks. */

static void open_block(gpu *g)
{
    cs_text_add(&g->text, "%s      {\n        \"id\": %u, \"ops\": [\n",
                g->n_blocks > 0 ? ",\n" : "", g->n_blocks);
    g->n_blocks++;
    g->n_ops = 0;
    for (uint32_t type = MEMORY; type <= PORT; type++) {
        g->n_channels[type] = 0;
        g->n_remotes[type]  = 0;
    }
}

static void add_list(gpu *g, const char *key, const uint32_t *list, uint32_t n)
{
    cs_text_add(&g->text, ", \"%s\": [", key);
    for (uint32_t i = 0; i < n; i++) {
        cs_text_add(&g->text, "%s%u", i > 0 ? ", " : "", list[i]);
    }
    cs_text_add(&g->text, "]}");
}

static void close_block(gpu *g)
{
    const char *comma = "";

    cs_text_add(&g->text, "\n        ],\n        \"channels\": [");
    for (uint32_t type = MEMORY; type <= PORT; type++) {
        if (g->n_channels[type] > 0) {
            cs_text_add(&g->text, "%s{\"channel_type\": \"%s\"", comma, type_name(type));
            add_list(g, "channel_ids", g->channels[type], g->n_channels[type]);
            comma = ", ";
        }
    }
    cs_text_add(&g->text, "],\n        \"remote_buffer_refs\": [");
    comma = "";
    for (uint32_t type = MEMORY; type <= PORT; type++) {
        if (g->n_remotes[type] > 0) {
            cs_text_add(&g->text, "%s{\"access_channel_type\": \"%s\"", comma, type_name(type));
            add_list(g, "remote_buffer_ids", g->remotes[type], g->n_remotes[type]);
            comma = ", ";
        }
    }
    cs_text_add(&g->text, "]\n      }");
}

/* One half of handing over from thread block `from` to the next. */
static void add_relay(gpu *g, uint32_t from, bool gives)
{
    if (from < CS_MSCCLPP_MAX_SEMAPHORES) {
        if (gives) {
            settle(g);
        }
        begin_op(g, gives ? "sem_release" : "sem_acquire");
        cs_text_add(&g->text, ", \"semaphore_ids\": [%u]", from);
    } else {
        begin_op(g, "barrier");
        cs_text_add(&g->text, ", \"barrier_id\": %u, \"num_threadblocks\": 2",
                    from - CS_MSCCLPP_MAX_SEMAPHORES);
    }
    end_op(g);
    g->has_moved  = false;
    g->has_waited = !gives && from < CS_MSCCLPP_MAX_SEMAPHORES;
}

/* Receiving. */

static const cs_transfer *part(const writer *w, size_t transfer)
{
    return &w->list->recording.transfers[transfer];
}

static bool is_added(const cs_transfer *t)
{
    return cs_transfer_op(t) != CS_OP_COPY;
}

/* Operations that a message takes its receiver once it comes: wait, nop, its sums, and a nop. */
static uint32_t cost_of(uint32_t n_parts)
{
    return n_parts + 3;
}

static void finish_message(writer *w, uint32_t rank, const incoming *in)
{
    gpu     *g     = &w->gpus[rank];
    uint32_t chunk = in->scratch;
    bool     adds  = false;

    add_sync(g, "wait", true, type_of(w, rank, in->peer), in->channel);
    for (uint32_t k = 0; k < in->n_parts; k++) {
        const cs_transfer *t = part(w, in->transfer + k);
        if (!is_added(t)) {
            continue;
        }
        if (!adds) {
            settle(g);
        }
        adds = true;
        begin_op(g, "re");
        cs_text_add(&g->text, ", \"src_buff\": [");
        add_end(g, w->main, t->chunk, t->span);
        cs_text_add(&g->text, ", ");
        add_end(g, 's', chunk, t->span);
        cs_text_add(&g->text, "], \"dst_buff\": [");
        add_end(g, w->main, t->chunk, t->span);
        cs_text_add(&g->text, "], \"reduce_op\": \"sum\"");
        end_op(g);
        chunk += t->span;
    }
    g->has_moved |= adds;
}

/* Wait for message number i of those that are awaited, and for those before it from its peer. */
static void complete(writer *w, uint32_t rank, size_t i)
{
    gpu     *g    = &w->gpus[rank];
    uint32_t peer = g->incoming[i].peer;
    size_t   kept = 0;

    for (size_t k = 0; k < g->n_incoming; k++) {
        if (k <= i && g->incoming[k].peer == peer) {
            finish_message(w, rank, &g->incoming[k]);
            g->reserved -= cost_of(g->incoming[k].n_parts);
        } else {
            g->incoming[kept++] = g->incoming[k];
        }
    }
    g->n_incoming = kept;
    g->scratch    = kept == 0 ? 0 : g->scratch;
}

static void complete_all(writer *w, uint32_t rank)
{
    while (w->gpus[rank].n_incoming > 0) {
        complete(w, rank, w->gpus[rank].n_incoming - 1);
    }
}

/* Wait for all from a peer that came before a transfer. */
static void complete_from(writer *w, uint32_t rank, uint32_t peer, size_t before)
{
    gpu *g = &w->gpus[rank];

    for (size_t i = g->n_incoming; i-- > 0;) {
        if (g->incoming[i].peer == peer && g->incoming[i].transfer < before) {
            complete(w, rank, i);
            return;
        }
    }
}

/* Wait for the messages that an operation needs. */
static void complete_needs(writer *w, uint32_t rank, size_t op)
{
    gpu                *g = &w->gpus[rank];
    const cs_export_op *o = &g->ops.ops[op];

    for (size_t k = 0; k < o->n_needs; k++) {
        size_t need = g->ops.needs[o->first_need + k];
        for (size_t i = 0; i < g->n_incoming; i++) {
            if (need >= g->incoming[i].first_op && need < g->incoming[i].end_op) {
                complete(w, rank, i);
                break;
            }
        }
    }
}

/* Room. */

static cs_status next_block(writer *w, uint32_t rank)
{
    gpu     *g    = &w->gpus[rank];
    uint32_t from = g->n_blocks - 1;

    complete_all(w, rank);
    if (from == MOST_RELAYS) {
        return CS_FAIL(w->err, CS_ENOTSUP, "format",
                       "mscclpp: gpu %u needs more than the %d thread blocks of %d operations that "
                       "its semaphores and barriers can put in a row",
                       rank, MOST_RELAYS + 1, CS_MSCCLPP_MAX_OPS);
    }
    add_relay(g, from, true);
    close_block(g);
    open_block(g);
    add_relay(g, from, false);
    return CS_OK;
}

static bool has_channel(const writer *w, uint32_t a, uint32_t b)
{
    const way *to = &w->ways[(size_t)a * w->n + b], *back = &w->ways[(size_t)b * w->n + a];
    return to->block == w->gpus[a].n_blocks && back->block == w->gpus[b].n_blocks;
}

/* Has the thread block room for so many operations, a nop and what hands over? And for a channel
 * and two buffers of the peer? */
static bool has_room(const writer *w, uint32_t rank, uint32_t peer, uint32_t cost)
{
    const gpu *g    = &w->gpus[rank];
    uint32_t   type = type_of(w, rank, peer);

    return g->n_ops + g->reserved + cost + 2 <= CS_MSCCLPP_MAX_OPS &&
           g->n_remotes[type] + 2 <= CS_MSCCLPP_MAX_CHANNELS &&
           (has_channel(w, rank, peer) || g->n_channels[type] < CS_MSCCLPP_MAX_CHANNELS);
}

static void take_channel(writer *w, uint32_t rank, uint32_t peer)
{
    gpu     *g       = &w->gpus[rank];
    uint32_t type    = type_of(w, rank, peer);
    way     *to      = &w->ways[(size_t)rank * w->n + peer];
    uint32_t channel = add_number(w, &g->peers[type], peer);

    *to                                      = (way){g->n_blocks, g->n_channels[type]};
    g->channels[type][g->n_channels[type]++] = channel;
}

/* Room at both ends, and a channel between them. */
static cs_status make_room(writer *w, uint32_t a, uint32_t b, uint32_t cost)
{
    if (!has_room(w, a, b, cost)) {
        CS_TRY(next_block(w, a));
    }
    if (!has_room(w, b, a, cost)) {
        CS_TRY(next_block(w, b));
    }
    if (!has_channel(w, a, b) && !has_room(w, a, b, cost)) {
        CS_TRY(next_block(w, a)); /* its old channel ended with the peer's block */
    }
    if (!has_channel(w, a, b)) {
        take_channel(w, a, b);
        take_channel(w, b, a);
    }
    return CS_OK;
}

/* Messages. */

/* The number of a peer's buffer in the thread block. */
static uint32_t remote_of(writer *w, uint32_t rank, uint32_t peer, uint32_t buffer)
{
    gpu     *g    = &w->gpus[rank];
    uint32_t type = type_of(w, rank, peer);
    size_t   id   = 0;

    for (uint32_t i = 0; i < g->n_remotes[type]; i++) {
        const remote *r = &g->buffers[g->remotes[type][i]];
        if (r->peer == peer && r->buffer == buffer) {
            return i;
        }
    }
    while (id < g->n_buffers && (g->buffers[id].peer != peer || g->buffers[id].buffer != buffer)) {
        id++;
    }
    if (id == g->n_buffers) {
        if (!cs_grow(&g->buffers, &g->buffer_capacity, id + 1, 16, sizeof *g->buffers)) {
            w->failed = true;
            return 0;
        }
        g->buffers[g->n_buffers++] = (remote){peer, buffer};
    }
    g->remotes[type][g->n_remotes[type]] = (uint32_t)id;
    return g->n_remotes[type]++;
}

/* The receiver says that it is ready for the parts [transfer, transfer + n). */
static void announce(writer *w, uint32_t rank, uint32_t peer, size_t transfer, uint32_t n,
                     bool is_both)
{
    gpu     *g    = &w->gpus[rank];
    size_t   end  = g->next_op + (size_t)n * (is_both ? 2 : 1);
    uint32_t size = 0, channel = w->ways[(size_t)rank * w->n + peer].channel;

    for (size_t op = g->next_op; op < end; op++) {
        if (!g->ops.ops[op].is_send) {
            complete_needs(w, rank, op);
        }
    }
    for (uint32_t k = 0; k < n; k++) {
        size += is_added(part(w, transfer + k)) ? part(w, transfer + k)->span : 0u;
    }
    if (!cs_grow(&g->incoming, &g->incoming_capacity, g->n_incoming + 1, 16, sizeof *g->incoming)) {
        w->failed = true;
        return;
    }
    add_sync(g, "signal", false, type_of(w, rank, peer), channel);
    g->incoming[g->n_incoming++] = (incoming){.transfer = transfer,
                                              .n_parts  = n,
                                              .peer     = peer,
                                              .channel  = channel,
                                              .scratch  = g->scratch,
                                              .first_op = g->next_op,
                                              .end_op   = end};
    g->reserved += cost_of(n);
    g->scratch += size;
    g->n_scratch = g->scratch > g->n_scratch ? g->scratch : g->n_scratch;
}

/* Where the receiver wants what is added: its newest message from the sender. */
static uint32_t scratch_of(const writer *w, uint32_t rank, uint32_t peer)
{
    const gpu *g = &w->gpus[rank];
    size_t     i = g->n_incoming;

    while (i > 1 && g->incoming[i - 1].peer != peer) {
        i--;
    }
    return i > 0 ? g->incoming[i - 1].scratch : 0;
}

/* The sender waits until the receiver is ready, and puts. */
static void send(writer *w, uint32_t rank, uint32_t peer, size_t transfer, uint32_t n, bool is_both,
                 uint32_t number)
{
    gpu     *g     = &w->gpus[rank];
    uint32_t type  = type_of(w, rank, peer);
    uint32_t chunk = scratch_of(w, peer, rank), channel;

    for (size_t op = g->next_op; op < g->next_op + (size_t)n * (is_both ? 2 : 1); op++) {
        if (g->ops.ops[op].is_send) {
            complete_needs(w, rank, op);
        }
    }
    complete_from(w, rank, peer, transfer);
    channel = w->ways[(size_t)rank * w->n + peer].channel;
    add_sync(g, "wait", true, type, channel);
    settle(g);
    for (uint32_t k = 0; k < n; k++) {
        const cs_transfer *t    = part(w, transfer + k);
        bool               adds = is_added(t);
        begin_op(g, type == PORT && k + 1 == n ? "pwsf" : "put");
        cs_text_add(&g->text, ", \"src_buff\": [");
        add_end(g, w->main, t->chunk, t->span);
        cs_text_add(&g->text, "], \"dst_buff\": [{\"buffer_id\": %u, \"index\": %u, \"size\": %u}]",
                    remote_of(w, rank, peer, adds ? SCRATCH : MAIN), adds ? chunk : t->chunk,
                    t->span);
        cs_text_add(&g->text, ", \"channel_type\": \"%s\", \"channel_ids\": [%u]", type_name(type),
                    channel);
        cs_text_add(&g->text, ", \"message\": %u, \"round\": %u", number, t->round);
        end_op(g);
        chunk += adds ? t->span : 0;
    }
    g->has_moved |= type == MEMORY;
    g->has_waited |= type == PORT; /* for its flush */
    if (type == MEMORY) {
        add_sync(g, "signal", false, type, channel);
    }
}

/* The parts [i, i + n) of one message, number `number`, and of an exchange the way back. */
static cs_status add_message(writer *w, size_t i, uint32_t n, uint32_t number)
{
    const cs_transfer *t       = part(w, i);
    bool               is_both = cs_transfer_op(t) == CS_OP_EXCHANGE;
    uint32_t           ops     = n * (is_both ? 2 : 1);
    uint32_t           cost    = (n + 6) * (is_both ? 2 : 1);

    if (cost + 3 > CS_MSCCLPP_MAX_OPS) {
        return CS_FAIL(w->err, CS_ENOTSUP, "format",
                       "mscclpp: a message of %u parts does not fit into a thread block of %d "
                       "operations",
                       n, CS_MSCCLPP_MAX_OPS);
    }
    CS_TRY(make_room(w, t->src, t->dst, cost));
    announce(w, t->dst, t->src, i, n, is_both);
    if (is_both) {
        announce(w, t->src, t->dst, i, n, true);
    }
    if (!w->failed) {
        send(w, t->src, t->dst, i, n, is_both, number);
    }
    if (is_both && !w->failed) {
        send(w, t->dst, t->src, i, n, true, number + 1);
    }
    w->gpus[t->src].next_op += ops;
    w->gpus[t->dst].next_op += ops;
    return w->failed ? CS_NO_MEMORY(w->err, "an export") : CS_OK;
}

static cs_status add_messages(writer *w)
{
    size_t   n_transfers = w->list->recording.n_transfers;
    uint32_t number      = 0;

    for (size_t i = 0, end; i < n_transfers; i = end) {
        end = i + 1;
        while (end < n_transfers && (part(w, end)->flags & CS_JOIN) != 0) {
            end++;
        }
        number += 2; /* the way back of an exchange has the next one */
        CS_TRY(add_message(w, i, (uint32_t)(end - i), number));
    }
    for (uint32_t rank = 0; rank < w->n; rank++) {
        complete_all(w, rank);
        close_block(&w->gpus[rank]);
    }
    return CS_OK;
}

static cs_status open_writer(writer *w)
{
    cs_export_ranks ranks;
    size_t          pairs = (size_t)w->n * w->n;

    CS_TRY(cs_export_sort_ranks(w->list, &w->arena, &ranks, w->err));
    w->gpus = CS_ARENA_NEW(&w->arena, gpu, w->n);
    w->ways = CS_ARENA_NEW(&w->arena, way, pairs);
    if (w->gpus == NULL || w->ways == NULL) {
        return CS_NO_MEMORY(w->err, "an export");
    }
    for (uint32_t rank = 0; rank < w->n; rank++) {
        CS_TRY(cs_export_rank_ops(w->list, &ranks, rank, CS_EXPORT_IN_PLACE, &w->arena,
                                  &w->gpus[rank].ops, w->err));
        open_block(&w->gpus[rank]);
    }
    return CS_OK;
}

/* The file. */

static void add_peers(const gpu *g, cs_text *out)
{
    const char *comma = "";

    cs_text_add(out, "      \"channels\": [");
    for (uint32_t type = MEMORY; type <= PORT; type++) {
        const numbers *peers = &g->peers[type];
        if (peers->n == 0) {
            continue;
        }
        cs_text_add(out, "%s{\"channel_type\": \"%s\", \"connected_to\": [", comma,
                    type_name(type));
        for (size_t i = 0; i < peers->n; i++) {
            cs_text_add(out, "%s%u", i > 0 ? ", " : "", peers->list[i]);
        }
        cs_text_add(out, "]}");
        comma = ", ";
    }
    cs_text_add(out, "],\n");
}

static void add_gpu(const writer *w, uint32_t rank, cs_text *out)
{
    const gpu    *g      = &w->gpus[rank];
    cs_collective c      = w->list->scenario->collective;
    uint32_t      chunks = w->list->plan->n_chunks, relays = g->n_blocks - 1;
    bool          parts   = cs_collectives[c].layout == CS_BLOCK_PER_RANK;
    bool          gathers = parts && cs_collectives[c].from == CS_PARTY_FIRST;

    relays = relays < CS_MSCCLPP_MAX_SEMAPHORES ? relays : CS_MSCCLPP_MAX_SEMAPHORES;
    cs_text_add(out,
                "    {\n      \"id\": %u, \"input_chunks\": %u, \"output_chunks\": %u, "
                "\"scratch_chunks\": %u,\n      \"threadblocks\": [\n",
                rank, gathers ? chunks / w->n : chunks, parts && !gathers ? chunks / w->n : chunks,
                g->n_scratch);
    cs_text_add_bytes(out, g->text.data, g->text.length);
    cs_text_add(out, "\n      ],\n");
    add_peers(g, out);
    cs_text_add(out, "      \"remote_buffers\": [");
    for (size_t i = 0; i < g->n_buffers; i++) {
        const remote *r = &g->buffers[i];
        cs_text_add(out, "%s{\"rank\": %u, \"type\": \"%c\", \"access_channel_types\": [\"%s\"]}",
                    i > 0 ? ", " : "", r->peer, r->buffer == SCRATCH ? 's' : w->main,
                    type_name(type_of(w, rank, r->peer)));
    }
    cs_text_add(out, "],\n      \"semaphores\": [");
    for (uint32_t i = 0; i < relays; i++) {
        cs_text_add(out, "%s{\"init_value\": 0}", i > 0 ? ", " : "");
    }
    cs_text_add(out, "]\n    }%s\n", rank + 1 < w->n ? "," : "");
}

static void add_file(const writer *w, cs_text *out)
{
    const cs_scenario *s    = w->list->scenario;
    const char        *coll = cs_collective_name(s->collective);

    cs_text_add(out,
                "{\n  \"name\": \"%s_%s_%u\", \"collective\": \"%s\", \"protocol\": \"Simple\", "
                "\"inplace\": true,\n  \"reuse_resources\": false,",
                w->list->algorithm->name, coll, w->n, coll);
    if (cs_collective_has_root(s->collective)) {
        cs_text_add(out, " \"root\": %u,", s->root);
    }
    cs_text_add(out, "\n  \"gpus\": [\n");
    for (uint32_t rank = 0; rank < w->n; rank++) {
        add_gpu(w, rank, out);
    }
    cs_text_add(out,
                "  ],\n  \"num_threads_per_block\": 1024, \"use_double_scratch_buffer\": false, "
                "\"buffer_alignment\": 16,\n  \"min_message_size\": 0, "
                "\"max_message_size\": 18446744073709551615\n}\n");
}

static void free_gpu(gpu *g)
{
    cs_text_free(&g->text);
    cs_free(g->incoming);
    cs_free(g->buffers);
    cs_free(g->peers[MEMORY].list);
    cs_free(g->peers[PORT].list);
}

static cs_status write_plan(writer *w, cs_text *out)
{
    CS_TRY(open_writer(w));
    CS_TRY(add_messages(w));
    for (uint32_t rank = 0; rank < w->n; rank++) {
        CS_TRY(cs_text_status(&w->gpus[rank].text, w->err));
    }
    add_file(w, out);
    return CS_OK;
}

cs_status cs_export_mscclpp(const cs_export_list *list, cs_text *out, cs_error *err)
{
    writer w = {.list    = list,
                .cluster = &list->scenario->cluster,
                .n       = list->scenario->cluster.n_ranks,
                .main =
                    cs_collectives[list->scenario->collective].from == CS_PARTY_FIRST ? 'o' : 'i',
                .err = err};

    CS_TRY(cs_export_check_in_place(list, "mscclpp", MOST_GPUS, err));
    cs_status status = write_plan(&w, out);
    for (uint32_t rank = 0; w.gpus != NULL && rank < w.n; rank++) {
        free_gpu(&w.gpus[rank]);
    }
    cs_arena_free(&w.arena);
    return status;
}
