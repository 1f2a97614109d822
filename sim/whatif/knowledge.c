/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a policy knows: see whatif/knowledge.h. */
#include "whatif/knowledge.h"

#include <math.h>
#include <string.h>

cs_status cs_knowledge_open(cs_knowledge *knowledge, cs_arena *arena, cs_error *err)
{
    size_t n = knowledge->timeline->n_histories;

    knowledge->seen     = CS_ARENA_NEW(arena, double, n + 1);
    knowledge->plan     = CS_ARENA_NEW(arena, double, n + 1);
    knowledge->left_out = CS_ARENA_NEW(arena, bool, n + 1);
    knowledge->probes_s = (double)NAN;
    return knowledge->seen != NULL && knowledge->plan != NULL && knowledge->left_out != NULL
               ? CS_OK
               : CS_NO_MEMORY(err, "what a policy knows");
}

/* How long the probes take of what was seen, or what the job says. */
static cs_status find_probes_s(const cs_knowledge *k, const cs_members *members, double *probes_s_p,
                               cs_error *err)
{
    const cs_profiling *profiling = &k->job->profiling;
    cs_error            wrong     = {0};

    if (!isnan(profiling->duration_s)) {
        *probes_s_p = profiling->duration_s;
        return CS_OK;
    }
    cs_status status =
        cs_call_probes(k->caller, k->seen, members, profiling->barrier_s, probes_s_p, &wrong);
    if (status == CS_OK) {
        return CS_OK;
    }
    bool is_network = strcmp(wrong.where, "cluster.topology") == 0;
    return cs_status_is_refusal(status) && !is_network
               ? CS_FAIL(err, status, "profile.duration", "is not known: %s", wrong.message)
               : CS_FAIL(err, status, wrong.where, "%s", wrong.message);
}

/* ---- which schedule ---- */

/* The schedule for `plan`: its hash; false in *is_possible_p where the algorithm refuses. */
static cs_status try_plan(const cs_knowledge *k, const double *plan, const cs_members *members,
                          uint64_t *hash_p, bool *is_possible_p, cs_error *refusal, cs_error *err)
{
    cs_call   call   = {.schedule = &k->policy->schedule, .known = plan, .members = *members};
    cs_error  wrong  = {0};
    cs_status status = cs_call_schedule(k->caller, &call, hash_p, &wrong);

    *is_possible_p = status == CS_OK;
    if (status != CS_OK && !cs_status_is_refusal(status)) {
        return CS_FAIL(err, status, wrong.where, "%s", wrong.message);
    }
    if (status != CS_OK && refusal->status == CS_OK) {
        *refusal = wrong;
    }
    return CS_OK;
}

/* Slowdowns relative to the second fastest of the servers that are there; false: they are all so
 * already. */
static bool level(const double *seen, const bool *is_excluded, size_t n, double *plan)
{
    double first = (double)INFINITY, second = (double)INFINITY;

    for (size_t h = 0; h < n; h++) {
        if (!is_excluded[h]) {
            second = fmin(second, fmax(first, seen[h]));
            first  = fmin(first, seen[h]);
        }
    }
    for (size_t h = 0; h < n; h++) {
        plan[h] = fmax(1, seen[h] / second);
    }
    return second > 1 && !isinf(second);
}

/* See the rates of now; is anything else than at the last profile? */
static bool look(cs_knowledge *k, double now_s, const cs_members *members)
{
    bool is_other = !k->is_taken || k->missing != members->missing;

    for (size_t h = 0; h < k->timeline->n_histories; h++) {
        const cs_history *history  = &k->timeline->histories[h];
        double            slowdown = cs_slowdown_at(history->spans, history->n_spans, now_s);
        is_other = is_other || slowdown != k->seen[h] || members->is_excluded[h] != k->left_out[h];
        k->seen[h]     = slowdown;
        k->left_out[h] = members->is_excluded[h];
    }
    k->missing  = members->missing;
    k->is_taken = true;
    return is_other;
}

cs_status cs_knowledge_take(cs_knowledge *k, double now_s, const cs_members *members,
                            double *probes_s_p, bool *is_other_p, cs_error *err)
{
    size_t   n    = k->timeline->n_histories;
    uint64_t hash = 0;
    bool     is_possible;

    *is_other_p = look(k, now_s, members);
    if (probes_s_p != NULL && (*is_other_p || isnan(k->probes_s))) {
        CS_TRY(find_probes_s(k, members, &k->probes_s, err));
    } else if (*is_other_p) {
        k->probes_s = (double)NAN;
    }
    if (probes_s_p != NULL) {
        *probes_s_p = k->probes_s;
    }
    if (!*is_other_p) {
        return CS_OK;
    }
    memcpy(k->plan, k->seen, n * sizeof *k->plan);
    CS_TRY(try_plan(k, k->plan, members, &hash, &is_possible, &k->refusal, err));
    if (!is_possible && level(k->seen, members->is_excluded, n, k->plan)) {
        CS_TRY(try_plan(k, k->plan, members, &hash, &is_possible, &k->refusal, err));
    }
    hash        = is_possible ? hash : 0;
    *is_other_p = is_possible != k->has_plan || hash != k->hash;
    k->has_plan = is_possible;
    k->hash     = hash;
    return CS_OK;
}

cs_status cs_knowledge_matters(const cs_knowledge *k, const cs_members *members, bool *matters_p,
                               cs_error *err)
{
    static const double slowdowns[] = {1, 1.25, 2, 8};
    size_t              n           = k->timeline->n_histories;
    uint64_t            healthy = 0, hash = 0;
    cs_error            refusal     = {0};
    bool                is_possible = true;

    *matters_p = false;
    for (size_t i = 0; i < 8 && !*matters_p; i++) {
        size_t server = i % 2 == 0 ? 0 : n - 1;
        for (size_t h = 0; h < n; h++) {
            k->plan[h] = h == server ? slowdowns[i / 2] : 1;
        }
        CS_TRY(try_plan(k, k->plan, members, &hash, &is_possible, &refusal, err));
        healthy    = i == 0 ? hash : healthy;
        *matters_p = is_possible && hash != healthy;
    }
    return CS_OK;
}
