/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/lib/accept.h -- what most algorithms check, and when a closed form holds. */
#ifndef CS_ALGORITHMS_LIB_ACCEPT_H
#define CS_ALGORITHMS_LIB_ACCEPT_H

#include "base/log2.h"
#include "cs/algorithm.h"

/* Slots of a rank at the most: CS_MAX_SLOTS, and 2^30 of all ranks (8 GiB of ready times). */
uint64_t cs_most_slots(uint32_t n_ranks);

/* Refuse schedules that would need more slots than that. */
cs_status cs_accept_slots(const cs_scenario *scenario, const char *algorithm, uint64_t n_slots,
                          cs_error *err);

/* Refuse an AlltoAll of so many ranks that the fingerprints of its n^2 blocks would not fit into
 * memory (16 bytes each): more than CS_MOST_PAIRED ranks. */
enum { CS_MOST_PAIRED = 8192 };
cs_status cs_accept_pairs(const cs_scenario *scenario, const char *algorithm, cs_error *err);

/* Refuse single NICs that are slower than others of their server, for schedules that divide what
 * passes a server evenly among its NICs by how slow it is. O(steps). */
cs_status cs_accept_even_servers(const cs_scenario *scenario, const char *algorithm, cs_error *err);

/* Refuse GPUs that are cut off, for schedules that need every NIC. O(steps). */
cs_status cs_accept_all_nics(const cs_scenario *scenario, const char *algorithm, cs_error *err);

/* CS_USES_NVLINK where the cluster has more than one GPU per server, else 0. */
uint32_t cs_uses_nvlink(const cs_cluster *cluster);

/* Do all pairs talk over ports of one kind: one GPU per server, or one server? */
bool cs_one_port_kind(const cs_cluster *cluster);

/* All transfers cost the same per byte and start-up: one fabric serves every pair (its number
 * is written to `fabric_p`), and no NIC on it is ever slow. */
bool cs_is_uniform(const cs_scenario *scenario, uint32_t *fabric_p);

/* alpha + bytes / rate on a fabric of the cluster. */
double cs_message_s(const cs_scenario *scenario, uint32_t fabric, uint64_t bytes);

/* The largest slowdown of the NICs where none changes; 1 where some do. O(steps). */
double cs_largest_slowdown(const cs_scenario *scenario);

/* What rounds take in which every rank sends and receives a message, all of one size. */
typedef struct cs_pace {
    double start_s; /* the first round begins: at the last arrival */
    double alpha_s;
    double s_per_byte;
} cs_pace;

/* The start-up and rate of the NICs, or NVLink's where all ranks are in one server; of the slowest
 * NIC of all, if it is slow for ever. For predictions; it does not say whether they hold. */
cs_pace cs_usual_pace(const cs_scenario *scenario);

/* Does a pace hold for such rounds of a buffer in `n_chunks` equal parts? A rank that is late or
 * whose NIC is slow takes part in every round, so that all are as late or as slow in the end. False
 * where chunks differ, ranks are late and slow, a NIC's rate changes, or pairs differ. */
bool cs_pace_of_rounds(const cs_scenario *scenario, uint32_t n_chunks, cs_pace *pace);

#endif
