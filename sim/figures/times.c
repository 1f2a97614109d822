/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All algorithms of the StragglAR paper at one number of ranks: see times.h. */
#include "figures/times.h"

#include "analytic/formula.h"
#include "figures/rows.h"

#include <math.h>

/* The delay that just hides `steps` ring ReduceScatters among the others. */
static double hiding_delay_s(const cs_figure_point *point, double steps)
{
    double x_s = cs_figure_buffer_s(&point->machine, point->bytes);
    return steps * cs_formula_reduce_scatter(point->n_ranks, point->machine.alpha_s, x_s);
}

/* Time after the last arrival by replay. */
static cs_status exposed(cs_figure_data *data, cs_figure_point point, const char *algorithm,
                         double delay_s, double *exposed_s_p, cs_error *err)
{
    cs_result result;

    point.algorithm  = algorithm;
    point.delay_s    = delay_s;
    cs_status status = cs_figure_replay(data, &point, &result, err);
    if (status == CS_OK) {
        *exposed_s_p = result.exposed_s;
    }
    return status;
}

static cs_status plain_times(cs_figure_data *data, const cs_figure_point *point, cs_figure_times *t,
                             cs_error *err)
{
    double    hidden_s = hiding_delay_s(point, 2);
    cs_status status   = exposed(data, *point, "ring", 0, &t->ring_s, err);

    if (status == CS_OK) {
        status = exposed(data, *point, "rhd", 0, &t->rhd_s, err);
    }
    if (status == CS_OK) {
        status = exposed(data, *point, "allpairs", 0, &t->allpairs_s, err);
    }
    if (status == CS_OK) {
        status = exposed(data, *point, "broadcast", hidden_s, &t->broadcast_best_s, err);
    }
    if (status == CS_OK) {
        status = exposed(data, *point, "broadcast", 0, &t->broadcast_worst_s, err);
    }
    return status;
}

static cs_status stragglar_times(cs_figure_data *data, const cs_figure_point *point,
                                 cs_figure_times *t, cs_error *err)
{
    double alpha_s = point->machine.alpha_s, hidden_s = hiding_delay_s(point, 1);
    double x_s = cs_figure_buffer_s(&point->machine, point->bytes);

    t->is_replayed = cs_figure_has_schedule(point);
    if (!t->is_replayed) {
        t->best_s  = cs_formula_stragglar_best(t->n_ranks, t->rounds, alpha_s, x_s);
        t->worst_s = cs_formula_stragglar_worst(t->n_ranks, t->rounds, alpha_s, x_s);
        return CS_OK;
    }
    cs_status status = exposed(data, *point, "stragglar", hidden_s, &t->best_s, err);
    if (status == CS_OK) {
        status = exposed(data, *point, "stragglar", 0, &t->worst_s, err);
    }
    return status;
}

cs_status cs_figure_times_of(cs_figure_data *data, const cs_figure_machine *machine,
                             uint32_t n_ranks, uint64_t bytes, cs_figure_times *times_p,
                             cs_error *err)
{
    cs_figure_point point = {
        .algorithm = "stragglar", .machine = *machine, .n_ranks = n_ranks, .bytes = bytes};
    cs_figure_times t      = {.n_ranks = n_ranks, .rounds = cs_stragglar_rounds(n_ranks)};
    cs_status       status = plain_times(data, &point, &t, err);

    if (status == CS_OK) {
        status = stragglar_times(data, &point, &t, err);
    }
    t.ideal_delay_s =
        cs_formula_reduce_scatter(n_ranks, machine->alpha_s, cs_figure_buffer_s(machine, bytes));
    t.critical_s = fmax(0, t.worst_s - t.ring_s);
    if (status == CS_OK) {
        *times_p = t;
    }
    return status;
}

const cs_figure_published cs_figure_published_rounds[CS_N_PUBLISHED] = {
    {6, 7}, {12, 15}, {24, 27}, {48, 57}, {96, 108}, {192, 208}};

uint32_t cs_figure_published_at(uint32_t n_ranks)
{
    for (size_t i = 0; i < CS_N_PUBLISHED; i++) {
        if (cs_figure_published_rounds[i].n_ranks == n_ranks) {
            return cs_figure_published_rounds[i].rounds;
        }
    }
    return 0;
}

cs_figure_published_times cs_figure_published_times_of(const cs_figure_machine *machine,
                                                       uint32_t n_ranks, uint64_t bytes)
{
    uint32_t rounds  = cs_figure_published_at(n_ranks);
    double   alpha_s = machine->alpha_s, x_s = cs_figure_buffer_s(machine, bytes);

    if (rounds == 0) {
        return (cs_figure_published_times){(double)NAN, (double)NAN, (double)NAN};
    }
    return (cs_figure_published_times){
        .best_s     = cs_formula_stragglar_best(n_ranks, rounds, alpha_s, x_s),
        .worst_s    = cs_formula_stragglar_worst(n_ranks, rounds, alpha_s, x_s),
        .critical_s = cs_formula_critical_delay_exact(n_ranks, rounds, alpha_s, x_s)};
}
