/* SPDX-License-Identifier: GPL-3.0-or-later */
/* StragglAR, figures 5a and 5b (DGX H100), 5d and 5e (DGX A100): algorithmic bandwidth, the
 * buffer over the time after the last arrival, as the buffer grows. Left the pre-phase is hidden
 * whatever it takes; right the last rank is late by the mean delay that the paper measured, which
 * hides the pre-phase of all but the largest buffers. All by replay, with the bandwidth that the
 * measured critical delay implies (figures/server.h). What NCCL does at 64 .. 512 MiB on the
 * A100 (appendix H of the paper) is no part of the model. */
#include "analytic/formula.h"
#include "figures/rows.h"
#include "figures/script.h"
#include "figures/server.h"
#include "figures/times.h"

enum { FIRST_LOG2 = 20, LAST_LOG2 = 32 };

static const char header[] =
    "buffer_mib,ring_gb_per_s,rhd_gb_per_s,allpairs_gb_per_s,broadcast_hidden_gb_per_s,"
    "stragglar_hidden_gb_per_s,broadcast_delayed_gb_per_s,stragglar_delayed_gb_per_s\n";

static const char legend[] = "    keyentry with linespoints ls 1 title 'stragglar', \\\n"
                             "    keyentry with linespoints ls 3 title 'ring', \\\n"
                             "    keyentry with linespoints ls 4 title 'rhd', \\\n"
                             "    keyentry with linespoints ls 5 title 'allpairs', \\\n"
                             "    keyentry with linespoints ls 6 title 'broadcast'";

static const char panels[] =
    "  set logscale x 2\n"
    "  set xrange [0.9:4550]\n"
    "  set yrange [0:HIGH]\n"
    "  set xtics ('1 MiB' 1, '8 MiB' 8, '64 MiB' 64, '512 MiB' 512, '4 GiB' 4096)\n"
    "  set ytics 20\n"
    "  set xlabel 'buffer (log scale)'\n"
    "  set ylabel 'buffer / time after the last arrival, GB/s'\n"
    "  set tmargin at screen 0.805\n"
    "  set bmargin at screen 0.10\n"
    "  set lmargin at screen 0.07\n"
    "  set rmargin at screen 0.49\n"
    "  set title 'delay long enough to hide every pre-phase'\n"
    "  plot DATA using 'buffer_mib':'ring_gb_per_s' with linespoints ls 3, \\\n"
    "    '' using 'buffer_mib':'rhd_gb_per_s' with linespoints ls 4, \\\n"
    "    '' using 'buffer_mib':'allpairs_gb_per_s' with linespoints ls 5, \\\n"
    "    '' using 'buffer_mib':'broadcast_hidden_gb_per_s' with linespoints ls 6, \\\n"
    "    '' using 'buffer_mib':'stragglar_hidden_gb_per_s' with linespoints ls 1\n"
    "  set lmargin at screen 0.565\n"
    "  set rmargin at screen 0.985\n"
    "  set title sprintf('mean delay, %.2f ms: hides the pre-phase up to %.0f MiB', DELAY, "
    "HIDDEN)\n"
    "  set arrow 1 from HIDDEN, graph 0 to HIDDEN, graph 1 nohead lc rgb '#505050' lw 2 dt (12,5)\n"
    "  plot DATA using 'buffer_mib':'ring_gb_per_s' with linespoints ls 3, \\\n"
    "    '' using 'buffer_mib':'rhd_gb_per_s' with linespoints ls 4, \\\n"
    "    '' using 'buffer_mib':'allpairs_gb_per_s' with linespoints ls 5, \\\n"
    "    '' using 'buffer_mib':'broadcast_delayed_gb_per_s' with linespoints ls 6, \\\n"
    "    '' using 'buffer_mib':'stragglar_delayed_gb_per_s' with linespoints ls 1\n"
    "  unset multiplot\n";

/* Of one algorithm, with the measured delay; seconds after the last arrival. */
static cs_status delayed(cs_figure_data *data, const cs_figure_server *server,
                         const char *algorithm, uint64_t bytes, double *seconds_p, cs_error *err)
{
    cs_result             result;
    const cs_figure_point point  = {.algorithm = algorithm,
                                    .machine   = cs_figure_implied(server),
                                    .n_ranks   = server->n_ranks,
                                    .bytes     = bytes,
                                    .delay_s   = server->mean_delay_s};
    cs_status             status = cs_figure_replay(data, &point, &result, err);

    if (status == CS_OK) {
        *seconds_p = result.exposed_s;
    }
    return status;
}

/* What the paper says: hidden up to a size, and more than 25 % faster than all others for large
 * buffers when it is; ahead of the ring always, when it is. */
static void check_row(cs_figure_data *data, const cs_figure_times *t, double delayed_s,
                      uint64_t bytes, uint64_t largest_hidden)
{
    double best_other_s = t->ring_s < t->rhd_s ? t->ring_s : t->rhd_s;

    best_other_s = t->allpairs_s < best_other_s ? t->allpairs_s : best_other_s;
    if (bytes <= largest_hidden) {
        cs_figure_check(data, "the mean delay hides the pre-phase, s", delayed_s, t->best_s,
                        CS_REPLAY_DIGITS);
    } else {
        cs_figure_expect(data, "the mean delay hides a part of the pre-phase",
                         delayed_s > t->best_s && delayed_s < t->worst_s);
    }
    cs_figure_expect(data, "StragglAR beats the ring when its pre-phase is hidden",
                     t->best_s < t->ring_s);
    if (bytes >= CS_FIGURE_GIB) {
        cs_figure_expect(data, "25 % faster than all others when its pre-phase is hidden",
                         t->best_s < 0.75 * best_other_s && t->best_s < 0.75 * t->broadcast_best_s);
    }
}

static cs_status add_row(cs_figure_data *data, const cs_figure_server *server, uint64_t bytes,
                         uint64_t largest_hidden, cs_error *err)
{
    const cs_figure_machine machine = cs_figure_implied(server);
    cs_figure_times         t;
    double                  stragglar_s = 0, broadcast_s = 0, gb = (double)bytes / 1e9;
    cs_status status = cs_figure_times_of(data, &machine, server->n_ranks, bytes, &t, err);

    if (status == CS_OK) {
        status = delayed(data, server, "stragglar", bytes, &stragglar_s, err);
    }
    if (status == CS_OK) {
        status = delayed(data, server, "broadcast", bytes, &broadcast_s, err);
    }
    if (status == CS_OK) {
        const double values[] = {gb / t.ring_s,           gb / t.rhd_s,  gb / t.allpairs_s,
                                 gb / t.broadcast_best_s, gb / t.best_s, gb / broadcast_s,
                                 gb / stragglar_s};
        check_row(data, &t, stragglar_s, bytes, largest_hidden);
        cs_figure_row(data, (double)(bytes >> 20), values, sizeof values / sizeof values[0]);
    }
    return status;
}

/* The largest buffer whose pre-phase the measured delay hides. */
static double hidden_bytes(const cs_figure_server *server)
{
    const cs_figure_machine machine = cs_figure_implied(server);
    double latency_s = cs_formula_reduce_scatter(server->n_ranks, machine.alpha_s, 0);
    double share     = cs_formula_reduce_scatter(server->n_ranks, 0, 1);
    return (server->mean_delay_s - latency_s) / share * machine.bandwidth_Bps;
}

static cs_status compute(cs_figure_data *data, const cs_figure_server *server,
                         uint64_t largest_hidden, double high, cs_error *err)
{
    cs_status status = CS_OK;

    cs_text_add(&data->csv, "%s", header);
    for (int log2_bytes = FIRST_LOG2; log2_bytes <= LAST_LOG2 && status == CS_OK; log2_bytes++) {
        status = add_row(data, server, UINT64_C(1) << log2_bytes, largest_hidden, err);
    }
    cs_text_add(&data->gnuplot, "  HIDDEN = %.9g\n  DELAY = %.9g\n  HIGH = %g\n",
                hidden_bytes(server) / 1048576, 1e3 * server->mean_delay_s, high);
    cs_text_add(
        &data->gnuplot,
        "  set multiplot\n"
        "  set label 1 \"{/:Bold*1.15 Algorithmic bandwidth of AllReduce, %u ranks of a %s, "
        "one of them late}\" at screen 0.5, 0.97 center\n"
        "  set label 2 'replayed, α = 3 µs, %.0f GB/s per port, as the measured critical delay "
        "implies (nominal: %.0f)' "
        "at screen 0.5, 0.935 center\n",
        server->n_ranks, server->name, cs_figure_implied(server).bandwidth_Bps / 1e9,
        server->nominal_Bps / 1e9);
    cs_figure_legend(&data->gnuplot, 0.915, legend);
    cs_text_add(&data->gnuplot, "%s", panels);
    return status;
}

static cs_status compute_ab(cs_figure_data *data, cs_error *err)
{
    return compute(data, &cs_figure_dgx_h100, CS_FIGURE_GIB, 260, err);
}

static cs_status compute_de(cs_figure_data *data, cs_error *err)
{
    return compute(data, &cs_figure_dgx_a100, 2 * CS_FIGURE_GIB, 200, err);
}

const cs_figure cs_figure_stragglar_5ab = {
    .name    = "stragglar-5ab",
    .summary = "algorithmic bandwidth over the buffer, hidden and with 4.48 ms of delay, DGX H100",
    .source  = "Efficient AllReduce with Stragglers (StragglAR), figures 5a and 5b",
    .compute = compute_ab,
};

const cs_figure cs_figure_stragglar_5de = {
    .name    = "stragglar-5de",
    .summary = "algorithmic bandwidth over the buffer, hidden and with 9.46 ms of delay, DGX A100",
    .source  = "Efficient AllReduce with Stragglers (StragglAR), figures 5d and 5e",
    .compute = compute_de,
};
