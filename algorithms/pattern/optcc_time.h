/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/pattern/optcc_time.h -- what an OptCC schedule is predicted to take on the
 * alpha-beta model, and the choice of its shape by that.
 *
 * Exact for one slow server with l >= 2 (and R >= 3); upper bounds that are met within a few per
 * cent otherwise. Sources: the specification's sections 3, 4, 5 and 8; benchmarks hold them against
 * replays.
 */
#ifndef CS_ALGORITHMS_PATTERN_OPTCC_TIME_H
#define CS_ALGORITHMS_PATTERN_OPTCC_TIME_H

#include "algorithms/pattern/optcc_shape.h"

typedef struct cs_optcc_setting {
    uint32_t      p, m;
    const double *slow_ratio; /* [m] */
    uint64_t      bytes;      /* of one cycle: the buffer over the GPUs of a server */
    double        alpha_s, s_per_byte;
    uint32_t      gpus_per_server;
    double        nvlink_s_per_byte, nvlink_alpha_s; /* for gpus_per_server > 1 */
} cs_optcc_setting;

/* Seconds for a shape. O(rounds). */
double cs_optcc_predict_s(const cs_optcc_setting *setting, const cs_optcc_shape *shape);

/* Seconds for one plain ring over all GPUs of the same (degraded) servers. */
double cs_optcc_ring_s(const cs_optcc_setting *setting);

/* What is fixed by the user; CS_AUTO (UINT32_MAX) where it is not. */
typedef struct cs_optcc_wish {
    uint32_t segments, ramp;
    int      bubbles; /* 0: auto, 1: on, 2: off */
} cs_optcc_wish;

/* The shape with the smallest prediction; among rounds that are within 0.2 % of the best, the
 * fewest. O(log rounds) predictions. */
cs_optcc_shape cs_optcc_choose(const cs_optcc_setting *setting, const cs_optcc_wish *wish);

#endif
