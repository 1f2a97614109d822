/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/bench_point.h"

#include "base/alloc.h"
#include "base/column.h"
#include "cli/bench_limit.h"

#include <stdlib.h>
#include <time.h>

enum { RUNS = 5, QUICK_RUNS = 3, MOST_LIMIT_RANKS = 1024 };

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Transfers per second over as many replays as take `least_s` together. */
static cs_status measure(cs_bench_point *p, double least_s, double *rate_p, cs_error *err)
{
    cs_outcome outcome;
    double     spent = 0, begin = now_s();
    uint64_t   total = 0;
    cs_status  status;

    do {
        status = cs_job_replay(&p->job, NULL, 0, &outcome, err);
        if (status == CS_OK && p->job.verify && !outcome.verified) {
            status = CS_FAIL(err, CS_EWRONG, p->job.algorithm->name, "%s", outcome.verdict.text);
        }
        total += outcome.n_transfers;
        spent = now_s() - begin;
    } while (status == CS_OK && spent < least_s);
    p->transfers = outcome.n_transfers;
    *rate_p      = (double)total / spent;
    return status;
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

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof values[0], by_value);
    return values[count / 2];
}

static cs_status run_repeatedly(cs_bench_point *p, cs_bench_limit *limit, bool quick, cs_error *err)
{
    double    rates[RUNS], ratios[RUNS], warm_up;
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

cs_status cs_bench_run(cs_bench_point *p, bool quick, cs_error *err)
{
    uint32_t        ranks = p->job.scenario.cluster.n_ranks;
    cs_bench_limit *limit =
        cs_bench_limit_open(ranks < MOST_LIMIT_RANKS ? ranks : MOST_LIMIT_RANKS);
    cs_status status = limit == NULL ? CS_FAIL(err, CS_ENOMEM, "bench", "out of memory")
                                     : run_repeatedly(p, limit, quick, err);

    cs_bench_limit_close(limit);
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

void cs_bench_header(cs_text *text)
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

void cs_bench_row(cs_text *text, const cs_bench_point *p, bool json, bool is_first)
{
    const cs_cluster *cluster = &p->job.scenario.cluster;
    const bench_row   row     = {.algorithm       = p->job.algorithm->name,
                                 .model           = p->job.model->name,
                                 .ranks           = cluster->n_ranks,
                                 .gpus_per_server = cluster->gpus_per_server,
                                 .verify          = p->job.verify,
                                 .late            = is_late(&p->job.scenario),
                                 .transfers       = p->transfers,
                                 .transfers_per_s = p->rate,
                                 .ratio_to_limit  = p->ratio};

    if (json) {
        cs_text_add(text, "%s{", is_first ? "[" : ",\n ");
        cs_json_row(text, &(cs_row){bench_columns, &row, false});
        cs_text_add(text, "}");
        return;
    }
    cs_text_add(text, "%-18s %-10s %6u  %-8s %-5s %9.1f  (%.1f .. %.1f)  %.2f\n", row.algorithm,
                row.model, row.ranks, p->job.verify ? "verify" : "-", row.late ? "late" : "-",
                p->rate / 1e6, p->least / 1e6, p->most / 1e6, p->ratio);
}
