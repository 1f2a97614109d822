/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file is read into nodes as they stand there; then dependencies become lists, and the calls of
 * each group and the messages of each pair are numbered in the order of the program. When all ranks
 * are there, their calls and messages are matched (execution_match.c). */
#include "traces/execution_trace.h"

#include "base/alloc.h"
#include "base/heap.h"
#include "cs/scenario.h"
#include "input/folder.h"
#include "input/gzip.h"
#include "traces/chakra.h"
#include "traces/execution_match.h"
#include "traces/process_groups.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ALL_NODES   ((uint64_t)1 << 30)
#define MAX_DURATION_US ((uint64_t)1000000000000)

enum {
    MAX_FILES  = 65536,
    MAX_GROUPS = 1 << 20,
    MAX_NAMES  = 4096 /* of groups in one file */
};

#define ALL_RANKS "0" /* the name of the group of all, as PyTorch has it */

/* A node's dependencies in the file. */
typedef struct need_range {
    size_t   first; /* data, then control */
    uint32_t n_data, n_control;
} need_range;

/* One file while it is read. */
typedef struct file_build {
    struct load      *l;
    const char       *name;
    cs_work          *nodes;  /* owned */
    cs_work          *sorted; /* a copy, in the arena */
    need_range       *ranges;
    uint64_t         *deps;
    size_t            n, nodes_capacity, ranges_capacity, n_deps, deps_capacity;
    bool              has_data;            /* dependencies: those of control do not count then */
    cs_process_groups described;           /* in the file */
    char (*names)[CS_PROCESS_GROUP_BYTES]; /* of groups, by the numbers that nodes have */
    size_t n_names, names_capacity;
} file_build;

/* The work of one call. */
typedef struct load {
    cs_execution_trace *trace;
    cs_work           **own;   /* [n_ranks] the nodes of each; in the arena */
    cs_process_groups   given; /* by --groups */
    char              **paths; /* owned, each; [n] */
    bool               *in_folder;
    size_t              n, paths_capacity, flags_capacity;
    size_t              groups_capacity;
    uint64_t            n_strange, n_recorded, n_other_bytes; /* for the notes */
    uint64_t            n_control, n_unmeasured, n_on_cpu;
    cs_text             left_out;
} load;

static cs_status no_memory(cs_error *err)
{
    return CS_NO_MEMORY(err, "an execution trace");
}

/* ---- groups ---- */

/* The number of the job's group with that name and these ranks (NULL: all); added where it is new.
 */
static cs_status intern_group(load *l, const char *name, const uint32_t *ranks, uint32_t n,
                              uint32_t *number_p, cs_error *err)
{
    cs_execution_trace *t = l->trace;

    for (uint32_t i = t->n_groups; i-- > 0;) { /* that of the rank before is near the end */
        const cs_work_group *g    = &t->groups[i];
        bool                 same = g->n_ranks == n && strcmp(g->name, name) == 0;
        if (same && (ranks == NULL || memcmp(g->ranks, ranks, n * sizeof *ranks) == 0)) {
            *number_p = i;
            return CS_OK;
        }
    }
    uint32_t   *copy = CS_ARENA_NEW(&t->arena, uint32_t, n);
    const char *word = cs_arena_strdup(&t->arena, name);
    if (t->n_groups == MAX_GROUPS) {
        return CS_FAIL(err, CS_EINVAL, "--trace", "more than %d process groups", MAX_GROUPS);
    }
    if (copy == NULL || word == NULL ||
        !cs_grow(&t->groups, &l->groups_capacity, (size_t)t->n_groups + 1, 8, sizeof *t->groups)) {
        return no_memory(err);
    }
    for (uint32_t i = 0; i < n; i++) {
        copy[i] = ranks != NULL ? ranks[i] : i;
    }
    *number_p                = t->n_groups;
    t->groups[t->n_groups++] = (cs_work_group){.name = word, .ranks = copy, .n_ranks = n};
    return CS_OK;
}

/* The job's group for a name on a rank: "" and "0" are all ranks, unless somebody says otherwise.
 */
static cs_status group_of(const file_build *f, const char *name, uint32_t rank, uint32_t *number_p,
                          cs_error *err)
{
    load                   *l        = f->l;
    bool                    is_named = false;
    const cs_process_group *g        = cs_process_groups_find(&l->given, name, rank, &is_named);

    if (g == NULL && !is_named) {
        g = cs_process_groups_find(&f->described, name, rank, &is_named);
    }
    if (g == NULL && is_named) {
        return CS_FAIL(err, CS_EINVAL, f->name,
                       "process group '%s' is used on rank %u, which is "
                       "not in it",
                       name, rank);
    }
    if (g == NULL && strcmp(name, ALL_RANKS) != 0) {
        return CS_FAIL(err, CS_EINVAL, f->name,
                       "process group '%s': no node says which ranks it has: --groups FILE with "
                       "{\"%s\": [0, 1, ..]} does",
                       name, name);
    }
    bool is_all = g == NULL || g->ranks == NULL;
    return intern_group(l, name, is_all ? NULL : g->ranks, is_all ? l->trace->n_ranks : g->n_ranks,
                        number_p, err);
}

/* The number that nodes of this file have for a group's name; none is that of all ranks. */
static cs_status number_name(file_build *f, cs_chakra_text name, uint32_t *number_p, cs_error *err)
{
    if (name.length == 0) {
        name = (cs_chakra_text){ALL_RANKS, strlen(ALL_RANKS)};
    }
    if (name.length >= CS_PROCESS_GROUP_BYTES || memchr(name.text, '\0', name.length) != NULL) {
        return CS_FAIL(err, CS_EINVAL, f->name,
                       "the name of a process group is no text of up to %d bytes",
                       CS_PROCESS_GROUP_BYTES - 1);
    }
    for (size_t i = f->n_names; i > 0; i--) {
        if (strlen(f->names[i - 1]) == name.length &&
            (name.length == 0 || memcmp(f->names[i - 1], name.text, name.length) == 0)) {
            *number_p = (uint32_t)(i - 1);
            return CS_OK;
        }
    }
    if (f->n_names == MAX_NAMES) {
        return CS_FAIL(err, CS_EINVAL, f->name, "more than %d process groups", MAX_NAMES);
    }
    if (!cs_grow(&f->names, &f->names_capacity, f->n_names + 1, 8, sizeof *f->names)) {
        return no_memory(err);
    }
    memset(f->names[f->n_names], 0, CS_PROCESS_GROUP_BYTES);
    if (name.length > 0) {
        memcpy(f->names[f->n_names], name.text, name.length);
    }
    *number_p = (uint32_t)f->n_names++;
    return CS_OK;
}

/* ---- the nodes of a file ---- */

static const uint8_t collectives[] = {
    CS_ALLREDUCE, CS_REDUCE,   CS_ALLGATHER,     CS_COLLECTIVE_COUNT, CS_COLLECTIVE_COUNT,
    CS_BROADCAST, CS_ALLTOALL, CS_REDUCESCATTER, CS_REDUCESCATTER,    CS_ALLREDUCE};
enum { BARRIER = 9, BARRIER_BYTES = 4 };

static cs_status refuse(const file_build *f, const cs_chakra_node *node, const char *what,
                        cs_error *err)
{
    return CS_FAIL(err, CS_EINVAL, f->name, "node %llu ('%.*s'): %s", (unsigned long long)node->id,
                   (int)(node->name.length < 60 ? node->name.length : 60),
                   node->name.length > 0 ? node->name.text : "", what);
}

static cs_status read_call(file_build *f, const cs_chakra_node *node, cs_work *work, cs_error *err)
{
    bool has_size = node->has_bytes || node->comm_type == BARRIER;

    if (node->comm_type >= sizeof collectives || !has_size ||
        collectives[node->comm_type] == CS_COLLECTIVE_COUNT) {
        work->kind = CS_WORK_OTHER; /* Gather, Scatter, what is not known */
        f->l->n_recorded++;
        return CS_OK;
    }
    if (node->n_dims_off > 0 && node->group.length == 0) {
        return refuse(f, node,
                      "involved_dim leaves dimensions out, and nothing says which ranks "
                      "those are: accepted is pg_name, the name of a process group",
                      err);
    }
    if (node->bytes > CS_MAX_BYTES) {
        return refuse(f, node, "comm_size is negative or larger than 2^50", err);
    }
    work->collective = collectives[node->comm_type];
    work->bytes      = node->comm_type == BARRIER ? BARRIER_BYTES : node->bytes;
    if (node->root != UINT64_MAX && node->root >= f->l->trace->n_ranks) {
        return refuse(f, node, "its root is no rank of the job", err);
    }
    work->root = node->root != UINT64_MAX ? (uint32_t)node->root : UINT32_MAX;
    work->kind = CS_WORK_CALL;
    return number_name(f, node->group, &work->group, err);
}

static cs_status read_message(const file_build *f, const cs_chakra_node *node, cs_work *work,
                              cs_error *err)
{
    bool     sends = work->kind == CS_WORK_SEND;
    uint64_t peer  = sends ? node->dst : node->src;

    if (f->l->n == 1) {
        return refuse(f, node, "a message, in one file for all ranks: accepted is a file per rank",
                      err);
    }
    if (node->bytes > CS_MAX_BYTES) {
        return refuse(f, node, "comm_size is negative or larger than 2^50", err);
    }
    if (!(sends ? node->has_dst : node->has_src) || peer >= f->l->trace->n_ranks) {
        return refuse(f, node,
                      sends ? "comm_dst is no rank of the job" : "comm_src is no rank of the job",
                      err);
    }
    work->group = (uint32_t)peer;
    work->tag   = (uint32_t)node->tag;
    work->bytes = node->bytes;
    return CS_OK;
}

static cs_status read_work(file_build *f, const cs_chakra_node *node, cs_work *work, cs_error *err)
{
    *work = (cs_work){.id = node->id, .duration_s = (double)node->duration_us * 1e-6};
    if (node->is_odd) {
        return refuse(f, node, "a number of it is none, or does not fit", err);
    }
    if (node->values.length > 0 && node->type <= CS_CHAKRA_METADATA) {
        CS_TRY(cs_process_groups_describe(&f->described, node->values.text, node->values.length,
                                          f->name, err));
    }
    if (node->type <= CS_CHAKRA_METADATA) {
        return CS_OK;
    }
    if (node->duration_us > MAX_DURATION_US) {
        return refuse(f, node, "its duration is negative or longer than 1e6 s", err);
    }
    f->l->n_unmeasured += node->has_ops && node->duration_us == 0;
    if (node->is_cpu_op) {
        f->l->n_on_cpu += node->type == CS_CHAKRA_COLL;
        work->kind = node->duration_us > 0 ? CS_WORK_HOST : CS_WORK_NOTHING;
        return CS_OK;
    }
    switch (node->type) {
    case CS_CHAKRA_COMP: work->kind = CS_WORK_COMPUTE; return CS_OK;
    case CS_CHAKRA_COLL: return read_call(f, node, work, err);
    case CS_CHAKRA_SEND: work->kind = CS_WORK_SEND; return read_message(f, node, work, err);
    case CS_CHAKRA_RECV: work->kind = CS_WORK_RECEIVE; return read_message(f, node, work, err);
    default: work->kind = CS_WORK_OTHER; return CS_OK;
    }
}

static cs_status take_node(void *user, const cs_chakra_node *node, cs_error *err)
{
    file_build *f = user;

    if (f->n >= CS_EXECUTION_MAX_NODES) {
        return CS_FAIL(err, CS_EINVAL, f->name, "more than %d nodes", CS_EXECUTION_MAX_NODES);
    }
    if (!cs_grow(&f->nodes, &f->nodes_capacity, f->n + 2, 256, sizeof *f->nodes) ||
        !cs_grow(&f->ranges, &f->ranges_capacity, f->n + 1, 256, sizeof *f->ranges) ||
        !cs_grow(&f->deps, &f->deps_capacity, f->n_deps + node->n_data + node->n_control + 1, 1024,
                 sizeof *f->deps)) {
        return no_memory(err);
    }
    CS_TRY(read_work(f, node, &f->nodes[f->n], err));
    f->ranges[f->n++] = (need_range){f->n_deps, (uint32_t)node->n_data, (uint32_t)node->n_control};
    for (size_t i = 0; i < node->n_data; i++) {
        f->deps[f->n_deps++] = node->data[i];
    }
    for (size_t i = 0; i < node->n_control; i++) {
        f->deps[f->n_deps++] = node->control[i];
    }
    f->has_data = f->has_data || node->n_data > 0;
    return CS_OK;
}

static int by_id(const void *a, const void *b)
{
    const cs_work *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

/* Nodes by number, and where each stood. */
static cs_status sort_nodes(file_build *f, cs_error *err)
{
    bool is_sorted = true;

    for (size_t i = 0; i < f->n; i++) {
        is_sorted         = is_sorted && (i == 0 || f->nodes[i].id > f->nodes[i - 1].id);
        f->nodes[i].needs = (uint32_t)i; /* until they are counted */
    }
    if (!is_sorted) {
        qsort(f->nodes, f->n, sizeof *f->nodes, by_id);
    }
    for (size_t i = 1; i < f->n; i++) {
        if (f->nodes[i].id == f->nodes[i - 1].id) {
            return CS_FAIL(err, CS_EINVAL, f->name, "node %llu is there twice",
                           (unsigned long long)f->nodes[i].id);
        }
    }
    return CS_OK;
}

/* The index of a node; UINT32_MAX: there is none. */
static uint32_t find_node(const file_build *f, uint64_t id)
{
    uint64_t first = f->nodes[0].id;

    if (id >= first && id - first < f->n && f->nodes[id - first].id == id) {
        return (uint32_t)(id - first);
    }
    size_t low = 0, high = f->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (f->nodes[mid].id < id) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low < f->n && f->nodes[low].id == id ? (uint32_t)low : UINT32_MAX;
}

/* The dependencies of a node that count: control says who called whom, unless the file has no
 * others. */
static uint64_t *needs_of(const file_build *f, uint32_t range, uint32_t *n_p)
{
    const need_range *r = &f->ranges[range];

    *n_p = f->has_data ? r->n_data : r->n_control;
    return &f->deps[r->first + (f->has_data ? 0 : r->n_data)];
}

/* Turn dependencies into the lists of those that wait. Do all lead to smaller numbers? */
static cs_status list_users(file_build *f, uint32_t **users_p, bool *leads_back_p, cs_error *err)
{
    uint32_t *at    = CS_NEW(uint32_t, f->n + 1);
    uint32_t *users = CS_ARENA_NEW(&f->l->trace->arena, uint32_t, f->n_deps + 1);
    size_t    total = 0;

    *leads_back_p = true;
    *users_p      = users;
    for (size_t i = 0; i < f->n && f->has_data; i++) {
        f->l->n_control += f->ranges[i].n_control;
    }
    if (at == NULL || users == NULL) {
        cs_free(at);
        return no_memory(err);
    }
    for (size_t i = 0; i < f->n; i++) {
        uint32_t  range   = f->nodes[i].needs, n;
        uint64_t *needs   = needs_of(f, range, &n);
        f->nodes[i].needs = 0;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t on = find_node(f, needs[k]);
            f->l->n_strange += on == UINT32_MAX;
            needs[k] = on;
            if (on != UINT32_MAX) {
                at[on]++;
                f->nodes[i].needs++;
                *leads_back_p = *leads_back_p && on < i;
            }
        }
        f->nodes[i].first_user = range; /* until all are counted */
    }
    uint32_t *range_of = CS_NEW(uint32_t, f->n + 1);
    if (range_of == NULL) {
        cs_free(at);
        return no_memory(err);
    }
    for (size_t i = 0; i < f->n; i++) {
        range_of[i]            = f->nodes[i].first_user;
        f->nodes[i].first_user = (uint32_t)total;
        total += at[i];
        at[i] = f->nodes[i].first_user;
    }
    f->nodes[f->n] = (cs_work){.first_user = (uint32_t)total};
    for (size_t i = 0; i < f->n; i++) {
        uint32_t        n;
        const uint64_t *needs = needs_of(f, range_of[i], &n);
        for (uint32_t k = 0; k < n; k++) {
            if (needs[k] != UINT32_MAX) {
                users[at[needs[k]]++] = (uint32_t)i;
            }
        }
    }
    cs_free(range_of);
    cs_free(at);
    return CS_OK;
}

/* ---- the order of the program ---- */

/* All nodes in the order of their numbers, as far as dependencies let it be; fewer where some are
 * in a circle. */
static size_t walk(const file_build *f, const uint32_t *users, uint32_t *needs, uint32_t *heap,
                   uint32_t *order)
{
    size_t n_ready = 0, n = 0;

    for (uint32_t i = 0; i < f->n; i++) {
        needs[i] = f->nodes[i].needs;
        if (needs[i] == 0) {
            cs_heap_push(heap, &n_ready, i);
        }
    }
    while (n_ready > 0) {
        uint32_t i = cs_heap_pop(heap, &n_ready);
        order[n++] = i;
        for (uint32_t u = f->nodes[i].first_user; u < f->nodes[i + 1].first_user; u++) {
            if (--needs[users[u]] == 0) {
                cs_heap_push(heap, &n_ready, users[u]);
            }
        }
    }
    return n;
}

/* Number the calls of each group in the order of the program. `order`: NULL where that of the
 * numbers is it. */
static void number_calls(file_build *f, const uint32_t *order, uint32_t *counts)
{
    for (size_t i = 0; i < f->n; i++) {
        cs_work *work = &f->nodes[order != NULL ? order[i] : i];
        if (work->kind == CS_WORK_CALL) {
            work->sequence = counts[work->group]++;
        } else if (work->kind == CS_WORK_SEND || work->kind == CS_WORK_RECEIVE) {
            work->sequence = (uint32_t)i; /* until messages are matched */
        }
    }
}

static cs_status put_in_order(file_build *f, const uint32_t *users, bool leads_back, cs_error *err)
{
    uint32_t *counts = CS_NEW(uint32_t, f->n_names + 1);
    uint32_t *needs  = leads_back ? NULL : CS_NEW(uint32_t, 3 * f->n);
    size_t    n      = f->n;
    cs_status status = counts == NULL || (needs == NULL && !leads_back) ? no_memory(err) : CS_OK;

    if (status == CS_OK && !leads_back) {
        n = walk(f, users, needs, needs + f->n, needs + 2 * f->n);
    }
    if (status == CS_OK && n < f->n) {
        uint32_t i = 0;
        while (needs[i] == 0) {
            i++;
        }
        status = CS_FAIL(err, CS_EINVAL, f->name,
                         "node %llu waits for itself: dependencies go in a circle there or before "
                         "it",
                         (unsigned long long)f->nodes[i].id);
    }
    if (status == CS_OK) {
        number_calls(f, leads_back ? NULL : needs + 2 * f->n, counts);
    }
    cs_free(needs);
    cs_free(counts);
    return status;
}

/* ---- a rank ---- */

/* The groups of a rank, by the numbers that the nodes have. */
static cs_status set_groups(const file_build *f, uint32_t rank, cs_execution *x, cs_error *err)
{
    uint32_t *groups = CS_ARENA_NEW(&f->l->trace->arena, uint32_t, f->n_names + 1);

    if (groups == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < f->n_names; i++) {
        CS_TRY(group_of(f, f->names[i], rank, &groups[i], err));
    }
    x->groups   = groups;
    x->n_groups = (uint32_t)f->n_names;
    return CS_OK;
}

static cs_status finish(file_build *f, cs_execution *x, cs_error *err)
{
    uint32_t *users      = NULL;
    bool      leads_back = true;

    if (f->n == 0) {
        return CS_FAIL(err, CS_EINVAL, f->name, "no node is in it");
    }
    if ((uint64_t)f->n * (f->l->n == 1 ? f->l->trace->n_ranks : 1) + f->l->trace->n_nodes >
        MAX_ALL_NODES) {
        return CS_FAIL(err, CS_EINVAL, f->name, "all ranks together have more than 2^30 nodes");
    }
    CS_TRY(sort_nodes(f, err));
    CS_TRY(list_users(f, &users, &leads_back, err));
    CS_TRY(put_in_order(f, users, leads_back, err));
    cs_work *nodes = CS_ARENA_NEW(&f->l->trace->arena, cs_work, f->n + 1);
    if (nodes == NULL) {
        return no_memory(err);
    }
    memcpy(nodes, f->nodes, (f->n + 1) * sizeof *nodes);
    f->sorted = nodes;
    *x        = (cs_execution){.nodes = nodes, .n_nodes = (uint32_t)f->n, .users = users};
    for (size_t i = 0; i < f->n; i++) {
        x->compute_s += nodes[i].kind == CS_WORK_COMPUTE ? nodes[i].duration_s : 0;
    }
    return CS_OK;
}

/* Read a text for one rank, or (UINT32_MAX) for all. */
static cs_status read_text(load *l, const char *text, size_t length, const char *name,
                           uint32_t rank, cs_error *err)
{
    file_build             f = {.l = l, .name = name, .described = {.n_ranks = l->trace->n_ranks}};
    const cs_chakra_reader reader = {take_node, &f};
    cs_execution           x      = {0};
    cs_status              status = cs_chakra_read(text, length, name, &reader, err);

    if (status == CS_OK) {
        status = finish(&f, &x, err);
    }
    uint32_t from = rank == UINT32_MAX ? 0 : rank;
    uint32_t end  = rank == UINT32_MAX ? l->trace->n_ranks : rank + 1;
    for (uint32_t r = from; r < end && status == CS_OK; r++) {
        {
            l->trace->ranks[r] = x;
            l->own[r]          = f.sorted;
            status             = set_groups(&f, r, &l->trace->ranks[r], err);
            l->trace->n_nodes += x.n_nodes;
        }
    }
    cs_free(f.nodes);
    cs_free(f.ranges);
    cs_free(f.deps);
    cs_free(f.names);
    cs_process_groups_free(&f.described);
    return status;
}

/* ---- what all ranks say together ---- */

/* Of how many parts of calls nothing waits, and how many there are. */
static void count_loose(const cs_execution_trace *t, uint64_t *loose_p, uint64_t *all_p)
{
    *loose_p = *all_p = 0;
    for (uint32_t r = 0; r < t->n_ranks; r++) {
        for (uint32_t i = 0; i < t->ranks[r].n_nodes; i++) {
            const cs_work *work = &t->ranks[r].nodes[i];
            *all_p += work->kind == CS_WORK_CALL;
            *loose_p += work->kind == CS_WORK_CALL && work[1].first_user == work->first_user;
        }
    }
}

static cs_status match(load *l, cs_error *err)
{
    cs_text *notes = &l->trace->notes;

    CS_TRY(cs_execution_match(l->trace, l->own, (const char *const *)l->paths, l->n,
                              &l->n_other_bytes, err));
    if (l->left_out.length > 0) {
        cs_text_add(notes, "left out of folders, as they are no execution traces: %s\n",
                    l->left_out.data);
    }
    if (l->n_strange > 0) {
        cs_text_add(notes, "%llu dependencies on nodes that are not in the trace are left out\n",
                    (unsigned long long)l->n_strange);
    }
    if (l->n_recorded > 0) {
        cs_text_add(notes,
                    "%llu calls of Gather, Scatter, an unknown kind, or without a size "
                    "take the time that was recorded\n",
                    (unsigned long long)l->n_recorded);
    }
    if (l->n_other_bytes > 0) {
        cs_text_add(notes,
                    "in %llu calls and messages ranks name different sizes: the largest, or "
                    "the sender's, counts\n",
                    (unsigned long long)l->n_other_bytes);
    }
    if (l->n_control > 0) {
        cs_text_add(notes,
                    "%llu control dependencies are left out beside those of data: they say "
                    "who called whom\n",
                    (unsigned long long)l->n_control);
    }
    if (l->n_unmeasured > 0) {
        cs_text_add(notes,
                    "%llu nodes have operations (num_ops) and no duration: they take no "
                    "time here\n",
                    (unsigned long long)l->n_unmeasured);
    }
    if (l->n_on_cpu > 0) {
        cs_text_add(notes,
                    "%llu calls are operations of the CPU: they take their time there, and "
                    "nothing is sent\n",
                    (unsigned long long)l->n_on_cpu);
    }
    uint64_t n_loose, n_parts;
    count_loose(l->trace, &n_loose, &n_parts);
    if (n_loose > 0 && l->trace->n_nodes > n_parts) {
        cs_text_add(notes,
                    "nothing in the trace waits for %llu of %llu parts in calls: they cost "
                    "time at the end of the iteration alone\n",
                    (unsigned long long)n_loose, (unsigned long long)n_parts);
    }
    return cs_text_status(notes, err);
}

/* ---- files ---- */

/* The beginning of a file, unpacked; 0 bytes where it cannot be read. */
static size_t read_head(const char *path, char *head)
{
    FILE    *file = fopen(path, "rb");
    size_t   n    = file != NULL ? fread(head, 1, CS_CHAKRA_HEAD_BYTES, file) : 0;
    cs_gzip *gzip = NULL;

    if (file != NULL && cs_gzip_is(head, n)) {
        n = 0;
        if (fseek(file, 0, SEEK_SET) == 0 && cs_gzip_open(file, &gzip, NULL) == CS_OK) {
            (void)!cs_gzip_next(gzip, head, CS_CHAKRA_HEAD_BYTES, &n, NULL);
        }
        cs_gzip_close(gzip);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return n;
}

static bool is_trace_file(const char *path)
{
    char *head = cs_calloc(CS_CHAKRA_HEAD_BYTES, 1);
    bool  is   = head != NULL && cs_chakra_is(head, read_head(path, head));

    cs_free(head);
    return is;
}

bool cs_execution_trace_is(const char *path)
{
    size_t    length = strcspn(path, ",");
    char     *first  = cs_calloc(length + 1, 1);
    cs_folder folder = {0};
    bool      is     = false;

    if (first == NULL) {
        return false;
    }
    memcpy(first, path, length);
    if (cs_folder_is(first)) {
        if (cs_folder_read(first, MAX_FILES, &folder, NULL) == CS_OK) {
            for (size_t i = 0; i < folder.n && !is; i++) {
                is = is_trace_file(folder.paths[i]);
            }
        }
    } else {
        is = is_trace_file(first);
    }
    cs_folder_free(&folder);
    cs_free(first);
    return is;
}

static cs_status add_path(load *l, const char *path, size_t length, bool in_folder, cs_error *err)
{
    char *copy = cs_calloc(length + 1, 1);

    if (l->n == MAX_FILES) {
        cs_free(copy);
        return CS_FAIL(err, CS_EINVAL, "--trace", "more than %d files", MAX_FILES);
    }
    if (copy == NULL || !cs_grow(&l->paths, &l->paths_capacity, l->n + 1, 16, sizeof *l->paths) ||
        !cs_grow(&l->in_folder, &l->flags_capacity, l->n + 1, 16, sizeof *l->in_folder)) {
        cs_free(copy);
        return no_memory(err);
    }
    memcpy(copy, path, length);
    l->in_folder[l->n] = in_folder;
    l->paths[l->n++]   = copy;
    return CS_OK;
}

/* Are two paths the same but for their numbers? */
static bool have_same_form(const char *a, const char *b)
{
    for (;;) {
        a += strspn(a, "0123456789");
        b += strspn(b, "0123456789");
        if (*a != *b || *a == '\0') {
            return *a == *b;
        }
        a++;
        b++;
    }
}

/* A file, or those of a folder that are traces, or are called like the first that is. */
static cs_status add_file(load *l, const char *path, cs_error *err)
{
    cs_folder folder = {0};

    if (!cs_folder_is(path)) {
        return add_path(l, path, strlen(path), false, err);
    }
    cs_status status   = cs_folder_read(path, MAX_FILES, &folder, err);
    bool     *is_trace = cs_calloc(folder.n + 1, sizeof *is_trace);
    if (status == CS_OK && is_trace == NULL) {
        status = no_memory(err);
    }
    size_t n     = status == CS_OK && is_trace != NULL && folder.paths != NULL ? folder.n : 0;
    size_t first = n;
    for (size_t i = 0; i < n; i++) {
        is_trace[i] = is_trace_file(folder.paths[i]);
        first       = first == n && is_trace[i] ? i : first;
    }
    for (size_t i = 0; i < n && status == CS_OK; i++) {
        const char *file = folder.paths[i];
        if (is_trace[i] || (first < n && have_same_form(folder.paths[first], file))) {
            status = add_path(l, file, strlen(file), true, err); /* damaged ones, too */
        } else {
            cs_text_add(&l->left_out, "%s%s", l->left_out.length > 0 ? ", " : "", file);
        }
    }
    cs_free(is_trace);
    cs_folder_free(&folder);
    return status;
}

static cs_status add_list(load *l, const char *list, cs_error *err)
{
    char     *copy   = cs_strdup(list);
    cs_status status = copy != NULL ? CS_OK : no_memory(err);

    for (char *at = copy; at != NULL && status == CS_OK;) {
        char *comma = strchr(at, ',');
        if (comma != NULL) {
            *comma = '\0';
        }
        status = add_file(l, at, err);
        at     = comma != NULL ? comma + 1 : NULL;
    }
    cs_free(copy);
    return status;
}

/* The rank in a file's name: its last number. UINT32_MAX: it has none. */
static uint32_t rank_in(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name  = slash != NULL ? slash + 1 : path;
    uint32_t    rank  = UINT32_MAX;

    for (const char *at = name; *at != '\0';) {
        if (*at < '0' || *at > '9') {
            at++;
            continue;
        }
        char         *end;
        unsigned long number = strtoul(at, &end, 10);
        rank                 = number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
        at                   = end;
    }
    return rank;
}

/* Put the files in the order of their ranks. */
static cs_status order_files(load *l, cs_error *err)
{
    char **ordered = CS_NEW(char *, l->n);

    if (ordered == NULL) {
        return no_memory(err);
    }
    for (size_t i = 0; i < l->n; i++) {
        uint32_t    rank = rank_in(l->paths[i]);
        const char *what = rank == UINT32_MAX ? "has no rank in its name: accepted are NAME.RANK.et"
                           : rank >= l->n     ? "its rank is too large: files of others are missing"
                           : ordered[rank] != NULL ? "another file has the same rank in its name"
                                                   : NULL;
        if (what != NULL) {
            cs_free(ordered);
            return CS_FAIL(err, CS_EINVAL, l->paths[i], "%s (%zu files, so ranks 0 to %zu)", what,
                           l->n, l->n - 1);
        }
        ordered[rank] = l->paths[i];
    }
    memcpy(l->paths, ordered, l->n * sizeof *ordered);
    cs_free(ordered);
    return CS_OK;
}

/* Room for so many ranks. */
static cs_status make_room(load *l, uint32_t n_ranks, cs_error *err)
{
    cs_execution_trace *t = l->trace;

    t->n_ranks = n_ranks;
    t->ranks   = CS_ARENA_NEW(&t->arena, cs_execution, n_ranks);
    l->own     = CS_ARENA_NEW(&t->arena, cs_work *, n_ranks);
    return t->ranks != NULL && l->own != NULL ? CS_OK : no_memory(err);
}

/* How many ranks there are, and room for them. */
static cs_status set_ranks(load *l, uint32_t n_ranks, cs_error *err)
{
    cs_execution_trace *t = l->trace;

    t->is_one_file = l->n == 1;
    if (l->n == 0) {
        return CS_FAIL(err, CS_EINVAL, "--trace", "no execution trace is in the folder");
    }
    if (!t->is_one_file) {
        CS_TRY(order_files(l, err));
    }
    if (t->is_one_file && n_ranks < 2) {
        return CS_FAIL(err, CS_EINVAL, "--ranks",
                       "is missing: one file is for all ranks, which all do the same: --ranks N");
    }
    if (!t->is_one_file && n_ranks != 0 && n_ranks != l->n) {
        return CS_FAIL(err, CS_EINVAL, "--ranks", "is %u, and there are files of %zu ranks",
                       n_ranks, l->n);
    }
    return make_room(l, t->is_one_file ? n_ranks : (uint32_t)l->n, err);
}

static cs_status load_file(load *l, size_t file, cs_error *err)
{
    char  *text = NULL;
    size_t length;

    CS_TRY(cs_gzip_read(l->paths[file], CS_EXECUTION_MAX_BYTES, &text, &length, err));
    cs_status status = cs_chakra_is(text, length)
                           ? CS_OK
                           : CS_FAIL(err, CS_EPARSE, l->paths[file],
                                     "no Chakra execution trace: accepted are protobuf and JSON");
    if (status == CS_OK) {
        status = read_text(l, text, length, l->paths[file],
                           l->trace->is_one_file ? UINT32_MAX : (uint32_t)file, err);
    }
    cs_free(text);
    return status;
}

/* Hand out, or free. */
static cs_status end_load(load *l, cs_execution_trace *t, cs_execution_trace *trace_p,
                          cs_status status)
{
    for (size_t i = 0; i < l->n && l->paths != NULL; i++) {
        cs_free(l->paths[i]);
    }
    cs_free(l->paths);
    cs_free(l->in_folder);
    cs_process_groups_free(&l->given);
    cs_text_free(&l->left_out);
    if (status == CS_OK) {
        *trace_p = *t;
    } else {
        cs_execution_trace_free(t);
    }
    return status;
}

cs_status cs_execution_trace_load(const char *const *paths, size_t n, const char *groups_path,
                                  uint32_t n_ranks, cs_execution_trace *trace_p, cs_error *err)
{
    cs_execution_trace t      = {0};
    load               l      = {.trace = &t};
    cs_status          status = CS_OK;

    for (size_t i = 0; i < n && status == CS_OK; i++) {
        status = add_list(&l, paths[i], err);
    }
    if (status == CS_OK) {
        status = set_ranks(&l, n_ranks, err);
    }
    l.given.n_ranks = t.n_ranks;
    if (status == CS_OK && groups_path != NULL) {
        status = cs_process_groups_load(&l.given, groups_path, err);
    }
    for (size_t i = 0; i < l.n && status == CS_OK; i++) {
        status = load_file(&l, i, err);
    }
    if (status == CS_OK) {
        status = match(&l, err);
    }
    return end_load(&l, &t, trace_p, status);
}

cs_status cs_execution_texts_read(const cs_execution_text *texts, size_t n, uint32_t n_ranks,
                                  cs_execution_trace *trace_p, cs_error *err)
{
    cs_execution_trace t      = {.is_one_file = n == 1};
    load               l      = {.trace = &t};
    cs_status          status = make_room(&l, n_ranks, err);

    for (size_t i = 0; i < n && status == CS_OK; i++) {
        status = add_path(&l, texts[i].name, strlen(texts[i].name), false, err);
    }
    for (size_t i = 0; i < n && status == CS_OK; i++) {
        status = read_text(&l, texts[i].text, texts[i].length, texts[i].name,
                           n == 1 ? UINT32_MAX : (uint32_t)i, err);
    }
    if (status == CS_OK) {
        status = match(&l, err);
    }
    return end_load(&l, &t, trace_p, status);
}

void cs_execution_trace_free(cs_execution_trace *trace)
{
    cs_text_free(&trace->notes);
    cs_free(trace->groups);
    cs_arena_free(&trace->arena);
    *trace = (cs_execution_trace){0};
}
