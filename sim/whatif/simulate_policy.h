/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatif/simulate_policy.h -- one policy through the whole job, iteration by iteration. */
#ifndef CS_WHATIF_SIMULATE_POLICY_H
#define CS_WHATIF_SIMULATE_POLICY_H

#include "whatif/call.h"
#include "whatif/whatif.h"

typedef struct cs_policy_request {
    const cs_whatif_job    *job;
    const cs_timeline      *timeline;
    cs_caller              *caller;
    const cs_whatif_policy *policy;
    double                  healthy_iteration_s;
    cs_arena               *arena; /* of the intervals and texts */
} cs_policy_request;

/* Fill the intervals, is_finished, total_s, iterations and note of a line. */
CS_MUST_CHECK cs_status cs_simulate_policy(const cs_policy_request *request, cs_whatif_line *line,
                                           cs_error *err);

#endif
