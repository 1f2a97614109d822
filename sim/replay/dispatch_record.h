/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replay/dispatch_record.h -- blocks that are under way, kept for observers, who see every block
 * once it has ended as a whole, in stream order. */
#ifndef CS_REPLAY_DISPATCH_RECORD_H
#define CS_REPLAY_DISPATCH_RECORD_H

#include "cs/replay.h"

typedef struct cs_page cs_page;

/* `{0}` with the observers is an empty record. */
typedef struct cs_record {
    const cs_observer *observers;
    size_t             n_observers;
    double             first_s; /* the first arrival as the dispatcher counts; 0 for observers */
    cs_page          **pages;   /* owned: a ring of `capacity`, page number i at i % capacity */
    size_t             capacity;
    uint64_t           first, end; /* pages [first, end) are under way */
    cs_page           *spare;      /* one that can be used again, or NULL */
} cs_record;

/* Keep a copy of the next block; its number is how many came before. */
CS_MUST_CHECK cs_status cs_record_add(cs_record *record, const cs_block *block);

/* The message that begins with transfer `offset` of block `number`, of `parts` transfers. */
void cs_record_end(cs_record *record, uint64_t number, size_t offset, size_t parts,
                   cs_interval held, double startup_s);

/* Show what has ended. */
CS_MUST_CHECK cs_status cs_record_show(cs_record *record, cs_error *err);

void cs_record_free(cs_record *record);

#endif
