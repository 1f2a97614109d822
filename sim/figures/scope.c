/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What names mean in a row of a figure, the first that there is: what a reference binds; a column
 * that stands before; a name of "let"; a property of the scenario without a run's changes; a unit.
 * "RUN.KEY" is a key of a result, "RUN.options.NAME" an option as resolved, "RUN.refusal" why an
 * optional run was refused, "RUN.start_s", "RUN.heard_s(RANK)" and "RUN.is_relay(RANK)" what
 * AdapCC's coordinator decided, and "trace.KEY" is of the trace that is shown. */
#include "cs/scenario.h"
#include "figures/figure.h"
#include "output/result_rows.h"
#include "study/profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 16, MOST_SLOW = 4 };

static cs_operand number(double value)
{
    return (cs_operand){.number = value};
}

/* ---- properties of the scenario ---- */

/* The fabric of which alpha and bandwidth are meant: the only one in use, else the NICs. */
static const cs_fabric *fabric_of(const cs_scenario *s)
{
    return &s->cluster.fabrics[cs_uses_nics(&s->cluster) ? CS_NIC : CS_NVLINK];
}

static double alpha_of(const cs_scenario *s, uint32_t fabric)
{
    return fabric < cs_n_fabrics(&s->cluster) ? s->cluster.fabrics[fabric].alpha_s : (double)NAN;
}

static double bandwidth_of(const cs_scenario *s, uint32_t fabric)
{
    return fabric < cs_n_fabrics(&s->cluster) ? s->cluster.fabrics[fabric].bandwidth_Bps
                                              : (double)NAN;
}

static double slowdown_of(const cs_scenario *s, size_t step)
{
    return step < s->n_capacity ? s->capacity[step].slowdown : (double)NAN;
}

/* X(name, its value from the scenario s) */
#define PROPERTIES(X)                                   \
    X(ranks, s->cluster.n_ranks)                        \
    X(servers, cs_n_servers(&s->cluster))               \
    X(gpus_per_server, s->cluster.gpus_per_server)      \
    X(bytes, (double)s->bytes)                          \
    X(alpha_s, fabric_of(s)->alpha_s)                   \
    X(bandwidth_Bps, fabric_of(s)->bandwidth_Bps)       \
    X(nic_alpha_s, alpha_of(s, CS_NIC))                 \
    X(nic_bandwidth_Bps, bandwidth_of(s, CS_NIC))       \
    X(nvlink_alpha_s, alpha_of(s, CS_NVLINK))           \
    X(nvlink_bandwidth_Bps, bandwidth_of(s, CS_NVLINK)) \
    X(cross_alpha_s, alpha_of(s, CS_CROSS))             \
    X(cross_bandwidth_Bps, bandwidth_of(s, CS_CROSS))   \
    X(delay_s, cs_last_arrival(s))                      \
    X(slow_servers, (double)s->n_capacity)              \
    X(slowdown_1, slowdown_of(s, 0))                    \
    X(slowdown_2, slowdown_of(s, 1))                    \
    X(slowdown_3, slowdown_of(s, 2))                    \
    X(slowdown_4, slowdown_of(s, MOST_SLOW - 1))

#define UNITS(X)      \
    X(KiB, 1024.0)    \
    X(MiB, 1048576.0) \
    X(GiB, 1073741824.0)

#define X(name, value)                                  \
    static double property_##name(const cs_scenario *s) \
    {                                                   \
        return value;                                   \
    }
PROPERTIES(X)
#undef X

static const struct property {
    const char *name;
    double (*value)(const cs_scenario *s);
} properties[] = {
#define X(name, value) {#name, property_##name},
    PROPERTIES(X)
#undef X
};

static const struct unit {
    const char *name;
    double      value;
} units[] = {
#define X(name, value) {#name, value},
    UNITS(X)
#undef X
};

enum {
    N_PROPERTIES = sizeof properties / sizeof properties[0],
    N_UNITS      = sizeof units / sizeof units[0]
};

static const char profile_key[] = "profile_s";

/* How long AdapCC's profile of the scenario's links blocks training. */
static cs_status profile_value(const cs_case *c, cs_operand *value_p, cs_error *err)
{
    const cs_profile_options options = cs_profile_defaults();
    cs_profile               profile = {0};
    cs_status                status  = cs_profile_run(&c->job, &options, &profile, err);

    *value_p = number(profile.duration_s);
    cs_profile_free(&profile);
    return status;
}

static bool property_value(const cs_case *c, const char *name, cs_operand *value_p)
{
    for (size_t i = 0; i < N_PROPERTIES; i++) {
        if (strcmp(properties[i].name, name) == 0) {
            *value_p = number(properties[i].value(&c->job.scenario));
            return true;
        }
    }
    if (strcmp(name, "model") == 0) {
        *value_p = (cs_operand){.text = c->job.model->name};
        return true;
    }
    return false;
}

/* ---- results ---- */

#define AS_TEXT(value) ((cs_operand){.text = (value)})

/* A value of a row as an operand; what does not exist is NAN, or a text of NULL. */
static cs_operand operand_of(const cs_row *row, const cs_column *column)
{
    cs_value value = cs_row_value(row, column);

    switch (value.type) {
    case CS_VALUE_TEXT:
    case CS_VALUE_JSON: return AS_TEXT(value.text);
    case CS_VALUE_COUNT: return number((double)value.count);
    case CS_VALUE_WHOLE: return number((double)value.whole);
    case CS_VALUE_REAL: return number(value.real);
    case CS_VALUE_BOOL: return (cs_operand){.number = (double)value.whole, .is_truth = true};
    case CS_VALUE_NONE: break;
    }
    return column->type == CS_COLUMN_TEXT ? AS_TEXT(NULL) : number((double)NAN);
}

static bool result_value(const cs_result *r, const char *key, cs_operand *value_p)
{
    const cs_row row = {cs_result_columns, r, false};

    for (const cs_column *column = cs_result_columns; column->key != NULL; column++) {
        if (strcmp(column->key, key) == 0) {
            *value_p = operand_of(&row, column);
            return true;
        }
    }
    return false;
}

/* Options are those of the algorithm, or of the model. A run that was not made has none. */
static cs_status option_value(const cs_figure_scope *scope, const cs_result *r, const char *key,
                              cs_operand *value_p, bool *found_p, cs_error *err)
{
    const cs_field   *row     = cs_field_find(r->option_table, key);
    const cs_options *options = &r->options;
    char              text[64];

    if (row == NULL) {
        row     = cs_field_find(r->model_option_table, key);
        options = &r->model_options;
    }
    *found_p = row != NULL;
    if (row == NULL) {
        return CS_OK;
    }
    if (cs_field_text(row, options, text, sizeof text) && row->type != CS_FIELD_BOOL) {
        *value_p = number(strtod(text, NULL));
        return CS_OK;
    }
    *value_p = AS_TEXT(cs_arena_strdup(&scope->table->arena, text));
    return value_p->text != NULL ? CS_OK : CS_NO_MEMORY(err, "the text of an option");
}

static const cs_figure_run *run_of(const cs_figure *figure, const char *name, size_t length)
{
    for (size_t i = 0; i < figure->n_runs; i++) {
        const cs_figure_run *run = &figure->runs[i];
        if (strlen(run->name) == length && memcmp(run->name, name, length) == 0) {
            return run;
        }
    }
    return NULL;
}

/* The value of a run that was not made, or refused: as of one of its type. */
static bool missing_value(const char *key, bool is_option, cs_operand *value_p)
{
    const cs_result none = {.elapsed_s = 0};

    if (!is_option && !result_value(&none, key, value_p)) {
        return false;
    }
    *value_p = number((double)NAN);
    return true;
}

/* ---- what AdapCC's coordinator decided ---- */

static const char        start_key[]   = "start_s";
static const char *const worker_keys[] = {"heard_s", "is_relay"}; /* functions of a rank */

static const cs_figure_start *start_of(const cs_figure_scope *scope, size_t item)
{
    static const cs_figure_start none = {.workers = NULL};

    return item != CS_FIGURE_NO_ITEM && scope->table->items[item].error.status == CS_OK
               ? &scope->table->items[item].start
               : &none;
}

/* Why it was refused, before or in its run; "": it was not. */
static const char *refusal_of(const cs_figure_scope *scope, const cs_figure_run *run, size_t item)
{
    const char *before =
        scope->point != NULL ? scope->point->refusals[run - scope->table->figure->runs] : NULL;

    if (before != NULL) {
        return before;
    }
    return item != CS_FIGURE_NO_ITEM && scope->table->items[item].error.status != CS_OK
               ? scope->table->items[item].error.message
               : "";
}

/* The item of a run in this row, or CS_FIGURE_NO_ITEM. */
static cs_status item_of(const cs_figure_scope *scope, const cs_figure_run *run, const char *key,
                         size_t *item_p, cs_error *err)
{
    if (!scope->has_results) {
        return CS_FAIL(err, CS_EINVAL, "", "%s.%s is not known before the runs", run->name, key);
    }
    *item_p = scope->point != NULL ? scope->point->items[run - scope->table->figure->runs]
                                   : CS_FIGURE_NO_ITEM;
    return CS_OK;
}

static cs_status run_value(const cs_figure_scope *scope, const cs_figure_run *run, const char *key,
                           cs_operand *value_p, bool *found_p, cs_error *err)
{
    static const char options[] = "options.";
    bool              is_option = strncmp(key, options, sizeof options - 1) == 0;
    size_t            item      = CS_FIGURE_NO_ITEM;

    CS_TRY(item_of(scope, run, key, &item, err));
    if (strcmp(key, "refusal") == 0) {
        *value_p = AS_TEXT(refusal_of(scope, run, item));
        *found_p = true;
        return CS_OK;
    }
    if (strcmp(key, start_key) == 0) {
        *value_p = number(start_of(scope, item)->workers != NULL ? start_of(scope, item)->start_s
                                                                 : (double)NAN);
        *found_p = true;
        return CS_OK;
    }
    if (item == CS_FIGURE_NO_ITEM || scope->table->items[item].error.status != CS_OK) {
        *found_p = missing_value(key, is_option, value_p);
        return CS_OK;
    }
    const cs_result *result = &scope->table->items[item].result;
    if (is_option) {
        return option_value(scope, result, key + sizeof options - 1, value_p, found_p, err);
    }
    *found_p = result_value(result, key, value_p);
    return CS_OK;
}

/* RUN.heard_s(RANK), RUN.is_relay(RANK): nan where nothing was decided, or of no such rank. */
static cs_status worker_value(const cs_figure_scope *scope, const char *name, cs_operand argument,
                              cs_operand *value_p, bool *found_p, cs_error *err)
{
    const char          *key  = strchr(name, '.') + 1;
    const cs_figure_run *run  = run_of(scope->table->figure, name, (size_t)(key - 1 - name));
    size_t               item = CS_FIGURE_NO_ITEM;
    bool                 asks = strcmp(key, worker_keys[1]) == 0;

    *found_p = run != NULL && (asks || strcmp(key, worker_keys[0]) == 0);
    if (!*found_p) {
        return CS_OK;
    }
    CS_TRY(item_of(scope, run, key, &item, err));
    const cs_figure_start *start = start_of(scope, item);
    double                 rank  = argument.text == NULL ? argument.number : (double)NAN;
    if (start->workers == NULL || !(rank >= 0 && rank < start->n_ranks)) {
        *value_p = number((double)NAN);
        return CS_OK;
    }
    const cs_figure_worker *worker = &start->workers[(uint32_t)rank];
    *value_p                       = number(asks ? worker->is_relay : worker->heard_s);
    return CS_OK;
}

/* ---- traces ---- */

static bool trace_value(const cs_figure_scope *scope, const char *key, cs_operand *value_p)
{
    const cs_skew *k   = &scope->table->skew;
    const double  *own = scope->table->straggler_delays_s;
    const struct {
        const char *key;
        double      value;
    } values[] = {{"calls", (double)k->n_calls},
                  {"call", (double)(scope->row + 1)},
                  {"ranks", k->n_ranks},
                  {"straggler", k->straggler},
                  {"last_ratio", k->last_ratio},
                  {"delay_s", scope->row < k->n_calls ? k->delays_s[scope->row] : (double)NAN},
                  {"straggler_delay_s", scope->row < k->n_calls ? own[scope->row] : (double)NAN},
                  {"delay_mean_s", k->delay_s.mean.value},
                  {"delay_p50_s", k->delay_s.p50.value},
                  {"delay_p95_s", k->delay_s.p95.value},
                  {"straggler_delay_mean_s", k->straggler_delay_s.mean.value},
                  {"straggler_delay_p50_s", k->straggler_delay_s.p50.value}};

    for (size_t i = 0; i < sizeof values / sizeof values[0] && own != NULL; i++) {
        if (strcmp(values[i].key, key) == 0) {
            *value_p = number(values[i].value);
            return true;
        }
    }
    return false;
}

/* ---- names of the figure ---- */

static bool column_value(const cs_figure_scope *scope, const char *name, cs_operand *value_p)
{
    const cs_figure_table *table  = scope->table;
    const cs_figure       *figure = table->figure;

    for (size_t i = 0; i < scope->n_columns && scope->point != NULL; i++) {
        if (strcmp(figure->columns[i].name, name) == 0) {
            *value_p = table->cells[scope->row * figure->n_columns + i];
            return true;
        }
    }
    return false;
}

static cs_status let_value(cs_figure_scope *scope, const char *name, json_t *let,
                           cs_operand *value_p, cs_error *err)
{
    const char *text  = json_string_value(let);
    cs_error    wrong = {0};
    char        path[CS_PATH_BYTES];
    cs_status   status;

    (void)snprintf(path, sizeof path, "figure.let.%s", name);
    if (text != NULL && text[0] == '=') {
        cs_names names = cs_figure_names(scope);
        if (++scope->depth > MOST_DEPTH) {
            status = CS_FAIL(&wrong, CS_EINVAL, "", "needs itself");
        } else {
            status = cs_expression_value(text + 1, &names, value_p, &wrong);
        }
        scope->depth--;
        return status == CS_OK ? status : cs_figure_blame(scope->table->figure, path, &wrong, err);
    }
    if (text != NULL) {
        *value_p = AS_TEXT(text);
    } else if (json_is_boolean(let)) {
        *value_p = (cs_operand){.number = json_is_true(let), .is_truth = true};
    } else if (json_is_number(let)) {
        *value_p = number(json_number_value(let));
    } else if (json_is_null(let)) {
        *value_p = number((double)NAN);
    } else {
        (void)CS_FAIL(&wrong, CS_EINVAL, "", "is %s: accepted is a number, a text or an expression",
                      cs_tree_kind(let));
        return cs_figure_blame(scope->table->figure, path, &wrong, err);
    }
    return CS_OK;
}

static cs_status plain_value(cs_figure_scope *scope, const char *name, cs_operand *value_p,
                             bool *found_p, cs_error *err)
{
    *found_p = true;
    for (size_t i = 0; i < scope->n_bound; i++) {
        if (strcmp(scope->bound_names[i], name) == 0) {
            *value_p = scope->bound[i];
            return CS_OK;
        }
    }
    if (column_value(scope, name, value_p)) {
        return CS_OK;
    }
    json_t *let = scope->point != NULL ? json_object_get(scope->point->lets, name) : NULL;
    if (let != NULL) {
        return let_value(scope, name, let, value_p, err);
    }
    if (scope->point != NULL && strcmp(name, "row") == 0) {
        *value_p = number((double)(scope->row + 1));
        return CS_OK;
    }
    if (strcmp(name, "changed") == 0) {
        *value_p = (cs_operand){.number = scope->table->figure->is_changed, .is_truth = true};
        return CS_OK;
    }
    if (scope->point != NULL && property_value(&scope->point->base, name, value_p)) {
        return CS_OK;
    }
    if (scope->point != NULL && strcmp(name, profile_key) == 0) {
        return profile_value(&scope->point->base, value_p, err);
    }
    for (size_t i = 0; i < N_UNITS; i++) {
        if (strcmp(units[i].name, name) == 0) {
            *value_p = number(units[i].value);
            return CS_OK;
        }
    }
    *found_p = false;
    return CS_OK;
}

static cs_status value_of(void *user, const char *name, cs_operand *value_p, bool *found_p,
                          cs_error *err)
{
    cs_figure_scope     *scope = user;
    const char          *dot   = strchr(name, '.');
    const cs_figure_run *run;

    if (dot == NULL) {
        return plain_value(scope, name, value_p, found_p, err);
    }
    run = run_of(scope->table->figure, name, (size_t)(dot - name));
    if (run != NULL) {
        return run_value(scope, run, dot + 1, value_p, found_p, err);
    }
    *found_p =
        strncmp(name, "trace.", strlen("trace.")) == 0 && trace_value(scope, dot + 1, value_p);
    return CS_OK;
}

/* ---- functions ---- */

static double least_of(const double *sorted, size_t n)
{
    (void)n;
    return sorted[0];
}

static double most_of(const double *sorted, size_t n)
{
    return sorted[n - 1];
}

static double median_of(const double *sorted, size_t n)
{
    return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

static double mean_of(const double *sorted, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        sum += sorted[i];
    }
    return sum / (double)n;
}

static double geomean_of(const double *sorted, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        sum += log(sorted[i]);
    }
    return exp(sum / (double)n);
}

static const struct row_function {
    const char *name;
    double (*value)(const double *sorted, size_t n); /* n > 0 */
} row_functions[] = {{"least_of", least_of},
                     {"most_of", most_of},
                     {"median_of", median_of},
                     {"mean_of", mean_of},
                     {"geomean_of", geomean_of}};

enum { N_ROW_FUNCTIONS = sizeof row_functions / sizeof row_functions[0] };

static int compare_numbers(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The numbers of a column, sorted; texts and nan are none. They live as long as the table. */
static double *sorted_column(const cs_figure_table *table, size_t column, cs_arena *arena,
                             size_t *n_p)
{
    double *sorted = CS_ARENA_NEW(arena, double, table->n_rows);

    *n_p = 0;
    for (size_t row = 0; row < table->n_rows && sorted != NULL; row++) {
        const cs_operand *cell = &table->cells[row * table->figure->n_columns + column];
        if (cell->text == NULL && !isnan(cell->number)) {
            sorted[(*n_p)++] = cell->number;
        }
    }
    if (*n_p > 0) {
        qsort(sorted, *n_p, sizeof *sorted, compare_numbers);
    }
    return sorted;
}

/* least_of('column') and its like: over all rows, so there is no value before all are known. */
static cs_status value_over_rows(const cs_figure_scope *scope, const struct row_function *function,
                                 cs_operand argument, cs_operand *value_p, cs_error *err)
{
    const cs_figure *figure = scope->table->figure;
    size_t           column = 0, n = 0;

    while (argument.text != NULL && column < figure->n_columns &&
           strcmp(figure->columns[column].name, argument.text) != 0) {
        column++;
    }
    if (argument.text == NULL || column == figure->n_columns) {
        return CS_FAIL(err, CS_EINVAL, "", "%s: accepted is a column's name in quotes%s%.40s%s",
                       function->name, argument.text != NULL ? ", not '" : "",
                       argument.text != NULL ? argument.text : "",
                       argument.text != NULL ? "'" : "");
    }
    if (!scope->table->is_filled) {
        return CS_FAIL(err, CS_EINVAL, "", "%s is not known before all columns are",
                       function->name);
    }
    const double *sorted = sorted_column(scope->table, column, &scope->table->arena, &n);
    if (sorted == NULL) {
        return CS_NO_MEMORY(err, "%zu rows of a column", scope->table->n_rows);
    }
    *value_p = number(n > 0 ? function->value(sorted, n) : (double)NAN);
    return CS_OK;
}

/* A function over rows or of a run's ranks, or a table of the figure: {"6": 7, "12": 15}. What is
 * not in that is nan. */
static cs_status look_up(void *user, const char *name, cs_operand argument, cs_operand *value_p,
                         bool *found_p, cs_error *err)
{
    const cs_figure_scope *scope = user;
    json_t *table = json_object_get(json_object_get(scope->table->figure->tree, "tables"), name);
    char    key[64];

    for (size_t i = 0; i < N_ROW_FUNCTIONS; i++) {
        if (strcmp(row_functions[i].name, name) == 0) {
            *found_p = true;
            return value_over_rows(scope, &row_functions[i], argument, value_p, err);
        }
    }
    if (strchr(name, '.') != NULL) {
        return worker_value(scope, name, argument, value_p, found_p, err);
    }
    *found_p = table != NULL;
    if (table == NULL) {
        return CS_OK;
    }
    (void)snprintf(key, sizeof key, "%.15g", argument.number);
    json_t *value = json_object_get(table, argument.text != NULL ? argument.text : key);
    *value_p      = json_is_string(value)   ? AS_TEXT(json_string_value(value))
                    : json_is_number(value) ? number(json_number_value(value))
                                            : number((double)NAN);
    return CS_OK;
}

/* ---- all names, for the nearest one ---- */

static const char *key_at(json_t *object, size_t index)
{
    const char *key;
    json_t     *value;

    json_object_foreach(object, key, value)
    {
        if (index-- == 0) {
            return key;
        }
    }
    return NULL;
}

static const char *run_key_at(const cs_figure_scope *scope, size_t index)
{
    const size_t     n_columns = cs_columns_count(cs_result_columns), n_keys = n_columns + 3;
    const cs_figure *figure = scope->table->figure;
    size_t           run = index / n_keys, at = index % n_keys;

    if (run >= figure->n_runs) {
        return NULL;
    }
    const char *key   = at < n_columns    ? cs_result_columns[at].key
                        : at == n_columns ? start_key
                                          : worker_keys[at - n_columns - 1];
    size_t      bytes = strlen(figure->runs[run].name) + strlen(key) + 2;
    char       *text  = CS_ARENA_NEW(&scope->table->arena, char, bytes);
    if (text != NULL) {
        (void)snprintf(text, bytes, "%s.%s", figure->runs[run].name, key);
    }
    return text;
}

static const char *known_name(void *user, size_t index)
{
    const cs_figure_scope *scope  = user;
    const cs_figure       *figure = scope->table->figure;
    json_t                *lets   = scope->point != NULL ? scope->point->lets : NULL;
    json_t                *tables = json_object_get(figure->tree, "tables");
    size_t                 n_lets = json_object_size(lets), n_tables = json_object_size(tables);

    if (index < scope->n_bound) {
        return scope->bound_names[index];
    }
    index -= scope->n_bound;
    if (index < scope->n_columns) {
        return figure->columns[index].name;
    }
    index -= scope->n_columns;
    if (index < n_lets) {
        return key_at(lets, index);
    }
    index -= n_lets;
    if (index < n_tables) {
        return key_at(tables, index);
    }
    index -= n_tables;
    if (index < N_PROPERTIES) {
        return properties[index].name;
    }
    index -= N_PROPERTIES;
    if (index < N_UNITS) {
        return units[index].name;
    }
    index -= N_UNITS;
    if (index == 0) {
        return profile_key;
    }
    index--;
    return index < N_ROW_FUNCTIONS ? row_functions[index].name
                                   : run_key_at(scope, index - N_ROW_FUNCTIONS);
}

cs_figure_scope cs_figure_scope_of(cs_figure_table *table, size_t row)
{
    size_t point = table->trace.n_calls > 0 ? 0 : row;

    return (cs_figure_scope){.table       = table,
                             .point       = row < table->n_rows ? &table->points[point] : NULL,
                             .row         = row,
                             .n_columns   = table->figure->n_columns,
                             .has_results = true};
}

cs_names cs_figure_names(cs_figure_scope *scope)
{
    return (cs_names){.value   = value_of,
                      .look_up = look_up,
                      .known   = known_name,
                      .user    = scope,
                      .arena   = &scope->table->arena};
}
