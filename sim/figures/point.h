/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figures/point.h -- one collective of a figure: by formula, and by replay, which must agree.
 *
 * Formulas know equal chunks only. A replay therefore takes the buffer nearest to the wanted
 * one that splits evenly (for 1 GiB it is at most 128 bytes away), at the bandwidth at which this
 * one takes the same time. What an odd byte costs is left out here, and only here.
 */
#ifndef CS_FIGURES_POINT_H
#define CS_FIGURES_POINT_H

#include "cs/result.h"
#include "figures/figures.h"

/* The machine: every rank has one port. */
typedef struct cs_figure_machine {
    double alpha_s, bandwidth_Bps;
} cs_figure_machine;

/* What the StragglAR paper simulates: the NVLink of an H100. */
extern const cs_figure_machine cs_figure_h100;

enum { CS_MAX_SLOW = 4 };

typedef struct cs_figure_point {
    const char       *algorithm;
    cs_collective     collective; /* 0 is AllReduce */
    cs_figure_machine machine;
    uint32_t          n_ranks;
    uint64_t          bytes;
    double            delay_s;    /* of the last rank */
    uint32_t          n_slow;     /* ranks 0 .. n_slow - 1 have slow NICs; at most CS_MAX_SLOW */
    double            slow_ratio; /* ... by this */
    cs_observer       observer;   /* sees the replay; {0}: nobody */
} cs_figure_point;

/* Seconds that the whole buffer takes on one port. */
double cs_figure_buffer_s(const cs_figure_machine *machine, uint64_t bytes);

/* The time from the first arrival on by the formulas of analytic/formula.h; NAN where there is
 * none. */
double cs_figure_formula_s(const cs_figure_point *point);

/* Whether the program has a schedule for it. */
bool cs_figure_has_schedule(const cs_figure_point *point);

/* Run it, and add checks: the schedule is correct (for at most 256 ranks), the time is that of
 * the formula, where there is one, and no lower bound is above it. */
CS_MUST_CHECK cs_status cs_figure_replay(cs_figure_data *data, const cs_figure_point *point,
                                         cs_result *result_p, cs_error *err);

#endif
