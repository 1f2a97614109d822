/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli/arrival_args.h -- the options that say how a trace of arrivals is read. */
#ifndef CS_CLI_ARRIVAL_ARGS_H
#define CS_CLI_ARRIVAL_ARGS_H

#include "cli/args.h"
#include "config/arrival_file.h"

/* The table to put beside a command's own; ends with --help. */
extern const cs_arg cs_arrival_args[];
enum { CS_ARRIVAL_ARG_FIRST = 200, CS_ARRIVAL_ARG_LAST = 299, CS_ARRIVAL_MAX_PATHS = 256 };

/* What was chosen; `{0}` is nothing. Texts are borrowed from the command line. */
typedef struct cs_arrival_choice {
    const char        *paths[CS_ARRIVAL_MAX_PATHS];
    size_t             n_paths;
    cs_arrival_options options;
    const char        *last_option; /* the last one given, for errors; NULL: none */
} cs_arrival_choice;

/* Is it an id of this table? */
static inline bool cs_arrival_arg_is(int id)
{
    return id >= CS_ARRIVAL_ARG_FIRST && id <= CS_ARRIVAL_ARG_LAST;
}

/* Take an option of the table. */
cs_status cs_arrival_choice_add(cs_arrival_choice *choice, int id, const cs_args *args,
                                cs_error *err);

/* Take the path of a trace. */
cs_status cs_arrival_choice_path(cs_arrival_choice *choice, const char *path, cs_error *err);

#endif
