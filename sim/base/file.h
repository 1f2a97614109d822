/* SPDX-License-Identifier: GPL-3.0-or-later */
/* base/file.h -- whole files in, whole files out. */
#ifndef CS_BASE_FILE_H
#define CS_BASE_FILE_H

#include "cs/error.h"

#include <stddef.h>

/* Read a regular file of at most `max_bytes` into a new buffer with a NUL behind it; the
 * caller owns it (cs_free). A missing or unreadable file is CS_EIO, a larger one CS_EINVAL;
 * both name the file. */
cs_status cs_file_read(const char *path, size_t max_bytes, char **data_p, size_t *length_p,
                       cs_error *err);

/* Write `length` bytes to `path`: to a temporary file in the same folder first, synced, then
 * renamed, so that no partial file is ever left under the final name. A file that was there keeps
 * its permissions. Where `path` is not a regular file (/dev/stdout, a pipe), it is written
 * directly. */
cs_status cs_file_write(const char *path, const char *data, size_t length, cs_error *err);

#endif
