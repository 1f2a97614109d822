/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What each rank does in a schedule, and what must have ended before: for formats that are
 * written rank by rank and know dependencies.
 *
 * Per cell (a chunk or slot of the rank) the last writer and the readers since then are kept. A
 * reader needs the writer; a writer needs the writer and all those readers.
 */
#include "schedules/export_list.h"
#include "schedules/msccl_program.h"

#define NONE SIZE_MAX

cs_status cs_export_check_in_place(const cs_export_list *list, const char *format,
                                   uint32_t most_ranks, cs_error *err)
{
    uint32_t      n = list->scenario->cluster.n_ranks;
    cs_collective c = list->scenario->collective;

    if (cs_collectives[c].layout == CS_BLOCK_PER_PAIR) {
        return CS_FAIL(err, CS_ENOTSUP, "format",
                       "%s: %s is not exported, as it does not work in place", format,
                       cs_collective_name(c));
    }
    if (!list->is_in_place) {
        return CS_FAIL(err, CS_ENOTSUP, "format",
                       "%s: %s keeps chunks in other places on their way, which a schedule in "
                       "place cannot; json and goal can",
                       format, list->algorithm->name);
    }
    if (n > most_ranks || list->plan->n_chunks > CS_MSCCL_MAX_CHUNKS) {
        return CS_FAIL(err, CS_ENOTSUP, "format",
                       "%s: %u ranks and %u chunks are too many: accepted are %u and %d", format, n,
                       list->plan->n_chunks, most_ranks, CS_MSCCL_MAX_CHUNKS);
    }
    return CS_OK;
}

cs_status cs_export_sort_ranks(const cs_export_list *list, cs_arena *arena, cs_export_ranks *ranks,
                               cs_error *err)
{
    uint32_t n = list->scenario->cluster.n_ranks;

    ranks->begin = CS_ARENA_NEW(arena, size_t, (size_t)n + 2);
    ranks->index = CS_ARENA_NEW(arena, size_t, 2 * list->recording.n_transfers);
    if (ranks->begin == NULL || ranks->index == NULL) {
        return CS_NO_MEMORY(err, "an export");
    }
    for (size_t i = 0; i < list->recording.n_transfers; i++) {
        ranks->begin[list->recording.transfers[i].src + 2]++;
        ranks->begin[list->recording.transfers[i].dst + 2]++;
    }
    for (uint32_t r = 0; r < n; r++) {
        ranks->begin[r + 2] += ranks->begin[r + 1];
    }
    for (size_t i = 0; i < list->recording.n_transfers; i++) {
        ranks->index[ranks->begin[list->recording.transfers[i].src + 1]++] = i;
        ranks->index[ranks->begin[list->recording.transfers[i].dst + 1]++] = i;
    }
    return CS_OK;
}

/* A reader of a cell since its last write. */
typedef struct reader {
    size_t op, next;
} reader;

typedef struct tracker {
    const cs_export_list *list;
    cs_export_view        view;
    size_t               *writer;  /* [cells] last writer, or NONE */
    size_t               *readers; /* [cells] newest reader, or NONE */
    reader               *pool;
    size_t                n_pool, n_cells;
    size_t               *seen; /* [ops] number of the last operation that needs this one */
    cs_export_ops        *ops;
    cs_arena              arena; /* of all but the operations and needs */
} tracker;

/* How many transfers are one operation with the transfer `number`? */
static uint32_t parts_of(const cs_export_list *list, size_t number, cs_export_view view)
{
    size_t end = number + 1;

    while (view == CS_EXPORT_MESSAGES && end < list->recording.n_transfers &&
           (list->recording.transfers[end].flags & CS_JOIN) != 0) {
        end++;
    }
    return (uint32_t)(end - number);
}

/* The sends and receives of a rank. The parts of a message have the same ends, so that they stand
 * one behind the other in the rank's list too. */
static size_t list_ops(const cs_export_list *list, const cs_export_ranks *ranks, uint32_t rank,
                       cs_export_view view, cs_export_op *ops)
{
    size_t count = 0;

    for (size_t i = ranks->begin[rank]; i < ranks->begin[rank + 1];) {
        size_t             number  = ranks->index[i];
        const cs_transfer *t       = &list->recording.transfers[number];
        bool               is_both = cs_transfer_op(t) == CS_OP_EXCHANGE, at_src = t->src == rank;
        cs_export_op       op = {.transfer = number,
                                 .n_parts  = parts_of(list, number, view),
                                 .peer     = at_src ? t->dst : t->src};
        for (int receives = 0; receives < 2; receives++) {
            op.is_send = receives == 0;
            if (is_both || at_src == op.is_send) {
                ops[count++] = op;
            }
        }
        i += op.n_parts;
    }
    return count;
}

static void add_need(tracker *tr, size_t op, size_t needed)
{
    cs_export_ops *o = tr->ops;

    if (needed != NONE && needed != op && tr->seen[needed] != op) {
        tr->seen[needed]       = op;
        o->needs[o->n_needs++] = needed;
    }
}

/* One part of an operation at its rank. */
static void follow_part(tracker *tr, size_t op, const cs_transfer *t, bool at_src)
{
    bool   in_place = tr->view == CS_EXPORT_IN_PLACE, writes = !tr->ops->ops[op].is_send;
    bool   is_own = !in_place && (t->flags & (at_src ? CS_OWN_SRC : CS_OWN_DST)) != 0;
    bool   reads  = (!writes || cs_transfer_op(t) != CS_OP_COPY) && !is_own;
    size_t first  = in_place ? t->chunk : at_src ? t->src_slot : t->dst_slot;

    for (size_t c = first; c < first + t->span; c++) {
        if (reads || writes) {
            add_need(tr, op, tr->writer[c]);
        }
        for (size_t r = writes ? tr->readers[c] : NONE; r != NONE; r = tr->pool[r].next) {
            add_need(tr, op, tr->pool[r].op);
        }
        if (writes) {
            tr->writer[c]  = op;
            tr->readers[c] = NONE;
        } else if (reads) {
            tr->pool[tr->n_pool] = (reader){op, tr->readers[c]};
            tr->readers[c]       = tr->n_pool++;
        }
    }
}

static void follow(tracker *tr, size_t op)
{
    cs_export_op      *o      = &tr->ops->ops[op];
    const cs_transfer *t      = &tr->list->recording.transfers[o->transfer];
    bool               at_src = t->dst == o->peer;

    o->first_need = tr->ops->n_needs;
    for (uint32_t k = 0; k < o->n_parts; k++) {
        follow_part(tr, op, &t[k], at_src);
    }
    o->n_needs = tr->ops->n_needs - o->first_need;
}

static size_t count_uses(const tracker *tr)
{
    size_t uses = 0;

    for (size_t i = 0; i < tr->ops->n_ops; i++) {
        const cs_export_op *op = &tr->ops->ops[i];
        for (uint32_t k = 0; k < op->n_parts; k++) {
            uses += tr->list->recording.transfers[op->transfer + k].span;
        }
    }
    return uses;
}

/* Every reader is needed by at most one writer of its cell, every writer by those who use it. */
static cs_status open_tracker(tracker *tr, cs_arena *arena, cs_error *err)
{
    size_t uses = count_uses(tr);

    tr->writer     = CS_ARENA_NEW(&tr->arena, size_t, tr->n_cells);
    tr->readers    = CS_ARENA_NEW(&tr->arena, size_t, tr->n_cells);
    tr->pool       = CS_ARENA_NEW(&tr->arena, reader, uses);
    tr->seen       = CS_ARENA_NEW(&tr->arena, size_t, tr->ops->n_ops);
    tr->ops->needs = CS_ARENA_NEW(arena, size_t, 2 * uses);
    if (tr->writer == NULL || tr->readers == NULL || tr->pool == NULL || tr->seen == NULL ||
        tr->ops->needs == NULL) {
        return CS_NO_MEMORY(err, "an export");
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
                             uint32_t rank, cs_export_view view, cs_arena *arena,
                             cs_export_ops *ops, cs_error *err)
{
    size_t  most     = 2 * (ranks->begin[rank + 1] - ranks->begin[rank]);
    bool    in_place = view == CS_EXPORT_IN_PLACE;
    tracker tr       = {.list    = list,
                        .view    = view,
                        .ops     = ops,
                        .n_cells = in_place ? list->plan->n_chunks : list->plan->n_slots};

    *ops = (cs_export_ops){.ops = CS_ARENA_NEW(arena, cs_export_op, most)};
    if (ops->ops == NULL) {
        return CS_NO_MEMORY(err, "an export");
    }
    ops->n_ops       = list_ops(list, ranks, rank, view, ops->ops);
    cs_status status = open_tracker(&tr, arena, err);
    for (size_t i = 0; i < ops->n_ops && status == CS_OK; i++) {
        follow(&tr, i);
    }
    cs_arena_free(&tr.arena);
    return status;
}
