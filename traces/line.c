/* SPDX-License-Identifier: GPL-3.0-or-later */
/* With u = 1/t and v = S/t the residual of a point is 1 - A u - B v: two unknowns, no constant. A
 * search over segmentations only needs its minimum, from the normal equations; the line that is
 * reported comes from GSL (weights 1/t^2), whose covariance is scaled by the residuals' variance,
 * since only ratios of the weights are known.
 */
#include "traces/line.h"

#include "base/alloc.h"
#include "base/statistics.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_fit.h>
#include <gsl/gsl_multifit.h>
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
    return freedom == 0 ? HUGE_VAL : cs_student_t((double)freedom, 0.95) * sqrt(fmax(variance, 0));
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

/* ---- robust ---- */

/* What gsl_multifit_robust() works on: the median of a size stands below its residuals. */
typedef struct robust {
    gsl_matrix                    *x, *covariance;
    gsl_vector                    *y, *c;
    gsl_multifit_robust_workspace *space;
} robust;

static void robust_free(robust *r)
{
    gsl_matrix_free(r->x);
    gsl_matrix_free(r->covariance);
    gsl_vector_free(r->y);
    gsl_vector_free(r->c);
    if (r->space != NULL) {
        gsl_multifit_robust_free(r->space);
    }
}

static bool robust_open(robust *r, size_t n)
{
    (void)gsl_set_error_handler_off();
    *r = (robust){gsl_matrix_alloc(n, 2), gsl_matrix_alloc(2, 2), gsl_vector_alloc(n),
                  gsl_vector_alloc(2),
                  gsl_multifit_robust_alloc(gsl_multifit_robust_bisquare, n, 2)};
    return r->x != NULL && r->covariance != NULL && r->y != NULL && r->c != NULL &&
           r->space != NULL;
}

/* Columns are divided by their largest values, so that the matrix is well conditioned. */
static void fill_rows(robust *r, const cs_point *points, size_t n, double scale_bytes)
{
    for (size_t first = 0, end = 0; first < n; first = end) {
        while (end < n && points[end].bytes == points[first].bytes) {
            end++;
        }
        double median =
            (points[(first + end - 1) / 2].time_s + points[(first + end) / 2].time_s) / 2;
        for (size_t i = first; i < end; i++) {
            gsl_matrix_set(r->x, i, 0, points[0].time_s / median);
            gsl_matrix_set(r->x, i, 1,
                           (double)points[i].bytes / scale_bytes * points[n - 1].time_s / median);
            gsl_vector_set(r->y, i, points[i].time_s / median);
        }
    }
}

bool cs_line_fit_robust(const cs_point *points, size_t n, cs_line *line_p)
{
    robust  r;
    bool    is_done = false;
    cs_line line    = {0};

    if (!cs_line_fit(points, n, &line)) {
        return false;
    }
    if (n > 4 && robust_open(&r, n)) {
        double scale_bytes = (double)points[n - 1].bytes;
        fill_rows(&r, points, n, scale_bytes);
        is_done  = gsl_multifit_robust(r.x, r.y, r.c, r.covariance, r.space) == GSL_SUCCESS;
        double a = gsl_vector_get(r.c, 0) * points[0].time_s;
        double b = gsl_vector_get(r.c, 1) * points[n - 1].time_s / scale_bytes;
        if (is_done && a >= 0 && b > 0 && isfinite(a) && isfinite(b)) {
            double half_a =
                half_width(gsl_matrix_get(r.covariance, 0, 0), n - 2) * points[0].time_s;
            double half_b = half_width(gsl_matrix_get(r.covariance, 1, 1), n - 2) *
                            points[n - 1].time_s / scale_bytes;
            line =
                (cs_line){a, fmax(a - half_a, 0), a + half_a, b, fmax(b - half_b, 0), b + half_b};
        }
        robust_free(&r);
    }
    *line_p = line;
    return true;
}

void cs_line_join(const cs_line *below, uint64_t low, const cs_line *above, uint64_t high,
                  uint64_t bytes, double *intercept_s_p, double *slope_s_per_byte_p)
{
    double part  = (double)(bytes - low) / (double)(high - low);
    double moved = (1 - part) * below->slope_s_per_byte * (double)low +
                   part * above->slope_s_per_byte * (double)high;

    *intercept_s_p      = (1 - part) * below->intercept_s + part * above->intercept_s;
    *slope_s_per_byte_p = moved / (double)bytes;
}
