/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A topology as text and as JSON: its ports, the parts of its servers, and how many ranks share its
 * links when every rank sends to every other one. */
#include "output/topology_view.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/column.h"
#include "output/comparison.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LINES 24u
#define MOST_RANKS 2048u /* whose pairs are looked through */

static const char *kind_name(const cs_fabric *f)
{
    return f->kind == CS_DIRECT ? "direct" : "switched";
}

static void add_ports(const cs_cluster *c, cs_text *out)
{
    cs_text_add(out, "%" PRIu32 " ranks, ", c->n_ranks);
    if (c->uneven != NULL) {
        cs_text_add(out, "%" PRIu32 " to ", cs_least_gpus(c));
    }
    cs_text_add(out, "%" PRIu32 " per server", c->gpus_per_server);
    cs_text_add(out, c->sockets > 1 ? ", %" PRIu32 " sockets each; ports:\n" : "; ports:\n",
                c->sockets);
    for (uint32_t f = 0; f < cs_n_fabrics(c); f++) {
        cs_text_add(out, "  %-6s %-8s  %10.6g GB/s  alpha %.6g us\n", cs_fabric_name(f),
                    kind_name(&c->fabrics[f]), c->fabrics[f].bandwidth_Bps / 1e9,
                    c->fabrics[f].alpha_s * 1e6);
    }
    cs_setting_servers(c, "  ", out);
}

static void add_device(const cs_device *d, bool is_nic, const char *indent, cs_text *out)
{
    cs_text_add(out, "%s%-12s PCIe %.6g GB/s", indent, d->name, d->pcie_Bps / 1e9);
    if (is_nic) {
        cs_text_add(out, ", network %.6g GB/s", d->wire_Bps / 1e9);
    }
    cs_text_add(out, "\n");
}

static void add_at(const cs_machine *m, uint32_t socket, uint32_t pcie, const char *indent,
                   cs_text *out)
{
    for (uint32_t i = 0; i < m->n_gpus + m->n_nics; i++) {
        bool             is_nic = i >= m->n_gpus;
        const cs_device *d      = is_nic ? &m->nics[i - m->n_gpus] : &m->gpus[i];
        if (d->socket == socket && d->pcie == pcie) {
            add_device(d, is_nic, indent, out);
        }
    }
}

static void add_nvlinks(const cs_machine *m, cs_text *out)
{
    if (m->nvswitch_Bps > 0) {
        cs_text_add(out, "  %s: NVSwitches, %.6g GB/s a GPU\n", m->link_name,
                    m->nvswitch_Bps / 1e9);
        return;
    }
    for (uint32_t i = 0; m->nvlink_Bps != NULL && i < m->n_gpus; i++) {
        for (uint32_t j = i + 1; j < m->n_gpus; j++) {
            double rate = m->nvlink_Bps[(size_t)i * m->n_gpus + j];
            if (rate > 0) {
                cs_text_add(out, "  %s %s - %s: %.6g GB/s\n", m->link_name, m->gpus[i].name,
                            m->gpus[j].name, rate / 1e9);
            }
        }
    }
    if (m->nvlink_Bps == NULL) {
        cs_text_add(out, "  no %s: GPUs talk over PCIe\n", m->link_name);
    }
}

static cs_status add_nic_choice(const cs_machine *m, uint32_t g, cs_text *out, cs_error *err)
{
    cs_arena      arena = {0};
    cs_nic_choice choice;
    cs_status     status = cs_machine_choose_nics(m, g, &arena, &choice);

    for (uint32_t i = 0; status == CS_OK && i < g && m->n_nics > 0; i++) {
        cs_text_add(out, "  %s uses", m->gpus[i].name);
        for (uint32_t k = 0; k < choice.count[i]; k++) {
            uint32_t nic = choice.order[choice.first[i] + k];
            cs_text_add(out, "%s %s", k > 0 ? "," : "", m->nics[nic].name);
            if (choice.sharers[nic] > 1) {
                cs_text_add(out, " (shared by %" PRIu32 " GPUs)", choice.sharers[nic]);
            }
        }
        cs_text_add(out, "\n");
    }
    cs_arena_free(&arena);
    return status == CS_OK ? CS_OK : CS_NO_MEMORY(err, "the NICs of %" PRIu32 " GPUs", g);
}

static cs_status add_machine(const cs_machine *m, uint32_t g, cs_text *out, cs_error *err)
{
    cs_text_add(out,
                "server %s: %" PRIu32 " GPUs, %" PRIu32 " NICs, %" PRIu32 " PCIe switches, %" PRIu32
                " sockets\n",
                m->name, m->n_gpus, m->n_nics, m->n_switches, m->n_sockets);
    for (uint32_t s = 0; s < m->n_sockets; s++) {
        cs_text_add(out, "  socket %" PRIu32 "\n", s);
        add_at(m, s, CS_NO_SWITCH, "    ", out);
        for (uint32_t i = 0; i < m->n_switches; i++) {
            if (m->switches[i].socket == s) {
                cs_text_add(out, "    switch %" PRIu32 ", %.6g GB/s to the socket\n", i,
                            m->switches[i].uplink_Bps / 1e9);
                add_at(m, s, i, "      ", out);
            }
        }
    }
    if (m->n_sockets > 1 && m->socket_Bps > 0) {
        cs_text_add(out, "  between sockets: %.6g GB/s\n", m->socket_Bps / 1e9);
    }
    add_nvlinks(m, out);
    return add_nic_choice(m, g, out, err);
}

/* How one inner link is used when every rank sends to every other one. */
typedef struct link_use {
    uint32_t link, fabric;
    uint32_t senders;   /* ranks that send over it */
    uint32_t receivers; /* ranks that receive over it */
    uint64_t pairs;     /* ordered pairs of ranks whose route has it */
    double   ratio;     /* ports of the fewer of both, together, to the link's rate */
} link_use;

static int compare_uses(const void *left, const void *right)
{
    const link_use *a = left, *b = right;

    if (a->ratio != b->ratio) {
        return a->ratio > b->ratio ? -1 : 1;
    }
    return a->link < b->link ? -1 : a->link > b->link;
}

/* Count the links on the routes from or to one rank; `last` remembers who was counted last. */
static void count_uses(const cs_cluster *c, uint32_t rank, bool sending, link_use *uses,
                       uint32_t *last)
{
    const cs_topology *t = c->topology;
    uint32_t           links[CS_MAX_ROUTE];

    for (uint32_t other = 0; other < c->n_ranks; other++) {
        uint32_t src = sending ? rank : other, dst = sending ? other : rank;
        uint32_t fabric = cs_fabric_of(c, src, dst);
        uint32_t n      = src == dst ? 0 : t->kind->route(t, c, src, dst, fabric, links);
        for (uint32_t i = 0; i < n; i++) {
            link_use *use    = &uses[links[i]];
            bool      is_new = last[links[i]] != rank + 1;
            last[links[i]]   = rank + 1;
            use->fabric      = fabric;
            use->pairs += sending;
            use->senders += sending && is_new;
            use->receivers += !sending && is_new;
        }
    }
}

/* The used links, the most oversubscribed first, then by number; *uses_p is the caller's
 * (cs_free). More than 2048 ranks are not looked through: none are listed. O(ranks^2 * route). */
static cs_status find_uses(const cs_cluster *cluster, link_use **uses_p, size_t *n_uses_p,
                           cs_error *err)
{
    uint32_t  n    = cluster->topology != NULL ? cluster->topology->n_links : 0;
    link_use *uses = CS_NEW(link_use, n + 1u);
    uint32_t *last = CS_NEW(uint32_t, n + 1u);
    size_t    used = 0;

    if (uses == NULL || last == NULL) {
        cs_free(uses);
        cs_free(last);
        return CS_NO_MEMORY(err, "%u links", n);
    }
    for (int sending = 0; sending < 2 && n > 0 && cluster->n_ranks <= MOST_RANKS; sending++) {
        memset(last, 0, n * sizeof *last);
        for (uint32_t rank = 0; rank < cluster->n_ranks; rank++) {
            count_uses(cluster, rank, sending != 0, uses, last);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        if (uses[i].pairs > 0) {
            link_use *use = &uses[used++];
            *use          = uses[i];
            uint32_t most = use->senders < use->receivers ? use->senders : use->receivers;
            use->link     = i;
            use->ratio    = most * cluster->fabrics[use->fabric].bandwidth_Bps /
                         cluster->topology->links[i].bandwidth_Bps;
        }
    }
    qsort(uses, used, sizeof *uses, compare_uses);
    cs_free(last);
    *uses_p   = uses;
    *n_uses_p = used;
    return CS_OK;
}

static cs_status add_links(const cs_cluster *c, cs_text *out, cs_error *err)
{
    link_use *uses = NULL;
    size_t    n    = 0;
    cs_status status;

    if (c->topology == NULL) {
        cs_text_add(out, "between the ports: nothing that limits (a crossbar)\n");
        return CS_OK;
    }
    status = find_uses(c, &uses, &n, err);
    cs_text_add(out,
                "between the ports: %s, %" PRIu32 " links of one direction; for network models\n",
                c->topology->kind->name, c->topology->n_links);
    if (n > 0) {
        cs_text_add(out, "  %10s  %10s  %7s  %9s  %10s  %8s  link\n", "GB/s", "latency us",
                    "senders", "receivers", "pairs", "ports:1");
    }
    for (size_t i = 0; status == CS_OK && i < n && i < MOST_LINES; i++) {
        char name[200];
        c->topology->kind->link_name(c->topology, uses[i].link, name, sizeof name);
        cs_text_add(out, "  %10.6g  %10.6g  %7" PRIu32 "  %9" PRIu32 "  %10" PRIu64 "  %8.3g  %s\n",
                    c->topology->links[uses[i].link].bandwidth_Bps / 1e9,
                    c->topology->links[uses[i].link].latency_s * 1e6, uses[i].senders,
                    uses[i].receivers, uses[i].pairs, uses[i].ratio, name);
    }
    if (n > MOST_LINES) {
        cs_text_add(out, "  ... and %zu links that are not more in demand\n", n - MOST_LINES);
    }
    cs_free(uses);
    return status;
}

cs_status cs_topology_text(const cs_topology_view *view, cs_text *out, cs_error *err)
{
    const cs_site *site   = view->site;
    cs_status      status = CS_OK;

    cs_text_add(out, "%s (%s): ", view->name, view->format);
    add_ports(view->cluster, out);
    if (site != NULL) {
        status = add_machine(site->machine, view->cluster->gpus_per_server, out, err);
        if (site->tail != NULL && status == CS_OK) {
            cs_text_add(out, "from server %" PRIu32 " on:\n", site->first_tail);
            status = add_machine(site->tail, view->cluster->gpus_per_server, out, err);
        }
    }
    if (status == CS_OK) {
        status = add_links(view->cluster, out, err);
    }
    if (site != NULL && site->machine->notes != NULL) {
        cs_text_add(out, "%s", site->machine->notes);
    }
    return status == CS_OK ? cs_text_status(out, err) : status;
}

/* ---- JSON ---- */

typedef struct device_row {
    const char *name;
    uint32_t    socket;
    double      pcie_switch; /* NAN: it is connected to the socket */
    double      pcie_Bps, network_Bps;
} device_row;

static const cs_column device_columns[] = {
    CS_COLUMN(device_row, name),
    CS_COLUMN(device_row, socket),
    CS_COLUMN_AS("switch", device_row, pcie_switch),
    CS_COLUMN(device_row, pcie_Bps),
    CS_COLUMN_END,
};
static const cs_column network_columns[] = {CS_COLUMN(device_row, network_Bps), CS_COLUMN_END};
static const cs_column switch_columns[]  = {CS_COLUMN(cs_pcie_switch, socket),
                                            CS_COLUMN(cs_pcie_switch, uplink_Bps), CS_COLUMN_END};
static const cs_column server_columns[]  = {CS_COLUMN(cs_machine, nvswitch_Bps),
                                            CS_COLUMN_AS("socket_link_Bps", cs_machine, socket_Bps),
                                            CS_COLUMN_END};
static const cs_column notes_columns[]   = {CS_COLUMN(cs_machine, notes), CS_COLUMN_END};
static const cs_column rate_columns[]    = {CS_COLUMN(cs_fabric, bandwidth_Bps),
                                            CS_COLUMN(cs_fabric, alpha_s), CS_COLUMN_END};

typedef struct link_row {
    const char *name;
    double      bandwidth_Bps, latency_s;
    uint32_t    senders, receivers;
    uint64_t    pairs;
    double      ratio;
} link_row;

static const cs_column link_columns[] = {
    CS_COLUMN(link_row, name),      CS_COLUMN(link_row, bandwidth_Bps),
    CS_COLUMN(link_row, latency_s), CS_COLUMN(link_row, senders),
    CS_COLUMN(link_row, receivers), CS_COLUMN(link_row, pairs),
    CS_COLUMN(link_row, ratio),     CS_COLUMN_END,
};

static void add_text(cs_text *out, const char *key, const char *text)
{
    cs_json_key(out, key);
    cs_text_add_json_string(out, text);
}

static void add_count(cs_text *out, const char *key, uint32_t count)
{
    cs_json_key(out, key);
    cs_text_add(out, "%" PRIu32, count);
}

static void add_devices_json(cs_text *out, const char *key, const cs_device *devices, uint32_t n,
                             bool are_nics)
{
    cs_json_key(out, key);
    cs_text_add(out, "[");
    for (uint32_t i = 0; i < n; i++) {
        const cs_device *d       = &devices[i];
        bool             is_root = d->pcie == CS_NO_SWITCH;
        const device_row row     = {.name        = d->name,
                                    .socket      = d->socket,
                                    .pcie_switch = is_root ? (double)NAN : d->pcie,
                                    .pcie_Bps    = d->pcie_Bps,
                                    .network_Bps = d->wire_Bps};
        cs_json_next(out, "", " ");
        cs_text_add(out, "{");
        cs_json_row(out, &(cs_row){device_columns, &row, false});
        if (are_nics) {
            cs_json_row(out, &(cs_row){network_columns, &row, false});
        }
        cs_text_add(out, "}");
    }
    cs_text_add(out, "]");
}

static void add_machine_json(const cs_machine *m, cs_text *out)
{
    cs_text_add(out, "{");
    add_text(out, "name", m->name);
    add_count(out, "sockets", m->n_sockets);
    add_devices_json(out, "gpus", m->gpus, m->n_gpus, false);
    add_devices_json(out, "nics", m->nics, m->n_nics, true);
    cs_json_key(out, "switches");
    cs_text_add(out, "[");
    for (uint32_t i = 0; i < m->n_switches; i++) {
        cs_json_next(out, "", " ");
        cs_text_add(out, "{");
        cs_json_row(out, &(cs_row){switch_columns, &m->switches[i], false});
        cs_text_add(out, "}");
    }
    cs_text_add(out, "]");
    cs_json_row(out, &(cs_row){server_columns, m, false});
    cs_json_key(out, "nvlink_Bps");
    cs_text_add(out, "[");
    for (uint32_t i = 0; m->nvlink_Bps != NULL && i < m->n_gpus; i++) {
        cs_json_next(out, "[", " [");
        for (uint32_t j = 0; j < m->n_gpus; j++) {
            cs_json_next(out, "", " ");
            cs_text_add_number(out, m->nvlink_Bps[(size_t)i * m->n_gpus + j]);
        }
        cs_text_add(out, "]");
    }
    cs_text_add(out, "]");
    cs_json_row(out, &(cs_row){notes_columns, m, false});
    cs_text_add(out, "}");
}

/* Servers that differ, in the form of the key cluster.servers. */
static void add_servers_json(const cs_cluster *c, cs_text *out)
{
    if (c->servers == NULL && c->uneven == NULL) {
        return;
    }
    cs_json_key(out, "servers");
    cs_text_add(out, "[");
    for (uint32_t s = 0; s < cs_n_servers(c); s++) {
        cs_json_next(out, "{", s % 4 == 0 ? "\n  {" : " {");
        add_count(out, "gpus", cs_server_gpus(c, s));
        for (uint32_t f = 0; f < cs_n_fabrics(c) && f < CS_CROSS; f++) {
            cs_json_key(out, cs_fabric_name(f));
            cs_text_add(out, "{");
            cs_json_key(out, "bandwidth");
            cs_text_add_number(out, cs_server_Bps(c, s, f));
            cs_text_add(out, "}");
        }
        cs_text_add(out, "}");
    }
    cs_text_add(out, "],\n ");
}

static void add_cluster_json(const cs_cluster *c, cs_text *out)
{
    add_count(out, "ranks", c->n_ranks);
    add_count(out, "gpus_per_server", c->gpus_per_server);
    add_count(out, "sockets", c->sockets > 1 ? c->sockets : 1);
    cs_text_add(out, ",\n ");
    cs_json_key(out, "ports");
    cs_text_add(out, "{");
    for (uint32_t f = 0; f < cs_n_fabrics(c); f++) {
        cs_json_key(out, cs_fabric_name(f));
        cs_text_add(out, "{");
        add_text(out, "kind", kind_name(&c->fabrics[f]));
        cs_json_row(out, &(cs_row){rate_columns, &c->fabrics[f], false});
        cs_text_add(out, "}");
    }
    cs_text_add(out, "},\n ");
    add_servers_json(c, out);
    add_text(out, "kind", c->topology != NULL ? c->topology->kind->name : "crossbar");
}

static cs_status add_links_json(const cs_cluster *c, cs_text *out, cs_error *err)
{
    link_use *uses   = NULL;
    size_t    n      = 0;
    cs_status status = find_uses(c, &uses, &n, err);

    cs_json_key(out, "links");
    cs_text_add(out, "[");
    for (size_t i = 0; status == CS_OK && i < n; i++) {
        const link_use *use  = &uses[i];
        const cs_link  *link = &c->topology->links[use->link];
        char            name[200];
        const link_row  row = {name,           link->bandwidth_Bps, link->latency_s, use->senders,
                               use->receivers, use->pairs,          use->ratio};
        c->topology->kind->link_name(c->topology, use->link, name, sizeof name);
        cs_json_next(out, "\n  ", "\n  ");
        cs_text_add(out, "{");
        cs_json_row(out, &(cs_row){link_columns, &row, false});
        cs_text_add(out, "}");
    }
    cs_text_add(out, "]");
    cs_free(uses);
    return status;
}

cs_status cs_topology_json(const cs_topology_view *view, cs_text *out, cs_error *err)
{
    cs_text_add(out, "{");
    add_text(out, "name", view->name);
    add_text(out, "format", view->format);
    cs_text_add(out, ",\n ");
    add_cluster_json(view->cluster, out);
    CS_TRY(add_links_json(view->cluster, out, err));
    cs_text_add(out, ",\n ");
    cs_json_key(out, "servers");
    cs_text_add(out, "[");
    if (view->site != NULL) {
        add_machine_json(view->site->machine, out);
        if (view->site->tail != NULL) {
            cs_json_next(out, "", "\n  ");
            add_machine_json(view->site->tail, out);
        }
    }
    cs_text_add(out, "]}\n");
    return cs_text_status(out, err);
}
