/* SPDX-License-Identifier: GPL-3.0-or-later */
/* algorithms/stragglar/klate_spread.h -- a round of spreading complete chunks over the ports that
 * are free: the second half of a round of klate.h.
 *
 * Receivers in the order (fewest complete chunks, label); each takes the lowest free sender of the
 * rarest chunk that it lacks (fewest holders, then the chunk's number). Who finds none tries
 * augmenting paths, which makes the number of pairs as large as it can be. Then every
 * pair carries the rarest chunk that is useful to it.
 */
#ifndef CS_ALGORITHMS_STRAGGLAR_KLATE_SPREAD_H
#define CS_ALGORITHMS_STRAGGLAR_KLATE_SPREAD_H

#include "base/arena.h"
#include "cs/error.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct cs_klate_pair {
    uint32_t src, dst, chunk;
} cs_klate_pair;

typedef struct cs_klate_spread {
    uint32_t       n, chunks;
    uint32_t       chunk_words, label_words;
    uint64_t      *full;      /* [n][chunk_words] bit c: has the complete chunk c */
    uint64_t      *holders;   /* [chunks][label_words] the same, the other way round */
    uint32_t      *n_full;    /* [n] */
    uint32_t      *n_holders; /* [chunks] */
    uint64_t       n_missing; /* (label, chunk) pairs */
    bool          *sends;     /* [n] the port is taken in this round; the caller's to set */
    bool          *gets;      /* [n] */
    bool          *is_away;   /* [n] has not come yet; the caller's to set */
    cs_klate_pair *pairs;     /* [n] what the round adds */
    uint32_t       n_pairs;
    cs_klate_pair *notes; /* [2 n] labels that get a complete chunk in this round (src unused) */
    uint32_t       n_notes;
    uint32_t      *order, n_order;         /* [chunks] chunks to spread, rarest first */
    uint32_t      *receivers, n_receivers; /* [n] */
    uint64_t      *free_senders;           /* [label_words] */
    uint64_t      *seen; /* [label_words] senders that no search may take any more */
    uint64_t      *dead; /* [label_words] ... and those of searches without success */
    uint32_t      *sender_of, *receiver_of; /* [n] or CS_KLATE_NOBODY */
    uint32_t      *stack, *via;             /* [n] receivers of a search, sender that led on */
    uint32_t      *bucket;                  /* [max(n, chunks) + 2] for sorting */
} cs_klate_spread;

#define CS_KLATE_NOBODY UINT32_MAX

/* All memory is the arena's. */
cs_status cs_klate_spread_start(cs_klate_spread *spread, uint32_t n, uint32_t chunks,
                                cs_arena *arena, cs_error *err);

/* `label` has the complete chunk after this round. */
static inline void cs_klate_spread_note(cs_klate_spread *spread, uint32_t label, uint32_t chunk)
{
    spread->notes[spread->n_notes++] = (cs_klate_pair){0, label, chunk};
}

/* Choose the pairs of this round, given the ports that are taken; returns their number. */
uint32_t cs_klate_spread_round(cs_klate_spread *spread);

/* After the round: what was noted and what was sent is there. */
void cs_klate_spread_end(cs_klate_spread *spread);

#endif
