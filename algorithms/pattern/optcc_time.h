/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/pattern/optcc_time.h -- what an OptCC schedule is predicted to take on the
 * alpha-beta model, and the choice of its shape by that.
 *
 * One slow server: exact for l >= 2 (and R >= 3), an upper bound that is met within a few per cent
 * otherwise. Several: exact where that is quick to find out, otherwise an upper bound within 1 % or
 * 2 (optcc_even.h). Sources: the specification's sections 3, 4, 5 and 8.
 */
#ifndef CS_ALGORITHMS_PATTERN_OPTCC_TIME_H
#define CS_ALGORITHMS_PATTERN_OPTCC_TIME_H

#include "algorithms/pattern/optcc_shape.h"

typedef struct cs_optcc_setting {
    uint32_t      p, m;
    const double *slow_ratio;               /* [m] */
    double        largest_ratio, sum_ratio; /* of these */
    uint64_t      bytes;                    /* of one cycle: the buffer over the GPUs of a server */
    double        alpha_s, s_per_byte;
    uint32_t      gpus_per_server;
    double        nvlink_s_per_byte, nvlink_alpha_s; /* for gpus_per_server > 1 */
} cs_optcc_setting;

/* Seconds for a shape. At most CS_OPTCC_MAX_MARCH steps (optcc_even.h): call it for few. */
double cs_optcc_predict_s(const cs_optcc_setting *setting, const cs_optcc_shape *shape);

/* Seconds for one plain ring over all GPUs of the same (degraded) servers. */
double cs_optcc_ring_s(const cs_optcc_setting *setting);

/* A shape of the setting: so many rounds, or exactly so many sections where that is not 0; with
 * several GPUs a server only the plain one is built. O(1). */
cs_optcc_shape cs_optcc_shape_for(const cs_optcc_setting *setting, uint32_t rounds,
                                  uint32_t sections, uint32_t ramp, bool bubbles);

/* What is fixed by the user. */
typedef struct cs_optcc_wish {
    uint32_t rounds, sections; /* 0: choose; sections decide where both are set */
    uint32_t ramp;             /* CS_AUTO (UINT32_MAX): choose */
    int      bubbles;          /* 0: auto, 1: on, 2: off */
} cs_optcc_wish;

/* The shape with the smallest estimate; among rounds that are within 0.2 % of the best, the
 * fewest. O(m log rounds) steps. */
cs_optcc_shape cs_optcc_choose(const cs_optcc_setting *setting, const cs_optcc_wish *wish);

#endif
