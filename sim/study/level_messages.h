/* SPDX-License-Identifier: GPL-3.0-or-later */
/* study/level_messages.h -- between the time of a collective and that of one message over a level:
 * which messages a schedule sends over NVLink and over the NICs, and which ports make it take a
 * time that was measured (the inverse of a replay).
 */
#ifndef CS_STUDY_LEVEL_MESSAGES_H
#define CS_STUDY_LEVEL_MESSAGES_H

#include "cs/job.h"

/* A rate at which bytes take no time. */
#define CS_FAST_BPS 1e15

/* The option that a level's logs are given with. */
static inline const char *cs_level_option(uint32_t level)
{
    return level == CS_NIC ? "--nic" : "--nvlink";
}

/* A collective on servers of `g` GPUs with switched ports, on which messages take no time. */
cs_scenario cs_level_scenario(cs_collective collective, uint32_t n_ranks, uint32_t g,
                              uint64_t bytes);

/* A job of the schedule with its default options on the scenario's cluster, without a topology;
 * nobody is late, nothing fails. It is not resolved. */
CS_MUST_CHECK cs_status cs_level_job(const char *schedule, const cs_scenario *scenario, cs_job *job,
                                     cs_error *err);

/* The size of a message over each fabric, 1 or more; 0: there is none. Buffers below 1 MiB, whose
 * parts differ by a byte, have that part of a larger one's. Stops at the first message over each
 * fabric. */
CS_MUST_CHECK cs_status cs_level_messages(const char *schedule, const cs_scenario *scenario,
                                          uint64_t bytes[CS_FABRICS], cs_error *err);

/* CS_ENOTSUP, with those that are accepted, where a time of the algorithm does not say how long its
 * messages took (cs_algorithm.equal_messages). */
CS_MUST_CHECK cs_status cs_level_accept(const cs_algorithm *algorithm, cs_collective collective,
                                        cs_error *err);

/* The time of a resolved job, without verification: a replay of all its transfers; of those of one
 * server where all servers do the same (cs_algorithm.keep_one_server). That is the same to the
 * last bit where chunks are of one size. Where they differ by a byte it is asked for schedules of
 * more than about 2^23 transfers alone, and the time is that of the chunks of server 0. */
CS_MUST_CHECK cs_status cs_level_time(const cs_job *job, double *time_s_p, cs_error *err);

/* ---- the inverse of a replay ---- */

/* A job that is not resolved, as a function of x >= 0: its time must not fall as x grows. */
typedef struct cs_time_search {
    const cs_job *job;                                              /* borrowed */
    void (*set)(cs_scenario *scenario, double x, const void *user); /* put x into a copy */
    const void *user;
} cs_time_search;

/* The time at x (cs_level_time). */
CS_MUST_CHECK cs_status cs_time_at(const cs_time_search *search, double x, double *time_s_p,
                                   cs_error *err);

/* The x >= 0 at which the time is `target_s`, to 1e-13 of it; 0 where it is no less there. From a
 * bracket whose upper end is `guess` > 0 or more, by secants that keep the bracket (Illinois):
 * three or four replays where the time is a line. CS_ENOTSUP: it does not grow with x. */
CS_MUST_CHECK cs_status cs_time_find(const cs_time_search *search, double target_s, double guess,
                                     double *x_p, cs_error *err);

#endif
