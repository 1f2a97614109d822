/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/support/stream.h -- a schedule written down: recorded from an algorithm or made by hand,
 * changed at will, and played back as an algorithm. */
#ifndef CT_SUPPORT_STREAM_H
#define CT_SUPPORT_STREAM_H

#include "support/scene.h"

/* The barrier in front of the transfer that has CS_FENCE. */
typedef struct ct_fence {
    uint32_t except;
    double   cost_s;
} ct_fence;

typedef struct ct_stream {
    cs_transfer *transfers; /* owned */
    ct_fence    *fences;    /* owned, one for every transfer */
    size_t       count, capacity;
} ct_stream;

/* The stream of a checked scene, asked for in blocks of `capacity`. A block that breaks the
 * rules of cs_block fails the test. */
ct_stream ct_stream_record(const ct_scene *scene, size_t capacity);

ct_stream ct_stream_copy(const ct_stream *stream);
void      ct_stream_free(ct_stream *stream);
bool      ct_stream_equal(const ct_stream *a, const ct_stream *b);

/* Insert before `index`, or remove; a fence stays where it was. */
void ct_stream_insert(ct_stream *stream, size_t index, cs_transfer transfer);
void ct_stream_remove(ct_stream *stream, size_t index);

/* Add at the end; `fence` goes with CS_FENCE (NULL: all ranks, free of cost). */
void ct_stream_add(ct_stream *stream, cs_transfer transfer, const ct_fence *fence);

/* Add a message of chunk 0 from slot 0 to slot 0, on the fabric between the two ranks. Valid until
 * the next one is added. */
cs_transfer *ct_stream_send(ct_stream *stream, const cs_cluster *cluster, uint32_t src,
                            uint32_t dst, uint64_t bytes, cs_op op, uint32_t flags);

/* Make the scene play the stream instead of its algorithm. The stream is borrowed, `plan` is
 * taken as it is. */
void ct_scene_play(ct_scene *scene, const ct_stream *stream, const cs_plan *plan);

/* Add 300 messages that use everything that `uses` of a plan declares. Each reads and writes from
 * one to `most_span` of `slots` slots (with CS_USES_SPAN, else one); chunks are below three. */
void ct_stream_add_random(ct_stream *stream, ct_rng *rng, const cs_cluster *cluster, uint32_t uses,
                          uint32_t slots, uint32_t most_span);

#endif
