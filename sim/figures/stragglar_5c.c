/* SPDX-License-Identifier: GPL-3.0-or-later */
/* StragglAR, figure 5c on the model: time over the delay of the last rank, 8 ranks, 4 GiB, from
 * the call on the early ranks to the end, all algorithms by replay. The paper measured it on 8
 * H100; there NCCL's send and receive reach 305 of the 450 GB/s, as its critical delay of 5.53 ms
 * implies, so that the measured times are larger. Right of the critical delay StragglAR beats the
 * ring, right of the ideal delay its whole pre-phase is hidden. */
#include "analytic/formula.h"
#include "figures/rows.h"
#include "figures/script.h"
#include "figures/times.h"

#include <stdio.h>

enum { N_RANKS = 8, N_ALGORITHMS = 5, LAST_DELAY_MS = 20 };

static const char *const algorithms[N_ALGORITHMS] = {"ring", "rhd", "allpairs", "broadcast",
                                                     "stragglar"};

static const char header[] =
    "delay_ms,ring_ms,rhd_ms,allpairs_ms,broadcast_ms,stragglar_ms,ring_after_last_arrival_ms,"
    "rhd_after_last_arrival_ms,allpairs_after_last_arrival_ms,broadcast_after_last_arrival_ms,"
    "stragglar_after_last_arrival_ms\n";

static const char titles[] =
    "  set multiplot\n"
    "  set label 1 \"{/:Bold*1.15 AllReduce of 4 GiB on 8 ranks, one of them late}\" "
    "at screen 0.5, 0.97 center\n"
    "  set label 2 'replayed on the alpha-beta model, α = 3 µs, 450 GB/s per port' "
    "at screen 0.5, 0.935 center\n";

static const char legend[] = "    keyentry with linespoints ls 1 title 'stragglar', \\\n"
                             "    keyentry with linespoints ls 3 title 'ring', \\\n"
                             "    keyentry with points ls 4 title 'rhd', \\\n"
                             "    keyentry with points ls 5 title 'allpairs', \\\n"
                             "    keyentry with linespoints ls 6 title 'broadcast'";

static const char axes[] =
    "  set xrange [0:20]\n"
    "  set yrange [10:50]\n"
    "  set xtics 2\n"
    "  set ytics 5\n"
    "  set xlabel 'delay of the last rank, ms'\n"
    "  set ylabel 'time, ms'\n"
    "  set arrow 1 from CRITICAL, graph 0 to CRITICAL, graph 1 nohead lc rgb '#505050' lw 2 "
    "dt (3,4)\n"
    "  set arrow 2 from IDEAL, graph 0 to IDEAL, graph 1 nohead lc rgb '#505050' lw 2 dt (12,5)\n"
    "  set tmargin at screen 0.805\n"
    "  set bmargin at screen 0.10\n";

/* Ring, rhd and allpairs hardly differ here: one line, and their markers take turns. */
static const char panels[] =
    "  set lmargin at screen 0.07\n"
    "  set rmargin at screen 0.49\n"
    "  set title 'from the first arrival on (as in the paper)'\n"
    "  set label 1 sprintf('critical delay %.3f ms', CRITICAL) at CRITICAL, 35 center "
    "rotate by 90 offset -0.9,0\n"
    "  set label 2 sprintf('ideal delay %.2f ms', IDEAL) at IDEAL, 35 center rotate by 90 "
    "offset -0.9,0\n"
    "  plot DATA using 'delay_ms':'ring_ms' with lines ls 3, \\\n"
    "    '' using 'delay_ms':'ring_ms' every 6::0 with points ls 3, \\\n"
    "    '' using 'delay_ms':'rhd_ms' every 6::2 with points ls 4, \\\n"
    "    '' using 'delay_ms':'allpairs_ms' every 6::4 with points ls 5, \\\n"
    "    '' using 'delay_ms':'broadcast_ms' with lines ls 6, \\\n"
    "    '' using 'delay_ms':'broadcast_ms' every 4 with points ls 6, \\\n"
    "    '' using 'delay_ms':'stragglar_ms' with lines ls 1, \\\n"
    "    '' using 'delay_ms':'stragglar_ms' every 4 with points ls 1\n"
    "  set lmargin at screen 0.565\n"
    "  set rmargin at screen 0.985\n"
    "  set title 'from the last arrival on'\n"
    "  set label 1 at CRITICAL, 27\n"
    "  set label 2 at IDEAL, 27\n"
    "  plot DATA using 'delay_ms':'ring_after_last_arrival_ms' with lines ls 3, \\\n"
    "    '' using 'delay_ms':'ring_after_last_arrival_ms' every 6::0 with points ls 3, \\\n"
    "    '' using 'delay_ms':'rhd_after_last_arrival_ms' every 6::2 with points ls 4, \\\n"
    "    '' using 'delay_ms':'allpairs_after_last_arrival_ms' every 6::4 with points ls 5, \\\n"
    "    '' using 'delay_ms':'broadcast_after_last_arrival_ms' with lines ls 6, \\\n"
    "    '' using 'delay_ms':'broadcast_after_last_arrival_ms' every 4 with points ls 6, \\\n"
    "    '' using 'delay_ms':'stragglar_after_last_arrival_ms' with lines ls 1, \\\n"
    "    '' using 'delay_ms':'stragglar_after_last_arrival_ms' every 4 with points ls 1\n"
    "  unset multiplot\n";

static cs_figure_point point_of(const char *algorithm, double delay_s)
{
    return (cs_figure_point){.algorithm = algorithm,
                             .machine   = cs_figure_h100,
                             .n_ranks   = N_RANKS,
                             .bytes     = 4 * CS_FIGURE_GIB,
                             .delay_s   = delay_s};
}

static cs_status elapsed(cs_figure_data *data, const char *algorithm, double delay_s,
                         double *elapsed_s_p, cs_error *err)
{
    cs_figure_point point = point_of(algorithm, delay_s);
    cs_result       result;
    cs_status       status = cs_figure_replay(data, &point, &result, err);

    if (status == CS_OK) {
        *elapsed_s_p = result.elapsed_s;
    }
    return status;
}

static cs_status add_row(cs_figure_data *data, double delay_ms, cs_error *err)
{
    double    values[2 * N_ALGORITHMS];
    cs_status status = CS_OK;

    for (size_t i = 0; i < N_ALGORITHMS && status == CS_OK; i++) {
        double elapsed_s         = 0;
        status                   = elapsed(data, algorithms[i], delay_ms / 1e3, &elapsed_s, err);
        values[i]                = 1e3 * elapsed_s;
        values[i + N_ALGORITHMS] = 1e3 * elapsed_s - delay_ms;
    }
    if (status == CS_OK) {
        cs_figure_row(data, delay_ms, values, (size_t)2 * N_ALGORITHMS);
    }
    return status;
}

/* StragglAR against the ring a little before, at and a little after the critical delay. */
static cs_status check_crossing(cs_figure_data *data, double critical_s, cs_error *err)
{
    static const double factors[] = {0.999, 1, 1.001};

    for (size_t i = 0; i < 3; i++) {
        double    ring_s = 0, stragglar_s = 0, delay_s = factors[i] * critical_s;
        cs_status status = elapsed(data, "ring", delay_s, &ring_s, err);
        if (status == CS_OK) {
            status = elapsed(data, "stragglar", delay_s, &stragglar_s, err);
        }
        if (status != CS_OK) {
            return status;
        }
        if (i == 1) {
            cs_figure_check(data, "StragglAR = ring at the critical delay, s", stragglar_s, ring_s,
                            CS_REPLAY_DIGITS);
        } else {
            cs_figure_expect(data, "StragglAR beats the ring after the critical delay only",
                             (stragglar_s < ring_s) == (i == 2));
        }
    }
    return CS_OK;
}

/* Reference numbers have the digits that are given; half a unit of the last one is allowed. */
static void check_reference(cs_figure_data *data, double critical_s, double simplified_s,
                            double ideal_s)
{
    cs_figure_check(data, "critical delay, exact, ms", 1e3 * critical_s, 3.753, 0.0005 / 3.753);
    cs_figure_check(data, "critical delay, simplified, ms", 1e3 * simplified_s, 3.582,
                    0.0005 / 3.582);
    cs_figure_check(data, "ideal delay, ms", 1e3 * ideal_s, 8.20, 0.005 / 8.20);
}

static cs_status compute(cs_figure_data *data, cs_error *err)
{
    uint32_t  rounds       = cs_stragglar_rounds(N_RANKS);
    double    alpha_s      = cs_figure_h100.alpha_s;
    double    x_s          = cs_figure_buffer_s(&cs_figure_h100, 4 * CS_FIGURE_GIB);
    double    critical_s   = cs_formula_critical_delay_exact(N_RANKS, rounds, alpha_s, x_s);
    double    simplified_s = cs_formula_critical_delay_simplified(N_RANKS, alpha_s, x_s);
    double    ideal_s      = cs_formula_reduce_scatter(N_RANKS, alpha_s, x_s);
    cs_status status       = CS_OK;

    check_reference(data, critical_s, simplified_s, ideal_s);
    cs_text_add(&data->csv, "%s", header);
    for (int step = 0; step <= 2 * LAST_DELAY_MS && status == CS_OK; step++) {
        status = add_row(data, step / 2.0, err);
    }
    if (status == CS_OK) {
        status = check_crossing(data, critical_s, err);
    }
    cs_text_add(&data->gnuplot, "  CRITICAL = %.9g\n  IDEAL = %.9g\n", 1e3 * critical_s,
                1e3 * ideal_s);
    cs_text_add(&data->gnuplot, "%s", titles);
    cs_figure_legend(&data->gnuplot, 0.915, legend);
    cs_text_add(&data->gnuplot, "%s%s", axes, panels);
    return status;
}

const cs_figure cs_figure_stragglar_5c = {
    .name    = "stragglar-5c",
    .summary = "time over the delay of the last rank, 8 ranks, 4 GiB, all algorithms",
    .source  = "Efficient AllReduce with Stragglers (StragglAR), figure 5c",
    .compute = compute,
};
