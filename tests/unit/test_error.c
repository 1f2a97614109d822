/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The error record: first error wins, one line, the right parts in the right order. */
#include "cs/error.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static void check_text(const cs_error *err, const char *expected)
{
    char text[1024];

    cs_error_text(err, text, sizeof text);
    cr_assert_str_eq(text, expected);
}

Test(error, every_status_has_its_own_text)
{
    for (int i = 0; i < CS_STATUS_COUNT; i++) {
        cr_assert(strlen(cs_status_text((cs_status)i)) > 0);
        for (int j = 0; j < i; j++) {
            cr_assert_str_neq(cs_status_text((cs_status)i), cs_status_text((cs_status)j));
        }
    }
    cr_assert_str_eq(cs_status_text(CS_OK), "success");
    cr_assert_str_eq(cs_status_text((cs_status)99), "unknown status");
    cr_assert_str_eq(cs_status_text((cs_status)-1), "unknown status");
}

Test(error, the_first_error_wins)
{
    cs_error err = {0};

    cr_assert_eq(CS_FAIL(&err, CS_EINVAL, "a", "first %d", 1), CS_EINVAL);
    int line = __LINE__ - 1;
    cr_assert_eq(CS_FAIL(&err, CS_EIO, "b", "second"), CS_EIO);
    cr_assert_eq(err.status, CS_EINVAL);
    cr_assert_eq(err.line, line);
    cr_assert_not_null(strstr(err.file, "test_error.c"));
    check_text(&err, "a: first 1");
}

Test(error, a_null_record_is_allowed)
{
    cr_assert_eq(CS_FAIL(NULL, CS_ENOMEM, NULL, "nothing"), CS_ENOMEM);
    cs_error_locate(NULL, "file", 1, 1);
}

Test(error, text_has_the_known_parts_only)
{
    cs_error err = {0};
    check_text(&err, "success");

    (void)CS_FAIL(&err, CS_EPARSE, NULL, "bad comma");
    check_text(&err, "bad comma");
    cs_error_locate(&err, "a.json", 3, 14);
    check_text(&err, "a.json:3:14: bad comma");

    err.input_column = 0;
    check_text(&err, "a.json:3: bad comma");
    err.input_line = 0;
    check_text(&err, "a.json: bad comma");
    memcpy(err.where, "key", 4);
    check_text(&err, "a.json: key: bad comma");
    err.input[0]   = '\0';
    err.input_line = 7;
    check_text(&err, "7: key: bad comma");
    err.message[0] = '\0';
    check_text(&err, "7: key: malformed input");
}

Test(error, text_is_cut_to_the_buffer)
{
    cs_error err     = {0};
    char     text[8] = "xxxxxxx";

    (void)CS_FAIL(&err, CS_EINVAL, NULL, "abcdefghij");
    cs_error_text(&err, text, 0);
    cr_assert_str_eq(text, "xxxxxxx");
    cs_error_text(&err, text, 5);
    cr_assert_str_eq(text, "abcd");
}

Test(error, only_a_filled_record_is_located_and_once)
{
    cs_error err = {0};

    cs_error_locate(&err, "early", 1, 1);
    (void)CS_FAIL(&err, CS_EINVAL, NULL, "m");
    check_text(&err, "m");
    cs_error_locate(&err, "first", 2, 0);
    cs_error_locate(&err, "second", 5, 5);
    check_text(&err, "first:2: m");
}

Test(error, control_characters_are_replaced)
{
    cs_error err = {0};

    (void)CS_FAIL(&err, CS_EINVAL, "k\ney", "a\nb\tc\x1b[31m\x7f");
    cs_error_locate(&err, "in\rput", 1, 1);
    check_text(&err, "in?put:1:1: k?ey: a?b?c?[31m?");
}

Test(error, a_long_path_keeps_its_tail)
{
    cs_error err = {0};
    char     path[500];

    memset(path, 'x', sizeof path);
    memcpy(path + sizeof path - 11, "/name.json", 11);
    (void)CS_FAIL(&err, CS_EINVAL, NULL, "m");
    cs_error_locate(&err, path, 0, 0);
    cr_assert_eq(strlen(err.input), sizeof err.input - 1);
    cr_assert_eq(strncmp(err.input, "...x", 4), 0);
    cr_assert_str_eq(err.input + strlen(err.input) - 10, "/name.json");
}

Test(error, a_long_message_is_cut_with_dots)
{
    cs_error err = {0};
    char     exact[sizeof err.message], longer[sizeof err.message + 1];

    memset(exact, 'm', sizeof exact - 1);
    memset(longer, 'm', sizeof longer - 1);
    exact[sizeof exact - 1]   = '\0';
    longer[sizeof longer - 1] = '\0';
    (void)CS_FAIL(&err, CS_EINVAL, longer, "%s", exact);
    cr_assert_str_eq(err.message, exact);
    cr_assert_str_eq(err.where + sizeof err.where - 5, "m...");

    err = (cs_error){0};
    (void)CS_FAIL(&err, CS_EINVAL, NULL, "%s", longer);
    cr_assert_eq(strlen(err.message), sizeof err.message - 1);
    cr_assert_str_eq(err.message + sizeof err.message - 5, "m...");
}
