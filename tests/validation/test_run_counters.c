/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `run --counters` as a user sees it: what it prints and writes, what is refused, and that results
 * are those without it, for any number of repetitions. */
#include "support/folder.h"
#include "support/program.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SCENARIO "run -m packet -a allpairs -n 8 -s 1M --alpha 1us --bandwidth 400Gb/s"
#define SWITCHES                                                                                  \
    " --model-opt lossless=on --set 'cluster.topology={\"kind\": \"leaf-spine\", \"leaves\": 2, " \
    "\"spines\": 1, \"uplink_bandwidth\": \"400Gb/s\"}'"

TestSuite(run_counters, .init = ct_folder_enter, .fini = ct_folder_leave);

/* What the program prints, to both streams; the caller frees it. */
static cs_text run(const char *arguments)
{
    cs_text text = {0};

    cr_assert_eq(ct_program(arguments, "2>&1", &text), 0, "%s: %s", arguments, text.data);
    return text;
}

Test(run_counters, json_has_totals_and_links)
{
    json_t    *plain   = ct_program_result(SCENARIO SWITCHES " --format json");
    json_t    *asked   = ct_program_result(SCENARIO SWITCHES " --format json --counters summary");
    json_t    *links   = json_object_get(json_object_get(asked, "counters"), "links"), *link;
    json_int_t packets = 0, pauses = 0;
    size_t     i;

    cr_assert_null(json_object_get(plain, "counters"));
    cr_assert_eq(json_array_size(links), 20);
    json_array_foreach(links, i, link)
    {
        const char *name   = json_string_value(json_object_get(link, "link"));
        bool        is_out = strncmp(name, "NIC out", 7) == 0;
        packets += is_out ? json_integer_value(json_object_get(link, "packets")) : 0;
        pauses += json_integer_value(json_object_get(link, "pauses"));
        cr_assert(json_number_value(json_object_get(link, "use_fraction")) <= 1);
    }
    cr_assert_eq(packets, 2 * 8 * 7 * 32);
    cr_assert_eq(json_integer_value(json_object_get(plain, "packets")), packets);
    cr_assert_eq(json_integer_value(json_object_get(plain, "pauses")), pauses);
    cr_assert_gt(pauses, 0);
    json_object_del(asked, "counters");
    cr_assert(json_equal(plain, asked), "counting changes the result");
    json_decref(plain);
    json_decref(asked);
}

Test(run_counters, the_table_has_the_worst_links_of_every_scenario)
{
    cs_text text = run(SCENARIO SWITCHES " -s 1M,4M --counters summary");

    cr_assert_not_null(strstr(text.data, "# allpairs, 8 ranks, 1048576 bytes: 3584 packets\n"));
    cr_assert_not_null(strstr(text.data, "# allpairs, 8 ranks, 4194304 bytes: 14336 packets\n"));
    cr_assert_not_null(strstr(text.data, "uplink leaf 0 -> spine 0\n"));
    cs_text_free(&text);
}

Test(run_counters, files_are_the_same_every_time)
{
    cs_text nothing = run(SCENARIO SWITCHES " --counters a.csv --trace a.json");
    cs_text_free(&nothing);
    nothing = run(SCENARIO SWITCHES " --counters b.csv --trace b.json");
    cs_text_free(&nothing);
    nothing = run(SCENARIO SWITCHES " --counters c.csv --sample 5us");
    cs_text_free(&nothing);
    cs_text a = ct_file_read("a.csv"), b = ct_file_read("b.csv"), c = ct_file_read("c.csv");
    cs_text x = ct_file_read("a.json"), y = ct_file_read("b.json");
    cr_assert_str_eq(a.data, b.data);
    cr_assert_str_eq(x.data, y.data);
    cr_assert_not_null(strstr(a.data, "\n0,1e-07,NIC out of rank 0,0,"));
    cr_assert_not_null(strstr(c.data, "\n5e-06,1e-05,"));
    cr_assert_not_null(strstr(x.data, "\"name\":\"queue uplink leaf 0 -> spine 0\""));
    cr_assert_not_null(strstr(x.data, "\"name\":\"paused uplink leaf 0 -> spine 0\""));
    cs_text_free(&a);
    cs_text_free(&b);
    cs_text_free(&c);
    cs_text_free(&x);
    cs_text_free(&y);
}

Test(run_counters, what_cannot_be_is_refused)
{
    static const struct {
        const char *arguments, *why;
    } cases[] = {
        {"run -m flow --counters summary",
         "model flow counts nothing on its links: accepted is packet"},
        {"run -m packet --counters links.txt",
         "'links.txt': accepted are summary and the name of a file"},
        {"run -m packet -n 4,8 --counters a.csv", "--counters: needs exactly one scenario, not 2"},
        {"run -m packet --counters summary --sample 1us",
         "--sample: there are intervals only with"},
        {"run -m packet --sample 1us", "--sample: there are intervals only with"},
        {"run -m packet --counters a.csv --sample 0s", "--sample"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ct_program_says(cases[i].arguments, 2, cases[i].why);
        cr_assert_neq(access("a.csv", F_OK), 0);
    }
}
