/* SPDX-License-Identifier: GPL-3.0-or-later */
/* base/alloc.h -- every allocation of the library passes here, so that a test can make the
 * n-th one fail.
 */
#ifndef CS_BASE_ALLOC_H
#define CS_BASE_ALLOC_H

#include "cs/error.h"

#include <stdbool.h>
#include <stddef.h>

/* `count` zeroed objects of `size` bytes; NULL when out of memory, when count * size
 * overflows, or when a test asked for a failure. A count of 0 gives a valid pointer. */
void *cs_calloc(size_t count, size_t size);

/* As realloc() for count * size bytes; the old block stays valid on failure. */
void *cs_realloc(void *memory, size_t count, size_t size);

/* Make the array that the pointer at `array_p` points to hold `needed` objects of `size` bytes:
 * twice as many as now, `first` where it has none, or so many if that is more. The objects that are
 * new are not set. False when out of memory: all is as it was. O(1) amortised. */
bool cs_grow(void *array_p, size_t *capacity_p, size_t needed, size_t first, size_t size);

/* The same for one of several arrays that grow together: to `count` objects. */
bool cs_resize(void *array_p, size_t count, size_t size);

/* A copy of `text`, or NULL. */
char *cs_strdup(const char *text);

/* NULL is allowed. */
void cs_free(void *memory);

/* For tests, per thread: let `passes` more allocations succeed, then fail every one.
 * A negative number switches failing off. */
void cs_alloc_fail_after(long passes);

#define CS_NEW(type, count) ((type *)cs_calloc((count), sizeof(type)))

#endif
