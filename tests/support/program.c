/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "support/program.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
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

void ct_program_says(const char *arguments, int code, const char *words)
{
    cs_text text = {0};
    int     is   = ct_program(arguments, "2>&1", &text);

    cr_expect_eq(is, code, "%s: exit %d: %s", arguments, is, text.data);
    cr_expect_not_null(strstr(text.data, words), "%s: '%s' is not in '%s'", arguments, words,
                       text.data);
    cs_text_free(&text);
}

json_t *ct_program_result(const char *arguments)
{
    cs_text text = {0};

    cr_assert_eq(ct_program(arguments, "2>&1", &text), 0, "%s: %s", arguments, text.data);
    json_t *list = json_loads(text.data, 0, NULL);
    cr_assert_not_null(list, "%s", text.data);
    json_t *first = json_incref(json_array_get(list, 0));
    json_decref(list);
    cs_text_free(&text);
    return first;
}
