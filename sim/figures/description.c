/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A figure as it stands in its file: the key "figure" of a configuration.
 *
 *   {"cluster": {..}, "bytes": "1GiB", "sweep": {"cluster.ranks": [4, 8, 16]},
 *    "figure": {"title": "..", "source": "..",
 *               "runs": {"ring": {"algorithm": "ring"}, ..},
 *               "columns": ["ranks", "ring_ms = 1e3 * ring.exposed_s", ..],
 *               "checks": [{"what": "..", "holds": "ring.rounds == 2 * (ranks - 1)"}, ..]}}
 *
 * The files that it names lie beside it. A figure that is like another one takes from that one's
 * file all that its own does not say. */
#include "base/alloc.h"
#include "figures/figure.h"
#include "schedules/schedule_json.h"
#include "study/config_state.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

enum { MOST_LIKE = 8 };

#define ANY(key)                                                  \
    {                                                             \
        .name = (key), .type = CS_FIELD_ANY, .offset = CS_NOWHERE \
    }
static const cs_field figure_fields[] = {
    CS_KEY(cs_figure, title, "title", .is_required = true, .help = "of the picture"),
    CS_KEY(cs_figure, source, "source", .help = "paper and figure"),
    CS_KEY(cs_figure, script, "gnuplot", .help = "file beside this one; NAME.gp without it"),
    CS_KEY(cs_figure, reference, "reference", .help = "file beside this one"),
    CS_KEY(cs_figure, trace, "trace", .help = "file beside this one, of arrivals"),
    CS_KEY(cs_figure, data, "data", .help = "CSV beside this one, whose lines are rows"),
    {.name = "columns", .type = CS_FIELD_ANY, .offset = CS_NOWHERE, .is_required = true},
    {.name = "like", .type = CS_FIELD_TEXT, .offset = CS_NOWHERE},
    ANY("lists"),
    ANY("tables"),
    ANY("let"),
    ANY("set"),
    ANY("rows"),
    ANY("runs"),
    ANY("values"),
    ANY("checks"),
    CS_FIELD_END,
};
static const cs_field row_fields[]  = {ANY("let"), ANY("set"), ANY("sweep"), CS_FIELD_END};
static const cs_field rule_fields[] = {
    CS_KEY(cs_figure_rule, what, "what", .is_required = true),
    CS_KEY(cs_figure_rule, where, "where", .help = "rows for which it is true"),
    CS_KEY(cs_figure_rule, holds, "holds", .help = "what must be true"),
    CS_KEY(cs_figure_rule, value, "value", .help = "what is compared"),
    CS_KEY(cs_figure_rule, is, "is", .help = "with what"),
    CS_KEY(cs_figure_rule, relative, "relative", .max = 1),
    CS_KEY(cs_figure_rule, absolute, "absolute", .max = 1e300),
    CS_FIELD_END,
};

/* What a run has beside the keys of the configuration that it changes. */
typedef struct run_keys {
    const char *when, *equal_parts, *schedule;
    bool        optional, delays;
} run_keys;
static const cs_field run_fields[] = {
    CS_KEY(run_keys, when, "when", .help = "rows in which it runs"),
    CS_KEY(run_keys, equal_parts, "equal_parts", .help = "into how many the buffer is cut"),
    CS_KEY(run_keys, optional, "optional", .max = 1),
    CS_KEY(run_keys, delays, "delays", .max = 1),
    CS_KEY(run_keys, schedule, "schedule", .help = "a file instead of the algorithm"),
    CS_FIELD_END,
};
static const cs_field object_fields[] = {ANY("lists"), ANY("tables"), ANY("let"),
                                         ANY("set"),   ANY("runs"),   CS_FIELD_END};

cs_status cs_figure_blame(const cs_figure *figure, const char *path, const cs_error *from,
                          cs_error *err)
{
    cs_error error = *from;

    if (error.where[0] == '\0' && error.status != CS_ENOMEM) {
        (void)snprintf(error.where, sizeof error.where, "%s", path);
    }
    return cs_config_locate_error(figure->config, &error, false, CS_NO_POINT, err);
}

/* ---- the configuration ---- */

static bool is_sweep(const char *path)
{
    return strcmp(path, "sweep") == 0 || strncmp(path, "sweep.", strlen("sweep.")) == 0;
}

/* Changes of the sweep wait until the rows have said theirs. */
static cs_status apply_sets(const cs_figure *figure, cs_config *config, cs_error *err)
{
    for (size_t i = 0; i < figure->n_sets; i++) {
        const cs_figure_set *set = &figure->sets[i];
        if (!is_sweep(set->path)) {
            CS_TRY(cs_config_set(config, set->path, set->json, "--set", err));
        }
    }
    return CS_OK;
}

/* Axes that the figure has take other values. */
static cs_status apply_sweeps(const cs_figure *figure, cs_config *config, cs_error *err)
{
    for (size_t i = 0; i < figure->n_sets; i++) {
        const cs_figure_set *set = &figure->sets[i];
        if (is_sweep(set->path) && cs_config_has_axis(config, set->path + strlen("sweep."))) {
            CS_TRY(cs_config_set(config, set->path, set->json, "--set", err));
        }
    }
    return CS_OK;
}

/* ---- figures like others ---- */

/* Replace the file name at a key, which is meant beside the file `path`, by its whole path. */
static cs_status make_path_whole(json_t *object, const char *key, const char *path, cs_error *err)
{
    const char *name = json_string_value(json_object_get(object, key));
    char        place[PATH_MAX];

    if (name == NULL) {
        return CS_OK;
    }
    cs_status status = cs_figure_beside(path, name, "", place, sizeof place, err);
    return status == CS_OK && json_object_set_new(object, key, json_string(place)) != 0
               ? CS_NO_MEMORY(err, "the description of a figure")
               : status;
}

/* Prepare a figure that another one is like: drop its references, and make the paths of its files
 * whole. */
static cs_status prepare_for_others(cs_config *config, const char *path, cs_error *err)
{
    json_t     *figure = json_object_get(config->tree, "figure"), *run;
    const char *name;

    (void)json_object_del(figure, "reference");
    cs_status status = make_path_whole(figure, "gnuplot", path, err);
    if (status == CS_OK) {
        status = make_path_whole(figure, "trace", path, err);
    }
    if (status == CS_OK) {
        status = make_path_whole(figure, "data", path, err);
    }
    json_object_foreach(json_object_get(figure, "runs"), name, run)
    {
        if (status == CS_OK) {
            status = make_path_whole(run, "schedule", path, err);
        }
    }
    return status;
}

/* Where the figure lies that the one at `path` is like: beside it, or in the folder of figures. */
static cs_status find_like(const char *path, const char *like, char place[PATH_MAX], cs_error *err)
{
    cs_status status = cs_figure_beside(path, like, ".json", place, PATH_MAX, err);

    return status == CS_OK && access(place, R_OK) != 0 ? cs_figure_find(like, place, PATH_MAX, err)
                                                       : status;
}

static cs_status load(const char *path, unsigned depth, cs_config **config_p, cs_error *err);

/* Take from the figure `other`, whose file is `place`, what the own one does not say. */
static cs_status complete_from(cs_config *config, cs_config *other, const char *place,
                               cs_error *err)
{
    CS_TRY(prepare_for_others(other, place, err));
    return cs_config_complete(config, other, err);
}

static cs_status complete(cs_config *config, const char *path, const char *like, unsigned depth,
                          cs_error *err)
{
    cs_config *other = NULL;
    cs_error   wrong = {0};
    char       place[PATH_MAX];

    if (find_like(path, like, place, &wrong) == CS_OK && depth == MOST_LIKE) {
        (void)CS_FAIL(&wrong, CS_EINVAL, "figure.like", "more than %d figures like one another",
                      MOST_LIKE);
    }
    if (wrong.status != CS_OK) {
        (void)snprintf(wrong.where, sizeof wrong.where, "figure.like");
        return cs_config_locate_error(config, &wrong, false, CS_NO_POINT, err);
    }
    CS_TRY(load(place, depth + 1, &other, err));
    cs_status status = complete_from(config, other, place, err);
    cs_config_free(other);
    return status;
}

/* The script of a figure that names none is the one of its name, if there is one. */
static cs_status name_script(cs_config *config, const char *path, cs_error *err)
{
    json_t     *figure = json_object_get(config->tree, "figure");
    char        place[PATH_MAX];
    const char *dot    = strrchr(path, '.');
    int         n      = (int)(dot != NULL ? (size_t)(dot - path) : strlen(path));
    bool        fits   = snprintf(place, sizeof place, "%.*s.gp", n, path) < PATH_MAX;
    bool        has_it = json_object_get(figure, "gnuplot") != NULL;

    if (has_it || !json_is_object(figure) || !fits || access(place, R_OK) != 0) {
        return CS_OK;
    }
    const char *slash = strrchr(place, '/');
    json_t     *name  = json_string(slash != NULL ? slash + 1 : place);
    return json_object_set_new(figure, "gnuplot", name) == 0
               ? CS_OK
               : CS_NO_MEMORY(err, "the description of a figure");
}

/* The file, and those that it is like. */
static cs_status load(const char *path, unsigned depth, cs_config **config_p, cs_error *err)
{
    cs_config *config = NULL;
    cs_status  status = cs_config_load(path, &config, err);

    if (status != CS_OK) {
        return status;
    }
    const char *like =
        json_string_value(json_object_get(json_object_get(config->tree, "figure"), "like"));
    status = name_script(config, path, err);
    if (status == CS_OK && like != NULL) {
        status = complete(config, path, like, depth, err);
    }
    if (status != CS_OK) {
        cs_config_free(config);
        return status;
    }
    *config_p = config;
    return CS_OK;
}

/* ---- groups of rows ---- */

static json_t *rows_of(const cs_figure *figure)
{
    return json_object_get(figure->tree, "rows");
}

size_t cs_figure_groups(const cs_figure *figure)
{
    json_t *rows = rows_of(figure);
    return rows != NULL ? json_array_size(rows) : 1;
}

/* Set what a member of a group says, each value below `prefix`. */
static cs_status set_members(cs_config *config, json_t *members, const char *prefix,
                             const char *origin, cs_error *err)
{
    const char *key;
    json_t     *value;
    cs_status   status = CS_OK;

    json_object_foreach(members, key, value)
    {
        char  path[CS_PATH_BYTES];
        char *json = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
        (void)snprintf(path, sizeof path, "%s%s", prefix, key);
        if (json == NULL) {
            return CS_NO_MEMORY(err, "the description of a figure");
        }
        status = cs_config_set(config, path, json, origin, err);
        cs_free(json);
        if (status != CS_OK) {
            break;
        }
    }
    return status;
}

/* The values of an axis: a list, or the name of one. */
static cs_status set_axis(const cs_figure *figure, cs_config *config, const char *path,
                          json_t *values, const char *origin, cs_error *err)
{
    const char *name = json_string_value(values);
    json_t     *list =
        name != NULL ? json_object_get(json_object_get(figure->tree, "lists"), name) : values;

    if (list == NULL) {
        return CS_FAIL(err, CS_EINVAL, origin, "there is no list '%.40s' among figure.lists", name);
    }
    char *json = json_dumps(list, JSON_COMPACT | JSON_ENCODE_ANY);
    if (json == NULL) {
        return CS_NO_MEMORY(err, "the description of a figure");
    }
    char axis[CS_PATH_BYTES];
    (void)snprintf(axis, sizeof axis, "sweep.%s", path);
    cs_status status = cs_config_set(config, axis, json, origin, err);
    cs_free(json);
    return status;
}

static cs_status apply_group(const cs_figure *figure, size_t group, cs_config *config,
                             cs_error *err)
{
    json_t     *row = json_array_get(rows_of(figure), group);
    const char *path;
    json_t     *values;
    char        origin[64];
    cs_status   status;

    (void)snprintf(origin, sizeof origin, "%.40s: figure.rows[%zu]", figure->name, group);
    status = set_members(config, json_object_get(row, "let"), "figure.let.", origin, err);
    if (status == CS_OK) {
        status = set_members(config, json_object_get(row, "set"), "", origin, err);
    }
    json_object_foreach(json_object_get(row, "sweep"), path, values)
    {
        if (status == CS_OK) {
            status = set_axis(figure, config, path, values, origin, err);
        }
    }
    return status;
}

static cs_status apply_changes(const cs_figure *figure, size_t group, cs_config *config,
                               cs_error *err)
{
    CS_TRY(apply_sets(figure, config, err));
    if (rows_of(figure) != NULL) {
        CS_TRY(apply_group(figure, group, config, err));
    }
    return apply_sweeps(figure, config, err);
}

cs_status cs_figure_group(const cs_figure *figure, size_t group, cs_config **config_p,
                          cs_error *err)
{
    cs_config *config = NULL;

    CS_TRY(load(figure->path, 0, &config, err));
    cs_status status = apply_changes(figure, group, config, err);
    if (status != CS_OK) {
        cs_config_free(config);
        return status;
    }
    *config_p = config;
    return CS_OK;
}

/* ---- changes that would have no effect are refused ---- */

static bool names_path(json_t *members, const char *path)
{
    const char *key;
    json_t     *value;

    json_object_foreach(members, key, value)
    {
        if (cs_path_below(key, path) != NULL) {
            return true;
        }
    }
    return false;
}

/* Does every row set it itself? */
static bool is_overruled(const cs_figure *figure, const char *path)
{
    size_t n = 0, n_groups = rows_of(figure) != NULL ? cs_figure_groups(figure) : 0;

    for (size_t g = 0; g < n_groups; g++) {
        json_t *row = json_array_get(rows_of(figure), g);
        n += names_path(json_object_get(row, "set"), path) ||
             names_path(json_object_get(row, "sweep"), path);
    }
    return n_groups > 0 && n == n_groups;
}

/* Does a text of the figure name it: a text, or one in an object or a list? */
static bool is_named(json_t *value, const char *name)
{
    const char *text = json_string_value(value), *key;
    size_t      i, length = strlen(name);
    json_t     *item;

    for (const char *at = text; at != NULL && (at = strstr(at, name)) != NULL; at += length) {
        bool begins = at == text || strchr(NAME_LETTERS ".", at[-1]) == NULL;
        if (begins && (at[length] == '\0' || strchr(NAME_LETTERS, at[length]) == NULL)) {
            return true;
        }
    }
    json_object_foreach(value, key, item)
    {
        if (is_named(item, name)) {
            return true;
        }
    }
    json_array_foreach(value, i, item)
    {
        if (is_named(item, name)) {
            return true;
        }
    }
    return false;
}

/* Does every run set it, and no expression go by what stands before? These are the keys of which a
 * figure has runs of its own. */
static bool is_set_by_runs(const cs_figure *figure, const char *path)
{
    static const struct {
        const char *key, *name; /* of its value in expressions; NULL: it has none */
    } keys[]      = {{"algorithm", NULL}, {"bytes", "bytes"}, {"arrivals", "delay_s"}};
    bool   is_one = false;
    size_t n      = 0;

    for (size_t i = 0; i < COUNT(keys) && !is_one; i++) {
        is_one = cs_path_below(keys[i].key, path) != NULL &&
                 (keys[i].name == NULL || !is_named(figure->tree, keys[i].name));
    }
    bool is_common = names_path(json_object_get(figure->tree, "set"), path);
    for (size_t i = 0; i < figure->n_runs; i++) {
        n += is_common || names_path(figure->runs[i].sets, path);
    }
    return is_one && n > 0 && n == figure->n_runs;
}

static bool has_axis(const cs_figure *figure, const char *path)
{
    bool has = cs_config_has_axis(figure->config, path);

    for (size_t g = 0; rows_of(figure) != NULL && g < cs_figure_groups(figure); g++) {
        json_t *row = json_array_get(rows_of(figure), g);
        has         = has || json_object_get(json_object_get(row, "sweep"), path) != NULL;
    }
    return has;
}

static cs_status check_sets(const cs_figure *figure, cs_error *err)
{
    for (size_t i = 0; i < figure->n_sets; i++) {
        const char *path = figure->sets[i].path;
        char        where[CS_PATH_BYTES];
        cs_config_origin_text("--set", path, where, sizeof where);
        if (strcmp(path, "sweep") == 0) {
            return CS_FAIL(err, CS_EINVAL, where, "accepted is an axis of the figure: sweep.PATH");
        }
        if (is_sweep(path) && !has_axis(figure, path + strlen("sweep."))) {
            return CS_FAIL(err, CS_EINVAL, where, "the figure %s has no such axis", figure->name);
        }
        if (!is_sweep(path) && is_overruled(figure, path)) {
            return CS_FAIL(err, CS_EINVAL, where,
                           "changes nothing: all rows of the figure %s set it themselves "
                           "(figure.rows)",
                           figure->name);
        }
        if (is_set_by_runs(figure, path)) {
            return CS_FAIL(err, CS_EINVAL, where,
                           "changes nothing: every run of the figure %s sets its own "
                           "(figure.runs)",
                           figure->name);
        }
    }
    return CS_OK;
}

/* ---- reading ---- */

static char *copy(cs_reading *r, const char *text, size_t length)
{
    char *made = CS_ARENA_NEW(r->arena, char, length + 1);

    if (made == NULL) {
        (void)CS_NO_MEMORY(&r->error, "the description of a figure");
        return NULL;
    }
    memcpy(made, text, length);
    return made;
}

/* "NAME = EXPRESSION", or the name alone. */
static void read_column(cs_reading *r, const cs_place *item, cs_figure_column *column)
{
    const char *text   = json_string_value(item->node);
    size_t      n      = text != NULL ? strspn(text, NAME_LETTERS) : 0;
    size_t      blanks = text != NULL ? strspn(text + n, " ") : 0;

    if (text == NULL || n == 0 || (text[n + blanks] != '\0' && text[n + blanks] != '=')) {
        CS_REFUSE(
            r, item, CS_EINVAL,
            "accepted is \"NAME = EXPRESSION\", or the name alone; a name is made of letters, "
            "digits and '_'");
        return;
    }
    column->name       = copy(r, text, n);
    column->expression = text[n + blanks] == '='
                             ? copy(r, text + n + blanks + 1, strlen(text + n + blanks + 1))
                             : column->name;
}

static void read_columns(cs_reading *r, const cs_place *figure, const char *key,
                         cs_figure_column **columns_p, size_t *n_p)
{
    cs_place          list    = cs_place_get(figure, key);
    size_t            n       = cs_read_elements(r, &list);
    cs_figure_column *columns = CS_ARENA_NEW(r->arena, cs_figure_column, n);

    if (columns == NULL) {
        (void)CS_NO_MEMORY(&r->error, "the description of a figure");
    }
    for (size_t i = 0; i < n && !cs_reading_failed(r); i++) {
        cs_place item = cs_place_item(&list, i);
        read_column(r, &item, &columns[i]);
        for (size_t k = 0; k < i && !cs_reading_failed(r); k++) {
            if (strcmp(columns[k].name, columns[i].name) == 0) {
                CS_REFUSE(r, &item, CS_EINVAL, "'%.40s' is there already", columns[i].name);
            }
        }
    }
    *columns_p = columns;
    *n_p       = n;
}

static void read_rule(cs_reading *r, const cs_place *item, cs_figure_rule *rule)
{
    *rule = (cs_figure_rule){.what = NULL};
    if (!cs_read_fields(r, item, rule_fields, rule)) {
        return;
    }
    bool is_value = rule->value != NULL && rule->is != NULL;
    if (!cs_reading_failed(r) &&
        (rule->holds != NULL ? rule->value != NULL || rule->is != NULL : !is_value)) {
        CS_REFUSE(r, item, CS_EINVAL, "accepted is either 'holds', or 'value' and 'is'");
    }
}

void cs_figure_read_rules(cs_reading *r, const cs_place *list, cs_figure_rule **rules_p,
                          size_t *n_p)
{
    size_t          n     = cs_read_elements(r, list);
    cs_figure_rule *rules = CS_ARENA_NEW(r->arena, cs_figure_rule, n);

    if (rules == NULL) {
        (void)CS_NO_MEMORY(&r->error, "the description of a figure");
    }
    for (size_t i = 0; i < n && !cs_reading_failed(r); i++) {
        cs_place item = cs_place_item(list, i);
        read_rule(r, &item, &rules[i]);
    }
    *rules_p = rules;
    *n_p     = n;
}

/* Its own keys beside those of the configuration that it changes. */
static void read_run(cs_reading *r, const cs_place *place, const char *path, cs_figure_run *run)
{
    char     file[PATH_MAX];
    run_keys keys = {.when = NULL};

    if (!json_is_object(place->node)) {
        cs_refuse_kind(r, place, "an object");
        return;
    }
    if (place->key[0] == '\0' || place->key[strspn(place->key, NAME_LETTERS)] != '\0') {
        r->key_is_wrong = true;
        CS_REFUSE(r, place, CS_EINVAL, "a name is made of letters, digits and '_'");
        return;
    }
    for (const cs_field *row = run_fields; row->name != NULL; row++) {
        cs_read_key(r, place, run_fields, row->name, &keys);
    }
    run->name        = copy(r, place->key, strlen(place->key));
    run->when        = keys.when;
    run->equal_parts = keys.equal_parts;
    run->is_optional = keys.optional;
    run->has_delays  = keys.delays;
    if (keys.schedule != NULL && !cs_reading_failed(r) &&
        cs_figure_beside(path, keys.schedule, "", file, sizeof file, &r->error) == CS_OK &&
        cs_schedule_load(file, &run->schedule, &r->error) == CS_OK) {
        run->schedule_path = copy(r, file, strlen(file));
    }
    run->sets = place->node;
    for (const cs_field *row = run_fields; row->name != NULL; row++) {
        (void)json_object_del(run->sets, row->name);
    }
}

static void read_runs(cs_reading *r, const cs_place *root, cs_figure *figure)
{
    cs_place    runs = cs_place_get(root, "runs");
    const char *key;
    json_t     *value;

    if (cs_reading_failed(r)) {
        return;
    }
    figure->runs = CS_ARENA_NEW(r->arena, cs_figure_run, json_object_size(runs.node));
    if (figure->runs == NULL) {
        (void)CS_NO_MEMORY(&r->error, "the description of a figure");
    }
    json_object_foreach(runs.node, key, value)
    {
        if (!cs_reading_failed(r) && !json_is_null(value)) {
            cs_place field = cs_place_get(&runs, key);
            read_run(r, &field, figure->path, &figure->runs[figure->n_runs++]);
        }
    }
}

/* What else stands there is read as it is needed; here only its form is looked at. */
static void read_objects(cs_reading *r, const cs_place *parent, const cs_field *rows)
{
    for (const cs_field *row = rows; row->name != NULL && !cs_reading_failed(r); row++) {
        cs_place place = cs_place_get(parent, row->name);
        if (place.node != NULL && !json_is_object(place.node)) {
            cs_refuse_kind(r, &place, "an object");
        }
    }
}

static void read_groups(cs_reading *r, const cs_place *root)
{
    cs_place rows = cs_place_get(root, "rows");
    size_t   n    = cs_read_elements(r, &rows);

    for (size_t i = 0; i < n && !cs_reading_failed(r); i++) {
        cs_place item = cs_place_item(&rows, i);
        (void)cs_read_keys(r, &item, row_fields);
        read_objects(r, &item, row_fields);
    }
}

/* A name that was read becomes that of the file beside the figure; NULL where the key is absent. */
static void find_beside(cs_reading *r, const cs_figure *figure, const char **name_p)
{
    char        place[PATH_MAX];
    const char *name = *name_p;

    *name_p = NULL;
    if (name != NULL && !cs_reading_failed(r) &&
        cs_figure_beside(figure->path, name, "", place, sizeof place, &r->error) == CS_OK) {
        *name_p = copy(r, place, strlen(place));
    }
}

static void read_figure(cs_reading *r, cs_figure *figure)
{
    cs_place root = cs_place_root(figure->config->tree), field = cs_place_get(&root, "figure");

    cs_read_required(r, &root, "figure");
    field.node = figure->tree;
    if (!cs_read_fields(r, &field, figure_fields, figure)) {
        return;
    }
    find_beside(r, figure, &figure->script);
    find_beside(r, figure, &figure->reference);
    find_beside(r, figure, &figure->trace);
    find_beside(r, figure, &figure->data);
    read_objects(r, &field, object_fields);
    read_groups(r, &field);
    read_runs(r, &field, figure);
    read_columns(r, &field, "columns", &figure->columns, &figure->n_columns);
    read_columns(r, &field, "values", &figure->values, &figure->n_values);
    cs_place checks = cs_place_get(&field, "checks");
    cs_figure_read_rules(r, &checks, &figure->rules, &figure->n_rules);
    if (!cs_reading_failed(r) && figure->script == NULL) {
        CS_REFUSE(r, &field, CS_EINVAL, "names no script, and %s.gp is not there", figure->name);
    }
}

/* The name of the files: that of the description without its folder and ending. */
static const char *stem(cs_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
    char       *name = cs_arena_strdup(arena, base);
    char       *dot  = name != NULL ? strrchr(name, '.') : NULL;

    if (dot != NULL && dot > name) {
        *dot = '\0';
    }
    return name;
}

/* It stands in scripts for gnuplot. */
static cs_status check_name(const char *name, cs_error *err)
{
    size_t n = strspn(name, NAME_LETTERS ".-");

    return n > 0 && name[n] == '\0'
               ? CS_OK
               : CS_FAIL(err, CS_EINVAL, "figure",
                         "'%.80s' is no name for files: it is made of letters, digits, '_', '-' "
                         "and '.'",
                         name);
}

cs_status cs_figure_open(cs_figure *figure, const cs_figure_request *request, cs_error *err)
{
    *figure = (cs_figure){.sets       = request->sets,
                          .n_sets     = request->n_sets,
                          .is_changed = request->n_sets > 0 || request->trace != NULL};

    CS_TRY(cs_figure_find(request->name, figure->path, sizeof figure->path, err));
    figure->name = stem(&figure->arena, figure->path);
    CS_TRY(figure->name == NULL ? CS_NO_MEMORY(err, "the description of a figure")
                                : check_name(figure->name, err));
    CS_TRY(load(figure->path, 0, &figure->config, err));
    CS_TRY(apply_sets(figure, figure->config, err));
    cs_reading reading = {.arena = &figure->arena};
    json_t    *tree    = json_object_get(figure->config->tree, "figure");
    figure->tree       = json_deep_copy(tree);
    if (tree != NULL && figure->tree == NULL) {
        return CS_NO_MEMORY(err, "the description of a figure");
    }
    read_figure(&reading, figure);
    if (cs_reading_failed(&reading)) {
        return cs_config_locate_error(figure->config, &reading.error, reading.key_is_wrong,
                                      CS_NO_POINT, err);
    }
    if (request->trace != NULL && figure->trace == NULL) {
        return CS_FAIL(err, CS_EINVAL, figure->name, "shows no trace; stragglar-2a does");
    }
    figure->trace = request->trace != NULL ? request->trace : figure->trace;
    return check_sets(figure, err);
}

void cs_figure_close(cs_figure *figure)
{
    for (size_t i = 0; i < figure->n_runs; i++) {
        cs_stored_free(figure->runs[i].schedule);
    }
    json_decref(figure->tree);
    cs_config_free(figure->config);
    cs_arena_free(&figure->arena);
    *figure = (cs_figure){0};
}
