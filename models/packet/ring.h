/* SPDX-License-Identifier: GPL-3.0-or-later */
/* models/packet/ring.h -- a queue, first in, first out, of items of any type: an array whose ends
 * meet. Every call is told the size of an item, which is the same for all of a ring.
 */
#ifndef CS_MODELS_PACKET_RING_H
#define CS_MODELS_PACKET_RING_H

#include "base/alloc.h"

#include <stdint.h>
#include <string.h>

/* `{0}` is empty. */
typedef struct cs_ring {
    char    *items;             /* owned; whoever has the ring frees them */
    uint32_t head, n, capacity; /* a power of two */
} cs_ring;

static inline void *cs_ring_at(const cs_ring *r, uint32_t i, size_t bytes)
{
    return r->items + (size_t)((r->head + i) & (r->capacity - 1)) * bytes;
}

static inline void cs_ring_drop_first(cs_ring *r)
{
    r->head = (r->head + 1) & (r->capacity - 1);
    r->n--;
}

/* Room for one more at the end, or NULL: out of memory. */
static inline void *cs_ring_append(cs_ring *r, size_t bytes)
{
    if (r->n == r->capacity) {
        uint32_t capacity = r->capacity == 0 ? 4 : 2 * r->capacity;
        char    *items    = capacity == 0 ? NULL : cs_realloc(r->items, capacity, bytes);
        if (items == NULL) {
            return NULL;
        }
        memcpy(items + (size_t)r->capacity * bytes, items, (size_t)r->head * bytes);
        r->items    = items;
        r->capacity = capacity;
    }
    return cs_ring_at(r, r->n++, bytes);
}

#endif
