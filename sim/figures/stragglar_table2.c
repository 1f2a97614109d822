/* SPDX-License-Identifier: GPL-3.0-or-later */
/* StragglAR, table 2: what an iteration gains over the ring when the schedule is made for one
 * rank, which is the last with probability p, its persistence.
 *
 * When it is, by a delay D, the time after the last arrival is that of a replay with D; when
 * another rank is, the pre-phase waits for it, and the time is that of a replay without any delay.
 * Weighted with p and 1 - p, and compared with the ring, this is the time saved per call; times
 * the share f of the iteration that is exposed AllReduce (with the ring), it is the share
 * of the iteration saved. The paper gives neither f nor the buffers, so that f is what its
 * speedups imply, for a delay that hides the pre-phase. GPU-hours a day are 24 h x 8 GPUs x the
 * speedup as a share of time saved; that reproduces the published ones. */
#include "figures/rows.h"
#include "figures/script.h"
#include "figures/server.h"
#include "figures/times.h"

#include <math.h>
#include <stdio.h>

enum { N_BUFFERS = 4, N_MODELS = 3, N_SHARES = 3, FIRST_PERCENT = 40 };

static const uint64_t buffers_gib[N_BUFFERS] = {1, 2, 4, 6};
static const double   shares[N_SHARES]       = {0.1, 0.2, 0.3};

/* As published. */
static const struct {
    const char *name;
    int         persistence_percent;
    double      speedup_percent, gpu_hours;
} models[N_MODELS] = {{"Qwen-2.5-3B", 77, 2.39, 4.59},
                      {"Llama-3.2-3B", 90, 4.75, 9.12},
                      {"Phi-3-mini-3.8B", 95, 4.43, 8.51}};

/* Reference: saved per call with p = 0.77, 0.90, 0.95 and 1, ms; break-even p. */
static const struct {
    double saved_ms[4], break_even;
} references[N_BUFFERS] = {{{0.97, 1.37, 1.52, 1.68}, 0.457},
                           {{1.92, 2.72, 3.03, 3.34}, 0.457},
                           {{1.66, 2.89, 3.36, 3.83}, 0.595},
                           {{-1.16, 0.07, 0.55, 1.02}, 0.892}};

static const char header[] =
    "persistence_percent,saved_1gib_ms,saved_2gib_ms,saved_4gib_ms,saved_6gib_ms,"
    "iteration_saved_exposed_10_percent,iteration_saved_exposed_20_percent,"
    "iteration_saved_exposed_30_percent,published_speedup_percent,published_gpu_hours_per_day,"
    "gpu_hours_per_day,implied_exposed_percent\n";

static const char legend[] = "    keyentry with lines ls 4 dt 1 title '1 GiB', \\\n"
                             "    keyentry with lines ls 3 title '2 GiB', \\\n"
                             "    keyentry with lines ls 1 title '4 GiB', \\\n"
                             "    keyentry with lines ls 6 title '6 GiB', \\\n"
                             "    keyentry with points ls 9 ps 2*PS title 'published'";

static const char left_panel[] =
    "  set xrange [40:100]\n"
    "  set xtics 10\n"
    "  set format x '%g'\n"
    "  set xlabel 'persistence: how often the presumed rank is the last, %'\n"
    "  set tmargin at screen 0.805\n"
    "  set bmargin at screen 0.10\n"
    "  set lmargin at screen 0.07\n"
    "  set rmargin at screen 0.475\n"
    "  set yrange [-5:4]\n"
    "  set ytics 1\n"
    "  set ylabel 'saved per AllReduce, ms'\n"
    "  set title '8 × A100, delay 9.46 ms, replayed'\n"
    "  set arrow 1 from 40, 0 to 100, 0 nohead lc rgb '#000000' lw 1.5\n"
    "  plot DATA using 'persistence_percent':'saved_1gib_ms' with lines ls 4 dt 1, \\\n"
    "    '' using 'persistence_percent':'saved_2gib_ms' with lines ls 3, \\\n"
    "    '' using 'persistence_percent':'saved_4gib_ms' with lines ls 1, \\\n"
    "    '' using 'persistence_percent':'saved_6gib_ms' with lines ls 6\n";

static const char right_panel[] =
    "  set lmargin at screen 0.57\n"
    "  set rmargin at screen 0.985\n"
    "  set yrange [-1:9]\n"
    "  set ytics 1\n"
    "  set format y '%g %%'\n"
    "  set ylabel 'share of the iteration saved' offset 1,0\n"
    "  set title 'pre-phase hidden by the delay'\n"
    "  set label 1 '30 % exposed' at 89.5, graph 0.745 right\n"
    "  set label 2 '20 %' at 99.5, graph 0.655 right\n"
    "  set label 3 '10 %' at 99.5, graph 0.3 right\n"
    "  plot DATA using 'persistence_percent':'iteration_saved_exposed_30_percent' "
    "with lines ls 7, \\\n"
    "    '' using 'persistence_percent':'iteration_saved_exposed_20_percent' with lines ls 7, \\\n"
    "    '' using 'persistence_percent':'iteration_saved_exposed_10_percent' with lines ls 7, \\\n"
    "    '' using 'persistence_percent':'published_speedup_percent' with points ls 9 ps 2*PS\n"
    "  unset multiplot\n";

/* One buffer: the ring, and StragglAR when the presumed rank is late by the delay, or another. */
typedef struct call {
    double ring_s, hit_s, miss_s;
} call;

static double saved_s(const call *c, double persistence)
{
    return c->ring_s - persistence * c->hit_s - (1 - persistence) * c->miss_s;
}

/* With the measured delay; `hidden` with the ideal one. */
static cs_status call_of(cs_figure_data *data, uint64_t bytes, call *call_p, call *hidden_p,
                         cs_error *err)
{
    const cs_figure_server *server  = &cs_figure_dgx_a100;
    const cs_figure_machine machine = cs_figure_nominal(server);
    const cs_figure_point   point   = {.algorithm = "stragglar",
                                       .machine   = machine,
                                       .n_ranks   = server->n_ranks,
                                       .bytes     = bytes,
                                       .delay_s   = server->mean_delay_s};
    cs_figure_times         t;
    cs_result               result;
    cs_status status = cs_figure_times_of(data, &machine, server->n_ranks, bytes, &t, err);

    if (status == CS_OK) {
        status = cs_figure_replay(data, &point, &result, err);
    }
    if (status == CS_OK) {
        *call_p   = (call){t.ring_s, result.exposed_s, t.worst_s};
        *hidden_p = (call){t.ring_s, t.best_s, t.worst_s};
    }
    return status;
}

static void check_call(cs_figure_data *data, const call *c, size_t buffer)
{
    static const double persistences[4] = {0.77, 0.90, 0.95, 1};

    for (size_t i = 0; i < 4; i++) {
        double wanted = references[buffer].saved_ms[i];
        cs_figure_check(data, "saved per call, ms", 1e3 * saved_s(c, persistences[i]), wanted,
                        0.005 / fabs(wanted));
    }
    cs_figure_check(data, "break-even persistence",
                    (c->miss_s - c->ring_s) / (c->miss_s - c->hit_s), references[buffer].break_even,
                    0.0005 / references[buffer].break_even);
}

/* Without alpha, hidden, the break-even persistence is the same for all buffers. */
static cs_status check_limit(cs_figure_data *data, cs_error *err)
{
    const cs_figure_machine pure = {0, cs_figure_dgx_a100.nominal_Bps};
    cs_figure_times         t;
    cs_status               status = cs_figure_times_of(data, &pure, 8, CS_FIGURE_GIB, &t, err);

    if (status == CS_OK) {
        cs_figure_check(data, "break-even persistence, hidden, alpha = 0",
                        (t.worst_s - t.ring_s) / (t.worst_s - t.best_s), 0.458, 0.0005 / 0.458);
    }
    return status;
}

/* The row of table 2 for this persistence: columns 9 to 12. */
static void add_model(cs_figure_data *data, int percent, double allreduce_saved, double *values)
{
    for (size_t i = 0; i < 4; i++) {
        values[i] = (double)NAN;
    }
    for (size_t m = 0; m < N_MODELS; m++) {
        if (models[m].persistence_percent == percent) {
            double hours = cs_figure_dgx_a100.n_ranks * 24 * models[m].speedup_percent / 100;
            values[0]    = models[m].speedup_percent;
            values[1]    = models[m].gpu_hours;
            values[2]    = hours;
            values[3]    = models[m].speedup_percent / allreduce_saved;
            cs_figure_check(data, "GPU-hours a day", hours, models[m].gpu_hours,
                            0.005 / models[m].gpu_hours);
            cs_figure_expect(data, "the implied exposed share is one",
                             values[3] > 0 && values[3] < 100);
        }
    }
}

static void add_row(cs_figure_data *data, int percent, const call calls[N_BUFFERS],
                    const call *hidden)
{
    double values[N_BUFFERS + N_SHARES + 4], p = percent / 100.0;
    double allreduce_saved = saved_s(hidden, p) / hidden->ring_s;

    for (size_t i = 0; i < N_BUFFERS; i++) {
        values[i] = 1e3 * saved_s(&calls[i], p);
    }
    for (size_t i = 0; i < N_SHARES; i++) {
        values[N_BUFFERS + i] = 100 * shares[i] * allreduce_saved;
    }
    add_model(data, percent, allreduce_saved, &values[N_BUFFERS + N_SHARES]);
    cs_figure_row(data, percent, values, sizeof values / sizeof values[0]);
}

static void add_commands(cs_text *commands)
{
    cs_text_add(commands, "%s",
                "  set multiplot\n"
                "  set label 1 \"{/:Bold*1.15 What StragglAR saves when it is made for one rank "
                "(table 2)}\" at screen 0.5, 0.97 center\n"
                "  set label 2 'alpha-beta model, α = 3 µs, 300 GB/s per port; if another rank is "
                "last, the pre-phase waits for it' at screen 0.5, 0.935 center\n");
    cs_figure_legend(commands, 0.915, legend);
    cs_text_add(commands, "%s", left_panel);
    for (int m = 0; m < N_MODELS; m++) {
        cs_text_add(commands,
                    "  set label %d '%s: %.2f %%, %.2f GPU-h/day' at graph 0.03, %.3f "
                    "textcolor rgb '#7B2D8E'\n"
                    "  set label %d '%c' at %d, %.2f center offset 0,%s textcolor rgb '#7B2D8E'\n",
                    10 + m, models[m].name, models[m].speedup_percent, models[m].gpu_hours,
                    0.955 - 0.045 * m, 20 + m, models[m].name[0], models[m].persistence_percent,
                    models[m].speedup_percent, m == N_MODELS - 1 ? "-1" : "1");
    }
    cs_text_add(commands, "%s", right_panel);
}

static cs_status compute(cs_figure_data *data, cs_error *err)
{
    call      calls[N_BUFFERS] = {{0}}, hidden[N_BUFFERS] = {{0}};
    cs_status status = check_limit(data, err);

    for (size_t i = 0; i < N_BUFFERS && status == CS_OK; i++) {
        status = call_of(data, buffers_gib[i] * CS_FIGURE_GIB, &calls[i], &hidden[i], err);
        if (status == CS_OK) {
            check_call(data, &calls[i], i);
        }
    }
    cs_text_add(&data->csv, "%s", header);
    for (int percent = FIRST_PERCENT; percent <= 100 && status == CS_OK; percent++) {
        add_row(data, percent, calls, &hidden[0]);
    }
    add_commands(&data->gnuplot);
    return status;
}

const cs_figure cs_figure_stragglar_table2 = {
    .name    = "stragglar-table2",
    .summary = "time and GPU-hours saved over the persistence of the straggler, 8 A100",
    .source  = "Efficient AllReduce with Stragglers (StragglAR), table 2",
    .compute = compute,
};
