/* SPDX-License-Identifier: GPL-3.0-or-later */
/* models/packet/packet.h -- the model packet and its options, for models that carry the same
 * packets.
 */
#ifndef CS_MODELS_PACKET_PACKET_H
#define CS_MODELS_PACKET_PACKET_H

#include "models/packet/ports.h"

/* Where one that is no uint32_t is "auto" it is (double)CS_AUTO. */
typedef struct cs_packet_model_options {
    cs_packet_options net; /* first: its rows count from there */
    double            rto_s, error_rate, ecn_pmax_fraction;
    double   dcqcn_g_ratio, dcqcn_first_alpha_ratio, dcqcn_first_cnp_ratio, dcqcn_least_ratio;
    double   dcqcn_cnp_s, dcqcn_alpha_s, dcqcn_decrease_s, dcqcn_increase_s;
    double   dcqcn_ai_Bps, dcqcn_hai_Bps, dcqcn_min_Bps;
    uint32_t window, ack_every;
    uint32_t ecn_kmin_bytes, ecn_kmax_bytes;
    uint32_t dcqcn_byte_counter_bytes, dcqcn_fast_recovery, dcqcn_clamp_target, dcqcn_hai_grows;
    int      transport, dcqcn;
} cs_packet_model_options;

/* Its options are cs_packet_model_options. */
extern const cs_model cs_model_packet;

/* The settings of hosts and marks where the ports of hosts have a rate of `line_bps`: values of
 * DCQCN that are "auto" are those of the set that `dcqcn` names. CS_EINVAL with the key and what is
 * accepted where options contradict each other. */
CS_MUST_CHECK cs_status cs_packet_resolve(const cs_packet_model_options *options, int64_t line_bps,
                                          cs_packet_transport *settings, cs_error *err);

#endif
