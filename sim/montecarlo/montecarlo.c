/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One scenario over many iterations, and its row: see montecarlo/montecarlo.h. */
#include "montecarlo/montecarlo.h"

#include "base/alloc.h"
#include "base/statistics.h"
#include "montecarlo/samples.h"
#include "montecarlo/state.h"
#include "montecarlo/training.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Exposed times are differences of elapsed times: what is less than this part of them is none. */
#define ROUNDING 1e-12

cs_status cs_montecarlo_open(const cs_config *config, const cs_montecarlo_options *options,
                             cs_montecarlo **montecarlo_p, cs_error *err)
{
    cs_status status = cs_montecarlo_check(config, options, err);

    if (status != CS_OK) {
        return status;
    }
    cs_montecarlo *m = CS_NEW(cs_montecarlo, 1);
    if (m == NULL) {
        return CS_FAIL(err, CS_ENOMEM, NULL, "out of memory");
    }
    m->config     = config;
    m->options    = options;
    m->base       = SIZE_MAX;
    *montecarlo_p = m;
    return CS_OK;
}

static void forget_baseline(cs_montecarlo *m)
{
    cs_samples_free(&m->base_samples);
    m->base        = SIZE_MAX;
    m->base_failed = false;
}

void cs_montecarlo_close(cs_montecarlo *montecarlo)
{
    if (montecarlo != NULL) {
        forget_baseline(montecarlo);
        cs_free(montecarlo);
    }
}

cs_status cs_montecarlo_key(const cs_montecarlo *m, size_t index, cs_text *text, cs_error *err)
{
    const cs_montecarlo_options *o = m->options;
    cs_case                      c = {0}, baseline = {0};
    size_t                       base = 0, iterations = 0;
    cs_status                    status = cs_config_case(m->config, index, &c, err);

    if (status == CS_OK) {
        status = cs_montecarlo_iterations(o, &c, &iterations, err);
    }
    if (status == CS_OK) {
        status = cs_config_baseline(m->config, index, o->baseline, &base, err);
    }
    if (status == CS_OK) {
        status = cs_config_case(m->config, base, &baseline, err);
    }
    if (status == CS_OK) {
        cs_text_add(text, "{\"baseline\":%s,\"confidence\":", baseline.json);
        cs_text_add_number(text, o->confidence);
        cs_text_add(text, ",\"iterations\":%zu,\"replay\":%s,\"sampling\":\"%s\"", iterations,
                    o->is_replayed ? "true" : "false", cs_sampling_name(o->sampling));
        cs_text_add(text, ",\"scenario\":%s,\"verify_all\":%s}", c.json,
                    o->is_verified ? "true" : "false");
        status = cs_text_status(text, err);
    }
    cs_case_free(&c);
    cs_case_free(&baseline);
    return status;
}

static void report_progress(void *user, size_t iterations_done)
{
    const cs_montecarlo         *m = user;
    const cs_montecarlo_options *o = m->options;

    if (o->progress != NULL) {
        o->progress(o->user, m->done + iterations_done, m->total);
    }
}

static cs_status draw(cs_montecarlo *m, const cs_case *c, bool reports, cs_samples *samples_p,
                      cs_error *err)
{
    const cs_montecarlo_options *o       = m->options;
    cs_sampling_request          request = {.jobs        = o->jobs,
                                            .sampling    = o->sampling,
                                            .is_replayed = o->is_replayed,
                                            .is_verified = o->is_verified,
                                            .progress    = reports ? report_progress : NULL,
                                            .user        = m,
                                            .stop        = o->stop};
    cs_status                    status  = cs_montecarlo_iterations(o, c, &request.iterations, err);

    if (cs_montecarlo_is_fixed(c)) {
        request.sampling = CS_SAMPLING_RANDOM; /* of which there is none */
    }
    return status == CS_OK ? cs_samples_draw(c, &request, samples_p, err) : status;
}

/* Have the samples of the baseline, unless it cannot be run. */
static cs_status have_baseline(cs_montecarlo *m, size_t base, bool *stopped_p, cs_error *err)
{
    cs_case    c       = {0};
    cs_samples samples = {0};
    cs_error   reason  = {0};

    if (m->base == base) {
        return CS_OK;
    }
    forget_baseline(m);
    cs_status status = cs_config_case(m->config, base, &c, err);
    if (status != CS_OK) {
        return status;
    }
    status = draw(m, &c, false, &samples, &reason);
    cs_case_free(&c);
    if (cs_status_is_failure(status)) {
        if (err != NULL && err->status == CS_OK) {
            *err = reason;
        }
        return status;
    }
    *stopped_p = samples.is_stopped;
    if (samples.is_stopped) {
        cs_samples_free(&samples);
        return CS_OK;
    }
    m->base         = base;
    m->base_failed  = status != CS_OK;
    m->base_samples = samples;
    return CS_OK;
}

/* Everything that is known before the scenario is run. */
static void describe(const cs_montecarlo *m, const cs_case *c, cs_montecarlo_row *row)
{
    const cs_cluster *cluster = &c->job.scenario.cluster;
    snprintf(row->algorithm, sizeof row->algorithm, "%s", c->job.algorithm->name);
    snprintf(row->collective, sizeof row->collective, "%s",
             cs_collective_name(c->job.scenario.collective));
    snprintf(row->model, sizeof row->model, "%s", c->job.model->name);
    snprintf(row->sampling, sizeof row->sampling, "%s", cs_sampling_name(m->options->sampling));
    snprintf(row->build, sizeof row->build, "%s", cs_build());
    row->ranks           = cluster->n_ranks;
    row->bytes           = c->job.scenario.bytes;
    row->gpus_per_server = cluster->gpus_per_server;
    row->confidence      = m->options->confidence;
    row->calls           = 1;
    if (c->training.n_buckets > 0) {
        cs_training_describe(&c->training, row);
    }
}

static void fill(const cs_montecarlo *m, const cs_case *c, const cs_samples *s, double *scratch,
                 cs_montecarlo_row *row)
{
    double n = (double)s->n, confidence = m->options->confidence;

    for (size_t i = 0; i < s->n; i++) {
        scratch[i] = s->elapsed_s[i] - s->exposed_s[i] - c->training.tail_s;
    }
    row->last_arrival_mean_s = cs_estimate_mean(scratch, s->n, 0, confidence).value;
    cs_spread_of(s->elapsed_s, s->n, s->n_groups, confidence, scratch, &row->elapsed_s);
    cs_spread_of(s->exposed_s, s->n, s->n_groups, confidence, scratch, &row->exposed_s);
    if (s->presumes) {
        snprintf(row->prediction, sizeof row->prediction, "%s",
                 cs_prediction_name(c->policy.prediction));
        row->hit_ratio = (double)s->n_hits / n;
    }
    if (s->presumes && c->policy.fallback != NULL) {
        snprintf(row->fallback, sizeof row->fallback, "%s", c->policy.fallback->name);
        row->fallback_ratio = (double)s->n_fallbacks / (n * s->calls);
    }
    if (c->training.n_buckets > 0) {
        row->exposed_ratio = row->exposed_s.mean.value / row->elapsed_s.mean.value;
    }
    row->replays  = s->n_replays;
    row->verified = c->job.verify || m->options->is_verified;
}

/* Pair by pair. */
static void compare(const cs_montecarlo *m, const cs_samples *s, double *scratch,
                    cs_montecarlo_row *row)
{
    const double *base = m->base_samples.exposed_s;
    size_t        wins = 0;
    size_t groups = s->n_groups > m->base_samples.n_groups ? s->n_groups : m->base_samples.n_groups;

    for (size_t i = 0; i < s->n; i++) {
        double saved_s = base[i] - s->exposed_s[i];
        wins += saved_s > ROUNDING * s->elapsed_s[i];
        s->elapsed_s[i] = saved_s; /* the elapsed times are done with */
    }
    cs_spread_of(s->elapsed_s, s->n, groups, m->options->confidence, scratch, &row->saved_s);
    row->win_ratio = (double)wins / (double)s->n;
    row->speedup =
        cs_estimate_mean(base, s->n, 0, m->options->confidence).value / row->exposed_s.mean.value;
}

static cs_status run_case(cs_montecarlo *m, const cs_case *c, size_t index, size_t base,
                          cs_montecarlo_row *row, bool *stopped_p, cs_error *err)
{
    cs_samples samples = {0};
    double    *scratch = NULL;
    cs_status  status  = CS_OK;

    if (base != index) {
        status = have_baseline(m, base, stopped_p, err);
    }
    if (status != CS_OK || *stopped_p) {
        return status;
    }
    cs_error reason = {0};
    status          = draw(m, c, true, &samples, &reason);
    if (status != CS_OK) {
        snprintf(row->error, sizeof row->error, "%s%s%s", reason.where,
                 reason.where[0] != '\0' ? ": " : "", reason.message);
        if (cs_status_is_failure(status) && err != NULL && err->status == CS_OK) {
            *err = reason;
        }
        return cs_status_is_failure(status) ? status : CS_OK;
    }
    *stopped_p = samples.is_stopped;
    if (!samples.is_stopped && (scratch = CS_NEW(double, samples.n)) == NULL) {
        status = CS_FAIL(err, CS_ENOMEM, NULL, "out of memory for %zu iterations", samples.n);
    } else if (!samples.is_stopped) {
        fill(m, c, &samples, scratch, row);
        if (base != index && !m->base_failed && c->training.n_buckets > 0) {
            cs_training_compare(&samples, &m->base_samples, m->options->confidence, scratch, row);
        }
        if (base != index && !m->base_failed) {
            compare(m, &samples, scratch, row);
        }
    }
    cs_free(scratch);
    if (base == index && status == CS_OK && !samples.is_stopped) {
        forget_baseline(m);
        m->base         = index;
        m->base_samples = samples;
        samples         = (cs_samples){0};
    }
    cs_samples_free(&samples);
    return status;
}

/* The name of the baseline's algorithm. */
static cs_status name_baseline(const cs_montecarlo *m, size_t base, cs_montecarlo_row *row,
                               cs_error *err)
{
    cs_case   c      = {0};
    cs_status status = cs_config_case(m->config, base, &c, err);

    if (status == CS_OK) {
        snprintf(row->baseline, sizeof row->baseline, "%s", c.job.algorithm->name);
    }
    cs_case_free(&c);
    return status;
}

cs_status cs_montecarlo_case(cs_montecarlo *montecarlo, size_t index, cs_montecarlo_row *row_p,
                             bool *stopped_p, cs_error *err)
{
    cs_montecarlo    *m    = montecarlo;
    cs_montecarlo_row row  = cs_montecarlo_row_unknown();
    cs_case           c    = {0};
    size_t            base = index, iterations = 0;
    cs_status status = cs_config_baseline(m->config, index, m->options->baseline, &base, err);

    *stopped_p = false;
    if (status == CS_OK) {
        status = cs_config_case(m->config, index, &c, err);
    }
    if (status == CS_OK) {
        status = cs_montecarlo_iterations(m->options, &c, &iterations, err);
    }
    if (status == CS_OK && (row.scenario = cs_strdup(c.json)) == NULL) {
        status = CS_FAIL(err, CS_ENOMEM, NULL, "out of memory");
    }
    if (status == CS_OK && base != index) {
        status = name_baseline(m, base, &row, err);
    }
    if (status == CS_OK) {
        describe(m, &c, &row);
        row.iterations = iterations;
        status         = run_case(m, &c, index, base, &row, stopped_p, err);
    }
    cs_case_free(&c);
    if (status != CS_OK || *stopped_p) {
        cs_montecarlo_row_free(&row);
        return status;
    }
    *row_p = row;
    return CS_OK;
}
