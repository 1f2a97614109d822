/* SPDX-License-Identifier: GPL-3.0-or-later */
/* base/alloc.h -- every allocation of the library passes here, so that a test can make the
 * n-th one fail.
 */
#ifndef CS_BASE_ALLOC_H
#define CS_BASE_ALLOC_H

#include "cs/error.h"

#include <stddef.h>

/* `count` zeroed objects of `size` bytes; NULL when out of memory, when count * size
 * overflows, or when a test asked for a failure. A count of 0 gives a valid pointer. */
void *cs_calloc(size_t count, size_t size);

/* As realloc() for count * size bytes; the old block stays valid on failure. */
void *cs_realloc(void *memory, size_t count, size_t size);

/* A copy of `text`, or NULL. */
char *cs_strdup(const char *text);

/* NULL is allowed. */
void cs_free(void *memory);

/* For tests, per thread: let `passes` more allocations succeed, then fail every one.
 * A negative number switches failing off. */
CS_API void cs_alloc_fail_after(long passes);

#define CS_NEW(type, count) ((type *)cs_calloc((count), sizeof(type)))

#endif
