/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hunt/belief.h -- what the results of a hunt say: Bayes over sets of suspects.
 *
 * A suspect is a node (which slows all of its runs), one NIC of a node (the runs of that node over
 * that NIC's rail) or a rail (all runs over it); without rails there are nodes alone. Before any
 * run, suspects are bad independently of each other, `bad` of them on average. The logarithm of a
 * run's bus bandwidth is that of healthy groups of its size, less the effect if something that is
 * bad takes part, plus noise: Student's t, whose scale is estimated from the runs and from what is
 * said of the noise; one run of a thousand is slow without a cause. Healthy bandwidths come from
 * the runs themselves, of each size of group. If the effect is not known, any from 5 % on (and from
 * three times the noise on) is as likely as its logarithm.
 *
 * Hosts that were in the same groups all the time cannot be told apart and are one entry with a
 * multiplicity. Sets are built up one suspect at a time from the strongest ones on; what is
 * less likely than the best by e^-30 is left out. So the cost depends on what is still in doubt,
 * not on 2^n.
 */
#ifndef CS_HUNT_BELIEF_H
#define CS_HUNT_BELIEF_H

#include "hunt/hunt.h"

typedef enum cs_suspect_kind { CS_SUSPECT_NODE, CS_SUSPECT_NIC, CS_SUSPECT_RAIL } cs_suspect_kind;

/* "node", "nic", "rail"; static storage. */
const char *cs_suspect_kind_name(cs_suspect_kind kind);

typedef struct cs_suspect {
    cs_suspect_kind kind;
    uint32_t        host, rail; /* where the kind has one; else 0 */
} cs_suspect;

enum { CS_HUNT_TOP = 8 };

typedef struct cs_belief {
    double    *host_p; /* of each host: it, or one of its NICs, is bad */
    uint32_t  *kin;    /* of each host: equal for those that cannot be told apart */
    double     none_p; /* nothing is bad */
    cs_suspect best[CS_HUNT_MAX_BAD + 2]; /* the most likely set of suspects .. */
    uint32_t   n_best;                    /* 0: nothing */
    double     best_p;                    /* .. and its probability */
    cs_suspect top[CS_HUNT_TOP];          /* the likeliest suspects, each by itself */
    double     top_p[CS_HUNT_TOP];
    uint32_t   alike[CS_HUNT_TOP]; /* hosts that nothing tells apart, of which it is the first */
    uint32_t   n_top;
    double     least_effect; /* that was looked for */
    double     noise;        /* of a run, relative, as estimated */
    double     healthy_Bps;  /* of the last round's groups; 0: no result yet */
    cs_arena   arena;
} cs_belief;

/* The caller owns the belief (cs_belief_free) on CS_OK. Deterministic. */
CS_MUST_CHECK cs_status cs_belief_of(const cs_hunt *hunt, cs_belief *belief_p, cs_error *err);
void                    cs_belief_free(cs_belief *belief);

/* Is the answer as sure as was asked for, and is there any result? */
bool cs_belief_is_sure(const cs_hunt *hunt, const cs_belief *belief);

/* The fewest rounds, and runs, in which any method can find `bad` suspects with the confidence of
 * the setting, adaptive or not: what is not known in bits, over what a round (a run) can tell. A
 * run tells one bit at most, and with noise no more than a channel of that ratio of effect to noise
 * carries (C. E. Shannon, 1948), of which R. M. Fano's inequality lets some be missing. */
typedef struct cs_hunt_bound {
    double   bits;           /* log2 of the number of sets */
    double   bits_per_round; /* at most */
    double   bits_per_run;
    uint64_t rounds, runs;
} cs_hunt_bound;

/* `kinds`: of which the suspects may be, a bit each (1u << CS_SUSPECT_NODE), of those that the hunt
 * tells apart; 0: all. `effect` in (0, 1), or 0: large, as if there were no noise. */
cs_hunt_bound cs_hunt_bound_of(const cs_hunt *hunt, uint32_t bad, unsigned kinds, double effect);

#endif
