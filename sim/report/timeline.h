/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report/timeline.h -- one run for the page: its transfers, what each of them waited for, the
 * critical path, and how much of ports and links is in use (sim/report/page/README.md, RUN).
 */
#ifndef CS_REPORT_TIMELINE_H
#define CS_REPORT_TIMELINE_H

#include "base/text.h"
#include "cs/job.h"

/* More transfers than this are thinned; a run of more than the second number is not shown. */
enum { CS_TIMELINE_MOST_TRANSFERS = 100000, CS_TIMELINE_MOST_REPLAYED = 4000000 };

/* What a run is called, and its place among the settings of the page. */
typedef struct cs_timeline_name {
    const char *title;
    long        setting; /* -1: none */
    cs_text    *thinned; /* where what is left out is said once more, without the title; or NULL */
} cs_timeline_name;

/* Replay and verify a job and add its object. Where there are too many transfers, those of the
 * critical path, of late and slow ranks and of the busiest ranks stay, and `thinned` says how many
 * do: all of a rank or, but for the path, none. CS_ENOTSUP where it has too many to be replayed for
 * a picture, or more than 65,536 ranks and switches, CS_EWRONG where its schedule is wrong. The
 * same job gives the same bytes. O(transfers log transfers).
 *
 * Two transfers share a port where they have an end, its direction and the fabric in common; so the
 * links of a mesh are sub-lanes of one port here. An exchange lies in one sub-lane of both
 * directions at either end. A transfer without length has one tick. */
CS_MUST_CHECK cs_status cs_timeline_json(cs_text *json, const cs_job *job,
                                         const cs_timeline_name *name, cs_error *err);

/* The same with another limit of transfers. */
CS_MUST_CHECK cs_status cs_timeline_json_most(cs_text *json, const cs_job *job,
                                              const cs_timeline_name *name, size_t most,
                                              cs_error *err);

#endif
