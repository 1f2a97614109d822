/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Paths, and line and column of what is at them. */
#include "input/locate.h"

#include <criterion/criterion.h>
#include <string.h>

/* Lines and columns below were counted by hand. */
static const char text[] = "{ \"name\": \"a, {b}: [c\\\"]\",\n"
                           "  \"cluster\": {\"ranks\" : 8,\n"
                           "\t\"nic\": {\"alpha\":\"3us\"}},\n"
                           "  \"faults\": [ {\"rank\":0}, [1, [2, 3]], {\n"
                           "    \"rank\": 5}],\n"
                           "  \"\xc3\xa9\xc3\xa9\": true, \"sweep\": {\"cluster.ranks\": [4, 16]}}";

static void check_place(const char *path, bool wants_key, int line, int column)
{
    int at_line = 0, at_column = 0;

    cs_locate(text, sizeof text - 1, path, wants_key, &at_line, &at_column);
    cr_assert_eq(at_line, line, "%s: line %d, not %d", path, at_line, line);
    cr_assert_eq(at_column, column, "%s: column %d, not %d", path, at_column, column);
}

Test(locate, finds_values)
{
    check_place("name", false, 1, 11);
    check_place("cluster", false, 2, 14);
    check_place("cluster.ranks", false, 2, 25);
    check_place("cluster.nic.alpha", false, 3, 18);
    check_place("faults[0].rank", false, 4, 23);
    check_place("faults[1][1][1]", false, 4, 35);
    check_place("faults[2].rank", false, 5, 13);
    check_place("sweep[\"cluster.ranks\"][1]", false, 6, 46);
}

Test(locate, finds_keys_and_counts_characters)
{
    check_place("cluster.ranks", true, 2, 15);
    check_place("faults[2].rank", true, 5, 5);
    check_place("[\"\xc3\xa9\xc3\xa9\"]", true, 6, 3);
    check_place("[\"\xc3\xa9\xc3\xa9\"]", false, 6, 9);
}

Test(locate, falls_back_to_what_is_around)
{
    check_place("cluster.nvlink.alpha", false, 2, 14);
    check_place("cluster.nvlink", true, 2, 14);
    check_place("faults[3]", false, 4, 13);
    check_place("nothing", false, 1, 1);
    check_place("name.x", false, 1, 11);
    check_place("not..a..path", false, 1, 1);
}

/* Cut anywhere, the text is scanned without harm and positions stay inside of it. */
Test(locate, survives_cut_texts)
{
    static const char *const paths[] = {"faults[2].rank", "sweep[\"cluster.ranks\"][1]", "name"};

    for (size_t length = 0; length < sizeof text; length++) {
        char *cut = strndup(text, length);
        for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
            int line, column;
            cs_locate(cut, length, paths[i], i == 1, &line, &column);
            cr_assert(line >= 1 && line <= 6 && column >= 1 && column <= 80);
        }
        free(cut);
    }
}

Test(locate, gives_the_bytes_of_a_value)
{
    cs_path path;
    size_t  begin = 0, end = 0;

    cr_assert_eq(cs_path_parse("faults[1]", &path, NULL), CS_OK);
    cr_assert(cs_locate_value(text, sizeof text - 1, &path, &begin, &end));
    cr_assert_eq(end - begin, strlen("[1, [2, 3]]"));
    cr_assert_eq(memcmp(text + begin, "[1, [2, 3]]", end - begin), 0);
    cr_assert_eq(cs_path_parse("faults[7]", &path, NULL), CS_OK);
    cr_assert_not(cs_locate_value(text, sizeof text - 1, &path, &begin, &end));
}

Test(path, is_taken_apart)
{
    cs_path path;

    cr_assert_eq(cs_path_parse("a[\"b.\\\"c\"][12].d-1[]", &path, NULL), CS_OK);
    cr_assert_eq(path.n_steps, 4);
    cr_assert_str_eq(path.steps[0].key, "a");
    cr_assert_str_eq(path.steps[1].key, "b.\"c");
    cr_assert_null(path.steps[2].key);
    cr_assert_eq(path.steps[2].index, 12);
    cr_assert_str_eq(path.steps[3].key, "d-1");
    cr_assert(path.appends);
}

Test(path, refuses_what_is_none)
{
    static const char *const wrong[] = {
        "",   ".",     "a.",    "a..b", ".a",      "a b",
        "[",  "a[",    "a[1",   "a[x]", "a[-1]",   "a]",
        "[]", "a[\"b", "a[1]b", "a[]b", "a[\"b\"", "a[99999999999999999999]"};

    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        cs_path  path;
        cs_error err = {0};
        cr_assert_eq(cs_path_parse(wrong[i], &path, &err), CS_EINVAL, "'%s'", wrong[i]);
    }
    char    deep[] = "a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a";
    cs_path path;
    cr_assert_eq(cs_path_parse(deep, &path, NULL), CS_EINVAL);
    deep[sizeof deep - 3] = '\0';
    cr_assert_eq(cs_path_parse(deep, &path, NULL), CS_OK);
}

/* Whatever key is joined comes back from parsing. */
Test(path, joins_what_it_takes_apart)
{
    static const char *const keys[] = {"plain", "with.dot", "q\"uote", "back\\slash", "", "a]b"};

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        char    joined[CS_PATH_BYTES];
        cs_path path;
        cs_path_add_key(joined, "base", keys[i]);
        cs_path_add_index(joined, joined, i);
        cr_assert_eq(cs_path_parse(joined, &path, NULL), CS_OK, "%s", joined);
        cr_assert_eq(path.n_steps, 3);
        cr_assert_str_eq(path.steps[1].key, keys[i]);
        cr_assert_eq(path.steps[2].index, i);
    }
}

Test(path, knows_what_is_below)
{
    cr_assert_str_eq(cs_path_below("a.b", "a.b"), "");
    cr_assert_str_eq(cs_path_below("a.b", "a.b.c"), ".c");
    cr_assert_str_eq(cs_path_below("a", "a[2]"), "[2]");
    cr_assert_null(cs_path_below("a.b", "a.bc"));
    cr_assert_null(cs_path_below("a.b", "a"));
}
