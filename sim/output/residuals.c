/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A script for gnuplot with its data in it. */
#include "output/residuals.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Colours that colour-blind readers can tell apart (Okabe and Ito), one for each regime. */
static const char *const colours[CS_MAX_REGIMES] = {"#0072B2", "#D55E00", "#009E73",
                                                    "#CC79A7", "#E69F00", "#56B4E9"};

static bool is_outlier(const cs_calibration *c, cs_point point)
{
    for (size_t o = 0; o < c->n_outliers; o++) {
        if (c->outliers[o].point.bytes == point.bytes &&
            c->outliers[o].point.time_s == point.time_s) {
            return true;
        }
    }
    return false;
}

/* One block of lines "MiB percent" for each regime, then the outliers; empty ones hold no number.
 */
static cs_status add_data(const cs_calibration *c, double *most_p, cs_text *script, cs_error *err)
{
    for (size_t block = 0; block <= c->n_regimes; block++) {
        bool is_empty = true;
        cs_text_add(script, "$block%zu << END\n", block);
        for (size_t i = 0; i < c->n_points; i++) {
            const cs_point point  = c->points[i];
            cs_estimate    time   = {0};
            const bool     is_out = is_outlier(c, point);
            const bool is_of = block < c->n_regimes && point.bytes >= c->regimes[block].min_bytes &&
                               point.bytes <= c->regimes[block].max_bytes;
            if (is_out ? block < c->n_regimes : !is_of) {
                continue;
            }
            if (cs_calibration_time(c, c->collective, c->n_ranks, point.bytes, &time, NULL) !=
                CS_OK) {
                continue; /* an outlier outside of all regimes */
            }
            double percent = 100 * (point.time_s / time.value - 1);
            *most_p        = is_out ? *most_p : fmax(*most_p, fabs(percent));
            percent        = is_out ? fmin(percent, 1.9 * *most_p) : percent; /* at the edge */
            cs_text_add(script, "%.17g %.6g\n", (double)point.bytes, percent);
            is_empty = false;
        }
        cs_text_add(script, "%sEND\n", is_empty ? "NaN NaN\n" : "");
    }
    return cs_text_status(script, err);
}

static void add_axes(const cs_calibration *c, double most, cs_text *script)
{
    const double low = (double)c->points[0].bytes, high = (double)c->points[c->n_points - 1].bytes;
    char         title[400];

    (void)snprintf(title, sizeof title, "What the lines leave over: %s on %u ranks%s%s",
                   cs_collective_name(c->collective), c->n_ranks, c->machine[0] != '\0' ? ", " : "",
                   c->machine);
    cs_text_add(script, "set title ");
    cs_gnuplot_quoted(script, title);
    cs_text_add(script, "\nset yrange [%.4g:%.4g]\nset ylabel 'measured / line - 1 (%%)'\n",
                -1.2 * most, 2 * most);
    cs_gnuplot_sizes(script, low, high);
    cs_text_add(script,
                "set xzeroaxis lc rgb '#555555'\n"
                "set key outside right top Left reverse noenhanced samplen 1 title 'A, R'\n");
}

/* A line at each break; a label where it is known what changes. */
static void add_breaks(const cs_calibration *c, cs_text *script)
{
    for (size_t b = 0; b < c->n_breaks; b++) {
        const cs_break *brk = &c->breaks[b];
        const double    at  = sqrt((double)brk->after_bytes) * sqrt((double)brk->before_bytes);
        char            words[80];
        cs_text_add(
            script,
            "set arrow from %.17g, graph 0 to %.17g, graph 1 nohead lc rgb '#888888' dt 2\n", at,
            at);
        if (brk->evidence != CS_BREAK_UNKNOWN) {
            (void)snprintf(words, sizeof words, "%s to %s", brk->from, brk->to);
            cs_text_add(script, "set label ");
            cs_gnuplot_quoted(script, words);
            cs_text_add(
                script,
                " at %.17g, graph 0.98 right rotate by 90 offset -0.7,0 noenhanced font ',9'\n",
                at);
        }
    }
}

cs_status cs_residuals_script(const cs_calibration *c, cs_text *script, cs_error *err)
{
    double most = 1;

    if (c->points == NULL || c->n_points == 0) {
        return CS_FAIL(err, CS_EINVAL, "", "the calibration was loaded, it has no points");
    }
    CS_TRY(add_data(c, &most, script, err));
    add_axes(c, most, script);
    add_breaks(c, script);
    cs_text_add(script, "plot ");
    for (size_t r = 0; r < c->n_regimes; r++) {
        cs_text_add(script,
                    "$block%zu using 1:2 with points pt 7 ps 0.7 lc rgb '%s' title '%.2f us, %.4g "
                    "GB/s', \\\n",
                    r, colours[r], c->regimes[r].line.intercept_s * 1e6,
                    1e-9 / c->regimes[r].line.slope_s_per_byte);
    }
    cs_text_add(script, "$block%zu using 1:2 with points pt 2 ps 1 lw 2 lc rgb '#000000' %s\n",
                c->n_regimes, c->n_outliers > 0 ? "title 'outlier, left out'" : "notitle");
    return cs_text_status(script, err);
}

cs_status cs_residuals_draw(const cs_calibration *calibration, cs_picture kind, cs_text *picture,
                            cs_error *err)
{
    cs_text   script = {0};
    cs_status status = cs_residuals_script(calibration, &script, err);

    status = status == CS_OK
                 ? cs_gnuplot_draw(&script, kind, CS_PICTURE_WIDTH, CS_PICTURE_HEIGHT, picture, err)
                 : status;
    cs_text_free(&script);
    return status;
}
