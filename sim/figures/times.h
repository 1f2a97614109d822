/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figures/times.h -- all algorithms of the StragglAR paper at one number of ranks, and the
 * reference numbers for them.
 *
 * Times are after the last arrival. `best` is with the delay that just hides the whole
 * pre-phase, `worst` without any delay.
 */
#ifndef CS_FIGURES_TIMES_H
#define CS_FIGURES_TIMES_H

#include "figures/point.h"

typedef struct cs_figure_times {
    uint32_t n_ranks;
    uint32_t rounds; /* StragglAR's main phase */
    double   ring_s, rhd_s, allpairs_s;
    double   broadcast_best_s, broadcast_worst_s;
    double   best_s, worst_s; /* StragglAR */
    double   ideal_delay_s;   /* T_RS */
    double   critical_s;      /* the delay from which StragglAR beats the ring: worst - ring */
    bool     is_replayed;     /* StragglAR; the others always are */
} cs_figure_times;

/* Replay what there is a schedule for, and take StragglAR from the formula with
 * n - 2 + ceil(log2 n) rounds where there is none yet. The checks of cs_figure_replay() are
 * added for all of them. */
CS_MUST_CHECK cs_status cs_figure_times_of(cs_figure_data *data, const cs_figure_machine *machine,
                                           uint32_t n_ranks, uint64_t bytes,
                                           cs_figure_times *times_p, cs_error *err);

/* Rounds of the schedules that the paper publishes for other n than powers of two. */
typedef struct cs_figure_published {
    uint32_t n_ranks, rounds;
} cs_figure_published;

enum { CS_N_PUBLISHED = 6 };
extern const cs_figure_published cs_figure_published_rounds[CS_N_PUBLISHED];

/* The published rounds at n, or 0. */
uint32_t cs_figure_published_at(uint32_t n_ranks);

/* StragglAR's times with the published rounds; NAN where none are published. */
typedef struct cs_figure_published_times {
    double best_s, worst_s, critical_s;
} cs_figure_published_times;
/* By formula. */
cs_figure_published_times cs_figure_published_times_of(const cs_figure_machine *machine,
                                                       uint32_t n_ranks, uint64_t bytes);

/* One row of reference numbers: 1 GiB, alpha 3 us, 450 GB/s, milliseconds, six digits. */
typedef struct cs_figure_reference {
    uint32_t n_ranks, rounds;
    double   ring_ms, rhd_ms, best_ms, worst_ms, broadcast_best_ms, broadcast_worst_ms, allpairs_ms;
    double   ideal_delay_ms, critical_ms, simplified_ms, speedup;
} cs_figure_reference;

/* The row for n, or NULL. */
CS_API const cs_figure_reference *cs_figure_reference_at(uint32_t n_ranks);

/* Compare with a row: eleven checks. */
CS_API void cs_figure_check_times(cs_figure_data *data, const cs_figure_times *times,
                                  const cs_figure_reference *row);
/* Compare with the reference numbers for the published rounds at n, if there are any. */
void cs_figure_check_published(cs_figure_data *data, const cs_figure_times *times,
                               const cs_figure_published_times *published);

/* 1 GiB, the buffer of these numbers. */
#define CS_FIGURE_GIB (UINT64_C(1) << 30)

#endif
