/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a configuration to the command line that runs it. What an option sets becomes that option,
 * all else --set; so every key of the configuration is in it, and nothing more. */
#include "base/alloc.h"
#include "input/tree.h"
#include "serve/api.h"
#include "study/keys.h"
#include "topology/topology_file.h"

#include <stdio.h>
#include <string.h>

enum { WORD_BYTES = 512 };

typedef struct line {
    const cs_api *api;
    json_t       *tree; /* what is not yet in the text */
    json_t       *sweep;
    cs_text      *text;
    bool          has_lists; /* options with lists put the axes in their order */
} line;

/* ---- words ---- */

/* As a shell reads it. */
static void add_quoted(cs_text *text, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_./:,=@+%-";

    if (word[0] != '\0' && strspn(word, plain) == strlen(word)) {
        cs_text_add(text, "%s", word);
        return;
    }
    cs_text_add(text, "'");
    for (; *word != '\0'; word++) {
        cs_text_add(text, *word == '\'' ? "'\\''" : "%c", *word);
    }
    cs_text_add(text, "'");
}

static void add_option(line *l, const char *name, const char *value)
{
    cs_text_add(l->text, " %s", name);
    if (value != NULL) {
        cs_text_add(l->text, " ");
        add_quoted(l->text, value);
    }
}

/* A number or a text as an option writes it; false: it is none, or does not fit. */
static bool word_of(const json_t *node, char word[WORD_BYTES])
{
    char *dump;

    if (json_is_string(node)) {
        const char *text = json_string_value(node);
        (void)snprintf(word, WORD_BYTES, "%s", text);
        return strlen(text) < WORD_BYTES && text[0] != '\0' && text[0] != '-';
    }
    if (json_is_real(node)) {
        cs_number_text(json_real_value(node), word, WORD_BYTES);
        return true;
    }
    if (!json_is_integer(node) && !json_is_boolean(node)) {
        return false;
    }
    dump      = json_dumps(node, JSON_ENCODE_ANY);
    bool fits = dump != NULL && strlen(dump) < WORD_BYTES;
    if (fits) {
        memcpy(word, dump, strlen(dump) + 1);
    }
    cs_free(dump);
    return fits;
}

/* ---- places ---- */

/* The object in which a path ends, and its last key; NULL: it is not there. A text in the place of
 * an object that has a name is that name. */
static json_t *parent_of(json_t *tree, const char *path, const char **key_p)
{
    cs_path steps;

    if (cs_path_parse(path, &steps, NULL) != CS_OK || steps.n_steps == 0) {
        return NULL;
    }
    for (size_t i = 0; i + 1 < steps.n_steps; i++) {
        json_t *next = json_object_get(tree, steps.steps[i].key);
        if (json_is_string(next) && i + 2 == steps.n_steps && strstr(path, ".name") != NULL) {
            *key_p = strncmp(path, "algorithm", strlen("algorithm")) == 0 ? "algorithm" : "model";
            return tree;
        }
        tree = next;
    }
    const char *dot = strrchr(path, '.');
    *key_p          = dot != NULL ? dot + 1 : path;
    return json_object_get(tree, *key_p) != NULL ? tree : NULL;
}

/* ---- forms of options ---- */

static void take_value(line *l, const cs_api_option *o)
{
    const char *key    = NULL;
    json_t     *parent = parent_of(l->tree, o->sets.path, &key);
    char        word[WORD_BYTES];

    if (parent != NULL && word_of(json_object_get(parent, key), word)) {
        add_option(l, o->name, word);
        (void)json_object_del(parent, key);
    }
}

static void take_false(line *l, const cs_api_option *o)
{
    const char *key    = NULL;
    json_t     *parent = parent_of(l->tree, o->sets.path, &key);

    if (parent != NULL && json_is_false(json_object_get(parent, key))) {
        add_option(l, o->name, NULL);
        (void)json_object_del(parent, key);
    }
}

/* The values of an axis as "a,b"; false: some cannot be written so. */
static bool list_of(const json_t *values, cs_text *list)
{
    char          word[WORD_BYTES];
    size_t        i;
    const json_t *value;

    json_array_foreach(values, i, value)
    {
        if (!word_of(value, word) || strpbrk(word, ",:") != NULL || strstr(word, "..") != NULL) {
            return false;
        }
        cs_text_add(list, "%s%s", i > 0 ? "," : "", word);
    }
    return true;
}

static void take_list(line *l, const cs_api_option *o)
{
    const json_t *axis = json_object_get(l->sweep, o->sets.path);
    cs_text       list = {0};

    if (!l->has_lists) {
        return;
    }
    if (axis == NULL) {
        take_value(l, o);
    } else if (list_of(axis, &list) && list.data != NULL) {
        add_option(l, o->name, list.data);
        (void)json_object_del(l->sweep, o->sets.path);
    }
    cs_text_free(&list);
}

/* One element by "rank=slowdown@from:until"; false: it has other keys. */
static bool part_of(const char *parts, const json_t *element, char word[WORD_BYTES])
{
    char   key[64], value[WORD_BYTES];
    size_t n_used = 0, length = 0;
    char   before = '\0';
    bool   ended  = false;

    word[0] = '\0';
    while (*parts != '\0') {
        size_t n = strcspn(parts, "!.=@:");
        (void)snprintf(key, sizeof key, "%.*s", (int)n, parts);
        const json_t *node = json_object_get(element, key);
        char          end  = parts[n];
        n_used += node != NULL;
        parts += n + (end != '\0');
        if (end == '!') {
            if (!json_is_null(node)) {
                return false;
            }
            continue;
        }
        bool is_absent = node == NULL || json_is_null(node);
        bool may_lack  = before == '@' || before == ':';
        if (is_absent && may_lack) {
            ended = true;
        } else if (is_absent || ended || !word_of(node, value) || strpbrk(value, "=@:") != NULL) {
            return false;
        } else {
            const char between[2] = {before, '\0'};
            int        m = snprintf(word + length, WORD_BYTES - length, "%s%s", between, value);
            length += m > 0 ? (size_t)m : 0;
        }
        before = end;
    }
    return n_used == json_object_size(element) && length < WORD_BYTES;
}

/* The first of the options for a list that can add the element. */
static const cs_api_option *option_for(const line *l, const char *path, const json_t *element,
                                       char word[WORD_BYTES])
{
    for (size_t i = 0; i < l->api->n_options; i++) {
        const cs_api_option *o = &l->api->options[i];
        if (o->sets.form == CS_SET_PARTS && strcmp(o->sets.path, path) == 0 &&
            part_of(o->sets.parts, element, word)) {
            return o;
        }
    }
    return NULL;
}

static void take_parts(line *l, const cs_api_option *first)
{
    char        path[CS_PATH_BYTES], word[WORD_BYTES];
    const char *key = NULL;
    size_t      i;
    json_t     *element;

    (void)snprintf(path, sizeof path, "%.*s", (int)(strlen(first->sets.path) - strlen("[]")),
                   first->sets.path);
    json_t *parent = parent_of(l->tree, path, &key);
    json_t *list   = parent != NULL ? json_object_get(parent, key) : NULL;
    json_array_foreach(list, i, element)
    {
        if (option_for(l, first->sets.path, element, word) == NULL) {
            return;
        }
    }
    if (json_array_size(list) == 0) {
        return;
    }
    json_array_foreach(list, i, element)
    {
        const cs_api_option *o = option_for(l, first->sets.path, element, word);
        if (o != NULL) {
            add_option(l, o->name, word);
        }
    }
    (void)json_object_del(parent, key);
}

static void take_below(line *l, const cs_api_option *o)
{
    const char *key = NULL, *name;
    char        value[WORD_BYTES], word[2 * WORD_BYTES];
    json_t     *parent = parent_of(l->tree, o->sets.path, &key), *node;
    void       *next;

    json_t *options = parent != NULL ? json_object_get(parent, key) : NULL;
    if (!json_is_object(options)) {
        return;
    }
    json_object_foreach_safe(options, next, name, node)
    {
        if (!json_is_string(node) && word_of(node, value)) {
            (void)snprintf(word, sizeof word, "%.400s=%s", name, value);
            add_option(l, o->name, word);
            (void)json_object_del(options, name);
        }
    }
}

static void take_option(line *l, const cs_api_option *o)
{
    switch (o->sets.form) {
    case CS_SET_LIST: take_list(l, o); break;
    case CS_SET_NAME:
    case CS_SET_VALUE: take_value(l, o); break;
    case CS_SET_FALSE: take_false(l, o); break;
    case CS_SET_PARTS: take_parts(l, o); break;
    case CS_SET_BELOW:
        if (o->sets.path[0] != '\0') {
            take_below(l, o);
        }
        break;
    }
}

/* ---- the rest ---- */

static void add_set(line *l, const char *path, const json_t *node)
{
    char   *dump = json_dumps(node, JSON_ENCODE_ANY | JSON_COMPACT);
    cs_text word = {0};

    cs_text_add(&word, "%s=%s", path, dump != NULL ? dump : "");
    l->text->failed = l->text->failed || dump == NULL || word.failed;
    if (word.data != NULL) {
        add_option(l, "--set", word.data);
    }
    cs_text_free(&word);
    cs_free(dump);
}

/* Every value that no option has set. */
static void add_sets(line *l, const char *path, json_t *node, unsigned depth)
{
    char        below[CS_PATH_BYTES];
    const char *key;
    json_t     *child;

    if (!json_is_object(node) || depth >= CS_PATH_STEPS) {
        add_set(l, path, node);
        return;
    }
    json_object_foreach(node, key, child)
    {
        cs_path_add_key(below, path, key);
        add_sets(l, below, child, depth + 1);
    }
}

static void add_axes(line *l)
{
    char        path[CS_PATH_BYTES + 8];
    const char *key;
    json_t     *values;

    if (!l->has_lists) {
        add_set(l, "sweep", l->sweep);
        return;
    }
    json_object_foreach(l->sweep, key, values)
    {
        (void)snprintf(path, sizeof path, "sweep.%s", key);
        add_set(l, path, values);
    }
}

/* Are the axes that options can list the first ones, in the order of the options? They are set
 * first, whatever the command line's order. */
static bool lists_keep_order(const line *l)
{
    const char *key;
    json_t     *values;
    size_t      last = 0;

    json_object_foreach(l->sweep, key, values)
    {
        size_t  at   = 0;
        cs_text list = {0};
        while (at < l->api->n_options && (l->api->options[at].sets.form != CS_SET_LIST ||
                                          strcmp(l->api->options[at].sets.path, key) != 0)) {
            at++;
        }
        bool is_list = at < l->api->n_options && list_of(values, &list);
        cs_text_free(&list);
        at = is_list ? at : l->api->n_options;
        if (at < last) {
            return false;
        }
        last = at;
    }
    return true;
}

/* ---- files ---- */

/* Is it the name of a file? */
static bool is_file_name(const cs_field *row, const char *key, const char *text)
{
    bool takes_file = strcmp(key, "strategy") == 0;

    for (const cs_field *form = row != NULL && row->type == CS_FIELD_EITHER ? row->fields : NULL;
         form != NULL && form->name != NULL; form++) {
        takes_file = takes_file || form->type == CS_FIELD_FILE;
    }
    takes_file = takes_file || (row != NULL && row->type == CS_FIELD_FILE);
    return takes_file && text[0] != '/' && !cs_topology_is_preset(text) &&
           strcmp(text, "crossbar") != 0;
}

/* Names of files as they are found from where the command runs: `folder` is the one in which they
 * are looked for, with its slash. False: out of memory. */
static bool find_files(const char *folder, int length, json_t *tree, const cs_field *row)
{
    const char *key;
    json_t     *child;
    size_t      i;
    bool        is_ok = true;

    json_object_foreach(json_is_object(tree) ? tree : NULL, key, child)
    {
        const cs_field *below = cs_key_below(row, key);
        const char     *name  = json_string_value(child);
        if (name == NULL) {
            is_ok = find_files(folder, length, child, below) && is_ok;
        } else if (is_file_name(below, key, name)) {
            json_t *path = json_sprintf("%.*s%s", length, folder, name);
            is_ok        = json_object_set_new(tree, key, path) == 0 && is_ok;
        }
    }
    json_array_foreach(json_is_array(tree) ? tree : NULL, i, child)
    {
        is_ok = find_files(folder, length, child, cs_key_below(row, NULL)) && is_ok;
    }
    return is_ok;
}

cs_status cs_api_command(const cs_api *api, const char *command, const cs_config *config,
                         cs_text *text, cs_error *err)
{
    line        l      = {.api = api, .text = text};
    const char *path   = api->base_path != NULL ? api->base_path : "";
    const char *slash  = strrchr(path, '/');
    cs_text     json   = {0};
    cs_status   status = cs_config_json(config, 0, &json, err);

    status =
        status == CS_OK ? cs_tree_parse(json.data, json.length, "request", &l.tree, err) : status;
    cs_text_free(&json);
    if (status != CS_OK) {
        return status;
    }
    l.sweep = json_incref(json_object_get(l.tree, "sweep"));
    (void)json_object_del(l.tree, "sweep");
    (void)json_object_del(l.tree, "description");
    if (slash != NULL && !find_files(path, (int)(slash + 1 - path), l.tree, &cs_key_scenario)) {
        text->failed = true;
    }
    l.has_lists = lists_keep_order(&l);
    cs_text_add(text, "collsim %s", command);
    for (size_t i = 0; i < api->n_options; i++) {
        take_option(&l, &api->options[i]);
    }
    add_sets(&l, "", l.tree, 0);
    add_axes(&l);
    json_decref(l.sweep);
    json_decref(l.tree);
    return cs_text_status(text, err);
}
