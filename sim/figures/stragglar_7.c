/* SPDX-License-Identifier: GPL-3.0-or-later */
/* StragglAR, figures 7a and 7b: the critical delay, from which StragglAR beats the ring, and its
 * factor of s beta (beta-competitive ratio).
 *
 * exact (L - 2) alpha + ((L - 2) / (n - 1) + 2 / n) s beta, simplified by the paper to
 * (L - 2) alpha + L / n s beta, L = ceil(log2 n). Replayed at powers of two as worst - ring, for
 * 7b with alpha = 0. Beside it the part of alpha alone, which grows: at 1 GiB it overtakes the
 * rest beyond a few thousand ranks, so that only the ratio of 7b tends to 0. */
#include "analytic/formula.h"
#include "figures/rows.h"
#include "figures/script.h"
#include "figures/times.h"

#include <math.h>

static const char header_a[] = "ranks,critical_delay_exact_ms,critical_delay_simplified_ms,"
                               "critical_delay_replayed_ms,critical_delay_published_rounds_ms,"
                               "alpha_part_ms,ideal_delay_ms\n";

static const char header_b[] = "ranks,beta_ratio_exact_1,beta_ratio_simplified_1,"
                               "beta_ratio_replayed_1,simplified_error_percent\n";

static const char axes[] =
    "  set logscale x 2\n"
    "  set logscale y 10\n"
    "  set xrange [3.6:1140]\n"
    "  set xlabel 'number of ranks n (log scale)'\n"
    "  set xtics (4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)\n"
    "  set key top right Left reverse\n";

static const char commands_a[] =
    "  set yrange [0.002:8]\n"
    "  set ytics (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)\n"
    "  set ylabel 'delay of the last rank, ms (log scale)'\n"
    "  set key below Left reverse maxrows 3 nobox\n"
    "  set bmargin 8.5\n"
    "  plot DATA using 'ranks':'ideal_delay_ms' with lines ls 4 lw 2.5 "
    "title 'ideal delay (ReduceScatter of n-1 ranks)', \\\n"
    "    '' using 'ranks':'critical_delay_exact_ms' with lines ls 1 "
    "title 'critical delay, exact', \\\n"
    "    '' using 'ranks':'critical_delay_replayed_ms' with points ls 1 "
    "title 'critical delay, replayed', \\\n"
    "    '' using 'ranks':'critical_delay_simplified_ms' with lines ls 8 dt (3,7) lw 3 "
    "title 'critical delay, simplified as in the paper', \\\n"
    "    '' using 'ranks':'critical_delay_published_rounds_ms' with points ls 9 "
    "title 'critical delay with published rounds', \\\n"
    "    '' using 'ranks':($1 > 4 ? column('alpha_part_ms') : 1/0) with lines ls 3 dt (8,6) "
    "title 'its part from latency: (⌈log_2 n⌉ - 2) α'\n";

static const char commands_b[] =
    "  set yrange [0.008:1.2]\n"
    "  set ytics (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1)\n"
    "  set ylabel 'factor of sβ in the critical delay (log scale)'\n"
    "  plot DATA using 'ranks':'beta_ratio_exact_1' with lines ls 1 "
    "title 'exact: (⌈log_2 n⌉ - 2) / (n - 1) + 2 / n', \\\n"
    "    '' using 'ranks':'beta_ratio_replayed_1' with points ls 1 title 'replayed, α = 0', \\\n"
    "    '' using 'ranks':'beta_ratio_simplified_1' with lines ls 8 dt (3,7) lw 3 "
    "title 'simplified: ⌈log_2 n⌉ / n'\n";

static void check_a(cs_figure_data *data, const cs_figure_times *t, double exact_s,
                    double simplified_s)
{
    const cs_figure_reference *row = cs_figure_reference_at(t->n_ranks);
    uint32_t                   n   = t->n_ranks;

    cs_figure_check_at(data, "critical delay, exact, ms", n, 1e3 * exact_s, row->critical_ms,
                       CS_SIX_DIGITS);
    cs_figure_check_at(data, "critical delay, simplified, ms", n, 1e3 * simplified_s,
                       row->simplified_ms, CS_SIX_DIGITS);
    cs_figure_check_at(data, "ideal delay, ms", n, 1e3 * t->ideal_delay_s, row->ideal_delay_ms,
                       CS_SIX_DIGITS);
    if (t->is_replayed) {
        cs_figure_check_at(data, "critical delay, replay against formula, s", n, t->critical_s,
                           exact_s, CS_REPLAY_DIGITS);
    }
}

static cs_status add_a(cs_figure_data *data, uint32_t n, cs_error *err)
{
    const cs_figure_machine *m   = &cs_figure_h100;
    double                   x_s = cs_figure_buffer_s(m, CS_FIGURE_GIB);
    cs_figure_times          t;
    cs_status                status = cs_figure_times_of(data, m, n, CS_FIGURE_GIB, &t, err);

    if (status != CS_OK) {
        return status;
    }
    cs_figure_published_times p = cs_figure_published_times_of(m, n, CS_FIGURE_GIB);
    double       exact_s        = cs_formula_critical_delay_exact(n, t.rounds, m->alpha_s, x_s);
    double       simplified_s   = cs_formula_critical_delay_simplified(n, m->alpha_s, x_s);
    const double values[]       = {1e3 * exact_s,
                                   1e3 * simplified_s,
                             t.is_replayed ? 1e3 * t.critical_s : (double)NAN,
                                   1e3 * p.critical_s,
                                   1e3 * cs_formula_critical_delay_simplified(n, m->alpha_s, 0),
                                   1e3 * t.ideal_delay_s};
    check_a(data, &t, exact_s, simplified_s);
    cs_figure_check_published(data, &t, &p);
    cs_figure_row(data, n, values, sizeof values / sizeof values[0]);
    return CS_OK;
}

/* The ratio at some n as fractions, worked out by hand from the two expressions. */
static const struct {
    uint32_t n_ranks;
    double   exact, simplified;
} ratios[] = {{4, 1.0 / 2, 1.0 / 2},          {6, 8.0 / 15, 1.0 / 2},
              {8, 11.0 / 28, 3.0 / 8},        {16, 31.0 / 120, 1.0 / 4},
              {32, 79.0 / 496, 5.0 / 32},     {64, 191.0 / 2016, 3.0 / 32},
              {256, 341.0 / 10880, 1.0 / 32}, {1024, 5119.0 / 523776, 5.0 / 512}};

static cs_status add_b(cs_figure_data *data, uint32_t n, cs_error *err)
{
    const cs_figure_machine m = {0, cs_figure_h100.bandwidth_Bps};
    cs_figure_times         t;
    cs_status               status = cs_figure_times_of(data, &m, n, CS_FIGURE_GIB, &t, err);

    if (status != CS_OK) {
        return status;
    }
    double       exact      = cs_formula_critical_delay_exact(n, t.rounds, 0, 1);
    double       simplified = cs_formula_critical_delay_simplified(n, 0, 1);
    double       replayed   = t.critical_s / cs_figure_buffer_s(&m, CS_FIGURE_GIB);
    const double values[]   = {exact, simplified, t.is_replayed ? replayed : (double)NAN,
                               100 * (simplified / exact - 1)};
    for (size_t i = 0; i < sizeof ratios / sizeof ratios[0]; i++) {
        if (ratios[i].n_ranks == n) {
            cs_figure_check_at(data, "ratio, exact", n, exact, ratios[i].exact, CS_EXACT);
            cs_figure_check_at(data, "ratio, simplified", n, simplified, ratios[i].simplified,
                               CS_EXACT);
        }
    }
    if (t.is_replayed) {
        cs_figure_check_at(data, "ratio, replay against formula", n, replayed, exact,
                           CS_REPLAY_DIGITS);
    }
    cs_figure_row(data, n, values, sizeof values / sizeof values[0]);
    return CS_OK;
}

/* n = 2^k and 3 * 2^k up to 1024, in order. */
static cs_status for_all_n(cs_figure_data *data,
                           cs_status (*add)(cs_figure_data *, uint32_t, cs_error *), cs_error *err)
{
    cs_status status = add(data, 4, err);

    for (uint32_t n = 4; n < 1024 && status == CS_OK; n *= 2) {
        status = add(data, n + n / 2, err);
        if (status == CS_OK) {
            status = add(data, 2 * n, err);
        }
    }
    return status;
}

static cs_status compute_a(cs_figure_data *data, cs_error *err)
{
    cs_text_add(&data->csv, "%s", header_a);
    cs_figure_title(&data->gnuplot, "Critical delay: from here on StragglAR beats the ring",
                    "1 GiB, alpha-beta model, α = 3 µs, 450 GB/s per port; n = 2^k, 3·2^k");
    cs_text_add(&data->gnuplot, "%s%s", axes, commands_a);
    return for_all_n(data, add_a, err);
}

static cs_status compute_b(cs_figure_data *data, cs_error *err)
{
    cs_text_add(&data->csv, "%s", header_b);
    cs_figure_title(&data->gnuplot, "β-competitive ratio of the critical delay",
                    "alpha-beta model, any buffer s and any bandwidth 1/β; n = 2^k, 3·2^k");
    cs_text_add(&data->gnuplot, "%s%s", axes, commands_b);
    return for_all_n(data, add_b, err);
}

const cs_figure cs_figure_stragglar_7a = {
    .name    = "stragglar-7a",
    .summary = "critical delay over the number of ranks for 1 GiB, exact and simplified",
    .source  = "Efficient AllReduce with Stragglers (StragglAR), figure 7a",
    .compute = compute_a,
};

const cs_figure cs_figure_stragglar_7b = {
    .name    = "stragglar-7b",
    .summary = "factor of s beta in the critical delay, exact and simplified",
    .source  = "Efficient AllReduce with Stragglers (StragglAR), figure 7b",
    .compute = compute_b,
};
