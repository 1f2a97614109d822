/* SPDX-License-Identifier: GPL-3.0-or-later */
/* study/profile.h -- AdapCC's profile: alpha and rate of every link, measured on the simulated
 * network.
 *
 * A link is probed with n messages of s bytes, each sent when the one before has come, and with one
 * message of n s bytes, for several n and s. The times of the first are n (alpha + beta s), that of
 * the second alpha + beta n s; alpha and beta are those of relative least squares (traces/fit.h: a
 * time of n messages counts as n s bytes' n-th part, which is the same line with the same weights).
 * The probes are a schedule like any other, replayed by the engine on the scenario's model with its
 * slow NICs, so that the profile sees what a collective would meet:
 *   1. in all servers at once, every ordered pair of their GPUs, one after the other; a server with
 *      fewer GPUs than others is done before them;
 *   2. N - 1 rounds, in round i of which server k sends to server (k + i) mod N, between their
 *      first GPUs. Every NIC sends one message and receives one. Each round begins with a barrier.
 * All that are measured at once send in step: the next message starts when all of them have come.
 *
 * Where `noise` says so, every measured time is multiplied by a random number: independent,
 * log-normal with mean 1.
 *
 * Left out: the way of the results to rank 0; what is sent meanwhile by others, since training is
 * blocked.
 *
 * Source: X. Zhao et al., "AdapCC", ICDCS 2024, section IV-B.
 */
#ifndef CS_STUDY_PROFILE_H
#define CS_STUDY_PROFILE_H

#include "algorithms/adapcc/strategy.h"
#include "cs/job.h"
#include "traces/fit.h"

enum {
    CS_PROFILE_MOST_COUNTS = 16,
    CS_PROFILE_MOST_SIZES  = 16,
    CS_PROFILE_MOST_PAIRS  = 1 << 22, /* of servers, and of GPUs in one */
    CS_PROFILE_PERIOD      = 500,     /* iterations between two profiles */
};

/* What is sent. A plain value; cs_profile_defaults() has those of the paper's kind. */
typedef struct cs_profile_options {
    uint32_t counts[CS_PROFILE_MOST_COUNTS]; /* n >= 2 */
    size_t   n_counts;                       /* >= 1 */
    uint64_t sizes[CS_PROFILE_MOST_SIZES];   /* s >= 1 bytes */
    size_t   n_sizes;                        /* >= 1 */
    uint32_t repeats;                        /* of all that, >= 1 */
    double   noise;     /* standard deviation of a measured time, relative to it; 0 .. 1 */
    uint64_t seed;      /* of the noise: two profiles with the same one are off by the same */
    double   barrier_s; /* what each of the N - 1 barriers costs */
    double   begin_s;   /* when it begins, after the scenario's first arrival; not before the last:
                           NICs whose capacity changes have that of then */
} cs_profile_options;

/* n of 2, 4, 8, s of 256 kB, 1 MB, 4 MB, once, without noise, from 0 on. */
cs_profile_options cs_profile_defaults(void);

/* What a link joins. */
#define CS_LINK_KINDS(X) \
    X(NVLINK, nvlink)    \
    X(PCIE, pcie)        \
    X(NET, net)
typedef enum cs_link_kind {
#define X(id, name) CS_LINK_##id,
    CS_LINK_KINDS(X)
#undef X
} cs_link_kind;

/* "nvlink". Static storage. */
const char *cs_link_kind_name(cs_link_kind kind);

/* One ordered pair. Limits are those of 95 % confidence, rates INFINITY and times 0 where there is
 * none. */
typedef struct cs_profile_link {
    cs_link_kind kind;
    uint32_t src, dst; /* ranks of a server (NVLINK; PCIE: across its sockets), or servers (NET) */
    double   alpha_s, alpha_low_s, alpha_high_s;                   /* >= 0 */
    double   bandwidth_Bps, bandwidth_low_Bps, bandwidth_high_Bps; /* > 0 */
} cs_profile_link;

/* `{0}` is an empty one. */
typedef struct cs_profile {
    cs_cluster       cluster; /* whose links they are; its lists are borrowed */
    size_t           n_links;
    cs_profile_link *links; /* [n_links] as measured: inside servers by pair, then round by round;
                               owned */
    double   duration_s;    /* for which training is blocked */
    uint64_t n_messages, wire_bytes;
} cs_profile;

/* Profile the network of a job: its scenario and model. Its algorithm, options and size do not
 * matter, and need not be there. The caller frees the profile, also after a failure. Refuses what
 * the model refuses (CS_EINVAL, CS_ENOTSUP), options out of their range, more than
 * CS_PROFILE_MOST_PAIRS pairs, and times that do not grow with the size (CS_EINVAL, for that much
 * noise). O(links x counts x sizes) messages are replayed; 6 servers of 4 GPUs take some
 * milliseconds on a port model. The same for the same request. */
CS_MUST_CHECK cs_status cs_profile_run(const cs_job *job, const cs_profile_options *options,
                                       cs_profile *profile, cs_error *err);

void cs_profile_free(cs_profile *profile);

/* How long that profile blocks training, without its estimates: times that do not grow are as good
 * as others. O(messages). */
CS_MUST_CHECK cs_status cs_profile_time(const cs_job *job, const cs_profile_options *options,
                                        double *duration_s_p, cs_error *err);

/* The logical topology with what was measured, to four digits, in place of every alpha and rate:
 * what the synthesiser takes. A NIC gets the rate of the fastest link that was measured at it. The
 * caller frees it, also after a failure. Fails with CS_ENOMEM alone. O(links). */
CS_MUST_CHECK cs_status cs_profile_graph(const cs_profile *profile, cs_logical *logical,
                                         cs_error *err);

#endif
