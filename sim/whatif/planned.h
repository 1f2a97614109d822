/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatif/planned.h -- a schedule that was made for one network, run on another.
 *
 * A library that knows of a fault picks its schedule for the network as it knows it; the network
 * may be different by then. `cs_planned` is an algorithm whose schedule is that of another job, in
 * its options; only its replay sees the real scenario.
 */
#ifndef CS_WHATIF_PLANNED_H
#define CS_WHATIF_PLANNED_H

#include "cs/job.h"

/* The options of cs_planned: the job whose schedule it is. Borrowed: check() resolves it, its owner
 * releases it. */
typedef struct cs_planned_options {
    cs_job *job;
} cs_planned_options;

extern const cs_algorithm cs_planned;

#endif
