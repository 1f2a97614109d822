/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatif/outages.h -- what fails in a fleet of servers, how often and for how long; and histories
 * of outages that are drawn from it.
 *
 * Random numbers: the time to a component's first failure comes from a stream of its cause, in the
 * order of the components; whoever fails has a stream of its own for the rest. So one cause does
 * not change the failures of another, a server more changes none of those before it, and a longer
 * repair changes neither when others fail nor how its own lengths compare.
 */
#ifndef CS_WHATIF_OUTAGES_H
#define CS_WHATIF_OUTAGES_H

#include "traces/fault_history.h"

#include <stdbool.h>

/* A server has as many NICs at most. */
#define CS_MAX_SERVER_NICS 32u

/* What a failure takes with it: enum, its name, and how many of them a server has. */
#define CS_TAKES_MAP(X)                               \
    X(NIC, "nic", "a NIC of a server")                \
    X(GPU, "gpu", "a GPU, and with it its server")    \
    X(SERVER, "server", "a server with all its GPUs") \
    X(JOB, "job", "the job, and nothing that has to be repaired")

typedef enum cs_failure_takes {
#define X(id, name, text) CS_TAKES_##id,
    CS_TAKES_MAP(X)
#undef X
        CS_TAKES_KINDS
} cs_failure_takes;

const char *cs_failure_takes_name(cs_failure_takes takes);

/* Why something fails, how often, and for how long: each component by itself, up and down in
 * turns. Times are Weibull distributed; a shape of 1 is exponential. */
typedef struct cs_failure_cause {
    const char *name;  /* borrowed */
    int         takes; /* cs_failure_takes */
    double      mtbf_s, shape;
    double      mttr_s, repair_shape; /* mttr_s 0: it is whole again at once */
} cs_failure_cause;

/* What policies that answer dead NICs only do when a server fails. */
typedef enum cs_server_recovery {
    CS_SERVER_EXCLUDE, /* as the policy exclude */
    CS_SERVER_WAIT,    /* until it is repaired, then restart */
    CS_SERVER_SPARE,   /* as the policy spare */
} cs_server_recovery;

/* How servers are taken from what was recorded. */
typedef enum cs_recorded_pick {
    CS_PICK_RESAMPLE, /* every server of every trial is any node, and its window any time */
    CS_PICK_BLOCKS,   /* every node once: trials are blocks of nodes, window after window */
} cs_recorded_pick;

/* What was recorded of a fleet, instead of causes. */
typedef struct cs_recorded {
    const char    *path;     /* NULL: nothing was */
    const uint8_t *takes;    /* [n_types] cs_failure_takes: NIC or SERVER; TAKES_KINDS: nothing */
    uint32_t       n_nodes;  /* of the fleet: those without a name never failed */
    double         length_s; /* of the record */
    int            pick;     /* cs_recorded_pick */
    bool           predicts; /* the second half from the first, too */
} cs_recorded;

typedef struct cs_failures {
    bool     is_there;
    double   duration_s; /* of a trial */
    uint64_t trials;
    double   confidence;
    uint32_t nics;     /* of a server; 0: one per GPU that has its own */
    int      failover; /* cs_failover of scenario/fault.h, which slowdowns[] follow from */
    /* [k] what a server is slowed by with k dead NICs; INFINITY: it is down. */
    double                  slowdowns[CS_MAX_SERVER_NICS + 1];
    int                     recovery;        /* cs_server_recovery */
    double                  checkpoint_s;    /* to write one */
    const char             *preset, *source; /* of the causes; NULL: the configuration's own */
    const cs_failure_cause *causes;
    size_t                  n_causes;
    cs_recorded             recorded;
    const double *mtbf_factors, *mttr_factors; /* what every mtbf_s and mttr_s is multiplied by */
    size_t        n_mtbf_factors, n_mttr_factors; /* 0: once, by 1 */
} cs_failures;

/* Something is broken in [from_s, until_s); from_s == until_s: it is whole again at once. */
typedef struct cs_outage {
    double   from_s, until_s; /* until_s INFINITY: for ever */
    uint32_t server;          /* CS_NO_SERVER: the job */
    uint32_t cause;
    bool     takes_server; /* else a NIC of it */
} cs_outage;

#define CS_NO_SERVER UINT32_MAX

/* Outages of a fleet, by from_s, then by server and cause; memory is kept from one history to the
 * next. `{0}` is empty. */
typedef struct cs_outages {
    cs_outage *list;
    size_t     n, room;
    uint32_t  *by_end; /* [n] their indices by until_s */
    size_t     room_by_end;
} cs_outages;

/* What is drawn from. */
typedef struct cs_fleet {
    const cs_failure_cause *causes; /* with their times as they are */
    size_t                  n_causes;
    uint32_t                n_servers, gpus, nics; /* the latter of a server */
    double                  duration_s;
    uint64_t                seed;
} cs_fleet;

/* How many components of a server, or of the job, a cause is about. */
uint32_t cs_cause_components(const cs_failure_cause *cause, const cs_fleet *fleet);

/* Draw history `trial`: outages that begin before the duration is over. */
CS_MUST_CHECK cs_status cs_outages_draw(const cs_fleet *fleet, uint64_t trial, cs_outages *outages,
                                        cs_error *err);

/* Empty it; add an outage, in any order; then sort. */
void                    cs_outages_clear(cs_outages *outages);
CS_MUST_CHECK cs_status cs_outages_add(cs_outages *outages, const cs_outage *outage, cs_error *err);
CS_MUST_CHECK cs_status cs_outages_sort(cs_outages *outages, cs_error *err);

/* `{0}` is allowed. */
void cs_outages_free(cs_outages *outages);

/* Expected over [0, duration_s] of one component that begins whole: its failures, and the part of
 * the time that it is down. NAN where a shape is not 1. Source: D. R. Cox, "Renewal Theory", 1962,
 * chapter 7 (the alternating renewal process). */
double cs_cause_expected_failures(const cs_failure_cause *cause, double duration_s);
double cs_cause_expected_down(const cs_failure_cause *cause, double duration_s);

#endif
