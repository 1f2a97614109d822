/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The key "cluster". */
#include "config/topology_json.h"

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static const char *const cluster_keys[] = {
    "ranks", "gpus_per_server", "nic", "nvlink", "sockets", "cross", "topology",
};
static const char *const nic_keys[]    = {"bandwidth", "alpha"};
static const char *const nvlink_keys[] = {"bandwidth", "alpha", "kind", "concurrent"};
static const char *const kinds[]       = {[CS_SWITCHED] = "switched", [CS_DIRECT] = "direct"};

static void read_fabric(cs_reading *r, const cs_field *cluster, const char *key,
                        const char *const *keys, size_t n_keys, cs_fabric *fabric)
{
    cs_field field = cs_field_get(cluster, key);
    size_t   kind  = fabric->kind;

    if (!cs_read_object(r, &field, keys, n_keys)) {
        return;
    }
    cs_read_rate(r, &field, "bandwidth", &fabric->bandwidth_Bps);
    cs_read_time(r, &field, "alpha", &fabric->alpha_s);
    cs_read_word(r, &field, "kind", kinds, COUNT(kinds), &kind);
    fabric->kind = kind == CS_DIRECT ? CS_DIRECT : CS_SWITCHED;
}

/* Links of a mesh that a GPU drives at once; null is all of them. */
static void read_nvlink(cs_reading *r, const cs_field *cluster, cs_cluster *c)
{
    cs_field nvlink = cs_field_get(cluster, "nvlink"), most;

    read_fabric(r, cluster, "nvlink", nvlink_keys, COUNT(nvlink_keys), &c->fabrics[CS_NVLINK]);
    most = cs_field_get(&nvlink, "concurrent");
    if (most.node != NULL && !json_is_null(most.node)) {
        cs_read_u32(r, &nvlink, "concurrent", 1, CS_MAX_RANKS, &c->nvlink_concurrent);
    }
}

/* The path between sockets means something only where there are several. */
static void read_sockets(cs_reading *r, const cs_field *cluster, cs_cluster *c)
{
    cs_field cross = cs_field_get(cluster, "cross");

    cs_read_u32(r, cluster, "sockets", 1, CS_MAX_RANKS, &c->sockets);
    read_fabric(r, cluster, "cross", nic_keys, COUNT(nic_keys), &c->fabrics[CS_CROSS]);
    if (cross.node != NULL && c->sockets <= 1 && !cs_reading_failed(r)) {
        CS_REFUSE(r, &cross, CS_EINVAL,
                  "is the path between the sockets of a server, which has one: accepted together "
                  "with sockets of 2 or more");
    }
}

void cs_read_cluster(cs_reading *r, const cs_field *root, const cs_model *model,
                     cs_cluster *cluster)
{
    cs_field           field  = cs_field_get(root, "cluster");
    cs_topology_source source = {0};

    *cluster = (cs_cluster){
        .n_ranks         = 8,
        .gpus_per_server = 1,
        .fabrics         = {[CS_NIC]    = {CS_SWITCHED, 3e-6, 450e9},
                            [CS_NVLINK] = {CS_SWITCHED, 1e-6, 450e9},
                            [CS_CROSS]  = {CS_SWITCHED, 8e-6, 25e9}}, /* PCIe 4.0 x16, in use */
        .sockets         = 1,
    };
    if (!cs_read_object(r, &field, cluster_keys, COUNT(cluster_keys))) {
        return;
    }
    cs_read_topology_source(r, &field, &source);
    cs_topology_source_defaults(r, &field, model, &source, cluster);
    cs_read_u32(r, &field, "ranks", 2, CS_MAX_RANKS, &cluster->n_ranks);
    cs_read_u32(r, &field, "gpus_per_server", 1, CS_MAX_RANKS, &cluster->gpus_per_server);
    read_fabric(r, &field, "nic", nic_keys, COUNT(nic_keys), &cluster->fabrics[CS_NIC]);
    read_nvlink(r, &field, cluster);
    read_sockets(r, &field, cluster);
    cs_read_topology(r, &field, model, &source, cluster);
    cs_say_what_is_assumed(r, &field, &source, cluster);
    cs_keep_topology_source(r, &field, &source);
}
