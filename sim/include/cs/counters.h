/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/counters.h -- what a network model counts beside time: totals of a run, and for whoever wants
 * them, what happened on every link. Links have the numbers of models/lib/links.h. */
#ifndef CS_COUNTERS_H
#define CS_COUNTERS_H

#include "cs/error.h"

#include <stddef.h>
#include <stdint.h>

CS_BEGIN_C

#define CS_NO_COUNT UINT64_MAX /* nobody counts that */

typedef struct cs_counts {
    uint64_t packets; /* sent by hosts, those sent again too */
    uint64_t pauses;  /* that switches asked for */
    uint64_t drops, marks, resent;
} cs_counts;

#define CS_NO_COUNTS ((cs_counts){CS_NO_COUNT, CS_NO_COUNT, CS_NO_COUNT, CS_NO_COUNT, CS_NO_COUNT})

/* One link over a run. A queue is what waits at a switch to be sent over the link: packets that are
 * there and start later; what hosts still have to send is none. */
typedef struct cs_link_counts {
    uint64_t packets, bytes; /* sent, headers too */
    uint64_t deepest_bytes;  /* of its queue */
    uint64_t pauses, drops, marks;
    double   busy_s, paused_s;
} cs_link_counts;

/* One link over one interval of time. */
typedef struct cs_link_sample {
    uint64_t interval; /* from interval * sample_s on, after the first arrival */
    uint32_t link;
    uint64_t queue_bytes; /* the deepest that its queue was */
    uint64_t bytes;       /* of packets that started in it, headers too */
    uint64_t drops, marks;
    double   paused_s;
} cs_link_sample;

typedef struct cs_link_report {
    uint32_t              n_links;
    const cs_link_counts *links;    /* [n_links] */
    double                sample_s; /* length of an interval; 0: none were asked for */
    size_t                n_samples;
    const cs_link_sample *samples; /* by interval, then by link; of those in which anything was */
} cs_link_report;

/* Intervals as short as they can be while a run has at most CS_MOST_SAMPLES of them. */
#define CS_SAMPLE_AUTO  (-1.0)
#define CS_MOST_SAMPLES 1024u

CS_END_C

#endif
