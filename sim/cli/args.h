/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli/args.h -- the options of a command, from a table that is also its help. */
#ifndef CS_CLI_ARGS_H
#define CS_CLI_ARGS_H

#include "base/text.h"

#include <stdbool.h>

/* One option. A row without a name and letter is a heading of the help. */
typedef struct cs_arg {
    int         id;     /* what cs_args_next() returns; > 0 */
    char        letter; /* -x, or 0 */
    const char *name;   /* --name, or NULL */
    const char *value;  /* what the help calls its value, or NULL: it has none */
    const char *help;
} cs_arg;

enum { CS_ARG_END = 0, CS_ARG_OPERAND = -1, CS_ARG_ERROR = -2 };

typedef struct cs_args {
    const cs_arg *tables[4]; /* ended by NULL; each ends with a row of id 0 */
    int           count;     /* as main()'s argc and argv, from the first argument on */
    char *const  *words;
    int           at;
    bool          only_operands; /* -- was seen */
    const char   *value;         /* of the last option, or the operand */
    const char   *option;        /* the last option as it was written */
    char          name[32];      /* its canonical name, "--ranks" */
    const char   *rest;          /* letters that follow in one word */
} cs_args;

/* The next option's id, CS_ARG_OPERAND, CS_ARG_END or, with `err` filled, CS_ARG_ERROR. */
int cs_args_next(cs_args *args, cs_error *err);

/* Add the help of one table. */
void cs_args_help(cs_text *text, const cs_arg *table);

#endif
