/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One AllGather of the Parallel Rings figures: see parallel_rings_point.h. */
#include "figures/parallel_rings_point.h"

#include "figures/rows.h"

#include <math.h>
#include <stdio.h>

const cs_cluster cs_rings_a = {.gpus_per_server = 4,
                               .fabrics         = {[CS_NIC]    = {CS_SWITCHED, 11.3e-6, 12e9},
                                                   [CS_NVLINK] = {CS_DIRECT, 4e-6, 100e9},
                                                   [CS_CROSS]  = {CS_SWITCHED, 8e-6, 13.6e9}},
                               .sockets         = 2};

const cs_cluster cs_rings_b = {
    .gpus_per_server = 4,
    .fabrics = {[CS_NIC] = {CS_SWITCHED, 11.3e-6, 24e9}, [CS_NVLINK] = {CS_DIRECT, 4e-6, 150e9}},
    .sockets = 1};

static cs_status set_model(const cs_rings_point *point, cs_job *job, cs_error *err)
{
    bool            is_flow = point->incast_ratio != NULL;
    const cs_model *model;
    cs_status       status = cs_model_find(is_flow ? "flow" : "alpha-beta", &model, err);

    if (status != CS_OK) {
        return status;
    }
    cs_job_set_model(job, model, NULL);
    if (is_flow) {
        status = cs_options_set(model->options, &job->model_options, "receivers", "share", "figure",
                                err);
    }
    if (is_flow && status == CS_OK) {
        status = cs_options_set(model->options, &job->model_options, "incast_ratio",
                                point->incast_ratio, "figure", err);
    }
    return status;
}

static cs_status set_algorithm(const cs_rings_point *point, cs_job *job, cs_error *err)
{
    const cs_stored_options stored = {point->stored};
    const cs_algorithm     *algorithm;

    if (point->stored != NULL) {
        cs_job_set_algorithm(job, &cs_algorithm_stored, &stored);
        return CS_OK;
    }
    cs_status status = cs_algorithm_find(point->algorithm, &algorithm, err);
    if (status != CS_OK) {
        return status;
    }
    cs_job_set_algorithm(job, algorithm, NULL);
    return point->key == NULL ? CS_OK
                              : cs_options_set(algorithm->options, &job->options, point->key,
                                               point->value, "figure", err);
}

static void check_result(cs_figure_data *data, const cs_rings_point *point, const cs_result *r)
{
    char what[160];

    (void)snprintf(what, sizeof what, "%s is a correct AllGather on %u servers, %llu bytes",
                   r->algorithm, point->servers, (unsigned long long)point->block_bytes);
    cs_figure_expect(data, what, r->verified);
    (void)snprintf(what, sizeof what, "%s on %u servers, %llu bytes, is not below the bound %s",
                   r->algorithm, point->servers, (unsigned long long)point->block_bytes, r->bound);
    cs_figure_expect(data, what, r->bound_s <= r->elapsed_s * (1 + CS_REPLAY_DIGITS));
}

cs_status cs_rings_replay(cs_figure_data *data, const cs_rings_point *point, double *elapsed_s_p,
                          cs_error *err)
{
    uint32_t  n   = point->servers * point->cluster->gpus_per_server;
    cs_job    job = {.scenario = {.collective = CS_ALLGATHER,
                                  .bytes      = point->block_bytes * n,
                                  .cluster    = *point->cluster},
                     .verify   = true};
    cs_result result;
    cs_status status = set_model(point, &job, err);

    job.scenario.cluster.n_ranks = n;
    if (status == CS_OK) {
        status = set_algorithm(point, &job, err);
    }
    if (status == CS_OK) {
        status = cs_job_run(&job, NULL, 0, &result, err);
    }
    if (status == CS_OK) {
        check_result(data, point, &result);
        *elapsed_s_p = result.elapsed_s;
    }
    return status;
}

double cs_rings_message_s(const cs_cluster *cluster, uint32_t fabric, double bytes)
{
    const cs_fabric *f = &cluster->fabrics[fabric];
    return f->alpha_s + bytes / f->bandwidth_Bps;
}

/* A step of a ring whose messages go over all fabrics at once: that of the slowest. */
static double step_s(const cs_cluster *c, double bytes)
{
    double slowest =
        fmax(cs_rings_message_s(c, CS_NIC, bytes), cs_rings_message_s(c, CS_NVLINK, bytes));
    return c->sockets > 1 ? fmax(slowest, cs_rings_message_s(c, CS_CROSS, bytes)) : slowest;
}

double cs_rings_flat_s(const cs_cluster *c, uint32_t servers, uint64_t block_bytes)
{
    return (servers * c->gpus_per_server - 1) * step_s(c, (double)block_bytes);
}

double cs_rings_nccl_s(const cs_cluster *c, uint32_t servers, uint64_t block_bytes)
{
    uint32_t g = c->gpus_per_server;
    return (servers * g - 1) * step_s(c, (double)block_bytes / g);
}

double cs_rings_parallel_s(const cs_cluster *c, uint32_t servers, uint64_t block_bytes)
{
    double ring = cs_rings_message_s(c, CS_NIC, (double)block_bytes);
    double hand = cs_rings_message_s(c, CS_NVLINK, (double)block_bytes);

    if (c->sockets > 1) {
        double across = cs_rings_message_s(c, CS_CROSS, (double)block_bytes);
        return (servers - 1) * fmax(ring, across) + across + hand;
    }
    return fmax((servers - 1) * ring + hand, servers * hand);
}

void cs_rings_check_within(cs_figure_data *data, const char *what, double got, double want,
                           double tolerance)
{
    char text[160];

    (void)snprintf(text, sizeof text, "%s: %.4g, given as %.4g", what, got, want);
    cs_figure_expect(data, text, fabs(got - want) <= tolerance);
}
