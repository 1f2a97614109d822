/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A configuration: a tree, the sweep that was cut out of it, and who set what.
 *
 * The tree and the axes never change while cases are built from them: a case copies what it
 * needs, because reference counts of shared trees are not safe between threads everywhere.
 */
#include "study/config.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/random.h"
#include "study/config_state.h"
#include "study/keys.h"
#include "traces/calibration_json.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

cs_status cs_config_new(cs_config **config_p, cs_error *err)
{
    cs_tree_setup();
    cs_config *config = CS_NEW(cs_config, 1);

    if (config == NULL) {
        return CS_NO_MEMORY(err, "a configuration");
    }
    config->tree  = json_object();
    config->files = cs_file_cache_new();
    if (config->tree == NULL || config->files == NULL) {
        cs_config_free(config);
        return CS_NO_MEMORY(err, "a configuration");
    }
    *config_p = config;
    return CS_OK;
}

static void free_calibration(cs_config *config)
{
    if (config->lender == NULL || config->calibration != config->lender->calibration) {
        cs_calibration_free(config->calibration);
    }
    config->calibration = NULL;
}

void cs_config_free(cs_config *config)
{
    if (config == NULL) {
        return;
    }
    for (size_t i = 0; i < config->n_overrides; i++) {
        cs_free(config->overrides[i].path);
        cs_free(config->overrides[i].origin);
    }
    cs_free(config->overrides);
    cs_axes_free(&config->axes);
    json_decref(config->tree);
    free_calibration(config);
    if (config->lender == NULL) {
        cs_file_cache_free(config->files);
        cs_free(config->text);
        cs_free(config->input);
    }
    cs_free(config);
}

/* Relative to the folder of the configuration's file. Owned by the caller; NULL: no memory. */
static char *path_beside(const char *input, const char *path)
{
    const char *slash = input != NULL ? strrchr(input, '/') : NULL;

    if (path[0] == '/' || slash == NULL) {
        return cs_strdup(path);
    }
    size_t folder = (size_t)(slash - input) + 1;
    char  *joined = CS_NEW(char, folder + strlen(path) + 1);
    if (joined != NULL) {
        memcpy(joined, input, folder);
        memcpy(joined + folder, path, strlen(path) + 1);
    }
    return joined;
}

/* Load what the key "calibration" names, if it is a text. */
static cs_status load_calibration(cs_config *config, const char *input, cs_error *err)
{
    const char *name = json_string_value(json_object_get(config->tree, "calibration"));

    free_calibration(config);
    if (name == NULL) {
        return CS_OK;
    }
    char *path = path_beside(input, name);
    if (path == NULL) {
        return CS_NO_MEMORY(err, "a configuration");
    }
    cs_status status = cs_calibration_load(path, &config->calibration, err);
    cs_free(path);
    return status;
}

cs_status cs_config_add_axis(cs_config *config, const char *path, json_t *values,
                             const char *origin, const char *where, cs_error *err)
{
    if (cs_path_below("sweep", path) != NULL || cs_path_below("calibration", path) != NULL) {
        return CS_FAIL(err, CS_EINVAL, where, "'%.40s' cannot be swept", path);
    }
    return cs_axes_set(&config->axes, path, origin, values, CS_CONFIG_MAX_CASES, where, err);
}

/* Every axis of {"PATH": [..], ..}. */
static cs_status add_axes(cs_config *config, json_t *sweep, const char *origin, cs_error *err)
{
    const char *key;
    json_t     *values;

    if (!json_is_object(sweep)) {
        return CS_FAIL(err, CS_EINVAL, "sweep",
                       "is %s: accepted is an object whose keys are paths and whose values are "
                       "arrays",
                       cs_tree_kind(sweep));
    }
    json_object_foreach(sweep, key, values)
    {
        char where[CS_PATH_BYTES];
        cs_path_add_key(where, "sweep", key);
        CS_TRY(cs_config_add_axis(config, key, values, origin, where, err));
    }
    return CS_OK;
}

/* Move the sweep from the tree to the axes. */
static cs_status take_sweep(cs_config *config, cs_error *err)
{
    cs_error wrong = {0};
    json_t  *sweep = json_object_get(config->tree, "sweep");

    if (sweep != NULL && add_axes(config, sweep, NULL, &wrong) != CS_OK) {
        return cs_config_locate_error(config, &wrong, false, CS_NO_POINT, err);
    }
    (void)json_object_del(config->tree, "sweep");
    return CS_OK;
}

/* Read config->text. */
static cs_status take_text(cs_config *config, const char *name, cs_error *err)
{
    json_t *tree = NULL;

    config->input = cs_strdup(name);
    if (config->input == NULL) {
        return CS_NO_MEMORY(err, "a configuration");
    }
    CS_TRY(cs_tree_parse(config->text, config->length, name, &tree, err));
    json_decref(config->tree);
    config->tree = tree;
    CS_TRY(take_sweep(config, err));
    if (json_is_string(json_object_get(tree, "$schema"))) {
        (void)json_object_del(tree, "$schema"); /* for editors: no part of a scenario */
    }
    config->tree = cs_key_spell_out(cs_key_root(tree), tree);
    return config->tree != NULL ? CS_OK : CS_NO_MEMORY(err, "a configuration");
}

/* Out of a text or (NULL) of the file `name`. */
static cs_status fill_config(cs_config *config, const char *text, size_t length, const char *name,
                             cs_error *err)
{
    cs_error wrong = {0};

    if (text == NULL) {
        CS_TRY(cs_file_read(name, CS_CONFIG_MAX_BYTES, &config->text, &config->length, err));
    } else if (length > CS_CONFIG_MAX_BYTES) {
        return CS_FAIL(err, CS_EINVAL, name, "has %zu bytes: accepted are %d", length,
                       CS_CONFIG_MAX_BYTES);
    } else {
        config->text   = CS_NEW(char, length + 1);
        config->length = length;
        if (config->text == NULL) {
            return CS_NO_MEMORY(err, "a configuration");
        }
        memcpy(config->text, text, length);
    }
    CS_TRY(take_text(config, name, err));
    return load_calibration(config, name, &wrong) == CS_OK
               ? CS_OK
               : cs_config_locate_error(config, &wrong, false, CS_NO_POINT, err);
}

static cs_status read_config(const char *text, size_t length, const char *name,
                             cs_config **config_p, cs_error *err)
{
    cs_config *config = NULL;

    CS_TRY(cs_config_new(&config, err));
    assert(config != NULL);
    cs_status status = fill_config(config, text, length, name, err);
    if (status != CS_OK) {
        cs_config_free(config);
        return status;
    }
    *config_p = config;
    return CS_OK;
}

cs_status cs_config_load(const char *path, cs_config **config_p, cs_error *err)
{
    return read_config(NULL, 0, path, config_p, err);
}

cs_status cs_config_parse(const char *json, size_t length, const char *name, cs_config **config_p,
                          cs_error *err)
{
    return read_config(json, length, name, config_p, err);
}

/* Remember who set a path. `appended` is the index that an append got. */
static cs_status remember(cs_config *config, const char *path, const char *origin, cs_error *err)
{
    cs_override *grown =
        cs_realloc(config->overrides, config->n_overrides + 1, sizeof *config->overrides);
    cs_override fresh = {cs_strdup(path), cs_strdup(origin)};

    config->overrides = grown != NULL ? grown : config->overrides;
    if (grown == NULL || fresh.path == NULL || fresh.origin == NULL) {
        cs_free(fresh.path);
        cs_free(fresh.origin);
        return CS_NO_MEMORY(err, "a configuration");
    }
    config->overrides[config->n_overrides++] = fresh;
    return CS_OK;
}

/* A configuration that borrows all from `config` but its tree: `tree`, which it owns. On failure
 * the tree is released. */
static cs_status make_point(const cs_config *config, json_t *tree, cs_config **point_p,
                            cs_error *err)
{
    cs_config *point = CS_NEW(cs_config, 1);

    if (point == NULL) {
        json_decref(tree);
        return CS_NO_MEMORY(err, "a configuration");
    }
    *point = (cs_config){.input       = config->input,
                         .text        = config->text,
                         .length      = config->length,
                         .tree        = tree,
                         .calibration = config->calibration,
                         .files       = config->files,
                         .lender      = config};
    for (size_t i = 0; i < config->n_overrides; i++) {
        const cs_override *override = &config->overrides[i];
        cs_status          status   = remember(point, override->path, override->origin, err);
        if (status != CS_OK) {
            cs_config_free(point);
            return status;
        }
    }
    *point_p = point;
    return CS_OK;
}

cs_status cs_config_at(const cs_config *config, size_t index, cs_config **point_p, cs_error *err)
{
    cs_error wrong = {0};
    json_t  *tree  = cs_config_point_tree(config, index, &wrong);

    return tree != NULL ? make_point(config, tree, point_p, err)
                        : cs_config_locate_error(config, &wrong, false, index, err);
}

/* Add what `tree` does not have; both are objects. False: out of memory. */
static bool complete_tree(json_t *tree, json_t *other)
{
    const char *key;
    json_t     *value;
    bool        ok = true;

    json_object_foreach(other, key, value)
    {
        json_t *ours = json_object_get(tree, key);
        if (ours == NULL) {
            ok = ok && json_object_set_new(tree, key, json_deep_copy(value)) == 0;
        } else if (json_is_object(ours) && json_is_object(value)) {
            ok = ok && complete_tree(ours, value);
        }
    }
    return ok;
}

/* Does the configuration say anything of what an axis of another one is over? */
static bool says(const cs_config *config, const cs_axis *axis)
{
    const char *rest;
    return cs_config_has(config, axis->path) ||
           cs_axes_above(&config->axes, axis->path, &rest) != NULL;
}

cs_status cs_config_complete(cs_config *config, const cs_config *other, cs_error *err)
{
    for (size_t i = 0; i < other->axes.n_axes; i++) {
        const cs_axis *axis = &other->axes.axes[i];
        if (!says(config, axis)) {
            CS_TRY(cs_axes_set(&config->axes, axis->path, NULL, axis->values, CS_CONFIG_MAX_CASES,
                               axis->path, err));
        }
    }
    if (!complete_tree(config->tree, other->tree)) {
        return CS_NO_MEMORY(err, "a configuration");
    }
    return config->calibration == NULL ? load_calibration(config, config->input, err) : CS_OK;
}

bool cs_config_has_axis(const cs_config *config, const char *path)
{
    size_t i = 0;

    while (i < config->axes.n_axes && strcmp(config->axes.axes[i].path, path) != 0) {
        i++;
    }
    return i < config->axes.n_axes;
}

/* The path of the element that an append to `steps` would make. */
static void appended_path(const cs_config *config, const cs_path *steps, const char *path,
                          char *element)
{
    const json_t *node = cs_tree_at(config->tree, steps);
    char          array[CS_PATH_BYTES];

    (void)snprintf(array, sizeof array, "%.*s", (int)(strlen(path) - 2), path);
    cs_path_add_index(element, array, json_array_size(node));
}

static cs_status set_sweep(cs_config *config, const char *path, json_t *value, const char *origin,
                           cs_error *err)
{
    char where[CS_PATH_BYTES];

    cs_config_origin_text(origin, path, where, sizeof where);
    if (strcmp(path, "sweep") != 0) {
        return cs_config_add_axis(config, path + strlen("sweep."), value, origin, where, err);
    }
    cs_axes_free(&config->axes);
    return add_axes(config, value, origin, err);
}

/* Put a value (borrowed) into the tree. */
static cs_status set_in_tree(cs_config *config, const char *path, json_t *value, const char *origin,
                             cs_error *err)
{
    char    where[CS_PATH_BYTES], element[CS_PATH_BYTES];
    cs_path steps;

    CS_TRY(cs_path_parse(path, &steps, err));
    cs_config_origin_text(origin, path, where, sizeof where);
    if (steps.appends) {
        appended_path(config, &steps, path, element);
    }
    CS_TRY(cs_tree_set(config->tree, &steps, json_incref(value), where, err));
    CS_TRY(remember(config, steps.appends ? element : path, origin, err));
    cs_axes_drop(&config->axes, path);
    return strcmp(path, "calibration") == 0 ? load_calibration(config, NULL, err) : CS_OK;
}

cs_status cs_config_set_node(cs_config *config, const char *path, json_t *value, const char *origin,
                             cs_error *err)
{
    bool is_sweep = strcmp(path, "sweep") == 0 || strncmp(path, "sweep.", 6) == 0;

    value            = cs_key_spell_out(cs_key_at(path), value);
    cs_status status = value == NULL ? CS_NO_MEMORY(err, "a configuration")
                       : is_sweep    ? set_sweep(config, path, value, origin, err)
                                     : set_in_tree(config, path, value, origin, err);
    json_decref(value);
    return status;
}

cs_status cs_config_set(cs_config *config, const char *path, const char *json, const char *origin,
                        cs_error *err)
{
    char    where[CS_PATH_BYTES];
    json_t *value = NULL;

    cs_config_origin_text(origin, path, where, sizeof where);
    CS_TRY(cs_tree_value(json, where, &value, err));
    return cs_config_set_node(config, path, value, origin, err);
}

size_t cs_config_count(const cs_config *config)
{
    return cs_axes_count(&config->axes);
}

bool cs_config_has(const cs_config *config, const char *path)
{
    cs_path steps;

    return cs_path_parse(path, &steps, NULL) == CS_OK && cs_tree_at(config->tree, &steps) != NULL;
}

/* Mix the text of a value into the hash; 0 stays 0. */
static uint64_t mix_value(uint64_t hash, const json_t *value)
{
    char    *text  = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    uint64_t mixed = text != NULL && hash != 0 ? cs_mix64(hash ^ cs_hash_text(text)) | 1 : 0;

    cs_free(text);
    return mixed;
}

uint64_t cs_config_fingerprint(const cs_config *config)
{
    uint64_t hash = mix_value(1, config->tree);

    for (size_t i = 0; i < config->axes.n_axes; i++) {
        const cs_axis *axis = &config->axes.axes[i];
        hash                = mix_value(hash ^ (cs_hash_text(axis->path) << 1), axis->values);
    }
    return hash;
}

const char *cs_config_text(const cs_config *config, const char *key)
{
    return json_string_value(json_object_get(config->tree, key));
}
