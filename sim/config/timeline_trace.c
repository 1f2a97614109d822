/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Skew out of a timeline: see config/timeline_trace.h. */
#include "config/timeline_trace.h"

#include "base/alloc.h"
#include "cs/cluster.h"
#include "traces/plain_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LISTED = 12, NOTED_RANKS = 64, NOTED_BYTES = 61 };

/* One event of the category. */
typedef struct piece {
    const char *process, *thread;
    double      start_us, duration_us;
    size_t      event;
} piece;

/* Neighbours of one thread. */
typedef struct lane {
    size_t   first, n; /* in the sorted pieces */
    uint32_t rank;
} lane;

typedef struct timeline {
    const cs_event_file      *file;
    const cs_arrival_options *options;
    const char               *category;
    cs_arena                  arena;
    piece                    *pieces;
    size_t                    n_pieces;
    lane                     *lanes;
    size_t                    n_lanes;
    uint32_t                  n_ranks;
    size_t                    n_steps;
    cs_arrival_rows           rows;
    cs_arrival_notes         *notes;
    cs_error                 *err;
} timeline;

static cs_status refuse(const timeline *t, cs_status status)
{
    if (t->err != NULL && t->err->input[0] == '\0') {
        cs_error_locate(t->err, t->file->text->name, 0, 0);
    }
    return status;
}

static cs_status no_memory(const timeline *t)
{
    return CS_FAIL(t->err, CS_ENOMEM, "", "out of memory for a timeline");
}

/* The category of a complete event, or NULL. */
static const char *category_of(const json_t *event)
{
    const char *phase    = json_string_value(json_object_get(event, "ph"));
    const char *category = json_string_value(json_object_get(event, "cat"));

    if (phase == NULL || strcmp(phase, "X") != 0) {
        return NULL;
    }
    return category != NULL ? category : json_string_value(json_object_get(event, "name"));
}

/* All categories of the trace, at most LISTED + 1; returns their number. */
static size_t list_categories(const timeline *t, const char **list)
{
    size_t n = 0;

    for (size_t i = 0; i < json_array_size(t->file->events); i++) {
        const char *category = category_of(json_array_get(t->file->events, i));
        size_t      k        = 0;
        while (category != NULL && k < n && strcmp(list[k], category) != 0) {
            k++;
        }
        if (category != NULL && k == n && n <= LISTED) {
            list[n++] = category;
        }
    }
    return n;
}

static cs_status choose_category(timeline *t)
{
    const char *list[LISTED + 1] = {NULL};
    size_t      n                = list_categories(t, list);
    char        text[220]        = "";

    t->category = t->options->category != NULL ? t->options->category : n == 1 ? list[0] : NULL;
    if (t->category != NULL) {
        return CS_OK;
    }
    if (n == 0) {
        (void)CS_FAIL(t->err, CS_EPARSE, "traceEvents",
                      "no complete event (\"ph\": \"X\") and no NCCL kernel is in it");
        return refuse(t, CS_EPARSE);
    }
    for (size_t i = 0; i < n; i++) {
        size_t used = strlen(text);
        if (i == LISTED || list[i] == NULL || used + strlen(list[i]) + 8 > sizeof text) {
            memcpy(text + used, ", ..", 5);
            break;
        }
        (void)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? ", " : "", list[i]);
    }
    (void)CS_FAIL(t->err, CS_EINVAL, "--category",
                  "no NCCL kernel is in it: say which events are a rank's work: %s", text);
    return refuse(t, CS_EINVAL);
}

static cs_status take_pieces(timeline *t)
{
    size_t    n      = json_array_size(t->file->events);
    cs_status status = CS_OK;

    t->pieces = CS_ARENA_NEW(&t->arena, piece, n + 1);
    for (size_t i = 0; t->pieces != NULL && i < n && status == CS_OK; i++) {
        const json_t *event    = json_array_get(t->file->events, i);
        const char   *category = category_of(event);
        piece        *p        = &t->pieces[t->n_pieces];
        bool          is_span;
        if (category == NULL || strcmp(category, t->category) != 0) {
            continue;
        }
        status     = cs_event_span(t->file, i, &is_span, &p->start_us, &p->duration_us, t->err);
        p->event   = i;
        p->process = cs_event_id(event, "pid", &t->arena);
        p->thread  = cs_event_id(event, "tid", &t->arena);
        t->n_pieces++;
        if (status == CS_OK && (p->process == NULL || p->thread == NULL)) {
            return no_memory(t);
        }
    }
    if (t->pieces == NULL) {
        return no_memory(t);
    }
    if (status == CS_OK && t->n_pieces == 0) {
        (void)CS_FAIL(t->err, CS_EINVAL, "--category", "no complete event has the category '%.60s'",
                      t->category);
        return refuse(t, CS_EINVAL);
    }
    return status;
}

/* Numbers in their order. */
static int compare_ids(const char *a, const char *b)
{
    size_t x = strlen(a), y = strlen(b);

    if (x != y) {
        return x < y ? -1 : 1;
    }
    return strcmp(a, b);
}

static int compare_pieces(const void *left, const void *right)
{
    const piece *a = left, *b = right;
    int          order = compare_ids(a->process, b->process);

    order = order != 0 ? order : compare_ids(a->thread, b->thread);
    if (order != 0) {
        return order;
    }
    if (a->start_us != b->start_us) {
        return a->start_us < b->start_us ? -1 : 1;
    }
    return (a->event > b->event) - (a->event < b->event);
}

static bool is_same_lane(const piece *a, const piece *b)
{
    return strcmp(a->process, b->process) == 0 && strcmp(a->thread, b->thread) == 0;
}

static void note_ranks(const timeline *t, bool has_processes)
{
    char category[NOTED_BYTES];

    cs_plain_text(category, sizeof category, t->category);
    cs_text_add(&t->notes->text,
                "ranks are the %s; each step's arrival is when the '%s' of it is "
                "done, if all began together\n",
                has_processes ? "processes" : "threads", category);
}

/* Runs of neighbours become lanes, lanes of a process a rank. */
static cs_status find_lanes(timeline *t)
{
    bool has_processes;

    qsort(t->pieces, t->n_pieces, sizeof t->pieces[0], compare_pieces);
    has_processes = strcmp(t->pieces[0].process, t->pieces[t->n_pieces - 1].process) != 0;
    t->lanes      = CS_ARENA_NEW(&t->arena, lane, t->n_pieces);
    if (t->lanes == NULL) {
        return no_memory(t);
    }
    for (size_t i = 0; i < t->n_pieces; i++) {
        const piece *p = &t->pieces[i];
        if (i == 0 || !is_same_lane(p - 1, p)) {
            bool is_new = i == 0 || !has_processes || strcmp(p[-1].process, p->process) != 0;
            t->n_ranks += is_new;
            t->lanes[t->n_lanes++] = (lane){.first = i, .rank = t->n_ranks - 1};
        }
        t->lanes[t->n_lanes - 1].n++;
    }
    if (t->n_ranks < 2 || t->n_ranks > CS_MAX_RANKS) {
        (void)CS_FAIL(t->err, CS_EINVAL, "pid",
                      "'%.60s' has events in %u processes or threads: skew needs 2 .. %u",
                      t->category, t->n_ranks, CS_MAX_RANKS);
        return refuse(t, CS_EINVAL);
    }
    note_ranks(t, has_processes);
    return CS_OK;
}

static cs_status count_steps(timeline *t)
{
    size_t least = t->lanes[0].n, most = least, shortest = 0;

    for (size_t l = 1; l < t->n_lanes; l++) {
        most     = t->lanes[l].n > most ? t->lanes[l].n : most;
        shortest = t->lanes[l].n < least ? l : shortest;
        least    = t->lanes[l].n < least ? t->lanes[l].n : least;
    }
    t->n_steps = least;
    if (least == most) {
        return CS_OK;
    }
    if (t->options->skip_incomplete) {
        cs_text_add(&t->notes->text, "%zu steps at the end are not in every lane: left out\n",
                    most - least);
        return CS_OK;
    }
    const piece *p = &t->pieces[t->lanes[shortest].first];
    (void)CS_FAIL(t->err, CS_EINVAL, "tid",
                  "thread '%.24s' of process '%.24s' has %zu events '%.40s', another one %zu: "
                  "accepted are equal numbers (--skip-incomplete leaves out the last ones)",
                  p->thread, p->process, least, t->category, most);
    return refuse(t, CS_EINVAL);
}

/* The work of all ranks in one step, in seconds. */
static void work_of_step(const timeline *t, size_t step, double *work_s, uint32_t *n_lanes)
{
    for (uint32_t r = 0; r < t->n_ranks; r++) {
        work_s[r]  = 0;
        n_lanes[r] = 0;
    }
    for (size_t l = 0; l < t->n_lanes; l++) {
        work_s[t->lanes[l].rank] += t->pieces[t->lanes[l].first + step].duration_us * 1e-6;
        n_lanes[t->lanes[l].rank]++;
    }
    for (uint32_t r = 0; r < t->n_ranks; r++) {
        work_s[r] /= n_lanes[r];
    }
}

static cs_status add_step(timeline *t, size_t step, const double *work_s)
{
    double    least_s = work_s[0];
    cs_status status  = CS_OK;

    for (uint32_t r = 1; r < t->n_ranks; r++) {
        least_s = fmin(least_s, work_s[r]);
    }
    for (uint32_t r = 0; r < t->n_ranks && status == CS_OK; r++) {
        cs_arrival_row row = {.iteration = step,
                              .rank      = r,
                              .arrival_s = work_s[r] - least_s,
                              .inside_s  = (double)NAN,
                              .period_s  = (double)NAN};
        status             = cs_arrival_rows_add(&t->rows, &row, t->err);
    }
    return status;
}

/* How much each rank works in all steps together is `sum_s`. */
static void note_work(const timeline *t, const double *sum_s, const uint32_t *n_lanes)
{
    for (size_t l = 0; l < t->n_lanes; l++) {
        const lane *here = &t->lanes[l];
        char        process[NOTED_BYTES];
        if (l == 0 || here->rank != here[-1].rank) {
            cs_plain_text(process, sizeof process, t->pieces[here->first].process);
            cs_text_add(&t->notes->text,
                        "rank %u (process '%s', threads: %u) works for %.6g ms in a step on "
                        "average\n",
                        here->rank, process, n_lanes[here->rank],
                        sum_s[here->rank] / (double)t->n_steps * 1e3);
        }
    }
}

static cs_status add_steps(timeline *t)
{
    double   *work_s  = CS_ARENA_NEW(&t->arena, double, t->n_ranks);
    double   *sum_s   = CS_ARENA_NEW(&t->arena, double, t->n_ranks);
    uint32_t *n_lanes = CS_ARENA_NEW(&t->arena, uint32_t, t->n_ranks);
    cs_status status  = CS_OK;

    if (work_s == NULL || sum_s == NULL || n_lanes == NULL) {
        return no_memory(t);
    }
    for (size_t step = 0; step < t->n_steps && status == CS_OK; step++) {
        work_of_step(t, step, work_s, n_lanes);
        status = add_step(t, step, work_s);
        for (uint32_t r = 0; r < t->n_ranks; r++) {
            sum_s[r] += work_s[r];
        }
    }
    if (t->n_ranks <= NOTED_RANKS) {
        note_work(t, sum_s, n_lanes);
    }
    return status;
}

cs_status cs_timeline_trace_read(const cs_event_file *file, const cs_arrival_options *options,
                                 cs_arrival_trace *trace_p, cs_arrival_notes *notes, cs_error *err)
{
    timeline  t      = {.file = file, .options = options, .notes = notes, .err = err};
    cs_status status = CS_OK;

    if (options->group != NULL || options->collective != NULL) {
        return CS_FAIL(err, CS_EINVAL, "",
                       "--group and --collective choose among NCCL kernels; "
                       "%.150s has none",
                       file->text->name);
    }
    status = choose_category(&t);
    if (status == CS_OK) {
        status = take_pieces(&t);
    }
    if (status == CS_OK) {
        status = find_lanes(&t);
    }
    if (status == CS_OK) {
        status = count_steps(&t);
    }
    if (status == CS_OK) {
        status = add_steps(&t);
    }
    if (status == CS_OK) {
        notes->format = "timeline";
        status = cs_arrival_rows_build(&t.rows, options, 0, file->text->name, trace_p, notes, err);
    }
    cs_arrival_rows_free(&t.rows);
    cs_arena_free(&t.arena);
    return status;
}
