/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The axes of a sweep. A point's digits, one per axis, are those of a number in a mixed radix whose
 * last digit moves fastest. */
#include "base/alloc.h"
#include "study/config_state.h"
#include "study/keys.h"

#include <string.h>

/* "algorithm" and "algorithm.name" name the same thing when a text is put there. */
static size_t head_length(const char *path)
{
    if (strcmp(path, "algorithm.name") == 0 || strcmp(path, "model.name") == 0) {
        return strlen(path) - strlen(".name");
    }
    return strlen(path);
}

static bool is_same_path(const char *a, const char *b)
{
    size_t length = head_length(a);
    return length == head_length(b) && memcmp(a, b, length) == 0;
}

static void free_axis(cs_axis *axis)
{
    cs_free(axis->path);
    cs_free(axis->origin);
    json_decref(axis->values);
}

void cs_axes_free(cs_axes *axes)
{
    for (size_t i = 0; i < axes->n_axes; i++) {
        free_axis(&axes->axes[i]);
    }
    cs_free(axes->axes);
    *axes = (cs_axes){0};
}

static size_t index_of(const cs_axes *axes, const char *path)
{
    size_t i = 0;

    while (i < axes->n_axes && !is_same_path(axes->axes[i].path, path)) {
        i++;
    }
    return i;
}

/* The product with axis `changed` of `values` points; 0 where it exceeds the limit. */
static size_t product_with(const cs_axes *axes, size_t changed, size_t values, size_t max_points)
{
    size_t product = values;

    for (size_t i = 0; i < axes->n_axes && product <= max_points; i++) {
        product *= i != changed ? json_array_size(axes->axes[i].values) : 1;
    }
    return product <= max_points ? product : 0;
}

static cs_status check_values(const cs_axes *axes, size_t changed, json_t *values,
                              size_t max_points, const char *where, cs_error *err)
{
    if (!json_is_array(values) || json_array_size(values) == 0) {
        return CS_FAIL(err, CS_EINVAL, where,
                       "is %s: accepted is an array with at least one value of the key",
                       json_is_array(values) ? "empty" : cs_tree_kind(values));
    }
    if (product_with(axes, changed, json_array_size(values), max_points) == 0) {
        return CS_FAIL(err, CS_EINVAL, where,
                       "the sweep has more scenarios than the %zu that are accepted", max_points);
    }
    return CS_OK;
}

cs_status cs_axes_set(cs_axes *axes, const char *path, const char *origin, json_t *values,
                      size_t max_points, const char *where, cs_error *err)
{
    size_t    at = index_of(axes, path);
    cs_path   steps;
    cs_error  wrong  = {0};
    cs_status status = cs_path_parse(path, &steps, &wrong);

    if (status != CS_OK) {
        return CS_FAIL(err, status, where, "%s", wrong.message);
    }
    CS_TRY(check_values(axes, at, values, max_points, where, err));
    if (steps.appends) {
        return CS_FAIL(err, CS_EINVAL, where, "a sweep cannot add to an array");
    }
    const cs_field list  = {.type = CS_FIELD_LIST, .fields = cs_key_at(path)};
    cs_axis        fresh = {cs_strdup(path), origin != NULL ? cs_strdup(origin) : NULL,
                            cs_key_spell_out(&list, json_deep_copy(values)), json_array_size(values)};
    cs_axis       *grown =
        at < axes->n_axes ? axes->axes : cs_realloc(axes->axes, at + 1, sizeof *axes->axes);
    axes->axes = grown != NULL ? grown : axes->axes;
    if (grown == NULL || fresh.path == NULL || fresh.values == NULL ||
        (origin != NULL && fresh.origin == NULL)) {
        free_axis(&fresh);
        return CS_FAIL(err, CS_ENOMEM, where, "out of memory for a sweep");
    }
    axes->product = product_with(axes, at, json_array_size(values), max_points);
    if (at < axes->n_axes) {
        free_axis(&axes->axes[at]);
    } else {
        axes->n_axes++;
    }
    axes->axes[at] = fresh;
    return CS_OK;
}

cs_status cs_axes_replace(cs_axes *axes, size_t at, json_t *values, size_t n_named,
                          size_t max_points, cs_error *err)
{
    cs_axis  *axis   = &axes->axes[at];
    cs_status status = check_values(axes, at, values, max_points, axis->path, err);

    if (status != CS_OK) {
        json_decref(values);
        return status;
    }
    axes->product = product_with(axes, at, json_array_size(values), max_points);
    json_decref(axis->values);
    axis->values  = values;
    axis->n_named = n_named;
    return CS_OK;
}

void cs_axes_drop(cs_axes *axes, const char *path)
{
    size_t at = index_of(axes, path);

    if (at == axes->n_axes) {
        return;
    }
    axes->product /= json_array_size(axes->axes[at].values);
    free_axis(&axes->axes[at]);
    axes->n_axes--;
    memmove(axes->axes + at, axes->axes + at + 1, (axes->n_axes - at) * sizeof *axes->axes);
}

size_t cs_axes_count(const cs_axes *axes)
{
    return axes->n_axes > 0 ? axes->product : 1;
}

size_t cs_axes_digit(const cs_axes *axes, size_t index, size_t axis)
{
    for (size_t i = axes->n_axes; i-- > axis + 1;) {
        index /= json_array_size(axes->axes[i].values);
    }
    return index % json_array_size(axes->axes[axis].values);
}

size_t cs_axes_point(const cs_axes *axes, size_t axis, size_t digit)
{
    for (size_t i = axis + 1; i < axes->n_axes; i++) {
        digit *= json_array_size(axes->axes[i].values);
    }
    return digit;
}

/* Give one axis its value in a tree. */
static cs_status apply_axis(const cs_axis *axis, size_t digit, json_t *tree, cs_error *err)
{
    cs_path steps;

    CS_TRY(cs_path_parse(axis->path, &steps, err));
    json_t *copy = json_deep_copy(json_array_get(axis->values, digit));
    if (copy == NULL) {
        return CS_FAIL(err, CS_ENOMEM, axis->path, "out of memory for a scenario");
    }
    return cs_tree_set(tree, &steps, copy, axis->path, err);
}

cs_status cs_axes_apply(const cs_axes *axes, size_t index, json_t *tree, cs_error *err)
{
    for (size_t i = 0; i < axes->n_axes; i++) {
        CS_TRY(apply_axis(&axes->axes[i], cs_axes_digit(axes, index, i), tree, err));
    }
    return CS_OK;
}

const cs_axis *cs_axes_above(const cs_axes *axes, const char *path, const char **rest_p)
{
    for (size_t i = 0; i < axes->n_axes; i++) {
        const char *rest = cs_path_below(axes->axes[i].path, path);
        if (rest != NULL) {
            *rest_p = rest;
            return &axes->axes[i];
        }
    }
    return NULL;
}
