/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A configuration: a tree, the sweep that was cut out of it, and who set what.
 *
 * The tree and the axes never change while cases are built from them: a case copies what it
 * needs, because reference counts of shared trees are not safe between threads everywhere.
 *
 * An error about a value names whoever wrote it: an axis of the sweep (which stands above
 * everything else), the last option that set it or something around it, or the file.
 */
#include "study/config.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/random.h"
#include "input/locate.h"
#include "study/all.h"
#include "study/config_state.h"
#include "study/keys.h"
#include "traces/calibration_json.h"

#include <assert.h>
#include <stdint.h>
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
    bool is_lent = config->lender != NULL && config->calibration == config->lender->calibration;

    if (!is_lent && config->host == NULL) {
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
        if (config->host == NULL) {
            cs_file_cache_free(config->files);
        }
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

/* The calibration of the host, where it is the one that is named. */
static cs_status borrow_calibration(cs_config *config, const char *name, cs_error *err)
{
    const char *own = cs_config_text(config->host, "calibration");

    if (own == NULL || strcmp(own, name) != 0) {
        return CS_FAIL(err, CS_ENOTSUP, "calibration",
                       "'%.80s' would be a file, and none is read here but those of the "
                       "configuration that is served",
                       name);
    }
    config->calibration = config->host->calibration;
    return CS_OK;
}

/* Load what the key "calibration" names, if it is a text. */
static cs_status load_calibration(cs_config *config, const char *input, cs_error *err)
{
    const char *name = json_string_value(json_object_get(config->tree, "calibration"));

    free_calibration(config);
    if (name == NULL) {
        return CS_OK;
    }
    if (config->host != NULL) {
        return borrow_calibration(config, name, err);
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
    CS_TRY(cs_axes_set(&config->axes, path, origin, values, CS_CONFIG_MAX_CASES, where, err));
    return cs_config_spread_all(config, origin, err);
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
    return config->tree != NULL ? cs_config_spread_all(config, NULL, err)
                                : CS_NO_MEMORY(err, "a configuration");
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

/* `host` as in the configuration. */
static cs_status read_config(const char *text, size_t length, const char *name,
                             const cs_config *host, cs_config **config_p, cs_error *err)
{
    cs_config *config = NULL;

    CS_TRY(cs_config_new(&config, err));
    assert(config != NULL);
    if (host != NULL) {
        cs_file_cache_free(config->files);
        config->files = host->files;
        config->host  = host;
    }
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
    return read_config(NULL, 0, path, NULL, config_p, err);
}

cs_status cs_config_parse(const char *json, size_t length, const char *name, cs_config **config_p,
                          cs_error *err)
{
    return read_config(json, length, name, NULL, config_p, err);
}

cs_status cs_config_parse_guest(const char *json, size_t length, const cs_config *host,
                                cs_config **config_p, cs_error *err)
{
    const char *name = host->input != NULL ? host->input : "request";

    return read_config(json, length, name, host, config_p, err);
}

/* Build a scenario for the files that it reads. */
static cs_status read_files_of(const cs_config *config, size_t index, cs_error *err)
{
    cs_case   c      = {0};
    cs_error  wrong  = {0};
    cs_status status = cs_config_try_case(config, index, &c, &wrong);

    cs_case_free(&c);
    if (status != CS_OK && !cs_status_is_refusal(status)) {
        return cs_config_case(config, index, &c, err);
    }
    return CS_OK;
}

cs_status cs_config_close_files(const cs_config *config, cs_error *err)
{
    const cs_axes *axes = &config->axes;
    size_t         n    = cs_axes_count(axes);

    for (size_t i = 0; n <= CS_CONFIG_MANY_CASES && i < n; i++) {
        CS_TRY(read_files_of(config, i, err));
    }
    for (size_t a = 0; n > CS_CONFIG_MANY_CASES && a < axes->n_axes; a++) {
        for (size_t d = 0; d < json_array_size(axes->axes[a].values); d++) {
            CS_TRY(read_files_of(config, cs_axes_point(axes, a, d), err));
        }
    }
    cs_file_cache_close(config->files);
    return CS_OK;
}

/* The values of an axis as they can be read again: "all" in the place of those it stands for. */
static json_t *written_values(const cs_axis *axis)
{
    json_t *values = json_array();
    bool    is_ok  = values != NULL;

    for (size_t i = 0; i < axis->n_named && is_ok; i++) {
        is_ok = json_array_append(values, json_array_get(axis->values, i)) == 0;
    }
    if (is_ok && axis->n_named < json_array_size(axis->values)) {
        is_ok = json_array_append_new(values, json_string(CS_ALL_ALGORITHMS)) == 0;
    }
    if (!is_ok) {
        json_decref(values);
    }
    return is_ok ? values : NULL;
}

cs_status cs_config_json(const cs_config *config, size_t indent, cs_text *text, cs_error *err)
{
    const cs_axes *axes  = &config->axes;
    json_t        *tree  = json_copy(config->tree);
    json_t        *sweep = json_object();
    bool           is_ok = tree != NULL && sweep != NULL;

    for (size_t i = 0; i < axes->n_axes && is_ok; i++) {
        is_ok = json_object_set_new(sweep, axes->axes[i].path, written_values(&axes->axes[i])) == 0;
    }
    if (is_ok && axes->n_axes > 0) {
        is_ok = json_object_set(tree, "sweep", sweep) == 0;
    }
    char *dump = is_ok ? json_dumps(tree, indent > 0 ? JSON_INDENT(indent) : JSON_COMPACT) : NULL;
    if (dump != NULL) {
        cs_text_add(text, "%s", dump);
    }
    json_decref(sweep);
    json_decref(tree);
    bool is_done = dump != NULL && !text->failed;
    cs_free(dump);
    return is_done ? CS_OK : CS_NO_MEMORY(err, "a configuration");
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
static bool mentions(const cs_config *config, const cs_axis *axis)
{
    const char *rest;
    return cs_config_has(config, axis->path) ||
           cs_axes_above(&config->axes, axis->path, &rest) != NULL;
}

cs_status cs_config_complete(cs_config *config, const cs_config *other, cs_error *err)
{
    for (size_t i = 0; i < other->axes.n_axes; i++) {
        const cs_axis *axis = &other->axes.axes[i];
        if (!mentions(config, axis)) {
            CS_TRY(cs_axes_set(&config->axes, axis->path, NULL, axis->values, CS_CONFIG_MAX_CASES,
                               axis->path, err));
            config->axes.axes[config->axes.n_axes - 1].n_named = axis->n_named;
        }
    }
    if (!complete_tree(config->tree, other->tree)) {
        return CS_NO_MEMORY(err, "a configuration");
    }
    CS_TRY(cs_config_spread_all(config, NULL, err));
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

void cs_config_appended_path(const cs_config *config, const char *path, char *element)
{
    char    array[CS_PATH_BYTES];
    cs_path steps;
    json_t *node =
        cs_path_parse(path, &steps, NULL) == CS_OK ? cs_tree_at(config->tree, &steps) : NULL;

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
        cs_config_appended_path(config, path, element);
    }
    CS_TRY(cs_tree_set(config->tree, &steps, json_incref(value), where, err));
    CS_TRY(remember(config, steps.appends ? element : path, origin, err));
    cs_axes_drop(&config->axes, path);
    CS_TRY(cs_config_spread_all(config, origin, err));
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

/* ---- where an error comes from ---- */

void cs_config_origin_text(const char *origin, const char *path, char *text, size_t text_bytes)
{
    bool is_set = strcmp(origin, "--set") == 0;
    (void)snprintf(text, text_bytes, "%s%s%s", origin, is_set ? " " : "", is_set ? path : "");
}

static void name_option(cs_error *error, const char *origin, const char *path)
{
    char text[2 * sizeof error->where]; /* `path` may be the error's own */

    cs_config_origin_text(origin, path, text, sizeof text);
    text[sizeof error->where - 1] = '\0';
    memcpy(error->where, text, sizeof error->where);
}

/* How exactly the origin of an error is named. */
typedef enum detail { OPTION_ONLY, PLACE_OF_VALUE, PLACE_OF_KEY } detail;

static void name_place(const cs_config *config, cs_error *error, const char *path, detail how)
{
    bool wants_key = how == PLACE_OF_KEY;
    int  line = 0, column = 0;

    if (config->text != NULL && how != OPTION_ONLY) {
        cs_locate(config->text, config->length, path, wants_key, &line, &column);
        cs_error_locate(error, config->input, line, column);
    }
}

static void locate_on_axis(const cs_config *config, cs_error *error, const cs_axis *axis,
                           const char *rest, detail how, size_t point)
{
    char   path[CS_PATH_BYTES], full[2 * CS_PATH_BYTES];
    size_t number      = (size_t)(axis - config->axes.axes);
    bool   is_axis_key = how == PLACE_OF_KEY && rest[0] == '\0';

    if (axis->origin != NULL) {
        name_option(error, axis->origin, axis->path);
        return;
    }
    cs_path_add_key(path, "sweep", axis->path);
    size_t digit = cs_axes_digit(&config->axes, point, number);
    if (!is_axis_key && digit < axis->n_named) {
        cs_path_add_index(path, path, digit);
    }
    (void)snprintf(full, sizeof full, "%s%s", path, rest);
    name_place(config, error, full, how);
}

const cs_override *cs_config_override_above(const cs_config *config, const char *path)
{
    for (size_t i = config->n_overrides; i-- > 0;) {
        if (cs_path_below(config->overrides[i].path, path) != NULL) {
            return &config->overrides[i];
        }
    }
    return NULL;
}

static cs_status locate(const cs_config *config, const cs_error *from, detail how, size_t point,
                        cs_error *err)
{
    cs_error           error    = *from;
    bool               is_ours  = from->status != CS_ENOMEM && from->input[0] == '\0';
    const char        *rest     = "";
    const cs_axis     *axis     = NULL;
    const cs_override *override = cs_config_override_above(config, from->where);

    if (point != CS_NO_POINT && is_ours) {
        axis = cs_axes_above(&config->axes, from->where, &rest);
    }
    if (axis != NULL) {
        locate_on_axis(config, &error, axis, rest, how, point);
    } else if (override != NULL && is_ours) {
        name_option(&error, override->origin, from->where);
    } else if (is_ours) {
        name_place(config, &error, from->where, how);
    }
    if (err != NULL && err->status == CS_OK) {
        *err = error;
    }
    return error.status;
}

cs_status cs_config_locate_error(const cs_config *config, const cs_error *from, bool key_is_wrong,
                                 size_t point, cs_error *err)
{
    return locate(config, from, key_is_wrong ? PLACE_OF_KEY : PLACE_OF_VALUE, point, err);
}

cs_status cs_config_locate_option(const cs_config *config, const cs_error *from, size_t point,
                                  cs_error *err)
{
    return locate(config, from, OPTION_ONLY, point, err);
}

cs_status cs_config_refuse_training(const cs_config *config, cs_error *err)
{
    static const char key[] = "training";
    const char       *found = cs_config_has(config, key) ? key : NULL;
    cs_error          wrong = {0};

    for (size_t i = 0; i < config->axes.n_axes && found == NULL; i++) {
        found = cs_path_below(key, config->axes.axes[i].path) != NULL ? config->axes.axes[i].path
                                                                      : NULL;
    }
    if (found == NULL) {
        return CS_OK;
    }
    (void)CS_FAIL(&wrong, CS_EINVAL, found,
                  "whole iterations are run by 'collsim montecarlo' alone; here every call stands "
                  "by itself");
    return cs_config_locate_error(config, &wrong, true, 0, err);
}

/* ---- numbers that are hardly meant ----
 *
 * They are bare numbers that stand for another unit than their key's. The tree is searched, not the
 * scenarios: every number is written once, however many scenarios it is in. */

enum { MOST_DEPTH = CS_PATH_STEPS, HINT_BYTES = 128 };

typedef struct search {
    const cs_config *config;
    const cs_axis   *axis; /* whose value is searched; NULL: the tree */
    size_t           point;
    cs_error        *notes;
    size_t           room, n;
} search;

/* "write #us for microseconds" with the number put in. */
static void write_hint(const char *instead, const char *number, char hint[HINT_BYTES])
{
    size_t length = 0;

    for (; *instead != '\0' && length + 1 < HINT_BYTES; instead++) {
        int n = *instead == '#' ? snprintf(hint + length, HINT_BYTES - length, "%s", number)
                                : snprintf(hint + length, HINT_BYTES - length, "%c", *instead);
        length += n > 0 ? (size_t)n : 0;
    }
}

static void add_note(search *s, const char *path, const cs_field *row, const json_t *node)
{
    const cs_field *quantity = cs_key_number(row);
    cs_error        note     = {0};
    char            number[40], hint[HINT_BYTES] = "";

    if (s->n++ >= s->room) {
        return;
    }
    if (json_is_string(node)) {
        (void)snprintf(number, sizeof number, "%.32s", json_string_value(node));
    } else {
        (void)snprintf(number, sizeof number, "%.15g", json_number_value(node));
    }
    write_hint(cs_field_plain(quantity)->instead, number, hint);
    (void)CS_FAIL(&note, CS_EINVAL, path, "%s is read as %s %s; %s", number, number,
                  cs_field_unit(quantity) == CS_UNIT_RATE ? "B/s" : "s", hint);
    s->notes[s->n - 1] = (cs_error){0};
    (void)cs_config_locate_error(s->config, &note, false, s->point, &s->notes[s->n - 1]);
}

/* `row` says what the node is; what no row knows holds no quantity. */
static void search_node(search *s, const char *path, const cs_field *row, json_t *node,
                        unsigned depth)
{
    char        below[CS_PATH_BYTES];
    const char *key, *rest;
    json_t     *child;
    size_t      i;

    if (depth > MOST_DEPTH || row == NULL ||
        (s->axis == NULL && depth > 0 && cs_axes_above(&s->config->axes, path, &rest) != NULL)) {
        return;
    }
    if (json_is_object(node)) {
        json_object_foreach(node, key, child)
        {
            cs_path_add_key(below, path, key);
            search_node(s, below, cs_key_below(row, key), child, depth + 1);
        }
    } else if (json_is_array(node)) {
        json_array_foreach(node, i, child)
        {
            cs_path_add_index(below, path, i);
            search_node(s, below, cs_key_below(row, NULL), child, depth + 1);
        }
    } else if (cs_key_is_odd(row, node)) {
        add_note(s, path, row, node);
    }
}

size_t cs_config_notes(const cs_config *config, cs_error *notes, size_t room)
{
    search s = {.config = config, .point = CS_NO_POINT, .notes = notes, .room = room};

    search_node(&s, "", cs_key_root(config->tree), config->tree, 0);
    for (size_t i = 0; i < config->axes.n_axes; i++) {
        s.axis = &config->axes.axes[i];
        for (size_t k = 0; k < json_array_size(s.axis->values); k++) {
            s.point = cs_axes_point(&config->axes, i, k);
            search_node(&s, s.axis->path, cs_key_at(s.axis->path),
                        json_array_get(s.axis->values, k), 0);
        }
    }
    return s.n;
}

/* Those of one scenario, unless the text has them. */
static void add_arrival_notes(const cs_config *config, size_t index, cs_text *text)
{
    cs_case c = {.json = NULL};

    if (cs_config_try_case(config, index, &c, NULL) != CS_OK) {
        return;
    }
    if (c.arrival_notes != NULL &&
        (text->data == NULL || strstr(text->data, c.arrival_notes) == NULL)) {
        cs_text_add(text, "%s", c.arrival_notes);
    }
    cs_case_free(&c);
}

void cs_config_arrival_notes(const cs_config *config, cs_text *text)
{
    const cs_axes *axes     = &config->axes;
    bool           is_swept = false;

    for (size_t i = 0; i < axes->n_axes; i++) {
        if (strncmp(axes->axes[i].path, "arrivals", 8) != 0) {
            continue;
        }
        is_swept = true;
        for (size_t k = 0; k < json_array_size(axes->axes[i].values); k++) {
            add_arrival_notes(config, cs_axes_point(axes, i, k), text);
        }
    }
    if (!is_swept && cs_config_has(config, "arrivals.trace")) {
        add_arrival_notes(config, 0, text);
    }
}

/* ---- the scenario that others are compared with ---- */

/* An algorithm's name out of "ring" or {"name": "ring"}; NULL: it says nothing of it. */
static const char *name_of(const json_t *algorithm)
{
    const char *name = json_string_value(algorithm);
    return name != NULL ? name : json_string_value(json_object_get(algorithm, "name"));
}

static bool is_of_algorithm(const cs_axis *axis)
{
    return cs_path_below("algorithm", axis->path) != NULL ||
           cs_path_below("montecarlo", axis->path) != NULL;
}

static bool names_algorithms(const cs_axis *axis)
{
    return strcmp(axis->path, "algorithm") == 0 || strcmp(axis->path, "algorithm.name") == 0;
}

/* The place of the name on its axis, `count` where it is not there. */
static size_t place_of(const cs_axis *axis, const char *name)
{
    size_t i = 0, count = json_array_size(axis->values);

    for (; i < count; i++) {
        const char *here = name_of(json_array_get(axis->values, i));
        if (here != NULL && strcmp(here, name) == 0) {
            break;
        }
    }
    return i;
}

cs_status cs_config_baseline(const cs_config *config, size_t index, const char *algorithm,
                             size_t *baseline_p, cs_error *err)
{
    bool                is_swept = false;
    size_t              point    = 0;
    const cs_algorithm *named    = NULL;

    if (algorithm != NULL && cs_algorithm_find(algorithm, &named, NULL) == CS_OK) {
        algorithm = named->name; /* the configuration has whole names, too */
    }

    bool is_found = algorithm == NULL;
    for (size_t i = 0; i < config->axes.n_axes; i++) {
        const cs_axis *axis  = &config->axes.axes[i];
        size_t         count = json_array_size(axis->values), digit = 0;
        if (!is_of_algorithm(axis)) {
            digit = cs_axes_digit(&config->axes, index, i);
        } else if (algorithm != NULL && names_algorithms(axis)) {
            digit    = place_of(axis, algorithm);
            is_found = is_found || digit < count;
            is_swept = true;
            digit    = digit < count ? digit : 0;
        }
        point = point * count + digit;
    }
    if (!is_found && !is_swept) { /* it may be the only one */
        cs_case   c      = {0};
        cs_status status = cs_config_case(config, index, &c, err);
        is_found         = status == CS_OK && strcmp(c.job.algorithm->name, algorithm) == 0;
        cs_case_free(&c);
        if (status != CS_OK) {
            return status;
        }
    }
    if (!is_found) {
        return CS_FAIL(err, CS_EINVAL, "--baseline",
                       "no scenario runs '%.40s': accepted are the algorithms of the configuration",
                       algorithm);
    }
    *baseline_p = point;
    return CS_OK;
}
