/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The links inside servers, and those of their NICs to the network, as a kind of topology.
 *
 * Every server has a block of links: for each GPU, NIC and PCIe switch one up (away from the
 * device, towards the socket) and one down; for each NIC one out and one in; one for each
 * ordered pair of sockets; one for each ordered pair of GPUs, used where NVLinks differ. A device
 * reaches another by the switch that they share, else by their sockets. The network between the
 * NICs is a crossbar, or a graph of switches, whose links follow those of the servers.
 */
#include "base/arena.h"
#include "cs/graph.h"
#include "cs/machine.h"

#include <stdio.h>
#include <string.h>

/* What the routes need of one kind of server. */
typedef struct server_kind {
    const cs_machine *machine;
    cs_nic_choice     nics;
    cs_machine_mesh   mesh;
    uint32_t          gpus, wires, switches, nic_pcie, sockets, pairs; /* first links */
    uint32_t          n_links;
} server_kind;

typedef struct site_data {
    server_kind kinds[2];
    uint32_t    first_tail; /* server; UINT32_MAX: no tail */
    uint32_t    g;
    bool        pairs_differ; /* NVLinks of a pair are links of their own */
    uint32_t    n_inside;     /* links of the servers */
    cs_topology network;      /* a graph between the NICs; without a kind: a crossbar */
} site_data;

static const server_kind *kind_of(const site_data *d, uint32_t server)
{
    return &d->kinds[server >= d->first_tail];
}

static uint32_t first_link(const site_data *d, uint32_t server)
{
    uint32_t heads = server < d->first_tail ? server : d->first_tail;
    return heads * d->kinds[0].n_links + (server - heads) * d->kinds[1].n_links;
}

/* Links from a device up and down to another, from `n` on. */
static uint32_t inside(const server_kind *k, uint32_t base, const cs_device *from, uint32_t from_up,
                       const cs_device *to, uint32_t to_down, uint32_t *links, uint32_t n)
{
    bool     share   = from->pcie != CS_NO_SWITCH && from->pcie == to->pcie;
    uint32_t sockets = k->machine->n_sockets;

    links[n++] = base + from_up;
    if (!share && from->pcie != CS_NO_SWITCH) {
        links[n++] = base + k->switches + 2 * from->pcie;
    }
    if (!share && from->socket != to->socket) {
        links[n++] = base + k->sockets + from->socket * sockets + to->socket;
    }
    if (!share && to->pcie != CS_NO_SWITCH) {
        links[n++] = base + k->switches + 2 * to->pcie + 1;
    }
    links[n++] = base + to_down;
    return n;
}

/* The i-th path from NIC to NIC and all that lies before and behind it. */
static uint32_t over_network(const site_data *d, const cs_cluster *cluster, uint32_t src,
                             uint32_t dst, uint32_t path, uint32_t *links)
{
    uint32_t           from = src / d->g, to = dst / d->g, i = src % d->g, j = dst % d->g, n = 0;
    const server_kind *a = kind_of(d, from), *b = kind_of(d, to);
    uint32_t           out = a->nics.order[a->nics.first[i]], in = b->nics.order[b->nics.first[j]];
    uint32_t           x = first_link(d, from), y = first_link(d, to);

    /* Up from the NIC's side is into the server: a message leaves by the NIC's "down". */
    n          = inside(a, x, &a->machine->gpus[i], a->gpus + 2 * i, &a->machine->nics[out],
                        a->nic_pcie + 2 * out + 1, links, n);
    links[n++] = x + a->wires + 2 * out;
    if (d->network.kind != NULL) {
        uint32_t end =
            n + d->network.kind->path(&d->network, cluster, src, dst, CS_NIC, path, links + n);
        for (; n < end; n++) {
            links[n] += d->n_inside;
        }
    }
    links[n++] = y + b->wires + 2 * in + 1;
    return inside(b, y, &b->machine->nics[in], b->nic_pcie + 2 * in, &b->machine->gpus[j],
                  b->gpus + 2 * j + 1, links, n);
}

static uint32_t site_path(const cs_topology *topology, const cs_cluster *cluster, uint32_t src,
                          uint32_t dst, uint32_t fabric, uint32_t path, uint32_t *links)
{
    const site_data   *d = topology->data;
    const server_kind *k = kind_of(d, src / d->g);
    uint32_t           i = src % d->g, j = dst % d->g, base = first_link(d, src / d->g);

    if (fabric == CS_NIC) {
        return over_network(d, cluster, src, dst, path, links);
    }
    if (k->machine->nvswitch_Bps > 0) {
        return 0;
    }
    if (k->machine->nvlink_Bps != NULL &&
        k->machine->nvlink_Bps[(size_t)i * k->machine->n_gpus + j] > 0) {
        links[0] = base + k->pairs + i * d->g + j;
        return d->pairs_differ ? 1 : 0;
    }
    return inside(k, base, &k->machine->gpus[i], k->gpus + 2 * i, &k->machine->gpus[j],
                  k->gpus + 2 * j + 1, links, 0);
}

static uint32_t site_route(const cs_topology *topology, const cs_cluster *cluster, uint32_t src,
                           uint32_t dst, uint32_t fabric, uint32_t *links)
{
    return site_path(topology, cluster, src, dst, fabric, 0, links);
}

static uint32_t site_n_paths(const cs_topology *topology, const cs_cluster *cluster, uint32_t src,
                             uint32_t dst, uint32_t fabric)
{
    const site_data *d = topology->data;

    return fabric == CS_NIC ? cs_topology_n_paths(&d->network, cluster, src, dst, CS_NIC) : 1;
}

/* The NICs of one GPU work as one, the first of them (set_links()). */
static uint32_t site_nic_links(const cs_topology *topology, const cs_cluster *cluster,
                               uint32_t rank, uint32_t *links)
{
    const site_data   *d    = topology->data;
    const server_kind *k    = kind_of(d, rank / d->g);
    uint32_t           gpu  = rank % d->g;
    uint32_t           base = first_link(d, rank / d->g);

    (void)cluster;
    if (k->nics.count[gpu] == 0) {
        return 0;
    }
    uint32_t nic = k->nics.order[k->nics.first[gpu]];
    for (uint32_t i = 0; i < gpu; i++) {
        if (k->nics.order[k->nics.first[i]] == nic) {
            return 0;
        }
    }
    links[0] = base + k->wires + 2 * nic;
    links[1] = links[0] + 1;
    return 2;
}

static cs_status site_check(const cs_topology *topology, const cs_cluster *cluster, cs_error *err)
{
    const site_data *d = topology->data;

    if (d->g != cluster->gpus_per_server || d->n_inside != first_link(d, cs_n_servers(cluster))) {
        return CS_FAIL(err, CS_EINVAL, "cluster.topology",
                       "is for servers of %u GPUs, the cluster has others", d->g);
    }
    for (uint32_t k = 0; k < 2 && cs_n_servers(cluster) > 1; k++) {
        const cs_machine *m = d->kinds[k].machine;
        if (m != NULL && m->n_nics == 0) {
            return CS_FAIL(err, CS_EINVAL, "cluster.topology",
                           "is disconnected: %.60s has no NIC, and there are %u servers", m->name,
                           cs_n_servers(cluster));
        }
    }
    return d->network.kind != NULL ? d->network.kind->check(&d->network, cluster, err) : CS_OK;
}

static void name_of_device(const server_kind *k, uint32_t g, uint32_t link, uint32_t server,
                           char *text, size_t text_bytes)
{
    const cs_machine        *m      = k->machine;
    static const char *const ways[] = {"up", "down"};

    if (link < k->wires) {
        uint32_t i = (link - k->gpus) / 2;
        (void)snprintf(text, text_bytes, "PCIe of %s %s, server %u", m->gpus[i].name,
                       ways[link % 2], server);
    } else if (link < k->nic_pcie) {
        (void)snprintf(text, text_bytes, "%s of NIC %s, server %u",
                       (link - k->wires) % 2 == 0 ? "wire out" : "wire in",
                       m->nics[(link - k->wires) / 2].name, server);
    } else if (link < k->switches) {
        (void)snprintf(text, text_bytes, "PCIe of NIC %s %s, server %u",
                       m->nics[(link - k->nic_pcie) / 2].name, ways[(link - k->nic_pcie) % 2],
                       server);
    } else if (link < k->sockets) {
        (void)snprintf(text, text_bytes, "uplink of PCIe switch %u %s, server %u",
                       (link - k->switches) / 2, ways[(link - k->switches) % 2], server);
    } else if (link < k->pairs) {
        (void)snprintf(text, text_bytes, "sockets %u -> %u, server %u",
                       (link - k->sockets) / m->n_sockets, (link - k->sockets) % m->n_sockets,
                       server);
    } else {
        (void)snprintf(text, text_bytes, "%s %u -> %u, server %u", m->link_name,
                       (link - k->pairs) / g, (link - k->pairs) % g, server);
    }
}

static void site_link_name(const cs_topology *topology, uint32_t link, char *text,
                           size_t text_bytes)
{
    const site_data *d      = topology->data;
    uint32_t         server = link / d->kinds[0].n_links;

    if (link >= d->n_inside) {
        d->network.kind->link_name(&d->network, link - d->n_inside, text, text_bytes);
        return;
    }
    if (server >= d->first_tail) {
        server = d->first_tail + (link - first_link(d, d->first_tail)) / d->kinds[1].n_links;
    }
    name_of_device(kind_of(d, server), d->g, link - first_link(d, server), server, text,
                   text_bytes);
}

static const cs_topology_kind site_kind = {
    .name      = "servers",
    .check     = site_check,
    .route     = site_route,
    .link_name = site_link_name,
    .nic_links = site_nic_links,
};
static const cs_topology_kind networked_kind = {
    .name      = "servers and switches",
    .check     = site_check,
    .route     = site_route,
    .link_name = site_link_name,
    .nic_links = site_nic_links,
    .n_paths   = site_n_paths,
    .path      = site_path,
};

static void set_links(const server_kind *k, uint32_t g, cs_link *links)
{
    const cs_machine *m = k->machine;

    for (uint32_t i = 0; i < g; i++) {
        links[k->gpus + 2 * i]     = (cs_link){m->gpus[i].pcie_Bps, 0, false};
        links[k->gpus + 2 * i + 1] = (cs_link){m->gpus[i].pcie_Bps, 0, true};
    }
    /* The NICs of one GPU work as one: their sum stands at the first of them. */
    for (uint32_t i = 0; i < m->n_nics; i++) {
        links[k->wires + 2 * i]        = (cs_link){m->nics[i].wire_Bps, 0, false};
        links[k->wires + 2 * i + 1]    = (cs_link){m->nics[i].wire_Bps, 0, true};
        links[k->nic_pcie + 2 * i]     = (cs_link){m->nics[i].pcie_Bps, 0, false};
        links[k->nic_pcie + 2 * i + 1] = (cs_link){m->nics[i].pcie_Bps, 0, false};
    }
    for (uint32_t i = 0; i < g; i++) {
        uint32_t first = k->nics.count[i] > 1 ? k->nics.order[k->nics.first[i]] : 0;
        for (uint32_t n = 1; n < k->nics.count[i]; n++) {
            uint32_t nic = k->nics.order[k->nics.first[i] + n];
            for (uint32_t way = 0; way < 2; way++) {
                links[k->wires + 2 * first + way].bandwidth_Bps += m->nics[nic].wire_Bps;
                links[k->nic_pcie + 2 * first + way].bandwidth_Bps += m->nics[nic].pcie_Bps;
            }
        }
    }
    for (uint32_t i = 0; i < 2 * m->n_switches; i++) {
        links[k->switches + i] = (cs_link){m->switches[i / 2].uplink_Bps, 0, false};
    }
    for (uint32_t i = 0; i < m->n_sockets * m->n_sockets; i++) {
        links[k->sockets + i] = (cs_link){m->socket_Bps, 0, false};
    }
    for (uint32_t i = 0; k->n_links > k->pairs && i < g * g; i++) {
        double rate = i / g == i % g ? 0 : m->nvlink_Bps[(size_t)(i / g) * m->n_gpus + i % g];
        links[k->pairs + i] = (cs_link){rate > 0 ? rate : m->gpus[i / g].pcie_Bps, 0, true};
    }
}

/* Does anything limit a GPU's messages that its ports do not show? */
static bool has_limits(const server_kind *k, uint32_t g, uint32_t n_servers)
{
    const cs_machine *m = k->machine;

    if (k->mesh != CS_MESH_SWITCHED && k->mesh != CS_MESH_FULL && g > 1) {
        return true;
    }
    for (uint32_t i = 0; i < g && n_servers > 1; i++) {
        double wires_Bps = 0;
        for (uint32_t n = 0; n < k->nics.count[i]; n++) {
            const cs_device *nic = &m->nics[k->nics.order[k->nics.first[i] + n]];
            wires_Bps += nic->wire_Bps;
            bool near = nic->pcie == m->gpus[i].pcie && nic->socket == m->gpus[i].socket;
            if (k->nics.sharers[k->nics.order[k->nics.first[i] + n]] > 1 || !near ||
                nic->pcie_Bps < nic->wire_Bps) {
                return true;
            }
        }
        if (k->nics.count[i] == 0 || wires_Bps > m->gpus[i].pcie_Bps) {
            return true;
        }
    }
    return false;
}

static bool nvlinks_differ(const cs_machine *m, uint32_t g)
{
    double least = 0, most = 0;

    for (uint32_t i = 0; m->nvlink_Bps != NULL && i < g * g; i++) {
        double rate = m->nvlink_Bps[(size_t)(i / g) * m->n_gpus + i % g];
        least       = rate > 0 && (least <= 0 || rate < least) ? rate : least;
        most        = rate > most ? rate : most;
    }
    return most > least;
}

static cs_status number_links(server_kind *k, const cs_machine *m, uint32_t g, bool pairs_differ,
                              cs_arena *arena)
{
    cs_machine_ports ports;

    *k = (server_kind){.machine = m};
    if (cs_machine_choose_nics(m, g, arena, &k->nics) != CS_OK ||
        cs_machine_describe(m, g, true, arena, &ports) != CS_OK) {
        return CS_ENOMEM;
    }
    k->mesh     = ports.mesh;
    k->wires    = 2 * g;
    k->nic_pcie = k->wires + 2 * m->n_nics;
    k->switches = k->nic_pcie + 2 * m->n_nics;
    k->sockets  = k->switches + 2 * m->n_switches;
    k->pairs    = k->sockets + m->n_sockets * m->n_sockets;
    k->n_links  = k->pairs + (pairs_differ && m->nvlink_Bps != NULL ? g * g : 0);
    return CS_OK;
}

/* Ports as wide as the fastest server's limit no other: are the servers different? */
static bool kinds_differ(const cs_machine *a, const cs_machine *b, uint32_t g, cs_arena *arena)
{
    cs_machine_ports x, y;

    if (b == NULL || cs_machine_describe(a, g, true, arena, &x) != CS_OK ||
        cs_machine_describe(b, g, true, arena, &y) != CS_OK) {
        return b != NULL;
    }
    return x.fabrics[CS_NIC].bandwidth_Bps != y.fabrics[CS_NIC].bandwidth_Bps ||
           x.fabrics[CS_NVLINK].bandwidth_Bps != y.fabrics[CS_NVLINK].bandwidth_Bps;
}

static cs_status describe(const cs_site *site, const cs_cluster *cluster, cs_arena *arena,
                          site_data *d)
{
    const cs_machine *tail =
        site->tail != NULL && site->first_tail < cs_n_servers(cluster) ? site->tail : NULL;
    bool unlike = kinds_differ(site->machine, tail, cluster->gpus_per_server, arena);

    d->g            = cluster->gpus_per_server;
    d->first_tail   = tail != NULL ? site->first_tail : UINT32_MAX;
    d->pairs_differ = unlike || nvlinks_differ(site->machine, d->g);
    CS_TRY(number_links(&d->kinds[0], site->machine, d->g, d->pairs_differ, arena));
    if (tail != NULL) {
        CS_TRY(number_links(&d->kinds[1], tail, d->g, d->pairs_differ, arena));
    }
    return CS_OK;
}

/* The switches that a cluster's NICs lead to, and the links between them, as a graph. */
static cs_status make_network(const cs_site_network *net, const cs_cluster *cluster,
                              cs_arena *arena, site_data *d, cs_error *err)
{
    cs_graph *g  = CS_ARENA_NEW(arena, cs_graph, 1);
    uint32_t *at = CS_ARENA_NEW(arena, uint32_t, cluster->n_ranks);

    if (cs_n_servers(cluster) > net->n_servers) {
        return CS_FAIL(err, CS_EINVAL, "cluster.topology",
                       "joins %u servers: for %u it has no network", net->n_servers,
                       cs_n_servers(cluster));
    }
    if (g == NULL || at == NULL) {
        return CS_NO_MEMORY(err, "a topology");
    }
    *g = (cs_graph){.arena = arena, .name = "switches", .n_ranks = cluster->n_ranks};
    for (uint32_t v = 0; v < net->n_switches; v++) {
        if (cs_graph_vertex(g, false, "%s", net->names[v]) == CS_NO_VERTEX) {
            return CS_NO_MEMORY(err, "a topology");
        }
    }
    for (uint32_t i = 0; i < net->n_links; i++) {
        const cs_switch_link *l = &net->links[i];
        if (cs_graph_duplex(g, l->from, l->to, 1, l->link) != CS_OK) {
            return CS_NO_MEMORY(err, "a topology");
        }
    }
    for (uint32_t r = 0; r < cluster->n_ranks; r++) {
        const cs_nic_choice *nics = &kind_of(d, r / d->g)->nics;
        uint32_t             gpu  = r % d->g;
        at[r] = nics->count[gpu] > 0 ? net->at[r / d->g][nics->order[nics->first[gpu]]] : 0;
    }
    g->attach[CS_NIC] = at;
    return cs_graph_finish(g, &d->network, err);
}

cs_status cs_site_links(const cs_site *site, const cs_cluster *cluster, cs_arena *arena,
                        cs_topology *topology, cs_error *err)
{
    site_data *d       = CS_ARENA_NEW(arena, site_data, 1);
    uint32_t   servers = cs_n_servers(cluster);

    if (d == NULL || describe(site, cluster, arena, d) != CS_OK) {
        return CS_NO_MEMORY(err, "a topology");
    }
    *topology = (cs_topology){0};
    if (site->network != NULL) {
        CS_TRY(make_network(site->network, cluster, arena, d, err));
    } else if (!d->pairs_differ && d->first_tail == UINT32_MAX &&
               !has_limits(&d->kinds[0], d->g, servers)) {
        return CS_OK;
    }
    double n = (double)servers * (d->kinds[0].n_links + d->kinds[1].n_links);
    if (n > CS_MAX_LINKS) {
        return CS_FAIL(err, CS_EINVAL, "cluster.topology",
                       "%u servers have more than 2^24 links: fewer are accepted", servers);
    }
    d->n_inside      = first_link(d, servers);
    uint32_t n_links = d->n_inside + d->network.n_links;
    cs_link *links   = CS_ARENA_NEW(arena, cs_link, n_links);
    if (links == NULL) {
        return CS_NO_MEMORY(err, "%u links", n_links);
    }
    for (uint32_t s = 0; s < servers; s++) {
        set_links(kind_of(d, s), d->g, links + first_link(d, s));
    }
    bool is_crossbar = d->network.kind == NULL;
    if (!is_crossbar && d->network.n_links > 0) {
        memcpy(links + d->n_inside, d->network.links, d->network.n_links * sizeof *links);
    }
    *topology = (cs_topology){is_crossbar ? &site_kind : &networked_kind, n_links, links,
                              12 + d->network.max_route, d};
    return CS_OK;
}
