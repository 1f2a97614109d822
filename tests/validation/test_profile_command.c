/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim profile as a user runs it: both formats, the way to trees and back, and one line for
 * whatever is wrong. */
#include "base/alloc.h"
#include "support/folder.h"
#include "support/program.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

TestSuite(profile_command, .init = ct_folder_enter, .fini = ct_folder_leave);

#define CLUSTER "-n 16 -g 4 --alpha 20us --bandwidth 12.5GB/s"

static json_t *answer(const char *arguments)
{
    char         words[900];
    json_error_t error;
    cs_text      text = {0};

    (void)snprintf(words, sizeof words, "%s --format json", arguments);
    cr_assert_eq(ct_program(words, "2>&1", &text), 0, "%s: %s", arguments, text.data);
    json_t *json = json_loads(text.data, 0, &error);
    cr_assert_not_null(json, "%s: %s", error.text, text.data);
    cs_text_free(&text);
    return json;
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    cr_assert(json_is_number(value), "%s", key);
    return json_number_value(value);
}

Test(profile_command, json_has_every_link)
{
    json_t *json = answer(
        "profile --topology adapcc-a100 -n 12 --slow 4=2 --period 100 --solve 10ms --setup 90ms");
    json_t *links  = json_object_get(json, "links");
    double  took_s = number(json, "duration_s");

    cr_assert_eq(json_array_size(links), 3u * 12 + 6);
    cr_assert_float_eq(number(json, "per_iteration_s"), took_s / 100, 1e-15);
    cr_assert_float_eq(number(json, "reconstruction_s"), took_s + .1, 1e-12);
    cr_assert_float_eq(number(json, "messages"), 3 * (12 + 2) * 51, 0);
    for (size_t i = 0; i < json_array_size(links); i++) {
        const json_t *l      = json_array_get(links, i);
        bool          is_net = strcmp(json_string_value(json_object_get(l, "kind")), "net") == 0;
        bool   is_slow       = is_net && ((int)number(l, "src") == 1 || (int)number(l, "dst") == 1);
        double want_Bps      = !is_net ? 100e9 : is_slow ? 6.25e9 : 12.5e9;

        cr_assert_float_eq(number(l, "bandwidth_Bps") / want_Bps, 1, 1e-9, "link %zu", i);
        cr_assert_float_eq(number(l, "alpha_s"), is_net ? 20e-6 : 5e-6, 1e-12, "link %zu", i);
        cr_assert_leq(number(l, "bandwidth_low_Bps"), number(l, "bandwidth_high_Bps"));
    }
    json_decref(json);
}

/* Two times of a link leave no limits. */
Test(profile_command, what_is_not_known_is_null)
{
    json_t *json = answer("profile -n 2 --counts 4 --sizes 1MB");
    json_t *link = json_array_get(json_object_get(json, "links"), 1);

    cr_assert(json_is_null(json_object_get(link, "bandwidth_high_Bps")));
    json_decref(json);
    ct_program_says("profile -n 2 --counts 4 --sizes 1MB", 0, "          -\n");
}

/* Profile, synthesise for what was found, replay: faster than what was made for healthy NICs. */
Test(profile_command, its_graph_makes_better_trees)
{
    ct_program_says("profile " CLUSTER " -o before.xml", 0, "4 servers of 4 GPUs");
    ct_program_says("profile " CLUSTER " --slow 8=2 -o after.xml", 0, "6.2500");
    ct_program_says("synthesize " CLUSTER " -s 256M --graph before.xml -o old.xml", 0, "volume");
    ct_program_says("synthesize " CLUSTER " -s 256M --graph after.xml -o new.xml", 0, "volume");
    json_t *old = answer("synthesize " CLUSTER " -s 256M --slow 8=2 --strategy old.xml");
    json_t *new = answer("synthesize " CLUSTER " -s 256M --slow 8=2 --strategy new.xml");
    cr_assert_lt(number(new, "replay_s"), .85 * number(old, "replay_s"));
    cr_assert_lt(number(json_object_get(new, "cost_s"), "volume"),
                 .8 * number(json_object_get(old, "cost_s"), "volume"));
    json_decref(old);
    json_decref(new);
}

/* The released program's trees are changed, those that come of it are not, until a NIC gets slow.
 */
Test(profile_command, trees_are_changed_once)
{
    ct_program_says("synthesize " CLUSTER " -s 256M --synthesizer code -o old.xml", 0, "volume");
    ct_program_says("profile " CLUSTER " -s 256M --strategy old.xml --next trees.xml", 0,
                    ": changed, 0.000 ms are saved in 0.0 iterations of 500");
    cs_text first = ct_file_read("trees.xml");
    ct_program_says("profile " CLUSTER " -s 256M --strategy trees.xml --next trees.xml", 0,
                    "kept, the new ones save nothing");
    cs_text second = ct_file_read("trees.xml");
    cr_assert_str_eq(first.data, second.data);
    ct_program_says("profile " CLUSTER
                    " -s 256M --slow 8=2 --setup 300ms --strategy trees.xml --next next.xml",
                    0, ": changed, 300.000 ms are saved in ");
    cs_text third = ct_file_read("next.xml");
    cr_assert_str_neq(first.data, third.data);
    json_t *json =
        answer("profile " CLUSTER " -s 256M --slow 8=2 --setup 300ms --strategy next.xml");
    json_t *trees = json_object_get(json, "trees");
    cr_assert(json_is_true(json_object_get(trees, "keep")));
    cr_assert(json_is_null(json_object_get(trees, "break_even_iterations")));
    cr_assert_float_eq(number(trees, "old_s"), number(trees, "new_s"), 1e-12);
    json_decref(json);
    ct_program_says("profile " CLUSTER " -s 256M --slow 8=2 --setup 300s --strategy trees.xml", 0,
                    ": kept, 300000.000 ms are saved in ");
    cs_text_free(&first);
    cs_text_free(&second);
    cs_text_free(&third);
}

Test(profile_command, trees_that_do_not_fit_are_one_line)
{
    ct_program_says("synthesize -n 4 -s 1M -o trees.xml", 0, "volume");
    ct_program_says("profile -n 4 -s 2M --strategy trees.xml", 2,
                    "trees.xml: strategy: the trees are for 1048576 bytes, the buffer has 2097152");
    ct_program_says("profile -n 5 -s 1M --strategy trees.xml", 2, "collsim: trees.xml: ");
    ct_program_says("profile -n 4 -s 1M -c allgather --strategy trees.xml", 2,
                    "collective: trees are made for allreduce");
    ct_program_says("profile -n 4 -s 1M --strategy none.xml", 3, "none.xml");
    ct_program_says("profile -n 4 --next trees.xml", 2, "--next: needs the trees in use");
    ct_file_write("bad.xml", "<trees><root id=\"0\" ip=\"a\"/>");
    ct_program_says("profile -n 4 -s 1M --strategy bad.xml", 2, "bad.xml:1:");
}

Test(profile_command, noise_comes_from_the_seed)
{
    cs_text first = {0}, again = {0}, other = {0};

    cr_assert_eq(ct_program("profile -n 3 --noise 0.02 --seed 5", "", &first), 0);
    cr_assert_eq(ct_program("profile -n 3 --noise 0.02 --seed 5", "", &again), 0);
    cr_assert_eq(ct_program("profile -n 3 --noise 0.02 --seed 6", "", &other), 0);
    cr_assert_str_eq(first.data, again.data);
    cr_assert_str_neq(first.data, other.data);
    cs_text_free(&first);
    cs_text_free(&again);
    cs_text_free(&other);
}

Test(profile_command, what_is_wrong_is_one_line)
{
    ct_program_says("profile -a ring", 2, "--algorithm: profile is always about adapcc");
    ct_program_says("profile -n 4,8", 2, "profile: needs exactly one scenario, not 2");
    ct_program_says("profile -n 1", 2, "collsim: --ranks: 1 is outside [2, 65536]");
    ct_program_says("profile --counts 2,,4", 2, "--counts: accepted are 1 to 16 numbers");
    ct_program_says("profile --counts 1", 2, "--counts");
    ct_program_says("profile --counts ''", 2, "--counts: accepted are 1 to 16 numbers");
    ct_program_says("profile --counts 2,", 2, "--counts: accepted are 1 to 16 numbers");
    ct_program_says("profile --sizes 1MB,x", 2, "--sizes");
    ct_program_says("profile --sizes 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", 2,
                    "--sizes: accepted are 1 to 16 sizes");
    ct_program_says("profile --sizes 256T", 2, "sizes: 8 messages of 281474976710656 bytes: ");
    ct_program_says("profile --noise 2", 2, "--noise");
    ct_program_says("profile --repeats 100", 2, "repeats: 100 x 3 counts x 3 sizes: accepted are");
    ct_program_says("profile -m loggp --model-opt overhead_us=1", 2,
                    "unknown option 'overhead_us'");
    ct_program_says("profile -n 8192", 2, "accepted are up to 2^22");
    ct_program_says("profile -o no/such/folder.xml", 3, "no/such/folder.xml");
    ct_program_says("profile --noise 0.9 --sizes 10", 2, "do not grow with the size");
}
