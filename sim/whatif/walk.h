/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatif/walk.h -- one policy through the whole job, iteration by iteration. */
#ifndef CS_WHATIF_WALK_H
#define CS_WHATIF_WALK_H

#include "whatif/call.h"
#include "whatif/whatif.h"

typedef struct cs_walk_request {
    const cs_whatif_job    *job;
    const cs_timeline      *timeline;
    cs_caller              *caller;
    const cs_whatif_policy *policy;
    double                  healthy_iteration_s;
    cs_arena               *arena; /* of the pieces and texts */
} cs_walk_request;

/* Fill the pieces, is_finished, total_s, iterations and note of a line. */
CS_MUST_CHECK cs_status cs_walk(const cs_walk_request *request, cs_whatif_line *line,
                                cs_error *err);

#endif
