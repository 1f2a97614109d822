/* SPDX-License-Identifier: GPL-3.0-or-later */
/* input/path.h -- where in a JSON document: "cluster.nic.bandwidth", "faults[2].rank".
 *
 * A key that is not made of letters, digits, '_' and '-' is written as ["a key"], with a
 * backslash before quotes and backslashes in it: sweep["cluster.ranks"][1]. A path that ends
 * in "[]" appends to an array.
 */
#ifndef CS_INPUT_PATH_H
#define CS_INPUT_PATH_H

#include "cs/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { CS_PATH_BYTES = 256, CS_PATH_STEPS = 16 };

/* One step down: into an object by key, or into an array by index (`key` is NULL). */
typedef struct cs_step {
    const char *key;
    size_t      index;
} cs_step;

typedef struct cs_path {
    size_t  n_steps;
    bool    appends; /* ended in "[]" */
    cs_step steps[CS_PATH_STEPS];
    char    keys[CS_PATH_BYTES]; /* what the steps point into */
} cs_path;

/* Take a path apart. The result points into itself: do not copy it. */
cs_status cs_path_parse(const char *text, cs_path *path, cs_error *err);

/* Write `base` and one more step to `text` (CS_PATH_BYTES). What does not fit is cut. `text`
 * may be `base`. */
void cs_path_add_key(char *text, const char *base, const char *key);
void cs_path_add_index(char *text, const char *base, size_t index);

/* Is `path` the same place as `prefix`, or below it? Returns what follows the prefix, or NULL. */
const char *cs_path_below(const char *prefix, const char *path);

#endif
