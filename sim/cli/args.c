/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading the command line: see args.h. `-n 8`, `-n8`, `--ranks 8` and `--ranks=8` are the same;
 * `--` ends the options. */
#include "cli/args.h"

#include "cs/named.h"

#include <stdio.h>
#include <string.h>

enum { MAX_NAMES = 64 };

static const cs_arg *find_letter(const cs_args *args, char letter)
{
    for (size_t t = 0; args->tables[t] != NULL; t++) {
        for (const cs_arg *a = args->tables[t]; a->id != 0; a++) {
            if (a->letter == letter) {
                return a;
            }
        }
    }
    return NULL;
}

static const cs_arg *find_name(const cs_args *args, const char *name, size_t length)
{
    for (size_t t = 0; args->tables[t] != NULL; t++) {
        for (const cs_arg *a = args->tables[t]; a->id != 0; a++) {
            if (a->name != NULL && strlen(a->name) == length &&
                strncmp(a->name, name, length) == 0) {
                return a;
            }
        }
    }
    return NULL;
}

static int unknown(const cs_args *args, const char *word, cs_error *err)
{
    const char *names[MAX_NAMES];
    size_t      count = 0;

    for (size_t t = 0; args->tables[t] != NULL; t++) {
        for (const cs_arg *a = args->tables[t]; a->id != 0 && count < MAX_NAMES; a++) {
            if (a->name != NULL) {
                names[count++] = a->name;
            }
        }
    }
    const cs_named named = CS_NAMED_WORDS(names, count, NULL, NULL);
    const char    *near  = strncmp(word, "--", 2) == 0 ? cs_nearest_name(&named, word + 2) : NULL;
    CS_FAIL(err, CS_EINVAL, word, "no such option%s%s%s; --help shows all",
            near ? ", did you mean --" : "", near ? near : "", near ? "?" : "");
    return CS_ARG_ERROR;
}

/* The value of an option: attached, or the next word. */
static int take_value(cs_args *args, const cs_arg *a, const char *attached, cs_error *err)
{
    if (a->name != NULL) {
        snprintf(args->name, sizeof args->name, "--%s", a->name);
    } else {
        snprintf(args->name, sizeof args->name, "-%c", a->letter);
    }
    args->value = attached;
    if (a->value != NULL && attached == NULL) {
        if (args->at == args->count) {
            CS_FAIL(err, CS_EINVAL, args->name, "needs a value: %s", a->value);
            return CS_ARG_ERROR;
        }
        args->value = args->words[args->at++];
    }
    if (a->value == NULL && attached != NULL) {
        CS_FAIL(err, CS_EINVAL, args->name, "takes no value");
        return CS_ARG_ERROR;
    }
    return a->id;
}

static int next_letter(cs_args *args, cs_error *err)
{
    const cs_arg *a = find_letter(args, *args->rest);

    if (a == NULL) {
        return unknown(args, args->option, err);
    }
    const char *rest = args->rest[1] != '\0' ? args->rest + 1 : NULL;
    args->rest       = a->value == NULL ? rest : NULL;
    return take_value(args, a, a->value != NULL ? rest : NULL, err);
}

static int next_name(cs_args *args, const char *word, cs_error *err)
{
    const char   *equals = strchr(word, '=');
    size_t        length = equals != NULL ? (size_t)(equals - word) : strlen(word);
    const cs_arg *a      = find_name(args, word + 2, length - 2);

    return a == NULL ? unknown(args, word, err)
                     : take_value(args, a, equals != NULL ? equals + 1 : NULL, err);
}

int cs_args_next(cs_args *args, cs_error *err)
{
    if (args->rest != NULL) {
        return next_letter(args, err);
    }
    if (args->at == args->count) {
        return CS_ARG_END;
    }
    const char *word = args->words[args->at++];
    if (args->only_operands || word[0] != '-' || word[1] == '\0') {
        args->value = word;
        return CS_ARG_OPERAND;
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

void cs_args_help(cs_text *text, const cs_arg *table)
{
    for (const cs_arg *a = table; a->id != 0; a++) {
        char left[64];
        int  used = 0;
        if (a->letter != 0) {
            used = snprintf(left, sizeof left, "-%c%s", a->letter, a->name != NULL ? ", " : "");
        } else {
            used = snprintf(left, sizeof left, "    ");
        }
        snprintf(left + used, sizeof left - (size_t)used, "%s%s%s%s", a->name != NULL ? "--" : "",
                 a->name != NULL ? a->name : "", a->value != NULL ? " " : "",
                 a->value != NULL ? a->value : "");
        cs_text_add(text, "  %-34s %s\n", left, a->help);
    }
}
