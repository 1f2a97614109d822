/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report/late_plot.h -- a picture of who is late in a trace of arrivals: over its calls, how far
 * late ranks are behind the first quarter of the others, in colours, all others as a grey band;
 * what the lateness of the straggler does from call to call; and the clocks' error. The title
 * answers.
 */
#ifndef CS_REPORT_LATE_PLOT_H
#define CS_REPORT_LATE_PLOT_H

#include "report/plot.h"
#include "traces/skew_text.h"

/* More calls than that share points: their middle, and a band from the
 * least to the largest. */
#define CS_LATE_PLOT_POINTS ((size_t)400)

/* Make the script. Ranks have a colour each; those of a late server or rail share one, and so do
 * the last of more than CS_LOOKS_APART. cs_text_free() the script, also after an error.
 * O(entries log entries). */
CS_MUST_CHECK cs_status cs_late_plot_make(const cs_arrival_trace *trace, const cs_skew *skew,
                                          const cs_arrival_notes *notes, cs_plot *plot,
                                          cs_error *err);

#endif
