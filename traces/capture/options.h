/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capture/options.h -- the command line that the capture programs share:
 * PROGRAM SCHEDULE.json.. [options], and what each adds to it. */
#ifndef CAPTURE_OPTIONS_H
#define CAPTURE_OPTIONS_H

#include "base/text.h"
#include "cs/error.h"

#include <stddef.h>
#include <stdint.h>

/* Exit codes: all is well; numbers were wrong; the command or a file is wrong; a rank, a socket or
 * the machine failed; what is needed is not there (root). */
enum { CAP_OK = 0, CAP_WRONG = 1, CAP_USAGE = 2, CAP_BROKEN = 3, CAP_SKIPPED = 77 };

/* One option; a table of them ends with one without a name. `take` gets the text behind it (NULL
 * where `value` is NULL). */
typedef struct cap_option {
    const char *name;  /* "--late" */
    const char *value; /* "RANK=TIME", for the help; NULL: it takes none */
    const char *help;
    cs_status (*take)(void *target, const char *text, cs_error *err);
} cap_option;

/* A program: what its help says, and its own options. */
typedef struct cap_program {
    const char       *name;              /* "collsim-testbed" */
    const char       *summary;           /* one line */
    const cap_option *options;           /* or NULL */
    bool              needs_no_schedule; /* something can be done without */
} cap_program;

/* A rank that enters later. */
typedef struct cap_late {
    uint32_t rank;
    double   late_s;
} cap_late;

typedef struct cap_options {
    const char **schedules; /* [n_schedules] files; owned, the texts are borrowed from argv */
    size_t       n_schedules;
    uint32_t     repetitions; /* 5 */
    uint32_t     warmups;     /* 1: run before them, not reported */
    cap_late    *late;        /* [n_late] owned */
    size_t       n_late;
    char         machine[65];         /* one word; the host's name */
    const char *json, *table, *trace; /* files to write; NULL: none, the table to standard output */
    const char *links;                /* what a program found out about links; set by its option */
    bool        is_quiet;             /* no table on standard output */
    bool        is_done;              /* help or version was asked for and printed */
    size_t      schedule_capacity, late_capacity;
} cap_options;

/* Read the command line into `options` and the program's options into `target`. CS_EINVAL: the
 * message says what is accepted. To be freed in any case. */
cs_status cap_options_parse(int argc, char **argv, const cap_program *program, void *target,
                            cap_options *options, cs_error *err);
void      cap_options_free(cap_options *options);

/* When every rank enters, [n_ranks], in a schedule of n_ranks; refuses a late rank that it does not
 * have. The caller owns it (cs_free). NULL: nobody is late. */
cs_status cap_options_late(const cap_options *options, uint32_t n_ranks, double **late_p,
                           cs_error *err);

/* Write a text to a file, whole or not at all; NULL: to standard output. */
cs_status cap_write(const char *path, const cs_text *text, cs_error *err);

/* Print an error as one line on standard error, "PROGRAM: FILE:LINE:COLUMN: KEY: ..", and return
 * the exit code that belongs to its status. */
int cap_fail(const cap_program *program, const cs_error *err);

#endif
