/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Edit distance (insert, delete, replace) with one row of the table.
 *
 * Words and names of 64 characters and more are near to nothing: no name is that long.
 *
 * Source: R. A. Wagner and M. J. Fischer, "The string-to-string correction problem",
 * J. ACM 21 (1974).
 */
#include "base/nearest.h"

#include <string.h>

enum { LONGEST = 64 };

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Both lengths are below LONGEST. */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t row[LONGEST];

    for (size_t j = 0; j <= b_length; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a_length; i++) {
        size_t diagonal = row[0];
        row[0]          = i;
        for (size_t j = 1; j <= b_length; j++) {
            size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
            diagonal        = row[j];
            row[j]          = smallest(replaced, row[j] + 1, row[j - 1] + 1);
        }
    }
    return row[b_length];
}

const char *cs_nearest(const char *word, const char *const *names, size_t count)
{
    size_t      length = strlen(word);
    size_t      limit  = length / 3 > 2 ? length / 3 : 2;
    const char *best   = NULL;

    if (length >= LONGEST) {
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        size_t name_length = strlen(names[i]);
        if (name_length >= LONGEST) {
            continue;
        }
        size_t distance = edit_distance(word, length, names[i], name_length);
        if (distance <= limit && distance < length) {
            best = names[i];
            if (distance == 0) {
                break;
            }
            limit = distance - 1;
        }
    }
    return best;
}
