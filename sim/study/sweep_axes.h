/* SPDX-License-Identifier: GPL-3.0-or-later */
/* study/sweep_axes.h -- the axes of a sweep and their cartesian product. */
#ifndef CS_STUDY_SWEEP_AXES_H
#define CS_STUDY_SWEEP_AXES_H

#include "input/tree.h"

typedef struct cs_axis {
    char   *path;
    char   *origin; /* NULL: the file's "sweep" */
    json_t *values; /* array, not empty */
} cs_axis;

/* `{0}` is valid: no axes, one point. */
typedef struct cs_axes {
    cs_axis *axes; /* the first is the outermost loop */
    size_t   n_axes;
    size_t   product; /* number of points; 0 in the empty struct means 1 */
} cs_axes;

void cs_axes_free(cs_axes *axes);

/* Add an axis, or replace the one of an equal path. `values` is borrowed and copied, with whole
 * names of what they name. `where` is the place in errors. Products above `max_points` are refused.
 */
cs_status cs_axes_set(cs_axes *axes, const char *path, const char *origin, json_t *values,
                      size_t max_points, const char *where, cs_error *err);

/* Drop the axis of an equal path, if there is one. */
void cs_axes_drop(cs_axes *axes, const char *path);

size_t cs_axes_count(const cs_axes *axes);

/* The place of point `index` on axis `axis`. */
size_t cs_axes_digit(const cs_axes *axes, size_t index, size_t axis);

/* The point that has the first value on all axes but this one. */
size_t cs_axes_point(const cs_axes *axes, size_t axis, size_t digit);

/* Put the values of point `index` into a tree that nobody shares. */
cs_status cs_axes_apply(const cs_axes *axes, size_t index, json_t *tree, cs_error *err);

/* The axis at or above a path, or NULL; `rest_p` is what follows. */
const cs_axis *cs_axes_above(const cs_axes *axes, const char *path, const char **rest_p);

#endif
