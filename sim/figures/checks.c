/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The checks of a figure. Of every scenario that was run: the schedule is a correct collective, its
 * time is that of the closed form, and no lower bound is above it. Of the rows: what the figure
 * says under "checks". And with the reference numbers of its own cluster, which stand in a file:
 *
 *   {"source": "..", "checks": [..],
 *    "tables": [{"match": ["ranks"], "columns": ["ring_ms"], "relative": 5e-6,
 *                "rows": [[4, 3.59714], [8, 4.21766]]},
 *               {"given": ["p", "l"], "columns": ["theorem_1(p, l)"], "relative": 1e-12,
 *                "rows": [[3, "8/7", "32/23"]]}]}
 *
 * The first cells of a row of a table say which rows of the figure are meant, or bind names; the
 * others are what the columns, or expressions, must be there. null: nothing is known. */
#include "base/alloc.h"
#include "base/file.h"
#include "figures/figure.h"
#include "input/locate.h"
#include "input/reader.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT(list)   (sizeof(list) / sizeof(list)[0])
#define REPLAY_DIGITS 1e-9  /* replays agree with formulas to this, relative */
#define EQUAL_DIGITS  1e-12 /* rows are found by numbers that are equal to this */

enum { MOST_BYTES = 16 << 20, MOST_BOUND = 8, WHAT_BYTES = 320 };

/* ---- counting ---- */

void cs_figure_check(cs_figure_data *data, const char *what, double got, double want,
                     double tolerance)
{
    data->n_checks++;
    if (got == want || fabs(got - want) <= tolerance * fabs(want)) {
        return;
    }
    data->n_failed++;
    cs_text_add(&data->checks, "%s: got %.12g, want %.12g (relative tolerance %.3g)\n", what, got,
                want, tolerance);
}

void cs_figure_expect(cs_figure_data *data, const char *what, bool holds)
{
    data->n_checks++;
    if (!holds) {
        data->n_failed++;
        cs_text_add(&data->checks, "%s: does not hold\n", what);
    }
}

static void check_absolute(cs_figure_data *data, const char *what, double got, double want,
                           double tolerance)
{
    data->n_checks++;
    if (!(fabs(got - want) <= tolerance)) {
        data->n_failed++;
        cs_text_add(&data->checks, "%s: got %.12g, want %.12g (tolerance %.3g)\n", what, got, want,
                    tolerance);
    }
}

/* Write "WHAT in row 3 (ranks = 8)", or "WHAT" where the scope has no row. */
static void describe_row(const cs_figure_scope *scope, const char *what, char text[WHAT_BYTES])
{
    const cs_figure_table *table  = scope->table;
    const cs_figure       *figure = table->figure;
    char                   cell[64];

    if (scope->point == NULL || figure->n_columns == 0) {
        (void)snprintf(text, WHAT_BYTES, "%s", what);
        return;
    }
    const cs_operand *first = &table->cells[scope->row * figure->n_columns];
    cs_number_text(first->number, cell, sizeof cell);
    (void)snprintf(text, WHAT_BYTES, "%s in row %zu (%s = %.60s)", what, scope->row + 1,
                   figure->columns[0].name, first->text != NULL ? first->text : cell);
}

/* ---- of every run ---- */

static void check_item(cs_figure_data *data, const cs_figure_table *table,
                       const cs_figure_item *item)
{
    const cs_result *r = &item->result;
    char             what[WHAT_BYTES];

    (void)snprintf(what, sizeof what, "run '%s' of row %zu, %s of %u ranks",
                   table->figure->runs[item->run].name, item->row + 1, r->algorithm,
                   (unsigned)r->ranks);
    size_t n = strlen(what);
    if (item->c.job.verify) {
        (void)snprintf(what + n, sizeof what - n, ": the schedule is a correct %s", r->collective);
        cs_figure_expect(data, what, r->verified);
    }
    if (!isnan(r->closed_form_s) && isnan(r->published_form_s)) {
        (void)snprintf(what + n, sizeof what - n, ": replay against closed form, s");
        cs_figure_check(data, what, r->elapsed_s, r->closed_form_s, REPLAY_DIGITS);
    }
    (void)snprintf(what + n, sizeof what - n, ": not faster than the bound %s", r->bound);
    cs_figure_expect(data, what, r->bound_s <= r->elapsed_s * (1 + REPLAY_DIGITS));
}

/* ---- rules ---- */

/* Add the values of the names in a rule that does not hold. */
static void add_values(cs_figure_data *data, const cs_names *names, const char *expression)
{
    char text[512], *save = NULL;

    cs_expression_names(expression, text, sizeof text);
    for (char *name = strtok_r(text, " ", &save); name != NULL; name = strtok_r(NULL, " ", &save)) {
        cs_operand value = {0};
        cs_error   wrong = {0};
        if (cs_expression_value(name, names, &value, &wrong) == CS_OK && value.text != NULL) {
            cs_text_add(&data->checks, "    %s = '%s'\n", name, value.text);
        } else if (wrong.status == CS_OK) {
            cs_text_add(&data->checks, "    %s = %.12g\n", name, value.number);
        }
    }
}

static void compare(cs_figure_data *data, const char *what, double got, double want,
                    double relative, double absolute)
{
    if (absolute > 0) {
        check_absolute(data, what, got, want, absolute);
    } else {
        cs_figure_check(data, what, got, want, relative);
    }
}

static cs_status check_holds(cs_figure_data *data, const cs_figure_rule *rule,
                             const cs_names *names, const char *what, cs_error *err)
{
    double holds = 0;

    CS_TRY(cs_expression_number(rule->holds, names, &holds, err));
    cs_figure_expect(data, what, holds > 0);
    if (!(holds > 0)) {
        add_values(data, names, rule->holds);
    }
    return CS_OK;
}

static cs_status check_value(cs_figure_data *data, const cs_figure_rule *rule,
                             const cs_names *names, const char *what, cs_error *err)
{
    double value = 0, is = 0;

    CS_TRY(cs_expression_number(rule->value, names, &value, err));
    CS_TRY(cs_expression_number(rule->is, names, &is, err));
    compare(data, what, value, is, rule->relative, rule->absolute);
    return CS_OK;
}

/* In one row; *applies_p is left alone where it does not apply to that. */
static cs_status check_row(cs_figure_data *data, const cs_figure_rule *rule, cs_figure_scope *scope,
                           bool *applies_p, cs_error *err)
{
    cs_names  names = cs_figure_names(scope);
    double    where = 1;
    char      what[WHAT_BYTES];
    cs_status status =
        rule->where != NULL ? cs_expression_number(rule->where, &names, &where, err) : CS_OK;

    if (status != CS_OK || !(where > 0)) {
        return status;
    }
    *applies_p = true;
    describe_row(scope, rule->what, what);
    return rule->holds != NULL ? check_holds(data, rule, &names, what, err)
                               : check_value(data, rule, &names, what, err);
}

/* All rules in all rows. An error has the path of its rule, below `path`. `must_apply`: a rule that
 * applies to no row has failed. */
static cs_status check_rules(cs_figure_data *data, cs_figure_table *table,
                             const cs_figure_rule *rules, size_t n, const char *path,
                             bool must_apply, cs_error *err)
{
    for (size_t i = 0; i < n; i++) {
        bool applies = !must_apply;
        for (size_t row = 0; row < table->n_rows; row++) {
            cs_figure_scope scope  = cs_figure_scope_of(table, row);
            cs_error        wrong  = {0};
            cs_status       status = check_row(data, &rules[i], &scope, &applies, &wrong);
            if (status != CS_OK) {
                char where[CS_PATH_BYTES];
                cs_path_add_index(where, path, i);
                return CS_FAIL(err, status, wrong.where[0] != '\0' ? wrong.where : where, "%s",
                               wrong.message);
            }
        }
        if (!applies) {
            cs_figure_expect(data, rules[i].what, false);
            cs_text_add(&data->checks, "    it applies to no row\n");
        }
    }
    return CS_OK;
}

/* ---- tables of references ---- */

/* A table as it is worked through. */
typedef struct reference_table {
    const char *what;
    size_t      n_keys, n_columns;
    const char *keys[MOST_BOUND];
    cs_operand  values[MOST_BOUND]; /* of the keys, in the row at hand */
    bool        is_given;           /* the keys bind names; else they find rows */
    double      relative, absolute;
    cs_place    columns, rows;
} reference_table;

#define LIST(key)                                                 \
    {                                                             \
        .name = (key), .type = CS_FIELD_ANY, .offset = CS_NOWHERE \
    }
#define REQUIRED_LIST(key)                                                             \
    {                                                                                  \
        .name = (key), .type = CS_FIELD_ANY, .offset = CS_NOWHERE, .is_required = true \
    }
static const cs_field table_fields[] = {
    CS_KEY(reference_table, what, "what", .help = "of the table, in words"),
    LIST("match"),
    LIST("given"),
    REQUIRED_LIST("columns"),
    REQUIRED_LIST("rows"),
    CS_KEY(reference_table, relative, "relative", .max = 1),
    CS_KEY(reference_table, absolute, "absolute", .max = 1e300),
    CS_FIELD_END,
};
static const cs_field reference_fields[] = {
    {.name = "source", .type = CS_FIELD_TEXT, .offset = CS_NOWHERE, .is_required = true},
    LIST("tables"),
    LIST("checks"),
    CS_FIELD_END,
};

/* A cell: a number, a text, or the text of an expression, which a number with digits begins. */
static cs_status cell_value(cs_reading *r, cs_figure_table *table, const cs_place *cell,
                            cs_operand *value_p)
{
    cs_figure_scope scope = {.table = table};
    cs_names        names = cs_figure_names(&scope);
    const char     *text  = json_string_value(cell->node);
    cs_error        wrong = {0};

    if (json_is_number(cell->node)) {
        *value_p = (cs_operand){.number = json_number_value(cell->node)};
    } else if (text != NULL && text[0] >= '0' && text[0] <= '9') {
        if (cs_expression_value(text, &names, value_p, &wrong) != CS_OK) {
            CS_REFUSE(r, cell, wrong.status, "%s", wrong.message);
        }
    } else if (text != NULL) {
        *value_p = (cs_operand){.text = text};
    } else if (json_is_null(cell->node)) {
        *value_p = (cs_operand){.number = (double)NAN};
    } else {
        CS_REFUSE(r, cell, CS_EINVAL, "accepted is a number, a text like \"32/23\", or null");
    }
    return r->error.status;
}

static bool are_equal(cs_operand a, cs_operand b)
{
    if (a.text != NULL || b.text != NULL) {
        return a.text != NULL && b.text != NULL && strcmp(a.text, b.text) == 0;
    }
    return a.number == b.number || (isnan(a.number) && isnan(b.number)) ||
           fabs(a.number - b.number) <= EQUAL_DIGITS * fabs(b.number);
}

/* Do the keys have their values in this row of the figure? */
static bool matches_keys(cs_reading *r, const reference_table *t, cs_figure_scope *scope,
                         const cs_place *row)
{
    cs_names names = cs_figure_names(scope);
    bool     is_it = true;

    for (size_t i = 0; i < t->n_keys && is_it && !cs_reading_failed(r); i++) {
        cs_operand value = {0};
        cs_error   wrong = {0};
        if (cs_expression_value(t->keys[i], &names, &value, &wrong) != CS_OK) {
            CS_REFUSE(r, row, wrong.status, "%s", wrong.message);
        }
        is_it = are_equal(value, t->values[i]);
    }
    return is_it;
}

/* The cells behind the keys, in the scope of a row or of the names that are bound. */
static void check_cells(cs_reading *r, cs_figure_data *data, const reference_table *t,
                        cs_figure_scope *scope, const cs_place *row)
{
    cs_names names = cs_figure_names(scope);

    for (size_t i = 0; i < t->n_columns && !cs_reading_failed(r); i++) {
        cs_place    cell   = cs_place_item(row, t->n_keys + i);
        cs_place    column = cs_place_item(&t->columns, i);
        const char *text   = json_string_value(column.node);
        cs_operand  want   = {0};
        double      got    = 0;
        cs_error    wrong  = {0};
        char        what[WHAT_BYTES], about[200];
        if (json_is_null(cell.node) || cell_value(r, scope->table, &cell, &want) != CS_OK) {
            continue;
        }
        if (cs_expression_number(text, &names, &got, &wrong) != CS_OK) {
            CS_REFUSE(r, &column, wrong.status, "%s", wrong.message);
            return;
        }
        (void)snprintf(about, sizeof about, "%s%s%.100s", t->what != NULL ? t->what : "",
                       t->what != NULL ? ", " : "", text);
        describe_row(scope, about, what);
        compare(data, what, got, want.number, t->relative, t->absolute);
    }
}

static void describe_keys(const reference_table *t, char text[WHAT_BYTES])
{
    size_t n = 0;

    for (size_t i = 0; i < t->n_keys && n < WHAT_BYTES - 1; i++) {
        char cell[64];
        cs_number_text(t->values[i].number, cell, sizeof cell);
        n += (size_t)snprintf(text + n, WHAT_BYTES - n, "%s%s = %.60s", i > 0 ? ", " : "",
                              t->keys[i], t->values[i].text != NULL ? t->values[i].text : cell);
    }
}

static void check_reference_row(cs_reading *r, cs_figure_data *data, cs_figure_table *table,
                                reference_table *t, const cs_place *row)
{
    bool is_found = t->is_given;

    if (cs_read_elements(r, row) != t->n_keys + t->n_columns) {
        CS_REFUSE(r, row, CS_EINVAL, "accepted are as many cells as there are names: %zu",
                  t->n_keys + t->n_columns);
    }
    for (size_t i = 0; i < t->n_keys && !cs_reading_failed(r); i++) {
        cs_place cell = cs_place_item(row, i);
        (void)!cell_value(r, table, &cell, &t->values[i]);
    }
    if (t->is_given) {
        cs_figure_scope scope = {
            .table = table, .bound_names = t->keys, .bound = t->values, .n_bound = t->n_keys};
        check_cells(r, data, t, &scope, row);
    }
    for (size_t i = 0; i < table->n_rows && !t->is_given && !cs_reading_failed(r); i++) {
        cs_figure_scope scope = cs_figure_scope_of(table, i);
        if (matches_keys(r, t, &scope, row)) {
            is_found = true;
            check_cells(r, data, t, &scope, row);
        }
    }
    if (!is_found && !cs_reading_failed(r)) {
        char what[WHAT_BYTES] = "";
        char text[WHAT_BYTES + 32];
        describe_keys(t, what);
        (void)snprintf(text, sizeof text, "there is a row with %s", what);
        cs_figure_expect(data, text, false);
    }
}

static void read_names(cs_reading *r, const cs_place *list, reference_table *t)
{
    size_t n = cs_read_elements(r, list);

    if (n > MOST_BOUND && !cs_reading_failed(r)) {
        CS_REFUSE(r, list, CS_EINVAL, "accepted are at most %d names", MOST_BOUND);
    }
    for (size_t i = 0; i < n && !cs_reading_failed(r); i++) {
        cs_place item = cs_place_item(list, i);
        t->keys[i]    = json_string_value(item.node);
        if (t->keys[i] == NULL) {
            CS_REFUSE(r, &item, CS_EINVAL, "is %s: accepted is a name", cs_tree_kind(item.node));
        }
    }
    t->n_keys = n;
}

static void check_table(cs_reading *r, cs_figure_data *data, cs_figure_table *table,
                        const cs_place *field)
{
    reference_table t = {.what = NULL};

    if (field->node == NULL || !cs_read_fields(r, field, table_fields, &t)) {
        return;
    }
    cs_place match = cs_place_get(field, "match"), given = cs_place_get(field, "given");
    t.is_given = given.node != NULL;
    t.columns  = cs_place_get(field, "columns");
    t.rows     = cs_place_get(field, "rows");
    read_names(r, t.is_given ? &given : &match, &t);
    t.n_columns = cs_read_elements(r, &t.columns);
    for (size_t i = 0; i < t.n_columns && !cs_reading_failed(r); i++) {
        cs_place column = cs_place_item(&t.columns, i);
        if (!json_is_string(column.node)) {
            CS_REFUSE(r, &column, CS_EINVAL, "is %s: accepted is a column or an expression",
                      cs_tree_kind(column.node));
        }
    }
    size_t n = cs_read_elements(r, &t.rows);
    for (size_t i = 0; i < n && !cs_reading_failed(r); i++) {
        cs_place row = cs_place_item(&t.rows, i);
        check_reference_row(r, data, table, &t, &row);
    }
}

static void check_reference(cs_reading *r, cs_figure_data *data, cs_figure_table *table,
                            json_t *tree)
{
    cs_place        root = cs_place_root(tree), tables = cs_place_get(&root, "tables");
    cs_place        checks  = cs_place_get(&root, "checks");
    cs_figure_rule *rules   = NULL;
    size_t          n_rules = 0;

    if (!cs_read_fields(r, &root, reference_fields, NULL)) {
        return;
    }
    cs_figure_read_rules(r, &checks, &rules, &n_rules);
    size_t n = cs_read_elements(r, &tables);
    for (size_t i = 0; i < n && !cs_reading_failed(r); i++) {
        cs_place item = cs_place_item(&tables, i);
        check_table(r, data, table, &item);
    }
    if (!cs_reading_failed(r)) {
        (void)!check_rules(data, table, rules, n_rules, "checks", true, &r->error);
    }
}

static cs_status check_reference_file(cs_figure_data *data, cs_figure_table *table, cs_error *err)
{
    const char *path    = table->figure->reference;
    cs_reading  reading = {.arena = &table->arena};
    char       *text    = NULL;
    size_t      length  = 0;
    json_t     *tree    = NULL;
    cs_status   status  = cs_file_read(path, MOST_BYTES, &text, &length, err);

    if (status == CS_OK) {
        status = cs_tree_parse(text, length, path, &tree, err);
    }
    if (status == CS_OK) {
        check_reference(&reading, data, table, tree);
        if (cs_reading_failed(&reading)) {
            int line = 0, column = 0;
            cs_locate(text, length, reading.error.where, reading.key_is_wrong, &line, &column);
            cs_error_locate(&reading.error, path, line, column);
            status = reading.error.status;
            *err   = reading.error;
        }
    }
    json_decref(tree);
    cs_free(text);
    return status;
}

cs_status cs_figure_check_all(cs_figure_table *table, cs_figure_data *data, cs_error *err)
{
    const cs_figure *figure = table->figure;
    cs_error         wrong  = {0};
    cs_status        status;

    for (size_t i = 0; i < table->n_items; i++) {
        if (table->items[i].error.status == CS_OK) {
            check_item(data, table, &table->items[i]);
        }
    }
    status =
        check_rules(data, table, figure->rules, figure->n_rules, "figure.checks", false, &wrong);
    if (status != CS_OK) {
        return cs_figure_blame(figure, "figure.checks", &wrong, err);
    }
    data->skips_references = figure->reference != NULL && figure->is_changed;
    return figure->reference != NULL && !figure->is_changed ? check_reference_file(data, table, err)
                                                            : CS_OK;
}
