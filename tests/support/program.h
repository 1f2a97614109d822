/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tests/support/program.h -- the program as a user runs it. */
#ifndef CT_SUPPORT_PROGRAM_H
#define CT_SUPPORT_PROGRAM_H

#include "base/text.h"

#include <jansson.h>

/* Run collsim with arguments and redirections ("2>&1") of a shell; returns its exit code, -1 where
 * it did not exit, and adds what it printed to `text`. */
int ct_program(const char *arguments, const char *streams, cs_text *text);

/* Run it: that is the exit code, and those words are among what it prints, to either stream. */
void ct_program_says(const char *arguments, int code, const char *words);

/* Run it with success: the first of the results that it prints as JSON. The caller frees it. */
json_t *ct_program_result(const char *arguments);

#endif
