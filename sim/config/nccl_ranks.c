/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ranks and process groups of NCCL traces: see config/nccl_ranks.h. */
#include "config/nccl_ranks.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_GROUPS = 4096, NOTED_BYTES = 61 };

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
    cs_nccl_ranks            *out;
    cs_arrival_notes         *notes;
    cs_error                 *err;
} finding;

static cs_status refuse(const finding *f, size_t file)
{
    if (f->err != NULL && f->err->input[0] == '\0') {
        cs_error_locate(f->err, f->texts[file].name, 0, 0);
    }
    return CS_EINVAL;
}

static cs_status no_memory(const finding *f)
{
    return CS_FAIL(f->err, CS_ENOMEM, "", "out of memory for the ranks of a trace");
}

static bool is_same(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

/* The rank of a file, or of one process of the only file; it is added where it is new. */
static cs_status take_rank(const finding *f, size_t file, const char *process,
                           cs_nccl_rank **rank_p)
{
    cs_nccl_ranks *out = f->out;

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
    **rank_p = (cs_nccl_rank){.file = file, .rank = f->traces[file].rank, .process = process};
    return CS_OK;
}

/* Every rank that has a collective, with room for its calls. */
static cs_status find_ranks(const finding *f)
{
    cs_nccl_rank *rank   = NULL;
    cs_status     status = CS_OK;

    f->out->ranks = CS_ARENA_NEW(&f->out->arena, cs_nccl_rank, CS_ARRIVAL_MAX_FILES);
    if (f->out->ranks == NULL) {
        return no_memory(f);
    }
    for (size_t file = 0; file < f->n && status == CS_OK; file++) {
        const cs_nccl_trace *trace = &f->traces[file];
        for (size_t i = 0; i < trace->n_calls && status == CS_OK; i++) {
            status = take_rank(f, file, trace->calls[i].process, &rank);
            if (status == CS_OK) {
                rank->n_calls++;
            }
        }
        if (status == CS_OK && trace->n_calls == 0) {
            char left_out[200];
            cs_nccl_left_out_text(&trace->left_out, left_out, sizeof left_out);
            (void)CS_FAIL(f->err, CS_EINVAL, "traceEvents",
                          "no NCCL kernel of a collective is in it%s%s",
                          trace->n_kernels > 0 ? ": " : "", left_out);
            return refuse(f, file);
        }
    }
    for (size_t i = 0; i < f->out->n && status == CS_OK; i++) {
        rank          = &f->out->ranks[i];
        rank->calls   = CS_ARENA_NEW(&f->out->arena, const cs_nccl_call *, rank->n_calls);
        rank->n_calls = 0;
        status        = rank->calls != NULL ? CS_OK : no_memory(f);
    }
    return status;
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
    const cs_nccl_rank *a = left, *b = right;
    size_t              x = strlen(a->process), y = strlen(b->process);

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
    cs_nccl_ranks *out = f->out;
    bool           has = has_numbers(f);

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
    cs_status   status = CS_OK;

    for (size_t file = 0; file < f->n && status == CS_OK; file++) {
        for (size_t i = 0; i < f->traces[file].n_calls && status == CS_OK; i++) {
            const cs_nccl_call *call = &f->traces[file].calls[i];
            if (wanted == NULL || is_same(call->group, wanted)) {
                status = count_call(f, call, groups, n_p);
            }
        }
        if (status != CS_OK) {
            return refuse(f, file);
        }
    }
    return status;
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
    cs_status    status = groups != NULL ? list_groups(f, groups, &n) : no_memory(f);

    if (status != CS_OK) {
        return status;
    }
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
    cs_nccl_ranks *out  = f->out;
    size_t         kept = 0;

    for (size_t i = 0; i < out->n; i++) {
        cs_nccl_rank         rank  = out->ranks[i];
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
    const cs_nccl_rank *rank   = &f->out->ranks[0];
    double              sum_us = 0;
    size_t              n      = 0;

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
    const cs_nccl_ranks *out   = f->out;
    int64_t              world = f->traces[out->ranks[0].file].world_size;
    uint64_t             size  = chosen->size > 0 ? chosen->size : world > 0 ? (uint64_t)world : 0;
    char                 alone[96] = "";

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

cs_status cs_nccl_ranks_find(const cs_arrival_text *texts, const cs_nccl_trace *traces, size_t n,
                             const cs_arrival_options *options, cs_collective collective,
                             cs_nccl_ranks *ranks_p, cs_arrival_notes *notes, cs_error *err)
{
    cs_nccl_ranks ranks  = {0};
    finding       f      = {texts, traces, n, options, collective, &ranks, notes, err};
    group         chosen = {0};
    cs_status     status = find_ranks(&f);

    if (status == CS_OK) {
        status = order_ranks(&f);
    }
    if (status == CS_OK) {
        status = choose_group(&f, &chosen);
    }
    if (status == CS_OK) {
        status = deal_calls(&f, &chosen);
    }
    if (status == CS_OK) {
        status = check_members(&f, &chosen);
    }
    if (status != CS_OK) {
        cs_nccl_ranks_free(&ranks);
        return status;
    }
    *ranks_p = ranks;
    return CS_OK;
}

void cs_nccl_ranks_free(cs_nccl_ranks *ranks)
{
    cs_arena_free(&ranks->arena);
    *ranks = (cs_nccl_ranks){0};
}
