/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One AllReduce of OptCC's figures by replay: see optcc_point.h. */
#include "figures/optcc_point.h"

#include "figures/rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cs_scenario scenario_of(const cs_optcc_point *point, cs_fault *faults)
{
    const cs_optcc_machine *m      = &point->machine;
    cs_fabric               nic    = {CS_SWITCHED, m->alpha_s, m->bandwidth_Bps};
    cs_fabric               nvlink = {CS_SWITCHED, m->nvlink_alpha_s, m->nvlink_Bps};

    for (uint32_t i = 0; i < point->n_slow; i++) {
        faults[i] = (cs_fault){
            .rank = i * point->gpus, .slow_ratio = point->slow[i], .until_s = (double)INFINITY};
    }
    return (cs_scenario){.collective = CS_ALLREDUCE,
                         .bytes      = point->bytes,
                         .cluster    = {.n_ranks         = point->servers * point->gpus,
                                        .gpus_per_server = point->gpus,
                                        .fabrics         = {nic, nvlink}},
                         .faults     = faults,
                         .n_faults   = point->n_slow};
}

static cs_status job_of(const cs_optcc_point *point, cs_fault *faults, cs_job *job, cs_error *err)
{
    const cs_algorithm *algorithm;
    const cs_model     *model;
    cs_status           status = cs_algorithm_find(point->algorithm, &algorithm, err);

    if (status == CS_OK) {
        status = cs_model_find(point->model, &model, err);
    }
    if (status != CS_OK) {
        return status;
    }
    *job = (cs_job){.scenario = scenario_of(point, faults), .verify = true};
    cs_job_set_algorithm(job, algorithm, NULL);
    cs_job_set_model(job, model, NULL);
    for (size_t i = 0; i < CS_OPTCC_OPTIONS && status == CS_OK; i++) {
        if (point->options[i].key != NULL) {
            status = cs_options_set(algorithm->options, &job->options, point->options[i].key,
                                    point->options[i].value, "figure", err);
        }
    }
    return status;
}

bool cs_optcc_accepted(const cs_optcc_point *point)
{
    cs_fault faults[CS_OPTCC_SLOW];
    cs_job   job = {0};
    bool     is_accepted =
        job_of(point, faults, &job, NULL) == CS_OK && cs_job_resolve(&job, NULL) == CS_OK;

    cs_job_release(&job);
    return is_accepted;
}

static void check_result(cs_figure_data *data, const cs_optcc_point *point, const cs_result *r)
{
    char what[160];

    (void)snprintf(what, sizeof what, "%s, %s, is a correct AllReduce on %u servers of %u, l = %g",
                   point->algorithm, point->model, point->servers, point->gpus,
                   point->n_slow > 0 ? point->slow[0] : 1);
    cs_figure_expect(data, what, r->verified);
    (void)snprintf(what, sizeof what, "%s, %s, on %u servers of %u is not faster than the bound %s",
                   point->algorithm, point->model, point->servers, point->gpus, r->bound);
    cs_figure_expect(data, what, r->bound_s <= r->elapsed_s * (1 + CS_REPLAY_DIGITS));
}

cs_status cs_optcc_replay(cs_figure_data *data, const cs_optcc_point *point, cs_result *result_p,
                          cs_error *err)
{
    cs_fault  faults[CS_OPTCC_SLOW];
    cs_job    job;
    cs_status status = job_of(point, faults, &job, err);

    if (status == CS_OK) {
        status = cs_job_run(&job, NULL, 0, result_p, err);
    }
    if (status == CS_OK) {
        check_result(data, point, result_p);
    }
    return status;
}

static bool option_text(const cs_result *result, const char *key, char *text, size_t text_bytes)
{
    const cs_option *row = cs_option_find(result->option_table, key);

    if (row != NULL) {
        (void)cs_option_text(row, &result->options, text, text_bytes);
    }
    return row != NULL;
}

double cs_optcc_number(const cs_result *result, const char *key)
{
    char   text[64], *end = text;
    bool   is_there = option_text(result, key, text, sizeof text);
    double value    = is_there ? strtod(text, &end) : 0;

    return is_there && end != text && *end == '\0' ? value : (double)NAN;
}

bool cs_optcc_is(const cs_result *result, const char *key, const char *word)
{
    char text[64];

    return option_text(result, key, text, sizeof text) && strcmp(text, word) == 0;
}

cs_optcc_form cs_optcc_form_of(const cs_optcc_point *point, const cs_result *result)
{
    double share_s = (double)point->bytes / point->gpus / point->machine.bandwidth_Bps;

    return (cs_optcc_form){.servers     = point->servers,
                           .gpus        = point->gpus,
                           .n_slow      = point->n_slow,
                           .slow        = point->slow,
                           .rounds      = (uint32_t)cs_optcc_number(result, "rounds"),
                           .ramp        = (uint32_t)cs_optcc_number(result, "ramp"),
                           .has_bubbles = cs_optcc_is(result, "bubbles", "on"),
                           .alpha       = point->machine.alpha_s / share_s};
}
