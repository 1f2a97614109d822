/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is told of AdapCC's coordinator: the tuples of every tree, with a decision and without, and
 * what happens when memory runs out. */
#include "base/alloc.h"
#include "output/relay_report.h"

#include <criterion/criterion.h>
#include <string.h>

static cs_strategy  strategy;
static const double ready_s[] = {0, 1e-3, 12e-3, 2e-3};
static const bool   active[]  = {true, false, true, false};

/* Trees over four ranks, 64 MB in all, in chunks of 4 MB. */
static void make_trees(const uint32_t parents[][4], uint32_t n_trees)
{
    cr_assert_eq(cs_strategy_make(&strategy, 4, n_trees, NULL), CS_OK);
    for (uint32_t m = 0; m < n_trees; m++) {
        memcpy(strategy.trees[m].parent, parents[m], sizeof parents[m]);
    }
    cs_strategy_set_sizes(&strategy, 64000000, 4000000);
    cr_assert_eq(cs_strategy_check(&strategy, NULL), CS_OK);
}

static void tear_down(void)
{
    cs_strategy_free(&strategy);
}

TestSuite(relay_report, .fini = tear_down);

Test(relay_report, tuples_without_a_decision)
{
    static const uint32_t parents[][4] = {{CS_TREE_ROOT, 0, 1, 1}, {3, 3, 3, CS_TREE_ROOT}};
    cs_behaviour          b[8];
    cs_text               table = {0}, json = {0};

    make_trees(parents, 2);
    cs_behaviours_of(&strategy, 0, active, true, b);
    cs_behaviours_of(&strategy, 1, active, true, b + 4);
    const cs_relay_report report = {
        .strategy = &strategy, .behaviours = b, .active = active, .n_ranks = 4};
    cs_relay_table(&report, &table);
    cr_assert_str_eq(table.data, "# tree 0\n"
                                 "# rank  parent  active  recv  kernel  send\n"
                                 "     0    root       1     1       1     0\n"
                                 "     1       0       0     1       0     1\n"
                                 "     2       1       1     0       0     1\n"
                                 "     3       1       0     0       0     0\n"
                                 "\n# tree 1\n"
                                 "# rank  parent  active  recv  kernel  send\n"
                                 "     0       3       1     0       0     1\n"
                                 "     1       3       0     0       0     0\n"
                                 "     2       3       1     0       0     1\n"
                                 "     3    root       0     1       1     0\n");
    cs_relay_json(&report, &json);
    cr_assert_not_null(
        strstr(json.data, "{\"decision\": null, \"time_s\": null, \"ticks\": null, "), "%s",
        json.data);
    cr_assert_not_null(strstr(json.data,
                              "\"active\": [0, 2], \"workers\": null, \"tuples\": "
                              "[[1, 1, 1, 0], [0, 1, 0, 1], [1, 0, 0, 1], [0, 0, 0, 0], "
                              "[1, 0, 0, 1], [0, 0, 0, 0], [1, 0, 0, 1], [0, 1, 1, 0]]}"),
                       "%s", json.data);
    cs_text_free(&table);
    cs_text_free(&json);
}

Test(relay_report, who_is_in_no_tree)
{
    static const uint32_t parents[][4] = {{CS_TREE_ROOT, CS_TREE_ABSENT, 0, 2}};
    cs_behaviour          b[4];
    cs_text               table = {0};

    make_trees(parents, 1);
    cs_behaviours_of(&strategy, 0, active, true, b);
    cs_relay_table(
        &(cs_relay_report){.strategy = &strategy, .behaviours = b, .active = active, .n_ranks = 4},
        &table);
    cr_assert_not_null(strstr(table.data, "     1       -       0     0       0     0\n"));
    cs_text_free(&table);
}

/* A run of another algorithm has nothing to watch. */
Test(relay_report, of_a_run)
{
    const cs_algorithm      other    = {.name = "ring"};
    const cs_relay_setting  setting  = cs_relay_setting_of(CS_RELAY_LITERAL, 4, 64e6, 50e9);
    const cs_late_decisions none     = {.given = {.setting = setting}};
    cs_late_report          report   = {.json = {0}};
    cs_observer             observer = {.decided = NULL};

    cr_assert_eq(cs_late_report_observe(&report, &other, &observer), 0u);
    cr_assert_null(observer.decided);
    cr_assert_eq(cs_late_report_observe(&report, &cs_algorithm_strategy, &observer), 1u);
    for (long passes = 0, n_failed = 0; report.json.length == 0; passes++) {
        const cs_relay_case given = {.setting = setting, .ready_s = ready_s};
        cs_late_decisions   d     = none;

        cr_assert_lt(passes, 100);
        d.given = given;
        cr_assert_eq(cs_relay_times_of(&given, &d.times, NULL), CS_OK);
        cs_alloc_fail_after(passes);
        observer.decided(observer.user, &d);
        cs_alloc_fail_after(-1);
        cs_relay_times_free(&d.times);
        if (report.text.failed || report.json.failed) {
            n_failed++;
            cs_late_report_free(&report);
            continue;
        }
        cr_assert_gt(n_failed, 1);
        cr_assert_eq(strstr(report.json.data, ", \"decisions\": [{\"decision\": \"partial\", "),
                     report.json.data, "%s", report.json.data);
        cr_assert_null(strchr(report.json.data, '\n'));
    }
    cs_late_report_free(&report);
}

/* All that is told, or out of memory, whichever allocation fails. */
Test(relay_report, memory_runs_out)
{
    static const uint32_t parents[][4] = {{CS_TREE_ROOT, 0, 1, 1}};
    cs_relay_times        times;
    size_t                n_failed = 0, length = 0;

    make_trees(parents, 1);
    const cs_relay_case given = {.setting  = cs_relay_setting_of(CS_RELAY_LITERAL, 4, 64e6, 50e9),
                                 .ready_s  = ready_s,
                                 .strategy = &strategy};
    cr_assert_eq(cs_relay_times_of(&given, &times, NULL), CS_OK);
    const cs_relay_report report = {.given      = &given,
                                    .times      = &times,
                                    .strategy   = &strategy,
                                    .behaviours = times.behaviours,
                                    .n_ranks    = 4};
    for (long passes = 0; length == 0 && passes < 100; passes++) {
        cs_text text = {0};
        cs_alloc_fail_after(passes);
        cs_relay_table(&report, &text);
        cs_relay_json(&report, &text);
        cs_alloc_fail_after(-1);
        n_failed += text.failed;
        length = text.failed ? 0 : text.length;
        cs_text_free(&text);
    }
    cr_assert_gt(length, 1500);
    cr_assert_gt(n_failed, 3);
    cs_relay_times_free(&times);
}
