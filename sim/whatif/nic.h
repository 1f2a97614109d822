/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatif/nic.h -- NICs that fail: how long does a collective take before, meanwhile and after the
 * repair, on a machine that is known from its topology and from one log of nccl-tests?
 *
 * The log says how long the collective takes on whole NICs, and nothing of its schedule. So one
 * schedule, the *baseline*, is taken for what ran, and start-up time and rate of the NICs are those
 * with which it takes just the time of the calibration's line (cs_regime). On NICs of that kind
 * every schedule is replayed. The ends of the confidence intervals of the line give other NICs,
 * and so an interval for every time; those of a calibration of two levels go by the largest errors
 * of sizes that were held out (study/levels.h).
 *
 * The NICs of a server are pooled: what they carry together is shared by its GPUs equally. A slow
 * NIC is met in three ways (cs_nic_sharing). Left out: which GPU uses which NIC, what happens in
 * the moment of a fault (whatif/whatif.h), and the network between the servers.
 */
#ifndef CS_WHATIF_NIC_H
#define CS_WHATIF_NIC_H

#include "base/arena.h"
#include "base/statistics.h"
#include "base/text.h"
#include "study/config.h"
#include "traces/calibration.h"

/* How the traffic of a server is shared by its NICs: enum, and in files. */
#define CS_NIC_SHARING_MAP(X)                                                      \
    X(POOLED, "pooled", "every NIC carries what it can")                           \
    X(EQUAL, "equal", "every NIC that works carries the same, as NCCL stripes it") \
    X(WITHOUT, "without", "the slow NICs are not used")

typedef enum cs_nic_sharing {
#define X(id, name, text) CS_NIC_##id##_SHARES,
    CS_NIC_SHARING_MAP(X)
#undef X
        CS_NIC_SHARINGS
} cs_nic_sharing;

/* Static storage. */
const char *cs_nic_sharing_name(cs_nic_sharing sharing);

typedef struct cs_nic_question {
    const cs_config *config;           /* its faults, of single NICs that are dead or slow all the
                                          time; what else is said of the cluster; no sweep */
    const char           *topology;    /* preset or file */
    const cs_calibration *calibration; /* of all collectives that have one */
    uint32_t              n_ranks;     /* 0: as in the calibration */
    uint64_t              bytes;
    const char           *baseline;   /* NULL: the default of the cluster, or what the log leaves */
    const char *const    *algorithms; /* NULL: all that know the collective */
    size_t                n_algorithms;
} cs_nic_question;

/* A server some of whose NICs have failed: by how much its NICs are slower, for each sharing;
 * INFINITY: none is left. */
typedef struct cs_nic_server {
    uint32_t server;
    uint32_t n_dead, n_slow;
    double   slowdown[CS_NIC_SHARINGS];
} cs_nic_server;

/* A schedule with one sharing. Times are elapsed times, all ranks come together. */
typedef struct cs_nic_line {
    const char    *algorithm;
    const char    *ran; /* what it chose to run instead; NULL: itself */
    cs_nic_sharing sharing;
    bool           is_available; /* false: `reason` says why, and the rest is empty */
    bool        is_baseline; /* what the savings are against: what runs if nobody does anything */
    uint32_t    place;       /* by the time during the fault; equal ones share it */
    const char *reason;
    cs_estimate before_s; /* on whole NICs, with the better of the schedules made for these and
                             for the fault */
    cs_estimate during_s; /* with the schedule made for the fault (EQUAL: nobody knows of it) */
    cs_estimate after_s;  /* the same, on NICs that are whole again */
    cs_estimate saved_s;  /* during, against the baseline */
    double      before_busbw_GBps, during_busbw_GBps, after_busbw_GBps;
    double      before_bound_s, bound_s; /* no schedule on these NICs takes less */
    double      gap;                     /* during / bound */
    const char *bound;                   /* its name */
} cs_nic_line;

/* The answer for one size. */
typedef struct cs_nic_report {
    cs_arena       arena;
    cs_collective  collective;
    uint32_t       n_ranks, n_servers, gpus_per_server;
    uint32_t       n_nics; /* of a server, that its GPUs use */
    uint64_t       bytes;
    const char    *model;
    cs_regime      regime;         /* of the calibration, for the size */
    bool           has_limits;     /* of two levels: intervals go by the largest held-out errors */
    double         start_up_ratio; /* of its time that is there without any bytes */
    double         nominal_Bps;    /* what a server's NICs carry by the topology; NAN: not known */
    cs_estimate    in_use_Bps;     /* what they carried by the log */
    cs_estimate    alpha_s;        /* their start-up time */
    const char    *baseline;       /* the schedule that ran */
    bool           is_other;    /* it is not the default, which the NICs could not have carried */
    double         default_Bps; /* ... but at this rate */
    double         reference_s; /* the best of all lines on whole NICs */
    const char    *reference;   /* ... and whose it is */
    cs_nic_server *servers;     /* that have failed NICs, by number */
    size_t         n_failed;
    cs_nic_line   *lines; /* by place, then not available */
    size_t         n_lines;
} cs_nic_report;

/* Answer for one size. CS_ENOTSUP: not calibrated for the size, the ranks or the collective, or the
 * log does not fit the topology; CS_EINVAL: NICs that are not there, none that is left. The caller
 * owns the report (cs_nic_report_free) on CS_OK. O(algorithms) replays. */
CS_MUST_CHECK cs_status cs_nic_answer(const cs_nic_question *question, cs_nic_report *report_p,
                                      cs_error *err);

/* `{0}` is allowed. */
void cs_nic_report_free(cs_nic_report *report);

/* ---- reports of several sizes as text (whatif/nic_text.c) ---- */

/* What is the same for all of them, then a table for each. */
void cs_nic_table(const cs_nic_report *reports, size_t n, cs_text *text);

/* An array with an object for each; numbers read back exactly, what is not known is null. */
void cs_nic_json(const cs_nic_report *reports, size_t n, cs_text *text);

/* One line per line of every report. */
void cs_nic_csv(const cs_nic_report *reports, size_t n, cs_text *text);

#endif
