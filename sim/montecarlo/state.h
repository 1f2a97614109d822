/* SPDX-License-Identifier: GPL-3.0-or-later */
/* montecarlo/state.h -- what a run remembers between scenarios; for montecarlo.c and run.c. */
#ifndef CS_MONTECARLO_STATE_H
#define CS_MONTECARLO_STATE_H

#include "montecarlo/montecarlo.h"
#include "montecarlo/samples.h"

struct cs_montecarlo {
    const cs_config             *config;
    const cs_montecarlo_options *options;
    size_t                       base; /* whose samples follow; SIZE_MAX: nobody's */
    bool                         base_failed;
    cs_samples                   base_samples;
    uint64_t                     done, total; /* iterations, for the progress */
};

#endif
