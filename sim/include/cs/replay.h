/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/replay.h -- run one schedule over one network model, and check it on the way. */
#ifndef CS_REPLAY_H
#define CS_REPLAY_H

#include "cs/algorithm.h"
#include "cs/model.h"

/* Can the scenario be run, with these options of the algorithm and the model? Replaces every "auto"
 * in `options` by what is used and fills the plan. An algorithm that chooses among schedules has
 * them replayed on the model, where no closed form is exact. The algorithm's refusal comes first.
 * O(check of both), and of the replays. */
CS_API CS_MUST_CHECK cs_status cs_resolve(const cs_scenario  *scenario,
                                          const cs_algorithm *algorithm, void *options,
                                          const cs_model *model, const void *model_options,
                                          cs_plan *plan, cs_error *err);

/* Somebody who wants to see every transfer with its times (timeline, port statistics,
 * critical path). Called once per block, in stream order; both arrays are borrowed during
 * the call. */
typedef struct cs_observer {
    cs_status (*block)(void *user, const cs_block *block, const cs_interval *intervals,
                       cs_error *err);
    void *user;
} cs_observer;

typedef struct cs_replay_request {
    const cs_scenario  *scenario; /* checked */
    const cs_algorithm *algorithm;
    const void         *options; /* of the algorithm, as check() left them */
    const cs_plan      *plan;    /* ... and the plan that it filled */
    const cs_model     *model;
    const void         *model_options;
    bool                verify;
    const cs_observer  *observers; /* n_observers of them; NULL: none */
    size_t              n_observers;

    /* Optional. Over a network model, once the transfers have been counted and before the first of
     * them is under way: so many there will be. */
    void (*counted)(void *user, const struct cs_replay_request *request, uint64_t n_transfers);
    void *counted_user;
} cs_replay_request;

/* What is wrong with a schedule; `is_correct` when nothing is. */
typedef struct cs_verdict {
    bool     is_correct;
    bool     is_located; /* rank, chunk and round are known */
    uint32_t rank, chunk, round;
    char     text[200]; /* one sentence */
} cs_verdict;

typedef struct cs_outcome {
    double     elapsed_s;   /* last completion - first arrival */
    double     exposed_s;   /* last completion - last arrival */
    uint64_t   n_transfers; /* messages on the wire: an exchange counts as two */
    uint64_t   wire_bytes;
    bool       verified; /* checked, and correct */
    cs_verdict verdict;  /* when it was checked */
} cs_outcome;

/* Replay. O(transfers) time, O(n_ranks * n_slots) memory. CS_OK also when the schedule is
 * wrong: look at outcome_p->verdict. */
CS_API CS_MUST_CHECK cs_status cs_replay(const cs_replay_request *request, cs_outcome *outcome_p,
                                         cs_error *err);

/* How fast this machine replays the request, without verification and observers: measured on its
 * first transfers, of which ever more are taken until that would last longer than `most_s`. Good to
 * a factor of two where the schedule goes on as it begins. */
typedef struct cs_replay_pace {
    uint64_t n_transfers; /* that were replayed */
    double   time_s;      /* which took so long */
} cs_replay_pace;
CS_API CS_MUST_CHECK cs_status cs_replay_measure(const cs_replay_request *request, double most_s,
                                                 cs_replay_pace *pace_p, cs_error *err);

/* Check a schedule without any network model. */
CS_API CS_MUST_CHECK cs_status cs_verify(const cs_scenario *scenario, const cs_algorithm *algorithm,
                                         const void *options, const cs_plan *plan,
                                         cs_verdict *verdict_p, cs_error *err);

#endif
