/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From an infrastructure to a site: instances with GPUs are servers, all others switches of the
 * network, each as a whole. */
#include "topology/infragraph.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* More is hardly meant for one link between devices: 1.6 Tb/s is what ports of switches have. */
#define ODD_BPS 200e9

typedef struct network {
    cs_reading       *r;
    const cs_ig_file *file;
    cs_ig_notes      *notes;
    uint32_t         *number;  /* [n_units] of the server, or of the switch */
    uint32_t         *servers; /* [n_servers] units */
    uint32_t          n_servers, n_switches, n_links;
    const char      **names; /* [n_switches] */
    cs_switch_link   *links;
    cs_ig_wire      **wires;    /* [n_servers][n_nodes] */
    uint32_t         *kind;     /* [n_servers] 0 or 1 */
    uint32_t          first[2]; /* servers that stand for the kinds */
    uint32_t          n_kinds;
    cs_machine       *machines[2];
    uint32_t         *nic_nodes[2]; /* [n_nics] */
    bool              has_wires;
} network;

#define FAIL(n, ...) ((void)CS_FAIL(&(n)->r->error, CS_EINVAL, (n)->file->path, __VA_ARGS__))

#define FAIL_AT(n, edge, ...)                                             \
    do {                                                                  \
        char edge_path[CS_PATH_BYTES];                                    \
        path_of((n), (edge), edge_path);                                  \
        (void)CS_FAIL(&(n)->r->error, CS_EINVAL, edge_path, __VA_ARGS__); \
    } while (0)

/* Where the file has an edge. */
static void path_of(const network *n, const cs_ig_edge *edge, char *path)
{
    bool   is_edge = edge->row < n->file->n_rows;
    size_t index   = is_edge ? edge->row : edge->row - n->file->n_rows;

    cs_path_add_key(path, n->file->path, is_edge ? "edges" : "connections");
    cs_path_add_index(path, path, index);
}

static void no_memory(network *n)
{
    (void)CS_NO_MEMORY(&n->r->error, "a topology");
}

static bool is_server(const network *n, uint32_t unit)
{
    return n->file->devices[unit]->n_xpus > 0;
}

/* Number servers and switches in the order of the file. */
static void number_units(network *n)
{
    const cs_ig_file *f     = n->file;
    cs_arena         *arena = n->r->arena;
    char              name[80];

    n->number  = CS_ARENA_NEW(arena, uint32_t, (size_t)f->n_units + 1);
    n->servers = CS_ARENA_NEW(arena, uint32_t, (size_t)f->n_units + 1);
    n->names   = CS_ARENA_NEW(arena, const char *, (size_t)f->n_units + 1);
    n->kind    = CS_ARENA_NEW(arena, uint32_t, (size_t)f->n_units + 1);
    n->wires   = CS_ARENA_NEW(arena, cs_ig_wire *, (size_t)f->n_units + 1);
    n->links   = CS_ARENA_NEW(arena, cs_switch_link, f->edges.n + 1);
    if (n->number == NULL || n->servers == NULL || n->names == NULL || n->kind == NULL ||
        n->wires == NULL || n->links == NULL) {
        no_memory(n);
        return;
    }
    for (uint32_t u = 0; u < f->n_units; u++) {
        if (is_server(n, u)) {
            n->number[u]               = n->n_servers;
            n->servers[n->n_servers++] = u;
            continue;
        }
        (void)snprintf(name, sizeof name, "%.60s %u", f->names[u], f->indices[u]);
        n->number[u]            = n->n_switches;
        n->names[n->n_switches] = cs_arena_strdup(arena, name);
        if (n->names[n->n_switches++] == NULL) {
            no_memory(n);
            return;
        }
        n->notes->inner += f->devices[u]->edges.n > 0;
    }
    if (n->n_servers == 0) {
        FAIL(n,
             "has no GPU: accepted are files in which an instance has components of the kind xpu");
    }
}

static void note_rate(network *n, const cs_ig_link *link)
{
    if (link->in_bytes && link->rate_Bps > ODD_BPS && link->rate_Bps > n->notes->odd_Bps) {
        n->notes->odd_Bps  = link->rate_Bps;
        n->notes->odd_link = link->name;
    }
    n->notes->transfers += link->in_transfers;
}

static void name_point(const network *n, const cs_ig_point *p, char *text, size_t bytes)
{
    const cs_ig_node *node = &n->file->devices[p->unit]->nodes[p->node];

    (void)snprintf(text, bytes, "%.40s[%u] %.40s[%u]", n->file->names[p->unit],
                   n->file->indices[p->unit], node->component, node->index);
}

/* An edge from a server to a switch is the wire of a NIC. */
static void add_wire(network *n, const cs_ig_edge *edge, const cs_ig_point *at, uint32_t vertex)
{
    const cs_ig_link   *link   = edge->link;
    const cs_ig_device *device = n->file->devices[at->unit];
    uint32_t            server = n->number[at->unit], nic = cs_ig_nic_at(device, at->node);
    char                name[160];

    if (nic == UINT32_MAX) {
        name_point(n, at, name, sizeof name);
        FAIL_AT(n, edge,
                "leaves a server at %s: accepted are NICs, and what is joined to one of them",
                name);
        return;
    }
    if (n->wires[server] == NULL) {
        n->wires[server] = CS_ARENA_NEW(n->r->arena, cs_ig_wire, (size_t)device->n_nodes + 1);
        if (n->wires[server] == NULL) {
            no_memory(n);
            return;
        }
    }
    cs_ig_wire *w = &n->wires[server][nic];
    w->vertex     = w->is_there ? w->vertex : vertex;
    w->is_there   = true;
    w->is_assumed |= link->rate_Bps <= 0;
    w->rate_Bps += link->rate_Bps;
    w->has_latency |= link->has_latency;
    w->latency_s = link->has_latency ? fmax(w->latency_s, link->latency_s) : w->latency_s;
    n->notes->wires += w->n_links++ == 1;
    n->has_wires = true;
}

/* A link without a rate is taken to be as fast as a NIC without one. */
static void add_link(network *n, uint32_t from, uint32_t to, const cs_ig_link *link)
{
    bool   is_assumed = link->rate_Bps <= 0;
    double latency_s  = link->has_latency ? link->latency_s : 0;

    n->notes->uplinks += is_assumed;
    n->links[n->n_links++] = (cs_switch_link){
        from, to, {is_assumed ? CS_ASSUMED_NIC_BPS : link->rate_Bps, latency_s, false}};
}

static void sort_out_edges(network *n)
{
    for (size_t i = 0; i < n->file->edges.n && !cs_reading_failed(n->r); i++) {
        const cs_ig_edge *e = &n->file->edges.list[i];
        bool              a = is_server(n, e->a.unit), b = is_server(n, e->b.unit);
        char              x[160], y[160];
        note_rate(n, e->link);
        if (a && b) {
            name_point(n, &e->a, x, sizeof x);
            name_point(n, &e->b, y, sizeof y);
            FAIL_AT(n, e,
                    "joins two servers, %s and %s: accepted are servers that are joined by "
                    "switches",
                    x, y);
        } else if (a || b) {
            const cs_ig_point *server = a ? &e->a : &e->b, *other = a ? &e->b : &e->a;
            add_wire(n, e, server, n->number[other->unit]);
        } else if (e->a.unit != e->b.unit) {
            add_link(n, n->number[e->a.unit], n->number[e->b.unit], e->link);
        }
    }
}

/* ---- kinds of servers ---- */

static bool same_wires(const cs_ig_wire *a, const cs_ig_wire *b, uint32_t n_nodes)
{
    static const cs_ig_wire none = {.is_there = false};

    for (uint32_t i = 0; i < n_nodes; i++) {
        const cs_ig_wire *x = a != NULL ? &a[i] : &none, *y = b != NULL ? &b[i] : &none;
        if (x->is_there != y->is_there || x->is_assumed != y->is_assumed ||
            x->rate_Bps != y->rate_Bps || x->has_latency != y->has_latency ||
            x->latency_s != y->latency_s) {
            return false;
        }
    }
    return true;
}

static bool are_alike(const network *n, uint32_t x, uint32_t y)
{
    const cs_ig_device *a = n->file->devices[n->servers[x]], *b = n->file->devices[n->servers[y]];
    return a == b && same_wires(n->wires[x], n->wires[y], a->n_nodes);
}

/* Servers are of one kind, or first of one and then of another. */
static void find_kinds(network *n)
{
    const cs_ig_device *const *devices = n->file->devices;

    for (uint32_t s = 0; s < n->n_servers; s++) {
        uint32_t k = 0;
        while (k < n->n_kinds && !are_alike(n, n->first[k], s)) {
            k++;
        }
        if (k == 2 || (s > 0 && k < n->kind[s - 1])) {
            uint32_t u = n->servers[s];
            FAIL(n,
                 "%.40s[%u] is %s: accepted are servers of one kind, or all of one kind before "
                 "all of another",
                 n->file->names[u], n->file->indices[u],
                 k == 2 ? "a third kind of server" : "of the first kind behind another");
            return;
        }
        n->kind[s] = k;
        if (k == n->n_kinds) {
            n->first[n->n_kinds++] = s;
        }
    }
    const cs_ig_device *a = devices[n->servers[n->first[0]]];
    const cs_ig_device *b = devices[n->servers[n->first[n->n_kinds - 1]]];
    if (a->n_xpus != b->n_xpus) {
        FAIL(n, "has servers of %u and of %u GPUs: accepted are servers that have as many",
             a->n_xpus, b->n_xpus);
    }
}

/* Where any NIC has a wire, servers whose NICs have none are without NICs. */
static void build_machines(network *n)
{
    for (uint32_t k = 0; k < n->n_kinds && !cs_reading_failed(n->r); k++) {
        const cs_ig_device *device = n->file->devices[n->servers[n->first[k]]];
        cs_ig_wire         *wires  = n->wires[n->first[k]];
        if (wires == NULL && n->has_wires) {
            wires = CS_ARENA_NEW(n->r->arena, cs_ig_wire, (size_t)device->n_nodes + 1);
            if (wires == NULL) {
                no_memory(n);
                return;
            }
        }
        n->machines[k] =
            cs_ig_machine(n->r, device, n->file->n_links, wires, n->notes, &n->nic_nodes[k]);
    }
}

/* ---- the site ---- */

/* Which switch every NIC leads to; GPUs whose NICs lead to several are counted. */
static const uint32_t *attach(network *n, uint32_t server, cs_nic_choice *choice)
{
    const cs_machine *m  = n->machines[n->kind[server]];
    uint32_t         *at = CS_ARENA_NEW(n->r->arena, uint32_t, (size_t)m->n_nics + 1);

    for (uint32_t i = 0; at != NULL && i < m->n_nics; i++) {
        at[i] = n->wires[server][n->nic_nodes[n->kind[server]][i]].vertex;
    }
    for (uint32_t g = 0; at != NULL && g < m->n_gpus; g++) {
        uint32_t first = choice->first[g], others = 0;
        for (uint32_t i = 1; i < choice->count[g]; i++) {
            others += at[choice->order[first + i]] != at[choice->order[first]];
        }
        n->notes->spread += others > 0;
    }
    return at;
}

/* Servers whose NICs all lead to one switch need no network: that is a crossbar. */
static const cs_site_network *make_network(network *n)
{
    cs_site_network *net = CS_ARENA_NEW(n->r->arena, cs_site_network, 1);
    const uint32_t **at  = CS_ARENA_NEW(n->r->arena, const uint32_t *, (size_t)n->n_servers + 1);
    cs_nic_choice    choices[2];
    bool             is_one = true;

    for (uint32_t k = 0; k < n->n_kinds; k++) {
        const cs_machine *m = n->machines[k];
        if (cs_machine_choose_nics(m, m->n_gpus, n->r->arena, &choices[k]) != CS_OK) {
            net = NULL;
        }
    }
    if (net == NULL || at == NULL) {
        no_memory(n);
        return NULL;
    }
    for (uint32_t s = 0; s < n->n_servers; s++) {
        at[s] = attach(n, s, &choices[n->kind[s]]);
        if (at[s] == NULL) {
            no_memory(n);
            return NULL;
        }
        for (uint32_t i = 0; i < n->machines[n->kind[s]]->n_nics; i++) {
            is_one = is_one && at[s][i] == at[0][0];
        }
    }
    *net = (cs_site_network){n->n_servers, n->n_switches, n->n_links, n->names, n->links, at};
    return is_one ? NULL : net;
}

/* ---- the notes ---- */

static void note_rates(cs_ig_notes *notes)
{
    cs_machine_notes *said  = &notes->said;
    static const char why[] = "links without a rate";

    if (notes->nvlinks > 0) {
        cs_machine_assume(said, CS_RATE_NVLINK, why, "25 GB/s a link of two GPUs");
    }
    if (notes->nvswitches > 0) {
        cs_machine_assume(said, CS_RATE_NVLINK, why, "450 GB/s a GPU at its switches");
    }
    if (notes->nic_wires > 0) {
        cs_machine_assume(said, CS_RATE_NIC, why, "200 Gb/s a NIC");
    }
    if (notes->uplinks > 0) {
        cs_machine_assume(said, CS_RATE_SWITCHES, why, "200 Gb/s between switches");
    }
    if (notes->pcie > 0) {
        cs_machine_assume(said, CS_RATE_PCIE, why, "31.5 GB/s PCIe (4.0 x16)");
    }
    if (notes->sockets > 0) {
        cs_machine_assume(said, CS_RATE_SOCKETS,
                          notes->no_sockets ? "CPUs that nothing joins" : why,
                          "60 GB/s between sockets");
    }
    if (notes->odd_Bps > 0) {
        cs_text_add(&said->text,
                    "link %.40s: %.6g GB/s are %.6g Gb/s, more than a port has; gigabits would be "
                    "gigabits_per_second\n",
                    notes->odd_link, notes->odd_Bps / 1e9, notes->odd_Bps * 8 / 1e9);
    }
}

/* What there is no place for, as "left out: 8 storage, ..". */
static void note_left_out(const cs_ig_file *f, cs_ig_notes *notes)
{
    const struct {
        uint32_t    count;
        const char *what;
    } parts[] = {
        {notes->nics, "NICs without a link to the network"},
        {notes->pairs, "links of two GPUs beside their switches"},
        {notes->latencies, "latencies of PCIe"},
        {notes->inner, "links inside switches"},
        {f->n_unknown, "instances of devices that are not in the file"},
        {f->n_annotations, "annotations"},
    };
    bool any = notes->parts.data != NULL;

    if (any) {
        cs_text_add(&notes->said.text, "left out: %s", notes->parts.data);
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i].count > 0) {
            cs_text_add(&notes->said.text, "%s%s (%u)", any ? ", " : "left out: ", parts[i].what,
                        parts[i].count);
            any = true;
        }
    }
    if (any) {
        cs_text_add(&notes->said.text, "\n");
    }
}

/* What was understood otherwise than it stands there. */
static void note_readings(cs_ig_notes *notes)
{
    const struct {
        uint32_t    count;
        const char *what;
    } parts[] = {
        {notes->transfers, "links in GT/s are taken as PCIe of 16 lanes"},
        {notes->partial, "pairs of GPUs without a link of their own meet over PCIe"},
        {notes->loose,
         "GPUs and NICs that nothing joins to a CPU are taken to be at the first one"},
        {notes->wires, "NICs with several links to the network have the sum of their rates, at the "
                       "first one's switch"},
        {notes->spread, "GPUs whose NICs lead to several switches send over the first one's"},
    };

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i].count > 0) {
            cs_text_add(&notes->said.text, "%s (%u)\n", parts[i].what, parts[i].count);
        }
    }
}

static void add_notes(network *n, const cs_site *site)
{
    cs_ig_notes *notes = n->notes;
    cs_error     wrong = {0};

    note_rates(notes);
    note_left_out(n->file, notes);
    note_readings(notes);
    if (site->network != NULL) {
        cs_text_add(&notes->said.text, "network: switches (%u), links between them (%u)\n",
                    site->network->n_switches, site->network->n_links);
    }
    if (notes->parts.failed ||
        cs_machine_note(n->machines[0], &notes->said, n->r->arena, &wrong) != CS_OK) {
        no_memory(n);
    }
}

static void fill_site(network *n, cs_site *site)
{
    uint32_t heads = 0;

    while (heads < n->n_servers && n->kind[heads] == 0) {
        heads++;
    }
    *site = (cs_site){.machine    = n->machines[0],
                      .tail       = n->n_kinds > 1 ? n->machines[1] : NULL,
                      .n_servers  = n->n_servers,
                      .first_tail = heads,
                      .network    = n->has_wires ? make_network(n) : NULL};
}

void cs_infragraph_read(cs_reading *r, const cs_place *root, cs_site *site)
{
    cs_ig_notes notes                = {.odd_Bps = 0};
    network     n                    = {.r = r, .notes = &notes};
    void (*const steps[])(network *) = {number_units, sort_out_edges, find_kinds, build_machines};

    n.file = cs_ig_read_file(r, root);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && !cs_reading_failed(r); i++) {
        steps[i](&n);
    }
    if (!cs_reading_failed(r)) {
        fill_site(&n, site);
    }
    if (!cs_reading_failed(r)) {
        add_notes(&n, site);
    }
    cs_machine_notes_free(&notes.said);
    cs_text_free(&notes.parts);
}
