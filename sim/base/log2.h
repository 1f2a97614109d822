/* SPDX-License-Identifier: GPL-3.0-or-later */
/* base/log2.h -- binary logarithms of whole numbers. */
#ifndef CS_BASE_LOG2_H
#define CS_BASE_LOG2_H

#include <stdint.h>

/* Largest k with 2^k <= n; n >= 1. */
static inline uint32_t cs_log2_floor(uint64_t n)
{
    return 63u - (uint32_t)__builtin_clzll(n);
}

/* Least k with 2^k >= n; 0 for n <= 1. */
static inline uint32_t cs_log2_ceil(uint64_t n)
{
    return n <= 1 ? 0 : cs_log2_floor(n - 1) + 1;
}

#endif
