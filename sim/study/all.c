/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The word becomes an axis of "algorithm.name" whose last values are those that it stands for. They
 * are found again whenever the configuration changes, since the collective may be set later. */
#include "study/all.h"

#include "study/config_state.h"

#include <stdio.h>
#include <string.h>

static const char PATH[] = "algorithm.name", HEAD[] = "algorithm";

static bool is_word(const json_t *node)
{
    const char *text = json_string_value(node);
    return text != NULL && strcmp(text, CS_ALL_ALGORITHMS) == 0;
}

static bool names_algorithms(const cs_axis *axis)
{
    return strcmp(axis->path, PATH) == 0 || strcmp(axis->path, HEAD) == 0;
}

static uint32_t bit_of(const json_t *name)
{
    cs_collective collective = CS_ALLREDUCE;
    const char   *text       = json_string_value(name);

    return text != NULL && cs_collective_find(text, &collective, NULL) == CS_OK ? 1u << collective
                                                                                : 0;
}

/* Of the calls of training with that parallelism; of several the one that fewer algorithms do. */
static uint32_t bit_of_training(const json_t *parallelism)
{
    const char *text = json_string_value(parallelism);

    return text == NULL                   ? 0
           : strcmp(text, "fsdp") == 0    ? 1u << CS_REDUCESCATTER
           : strcmp(text, "experts") == 0 ? 1u << CS_ALLTOALL
                                          : 0;
}

/* Bits of the collectives of all scenarios; what is no collective is refused with its scenario. */
static uint32_t collectives_of(const cs_config *config)
{
    const json_t *training = json_object_get(config->tree, "training");
    uint32_t      calls    = bit_of_training(json_object_get(training, "parallelism"));
    const char   *rest;

    if (calls != 0) {
        return calls;
    }
    const cs_axis *axis = cs_axes_above(&config->axes, "collective", &rest);
    const json_t  *one  = json_object_get(config->tree, "collective");
    uint32_t       bits = axis == NULL && one != NULL ? bit_of(one) : 0;

    for (size_t i = 0; axis != NULL && i < json_array_size(axis->values); i++) {
        bits |= bit_of(json_array_get(axis->values, i));
    }
    return axis == NULL && one == NULL ? 1u << CS_ALLREDUCE : bits;
}

/* Take the word out of the tree; what else stands there, as options, stays. */
static bool take_from_tree(json_t *tree)
{
    json_t *algorithm = json_object_get(tree, HEAD);

    if (is_word(algorithm)) {
        return json_object_del(tree, HEAD) == 0;
    }
    return is_word(json_object_get(algorithm, "name")) && json_object_del(algorithm, "name") == 0;
}

static cs_status add_word(cs_config *config, const char *origin, cs_error *err)
{
    json_t   *values = json_pack("[s]", CS_ALL_ALGORITHMS);
    cs_status status = values != NULL
                           ? cs_axes_set(&config->axes, PATH, origin, values, CS_CONFIG_MAX_CASES,
                                         origin != NULL ? origin : PATH, err)
                           : CS_NO_MEMORY(err, "a sweep");

    json_decref(values);
    return status;
}

static bool has_value(const json_t *values, const char *name)
{
    size_t        i;
    const json_t *value;

    json_array_foreach(values, i, value)
    {
        const char *text = json_string_value(value);
        if (text != NULL && strcmp(text, name) == 0) {
            return true;
        }
    }
    return false;
}

/* The values that are named one by one, and behind them the others that do a collective. */
static json_t *spread(const cs_axis *axis, uint32_t collectives, size_t *n_named_p)
{
    json_t *values = json_array();
    bool    is_ok  = values != NULL;

    for (size_t i = 0; i < axis->n_named && is_ok; i++) {
        json_t *value = json_array_get(axis->values, i);
        is_ok         = is_word(value) || json_array_append(values, value) == 0;
    }
    *n_named_p = json_array_size(values);
    for (size_t i = 0; cs_algorithms[i] != NULL && is_ok; i++) {
        const cs_algorithm *a = cs_algorithms[i];
        if ((a->collectives & collectives) != 0 && !has_value(values, a->name)) {
            is_ok = json_array_append_new(values, json_string(a->name)) == 0;
        }
    }
    if (!is_ok) {
        json_decref(values);
    }
    return is_ok ? values : NULL;
}

/* Does the word stand on the axis, or has it? */
static bool has_word(const cs_axis *axis)
{
    bool is_there = axis->n_named < json_array_size(axis->values);

    for (size_t i = 0; i < axis->n_named && !is_there; i++) {
        is_there = is_word(json_array_get(axis->values, i));
    }
    return is_there;
}

cs_status cs_config_spread_all(cs_config *config, const char *origin, cs_error *err)
{
    if (take_from_tree(config->tree)) {
        CS_TRY(add_word(config, origin, err));
    }
    for (size_t i = 0; i < config->axes.n_axes; i++) {
        const cs_axis *axis = &config->axes.axes[i];
        if (!names_algorithms(axis) || !has_word(axis)) {
            continue;
        }
        size_t  n_named = 0;
        json_t *values  = spread(axis, collectives_of(config), &n_named);
        if (values == NULL) {
            return CS_NO_MEMORY(err, "a sweep");
        }
        CS_TRY(cs_axes_replace(&config->axes, i, values, n_named, CS_CONFIG_MAX_CASES, err));
    }
    return CS_OK;
}

/* The axis whose value at `index` only the word stands for, and which one behind it; or NULL. */
static const cs_axis *axis_of_all(const cs_config *config, size_t index, size_t *place_p)
{
    for (size_t i = 0; i < config->axes.n_axes; i++) {
        const cs_axis *axis  = &config->axes.axes[i];
        size_t         digit = cs_axes_digit(&config->axes, index, i);
        if (digit >= axis->n_named) {
            *place_p = digit - axis->n_named;
            return axis;
        }
    }
    return NULL;
}

bool cs_config_has_all(const cs_config *config)
{
    bool has = false;

    for (size_t i = 0; i < config->axes.n_axes; i++) {
        const cs_axis *axis = &config->axes.axes[i];
        has                 = has || axis->n_named < json_array_size(axis->values);
    }
    return has;
}

bool cs_config_is_of_all(const cs_config *config, size_t index)
{
    size_t place;
    return axis_of_all(config, index, &place) != NULL;
}

/* Does the algorithm do the collective of scenario `index`, where collectives are swept? */
static bool does(const char *name, const cs_config *config, size_t index)
{
    const char         *rest;
    const cs_algorithm *algorithm = NULL;
    const cs_axis      *axis      = cs_axes_above(&config->axes, "collective", &rest);

    if (axis == NULL || cs_algorithm_find(name, &algorithm, NULL) != CS_OK) {
        return true;
    }
    size_t digit = cs_axes_digit(&config->axes, index, (size_t)(axis - config->axes.axes));
    return (algorithm->collectives & bit_of(json_array_get(axis->values, digit))) != 0;
}

/* " (why)", without the algorithm's name in it. */
static void write_reason(const char *name, const cs_error *why, char *reason, size_t bytes)
{
    cs_error error  = *why;
    size_t   length = strlen(name);
    char     text[sizeof error.where + sizeof error.message + 2];

    if (strncmp(error.message, name, length) == 0 && error.message[length] == ' ') {
        memmove(error.message, error.message + length + 1, strlen(error.message) - length);
    }
    cs_error_reason(&error, text, sizeof text);
    (void)snprintf(reason, bytes, " (%s)", text);
}

static void add_name(cs_left_out *out, const char *name, const char *reason)
{
    size_t length = out->text.length - out->reason_bytes;

    if (out->reason_bytes > 0 && strcmp(out->text.data + length, reason) == 0) {
        out->text.length = length;
        cs_text_add(&out->text, ", %s%s", name, reason);
    } else {
        cs_text_add(&out->text, "%s%s%s", out->text.length > 0 ? "; " : "", name, reason);
    }
    out->reason_bytes = out->text.failed ? 0 : strlen(reason);
}

bool cs_config_leave_out(const cs_config *config, size_t index, const cs_error *why,
                         cs_left_out *out)
{
    char           reason[sizeof why->where + sizeof why->message + 8];
    size_t         place = 0;
    const cs_axis *axis  = axis_of_all(config, index, &place);

    if (axis == NULL || !cs_status_is_refusal(why->status)) {
        return false;
    }
    if (out->n++ == 0) {
        out->first = *why;
    }
    size_t      word = place / 64 % (sizeof out->is_named / sizeof out->is_named[0]);
    const char *name = json_string_value(json_array_get(axis->values, axis->n_named + place));
    if ((out->is_named[word] >> place % 64 & 1u) == 0 && does(name, config, index)) {
        out->is_named[word] |= (uint64_t)1 << place % 64;
        write_reason(name, why, reason, sizeof reason);
        add_name(out, name, reason);
    }
    return true;
}

cs_status cs_left_out_refusal(const cs_left_out *out, cs_error *err)
{
    return CS_FAIL(err, out->first.status, out->first.where, "%.200s (no algorithm is left of %zu)",
                   out->first.message, out->n);
}

void cs_left_out_free(cs_left_out *out)
{
    cs_text_free(&out->text);
    *out = (cs_left_out){0};
}
