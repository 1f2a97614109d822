/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/optcc/interleave.h -- OptCC around a slow rank while one is late, by list scheduling.
 *
 * The transfers are those of OptCC: the healthy ranks h_0 .. h_{H-1} add up section j along their
 * ring to its owner, h_{j mod H} (S1), the rank that is gone around sends its contribution to the
 * owner (S3) and gets the final from there (S2), which goes around the ring, too (S4). Which of
 * them wait for the late rank is not known to a fixed order: S1 does not, and if the late rank is
 * the slow one nothing else can begin. So they are put in the order in which they would start if
 * every free port took the ready transfer with the smallest key: S2 and S3 by section, S4 of
 * section j at hop t by j + t/H + 1/2, S1 by j + t/H - lead. A lead of many sections lets S1 run
 * ahead as long as the late rank is not there.
 *
 * If another rank than the slow one is late, the slow one is as in OptCC. The late one sends its
 * contributions to the owners, and gets every final from the last rank of the ring.
 *
 * Kept are four bytes a transfer; making it takes O(transfers x log(transfers)).
 *
 * Source: this project (sim/doc/optcc.md).
 */
#ifndef CS_ALGORITHMS_OPTCC_INTERLEAVE_H
#define CS_ALGORITHMS_OPTCC_INTERLEAVE_H

#include "cs/algorithm.h"

/* Transfers of a schedule, and transfers x ranks of one that is looked for without being asked for,
 * at the most. */
enum { CS_INTERLEAVE_MOST = 1 << 20, CS_INTERLEAVE_MOST_TRIED = 1 << 24 };

typedef struct cs_interleave_shape {
    uint32_t p;          /* ranks, one a server */
    uint32_t slow, late; /* may be the same rank */
    uint32_t sections;   /* N */
    uint32_t lead;       /* in sections */
} cs_interleave_shape;

/* What transfers take, and when ranks come. */
typedef struct cs_interleave_pace {
    double        slowdown; /* of the slow rank */
    double        port_s;   /* of a message, beside its bytes */
    double        buffer_s; /* of the buffer over a healthy NIC */
    const double *arrival_s;
} cs_interleave_pace;

/* An order, which any number of streams go through at once. */
typedef struct cs_interleave {
    cs_interleave_shape shape;
    uint32_t           *order; /* owned; [n] numbers of transfers as they start */
    uint32_t            n;
    double              end_s;       /* on ports of alpha-beta, when all sections are equal */
    bool                lead_counts; /* another lead could make another order */
} cs_interleave;

typedef struct cs_interleave_stream {
    const cs_interleave *made; /* borrowed; NULL: there is none */
    uint64_t             bytes;
    uint8_t             *added; /* owned; [sections] contributions that have come to the owner */
    uint32_t             next;
} cs_interleave_stream;

/* Healthy ranks in the ring; transfers. */
uint32_t cs_interleave_ring(const cs_interleave_shape *shape);
uint64_t cs_interleave_transfers(const cs_interleave_shape *shape);

/* The order with the earliest end: of those that are tried where sections and lead are CS_AUTO, up
 * to 24 H sections and `most` transfers x ranks. Orders that cannot end by `until_s` are left out,
 * and `best->order` is NULL where all are. Another number of sections, and another lead, are only
 * tried where they can make a difference. CS_ENOMEM leaves nothing; the caller frees `best`. */
cs_status cs_interleave_choose(const cs_interleave_shape *shape, const cs_interleave_pace *pace,
                               uint64_t bytes, uint64_t most, double until_s, cs_interleave *best,
                               cs_error *err);
void      cs_interleave_free(cs_interleave *made);

cs_plan   cs_interleave_plan(const cs_interleave_shape *shape);
cs_status cs_interleave_begin(cs_interleave_stream *stream, const cs_interleave *made,
                              uint64_t bytes, cs_error *err);
void      cs_interleave_next(cs_interleave_stream *stream, cs_block *block);

#endif
