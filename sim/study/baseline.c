/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which case of a sweep others are compared with: the one that differs from them in nothing but
 * the algorithm, its options, and what it knows of the arrivals. */
#include "study/config_state.h"

#include <string.h>

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
