/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output/link_counters.h -- what happened on links during a run: what `run --counters` shows. */
#ifndef CS_OUTPUT_LINK_COUNTERS_H
#define CS_OUTPUT_LINK_COUNTERS_H

#include "base/text.h"
#include "cs/job.h"

/* `{0}` may be freed; it is empty. */
typedef struct cs_link_counters {
    const cs_cluster *cluster; /* borrowed */
    cs_link_report    report;  /* a copy, empty where the model does not count on links */
    cs_link_counts   *links;   /* owned: those of the report */
    cs_link_sample   *samples; /* owned */
} cs_link_counters;

/* The observer that keeps the report of one replay on `cluster`, with intervals of so many seconds
 * (0: none, or CS_SAMPLE_AUTO). Fails with CS_ENOMEM. */
cs_observer cs_link_counters_observer(cs_link_counters *counters, const cs_cluster *cluster,
                                      double sample_s);

/* The links on which anything happened, those with the deepest queues first, then the most drops,
 * the longest pauses, the most use: an array of their numbers. The caller frees it (cs_free). */
CS_MUST_CHECK cs_status cs_link_counters_order(const cs_link_counters *counters, uint32_t **links_p,
                                               uint32_t *n_p, cs_error *err);

/* A name of a link for people: "NIC out of rank 3", "NIC into rank 0", or the topology's. */
enum { CS_COUNTED_NAME_BYTES = 80 };
void cs_link_counters_name(const cs_link_counters *counters, uint32_t link,
                           char name[CS_COUNTED_NAME_BYTES]);

/* Add comment lines for a table: the worst links of a run that took `elapsed_s`, at most `most`. */
CS_MUST_CHECK cs_status cs_link_counters_table(cs_text *text, const cs_link_counters *counters,
                                               double elapsed_s, uint32_t most, cs_error *err);

/* Add an object: `links`, those on which anything happened, by number. */
void cs_link_counters_json(cs_text *text, const cs_link_counters *counters, double elapsed_s);

/* Add the intervals as a CSV, by time and then by link; a link has a line for an interval in which
 * anything happened to it. */
void cs_link_counters_csv(cs_text *text, const cs_link_counters *counters);

void cs_link_counters_free(cs_link_counters *counters);

#endif
