/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Typed values out of a JSON tree: see config/field.h. Numbers go through their text with 17
 * digits, so that one parser decides what a quantity means, wherever it was written. */
#include "config/field.h"

#include "cs/named.h"
#include "cs/units.h"

#include <stdio.h>
#include <string.h>

cs_field cs_field_root(json_t *tree)
{
    return (cs_field){.node = tree, .parent = NULL, .key = NULL, .index = 0};
}

cs_field cs_field_get(const cs_field *parent, const char *key)
{
    return (cs_field){json_object_get(parent->node, key), parent, key, 0};
}

cs_field cs_field_item(const cs_field *parent, size_t index)
{
    return (cs_field){json_array_get(parent->node, index), parent, NULL, index};
}

void cs_field_path(const cs_field *field, char *path)
{
    const cs_field *chain[CS_PATH_STEPS];
    size_t          depth = 0;

    for (; field->parent != NULL && depth < CS_PATH_STEPS; field = field->parent) {
        chain[depth++] = field;
    }
    path[0] = '\0';
    while (depth-- > 0) {
        if (chain[depth]->key != NULL) {
            cs_path_add_key(path, path, chain[depth]->key);
        } else {
            cs_path_add_index(path, path, chain[depth]->index);
        }
    }
}

static void refuse_kind(cs_reading *r, const cs_field *field, const char *accepted)
{
    if (json_is_string(field->node)) {
        CS_REFUSE(r, field, CS_EINVAL, "is the text '%.40s': accepted is %s",
                  json_string_value(field->node), accepted);
    } else {
        CS_REFUSE(r, field, CS_EINVAL, "is %s: accepted is %s", cs_tree_kind(field->node),
                  accepted);
    }
}

static bool is_among(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(word, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* The index of a word among others; false (refused at the field) where it is none of them. */
static bool find_word(cs_reading *r, const cs_field *field, const char *what, const char *word,
                      const char *const *words, size_t count, size_t *index_p)
{
    const cs_named named = CS_NAMED_WORDS(words, count, what, NULL);
    char           path[CS_PATH_BYTES];

    cs_field_path(field, path);
    return cs_find_named(&named, word, index_p, path, &r->error) == CS_OK;
}

bool cs_read_object(cs_reading *r, const cs_field *field, const char *const *keys, size_t count)
{
    const char *key;
    json_t     *value;
    size_t      index;

    if (cs_reading_failed(r) || field->node == NULL) {
        return false;
    }
    if (!json_is_object(field->node)) {
        refuse_kind(r, field, "an object");
        return false;
    }
    json_object_foreach(field->node, key, value)
    {
        cs_field child = cs_field_get(field, key);
        if (!is_among(key, keys, count) &&
            !find_word(r, &child, "unknown key", key, keys, count, &index)) {
            r->blames_key = true;
            return false;
        }
    }
    return true;
}

size_t cs_read_array(cs_reading *r, const cs_field *field)
{
    if (cs_reading_failed(r) || field->node == NULL) {
        return 0;
    }
    if (!json_is_array(field->node)) {
        refuse_kind(r, field, "an array");
        return 0;
    }
    return json_array_size(field->node);
}

void cs_read_required(cs_reading *r, const cs_field *parent, const char *key)
{
    if (!cs_reading_failed(r) && json_object_get(parent->node, key) == NULL) {
        CS_REFUSE(r, parent, CS_EINVAL, "the key '%s' is missing", key);
    }
}

const char *cs_read_scalar(cs_reading *r, const cs_field *field)
{
    char        number[40];
    const char *text = number;

    if (json_is_integer(field->node)) {
        (void)snprintf(number, sizeof number, "%lld", (long long)json_integer_value(field->node));
    } else if (json_is_real(field->node)) {
        (void)snprintf(number, sizeof number, "%.17g", json_real_value(field->node));
    } else if (json_is_boolean(field->node)) {
        text = json_is_true(field->node) ? "true" : "false";
    } else if (json_is_string(field->node)) {
        text = json_string_value(field->node);
    } else {
        refuse_kind(r, field, "a number, a text or a truth value");
        return NULL;
    }
    const char *copy = cs_arena_strdup(r->arena, text);
    if (copy == NULL) {
        CS_REFUSE(r, field, CS_ENOMEM, "out of memory for a value");
    }
    return copy;
}

/* The child as text if it is there and its kind is accepted. */
static const char *scalar_of(cs_reading *r, const cs_field *field, bool is_text, bool is_number,
                             const char *accepted)
{
    if (cs_reading_failed(r) || field->node == NULL) {
        return NULL;
    }
    if (!(is_text && json_is_string(field->node)) && !(is_number && json_is_number(field->node))) {
        refuse_kind(r, field, accepted);
        return NULL;
    }
    return cs_read_scalar(r, field);
}

void cs_read_text(cs_reading *r, const cs_field *parent, const char *key, const char **text_p)
{
    cs_field    field = cs_field_get(parent, key);
    const char *text  = scalar_of(r, &field, true, false, "a text");

    if (text != NULL) {
        *text_p = text;
    }
}

/* The names, each with the first `folder_bytes` of `folder` before it unless it begins with '/'. */
static char *names_in(cs_arena *arena, const char *names, const char *folder, size_t folder_bytes)
{
    size_t n = 1, length = strlen(names);

    for (const char *c = names; *c != '\0'; c++) {
        n += *c == ',';
    }
    char *paths = CS_ARENA_NEW(arena, char, length + n * folder_bytes + 1), *end = paths;
    while (paths != NULL) {
        size_t one = strcspn(names, ",");
        if (folder_bytes > 0 && names[0] != '/') {
            memcpy(end, folder, folder_bytes);
            end += folder_bytes;
        }
        memcpy(end, names, one);
        end += one;
        names += one;
        if (*names == '\0') {
            break;
        }
        *end++ = *names++;
    }
    return paths;
}

void cs_read_file_names(cs_reading *r, const cs_field *parent, const char *key,
                        const char **paths_p)
{
    char        where[CS_PATH_BYTES];
    const char *names = NULL;
    cs_field    field = cs_field_get(parent, key);

    cs_read_text(r, parent, key, &names);
    if (names == NULL) {
        return;
    }
    cs_field_path(&field, where);
    const char *file  = r->file_of != NULL ? r->file_of(r->context, where) : NULL;
    const char *slash = file != NULL ? strrchr(file, '/') : NULL;
    const char *paths =
        names_in(r->arena, names, file, slash != NULL ? (size_t)(slash - file) + 1 : 0);
    if (paths == NULL) {
        CS_REFUSE(r, &field, CS_ENOMEM, "out of memory for the name of a file");
        return;
    }
    *paths_p = paths;
}

void cs_read_bool(cs_reading *r, const cs_field *parent, const char *key, bool *value_p)
{
    cs_field field = cs_field_get(parent, key);

    if (cs_reading_failed(r) || field.node == NULL) {
        return;
    }
    if (!json_is_boolean(field.node)) {
        refuse_kind(r, &field, "true or false");
        return;
    }
    *value_p = json_is_true(field.node);
}

void cs_read_whole(cs_reading *r, const cs_field *parent, const char *key, uint64_t min,
                   uint64_t max, uint64_t *value_p)
{
    char        path[CS_PATH_BYTES];
    cs_field    field = cs_field_get(parent, key);
    json_int_t  whole = json_integer_value(field.node);
    bool        is_in = json_is_integer(field.node) && whole >= 0;
    const char *text  = NULL;

    if (cs_reading_failed(r)) {
        return;
    }
    if (is_in && (uint64_t)whole >= min && (uint64_t)whole <= max) {
        *value_p = (uint64_t)whole;
        return;
    }
    text = scalar_of(r, &field, false, true, "a number");
    if (text != NULL) {
        cs_field_path(&field, path);
        (void)cs_parse_integer(text, min, max, value_p, path, &r->error);
    }
}

void cs_read_u32(cs_reading *r, const cs_field *parent, const char *key, uint32_t min, uint32_t max,
                 uint32_t *value_p)
{
    uint64_t value = *value_p;

    cs_read_whole(r, parent, key, min, max, &value);
    *value_p = (uint32_t)value;
}

void cs_read_number(cs_reading *r, const cs_field *parent, const char *key, double min, double max,
                    double *value_p)
{
    cs_field field = cs_field_get(parent, key);

    if (cs_reading_failed(r) || field.node == NULL) {
        return;
    }
    if (!json_is_number(field.node)) {
        refuse_kind(r, &field, "a number");
        return;
    }
    double value = json_number_value(field.node);
    if (!(value >= min && value <= max)) {
        CS_REFUSE(r, &field, CS_EINVAL, "%.15g is outside [%.15g, %.15g]", value, min, max);
        return;
    }
    *value_p = value;
}

void cs_read_bytes(cs_reading *r, const cs_field *parent, const char *key, uint64_t *bytes_p)
{
    char        path[CS_PATH_BYTES];
    cs_field    field = cs_field_get(parent, key);
    const char *text  = scalar_of(r, &field, true, true, "a size, as in 4096 or \"32MiB\"");

    if (text != NULL) {
        cs_field_path(&field, path);
        (void)cs_parse_bytes(text, bytes_p, path, &r->error);
    }
}

void cs_read_rate(cs_reading *r, const cs_field *parent, const char *key, double *rate_Bps_p)
{
    char        path[CS_PATH_BYTES];
    cs_field    field = cs_field_get(parent, key);
    const char *text  = scalar_of(r, &field, true, true, "a rate, as in \"450GB/s\"");

    if (text != NULL) {
        cs_field_path(&field, path);
        (void)cs_parse_rate(text, rate_Bps_p, path, &r->error);
    }
}

void cs_read_time(cs_reading *r, const cs_field *parent, const char *key, double *time_s_p)
{
    char        path[CS_PATH_BYTES];
    cs_field    field = cs_field_get(parent, key);
    const char *text  = scalar_of(r, &field, true, true, "a time, as in \"3us\"");

    if (text != NULL) {
        cs_field_path(&field, path);
        (void)cs_parse_time(text, time_s_p, path, &r->error);
    }
}

void cs_read_word(cs_reading *r, const cs_field *parent, const char *key, const char *const *words,
                  size_t count, size_t *index_p)
{
    cs_field    field = cs_field_get(parent, key);
    const char *word  = scalar_of(r, &field, true, false, "a text");

    if (word != NULL) {
        (void)find_word(r, &field, "unknown word", word, words, count, index_p);
    }
}
