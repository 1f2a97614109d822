/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/lib/fallback.h"

#include <math.h>
#include <string.h>

extern const cs_algorithm cs_algorithm_nccl_rings, cs_algorithm_parallel_rings, cs_algorithm_ring;

const cs_algorithm *const cs_rings[CS_RINGS] = {&cs_algorithm_ring, &cs_algorithm_nccl_rings,
                                                &cs_algorithm_parallel_rings};

static const cs_field *row_of(const cs_algorithm *algorithm, const char *name)
{
    return algorithm->options != NULL && name != NULL ? cs_field_find(algorithm->options, name)
                                                      : NULL;
}

bool cs_has_segments(const cs_algorithm *algorithm)
{
    return row_of(algorithm, "segments") != NULL;
}

/* With default options, but for the one given; an algorithm that may choose another one runs
 * itself. */
static cs_status check(const cs_algorithm *algorithm, cs_fallback_option option,
                       const cs_scenario *scenario, cs_options *options, cs_plan *plan,
                       cs_error *err)
{
    const cs_field *row = row_of(algorithm, option.name);

    *options = (cs_options){0};
    cs_fields_default(algorithm->options, options);
    if (row != NULL) {
        memcpy(options->bytes + row->offset, &option.value, sizeof option.value);
    }
    if (row_of(algorithm, "chosen") != NULL) {
        CS_TRY(cs_field_set(algorithm->options, options, "chosen", algorithm->name, "chosen", err));
    }
    return cs_algorithm_check(algorithm, scenario, options, plan, err);
}

static cs_status elapsed_s(const cs_algorithm *algorithm, const cs_scenario *scenario,
                           const cs_options *options, const cs_plan *plan, double *elapsed_s_p,
                           cs_error *err)
{
    const cs_forecast *forecast = scenario->forecast;

    if (forecast != NULL) {
        return forecast->elapsed_s(forecast, scenario, algorithm, options, plan, elapsed_s_p, err);
    }
    *elapsed_s_p = algorithm->closed_form_s != NULL ? algorithm->closed_form_s(scenario, options)
                                                    : (double)NAN;
    *elapsed_s_p = isnan(*elapsed_s_p) ? (double)INFINITY : *elapsed_s_p;
    return CS_OK;
}

cs_status cs_fastest(const cs_scenario *scenario, const cs_algorithm *const *algorithms, uint32_t n,
                     uint32_t *fastest_p, double *elapsed_s_p, cs_error *err)
{
    cs_error refusal = {0};
    bool     found = false, is_timed = n > 1 || elapsed_s_p != NULL;
    double   least_s = (double)INFINITY;

    for (uint32_t i = 0; i < n; i++) {
        cs_options options;
        cs_plan    plan   = {0};
        double     time_s = 0;
        cs_error   wrong  = {0};
        cs_status  status =
            check(algorithms[i], (cs_fallback_option){0}, scenario, &options, &plan, &wrong);
        if (cs_status_is_refusal(status)) {
            refusal = i == 0 ? wrong : refusal;
            continue;
        }
        if (status == CS_OK && is_timed) {
            status = elapsed_s(algorithms[i], scenario, &options, &plan, &time_s, &wrong);
        }
        cs_plan_release(algorithms[i], &plan);
        if (status != CS_OK) {
            return CS_FAIL(err, status, wrong.where, "%s", wrong.message);
        }
        *fastest_p = !found || time_s < least_s ? i : *fastest_p;
        least_s    = fmin(least_s, time_s);
        found      = true;
    }
    if (elapsed_s_p != NULL) {
        *elapsed_s_p = least_s;
    }
    return found ? CS_OK : CS_FAIL(err, refusal.status, refusal.where, "%s", refusal.message);
}

cs_status cs_fastest_ring(const cs_scenario *scenario, uint32_t *ring_p, double *elapsed_s_p,
                          cs_error *err)
{
    uint32_t n = scenario->cluster.gpus_per_server > 1 ? CS_RINGS : 1;
    return cs_fastest(scenario, cs_rings, n, ring_p, elapsed_s_p, err);
}

cs_status cs_ring_instead(const cs_scenario *scenario, int first, const char *const *notes,
                          int *chosen_p, cs_plan *plan, cs_error *err)
{
    bool     is_asked = *chosen_p >= first;
    uint32_t ring     = is_asked ? (uint32_t)(*chosen_p - first) : 0;

    if (!is_asked) {
        CS_TRY(cs_fastest_ring(scenario, &ring, NULL, err));
    }
    CS_TRY(cs_fallback_check(cs_rings[ring], (cs_fallback_option){0}, scenario, plan, err));
    *chosen_p  = first + (int)ring;
    plan->note = is_asked ? NULL : notes[ring];
    return CS_OK;
}

cs_status cs_fallback_check(const cs_algorithm *algorithm, cs_fallback_option option,
                            const cs_scenario *scenario, cs_plan *plan, cs_error *err)
{
    cs_options options;

    CS_TRY(check(algorithm, option, scenario, &options, plan, err));
    cs_plan_release(algorithm, plan); /* its stream prepares for itself */
    return CS_OK;
}

cs_status cs_fallback_prepare(const cs_algorithm *algorithm, cs_fallback_option option,
                              const cs_scenario *scenario, cs_fallback_plan *prepared,
                              cs_error *err)
{
    *prepared = (cs_fallback_plan){.algorithm = algorithm};
    return check(algorithm, option, scenario, &prepared->options, &prepared->plan, err);
}

void cs_fallback_release(cs_fallback_plan *prepared)
{
    cs_plan_release(prepared->algorithm, &prepared->plan);
}

cs_status cs_fallback_elapsed_s(const cs_algorithm *algorithm, cs_fallback_option option,
                                const cs_scenario *scenario, double *elapsed_s_p, cs_error *err)
{
    cs_options options;
    cs_plan    plan   = {0};
    cs_status  status = check(algorithm, option, scenario, &options, &plan, err);

    if (status == CS_OK) {
        status = elapsed_s(algorithm, scenario, &options, &plan, elapsed_s_p, err);
    }
    cs_plan_release(algorithm, &plan);
    return status;
}

double cs_fallback_closed_form_s(const cs_algorithm *algorithm, cs_fallback_option option,
                                 const cs_scenario *scenario)
{
    cs_options options;
    cs_plan    plan     = {0};
    double     closed_s = (double)NAN;

    if (algorithm->closed_form_s != NULL &&
        check(algorithm, option, scenario, &options, &plan, NULL) == CS_OK) {
        closed_s = algorithm->closed_form_s(scenario, &options);
    }
    cs_plan_release(algorithm, &plan);
    return closed_s;
}

cs_status cs_fallback_open(cs_fallback *fallback, const cs_algorithm *algorithm,
                           const cs_scenario *scenario, cs_error *err)
{
    cs_options options;
    cs_status status = check(algorithm, fallback->option, scenario, &options, &fallback->plan, err);

    if (status == CS_OK) {
        status = cs_algorithm_open(algorithm, scenario, &options, &fallback->plan, &fallback->state,
                                   err);
    }
    if (status != CS_OK) {
        cs_plan_release(algorithm, &fallback->plan);
        return status;
    }
    fallback->algorithm = algorithm;
    return CS_OK;
}

cs_status cs_fallback_open_prepared(cs_fallback *fallback, const cs_fallback_plan *prepared,
                                    const cs_scenario *scenario, cs_error *err)
{
    CS_TRY(cs_algorithm_open(prepared->algorithm, scenario, &prepared->options, &prepared->plan,
                             &fallback->state, err));
    fallback->algorithm = prepared->algorithm;
    return CS_OK;
}

void cs_fallback_next(cs_fallback *fallback, cs_block *block)
{
    fallback->algorithm->next_block(fallback->state, block);
}

void cs_fallback_close(cs_fallback *fallback)
{
    if (fallback->algorithm != NULL) {
        fallback->algorithm->close(fallback->state);
        cs_plan_release(fallback->algorithm, &fallback->plan);
    }
    fallback->algorithm = NULL;
}
