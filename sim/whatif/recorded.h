/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatif/recorded.h -- outages of a job's servers out of a fleet's recorded history, and what the
 * history says of a fleet's mean times.
 */
#ifndef CS_WHATIF_RECORDED_H
#define CS_WHATIF_RECORDED_H

#include "base/arena.h"
#include "whatif/outages.h"

/* The causes of recorded outages: their numbers in cs_outage.cause. */
enum { CS_RECORDED_NIC, CS_RECORDED_SERVER, CS_RECORDED_CAUSES };

/* A record by nodes, some of them in blocks. Its lists are in an arena. */
typedef struct cs_record {
    const cs_recorded      *recorded;
    const cs_fault_history *history;
    const uint32_t         *first;   /* [n_nodes + 1] of a node in `faults` */
    const uint32_t         *faults;  /* indices in the history, by node, then by time */
    const uint32_t         *shuffle; /* [n_nodes] nodes in the order of blocks */
    uint64_t                seed;
    uint32_t                n_servers; /* of a trial, with spares */
} cs_record;

CS_MUST_CHECK cs_status cs_record_index(const cs_recorded      *recorded,
                                        const cs_fault_history *history, uint32_t n_servers,
                                        uint64_t seed, cs_arena *arena, cs_record *record_p,
                                        cs_error *err);

/* A part of the record. */
typedef struct cs_window {
    double from_s, until_s;
    double duration_s; /* of a trial in it, at most its length */
    int    pick;       /* cs_recorded_pick */
    bool   is_fresh;   /* what began before the window does not count */
} cs_window;

/* How many trials there are in blocks: 0 where the fleet has fewer servers than one. */
uint64_t cs_record_blocks(const cs_record *record, const cs_window *window);

/* The outages of trial `trial`. */
CS_MUST_CHECK cs_status cs_record_take(const cs_record *record, const cs_window *window,
                                       uint64_t trial, cs_outages *outages, cs_error *err);

/* What the fleet did in a window: one of the causes. */
typedef struct cs_record_fit {
    double failures, repairs; /* that began, and that ended */
    double up_s, down_s;      /* of all components together */
    double repair_shape;      /* of a Weibull distribution as variable as the repairs; 1: too few */
    double repair_variation;  /* squared coefficient of variation of the repairs; 1: too few */
} cs_record_fit;

/* `nics` of a server. O(faults). */
cs_record_fit cs_record_fit_of(const cs_record *record, int cause, uint32_t nics, double from_s,
                               double until_s);

/* The means of a fit. Without a failure the time between them is as good as infinite. */
cs_failure_cause cs_record_cause(const cs_record_fit *fit, int cause);

/* The same as uncertain as it is: the rates are drawn (u, v in (0, 1)) from the gamma distributions
 * that Jeffreys' prior leaves of them. Repairs are gamma-distributed for that, as variable as they
 * were: n of them say as much about their mean as n / repair_variation exponential ones. Source:
 * G. E. P. Box, G. C. Tiao, "Bayesian Inference in Statistical Analysis", 1973, section 1.3. */
cs_failure_cause cs_record_draw(const cs_record_fit *fit, int cause, double u, double v);

#endif
