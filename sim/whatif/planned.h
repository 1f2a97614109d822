/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatif/planned.h -- a schedule that was made for one network, run on another.
 *
 * A library that knows of a fault picks its schedule for the network as it knows it; the network
 * may be different by then. `cs_planned` is an algorithm whose schedule comes from another
 * algorithm and another scenario, both in its options; only its replay sees the real scenario.
 */
#ifndef CS_WHATIF_PLANNED_H
#define CS_WHATIF_PLANNED_H

#include "cs/algorithm.h"

/* The options of cs_planned; everything is borrowed. */
typedef struct cs_planned_options {
    const cs_algorithm *algorithm;
    const cs_scenario  *scenario; /* what the schedule is made for */
    cs_options         *options;  /* of `algorithm`, as given; check() resolves them */
} cs_planned_options;

extern const cs_algorithm cs_planned;

#endif
