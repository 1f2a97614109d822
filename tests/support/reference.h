/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/support/reference.h -- when does every transfer of a recorded schedule start and end on
 * alpha-beta or LogGP? Written from the rules in cs/schedule.h, cs/cluster.h and at the heads of
 * the models alone: ports found by (fabric, rank, peer), rates integrated from the list of faults,
 * barriers from the ends of all messages before. */
#ifndef CT_SUPPORT_REFERENCE_H
#define CT_SUPPORT_REFERENCE_H

#include "support/stream.h"

typedef struct ct_times {
    cs_interval *intervals; /* owned, one per transfer */
    double       end_s;     /* the last end, or a fence or arrival behind it */
} ct_times;

/* The model: `{0}` is alpha-beta. */
typedef struct ct_rules {
    bool   is_loggp;
    double overhead_s, gap_s; /* of LogGP */
    double message_gap_s;
    bool   queues_senders;   /* alpha-beta whose messages are handed over to their sending ports,
                                which queue them, and end `latency_s` after they have left these */
    bool   shares_receivers; /* ... and receiving ports take any number of them at once */
    double latency_s;
} ct_rules;

/* Alpha-beta, or LogGP with an overhead that the cluster's alphas allow, with gaps that are about
 * as long as they are, or none. */
ct_rules ct_rules_random(const cs_cluster *cluster, ct_rng *rng, bool is_loggp);

/* The model of collsim that has these rules, with its options. */
typedef struct ct_model {
    const cs_model *model;
    cs_options      options;
} ct_model;
ct_model ct_model_of(const ct_rules *rules);

ct_times ct_reference(const cs_scenario *scenario, const cs_plan *plan, const ct_stream *stream,
                      ct_rules rules);
void     ct_times_free(ct_times *times);

/* Are two intervals of a run that takes so long the same but for rounding? */
bool ct_same_interval(cs_interval a, cs_interval b, double elapsed_s);

/* When `bytes` that start to flow over the NICs of two ranks at `from_s` are through. */
double ct_flow_end_s(const cs_scenario *scenario, uint32_t src, uint32_t dst, double from_s,
                     double bytes);

#endif
