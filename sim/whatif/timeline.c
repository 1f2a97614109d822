/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From faults to histories: see whatif/timeline.h. Faults that overlap are merged as those of a
 * scenario. One that is down is two: nothing is left until it is detected, then what it leaves. */
#include "whatif/timeline.h"

#include <math.h>
#include <stdlib.h>

/* What is built of one server's faults [first, first + n). */
typedef struct builder {
    const cs_whatif_job *job;
    cs_arena            *arena;
    const cs_fault      *faults;
    size_t               n;
} builder;

static uint32_t server_of(const cs_whatif_job *job, size_t fault)
{
    return cs_server_of(&job->call.scenario.cluster, job->faults[fault].capacity.rank);
}

/* What faults leave together, step by step. */
static bool merge(const builder *b, const cs_fault *faults, size_t n, cs_capacity **steps_p,
                  size_t *n_p)
{
    size_t wrong;

    return cs_faults_merge(&b->job->call.scenario.cluster, faults, n, CS_MAY_LOSE_SERVERS, b->arena,
                           steps_p, n_p, &wrong, NULL) == CS_OK;
}

/* A fault that is down takes all of the server until it is detected. */
static bool build_spans(const builder *b, cs_history *history)
{
    cs_fault    *faults = CS_ARENA_NEW(b->arena, cs_fault, 2 * b->n);
    cs_capacity *spans  = NULL;
    size_t       n = 0, n_steps = 0, kept = 0;

    for (size_t i = 0; faults != NULL && i < b->n; i++) {
        cs_fault dead = b->faults[i];
        faults[n++]   = dead;
        if (dead.is_down) {
            cs_capacity *c = &dead.capacity;
            c->until_s     = fmin(c->until_s, c->from_s + b->job->timers.detect_s);
            c->slowdown    = (double)INFINITY;
            dead.is_nic    = false;
        }
        if (dead.is_down && dead.capacity.until_s > dead.capacity.from_s) {
            faults[n++] = dead;
        }
    }
    if (faults == NULL || !merge(b, faults, n, &spans, &n_steps)) {
        return false;
    }
    for (size_t i = 0; i < n_steps; i++) {
        if (spans[i].slowdown > 1) {
            spans[kept++] = spans[i];
        }
    }
    history->spans   = spans;
    history->n_spans = kept;
    return true;
}

/* Are the slowdowns the same state? */
static bool is_same(double a, double b, double tolerance_ratio)
{
    return a == b || (fmax(a, b) <= fmin(a, b) * (1 + tolerance_ratio) && !isinf(fmax(a, b)));
}

/* States of one server as they come: the state that lasts, since when, and what it led to. */
typedef struct watcher {
    double     tolerance_ratio, detect_s;
    double     since_s, slowdown;
    bool       is_down; /* of that state */
    double     known_slowdown;
    cs_notice *notices;
    size_t     n;
} watcher;

/* The state that lasted ends. */
static void watch_end(watcher *w, double until_s)
{
    if (until_s - w->since_s >= w->detect_s && w->slowdown != w->known_slowdown) {
        w->notices[w->n++] = (cs_notice){w->since_s + w->detect_s, w->slowdown, w->is_down};
        w->known_slowdown  = w->slowdown;
    }
}

/* From `from_s` on the server is as slow as that. */
static void watch(watcher *w, double from_s, double slowdown, bool is_down)
{
    if (is_same(slowdown, w->slowdown, w->tolerance_ratio)) {
        return;
    }
    watch_end(w, from_s);
    w->since_s  = from_s;
    w->slowdown = slowdown;
    w->is_down  = is_down;
}

/* Has a NIC died before `until_s`, of the faults from *next_p on, which is moved on? */
static bool has_died(const builder *b, size_t *next_p, double until_s)
{
    bool has_died = false;

    for (; *next_p < b->n && b->faults[*next_p].capacity.from_s < until_s; ++*next_p) {
        const cs_fault *f = &b->faults[*next_p];
        has_died          = has_died || f->is_down || isinf(f->capacity.slowdown);
    }
    return has_died;
}

static bool build_notices(const builder *b, cs_history *history)
{
    cs_capacity *steps = NULL;
    size_t       n = 0, next = 0;

    if (!merge(b, b->faults, b->n, &steps, &n)) {
        return false;
    }
    watcher w = {.tolerance_ratio = b->job->timers.tolerance_ratio,
                 .detect_s        = b->job->timers.detect_s,
                 .slowdown        = 1,
                 .known_slowdown  = 1,
                 .notices         = CS_ARENA_NEW(b->arena, cs_notice, 2 * n + 2)};
    if (w.notices == NULL) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const cs_capacity *c       = &steps[i];
        bool               touches = i + 1 < n && steps[i + 1].from_s == c->until_s;
        watch(&w, c->from_s, c->slowdown, has_died(b, &next, c->until_s));
        if (!touches && !isinf(c->until_s)) {
            watch(&w, c->until_s, 1, false);
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
    double *events = CS_ARENA_NEW(&timeline->arena, double, n + 1);
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

/* Who profiles sees all servers, and any of them may be left out. */
static bool wants_all(const cs_whatif_job *job)
{
    return job->profiling.is_on || job->death.is_there;
}

/* Histories of the servers that fail, or of all. */
static bool build_histories(const cs_whatif_job *job, cs_timeline *timeline)
{
    uint32_t    n         = cs_n_servers(&job->call.scenario.cluster);
    size_t      room      = wants_all(job) ? n : job->n_faults;
    cs_history *histories = CS_ARENA_NEW(&timeline->arena, cs_history, room > 0 ? room : 1);
    size_t      first     = 0;

    timeline->histories = histories;
    for (uint32_t server = 0; server < n && histories != NULL; server++) {
        size_t end = first;
        while (end < job->n_faults && server_of(job, end) == server) {
            end++;
        }
        builder b = {job, &timeline->arena, end > first ? job->faults + first : NULL, end - first};
        if (end > first || wants_all(job)) {
            cs_history *history = &histories[timeline->n_histories++];
            history->server     = server;
            if (end > first && !(build_spans(&b, history) && build_notices(&b, history))) {
                return false;
            }
        }
        first = end;
    }
    return histories != NULL;
}

cs_status cs_timeline_build(const cs_whatif_job *job, cs_timeline *timeline_p, cs_error *err)
{
    cs_timeline timeline = {0};

    if (!build_histories(job, &timeline) || !build_events(job, &timeline)) {
        cs_timeline_free(&timeline);
        return CS_NO_MEMORY(err, "a timeline");
    }
    *timeline_p = timeline;
    return CS_OK;
}

void cs_timeline_free(cs_timeline *timeline)
{
    cs_arena_free(&timeline->arena);
    *timeline = (cs_timeline){0};
}

size_t cs_notices_at(const cs_history *history, double time_s, double delay_s)
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
    return low;
}

double cs_known_slowdown_at(const cs_history *history, double time_s, double delay_s)
{
    size_t n = cs_notices_at(history, time_s, delay_s);

    return n > 0 ? history->notices[n - 1].slowdown : 1;
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
    for (size_t i = cs_capacity_after(history->spans, history->n_spans, time_s);
         i < history->n_spans && history->spans[i].from_s <= time_s; i++) {
        time_s = history->spans[i].until_s;
    }
    return time_s;
}
