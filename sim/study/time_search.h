/* SPDX-License-Identifier: GPL-3.0-or-later */
/* study/time_search.h -- what must a port be for a schedule to take a given time? The inverse of a
 * replay, for measurements that say how long a collective took and nothing of the ports.
 */
#ifndef CS_STUDY_TIME_SEARCH_H
#define CS_STUDY_TIME_SEARCH_H

#include "cs/job.h"

/* A rate at which bytes take no time. */
#define CS_FAST_BPS 1e15

/* A job that is not resolved, as a function of x >= 0: its time must not fall as x grows. */
typedef struct cs_time_search {
    const cs_job *job;                                              /* borrowed */
    void (*set)(cs_scenario *scenario, double x, const void *user); /* put x into a copy */
    const void *user;
} cs_time_search;

/* The time at x: one replay, without verification. */
CS_MUST_CHECK cs_status cs_time_at(const cs_time_search *search, double x, double *time_s_p,
                                   cs_error *err);

/* The x >= 0 at which the time is `target_s`, to 1e-13 of it; 0 where it is no less there. From a
 * bracket whose upper end is `guess` > 0 or more, by secants that keep the bracket (Illinois):
 * three or four replays where the time is a line. CS_ENOTSUP: it does not grow with x. */
CS_MUST_CHECK cs_status cs_time_find(const cs_time_search *search, double target_s, double guess,
                                     double *x_p, cs_error *err);

#endif
