/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report/late.h -- a page about a trace of arrivals: who is late, and what each schedule would have
 * saved.
 */
#ifndef CS_REPORT_LATE_H
#define CS_REPORT_LATE_H

#include "campaign/trace_whatif.h"
#include "report/data.h"

/* What the page is made of; `{0}` may be freed. */
typedef struct cs_late {
    cs_data data;  /* a row per schedule: its mean exposed time */
    cs_text json;  /* the section `late` (sim/report/page/README.md) */
    cs_text doubt; /* a sentence where the model's times are not those of the trace; or empty */
    cs_text begin; /* of the sentence: "In 20 calls of 4 GPUs, GPU 2 comes last in all of them" */
} cs_late;

/* Fill it from a trace and its replay. Of a schedule under several policies the page takes
 * `static`, which needs to know nothing while it runs. O(entries + ranks calls log calls). */
CS_MUST_CHECK cs_status cs_late_make(const cs_arrival_trace *trace, const cs_arrival_notes *notes,
                                     const cs_trace_report *report, const char *collective,
                                     cs_late *late, cs_error *err);

void cs_late_free(cs_late *late);

#endif
