/* SPDX-License-Identifier: GPL-3.0-or-later */
/* base/nearest.h -- "did you mean": the nearest of several names. */
#ifndef CS_BASE_NEAREST_H
#define CS_BASE_NEAREST_H

#include <stddef.h>

/* The name with the smallest edit distance to `word`, or NULL when none is near (distance
 * above a third of the word, at least 2, or nothing of the word left). Ties: the first. O(count *
 * length^2). */
const char *cs_nearest(const char *word, const char *const *names, size_t count);

#endif
