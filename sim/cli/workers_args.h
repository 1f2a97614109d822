/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli/workers_args.h -- what the commands share that work through a configuration on many threads,
 * or on many processes under mpirun, into a database. */
#ifndef CS_CLI_WORKERS_ARGS_H
#define CS_CLI_WORKERS_ARGS_H

#include "campaign/ranks.h"
#include "campaign/thread_pool.h"
#include "cli/config_args.h"

/* What was chosen; `{0}` is nothing. Texts are borrowed from the command line. */
typedef struct cs_workers_choice {
    cs_config_choice config;
    const char      *output; /* NULL: none */
    uint32_t         jobs;   /* 0: not said */
    bool             is_quiet, accepts_builds;
} cs_workers_choice;

/* Rows of a command whose job has a cs_workers_choice `choice`. */
#define CS_WORKERS_OUTPUT_ROW(job_, help_) \
    CS_ARG_TEXT(job_, choice.output, 'o', "output", "FILE.db", help_)
#define CS_WORKERS_JOBS_ROW(job_)                                                     \
    CS_ARG_NUMBER(job_, choice.jobs, 'j', "jobs", "JOBS",                             \
                  "threads (one per processor; under mpirun one per rank)", .min = 1, \
                  .max = CS_MAX_JOBS)
#define CS_WORKERS_QUIET_ROW(job_) \
    CS_ARG_FLAG(job_, choice.is_quiet, 'q', "quiet", "print nothing but errors")
#define CS_WORKERS_ACCEPT_BUILD_ROW(job_)                       \
    CS_ARG_FLAG(job_, choice.accepts_builds, 0, "accept-build", \
                "go on in a database with rows of another build of collsim")
#define CS_WORKERS_CONFIG_ROW(job_) CS_ARG_OPERAND(job_, choice.config.path, "configuration")
#define CS_WORKERS_TABLE(job_, args_)                                                             \
    {                                                                                             \
        .args = (args_), .object = 0, .config = offsetof(job_, choice.config), .last = CS_NOWHERE \
    }

/* Is the output the name of a file, not something special to SQLite? */
cs_status cs_workers_check_output(const cs_workers_choice *choice, cs_error *err);

/* The configuration with what --set says; the caller owns it, also after an error. */
cs_status cs_workers_config(const cs_workers_choice *choice, cs_config **config_p, cs_error *err);

/* How many threads. */
unsigned cs_workers_jobs(const cs_workers_choice *choice, const cs_ranks *ranks);

/* Say how many scenarios have no row for want of memory, a file or a part of the program, and why
 * the first has none. `keeps`: a database has the others. Returns the exit code. */
int cs_workers_say_missing(const char *command, size_t missing, size_t total,
                           const cs_error *failure, bool keeps);

/* The end of a command with that exit code; returns the code of this process. A rank that is not 0
 * has told rank 0 what is wrong: mpirun's exit code is rank 0's. */
int cs_workers_leave(cs_ranks *ranks, int code);

#endif
