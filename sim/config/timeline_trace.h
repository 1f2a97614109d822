/* SPDX-License-Identifier: GPL-3.0-or-later */
/* config/timeline_trace.h -- skew out of a timeline of compute: any Chrome trace in one file.
 *
 * Ranks are the processes (pid); where there is one process only, its threads (tid). A rank's
 * lanes are the threads that have events of the chosen category (`cat`, or the name where an
 * event has none). The k-th event of every lane is its part of step k, and a rank's work in step k
 * is the mean over its lanes (pipeline stages of one data-parallel group, say). All ranks are taken
 * to begin a step together and to come to a collective when their work is done: arrival = own work
 * - least work. So this is the skew that compute alone brings about, not one that was measured at
 * a collective.
 */
#ifndef CS_CONFIG_TIMELINE_TRACE_H
#define CS_CONFIG_TIMELINE_TRACE_H

#include "config/kineto_events.h"

/* Read a timeline. Without a category in the options it must have one only: otherwise they are
 * listed. Lanes with different numbers of events are refused (or cut to the shortest with
 * `skip_incomplete`). The notes have the mean work of every rank (up to 64). */
CS_MUST_CHECK cs_status cs_timeline_trace_read(const cs_event_file      *file,
                                               const cs_arrival_options *options,
                                               cs_arrival_trace *trace_p, cs_arrival_notes *notes,
                                               cs_error *err);

#endif
