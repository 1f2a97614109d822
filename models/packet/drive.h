/* SPDX-License-Identifier: GPL-3.0-or-later */
/* models/packet/drive.h -- an engine of packets behind the dispatcher: the hooks of a cs_network
 * (cs/model.h), for the models whose options begin with cs_packet_options.
 */
#ifndef CS_MODELS_PACKET_DRIVE_H
#define CS_MODELS_PACKET_DRIVE_H

#include "models/packet/engine.h"
#include "models/packet/ports.h"

/* Which engine, with these options of the model? It may set what they mean for the net. */
typedef cs_status cs_packet_choose(cs_packet_ports *ports, const void *options,
                                   const cs_packet_engine **engine_p, cs_error *err);

cs_status cs_packet_open(const cs_ports *ports, const void *options, cs_packet_choose *choose,
                         void **state_p, cs_error *err);

/* The other hooks, as they are. Receivers and senders queue. */
bool      cs_packet_queues(const void *options);
cs_status cs_packet_inject(void *state, const cs_flight *flight);
cs_status cs_packet_next(void *state, double *next_s_p);
cs_status cs_packet_advance(void *state, double now_s, const uint32_t **ended_p, size_t *n_ended_p);
void      cs_packet_counts(const void *state, cs_counts *counts_p);
const char *cs_packet_why(const void *state);
void        cs_packet_close(void *state);

/* ... for engines that tell their net's counters. */
cs_status cs_packet_watch(void *state, double sample_s);
cs_status cs_packet_report(void *state, double end_s, cs_link_report *report_p);

/* ... and of the model. */
double cs_packet_latency_s(const cs_scenario *scenario, const void *options, uint32_t fabric);
cs_message_cost cs_packet_message_cost(const cs_scenario *scenario, const void *options,
                                       uint32_t fabric);

#endif
