/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim bench: transfers per second of replay (bench_point.h), per algorithm, model, number of
 * ranks, verification and arrival pattern, or of the scenarios of a configuration. */
#include "base/alloc.h"
#include "base/random.h"
#include "cli/bench_point.h"
#include "cli/cli.h"
#include "cli/schedule_arg.h"

#include <math.h>
#include <string.h>

#define LATEST_S 1e-3 /* late ranks: uniform in [0, 1 ms] */

/* What the user chose. */
typedef struct settings {
    bool        quick;
    int         format;          /* 1: JSON */
    uint32_t    gpus_per_server; /* 0: not given */
    const char *config_path, *schedule_path;
    bool        printed; /* a row */
} settings;

/* clang-format off */
static const cs_arg bench_args[] = {
    CS_ARG_FLAG(settings, quick, 0, "quick", "fewer ranks, less time per line"),
    CS_ARG_NUMBER(settings, gpus_per_server, 'g', "gpus-per-server", "G",
                  "GPUs in a server, a divisor of 64 (1)", .min = 1, .max = 64),
    CS_ARG_TEXT(settings, schedule_path, 0, "schedule", "FILE", "time a schedule file instead of an algorithm"),
    CS_ARG_CHOICE(settings, format, 0, "format", "table|json", "how to print (table)"),
    CS_ARG_OPERAND(settings, config_path, "configuration"),
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
static const cs_arg_table bench_tables[] = {{bench_args, 0, CS_NOWHERE, CS_NOWHERE}, {.args = NULL}};
/* clang-format on */

/* A point of the built-in benchmark with what it borrows. */
typedef struct point {
    cs_bench_point bench;
    cs_capacity    fault;    /* for the algorithms that are made for slow NICs */
    double        *arrivals; /* owned; NULL: nobody is late */
} point;

/* AllReduce, or the first collective that the algorithm does. */
static cs_collective collective_of(const cs_algorithm *algorithm)
{
    uint32_t c = CS_ALLREDUCE;

    while ((algorithm->collectives >> c & 1u) == 0) {
        c = (c + 1) % CS_COLLECTIVE_COUNT;
    }
    return (cs_collective)c;
}

/* Everybody but rank 0 is late. */
static cs_status draw_arrivals(point *p, cs_error *err)
{
    uint32_t n      = p->bench.job.scenario.cluster.n_ranks;
    gsl_rng *stream = cs_random_stream(1, "bench arrivals");
    p->arrivals     = CS_NEW(double, n);

    if (stream == NULL || p->arrivals == NULL) {
        gsl_rng_free(stream);
        return CS_FAIL(err, CS_ENOMEM, "bench", "out of memory");
    }
    for (uint32_t r = 1; r < n; r++) {
        p->arrivals[r] = LATEST_S * gsl_rng_uniform(stream);
    }
    gsl_rng_free(stream);
    p->bench.job.scenario.arrival_s = p->arrivals;
    return CS_OK;
}

static cs_status prepare(point *p, uint32_t n_ranks, uint32_t gpus_per_server, cs_error *err)
{
    cs_fabric nic = {CS_SWITCHED, 3e-6, 450e9};
    cs_job   *job = &p->bench.job;

    job->scenario = (cs_scenario){
        .collective = collective_of(job->algorithm),
        .bytes      = (uint64_t)1 << 30,
        .cluster = {.n_ranks = n_ranks, .gpus_per_server = gpus_per_server, .fabrics = {nic, nic}},
        .seed    = 1};
    if (cs_field_find(job->algorithm->options, "chosen") != NULL) {
        p->fault                 = (cs_capacity){0, 2, 0, (double)INFINITY};
        job->scenario.capacity   = &p->fault;
        job->scenario.n_capacity = 1;
    }
    return cs_job_resolve(job, err);
}

static cs_status run_and_print(cs_bench_point *p, settings *how_to, cs_error *err)
{
    cs_text   text   = {0};
    cs_status status = cs_bench_run(p, how_to->quick, err);

    if (status == CS_OK) {
        cs_bench_row(&text, p, how_to->format == 1, !how_to->printed);
        how_to->printed = true;
        status          = cs_cli_write(NULL, &text, err);
    }
    cs_text_free(&text);
    return status;
}

/* All combinations for one algorithm and model; prints as it goes. */
static cs_status run_points(const cs_algorithm *algorithm, const cs_model *model, settings *how_to,
                            cs_error *err)
{
    static const uint32_t ranks[] = {64, 256, 1024, 4096};
    cs_status             status  = CS_OK;
    bool                  is_ring = strcmp(algorithm->name, "ring") == 0;
    bool                  foreign = model->network != NULL && model->network->is_foreign;
    bool                  is_flow = model->network != NULL && is_ring && !foreign;
    size_t                last    = how_to->quick || is_flow ? 3 : 4;
    bool     fast = is_flow || (algorithm->closed_form_s != NULL && model == cs_models[0]);
    uint32_t g    = how_to->gpus_per_server > 0 ? how_to->gpus_per_server : 1;

    last = foreign && !is_ring ? 0 : last; /* one line is enough to compare with */
    for (size_t i = 0; i < last && status == CS_OK; i++) {
        for (int how = 0; how < 4 && status == CS_OK; how++) {
            point p = {.bench.job.verify = how % 2 != 0};
            if ((!fast && how > 0) || (!fast && i > 1)) {
                continue;
            }
            cs_job_set_algorithm(&p.bench.job, algorithm, NULL);
            cs_job_set_model(&p.bench.job, model, NULL);
            status = prepare(&p, ranks[i], g, err);
            if (status == CS_OK && how >= 2) {
                status = draw_arrivals(&p, err);
            }
            if (status == CS_OK) {
                status = run_and_print(&p.bench, how_to, err);
            }
            cs_job_release(&p.bench.job);
            cs_free(p.arrivals);
        }
    }
    return status;
}

static cs_status run_registry(settings *how_to, cs_error *err)
{
    cs_status status = CS_OK;

    for (size_t m = 0; cs_models[m] != NULL; m++) {
        for (size_t a = 0; cs_algorithms[a] != NULL && status == CS_OK; a++) {
            status = run_points(cs_algorithms[a], cs_models[m], how_to, err);
        }
    }
    return status;
}

static cs_status run_case(const cs_case *c, const cs_stored *schedule, settings *how_to,
                          cs_error *err)
{
    const cs_stored_options stored = {schedule};
    cs_bench_point          p      = {.job = c->job};

    if (schedule != NULL) {
        cs_job_set_algorithm(&p.job, &cs_algorithm_stored, &stored);
    }
    cs_status status = cs_job_resolve(&p.job, err);
    if (status == CS_OK) {
        status = run_and_print(&p, how_to, err);
    }
    cs_job_release(&p.job);
    return status;
}

/* The scenarios of a configuration, or of none with a schedule file. */
static cs_status run_config(settings *how_to, cs_error *err)
{
    cs_scenario_choice choice   = {.given.path = how_to->config_path};
    cs_stored         *schedule = NULL;
    cs_status          status   = cs_scenario_choice_finish(&choice, err);

    if (status == CS_OK) {
        status = cs_config_refuse_training(choice.config, err);
    }
    if (status == CS_OK && how_to->schedule_path != NULL) {
        status = cs_schedule_arg_load(&choice, how_to->schedule_path, &schedule, err);
    }
    size_t count = status == CS_OK ? cs_config_count(choice.config) : 0;
    for (size_t i = 0; i < count && status == CS_OK; i++) {
        cs_case c = {0};
        status    = cs_config_case(choice.config, i, &c, err);
        if (status == CS_OK) {
            status = run_case(&c, schedule, how_to, err);
        }
        cs_case_free(&c);
    }
    cs_stored_free(schedule);
    cs_scenario_choice_free(&choice);
    return status;
}

static cs_status run_bench(settings *how_to, cs_error *err)
{
    cs_text   text       = {0};
    bool      has_config = how_to->config_path != NULL || how_to->schedule_path != NULL;
    cs_status status     = CS_OK;

    if (how_to->format != 1) {
        cs_bench_header(&text);
        status = cs_cli_write(NULL, &text, err);
    }
    if (status == CS_OK) {
        status = has_config ? run_config(how_to, err) : run_registry(how_to, err);
    }
    cs_text_free(&text);
    if (how_to->format == 1 && status == CS_OK) {
        cs_text_add(&text, "]\n");
        status = cs_cli_write(NULL, &text, err);
        cs_text_free(&text);
    }
    return status;
}

static cs_status check_gpus(const settings *how_to, cs_error *err)
{
    uint32_t g = how_to->gpus_per_server;

    if (g > 0 && 64 % g != 0) { /* it must divide all numbers of ranks */
        return CS_FAIL(err, CS_EINVAL, "--gpus-per-server", "a divisor of 64 is wanted, got %u", g);
    }
    if (g > 0 && (how_to->config_path != NULL || how_to->schedule_path != NULL)) {
        return CS_FAIL(err, CS_EINVAL, "--gpus-per-server",
                       "a configuration or a schedule brings its own servers");
    }
    return CS_OK;
}

static int bench_run(int count, char *const *words)
{
    settings  how_to     = {0};
    cs_error  err        = {0};
    bool      wants_help = false;
    cs_status status     = cs_cli_read(&cs_command_bench, count, words, &how_to, &wants_help, &err);

    if (status == CS_OK && wants_help) {
        return cs_cli_help(&cs_command_bench);
    }
    if (status == CS_OK) {
        status = check_gpus(&how_to, &err);
    }
    if (status == CS_OK) {
        status = run_bench(&how_to, &err);
    }
    return status == CS_OK ? CS_EXIT_DONE : cs_cli_fail(&err);
}

const cs_command cs_command_bench = {
    .name    = "bench",
    .usage   = "bench [CONFIG] [--schedule FILE] [--quick] [-g G] [--format json]",
    .summary = "transfers per second of replay, per algorithm and model or of a configuration",
    .tables  = bench_tables,
    .run     = bench_run,
};
