/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "support/mscclpp.h"

#include "support/rng.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_GPUS = 16, MOST_BLOCKS = 40, MOST_OPS = 128, MOST_CHANNELS = 64, MOST_CHUNKS = 512 };
enum { MOST_QUEUE = 128, MOST_SEMAPHORES = 64, LANES = 16 };
enum { INPUT, OUTPUT, SCRATCH };

/* Something that a proxy is to do: put, or signal where `size` is 0. */
typedef struct errand {
    uint64_t *from, *to;
    long      size;
} errand;

/* A GPU's end of a channel. */
typedef struct channel {
    long   peer, twin; /* twin: of the peer's list of the type, or -1 */
    long   n_signals;  /* that came and were not waited for */
    errand queue[MOST_QUEUE];
    long   n_queued, n_done;
} channel;

typedef struct block {
    const json_t *json, *ops;
    size_t        begin, end; /* operations that may be done now; ops[end] is a nop, or the end */
    bool          is_done[MOST_OPS];
    long          lane_done[MOST_OPS]; /* of those with several threads: bits */
    bool          is_at_barrier;
} block;

typedef struct gpu {
    const json_t *json;
    uint64_t      chunks[3][MOST_CHUNKS];
    bool          is_written[MOST_CHUNKS]; /* packets of the scratch buffer */
    uint64_t      result[MOST_CHUNKS];     /* the output, as the call ends */
    block         blocks[MOST_BLOCKS];
    long          n_blocks;
    channel       channels[2][MOST_CHANNELS];
    long          n_channels[2];
    long          semaphores[MOST_SEMAPHORES];
    bool          has_begun, has_ended;
} gpu;

typedef struct machine {
    const json_t *plan;
    const char   *collective;
    bool          in_place;
    long          n, n_in, n_out, n_all; /* GPUs; chunks of input, output, the larger one */
    gpu          *gpus;
    ct_rng        rng;
    bool          is_broken;
} machine;

static long number(const json_t *object, const char *key)
{
    return (long)json_number_value(json_object_get(object, key));
}

static const char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value != NULL ? value : "";
}

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* Where a chunk of a buffer is: in place, input and output are one. */
static uint64_t *chunk_at(machine *x, long rank, long buffer, long index)
{
    gpu *g = &x->gpus[rank];

    if (buffer != SCRATCH && x->in_place) {
        long size = buffer == INPUT ? x->n_in : x->n_out;
        return &g->chunks[INPUT][index + (size < x->n_all ? rank * size : 0)];
    }
    return &g->chunks[buffer][index];
}

static uint64_t word_of(long rank, long chunk)
{
    ct_rng rng = {.state = (uint64_t)rank * 7919 + (uint64_t)chunk * 104729 + 17};
    return ct_word(&rng);
}

/* Buffers and channels, as a thread block numbers them. */

static long id_of(const block *b, const char *lists, const char *type_key, const char *ids,
                  const char *type, long at)
{
    const json_t *list;
    size_t        i;

    json_array_foreach(json_object_get(b->json, lists), i, list)
    {
        const json_t *numbers = json_object_get(list, ids);
        if (!is(text(list, type_key), type)) {
            continue;
        }
        if (at < (long)json_array_size(numbers)) {
            return (long)json_number_value(json_array_get(numbers, (size_t)at));
        }
        at -= (long)json_array_size(numbers);
    }
    return -1;
}

static long buffer_of(const char *letter)
{
    return *letter == 'i' ? INPUT : *letter == 'o' ? OUTPUT : SCRATCH;
}

/* An end of an operation: whose, which buffer, where. */
typedef struct place {
    long gpu, buffer, index, size;
} place;

static place place_of(machine *x, long rank, const block *b, const json_t *op, const json_t *end)
{
    place p = {rank, buffer_of(text(end, "type")), number(end, "index"), number(end, "size")};

    if (json_object_get(end, "buffer_id") != NULL) {
        long id = id_of(b, "remote_buffer_refs", "access_channel_type", "remote_buffer_ids",
                        text(op, "channel_type"), number(end, "buffer_id"));
        const json_t *remote =
            json_array_get(json_object_get(x->gpus[rank].json, "remote_buffers"), (size_t)id);
        p.gpu    = number(remote, "rank");
        p.buffer = buffer_of(text(remote, "type"));
    }
    return p;
}

static channel *channel_of(machine *x, long rank, const block *b, const json_t *op, size_t lane)
{
    const char   *type = text(op, "channel_type");
    const json_t *ids  = json_object_get(op, "channel_ids");
    long          at   = (long)json_number_value(json_array_get(ids, lane));
    long          id   = id_of(b, "channels", "channel_type", "channel_ids", type, at);

    return &x->gpus[rank].channels[is(type, "port")][id];
}

/* Data. */

static void flag(machine *x, place p)
{
    for (long k = 0; k < p.size; k++) {
        x->gpus[p.gpu].is_written[p.index + k] = true;
    }
}

static bool has_flags(const machine *x, place p)
{
    for (long k = 0; k < p.size; k++) {
        if (!x->gpus[p.gpu].is_written[p.index + k]) {
            return false;
        }
    }
    return true;
}

static void copy(machine *x, place from, place to)
{
    for (long k = 0; k < to.size; k++) {
        *chunk_at(x, to.gpu, to.buffer, to.index + k) =
            *chunk_at(x, from.gpu, from.buffer, from.index + k);
    }
}

static place src_at(machine *x, long rank, const block *b, const json_t *op, size_t i)
{
    return place_of(x, rank, b, op, json_array_get(json_object_get(op, "src_buff"), i));
}

static place dst_at(machine *x, long rank, const block *b, const json_t *op, size_t i)
{
    return place_of(x, rank, b, op, json_array_get(json_object_get(op, "dst_buff"), i));
}

/* The sum of all src to the first dst, and from there to the others. */
static void add_up(machine *x, long rank, const block *b, const json_t *op, bool packets)
{
    size_t n_src = json_array_size(json_object_get(op, "src_buff"));
    size_t n_dst = json_array_size(json_object_get(op, "dst_buff"));
    place  to    = dst_at(x, rank, b, op, 0);

    for (long k = 0; k < to.size; k++) {
        uint64_t sum = 0;
        for (size_t i = 0; i < n_src; i++) {
            place from = src_at(x, rank, b, op, i);
            sum += *chunk_at(x, from.gpu, from.buffer, from.index + k);
        }
        *chunk_at(x, to.gpu, to.buffer, to.index + k) = sum;
    }
    for (size_t i = 1; i < n_dst; i++) {
        place other = dst_at(x, rank, b, op, i);
        copy(x, to, other);
        if (packets) {
            flag(x, other);
        }
    }
}

/* Copies, puts and gets. Packets that are read must be there. */
static void transfer(machine *x, long rank, const block *b, const json_t *op)
{
    const char *name  = text(op, "name");
    size_t      n_src = json_array_size(json_object_get(op, "src_buff"));
    size_t      n_dst = json_array_size(json_object_get(op, "dst_buff"));

    for (size_t i = 0; i < n_dst; i++) {
        place to = dst_at(x, rank, b, op, i);
        copy(x, src_at(x, rank, b, op, i < n_src ? i : 0), to);
        if (is(name, "ppkt") || is(name, "rppkt") || is(name, "cpkt")) {
            flag(x, to);
        }
    }
}

static bool packets_are_there(machine *x, long rank, const block *b, const json_t *op)
{
    const char *name  = text(op, "name");
    size_t      first = is(name, "upkt") || is(name, "rppkt") ? 0 : 1;
    bool reads = first == 0 || is(name, "repkt") || is(name, "respkt") || is(name, "recpkt") ||
                 is(name, "recspkt");

    for (size_t i = first; reads && i < json_array_size(json_object_get(op, "src_buff")); i++) {
        if (!has_flags(x, src_at(x, rank, b, op, i))) {
            return false;
        }
    }
    return true;
}

/* Ports. */

static void signal_to(machine *x, long port, const channel *c)
{
    if (c->twin >= 0) {
        x->gpus[c->peer].channels[port][c->twin].n_signals++;
    } else {
        x->is_broken = true;
    }
}

static void ask(machine *x, channel *c, errand e)
{
    if (c->n_queued == MOST_QUEUE) {
        x->is_broken = true;
        return;
    }
    c->queue[c->n_queued++] = e;
}

/* The next errand of a proxy. */
static bool run_errand(machine *x, channel *c)
{
    if (c->n_done == c->n_queued) {
        return false;
    }
    const errand *e = &c->queue[c->n_done++];
    for (long k = 0; k < e->size; k++) {
        e->to[k] = e->from[k];
    }
    if (e->size == 0) {
        signal_to(x, 1, c);
    }
    return true;
}

/* One thread's part of an operation; false: it has to wait. */
static bool run_lane(machine *x, long rank, const block *b, const json_t *op, size_t lane)
{
    const char *name = text(op, "name");
    bool        port = is(text(op, "channel_type"), "port");

    if (strncmp(name, "sem_", 4) == 0) {
        const json_t *ids = json_object_get(op, "semaphore_ids");
        long         *semaphore =
            &x->gpus[rank].semaphores[(size_t)json_number_value(json_array_get(ids, lane))];
        if (is(name, "sem_acquire") && *semaphore == 0) {
            return false;
        }
        *semaphore += is(name, "sem_acquire") ? -1 : 1;
        return true;
    }
    channel *c = channel_of(x, rank, b, op, lane);
    if (is(name, "signal") || is(name, "rlxsignal")) {
        if (port) {
            ask(x, c, (errand){.size = 0});
        } else {
            signal_to(x, 0, c);
        }
        return true;
    }
    if (is(name, "flush")) {
        return c->n_done == c->n_queued;
    }
    if (is(name, "wait") || is(name, "rlxwait")) {
        c->n_signals -= c->n_signals > 0;
        return true;
    }
    place from = src_at(x, rank, b, op, lane), to = dst_at(x, rank, b, op, lane);
    ask(x, c,
        (errand){chunk_at(x, from.gpu, from.buffer, from.index),
                 chunk_at(x, to.gpu, to.buffer, to.index), to.size});
    if (!is(name, "put")) {
        ask(x, c, (errand){.size = 0});
    }
    return true;
}

static size_t n_lanes(const json_t *op)
{
    const char *name = text(op, "name");

    if (strncmp(name, "sem_", 4) == 0) {
        return json_array_size(json_object_get(op, "semaphore_ids"));
    }
    if (json_object_get(op, "src_buff") == NULL || is(text(op, "channel_type"), "port")) {
        return json_array_size(json_object_get(op, "channel_ids"));
    }
    return 0;
}

static bool has_signal(machine *x, long rank, const block *b, const json_t *op, size_t lane)
{
    const char *name  = text(op, "name");
    bool        waits = is(name, "wait") || is(name, "rlxwait");

    return !waits || channel_of(x, rank, b, op, lane)->n_signals > 0;
}

/* Have all operations before it in the row done this thread's part? pwsf ends with a flush. */
static bool lane_is_free(machine *x, long rank, const block *b, size_t op, size_t lane)
{
    for (size_t i = b->begin; i < op; i++) {
        const json_t *o = json_array_get(b->ops, i);
        if (lane >= n_lanes(o)) {
            continue;
        }
        if ((b->lane_done[i] >> lane & 1) == 0) {
            return false;
        }
        if (is(text(o, "name"), "pwsf")) {
            const channel *c = channel_of(x, rank, b, o, lane);
            if (c->n_done < c->n_queued) {
                return false;
            }
        }
    }
    return true;
}

/* Try an operation of the row; true: something happened. */
static bool try_op(machine *x, long rank, block *b, size_t i)
{
    const json_t *op    = json_array_get(b->ops, i);
    const char   *name  = text(op, "name");
    size_t        lanes = n_lanes(op);

    if (b->is_done[i]) {
        return false;
    }
    if (lanes > 0) {
        size_t lane = ct_below(&x->rng, (uint32_t)lanes);
        if ((b->lane_done[i] >> lane & 1) != 0 || !lane_is_free(x, rank, b, i, lane) ||
            !has_signal(x, rank, b, op, lane) || !run_lane(x, rank, b, op, lane)) {
            return false;
        }
        b->lane_done[i] |= 1L << lane;
        b->is_done[i] = b->lane_done[i] == (1L << lanes) - 1;
        return true;
    }
    if (!packets_are_there(x, rank, b, op)) {
        return false;
    }
    if (name[0] == 'r' && !is(name, "rppkt")) {
        add_up(x, rank, b, op, strstr(name, "pkt") != NULL);
    } else {
        transfer(x, rank, b, op);
    }
    b->is_done[i] = true;
    return true;
}

static bool stands_between(const json_t *op)
{
    return is(text(op, "name"), "nop") || is(text(op, "name"), "barrier");
}

static void find_row(block *b)
{
    b->end = b->begin;
    while (b->end < json_array_size(b->ops) && !stands_between(json_array_get(b->ops, b->end))) {
        b->end++;
    }
}

/* All of a barrier's thread blocks are there: they go on. */
static bool pass_barrier(machine *x, long rank, const json_t *op)
{
    gpu *g = &x->gpus[rank];
    long n = 0;

    for (int pass = 0; pass < 2; pass++) {
        for (long i = 0; i < g->n_blocks; i++) {
            block        *b     = &g->blocks[i];
            const json_t *other = json_array_get(b->ops, b->end);
            if (!b->is_at_barrier || number(other, "barrier_id") != number(op, "barrier_id")) {
                continue;
            }
            n += pass == 0;
            if (pass == 1) {
                b->is_at_barrier = false;
                b->begin         = b->end + 1;
                find_row(b);
            }
        }
        if (n != number(op, "num_threadblocks")) {
            return false;
        }
    }
    return true;
}

/* Something of a thread block. */
static bool take(machine *x, long rank, block *b)
{
    if (!x->gpus[rank].has_begun || b->is_at_barrier) {
        return false;
    }
    bool is_over = true;
    for (size_t i = b->begin; i < b->end; i++) {
        is_over &= b->is_done[i];
        if (is_over && is(text(json_array_get(b->ops, i), "name"), "pwsf")) {
            for (size_t l = 0; l < n_lanes(json_array_get(b->ops, i)); l++) {
                const channel *c = channel_of(x, rank, b, json_array_get(b->ops, i), l);
                is_over &= c->n_done == c->n_queued;
            }
        }
    }
    if (is_over && b->end == json_array_size(b->ops)) {
        b->begin = b->end;
        return false;
    }
    if (is_over) {
        const json_t *op = json_array_get(b->ops, b->end);
        if (is(text(op, "name"), "barrier")) {
            b->is_at_barrier = true;
            return pass_barrier(x, rank, op) || true;
        }
        b->begin = b->end + 1;
        find_row(b);
        return true;
    }
    size_t n = b->end - b->begin;
    return try_op(x, rank, b, b->begin + ct_below(&x->rng, (uint32_t)n));
}

/* Calls. */

static long chunk_of(const machine *x, long rank, long offset)
{
    bool has_own = is(x->collective, "allgather") || is(x->collective, "alltoall");
    return offset + (has_own ? rank * x->n_in : 0);
}

/* The caller gives its buffers away. */
static bool begin(machine *x, long rank)
{
    gpu *g = &x->gpus[rank];

    if (g->has_begun) {
        return false;
    }
    for (long i = 0; i < MOST_CHUNKS; i++) {
        g->chunks[INPUT][i]  = ct_word(&x->rng);
        g->chunks[OUTPUT][i] = ct_word(&x->rng);
    }
    for (long i = 0; i < x->n_in; i++) {
        *chunk_at(x, rank, INPUT, i) = word_of(rank, chunk_of(x, rank, i));
    }
    g->has_begun = true;
    return true;
}

/* ... and has them back. */
static bool end(machine *x, long rank)
{
    gpu *g = &x->gpus[rank];

    if (!g->has_begun || g->has_ended) {
        return false;
    }
    for (long i = 0; i < g->n_blocks; i++) {
        if (g->blocks[i].begin < json_array_size(g->blocks[i].ops)) {
            return false;
        }
    }
    for (long i = 0; i < x->n_out; i++) {
        g->result[i] = *chunk_at(x, rank, OUTPUT, i);
    }
    for (long i = 0; i < MOST_CHUNKS; i++) {
        g->chunks[INPUT][i]  = ct_word(&x->rng);
        g->chunks[OUTPUT][i] = ct_word(&x->rng);
    }
    g->has_ended = true;
    return true;
}

/* One try of something somewhere. Proxies are slow, and some GPUs are. */
static bool try_one(machine *x, long rank, uint32_t what)
{
    gpu *g = &x->gpus[rank];

    switch (what) {
    case 0: return begin(x, rank);
    case 1: return end(x, rank);
    case 2: {
        long n = g->n_channels[1];
        return n > 0 && run_errand(x, &g->channels[1][ct_below(&x->rng, (uint32_t)n)]);
    }
    default: {
        long n = g->n_blocks;
        return n > 0 && take(x, rank, &g->blocks[ct_below(&x->rng, (uint32_t)n)]);
    }
    }
}

static bool all_ended(const machine *x)
{
    for (long r = 0; r < x->n; r++) {
        for (long c = 0; c < x->gpus[r].n_channels[1]; c++) {
            const channel *port = &x->gpus[r].channels[1][c];
            if (port->n_done < port->n_queued) {
                return false;
            }
        }
        if (!x->gpus[r].has_ended) {
            return false;
        }
    }
    return true;
}

/* A GPU, thread block or proxy is left out for a while, so that the others get far ahead. */
static bool run_all(machine *x)
{
    long idle = 0;

    while (!all_ended(x) && idle < 60000 && !x->is_broken) {
        long slow_gpu = ct_below(&x->rng, 3) == 0 ? -1 : (long)ct_below(&x->rng, (uint32_t)x->n);
        uint32_t slow_what = ct_below(&x->rng, 8);
        for (int i = 0; i < 60; i++) {
            long     rank = (long)ct_below(&x->rng, (uint32_t)x->n);
            uint32_t what = ct_below(&x->rng, 8);
            if (rank == slow_gpu || what == slow_what) {
                continue;
            }
            idle = try_one(x, rank, what) ? 0 : idle + 1;
        }
    }
    return all_ended(x) && !x->is_broken;
}

static bool is_right(const machine *x, uint32_t root)
{
    long part = x->n_all / x->n;

    for (long r = 0; r < x->n; r++) {
        for (long i = 0; i < x->n_out; i++) {
            uint64_t want = 0;
            if (is(x->collective, "allgather")) {
                want = word_of(i / part, i);
            } else if (is(x->collective, "alltoall")) {
                want = word_of(i / part, i / part * x->n_in + r * part + i % part);
            } else if (is(x->collective, "broadcast")) {
                want = word_of((long)root, i);
            } else {
                for (long g = 0; g < x->n; g++) {
                    want += word_of(g, is(x->collective, "reducescatter") ? r * part + i : i);
                }
            }
            if ((!is(x->collective, "reduce") || r == (long)root) && x->gpus[r].result[i] != want) {
                return false;
            }
        }
    }
    return true;
}

static bool is_even(const machine *x)
{
    for (long r = 0; r < x->n; r++) {
        const gpu    *g = &x->gpus[r];
        const json_t *semaphore;
        size_t        i;
        for (int type = 0; type < 2; type++) {
            for (long c = 0; c < g->n_channels[type]; c++) {
                if (g->channels[type][c].n_signals > 0) {
                    return false;
                }
            }
        }
        json_array_foreach(json_object_get(g->json, "semaphores"), i, semaphore)
        {
            if (g->semaphores[i] != number(semaphore, "init_value")) {
                return false;
            }
        }
    }
    return true;
}

static void open_channels(gpu *g)
{
    const json_t *list, *peer;
    size_t        i, k;

    json_array_foreach(json_object_get(g->json, "channels"), i, list)
    {
        int type = is(text(list, "channel_type"), "port");
        json_array_foreach(json_object_get(list, "connected_to"), k, peer)
        {
            g->channels[type][g->n_channels[type]++] =
                (channel){.peer = (long)json_number_value(peer), .twin = -1};
        }
    }
}

/* The k-th channel to a peer and the k-th one back. */
static void join_channels(machine *x, int type)
{
    for (long r = 0; r < x->n; r++) {
        for (long c = 0; c < x->gpus[r].n_channels[type]; c++) {
            channel *mine = &x->gpus[r].channels[type][c];
            gpu     *peer = &x->gpus[mine->peer];
            for (long k = 0; k < peer->n_channels[type] && mine->twin < 0; k++) {
                if (peer->channels[type][k].peer == r && peer->channels[type][k].twin < 0) {
                    mine->twin                   = k;
                    peer->channels[type][k].twin = c;
                }
            }
        }
    }
}

static void open_machine(machine *x)
{
    const json_t *gpus = json_object_get(x->plan, "gpus"), *item;
    size_t        i;

    x->n     = (long)json_array_size(gpus);
    x->gpus  = calloc((size_t)x->n, sizeof *x->gpus);
    x->n_in  = number(json_array_get(gpus, 0), "input_chunks");
    x->n_out = number(json_array_get(gpus, 0), "output_chunks");
    x->n_all = x->n_in > x->n_out ? x->n_in : x->n_out;
    for (long r = 0; r < x->n; r++) {
        gpu *g  = &x->gpus[r];
        g->json = json_array_get(gpus, (size_t)r);
        open_channels(g);
        json_array_foreach(json_object_get(g->json, "semaphores"), i, item)
        {
            g->semaphores[i] = number(item, "init_value");
        }
        json_array_foreach(json_object_get(g->json, "threadblocks"), i, item)
        {
            block *b = &g->blocks[g->n_blocks++];
            b->json  = item;
            b->ops   = json_object_get(item, "ops");
            find_row(b);
        }
    }
    join_channels(x, 0);
    join_channels(x, 1);
}

ct_mscclpp_end ct_mscclpp_run(const json_t *plan, uint64_t seed, uint32_t root)
{
    machine x = {.plan       = plan,
                 .collective = text(plan, "collective"),
                 .in_place   = json_is_true(json_object_get(plan, "inplace")),
                 .rng        = ct_rng_for(seed)};

    open_machine(&x);
    bool           is_over = run_all(&x) && is_even(&x);
    ct_mscclpp_end what    = !is_over             ? CT_MSCCLPP_STUCK
                             : is_right(&x, root) ? CT_MSCCLPP_RIGHT
                                                  : CT_MSCCLPP_WRONG;
    free(x.gpus);
    return what;
}
