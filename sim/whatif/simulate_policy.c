/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A policy through a job: see whatif/whatif.h.
 *
 * One iteration is timed call by call. When it ends before anything changes, all iterations up to
 * that change take as long and are added at once. The set of excluded servers changes between
 * iterations only, except that a new exclusion drops the iteration in which it is decided.
 *
 * A worker that dies before it enters the first call of an iteration is missed by that iteration;
 * one that dies later has done its part, and the next one misses it. */
#include "whatif/whatif.h"

#include "algorithms/adapcc/relay.h"
#include "whatif/knowledge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define EPSILON   1e-9 /* iterations: rounding of sums of parts */
#define SAME_RATE 1e-9 /* relative: one rate, reached by other sums */

/* Numbers of arrivals (cs_call.arrival_id) of calls that a worker misses: above all turns'. */
#define DEAD_ARRIVALS ((uint64_t)1 << 51)

#define NEVER_TIMES 100.0 /* the deadline: later, times would lose digits */

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
           a->lost == 0 && b->lost == 0 && a->iterations > 0 && b->iterations > 0 &&
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

    if (intervals->failed || (!(c.until_s > c.from_s) && !(c.iterations > 0) && !(c.lost > 0))) {
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
    double                   now_s, left; /* iterations to do */
    bool                    *is_excluded; /* [n_histories] */
    cs_members               members;     /* those, and the worker that died */
    uint32_t                 n_excluded;  /* but for the server of the worker that died */
    bool                    *is_replaced; /* [n_histories] by a spare server */
    size_t                  *answered;    /* [n_histories] notices that the job has restarted for */
    double                  *known;       /* [n_histories] what a schedule is made for */
    const char              *note;

    bool         profiles;  /* again and again */
    cs_knowledge knowledge; /* of CS_POLICY_RUN */
    double       since;     /* iterations since the last profile */
    uint64_t     n_profiles, n_rebuilds;

    uint64_t drawn;     /* the turn of interference that is_slowed is of, + 1; 0: none */
    bool    *is_slowed; /* [n_ranks] */
    double  *arrival_s; /* [n_ranks] of the ranks that are there */

    bool          is_dead;   /* the worker that dies is known to be */
    bool          is_whole;  /* ... and its server leaves with it */
    bool          is_shared; /* ... and its samples are the others' */
    size_t        died;      /* its server's history */
    cs_death_cost death;
} simulation;

/* What one iteration came to; durations, not times, so that they do not depend on when. */
typedef struct iteration {
    double duration_s, held_s;
    double first_s;    /* from its begin to when the first rank enters the first call */
    double call_s;     /* that call */
    double doomed_s;   /* from its begin to when the worker that dies enters it; NAN: nobody dies */
    bool   is_adapted; /* a call ran the policy's own schedule */
} iteration;

static double known_slowdown(const simulation *w, size_t h, double time_s, double delay_s)
{
    return cs_known_slowdown_at(&w->q->timeline->histories[h], time_s, delay_s);
}

static bool knows_fault(const simulation *w, double time_s, double delay_s)
{
    for (size_t h = 0; h < w->q->timeline->n_histories; h++) {
        if (!w->is_excluded[h] && !w->is_replaced[h] && known_slowdown(w, h, time_s, delay_s) > 1) {
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

/* What the policy's own schedule is made for at a time; NULL: it has none then. */
static const double *plan_of(simulation *w, double time_s)
{
    double delay_s = w->q->job->timers.reschedule_s;

    if (w->q->policy->kind == CS_POLICY_RUN) {
        if (!w->knowledge.has_plan) {
            note_fallback(w, &w->knowledge.refusal);
        }
        return w->knowledge.has_plan ? w->knowledge.plan : NULL;
    }
    if (w->q->policy->kind != CS_POLICY_SWITCH || !knows_fault(w, time_s, delay_s)) {
        return NULL;
    }
    for (size_t h = 0; h < w->q->timeline->n_histories; h++) {
        w->known[h] = known_slowdown(w, h, time_s, delay_s);
    }
    return w->known;
}

/* The policy's own schedule if it has one and it can run; else the job's. `arrival_id`: 0, or that
 * of w->arrival_s. */
static cs_status time_call(simulation *w, double start_s, uint64_t arrival_id, iteration *it,
                           double *elapsed_s_p, cs_error *err)
{
    cs_call  call  = {.start_s    = start_s,
                      .known      = plan_of(w, start_s),
                      .members    = w->members,
                      .arrival_s  = arrival_id > 0 ? w->arrival_s : NULL,
                      .arrival_id = arrival_id};
    cs_error wrong = {0};

    if (call.known != NULL) {
        call.schedule    = &w->q->policy->schedule;
        cs_status status = cs_call_time(w->q->caller, &call, elapsed_s_p, &wrong);
        if (status == CS_OK) {
            it->is_adapted = true;
            return CS_OK;
        }
        if (!cs_status_is_refusal(status)) {
            return CS_FAIL(err, status, wrong.where, "%s", wrong.message);
        }
        note_fallback(w, &wrong);
    }
    call.schedule = &w->q->job->schedule;
    call.known    = NULL;
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

/* ---- computing ---- */

/* Who is slowed now. */
static cs_status draw(simulation *w, uint64_t *turn_p, cs_error *err)
{
    const cs_whatif_job *job = w->q->job;

    *turn_p = 0;
    if (job->interference.gpus == 0) {
        return CS_OK;
    }
    *turn_p = cs_interference_turn(&job->interference, w->now_s) + 1;
    if (*turn_p == w->drawn) {
        return CS_OK;
    }
    w->drawn = *turn_p;
    return cs_interference_draw(&job->interference, &job->call.scenario.cluster,
                                job->call.scenario.seed, *turn_p - 1, w->is_slowed, err);
}

/* The servers that are not there: the history's servers come in order. */
static bool has_left(const simulation *w, uint32_t server, size_t *next)
{
    const cs_timeline *timeline = w->q->timeline;

    while (*next < timeline->n_histories && timeline->histories[*next].server < server) {
        ++*next;
    }
    return *next < timeline->n_histories && timeline->histories[*next].server == server &&
           w->is_excluded[*next];
}

/* How many ranks go with the worker that dies. */
static uint32_t dying_ranks(const simulation *w)
{
    if (!w->is_whole) {
        return 1;
    }
    return cs_server_gpus(&w->q->job->call.scenario.cluster,
                          w->q->timeline->histories[w->died].server);
}

/* Is the rank not there once the worker has died? */
static bool goes_too(const simulation *w, uint32_t rank)
{
    const cs_whatif_job *job = w->q->job;

    return w->is_whole ? cs_server_of(&job->call.scenario.cluster, rank) ==
                             w->q->timeline->histories[w->died].server
                       : rank == job->death.rank;
}

/* How long a rank computes, of `n` that share the samples, where it is number `index`. */
static double compute_s_of(const simulation *w, uint32_t rank, uint32_t n, uint32_t index)
{
    const cs_whatif_job *job = w->q->job;
    double               all = job->call.scenario.cluster.n_ranks, share = 1;
    double level = w->drawn > 0 && w->is_slowed[rank] ? job->interference.level_ratio : 0;

    if (w->is_shared) {
        share = job->batch > 0
                    ? (double)cs_relay_batch_of(job->batch, n, index) / ((double)job->batch / all)
                    : all / n;
    }
    return job->compute_s * share * (1 + level);
}

/* How long the ranks compute: when they enter the first call, into arrival_s after the first of
 * them. The last one ends at *last_s_p; the number of the arrivals is 0 where all are together. */
static cs_status compute(simulation *w, iteration *it, double *last_s_p, uint64_t *arrival_id_p,
                         cs_error *err)
{
    const cs_whatif_job *job     = w->q->job;
    const cs_cluster    *cluster = &job->call.scenario.cluster;
    double               first_s = (double)INFINITY, last_s = 0, ready = 1 - job->overlap_ratio;
    uint32_t             alive = cluster->n_ranks - (w->is_shared ? dying_ranks(w) : 0), n = 0;
    uint64_t             turn;
    size_t               next = 0;

    it->doomed_s = (double)NAN;
    CS_TRY(draw(w, &turn, err));
    for (uint32_t rank = 0, index = 0; rank < cluster->n_ranks; rank++) {
        uint32_t server   = cs_server_of(cluster, rank);
        bool     is_gone  = w->is_dead && goes_too(w, rank);
        bool     is_there = !has_left(w, server, &next) && !is_gone;
        double   time_s   = compute_s_of(w, rank, alive, index);
        index += !is_gone;
        if (is_there) {
            w->arrival_s[n++] = ready * time_s;
            first_s           = fmin(first_s, time_s);
            last_s            = fmax(last_s, time_s);
        }
        if (job->death.is_there && !w->is_dead && rank == job->death.rank) {
            it->doomed_s = ready * time_s;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        w->arrival_s[i] -= ready * first_s;
    }
    it->first_s   = n > 0 ? ready * first_s : 0;
    *last_s_p     = last_s;
    *arrival_id_p = first_s < last_s && ready > 0 ? 2 * turn + 1 + w->is_shared : 0;
    return CS_OK;
}

static cs_status run_iteration(simulation *w, iteration *it, cs_error *err)
{
    const cs_whatif_job *job = w->q->job;
    double               last_s;
    uint64_t             arrival_id;

    *it = (iteration){0};
    CS_TRY(compute(w, it, &last_s, &arrival_id, err));
    double at_s = it->first_s;
    for (uint32_t i = 0; i < job->calls && !isinf(at_s); i++) {
        double elapsed_s = 0;
        if (w->q->policy->kind == CS_POLICY_WAIT) {
            double start_s = w->now_s + at_s, wait_s = held_until(w, start_s) - start_s;
            it->held_s += wait_s;
            at_s += wait_s;
            if (wait_s > 0 && arrival_id > 0) { /* all are there before they may go on, or then */
                at_s       = fmax(at_s, (1 - job->overlap_ratio) * last_s);
                arrival_id = 0;
            }
        }
        if (!isinf(at_s)) {
            CS_TRY(time_call(w, w->now_s + at_s, arrival_id, it, &elapsed_s, err));
            at_s += elapsed_s;
        }
        it->call_s = i == 0 ? elapsed_s : it->call_s;
        arrival_id = 0;
    }
    it->duration_s = fmax(last_s, at_s);
    return CS_OK;
}

/* Has the server left for ever? */
static bool is_gone(const simulation *w, size_t h)
{
    return w->is_dead && w->is_whole && h == w->died;
}

static void add(simulation *w, cs_job_interval_kind kind, double duration_s, double iterations,
                double held_s)
{
    cs_job_interval interval = {.from_s     = w->now_s,
                                .until_s    = w->now_s + duration_s,
                                .iterations = iterations,
                                .held_s     = held_s,
                                .excluded   = w->n_excluded + is_gone(w, w->died),
                                .kind       = kind};
    intervals_add(&w->intervals, &interval);
    w->now_s += duration_s;
    w->left -= iterations;
}

/* At the end of a stop: all take part but those that are known to be broken. */
static void update_members(simulation *w)
{
    w->n_excluded = 0;
    for (size_t h = 0; h < w->q->timeline->n_histories; h++) {
        w->is_excluded[h] = is_gone(w, h) || known_slowdown(w, h, w->now_s, 0) > 1;
        w->n_excluded += w->is_excluded[h] && !is_gone(w, h);
    }
}

static bool has_recovered(const simulation *w)
{
    for (size_t h = 0; h < w->q->timeline->n_histories; h++) {
        if (w->is_excluded[h] && !is_gone(w, h) && known_slowdown(w, h, w->now_s, 0) <= 1) {
            return true;
        }
    }
    return false;
}

/* The job stands still, and goes on without what was done since the last checkpoint. */
static void add_stop(simulation *w, double duration_s, double lost)
{
    cs_job_interval interval = {.from_s   = w->now_s,
                                .until_s  = w->now_s + duration_s,
                                .lost     = fmax(lost, 0),
                                .excluded = w->n_excluded + is_gone(w, w->died),
                                .kind     = CS_INTERVAL_RESTART};

    intervals_add(&w->intervals, &interval);
    w->now_s += duration_s;
    w->left += interval.lost;
}

/* Iterations since the last checkpoint, one of which is every so many. */
static double since_checkpoint(const simulation *w, uint64_t checkpoint)
{
    double done = (double)w->q->job->iterations - w->left, every = (double)checkpoint;

    return fmax(done - floor((done + EPSILON) / every) * every, 0);
}

/* ---- faults that a policy stops for ---- */

static bool leaves_out(const simulation *w)
{
    return w->q->policy->kind == CS_POLICY_EXCLUDE || w->q->policy->kind == CS_POLICY_SHRINK;
}

/* Is a NIC known to be dead for which the job has not restarted yet? */
static bool knows_dead(const simulation *w, double time_s)
{
    for (size_t h = 0; h < w->q->timeline->n_histories; h++) {
        const cs_history *history = &w->q->timeline->histories[h];
        size_t            n       = cs_notices_at(history, time_s, 0);
        if (n > w->answered[h] && history->notices[n - 1].is_down) {
            return true;
        }
    }
    return false;
}

/* Spare servers that are not in use; a server that was replaced is one once it is repaired. */
static uint32_t free_spares(const simulation *w, double time_s)
{
    uint32_t used = 0;

    for (size_t h = 0; h < w->q->timeline->n_histories; h++) {
        used += w->is_replaced[h] && known_slowdown(w, h, time_s, 0) > 1;
    }
    return used < w->q->job->spares ? w->q->job->spares - used : 0;
}

static bool must_stop(const simulation *w, double time_s)
{
    switch (w->q->policy->kind) {
    case CS_POLICY_EXCLUDE:
    case CS_POLICY_SHRINK: return knows_fault(w, time_s, 0);
    case CS_POLICY_RESTART: return knows_dead(w, time_s);
    case CS_POLICY_SPARE: return knows_fault(w, time_s, 0) && free_spares(w, time_s) > 0;
    case CS_POLICY_HEALTHY:
    case CS_POLICY_KEEP:
    case CS_POLICY_SWITCH:
    case CS_POLICY_RUN:
    case CS_POLICY_WAIT:
    case CS_POLICY_KINDS: break;
    }
    return false;
}

/* Put spares in the place of servers that are known to be broken. */
static void replace(simulation *w)
{
    uint32_t spares = free_spares(w, w->now_s);

    for (size_t h = 0; h < w->q->timeline->n_histories && spares > 0; h++) {
        if (!w->is_replaced[h] && known_slowdown(w, h, w->now_s, 0) > 1) {
            w->is_replaced[h] = true;
            spares--;
        }
    }
}

/* Stop for a fault as the policy does. */
static void stop(simulation *w)
{
    const cs_whatif_timers *timers = &w->q->job->timers;
    cs_policy_kind          kind   = w->q->policy->kind;
    bool                    saves  = timers->checkpoint == 0 || kind == CS_POLICY_SHRINK;

    if (kind == CS_POLICY_SPARE) {
        replace(w);
    }
    add_stop(w,
             kind == CS_POLICY_SHRINK  ? timers->shrink_s
             : kind == CS_POLICY_SPARE ? timers->spare_s
                                       : timers->restart_s,
             saves ? 0 : since_checkpoint(w, timers->checkpoint));
    if (leaves_out(w)) {
        update_members(w);
    }
    for (size_t h = 0; h < w->q->timeline->n_histories; h++) {
        w->answered[h] = cs_notices_at(&w->q->timeline->histories[h], w->now_s, 0);
    }
}

/* The servers but for one that has left with its worker. */
static uint32_t n_alive(const simulation *w)
{
    return cs_n_servers(&w->q->job->call.scenario.cluster) - is_gone(w, w->died);
}

/* Which part of the work of all who are alive those do that are not excluded. */
static double share_of_members(const simulation *w)
{
    const cs_cluster *cluster = &w->q->job->call.scenario.cluster;
    uint32_t          alive = cluster->n_ranks - (w->is_dead ? dying_ranks(w) : 0), out = 0;

    for (size_t h = 0; w->n_excluded > 0 && h < w->q->timeline->n_histories; h++) {
        bool is_out = w->is_excluded[h] && !is_gone(w, h);
        bool lacks  = is_out && w->is_dead && h == w->died; /* the worker, which is not alive */
        out += is_out ? cs_server_gpus(cluster, w->q->timeline->histories[h].server) - lacks : 0;
    }
    return (double)(alive - out) / alive;
}

/* Before an iteration: stop for changes of the members. False when nobody is left for ever. */
static bool settle_members(simulation *w)
{
    const cs_whatif_timers *timers = &w->q->job->timers;

    while (w->now_s < w->intervals.horizon_s) {
        bool is_empty = leaves_out(w) && w->n_excluded == n_alive(w);
        if (must_stop(w, w->now_s) || (is_empty && has_recovered(w))) {
            stop(w);
        } else if (!isinf(timers->rejoin_s) && leaves_out(w) && has_recovered(w)) {
            add(w, CS_INTERVAL_RESTART, timers->rejoin_s, 0, 0);
            update_members(w);
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

/* When the job has to stop before the iteration ends; INFINITY: it need not. */
static double stop_before(const simulation *w, double end_s)
{
    double event_s = w->now_s;

    while ((event_s = cs_next_event(w->q->timeline, event_s)) < end_s) {
        if (must_stop(w, event_s)) {
            return event_s;
        }
    }
    return (double)INFINITY;
}

static cs_job_interval_kind kind_of(const simulation *w, const iteration *it)
{
    double healthy_s = w->q->healthy_iteration_s;

    if (it->is_adapted) {
        return CS_INTERVAL_ADAPTED;
    }
    if (w->n_excluded > 0 || w->is_dead) {
        return CS_INTERVAL_SMALLER;
    }
    return it->duration_s > healthy_s * (1 + EPSILON) ? CS_INTERVAL_DEGRADED : CS_INTERVAL_HEALTHY;
}

/* The first change after now. */
static double next_change(const simulation *w)
{
    const cs_whatif_job *job    = w->q->job;
    double               next_s = cs_next_event(w->q->timeline, w->now_s);

    if (job->interference.gpus > 0) {
        uint64_t turn = cs_interference_turn(&job->interference, w->now_s);
        next_s        = fmin(next_s, cs_interference_end(&job->interference, turn));
    }
    if (job->death.is_there && !w->is_dead) {
        next_s = fmin(next_s, fmax(job->death.at_s, w->now_s));
    }
    return next_s;
}

/* Add the iteration, and as many more like it as there are before anything changes. */
static void add_iterations(simulation *w, const iteration *it)
{
    double weight = share_of_members(w);
    double most = ceil(w->left / weight - EPSILON), count = 1;
    double room_s = next_change(w) - w->now_s;

    if (w->profiles) {
        most = fmin(most, (double)w->q->job->profiling.period - w->since);
    }
    if (!(it->duration_s > 0) || isinf(room_s)) {
        count = most;
    } else {
        count = fmax(1, fmin(most, floor(room_s / it->duration_s)));
    }
    w->since += count;
    add(w, kind_of(w, it), count * it->duration_s, fmin(count * weight, w->left),
        count * it->held_s);
}

/* ---- profiles ---- */

/* Stop the job for a profile, and for another schedule where that changes. */
static cs_status profile(simulation *w, cs_error *err)
{
    double probes_s;
    bool   is_other;

    CS_TRY(cs_knowledge_take(&w->knowledge, w->now_s, &w->members, &probes_s, &is_other, err));
    add(w, CS_INTERVAL_PROFILE, probes_s, 0, 0);
    w->since = 0;
    w->n_profiles++;
    if (is_other) {
        add(w, CS_INTERVAL_REBUILD, w->q->job->profiling.rebuild_s, 0, 0);
        w->n_rebuilds++;
    }
    return CS_OK;
}

/* The profile at the begin of the job, which is not the job's time. */
static cs_status prepare(simulation *w, cs_error *err)
{
    const cs_profiling *profiling = &w->q->job->profiling;
    bool                is_other, matters = true;

    if (w->q->policy->kind != CS_POLICY_RUN) {
        return CS_OK;
    }
    w->knowledge = (cs_knowledge){.job      = w->q->job,
                                  .timeline = w->q->timeline,
                                  .caller   = w->q->caller,
                                  .policy   = w->q->policy};
    CS_TRY(cs_knowledge_open(&w->knowledge, w->q->arena, err));
    if (w->q->policy->profiles == CS_PROFILES_AUTO && profiling->period > 0) {
        CS_TRY(cs_knowledge_matters(&w->knowledge, &w->members, &matters, err));
    }
    w->profiles = matters && w->q->policy->profiles != CS_PROFILES_NO && profiling->period > 0;
    return cs_knowledge_take(&w->knowledge, w->now_s, &w->members, NULL, &is_other, err);
}

/* ---- a worker dies ---- */

static bool misses_worker(const simulation *w, const iteration *it)
{
    return w->q->job->death.at_s < w->now_s + it->doomed_s; /* false where nobody dies */
}

/* Is it there, or its server where that leaves with it? */
static void set_there(simulation *w, bool is_there)
{
    if (w->is_whole) {
        w->is_excluded[w->died] = !is_there;
    } else {
        w->members.missing = is_there ? NULL : &w->q->job->death.rank;
    }
}

static void bury(simulation *w)
{
    w->is_dead = true;
    set_there(w, false);
}

/* From when the others enter the first call to AdapCC's deadline, for whoever does not come: by the
 * policy's own coordinator, which meets ranks that come long after it. Where it has none, five
 * times as long again as their call takes. `it`: an iteration without the server. */
static cs_status time_deadline(simulation *w, const iteration *it, double *deadline_s_p,
                               cs_error *err)
{
    const cs_cluster *cluster = &w->q->job->call.scenario.cluster;
    uint32_t          gpus = dying_ranks(w), left = cluster->n_ranks - gpus;
    uint32_t          server = w->q->timeline->histories[w->died].server;
    uint32_t first = w->is_whole ? cs_server_first(cluster, server) : w->q->job->death.rank;
    cs_call  call  = {.schedule   = &w->q->policy->excluding,
                      .start_s    = w->now_s + it->first_s,
                      .known      = plan_of(w, w->now_s + it->first_s),
                      .arrival_s  = w->arrival_s,
                      .arrival_id = DEAD_ARRIVALS + w->drawn};
    cs_error wrong = {0};

    *deadline_s_p = (1 + CS_RELAY_FAULT_FACTOR) * it->call_s;
    if (call.schedule->algorithm == NULL || call.known == NULL || left < 2) {
        return CS_OK;
    }
    memmove(w->arrival_s + first + gpus, w->arrival_s + first, (left - first) * sizeof(double));
    for (uint32_t i = 0; i < gpus; i++) {
        w->arrival_s[first + i] = fmin(NEVER_TIMES * *deadline_s_p, CS_MAX_ARRIVAL_S);
    }
    double elapsed_s = 0;
    set_there(w, true);
    call.members     = w->members;
    cs_status status = cs_call_time(w->q->caller, &call, &elapsed_s, &wrong);
    set_there(w, false);
    if (status != CS_OK && !cs_status_is_refusal(status)) {
        return CS_FAIL(err, status, wrong.where, "%s", wrong.message);
    }
    *deadline_s_p = status == CS_OK ? elapsed_s : *deadline_s_p;
    return CS_OK;
}

/* AdapCC: the others finish the iteration without it, wait for it until the deadline, and go on
 * with trees of their own. */
static cs_status exclude_dead(simulation *w, double usual_s, cs_error *err)
{
    double    n_ranks = w->q->job->call.scenario.cluster.n_ranks, all = n_ranks / dying_ranks(w);
    double    begin_s = w->now_s, call_s;
    iteration it;

    bury(w);
    CS_TRY(run_iteration(w, &it, err));
    CS_TRY(time_deadline(w, &it, &call_s, err));
    double phase1_s = call_s / (1 + CS_RELAY_FAULT_FACTOR);
    double share    = fmin((all - 1) / all, w->left);
    w->since++;
    add(w, kind_of(w, &it), it.duration_s - it.call_s + phase1_s, share, it.held_s);
    double hung_s = fmax(0, begin_s + it.first_s + call_s - w->now_s);
    add(w, CS_INTERVAL_HUNG, hung_s, 0, 0);
    double resume_s = w->now_s;
    w->is_shared    = true;
    if (w->profiles) {
        CS_TRY(profile(w, err));
    } else {
        w->n_rebuilds++;
        add(w, CS_INTERVAL_REBUILD, w->q->job->profiling.rebuild_s, 0, 0);
    }
    w->death        = (cs_death_cost){hung_s, w->now_s - resume_s, 1 / all, 0};
    w->death.lost_s = w->now_s - resume_s + hung_s + usual_s / all;
    return CS_OK;
}

/* Everybody hangs, somebody notices, and the others begin again at the last checkpoint. */
static cs_status restart(simulation *w, const iteration *it, double usual_s, cs_error *err)
{
    const cs_death *death  = &w->q->job->death;
    double          lost   = since_checkpoint(w, death->checkpoint);
    double          hung_s = fmax(death->at_s - w->now_s, it->first_s);
    bool            is_other;

    add(w, CS_INTERVAL_ABORTED, hung_s, 0, 0);
    add(w, CS_INTERVAL_HUNG, death->hang_s, 0, 0);
    w->death =
        (cs_death_cost){.hung_s    = death->hang_s,
                        .stopped_s = death->relaunch_s,
                        .redone    = lost + hung_s / usual_s,
                        .lost_s    = hung_s + death->hang_s + death->relaunch_s + lost * usual_s};
    add_stop(w, death->relaunch_s, lost);
    bury(w);
    w->is_shared = true;
    w->since     = 0;
    if (w->q->policy->kind != CS_POLICY_RUN) {
        return CS_OK;
    }
    return cs_knowledge_take(&w->knowledge, w->now_s, &w->members, NULL, &is_other, err);
}

static cs_status die(simulation *w, const iteration *it, cs_error *err)
{
    if (w->is_excluded[w->died]) { /* it takes no part, and nobody misses it */
        bury(w);
        w->is_shared = true;
        w->n_excluded -= w->is_whole;
        return CS_OK;
    }
    if (w->q->policy->recovery == CS_RECOVERY_EXCLUDE) {
        return exclude_dead(w, it->duration_s, err);
    }
    return restart(w, it, it->duration_s, err);
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
    if (w->profiles && w->since >= (double)w->q->job->profiling.period) {
        return profile(w, err);
    }
    CS_TRY(run_iteration(w, &it, err));
    if (misses_worker(w, &it)) {
        return die(w, &it, err);
    }
    double stop_s = stop_before(w, w->now_s + it.duration_s);
    if (!isinf(stop_s)) {
        add(w, CS_INTERVAL_ABORTED, stop_s - w->now_s, 0, 0);
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
        line->iterations += w->intervals.list[i].iterations - w->intervals.list[i].lost;
    }
    line->n_profiles = w->n_profiles;
    line->n_rebuilds = w->n_rebuilds;
    line->death      = w->death;
}

/* The history of the server whose worker dies. */
static size_t find_died(const cs_policy_request *q)
{
    const cs_whatif_job *job = q->job;
    size_t               h   = 0;

    while (h < q->timeline->n_histories &&
           q->timeline->histories[h].server !=
               cs_server_of(&job->call.scenario.cluster, job->death.rank)) {
        h++;
    }
    return h;
}

/* Does the server leave with its worker? It has no other, or is said to. */
static bool dies_whole(const cs_policy_request *q)
{
    const cs_whatif_job *job = q->job;
    const cs_cluster    *c   = &job->call.scenario.cluster;

    return job->death.takes == CS_DEATH_SERVER ||
           cs_server_gpus(c, cs_server_of(c, job->death.rank)) == 1;
}

cs_status cs_simulate_policy(const cs_policy_request *request, cs_whatif_line *line, cs_error *err)
{
    uint32_t   n_ranks = request->job->call.scenario.cluster.n_ranks;
    double     none    = (double)NAN;
    simulation w       = {
              .q           = request,
              .intervals   = {.arena = request->arena, .horizon_s = request->job->horizon_s},
              .left        = (double)request->job->iterations,
              .is_excluded = CS_ARENA_NEW(request->arena, bool, request->timeline->n_histories + 1),
              .is_replaced = CS_ARENA_NEW(request->arena, bool, request->timeline->n_histories + 1),
              .answered    = CS_ARENA_NEW(request->arena, size_t, request->timeline->n_histories + 1),
              .known       = CS_ARENA_NEW(request->arena, double, request->timeline->n_histories + 1),
              .is_slowed   = CS_ARENA_NEW(request->arena, bool, n_ranks),
              .arrival_s   = CS_ARENA_NEW(request->arena, double, n_ranks),
              .died        = find_died(request),
              .is_whole    = dies_whole(request),
              .death       = {none, none, none, none},
    };
    bool is_stuck = false;

    if (w.is_excluded == NULL || w.is_replaced == NULL || w.answered == NULL || w.known == NULL ||
        w.is_slowed == NULL || w.arrival_s == NULL) {
        return CS_NO_MEMORY(err, "the intervals of a job");
    }
    w.members.is_excluded = w.is_excluded;
    w.members.is_replaced = w.is_replaced;
    CS_TRY(prepare(&w, err));
    while (!is_stuck && w.left > EPSILON && w.now_s < w.intervals.horizon_s) {
        CS_TRY(step(&w, &is_stuck, err));
    }
    finish(&w, line, is_stuck);
    return w.intervals.failed ? CS_NO_MEMORY(err, "the intervals of a job") : CS_OK;
}
