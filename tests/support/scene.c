/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "support/scene.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One server for nvls; four or two for trees over servers, where that leaves them several GPUs. */
static uint32_t gpus_of_switches(const cs_algorithm *algorithm, uint32_t n)
{
    if (strcmp(algorithm->name, "nvls") == 0) {
        return n;
    }
    return n % 4 == 0 && n >= 8 ? n / 4 : n % 2 == 0 && n >= 4 ? n / 2 : n;
}

void ct_scene_set(ct_scene *scene, const char *algorithm, cs_collective collective, uint32_t n,
                  uint64_t bytes)
{
    cs_error err = {0};

    memset(scene, 0, sizeof *scene);
    scene->scenario = (cs_scenario){
        .collective = collective,
        .bytes      = bytes,
        .cluster    = {.n_ranks         = n,
                       .gpus_per_server = 1,
                       .fabrics         = {{CS_SWITCHED, 3e-6, 450e9}, {CS_SWITCHED, 1e-6, 900e9}}},
    };
    cr_assert_leq(n, CT_MOST_RANKS);
    cr_assert_eq(cs_algorithm_find(algorithm, &scene->algorithm, &err), CS_OK, "%s", err.message);
    if (scene->algorithm->options != NULL) {
        cs_fields_default(scene->algorithm->options, &scene->options);
    }
    if (ct_adds_in_switches(scene->algorithm)) {
        scene->scenario.cluster.gpus_per_server = gpus_of_switches(scene->algorithm, n);
    }
}

void ct_scene_option(ct_scene *scene, const char *key, const char *value)
{
    cs_error err = {0};
    cr_assert_eq(cs_field_set(scene->algorithm->options, &scene->options, key, value, key, &err),
                 CS_OK, "%s=%s: %s", key, value, err.message);
}

bool ct_adds_in_switches(const cs_algorithm *algorithm)
{
    return strncmp(algorithm->name, "nvls", 4) == 0 || strcmp(algorithm->name, "collnet") == 0;
}

bool ct_makes_trees(const cs_algorithm *algorithm)
{
    return algorithm->options != NULL && cs_field_find(algorithm->options, "synthesizer") != NULL;
}

void ct_scene_hurry(ct_scene *scene)
{
    if (ct_makes_trees(scene->algorithm)) {
        ct_scene_option(scene, "synthesizer", "code");
    }
}

double ct_scene_message_s(const ct_scene *scene, uint32_t fabric, double bytes)
{
    const cs_fabric *f = &scene->scenario.cluster.fabrics[fabric];
    return f->alpha_s + bytes / f->bandwidth_Bps;
}

void ct_scene_slow(ct_scene *scene)
{
    const cs_cluster *cluster = &scene->scenario.cluster;
    uint32_t          servers = cs_n_servers(cluster), g = cluster->gpus_per_server;
    const cs_field   *row = scene->algorithm->options;

    while (row != NULL && row->name != NULL && strcmp(row->name, "chosen") != 0) {
        row++;
    }
    if (row == NULL || row->name == NULL || servers < 2) {
        return;
    }
    scene->capacity[0] =
        (cs_capacity){g, servers % 2 == 0 ? 2.5 : 1.25, 0, (double)INFINITY, false};
    scene->capacity[1]         = (cs_capacity){4 * g, 1.5, 0, (double)INFINITY, false};
    scene->scenario.capacity   = scene->capacity;
    scene->scenario.n_capacity = servers >= 8 ? 2 : 1;
    ct_scene_option(scene, "chosen", scene->algorithm->name);
}

void ct_scene_arrive(ct_scene *scene, ct_rng *rng, double most_s)
{
    uint32_t n     = scene->scenario.cluster.n_ranks;
    double   first = HUGE_VAL;

    for (uint32_t r = 0; r < n; r++) {
        scene->arrival_s[r] = ct_uniform(rng, 0, most_s);
        first               = fmin(first, scene->arrival_s[r]);
    }
    for (uint32_t r = 0; r < n; r++) {
        scene->arrival_s[r] -= first;
    }
    scene->scenario.arrival_s = scene->arrival_s;
}

/* What checks have prepared: a scene may be forgotten at any time, so that it lives as long as the
 * test. */
static void *prepared[1 << 14];
static int   n_prepared;

cs_status ct_scene_check(ct_scene *scene, cs_error *err)
{
    cs_status status = cs_scenario_check(&scene->scenario, err);

    cr_assert_eq(status, CS_OK, "%s", err != NULL ? err->message : "");
    scene->plan = (cs_plan){0};
    status =
        cs_algorithm_check(scene->algorithm, &scene->scenario, &scene->options, &scene->plan, err);
    if (scene->plan.prepared != NULL) {
        cr_assert_eq(status, CS_OK, "what was refused has left something behind");
        cr_assert_lt(n_prepared, (int)(sizeof prepared / sizeof prepared[0]));
        prepared[n_prepared++] = scene->plan.prepared;
    }
    return status;
}

void ct_scene_ready(ct_scene *scene)
{
    cs_error  err    = {0};
    cs_status status = ct_scene_check(scene, &err);

    cr_assert_eq(status, CS_OK, "%s: %s", ct_scene_text(scene), err.message);
}

cs_job ct_scene_given(const ct_scene *scene, const char *model)
{
    cs_job          job   = {.scenario = scene->scenario, .verify = true};
    const cs_model *found = NULL;

    cr_assert_eq(cs_model_find(model != NULL ? model : "alpha-beta", &found, NULL), CS_OK);
    cs_job_set_algorithm(&job, scene->algorithm, &scene->options);
    cs_job_set_model(&job, found, NULL);
    return job;
}

cs_job ct_scene_job(const ct_scene *scene, const char *model)
{
    cs_job job = ct_scene_given(scene, model);

    job.is_resolved = true;
    job.plan        = scene->plan;
    return job;
}

cs_outcome ct_scene_replay(const ct_scene *scene, const char *model)
{
    const cs_job job = ct_scene_job(scene, model);
    cs_error     err = {0};
    cs_outcome   outcome;

    cr_assert_eq(cs_job_replay(&job, NULL, 0, &outcome, &err), CS_OK, "%s: %s",
                 ct_scene_text(scene), err.message);
    return outcome;
}

static cs_status keep_intervals(void *user, const cs_block *block, const cs_interval *intervals,
                                cs_error *err)
{
    ct_run *run = user;

    (void)err;
    if (run->count + block->count > run->capacity) {
        run->capacity  = 2 * (run->count + block->count);
        run->intervals = realloc(run->intervals, run->capacity * sizeof *intervals);
        cr_assert_not_null(run->intervals);
    }
    memcpy(run->intervals + run->count, intervals, block->count * sizeof *intervals);
    run->count += block->count;
    return CS_OK;
}

ct_run ct_scene_observe(const ct_scene *scene)
{
    return ct_scene_observe_on(scene, NULL, NULL);
}

static cs_status observe(const cs_job *job, ct_run *run_p, cs_error *err)
{
    cs_observer observer = {.block = keep_intervals, .user = run_p};

    *run_p = (ct_run){0};
    return cs_job_replay(job, &observer, 1, &run_p->outcome, err);
}

ct_run ct_scene_observe_on(const ct_scene *scene, const cs_model *wanted, const void *options)
{
    ct_run   run;
    cs_error err = {0};
    cs_job   job = ct_scene_job(scene, NULL);

    cs_job_set_model(&job, wanted != NULL ? wanted : job.model, options);
    cr_assert_eq(observe(&job, &run, &err), CS_OK, "%s: %s", ct_scene_text(scene), err.message);
    return run;
}

cs_status ct_scene_try_on(const ct_scene *scene, const cs_model *model, const void *options,
                          ct_run *run_p, cs_error *err)
{
    cs_job job = ct_scene_job(scene, NULL);

    job.verify = false;
    *run_p     = (ct_run){0};
    cs_job_set_model(&job, model, options);
    CS_TRY(cs_scenario_check(&job.scenario, err));
    if (model->check != NULL) {
        CS_TRY(model->check(&job.scenario, &job.model_options, err));
    }
    return observe(&job, run_p, err);
}

void ct_run_free(ct_run *run)
{
    free(run->intervals);
    *run = (ct_run){0};
}

int ct_is_close(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance * fmax(fabs(a), fabs(b));
}

const char *ct_scene_text(const ct_scene *scene)
{
    static char       text[240];
    const cs_cluster *c = &scene->scenario.cluster;

    snprintf(text, sizeof text,
             "%s %s n=%u bytes=%llu gpus_per_server=%u%s sockets=%u nvlink=%s links=%u%s seed=%llu",
             scene->algorithm->name, cs_collective_name(scene->scenario.collective), c->n_ranks,
             (unsigned long long)scene->scenario.bytes, c->gpus_per_server,
             c->uneven != NULL ? " at most" : "", c->sockets,
             c->fabrics[CS_NVLINK].kind == CS_DIRECT ? "direct" : "switched", c->nvlink_concurrent,
             c->servers != NULL ? " servers differ" : "", (unsigned long long)ct_seed());
    return text;
}

enum { MOST_RANKS = 40 };

double ct_scene_late_s(const ct_scene *scene, ct_rng *rng)
{
    double whole_s = (double)scene->scenario.bytes / 450e9 + 3e-6;
    return whole_s * pow(10, ct_uniform(rng, -2, 1));
}

void ct_scene_break_nics(ct_scene *scene, ct_rng *rng)
{
    cs_scenario     *s       = &scene->scenario;
    double           unit_s  = ct_scene_late_s(scene, rng);
    const cs_options options = scene->options;

    for (uint32_t server = ct_below(rng, 3); server < cs_n_servers(&s->cluster);
         server += 1 + ct_below(rng, 4)) {
        double from_s = ct_below(rng, 2) * ct_uniform(rng, 0, unit_s);
        for (uint32_t i = ct_below(rng, 4); i > 0 && s->n_capacity < CT_MOST_FAULTS; i--) {
            bool     lasts = i == 1 && ct_below(rng, 2) == 0;
            uint32_t rank  = cs_server_first(&s->cluster, server) +
                            ct_below(rng, cs_server_gpus(&s->cluster, server));
            double until = lasts ? (double)INFINITY : from_s + ct_uniform(rng, 0.01, 1) * unit_s;
            scene->capacity[s->n_capacity++] =
                (cs_capacity){rank, pow(10, ct_uniform(rng, 0, 2)), from_s, until, false};
            from_s = until + ct_below(rng, 2) * ct_uniform(rng, 0, unit_s);
        }
    }
    s->capacity = scene->capacity;
    if (ct_scene_check(scene, NULL) != CS_OK) { /* all servers are slow, and it needs two that are
                                                   not */
        s->n_capacity  = 0;
        scene->options = options;
    }
}

void ct_scene_drive(ct_scene *scene, ct_rng *rng)
{
    cs_cluster *c = &scene->scenario.cluster;

    c->nvlink_concurrent = c->fabrics[CS_NVLINK].kind == CS_DIRECT && ct_below(rng, 2) == 0
                               ? 1 + ct_below(rng, c->gpus_per_server)
                               : 0;
}

void ct_scene_vary_servers(ct_scene *scene, ct_rng *rng)
{
    cs_cluster *c = &scene->scenario.cluster;

    for (uint32_t s = 0; s < cs_n_servers(c); s++) {
        for (uint32_t f = 0; f < CS_FABRICS; f++) {
            double slower                      = ct_below(rng, 2) == 0 ? 1 : 1u << ct_below(rng, 3);
            scene->servers[s].bandwidth_Bps[f] = c->fabrics[f].bandwidth_Bps / slower;
        }
    }
    cs_cluster_set_servers(c, scene->servers);
}

void ct_scene_set_gpus(ct_scene *scene, const uint32_t *gpus, uint32_t n_servers)
{
    scene->uneven = (cs_uneven){.first = scene->first, .server_of = scene->server_of};
    scene->scenario.cluster.sockets = 1;
    cs_cluster_set_gpus(&scene->scenario.cluster, gpus, n_servers, &scene->uneven);
}

void ct_scene_vary_gpus(ct_scene *scene, uint32_t most, ct_rng *rng)
{
    uint32_t gpus[CT_MOST_RANKS], n = 0;

    for (uint32_t left = scene->scenario.cluster.n_ranks; left > 0; left -= gpus[n++]) {
        gpus[n] = 1 + ct_below(rng, most < left ? most : left);
    }
    ct_scene_set_gpus(scene, gpus, n);
}

void ct_scene_random(ct_scene *scene, const cs_algorithm *algorithm, ct_rng *rng)
{
    for (;;) {
        static const uint32_t widths[] = {1, 1, 2, 3, 4, 8};
        uint32_t n = ct_below(rng, 2) == 0 ? 2u << ct_below(rng, 5) : 2 + ct_below(rng, MOST_RANKS);
        uint32_t g = widths[ct_below(rng, 6)];
        uint64_t bytes           = 1 + ct_word(rng) % (1u << (4 + ct_below(rng, 26)));
        cs_collective collective = (cs_collective)ct_below(rng, CS_COLLECTIVE_COUNT);

        if (n % g != 0) {
            continue;
        }
        ct_scene_set(scene, algorithm->name, collective, n, bytes);
        if (bytes % 8 != 0) {
            ct_scene_hurry(scene);
        }
        scene->scenario.cluster.gpus_per_server = g;
        for (uint32_t f = 0; f < CS_FABRICS; f++) {
            scene->scenario.cluster.fabrics[f].alpha_s =
                ct_below(rng, 4) * ct_uniform(rng, 0, 1e-5);
            scene->scenario.cluster.fabrics[f].bandwidth_Bps = pow(10, ct_uniform(rng, 8, 12));
        }
        scene->scenario.cluster.fabrics[CS_CROSS].kind = CS_SWITCHED;
        scene->scenario.cluster.sockets = g % 2 == 0 && ct_below(rng, 3) == 0 ? 2 : 1;
        scene->scenario.cluster.fabrics[CS_NVLINK].kind =
            ct_below(rng, 2) == 0 ? CS_SWITCHED : CS_DIRECT;
        if (algorithm->takes_uneven && ct_below(rng, 4) == 0) {
            ct_scene_vary_gpus(scene, 1 + widths[ct_below(rng, 6)], rng);
        }
        ct_scene_drive(scene, rng);
        if (ct_below(rng, 4) == 0) {
            ct_scene_vary_servers(scene, rng);
        }
        if (ct_below(rng, 3) > 0) {
            ct_scene_arrive(scene, rng, ct_scene_late_s(scene, rng));
        }
        if (ct_scene_check(scene, NULL) == CS_OK) {
            return;
        }
    }
}
