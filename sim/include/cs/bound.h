/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/bound.h -- lower bounds on the time of a collective, each with its proof's source.
 *
 * A bound holds for every schedule that uses the cluster's ports one transfer at a time and
 * direction. Where it needs more (a port held for alpha, round-synchronous schedules), the
 * bound's `assumption` says so and the function returns NAN where it does not hold.
 */
#ifndef CS_BOUND_H
#define CS_BOUND_H

#include "cs/scenario.h"

CS_BEGIN_C

/* What may be assumed about the schedule and the model. */
typedef struct cs_bound_context {
    const cs_scenario *scenario;
    double             latency_s[CS_FABRICS]; /* what every message pays at least, per fabric */
    bool               alpha_holds_port; /* every message occupies its ports for alpha, too: false
                                            for SHARED groups and for models with L outside */
    bool alpha_per_message;              /* every message pays alpha by itself: false for SHARED */
    bool is_round_synchronous;           /* cs_plan */
    bool ranks_relay;                    /* ... before they come (cs_plan.own_ready_s) */
    bool uses_trees;                     /* cs_plan */
    bool uses_switches;                  /* switches add up and pass on (CS_USES_SWITCH) */
    bool uses_network_switch;            /* .. that of the network, too */
    bool shares_ports;                   /* several transfers may flow through a port at once, each
                                            with a part of its rate (SHARED groups of a fluid
                                            model). False for port models: they serve one by one */
} cs_bound_context;

typedef struct cs_bound {
    const char *name;
    const char *summary;    /* the formula */
    const char *assumption; /* what it needs beside one transfer per port and direction */
    const char *source;
    bool        is_general; /* holds for every schedule in the context: may be the `bound`
                               of a result. Otherwise it is printed, but labelled */
    bool counts_data; /* it counts what depends on the data of ranks that have come, not ports that
                         are closed before: it holds where ranks relay, too */
    bool in_servers;  /* it holds where switches inside servers add up and pass on, and may be the
                         `bound` there; all others presume that ranks do it */
    bool in_network;  /* .. and where the network does that, too */
    /* Seconds after the first arrival, or NAN where the bound does not apply. */
    double (*seconds)(const cs_bound_context *context);
} cs_bound;

/* All bounds, ended by NULL. */
extern CS_API const cs_bound *const cs_bounds[];

/* The largest general bound that applies, and its name; 0 and "none" if none does. */
CS_API double cs_best_bound(const cs_bound_context *context, const char **name_p);

CS_END_C

#endif
