/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/support/reference.h -- when does every transfer of a recorded schedule start and end on
 * alpha-beta? Written from the rules in cs/schedule.h and cs/cluster.h alone: ports found by
 * (fabric, rank, peer), rates integrated from the list of faults. */
#ifndef CT_SUPPORT_REFERENCE_H
#define CT_SUPPORT_REFERENCE_H

#include "support/stream.h"

typedef struct ct_times {
    cs_interval *intervals; /* owned, one per transfer */
    double       end_s;     /* the last end, or a fence or arrival behind it */
} ct_times;

ct_times ct_reference(const cs_scenario *scenario, const cs_plan *plan, const ct_stream *stream);
void     ct_times_free(ct_times *times);

/* When `bytes` that start to flow over the NICs of two ranks at `from_s` are through. */
double ct_flow_end_s(const cs_scenario *scenario, uint32_t src, uint32_t dst, double from_s,
                     double bytes);

#endif
