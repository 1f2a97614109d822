/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/support/fluid.h -- when do flows over shared links end, by plain water filling: at every
 * event all rates are computed from nothing. Written from the definition of max-min fairness alone.
 */
#ifndef CT_SUPPORT_FLUID_H
#define CT_SUPPORT_FLUID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CT_FLUID_ROUTE = 8, CT_FLUID_STEPS = 8 };

/* A link has bandwidth[i] from from_s[i] (the first is 0) to the next. */
typedef struct ct_fluid_link {
    size_t n_steps;
    double from_s[CT_FLUID_STEPS], bandwidth_Bps[CT_FLUID_STEPS];
    double incast_ratio; /* how many times less for two flows or more; 1: none */
} ct_fluid_link;

typedef struct ct_fluid_flow {
    double   begin_s, bytes;
    double   cap_Bps; /* 0: none */
    uint32_t links[CT_FLUID_ROUTE], n_links;
    double   end_s; /* the answer */
} ct_fluid_flow;

/* Set every end_s. O(flows^2 links). */
void ct_fluid_run(const ct_fluid_link *links, size_t n_links, ct_fluid_flow *flows, size_t n_flows);

#endif
