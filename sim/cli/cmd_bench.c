/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim bench: transfers per second of replay, per algorithm, model, number of ranks,
 * verification and arrival pattern; the median of several runs each, and the ratio to plain C over
 * a stored ring (bench_limit.h) measured beside each run. */
#include "base/alloc.h"
#include "base/random.h"
#include "cli/bench_limit.h"
#include "cli/cli.h"
#include "cs/replay.h"
#include "cs/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { QUICK = 1, FORMAT, GPUS, RUNS = 5, QUICK_RUNS = 3, MAX_RUNS = 9, MOST_LIMIT_RANKS = 1024 };

#define LATEST_S 1e-3 /* late ranks: uniform in [0, 1 ms] */

/* clang-format off */
static const cs_arg bench_args[] = {
    {QUICK, 0, "quick", NULL, "fewer ranks, less time per line"},
    {GPUS, 'g', "gpus-per-server", "G", "GPUs in a server, a divisor of 64 (1)"},
    {FORMAT, 0, "format", "table|json", "how to print (table)"},
    CS_ARG_HELP_ROW,
    CS_ARG_LAST_ROW,
};
/* clang-format on */

static const cs_arg *const bench_tables[] = {bench_args, NULL};

/* What the user chose. */
typedef struct settings {
    bool     quick, json;
    uint32_t gpus_per_server;
} settings;

typedef struct point {
    const cs_algorithm *algorithm;
    const cs_model     *model;
    uint32_t            n_ranks, gpus_per_server;
    bool                verify, is_late;
    cs_scenario         scenario;
    cs_fault            fault; /* for the algorithms that are made for slow NICs */
    cs_options          options, model_options;
    cs_plan             plan;
    double              rate, least, most; /* transfers per second: median, least, most */
    double              ratio;             /* to the limit measured beside it, median */
    uint64_t            transfers;
} point;

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Transfers per second over as many replays as take `least_s` together. */
static cs_status measure(point *p, double least_s, double *rate_p, cs_error *err)
{
    const cs_replay_request request = {.scenario      = &p->scenario,
                                       .algorithm     = p->algorithm,
                                       .options       = &p->options,
                                       .plan          = &p->plan,
                                       .model         = p->model,
                                       .model_options = &p->model_options,
                                       .verify        = p->verify};
    cs_outcome              outcome;
    double                  spent = 0, begin = now_s();
    uint64_t                total = 0;
    cs_status               status;

    do {
        status = cs_replay(&request, &outcome, err);
        if (status == CS_OK && p->verify && !outcome.verified) {
            status = CS_FAIL(err, CS_EWRONG, p->algorithm->name, "%s", outcome.verdict.text);
        }
        total += outcome.n_transfers;
        spent = now_s() - begin;
    } while (status == CS_OK && spent < least_s);
    p->transfers = outcome.n_transfers;
    *rate_p      = (double)total / spent;
    return status;
}

/* AllReduce, or the first collective that the algorithm does. */
static cs_collective collective_of(const cs_algorithm *algorithm)
{
    uint32_t c = CS_ALLREDUCE;

    while ((algorithm->collectives >> c & 1u) == 0) {
        c = (c + 1) % CS_COLLECTIVE_COUNT;
    }
    return (cs_collective)c;
}

static cs_status prepare(point *p, double *arrivals, cs_error *err)
{
    cs_fabric nic = {CS_SWITCHED, 3e-6, 450e9};

    p->scenario = (cs_scenario){.collective = collective_of(p->algorithm),
                                .bytes      = (uint64_t)1 << 30,
                                .cluster    = {.n_ranks         = p->n_ranks,
                                               .gpus_per_server = p->gpus_per_server,
                                               .fabrics         = {nic, nic}},
                                .arrival_s  = p->is_late ? arrivals : NULL,
                                .seed       = 1};
    if (p->is_late) {
        gsl_rng *stream = cs_random_stream(1, "bench arrivals");
        if (stream == NULL) {
            return CS_FAIL(err, CS_ENOMEM, "bench", "out of memory");
        }
        for (uint32_t r = 0; r < p->n_ranks; r++) {
            arrivals[r] = r == 0 ? 0 : LATEST_S * gsl_rng_uniform(stream);
        }
        gsl_rng_free(stream);
    }
    if (p->algorithm->options != NULL) {
        cs_options_default(p->algorithm->options, &p->options);
    }
    for (const cs_option *o = p->algorithm->options; o != NULL && o->name != NULL; o++) {
        if (strcmp(o->name, "chosen") == 0) {
            p->fault             = (cs_fault){0, 2, 0, (double)INFINITY};
            p->scenario.faults   = &p->fault;
            p->scenario.n_faults = 1;
        }
    }
    if (p->model->options != NULL) {
        cs_options_default(p->model->options, &p->model_options);
    }
    return p->algorithm->check(&p->scenario, &p->options, &p->plan, err);
}

/* Transfers per second of the stored ring. */
static double measure_limit(cs_bench_limit *limit, double least_s)
{
    double          begin = now_s(), spent = 0;
    uint64_t        total = 0;
    volatile double time_s; /* the result must not be optimised away */

    do {
        time_s = cs_bench_limit_run(limit);
        total += cs_bench_limit_transfers(limit);
        spent = now_s() - begin;
    } while (spent < least_s && time_s > 0);
    return (double)total / spent;
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof values[0], by_value);
    return values[count / 2];
}

static cs_status run_repeatedly(point *p, cs_bench_limit *limit, bool quick, cs_error *err)
{
    double    rates[MAX_RUNS], ratios[MAX_RUNS], warm_up;
    int       runs   = quick ? QUICK_RUNS : RUNS;
    double    least  = quick ? 0.02 : 0.1;
    cs_status status = measure(p, 0, &warm_up, err);

    for (int i = 0; i < runs && status == CS_OK; i++) {
        status    = measure(p, least, &rates[i], err);
        ratios[i] = rates[i] / measure_limit(limit, least / 2);
    }
    if (status == CS_OK) {
        p->rate  = median(rates, runs);
        p->least = rates[0];
        p->most  = rates[runs - 1];
        p->ratio = median(ratios, runs);
    }
    return status;
}

static cs_status run_point(point *p, bool quick, cs_error *err)
{
    double         *arrivals = CS_NEW(double, p->n_ranks);
    uint32_t        ranks    = p->n_ranks < MOST_LIMIT_RANKS ? p->n_ranks : MOST_LIMIT_RANKS;
    cs_bench_limit *limit    = cs_bench_limit_open(ranks);
    cs_status       status   = arrivals == NULL || limit == NULL
                                   ? CS_FAIL(err, CS_ENOMEM, "bench", "out of memory")
                                   : prepare(p, arrivals, err);

    if (status == CS_OK) {
        status = run_repeatedly(p, limit, quick, err);
    }
    cs_bench_limit_close(limit);
    cs_free(arrivals);
    return status;
}

static void add_point(cs_text *text, const point *p, bool json, bool first)
{
    if (!json) {
        cs_text_add(text, "%-18s %-10s %6u  %-8s %-5s %9.1f  (%.1f .. %.1f)  %.2f\n",
                    p->algorithm->name, p->model->name, p->n_ranks, p->verify ? "verify" : "-",
                    p->is_late ? "late" : "-", p->rate / 1e6, p->least / 1e6, p->most / 1e6,
                    p->ratio);
        return;
    }
    cs_text_add(text, "%s{\"algorithm\": \"%s\", \"model\": \"%s\", \"ranks\": %u, ",
                first ? "[" : ",\n ", p->algorithm->name, p->model->name, p->n_ranks);
    cs_text_add(text, "\"gpus_per_server\": %u, ", p->gpus_per_server);
    cs_text_add(text, "\"verify\": %s, \"late\": %s, \"transfers\": %llu, \"transfers_per_s\": ",
                p->verify ? "true" : "false", p->is_late ? "true" : "false",
                (unsigned long long)p->transfers);
    cs_text_add_number(text, p->rate);
    cs_text_add(text, ", \"ratio_to_limit\": ");
    cs_text_add_number(text, p->ratio);
    cs_text_add(text, "}");
}

/* All combinations for one algorithm and model; prints as it goes. */
static cs_status run_points(const cs_algorithm *algorithm, const cs_model *model,
                            const settings *how_to, bool *first, cs_error *err)
{
    static const uint32_t ranks[] = {64, 256, 1024, 4096};
    cs_status             status  = CS_OK;
    bool                  is_ring = strcmp(algorithm->name, "ring") == 0;
    bool                  foreign = model->network != NULL && model->network->is_foreign;
    bool                  is_flow = model->network != NULL && is_ring && !foreign;
    size_t                last    = how_to->quick || is_flow ? 3 : 4;
    bool fast = is_flow || (algorithm->closed_form_s != NULL && model == cs_models[0]);

    last = foreign && !is_ring ? 0 : last; /* one line is enough to compare with */
    for (size_t i = 0; i < last && status == CS_OK; i++) {
        for (int how = 0; how < 4 && status == CS_OK; how++) {
            cs_text text = {0};
            point   p    = {.algorithm       = algorithm,
                            .model           = model,
                            .n_ranks         = ranks[i],
                            .gpus_per_server = how_to->gpus_per_server,
                            .verify          = (how & 1) != 0,
                            .is_late         = (how & 2) != 0};
            if ((!fast && how > 0) || (!fast && i > 1)) {
                continue;
            }
            status = run_point(&p, how_to->quick, err);
            if (status == CS_OK) {
                add_point(&text, &p, how_to->json, *first);
                *first = false;
                status = cs_cli_write(NULL, &text, err);
            }
            cs_text_free(&text);
        }
    }
    return status;
}

static cs_status run_bench(const settings *how_to, cs_error *err)
{
    cs_text   text   = {0};
    bool      first  = true;
    cs_status status = CS_OK;

    if (!how_to->json) {
        cs_text_add(&text,
                    "# %-16s %-10s %6s  %-8s %-5s %9s  (least .. most)  ratio to plain C over a "
                    "stored ring\n",
                    "algorithm", "model", "ranks", "check", "ranks", "M/s");
        status = cs_cli_write(NULL, &text, err);
    }
    for (size_t m = 0; cs_models[m] != NULL; m++) {
        for (size_t a = 0; cs_algorithms[a] != NULL && status == CS_OK; a++) {
            status = run_points(cs_algorithms[a], cs_models[m], how_to, &first, err);
        }
    }
    cs_text_free(&text);
    if (how_to->json && status == CS_OK) {
        cs_text_add(&text, "]\n");
        status = cs_cli_write(NULL, &text, err);
        cs_text_free(&text);
    }
    return status;
}

/* It must divide all numbers of ranks. */
static cs_status parse_gpus(const char *text, settings *how_to, cs_error *err)
{
    uint64_t  number = 0;
    cs_status status = cs_parse_integer(text, 1, 64, &number, "--gpus-per-server", err);

    if (status == CS_OK && 64 % number != 0) {
        status =
            CS_FAIL(err, CS_EINVAL, "--gpus-per-server", "a divisor of 64 is wanted, got %s", text);
    }
    how_to->gpus_per_server = (uint32_t)number;
    return status;
}

static int bench_run(int count, char *const *words)
{
    cs_args   args   = {.tables = {bench_args, NULL}, .count = count, .words = words};
    cs_error  err    = {0};
    settings  how_to = {.gpus_per_server = 1};
    int       id, format = 0;
    cs_status status = CS_OK;

    while (status == CS_OK && (id = cs_args_next(&args, &err)) != CS_ARG_END) {
        if (id == CS_ARG_HELP) {
            return cs_cli_help(&cs_command_bench, bench_tables);
        }
        if (id == QUICK) {
            how_to.quick = true;
        } else if (id == GPUS) {
            status = parse_gpus(args.value, &how_to, &err);
        } else if (id == FORMAT) {
            status = cs_cli_choice(args.value, "table|json", "--format", &format, &err);
        } else {
            status = id == CS_ARG_ERROR
                         ? err.status
                         : CS_FAIL(&err, CS_EINVAL, args.value, "bench takes no such argument");
        }
    }
    if (status == CS_OK) {
        how_to.json = format == 1;
        status      = run_bench(&how_to, &err);
    }
    return status == CS_OK ? CS_EXIT_DONE : cs_cli_fail(&err);
}

const cs_command cs_command_bench = {
    .name    = "bench",
    .usage   = "bench [--quick] [-g G] [--format json]",
    .summary = "transfers per second of replay, per algorithm and model",
    .run     = bench_run,
};
