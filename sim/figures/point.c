/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One collective of a figure: see point.h. */
#include "figures/point.h"

#include "analytic/formula.h"
#include "base/alloc.h"
#include "base/log2.h"
#include "figures/rows.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_VERIFIED = 256 };

const cs_figure_machine cs_figure_h100 = {3e-6, 450e9};

double cs_figure_buffer_s(const cs_figure_machine *machine, uint64_t bytes)
{
    return (double)bytes / machine->bandwidth_Bps;
}

/* Formulas as functions of the point: elapsed time. */
static double stragglar_s(uint32_t n, double alpha_s, double x_s, double delay_s)
{
    double main_s = cs_formula_stragglar_best(n, cs_stragglar_rounds(n), alpha_s, x_s);
    return fmax(cs_formula_reduce_scatter(n, alpha_s, x_s), delay_s) + main_s;
}

static double broadcast_s(uint32_t n, double alpha_s, double x_s, double delay_s)
{
    return fmax(2 * cs_formula_reduce_scatter(n, alpha_s, x_s), delay_s) +
           cs_formula_broadcast_ideal(n, alpha_s, x_s);
}

static double ring_s(uint32_t n, double alpha_s, double x_s, double delay_s)
{
    return delay_s + cs_formula_ring(n, alpha_s, x_s);
}

static double rhd_s(uint32_t n, double alpha_s, double x_s, double delay_s)
{
    bool is_power = (n & (n - 1)) == 0;
    return is_power || delay_s <= 0 ? delay_s + cs_formula_rhd(n, alpha_s, x_s) : (double)NAN;
}

static double allpairs_s(uint32_t n, double alpha_s, double x_s, double delay_s)
{
    return delay_s + cs_formula_allpairs(n, alpha_s, x_s);
}

/* Of all ranks, where the formula is that of the others of one late rank. */
static double reduce_scatter_s(uint32_t n, double alpha_s, double x_s, double delay_s)
{
    return delay_s + cs_formula_reduce_scatter(n + 1, alpha_s, x_s);
}

static uint64_t ranks(uint32_t n)
{
    return n;
}

static uint64_t others(uint32_t n)
{
    return n - 1;
}

static uint64_t core(uint32_t n)
{
    return UINT64_C(1) << (cs_log2_ceil((uint64_t)n + 1) - 1);
}

/* What a figure knows of an algorithm: its formula, and in how many equal parts it splits. */
typedef struct known {
    const char   *algorithm;
    cs_collective collective;
    double (*elapsed_s)(uint32_t n, double alpha_s, double x_s, double delay_s);
    uint64_t (*parts)(uint32_t n);
} known;

static const known known_algorithms[] = {{"ring", CS_ALLREDUCE, ring_s, ranks},
                                         {"ring", CS_REDUCESCATTER, reduce_scatter_s, ranks},
                                         {"rhd", CS_ALLREDUCE, rhd_s, core},
                                         {"allpairs", CS_ALLREDUCE, allpairs_s, ranks},
                                         {"broadcast", CS_ALLREDUCE, broadcast_s, others},
                                         {"stragglar", CS_ALLREDUCE, stragglar_s, others}};

static const known *find(const cs_figure_point *point)
{
    for (size_t i = 0; i < sizeof known_algorithms / sizeof known_algorithms[0]; i++) {
        const known *k = &known_algorithms[i];
        if (k->collective == point->collective && strcmp(k->algorithm, point->algorithm) == 0) {
            return k;
        }
    }
    return NULL;
}

double cs_figure_formula_s(const cs_figure_point *point)
{
    const known *k   = find(point);
    double       x_s = cs_figure_buffer_s(&point->machine, point->bytes);

    if (k == NULL) {
        return (double)NAN;
    }
    if (point->n_slow > 0) {
        bool is_iccl = k->elapsed_s == ring_s && point->machine.alpha_s <= 0 && point->delay_s <= 0;
        return is_iccl ? cs_formula_iccl(point->n_ranks, 1, point->slow_ratio) * x_s : (double)NAN;
    }
    return k->elapsed_s(point->n_ranks, point->machine.alpha_s, x_s, point->delay_s);
}

/* The bytes nearest to those of the point that split evenly. */
static uint64_t even_bytes(const cs_figure_point *point)
{
    const known *k     = find(point);
    uint64_t     parts = k != NULL ? k->parts(point->n_ranks) : 1;
    return (point->bytes + parts / 2) / parts * parts;
}

static cs_scenario scenario_of(const cs_figure_point *point, const double *arrival_s,
                               const cs_fault *faults)
{
    uint64_t  bytes = even_bytes(point);
    double    scale = (double)bytes / (double)point->bytes;
    cs_fabric port  = {CS_SWITCHED, point->machine.alpha_s, point->machine.bandwidth_Bps * scale};

    return (cs_scenario){
        .collective = point->collective,
        .bytes      = bytes,
        .cluster    = {.n_ranks = point->n_ranks, .gpus_per_server = 1, .fabrics = {port, port}},
        .arrival_s  = arrival_s,
        .faults     = faults,
        .n_faults   = faults != NULL ? point->n_slow : 0};
}

bool cs_figure_has_schedule(const cs_figure_point *point)
{
    const cs_algorithm *algorithm;
    cs_job              job = {.scenario = scenario_of(point, NULL, NULL)};

    if (cs_algorithm_find(point->algorithm, &algorithm, NULL) != CS_OK) {
        return false;
    }
    cs_job_set_algorithm(&job, algorithm, NULL);
    cs_job_set_model(&job, cs_models[0], NULL);
    bool has = cs_job_resolve(&job, NULL) == CS_OK;
    cs_job_release(&job);
    return has;
}

static void check_result(cs_figure_data *data, const cs_figure_point *point, const cs_result *r)
{
    double formula_s = cs_figure_formula_s(point);
    char   what[96];

    if (point->n_ranks <= MAX_VERIFIED) {
        (void)snprintf(what, sizeof what, "%s is a correct %s at n = %u", point->algorithm,
                       cs_collective_name(point->collective), point->n_ranks);
        cs_figure_expect(data, what, r->verified);
    }
    if (!isnan(formula_s)) {
        (void)snprintf(what, sizeof what, "%s, replay against formula, s", point->algorithm);
        cs_figure_check_at(data, what, point->n_ranks, r->elapsed_s, formula_s, CS_REPLAY_DIGITS);
    }
    (void)snprintf(what, sizeof what, "%s at n = %u is not faster than the bound %s",
                   point->algorithm, point->n_ranks, r->bound);
    cs_figure_expect(data, what, r->bound_s <= r->elapsed_s * (1 + CS_REPLAY_DIGITS));
}

static cs_status run(const cs_figure_point *point, const double *arrival_s, cs_result *result_p,
                     cs_error *err)
{
    cs_fault            slow[CS_MAX_SLOW];
    cs_job              job = {.scenario = scenario_of(point, arrival_s, slow),
                               .verify   = point->n_ranks <= MAX_VERIFIED};
    const cs_algorithm *algorithm;
    cs_status           status = cs_algorithm_find(point->algorithm, &algorithm, err);

    assert(point->n_slow <= CS_MAX_SLOW);
    for (uint32_t r = 0; r < point->n_slow; r++) {
        slow[r] =
            (cs_fault){.rank = r, .slow_ratio = point->slow_ratio, .until_s = (double)INFINITY};
    }
    if (status != CS_OK) {
        return status;
    }
    cs_job_set_algorithm(&job, algorithm, NULL);
    cs_job_set_model(&job, cs_models[0], NULL);
    return cs_job_run(&job, &point->observer, 1, result_p, err);
}

cs_status cs_figure_replay(cs_figure_data *data, const cs_figure_point *point, cs_result *result_p,
                           cs_error *err)
{
    double *arrival_s = CS_NEW(double, point->n_ranks);

    if (arrival_s == NULL) {
        return CS_FAIL(err, CS_ENOMEM, NULL, "out of memory for %u arrivals", point->n_ranks);
    }
    arrival_s[point->n_ranks - 1] = point->delay_s;
    cs_status status              = run(point, arrival_s, result_p, err);
    if (status == CS_OK) {
        check_result(data, point, result_p);
    }
    cs_free(arrival_s);
    return status;
}
