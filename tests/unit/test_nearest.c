/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The nearest name: what counts as near, and ties. */
#include "base/nearest.h"

#include <criterion/criterion.h>
#include <string.h>

static const char *const names[] = {"ring", "rhd", "stragglar", "optcc", "double_binary_tree"};

static void check(const char *word, const char *expected)
{
    const char *near = cs_nearest(word, names, sizeof names / sizeof names[0]);

    cr_assert(near == NULL ? expected == NULL : expected != NULL && strcmp(near, expected) == 0,
              "%s: %s", word, near != NULL ? near : "nothing");
}

Test(nearest, near_names)
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

Test(nearest, far_names)
{
    check("", NULL);
    check("x", NULL);
    check("zz", NULL);
    check("everything", NULL);
    cr_assert_null(cs_nearest("ring", names, 0));
}

Test(nearest, the_limit_is_a_third_of_the_word)
{
    static const char *const one[] = {"abcdefghi"};

    cr_assert_not_null(cs_nearest("abcdefxyz", one, 1));
    cr_assert_null(cs_nearest("abcdewxyz", one, 1));
    static const char *const two[] = {"abcde"};
    cr_assert_not_null(cs_nearest("abcxy", two, 1));
    cr_assert_null(cs_nearest("abwxy", two, 1));
}

Test(nearest, of_equally_near_names_the_first)
{
    static const char *const same[] = {"bat", "cat", "hat"};

    cr_assert_str_eq(cs_nearest("rat", same, 3), "bat");
    cr_assert_str_eq(cs_nearest("hat", same, 3), "hat");
}

Test(nearest, very_long_words_are_near_to_nothing)
{
    char        word[5000];
    const char *longest[] = {word};

    memset(word, 'a', sizeof word);
    word[sizeof word - 1] = '\0';
    cr_assert_null(cs_nearest(word, names, 5));
    cr_assert_null(cs_nearest(word, longest, 1));
    cr_assert_null(cs_nearest("aaa", longest, 1));
    word[63] = '\0';
    cr_assert_str_eq(cs_nearest(word, longest, 1), word);
}
