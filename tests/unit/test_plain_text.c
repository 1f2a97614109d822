/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts out of logs become one line of UTF-8. */
#include "traces/plain_text.h"

#include <criterion/criterion.h>

Test(plain_text, texts_are_one_line_of_utf8)
{
    char text[8];

    cs_plain_text(text, sizeof text, "8 \xC3\x97 A");
    cr_assert_str_eq(text, "8 \xC3\x97 A");
    cs_plain_text(text, sizeof text, "a\nb\xFF\xC3");
    cr_assert_str_eq(text, "a?b??");
    cs_plain_text(text, sizeof text, "123456\xC3\x97");
    cr_assert_str_eq(text, "123456", "cut between characters");
    cs_plain_text(text, sizeof text, "\xC0\x80\xED\xA0\x80");
    cr_assert_str_eq(text, "?????");
}
