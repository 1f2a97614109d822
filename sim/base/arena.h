/* SPDX-License-Identifier: GPL-3.0-or-later */
/* base/arena.h -- memory with one lifetime: allocate many, free all at once. */
#ifndef CS_BASE_ARENA_H
#define CS_BASE_ARENA_H

#include <stddef.h>

typedef struct cs_arena {
    struct cs_arena_block *blocks; /* newest first */
} cs_arena;

/* `cs_arena arena = {0};` is an empty arena; there is no init function. */

/* `count` zeroed objects of `size` bytes, aligned for any type, valid until
 * cs_arena_free(). NULL when out of memory or when count * size overflows. */
void *cs_arena_alloc(cs_arena *arena, size_t count, size_t size);

/* A copy of `text` in the arena, or NULL. */
char *cs_arena_strdup(cs_arena *arena, const char *text);

/* Release everything; the arena is empty and usable again. */
void cs_arena_free(cs_arena *arena);

#define CS_ARENA_NEW(arena, type, count) ((type *)cs_arena_alloc((arena), (count), sizeof(type)))

#endif
