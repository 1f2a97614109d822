/* SPDX-License-Identifier: GPL-3.0-or-later */
/* models/packet/ports.h -- from a cluster's ports and the options of a packet model to a net in
 * whole picoseconds, and from a message that starts to its packets and ways.
 */
#ifndef CS_MODELS_PACKET_PORTS_H
#define CS_MODELS_PACKET_PORTS_H

#include "models/packet/net.h"

typedef enum cs_packet_paths { CS_PATHS_STATIC, CS_PATHS_HASH, CS_PATHS_SPRAY } cs_packet_paths;

/* Where an option is "auto", it is CS_AUTO. */
typedef struct cs_packet_options {
    double   link_delay_s;
    uint64_t queue_bytes; /* 0: no limit */
    uint32_t mtu_bytes, header_bytes;
    uint32_t nvlink_mtu_bytes, nvlink_header_bytes;
    uint32_t cut_through_bytes;
    uint32_t xoff_bytes, xon_bytes, headroom_bytes;
    int      paths;
    bool     lossless; /* a given xoff_bytes means it, too */
    bool     trains;
} cs_packet_options;

/* The rows of the options about packets and their ways, which every packet model has. */
/* clang-format off */
#define CS_PACKET_ROWS(type)                                                                      \
    CS_OPTION(type, mtu_bytes, 4096, 1, CS_MAX_PACKET_BYTES, "payload of a full packet"),         \
    CS_OPTION(type, header_bytes, 82, 0, CS_MAX_PACKET_BYTES,                                     \
              "what every packet has beside it on the wire (82: RoCEv2 over Ethernet)"),          \
    CS_OPTION(type, nvlink_mtu_bytes, 4096, 1, CS_MAX_PACKET_BYTES,                               \
              "payload of a full packet inside a server"),                                        \
    CS_OPTION(type, nvlink_header_bytes, 64, 0, CS_MAX_PACKET_BYTES,                              \
              "what every packet has beside it inside a server"),                                 \
    CS_OPTION_ROW(type, link_delay_s, (double)CS_AUTO, 0, 1, true, NULL,                          \
                  "delay of a port's link; auto: half of its fabric's alpha. What alpha has "     \
                  "beyond two of them is spent before a message is handed to its port"),          \
    CS_OPTION_CHOICE(type, paths, "static|hash|spray",                                            \
                     "way of a message among equal ones: the topology's, one by hash, or all in " \
                     "turn, packet by packet"),                                                   \
    CS_OPTION(type, queue_bytes, 0, 0, 1e12,                                                      \
              "packets that wait at a switch's port beyond so many bytes are lost; 0: none are")
/* clang-format on */

/* A net for the ports of a scenario. `{0}` is empty. */
typedef struct cs_packet_ports {
    const cs_ports   *ports; /* borrowed */
    cs_packet_options options;
    cs_packet_net     net;
    cs_ps             startup[CS_FABRICS]; /* of a message: before its port has it */
    uint32_t         *ways;                /* owned [max_paths][max_way + 1]: of one message */
    uint32_t         *back;                /* owned [max_way + 1]: its way back, if .. */
    bool              wants_back;          /* .. somebody asks for that */
    double            most_ps;             /* if all messages so far came one after the other */
} cs_packet_ports;

/* Refuse options that contradict each other, or that the scenario contradicts: CS_EINVAL with the
 * key and what is accepted. */
cs_status cs_packet_check(const cs_scenario *scenario, const cs_packet_options *options,
                          cs_error *err);

/* Fill in the net, with the rates of the ports at the first arrival and how they change; `ports` is
 * borrowed. Close it, whatever comes of it. O(links + changes). */
cs_status cs_packet_ports_open(cs_packet_ports *p, const cs_ports *ports,
                               const cs_packet_options *options, cs_error *err);
void      cs_packet_ports_close(cs_packet_ports *p);

/* Seconds as the ports count them in picoseconds after the first arrival, and back. */
cs_ps  cs_packet_time(const cs_packet_ports *p, double time_s);
double cs_packet_time_s(const cs_packet_ports *p, cs_ps time);

/* A message, or the way back of an exchange, with an even or an odd number. Its ways are there
 * until the next call. CS_ENOTSUP: it has more packets than fit, or time could pass 2^62 ps. */
cs_status cs_packet_message_of(cs_packet_ports *p, const cs_flight *flight, bool is_back,
                               cs_packet_message *message);

/* Numbers of messages are below 1 << CS_PACKET_NUMBER_BITS, and the low bits of their keys. */
enum { CS_PACKET_NUMBER_BITS = 23 };

static inline uint32_t cs_packet_number(uint64_t key)
{
    return (uint32_t)key & ((1u << CS_PACKET_NUMBER_BITS) - 1);
}

#endif
