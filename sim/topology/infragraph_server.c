/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the graph of a device to a machine. GPUs are its xpu components and sockets its cpus; what
 * joins them says what is PCIe and what is NVLink. A link is the GPUs' own where it joins GPUs with
 * each other, or GPUs with switches that lead nowhere else; or where it never touches a CPU or a
 * NIC and the GPUs have another link that leads to one.
 */
#include "topology/infragraph.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NO_NODE  UINT32_MAX
#define NO_LIMIT ((double)INFINITY)

/* One way out of a node. */
typedef struct way {
    uint32_t          to;
    const cs_ig_link *link;
} way;

typedef struct server {
    cs_reading         *r;
    const cs_ig_device *device;
    const cs_ig_wire   *wires;
    cs_ig_notes        *notes;
    cs_machine         *machine;
    uint32_t            n, n_cpus; /* nodes, and CPUs among them */
    uint32_t            n_links;   /* kinds of links of the file */
    bool               *is_own;    /* [n_links] a link of the GPUs' own */
    bool               *leads_up;  /* [n] to a CPU or NIC, without passing a GPU */
    bool               *is_used;   /* [n] a part of the machine */
    bool               *is_fabric; /* [n] a switch that a link of the GPUs' own leads to */
    uint32_t           *first;     /* [n + 1] in `ways` */
    way                *ways;      /* without the GPUs' own */
    uint32_t           *parent;    /* [n] towards the nearest CPU; NO_NODE: it is one, or none */
    double             *up_Bps;    /* [n] rate of the link to the parent; 0: not said */
    double             *up_s;      /* [n] its latency; 0: not said */
    uint32_t           *depth;     /* [n] UINT32_MAX: nothing leads there */
    uint32_t           *n_gpus, *n_nics; /* [n] of them below a node */
    uint32_t           *number;          /* [n] of a switch, socket, GPU or NIC */
    uint32_t           *gpus, *nics;     /* nodes */
    double      gpu_path_s; /* latency of a GPU's way to its socket or switch; 0: not said */
    const char *own_name;   /* of the GPUs' own link */
} server;

#define FAIL(s, ...) ((void)CS_FAIL(&(s)->r->error, CS_EINVAL, (s)->device->path, __VA_ARGS__))

static void no_memory(server *s)
{
    (void)CS_NO_MEMORY(&s->r->error, "a topology");
}

static cs_ig_kind kind_at(const server *s, uint32_t node)
{
    return s->device->nodes[node].kind;
}

static bool is_joint(const server *s, uint32_t node)
{
    return kind_at(s, node) == CS_IG_SWITCH || kind_at(s, node) == CS_IG_OTHER;
}

/* ---- which links are the GPUs' own ---- */

/* The first node of those that a node is one with. */
static uint32_t root_of(uint32_t *up, uint32_t node)
{
    while (up[node] != node) {
        up[node] = up[up[node]];
        node     = up[node];
    }
    return node;
}

/* Make nodes one where edges that `joins` takes join them; up[node] leads to the first of them.
 * NULL: no memory. O(edges * log(nodes)). */
static uint32_t *unite(server *s, bool (*joins)(const server *s, const cs_ig_edge *e))
{
    const cs_ig_edges *e  = &s->device->edges;
    uint32_t          *up = CS_ARENA_NEW(s->r->arena, uint32_t, (size_t)s->n + 1);

    if (up == NULL) {
        no_memory(s);
        return NULL;
    }
    for (uint32_t i = 0; i < s->n; i++) {
        up[i] = i;
    }
    for (size_t i = 0; i < e->n; i++) {
        if (joins(s, &e->list[i])) {
            uint32_t a = root_of(up, e->list[i].a.node), b = root_of(up, e->list[i].b.node);
            up[a < b ? b : a] = a < b ? a : b;
        }
    }
    return up;
}

static bool is_without_gpu(const server *s, const cs_ig_edge *e)
{
    return kind_at(s, e->a.node) != CS_IG_XPU && kind_at(s, e->b.node) != CS_IG_XPU;
}

/* Which nodes lead to a CPU or NIC without passing a GPU. */
static void find_leads(server *s)
{
    uint32_t *up = unite(s, is_without_gpu);

    for (int pass = 0; pass < 2 && up != NULL; pass++) {
        for (uint32_t i = 0; i < s->n; i++) {
            bool is_goal = kind_at(s, i) == CS_IG_CPU || kind_at(s, i) == CS_IG_NIC;
            if (pass == 1) {
                s->leads_up[i] = s->leads_up[root_of(up, i)];
            } else if (is_goal) {
                s->leads_up[root_of(up, i)] = true;
            }
        }
    }
}

/* The end of an edge that is no GPU, where the other one is; else NO_NODE. */
static uint32_t beside_gpu(const server *s, const cs_ig_edge *e)
{
    bool a = kind_at(s, e->a.node) == CS_IG_XPU, b = kind_at(s, e->b.node) == CS_IG_XPU;
    return a == b ? NO_NODE : a ? e->b.node : e->a.node;
}

/* What is seen of one kind of link, `l`, and of the GPUs. */
typedef struct sightings {
    bool *touches; /* [l] a CPU or NIC */
    bool *loose;   /* [l] joins a GPU with something that is called no switch */
    bool *has_up;  /* [l] joins a GPU with what leads to a CPU or NIC */
    bool *backed;  /* [l] of a GPU that has another link, which touches a CPU or NIC, up there */
    bool *gpu_up;  /* [node] a GPU has such a link */
} sightings;

static void see_links(server *s, sightings *g)
{
    const cs_ig_edges *e = &s->device->edges;

    for (size_t i = 0; i < e->n; i++) {
        const cs_ig_edge *edge = &e->list[i];
        uint32_t          end = beside_gpu(s, edge), l = edge->link->number;
        g->touches[l] |= !is_joint(s, edge->a.node) && kind_at(s, edge->a.node) != CS_IG_XPU;
        g->touches[l] |= !is_joint(s, edge->b.node) && kind_at(s, edge->b.node) != CS_IG_XPU;
        s->is_own[l] |= end != NO_NODE && is_joint(s, end);
        g->loose[l] |= end != NO_NODE && kind_at(s, end) != CS_IG_SWITCH;
        g->has_up[l] |= end != NO_NODE && s->leads_up[end];
    }
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < e->n; i++) {
            const cs_ig_edge *edge = &e->list[i];
            uint32_t          end = beside_gpu(s, edge), l = edge->link->number;
            uint32_t          gpu = end == edge->a.node ? edge->b.node : edge->a.node;
            if (end == NO_NODE) {
                continue;
            }
            if (pass == 0) {
                g->gpu_up[gpu] |= g->touches[l] && s->leads_up[end];
            } else {
                g->backed[l] |= !g->touches[l] && g->gpu_up[gpu];
            }
        }
    }
}

static void classify_links(server *s)
{
    cs_arena *arena = s->r->arena;
    size_t    n     = (size_t)s->n_links + 1;
    sightings g     = {CS_ARENA_NEW(arena, bool, n), CS_ARENA_NEW(arena, bool, n),
                       CS_ARENA_NEW(arena, bool, n), CS_ARENA_NEW(arena, bool, n),
                       CS_ARENA_NEW(arena, bool, (size_t)s->n + 1)};

    if (g.touches == NULL || g.loose == NULL || g.has_up == NULL || g.backed == NULL ||
        g.gpu_up == NULL) {
        no_memory(s);
        return;
    }
    see_links(s, &g);
    for (uint32_t l = 0; l < s->n_links; l++) {
        bool is_apart = !g.has_up[l] || (!g.loose[l] && g.backed[l]);
        s->is_own[l]  = s->is_own[l] && !g.touches[l] && is_apart;
    }
}

/* A link between two switches is one of PCIe unless both are the GPUs'. */
static bool is_own_edge(const server *s, const cs_ig_edge *e)
{
    bool both = kind_at(s, e->a.node) == CS_IG_XPU && kind_at(s, e->b.node) == CS_IG_XPU;
    return both || s->is_own[e->link->number];
}

/* ---- PCIe ---- */

static void list_ways(server *s)
{
    const cs_ig_edges *e = &s->device->edges;

    s->first = CS_ARENA_NEW(s->r->arena, uint32_t, (size_t)s->n + 2);
    s->ways  = CS_ARENA_NEW(s->r->arena, way, 2 * e->n + 1);
    if (s->first == NULL || s->ways == NULL) {
        no_memory(s);
        return;
    }
    uint32_t *count = s->first + 1; /* shifted by one while it is filled */
    for (size_t i = 0; i < e->n; i++) {
        if (!is_own_edge(s, &e->list[i])) {
            count[e->list[i].a.node]++;
            count[e->list[i].b.node]++;
        }
    }
    for (uint32_t i = 0; i < s->n; i++) {
        count[i] += s->first[i];
    }
    uint32_t *next = CS_ARENA_NEW(s->r->arena, uint32_t, (size_t)s->n + 1);
    if (next == NULL) {
        no_memory(s);
        return;
    }
    memcpy(next, s->first, s->n * sizeof *next);
    for (size_t i = 0; i < e->n; i++) {
        const cs_ig_edge *edge = &e->list[i];
        if (!is_own_edge(s, edge)) {
            s->ways[next[edge->a.node]++] = (way){edge->b.node, edge->link};
            s->ways[next[edge->b.node]++] = (way){edge->a.node, edge->link};
        }
    }
}

static void set_parent(server *s, uint32_t node, uint32_t parent, const cs_ig_link *link)
{
    s->parent[node] = parent;
    s->depth[node]  = s->depth[parent] + 1;
    s->up_Bps[node] = link->rate_Bps;
    s->up_s[node]   = link->has_latency ? link->latency_s : 0;
}

/* Breadth first from what the queue holds: switches and whatever else passes PCIe on get the node
 * that is nearer to a CPU as their parent. */
static void spread(server *s, uint32_t *queue, uint32_t head, uint32_t tail)
{
    for (; head < tail; head++) {
        uint32_t at = queue[head];
        for (uint32_t i = s->first[at]; i < s->first[at + 1]; i++) {
            uint32_t to = s->ways[i].to;
            if (is_joint(s, to) && s->depth[to] == UINT32_MAX) {
                set_parent(s, to, at, s->ways[i].link);
                queue[tail++] = to;
            }
        }
    }
}

static bool has_device(const server *s, uint32_t node)
{
    for (uint32_t i = s->first[node]; i < s->first[node + 1]; i++) {
        cs_ig_kind kind = kind_at(s, s->ways[i].to);
        if (kind == CS_IG_XPU || kind == CS_IG_NIC) {
            return true;
        }
    }
    return false;
}

/* Parents of all that is between the CPUs and the devices; what no CPU reaches is a tree of its
 * own. */
static void grow_trees(server *s)
{
    uint32_t *queue = CS_ARENA_NEW(s->r->arena, uint32_t, (size_t)s->n + 1), tail = 0;

    if (queue == NULL) {
        no_memory(s);
        return;
    }
    for (uint32_t i = 0; i < s->n; i++) {
        s->parent[i] = NO_NODE;
        s->depth[i]  = UINT32_MAX;
        if (kind_at(s, i) == CS_IG_CPU) {
            s->depth[i]   = 0;
            queue[tail++] = i;
        }
    }
    spread(s, queue, 0, tail);
    for (uint32_t i = 0; i < s->n; i++) {
        if (is_joint(s, i) && s->depth[i] == UINT32_MAX && has_device(s, i)) {
            s->depth[i] = 1; /* as one below a CPU, which is not in the file */
            queue[0]    = i;
            spread(s, queue, 0, 1);
        }
    }
}

/* The parent of a GPU or NIC: the nearest to a CPU of what it is joined to. */
static void hang_up(server *s, uint32_t node)
{
    for (uint32_t i = s->first[node]; i < s->first[node + 1]; i++) {
        uint32_t to = s->ways[i].to;
        bool is = s->depth[to] != UINT32_MAX && (is_joint(s, to) || kind_at(s, to) == CS_IG_CPU);
        if (is && (s->parent[node] == NO_NODE || s->depth[to] < s->depth[s->parent[node]])) {
            set_parent(s, node, to, s->ways[i].link);
        }
    }
    bool is_gpu = kind_at(s, node) == CS_IG_XPU;
    for (uint32_t at = s->parent[node]; at != NO_NODE; at = s->parent[at]) {
        s->n_gpus[at] += is_gpu;
        s->n_nics[at] += !is_gpu;
        s->is_used[at] = true;
    }
}

/* Does a node count as a PCIe switch: is it called one, or does it join devices? */
static bool is_switch(const server *s, uint32_t node)
{
    return is_joint(s, node) &&
           (kind_at(s, node) == CS_IG_SWITCH || s->n_gpus[node] + s->n_nics[node] > 1);
}

/* The last node before a CPU on the way up from a device; NO_NODE: it is at one itself. */
static uint32_t top_of(const server *s, uint32_t node)
{
    uint32_t top = NO_NODE;

    for (uint32_t at = s->parent[node]; at != NO_NODE && is_joint(s, at); at = s->parent[at]) {
        top = at;
    }
    return top;
}

static double least_rate(double a_Bps, double b_Bps)
{
    return b_Bps > 0 && b_Bps < a_Bps ? b_Bps : a_Bps;
}

/* The PCIe link of a device: the slowest on the way to its switch or socket. */
static void measure_up(server *s, uint32_t node, uint32_t top, cs_device *d)
{
    double   rate_Bps = NO_LIMIT, latency_s = 0;
    uint32_t at = node;

    for (; at != NO_NODE && at != top && s->parent[at] != NO_NODE; at = s->parent[at]) {
        rate_Bps = least_rate(rate_Bps, s->up_Bps[at]);
        latency_s += s->up_s[at];
    }
    if (kind_at(s, node) == CS_IG_XPU) {
        s->gpu_path_s = fmax(s->gpu_path_s, latency_s);
    } else {
        s->notes->latencies += latency_s > 0;
    }
    d->is_pcie_assumed = !isfinite(rate_Bps);
    d->pcie_Bps        = d->is_pcie_assumed ? CS_ASSUMED_PCIE_BPS : rate_Bps;
}

/* GPUs and NICs that are joined directly are near to each other: the bridge is a number that they
 * share, beyond those of nodes. The rate of a device that has no other link is theirs. */
static void join_directly(server *s)
{
    const cs_ig_edges *e = &s->device->edges;

    for (size_t i = 0; i < e->n; i++) {
        uint32_t nic = beside_gpu(s, &e->list[i]);
        if (nic == NO_NODE || kind_at(s, nic) != CS_IG_NIC || !s->is_used[nic]) {
            continue;
        }
        uint32_t   xpu      = e->list[i].a.node == nic ? e->list[i].b.node : e->list[i].a.node;
        cs_device *g        = &s->machine->gpus[s->number[xpu]];
        cs_device *n        = &s->machine->nics[s->number[nic]];
        double     rate_Bps = e->list[i].link->rate_Bps;
        if (g->bridge <= s->n) {
            g->bridge = n->bridge > s->n ? n->bridge : 1 + s->n + s->number[xpu];
        }
        n->bridge = n->bridge > s->n ? n->bridge : g->bridge;
        if (rate_Bps > 0 && s->parent[nic] == NO_NODE) {
            n->pcie_Bps        = rate_Bps;
            n->is_pcie_assumed = false;
        }
        if (rate_Bps > 0 && s->parent[xpu] == NO_NODE) {
            g->pcie_Bps        = (g->is_pcie_assumed ? 0 : g->pcie_Bps) + rate_Bps;
            g->is_pcie_assumed = false;
        }
        if (s->parent[nic] == NO_NODE && s->parent[xpu] != NO_NODE) {
            n->socket = g->socket;
            n->pcie   = g->pcie;
        }
    }
}

/* ---- the parts ---- */

static void place_sockets(server *s)
{
    const cs_ig_edges *e        = &s->device->edges;
    uint32_t           n        = 0;
    double             rate_Bps = NO_LIMIT, latency_s = 0;
    bool               is_joined = false, has_latency = false;

    for (uint32_t i = 0; i < s->n; i++) {
        if (kind_at(s, i) == CS_IG_CPU) {
            s->number[i]  = n++;
            s->is_used[i] = true;
        }
    }
    if (n > CS_MACHINE_MAX_GPUS) {
        FAIL(s, "has %u CPUs: accepted are at most %d", n, CS_MACHINE_MAX_GPUS);
        return;
    }
    s->n_cpus             = n;
    s->machine->n_sockets = n > 0 ? n : 1;
    for (size_t i = 0; i < e->n; i++) {
        const cs_ig_link *link = e->list[i].link;
        if (kind_at(s, e->list[i].a.node) == CS_IG_CPU &&
            kind_at(s, e->list[i].b.node) == CS_IG_CPU) {
            is_joined = true;
            rate_Bps  = least_rate(rate_Bps, link->rate_Bps);
            latency_s = link->has_latency ? fmax(latency_s, link->latency_s) : latency_s;
            has_latency |= link->has_latency;
        }
    }
    s->notes->no_sockets |= n > 1 && !is_joined;
    s->notes->sockets += n > 1 && !isfinite(rate_Bps);
    s->machine->socket_Bps    = isfinite(rate_Bps) ? rate_Bps : CS_ASSUMED_SOCKET_BPS;
    s->machine->cross_alpha_s = has_latency ? latency_s : s->machine->cross_alpha_s;
}

/* Where a device hangs, and what it is called. */
static void place_device(server *s, uint32_t node, cs_device *d)
{
    const cs_ig_node *n   = &s->device->nodes[node];
    uint32_t          top = top_of(s, node), root = node;

    (void)snprintf(d->name, sizeof d->name, "%.28s%u", n->component, n->index);
    while (s->parent[root] != NO_NODE) {
        root = s->parent[root];
    }
    d->socket = kind_at(s, root) == CS_IG_CPU ? s->number[root] : 0;
    d->pcie   = top != NO_NODE && is_switch(s, top) ? s->number[top] : CS_NO_SWITCH;
    measure_up(s, node, d->pcie != CS_NO_SWITCH ? top : NO_NODE, d);
    /* The lowest node below the switch that has devices of the other kind, too. */
    const uint32_t *others = kind_at(s, node) == CS_IG_XPU ? s->n_nics : s->n_gpus;
    uint32_t        at     = s->parent[node];
    while (at != NO_NODE && at != top && others[at] == 0) {
        at = s->parent[at];
    }
    d->bridge = at != NO_NODE && at != top && is_joint(s, at) ? 1 + at : 0;
}

static void place_switches(server *s)
{
    cs_machine *m = s->machine;

    for (uint32_t i = 0; i < s->n; i++) {
        bool is_top = s->parent[i] == NO_NODE || kind_at(s, s->parent[i]) == CS_IG_CPU;
        if (!s->is_used[i] || !is_switch(s, i) || !is_top) {
            continue;
        }
        bool            is_assumed = s->up_Bps[i] <= 0;
        cs_pcie_switch *w          = &m->switches[m->n_switches];
        s->number[i]               = m->n_switches++;
        w->socket                  = s->parent[i] != NO_NODE ? s->number[s->parent[i]] : 0;
        w->uplink_Bps              = is_assumed ? CS_ASSUMED_PCIE_BPS : s->up_Bps[i];
        w->is_uplink_assumed       = is_assumed;
        s->notes->pcie += is_assumed;
        s->notes->latencies += s->up_s[i] > 0;
    }
}

/* Is a device without a way to a CPU, where there are CPUs, and at none of the other kind? */
static void count_loose(server *s, uint32_t node)
{
    uint32_t root = node;

    while (s->parent[root] != NO_NODE) {
        root = s->parent[root];
    }
    bool is_loose = s->n_cpus > 0 && kind_at(s, root) != CS_IG_CPU;
    for (uint32_t i = s->first[node]; is_loose && i < s->first[node + 1]; i++) {
        cs_ig_kind kind = kind_at(s, s->ways[i].to);
        is_loose        = kind != CS_IG_XPU && kind != CS_IG_NIC;
    }
    s->notes->loose += is_loose;
}

static void place_devices(server *s)
{
    cs_machine *m = s->machine;

    for (uint32_t i = 0; i < m->n_gpus; i++) {
        hang_up(s, s->gpus[i]);
        count_loose(s, s->gpus[i]);
    }
    for (uint32_t i = 0; i < m->n_nics; i++) {
        hang_up(s, s->nics[i]);
        count_loose(s, s->nics[i]);
    }
    place_switches(s);
    for (uint32_t i = 0; i < m->n_gpus; i++) {
        place_device(s, s->gpus[i], &m->gpus[i]);
    }
    for (uint32_t i = 0; i < m->n_nics; i++) {
        place_device(s, s->nics[i], &m->nics[i]);
    }
    join_directly(s);
    for (uint32_t i = 0; i < m->n_gpus + m->n_nics; i++) {
        const cs_device *d = i < m->n_gpus ? &m->gpus[i] : &m->nics[i - m->n_gpus];
        s->notes->pcie += d->is_pcie_assumed;
    }
}

/* The wires of the NICs. What a NIC adds to a message at its wire is half of what its start-up
 * takes, which the file's latencies replace. */
static void wire_nics(server *s)
{
    cs_machine *m         = s->machine;
    double      latency_s = 0;
    bool        is_said   = false;

    for (uint32_t i = 0; i < m->n_nics; i++) {
        const cs_ig_wire *w = s->wires != NULL ? &s->wires[s->nics[i]] : NULL;
        cs_device        *d = &m->nics[i];
        d->is_wire_assumed  = w == NULL || !w->is_there || w->is_assumed;
        d->wire_Bps         = d->is_wire_assumed ? CS_ASSUMED_NIC_BPS : w->rate_Bps;
        s->notes->nic_wires += d->is_wire_assumed;
        if (w != NULL && w->has_latency) {
            is_said   = true;
            latency_s = fmax(latency_s, w->latency_s);
        }
    }
    m->nic_alpha_s = is_said ? 2 * latency_s : m->nic_alpha_s;
}

/* ---- NVLink ---- */

typedef struct own_links {
    double  *port_Bps; /* [n_gpus] to switches */
    uint32_t n_ports;  /* GPUs that have one */
    uint32_t n_pairs, n_edges;
    double   latency_s; /* of one link; 0: not said */
    bool     is_assumed, has_latency;
} own_links;

/* Count and add up the GPUs' own links: to switches, and of pairs. */
static void add_own(server *s, own_links *o)
{
    const cs_ig_edges *e = &s->device->edges;
    uint32_t           g = s->machine->n_gpus;

    for (size_t i = 0; i < e->n; i++) {
        const cs_ig_edge *edge = &e->list[i];
        const cs_ig_link *link = edge->link;
        uint32_t          a = edge->a.node, b = edge->b.node, end = beside_gpu(s, edge);
        if (!is_own_edge(s, edge)) {
            continue;
        }
        s->own_name    = s->own_name != NULL ? s->own_name : link->name;
        o->has_latency = o->has_latency || link->has_latency;
        o->latency_s   = link->has_latency ? fmax(o->latency_s, link->latency_s) : o->latency_s;
        if (end != NO_NODE) {
            uint32_t gpu = s->number[end == a ? b : a];
            o->n_ports += o->port_Bps[gpu] <= 0;
            o->is_assumed |= link->rate_Bps <= 0;
            o->port_Bps[gpu] += link->rate_Bps > 0 ? link->rate_Bps : CS_ASSUMED_NVLINK_BPS;
            s->is_used[end] = s->is_fabric[end] = true;
        } else if (kind_at(s, a) == CS_IG_XPU) {
            double *pair[2] = {&s->machine->nvlink_Bps[(size_t)s->number[a] * g + s->number[b]],
                               &s->machine->nvlink_Bps[(size_t)s->number[b] * g + s->number[a]]};
            o->n_pairs += *pair[0] <= 0;
            o->n_edges++;
            s->notes->nvlinks += link->rate_Bps <= 0;
            for (int way_back = 0; way_back < 2; way_back++) {
                *pair[way_back] += link->rate_Bps > 0 ? link->rate_Bps : CS_ASSUMED_NVLINK_BPS;
            }
        } else {
            s->is_used[a] = s->is_used[b] = true;
        }
    }
}

static bool is_own_port(const server *s, const cs_ig_edge *e)
{
    uint32_t a = e->a.node, b = e->b.node;
    bool     pair  = kind_at(s, a) == CS_IG_XPU && kind_at(s, b) == CS_IG_XPU;
    bool     apart = is_joint(s, a) && is_joint(s, b) && !s->leads_up[a]; /* nor does b */
    return !pair && (is_own_edge(s, e) || apart || (s->is_fabric[a] && s->is_fabric[b]));
}

/* Do the GPUs' switches join all GPUs? All that are joined to them are in use. */
static bool joins_all(server *s)
{
    uint32_t *up    = unite(s, is_own_port);
    uint32_t  first = up != NULL ? root_of(up, s->gpus[0]) : 0;

    for (uint32_t i = 0; up != NULL && i < s->n; i++) {
        s->is_used[i] = s->is_used[i] || (is_joint(s, i) && root_of(up, i) == first);
    }
    for (uint32_t i = 1; up != NULL && i < s->machine->n_gpus; i++) {
        if (root_of(up, s->gpus[i]) != first) {
            return false;
        }
    }
    return true;
}

static void use_switches(server *s, const own_links *o)
{
    cs_machine *m         = s->machine;
    double      least_Bps = NO_LIMIT;

    if (o->n_ports < m->n_gpus || !joins_all(s)) {
        FAIL(s,
             "link %.40s joins only some of the %u GPUs by switches: accepted are switches that "
             "join all, or links of pairs",
             s->own_name, m->n_gpus);
        return;
    }
    for (uint32_t i = 0; i < m->n_gpus; i++) {
        least_Bps = fmin(least_Bps, o->port_Bps[i]);
    }
    m->nvswitch_Bps = o->is_assumed ? CS_ASSUMED_NVSWITCH_BPS : least_Bps;
    m->nvlink_Bps   = NULL;
    s->notes->nvswitches += o->is_assumed;
    s->notes->pairs += o->n_edges;
    m->nvlink_alpha_s = o->has_latency ? 2 * o->latency_s : m->nvlink_alpha_s;
}

/* What joins the GPUs; without any link of their own it is PCIe, whose latency counts then. */
static void read_own_links(server *s)
{
    cs_machine *m = s->machine;
    own_links   o = {.port_Bps = CS_ARENA_NEW(s->r->arena, double, (size_t)m->n_gpus + 1)};

    m->nvlink_Bps = CS_ARENA_NEW(s->r->arena, double, (size_t)m->n_gpus * m->n_gpus);
    if (o.port_Bps == NULL || m->nvlink_Bps == NULL) {
        no_memory(s);
        return;
    }
    add_own(s, &o);
    if (s->own_name != NULL) {
        m->link_name = s->own_name;
        s->notes->latencies += s->gpu_path_s > 0;
    } else if (s->gpu_path_s > 0) {
        m->nvlink_alpha_s = 2 * s->gpu_path_s;
    }
    if (o.n_ports > 0) {
        use_switches(s, &o);
    } else if (o.n_pairs > 0) {
        uint32_t all      = m->n_gpus * (m->n_gpus - 1) / 2;
        m->nvlink_alpha_s = o.has_latency ? o.latency_s : m->nvlink_alpha_s;
        s->notes->partial += all - o.n_pairs;
    } else {
        m->nvlink_Bps = NULL;
    }
}

/* ---- what is left out ---- */

static void add_left_out(server *s)
{
    const cs_ig_node *nodes = s->device->nodes;

    for (size_t i = 0; i < s->device->edges.n; i++) {
        s->notes->transfers += s->device->edges.list[i].link->in_transfers;
    }

    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t count = 0, first = i;
        for (; i < s->n && nodes[i].component == nodes[first].component; i++) {
            count += !s->is_used[i];
        }
        i--;
        if (count > 0 && nodes[first].kind == CS_IG_NIC) {
            s->notes->nics += count;
        } else if (count > 0) {
            cs_text_add(&s->notes->parts, "%s%u %.40s", s->notes->parts.data != NULL ? ", " : "",
                        count, nodes[first].component);
        }
    }
}

/* ---- all of it ---- */

/* List GPUs, and those NICs that have a wire, or all where none is known. */
static void list_devices(server *s)
{
    uint32_t n_gpus = 0, n_nics = 0;

    for (uint32_t i = 0; i < s->n; i++) {
        bool is_nic = kind_at(s, i) == CS_IG_NIC && (s->wires == NULL || s->wires[i].is_there);
        if (kind_at(s, i) == CS_IG_XPU) {
            s->number[i]      = n_gpus;
            s->gpus[n_gpus++] = i;
        } else if (is_nic) {
            s->number[i]      = n_nics;
            s->nics[n_nics++] = i;
        }
        s->is_used[i] = is_nic || kind_at(s, i) == CS_IG_XPU;
    }
    if (n_gpus > CS_MACHINE_MAX_GPUS || n_nics > CS_MACHINE_MAX_NICS) {
        FAIL(s, "has %u GPUs and %u NICs: accepted are at most %d of each", n_gpus, n_nics,
             CS_MACHINE_MAX_GPUS);
        return;
    }
    s->machine = cs_machine_new(s->r->arena, s->device->name, n_gpus, n_nics, s->n);
    if (s->machine == NULL) {
        no_memory(s);
        return;
    }
    s->machine->n_gpus = n_gpus;
    s->machine->n_nics = n_nics;
}

static bool allocate(server *s)
{
    cs_arena *arena = s->r->arena;
    size_t    n     = (size_t)s->n + 1;

    s->is_own    = CS_ARENA_NEW(arena, bool, (size_t)s->n_links + 1);
    s->leads_up  = CS_ARENA_NEW(arena, bool, n);
    s->is_used   = CS_ARENA_NEW(arena, bool, n);
    s->is_fabric = CS_ARENA_NEW(arena, bool, n);
    s->parent    = CS_ARENA_NEW(arena, uint32_t, n);
    s->up_Bps    = CS_ARENA_NEW(arena, double, n);
    s->up_s      = CS_ARENA_NEW(arena, double, n);
    s->depth     = CS_ARENA_NEW(arena, uint32_t, n);
    s->n_gpus    = CS_ARENA_NEW(arena, uint32_t, n);
    s->n_nics    = CS_ARENA_NEW(arena, uint32_t, n);
    s->number    = CS_ARENA_NEW(arena, uint32_t, n);
    s->gpus      = CS_ARENA_NEW(arena, uint32_t, n);
    s->nics      = CS_ARENA_NEW(arena, uint32_t, n);
    return s->is_own != NULL && s->leads_up != NULL && s->is_used != NULL && s->is_fabric != NULL &&
           s->parent != NULL && s->up_Bps != NULL && s->up_s != NULL && s->depth != NULL &&
           s->n_gpus != NULL && s->n_nics != NULL && s->number != NULL && s->gpus != NULL &&
           s->nics != NULL;
}

cs_machine *cs_ig_machine(cs_reading *r, const cs_ig_device *device, uint32_t n_links,
                          const cs_ig_wire *wires, cs_ig_notes *notes, uint32_t **nodes_p)
{
    static void (*const steps[])(server *) = {
        find_leads,    classify_links, list_devices, list_ways,      grow_trees,
        place_sockets, place_devices,  wire_nics,    read_own_links, add_left_out};
    server s = {.r       = r,
                .device  = device,
                .wires   = wires,
                .notes   = notes,
                .n       = device->n_nodes,
                .n_links = n_links};

    if (!allocate(&s)) {
        no_memory(&s);
        return NULL;
    }
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (!cs_reading_failed(r)) {
            steps[i](&s);
        }
    }
    *nodes_p = s.nics;
    return cs_reading_failed(r) ? NULL : s.machine;
}

uint32_t cs_ig_nic_at(const cs_ig_device *device, uint32_t node)
{
    uint32_t found = NO_NODE;

    if (device->nodes[node].kind == CS_IG_NIC || device->nodes[node].kind == CS_IG_XPU) {
        return device->nodes[node].kind == CS_IG_NIC ? node : NO_NODE;
    }
    for (size_t i = 0; i < device->edges.n; i++) {
        const cs_ig_edge *e = &device->edges.list[i];
        if (e->a.node != node && e->b.node != node) {
            continue;
        }
        uint32_t other = e->a.node == node ? e->b.node : e->a.node;
        if (device->nodes[other].kind == CS_IG_NIC) {
            if (found != NO_NODE && found != other) {
                return NO_NODE;
            }
            found = other;
        }
    }
    return found;
}
