/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine/verify.h -- is this stream of transfers the collective that it claims to be?
 *
 * Fingerprints. Rank r's contribution to chunk c is the 64-bit word a[r] * b[c] (a, b pseudo-
 * random and odd, arithmetic modulo 2^64); a slot holds the wrapping sum of what was added into
 * it. When an end is DONE with a chunk, its word must be the sum over all contributors, and
 * the words that a rank was done with must add up to those it is owed. One wrong, lost or
 * doubled contribution is always caught, because the difference is an odd multiple of b[c] times
 * a difference of distinct odd words; several that happen to cancel survive with a
 * probability below 2^-56 (sim/doc/adr/0003-fingerprints.md).
 * Cost: a load, an addition and a store per transfer. Memory: 8 bytes per rank and slot.
 */
#ifndef CS_ENGINE_VERIFY_H
#define CS_ENGINE_VERIFY_H

#include "base/arena.h"
#include "cs/job.h"

typedef struct cs_chunk_print {
    uint64_t word; /* b */
    uint64_t want; /* of the final value */
} cs_chunk_print;

typedef struct cs_rank_print {
    uint64_t word; /* a */
    uint64_t done; /* sum of want over the chunks that the rank was done with */
} cs_rank_print;

typedef struct cs_fingerprints {
    const cs_scenario *scenario;
    uint32_t           n_ranks, n_ends, n_chunks; /* ends: cs_plan_ends() */
    size_t             n_slots;
    cs_rank_print     *rank;        /* [n_ends]; of a switch the word is 0 */
    cs_chunk_print    *chunk;       /* [n_chunks] */
    uint64_t          *value;       /* [n_ends][n_slots] */
    uint64_t           differences; /* 0 while every done value was right */
    bool               in_slots;    /* final values are in slots at the end: is_reactive */
    const bool        *is_out;      /* [n_ranks] or NULL: cs_fingerprints_leave_out() */
} cs_fingerprints;

/* Prepare; all memory is the arena's. */
cs_status cs_fingerprints_open(cs_fingerprints *f, cs_arena *arena, const cs_scenario *scenario,
                               const cs_plan *plan, cs_error *err);

/* Follow one block. */
void cs_fingerprints_block(cs_fingerprints *f, const cs_block *block);

/* At the end of the stream: was everything right and everything owed delivered? */
bool cs_fingerprints_hold(const cs_fingerprints *f);

/* At the end of a reactive stream: nothing is owed of and to these ranks. Borrowed. */
void cs_fingerprints_leave_out(cs_fingerprints *f, const bool *is_out);

/* The same with the first rank and chunk of which a slot ends wrong, of a reactive
 * stream. */
cs_verdict cs_fingerprints_verdict(const cs_fingerprints *f);

/* Follow the whole stream of a resolved job again with contribution counts and name the first wrong
 * rank, chunk and round: for n_ranks <= 64, and without counts (values only) beyond. Fills
 * `verdict`. */
cs_status cs_locate_error(const cs_job *job, cs_verdict *verdict, cs_error *err);

#endif
