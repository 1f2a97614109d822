/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/model.h -- what a network model provides, and the list of them.
 *
 * A *port model* says when a transfer ends from nothing but its two ports. It is replayed
 * in a single pass over the stream, without an event queue: serve().
 * In a *network model* messages contend inside the network. The dispatcher (engine/dispatch.h)
 * keeps the port rule and the data rule, hands over every message at the moment at which it
 * starts, and asks what happens next: cs_network.
 */
#ifndef CS_MODEL_H
#define CS_MODEL_H

#include "cs/capacity.h"
#include "cs/counters.h"
#include "cs/field.h"
#include "cs/named.h"
#include "cs/schedule.h"

CS_BEGIN_C

/* How the rate of a NIC port changes over time: seconds per byte is
 * step_s_per_byte[i] from step_from_s[i] (the first is 0) until the next. */
typedef struct cs_rate_profile {
    size_t        n_steps;
    const double *step_from_s;
    const double *step_s_per_byte;
} cs_rate_profile;

/* State of a single-pass replay: owned by the replay, advanced by the model. Its times count from
 * the last arrival, before which they are negative: what is exposed keeps its digits however
 * late the last rank is.
 * Ports of fabric f start at port_base[f]; see cs_tx_port(). */
typedef struct cs_ports {
    const cs_cluster *cluster;
    uint32_t          n_ranks;
    uint32_t          n_ends;                /* n_ranks, and the switches that take part */
    uint32_t          n_ports;               /* of all fabrics together */
    uint32_t          port_base[CS_FABRICS]; /* first port of a fabric */
    double            alpha_s[CS_FABRICS];
    double            s_per_byte[CS_FABRICS]; /* of a healthy port of the fastest server */
    double           *tx_free_s, *rx_free_s;  /* [n_ports] */
    uint32_t         *tx_group, *rx_group;    /* [n_ports] round + 1 of the last SHARED
                                                 transfer, or NULL: none is used */
    uint32_t      n_slots;                    /* per rank */
    double       *ready_s;                    /* [n_ends][n_slots] */
    const double *arrival_s;                  /* [n_ends] <= 0, unless ranks relay: when their own
                                                 contributions are there */
    bool ranks_relay;                         /* ports are open before that (own_ready_s of the
                                                 plan) */
    double                 first_s;           /* the first of them: nothing begins before */
    const double          *nic_s_per_byte;    /* [n_ranks] constant NICs that differ, or NULL */
    const cs_rate_profile *profiles;          /* [n_ranks] NICs that change, or NULL */
    uint64_t               seed;              /* the scenario's */
    uint32_t               uses;              /* CS_USES_* of the plan */
    uint32_t               links_at_once;     /* of a GPU's NVLinks, where it does not drive all
                                                 (cs_waits_for_links()); 0: all */
    double *latest_s;                         /* [links_at_once] of links beside a message's own:
                                                 when they are free, the last one first */
    double last_end_s; /* of a model whose ports are free at other times than its
                          messages end: the last end so far. -INFINITY: none, or
                          ports are free when messages end */
} cs_ports;

/* Port of `src` on the way to `dst` (for the receiving side swap them). A switch has one to each
 * GPU, numbered as the GPU's, behind those of the ranks. */
static inline uint32_t cs_port_of(const cs_ports *ports, uint32_t fabric, uint32_t here,
                                  uint32_t there)
{
    const cs_cluster *c = ports->cluster;

    if (c->fabrics[fabric].kind == CS_DIRECT) {
        return ports->port_base[fabric] + here * c->gpus_per_server + cs_local_rank(c, there);
    }
    return ports->port_base[fabric] + (here < ports->n_ranks ? here : ports->n_ranks + there);
}

/* Of a port of `rank` to the others of its server, or of its NIC as long as it is healthy. */
static inline double cs_own_s_per_byte(const cs_ports *ports, uint32_t fabric, uint32_t rank)
{
    const cs_cluster *c = ports->cluster;

    return c->servers == NULL
               ? ports->s_per_byte[fabric]
               : ports->s_per_byte[fabric] * cs_server_ratio(c, cs_server_of(c, rank), fabric);
}

/* A message that starts: what the dispatcher hands to a network model. */
typedef struct cs_flight {
    uint64_t id;          /* grows in stream order; < 2^40 */
    uint32_t handle;      /* small, nobody else's until the message has ended */
    uint32_t src, dst;    /* ranks */
    uint32_t tx, rx;      /* ports; of an exchange, rx sends and tx receives on the way back */
    uint32_t fabric;      /* CS_NIC, CS_NVLINK or CS_CROSS */
    bool     is_exchange; /* two messages, one each way; it has ended when both have */
    bool     is_alone;    /* on its ports until it ends; false in a SHARED group, and where
                             receivers are shared or senders queue */
    uint64_t bytes;       /* each way */
    double   start_s;     /* now: it has its ports, or is handed over (queues_senders()) */
    double   startup_s;   /* before the bytes flow: alpha, or what is left of it in a group */
} cs_flight;

enum { CS_MAX_FLIGHTS = 1 << 22 }; /* at once: handles are smaller */

/* The hooks of a network model. Times are double seconds, see sim/doc/adr/0006-event-times.md. */
typedef struct cs_network {
    /* Are the messages of a SHARED group under way at once, for the model to share the bandwidth?
     * Otherwise a port serves them one by one. */
    bool shares_groups;
    /* Is it a simulator in a process of its own? Every replay then takes a moment to start. */
    bool is_foreign;

    /* Optional. With these options, does a receiving port take all messages at once that come to
     * it, for the model to share its bandwidth? NULL: no, one at a time in stream order. */
    bool (*shares_receivers)(const void *options);

    /* Optional. With these options, does the model queue the messages of a sending port itself, in
     * the order in which they are injected? A port then passes on as soon as its message is
     * injected, not when it ends, and the messages of a SHARED group, unless they are shared, are
     * handed over one after the other. Messages on their way may be many: all whose data are
     * there. NULL: no, a message keeps its sending port until it ends. */
    bool (*queues_senders)(const void *options);

    /* Optional. Where ports serve the messages of a SHARED group one by one: for how long each but
     * the first one holds a port beside its bytes. NULL: no longer. */
    double (*message_gap_s)(const void *options);

    /* Required. Start with an idle network. `ports` has the cluster, the numbering and rates of its
     * ports and no port state; it is borrowed until close(). */
    cs_status (*open)(const cs_ports *ports, const void *options, void **state_p, cs_error *err);

    /* Required. A message starts now. Can fail with CS_ENOMEM only. */
    cs_status (*inject)(void *state, const cs_flight *flight);

    /* Required. When something next happens if nothing is injected: INFINITY if never. It may be
     * nothing that anybody can see, and never lies before the time of the last call. Fails, as
     * advance() does, with CS_ENOMEM, with the error of a foreign simulator, or with CS_EWRONG or
     * CS_ENOTSUP where messages never end in such a network. */
    cs_status (*next)(void *state, double *next_s_p);

    /* Required. Let the time pass to `now_s` <= next(). Gives the handles of the messages that
     * ended then, in the order of their ids as far as they end by one event; the array is the
     * model's until the next call of advance(). */
    cs_status (*advance)(void *state, double now_s, const uint32_t **ended_p, size_t *n_ended_p);

    /* Optional. What has been counted so far; what the model does not count is CS_NO_COUNT. */
    void (*count)(const void *state, cs_counts *counts_p);

    /* Optional, both or neither. Behind open(): count on every link from now on, and over intervals
     * of so many seconds (0: none, or CS_SAMPLE_AUTO). And when all has ended, at `end_s`: what was
     * counted. The report is the model's until close(). CS_ENOMEM only. */
    cs_status (*watch)(void *state, double sample_s);
    cs_status (*report)(void *state, double end_s, cs_link_report *report_p);

    /* Optional. Why next() or advance() failed with anything but CS_ENOMEM, in a line. */
    const char *(*why)(const void *state);

    /* Required. Free the state; NULL is allowed. */
    void (*close)(void *state);
} cs_network;

/* What a message costs beside its bytes at the rate of its ports. */
typedef struct cs_message_cost {
    double port_s;   /* it holds each of its ports for so much longer */
    double gap_s;    /* no other message starts on them before that */
    double beyond_s; /* its data are there so much later than its ports are free */
} cs_message_cost;

typedef struct cs_model {
    const char     *name;
    const char     *aliases; /* other names, "a|b"; or NULL */
    const char     *summary; /* one line: what it computes and what it leaves out */
    const char     *source;  /* citation */
    const cs_field *options; /* table, or NULL */
    size_t          options_bytes;

    /* Optional. Refuse a scenario that the model cannot honour, with the reason. */
    cs_status (*check)(const cs_scenario *scenario, const void *options, cs_error *err);

    /* Optional. What the model needs and is not installed, or NULL; check() refuses then, too. */
    const char *(*missing)(void);

    /* A port model has this hook: serve `count` transfers in order, set the ready and port times
     * in `ports` and, unless `intervals` is NULL, when each began and ended. Cannot fail. */
    void (*serve)(cs_ports *ports, const void *options, const cs_transfer *transfers, size_t count,
                  cs_interval *intervals);

    /* A network model has these instead: serve is NULL. */
    const cs_network *network;

    /* The part of the model's latency that every message pays even if nothing is sent before
     * it (alpha, or L + 2o), in seconds; bounds use it. */
    double (*latency_s)(const cs_scenario *scenario, const void *options, uint32_t fabric);
    /* Optional. What a message costs, for algorithms that predict times. NULL: alpha on its ports.
     */
    cs_message_cost (*message_cost)(const cs_scenario *scenario, const void *options,
                                    uint32_t fabric);
    /* Optional. Do the closed forms of the algorithms hold with these options, on a crossbar, for
     * streams of a plan that `uses` this (CS_USES_*)? NULL: never. */
    bool (*closed_forms_hold)(const void *options, uint32_t uses);
    /* Optional. A model that says about the same in far less time, and its options from these:
     * algorithms that choose among schedules ask it, and what they choose is replayed on this one.
     * NULL, also as the answer: this model itself. */
    const struct cs_model *(*forecasts_by)(const void *options, cs_options *theirs);
    bool alpha_holds_port; /* a message occupies its ports for that long too */
    bool takes_switches;   /* on a crossbar it serves streams with CS_USES_SWITCH */
} cs_model;

/* Do messages share ports, other than one after the other, in streams of a plan that `uses` this
 * (CS_USES_*), with these options of the model? */
static inline bool cs_model_shares_ports(const cs_model *model, const void *options, uint32_t uses)
{
    const cs_network *n = model->network;

    return (n != NULL && n->shares_receivers != NULL && n->shares_receivers(options)) ||
           (n != NULL && n->queues_senders != NULL && n->queues_senders(options)) ||
           (uses & CS_USES_SHARED) != 0;
}

/* Do the closed forms of the algorithms hold for a plan that `uses` this (CS_USES_*) and the
 * scenario on this model with these options? Neither links nor paths between sockets are in them,
 * nor single ports that are slower than others of their server. */
static inline bool cs_closed_forms_hold(const cs_model *model, const cs_scenario *scenario,
                                        const void *options, uint32_t uses)
{
    return model->closed_forms_hold != NULL && scenario->cluster.topology == NULL &&
           scenario->cluster.sockets <= 1 && !cs_capacity_is_single(scenario) &&
           !cs_waits_for_links(&scenario->cluster, CS_NVLINK) &&
           model->closed_forms_hold(options, uses);
}

/* All models that were built in, ended by NULL; the first one is the default. */
extern CS_API const cs_model *const cs_models[];
extern CS_API const cs_named        cs_model_names;

/* Optional models: name, and NULL or what is missing from this build. Ended by a NULL name. */
typedef struct cs_missing {
    const char *name, *summary, *missing;
} cs_missing;
extern CS_API const cs_missing cs_models_missing[];

/* Find by name, alias or a part of the name (cs/named.h). CS_ENOENT names the nearest one,
 * CS_EMISSING what this build lacks. */
CS_API cs_status cs_model_find(const char *name, const cs_model **model_p, cs_error *err);

CS_END_C

#endif
