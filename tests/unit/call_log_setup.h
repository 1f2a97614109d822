/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Logs of Inspector with planted late ranks and causes, clocks that are off and drift, and records
 * that are lost or out of order. */
#ifndef CS_TESTS_CALL_LOG_SETUP_H
#define CS_TESTS_CALL_LOG_SETUP_H

#include "base/random.h"
#include "base/text.h"
#include "traces/arrival_file.h"
#include "traces/skew.h"

#include <criterion/criterion.h>
#include <math.h>

enum { MAX_RANKS = 32 };

/* What is planted. */
typedef struct plant {
    uint32_t      n_ranks, per_server, who;
    size_t        n_calls;
    double        delay_s; /* of `who` */
    cs_late_cause cause;
    double        jitter_s;             /* of everybody */
    double        offset_s, drift;      /* of the clock of each further server */
    double        end_error_s;          /* how far ends of a call are apart */
    double        lost_ratio;           /* of the records */
    bool          is_mixed, is_verbose; /* neighbouring records change places; with events */
    uint64_t      first_sn;
    uint32_t      period;   /* late in every so many calls; 0: always */
    uint32_t      n_silent; /* the first so many ranks have no events */
} plant;

/* A number in [0, 1) for a place. */
static inline double draw(uint64_t a, uint64_t b, uint64_t c)
{
    return (double)(cs_mix64(cs_mix64(a * 1000003 + b) + c) >> 11) * 0x1p-53;
}

/* When a rank made a call, came and left, on the true clock. */
static inline void times_of(const plant *p, uint64_t call, uint32_t r, double *called_s,
                            double *came_s, double *left_s)
{
    double begin_s = 1.7e9 + 0.3 * (double)call, last_s = 0;
    double delay_s = p->period == 0 || call % p->period == 0 ? p->delay_s : 0;

    for (uint32_t k = 0; k < p->n_ranks; k++) {
        double at_s = begin_s + p->jitter_s * draw(call, k, 1);
        if (k == p->who && (p->cause == CS_LATE_HOST || p->cause == CS_LATE_GPU)) {
            at_s += delay_s;
        }
        last_s  = fmax(last_s, at_s);
        *came_s = k == r ? at_s : *came_s;
    }
    *called_s = *came_s - 1e-4;
    *called_s -= r == p->who && p->cause == CS_LATE_GPU ? delay_s : 0;
    *left_s = last_s + 3e-3 + p->end_error_s * (draw(call, r, 2) - 0.5);
    *left_s += r == p->who && p->cause == CS_LATE_NETWORK ? delay_s : 0;
}

static inline long long reading_us(const plant *p, uint32_t r, double at_s)
{
    double server = (double)(r / p->per_server);
    return llround((at_s + server * p->offset_s + server * p->drift * (at_s - 1.7e9)) * 1e6);
}

static inline void add_record(const plant *p, uint64_t call, uint32_t r, cs_text *text)
{
    double called_s, came_s = 0, left_s;

    times_of(p, call, r, &called_s, &came_s, &left_s);
    if (draw(call, r, 3) < p->lost_ratio) {
        return;
    }
    cs_text_add(text,
                "{\"header\": {\"id\": \"0x7e1c\", \"rank\": %u, \"n_ranks\": %u, \"nnodes\": 2}, "
                "\"metadata\": {\"inspector_output_format_version\": \"v4.1\", \"hostname\": "
                "\"node%u\", \"pid\": %u}, \"coll_perf\": {\"coll\": \"AllReduce\", \"coll_sn\": "
                "%llu, \"coll_msg_size_bytes\": 1048576, \"coll_exec_time_us\": %lld, "
                "\"coll_busbw_gbs\": 12.5",
                r, p->n_ranks, r / p->per_server, 100 + r, (unsigned long long)(p->first_sn + call),
                llround((left_s - came_s) * 1e6));
    if (p->is_verbose && r >= p->n_silent) {
        cs_text_add(text,
                    ", \"event_trace_ts\": {\"coll_start_ts\": %lld, \"kernel_events\": "
                    "[{\"channel_id\": 0, \"kernel_start_ts\": %lld, \"kernel_stop_ts\": %lld}, "
                    "{\"channel_id\": 1, \"kernel_start_ts\": %lld, \"kernel_stop_ts\": %lld}]}",
                    reading_us(p, r, called_s), reading_us(p, r, came_s) + 2,
                    reading_us(p, r, left_s) - 1, reading_us(p, r, came_s),
                    reading_us(p, r, left_s));
    }
    cs_text_add(text, "}}\n");
}

/* The log of every rank. */
static inline void write_logs(const plant *p, cs_text logs[MAX_RANKS])
{
    for (uint32_t r = 0; r < p->n_ranks; r++) {
        for (uint64_t c = 0; c < p->n_calls; c++) {
            uint64_t call = p->is_mixed && c / 2 * 2 + 1 < p->n_calls ? c ^ 1 : c;
            add_record(p, call, r, &logs[r]);
        }
    }
}

static inline cs_status read_logs(const cs_text logs[], uint32_t n,
                                  const cs_arrival_options *options, cs_arrival_trace *trace,
                                  cs_arrival_notes *notes, cs_error *err)
{
    cs_arrival_text texts[MAX_RANKS] = {{0}};

    for (uint32_t r = 0; r < n; r++) {
        texts[r] =
            (cs_arrival_text){"log", logs[r].data != NULL ? logs[r].data : "", logs[r].length};
    }
    return cs_arrival_texts_read(texts, n, options, trace, notes, err);
}

/* What the logs of a plant say. */
typedef struct found {
    cs_arrival_trace trace;
    cs_arrival_notes notes;
    cs_skew          skew;
} found;

static inline void free_logs(cs_text logs[MAX_RANKS])
{
    for (uint32_t r = 0; r < MAX_RANKS; r++) {
        cs_text_free(&logs[r]);
    }
}

static inline found find(const plant *p)
{
    const cs_arrival_options options         = {0};
    cs_text                  logs[MAX_RANKS] = {{0}};
    found                    f               = {0};
    cs_error                 err             = {0};

    write_logs(p, logs);
    cr_assert_eq(read_logs(logs, p->n_ranks, &options, &f.trace, &f.notes, &err), CS_OK, "%s: %s",
                 err.where, err.message);
    cr_assert_eq(cs_skew_compute(&f.trace, &f.skew, &err), CS_OK);
    free_logs(logs);
    return f;
}

static inline void let_go(found *f)
{
    cs_skew_free(&f->skew);
    cs_arrival_trace_free(&f->trace);
    cs_arrival_notes_free(&f->notes);
}

static inline plant usual(void)
{
    return (plant){.n_ranks     = 16,
                   .per_server  = 8,
                   .who         = 11,
                   .n_calls     = 200,
                   .delay_s     = 5e-3,
                   .cause       = CS_LATE_HOST,
                   .jitter_s    = 2e-4,
                   .end_error_s = 2e-5,
                   .is_verbose  = true,
                   .first_sn    = 1};
}

#endif
