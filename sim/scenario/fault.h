/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scenario/fault.h -- what a user says is broken: faults of the kinds in faults.def.
 *
 * A fault is of the kind whose key it has, and of all NICs of a rank's server or of one NIC. All
 * faults together leave the NICs a capacity over time (cs_faults_merge(), cs/capacity.h), which is
 * all that anybody behind the readers of configurations sees of them.
 */
#ifndef CS_SCENARIO_FAULT_H
#define CS_SCENARIO_FAULT_H

#include "cs/capacity.h"
#include "input/reader.h"

typedef enum cs_fault_kind {
#define CS_FAULT(kind, ...) CS_FAULT_##kind,
#include "scenario/faults.def"
#undef CS_FAULT
    CS_FAULT_KINDS
} cs_fault_kind;

/* How the GPUs of a server go on with a NIC that has failed: enum, and in files. */
#define CS_FAILOVER_MAP(X)    \
    X(POOL, "pool")           \
    X(NEIGHBOUR, "neighbour") \
    X(NONE, "none")

typedef enum cs_failover {
#define X(id, name) CS_FAILOVER_##id,
    CS_FAILOVER_MAP(X)
#undef X
        CS_FAILOVERS
} cs_failover;

typedef struct cs_fault {
    cs_fault_kind kind;
    double        value;   /* of the kind's key; INFINITY: nothing is left */
    bool          is_down; /* of a what-if: nothing is left of the server until the fault is
                              detected */
    bool        is_nic;    /* of NIC `nic` of `server` alone */
    uint32_t    server, nic;
    int         failover; /* cs_failover, of a NIC */
    cs_capacity capacity; /* of a NIC: what it has itself, of a rank of its server; slowdown
                             INFINITY: nothing is left */
} cs_fault;

/* A list as it is read. */
typedef struct cs_fault_list {
    cs_fault *faults;
    size_t    n;
} cs_fault_list;

/* The key of a kind, and what NICs with a value of it are slowed by. */
const char *cs_fault_key(cs_fault_kind kind);
double      cs_fault_slowdown(cs_fault_kind kind, double value);

/* "pool". Static storage. */
const char *cs_failover_name(cs_failover failover);

/* Rows of a fault: who fails, of what kind, when (`time`: more of these two rows). */
/* clang-format off */
#define CS_FAULT_WHO_ROWS                                                                          \
    CS_KEY(cs_fault, capacity.rank, "rank", .fallback = UINT32_MAX, .max = CS_MAX_RANKS - 1,       \
           .is_rank = true, .help = "a rank of the server all of whose NICs fail"),                \
    CS_KEY(cs_fault, server, "server", .fallback = UINT32_MAX, .max = CS_MAX_RANKS - 1,            \
           .help = "the server of the one NIC that fails"),                                        \
    CS_KEY(cs_fault, nic, "nic", .fallback = UINT32_MAX, .max = CS_MAX_RANKS - 1,                  \
           .help = "the NIC that fails, of those of its server")
#define CS_FAULT_FAILOVER_ROW                                                                      \
    CS_KEY_OF(CS_FIELD_CHOICE, cs_fault, failover, "failover", .choices = "pool|neighbour|none",   \
              .help = "of a NIC: all GPUs of the server share what is left; its GPUs use the next " \
                      "NIC that works; or they are cut off")
/* clang-format on */

/* Fill in who fails, the kind and the slowdown of a fault whose keys have been read. Refused are
 * servers and NICs that are not there (of the reading's cluster), two kinds at once, and none;
 * `or_else` says what is accepted instead of one (NULL: nothing is left then). */
void cs_fault_check(cs_reading *r, const cs_place *place, const char *or_else, cs_fault *fault);

/* Refuse an end that is not after the begin. */
void cs_fault_check_span(cs_reading *r, const cs_place *place, const cs_fault *fault);

/* ---- faults together (scenario/fault_merge.c) ---- */

/* What a server may lose. */
typedef enum cs_fault_limit {
    CS_KEEPS_A_NIC,     /* a server that has no NIC left is refused */
    CS_MAY_LOSE_SERVERS /* its steps have slowdown INFINITY. All steps are of whole servers, which
                           are as slow as the slowest of their ports */
} cs_fault_limit;

/* The capacity that all faults together leave, in memory of the arena: sorted steps, at each of
 * which something begins or ends.
 *
 * At any moment a NIC carries its rate over the product of the slowdowns of its own faults, and
 * nothing if one of them kills it. With `pool` the ports of all GPUs of the server carry the same
 * part of their rate that its NICs carry together; of g equal NICs of which k are dead, (g - k) /
 * g. With `neighbour` the GPUs of a dead NIC use the next one of the server that works, and every
 * NIC is divided equally among the GPUs that use it then, whether they send or not: ports keep
 * rates of their own, as where GPUs share a NIC from the beginning. With `none` a port carries what
 * its own NICs do. Faults of the whole server divide what is left then.
 *
 * CS_EINVAL: err->where is the key that is wrong, of fault *wrong_p: a NIC beside others of its
 * server with another failover, a server without NICs, a slowdown above CS_MAX_SLOWDOWN; else
 * CS_ENOMEM. O(n log n + n (faults at once + NICs and GPUs of a server)). */
CS_MUST_CHECK cs_status cs_faults_merge(const cs_cluster *cluster, const cs_fault *faults, size_t n,
                                        cs_fault_limit limit, cs_arena *arena,
                                        cs_capacity **steps_p, size_t *n_p, size_t *wrong_p,
                                        cs_error *err);

/* Refuse fault `index` of a list for what cs_faults_merge() says is wrong with it. */
void cs_fault_refuse(cs_reading *r, const cs_place *list, size_t index, const cs_error *wrong);

/* By how much each NIC of a server is slower at a moment, of faults of single NICs alone: slowdown
 * [cs_n_nics()], INFINITY: it is dead. O(n + NICs). */
void cs_nics_slowdown(const cs_cluster *cluster, const cs_fault *faults, size_t n, uint32_t server,
                      double time_s, double *slowdown);

/* How many NICs a server has, and whether any of its GPUs uses one of them. */
uint32_t cs_n_nics(const cs_cluster *cluster, uint32_t server);
bool     cs_nic_is_used(const cs_cluster *cluster, uint32_t server, uint32_t nic);

#endif
