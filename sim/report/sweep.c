/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "report/sweep.h"

#include "base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SHOWN_BYTES = 60 };

/* ---- dims ---- */

/* Inputs that vary, but for the algorithm. */
static cs_status find_dims(cs_sweep *s, cs_error *err)
{
    for (size_t i = 0; i < s->data->n_columns; i++) {
        const cs_data_column *c = &s->data->columns[i];
        if (!cs_data_is_input(c->name) || strcmp(c->name, "algorithm") == 0 ||
            cs_data_values(s->data, c, NULL, 0) < 2) {
            continue;
        }
        if (s->n_dims == CS_SWEEP_MOST_DIMS) {
            return CS_FAIL(err, CS_EINVAL, "--where",
                           "more than %d inputs vary, %.60s among them: choose values of some with "
                           "--where COLUMN=VALUE",
                           CS_SWEEP_MOST_DIMS, c->name);
        }
        cs_sweep_dim *dim = &s->dims[s->n_dims++];
        dim->name         = c->name;
        dim->label        = c->title;
        dim->unit         = c->has_words ? CS_QUANTITY_WORD : cs_quantity_of(c->name);
        dim->n            = cs_data_values(s->data, c, NULL, 0);
        dim->values       = CS_ARENA_NEW(&s->arena, double, dim->n);
        dim->words        = c->has_words ? CS_ARENA_NEW(&s->arena, const char *, dim->n) : NULL;
        if (dim->values == NULL || (c->has_words && dim->words == NULL)) {
            return CS_NO_MEMORY(err, "a sweep");
        }
        (void)cs_data_values(s->data, c, dim->values, dim->n);
        for (size_t k = 0; dim->words != NULL && k < dim->n; k++) {
            dim->words[k] = c->words[(size_t)dim->values[k]];
        }
    }
    return CS_OK;
}

static size_t place_of(const cs_sweep_dim *dim, double value)
{
    size_t low = 0, high = dim->n;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (dim->values[middle] < value) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* ---- settings ---- */

/* A row and where it belongs. */
typedef struct placed {
    uint32_t index[CS_SWEEP_MOST_DIMS];
    uint32_t row, algorithm;
    double   time_s;
} placed;

static int by_setting(const void *a, const void *b)
{
    const placed *x = a, *y = b;

    for (size_t i = 0; i < CS_SWEEP_MOST_DIMS; i++) {
        if (x->index[i] != y->index[i]) {
            return x->index[i] < y->index[i] ? -1 : 1;
        }
    }
    return (x->row > y->row) - (x->row < y->row);
}

static bool is_same_setting(const placed *a, const placed *b)
{
    return memcmp(a->index, b->index, sizeof a->index) == 0;
}

/* The algorithm of a row; rows without one share "". */
static uint32_t algorithm_of(const cs_data_column *column, size_t row)
{
    return column != NULL && !isnan(column->values[row]) ? (uint32_t)column->values[row] : 0;
}

/* Rows that have a value of every dim, in the order of settings. */
static placed *place_rows(const cs_sweep *s, const cs_data_column *exposed, size_t *n_p)
{
    const cs_data_column *algorithm = cs_data_find(s->data, "algorithm");
    placed               *rows      = CS_NEW(placed, s->data->n_rows + 1);
    size_t                n         = 0;
    const cs_data_column *columns[CS_SWEEP_MOST_DIMS];

    for (size_t i = 0; i < s->n_dims; i++) {
        columns[i] = cs_data_find(s->data, s->dims[i].name);
    }
    for (size_t r = 0; rows != NULL && r < s->data->n_rows; r++) {
        bool is_there  = true;
        rows[n]        = (placed){.row = (uint32_t)r, .algorithm = algorithm_of(algorithm, r)};
        rows[n].time_s = exposed->values[r];
        for (size_t i = 0; i < s->n_dims; i++) {
            double value     = columns[i]->values[r];
            is_there         = is_there && !isnan(value);
            rows[n].index[i] = is_there ? (uint32_t)place_of(&s->dims[i], value) : 0;
        }
        n += is_there;
    }
    if (rows != NULL) {
        qsort(rows, n, sizeof *rows, by_setting);
    }
    *n_p = n;
    return rows;
}

static cs_status fill(cs_sweep *s, const placed *rows, size_t n, cs_error *err)
{
    size_t n_settings = n > 0 ? 1 : 0;

    for (size_t i = 1; i < n; i++) {
        n_settings += !is_same_setting(&rows[i], &rows[i - 1]);
    }
    s->n_settings = n_settings;
    s->index      = CS_ARENA_NEW(&s->arena, uint32_t, n_settings * s->n_dims + 1);
    s->rows       = CS_ARENA_NEW(&s->arena, uint32_t, n_settings * s->n_algorithms + 1);
    if (s->index == NULL || s->rows == NULL) {
        return CS_NO_MEMORY(err, "a sweep");
    }
    const cs_data_column *exposed = s->exposed;
    size_t                at      = 0;
    for (size_t i = 0; i < n; i++) {
        at += i > 0 && !is_same_setting(&rows[i], &rows[i - 1]);
        for (size_t d = 0; d < s->n_dims; d++) {
            s->index[at * s->n_dims + d] = rows[i].index[d];
        }
        uint32_t *cell = &s->rows[at * s->n_algorithms + rows[i].algorithm];
        double    was  = *cell > 0 ? exposed->values[*cell - 1] : (double)NAN;
        if (*cell == 0 || isnan(was) || rows[i].time_s < was) {
            *cell = rows[i].row + 1;
        }
    }
    return CS_OK;
}

/* ---- thinning ---- */

/* Every second value of a dim goes, from the second on. */
static void halve(cs_sweep *s, size_t dim)
{
    cs_sweep_dim *d    = &s->dims[dim];
    size_t        kept = 0;

    for (size_t i = 0; i < s->n_settings; i++) {
        const uint32_t *from = &s->index[i * s->n_dims];
        if (from[dim] % 2 != 0) {
            continue;
        }
        for (size_t k = 0; k < s->n_dims; k++) {
            s->index[kept * s->n_dims + k] = k == dim ? from[k] / 2 : from[k];
        }
        memmove(&s->rows[kept * s->n_algorithms], &s->rows[i * s->n_algorithms],
                s->n_algorithms * sizeof *s->rows);
        kept++;
    }
    s->n_left_out += s->n_settings - kept;
    s->n_settings = kept;
    for (size_t i = 0; i < (d->n + 1) / 2; i++) {
        d->values[i] = d->values[2 * i];
    }
    d->n = (d->n + 1) / 2;
}

static void thin(cs_sweep *s, size_t most_cells)
{
    bool   is_halved[CS_SWEEP_MOST_DIMS] = {false};
    size_t before                        = s->n_settings, used;

    while (s->n_settings * s->n_algorithms > most_cells) {
        size_t longest = CS_SWEEP_MOST_DIMS;
        for (size_t i = 0; i < s->n_dims; i++) {
            bool is_longer = longest == CS_SWEEP_MOST_DIMS || s->dims[i].n > s->dims[longest].n;
            if (s->dims[i].words == NULL && s->dims[i].n > 2 && is_longer) {
                longest = i;
            }
        }
        if (longest == CS_SWEEP_MOST_DIMS) {
            break;
        }
        halve(s, longest);
        is_halved[longest] = true;
    }
    if (s->n_left_out > 0) {
        (void)snprintf(s->thinned, sizeof s->thinned,
                       "rows: %zu of %zu settings; left out are "
                       "values of ",
                       s->n_settings, before);
        for (size_t i = 0, n = 0; i < s->n_dims; i++) {
            used = strlen(s->thinned);
            if (is_halved[i]) {
                (void)snprintf(s->thinned + used, sizeof s->thinned - used, "%s%s",
                               n++ > 0 ? ", " : "", s->dims[i].label);
            }
        }
    }
}

cs_status cs_sweep_make(const cs_data *data, size_t most_cells, cs_sweep *s, cs_error *err)
{
    static const char    *nobody[1] = {""};
    const cs_data_column *algorithm = cs_data_find(data, "algorithm");
    size_t                n         = 0;

    *s                            = (cs_sweep){.data     = data,
                                               .exposed  = cs_data_find(data, "exposed_s"),
                                               .elapsed  = cs_data_find(data, "elapsed_s"),
                                               .bound    = cs_data_find(data, "bound_s"),
                                               .error    = cs_data_find(data, "error"),
                                               .wrong    = cs_data_find(data, "wrong"),
                                               .verified = cs_data_find(data, "verified")};
    const cs_data_column *exposed = s->exposed; /* of that very name, as everybody asks for it */
    if (exposed == NULL) {
        return CS_FAIL(err, CS_EINVAL, "",
                       "there is no column 'exposed_s': accepted are results of run and sweep");
    }
    if (exposed->has_words || (algorithm != NULL && !algorithm->has_words)) {
        return CS_FAIL(err, CS_EINVAL, "",
                       "exposed_s has words, or algorithm has numbers: "
                       "accepted are results of run and sweep");
    }
    s->algorithms   = algorithm != NULL ? algorithm->words : nobody;
    s->n_algorithms = algorithm != NULL ? algorithm->n_words : 1;
    CS_TRY(find_dims(s, err));
    placed *rows = place_rows(s, exposed, &n);
    if (rows == NULL) {
        return CS_NO_MEMORY(err, "a sweep");
    }
    cs_status status = fill(s, rows, n, err);
    cs_free(rows);
    if (status == CS_OK && s->n_settings == 0) {
        status = CS_FAIL(err, CS_EINVAL, "--where",
                         "no row has a value of every input that varies: choose rows with --where "
                         "COLUMN=VALUE");
    }
    if (status == CS_OK) {
        thin(s, most_cells);
    }
    return status;
}

void cs_sweep_free(cs_sweep *sweep)
{
    cs_arena_free(&sweep->arena);
    *sweep = (cs_sweep){0};
}

/* ---- looking at it ---- */

double cs_sweep_at(const cs_sweep *s, size_t setting, size_t algorithm,
                   const cs_data_column *column)
{
    uint32_t row = s->rows[setting * s->n_algorithms + algorithm];

    return row == 0 || column == NULL || column->has_words ? (double)NAN : column->values[row - 1];
}

const char *cs_sweep_error(const cs_sweep *s, size_t setting, size_t algorithm)
{
    uint32_t row = s->rows[setting * s->n_algorithms + algorithm];

    return row == 0 || s->error == NULL ? NULL : cs_data_word(s->error, row - 1);
}

cs_cell_state cs_sweep_state(const cs_sweep *s, size_t setting, size_t algorithm)
{
    uint32_t row = s->rows[setting * s->n_algorithms + algorithm];

    if (row == 0) {
        return CS_CELL_NONE;
    }
    bool is_wrong = s->wrong != NULL && !isnan(s->wrong->values[row - 1]);
    if (is_wrong || isnan(s->exposed->values[row - 1]) ||
        cs_sweep_error(s, setting, algorithm) != NULL) {
        return CS_CELL_FAILED;
    }
    return s->verified != NULL && !s->verified->has_words && s->verified->values[row - 1] > 0
               ? CS_CELL_VERIFIED
               : CS_CELL_RUN;
}

void cs_sweep_text(const cs_sweep_dim *dim, size_t place, char *text, size_t bytes)
{
    char number[CS_QUANTITY_BYTES];

    if (dim->words != NULL) {
        (void)snprintf(text, bytes, "%.*s", MOST_SHOWN_BYTES, dim->words[place]);
        return;
    }
    cs_quantity_text(dim->unit, dim->values[place], number);
    (void)snprintf(text, bytes, "%s", number);
}

/* The place of the value of a dim that is nearest. */
static size_t nearest(const cs_sweep_dim *d, double value)
{
    size_t best = 0;

    for (size_t i = 1; i < d->n; i++) {
        best = fabs(d->values[i] - value) < fabs(d->values[best] - value) ? i : best;
    }
    return best;
}

/* Take "NAME=VALUE" of `length` bytes. */
static cs_status choose_one(const cs_sweep *s, const char *text, size_t length, uint32_t *wanted,
                            cs_error *err)
{
    char   words[256];
    double value = 0;

    if (length >= sizeof words) {
        return CS_FAIL(err, CS_EINVAL, "--show", "more than %zu letters", sizeof words - 1);
    }
    (void)snprintf(words, sizeof words, "%.*s", (int)length, text);
    char *equals = strchr(words, '=');
    if (equals == NULL) {
        return CS_FAIL(err, CS_EINVAL, "--show", "'%s' is not of the form COLUMN=VALUE", words);
    }
    *equals = '\0';
    for (size_t i = 0; i < s->n_dims; i++) {
        const cs_sweep_dim *d = &s->dims[i];
        if (strcmp(d->name, words) != 0) {
            continue;
        }
        if (d->words == NULL) {
            CS_TRY(cs_data_parse(d->name, equals + 1, "--show", &value, err));
            wanted[i] = (uint32_t)nearest(d, value);
            return CS_OK;
        }
        for (size_t k = 0; k < d->n; k++) {
            if (strcmp(d->words[k], equals + 1) == 0) {
                wanted[i] = (uint32_t)k;
                return CS_OK;
            }
        }
        return CS_FAIL(err, CS_EINVAL, "--show", "no row has %s=%s", words, equals + 1);
    }
    return CS_FAIL(err, CS_EINVAL, "--show",
                   "the column '%s' is not there, or the same in all rows", words);
}

/* The setting that is nearest to these places. */
static size_t nearest_setting(const cs_sweep *s, const uint32_t *wanted)
{
    size_t best  = 0;
    double least = (double)INFINITY;

    for (size_t k = 0; k < s->n_settings; k++) {
        double far = 0;
        for (size_t i = 0; i < s->n_dims; i++) {
            double step = (double)s->index[k * s->n_dims + i] - (double)wanted[i];
            far += fabs(step) / (double)s->dims[i].n;
        }
        if (far < least) {
            least = far;
            best  = k;
        }
    }
    return best;
}

cs_status cs_sweep_choose(const cs_sweep *s, const char *text, size_t *setting_p, cs_error *err)
{
    uint32_t wanted[CS_SWEEP_MOST_DIMS];

    for (size_t i = 0; i < s->n_dims; i++) {
        const cs_sweep_dim *d        = &s->dims[i];
        bool                is_large = d->unit == CS_QUANTITY_SIZE || d->unit == CS_QUANTITY_S;
        wanted[i]                    = (uint32_t)(d->words != NULL ? d->n - 1
                                                  : is_large       ? (3 * (d->n - 1) + 2) / 4
                                                                   : (d->n - 1) / 2);
    }
    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, ",");
        CS_TRY(choose_one(s, text, length, wanted, err));
        text += length + (text[length] == ',');
    }
    *setting_p = nearest_setting(s, wanted);
    return CS_OK;
}
