/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The answer first: how much `collsim run` prints of how many scenarios, what files' names choose,
 * and bounds of many scenarios. */
#include "base/text.h"
#include "support/program.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static size_t count(const char *text, const char *word)
{
    size_t n = 0;

    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        n++;
    }
    return n;
}

/* So many tables of nccl-tests, and the comparison or not. */
static void expect_tables(const char *arguments, size_t tables, const char *title)
{
    cs_text text = {0};

    cr_expect_eq(ct_program(arguments, "2>&1", &text), 0);
    cr_expect_eq(count(text.data, "# Using devices"), tables, "%s: %s", arguments, text.data);
    cr_expect_eq(count(text.data, "xposed time (from the last arrival on), us"), title != NULL);
    cr_expect(title == NULL || strstr(text.data, title) != NULL, "%s: %s", arguments, text.data);
    cs_text_free(&text);
}

/* Headings of the help are rows of the tables of options, and no options. */
Test(run_answer, help_has_headings_that_are_no_options)
{
    cs_text     text = {0};
    const char *next;

    cr_expect_eq(ct_program("run --help", "2>&1", &text), 0);
    const char *const headings[] = {"what to run:\n  -a, ", "cluster and model:\n  -g, ",
                                    "late ranks and faults:\n      --late ", "output:\n",
                                    "examples:\n  collsim run "};
    next                         = text.data;
    for (size_t i = 0; i < sizeof headings / sizeof headings[0] && next != NULL; i++) {
        next = strstr(next, headings[i]);
        cr_expect_not_null(next, "%s in %s", headings[i], text.data);
    }
    cs_text_free(&text);
    ct_program_says("list --help", 0, "\n\noptions:\n      --format text|json");
    ct_program_says("run --=1", 2, "collsim: --=1: no such option; --help shows all");
    ct_program_says("run '--what to run'", 2, "no such option");
}

Test(run_answer, more_than_four_tables_are_a_summary)
{
    expect_tables("run -a ring,rhd -n 4,8 -s 1k:1g:x2", 4, "# Which schedule?");
    expect_tables("run -a ring,rhd -n 4,8,16 -s 1M", 0, "# Which schedule?");
    expect_tables("run -a ring,rhd -n 4,8,16 -s 1M --full", 6, "# Which schedule?");
    expect_tables("run -a ring,rhd -n 4 -s 1M --summary", 0, "# Which schedule?");
    expect_tables("run -a ring -n 4:64:x2 -s 1M", 0, "# Exposed time");
    expect_tables("run -a ring -n 4 -s 1M --summary", 0, "# Exposed time");
    expect_tables("run -a ring -n 4,8,16,32 -s 1M", 4, NULL);
    ct_program_says("run --summary --full", 2, "--summary: is given, and so is --full");
}

/* A line for each number of ranks: its time, bound, best and gain are those of JSON. */
Test(run_answer, a_line_for_each_setting)
{
    cs_text text = {0};
    char    want[160];

    cr_expect_eq(ct_program("run -a ring,rhd -n 4:64:x2 -s 1M", "2>&1", &text), 0);
    for (uint32_t n = 4; n <= 64; n *= 2) {
        char arguments[80];
        (void)snprintf(arguments, sizeof arguments, "run -a rhd -n %u -s 1M --format json", n);
        json_t *rhd  = ct_program_result(arguments);
        double  time = json_real_value(json_object_get(rhd, "exposed_s"));
        (void)snprintf(arguments, sizeof arguments, "run -a ring -n %u -s 1M --format json", n);
        json_t *ring = ct_program_result(arguments);
        double  than = json_real_value(json_object_get(ring, "exposed_s"));
        (void)snprintf(
            want, sizeof want, "%6u       1048576 %12.2f %12.2f %12.2f  rhd        %8.4f %+6.1f %%",
            n, than * 1e6, time * 1e6, json_real_value(json_object_get(rhd, "bound_s")) * 1e6,
            json_real_value(json_object_get(rhd, "gap")), 100 * (time / than - 1));
        cr_expect_not_null(strstr(text.data, want), "%s: %s", want, text.data);
        json_decref(rhd);
        json_decref(ring);
    }
    cs_text_free(&text);
}

/* What cannot be is said in front of a summary, too, but not without end. */
Test(run_answer, refusals_stand_before_a_summary)
{
    cs_text text = {0};

    cr_expect_eq(ct_program("run -a ring,rhd -n 2..14 -s 1M --late 9=1ms", "2>/dev/null", &text),
                 2);
    cr_expect_eq(count(text.data, "# refused: algorithm.name="), 8, "%s", text.data);
    cr_expect_not_null(strstr(text.data, "# refused: 8 more (--full shows them)\n"), "%s",
                       text.data);
    cr_expect_eq(count(text.data, " late 9 by 1000 us\n"), 5, "%s", text.data);
    cs_text_free(&text);
}

static void expect_file(const char *arguments, const char *path, const char *begin)
{
    cs_text text = {0};
    char    line[40];
    FILE   *file;

    cr_expect_eq(ct_program(arguments, "2>&1", &text), 0, "%s: %s", arguments, text.data);
    file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    cr_assert_not_null(fgets(line, sizeof line, file));
    cr_expect_eq(strncmp(line, begin, strlen(begin)), 0, "%s: %s", arguments, line);
    (void)fclose(file);
    (void)remove(path);
    cs_text_free(&text);
}

Test(run_answer, names_of_files_choose_the_format)
{
    expect_file("run -n 4 -s 1M -o answer-1.csv", "answer-1.csv", "algorithm,");
    expect_file("run -n 4 -s 1M -o answer-1.JSON", "answer-1.JSON", "[");
    expect_file("run -n 4 -s 1M -o answer-1.txt", "answer-1.txt", "# collsim");
    expect_file("run -n 4 -s 1M -o answer-1.csv --format table", "answer-1.csv", "# collsim");
    expect_file("bound -n 4 -s 1M -o answer-2.csv", "answer-2.csv", "collective,ranks,bytes,name");
    expect_file("critical -a stragglar -n 4 -s 1M -o answer-3.json", "answer-3.json", "[");
}

/* A row for each bound of each scenario, with what was swept. */
Test(run_answer, bounds_of_many_scenarios_are_a_csv)
{
    cs_text text = {0};

    cr_expect_eq(ct_program("bound -n 4,8 -s 1M,2M --late 3=1ms --format csv", "2>&1", &text), 0);
    cr_expect_eq(count(text.data, "allreduce,8,1048576,last_rank,"), 1, "%s", text.data);
    cr_expect_eq(count(text.data, "allreduce,4,2097152,last_rank,"), 1, "%s", text.data);
    cr_expect_not_null(strstr(text.data, "allreduce,4,1048576,t0,3.4952533333333335e-06,,"),
                       "before the last arrival: %s", text.data);
    cs_text_free(&text);
    cr_expect_eq(ct_program("bound -n 8 -s 1M --late 3=1ms --set "
                            "'sweep={\"cluster.nic.alpha\":[\"1us\",\"2us\"]}' --format csv",
                            "2>&1", &text),
                 0);
    cr_expect_not_null(strstr(text.data, ",source,cluster.nic.alpha_s\n"), "%s", text.data);
    cr_expect_eq(count(text.data, "allreduce,8,1048576,last_rank,"), 2, "%s", text.data);
    cs_text_free(&text);
    ct_program_says("bound -n 4,8 --set 'sweep={\"bytes\":[1,2]}'", 2,
                    "--set sweep: replaces what --ranks has added");
    ct_program_says("bound -n 8 --late 7=1ms,2ms --set 'sweep={\"bytes\":[1,2]}'", 2,
                    "--set sweep: replaces what --late has added");
    ct_program_says("bound -n 8 --set 'sweep={\"bytes\":[1,2]}' --late 7=1ms,2ms", 0,
                    "last_rank                2009.000");
    ct_program_says("bound -n 8 -s 32M", 0, "async_allreduce           135.739     432.60  *");
}
