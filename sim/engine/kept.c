/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks under way. */
#include "engine/kept.h"

#include "base/alloc.h"
#include "engine/dispatch.h"
#include "models/lib/serve.h"

#include <string.h>

/* A block with when its messages held their ports. */
typedef struct cs_kept_block {
    cs_block    block;
    size_t      left; /* transfers that have not ended */
    cs_transfer transfers[CS_DISPATCH_BLOCK];
    cs_interval intervals[CS_DISPATCH_BLOCK];
} kept_block;

static cs_status grow(cs_kept_blocks *k)
{
    size_t       capacity = k->capacity == 0 ? 16 : 2 * k->capacity;
    kept_block **blocks   = CS_NEW(kept_block *, capacity);

    if (blocks == NULL) {
        return CS_ENOMEM;
    }
    for (uint64_t i = k->first; k->capacity > 0 && i < k->end; i++) {
        blocks[i % capacity] = k->blocks[i % k->capacity];
    }
    cs_free(k->blocks);
    k->blocks   = blocks;
    k->capacity = capacity;
    return CS_OK;
}

cs_status cs_kept_add(cs_kept_blocks *k, const cs_block *block)
{
    if (k->end - k->first == k->capacity && grow(k) != CS_OK) {
        return CS_ENOMEM;
    }
    kept_block *b = k->spare != NULL ? k->spare : CS_NEW(kept_block, 1);
    if (b == NULL) {
        return CS_ENOMEM;
    }
    k->spare           = NULL;
    b->block           = *block;
    b->block.transfers = b->transfers;
    b->left            = block->count;
    memcpy(b->transfers, block->transfers, block->count * sizeof *block->transfers);
    k->blocks[k->end++ % k->capacity] = b;
    return CS_OK;
}

void cs_kept_end(cs_kept_blocks *k, uint64_t number, size_t offset, size_t parts, cs_interval held,
                 double startup_s)
{
    kept_block *b = k->blocks[number % k->capacity];

    cs_slice_message(&b->transfers[offset], parts, held, startup_s, &b->intervals[offset]);
    for (size_t i = offset; i < offset + parts; i++) {
        b->intervals[i].start_s -= k->first_s;
        b->intervals[i].end_s -= k->first_s;
    }
    b->left -= parts;
}

static cs_status show(const cs_kept_blocks *k, const kept_block *b, cs_error *err)
{
    for (size_t i = 0; i < k->n_observers; i++) {
        const cs_observer *o = &k->observers[i];
        if (o->block != NULL) {
            CS_TRY(o->block(o->user, &b->block, b->intervals, err));
        }
    }
    return CS_OK;
}

cs_status cs_kept_show(cs_kept_blocks *k, cs_error *err)
{
    cs_status status = CS_OK;

    while (k->first < k->end && status == CS_OK) {
        kept_block *b = k->blocks[k->first % k->capacity];
        if (b->left > 0) {
            break;
        }
        status = show(k, b, err);
        cs_free(k->spare);
        k->spare = b;
        k->first++;
    }
    return status;
}

void cs_kept_free(cs_kept_blocks *k)
{
    for (uint64_t i = k->first; i < k->end; i++) {
        cs_free(k->blocks[i % k->capacity]);
    }
    cs_free(k->spare);
    cs_free(k->blocks);
    *k = (cs_kept_blocks){0};
}
