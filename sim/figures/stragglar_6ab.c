/* SPDX-License-Identifier: GPL-3.0-or-later */
/* StragglAR, figures 6a and 6b: the time of the pre-phase, a ReduceScatter among all ranks but the
 * late one, over the buffer: the ideal delay, from which on all of it is hidden. The paper
 * measured it on a DGX H100 and a DGX A100. Here it is a range, from the nominal bandwidth to the
 * one that the measured critical delay implies (figures/server.h); both ends are replayed. */
#include "analytic/formula.h"
#include "figures/rows.h"
#include "figures/script.h"
#include "figures/server.h"
#include "figures/times.h"

#include <math.h>
#include <stdio.h>

enum { FIRST_LOG2 = 20, LAST_LOG2 = 32 };

static const char header[] =
    "buffer_mib,nominal_ms,implied_ms,mean_delay_ms,critical_nominal_ms,critical_implied_ms\n";

static const char commands[] =
    "  set logscale x 2\n"
    "  set logscale y 10\n"
    "  set xrange [0.9:4550]\n"
    "  set yrange [0.005:30]\n"
    "  set xtics ('1 MiB' 1, '4 MiB' 4, '16 MiB' 16, '64 MiB' 64, '256 MiB' 256, '1 GiB' 1024, "
    "'4 GiB' 4096)\n"
    "  set ytics (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30)\n"
    "  set xlabel 'buffer'\n"
    "  set ylabel 'time, ms (log scale)'\n"
    "  set key bottom right Left reverse\n"
    "  set style fill solid 1 noborder\n"
    "  plot DATA using 'buffer_mib':'nominal_ms':'implied_ms' with filledcurves "
    "lc rgb '#FAE7DB' title 'range of the ideal delay', \\\n"
    "    '' using 'buffer_mib':'implied_ms' with linespoints ls 1 "
    "title sprintf('ReduceScatter replayed, %g GB/s (implied)', IMPLIED), \\\n"
    "    '' using 'buffer_mib':'nominal_ms' with linespoints ls 2 "
    "title sprintf('ReduceScatter replayed, %g GB/s (nominal)', NOMINAL), \\\n"
    "    '' using 'buffer_mib':'mean_delay_ms' with lines ls 7 "
    "title sprintf('mean delay measured, %g ms', DELAY), \\\n"
    "    '' using 'buffer_mib':'critical_implied_ms' with lines ls 8 "
    "title 'critical delay, implied bandwidth (formula)'\n";

/* The ReduceScatter among all but one rank, by replay. */
static cs_status pre_phase(cs_figure_data *data, const cs_figure_server *server,
                           const cs_figure_machine *machine, uint64_t bytes, double *seconds_p,
                           cs_error *err)
{
    cs_result             result;
    const cs_figure_point point  = {.algorithm  = "ring",
                                    .collective = CS_REDUCESCATTER,
                                    .machine    = *machine,
                                    .n_ranks    = server->n_ranks - 1,
                                    .bytes      = bytes};
    cs_status             status = cs_figure_replay(data, &point, &result, err);

    if (status == CS_OK) {
        *seconds_p = result.elapsed_s;
    }
    return status;
}

/* It is what StragglAR's best and worst times differ by. */
static cs_status check_difference(cs_figure_data *data, const cs_figure_server *server,
                                  const cs_figure_machine *machine, uint64_t bytes, double seconds,
                                  cs_error *err)
{
    cs_figure_times t;
    cs_status       status = cs_figure_times_of(data, machine, server->n_ranks, bytes, &t, err);

    if (status == CS_OK) {
        cs_figure_check(data, "worst - best of StragglAR, s", t.worst_s - t.best_s, seconds,
                        CS_REPLAY_DIGITS);
    }
    return status;
}

static double critical_s(const cs_figure_server *server, const cs_figure_machine *machine,
                         uint64_t bytes)
{
    uint32_t n = server->n_ranks;
    return cs_formula_critical_delay_exact(n, cs_stragglar_rounds(n), machine->alpha_s,
                                           cs_figure_buffer_s(machine, bytes));
}

static cs_status add_row(cs_figure_data *data, const cs_figure_server *server, uint64_t bytes,
                         double pre_s[2], cs_error *err)
{
    const cs_figure_machine nominal = cs_figure_nominal(server);
    const cs_figure_machine implied = cs_figure_implied(server);
    cs_status               status  = pre_phase(data, server, &nominal, bytes, &pre_s[0], err);

    if (status == CS_OK) {
        status = pre_phase(data, server, &implied, bytes, &pre_s[1], err);
    }
    if (status == CS_OK) {
        status = check_difference(data, server, &implied, bytes, pre_s[1], err);
    }
    if (status == CS_OK) {
        const double values[] = {1e3 * pre_s[0], 1e3 * pre_s[1], 1e3 * server->mean_delay_s,
                                 1e3 * critical_s(server, &nominal, bytes),
                                 1e3 * critical_s(server, &implied, bytes)};
        cs_figure_row(data, (double)(bytes >> 20), values, sizeof values / sizeof values[0]);
    }
    return status;
}

/* What the reference numbers and the paper say of one size: `nominal_ms` and `implied_ms` with
 * three digits (0: not given), and whether the measured mean delay hides the implied one. */
typedef struct reference {
    uint64_t bytes;
    double   nominal_ms, implied_ms;
    bool     is_hidden;
} reference;

static void check_row(cs_figure_data *data, const cs_figure_server *server, const double pre_s[2],
                      const reference *r)
{
    if (r->nominal_ms > 0) {
        cs_figure_check(data, "ideal delay, nominal, ms", 1e3 * pre_s[0], r->nominal_ms,
                        0.005 / r->nominal_ms);
    }
    if (r->implied_ms > 0) {
        cs_figure_check(data, "ideal delay, implied, ms", 1e3 * pre_s[1], r->implied_ms,
                        0.05 / r->implied_ms);
    }
    cs_figure_expect(data, "the mean delay hides the pre-phase as the paper says",
                     (pre_s[1] <= server->mean_delay_s) == r->is_hidden);
}

static cs_status compute(cs_figure_data *data, const cs_figure_server *server,
                         const reference references[3], cs_error *err)
{
    char      title[128];
    cs_status status = CS_OK;

    cs_text_add(&data->csv, "%s", header);
    for (int log2_bytes = FIRST_LOG2; log2_bytes <= LAST_LOG2 && status == CS_OK; log2_bytes++) {
        double   pre_s[2] = {0, 0};
        uint64_t bytes    = UINT64_C(1) << log2_bytes;
        status            = add_row(data, server, bytes, pre_s, err);
        for (size_t i = 0; i < 3 && status == CS_OK; i++) {
            if (references[i].bytes == bytes) {
                check_row(data, server, pre_s, &references[i]);
            }
        }
    }
    (void)snprintf(title, sizeof title, "Ideal delay on a %s: the ReduceScatter among 7 of 8 ranks",
                   server->name);
    cs_figure_title(
        &data->gnuplot, title,
        "alpha-beta model, α = 3 µs; implied: by the critical delay measured with 4 GiB");
    cs_text_add(&data->gnuplot, "  NOMINAL = %g\n  IMPLIED = %.0f\n  DELAY = %.2f\n%s",
                server->nominal_Bps / 1e9, cs_figure_implied(server).bandwidth_Bps / 1e9,
                1e3 * server->mean_delay_s, commands);
    return status;
}

static cs_status compute_a(cs_figure_data *data, cs_error *err)
{
    static const reference references[3] = {{CS_FIGURE_GIB, 2.06, 0, true},
                                            {2 * CS_FIGURE_GIB, 4.11, 6.0, false},
                                            {4 * CS_FIGURE_GIB, 8.20, 12.1, false}};
    return compute(data, &cs_figure_dgx_h100, references, err);
}

static cs_status compute_b(cs_figure_data *data, cs_error *err)
{
    static const reference references[3] = {{CS_FIGURE_GIB, 3.09, 0, true},
                                            {2 * CS_FIGURE_GIB, 6.15, 0, true},
                                            {4 * CS_FIGURE_GIB, 12.29, 0, false}};
    return compute(data, &cs_figure_dgx_a100, references, err);
}

const cs_figure cs_figure_stragglar_6a = {
    .name    = "stragglar-6a",
    .summary = "ideal delay (the pre-phase's ReduceScatter) over the buffer, DGX H100",
    .source  = "Efficient AllReduce with Stragglers (StragglAR), figure 6a",
    .compute = compute_a,
};

const cs_figure cs_figure_stragglar_6b = {
    .name    = "stragglar-6b",
    .summary = "ideal delay (the pre-phase's ReduceScatter) over the buffer, DGX A100",
    .source  = "Efficient AllReduce with Stragglers (StragglAR), figure 6b",
    .compute = compute_b,
};
