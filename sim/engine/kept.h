/* SPDX-License-Identifier: GPL-3.0-or-later */
/* engine/kept.h -- blocks under way, kept for observers, which see every block once it has ended as
 * a whole, in stream order. */
#ifndef CS_ENGINE_KEPT_H
#define CS_ENGINE_KEPT_H

#include "cs/job.h"

struct cs_kept_block;

/* All of them. `{0}` with the observers is empty. */
typedef struct cs_kept_blocks {
    const cs_observer *observers; /* borrowed */
    size_t             n_observers;
    double             first_s;    /* the first arrival as the dispatcher counts; 0 for observers */
    struct cs_kept_block **blocks; /* owned: a ring of `capacity`, number i at i % capacity */
    size_t                 capacity;
    uint64_t               first, end; /* blocks [first, end) are under way */
    struct cs_kept_block  *spare;      /* one that can be used again, or NULL */
} cs_kept_blocks;

/* Keep a copy of the next block, of CS_DISPATCH_BLOCK transfers at most; its number is how many
 * came before. Fails with CS_ENOMEM. */
CS_MUST_CHECK cs_status cs_kept_add(cs_kept_blocks *k, const cs_block *block);

/* The message that begins with transfer `offset` of block `number`, of `parts` transfers, has
 * ended. */
void cs_kept_end(cs_kept_blocks *k, uint64_t number, size_t offset, size_t parts, cs_interval held,
                 double startup_s);

/* Show what has ended. Fails as an observer does. */
CS_MUST_CHECK cs_status cs_kept_show(cs_kept_blocks *k, cs_error *err);

void cs_kept_free(cs_kept_blocks *k);

#endif
