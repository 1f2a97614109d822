/* SPDX-License-Identifier: GPL-3.0-or-later */
/* StragglAR, figure 9: as 6c, with even n that are no powers of two, and speedups for both kinds.
 *
 * All algorithms are replayed at every n, StragglAR with n - 2 + ceil(log2 n) rounds, which is the
 * lower bound. Beside it the paper's heuristic for other n than powers of two, at the n whose
 * rounds it publishes: by formula (scripts/paper_schedule makes its schedules). */
#include "figures/rows.h"
#include "figures/script.h"
#include "figures/times.h"

#include <math.h>

static const char header[] =
    "ranks,is_power_of_two,stragglar_rounds,published_rounds,ring_ms,rhd_ms,allpairs_ms,"
    "broadcast_best_ms,stragglar_best_ms,stragglar_worst_ms,published_best_ms,published_worst_ms,"
    "stragglar_best_speedup_over_ring,stragglar_worst_speedup_over_ring,"
    "published_best_speedup_over_ring,published_worst_speedup_over_ring,rhd_speedup_over_ring,"
    "allpairs_speedup_over_ring,stragglar_replayed_best_speedup_over_ring,"
    "stragglar_replayed_worst_speedup_over_ring\n";

static const char commands[] =
    "  set logscale x 2\n"
    "  set xrange [3.6:1140]\n"
    "  set yrange [0.4:3]\n"
    "  set xlabel 'number of ranks n (log scale)'\n"
    "  set ylabel 'speedup over the ring: ring time / time'\n"
    "  set xtics (4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)\n"
    "  set ytics 0.25\n"
    "  set key top left Left reverse maxrows 4\n"
    "  set style fill solid 1 noborder\n"
    "  plot DATA using 'ranks':'stragglar_worst_speedup_over_ring':"
    "'stragglar_best_speedup_over_ring' with filledcurves lc rgb '#FAE7DB' "
    "title 'range of StragglAR, n-2+⌈log_2 n⌉ rounds', \\\n"
    "    '' using 'ranks':'stragglar_best_speedup_over_ring' with lines lc rgb '#D55E00' lw 2.5 "
    "title 'best: pre-phase hidden', \\\n"
    "    '' using 'ranks':'stragglar_worst_speedup_over_ring' with lines lc rgb '#D55E00' lw 2.5 "
    "dt (12,6) title 'worst: no delay', \\\n"
    "    '' using 'ranks':'stragglar_replayed_best_speedup_over_ring' with points "
    "lc rgb '#D55E00' pt 7 ps 1.5*PS title '... replayed', \\\n"
    "    '' using 'ranks':'stragglar_replayed_worst_speedup_over_ring' with points "
    "lc rgb '#D55E00' pt 7 ps 1.5*PS notitle, \\\n"
    "    '' using 'ranks':'published_best_speedup_over_ring' with points ls 9 "
    "title 'best and worst, heuristic of the paper', \\\n"
    "    '' using 'ranks':'published_worst_speedup_over_ring' with points ls 9 notitle, \\\n"
    "    1 with lines ls 3 title 'ring', \\\n"
    "    '' using 'ranks':'rhd_speedup_over_ring' with linespoints ls 4 "
    "title 'rhd (3-2 elimination)', \\\n"
    "    '' using 'ranks':'allpairs_speedup_over_ring' with linespoints ls 5 title 'allpairs'\n";

static void add_row(cs_figure_data *data, const cs_figure_times *t,
                    const cs_figure_published_times *p)
{
    uint32_t     published = cs_figure_published_at(t->n_ranks);
    double       replayed  = t->is_replayed ? 1 : (double)NAN;
    const double values[]  = {(t->n_ranks & (t->n_ranks - 1)) == 0,
                              t->rounds,
                             published != 0 ? published : (double)NAN,
                              1e3 * t->ring_s,
                              1e3 * t->rhd_s,
                              1e3 * t->allpairs_s,
                              1e3 * t->broadcast_best_s,
                              1e3 * t->best_s,
                              1e3 * t->worst_s,
                              1e3 * p->best_s,
                              1e3 * p->worst_s,
                              t->ring_s / t->best_s,
                              t->ring_s / t->worst_s,
                              t->ring_s / p->best_s,
                              t->ring_s / p->worst_s,
                              t->ring_s / t->rhd_s,
                              t->ring_s / t->allpairs_s,
                              replayed * t->ring_s / t->best_s,
                              replayed * t->ring_s / t->worst_s};
    cs_figure_row(data, t->n_ranks, values, sizeof values / sizeof values[0]);
}

static cs_status add_n(cs_figure_data *data, uint32_t n, cs_error *err)
{
    cs_figure_times          t;
    const cs_figure_machine *machine = &cs_figure_h100;
    cs_status                status  = cs_figure_times_of(data, machine, n, CS_FIGURE_GIB, &t, err);

    if (status == CS_OK) {
        cs_figure_published_times published =
            cs_figure_published_times_of(machine, n, CS_FIGURE_GIB);
        cs_figure_check_times(data, &t, cs_figure_reference_at(n));
        cs_figure_check_published(data, &t, &published);
        add_row(data, &t, &published);
    }
    return status;
}

static cs_status compute(cs_figure_data *data, cs_error *err)
{
    cs_text_add(&data->csv, "%s", header);
    cs_status status = add_n(data, 4, err);
    for (uint32_t n = 4; n < 1024 && status == CS_OK; n *= 2) {
        status = add_n(data, n + n / 2, err);
        if (status == CS_OK) {
            status = add_n(data, 2 * n, err);
        }
    }
    cs_figure_title(&data->gnuplot,
                    "AllReduce of 1 GiB: speedup over the ring, powers of two and others",
                    "alpha-beta model, α = 3 µs, 450 GB/s per port; n = 2^k, 3·2^k");
    cs_text_add(&data->gnuplot, "%s", commands);
    return status;
}

const cs_figure cs_figure_stragglar_9 = {
    .name    = "stragglar-9",
    .summary = "speedup over the ring for 1 GiB, powers of two and others, two round counts",
    .source  = "Efficient AllReduce with Stragglers (StragglAR), figure 9",
    .compute = compute,
};
