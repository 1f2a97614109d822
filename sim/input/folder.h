/* SPDX-License-Identifier: GPL-3.0-or-later */
/* input/folder.h -- a folder that stands for its files. */
#ifndef CS_INPUT_FOLDER_H
#define CS_INPUT_FOLDER_H

#include "cs/error.h"

#include <stdbool.h>
#include <stddef.h>

/* `{0}` may be freed. */
typedef struct cs_folder {
    char **paths; /* FOLDER/NAME, by name, numbers in names by their value: rank2 before rank10 */
    size_t n, capacity;
} cs_folder;

/* Is there a folder at the path? */
bool cs_folder_is(const char *path);

/* The regular files in a folder (links to such, too), but hidden ones, and not those of folders in
 * it. CS_EIO where it cannot be read, CS_EINVAL where there are more than `most`. cs_folder_free()
 * it in any case. O(n log n). */
CS_MUST_CHECK cs_status cs_folder_read(const char *path, size_t most, cs_folder *folder,
                                       cs_error *err);

void cs_folder_free(cs_folder *folder);

#endif
