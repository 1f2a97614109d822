/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/stragglar/servers_time.h"

#include "algorithms/lib/accept.h"
#include "algorithms/stragglar/rail.h"

#include <math.h>

cs_servers_pace cs_servers_pace_of(const cs_scenario *scenario)
{
    const cs_cluster *c       = &scenario->cluster;
    const cs_fabric  *nic     = &c->fabrics[CS_NIC];
    const cs_fabric  *nvlink  = &c->fabrics[CS_NVLINK];
    uint32_t          l       = c->gpus_per_server;
    bool              is_mesh = nvlink->kind == CS_DIRECT && cs_links_at_once(c, CS_NVLINK) > 1;

    return (cs_servers_pace){.servers        = cs_n_servers(c),
                             .locals         = l,
                             .phase_slots    = is_mesh ? 2 : l,
                             .pass_slots     = is_mesh ? 1 : l - 1,
                             .bytes          = (double)scenario->bytes,
                             .nic_alpha_s    = nic->alpha_s,
                             .nic_s_per_byte = cs_largest_slowdown(scenario) / nic->bandwidth_Bps,
                             .nvlink_alpha_s = nvlink->alpha_s,
                             .nvlink_s_per_byte = 1 / cs_least_Bps(c, CS_NVLINK)};
}

static double chunk_bytes(const cs_servers_pace *p, uint32_t chunks)
{
    return p->bytes / ((double)p->locals * chunks);
}

static double step_s(const cs_servers_pace *p, uint32_t chunks)
{
    return p->nic_alpha_s + chunk_bytes(p, chunks) * p->nic_s_per_byte;
}

static double slot_s(const cs_servers_pace *p, uint32_t chunks)
{
    return p->nvlink_alpha_s + chunk_bytes(p, chunks) * p->nvlink_s_per_byte;
}

static double above(uint32_t a, uint32_t b)
{
    return a > b ? a - b : 0;
}

double cs_servers_main_s(const cs_servers_pace *p, const cs_servers_shape *shape)
{
    uint32_t chunks = shape->chunks, q = cs_log2_ceil(p->servers);
    double   step = step_s(p, chunks), slot = slot_s(p, chunks);
    double   ends = 2.0 * p->pass_slots + (q == 1 ? above(p->phase_slots, 4) : 0);

    if (shape->halves) { /* server s has its last final value in the last round */
        ends += 1 + above(p->phase_slots, 4);
    }
    if (shape->is_tree) {
        double parts = (p->locals - 1.0) * chunk_bytes(p, 1);
        return 2 * (cs_log2_ceil(p->locals) * p->nvlink_alpha_s + parts * p->nvlink_s_per_byte) +
               q * step;
    }
    return cs_rail_rounds(p->servers, chunks, shape->halves) * fmax(step, p->phase_slots * slot) +
           ends * slot;
}

/* The ring of M servers: g = ceil(C / M) groups of chunks, of which the last has `rest`. */
static double ring_s(const cs_servers_pace *p, uint32_t chunks, double step, double pass)
{
    double m = p->servers - 1.0, groups = ceil(chunks / m), rest = chunks - (groups - 1) * m;
    double j      = fmin(m - 1, chunks);
    double nics   = pass + groups * (m - 1) * step;
    double change = j * pass + ((groups - 1) * (m - 1) + m - j) * step;
    double late   = ((groups - 1) * m + 1) * pass + (m - 1) * step;
    double inside = chunks * pass + fmax(1, m - rest) * step;

    return fmax(fmax(nics, change), fmax(late, inside));
}

double cs_servers_pre_s(const cs_servers_pace *p, const cs_servers_shape *shape)
{
    uint32_t chunks = shape->chunks;
    double   step = step_s(p, chunks), slot = slot_s(p, chunks), pass = p->pass_slots * slot;
    double   mates = chunks * pass + above(p->locals, 3) * slot;

    if (p->servers == 2) {
        return mates;
    }
    if (p->servers == 3 && !shape->halves) {
        return fmax(mates, fmax(chunks * step + pass, chunks * pass + step));
    }
    return fmax(mates, ring_s(p, chunks, step, pass));
}

bool cs_servers_is_exact(const cs_servers_pace *p, const cs_servers_shape *shape)
{
    bool is_switch = p->pass_slots == p->locals - 1;
    return is_switch && (shape->is_tree ||
                         (p->servers > 2 && !shape->halves &&
                          step_s(p, shape->chunks) >= p->phase_slots * slot_s(p, shape->chunks)));
}

double cs_servers_end_s(const cs_servers_pace *pace, const cs_servers_shape *shape, double early_s,
                        double late_s)
{
    return fmax(early_s + cs_servers_pre_s(pace, shape), late_s) + cs_servers_main_s(pace, shape);
}

void cs_servers_set_best_chunks(const cs_servers_pace *pace, uint32_t most, double early_s,
                                double late_s, cs_servers_shape *shape)
{
    cs_servers_shape tried  = *shape;
    double           best_s = (double)INFINITY;

    most = most < CS_SERVERS_MOST_AUTO ? most : CS_SERVERS_MOST_AUTO;
    most = shape->is_tree ? 1 : most;
    for (uint32_t chunks = 1; chunks <= most; chunks++) {
        tried.chunks = chunks;
        if (chunks > 1 && chunks < cs_rail_least_chunks(pace->servers)) {
            continue;
        }
        double this_s = cs_servers_end_s(pace, &tried, early_s, late_s);
        if (this_s < best_s) {
            *shape = tried;
            best_s = this_s;
        }
    }
}
