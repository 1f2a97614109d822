/* SPDX-License-Identifier: GPL-3.0-or-later */
/* input/gzip.h -- files that may be compressed with gzip, told by their first two bytes.
 *
 * A file may have several members, one after the other; zeros behind the last one are padding, as
 * gzip has it. What is damaged or cut off is CS_EPARSE and says which; memory that zlib needs
 * (some 40 KiB) passes through base/alloc.h.
 */
#ifndef CS_INPUT_GZIP_H
#define CS_INPUT_GZIP_H

#include "cs/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Does it begin as a gzip file? */
bool cs_gzip_is(const char *data, size_t length);

/* Unpack what is in memory: at most `most_bytes`, else CS_EINVAL. The text has a NUL behind it and
 * is the caller's (cs_free). O(length of the text). */
CS_MUST_CHECK cs_status cs_gzip_unpack(const char *data, size_t length, size_t most_bytes,
                                       char **text_p, size_t *length_p, cs_error *err);

/* cs_file_read() of a file that may be compressed: `most_bytes` holds for the file and for what it
 * unpacks to. Errors name the file. */
CS_MUST_CHECK cs_status cs_gzip_read(const char *path, size_t most_bytes, char **text_p,
                                     size_t *length_p, cs_error *err);

/* Unpacking piece by piece, in bounded memory. */
typedef struct cs_gzip cs_gzip;

/* Begin at the place where `file` (borrowed) is. */
CS_MUST_CHECK cs_status cs_gzip_open(FILE *file, cs_gzip **gzip_p, cs_error *err);

/* The next bytes: `room` of them, fewer only at the end, and where what follows is damaged: then
 * CS_EPARSE, with those in front of the damage. */
CS_MUST_CHECK cs_status cs_gzip_next(cs_gzip *gzip, char *bytes, size_t room, size_t *n_p,
                                     cs_error *err);

/* NULL is allowed. */
void cs_gzip_close(cs_gzip *gzip);

#endif
