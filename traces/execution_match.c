/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/execution_match.h"

#include "base/alloc.h"
#include "cs/scenario.h"

#include <stdlib.h>
#include <string.h>

/* The work of one call. */
typedef struct matching {
    cs_execution_trace *trace;
    cs_work *const     *own;
    const char *const  *paths;
    size_t              n;
    uint64_t            n_other_bytes;
} matching;

static cs_status no_memory(cs_error *err)
{
    return CS_NO_MEMORY(err, "the calls of an execution trace");
}

/* The file of a rank. */
static const char *path_of(const matching *m, uint32_t rank)
{
    return m->paths != NULL ? m->paths[m->n > 1 ? rank : 0] : "";
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Two ranks say different things about a call. */
static cs_status contradiction(const matching *m, const cs_work_group *g, uint32_t rank,
                               const cs_work *work, const char *what, cs_error *err)
{
    return CS_FAIL(err, CS_EINVAL, path_of(m, rank),
                   "node %llu of rank %u: call %u of process group '%s' of %u ranks: %s",
                   (unsigned long long)work->id, rank, work->sequence, g->name, g->n_ranks, what);
}

static cs_status match_call(matching *m, uint32_t rank, const cs_work *work, cs_error *err)
{
    cs_execution_trace  *t      = m->trace;
    uint32_t             number = t->ranks[rank].groups[work->group];
    const cs_work_group *g      = &t->groups[number];
    uint64_t             bytes  = work->bytes;

    if (work->sequence >= g->n_calls) {
        return contradiction(m, g, rank, work, "another rank has fewer calls", err);
    }
    cs_work_call *call = &t->calls[g->first_call + work->sequence];
    if (work->collective == CS_ALLGATHER) {
        if (bytes > CS_MAX_BYTES / g->n_ranks) {
            return contradiction(m, g, rank, work, "all ranks together gather more than 2^50 bytes",
                                 err);
        }
        bytes *= g->n_ranks;
    }
    if (work->root != UINT32_MAX && cs_collective_has_root((cs_collective)work->collective) &&
        bsearch(&work->root, g->ranks, g->n_ranks, sizeof work->root, by_number) == NULL) {
        return contradiction(m, g, rank, work, "its root is not in the group", err);
    }
    if (rank == g->ranks[0]) {
        *call = (cs_work_call){bytes, number, work->root, work->collective};
        return CS_OK;
    }
    if (work->root != UINT32_MAX && call->root != UINT32_MAX && work->root != call->root) {
        return contradiction(m, g, rank, work, "another rank names another root", err);
    }
    call->root = work->root != UINT32_MAX ? work->root : call->root;
    if (call->collective != work->collective) {
        return contradiction(m, g, rank, work, "another rank calls another collective", err);
    }
    m->n_other_bytes += call->bytes != bytes;
    call->bytes = bytes > call->bytes ? bytes : call->bytes;
    return CS_OK;
}

/* How many calls each group has: as many as on its first rank. */
static void count_calls(cs_execution_trace *t)
{
    uint32_t next = 0;

    for (uint32_t r = 0; r < t->n_ranks; r++) {
        const cs_execution *x = &t->ranks[r];
        for (uint32_t i = 0; i < x->n_nodes; i++) {
            const cs_work *work = &x->nodes[i];
            if (work->kind == CS_WORK_CALL) {
                cs_work_group *g = &t->groups[x->groups[work->group]];
                g->n_calls += g->ranks[0] == r;
            }
        }
    }
    for (uint32_t i = 0; i < t->n_groups; i++) {
        t->groups[i].first_call = next;
        next += t->groups[i].n_calls;
    }
    t->n_calls = next;
}

/* How many calls a rank has of a group. */
static uint32_t calls_of(const cs_execution *x, uint32_t group)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < x->n_nodes; i++) {
        n += x->nodes[i].kind == CS_WORK_CALL && x->groups[x->nodes[i].group] == group;
    }
    return n;
}

/* No rank has more calls of a group than its first: has any fewer? */
static cs_status check_counts(const matching *m, const uint64_t *parts, cs_error *err)
{
    const cs_execution_trace *t = m->trace;

    for (uint32_t k = 0; k < t->n_groups; k++) {
        const cs_work_group *g = &t->groups[k];
        for (uint32_t i = 0; parts[k] < (uint64_t)g->n_calls * g->n_ranks && i < g->n_ranks; i++) {
            uint32_t n = calls_of(&t->ranks[g->ranks[i]], k);
            if (n < g->n_calls) {
                return CS_FAIL(err, CS_EINVAL, path_of(m, g->ranks[i]),
                               "rank %u has %u of the %u calls that rank %u has of process group "
                               "'%s' of %u ranks",
                               g->ranks[i], n, g->n_calls, g->ranks[0], g->name, g->n_ranks);
            }
        }
    }
    return CS_OK;
}

static cs_status match_calls(matching *m, cs_error *err)
{
    cs_execution_trace *t = m->trace;

    count_calls(t);
    t->calls        = CS_ARENA_NEW(&t->arena, cs_work_call, (size_t)t->n_calls + 1);
    uint64_t *parts = CS_ARENA_NEW(&t->arena, uint64_t, (size_t)t->n_groups + 1);
    if (t->calls == NULL || parts == NULL) {
        return no_memory(err);
    }
    for (uint32_t r = 0; r < t->n_ranks; r++) {
        const cs_execution *x = &t->ranks[r];
        for (uint32_t i = 0; i < x->n_nodes; i++) {
            if (x->nodes[i].kind == CS_WORK_CALL) {
                CS_TRY(match_call(m, r, &x->nodes[i], err));
                parts[x->groups[x->nodes[i].group]]++;
            }
        }
    }
    return check_counts(m, parts, err);
}

/* One end of a message. */
typedef struct message_end {
    uint32_t src, dst, tag, order, rank, node;
} message_end;

static int by_message(const void *a, const void *b)
{
    const message_end *x = a, *y = b;

    if (x->src != y->src) {
        return x->src < y->src ? -1 : 1;
    }
    if (x->dst != y->dst) {
        return x->dst < y->dst ? -1 : 1;
    }
    if (x->tag != y->tag) {
        return x->tag < y->tag ? -1 : 1;
    }
    return (x->order > y->order) - (x->order < y->order);
}

/* Put the ends of all messages into `sends` and `receives`; NULL: count them. */
static void list_ends(const cs_execution_trace *t, message_end *sends, message_end *receives,
                      size_t counts[2])
{
    counts[0] = counts[1] = 0;
    for (uint32_t r = 0; r < t->n_ranks; r++) {
        for (uint32_t i = 0; i < t->ranks[r].n_nodes; i++) {
            const cs_work *w     = &t->ranks[r].nodes[i];
            bool           sent  = w->kind == CS_WORK_SEND;
            message_end   *ends  = sent ? sends : receives;
            size_t         which = sent ? 0 : 1;
            if (w->kind != CS_WORK_SEND && w->kind != CS_WORK_RECEIVE) {
                continue;
            }
            if (ends != NULL) {
                ends[counts[which]] = (message_end){
                    sent ? r : w->group, sent ? w->group : r, w->tag, w->sequence, r, i};
            }
            counts[which]++;
        }
    }
}

static cs_work *work_of(const matching *m, const message_end *end)
{
    return &m->own[end->rank][end->node];
}

/* An end that no other fits. */
static cs_status lone_end(const matching *m, const message_end *end, bool is_sent, cs_error *err)
{
    return CS_FAIL(err, CS_EINVAL, path_of(m, end->rank),
                   "node %llu of rank %u: from rank %u to %u with tag %u: the other rank %s none",
                   (unsigned long long)work_of(m, end)->id, end->rank, end->src, end->dst, end->tag,
                   is_sent ? "receives" : "sends");
}

static cs_status join_ends(matching *m, const message_end *sends, size_t n_sends,
                           const message_end *receives, size_t n_receives, cs_error *err)
{
    cs_execution_trace *t = m->trace;

    for (size_t i = 0; i < n_sends || i < n_receives; i++) {
        if (i == n_sends || i == n_receives) {
            return lone_end(m, i == n_sends ? &receives[i] : &sends[i], i < n_sends, err);
        }
        const message_end *s = &sends[i], *r = &receives[i];
        if (s->src != r->src || s->dst != r->dst || s->tag != r->tag) {
            bool is_sent = by_message(s, r) < 0;
            return lone_end(m, is_sent ? s : r, is_sent, err);
        }
        cs_work *send = work_of(m, s), *receive = work_of(m, r);
        send->sequence = receive->sequence = (uint32_t)i;
        t->messages[i]                     = (cs_work_message){send->bytes, s->src, s->dst};
        m->n_other_bytes += receive->bytes != send->bytes && receive->bytes != 0;
    }
    return CS_OK;
}

static cs_status match_messages(matching *m, cs_error *err)
{
    cs_execution_trace *t = m->trace;
    size_t              n[2];

    list_ends(t, NULL, NULL, n);
    message_end *sends    = CS_NEW(message_end, n[0] + 1);
    message_end *receives = CS_NEW(message_end, n[1] + 1);
    t->messages           = CS_ARENA_NEW(&t->arena, cs_work_message, n[0] + 1);
    cs_status status =
        sends == NULL || receives == NULL || t->messages == NULL ? no_memory(err) : CS_OK;
    if (status == CS_OK) {
        list_ends(t, sends, receives, n);
        qsort(sends, n[0], sizeof *sends, by_message);
        qsort(receives, n[1], sizeof *receives, by_message);
        status        = join_ends(m, sends, n[0], receives, n[1], err);
        t->n_messages = (uint32_t)n[0];
    }
    cs_free(sends);
    cs_free(receives);
    return status;
}

cs_status cs_execution_match(cs_execution_trace *trace, cs_work *const *own,
                             const char *const *paths, size_t n_paths, uint64_t *n_uneven_p,
                             cs_error *err)
{
    matching m = {.trace = trace, .own = own, .paths = paths, .n = n_paths};

    CS_TRY(match_calls(&m, err));
    CS_TRY(match_messages(&m, err));
    *n_uneven_p = m.n_other_bytes;
    return CS_OK;
}
