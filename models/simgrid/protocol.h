/* SPDX-License-Identifier: GPL-3.0-or-later */
/* models/simgrid/protocol.h -- what the model `simgrid` and its child process, collsim-simgrid,
 * say to each other over a stream socket, which is the child's standard input.
 *
 * Both are built together and run on one machine: numbers are as the machine has them. Every
 * message is a cs_sg_frame and that many bytes behind it:
 *
 *   OPEN    model: cs_sg_open, the bandwidths of the links (double), cs_sg_change[]; first of all
 *   FLOWS   model: as often as it likes: cs_sg_flow, its links (uint32_t), the next flow, ..;
 *           there is no reply
 *   RUN     model: cs_sg_run
 *   READY   child: to OPEN, empty
 *   EVENT   child: to RUN: cs_sg_event, then the flows that ended (uint32_t)
 *   FAILED  child: instead of a reply, and the last that it says: one line of text
 *
 * Times are seconds from the first arrival, and never negative. A child whose socket is closed
 * ends.
 */
#ifndef CS_MODELS_SIMGRID_PROTOCOL_H
#define CS_MODELS_SIMGRID_PROTOCOL_H

#include <stdint.h>

enum {
    CS_SG_BUILD_BYTES = 64,
    CS_SG_MAX_FLOWS   = 1 << 23 /* their numbers are smaller */
};

enum {
    CS_SG_OPEN = 1,
    CS_SG_FLOWS,
    CS_SG_RUN,
    CS_SG_READY,
    CS_SG_EVENT,
    CS_SG_FAILED,
};

typedef struct cs_sg_frame {
    uint32_t kind, bytes; /* of what follows */
} cs_sg_frame;

/* Both are of one build (cs/build.h), or their results would be of two programs. */
typedef struct cs_sg_open {
    char     build[CS_SG_BUILD_BYTES];
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
