/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/model.h -- what a network model provides, and the list of them.
 *
 * A *port model* says when a transfer ends from nothing but its two ports. It is replayed
 * in a single pass over the stream, without an event queue. (Network models, in which
 * transfers contend inside the network, come with a second set of hooks.)
 */
#ifndef CS_MODEL_H
#define CS_MODEL_H

#include "cs/option.h"
#include "cs/schedule.h"

/* When a transfer held its ports. */
typedef struct cs_interval {
    double start_s, end_s;
} cs_interval;

/* How the rate of one server's NICs changes over time: seconds per byte is
 * step_s_per_byte[i] from step_from_s[i] (the first is 0) until the next. */
typedef struct cs_rate_profile {
    size_t        n_steps;
    const double *step_from_s;
    const double *step_s_per_byte;
} cs_rate_profile;

/* State of a single-pass replay: owned by the replay, advanced by the model.
 * Ports of fabric f start at port_base[f]; see cs_tx_port(). */
typedef struct cs_ports {
    const cs_cluster *cluster;
    uint32_t          n_ranks;
    uint32_t          n_ports;               /* of all fabrics together */
    uint32_t          port_base[CS_FABRICS]; /* first port of a fabric */
    double            alpha_s[CS_FABRICS];
    double            s_per_byte[CS_FABRICS]; /* of a healthy port */
    double           *tx_free_s, *rx_free_s;  /* [n_ports] */
    uint32_t         *tx_group, *rx_group;    /* [n_ports] round + 1 of the last SHARED
                                                 transfer, or NULL: none is used */
    uint32_t               n_slots;           /* per rank */
    double                *ready_s;           /* [n_ranks][n_slots] */
    const double          *arrival_s;         /* [n_ranks] */
    const double          *nic_s_per_byte;    /* [n_ranks] constant slow NICs, or NULL */
    const cs_rate_profile *profiles;          /* [n_servers] NICs that change, or NULL */
    uint32_t               uses;              /* CS_USES_* of the plan */
    double                 last_end_s; /* of a model that closes ports for longer than a message
                                          takes: its latest end so far; 0 otherwise */
} cs_ports;

/* Port of `src` on the way to `dst` (for the receiving side swap them). */
static inline uint32_t cs_port_of(const cs_ports *ports, uint32_t fabric, uint32_t here,
                                  uint32_t there)
{
    uint32_t g = ports->cluster->gpus_per_server;
    if (ports->cluster->fabrics[fabric].kind == CS_DIRECT) {
        return ports->port_base[fabric] + here * g + there % g;
    }
    return ports->port_base[fabric] + here;
}

typedef struct cs_model {
    const char      *name;
    const char      *summary; /* one line: what it computes and what it leaves out */
    const char      *source;  /* citation */
    const cs_option *options; /* table, or NULL */
    size_t           options_bytes;

    /* Optional. Refuse a scenario that the model cannot honour, with the reason. */
    cs_status (*check)(const cs_scenario *scenario, const void *options, cs_error *err);

    /* Required. Serve `count` transfers in order: set the ready and port times in `ports`
     * and, unless `intervals` is NULL, when each began and ended. Cannot fail. */
    void (*serve)(cs_ports *ports, const void *options, const cs_transfer *transfers, size_t count,
                  cs_interval *intervals);

    /* The part of the model's latency that every message pays even if nothing is sent before
     * it (alpha, or L + 2o), in seconds; bounds use it. */
    double (*latency_s)(const cs_scenario *scenario, const void *options, uint32_t fabric);
    /* Optional. Do the closed forms of the algorithms hold with these options? NULL: never. */
    bool (*closed_forms_hold)(const void *options);
    bool alpha_holds_port; /* a message occupies its ports for that long too */
} cs_model;

/* All models that were built in, ended by NULL; the first one is the default. */
extern CS_API const cs_model *const cs_models[];

/* Optional models: name, and NULL or what is missing from this build. Ended by a NULL name. */
typedef struct cs_missing {
    const char *name, *summary, *missing;
} cs_missing;
extern CS_API const cs_missing cs_models_missing[];

/* Find by name. CS_ENOENT names the nearest one, or what a missing one needs. */
CS_API cs_status cs_model_find(const char *name, const cs_model **model_p, cs_error *err);

#endif
