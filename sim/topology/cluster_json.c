/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The key "cluster": ranks and servers, the ports between them, and what a topology says of all
 * these before the other keys override it. */
#include "topology/topology_json.h"

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

void cs_read_cluster(cs_reading *r, const cs_place *place, const cs_field *row, void *object)
{
    cs_cluster        *cluster = (cs_cluster *)(void *)((char *)object + row->offset);
    cs_topology_source source  = {0};

    cs_fields_default(cs_cluster_fields, cluster);
    r->cluster = cluster;
    if (!cs_read_keys(r, place, cs_cluster_fields)) {
        return;
    }
    cs_read_topology_source(r, place, &source);
    cs_topology_source_defaults(r, place, r->model, &source, cluster);
    if (!cs_read_fields(r, place, cs_cluster_fields, cluster)) {
        return;
    }
    check_cross(r, place, cluster);
    cs_read_topology(r, place, r->model, &source, cluster);
    cs_say_what_is_assumed(r, place, &source, cluster);
    cs_keep_topology_source(r, place, &source);
}
