/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a server's parts to the ports of a cluster: NICs by nearness, NVLink by what pairs have. */
#include "cs/machine.h"

#include "base/arena.h"

#include <math.h>

static uint32_t distance(const cs_device *gpu, const cs_device *nic)
{
    if (gpu->pcie != CS_NO_SWITCH && gpu->pcie == nic->pcie) {
        return 0;
    }
    return gpu->socket == nic->socket ? 1 : 2;
}

static uint32_t nearest(const cs_machine *m, uint32_t gpu)
{
    uint32_t least = UINT32_MAX;

    for (uint32_t n = 0; n < m->n_nics; n++) {
        uint32_t d = distance(&m->gpus[gpu], &m->nics[n]);
        least      = d < least ? d : least;
    }
    return least;
}

/* Do two GPUs have the same nearest NICs? */
static bool choose_alike(const cs_machine *m, uint32_t a, uint32_t b)
{
    uint32_t near_a = nearest(m, a), near_b = nearest(m, b);

    for (uint32_t n = 0; n < m->n_nics; n++) {
        if ((distance(&m->gpus[a], &m->nics[n]) == near_a) !=
            (distance(&m->gpus[b], &m->nics[n]) == near_b)) {
            return false;
        }
    }
    return true;
}

/* Divide the nearest NICs of GPU `gpu` among the GPUs that chose alike. */
static void divide(const cs_machine *m, uint32_t g, uint32_t gpu, cs_nic_choice *choice)
{
    uint32_t  near = nearest(m, gpu), n = 0, rivals = 0, place = 0;
    uint32_t *list = &choice->order[(size_t)gpu * m->n_nics];

    for (uint32_t i = 0; i < m->n_nics; i++) {
        if (distance(&m->gpus[gpu], &m->nics[i]) == near) {
            list[n++] = i;
        }
    }
    for (uint32_t i = 0; i < g; i++) {
        bool is_rival = choose_alike(m, gpu, i);
        place += is_rival && i < gpu;
        rivals += is_rival;
    }
    rivals        = rivals > 0 ? rivals : 1; /* the GPU itself is one */
    uint32_t from = place * n / rivals, to = (place + 1) * n / rivals;
    choice->first[gpu] = gpu * m->n_nics + from;
    choice->count[gpu] = to > from ? to - from : n > 0;
    for (uint32_t i = 0; i < choice->count[gpu]; i++) {
        choice->sharers[list[from + i]]++;
    }
}

cs_status cs_machine_choose_nics(const cs_machine *machine, uint32_t g, cs_arena *arena,
                                 cs_nic_choice *choice)
{
    size_t gpus = machine->n_gpus, nics = machine->n_nics;

    *choice = (cs_nic_choice){
        CS_ARENA_NEW(arena, uint32_t, gpus), CS_ARENA_NEW(arena, uint32_t, gpus),
        CS_ARENA_NEW(arena, uint32_t, gpus * nics + 1), CS_ARENA_NEW(arena, uint32_t, nics + 1)};
    if (choice->first == NULL || choice->count == NULL || choice->order == NULL ||
        choice->sharers == NULL) {
        return CS_ENOMEM;
    }
    for (uint32_t i = 0; i < g && nics > 0; i++) {
        divide(machine, g, i, choice);
    }
    return CS_OK;
}

/* How many sockets the first `g` GPUs fill with equal runs; 1 where they do not. */
static uint32_t regular_sockets(const cs_machine *m, uint32_t g)
{
    uint32_t runs = 1;

    for (uint32_t i = 1; i < g; i++) {
        runs += m->gpus[i].socket != m->gpus[i - 1].socket;
    }
    if (g % runs != 0) {
        return 1;
    }
    for (uint32_t i = 0; i < g; i++) {
        for (uint32_t j = 0; j < i; j++) {
            bool same_run = i / (g / runs) == j / (g / runs);
            if (same_run != (m->gpus[i].socket == m->gpus[j].socket)) {
                return 1;
            }
        }
    }
    return runs;
}

static double pair_Bps(const cs_machine *m, uint32_t i, uint32_t j)
{
    return m->nvlink_Bps == NULL ? 0 : m->nvlink_Bps[(size_t)i * m->n_gpus + j];
}

/* The slowest pair with an NVLink, and which pairs have one. */
static cs_machine_mesh mesh_of(const cs_machine *m, uint32_t g, uint32_t sockets, double *least_p)
{
    bool inside = true, across = true, any = false, any_across = false;

    *least_p = (double)INFINITY;
    for (uint32_t i = 0; i < g; i++) {
        for (uint32_t j = 0; j < g; j++) {
            double rate = i == j ? 0 : pair_Bps(m, i, j);
            bool   same = sockets == 1 || m->gpus[i].socket == m->gpus[j].socket;
            inside      = inside && (i == j || !same || rate > 0);
            across      = across && (same || rate > 0);
            any         = any || rate > 0;
            any_across  = any_across || (!same && rate > 0);
            *least_p    = rate > 0 ? fmin(*least_p, rate) : *least_p;
        }
    }
    if (m->nvswitch_Bps > 0) {
        *least_p = m->nvswitch_Bps;
        return CS_MESH_SWITCHED;
    }
    if (!any) {
        return CS_MESH_NONE;
    }
    if (inside && across) {
        return CS_MESH_FULL;
    }
    return inside && !any_across ? CS_MESH_SOCKETS : CS_MESH_PARTIAL;
}

/* The NICs' rate at the slowest GPU (port models) or at the fastest (links limit the others). */
static double nic_rate_Bps(const cs_machine *m, uint32_t g, bool is_network,
                           const cs_nic_choice *choice, uint32_t *most_p)
{
    double rate_Bps = is_network ? 0 : (double)INFINITY;

    *most_p = 0;
    for (uint32_t i = 0; i < g; i++) {
        double mine_Bps = 0;
        for (uint32_t k = 0; k < choice->count[i]; k++) {
            uint32_t nic     = choice->order[choice->first[i] + k];
            uint32_t sharers = choice->sharers[nic];
            mine_Bps += m->nics[nic].wire_Bps / (is_network ? 1 : sharers);
            *most_p = sharers > *most_p ? sharers : *most_p;
        }
        rate_Bps = is_network ? fmax(rate_Bps, mine_Bps) : fmin(rate_Bps, mine_Bps);
    }
    return rate_Bps;
}

static double least_pcie_Bps(const cs_machine *m, uint32_t g)
{
    double least = (double)INFINITY;

    for (uint32_t i = 0; i < g; i++) {
        least = fmin(least, m->gpus[i].pcie_Bps);
    }
    return least;
}

cs_status cs_machine_describe(const cs_machine *machine, uint32_t g, bool is_network,
                              cs_arena *arena, cs_machine_ports *ports)
{
    const cs_machine *m = machine;
    cs_nic_choice     choice;
    double            nvlink_Bps, pcie_Bps = least_pcie_Bps(m, g);

    if (cs_machine_choose_nics(m, g, arena, &choice) != CS_OK) {
        return CS_ENOMEM;
    }
    *ports         = (cs_machine_ports){.sockets = regular_sockets(m, g)};
    ports->mesh    = mesh_of(m, g, ports->sockets, &nvlink_Bps);
    bool has_cross = ports->mesh == CS_MESH_SOCKETS || ports->mesh == CS_MESH_NONE;
    ports->sockets = has_cross ? ports->sockets : 1;
    bool is_direct = ports->mesh == CS_MESH_FULL || ports->mesh == CS_MESH_SOCKETS ||
                     ports->mesh == CS_MESH_PARTIAL;

    ports->fabrics[CS_NVLINK] = (cs_fabric){is_direct ? CS_DIRECT : CS_SWITCHED, m->nvlink_alpha_s,
                                            ports->mesh == CS_MESH_NONE ? pcie_Bps : nvlink_Bps};
    ports->fabrics[CS_CROSS] =
        (cs_fabric){CS_SWITCHED, m->cross_alpha_s,
                    m->cross_Bps > 0 ? m->cross_Bps : fmin(pcie_Bps, m->socket_Bps)};
    ports->fabrics[CS_NIC] = (cs_fabric){
        CS_SWITCHED, m->nic_alpha_s, nic_rate_Bps(m, g, is_network, &choice, &ports->most_sharers)};
    return CS_OK;
}
