/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/chrome_trace_records.h -- what a timeline knows of a run before it is drawn. */
#ifndef CS_RESULTS_CHROME_TRACE_RECORDS_H
#define CS_RESULTS_CHROME_TRACE_RECORDS_H

#include "results/chrome_trace.h"

/* A transfer as it was seen. */
typedef struct cs_trace_record {
    cs_transfer transfer;
    cs_interval interval;
    double      fence_s; /* when the transfer has CS_FENCE */
    uint32_t    fence_except;
} cs_trace_record;

struct cs_chrome_trace {
    const cs_scenario *scenario; /* borrowed */
    cs_trace_record   *records;  /* in the order of the stream; owned */
    size_t             n_records, capacity;
    uint64_t           n_messages; /* an exchange is two */
};

#endif
