/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/optcc/time.h -- what an OptCC schedule is predicted to take, and the choice of
 * its shape and copies by that.
 *
 * A message holds its ports for a time of its own beside its bytes, and its data may arrive later
 * than its ports are free (LogGP's latency, a propagation). What lies beyond the ports is hidden by
 * interleaved copies.
 *
 * One slow server: exact on alpha-beta for l >= 2 (and R >= 3), an upper bound that is met within a
 * few per cent otherwise. Several: exact where that is quick to find out, otherwise an upper bound
 * within 1 % or 2. With copies: within 1 % from some ten rounds on (measured).
 * Source: this project (sim/doc/optcc.md).
 */
#ifndef CS_ALGORITHMS_OPTCC_TIME_H
#define CS_ALGORITHMS_OPTCC_TIME_H

#include "algorithms/optcc/shape.h"

typedef struct cs_optcc_setting {
    uint32_t      p, m;
    const double *slowdown;                       /* [m] >= 1 */
    double        largest_slowdown, sum_slowdown; /* of these */
    uint64_t      bytes;  /* of one cycle: the buffer over the GPUs of a server */
    double        port_s; /* a message over NICs holds each of its ports so long, plus its bytes */
    double        gap_s;  /* ... and no other one starts there before that */
    double        beyond_s; /* its data are there so much later than the ports are free */
    double        s_per_byte;
    uint32_t      gpus_per_server;
    double        nvlink_s_per_byte, nvlink_alpha_s; /* for gpus_per_server > 1 */
    uint32_t      nvlink_lanes; /* messages that a GPU sends at once: 1, or one to each other GPU */
} cs_optcc_setting;

/* A shape, in how many copies, and its predicted time. */
typedef struct cs_optcc_pick {
    cs_optcc_shape shape;
    uint32_t       copies;
    double         time_s;
} cs_optcc_pick;

/* Seconds for a shape. Takes up to 65536 steps: call it for few. */
double cs_optcc_predict_s(const cs_optcc_setting *setting, const cs_optcc_shape *shape,
                          uint32_t copies);

/* Messages of one copy over NICs. */
uint64_t cs_optcc_messages(const cs_optcc_shape *shape);

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
    uint32_t copies;           /* CS_AUTO: choose */
} cs_optcc_wish;

/* The best predicted time of one copy without ramp and bubbles: by formulas, and exact where that
 * takes few steps. */
double cs_optcc_estimate_s(const cs_optcc_setting *setting);

enum { CS_OPTCC_MOST_PICKS = 3 * (3 + 1) * 2 };

/* The best number of rounds for every combination of copies, ramp and bubbles that the wish leaves,
 * by rising prediction, but first the one with the fewest messages among those within 0.4 % of the
 * best. Returns how many there are, at least one. Copies are tried where something lies beyond the
 * ports: up to 3, with a slow server of l < 2 only such as have no divisor with H in common (others
 * meet at the slow server). O(picks x m log rounds). */
uint32_t cs_optcc_choose(const cs_optcc_setting *setting, const cs_optcc_wish *wish,
                         cs_optcc_pick *picks);

#endif
