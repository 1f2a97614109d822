/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/stragglar/servers_time.h"

#include "algorithms/lib/accept.h"
#include "algorithms/stragglar/rail.h"

#include "cs/model.h"

#include <math.h>

cs_servers_pace cs_servers_pace_of(const cs_scenario *scenario)
{
    const cs_cluster *c       = &scenario->cluster;
    const cs_fabric  *nic     = &c->fabrics[CS_NIC];
    const cs_fabric  *nvlink  = &c->fabrics[CS_NVLINK];
    bool              is_mesh = nvlink->kind == CS_DIRECT && cs_links_at_once(c, CS_NVLINK) > 1;
    bool              shares  = c->topology != NULL && c->nic_sharers > 1;

    return (cs_servers_pace){.servers        = cs_n_servers(c),
                             .locals         = c->gpus_per_server,
                             .is_mesh        = is_mesh,
                             .nic_sharers    = shares ? c->nic_sharers : 1,
                             .bytes          = (double)scenario->bytes,
                             .nic_alpha_s    = nic->alpha_s,
                             .nic_s_per_byte = cs_largest_slowdown(scenario) / nic->bandwidth_Bps,
                             .nvlink_alpha_s = nvlink->alpha_s,
                             .nvlink_s_per_byte = 1 / cs_least_Bps(c, CS_NVLINK)};
}

/* Of the largest. */
static double chunk_bytes(const cs_servers_pace *p, const cs_servers_shape *shape)
{
    return ceil(p->bytes / ((double)shape->gateways * shape->chunks));
}

/* A NIC that several gateways share takes their chunks side by side. */
static double step_s(const cs_servers_pace *p, const cs_servers_shape *shape)
{
    double at_once = fmax(1, (double)shape->gateways * p->nic_sharers / p->locals);
    return p->nic_alpha_s + at_once * chunk_bytes(p, shape) * p->nic_s_per_byte;
}

static double slot_s(const cs_servers_pace *p, const cs_servers_shape *shape)
{
    return p->nvlink_alpha_s + chunk_bytes(p, shape) * p->nvlink_s_per_byte;
}

static double above(uint32_t a, uint32_t b)
{
    return a > b ? a - b : 0;
}

/* To send a chunk to each of its mates, or to get one of each. */
static double pass_slots(const cs_servers_pace *p)
{
    return p->is_mesh ? 1 : p->locals - 1;
}

/* Is there one late rank, which uses no NIC? */
static bool is_beside(const cs_servers_pace *p, const cs_servers_shape *shape)
{
    return shape->late.most == 1 && shape->gateways < p->locals;
}

/* Of a late server's NVLink beside a round. */
static double phase_slots(const cs_servers_pace *p, const cs_servers_shape *shape)
{
    double l = p->locals, mixed = shape->late.most_mixed;

    if (p->is_mesh) {
        return 2;
    }
    if (is_beside(p, shape)) {
        return fmax(shape->gateways, l - 1);
    }
    if (shape->form == CS_SERVERS_DIRECT || shape->late.most > mixed) {
        return 2 * (l - 1);
    }
    return l - 1 + mixed;
}

/* Slots before round 0 and behind the last one. */
static double end_slots(const cs_servers_pace *p, const cs_servers_shape *shape)
{
    uint32_t k         = shape->late.most;
    bool     is_direct = shape->form == CS_SERVERS_DIRECT || k > shape->late.most_mixed;
    double ends = is_beside(p, shape) ? 2 * pass_slots(p) + 1 : (is_direct ? 3 : 2) * pass_slots(p);

    if (!is_direct && !p->is_mesh) {
        ends += k - 1 + (cs_log2_ceil(p->servers) == 1 ? above(p->locals, k + 3) : 0);
    }
    if (shape->halves) { /* the late server has its last final value in the last round */
        ends += 1 + above((uint32_t)phase_slots(p, shape), 4);
    }
    return ends;
}

static double rounds_of(const cs_servers_pace *p, const cs_servers_shape *shape)
{
    double n = p->servers, k = shape->late.servers;

    return fmax(cs_rail_rounds(p->servers, shape->chunks, shape->halves),
                k > 1 ? ceil(shape->chunks * (n + k - 1) / n) : 0);
}

double cs_servers_main_s(const cs_servers_pace *p, const cs_servers_shape *shape)
{
    double step = step_s(p, shape), slot = slot_s(p, shape);

    if (shape->form == CS_SERVERS_TREE) {
        double parts = (p->locals - 1.0) * chunk_bytes(p, shape);
        return 2 * (cs_log2_ceil(p->locals) * p->nvlink_alpha_s + parts * p->nvlink_s_per_byte) +
               cs_log2_ceil(p->servers) * step;
    }
    return rounds_of(p, shape) * fmax(step, phase_slots(p, shape) * slot) +
           end_slots(p, shape) * slot;
}

/* The ring of E early servers: g = ceil(C / E) groups of chunks, of which the last has `rest`. */
static double ring_s(double early, uint32_t chunks, double step, double pass)
{
    double groups = ceil(chunks / early), rest = chunks - (groups - 1) * early;
    double j      = fmin(early - 1, chunks);
    double nics   = pass + groups * (early - 1) * step;
    double change = j * pass + ((groups - 1) * (early - 1) + early - j) * step;
    double late   = ((groups - 1) * early + 1) * pass + (early - 1) * step;
    double inside = chunks * pass + fmax(1, early - rest) * step;

    return fmax(fmax(nics, change), fmax(late, inside));
}

/* The early GPUs of a late server: what each sends of every chunk to the others. */
static double mates_s(const cs_servers_pace *p, const cs_servers_shape *shape, double slot)
{
    double k = shape->late.most_mixed, early = p->locals - k, chunks = shape->chunks;

    if (k == 0) {
        return 0;
    }
    if (shape->form != CS_SERVERS_DIRECT || is_beside(p, shape)) {
        return (chunks * pass_slots(p) + above(p->locals, 3)) * slot;
    }
    double sums = (early - 1) * (chunks + fmin(2 * k / early, ceil(k / early)) * chunks);
    return (p->is_mesh ? chunks * (1 + k) : sums + p->locals) * slot;
}

double cs_servers_pre_s(const cs_servers_pace *p, const cs_servers_shape *shape)
{
    uint32_t chunks = shape->chunks, early = p->servers - shape->late.servers;
    double   step = step_s(p, shape), slot = slot_s(p, shape), pass = pass_slots(p) * slot;
    double   mates = mates_s(p, shape, slot);

    if (early == 1) {
        return fmax(mates, chunks * pass);
    }
    if (p->servers == 3 && !shape->halves) {
        return fmax(mates, fmax(chunks * step + pass, chunks * pass + step));
    }
    return fmax(mates, ring_s(early, chunks, step, pass));
}

bool cs_servers_is_exact(const cs_servers_pace *p, const cs_servers_shape *shape)
{
    return !p->is_mesh && shape->late.count == 1 &&
           (shape->form == CS_SERVERS_TREE ||
            (shape->form == CS_SERVERS_CHAIN && p->servers > 2 && !shape->halves &&
             step_s(p, shape) >= phase_slots(p, shape) * slot_s(p, shape)));
}

double cs_servers_end_s(const cs_servers_pace *pace, const cs_servers_shape *shape)
{
    return fmax(shape->late.early_s + cs_servers_pre_s(pace, shape), shape->late.last_s) +
           cs_servers_main_s(pace, shape);
}

/* A late rank sends its own to all gateways but one, one after the other. Of the last one's rail no
 * round begins before it has come; the last final value goes to L - 1 mates. (Halves: a round is
 * empty, and the late server completes the last one.) */
double cs_servers_least_s(const cs_servers_pace *pace, const cs_servers_shape *shape)
{
    double          chunks = (double)shape->gateways * shape->chunks;
    double          rounds = cs_rail_rounds(pace->servers, shape->chunks, shape->halves);
    double          raws = pace->is_mesh ? 1 : shape->gateways - 1.0, finals = pass_slots(pace);
    double          start_s = fmax(shape->late.early_s, shape->late.last_s);
    cs_servers_pace p       = *pace;

    p.bytes = floor(pace->bytes / chunks) * chunks; /* all chunks are like the smallest */
    if (shape->form == CS_SERVERS_TREE) {
        return start_s + cs_servers_main_s(&p, shape);
    }
    if (shape->late.servers > 1) {
        return start_s + shape->chunks * step_s(&p, shape);
    }
    return shape->halves
               ? start_s + raws * slot_s(&p, shape) + (rounds - 1) * step_s(&p, shape)
               : start_s + (raws + finals) * slot_s(&p, shape) + rounds * step_s(&p, shape);
}

bool cs_servers_is_bound(const cs_scenario *scenario, const cs_servers_shape *shape)
{
    const cs_forecast *f = scenario->forecast;

    return shape->late.count == 1 && shape->form != CS_SERVERS_DIRECT && f != NULL &&
           cs_closed_forms_hold(f->model, scenario, f->model_options, 0) &&
           scenario->n_capacity == 0 && scenario->cluster.fabrics[CS_NVLINK].kind == CS_SWITCHED;
}

double cs_servers_closed_form_s(const cs_scenario *scenario, const cs_servers_shape *shape)
{
    const cs_cluster     *c = &scenario->cluster;
    const cs_servers_pace p = cs_servers_pace_of(scenario);

    if (!cs_nics_are_even(scenario) || c->servers != NULL || c->sockets > 1 ||
        c->fabrics[CS_NVLINK].kind != CS_SWITCHED ||
        scenario->bytes % ((uint64_t)p.locals * shape->chunks) != 0 ||
        !cs_servers_is_exact(&p, shape) ||
        shape->late.early_s + cs_servers_pre_s(&p, shape) > shape->late.last_s) {
        return (double)NAN;
    }
    return shape->late.last_s + cs_servers_main_s(&p, shape);
}

/* From here on more chunks make the rounds longer. */
static double turning_chunks(const cs_servers_pace *p, const cs_servers_shape *shape)
{
    double q = cs_log2_ceil(p->servers), x_s = p->bytes / shape->gateways * p->nic_s_per_byte;
    return sqrt(q * x_s * p->nic_sharers / fmax(p->nic_alpha_s, 1e-12));
}

void cs_servers_set_best_chunks(const cs_servers_pace *pace, uint32_t most, cs_servers_shape *shape)
{
    cs_servers_shape tried   = *shape;
    double           best_s  = (double)INFINITY;
    double           turning = turning_chunks(pace, shape);

    most = most < CS_SERVERS_MOST_AUTO ? most : CS_SERVERS_MOST_AUTO;
    most = shape->form == CS_SERVERS_TREE ? 1 : most;
    for (uint32_t chunks = 1; chunks <= most; chunks++) {
        tried.chunks = chunks;
        if (chunks > 1 && chunks < cs_rail_least_chunks(pace->servers)) {
            continue;
        }
        if (chunks > turning && cs_servers_least_s(pace, &tried) >= best_s) {
            break;
        }
        double this_s = cs_servers_end_s(pace, &tried);
        if (this_s < best_s) {
            *shape = tried;
            best_s = this_s;
        }
    }
}

cs_fabric cs_servers_port(const cs_servers_pace *p, const cs_servers_shape *shape)
{
    double slots   = phase_slots(p, shape);
    double at_once = fmax(1, (double)shape->gateways * p->nic_sharers / p->locals);

    return (cs_fabric){.kind    = CS_SWITCHED,
                       .alpha_s = fmax(p->nic_alpha_s, slots * p->nvlink_alpha_s),
                       .bandwidth_Bps =
                           1 / fmax(at_once * p->nic_s_per_byte, slots * p->nvlink_s_per_byte)};
}
