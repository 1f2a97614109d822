/* SPDX-License-Identifier: GPL-3.0-or-later */
/* schedules/logical_xml.h -- AdapCC's logical topologies as XML files.
 *
 *   <graph version="..">
 *     <server id="0" ip="10.0.0.1">
 *       <nic id="0" gbps="100"><gpu id="0"/><gpu id="1"/></nic>
 *     </server>
 *     ..
 *     <link src="0" dst="1" kind="nvlink" alpha_us="5" GBps="100"/>
 *     <link src="nic0" dst="nic1" kind="net" alpha_us="20" GBps="6.25"/>
 *   </graph>
 *
 * World ranks are dense, server by server. The released program writes server, nic and gpu, and no
 * rates: those are profiled. What this one adds:
 *   graph   alpha_us between servers
 *   nic     gbps (1e9 bits/s); gbps_in where it receives at another rate
 *   server  nvlink (direct: a link for each pair; switched: a port for each GPU), nvlink_GBps,
 *           nvlink_alpha_us; links_at_once of a direct mesh; sockets, cross_GBps, cross_alpha_us
 *   link    of one ordered pair, of the other direction, too, unless that has its own: of two GPUs
 *           of a server (kind nvlink or pcie, src and dst are ranks), or of two servers (net, nicN
 *           with the ids of NICs; one pair of servers has one link)
 * What is not said is the caller's default.
 *
 * Read as schedules/strategy_xml.h says: attributes may stand side by side, unknown ones are passed
 * over, unknown elements refused.
 *
 * Source: the released program's files.
 */
#ifndef CS_SCHEDULES_LOGICAL_XML_H
#define CS_SCHEDULES_LOGICAL_XML_H

#include "algorithms/adapcc/strategy.h"
#include "base/text.h"

enum { CS_LOGICAL_MAX_BYTES = 256 << 20 }; /* of a file */

/* The rates of a topology whose file does not say them. */
typedef struct cs_logical_defaults {
    double    nic_Bps, net_alpha_s;
    cs_fabric nvlink;
} cs_logical_defaults;

/* Read a file, or a text that `input` names in errors. The caller frees the topology, also after a
 * failure. O(length log length). */
CS_MUST_CHECK cs_status cs_logical_load(const char *path, const cs_logical_defaults *defaults,
                                        cs_logical *logical, cs_error *err);
CS_MUST_CHECK cs_status cs_logical_parse(const char *text, size_t length, const char *input,
                                         const cs_logical_defaults *defaults, cs_logical *logical,
                                         cs_error *err);

/* Write a checked topology with all its rates. */
void cs_logical_write(cs_text *text, const cs_logical *logical);

#endif
