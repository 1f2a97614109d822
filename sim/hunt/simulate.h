/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hunt/simulate.h -- many hunts after suspects that are known, to see how often they are found, and
 * in how many rounds.
 */
#ifndef CS_HUNT_SIMULATE_H
#define CS_HUNT_SIMULATE_H

#include "base/listener.h"
#include "hunt/belief.h"

/* What is hidden in every hunt: `bad` different suspects drawn anew, of one kind or of any; a run
 * that one of them takes part in loses `effect` of its bandwidth, and rows and runs have
 * noise of a normal logarithm. */
typedef struct cs_hunt_planted {
    uint32_t        bad;
    double          effect, noise; /* of a row */
    double          run_noise;     /* that all rows of a run share */
    bool            is_any;        /* nodes, NICs or rails, each as likely; else `kind` */
    cs_suspect_kind kind;
} cs_hunt_planted;

typedef struct cs_hunt_tally {
    uint64_t hunts, right, wrong, unsure;        /* unsure: not done after all rounds */
    uint64_t rounds[CS_HUNT_MAX_ROUNDS + 1];     /* hunts that took so many */
    double   mean_rounds, mean_runs, mean_hosts; /* hosts: that take part in a round */
    uint32_t most_rounds;
    uint64_t most_runs;
} cs_hunt_tally;

/* Draw what is planted in hunt `index`: the same for the same seed. `planted_p` has room. */
cs_status cs_hunt_draw(const cs_hunt *like, const cs_hunt_planted *planted, uint64_t seed,
                       uint64_t index, cs_suspect *planted_p, cs_error *err);

/* Hunt as `like` (which has no rounds), `hunts` times, each at most `most_rounds` rounds. The
 * listener, who may be NULL, is told how many are done. */
CS_MUST_CHECK cs_status cs_hunt_simulate(const cs_hunt *like, const cs_hunt_planted *planted,
                                         uint64_t hunts, uint32_t most_rounds, uint64_t seed,
                                         const cs_listener *listener, cs_hunt_tally *tally_p,
                                         cs_error *err);

#endif
