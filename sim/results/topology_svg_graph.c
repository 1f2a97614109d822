/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A graph: ranks, switches above them by how far they are, a line for every link. */
#include "base/alloc.h"
#include "results/svg.h"
#include "results/topology_svg.h"

#include <stdio.h>

/* How far every vertex is from those that have ranks; returns the most. */
static uint32_t graph_levels(const cs_graph *g, uint32_t *level)
{
    uint32_t most = 0;
    bool     grew = true;

    for (uint32_t v = 0; v < g->n_vertices; v++) {
        level[v] = g->target_of[v] != CS_NO_VERTEX ? 1 : 0;
    }
    while (grew) {
        grew = false;
        for (uint32_t i = 0; i < g->n_links; i++) {
            uint32_t from = level[g->ends[i].from], *to = &level[g->ends[i].to];
            if (from > 0 && (*to == 0 || *to > from + 1)) {
                *to  = from + 1;
                grew = true;
            }
        }
    }
    for (uint32_t v = 0; v < g->n_vertices; v++) {
        most = level[v] > most ? level[v] : most;
    }
    return most;
}

/* Vertices of a level side by side, as wide as all ranks together; returns the width. */
static double place_vertices(const cs_graph *g, const uint32_t *level, uint32_t most, double *x)
{
    double width = g->n_ranks * (CS_TOPOLOGY_BOX + CS_TOPOLOGY_GAP);

    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t l = 0; l <= most; l++) {
            uint32_t count = 0, at = 0;
            for (uint32_t v = 0; v < g->n_vertices; v++) {
                count += level[v] == l;
            }
            width = count * (CS_TOPOLOGY_BOX + CS_TOPOLOGY_GAP) > width
                        ? count * (CS_TOPOLOGY_BOX + CS_TOPOLOGY_GAP)
                        : width;
            for (uint32_t v = 0; v < g->n_vertices; v++) {
                x[v] = level[v] == l ? CS_TOPOLOGY_MARGIN + (at++ + 0.5) * width / count : x[v];
            }
        }
    }
    return width + 2 * CS_TOPOLOGY_MARGIN;
}

static double vertex_y(uint32_t most, uint32_t level)
{
    return 60 + (most - level) * 90.0;
}

static void draw_graph_lines(const cs_graph *g, const uint32_t *level, uint32_t most,
                             const double *x, double step, cs_text *out)
{
    for (uint32_t i = 0; i < g->n_links; i++) {
        const cs_link_ends *e = &g->ends[i];
        cs_text_add(out,
                    "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#999\">"
                    "<title>%.4g GB/s, %.4g us</title></line>\n",
                    x[e->from], vertex_y(most, level[e->from]), x[e->to],
                    vertex_y(most, level[e->to]), g->links[i].bandwidth_Bps / 1e9,
                    g->links[i].latency_s * 1e6);
    }
    for (uint32_t r = 0; r < g->n_ranks; r++) {
        for (uint32_t f = 0; f < CS_FABRICS; f++) {
            if (g->attach[f] != NULL) {
                uint32_t v = g->attach[f][r];
                cs_svg_line(out, CS_TOPOLOGY_MARGIN + (r + 0.5) * step, vertex_y(most, 0), x[v],
                            vertex_y(most, level[v]), "#6aa84f", 1.5);
            }
        }
    }
}

static void draw_graph_boxes(const cs_graph *g, const uint32_t *level, uint32_t most,
                             const double *x, double step, cs_text *out)
{
    char name[64];

    for (uint32_t r = 0; r < g->n_ranks; r++) {
        (void)snprintf(name, sizeof name, "rank %u", r);
        cs_svg_box(out, CS_TOPOLOGY_MARGIN + (r + 0.5) * step - CS_TOPOLOGY_BOX / 2,
                   vertex_y(most, 0) - CS_TOPOLOGY_HIGH / 2, CS_TOPOLOGY_BOX, CS_TOPOLOGY_HIGH,
                   "#d9ead3", name, "");
    }
    for (uint32_t v = 0; v < g->n_vertices; v++) {
        double all_Bps = 0;
        for (uint32_t i = g->first_out[v]; i < g->first_out[v + 1]; i++) {
            all_Bps += g->links[g->out[i]].bandwidth_Bps;
        }
        (void)snprintf(name, sizeof name, "%.4g GB/s", all_Bps / 1e9);
        cs_svg_box(out, x[v] - CS_TOPOLOGY_BOX / 2, vertex_y(most, level[v]) - CS_TOPOLOGY_HIGH / 2,
                   CS_TOPOLOGY_BOX, CS_TOPOLOGY_HIGH, "#cfe2f3", g->vertices[v].name, name);
    }
}

cs_status cs_topology_svg_graph(const cs_topology_view *view, const cs_graph *g, cs_text *out,
                                cs_error *err)
{
    uint32_t *level = CS_NEW(uint32_t, g->n_vertices);
    double   *x     = CS_NEW(double, g->n_vertices);
    char      title[200];

    if (level == NULL || x == NULL) {
        cs_free(level);
        cs_free(x);
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for a picture");
    }
    uint32_t most  = graph_levels(g, level);
    double   width = place_vertices(g, level, most, x),
           step    = (width - 2 * CS_TOPOLOGY_MARGIN) / g->n_ranks;
    (void)snprintf(title, sizeof title, "%.100s: %s, %u ranks; in the boxes: links out together",
                   view->name, g->name, g->n_ranks);
    cs_topology_svg_begin(out, width > 560 ? width : 560, 100 + most * 90.0, title);
    draw_graph_lines(g, level, most, x, step, out);
    draw_graph_boxes(g, level, most, x, step, out);
    cs_svg_end(out);
    cs_free(level);
    cs_free(x);
    return CS_OK;
}
