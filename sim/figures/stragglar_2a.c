/* SPDX-License-Identifier: GPL-3.0-or-later */
/* StragglAR, figure 2a: the distribution of the straggler's delay, from a trace of arrivals: how
 * far the last rank of a call is behind the last but one, which is all the time that a schedule
 * for one late rank has; and how far the usual straggler is behind all others, which is what a
 * schedule made for that rank has (negative: another one was last). The paper's traces are not
 * published: this is the project's sample, or a trace of the user. `collsim arrivals` has the same
 * numbers as a table. */
#include "analytic/formula.h"
#include "base/alloc.h"
#include "config/arrival_file.h"
#include "figures/rows.h"
#include "figures/sample_trace.h"
#include "figures/script.h"
#include "figures/times.h"
#include "traces/skew.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char header[] = "calls_percent,delay_ms,straggler_delay_ms\n";

static const char commands_of_axes[] =
    "  set xrange [LOW:HIGH]\n"
    "  set yrange [0:103]\n"
    "  set ytics 10\n"
    "  set format y '%g %%'\n"
    "  set xlabel 'delay, ms'\n"
    "  set ylabel 'share of the calls with at most this delay'\n"
    "  set key top left Left reverse\n"
    "  array S[3] = ['256 MiB', '1 GiB', '2 GiB']\n"
    "  array D[3] = [IDEAL_256, IDEAL_1024, IDEAL_2048]\n"
    "  do for [i = 1:3] {\n"
    "    if (D[i] > 0 && D[i] < HIGH) {\n"
    "      set arrow i from D[i], graph 0 to D[i], graph 1 nohead lc rgb '#505050' lw 2 "
    "dt (12,5)\n"
    "      set label i sprintf('hides %s', S[i]) "
    "at D[i], graph 1.02 - 0.28 * i center rotate by 90 offset -0.9,0\n"
    "    }\n"
    "  }\n"
    "  plot DATA using 'straggler_delay_ms':'calls_percent' with steps ls 3 lw 6 "
    "title sprintf('rank %d, the usual straggler, behind all others', STRAGGLER), \\\n"
    "    '' using 'delay_ms':'calls_percent' with steps ls 1 "
    "title 'the last rank, whichever it is, behind the last but one'\n";

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The straggler behind the others in every call, sorted; the caller's to free. */
static cs_status straggler_delays(const cs_arrival_trace *trace, uint32_t rank, double **delays_p,
                                  cs_error *err)
{
    double *delays = CS_NEW(double, trace->n_calls);

    if (delays == NULL) {
        return CS_FAIL(err, CS_ENOMEM, NULL, "out of memory for %zu delays", trace->n_calls);
    }
    for (size_t c = 0; c < trace->n_calls; c++) {
        delays[c] = cs_skew_delay_s(trace, c, rank);
    }
    qsort(delays, trace->n_calls, sizeof delays[0], compare);
    *delays_p = delays;
    return CS_OK;
}

/* Whoever is the last is later than the usual straggler is. */
static void check_order(cs_figure_data *data, const cs_skew *skew, const double *delays)
{
    bool is_ordered = true;

    for (size_t c = 0; c < skew->n_calls; c++) {
        is_ordered = is_ordered && skew->delays_s[c] >= 0 && skew->delays_s[c] >= delays[c];
    }
    cs_figure_expect(data, "the last rank is at least as late as the usual straggler", is_ordered);
}

/* The sample against numbers computed from the file by another program, microseconds. */
static void check_sample(cs_figure_data *data, const cs_skew *skew, const double *delays)
{
    size_t n = skew->n_calls, n_late = 0;

    for (size_t c = 0; c < n; c++) {
        n_late += delays[c] > 0;
    }
    const struct {
        const char *what;
        double      got, want;
    } checks[] = {
        {"calls", (double)n, 200},
        {"ranks", skew->n_ranks, 8},
        {"straggler", skew->straggler, 5},
        {"calls in which it is last", (double)n_late, 188},
        {"mean delay, us", 1e6 * skew->delay_s.mean.value, 2966.855},
        {"median delay, us", 1e6 * skew->delay_s.p50.value, 3057},
        {"95 % of the delays, us", 1e6 * skew->delay_s.p95.value, 4244.15},
        {"smallest delay, us", 1e6 * skew->delays_s[0], 1252},
        {"largest delay, us", 1e6 * skew->delays_s[n - 1], 4566},
        {"straggler, mean, us", 1e6 * skew->straggler_delay_s.mean.value, 2622.15},
        {"straggler, median, us", 1e6 * skew->straggler_delay_s.p50.value, 2964.5},
        {"straggler, earliest, us", 1e6 * delays[0], -4367},
    };
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        cs_figure_check(data, checks[i].what, checks[i].got, checks[i].want, CS_REPLAY_DIGITS);
    }
}

static void add_rows(cs_figure_data *data, const cs_skew *skew, const double *delays)
{
    cs_text_add(&data->csv, "%s", header);
    for (size_t c = 0; c < skew->n_calls; c++) {
        const double values[] = {1e3 * skew->delays_s[c], 1e3 * delays[c]};
        cs_figure_row(data, 100.0 * (double)(c + 1) / (double)skew->n_calls, values, 2);
    }
}

static double ideal_ms(uint32_t n_ranks, uint64_t mib)
{
    double x_s = cs_figure_buffer_s(&cs_figure_h100, mib << 20);
    return 1e3 * cs_formula_reduce_scatter(n_ranks, cs_figure_h100.alpha_s, x_s);
}

static void add_commands(cs_text *commands, const cs_skew *skew, const double *delays,
                         const char *source)
{
    uint32_t n   = skew->n_ranks;
    double   low = fmin(0, 1e3 * delays[0]), high = 1e3 * skew->delays_s[skew->n_calls - 1];
    double   margin = high > low ? 0.05 * (high - low) : 1;
    char     title[128], subtitle[160];

    (void)snprintf(title, sizeof title, "Straggler delays in a trace of %zu calls of %u ranks",
                   skew->n_calls, n);
    (void)snprintf(subtitle, sizeof subtitle,
                   "%s; dashed: what hides the pre-phase with α = 3 µs, 450 GB/s per port", source);
    cs_figure_title(commands, title, subtitle);
    cs_text_add(commands, "  LOW = %.9g\n  HIGH = %.9g\n  STRAGGLER = %u\n", low - margin,
                high + margin, skew->straggler);
    cs_text_add(commands, "  IDEAL_256 = %.9g\n  IDEAL_1024 = %.9g\n  IDEAL_2048 = %.9g\n",
                ideal_ms(n, 256), ideal_ms(n, 1024), ideal_ms(n, 2048));
    cs_text_add(commands, "%s", commands_of_axes);
}

/* `source` of the trace, in the title. */
static cs_status draw(cs_figure_data *data, const cs_arrival_trace *trace, bool is_sample,
                      const char *source, cs_error *err)
{
    cs_skew   skew   = {0};
    double   *delays = NULL;
    cs_status status = cs_skew_compute(trace, &skew, err);

    if (status == CS_OK) {
        status = straggler_delays(trace, skew.straggler, &delays, err);
    }
    if (status == CS_OK && delays != NULL) {
        check_order(data, &skew, delays);
        if (is_sample) {
            check_sample(data, &skew, delays);
        }
        add_rows(data, &skew, delays);
        add_commands(&data->gnuplot, &skew, delays, source);
    }
    cs_free(delays);
    cs_skew_free(&skew);
    return status;
}

/* Read the sample. */
static cs_status load(cs_arrival_trace *trace, cs_error *err)
{
    cs_text csv = {0};

    cs_figure_sample_arrivals(&csv);
    cs_status status = cs_text_status(&csv, err);
    if (status == CS_OK) {
        const cs_arrival_text    text    = {"sample", csv.data, csv.length};
        const cs_arrival_options options = {0};
        cs_arrival_notes         notes   = {0};
        status = cs_arrival_texts_read(&text, 1, &options, trace, &notes, err);
        cs_arrival_notes_free(&notes);
    }
    cs_text_free(&csv);
    return status;
}

static cs_status compute(cs_figure_data *data, cs_error *err)
{
    cs_arrival_trace trace  = {0};
    cs_status        status = load(&trace, err);

    if (status == CS_OK) {
        status = draw(data, &trace, true, "traces/generated-arrivals8.csv, not a measurement", err);
    }
    cs_arrival_trace_free(&trace);
    return status;
}

static cs_status compute_trace(const char *path, cs_figure_data *data, cs_error *err)
{
    cs_arrival_trace trace  = {0};
    cs_status        status = cs_arrival_file_load(path, &trace, err);

    if (status == CS_OK) {
        status = draw(data, &trace, false, "a trace of the user", err);
    }
    cs_arrival_trace_free(&trace);
    return status;
}

const cs_figure cs_figure_stragglar_2a = {
    .name          = "stragglar-2a",
    .summary       = "distribution of the straggler's delay in a trace of arrivals",
    .source        = "Efficient AllReduce with Stragglers (StragglAR), figure 2a",
    .compute       = compute,
    .compute_trace = compute_trace,
};
