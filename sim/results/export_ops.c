/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What each rank does in a schedule, and what must have ended before: for formats that are
 * written rank by rank and know dependencies.
 *
 * Per cell (a chunk or slot of the rank) the last writer and the readers since then are kept. A
 * reader needs the writer; a writer needs the writer and all those readers.
 */
#include "results/export_list.h"

#define NONE SIZE_MAX

static cs_status no_memory(cs_error *err)
{
    return CS_FAIL(err, CS_ENOMEM, "", "out of memory for an export");
}

cs_status cs_export_sort_ranks(const cs_export_list *list, cs_arena *arena, cs_export_ranks *ranks,
                               cs_error *err)
{
    uint32_t n = list->scenario->cluster.n_ranks;

    ranks->begin = CS_ARENA_NEW(arena, size_t, (size_t)n + 2);
    ranks->index = CS_ARENA_NEW(arena, size_t, 2 * list->n_transfers);
    if (ranks->begin == NULL || ranks->index == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < list->n_transfers; i++) {
        ranks->begin[list->transfers[i].src + 2]++;
        ranks->begin[list->transfers[i].dst + 2]++;
    }
    for (uint32_t r = 0; r < n; r++) {
        ranks->begin[r + 2] += ranks->begin[r + 1];
    }
    for (size_t i = 0; i < list->n_transfers; i++) {
        ranks->index[ranks->begin[list->transfers[i].src + 1]++] = i;
        ranks->index[ranks->begin[list->transfers[i].dst + 1]++] = i;
    }
    return CS_OK;
}

/* A reader of a cell since its last write. */
typedef struct reader {
    size_t op, next;
} reader;

typedef struct tracker {
    size_t        *writer;  /* [cells] last writer, or NONE */
    size_t        *readers; /* [cells] newest reader, or NONE */
    reader        *pool;
    size_t         n_pool, n_cells;
    size_t        *seen; /* [ops] number of the last operation that needs this one */
    cs_export_ops *ops;
    size_t         needs_capacity;
} tracker;

/* The send half or the receive half of a transfer at one of its ends. */
static cs_export_op make_op(const cs_transfer *t, size_t transfer, bool at_src, bool is_send,
                            bool in_place)
{
    uint32_t own  = at_src ? CS_OWN_SRC : CS_OWN_DST;
    uint32_t slot = at_src ? t->src_slot : t->dst_slot;
    bool     adds = !is_send && cs_transfer_op(t) != CS_OP_COPY;

    return (cs_export_op){
        .transfer = transfer,
        .peer     = at_src ? t->dst : t->src,
        .cell     = in_place ? t->chunk : slot,
        .span     = t->span,
        .is_send  = is_send,
        .adds     = adds,
        .reads    = (is_send || adds) && (in_place || (t->flags & own) == 0),
        .writes   = !is_send,
    };
}

static size_t list_ops(const cs_export_list *list, const cs_export_ranks *ranks, uint32_t rank,
                       bool in_place, cs_export_op *ops)
{
    size_t count = 0;

    for (size_t i = ranks->begin[rank]; i < ranks->begin[rank + 1]; i++) {
        size_t             number  = ranks->index[i];
        const cs_transfer *t       = &list->transfers[number];
        bool               is_both = cs_transfer_op(t) == CS_OP_EXCHANGE;
        bool               at_src  = t->src == rank;
        if (at_src || is_both) {
            ops[count++] = make_op(t, number, at_src, true, in_place);
        }
        if (!at_src || is_both) {
            ops[count++] = make_op(t, number, at_src, false, in_place);
        }
    }
    return count;
}

static void add_need(tracker *tr, size_t op, size_t needed)
{
    cs_export_ops *o = tr->ops;

    if (needed != NONE && tr->seen[needed] != op) {
        tr->seen[needed]       = op;
        o->needs[o->n_needs++] = needed;
    }
}

static void follow(tracker *tr, size_t op)
{
    cs_export_op *o = &tr->ops->ops[op];

    o->first_need = tr->ops->n_needs;
    for (size_t c = o->cell; c < (size_t)o->cell + o->span; c++) {
        if (o->reads || o->writes) {
            add_need(tr, op, tr->writer[c]);
        }
        for (size_t r = o->writes ? tr->readers[c] : NONE; r != NONE; r = tr->pool[r].next) {
            add_need(tr, op, tr->pool[r].op);
        }
        if (o->writes) {
            tr->writer[c]  = op;
            tr->readers[c] = NONE;
        } else if (o->reads) {
            tr->pool[tr->n_pool] = (reader){op, tr->readers[c]};
            tr->readers[c]       = tr->n_pool++;
        }
    }
    o->n_needs = tr->ops->n_needs - o->first_need;
}

/* Every reader is needed by at most one writer of its cell, every writer by those who use it. */
static cs_status open_tracker(tracker *tr, cs_arena *arena, cs_error *err)
{
    size_t uses = 0;

    for (size_t i = 0; i < tr->ops->n_ops; i++) {
        uses += tr->ops->ops[i].span;
    }
    tr->writer     = CS_ARENA_NEW(arena, size_t, tr->n_cells);
    tr->readers    = CS_ARENA_NEW(arena, size_t, tr->n_cells);
    tr->pool       = CS_ARENA_NEW(arena, reader, uses);
    tr->seen       = CS_ARENA_NEW(arena, size_t, tr->ops->n_ops);
    tr->ops->needs = CS_ARENA_NEW(arena, size_t, 2 * uses);
    if (tr->writer == NULL || tr->readers == NULL || tr->pool == NULL || tr->seen == NULL ||
        tr->ops->needs == NULL) {
        return no_memory(err);
    }
    for (size_t c = 0; c < tr->n_cells; c++) {
        tr->writer[c]  = NONE;
        tr->readers[c] = NONE;
    }
    for (size_t i = 0; i < tr->ops->n_ops; i++) {
        tr->seen[i] = NONE;
    }
    return CS_OK;
}

cs_status cs_export_rank_ops(const cs_export_list *list, const cs_export_ranks *ranks,
                             uint32_t rank, bool in_place, cs_arena *arena, cs_export_ops *ops,
                             cs_error *err)
{
    size_t  most = 2 * (ranks->begin[rank + 1] - ranks->begin[rank]);
    tracker tr   = {.ops = ops, .n_cells = in_place ? list->plan->n_chunks : list->plan->n_slots};

    *ops = (cs_export_ops){.ops = CS_ARENA_NEW(arena, cs_export_op, most)};
    if (ops->ops == NULL) {
        return no_memory(err);
    }
    ops->n_ops       = list_ops(list, ranks, rank, in_place, ops->ops);
    cs_status status = open_tracker(&tr, arena, err);
    for (size_t i = 0; i < ops->n_ops && status == CS_OK; i++) {
        follow(&tr, i);
    }
    return status;
}
