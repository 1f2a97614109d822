/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatif/timeline.h -- what the NICs of a job can do at any time, and what is known about it.
 *
 * Only servers that ever fail have a history; where the job profiles or a worker dies, all have.
 * A history holds the *spans* in which the server's
 * NICs are slow (INFINITY: dead), and the *notices*: from when on which slowdown is known. A
 * state is noticed once it has lasted for the job's detection time; one that is over before is
 * never noticed. A recovery is a state like any other. Neighbouring states whose slowdowns differ
 * by less than the tolerance are one state, known by the slowdown of the first.
 */
#ifndef CS_WHATIF_TIMELINE_H
#define CS_WHATIF_TIMELINE_H

#include "whatif/whatif_json.h"

typedef struct cs_notice {
    double from_s;
    double slowdown; /* >= 1 */
    bool   is_down;  /* a NIC has died, not only slowed */
} cs_notice;

typedef struct cs_history {
    uint32_t           server;
    const cs_capacity *spans; /* in order, in job time; they may touch. INFINITY: dead */
    size_t             n_spans;
    const cs_notice   *notices; /* in order; before the first: healthy */
    size_t             n_notices;
} cs_history;

typedef struct cs_timeline {
    cs_arena          arena;
    const cs_history *histories; /* by server */
    size_t            n_histories;
    const double     *events; /* ascending: whenever anything changes or becomes known */
    size_t            n_events;
} cs_timeline;

/* Build the timeline of a job. The caller owns it (cs_timeline_free) on CS_OK. O(faults log). */
CS_MUST_CHECK cs_status cs_timeline_build(const cs_whatif_job *job, cs_timeline *timeline_p,
                                          cs_error *err);
void                    cs_timeline_free(cs_timeline *timeline);

/* How many notices are known, when it takes `delay_s` after a notice to act upon it. */
size_t cs_notices_at(const cs_history *history, double time_s, double delay_s);

/* The slowdown of the last of them. */
double cs_known_slowdown_at(const cs_history *history, double time_s, double delay_s);

/* The first event after a time; INFINITY: none. */
double cs_next_event(const cs_timeline *timeline, double time_s);

/* When a server that is slow at a time is healthy again; the time itself if it is healthy. */
double cs_repaired_at(const cs_history *history, double time_s);

#endif
