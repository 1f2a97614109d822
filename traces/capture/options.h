/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capture/options.h -- the command line that the capture programs share:
 * PROGRAM SCHEDULE.json.. [options], and what each adds to it. */
#ifndef CAPTURE_OPTIONS_H
#define CAPTURE_OPTIONS_H

#include "cs/error.h"

#include <stddef.h>
#include <stdint.h>

/* Exit codes: numbers were wrong; the command or a file is wrong; a rank, a socket or the machine
 * failed; what is needed is not there (root, a device). */
enum { CAP_OK = 0, CAP_WRONG = 1, CAP_USAGE = 2, CAP_BROKEN = 3, CAP_SKIPPED = 77 };

/* One option. `take` gets the text behind it (NULL where `value` is NULL). */
typedef struct cap_option {
    const char *name;  /* "--late" */
    const char *value; /* "RANK=TIME", for the help; NULL: it takes none */
    const char *help;
    cs_status (*take)(void *target, const char *text, cs_error *err);
} cap_option;

/* A rank that enters later. */
typedef struct cap_late {
    uint32_t rank;
    double   late_s;
} cap_late;

typedef struct cap_options {
    const char **schedules; /* [n_schedules] files */
    size_t       n_schedules;
    uint32_t     repetitions; /* 5 */
    uint32_t     warmups;     /* 1: run before them, not reported */
    cap_late    *late;        /* [n_late] */
    size_t       n_late;
    const char  *machine; /* one word; the host's name */
    const char  *json;    /* files to write; NULL: none */
    const char  *table;   /* NULL: standard output */
    const char  *trace;
    bool         wants_help, wants_version;
} cap_options;

/* Read the command line. `extra` are options of the program (it ends with a row without a name),
 * which fill `target`. Texts are borrowed from argv. CS_EINVAL: the message says what is accepted.
 */
cs_status cap_options_parse(int argc, char **argv, const cap_option *extra, void *target,
                            cap_options *options, cs_error *err);
void      cap_options_free(cap_options *options);

/* The help. */
void cap_options_help(const char *program, const char *summary, const cap_option *extra);

/* When every rank enters, [n_ranks], of a schedule of n_ranks; a late rank that it does not have is
 * refused. The caller owns it (cs_free). `*late_p` is NULL where nobody is late. */
cs_status cap_options_late(const cap_options *options, uint32_t n_ranks, double **late_p,
                           cs_error *err);

/* Write a text to a file, whole or not at all; NULL: to standard output. */
struct cs_text;
cs_status cap_write(const char *path, const struct cs_text *text, cs_error *err);

/* Print an error as a line on standard error, "PROGRAM: FILE:LINE:COLUMN: KEY: ..", and return the
 * exit code that belongs to its status. */
int cap_fail(const char *program, const cs_error *err);

#endif
