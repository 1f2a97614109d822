/* SPDX-License-Identifier: GPL-3.0-or-later */
/* YAML as trees: what words become, places of errors and of values, aliases that would explode,
 * writing and reading back, memory that runs out.
 */
#include "base/alloc.h"
#include "input/yaml.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static json_t *parse(const char *text)
{
    json_t  *tree = NULL;
    cs_error err  = {0};

    cr_assert_eq(cs_yaml_parse(text, strlen(text), "in.yaml", &tree, &err), CS_OK, "%d:%d %s\n%s",
                 err.input_line, err.input_column, err.message, text);
    return tree;
}

static void reads_as(const char *text, const char *json)
{
    json_t *tree = parse(text), *wanted = json_loads(json, 0, NULL);
    char   *dump = json_dumps(tree, JSON_COMPACT);

    cr_assert_not_null(wanted, "%s", json);
    cr_assert(json_equal(tree, wanted), "%s is %s", text, dump);
    cs_free(dump);
    json_decref(tree);
    json_decref(wanted);
}

Test(yaml, words_are_those_of_the_core_schema)
{
    reads_as("a: 1\nb: -2\nc: 010\nd: 0x1F\ne: 0o17\n",
             "{\"a\": 1, \"b\": -2, \"c\": 10, \"d\": 31, \"e\": 15}");
    reads_as("a: 1.5\nb: .5\nc: 1e3\nd: -2.\ne: +4E-1\n",
             "{\"a\": 1.5, \"b\": 0.5, \"c\": 1000.0, \"d\": -2.0, \"e\": 0.4}");
    reads_as("a: null\nb: ~\nc:\nd: True\ne: false\n",
             "{\"a\": null, \"b\": null, \"c\": null, \"d\": true, \"e\": false}");
    reads_as("a: yes\nb: off\nc: .inf\nd: 1.2.3\ne: 0xg\nf: 1e\ng: '12'\nh: \"true\"\ni: !!str 7\n",
             "{\"a\": \"yes\", \"b\": \"off\", \"c\": \".inf\", \"d\": \"1.2.3\", \"e\": \"0xg\", "
             "\"f\": "
             "\"1e\", \"g\": \"12\", \"h\": \"true\", \"i\": \"7\"}");
    reads_as("a: 99999999999999999999\nb: .\nc: -\xc3\xa9\n",
             "{\"a\": 1e20, \"b\": \".\", \"c\": \"-\xc3\xa9\"}");
    reads_as("a: 1e999\n", "{\"a\": \"1e999\"}");
}

Test(yaml, mappings_lists_and_texts)
{
    reads_as("--- # a comment\na:\n- 1\n- {b: [c, d]}\n- |-\n  two\n  lines\n...\n",
             "{\"a\": [1, {\"b\": [\"c\", \"d\"]}, \"two\\nlines\"]}");
    reads_as("{\"a\": {\"b\": [1, 2.5, \"x\"]}}", "{\"a\": {\"b\": [1, 2.5, \"x\"]}}");
    reads_as("a: &x {k: [1, 2]}\nb: *x\nc: [*x, *x]\n",
             "{\"a\": {\"k\": [1, 2]}, \"b\": {\"k\": [1, 2]}, \"c\": [{\"k\": [1, 2]}, {\"k\": "
             "[1, 2]}]}");
    /* An anchor that comes again replaces the first. */
    reads_as("a: &x 1\nb: *x\nc: &x 2\nd: *x\n", "{\"a\": 1, \"b\": 1, \"c\": 2, \"d\": 2}");
}

Test(yaml, aliases_are_copies)
{
    json_t *tree = parse("a: &x {k: 1}\nb: *x\n");

    json_object_set_new(json_object_get(tree, "b"), "k", json_integer(2));
    cr_assert_eq(json_integer_value(json_object_get(json_object_get(tree, "a"), "k")), 1);
    json_decref(tree);
}

static void refused(const char *text, size_t length, int line, int column, const char *words)
{
    json_t  *tree = NULL;
    cs_error err  = {0};

    cr_assert_eq(cs_yaml_parse(text, length, "in.yaml", &tree, &err), CS_EPARSE, "%s", text);
    cr_assert_null(tree);
    cr_assert_not_null(strstr(err.message, words), "'%s' is not in: %s", words, err.message);
    cr_assert_str_eq(err.input, "in.yaml");
    cr_assert_eq(err.input_line, line, "%d: %s", err.input_line, err.message);
    cr_assert_eq(err.input_column, column, "%d: %s", err.input_column, err.message);
}

#define REFUSED(text, line, column, words) refused((text), strlen(text), (line), (column), (words))

Test(yaml, what_is_refused_is_located)
{
    REFUSED("", 1, 1, "there is nothing in it");
    REFUSED("# nothing\n", 2, 1, "there is nothing in it");
    REFUSED("- 1\n", 1, 1, "the root is no mapping");
    REFUSED("a: 1\nb: [1, 2\n", 3, 1, "did not find expected");
    REFUSED("a: 1\n a: 2\n", 2, 3, "mapping values are not allowed");
    REFUSED("a: 1\nb: 2\na: 3\n", 3, 1, "a key that is there already");
    REFUSED("? [a]\n: 1\n", 1, 3, "a key that is no scalar");
    REFUSED("x: &x {a: 1}\ny:\n  <<: *x\n", 3, 3, "the key '<<'");
    REFUSED("a: *nobody\n", 1, 4, "an alias of nothing that stands before it");
    REFUSED("a: &x [1, *x]\n", 1, 11, "an alias of nothing that stands before it");
    REFUSED("a: !!float 1\n", 1, 4, "a tag");
    REFUSED("a: !thing {b: 1}\n", 1, 4, "a tag");
    REFUSED("a: 1\n---\nb: 2\n", 2, 1, "a second document");
    REFUSED("a: \"x\\0y\"\n", 1, 4, "a NUL character");
    REFUSED("\"x\\0y\": 1\n", 1, 1, "a NUL character");
    refused("a: b\0c\n", 7, 1, 1, "control characters are not allowed");
    REFUSED("a: \xff\xfe\n", 1, 1, "UTF-8");
}

Test(yaml, nesting_ends_at_64_levels)
{
    char text[400], open[80], closed[80];

    memset(open, '[', sizeof open);
    memset(closed, ']', sizeof closed);
    snprintf(text, sizeof text, "a: %.63s1%.63s", open, closed);
    json_decref(parse(text));
    snprintf(text, sizeof text, "a: %.64s1", open);
    REFUSED(text, 1, 68, "nested more than 64 levels deep");
}

/* Nine lists of nine of the list before: 9^9 values out of 200 bytes. */
Test(yaml, aliases_that_explode_are_refused)
{
    char   text[800] = "a0: &a0 x\n";
    char   line[100];
    size_t before;

    for (int i = 1; i < 10; i++) {
        snprintf(line, sizeof line,
                 "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i, i, i - 1,
                 i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
        before = strlen(text);
        memcpy(text + before, line, strlen(line) + 1);
    }
    cs_error err  = {0};
    json_t  *tree = NULL;
    cr_assert_eq(cs_yaml_parse(text, strlen(text), "in.yaml", &tree, &err), CS_EPARSE);
    cr_assert_not_null(strstr(err.message, "more than 2^20 values"), "%s", err.message);
    cr_assert_eq(err.input_line, 8, "9^6 values in the line before are accepted, 9^7 are not: %d",
                 err.input_line);
}

Test(yaml, values_are_located)
{
    static const char text[] =
        "# devices\nname: x\ndevices:\n- name: a\n  links:\n    - bandwidth: {gbps: "
        "5}\n      other: &o 7\n- *o\n\"two words\": 1\n";
    static const struct {
        const char *path;
        bool        wants_key;
        int         line, column;
    } rows[] = {
        {"", false, 2, 1},
        {"name", false, 2, 7},
        {"name", true, 2, 1},
        {"devices", false, 4, 1},
        {"devices[0]", false, 4, 3},
        {"devices[0].links[0].bandwidth", false, 6, 18},
        {"devices[0].links[0].bandwidth.gbps", false, 6, 25},
        {"devices[0].links[0].bandwidth.gbps", true, 6, 19},
        {"devices[0].links[0].missing", false, 6, 7},
        {"devices[0].links[3].x", false, 6, 5},
        {"devices[1]", false, 8, 3},
        {"devices[1].x", false, 8, 3},
        {"[\"two words\"]", true, 9, 1},
        {"nothing.at.all", false, 2, 1},
        {"not a [path", false, 1, 1},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int line = 0, column = 0;
        cs_yaml_locate(text, strlen(text), rows[i].path, rows[i].wants_key, &line, &column);
        cr_assert(line == rows[i].line && column == rows[i].column, "%s: %d:%d, not %d:%d",
                  rows[i].path, line, column, rows[i].line, rows[i].column);
    }
}

Test(yaml, what_is_written_reads_back)
{
    static const char json[] = "{\"a\": 1, \"b\": 2.5, \"c\": 1e-07, \"d\": 62.4, \"e\": \"text\", "
                               "\"f\": \"12\", \"g\": \"true\", "
                               "\"h\": \"\", \"i\": null, \"j\": false, \"k\": [1, [2, {\"x\": "
                               "[]}], {}], \"l\": \"a: b\", \"m\": "
                               "\"- x\", \"n\": \"two\\nlines \", \"7\": \"# no\", \"null\": "
                               "\"~\", \"o\": \"\xc3\xa9\", \"p\": "
                               "-17, \"q\": \"1e5\", \"r\": true, \"s\": 0.1, \"t\": \"0x1\"}";
    json_t           *tree   = json_loads(json, 0, NULL);
    cs_text           out    = {0};
    cs_error          err    = {0};

    cr_assert_not_null(tree);
    cr_assert_eq(cs_yaml_write(tree, &out, &err), CS_OK, "%s", err.message);
    cr_assert_not_null(strstr(out.data, "d: 62.4\n"), "%s", out.data);
    reads_as(out.data, json);
    cs_text_free(&out);
    json_decref(tree);
}

Test(yaml, memory_runs_out)
{
    static const char text[] = "a: &x [1, 2.5, {b: c}]\nd: *x\ne: 'f'\n";
    cs_status         status = CS_ENOMEM;
    json_t           *tree   = NULL;
    long              passes = 0;

    for (; status != CS_OK; passes++) {
        cs_error err = {0};
        cr_assert_lt(passes, 300);
        cs_alloc_fail_after(passes);
        status = cs_yaml_parse(text, strlen(text), "in.yaml", &tree, &err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%ld: %s", passes, err.message);
        cr_assert(status == CS_OK || tree == NULL);
    }
    cr_assert_gt(passes, 10);
    status = CS_ENOMEM;
    for (passes = 0; status != CS_OK; passes++) {
        cs_text out = {0};
        cr_assert_lt(passes, 300);
        cs_alloc_fail_after(passes);
        status = cs_yaml_write(tree, &out, NULL);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM);
        cs_text_free(&out);
    }
    cr_assert_gt(passes, 1);
    json_decref(tree);
}
