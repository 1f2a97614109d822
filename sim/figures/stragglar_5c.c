/* SPDX-License-Identifier: GPL-3.0-or-later */
/* StragglAR, figures 5c, 5f and 10c on the model: time over the delay of the last rank, from the
 * call on the early ranks to the end, all algorithms by replay. Right of the critical delay
 * StragglAR beats the ring, right of the ideal delay its whole pre-phase is hidden.
 *
 * The paper measured them, and its critical delays are longer than the model's at the nominal
 * bandwidth. 5c is therefore drawn twice: nominal, and (as 5f) with the bandwidth that the
 * measured critical delay implies (figures/server.h). For 10c no critical delay is published;
 * its nominal bandwidth is scaled by what its GPUs, A100, reach in 5f. */
#include "analytic/formula.h"
#include "figures/rows.h"
#include "figures/script.h"
#include "figures/server.h"
#include "figures/times.h"

#include <stdio.h>

enum { N_ALGORITHMS = 5, N_STEPS = 40 };

static const char *const algorithms[N_ALGORITHMS] = {"ring", "rhd", "allpairs", "broadcast",
                                                     "stragglar"};

static const char header[] =
    "delay_ms,ring_ms,rhd_ms,allpairs_ms,broadcast_ms,stragglar_ms,ring_after_last_arrival_ms,"
    "rhd_after_last_arrival_ms,allpairs_after_last_arrival_ms,broadcast_after_last_arrival_ms,"
    "stragglar_after_last_arrival_ms\n";

/* One figure. Reference numbers have the digits that are given, and `_unit` is that of the last
 * of them; 0 is: there is none. */
typedef struct setting {
    cs_figure_machine machine;
    uint32_t          n_ranks;
    uint64_t          bytes;
    double            last_delay_ms, low_ms, high_ms; /* axes */
    const char       *caption;
    double            critical_ms, critical_unit, simplified_ms, simplified_unit;
    double            ideal_ms, ideal_unit;
} setting;

static const char legend[] = "    keyentry with linespoints ls 1 title 'stragglar', \\\n"
                             "    keyentry with linespoints ls 3 title 'ring', \\\n"
                             "    keyentry with points ls 4 title 'rhd', \\\n"
                             "    keyentry with points ls 5 title 'allpairs', \\\n"
                             "    keyentry with linespoints ls 6 title 'broadcast'";

static const char axes[] =
    "  set xrange [0:LAST]\n"
    "  set yrange [LOW:HIGH]\n"
    "  set xtics LAST / 10\n"
    "  set ytics HIGH > 70 ? 10 : 5\n"
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
    "  set label 1 sprintf('critical delay %.3f ms', CRITICAL) at CRITICAL, graph 0.625 center "
    "rotate by 90 offset -0.9,0\n"
    "  set label 2 sprintf('ideal delay %.2f ms', IDEAL) at IDEAL, graph 0.625 center rotate by 90 "
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
    "  set label 1 at CRITICAL, graph 0.425\n"
    "  set label 2 at IDEAL, graph 0.425\n"
    "  plot DATA using 'delay_ms':'ring_after_last_arrival_ms' with lines ls 3, \\\n"
    "    '' using 'delay_ms':'ring_after_last_arrival_ms' every 6::0 with points ls 3, \\\n"
    "    '' using 'delay_ms':'rhd_after_last_arrival_ms' every 6::2 with points ls 4, \\\n"
    "    '' using 'delay_ms':'allpairs_after_last_arrival_ms' every 6::4 with points ls 5, \\\n"
    "    '' using 'delay_ms':'broadcast_after_last_arrival_ms' with lines ls 6, \\\n"
    "    '' using 'delay_ms':'broadcast_after_last_arrival_ms' every 4 with points ls 6, \\\n"
    "    '' using 'delay_ms':'stragglar_after_last_arrival_ms' with lines ls 1, \\\n"
    "    '' using 'delay_ms':'stragglar_after_last_arrival_ms' every 4 with points ls 1\n"
    "  unset multiplot\n";

static cs_status elapsed(cs_figure_data *data, const setting *set, const char *algorithm,
                         double delay_s, double *elapsed_s_p, cs_error *err)
{
    cs_result       result;
    cs_figure_point point  = {.algorithm = algorithm,
                              .machine   = set->machine,
                              .n_ranks   = set->n_ranks,
                              .bytes     = set->bytes,
                              .delay_s   = delay_s};
    cs_status       status = cs_figure_replay(data, &point, &result, err);

    if (status == CS_OK) {
        *elapsed_s_p = result.elapsed_s;
    }
    return status;
}

static cs_status add_row(cs_figure_data *data, const setting *set, double delay_ms, cs_error *err)
{
    double    values[2 * N_ALGORITHMS];
    cs_status status = CS_OK;

    for (size_t i = 0; i < N_ALGORITHMS && status == CS_OK; i++) {
        double elapsed_s = 0;
        status           = elapsed(data, set, algorithms[i], delay_ms / 1e3, &elapsed_s, err);
        values[i]        = 1e3 * elapsed_s;
        values[i + N_ALGORITHMS] = 1e3 * elapsed_s - delay_ms;
    }
    if (status == CS_OK) {
        cs_figure_row(data, delay_ms, values, (size_t)2 * N_ALGORITHMS);
    }
    return status;
}

/* StragglAR against the ring a little before, at and a little after the critical delay. */
static cs_status check_crossing(cs_figure_data *data, const setting *set, double critical_s,
                                cs_error *err)
{
    static const double factors[] = {0.999, 1, 1.001};

    for (size_t i = 0; i < 3; i++) {
        double    ring_s = 0, stragglar_s = 0, delay_s = factors[i] * critical_s;
        cs_status status = elapsed(data, set, "ring", delay_s, &ring_s, err);
        if (status == CS_OK) {
            status = elapsed(data, set, "stragglar", delay_s, &stragglar_s, err);
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

/* Half a unit of the last digit of the reference is allowed. */
static void check_digits(cs_figure_data *data, const char *what, double got, double want,
                         double unit)
{
    if (want > 0) {
        cs_figure_check(data, what, got, want, unit / 2 / want);
    }
}

static void add_commands(cs_text *commands, const setting *set, double critical_s, double ideal_s)
{
    cs_text_add(commands, "  CRITICAL = %.9g\n  IDEAL = %.9g\n", 1e3 * critical_s, 1e3 * ideal_s);
    cs_text_add(commands, "  LAST = %g\n  LOW = %g\n  HIGH = %g\n", set->last_delay_ms, set->low_ms,
                set->high_ms);
    cs_text_add(commands,
                "  set multiplot\n"
                "  set label 1 \"{/:Bold*1.15 AllReduce of %u GiB on %u ranks, one of them late}\" "
                "at screen 0.5, 0.97 center\n"
                "  set label 2 '%s' "
                "at screen 0.5, 0.935 center\n",
                (unsigned)(set->bytes / CS_FIGURE_GIB), set->n_ranks, set->caption);
    cs_figure_legend(commands, 0.915, legend);
    cs_text_add(commands, "%s%s", axes, panels);
}

static cs_status compute(cs_figure_data *data, const setting *set, cs_error *err)
{
    uint32_t  n = set->n_ranks, rounds = cs_stragglar_rounds(n);
    double    alpha_s      = set->machine.alpha_s;
    double    x_s          = cs_figure_buffer_s(&set->machine, set->bytes);
    double    critical_s   = cs_formula_critical_delay_exact(n, rounds, alpha_s, x_s);
    double    simplified_s = cs_formula_critical_delay_simplified(n, alpha_s, x_s);
    double    ideal_s      = cs_formula_reduce_scatter(n, alpha_s, x_s);
    cs_status status       = CS_OK;

    check_digits(data, "critical delay, exact, ms", 1e3 * critical_s, set->critical_ms,
                 set->critical_unit);
    check_digits(data, "critical delay, simplified, ms", 1e3 * simplified_s, set->simplified_ms,
                 set->simplified_unit);
    check_digits(data, "ideal delay, ms", 1e3 * ideal_s, set->ideal_ms, set->ideal_unit);
    cs_text_add(&data->csv, "%s", header);
    for (int step = 0; step <= N_STEPS && status == CS_OK; step++) {
        status = add_row(data, set, step * set->last_delay_ms / N_STEPS, err);
    }
    if (status == CS_OK) {
        status = check_crossing(data, set, critical_s, err);
    }
    add_commands(&data->gnuplot, set, critical_s, ideal_s);
    return status;
}

static cs_status compute_5c(cs_figure_data *data, cs_error *err)
{
    const setting set = {.machine       = cs_figure_h100,
                         .n_ranks       = 8,
                         .bytes         = 4 * CS_FIGURE_GIB,
                         .last_delay_ms = 20,
                         .low_ms        = 10,
                         .high_ms       = 50,
                         .caption = "replayed on the alpha-beta model, α = 3 µs, 450 GB/s per port",
                         .critical_ms     = 3.753,
                         .critical_unit   = 1e-3,
                         .simplified_ms   = 3.582,
                         .simplified_unit = 1e-3,
                         .ideal_ms        = 8.20,
                         .ideal_unit      = 1e-2};
    return compute(data, &set, err);
}

static cs_status compute_5c_measured(cs_figure_data *data, cs_error *err)
{
    const setting set = {.machine       = cs_figure_implied(&cs_figure_dgx_h100),
                         .n_ranks       = 8,
                         .bytes         = 4 * CS_FIGURE_GIB,
                         .last_delay_ms = 30,
                         .low_ms        = 15,
                         .high_ms       = 75,
                         .caption = "replayed, α = 3 µs, 305 GB/s per port, as the critical delay "
                                    "measured on a DGX H100 implies (nominal: 450)",
                         .critical_ms   = 5.53,
                         .critical_unit = 1e-2,
                         .ideal_ms      = 12.1,
                         .ideal_unit    = 1e-1};

    cs_figure_check(data, "implied bandwidth, GB/s", set.machine.bandwidth_Bps / 1e9, 305,
                    0.5 / 305);
    return compute(data, &set, err);
}

static cs_status compute_5f(cs_figure_data *data, cs_error *err)
{
    const cs_figure_machine nominal = cs_figure_nominal(&cs_figure_dgx_a100);
    const double  x_s = cs_figure_buffer_s(&nominal, 4 * CS_FIGURE_GIB), a_s = nominal.alpha_s;
    const setting set = {.machine       = cs_figure_implied(&cs_figure_dgx_a100),
                         .n_ranks       = 8,
                         .bytes         = 4 * CS_FIGURE_GIB,
                         .last_delay_ms = 40,
                         .low_ms        = 20,
                         .high_ms       = 100,
                         .caption = "replayed, α = 3 µs, 223 GB/s per port, as the critical delay "
                                    "measured on a DGX A100 implies (nominal: 300)",
                         .critical_ms   = 7.57,
                         .critical_unit = 1e-2};

    cs_figure_check(data, "implied bandwidth, GB/s", set.machine.bandwidth_Bps / 1e9, 223,
                    0.5 / 223);
    check_digits(data, "critical delay, exact, nominal, ms",
                 1e3 * cs_formula_critical_delay_exact(8, cs_stragglar_rounds(8), a_s, x_s), 5.627,
                 1e-3);
    check_digits(data, "critical delay, simplified, nominal, ms",
                 1e3 * cs_formula_critical_delay_simplified(8, a_s, x_s), 5.372, 1e-3);
    return compute(data, &set, err);
}

/* The A100 of 5f and 10c reach the same share of what their links could do. */
static cs_status compute_10c(cs_figure_data *data, cs_error *err)
{
    const cs_figure_machine implied = cs_figure_implied(&cs_figure_dgx_a100);
    const double            share   = implied.bandwidth_Bps / cs_figure_dgx_a100.nominal_Bps;
    const cs_figure_machine nominal = {cs_figure_h100.alpha_s, 100e9};
    cs_figure_times         times;
    const setting           set = {
                  .machine       = {nominal.alpha_s, share * nominal.bandwidth_Bps},
                  .n_ranks       = 4,
                  .bytes         = CS_FIGURE_GIB,
                  .last_delay_ms = 30,
                  .low_ms        = 15,
                  .high_ms       = 65,
                  .caption = "replayed, α = 3 µs, 74 GB/s per port: the share of the nominal 100 GB/s "
                                       "that the A100 of figure 5f reach"};
    cs_status status = cs_figure_times_of(data, &nominal, 4, CS_FIGURE_GIB, &times, err);

    if (status == CS_OK) {
        check_digits(data, "ring over StragglAR best, nominal", times.ring_s / times.best_s, 1.1253,
                     1e-4);
        status = compute(data, &set, err);
    }
    return status;
}

const cs_figure cs_figure_stragglar_5c = {
    .name    = "stragglar-5c",
    .summary = "time over the delay of the last rank, 8 ranks, 4 GiB, all algorithms",
    .source  = "Efficient AllReduce with Stragglers (StragglAR), figure 5c",
    .compute = compute_5c,
};

const cs_figure cs_figure_stragglar_5c_measured = {
    .name    = "stragglar-5c-measured",
    .summary = "the same with the bandwidth that the measured critical delay implies, H100",
    .source  = "Efficient AllReduce with Stragglers (StragglAR), figure 5c",
    .compute = compute_5c_measured,
};

const cs_figure cs_figure_stragglar_5f = {
    .name    = "stragglar-5f",
    .summary = "the same with the bandwidth that the measured critical delay implies, A100",
    .source  = "Efficient AllReduce with Stragglers (StragglAR), figure 5f",
    .compute = compute_5f,
};

const cs_figure cs_figure_stragglar_10c = {
    .name    = "stragglar-10c",
    .summary = "time over the delay of the last rank, 4 ranks, 1 GiB, bandwidth as in 5f",
    .source  = "Efficient AllReduce with Stragglers (StragglAR), figure 10c",
    .compute = compute_10c,
};
