/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli/workers_args.h -- what the commands share that work through a configuration on many threads,
 * or on many processes under mpirun, into a database. */
#ifndef CS_CLI_WORKERS_ARGS_H
#define CS_CLI_WORKERS_ARGS_H

#include "cli/args.h"
#include "cli/config_args.h"
#include "sweep/ranks.h"

/* Rows of a command's table; ids from CS_WORKERS_ARG_FIRST on are not its own. */
enum {
    CS_WORKERS_ARG_FIRST = 900,
    CS_WORKERS_OUTPUT,
    CS_WORKERS_JOBS,
    CS_WORKERS_SET,
    CS_WORKERS_QUIET,
    CS_WORKERS_ACCEPT_BUILD
};
#define CS_WORKERS_JOBS_ROW                                          \
    {                                                                \
        CS_WORKERS_JOBS, 'j', "jobs", "JOBS",                        \
            "threads (one per processor; under mpirun one per rank)" \
    }
#define CS_WORKERS_SET_ROW CS_CONFIG_SET_ROW(CS_WORKERS_SET)
#define CS_WORKERS_QUIET_ROW                                             \
    {                                                                    \
        CS_WORKERS_QUIET, 'q', "quiet", NULL, "print nothing but errors" \
    }

#define CS_WORKERS_ACCEPT_BUILD_ROW                                     \
    {                                                                   \
        CS_WORKERS_ACCEPT_BUILD, 0, "accept-build", NULL,               \
            "go on in a database with rows of another build of collsim" \
    }

/* What was chosen; `{0}` is nothing. Texts are borrowed from the command line. */
typedef struct cs_workers_choice {
    cs_config_choice config;
    const char      *output; /* NULL: none */
    unsigned         jobs;   /* 0: not said */
    bool             is_quiet, accepts_builds;
} cs_workers_choice;

/* Take the configuration's path or an option from CS_WORKERS_ARG_FIRST on. */
cs_status cs_workers_choice_add(cs_workers_choice *choice, int id, const cs_args *args,
                                cs_error *err);

/* Is the output the name of a file, not something special to SQLite? */
cs_status cs_workers_check_output(const cs_workers_choice *choice, cs_error *err);

/* The configuration with what --set says; the caller owns it, also after an error. */
cs_status cs_workers_config(const cs_workers_choice *choice, cs_config **config_p, cs_error *err);

/* How many threads. */
unsigned cs_workers_jobs(const cs_workers_choice *choice, const cs_ranks *ranks);

/* Shall progress be drawn? Then with cs_workers_draw(): a bar with a few words behind it. */
bool cs_workers_shows_progress(const cs_workers_choice *choice);
void cs_workers_draw(uint64_t done, uint64_t total, const char *words);

/* Say how many scenarios have no row for want of memory, a file or a part of the program, and why
 * the first has none. `keeps`: a database has the others. Returns the exit code. */
int cs_workers_say_missing(const char *command, size_t missing, size_t total,
                           const cs_error *failure, bool keeps);

/* The end of a command with that exit code; returns the code of this process. A rank that is not 0
 * has told rank 0 what is wrong: mpirun's exit code is rank 0's. */
int cs_workers_leave(cs_ranks *ranks, int code);

#endif
