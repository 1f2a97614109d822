/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A topology as a picture: a self-contained SVG 1.1, the same bytes for the same topology.
 *
 * Servers that are described: one server, its sockets side by side, switches and devices below
 * them, NVLinks above the GPUs, NICs at the bottom edge with their network links. Where there are
 * two kinds of servers, one below the other. Everything else: the ranks in a row at the bottom,
 * the links above them by how far from the ends of the routes they stand, lines between what
 * follows each other on a route.
 */
#include "base/alloc.h"
#include "cs/graph.h"
#include "results/topology_view.h"

#include <stdio.h>
#include <string.h>

#define BOX    74.0
#define HIGH   34.0
#define GAP    10.0
#define MARGIN 20.0
#define MOST   1024u

static void begin(cs_text *out, double width, double height, const char *title)
{
    cs_text_add(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                "viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" font-size=\"11\">\n"
                "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                width, height, width, height);
    cs_text_add(out, "<text x=\"%.0f\" y=\"22\" font-size=\"15\">", MARGIN);
    for (const char *p = title; *p != '\0'; p++) {
        cs_text_add(out, *p == '<' ? "&lt;" : *p == '&' ? "&amp;" : "%c", *p);
    }
    cs_text_add(out, "</text>\n");
}

/* A text whose middle is at (x, y); cut where it does not fit. */
static void add_words(cs_text *out, double x, double y, double width, const char *words)
{
    size_t room = (size_t)(width / 6.0), n = strlen(words);

    cs_text_add(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", x, y);
    for (size_t i = 0; i < n && i < room; i++) {
        cs_text_add(out, words[i] == '<' ? "&lt;" : words[i] == '&' ? "&amp;" : "%c", words[i]);
    }
    cs_text_add(out, "</text>\n");
}

static void add_box(cs_text *out, double x, double y, double w, double h, const char *colour,
                    const char *name, const char *below)
{
    cs_text_add(out,
                "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"4\" fill=\"%s\" "
                "stroke=\"#444\"/>\n",
                x, y, w, h, colour);
    add_words(out, x + w / 2, y + (below[0] != '\0' ? 14 : h / 2 + 4), w, name);
    if (below[0] != '\0') {
        add_words(out, x + w / 2, y + 28, w, below);
    }
}

static void add_line(cs_text *out, double x1, double y1, double x2, double y2, const char *colour,
                     double width)
{
    cs_text_add(out,
                "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
                "stroke-width=\"%.1f\"/>\n",
                x1, y1, x2, y2, colour, width);
}

/* --- one server --- */

typedef struct drawing {
    const cs_machine *m;
    cs_text          *out, *back;    /* boxes; lines behind them */
    double            top;           /* of the server */
    double           *gpu_x, *nic_x; /* owned: left edges */
    double           *switch_x;      /* owned: middle */
    double            width;
} drawing;

enum { NVLINKS = 40, SOCKETS = 110, SWITCHES = 180, GPUS = 250, NICS = 320, SERVER = 430 };

/* Devices of one switch, or of the socket itself, from x on; GPUs above NICs. */
static double place_group(drawing *d, uint32_t socket, uint32_t pcie, double x)
{
    double gpu = x, nic = x;

    for (uint32_t i = 0; i < d->m->n_gpus; i++) {
        if (d->m->gpus[i].socket == socket && d->m->gpus[i].pcie == pcie) {
            d->gpu_x[i] = gpu;
            gpu += BOX + GAP;
        }
    }
    for (uint32_t i = 0; i < d->m->n_nics; i++) {
        if (d->m->nics[i].socket == socket && d->m->nics[i].pcie == pcie) {
            d->nic_x[i] = nic;
            nic += BOX + GAP;
        }
    }
    return gpu > nic ? gpu : nic;
}

/* Place what hangs at a socket and draw the socket over it. */
static double draw_socket(drawing *d, uint32_t socket, double x)
{
    const cs_machine *m   = d->m;
    double            end = place_group(d, socket, CS_NO_SWITCH, x);
    char              name[64];

    for (uint32_t i = 0; i < m->n_switches; i++) {
        if (m->switches[i].socket != socket) {
            continue;
        }
        double from = end;
        end         = place_group(d, socket, i, end);
        end         = end < from + BOX + GAP ? from + BOX + GAP : end;
        (void)snprintf(name, sizeof name, "%.4g GB/s", m->switches[i].uplink_Bps / 1e9);
        d->switch_x[i] = (from + end - GAP) / 2;
        add_line(d->back, d->switch_x[i], d->top + SOCKETS + HIGH, d->switch_x[i],
                 d->top + SWITCHES, "#666", 1.5);
        add_box(d->out, from, d->top + SWITCHES, end - GAP - from, HIGH, "#e8e8e8", "PCIe switch",
                name);
    }
    end = end < x + BOX + GAP ? x + BOX + GAP : end;
    (void)snprintf(name, sizeof name, "socket %u", socket);
    add_box(d->out, x, d->top + SOCKETS, end - GAP - x, HIGH, "#cfe2f3", name, "");
    return end + 3 * GAP;
}

static void draw_devices(const drawing *d)
{
    const cs_machine *m = d->m;
    char              rate[48];

    for (uint32_t i = 0; i < m->n_gpus + m->n_nics; i++) {
        bool             is_nic = i >= m->n_gpus;
        const cs_device *v      = is_nic ? &m->nics[i - m->n_gpus] : &m->gpus[i];
        double           x      = is_nic ? d->nic_x[i - m->n_gpus] : d->gpu_x[i];
        double           y      = d->top + (is_nic ? NICS : GPUS);
        double           from   = v->pcie == CS_NO_SWITCH ? SOCKETS + HIGH : SWITCHES + HIGH;
        double           side   = is_nic ? 8 : BOX / 2; /* past the GPU above it */

        add_line(d->back, x + side, d->top + from, x + side, y, "#666", 1);
        (void)snprintf(rate, sizeof rate, is_nic ? "%.4g GB/s" : "PCIe %.4g",
                       (is_nic ? v->wire_Bps : v->pcie_Bps) / 1e9);
        if (is_nic) {
            add_line(d->back, x + BOX / 2, y + HIGH, x + BOX / 2, d->top + NICS + HIGH + 22,
                     "#b45f06", 2);
        }
        add_box(d->out, x, y, BOX, HIGH, is_nic ? "#fce5cd" : "#d9ead3", v->name, rate);
    }
    if (m->n_nics > 0) {
        add_box(d->out, MARGIN, d->top + NICS + HIGH + 22, d->width - 2 * MARGIN, 20, "#f9cb9c",
                "network", "");
    }
}

static void draw_nvlinks(const drawing *d)
{
    const cs_machine *m = d->m;
    char              rate[64];

    if (m->nvswitch_Bps > 0) {
        (void)snprintf(rate, sizeof rate, "NVSwitches, %.4g GB/s a GPU", m->nvswitch_Bps / 1e9);
        add_box(d->out, MARGIN, d->top + NVLINKS, d->width - 2 * MARGIN, 24, "#93c47d", rate, "");
        for (uint32_t i = 0; i < m->n_gpus; i++) {
            double x = d->gpu_x[i] + BOX - 6;
            add_line(d->back, x, d->top + NVLINKS + 24, x, d->top + GPUS, "#38761d", 2);
        }
    }
    for (uint32_t i = 0; m->nvlink_Bps != NULL && i < m->n_gpus * m->n_gpus; i++) {
        uint32_t a = i / m->n_gpus, b = i % m->n_gpus;
        if (a >= b || m->nvlink_Bps[i] <= 0) {
            continue;
        }
        double x1 = d->gpu_x[a] + BOX / 2, x2 = d->gpu_x[b] + BOX / 2, y = d->top + GPUS + HIGH;
        cs_text_add(d->back,
                    "<path d=\"M%.1f %.1f Q%.1f %.1f %.1f %.1f\" fill=\"none\" "
                    "stroke=\"#38761d\" stroke-width=\"2\"><title>NVLink %u - %u: %.4g "
                    "GB/s</title></path>\n",
                    x1, y, (x1 + x2) / 2, y + 20 + (x2 > x1 ? x2 - x1 : x1 - x2) / 8, x2, y, a, b,
                    m->nvlink_Bps[i] / 1e9);
    }
}

/* Left to right over all sockets; returns the width. */
static double draw_parts(drawing *d)
{
    double x = MARGIN, before = 0;
    char   rate[64];

    for (uint32_t s = 0; s < d->m->n_sockets; s++) {
        double from = x;
        x           = draw_socket(d, s, x);
        if (s > 0) {
            add_line(d->back, before, d->top + SOCKETS + HIGH / 2, from,
                     d->top + SOCKETS + HIGH / 2, "#3d85c6", 3);
        }
        before = x - 4 * GAP;
    }
    d->width = x - 3 * GAP + MARGIN;
    if (d->m->n_sockets > 1 && d->m->socket_Bps > 0) {
        (void)snprintf(rate, sizeof rate, "between sockets %.4g GB/s", d->m->socket_Bps / 1e9);
        add_words(d->out, d->width / 2, d->top + SOCKETS - 6, d->width, rate);
    }
    return d->width;
}

static cs_status draw_machine(const cs_machine *m, double top, double *width_p, cs_text *out,
                              cs_text *back)
{
    drawing d      = {.m        = m,
                      .out      = out,
                      .back     = back,
                      .top      = top,
                      .gpu_x    = CS_NEW(double, m->n_gpus + 1u),
                      .nic_x    = CS_NEW(double, m->n_nics + 1u),
                      .switch_x = CS_NEW(double, m->n_switches + 1u)};
    bool    failed = d.gpu_x == NULL || d.nic_x == NULL || d.switch_x == NULL;

    if (!failed) {
        double width = draw_parts(&d);
        draw_devices(&d);
        draw_nvlinks(&d);
        *width_p = width > *width_p ? width : *width_p;
    }
    cs_free(d.gpu_x);
    cs_free(d.nic_x);
    cs_free(d.switch_x);
    return failed ? CS_ENOMEM : CS_OK;
}

static cs_status draw_site(const cs_topology_view *view, cs_text *out, cs_error *err)
{
    cs_text   body = {0}, lines = {0};
    double    width = 320, height = SERVER;
    char      title[200];
    cs_status status = draw_machine(view->site->machine, 0, &width, &body, &lines);

    if (status == CS_OK && view->site->tail != NULL) {
        status = draw_machine(view->site->tail, SERVER, &width, &body, &lines);
        height = 2 * SERVER;
    }
    (void)snprintf(title, sizeof title, "%.100s: %u ranks, %u per server", view->name,
                   view->cluster->n_ranks, view->cluster->gpus_per_server);
    begin(out, width, height, title);
    cs_text_add(out, "%s%s</svg>\n", lines.data != NULL ? lines.data : "",
                body.data != NULL ? body.data : "");
    if (status != CS_OK || body.failed || lines.failed) {
        status = CS_FAIL(err, CS_ENOMEM, "", "out of memory for a picture");
    }
    cs_text_free(&body);
    cs_text_free(&lines);
    return status;
}

/* --- links between ranks --- */

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
                l->x[i] = MARGIN + (at++ + 0.5) * (2 * BOX + GAP);
            }
        }
        width = at * (2 * BOX + GAP) > width ? at * (2 * BOX + GAP) : width;
    }
    return width + 2 * MARGIN;
}

static double rank_x(uint32_t rank)
{
    return MARGIN + (rank + 0.5) * (BOX + GAP);
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
            double   x2 = l->x[links[i]], y2 = level_y(l, l->level[links[i]]) + HIGH / 2;
            if (!*mark) {
                add_line(l->out, x, y, x2, y2, "#bbb", 1);
            }
            *mark = 1;
            x     = x2;
            y     = y2;
            from  = links[i];
        }
        uint8_t *mark =
            n > 0 ? &seen[(l->n_links + (size_t)dst) * (l->n_links + 1u) + l->n_links] : NULL;
        if (mark != NULL && !*mark) {
            add_line(l->out, x, y, rank_x(dst), level_y(l, 0), "#bbb", 1);
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
            add_box(l->out, l->x[i] - BOX, level_y(l, l->level[i]), 2 * BOX, HIGH, "#cfe2f3",
                    strncmp(name, "link ", 5) == 0 ? name + 5 : name, rate);
        }
    }
    for (uint32_t r = 0; r < l->c->n_ranks; r++) {
        (void)snprintf(name, sizeof name, "rank %u", r);
        (void)snprintf(rate, sizeof rate, "%.4g GB/s", l->c->fabrics[CS_NIC].bandwidth_Bps / 1e9);
        add_box(l->out, rank_x(r) - BOX / 2, level_y(l, 0), BOX, HIGH, "#d9ead3", name, rate);
    }
}

/* --- a graph: ranks, switches above them, a line for every link --- */

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
    double width = g->n_ranks * (BOX + GAP);

    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t l = 0; l <= most; l++) {
            uint32_t count = 0, at = 0;
            for (uint32_t v = 0; v < g->n_vertices; v++) {
                count += level[v] == l;
            }
            width = count * (BOX + GAP) > width ? count * (BOX + GAP) : width;
            for (uint32_t v = 0; v < g->n_vertices; v++) {
                x[v] = level[v] == l ? MARGIN + (at++ + 0.5) * width / count : x[v];
            }
        }
    }
    return width + 2 * MARGIN;
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
                add_line(out, MARGIN + (r + 0.5) * step, vertex_y(most, 0), x[v],
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
        add_box(out, MARGIN + (r + 0.5) * step - BOX / 2, vertex_y(most, 0) - HIGH / 2, BOX, HIGH,
                "#d9ead3", name, "");
    }
    for (uint32_t v = 0; v < g->n_vertices; v++) {
        double all_Bps = 0;
        for (uint32_t i = g->first_out[v]; i < g->first_out[v + 1]; i++) {
            all_Bps += g->links[g->out[i]].bandwidth_Bps;
        }
        (void)snprintf(name, sizeof name, "%.4g GB/s", all_Bps / 1e9);
        add_box(out, x[v] - BOX / 2, vertex_y(most, level[v]) - HIGH / 2, BOX, HIGH, "#cfe2f3",
                g->vertices[v].name, name);
    }
}

static cs_status draw_graph(const cs_topology_view *view, const cs_graph *g, cs_text *out,
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
    double   width = place_vertices(g, level, most, x), step = (width - 2 * MARGIN) / g->n_ranks;
    (void)snprintf(title, sizeof title, "%.100s: %s, %u ranks; in the boxes: links out together",
                   view->name, g->name, g->n_ranks);
    begin(out, width > 560 ? width : 560, 100 + most * 90.0, title);
    draw_graph_lines(g, level, most, x, step, out);
    draw_graph_boxes(g, level, most, x, step, out);
    cs_text_add(out, "</svg>\n");
    cs_free(level);
    cs_free(x);
    return CS_OK;
}

static cs_status draw_links(const cs_topology_view *view, cs_text *out, cs_error *err)
{
    const cs_cluster *c    = view->cluster;
    layers            l    = {.c = c, .n_links = c->topology != NULL ? c->topology->n_links : 0};
    cs_text           body = {0};
    char              title[200];

    if (l.n_links > MOST || c->n_ranks > MOST) {
        return CS_FAIL(err, CS_ENOTSUP, "topology",
                       "%u ranks and %u links are too many for a picture: accepted are %u of each",
                       c->n_ranks, l.n_links, MOST);
    }
    if (cs_graph_of(c->topology) != NULL) {
        return draw_graph(view, cs_graph_of(c->topology), out, err);
    }
    l.out   = &body;
    l.level = CS_NEW(uint32_t, l.n_links + 1u);
    l.x     = CS_NEW(double, l.n_links + 1u);
    if (l.level != NULL && l.x != NULL) {
        find_levels(&l);
        double width = place_links(&l), ranks = rank_x(c->n_ranks) + MARGIN;
        draw_layers(&l);
        (void)snprintf(title, sizeof title, "%.100s: %s, %u ranks", view->name,
                       c->topology != NULL ? c->topology->kind->name : "crossbar", c->n_ranks);
        begin(out, width > ranks ? width : ranks, level_y(&l, 0) + HIGH + MARGIN, title);
        cs_text_add(out, "%s</svg>\n", body.data != NULL ? body.data : "");
    }
    bool failed = l.level == NULL || l.x == NULL || body.failed;
    cs_free(l.level);
    cs_free(l.x);
    cs_text_free(&body);
    return failed ? CS_FAIL(err, CS_ENOMEM, "", "out of memory for a picture") : CS_OK;
}

cs_status cs_topology_svg(const cs_topology_view *view, cs_text *out, cs_error *err)
{
    cs_status status = view->site != NULL ? draw_site(view, out, err) : draw_links(view, out, err);
    return status == CS_OK ? cs_text_status(out, err) : status;
}
