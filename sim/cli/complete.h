/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli/complete.h -- what a shell may offer at the end of a command line. */
#ifndef CS_CLI_COMPLETE_H
#define CS_CLI_COMPLETE_H

#include "cli/cli.h"

/* Add what fits the last of `count` >= 1 words behind "collsim", which may be empty or half
 * written: a line for each word, with a tab and what it means behind it, and a line ":files" where
 * a file may stand there. `commands` ends with NULL. */
void cs_complete(cs_text *text, const cs_command *const *commands, int count, char *const *words);

#endif
