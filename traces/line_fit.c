/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/line_fit.c -- see line_fit.h.
 *
 * With u = 1/t and v = S/t the residual of a point is 1 - A u - B v: two unknowns, no
 * constant. The search over segmentations only needs its minimum, from the normal equations;
 * the line that is reported comes from GSL (weights 1/t^2), whose covariance is scaled by the
 * residuals' variance, since only ratios of the weights are known.
 */
#include "traces/line_fit.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_fit.h>
#include <math.h>

void cs_line_add(cs_line_sums *sums, cs_point point)
{
    double u = 1 / point.time_s, v = (double)point.bytes / point.time_s;

    sums->n_sizes += sums->n == 0 || point.bytes != sums->last_bytes;
    sums->n++;
    sums->last_bytes = point.bytes;
    sums->u += u;
    sums->v += v;
    sums->uu += u * u;
    sums->uv += u * v;
    sums->vv += v * v;
}

bool cs_line_error(const cs_line_sums *sums, double *error_p)
{
    double determinant = sums->uu * sums->vv - sums->uv * sums->uv;
    double intercept   = sums->u * sums->vv - sums->v * sums->uv;
    double slope       = sums->v * sums->uu - sums->u * sums->uv;
    double error;

    if (sums->n_sizes < 2 || !(determinant > 0)) {
        return false;
    }
    if (intercept < 0) {
        error = (double)sums->n - sums->v * sums->v / sums->vv;
    } else {
        error = (double)sums->n - (intercept * sums->u + slope * sums->v) / determinant;
    }
    *error_p = fmax(error, 0);
    return intercept < 0 || slope > 1e-9 * sums->v * sums->uu;
}

/* Half the width of the 95 % interval for a parameter of the given variance. */
static double half_width(double variance, size_t freedom)
{
    return freedom == 0 ? HUGE_VAL
                        : gsl_cdf_tdist_Pinv(0.975, (double)freedom) * sqrt(fmax(variance, 0));
}

/* Through the origin: A = 0, and its interval is what is left of the free one above 0. */
static void fit_slope(const double *x, const double *w, const double *y, size_t n, cs_line *line)
{
    double slope = 0, variance = 0, error = 0;
    double half;

    (void)gsl_fit_wmul(x, 1, w, 1, y, 1, n, &slope, &variance, &error);
    half                        = half_width(n > 1 ? variance * error / (double)(n - 1) : 0, n - 1);
    line->intercept_s           = 0;
    line->slope_s_per_byte      = slope;
    line->slope_low_s_per_byte  = fmax(slope - half, 0);
    line->slope_high_s_per_byte = slope + half;
}

static void fit_both(const double *x, const double *w, const double *y, size_t n, cs_line *line)
{
    double a = 0, b = 0, aa = 0, ab = 0, bb = 0, error = 0;
    double scale, half_a, half_b;

    (void)gsl_fit_wlinear(x, 1, w, 1, y, 1, n, &a, &b, &aa, &ab, &bb, &error);
    scale                       = n > 2 ? error / (double)(n - 2) : 0;
    half_a                      = half_width(aa * scale, n - 2);
    half_b                      = half_width(bb * scale, n - 2);
    line->intercept_s           = a;
    line->intercept_low_s       = fmax(a - half_a, 0);
    line->intercept_high_s      = fmax(a + half_a, 0);
    line->slope_s_per_byte      = b;
    line->slope_low_s_per_byte  = fmax(b - half_b, 0);
    line->slope_high_s_per_byte = b + half_b;
}

bool cs_line_fit(const cs_point *points, size_t n, cs_line *line_p)
{
    enum { most = 1024 };
    double  x[most], w[most], y[most];
    cs_line line = {0};

    if (n < 2 || n > most || points[0].bytes == points[n - 1].bytes) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        x[i] = (double)points[i].bytes;
        y[i] = points[i].time_s;
        w[i] = 1 / (y[i] * y[i]);
    }
    fit_both(x, w, y, n, &line);
    if (line.intercept_s < 0) {
        fit_slope(x, w, y, n, &line);
    }
    *line_p = line;
    return line.slope_s_per_byte > 0;
}

double cs_line_at(const cs_line *line, uint64_t bytes)
{
    return line->intercept_s + line->slope_s_per_byte * (double)bytes;
}
