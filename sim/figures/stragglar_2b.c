/* SPDX-License-Identifier: GPL-3.0-or-later */
/* StragglAR, figure 2b: what the range of its speedups over the ring means for a whole iteration
 * of which the fraction f is exposed AllReduce (with the ring): an AllReduce that is S times as
 * fast makes the iteration 1 / (1 - f + f / S) times as fast. 4 GB as in the paper; S by replay,
 * best with the whole pre-phase hidden, worst without any delay. The paper's alpha, beta and f are
 * not published, so that its +30 % and -3 % cannot be checked. */
#include "figures/rows.h"
#include "figures/script.h"
#include "figures/times.h"

enum { N_SIZES = 3 };

static const uint32_t sizes[N_SIZES] = {8, 64, 256};

static const char header[] =
    "exposed_percent,n8_best_percent,n8_worst_percent,n64_best_percent,n64_worst_percent,"
    "n256_best_percent,n256_worst_percent\n";

static const char commands[] =
    "  set xrange [0:100]\n"
    "  set yrange [-25:105]\n"
    "  set xtics 10\n"
    "  set ytics 10\n"
    "  set format x '%g %%'\n"
    "  set format y '%+g %%'\n"
    "  set xlabel 'exposed communication: share of AllReduce in the iteration time with the ring'\n"
    "  set ylabel 'speedup of the iteration over the ring'\n"
    "  set key top left Left reverse\n"
    "  set style fill solid 1 noborder\n"
    "  set arrow from 0, 0 to 100, 0 nohead lc rgb '#000000' lw 1.5\n"
    "  plot DATA using 'exposed_percent':'n256_worst_percent':'n256_best_percent' with "
    "filledcurves lc rgb '#FAE7DB' notitle, \\\n"
    "    '' using 'exposed_percent':'n64_worst_percent':'n64_best_percent' with "
    "filledcurves lc rgb '#D9E9F4' notitle, \\\n"
    "    '' using 'exposed_percent':'n8_worst_percent':'n8_best_percent' with "
    "filledcurves lc rgb '#D9F0E8' notitle, \\\n"
    "    '' using 'exposed_percent':'n256_best_percent' every 2 with linespoints ls 1 "
    "title 'best (pre-phase hidden), n = 256', \\\n"
    "    '' using 'exposed_percent':'n64_best_percent' every 2 with linespoints ls 3 "
    "title 'best, n = 64', \\\n"
    "    '' using 'exposed_percent':'n8_best_percent' every 2 with linespoints ls 4 dt 1 "
    "title 'best, n = 8', \\\n"
    "    '' using 'exposed_percent':'n256_worst_percent' every 2 with linespoints ls 2 "
    "title 'worst (no delay), n = 256', \\\n"
    "    '' using 'exposed_percent':'n64_worst_percent' every 2 with linespoints ls 3 "
    "dt (12,6) pt 4 title 'worst, n = 64', \\\n"
    "    '' using 'exposed_percent':'n8_worst_percent' every 2 with linespoints ls 4 "
    "dt (12,6) pt 8 title 'worst, n = 8'\n";

/* How much faster, in percent, when the share `exposed` becomes `speedup` times as fast. */
static double gain_percent(double exposed, double speedup)
{
    return 100 * (1 / (1 - exposed + exposed / speedup) - 1);
}

/* Ring over StragglAR at its best: 1 GiB against the table, and without alpha at n = 256. */
static cs_status check_speedups(cs_figure_data *data, cs_error *err)
{
    static const double     wanted[N_SIZES] = {1.36281, 1.82611, 1.94081};
    const cs_figure_machine pure            = {0, cs_figure_h100.bandwidth_Bps};
    cs_figure_times         t;
    cs_status               status = CS_OK;

    for (size_t i = 0; i < N_SIZES && status == CS_OK; i++) {
        status = cs_figure_times_of(data, &cs_figure_h100, sizes[i], CS_FIGURE_GIB, &t, err);
        if (status == CS_OK) {
            cs_figure_check_at(data, "ring over StragglAR best for 1 GiB", sizes[i],
                               t.ring_s / t.best_s, wanted[i], CS_SIX_DIGITS);
        }
    }
    if (status == CS_OK) {
        status = cs_figure_times_of(data, &pure, 256, CS_FIGURE_GIB, &t, err);
    }
    if (status == CS_OK) {
        cs_figure_check_at(data, "ring over StragglAR best, alpha = 0", 256, t.ring_s / t.best_s,
                           1.93896, CS_SIX_DIGITS);
    }
    return status;
}

/* All of it exposed is the AllReduce alone, none of it no gain at all, and the gain is that of
 * the times themselves: other work w with (1 - f) / f of the ring's time. */
static void check_gain(cs_figure_data *data, const cs_figure_times *t)
{
    double other_s = 3 * t->ring_s;
    double times   = (other_s + t->ring_s) / (other_s + t->best_s);

    cs_figure_check_at(data, "gain, all exposed, percent", t->n_ranks,
                       gain_percent(1, t->ring_s / t->best_s), 100 * (t->ring_s / t->best_s - 1),
                       CS_REPLAY_DIGITS);
    cs_figure_check_at(data, "gain, a quarter exposed, percent", t->n_ranks,
                       gain_percent(0.25, t->ring_s / t->best_s), 100 * (times - 1),
                       CS_REPLAY_DIGITS);
    cs_figure_check_at(data, "gain, none exposed, percent", t->n_ranks,
                       gain_percent(0, t->ring_s / t->best_s), 0, 0);
}

static void add_rows(cs_figure_data *data, const cs_figure_times *times)
{
    double values[2 * N_SIZES];

    for (int percent = 0; percent <= 100; percent += 5) {
        for (size_t i = 0; i < N_SIZES; i++) {
            const cs_figure_times *t = &times[i];
            values[2 * i]            = gain_percent(percent / 100.0, t->ring_s / t->best_s);
            values[2 * i + 1]        = gain_percent(percent / 100.0, t->ring_s / t->worst_s);
        }
        cs_figure_row(data, percent, values, (size_t)2 * N_SIZES);
    }
}

static cs_status compute(cs_figure_data *data, cs_error *err)
{
    cs_figure_times times[N_SIZES];
    cs_status       status = check_speedups(data, err);

    for (size_t i = 0; i < N_SIZES && status == CS_OK; i++) {
        status = cs_figure_times_of(data, &cs_figure_h100, sizes[i], 4000000000, &times[i], err);
        if (status == CS_OK) {
            check_gain(data, &times[i]);
        }
    }
    cs_text_add(&data->csv, "%s", header);
    if (status == CS_OK) {
        add_rows(data, times);
    }
    cs_figure_title(&data->gnuplot, "Iteration speedup with StragglAR: range over the delays",
                    "4 GB AllReduce replayed on the alpha-beta model, α = 3 µs, 450 GB/s per port; "
                    "shaded: from worst to best");
    cs_text_add(&data->gnuplot, "%s", commands);
    return status;
}

const cs_figure cs_figure_stragglar_2b = {
    .name    = "stragglar-2b",
    .summary = "range of end-to-end speedups over the exposed share of communication, 4 GB",
    .source  = "Efficient AllReduce with Stragglers (StragglAR), figure 2b",
    .compute = compute,
};
