/* SPDX-License-Identifier: GPL-3.0-or-later */
/* models/simgrid/protocol.h -- what the model `simgrid` and its child process, collsim-simgrid, put
 * into the frames of models/lib/frames.h:
 *
 *   OPEN    cs_talk_opening, cs_sg_open, the bandwidths of the links (double), cs_sg_change[]
 *   WORK    flows: cs_sg_flow, its links (uint32_t), the next flow, ..
 *   RUN     cs_sg_run
 *   EVENT   cs_sg_event, then the flows that ended (uint32_t)
 *
 * Times are seconds from the first arrival, and never negative.
 */
#ifndef CS_MODELS_SIMGRID_PROTOCOL_H
#define CS_MODELS_SIMGRID_PROTOCOL_H

#include "models/lib/frames.h"

enum { CS_SG_MAX_FLOWS = 1 << 23 /* their numbers are smaller */ };

typedef struct cs_sg_open {
    uint32_t n_links, n_changes;
} cs_sg_open;

/* From time_s on, a link has another bandwidth. */
typedef struct cs_sg_change {
    double   time_s, bandwidth_Bps;
    uint32_t link, zero;
} cs_sg_change;

/* From begin_s on, bytes flow over n_links links. The number is free again when it has ended. */
typedef struct cs_sg_flow {
    double   begin_s;
    uint64_t bytes;
    uint32_t number, n_links;
} cs_sg_flow;

/* Let the time pass until a flow ends, or until horizon_s (INFINITY: only if a flow is there). */
typedef struct cs_sg_run {
    double horizon_s;
} cs_sg_run;

/* That is now; n_ended flows end. Without any, now is the horizon but for rounding. */
typedef struct cs_sg_event {
    double   now_s;
    uint32_t n_ended, zero;
} cs_sg_event;

#endif
