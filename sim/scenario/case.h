/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario/case.h -- one job of a configuration, and what else that says of it. */
#ifndef CS_SCENARIO_CASE_H
#define CS_SCENARIO_CASE_H

#include "base/arena.h"
#include "cs/arrival_process.h"
#include "cs/config.h"
#include "scenario/late_prediction.h"
#include "scenario/training_json.h"

/* What cs_config_case() fills. The scenario's lists and `json` live in the arena and stay valid
 * when the struct is moved. */
struct cs_case {
    cs_arena             arena;
    struct cs_held_file *files;    /* traces and topologies that the rest points into; held */
    cs_job               job;      /* as given: not resolved, but with a checked scenario; its
                                      arrivals are those of iteration 0 */
    cs_arrival_process   arrivals; /* of every iteration; in the arena */
    cs_prediction_policy policy;
    cs_training          training; /* its lists are in the arena; then job.scenario.bytes is the
                                      largest bucket */
    const char *json;              /* this scenario alone, as given: compact, keys sorted */
};

/* Free what the case owns; `{0}` is allowed. */
void cs_case_free(cs_case *c);

#endif
