/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From what was asked for to a result: decide what runs, replay it, put formulas and bounds beside
 * the time; and how fast a replay will be. */
#include "cs/job.h"

#include "base/alloc.h"
#include "cs/build.h"
#include "cs/result.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include <time.h>

/* The last digits of two sums of as many times in another order: a bound is not above a time that
 * attains it. */
#define ROUNDING 1e-9

/* ---- what runs ---- */

static void set_options(cs_options *to, const cs_field *table, const void *from, size_t bytes)
{
    *to = (cs_options){0};
    if (from == NULL) {
        cs_fields_default(table, to);
    } else {
        memcpy(to, from, bytes);
    }
}

void cs_job_set_algorithm(cs_job *job, const cs_algorithm *algorithm, const void *options)
{
    job->algorithm = algorithm;
    set_options(&job->options, algorithm->options, options, algorithm->options_bytes);
}

void cs_job_set_model(cs_job *job, const cs_model *model, const void *options)
{
    job->model = model;
    set_options(&job->model_options, model->options, options, model->options_bytes);
}

double cs_job_closed_form_s(const cs_job *job)
{
    const cs_algorithm *algorithm = job->algorithm;

    return algorithm->closed_form_s != NULL &&
                   cs_closed_forms_hold(job->model, &job->scenario, &job->model_options,
                                        job->plan.uses)
               ? algorithm->closed_form_s(&job->scenario, &job->options)
               : (double)NAN;
}

/* Also of a plan, where there is one already. */
static cs_status check_model(const cs_job *job, cs_error *err)
{
    if (job->model == NULL) {
        return CS_OK;
    }
    if ((job->plan.uses & CS_USES_SWITCH) != 0 && job->scenario.cluster.topology != NULL) {
        return CS_FAIL(err, CS_ENOTSUP, "cluster.topology",
                       "the schedule lets switches of servers add up, which no topology has: "
                       "accepted is {\"kind\": \"crossbar\"}");
    }
    if ((job->plan.uses & CS_USES_SWITCH) != 0 && !job->model->takes_switches) {
        return CS_FAIL(err, CS_ENOTSUP, "model.name",
                       "model %s has no switches that add up, which the schedule needs: accepted "
                       "are alpha-beta, loggp and flow",
                       job->model->name);
    }
    return job->model->check != NULL ? job->model->check(&job->scenario, &job->model_options, err)
                                     : CS_OK;
}

/* What algorithms that choose among schedules ask: a job of its own. */
static cs_status forecast_elapsed_s(const cs_forecast *forecast, const cs_scenario *scenario,
                                    const cs_algorithm *algorithm, const void *options,
                                    const cs_plan *plan, double *elapsed_s_p, cs_error *err)
{
    cs_job     job = {.scenario = *scenario, .is_resolved = true, .plan = *plan};
    cs_outcome outcome;

    cs_job_set_algorithm(&job, algorithm, options);
    cs_job_set_model(&job, forecast->model, forecast->model_options);
    *elapsed_s_p = (double)INFINITY;
    if (check_model(&job, NULL) != CS_OK) {
        return CS_OK;
    }
    double exact_s = cs_job_closed_form_s(&job);
    if (!isnan(exact_s)) {
        *elapsed_s_p = exact_s;
        return CS_OK;
    }
    CS_TRY(cs_job_replay(&job, NULL, 0, &outcome, err));
    *elapsed_s_p = outcome.elapsed_s;
    return CS_OK;
}

cs_forecast cs_job_forecast(const cs_job *job, cs_options *theirs)
{
    const cs_model *model   = job->model;
    const cs_model *cheaper = model != NULL && model->forecasts_by != NULL
                                  ? model->forecasts_by(&job->model_options, theirs)
                                  : NULL;

    return cheaper != NULL ? (cs_forecast){forecast_elapsed_s, cheaper, theirs}
                           : (cs_forecast){forecast_elapsed_s, model, &job->model_options};
}

cs_status cs_job_resolve(cs_job *job, cs_error *err)
{
    cs_options        theirs;
    const cs_forecast forecast = cs_job_forecast(job, &theirs);
    cs_scenario       asked    = job->scenario;
    cs_status         status   = CS_OK;

    if (job->is_resolved) {
        return CS_OK;
    }
    if (!job->is_checked) {
        status          = cs_scenario_check(&job->scenario, err);
        job->is_checked = status == CS_OK;
    }
    if (status == CS_OK && job->algorithm != NULL) {
        if (asked.forecast == NULL && job->model != NULL) {
            asked.forecast = &forecast;
        }
        status = cs_algorithm_check(job->algorithm, &asked, &job->options, &job->plan, err);
    }
    if (status == CS_OK) {
        status = check_model(job, err);
    }
    if (status != CS_OK) {
        cs_job_release(job);
        return status;
    }
    job->is_resolved = true;
    return CS_OK;
}

void cs_job_release(cs_job *job)
{
    if (job->algorithm != NULL) {
        cs_plan_release(job->algorithm, &job->plan);
    }
    job->plan        = (cs_plan){0};
    job->is_resolved = false;
}

/* ---- the result ---- */

cs_bound_context cs_job_bounds(const cs_job *job)
{
    const cs_model  *model   = job->model;
    bool             shared  = cs_model_shares_ports(model, &job->model_options, job->plan.uses);
    cs_bound_context context = {.scenario             = &job->scenario,
                                .alpha_holds_port     = model->alpha_holds_port && !shared,
                                .alpha_per_message    = !shared,
                                .is_round_synchronous = job->plan.is_round_synchronous,
                                .ranks_relay          = job->plan.own_ready_s != NULL,
                                .uses_trees           = job->plan.uses_trees,
                                .uses_switches        = (job->plan.uses & CS_USES_SWITCH) != 0,
                                .uses_network_switch =
                                    (job->plan.uses & CS_USES_NETWORK_SWITCH) != 0};

    for (uint32_t f = 0; f < CS_FABRICS; f++) {
        context.latency_s[f] = model->latency_s(&job->scenario, &job->model_options, f);
    }
    return context;
}

static void set_bound(const cs_job *job, cs_result *result)
{
    const cs_bound_context context = cs_job_bounds(job);
    double                 bound_s = cs_best_bound(&context, &result->bound);

    bool is_met     = bound_s > result->elapsed_s && bound_s <= result->elapsed_s * (1 + ROUNDING);
    result->bound_s = is_met ? result->elapsed_s : bound_s;
    result->gap     = result->bound_s > 0 ? result->elapsed_s / result->bound_s : (double)NAN;
}

static bool has_alpha(const cs_cluster *cluster)
{
    bool has = false;

    for (uint32_t f = 0; f < cs_n_fabrics(cluster); f++) {
        has = has || cluster->fabrics[f].alpha_s > 0;
    }
    return has;
}

/* Formulas for the same time. Where nothing pays alpha, a published one is what the replay tends to
 * with ever smaller pieces, and stands for the closed form, too. */
static void set_formulas(const cs_job *job, cs_result *result)
{
    const cs_scenario *s        = &job->scenario;
    double             closed_s = cs_job_closed_form_s(job), published_s = (double)NAN;

    if (job->algorithm->published_form_s != NULL &&
        cs_closed_forms_hold(job->model, s, &job->model_options, job->plan.uses)) {
        published_s = job->algorithm->published_form_s(s, &job->options);
    }
    bool is_limit            = isnan(closed_s) && !has_alpha(&s->cluster);
    result->closed_form_s    = is_limit ? published_s : closed_s;
    result->published_form_s = published_s;
}

static void fill_result(const cs_job *job, const cs_outcome *outcome, cs_result *result)
{
    const cs_scenario *s = &job->scenario;

    *result            = (cs_result){.algorithm          = job->algorithm->name,
                                     .collective         = cs_collective_name(s->collective),
                                     .model              = job->model->name,
                                     .ranks              = s->cluster.n_ranks,
                                     .bytes              = s->bytes,
                                     .gpus_per_server    = s->cluster.gpus_per_server,
                                     .elapsed_s          = outcome->elapsed_s,
                                     .exposed_s          = outcome->exposed_s,
                                     .algbw_GBps         = (double)s->bytes / outcome->exposed_s / 1e9,
                                     .rounds             = job->plan.n_rounds,
                                     .transfers          = outcome->n_transfers,
                                     .wire_bytes         = outcome->wire_bytes,
                                     .critical_delay_s   = (double)NAN,
                                     .ideal_delay_s      = (double)NAN,
                                     .counts             = outcome->counts,
                                     .verified           = outcome->verified,
                                     .build              = cs_build(),
                                     .option_table       = job->algorithm->options,
                                     .options            = job->options,
                                     .model_option_table = job->model->options,
                                     .model_options      = job->model_options,
                                     .verdict            = outcome->verdict,
                                     .uses               = job->plan.uses,
                                     .note               = job->plan.note};
    result->busbw_GBps = result->algbw_GBps * cs_busbw_factor(s->collective, s->cluster.n_ranks);
    set_formulas(job, result);
    if (outcome->n_out > 0) { /* bounds are those of all ranks */
        result->bound = "none";
        result->gap   = (double)NAN;
        result->note  = "ranks were left out: the result is the sum of the others (run --explain)";
    } else {
        set_bound(job, result);
    }
}

cs_status cs_job_run(const cs_job *job, const cs_observer *observers, size_t n_observers,
                     cs_result *result_p, cs_error *err)
{
    cs_outcome outcome;

    if (!job->is_resolved) {
        cs_job    resolved = *job;
        cs_status status   = cs_job_resolve(&resolved, err);
        if (status == CS_OK) {
            status = cs_job_run(&resolved, observers, n_observers, result_p, err);
        }
        cs_job_release(&resolved);
        return status;
    }
    cs_status status = cs_job_replay(job, observers, n_observers, &outcome, err);
    if (status == CS_OK) {
        fill_result(job, &outcome, result_p);
    }
    return status;
}

/* ---- how fast it is replayed on this machine ----
 *
 * The schedule is cut after its first blocks, which is a schedule, too, because what a transfer
 * needs stands before it. Left out: that the rest may be of another kind. */

enum {
    LEAST_SAMPLE = 2000, /* transfers */
    STEP         = 10,   /* as many as before */
    RESERVE      = 3     /* where links are shared, they may take so many times longer each */
};

/* The options of the algorithm that streams the beginning of another. */
typedef struct prefix_options {
    const cs_job *whole;
    uint64_t      most;
} prefix_options;

typedef struct prefix {
    const cs_algorithm *algorithm;
    void               *state;
    uint64_t            left;
} prefix;

static cs_status prefix_open(const cs_scenario *scenario, const void *options, void **state_p,
                             cs_error *err)
{
    const prefix_options *o = options;
    prefix               *p = CS_NEW(prefix, 1);

    (void)scenario;
    if (p == NULL) {
        return CS_NO_MEMORY(err, "the beginning of a schedule");
    }
    *p               = (prefix){.algorithm = o->whole->algorithm, .left = o->most};
    cs_status status = cs_job_open(o->whole, &p->state, err);
    if (status != CS_OK) {
        cs_free(p);
        return status;
    }
    *state_p = p;
    return CS_OK;
}

/* A block is never cut. */
static void prefix_next_block(void *state, cs_block *block)
{
    prefix *p = state;

    block->count = 0;
    if (p->left > 0) {
        p->algorithm->next_block(p->state, block);
        p->left -= block->count < p->left ? block->count : p->left;
    }
}

static void prefix_close(void *state)
{
    prefix *p = state;

    if (p != NULL) {
        p->algorithm->close(p->state);
        cs_free(p);
    }
}

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static cs_status replay_prefix(const cs_job *job, uint64_t most, cs_replay_pace *pace_p,
                               cs_error *err)
{
    const cs_algorithm   algorithm = {.name       = job->algorithm->name,
                                      .open       = prefix_open,
                                      .next_block = prefix_next_block,
                                      .close      = prefix_close};
    const prefix_options options   = {job, most};
    cs_job               part      = *job;
    cs_outcome           outcome;
    double               begin_s = now_s();

    part.algorithm = &algorithm;
    part.verify    = false;
    memcpy(&part.options, &options, sizeof options);
    CS_TRY(cs_job_replay(&part, NULL, 0, &outcome, err));
    *pace_p = (cs_replay_pace){outcome.n_transfers, now_s() - begin_s};
    return CS_OK;
}

cs_status cs_job_pace(const cs_job *job, double most_s, cs_replay_pace *pace_p, cs_error *err)
{
    cs_replay_pace pace   = {0};
    cs_status      status = CS_OK;

    for (uint64_t most = LEAST_SAMPLE; status == CS_OK; most *= STEP) {
        status = replay_prefix(job, most, &pace, err);
        if (pace.n_transfers < most || pace.time_s * STEP * RESERVE > most_s) {
            break;
        }
    }
    if (status == CS_OK) {
        *pace_p = pace;
    }
    return status;
}
