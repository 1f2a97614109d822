/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a server's parts to the ports of a cluster: NICs by nearness, NVLink by what pairs have. */
#include "cs/machine.h"

#include "base/arena.h"

#include <math.h>

/* ---- which NICs ---- */

/* From the nearest to the farthest: below the same bridge, at the same switch, at the same socket,
 * anywhere. */
enum { LEVELS = 4 };

#define NO_GROUP UINT32_MAX

/* The devices that are in one place of a level. */
typedef struct group {
    uint32_t first, n_nics; /* in cs_nic_choice.order */
    uint32_t n_gpus;        /* that choose these NICs */
    uint32_t n_served;      /* of them */
} group;

typedef struct levels {
    group   *groups[LEVELS];
    uint32_t n_groups[LEVELS];
} levels;

static uint32_t group_of(const cs_device *d, int level)
{
    switch (level) {
    case 0: return d->bridge > 0 ? d->bridge - 1 : NO_GROUP;
    case 1: return d->pcie; /* CS_NO_SWITCH is NO_GROUP */
    case 2: return d->socket;
    default: return 0;
    }
}

static void count_groups(const cs_device *devices, uint32_t n, int level, uint32_t *n_groups_p)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t in = group_of(&devices[i], level);
        *n_groups_p = in != NO_GROUP && in >= *n_groups_p ? in + 1 : *n_groups_p;
    }
}

/* Put the NICs of every group of a level behind each other, from order[first] on. */
static void order_nics(const cs_machine *m, int level, levels *l, uint32_t first, uint32_t *order)
{
    group *groups = l->groups[level];

    for (uint32_t i = 0; i < m->n_nics; i++) {
        uint32_t in = group_of(&m->nics[i], level);
        if (in != NO_GROUP) {
            groups[in].n_nics++;
        }
    }
    for (uint32_t i = 0; i < l->n_groups[level]; i++) {
        groups[i].first = first;
        first += groups[i].n_nics;
        groups[i].n_nics = 0;
    }
    for (uint32_t i = 0; i < m->n_nics; i++) {
        uint32_t in = group_of(&m->nics[i], level);
        if (in != NO_GROUP) {
            order[groups[in].first + groups[in].n_nics++] = i;
        }
    }
}

static cs_status group_nics(const cs_machine *m, cs_arena *arena, levels *l, uint32_t *order)
{
    for (int level = 0; level < LEVELS; level++) {
        count_groups(m->gpus, m->n_gpus, level, &l->n_groups[level]);
        count_groups(m->nics, m->n_nics, level, &l->n_groups[level]);
        l->groups[level] = CS_ARENA_NEW(arena, group, (size_t)l->n_groups[level] + 1);
        if (l->groups[level] == NULL) {
            return CS_ENOMEM;
        }
        order_nics(m, level, l, (uint32_t)level * m->n_nics, order);
    }
    return CS_OK;
}

/* The group at the lowest level that has these NICs. Places lie within each other, so that two
 * groups with a NIC in common and as many NICs have the same ones. */
static group *lowest(const cs_machine *m, const uint32_t *order, const levels *l, int level,
                     uint32_t in)
{
    const group     *g     = &l->groups[level][in];
    const cs_device *nic   = &m->nics[order[g->first]];
    int              lower = 0;

    for (; lower < level; lower++) {
        in = group_of(nic, lower);
        if (in != NO_GROUP && l->groups[lower][in].n_nics == g->n_nics) {
            break;
        }
    }
    return &l->groups[lower][group_of(nic, lower)];
}

/* The group that is nearest to a GPU of those that have a NIC, of which there is one. */
static group *nearest(const cs_machine *m, const uint32_t *order, const levels *l, uint32_t gpu)
{
    for (int level = 0; level < LEVELS - 1; level++) {
        uint32_t in = group_of(&m->gpus[gpu], level);
        if (in != NO_GROUP && l->groups[level][in].n_nics > 0) {
            return lowest(m, order, l, level, in);
        }
    }
    return lowest(m, order, l, LEVELS - 1, 0);
}

/* The part of its group's NICs that falls to a GPU. */
static void divide(group *near, uint32_t gpu, cs_nic_choice *choice)
{
    uint32_t place = near->n_served++, n = near->n_nics;
    uint32_t from = place * n / near->n_gpus, to = (place + 1) * n / near->n_gpus;

    choice->first[gpu] = near->first + from;
    choice->count[gpu] = to > from ? to - from : 1;
    for (uint32_t i = 0; i < choice->count[gpu]; i++) {
        choice->sharers[choice->order[choice->first[gpu] + i]]++;
    }
}

/* NICs are sorted into groups once, and a GPU looks at LEVELS groups: O(gpus + nics). */
cs_status cs_machine_choose_nics(const cs_machine *machine, uint32_t g, cs_arena *arena,
                                 cs_nic_choice *choice)
{
    const cs_machine *m    = machine;
    size_t            gpus = m->n_gpus, nics = m->n_nics;
    levels            l = {.n_groups = {0}};

    *choice = (cs_nic_choice){
        CS_ARENA_NEW(arena, uint32_t, gpus), CS_ARENA_NEW(arena, uint32_t, gpus),
        CS_ARENA_NEW(arena, uint32_t, LEVELS * nics + 1), CS_ARENA_NEW(arena, uint32_t, nics + 1)};
    if (choice->first == NULL || choice->count == NULL || choice->order == NULL ||
        choice->sharers == NULL || group_nics(m, arena, &l, choice->order) != CS_OK) {
        return CS_ENOMEM;
    }
    for (uint32_t i = 0; i < g && nics > 0; i++) {
        nearest(m, choice->order, &l, i)->n_gpus++;
    }
    for (uint32_t i = 0; i < g && nics > 0; i++) {
        divide(nearest(m, choice->order, &l, i), i, choice);
    }
    return CS_OK;
}

/* ---- the ports ---- */

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

/* Which pairs have an NVLink, and the rate of the slowest such pair (port models) or of the fastest
 * (links limit the others). */
static cs_machine_mesh mesh_of(const cs_machine *m, uint32_t g, uint32_t sockets, bool is_network,
                               double *rate_Bps_p)
{
    bool   inside = true, across = true, any = false, any_across = false;
    double least_Bps = (double)INFINITY, most_Bps = 0;

    for (uint32_t i = 0; i < g; i++) {
        for (uint32_t j = 0; j < g; j++) {
            double rate = i == j ? 0 : pair_Bps(m, i, j);
            bool   same = sockets == 1 || m->gpus[i].socket == m->gpus[j].socket;
            inside      = inside && (i == j || !same || rate > 0);
            across      = across && (same || rate > 0);
            any         = any || rate > 0;
            any_across  = any_across || (!same && rate > 0);
            least_Bps   = rate > 0 ? fmin(least_Bps, rate) : least_Bps;
            most_Bps    = fmax(most_Bps, rate);
        }
    }
    *rate_Bps_p = is_network ? most_Bps : least_Bps;
    if (m->nvswitch_Bps > 0) {
        *rate_Bps_p = m->nvswitch_Bps;
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
    ports->mesh    = mesh_of(m, g, ports->sockets, is_network, &nvlink_Bps);
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
