/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figures/expression.h -- what a figure computes, as text:
 *
 *   1e3 * ring.exposed_s
 *   panel == 'b' && ranks >= 32 ? theorem_6(ranks, slowdown_1) : nan
 *
 * Operators are those of C: ?: || && == != < <= > >= + - * / - ! and ^ for powers; texts stand in
 * single quotes and can be compared. A comparison with nan is false. Functions are min, max, abs,
 * floor, ceil, round, sqrt, log2, is_nan, first (the first argument that is not nan), smallest (the
 * k-th smallest of those behind k that are not nan) and which_smallest (which of them it is, from 1
 * on), near (are two equal to a relative tolerance?), the closed forms (cs_formulas), and whatever
 * the caller adds.
 */
#ifndef CS_FIGURES_EXPRESSION_H
#define CS_FIGURES_EXPRESSION_H

#include "base/arena.h"
#include "cs/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct cs_operand {
    const char *text; /* NULL: a number */
    double      number;
    bool        is_truth; /* the number is the answer to a question: 1 or 0 */
} cs_operand;

/* Where names come from. */
typedef struct cs_names {
    /* The value of a name ("ring.exposed_s"). *found_p: there is one; the status is that of working
     * it out. Texts live as long as the arena. */
    cs_status (*value)(void *user, const char *name, cs_operand *value_p, bool *found_p,
                       cs_error *err);
    /* The same of a function of the caller's with one argument. */
    cs_status (*look_up)(void *user, const char *name, cs_operand argument, cs_operand *value_p,
                         bool *found_p, cs_error *err);
    /* Every name that value() and look_up() know, one after the other, then NULL; for the nearest
     * one of a name that is unknown. */
    const char *(*known)(void *user, size_t index);
    void     *user;
    cs_arena *arena; /* of texts in the expression */
} cs_names;

/* Work out an expression. What is wrong with it is CS_EINVAL without a place. */
CS_MUST_CHECK cs_status cs_expression_value(const char *expression, const cs_names *names,
                                            cs_operand *value_p, cs_error *err);

/* The same, where a number is needed. */
CS_MUST_CHECK cs_status cs_expression_number(const char *expression, const cs_names *names,
                                             double *number_p, cs_error *err);

/* Copy the names that stand in an expression, each once, with a blank between them. */
void cs_expression_names(const char *expression, char *text, size_t text_bytes);

#endif
