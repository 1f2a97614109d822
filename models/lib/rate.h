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

/* The same for a transfer of the replay. A switch's port is as fast as that at the other end, whose
 * number is smaller. Only NICs ever change. */
static inline double cs_flow_end_s(const cs_ports *ports, const cs_transfer *t, uint32_t fabric,
                                   double from_s)
{
    double bytes = (double)(int64_t)t->bytes;

    const uint32_t least = t->src < t->dst ? t->src : t->dst;
    const uint32_t most  = t->src < t->dst ? t->dst : t->src;
    const uint32_t other = most < ports->n_ranks ? most : least;

    if (fabric != CS_NIC) {
        return from_s + bytes * cs_own_s_per_byte(ports, fabric, least);
    }
    if (ports->profiles != NULL) {
        return cs_rate_end_s(&ports->profiles[least], &ports->profiles[other], from_s, bytes);
    }
    if (ports->nic_s_per_byte != NULL) {
        double a = ports->nic_s_per_byte[least], b = ports->nic_s_per_byte[other];
        return from_s + bytes * (a > b ? a : b);
    }
    return from_s + bytes * ports->s_per_byte[CS_NIC];
}

#endif
