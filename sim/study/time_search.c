/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inverse of a replay: see study/time_search.h. */
#include "study/time_search.h"

#include <math.h>

#define CLOSE 1e-13 /* relative: how well a time is met */

enum { MOST_STEPS = 200 };

cs_status cs_time_at(const cs_time_search *search, double x, double *time_s_p, cs_error *err)
{
    cs_job     job     = *search->job;
    cs_outcome outcome = {0};

    search->set(&job.scenario, x, search->user);
    job.verify       = false;
    cs_status status = cs_job_resolve(&job, err);
    if (status == CS_OK) {
        status = cs_job_replay(&job, NULL, 0, &outcome, err);
    }
    cs_job_release(&job);
    *time_s_p = outcome.elapsed_s;
    return status;
}

/* Times at the two ends of a bracket, less the one that is looked for. */
typedef struct bracket {
    double low, high, below, above;
} bracket;

/* Move the upper end until the time is met. */
static cs_status enclose(const cs_time_search *search, double target_s, bracket *b, cs_error *err)
{
    CS_TRY(cs_time_at(search, b->high, &b->above, err));
    for (int i = 0; b->above < target_s; i++) {
        if (i == MOST_STEPS) {
            return CS_FAIL(err, CS_ENOTSUP, "algorithm",
                           "the schedule's time does not depend on the ports that are looked for");
        }
        b->low   = b->high;
        b->below = b->above;
        b->high *= 4;
        CS_TRY(cs_time_at(search, b->high, &b->above, err));
    }
    b->below -= target_s;
    b->above -= target_s;
    return CS_OK;
}

cs_status cs_time_find(const cs_time_search *search, double target_s, double guess, double *x_p,
                       cs_error *err)
{
    bracket b = {.high = guess};
    double  t;

    CS_TRY(cs_time_at(search, 0, &b.below, err));
    *x_p = 0;
    if (b.below >= target_s) {
        return CS_OK;
    }
    CS_TRY(enclose(search, target_s, &b, err));
    *x_p = b.high;
    for (int i = 0, side = 0; i < MOST_STEPS && b.high - b.low > b.high * 1e-15; i++) {
        *x_p = b.low + (b.high - b.low) * -b.below / (b.above - b.below);
        CS_TRY(cs_time_at(search, *x_p, &t, err));
        t -= target_s;
        if (fabs(t) <= CLOSE * target_s) {
            break;
        }
        if (t < 0) {
            b.low   = *x_p;
            b.below = t;
            b.above = side < 0 ? b.above / 2 : b.above;
            side    = -1;
        } else {
            b.high  = *x_p;
            b.above = t;
            b.below = side > 0 ? b.below / 2 : b.below;
            side    = 1;
        }
    }
    return CS_OK;
}
