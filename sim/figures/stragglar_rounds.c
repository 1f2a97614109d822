/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rounds of StragglAR's main phase against the lower bound n - 2 + ceil(log2 n), which holds for
 * every schedule in which a rank sends and receives at most one chunk a round: the late rank
 * sends some chunk for the first time in round n - 2 or later (counted from 0), when two ranks know
 * it, and the number of those who know it at most doubles.
 *
 * Counted in the replayed stream of transfers, and once more as the replayed time over the time of
 * a round. Beside it, for n that is no power of two, the rounds that the paper publishes, and
 * its rule of thumb n + 2 log2 n - 2. */
#include "analytic/formula.h"
#include "figures/rows.h"
#include "figures/script.h"
#include "figures/times.h"

#include <math.h>

static const char header[] =
    "ranks,lower_bound_rounds,replayed_rounds,published_rounds,rule_of_thumb_rounds,"
    "replayed_rounds_over_bound,formula_rounds_over_bound,published_rounds_over_bound,"
    "rule_of_thumb_rounds_over_bound\n";

static const char commands[] =
    "  set logscale x 2\n"
    "  set xrange [3.6:1140]\n"
    "  set yrange [-0.9:14]\n"
    "  set xtics (4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)\n"
    "  set ytics 1\n"
    "  set xlabel 'number of ranks n (log scale)'\n"
    "  set ylabel 'rounds of the main phase above the lower bound'\n"
    "  set key top left Left reverse\n"
    "  plot DATA using 'ranks':'formula_rounds_over_bound' with lines ls 7 "
    "title 'lower bound: n - 2 + ⌈log_2 n⌉ rounds', \\\n"
    "    '' using 'ranks':'replayed_rounds_over_bound' with points ls 1 ps 2*PS "
    "title 'StragglAR here, replayed', \\\n"
    "    '' using 'ranks':'rule_of_thumb_rounds_over_bound' with lines ls 8 "
    "title 'the paper for other n: about n + 2 log_2 n - 2', \\\n"
    "    '' using 'ranks':'published_rounds_over_bound' with points ls 9 ps 2*PS "
    "title 'the paper for other n: published schedules', \\\n"
    "    '' using 'ranks':'published_rounds_over_bound':(sprintf('+%d', "
    "column('published_rounds_over_bound'))) with labels offset 2.2,0.6 notitle\n";

/* Counts the rounds of a stream that begin behind the first exchange: the main phase. */
typedef struct counter {
    uint32_t first, last;
    bool     has_begun;
} counter;

static cs_status count_block(void *user, const cs_block *block, const cs_interval *intervals,
                             cs_error *err)
{
    counter *c = user;

    (void)intervals;
    (void)err;
    for (size_t i = 0; i < block->count; i++) {
        const cs_transfer *t = &block->transfers[i];
        if (!c->has_begun && cs_transfer_op(t) == CS_OP_EXCHANGE) {
            c->has_begun = true;
            c->first     = t->round;
        }
        c->last = t->round;
    }
    return CS_OK;
}

/* The rounds of the main phase, replayed with no pre-phase left to wait for. */
static cs_status replayed_rounds(cs_figure_data *data, uint32_t n, double *rounds_p, cs_error *err)
{
    const cs_figure_machine *m       = &cs_figure_h100;
    double                   x_s     = cs_figure_buffer_s(m, CS_FIGURE_GIB);
    double                   round_s = m->alpha_s + x_s / (n - 1.0);
    counter                  count   = {0};
    cs_result                result;
    const cs_figure_point    point = {
           .algorithm = "stragglar",
           .machine   = *m,
           .n_ranks   = n,
           .bytes     = CS_FIGURE_GIB,
           .delay_s   = cs_formula_reduce_scatter(n, m->alpha_s, x_s),
           .observer  = {count_block, &count},
    };
    cs_status status = cs_figure_replay(data, &point, &result, err);

    if (status != CS_OK) {
        return status;
    }
    *rounds_p = count.last - count.first + 1;
    cs_figure_check_at(data, "rounds in the stream", n, *rounds_p, cs_stragglar_rounds(n), 0);
    cs_figure_check_at(data, "time over the time of a round", n, result.exposed_s / round_s,
                       cs_stragglar_rounds(n), CS_REPLAY_DIGITS);
    return CS_OK;
}

static cs_status add_row(cs_figure_data *data, uint32_t n, cs_error *err)
{
    const cs_figure_reference *row       = cs_figure_reference_at(n);
    bool                       is_power  = (n & (n - 1)) == 0;
    uint32_t                   published = cs_figure_published_at(n);
    double                     bound = cs_stragglar_rounds(n), replayed = (double)NAN;
    double                     paper  = published != 0 ? published : (double)NAN;
    double                     rule   = is_power ? (double)NAN : n + 2 * log2(n) - 2;
    cs_status                  status = replayed_rounds(data, n, &replayed, err);

    if (row != NULL) {
        cs_figure_check_at(data, "lower bound on the rounds", n, bound, row->rounds, 0);
    }
    if (published != 0) {
        cs_figure_expect(data, "published rounds are not below the lower bound", paper >= bound);
    }
    const double values[] = {bound,         replayed,      paper,       rule, replayed - bound,
                             bound - bound, paper - bound, rule - bound};
    cs_figure_row(data, n, values, sizeof values / sizeof values[0]);
    return status;
}

static cs_status compute(cs_figure_data *data, cs_error *err)
{
    cs_status status = CS_OK;

    cs_text_add(&data->csv, "%s", header);
    for (uint32_t n = 4; n <= 1024 && status == CS_OK; n += n < 256 ? 2 : 32) {
        status = add_row(data, n, err);
    }
    cs_figure_title(&data->gnuplot, "Rounds of StragglAR's main phase against the lower bound",
                    "one chunk of 1/(n-1) of the buffer per rank, direction and round");
    cs_text_add(&data->gnuplot, "%s", commands);
    return status;
}

const cs_figure cs_figure_stragglar_rounds = {
    .name    = "stragglar-rounds",
    .summary = "rounds of the main phase against the lower bound, here and as published",
    .source  = "Efficient AllReduce with Stragglers (StragglAR), theorem 1 and appendix E",
    .compute = compute,
};
