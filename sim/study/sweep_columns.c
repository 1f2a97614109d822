/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The columns of a sweep. Values are converted once per value of an axis, not once per scenario. */
#include "base/alloc.h"
#include "study/config_state.h"
#include "study/keys.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef struct column {
    size_t    axis;
    cs_value *values; /* of the axis, in its order; in the arena */
} column;

struct cs_sweep_columns {
    const cs_axes   *axes;   /* borrowed */
    const cs_column *beside; /* those that the rows have; borrowed */
    cs_arena         arena;
    size_t           n;
    column          *columns; /* [n]; in the arena, as all that follows */
    const char     **names;
};

/* Keys that are columns of a result, or stand in them, when their values are plain. */
static const char *const known[] = {
    "algorithm",  "algorithm.name", "model",         "model.name",
    "collective", "bytes",          "cluster.ranks", "cluster.gpus_per_server",
};

/* Names that are taken beside those of the columns: SQLite's do not depend on case. */
static const char *const taken[] = {
    "key", "options", "model_options", "wrong", "scenario", "run", "error",
};

static bool is_plain(const cs_axis *axis)
{
    bool is_plain = true;

    for (size_t i = 0; i < json_array_size(axis->values) && is_plain; i++) {
        const json_t *value = json_array_get(axis->values, i);
        is_plain            = !json_is_object(value) && !json_is_array(value);
    }
    return is_plain;
}

static bool is_known(const cs_axis *axis)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(axis->path, known[i]) == 0) {
            return is_plain(axis);
        }
    }
    return false;
}

static bool is_taken(const cs_sweep_columns *c, const char *name)
{
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        if (strcasecmp(name, taken[i]) == 0) {
            return true;
        }
    }
    for (const cs_column *b = c->beside; b->key != NULL; b++) {
        if (strcasecmp(name, b->key) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < c->n; i++) {
        if (strcasecmp(name, c->names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* The path, the unit behind it where that is not its end already, and "sweep." before it where the
 * name is taken. */
static const char *name_of(cs_sweep_columns *c, const cs_axis *axis, const char *suffix)
{
    static const char before[] = "sweep.";
    const char       *rest     = strrchr(axis->path, '_');
    size_t            length   = strlen(axis->path) + strlen(suffix) + 1;
    char             *name     = CS_ARENA_NEW(&c->arena, char, length);

    if (name == NULL) {
        return NULL;
    }
    bool has_suffix = rest != NULL && strcmp(rest, suffix) == 0;
    (void)snprintf(name, length, "%s%s", axis->path, has_suffix ? "" : suffix);
    while (name != NULL && is_taken(c, name)) {
        length += strlen(before);
        char *other = CS_ARENA_NEW(&c->arena, char, length);
        if (other != NULL) {
            (void)snprintf(other, length, "%s%s", before, name);
        }
        name = other;
    }
    return name;
}

/* An object or a list as JSON; false without memory. */
static bool dump(cs_sweep_columns *c, const json_t *node, cs_value *value_p)
{
    size_t flags  = JSON_COMPACT | JSON_SORT_KEYS;
    size_t length = json_dumpb(node, NULL, 0, flags);
    char  *text   = length > 0 ? CS_ARENA_NEW(&c->arena, char, length + 1) : NULL;

    if (text == NULL || json_dumpb(node, text, length, flags) != length) {
        return false;
    }
    *value_p = (cs_value){.type = CS_VALUE_JSON, .text = text};
    return true;
}

static bool convert(cs_sweep_columns *c, const json_t *node, const cs_field *row, cs_value *value_p)
{
    if (row != NULL && cs_key_value(row, node, value_p)) {
        return true;
    }
    switch (json_typeof(node)) {
    case JSON_OBJECT:
    case JSON_ARRAY: return dump(c, node, value_p);
    case JSON_STRING:
        *value_p = (cs_value){.type = CS_VALUE_TEXT, .text = json_string_value(node)};
        break;
    case JSON_INTEGER:
        *value_p = (cs_value){.type = CS_VALUE_WHOLE, .whole = json_integer_value(node)};
        break;
    case JSON_REAL:
        *value_p = (cs_value){.type = CS_VALUE_REAL, .real = json_real_value(node)};
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        *value_p = (cs_value){.type = CS_VALUE_BOOL, .whole = json_is_true(node)};
        break;
    case JSON_NULL: *value_p = (cs_value){.type = CS_VALUE_NONE}; break;
    }
    return true;
}

/* False without memory. */
static bool add_column(cs_sweep_columns *c, size_t axis)
{
    const cs_axis  *a       = &c->axes->axes[axis];
    size_t          count   = json_array_size(a->values);
    const cs_field *row     = is_plain(a) ? cs_key_at(a->path) : NULL;
    const char     *suffix  = cs_key_suffix(row);
    cs_value       *values  = CS_ARENA_NEW(&c->arena, cs_value, count);
    const char     *name    = name_of(c, a, suffix != NULL ? suffix : "");
    bool            is_done = values != NULL && name != NULL;

    for (size_t i = 0; i < count && is_done; i++) {
        is_done = convert(c, json_array_get(a->values, i), row, &values[i]);
    }
    if (is_done) {
        c->columns[c->n] = (column){axis, values};
        c->names[c->n++] = name;
    }
    return is_done;
}

cs_status cs_sweep_columns_open(const cs_config *config, const cs_column *columns,
                                cs_sweep_columns **columns_p, cs_error *err)
{
    size_t            n_axes = config->axes.n_axes;
    cs_sweep_columns *c      = CS_NEW(cs_sweep_columns, 1);

    if (c == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "sweep", "out of memory for columns");
    }
    c->axes      = &config->axes;
    c->beside    = columns;
    c->columns   = CS_ARENA_NEW(&c->arena, column, n_axes);
    c->names     = CS_ARENA_NEW(&c->arena, const char *, n_axes);
    bool is_done = c->columns != NULL && c->names != NULL;
    for (size_t i = 0; i < n_axes && is_done; i++) {
        is_done = is_known(&config->axes.axes[i]) || add_column(c, i);
    }
    if (!is_done) {
        cs_sweep_columns_close(c);
        return CS_FAIL(err, CS_ENOMEM, "sweep", "out of memory for columns");
    }
    *columns_p = c;
    return CS_OK;
}

void cs_sweep_columns_close(cs_sweep_columns *columns)
{
    if (columns != NULL) {
        cs_arena_free(&columns->arena);
        cs_free(columns);
    }
}

const char *const *cs_sweep_columns_names(const cs_sweep_columns *columns, size_t *n_p)
{
    *n_p = columns->n;
    return columns->names;
}

void cs_sweep_columns_row(const cs_sweep_columns *columns, size_t index, cs_value *values)
{
    for (size_t i = 0; i < columns->n; i++) {
        const column *c = &columns->columns[i];
        values[i]       = c->values[cs_axes_digit(columns->axes, index, c->axis)];
    }
}
