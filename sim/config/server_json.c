/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config/server_json.h"

#include "config/machine_build.h"

#include <math.h>
#include <string.h>

#define LEAST_BPS 1.0 /* as for ports and links */
#define MOST_BPS  1e15

#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static const char *const server_keys[] = {CS_SERVER_KEYS};
static const char *const meshes[]      = {"switched", "direct", "sockets", "none"};

static const cs_machine_mesh mesh_of_word[] = {CS_MESH_SWITCHED, CS_MESH_FULL, CS_MESH_SOCKETS,
                                               CS_MESH_NONE};

bool cs_is_server(const json_t *object)
{
    const char *kind = json_string_value(json_object_get(object, "kind"));

    return kind != NULL && strcmp(kind, "server") == 0;
}

static void read_counts(cs_reading *r, const cs_field *field, cs_server_shape *shape)
{
    size_t mesh = 0;

    cs_read_required(r, field, "gpus");
    cs_read_u32(r, field, "gpus", 1, CS_MACHINE_MAX_GPUS, &shape->n_gpus);
    shape->n_nics = shape->n_gpus;
    cs_read_u32(r, field, "nics", 1, CS_MACHINE_MAX_NICS, &shape->n_nics);
    cs_read_u32(r, field, "sockets", 1, shape->n_gpus, &shape->n_sockets);
    cs_read_u32(r, field, "pcie_switches", 0, shape->n_gpus, &shape->n_switches);
    cs_read_word(r, field, "nvlink", meshes, COUNT(meshes), &mesh);
    shape->mesh = mesh_of_word[mesh];
}

/* Left alone where there is no such key. A rate of 0 would mean that nothing is known of it. */
static void read_rate(cs_reading *r, const cs_field *parent, const char *key, double *rate_Bps_p)
{
    cs_field field    = cs_field_get(parent, key);
    double   rate_Bps = LEAST_BPS;

    cs_read_rate(r, parent, key, &rate_Bps);
    if (cs_reading_failed(r) || field.node == NULL) {
        return;
    }
    if (rate_Bps < LEAST_BPS || rate_Bps > MOST_BPS) {
        CS_REFUSE(r, &field, CS_EINVAL, "%.15g is outside [%g, %g]", rate_Bps, LEAST_BPS, MOST_BPS);
    }
    *rate_Bps_p = rate_Bps;
}

/* A PCIe link is not the limit unless it is given: it takes what the NICs of a GPU bring. */
static void read_rates(cs_reading *r, const cs_field *field, cs_server_shape *shape)
{
    shape->nic_Bps    = CS_ASSUMED_NIC_BPS;
    shape->socket_Bps = CS_ASSUMED_SOCKET_BPS;
    shape->nvlink_Bps =
        shape->mesh == CS_MESH_SWITCHED ? CS_ASSUMED_NVSWITCH_BPS : CS_ASSUMED_NVLINK_BPS;
    read_rate(r, field, "nic_bandwidth", &shape->nic_Bps);
    read_rate(r, field, "nvlink_bandwidth", &shape->nvlink_Bps);
    read_rate(r, field, "socket_bandwidth", &shape->socket_Bps);
    if (cs_reading_failed(r)) {
        return;
    }
    uint32_t nics   = (shape->n_nics + shape->n_gpus - 1) / shape->n_gpus; /* of a GPU */
    shape->pcie_Bps = fmax(CS_ASSUMED_PCIE_BPS, nics * shape->nic_Bps);
    read_rate(r, field, "pcie_bandwidth", &shape->pcie_Bps);
    shape->nic_pcie_Bps = shape->pcie_Bps;
    shape->uplink_Bps   = shape->pcie_Bps;
    read_rate(r, field, "switch_uplink_bandwidth", &shape->uplink_Bps);
}

void cs_read_server(cs_reading *r, const cs_field *field, cs_site *site)
{
    cs_server_shape shape     = {.n_gpus         = 1,
                                 .n_sockets      = 1,
                                 .nic_alpha_s    = CS_ASSUMED_NIC_ALPHA_S,
                                 .nvlink_alpha_s = CS_ASSUMED_NVLINK_ALPHA_S,
                                 .cross_alpha_s  = CS_ASSUMED_CROSS_ALPHA_S};
    uint32_t        n_servers = 1;

    if (!cs_read_object(r, field, server_keys, COUNT(server_keys))) {
        return;
    }
    cs_read_u32(r, field, "servers", 1, CS_MAX_RANKS, &n_servers);
    read_counts(r, field, &shape);
    read_rates(r, field, &shape);
    if (cs_reading_failed(r)) {
        return;
    }
    *site =
        (cs_site){.machine = cs_server_make(&shape, "server", r->arena), .n_servers = n_servers};
    if (site->machine == NULL) {
        CS_REFUSE(r, field, CS_ENOMEM, "out of memory for a server of %u GPUs", shape.n_gpus);
    }
}
