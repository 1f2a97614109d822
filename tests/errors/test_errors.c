/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every folder here holds an input and the exact words that refuse it, with line, column and key.
 * input.xml is read as what it begins like (AdapCC's trees or graph, else a schedule), input.json
 * as a schedule, too, if it begins like one, else as a configuration of which all cases are built.
 */
#include "base/alloc.h"
#include "base/file.h"
#include "schedules/logical_xml.h"
#include "schedules/schedule_json.h"
#include "schedules/strategy_xml.h"
#include "study/config.h"
#include "support/config.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef COLLSIM_SOURCE_DIR
#error "COLLSIM_SOURCE_DIR is the root of the sources"
#endif

static const char folder[] = COLLSIM_SOURCE_DIR "/tests/errors";

static cs_status build_all(const char *path, cs_error *err)
{
    cs_config *config = NULL;
    cs_status  status = cs_config_load(path, &config, err);

    status = status == CS_OK ? ct_cases(config, err) : status;
    cs_config_free(config);
    return status;
}

static cs_status read_trees(const char *path, cs_error *err)
{
    cs_strategy_file file;
    cs_status        status = cs_strategy_load(path, &file, err);

    cs_strategy_free(&file.strategy);
    return status;
}

static cs_status read_graph(const char *path, cs_error *err)
{
    const cs_logical_defaults defaults = {1e9, 0, {CS_DIRECT, 0, 1e9}};
    cs_logical                logical;
    cs_status                 status = cs_logical_load(path, &defaults, &logical, err);

    cs_logical_free(&logical);
    return status;
}

static cs_status read_input(const char *path, cs_error *err)
{
    static const char mark[] = "{\"format\":";
    char             *text   = NULL;
    size_t            length = 0;
    cs_stored        *stored = NULL;

    cr_assert_eq(cs_file_read(path, 64 << 20, &text, &length, NULL), CS_OK);
    bool are_trees   = strncmp(text, "<trees", 6) == 0;
    bool is_graph    = strncmp(text, "<graph", 6) == 0;
    bool is_schedule = strncmp(text, mark, sizeof mark - 1) == 0 || strcmp(path, "input.xml") == 0;
    cs_free(text);
    if (are_trees || is_graph) {
        return are_trees ? read_trees(path, err) : read_graph(path, err);
    }
    if (!is_schedule) {
        return build_all(path, err);
    }
    cs_status status = cs_schedule_load(path, &stored, err);
    cs_stored_free(stored);
    return status;
}

/* Returns whether the words are as expected; says what they are if not. */
static bool check_case(const char *name)
{
    char     directory[512], text[900], *want = NULL;
    size_t   length = 0;
    cs_error err    = {0};

    snprintf(directory, sizeof directory, "%s/%s", folder, name);
    cr_assert_eq(chdir(directory), 0, "%s", directory);
    cr_assert_eq(cs_file_read("error", 4096, &want, &length, NULL), CS_OK, "%s/error", name);
    while (length > 0 && want[length - 1] == '\n') {
        want[--length] = '\0';
    }
    cs_status status =
        read_input(access("input.xml", R_OK) == 0 ? "input.xml" : "input.json", &err);
    cs_error_text(&err, text, sizeof text);
    bool is_right = status != CS_OK && status == err.status && strcmp(text, want) == 0;
    if (!is_right) {
        fprintf(stderr, "%s\n  is:   %s\n  want: %s\n", name, text, want);
    }
    cs_free(want);
    return is_right;
}

Test(errors, have_place_and_words)
{
    struct dirent **entries = NULL;
    int             n = scandir(folder, &entries, NULL, alphasort), wrong = 0, count = 0;

    for (int i = 0; i < n; i++) {
        if (entries[i]->d_type == DT_DIR && entries[i]->d_name[0] != '.') {
            wrong += !check_case(entries[i]->d_name);
            count++;
        }
        free(entries[i]);
    }
    free(entries);
    cr_assert_gt(count, 80, "only %d cases were found", count);
    cr_assert_eq(wrong, 0, "%d of %d cases are refused in other words", wrong, count);
}
