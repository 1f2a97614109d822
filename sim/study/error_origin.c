/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the path of a wrong value to whoever wrote it: an axis of the sweep (which stands above
 * everything else), the last option that set it or something around it, or the file. */
#include "input/locate.h"
#include "study/config_state.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

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
    if (!is_axis_key) {
        cs_path_add_index(path, path, cs_axes_digit(&config->axes, point, number));
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
