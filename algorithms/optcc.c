/* SPDX-License-Identifier: GPL-3.0-or-later */
/* OptCC: AllReduce around slow NICs, close to the lower bound.
 *
 * The m slow servers are taken out of the ring; every section of the buffer is reduced around the
 * ring of the H = p - m healthy ones (stage S1), the slow servers' contributions go straight to
 * the section's owner (S3) and the final value comes straight back (S2), while it goes around the
 * ring (S4). The transfers are in pattern/optcc_stream.h, the variants for one slow server (special
 * section, bubbles, ramp) and all numbers in pattern/optcc_shape.h, the choice among them by
 * predicted time in pattern/optcc_time.h.
 *
 * A server is slow when its NICs are slow for the whole run. Where the plain ring on the degraded
 * servers is predicted to be faster, or where no server is slow or no two are healthy, the ring
 * runs instead, also when `chosen` asks for optcc: `chosen` in the result and the plan's note say
 * so.
 *
 * Source: OptCC; the schedule is this project's construction (sim/doc/optcc.md).
 */
#include "algorithms/pattern/accept.h"
#include "algorithms/pattern/optcc_stream.h"
#include "algorithms/pattern/optcc_time.h"
#include "algorithms/pattern/ring_pass.h"
#include "base/alloc.h"
#include "base/fault.h"

#include <math.h>

enum { CHOSEN_AUTO, CHOSEN_OPTCC, CHOSEN_RING, MAX_SLOW = 4096 };

/* What a result says where the plain ring runs. */
#define RING_INSTEAD "optcc: the plain ring runs instead, in which there are no segments: "
static const char RING_WITHOUT_SLOW[]  = RING_INSTEAD "no server's NIC is slow for the whole run";
static const char RING_OF_FEW[]        = RING_INSTEAD "fewer than two servers are healthy";
static const char RING_FOR_FEW_BYTES[] = RING_INSTEAD "the buffer has too few bytes for sections";
static const char RING_IS_FASTER[]     = RING_INSTEAD "it is predicted to be faster";

typedef struct optcc_options {
    uint32_t segments, rounds, sections, ramp;
    int      bubbles; /* auto, on, off */
    uint32_t copies;
    int      chosen;
} optcc_options;

static const cs_option optcc_table[] = {
    CS_OPTION_AUTO(optcc_options, segments, 1, 1 << 20, "the paper's k: sections over p - 1"),
    CS_OPTION_AUTO(optcc_options, rounds, 1, 1 << 20,
                   "rounds of p - m - 1 sections; beats segments"),
    CS_OPTION_AUTO(optcc_options, sections, 1, 1 << 24,
                   "any number of sections (of a copy and GPU); beats rounds"),
    CS_OPTION_AUTO(optcc_options, ramp, 0, CS_OPTCC_MAX_RAMP, "smaller rounds at each end, l < 2"),
    CS_OPTION_CHOICE(optcc_options, bubbles, "auto|on|off",
                     "use the slow server's idle time, l < 2"),
    CS_OPTION_AUTO(optcc_options, copies, 1, CS_OPTCC_MAX_COPIES,
                   "interleaved copies; more than 1 hide a latency that holds no port (loggp)"),
    CS_OPTION_CHOICE(optcc_options, chosen, "auto|optcc|ring", "what runs; auto: the faster one"),
    CS_OPTION_END,
};

typedef struct optcc {
    cs_optcc_stream stream;
    cs_ring_pass    ring; /* when the ring was chosen */
    bool            is_ring;
    uint32_t       *slow;    /* [m] slow servers, ascending */
    uint32_t       *healthy; /* [H] servers of the nodes */
} optcc;

/* The slow servers and their slowdowns, ascending. Returns how many; arrays may be NULL. O(faults
 * squared), which are few, and sorted by server. */
static uint32_t find_slow(const cs_scenario *scenario, uint32_t *servers, double *ratios)
{
    uint32_t count = 0, next = 0;

    for (size_t i = 0; i < scenario->n_faults && count < MAX_SLOW; i++) {
        uint32_t server = scenario->faults[i].rank / scenario->cluster.gpus_per_server;
        if (server < next) {
            continue;
        }
        next         = server + 1;
        double ratio = cs_slow_ratio_always(scenario, server);
        if (ratio > 1) {
            if (servers != NULL) {
                servers[count] = server;
            }
            if (ratios != NULL) {
                ratios[count] = ratio;
            }
            count++;
        }
    }
    return count;
}

static cs_optcc_setting setting_of(const cs_scenario *scenario, const double *ratios, uint32_t m)
{
    const cs_fabric *nic    = &scenario->cluster.fabrics[CS_NIC];
    const cs_fabric *nvlink = &scenario->cluster.fabrics[CS_NVLINK];
    uint32_t         g      = scenario->cluster.gpus_per_server;

    cs_optcc_setting t = {.p                 = cs_n_servers(&scenario->cluster),
                          .m                 = m,
                          .slow_ratio        = ratios,
                          .largest_ratio     = 1,
                          .bytes             = scenario->bytes / g,
                          .alpha_s           = nic->alpha_s,
                          .s_per_byte        = 1 / nic->bandwidth_Bps,
                          .gpus_per_server   = g,
                          .nvlink_s_per_byte = 1 / nvlink->bandwidth_Bps,
                          .nvlink_alpha_s    = nvlink->alpha_s};
    for (uint32_t i = 0; i < m; i++) {
        t.largest_ratio = fmax(t.largest_ratio, ratios[i]);
        t.sum_ratio += ratios[i];
    }
    return t;
}

/* Does the user say how many sections there are? */
static bool is_fixed(const optcc_options *o)
{
    return o->segments != CS_AUTO || o->rounds != CS_AUTO || o->sections != CS_AUTO;
}

/* The shape that the options ask for, or the best one; 0 where nothing is asked for. */
static cs_optcc_wish wish_of(const cs_optcc_setting *setting, const optcc_options *o)
{
    cs_optcc_wish wish = {.ramp = o->ramp, .bubbles = o->bubbles};

    if (o->sections != CS_AUTO) {
        wish.sections = o->sections;
    } else if (o->rounds != CS_AUTO) {
        wish.rounds = o->rounds;
    } else if (o->segments != CS_AUTO) {
        wish.rounds = cs_optcc_rounds_of_segments(setting->p, setting->m, o->segments);
    }
    return wish;
}

/* Resolve the options of a scenario in which OptCC can run. */
static cs_optcc_shape choose_shape(const cs_optcc_setting *setting, optcc_options *o)
{
    cs_optcc_wish  wish  = wish_of(setting, o);
    cs_optcc_shape shape = cs_optcc_choose(setting, &wish);

    if (o->chosen == CHOSEN_AUTO) {
        bool ring_wins =
            !is_fixed(o) && cs_optcc_ring_s(setting) < cs_optcc_predict_s(setting, &shape);
        o->chosen = ring_wins ? CHOSEN_RING : CHOSEN_OPTCC;
    }
    o->rounds   = shape.rounds;
    o->sections = shape.n_sections;
    o->segments = (uint32_t)((uint64_t)shape.rounds * (shape.H - 1) / shape.H);
    o->segments = o->segments > 0 ? o->segments : 1;
    o->ramp     = shape.ramp;
    o->bubbles  = shape.has_bubbles ? 1 : 2;
    o->copies   = o->copies == CS_AUTO ? 1 : o->copies;
    return shape;
}

/* The ring instead: `why`, or NULL where that is what was asked for. */
static cs_status fall_back(const cs_scenario *scenario, optcc_options *o, const char *why,
                           cs_plan *plan)
{
    uint32_t n = scenario->cluster.n_ranks;

    o->chosen   = CHOSEN_RING;
    o->segments = o->rounds = o->sections = o->ramp = 0;
    o->copies                                       = 1;
    o->bubbles                                      = 2;
    *plan                                           = (cs_plan){.n_chunks             = n,
                                                                .n_slots              = 2,
                                                                .n_rounds             = 2 * (n - 1),
                                                                .uses                 = cs_uses_nvlink(&scenario->cluster),
                                                                .is_round_synchronous = true,
                                                                .note                 = why};
    return CS_OK;
}

/* The finals of the last position still have to get out to the GPUs of the server. */
static cs_optcc_shape lengthen(cs_optcc_shape shape, const cs_scenario *scenario)
{
    shape.last_position += scenario->cluster.gpus_per_server > 1;
    return shape;
}

static cs_status make_plan(const cs_scenario *scenario, const cs_optcc_shape *shape,
                           uint32_t copies, cs_plan *plan, cs_error *err)
{
    uint32_t g      = scenario->cluster.gpus_per_server;
    uint64_t chunks = (uint64_t)copies * g * shape->n_chunks;
    uint64_t slots  = (uint64_t)copies * cs_optcc_slots(shape, 1);

    if (chunks > scenario->bytes || chunks > UINT32_MAX / 2) {
        return CS_FAIL(err, CS_EINVAL, "algorithm.options.segments",
                       "%llu sections of %llu bytes: fewer segments are accepted",
                       (unsigned long long)chunks, (unsigned long long)scenario->bytes);
    }
    *plan = (cs_plan){.n_chunks      = cs_optcc_chunks(shape, g, copies),
                      .n_slots       = (uint32_t)slots,
                      .n_rounds      = cs_optcc_positions(shape, copies),
                      .uses          = CS_USES_JOIN | cs_uses_nvlink(&scenario->cluster),
                      .chunks_differ = true};
    return cs_accept_slots(scenario, "optcc", slots, err);
}

/* Refuse more sections than bytes before anything is counted in 32 bits. */
static cs_status check_sections(const cs_optcc_setting *t, const optcc_options *o, cs_error *err)
{
    cs_optcc_wish wish     = wish_of(t, o);
    uint64_t      rounds   = wish.rounds > 1 ? wish.rounds : 0; /* the first is not full */
    uint64_t      sections = wish.sections > 0 ? wish.sections : rounds * (t->p - t->m - 1);

    if (sections > t->bytes || sections > UINT32_MAX / 64) {
        return CS_FAIL(err, CS_EINVAL, "algorithm.options.segments",
                       "%llu sections of %llu bytes: fewer segments are accepted",
                       (unsigned long long)sections, (unsigned long long)t->bytes);
    }
    return CS_OK;
}

/* Choose and plan where there is something to go around and somebody to do it. */
static cs_status plan_detour(const cs_scenario *scenario, const cs_optcc_setting *setting,
                             optcc_options *o, cs_plan *plan, cs_error *err)
{
    bool      fixed = is_fixed(o), by_user = o->chosen == CHOSEN_RING;
    cs_status status = check_sections(setting, o, err);

    if (status != CS_OK) {
        return status;
    }
    cs_optcc_shape shape = lengthen(choose_shape(setting, o), scenario);
    uint64_t       parts = (uint64_t)shape.n_chunks * o->copies * setting->gpus_per_server;
    if (o->chosen == CHOSEN_RING) {
        return fall_back(scenario, o, by_user ? NULL : RING_IS_FASTER, plan);
    }
    if (!fixed && parts > scenario->bytes) {
        return fall_back(scenario, o, RING_FOR_FEW_BYTES, plan);
    }
    return make_plan(scenario, &shape, o->copies, plan, err);
}

static cs_status optcc_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                             cs_error *err)
{
    optcc_options *o = options;
    double         ratios[MAX_SLOW];
    uint32_t       p = cs_n_servers(&scenario->cluster), m = find_slow(scenario, NULL, ratios);
    cs_status      status = cs_accept_collective(scenario, "optcc", 1u << CS_ALLREDUCE, err);

    if (status != CS_OK) {
        return status;
    }
    if (m == p && p > 1) {
        return CS_FAIL(err, CS_ENOTSUP, "faults",
                       "all %u servers are slow; optcc needs two that are not", p);
    }
    if (m == 0 || p < m + 2) { /* with one server no NIC is used */
        return fall_back(scenario, o, m == 0 ? RING_WITHOUT_SLOW : RING_OF_FEW, plan);
    }
    if (m == MAX_SLOW) {
        return CS_FAIL(err, CS_ENOTSUP, "faults", "optcc accepts fewer than %d slow servers",
                       MAX_SLOW);
    }
    cs_optcc_setting setting = setting_of(scenario, ratios, m);
    return plan_detour(scenario, &setting, o, plan, err);
}

static void optcc_close(void *state)
{
    optcc *s = state;

    if (s != NULL) {
        cs_free(s->slow);
        cs_free(s->healthy);
        cs_free(s);
    }
}

/* Which server is which node. */
static cs_status number_servers(optcc *s, const cs_scenario *scenario, uint32_t m)
{
    uint32_t p = cs_n_servers(&scenario->cluster), nodes = 0, next = 0;

    s->slow    = CS_NEW(uint32_t, m + 1);
    s->healthy = CS_NEW(uint32_t, p);
    if (s->slow == NULL || s->healthy == NULL) {
        return CS_ENOMEM;
    }
    find_slow(scenario, s->slow, NULL);
    for (uint32_t r = 0; r < p; r++) {
        if (next < m && s->slow[next] == r) {
            next++;
        } else {
            s->healthy[nodes++] = r;
        }
    }
    return CS_OK;
}

static cs_status begin_stream(optcc *s, const cs_scenario *scenario, const optcc_options *o,
                              cs_error *err)
{
    double           ratios[MAX_SLOW];
    uint32_t         m       = find_slow(scenario, NULL, ratios);
    cs_optcc_setting setting = setting_of(scenario, ratios, m);
    cs_optcc_shape   shape = cs_optcc_shape_for(&setting, 0, o->sections, o->ramp, o->bubbles == 1);

    if (number_servers(s, scenario, m) != CS_OK) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for optcc over %u servers",
                       cs_n_servers(&scenario->cluster));
    }
    s->stream = (cs_optcc_stream){.cluster = &scenario->cluster,
                                  .shape   = lengthen(shape, scenario),
                                  .bytes   = scenario->bytes,
                                  .gpus    = scenario->cluster.gpus_per_server,
                                  .copies  = o->copies,
                                  .slow    = s->slow,
                                  .healthy = s->healthy};
    cs_optcc_begin(&s->stream);
    return CS_OK;
}

static cs_status optcc_open(const cs_scenario *scenario, const void *options, void **state_p,
                            cs_error *err)
{
    const optcc_options *o      = options;
    optcc               *s      = CS_NEW(optcc, 1);
    uint32_t             n      = scenario->cluster.n_ranks;
    cs_status            status = CS_OK;

    if (s == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for optcc");
    }
    s->is_ring = o->chosen == CHOSEN_RING;
    s->ring    = (cs_ring_pass){.cluster   = &scenario->cluster,
                                .m         = n,
                                .skip      = CS_RING_ALL,
                                .bytes     = scenario->bytes,
                                .end_step  = 2 * (n - 1),
                                .last_slot = CS_RING_SLOT,
                                .keep_slot = CS_RING_SLOT,
                                .is_final  = true};
    if (!s->is_ring) {
        status = begin_stream(s, scenario, o, err);
    }
    if (status != CS_OK) {
        optcc_close(s);
        return status;
    }
    *state_p = s;
    return CS_OK;
}

static void optcc_next_block(void *state, cs_block *block)
{
    optcc *s = state;

    block->count = 0;
    if (s->is_ring) {
        cs_ring_pass_next(&s->ring, block);
    } else {
        cs_optcc_next(&s->stream, block);
    }
}

const cs_algorithm cs_algorithm_optcc = {
    .name          = "optcc",
    .summary       = "AllReduce around slow NICs: a ring of the healthy, short cuts for the slow",
    .source        = "OptCC; own construction, sim/doc/optcc.md",
    .collectives   = 1u << CS_ALLREDUCE,
    .options       = optcc_table,
    .options_bytes = sizeof(optcc_options),
    .check         = optcc_check,
    .open          = optcc_open,
    .next_block    = optcc_next_block,
    .close         = optcc_close,
};
