/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/arrival_rows.h -- what the readers of arrival traces share: single records, in any
 * order, become calls that every rank takes part in.
 *
 * A record says when a rank came to a call (on one clock, or as an offset), how long it was
 * inside, or both. Where only the time inside is known, all ranks are taken to leave the call
 * together, as a blocking collective has it: arrival = longest time inside - own time inside, so
 * the rank that was inside for the shortest time came last.
 */
#ifndef CS_TRACES_ARRIVAL_ROWS_H
#define CS_TRACES_ARRIVAL_ROWS_H

#include "base/listener.h"
#include "base/text.h"
#include "cs/arrivals.h"

#include <stdbool.h>

/* More than this many entries (calls x ranks) are refused. */
#define CS_ARRIVAL_MAX_ENTRIES ((size_t)1 << 26)

/* How a trace is read; `{0}` is the default. */
typedef struct cs_arrival_options {
    bool        sets_warmup;     /* leave out the first `warmup` iterations instead of what the */
    uint32_t    warmup;          /* format does by itself (logs of StragglAR: 1; others: none) */
    bool        skip_incomplete; /* leave out iterations that lack a rank; else they are refused */
    const char *category;     /* timelines: the events that are a rank's work, with commas between
                                 several; NULL: the only category there is */
    const char        *group; /* NCCL traces: the process group; NULL: the one with most calls */
    const char        *collective; /* NCCL traces: which of its calls; NULL: "allreduce" */
    const cs_listener *listener;   /* told how far long logs are read; NULL: nobody */
} cs_arrival_options;

/* What was read, for people. */
typedef struct cs_arrival_notes {
    const char *format;       /* static storage */
    size_t      n_records;    /* taken from the input */
    size_t      n_warmup;     /* iterations left out as warm-up */
    size_t      n_incomplete; /* ... because a rank was missing */
    double      period_s;     /* mean time from call to call; NAN: not known */
    double end_resolution_s;  /* ends of a call that are no farther apart are the same, as finely
                                 as the times are given; NAN: the ends are not measured, all ranks
                                 are taken to leave a call together */
    const char *collective;   /* of all calls, as NCCL writes it; NULL: not known */
    char        group[64];    /* the process group; "": not known */
    cs_text     text;         /* a sentence a line about what was assumed and left out */
} cs_arrival_notes;

/* What was left out and assumed, a sentence a line. */
void cs_arrival_notes_text(const cs_arrival_notes *notes, cs_text *text);

/* `{0}` is allowed. */
void cs_arrival_notes_free(cs_arrival_notes *notes);

/* One record. */
typedef struct cs_arrival_row {
    uint64_t iteration;
    uint32_t rank;
    int      line, column; /* where it stands in the input; 0: unknown */
    double   arrival_s;    /* NAN: not known */
    double   inside_s;     /* NAN: not known */
    double   queued_s;     /* from the host's call to the arrival; NAN: not known */
    double   period_s;     /* of the iteration; NAN: not known */
    uint64_t bytes;        /* 0: not known */
} cs_arrival_row;

typedef struct cs_arrival_rows {
    cs_arrival_row *rows; /* owned */
    size_t          n, capacity;
} cs_arrival_rows;

/* Keep a record. */
CS_MUST_CHECK cs_status cs_arrival_rows_add(cs_arrival_rows *rows, const cs_arrival_row *row,
                                            cs_error *err);
void                    cs_arrival_rows_free(cs_arrival_rows *rows);

/* Put the records together (they are sorted on the way); `warmup` iterations at the beginning are
 * left out unless the options say otherwise. `name` is the input's name in errors. Refused:
 * ranks that are nowhere, a rank twice in an iteration, iterations without all ranks (unless
 * skipped), a clock that steps backwards, sizes that differ inside an iteration, a single rank. On
 * CS_OK the trace is the caller's and the counts and the period of `notes` are set. O(n log n). */
CS_MUST_CHECK cs_status cs_arrival_rows_build(cs_arrival_rows          *rows,
                                              const cs_arrival_options *options, uint32_t warmup,
                                              const char *name, cs_arrival_trace *trace_p,
                                              cs_arrival_notes *notes, cs_error *err);

#endif
