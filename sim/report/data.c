/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results as columns. A column begins with the row that has its first value; rows before it have
 * none. One that has words and numbers has words. */
#include "report/data.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/random.h"
#include "campaign/config_run.h"
#include "cs/config.h"
#include "cs/units.h"
#include "input/csv.h"
#include "input/tree.h"
#include "output/result_rows.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 30, TITLE_BYTES = 64 };

#define ACCEPTED                                                                             \
    "accepted are results (a database of 'collsim sweep', a CSV whose first line names its " \
    "columns, a JSON array of objects) and a configuration (a JSON object)"

static cs_status no_memory(cs_error *err)
{
    return CS_NO_MEMORY(err, "a table of results");
}

/* ---- building ---- */

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Of a swept key "cluster.topology.uplink_bandwidth_Bps": "uplink bandwidth"; where its last part
 * says nothing by itself, with the one before it: "nic bandwidth". */
static void key_title(const char *name, char *title, size_t bytes)
{
    static const char *const units[]   = {"_Bps", "_bytes", "_s"};
    static const char *const nothing[] = {"bandwidth", "alpha", "kind", "name"};
    const char              *dot = strrchr(name, '.'), *last = dot != NULL ? dot + 1 : name;

    (void)snprintf(title, bytes, "%s", last);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (cs_ends_in(title, units[i])) {
            title[strlen(title) - strlen(units[i])] = '\0';
            break;
        }
    }
    if (dot != NULL && is_one_of(title, nothing, sizeof nothing / sizeof nothing[0])) {
        const char *from = dot;
        while (from > name && from[-1] != '.') {
            from--;
        }
        char word[16]; /* one of the four */
        int  length = dot - from < 40 ? (int)(dot - from) : 40;
        (void)snprintf(word, sizeof word, "%.15s", title);
        (void)snprintf(title, bytes, "%.*s %s", length, from, word);
    }
    for (char *c = title; *c != '\0'; c++) {
        if (*c == '_') {
            *c = ' ';
        }
    }
}

/* What a column is called in words. */
static void title_of(const char *column, char *text, size_t bytes)
{
    static const struct {
        const char *column, *title;
    } titles[] = {
        {"ranks", "GPUs"},
        {"bytes", "size"},
        {"exposed_s", "exposed time, from the last arrival on"},
        {"elapsed_s", "elapsed time, from the first arrival on"},
        {"bound_s", "lower bound"},
        {"gap", "elapsed time over the lower bound"},
        {"busbw_GBps", "bus bandwidth, GB/s"},
        {"algbw_GBps", "algorithm bandwidth, GB/s"},
        {"critical_delay_s", "critical delay"},
        {"ideal_delay_s", "ideal delay"},
        {"cluster.nic.alpha_s", "start-up time of a message"},
        {"gpus_per_server", "GPUs a server"},
    };

    for (size_t i = 0; i < sizeof titles / sizeof titles[0]; i++) {
        if (strcmp(titles[i].column, column) == 0) {
            (void)snprintf(text, bytes, "%s", titles[i].title);
            return;
        }
    }
    if (strncmp(column, "arrivals.late[", 14) == 0 && cs_ends_in(column, "delay_s")) {
        (void)snprintf(text, bytes, "delay of the late GPU");
    } else if (strchr(column, '.') != NULL) {
        key_title(column, text, bytes);
    } else {
        (void)snprintf(text, bytes, "%s", column);
    }
}

/* The column of that name, which is added where it is not there; NULL: no memory, or too many. */
static cs_data_column *column_for(cs_data *data, const char *name)
{
    for (size_t i = 0; i < data->n_columns; i++) {
        if (strcmp(data->columns[i].name, name) == 0) {
            return &data->columns[i];
        }
    }
    if (data->columns == NULL) {
        data->columns = CS_NEW(cs_data_column, CS_DATA_MOST_COLUMNS);
    }
    if (data->columns == NULL || data->n_columns == CS_DATA_MOST_COLUMNS) {
        return NULL;
    }
    cs_data_column *column = &data->columns[data->n_columns];
    char            title[TITLE_BYTES];
    title_of(name, title, sizeof title);
    column->name   = cs_arena_strdup(&data->arena, name);
    column->title  = cs_arena_strdup(&data->arena, title);
    column->values = CS_NEW(double, data->row_room);
    if (column->name == NULL || column->title == NULL || column->values == NULL) {
        cs_free(column->values);
        column->values = NULL;
        return NULL;
    }
    for (size_t r = 0; r < data->row_room; r++) {
        column->values[r] = (double)NAN;
    }
    data->n_columns++;
    return column;
}

/* Room for one more row. */
static cs_status grow(cs_data *data, cs_error *err)
{
    if (data->n_rows < data->row_room) {
        return CS_OK;
    }
    size_t room = data->row_room > 0 ? 2 * data->row_room : 256;
    for (size_t i = 0; i < data->n_columns; i++) {
        double *values = cs_realloc(data->columns[i].values, room, sizeof *values);
        if (values == NULL) {
            return no_memory(err);
        }
        for (size_t r = data->row_room; r < room; r++) {
            values[r] = (double)NAN;
        }
        data->columns[i].values = values;
    }
    double *scratch = cs_realloc(data->scratch, room, sizeof *scratch);
    if (scratch == NULL) {
        return no_memory(err);
    }
    data->scratch  = scratch;
    data->row_room = room;
    return CS_OK;
}

static size_t place_of(const cs_data_column *column, const char *word)
{
    size_t mask = column->place_room - 1;
    size_t at   = (size_t)cs_hash_add(CS_HASH_BASIS, word, strlen(word)) & mask;

    while (column->places[at] > 0 && strcmp(column->words[column->places[at] - 1], word) != 0) {
        at = (at + 1) & mask;
    }
    return at;
}

static bool grow_words(cs_data_column *column)
{
    size_t       room  = column->word_room > 0 ? 2 * column->word_room : 16;
    const char **words = cs_realloc(column->words, room, sizeof *words);

    if (words == NULL) {
        return false;
    }
    column->words     = words;
    column->word_room = room;
    size_t *places    = CS_NEW(size_t, 4 * room);
    if (places == NULL) {
        return false;
    }
    cs_free(column->places);
    column->places     = places;
    column->place_room = 4 * room;
    for (size_t i = 0; i < column->n_words; i++) {
        places[place_of(column, words[i])] = i + 1;
    }
    return true;
}

/* The place of a word in its column. */
static cs_status intern(cs_data *data, cs_data_column *column, const char *word, double *place_p,
                        cs_error *err)
{
    if (column->n_words == column->word_room && !grow_words(column)) {
        return no_memory(err);
    }
    size_t at = place_of(column, word);
    if (column->places[at] == 0) {
        const char *kept = cs_arena_strdup(&data->arena, word);
        if (kept == NULL) {
            return no_memory(err);
        }
        column->words[column->n_words] = kept;
        column->places[at]             = ++column->n_words;
    }
    *place_p = (double)(column->places[at] - 1);
    return CS_OK;
}

/* Numbers that are there become words. */
static cs_status make_words(cs_data *data, cs_data_column *column, cs_error *err)
{
    char text[32];

    column->has_words = true;
    for (size_t r = 0; r < data->n_rows; r++) {
        if (!isnan(column->values[r])) {
            cs_number_text(column->values[r], text, sizeof text);
            CS_TRY(intern(data, column, text, &column->values[r], err));
        }
    }
    return CS_OK;
}

/* Give the row that is being read a value: a word, or (NULL) a number. */
static cs_status put(cs_data *data, const char *name, const char *word, double number,
                     cs_error *err)
{
    cs_data_column *column = column_for(data, name);
    char            text[32];

    if (column == NULL) {
        return data->n_columns == CS_DATA_MOST_COLUMNS
                   ? CS_FAIL(err, CS_EINVAL, name, "more than %d columns", CS_DATA_MOST_COLUMNS)
                   : no_memory(err);
    }
    if (word != NULL && !column->has_words) {
        CS_TRY(make_words(data, column, err));
    }
    if (word == NULL && column->has_words) {
        cs_number_text(number, text, sizeof text);
        word = text;
    }
    if (word != NULL) {
        return intern(data, column, word, &column->values[data->n_rows], err);
    }
    column->values[data->n_rows] = number;
    return CS_OK;
}

/* ---- sources ---- */

/* What identifies a row, or says at length what it was, is not looked at. */
static bool is_shown(const cs_data *data, const char *name)
{
    return data->has_scenarios || strcmp(name, "scenario") != 0;
}

static cs_status visit_row(void *user, const char *const *names, const cs_value *values, size_t n,
                           cs_error *err)
{
    cs_data *data = user;

    CS_TRY(grow(data, err));
    for (size_t i = 0; i < n; i++) {
        bool is_word = values[i].type == CS_VALUE_TEXT;
        if (values[i].type == CS_VALUE_NONE || !is_shown(data, names[i])) {
            continue;
        }
        double number = values[i].type == CS_VALUE_REAL ? values[i].real : (double)values[i].whole;
        CS_TRY(put(data, names[i], is_word ? values[i].text : NULL, is_word ? 0 : number, err));
    }
    data->n_rows++;
    return CS_OK;
}

static cs_status put_node(cs_data *data, const char *name, const json_t *node, cs_error *err)
{
    if (json_is_null(node) || !is_shown(data, name)) {
        return CS_OK;
    }
    if (json_is_number(node)) {
        return put(data, name, NULL, json_number_value(node), err);
    }
    if (json_is_boolean(node)) {
        return put(data, name, NULL, json_is_true(node) ? 1 : 0, err);
    }
    if (json_is_string(node)) {
        return put(data, name, json_string_value(node), 0, err);
    }
    char *text = json_dumps(node, JSON_COMPACT | JSON_SORT_KEYS);
    if (text == NULL) {
        return no_memory(err);
    }
    cs_status status = put(data, name, text, 0, err);
    cs_string_free(text);
    return status;
}

static cs_status take_json(cs_data *data, const char *text, size_t length, cs_error *err)
{
    json_t     *rows = NULL, *row, *node;
    const char *name;
    size_t      i;
    cs_status   status = cs_tree_parse_array(text, length, data->name, &rows, err);

    if (status != CS_OK) {
        return status;
    }
    json_array_foreach(rows, i, row)
    {
        if (status == CS_OK && !json_is_object(row)) {
            status = CS_FAIL(err, CS_EPARSE, "", "element %zu is no object: " ACCEPTED, i);
        }
        status = status == CS_OK ? grow(data, err) : status;
        json_object_foreach(row, name, node)
        {
            status = status == CS_OK ? put_node(data, name, node, err) : status;
        }
        data->n_rows += status == CS_OK ? 1 : 0;
    }
    json_decref(rows);
    return status;
}

typedef struct csv_reading {
    cs_csv      csv;
    const char *names[CS_DATA_MOST_COLUMNS];
    size_t      n;
} csv_reading;

static cs_status read_header(csv_reading *r, cs_error *err)
{
    char *name = NULL;

    CS_TRY(cs_csv_cell(&r->csv, &name, err));
    while (name != NULL) {
        if (name[0] == '\0') {
            return CS_FAIL(err, CS_EPARSE, "", "a column without a name: " ACCEPTED);
        }
        for (size_t i = 0; i < r->n; i++) {
            if (strcmp(r->names[i], name) == 0) {
                return CS_FAIL(err, CS_EPARSE, "", "the column '%.40s' is there twice", name);
            }
        }
        if (r->n == CS_DATA_MOST_COLUMNS) {
            return CS_FAIL(err, CS_EPARSE, "", "more than %d columns", CS_DATA_MOST_COLUMNS);
        }
        r->names[r->n++] = name;
        CS_TRY(cs_csv_cell(&r->csv, &name, err));
    }
    return CS_OK;
}

static cs_status read_line(csv_reading *r, cs_data *data, cs_error *err)
{
    size_t n    = 0;
    char  *cell = NULL;

    CS_TRY(grow(data, err));
    CS_TRY(cs_csv_cell(&r->csv, &cell, err));
    for (; cell != NULL; n++) {
        double number    = 0;
        bool   is_number = cs_csv_number(cell, &number);
        bool   is_flag   = strcmp(cell, "true") == 0 || strcmp(cell, "false") == 0;
        if (n < r->n && cell[0] != '\0' && is_shown(data, r->names[n])) {
            number = is_flag ? cell[0] == 't' : number;
            CS_TRY(put(data, r->names[n], is_number || is_flag ? NULL : cell, number, err));
        }
        CS_TRY(cs_csv_cell(&r->csv, &cell, err));
    }
    if (n != r->n) {
        return CS_FAIL(err, CS_EPARSE, "", "%zu cells where the header has %zu", n, r->n);
    }
    data->n_rows++;
    return CS_OK;
}

static cs_status read_csv(const char *path, cs_data *data, cs_error *err)
{
    csv_reading *r      = CS_NEW(csv_reading, 1);
    cs_error     wrong  = {0};
    cs_status    status = r != NULL ? cs_csv_open(path, MOST_BYTES, &r->csv, &wrong) : CS_ENOMEM;

    if (r == NULL) {
        return no_memory(err);
    }
    while (status == CS_OK && cs_csv_line(&r->csv)) {
        status = r->n == 0 ? read_header(r, &wrong) : read_line(r, data, &wrong);
    }
    if (status != CS_OK) {
        if (r->csv.text != NULL) {
            cs_csv_locate(&r->csv, &wrong);
        }
        if (err != NULL) {
            *err = wrong;
        }
    }
    cs_csv_close(&r->csv);
    cs_free(r);
    return status;
}

static cs_status read_json(const char *path, cs_data *data, cs_error *err)
{
    char  *text   = NULL;
    size_t length = 0;

    CS_TRY(cs_file_read(path, MOST_BYTES, &text, &length, err));
    cs_status status = take_json(data, text, length, err);
    cs_free(text);
    return status;
}

/* ---- what a file is ---- */

typedef enum file_form { FORM_OBJECT, FORM_ARRAY, FORM_DATABASE, FORM_OTHER } file_form;

static cs_status form_of(const char *path, file_form *form_p, cs_error *err)
{
    static const char sqlite[] = "SQLite format 3";
    char              begin[512];
    FILE             *file = fopen(path, "rbe");
    size_t            n, at = 0;

    if (file == NULL) {
        return CS_FAIL(err, CS_EIO, path, "cannot read: %s", strerror(errno));
    }
    n        = fread(begin, 1, sizeof begin - 1, file);
    begin[n] = '\0';
    if (ferror(file) != 0) {
        int code = errno;
        (void)fclose(file);
        return CS_FAIL(err, CS_EIO, path, "cannot read: %s", strerror(code));
    }
    (void)fclose(file);
    while (isspace((unsigned char)begin[at])) {
        at++;
    }
    *form_p = n >= sizeof sqlite && memcmp(begin, sqlite, sizeof sqlite) == 0 ? FORM_DATABASE
              : begin[at] == '{'                                              ? FORM_OBJECT
              : begin[at] == '['                                              ? FORM_ARRAY
                                                                              : FORM_OTHER;
    return CS_OK;
}

cs_status cs_data_kind_of(const char *path, cs_data_kind *kind_p, cs_error *err)
{
    file_form form = FORM_OTHER;

    CS_TRY(form_of(path, &form, err));
    *kind_p = form == FORM_OBJECT ? CS_DATA_CONFIG : CS_DATA_ROWS;
    return CS_OK;
}

cs_status cs_data_read(const char *path, cs_data *data, cs_error *err)
{
    file_form form   = FORM_OTHER;
    cs_status status = form_of(path, &form, err);

    *data = (cs_data){.name = path, .has_scenarios = data->has_scenarios};
    if (status == CS_OK) {
        switch (form) {
        case FORM_DATABASE:
            status = cs_store_read(path, &cs_results_table, visit_row, data, err);
            break;
        case FORM_ARRAY:
        case FORM_OBJECT: status = read_json(path, data, err); break;
        case FORM_OTHER: status = read_csv(path, data, err); break;
        }
    }
    if (status == CS_OK && data->n_rows == 0) {
        status = CS_FAIL(err, CS_EINVAL, path, "has no rows: " ACCEPTED);
    }
    if (status != CS_OK) {
        cs_data_free(data);
    }
    return status;
}

cs_status cs_data_run(const cs_config *config, unsigned jobs, cs_data *data, cs_error *err)
{
    return cs_data_run_told(config, jobs, NULL, data, err);
}

cs_status cs_data_run_told(const cs_config *config, unsigned jobs, const cs_listener *listener,
                           cs_data *data, cs_error *err)
{
    char *json = NULL;

    *data = (cs_data){.name = "", .has_scenarios = data->has_scenarios};
    CS_TRY(cs_config_run_told(config, jobs, listener, &json, err));
    cs_status status = take_json(data, json, strlen(json), err);
    cs_string_free(json);
    if (status != CS_OK) {
        cs_data_free(data);
    }
    return status;
}

cs_status cs_data_take(cs_data *data, const char *json, size_t length, cs_error *err)
{
    *data            = (cs_data){.name = "", .has_scenarios = data->has_scenarios};
    cs_status status = take_json(data, json, length, err);

    if (status == CS_OK && data->n_rows == 0) {
        status = CS_FAIL(err, CS_EINVAL, "", "has no rows: " ACCEPTED);
    }
    if (status != CS_OK) {
        cs_data_free(data);
    }
    return status;
}

void cs_data_free(cs_data *data)
{
    for (size_t i = 0; i < data->n_columns; i++) {
        cs_free(data->columns[i].values);
        cs_free(data->columns[i].words);
        cs_free(data->columns[i].places);
    }
    cs_free(data->columns);
    cs_free(data->scratch);
    cs_arena_free(&data->arena);
    *data = (cs_data){0};
}

/* ---- looking at it ---- */

const cs_data_column *cs_data_find(const cs_data *data, const char *name)
{
    for (size_t i = 0; i < data->n_columns; i++) {
        if (strcmp(data->columns[i].name, name) == 0) {
            return &data->columns[i];
        }
    }
    return NULL;
}

/* "delay" for "arrivals.late[0].delay_s": the end of a swept key without its unit, where only one
 * column has it. */
static const cs_data_column *find_by_end(const cs_data *data, const char *name)
{
    static const char *const units[] = {"", "_s", "_bytes", "_Bps"};
    const cs_data_column    *found   = NULL;

    for (size_t i = 0; i < data->n_columns; i++) {
        const char *dot = strrchr(data->columns[i].name, '.'), *end = dot != NULL ? dot + 1 : "";
        size_t      length = strlen(name);
        bool        fits   = false;
        for (size_t u = 0; u < sizeof units / sizeof units[0] && length > 0; u++) {
            fits = fits || (strncmp(end, name, length) == 0 && strcmp(end + length, units[u]) == 0);
        }
        if (fits && found != NULL) {
            return NULL;
        }
        found = fits ? &data->columns[i] : found;
    }
    return found;
}

cs_status cs_data_column_of(const cs_data *data, const char *name, const char *option,
                            const cs_data_column **column_p, cs_error *err)
{
    cs_text   names = {0};
    cs_status status;

    *column_p = cs_data_find(data, name);
    if (*column_p == NULL) {
        *column_p = find_by_end(data, name);
    }
    if (*column_p != NULL) {
        return CS_OK;
    }
    for (size_t i = 0; i < data->n_columns; i++) {
        cs_text_add(&names, "%s%s", i > 0 ? ", " : "", data->columns[i].name);
    }
    status = cs_text_status(&names, err);
    if (status == CS_OK) {
        status = CS_FAIL(err, CS_EINVAL, option, "there is no column '%.60s': accepted are %.400s",
                         name, names.data != NULL ? names.data : "none");
    }
    cs_text_free(&names);
    return status;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

size_t cs_data_values(const cs_data *data, const cs_data_column *column, double *values,
                      size_t most)
{
    double *all = data->scratch;
    size_t  n = 0, different = 0;

    for (size_t r = 0; r < data->n_rows; r++) {
        if (!isnan(column->values[r])) {
            all[n++] = column->values[r];
        }
    }
    if (n > 0) {
        qsort(all, n, sizeof *all, by_value);
    }
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || all[i] > all[i - 1]) {
            if (values != NULL && different < most) {
                values[different] = all[i];
            }
            different++;
        }
    }
    return different;
}

const char *cs_data_word(const cs_data_column *column, size_t row)
{
    return !column->has_words || isnan(column->values[row])
               ? NULL
               : column->words[(size_t)column->values[row]];
}

bool cs_data_is_input(const char *name)
{
    static const char *const inputs[]  = {"algorithm", "collective", "model",
                                          "ranks",     "bytes",      "gpus_per_server"};
    static const char *const neither[] = {"error",   "wrong",         "counters", "decisions",
                                          "options", "model_options", "scenario"};

    if (is_one_of(name, inputs, sizeof inputs / sizeof inputs[0])) {
        return true;
    }
    for (const cs_column *c = cs_result_columns; c->key != NULL; c++) {
        if (strcmp(c->key, name) == 0) {
            return false;
        }
    }
    return !is_one_of(name, neither, sizeof neither / sizeof neither[0]);
}

cs_status cs_data_parse(const char *name, const char *text, const char *option, double *value_p,
                        cs_error *err)
{
    uint64_t bytes = 0;

    if (cs_ends_in(name, "_s")) {
        return cs_parse_time(text, value_p, option, err);
    }
    if (cs_ends_in(name, "bytes")) {
        CS_TRY(cs_parse_bytes(text, &bytes, option, err));
        *value_p = (double)bytes;
        return CS_OK;
    }
    return cs_parse_number(text, value_p, option, err);
}

static bool fits(const cs_data_column *column, size_t row, const char *text, double value)
{
    const char *word = cs_data_word(column, row);

    return column->has_words ? word != NULL && strcmp(word, text) == 0
                             : fabs(column->values[row] - value) <= 1e-9 * fabs(value);
}

cs_status cs_data_keep(cs_data *data, const char *condition, const char *option, cs_error *err)
{
    const cs_data_column *column;
    const char           *equals = strchr(condition, '=');
    char                  name[128];
    double                value = 0;
    size_t                kept  = 0;

    if (equals == NULL || equals == condition || (size_t)(equals - condition) >= sizeof name) {
        return CS_FAIL(err, CS_EINVAL, option, "'%s' is not of the form COLUMN=VALUE", condition);
    }
    (void)snprintf(name, sizeof name, "%.*s", (int)(equals - condition), condition);
    CS_TRY(cs_data_column_of(data, name, option, &column, err));
    if (!column->has_words) {
        CS_TRY(cs_data_parse(column->name, equals + 1, option, &value, err));
    }
    for (size_t r = 0; r < data->n_rows; r++) {
        if (fits(column, r, equals + 1, value)) {
            for (size_t i = 0; i < data->n_columns; i++) {
                data->columns[i].values[kept] = data->columns[i].values[r];
            }
            kept++;
        }
    }
    data->n_rows = kept;
    return kept > 0 ? CS_OK
                    : CS_FAIL(err, CS_EINVAL, option, "no row has %s: none is left", condition);
}
