/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli/cli.h -- what the commands share: the only part of collsim that prints or exits. */
#ifndef CS_CLI_CLI_H
#define CS_CLI_CLI_H

#include "base/text.h"
#include "cli/args.h"

/* Exit codes of the contract. */
enum { CS_EXIT_DONE = 0, CS_EXIT_NO = 1, CS_EXIT_USAGE = 2, CS_EXIT_FAILED = 3 };

enum { CS_EXAMPLES = 2 };

typedef struct cs_command {
    const char         *name;
    const char         *usage;                 /* "run [CONFIG.json] [options]" */
    const char         *summary;               /* one line */
    const cs_arg_table *tables;                /* its options; ended by one without rows */
    const char         *examples[CS_EXAMPLES]; /* "collsim run ..": lines of a shell that succeed
                                                  where configs/ and traces/ are */
    /* Run it; `count` and `words` are the arguments behind the command's name. Returns the exit
     * code. */
    int (*run)(int count, char *const *words);
} cs_command;

/* One line per command. */
#define CS_COMMANDS(X) \
    X(run)             \
    X(sweep)           \
    X(plot)            \
    X(report)          \
    X(serve)           \
    X(figure)          \
    X(schedule)        \
    X(verify)          \
    X(bound)           \
    X(expect)          \
    X(diagnose)        \
    X(hunt)            \
    X(critical)        \
    X(profile)         \
    X(synthesize)      \
    X(compare)         \
    X(whatif)          \
    X(topology)        \
    X(arrivals)        \
    X(montecarlo)      \
    X(calibrate)       \
    X(relay)           \
    X(list)            \
    X(bench)
#define X(name) extern const cs_command cs_command_##name;
CS_COMMANDS(X)
#undef X

/* Print "collsim: ..." to standard error and return the exit code of the status. */
int cs_cli_fail(const cs_error *err);

/* The exit code of a status. */
int cs_cli_exit_code(cs_status status);

/* Write the text to `path`, or to standard output when `path` is NULL or "-". */
cs_status cs_cli_write(const char *path, const cs_text *text, cs_error *err);

/* Print the text to standard output and free it. Returns CS_EXIT_DONE or CS_EXIT_FAILED. */
int cs_cli_print(cs_text *text);

/* Is standard output a terminal that shows colours, and does nobody refuse them (NO_COLOR)? */
bool cs_cli_has_colour(void);

/* Print the help of a command from its tables. Returns CS_EXIT_DONE. */
int cs_cli_help(const cs_command *command);

/* Put all arguments into the job's structs, until --help or an error. */
CS_MUST_CHECK cs_status cs_cli_read(const cs_command *command, int count, char *const *words,
                                    void *job, bool *wants_help_p, cs_error *err);

/* A command whose answer is one text: read the arguments, then print the help, or what `answer`
 * adds to the text, or what is wrong. Returns the exit code. */
typedef cs_status cs_cli_reply(void *job, cs_text *text, cs_error *err);
int cs_cli_answer(const cs_command *command, int count, char *const *words, cs_cli_reply *answer,
                  void *job);

/* For the end of an answer: write it to `path` instead of having it printed, unless that is
 * NULL. */
cs_status cs_cli_write_output(const char *path, cs_text *text, cs_error *err);

#endif
