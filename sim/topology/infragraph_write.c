/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A site as an infrastructure that reads back as the same site. Start-up times are latencies: that
 * of a message between GPUs is spread over the links that it passes, so that the NIC's stands half
 * at each wire and that of NVSwitches half at each GPU's link. Rates that were assumed as a reader
 * of the file will assume them again are left out. */
#include "topology/infragraph.h"

#include "base/alloc.h"
#include "input/yaml.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES 64
#define MOST_PORTS 65536u

typedef struct link_kind {
    char   name[NAME_BYTES];
    double rate_Bps, latency_s; /* 0: not said; NAN: not said */
} link_kind;

/* A list of links, of a device or of the infrastructure, and what they are called. */
typedef struct link_list {
    json_t     *list;  /* borrowed */
    link_kind **kinds; /* each in a block of its own, as are the list's places */
    size_t      n, room;
} link_list;

typedef struct writer {
    json_t   *root, *devices, *instances, *edges; /* root is owned, the others are in it */
    link_list wires;
    cs_error *err;
    bool      failed; /* out of memory */
} writer;

static void put(writer *w, json_t *object, const char *key, json_t *value)
{
    w->failed |= json_object_set_new(object, key, value) != 0;
}

static void append(writer *w, json_t *list, json_t *value)
{
    w->failed |= json_array_append_new(list, value) != 0;
}

/* A new list in an object; borrowed. */
static json_t *put_list(writer *w, json_t *object, const char *key)
{
    put(w, object, key, json_array());
    return json_object_get(object, key);
}

/* Names are made of letters, digits, '_' and '-'. */
static void plain_name(char *to, size_t bytes, const char *from)
{
    (void)snprintf(to, bytes, "%s", from);
    for (char *c = to; *c != '\0'; c++) {
        *c = isalnum((unsigned char)*c) || *c == '_' ? *c : '-';
    }
}

/* ---- links ---- */

/* The number that times `factor` over `divisor` is exactly the value, if its neighbours have one.
 */
static double in_units(double value, double factor, double divisor)
{
    double guess  = value / factor * divisor;
    double near[] = {guess, nextafter(guess, 0), nextafter(guess, (double)INFINITY)};

    for (size_t i = 0; i < sizeof near / sizeof near[0]; i++) {
        if (near[i] * factor / divisor == value) {
            return near[i];
        }
    }
    return guess;
}

static json_t *number(double value)
{
    bool is_whole = value >= 0 && value < 1e15 && value == floor(value);
    return is_whole ? json_integer((json_int_t)value) : json_real(value);
}

static void describe_link(writer *w, const link_kind *k, json_t *list)
{
    json_t *link = json_pack("{s:s}", "name", k->name);

    if (k->rate_Bps > 0 || !isnan(k->latency_s)) {
        json_t *physical = json_object();
        if (k->rate_Bps > 0) {
            put(w, physical, "bandwidth",
                json_pack("{s:s, s:o}", "choice", "gigabytes_per_second", "gigabytes_per_second",
                          number(in_units(k->rate_Bps, 1e9, 1))));
        }
        if (!isnan(k->latency_s)) {
            put(w, physical, "latency",
                json_pack("{s:s, s:o}", "choice", "us", "us",
                          number(in_units(k->latency_s, 1, 1e6))));
        }
        put(w, link, "physical", physical);
    }
    append(w, list, link);
}

/* The name of a kind of link: `role`, with a number where there are several. */
static const char *link_of(writer *w, link_list *l, const char *role, double rate_Bps,
                           double latency_s)
{
    size_t of_role = 0, bytes = strlen(role);

    for (size_t i = 0; i < l->n; i++) {
        link_kind *k    = l->kinds[i];
        bool       same = strncmp(k->name, role, bytes) == 0 &&
                    (k->name[bytes] == '\0' ||
                     (k->name[bytes] == '-' && isdigit((unsigned char)k->name[bytes + 1])));
        of_role += same;
        if (same && k->rate_Bps == rate_Bps &&
            (k->latency_s == latency_s || (isnan(k->latency_s) && isnan(latency_s)))) {
            return k->name;
        }
    }
    link_kind *k = CS_NEW(link_kind, 1);
    if (k == NULL || !cs_grow(&l->kinds, &l->room, l->n + 1, 8, sizeof(link_kind *))) {
        cs_free(k);
        w->failed = true;
        return role;
    }
    l->kinds[l->n++] = k;
    *k               = (link_kind){.rate_Bps = rate_Bps, .latency_s = latency_s};
    if (of_role == 0) {
        (void)snprintf(k->name, sizeof k->name, "%.40s", role);
    } else {
        (void)snprintf(k->name, sizeof k->name, "%.40s-%zu", role, of_role + 1);
    }
    describe_link(w, k, l->list);
    return k->name;
}

static void free_links(link_list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        cs_free(l->kinds[i]);
    }
    cs_free((void *)l->kinds);
}

/* ---- edges ---- */

/* "gpu[3]" or "gpu[0:8]". */
static void slice(char *to, const char *name, uint32_t from, uint32_t end)
{
    if (end == from + 1) {
        (void)snprintf(to, NAME_BYTES, "%.40s[%u]", name, from);
    } else {
        (void)snprintf(to, NAME_BYTES, "%.40s[%u:%u]", name, from, end);
    }
}

/* All of one run of components with all of another. */
static void join(writer *w, json_t *edges, const char *link, const char *a, uint32_t a_from,
                 uint32_t a_end, const char *b, uint32_t b_from, uint32_t b_end)
{
    char x[NAME_BYTES], y[NAME_BYTES];

    slice(x, a, a_from, a_end);
    slice(y, b, b_from, b_end);
    append(w, edges,
           json_pack("{s:{s:s}, s:{s:s}, s:s, s:s}", "ep1", "component", x, "ep2", "component", y,
                     "scheme", "many2many", "link", link));
}

static void add_component(writer *w, json_t *list, const char *name, uint32_t count,
                          const char *choice)
{
    if (count > 0) {
        append(w, list,
               json_pack("{s:s, s:i, s:s}", "name", name, "count", (int)count, "choice", choice));
    }
}

/* ---- a server ---- */

typedef struct server {
    writer           *w;
    const cs_machine *m;
    json_t           *edges;
    link_list         links;
    uint32_t         *bridges; /* numbers below switches, each once, in order */
    uint32_t          n_bridges;
} server;

static double pcie_rate(const cs_device *d)
{
    return d->is_pcie_assumed && d->pcie_Bps == CS_ASSUMED_PCIE_BPS ? 0 : d->pcie_Bps;
}

/* The place of a bridge below a switch in the list; n_bridges where it is not there. */
static uint32_t bridge_of(const server *s, const cs_device *d)
{
    uint32_t i = 0;

    while (i < s->n_bridges && s->bridges[i] != d->bridge) {
        i++;
    }
    return d->bridge > 0 && d->pcie != CS_NO_SWITCH ? i : s->n_bridges;
}

static void find_bridges(server *s)
{
    const cs_machine *m = s->m;

    s->bridges = CS_NEW(uint32_t, (size_t)m->n_gpus + m->n_nics + 1);
    if (s->bridges == NULL) {
        s->w->failed = true;
        return;
    }
    for (uint32_t i = 0; i < m->n_gpus + m->n_nics; i++) {
        const cs_device *d = i < m->n_gpus ? &m->gpus[i] : &m->nics[i - m->n_gpus];
        if (d->bridge > 0 && d->pcie != CS_NO_SWITCH && bridge_of(s, d) == s->n_bridges) {
            s->bridges[s->n_bridges++] = d->bridge;
        }
    }
}

/* Do two devices hang at the same place by the same kind of link? */
static bool hang_alike(const cs_device *a, const cs_device *b)
{
    return a->socket == b->socket && a->pcie == b->pcie &&
           (a->bridge == b->bridge || a->pcie == CS_NO_SWITCH) && pcie_rate(a) == pcie_rate(b);
}

/* PCIe of GPUs or NICs: runs of them at one place are one edge. */
static void hang(server *s, const cs_device *list, uint32_t n, const char *name, double latency_s)
{
    uint32_t end;

    for (uint32_t i = 0; i < n; i = end) {
        const cs_device *d      = &list[i];
        uint32_t         bridge = bridge_of(s, d);
        for (end = i + 1; end < n && hang_alike(d, &list[end]);) {
            end++;
        }
        const char *link      = link_of(s->w, &s->links, "pcie", pcie_rate(d), latency_s);
        bool        is_socket = d->pcie == CS_NO_SWITCH;
        const char *to = bridge < s->n_bridges ? "pcie-bridge" : is_socket ? "cpu" : "pcie-switch";
        uint32_t    at = bridge < s->n_bridges ? bridge : is_socket ? d->socket : d->pcie;
        join(s->w, s->edges, link, to, at, at + 1, name, i, end);
    }
}

/* Bridges below switches, and devices that are near to each other at no switch. */
static void join_near(server *s)
{
    const cs_machine *m = s->m;

    for (uint32_t b = 0; b < s->n_bridges; b++) {
        for (uint32_t i = 0; i < m->n_gpus + m->n_nics; i++) {
            const cs_device *d = i < m->n_gpus ? &m->gpus[i] : &m->nics[i - m->n_gpus];
            if (bridge_of(s, d) == b) {
                join(s->w, s->edges, link_of(s->w, &s->links, "pcie", 0, (double)NAN),
                     "pcie-switch", d->pcie, d->pcie + 1, "pcie-bridge", b, b + 1);
                break;
            }
        }
    }
    for (uint32_t i = 0; i < m->n_gpus; i++) {
        for (uint32_t k = 0; k < m->n_nics; k++) {
            const cs_device *g = &m->gpus[i], *n = &m->nics[k];
            if (g->bridge > 0 && g->bridge == n->bridge && g->pcie == CS_NO_SWITCH &&
                n->pcie == CS_NO_SWITCH) {
                join(s->w, s->edges, link_of(s->w, &s->links, "pcie", 0, (double)NAN), "gpu", i,
                     i + 1, "nic", k, k + 1);
            }
        }
    }
}

static void join_switches(server *s)
{
    const cs_machine *m    = s->m;
    uint32_t          room = m->n_sockets;

    for (uint32_t i = 0; i < m->n_switches; i++) {
        const cs_pcie_switch *p = &m->switches[i];
        bool        is_open     = p->is_uplink_assumed && p->uplink_Bps == CS_ASSUMED_PCIE_BPS;
        const char *link =
            link_of(s->w, &s->links, "pcie", is_open ? 0 : p->uplink_Bps, (double)NAN);
        join(s->w, s->edges, link, "cpu", p->socket, p->socket + 1, "pcie-switch", i, i + 1);
    }
    if (room > 1 && m->socket_Bps > 0) {
        bool is_open =
            m->assumed[CS_RATE_SOCKETS] != NULL && m->socket_Bps == CS_ASSUMED_SOCKET_BPS;
        const char *link =
            link_of(s->w, &s->links, "cpu-link", is_open ? 0 : m->socket_Bps, m->cross_alpha_s);
        join(s->w, s->edges, link, "cpu", 0, room, "cpu", 0, room);
    }
}

/* NVLinks of pairs: as one edge where all are alike, else runs of the higher numbers. */
static void join_pairs(server *s, const char *name)
{
    const cs_machine *m       = s->m;
    uint32_t          g       = m->n_gpus, end;
    bool              is_even = true;

    for (uint32_t i = 0; i < g * g; i++) {
        is_even = is_even && (i / g == i % g || m->nvlink_Bps[i] == m->nvlink_Bps[1]);
    }
    if (is_even && m->nvlink_Bps[1] > 0) {
        const char *link = link_of(s->w, &s->links, name, m->nvlink_Bps[1], m->nvlink_alpha_s);
        join(s->w, s->edges, link, "gpu", 0, g, "gpu", 0, g);
        return;
    }
    for (uint32_t i = 0; i < g; i++) {
        const double *row = &m->nvlink_Bps[(size_t)i * g];
        for (uint32_t j = i + 1; j < g; j = end) {
            for (end = j + 1; end < g && row[end] == row[j];) {
                end++;
            }
            if (row[j] > 0) {
                const char *link = link_of(s->w, &s->links, name, row[j], m->nvlink_alpha_s);
                join(s->w, s->edges, link, "gpu", i, i + 1, "gpu", j, end);
            }
        }
    }
}

static void join_gpus(server *s)
{
    const cs_machine *m = s->m;
    char              name[NAME_BYTES];

    plain_name(name, sizeof name, m->link_name);
    if (m->nvswitch_Bps > 0) {
        const char *link = link_of(s->w, &s->links, name, m->nvswitch_Bps, m->nvlink_alpha_s / 2);
        join(s->w, s->edges, link, "gpu", 0, m->n_gpus, "nvswitch", 0, 1);
    } else if (m->nvlink_Bps != NULL && m->n_gpus > 1) {
        join_pairs(s, name);
    }
}

static void add_server(writer *w, const cs_machine *m, const char *name)
{
    bool    has_own = m->nvswitch_Bps > 0 || m->nvlink_Bps != NULL;
    json_t *device  = json_pack("{s:s}", "name", name);
    json_t *parts   = put_list(w, device, "components");
    server  s       = {.w = w, .m = m};

    s.links.list = put_list(w, device, "links");
    s.edges      = put_list(w, device, "edges");
    find_bridges(&s);
    if (!w->failed) {
        add_component(w, parts, "cpu", m->n_sockets, "cpu");
        add_component(w, parts, "gpu", m->n_gpus, "xpu");
        add_component(w, parts, "nic", m->n_nics, "nic");
        add_component(w, parts, "pcie-switch", m->n_switches, "switch");
        add_component(w, parts, "pcie-bridge", s.n_bridges, "switch");
        add_component(w, parts, "nvswitch", m->nvswitch_Bps > 0, "switch");
        hang(&s, m->gpus, m->n_gpus, "gpu", has_own ? (double)NAN : m->nvlink_alpha_s / 2);
        hang(&s, m->nics, m->n_nics, "nic", (double)NAN);
        join_near(&s);
        join_switches(&s);
        join_gpus(&s);
    }
    append(w, w->devices, device);
    cs_free(s.bridges);
    free_links(&s.links);
}

/* ---- the network ---- */

typedef struct servers {
    const cs_machine *m;
    const char       *instance;
    uint32_t          first, n; /* of the site */
} servers;

static const char *wire_of(writer *w, const cs_machine *m, uint32_t nic)
{
    const cs_device *d       = &m->nics[nic];
    bool             is_open = d->is_wire_assumed && d->wire_Bps == CS_ASSUMED_NIC_BPS;
    return link_of(w, &w->wires, "wire", is_open ? 0 : d->wire_Bps, m->nic_alpha_s / 2);
}

/* Components of some instances with those of others, one by one. */
static void join_outside(writer *w, const char *link, const char *host, const char *component,
                         const char *other, const char *port)
{
    append(w, w->edges,
           json_pack("{s:{s:s, s:s}, s:{s:s, s:s}, s:s, s:s}", "ep1", "instance", host, "component",
                     component, "ep2", "instance", other, "component", port, "scheme", "one2one",
                     "link", link));
}

/* The end of a run of NICs with the same wire that lead to the same switch. */
static uint32_t run_end(writer *w, const cs_machine *m, const uint32_t *at, uint32_t from)
{
    const char *link = wire_of(w, m, from);
    uint32_t    end  = from + 1;

    while (end < m->n_nics && (at == NULL || at[end] == at[from]) && wire_of(w, m, end) == link) {
        end++;
    }
    return end;
}

/* Every NIC of every server at one switch. */
static uint32_t join_one_switch(writer *w, const servers *s, uint32_t port)
{
    char     host[NAME_BYTES], nics[NAME_BYTES], ports[NAME_BYTES];
    uint32_t end;

    slice(host, s->instance, 0, s->n);
    for (uint32_t i = 0; i < s->m->n_nics && s->n > 0; i = end) {
        const char *link = wire_of(w, s->m, i);
        end              = run_end(w, s->m, NULL, i);
        slice(nics, "nic", i, end);
        slice(ports, "port", port, port + s->n * (end - i));
        port += s->n * (end - i);
        join_outside(w, link, host, nics, "network[0]", ports);
    }
    return port;
}

/* The instance of a switch, as in "leaf[3]": its name ends in its number. */
static void switch_name(const cs_site_network *net, uint32_t v, char *to)
{
    char  name[NAME_BYTES];
    char *blank;

    (void)snprintf(name, sizeof name, "%.60s", net->names[v]);
    blank = strrchr(name, ' ');
    if (blank != NULL) {
        *blank = '\0';
    }
    (void)snprintf(to, NAME_BYTES, "%.40s[%s]", name, blank != NULL ? blank + 1 : "0");
}

/* NICs at their switches; the ports of each are counted in `ports`. */
static void join_network(writer *w, const cs_site_network *net, const servers *s, uint32_t *ports)
{
    char     host[NAME_BYTES], nics[NAME_BYTES], other[NAME_BYTES], run[NAME_BYTES];
    uint32_t end;

    for (uint32_t k = 0; k < s->n; k++) {
        const uint32_t *at = net->at[s->first + k];
        slice(host, s->instance, k, k + 1);
        for (uint32_t i = 0; i < s->m->n_nics; i = end) {
            const char *link = wire_of(w, s->m, i);
            end              = run_end(w, s->m, at, i);
            slice(nics, "nic", i, end);
            slice(run, "port", ports[at[i]], ports[at[i]] + end - i);
            ports[at[i]] += end - i;
            switch_name(net, at[i], other);
            join_outside(w, link, host, nics, other, run);
        }
    }
}

static void join_links(writer *w, const cs_site_network *net, uint32_t *ports)
{
    char x[NAME_BYTES], y[NAME_BYTES], p[NAME_BYTES], q[NAME_BYTES];

    for (uint32_t i = 0; i < net->n_links; i++) {
        const cs_switch_link *l = &net->links[i];
        const char           *link =
            link_of(w, &w->wires, "uplink", l->link.bandwidth_Bps, l->link.latency_s);
        switch_name(net, l->from, x);
        switch_name(net, l->to, y);
        slice(p, "port", ports[l->from], ports[l->from] + 1);
        slice(q, "port", ports[l->to], ports[l->to] + 1);
        ports[l->from]++;
        ports[l->to]++;
        join_outside(w, link, x, p, y, q);
    }
}

static void add_instances(writer *w, const char *name, const char *device, uint32_t count)
{
    append(w, w->instances,
           json_pack("{s:s, s:s, s:i}", "name", name, "device", device, "count", (int)count));
}

/* A switch with its ports; the insides of switches have no rates. */
static void add_switch(writer *w, uint32_t ports)
{
    json_t *device = json_pack("{s:s}", "name", "ethernet-switch");
    json_t *parts  = put_list(w, device, "components");

    (void)put_list(w, device, "links");
    (void)put_list(w, device, "edges");
    add_component(w, parts, "port", ports, "port");
    append(w, w->devices, device);
}

/* Switches whose names count on are instances of one name. */
static void name_switches(writer *w, const cs_site_network *net)
{
    char name[NAME_BYTES], next[NAME_BYTES];

    for (uint32_t v = 0, end; v < net->n_switches; v = end) {
        switch_name(net, v, name);
        size_t bytes = strcspn(name, "[");
        for (end = v + 1; end < net->n_switches; end++) {
            switch_name(net, end, next);
            if (strncmp(name, next, bytes + 1) != 0) {
                break;
            }
        }
        name[bytes] = '\0';
        add_instances(w, name, "ethernet-switch", end - v);
    }
}

static cs_status add_network(writer *w, const cs_site *site, const servers *heads,
                             const servers *tails)
{
    const cs_site_network *net      = site->network;
    uint32_t               switches = net != NULL ? net->n_switches : 1, most = 1;
    uint64_t               n_nics = (uint64_t)heads->n * heads->m->n_nics;
    uint32_t              *ports  = CS_NEW(uint32_t, switches);

    n_nics += tails->n > 0 ? (uint64_t)tails->n * tails->m->n_nics : 0;
    if (ports == NULL) {
        return CS_NO_MEMORY(w->err, "a topology");
    }
    if (n_nics > MOST_PORTS) {
        cs_free(ports);
        return CS_FAIL(w->err, CS_ENOTSUP, "topology",
                       "%llu NICs are too many for the format infragraph: accepted are 65536",
                       (unsigned long long)n_nics);
    }
    if (net == NULL) {
        ports[0] = join_one_switch(w, heads, 0);
        ports[0] = tails->n > 0 ? join_one_switch(w, tails, ports[0]) : ports[0];
        add_instances(w, "network", "ethernet-switch", 1);
    } else {
        join_network(w, net, heads, ports);
        if (tails->n > 0) {
            join_network(w, net, tails, ports);
        }
        join_links(w, net, ports);
        name_switches(w, net);
    }
    for (uint32_t v = 0; v < switches; v++) {
        most = ports[v] > most ? ports[v] : most;
    }
    add_switch(w, most);
    cs_free(ports);
    return CS_OK;
}

/* ---- all of it ---- */

/* What InfraGraph has no place for. */
static cs_status check(const cs_machine *m, cs_error *err)
{
    uint32_t g = m->n_gpus;

    if (m->cross_Bps > 0 && m->n_sockets > 1) {
        return CS_FAIL(err, CS_ENOTSUP, "topology",
                       "the format infragraph has no place for the rate of one GPU of %.60s to "
                       "another socket (%.6g GB/s, below its links')",
                       m->name, m->cross_Bps / 1e9);
    }
    for (uint32_t i = 0; m->nvlink_Bps != NULL && m->nvswitch_Bps <= 0 && i < g * g; i++) {
        if (m->nvlink_Bps[i] != m->nvlink_Bps[i % g * g + i / g]) {
            return CS_FAIL(err, CS_ENOTSUP, "topology",
                           "the format infragraph has no place for links that are not as fast both "
                           "ways, as between %s and %s of %.60s",
                           m->gpus[i / g].name, m->gpus[i % g].name, m->name);
        }
    }
    return CS_OK;
}

static void begin(writer *w, const char *name)
{
    char plain[NAME_BYTES];

    plain_name(plain, sizeof plain, name);
    w->root       = json_pack("{s:s}", "name", plain);
    w->failed     = w->root == NULL;
    w->devices    = put_list(w, w->root, "devices");
    w->wires.list = put_list(w, w->root, "links");
    w->instances  = put_list(w, w->root, "instances");
    w->edges      = put_list(w, w->root, "edges");
}

static cs_status write_tree(const cs_site *site, uint32_t n_servers, json_t **tree_p, cs_error *err)
{
    bool     has_tail = site->tail != NULL && site->first_tail < n_servers;
    uint32_t n_heads  = has_tail ? site->first_tail : n_servers;
    servers  heads    = {site->machine, "host", 0, n_heads};
    servers  tails    = {site->tail, "host-2", n_heads, n_servers - n_heads};
    writer   w        = {.err = err};
    char     device[NAME_BYTES], other[NAME_BYTES + 2];

    CS_TRY(check(site->machine, err));
    if (has_tail) {
        CS_TRY(check(site->tail, err));
    }
    if (site->network != NULL && n_servers > site->network->n_servers) {
        return CS_FAIL(err, CS_ENOTSUP, "topology", "joins %u servers: for %u it has no network",
                       site->network->n_servers, n_servers);
    }
    cs_tree_setup();
    begin(&w, site->machine->name);
    plain_name(device, sizeof device, site->machine->name);
    add_server(&w, site->machine, device);
    add_instances(&w, heads.instance, device, heads.n);
    if (has_tail) {
        char plain[NAME_BYTES];
        plain_name(plain, sizeof plain, site->tail->name);
        (void)snprintf(other, sizeof other, "%s%s", plain, strcmp(plain, device) == 0 ? "-2" : "");
        add_server(&w, site->tail, other);
        add_instances(&w, tails.instance, other, tails.n);
    }
    cs_status status = add_network(&w, site, &heads, &tails);
    free_links(&w.wires);
    if (status == CS_OK && w.failed) {
        status = CS_NO_MEMORY(err, "a topology");
    }
    if (status != CS_OK) {
        json_decref(w.root);
        return status;
    }
    *tree_p = w.root;
    return CS_OK;
}

cs_status cs_infragraph_write(const cs_site *site, uint32_t n_servers, bool as_json, cs_text *out,
                              cs_error *err)
{
    json_t *tree = NULL;

    CS_TRY(write_tree(site, n_servers, &tree, err));
    if (!as_json) {
        cs_status status = cs_yaml_write(tree, out, err);
        json_decref(tree);
        return status;
    }
    char *text = json_dumps(tree, JSON_INDENT(2));
    json_decref(tree);
    if (text == NULL) {
        return CS_NO_MEMORY(err, "a topology");
    }
    cs_text_add(out, "%s\n", text);
    cs_free(text);
    return cs_text_status(out, err);
}
