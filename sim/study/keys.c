/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a path to a row. Where a value may have several kinds or forms, the first that has the key
 * counts: the same key means the same in all of them. */
#include "study/keys.h"

#include "cs/units.h"
#include "input/path.h"
#include "scenario/scenario_json.h"
#include "study/all.h"

#include <string.h>

const cs_field cs_key_scenario = {
    .name = "scenario", .type = CS_FIELD_OBJECT, .fields = cs_scenario_fields};
static const cs_field whatif_root = {
    .name = "whatif", .type = CS_FIELD_OBJECT, .fields = cs_whatif_fields};

const cs_field *cs_key_root(const json_t *tree)
{
    return json_object_get(tree, "job") != NULL ? &whatif_root : &cs_key_scenario;
}

/* ---- plug-ins: {"name": .., "options": {..}}, where the options are those of all of them ---- */

static const cs_field name_of_algorithm = {
    .name = "name", .type = CS_FIELD_TEXT, .names = &cs_algorithm_names};
static const cs_field name_of_model = {
    .name = "name", .type = CS_FIELD_TEXT, .names = &cs_model_names};
static const cs_field options_of_algorithm = {.name = "options", .type = CS_FIELD_ANY};
static const cs_field options_of_model     = {.name = "options", .type = CS_FIELD_ANY};

static const cs_field *below_plug_in(const cs_field *row, const char *key)
{
    bool is_model = row->names == &cs_model_names;

    if (strcmp(key, "name") == 0) {
        return is_model ? &name_of_model : &name_of_algorithm;
    }
    return strcmp(key, "options") != 0 ? NULL
           : is_model                  ? &options_of_model
                                       : &options_of_algorithm;
}

static const cs_field *option(const cs_field *row, const char *key)
{
    const cs_field *found = NULL;

    for (size_t i = 0; row == &options_of_algorithm && cs_algorithms[i] != NULL && !found; i++) {
        found = cs_field_find(cs_algorithms[i]->options, key);
    }
    for (size_t i = 0; row == &options_of_model && cs_models[i] != NULL && !found; i++) {
        found = cs_field_find(cs_models[i]->options, key);
    }
    return found;
}

/* ---- down a path ---- */

const cs_field *cs_key_below(const cs_field *row, const char *key)
{
    const cs_field *found = NULL;

    if (row == NULL) {
        return NULL;
    }
    if (row->type == CS_FIELD_LIST) {
        return key == NULL ? row->fields : NULL;
    }
    if (row->type == CS_FIELD_EITHER || row->type == CS_FIELD_KIND) {
        for (const cs_field *one = row->fields; one->name != NULL && found == NULL; one++) {
            found = cs_key_below(one, key);
        }
        return found;
    }
    if (key == NULL) {
        return NULL;
    }
    return row->type == CS_FIELD_OBJECT    ? cs_field_find(row->fields, key)
           : row->type == CS_FIELD_PLUG_IN ? below_plug_in(row, key)
                                           : option(row, key);
}

static const cs_field *walk(const cs_field *row, const cs_path *path)
{
    for (size_t i = 0; i < path->n_steps; i++) {
        row = cs_key_below(row, path->steps[i].key);
    }
    return path->appends ? cs_key_below(row, NULL) : row;
}

const cs_field *cs_key_at(const char *path)
{
    cs_path steps;

    if (cs_path_parse(path, &steps, NULL) != CS_OK) {
        return NULL;
    }
    const cs_field *row = walk(&cs_key_scenario, &steps);
    return row != NULL ? row : walk(&whatif_root, &steps);
}

/* ---- quantities ---- */

const cs_field *cs_key_number(const cs_field *row)
{
    const cs_field *form = row != NULL && row->type == CS_FIELD_EITHER ? row->fields : NULL;

    for (; form != NULL && form->name != NULL; form++) {
        if (cs_field_unit(form) != CS_UNIT_NONE) {
            return form;
        }
    }
    return row;
}

const char *cs_key_suffix(const cs_field *row)
{
    const cs_field *number = cs_key_number(row);

    switch (number != NULL ? cs_field_unit(number) : CS_UNIT_NONE) {
    case CS_UNIT_TIME: return "_s";
    case CS_UNIT_RATE: return "_Bps";
    case CS_UNIT_SIZE: return "_bytes";
    case CS_UNIT_NONE: break;
    }
    return NULL;
}

static bool size_value(const json_t *node, cs_value *value_p)
{
    const char *text  = json_string_value(node);
    uint64_t    bytes = 0;

    if (json_is_integer(node)) {
        *value_p = (cs_value){.type = CS_VALUE_WHOLE, .whole = json_integer_value(node)};
        return true;
    }
    if (text == NULL || cs_parse_bytes(text, &bytes, NULL, NULL) != CS_OK) {
        return false;
    }
    *value_p = bytes <= INT64_MAX ? (cs_value){.type = CS_VALUE_WHOLE, .whole = (int64_t)bytes}
                                  : (cs_value){.type = CS_VALUE_REAL, .real = (double)bytes};
    return true;
}

bool cs_key_value(const cs_field *row, const json_t *node, cs_value *value_p)
{
    const cs_field *number = cs_key_number(row);
    cs_unit         unit   = number != NULL ? cs_field_unit(number) : CS_UNIT_NONE;
    const char     *text   = json_string_value(node);
    double          value  = json_number_value(node);

    if (unit == CS_UNIT_SIZE) {
        return size_value(node, value_p);
    }
    bool is_one = unit == CS_UNIT_NONE   ? false
                  : text == NULL         ? json_is_number(node)
                  : unit == CS_UNIT_TIME ? cs_parse_time(text, &value, NULL, NULL) == CS_OK
                                         : cs_parse_rate(text, &value, NULL, NULL) == CS_OK;
    *value_p    = (cs_value){.type = CS_VALUE_REAL, .real = value};
    return is_one;
}

/* Without a unit a text ends like a number. */
static bool is_bare(const json_t *node)
{
    const char *text   = json_string_value(node);
    size_t      length = text != NULL ? strlen(text) : 0;

    return json_is_number(node) ||
           (length > 0 &&
            (text[length - 1] == '.' || (text[length - 1] >= '0' && text[length - 1] <= '9')));
}

bool cs_key_is_odd(const cs_field *row, const json_t *node)
{
    const cs_field *number = cs_key_number(row);
    const cs_plain *plain  = number != NULL ? cs_field_plain(number) : NULL;
    cs_value        value;

    return plain != NULL && is_bare(node) && cs_key_value(number, node, &value) && value.real > 0 &&
           !(value.real >= plain->least && value.real < plain->most);
}

/* ---- names ---- */

/* The whole name of a text, or NULL: it is whole, or none fits, or it stands for all algorithms. A
 * dot or slash is a file's. */
static const char *whole_name(const cs_field *row, const char *text)
{
    size_t index = 0;

    if (row->type == CS_FIELD_EITHER) {
        return whole_name(row->fields, text);
    }
    if (row->names == &cs_algorithm_names && strcmp(text, CS_ALL_ALGORITHMS) == 0) {
        return NULL;
    }
    if (row->names == NULL || strpbrk(text, "./") != NULL || cs_field_has_choice(row, text) ||
        cs_find_named(row->names, text, &index, NULL, NULL) != CS_OK) {
        return NULL;
    }
    const char *name = cs_name_at(row->names, index);
    return strcmp(name, text) != 0 ? name : NULL;
}

/* Every value of an object or array; false without memory. */
static bool spell_out_all(const cs_field *row, json_t *node)
{
    bool        is_done = true;
    const char *key;
    json_t     *child;
    size_t      i;

    json_object_foreach(node, key, child)
    {
        json_t *whole = cs_key_spell_out(cs_key_below(row, key), json_incref(child));
        is_done       = json_object_set_new(node, key, whole) == 0 && is_done;
    }
    json_array_foreach(node, i, child)
    {
        json_t *whole = cs_key_spell_out(cs_key_below(row, NULL), json_incref(child));
        is_done       = json_array_set_new(node, i, whole) == 0 && is_done;
    }
    return is_done;
}

json_t *cs_key_spell_out(const cs_field *row, json_t *node)
{
    const char *text = json_string_value(node);
    const char *name = row != NULL && text != NULL ? whole_name(row, text) : NULL;

    if (name != NULL) {
        json_decref(node);
        return json_string(name);
    }
    if (row != NULL && text == NULL && !spell_out_all(row, node)) {
        json_decref(node);
        return NULL;
    }
    return node;
}
