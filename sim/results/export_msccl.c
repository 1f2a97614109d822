/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A schedule in the XML of MSCCL's interpreter.
 *
 * Every GPU has one thread block per peer that it sends to and one per peer that it receives
 * from, all on channel 0; messages between two GPUs are matched in order. Steps are `s` (send),
 * `r` (receive), `rrc` (receive, reduce, copy); an exchange is an `s` and then an `rrc` that
 * waits for it. A thread block runs its steps in order; across thread blocks a step waits for at
 * most one other (depid, deps), so `nop` steps before it wait for the rest. A step that another
 * waits for has hasdep="1". The stream is in an order in which whatever a step needs stands before
 * it, so waiting cannot become circular.
 *
 * Chunks stay in place: in the input buffer, for allgather in the output buffer.
 *
 * Source: M. Cowan et al., "MSCCLang: Microsoft Collective Communication Language", ASPLOS 2023.
 */
#include "results/export_list.h"

#define NONE SIZE_MAX

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
    uint32_t peer;
    bool     is_send;
    size_t   n_steps;
    size_t   first, last; /* operations, or NONE */
} thread_block;

typedef struct gpu {
    const cs_export_list *list;
    const cs_export_ops  *ops;
    place                *places; /* [n_ops] */
    wait                 *waits;
    size_t                n_waits;
    thread_block         *blocks;
    size_t                n_blocks;
    size_t               *block_of; /* [2 * n_ranks] sends, then receives; or NONE */
    size_t               *latest;   /* [n_blocks] last operation of a block that is waited for */
    size_t               *touched;
    char                  buffer;
} gpu;

/* The thread block of an operation; made on first use. */
static size_t block_for(gpu *g, const cs_export_op *op, uint32_t n_ranks)
{
    size_t *slot = &g->block_of[(op->is_send ? 0 : n_ranks) + op->peer];

    if (*slot == NONE) {
        *slot = g->n_blocks++;
        g->blocks[*slot] =
            (thread_block){.peer = op->peer, .is_send = op->is_send, .first = NONE, .last = NONE};
        g->latest[*slot] = NONE;
    }
    return *slot;
}

/* One wait per other thread block: for the last of its steps that is needed. */
static void collect_waits(gpu *g, size_t i)
{
    const cs_export_op *op      = &g->ops->ops[i];
    size_t              touched = 0;

    for (size_t k = 0; k < op->n_needs; k++) {
        size_t need  = g->ops->needs[op->first_need + k];
        size_t block = g->places[need].block;
        if (block == g->places[i].block) {
            continue;
        }
        if (g->latest[block] == NONE) {
            g->touched[touched++] = block;
            g->latest[block]      = need;
        }
        g->latest[block] = need > g->latest[block] ? need : g->latest[block];
    }
    g->places[i].first_wait = g->n_waits;
    g->places[i].n_waits    = touched;
    for (size_t k = 0; k < touched; k++) {
        size_t need              = g->latest[g->touched[k]];
        g->places[need].has_dep  = true;
        g->waits[g->n_waits++]   = (wait){g->places[need].block, g->places[need].step};
        g->latest[g->touched[k]] = NONE;
    }
}

static void place_op(gpu *g, size_t i, uint32_t n_ranks)
{
    size_t        block = block_for(g, &g->ops->ops[i], n_ranks);
    thread_block *b     = &g->blocks[block];
    place        *p     = &g->places[i];

    *p = (place){.block = block, .next = NONE};
    collect_waits(g, i);
    b->n_steps += p->n_waits > 1 ? p->n_waits - 1 : 0;
    p->step = b->n_steps++;
    if (b->first == NONE) {
        b->first = i;
    } else {
        g->places[b->last].next = i;
    }
    b->last = i;
}

static cs_status open_gpu(gpu *g, cs_arena *arena, uint32_t n_ranks, cs_error *err)
{
    size_t n = g->ops->n_ops, most_blocks = n < 2 * (size_t)n_ranks ? n : 2 * (size_t)n_ranks;

    g->places   = CS_ARENA_NEW(arena, place, n);
    g->waits    = CS_ARENA_NEW(arena, wait, g->ops->n_needs);
    g->blocks   = CS_ARENA_NEW(arena, thread_block, most_blocks);
    g->latest   = CS_ARENA_NEW(arena, size_t, most_blocks);
    g->touched  = CS_ARENA_NEW(arena, size_t, most_blocks);
    g->block_of = CS_ARENA_NEW(arena, size_t, 2 * (size_t)n_ranks);
    if (g->places == NULL || g->waits == NULL || g->blocks == NULL || g->latest == NULL ||
        g->touched == NULL || g->block_of == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for an export");
    }
    for (size_t i = 0; i < 2 * (size_t)n_ranks; i++) {
        g->block_of[i] = NONE;
    }
    return CS_OK;
}

static void add_step(const gpu *g, cs_text *out, size_t step, const char *type, uint32_t chunk,
                     uint32_t count, const wait *w, bool has_dep)
{
    cs_text_add(out,
                "      <step s=\"%zu\" type=\"%s\" srcbuf=\"%c\" srcoff=\"%u\" dstbuf=\"%c\" "
                "dstoff=\"%u\" cnt=\"%u\" ",
                step, type, g->buffer, chunk, g->buffer, chunk, count);
    if (w != NULL) {
        cs_text_add(out, "depid=\"%zu\" deps=\"%zu\" ", w->block, w->step);
    } else {
        cs_text_add(out, "depid=\"-1\" deps=\"-1\" ");
    }
    cs_text_add(out, "hasdep=\"%d\"/>\n", has_dep ? 1 : 0);
}

/* The steps of one operation: nops for all waits but the last, then itself. */
static void add_op(const gpu *g, cs_text *out, size_t i)
{
    const cs_export_op *op    = &g->ops->ops[i];
    const cs_transfer  *t     = &g->list->transfers[op->transfer];
    const place        *p     = &g->places[i];
    size_t              nops  = p->n_waits > 1 ? p->n_waits - 1 : 0;
    const wait         *waits = g->waits + p->first_wait;
    const char         *type  = op->is_send ? "s" : cs_transfer_op(t) == CS_OP_COPY ? "r" : "rrc";

    for (size_t k = 0; k < nops; k++) {
        add_step(g, out, p->step - nops + k, "nop", 0, 0, &waits[k], false);
    }
    add_step(g, out, p->step, type, t->chunk, t->span, p->n_waits > 0 ? &waits[nops] : NULL,
             p->has_dep);
}

static void add_gpu(const gpu *g, cs_text *out)
{
    for (size_t t = 0; t < g->n_blocks; t++) {
        const thread_block *b    = &g->blocks[t];
        int64_t             peer = b->peer;
        cs_text_add(out, "    <tb id=\"%zu\" send=\"%lld\" recv=\"%lld\" chan=\"0\">\n", t,
                    (long long)(b->is_send ? peer : -1), (long long)(b->is_send ? -1 : peer));
        for (size_t i = b->first; i != NONE; i = g->places[i].next) {
            add_op(g, out, i);
        }
        cs_text_add(out, "    </tb>\n");
    }
}

static cs_status add_rank(const cs_export_list *list, const cs_export_ranks *ranks, uint32_t rank,
                          cs_text *out, cs_error *err)
{
    cs_arena      arena = {0};
    cs_export_ops ops;
    bool          gathers = list->scenario->collective == CS_ALLGATHER;
    uint32_t      n = list->scenario->cluster.n_ranks, chunks = list->plan->n_chunks;
    gpu           g  = {.list = list, .ops = &ops, .buffer = gathers ? 'o' : 'i'};
    cs_status status = cs_export_rank_ops(list, ranks, rank, CS_EXPORT_IN_PLACE, &arena, &ops, err);

    if (status == CS_OK) {
        status = open_gpu(&g, &arena, n, err);
    }
    if (status == CS_OK) {
        for (size_t i = 0; i < ops.n_ops; i++) {
            place_op(&g, i, n);
        }
        cs_text_add(out, "  <gpu id=\"%u\" i_chunks=\"%u\" o_chunks=\"%u\" s_chunks=\"0\">\n", rank,
                    gathers ? chunks / n : chunks, gathers ? chunks : 0);
        add_gpu(&g, out);
        cs_text_add(out, "  </gpu>\n");
    }
    cs_arena_free(&arena);
    return status;
}

static cs_status check(const cs_export_list *list, cs_error *err)
{
    if (list->scenario->collective == CS_ALLTOALL) {
        return CS_FAIL(err, CS_ENOTSUP, "format",
                       "msccl: alltoall is not exported, as it does not "
                       "work in place");
    }
    if (!list->is_in_place) {
        return CS_FAIL(err, CS_ENOTSUP, "format",
                       "msccl: %s keeps chunks in other places on their way, which a schedule in "
                       "place cannot; json and goal can",
                       list->algorithm->name);
    }
    return CS_OK;
}

cs_status cs_export_msccl(const cs_export_list *list, cs_text *out, cs_error *err)
{
    cs_arena        arena = {0};
    cs_export_ranks ranks;
    uint32_t        n      = list->scenario->cluster.n_ranks;
    const char     *coll   = cs_collective_name(list->scenario->collective);
    cs_status       status = check(list, err);

    if (status == CS_OK) {
        status = cs_export_sort_ranks(list, &arena, &ranks, err);
    }
    if (status == CS_OK) {
        cs_text_add(out,
                    "<algo name=\"%s_%s_%u\" nchannels=\"1\" nchunksperloop=\"%u\" ngpus=\"%u\" "
                    "proto=\"Simple\" coll=\"%s\" inplace=\"1\" outofplace=\"0\" redop=\"sum\" "
                    "minBytes=\"0\" maxBytes=\"0\">\n",
                    list->algorithm->name, coll, n, list->plan->n_chunks, n, coll);
    }
    for (uint32_t rank = 0; rank < n && status == CS_OK; rank++) {
        status = add_rank(list, &ranks, rank, out, err);
    }
    cs_text_add(out, "</algo>\n");
    cs_arena_free(&arena);
    return status;
}
