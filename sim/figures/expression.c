/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expressions by recursive descent: each level of the grammar is a function, which works out what
 * it reads. Both sides of ?:, || and && are worked out: there is nothing that a side could do.
 * After the first error everything is nan, and only the end looks at it. */
#include "figures/expression.h"

#include "analytic/formula.h"
#include "cs/named.h"
#include "cs/units.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 96, MOST_NAMES = 1024, MOST_DEPTH = 64, MOST_ARGUMENTS = 16 };

typedef struct parser {
    const char     *at;
    const cs_names *names;
    unsigned        depth;
    cs_error        error;
} parser;

static cs_operand ternary(parser *p);

static cs_operand number(double value)
{
    return (cs_operand){.number = value};
}

static cs_operand truth(bool holds)
{
    return (cs_operand){.number = holds, .is_truth = true};
}

static cs_operand nothing(void)
{
    return number((double)NAN);
}

static bool has_failed(const parser *p)
{
    return p->error.status != CS_OK;
}

/* ---- tokens ---- */

static void skip_blanks(parser *p)
{
    while (*p->at == ' ' || *p->at == '\n' || *p->at == '\t') {
        p->at++;
    }
}

/* Take the operator, if it stands here. */
static bool take(parser *p, const char *operator)
{
    size_t n = strlen(operator);

    skip_blanks(p);
    if (strncmp(p->at, operator, n) != 0) {
        return false;
    }
    p->at += n;
    return true;
}

static void expect(parser *p, const char *operator)
{
    if (!has_failed(p) && !take(p, operator)) {
        (void)CS_FAIL(&p->error, CS_EINVAL, "",
                      "a '%s' is missing before '%.24s'", operator, * p->at != '\0' ? p->at
                                                                                    : "the end");
    }
}

static bool begins_name(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

static size_t name_length(const char *text)
{
    size_t n = 0;

    while (begins_name(text[n]) || isdigit((unsigned char)text[n]) ||
           (text[n] == '.' && begins_name(text[n + 1]))) {
        n++;
    }
    return n;
}

/* ---- operands ---- */

static double as_number(parser *p, cs_operand x)
{
    if (x.text != NULL && !has_failed(p)) {
        (void)CS_FAIL(&p->error, CS_EINVAL, "", "'%.40s' is a text where a number is needed",
                      x.text);
    }
    return x.text != NULL ? (double)NAN : x.number;
}

static bool as_truth(parser *p, cs_operand x)
{
    double value = as_number(p, x);
    return !isnan(value) && value != 0;
}

static bool are_equal(parser *p, cs_operand a, cs_operand b)
{
    if (a.text != NULL && b.text != NULL) {
        return strcmp(a.text, b.text) == 0;
    }
    if ((a.text != NULL && !isnan(b.number)) || (b.text != NULL && !isnan(a.number))) {
        const char *text = a.text != NULL ? a.text : b.text;
        (void)CS_FAIL(&p->error, CS_EINVAL, "", "'%.40s' is a text and compared with a number",
                      text);
        return false;
    }
    return a.text == NULL && b.text == NULL && a.number == b.number;
}

static cs_operand quoted_text(parser *p)
{
    const char *end = strchr(p->at + 1, '\'');

    if (end == NULL) {
        (void)CS_FAIL(&p->error, CS_EINVAL, "", "the text %.24s has no end", p->at);
        return nothing();
    }
    size_t n    = (size_t)(end - p->at) - 1;
    char  *text = CS_ARENA_NEW(p->names->arena, char, n + 1);
    if (text == NULL) {
        (void)CS_NO_MEMORY(&p->error, "an expression");
        return nothing();
    }
    memcpy(text, p->at + 1, n);
    p->at = end + 1;
    return (cs_operand){.text = text};
}

/* ---- functions ---- */

typedef struct call {
    char       name[NAME_BYTES];
    cs_operand arguments[MOST_ARGUMENTS];
    size_t     n;
} call;

static double of_min(const double *a, size_t n)
{
    double value = a[0];

    for (size_t i = 1; i < n; i++) {
        value = a[i] < value || isnan(a[i]) ? a[i] : value;
    }
    return value;
}

static double of_max(const double *a, size_t n)
{
    double value = a[0];

    for (size_t i = 1; i < n; i++) {
        value = a[i] > value || isnan(a[i]) ? a[i] : value;
    }
    return value;
}

static double of_first(const double *a, size_t n)
{
    size_t i = 0;

    while (i + 1 < n && isnan(a[i])) {
        i++;
    }
    return a[i];
}

/* The index of the a[0]-th smallest of the others, from 1 on; 0: there are not so many. Those that
 * are nan do not count, and of equal ones the first is the smaller. */
static size_t index_of_smallest(const double *a, size_t n)
{
    size_t wanted = a[0] >= 1 && a[0] < (double)n ? (size_t)a[0] : n;

    for (size_t i = 1; i < n; i++) {
        size_t before = 0;
        for (size_t k = 1; k < n && !isnan(a[i]); k++) {
            before += a[k] < a[i] || (a[k] == a[i] && k < i);
        }
        if (!isnan(a[i]) && before + 1 == wanted) {
            return i;
        }
    }
    return 0;
}

static double of_smallest(const double *a, size_t n)
{
    size_t i = index_of_smallest(a, n);
    return i > 0 ? a[i] : (double)NAN;
}

static double of_which_smallest(const double *a, size_t n)
{
    size_t i = index_of_smallest(a, n);
    return i > 0 ? (double)i : (double)NAN;
}

static double of_is_nan(const double *a, size_t n)
{
    (void)n;
    return isnan(a[0]);
}

static double of_near(const double *a, size_t n)
{
    (void)n;
    return a[0] == a[1] || fabs(a[0] - a[1]) <= a[2] * fabs(a[1]);
}

/* The number or the time in seconds that stands behind `words` in `text`, up to a blank or one of
 * ",;:@="; nan where there is none. */
static double of_number_behind(const char *text, const char *words)
{
    char        token[40];
    const char *at     = strstr(text, words);
    double      value  = (double)NAN;
    size_t      length = at != NULL ? strcspn(at + strlen(words), " ,;:@=") : sizeof token;

    if (length < sizeof token) {
        memcpy(token, at + strlen(words), length);
        token[length] = '\0';
        value         = cs_parse_time(token, &value, "", NULL) == CS_OK ? value : (double)NAN;
    }
    return value;
}

typedef struct function {
    const char *name;
    size_t      n_least, n_most;
    double (*value)(const double *a, size_t n);
    double (*of_one)(double x); /* instead */
    bool is_question;
    double (*of_texts)(const char *a, const char *b); /* instead */
} function;

static const function functions[] = {
    {"min", 1, MOST_ARGUMENTS, of_min, NULL, false, NULL},
    {"max", 1, MOST_ARGUMENTS, of_max, NULL, false, NULL},
    {"first", 1, MOST_ARGUMENTS, of_first, NULL, false, NULL},
    {"smallest", 2, MOST_ARGUMENTS, of_smallest, NULL, false, NULL},
    {"which_smallest", 2, MOST_ARGUMENTS, of_which_smallest, NULL, false, NULL},
    {"abs", 1, 1, NULL, fabs, false, NULL},
    {"floor", 1, 1, NULL, floor, false, NULL},
    {"ceil", 1, 1, NULL, ceil, false, NULL},
    {"round", 1, 1, NULL, round, false, NULL},
    {"sqrt", 1, 1, NULL, sqrt, false, NULL},
    {"log2", 1, 1, NULL, log2, false, NULL},
    {"is_nan", 1, 1, of_is_nan, NULL, true, NULL},
    {"near", 3, 3, of_near, NULL, true, NULL},
    {"number_behind", 2, 2, NULL, NULL, false, of_number_behind},
};

enum { N_FUNCTIONS = sizeof functions / sizeof functions[0] };

static void refuse_count(parser *p, const call *c, size_t n_least, size_t n_most)
{
    if (n_least == n_most) {
        (void)CS_FAIL(&p->error, CS_EINVAL, "", "%s takes %zu arguments, not %zu", c->name, n_least,
                      c->n);
    } else {
        (void)CS_FAIL(&p->error, CS_EINVAL, "", "%s takes %zu to %zu arguments, not %zu", c->name,
                      n_least, n_most, c->n);
    }
}

/* The arguments as numbers, if there are as many as the function takes. */
static bool numbers_of(parser *p, const call *c, size_t n_least, size_t n_most, double *numbers)
{
    if (c->n < n_least || c->n > n_most) {
        refuse_count(p, c, n_least, n_most);
        return false;
    }
    for (size_t i = 0; i < c->n; i++) {
        numbers[i] = as_number(p, c->arguments[i]);
    }
    return !has_failed(p);
}

/* Say that a name is unknown, with the nearest one. */
static void refuse_name(parser *p, const char *name, const char *kind)
{
    const char *known[MOST_NAMES], *other = NULL;
    size_t      n = 0;

    for (size_t i = 0; n < MOST_NAMES / 2 && (other = p->names->known(p->names->user, i)) != NULL;
         i++) {
        known[n++] = other;
    }
    for (size_t i = 0; i < N_FUNCTIONS; i++) {
        known[n++] = functions[i].name;
    }
    for (const cs_formula *f = cs_formulas; f->name != NULL && n < MOST_NAMES; f++) {
        known[n++] = f->name;
    }
    const cs_named all  = CS_NAMED_WORDS(known, n, kind, NULL);
    const char    *near = cs_nearest_name(&all, name);
    (void)CS_FAIL(&p->error, CS_EINVAL, "", "unknown %s '%.60s'%s%s%s", kind, name,
                  near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
                  near != NULL ? "'?" : "");
}

static cs_operand value_of_texts(parser *p, const function *f, const call *c)
{
    if (c->n != f->n_most) {
        refuse_count(p, c, f->n_least, f->n_most);
        return nothing();
    }
    const char *a = c->arguments[0].text, *b = c->arguments[1].text;
    if ((a == NULL || b == NULL) && !has_failed(p)) {
        (void)CS_FAIL(&p->error, CS_EINVAL, "", "%s takes two texts", f->name);
    }
    return has_failed(p) ? nothing() : number(f->of_texts(a, b));
}

static cs_operand call_value(parser *p, const call *c)
{
    double     numbers[MOST_ARGUMENTS];
    cs_operand value    = nothing();
    bool       is_known = false;

    for (size_t i = 0; i < N_FUNCTIONS; i++) {
        const function *f = &functions[i];
        if (strcmp(f->name, c->name) == 0 && f->of_texts != NULL) {
            return value_of_texts(p, f, c);
        }
        if (strcmp(f->name, c->name) == 0) {
            if (!numbers_of(p, c, f->n_least, f->n_most, numbers)) {
                return nothing();
            }
            assert(c->n > 0); /* none goes without an argument */
            double result = f->of_one != NULL ? f->of_one(numbers[0]) : f->value(numbers, c->n);
            return f->is_question ? truth(result > 0) : number(result);
        }
    }
    for (const cs_formula *f = cs_formulas; f->name != NULL; f++) {
        if (strcmp(f->name, c->name) == 0) {
            bool ok = numbers_of(p, c, f->n_least, f->n_most, numbers);
            return number(ok ? cs_formula_value(f, numbers, c->n) : (double)NAN);
        }
    }
    cs_status status =
        p->names->look_up(p->names->user, c->name, c->arguments[0], &value, &is_known, &p->error);
    if (status == CS_OK && !is_known) {
        refuse_name(p, c->name, "function");
    }
    if (has_failed(p)) {
        return nothing();
    }
    if (c->n != 1) {
        refuse_count(p, c, 1, 1);
    }
    return value;
}

static cs_operand function_call(parser *p, const char *name)
{
    call c = {.n = 0};

    (void)snprintf(c.name, sizeof c.name, "%s", name);
    if (!take(p, ")")) {
        do {
            cs_operand argument = ternary(p);
            if (c.n == MOST_ARGUMENTS) {
                refuse_count(p, &c, 1, MOST_ARGUMENTS);
                return nothing();
            }
            c.arguments[c.n++] = argument;
        } while (!has_failed(p) && take(p, ","));
        expect(p, ")");
    }
    return has_failed(p) ? nothing() : call_value(p, &c);
}

/* ---- the grammar, from the inside to the outside ---- */

static cs_operand name_or_call(parser *p)
{
    char       name[NAME_BYTES];
    size_t     n        = name_length(p->at);
    cs_operand value    = nothing();
    bool       is_known = false;

    if (n >= sizeof name) {
        (void)CS_FAIL(&p->error, CS_EINVAL, "", "the name %.24s.. is too long", p->at);
        return value;
    }
    memcpy(name, p->at, n);
    name[n] = '\0';
    p->at += n;
    if (take(p, "(")) {
        return function_call(p, name);
    }
    if (strcmp(name, "nan") == 0) {
        return value;
    }
    cs_status status = p->names->value(p->names->user, name, &value, &is_known, &p->error);
    if (status == CS_OK && !is_known) {
        refuse_name(p, name, "name");
    }
    return value;
}

static cs_operand primary(parser *p)
{
    cs_operand value = nothing();

    skip_blanks(p);
    if (take(p, "(")) {
        value = ternary(p);
        expect(p, ")");
        return value;
    }
    if (*p->at == '\'') {
        return quoted_text(p);
    }
    if (begins_name(*p->at)) {
        return name_or_call(p);
    }
    if (isdigit((unsigned char)*p->at) || *p->at == '.') {
        char *end    = NULL;
        value.number = strtod(p->at, &end);
        if (end > p->at) {
            p->at = end;
            return value;
        }
    }
    if (!has_failed(p)) {
        (void)CS_FAIL(&p->error, CS_EINVAL, "", "a number, a name or '(' is missing before '%.24s'",
                      *p->at != '\0' ? p->at : "the end");
    }
    return value;
}

static cs_operand unary(parser *p)
{
    if (++p->depth > MOST_DEPTH && !has_failed(p)) {
        (void)CS_FAIL(&p->error, CS_EINVAL, "", "nested more than %d levels deep", MOST_DEPTH);
    }
    cs_operand value = nothing();
    if (!has_failed(p)) {
        if (take(p, "-")) {
            value = number(-as_number(p, unary(p)));
        } else if (*p->at == '!' && p->at[1] != '=' && take(p, "!")) {
            value = truth(!as_truth(p, unary(p)));
        } else {
            value = primary(p);
            if (!has_failed(p) && take(p, "^")) {
                double base = as_number(p, value);
                value       = number(pow(base, as_number(p, unary(p))));
            }
        }
    }
    p->depth--;
    return value;
}

static cs_operand product(parser *p)
{
    cs_operand value = unary(p);

    while (!has_failed(p)) {
        bool divides = false;
        if (!take(p, "*")) {
            divides = take(p, "/");
            if (!divides) {
                break;
            }
        }
        double a = as_number(p, value), b = as_number(p, unary(p));
        value = number(divides ? a / b : a * b);
    }
    return value;
}

static cs_operand sum(parser *p)
{
    cs_operand value = product(p);

    while (!has_failed(p)) {
        bool subtracts = false;
        if (!take(p, "+")) {
            subtracts = take(p, "-");
            if (!subtracts) {
                break;
            }
        }
        double a = as_number(p, value), b = as_number(p, product(p));
        value = number(subtracts ? a - b : a + b);
    }
    return value;
}

static cs_operand comparison(parser *p)
{
    static const char *const operators[] = {"==", "!=", "<=", ">=", "<", ">"};
    cs_operand               left        = sum(p);
    size_t                   i = 0, n = sizeof operators / sizeof operators[0];

    while (i < n && !has_failed(p) && !take(p, operators[i])) {
        i++;
    }
    if (i == n || has_failed(p)) {
        return left;
    }
    cs_operand right = sum(p);
    if (has_failed(p)) {
        return nothing();
    }
    if (i < 2) {
        return truth(are_equal(p, left, right) == (i == 0));
    }
    double a = as_number(p, left), b = as_number(p, right);
    return truth(i == 2 ? a <= b : i == 3 ? a >= b : i == 4 ? a < b : a > b);
}

static cs_operand conjunction(parser *p)
{
    cs_operand value = comparison(p);

    while (!has_failed(p) && take(p, "&&")) {
        bool a = as_truth(p, value), b = as_truth(p, comparison(p));
        value = truth(a && b);
    }
    return value;
}

static cs_operand disjunction(parser *p)
{
    cs_operand value = conjunction(p);

    while (!has_failed(p) && take(p, "||")) {
        bool a = as_truth(p, value), b = as_truth(p, conjunction(p));
        value = truth(a || b);
    }
    return value;
}

static cs_operand ternary(parser *p)
{
    if (++p->depth > MOST_DEPTH && !has_failed(p)) {
        (void)CS_FAIL(&p->error, CS_EINVAL, "", "nested more than %d levels deep", MOST_DEPTH);
    }
    cs_operand value = has_failed(p) ? nothing() : disjunction(p);
    if (!has_failed(p) && take(p, "?")) {
        bool       holds = as_truth(p, value);
        cs_operand yes   = ternary(p);
        expect(p, ":");
        cs_operand no = has_failed(p) ? nothing() : ternary(p);
        value         = holds ? yes : no;
    }
    p->depth--;
    return value;
}

cs_status cs_expression_value(const char *expression, const cs_names *names, cs_operand *value_p,
                              cs_error *err)
{
    parser     p     = {.at = expression, .names = names};
    cs_operand value = ternary(&p);

    skip_blanks(&p);
    if (!has_failed(&p) && *p.at != '\0') {
        (void)CS_FAIL(&p.error, CS_EINVAL, "", "'%.24s' follows the end of the expression", p.at);
    }
    if (has_failed(&p)) {
        if (err != NULL && err->status == CS_OK) {
            *err = p.error;
        }
        return p.error.status;
    }
    *value_p = value;
    return CS_OK;
}

cs_status cs_expression_number(const char *expression, const cs_names *names, double *number_p,
                               cs_error *err)
{
    cs_operand value  = {0};
    cs_status  status = cs_expression_value(expression, names, &value, err);

    if (status == CS_OK && value.text != NULL) {
        return CS_FAIL(err, CS_EINVAL, "", "is the text '%.40s' where a number is needed",
                       value.text);
    }
    *number_p = value.number;
    return status;
}

void cs_expression_names(const char *expression, char *text, size_t text_bytes)
{
    size_t length = 0;

    text[0] = '\0';
    for (const char *at = expression; *at != '\0';) {
        size_t n = name_length(at);
        if (*at == '\'') {
            const char *end = strchr(at + 1, '\'');
            at              = end != NULL ? end + 1 : at + strlen(at);
            continue;
        }
        if (n == 0 || isdigit((unsigned char)*at)) {
            at += n > 0 ? n : 1;
            continue;
        }
        char name[NAME_BYTES + 2];
        (void)snprintf(name, sizeof name, "%.*s ", (int)(n < NAME_BYTES ? n : NAME_BYTES - 1), at);
        bool is_call = at[n] == '(', is_there = strstr(text, name) != NULL;
        if (!is_call && !is_there && length + strlen(name) < text_bytes) {
            length += (size_t)snprintf(text + length, text_bytes - length, "%s", name);
        }
        at += n;
    }
}
