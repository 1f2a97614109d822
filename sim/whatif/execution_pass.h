/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatif/execution_pass.h -- an iteration once from begin to end: every node of every rank as soon
 * as what it needs has ended and what it runs on is free.
 *
 * A rank does one thing at a time on its CPU and computes one kernel at a time on its GPU; of what
 * could begin, the smallest number does. Beside that run its calls, those of one process group one
 * after the other: a rank enters a call when what it needs has ended and the group's call before,
 * too, and all leave a call together. A message is on its way when its sender is there and the
 * ports of both ranks are free; the sender goes on when it has arrived, the receiver when that is
 * so and it waits for it. Calls of different groups do not slow down each other; the result says
 * how long a rank was in more than one.
 */
#ifndef CS_WHATIF_EXECUTION_PASS_H
#define CS_WHATIF_EXECUTION_PASS_H

#include "cs/cluster.h"
#include "traces/execution_trace.h"

/* Who knows how long calls and messages take. */
typedef struct cs_call_clock {
    /* `arrival_s` [ranks of the group], after first_s, in the order of the group's ranks. */
    cs_status (*call)(void *user, uint32_t call, double first_s, const double *arrival_s,
                      double *elapsed_s_p, cs_error *err);
    cs_status (*message)(void *user, uint32_t message, double start_s, double *elapsed_s_p,
                         cs_error *err);
    void *user;
    bool  has_no_queues; /* for bounds: nothing waits for a CPU, a GPU, a port or a call before */
} cs_call_clock;

typedef struct cs_pass_result {
    double   end_s;     /* of the last node */
    double   shared_s;  /* that a rank was in several calls or messages: the longest of any */
    double   at_once_s; /* that several calls or messages of any ranks were under way */
    uint32_t straggler; /* alone the last to enter most calls in which others waited (ties: the
                           lowest); UINT32_MAX: nobody was */
    uint32_t n_late, n_waited; /* so many, of so many calls that somebody waited in */
} cs_pass_result;

/* Run it. `start_s` [n_ranks]: when each rank begins; NULL: all at 0. CS_EINVAL where ranks wait
 * for each other without end. O(nodes log nodes) and the clock. Some 7 M nodes/s. */
CS_MUST_CHECK cs_status cs_execution_pass(const cs_execution_trace *trace,
                                          const cs_cluster *cluster, const double *start_s,
                                          const cs_call_clock *clock, cs_pass_result *result_p,
                                          cs_error *err);

#endif
