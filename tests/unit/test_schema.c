/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The schema and the list of keys: JSON, every key in them, and the reader takes every
 * configuration that comes with the program. tests/validation/schema.py holds the schema against
 * the reader. */
#include "study/config.h"

#include "base/alloc.h"
#include "study/keys.h"
#include "support/config.h"
#include "whatif/whatif_json.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <string.h>

static json_t *tree_of(cs_text *text)
{
    json_error_t problem;
    json_t      *tree = json_loads(text->data, JSON_REJECT_DUPLICATES, &problem);

    cr_assert_not_null(tree, "line %d: %s", problem.line, problem.text);
    cs_text_free(text);
    return tree;
}

/* Where "$ref" leads. */
static const json_t *follow(const json_t *root, const char *pointer)
{
    const json_t *node = root;
    char          step[200];

    cr_assert_eq(strncmp(pointer, "#/", 2), 0, "%s", pointer);
    for (const char *at = pointer + 1; *at == '/' && node != NULL;) {
        size_t length = strcspn(at + 1, "/");
        cr_assert_lt(length, sizeof step);
        memcpy(step, at + 1, length);
        step[length] = '\0';
        node         = json_is_array(node) ? json_array_get(node, (size_t)atoi(step))
                                           : json_object_get(node, step);
        at += length + 1;
    }
    return node;
}

static size_t check_refs(const json_t *root, json_t *node)
{
    const char *key;
    json_t     *value;
    size_t      i, count = 0;

    json_object_foreach(node, key, value)
    {
        if (strcmp(key, "$ref") == 0) {
            cr_expect_not_null(follow(root, json_string_value(value)), "%s",
                               json_string_value(value));
            count++;
        }
        count += check_refs(root, value);
    }
    json_array_foreach(node, i, value)
    {
        count += check_refs(root, value);
    }
    return count;
}

Test(schema, refers_to_what_is_there)
{
    cs_text text = {0};

    cs_config_schema(&text);
    cr_assert_eq(cs_text_status(&text, NULL), CS_OK);
    json_t *schema = tree_of(&text);
    cr_expect_gt(check_refs(schema, schema), 150);
    json_decref(schema);
}

/* Every key of the list has a row, and every kind of value is in it. */
Test(keys, are_all_in_the_list)
{
    static const char *const some[] = {"bytes",
                                       "cluster.nvlink.concurrent",
                                       "cluster.topology.leaf_servers",
                                       "faults[].rank",
                                       "cluster.topology.links[].latency",
                                       "arrivals.distribution.sigma",
                                       "sweep",
                                       "arrivals.straggler.delay",
                                       "training.buckets",
                                       "job.calls",
                                       "timers.rejoin",
                                       "bandwidth_trace.scale"};
    cs_text                  text   = {0};
    size_t                   i;
    json_t                  *row;

    cs_text_add(&text, "[");
    cs_config_keys(&text, true);
    cs_text_add(&text, "]");
    json_t *list = tree_of(&text), *paths = json_object();
    json_array_foreach(list, i, row)
    {
        const char     *path = json_string_value(json_object_get(row, "key"));
        char            element[200];
        const cs_field *field;
        snprintf(element, sizeof element, "%s", path);
        for (char *at = strstr(element, "[]"); at != NULL; at = strstr(element, "[]")) {
            memmove(at + 3, at + 2, strlen(at + 2) + 1);
            memcpy(at, "[0]", 3);
        }
        field = cs_key_at(element);
        cr_expect(field != NULL || strcmp(path, "$schema") == 0, "%s", path);
        cr_expect_str_neq(json_string_value(json_object_get(row, "help")), "", "%s", path);
        json_object_set(paths, path, row);
    }
    for (i = 0; i < sizeof some / sizeof some[0]; i++) {
        cr_expect_not_null(json_object_get(paths, some[i]), "%s", some[i]);
    }
    json_decref(paths);
    json_decref(list);
}

static cs_status read_all(const char *path, cs_error *err)
{
    cs_config    *config = NULL;
    cs_whatif_job job    = {0};
    cs_status     status = cs_config_load(path, &config, err);

    if (status == CS_OK && strstr(path, "whatif") != NULL) {
        status = cs_whatif_read(config, &job, err);
        cs_whatif_job_free(&job);
    } else if (status == CS_OK) {
        status = ct_cases(config, err);
    }
    cs_config_free(config);
    return status;
}

Test(schema, the_reader_takes_every_configuration_that_comes_with_the_program)
{
    glob_t found;

    cr_assert_eq(glob(COLLSIM_SOURCE_DIR "/configs/*.json", 0, NULL, &found), 0);
    cr_expect_gt(found.gl_pathc, 15);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        cs_error err = {0};
        if (strstr(found.gl_pathv[i], ".schema.json") == NULL) {
            cr_expect_eq(read_all(found.gl_pathv[i], &err), CS_OK, "%s: %s: %s", found.gl_pathv[i],
                         err.where, err.message);
        }
    }
    globfree(&found);
}

Test(schema, any_allocation_may_fail)
{
    cs_status status = CS_ENOMEM;

    for (long passes = 0; status != CS_OK; passes += 97) {
        cs_text text = {0};
        cr_assert_lt(passes, 1000000);
        cs_alloc_fail_after(passes);
        cs_config_schema(&text);
        cs_alloc_fail_after(-1);
        status = cs_text_status(&text, NULL);
        cs_text_free(&text);
    }
}
