/* SPDX-License-Identifier: GPL-3.0-or-later */
/* input/lines.h -- the lines of a file of any length, plain or compressed with gzip, in bounded
 * memory.
 *
 * A line ends with LF (a CR before it is blank to whoever reads it) or with the file. Of a line
 * that is longer than CS_LINES_MOST_BYTES the beginning is handed out, the rest is skipped.
 */
#ifndef CS_INPUT_LINES_H
#define CS_INPUT_LINES_H

#include "cs/error.h"

#include <stdbool.h>
#include <stddef.h>

#define CS_LINES_MOST_BYTES ((size_t)1 << 20)

typedef struct cs_lines cs_lines;

/* Without its end; valid until the next line is read. */
typedef struct cs_line_view {
    const char *text;
    size_t      length;
    int         number;     /* 1-based; that of line INT_MAX for all behind it */
    bool        is_cut;     /* longer than CS_LINES_MOST_BYTES */
    bool        has_no_end; /* the file ends in it */
} cs_line_view;

/* Begin to read a file. A file that cannot be opened, or is no regular one, is CS_EIO. Errors name
 * it. */
CS_MUST_CHECK cs_status cs_lines_open(const char *path, cs_lines **lines_p, cs_error *err);

/* Begin to read what is in memory, which must outlive the lines. */
CS_MUST_CHECK cs_status cs_lines_open_text(const char *text, size_t length, cs_lines **lines_p,
                                           cs_error *err);

/* What is in reach and not read yet, at most CS_LINES_MOST_BYTES; `*length_p` bytes. */
const char *cs_lines_ahead(const cs_lines *lines, size_t *length_p);

/* The next line; *more_p is false at the end. What is damaged or cut off inside compression is
 * CS_EPARSE, after all lines in front of it (the last one has no end). Some 5 GB/s. */
CS_MUST_CHECK cs_status cs_lines_next(cs_lines *lines, cs_line_view *line_p, bool *more_p,
                                      cs_error *err);

/* Which share of the file has been read, 0 .. 1, compressed or not; of a text in memory 0. */
double cs_lines_share(const cs_lines *lines);

/* NULL is allowed. */
void cs_lines_close(cs_lines *lines);

#endif
