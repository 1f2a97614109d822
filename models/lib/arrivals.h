/* SPDX-License-Identifier: GPL-3.0-or-later */
/* models/lib/arrivals.h -- when ranks still come, for models that run ahead of the dispatcher: a
 * rank that comes may start something, so that they must not pass it.
 */
#ifndef CS_MODELS_LIB_ARRIVALS_H
#define CS_MODELS_LIB_ARRIVALS_H

#include "cs/model.h"

/* `{0}` is empty. */
typedef struct cs_late_arrivals {
    double *time_s; /* owned [n]: behind the first arrival, in order */
    size_t  n, next;
} cs_late_arrivals;

/* Those of the ports. CS_ENOMEM. O(n_ranks log n_ranks). */
cs_status cs_late_arrivals_open(cs_late_arrivals *late, const cs_ports *ports, cs_error *err);
void      cs_late_arrivals_free(cs_late_arrivals *late);

/* The first that comes after `now_s`, which never goes back; INFINITY: nobody comes any more. */
double cs_late_arrivals_next_s(cs_late_arrivals *late, double now_s);

#endif
