/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/lib/fallback.h -- another algorithm, with its default options, in the place of the
 * one that was asked for, where that has nothing to do or would be slower. One that has an option
 * `chosen` is told to run itself.
 */
#ifndef CS_ALGORITHMS_LIB_FALLBACK_H
#define CS_ALGORITHMS_LIB_FALLBACK_H

#include "cs/algorithm.h"

/* The rings that run where there is nothing to go around. */
enum { CS_RINGS = 3 };
#define CS_RINGS_CHOICES "ring|nccl_rings|parallel_rings"
extern const cs_algorithm *const cs_rings[CS_RINGS];

/* The note of a plan for each of them, e.g. CS_RINGS_NOTES("optcc", "no NIC is slow"). */
#define CS_RINGS_NOTES(algorithm, why)                                                      \
    {                                                                                       \
        algorithm ": ring runs instead: " why, algorithm ": nccl_rings runs instead: " why, \
            algorithm ": parallel_rings runs instead: " why,                                \
    }

/* Which of several algorithms ends first on the scenario, as its forecast says, or without one the
 * closed forms of alpha-beta; the first of equal ones. `*elapsed_s_p` is INFINITY where nobody
 * knows; NULL where nobody asks, and then a single algorithm is not timed. Those that refuse the
 * scenario are left out; the first one's refusal is returned when all do. At most one replay for
 * each. */
cs_status cs_fastest(const cs_scenario *scenario, const cs_algorithm *const *algorithms, uint32_t n,
                     uint32_t *fastest_p, double *elapsed_s_p, cs_error *err);

/* The fastest of the rings. With one GPU per server all three are the same ring. */
cs_status cs_fastest_ring(const cs_scenario *scenario, uint32_t *ring_p, double *elapsed_s_p,
                          cs_error *err);

/* Plan a ring: the one that `*chosen_p` asks for, which is `first` and a number of cs_rings, or the
 * fastest, whose number is put there. `notes` are CS_RINGS_NOTES() for a ring that nobody asked
 * for. */
cs_status cs_ring_instead(const cs_scenario *scenario, int first, const char *const *notes,
                          int *chosen_p, cs_plan *plan, cs_error *err);

/* An option that another algorithm is given, where it has one of that name: a number, or which of
 * its choices. {0}: none. */
typedef struct cs_fallback_option {
    const char *name;
    uint32_t    value;
} cs_fallback_option;

/* Plan, time (as cs_fastest() says) and closed form of an algorithm with its default options, but
 * for that one. */
cs_status cs_fallback_check(const cs_algorithm *algorithm, cs_fallback_option option,
                            const cs_scenario *scenario, cs_plan *plan, cs_error *err);
cs_status cs_fallback_elapsed_s(const cs_algorithm *algorithm, cs_fallback_option option,
                                const cs_scenario *scenario, double *elapsed_s_p, cs_error *err);
double    cs_fallback_closed_form_s(const cs_algorithm *algorithm, cs_fallback_option option,
                                    const cs_scenario *scenario);

/* What it is then: for those who keep it from their check() to their streams (cs_plan.prepared), as
 * what it has chosen by a forecast cannot be found without one. The caller frees it. */
typedef struct cs_fallback_plan {
    const cs_algorithm *algorithm;
    cs_options          options;
    cs_plan             plan;
} cs_fallback_plan;
cs_status cs_fallback_prepare(const cs_algorithm *algorithm, cs_fallback_option option,
                              const cs_scenario *scenario, cs_fallback_plan *prepared,
                              cs_error *err);
void      cs_fallback_release(cs_fallback_plan *prepared);

/* Has it an option `segments`? */
bool cs_has_segments(const cs_algorithm *algorithm);

/* Its stream. `{0}` may be closed. */
typedef struct cs_fallback {
    cs_fallback_option  option;    /* set before it is opened */
    const cs_algorithm *algorithm; /* NULL: none is open */
    cs_plan             plan;      /* with what it keeps for its stream */
    void               *state;
} cs_fallback;

cs_status cs_fallback_open_prepared(cs_fallback *fallback, const cs_fallback_plan *prepared,
                                    const cs_scenario *scenario, cs_error *err);
cs_status cs_fallback_open(cs_fallback *fallback, const cs_algorithm *algorithm,
                           const cs_scenario *scenario, cs_error *err);
void      cs_fallback_next(cs_fallback *fallback, cs_block *block);
void      cs_fallback_close(cs_fallback *fallback);

#endif
