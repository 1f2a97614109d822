/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/timeline_trace.h -- skew out of a timeline of compute: any Chrome trace in one file.
 *
 * Ranks are the processes (pid); where there is one process only, its threads (tid). A rank's
 * lanes are the threads that have events of the chosen categories (`cat`, or the name where an
 * event has none). A step is what `args.step` of the events says, with all its events
 * (micro-batches, say); where no event has it, the k-th event of every lane is its part of step k.
 * A lane's work in a step is the sum of its events. Lanes work side by side (pipeline stages of one
 * data-parallel group, say), so a rank's work is that of its busiest lane. All ranks are taken to
 * begin a step together and to come to a collective when their work is done: arrival = own work -
 * least work. So this is the skew that compute alone brings about, not one that was measured at a
 * collective.
 */
#ifndef CS_TRACES_TIMELINE_TRACE_H
#define CS_TRACES_TIMELINE_TRACE_H

#include "traces/kineto_events.h"

/* Read a timeline. The category of the options may be several with commas between them; without one
 * the trace must have one only: otherwise they are listed. Refused are steps of which lanes have
 * different numbers of events (left out with `skip_incomplete`), steps that begin after a later
 * one, and args.step on some events only. The notes have the mean work of every rank (of the first
 * 64). O(n log n) for n events. */
CS_MUST_CHECK cs_status cs_timeline_trace_read(const cs_event_file      *file,
                                               const cs_arrival_options *options,
                                               cs_arrival_trace *trace_p, cs_arrival_notes *notes,
                                               cs_error *err);

#endif
