/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `collsim run` over a product of which some scenarios are impossible, as a user runs it: the
 * others are there, each impossible one has a row that says why, the exit code is 2, and all
 * formats stay what they are. */
#include "support/program.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* With six ranks there is no rank 6, with eight there is. */
#define PRODUCT "run -a ring,rhd -n 6,8 -s 1M --late 6=1ms "
#define REASON  "--late: 6 is outside [0, 5]"

static size_t count(const char *text, const char *word)
{
    size_t n = 0;

    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        n++;
    }
    return n;
}

Test(run_product, the_table_has_the_others_and_says_why)
{
    cs_text text = {0}, errors = {0};

    cr_expect_eq(ct_program(PRODUCT, "2>/dev/null", &text), 2);
    cr_expect_not_null(
        strstr(text.data, "# refused: algorithm.name=ring cluster.ranks=6: " REASON "\n"));
    cr_expect_not_null(
        strstr(text.data, "# refused: algorithm.name=rhd cluster.ranks=6: " REASON "\n"));
    cr_expect_eq(count(text.data, "# Collective test concluded"), 2);
    cr_expect_not_null(strstr(text.data, "# Which schedule?"));
    cr_expect_eq(ct_program(PRODUCT, "2>&1 >/dev/null", &errors), 2);
    cr_expect_str_eq(errors.data, "collsim: " REASON " (2 of 4 scenarios refused)\n");
    cs_text_free(&text);
    cs_text_free(&errors);
}

Test(run_product, json_is_one_array_of_all)
{
    cs_text      text = {0};
    size_t       i;
    json_t      *row;
    json_error_t wrong;

    cr_expect_eq(ct_program(PRODUCT "--format json", "2>/dev/null", &text), 2);
    json_t *rows = json_loads(text.data, 0, &wrong);
    cr_assert_not_null(rows, "%s", wrong.text);
    cr_assert_eq(json_array_size(rows), 4);
    json_array_foreach(rows, i, row)
    {
        bool        is_refused = i % 2 == 0; /* six ranks, then eight */
        const char *error      = json_string_value(json_object_get(row, "error"));
        cr_expect_eq(error != NULL, is_refused);
        cr_expect(!is_refused || strcmp(error, REASON) == 0);
        cr_expect_eq(json_is_null(json_object_get(row, "elapsed_s")), is_refused);
        cr_expect_eq(json_is_null(json_object_get(row, "verified")), is_refused);
        json_t *cluster = json_object_get(json_object_get(row, "scenario"), "cluster");
        cr_expect_eq(json_integer_value(json_object_get(cluster, "ranks")), is_refused ? 6 : 8);
    }
    json_decref(rows);
    cs_text_free(&text);
}

/* Fields of a line, quoted ones may have commas and double quotes. */
static size_t fields_of(const char *line)
{
    size_t n         = 1;
    bool   is_quoted = false;

    for (; *line != '\n' && *line != '\0'; line++) {
        is_quoted = *line == '"' ? !is_quoted : is_quoted;
        n += *line == ',' && !is_quoted;
    }
    return n;
}

/* What an algorithm refuses is known by name. */
Test(run_product, csv_has_a_line_for_each)
{
    cs_text text = {0};
    size_t  n    = 0;

    cr_expect_eq(ct_program("run -a ring,stragglar -n 4,8 -s 1M --opt chunks=3 --format csv",
                            "2>/dev/null", &text),
                 2);
    size_t fields = fields_of(text.data);
    for (const char *line = text.data; line != NULL && line[0] != '\0'; n++) {
        const char *end = strchr(line, '\n');
        cr_expect_eq(fields_of(line), fields, "%.*s", (int)(end - line), line);
        line = end != NULL ? end + 1 : NULL;
    }
    cr_expect_eq(n, 5);
    cs_text version = {0};
    char    want[160], build[64] = "";
    cr_expect_eq(ct_program("--version", "", &version), 0);
    cr_assert_eq(sscanf(version.data, "collsim %*s (build %63[^)])", build), 1);
    cs_text_free(&version);
    snprintf(want, sizeof want,
             "\nstragglar,allreduce,alpha-beta,8,1048576,1,,,,,,,,,,,,,,,,,,,,,,%s,,\"{"
             "\"\"algorithm\"\"",
             build);
    cr_expect_not_null(strstr(text.data, want), "%s", text.data);
    cr_expect_not_null(strstr(text.data, "algorithm.options.chunks: 8 ranks"));
    cs_text_free(&text);
}

/* Nothing is printed, and nothing is written. */
Test(run_product, what_is_wrong_for_all_is_one_error)
{
    static const char *const words[] = {
        "run -a ring,rhd -n 4,6 -s 1M --late 6=1ms", /* all of them */
        "run -a ring -n 6 -s 1M --late 6=1ms",       /* one alone */
        "run -a ring,rign -n 4,8 -s 1M",             /* a name that nobody knows */
    };
    char path[64], line[256];

    snprintf(path, sizeof path, "/tmp/cs_product_%d.txt", (int)getpid());
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        cs_text text = {0};
        snprintf(line, sizeof line, "%s -o %s", words[i], path);
        cr_expect_eq(ct_program(line, "2>&1", &text), 2);
        cr_expect_eq(count(text.data, "\n"), 1, "%s", text.data);
        cr_expect_null(strstr(text.data, "refused"));
        cr_expect_neq(access(path, F_OK), 0);
        cs_text_free(&text);
    }
}

/* A list that options add to is not replaced in silence by --set behind them; before them it is
 * what they add to. */
Test(run_product, set_keeps_what_options_add)
{
    ct_program_says("run -n 8 -s 1M --slow 1=2 --set 'faults=[]'", 2,
                    "--set faults: replaces what --slow has added");
    ct_program_says("run -n 8 -g 4 -s 1M --kill-nic 0.1 --set 'faults=[]'", 2,
                    "--set faults: replaces what --kill-nic has added");
    ct_program_says("run -n 8 -s 1M --late 1=1ms --set 'arrivals={}'", 2,
                    "--set arrivals: replaces what --late has added");
    ct_program_says("run -n 8 -s 1M --set 'faults=[]' --slow 1=2", 0, "");
    ct_program_says("run -n 8 -s 1M --slow 1=2 --set 'faults[0].slowdown=3'", 0, "");
}

/* A range of sizes ends where sizes end, whatever the type of its numbers can hold. */
Test(run_product, no_size_of_a_range_is_beyond_the_largest)
{
    static const char *const ranges[][2] = {
        {"-b 1 -e 18446744073709551615", "--max-bytes: 18446744073709551615"},
        {"-b 18446744073709551615", "--min-bytes: 18446744073709551615"},
        {"-b 2251799813685248 -e 4503599627370496", "--min-bytes: 2251799813685248"},
        {"-e 1125899906842625", "--max-bytes: 1125899906842625"},
    };

    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        cs_text text = {0};
        char    line[128], want[128];
        snprintf(line, sizeof line, "bound -n 4 %s", ranges[i][0]);
        snprintf(want, sizeof want, "collsim: %s is outside [1, 1125899906842624]\n", ranges[i][1]);
        cr_expect_eq(ct_program(line, "2>&1", &text), 2);
        cr_expect_str_eq(text.data, want);
        cs_text_free(&text);
    }
}
