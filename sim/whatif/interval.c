/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A mean and its interval: see whatif/interval.h. */
#include "whatif/interval.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

#define CONFIDENCE_TAIL 0.975
#define ROUNDING_RATIO  1e-12

cs_interval_95 cs_interval_of(const double *values, size_t n, double scale)
{
    cs_interval_95 out = {gsl_stats_mean(values, 1, n), (double)NAN, (double)NAN};

    if (n < 2) {
        return out;
    }
    double deviation = gsl_stats_sd_m(values, 1, n, out.mean);
    if (!(deviation > ROUNDING_RATIO * scale)) {
        out.low = out.high = out.mean;
        return out;
    }
    double r           = fmax(0, gsl_stats_lag1_autocorrelation_m(values, 1, n, out.mean));
    double independent = fmax(2, (double)n * (1 - r) / (1 + r));
    double half =
        gsl_cdf_tdist_Pinv(CONFIDENCE_TAIL, independent - 1) * deviation / sqrt(independent);
    out.low  = out.mean - half;
    out.high = out.mean + half;
    return out;
}
