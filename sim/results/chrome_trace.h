/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/chrome_trace.h -- a run as a timeline: Chrome's trace-event format, which Perfetto and
 * chrome://tracing open.
 *
 * One process per rank, one track per port and direction. Every transfer is a slice on the
 * sender's and on the receiver's track, with an arrow from the transfer that brought its data.
 */
#ifndef CS_RESULTS_CHROME_TRACE_H
#define CS_RESULTS_CHROME_TRACE_H

#include "base/text.h"
#include "cs/job.h"

/* A run with more messages than this is refused: no viewer opens its timeline. */
#define CS_CHROME_TRACE_MAX_MESSAGES 2000000u

/* Times are kept in picoseconds, which hold 100 days. */
#define CS_CHROME_TRACE_MAX_S 9e6

typedef struct cs_chrome_trace cs_chrome_trace;

/* An empty timeline. It borrows `scenario` until it is closed; the caller owns it. */
CS_API CS_MUST_CHECK cs_status cs_chrome_trace_open(const cs_scenario *scenario,
                                                    cs_chrome_trace **trace_p, cs_error *err);

/* The observer that records into the timeline; for one replay. Its error is CS_EINVAL when there
 * are too many messages, or CS_ENOMEM. */
CS_API cs_observer cs_chrome_trace_observer(cs_chrome_trace *trace);

/* After the replay: the whole file, some 600 bytes a message. The caller owns the text
 * (cs_text_free). */
CS_API CS_MUST_CHECK cs_status cs_chrome_trace_finish(const cs_chrome_trace *trace, cs_text *text_p,
                                                      cs_error *err);

/* NULL is allowed. */
CS_API void cs_chrome_trace_close(cs_chrome_trace *trace);

#endif
