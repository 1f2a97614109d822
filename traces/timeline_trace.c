/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/arrival_formats.h"

#include "base/alloc.h"
#include "base/text.h"
#include "cs/cluster.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LISTED = 12, NOTED_RANKS = 64, NOTED_BYTES = 61 };

/* One event of the category. */
typedef struct interval {
    const char *category; /* borrowed from the tree */
    const char *process, *thread;
    double      start_us, duration_us;
    size_t      event;
    size_t      lane;
    uint64_t    step; /* of args, or which event of its lane it is */
} interval;

/* A thread of a rank. */
typedef struct lane {
    const char *process, *thread;
    uint32_t    rank;
    size_t      n;       /* its events */
    size_t      n_here;  /* ... in the step that was taken last */
    double      work_us; /* ... in that step */
} lane;

/* A rank. */
typedef struct worker {
    double   work_s; /* in the step that was taken last */
    double   sum_s;  /* ... in all steps kept */
    double   all_s;  /* of all its lanes in all steps kept */
    uint32_t n_lanes;
} worker;

typedef struct timeline {
    const cs_event_file      *file;
    const cs_arrival_options *options;
    const char               *category;
    cs_arena                  arena;
    interval                 *intervals;
    size_t                    n_intervals;
    lane                     *lanes;
    size_t                    n_lanes;
    worker                   *ranks;
    uint32_t                  n_ranks;
    bool                      has_steps;   /* the events say of which step they are */
    size_t                    n_steps;     /* that are kept */
    size_t                    n_torn;      /* ... and that are not in all lanes alike */
    size_t                    n_longest;   /* events of a lane in a step, at most */
    interval                  first, last; /* of the first lane, in the first and last step kept */
    cs_arrival_rows           rows;
    cs_arrival_notes         *notes;
    cs_error                 *err;
} timeline;

static cs_status refuse(const timeline *t, cs_status status)
{
    cs_error_locate(t->err, t->file->text->name, 0, 0);
    return status;
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

/* The step that an event says it is of; *has_step_p: it says one. */
static cs_status read_step(const timeline *t, size_t index, uint64_t *step_p, bool *has_step_p)
{
    const json_t *event = json_array_get(t->file->events, index);
    const json_t *step  = json_object_get(json_object_get(event, "args"), "step");

    *has_step_p = step != NULL && !json_is_null(step);
    if (*has_step_p && (!json_is_integer(step) || json_integer_value(step) < 0)) {
        return cs_event_refuse(t->file, index, "args.step", "is no whole number from 0 on", t->err);
    }
    *step_p = *has_step_p ? (uint64_t)json_integer_value(step) : 0;
    return CS_OK;
}

/* One more event of the category; either all of them say their step, or none. */
static cs_status take_step(timeline *t, interval *p)
{
    bool has_step = false;

    CS_TRY(read_step(t, p->event, &p->step, &has_step));
    if (t->n_intervals > 0 && has_step != t->has_steps) {
        return cs_event_refuse(t->file, p->event, NULL,
                               has_step ? "says its step, events of the category in front of it do "
                                          "not: accepted are steps on all of them or on none"
                                        : "does not say its step, events of the category in front "
                                          "of it do: accepted are steps on all of them or on none",
                               t->err);
    }
    t->has_steps = has_step;
    return CS_OK;
}

/* Is it a category of the list, or the whole of it? */
static bool is_listed(const char *list, const char *category)
{
    size_t length = strlen(category);

    if (strcmp(list, category) == 0) {
        return true;
    }
    for (const char *at = list; at != NULL;) {
        size_t word = strcspn(at, ",");
        if (word == length && memcmp(at, category, length) == 0) {
            return true;
        }
        at = at[word] == ',' ? at + word + 1 : NULL;
    }
    return false;
}

/* Every category of the list must have an event. */
static cs_status check_categories(const timeline *t)
{
    bool is_whole = false;

    for (size_t i = 0; i < t->n_intervals; i++) {
        is_whole = is_whole || strcmp(t->intervals[i].category, t->category) == 0;
    }
    for (const char *at = t->category; at != NULL && !is_whole;) {
        size_t word = strcspn(at, ","), i = 0;
        while (i < t->n_intervals && (strlen(t->intervals[i].category) != word ||
                                      memcmp(t->intervals[i].category, at, word) != 0)) {
            i++;
        }
        if (i == t->n_intervals) {
            (void)CS_FAIL(t->err, CS_EINVAL, "--category",
                          "no complete event has the category '%.*s'", (int)(word < 60 ? word : 60),
                          at);
            return refuse(t, CS_EINVAL);
        }
        at = at[word] == ',' ? at + word + 1 : NULL;
    }
    return CS_OK;
}

static cs_status take_intervals(timeline *t)
{
    size_t n = json_array_size(t->file->events);

    t->intervals = CS_ARENA_NEW(&t->arena, interval, n + 1);
    if (t->intervals == NULL) {
        return CS_NO_MEMORY(t->err, "a timeline");
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *event    = json_array_get(t->file->events, i);
        const char   *category = category_of(event);
        interval     *p        = &t->intervals[t->n_intervals];
        bool          is_span;
        if (category == NULL || !is_listed(t->category, category)) {
            continue;
        }
        CS_TRY(cs_event_span(t->file, i, &is_span, &p->start_us, &p->duration_us, t->err));
        p->event    = i;
        p->category = category;
        p->process  = cs_event_id(event, "pid", &t->arena);
        p->thread   = cs_event_id(event, "tid", &t->arena);
        CS_TRY(take_step(t, p));
        t->n_intervals++;
        if (p->process == NULL || p->thread == NULL) {
            return CS_NO_MEMORY(t->err, "a timeline");
        }
    }
    return check_categories(t);
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

static int compare_intervals(const void *left, const void *right)
{
    const interval *a = left, *b = right;
    int             order = compare_ids(a->process, b->process);

    order = order != 0 ? order : compare_ids(a->thread, b->thread);
    if (order != 0) {
        return order;
    }
    if (a->start_us != b->start_us) {
        return a->start_us < b->start_us ? -1 : 1;
    }
    return (a->event > b->event) - (a->event < b->event);
}

static bool is_same_lane(const interval *a, const interval *b)
{
    return strcmp(a->process, b->process) == 0 && strcmp(a->thread, b->thread) == 0;
}

/* By step, then lane, then time. */
static int compare_steps(const void *left, const void *right)
{
    const interval *a = left, *b = right;

    if (a->step != b->step) {
        return a->step < b->step ? -1 : 1;
    }
    if (a->lane != b->lane) {
        return a->lane < b->lane ? -1 : 1;
    }
    if (a->start_us != b->start_us) {
        return a->start_us < b->start_us ? -1 : 1;
    }
    return (a->event > b->event) - (a->event < b->event);
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

    qsort(t->intervals, t->n_intervals, sizeof t->intervals[0], compare_intervals);
    has_processes = strcmp(t->intervals[0].process, t->intervals[t->n_intervals - 1].process) != 0;
    t->lanes      = CS_ARENA_NEW(&t->arena, lane, t->n_intervals);
    if (t->lanes == NULL) {
        return CS_NO_MEMORY(t->err, "a timeline");
    }
    for (size_t i = 0; i < t->n_intervals; i++) {
        interval *p = &t->intervals[i];
        if (i == 0 || !is_same_lane(p - 1, p)) {
            bool is_new = i == 0 || !has_processes || strcmp(p[-1].process, p->process) != 0;
            t->n_ranks += is_new;
            t->lanes[t->n_lanes++] =
                (lane){.process = p->process, .thread = p->thread, .rank = t->n_ranks - 1};
        }
        p->lane = t->n_lanes - 1;
        p->step = t->has_steps ? p->step : t->lanes[p->lane].n;
        t->lanes[p->lane].n++;
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

/* The intervals stand lane by lane in the order of time: no step may begin after a later one did.
 */
static cs_status check_order(const timeline *t)
{
    for (size_t i = 1; i < t->n_intervals; i++) {
        const interval *before = &t->intervals[i - 1], *p = &t->intervals[i];
        char            message[160];

        if (p->lane == before->lane && p->step < before->step) {
            (void)snprintf(message, sizeof message,
                           "is of step %llu, and begins after one of step %llu of the same thread: "
                           "the clock stepped back, or the trace is torn",
                           (unsigned long long)p->step, (unsigned long long)before->step);
            return cs_event_refuse(t->file, p->event, NULL, message, t->err);
        }
    }
    return CS_OK;
}

/* Put the intervals of one step into their lanes. Returns how many lanes have any; the fewest and
 * the most events in one of these go to *least_p and *most_p. */
static size_t take_run(const timeline *t, const interval *first, size_t n, size_t *least_p,
                       size_t *most_p)
{
    size_t n_lanes = 0, end = 0;

    *least_p = n;
    *most_p  = 0;
    for (size_t begin = 0; begin < n; begin = end) {
        lane *here    = &t->lanes[first[begin].lane];
        here->work_us = 0;
        for (end = begin; end < n && first[end].lane == first[begin].lane; end++) {
            here->work_us += first[end].duration_us;
        }
        here->n_here = end - begin;
        *least_p     = here->n_here < *least_p ? here->n_here : *least_p;
        *most_p      = here->n_here > *most_p ? here->n_here : *most_p;
        n_lanes++;
    }
    return n_lanes;
}

/* A step whose intervals were taken is not in all lanes alike: name one that has the fewest. */
static cs_status refuse_run(const timeline *t, const interval *first, size_t n, size_t n_lanes,
                            size_t least, size_t most)
{
    size_t l = 0;

    if (n_lanes < t->n_lanes) { /* the first lane that the run passes over */
        least = 0;
        for (size_t i = 0; i < n && first[i].lane <= l; i++) {
            l = first[i].lane + 1;
        }
    } else {
        while (t->lanes[l].n_here > least) {
            l++;
        }
    }
    (void)CS_FAIL(t->err, CS_EINVAL, t->has_steps ? "args.step" : "tid",
                  "thread '%.24s' of process '%.24s' has %zu events '%.40s' in step %llu, another "
                  "one %zu: accepted are equal numbers (--skip-incomplete leaves such steps out)",
                  t->lanes[l].thread, t->lanes[l].process, least, t->category,
                  (unsigned long long)first->step, most);
    return refuse(t, CS_EINVAL);
}

/* What each rank works in the step that was taken: its lanes work side by side, so it is done when
 * the busiest of them is. */
static void work_of_ranks(const timeline *t)
{
    for (uint32_t r = 0; r < t->n_ranks; r++) {
        t->ranks[r].work_s  = 0;
        t->ranks[r].n_lanes = 0;
    }
    for (size_t l = 0; l < t->n_lanes; l++) {
        worker *rank   = &t->ranks[t->lanes[l].rank];
        double  work_s = t->lanes[l].work_us * 1e-6;
        rank->work_s   = fmax(rank->work_s, work_s);
        rank->all_s += work_s;
        rank->n_lanes++;
    }
    for (uint32_t r = 0; r < t->n_ranks; r++) {
        t->ranks[r].sum_s += t->ranks[r].work_s;
    }
}

static cs_status add_step(timeline *t, uint64_t step)
{
    double least_s = t->ranks[0].work_s;

    for (uint32_t r = 1; r < t->n_ranks; r++) {
        least_s = fmin(least_s, t->ranks[r].work_s);
    }
    for (uint32_t r = 0; r < t->n_ranks; r++) {
        cs_arrival_row row = {.iteration = step,
                              .rank      = r,
                              .arrival_s = t->ranks[r].work_s - least_s,
                              .inside_s  = (double)NAN,
                              .queued_s  = (double)NAN,
                              .period_s  = (double)NAN};
        CS_TRY(cs_arrival_rows_add(&t->rows, &row, t->err));
    }
    return CS_OK;
}

static void note_rank(const timeline *t, uint32_t r, const char *name)
{
    const worker *rank    = &t->ranks[r];
    double        n_steps = (double)t->n_steps;
    char          process[NOTED_BYTES];

    cs_plain_text(process, sizeof process, name);
    cs_text_add(&t->notes->text,
                "rank %u (process '%s', threads: %u) works for %.6g ms in a step on average", r,
                process, rank->n_lanes, rank->sum_s / n_steps * 1e3);
    if (rank->n_lanes > 1) {
        cs_text_add(&t->notes->text, ", the mean of its threads is %.6g ms",
                    rank->all_s / n_steps / rank->n_lanes * 1e3);
    }
    cs_text_add(&t->notes->text, "\n");
}

/* What a step is, and how much each rank works in those that are kept. */
static void note_work(const timeline *t)
{
    cs_text *text = &t->notes->text;

    if (t->has_steps) {
        cs_text_add(text, "a step is that of args.step: %s%zu event%s of each thread\n",
                    t->n_steps > 1 ? "up to " : "", t->n_longest, t->n_longest == 1 ? "" : "s");
    } else {
        cs_text_add(
            text, "a step is one event of each thread: they have no args.step that would say it\n");
    }
    if (t->n_torn > 0) {
        cs_text_add(text, "%zu steps are not in all threads alike: left out\n", t->n_torn);
    }
    for (size_t l = 0; l < t->n_lanes; l++) {
        const lane *here = &t->lanes[l];
        if (here->rank == NOTED_RANKS) {
            cs_text_add(text, "and so on, for %u more ranks\n", t->n_ranks - NOTED_RANKS);
            return;
        }
        if (l == 0 || here->rank != here[-1].rank) {
            note_rank(t, here->rank, here->process);
        }
    }
}

/* One step: a run of neighbours in the intervals. */
static cs_status add_run(timeline *t, const interval *first, size_t n)
{
    size_t least = 0, most = 0, n_lanes = take_run(t, first, n, &least, &most);

    if (n_lanes < t->n_lanes || least < most) {
        t->n_torn++;
        return t->options->skip_incomplete ? CS_OK : refuse_run(t, first, n, n_lanes, least, most);
    }
    t->first     = t->n_steps == 0 ? *first : t->first;
    t->last      = *first;
    t->n_longest = most > t->n_longest ? most : t->n_longest;
    t->n_steps++;
    work_of_ranks(t);
    return add_step(t, first->step);
}

static cs_status add_steps(timeline *t)
{
    size_t end = 0;

    t->ranks = CS_ARENA_NEW(&t->arena, worker, t->n_ranks);
    if (t->ranks == NULL) {
        return CS_NO_MEMORY(t->err, "a timeline");
    }
    qsort(t->intervals, t->n_intervals, sizeof t->intervals[0], compare_steps);
    for (size_t begin = 0; begin < t->n_intervals; begin = end) {
        for (end = begin + 1;
             end < t->n_intervals && t->intervals[end].step == t->intervals[begin].step;) {
            end++;
        }
        CS_TRY(add_run(t, &t->intervals[begin], end - begin));
    }
    if (t->n_steps == 0) {
        (void)CS_FAIL(t->err, CS_EINVAL, t->has_steps ? "args.step" : "tid",
                      "none of %zu steps is in all threads with equal numbers of events",
                      t->n_torn);
        return refuse(t, CS_EINVAL);
    }
    note_work(t);
    return CS_OK;
}

/* The mean time from step to step on the first lane; NAN where the events do not say their steps.
 */
static double period_of(const timeline *t)
{
    return t->has_steps && t->n_steps > 1 ? (t->last.start_us - t->first.start_us) * 1e-6 /
                                                (double)(t->last.step - t->first.step)
                                          : (double)NAN;
}

static cs_status read_timeline(timeline *t, cs_arrival_trace *trace_p)
{
    CS_TRY(choose_category(t));
    CS_TRY(take_intervals(t));
    CS_TRY(find_lanes(t));
    CS_TRY(check_order(t));
    CS_TRY(add_steps(t));
    t->notes->format = "timeline";
    CS_TRY(cs_arrival_rows_build(&t->rows, t->options, 0, t->file->text->name, trace_p, t->notes,
                                 t->err));
    t->notes->period_s = period_of(t);
    return CS_OK;
}

cs_status cs_timeline_trace_read(const cs_event_file *file, const cs_arrival_options *options,
                                 cs_arrival_trace *trace_p, cs_arrival_notes *notes, cs_error *err)
{
    timeline t = {.file = file, .options = options, .notes = notes, .err = err};

    if (options->group != NULL || options->collective != NULL) {
        return CS_FAIL(err, CS_EINVAL, "",
                       "--group and --collective choose among NCCL kernels; "
                       "%.150s has none",
                       file->text->name);
    }
    cs_status status = read_timeline(&t, trace_p);
    cs_arrival_rows_free(&t.rows);
    cs_arena_free(&t.arena);
    return status;
}
