/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/multi_late_rounds.h -- rounds for several late ranks: a greedy generator.
 *
 * Of n labels 0 .. early - 1 have reduced among themselves: chunk c's owner, label c mod
 * early, holds the early ranks' sum of it. The k = n - early late labels have raw data. A
 * chunk becomes complete at its *root*: its owner, or, for a share of the chunks, a late label
 * (with k > n / 4 the receive ports of the early ranks would be the bottleneck else), which
 * collects the other raws and exchanges with the owner.
 *
 * A round: (1) the late labels that have come, the one with most raws left first, send a raw
 * each to a root whose receive port is free, where most are merged already; the one that
 * completes the chunk at its owner exchanges if ports allow. (2) Over the free ports complete
 * chunks spread, the rarest first, to the labels that have the fewest; augmenting paths then make
 * the matching of senders and receivers as large as it can be. One send and one receive per label
 * and round, chunks x (n + k - 1) messages, none redundant.
 *
 * Online: a round uses only who has come by then, so the rounds serve the order of the arrivals and
 * nothing is planned with what is not known yet. A greedy without a guarantee on the number of
 * rounds (at most a few above the lower bound for small k); the result is checked.
 *
 * Source: this project (sim/doc/stragglar.md).
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_MULTI_LATE_ROUNDS_H
#define CS_ALGORITHMS_STRAGGLAR_MULTI_LATE_ROUNDS_H

#include "algorithms/stragglar/label_rounds.h"

typedef struct cs_multi_late_task {
    uint32_t        n;        /* labels; <= CS_MULTI_LATE_MOST_RANKS */
    uint32_t        early;    /* 1 <= early < n */
    uint32_t        parts;    /* chunks per early label, >= 1; chunks = early x parts */
    uint32_t        root_num; /* root_num / root_den of the chunks have a late root, */
    uint32_t        root_den; /* ... spread evenly; root_den >= 1 */
    const uint32_t *arrival;  /* [n - early] round in which a late label is there, or NULL: all 0 */
} cs_multi_late_task;

#define CS_MULTI_LATE_MOST_RANKS 1024u

typedef struct cs_multi_late_rounds {
    cs_label_rounds rounds; /* owned; rounds in which nothing can be sent are left out */
    uint32_t        ticks;  /* rounds that pass, those included */
} cs_multi_late_rounds;

/* Make the rounds; checked, CS_EINTERNAL when they are wrong or nothing goes on. Output only on
 * CS_OK; cs_label_rounds_free() the rounds. Time about rounds x (n x chunks / 64 + k x chunks),
 * memory 2 n x chunks bits and the rounds. */
cs_status cs_multi_late_build(const cs_multi_late_task *task, cs_multi_late_rounds *rounds_p,
                              cs_error *err);

/* No schedule has fewer rounds than this after the last arrival: the last chunk has to leave a
 * late rank and spread, and every port carries one message a round. */
uint32_t cs_multi_late_fewest(uint32_t n, uint32_t early, uint32_t chunks);

/* How long cs_multi_late_build() takes, in steps of about a nanosecond. `early` < n. Measured on n
 * of 8 to 1024, k up to n/2 and up to 5000 chunks per early rank, the time in nanoseconds is
 * between a tenth of the estimate and twice it (four times, seldom): n^2 (n - k) R / 80 for the
 * searches for augmenting paths, 2 k C R for the choice of raws, and C R for the order of the
 * chunks, R being the fewest rounds of C chunks. */
double cs_multi_late_work(uint32_t n, uint32_t early, uint32_t chunks);

/* More is not begun: the rounds of a schedule are made once, and as much again may go into the
 * choice of a shape, so that a run takes about a minute at most. */
#define CS_MULTI_LATE_MOST_WORK 2e10

/* The most parts (chunks per early rank), at least 1, that are within it. O(32). */
uint32_t cs_multi_late_most_parts(uint32_t n, uint32_t early);

#endif
