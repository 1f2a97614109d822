/* SPDX-License-Identifier: GPL-3.0-or-later */
/* OptCC at alpha = 0: what the construction takes in each setting, by replay, against its closed
 * form, the paper's formula for as many sections, the limit of many sections and the lower bound.
 *
 * The reference numbers are typed in; nothing here computes them. The buffer is 256 TiB, so that
 * sections of unequal bytes do not show; NVLink has (g - 1) times the bandwidth of a NIC, as in the
 * paper's model. */
#include "figures/optcc_table.h"

#include "figures/optcc_point.h"
#include "figures/rows.h"
#include "figures/script.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define BUFFER        (UINT64_C(1) << 48)
#define FOUR_DIGITS   2.6e-5 /* half a unit of the fourth decimal of a number near 2 */
#define SIX_DIGITS    2.6e-7
#define THREE_OF_TENS 5e-5

/* clang-format off */
static const cs_optcc_row rows[] = {
    {"one slow; l >= 2", 5, 1, 1, {2}, "4", "0", "off", 32.0 / 12, 0},
    {"one slow; l >= 2", 8, 1, 1, {3}, "4", "0", "off", 87.0 / 24, 0},
    {"one slow; l >= 2", 8, 1, 1, {2.5}, "16", "0", "off", 509.0 / 2 / 96, 0},
    {"one slow; l >= 2", 64, 1, 1, {2}, "4", "0", "off", 622.0 / 248, 0},
    {"one slow; l >= 2", 256, 1, 1, {2}, "4", "0", "off", 2542.0 / 1016, 0},
    {"one slow; l >= 2", 1024, 1, 1, {2.5}, "4", "0", "off", 12266.5 / 4088, 0},
    {"one slow; l < 2; plain", 256, 1, 1, {1.5}, "8", "0", "off", 4319.5 / 2031, 0},
    {"one slow; l < 2; plain", 1024, 1, 1, {8.0 / 7}, "4", "0", "off", (8176 + 2052.0 / 7) / 4087, 0},
    {"one slow; l < 2; bubbles", 3, 1, 1, {8.0 / 7}, "4", "0", "on", 1.9048, FOUR_DIGITS},
    {"one slow; l < 2; bubbles", 64, 1, 1, {8.0 / 7}, "16", "0", "on", 1.9984, FOUR_DIGITS},
    {"one slow; l < 2; bubbles", 64, 1, 1, {4.0 / 3}, "8", "0", "on", 2.0756, FOUR_DIGITS},
    {"one slow; l < 2; bubbles", 256, 1, 1, {1.5}, "8", "0", "on", 2.124344, SIX_DIGITS},
    {"one slow; l < 2; ramp", 8, 1, 1, {8.0 / 7}, "6", "2", "off", 2.1677, FOUR_DIGITS},
    {"one slow; l < 2; ramp", 64, 1, 1, {4.0 / 3}, "8", "2", "off", 2.0242, FOUR_DIGITS},
    {"one slow; l < 2; ramp + bubbles", 5, 1, 1, {8.0 / 7}, "16", "2", "on", 1.7442, FOUR_DIGITS},
    {"one slow; l < 2; ramp + bubbles", 64, 1, 1, {8.0 / 7}, "8", "2", "on", 1.9932, FOUR_DIGITS},
    {"one slow; l < 2; ramp + bubbles", 64, 1, 1, {4.0 / 3}, "8", "2", "on", 2.0142, FOUR_DIGITS},
    {"one slow; l < 2; ramp + bubbles", 64, 1, 1, {1.5}, "16", "3", "on", 2.0066, FOUR_DIGITS},
    {"several slow", 4, 1, 2, {4.0 / 3, 8.0 / 7}, "16", "0", "off", 36.476 / 14, THREE_OF_TENS},
    {"several slow", 4, 1, 2, {2, 4.0 / 3}, "4", "0", "off", 38.0 / 3 / 2, 0},
    {"several slow", 7, 1, 2, {2, 2}, "3", "0", "off", 36.0 / 10, 0},
    {"several slow", 1024, 1, 2, {4.0 / 3, 4.0 / 3}, "4", "0", "off", 8852.0 / 4082, 0},
    {"several slow", 1024, 1, 4, {2, 4.0 / 3, 4.0 / 3, 4.0 / 3}, "4", "0", "off", 10202.0 / 4074, 0},
    {"servers of g GPUs", 5, 4, 1, {2}, "8", "0", "off", 58.0 / 23, 0},
    {"servers of g GPUs", 5, 4, 1, {8.0 / 7}, "24", "0", "off", 148.0 / 71, 0},
    {"servers of g GPUs", 6, 8, 1, {2}, "3", "0", "off", 36.0 / 11, 0},
    {"servers of g GPUs", 8, 4, 1, {2}, "12", "0", "off", 160.0 / 71, 0},
    {"servers of g GPUs", 8, 4, 1, {4.0 / 3}, "3", "0", "off", 130.0 / 3 / 17, 0},
    {"servers of g GPUs", 12, 2, 1, {2}, "24", "0", "off", 504.0 / 239, 0},
    {"servers of g GPUs; several slow", 6, 2, 2, {2, 2}, "8", "0", "off", 68.0 / 22, 0},
    {"servers of g GPUs; several slow", 7, 4, 2, {2, 4.0 / 3}, "4", "0", "off", 46.0 / 14, 0},
    {"servers of g GPUs; several slow", 10, 4, 3, {2, 1.5, 8.0 / 7}, "3", "0", "off", 387.0 / 7 / 16, 0},
};
/* clang-format on */

enum { N_ROWS = sizeof rows / sizeof rows[0] };

static const char header[] =
    "row,setting,label,servers,gpus_per_server,slow_servers,slowdown_1,slowdown_2,slowdown_3,"
    "slowdown_4,rounds,ramp,sections,replayed_buffer_times,reference_buffer_times,"
    "formula_buffer_times,paper_buffer_times,limit_buffer_times,bound_buffer_times,"
    "replayed_over_bound_1,paper_over_bound_1,limit_over_bound_1\n";

static const char commands[] =
    "  set xrange [0.5:ROWS + 0.5]\n"
    "  set logscale y 2\n"
    "  set yrange [0.93:12]\n"
    "  set ytics (1, 1.2, 1.5, 2, 3, 4, 6, 8)\n"
    "  set ylabel 'time over the lower bound (log scale)'\n"
    "  set grid noxtics\n"
    "  set xtics rotate by 60 right font ',10' scale 0.4\n"
    "  set bmargin 14\n"
    "  set lmargin 11\n"
    "  set rmargin 3\n"
    "  set key above Left reverse maxrows 2 nobox\n"
    "  plot DATA using (column('row')):(column('paper_over_bound_1')):xtic(stringcolumn('label')) "
    "with points ls 9 "
    "title 'formula of the paper, as many sections', \\\n"
    "    '' using 'row':'replayed_over_bound_1' with points ls 1 title 'replayed', \\\n"
    "    '' using 'row':'limit_over_bound_1' with points ls 8 ps 1*PS title 'limit of many "
    "sections', \\\n"
    "    1 with lines ls 7 title 'lower bound'\n";

/* A line between two settings, and the name of each. */
static void add_groups(cs_figure_data *data)
{
    for (uint32_t i = 0; i < N_ROWS; i++) {
        if (i > 0 && strcmp(rows[i].setting, rows[i - 1].setting) == 0) {
            continue;
        }
        if (i > 0) {
            cs_text_add(&data->gnuplot,
                        "  set arrow from first %u.5, graph 0 to first %u.5, graph 1 nohead lt 1 "
                        "lc rgb '#A0A0A0'\n",
                        i, i);
        }
        cs_text_add(&data->gnuplot,
                    "  set label \"%s\" at first %u.8, graph 0.985 rotate by -90 left font ',9' "
                    "tc rgb '#505050'\n",
                    rows[i].setting, i);
    }
}

static cs_optcc_point point_of(const cs_optcc_row *row)
{
    double         nic_Bps = 25e9;
    cs_optcc_point point   = {
          .algorithm = "optcc",
          .model     = "alpha-beta",
          .machine   = {.bandwidth_Bps = nic_Bps,
                        .nvlink_Bps    = row->gpus > 1 ? (row->gpus - 1) * nic_Bps : nic_Bps},
          .servers   = row->servers,
          .gpus      = row->gpus,
          .bytes     = BUFFER,
          .n_slow    = row->n_slow,
          .options   = {{"rounds", row->rounds}, {"ramp", row->ramp}, {"bubbles", row->bubbles}}};

    for (uint32_t i = 0; i < row->n_slow; i++) {
        point.slow[i] = row->slow[i];
    }
    return point;
}

/* "p = 64; l = 2; R = 4", for the picture. */
static void add_label(cs_figure_data *data, const cs_optcc_row *row)
{
    cs_text_add(&data->csv, "p = %u", row->servers);
    if (row->gpus > 1) {
        cs_text_add(&data->csv, " x %u", row->gpus);
    }
    cs_text_add(&data->csv, "; l =");
    for (uint32_t i = 0; i < row->n_slow; i++) {
        cs_text_add(&data->csv, " %.3g", row->slow[i]);
    }
    cs_text_add(&data->csv, "; R = %s,", row->rounds);
}

static void check_row(cs_figure_data *data, const cs_optcc_row *row, double replayed,
                      double formula, bool is_exact)
{
    double tolerance = row->tolerance > 0 ? row->tolerance : CS_REPLAY_DIGITS;
    char   what[128];

    (void)snprintf(what, sizeof what, "%s, l = %.4g, R = %s: replay against the reference",
                   row->setting, row->slow[0], row->rounds);
    cs_figure_check_at(data, what, row->servers, replayed, row->time, tolerance);
    if (is_exact) {
        cs_figure_check_at(data, "OptCC, replay against its closed form", row->servers, replayed,
                           formula, CS_REPLAY_DIGITS);
    } else {
        (void)snprintf(what, sizeof what, "%s, p = %u: replay is not above its closed form",
                       row->setting, row->servers);
        cs_figure_expect(data, what, replayed <= formula * (1 + CS_REPLAY_DIGITS));
    }
}

cs_status cs_optcc_add_row(cs_figure_data *data, uint32_t number, const cs_optcc_row *row,
                           cs_error *err)
{
    cs_optcc_point point = point_of(row);
    cs_result      result;
    bool           is_exact;
    cs_status      status = cs_optcc_replay(data, &point, &result, err);

    if (status != CS_OK) {
        return status;
    }
    double        unit_s  = (double)BUFFER / row->gpus / point.machine.bandwidth_Bps;
    cs_optcc_form form    = cs_optcc_form_of(&point, &result);
    double        formula = cs_optcc_formula(&form, &is_exact), paper = cs_optcc_paper(&form);
    double        replayed = result.elapsed_s / unit_s, bound = result.bound_s / unit_s;
    double        limit = cs_optcc_limit(&form), none = (double)NAN;
    uint32_t      m        = row->n_slow;
    const double  values[] = {row->gpus,
                              m,
                              row->slow[0],
                             m > 1 ? row->slow[1] : none,
                             m > 2 ? row->slow[2] : none,
                             m > 3 ? row->slow[3] : none,
                              form.rounds,
                              form.ramp,
                              cs_optcc_sections(&form),
                              replayed,
                              row->time,
                              formula,
                              paper,
                              limit,
                              bound,
                              replayed / bound,
                              paper / bound,
                              limit / bound};
    check_row(data, row, replayed, formula, is_exact);
    cs_text_add(&data->csv, "%u,%s,", number, row->setting);
    add_label(data, row);
    cs_figure_row(data, row->servers, values, sizeof values / sizeof values[0]);
    return CS_OK;
}

static cs_status compute(cs_figure_data *data, cs_error *err)
{
    cs_status status = CS_OK;

    cs_text_add(&data->csv, "%s", header);
    for (uint32_t i = 0; i < N_ROWS && status == CS_OK; i++) {
        status = cs_optcc_add_row(data, i + 1, &rows[i], err);
    }
    cs_figure_title(&data->gnuplot, "OptCC at α = 0: every setting against its lower bound",
                    "p servers (x g GPUs), slowdowns l, R rounds; time in units of the bound");
    cs_text_add(&data->gnuplot, "  ROWS = %d\n", N_ROWS);
    add_groups(data);
    cs_text_add(&data->gnuplot, "%s", commands);
    return status;
}

const cs_figure cs_figure_optcc_table = {
    .name    = "optcc-table",
    .summary = "times of every setting at alpha = 0: replay, closed form, paper, limit, bound",
    .source  = "Don't Let a Few Network Failures Slow the Entire AllReduce (OptCC), tables 1 and 3",
    .compute = compute,
};
