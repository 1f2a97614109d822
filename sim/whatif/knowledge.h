/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatif/knowledge.h -- what a policy that profiles knows of the NICs, and which schedule it has.
 *
 * A profile sees the rates of the moment at which it begins; nothing else tells the policy of a
 * change. The schedule is made for these rates. Where its algorithm refuses them, it is made for
 * the rates relative to the second fastest server (OptCC wants two servers that are not slow), and
 * where it refuses these, too, the job's schedule runs. A profile stops the job for as long as its
 * probes take, and for the time to set up another schedule where the schedule has changed.
 */
#ifndef CS_WHATIF_KNOWLEDGE_H
#define CS_WHATIF_KNOWLEDGE_H

#include "whatif/call.h"

typedef struct cs_knowledge {
    const cs_whatif_job    *job;
    const cs_timeline      *timeline; /* with a history for every server */
    cs_caller              *caller;
    const cs_whatif_policy *policy;
    double                 *seen;     /* [n_histories] slowdowns at the last profile */
    double                 *plan;     /* [n_histories] what the schedule is made for */
    bool                   *left_out; /* [n_histories] servers that were excluded then */
    const uint32_t         *missing;  /* who was missing then */
    bool                    is_taken; /* there was a profile */
    double                  probes_s; /* how long its probes took; NAN: nobody has asked */
    bool                    has_plan; /* false: the algorithm refuses */
    uint64_t                hash;     /* of the schedule */
    cs_error                refusal;  /* the first one */
} cs_knowledge;

/* Make room; what the members point to is the arena's. Knows nothing before the first profile. */
CS_MUST_CHECK cs_status cs_knowledge_open(cs_knowledge *knowledge, cs_arena *arena, cs_error *err);

/* Take a profile of those who are there: how long the probes take (NULL: nobody waits
 * for them), and is the schedule another one? Refuses probes that cannot be replayed. */
CS_MUST_CHECK cs_status cs_knowledge_take(cs_knowledge *knowledge, double now_s,
                                          const cs_members *members, double *probes_s_p,
                                          bool *is_other_p, cs_error *err);

/* Does the policy's schedule change when a server's NICs are slow? Tried are the first and the last
 * server at several rates. */
CS_MUST_CHECK cs_status cs_knowledge_matters(const cs_knowledge *knowledge,
                                             const cs_members *members, bool *matters_p,
                                             cs_error *err);

#endif
