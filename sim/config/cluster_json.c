/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The key "cluster". The path between the sockets of a server is read for its form and then
 * refused: no model here has it. */
#include "config/topology_json.h"

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static const char *const cluster_keys[] = {
    "ranks", "gpus_per_server", "nic", "nvlink", "sockets", "cross", "topology",
};
static const char *const nic_keys[]    = {"bandwidth", "alpha"};
static const char *const nvlink_keys[] = {"bandwidth", "alpha", "kind"};
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

static void refuse_feature(cs_reading *r, const cs_field *field, const cs_model *model,
                           const char *feature, const char *advice)
{
    if (!cs_reading_failed(r)) {
        CS_REFUSE(r, field, CS_ENOTSUP, "model %s has no %s: %s", model->name, feature, advice);
    }
}

static void read_sockets(cs_reading *r, const cs_field *cluster, const cs_model *model)
{
    uint32_t  sockets = 1;
    cs_fabric path    = {.kind = CS_SWITCHED};
    cs_field  field   = cs_field_get(cluster, "sockets");
    cs_field  cross   = cs_field_get(cluster, "cross");

    cs_read_u32(r, cluster, "sockets", 1, CS_MAX_RANKS, &sockets);
    read_fabric(r, cluster, "cross", nic_keys, COUNT(nic_keys), &path);
    if (sockets > 1) {
        refuse_feature(r, &field, model, "sockets", "accepted is 1");
    }
    if (cross.node != NULL) {
        refuse_feature(r, &cross, model, "path between sockets", "leave the key out");
    }
}

void cs_read_cluster(cs_reading *r, const cs_field *root, const cs_model *model,
                     cs_cluster *cluster)
{
    cs_field field = cs_field_get(root, "cluster");

    *cluster = (cs_cluster){
        .n_ranks         = 8,
        .gpus_per_server = 1,
        .fabrics =
            {[CS_NIC] = {CS_SWITCHED, 3e-6, 450e9}, [CS_NVLINK] = {CS_SWITCHED, 1e-6, 450e9}},
    };
    if (!cs_read_object(r, &field, cluster_keys, COUNT(cluster_keys))) {
        return;
    }
    cs_read_u32(r, &field, "ranks", 2, CS_MAX_RANKS, &cluster->n_ranks);
    cs_read_u32(r, &field, "gpus_per_server", 1, CS_MAX_RANKS, &cluster->gpus_per_server);
    read_fabric(r, &field, "nic", nic_keys, COUNT(nic_keys), &cluster->fabrics[CS_NIC]);
    read_fabric(r, &field, "nvlink", nvlink_keys, COUNT(nvlink_keys), &cluster->fabrics[CS_NVLINK]);
    read_sockets(r, &field, model);
    cs_read_topology(r, &field, model, cluster);
}
