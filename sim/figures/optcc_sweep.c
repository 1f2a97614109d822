/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sweeps over ranks, sizes and slowdowns with slow NICs: see optcc_sweep.h.
 *
 * Every point is replayed and verified: the ring without a fault, the ring over the slow NICs
 * (ICCL), R2CCL where it has a schedule (one slow server, one GPU each), OptCC with the rounds that
 * it chooses itself, but never the ring in its place, except for l = 1. R2CCL's closed form is
 * drawn as the paper draws it: the fault-free time times 1 + p (l-1) / (2 (p-1)). With g GPUs a
 * server the rings are g side by side, each on its own NIC of every server and on 1/g of the
 * buffer; one of them is replayed, which is exact while NVLink keeps up with g - 1 NICs. */
#include "figures/optcc_sweep.h"

#include "analytic/formula.h"
#include "figures/optcc_point.h"
#include "figures/rows.h"
#include "figures/script.h"

#include <math.h>
#include <stdio.h>

/* A server of the paper: A100, 8 NICs of 200 Gb/s for 8 GPUs. Its alphas are not given. */
static const cs_optcc_machine machine = {3e-6, 25e9, 1e-6, 300e9};

enum { LEAST_RANKS = 8, MOST_RANKS = 1024, LEAST_SERVERS = 4, NICS = 8, MOST_LOST = 6 };

static const char header[] =
    "panel,ranks,gpus_per_server,slow_servers,slowdown_1,slowdown_2,buffer_GiB,fault_free_ms,"
    "iccl_ms,r2ccl_closed_form_ms,r2ccl_ms,optcc_ms,bound_ms,optcc_over_bound_1,"
    "optcc_over_fault_free_1,iccl_over_fault_free_1,optcc_rounds,optcc_is_ring_1\n";

typedef struct times {
    double fault_free_s, iccl_s, r2ccl_formula_s, r2ccl_s, optcc_s, bound_s, rounds;
    bool   is_ring;
} times;

/* One of `gpus` rings side by side, with or without the slow NICs, against its formula. */
static cs_status replay_ring(cs_figure_data *data, const cs_optcc_point *point, bool is_slow,
                             double *time_s_p, cs_error *err)
{
    cs_optcc_point ring  = *point;
    uint32_t       p     = point->servers * point->gpus;
    double         worst = 1;
    cs_result      result;

    ring.algorithm      = "ring";
    ring.options[0].key = NULL;
    ring.n_slow         = is_slow ? point->n_slow : 0;
    ring.bytes          = point->bytes / point->gpus;
    cs_status status    = cs_optcc_replay(data, &ring, &result, err);
    if (status != CS_OK) {
        return status;
    }
    for (uint32_t i = 0; i < ring.n_slow; i++) {
        worst = fmax(worst, ring.slow[i]);
    }
    double x_s       = (double)point->bytes / machine.bandwidth_Bps;
    double formula_s = cs_formula_iccl(p, point->gpus, worst) * x_s + 2 * (p - 1) * machine.alpha_s;
    double odd_byte  = 2.0 * p * point->gpus / (double)point->bytes;
    cs_figure_check_at(data, is_slow ? "ICCL, replay against formula" : "ring against formula", p,
                       result.elapsed_s, formula_s, odd_byte + CS_REPLAY_DIGITS);
    *time_s_p = result.elapsed_s;
    return CS_OK;
}

/* R2CCL by its closed form, for one slow server, and by replay, where it has a schedule. */
static cs_status replay_r2ccl(cs_figure_data *data, const cs_optcc_point *point, times *t,
                              cs_error *err)
{
    cs_optcc_point r2ccl = *point;
    uint32_t       p     = point->servers * point->gpus;
    cs_result      result;

    r2ccl.algorithm      = "r2ccl";
    r2ccl.options[0].key = NULL;
    t->r2ccl_s = t->r2ccl_formula_s = (double)NAN;
    if (point->n_slow == 1) {
        t->r2ccl_formula_s =
            t->fault_free_s * cs_formula_r2ccl(p, point->slow[0]) / cs_formula_t0(p, 1);
    }
    if (point->n_slow != 1 || point->gpus != 1 || !cs_optcc_accepted(&r2ccl)) {
        return CS_OK;
    }
    cs_status status = cs_optcc_replay(data, &r2ccl, &result, err);
    t->r2ccl_s       = status == CS_OK ? result.elapsed_s : (double)NAN;
    return status;
}

/* The replay of OptCC against its closed form. Odd bytes: one a section at most. */
static void check_optcc(cs_figure_data *data, const cs_optcc_point *point, const cs_result *result)
{
    cs_optcc_form form    = cs_optcc_form_of(point, result);
    double        share_s = (double)point->bytes / point->gpus / machine.bandwidth_Bps;
    double        spread  = 2 * machine.nvlink_alpha_s * (point->gpus - 1.0);
    bool          is_exact;
    double        formula_s = cs_optcc_formula(&form, &is_exact) * share_s + spread;
    double        sections  = cs_optcc_sections(&form) + point->servers;
    double        odd_byte  = 8 * sections * point->gpus / (double)point->bytes;

    if (is_exact && point->gpus == 1) {
        cs_figure_check_at(data, "OptCC, replay against its closed form", point->servers,
                           result->elapsed_s, formula_s, odd_byte + CS_REPLAY_DIGITS);
    } else {
        char what[128];
        (void)snprintf(
            what, sizeof what,
            "OptCC on %u servers of %u, l = %.4g: %.9g s is not above its formula, %.9g s",
            point->servers, point->gpus, point->slow[0], result->elapsed_s, formula_s);
        cs_figure_expect(data, what,
                         result->elapsed_s <= formula_s * (1 + odd_byte + CS_REPLAY_DIGITS));
    }
}

/* What the paper says of its own figures, as far as it holds on the alpha-beta model: with one of 8
 * NICs lost and 16 to 256 ranks within 6 % of the ring without a fault; always ahead of ICCL. */
static void check_claims(cs_figure_data *data, const cs_optcc_point *point, const times *t)
{
    bool is_one   = point->n_slow == 1 && point->gpus == 1;
    bool is_usual = point->servers >= 16 && point->servers <= 256;

    if (is_one && is_usual && point->slow[0] < 1.2) {
        cs_figure_expect(data, "l = 8/7: OptCC is within 6 % of the ring without a fault",
                         t->optcc_s <= 1.06 * t->fault_free_s);
    }
    if (!t->is_ring) {
        cs_figure_expect(data, "OptCC is faster than ICCL", t->optcc_s < t->iccl_s);
    }
}

static cs_status replay_all(cs_figure_data *data, const cs_optcc_point *point, times *t,
                            cs_error *err)
{
    cs_result result;
    cs_status status = replay_ring(data, point, false, &t->fault_free_s, err);

    if (status == CS_OK) {
        status = replay_ring(data, point, true, &t->iccl_s, err);
    }
    if (status == CS_OK) {
        status = replay_r2ccl(data, point, t, err);
    }
    if (status == CS_OK) {
        status = cs_optcc_replay(data, point, &result, err);
    }
    if (status != CS_OK) {
        return status;
    }
    t->is_ring = !cs_optcc_is(&result, "chosen", "optcc");
    t->rounds  = t->is_ring ? (double)NAN : cs_optcc_number(&result, "rounds");
    t->optcc_s = t->is_ring && point->gpus > 1 ? (double)NAN : result.elapsed_s;
    t->bound_s = result.bound_s;
    if (!t->is_ring) {
        check_optcc(data, point, &result);
    }
    check_claims(data, point, t);
    return CS_OK;
}

static cs_status add_row(cs_figure_data *data, char panel, const cs_optcc_point *point,
                         cs_error *err)
{
    times     t      = {0};
    uint32_t  p      = point->servers * point->gpus;
    cs_status status = replay_all(data, point, &t, err);

    if (status != CS_OK) {
        return status;
    }
    double       second   = point->n_slow > 1 ? point->slow[1] : (double)NAN;
    const double values[] = {point->gpus,
                             point->n_slow,
                             point->slow[0],
                             second,
                             (double)point->bytes / (1 << 30),
                             1e3 * t.fault_free_s,
                             1e3 * t.iccl_s,
                             1e3 * t.r2ccl_formula_s,
                             1e3 * t.r2ccl_s,
                             1e3 * t.optcc_s,
                             1e3 * t.bound_s,
                             t.optcc_s / t.bound_s,
                             t.optcc_s / t.fault_free_s,
                             t.iccl_s / t.fault_free_s,
                             t.rounds,
                             t.is_ring};
    cs_text_add(&data->csv, "%c,", panel);
    cs_figure_row(data, p, values, sizeof values / sizeof values[0]);
    return CS_OK;
}

static cs_optcc_point point_of(const cs_optcc_sweep *s, const cs_optcc_panel *panel)
{
    return (cs_optcc_point){.algorithm = "optcc",
                            .machine   = machine,
                            .servers   = s->ranks / s->gpus,
                            .gpus      = s->gpus,
                            .bytes     = s->bytes,
                            .n_slow    = s->n_slow,
                            .slow      = {panel->slow[0], panel->slow[1]},
                            .options   = {{"chosen", "optcc"}}};
}

static cs_status over_ranks(cs_figure_data *data, char letter, cs_optcc_point point, cs_error *err)
{
    cs_status status = CS_OK;

    for (uint32_t p = LEAST_RANKS; p <= MOST_RANKS && status == CS_OK; p *= 2) {
        point.servers = p / point.gpus;
        if (point.servers >= LEAST_SERVERS) {
            status = add_row(data, letter, &point, err);
        }
    }
    return status;
}

static cs_status over_bytes(cs_figure_data *data, char letter, cs_optcc_point point,
                            const double *gib, cs_error *err)
{
    cs_status status = CS_OK;

    for (size_t i = 0; i < CS_OPTCC_STEPS && gib[i] > 0 && status == CS_OK; i++) {
        point.bytes = (uint64_t)(gib[i] * (1 << 30));
        status      = add_row(data, letter, &point, err);
    }
    return status;
}

/* All slow servers have lost 0, 1, .. of their 8 NICs. */
static cs_status over_slowdown(cs_figure_data *data, char letter, cs_optcc_point point,
                               cs_error *err)
{
    cs_status status = CS_OK;

    for (uint32_t lost = 0; lost <= MOST_LOST && status == CS_OK; lost++) {
        for (uint32_t i = 0; i < point.n_slow; i++) {
            point.slow[i] = NICS / (double)(NICS - lost);
        }
        status = add_row(data, letter, &point, err);
    }
    return status;
}

static const char preamble[] =
    "  at(panel, column_name) = stringcolumn('panel') eq panel ? column(column_name) : 1/0\n"
    "  set multiplot\n"
    "  unset key\n";

static const char *const axis_commands[] = {
    [CS_OVER_RANKS]    = "  set logscale x 2; set xrange [*:*]; set yrange [*:*]\n"
                         "  set xtics (8, 16, 32, 64, 128, 256, 512, 1024)\n"
                         "  set offsets graph 0.04, graph 0.04, graph 0.05, graph 0.05\n"
                         "  set xlabel 'ranks p (log scale)' offset 0,0.5\n",
    [CS_OVER_BYTES]    = "  unset logscale x; set xrange [0:*]; set yrange [0:*]; set xtics auto\n"
                         "  set autoscale xfixmax\n"
                         "  set offsets 0, graph 0.04, graph 0.05, 0\n"
                         "  set xlabel 'buffer, GiB' offset 0,0.5\n",
    [CS_OVER_SLOWDOWN] = "  unset logscale x; set xrange [0.85:4.15]; set yrange [*:*]\n"
                         "  set xtics 1, 0.5\n"
                         "  set offsets 0, 0, graph 0.05, graph 0.05\n"
                         "  set xlabel 'slowdown l' offset 0,0.5\n"};

static const char *const axis_columns[] = {
    [CS_OVER_RANKS] = "ranks", [CS_OVER_BYTES] = "buffer_GiB", [CS_OVER_SLOWDOWN] = "slowdown_1"};

/* What is drawn, from back to front. */
typedef struct series {
    const char *column, *style, *title;
    bool        needs_one_slow, needs_one_gpu;
} series;

static const series all_series[] = {
    {"bound_ms", "lines ls 7 dt (8,4)", "lower bound", false, false},
    {"fault_free_ms", "linespoints ls 4", "ring without a fault", false, false},
    {"iccl_ms", "linespoints ls 3", "ICCL: ring over the slow NIC", false, false},
    {"r2ccl_closed_form_ms", "lines ls 6 dt (3,4)", "R^2CCL, closed form", true, false},
    {"r2ccl_ms", "linespoints ls 6", "R^2CCL, replayed", true, true},
    {"optcc_ms", "linespoints ls 1", "OptCC", false, false}};

enum { N_SERIES = sizeof all_series / sizeof all_series[0] };

static bool is_drawn(const cs_optcc_sweep *s, const series *line)
{
    return (!line->needs_one_slow || s->n_slow == 1) && (!line->needs_one_gpu || s->gpus == 1);
}

/* The place of a cell of a grid of two rows, five cells and more in three columns. */
static void place_cell(cs_text *out, const cs_optcc_sweep *s, uint32_t cell)
{
    uint32_t columns = s->n_panels > 3 ? 3 : 2;
    double   pitch = 0.99 / columns, left = 0.07 + pitch * (cell % columns);
    double   bottom = cell < columns ? 0.565 : 0.085;

    cs_text_add(out,
                "  set lmargin at screen %.4f; set rmargin at screen %.4f\n"
                "  set bmargin at screen %.4f; set tmargin at screen %.4f\n",
                left, left + pitch - 0.09, bottom, bottom + 0.315);
}

static void add_panel(cs_figure_data *data, const cs_optcc_sweep *s, uint32_t cell)
{
    const cs_optcc_panel *panel  = &s->panels[cell];
    char                  letter = (char)('a' + cell);
    cs_text              *out    = &data->gnuplot;

    place_cell(out, s, cell);
    cs_text_add(out, "  set title '%c) %s' offset 0,-0.5\n", letter, panel->title);
    cs_text_add(out, "  set ylabel 'time, ms' offset %s,0\n%s", s->n_panels > 3 ? "0.5" : "1.2",
                axis_commands[panel->axis]);
    cs_text_add(out, "  plot");
    for (size_t i = 0; i < N_SERIES; i++) {
        if (is_drawn(s, &all_series[i])) {
            cs_text_add(out, "%s using (at('%c','%s')):(column('%s')) with %s notitle",
                        i == 0 ? " DATA" : ", \\\n    ''", letter, axis_columns[panel->axis],
                        all_series[i].column, all_series[i].style);
        }
    }
    cs_text_add(out, "\n  unset label\n");
}

/* The legend takes the cell behind the last panel. */
static void add_legend(cs_figure_data *data, const cs_optcc_sweep *s)
{
    cs_text *out = &data->gnuplot;

    place_cell(out, s, s->n_panels);
    cs_text_add(out, "%s",
                "  unset border; unset tics; unset grid; unset xlabel; unset ylabel; unset title\n"
                "  unset logscale; set offsets 0, 0, 0, 0\n"
                "  set key center center vertical Left reverse noopaque nobox samplen 3\n"
                "  plot [0:1][0:1] NaN notitle");
    for (size_t i = N_SERIES; i-- > 0;) {
        if (is_drawn(s, &all_series[i])) {
            cs_text_add(out, ", \\\n    keyentry with %s title '%s'", all_series[i].style,
                        all_series[i].title);
        }
    }
    cs_text_add(out, "\n  unset multiplot\n");
}

static void add_picture(cs_figure_data *data, const cs_optcc_sweep *s)
{
    cs_text_add(&data->gnuplot, "%s  set tics font ',%d'\n", preamble, s->n_panels > 3 ? 10 : 11);
    cs_text_add(&data->gnuplot,
                "  set label 1 \"{/:Bold*1.15 %s}\" at screen 0.5, 0.972 center\n"
                "  set label 2 \"%s\" at screen 0.5, 0.94 center\n",
                s->title, s->subtitle);
    for (uint32_t i = 0; i < s->n_panels; i++) {
        add_panel(data, s, i);
    }
    add_legend(data, s);
}

cs_status cs_optcc_draw(cs_figure_data *data, const cs_optcc_sweep *sweep, cs_error *err)
{
    cs_status status = CS_OK;

    cs_text_add(&data->csv, "%s", header);
    for (uint32_t i = 0; i < sweep->n_panels && status == CS_OK; i++) {
        cs_optcc_point point  = point_of(sweep, &sweep->panels[i]);
        char           letter = (char)('a' + i);
        switch (sweep->panels[i].axis) {
        case CS_OVER_RANKS: status = over_ranks(data, letter, point, err); break;
        case CS_OVER_BYTES: status = over_bytes(data, letter, point, sweep->gib, err); break;
        case CS_OVER_SLOWDOWN: status = over_slowdown(data, letter, point, err); break;
        }
    }
    add_picture(data, sweep);
    return status;
}
