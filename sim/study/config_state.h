/* SPDX-License-Identifier: GPL-3.0-or-later */
/* study/config_state.h -- what a configuration holds, for those who build scenarios from it or set
 * its values: a tree, the axes of a sweep with their cartesian product, and who set what. */
#ifndef CS_STUDY_CONFIG_STATE_H
#define CS_STUDY_CONFIG_STATE_H

#include "input/file_cache.h"
#include "input/reader.h"
#include "study/config.h"
#include "traces/calibration.h"

/* ---- axes ---- */

typedef struct cs_axis {
    char   *path;
    char   *origin;  /* NULL: the file's "sweep" */
    json_t *values;  /* array, not empty */
    size_t  n_named; /* of these; behind them stand those that "all" means (study/all.h) */
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

/* Give axis `at` other values, of which `n_named` are named one by one. They are taken over. */
cs_status cs_axes_replace(cs_axes *axes, size_t at, json_t *values, size_t n_named,
                          size_t max_points, cs_error *err);

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

/* ---- the configuration ---- */

/* A path that was set after loading, and by what. */
typedef struct cs_override {
    char *path;
    char *origin;
} cs_override;

struct cs_config {
    char           *input; /* the file's name, or NULL */
    char           *text;  /* what it holds */
    size_t          length;
    json_t         *tree; /* without its sweep; with every override */
    cs_axes         axes;
    cs_override    *overrides; /* in the order in which they were set */
    size_t          n_overrides;
    cs_calibration *calibration; /* of the key "calibration", or NULL */
    cs_file_cache  *files;

    /* The configuration of which it is one point, which lends it input, text, files and
     * calibration; NULL: they are its own. */
    const cs_config *lender;

    /* The configuration whose files are the only ones that may be read: `files` are its own, and so
     * is `calibration`. NULL: any may. */
    const cs_config *host;
};

/* Find the origin of the value at the path `from->where`. Copy the error to `err` with the
 * option's name, or with the place in the file; `point` is the point of the sweep, or
 * CS_NO_POINT where no axis has been applied. */
#define CS_NO_POINT SIZE_MAX
cs_status cs_config_locate_error(const cs_config *config, const cs_error *from, bool key_is_wrong,
                                 size_t point, cs_error *err);

/* The same, but where it stands in the file is left open. */
cs_status cs_config_locate_option(const cs_config *config, const cs_error *from, size_t point,
                                  cs_error *err);

/* The tree of one point, the caller's (json_decref); NULL: an error. */
json_t *cs_config_point_tree(const cs_config *config, size_t index, cs_error *err);

/* cs_config_try_case() and the tree that it was read from, as it is in case_p->json; both are the
 * caller's (json_decref). */
cs_status cs_config_case_tree(const cs_config *config, size_t index, cs_case *case_p,
                              json_t **tree_p, cs_error *err);

/* cs_config_set() for a value that is a node of a tree, which is taken over in any case; and an
 * axis, whose values are borrowed. An axis of the file has no origin; what is wrong with it is at
 * `where`. */
cs_status cs_config_set_node(cs_config *config, const char *path, json_t *value, const char *origin,
                             cs_error *err);
cs_status cs_config_add_axis(cs_config *config, const char *path, json_t *values,
                             const char *origin, const char *where, cs_error *err);

/* The path (CS_PATH_BYTES) of the element that an append to "LIST[]" would make: "LIST[2]". */
void cs_config_appended_path(const cs_config *config, const char *path, char *element);

/* The last option that set the path or something around it, or NULL. */
const cs_override *cs_config_override_above(const cs_config *config, const char *path);

/* For readings of a configuration: the file beside which the file name at a path is meant.
 * `context` is the configuration. */
const char *cs_config_file_of(const void *context, const char *path);

/* The name of an option in errors: "--bandwidth", or "--set cluster.nic.bandwidth". */
void cs_config_origin_text(const char *origin, const char *path, char *text, size_t text_bytes);

#endif
