/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli/watch.h -- who watches the replay of `run`: a timeline, a heat map, an explanation. */
#ifndef CS_CLI_WATCH_H
#define CS_CLI_WATCH_H

#include "cs/recording.h"
#include "cs/result.h"
#include "output/port_stats.h"
#include "output/usage.h"

/* What was asked for; NULL and false: not that. */
typedef struct cs_watch_choice {
    const char *trace_path, *heatmap_path; /* files to write */
    bool        explains;
} cs_watch_choice;

enum { CS_WATCH_OBSERVERS = 4 }; /* one of them for who opens it */

/* `{0}` is none. */
typedef struct cs_watch {
    const cs_watch_choice *choice;   /* borrowed */
    const cs_scenario     *scenario; /* borrowed */
    cs_observer            observers[CS_WATCH_OBSERVERS];
    size_t                 n_observers;
    cs_recording           recording; /* for the timeline and the critical path */
    cs_usage               usage;
    cs_port_stats          stats;
} cs_watch;

/* Prepare for one replay, whose observers are still to be set; cs_watch_close() it, also after an
 * error. */
cs_status cs_watch_open(cs_watch *w, const cs_watch_choice *choice, const cs_scenario *scenario,
                        cs_error *err);

/* After the replay: write the files, add the explanation to `notes`. */
cs_status cs_watch_report(cs_watch *w, const cs_result *result, cs_text *notes, cs_error *err);

void cs_watch_close(cs_watch *w);

#endif
