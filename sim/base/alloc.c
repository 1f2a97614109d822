/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Allocation over calloc() and realloc(), with a countdown that lets a test fail the n-th.
 *
 * The countdown is thread-local: a test of one thread does not disturb the others, and
 * nothing needs a lock. Blocks come from the C library, so that free() and cs_free() agree.
 */
#include "base/alloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local long passes_left = -1;

void cs_alloc_fail_after(long passes)
{
    passes_left = passes;
}

/* Does this allocation have to fail? */
static int must_fail(void)
{
    if (passes_left > 0) {
        passes_left--;
        return 0;
    }
    return passes_left == 0;
}

/* No object may be larger than PTRDIFF_MAX bytes. */
static int is_too_large(size_t count, size_t size)
{
    return size > 0 && count > PTRDIFF_MAX / size;
}

void *cs_calloc(size_t count, size_t size)
{
    if (must_fail() || is_too_large(count, size)) {
        return NULL;
    }
    return calloc(count > 0 ? count : 1, size > 0 ? size : 1);
}

void *cs_realloc(void *memory, size_t count, size_t size)
{
    if (must_fail() || is_too_large(count, size)) {
        return NULL;
    }
    size_t bytes = count * size;
    return realloc(memory, bytes > 0 ? bytes : 1);
}

bool cs_resize(void *array_p, size_t count, size_t size)
{
    void *array;

    memcpy(&array, array_p, sizeof array); /* it is a pointer to any type of object */
    array = cs_realloc(array, count, size);
    if (array != NULL) {
        memcpy(array_p, &array, sizeof array);
    }
    return array != NULL;
}

bool cs_grow(void *array_p, size_t *capacity_p, size_t needed, size_t first, size_t size)
{
    size_t capacity = *capacity_p > 0 ? 2 * *capacity_p : first;

    if (needed <= *capacity_p) {
        return true;
    }
    capacity = capacity < needed ? needed : capacity;
    if (!cs_resize(array_p, capacity, size)) {
        return false;
    }
    *capacity_p = capacity;
    return true;
}

char *cs_strdup(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char  *copy  = cs_calloc(bytes, 1);

    if (copy != NULL) {
        memcpy(copy, text, bytes);
    }
    return copy;
}

void cs_free(void *memory)
{
    free(memory);
}
