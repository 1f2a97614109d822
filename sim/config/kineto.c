/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arrivals out of NCCL traces: see config/kineto.h. Files are parsed one after the other, and only
 * their NCCL kernels are kept; then the calls of a group are paired across its ranks. */
#include "config/kineto.h"

#include "config/locate.h"
#include "config/nccl_ranks.h"
#include "config/timeline_trace.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Kernels of one stream may overlap by so much: the GPU's clock is converted. */
#define OVERLAP_US    10.0
#define OVERLAP_RATIO 0.1 /* of the shorter kernel */

/* The work of one call of cs_kineto_read(). */
typedef struct reading {
    const cs_arrival_text    *texts;
    size_t                    n;
    const cs_arrival_options *options;
    cs_collective             collective;
    cs_nccl_trace            *traces; /* [n] */
    cs_nccl_ranks             ranks;
    cs_arrival_rows           rows;
    size_t                    n_uneven;  /* calls of which ranks have different sizes */
    size_t                    n_unsized; /* ... of which a rank does not say its own */
    cs_arrival_notes         *notes;
    cs_error                 *err;
} reading;

/* Point at an event: its text is parsed again for its place. */
static cs_status refuse_call(const reading *g, const cs_nccl_rank *rank, const cs_nccl_call *call,
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
static cs_status check_overlap(const reading *g, const cs_nccl_rank *rank)
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
    const cs_nccl_rank *first = &g->ranks.ranks[0], *here = &g->ranks.ranks[rank];
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
    const cs_nccl_rank *ranks = g->ranks.ranks;
    size_t              least = ranks[0].n_calls, most = least, shortest = 0;

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
    bool      is_even = true;
    uint64_t  bytes   = size_of_call(g, k, &is_even);
    cs_status status  = CS_OK;

    for (size_t r = 0; r < g->ranks.n && status == CS_OK; r++) {
        const cs_nccl_call *call = g->ranks.ranks[r].calls[k];
        cs_arrival_row      row  = {.iteration = iteration,
                                    .rank      = (uint32_t)r,
                                    .arrival_s = (double)NAN,
                                    .inside_s  = call->duration_us * 1e-6,
                                    .period_s  = (double)NAN,
                                    .bytes     = bytes};
        status                   = cs_arrival_rows_add(&g->rows, &row, g->err);
    }
    g->n_uneven += !is_even;
    g->n_unsized += bytes == 0;
    return status;
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
    const cs_nccl_rank *first   = &g->ranks.ranks[0];
    size_t              n_calls = 0, n_taken = 0, earliest = 0, latest = 0;
    cs_status           status = count_calls(g, &n_calls);

    for (size_t r = 0; r < g->ranks.n && status == CS_OK; r++) {
        status = check_overlap(g, &g->ranks.ranks[r]);
    }
    for (size_t k = 0; k < n_calls && status == CS_OK; k++) {
        for (size_t r = 1; r < g->ranks.n && status == CS_OK; r++) {
            status = check_pair(g, r, k);
        }
        if (status == CS_OK && first->calls[k]->collective == g->collective) {
            status   = add_call(g, k, n_taken);
            earliest = n_taken++ == 0 ? k : earliest;
            latest   = k;
        }
    }
    if (status == CS_OK) {
        drop_sizes(g);
        *period_s_p = n_taken > 1
                          ? (first->calls[latest]->start_us - first->calls[earliest]->start_us) /
                                (double)(n_taken - 1) * 1e-6
                          : (double)NAN;
    }
    return status;
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
    const cs_nccl_rank *ranks = g->ranks.ranks;

    cs_text_add(&g->notes->text,
                "arrivals come from the kernels' durations: all ranks leave a call together\n");
    for (size_t r = 0; r < g->ranks.n; r++) {
        if (ranks[r].rank >= 0 && ranks[r].rank != (int64_t)r) {
            cs_text_add(&g->notes->text, "rank %zu of the group is rank %lld of the job\n", r,
                        (long long)ranks[r].rank);
        }
    }
}

static cs_status read_calls(reading *g, cs_arrival_trace *trace_p)
{
    double    period_s = (double)NAN;
    cs_status status   = cs_nccl_ranks_find(g->texts, g->traces, g->n, g->options, g->collective,
                                            &g->ranks, g->notes, g->err);

    if (status == CS_OK) {
        status = add_calls(g, &period_s);
    }
    if (status == CS_OK) {
        note_ranks(g);
        note_left_out(g);
        status = cs_arrival_rows_build(&g->rows, g->options, 0, g->texts[0].name, trace_p, g->notes,
                                       g->err);
    }
    if (status == CS_OK) {
        g->notes->format   = "NCCL trace (Kineto)";
        g->notes->period_s = period_s;
    }
    cs_arrival_rows_free(&g->rows);
    cs_nccl_ranks_free(&g->ranks);
    return status;
}

/* The kernels of every file. A single file without any is a timeline, which is read at once. */
static cs_status read_files(reading *g, bool *is_timeline_p, cs_arrival_trace *trace_p)
{
    cs_status status = CS_OK;

    for (size_t i = 0; i < g->n && status == CS_OK; i++) {
        cs_event_file file = {0};
        status             = cs_event_file_parse(&g->texts[i], &file, g->err);
        if (status == CS_OK) {
            status = cs_nccl_trace_read(&file, &g->traces[i], g->err);
        }
        *is_timeline_p = status == CS_OK && g->n == 1 && g->traces[i].n_kernels == 0;
        if (*is_timeline_p) {
            status = cs_timeline_trace_read(&file, g->options, trace_p, g->notes, g->err);
        }
        json_decref(file.tree);
    }
    return status;
}

static cs_status read_all(reading *g, cs_arrival_trace *trace_p)
{
    bool      is_timeline = false;
    cs_status status      = read_files(g, &is_timeline, trace_p);

    if (status != CS_OK || is_timeline) {
        return status;
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
    cs_arena  arena  = {0};
    reading   g      = {.texts      = texts,
                        .n          = n,
                        .options    = options,
                        .collective = CS_ALLREDUCE,
                        .traces     = CS_ARENA_NEW(&arena, cs_nccl_trace, n),
                        .notes      = notes,
                        .err        = err};
    cs_status status = CS_OK;

    if (g.traces == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for a trace");
    }
    if (options->collective != NULL) {
        status = cs_collective_find(options->collective, &g.collective, err);
    }
    if (status == CS_OK) {
        status = read_all(&g, trace_p);
    }
    for (size_t i = 0; i < n; i++) {
        cs_nccl_trace_free(&g.traces[i]);
    }
    cs_arena_free(&arena);
    return status;
}
