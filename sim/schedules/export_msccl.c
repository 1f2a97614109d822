/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A schedule in the XML of MSCCL's interpreter, as microsoft/msccl reads it.
 *
 * Every GPU has one thread block per peer that it sends to and one per peer that it receives from;
 * the k-th message of a pair of GPUs over a channel is the k-th that the one sends and the k-th
 * that the other receives. Steps are `s` (send), `r` (receive), `rrc` (receive, reduce, copy); an
 * exchange is an `s` and then an `rrc` that waits for it. A thread block runs its steps in order;
 * across thread blocks a step waits for at most one other (depid, deps), so `nop` steps before it
 * wait for the rest. A step that another waits for has hasdep="1". The stream is in an order in
 * which whatever a step needs stands before it, so waiting cannot become circular.
 *
 * Chunks stay in place: in the input buffer, for allgather in the output buffer.
 *
 * Steps that send say the number of their message in the schedule and its round, which no runtime
 * asks for: schedules/msccl.h puts messages back in that order, and what has one number into one
 * message.
 *
 * What the runtime accepts (src/graph/topo.cc, src/graph/tuning.cc, src/include/msccl.h of
 * microsoft/msccl), beyond what is said above:
 *   - coll is allreduce, allgather, reduce_scatter (RCCL and msccl-executor-nccl spell it
 *     reducescatter), alltoall, broadcast or reduce;
 *   - an algorithm is taken for sizes in [minBytes, maxBytes): one with maxBytes="0" never would
 *     be (to RCCL, 0 is no limit);
 *   - i_chunks and o_chunks are 0 or make up nchunksperloop; offsets have 15 bits;
 *   - a step moves at most 71 chunks; longer spans become several steps;
 *   - a thread block has at most 256 steps, a channel 32 blocks that send and 32 that receive, a
 *     communicator 32 channels; where a pair has more steps, or a GPU more peers, further channels
 *     are used;
 *   - a GPU has at most 216 thread blocks, of which the first 128 can be waited for (7 bits);
 *   - a GPU reads fewer than 4096 elements: its own, and the `gpu` elements of all.
 * Beyond these there is no such file, and the error names the limit, as it does for files of more
 * than 2^20 elements, which this program would not read back.
 *
 * With the protocol Simple two chunks of a connection are under way at most, a third waits for the
 * receiver. The two sends of an exchange must not wait for receivers that wait for them, so that
 * exchanges of more than two chunks are cut.
 *
 * Source: M. Cowan et al., "MSCCLang: Microsoft Collective Communication Language", ASPLOS 2023.
 */
#include "schedules/export_list.h"
#include "schedules/msccl_program.h"

#define NONE SIZE_MAX

/* Beside the limits of the runtimes (schedules/msccl_program.h). */
enum {
    MOST_BLOCKS = 216,
    MOST_GPUS   = 1023,
    MOST_AHEAD  = 2,       /* chunks of a connection that no receiver waits for */
    MOST_IN_ALL = 1 << 20, /* elements, as many as are read back */
};

/* A step that another one waits for. */
typedef struct wait {
    size_t block, step;
} wait;

/* Where an operation went: the step in a thread block, and what it waits for. */
typedef struct place {
    size_t block, step;
    size_t first_wait, n_waits;
    bool   has_dep;
    size_t next; /* operation of the same thread block, or NONE */
} place;

typedef struct thread_block {
    uint32_t peer, channel;
    bool     is_send;
    size_t   n_steps;
    size_t   first, last; /* operations, or NONE */
} thread_block;

typedef struct gpu {
    cs_export_ops ops;
    size_t        next_op; /* the first one without a place */
    place        *places;  /* [n_ops] */
    wait         *waits;
    size_t        n_waits, n_steps;
    thread_block  blocks[MOST_BLOCKS];
    size_t        n_blocks;
    size_t        latest[MOST_BLOCKS]; /* last operation of a block that is waited for, or NONE */
    uint8_t       n_peers[2][CS_MSCCL_MAX_CHANNELS]; /* of blocks that receive, that send */
} gpu;

typedef struct writer {
    cs_export_list list;    /* with spans that are one step each */
    uint32_t      *numbers; /* [transfers] of their messages */
    uint32_t       n;
    gpu           *gpus;
    uint16_t      *block_of[2]; /* [n * n] at the receiver, at the sender: 1 + the pair's newest */
    uint32_t       n_channels;
    cs_arena       arena;
} writer;

/* One wait per other thread block: for the last of its steps that is needed. */
static cs_status collect_waits(gpu *g, uint32_t rank, size_t i, cs_error *err)
{
    const cs_export_op *op = &g->ops.ops[i];
    size_t              touched[MOST_BLOCKS], n_touched = 0;

    for (size_t k = 0; k < op->n_needs; k++) {
        size_t need  = g->ops.needs[op->first_need + k];
        size_t block = g->places[need].block;
        if (block == g->places[i].block) {
            continue;
        }
        if (g->latest[block] == NONE) {
            touched[n_touched++] = block;
            g->latest[block]     = need;
        }
        g->latest[block] = need > g->latest[block] ? need : g->latest[block];
    }
    g->places[i].first_wait = g->n_waits;
    g->places[i].n_waits    = n_touched;
    for (size_t k = 0; k < n_touched; k++) {
        size_t need             = g->latest[touched[k]];
        g->places[need].has_dep = true;
        g->waits[g->n_waits++]  = (wait){g->places[need].block, g->places[need].step};
        g->latest[touched[k]]   = NONE;
        if (touched[k] >= CS_MSCCL_MAX_AWAITED) {
            return CS_FAIL(err, CS_ENOTSUP, "format",
                           "msccl: gpu %u waits for its thread block %zu: accepted are waits for "
                           "the first %d",
                           rank, touched[k], CS_MSCCL_MAX_AWAITED);
        }
    }
    return CS_OK;
}

/* Put the next operation of a GPU into one of its thread blocks. */
static cs_status place_op(writer *w, uint32_t rank, size_t block, cs_error *err)
{
    gpu          *g = &w->gpus[rank];
    size_t        i = g->next_op++;
    thread_block *b = &g->blocks[block];
    place        *p = &g->places[i];

    *p               = (place){.block = block, .next = NONE};
    cs_status status = collect_waits(g, rank, i, err);
    size_t    nops   = p->n_waits > 1 ? p->n_waits - 1 : 0;
    p->step          = b->n_steps + nops;
    b->n_steps += nops + 1;
    g->n_steps += nops + 1;
    if (b->first == NONE) {
        b->first = i;
    } else {
        g->places[b->last].next = i;
    }
    b->last = i;
    return status;
}

/* Has the newest block of a pair room for the next operation there, whatever it waits for? Up to
 * two blocks more may be there when it gets its place. */
static bool has_room(const gpu *g, size_t op, size_t block)
{
    size_t needs = g->ops.ops[op].n_needs, blocks = g->n_blocks + 2;
    size_t most = needs < blocks ? needs : blocks;

    return g->blocks[block].n_steps + (most > 1 ? most : 1) <= CS_MSCCL_MAX_STEPS;
}

static cs_status add_block(writer *w, uint32_t rank, uint32_t peer, bool is_send, uint32_t channel,
                           cs_error *err)
{
    gpu *g = &w->gpus[rank];

    if (g->n_blocks == MOST_BLOCKS) {
        return CS_FAIL(err, CS_ENOTSUP, "format",
                       "msccl: gpu %u needs more than %d thread blocks, one per peer and direction",
                       rank, MOST_BLOCKS);
    }
    g->latest[g->n_blocks]   = NONE;
    g->blocks[g->n_blocks++] = (thread_block){
        .peer = peer, .channel = channel, .is_send = is_send, .first = NONE, .last = NONE};
    g->n_peers[is_send][channel]++;
    w->n_channels = channel + 1 > w->n_channels ? channel + 1 : w->n_channels;

    uint32_t src = is_send ? rank : peer, dst = is_send ? peer : rank;
    w->block_of[is_send][(size_t)src * w->n + dst] = (uint16_t)g->n_blocks;
    return CS_OK;
}

/* New thread blocks for a pair, on the first channel behind its last one that both have left. */
static cs_status open_channel(writer *w, uint32_t src, uint32_t dst, cs_error *err)
{
    uint16_t before  = w->block_of[1][(size_t)src * w->n + dst];
    uint32_t channel = before == 0 ? 0 : w->gpus[src].blocks[before - 1].channel + 1;

    while (channel < CS_MSCCL_MAX_CHANNELS &&
           (w->gpus[src].n_peers[1][channel] == CS_MSCCL_MAX_PEERS ||
            w->gpus[dst].n_peers[0][channel] == CS_MSCCL_MAX_PEERS)) {
        channel++;
    }
    if (channel == CS_MSCCL_MAX_CHANNELS) {
        return CS_FAIL(err, CS_ENOTSUP, "format",
                       "msccl: from gpu %u to %u more than %d channels are needed, of %d steps a "
                       "thread block and %d peers",
                       src, dst, CS_MSCCL_MAX_CHANNELS, CS_MSCCL_MAX_STEPS, CS_MSCCL_MAX_PEERS);
    }
    CS_TRY(add_block(w, src, dst, true, channel, err));
    return add_block(w, dst, src, false, channel, err);
}

/* Give the pair blocks with room for its next message, whose receive is operation `dst_op`. */
static cs_status make_room(writer *w, uint32_t src, uint32_t dst, size_t src_op, size_t dst_op,
                           cs_error *err)
{
    size_t   pair = (size_t)src * w->n + dst;
    uint16_t tx = w->block_of[1][pair], rx = w->block_of[0][pair];

    if (tx != 0 && has_room(&w->gpus[src], src_op, tx - 1) &&
        has_room(&w->gpus[dst], dst_op, rx - 1)) {
        return CS_OK;
    }
    return open_channel(w, src, dst, err);
}

static cs_status place_end(writer *w, uint32_t src, uint32_t dst, bool is_send, cs_error *err)
{
    uint16_t block = w->block_of[is_send][(size_t)src * w->n + dst];
    return place_op(w, is_send ? src : dst, block - 1u, err);
}

/* A transfer: its send and its receive; of an exchange both sends come first. */
static cs_status place_transfer(writer *w, const cs_transfer *t, cs_error *err)
{
    bool   is_both = cs_transfer_op(t) == CS_OP_EXCHANGE;
    size_t at_src = w->gpus[t->src].next_op, at_dst = w->gpus[t->dst].next_op;

    CS_TRY(make_room(w, t->src, t->dst, at_src, at_dst + is_both, err));
    if (is_both) {
        CS_TRY(make_room(w, t->dst, t->src, at_dst, at_src + 1, err));
    }
    CS_TRY(place_end(w, t->src, t->dst, true, err));
    if (is_both) {
        CS_TRY(place_end(w, t->dst, t->src, true, err));
    }
    CS_TRY(place_end(w, t->src, t->dst, false, err));
    if (is_both) {
        CS_TRY(place_end(w, t->dst, t->src, false, err));
    }
    return CS_OK;
}

static cs_status check_all(size_t elements, cs_error *err)
{
    return elements <= MOST_IN_ALL
               ? CS_OK
               : CS_FAIL(err, CS_ENOTSUP, "format",
                         "msccl: the file needs %zu elements: written, and read, are 2^20",
                         elements);
}

/* Copy the transfers, in as many as a step can move. */
static cs_status cut_spans(writer *w, const cs_export_list *list, cs_error *err)
{
    size_t count = 0;

    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1) {
            w->list.recording.transfers = CS_ARENA_NEW(&w->arena, cs_transfer, count);
            w->numbers                  = CS_ARENA_NEW(&w->arena, uint32_t, count);
            if (w->list.recording.transfers == NULL || w->numbers == NULL) {
                return CS_NO_MEMORY(err, "an export");
            }
        }
        uint32_t number = 0; /* the way back of an exchange has the next one */
        count           = 0;
        for (size_t i = 0; i < list->recording.n_transfers; i++) {
            cs_transfer t   = list->recording.transfers[i];
            uint32_t    end = t.chunk + t.span;
            uint16_t most = cs_transfer_op(&t) == CS_OP_EXCHANGE ? MOST_AHEAD : CS_MSCCL_MAX_COUNT;
            number += (t.flags & CS_JOIN) == 0 ? 2 : 0;
            for (; t.chunk < end; t.chunk += t.span, count++) {
                t.span = (uint16_t)(end - t.chunk < most ? end - t.chunk : most);
                if (pass == 1) {
                    w->list.recording.transfers[count] = t;
                    w->numbers[count]                  = number;
                }
            }
        }
    }
    w->list.recording.n_transfers = count;
    return CS_OK;
}

static cs_status check_elements(uint32_t rank, size_t elements, cs_error *err)
{
    return elements <= CS_MSCCL_MAX_ELEMENTS
               ? CS_OK
               : CS_FAIL(err, CS_ENOTSUP, "format",
                         "msccl: gpu %u needs %zu elements (steps, thread blocks, all GPUs): the "
                         "runtime reads %d",
                         rank, elements, CS_MSCCL_MAX_ELEMENTS);
}

static cs_status open_gpu(writer *w, const cs_export_ranks *ranks, uint32_t rank, cs_error *err)
{
    gpu   *g = &w->gpus[rank];
    size_t n = ranks->begin[rank + 1] - ranks->begin[rank];

    CS_TRY(check_elements(rank, 1 + w->n + n, err));
    CS_TRY(cs_export_rank_ops(&w->list, ranks, rank, CS_EXPORT_IN_PLACE, &w->arena, &g->ops, err));
    g->places = CS_ARENA_NEW(&w->arena, place, g->ops.n_ops);
    g->waits  = CS_ARENA_NEW(&w->arena, wait, g->ops.n_needs);
    if (g->places == NULL || g->waits == NULL) {
        return CS_NO_MEMORY(err, "an export");
    }
    return CS_OK;
}

static cs_status place_all(writer *w, const cs_export_list *list, cs_error *err)
{
    cs_export_ranks ranks;
    size_t          pairs    = (size_t)w->n * w->n;
    size_t          elements = 1;

    CS_TRY(cut_spans(w, list, err));
    CS_TRY(check_all(1 + w->n + 2 * w->list.recording.n_transfers, err));
    CS_TRY(cs_export_sort_ranks(&w->list, &w->arena, &ranks, err));
    w->gpus        = CS_ARENA_NEW(&w->arena, gpu, w->n);
    w->block_of[0] = CS_ARENA_NEW(&w->arena, uint16_t, pairs);
    w->block_of[1] = CS_ARENA_NEW(&w->arena, uint16_t, pairs);
    if (w->gpus == NULL || w->block_of[0] == NULL || w->block_of[1] == NULL) {
        return CS_NO_MEMORY(err, "an export");
    }
    for (uint32_t rank = 0; rank < w->n; rank++) {
        CS_TRY(open_gpu(w, &ranks, rank, err));
    }
    for (size_t i = 0; i < w->list.recording.n_transfers; i++) {
        CS_TRY(place_transfer(w, &w->list.recording.transfers[i], err));
    }
    for (uint32_t rank = 0; rank < w->n; rank++) {
        const gpu *g = &w->gpus[rank];
        CS_TRY(check_elements(rank, 1 + w->n + g->n_blocks + g->n_steps, err));
        elements += 1 + g->n_blocks + g->n_steps;
    }
    return check_all(elements, err);
}

static void add_step(cs_text *out, char buffer, size_t step, const char *type, uint32_t chunk,
                     uint32_t count, const wait *w, bool has_dep)
{
    cs_text_add(out,
                "      <step s=\"%zu\" type=\"%s\" srcbuf=\"%c\" srcoff=\"%u\" dstbuf=\"%c\" "
                "dstoff=\"%u\" cnt=\"%u\" ",
                step, type, buffer, chunk, buffer, chunk, count);
    if (w != NULL) {
        cs_text_add(out, "depid=\"%zu\" deps=\"%zu\" ", w->block, w->step);
    } else {
        cs_text_add(out, "depid=\"-1\" deps=\"-1\" ");
    }
    cs_text_add(out, "hasdep=\"%d\"", has_dep ? 1 : 0);
}

/* The steps of one operation: nops for all waits but the last, then itself. */
static void add_op(const writer *w, const gpu *g, cs_text *out, char buffer, size_t i)
{
    const cs_export_op *op    = &g->ops.ops[i];
    const cs_transfer  *t     = &w->list.recording.transfers[op->transfer];
    const place        *p     = &g->places[i];
    size_t              nops  = p->n_waits > 1 ? p->n_waits - 1 : 0;
    const wait         *waits = g->waits + p->first_wait;
    const char         *type  = op->is_send ? "s" : cs_transfer_op(t) == CS_OP_COPY ? "r" : "rrc";

    for (size_t k = 0; k < nops; k++) {
        add_step(out, buffer, p->step - nops + k, "nop", 0, 0, &waits[k], false);
        cs_text_add(out, "/>\n");
    }
    add_step(out, buffer, p->step, type, t->chunk, t->span, p->n_waits > 0 ? &waits[nops] : NULL,
             p->has_dep);
    if (op->is_send) {
        cs_text_add(out, " message=\"%u\" round=\"%u\"",
                    w->numbers[op->transfer] + (t->dst != op->peer), t->round);
    }
    cs_text_add(out, "/>\n");
}

static void add_gpu(const writer *w, const gpu *g, cs_text *out, char buffer)
{
    for (size_t t = 0; t < g->n_blocks; t++) {
        const thread_block *b    = &g->blocks[t];
        int64_t             peer = b->peer;
        cs_text_add(out, "    <tb id=\"%zu\" send=\"%lld\" recv=\"%lld\" chan=\"%u\">\n", t,
                    (long long)(b->is_send ? peer : -1), (long long)(b->is_send ? -1 : peer),
                    b->channel);
        for (size_t i = b->first; i != NONE; i = g->places[i].next) {
            add_op(w, g, out, buffer, i);
        }
        cs_text_add(out, "    </tb>\n");
    }
}

static void add_file(const writer *w, cs_text *out)
{
    const cs_export_list *list   = &w->list;
    cs_collective         c      = list->scenario->collective;
    const char           *coll   = cs_msccl_collective_name(c);
    uint32_t              chunks = list->plan->n_chunks;
    bool gathers = cs_collectives[c].from == CS_PARTY_FIRST; /* an input is a block */

    cs_text_add(out,
                "<algo name=\"%s_%s_%u\" nchannels=\"%u\" nchunksperloop=\"%u\" ngpus=\"%u\" "
                "proto=\"Simple\" coll=\"%s\" inplace=\"1\" outofplace=\"0\" redop=\"sum\" "
                "minBytes=\"0\" maxBytes=\"%lld\">\n",
                list->algorithm->name, coll, w->n, w->n_channels, chunks, w->n, coll,
                (long long)INT64_MAX);
    for (uint32_t rank = 0; rank < w->n; rank++) {
        cs_text_add(out, "  <gpu id=\"%u\" i_chunks=\"%u\" o_chunks=\"%u\" s_chunks=\"0\">\n", rank,
                    gathers ? chunks / w->n : chunks, gathers ? chunks : 0);
        add_gpu(w, &w->gpus[rank], out, gathers ? 'o' : 'i');
        cs_text_add(out, "  </gpu>\n");
    }
    cs_text_add(out, "</algo>\n");
}

static cs_status check(const cs_export_list *list, cs_error *err)
{
    cs_collective c = list->scenario->collective;

    if (cs_msccl_collective_name(c) == NULL) {
        return CS_FAIL(err, CS_ENOTSUP, "format", "msccl: it does not know %s",
                       cs_collective_name(c));
    }
    return cs_export_check_in_place(list, "msccl", MOST_GPUS, err);
}

cs_status cs_export_msccl(const cs_export_list *list, cs_text *out, cs_error *err)
{
    writer w = {.list = *list, .n = list->scenario->cluster.n_ranks};

    CS_TRY(check(list, err));
    cs_status status = place_all(&w, list, err);
    if (status == CS_OK) {
        add_file(&w, out);
    }
    cs_arena_free(&w.arena);
    return status;
}
