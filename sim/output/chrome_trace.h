/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output/chrome_trace.h -- a run as a timeline: Chrome's trace-event format, which Perfetto and
 * chrome://tracing open.
 *
 * One process per rank, one track per port and direction. Every transfer is a slice on the
 * sender's and on the receiver's track, with an arrow from the transfer that brought its data.
 * Every rank has a counter track of its bytes. The critical path is a process of its own, of the
 * category "critical"; its transfers have the argument of that name. What links counted over
 * intervals of time is counter tracks of one more process. The metadata ("otherData") say what was
 * run.
 */
#ifndef CS_OUTPUT_CHROME_TRACE_H
#define CS_OUTPUT_CHROME_TRACE_H

#include "base/text.h"
#include "cs/recording.h"
#include "cs/result.h"
#include "output/link_counters.h"

/* A run with more messages than this is refused: no viewer opens its timeline. */
#define CS_CHROME_TRACE_MAX_MESSAGES 2000000u

/* Times are kept in picoseconds, which hold 100 days. */
#define CS_CHROME_TRACE_MAX_S 9e6

/* The limit of the recording: CS_EINVAL when there are too many messages, or too late ones. */
cs_status cs_chrome_trace_limit(const cs_recording *recording, cs_error *err);

/* Counter tracks are made of so many links, those with the deepest queues. */
enum { CS_CHROME_TRACE_MOST_LINKS = 64 };

/* The whole file of a replay of `scenario`, some 900 bytes a message. `counters` has what its links
 * counted, or is empty; `result` is that of the replay, or NULL: then the metadata lack it. The
 * caller owns the text (cs_text_free). */
CS_MUST_CHECK cs_status cs_chrome_trace(const cs_recording *recording, const cs_scenario *scenario,
                                        const cs_link_counters *counters, const cs_result *result,
                                        cs_text *text_p, cs_error *err);

#endif
