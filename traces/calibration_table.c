/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/calibration_table.c -- a calibration as a table for people.
 *
 * Every column has its unit in the header; confidence intervals stand in brackets.
 */
#include "traces/calibration.h"

#include <math.h>
#include <stdio.h>

static void add_text_line(cs_text *text, const char *key, const char *value)
{
    if (value[0] != '\0') {
        cs_text_add(text, "# %-10s %s\n", key, value);
    }
}

static void add_heading(const cs_calibration *c, cs_text *text)
{
    cs_text_add(text, "# %s on %u ranks, %zu points, %s column\n",
                cs_collective_name(c->collective), c->n_ranks, c->n_points,
                cs_nccl_side_name(c->column));
    add_text_line(text, "machine", c->machine);
    add_text_line(text, "versions", c->versions);
    add_text_line(text, "source", c->source);
    add_text_line(text, "date", c->date);
    add_text_line(text, "note", c->note);
    for (size_t l = 0; l < c->n_logs; l++) {
        cs_nccl_reading_text(&c->logs[l], text);
    }
    cs_text_add(text,
                "# t(S) = A + S/R per regime, 95 %% confidence intervals in brackets; GB/s = 1e9 "
                "B/s\n"
                "# %10s %12s %6s  %-30s  %-27s %9s %10s %9s %9s %9s %9s\n",
                "from", "to", "points", "A", "R", "alpha", "bandwidth", "fit mean", "fit max",
                "held mean", "held max");
    cs_text_add(text, "# %10s %12s %6s  %-30s  %-27s %9s %10s %9s %9s %9s %9s\n", "(B)", "(B)", "",
                "(us)", "(GB/s)", "(us)", "(GB/s)", "(%)", "(%)", "(%)", "(%)");
}

/* "value [low, high]", open where the interval is not bounded. */
static void interval_text(char *to, size_t bytes, double value, double low, double high)
{
    if (isfinite(high)) {
        snprintf(to, bytes, "%.2f [%.2f, %.2f]", value, low, high);
    } else {
        snprintf(to, bytes, "%.2f [%.2f, inf)", value, low);
    }
}

static void add_errors(cs_text *text, const cs_fit_error *error)
{
    if (error->n > 0) {
        cs_text_add(text, " %9.2f %9.2f", 100 * error->mean_ratio, 100 * error->max_ratio);
    } else {
        cs_text_add(text, " %9s %9s", "-", "-");
    }
}

static void add_regime(const cs_regime *regime, cs_text *text)
{
    const cs_line *line = &regime->line;
    char           intercept[96], rate[96];

    interval_text(intercept, sizeof intercept, line->intercept_s * 1e6, line->intercept_low_s * 1e6,
                  line->intercept_high_s * 1e6);
    interval_text(rate, sizeof rate, 1e-9 / line->slope_s_per_byte,
                  1e-9 / line->slope_high_s_per_byte, 1e-9 / line->slope_low_s_per_byte);
    cs_text_add(text, "%12llu %12llu %6zu  %-30s  %-27s %9.3f %10.2f",
                (unsigned long long)regime->min_bytes, (unsigned long long)regime->max_bytes,
                regime->n_points, intercept, rate, regime->alpha_s * 1e6,
                regime->bandwidth_Bps * 1e-9);
    add_errors(text, &regime->in_sample);
    add_errors(text, &regime->held_out);
    cs_text_add(text, "\n");
}

void cs_calibration_table(const cs_calibration *calibration, cs_text *text)
{
    add_heading(calibration, text);
    for (size_t r = 0; r < calibration->n_regimes; r++) {
        add_regime(&calibration->regimes[r], text);
    }
    cs_text_add(text, "# relative error over all points: fit mean %.2f %%, max %.2f %%",
                100 * calibration->in_sample.mean_ratio, 100 * calibration->in_sample.max_ratio);
    if (calibration->held_out.n > 0) {
        cs_text_add(text, "; held out mean %.2f %%, max %.2f %% (%zu points)",
                    100 * calibration->held_out.mean_ratio, 100 * calibration->held_out.max_ratio,
                    calibration->held_out.n);
    }
    cs_text_add(text, "\n");
}
