/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Links between ranks, of any topology: the ranks in a row at the bottom, the links above them by
 * how far from the ends of the routes they stand, lines between what follows each other on a
 * route. */
#include "base/alloc.h"
#include "results/svg.h"
#include "results/topology_svg.h"

#include <stdio.h>
#include <string.h>

typedef struct layers {
    const cs_cluster *c;
    uint32_t          n_links, n_levels;
    uint32_t         *level; /* owned [n_links]: 1 is next to a rank; 0: no route has it */
    double           *x;     /* owned [n_links]: middle */
    cs_text          *out;
} layers;

static double level_y(const layers *l, uint32_t level)
{
    return 50 + (l->n_levels - level) * 80.0;
}

static uint32_t route(const layers *l, uint32_t src, uint32_t dst, uint32_t *links)
{
    uint32_t fabric = cs_fabric_of(l->c, src, dst);
    return l->c->topology == NULL || src == dst
               ? 0
               : l->c->topology->kind->route(l->c->topology, l->c, src, dst, fabric, links);
}

static void find_levels(layers *l)
{
    uint32_t links[CS_MAX_ROUTE];

    for (uint32_t p = 0; p < l->c->n_ranks * l->c->n_ranks; p++) {
        uint32_t n = route(l, p / l->c->n_ranks, p % l->c->n_ranks, links);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t near      = i < n - 1 - i ? i + 1 : n - i;
            uint32_t was       = l->level[links[i]];
            l->level[links[i]] = was == 0 || near < was ? near : was;
        }
    }
    for (uint32_t i = 0; i < l->n_links; i++) {
        l->n_levels = l->level[i] > l->n_levels ? l->level[i] : l->n_levels;
    }
}

static double place_links(layers *l)
{
    double width = 0;

    for (uint32_t level = 1; level <= l->n_levels; level++) {
        uint32_t at = 0;
        for (uint32_t i = 0; i < l->n_links; i++) {
            if (l->level[i] == level) {
                l->x[i] =
                    CS_TOPOLOGY_MARGIN + (at++ + 0.5) * (2 * CS_TOPOLOGY_BOX + CS_TOPOLOGY_GAP);
            }
        }
        width = at * (2 * CS_TOPOLOGY_BOX + CS_TOPOLOGY_GAP) > width
                    ? at * (2 * CS_TOPOLOGY_BOX + CS_TOPOLOGY_GAP)
                    : width;
    }
    return width + 2 * CS_TOPOLOGY_MARGIN;
}

static double rank_x(uint32_t rank)
{
    return CS_TOPOLOGY_MARGIN + (rank + 0.5) * (CS_TOPOLOGY_BOX + CS_TOPOLOGY_GAP);
}

/* Lines along the routes out of the first rank and those that come after it on other links. */
static void draw_routes(const layers *l)
{
    uint32_t links[CS_MAX_ROUTE], n_ranks = l->c->n_ranks;
    uint8_t *seen = CS_NEW(uint8_t, ((size_t)l->n_links + n_ranks) * (l->n_links + 1u));

    for (uint32_t p = 0; seen != NULL && p < n_ranks * n_ranks; p++) {
        uint32_t src = p / n_ranks, dst = p % n_ranks, n = route(l, src, dst, links);
        double   x = rank_x(src), y = level_y(l, 0);
        size_t   from = l->n_links + src;
        for (uint32_t i = 0; i < n; i++) {
            uint8_t *mark = &seen[from * (l->n_links + 1u) + links[i]];
            double x2 = l->x[links[i]], y2 = level_y(l, l->level[links[i]]) + CS_TOPOLOGY_HIGH / 2;
            if (!*mark) {
                cs_svg_line(l->out, x, y, x2, y2, "#bbb", 1);
            }
            *mark = 1;
            x     = x2;
            y     = y2;
            from  = links[i];
        }
        uint8_t *mark =
            n > 0 ? &seen[(l->n_links + (size_t)dst) * (l->n_links + 1u) + l->n_links] : NULL;
        if (mark != NULL && !*mark) {
            cs_svg_line(l->out, x, y, rank_x(dst), level_y(l, 0), "#bbb", 1);
            *mark = 1;
        }
    }
    l->out->failed = l->out->failed || seen == NULL;
    cs_free(seen);
}

static void draw_layers(layers *l)
{
    char name[200], rate[64];

    draw_routes(l);
    for (uint32_t i = 0; i < l->n_links; i++) {
        if (l->level[i] > 0) {
            const cs_link *link = &l->c->topology->links[i];
            l->c->topology->kind->link_name(l->c->topology, i, name, sizeof name);
            (void)snprintf(rate, sizeof rate, "%.4g GB/s", link->bandwidth_Bps / 1e9);
            cs_svg_box(l->out, l->x[i] - CS_TOPOLOGY_BOX, level_y(l, l->level[i]),
                       2 * CS_TOPOLOGY_BOX, CS_TOPOLOGY_HIGH, "#cfe2f3",
                       strncmp(name, "link ", 5) == 0 ? name + 5 : name, rate);
        }
    }
    for (uint32_t r = 0; r < l->c->n_ranks; r++) {
        (void)snprintf(name, sizeof name, "rank %u", r);
        (void)snprintf(rate, sizeof rate, "%.4g GB/s", l->c->fabrics[CS_NIC].bandwidth_Bps / 1e9);
        cs_svg_box(l->out, rank_x(r) - CS_TOPOLOGY_BOX / 2, level_y(l, 0), CS_TOPOLOGY_BOX,
                   CS_TOPOLOGY_HIGH, "#d9ead3", name, rate);
    }
}

cs_status cs_topology_svg_layers(const cs_topology_view *view, cs_text *out, cs_error *err)
{
    const cs_cluster *c    = view->cluster;
    layers            l    = {.c = c, .n_links = c->topology != NULL ? c->topology->n_links : 0};
    cs_text           body = {0};
    char              title[200];

    l.out   = &body;
    l.level = CS_NEW(uint32_t, l.n_links + 1u);
    l.x     = CS_NEW(double, l.n_links + 1u);
    if (l.level != NULL && l.x != NULL) {
        find_levels(&l);
        double width = place_links(&l), ranks = rank_x(c->n_ranks) + CS_TOPOLOGY_MARGIN;
        draw_layers(&l);
        (void)snprintf(title, sizeof title, "%.100s: %s, %u ranks", view->name,
                       c->topology != NULL ? c->topology->kind->name : "crossbar", c->n_ranks);
        cs_topology_svg_begin(out, width > ranks ? width : ranks,
                              level_y(&l, 0) + CS_TOPOLOGY_HIGH + CS_TOPOLOGY_MARGIN, title);
        cs_text_add(out, "%s", body.data != NULL ? body.data : "");
        cs_svg_end(out);
    }
    bool failed = l.level == NULL || l.x == NULL || body.failed;
    cs_free(l.level);
    cs_free(l.x);
    cs_text_free(&body);
    return failed ? CS_FAIL(err, CS_ENOMEM, "", "out of memory for a picture") : CS_OK;
}
