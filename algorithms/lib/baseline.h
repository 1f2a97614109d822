/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/lib/baseline.h -- the plain AllReduces that wait for every rank, and which of them is
 * the fastest: what schedules for late ranks are compared with, and run instead.
 */
#ifndef CS_ALGORITHMS_LIB_BASELINE_H
#define CS_ALGORITHMS_LIB_BASELINE_H

#include "cs/algorithm.h"

/* X(id, name of the algorithm). From RING on each passes 2 (N-1)/N of the buffer on from every
 * server. */
#define CS_BASELINE_MAP(X)              \
    X(CIRCULANT, circulant)             \
    X(LATENCY_OPTIMAL, latency_optimal) \
    X(MERGED_RHD, merged_rhd)           \
    X(RHD, rhd)                         \
    X(RING, ring)                       \
    X(NCCL_RINGS, nccl_rings)           \
    X(PARALLEL_RINGS, parallel_rings)   \
    X(HIERARCHICAL, hierarchical)

typedef enum cs_baseline {
    CS_BASELINE_AUTO,
#define X(id, name) CS_BASELINE_##id,
    CS_BASELINE_MAP(X)
#undef X
        CS_BASELINE_COUNT
} cs_baseline;
#define CS_BASELINE_CHOICES \
    "auto|circulant|latency_optimal|merged_rhd|rhd|ring|nccl_rings|parallel_rings|hierarchical"

/* A baseline with so many segments (of hierarchical and parallel_rings; the others ignore it). */
typedef struct cs_baseline_choice {
    cs_baseline baseline; /* or CS_BASELINE_AUTO */
    uint32_t    segments; /* or CS_AUTO: of 1 .. 16 the best */
} cs_baseline_choice;

/* Not of CS_BASELINE_AUTO. */
const cs_algorithm *cs_baseline_algorithm(cs_baseline baseline);

/* What cs_baseline_before() has chosen, in words that `--algorithm` and `--opt` take: "ring",
 * "parallel_rings segments=2". Static text. */
const char *cs_baseline_label(const cs_baseline_choice *choice);

/* When a baseline ends where all ranks have one kind of port, on which the rings of servers are the
 * plain ring: predicted; and the one that is predicted to be the fastest. Elsewhere it takes a
 * forecast to know. O(1). */
double      cs_baseline_predicted_s(const cs_scenario *scenario, cs_baseline baseline);
cs_baseline cs_baseline_predicted(const cs_scenario *scenario);

/* When does one of them (*choice_p, or of all, where it is auto) end that ends before `limit_s`?
 * The scenario's forecast decides, or without one the closed forms. If so, *choice_p becomes the
 * fastest; else *end_s_p INFINITY. None is timed that cannot end before, for what the late server's
 * NICs, or the late rank's ports, have to send after the last arrival. Where all ranks have one
 * kind of port, no segments are tried. The first one's refusal is returned when all refuse. */
cs_status cs_baseline_before(const cs_scenario *scenario, double limit_s,
                             cs_baseline_choice *choice_p, double *end_s_p, cs_error *err);

#endif
