/* SPDX-License-Identifier: GPL-3.0-or-later */
/* base/heap.h -- a heap of numbers, the smallest first, in an array of whoever uses it. */
#ifndef CS_BASE_HEAP_H
#define CS_BASE_HEAP_H

#include <stddef.h>
#include <stdint.h>

/* Add a number to the `*n_p` that are there; the array has room. O(log n). */
static inline void cs_heap_push(uint32_t *heap, size_t *n_p, uint32_t value)
{
    size_t i = (*n_p)++;

    while (i > 0 && heap[(i - 1) / 2] > value) {
        heap[i] = heap[(i - 1) / 2];
        i       = (i - 1) / 2;
    }
    heap[i] = value;
}

/* Take the smallest of the `*n_p` >= 1 numbers. O(log n). */
static inline uint32_t cs_heap_pop(uint32_t *heap, size_t *n_p)
{
    uint32_t top = heap[0], last = heap[--*n_p];
    size_t   i = 0;

    for (size_t child = 1; child < *n_p; child = 2 * i + 1) {
        child += child + 1 < *n_p && heap[child + 1] < heap[child];
        if (heap[child] >= last) {
            break;
        }
        heap[i] = heap[child];
        i       = child;
    }
    heap[i] = last;
    return top;
}

#endif
