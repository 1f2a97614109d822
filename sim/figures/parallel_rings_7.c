/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parallel Rings, figure 7: time of an AllGather over what each rank contributes, on the paper's
 * two clusters, against a flat ring and against rings as NCCL builds them; and what Parallel Rings
 * gain.
 *
 * Reference: gains in percent and times in ms of the same model by other programs; typed in. The
 * paper's gains are drawn beside them: they are measured, and with `up to` in front. */
#include "figures/parallel_rings_point.h"
#include "figures/rows.h"
#include "figures/script.h"

#include <math.h>
#include <stdio.h>

#define MIB ((uint64_t)1 << 20)

enum { N_CLUSTERS = 3, N_GIVEN = 3 };

typedef struct given_gain {
    uint32_t mib;
    double   over_flat, over_nccl; /* percent */
} given_gain;

typedef struct cluster_row {
    const char       *title;
    const cs_cluster *cluster;
    uint32_t          servers;
    const char       *order, *exchange;       /* of nccl_rings and of parallel_rings */
    double            paper_flat, paper_nccl; /* gains that the paper measures, percent; or NAN */
    double            flat_ms, nccl_ms, parallel_ms; /* given at 64 MiB, or NAN */
    given_gain        given[N_GIVEN];
} cluster_row;

static const cluster_row clusters[N_CLUSTERS] = {
    {"cluster A: 16 A30, two sockets a server",
     &cs_rings_a,
     4,
     "sockets",
     "sockets",
     68,
     (double)NAN,
     84.1,
     21.1,
     22.4,
     {{2, 73.3, 9.6}, {64, 73.3, -6.1}, {256, 73.3, -6.6}}},
    {"cluster B: 32 H100, NVLink mesh",
     &cs_rings_b,
     8,
     "rotated",
     "mesh",
     74,
     31,
     87.0,
     (double)NAN,
     20.1,
     {{2, 76.8, 31.0}, {64, 76.9, 8.7}, {256, 76.9, 7.9}}},
    {"cluster B: 64 H100, NVLink mesh",
     &cs_rings_b,
     16,
     "rotated",
     "mesh",
     73,
     27,
     176.9,
     (double)NAN,
     42.6,
     {{2, 75.9, 28.3}, {64, 75.9, 4.9}, {256, 75.9, 4.0}}},
};

static const char header[] =
    "gpus,size_MiB,flat_ring_ms,nccl_rings_ms,parallel_rings_ms,flat_ring_formula_ms,"
    "nccl_rings_formula_ms,parallel_rings_formula_ms,gain_over_flat_percent,"
    "gain_over_nccl_percent,paper_most_over_flat_percent,paper_most_over_nccl_percent\n";

static const char entries[] =
    "    keyentry with linespoints ls 3 title 'flat ring (Open MPI)', \\\n"
    "    keyentry with linespoints ls 4 title 'rings as NCCL builds them', \\\n"
    "    keyentry with linespoints ls 1 title 'Parallel Rings', \\\n"
    "    keyentry with lines ls 8 dt 1 lw 1.2 title 'closed forms', \\\n"
    "    keyentry with lines ls 3 dt (2,4) title 'paper, measured: up to (over Open MPI)', \\\n"
    "    keyentry with lines ls 4 dt (2,4) title 'paper, measured: up to (over NCCL)'\n";

typedef struct times {
    double flat_s, nccl_s, parallel_s;
} times;

/* On alpha-beta, and on the flow model with shared receivers: nothing here meets at a port. */
static cs_status replay(cs_figure_data *data, const cluster_row *row, const cs_rings_point *point,
                        double formula_s, double *elapsed_s_p, cs_error *err)
{
    cs_rings_point on_flow = *point;
    double         flow_s  = 0;
    char           what[96];
    cs_status      status = cs_rings_replay(data, point, elapsed_s_p, err);

    on_flow.incast_ratio = "1.25";
    if (status == CS_OK) {
        status = cs_rings_replay(data, &on_flow, &flow_s, err);
    }
    if (status == CS_OK) {
        uint32_t n = row->servers * row->cluster->gpus_per_server;
        (void)snprintf(what, sizeof what, "%s, %g MiB, replay against closed form, s",
                       point->algorithm, (double)point->block_bytes / (double)MIB);
        cs_figure_check_at(data, what, n, *elapsed_s_p, formula_s, CS_REPLAY_DIGITS);
        (void)snprintf(what, sizeof what, "%s, %g MiB, flow against alpha-beta, s",
                       point->algorithm, (double)point->block_bytes / (double)MIB);
        cs_figure_check_at(data, what, n, flow_s, *elapsed_s_p, CS_REPLAY_DIGITS);
    }
    return status;
}

static cs_status replay_all(cs_figure_data *data, const cluster_row *row, uint64_t bytes,
                            const times *formulas, times *t, cs_error *err)
{
    cs_rings_point point  = {.cluster     = row->cluster,
                             .servers     = row->servers,
                             .block_bytes = bytes,
                             .algorithm   = "flat_ring"};
    cs_status      status = replay(data, row, &point, formulas->flat_s, &t->flat_s, err);

    if (status == CS_OK) {
        point.algorithm = "nccl_rings";
        point.key       = "order";
        point.value     = row->order;
        status          = replay(data, row, &point, formulas->nccl_s, &t->nccl_s, err);
    }
    if (status == CS_OK) {
        point.algorithm = "parallel_rings";
        point.key       = "exchange";
        point.value     = row->exchange;
        status          = replay(data, row, &point, formulas->parallel_s, &t->parallel_s, err);
    }
    return status;
}

static double gain_percent(double than_s, double time_s)
{
    return 100 * (1 - time_s / than_s);
}

static void check_given(cs_figure_data *data, const cluster_row *row, uint32_t mib, const times *t)
{
    const double half = 0.0501; /* of the last digit */
    char         what[96];

    for (size_t i = 0; i < N_GIVEN; i++) {
        const given_gain *g = &row->given[i];
        if (g->mib != mib) {
            continue;
        }
        (void)snprintf(what, sizeof what, "%s, %u MiB, percent less than", row->title, mib);
        cs_rings_check_within(data, what, gain_percent(t->flat_s, t->parallel_s), g->over_flat,
                              half);
        cs_rings_check_within(data, what, gain_percent(t->nccl_s, t->parallel_s), g->over_nccl,
                              half);
    }
    if (mib == 64) {
        (void)snprintf(what, sizeof what, "%s, 64 MiB, ms", row->title);
        cs_rings_check_within(data, what, 1e3 * t->flat_s, row->flat_ms, half);
        if (!isnan(row->nccl_ms)) {
            cs_rings_check_within(data, what, 1e3 * t->nccl_s, row->nccl_ms, half);
        }
        cs_rings_check_within(data, what, 1e3 * t->parallel_s, row->parallel_ms, half);
    }
}

static cs_status add_row(cs_figure_data *data, const cluster_row *row, uint32_t mib, cs_error *err)
{
    const uint64_t bytes  = mib * MIB;
    const times    f      = {cs_rings_flat_s(row->cluster, row->servers, bytes),
                             cs_rings_nccl_s(row->cluster, row->servers, bytes),
                             cs_rings_parallel_s(row->cluster, row->servers, bytes)};
    times          t      = {0};
    cs_status      status = replay_all(data, row, bytes, &f, &t, err);

    if (status == CS_OK) {
        const double values[] = {mib,
                                 1e3 * t.flat_s,
                                 1e3 * t.nccl_s,
                                 1e3 * t.parallel_s,
                                 1e3 * f.flat_s,
                                 1e3 * f.nccl_s,
                                 1e3 * f.parallel_s,
                                 gain_percent(t.flat_s, t.parallel_s),
                                 gain_percent(t.nccl_s, t.parallel_s),
                                 row->paper_flat,
                                 row->paper_nccl};
        check_given(data, row, mib, &t);
        cs_figure_row(data, row->servers * row->cluster->gpus_per_server, values,
                      sizeof values / sizeof values[0]);
    }
    return status;
}

/* Left and right edge of the panels of a cluster; its rows in the table are number 8 c and on. */
static void begin_panel(cs_text *out, size_t c, double top, double bottom)
{
    cs_text_add(out,
                "  set lmargin at screen %.3f; set rmargin at screen %.3f\n"
                "  set tmargin at screen %.3f; set bmargin at screen %.3f\n",
                0.085 + 0.315 * (double)c, 0.355 + 0.315 * (double)c, top, bottom);
}

static void add_times(cs_text *out, size_t c)
{
    size_t first = 8 * c;

    begin_panel(out, c, 0.775, 0.47);
    cs_text_add(out, "  set title '%s' font ',12'\n  set logscale y\n  set yrange [0.4:1000]\n",
                clusters[c].title);
    cs_text_add(out, "  set ytics (1, 10, 100, 1000)\n%s  unset xlabel\n",
                c == 0 ? "  set ylabel 'AllGather, ms (log scale)'\n" : "  unset ylabel\n");
    cs_text_add(out,
                "  plot DATA every ::%zu::%zu using 'size_MiB':'flat_ring_formula_ms' with lines "
                "ls 8 dt 1 lw 1.2, \\\n"
                "    '' every ::%zu::%zu using 'size_MiB':'nccl_rings_formula_ms' with lines ls 8 "
                "dt 1 lw 1.2, \\\n"
                "    '' every ::%zu::%zu using 'size_MiB':'parallel_rings_formula_ms' with lines "
                "ls 8 dt 1 lw 1.2, \\\n",
                first, first + 7, first, first + 7, first, first + 7);
    cs_text_add(out,
                "    '' every ::%zu::%zu using 'size_MiB':'flat_ring_ms' with points ls 3, \\\n"
                "    '' every ::%zu::%zu using 'size_MiB':'nccl_rings_ms' with points ls 4, \\\n"
                "    '' every ::%zu::%zu using 'size_MiB':'parallel_rings_ms' with points ls 1\n",
                first, first + 7, first, first + 7, first, first + 7);
}

static void add_gains(cs_text *out, size_t c)
{
    size_t first = 8 * c;

    begin_panel(out, c, 0.39, 0.115);
    cs_text_add(
        out,
        "  unset title\n  unset logscale y\n  set yrange [-15:95]\n"
        "  set ytics 20\n  set xlabel 'contribution of a rank, MiB (log scale)' offset 0,0.6\n");
    cs_text_add(out, "%s",
                c == 0 ? "  set ylabel 'Parallel Rings take less by, %'\n" : "  unset ylabel\n");
    cs_text_add(out,
                "  plot 0 with lines lc rgb '#000000' lw 1, \\\n"
                "    DATA every ::%zu::%zu using 'size_MiB':'paper_most_over_flat_percent' with "
                "lines ls 3 dt (2,4), \\\n"
                "    '' every ::%zu::%zu using 'size_MiB':'paper_most_over_nccl_percent' with "
                "lines ls 4 dt (2,4), \\\n"
                "    '' every ::%zu::%zu using 'size_MiB':'gain_over_flat_percent' with "
                "linespoints ls 3, \\\n"
                "    '' every ::%zu::%zu using 'size_MiB':'gain_over_nccl_percent' with "
                "linespoints ls 4\n",
                first, first + 7, first, first + 7, first, first + 7, first, first + 7);
}

static void add_picture(cs_figure_data *data)
{
    cs_text *out = &data->gnuplot;

    cs_text_add(
        out, "%s",
        "  set multiplot\n"
        "  set label 1 \"{/:Bold*1.15 AllGather: Parallel Rings against a flat ring and "
        "NCCL's rings}\" at screen 0.5, 0.972 center\n"
        "  set label 2 \"replayed on alpha-beta and on flow (markers); NIC start-up fitted "
        "to the 31 %; MVAPICH-Plus is not modelled\" at screen 0.5, 0.938 center font ',12'\n");
    cs_figure_legend(out, 0.895, entries);
    cs_text_add(out, "%s",
                "  set logscale x 2\n  set xrange [1.6:320]\n"
                "  set xtics (2, 4, 8, 16, 32, 64, 128, 256)\n");
    for (size_t c = 0; c < N_CLUSTERS; c++) {
        add_times(out, c);
        add_gains(out, c);
    }
    cs_text_add(out, "  unset multiplot\n");
}

static cs_status compute(cs_figure_data *data, cs_error *err)
{
    cs_status status = CS_OK;

    cs_text_add(&data->csv, "%s", header);
    for (size_t c = 0; c < N_CLUSTERS; c++) {
        for (uint32_t mib = 2; mib <= 256 && status == CS_OK; mib *= 2) {
            status = add_row(data, &clusters[c], mib, err);
        }
    }
    add_picture(data);
    return status;
}

const cs_figure cs_figure_parallel_rings_7 = {
    .name    = "parallel-rings-7",
    .summary = "AllGather over the size on 16, 32 and 64 GPUs, and the gain over other rings",
    .source  = "Parallel Rings (multi-HCA AllGather), figure 7",
    .compute = compute,
};
