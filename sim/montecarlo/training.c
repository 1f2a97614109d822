/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a row says of training: see montecarlo/training.h. */
#include "montecarlo/training.h"

#include "base/statistics.h"

#include <stdio.h>

#define DAY_HOURS 24.0

void cs_training_describe(const cs_training *training, cs_montecarlo_row *row)
{
    if (training->workload != NULL) {
        snprintf(row->workload, sizeof row->workload, "%s", training->workload->name);
    }
    row->bytes         = training->bytes;
    row->calls         = training->n_buckets;
    row->compute_s     = training->compute_s;
    row->overlap_ratio = training->overlap_ratio;
    row->tail_s        = training->tail_s;
}

void cs_training_compare(const cs_samples *samples, const cs_samples *baseline, double confidence,
                         double *scratch, cs_montecarlo_row *row)
{
    size_t groups = samples->n_groups > baseline->n_groups ? samples->n_groups : baseline->n_groups;
    double own_s  = cs_estimate_mean(samples->elapsed_s, samples->n, 0, confidence).value;
    double base_s = cs_estimate_mean(baseline->elapsed_s, samples->n, 0, confidence).value;
    double hours  = (double)row->ranks * DAY_HOURS;
    double ratio  = 1 - own_s / base_s;

    for (size_t i = 0; i < samples->n; i++) {
        double saved_s = baseline->elapsed_s[i] - samples->elapsed_s[i];
        scratch[i]     = (saved_s - ratio * baseline->elapsed_s[i]) / base_s;
    }
    cs_estimate error      = cs_estimate_mean(scratch, samples->n, groups, confidence);
    row->iteration_speedup = base_s / own_s;
    row->saved_ratio       = (cs_estimate){ratio, ratio + error.low, ratio + error.high};
    row->gpu_hours_per_day =
        (cs_estimate){hours * ratio, hours * row->saved_ratio.low, hours * row->saved_ratio.high};
}
