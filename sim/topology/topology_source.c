/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Presets and files of topologies: ranks, servers, ports and links out of them. */
#include "topology/topology_json.h"

#include "base/text.h"
#include "topology/machine_build.h"

#include <math.h>
#include <string.h>

static void load_preset(cs_reading *r, const cs_place *field, cs_topology_source *source)
{
    const char *name  = json_string_value(field->node);
    cs_error    wrong = {0};

    if (name == NULL) {
        cs_refuse_kind(r, field, "a text");
        return;
    }
    cs_status status = cs_preset_find(name, r->arena, &source->file.site, &wrong);
    if (status != CS_OK) {
        CS_REFUSE(r, field, status, "%s", wrong.message);
        return;
    }
    source->has_site = true;
}

static void load_file(cs_reading *r, const cs_place *field, const char *path,
                      cs_topology_source *source)
{
    cs_error wrong = {0};
    char     text[560];

    const cs_cached_file *cached = cs_read_file(r, &cs_topology_file_kind, path, &wrong);
    if (cached == NULL) {
        cs_error_text(&wrong, text, sizeof text);
        CS_REFUSE(r, field, wrong.status, "%s", text);
        return;
    }
    source->file        = *(const cs_topology_file *)cached->content;
    source->path        = path;
    source->fingerprint = cached->fingerprint;
    source->has_site    = source->file.site.machine != NULL;
}

static bool is_crossbar(const char *name)
{
    return strcmp(name, "crossbar") == 0;
}

/* A name with other keys beside it, as {"name": "dgx-h100", "servers": 2}, becomes the key that it
 * means; one that stands alone becomes the text. That is how a text reads to which an option adds
 * keys (cs_tree_set). */
static void spell_out_name(cs_reading *r, const cs_place *cluster, const cs_place *topology)
{
    static const char *const others[] = {"preset", "path", "kind"};
    const char              *name     = NULL;
    cs_place                 field    = cs_place_get(topology, "name");
    json_t                  *tree     = topology->node;

    if (field.node == NULL) {
        return;
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (json_object_get(tree, others[i]) != NULL) {
            CS_REFUSE(r, &field, CS_EINVAL,
                      "names a topology, and the key '%s' beside it does, too", others[i]);
        }
    }
    static const cs_field text = {.name = "name", .type = CS_FIELD_TEXT};
    cs_read_row(r, &field, &text, &name);
    if (cs_reading_failed(r)) {
        return;
    }
    bool is_file = !is_crossbar(name) && !cs_topology_is_preset(name);
    int  failed  = json_object_del(tree, "name");
    if (json_object_size(tree) == 0) {
        failed |= json_object_set_new(cluster->node, "topology", json_string(name));
    } else if (is_crossbar(name)) {
        failed |= json_object_set_new(tree, "kind", json_string(name));
    } else if (is_file) {
        failed |= json_object_set_new(tree, "kind", json_string("file"));
        failed |= json_object_set_new(tree, "path", json_string(name));
    } else {
        failed |= json_object_set_new(tree, "preset", json_string(name));
    }
    if (failed != 0) {
        CS_REFUSE_MEMORY(r, cluster, "a topology");
    }
}

void cs_read_topology_source(cs_reading *r, const cs_place *cluster, cs_topology_source *source)
{
    cs_place field = cs_place_get(cluster, "topology"), inner;

    spell_out_name(r, cluster, &field);
    field            = cs_place_get(cluster, "topology");
    const char *name = json_string_value(field.node), *path = NULL;
    if (cs_reading_failed(r) || field.node == NULL) {
        return;
    }
    if (name != NULL && is_crossbar(name)) {
        return;
    }
    if (name != NULL && cs_topology_is_preset(name)) {
        load_preset(r, &field, source);
    } else if (name != NULL) {
        path  = cs_read_file_name(r, &field);
        inner = field;
    } else if ((inner = cs_place_get(&field, "preset")).node != NULL) {
        load_preset(r, &inner, source);
        cs_read_first_servers(r, &field, &source->file.site);
    } else if ((inner = cs_place_get(&field, "path")).node != NULL) {
        path = cs_read_file_name(r, &inner);
    } else if (cs_is_server(field.node)) {
        cs_read_server(r, &field, &source->file.site);
        source->has_site = true;
    }
    if (path != NULL && !cs_reading_failed(r)) {
        load_file(r, &inner, path, source);
    }
}

/* Has the cluster a key for the rate of a port? */
static bool is_given(const cs_place *cluster, const char *port)
{
    return json_object_get(json_object_get(cluster->node, port), "bandwidth") != NULL;
}

/* Ranks and GPUs per server of a site: so many servers, whole ones unless `ranks` asks for
 * less than one. */
static void site_ranks(cs_reading *r, const cs_place *cluster_field, const cs_site *site,
                       cs_cluster *cluster)
{
    cs_place topology = cs_place_get(cluster_field, "topology");
    cs_place ranks    = cs_place_get(cluster_field, "ranks");
    cs_place gpus     = cs_place_get(cluster_field, "gpus_per_server");
    uint32_t g = site->machine->n_gpus, servers = site->n_servers, asked = 0;

    if (json_is_object(topology.node)) {
        cs_read_n_servers(r, &topology, &asked);
    }
    cs_read_key(r, cluster_field, cs_cluster_fields, "ranks", cluster);
    g = ranks.node != NULL && asked == 0 && cluster->n_ranks < g ? cluster->n_ranks : g;
    cluster->gpus_per_server = g;
    cs_read_key(r, cluster_field, cs_cluster_fields, "gpus_per_server", cluster);
    if (cs_reading_failed(r)) {
        return;
    }
    g = cluster->gpus_per_server;
    if (g > site->machine->n_gpus) {
        CS_REFUSE(r, &gpus, CS_EINVAL, "%u: the servers of the topology have %u", g,
                  site->machine->n_gpus);
        return;
    }
    if (ranks.node == NULL) {
        uint64_t n       = (uint64_t)(asked > 0 ? asked : servers) * g;
        cluster->n_ranks = n > CS_MAX_RANKS ? CS_MAX_RANKS + 1 : (uint32_t)n;
    } else if (asked > 0 && (uint64_t)asked * g != cluster->n_ranks) {
        CS_REFUSE(r, &ranks, CS_EINVAL, "%u, but the topology has %u servers of %u GPUs",
                  cluster->n_ranks, asked, g);
    }
    if (cluster->n_ranks < 2 || cluster->n_ranks > CS_MAX_RANKS) {
        CS_REFUSE(r, &topology, CS_EINVAL, "has %u GPUs: accepted are 2 to %u", cluster->n_ranks,
                  CS_MAX_RANKS);
    }
}

/* Has the site servers of its other kind, too? */
static bool uses_tail(const cs_site *site, const cs_cluster *cluster)
{
    return site->tail != NULL && site->first_tail < cs_n_servers(cluster);
}

static void site_defaults(cs_reading *r, const cs_place *cluster_field, const cs_model *model,
                          const cs_site *site, cs_cluster *cluster)
{
    cs_machine_ports ports, tail;
    bool             is_network = model->network != NULL;
    cs_place         topology   = cs_place_get(cluster_field, "topology");

    site_ranks(r, cluster_field, site, cluster);
    if (cs_reading_failed(r)) {
        return;
    }
    uint32_t  g      = cluster->gpus_per_server;
    cs_status status = cs_machine_describe(site->machine, g, is_network, r->arena, &ports);
    if (status == CS_OK && uses_tail(site, cluster)) {
        status = cs_machine_describe(site->tail, g, is_network, r->arena, &tail);
        for (uint32_t f = 0; f < CS_FABRICS; f++) {
            ports.fabrics[f].bandwidth_Bps =
                fmax(ports.fabrics[f].bandwidth_Bps, tail.fabrics[f].bandwidth_Bps);
        }
    }
    if (status != CS_OK) {
        CS_REFUSE_MEMORY(r, &topology, "a topology");
        return;
    }
    cluster->sockets     = ports.sockets;
    cluster->nic_sharers = ports.most_sharers > 1 ? ports.most_sharers : 0;
    for (uint32_t f = 0; f < CS_FABRICS; f++) {
        bool is_known       = ports.fabrics[f].bandwidth_Bps > 0;
        cluster->fabrics[f] = is_known ? ports.fabrics[f] : cluster->fabrics[f];
    }
}

/* The NICs of a machine as its first `g` GPUs use them; NULL: no memory. */
static const cs_nics *nics_of(const cs_machine *m, uint32_t g, cs_arena *arena)
{
    cs_nics      *nics     = CS_ARENA_NEW(arena, cs_nics, 1);
    double       *rate_Bps = CS_ARENA_NEW(arena, double, (size_t)m->n_nics + 1);
    cs_nic_choice choice;

    if (nics == NULL || rate_Bps == NULL || cs_machine_choose_nics(m, g, arena, &choice) != CS_OK) {
        return NULL;
    }
    for (uint32_t i = 0; i < m->n_nics; i++) {
        const cs_device *nic = &m->nics[i];
        rate_Bps[i] = nic->is_pcie_assumed ? nic->wire_Bps : fmin(nic->wire_Bps, nic->pcie_Bps);
    }
    *nics = (cs_nics){m->n_nics,    rate_Bps,     choice.first,
                      choice.count, choice.order, m->assumed[CS_RATE_NIC] != NULL};
    return nics;
}

void cs_set_site_nics(cs_reading *r, const cs_place *cluster_field, const cs_site *site,
                      cs_cluster *cluster)
{
    uint32_t        n = cs_n_servers(cluster), g = cluster->gpus_per_server;
    const cs_nics **each     = CS_ARENA_NEW(r->arena, const cs_nics *, n);
    const cs_nics  *kinds[2] = {nics_of(site->machine, g, r->arena), NULL};

    kinds[1] = uses_tail(site, cluster) ? nics_of(site->tail, g, r->arena) : kinds[0];
    if (each == NULL || kinds[0] == NULL || kinds[1] == NULL) {
        CS_REFUSE_MEMORY(r, cluster_field, "servers");
        return;
    }
    for (uint32_t s = 0; s < n; s++) {
        each[s] = kinds[site->tail != NULL && s >= site->first_tail];
    }
    cluster->nics = each;
}

void cs_set_site_servers(cs_reading *r, const cs_place *cluster_field, const cs_site *site,
                         cs_cluster *cluster)
{
    uint32_t         n = cs_n_servers(cluster), g = cluster->gpus_per_server;
    cs_server       *servers = CS_ARENA_NEW(r->arena, cs_server, n);
    cs_machine_ports kinds[2];

    if (!uses_tail(site, cluster) || cluster->n_ranks % g != 0) {
        return;
    }
    if (servers == NULL ||
        cs_machine_describe(site->machine, g, false, r->arena, &kinds[0]) != CS_OK ||
        cs_machine_describe(site->tail, g, false, r->arena, &kinds[1]) != CS_OK) {
        CS_REFUSE_MEMORY(r, cluster_field, "servers");
        return;
    }
    for (uint32_t s = 0; s < n; s++) {
        for (uint32_t f = 0; f < CS_FABRICS; f++) {
            double rate_Bps = kinds[s >= site->first_tail].fabrics[f].bandwidth_Bps;
            bool   is_own   = rate_Bps > 0 && !is_given(cluster_field, cs_fabric_name(f));
            servers[s].bandwidth_Bps[f] = is_own ? rate_Bps : cluster->fabrics[f].bandwidth_Bps;
        }
    }
    cs_cluster_set_servers(cluster, servers);
}

/* One rank per host; the links have the latencies. */
static void route_defaults(const cs_route_table *table, cs_cluster *cluster)
{
    double widest_Bps = 0;

    for (uint32_t i = 0; i < table->n_links; i++) {
        widest_Bps = fmax(widest_Bps, table->links[i].bandwidth_Bps);
    }
    cluster->n_ranks         = table->n_hosts;
    cluster->gpus_per_server = 1;
    cluster->fabrics[CS_NIC] = (cs_fabric){CS_SWITCHED, 0, widest_Bps};
}

void cs_topology_source_defaults(cs_reading *r, const cs_place *cluster_field,
                                 const cs_model *model, const cs_topology_source *source,
                                 cs_cluster *cluster)
{
    if (cs_reading_failed(r)) {
        return;
    }
    if (source->has_site) {
        site_defaults(r, cluster_field, model, &source->file.site, cluster);
    } else if (source->file.routes != NULL) {
        route_defaults(source->file.routes, cluster);
    }
}

/* Every rate that was assumed, times a factor; PCIe that was assumed takes what comes of it. */
static void scale_assumed(cs_machine *m, double nvlink, double nic, double port_Bps)
{
    for (size_t i = 0; m->nvlink_Bps != NULL && i < (size_t)m->n_gpus * m->n_gpus; i++) {
        m->nvlink_Bps[i] *= nvlink;
    }
    for (uint32_t i = 0; i < m->n_nics; i++) {
        cs_device *d = &m->nics[i];
        d->wire_Bps *= d->is_wire_assumed ? nic : 1;
        d->pcie_Bps = d->is_pcie_assumed ? fmax(d->pcie_Bps, d->wire_Bps) : d->pcie_Bps;
    }
    for (uint32_t i = 0; i < m->n_gpus; i++) {
        cs_device *d = &m->gpus[i];
        d->pcie_Bps  = d->is_pcie_assumed ? fmax(d->pcie_Bps, port_Bps) : d->pcie_Bps;
    }
    for (uint32_t i = 0; i < m->n_switches; i++) {
        cs_pcie_switch *s = &m->switches[i];
        s->uplink_Bps     = s->is_uplink_assumed ? fmax(s->uplink_Bps, port_Bps) : s->uplink_Bps;
    }
}

static void *copy_of(cs_arena *arena, const void *array, size_t count, size_t bytes)
{
    void *copy = cs_arena_alloc(arena, count, bytes);

    if (copy != NULL && count > 0) {
        memcpy(copy, array, count * bytes);
    }
    return copy;
}

/* How much more a port has than the machine gives it; 1 where its rate is no assumption. */
static double given_ratio(const cs_machine *m, const cs_cluster *cluster,
                          const cs_machine_ports *ports, uint32_t fabric, cs_rate rate)
{
    double machine_Bps = ports->fabrics[fabric].bandwidth_Bps;
    bool   is_guess    = m->assumed[rate] != NULL && machine_Bps > 0;

    return is_guess ? cluster->fabrics[fabric].bandwidth_Bps / machine_Bps : 1;
}

/* Keys that give the ports' rates replace what was assumed of the links, too: the machine with
 * them, or the machine itself. NULL: no memory. */
static const cs_machine *with_given_rates(const cs_machine *m, const cs_cluster *cluster,
                                          cs_arena *arena)
{
    cs_machine_ports ports;
    cs_machine      *copy  = CS_ARENA_NEW(arena, cs_machine, 1);
    size_t           pairs = (size_t)m->n_gpus * m->n_gpus;

    if (copy == NULL ||
        cs_machine_describe(m, cluster->gpus_per_server, true, arena, &ports) != CS_OK) {
        return NULL;
    }
    double nvlink = given_ratio(m, cluster, &ports, CS_NVLINK, CS_RATE_NVLINK);
    double nic    = given_ratio(m, cluster, &ports, CS_NIC, CS_RATE_NIC);
    if (nvlink == 1 && nic == 1) {
        return m;
    }
    *copy          = *m;
    copy->gpus     = copy_of(arena, m->gpus, m->n_gpus, sizeof *m->gpus);
    copy->nics     = copy_of(arena, m->nics, m->n_nics, sizeof *m->nics);
    copy->switches = copy_of(arena, m->switches, m->n_switches, sizeof *m->switches);
    if (m->nvlink_Bps != NULL) {
        copy->nvlink_Bps = copy_of(arena, m->nvlink_Bps, pairs, sizeof *m->nvlink_Bps);
    }
    if (copy->gpus == NULL || copy->nics == NULL || copy->switches == NULL ||
        (m->nvlink_Bps != NULL && copy->nvlink_Bps == NULL)) {
        return NULL;
    }
    scale_assumed(copy, nvlink, nic, cluster->fabrics[CS_NIC].bandwidth_Bps);
    return copy;
}

static void build_site(cs_reading *r, const cs_place *field, const cs_site *site,
                       cs_cluster *cluster)
{
    cs_topology *topology = CS_ARENA_NEW(r->arena, cs_topology, 1);
    cs_site      given    = *site;
    cs_error     wrong    = {0};

    if (cluster->n_ranks % cluster->gpus_per_server != 0) {
        return; /* the check of the scenario says it */
    }
    given.machine = with_given_rates(site->machine, cluster, r->arena);
    if (topology == NULL || given.machine == NULL) {
        CS_REFUSE_MEMORY(r, field, "a topology");
        return;
    }
    cs_status status = cs_site_links(&given, cluster, r->arena, topology, &wrong);
    if (status != CS_OK) {
        CS_REFUSE(r, field, status, "%s", wrong.message);
        return;
    }
    cluster->topology = topology->kind != NULL ? topology : NULL;
}

/* The object of a JSON file, with what is wrong said as being in that file. */
static void build_tree(cs_reading *r, const cs_place *field, const cs_topology_source *source,
                       cs_cluster *cluster)
{
    cs_reading inner = {.arena = r->arena};
    json_t    *copy  = json_deep_copy(source->file.tree); /* reading a tree may change it */
    cs_place   root  = cs_place_root(copy);
    char       text[560];

    if (copy == NULL) {
        CS_REFUSE_MEMORY(r, field, "a topology");
        return;
    }
    cs_read_topology_tree(&inner, &root, cluster);
    json_decref(copy);
    if (cs_reading_failed(&inner)) {
        cs_error_locate(&inner.error, source->path, 0, 0);
        cs_error_text(&inner.error, text, sizeof text);
        CS_REFUSE(r, field, inner.error.status, "%s", text);
    }
}

void cs_read_topology_links(cs_reading *r, const cs_place *field, const cs_topology_source *source,
                            cs_cluster *cluster)
{
    if (source->has_site) {
        build_site(r, field, &source->file.site, cluster);
    } else if (source->file.tree != NULL) {
        build_tree(r, field, source, cluster);
    } else if (source->file.routes != NULL) {
        cs_topology *topology = CS_ARENA_NEW(r->arena, cs_topology, 1);
        if (topology == NULL) {
            CS_REFUSE_MEMORY(r, field, "a topology");
            return;
        }
        cs_route_table_make(source->file.routes, topology);
        cluster->topology = topology;
    }
}

void cs_say_what_is_assumed(cs_reading *r, const cs_place *cluster_field,
                            const cs_topology_source *source, cs_cluster *cluster)
{
    const cs_machine *m         = source->file.site.machine;
    bool              has_links = cluster->topology != NULL;
    cs_text           said      = {0};

    if (cs_reading_failed(r) || m == NULL) {
        return;
    }
    const bool uses[CS_RATES] = {
        [CS_RATE_NVLINK] = cluster->gpus_per_server > 1 && !is_given(cluster_field, "nvlink"),
        [CS_RATE_NIC]    = cs_n_servers(cluster) > 1 && !is_given(cluster_field, "nic"),
        [CS_RATE_PCIE] =
            has_links && (!is_given(cluster_field, "nic") ||
                          cluster->fabrics[CS_NIC].bandwidth_Bps <= CS_ASSUMED_PCIE_BPS),
        [CS_RATE_SOCKETS]  = has_links,
        [CS_RATE_SWITCHES] = has_links && source->file.site.network != NULL,
    };
    for (int rate = 0; rate < CS_RATES; rate++) {
        if (!uses[rate] || m->assumed[rate] == NULL) {
            continue;
        }
        if (said.data == NULL) {
            cs_text_add(&said, "as %s does not say: %s", m->name, m->assumed[rate]);
        } else {
            cs_text_add(&said, ", %s", m->assumed[rate]);
        }
    }
    if (said.data != NULL && !said.failed) {
        cluster->assumed = cs_arena_strdup(r->arena, said.data);
    }
    if (said.failed || (said.data != NULL && cluster->assumed == NULL)) {
        CS_REFUSE_MEMORY(r, cluster_field, "a topology");
    }
    cs_text_free(&said);
}

/* A name alone becomes the object that means the same. */
static json_t *as_object(const char *name)
{
    json_t *object = json_object();

    if (json_object_set_new(object, "kind", json_string("file")) != 0 ||
        json_object_set_new(object, "path", json_string(name)) != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

void cs_keep_topology_source(cs_reading *r, const cs_place *cluster_field,
                             const cs_topology_source *source)
{
    cs_place    topology = cs_place_get(cluster_field, "topology");
    const char *name     = json_string_value(topology.node);

    if (cs_reading_failed(r) || source->path == NULL) {
        return;
    }
    if (name != NULL) {
        topology.node = as_object(name);
        if (json_object_set_new(cluster_field->node, "topology", topology.node) != 0) {
            CS_REFUSE_MEMORY(r, cluster_field, "a topology");
            return;
        }
    }
    cs_keep_fingerprint(r, &topology, source->fingerprint, "another topology: its fingerprint");
}
