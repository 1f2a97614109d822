/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Things found by name, alias and part of a name; the nearest name: what counts as near, and ties.
 */
#include "cs/algorithm.h"
#include "cs/machine.h"
#include "cs/model.h"
#include "cs/named.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const char *const names[] = {"ring", "rhd", "stragglar", "optcc", "double_binary_tree"};

static const char *nearest(const char *word, const char *const *list, size_t count)
{
    const cs_named named = CS_NAMED_WORDS(list, count, "no word", NULL);
    return cs_nearest_name(&named, word);
}

static void check(const char *word, const char *expected)
{
    const char *near = nearest(word, names, sizeof names / sizeof names[0]);

    cr_assert(near == NULL ? expected == NULL : expected != NULL && strcmp(near, expected) == 0,
              "%s: %s", word, near != NULL ? near : "nothing");
}

Test(nearest_name, near_names)
{
    check("ring", "ring");
    check("rnig", "ring");
    check("rin", "ring");
    check("ringg", "ring");
    check("straggler", "stragglar");
    check("stragler", "stragglar");
    check("optc", "optcc");
    check("double_tree", NULL);
    check("doublebinarytree", "double_binary_tree");
}

Test(nearest_name, far_names)
{
    check("", NULL);
    check("x", NULL);
    check("zz", NULL);
    check("everything", NULL);
    cr_assert_null(nearest("ring", names, 0));
}

Test(nearest_name, the_limit_is_a_third_of_the_word)
{
    static const char *const one[] = {"abcdefghi"};

    cr_assert_not_null(nearest("abcdefxyz", one, 1));
    cr_assert_null(nearest("abcdewxyz", one, 1));
    static const char *const two[] = {"abcde"};
    cr_assert_not_null(nearest("abcxy", two, 1));
    cr_assert_null(nearest("abwxy", two, 1));
}

Test(nearest_name, of_equally_near_names_the_first)
{
    static const char *const same[] = {"bat", "cat", "hat"};

    cr_assert_str_eq(nearest("rat", same, 3), "bat");
    cr_assert_str_eq(nearest("hat", same, 3), "hat");
}

Test(nearest_name, very_long_words_are_near_to_nothing)
{
    char        word[5000];
    const char *longest[] = {word};

    memset(word, 'a', sizeof word);
    word[sizeof word - 1] = '\0';
    cr_assert_null(nearest(word, names, 5));
    cr_assert_null(nearest(word, longest, 1));
    cr_assert_null(nearest("aaa", longest, 1));
    word[63] = '\0';
    cr_assert_str_eq(nearest(word, longest, 1), word);
}

/* ---- found ---- */

typedef struct thing {
    int         number;
    const char *name, *aliases;
} thing;

static const thing things[] = {
    {1, "flat_ring", NULL},
    {2, "ring", "circle|Rund"},
    {3, "double_binary_tree", "dbt"},
    {4, "dgx-h100", "hopper-box"},
};

static cs_named of_things(bool takes_parts)
{
    return (cs_named){.things      = things,
                      .n           = sizeof things / sizeof things[0],
                      .stride      = sizeof things[0],
                      .takes_parts = takes_parts,
                      .name        = offsetof(thing, name),
                      .aliases     = offsetof(thing, aliases),
                      .status      = CS_ENOENT,
                      .what        = "no thing"};
}

static void expect_found(const char *word, int number)
{
    const cs_named named = of_things(true);
    size_t         index = 99;
    cs_error       err   = {0};

    cr_expect_eq(cs_find_named(&named, word, &index, "w", &err), CS_OK, "%s: %s", word,
                 err.message);
    cr_expect(index < 4 && things[index].number == number, "%s", word);
}

static void expect_refused(const cs_named *named, const char *word, const char *message)
{
    size_t   index = 99;
    cs_error err   = {0};

    cr_expect_eq(cs_find_named(named, word, &index, "w", &err), named->status, "%s", word);
    cr_expect_eq(index, 99);
    cr_expect_str_eq(err.where, "w");
    cr_expect_str_eq(err.message, message);
    cr_expect_eq(cs_find_named(named, word, &index, "w", NULL), named->status);
}

Test(find_named, names_aliases_and_parts)
{
    expect_found("ring", 2);
    expect_found("RING", 2);
    expect_found("flat-ring", 1);
    expect_found("flatring", 1);
    expect_found("flat", 1);
    expect_found("circle", 2);
    expect_found("rund", 2);
    expect_found("dbt", 3);
    expect_found("tree", 3);
    expect_found("BinaryTree", 3);
    expect_found("binary", 3);
    expect_found("h100", 4);
    expect_found("DGX", 4);
    expect_found("box", 4);
}

Test(find_named, what_is_none_or_several)
{
    cs_named named = of_things(true);

    expect_refused(&named, "h10",
                   "no thing 'h10': accepted are flat_ring, ring, double_binary_tree, dgx-h100");
    expect_refused(&named, "double_bin",
                   "no thing 'double_bin': accepted are flat_ring, ring, double_binary_tree, "
                   "dgx-h100");
    expect_refused(&named, "dgx-h10",
                   "no thing 'dgx-h10', did you mean 'dgx-h100'?: accepted are flat_ring, ring, "
                   "double_binary_tree, dgx-h100");
    expect_refused(&named, "rnig",
                   "no thing 'rnig', did you mean 'ring'?: accepted are flat_ring, ring, "
                   "double_binary_tree, dgx-h100");
    expect_refused(&named, "",
                   "no thing '': accepted are flat_ring, ring, double_binary_tree, dgx-h100");
    expect_refused(&named, "x",
                   "no thing 'x': accepted are flat_ring, ring, double_binary_tree, dgx-h100");
    expect_refused(
        &named, "circle|rund",
        "no thing 'circle|rund': accepted are flat_ring, ring, double_binary_tree, dgx-h100");
    static const thing halls[] = {{1, "hall-north", NULL}, {2, "hall-south", NULL}};
    cs_named           both    = named;
    both.things                = halls;
    both.n                     = 2;
    expect_refused(&both, "hall", "'hall' is a part of several names: hall-north, hall-south");
    named.hint = "; the shop has all";
    expect_refused(&named, "cube", "no thing 'cube'; the shop has all");
    named.n = 0;
    expect_refused(&named, "ring", "no thing 'ring'; the shop has all");
    named.hint = NULL;
    expect_refused(&named, "ring", "no thing 'ring': accepted are none");
}

Test(find_named, only_whole_names_where_parts_are_not_taken)
{
    const cs_named named = of_things(false);
    size_t         index = 99;

    cr_expect_eq(cs_find_named(&named, "flat_ring", &index, "", NULL), CS_OK);
    cr_expect_eq(index, 0);
    cr_expect_eq(cs_find_named(&named, "Ring", &index, "", NULL), CS_ENOENT);
    cr_expect_eq(cs_find_named(&named, "dbt", &index, "", NULL), CS_ENOENT);
    cr_expect_eq(cs_find_named(&named, "tree", &index, "", NULL), CS_ENOENT);
}

/* Every name finds its thing, and names behind the last one are NULL. */
static void expect_all(const cs_named *named)
{
    size_t index = 0, i = 0;

    for (; cs_name_at(named, i) != NULL; i++) {
        cs_status status = cs_find_named(named, cs_name_at(named, i), &index, "", NULL);
        cr_expect(status == CS_OK && index == i, "%s", cs_name_at(named, i));
    }
    cr_expect_eq(i, named->n);
}

Test(find_named, everything_that_the_program_has)
{
    const cs_algorithm *algorithm = NULL;
    const cs_model     *model     = NULL;
    cs_collective       collective;

    expect_all(&cs_algorithm_names);
    expect_all(&cs_model_names);
    expect_all(&cs_preset_names);
    expect_all(&cs_collective_names);
    cr_expect(cs_algorithm_find("merged", &algorithm, NULL) == CS_OK);
    cr_expect_str_eq(algorithm->name, "merged_rhd");
    cr_expect(cs_algorithm_find("rabenseifner", &algorithm, NULL) == CS_OK);
    cr_expect_str_eq(algorithm->name, "rhd");
    cr_expect(cs_model_find("hockney", &model, NULL) == CS_OK && model == cs_models[0]);
    cr_expect(cs_collective_find("bcast", &collective, NULL) == CS_OK);
    cr_expect_eq(collective, CS_BROADCAST);
}

Test(find_named, lists_are_cut)
{
    const cs_named named = of_things(false);
    char           list[12];

    cs_list_names(&named, list, sizeof list);
    cr_expect_str_eq(list, "flat_ring, ");
}
