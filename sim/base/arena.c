/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An arena is a list of zeroed blocks that are filled from the front.
 *
 * The first block has 8 KiB (a small replay fits, and zeroing more would take longer than
 * replaying it), each further one twice the last up to 4 MiB, or as much as one
 * object needs. What remains of a block when the next one starts is lost until
 * cs_arena_free(). Nothing is moved, so pointers stay valid.
 */
#include "base/arena.h"

#include "base/alloc.h"

#include <stdint.h>
#include <string.h>

enum { FIRST_BLOCK_BYTES = 8 * 1024, LARGEST_GROWTH_BYTES = 4 * 1024 * 1024 };

typedef struct cs_arena_block {
    struct cs_arena_block *older;
    size_t                 capacity, used; /* in units of max_align_t */
    max_align_t            data[];
} cs_arena_block;

/* A new block with room for `units` at the head of the list, or NULL. */
static cs_arena_block *add_block(cs_arena *arena, size_t units)
{
    size_t capacity = FIRST_BLOCK_BYTES / sizeof(max_align_t);

    if (arena->blocks != NULL) {
        size_t limit = LARGEST_GROWTH_BYTES / sizeof(max_align_t);
        capacity     = arena->blocks->capacity < limit / 2 ? arena->blocks->capacity * 2 : limit;
    }
    if (capacity < units) {
        capacity = units;
    }
    cs_arena_block *block = cs_calloc(1, sizeof(cs_arena_block) + capacity * sizeof(max_align_t));
    if (block != NULL) {
        block->older    = arena->blocks;
        block->capacity = capacity;
        arena->blocks   = block;
    }
    return block;
}

void *cs_arena_alloc(cs_arena *arena, size_t count, size_t size)
{
    size_t most = SIZE_MAX / 2 - sizeof(cs_arena_block);

    if (size > 0 && count > most / size) {
        return NULL;
    }
    size_t bytes = count * size > 0 ? count * size : 1;
    size_t units = (bytes - 1) / sizeof(max_align_t) + 1;

    cs_arena_block *block = arena->blocks;
    if (block == NULL || block->capacity - block->used < units) {
        block = add_block(arena, units);
    }
    if (block == NULL) {
        return NULL;
    }
    void *memory = block->data + block->used;
    block->used += units;
    return memory;
}

char *cs_arena_strdup(cs_arena *arena, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char  *copy  = cs_arena_alloc(arena, bytes, 1);

    if (copy != NULL) {
        memcpy(copy, text, bytes);
    }
    return copy;
}

void cs_arena_free(cs_arena *arena)
{
    while (arena->blocks != NULL) {
        cs_arena_block *older = arena->blocks->older;
        cs_free(arena->blocks);
        arena->blocks = older;
    }
}
