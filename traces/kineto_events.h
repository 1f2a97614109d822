/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/kineto_events.h -- the events of a Chrome trace, and the NCCL kernels among those that
 * PyTorch's profiler (Kineto) writes.
 */
#ifndef CS_TRACES_KINETO_EVENTS_H
#define CS_TRACES_KINETO_EVENTS_H

#include "cs/scenario.h"
#include "input/reader.h"
#include "traces/arrival_file.h"

/* A JSON text as a trace: an array of events, or an object with the key traceEvents. */
typedef struct cs_event_file {
    const cs_arrival_text *text;
    json_t                *tree;
    json_t                *events; /* an array; borrowed from the tree */
} cs_event_file;

/* Parse a text; on CS_OK json_decref(file_p->tree) is the caller's. */
CS_MUST_CHECK cs_status cs_event_file_parse(const cs_arrival_text *text, cs_event_file *file_p,
                                            cs_error *err);

/* Fill an error at event `index` of a file, or at one of its keys or of its args, as "args.step"
 * (NULL: at the event). */
cs_status cs_event_refuse(const cs_event_file *file, size_t index, const char *key,
                          const char *message, cs_error *err);

/* Is it a complete event ("ph": "X")? Start and duration in microseconds then. A start or
 * duration that is missing, no number or negative (duration) is refused. */
CS_MUST_CHECK cs_status cs_event_span(const cs_event_file *file, size_t index, bool *is_span_p,
                                      double *start_us_p, double *duration_us_p, cs_error *err);

/* A process or thread id as text ("3", "trainer"), in the arena; "" where there is none. NULL when
 * out of memory. */
const char *cs_event_id(const json_t *event, const char *key, cs_arena *arena);

/* One NCCL kernel. Texts live in the arena. */
typedef struct cs_nccl_call {
    double        start_us, duration_us;
    double        queued_us; /* from the host's launch of the kernel to its start; NAN: not said */
    size_t        event;     /* index in the file */
    const char   *process;   /* whose kernel: the device, in Kineto's traces */
    const char   *stream;
    const char   *group;      /* name of the process group; "": not said */
    const char   *members;    /* its ranks as the trace has them; "": not said */
    uint64_t      group_size; /* 0: not said */
    cs_collective collective;
    uint64_t      bytes; /* as nccl-tests counts them; 0: not said */
} cs_nccl_call;

/* NCCL kernels that are no call of a collective that is known. */
typedef struct cs_nccl_left_out {
    size_t      n_point_to_point; /* sends and receives */
    size_t      n_others;         /* gather, scatter, coalesced operations, .. */
    size_t      n_unnamed;        /* nothing says what they are of */
    const char *other; /* the first of the others, in the arena of its trace; NULL: none */
} cs_nccl_left_out;

/* What one file says. */
typedef struct cs_nccl_trace {
    cs_arena         arena;
    cs_nccl_call    *calls; /* in the arena; collectives only, in the order of the file */
    size_t           n_calls;
    size_t           n_kernels; /* with those that are left out */
    cs_nccl_left_out left_out;
    int64_t          rank;       /* -1: not said */
    int64_t          world_size; /* -1: not said */
} cs_nccl_trace;

/* "12 sends and receives; 3 of 'gather'"; empty where nothing is left out. */
void cs_nccl_left_out_text(const cs_nccl_left_out *left_out, char *text, size_t bytes);

/* Take the NCCL kernels out of a file. The caller owns the trace (cs_nccl_trace_free) on CS_OK. */
CS_MUST_CHECK cs_status cs_nccl_trace_read(const cs_event_file *file, cs_nccl_trace *trace_p,
                                           cs_error *err);
void                    cs_nccl_trace_free(cs_nccl_trace *trace);

#endif
