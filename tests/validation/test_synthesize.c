/* SPDX-License-Identifier: GPL-3.0-or-later */
/* collsim synthesize as a user runs it: who makes the trees, what a solver says, shares that differ
 * in files and replays, limits, and what a build without GLPK answers. */
#include "algorithms/adapcc/lp.h"
#include "support/folder.h"
#include "support/program.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

TestSuite(synthesize, .init = ct_folder_enter, .fini = ct_folder_leave);

#define CLUSTER                                                          \
    "-n 10 -g 2 --alpha 20us --bandwidth 12.5GB/s --nvlink-kind direct " \
    "--nvlink-alpha 5us --nvlink-bandwidth 100GB/s --slow 4=1.7 --slow 8=1.3 -s 256M"

/* The JSON of a command that succeeds; to be freed. */
static json_t *answer(const char *arguments)
{
    cs_text text = {0};
    char    words[500];

    (void)snprintf(words, sizeof words, "synthesize " CLUSTER " --format json %s", arguments);
    cr_assert_eq(ct_program(words, "2>&1", &text), 0, "%s: %s", words, text.data);
    json_t *root = json_loads(text.data, 0, NULL);
    cr_assert_not_null(root, "%s", text.data);
    cs_text_free(&text);
    return root;
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    cr_assert(json_is_number(value), "%s", key);
    return json_number_value(value);
}

/* What the sizes of the trees are together; *differ_p: not all are the same within a byte. */
static double sum_of_sizes(const json_t *root, bool *differ_p)
{
    double  sum = 0, least = 1e300, most = 0;
    size_t  i;
    json_t *tree;

    json_array_foreach(json_object_get(root, "trees"), i, tree)
    {
        double size = number(tree, "size_bytes");
        sum += size;
        least = size < least ? size : least;
        most  = size > most ? size : most;
    }
    *differ_p = most - least > 1;
    return sum;
}

Test(synthesize, solvers_say_how_they_ended)
{
    static const char *const names[] = {"packing", "milp"};

    if (cs_lp_missing() != NULL) {
        cr_skip_test("it needs %s", cs_lp_missing());
    }
    json_t *heuristic = answer("");
    double  turns_s   = number(json_object_get(heuristic, "cost_s"), "turns");
    cr_assert_null(json_object_get(heuristic, "solver"));
    for (int i = 0; i < 2; i++) {
        char    arguments[100];
        json_t *solver, *root;

        (void)snprintf(arguments, sizeof arguments, "--synthesizer %s --opt solver_nodes=20",
                       names[i]);
        root   = answer(arguments);
        solver = json_object_get(root, "solver");
        cr_expect_str_eq(json_string_value(json_object_get(root, "synthesizer")), names[i]);
        cr_assert_not_null(solver);
        cr_expect_geq(number(solver, "gap"), 0);
        cr_expect_lt(number(solver, "gap"), .5);
        cr_expect_geq(number(solver, "objective_s"), number(solver, "bound_s") * (1 - 1e-6));
        cr_expect_not_null(json_string_value(json_object_get(solver, "end")));
        cr_expect_leq(number(json_object_get(root, "cost_s"), "turns"), turns_s);
        json_decref(root);
    }
    json_decref(heuristic);
    ct_program_says("synthesize " CLUSTER " --synthesizer milp --opt solver_nodes=1", 0,
                    "ended by: nodes");
}

/* Trees with shares of their own are written, read, evaluated and replayed as they were made. */
Test(synthesize, shares_that_differ_go_all_the_way)
{
    bool    differ = false, differ_too = false;
    json_t *made = answer("--opt trees=4 -o made.xml");
    json_t *read = answer("--strategy made.xml");

    cr_expect_eq(sum_of_sizes(made, &differ), 268435456);
    cr_expect_eq(sum_of_sizes(read, &differ_too), 268435456);
    cr_expect(differ && differ_too, "this cluster is one where they differ");
    cr_expect(json_equal(json_object_get(made, "trees"), json_object_get(read, "trees")));
    cr_expect(json_equal(json_object_get(made, "cost_s"), json_object_get(read, "cost_s")));
    cr_expect_float_eq(number(made, "replay_s"), number(read, "replay_s"), 0);
    cr_expect_geq(number(made, "replay_s"), number(made, "bound_s"));
    json_decref(made);
    json_decref(read);
}

/* By the paper's equation forwarding pays, by what ports carry it does not. */
Test(synthesize, ranks_forward_where_the_equation_profits)
{
    static const char *const base    = "synthesize --topology adapcc -n 24 -c reduce -s 256M "
                                       "--opt chunk=4194304 --opt cost=%s --opt forward=%s";
    static const char *const costs[] = {"literal", "volume"};

    for (int i = 0; i < 2; i++) {
        cs_text text = {0};
        char    words[300];

        (void)snprintf(words, sizeof words, base, costs[i], "yes");
        cr_assert_eq(ct_program(words, "2>&1", &text), 0, "%s", text.data);
        cr_expect_eq(strstr(text.data, "ranks forward") != NULL, i == 0, "%s", text.data);
        cs_text_free(&text);
    }
}

Test(synthesize, what_cannot_be_is_refused)
{
    ct_program_says("synthesize " CLUSTER " --opt solver_s=0", 2, "solver_s");
    ct_program_says("synthesize " CLUSTER " --opt solver_nodes=0", 2, "solver_nodes");
    ct_program_says("synthesize " CLUSTER " --synthesizer gurobi", 2, "packing");
    if (cs_lp_missing() != NULL) {
        ct_program_says("synthesize " CLUSTER " --synthesizer packing", 2, "libglpk-dev");
        ct_program_says("run -a adapcc " CLUSTER " --opt synthesizer=milp", 2, "libglpk-dev");
    } else {
        ct_program_says("synthesize -n 65 -s 1M --synthesizer milp", 2, "accepted are");
    }
}
