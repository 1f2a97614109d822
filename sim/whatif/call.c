/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The time of a call: see whatif/call.h.
 *
 * The state of the network at a time is a row of two numbers per history (the slowdown, and the
 * slowdown that the schedule is made for), the number of the arrivals, and whether a rank is
 * missing (in a job it is always the same); the row and the algorithm are the key of the store of
 * times. A replay over time takes the spans of a window that begins with the call; when the call
 * turns out to last longer than the window, it is done again with a larger one. */
#include "whatif/call.h"

#include "base/alloc.h"
#include "base/random.h"
#include "study/profile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_KEPT = 1024, ROWS_MAX = 1 << 22, GONE = -1, HASHED = 512 };

/* Instead of CS_MAX_SLOWDOWN for ever: tells a call that waits for it from one that is done. */
#define LESS_SLOWDOWN 0.5e9
#define FIRST_WINDOW  4.0 /* times the duration on constant NICs */

#define ROUNDING 1e-9 /* relative: sums of other parts */

/* ---- a schedule that was made for one network, run on another ----
 *
 * A library that knows of a fault picks its schedule for the network as it knows it; the network
 * may be different by then. So a call runs an algorithm whose schedule is that of another job, in
 * its options; only its replay sees the real scenario. */

/* The job whose schedule it is. Borrowed: check() resolves it, its owner releases it. */
typedef struct planned_options {
    cs_job *job;
} planned_options;

typedef struct planned_state {
    const cs_algorithm *algorithm;
    void               *state; /* of it */
} planned_state;

static cs_status planned_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                               cs_error *err)
{
    cs_job   *job    = ((const planned_options *)options)->job;
    cs_status status = cs_job_resolve(job, err);

    (void)scenario;
    *plan          = job->plan;
    plan->prepared = NULL; /* it stays the job's */
    return status;
}

static cs_status planned_open(const cs_scenario *scenario, const void *options, void **state_p,
                              cs_error *err)
{
    const planned_options *o = options;
    planned_state         *s = CS_NEW(planned_state, 1);

    (void)scenario;
    if (s == NULL) {
        return CS_NO_MEMORY(err, "a schedule");
    }
    s->algorithm     = o->job->algorithm;
    cs_status status = cs_job_open(o->job, &s->state, err);
    if (status != CS_OK) {
        cs_free(s);
        return status;
    }
    *state_p = s;
    return CS_OK;
}

static void planned_next_block(void *state, cs_block *block)
{
    planned_state *s = state;
    s->algorithm->next_block(s->state, block);
}

static void planned_told(void *state, const cs_block *block, const cs_interval *intervals)
{
    planned_state *s = state;
    s->algorithm->told(s->state, block, intervals);
}

static const void *planned_decided(const void *state, bool *is_out, double *known_s_p)
{
    const planned_state *s = state;
    return s->algorithm->decided(s->state, is_out, known_s_p);
}

static void planned_close(void *state)
{
    planned_state *s = state;

    if (s != NULL) {
        s->algorithm->close(s->state);
        cs_free(s);
    }
}

static const cs_algorithm planned_algorithm = {
    .name          = "planned",
    .summary       = "the schedule of another algorithm for another scenario",
    .source        = "none: a tool of this project",
    .collectives   = (1u << CS_COLLECTIVE_COUNT) - 1, /* where the algorithm does */
    .options_bytes = sizeof(planned_options),
    .check         = planned_check,
    .open          = planned_open,
    .next_block    = planned_next_block,
    .told          = planned_told,
    .decided       = planned_decided,
    .close         = planned_close,
    .takes_uneven  = true, /* where the algorithm does */
};

/* ---- calls ---- */

typedef struct kept_time {
    const cs_whatif_schedule *schedule;
    double                    elapsed_s;
} kept_time;

struct cs_caller {
    const cs_whatif_job *job;
    const cs_timeline   *timeline;
    size_t               n_row;
    double              *row;  /* [n_row] of the call */
    double              *rows; /* [max_kept][n_row] */
    kept_time            kept[MAX_KEPT];
    size_t               n_kept, max_kept;
    uint32_t            *ranks;   /* [n_histories] in the cluster of the call */
    cs_capacity         *planned; /* [n_histories] */
    cs_capacity         *actual;  /* [n_spans of all histories] */
    cs_server           *servers; /* [servers] of the cluster of the call, where they differ */
    uint32_t            *gpus;    /* [servers] ... in GPUs */
    cs_uneven            uneven;  /* ... whose tables are owned */
    bool                *is_gone; /* [n_histories] */
    uint64_t             n_replays;

    cs_job                    plan;      /* the last one, kept for calls with the same key */
    const cs_whatif_schedule *plan_of;   /* NULL: there is none */
    double                   *plan_key;  /* [n_row] */
    double                   *plan_want; /* [n_row] */

    cs_best_call best;
};

static size_t count_spans(const cs_timeline *timeline)
{
    size_t n = 0;

    for (size_t h = 0; h < timeline->n_histories; h++) {
        n += timeline->histories[h].n_spans;
    }
    return n;
}

cs_status cs_caller_new(const cs_whatif_job *job, const cs_timeline *timeline, cs_caller **caller_p,
                        cs_error *err)
{
    const cs_cluster *cluster = &job->call.scenario.cluster;
    cs_caller        *caller  = CS_NEW(cs_caller, 1);
    size_t            n       = timeline->n_histories;

    if (caller != NULL) {
        caller->job      = job;
        caller->timeline = timeline;
        caller->n_row    = 2 * n + 2;
        caller->best     = (cs_best_call){.elapsed_s = (double)INFINITY};
        caller->max_kept = n > ROWS_MAX / 2 / MAX_KEPT ? 1 : MAX_KEPT;
        caller->row      = CS_NEW(double, caller->n_row);
        caller->rows     = CS_NEW(double, caller->n_row * caller->max_kept);
        caller->ranks    = CS_NEW(uint32_t, n);
        caller->planned  = CS_NEW(cs_capacity, n);
        caller->actual   = CS_NEW(cs_capacity, count_spans(timeline));
        caller->servers  = CS_NEW(cs_server, cs_n_servers(cluster));
        caller->gpus     = CS_NEW(uint32_t, cs_n_servers(cluster));
        caller->is_gone  = CS_NEW(bool, n);

        caller->uneven.first     = CS_NEW(uint32_t, (size_t)cs_n_servers(cluster) + 1);
        caller->uneven.server_of = CS_NEW(uint32_t, cluster->n_ranks);

        caller->plan_key  = CS_NEW(double, caller->n_row);
        caller->plan_want = CS_NEW(double, caller->n_row);
    }
    if (caller == NULL || caller->row == NULL || caller->rows == NULL || caller->ranks == NULL ||
        caller->planned == NULL || caller->actual == NULL || caller->servers == NULL ||
        caller->gpus == NULL || caller->is_gone == NULL || caller->uneven.first == NULL ||
        caller->uneven.server_of == NULL || caller->plan_key == NULL || caller->plan_want == NULL) {
        cs_caller_free(caller);
        return CS_NO_MEMORY(err, "the calls of a job");
    }
    *caller_p = caller;
    return CS_OK;
}

void cs_caller_free(cs_caller *caller)
{
    if (caller != NULL) {
        cs_free(caller->row);
        cs_free(caller->rows);
        cs_free(caller->ranks);
        cs_free(caller->planned);
        cs_free(caller->actual);
        cs_free(caller->servers);
        cs_free(caller->gpus);
        cs_free(caller->is_gone);
        cs_free(caller->uneven.first);
        cs_free(caller->uneven.server_of);
        cs_free(caller->plan_key);
        cs_free(caller->plan_want);
        cs_job_release(&caller->plan);
        cs_free(caller);
    }
}

uint64_t cs_caller_replays(const cs_caller *caller)
{
    return caller->n_replays;
}

cs_best_call *cs_caller_best(cs_caller *caller)
{
    return &caller->best;
}

/* How many GPUs of a server are missing that is not excluded. */
static uint32_t missing_of(const cs_cluster *cluster, const cs_call *call, uint32_t server)
{
    const uint32_t *rank = call->members.missing;

    return rank != NULL && cs_server_of(cluster, *rank) == server ? 1 : 0;
}

/* The ranks to which the steps of the histories belong when those who are not there do not count:
 * where a rank is missing, all servers have histories. */
static void number_ranks(cs_caller *caller, const cs_call *call)
{
    const cs_cluster *cluster = &caller->job->call.scenario.cluster;
    uint32_t          gone    = 0;

    for (size_t h = 0; h < caller->timeline->n_histories; h++) {
        uint32_t server  = caller->timeline->histories[h].server;
        caller->ranks[h] = cs_server_first(cluster, server) - gone;
        gone += call->members.is_excluded[h] ? cs_server_gpus(cluster, server)
                                             : missing_of(cluster, call, server);
    }
}

/* The servers that are there: their GPUs and rates. Returns how many. */
static uint32_t list_servers(cs_caller *caller, const cs_call *call)
{
    const cs_cluster *all = &caller->job->call.scenario.cluster;
    uint32_t          n = cs_n_servers(all), next = 0;

    for (uint32_t server = 0, h = 0; server < n; server++) {
        bool has_history =
            h < caller->timeline->n_histories && caller->timeline->histories[h].server == server;
        bool is_gone       = has_history && call->members.is_excluded[h];
        caller->gpus[next] = cs_server_gpus(all, server) - missing_of(all, call, server);
        if (all->servers != NULL) {
            caller->servers[next] = all->servers[server];
        }
        next += !is_gone;
        h += has_history;
    }
    return next;
}

/* The cluster of those who are there. */
static cs_cluster cluster_of(cs_caller *caller, const cs_call *call)
{
    const cs_cluster *all     = &caller->job->call.scenario.cluster;
    cs_cluster        cluster = *all;
    bool              differ  = !cs_is_even(all) || call->members.missing != NULL;
    uint32_t          next    = 0;

    for (size_t h = 0; h < caller->timeline->n_histories; h++) {
        uint32_t server = caller->timeline->histories[h].server;
        cluster.n_ranks -= call->members.is_excluded[h] ? cs_server_gpus(all, server)
                                                        : missing_of(all, call, server);
    }
    if (all->servers != NULL || differ) {
        next = list_servers(caller, call);
    }
    if (next > 0 && differ) {
        cs_cluster_set_gpus(&cluster, caller->gpus, next, &caller->uneven);
    }
    if (next > 0 && all->servers != NULL) {
        cs_cluster_set_servers(&cluster, caller->servers);
    }
    return cluster;
}

/* Is there a network for those who are there? One that is made for its servers has none without
 * them. */
static cs_status check_network(const cs_caller *caller, const cs_cluster *cluster, cs_error *err)
{
    const cs_cluster *all      = &caller->job->call.scenario.cluster;
    cs_scenario       scenario = caller->job->call.scenario;

    scenario.cluster = *cluster;
    if (cluster->n_ranks == all->n_ranks || all->topology == NULL ||
        cs_scenario_check(&scenario, NULL) == CS_OK) {
        return CS_OK;
    }
    return CS_FAIL(err, CS_ENOTSUP, "cluster.topology",
                   "is made for all servers, and one has left: accepted are networks that are "
                   "generated for any number of servers, and port models");
}

static bool is_replaced(const cs_call *call, size_t history)
{
    return call->members.is_replaced != NULL && call->members.is_replaced[history];
}

static double planned_slowdown(const cs_call *call, size_t history)
{
    return call->known != NULL && !is_replaced(call, history) ? call->known[history] : 1;
}

/* The schedule's network: what is known, for ever. Returns the number of steps. A dead server
 * cannot be planned for: false in *is_possible_p. */
static size_t plan_capacity(cs_caller *caller, const cs_call *call, bool *is_possible_p)
{
    size_t n = 0;

    *is_possible_p = true;
    for (size_t h = 0; h < caller->timeline->n_histories; h++) {
        double slowdown = planned_slowdown(call, h);
        if (call->members.is_excluded[h] || slowdown <= 1) {
            continue;
        }
        *is_possible_p = *is_possible_p && !isinf(slowdown);
        caller->planned[n++] =
            (cs_capacity){caller->ranks[h], slowdown, 0, (double)INFINITY, false};
    }
    return n;
}

/* The network as it is now, for ever, beside the row. Is no needed server dead? */
static bool state_now(cs_caller *caller, const cs_call *call, size_t *n_p)
{
    bool   is_alive = true;
    size_t n        = 0;

    for (size_t h = 0; h < caller->timeline->n_histories; h++) {
        const cs_history *history  = &caller->timeline->histories[h];
        bool              excluded = call->members.is_excluded[h];
        double            slowdown = excluded ? GONE
                                     : is_replaced(call, h)
                                         ? 1
                                         : cs_slowdown_at(history->spans, history->n_spans, call->start_s);
        caller->row[2 * h]         = slowdown;
        caller->row[2 * h + 1]     = excluded ? GONE : planned_slowdown(call, h);
        is_alive                   = is_alive && !isinf(slowdown);
        if (slowdown > 1) {
            caller->actual[n++] =
                (cs_capacity){caller->ranks[h], slowdown, 0, (double)INFINITY, false};
        }
    }
    caller->row[caller->n_row - 2] = call->members.missing != NULL;
    caller->row[caller->n_row - 1] = (double)call->arrival_id;
    *n_p                           = n;
    return is_alive;
}

/* The network from the call's start on, in the call's time: spans that begin before the window
 * ends. Were there later ones? When does the first server die for ever (INFINITY: none)? */
static size_t state_over_time(cs_caller *caller, const cs_call *call, double window_s,
                              double dead_slowdown, bool *has_more_p, double *dead_from_s_p)
{
    double t = call->start_s;
    size_t n = 0;

    *has_more_p    = false;
    *dead_from_s_p = (double)INFINITY;
    for (size_t h = 0; h < caller->timeline->n_histories; h++) {
        const cs_history *history = &caller->timeline->histories[h];
        for (size_t i = cs_capacity_after(history->spans, history->n_spans, t);
             !call->members.is_excluded[h] && !is_replaced(call, h) && i < history->n_spans; i++) {
            cs_capacity step = history->spans[i];
            step.rank        = caller->ranks[h];
            step.from_s      = fmax(step.from_s - t, 0);
            step.until_s -= t;
            if (step.from_s >= window_s) {
                *has_more_p = true;
                break;
            }
            if (isinf(step.slowdown)) {
                bool is_for_ever = isinf(step.until_s);
                *dead_from_s_p   = is_for_ever ? fmin(*dead_from_s_p, step.from_s) : *dead_from_s_p;
                step.slowdown    = is_for_ever ? dead_slowdown : CS_MAX_SLOWDOWN;
            }
            caller->actual[n++] = step;
        }
    }
    return n;
}

/* The call's schedule for what is known, in caller->plan. The last one is kept: to build it may
 * take longer than to replay it. */
static cs_status make_plan(cs_caller *caller, const cs_call *call, size_t n_planned, cs_error *err)
{
    size_t n      = caller->timeline->n_histories;
    cs_job wanted = caller->job->call;

    for (size_t h = 0; h < n; h++) {
        caller->plan_want[h] = call->members.is_excluded[h] ? GONE : planned_slowdown(call, h);
    }
    caller->plan_want[n]       = (double)call->arrival_id;
    caller->plan_want[n + 1]   = call->members.missing != NULL;
    wanted.scenario.cluster    = cluster_of(caller, call);
    wanted.scenario.capacity   = caller->planned;
    wanted.scenario.n_capacity = n_planned;
    wanted.scenario.arrival_s  = call->arrival_s;
    if (caller->plan_of == call->schedule &&
        memcmp(caller->plan_key, caller->plan_want, (n + 2) * sizeof *caller->plan_key) == 0) {
        caller->plan.scenario = wanted.scenario; /* the same, in today's memory */
        return CS_OK;
    }
    cs_job_release(&caller->plan);
    cs_job_set_algorithm(&wanted, call->schedule->algorithm, &call->schedule->options);
    caller->plan    = wanted;
    caller->plan_of = NULL;
    CS_TRY(cs_job_resolve(&caller->plan, err));
    memcpy(caller->plan_key, caller->plan_want, (n + 2) * sizeof *caller->plan_key);
    caller->plan_of = call->schedule;
    return CS_OK;
}

/* Replay the call on the first `n_actual` actual steps. */
static cs_status replay(cs_caller *caller, const cs_call *call, size_t n_planned, size_t n_actual,
                        double *elapsed_s_p, cs_error *err)
{
    cs_job     actual          = caller->job->call;
    cs_outcome outcome         = {0};
    actual.scenario.cluster    = cluster_of(caller, call);
    actual.scenario.capacity   = caller->actual;
    actual.scenario.n_capacity = n_actual;
    actual.scenario.arrival_s  = call->arrival_s;
    CS_TRY(cs_scenario_check(&actual.scenario, err));
    CS_TRY(make_plan(caller, call, n_planned, err));

    const planned_options options = {&caller->plan};
    cs_job_set_algorithm(&actual, &planned_algorithm, &options);
    actual.is_checked = true;
    cs_status status  = cs_job_resolve(&actual, err);
    if (status == CS_OK) {
        status = cs_job_replay(&actual, NULL, 0, &outcome, err);
    }
    caller->n_replays += status == CS_OK;
    if (status == CS_OK && !outcome.verified) {
        status = CS_FAIL(err, CS_EINTERNAL, "", "%s is not a correct %s: %s",
                         call->schedule->algorithm->name,
                         cs_collective_name(actual.scenario.collective), outcome.verdict.text);
    }
    cs_job_release(&actual);
    if (status == CS_OK) {
        *elapsed_s_p = outcome.elapsed_s;
    }
    return status;
}

/* The time of the row of the call on constant NICs, from the store or by a replay. */
static cs_status constant_time(cs_caller *caller, const cs_call *call, size_t n_planned,
                               size_t n_actual, double *elapsed_s_p, cs_error *err)
{
    size_t bytes = caller->n_row * sizeof *caller->row;

    for (size_t i = 0; i < caller->n_kept; i++) {
        if (caller->kept[i].schedule == call->schedule &&
            memcmp(caller->rows + i * caller->n_row, caller->row, bytes) == 0) {
            *elapsed_s_p = caller->kept[i].elapsed_s;
            return CS_OK;
        }
    }
    CS_TRY(replay(caller, call, n_planned, n_actual, elapsed_s_p, err));
    caller->n_kept = caller->n_kept == caller->max_kept ? 0 : caller->n_kept;
    memcpy(caller->rows + caller->n_kept * caller->n_row, caller->row, bytes);
    caller->kept[caller->n_kept++] = (kept_time){call->schedule, *elapsed_s_p};
    return CS_OK;
}

/* Replay with capacity over time. A call that depends on how slow a NIC is that is dead for ever
 * never ends. */
static cs_status changing_time(cs_caller *caller, const cs_call *call, size_t n_planned,
                               double window_s, double *elapsed_s_p, cs_error *err)
{
    double elapsed_s = 0, again_s = 0, dead_from_s;
    bool   has_more = true;

    for (; has_more; window_s = 2 * fmax(window_s, elapsed_s)) {
        size_t n =
            state_over_time(caller, call, window_s, CS_MAX_SLOWDOWN, &has_more, &dead_from_s);
        CS_TRY(replay(caller, call, n_planned, n, &elapsed_s, err));
        has_more = has_more && elapsed_s > window_s;
    }
    if (elapsed_s > dead_from_s) {
        size_t n = state_over_time(caller, call, window_s, LESS_SLOWDOWN, &has_more, &dead_from_s);
        CS_TRY(replay(caller, call, n_planned, n, &again_s, err));
        elapsed_s = again_s != elapsed_s ? (double)INFINITY : elapsed_s;
    }
    *elapsed_s_p = elapsed_s;
    return CS_OK;
}

static cs_status time_call(cs_caller *caller, const cs_call *call, size_t n_planned,
                           double *elapsed_s_p, cs_error *err)
{
    double next_s   = cs_next_event(caller->timeline, call->start_s) - call->start_s;
    double window_s = fmin(next_s, 1), constant_s = 0;
    size_t n_actual;

    if (state_now(caller, call, &n_actual)) {
        CS_TRY(constant_time(caller, call, n_planned, n_actual, &constant_s, err));
        if (constant_s <= next_s) {
            *elapsed_s_p = constant_s;
            return CS_OK;
        }
        window_s = FIRST_WINDOW * constant_s;
    }
    return changing_time(caller, call, n_planned, window_s, elapsed_s_p, err);
}

/* Keep a call without a fault if it is the best one. */
static void keep_best(cs_caller *caller, const cs_call *call, double healthy_s)
{
    const char     *name   = call->schedule->algorithm->name;
    const cs_field *option = cs_field_find(call->schedule->algorithm->options, "chosen");
    char            chosen[32];

    if (!(healthy_s < caller->best.elapsed_s)) {
        return;
    }
    caller->best.elapsed_s = healthy_s;
    snprintf(caller->best.name, sizeof caller->best.name, "%s", name);
    if (option != NULL) {
        (void)cs_field_text(option, &caller->plan.options, chosen, sizeof chosen);
        if (strcmp(chosen, name) != 0) {
            snprintf(caller->best.name, sizeof caller->best.name, "%s (run by %s)", chosen, name);
        }
    }
}

/* Hold a call of all servers against the best one without a fault. */
static cs_status compare_best(cs_caller *caller, const cs_call *call, size_t n_planned,
                              double elapsed_s, cs_error *err)
{
    double healthy_s  = elapsed_s;
    bool   is_healthy = caller->timeline->n_histories == 0;

    if (!is_healthy && !(elapsed_s < caller->best.elapsed_s * (1 - ROUNDING))) {
        return CS_OK;
    }
    if (!is_healthy) {
        CS_TRY(replay(caller, call, n_planned, 0, &healthy_s, err));
    }
    if (elapsed_s < healthy_s * (1 - ROUNDING)) {
        return CS_FAIL(err, CS_EINTERNAL, "faults",
                       "a call of %s takes %.17g s with faults, and %.17g s without",
                       call->schedule->algorithm->name, elapsed_s, healthy_s);
    }
    keep_best(caller, call, healthy_s);
    return CS_OK;
}

cs_status cs_call_time(cs_caller *caller, const cs_call *call, double *elapsed_s_p, cs_error *err)
{
    bool is_possible;
    number_ranks(caller, call);
    size_t     n_planned = plan_capacity(caller, call, &is_possible);
    cs_cluster cluster   = cluster_of(caller, call);
    uint32_t   n_ranks   = cluster.n_ranks;

    if (!is_possible) {
        return CS_FAIL(err, CS_ENOTSUP, "faults", "a server has no NIC left to plan for");
    }
    if (n_ranks < 2) {
        *elapsed_s_p = 0;
        return CS_OK;
    }
    CS_TRY(check_network(caller, &cluster, err));
    CS_TRY(time_call(caller, call, n_planned, elapsed_s_p, err));
    if (call->arrival_id > 0 || n_ranks < caller->job->call.scenario.cluster.n_ranks) {
        return CS_OK;
    }
    return compare_best(caller, call, n_planned, *elapsed_s_p, err);
}

/* ---- probes ---- */

cs_status cs_call_probes(cs_caller *caller, const double *slowdowns, const cs_members *members,
                         double barrier_s, double *elapsed_s_p, cs_error *err)
{
    cs_call            call    = {.known   = slowdowns,
                                  .members = {caller->is_gone, members->missing, members->is_replaced}};
    cs_profile_options options = cs_profile_defaults();
    cs_job             job     = caller->job->call;
    bool               is_possible;

    for (size_t h = 0; h < caller->timeline->n_histories; h++) {
        caller->is_gone[h] = members->is_excluded[h] || isinf(slowdowns[h]);
    }
    number_ranks(caller, &call);
    options.barrier_s       = barrier_s;
    job.scenario.n_capacity = plan_capacity(caller, &call, &is_possible);
    job.scenario.capacity   = caller->planned;
    job.scenario.cluster    = cluster_of(caller, &call);
    if (job.scenario.cluster.n_ranks < 2) {
        *elapsed_s_p = 0;
        return CS_OK;
    }
    CS_TRY(check_network(caller, &job.scenario.cluster, err));
    return cs_profile_time(&job, &options, elapsed_s_p, err);
}

/* ---- which schedule is it? ---- */

static uint64_t hash_of(uint64_t hash, const cs_block *block)
{
    if ((block->transfers[0].flags & CS_FENCE) != 0) {
        hash = cs_hash_add(hash, &block->fence_except, sizeof block->fence_except);
        hash = cs_hash_add(hash, &block->fence_s, sizeof block->fence_s);
    }
    return cs_hash_add(hash, block->transfers, block->count * sizeof *block->transfers);
}

static cs_status hash_stream(const cs_job *job, uint64_t *hash_p, cs_error *err)
{
    cs_transfer transfers[HASHED];
    cs_block    block = {.transfers = transfers, .capacity = HASHED};
    uint64_t    hash  = CS_HASH_BASIS;
    void       *state = NULL;

    CS_TRY(cs_job_open(job, &state, err));
    for (job->algorithm->next_block(state, &block); block.count > 0;
         job->algorithm->next_block(state, &block)) {
        hash = hash_of(hash, &block);
    }
    job->algorithm->close(state);
    *hash_p = hash;
    return CS_OK;
}

cs_status cs_call_schedule(cs_caller *caller, const cs_call *call, uint64_t *hash_p, cs_error *err)
{
    bool is_possible;
    number_ranks(caller, call);
    size_t n_planned = plan_capacity(caller, call, &is_possible);

    if (!is_possible) {
        return CS_FAIL(err, CS_ENOTSUP, "faults", "a server has no NIC left to plan for");
    }
    if (cluster_of(caller, call).n_ranks < 2) { /* nothing is sent */
        *hash_p = CS_HASH_BASIS;
        return CS_OK;
    }
    CS_TRY(make_plan(caller, call, n_planned, err));
    return hash_stream(&caller->plan, hash_p, err);
}
