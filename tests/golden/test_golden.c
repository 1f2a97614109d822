/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole runs: every folder of tests/golden has a scenario.json, read as a configuration, and an
 * expected.json with the result of each of its cases and where that comes from (never from this
 * program). Integers, words and booleans are compared exactly, reals to 1e-12, null is a NAN;
 * keys that are not in expected.json are not compared, but where it has options, those that it does
 * not name must have their defaults. */
#include "output/result_rows.h"
#include "study/config.h"
#include "support/scene.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_text(const char *place, const json_t *want, const char *got)
{
    cr_assert(json_is_string(want) && strcmp(json_string_value(want), got) == 0, "%s: '%s'", place,
              got);
}

static void check_count(const char *place, const json_t *want, uint64_t got)
{
    cr_assert(json_is_null(want)
                  ? got == CS_NO_COUNT
                  : json_is_integer(want) && (uint64_t)json_integer_value(want) == got,
              "%s: %llu", place, (unsigned long long)got);
}

static void check_real(const char *place, const json_t *want, double got)
{
    cr_assert(json_is_null(want) ? isnan(got)
                                 : ct_is_close(json_number_value(want), got, 1e-12) != 0,
              "%s: %.17g", place, got);
}

static void check_bool(const char *place, const json_t *want, bool got)
{
    cr_assert_eq(json_is_true(want), got, "%s", place);
}

/* One option: a number, a truth value or a word, as the table says. */
static void check_option(const char *place, const cs_field *row, const cs_options *options,
                         const json_t *want)
{
    char text[64];

    if (!cs_field_text(row, options, text, sizeof text)) {
        check_text(place, want, text);
    } else if (row->type == CS_FIELD_BOOL) {
        cr_assert(json_is_boolean(want), "%s", place);
        check_bool(place, want, strcmp(text, "true") == 0);
    } else {
        cr_assert(json_is_number(want), "%s: %s", place, text);
        check_real(place, want, strtod(text, NULL));
    }
}

/* What is not in expected.json must have its default; what is there must be an option. */
static void check_options(const char *name, size_t index, const json_t *want, const cs_field *table,
                          const cs_options *options)
{
    cs_options defaults;
    size_t     n_found = 0;

    cs_fields_default(table, &defaults);
    for (const cs_field *row = table; row != NULL && row->name != NULL; row++) {
        const json_t *value = json_object_get(want, row->name);
        char          place[200], usual[64], got[64];
        snprintf(place, sizeof place, "%s: result %zu: option %s", name, index, row->name);
        if (value != NULL) {
            check_option(place, row, options, value);
            n_found++;
        } else {
            cs_field_text(row, &defaults, usual, sizeof usual);
            cs_field_text(row, options, got, sizeof got);
            cr_assert_str_eq(got, usual, "%s", place);
        }
    }
    cr_assert_eq(n_found, json_object_size(want), "%s: result %zu: an option that there is not",
                 name, index);
}

static void check_column(const char *place, const json_t *want, const cs_result *result,
                         const cs_column *column)
{
    cs_value got = cs_row_value(&(cs_row){cs_result_columns, result, false}, column);

    switch (column->type) {
    case CS_COLUMN_COUNT: check_count(place, want, got.count); break;
    case CS_COLUMN_MAYBE:
        check_count(place, want, got.type == CS_VALUE_COUNT ? got.count : CS_NO_COUNT);
        break;
    case CS_COLUMN_REAL:
        check_real(place, want, got.type == CS_VALUE_REAL ? got.real : (double)NAN);
        break;
    case CS_COLUMN_BOOL: check_bool(place, want, got.whole != 0); break;
    case CS_COLUMN_TEXT:
    case CS_COLUMN_CHARS: check_text(place, want, got.text); break;
    case CS_COLUMN_U32:
    case CS_COLUMN_JSON: cr_assert_fail("%s: a type that no result has", place);
    }
}

static void check_result(const char *name, size_t index, const json_t *want, const cs_result *got)
{
    char place[200];

    for (const cs_column *c = cs_result_columns; c->key != NULL; c++) {
        const json_t *value = json_object_get(want, c->key);
        snprintf(place, sizeof place, "%s: result %zu: %s", name, index, c->key);
        if (value != NULL) {
            check_column(place, value, got, c);
        }
    }
    if (json_object_get(want, "options") != NULL) {
        check_options(name, index, json_object_get(want, "options"), got->option_table,
                      &got->options);
    }
    if (json_object_get(want, "model_options") != NULL) {
        check_options(name, index, json_object_get(want, "model_options"), got->model_option_table,
                      &got->model_options);
    }
}

static void run_case(const char *name, const cs_config *config, size_t index, const json_t *want)
{
    cs_case   c   = {0};
    cs_error  err = {0};
    cs_result result;

    cr_assert_eq(cs_config_case(config, index, &c, &err), CS_OK, "%s: %s", name, err.message);
    c.job.verify = true;
    cr_assert_eq(cs_job_run(&c.job, NULL, 0, &result, &err), CS_OK, "%s: %s", name, err.message);
    check_result(name, index, want, &result);
    cr_assert(result.bound_s > 0 && result.bound_s <= result.elapsed_s * (1 + 1e-12));
    cs_case_free(&c);
}

static void run_folder(const char *name)
{
    char       path[512];
    cs_config *config = NULL;
    cs_error   err    = {0};

    snprintf(path, sizeof path, COLLSIM_SOURCE_DIR "/tests/golden/%s/scenario.json", name);
    cr_assert_eq(cs_config_load(path, &config, &err), CS_OK, "%s: %s", name, err.message);
    snprintf(path, sizeof path, COLLSIM_SOURCE_DIR "/tests/golden/%s/expected.json", name);
    json_t *expected = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    json_t *results  = json_object_get(expected, "results");
    cr_assert(json_is_string(json_object_get(expected, "origin")), "%s has no origin", name);
    cr_assert_eq(json_array_size(results), cs_config_count(config), "%s", name);
    for (size_t i = 0; i < json_array_size(results); i++) {
        run_case(name, config, i, json_array_get(results, i));
    }
    json_decref(expected);
    cs_config_free(config);
}

Test(golden, every_folder)
{
    struct dirent **entries = NULL;
    int count = scandir(COLLSIM_SOURCE_DIR "/tests/golden", &entries, NULL, alphasort), folders = 0;

    for (int i = 0; i < count; i++) {
        if (strchr(entries[i]->d_name, '.') == NULL && strchr(entries[i]->d_name, '_') == NULL) {
            run_folder(entries[i]->d_name);
            folders++;
        }
        free(entries[i]);
    }
    free(entries);
    cr_assert_geq(folders, 8);
}
