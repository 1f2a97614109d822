/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Growing texts: numbers that read back, JSON and CSV quoting, memory running out. */
#include "base/alloc.h"
#include "base/random.h"
#include "base/text.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_and_free(cs_text *text, const char *expected)
{
    cr_assert_eq(cs_text_status(text, NULL), CS_OK);
    cr_assert_str_eq(text->data, expected);
    cr_assert_eq(text->length, strlen(expected));
    cs_text_free(text);
    cr_assert_null(text->data);
}

static void check_number(double value, const char *expected)
{
    cs_text text = {0};
    cs_text_add_number(&text, value);
    check_and_free(&text, expected);
}

static void check_json(const char *string, const char *expected)
{
    cs_text text = {0};
    cs_text_add_json_string(&text, string);
    check_and_free(&text, expected);
}

static void check_csv(const char *field, const char *expected)
{
    cs_text text = {0};
    cs_text_add(&text, "%s", "|");
    cs_text_add_csv_field(&text, field);
    check_and_free(&text, expected);
}

Test(text, pieces_are_joined)
{
    cs_text text = {0};

    cs_text_add(&text, "%d-%s", 12, "ab");
    cs_text_add_bytes(&text, "cdef", 2);
    cs_text_add_bytes(&text, "", 0);
    cs_text_add(&text, "!");
    check_and_free(&text, "12-abcd!");
}

Test(text, it_grows)
{
    cs_text text = {0};
    char    piece[300];

    memset(piece, 'p', sizeof piece);
    for (size_t n = 1; n <= sizeof piece; n++) {
        cs_text_add_bytes(&text, piece, n);
        cr_assert_eq(text.length, n * (n + 1) / 2);
        cr_assert_eq(strlen(text.data), text.length);
        cr_assert(text.length < text.capacity);
    }
    cs_text_free(&text);
}

Test(text, a_piece_of_exactly_the_room_that_is_left)
{
    for (int length = 120; length < 140; length++) {
        cs_text text = {0};
        cs_text_add(&text, "%*d", length, 7);
        cr_assert_eq(text.length, (size_t)length);
        cr_assert_eq(text.data[length - 1], '7');
        cr_assert(text.capacity > text.length);
        cs_text_free(&text);
    }
}

Test(text, numbers)
{
    check_number(0, "0");
    check_number(1, "1");
    check_number(-2.5, "-2.5");
    check_number(0.1, "0.1");
    check_number(0.1 + 0.2, "0.30000000000000004");
    check_number(1.0 / 3.0, "0.3333333333333333");
    check_number(1e300, "1e+300");
    check_number(4.48e-3, "0.00448");
    check_number(nan(""), "null");
    check_number(HUGE_VAL, "null");
    check_number(-HUGE_VAL, "null");
}

Test(text, every_number_reads_back)
{
    gsl_rng *stream = cs_random_stream(1, "text");

    cr_assert_not_null(stream);
    for (int i = 0; i < 20000; i++) {
        cs_text text = {0};
        double  value =
            ldexp(gsl_rng_uniform(stream) - 0.5, (int)gsl_rng_uniform_int(stream, 2000) - 1000);
        cs_text_add_number(&text, value);
        cr_assert(strtod(text.data, NULL) == value, "%s is not %.17g", text.data, value);
        cr_assert(text.length <= 24);
        cs_text_free(&text);
    }
    gsl_rng_free(stream);
}

Test(text, json_strings)
{
    check_json(NULL, "null");
    check_json("", "\"\"");
    check_json("a \"b\" \\ /", "\"a \\\"b\\\" \\\\ /\"");
    check_json("\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\"");
    check_json("\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\"");
    check_json("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
}

Test(text, json_strings_are_valid_utf8)
{
#define R "\xef\xbf\xbd"
    check_json("a\xff"
               "b",
               "\"a" R "b\"");
    check_json("\xc0\xaf", "\"" R R "\"");
    check_json("\xe2\x82", "\"" R R "\"");
    check_json("\xed\xa0\x80", "\"" R R R "\"");
    check_json("\xe0\x80\x80", "\"" R R R "\"");
    check_json("\xf5\x80\x80\x80", "\"" R R R R "\"");
    check_json("\x80", "\"" R "\"");
    check_json("\xc3", "\"" R "\"");
    check_json("\xf4\x8f\xbf\xbf\xf4\x90\x80\x80", "\"\xf4\x8f\xbf\xbf" R R R R "\"");
}

Test(text, csv_fields)
{
    check_csv(NULL, "|");
    check_csv("", "|");
    check_csv("plain text", "|plain text");
    check_csv("a,b", "|\"a,b\"");
    check_csv("say \"x\"", "|\"say \"\"x\"\"\"");
    check_csv("two\nlines", "|\"two\nlines\"");
    check_csv("\r", "|\"\r\"");
    check_csv(" x", "|\" x\"");
    check_csv("x ", "|\"x \"");
}

/* Fail the 1st, 2nd, ... allocation: the text keeps what it had and says that it failed. */
Test(text, memory_runs_out)
{
    for (long passes = 0;; passes++) {
        cs_text  text = {0};
        cs_error err  = {0};
        cs_alloc_fail_after(passes);
        for (int i = 0; i < 1000; i++) {
            cs_text_add(&text, "%d", i % 10);
            cs_text_add_json_string(&text, "x");
        }
        cs_alloc_fail_after(-1);
        cs_status status = cs_text_status(&text, &err);
        cr_assert_eq(status, text.failed ? CS_ENOMEM : CS_OK);
        cr_assert_eq(err.status, status);
        cr_assert(text.data == NULL || strlen(text.data) == text.length);
        bool failed = text.failed;
        cr_assert(failed || text.length == 4000);
        cs_text_free(&text);
        cr_assert_not(text.failed);
        if (!failed) {
            cr_assert_eq(passes, 6);
            break;
        }
        cr_assert(passes < 20);
    }
}

Test(text, plain_texts_are_one_line_of_utf8)
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
    cs_plain_text(text, sizeof text,
                  "a\x7f\xC2\x9F\xC2\xA0"
                  "b");
    cr_assert_str_eq(text,
                     "a???\xC2\xA0"
                     "b",
                     "controls behind ASCII, too");
}
