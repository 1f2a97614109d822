/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of a figure: the points of its sweep, the scenarios that its runs make of each of them
 * (which of them are the same is told by their text), and its columns. */
#include "base/alloc.h"
#include "base/random.h"
#include "figures/figure.h"
#include "input/path.h"
#include "study/config_state.h"
#include "traces/arrival_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 100000 };

/* ---- values of runs ---- */

static json_t *instantiate(json_t *value, const cs_names *names, cs_error *err);

static json_t *instantiate_text(const char *text, const cs_names *names, cs_error *err)
{
    cs_operand operand = {0};
    json_t    *made;

    if (text[0] != '=') {
        made = json_string(text);
    } else if (cs_expression_value(text + 1, names, &operand, err) != CS_OK) {
        return NULL;
    } else if (operand.text != NULL) {
        made = json_string(operand.text);
    } else if (operand.is_truth) {
        made = json_boolean(operand.number > 0);
    } else if (!isfinite(operand.number)) {
        (void)CS_FAIL(err, CS_EINVAL, "", "'%.80s' is no number here", text + 1);
        return NULL;
    } else if (operand.number == floor(operand.number) && fabs(operand.number) < 9e15) {
        made = json_integer((json_int_t)operand.number);
    } else {
        made = json_real(operand.number);
    }
    if (made == NULL) {
        (void)CS_NO_MEMORY(err, "a value of a run");
    }
    return made;
}

static json_t *instantiate_list(json_t *value, const cs_names *names, cs_error *err)
{
    json_t *made = json_array(), *item;
    size_t  i;

    json_array_foreach(value, i, item)
    {
        json_t *part = made != NULL ? instantiate(item, names, err) : NULL;
        if (part == NULL || json_array_append_new(made, part) != 0) {
            json_decref(made);
            return NULL;
        }
    }
    return made;
}

static json_t *instantiate_object(json_t *value, const cs_names *names, cs_error *err)
{
    json_t     *made = json_object(), *member;
    const char *key;

    json_object_foreach(value, key, member)
    {
        json_t *part = made != NULL ? instantiate(member, names, err) : NULL;
        if (part == NULL || json_object_set_new(made, key, part) != 0) {
            json_decref(made);
            return NULL;
        }
    }
    return made;
}

/* A copy in which every expression is worked out; NULL: an error. */
static json_t *instantiate(json_t *value, const cs_names *names, cs_error *err)
{
    json_t *made;

    if (json_is_string(value)) {
        return instantiate_text(json_string_value(value), names, err);
    }
    made = json_is_array(value)    ? instantiate_list(value, names, err)
           : json_is_object(value) ? instantiate_object(value, names, err)
                                   : json_deep_copy(value);
    if (made == NULL && err->status == CS_OK) {
        (void)CS_NO_MEMORY(err, "a value of a run");
    }
    return made;
}

static cs_status set_value(cs_config *config, const char *path, json_t *value,
                           const cs_names *names, const char *origin, cs_error *err)
{
    json_t *made = instantiate(value, names, err);

    return made != NULL ? cs_config_set_node(config, path, made, origin, err) : err->status;
}

/* Set the values of the object at `where`; each is known by its own place. */
static cs_status set_values(cs_config *config, json_t *sets, const cs_names *names,
                            const char *where, cs_error *err)
{
    char        origin[CS_PATH_BYTES];
    const char *path;
    json_t     *value;
    cs_status   status = CS_OK;

    json_object_foreach(sets, path, value)
    {
        if (status == CS_OK) {
            cs_path_add_key(origin, where, path);
            status = set_value(config, path, value, names, origin, err);
        }
    }
    return status;
}

/* ---- the scenario of a run ---- */

static cs_status set_number(cs_config *config, const char *path, double value, const char *origin,
                            cs_error *err)
{
    char text[40];

    (void)snprintf(text, sizeof text, "%.17g", value);
    return cs_config_set(config, path, text, origin, err);
}

/* Change the buffer to the nearest size that splits evenly, as closed forms want it; and where all
 * ranks use one fabric, its bandwidth by the same factor, so that the buffer takes the same time.
 */
static cs_status make_parts_equal(const cs_config *config, cs_case *c, double parts,
                                  const char *origin, cs_error *err)
{
    const cs_cluster *cluster = &c->job.scenario.cluster;
    uint32_t          fabric  = cs_uses_nics(cluster) ? CS_NIC : CS_NVLINK;
    uint64_t          n = (uint64_t)parts, bytes = (c->job.scenario.bytes + n / 2) / n * n;
    double            scale = (double)bytes / (double)c->job.scenario.bytes;
    cs_config        *equal = NULL;
    char              path[48];
    bool              is_plain = cs_n_fabrics(cluster) == 1 || !cs_uses_nics(cluster);

    if (bytes == c->job.scenario.bytes || bytes == 0) {
        return CS_OK;
    }
    CS_TRY(cs_config_at(config, 0, &equal, err));
    (void)snprintf(path, sizeof path, "cluster.%s.bandwidth", cs_fabric_name(fabric));
    cs_status status = set_number(equal, "bytes", (double)bytes, origin, err);
    if (status == CS_OK && is_plain && cluster->topology == NULL) {
        status =
            set_number(equal, path, cluster->fabrics[fabric].bandwidth_Bps * scale, origin, err);
    }
    cs_case_free(c);
    status = status == CS_OK ? cs_config_case(equal, 0, c, err) : status;
    cs_config_free(equal);
    return status;
}

/* `path` is that of the run. *parts_p is left alone where the buffer may split unevenly. */
static cs_status set_values_of_run(const cs_figure *figure, const cs_figure_run *run,
                                   const char *path, cs_config *config, const cs_names *names,
                                   double *parts_p, cs_error *err)
{
    CS_TRY(set_values(config, json_object_get(figure->tree, "set"), names, "figure.set", err));
    CS_TRY(set_values(config, run->sets, names, path, err));
    if (run->equal_parts != NULL) {
        CS_TRY(cs_expression_number(run->equal_parts, names, parts_p, err));
        if (!(*parts_p >= 1 && *parts_p <= 1e9)) {
            return CS_FAIL(err, CS_EINVAL, "", "equal_parts: %g is outside [1, 1e9]", *parts_p);
        }
    }
    return CS_OK;
}

/* Put the values of the figure and of the run into the configuration. *parts_p is 0 where the
 * buffer may split unevenly. */
static cs_status set_run(const cs_figure *figure, const cs_figure_run *run, cs_config *config,
                         const cs_names *names, double *parts_p, cs_error *err)
{
    char     path[CS_PATH_BYTES];
    cs_error wrong = {0};

    cs_path_add_key(path, "figure.runs", run->name);
    return set_values_of_run(figure, run, path, config, names, parts_p, &wrong) == CS_OK
               ? CS_OK
               : cs_figure_blame(figure, path, &wrong, err);
}

static char *key_of(const cs_figure_run *run, const cs_case *c)
{
    const char *schedule = run->schedule != NULL ? run->schedule_path : "";
    const char *delays   = run->has_delays ? "delays" : "";
    size_t      bytes    = strlen(c->json) + strlen(schedule) + strlen(delays) + 3;
    char       *key      = CS_NEW(char, bytes);

    if (key != NULL) {
        (void)snprintf(key, bytes, "%s %s %s", schedule, delays, c->json);
    }
    return key;
}

/* The item of a case, which it takes: one that is there, or a new one. */
static cs_status add_item(cs_figure_table *table, size_t run, size_t row, cs_case *c,
                          size_t *item_p, cs_error *err)
{
    const cs_figure_run *r    = &table->figure->runs[run];
    char                *key  = key_of(r, c);
    uint64_t             hash = key != NULL ? cs_hash_text(key) : 0;
    size_t               i    = 0;

    while (key != NULL && i < table->n_items &&
           (table->items[i].hash != hash || strcmp(table->items[i].key, key) != 0)) {
        i++;
    }
    if (key == NULL ||
        !cs_grow(&table->items, &table->item_capacity, i + 1, 64, sizeof *table->items)) {
        cs_free(key);
        cs_case_free(c);
        return CS_NO_MEMORY(err, "%zu scenarios", i + 1);
    }
    *item_p = i;
    if (i < table->n_items) {
        cs_free(key);
        cs_case_free(c);
        return CS_OK;
    }
    table->items[table->n_items++] = (cs_figure_item){.key        = key,
                                                      .hash       = hash,
                                                      .schedule   = r->schedule,
                                                      .has_delays = r->has_delays,
                                                      .c          = *c,
                                                      .run        = run,
                                                      .row        = row};
    return CS_OK;
}

/* An optional run need not be one that the algorithm accepts, nor that this build can do. */
static bool is_left_out(const cs_figure_run *run, cs_status status)
{
    return run->is_optional && (cs_status_is_refusal(status) || status == CS_EMISSING);
}

/* The item of a configuration in which the values of the run are. */
static cs_status build_item(cs_figure_table *table, size_t run, size_t row, const cs_config *config,
                            double parts, size_t *item_p, cs_error *err)
{
    cs_figure_last *last = &table->last[run];
    cs_case         c    = {0};
    char            path[CS_PATH_BYTES];

    if (last->tree != NULL && last->parts == parts && json_equal(last->tree, config->tree)) {
        *item_p = last->item;
        return CS_OK;
    }
    cs_path_add_key(path, "figure.runs", table->figure->runs[run].name);
    CS_TRY(cs_config_case(config, 0, &c, err));
    cs_status status = parts > 0 ? make_parts_equal(config, &c, parts, path, err) : CS_OK;
    if (status != CS_OK) {
        cs_case_free(&c);
        return status;
    }
    CS_TRY(add_item(table, run, row, &c, item_p, err));
    json_decref(last->tree);
    *last = (cs_figure_last){json_incref(config->tree), parts, *item_p};
    return CS_OK;
}

/* The scenario of one run at a point, if there is one. */
static cs_status add_run(cs_figure_table *table, size_t run, cs_config *at, cs_figure_point *point,
                         cs_error *err)
{
    const cs_figure_run *r      = &table->figure->runs[run];
    size_t               row    = (size_t)(point - table->points);
    cs_figure_scope      scope  = {.table = table, .point = point, .row = row};
    cs_names             names  = cs_figure_names(&scope);
    cs_config           *config = NULL;
    cs_operand           when   = {.number = 1};
    double               parts  = 0;
    cs_error             wrong  = {0};
    char                 path[CS_PATH_BYTES];

    (void)snprintf(path, sizeof path, "figure.runs.%s", r->name);
    if (r->when != NULL && cs_expression_value(r->when, &names, &when, &wrong) != CS_OK) {
        return cs_figure_blame(table->figure, path, &wrong, err);
    }
    if (!(when.number > 0)) {
        return CS_OK;
    }
    CS_TRY(cs_config_at(at, 0, &config, err));
    cs_status status = set_run(table->figure, r, config, &names, &parts, &wrong);
    if (status == CS_OK) {
        status = build_item(table, run, row, config, parts, &point->items[run], &wrong);
    }
    cs_config_free(config);
    if (is_left_out(r, status)) {
        point->refusals[run] = cs_arena_strdup(&table->arena, wrong.message);
        return point->refusals[run] != NULL ? CS_OK : CS_NO_MEMORY(err, "why a run is left out");
    }
    return status == CS_OK ? CS_OK : cs_figure_blame(table->figure, path, &wrong, err);
}

/* ---- the points ---- */

/* The names of a point: its own, and those of a line of the data. None may be in both. */
static cs_status set_lets(const cs_figure *figure, cs_figure_point *point, const cs_config *at,
                          json_t *line, cs_error *err)
{
    json_t     *own = json_object_get(json_object_get(at->tree, "figure"), "let"), *value;
    const char *name;

    point->lets =
        line != NULL && own != NULL ? json_copy(own) : json_incref(line != NULL ? line : own);
    if (line == NULL || own == NULL) {
        return CS_OK;
    }
    json_object_foreach(line, name, value)
    {
        if (json_object_get(own, name) != NULL) {
            char     path[CS_PATH_BYTES];
            cs_error wrong = {0};
            cs_path_add_key(path, "figure.let", name);
            (void)CS_FAIL(&wrong, CS_EINVAL, path, "a column of the data has that name, too");
            return cs_figure_blame(figure, path, &wrong, err);
        }
    }
    return point->lets != NULL && json_object_update(point->lets, line) == 0
               ? CS_OK
               : CS_NO_MEMORY(err, "the names of a row");
}

/* The point of a sweep becomes one of the table, or one for each line of the data. */
static cs_status add_point(cs_figure_table *table, const cs_config *group, size_t index,
                           json_t *line, cs_error *err)
{
    const cs_figure *figure = table->figure;
    cs_figure_point *point  = &table->points[table->n_points];
    cs_config       *at     = NULL;
    cs_status        status = cs_config_at(group, index, &at, err);

    if (status != CS_OK) {
        return status;
    }
    status          = set_lets(figure, point, at, line, err);
    point->items    = CS_ARENA_NEW(&table->arena, size_t, figure->n_runs);
    point->refusals = CS_ARENA_NEW(&table->arena, const char *, figure->n_runs);
    for (size_t i = 0; i < figure->n_runs && point->items != NULL; i++) {
        point->items[i] = CS_FIGURE_NO_ITEM;
    }
    table->n_points++;
    (void)json_object_del(at->tree, "figure");
    (void)json_object_del(at->tree, "name");
    if (point->items == NULL || point->refusals == NULL) {
        status = CS_NO_MEMORY(err, "%zu runs of a row", figure->n_runs);
    }
    status = status == CS_OK ? cs_config_case(at, 0, &point->base, err) : status;
    for (size_t i = 0; i < figure->n_runs && status == CS_OK; i++) {
        status = add_run(table, i, at, point, err);
    }
    cs_config_free(at);
    return status;
}

/* Of the figure's own keys a point needs the names that it lets: the others would be copied with
 * every one of them. */
static void keep_lets(cs_config *group)
{
    json_t *figure = json_object_get(group->tree, "figure");
    json_t *lets   = json_incref(json_object_get(figure, "let"));

    (void)json_object_clear(figure);
    if (lets != NULL) {
        (void)json_object_set_new(figure, "let", lets);
    }
}

static cs_status add_group(cs_figure_table *table, size_t group, cs_error *err)
{
    cs_config *config   = NULL;
    cs_status  status   = cs_figure_group(table->figure, group, &config, err);
    size_t     n_lines  = table->lines != NULL ? json_array_size(table->lines) : 1;
    size_t     n        = status == CS_OK ? cs_config_count(config) * n_lines : 0;
    size_t     capacity = table->n_points;

    if (status == CS_OK && table->n_points + n > MOST_ROWS) {
        status = CS_FAIL(err, CS_EINVAL, table->figure->name, "has more than %d rows", MOST_ROWS);
    }
    if (status == CS_OK &&
        !cs_grow(&table->points, &capacity, table->n_points + n, n, sizeof *table->points)) {
        status = CS_NO_MEMORY(err, "%zu rows of a figure", table->n_points + n);
    }
    if (status == CS_OK) {
        keep_lets(config);
    }
    for (size_t i = 0; i < n && status == CS_OK; i++) {
        table->points[table->n_points] = (cs_figure_point){0};
        status =
            add_point(table, config, i / n_lines, json_array_get(table->lines, i % n_lines), err);
    }
    cs_config_free(config);
    return status;
}

/* ---- a trace ---- */

static int compare_numbers(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static cs_status read_trace(cs_figure_table *table, cs_error *err)
{
    cs_arrival_trace *trace = &table->trace;

    if (table->figure->trace == NULL) {
        return CS_OK;
    }
    if (table->n_points != 1) {
        return CS_FAIL(err, CS_EINVAL, table->figure->name,
                       "shows a trace, whose calls are its rows: a sweep or several rows are not "
                       "accepted beside it");
    }
    CS_TRY(cs_arrival_file_load(table->figure->trace, trace, err));
    CS_TRY(cs_skew_compute(trace, &table->skew, err));
    table->straggler_delays_s = CS_ARENA_NEW(&table->arena, double, trace->n_calls);
    if (table->straggler_delays_s == NULL) {
        return CS_NO_MEMORY(err, "the delays of %zu calls", trace->n_calls);
    }
    for (size_t i = 0; i < trace->n_calls; i++) {
        table->straggler_delays_s[i] = cs_behind_others_s(&trace->arrival_s[i * trace->n_ranks],
                                                          trace->n_ranks, table->skew.straggler);
    }
    qsort(table->straggler_delays_s, trace->n_calls, sizeof(double), compare_numbers);
    return CS_OK;
}

/* ---- the columns ---- */

/* A run that is not optional must have been made. */
static cs_status check_items(const cs_figure_table *table, cs_error *err)
{
    for (size_t i = 0; i < table->n_items; i++) {
        const cs_figure_item *item = &table->items[i];
        const cs_figure_run  *run  = &table->figure->runs[item->run];
        const cs_error       *why  = &item->error;
        if (why->status != CS_OK && !is_left_out(run, why->status)) {
            return CS_FAIL(err, why->status, table->figure->name, "run '%s' of row %zu: %s%s%s",
                           run->name, item->row + 1, why->where, why->where[0] != '\0' ? ": " : "",
                           why->message);
        }
    }
    return CS_OK;
}

static cs_status fill_row(cs_figure_table *table, size_t row, cs_error *err)
{
    const cs_figure *figure = table->figure;
    cs_figure_scope  scope  = cs_figure_scope_of(table, row);
    cs_names         names  = cs_figure_names(&scope);

    for (size_t i = 0; i < figure->n_columns; i++) {
        const cs_figure_column *column = &figure->columns[i];
        cs_error                wrong  = {0};
        char                    path[64];
        scope.n_columns = i;
        if (cs_expression_value(column->expression, &names,
                                &table->cells[row * figure->n_columns + i], &wrong) != CS_OK) {
            (void)snprintf(path, sizeof path, "figure.columns[%zu]", i);
            return cs_figure_blame(figure, path, &wrong, err);
        }
    }
    return CS_OK;
}

static cs_status fill_cells(cs_figure_table *table, cs_error *err)
{
    table->n_rows = table->figure->trace != NULL ? table->trace.n_calls : table->n_points;
    table->cells =
        CS_ARENA_NEW(&table->arena, cs_operand, table->n_rows * table->figure->n_columns);
    if (table->cells == NULL) {
        return CS_NO_MEMORY(err, "%zu rows of a figure", table->n_rows);
    }
    for (size_t row = 0; row < table->n_rows; row++) {
        CS_TRY(fill_row(table, row, err));
    }
    table->is_filled = true;
    return CS_OK;
}

static cs_status fill_table(cs_figure_table *table, cs_figure_results *results, unsigned jobs,
                            cs_error *err)
{
    table->last = CS_ARENA_NEW(&table->arena, cs_figure_last, table->figure->n_runs);
    if (table->last == NULL) {
        return CS_NO_MEMORY(err, "the runs of a figure");
    }
    CS_TRY(table->figure->data != NULL ? cs_figure_read_csv(table->figure->data, &table->lines, err)
                                       : CS_OK);
    for (size_t g = 0; g < cs_figure_groups(table->figure); g++) {
        CS_TRY(add_group(table, g, err));
    }
    CS_TRY(read_trace(table, err));
    CS_TRY(cs_figure_run_items(results, table->items, table->n_items, jobs, err));
    CS_TRY(check_items(table, err));
    return fill_cells(table, err);
}

cs_status cs_figure_table_fill(cs_figure_table *table, const cs_figure *figure,
                               const cs_figure_request *request, cs_error *err)
{
    cs_figure_results *own     = request->results == NULL ? cs_figure_results_new() : NULL;
    cs_figure_results *results = request->results == NULL ? own : request->results;

    *table           = (cs_figure_table){.figure = figure};
    cs_status status = results != NULL ? fill_table(table, results, request->jobs, err)
                                       : CS_NO_MEMORY(err, "the results of scenarios");
    cs_figure_results_free(own);
    return status;
}

void cs_figure_table_free(cs_figure_table *table)
{
    for (size_t i = 0; i < table->n_points; i++) {
        json_decref(table->points[i].lets);
        cs_case_free(&table->points[i].base);
    }
    for (size_t i = 0; table->last != NULL && i < table->figure->n_runs; i++) {
        json_decref(table->last[i].tree);
    }
    for (size_t i = 0; i < table->n_items; i++) {
        cs_free(table->items[i].key);
        cs_free(table->items[i].start.workers);
        cs_case_free(&table->items[i].c);
    }
    json_decref(table->lines);
    cs_free(table->points);
    cs_free(table->items);
    cs_skew_free(&table->skew);
    cs_arrival_trace_free(&table->trace);
    cs_arena_free(&table->arena);
    *table = (cs_figure_table){0};
}
