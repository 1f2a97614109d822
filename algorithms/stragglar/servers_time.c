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

double cs_servers_main_s(const cs_servers_pace *p, uint32_t chunks)
{
    double   step = step_s(p, chunks), slot = slot_s(p, chunks);
    uint32_t q    = cs_log2_ceil(p->servers);
    double   ends = 2.0 * p->pass_slots + (q == 1 ? above(p->phase_slots, 4) : 0);

    return (chunks - 1.0 + q) * fmax(step, p->phase_slots * slot) + ends * slot;
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

double cs_servers_pre_s(const cs_servers_pace *p, uint32_t chunks)
{
    double step = step_s(p, chunks), slot = slot_s(p, chunks), pass = p->pass_slots * slot;
    double mates = chunks * pass + above(p->locals, 3) * slot;

    switch (p->servers) {
    case 2: return mates;
    case 3: return fmax(mates, fmax(chunks * step + pass, chunks * pass + step));
    default: return fmax(mates, ring_s(p, chunks, step, pass));
    }
}

bool cs_servers_is_exact(const cs_servers_pace *p, uint32_t chunks)
{
    return p->servers > 2 && p->phase_slots == p->locals &&
           step_s(p, chunks) >= p->phase_slots * slot_s(p, chunks);
}

double cs_servers_end_s(const cs_servers_pace *pace, uint32_t chunks, double early_s, double late_s)
{
    return fmax(early_s + cs_servers_pre_s(pace, chunks), late_s) + cs_servers_main_s(pace, chunks);
}

uint32_t cs_servers_best_chunks(const cs_servers_pace *pace, uint32_t most, double early_s,
                                double late_s)
{
    uint32_t best   = 1;
    double   best_s = cs_servers_end_s(pace, 1, early_s, late_s);

    most = most < CS_SERVERS_MOST_AUTO ? most : CS_SERVERS_MOST_AUTO;
    for (uint32_t chunks = cs_rail_least_chunks(pace->servers); chunks <= most; chunks++) {
        double this_s = cs_servers_end_s(pace, chunks, early_s, late_s);
        if (this_s < best_s) {
            best   = chunks;
            best_s = this_s;
        }
    }
    return best;
}
