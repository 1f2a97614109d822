/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One scenario from start to end: resolve the options, replay and verify, put the closed form
 * and the lower bound beside the time. */
#include "cs/bound.h"
#include "cs/build.h"
#include "cs/result.h"

#include <math.h>
#include <string.h>

/* The last digits of two sums of as many times in another order: a bound is not above a time that
 * attains it. */
#define ROUNDING 1e-9

static void set_bound(const cs_run *run, const cs_plan *plan, cs_result *result)
{
    bool             shared = cs_model_shares_ports(run->model, &result->model_options, plan->uses);
    cs_bound_context context = {
        .scenario             = run->scenario,
        .alpha_holds_port     = run->model->alpha_holds_port && !shared,
        .alpha_per_message    = !shared,
        .is_round_synchronous = plan->is_round_synchronous,
    };
    for (uint32_t f = 0; f < CS_FABRICS; f++) {
        context.latency_s[f] = run->model->latency_s(run->scenario, &result->model_options, f);
    }
    double bound_s  = cs_best_bound(&context, &result->bound);
    bool   is_met   = bound_s > result->elapsed_s && bound_s <= result->elapsed_s * (1 + ROUNDING);
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
static void set_formulas(const cs_run *run, const cs_plan *plan, cs_result *result)
{
    const cs_algorithm *algorithm = run->algorithm;
    double              closed_s = (double)NAN, published_s = (double)NAN;

    if (cs_closed_forms_hold(run->model, run->scenario, &result->model_options, plan->uses)) {
        if (algorithm->closed_form_s != NULL) {
            closed_s = algorithm->closed_form_s(run->scenario, &result->options);
        }
        if (algorithm->published_form_s != NULL) {
            published_s = algorithm->published_form_s(run->scenario, &result->options);
        }
    }
    bool is_limit            = isnan(closed_s) && !has_alpha(&run->scenario->cluster);
    result->closed_form_s    = is_limit ? published_s : closed_s;
    result->published_form_s = published_s;
}

static void fill(const cs_run *run, const cs_plan *plan, const cs_outcome *outcome,
                 cs_result *result)
{
    const cs_scenario *s = run->scenario;

    result->algorithm       = run->algorithm->name;
    result->collective      = cs_collective_name(s->collective);
    result->model           = run->model->name;
    result->ranks           = s->cluster.n_ranks;
    result->bytes           = s->bytes;
    result->gpus_per_server = s->cluster.gpus_per_server;
    result->elapsed_s       = outcome->elapsed_s;
    result->exposed_s       = outcome->exposed_s;
    result->algbw_GBps      = (double)s->bytes / outcome->exposed_s / 1e9;
    result->busbw_GBps = result->algbw_GBps * cs_busbw_factor(s->collective, s->cluster.n_ranks);
    result->rounds     = plan->n_rounds;
    result->transfers  = outcome->n_transfers;
    result->wire_bytes = outcome->wire_bytes;
    result->verified   = outcome->verified;
    result->verdict    = outcome->verdict;
    result->uses       = plan->uses;
    result->note       = plan->note;
    result->build      = cs_build();
    set_formulas(run, plan, result);
    set_bound(run, plan, result);
}

static void copy_options(cs_options *to, const void *from, size_t bytes)
{
    memset(to, 0, sizeof *to);
    if (from != NULL && bytes > 0) {
        memcpy(to, from, bytes);
    }
}

cs_status cs_run_scenario(const cs_run *run, cs_result *result_p, cs_error *err)
{
    cs_result  result = {.option_table       = run->algorithm->options,
                         .model_option_table = run->model->options};
    cs_plan    plan   = {0};
    cs_outcome outcome;

    copy_options(&result.options, run->options, run->algorithm->options_bytes);
    copy_options(&result.model_options, run->model_options, run->model->options_bytes);
    cs_status status = cs_scenario_check(run->scenario, err);
    if (status == CS_OK) {
        status = cs_resolve(run->scenario, run->algorithm, &result.options, run->model,
                            &result.model_options, &plan, err);
    }
    if (status != CS_OK) {
        return status;
    }
    const cs_replay_request request = {.scenario      = run->scenario,
                                       .algorithm     = run->algorithm,
                                       .options       = &result.options,
                                       .plan          = &plan,
                                       .model         = run->model,
                                       .model_options = &result.model_options,
                                       .verify        = run->verify,
                                       .observers     = run->observers,
                                       .n_observers   = run->n_observers,
                                       .counted       = run->counted,
                                       .counted_user  = run->counted_user};
    status                          = cs_replay(&request, &outcome, err);
    if (status == CS_OK) {
        fill(run, &plan, &outcome, &result);
        *result_p = result;
    }
    return status;
}
