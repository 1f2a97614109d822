/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Labels of scenarios: the values of the axes in which they differ; and scenarios whose results
 * must be equal. */
#include "base/alloc.h"
#include "base/random.h"
#include "scenario/late_prediction.h"
#include "scenario/scenario_json.h"
#include "study/config_state.h"

#include <stdlib.h>
#include <string.h>

static bool is_policy(const char *path)
{
    return cs_path_below("montecarlo", path) != NULL;
}

/* Something of the algorithm or the model that is not its name: an option, which others lack. */
static bool is_option(const char *path)
{
    const char *of_algorithm = cs_path_below("algorithm", path);
    const char *of_model     = cs_path_below("model", path);
    const char *rest         = of_algorithm != NULL ? of_algorithm : of_model;

    return rest != NULL && rest[0] != '\0' && strcmp(rest, ".name") != 0;
}

static bool presumes(const cs_algorithm *algorithm)
{
    return cs_late_prediction_of(algorithm, CS_PREDICTION_ORACLE).straggler != NULL;
}

/* ---- for people ---- */

static bool is_shown(const char *path, const char *const *shown)
{
    for (size_t i = 0; shown[i] != NULL; i++) {
        if (strcmp(shown[i], path) == 0) {
            return true;
        }
    }
    return false;
}

/* Does an axis say something to what a scenario runs? */
static bool counts(const cs_axis *axis, const cs_algorithm *algorithm, const cs_model *model)
{
    const char *path         = axis->path;
    const char *of_algorithm = cs_path_below("algorithm.options", path);
    const char *of_model     = cs_path_below("model.options", path);

    if (json_array_size(axis->values) < 2) {
        return false;
    }
    if (algorithm != NULL && is_policy(path)) {
        return presumes(algorithm);
    }
    if (algorithm != NULL && of_algorithm != NULL && of_algorithm[0] == '.') {
        return cs_field_find(algorithm->options, of_algorithm + 1) != NULL;
    }
    return model == NULL || of_model == NULL || of_model[0] != '.' ||
           cs_field_find(model->options, of_model + 1) != NULL;
}

static void add_value(cs_text *text, const json_t *value)
{
    if (json_is_string(value)) {
        cs_text_add(text, "%s", json_string_value(value));
    } else if (json_is_real(value)) {
        cs_text_add_number(text, json_real_value(value));
    } else {
        char *dump   = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
        text->failed = text->failed || dump == NULL;
        cs_text_add(text, "%s", dump != NULL ? dump : "");
        cs_free(dump);
    }
}

cs_status cs_config_label(const cs_config *config, size_t index, const char *algorithm,
                          const char *model, const char *const *shown, cs_text *text, cs_error *err)
{
    const cs_algorithm *a    = NULL;
    const cs_model     *m    = NULL;
    size_t              from = text->length;

    if (algorithm != NULL) {
        CS_TRY(cs_algorithm_find(algorithm, &a, err));
    }
    if (model != NULL) {
        CS_TRY(cs_model_find(model, &m, err));
    }
    for (size_t i = 0; i < config->axes.n_axes; i++) {
        const cs_axis *axis = &config->axes.axes[i];
        if (!is_shown(axis->path, shown) && counts(axis, a, m)) {
            cs_text_add(text, "%s%s=", text->length > from ? " " : "", axis->path);
            add_value(text, json_array_get(axis->values, cs_axes_digit(&config->axes, index, i)));
        }
    }
    return cs_text_status(text, err);
}

/* ---- the same in all that counts ---- */

/* A scenario by what its times depend on. */
typedef struct identity {
    uint64_t hash;
    size_t   index;
} identity;

static int compare(const void *left, const void *right)
{
    const identity *a = left, *b = right;

    if (a->hash != b->hash) {
        return a->hash < b->hash ? -1 : 1;
    }
    return (a->index > b->index) - (a->index < b->index);
}

/* Some axis may say nothing to some algorithm. */
static bool may_repeat(const cs_axes *axes)
{
    bool may = false;

    for (size_t i = 0; i < axes->n_axes && !may; i++) {
        may = is_policy(axes->axes[i].path) || is_option(axes->axes[i].path);
    }
    return may;
}

/* The hash of a scenario, without "montecarlo" where the algorithm presumes nobody. */
static cs_status hash_of(const cs_case *c, json_t *tree, uint64_t *hash_p, cs_error *err)
{
    if (!presumes(c->job.algorithm)) {
        (void)json_object_del(tree, "montecarlo");
    }
    char *text = json_dumps(tree, JSON_COMPACT | JSON_SORT_KEYS);
    if (text == NULL) {
        return CS_NO_MEMORY(err, "a scenario");
    }
    *hash_p = cs_hash_text(text);
    cs_free(text);
    return CS_OK;
}

/* The identities of all scenarios that can be built; what cannot is found when it is run. */
static cs_status identify(const cs_config *config, identity *list, size_t *n_p, cs_error *err)
{
    cs_status status = CS_OK;

    for (size_t i = 0; i < cs_config_count(config) && status == CS_OK; i++) {
        cs_case  c     = {0};
        json_t  *tree  = NULL;
        cs_error wrong = {0};
        if (cs_config_case_tree(config, i, &c, &tree, &wrong) == CS_OK) {
            list[*n_p].index = i;
            status           = hash_of(&c, tree, &list[(*n_p)++].hash, err);
        } else if (wrong.status == CS_ENOMEM) {
            status = CS_FAIL(err, CS_ENOMEM, wrong.where, "%s", wrong.message);
        }
        json_decref(tree);
        cs_case_free(&c);
    }
    return status;
}

cs_status cs_config_repeats(const cs_config *config, bool *repeats, cs_error *err)
{
    size_t total = cs_config_count(config), n = 0;

    memset(repeats, 0, total * sizeof *repeats);
    if (!may_repeat(&config->axes)) {
        return CS_OK;
    }
    identity *list = CS_NEW(identity, total);
    if (list == NULL) {
        return CS_NO_MEMORY(err, "%zu scenarios", total);
    }
    cs_status status = identify(config, list, &n, err);
    qsort(list, n, sizeof *list, compare);
    for (size_t i = 1; i < n && status == CS_OK; i++) {
        repeats[list[i].index] = list[i].hash == list[i - 1].hash;
    }
    cs_free(list);
    return status;
}
