/* SPDX-License-Identifier: GPL-3.0-or-later */
/* models/packet/transport_options.h -- the options about marks, errors, transports and DCQCN, and
 * the settings that they mean.
 *
 * `dcqcn` names a set of values (sim/doc/packet.md has them with their sources); every option
 * dcqcn_* and ecn_* that is given replaces the set's. Where one is "auto" it is (double)CS_AUTO.
 */
#ifndef CS_MODELS_PACKET_TRANSPORT_OPTIONS_H
#define CS_MODELS_PACKET_TRANSPORT_OPTIONS_H

#include "models/packet/net.h"

typedef struct cs_packet_transport_options {
    double   rto_s, error_rate, ecn_pmax_fraction;
    double   dcqcn_g_ratio, dcqcn_first_alpha_ratio, dcqcn_first_cnp_ratio, dcqcn_least_ratio;
    double   dcqcn_cnp_s, dcqcn_alpha_s, dcqcn_decrease_s, dcqcn_increase_s;
    double   dcqcn_ai_Bps, dcqcn_hai_Bps, dcqcn_min_Bps;
    uint32_t window, ack_every;
    uint32_t ecn_kmin_bytes, ecn_kmax_bytes;
    uint32_t dcqcn_byte_counter_bytes, dcqcn_fast_recovery, dcqcn_clamp_target, dcqcn_hai_grows;
    int      transport, dcqcn;
} cs_packet_transport_options;

/* A row for a field of the member `at` (a cs_packet_transport_options) of the options `type`. */
#define CS_TRANSPORT_ROW(struct_type, at, field, fallback_, min_, max_, auto_, choices_, help_) \
    {                                                                                           \
        .name = #field, .type = CS_FIELD_TYPE(struct_type, at.field),                           \
        .offset = offsetof(struct_type, at.field), .fallback = (fallback_), .min = (min_),      \
        .max = (max_), .has_auto = (auto_), .choices = (choices_), .help = (help_)              \
    }
#define CS_TRANSPORT_AUTO(type, at, field, min_, max_, help_) \
    CS_TRANSPORT_ROW(type, at, field, (double)CS_AUTO, min_, max_, true, NULL, help_)

/* clang-format off */
#define CS_TRANSPORT_ROWS(type, at)                                                               \
    CS_TRANSPORT_ROW(type, at, transport, 0, 0, 64, false,                                        \
                     "none|gbn|selective|dcqcn|dcqcn_selective",                                  \
                     "how hosts recover losses: not at all, go-back-N, or only what is missing; " \
                     "dcqcn: the same, and a rate that follows marks"),                           \
    CS_TRANSPORT_ROW(type, at, window, 0, 0, 1e9, false, NULL,                                    \
                     "packets of a message that are under way at most; 0: no limit"),             \
    CS_TRANSPORT_ROW(type, at, ack_every, 4, 1, 1e6, false, NULL,                                 \
                     "a receiver acknowledges every so many packets, and the last one"),          \
    CS_TRANSPORT_ROW(type, at, rto_s, 500e-6, 1e-6, 10, false, NULL,                              \
                     "a sender sends again what is not acknowledged for so long"),                \
    CS_TRANSPORT_ROW(type, at, error_rate, 0, 0, 0.999, false, NULL,                              \
                     "share of packets that a link corrupts, each by itself; needs a transport"), \
    CS_TRANSPORT_AUTO(type, at, ecn_kmin_bytes, 0, 4e9,                                           \
                      "bytes waiting at a port from which on it marks packets; auto: those of "   \
                      "dcqcn's set, else no marks"),                                              \
    CS_TRANSPORT_AUTO(type, at, ecn_kmax_bytes, 0, 4e9,                                           \
                      ".. above which it marks every packet; 0: no marks"),                       \
    CS_TRANSPORT_AUTO(type, at, ecn_pmax_fraction, 0, 1,                                          \
                      ".. and what share it marks at ecn_kmax_bytes; auto: the set's, or 0.01"),  \
    CS_TRANSPORT_ROW(type, at, dcqcn, 0, 0, 64, false, "paper|hpcc|hpcc_paper|nic",               \
                     "set of values for all options dcqcn_* and ecn_* that are auto"),            \
    CS_TRANSPORT_AUTO(type, at, dcqcn_g_ratio, 0, 1, "gain of alpha"),                            \
    CS_TRANSPORT_AUTO(type, at, dcqcn_first_alpha_ratio, 0, 1, "alpha at a message's first CNP"), \
    CS_TRANSPORT_AUTO(type, at, dcqcn_first_cnp_ratio, 0, 1,                                      \
                      "what the first CNP leaves of the rate, before any decrease"),              \
    CS_TRANSPORT_AUTO(type, at, dcqcn_least_ratio, 0, 1,                                          \
                      "what one decrease leaves of the rate at least"),                           \
    CS_TRANSPORT_AUTO(type, at, dcqcn_cnp_s, 0, 10,                                               \
                      "least time between two CNPs of a message"),                                \
    CS_TRANSPORT_AUTO(type, at, dcqcn_alpha_s, 1e-9, 10, "period of alpha's timer"),              \
    CS_TRANSPORT_AUTO(type, at, dcqcn_decrease_s, 0, 10,                                          \
                      "period of the check whether a CNP came; 0: every CNP decreases at once"),  \
    CS_TRANSPORT_AUTO(type, at, dcqcn_increase_s, 1e-9, 10, "period of the timer of increases"),  \
    CS_TRANSPORT_AUTO(type, at, dcqcn_byte_counter_bytes, 0, 4e9,                                 \
                      "bytes after which there is another increase; 0: the timer alone counts"),  \
    CS_TRANSPORT_AUTO(type, at, dcqcn_fast_recovery, 0, 1000,                                     \
                      "increases that go half of the way back, before additive ones"),            \
    CS_TRANSPORT_AUTO(type, at, dcqcn_ai_Bps, 0, 4e9, "additive increase"),                       \
    CS_TRANSPORT_AUTO(type, at, dcqcn_hai_Bps, 0, 4e9, "hyper increase"),                         \
    CS_TRANSPORT_AUTO(type, at, dcqcn_hai_grows, 0, 1,                                            \
                      "1: the i-th hyper increase in a row is i times as large"),                 \
    CS_TRANSPORT_AUTO(type, at, dcqcn_min_Bps, 0.125, 4e9, "least rate of a message"),            \
    CS_TRANSPORT_AUTO(type, at, dcqcn_clamp_target, 0, 1,                                         \
                      "1: every decrease remembers the rate as the target; 0: only one after "    \
                      "the timer has increased it")
/* clang-format on */

/* Do the options ask for anything that only cs_packet_transported does? */
bool cs_packet_transport_is_asked(const cs_packet_transport_options *options);

/* The settings that the options mean where the ports of hosts have a rate of `line_bps`. CS_EINVAL
 * with the key and what is accepted where options contradict each other. */
cs_status cs_packet_transport_resolve(const cs_packet_transport_options *options, int64_t line_bps,
                                      cs_packet_transport *settings, cs_error *err);

#endif
