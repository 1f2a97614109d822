/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Iteration times by state: see whatif/pace.h. Both tables are hash tables with open addressing;
 * the shared one is locked also while a state is replayed, so that no state is replayed twice. */
#include "whatif/pace.h"

#include "base/alloc.h"
#include "base/random.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { LEAST_ROOM = 256, REASON_BYTES = 320 };

typedef struct entry {
    const cs_whatif_schedule
                 *schedule; /* the job's: pace->job->schedule. NULL: the entry is free */
    cs_pace_state state;
    double        iteration_s;
} entry;

typedef struct table {
    entry *entries;
    size_t n, room; /* a power of two */
} table;

/* Why a schedule cannot run. */
typedef struct refusal {
    const cs_whatif_schedule *schedule;
    cs_pace_state             state;
    char                      reason[REASON_BYTES];
} refusal;

struct cs_pace {
    const cs_whatif_job *job;
    uint32_t             nics;      /* that bring a server down */
    const double        *slowdowns; /* [nics + 1] */
    pthread_mutex_t      lock;
    table                times;
    refusal             *refusals; /* one per schedule */
    size_t               n_refusals, room;
    cs_best_call         healthy; /* the best call of states without a fault */
    cs_best_call         best;    /* ... and of those that were held against it since */
};

struct cs_pace_view {
    cs_pace *pace;
    table    times;
};

double cs_pace_iteration(const cs_whatif_job *job, double call_s)
{
    double calls_s = 0, head_s = (1 - job->overlap_ratio) * job->compute_s;

    for (uint32_t i = 0; i < job->calls; i++) {
        calls_s += call_s;
    }
    return fmax(job->compute_s, head_s + calls_s);
}

/* ---- tables ---- */

static bool is_same(const cs_pace_state *a, const cs_pace_state *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static size_t slot_of(const table *t, const cs_whatif_schedule *schedule,
                      const cs_pace_state *state)
{
    uint64_t words[(sizeof *state + 7) / 8] = {0}, hash = (uintptr_t)schedule;

    memcpy(words, state, sizeof *state);
    for (size_t i = 0; i < (sizeof *state + 7) / 8; i++) {
        hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    size_t at = (size_t)cs_mix64(hash) & (t->room - 1);
    while (t->entries[at].schedule != NULL &&
           !(t->entries[at].schedule == schedule && is_same(&t->entries[at].state, state))) {
        at = (at + 1) & (t->room - 1);
    }
    return at;
}

static bool table_make(table *t, size_t room)
{
    *t = (table){.entries = CS_NEW(entry, room), .room = room};
    return t->entries != NULL;
}

static bool table_put(table *t, const entry *e)
{
    if (2 * (t->n + 1) > t->room) {
        table larger;
        if (!table_make(&larger, 2 * t->room)) {
            return false;
        }
        for (size_t i = 0; i < t->room; i++) {
            const entry *old = &t->entries[i];
            if (old->schedule != NULL) {
                larger.entries[slot_of(&larger, old->schedule, &old->state)] = *old;
            }
        }
        larger.n = t->n;
        cs_free(t->entries);
        *t = larger;
    }
    t->entries[slot_of(t, e->schedule, &e->state)] = *e;
    t->n++;
    return true;
}

static const entry *table_get(const table *t, const cs_whatif_schedule *schedule,
                              const cs_pace_state *state)
{
    const entry *e = &t->entries[slot_of(t, schedule, state)];
    return e->schedule != NULL ? e : NULL;
}

/* ---- life ---- */

uint32_t cs_pace_nics(const cs_pace_view *view)
{
    return view->pace->nics;
}

cs_status cs_pace_new(const cs_whatif_job *job, const double *slowdowns, uint32_t nics,
                      cs_pace **pace_p, cs_error *err)
{
    cs_pace *pace = CS_NEW(cs_pace, 1);

    if (pace == NULL || !table_make(&pace->times, LEAST_ROOM)) {
        cs_free(pace);
        return CS_NO_MEMORY(err, "the states of a job");
    }
    pace->job       = job;
    pace->slowdowns = slowdowns;
    while (pace->nics < nics && !isinf(slowdowns[pace->nics])) {
        pace->nics++;
    }
    pace->healthy = (cs_best_call){.elapsed_s = (double)INFINITY};
    pace->best    = pace->healthy;
    (void)pthread_mutex_init(&pace->lock, NULL);
    *pace_p = pace;
    return CS_OK;
}

void cs_pace_free(cs_pace *pace)
{
    if (pace != NULL) {
        (void)pthread_mutex_destroy(&pace->lock);
        cs_free(pace->times.entries);
        cs_free(pace->refusals);
        cs_free(pace);
    }
}

cs_status cs_pace_view_new(cs_pace *pace, cs_pace_view **view_p, cs_error *err)
{
    cs_pace_view *view = CS_NEW(cs_pace_view, 1);

    if (view == NULL || !table_make(&view->times, LEAST_ROOM)) {
        cs_free(view);
        return CS_NO_MEMORY(err, "the states of a job");
    }
    view->pace = pace;
    *view_p    = view;
    return CS_OK;
}

void cs_pace_view_free(cs_pace_view *view)
{
    if (view != NULL) {
        cs_free(view->times.entries);
        cs_free(view);
    }
}

/* ---- a state is replayed ---- */

/* A network on which a state lasts for ever. */
typedef struct frozen {
    cs_timeline  timeline; /* its histories are in its arena */
    cs_capacity *spans;
    double      *known; /* [histories] */
    bool        *is_out;
} frozen;

static bool freeze(const cs_pace *pace, const cs_pace_state *state, frozen *f)
{
    const cs_cluster *cluster = &pace->job->call.scenario.cluster;
    size_t            n = state->out, at = 0;

    for (uint32_t k = 0; k < pace->nics; k++) {
        n += state->dead[k];
    }
    cs_history *histories = CS_ARENA_NEW(&f->timeline.arena, cs_history, n + 1);
    f->spans              = CS_ARENA_NEW(&f->timeline.arena, cs_capacity, n + 1);
    f->known              = CS_ARENA_NEW(&f->timeline.arena, double, n + 1);
    f->is_out             = CS_ARENA_NEW(&f->timeline.arena, bool, n + 1);
    if (histories == NULL || f->spans == NULL || f->known == NULL || f->is_out == NULL) {
        return false;
    }
    for (uint32_t k = pace->nics; k-- > 0;) {
        for (uint32_t i = 0; i < state->dead[k]; i++, at++) {
            uint32_t server = (uint32_t)at;
            f->known[at]    = pace->slowdowns[k + 1];
            f->spans[at]    = (cs_capacity){.rank     = cs_server_first(cluster, server),
                                            .slowdown = f->known[at],
                                            .until_s  = (double)INFINITY};
            histories[at]   = (cs_history){server, &f->spans[at], 1, NULL, 0};
        }
    }
    for (uint32_t i = state->out; i-- > 0; at++) {
        histories[at] = (cs_history){.server = cs_n_servers(cluster) - 1 - i};
        f->is_out[at] = true;
        f->known[at]  = 1;
    }
    f->timeline.histories   = histories;
    f->timeline.n_histories = n;
    return true;
}

/* Threads come to states in any order: calls with faults are all held against the same one. */
static void keep_best(cs_pace *pace, const frozen *f, const cs_best_call *found)
{
    int order =
        (found->elapsed_s > pace->best.elapsed_s) - (found->elapsed_s < pace->best.elapsed_s);

    if (order < 0 || (order == 0 && strcmp(found->name, pace->best.name) < 0)) {
        pace->best = *found;
    }
    if (f->timeline.n_histories == 0) {
        pace->healthy = pace->best;
    }
}

static cs_status replay(cs_pace *pace, const frozen *f, const cs_whatif_schedule *schedule,
                        double *call_s_p, cs_error *err)
{
    bool       is_own = schedule != &pace->job->schedule;
    cs_call    call   = {.schedule = schedule,
                         .known    = is_own ? f->known : NULL,
                         .members  = {.is_excluded = f->is_out}};
    cs_caller *caller = NULL;

    CS_TRY(cs_caller_new(pace->job, &f->timeline, &caller, err));
    *cs_caller_best(caller) = pace->healthy;
    cs_status status        = cs_call_time(caller, &call, call_s_p, err);
    keep_best(pace, f, cs_caller_best(caller));
    cs_caller_free(caller);
    return status;
}

/* Keep why a schedule cannot run, of all states the first. */
static bool refuse(cs_pace *pace, const cs_whatif_schedule *schedule, const cs_pace_state *state,
                   const cs_error *why)
{
    static const cs_pace_state whole;
    size_t                     i = 0;

    if (memcmp(&whole, state, sizeof whole) == 0) { /* it runs on dead NICs alone */
        return true;
    }
    while (i < pace->n_refusals && pace->refusals[i].schedule != schedule) {
        i++;
    }
    if (i < pace->n_refusals && memcmp(&pace->refusals[i].state, state, sizeof *state) <= 0) {
        return true;
    }
    if (i == pace->n_refusals) {
        if (!cs_grow(&pace->refusals, &pace->room, i + 1, 4, sizeof *pace->refusals)) {
            return false;
        }
        pace->n_refusals++;
    }
    pace->refusals[i] = (refusal){.schedule = schedule, .state = *state};
    (void)snprintf(pace->refusals[i].reason, REASON_BYTES, "%s", why->message);
    return true;
}

static cs_status time_frozen(cs_pace *pace, const frozen *f, entry *e, cs_error *err)
{
    const cs_whatif_schedule *own   = &pace->job->schedule;
    cs_error                  wrong = {0};
    double                    call_s;
    cs_status                 status = replay(pace, f, e->schedule, &call_s, &wrong);

    if (status != CS_OK && e->schedule != own && cs_status_is_refusal(status)) {
        if (!refuse(pace, e->schedule, &e->state, &wrong)) {
            return CS_NO_MEMORY(err, "the states of a job");
        }
        wrong  = (cs_error){0};
        status = replay(pace, f, own, &call_s, &wrong);
    }
    if (status != CS_OK) {
        return CS_FAIL(err, status, wrong.where, "%s", wrong.message);
    }
    e->iteration_s = cs_pace_iteration(pace->job, call_s);
    return CS_OK;
}

static cs_status time_state(cs_pace *pace, entry *e, cs_error *err)
{
    frozen    f      = {.spans = NULL};
    cs_status status = freeze(pace, &e->state, &f) ? time_frozen(pace, &f, e, err)
                                                   : CS_NO_MEMORY(err, "the states of a job");

    cs_timeline_free(&f.timeline);
    if (status == CS_OK && !table_put(&pace->times, e)) {
        return CS_NO_MEMORY(err, "the states of a job");
    }
    return status;
}

cs_status cs_pace_time(cs_pace_view *view, const cs_whatif_schedule *schedule,
                       const cs_pace_state *state, double *iteration_s_p, cs_error *err)
{
    cs_pace     *pace   = view->pace;
    entry        e      = {schedule != NULL ? schedule : &pace->job->schedule, *state, 0};
    const entry *kept   = table_get(&view->times, e.schedule, state);
    cs_status    status = CS_OK;

    if (kept != NULL) {
        *iteration_s_p = kept->iteration_s;
        return CS_OK;
    }
    (void)pthread_mutex_lock(&pace->lock);
    kept = table_get(&pace->times, e.schedule, state);
    if (kept != NULL) {
        e.iteration_s = kept->iteration_s;
    } else {
        status = time_state(pace, &e, err);
    }
    (void)pthread_mutex_unlock(&pace->lock);
    if (status == CS_OK && !table_put(&view->times, &e)) {
        return CS_NO_MEMORY(err, "the states of a job");
    }
    *iteration_s_p = e.iteration_s;
    return status;
}

const cs_best_call *cs_pace_best(const cs_pace *pace)
{
    return &pace->best;
}

uint64_t cs_pace_states(const cs_pace *pace)
{
    return pace->times.n;
}

const char *cs_pace_refusal(const cs_pace *pace, const cs_whatif_schedule *schedule)
{
    for (size_t i = 0; i < pace->n_refusals; i++) {
        if (pace->refusals[i].schedule == schedule) {
            return pace->refusals[i].reason;
        }
    }
    return NULL;
}
