/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/adapcc/relay_times.h -- the coordinator on paper: what it decides for given ready
 * times, and when all is done on a network that moves B bytes per second.
 *
 * Phase 1 of k workers takes V(k) / B. A relay that becomes ready in phase 1 joins every tree at
 * the next chunk, where it receives there (behaviour.h) or is announced; chunks start at an even
 * pace, everywhere at once. What is lacking of a tensor is broadcast, from phase 1's end on or from
 * when the worker is ready; broadcasts at the same time share B evenly.
 */
#ifndef CS_ALGORITHMS_ADAPCC_RELAY_TIMES_H
#define CS_ALGORITHMS_ADAPCC_RELAY_TIMES_H

#include "algorithms/adapcc/behaviour.h"
#include "algorithms/adapcc/relay.h"

typedef struct cs_relay_case {
    cs_relay_setting   setting;
    const double      *ready_s;  /* [N]; INFINITY: it never comes. Borrowed */
    double             rpc_s;    /* from a worker to the coordinator, and back */
    const cs_strategy *strategy; /* with sizes; NULL: a tree where every rank can join. Borrowed */
    double             chunk_bytes; /* of this tree; 0: nobody joins phase 1 */
    bool               announces;   /* relays that do not receive in a tree join it, too: from
                                       when the answer to their message is there */
} cs_relay_case;

/* One worker. What it does not have is NAN. */
typedef struct cs_relay_worker_times {
    cs_relay_worker role;          /* at the end: ACTIVE, DONE or FAULTY */
    double          joined_s;      /* it was ready while phase 1 ran */
    double          missing_bytes; /* what phase 1 lacks of its tensor; 0 of the active */
    double          from_s, to_s;  /* its broadcast */
} cs_relay_worker_times;

typedef struct cs_relay_times {
    double   first_s;   /* the first message arrives, t0 */
    double   ticks;     /* the tick of the decision, from 0 at t0 */
    double   decided_s; /* its time */
    uint32_t n_active, n_faulty;
    double   phase1_from_s, phase1_end_s;
    double   deadline_s; /* NAN: nobody is waited for */
    double   end_s;
    double   wait_all_s;            /* the end where all are waited for instead; INFINITY: never */
    cs_relay_worker_times *workers; /* [N]; owned */
    cs_behaviour          *behaviours; /* [n_trees][N] in phase 1, without those who join; owned */
} cs_relay_times;

/* Refused: what cs_relay_check() refuses, negative times, a strategy over another number of ranks,
 * and ready times with which the coordinator waits for ever. O(N (log N + trees)). On failure
 * nothing is owned. */
CS_MUST_CHECK cs_status cs_relay_times_of(const cs_relay_case *c, cs_relay_times *times,
                                          cs_error *err);
void                    cs_relay_times_free(cs_relay_times *times);

/* How many messages have arrived by tick `tick` of the waiting? O(N). */
uint32_t cs_relay_ready_at(const cs_relay_case *c, const cs_relay_times *times, double tick);

#endif
