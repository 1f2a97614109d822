/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/log_line.h -- the lines of a program's log, without what launchers and terminals
 * put into it.
 *
 * A line ends with LF, CR LF or CR. Everything that is not the program's own text becomes a
 * blank, so that columns stay where they are in the file: ANSI escape sequences and other
 * control characters, a byte order mark, quote marks of mail and threads, time stamps of
 * container logs, and the labels of launchers ("0: ", "[1,0]<stdout>:", "[0]", which srun also
 * repeats inside a line). A line that begins with '#' keeps what is in brackets inside it.
 */
#ifndef CS_TRACES_LOG_LINE_H
#define CS_TRACES_LOG_LINE_H

#include "cs/error.h"
#include "input/gzip.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define CS_LOG_MAX_LINE_BYTES ((size_t)64 * 1024)
#define CS_LOG_MAX_BYTES      ((size_t)256 * 1024 * 1024)
#define CS_LOG_MAX_TOKENS     64

typedef struct cs_log_token {
    const char *text;
    int         column; /* 1-based, in the file */
} cs_log_token;

/* One line; valid until the next one is read. */
typedef struct cs_log_line {
    const char  *text;       /* cleaned, NUL-terminated */
    int          number;     /* 1-based */
    bool         is_comment; /* begins with '#' */
    size_t       n_tokens;   /* may exceed the tokens that are kept */
    cs_log_token tokens[CS_LOG_MAX_TOKENS];
    int          fault_column; /* set by whoever finds a fault in the line; 0 = unknown */
} cs_log_line;

typedef struct cs_log_reader {
    const char *text; /* borrowed, or what is there of the file */
    size_t      length, offset;
    char       *clean, *words; /* owned */
    FILE       *file;          /* NULL: a text in memory; owned */
    cs_gzip    *gzip;          /* what unpacks the file; NULL: it is not compressed; owned */
    char       *window;        /* what `text` is of a file; owned */
    bool        is_at_end;     /* of the file */
    cs_log_line line;
} cs_log_reader;

/* Begin to read `length` bytes; they must outlive the reader. Refuses texts larger than
 * CS_LOG_MAX_BYTES and texts with NUL bytes (binary files, UTF-16). O(length). */
cs_status cs_log_reader_open(cs_log_reader *reader, const char *text, size_t length, cs_error *err);

/* Begin to read a file, which may be compressed with gzip, and of which no more is in memory than a
 * line may be long. A file of any length is read; NUL bytes are refused where they come. */
cs_status cs_log_reader_open_file(cs_log_reader *reader, const char *path, cs_error *err);

/* The first character that is no blank, of what is not read yet; '\0' if there is none in reach. */
char cs_log_reader_peek(const cs_log_reader *reader);

/* Read the next line into reader->line; *more_p is false at the end. A line longer than
 * CS_LOG_MAX_LINE_BYTES is an error. */
cs_status cs_log_reader_next(cs_log_reader *reader, bool *more_p, cs_error *err);

void cs_log_reader_close(cs_log_reader *reader);

#endif
