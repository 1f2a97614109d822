/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arrivals out of NCCL traces. Files are parsed one after the other, and only their NCCL kernels
 * are kept; then it is found out which ranks and process groups there are, and the calls of a group
 * are paired across its ranks. */
#include "traces/arrival_formats.h"

#include "traces/kineto_events.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Kernels of one stream may overlap by so much: the GPU's clock is converted. */
#define OVERLAP_US    10.0
#define OVERLAP_RATIO 0.1 /* of the shorter kernel */

enum { MAX_GROUPS = 4096, NOTED_BYTES = 61 };

/* Ranks and process groups. */

/* One rank's calls, in the order in which they began. */
typedef struct traced_rank {
    size_t               file; /* index of its file */
    int64_t              rank; /* as the trace has it; -1: not said */
    const char          *process;
    const cs_nccl_call **calls; /* in the arena */
    size_t               n_calls;
} traced_rank;

typedef struct rank_list {
    cs_arena     arena;
    traced_rank *ranks; /* in the arena, in the order of their numbers */
    size_t       n;
    const char  *group; /* its name; "": not said */
} rank_list;

/* A process group and how often it is called. */
typedef struct group {
    const char *name, *members;
    uint64_t    size;
    size_t      n_calls; /* of the collective that is asked for */
} group;

typedef struct finding {
    const cs_arrival_text    *texts;
    const cs_nccl_trace      *traces;
    size_t                    n;
    const cs_arrival_options *options;
    cs_collective             collective;
    rank_list                *out;
    cs_arrival_notes         *notes;
    cs_error                 *err;
} finding;

/* Say which file an error is about. */
static cs_status refuse(const finding *f, size_t file)
{
    cs_error_locate(f->err, f->texts[file].name, 0, 0);
    return CS_EINVAL;
}

static bool is_same(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

/* The rank of a file, or of one process of the only file; it is added where it is new. */
static cs_status take_rank(const finding *f, size_t file, const char *process, traced_rank **rank_p)
{
    rank_list *out = f->out;

    for (size_t i = 0; i < out->n; i++) {
        if (out->ranks[i].file == file && is_same(out->ranks[i].process, process)) {
            *rank_p = &out->ranks[i];
            return CS_OK;
        }
    }
    if (f->n > 1 && out->n > 0 && out->ranks[out->n - 1].file == file) {
        (void)CS_FAIL(f->err, CS_EINVAL, "pid",
                      "NCCL kernels of two processes or devices, '%.24s' and '%.24s': accepted are "
                      "several files with one rank each, or one file with all ranks",
                      out->ranks[out->n - 1].process, process);
        return refuse(f, file);
    }
    if (out->n == CS_ARRIVAL_MAX_FILES) {
        (void)CS_FAIL(f->err, CS_EINVAL, "pid", "more than %d ranks", CS_ARRIVAL_MAX_FILES);
        return refuse(f, file);
    }
    *rank_p  = &out->ranks[out->n++];
    **rank_p = (traced_rank){.file = file, .rank = f->traces[file].rank, .process = process};
    return CS_OK;
}

/* Every rank that has a collective, with room for its calls. */
static cs_status find_ranks(const finding *f)
{
    traced_rank *rank = NULL;

    f->out->ranks = CS_ARENA_NEW(&f->out->arena, traced_rank, CS_ARRIVAL_MAX_FILES);
    if (f->out->ranks == NULL) {
        return CS_NO_MEMORY(f->err, "the ranks of a trace");
    }
    for (size_t file = 0; file < f->n; file++) {
        const cs_nccl_trace *trace = &f->traces[file];
        for (size_t i = 0; i < trace->n_calls; i++) {
            CS_TRY(take_rank(f, file, trace->calls[i].process, &rank));
            rank->n_calls++;
        }
        if (trace->n_calls == 0) {
            char left_out[200];
            cs_nccl_left_out_text(&trace->left_out, left_out, sizeof left_out);
            (void)CS_FAIL(f->err, CS_EINVAL, "traceEvents",
                          "no NCCL kernel of a collective is in it%s%s",
                          trace->n_kernels > 0 ? ": " : "", left_out);
            return refuse(f, file);
        }
    }
    for (size_t i = 0; i < f->out->n; i++) {
        rank          = &f->out->ranks[i];
        rank->calls   = CS_ARENA_NEW(&f->out->arena, const cs_nccl_call *, rank->n_calls);
        rank->n_calls = 0;
        if (rank->calls == NULL) {
            return CS_NO_MEMORY(f->err, "the ranks of a trace");
        }
    }
    return CS_OK;
}

/* Several processes in one file are ranks of their own, whatever the file says its rank is. */
static bool has_numbers(const finding *f)
{
    for (size_t i = 0; i < f->n; i++) {
        if (f->traces[i].rank < 0) {
            return false;
        }
    }
    return f->n > 1 || f->out->n == 1;
}

static int compare_ranks(const void *left, const void *right)
{
    const traced_rank *a = left, *b = right;
    size_t             x = strlen(a->process), y = strlen(b->process);

    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    if (a->file != b->file) {
        return a->file < b->file ? -1 : 1;
    }
    if (x != y) { /* numbers in their order */
        return x < y ? -1 : 1;
    }
    return strcmp(a->process, b->process);
}

static cs_status order_ranks(const finding *f)
{
    rank_list *out = f->out;
    bool       has = has_numbers(f);

    for (size_t i = 0; i < out->n && !has; i++) {
        out->ranks[i].rank = -1;
    }
    qsort(out->ranks, out->n, sizeof out->ranks[0], compare_ranks);
    for (size_t i = 1; i < out->n && has; i++) {
        if (out->ranks[i].rank == out->ranks[i - 1].rank) {
            (void)CS_FAIL(f->err, CS_EINVAL, "distributedInfo.rank",
                          "is %lld, as it is in %.100s: accepted is one file per rank",
                          (long long)out->ranks[i].rank, f->texts[out->ranks[i - 1].file].name);
            return refuse(f, out->ranks[i].file);
        }
    }
    if (!has) {
        cs_text_add(&f->notes->text, "ranks are numbered by the order of the %s\n",
                    f->n > 1 ? "files" : "processes in the file");
    }
    return CS_OK;
}

/* Count a call for its group, which is added where it is new. */
static cs_status count_call(const finding *f, const cs_nccl_call *call, group *groups, size_t *n_p)
{
    size_t g = 0;

    while (g < *n_p &&
           !(is_same(groups[g].name, call->group) && is_same(groups[g].members, call->members))) {
        g++;
    }
    if (g == MAX_GROUPS) {
        return CS_FAIL(
            f->err, CS_EINVAL, "--group",
            "more than %d process groups are in the trace: accepted are at most so many, or "
            "the name of one",
            MAX_GROUPS);
    }
    if (g == *n_p) {
        groups[(*n_p)++] = (group){call->group, call->members, call->group_size, 0};
    }
    groups[g].n_calls += call->collective == f->collective;
    return CS_OK;
}

/* All groups of the traces, or those of the name that is asked for. */
static cs_status list_groups(const finding *f, group *groups, size_t *n_p)
{
    const char *wanted = f->options->group;

    for (size_t file = 0; file < f->n; file++) {
        for (size_t i = 0; i < f->traces[file].n_calls; i++) {
            const cs_nccl_call *call = &f->traces[file].calls[i];
            if ((wanted == NULL || is_same(call->group, wanted)) &&
                count_call(f, call, groups, n_p) != CS_OK) {
                return refuse(f, file);
            }
        }
    }
    return CS_OK;
}

/* "; --collective takes alltoall (40 calls), allgather (3)" of the calls that there are. */
static void list_collectives(const finding *f, char *text, size_t bytes)
{
    size_t counts[CS_COLLECTIVE_COUNT] = {0}, used = 0;

    text[0] = '\0';
    for (size_t file = 0; file < f->n; file++) {
        for (size_t i = 0; i < f->traces[file].n_calls; i++) {
            const cs_nccl_call *call = &f->traces[file].calls[i];
            if (f->options->group == NULL || is_same(call->group, f->options->group)) {
                counts[call->collective]++;
            }
        }
    }
    for (int c = 0; c < CS_COLLECTIVE_COUNT; c++) {
        if (counts[c] > 0 && used < bytes) {
            used += (size_t)snprintf(text + used, bytes - used, "%s%s (%zu)",
                                     used == 0 ? "; --collective takes " : ", ",
                                     cs_collective_name((cs_collective)c), counts[c]);
        }
    }
}

/* The group that is asked for, or the one with most calls; the first of several. */
static cs_status choose_group(const finding *f, group *chosen_p)
{
    group       *groups = CS_ARENA_NEW(&f->out->arena, group, MAX_GROUPS);
    size_t       n      = 0;
    const group *best   = NULL;
    const char  *wanted = f->options->group;

    if (groups == NULL) {
        return CS_NO_MEMORY(f->err, "the ranks of a trace");
    }
    CS_TRY(list_groups(f, groups, &n));
    for (size_t g = 0; g < n; g++) {
        best = best == NULL || groups[g].n_calls > best->n_calls ? &groups[g] : best;
    }
    if (best == NULL || best->n_calls == 0) {
        char others[160];
        list_collectives(f, others, sizeof others);
        (void)CS_FAIL(f->err, CS_EINVAL, wanted != NULL ? "--group" : "traceEvents",
                      "no %s %s%.60s%s is in the trace%s", cs_collective_name(f->collective),
                      wanted != NULL ? "of a process group '" : "kernel",
                      wanted != NULL ? wanted : "", wanted != NULL ? "'" : "", others);
        return refuse(f, 0);
    }
    if (n > 1) {
        char name[NOTED_BYTES], members[NOTED_BYTES];
        cs_plain_text(name, sizeof name, best->name);
        cs_plain_text(members, sizeof members, best->members);
        cs_text_add(&f->notes->text, "process group '%s' %s of %zu groups is taken\n", name,
                    members, n);
    }
    *chosen_p = *best;
    return CS_OK;
}

static int compare_calls(const void *left, const void *right)
{
    const cs_nccl_call *a = *(const cs_nccl_call *const *)left;
    const cs_nccl_call *b = *(const cs_nccl_call *const *)right;

    if (a->start_us != b->start_us) {
        return a->start_us < b->start_us ? -1 : 1;
    }
    return (a->event > b->event) - (a->event < b->event);
}

/* Deal the calls of the group to their ranks; ranks without any are dropped. */
static cs_status deal_calls(const finding *f, const group *chosen)
{
    rank_list *out  = f->out;
    size_t     kept = 0;

    for (size_t i = 0; i < out->n; i++) {
        traced_rank          rank  = out->ranks[i];
        const cs_nccl_trace *trace = &f->traces[rank.file];
        for (size_t c = 0; c < trace->n_calls; c++) {
            const cs_nccl_call *call = &trace->calls[c];
            if (is_same(call->process, rank.process) && is_same(call->group, chosen->name) &&
                is_same(call->members, chosen->members)) {
                rank.calls[rank.n_calls++] = call;
            }
        }
        if (rank.n_calls > 0) {
            qsort(rank.calls, rank.n_calls, sizeof(const cs_nccl_call *), compare_calls);
            out->ranks[kept++] = rank;
        }
    }
    out->n     = kept;
    out->group = chosen->name;
    return CS_OK;
}

/* How long the calls of the only rank take: all that one rank's trace can say. */
static void describe_alone(const finding *f, char *text, size_t bytes)
{
    const traced_rank *rank   = &f->out->ranks[0];
    double             sum_us = 0;
    size_t             n      = 0;

    for (size_t c = 0; c < rank->n_calls; c++) {
        if (rank->calls[c]->collective == f->collective) {
            sum_us += rank->calls[c]->duration_us;
            n++;
        }
    }
    (void)snprintf(text, bytes, "; its %zu %s calls take %.4g ms on average", n,
                   cs_collective_name(f->collective), n > 0 ? sum_us / (double)n / 1e3 : 0);
}

/* Skew is a statement about all ranks of a group. */
static cs_status check_members(const finding *f, const group *chosen)
{
    const rank_list *out       = f->out;
    int64_t          world     = f->traces[out->ranks[0].file].world_size;
    uint64_t         size      = chosen->size > 0 ? chosen->size : world > 0 ? (uint64_t)world : 0;
    char             alone[96] = "";

    if (out->n >= 2 && (size == 0 || size == out->n)) {
        return CS_OK;
    }
    if (out->n == 1) {
        describe_alone(f, alone, sizeof alone);
    }
    if (size > 0) {
        (void)CS_FAIL(
            f->err, CS_EINVAL, "",
            "process group '%.40s' has %llu ranks, %zu of them %s in the traces: skew needs "
            "a trace of every rank%s",
            chosen->name, (unsigned long long)size, out->n, out->n == 1 ? "is" : "are", alone);
    } else {
        (void)CS_FAIL(f->err, CS_EINVAL, "",
                      "only one rank is in the trace: skew needs all of them%s", alone);
    }
    return refuse(f, out->ranks[0].file);
}

static void free_ranks(rank_list *ranks)
{
    cs_arena_free(&ranks->arena);
    *ranks = (rank_list){0};
}

/* Who is who in the files, and the calls of the group that the options ask for (the one with most
 * calls of the collective otherwise). Notes say what was chosen. The ranks borrow the traces; free
 * them, also on failure. */
static cs_status find_all(const finding *f)
{
    group chosen = {0};

    CS_TRY(find_ranks(f));
    CS_TRY(order_ranks(f));
    CS_TRY(choose_group(f, &chosen));
    CS_TRY(deal_calls(f, &chosen));
    return check_members(f, &chosen);
}

/* Calls, paired. */

/* The work of one call of cs_kineto_read(). */
typedef struct reading {
    const cs_arrival_text    *texts;
    size_t                    n;
    const cs_arrival_options *options;
    cs_collective             collective;
    cs_nccl_trace            *traces; /* [n] */
    rank_list                 ranks;
    cs_arrival_rows           rows;
    size_t                    n_uneven;  /* calls of which ranks have different sizes */
    size_t                    n_unsized; /* ... of which a rank does not say its own */
    cs_arrival_notes         *notes;
    cs_error                 *err;
} reading;

/* Point at an event: its text is parsed again for its place. */
static cs_status refuse_call(const reading *g, const traced_rank *rank, const cs_nccl_call *call,
                             const char *message)
{
    const cs_arrival_text *text = &g->texts[rank->file];
    cs_event_file          file = {0};
    cs_status              status;

    if (cs_event_file_parse(text, &file, g->err) != CS_OK) {
        return CS_ENOMEM;
    }
    status = cs_event_refuse(&file, call->event, NULL, message, g->err);
    json_decref(file.tree);
    return status;
}

/* Does the call begin well before an earlier one of the same stream has ended? */
static cs_status check_overlap(const reading *g, const traced_rank *rank)
{
    for (size_t c = 1; c < rank->n_calls; c++) {
        const cs_nccl_call *before = rank->calls[c - 1], *call = rank->calls[c];
        double              shorter    = fmin(before->duration_us, call->duration_us);
        double              overlap_us = before->start_us + before->duration_us - call->start_us;

        if (strcmp(before->stream, call->stream) == 0 &&
            overlap_us > fmax(OVERLAP_US, OVERLAP_RATIO * shorter)) {
            return refuse_call(g, rank, call,
                               "begins before the collective in front of it on the same stream has "
                               "ended: the clock stepped back, or the trace is torn");
        }
    }
    return CS_OK;
}

/* The k-th call must be the same one on every rank. Of an all-to-all each may have a size of its
 * own. */
static cs_status check_pair(const reading *g, size_t rank, size_t k)
{
    const traced_rank  *first = &g->ranks.ranks[0], *here = &g->ranks.ranks[rank];
    const cs_nccl_call *a = first->calls[k], *b = here->calls[k];
    char                message[300];

    if (a->collective == b->collective && (a->bytes == b->bytes || a->collective == CS_ALLTOALL)) {
        return CS_OK;
    }
    (void)snprintf(message, sizeof message,
                   "collective %zu of the group is %s of %llu bytes here, %s of %llu bytes in "
                   "%.80s: the traces do not cover the same calls",
                   k, cs_collective_name(b->collective), (unsigned long long)b->bytes,
                   cs_collective_name(a->collective), (unsigned long long)a->bytes,
                   g->texts[first->file].name);
    return refuse_call(g, here, b, message);
}

/* How many calls all ranks have. */
static cs_status count_calls(reading *g, size_t *n_calls_p)
{
    const traced_rank *ranks = g->ranks.ranks;
    size_t             least = ranks[0].n_calls, most = least, shortest = 0;

    for (size_t r = 1; r < g->ranks.n; r++) {
        most     = ranks[r].n_calls > most ? ranks[r].n_calls : most;
        shortest = ranks[r].n_calls < least ? r : shortest;
        least    = ranks[r].n_calls < least ? ranks[r].n_calls : least;
    }
    if (least < most && !g->options->skip_incomplete) {
        (void)CS_FAIL(g->err, CS_EINVAL, "traceEvents",
                      "%zu collectives of the group, another rank has %zu: accepted are equal "
                      "numbers (--skip-incomplete leaves out the last ones)",
                      least, most);
        cs_error_locate(g->err, g->texts[ranks[shortest].file].name, 0, 0);
        return CS_EINVAL;
    }
    *n_calls_p = least;
    if (most > least) {
        cs_text_add(&g->notes->text, "%zu collectives at the end are not on every rank: left out\n",
                    most - least);
    }
    return CS_OK;
}

/* The largest size that a rank has of a call; 0 where one does not say its own. */
static uint64_t size_of_call(const reading *g, size_t k, bool *is_even_p)
{
    uint64_t least = UINT64_MAX, most = 0;

    for (size_t r = 0; r < g->ranks.n; r++) {
        uint64_t bytes = g->ranks.ranks[r].calls[k]->bytes;
        least          = bytes < least ? bytes : least;
        most           = bytes > most ? bytes : most;
    }
    *is_even_p = least == most || least == 0;
    return least > 0 ? most : 0;
}

/* The records of one call on all ranks. */
static cs_status add_call(reading *g, size_t k, uint64_t iteration)
{
    bool     is_even = true;
    uint64_t bytes   = size_of_call(g, k, &is_even);

    for (size_t r = 0; r < g->ranks.n; r++) {
        const cs_nccl_call *call = g->ranks.ranks[r].calls[k];
        cs_arrival_row      row  = {.iteration = iteration,
                                    .rank      = (uint32_t)r,
                                    .arrival_s = (double)NAN,
                                    .inside_s  = call->duration_us * 1e-6,
                                    .queued_s  = call->queued_us * 1e-6,
                                    .period_s  = (double)NAN,
                                    .bytes     = bytes};
        CS_TRY(cs_arrival_rows_add(&g->rows, &row, g->err));
    }
    g->n_uneven += !is_even;
    g->n_unsized += bytes == 0;
    return CS_OK;
}

/* Sizes that some calls lack are of no use. */
static void drop_sizes(reading *g)
{
    for (size_t i = 0; i < g->rows.n && g->n_unsized > 0; i++) {
        g->rows.rows[i].bytes = 0;
    }
    if (g->n_unsized > 0) {
        cs_text_add(
            &g->notes->text,
            "%zu calls do not say their size (elements of a dtype that is known): sizes are "
            "not used\n",
            g->n_unsized);
    } else if (g->n_uneven > 0) {
        cs_text_add(&g->notes->text,
                    "ranks have different sizes in %zu calls: the largest of each call is used\n",
                    g->n_uneven);
    }
}

/* All calls of the collective that is asked for; *period_s_p is their mean distance. */
static cs_status add_calls(reading *g, double *period_s_p)
{
    const traced_rank *first   = &g->ranks.ranks[0];
    size_t             n_calls = 0, n_taken = 0, earliest = 0, latest = 0;

    CS_TRY(count_calls(g, &n_calls));
    for (size_t r = 0; r < g->ranks.n; r++) {
        CS_TRY(check_overlap(g, &g->ranks.ranks[r]));
    }
    for (size_t k = 0; k < n_calls; k++) {
        for (size_t r = 1; r < g->ranks.n; r++) {
            CS_TRY(check_pair(g, r, k));
        }
        if (first->calls[k]->collective == g->collective) {
            CS_TRY(add_call(g, k, n_taken));
            earliest = n_taken++ == 0 ? k : earliest;
            latest   = k;
        }
    }
    drop_sizes(g);
    *period_s_p = n_taken > 1
                      ? (first->calls[latest]->start_us - first->calls[earliest]->start_us) /
                            (double)(n_taken - 1) * 1e-6
                      : (double)NAN;
    return CS_OK;
}

/* NCCL kernels of all files that are no calls. */
static void note_left_out(const reading *g)
{
    cs_nccl_left_out all = {0};
    char             text[200];

    for (size_t i = 0; i < g->n; i++) {
        const cs_nccl_left_out *here = &g->traces[i].left_out;
        all.n_point_to_point += here->n_point_to_point;
        all.n_others += here->n_others;
        all.n_unnamed += here->n_unnamed;
        all.other = all.other != NULL ? all.other : here->other;
    }
    cs_nccl_left_out_text(&all, text, sizeof text);
    if (text[0] != '\0') {
        cs_text_add(&g->notes->text, "NCCL kernels that are left out: %s\n", text);
    }
}

static void note_ranks(const reading *g)
{
    const traced_rank *ranks = g->ranks.ranks;

    cs_text_add(&g->notes->text,
                "arrivals come from the kernels' durations: all ranks leave a call together\n");
    for (size_t r = 0; r < g->ranks.n; r++) {
        if (ranks[r].rank >= 0 && ranks[r].rank != (int64_t)r) {
            cs_text_add(&g->notes->text, "rank %zu of the group is rank %lld of the job\n", r,
                        (long long)ranks[r].rank);
        }
    }
}

static cs_status read_found_calls(reading *g, const finding *f, cs_arrival_trace *trace_p)
{
    double period_s = (double)NAN;

    CS_TRY(find_all(f));
    CS_TRY(add_calls(g, &period_s));
    note_ranks(g);
    note_left_out(g);
    CS_TRY(cs_arrival_rows_build(&g->rows, g->options, 0, g->texts[0].name, trace_p, g->notes,
                                 g->err));
    g->notes->format   = "NCCL trace (Kineto)";
    g->notes->period_s = period_s;
    return CS_OK;
}

static cs_status read_calls(reading *g, cs_arrival_trace *trace_p)
{
    const finding f      = {g->texts,      g->traces, g->n,     g->options,
                            g->collective, &g->ranks, g->notes, g->err};
    cs_status     status = read_found_calls(g, &f, trace_p);

    cs_arrival_rows_free(&g->rows);
    free_ranks(&g->ranks);
    return status;
}

/* The kernels of a file. A single file without any is a timeline, which is read at once. */
static cs_status read_events(reading *g, const cs_event_file *file, size_t index,
                             bool *is_timeline_p, cs_arrival_trace *trace_p)
{
    CS_TRY(cs_nccl_trace_read(file, &g->traces[index], g->err));
    *is_timeline_p = g->n == 1 && g->traces[index].n_kernels == 0;
    return *is_timeline_p ? cs_timeline_trace_read(file, g->options, trace_p, g->notes, g->err)
                          : CS_OK;
}

static cs_status read_files(reading *g, bool *is_timeline_p, cs_arrival_trace *trace_p)
{
    for (size_t i = 0; i < g->n; i++) {
        cs_event_file file = {0};
        CS_TRY(cs_event_file_parse(&g->texts[i], &file, g->err));
        cs_status status = read_events(g, &file, i, is_timeline_p, trace_p);
        json_decref(file.tree);
        CS_TRY(status);
    }
    return CS_OK;
}

static cs_status read_all(reading *g, cs_arrival_trace *trace_p)
{
    bool is_timeline = false;

    if (g->options->collective != NULL) {
        CS_TRY(cs_collective_find(g->options->collective, &g->collective, g->err));
    }
    CS_TRY(read_files(g, &is_timeline, trace_p));
    if (is_timeline) {
        return CS_OK;
    }
    if (g->options->category != NULL) {
        return CS_FAIL(g->err, CS_EINVAL, "--category",
                       "chooses among the events of a timeline; %.150s has NCCL kernels",
                       g->texts[0].name);
    }
    return read_calls(g, trace_p);
}

cs_status cs_kineto_read(const cs_arrival_text *texts, size_t n, const cs_arrival_options *options,
                         cs_arrival_trace *trace_p, cs_arrival_notes *notes, cs_error *err)
{
    cs_arena arena = {0};
    reading  g     = {.texts      = texts,
                      .n          = n,
                      .options    = options,
                      .collective = CS_ALLREDUCE,
                      .traces     = CS_ARENA_NEW(&arena, cs_nccl_trace, n),
                      .notes      = notes,
                      .err        = err};

    if (g.traces == NULL) {
        return CS_NO_MEMORY(err, "a trace");
    }
    cs_status status = read_all(&g, trace_p);
    for (size_t i = 0; i < n; i++) {
        cs_nccl_trace_free(&g.traces[i]);
    }
    cs_arena_free(&arena);
    return status;
}
