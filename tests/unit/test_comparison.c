/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which results stand beside each other: texts and keys of settings, and the table. */
#include "output/comparison.h"

#include "cs/topology.h"
#include "support/program.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const double on_time[4]   = {0, 0, 0, 0};
static const double late[4]      = {0, 0, 0, 1e-3};
static const double all_late[4]  = {1e-3, 2e-3, 3e-3, 4e-3};
static const double all_other[4] = {1e-3, 1e-3, 3e-3, 4e-3};

static void compare(cs_text *text, const cs_compared *rows, size_t n)
{
    const cs_comparison_look look = {false, false};

    cr_assert_eq(cs_comparison(text, rows, n, &look, NULL), CS_OK);
}

static cs_scenario scenario_of(const double *arrivals)
{
    cs_fabric nic = {.kind = CS_SWITCHED, .alpha_s = 3e-6, .bandwidth_Bps = 450e9};

    return (cs_scenario){.collective = CS_ALLREDUCE,
                         .bytes      = 1 << 20,
                         .cluster    = {.n_ranks = 4, .gpus_per_server = 1, .fabrics = {nic, nic}},
                         .arrival_s  = arrivals};
}

static const char *text_of(const cs_scenario *scenario)
{
    static char text[CS_SETTING_BYTES];

    cs_setting_text(scenario, text, sizeof text);
    return text;
}

Test(comparison, settings_say_when_a_nic_is_slow)
{
    cs_capacity faults[3] = {
        {.rank = 0, .slowdown = 2, .until_s = (double)INFINITY},
        {.rank = 1, .slowdown = 1.5, .from_s = 1e-3, .until_s = (double)INFINITY},
        {.rank = 2, .slowdown = 4, .from_s = 1e-3, .until_s = 2e-3}};
    cs_scenario scenario = scenario_of(on_time);

    cr_expect_str_eq(text_of(&scenario), "nic 3 us, 450 GB/s");
    scenario.arrival_s = late;
    cr_expect_str_eq(text_of(&scenario), "nic 3 us, 450 GB/s, late 3 by 1000 us");
    scenario.capacity   = faults;
    scenario.n_capacity = 3;
    cr_expect_str_eq(
        text_of(&scenario),
        "nic 3 us, 450 GB/s, late 3 by 1000 us, slow 0 by 2, slow 1 by 1.5 from 1000 us, "
        "slow 2 by 4 from 1000 to 2000 us");
}

/* Inside one server there are no NICs in use, between servers of several GPUs both. */
Test(comparison, settings_name_the_ports_that_are_used)
{
    cs_scenario scenario = scenario_of(on_time);

    scenario.cluster.fabrics[CS_NVLINK] = (cs_fabric){CS_SWITCHED, 1e-6, 900e9};
    scenario.cluster.gpus_per_server    = 2;
    cr_expect_str_eq(text_of(&scenario), "nic 3 us, 450 GB/s, nvlink 1 us, 900 GB/s");
    scenario.cluster.gpus_per_server = 4;
    cr_expect_str_eq(text_of(&scenario), "nvlink 1 us, 900 GB/s");
}

/* Of the links of a mesh that a GPU does not drive at once. */
Test(comparison, settings_say_how_many_links_work_at_once)
{
    cs_scenario scenario = scenario_of(on_time), other = scenario;
    cs_result   result = {.model = "flow"};

    scenario.cluster.gpus_per_server         = 4;
    scenario.cluster.fabrics[CS_NVLINK].kind = CS_DIRECT;
    other                                    = scenario;
    cr_expect_str_eq(text_of(&scenario), "nvlink 3 us, 450 GB/s");
    scenario.cluster.nvlink_concurrent = 2;
    cr_expect_str_eq(text_of(&scenario), "nvlink 3 us, 450 GB/s, 2 of 3 links at once");
    cr_expect_neq(cs_setting_key(&scenario, &result), cs_setting_key(&other, &result));
    scenario.cluster.nvlink_concurrent = 3;
    cr_expect_str_eq(text_of(&scenario), "nvlink 3 us, 450 GB/s");
}

/* Are two scenarios the same row, and may they share a table? */
static bool is_same(const cs_scenario *a, const cs_scenario *b)
{
    const cs_result result = {.model = "flow"};
    bool            is_row = cs_setting_key(a, &result) == cs_setting_key(b, &result);

    cr_expect_eq(cs_same_conditions(a, b), is_row);
    return is_row;
}

Test(comparison, arrivals_and_times_of_faults_tell_settings_apart)
{
    cs_capacity early = {.rank = 0, .slowdown = 2, .from_s = 0, .until_s = (double)INFINITY};
    cs_capacity later = {.rank = 0, .slowdown = 2, .from_s = 1e-3, .until_s = (double)INFINITY};
    cs_scenario a = scenario_of(on_time), b = scenario_of(on_time);

    cr_expect(is_same(&a, &b));
    b.arrival_s = late;
    cr_expect_not(is_same(&a, &b));
    a.arrival_s = all_late;
    b.arrival_s = all_other; /* the texts are the same: four are late, the last by 4 ms */
    cr_expect_not(is_same(&a, &b));
    b = a;
    cr_expect(is_same(&a, &b));
    a.n_capacity = b.n_capacity = 1;
    a.capacity                  = &early;
    b.capacity                  = &later;
    cr_expect_not(is_same(&a, &b));
    b.capacity = &early;
    cr_expect(is_same(&a, &b));
    b.n_capacity = 0;
    cr_expect_not(is_same(&a, &b));
}

Test(comparison, topologies_tell_settings_apart)
{
    cs_leaf_spine fast = {.n_leaves = 2, .n_spines = 1, .uplink_bandwidth_Bps = 50e9};
    cs_leaf_spine slow = {.n_leaves = 2, .n_spines = 1, .uplink_bandwidth_Bps = 25e9};
    cs_link       fast_links[4], slow_links[4];
    cs_topology   fast_net, slow_net;
    cs_scenario   a = scenario_of(on_time), b = scenario_of(on_time);

    cs_leaf_spine_make(&fast, fast_links, &fast_net);
    cs_leaf_spine_make(&slow, slow_links, &slow_net);
    a.cluster.topology = &fast_net;
    cr_expect_str_eq(text_of(&a), "nic 3 us, 450 GB/s, leaf-spine, 4 links of 50 GB/s");
    fast_links[0].bandwidth_Bps = 12.5e9;
    cr_expect_str_eq(text_of(&a), "nic 3 us, 450 GB/s, leaf-spine, 4 links of 12.5 to 50 GB/s");
    cr_expect_not(is_same(&a, &b));
    b.cluster.topology = &slow_net;
    cr_expect_not(is_same(&a, &b));
    b.cluster.topology = &fast_net;
    cr_expect(is_same(&a, &b));
}

Test(comparison, the_fastest_of_a_row_is_the_best)
{
    cs_result   results[4] = {{.algorithm = "ring", .exposed_s = 3e-6, .elapsed_s = 3e-6},
                              {.algorithm = "rhd", .exposed_s = 2e-6, .elapsed_s = 2e-6},
                              {.algorithm = "ring", .exposed_s = 1e-6, .elapsed_s = 1e-6},
                              {.algorithm = "ring", .exposed_s = 9e-6, .elapsed_s = 9e-6}};
    cs_compared rows[4]    = {{&results[0], "here", 1, (double)NAN},
                              {&results[1], "here", 1, (double)NAN},
                              {&results[2], "here", 1, (double)NAN},
                              {&results[3], "there", 2, (double)NAN}};
    cs_text     text       = {0};

    compare(&text, rows, 4);
    cr_expect_not_null(
        strstr(text.data,
               "         1.00         2.00         0.00  ring         0.0000        -  here\n"));
    cr_expect_not_null(
        strstr(text.data,
               "         9.00            -         0.00  ring         0.0000        -  there\n"));
    cs_text_free(&text);
    results[1].note = results[2].note = "rhd and ring say the same";
    compare(&text, rows, 4);
    const char *once = "nobody chooses\n# rhd and ring say the same\n";
    const char *note = strstr(text.data, once);
    cr_assert_not_null(note);
    cr_expect_null(strstr(note + strlen(once), "say the same\n"), "a note is printed once");
    cs_text_free(&text);
    results[2].note = "not of all sizes";
    compare(&text, rows, 4);
    cr_expect_not_null(strstr(text.data, "# not of all sizes (0 ranks, 0 B)\n"), "%s", text.data);
    cs_text_free(&text);
    compare(&text, rows + 2, 2);
    cr_expect(text.length == 0, "one algorithm is not compared");
    cs_text_free(&text);
}

/* The critical delay of those that presume a rank late stands behind the bound, and a line says
 * against what; where that differs from row to row, against the best. */
Test(comparison, delays_of_those_that_presume_a_late_rank)
{
    cs_result   r[5] = {{.algorithm = "ring", .exposed_s = 2e-6, .elapsed_s = 2e-6},
                        {.algorithm        = "early",
                         .exposed_s        = 1e-6,
                         .elapsed_s        = 1e-6,
                         .critical_delay_s = 0.5e-6,
                         .delay_reference  = "ring"},
                        {.algorithm        = "late",
                         .exposed_s        = 3e-6,
                         .elapsed_s        = 3e-6,
                         .critical_delay_s = (double)INFINITY,
                         .delay_reference  = "ring"},
                        {.algorithm = "ring", .exposed_s = 2e-6, .elapsed_s = 2e-6},
                        {.algorithm        = "late",
                         .exposed_s        = 1e-6,
                         .elapsed_s        = 1e-6,
                         .critical_delay_s = 7e-6,
                         .delay_reference  = "ring"}};
    cs_compared rows[5];
    cs_text     text = {0};

    for (int i = 0; i < 5; i++) {
        rows[i] = (cs_compared){&r[i], "", i < 3, (double)NAN};
    }
    compare(&text, rows, 5);
    cr_expect_not_null(
        strstr(text.data, " bound early from late from  best            gap  vs ring  setting\n"));
    cr_expect_not_null(strstr(text.data, " 0.00       0.50     never  early "), "%s", text.data);
    cr_expect_not_null(strstr(text.data, " 0.00          -      7.00  late "), "%s", text.data);
    cr_expect_not_null(strstr(text.data,
                              "\n# early, late from: the delay of the late rank, us, from "
                              "which on it is faster than ring (collsim critical)\n"));
    cs_text_free(&text);
    r[4].delay_reference = "rhd";
    compare(&text, rows, 5);
    cr_expect_not_null(strstr(text.data,
                              "\n# early from: the delay of the late rank, us, from which "
                              "on it is faster than ring (collsim critical)\n# late from"));
    cr_expect_not_null(strstr(text.data, "it is faster than the best plain schedule (collsim "
                                         "critical):\n#   from 0 ranks, 0 B on: ring\n"
                                         "#   from 0 ranks, 0 B on: rhd\n"),
                       "%s", text.data);
    cs_text_free(&text);
}

/* allpairs wins on one alpha for all its messages, and says who wins where they cost something. */
Test(comparison, a_best_that_lives_on_one_alpha_is_marked)
{
    cs_result   results[3] = {{.algorithm = "allpairs", .exposed_s = 1e-6, .elapsed_s = 1e-6},
                              {.algorithm = "rhd", .exposed_s = 2e-6, .elapsed_s = 2e-6},
                              {.algorithm = "ring", .exposed_s = 3e-6, .elapsed_s = 3e-6}};
    cs_compared rows[3]    = {{&results[0], "here", 1, 2.5e-6},
                              {&results[1], "here", 1, (double)NAN},
                              {&results[2], "here", 1, (double)NAN}};
    cs_text     text       = {0};

    compare(&text, rows, 3);
    cr_expect_not_null(strstr(text.data,
                              " 0.00  allpairs (rhd*)   0.0000  -66.7 %  here\n"
                              "# gap: elapsed time over the bound; vs ring: exposed time against "
                              "ring, which runs if nobody chooses\n# (NAME*): the best with 0.2 us "
                              "between messages that leave a port on one alpha "
                              "(--model-opt message_gap_s=0.2us)\n"),
                       "%s", text.data);
    cs_text_free(&text);
    rows[0].paced_s = 1.5e-6;
    compare(&text, rows, 3);
    cr_expect_not_null(strstr(text.data, " 0.00  allpairs     0.0000  -66.7 %  here\n"), "%s",
                       text.data);
    cr_expect_null(strchr(text.data, '*'));
    cs_text_free(&text);
}

/* As many algorithms as there are: all have a column, and the best of all is named. */
Test(comparison, all_algorithms_have_a_column)
{
    cs_text text = {0};

    cr_expect_eq(
        ct_program("run -a all -n 32 -g 8 -s 256M --bandwidth 50GB/s --late 7=5ms", "2>&1", &text),
        0);
    const char *table = strstr(text.data, "# Which schedule?");
    cr_assert_not_null(table);
    cr_expect_not_null(strstr(table, " stragglar "), "%s", table);
    cr_expect_not_null(strstr(table, "  stragglar    1.0305  -48.3 %\n"), "%s", table);
    cr_expect_not_null(strstr(table, "\n# setting: nic"), "%s", table);
    for (const char *line = table; strncmp(line, "# setting", 9) != 0;
         line += strcspn(line, "\n") + 1) {
        cr_expect_leq(strcspn(line, "\n"), 120, "%s", table);
    }
    cs_text_free(&text);
}

/* 255 messages on one alpha, and what 0.2 us each make of them; of 15 they make nothing else. */
Test(comparison, allpairs_over_many_ranks_names_who_is_best_with_gaps)
{
    cs_text text = {0};

    cr_expect_eq(ct_program("run -a allpairs,ring,rhd -n 16,256 -s 64K --alpha 3us "
                            "--bandwidth 50GB/s",
                            "2>&1", &text),
                 0);
    cr_expect_not_null(strstr(text.data, "  allpairs (rhd*)   1.5346  -99.4 %  nic 3 us"), "%s",
                       text.data);
    cr_expect_not_null(strstr(text.data, "  allpairs          1.5497  -90.9 %  nic 3 us"), "%s",
                       text.data);
    cs_text_free(&text);
    cr_expect_eq(ct_program("run -a allpairs,ring,rhd -n 256 -s 64K --alpha 3us --bandwidth 50GB/s "
                            "--model-opt message_gap_s=0.2us",
                            "2>&1", &text),
                 0);
    cr_expect_not_null(strstr(text.data, "  rhd          1.9996  -96.7 %  nic 3 us"), "%s",
                       text.data);
    cs_text_free(&text);
}
