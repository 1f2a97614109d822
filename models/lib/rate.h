/* SPDX-License-Identifier: GPL-3.0-or-later */
/* models/lib/rate.h -- how long bytes take between two ports whose rates differ, and may
 * change while they flow. The slower port sets the pace at every moment. */
#ifndef CS_MODELS_LIB_RATE_H
#define CS_MODELS_LIB_RATE_H

#include "cs/model.h"

/* When `bytes` that start to flow at `from_s` are through. Exact for piecewise constant
 * rates. O(log steps + steps crossed). */
double cs_rate_end_s(const cs_rate_profile *a, const cs_rate_profile *b, double from_s,
                     double bytes);

/* The same for a transfer of the replay: `src` and `dst` are ranks. Only NICs ever change. */
static inline double cs_flow_end_s(const cs_ports *ports, const cs_transfer *t, uint32_t fabric,
                                   double from_s)
{
    double bytes = (double)(int64_t)t->bytes;

    if (fabric != CS_NIC) { /* of a switch's port: as the GPU's, whose number is smaller */
        uint32_t rank = t->src < t->dst ? t->src : t->dst;
        return from_s + bytes * cs_own_s_per_byte(ports, fabric, rank);
    }
    if (ports->profiles != NULL) {
        return cs_rate_end_s(&ports->profiles[t->src], &ports->profiles[t->dst], from_s, bytes);
    }
    if (ports->nic_s_per_byte != NULL) {
        double a = ports->nic_s_per_byte[t->src], b = ports->nic_s_per_byte[t->dst];
        return from_s + bytes * (a > b ? a : b);
    }
    return from_s + bytes * ports->s_per_byte[CS_NIC];
}

#endif
