/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim relay as a user runs it: the worked examples in both formats, and one line for whatever
 * is wrong. */
#include "base/alloc.h"
#include "base/file.h"
#include "support/folder.h"
#include "support/program.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char folder[CT_FOLDER_BYTES];

static void set_up(void)
{
    ct_folder_make(folder);
    cr_assert_eq(chdir(folder), 0);
}

static void tear_down(void)
{
    cr_assert_eq(chdir("/"), 0);
    ct_folder_remove(folder);
}

TestSuite(relay_command, .init = set_up, .fini = tear_down);

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");

    cr_assert_not_null(file);
    cr_assert_geq(fputs(text, file), 0);
    cr_assert_eq(fclose(file), 0);
}

/* What the program prints; the caller frees it. */
static cs_text printed(const char *arguments, int code)
{
    cs_text text = {0};
    char    command[1000];

    (void)snprintf(command, sizeof command, "relay %s", arguments);
    cr_assert_eq(ct_program(command, "2>&1", &text), code, "%s: %s", arguments, text.data);
    return text;
}

static json_t *answer(const char *arguments)
{
    char         words[900];
    json_error_t error;

    (void)snprintf(words, sizeof words, "%s --format json", arguments);
    cs_text text = printed(words, 0);
    json_t *json = json_loads(text.data, 0, &error);
    cr_assert_not_null(json, "%s: %s", error.text, text.data);
    cs_text_free(&text);
    return json;
}

static void expect_number(json_t *object, const char *key, double want)
{
    json_t *value = json_object_get(object, key);

    cr_assert(json_is_number(value), "%s", key);
    cr_assert_float_eq(json_number_value(value), want, 1e-9, "%s is %.12g", key,
                       json_number_value(value));
}

static void expect_null(json_t *object, const char *key)
{
    cr_assert(json_is_null(json_object_get(object, key)), "%s", key);
}

static void expect_word(json_t *object, const char *key, const char *want)
{
    const char *is = json_string_value(json_object_get(object, key));

    cr_assert_not_null(is, "%s", key);
    cr_assert_str_eq(is, want, "%s", key);
}

static void expect_ranks(json_t *list, const char *want)
{
    char *is = json_dumps(list, JSON_COMPACT);

    cr_assert_not_null(is);
    cr_assert_str_eq(is, want);
    free(is);
}

#define FOUR "-s 64MB --rate 50GB/s "

Test(relay_command, worked_examples)
{
    json_t *all   = answer(FOUR "--ready 0s,1ms,2ms,4ms");
    json_t *paper = answer(FOUR "--ready 0s,1ms,2ms,30ms --rule literal");
    json_t *code  = answer(FOUR "--ready 0s,1ms,2ms,30ms --rule premium");

    expect_word(all, "decision", "all");
    expect_number(all, "ticks", 1);
    expect_number(all, "time_s", 5e-3);
    expect_number(all, "phase1_end_s", 12.68e-3);
    expect_number(all, "end_s", 12.68e-3);
    expect_number(all, "wait_all_s", 11.68e-3);
    expect_null(all, "deadline_s");
    expect_null(all, "tuples");
    expect_ranks(json_object_get(all, "active"), "[0,1,2,3]");
    expect_word(paper, "decision", "partial");
    expect_number(paper, "ticks", 2);
    expect_number(paper, "time_s", 10e-3);
    expect_number(paper, "phase1_end_s", 15.12e-3);
    expect_number(paper, "deadline_s", 90.72e-3);
    expect_number(paper, "end_s", 31.28e-3);
    expect_ranks(json_object_get(paper, "active"), "[0,1,2]");
    expect_word(paper, "volumes", "paper");
    expect_number(code, "ticks", 1);
    expect_number(code, "time_s", 5e-3);
    expect_number(code, "phase1_end_s", 10.12e-3);
    expect_number(code, "end_s", 31.28e-3);
    expect_word(code, "rule", "premium");
    expect_word(code, "volumes", "code");
    json_decref(all);
    json_decref(paper);
    json_decref(code);
}

Test(relay_command, workers_one_by_one)
{
    json_t *json = answer(FOUR "--ready 0s,1ms,11.92ms,never,2ms --chunk 4MB --batch 256 -c reduce "
                               "--volumes paper --cycle 10ms --rpc 0");
    json_t *workers = json_object_get(json, "workers"), *joined = json_array_get(workers, 2),
           *never = json_array_get(workers, 3);

    /* (k - 1) s / B = 2.56 ms from 10 ms on; at 11.92 ms 12 of 16 chunks have started. */
    cr_assert_eq(json_array_size(workers), 5);
    expect_word(json, "decision", "partial");
    expect_number(json, "phase1_end_s", 12.56e-3);
    expect_word(joined, "role", "late");
    expect_number(joined, "joined_s", 11.92e-3);
    expect_number(joined, "missing_bytes", 48e6);
    expect_number(joined, "from_s", 12.56e-3);
    expect_number(joined, "to_s", 13.52e-3);
    expect_number(joined, "samples", 64);
    expect_word(never, "role", "excluded");
    expect_null(never, "ready_s");
    expect_null(never, "from_s");
    expect_number(never, "samples", 0);
    expect_null(json, "wait_all_s");
    expect_number(json, "end_s", 6 * 12.56e-3);
    json_decref(json);
}

Test(relay_command, other_options)
{
    json_t *one  = answer(FOUR "--ready 2ms,90ms,90ms,90ms --one-starts");
    json_t *slow = answer(FOUR "--ready 0s,1ms,2ms,30ms --rpc 2ms");

    expect_number(one, "ticks", 1);
    expect_ranks(json_object_get(one, "active"), "[0]");
    expect_number(one, "phase1_end_s", 7e-3);
    expect_number(slow, "first_s", 2e-3);
    expect_number(slow, "time_s", 12e-3);
    expect_number(slow, "phase1_end_s", 19.12e-3);
    expect_number(slow, "end_s", 33.28e-3);
    json_decref(one);
    json_decref(slow);
}

Test(relay_command, why_it_waits)
{
    static const char *const lines[] = {
        "4 workers, allreduce of 64000000 bytes each; all together, at 50 GB/s: 7.680 ms\n",
        "     0        0.000      1        0.000            -  wait: one alone does not start\n",
        "     1        5.000      3        5.000        6.400  wait\n",
        "     2       10.000      3       10.000        6.400  start with 0-2\n",
        "      10.000  ranks 0-2 start phase 1; relays: 3\n",
        "      15.120  phase 1 is done; who is ready by 90.720 is waited for\n",
        "      30.000  rank 3 broadcasts 64000000 bytes\n",
        "      31.280  all have the tensor of rank 3\n      31.280  done\n",
        "Waiting for all instead: until 37.680 ms, 1.20 x the time.\n"};
    cs_text text = printed(FOUR "--ready 0s,1ms,2ms,30ms", 0);
    size_t  at   = 0;

    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        const char *found = strstr(text.data + at, lines[i]);
        cr_assert_not_null(found, "no '%s' in\n%s", lines[i], text.data);
        at = (size_t)(found - text.data);
    }
    cs_text_free(&text);
}

Test(relay_command, long_waits_are_short_to_read)
{
    cs_text text = printed("-s 20MB --rate 1GB/s --ready 0s,0s,0.2s,never,1s --rule premium", 0);

    cr_assert_not_null(strstr(text.data, "    ..\n"), "%s", text.data);
    cr_assert_not_null(strstr(text.data, "start with 0-1"), "%s", text.data);
    cs_text_free(&text);
    text = printed("-s 800MB --rate 1GB/s --ready 0s,0s,never,0s --rule premium", 0);
    cr_assert_not_null(strstr(text.data, "    21      105.000      3      105.000     2666.667  "
                                         "start with 0-1,3: waited more than 100 ms\n"),
                       "%s", text.data);
    cr_assert_not_null(strstr(text.data, "rank 2 is not ready: excluded\n"), "%s", text.data);
    cr_assert_not_null(strstr(text.data, "Waiting for all instead: for ever.\n"));
    cs_text_free(&text);
    text = printed("-s 8MB --rate 1GB/s --ready 0s,1e6 --batch 9", 0);
    cr_assert_lt(text.length, 1000, "%s", text.data);
    cr_assert_not_null(strstr(text.data, "9 samples a step over 2 workers: 5 for 1 of them, 4 for "
                                         "1.\n"),
                       "%s", text.data);
    cs_text_free(&text);
}

#define GPU(rank, inside) "<gpu id='" rank "' ip='b'>" inside "</gpu>"
#define ONE_TREE          "<trees><root id='0' ip='b'>" GPU("1", GPU("2", "") GPU("3", "")) "</root></trees>"
#define TWO_TREES                                                                                 \
    "<trees><root id='0' ip='b' size='48M' chunk='4M'>" GPU(                                      \
        "1", GPU("2", "") GPU("3", "")) "</root>"                                                 \
                                        "<root id='3' ip='b' size='16M' chunk='4M'>" GPU("0", "") \
                                            GPU("1", "") GPU("2", "") "</root></trees>"

Test(relay_command, tuples_of_the_log_and_the_paper)
{
    write_file("s.xml", ONE_TREE);
    json_t *log    = answer("--strategy s.xml --active 0,2");
    json_t *paper  = answer("--strategy s.xml --active 3,2,0");
    json_t *gather = answer("--strategy s.xml --active 0,2,3 -c allgather");

    expect_ranks(json_object_get(log, "tuples"), "[[1,1,1,0],[0,1,0,1],[1,0,0,1],[0,0,0,0]]");
    expect_ranks(json_object_get(log, "active"), "[0,2]");
    expect_null(log, "decision");
    expect_null(log, "end_s");
    expect_null(log, "workers");
    expect_ranks(json_object_get(paper, "tuples"), "[[1,1,1,0],[0,1,1,1],[1,0,0,1],[1,0,0,1]]");
    expect_ranks(json_object_get(gather, "tuples"), "[[1,1,0,0],[0,1,0,1],[1,0,0,1],[1,0,0,1]]");
    json_decref(log);
    json_decref(paper);
    json_decref(gather);
}

/* Rank 3 is a leaf of the first tree, and joins the second one behind 2 of its 4 chunks; --chunk
 * is for both trees, the first of which then has 3 chunks and the second one. */
Test(relay_command, a_decision_with_trees)
{
    static const char words[] =
        "-s 64M --rate 64MB/s --cycle 5s --ready 0s,0s,0s,%s --strategy s.xml";
    char late[200], coarse[200];

    write_file("s.xml", TWO_TREES);
    (void)snprintf(late, sizeof late, words, "12.097152s");
    json_t *json   = answer(late);
    json_t *worker = json_array_get(json_object_get(json, "workers"), 3);
    expect_number(json, "ticks", 2);
    expect_number(json, "phase1_end_s", 10 + 4 * 1.048576);
    expect_number(worker, "missing_bytes", (48 + 8) * 1048576.0);
    expect_ranks(
        json_object_get(json, "tuples"),
        "[[1,1,1,0],[1,1,1,1],[1,0,0,1],[0,0,0,0],[1,0,0,1],[1,0,0,1],[1,0,0,1],[0,1,1,0]]");
    json_decref(json);
    (void)snprintf(coarse, sizeof coarse, words, "12.097152s --chunk 16M");
    json   = answer(coarse);
    worker = json_array_get(json_object_get(json, "workers"), 3);
    expect_number(worker, "missing_bytes", 64 * 1048576.0);
    json_decref(json);
    (void)snprintf(coarse, sizeof coarse, words, "12.097152s --join coordinator");
    json   = answer(coarse);
    worker = json_array_get(json_object_get(json, "workers"), 3);
    expect_number(worker, "missing_bytes", (24 + 8) * 1048576.0);
    json_decref(json);
}

/* Rank 1 never comes: its children hang below its parent, and the file is read again. */
Test(relay_command, trees_without_the_excluded)
{
    static const char want[] = "<trees>\n"
                               "  <root id=\"0\" ip=\"b\" size=\"64000000\" chunk=\"64000000\">\n"
                               "    <gpu id=\"2\" ip=\"b\"/>\n"
                               "    <gpu id=\"3\" ip=\"b\"/>\n"
                               "  </root>\n"
                               "</trees>\n";
    char             *left   = NULL;
    size_t            length = 0;

    write_file("s.xml", ONE_TREE);
    json_t *json = answer(FOUR "--ready 0s,never,0s,0s --strategy s.xml -o left.xml");
    cr_assert_eq(json_array_size(json_object_get(json, "active")), 3);
    json_decref(json);
    cr_assert_eq(cs_file_read("left.xml", 1000, &left, &length, NULL), CS_OK);
    cr_assert_str_eq(left, want);
    cs_free(left);
    json = answer("--strategy left.xml --active 0,2,3");
    expect_ranks(json_object_get(json, "tuples"), "[[1,1,1,0],[0,0,0,0],[1,0,0,1],[1,0,0,1]]");
    json_decref(json);
}

/* As everywhere: numbers without a unit that are hardly meant are taken, and said, each option
 * once. */
Test(relay_command, odd_numbers_are_said)
{
    cs_text text = {0};

    cr_assert_eq(ct_program("relay --ready 0,1,2,30 -s 64MB --rate 50", "2>&1 >/dev/null", &text),
                 0);
    cr_assert_str_eq(text.data, "collsim: note: --rate: 50 is read as 50 B/s; write 50GB/s\n"
                                "collsim: note: --ready: 1 is read as 1 s; write 1ms\n");
    cs_text_free(&text);
    cr_assert_eq(
        ct_program("relay --ready 0,0.5,2s,30ms -s 64MB --rate 50e9", "2>&1 >/dev/null", &text), 0);
    cr_assert_eq(text.length, 0, "%s", text.data);
    cs_text_free(&text);
}

Test(relay_command, what_is_wrong_is_one_line)
{
    static const char *const cases[][2] = {
        {"", "relay: needs ready times: relay --ready 0ms,1ms,30ms -s 64MB --rate 50GB/s"},
        {"--ready 0,1", "relay: needs the tensor of each worker: --bytes S"},
        {"--ready 0,1 -s 1MB", "relay: needs the rate of all links together: --rate R"},
        {FOUR "--ready 0s", "--ready: 1 times: accepted are those of 2 to 65536 workers"},
        {FOUR "--ready 0s,,1s", "--ready: worker 1 has no time: accepted are times with commas "
                                "between them: 0ms,1ms,30ms"},
        {FOUR "--ready 0s,1s,", "--ready: worker 2 has no time: accepted are times with commas "
                                "between them: 0ms,1ms,30ms"},
        {FOUR "--ready 0s,soon", "--ready: 'soon' is not a time: accepted are 3us, 4.48ms, 1s, "
                                 "seconds without a unit, and never"},
        {FOUR "--ready 0s,2e6", "--ready: 2e6 is out of range: accepted are 0 to 1e+06 s"},
        {FOUR "--ready never,never", "ready: nobody is ever ready: accepted is one at least"},
        {FOUR "--ready never,3s,never", "ready: only worker 1 is ever ready, and one alone does "
                                        "not start: accepted are two at least"},
        {"--ready 0,1 -s 1MB --rate 0",
         "--rate: 0 is out of range: accepted are above 0 to 1e+18 B/s"},
        {FOUR "--ready 0,1 --rule best",
         "--rule: unknown word 'best': accepted are literal, premium"},
        {"--active 0,1", "--active: needs the trees: --strategy FILE.xml"},
        {"--strategy s.xml", "relay: needs to know who is ready: --active 0,2,3, or --ready "
                             "0ms,1ms,30ms"},
        {"--strategy s.xml --active 0 -s 1M", "-s: goes with --ready, not with --active"},
        {"--strategy s.xml --active 0 --ready 0,1", "relay: takes --ready or --active, not both"},
        {"--strategy s.xml --active 0,4", "--active: 4 is outside [0, 3]"},
        {"--strategy gap.xml --active 1", "--active: rank 1 is in no tree"},
        {FOUR "--ready 0s,1s,2s --strategy gap.xml",
         "ready: 3 workers, but the trees are over 2 of 3 "
         "ranks"},
        {FOUR "--ready 0,1 -o left.xml", "--output: needs the trees: --strategy FILE.xml"},
        {"--strategy s.xml --active 0,0", "--active: rank 0 stands there twice"},
        {"--strategy s.xml --active 0,", "--active: a rank is missing: accepted are ranks with "
                                         "commas between them: 0,2,3"},
        {FOUR "--ready 0s,1s --strategy s.xml",
         "ready: 2 workers, but the trees are over 4 of 4 ranks"},
    };

    write_file("s.xml", ONE_TREE);
    write_file("gap.xml", "<trees><root id='0' ip='b'>" GPU("2", "") "</root></trees>");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char    want[300];
        cs_text text = printed(cases[i][0], 2);
        (void)snprintf(want, sizeof want, "collsim: %s\n", cases[i][1]);
        cr_assert_str_eq(text.data, want);
        cs_text_free(&text);
    }
}

/* ---- what a run decides ---- */

#define RUN "run -n 4 -s 64M --bandwidth 12.5GB/s --late 1=12ms --late 3=1s --format json "

/* A result holds what the coordinator decided, and what `relay` says on paper for the same rate;
 * results without a coordinator, and CSV, are as before. */
Test(relay_command, a_run_says_what_was_decided)
{
    json_t     *result = ct_program_result(RUN "-a adapcc --opt relay=premium");
    json_t     *list = json_object_get(result, "decisions"), *d = json_array_get(list, 0);
    json_t     *workers = json_object_get(d, "workers"), *late = json_array_get(workers, 3);
    const char *others[] = {RUN "-a adapcc", RUN "-a ring"};

    cr_assert_eq(json_array_size(list), 1u, "one collective");
    expect_word(d, "decision", "partial");
    expect_word(d, "rule", "premium");
    expect_word(d, "volumes", "code");
    expect_number(d, "ticks", 1);
    expect_number(d, "time_s", 5e-3);
    expect_ranks(json_object_get(d, "active"), "[0,2]");
    expect_null(d, "deadline_s");
    expect_number(d, "end_s", json_number_value(json_object_get(result, "elapsed_s")));
    cr_assert_eq(json_array_size(workers), 4u);
    expect_word(late, "role", "late");
    expect_number(late, "ready_s", 1);
    expect_number(late, "missing_bytes", 64 << 20);
    expect_number(json_array_get(workers, 1), "joined_s", 12e-3);
    expect_number(json_array_get(workers, 0), "missing_bytes", 0);
    json_decref(result);
    for (size_t i = 0; i < 2; i++) {
        result = ct_program_result(others[i]);
        cr_assert_null(json_object_get(result, "decisions"));
        json_decref(result);
    }
}

/* Rows stand on lines of their own, also with decisions. */
Test(relay_command, decisions_stay_on_their_line)
{
    cs_text  text    = {0};
    uint32_t n_lines = 0;

    cr_assert_eq(ct_program(RUN "-a adapcc,ring --opt relay=literal", "2>&1", &text), 0, "%s",
                 text.data);
    for (const char *c = text.data; *c != '\0'; c++) {
        n_lines += *c == '\n';
    }
    cr_assert_eq(n_lines, 4u, "%s", text.data);
    cs_text_free(&text);
}
