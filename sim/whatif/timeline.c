/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From outages to histories: see whatif/timeline.h. An outage of a NIC that is down and has others
 * beside it is two spans: dead until it is detected, slow from then on. */
#include "whatif/timeline.h"

#include <math.h>
#include <stdlib.h>

/* What is built of one server's outages [first, first + n). */
typedef struct builder {
    const cs_whatif_job *job;
    cs_arena            *arena;
    const cs_outage     *outages;
    size_t               n;
} builder;

static uint32_t server_of(const cs_whatif_job *job, size_t outage)
{
    return job->outages[outage].rank / job->cluster.gpus_per_server;
}

static bool build_spans(const builder *b, cs_history *history)
{
    cs_span *spans = CS_ARENA_NEW(b->arena, cs_span, 2 * b->n);
    size_t   n     = 0;

    for (size_t i = 0; spans != NULL && i < b->n; i++) {
        const cs_outage *o       = &b->outages[i];
        double           alive_s = o->from_s;
        if (o->is_down) {
            bool is_lost = isinf(o->slow_ratio);
            alive_s = is_lost ? o->until_s : fmin(o->until_s, o->from_s + b->job->timers.detect_s);
            if (alive_s > o->from_s) {
                spans[n++] = (cs_span){o->from_s, alive_s, (double)INFINITY};
            }
        }
        if (alive_s < o->until_s && o->slow_ratio > 1) {
            bool is_dead = o->slow_ratio >= CS_DEAD_RATIO;
            spans[n++] = (cs_span){alive_s, o->until_s, is_dead ? (double)INFINITY : o->slow_ratio};
        }
    }
    history->spans   = spans;
    history->n_spans = n;
    return spans != NULL;
}

/* Are the slowdowns the same state? */
static bool is_same(double a, double b, double tolerance_ratio)
{
    return a == b || (fmax(a, b) <= fmin(a, b) * (1 + tolerance_ratio) && !isinf(fmax(a, b)));
}

/* States of one server as they come: the state that lasts, since when, and what it led to. */
typedef struct watcher {
    double     tolerance_ratio, detect_s;
    double     since_s, slow_ratio;
    double     known_ratio;
    cs_notice *notices;
    size_t     n;
} watcher;

/* The state that lasted ends. */
static void watch_end(watcher *w, double until_s)
{
    if (until_s - w->since_s >= w->detect_s && w->slow_ratio != w->known_ratio) {
        w->notices[w->n++] = (cs_notice){w->since_s + w->detect_s, w->slow_ratio};
        w->known_ratio     = w->slow_ratio;
    }
}

/* From `from_s` on the server is as slow as that. */
static void watch(watcher *w, double from_s, double slow_ratio)
{
    if (is_same(slow_ratio, w->slow_ratio, w->tolerance_ratio)) {
        return;
    }
    watch_end(w, from_s);
    w->since_s    = from_s;
    w->slow_ratio = slow_ratio;
}

static bool build_notices(const builder *b, cs_history *history)
{
    watcher w = {.tolerance_ratio = b->job->timers.tolerance_ratio,
                 .detect_s        = b->job->timers.detect_s,
                 .slow_ratio      = 1,
                 .known_ratio     = 1,
                 .notices         = CS_ARENA_NEW(b->arena, cs_notice, 2 * b->n + 2)};

    if (w.notices == NULL) {
        return false;
    }
    for (size_t i = 0; i < b->n; i++) {
        const cs_outage *o       = &b->outages[i];
        bool             touches = i + 1 < b->n && b->outages[i + 1].from_s == o->until_s;
        watch(&w, o->from_s, o->slow_ratio);
        if (!touches && !isinf(o->until_s)) {
            watch(&w, o->until_s, 1);
        }
    }
    watch_end(&w, (double)INFINITY);
    history->notices   = w.notices;
    history->n_notices = w.n;
    return true;
}

static int compare(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Every time at which a policy might change its mind. */
static bool build_events(const cs_whatif_job *job, cs_timeline *timeline)
{
    size_t n = 0, kept = 0;

    for (size_t h = 0; h < timeline->n_histories; h++) {
        n += 2 * timeline->histories[h].n_spans + 2 * timeline->histories[h].n_notices;
    }
    double *events = CS_ARENA_NEW(&timeline->arena, double, n);
    if (events == NULL) {
        return false;
    }
    n = 0;
    for (size_t h = 0; h < timeline->n_histories; h++) {
        const cs_history *history = &timeline->histories[h];
        for (size_t i = 0; i < history->n_spans; i++) {
            events[n++] = history->spans[i].from_s;
            events[n++] = history->spans[i].until_s;
        }
        for (size_t i = 0; i < history->n_notices; i++) {
            events[n++] = history->notices[i].from_s;
            events[n++] = history->notices[i].from_s + job->timers.reschedule_s;
        }
    }
    qsort(events, n, sizeof *events, compare);
    for (size_t i = 0; i < n; i++) {
        if (isfinite(events[i]) && (kept == 0 || events[i] > events[kept - 1])) {
            events[kept++] = events[i];
        }
    }
    timeline->events   = events;
    timeline->n_events = kept;
    return true;
}

cs_status cs_timeline_build(const cs_whatif_job *job, cs_timeline *timeline_p, cs_error *err)
{
    cs_timeline timeline = {0};
    cs_history *histories =
        CS_ARENA_NEW(&timeline.arena, cs_history, job->n_outages > 0 ? job->n_outages : 1);
    bool is_ok = histories != NULL;

    timeline.histories = histories;
    for (size_t first = 0, end; is_ok && first < job->n_outages; first = end) {
        uint32_t server = server_of(job, first);
        for (end = first + 1; end < job->n_outages && server_of(job, end) == server; end++) {
        }
        cs_history *history = &histories[timeline.n_histories++];
        builder     b       = {job, &timeline.arena, job->outages + first, end - first};
        history->server     = server;
        is_ok               = build_spans(&b, history) && build_notices(&b, history);
    }
    if (!is_ok || !build_events(job, &timeline)) {
        cs_timeline_free(&timeline);
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for a timeline");
    }
    *timeline_p = timeline;
    return CS_OK;
}

void cs_timeline_free(cs_timeline *timeline)
{
    cs_arena_free(&timeline->arena);
    *timeline = (cs_timeline){0};
}

size_t cs_span_after(const cs_history *history, double time_s)
{
    size_t low = 0, high = history->n_spans;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (history->spans[middle].until_s > time_s) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

double cs_slow_ratio_at(const cs_history *history, double time_s)
{
    size_t i = cs_span_after(history, time_s);
    return i < history->n_spans && history->spans[i].from_s <= time_s ? history->spans[i].slow_ratio
                                                                      : 1;
}

double cs_known_ratio_at(const cs_history *history, double time_s, double delay_s)
{
    size_t low = 0, high = history->n_notices;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (history->notices[middle].from_s + delay_s <= time_s) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 ? history->notices[low - 1].slow_ratio : 1;
}

double cs_next_event(const cs_timeline *timeline, double time_s)
{
    size_t low = 0, high = timeline->n_events;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (timeline->events[middle] > time_s) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low < timeline->n_events ? timeline->events[low] : (double)INFINITY;
}

double cs_repaired_at(const cs_history *history, double time_s)
{
    for (size_t i = cs_span_after(history, time_s);
         i < history->n_spans && history->spans[i].from_s <= time_s; i++) {
        time_s = history->spans[i].until_s;
    }
    return time_s;
}
