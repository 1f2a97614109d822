/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading the command line: see args.h. `-n 8`, `-n8`, `--ranks 8` and `--ranks=8` are the same;
 * `--` ends the options. */
#include "cli/args.h"

#include "cli/config_args.h"

#include <stdio.h>
#include <string.h>

enum { MAX_NAMES = 64 };

bool cs_arg_is_option(const cs_arg *arg)
{
    return !arg->is_operand && arg->name[0] != '\0';
}

/* ---- finding the next one ---- */

/* The row of a name of `length` bytes, or with NULL that of a letter. */
static const cs_arg *find(cs_args *args, const char *name, size_t length, char letter)
{
    for (args->table = args->tables; args->table->args != NULL; args->table++) {
        for (const cs_arg *a = args->table->args; a->name != NULL; a++) {
            bool is_it = name != NULL
                             ? strlen(a->name) == length && memcmp(a->name, name, length) == 0
                             : a->letter == letter;
            if (is_it && cs_arg_is_option(a)) {
                return a;
            }
        }
    }
    return NULL;
}

static cs_args_found unknown(const cs_args *args, const char *word, cs_error *err)
{
    const char *names[MAX_NAMES];
    size_t      count = 0;

    for (const cs_arg_table *t = args->tables; t->args != NULL; t++) {
        for (const cs_arg *a = t->args; a->name != NULL && count < MAX_NAMES; a++) {
            names[count] = a->name;
            count += cs_arg_is_option(a);
        }
    }
    const cs_named named = CS_NAMED_WORDS(names, count, NULL, NULL);
    const char    *near  = strncmp(word, "--", 2) == 0 ? cs_nearest_name(&named, word + 2) : NULL;
    (void)CS_FAIL(err, CS_EINVAL, word, "no such option%s%s%s; --help shows all",
                  near ? ", did you mean --" : "", near ? near : "", near ? "?" : "");
    return CS_ARGS_ERROR;
}

/* The value of an option: attached, or the next word. */
static cs_args_found take_value(cs_args *args, const cs_arg *a, const char *attached, cs_error *err)
{
    (void)snprintf(args->name, sizeof args->name, "--%s", a->name);
    args->arg   = a;
    args->value = attached;
    if (a->value != NULL && attached == NULL) {
        if (args->at == args->count) {
            (void)CS_FAIL(err, CS_EINVAL, args->name, "needs a value: %s", a->value);
            return CS_ARGS_ERROR;
        }
        args->value = args->words[args->at++];
    }
    if (a->value == NULL && attached != NULL) {
        (void)CS_FAIL(err, CS_EINVAL, args->name, "takes no value");
        return CS_ARGS_ERROR;
    }
    return CS_ARGS_OPTION;
}

static cs_args_found next_letter(cs_args *args, cs_error *err)
{
    const cs_arg *a = find(args, NULL, 0, *args->rest);

    if (a == NULL) {
        return unknown(args, args->option, err);
    }
    const char *rest = args->rest[1] != '\0' ? args->rest + 1 : NULL;
    args->rest       = a->value == NULL ? rest : NULL;
    return take_value(args, a, a->value != NULL ? rest : NULL, err);
}

static cs_args_found next_name(cs_args *args, const char *word, cs_error *err)
{
    const char   *equals = strchr(word, '=');
    size_t        length = equals != NULL ? (size_t)(equals - word) : strlen(word);
    const cs_arg *a      = find(args, word + 2, length - 2, 0);

    return a == NULL ? unknown(args, word, err)
                     : take_value(args, a, equals != NULL ? equals + 1 : NULL, err);
}

/* The row of operands; a command has at most one. */
static cs_args_found next_operand(cs_args *args, const char *word)
{
    args->value = word;
    args->arg   = NULL;
    for (args->table = args->tables; args->table->args != NULL; args->table++) {
        for (const cs_arg *a = args->table->args; a->name != NULL; a++) {
            if (a->is_operand) {
                args->arg = a;
                return CS_ARGS_OPERAND;
            }
        }
    }
    return CS_ARGS_OPERAND;
}

cs_args_found cs_args_next(cs_args *args, cs_error *err)
{
    if (args->rest != NULL) {
        return next_letter(args, err);
    }
    if (args->at == args->count) {
        return CS_ARGS_END;
    }
    const char *word = args->words[args->at++];
    if (args->only_operands || word[0] != '-' || word[1] == '\0') {
        return next_operand(args, word);
    }
    if (strcmp(word, "--") == 0) {
        args->only_operands = true;
        return cs_args_next(args, err);
    }
    args->option = word;
    if (word[1] == '-') {
        return next_name(args, word, err);
    }
    args->rest = word + 1;
    return next_letter(args, err);
}

/* ---- taking it ---- */

/* One more text in an array. */
static cs_status append(const cs_args *args, const cs_field *field, char *object, cs_error *err)
{
    size_t n;

    memcpy(&n, object + field->beside, sizeof n);
    if ((double)n >= field->max) {
        return CS_FAIL(err, CS_EINVAL, args->value, "more than %.0f %ss", field->max, field->name);
    }
    memcpy(object + field->offset + n * sizeof args->value, &args->value, sizeof args->value);
    n++;
    memcpy(object + field->beside, &n, sizeof n);
    return CS_OK;
}

static cs_status take_text(const cs_args *args, const cs_field *field, char *object, cs_error *err)
{
    const char *old;

    memcpy(&old, object + field->offset, sizeof old);
    if (args->arg->is_operand && old != NULL) {
        return CS_FAIL(err, CS_EINVAL, args->value, "only one %s is accepted", field->name);
    }
    memcpy(object + field->offset, &args->value, sizeof args->value);
    return CS_OK;
}

static cs_status take_field(const cs_args *args, const cs_field *field, char *object, cs_error *err)
{
    double value = 1;

    if (field->type == CS_FIELD_LIST) {
        return append(args, field, object, err);
    }
    if (field->type == CS_FIELD_TEXT) {
        return take_text(args, field, object, err);
    }
    if (args->value != NULL) {
        CS_TRY(cs_field_parse(field, args->value, &value, args->name, err));
    }
    cs_field_store(field, object, value);
    return CS_OK;
}

cs_status cs_args_take(const cs_args *args, void *job, cs_error *err)
{
    const cs_arg       *a      = args->arg;
    const cs_arg_table *t      = args->table;
    const bool          yes    = true;
    cs_status           status = CS_OK;

    if (a == NULL) {
        return CS_FAIL(err, CS_EINVAL, args->value, "is no option: --help shows all");
    }
    if (a->field.name != NULL) {
        status = take_field(args, &a->field, (char *)job + t->object, err);
    }
    if (status == CS_OK && a->sets.path != NULL) {
        cs_config_choice *choice = (cs_config_choice *)(void *)((char *)job + t->config);
        status                   = cs_config_choice_add(choice, a, args->value, err);
    }
    if (a->marks) {
        memcpy((char *)job + t->object + a->mark, &yes, sizeof yes);
    }
    if (t->last != CS_NOWHERE && !a->is_operand) {
        memcpy((char *)job + t->last, &args->option, sizeof args->option);
    }
    return status;
}

/* ---- help ---- */

void cs_args_help(cs_text *text, const cs_arg *table)
{
    for (const cs_arg *a = table; a->name != NULL; a++) {
        if (!cs_arg_is_option(a)) {
            if (!a->is_operand) {
                cs_text_add(text, "\n%s:\n", a->help);
            }
            continue;
        }
        char left[64];
        int  used = 0;
        if (a->letter != 0) {
            used = snprintf(left, sizeof left, "-%c, ", a->letter);
        } else {
            used = snprintf(left, sizeof left, "    ");
        }
        snprintf(left + used, sizeof left - (size_t)used, "--%s%s%s", a->name,
                 a->value != NULL ? " " : "", a->value != NULL ? a->value : "");
        cs_text_add(text, "  %-34s %s\n", left, a->help);
    }
}

bool cs_args_word(const char **at_p, char word[CS_WORD_BYTES])
{
    size_t length = strcspn(*at_p, ",");

    if (length == 0 || length >= CS_WORD_BYTES) {
        return false;
    }
    memcpy(word, *at_p, length);
    word[length] = '\0';
    *at_p += length;
    return true;
}
