/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One case out of a configuration: copy the tree, put the point of the sweep in, read it, check
 * it, and print it as it is now. */
#include "algorithms/adapcc/adapcc.h"
#include "base/alloc.h"
#include "scenario/scenario_json.h"
#include "schedules/strategy_xml.h"
#include "study/config_state.h"
#include "study/levels.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

json_t *cs_config_point_tree(const cs_config *config, size_t index, cs_error *err)
{
    json_t *tree = json_deep_copy(config->tree);

    if (tree == NULL) {
        (void)CS_NO_MEMORY(err, "a scenario");
        return NULL;
    }
    if (cs_axes_apply(&config->axes, index, tree, err) != CS_OK) {
        json_decref(tree);
        return NULL;
    }
    return tree;
}

/* The ports for a size: of the NIC alone, or of both levels. */
static cs_status ports_for(const cs_calibration *calibration, const cs_scenario *scenario,
                           uint64_t bytes, cs_fabric fabrics[CS_FABRICS], cs_error *err)
{
    if (calibration->levels == NULL) {
        return cs_calibration_apply(calibration, scenario->collective, scenario->cluster.n_ranks,
                                    bytes, &fabrics[CS_NIC].alpha_s, &fabrics[CS_NIC].bandwidth_Bps,
                                    err);
    }
    cs_scenario sized = *scenario;
    sized.bytes       = bytes;
    return cs_levels_ports(calibration, &sized, CS_LEVELS_MIDDLE, fabrics, err);
}

/* A calibration has ports for every regime of sizes: all buckets must be of the same. */
static cs_status apply_calibration(const cs_calibration *calibration, const cs_case *c,
                                   cs_fabric fabrics[CS_FABRICS], cs_error *err)
{
    const cs_scenario *s = &c->job.scenario;
    const cs_training *t = &c->training;

    CS_TRY(ports_for(calibration, s, s->bytes, fabrics, err));
    for (uint32_t i = 0; i < t->n_sizes; i++) {
        cs_fabric other[CS_FABRICS];
        memcpy(other, fabrics, sizeof other);
        cs_scenario call = *s;
        call.collective  = t->size_collective != NULL ? t->size_collective[i] : s->collective;
        CS_TRY(ports_for(calibration, &call, t->size_bytes[i], other, err));
        for (uint32_t f = 0; f < CS_FABRICS; f++) {
            if (other[f].alpha_s != fabrics[f].alpha_s ||
                other[f].bandwidth_Bps != fabrics[f].bandwidth_Bps) {
                return CS_FAIL(err, CS_ENOTSUP, "",
                               "buckets of %" PRIu64 " and of %" PRIu64
                               " bytes have an alpha and a "
                               "bandwidth of their own: accepted are buckets of one regime",
                               t->size_bytes[i], s->bytes);
            }
        }
    }
    return CS_OK;
}

/* What the calibration cannot describe. */
static const char *refuse_cluster(const cs_calibration *calibration, const cs_cluster *cluster)
{
    if (calibration->levels == NULL && cluster->gpus_per_server > 1) {
        return "describes one port per GPU and no NVLink beside it: accepted is gpus_per_server 1, "
               "or a calibration of two levels (calibrate --nvlink LOG --nic LOG)";
    }
    if (cluster->servers != NULL) {
        return "describes NICs that are all alike: accepted without cluster.servers of other rates";
    }
    if (calibration->levels != NULL && cluster->gpus_per_server > 1 &&
        (cluster->fabrics[CS_NVLINK].kind != CS_SWITCHED || cluster->sockets > 1 ||
         !cs_is_even(cluster))) {
        return "describes servers that are alike, with an NVLink port for each GPU: accepted "
               "without nvlink.kind direct, sockets and servers with other numbers of GPUs";
    }
    return NULL;
}

/* Put a port into the tree as it is in the scenario. */
static void keep_port(cs_reading *r, json_t *tree, const char *name, const cs_fabric *port)
{
    char    keys[2][32];
    double  values[2] = {port->alpha_s, port->bandwidth_Bps};
    cs_path path;

    (void)snprintf(keys[0], sizeof keys[0], "cluster.%s.alpha", name);
    (void)snprintf(keys[1], sizeof keys[1], "cluster.%s.bandwidth", name);
    for (int k = 0; k < 2 && !cs_reading_failed(r); k++) {
        if (cs_path_parse(keys[k], &path, &r->error) == CS_OK) {
            (void)cs_tree_set(tree, &path, json_real(values[k]), "calibration", &r->error);
        }
    }
}

/* The ports of the measured machine, in the scenario and in the tree. */
static void calibrate(const cs_config *config, cs_reading *r, json_t *tree, cs_case *c)
{
    cs_place    root = cs_place_root(tree), field = cs_place_get(&root, "calibration");
    cs_cluster *cluster = &c->job.scenario.cluster;
    cs_error    wrong   = {0};

    if (cs_reading_failed(r) || config->calibration == NULL) {
        return;
    }
    const char *refusal = refuse_cluster(config->calibration, cluster);
    if (refusal != NULL) {
        CS_REFUSE(r, &field, CS_ENOTSUP, "%s", refusal);
        return;
    }
    if (apply_calibration(config->calibration, c, cluster->fabrics, &wrong) != CS_OK) {
        CS_REFUSE(r, &field, wrong.status, "%s", wrong.message);
        return;
    }
    cluster->assumed = NULL; /* the ports are measured, and nothing else is in use */
    if (config->calibration->levels == NULL || cs_uses_nics(cluster)) {
        keep_port(r, tree, "nic", &cluster->fabrics[CS_NIC]);
    }
    if (config->calibration->levels != NULL && cluster->gpus_per_server > 1) {
        keep_port(r, tree, "nvlink", &cluster->fabrics[CS_NVLINK]);
    }
}

/* The trees of a file that adapcc is to run. */
static void read_strategy(cs_reading *r, json_t *tree, cs_case *c)
{
    cs_place           root = cs_place_root(tree), algorithm = cs_place_get(&root, "algorithm");
    cs_place           options = cs_place_get(&algorithm, "options");
    cs_place           place   = cs_place_get(&options, "strategy");
    cs_adapcc_options *o       = (cs_adapcc_options *)(void *)&c->job.options;

    if (cs_reading_failed(r) || c->job.algorithm != &cs_algorithm_adapcc ||
        o->strategy[0] == '\0') {
        return;
    }
    const char           *path = cs_read_file_name(r, &place);
    const cs_cached_file *file =
        path != NULL ? cs_read_file(r, &cs_strategy_file_kind, path, &r->error) : NULL;
    if (file != NULL) {
        cs_keep_fingerprint(r, &options, file->fingerprint, "other trees: theirs");
        memcpy(o->fingerprint, file->fingerprint, sizeof o->fingerprint);
        o->file = file->content;
    }
}

/* The tree as compact text in the arena. */
static void print_tree(cs_reading *r, json_t *tree, cs_case *c)
{
    if (cs_reading_failed(r)) {
        return;
    }
    (void)json_object_del(tree, "description");
    char *text = json_dumps(tree, JSON_COMPACT | JSON_SORT_KEYS);
    c->json    = text != NULL ? cs_arena_strdup(r->arena, text) : NULL;
    cs_free(text);
    if (c->json == NULL) {
        (void)CS_NO_MEMORY(&r->error, "a scenario");
    }
}

/* The options of an algorithm or a model; NULL: there is none of that name, or it has none. */
static const cs_field *options_of(const char *name, bool is_model)
{
    const cs_algorithm *algorithm = NULL;
    const cs_model     *model     = NULL;

    if (is_model) {
        return cs_model_find(name, &model, NULL) == CS_OK ? model->options : NULL;
    }
    return cs_algorithm_find(name, &algorithm, NULL) == CS_OK ? algorithm->options : NULL;
}

/* Has any of the algorithms or models that an axis names the option at `path`? */
static bool some_has_option(const json_t *names, const char *path)
{
    bool          is_model = strncmp(path, "model", 5) == 0;
    const char   *key      = strrchr(path, '.') + 1;
    size_t        i;
    const json_t *value;

    json_array_foreach(names, i, value)
    {
        const char *name = json_string_value(value);
        if (name != NULL && cs_field_find(options_of(name, is_model), key) != NULL) {
            return true;
        }
    }
    return false;
}

/* The options of a file belong to the plug-in that it names. Where a sweep or an option of the
 * command line names another one, what only the first one has is left out: {"algorithm": {"name":
 * "a", "options": {"only_of_a": 1}}, "sweep": {"algorithm.name": ["a", "b"]}} is fine. An option of
 * the command line must belong to one of those that run. */
static bool may_skip(const void *context, const char *path)
{
    const cs_config   *config = context;
    const char        *rest;
    const char        *name = strncmp(path, "model", 5) == 0 ? "model.name" : "algorithm.name";
    const cs_axis     *axis = cs_axes_above(&config->axes, name, &rest);
    const cs_override *set  = cs_config_override_above(config, name);

    if (axis != NULL) {
        bool is_set = cs_config_override_above(config, path) != NULL;
        return cs_path_below(axis->path, path) == NULL &&
               (!is_set || some_has_option(axis->values, path));
    }
    return set != NULL && cs_config_override_above(config, path) == NULL &&
           cs_axes_above(&config->axes, path, &rest) == NULL;
}

/* What was set on the command line is relative to the working folder. */
const char *cs_config_file_of(const void *context, const char *path)
{
    const cs_config *config = context;
    return cs_config_override_above(config, path) != NULL ? NULL : config->input;
}

cs_status cs_config_point(const cs_config *config, size_t index, cs_text *text, cs_error *err)
{
    cs_error wrong = {0};
    json_t  *tree  = cs_config_point_tree(config, index, &wrong);

    if (tree == NULL) {
        return CS_FAIL(err, wrong.status, wrong.where, "%s", wrong.message);
    }
    (void)json_object_del(tree, "description");
    (void)json_object_del(tree, "figure");
    char *dump = json_dumps(tree, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(tree);
    if (dump == NULL) {
        return CS_NO_MEMORY(err, "a scenario");
    }
    cs_text_add(text, "%s", dump);
    cs_free(dump);
    return cs_text_status(text, err);
}

/* The error of a reading, without its place in the file or with it. */
static cs_status locate(const cs_config *config, const cs_reading *r, size_t index, bool locates,
                        cs_error *err)
{
    return locates ? cs_config_locate_error(config, &r->error, r->key_is_wrong, index, err)
                   : cs_config_locate_option(config, &r->error, index, err);
}

static cs_status build_case(const cs_config *config, size_t index, bool locates, cs_case *case_p,
                            json_t **tree_p, cs_error *err)
{
    cs_case    built   = {0};
    cs_reading reading = {.arena    = &built.arena,
                          .may_skip = may_skip,
                          .file_of  = cs_config_file_of,
                          .cache    = config->files,
                          .context  = config};
    json_t    *tree    = cs_config_point_tree(config, index, &reading.error);

    (void)json_object_del(tree, "figure"); /* of figures alone (figures/figures.h) */
    if (tree != NULL) {
        cs_read_scenario(&reading, tree, &built);
        calibrate(config, &reading, tree, &built);
        read_strategy(&reading, tree, &built);
        print_tree(&reading, tree, &built);
    }
    if (!cs_reading_failed(&reading)) {
        built.job.is_checked = cs_scenario_check(&built.job.scenario, &reading.error) == CS_OK;
    }
    built.files = reading.files;
    if (cs_reading_failed(&reading)) {
        cs_status status = locate(config, &reading, index, locates, err);
        cs_case_free(&built);
        json_decref(tree);
        return status;
    }
    *case_p = built;
    *tree_p = tree;
    return CS_OK;
}

cs_status cs_config_case_tree(const cs_config *config, size_t index, cs_case *case_p,
                              json_t **tree_p, cs_error *err)
{
    return build_case(config, index, false, case_p, tree_p, err);
}

cs_status cs_config_try_case(const cs_config *config, size_t index, cs_case *case_p, cs_error *err)
{
    json_t   *tree   = NULL;
    cs_status status = build_case(config, index, false, case_p, &tree, err);

    json_decref(tree);
    return status;
}

cs_status cs_config_check(const cs_config *config, cs_error *err)
{
    enum { MOST_TRIED = 1000 };
    size_t  n = cs_config_count(config);
    cs_case c = {0};

    for (size_t i = 0; i < n && i < MOST_TRIED; i++) {
        cs_error  ignored = {0};
        cs_status status  = cs_config_try_case(config, i, &c, &ignored);
        cs_case_free(&c);
        c = (cs_case){0};
        if (status == CS_OK) {
            return CS_OK;
        }
    }
    cs_status status = cs_config_case(config, 0, &c, err);
    cs_case_free(&c);
    return status;
}

cs_status cs_config_case(const cs_config *config, size_t index, cs_case *case_p, cs_error *err)
{
    json_t   *tree   = NULL;
    cs_status status = build_case(config, index, true, case_p, &tree, err);

    json_decref(tree);
    return status;
}

void cs_case_free(cs_case *c)
{
    cs_held_files_release(c->files);
    cs_arena_free(&c->arena);
    *c = (cs_case){0};
}

cs_status cs_case_open(const cs_config *config, size_t index, cs_case **case_p, cs_error *err)
{
    cs_case *c = CS_NEW(cs_case, 1);

    if (c == NULL) {
        return CS_NO_MEMORY(err, "a scenario");
    }
    if (index >= cs_config_count(config)) {
        cs_free(c);
        return CS_FAIL(err, CS_EINVAL, "", "there is no scenario %zu among %zu", index,
                       cs_config_count(config));
    }
    cs_status status = cs_config_case(config, index, c, err);
    if (status != CS_OK) {
        cs_free(c);
        return status;
    }
    *case_p = c;
    return CS_OK;
}

const cs_job *cs_case_job(const cs_case *c)
{
    return &c->job;
}

const char *cs_case_json(const cs_case *c)
{
    return c->json;
}

void cs_case_close(cs_case *c)
{
    if (c != NULL) {
        cs_case_free(c);
        cs_free(c);
    }
}
