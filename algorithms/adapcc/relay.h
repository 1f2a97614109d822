/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/adapcc/relay.h -- AdapCC's coordinator: when a collective starts, with whom, and who
 * is given up.
 *
 * Workers tell the coordinator that their tensors are ready. Every cycle (5 ms) from the first one
 * on it decides: start with all of them, start with those that are ready (phase 1; the others relay
 * for them), or wait. Waiting costs what the clock says; starting early costs phase 1 among k
 * workers, and one broadcast for each of the others (phase 2). It is a ski rental: wait until the
 * waiting has cost as much as the start.
 *
 * The coordinator is a state with no clock of its own: it is told events with their times and
 * answers with orders, so that a computation on paper and a simulator can drive the same one.
 * Telling costs O(1), but O(N) where phase 1 starts or ends and at the deadline; memory is
 * allocated by cs_relay_init() only.
 *
 * Source: AdapCC, section IV-C, and its released coordinator; where they differ, `rule` and
 * `volumes` choose (sim/doc/adapcc.md).
 */
#ifndef CS_ALGORITHMS_ADAPCC_RELAY_H
#define CS_ALGORITHMS_ADAPCC_RELAY_H

#include "algorithms/adapcc/strategy.h"

/* When enough has been waited. LITERAL: as long as the start costs (the paper). PREMIUM: as much as
 * the start costs more than a collective of all, or longer than the cap (the code). */
typedef enum cs_relay_rule { CS_RELAY_LITERAL, CS_RELAY_PREMIUM } cs_relay_rule;

/* What a start with k workers costs: phase 1 and N - k broadcasts (the paper), or T_full (k - 1) /
 * k N / (N - 1) + N s / B (the code). */
typedef enum cs_relay_volumes { CS_RELAY_PAPER, CS_RELAY_CODE } cs_relay_volumes;

#define CS_RELAY_CYCLE_S      5e-3
#define CS_RELAY_CAP_S        0.1
#define CS_RELAY_FAULT_FACTOR 5.0

typedef struct cs_relay_setting {
    cs_collective    collective;
    uint32_t         n_ranks;  /* N >= 2 */
    double           bytes;    /* s > 0: the tensor of one worker */
    double           rate_Bps; /* B > 0: of all distinct links of the trees together */
    cs_relay_rule    rule;
    cs_relay_volumes volumes;
    bool             one_starts;   /* may a single worker start? */
    double           cycle_s;      /* > 0 */
    double           cap_s;        /* of PREMIUM */
    double           fault_factor; /* the deadline is so many times phase 1's end since t0 later */
} cs_relay_setting;

/* An AllReduce by the paper, or by the rule with its own volumes; with the constants above. */
cs_relay_setting cs_relay_setting_of(cs_relay_rule rule, uint32_t n_ranks, double bytes,
                                     double rate_Bps);

/* B of the trees on a topology that they fit: the rates of all links that they use in the
 * directions of the collective, added up; each link once, and one for all flows of a pair of NICs.
 * Fails with CS_ENOMEM alone. O(E log E) for E edges of all trees. */
CS_MUST_CHECK cs_status cs_relay_rate(const cs_strategy *strategy, const cs_logical *logical,
                                      cs_collective collective, double *rate_Bps_p, cs_error *err);

/* What k workers move in phase 1: 2 (k - 1) s for AllReduce, k s for AlltoAll, s for Broadcast,
 * (k - 1) s for the others, which the paper does not give. O(1), as all up to the first tick. */
double cs_relay_volume_bytes(const cs_relay_setting *setting, uint32_t k);

/* Phase 1 with k workers; T_full is that of all N. */
double cs_relay_phase1_s(const cs_relay_setting *setting, uint32_t k);

/* What a start with k < N workers costs by the setting's volumes. */
double cs_relay_buy_s(const cs_relay_setting *setting, uint32_t k);

/* How long k < N workers wait for the others by the rule, but for the cap: what a start costs, or
 * the premium, which may be none. */
double cs_relay_patience_s(const cs_relay_setting *setting, uint32_t k);

/* The first tick, counted from 0 at t0, at which a start is allowed while k workers are ready: 0
 * for k = N, INFINITY where k never starts. */
double cs_relay_first_tick(const cs_relay_setting *setting, uint32_t k);

/* The samples of a step that worker `index` of `n_workers` takes, so that there are `batch` of them
 * whoever is left: the first batch mod n_workers take one more. */
uint64_t cs_relay_batch_of(uint64_t batch, uint32_t n_workers, uint32_t index);

/* ---- the coordinator ---- */

typedef enum cs_relay_state {
    CS_RELAY_IDLE,   /* nobody is ready */
    CS_RELAY_WAIT,   /* somebody is */
    CS_RELAY_PHASE1, /* the active workers communicate */
    CS_RELAY_PHASE2, /* the others' tensors are broadcast as they come */
    CS_RELAY_DONE,
} cs_relay_state;

typedef enum cs_relay_worker {
    CS_WORKER_NOT_READY,
    CS_WORKER_READY,  /* and phase 1 has not started */
    CS_WORKER_ACTIVE, /* its tensor is in phase 1 */
    CS_WORKER_RELAY,  /* it relays, and is not ready */
    CS_WORKER_JOINED, /* it became ready in phase 1 */
    CS_WORKER_SENDS,  /* what phase 1 lacks of it is being broadcast */
    CS_WORKER_DONE,   /* ... has been */
    CS_WORKER_FAULTY, /* it was not ready at the deadline */
} cs_relay_worker;

/* What the coordinator is told. Of events of the same time a READY comes first and the DEADLINE
 * last. */
typedef enum cs_relay_event {
    CS_RELAY_IS_READY,       /* the message of worker `rank` has arrived */
    CS_RELAY_TICK,           /* when it was asked for; before it, nothing happens */
    CS_RELAY_PHASE1_ENDS,    /* the result is everywhere */
    CS_RELAY_BROADCAST_ENDS, /* of worker `rank`, everywhere */
    CS_RELAY_DEADLINE,       /* the same */
} cs_relay_event;

/* What it answers. */
typedef enum cs_relay_verb {
    CS_RELAY_WAKE,      /* tell me a TICK at time_s; replaces the WAKE before */
    CS_RELAY_START,     /* phase 1, of all workers that are ACTIVE now */
    CS_RELAY_JOIN,      /* `rank` adds its data from the next chunks on */
    CS_RELAY_BROADCAST, /* what phase 1 lacks of `rank`, from now on */
    CS_RELAY_WATCH,     /* tell me the DEADLINE at time_s */
    CS_RELAY_EXCLUDE,   /* `rank` leaves the training */
    CS_RELAY_FINISH,    /* the collective is done */
} cs_relay_verb;

typedef struct cs_relay_order {
    cs_relay_verb verb;
    uint32_t      rank;
    double        time_s;
} cs_relay_order;

typedef struct cs_relay {
    cs_relay_setting setting;
    cs_relay_state   state;
    cs_relay_worker *workers;    /* [N]; owned */
    cs_relay_order  *orders;     /* the answer to the last event; owned */
    size_t           n_orders;   /* <= N + 1 */
    uint32_t         n_ready;    /* before phase 1 */
    uint32_t         n_active;   /* in it */
    uint32_t         n_open;     /* relays whose tensors are not everywhere yet */
    double           first_s;    /* t0: the first worker is ready */
    double           wake_tick;  /* phase 1 starts then, or when others are ready */
    double           wake_s;     /* its time */
    double           deadline_s; /* INFINITY: there is none */
} cs_relay;

/* Refuse what is out of range. */
CS_MUST_CHECK cs_status cs_relay_check(const cs_relay_setting *setting, cs_error *err);

/* A coordinator in IDLE, of a setting that was checked. On failure nothing is owned. */
CS_MUST_CHECK cs_status cs_relay_init(cs_relay *relay, const cs_relay_setting *setting,
                                      cs_error *err);
void                    cs_relay_free(cs_relay *relay);

/* Tell it an event of `rank` (where the event has one) at `now_s`, not before the last one's time.
 * Its orders replace those before. What is told twice, too late or of the excluded is ignored. */
void cs_relay_tell(cs_relay *relay, cs_relay_event event, uint32_t rank, double now_s);

#endif
