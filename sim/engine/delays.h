/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine/delays.h -- how late a rank must be for an algorithm that presumes it late.
 *
 * The delay d is that of the late rank after the last of the others; of several late ranks that of
 * the first, which the rest follow as in the scenario. e(d) is the exposed time (from the last
 * arrival on), with the options as they were asked for: `auto` is chosen anew for every d.
 *
 * The critical delay is the smallest d from which on the algorithm is faster than its reference.
 *
 * The ideal delay is the smallest d from which on e(d) is what it is for ever: the pre-phase is
 * hidden, and nothing more is gained. Where a schedule is searched for the arrivals at hand, it is
 * that of the schedule with as many late ranks and chunks as it has for long delays.
 *
 * These are the definitions of the StragglAR paper (appendix B), whose reference is the ring; there
 * T_pre + T_main - T_ring and T_pre. That is the reference here, too, where all ranks have one kind
 * of port. It is the fastest baseline (algorithms/lib/baseline.h, with its best number of segments)
 * on servers of several GPUs, and wherever the algorithm itself runs one of them when nobody is
 * late: there the critical delay is that from which on it runs its own schedule. Baselines are
 * compared as that algorithm compares them, anew for every delay.
 *
 * How. A schedule whose options do not depend on d, on a port model with constant rates, is a
 * (max, +) system: e(d) = max(A - d, B) with A = e(0) and B = e(infinity), so two replays say all,
 * and the delays are A - B and A - B_ring. Otherwise the search goes down from where the algorithm
 * is faster. A later arrival makes no schedule end earlier, nor e(d) longer; so if it is faster
 * at d by g, it is faster down to d - g. Steps of g end at the largest crossing, however many there
 * are; to 1e-6 relative. After 64 of them, and where rates change over time, so that this does not
 * hold, the range (up to the last change and two AllReduces) is looked at in 64 equal parts, the
 * last crossing is bisected, and two crossings within one part may be passed over.
 *
 * Where rates hold, what was timed with two delays is known for all others: no schedule that does
 * not depend on the arrivals is replayed more than two or three times, whoever asks for it. Margins
 * are lines in pieces, so that a crossing is mostly found by four looks; where it is a jump, by
 * halving.
 *
 * Cost: closed forms where they are exact. Else two replays of the algorithm and of every
 * reference; with options to be chosen 10 to 30 looks more, with rates that change about 200.
 *
 * Source: "Efficient AllReduce with Stragglers" (StragglAR), appendix B; the search is this
 * project's (sim/doc/stragglar.md).
 */
#ifndef CS_ENGINE_DELAYS_H
#define CS_ENGINE_DELAYS_H

#include "cs/job.h"

typedef struct cs_delays {
    double      critical_s; /* INFINITY: never faster; NAN: not known */
    double      ideal_s;    /* INFINITY: nothing is ever gained; NAN: not known */
    const char *reference;  /* the name of the algorithm that it is compared with, the fastest one
                               at the critical delay, with what is not a default: "parallel_rings
                               segments=2"; NULL: nobody is presumed late */
} cs_delays;

typedef struct cs_delays_choice {
    const cs_algorithm *against; /* the reference, with its default options; NULL: as above */
    bool                is_against_best; /* the fastest baseline, in any case */
    uint64_t most_transfers; /* of a replay, about; on a model with an event queue a 64th; on
                                simulators in a process of their own, and where a cheaper model
                                forecasts, none. What would take more is not known. 0: any */
} cs_delays_choice;

/* The delays of a job that is not resolved. Nothing is known of an algorithm that presumes nobody.
 * Fails as a replay does, and where the algorithm or `against` refuses the scenario with some
 * delay. */
CS_MUST_CHECK cs_status cs_job_delays(const cs_job *job, const cs_delays_choice *choice,
                                      cs_delays *delays_p, cs_error *err);

void cs_result_set_delays(cs_result *result, const cs_delays *delays);

/* Put them into the result of the job, which is not resolved; NAN and NULL where that is refused,
 * or would take long beside the replay that gave the result (`collsim critical` takes the time). */
CS_MUST_CHECK cs_status cs_result_add_delays(const cs_job *job, cs_result *result, cs_error *err);

#endif
