/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Algorithms side by side: see comparison.h. */
#include "results/comparison.h"

#include <stdio.h>
#include <string.h>

enum { MAX_COLUMNS = 16, NAMED_RANKS = 3 };

typedef struct view {
    const cs_result *results;
    const char (*settings)[CS_SETTING_BYTES];
    size_t      n;
    const char *columns[MAX_COLUMNS]; /* algorithms in the order of their first result */
    size_t      n_columns;
} view;

/* Append to a text of fixed size; what does not fit is cut. */
static void append(char *text, size_t text_bytes, const char *more)
{
    size_t used = strlen(text);
    snprintf(text + used, text_bytes - used, "%s%s", used > 0 ? ", " : "", more);
}

void cs_setting_text(const cs_scenario *scenario, char *text, size_t text_bytes)
{
    uint32_t n = scenario->cluster.n_ranks, late = 0;
    char     part[48];

    text[0] = '\0';
    for (uint32_t r = 0; r < n; r++) {
        late += cs_arrival(scenario, r) > 0;
    }
    if (late > NAMED_RANKS) {
        snprintf(part, sizeof part, "%u late, last by %.6g us", late,
                 cs_last_arrival(scenario) * 1e6);
        append(text, text_bytes, part);
    }
    for (uint32_t r = 0; r < n && late <= NAMED_RANKS; r++) {
        if (cs_arrival(scenario, r) > 0) {
            snprintf(part, sizeof part, "late %u by %.6g us", r, cs_arrival(scenario, r) * 1e6);
            append(text, text_bytes, part);
        }
    }
    for (size_t i = 0; i < scenario->n_faults && i < NAMED_RANKS; i++) {
        snprintf(part, sizeof part, "nic %u / %.4g", scenario->faults[i].rank,
                 scenario->faults[i].slow_ratio);
        append(text, text_bytes, part);
    }
}

static bool same_row(const view *v, size_t a, size_t b)
{
    const cs_result *x = &v->results[a], *y = &v->results[b];

    return x->ranks == y->ranks && x->bytes == y->bytes &&
           x->gpus_per_server == y->gpus_per_server && strcmp(x->model, y->model) == 0 &&
           strcmp(x->collective, y->collective) == 0 && strcmp(v->settings[a], v->settings[b]) == 0;
}

static size_t column_of(const view *v, const char *algorithm)
{
    size_t c = 0;

    while (c < v->n_columns && strcmp(v->columns[c], algorithm) != 0) {
        c++;
    }
    return c;
}

static void find_columns(view *v)
{
    for (size_t i = 0; i < v->n; i++) {
        size_t c = column_of(v, v->results[i].algorithm);
        if (c == v->n_columns && c < MAX_COLUMNS) {
            v->columns[v->n_columns++] = v->results[i].algorithm;
        }
    }
}

/* The result of a column in the row of result `first`, the first one that is there. */
static const cs_result *cell(const view *v, size_t first, size_t column)
{
    for (size_t i = first; i < v->n; i++) {
        if (same_row(v, first, i) && column_of(v, v->results[i].algorithm) == column) {
            return &v->results[i];
        }
    }
    return NULL;
}

static void add_row(cs_text *text, const view *v, size_t first)
{
    const cs_result *r     = &v->results[first];
    const cs_result *best  = NULL;
    double           bound = 0;

    cs_text_add(text, "#%6llu %13llu", (unsigned long long)r->ranks, (unsigned long long)r->bytes);
    for (size_t c = 0; c < v->n_columns; c++) {
        const cs_result *here = cell(v, first, c);
        if (here == NULL) {
            cs_text_add(text, " %12s", "-");
            continue;
        }
        cs_text_add(text, " %12.2f", here->exposed_s * 1e6);
        best  = best == NULL || here->exposed_s < best->exposed_s ? here : best;
        bound = best->bound_s - (best->elapsed_s - best->exposed_s);
    }
    cs_text_add(text, " %12.2f  %-10s %s\n", bound * 1e6, best != NULL ? best->algorithm : "-",
                v->settings[first]);
}

void cs_comparison(cs_text *text, const cs_result                  *results,
                   const char (*settings)[CS_SETTING_BYTES], size_t n)
{
    view v = {.results = results, .settings = settings, .n = n};

    find_columns(&v);
    if (v.n_columns < 2) {
        return;
    }
    cs_text_add(text, "#\n# Which schedule? Exposed time (from the last arrival on), us\n#%6s %13s",
                "ranks", "size (B)");
    for (size_t c = 0; c < v.n_columns; c++) {
        cs_text_add(text, " %12s", v.columns[c]);
    }
    cs_text_add(text, " %12s  %-10s %s\n", "bound", "best", "setting");
    for (size_t i = 0; i < n; i++) {
        bool is_new = true;
        for (size_t j = 0; j < i && is_new; j++) {
            is_new = !same_row(&v, i, j);
        }
        if (is_new) {
            add_row(text, &v, i);
        }
    }
}
