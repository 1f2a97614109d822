/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The scanner against Jansson, and lines of files of any length. */
#include "base/alloc.h"
#include "base/text.h"
#include "input/json_scan.h"
#include "input/lines.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The sum of all numbers that are not in skipped values, and the length of all texts. */
static double sum_of(cs_scan *s);

static double sum_members(cs_scan *s)
{
    cs_scan_text key;
    double       sum = 0;

    while (cs_scan_key(s, &key)) {
        sum += (double)key.length + sum_of(s);
    }
    return sum;
}

static double sum_of(cs_scan *s)
{
    double       number = 0;
    cs_scan_text text;
    const char  *at = s->at;

    at += strspn(at, " \t\r\n");
    if (*at == '{') {
        return cs_scan_enter(s, '{') ? sum_members(s) : 0;
    }
    if (*at == '[') {
        double sum = 0;
        for (bool is_in = cs_scan_enter(s, '['); is_in && cs_scan_element(s);) {
            sum += sum_of(s);
        }
        return sum;
    }
    if (*at == '"') {
        return cs_scan_string(s, &text) ? (double)text.length : 0;
    }
    (void)cs_scan_number(s, &number);
    return number;
}

static double sum_of_tree(const json_t *tree)
{
    double      sum = 0;
    size_t      i;
    const char *key;
    json_t     *value;

    if (json_is_object(tree)) {
        json_object_foreach((json_t *)(uintptr_t)tree, key, value)
        {
            sum += (double)strlen(key) + sum_of_tree(value);
        }
    } else if (json_is_array(tree)) {
        json_array_foreach(tree, i, value)
        {
            sum += sum_of_tree(value);
        }
    } else if (json_is_string(tree)) {
        sum = (double)json_string_length(tree);
    } else if (json_is_number(tree)) {
        sum = json_number_value(tree);
    }
    return sum;
}

static const char *const good[] = {
    "{}",
    "[]",
    "[1, 2.5, -3e2, 0.1e-3, 1234567890123456789, 1e300]",
    "{\"a\": {\"b\": [1, {\"c\": 2}], \"d\": \"x\"}, \"e\": true, \"f\": null, \"g\": false}",
    " { \"a\" : [ ] , \"b\" : { } , \"cc\" : [ [ 7 ] , \"]\" , \"{\" ] } \n",
    "{\"kernel_events\": [{\"channel_id\": 0, \"kernel_start_ts\": 1752867229235181}]}",
};

Test(json_scan, the_same_as_a_tree)
{
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        json_t *tree = json_loads(good[i], JSON_DECODE_ANY, NULL);
        cs_scan s;
        cr_assert_not_null(tree, "%s", good[i]);
        cs_scan_begin(&s, good[i], strlen(good[i]));
        double sum = sum_of(&s), wanted = sum_of_tree(tree);
        cr_expect(fabs(sum - wanted) <= 1e-15 * fabs(wanted), "%s: %.17g, %.17g", good[i], sum,
                  wanted);
        cr_expect(cs_scan_is_at_end(&s) && !s.is_wrong, "%s", good[i]);
        cs_scan_begin(&s, good[i], strlen(good[i]));
        cs_scan_skip(&s);
        cr_expect(cs_scan_is_at_end(&s) && !s.is_wrong, "skipped: %s", good[i]);
        json_decref(tree);
    }
}

Test(json_scan, what_is_wrong)
{
    static const char *const bad[] = {
        "{",
        "[",
        "{\"a\"}",
        "{\"a\": }",
        "{\"a\": 1,}",
        "[1,]",
        "[1 2]",
        "{\"a\" 1}",
        "{\"a\": 1 \"b\": 2}",
        "[-]",
        "[1.]",
        "[1e]",
        "[12x]",
        "\"open",
        "{1: 2}",
        "{\"a\": \"b}",
        "",
        "[\"a\\\"]",
        "{,\"a\": 1}",
        "[,1]",
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        cs_scan s;
        cs_scan_begin(&s, bad[i], strlen(bad[i]));
        (void)sum_of(&s);
        cr_expect(s.is_wrong, "accepted: %s", bad[i]);
        cr_expect(s.at <= bad[i] + strlen(bad[i]), "%s", bad[i]);
    }
}

/* A value of another kind is taken, and reported as not there. */
Test(json_scan, other_kinds)
{
    static const char text[] = "{\"a\": \"x\", \"b\": [1], \"c\": 1.75, \"d\": {\"e\": 1}, \"f\": "
                               "99999999999999999999, \"g\": true, \"h\": -9e2}";
    cs_scan           s;
    cs_scan_text      key, word;
    int64_t           n    = 0;
    bool              flag = false;

    cs_scan_begin(&s, text, sizeof text - 1);
    cr_assert(cs_scan_enter(&s, '{'));
    cr_assert(cs_scan_key(&s, &key) && !cs_scan_integer(&s, &n));
    cr_assert(cs_scan_key(&s, &key) && !cs_scan_string(&s, &word));
    cr_assert(cs_scan_key(&s, &key) && cs_scan_integer(&s, &n) && n == 1);
    cr_assert(cs_scan_key(&s, &key) && !cs_scan_enter(&s, '['));
    cr_assert(cs_scan_key(&s, &key) && !cs_scan_integer(&s, &n) && !s.is_wrong);
    cr_assert(cs_scan_key(&s, &key) && cs_scan_bool(&s, &flag) && flag);
    cr_assert(cs_scan_key(&s, &key) && cs_scan_is(key, "h") && cs_scan_integer(&s, &n) &&
              n == -900);
    cr_assert(!cs_scan_key(&s, &key) && cs_scan_is_at_end(&s) && !s.is_wrong);
}

/* Lines of a file that is longer than the window, with one that is longer than any. */
Test(json_scan, lines_of_a_long_file)
{
    char  path[]    = "/tmp/collsim-lines-XXXXXX";
    int   fd        = mkstemp(path);
    FILE *file      = fdopen(fd, "w");
    char *long_line = malloc(CS_LINES_MOST_BYTES * 3);

    cr_assert(file != NULL && long_line != NULL);
    memset(long_line, 'x', CS_LINES_MOST_BYTES * 3);
    for (int i = 1; i <= 200000; i++) {
        if (i == 70000) {
            (void)fwrite(long_line, 1, CS_LINES_MOST_BYTES * 3, file);
            (void)fputc('\n', file);
        } else {
            (void)fprintf(file, "line %d of a file%s", i, i == 200000 ? "" : "\n");
        }
    }
    (void)fclose(file);
    cs_lines    *lines = NULL;
    cs_line_view line;
    cs_error     err      = {0};
    bool         has_more = true;
    int          n        = 0;
    cr_assert_eq(cs_lines_open(path, &lines, &err), CS_OK);
    for (;;) {
        char wanted[64];
        cr_assert_eq(cs_lines_next(lines, &line, &has_more, &err), CS_OK);
        if (!has_more) {
            break;
        }
        n++;
        cr_assert_eq(line.number, n);
        cr_assert_eq(line.is_cut, n == 70000);
        cr_assert_eq(line.has_no_end, n == 200000);
        (void)snprintf(wanted, sizeof wanted, "line %d of a file", n);
        cr_assert(line.is_cut || (line.length == strlen(wanted) &&
                                  memcmp(line.text, wanted, line.length) == 0),
                  "line %d", n);
    }
    cr_expect_eq(n, 200000);
    cs_lines_close(lines);
    free(long_line);
    (void)unlink(path);
    cr_expect_eq(cs_lines_open("/nonexistent", &lines, &err), CS_EIO);
    err = (cs_error){0};
    cr_expect_eq(cs_lines_open("/tmp", &lines, &err), CS_EIO);
    for (long passes = 0; passes < 3; passes++) {
        cs_alloc_fail_after(passes);
        err              = (cs_error){0};
        cs_status status = cs_lines_open(COLLSIM_SOURCE_DIR "/README.md", &lines, &err);
        cs_alloc_fail_after(-1);
        cr_expect_eq(status, CS_ENOMEM);
    }
}
