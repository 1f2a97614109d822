/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A topology as a picture: a graph in the language of Graphviz, whose program dot lays it out.
 *
 * Servers that are described are drawn device by device: NVSwitches, GPUs, what they hang at, NICs
 * and the network one below the other, a frame around every socket. A network is drawn as its
 * switches, the farther from the ranks the higher. A topology that only states routes has no
 * switches: its links are the boxes, and a line joins those that follow each other on a route.
 *
 * What is many and alike is one box: of more than 16 GPUs or NICs like sockets and like NICs at one
 * switch, of more than 16 ranks those with the same neighbours. The wider a line, the faster.
 */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/child.h"
#include "cs/graph.h"
#include "results/topology_view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST       1024u /* ranks, and links */
#define MOST_APART 16u   /* ranks, GPUs and NICs with a box each */

enum { MOST_LABELS = 12, MOST_IN_LINE = 4, NAME_BYTES = 96, NOTE_BYTES = 64 };

/* Inches from one box to the next, and how many boxes a wide one goes over at the most. */
#define BOX_INCHES 0.85
#define MOST_WIDE  16.0

#define FONT "fontname=\"DejaVu Sans,Verdana,sans-serif\""

static const char GPU_COLOUR[] = "#d9ead3", SWITCH_COLOUR[] = "#cfe2f3", HUB_COLOUR[] = "#e8e8e8",
                  NIC_COLOUR[] = "#fce5cd", NETWORK_COLOUR[] = "#f9cb9c",
                  NVSWITCH_COLOUR[] = "#93c47d";

static cs_status no_memory(cs_error *err)
{
    return CS_FAIL(err, CS_ENOMEM, "", "out of memory for a picture");
}

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

/* The attributes of a box; `below` is its second line, or "". */
static void add_box(cs_text *out, const char *words, const char *below, const char *colour)
{
    cs_text_add(out, " [label=\"");
    add_words(out, words);
    cs_text_add(out, below[0] != '\0' ? "\\n" : "");
    add_words(out, below);
    cs_text_add(out, "\" fillcolor=\"%s\"]", colour);
}

/* A box over or under `n` others that have lines to it: nearly as wide as all of them. */
static void add_wide_box(cs_text *out, uint32_t n, const char *words, const char *below,
                         const char *colour)
{
    cs_text_add(out, " [width=%.4g]", BOX_INCHES * fmin(fmax(1, n), MOST_WIDE));
    add_box(out, words, below, colour);
}

static void add_head(cs_text *out)
{
    cs_text_add(out, "%s",
                "graph topology {\n"
                "  graph [" FONT " fontsize=12 labelloc=t labeljust=l nodesep=0.12 ranksep=0.4]\n"
                "  node [" FONT " fontsize=10 shape=box style=\"rounded,filled\" "
                "color=\"#444444\" height=0.4 width=0.85 margin=\"0.06,0.03\"]\n"
                "  edge [" FONT " fontsize=9 color=\"#666666\"]\n");
}

/* Servers. */

/* Like sockets, or like NICs at one switch, that are one box. */
typedef struct run {
    uint32_t first, count;
} run;

typedef struct server {
    const cs_machine *m;
    cs_text          *out;
    unsigned          number;              /* with which its names in the text begin */
    bool              folds, is_mesh;      /* an NVLink of one rate for every pair of GPUs */
    double            least_Bps, most_Bps; /* of the links of two GPUs; 0: no two have any */
    run              *sockets, *nics;      /* the boxes, in the arena */
    uint32_t         *gpus;
    uint32_t          n_sockets, n_nics, n_gpus;
} server;

static uint32_t next_switch(const cs_machine *m, uint32_t socket, uint32_t from)
{
    while (from < m->n_switches && m->switches[from].socket != socket) {
        from++;
    }
    return from;
}

static bool same_switches(const cs_machine *m, uint32_t s, uint32_t t)
{
    uint32_t i = next_switch(m, s, 0), j = next_switch(m, t, 0);

    while (i < m->n_switches && j < m->n_switches &&
           m->switches[i].uplink_Bps == m->switches[j].uplink_Bps) {
        i = next_switch(m, s, i + 1);
        j = next_switch(m, t, j + 1);
    }
    return i == m->n_switches && j == m->n_switches;
}

/* The next device of a socket from number `from` on, or `count`. */
static uint32_t next_at(const cs_device *devices, uint32_t count, uint32_t socket, uint32_t from)
{
    while (from < count && devices[from].socket != socket) {
        from++;
    }
    return from;
}

/* The place of a device's switch among those of its socket; behind them the socket itself. */
static uint32_t hub_place(const cs_machine *m, const cs_device *device)
{
    uint32_t place = 0;

    for (uint32_t i = 0; i < m->n_switches && i != device->pcie; i++) {
        place += m->switches[i].socket == device->socket;
    }
    return place;
}

static bool same_devices(const cs_machine *m, const cs_device *devices, uint32_t count, uint32_t s,
                         uint32_t t)
{
    uint32_t i = next_at(devices, count, s, 0), j = next_at(devices, count, t, 0);

    while (i < count && j < count && hub_place(m, &devices[i]) == hub_place(m, &devices[j]) &&
           devices[i].pcie_Bps == devices[j].pcie_Bps &&
           devices[i].wire_Bps == devices[j].wire_Bps) {
        i = next_at(devices, count, s, i + 1);
        j = next_at(devices, count, t, j + 1);
    }
    return i == count && j == count;
}

/* How many sockets from `socket` on are drawn as one. */
static uint32_t like_sockets(const server *d, uint32_t socket)
{
    const cs_machine *m   = d->m;
    uint32_t          end = socket + 1;

    while (d->folds && m->nvlink_Bps == NULL && end < m->n_sockets &&
           same_switches(m, socket, end) && same_devices(m, m->gpus, m->n_gpus, socket, end) &&
           same_devices(m, m->nics, m->n_nics, socket, end)) {
        end++;
    }
    return end - socket;
}

/* How many NICs from `i` on are drawn as one. */
static uint32_t like_nics(const server *d, uint32_t i)
{
    const cs_device *nic = &d->m->nics[i];
    uint32_t         n   = 1;

    while (d->folds && i + n < d->m->n_nics && nic[n].socket == nic->socket &&
           nic[n].pcie == nic->pcie && nic[n].wire_Bps == nic->wire_Bps) {
        n++;
    }
    return n;
}

/* What is drawn, socket by socket. */
static cs_status choose_boxes(server *d, cs_arena *arena)
{
    const cs_machine *m = d->m;

    d->sockets = CS_ARENA_NEW(arena, run, m->n_sockets);
    d->gpus    = CS_ARENA_NEW(arena, uint32_t, m->n_gpus);
    d->nics    = CS_ARENA_NEW(arena, run, m->n_nics);
    if (d->sockets == NULL || d->gpus == NULL || d->nics == NULL) {
        return CS_ENOMEM;
    }
    for (uint32_t s = 0, n; s < m->n_sockets; s += n) {
        n                          = like_sockets(d, s);
        d->sockets[d->n_sockets++] = (run){s, n};
        for (uint32_t i = 0; i < m->n_gpus; i++) {
            if (m->gpus[i].socket == s) {
                d->gpus[d->n_gpus++] = i;
            }
        }
        for (uint32_t i = 0, k; i < m->n_nics; i += k) {
            k = like_nics(d, i);
            if (m->nics[i].socket == s) {
                d->nics[d->n_nics++] = (run){i, k};
            }
        }
    }
    return CS_OK;
}

/* Are all GPUs joined by links of one rate? */
static void look_at_pairs(server *d)
{
    size_t n = d->m->n_gpus, n_pairs = 0;

    for (size_t i = 0; d->m->nvlink_Bps != NULL && i < n * n; i++) {
        double rate_Bps = d->m->nvlink_Bps[i];
        if (rate_Bps > 0) {
            d->least_Bps = n_pairs++ == 0 ? rate_Bps : fmin(d->least_Bps, rate_Bps);
            d->most_Bps  = fmax(d->most_Bps, rate_Bps);
        }
    }
    d->is_mesh = n > 2 && n_pairs == n * (n - 1) && d->least_Bps == d->most_Bps;
}

/* What a device hangs at: a switch, or the root of its socket. */
static void add_hub_name(const server *d, uint32_t socket, uint32_t pcie)
{
    bool has_switch = pcie != CS_NO_SWITCH;

    cs_text_add(d->out, "s%u_%s%u", d->number, has_switch ? "switch" : "root",
                has_switch ? pcie : socket);
}

static void draw_hubs(const server *d, uint32_t socket)
{
    const cs_machine *m        = d->m;
    bool              has_root = next_switch(m, socket, 0) == m->n_switches;
    char              rate[NOTE_BYTES];

    for (uint32_t i = next_switch(m, socket, 0); i < m->n_switches;
         i          = next_switch(m, socket, i + 1)) {
        (void)snprintf(rate, sizeof rate, "up %.4g GB/s", m->switches[i].uplink_Bps / 1e9);
        cs_text_add(d->out, "    s%u_switch%u", d->number, i);
        add_box(d->out, "PCIe switch", rate, HUB_COLOUR);
        cs_text_add(d->out, "\n");
    }
    for (uint32_t i = 0; i < m->n_gpus + m->n_nics; i++) {
        const cs_device *v = i < m->n_gpus ? &m->gpus[i] : &m->nics[i - m->n_gpus];
        has_root           = has_root || (v->socket == socket && v->pcie == CS_NO_SWITCH);
    }
    if (has_root) {
        cs_text_add(d->out, "    s%u_root%u", d->number, socket);
        add_box(d->out, "PCIe root", "", HUB_COLOUR);
        cs_text_add(d->out, "\n");
    }
}

static void draw_gpu(const server *d, uint32_t i)
{
    const cs_device *gpu = &d->m->gpus[i];
    char             rate[NOTE_BYTES];

    (void)snprintf(rate, sizeof rate, "PCIe %.4g GB/s", gpu->pcie_Bps / 1e9);
    cs_text_add(d->out, "    s%u_gpu%u", d->number, i);
    add_box(d->out, gpu->name, rate, GPU_COLOUR);
    cs_text_add(d->out, "; s%u_gpu%u -- ", d->number, i);
    add_hub_name(d, gpu->socket, gpu->pcie);
    cs_text_add(d->out, " [weight=8]\n");
}

static void draw_nics(const server *d, run r)
{
    const cs_device *nic = &d->m->nics[r.first];
    char             name[NAME_BYTES], rate[NOTE_BYTES];

    if (r.count > 1) {
        (void)snprintf(name, sizeof name, "%s .. %s", nic->name, nic[r.count - 1].name);
        (void)snprintf(rate, sizeof rate, "%u x %.4g GB/s", r.count, nic->wire_Bps / 1e9);
    } else {
        (void)snprintf(name, sizeof name, "%s", nic->name);
        (void)snprintf(rate, sizeof rate, "%.4g GB/s", nic->wire_Bps / 1e9);
    }
    cs_text_add(d->out, "    s%u_nic%u", d->number, r.first);
    add_box(d->out, name, rate, NIC_COLOUR);
    cs_text_add(d->out, "; ");
    add_hub_name(d, nic->socket, nic->pcie);
    cs_text_add(d->out, " -- s%u_nic%u [weight=8]\n", d->number, r.first);
}

/* The frame of one socket, or of several that are alike. */
static void draw_socket(const server *d, run r)
{
    cs_text_add(d->out, "  subgraph cluster_s%u_socket%u {\n    label=\"", d->number, r.first);
    if (r.count > 1) {
        cs_text_add(d->out, "sockets %u .. %u, each like this", r.first, r.first + r.count - 1);
    } else {
        cs_text_add(d->out, "socket %u", r.first);
    }
    cs_text_add(d->out, "\" fontsize=10 style=\"rounded,filled\" color=\"#e3ecf7\"\n");
    draw_hubs(d, r.first);
    for (uint32_t i = 0; i < d->n_gpus; i++) {
        if (d->m->gpus[d->gpus[i]].socket == r.first) {
            draw_gpu(d, d->gpus[i]);
        }
    }
    for (uint32_t i = 0; i < d->n_nics; i++) {
        if (d->m->nics[d->nics[i].first].socket == r.first) {
            draw_nics(d, d->nics[i]);
        }
    }
    cs_text_add(d->out, "  }\n");
}

/* The rate between two sockets, joined to the last thing that devices of the one hang at and to the
 * first of the other. */
static void join_sockets(const server *d, uint32_t left, uint32_t right)
{
    const cs_machine *m    = d->m;
    uint32_t          last = CS_NO_SWITCH, first = next_switch(m, right, 0);

    for (uint32_t i = next_switch(m, left, 0); i < m->n_switches; i = next_switch(m, left, i + 1)) {
        last = i;
    }
    cs_text_add(
        d->out,
        "  s%u_join%u [label=\"%.4g GB/s\" shape=plain style=\"\" fontcolor=\"#3d85c6\"]\n  ",
        d->number, left, m->socket_Bps / 1e9);
    add_hub_name(d, left, last);
    cs_text_add(d->out, " -- s%u_join%u [color=\"#3d85c6\" penwidth=3]; ", d->number, left);
    add_hub_name(d, right, first < m->n_switches ? first : CS_NO_SWITCH);
    cs_text_add(d->out, " -- s%u_join%u [color=\"#3d85c6\" penwidth=3]\n", d->number, left);
}

/* Is there something above the GPUs by which all of them reach each other? */
static bool has_top(const server *d)
{
    return d->m->nvswitch_Bps > 0 || d->is_mesh;
}

static void draw_top(const server *d)
{
    char name[NAME_BYTES], rate[NOTE_BYTES];

    if (!has_top(d)) { /* keeps the sockets in their order all the same */
        cs_text_add(d->out, "  s%u_top [shape=point style=invis]\n", d->number);
        return;
    }
    if (d->m->nvswitch_Bps > 0) {
        (void)snprintf(name, sizeof name, "NVSwitches");
        (void)snprintf(rate, sizeof rate, "%.4g GB/s a GPU", d->m->nvswitch_Bps / 1e9);
    } else {
        (void)snprintf(name, sizeof name, "%.60s for every pair", d->m->link_name);
        (void)snprintf(rate, sizeof rate, "%.4g GB/s", d->most_Bps / 1e9);
    }
    cs_text_add(d->out, "  s%u_top", d->number);
    add_wide_box(d->out, d->n_gpus, name, rate, NVSWITCH_COLOUR);
    cs_text_add(d->out, "\n");
}

/* Between GPUs: a line for every two with links of their own, and what keeps them in their order.
 */
static void draw_pairs(const server *d)
{
    size_t n = d->m->n_gpus;

    for (uint32_t i = 1; i < d->n_gpus; i++) {
        cs_text_add(d->out, "  s%u_gpu%u -- s%u_gpu%u [minlen=0 style=invis]\n", d->number,
                    d->gpus[i - 1], d->number, d->gpus[i]);
    }
    for (size_t i = 0; i < n * n && d->most_Bps > 0 && !d->is_mesh; i++) {
        size_t a = i / n, b = i % n;
        double rate_Bps = d->m->nvlink_Bps[i];
        if (a < b && rate_Bps > 0) {
            cs_text_add(d->out,
                        "  s%u_gpu%zu -- s%u_gpu%zu [minlen=0 color=\"#38761d\" penwidth=%.2g "
                        "tooltip=\"",
                        d->number, a, d->number, b, 0.5 + 2 * rate_Bps / d->most_Bps);
            add_words(d->out, d->m->link_name);
            cs_text_add(d->out, " %.4g GB/s\"]\n", rate_Bps / 1e9);
        }
    }
}

/* The lines that leave sockets: to what is above the GPUs, and to the network. */
static void draw_ways_out(const server *d)
{
    for (uint32_t i = 0; i < d->n_gpus && (has_top(d) || d->n_sockets > 1); i++) {
        cs_text_add(d->out, "  s%u_top -- s%u_gpu%u [%s]\n", d->number, d->number, d->gpus[i],
                    has_top(d) ? "color=\"#38761d\" penwidth=2" : "style=invis");
    }
    for (uint32_t i = 0; i < d->n_nics; i++) {
        cs_text_add(d->out, "  s%u_nic%u -- network [color=\"#b45f06\" penwidth=2]\n", d->number,
                    d->nics[i].first);
    }
}

/* "servers 0 .. 3, 4 GPUs, NVLink 25 to 50 GB/s, 60 GB/s between sockets" */
static void add_server_title(const server *d, uint32_t first, uint32_t end)
{
    cs_text_add(d->out, end - first > 1 ? "servers %u .. %u" : "server %u", first, end - 1);
    cs_text_add(d->out, ", %u GPUs", d->m->n_gpus);
    if (d->most_Bps > 0) {
        cs_text_add(d->out, ", ");
        add_words(d->out, d->m->link_name);
        cs_text_add(d->out, d->least_Bps < d->most_Bps ? " %.4g to %.4g GB/s" : " %.4g GB/s",
                    d->least_Bps / 1e9, d->most_Bps / 1e9);
    }
    if (d->n_sockets < d->m->n_sockets && d->m->socket_Bps > 0) {
        cs_text_add(d->out, ", %.4g GB/s between sockets", d->m->socket_Bps / 1e9);
    }
}

/* Servers `first` to `end` - 1, which are alike. */
static void draw_server(const server *d, uint32_t first, uint32_t end)
{
    cs_text_add(d->out, "  subgraph cluster_s%u {\n  label=\"", d->number);
    add_server_title(d, first, end);
    cs_text_add(d->out, "\" fontsize=11 style=rounded color=\"#999999\"\n");
    if (has_top(d) || d->n_sockets > 1) {
        draw_top(d);
    }
    for (uint32_t i = 0; i < d->n_sockets; i++) {
        draw_socket(d, d->sockets[i]);
        if (i > 0 && d->m->socket_Bps > 0) {
            join_sockets(d, d->sockets[i - 1].first, d->sockets[i].first);
        }
    }
    draw_pairs(d);
    cs_text_add(d->out, "  }\n");
    draw_ways_out(d);
}

static cs_status draw_site(const cs_topology_view *view, cs_text *out, cs_error *err)
{
    const cs_site *site    = view->site;
    uint32_t       servers = cs_n_servers(view->cluster), n_nics = 0;
    bool           has_two = site->tail != NULL && site->first_tail < servers;
    server         kinds[] = {{.m = site->machine}, {.m = site->tail, .number = 1}};
    cs_arena       arena   = {0};
    cs_status      status  = CS_OK;

    cs_text_add(out, "  graph [label=\"");
    add_words(out, view->name);
    cs_text_add(out, ": %u ranks, %u per server\\l\"]\n", view->cluster->n_ranks,
                view->cluster->gpus_per_server);
    for (int i = 0; i < (has_two ? 2 : 1) && status == CS_OK; i++) {
        server *d = &kinds[i];
        d->out    = out;
        d->folds  = d->m->n_gpus > MOST_APART || d->m->n_nics > MOST_APART;
        look_at_pairs(d);
        status = choose_boxes(d, &arena);
        if (status == CS_OK) {
            draw_server(d, i == 0 ? 0 : site->first_tail,
                        i == 0 && has_two ? site->first_tail : servers);
            n_nics += d->n_nics;
        }
    }
    if (n_nics > 0) {
        cs_text_add(out, "  network");
        add_wide_box(out, n_nics, "network", "", NETWORK_COLOUR);
        cs_text_add(out, "\n");
    }
    cs_arena_free(&arena);
    return status == CS_OK ? CS_OK : no_memory(err);
}

/* Networks. */

/* A switch or, where there are none, a link. */
typedef struct point {
    char     name[NAME_BYTES];
    double   rate_Bps; /* of a link; of a switch, of its links out together */
    uint32_t level;    /* 1: ranks are attached to it */
} point;

/* Links between two points, first < second, all of one kind. */
typedef struct line {
    uint32_t first, second;
    uint32_t there, back;         /* how many lead from the first to the second, and back */
    double   rate_Bps, latency_s; /* of one; 0: what follows each other on a route */
} line;

typedef struct net {
    const cs_cluster *c;
    cs_arena          arena;
    const char       *kind;
    point            *points;
    uint32_t          n_points;
    line             *lines;
    size_t            n_lines;
    bool              is_ordered; /* points of a level stand in their order */
    uint8_t          *is_at;      /* [n_ranks][n_points] */
    uint32_t         *group;      /* [n_ranks] the first rank that is drawn in the same box */
} net;

static bool make_room(net *n, uint32_t n_points, size_t n_lines)
{
    n->points = CS_ARENA_NEW(&n->arena, point, n_points);
    n->lines  = CS_ARENA_NEW(&n->arena, line, n_lines);
    n->is_at  = CS_ARENA_NEW(&n->arena, uint8_t, (size_t)n->c->n_ranks * n_points);
    n->group  = CS_ARENA_NEW(&n->arena, uint32_t, n->c->n_ranks);
    return n->points != NULL && n->lines != NULL && n->is_at != NULL && n->group != NULL;
}

static void add_line(net *n, uint32_t from, uint32_t to, const cs_link *link)
{
    bool is_back = from > to;

    n->points[from].rate_Bps += link->bandwidth_Bps;
    n->lines[n->n_lines++] = (line){.first     = is_back ? to : from,
                                    .second    = is_back ? from : to,
                                    .there     = !is_back,
                                    .back      = is_back,
                                    .rate_Bps  = link->bandwidth_Bps,
                                    .latency_s = link->latency_s};
}

static cs_status take_graph(net *n, const cs_graph *g)
{
    if (!make_room(n, g->n_vertices, g->n_links)) {
        return CS_ENOMEM;
    }
    n->kind       = g->name;
    n->n_points   = g->n_vertices;
    n->is_ordered = strcmp(g->name, "graph") != 0; /* one that somebody wrote may have any order */
    for (uint32_t v = 0; v < g->n_vertices; v++) {
        (void)snprintf(n->points[v].name, NAME_BYTES, "%s", g->vertices[v].name);
    }
    for (uint32_t i = 0; i < g->n_links; i++) {
        add_line(n, g->ends[i].from, g->ends[i].to, &g->links[i]);
    }
    for (uint32_t f = 0; f < CS_FABRICS; f++) {
        for (uint32_t r = 0; g->attach[f] != NULL && r < n->c->n_ranks; r++) {
            n->is_at[(size_t)r * n->n_points + g->attach[f][r]] = 1;
        }
    }
    return CS_OK;
}

static cs_status take_leaf_spine(net *n, const cs_leaf_spine *shape)
{
    const cs_topology *t      = n->c->topology;
    uint32_t           leaves = shape->n_leaves, spines = shape->n_spines;

    if (!make_room(n, leaves + spines, t->n_links)) {
        return CS_ENOMEM;
    }
    n->n_points   = leaves + spines;
    n->is_ordered = true;
    for (uint32_t i = 0; i < n->n_points; i++) {
        (void)snprintf(n->points[i].name, NAME_BYTES, i < leaves ? "leaf %u" : "spine %u",
                       i < leaves ? i : i - leaves);
    }
    for (uint32_t i = 0; i < leaves * spines; i++) {
        add_line(n, i / spines, leaves + i % spines, &t->links[2 * i]);
        add_line(n, leaves + i % spines, i / spines, &t->links[2 * i + 1]);
    }
    for (uint32_t r = 0; r < n->c->n_ranks; r++) {
        n->is_at[(size_t)r * n->n_points + cs_leaf_of(shape, n->c, r)] = 1;
    }
    return CS_OK;
}

static cs_status take_crossbar(net *n)
{
    if (!make_room(n, 1, 0)) {
        return CS_ENOMEM;
    }
    n->n_points = 1;
    (void)snprintf(n->points[0].name, NAME_BYTES, "crossbar");
    for (uint32_t r = 0; r < n->c->n_ranks; r++) {
        n->is_at[r] = 1;
    }
    return CS_OK;
}

/* A point for every name and rate: of a link of two directions one. */
static void take_links(net *n, uint32_t *point_of)
{
    const cs_topology *t = n->c->topology;

    for (uint32_t i = 0; i < t->n_links; i++) {
        point p = {.rate_Bps = t->links[i].bandwidth_Bps};
        t->kind->link_name(t, i, p.name, NAME_BYTES);
        if (strncmp(p.name, "link ", 5) == 0) {
            memmove(p.name, p.name + 5, strlen(p.name + 5) + 1);
        }
        uint32_t k = 0;
        while (k < n->n_points &&
               (n->points[k].rate_Bps != p.rate_Bps || strcmp(n->points[k].name, p.name) != 0)) {
            k++;
        }
        n->points[k] = p;
        point_of[i]  = k;
        n->n_points += k == n->n_points;
    }
}

/* What follows each other on the route of any two ranks. */
static void follow_routes(net *n, const uint32_t *point_of, uint8_t *is_next)
{
    const cs_cluster  *c = n->c;
    const cs_topology *t = c->topology;
    uint32_t           links[CS_MAX_ROUTE];

    for (uint32_t p = 0; p < c->n_ranks * c->n_ranks; p++) {
        uint32_t src = p / c->n_ranks, dst = p % c->n_ranks;
        uint32_t count =
            src == dst ? 0 : t->kind->route(t, c, src, dst, cs_fabric_of(c, src, dst), links);
        for (uint32_t i = 0; i + 1 < count; i++) {
            uint32_t a = point_of[links[i]], b = point_of[links[i + 1]];
            is_next[(size_t)(a < b ? a : b) * n->n_points + (a < b ? b : a)] = 1;
        }
        if (count > 0) {
            n->is_at[(size_t)src * n->n_points + point_of[links[0]]]         = 1;
            n->is_at[(size_t)dst * n->n_points + point_of[links[count - 1]]] = 1;
        }
    }
}

static cs_status take_routes(net *n)
{
    uint32_t  n_links  = n->c->topology->n_links;
    uint32_t *point_of = CS_ARENA_NEW(&n->arena, uint32_t, n_links);
    uint8_t  *is_next  = CS_ARENA_NEW(&n->arena, uint8_t, (size_t)n_links * n_links);

    if (point_of == NULL || is_next == NULL || !make_room(n, n_links, (size_t)n_links * n_links)) {
        return CS_ENOMEM;
    }
    take_links(n, point_of);
    follow_routes(n, point_of, is_next);
    for (uint32_t i = 0; i < n->n_points * n->n_points; i++) {
        if (is_next[i] && i / n->n_points != i % n->n_points) {
            n->lines[n->n_lines++] =
                (line){.first = i / n->n_points, .second = i % n->n_points, .there = 1, .back = 1};
        }
    }
    return CS_OK;
}

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

/* One line for all links of one kind between two points. */
static void merge_lines(net *n)
{
    size_t kept = 0;

    qsort(n->lines, n->n_lines, sizeof *n->lines, compare_lines);
    for (size_t i = 0; i < n->n_lines; i++) {
        if (kept > 0 && compare_lines(&n->lines[kept - 1], &n->lines[i]) == 0) {
            n->lines[kept - 1].there += n->lines[i].there;
            n->lines[kept - 1].back += n->lines[i].back;
        } else {
            n->lines[kept++] = n->lines[i];
        }
    }
    n->n_lines = kept;
}

/* How far every point is from those that ranks are attached to; what nobody reaches is on top. */
static void find_levels(net *n)
{
    uint32_t most = 1;
    bool     grew = true;

    for (size_t i = 0; i < (size_t)n->c->n_ranks * n->n_points; i++) {
        if (n->is_at[i]) {
            n->points[i % n->n_points].level = 1;
        }
    }
    while (grew) {
        grew = false;
        for (size_t i = 0; i < 2 * n->n_lines; i++) {
            const line *l    = &n->lines[i / 2];
            uint32_t    from = n->points[i % 2 == 0 ? l->first : l->second].level;
            point      *to   = &n->points[i % 2 == 0 ? l->second : l->first];
            if (from > 0 && (to->level == 0 || to->level > from + 1)) {
                to->level = from + 1;
                most      = from + 1 > most ? from + 1 : most;
                grew      = true;
            }
        }
    }
    for (uint32_t i = 0; i < n->n_points; i++) {
        n->points[i].level = n->points[i].level > 0 ? n->points[i].level : most;
    }
}

/* Ranks with the same neighbours share a box where there are many. */
static void find_groups(net *n)
{
    for (uint32_t r = 0; r < n->c->n_ranks; r++) {
        const uint8_t *mine = n->is_at + (size_t)r * n->n_points;
        uint32_t       k    = n->c->n_ranks > MOST_APART ? 0 : r;
        while (k < r && (n->group[k] != k ||
                         memcmp(n->is_at + (size_t)k * n->n_points, mine, n->n_points) != 0)) {
            k++;
        }
        n->group[r] = k;
    }
}

/* "ranks 0 .. 7", "ranks 0, 8 .. 24", "rank 5", or how many they are and the first few. */
static void add_rank_names(const net *n, uint32_t first, uint32_t count, cs_text *out)
{
    uint32_t ranks[3] = {first, first, first}, seen = 0, step = 0;
    bool     is_even = true;

    for (uint32_t r = first; r < n->c->n_ranks; r++) {
        if (n->group[r] == first) {
            step     = seen == 1 ? r - first : step;
            is_even  = is_even && (seen < 2 || r - ranks[2] == step);
            ranks[1] = seen == 1 ? r : ranks[1];
            ranks[2] = r;
            seen++;
        }
    }
    if (count == 1) {
        cs_text_add(out, "rank %u", first);
    } else if (count == 2) {
        cs_text_add(out, "ranks %u, %u", first, ranks[1]);
    } else if (is_even && step == 1) {
        cs_text_add(out, "ranks %u .. %u", first, ranks[2]);
    } else if (is_even) {
        cs_text_add(out, "ranks %u, %u .. %u", first, ranks[1], ranks[2]);
    } else {
        cs_text_add(out, "%u ranks: %u, %u, ..", count, first, ranks[1]);
    }
}

static void draw_ranks(const net *n, cs_text *out)
{
    uint32_t fabric = cs_uses_nics(n->c) ? CS_NIC : CS_NVLINK;
    double   rate   = n->c->fabrics[fabric].bandwidth_Bps / 1e9;

    cs_text_add(out, "  { rank=same\n");
    for (uint32_t r = 0; r < n->c->n_ranks; r++) {
        uint32_t count = 0;
        for (uint32_t k = r; k < n->c->n_ranks && n->group[r] == r; k++) {
            count += n->group[k] == r;
        }
        if (count > 0) {
            cs_text_add(out, "    rank%u [label=\"", r);
            add_rank_names(n, r, count, out);
            cs_text_add(out, "\\n");
            if (count > 1) {
                cs_text_add(out, "%u x ", count);
            }
            cs_text_add(out, "%.4g GB/s\" fillcolor=\"%s\"]\n", rate, GPU_COLOUR);
        }
    }
    cs_text_add(out, "  }\n");
}

/* The points of one level side by side. */
static void draw_level(const net *n, uint32_t level, cs_text *out)
{
    char     rate[NOTE_BYTES] = "";
    uint32_t before           = CS_NO_VERTEX;

    cs_text_add(out, "  { rank=same\n");
    for (uint32_t i = 0; i < n->n_points; i++) {
        const point *p = &n->points[i];
        if (p->level != level) {
            continue;
        }
        if (p->rate_Bps > 0) {
            (void)snprintf(rate, sizeof rate, "%.4g GB/s", p->rate_Bps / 1e9);
        }
        cs_text_add(out, "    point%u", i);
        add_box(out, p->name, rate, SWITCH_COLOUR);
        cs_text_add(out, "\n");
        if (n->is_ordered && before != CS_NO_VERTEX) {
            cs_text_add(out, "    point%u -- point%u [style=invis]\n", before, i);
        }
        before = i;
    }
    cs_text_add(out, "  }\n");
}

/* "2 x 50 GB/s, 0.3 us" */
static void add_line_words(const line *l, cs_text *out)
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

/* The higher point first; one of one direction has an arrow. */
static void draw_line(const net *n, const line *l, double most_Bps, cs_text *out)
{
    bool     is_down = n->points[l->first].level >= n->points[l->second].level;
    uint32_t high = is_down ? l->first : l->second, low = is_down ? l->second : l->first;

    cs_text_add(out, "  point%u -- point%u [penwidth=%.2g", high, low,
                l->rate_Bps > 0 ? 0.5 + 2 * l->rate_Bps / most_Bps : 1);
    if (n->points[high].level == n->points[low].level) {
        cs_text_add(out, " constraint=false");
    }
    if (l->there == 0 || l->back == 0) {
        cs_text_add(out, " dir=%s", (l->back == 0) == is_down ? "forward" : "back");
    }
    if (l->rate_Bps > 0) {
        cs_text_add(out, " tooltip=\"");
        add_line_words(l, out);
        cs_text_add(out, "\"");
    }
    if (l->rate_Bps > 0 && n->n_lines <= MOST_LABELS) {
        cs_text_add(out, " label=\" ");
        add_line_words(l, out);
        cs_text_add(out, " \"");
    }
    cs_text_add(out, "]\n");
}

static void draw_lines(const net *n, cs_text *out)
{
    double most_Bps = 0;

    for (size_t i = 0; i < n->n_lines; i++) {
        most_Bps = fmax(most_Bps, n->lines[i].rate_Bps);
    }
    for (size_t i = 0; i < n->n_lines; i++) {
        draw_line(n, &n->lines[i], most_Bps, out);
    }
    for (size_t i = 0; i < (size_t)n->c->n_ranks * n->n_points; i++) {
        uint32_t rank = (uint32_t)(i / n->n_points), p = (uint32_t)(i % n->n_points);
        if (n->is_at[i] && n->group[rank] == rank) {
            cs_text_add(out, "  point%u -- rank%u [color=\"#38761d\"%s]\n", p, rank,
                        n->points[p].level > 1 ? " constraint=false" : "");
        }
    }
}

/* What is drawn, and how fast its links are. */
static void add_net_title(const cs_topology_view *view, const net *n, bool is_flat, cs_text *out)
{
    double least = (double)INFINITY, most = 0;

    cs_text_add(out, "  graph [%slabel=\"",
                is_flat ? "layout=neato overlap=false splines=true sep=\"+12\" " : "");
    add_words(out, view->name);
    cs_text_add(out, ": %s, %u ranks, %u per server\\l", n->kind, n->c->n_ranks,
                n->c->gpus_per_server);
    for (size_t i = 0; i < n->n_lines; i++) {
        least = fmin(least, n->lines[i].rate_Bps);
        most  = fmax(most, n->lines[i].rate_Bps);
    }
    if (most > 0) {
        cs_text_add(out, "in a switch: its links out together; ");
        cs_text_add(out, least < most ? "a link: %.4g to %.4g GB/s" : "a link: %.4g GB/s",
                    least / 1e9, most / 1e9);
        cs_text_add(out, " a direction\\l");
    }
    cs_text_add(out, "\"]\n");
}

static cs_status take_net(net *n)
{
    const cs_graph      *graph = cs_graph_of(n->c->topology);
    const cs_leaf_spine *shape = cs_leaf_spine_of(n->c->topology);

    n->kind = n->c->topology != NULL ? n->c->topology->kind->name : "crossbar";
    return graph != NULL            ? take_graph(n, graph)
           : shape != NULL          ? take_leaf_spine(n, shape)
           : n->c->topology != NULL ? take_routes(n)
                                    : take_crossbar(n);
}

static cs_status draw_net(const cs_topology_view *view, cs_text *out, cs_error *err)
{
    net       n       = {.c = view->cluster};
    uint32_t  n_links = n.c->topology != NULL ? n.c->topology->n_links : 0, most = 0;
    cs_status status;

    if (n_links > MOST || n.c->n_ranks > MOST) {
        return CS_FAIL(err, CS_ENOTSUP, "topology",
                       "%u ranks and %u links are too many for a picture: accepted are %u of each",
                       n.c->n_ranks, n_links, MOST);
    }
    status = take_net(&n);
    if (status == CS_OK) {
        merge_lines(&n);
        find_levels(&n);
        find_groups(&n);
        for (uint32_t i = 0; i < n.n_points; i++) {
            most = n.points[i].level > most ? n.points[i].level : most;
        }
        add_net_title(view, &n, most == 1 && n.n_points > MOST_IN_LINE, out);
        for (uint32_t level = most; level > 0; level--) {
            draw_level(&n, level, out);
        }
        draw_ranks(&n, out);
        draw_lines(&n, out);
    }
    cs_arena_free(&n.arena);
    return status == CS_OK ? CS_OK : no_memory(err);
}

cs_status cs_topology_dot(const cs_topology_view *view, cs_text *out, cs_error *err)
{
    add_head(out);
    cs_status status = view->site != NULL ? draw_site(view, out, err) : draw_net(view, out, err);
    cs_text_add(out, "}\n");
    return status == CS_OK ? cs_text_status(out, err) : status;
}

cs_status cs_topology_svg(const cs_topology_view *view, cs_text *out, cs_error *err)
{
    static const cs_child_program dot    = {.path = "dot", .words = {"-Tsvg"}};
    cs_text                       text   = {0};
    cs_error                      why    = {0};
    cs_status                     status = cs_topology_dot(view, &text, err);

    if (status == CS_OK) {
        status = cs_child_filter(&dot, &text, out, &why);
        if (status == CS_EMISSING) {
            status = CS_FAIL(err, status, "topology",
                             "the program dot is missing: apt-get install graphviz; --format dot "
                             "writes the text that it draws");
        } else if (status != CS_OK) {
            status = CS_FAIL(err, status, "dot", "%s", why.message);
        }
    }
    cs_text_free(&text);
    return status;
}
