/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One scenario from JSON: the root object, the algorithm and the model. Their options are set
 * through their tables, so that this file knows none of them. */
#include "config/scenario_json.h"

#include "base/nearest.h"

#include <string.h>

enum { MAX_NAMES = 256 };

#define DEFAULT_BYTES ((uint64_t)32 << 20)
#define MAX_SEED      ((uint64_t)1 << 53)

const char *const cs_scenario_keys[] = {
    "name",        "description", "collective", "root",   "algorithm", "bytes",
    "model",       "cluster",     "arrivals",   "faults", "seed",      "verify",
    "calibration", "montecarlo",  "training",   "sweep",
};
const size_t cs_n_scenario_keys = sizeof cs_scenario_keys / sizeof cs_scenario_keys[0];

static const char *const plug_in_keys[] = {"name", "options"};

/* {"name": .., "options": {..}}, or the name alone. Returns the name. */
static const char *read_plug_in(cs_reading *r, const cs_field *field, const char *fallback)
{
    const char *name = fallback;

    if (json_is_string(field->node)) {
        name = json_string_value(field->node);
    } else if (cs_read_object(r, field, plug_in_keys, 2)) {
        cs_read_text(r, field, "name", &name);
    }
    return name;
}

/* Keep the message of a name that was not found, at the place of the name. */
static void move_error(cs_reading *r, const cs_field *field)
{
    cs_error found = r->error;
    cs_field name  = json_is_object(field->node) ? cs_field_get(field, "name") : *field;

    r->error = (cs_error){0};
    CS_REFUSE(r, &name, found.status, "%s", found.message);
}

bool cs_has_option(const cs_option *table, const char *key)
{
    return cs_option_find(table, key) != NULL;
}

/* Does any algorithm or model have an option of that name? */
static bool is_option_of_any(const char *key)
{
    bool is_known = false;

    for (size_t i = 0; cs_algorithms[i] != NULL && !is_known; i++) {
        is_known = cs_has_option(cs_algorithms[i]->options, key);
    }
    for (size_t i = 0; cs_models[i] != NULL && !is_known; i++) {
        is_known = cs_has_option(cs_models[i]->options, key);
    }
    return is_known;
}

/* Of a plug-in without options, which may be one of several: the word may be misspelt. */
static void refuse_option(cs_reading *r, const cs_field *field, const char *key)
{
    const char *names[MAX_NAMES];
    size_t      count = 0;

    for (size_t i = 0; cs_algorithms[i] != NULL; i++) {
        const cs_option *row = cs_algorithms[i]->options;
        for (; row != NULL && row->name != NULL && count < MAX_NAMES; row++) {
            names[count++] = row->name;
        }
    }
    const char *near = cs_nearest(key, names, count);
    if (near == NULL) {
        CS_REFUSE(r, field, CS_EINVAL, "unknown option '%.40s': known are none", key);
    } else {
        CS_REFUSE(r, field, CS_EINVAL,
                  "unknown option '%.40s' (did you mean '%s'?): 'collsim list' has the options of "
                  "all algorithms and models",
                  key, near);
    }
    r->blames_key = true;
}

/* One option; false if it is to be left out. */
static bool read_option(cs_reading *r, const cs_field *options, const char *key,
                        const cs_option *table, cs_options *out)
{
    char        path[CS_PATH_BYTES];
    cs_field    field   = cs_field_get(options, key);
    const char *text    = cs_read_scalar(r, &field);
    bool        is_ours = cs_has_option(table, key);

    if (text == NULL) {
        return true;
    }
    cs_field_path(&field, path);
    if (!is_ours && r->may_skip != NULL && r->may_skip(r->context, path) && is_option_of_any(key)) {
        return false;
    }
    if (!is_ours && !is_option_of_any(key) && (table == NULL || table->name == NULL)) {
        refuse_option(r, &field, key);
    } else if (cs_options_set(table, out, key, text, path, &r->error) != CS_OK) {
        r->blames_key = !is_ours;
    }
    return true;
}

static void read_options(cs_reading *r, const cs_field *plug_in, const cs_option *table,
                         cs_options *out)
{
    cs_options_default(table, out);
    if (cs_reading_failed(r) || !json_is_object(plug_in->node)) {
        return;
    }
    cs_field    options = cs_field_get(plug_in, "options");
    const char *key;
    json_t     *value;
    void       *next;

    if (options.node != NULL && !json_is_object(options.node)) {
        CS_REFUSE(r, &options, CS_EINVAL, "is %s: accepted is an object of options",
                  cs_tree_kind(options.node));
    }
    json_object_foreach_safe(options.node, next, key, value)
    {
        if (!cs_reading_failed(r) && !read_option(r, &options, key, table, out)) {
            (void)json_object_del(options.node, key);
        }
    }
}

void cs_read_model(cs_reading *r, const cs_field *field, const cs_model **model_p,
                   cs_options *options)
{
    const char *name = read_plug_in(r, field, cs_models[0]->name);

    if (cs_reading_failed(r)) {
        return;
    }
    if (cs_model_find(name, model_p, &r->error) != CS_OK) {
        move_error(r, field);
        return;
    }
    read_options(r, field, (*model_p)->options, options);
}

void cs_read_algorithm(cs_reading *r, const cs_field *field, const char *fallback,
                       const cs_algorithm **algorithm_p, cs_options *options)
{
    const char *name = read_plug_in(r, field, fallback);

    if (cs_reading_failed(r)) {
        return;
    }
    if (cs_algorithm_find(name, algorithm_p, &r->error) != CS_OK) {
        move_error(r, field);
        return;
    }
    read_options(r, field, (*algorithm_p)->options, options);
}

const char *cs_default_algorithm(const cs_cluster *cluster)
{
    return cluster->gpus_per_server > 1 ? "nccl_rings" : "ring";
}

static void read_collective(cs_reading *r, const cs_field *root, cs_collective *collective_p)
{
    cs_field    field = cs_field_get(root, "collective");
    const char *name  = cs_collective_name(CS_ALLREDUCE);

    cs_read_text(r, root, "collective", &name);
    if (!cs_reading_failed(r) && cs_collective_find(name, collective_p, &r->error) != CS_OK) {
        move_error(r, &field);
    }
}

void cs_read_scenario(cs_reading *r, json_t *tree, cs_case *c)
{
    cs_field     root  = cs_field_root(tree);
    cs_field     model = cs_field_get(&root, "model"), algorithm = cs_field_get(&root, "algorithm");
    cs_scenario *s    = &c->scenario;
    const char  *text = NULL;

    s->bytes  = DEFAULT_BYTES;
    s->seed   = 1;
    c->verify = true;
    if (!cs_read_object(r, &root, cs_scenario_keys, cs_n_scenario_keys)) {
        return;
    }
    cs_read_text(r, &root, "name", &text);
    cs_read_text(r, &root, "description", &text);
    cs_read_text(r, &root, "calibration", &text);
    read_collective(r, &root, &s->collective);
    cs_read_bytes(r, &root, "bytes", &s->bytes);
    cs_read_whole(r, &root, "seed", 0, MAX_SEED, &s->seed);
    cs_read_bool(r, &root, "verify", &c->verify);
    cs_read_model(r, &model, &c->model, &c->model_options);
    cs_read_cluster(r, &root, c->model, &s->cluster);
    cs_read_u32(r, &root, "root", 0, CS_MAX_RANKS - 1, &s->root);
    cs_read_algorithm(r, &algorithm, cs_default_algorithm(&s->cluster), &c->algorithm, &c->options);
    cs_read_arrivals(r, &root, c);
    cs_read_montecarlo(r, &root, c);
    cs_read_faults(r, &root, s);
    cs_read_training(r, &root, c);
}
