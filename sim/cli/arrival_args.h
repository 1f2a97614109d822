/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli/arrival_args.h -- the options that say how a trace of arrivals is read. */
#ifndef CS_CLI_ARRIVAL_ARGS_H
#define CS_CLI_ARRIVAL_ARGS_H

#include "cli/args.h"
#include "traces/arrival_file.h"

enum { CS_ARRIVAL_MAX_PATHS = 256 };

/* What was chosen; `{0}` is nothing. Texts are borrowed from the command line. */
typedef struct cs_arrival_choice {
    const char        *paths[CS_ARRIVAL_MAX_PATHS];
    size_t             n_paths;
    cs_arrival_options options;
} cs_arrival_choice;

/* The table to put beside a command's own, of a cs_arrival_choice; ends with --help. */
extern const cs_arg cs_arrival_args[];

#endif
