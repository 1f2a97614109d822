/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The key "cluster": ranks and servers, the ports between them, and what a topology says of all
 * these before the other keys override it. */
#include "topology/topology_json.h"

#include <inttypes.h>
#include <math.h>

#define MIN_BPS     1.0 /* as the scenario's check */
#define MAX_BPS     1e15
#define MAX_ALPHA_S 1e6

/* clang-format off */
#define PORT(fabric, rate_Bps, start_s)                                                             \
    CS_KEY(cs_cluster, fabrics[fabric].bandwidth_Bps, "bandwidth", .unit = CS_UNIT_RATE,            \
           .fallback = (rate_Bps), .min = MIN_BPS, .max = MAX_BPS,                                  \
           .help = "rate of a port in each direction"),                                             \
    CS_KEY(cs_cluster, fabrics[fabric].alpha_s, "alpha", .unit = CS_UNIT_TIME, .fallback = (start_s), \
           .max = MAX_ALPHA_S, .plain = &cs_plain_latency, .help = "start-up time of a transfer")

static const cs_field nic_fields[]    = {PORT(CS_NIC, 450e9, 3e-6), CS_FIELD_END};
static const cs_field cross_fields[]  = {PORT(CS_CROSS, 25e9, 8e-6), CS_FIELD_END}; /* PCIe 4.0 x16, in use */
static const cs_field nvlink_fields[] = {
    PORT(CS_NVLINK, 450e9, 1e-6),
    CS_KEY_OF(CS_FIELD_CHOICE, cs_cluster, fabrics[CS_NVLINK].kind, "kind", .choices = "switched|direct",
              .help = "switched: a port per GPU; direct: a link per pair"),
    CS_KEY(cs_cluster, nvlink_concurrent, "concurrent", .min = 1, .max = CS_MAX_RANKS, .has_null = true,
           .help = "links of a mesh that a GPU drives at once; null: all"),
    CS_FIELD_END,
};

/* So many servers in a row; a rate that is not given is the cluster's. */
typedef struct server_run {
    uint32_t count, gpus; /* gpus 0: as the cluster says */
    double   bandwidth_Bps[CS_FABRICS];
} server_run;

typedef struct server_runs {
    server_run *runs;
    size_t      n;
} server_runs;

#define RATE(fabric)                                                                                \
    CS_KEY(server_run, bandwidth_Bps[fabric], "bandwidth", .unit = CS_UNIT_RATE, .min = MIN_BPS,    \
           .max = MAX_BPS, .fallback = (double)NAN, .help = "rate of a port in each direction; the cluster's")

static const cs_field run_nic_fields[]    = {RATE(CS_NIC), CS_FIELD_END};
static const cs_field run_nvlink_fields[] = {RATE(CS_NVLINK), CS_FIELD_END};
static const cs_field run_fields[]        = {
    CS_KEY(server_run, count, "count", .fallback = 1, .min = 1, .max = CS_MAX_RANKS,
           .help = "how many servers of the kind follow each other"),
    CS_KEY(server_run, gpus, "gpus", .min = 1, .max = CS_MAX_RANKS,
           .help = "GPUs of each; without it, the cluster's, or as many as in the first one"),
    {.name = "nic", .type = CS_FIELD_OBJECT, .fields = run_nic_fields, .help = "the NIC port of every GPU"},
    {.name = "nvlink", .type = CS_FIELD_OBJECT, .fields = run_nvlink_fields, .help = "the NVLink port of every GPU"},
    CS_FIELD_END,
};
static const cs_field a_run = {.type = CS_FIELD_OBJECT, .fields = run_fields};

const cs_field cs_cluster_fields[] = {
    CS_KEY(cs_cluster, n_ranks, "ranks", .fallback = 8, .min = 2, .max = CS_MAX_RANKS,
           .help = "number of GPUs"),
    CS_KEY(cs_cluster, gpus_per_server, "gpus_per_server", .fallback = 1, .min = 1, .max = CS_MAX_RANKS,
           .help = "GPUs that share a server and its NVLink"),
    {.name = "nic", .type = CS_FIELD_OBJECT, .fields = nic_fields,
     .help = "the NIC port of every GPU"},
    {.name = "nvlink", .type = CS_FIELD_OBJECT, .fields = nvlink_fields,
     .help = "the NVLink port of every GPU"},
    CS_KEY(cs_cluster, sockets, "sockets", .fallback = 1, .min = 1, .max = CS_MAX_RANKS,
           .help = "sockets of a server, which share its GPUs evenly"),
    {.name = "cross", .type = CS_FIELD_OBJECT, .fields = cross_fields,
     .help = "the path between the sockets of a server, of every GPU"},
    CS_KEY_LIST(server_runs, runs, n, "servers", &a_run, .min = 1, .max = CS_MAX_RANKS, .read = cs_read_elsewhere,
                .help = "servers that differ in GPUs, or in the rate of their NICs or NVLinks, in the order of the ranks"),
    {.name = "topology", .type = CS_FIELD_EITHER, .offset = CS_NOWHERE, .fields = cs_topology_forms,
     .read = cs_read_elsewhere, .help = "a preset's or a file's name, or an object: sim/doc/topology.md"},
    CS_FIELD_END,
};
/* clang-format on */

/* The path between sockets means something only where there are several. */
static void check_cross(cs_reading *r, const cs_place *place, const cs_cluster *cluster)
{
    cs_place cross = cs_place_get(place, "cross");

    if (cross.node != NULL && cluster->sockets <= 1 && !cs_reading_failed(r)) {
        CS_REFUSE(r, &cross, CS_EINVAL,
                  "is the path between the sockets of a server, which has one: accepted together "
                  "with sockets of 2 or more");
    }
}

/* ---- servers that differ ---- */

/* The list, and what follows from it for ranks and GPUs per server as far as no key says otherwise.
 */
static void read_runs(cs_reading *r, const cs_place *place, const cs_topology_source *source,
                      server_runs *list, cs_cluster *cluster)
{
    cs_place        servers = cs_place_get(place, "servers");
    const cs_field *row     = cs_field_find(cs_cluster_fields, "servers");
    bool            is_said = cs_place_has(place, "gpus_per_server");
    uint64_t        n       = 0;
    uint32_t        most    = 0;

    if (servers.node == NULL || cs_reading_failed(r)) {
        return;
    }
    if (source->has_site || source->file.routes != NULL) {
        CS_REFUSE(r, &servers, CS_EINVAL,
                  "the topology says what its servers are: accepted without it, or with crossbar, "
                  "leaf-spine and graph");
        return;
    }
    cs_read_row(r, &servers, row, list);
    cs_read_key(r, place, cs_cluster_fields, "gpus_per_server", cluster);
    for (size_t i = 0; i < list->n && !cs_reading_failed(r); i++) {
        server_run *run   = &list->runs[i];
        cs_place    where = cs_place_item(&servers, i), gpus = cs_place_get(&where, "gpus");
        run->gpus = run->gpus > 0 ? run->gpus : cluster->gpus_per_server;
        if (i == 0 && !is_said) {
            cluster->gpus_per_server = run->gpus;
        }
        if (is_said && run->gpus > cluster->gpus_per_server) {
            CS_REFUSE(r, &gpus, CS_EINVAL,
                      "%u: accepted are 1 to %u, which gpus_per_server says that the largest "
                      "server has",
                      run->gpus, cluster->gpus_per_server);
        }
        most = run->gpus > most ? run->gpus : most;
        n += (uint64_t)run->count * run->gpus;
    }
    cs_place said = cs_place_get(place, "gpus_per_server");
    if (is_said && most < cluster->gpus_per_server && !cs_reading_failed(r)) {
        CS_REFUSE(r, &said, CS_EINVAL,
                  "%u, but the largest of the servers has %u GPUs: accepted is as many",
                  cluster->gpus_per_server, most);
        return;
    }
    if (!cs_reading_failed(r) && (n < 2 || n > CS_MAX_RANKS)) {
        CS_REFUSE(r, &servers, CS_EINVAL, "have %" PRIu64 " GPUs: accepted are 2 to %u", n,
                  CS_MAX_RANKS);
        return;
    }
    cluster->n_ranks         = (uint32_t)n;
    cluster->gpus_per_server = most;
}

/* GPUs server by server. */
static cs_status set_gpus(cs_reading *r, const server_runs *list, uint32_t n_servers,
                          uint32_t n_ranks, cs_cluster *cluster)
{
    uint32_t  *gpus   = CS_ARENA_NEW(r->arena, uint32_t, n_servers);
    cs_uneven *uneven = CS_ARENA_NEW(r->arena, cs_uneven, 1);
    uint32_t   next   = 0;

    if (gpus == NULL || uneven == NULL) {
        return CS_ENOMEM;
    }
    uneven->first     = CS_ARENA_NEW(r->arena, uint32_t, n_servers + 1);
    uneven->server_of = CS_ARENA_NEW(r->arena, uint32_t, n_ranks);
    if (uneven->first == NULL || uneven->server_of == NULL) {
        return CS_ENOMEM;
    }
    for (size_t i = 0; i < list->n; i++) {
        for (uint32_t k = 0; k < list->runs[i].count; k++) {
            gpus[next++] = list->runs[i].gpus;
        }
    }
    cs_cluster_set_gpus(cluster, gpus, n_servers, uneven);
    return CS_OK;
}

/* The servers, once the cluster is known. */
static void set_servers(cs_reading *r, const cs_place *place, const server_runs *list,
                        cs_cluster *cluster)
{
    cs_place ranks = cs_place_get(place, "ranks"), where = cs_place_get(place, "servers");
    uint64_t n_servers = 0, n = 0, next = 0;

    for (size_t i = 0; i < list->n; i++) {
        n_servers += list->runs[i].count;
        n += (uint64_t)list->runs[i].count * list->runs[i].gpus;
    }
    if (list->n == 0 || cs_reading_failed(r)) {
        return;
    }
    if (n != cluster->n_ranks) {
        CS_REFUSE(r, &ranks, CS_EINVAL, "%u, but the %" PRIu64 " servers have %" PRIu64 " GPUs",
                  cluster->n_ranks, n_servers, n);
        return;
    }
    cs_server *servers = CS_ARENA_NEW(r->arena, cs_server, n_servers);
    if (servers == NULL || set_gpus(r, list, (uint32_t)n_servers, (uint32_t)n, cluster) != CS_OK) {
        CS_REFUSE_MEMORY(r, &where, "servers");
        return;
    }
    for (size_t i = 0; i < list->n; i++) {
        for (uint32_t k = 0; k < list->runs[i].count; k++, next++) {
            for (uint32_t f = 0; f < CS_FABRICS; f++) {
                double own_Bps = f == CS_CROSS ? (double)NAN : list->runs[i].bandwidth_Bps[f];
                servers[next].bandwidth_Bps[f] =
                    isnan(own_Bps) ? cluster->fabrics[f].bandwidth_Bps : own_Bps;
            }
        }
    }
    cs_cluster_set_servers(cluster, servers);
}

void cs_read_cluster(cs_reading *r, const cs_place *place, const cs_field *row, void *object)
{
    cs_cluster        *cluster = (cs_cluster *)(void *)((char *)object + row->offset);
    cs_topology_source source  = {0};
    server_runs        runs    = {NULL, 0};

    cs_fields_default(cs_cluster_fields, cluster);
    r->cluster = cluster;
    if (!cs_read_keys(r, place, cs_cluster_fields)) {
        return;
    }
    cs_read_topology_source(r, place, &source);
    cs_topology_source_defaults(r, place, r->model, &source, cluster);
    read_runs(r, place, &source, &runs, cluster);
    if (!cs_read_fields(r, place, cs_cluster_fields, cluster)) {
        return;
    }
    set_servers(r, place, &runs, cluster);
    if (source.has_site && r->model->network == NULL && !cs_reading_failed(r)) {
        cs_set_site_servers(r, place, &source.file.site, cluster);
    }
    if (source.has_site && !cs_reading_failed(r)) {
        cs_set_site_nics(r, place, &source.file.site, cluster);
    }
    check_cross(r, place, cluster);
    cs_read_topology(r, place, r->model, &source, cluster);
    cs_say_what_is_assumed(r, place, &source, cluster);
    cs_keep_topology_source(r, place, &source);
}
