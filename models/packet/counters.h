/* SPDX-License-Identifier: GPL-3.0-or-later */
/* models/packet/counters.h -- what happens on every link, counted while an engine runs.
 *
 * An engine whose net has counters (net->counters) tells them of every packet that comes to a
 * switch's port and of every packet that starts, in runs or one by one. For one link packets come
 * in the order of time, and so do starts; a start may be told long before its time. When a packet
 * is told to come, everything is told that happened on its link in earlier windows. Functions do
 * not fail: what is out of memory shows itself in the report.
 */
#ifndef CS_MODELS_PACKET_COUNTERS_H
#define CS_MODELS_PACKET_COUNTERS_H

#include "cs/counters.h"
#include "models/packet/net.h"

#if defined(__GNUC__)
#define CS_COLD __attribute__((cold)) /* whoever calls it does so seldom */
#else
#define CS_COLD
#endif

/* Count for a net, whose window is known; `sample` is the length of an interval of time in
 * picoseconds, 0 for none, CS_PS_NEVER for CS_SAMPLE_AUTO. NULL: out of memory. */
cs_packet_counters *cs_counters_open(const cs_packet_net *net, cs_ps sample);
void                cs_counters_close(cs_packet_counters *counters);

/* `count` packets of so many bytes come to the port that `link` leaves, at `t`, t + gap, .. Those
 * of sending ports do not count: what waits there is no queue. */
CS_COLD void cs_counters_come(cs_packet_counters *counters, uint32_t link, cs_ps t, cs_ps gap,
                              uint32_t count, int64_t bytes);

/* `count` packets start on `link`, each for `each` picoseconds. */
CS_COLD void cs_counters_start(cs_packet_counters *counters, uint32_t link, cs_ps t, cs_ps gap,
                               uint32_t count, int64_t bytes, cs_ps each);

/* A packet is lost at the link's port, or marked there. A lost one has not come. */
CS_COLD void cs_counters_drop(cs_packet_counters *counters, uint32_t link, cs_ps t);
CS_COLD void cs_counters_mark(cs_packet_counters *counters, uint32_t link, cs_ps t);

/* The link is to be paused, and to go on: in turns, with the times at which that acts. */
CS_COLD void cs_counters_pause(cs_packet_counters *counters, uint32_t link, cs_ps t);
CS_COLD void cs_counters_resume(cs_packet_counters *counters, uint32_t link, cs_ps t);

/* All that was counted, once, when a run has ended at `end`. The report points into the counters.
 * CS_ENOMEM. */
CS_MUST_CHECK cs_status cs_counters_report(cs_packet_counters *counters, cs_ps end,
                                           cs_link_report *report);

#endif
