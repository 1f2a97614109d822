/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "support/program.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/wait.h>

#ifndef COLLSIM_BINARY
#define COLLSIM_BINARY "collsim"
#endif

int ct_program(const char *arguments, const char *streams, cs_text *text)
{
    char   command[1024], block[4096];
    size_t got;
    int length = snprintf(command, sizeof command, "%s %s %s", COLLSIM_BINARY, arguments, streams);

    cr_assert(length > 0 && (size_t)length < sizeof command, "too long: %s", arguments);
    FILE *pipe = popen(command, "r"); /* NOLINT(cert-env33-c): the test's own words */
    cr_assert_not_null(pipe);
    while ((got = fread(block, 1, sizeof block, pipe)) > 0) {
        cs_text_add_bytes(text, block, got);
    }
    cs_text_add(text, "%s", "");
    int status = pclose(pipe);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
