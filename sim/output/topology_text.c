/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A topology as text and as JSON, with who shares its links. */
#include "output/topology_view.h"

#include "base/alloc.h"
#include "base/arena.h"

#include <inttypes.h>
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
    cs_text_add(out, "%" PRIu32 " ranks, %" PRIu32 " per server", c->n_ranks, c->gpus_per_server);
    cs_text_add(out, c->sockets > 1 ? ", %" PRIu32 " sockets each; ports:\n" : "; ports:\n",
                c->sockets);
    for (uint32_t f = 0; f < cs_n_fabrics(c); f++) {
        cs_text_add(out, "  %-6s %-8s  %10.6g GB/s  alpha %.6g us\n", cs_fabric_name(f),
                    kind_name(&c->fabrics[f]), c->fabrics[f].bandwidth_Bps / 1e9,
                    c->fabrics[f].alpha_s * 1e6);
    }
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
    return status == CS_OK ? CS_OK : CS_NO_MEMORY(err, "a topology");
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

static void add_device_json(const cs_device *d, bool is_nic, bool first, cs_text *out)
{
    cs_text_add(out, "%s{\"name\": ", first ? "" : ", ");
    cs_text_add_json_string(out, d->name);
    cs_text_add(out, ", \"socket\": %" PRIu32 ", \"switch\": ", d->socket);
    if (d->pcie == CS_NO_SWITCH) {
        cs_text_add(out, "null");
    } else {
        cs_text_add(out, "%" PRIu32, d->pcie);
    }
    cs_text_add(out, ", \"pcie_Bps\": ");
    cs_text_add_number(out, d->pcie_Bps);
    if (is_nic) {
        cs_text_add(out, ", \"network_Bps\": ");
        cs_text_add_number(out, d->wire_Bps);
    }
    cs_text_add(out, "}");
}

static void add_machine_json(const cs_machine *m, cs_text *out)
{
    cs_text_add(out, "{\"name\": ");
    cs_text_add_json_string(out, m->name);
    cs_text_add(out, ", \"sockets\": %" PRIu32 ", \"gpus\": [", m->n_sockets);
    for (uint32_t i = 0; i < m->n_gpus; i++) {
        add_device_json(&m->gpus[i], false, i == 0, out);
    }
    cs_text_add(out, "], \"nics\": [");
    for (uint32_t i = 0; i < m->n_nics; i++) {
        add_device_json(&m->nics[i], true, i == 0, out);
    }
    cs_text_add(out, "], \"switches\": [");
    for (uint32_t i = 0; i < m->n_switches; i++) {
        cs_text_add(out, "%s{\"socket\": %" PRIu32 ", \"uplink_Bps\": ", i > 0 ? ", " : "",
                    m->switches[i].socket);
        cs_text_add_number(out, m->switches[i].uplink_Bps);
        cs_text_add(out, "}");
    }
    cs_text_add(out, "], \"nvswitch_Bps\": ");
    cs_text_add_number(out, m->nvswitch_Bps);
    cs_text_add(out, ", \"socket_link_Bps\": ");
    cs_text_add_number(out, m->socket_Bps);
    cs_text_add(out, ", \"nvlink_Bps\": [");
    for (uint32_t i = 0; m->nvlink_Bps != NULL && i < m->n_gpus * m->n_gpus; i++) {
        cs_text_add(out, "%s", i == 0 ? "[" : i % m->n_gpus == 0 ? "], [" : ", ");
        cs_text_add_number(out, m->nvlink_Bps[i]);
    }
    cs_text_add(out, "%s], \"notes\": ", m->nvlink_Bps != NULL ? "]" : "");
    cs_text_add_json_string(out, m->notes);
    cs_text_add(out, "}");
}

static void add_cluster_json(const cs_cluster *c, cs_text *out)
{
    cs_text_add(out, " \"ranks\": %" PRIu32 ", \"gpus_per_server\": %" PRIu32, c->n_ranks,
                c->gpus_per_server);
    cs_text_add(out, ", \"sockets\": %" PRIu32 ",\n \"ports\": {", c->sockets > 1 ? c->sockets : 1);
    for (uint32_t f = 0; f < cs_n_fabrics(c); f++) {
        cs_text_add(out, "%s\"%s\": {\"kind\": \"%s\", \"bandwidth_Bps\": ", f > 0 ? ", " : "",
                    cs_fabric_name(f), kind_name(&c->fabrics[f]));
        cs_text_add_number(out, c->fabrics[f].bandwidth_Bps);
        cs_text_add(out, ", \"alpha_s\": ");
        cs_text_add_number(out, c->fabrics[f].alpha_s);
        cs_text_add(out, "}");
    }
    cs_text_add(out, "},\n \"kind\": \"%s\", \"links\": [",
                c->topology != NULL ? c->topology->kind->name : "crossbar");
}

static cs_status add_links_json(const cs_cluster *c, cs_text *out, cs_error *err)
{
    link_use *uses   = NULL;
    size_t    n      = 0;
    cs_status status = find_uses(c, &uses, &n, err);

    for (size_t i = 0; status == CS_OK && i < n; i++) {
        char name[200];
        c->topology->kind->link_name(c->topology, uses[i].link, name, sizeof name);
        cs_text_add(out, "%s\n  {\"name\": ", i > 0 ? "," : "");
        cs_text_add_json_string(out, name);
        cs_text_add(out, ", \"bandwidth_Bps\": ");
        cs_text_add_number(out, c->topology->links[uses[i].link].bandwidth_Bps);
        cs_text_add(out, ", \"latency_s\": ");
        cs_text_add_number(out, c->topology->links[uses[i].link].latency_s);
        cs_text_add(out,
                    ", \"senders\": %" PRIu32 ", \"receivers\": %" PRIu32 ", \"pairs\": %" PRIu64
                    ", \"ratio\": ",
                    uses[i].senders, uses[i].receivers, uses[i].pairs);
        cs_text_add_number(out, uses[i].ratio);
        cs_text_add(out, "}");
    }
    cs_free(uses);
    return status;
}

cs_status cs_topology_json(const cs_topology_view *view, cs_text *out, cs_error *err)
{
    cs_text_add(out, "{\"name\": ");
    cs_text_add_json_string(out, view->name);
    cs_text_add(out, ", \"format\": ");
    cs_text_add_json_string(out, view->format);
    cs_text_add(out, ",\n");
    add_cluster_json(view->cluster, out);
    cs_status status = add_links_json(view->cluster, out, err);
    cs_text_add(out, "],\n \"servers\": [");
    if (view->site != NULL) {
        add_machine_json(view->site->machine, out);
        if (view->site->tail != NULL) {
            cs_text_add(out, ",\n  ");
            add_machine_json(view->site->tail, out);
        }
    }
    cs_text_add(out, "]}\n");
    return status == CS_OK ? cs_text_status(out, err) : status;
}
