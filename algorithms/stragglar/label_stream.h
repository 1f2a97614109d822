/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/label_stream.h -- stored rounds between labels as transfers between ranks.
 *
 * For one late rank: label N. An iterator, O(1) per transfer.
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_LABEL_STREAM_H
#define CS_ALGORITHMS_STRAGGLAR_LABEL_STREAM_H

#include "algorithms/stragglar/label_rounds.h"
#include "algorithms/stragglar/late_layout.h"

typedef struct cs_label_stream {
    const cs_late_layout  *layout; /* borrowed, with its tables, as the rounds */
    const cs_label_rounds *rounds;
    uint32_t               first_round; /* of the stream, for round 0 of `rounds` */
    uint32_t               turn;        /* early label g stands for g + turn mod N ... */
    uint32_t               shift;       /* ... and chunk c for c + shift mod 2^32 */
    bool                   has_barrier; /* a barrier of all ranks before the first transfer */
    double                 barrier_s;
    uint32_t               round; /* of `rounds`; begin with 0 */
    size_t                 next;
} cs_label_stream;

/* Fill the empty block; false when all rounds are done. */
bool cs_label_stream_next(cs_label_stream *stream, cs_block *block);

#endif
