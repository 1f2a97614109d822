/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every hook passes the planned job on instead of the real scenario: see whatif/planned.h. */
#include "whatif/planned.h"

#include "base/alloc.h"

typedef struct planned {
    const cs_algorithm *algorithm;
    void               *state; /* of it */
} planned;

static cs_status planned_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                               cs_error *err)
{
    cs_job   *job    = ((const cs_planned_options *)options)->job;
    cs_status status = cs_job_resolve(job, err);

    (void)scenario;
    *plan          = job->plan;
    plan->prepared = NULL; /* it stays the job's */
    return status;
}

static cs_status planned_open(const cs_scenario *scenario, const void *options, void **state_p,
                              cs_error *err)
{
    const cs_planned_options *o = options;
    planned                  *s = CS_NEW(planned, 1);

    (void)scenario;
    if (s == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for a schedule");
    }
    s->algorithm     = o->job->algorithm;
    cs_status status = cs_job_open(o->job, &s->state, err);
    if (status != CS_OK) {
        cs_free(s);
        return status;
    }
    *state_p = s;
    return CS_OK;
}

static void planned_next_block(void *state, cs_block *block)
{
    planned *s = state;
    s->algorithm->next_block(s->state, block);
}

static void planned_close(void *state)
{
    planned *s = state;

    if (s != NULL) {
        s->algorithm->close(s->state);
        cs_free(s);
    }
}

const cs_algorithm cs_planned = {
    .name          = "planned",
    .summary       = "the schedule of another algorithm for another scenario",
    .source        = "none: a tool of this project",
    .collectives   = 1u << CS_ALLREDUCE,
    .options_bytes = sizeof(cs_planned_options),
    .check         = planned_check,
    .open          = planned_open,
    .next_block    = planned_next_block,
    .close         = planned_close,
};
