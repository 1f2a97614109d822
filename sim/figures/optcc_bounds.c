/* SPDX-License-Identifier: GPL-3.0-or-later */
/* OptCC: the lower bounds of theorems 1, 2, 3, 6 and 13 and the closed forms of the ring over the
 * slow NIC (ICCL) and of R2CCL, as multiples of T0, the time of the ring without a fault; over the
 * slowdown l of the slow NICs and over the number of ranks. Without alpha.
 *
 * ICCL is replayed wherever a rank is a server; the largest bound that the program itself gives for
 * these scenarios must be the theorem that is drawn. For servers of g GPUs with a NIC each T0 is
 * that of g rings at once, 2 (p-1) / (g p): no lower bound there, since NVLink adds up a server's
 * data, so that theorems 3 and 13 begin below 1. */
#include "analytic/formula.h"
#include "figures/optcc_reference.h"
#include "figures/rows.h"
#include "figures/script.h"
#include "figures/times.h"

#include <math.h>

/* Panels a, c, d are over l, b is over p. */
enum { OVER_L_RANKS = 8, SERVERS = 4, GPUS = 8, L_STEPS = 16 };

static const double   over_p_slowdown = 1.5;
static const uint32_t over_p[]        = {3,  4,  5,  6,  7,   8,   10,  12,  16,  20,  24,
                                         32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024};

static const char header[] =
    "panel,slowdown_1,ranks,gpus_per_server,slow_servers,t0_buffer_times,"
    "theorem_1_over_t0_1,theorem_6_over_t0_1,theorem_2_over_t0_1,theorem_3_over_t0_1,"
    "theorem_13_over_t0_1,iccl_over_t0_1,r2ccl_over_t0_1,iccl_replayed_over_t0_1\n";

static const char titles[] =
    "  at(panel, column_name) = stringcolumn('panel') eq panel ? column(column_name) : 1/0\n"
    "  array left[2] = [0.075, 0.57]\n"
    "  array right[2] = [0.485, 0.985]\n"
    "  array bottom[2] = [0.54, 0.095]\n"
    "  array top[2] = [0.82, 0.375]\n"
    "  set multiplot\n"
    "  set label 1 \"{/:Bold*1.15 AllReduce with slow NICs: lower bounds and baselines}\" "
    "at screen 0.5, 0.972 center\n"
    "  set label 2 \"T_0: ring without a fault, α = 0; l: slowdown of the slow NICs "
    "(bandwidth / l)\" at screen 0.5, 0.937 center\n";

static const char legend[] = "    keyentry with lines ls 3 title 'ICCL', \\\n"
                             "    keyentry with points ls 3 title 'ICCL, replayed', \\\n"
                             "    keyentry with lines ls 6 title 'R^2CCL', \\\n"
                             "    keyentry with lines ls 1 title 'lower bound', \\\n"
                             "    keyentry with lines ls 7 dt (5,5) title 'weaker bound'";

static const char axes[] = "  set xlabel offset 0,0.5\n"
                           "  set ylabel 'T / T_0' offset 0.7,0\n"
                           "  set title offset 0,-0.5\n"
                           "  set ytics 0.5\n";

static const char panels_a_b[] =
    "  set lmargin at screen left[1]; set rmargin at screen right[1]\n"
    "  set bmargin at screen bottom[1]; set tmargin at screen top[1]\n"
    "  set title 'a) one slow rank, p = 8: theorems 6 and 1'\n"
    "  set xrange [1:4]\n"
    "  set yrange [0.75:4.25]\n"
    "  set xtics 0.5\n"
    "  set xlabel 'slowdown l'\n"
    "  plot DATA using (at('a','slowdown_1')):(column('iccl_over_t0_1')) with lines ls 3, \\\n"
    "    '' using (at('a','slowdown_1')):(column('iccl_replayed_over_t0_1')) every 4 with points "
    "ls 3, \\\n"
    "    '' using (at('a','slowdown_1')):(column('r2ccl_over_t0_1')) with lines ls 6, \\\n"
    "    '' using (at('a','slowdown_1')):(column('theorem_6_over_t0_1')) with lines ls 1, \\\n"
    "    '' using (at('a','slowdown_1')):(column('theorem_1_over_t0_1')) with lines ls 7 dt (5,5)\n"
    "  set lmargin at screen left[2]; set rmargin at screen right[2]\n"
    "  set title 'b) one slow rank, l = 1.5: theorems 6 and 1'\n"
    "  set logscale x 2\n"
    "  set xrange [2.8:1150]\n"
    "  set yrange [0.95:1.6]\n"
    "  set xtics (4, 8, 16, 32, 64, 128, 256, 512, 1024)\n"
    "  set ytics 0.1\n"
    "  set xlabel 'number of ranks p (log scale)'\n"
    "  plot DATA using (at('b','ranks')):(column('iccl_over_t0_1')) with lines ls 3, \\\n"
    "    '' using (at('b','ranks')):(column('iccl_replayed_over_t0_1')) with points ls 3, \\\n"
    "    '' using (at('b','ranks')):(column('r2ccl_over_t0_1')) with lines ls 6, \\\n"
    "    '' using (at('b','ranks')):(column('theorem_6_over_t0_1')) with lines ls 1, \\\n"
    "    '' using (at('b','ranks')):(column('theorem_1_over_t0_1')) with lines ls 7 dt (5,5)\n";

static const char panels_c_d[] =
    "  unset logscale x\n"
    "  set lmargin at screen left[1]; set rmargin at screen right[1]\n"
    "  set bmargin at screen bottom[2]; set tmargin at screen top[2]\n"
    "  set title 'c) two slow ranks, p = 8: theorem 2'\n"
    "  set xrange [1:4]\n"
    "  set yrange [0.75:4.25]\n"
    "  set xtics 0.5\n"
    "  set ytics 0.5\n"
    "  set xlabel 'slowdown l'\n"
    "  plot DATA using (at('c','slowdown_1')):(column('iccl_over_t0_1')) with lines ls 3, \\\n"
    "    '' using (at('c','slowdown_1')):(column('iccl_replayed_over_t0_1')) every 4::3 with "
    "points "
    "ls 3, \\\n"
    "    '' using (at('c','slowdown_1')):(column('theorem_2_over_t0_1')) with lines ls 1\n"
    "  set lmargin at screen left[2]; set rmargin at screen right[2]\n"
    "  set title 'd) one slow server of 4, 8 GPUs each: theorems 13 and 3'\n"
    "  set yrange [0.5:4.25]\n"
    "  plot DATA using (at('d','slowdown_1')):(column('iccl_over_t0_1')) with lines ls 3, \\\n"
    "    '' using (at('d','slowdown_1')):(column('theorem_13_over_t0_1')) with lines ls 1, \\\n"
    "    '' using (at('d','slowdown_1')):(column('theorem_3_over_t0_1')) with lines ls 7 dt (5,5)\n"
    "  unset multiplot\n";

/* One row; multiples of the buffer's time, NAN where something does not apply. */
typedef struct row {
    char     panel;
    double   l;
    uint32_t p, g, m;
    double   theorem_1, theorem_6, theorem_2, theorem_3, theorem_13, iccl, r2ccl, iccl_replayed;
} row;

static void add_row(cs_figure_data *data, const row *r)
{
    double       t0       = cs_formula_t0(r->p, r->g);
    const double values[] = {r->p,
                             r->g,
                             r->m,
                             t0,
                             r->theorem_1 / t0,
                             r->theorem_6 / t0,
                             r->theorem_2 / t0,
                             r->theorem_3 / t0,
                             r->theorem_13 / t0,
                             r->iccl / t0,
                             r->r2ccl / t0,
                             r->iccl_replayed / t0};
    cs_text_add(&data->csv, "%c,", r->panel);
    cs_figure_row(data, r->l, values, sizeof values / sizeof values[0]);
}

static row empty_row(char panel, double l, uint32_t p, uint32_t g, uint32_t m)
{
    const double none = (double)NAN;

    return (row){.panel         = panel,
                 .l             = l,
                 .p             = p,
                 .g             = g,
                 .m             = m,
                 .theorem_1     = none,
                 .theorem_6     = none,
                 .theorem_2     = none,
                 .theorem_3     = none,
                 .theorem_13    = none,
                 .iccl          = cs_formula_iccl(p, g, l),
                 .r2ccl         = none,
                 .iccl_replayed = none};
}

/* Replay the ring with m slow NICs; the program's own best bound must be `bound`. */
static cs_status replay(cs_figure_data *data, row *r, double bound, cs_error *err)
{
    const cs_figure_point point = {.algorithm  = "ring",
                                   .machine    = {0, cs_figure_h100.bandwidth_Bps},
                                   .n_ranks    = r->p,
                                   .bytes      = CS_FIGURE_GIB,
                                   .n_slow     = r->l > 1 ? r->m : 0,
                                   .slow_ratio = r->l};
    double                x_s   = cs_figure_buffer_s(&point.machine, point.bytes);
    cs_result             result;
    cs_status             status = cs_figure_replay(data, &point, &result, err);

    if (status == CS_OK) {
        r->iccl_replayed = result.elapsed_s / x_s;
        cs_figure_check_at(data, "ICCL, replay against formula", r->p, r->iccl_replayed, r->iccl,
                           CS_REPLAY_DIGITS);
        cs_figure_check_at(data, "the program's bound against the theorem", r->p,
                           result.bound_s / x_s, bound, CS_REPLAY_DIGITS);
    }
    return status;
}

static cs_status add_single(cs_figure_data *data, char panel, uint32_t p, double l, cs_error *err)
{
    row r       = empty_row(panel, l, p, 1, 1);
    r.theorem_1 = cs_formula_theorem_1(p, l);
    r.theorem_6 = cs_formula_theorem_6(p, l);
    r.theorem_2 = cs_formula_theorem_2(p, 1, &l);
    r.r2ccl     = cs_formula_r2ccl(p, l);
    cs_figure_check_at(data, "theorem 2 with one slow rank is theorem 1", p, r.theorem_2,
                       r.theorem_1, CS_EXACT);
    cs_figure_expect(data, "theorem 6 is at least theorem 1", r.theorem_6 >= r.theorem_1);
    cs_status status = replay(data, &r, r.theorem_6, err);
    if (status == CS_OK) {
        add_row(data, &r);
    }
    return status;
}

static cs_status add_pair(cs_figure_data *data, double l, cs_error *err)
{
    const double slow[] = {l, l};
    row          r      = empty_row('c', l, OVER_L_RANKS, 1, 2);

    r.theorem_2      = cs_formula_theorem_2(r.p, 2, slow);
    cs_status status = replay(data, &r, r.theorem_2, err);
    if (status == CS_OK) {
        add_row(data, &r);
    }
    return status;
}

static void add_server(cs_figure_data *data, double l)
{
    row r        = empty_row('d', l, SERVERS * GPUS, GPUS, 1);
    r.theorem_3  = cs_formula_theorem_3(SERVERS, GPUS, l);
    r.theorem_13 = cs_formula_theorem_13(SERVERS, GPUS, l);
    add_row(data, &r);
}

static cs_status add_rows(cs_figure_data *data, cs_error *err)
{
    cs_status status = CS_OK;

    for (int i = 0; i <= 3 * L_STEPS && status == CS_OK; i++) {
        status = add_single(data, 'a', OVER_L_RANKS, 1 + i / (double)L_STEPS, err);
    }
    for (size_t i = 0; i < sizeof over_p / sizeof over_p[0] && status == CS_OK; i++) {
        status = add_single(data, 'b', over_p[i], over_p_slowdown, err);
    }
    for (int i = 0; i <= 3 * L_STEPS && status == CS_OK; i++) {
        status = add_pair(data, 1 + i / (double)L_STEPS, err);
    }
    for (int i = 0; i <= 3 * L_STEPS && status == CS_OK; i++) {
        add_server(data, 1 + i / (double)L_STEPS);
    }
    return status;
}

static cs_status compute(cs_figure_data *data, cs_error *err)
{
    cs_text_add(&data->csv, "%s", header);
    cs_optcc_check_reference(data);
    cs_text_add(&data->gnuplot, "%s", titles);
    cs_figure_legend(&data->gnuplot, 0.91, legend);
    cs_text_add(&data->gnuplot, "%s%s%s", axes, panels_a_b, panels_c_d);
    return add_rows(data, err);
}

const cs_figure cs_figure_optcc_bounds = {
    .name    = "optcc-bounds",
    .summary = "lower bounds and baselines with slow NICs over slowdown and ranks, T / T0",
    .source  = "Don't Let a Few Network Failures Slow the Entire AllReduce (OptCC), theorems 1, 2, "
               "3, 6, 13",
    .compute = compute,
};
