/* SPDX-License-Identifier: GPL-3.0-or-later */
/* montecarlo/training.h -- what a row says of training: the job, and what its iterations save. */
#ifndef CS_MONTECARLO_TRAINING_H
#define CS_MONTECARLO_TRAINING_H

#include "config/training_json.h"
#include "montecarlo/montecarlo_row.h"
#include "montecarlo/samples.h"

/* Everything that is known before the iterations are run. */
CS_API void cs_training_describe(const cs_training *training, cs_montecarlo_row *row);

/* Compare the iterations with those of the baseline, pair by pair. With T and B the mean times,
 * the part 1 - T/B of the time is saved, and so many of the ranks' 24 hours a day: the GPU-hours
 * of StragglAR's Table 2 (8 GPUs and 4.75 %: 9.12). The interval of the ratio is that of the mean
 * of (b - t - (1 - T/B) b) / B over the pairs (b, t). `scratch` has room for samples->n. O(n).
 * Source of the interval: W. G. Cochran, "Sampling Techniques", 1977, section 6.3. */
CS_API void cs_training_compare(const cs_samples *samples, const cs_samples *baseline,
                                double confidence, double *scratch, cs_montecarlo_row *row);

#endif
