/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of a heat map: see heatmap_rows.h. */
#include "results/heatmap_rows.h"

#include "base/alloc.h"
#include "cs/topology.h"
#include "results/heatmap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Pixels. */
#define PANEL_TITLE 24.0
#define MOST_HEIGHT 860.0 /* of all rows together, unless they become too thin */
#define LEAST_ROW   4.0
#define MOST_ROW    18.0
#define LEAST_LEFT  132.0
#define CHARACTER   5.6

typedef struct weight {
    double share; /* of its capacity, over the run */
    size_t row;
} weight;

static int heavier(const void *left, const void *right)
{
    const weight *a = left, *b = right;
    if (a->share != b->share) {
        return a->share > b->share ? -1 : 1;
    }
    return (a->row > b->row) - (a->row < b->row);
}

static int by_row(const void *left, const void *right)
{
    const weight *a = left, *b = right;
    return (a->row > b->row) - (a->row < b->row);
}

/* The busiest links in their own order. */
static cs_status choose_links(cs_heatmap_rows *p, const cs_usage_panel *panel)
{
    weight *weights = CS_NEW(weight, panel->n_rows);
    size_t  n       = 0, shown;

    if (weights == NULL) {
        return CS_ENOMEM;
    }
    for (size_t r = 0; r < panel->n_rows; r++) {
        weights[n] = (weight){
            cs_usage_bytes(p->usage, panel, r) / cs_usage_capacity_Bps(p->usage, panel, r), r};
        n += weights[n].share > 0;
    }
    qsort(weights, n, sizeof *weights, heavier);
    shown = n < CS_HEATMAP_MOST_LINKS ? n : CS_HEATMAP_MOST_LINKS;
    qsort(weights, shown, sizeof *weights, by_row);
    for (size_t i = 0; i < shown; i++) {
        p->rows[p->n_rows++] = (cs_heatmap_row){.panel = panel, .row = weights[i].row};
    }
    p->n_links_left_out = panel->n_rows - shown;
    cs_free(weights);
    return CS_OK;
}

static bool carried_something(const cs_heatmap_rows *p, uint32_t fabric)
{
    const cs_usage_panel *panel = &p->usage->panels[2 * (size_t)fabric];
    double                bytes = 0;

    for (size_t r = 0; r < panel->n_rows; r++) {
        bytes += cs_usage_bytes(p->usage, panel, r);
    }
    return bytes > 0;
}

static cs_status choose_rows(cs_heatmap_rows *p)
{
    cs_status status = CS_OK;

    for (size_t k = 0; k < p->usage->n_panels && status == CS_OK; k++) {
        const cs_usage_panel *panel = &p->usage->panels[k];
        if (panel->is_links) {
            status = choose_links(p, panel);
        } else if (carried_something(p, panel->fabric)) {
            for (size_t r = 0; r < panel->n_rows; r++) {
                p->rows[p->n_rows] = (cs_heatmap_row){.panel = panel, .row = r};
                p->n_rows += cs_usage_ports(p->usage, panel, r) > 0;
            }
        }
    }
    return status;
}

static void link_row_name(const cs_heatmap_rows *p, const cs_heatmap_row *row, char *text,
                          size_t text_bytes)
{
    const cs_topology *t     = p->usage->scenario->cluster.topology;
    uint32_t           first = (uint32_t)row->row * row->panel->per_row;
    size_t             n     = cs_usage_ports(p->usage, row->panel, row->row);

    if (n > 1) {
        (void)snprintf(text, text_bytes, "links %u .. %zu", first, first + n - 1);
    } else {
        t->kind->link_name(t, first, text, text_bytes);
    }
}

void cs_heatmap_row_name(const cs_heatmap_rows *p, const cs_heatmap_row *row, char *text,
                         size_t text_bytes)
{
    const cs_usage_panel *panel = row->panel;
    const cs_cluster     *c     = &p->usage->scenario->cluster;
    uint32_t              g = c->gpus_per_server, each = panel->each;
    uint32_t              first = (uint32_t)(row->row / each) * panel->per_row;
    uint32_t              last  = first + panel->per_row - 1;

    last = last < c->n_ranks ? last : c->n_ranks - 1;
    if (panel->is_links) {
        link_row_name(p, row, text, text_bytes);
    } else if (each > 1) {
        (void)snprintf(text, text_bytes, "rank %u %s %u", first, panel->sends ? "→" : "←",
                       first / g * g + (uint32_t)(row->row % each));
    } else if (first == last) {
        (void)snprintf(text, text_bytes, "rank %u", first);
    } else if (g > 1 && panel->per_row % g == 0 && last - first < g) {
        (void)snprintf(text, text_bytes, "server %u", first / g);
    } else if (g > 1 && panel->per_row % g == 0) {
        (void)snprintf(text, text_bytes, "servers %u .. %u", first / g, last / g);
    } else {
        (void)snprintf(text, text_bytes, "ranks %u .. %u", first, last);
    }
}

static void place_rows(cs_heatmap_rows *p, double top)
{
    double y = top, height = floor(MOST_HEIGHT / fmax((double)p->n_rows, 1));

    height = fmin(fmax(height, LEAST_ROW), MOST_ROW);
    for (size_t i = 0; i < p->n_rows; i++) {
        cs_heatmap_row *row = &p->rows[i];
        y += i == 0 || row->panel != row[-1].panel ? PANEL_TITLE : 0;
        row->y      = y;
        row->height = row->panel->is_links ? fmax(height, CS_HEATMAP_NAMED) : height;
        y += row->height;
    }
    p->bottom = y;
}

static void make_room(cs_heatmap_rows *p)
{
    char name[96];

    p->left = LEAST_LEFT;
    for (size_t i = 0; i < p->n_rows; i++) {
        cs_heatmap_row_name(p, &p->rows[i], name, sizeof name);
        p->left = fmax(p->left, ceil(CHARACTER * fmin((double)strlen(name), CS_HEATMAP_NAME)) + 12);
    }
}

cs_status cs_heatmap_rows_choose(cs_heatmap_rows *rows, const cs_usage *usage, double top)
{
    cs_status status = CS_ENOMEM;

    *rows = (cs_heatmap_rows){.usage = usage, .rows = CS_NEW(cs_heatmap_row, usage->n_rows)};
    if (rows->rows != NULL) {
        status = choose_rows(rows);
    }
    if (status == CS_OK) {
        place_rows(rows, top);
        make_room(rows);
    }
    return status;
}

void cs_heatmap_rows_free(cs_heatmap_rows *rows)
{
    cs_free(rows->rows);
    *rows = (cs_heatmap_rows){0};
}
