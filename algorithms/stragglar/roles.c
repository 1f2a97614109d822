/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/stragglar/roles.h"

#include "cs/arrivals.h"

#include <math.h>

/* ---- the late ranks ---- */

static cs_status mark_last(const cs_scenario *scenario, cs_late_ranks *late, cs_arena *arena,
                           cs_error *err)
{
    uint32_t  n     = scenario->cluster.n_ranks;
    uint32_t *ranks = CS_ARENA_NEW(arena, uint32_t, n);

    if (ranks == NULL) {
        return CS_NO_MEMORY(err, "%u ranks", n);
    }
    cs_ranks_by_arrival(scenario->arrival_s, n, ranks);
    for (uint32_t i = n - late->count; i < n; i++) {
        late->is_late[ranks[i]] = true;
    }
    return CS_OK;
}

cs_status cs_late_ranks_find(const cs_scenario *scenario, uint32_t late, uint32_t count,
                             cs_arena *arena, cs_late_ranks *ranks_p, cs_error *err)
{
    const cs_cluster *c     = &scenario->cluster;
    cs_late_ranks     found = {.count     = count,
                               .of_server = CS_ARENA_NEW(arena, uint32_t, cs_n_servers(c)),
                               .is_late   = CS_ARENA_NEW(arena, bool, c->n_ranks)};

    if (found.of_server == NULL || found.is_late == NULL) {
        return CS_NO_MEMORY(err, "%u ranks", c->n_ranks);
    }
    if (count == 1) {
        found.is_late[late] = true;
    } else {
        CS_TRY(mark_last(scenario, &found, arena, err));
    }
    for (uint32_t r = 0; r < c->n_ranks; r++) {
        double *last_s = found.is_late[r] ? &found.last_s : &found.early_s;
        *last_s        = fmax(*last_s, cs_arrival(scenario, r));
        found.of_server[cs_server_of(c, r)] += found.is_late[r];
    }
    for (uint32_t v = 0; v < cs_n_servers(c); v++) {
        uint32_t k = found.of_server[v];
        found.n_servers += k > 0;
        found.most       = k > found.most ? k : found.most;
        found.most_mixed = k > found.most_mixed && k < cs_server_gpus(c, v) ? k : found.most_mixed;
    }
    *ranks_p = found;
    return CS_OK;
}

/* ---- the GPUs of a server ---- */

/* Who of them is late, and who gateway of a NIC. */
typedef struct server_view {
    uint32_t    locals, rails;
    uint32_t    begin;       /* the GPU from which they are counted */
    const bool *is_late;     /* [L], or NULL: nobody */
    uint32_t   *gate_of_nic; /* [G] number in the server */
    bool       *is_gate;     /* [L] */
    uint32_t   *label_of;    /* [L] */
} server_view;

static bool late_at(const server_view *v, uint32_t local)
{
    return v->is_late != NULL && v->is_late[local];
}

static cs_status find_gates(server_view *v, cs_arena *arena, cs_error *err)
{
    uint32_t sharers = v->locals / v->rails;

    v->gate_of_nic = CS_ARENA_NEW(arena, uint32_t, v->rails);
    v->is_gate     = CS_ARENA_NEW(arena, bool, v->locals);
    v->label_of    = CS_ARENA_NEW(arena, uint32_t, v->locals);
    if (v->gate_of_nic == NULL || v->is_gate == NULL || v->label_of == NULL) {
        return CS_NO_MEMORY(err, "%u GPUs", v->locals);
    }
    for (uint32_t nic = 0; nic < v->rails; nic++) {
        uint32_t gate = nic * sharers;
        while (gate < (nic + 1) * sharers && late_at(v, gate)) {
            gate++;
        }
        v->gate_of_nic[nic]             = gate < (nic + 1) * sharers ? gate : nic * sharers;
        v->is_gate[v->gate_of_nic[nic]] = true;
    }
    return CS_OK;
}

/* The first late GPU; 0 where nobody or everybody is late. */
static uint32_t first_late(const server_view *v)
{
    uint32_t local = 0;

    while (local < v->locals && !late_at(v, local)) {
        local++;
    }
    return local < v->locals ? local : 0;
}

/* Late gateways, other late ranks, early gateways, the others; each in the order of the GPUs from
 * `begin` on. */
static void give_labels(const server_view *v, cs_server_roles *roles)
{
    uint32_t label = 0;

    for (uint32_t kind = 0; kind < 4; kind++) {
        bool is_late = kind < 2, is_gate = kind % 2 == 0;
        for (uint32_t i = 0; i < v->locals; i++) {
            uint32_t local = (v->begin + i) % v->locals;
            if (late_at(v, local) == is_late && v->is_gate[local] == is_gate) {
                roles->local[label]             = local;
                roles->local[label + v->locals] = local;
                v->label_of[local]              = label;
                roles->n_late += is_late;
                roles->n_late_gates += is_late && is_gate;
                label++;
            }
        }
    }
    roles->n_early = v->locals - roles->n_late;
}

/* Rails are numbered by the gateways' labels where `nic_of_rail` is not filled yet. */
static void give_rails(const server_view *v, uint32_t *nic_of_rail, bool is_filled,
                       cs_server_roles *roles)
{
    uint32_t sharers = v->locals / v->rails, rail = 0;

    for (uint32_t p = 0; p < v->locals; p++) {
        roles->rail[p] = CS_NO_RAIL;
        if (!is_filled && v->is_gate[roles->local[p]]) {
            nic_of_rail[rail++] = roles->local[p] / sharers;
        }
    }
    for (rail = 0; rail < v->rails; rail++) {
        roles->gate[rail]              = v->label_of[v->gate_of_nic[nic_of_rail[rail]]];
        roles->rail[roles->gate[rail]] = rail;
    }
}

static cs_status make_server(server_view *v, uint32_t *nic_of_rail, bool is_filled, cs_arena *arena,
                             cs_server_roles *roles, cs_error *err)
{
    roles->local = CS_ARENA_NEW(arena, uint32_t, 2 * (size_t)v->locals);
    roles->gate  = CS_ARENA_NEW(arena, uint32_t, v->rails);
    roles->rail  = CS_ARENA_NEW(arena, uint32_t, v->locals);
    if (roles->local == NULL || roles->gate == NULL || roles->rail == NULL) {
        return CS_NO_MEMORY(err, "%u GPUs", v->locals);
    }
    CS_TRY(find_gates(v, arena, err));
    give_labels(v, roles);
    give_rails(v, nic_of_rail, is_filled, roles);
    return CS_OK;
}

/* ---- all servers ---- */

/* Early servers by their number, then the late ones in their order, or by their number. */
static void order_servers(const cs_scenario *scenario, const cs_late_ranks *late,
                          const uint32_t *late_order, cs_roles *roles, uint32_t *number)
{
    uint32_t early = 0, others = roles->early;

    for (uint32_t v = 0; v < roles->n; v++) {
        if (late->of_server[v] == 0) {
            number[early++] = v;
        } else {
            number[others] = late_order != NULL ? late_order[others - roles->early] : v;
            others++;
        }
    }
    for (uint32_t label = 0; label < roles->n; label++) {
        roles->first[label] = cs_server_first(&scenario->cluster, number[label]);
    }
}

static cs_status make_servers(const cs_late_ranks *late, cs_arena *arena, cs_roles *roles,
                              cs_error *err)
{
    uint32_t   *nic_of_rail = CS_ARENA_NEW(arena, uint32_t, roles->rails);
    server_view view        = {.locals = roles->locals, .rails = roles->rails};

    if (nic_of_rail == NULL) {
        return CS_NO_MEMORY(err, "%u NICs", roles->rails);
    }
    for (uint32_t i = 0; i < roles->n - roles->early; i++) {
        view.is_late = late->is_late + roles->first[roles->early + i];
        view.begin   = i == 0 ? first_late(&view) : view.begin;
        CS_TRY(make_server(&view, nic_of_rail, i > 0, arena, &roles->late_server[i], err));
    }
    view.is_late = NULL;
    return make_server(&view, nic_of_rail, true, arena, &roles->early_server, err);
}

cs_status cs_roles_make(const cs_scenario *scenario, const cs_late_ranks *late, uint32_t gateways,
                        const uint32_t *late_order, cs_arena *arena, cs_roles *roles_p,
                        cs_error *err)
{
    uint32_t  n      = cs_n_servers(&scenario->cluster);
    cs_roles  roles  = {.n           = n,
                        .early       = n - late->n_servers,
                        .locals      = scenario->cluster.gpus_per_server,
                        .rails       = gateways,
                        .first       = CS_ARENA_NEW(arena, uint32_t, n),
                        .late_server = CS_ARENA_NEW(arena, cs_server_roles, late->n_servers)};
    uint32_t *number = CS_ARENA_NEW(arena, uint32_t, n);

    if (roles.first == NULL || roles.late_server == NULL || number == NULL) {
        return CS_NO_MEMORY(err, "%u servers", n);
    }
    order_servers(scenario, late, late_order, &roles, number);
    CS_TRY(make_servers(late, arena, &roles, err));
    *roles_p = roles;
    return CS_OK;
}
