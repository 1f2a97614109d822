/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a shell may offer: see cli/complete.h.
 *
 * All of it comes from the tables of commands and options. What may stand behind an option, or as
 * an operand, is read from what the help calls it: "FILE.json" is a file, "table|json" one of two
 * words, and what is called algorithm, model, .. has the names of that list. */
#include "cli/complete.h"

#include "cs/algorithm.h"
#include "cs/collective.h"
#include "cs/machine.h"
#include "cs/model.h"
#include "cs/named.h"
#include "figures/figures.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

typedef struct completion {
    cs_text    *text;
    const char *before; /* so much of the word stays: "ring," */
    size_t      before_length;
    const char *begun; /* ... and this is to be completed */
} completion;

static void offer(const completion *c, const char *dashes, const char *word, const char *meaning)
{
    char   whole[128];
    size_t length = strlen(c->begun);

    (void)snprintf(whole, sizeof whole, "%s%s", dashes, word);
    if (strncmp(whole, c->begun, length) == 0) {
        cs_text_add(c->text, "%.*s%s\t%s\n", (int)c->before_length, c->before, whole, meaning);
    }
}

static void offer_names(const completion *c, const cs_named *names)
{
    for (size_t i = 0; i < names->n; i++) {
        offer(c, "", cs_name_at(names, i), "");
    }
}

/* The names that an option, or an operand in capitals, takes. */
static void offer_list(const completion *c, const char *what)
{
    static const struct {
        const char     *what;
        const cs_named *names;
    } lists[] = {
        {"algorithm", &cs_algorithm_names}, {"baseline", &cs_algorithm_names},
        {"ALGORITHM", &cs_algorithm_names}, {"collective", &cs_collective_names},
        {"model", &cs_model_names},         {"topology", &cs_preset_names},
        {"PRESET", &cs_preset_names},
    };

    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        if (strcmp(lists[i].what, what) == 0) {
            offer_names(c, lists[i].names);
        }
    }
    if (strcmp(what, "NAME") == 0) {
        cs_figure_entry *figures   = NULL;
        size_t           n         = 0;
        bool             are_found = cs_figure_list(&figures, &n, NULL) == CS_OK;
        for (size_t i = 0; are_found && i < n; i++) {
            offer(c, "", figures[i].name, figures[i].title);
        }
        cs_figure_list_free(figures, n);
    }
}

/* One alternative of what the help calls a value: a file, a word as it is, or (`is_operand`) names
 * of a list. */
static void offer_alternative(const completion *c, const char *word, bool is_only, bool is_operand)
{
    static const char *const files[] = {"FILE", "CONFIG", "LOG", "DIR"};

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (strcmp(word, files[i]) == 0) {
            cs_text_add(c->text, ":files\n");
        }
    }
    if (!is_only && islower((unsigned char)word[0])) {
        offer(c, "", word, "");
    } else if (is_operand) {
        offer_list(c, word);
    }
}

/* "PRESET|FILE", "[CONFIG.json]", "NAME..|all", up to a blank; of each the letters count. */
static void offer_alternatives(const completion *c, const char *help, bool is_operand)
{
    const char *end     = help + strcspn(help, " ");
    bool        is_only = true;

    for (const char *at = help; at < end; at++) {
        is_only = is_only && *at != '|';
    }
    while (help < end) {
        char   word[64];
        size_t length;
        help += strspn(help, "[|");
        for (length = 0; isalpha((unsigned char)help[length]) || help[length] == '-';) {
            length++;
        }
        (void)snprintf(word, sizeof word, "%.*s", (int)length, help);
        offer_alternative(c, word, is_only, is_operand);
        help += strcspn(help, "| ");
    }
}

static const cs_arg *find_option(const cs_command *command, const char *word)
{
    for (const cs_arg_table *t = command->tables; t->args != NULL; t++) {
        for (const cs_arg *a = t->args; a->name != NULL; a++) {
            bool is_long   = cs_arg_is_option(a) && strncmp(word, "--", 2) == 0;
            bool is_letter = a->letter != 0 && word[0] == '-' && word[1] == a->letter;
            if ((is_long && strcmp(word + 2, a->name) == 0) || (is_letter && word[2] == '\0')) {
                return a;
            }
        }
    }
    return NULL;
}

static void offer_value(completion *c, const cs_arg *a)
{
    const char *comma = strrchr(c->begun, ',');

    if (strchr(a->value, ',') != NULL && comma != NULL) {
        c->before        = c->begun;
        c->before_length = (size_t)(comma + 1 - c->begun);
        c->begun         = comma + 1;
    }
    offer_alternatives(c, a->value, false);
    offer_list(c, a->name);
}

static void offer_options(const completion *c, const cs_command *command)
{
    for (const cs_arg_table *t = command->tables; t->args != NULL; t++) {
        for (const cs_arg *a = t->args; a->name != NULL; a++) {
            if (cs_arg_is_option(a)) {
                offer(c, "--", a->name, a->help);
            }
        }
    }
}

static void offer_commands(const completion *c, const cs_command *const *commands)
{
    for (; *commands != NULL; commands++) {
        offer(c, "", (*commands)->name, (*commands)->summary);
    }
    offer(c, "--", "help", "show all commands");
    offer(c, "--", "version", "print the version");
}

void cs_complete(cs_text *text, const cs_command *const *commands, int count, char *const *words)
{
    completion c = {.text = text, .before = "", .begun = words[count - 1]};

    if (count == 1) {
        offer_commands(&c, commands);
        return;
    }
    while (*commands != NULL && strcmp((*commands)->name, words[0]) != 0) {
        commands++;
    }
    if (*commands == NULL) {
        return;
    }
    const cs_arg *before = find_option(*commands, words[count - 2]);
    if (before != NULL && before->value != NULL) {
        offer_value(&c, before);
    } else if (c.begun[0] == '-') {
        offer_options(&c, *commands);
    } else {
        offer_alternatives(&c, (*commands)->usage + strlen((*commands)->name) + 1, true);
    }
}
