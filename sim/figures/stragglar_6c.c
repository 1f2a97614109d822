/* SPDX-License-Identifier: GPL-3.0-or-later */
/* StragglAR, figure 6c: speedup over the ring for 1 GiB as the number of ranks grows, powers of
 * two. The band between best and worst is the range of StragglAR's speedups: from a delay that
 * hides the whole pre-phase to none. Every point is a replay; the paper ends at 256 ranks. */
#include "figures/rows.h"
#include "figures/script.h"
#include "figures/times.h"

static const char header[] =
    "ranks,ring_ms,rhd_ms,allpairs_ms,broadcast_best_ms,broadcast_worst_ms,stragglar_best_ms,"
    "stragglar_worst_ms,stragglar_best_speedup_over_ring,stragglar_worst_speedup_over_ring,"
    "rhd_speedup_over_ring,allpairs_speedup_over_ring,broadcast_best_speedup_over_ring\n";

static const char commands[] =
    "  set logscale x 2\n"
    "  set xrange [3.6:1140]\n"
    "  set yrange [0:3]\n"
    "  set xlabel 'number of ranks n (log scale)'\n"
    "  set ylabel 'speedup over the ring: ring time / time'\n"
    "  set xtics (4, 8, 16, 32, 64, 128, 256, 512, 1024)\n"
    "  set ytics 0.25\n"
    "  set key top left Left reverse maxrows 3\n"
    "  set style fill solid 1 noborder\n"
    "  plot DATA using 'ranks':'stragglar_worst_speedup_over_ring':"
    "'stragglar_best_speedup_over_ring' with filledcurves lc rgb '#FAE7DB' "
    "notitle, \\\n"
    "    '' using 'ranks':'stragglar_best_speedup_over_ring' with linespoints ls 1 "
    "title 'StragglAR best: pre-phase hidden', \\\n"
    "    '' using 'ranks':'stragglar_worst_speedup_over_ring' with linespoints ls 2 "
    "title 'StragglAR worst: no delay', \\\n"
    "    1 with lines ls 3 title 'ring', \\\n"
    "    '' using 'ranks':'rhd_speedup_over_ring' with linespoints ls 4 title 'rhd', \\\n"
    "    '' using 'ranks':'allpairs_speedup_over_ring' with linespoints ls 5 title 'allpairs', \\\n"
    "    '' using 'ranks':'broadcast_best_speedup_over_ring' with linespoints ls 6 "
    "title 'broadcast, pre-phase hidden'\n";

static void add_row(cs_figure_data *data, const cs_figure_times *t)
{
    const double values[] = {1e3 * t->ring_s,
                             1e3 * t->rhd_s,
                             1e3 * t->allpairs_s,
                             1e3 * t->broadcast_best_s,
                             1e3 * t->broadcast_worst_s,
                             1e3 * t->best_s,
                             1e3 * t->worst_s,
                             t->ring_s / t->best_s,
                             t->ring_s / t->worst_s,
                             t->ring_s / t->rhd_s,
                             t->ring_s / t->allpairs_s,
                             t->ring_s / t->broadcast_best_s};
    cs_figure_row(data, t->n_ranks, values, sizeof values / sizeof values[0]);
}

static cs_status compute(cs_figure_data *data, cs_error *err)
{
    cs_status status = CS_OK;

    cs_text_add(&data->csv, "%s", header);
    for (uint32_t n = 4; n <= 1024 && status == CS_OK; n *= 2) {
        cs_figure_times t;
        status = cs_figure_times_of(data, &cs_figure_h100, n, CS_FIGURE_GIB, &t, err);
        if (status == CS_OK) {
            cs_figure_check_at(data, "StragglAR is replayed", n, t.is_replayed, 1, 0);
            cs_figure_check_times(data, &t, cs_figure_reference_at(n));
            add_row(data, &t);
        }
    }
    cs_figure_title(&data->gnuplot, "AllReduce of 1 GiB: speedup over the ring, powers of two",
                    "replayed on the alpha-beta model, α = 3 µs, 450 GB/s per port; "
                    "shaded: from no delay to a hidden pre-phase");
    cs_text_add(&data->gnuplot, "%s", commands);
    return status;
}

const cs_figure cs_figure_stragglar_6c = {
    .name    = "stragglar-6c",
    .summary = "speedup over the ring, best to worst, for 1 GiB and powers of two",
    .source  = "Efficient AllReduce with Stragglers (StragglAR), figure 6c",
    .compute = compute,
};
