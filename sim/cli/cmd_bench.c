/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim bench: transfers per second of replay, per algorithm, model, number of ranks,
 * verification and arrival pattern, or of the scenarios of a configuration; each beside plain C
 * over a stored ring of as many ranks, at most 1024. */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/column.h"
#include "base/random.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/scenario_args.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <string.h>
#include <time.h>

enum { RUNS = 5, QUICK_RUNS = 3, MOST_LIMIT_RANKS = 1024 };

#define LATEST_S 1e-3 /* late ranks: uniform in [0, 1 ms] */

/* What the user chose. */
typedef struct settings {
    bool             quick, is_quiet;
    cs_result_format format;
    uint32_t         gpus_per_server; /* 0: not given */
    const char      *config_path, *schedule_path;
    bool             printed; /* a row */
} settings;

/* clang-format off */
static const cs_arg bench_args[] = {
    CS_ARG_GROUP("what is timed"),
    CS_ARG_FLAG(settings, quick, 0, "quick", "fewer ranks, less time per line"),
    CS_ARG_NUMBER(settings, gpus_per_server, 'g', "gpus-per-server", "G",
                  "GPUs in a server, a divisor of 64 (1)", .min = 1, .max = 64),
    CS_ARG_TEXT(settings, schedule_path, 0, "schedule", "FILE", "time a schedule file instead of an algorithm"),
    CS_ARG_GROUP("output"),
    CS_ARG_CHOICE(settings, format, 0, "format", "table|json", "how to print (table)"),
    CS_QUIET_ROW(settings, is_quiet),
    CS_ARG_OPERAND(settings, config_path, "configuration"),
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
static const cs_arg_table bench_tables[] = {{bench_args, 0, CS_NOWHERE, CS_NOWHERE}, {.args = NULL}};
/* clang-format on */

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the limit ---- */

/* What plain C reaches on this machine: a ring AllReduce whose transfers are stored in memory
 * beforehand, in port order, with the two port times and the ready time of the data, and nothing
 * else: no generation, no checks, no choice of model. The simulator generates its transfers on the
 * fly instead of loading them. */
typedef struct stored_step {
    uint32_t src, dst;
    uint32_t from, to; /* ready times that it reads and writes */
    double   bytes;
} stored_step;

typedef struct stored_ring {
    uint32_t     n;
    uint64_t     count;
    stored_step *steps;
    double      *tx, *rx, *ready;
} stored_ring;

/* All memory is the arena's. */
static cs_status store_ring(stored_ring *l, uint32_t n, cs_arena *arena, cs_error *err)
{
    l->n     = n;
    l->count = (uint64_t)2 * (n - 1) * n;
    l->steps = CS_ARENA_NEW(arena, stored_step, l->count);
    l->tx    = CS_ARENA_NEW(arena, double, n);
    l->rx    = CS_ARENA_NEW(arena, double, n);
    l->ready = CS_ARENA_NEW(arena, double, 2 * (size_t)n);
    if (l->steps == NULL || l->tx == NULL || l->rx == NULL || l->ready == NULL) {
        return CS_NO_MEMORY(err, "a stored ring of %u ranks", n);
    }
    for (uint64_t i = 0; i < l->count; i++) {
        uint32_t src = (uint32_t)(i % n), dst = (src + 1) % n, turn = (uint32_t)(i / n) & 1u;
        l->steps[i] =
            (stored_step){src, dst, 2 * src + turn, 2 * dst + (turn ^ 1u), 1073741824.0 / n};
    }
    return CS_OK;
}

/* Replay it once; returns the time of the collective in seconds. */
static double run_stored(stored_ring *l)
{
    const double alpha = 3e-6, pace = 1 / 450e9;
    double      *tx = l->tx, *rx = l->rx, *ready = l->ready, last = 0;

    for (size_t r = 0; r < l->n; r++) {
        tx[r] = rx[r] = ready[2 * r] = ready[2 * r + 1] = 0;
    }
    for (uint64_t i = 0; i < l->count; i++) {
        const stored_step *s     = &l->steps[i];
        double             start = tx[s->src] > rx[s->dst] ? tx[s->src] : rx[s->dst];
        start                    = start > ready[s->from] ? start : ready[s->from];
        double end               = start + alpha + s->bytes * pace;
        tx[s->src]               = end;
        rx[s->dst]               = end;
        ready[s->to]             = end;
    }
    for (uint32_t r = 0; r < l->n; r++) {
        last = rx[r] > last ? rx[r] : last;
    }
    return last;
}

/* Transfers per second of the stored ring. */
static double measure_stored(stored_ring *limit, double least_s)
{
    double          begin = now_s(), spent = 0;
    uint64_t        total = 0;
    volatile double time_s; /* the result must not be optimised away */

    do {
        time_s = run_stored(limit);
        total += limit->count;
        spent = now_s() - begin;
    } while (spent < least_s && time_s > 0);
    return (double)total / spent;
}

/* ---- one line ---- */

/* What is measured, and what came out. */
typedef struct timing {
    cs_job   job;               /* resolved; the caller's */
    double   rate, least, most; /* transfers per second: median, least, most */
    double   ratio;             /* to the limit measured beside it, median */
    uint64_t transfers;         /* of one replay */
} timing;

/* Transfers per second over as many replays as take `least_s` together. */
static cs_status measure(timing *t, double least_s, double *rate_p, cs_error *err)
{
    cs_outcome outcome;
    double     spent = 0, begin = now_s();
    uint64_t   total = 0;

    do {
        CS_TRY(cs_job_replay(&t->job, NULL, 0, &outcome, err));
        if (t->job.verify && !outcome.verified) {
            return CS_FAIL(err, CS_EWRONG, t->job.algorithm->name, "%s", outcome.verdict.text);
        }
        total += outcome.n_transfers;
        spent = now_s() - begin;
    } while (spent < least_s);
    t->transfers = outcome.n_transfers;
    *rate_p      = (double)total / spent;
    return CS_OK;
}

static double median(double *values, int count)
{
    gsl_sort(values, 1, (size_t)count);
    return values[count / 2];
}

/* Replay it for at least 0.1 s (`quick`: 0.02 s) five times (three), each time beside the limit. */
static cs_status measure_beside(timing *t, stored_ring *limit, bool quick, cs_error *err)
{
    double rates[RUNS], ratios[RUNS], warm_up;
    int    runs  = quick ? QUICK_RUNS : RUNS;
    double least = quick ? 0.02 : 0.1;

    CS_TRY(measure(t, 0, &warm_up, err));
    for (int i = 0; i < runs; i++) {
        CS_TRY(measure(t, least, &rates[i], err));
        ratios[i] = rates[i] / measure_stored(limit, least / 2);
    }
    t->rate  = median(rates, runs);
    t->least = rates[0];
    t->most  = rates[runs - 1];
    t->ratio = median(ratios, runs);
    return CS_OK;
}

static cs_status time_job(timing *t, bool quick, cs_error *err)
{
    uint32_t    ranks = t->job.scenario.cluster.n_ranks;
    cs_arena    arena = {0};
    stored_ring limit = {0};
    cs_status   status =
        store_ring(&limit, ranks < MOST_LIMIT_RANKS ? ranks : MOST_LIMIT_RANKS, &arena, err);

    if (status == CS_OK) {
        status = measure_beside(t, &limit, quick, err);
    }
    cs_arena_free(&arena);
    return status;
}

static bool is_late(const cs_scenario *s)
{
    bool found = false;

    for (uint32_t r = 0; s->arrival_s != NULL && r < s->cluster.n_ranks; r++) {
        found = found || s->arrival_s[r] > 0;
    }
    return found;
}

static void add_header(cs_text *text)
{
    cs_text_add(text,
                "# %-16s %-10s %6s  %-8s %-5s %9s  (least .. most)  ratio to plain C over a "
                "stored ring\n",
                "algorithm", "model", "ranks", "check", "ranks", "M/s");
}

/* A line for programs. */
typedef struct bench_row {
    const char *algorithm, *model;
    uint32_t    ranks, gpus_per_server;
    bool        verify, late;
    uint64_t    transfers;
    double      transfers_per_s, ratio_to_limit;
} bench_row;

static const cs_column bench_columns[] = {
    CS_COLUMN(bench_row, algorithm),      CS_COLUMN(bench_row, model),
    CS_COLUMN(bench_row, ranks),          CS_COLUMN(bench_row, gpus_per_server),
    CS_COLUMN(bench_row, verify),         CS_COLUMN(bench_row, late),
    CS_COLUMN(bench_row, transfers),      CS_COLUMN(bench_row, transfers_per_s),
    CS_COLUMN(bench_row, ratio_to_limit), CS_COLUMN_END,
};

static void add_row(cs_text *text, const timing *t, bool json, bool is_first)
{
    const cs_cluster *cluster = &t->job.scenario.cluster;
    const bench_row   row     = {.algorithm       = t->job.algorithm->name,
                                 .model           = t->job.model->name,
                                 .ranks           = cluster->n_ranks,
                                 .gpus_per_server = cluster->gpus_per_server,
                                 .verify          = t->job.verify,
                                 .late            = is_late(&t->job.scenario),
                                 .transfers       = t->transfers,
                                 .transfers_per_s = t->rate,
                                 .ratio_to_limit  = t->ratio};

    if (json) {
        cs_text_add(text, "%s{", is_first ? "[" : ",\n ");
        cs_json_row(text, &(cs_row){bench_columns, &row, false});
        cs_text_add(text, "}");
        return;
    }
    cs_text_add(text, "%-18s %-10s %6u  %-8s %-5s %9.1f  (%.1f .. %.1f)  %.2f\n", row.algorithm,
                row.model, row.ranks, t->job.verify ? "verify" : "-", row.late ? "late" : "-",
                t->rate / 1e6, t->least / 1e6, t->most / 1e6, t->ratio);
}

/* ---- the command ---- */

/* A point of the built-in benchmark with what it borrows. */
typedef struct point {
    timing      timing;
    cs_capacity slow;     /* for the algorithms that are made for slow NICs */
    double     *arrivals; /* owned; NULL: nobody is late */
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
    uint32_t n      = p->timing.job.scenario.cluster.n_ranks;
    gsl_rng *stream = cs_random_stream(1, "bench arrivals");
    p->arrivals     = CS_NEW(double, n);

    if (stream == NULL || p->arrivals == NULL) {
        gsl_rng_free(stream);
        return CS_NO_MEMORY(err, "%u arrivals", n);
    }
    for (uint32_t r = 1; r < n; r++) {
        p->arrivals[r] = LATEST_S * gsl_rng_uniform(stream);
    }
    gsl_rng_free(stream);
    p->timing.job.scenario.arrival_s = p->arrivals;
    return CS_OK;
}

/* A packet in another process takes microseconds. */
static uint64_t bytes_for(const cs_model *model)
{
    const cs_network *n        = model->network;
    bool              is_small = n != NULL && n->is_foreign && n->queues_senders != NULL;

    return (uint64_t)1 << (is_small ? 20 : 30);
}

static cs_status prepare(point *p, uint32_t n_ranks, uint32_t gpus_per_server, cs_error *err)
{
    cs_fabric nic = {CS_SWITCHED, 3e-6, 450e9};
    cs_job   *job = &p->timing.job;

    job->scenario = (cs_scenario){
        .collective = collective_of(job->algorithm),
        .bytes      = bytes_for(job->model),
        .cluster = {.n_ranks = n_ranks, .gpus_per_server = gpus_per_server, .fabrics = {nic, nic}},
        .seed    = 1};
    if (cs_field_find(job->algorithm->options, "chosen") != NULL) {
        p->slow                  = (cs_capacity){0, 2, 0, (double)INFINITY, false};
        job->scenario.capacity   = &p->slow;
        job->scenario.n_capacity = 1;
    }
    return cs_job_resolve(job, err);
}

static cs_status run_and_print(timing *t, settings *how_to, cs_error *err)
{
    cs_text text = {0};

    CS_TRY(time_job(t, how_to->quick, err));
    add_row(&text, t, how_to->format == CS_AS_JSON, !how_to->printed);
    how_to->printed  = true;
    cs_status status = cs_cli_write(NULL, &text, err);
    cs_text_free(&text);
    return status;
}

/* Servers of so many GPUs, or, where the algorithm does not run on them, one server, or four. False
 * in *can_p: it does not run on the model. */
static cs_status prepare_some(point *p, uint32_t n_ranks, uint32_t gpus_per_server, bool *can_p,
                              cs_error *err)
{
    const uint32_t gpus[] = {gpus_per_server, n_ranks, n_ranks / 4};
    cs_error       wrong  = {0};
    cs_status      status = CS_ENOTSUP;

    for (size_t i = 0; i < sizeof gpus / sizeof gpus[0] && cs_status_is_refusal(status); i++) {
        wrong  = (cs_error){0};
        status = prepare(p, n_ranks, gpus[i], &wrong);
    }
    *can_p = !cs_status_is_refusal(status);
    return status == CS_OK || !*can_p ? CS_OK
                                      : CS_FAIL(err, status, wrong.where, "%s", wrong.message);
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
    bool     fast = is_flow || (algorithm->closed_form_s != NULL && model == cs_models[0]);
    size_t   last = fast ? (is_flow ? 3 : 4) : 2;
    uint32_t g    = how_to->gpus_per_server > 0 ? how_to->gpus_per_server : 1;

    last = how_to->quick ? (last + 1) / 2 : last;
    last = foreign && !is_ring ? 0 : last; /* one line is enough to compare with */
    for (size_t i = 0; i < last && status == CS_OK; i++) {
        for (int how = 0; how < 4 && status == CS_OK; how++) {
            point p   = {.timing.job.verify = how % 2 != 0};
            bool  can = true;
            if (!fast && how > 0) {
                continue;
            }
            cs_job_set_algorithm(&p.timing.job, algorithm, NULL);
            cs_job_set_model(&p.timing.job, model, NULL);
            status = prepare_some(&p, ranks[i], g, &can, err);
            if (status == CS_OK && can && how >= 2) {
                status = draw_arrivals(&p, err);
            }
            if (status == CS_OK && can) {
                status = run_and_print(&p.timing, how_to, err);
            }
            cs_job_release(&p.timing.job);
            cs_free(p.arrivals);
        }
    }
    return status;
}

static cs_status run_registry(settings *how_to, cs_error *err)
{
    size_t    n_models = 0, n_algorithms = 0, done = 0;
    cs_status status = CS_OK;

    while (cs_models[n_models] != NULL) {
        n_models++;
    }
    while (cs_algorithms[n_algorithms] != NULL) {
        n_algorithms++;
    }
    for (size_t m = 0; m < n_models; m++) {
        for (size_t a = 0; a < n_algorithms && status == CS_OK; a++) {
            status = run_points(cs_algorithms[a], cs_models[m], how_to, err);
            cs_cli_progress(++done, n_models * n_algorithms);
        }
    }
    return status;
}

static cs_status run_case(const cs_case *c, const cs_stored *schedule, settings *how_to,
                          cs_error *err)
{
    const cs_stored_options stored = {schedule};
    timing                  p      = {.job = c->job};

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
        cs_cli_progress(i + 1, count);
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

    if (how_to->format != CS_AS_JSON) {
        add_header(&text);
        status = cs_cli_write(NULL, &text, err);
    }
    if (status == CS_OK) {
        cs_cli_progress_begin("bench", how_to->is_quiet);
        status = has_config ? run_config(how_to, err) : run_registry(how_to, err);
        cs_cli_progress_end();
    }
    cs_text_free(&text);
    if (how_to->format == CS_AS_JSON && status == CS_OK) {
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
    .name     = "bench",
    .usage    = "bench [CONFIG] [--schedule FILE] [--quick] [-g G] [--format json]",
    .summary  = "transfers per second of replay, per algorithm and model or of a configuration",
    .tables   = bench_tables,
    .examples = {"collsim bench configs/half-nic.json --quick",
                 "collsim schedule ring -n 8 --format json -o ring.json && collsim bench "
                 "--schedule ring.json --quick"},
    .run      = bench_run,
};
