/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli/watch.h -- who watches the replay of `run`: a timeline, a heat map, an explanation. */
#ifndef CS_CLI_WATCH_H
#define CS_CLI_WATCH_H

#include "cli/explain_text.h"
#include "results/chrome_trace.h"
#include "results/usage.h"

/* What was asked for; NULL and false: not that. */
typedef struct cs_watch_choice {
    const char *trace_path, *heatmap_path; /* files to write */
    bool        explains;
} cs_watch_choice;

/* `{0}` is none. */
typedef struct cs_watch {
    const cs_watch_choice *choice;                              /* borrowed */
    cs_observer            observers[3 + CS_EXPLAIN_OBSERVERS]; /* and one of its user */
    size_t                 n_observers;
    cs_chrome_trace       *trace;
    cs_usage               usage;
    bool                   uses; /* `usage` is in use */
    cs_explain_text       *explain;
} cs_watch;

/* Prepare for one run of a resolved job; cs_watch_close() it, also after an error. */
cs_status cs_watch_open(cs_watch *w, const cs_watch_choice *choice, const cs_job *job,
                        cs_error *err);

/* After the replay: write the files, add the explanation to `notes`. */
cs_status cs_watch_report(cs_watch *w, const cs_result *result, cs_text *notes, cs_error *err);

void cs_watch_close(cs_watch *w);

#endif
