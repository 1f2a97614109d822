/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expressions: their grammar, functions and names, and what is said of those that are wrong. */
#include "base/alloc.h"
#include "figures/expression.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* two = 2, word = 'abc', run.time_s = 0.5; broken fails; half(x) = x / 2. */
static cs_status value(void *user, const char *name, cs_operand *value_p, bool *found_p,
                       cs_error *err)
{
    (void)user;
    *found_p = true;
    if (strcmp(name, "two") == 0) {
        *value_p = (cs_operand){.number = 2};
    } else if (strcmp(name, "word") == 0) {
        *value_p = (cs_operand){.text = "abc"};
    } else if (strcmp(name, "run.time_s") == 0) {
        *value_p = (cs_operand){.number = 0.5};
    } else if (strcmp(name, "broken") == 0) {
        return CS_FAIL(err, CS_EIO, "there", "is broken");
    } else {
        *found_p = false;
    }
    return CS_OK;
}

static cs_status look_up(void *user, const char *name, cs_operand argument, cs_operand *value_p,
                         bool *found_p, cs_error *err)
{
    (void)user;
    *found_p = strcmp(name, "half") == 0;
    if (*found_p && argument.number < 0) {
        return CS_FAIL(err, CS_EINVAL, "", "half takes no debts");
    }
    *value_p = (cs_operand){.number = argument.number / 2};
    return CS_OK;
}

static const char *known(void *user, size_t index)
{
    static const char *const names[] = {"two", "word", "run.time_s", "half", NULL};

    (void)user;
    return names[index];
}

static cs_arena arena;

static cs_names names_of_test(void)
{
    return (cs_names){.value = value, .look_up = look_up, .known = known, .arena = &arena};
}

static double number_of(const char *expression)
{
    cs_names names  = names_of_test();
    double   number = -1;
    cs_error err    = {0};

    cr_assert_eq(cs_expression_number(expression, &names, &number, &err), CS_OK, "%s: %s",
                 expression, err.message);
    return number;
}

static void free_arena(void)
{
    cs_arena_free(&arena);
}

TestSuite(expression, .fini = free_arena);

Test(expression, numbers_and_operators)
{
    static const struct {
        const char *text;
        double      value;
    } cases[] = {
        {"1", 1},
        {" 1.5e3 ", 1500},
        {".5", 0.5},
        {"1 + 2 * 3", 7},
        {"(1 + 2) * 3", 9},
        {"7 - 2 - 1", 4},
        {"12 / 2 / 3", 2},
        {"-2 ^ 2", -4},
        {"2 ^ 3 ^ 2", 512},
        {"2 ^ -1", 0.5},
        {"-(-3)", 3},
        {"!0 + !5", 1},
        {"1 < 2", 1},
        {"2 <= 1", 0},
        {"2 > 1 && 1 >= 1", 1},
        {"0 || 3", 1},
        {"1 == 1", 1},
        {"1 != 1", 0},
        {"1 || 0 && 0", 1},
        {"1 < 2 ? 10 : 20", 10},
        {"0 ? 1 : 0 ? 2 : 3", 3},
        {"two * run.time_s", 1},
        {"word == 'abc' && word != 'x'", 1},
        {"(word == 'abc') == (1 < 2)", 1},
        {"min(3, 1, 2)", 1},
        {"max(3, 1, 2) + abs(-2)", 5},
        {"floor(2.5) + ceil(2.5) + round(2.5)", 8},
        {"sqrt(9) + log2(8)", 6},
        {"first(nan, nan, 4, 5)", 4},
        {"smallest(1, 5, nan, 3, 4)", 3},
        {"smallest(3, 5, nan, 3, 4)", 5},
        {"smallest(2, 3, 3, 4)", 3},
        {"which_smallest(1, 5, nan, 3, 4)", 3},
        {"which_smallest(1, 4, 3, 3)", 2},
        {"which_smallest(2, 4, 3, 3)", 3},
        {"which_smallest(3, 4, 3, 3)", 1},
        {"is_nan(smallest(4, 5, nan, 3, 4)) + is_nan(which_smallest(4, 5, nan, 3, 4))", 2},
        {"is_nan(smallest(0, 1)) + is_nan(smallest(nan, 1)) + is_nan(smallest(1, nan))", 3},
        {"is_nan(nan) + is_nan(1)", 1},
        {"near(1 + 1e-7, 1, 1e-6)", 1},
        {"near(1.1, 1, 1e-6)", 0},
        {"near(nan, 1, 1)", 0},
        {"number_behind('late 7=20ms slow 0=2@80ms:0.18s', 'late ')", 7},
        {"number_behind('late 7=20ms slow 0=2@80ms:0.18s', '@')", 0.08},
        {"number_behind('late 7=20ms slow 0=2@80ms:0.18s', ':')", 0.18},
        {"first(number_behind('late 7=20ms', '@'), 3)", 3},
        {"first(number_behind('late x', 'late '), 3)", 3},
        {"first(number_behind('late', 'late'), 3)", 3},
        {"half(6) + half(two)", 4},
        {"t0(8, 1)", 1.75},
        {"nan < 1 || nan > 1 || nan == nan", 0},
        {"nan && 1", 0},
        {"word == nan", 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double got = number_of(cases[i].text);
        cr_expect_float_eq(got, cases[i].value, 1e-12, "%s is %g", cases[i].text, got);
    }
    cr_expect(isnan(number_of("nan + 1")));
    cr_expect(isnan(number_of("max(1, nan)")));
    cr_expect(isnan(number_of("min(nan, 1)")));
    cr_expect(isnan(number_of("ring(2.5, 0, 1)")), "half a rank");
    cr_expect(isinf(number_of("1 / 0")));
}

Test(expression, texts_and_truths)
{
    cs_names   names = names_of_test();
    cs_operand got;

    cr_assert_eq(cs_expression_value("1 < 2 ? 'it is' : word", &names, &got, NULL), CS_OK);
    cr_expect_str_eq(got.text, "it is");
    cr_assert_eq(cs_expression_value("1 > 2 ? 'it is' : word", &names, &got, NULL), CS_OK);
    cr_expect_str_eq(got.text, "abc");
    cr_assert_eq(cs_expression_value("2 > 1", &names, &got, NULL), CS_OK);
    cr_expect(got.is_truth);
    cr_assert_eq(cs_expression_value("(2 > 1) + 0", &names, &got, NULL), CS_OK);
    cr_expect_not(got.is_truth);
}

Test(expression, what_is_wrong_is_said)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "is missing before 'the end'"},
        {"1 +", "is missing before 'the end'"},
        {"(1", "a ')' is missing before 'the end'"},
        {"1 2", "'2' follows the end"},
        {"1 ? 2", "a ':' is missing"},
        {"'abc", "has no end"},
        {"tow", "unknown name 'tow', did you mean 'two'?"},
        {"run.tme_s", "did you mean 'run.time_s'?"},
        {"haf(1)", "unknown function 'haf', did you mean 'half'?"},
        {"rinng(1, 2, 3)", "did you mean 'ring'?"},
        {"xyzzyx", "unknown name 'xyzzyx'"},
        {"half(1, 2)", "half takes 1 arguments, not 2"},
        {"near(1, 2)", "near takes 3 arguments, not 2"},
        {"number_behind('a')", "number_behind takes 2 arguments, not 1"},
        {"number_behind('a 1', 2)", "number_behind takes two texts"},
        {"min()", "min takes 1 to 16 arguments, not 0"},
        {"theorem_2(8)", "theorem_2 takes 2 to 9 arguments, not 1"},
        {"min(1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7)", "takes 1 to 16"},
        {"word + 1", "'abc' is a text"},
        {"word < 1", "'abc' is a text"},
        {"word == 1", "'abc' is a text and compared with a number"},
        {"#", "is missing before '#'"},
        {"broken", "is broken"},
        {"half(-1)", "half takes no debts"},
        {"smallest(1)", "smallest takes 2 to 16 arguments, not 1"},
    };
    cs_names names = names_of_test();

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cs_operand got;
        cs_error   err = {0};
        cr_expect_neq(cs_expression_value(cases[i].text, &names, &got, &err), CS_OK, "%s",
                      cases[i].text);
        cr_expect_not_null(strstr(err.message, cases[i].message), "%s: %s", cases[i].text,
                           err.message);
    }
    double   number;
    cs_error err = {0};
    cr_expect_eq(cs_expression_number("word", &names, &number, &err), CS_EINVAL);
    cr_expect_not_null(strstr(err.message, "is the text 'abc'"), "%s", err.message);
}

Test(expression, deep_nesting_is_refused)
{
    static const char *const openings[] = {"(", "-", "!", "min(", "1 ? 1 : ", "2 ^ "};
    cs_names                 names      = names_of_test();

    for (size_t i = 0; i < sizeof openings / sizeof openings[0]; i++) {
        char       text[20000] = "";
        cs_operand got;
        cs_error   err = {0};
        for (size_t k = 0; k < 2000; k++) {
            strcat(text, openings[i]);
        }
        cr_expect_eq(cs_expression_value(text, &names, &got, &err), CS_EINVAL);
        cr_expect_not_null(strstr(err.message, "nested more than"), "%s: %s", openings[i],
                           err.message);
    }
}

Test(expression, long_names_are_refused)
{
    char       text[200];
    cs_names   names = names_of_test();
    cs_operand got;
    cs_error   err = {0};

    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    cr_expect_eq(cs_expression_value(text, &names, &got, &err), CS_EINVAL);
    cr_expect_not_null(strstr(err.message, "is too long"), "%s", err.message);
}

Test(expression, names_that_stand_in_one)
{
    char text[64];

    cs_expression_names("two * max(run.time_s, 1e3) + two == 'not me' ? 1e-3 : word", text,
                        sizeof text);
    cr_expect_str_eq(text, "two run.time_s word ");
    cs_expression_names("two + run.time_s", text, 6);
    cr_expect_str_eq(text, "two ");
    cs_expression_names("1 + 'abc", text, sizeof text);
    cr_expect_str_eq(text, "");
}

Test(expression, out_of_memory_is_an_error)
{
    cs_names   names = names_of_test();
    cs_operand got;
    cs_error   err = {0};

    cs_alloc_fail_after(0);
    cs_status status = cs_expression_value("'abc'", &names, &got, &err);
    cs_alloc_fail_after(-1);
    cr_expect_eq(status, CS_ENOMEM);
}
