/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A topology as a picture: boxes and lines in the language of Graphviz, whose program dot lays them
 * out.
 *
 * Servers that are described are drawn device by device: NVSwitches, GPUs, what these are connected
 * to, NICs and the network one below the other, a frame around every socket. A network is drawn as
 * its switches, the farther from the ranks the higher, or all over the plane where ranks are
 * attached to all of them. A topology that only states routes has no switches: its links are the
 * boxes, and a line joins those that follow each other on a route.
 *
 * What is many and alike is one box: of more than 16 GPUs or NICs like sockets, of more than 16
 * ranks or 8 NICs those with the same neighbours. Where a level of switches would be wider than
 * 1,600 pixels, a box stands for several of them that are alike. The wider a line, the faster.
 */
#include "base/alloc.h"
#include "base/child.h"
#include "cs/graph.h"
#include "output/svg.h"
#include "output/topology_view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_DRAWN 1024u /* ranks, and links */
#define MOST_APART 16u   /* ranks, GPUs and NICs with a box each */
#define NONE       UINT32_MAX

enum { MOST_LABELS = 12, MOST_IN_LINE = 4, NAME_BYTES = 96, LABEL_BYTES = 200 };

/* What fits beside each other, in points of which 1,200 are 1,600 pixels; of a box, the least, what
 * a character takes, and what is around the words. */
#define MOST_POINTS 1150.0
#define BOX_POINTS  70.0
#define LETTER      6.2
#define AROUND      18.0

/* Inches from one box to the next, and how many boxes a wide one goes over at the most. */
#define BOX_INCHES 0.85
#define MOST_WIDE  16.0

#define FONT  "fontname=\"DejaVu Sans,Verdana,sans-serif\""
#define GREY  "#666666"
#define GREEN "#38761d"
#define BROWN "#b45f06"
#define BLUE  "#3d85c6"

/* What a box is. An anchor is not drawn: it keeps what is connected to it in order. */
typedef enum box_kind {
    RANK,
    SWITCH,
    NVSWITCHES,
    MESH,
    GPU,
    PCIE_SWITCH,
    PCIE_ROOT,
    NIC,
    NETWORK,
    BETWEEN_SOCKETS,
    ANCHOR,
    KINDS
} box_kind;

/* How a kind is drawn: its style, the words around its rate, whether it is as wide as the boxes
 * that it has lines to, and from how many on (0: never) those with the same neighbours share a box.
 */
static const struct {
    const char *style, *before, *behind;
    bool        is_wide;
    size_t      most_apart;
} kinds[KINDS] = {
    [RANK]            = {"fillcolor=\"#d9ead3\"", "", "", false, MOST_APART},
    [SWITCH]          = {"fillcolor=\"#cfe2f3\"", "", "", false, 0},
    [NVSWITCHES]      = {"fillcolor=\"#93c47d\"", "", " a GPU", true, 0},
    [MESH]            = {"fillcolor=\"#93c47d\"", "", "", true, 0},
    [GPU]             = {"fillcolor=\"#d9ead3\"", "PCIe ", "", false, 0},
    [PCIE_SWITCH]     = {"fillcolor=\"#e8e8e8\"", "up ", "", false, 0},
    [PCIE_ROOT]       = {"fillcolor=\"#e8e8e8\"", "", "", false, 0},
    [NIC]             = {"fillcolor=\"#fce5cd\"", "", "", false, MOST_APART / 2},
    [NETWORK]         = {"fillcolor=\"#f9cb9c\"", "", "", true, 0},
    [BETWEEN_SOCKETS] = {"shape=plain style=\"\" fontcolor=\"" BLUE "\"", "", "", false, 0},
    [ANCHOR]          = {"shape=point style=invis", "", "", false, 0},
};

typedef struct box {
    char     name[NAME_BYTES];
    box_kind kind;
    double   rate_Bps;     /* 0: it has none */
    uint32_t frame;        /* around it, or NONE */
    uint32_t level;        /* lines go down from level to level; 0: not known yet */
    uint32_t same;         /* the box that is drawn for it: itself, or the first that is like it */
    uint32_t count;        /* how many are drawn as this one, and which: */
    uint32_t second, last; /* ... the second of them, and the last */
    uint32_t n_lines;
} box;

/* All links of one kind between two boxes. */
typedef struct line {
    uint32_t    first, second;       /* first < second */
    uint32_t    there, back;         /* how many lead from the first to the second, and back */
    double      rate_Bps, latency_s; /* of one; 0: it has none */
    const char *colour;
    double      width; /* 0: by the rate */
} line;

typedef struct box_frame {
    char     label[LABEL_BYTES];
    uint32_t around; /* the frame around it, or NONE */
} box_frame;

typedef struct diagram {
    const cs_cluster *c;
    cs_text           title;
    box              *boxes; /* owned, as all here */
    line             *lines;
    box_frame        *frames;
    uint32_t          n_boxes, n_frames;
    size_t            n_lines, box_room, line_room, frame_room;
    bool              is_ordered; /* switches of a level stand in their order */
    bool              is_folded;  /* a box stands for several switches */
    bool              failed;     /* out of memory: what was added then is lost */
} diagram;

static uint32_t add_box(diagram *d, box_kind kind, const char *name, double rate_Bps,
                        uint32_t frame, uint32_t level)
{
    if (!cs_grow(&d->boxes, &d->box_room, d->n_boxes + (size_t)1, 64, sizeof *d->boxes)) {
        d->failed = true;
        return 0;
    }
    box *b = &d->boxes[d->n_boxes];
    *b     = (box){.kind     = kind,
                   .rate_Bps = rate_Bps,
                   .frame    = frame,
                   .level    = level,
                   .same     = d->n_boxes,
                   .count    = 1};
    (void)snprintf(b->name, sizeof b->name, "%s", name);
    return d->n_boxes++;
}

static void add_line(diagram *d, line l)
{
    if (!cs_grow(&d->lines, &d->line_room, d->n_lines + 1, 64, sizeof *d->lines)) {
        d->failed = true;
        return;
    }
    d->lines[d->n_lines] = l;
    if (l.first > l.second) {
        line *turned   = &d->lines[d->n_lines];
        turned->first  = l.second;
        turned->second = l.first;
        turned->there  = l.back;
        turned->back   = l.there;
    }
    d->n_lines++;
}

/* A line of both directions. */
static void connect(diagram *d, uint32_t a, uint32_t b, const char *colour, double width)
{
    add_line(d, (line){a, b, .there = 1, .back = 1, .colour = colour, .width = width});
}

static uint32_t add_frame(diagram *d, uint32_t around)
{
    if (!cs_grow(&d->frames, &d->frame_room, d->n_frames + (size_t)1, 8, sizeof *d->frames)) {
        d->failed = true;
        return NONE;
    }
    d->frames[d->n_frames] = (box_frame){.around = around};
    return d->n_frames++;
}

static void free_diagram(diagram *d)
{
    cs_text_free(&d->title);
    cs_free(d->boxes);
    cs_free(d->lines);
    cs_free(d->frames);
}

/* ---- servers: what connects all GPUs, GPUs, what devices are connected to, NICs, the network;
 * from the top down ---- */
enum { TOPS = 5, GPUS = 4, HUBS = 3, NICS = 2, NETWORKS = 1 };

typedef struct server {
    const cs_machine *m;
    uint32_t          frame, top; /* top: NONE where there is nothing to keep together */
    uint32_t         *gpus;       /* [n_gpus] their boxes, or NONE; owned, as below */
    uint32_t         *hubs;       /* [n_switches + 1] boxes of the socket in work; the root last */
    double            least_Bps, most_Bps; /* of the links of two GPUs; 0: no two have any */
    bool              is_mesh;             /* all two have some, of one rate */
} server;

/* Add what a picture shows of a socket, to compare sockets by it. */
static void describe_socket(const cs_machine *m, uint32_t socket, cs_text *text)
{
    for (uint32_t i = 0; i < m->n_switches; i++) {
        if (m->switches[i].socket == socket) {
            cs_text_add(text, "switch %.17g;", m->switches[i].uplink_Bps);
        }
    }
    for (uint32_t i = 0; i < m->n_gpus + m->n_nics; i++) {
        const cs_device *v     = i < m->n_gpus ? &m->gpus[i] : &m->nics[i - m->n_gpus];
        uint32_t         place = 0; /* of its switch; behind all: the socket itself */
        for (uint32_t k = 0; k < m->n_switches && k != v->pcie; k++) {
            place += m->switches[k].socket == socket;
        }
        if (v->socket == socket) {
            cs_text_add(text, "%d at %u: %.17g %.17g;", i < m->n_gpus, place, v->pcie_Bps,
                        v->wire_Bps);
        }
    }
}

/* How many sockets from `socket` on are drawn as one. */
static uint32_t count_alike(diagram *d, const server *s, uint32_t socket)
{
    bool     folds = s->m->n_gpus > MOST_APART || s->m->n_nics > MOST_APART;
    cs_text  one   = {0};
    uint32_t n     = 1;
    bool     same  = folds && s->most_Bps <= 0;

    describe_socket(s->m, socket, &one);
    while (same && socket + n < s->m->n_sockets) {
        cs_text other = {0};
        describe_socket(s->m, socket + n, &other);
        d->failed = d->failed || one.failed || other.failed;
        same      = !d->failed && one.length == other.length &&
               (one.length == 0 || strcmp(one.data, other.data) == 0);
        n += same;
        cs_text_free(&other);
    }
    cs_text_free(&one);
    return n;
}

/* The box that a device is connected to: its switch, or the root of its socket, which is made for
 * the first device there. */
static uint32_t hub_of(diagram *d, const server *s, const cs_device *device, uint32_t frame)
{
    uint32_t root = s->m->n_switches;

    if (device->pcie != CS_NO_SWITCH) {
        return s->hubs[device->pcie];
    }
    if (s->hubs[root] == NONE) {
        s->hubs[root] = add_box(d, PCIE_ROOT, "PCIe root", 0, frame, HUBS);
    }
    return s->hubs[root];
}

/* Add a socket. `ends`: the first and the last box that its devices are connected to. */
static void add_socket(diagram *d, const server *s, uint32_t socket, uint32_t network,
                       uint32_t frame, uint32_t ends[2])
{
    const cs_machine *m     = s->m;
    uint32_t          first = d->n_boxes;

    s->hubs[m->n_switches] = NONE;
    for (uint32_t i = 0; i < m->n_switches; i++) {
        if (m->switches[i].socket == socket) {
            s->hubs[i] =
                add_box(d, PCIE_SWITCH, "PCIe switch", m->switches[i].uplink_Bps, frame, HUBS);
        }
    }
    if (d->n_boxes == first) {
        s->hubs[m->n_switches] = add_box(d, PCIE_ROOT, "PCIe root", 0, frame, HUBS);
    }
    ends[0] = first;
    ends[1] = d->n_boxes - 1;
    for (uint32_t i = 0; i < m->n_gpus + m->n_nics; i++) {
        bool             is_gpu = i < m->n_gpus;
        const cs_device *v      = is_gpu ? &m->gpus[i] : &m->nics[i - m->n_gpus];
        if (v->socket != socket) {
            continue;
        }
        uint32_t hub  = hub_of(d, s, v, frame);
        uint32_t here = add_box(d, is_gpu ? GPU : NIC, v->name, is_gpu ? v->pcie_Bps : v->wire_Bps,
                                frame, is_gpu ? GPUS : NICS);
        connect(d, hub, here, GREY, 1);
        if (is_gpu) {
            s->gpus[i] = here;
        } else {
            connect(d, here, network, BROWN, 2);
        }
    }
}

static void add_sockets(diagram *d, const server *s, uint32_t network)
{
    uint32_t ends[2] = {0}, before = 0;

    for (uint32_t socket = 0, n; socket < s->m->n_sockets; socket += n) {
        uint32_t frame = add_frame(d, s->frame);
        n              = count_alike(d, s, socket);
        before         = ends[1];
        if (d->failed) {
            return;
        }
        (void)snprintf(d->frames[frame].label, LABEL_BYTES,
                       n > 1 ? "sockets %u .. %u, each like this" : "socket %u", socket,
                       socket + n - 1);
        add_socket(d, s, socket, network, frame, ends);
        if (socket > 0 && s->m->socket_Bps > 0) {
            uint32_t between = add_box(d, BETWEEN_SOCKETS, "", s->m->socket_Bps, s->frame, NICS);
            connect(d, before, between, BLUE, 3);
            connect(d, ends[0], between, BLUE, 3);
        } else if (n > 1 && s->m->socket_Bps > 0) {
            char  *label = d->frames[s->frame].label;
            size_t used  = strlen(label);
            (void)snprintf(label + used, LABEL_BYTES - used, ", %.4g GB/s between sockets",
                           s->m->socket_Bps / 1e9);
        }
    }
}

/* The lines above the GPUs: to what is on top, and for two with links of their own. */
static void connect_gpus(diagram *d, const server *s)
{
    size_t n = s->m->n_gpus;

    for (uint32_t i = 0; i < n && s->top != NONE; i++) {
        if (s->gpus[i] != NONE) {
            connect(d, s->top, s->gpus[i], GREEN, 2);
        }
    }
    for (size_t i = 0; i < n * n && s->most_Bps > 0 && !s->is_mesh; i++) {
        double rate_Bps = s->m->nvlink_Bps[i];
        if (i / n < i % n && rate_Bps > 0) {
            add_line(d, (line){s->gpus[i / n], s->gpus[i % n], 1, 1, rate_Bps, 0, GREEN, 0});
        }
    }
}

static void find_pair_rates(server *s)
{
    size_t n = s->m->n_gpus, n_pairs = 0;

    for (size_t i = 0; s->m->nvlink_Bps != NULL && i < n * n; i++) {
        double rate_Bps = s->m->nvlink_Bps[i];
        if (rate_Bps > 0) {
            s->least_Bps = n_pairs++ == 0 ? rate_Bps : fmin(s->least_Bps, rate_Bps);
            s->most_Bps  = fmax(s->most_Bps, rate_Bps);
        }
    }
    s->is_mesh = n > 2 && n_pairs == n * (n - 1) && s->least_Bps == s->most_Bps;
}

/* What is above the GPUs, and what the frame says. */
static void add_top(diagram *d, server *s, uint32_t first, uint32_t end)
{
    const cs_machine *m = s->m;
    char              name[NAME_BYTES], *label = d->frames[s->frame].label;
    int               used;

    used = snprintf(label, LABEL_BYTES, end - first > 1 ? "servers %u .. %u" : "server %u", first,
                    end - 1);
    used += snprintf(label + used, LABEL_BYTES - (size_t)used, ", %u GPUs", m->n_gpus);
    if (s->most_Bps > 0) {
        used += snprintf(label + used, LABEL_BYTES - (size_t)used, ", %.40s", m->link_name);
        (void)snprintf(label + used, LABEL_BYTES - (size_t)used,
                       s->least_Bps < s->most_Bps ? " %.4g to %.4g GB/s" : " %.4g GB/s",
                       s->least_Bps / 1e9, s->most_Bps / 1e9);
    }
    (void)snprintf(name, sizeof name, "%.60s for every pair", m->link_name);
    s->top = m->nvswitch_Bps > 0
                 ? add_box(d, NVSWITCHES, "NVSwitches", m->nvswitch_Bps, s->frame, TOPS)
             : s->is_mesh       ? add_box(d, MESH, name, s->most_Bps, s->frame, TOPS)
             : m->n_sockets > 1 ? add_box(d, ANCHOR, "", 0, s->frame, TOPS)
                                : NONE;
}

/* Servers `first` to `end` - 1, which are alike. */
static void add_server(diagram *d, const cs_machine *m, uint32_t first, uint32_t end,
                       uint32_t network)
{
    server s = {.m     = m,
                .frame = add_frame(d, NONE),
                .gpus  = CS_NEW(uint32_t, m->n_gpus),
                .hubs  = CS_NEW(uint32_t, m->n_switches + (size_t)1)};

    d->failed = d->failed || s.gpus == NULL || s.hubs == NULL;
    if (!d->failed) {
        memset(s.gpus, 0xff, m->n_gpus * sizeof *s.gpus); /* NONE */
        find_pair_rates(&s);
        add_top(d, &s, first, end);
        add_sockets(d, &s, network);
        connect_gpus(d, &s);
    }
    cs_free(s.gpus);
    cs_free(s.hubs);
}

static void add_site(diagram *d, const cs_site *site)
{
    uint32_t servers = cs_n_servers(d->c);
    bool     has_two = site->tail != NULL && site->first_tail < servers;
    uint32_t network = add_box(d, NETWORK, "network", 0, NONE, NETWORKS);

    add_server(d, site->machine, 0, has_two ? site->first_tail : servers, network);
    if (has_two) {
        add_server(d, site->tail, site->first_tail, servers, network);
    }
}

/* ---- networks ---- */

/* All ranks, as the boxes 0 to n_ranks - 1. */
static void add_ranks(diagram *d)
{
    uint32_t fabric = cs_uses_nics(d->c) ? CS_NIC : CS_NVLINK;
    char     name[NAME_BYTES];

    for (uint32_t r = 0; r < d->c->n_ranks; r++) {
        (void)snprintf(name, sizeof name, "rank %u", r);
        (void)add_box(d, RANK, name, cs_server_Bps(d->c, cs_server_of(d->c, r), fabric), NONE, 1);
    }
}

/* A link between two switches; what these have is their links out together. */
static void add_link(diagram *d, uint32_t from, uint32_t to, const cs_link *link)
{
    add_line(d, (line){from, to, 1, 0, link->bandwidth_Bps, link->latency_s, GREY, 0});
    if (!d->failed) {
        d->boxes[from].rate_Bps += link->bandwidth_Bps;
    }
}

static void add_graph(diagram *d, const cs_graph *g)
{
    uint32_t first = d->n_boxes;

    for (uint32_t v = 0; v < g->n_vertices; v++) {
        (void)add_box(d, SWITCH, g->vertices[v].name, 0, NONE, 0);
    }
    for (uint32_t i = 0; i < g->n_links; i++) {
        add_link(d, first + g->ends[i].from, first + g->ends[i].to, &g->links[i]);
    }
    for (uint32_t f = 0; f < CS_FABRICS; f++) {
        for (uint32_t r = 0; g->attach[f] != NULL && r < d->c->n_ranks; r++) {
            connect(d, r, first + g->attach[f][r], GREEN, 1);
        }
    }
    d->is_ordered = strcmp(g->name, "graph") != 0; /* one that somebody wrote may have any order */
}

static void add_leaf_spine(diagram *d, const cs_leaf_spine *shape, const cs_link *links)
{
    uint32_t leaf = d->n_boxes, spine = leaf + shape->n_leaves;
    char     name[NAME_BYTES];

    for (uint32_t i = 0; i < shape->n_leaves + shape->n_spines; i++) {
        bool is_leaf = i < shape->n_leaves;
        (void)snprintf(name, sizeof name, is_leaf ? "leaf %u" : "spine %u",
                       is_leaf ? i : i - shape->n_leaves);
        (void)add_box(d, SWITCH, name, 0, NONE, 0);
    }
    for (uint32_t i = 0; i < shape->n_leaves * shape->n_spines; i++) {
        uint32_t low = leaf + i / shape->n_spines, high = spine + i % shape->n_spines;
        add_link(d, low, high, &links[(size_t)2 * i]);
        add_link(d, high, low, &links[(size_t)2 * i + 1]);
    }
    for (uint32_t r = 0; r < d->c->n_ranks; r++) {
        connect(d, r, leaf + cs_leaf_of(shape, d->c, r), GREEN, 1);
    }
    d->is_ordered = true;
}

static void add_crossbar(diagram *d)
{
    uint32_t crossbar = add_box(d, SWITCH, "crossbar", 0, NONE, 0);

    for (uint32_t r = 0; r < d->c->n_ranks; r++) {
        connect(d, r, crossbar, GREEN, 1);
    }
}

/* The box of a link: one for every name and rate, so that both directions share it. */
static uint32_t box_of_link(diagram *d, uint32_t link)
{
    const cs_topology *t        = d->c->topology;
    double             rate_Bps = t->links[link].bandwidth_Bps;
    char               text[NAME_BYTES];

    t->kind->link_name(t, link, text, sizeof text);
    const char *name = strncmp(text, "link ", 5) == 0 ? text + 5 : text;
    for (uint32_t i = d->c->n_ranks; i < d->n_boxes; i++) {
        if (d->boxes[i].rate_Bps == rate_Bps && strcmp(d->boxes[i].name, name) == 0) {
            return i;
        }
    }
    return add_box(d, SWITCH, name, rate_Bps, NONE, 0);
}

/* Rank, link, link, rank: what follows each other on the route of any two. */
static void add_routes(diagram *d)
{
    const cs_topology *t = d->c->topology;
    uint32_t           n = d->c->n_ranks, most = n + t->n_links, links[CS_MAX_ROUTE];
    uint32_t          *boxes = CS_NEW(uint32_t, t->n_links);
    uint8_t           *seen  = CS_NEW(uint8_t, (size_t)most * most);

    d->failed = d->failed || boxes == NULL || seen == NULL;
    for (uint32_t i = 0; i < t->n_links && !d->failed; i++) {
        boxes[i] = box_of_link(d, i);
    }
    for (uint32_t src = 0; src < n && !d->failed; src++) {
        for (uint32_t dst = 0; dst < n; dst++) {
            uint32_t fabric = cs_fabric_of(d->c, src, dst), at = src;
            uint32_t count = src == dst ? 0 : t->kind->route(t, d->c, src, dst, fabric, links);
            for (uint32_t i = 0; count > 0 && i <= count; i++) {
                uint32_t next = i < count ? boxes[links[i]] : dst;
                uint8_t *mark =
                    &seen[(size_t)(at < next ? at : next) * most + (at < next ? next : at)];
                if (at != next && !*mark) {
                    connect(d, at, next, at < n || next < n ? GREEN : GREY, 1);
                    *mark = 1;
                }
                at = next;
            }
        }
    }
    cs_free(boxes);
    cs_free(seen);
}

static cs_status add_network(diagram *d, cs_error *err)
{
    const cs_topology   *t       = d->c->topology;
    const cs_graph      *graph   = cs_graph_of(t);
    const cs_leaf_spine *shape   = cs_leaf_spine_of(t);
    uint32_t             n_links = t != NULL ? t->n_links : 0;

    if (n_links > MOST_DRAWN || d->c->n_ranks > MOST_DRAWN) {
        return CS_FAIL(err, CS_ENOTSUP, "topology",
                       "%u ranks and %u links are too many for a picture: accepted are %u of each",
                       d->c->n_ranks, n_links, MOST_DRAWN);
    }
    add_ranks(d);
    if (graph != NULL) {
        add_graph(d, graph);
    } else if (t == NULL) {
        add_crossbar(d);
    } else if (shape != NULL) {
        add_leaf_spine(d, shape, t->links);
    } else {
        add_routes(d);
    }
    return CS_OK;
}

/* ---- boxes and lines that are alike ---- */

static int compare_numbers(double a, double b)
{
    return (a > b) - (a < b);
}

static int compare_lines(const void *left, const void *right)
{
    const line *a = left, *b = right;

    if (a->first != b->first) {
        return a->first < b->first ? -1 : 1;
    }
    if (a->second != b->second) {
        return a->second < b->second ? -1 : 1;
    }
    return a->rate_Bps != b->rate_Bps ? compare_numbers(a->rate_Bps, b->rate_Bps)
                                      : compare_numbers(a->latency_s, b->latency_s);
}

/* One line for all links of one kind between two boxes. */
static void merge_lines(diagram *d)
{
    size_t kept = 0;

    if (d->n_lines > 0) {
        qsort(d->lines, d->n_lines, sizeof *d->lines, compare_lines);
    }
    for (size_t i = 0; i < d->n_lines; i++) {
        if (kept > 0 && compare_lines(&d->lines[kept - 1], &d->lines[i]) == 0) {
            d->lines[kept - 1].there += d->lines[i].there;
            d->lines[kept - 1].back += d->lines[i].back;
        } else {
            d->lines[kept++] = d->lines[i];
        }
    }
    d->n_lines = kept;
}

static bool is_like(const diagram *d, const box *a, const box *b, const uint8_t *joined)
{
    size_t n = d->n_boxes;

    return a->kind == b->kind && a->frame == b->frame && a->rate_Bps == b->rate_Bps &&
           memcmp(joined + (size_t)(a - d->boxes) * n, joined + (size_t)(b - d->boxes) * n, n) == 0;
}

/* Box `i` is drawn as box `k` < i. */
static void join_box(diagram *d, uint32_t k, uint32_t i)
{
    box *first = &d->boxes[k];

    d->boxes[i].same = k;
    first->second    = first->count == 1 ? i : first->second;
    first->last      = i;
    first->count++;
}

/* Of kinds of which there are many, boxes with the same neighbours become one. */
static void fold_boxes(diagram *d)
{
    size_t   n = d->n_boxes, counts[KINDS] = {0};
    uint8_t *joined = CS_NEW(uint8_t, n * n);

    d->failed = d->failed || joined == NULL;
    for (size_t i = 0; i < d->n_lines && !d->failed; i++) {
        uint32_t a = d->boxes[d->lines[i].first].same, b = d->boxes[d->lines[i].second].same;
        joined[a * n + b] = 1;
        joined[b * n + a] = 1;
    }
    for (size_t i = 0; i < n; i++) {
        counts[d->boxes[i].kind]++;
    }
    for (uint32_t i = 0; i < n && !d->failed; i++) {
        box     *b     = &d->boxes[i];
        size_t   apart = kinds[b->kind].most_apart;
        uint32_t k     = apart > 0 && counts[b->kind] > apart ? 0 : i;
        if (b->same != i) {
            continue; /* one of several switches */
        }
        while (k < i && (d->boxes[k].same != k || !is_like(d, &d->boxes[k], b, joined))) {
            k++;
        }
        if (k < i) {
            join_box(d, k, i);
        }
    }
    cs_free(joined);
}

static int compare_kept(const void *left, const void *right)
{
    const line *a = left, *b = right;
    int         c = compare_lines(a, b);

    c = c != 0 ? c : (a->there > b->there) - (a->there < b->there);
    return c != 0 ? c : (a->back > b->back) - (a->back < b->back);
}

/* Lines are those of the boxes that are drawn: one for all of one kind between two of them. */
static void fold_lines(diagram *d)
{
    size_t kept = 0;

    for (size_t i = 0; i < d->n_lines; i++) {
        line     l = d->lines[i];
        uint32_t a = d->boxes[l.first].same, b = d->boxes[l.second].same;
        if (a != b) {
            bool is_turned = a > b;
            d->lines[kept] = l;
            line *here     = &d->lines[kept++];
            here->first    = is_turned ? b : a;
            here->second   = is_turned ? a : b;
            here->there    = is_turned ? l.back : l.there;
            here->back     = is_turned ? l.there : l.back;
        }
    }
    d->n_lines = kept;
    kept       = 0;
    if (d->n_lines > 0) {
        qsort(d->lines, d->n_lines, sizeof *d->lines, compare_kept);
    }
    for (size_t i = 0; i < d->n_lines; i++) {
        if (kept == 0 || compare_lines(&d->lines[kept - 1], &d->lines[i]) != 0) {
            d->lines[kept++] = d->lines[i];
        }
    }
    d->n_lines = kept;
}

/* How far boxes are from the ranks; what nobody reaches is on top. Returns the most. */
static uint32_t find_levels(diagram *d)
{
    uint32_t most = 1;
    bool     grew = true;

    while (grew) {
        grew = false;
        for (size_t i = 0; i < 2 * d->n_lines; i++) {
            const line *l    = &d->lines[i / 2];
            uint32_t    from = d->boxes[i % 2 == 0 ? l->first : l->second].level;
            box        *to   = &d->boxes[i % 2 == 0 ? l->second : l->first];
            if (from > 0 && (to->level == 0 || (to->kind == SWITCH && to->level > from + 1))) {
                to->level = from + 1;
                grew      = true;
            }
        }
    }
    for (uint32_t i = 0; i < d->n_boxes; i++) {
        most = d->boxes[i].level > most ? d->boxes[i].level : most;
    }
    for (uint32_t i = 0; i < d->n_boxes; i++) {
        d->boxes[i].level = d->boxes[i].level > 0 ? d->boxes[i].level : most;
    }
    return most;
}

/* Are ranks attached to all of many switches? Then none is above another one. */
static bool is_flat(const diagram *d, uint32_t most_level)
{
    uint32_t n_switches = 0;

    for (uint32_t i = 0; i < d->n_boxes; i++) {
        n_switches += d->boxes[i].kind == SWITCH;
    }
    return most_level == 2 && n_switches > MOST_IN_LINE;
}

/* ---- levels that are too wide ---- */

/* Spread the bits of a number. */
static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 31) * UINT64_C(0x7FB5D329728EA185);
    x = (x ^ x >> 27) * UINT64_C(0x81DADEF4BC2DD44D);
    return x ^ x >> 33;
}

static uint64_t bits_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* What a line is for the box at one of its ends, by what is known of the other. */
static uint64_t seen_from(const line *l, bool from_first, uint64_t other)
{
    uint64_t there = from_first ? l->there : l->back, back = from_first ? l->back : l->there;

    return mixed(mixed(mixed(other + there) + back) + bits_of(l->rate_Bps) +
                 mixed(bits_of(l->latency_s)));
}

static int compare_classes(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

static uint32_t count_classes(const uint64_t *classes, uint64_t *sorted, uint32_t n)
{
    uint32_t count = 0;

    memcpy(sorted, classes, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_classes);
    for (uint32_t i = 0; i < n; i++) {
        count += i == 0 || sorted[i] != sorted[i - 1];
    }
    return count;
}

/* Boxes of one class have the same kind, rate and level, and as many lines of each kind to boxes of
 * each class: what they are is told apart by ever farther neighbours until nothing is. `classes`
 * has room for 3 numbers a box; the first are the classes. */
static void classify(const diagram *d, uint64_t *classes)
{
    uint32_t  n = d->n_boxes, before = 0, count;
    uint64_t *sums = classes + n, *sorted = sums + n;

    for (uint32_t i = 0; i < n; i++) {
        const box *b = &d->boxes[i];
        classes[i]   = mixed(mixed((uint64_t)b->kind + 1) + b->level) + bits_of(b->rate_Bps);
    }
    while ((count = count_classes(classes, sorted, n)) > before) {
        before = count;
        for (uint32_t i = 0; i < n; i++) {
            sums[i] = mixed(classes[i]);
        }
        for (size_t i = 0; i < d->n_lines; i++) {
            const line *l = &d->lines[i];
            sums[l->first] += seen_from(l, true, classes[l->second]);
            sums[l->second] += seen_from(l, false, classes[l->first]);
        }
        memcpy(classes, sums, n * sizeof *classes);
    }
}

/* The points that a switch takes across, or (`many`) several of them as one box: its own words, or
 * those of its ranks below it. */
static double points_of(const diagram *d, uint32_t i, bool many)
{
    uint32_t first = NONE, second = NONE, last = 0;
    size_t   letters = strlen(d->boxes[i].name) + (many ? strlen(" .. 1023") : 0);
    char     words[48];

    for (size_t k = 0; k < d->n_lines; k++) {
        const line *l = &d->lines[k]; /* ranks come first, and are sorted */
        if (l->second == i && d->boxes[l->first].kind == RANK) {
            second = first != NONE && second == NONE ? l->first : second;
            first  = first == NONE ? l->first : first;
            last   = l->first;
        }
    }
    if (first != NONE) {
        int n   = second == NONE || second == first + 1
                      ? snprintf(words, sizeof words, "rank %u .. %u", first, last)
                      : snprintf(words, sizeof words, "rank %u, %u .. %u", first, second, last);
        letters = n > (int)letters ? (size_t)n : letters;
    }
    return fmax(BOX_POINTS, LETTER * (double)letters + AROUND);
}

/* How many switches a box has, so that `n` of them become equal boxes, `most` of these at most. */
static uint32_t switches_a_box(uint32_t n, double most)
{
    uint32_t each = 1;

    while (each < n && (n % each != 0 || (double)n / each > most)) {
        each++;
    }
    return each;
}

/* The switches of the class of box `of`, its first, become boxes of several, of which a `share` of
 * them is left at most. */
static void fold_class(diagram *d, const uint64_t *classes, uint32_t of, double share)
{
    uint32_t n = 0, place = 0, first = of;

    for (uint32_t i = of; i < d->n_boxes; i++) {
        n += classes[i] == classes[of];
    }
    uint32_t each = switches_a_box(n, fmax(1, floor(share * n)));
    for (uint32_t i = of; i < d->n_boxes && each > 1; i++) {
        if (classes[i] == classes[of]) {
            if (place % each == 0) {
                first = i;
            } else {
                join_box(d, first, i);
                d->is_folded = true;
            }
            place++;
        }
    }
}

static void fold_level(diagram *d, const uint64_t *classes, uint32_t level)
{
    double points = 0, folded = 0;

    for (uint32_t i = 0; i < d->n_boxes; i++) {
        const box *b = &d->boxes[i];
        if (b->kind == SWITCH && b->level == level) {
            points += points_of(d, i, false);
            folded += points_of(d, i, true);
        }
    }
    for (uint32_t i = 0; i < d->n_boxes && points > MOST_POINTS; i++) {
        const box *b        = &d->boxes[i];
        bool       is_first = b->kind == SWITCH && b->level == level;
        for (uint32_t k = 0; k < i && is_first; k++) {
            is_first = classes[k] != classes[i];
        }
        if (is_first) {
            fold_class(d, classes, i, MOST_POINTS / folded);
        }
    }
}

/* Several switches that are alike become one box where a level is too wide. */
static void fold_switches(diagram *d, uint32_t most_level)
{
    if (d->n_frames > 0 || d->failed || is_flat(d, most_level)) {
        return;
    }
    uint64_t *classes = CS_NEW(uint64_t, 3 * (size_t)d->n_boxes);
    d->failed         = classes == NULL;
    if (!d->failed) {
        classify(d, classes);
        for (uint32_t level = 2; level <= most_level; level++) {
            fold_level(d, classes, level);
        }
    }
    cs_free(classes);
}

/* ---- the text ---- */

/* Add words that may hold anything, safe between quotes. */
static void add_words(cs_text *out, const char *words)
{
    for (const char *c = words; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') {
            cs_text_add(out, "\\");
        }
        if ((unsigned char)*c >= ' ') {
            cs_text_add_bytes(out, c, 1);
        }
    }
}

/* A name behind another one: its number, where they differ in nothing else. */
static void write_other(const char *name, const char *other, cs_text *out)
{
    size_t length = strlen(name), same = strlen(other);

    while (length > 0 && name[length - 1] >= '0' && name[length - 1] <= '9') {
        length--;
    }
    while (same > 0 && other[same - 1] >= '0' && other[same - 1] <= '9') {
        same--;
    }
    add_words(out, length == same && strncmp(name, other, same) == 0 ? other + same : other);
}

/* "rank 5", "rank 0 .. 7", "rank 0, 8 .. 56" */
static void write_names(const diagram *d, const box *b, cs_text *out)
{
    uint32_t first = (uint32_t)(b - d->boxes);

    add_words(out, b->name);
    if (b->count > 2 && b->second != first + 1) {
        cs_text_add(out, ", ");
        write_other(b->name, d->boxes[b->second].name, out);
    }
    if (b->count > 1) {
        cs_text_add(out, b->count > 2 ? " .. " : ", ");
        write_other(b->name, d->boxes[b->last].name, out);
    }
}

static void write_box(const diagram *d, uint32_t i, cs_text *out)
{
    const box *b = &d->boxes[i];

    cs_text_add(out, "  box%u [label=\"", i);
    write_names(d, b, out);
    if (b->rate_Bps > 0) {
        cs_text_add(out, "%s%s", b->name[0] != '\0' ? "\\n" : "", kinds[b->kind].before);
        if (b->count > 1) {
            cs_text_add(out, "%u x ", b->count);
        }
        cs_text_add(out, "%.4g GB/s%s", b->rate_Bps / 1e9, kinds[b->kind].behind);
    }
    cs_text_add(out, "\" %s", kinds[b->kind].style);
    if (kinds[b->kind].is_wide) {
        cs_text_add(out, " width=%.4g", BOX_INCHES * fmin(fmax(1, b->n_lines), MOST_WIDE));
    }
    cs_text_add(out, "]\n");
}

/* The boxes in a frame, or (NONE) those of one level, which are in none. */
static void write_boxes(const diagram *d, uint32_t frame, uint32_t level, cs_text *out)
{
    for (uint32_t i = 0; i < d->n_boxes; i++) {
        const box *b = &d->boxes[i];
        if (b->same == i && b->frame == frame && (level == 0 || b->level == level) &&
            (b->kind != NETWORK || b->n_lines > 0)) {
            write_box(d, i, out);
        }
    }
}

static void write_frame(const diagram *d, uint32_t frame, cs_text *out)
{
    bool is_inner = d->frames[frame].around != NONE;

    cs_text_add(out, "  subgraph cluster%u {\n  label=\"", frame);
    add_words(out, d->frames[frame].label);
    cs_text_add(out, "\" fontsize=10 %s\n",
                is_inner ? "style=\"rounded,filled\" color=\"#e3ecf7\""
                         : "style=rounded color=\"#999999\"");
    write_boxes(d, frame, 0, out);
    for (uint32_t i = 0; !is_inner && i < d->n_frames; i++) {
        if (d->frames[i].around == frame) {
            write_frame(d, i, out);
        }
    }
    cs_text_add(out, "  }\n");
}

/* "2 x 50 GB/s, 0.3 us" */
static void write_rate(const line *l, cs_text *out)
{
    uint32_t count = l->there > l->back ? l->there : l->back;

    if (count > 1) {
        cs_text_add(out, "%u x ", count);
    }
    cs_text_add(out, "%.4g GB/s", l->rate_Bps / 1e9);
    if (l->latency_s > 0) {
        cs_text_add(out, ", %.4g us", l->latency_s * 1e6);
    }
}

/* The higher box first. A line of one direction has an arrow; one inside a frame is short. */
static void write_line(const diagram *d, const line *l, double most_Bps, bool has_label,
                       cs_text *out)
{
    const box *a = &d->boxes[l->first], *b = &d->boxes[l->second];
    bool       is_down = a->level >= b->level;

    cs_text_add(out, "  box%u -- box%u [color=\"%s\" penwidth=%.2g", is_down ? l->first : l->second,
                is_down ? l->second : l->first, l->colour,
                l->width > 0 ? l->width : 0.5 + 2 * l->rate_Bps / most_Bps);
    cs_text_add(out, "%s%s", a->level == b->level ? " constraint=false" : "",
                a->frame != NONE && a->frame == b->frame && a->level != b->level ? " weight=8"
                                                                                 : "");
    if (l->there == 0 || l->back == 0) {
        cs_text_add(out, " dir=%s", (l->back == 0) == is_down ? "forward" : "back");
    }
    for (int i = 0; i < (has_label ? 2 : 1) && l->rate_Bps > 0; i++) {
        cs_text_add(out, i == 0 ? " tooltip=\"" : " label=\" ");
        write_rate(l, out);
        cs_text_add(out, i == 0 ? "\"" : " \"");
    }
    cs_text_add(out, "%s]\n", a->kind == ANCHOR || b->kind == ANCHOR ? " style=invis" : "");
}

static void write_lines(const diagram *d, cs_text *out)
{
    double most_Bps = 0;
    size_t n_rated  = 0;

    for (size_t i = 0; i < d->n_lines; i++) {
        most_Bps = fmax(most_Bps, d->lines[i].rate_Bps);
        n_rated += d->lines[i].rate_Bps > 0;
    }
    for (size_t i = 0; i < d->n_lines; i++) {
        write_line(d, &d->lines[i], most_Bps, d->n_frames == 0 && n_rated <= MOST_LABELS, out);
    }
}

static uint32_t outer_frame(const diagram *d, const box *b)
{
    uint32_t around = b->frame != NONE ? d->frames[b->frame].around : NONE;
    return around != NONE ? around : b->frame;
}

/* What keeps GPUs, ranks and switches of a level in their order from left to right. */
static void write_order(const diagram *d, box_kind kind, uint32_t level, cs_text *out)
{
    uint32_t before = NONE;

    for (uint32_t i = 0; i < d->n_boxes; i++) {
        const box *b = &d->boxes[i];
        if (b->same != i || b->kind != kind || b->level != level) {
            continue;
        }
        if (before != NONE && outer_frame(d, b) == outer_frame(d, &d->boxes[before])) {
            cs_text_add(out, "  box%u -- box%u [style=invis minlen=0]\n", before, i);
        }
        before = i;
    }
}

static void write_head(const diagram *d, bool is_flat, cs_text *out)
{
    cs_text_add(out,
                "graph topology {\n"
                "  graph [" FONT " fontsize=12 labelloc=t labeljust=l nodesep=0.12 ranksep=0.4%s\n"
                "    label=\"%s\"]\n"
                "  node [" FONT " fontsize=10 shape=box style=\"rounded,filled\" "
                "color=\"#444444\" height=0.4 width=0.85 margin=\"0.06,0.03\"]\n"
                "  edge [" FONT " fontsize=9]\n",
                is_flat ? " layout=neato overlap=false splines=true sep=\"+12\"" : "",
                d->title.data != NULL ? d->title.data : "");
}

static void write_diagram(diagram *d, uint32_t most, cs_text *out)
{
    for (size_t i = 0; i < d->n_lines; i++) {
        d->boxes[d->lines[i].first].n_lines++;
        d->boxes[d->lines[i].second].n_lines++;
    }
    write_head(d, is_flat(d, most), out);
    for (uint32_t i = 0; i < d->n_frames; i++) {
        if (d->frames[i].around == NONE) {
            write_frame(d, i, out);
        }
    }
    for (uint32_t level = most; level > 0; level--) {
        cs_text_add(out, "  { rank=same\n");
        write_boxes(d, NONE, level, out);
        cs_text_add(out, "  }\n");
        if (d->is_ordered) {
            write_order(d, SWITCH, level, out);
        }
    }
    write_order(d, RANK, 1, out);
    write_order(d, GPU, GPUS, out);
    write_lines(d, out);
    cs_text_add(out, "}\n");
}

/* "nvl72: 72 ranks, 72 per server" */
static void add_subject(const cs_topology_view *view, cs_text *out)
{
    const cs_cluster  *c     = view->cluster;
    const cs_topology *t     = c->topology;
    const cs_graph    *graph = cs_graph_of(t);

    cs_text_add(out, "%s: ", view->name);
    if (view->site == NULL) {
        cs_text_add(out, "%s, ",
                    graph != NULL ? graph->name
                    : t != NULL   ? t->kind->name
                                  : "crossbar");
    }
    cs_text_add(out, "%u ranks, ", c->n_ranks);
    if (c->uneven != NULL) {
        cs_text_add(out, "%u to ", cs_least_gpus(c));
    }
    cs_text_add(out, "%u per server", c->gpus_per_server);
}

/* What is drawn, and how fast the links of a network are. */
static void set_title(diagram *d, const cs_topology_view *view)
{
    double  least = (double)INFINITY, most = 0;
    cs_text subject = {0};

    add_subject(view, &subject);
    if (subject.failed) {
        d->failed = true;
    } else {
        add_words(&d->title, subject.data);
    }
    cs_text_free(&subject);
    cs_text_add(&d->title, "\\l");
    for (size_t i = 0; i < d->n_lines && d->n_frames == 0; i++) {
        double rate_Bps = d->lines[i].rate_Bps;
        least           = rate_Bps > 0 ? fmin(least, rate_Bps) : least;
        most            = fmax(most, rate_Bps);
    }
    if (most > 0) {
        cs_text_add(&d->title, "in a switch: its links out together; ");
        cs_text_add(&d->title, least < most ? "a link: %.4g to %.4g GB/s" : "a link: %.4g GB/s",
                    least / 1e9, most / 1e9);
        cs_text_add(&d->title, " a direction\\l");
    }
    if (d->is_folded) {
        cs_text_add(&d->title, "a box of several has the lines of all of them\\l");
    }
}

cs_status cs_topology_dot(const cs_topology_view *view, cs_text *out, cs_error *err)
{
    diagram   d      = {.c = view->cluster};
    cs_status status = CS_OK;
    uint32_t  most   = 0;

    if (view->site != NULL) {
        add_site(&d, view->site);
    } else {
        status = add_network(&d, err);
    }
    if (status == CS_OK && !d.failed) {
        merge_lines(&d);
        most = find_levels(&d);
        fold_switches(&d, most);
        fold_boxes(&d);
        fold_lines(&d);
        set_title(&d, view);
    }
    if (status == CS_OK && !d.failed) {
        write_diagram(&d, most, out);
    }
    bool failed = d.failed || d.title.failed || out->failed;
    free_diagram(&d);
    return status == CS_OK && failed ? CS_NO_MEMORY(err, "the picture of a topology") : status;
}

/* What dot drew, with a title that says what it is. */
static cs_status add_titled(const cs_topology_view *view, const cs_text *drawn, cs_text *out,
                            cs_error *err)
{
    cs_text subject = {0};

    add_subject(view, &subject);
    if (!subject.failed) {
        cs_svg_retitle(out, drawn->data, drawn->length, subject.data);
    }
    bool failed = subject.failed || out->failed;
    cs_text_free(&subject);
    return failed ? CS_NO_MEMORY(err, "the picture of a topology") : CS_OK;
}

cs_status cs_topology_svg(const cs_topology_view *view, cs_text *out, cs_error *err)
{
    static const cs_child_program dot  = {.path = "dot", .words = {"-Tsvg"}};
    cs_text                       text = {0}, drawn = {0};
    cs_error                      why    = {0};
    cs_status                     status = cs_topology_dot(view, &text, err);

    if (status == CS_OK) {
        status = cs_child_filter(&dot, &text, &drawn, &why);
        if (status == CS_EMISSING) {
            status = CS_FAIL(err, status, "topology",
                             "the program dot is missing: apt-get install graphviz; --format dot "
                             "writes the text that it draws");
        } else if (status != CS_OK) {
            status = CS_FAIL(err, status, "dot", "%s", why.message);
        } else {
            status = add_titled(view, &drawn, out, err);
        }
    }
    cs_text_free(&text);
    cs_text_free(&drawn);
    return status;
}
