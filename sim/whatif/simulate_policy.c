/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A policy through a job: see whatif/simulate_policy.h.
 *
 * One iteration is timed call by call. When it ends before anything changes, all iterations up to
 * that change take as long and are added at once. The set of excluded servers changes between
 * iterations only, except that a new exclusion drops the iteration in which it is decided. */
#include "whatif/simulate_policy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define EPSILON   1e-9 /* iterations: rounding of sums of parts */
#define SAME_RATE 1e-9 /* relative: one rate, reached by other sums */

enum { NOTE_BYTES = 400 };

/* ---- a growing list of intervals ---- */

typedef struct job_intervals {
    cs_arena        *arena;
    cs_job_interval *list; /* in the arena */
    size_t           n, room;
    double           horizon_s;
    bool             failed; /* out of memory */
} job_intervals;

/* Do the iterations of both intervals take equally long? */
static bool goes_on(const cs_job_interval *a, const cs_job_interval *b)
{
    double left  = (a->until_s - a->from_s) * b->iterations;
    double right = (b->until_s - b->from_s) * a->iterations;

    return a->kind == b->kind && a->excluded == b->excluded && a->held_s == 0 && b->held_s == 0 &&
           a->iterations > 0 && b->iterations > 0 &&
           fabs(left - right) <= SAME_RATE * fmax(left, right);
}

static bool grow(job_intervals *intervals)
{
    size_t           room = intervals->room > 0 ? 2 * intervals->room : 16;
    cs_job_interval *list = CS_ARENA_NEW(intervals->arena, cs_job_interval, room);

    if (list == NULL) {
        intervals->failed = true;
        return false;
    }
    if (intervals->n > 0 && intervals->list != NULL) {
        memcpy(list, intervals->list, intervals->n * sizeof *list);
    }
    intervals->list = list;
    intervals->room = room;
    return true;
}

/* Cut off what lies behind the horizon. */
static cs_job_interval cut(const cs_job_interval *interval, double horizon_s)
{
    cs_job_interval c = *interval;

    if (c.until_s > horizon_s) {
        double part = isinf(c.until_s) ? 0 : (horizon_s - c.from_s) / (c.until_s - c.from_s);
        c.iterations *= part;
        c.held_s  = fmin(c.held_s, horizon_s - c.from_s);
        c.until_s = horizon_s;
    }
    return c;
}

/* Add an interval behind the last one. What lies behind the horizon is cut off, iterations in
 * proportion. An interval that goes on at the same rate makes the last one longer. */
static void intervals_add(job_intervals *intervals, const cs_job_interval *interval)
{
    cs_job_interval c = cut(interval, intervals->horizon_s);

    if (intervals->failed || (!(c.until_s > c.from_s) && !(c.iterations > 0))) {
        return;
    }
    cs_job_interval *last = intervals->n > 0 ? &intervals->list[intervals->n - 1] : NULL;
    if (last != NULL && goes_on(last, &c)) {
        last->until_s = c.until_s;
        last->iterations += c.iterations;
    } else if ((intervals->list != NULL && intervals->n < intervals->room) || grow(intervals)) {
        intervals->list[intervals->n++] = c;
    }
}
/* ---- the job, iteration by iteration ---- */

typedef struct simulation {
    const cs_policy_request *q;
    job_intervals            intervals;
    double                   now_s, left;   /* iterations to do */
    bool                    *is_excluded;   /* [n_histories] */
    uint32_t                 n_excluded;    /* servers */
    uint32_t                 gpus_excluded; /* of them */
    const char              *note;
} simulation;

/* What one iteration came to; durations, not times, so that they do not depend on when. */
typedef struct iteration {
    double duration_s, held_s;
    bool   is_adapted; /* a call ran the policy's own schedule */
} iteration;

static double known_slowdown(const simulation *w, size_t h, double time_s, double delay_s)
{
    return cs_known_slowdown_at(&w->q->timeline->histories[h], time_s, delay_s);
}

static bool knows_fault(const simulation *w, double time_s, double delay_s)
{
    for (size_t h = 0; h < w->q->timeline->n_histories; h++) {
        if (!w->is_excluded[h] && known_slowdown(w, h, time_s, delay_s) > 1) {
            return true;
        }
    }
    return false;
}

/* Keep why the policy's own schedule could not run, the first time. */
static void note_fallback(simulation *w, const cs_error *why)
{
    char text[NOTE_BYTES];

    if (w->note == NULL) {
        (void)snprintf(text, sizeof text, "%s could not run everywhere (%s): there %s ran",
                       w->q->policy->name, why->message, w->q->job->schedule.algorithm->name);
        w->note = cs_arena_strdup(w->q->arena, text);
    }
}

/* The policy's own schedule if it has one, knows of a fault, and can run; else the job's. */
static cs_status time_call(simulation *w, double start_s, double *elapsed_s_p, bool *is_adapted_p,
                           cs_error *err)
{
    cs_call  call  = {.start_s     = start_s,
                      .delay_s     = w->q->job->timers.reschedule_s,
                      .is_excluded = w->is_excluded};
    cs_error wrong = {0};

    if (w->q->policy->kind == CS_POLICY_SWITCH && knows_fault(w, start_s, call.delay_s)) {
        call.schedule    = &w->q->policy->schedule;
        call.is_adapted  = true;
        cs_status status = cs_call_time(w->q->caller, &call, elapsed_s_p, &wrong);
        if (status == CS_OK) {
            *is_adapted_p = true;
            return CS_OK;
        }
        if (!cs_status_is_refusal(status)) {
            return CS_FAIL(err, status, wrong.where, "%s", wrong.message);
        }
        note_fallback(w, &wrong);
    }
    call.schedule   = &w->q->job->schedule;
    call.is_adapted = false;
    return cs_call_time(w->q->caller, &call, elapsed_s_p, err);
}

/* When calls may go on that wait for the repair of whatever is known to be broken. */
static double held_until(const simulation *w, double time_s)
{
    for (double before_s = -1; before_s < time_s && !isinf(time_s);) {
        before_s = time_s;
        for (size_t h = 0; h < w->q->timeline->n_histories; h++) {
            if (known_slowdown(w, h, time_s, 0) > 1) {
                time_s = cs_repaired_at(&w->q->timeline->histories[h], time_s);
            }
        }
    }
    return time_s;
}

static cs_status run_iteration(simulation *w, iteration *it, cs_error *err)
{
    const cs_whatif_job *job  = w->q->job;
    double               at_s = (1 - job->overlap_ratio) * job->compute_s;

    *it = (iteration){0};
    for (uint32_t i = 0; i < job->calls && !isinf(at_s); i++) {
        double elapsed_s = 0, start_s = w->now_s + at_s;
        if (w->q->policy->kind == CS_POLICY_WAIT) {
            double wait_s = held_until(w, start_s) - start_s;
            it->held_s += wait_s;
            at_s += wait_s;
        }
        if (!isinf(at_s)) {
            CS_TRY(time_call(w, w->now_s + at_s, &elapsed_s, &it->is_adapted, err));
            at_s += elapsed_s;
        }
    }
    it->duration_s = fmax(job->compute_s, at_s);
    return CS_OK;
}

static void add(simulation *w, cs_job_interval_kind kind, double duration_s, double iterations,
                double held_s)
{
    cs_job_interval interval = {.from_s     = w->now_s,
                                .until_s    = w->now_s + duration_s,
                                .iterations = iterations,
                                .held_s     = held_s,
                                .excluded   = w->n_excluded,
                                .kind       = kind};
    intervals_add(&w->intervals, &interval);
    w->now_s += duration_s;
    w->left -= iterations;
}

/* At the end of a stop: all take part but those that are known to be broken. */
static void update_members(simulation *w)
{
    w->n_excluded = w->gpus_excluded = 0;
    for (size_t h = 0; h < w->q->timeline->n_histories; h++) {
        w->is_excluded[h] = known_slowdown(w, h, w->now_s, 0) > 1;
        w->n_excluded += w->is_excluded[h];
        w->gpus_excluded += w->is_excluded[h] ? cs_server_gpus(&w->q->job->call.scenario.cluster,
                                                               w->q->timeline->histories[h].server)
                                              : 0;
    }
}

static bool has_recovered(const simulation *w)
{
    for (size_t h = 0; h < w->q->timeline->n_histories; h++) {
        if (w->is_excluded[h] && known_slowdown(w, h, w->now_s, 0) <= 1) {
            return true;
        }
    }
    return false;
}

static void stop(simulation *w, double duration_s)
{
    add(w, CS_INTERVAL_RESTART, duration_s, 0, 0);
    update_members(w);
}

/* Before an iteration: stop for changes of the members. False when nobody is left for ever. */
static bool settle_members(simulation *w)
{
    const cs_whatif_timers *timers = &w->q->job->timers;

    while (w->q->policy->kind == CS_POLICY_EXCLUDE && w->now_s < w->intervals.horizon_s) {
        bool is_empty = w->n_excluded == cs_n_servers(&w->q->job->call.scenario.cluster);
        if (knows_fault(w, w->now_s, 0) || (is_empty && has_recovered(w))) {
            stop(w, timers->restart_s);
        } else if (!isinf(timers->rejoin_s) && has_recovered(w)) {
            stop(w, timers->rejoin_s);
        } else if (!is_empty) {
            break;
        } else {
            double next_s = cs_next_event(w->q->timeline, w->now_s);
            if (isinf(next_s)) {
                return false;
            }
            add(w, CS_INTERVAL_RESTART, next_s - w->now_s, 0, 0);
        }
    }
    return true;
}

/* When a server has to be excluded before the iteration ends; INFINITY: none has. */
static double exclusion_before(const simulation *w, double end_s)
{
    double event_s = w->now_s;

    while (w->q->policy->kind == CS_POLICY_EXCLUDE &&
           (event_s = cs_next_event(w->q->timeline, event_s)) < end_s) {
        if (knows_fault(w, event_s, 0)) {
            return event_s;
        }
    }
    return (double)INFINITY;
}

static cs_job_interval_kind kind_of(const simulation *w, const iteration *it)
{
    double healthy_s = w->q->healthy_iteration_s;

    if (w->n_excluded > 0) {
        return CS_INTERVAL_SMALLER;
    }
    if (it->is_adapted) {
        return CS_INTERVAL_ADAPTED;
    }
    return it->duration_s > healthy_s * (1 + EPSILON) ? CS_INTERVAL_DEGRADED : CS_INTERVAL_HEALTHY;
}

/* Add the iteration, and as many more like it as there are before anything changes. */
static void add_iterations(simulation *w, const iteration *it)
{
    double gpus   = w->q->job->call.scenario.cluster.n_ranks;
    double weight = (gpus - w->gpus_excluded) / gpus;
    double most = ceil(w->left / weight - EPSILON), count = 1;
    double room_s = cs_next_event(w->q->timeline, w->now_s) - w->now_s;

    if (!(it->duration_s > 0) || isinf(room_s)) {
        count = most;
    } else {
        count = fmax(1, fmin(most, floor(room_s / it->duration_s)));
    }
    add(w, kind_of(w, it), count * it->duration_s, fmin(count * weight, w->left),
        count * it->held_s);
}

/* One step; *is_stuck_p: there will be no other. */
static cs_status step(simulation *w, bool *is_stuck_p, cs_error *err)
{
    iteration it;

    if (!settle_members(w)) {
        *is_stuck_p = true;
        return CS_OK;
    }
    if (!(w->now_s < w->intervals.horizon_s)) {
        return CS_OK;
    }
    CS_TRY(run_iteration(w, &it, err));
    double exclusion_s = exclusion_before(w, w->now_s + it.duration_s);
    if (!isinf(exclusion_s)) {
        add(w, CS_INTERVAL_ABORTED, exclusion_s - w->now_s, 0, 0);
    } else if (isinf(it.duration_s)) {
        *is_stuck_p = true;
    } else {
        add_iterations(w, &it);
    }
    return CS_OK;
}

static void finish(simulation *w, cs_whatif_line *line, bool is_stuck)
{
    line->is_finished = !(w->left > EPSILON) && w->now_s <= w->intervals.horizon_s;
    if (is_stuck) {
        add(w, CS_INTERVAL_STUCK, (double)INFINITY, 0, 0);
    }
    line->total_s     = fmin(w->now_s, w->intervals.horizon_s);
    line->iterations  = 0;
    line->intervals   = w->intervals.list;
    line->n_intervals = w->intervals.n;
    line->note        = w->note;
    for (size_t i = 0; i < w->intervals.n; i++) {
        line->iterations += w->intervals.list[i].iterations;
    }
}

cs_status cs_simulate_policy(const cs_policy_request *request, cs_whatif_line *line, cs_error *err)
{
    simulation w = {
        .q           = request,
        .intervals   = {.arena = request->arena, .horizon_s = request->job->horizon_s},
        .left        = (double)request->job->iterations,
        .is_excluded = CS_ARENA_NEW(request->arena, bool, request->timeline->n_histories + 1),
    };
    bool is_stuck = false;

    if (w.is_excluded == NULL) {
        return CS_NO_MEMORY(err, "the intervals of a job");
    }
    while (!is_stuck && w.left > EPSILON && w.now_s < w.intervals.horizon_s) {
        CS_TRY(step(&w, &is_stuck, err));
    }
    finish(&w, line, is_stuck);
    return w.intervals.failed ? CS_NO_MEMORY(err, "the intervals of a job") : CS_OK;
}
