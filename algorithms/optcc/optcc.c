/* SPDX-License-Identifier: GPL-3.0-or-later */
/* OptCC: AllReduce around slow NICs, close to the lower bound.
 *
 * The m slow servers are taken out of the ring; every section of the buffer is reduced around the
 * ring of the H = p - m healthy ones (stage S1), the slow servers' contributions go straight to
 * the section's owner (S3) and the final value comes straight back (S2), while it goes around the
 * ring (S4). The transfers are in stream.h, the variants for one slow server (special section,
 * bubbles, ramp) and all numbers in shape.h, the choice among them by predicted time in time.h.
 *
 * Here: which schedule runs, or which ring instead. The slow servers are those whose NICs are slow
 * for the whole run. `auto` takes what ends first:
 *
 *   with slow servers   the best schedule around them, R2CCL, or the fastest ring (lib/fallback.h)
 *                       on the degraded NICs
 *   without             the fastest ring, or, where start-ups take a good part of its time, a
 *                       schedule around servers that are not slow, if that saves more of them
 *
 * With slow servers nothing runs that ends before what `auto` takes without a fault: predictions
 * and numbers of sections being what they are, a lucky choice of few bytes could. Predicted times
 * decide where they are far enough apart, otherwise the scenario's forecast. `chosen` in the result
 * and the plan's note say what runs.
 *
 * Source: OptCC; the schedule is this project's construction (sim/doc/optcc.md).
 */
#include "algorithms/lib/accept.h"
#include "algorithms/lib/fallback.h"
#include "algorithms/optcc/interleave.h"
#include "algorithms/optcc/stream.h"
#include "algorithms/optcc/time.h"
#include "algorithms/r2ccl/r2ccl.h"
#include "base/alloc.h"
#include "cs/capacity.h"
#include "cs/model.h"

#include <math.h>

enum {
    MOST_AROUND   = 64,     /* servers that are not slow and may be gone around */
    MOST_TRIED    = 300000, /* messages of a schedule that is replayed only to refine the choice */
    MORE_AROUND   = 4,
    MORE_SECTIONS = 4096 /* ... where a schedule ends too early */
};

static const double CLEARLY   = 1.1;  /* predictions are better than that */
static const double ROUGHLY   = 1.3;  /* ... and those of interleaved messages than that */
static const double NEARLY    = 1.05; /* ... and these are worth a replay */
static const double START_UPS = 0.02; /* so much of a ring's time is worth saving */
static const double SAME      = 1e-12;

/* What a result says of the choice. */
#define NOTES(why) CS_RINGS_NOTES("optcc", why)
static const char *const healthy_notes[] = NOTES("no server's NIC is slow for the whole run");
static const char *const few_notes[]     = NOTES("fewer than two servers are healthy");
static const char *const bytes_notes[]   = NOTES("the buffer has too few bytes for sections");
static const char *const slower_notes[]  = NOTES("it is faster than a way around the slow NICs");
static const char        r2ccl_note[] =
    "optcc: r2ccl runs instead: it ends before a ring, and before OptCC";
static const char start_ups_note[] = "optcc: no NIC is slow; a way around servers saves start-ups";

enum { CHOSEN_AUTO, CHOSEN_OPTCC, CHOSEN_R2CCL, CHOSEN_RINGS /* and on: cs_rings */ };
enum { MOST_SLOW = 4096 };
enum { LATE_AUTO, LATE_DELAY, LATE_INTERLEAVE };

typedef struct optcc_options {
    uint32_t segments, rounds, sections, ramp;
    int      bubbles; /* auto, on, off */
    uint32_t copies;
    uint32_t around; /* servers that the schedule goes around; 0: a ring runs */
    int      late;   /* of the enumeration */
    uint32_t lead;
    int      chosen;
} optcc_options;

static const cs_field table[] = {
    CS_OPTION_AUTO(optcc_options, segments, 1, 1 << 20, "the paper's k: sections over p - 1"),
    CS_OPTION_AUTO(optcc_options, rounds, 1, 1 << 20,
                   "rounds of p - m - 1 sections; overrides segments"),
    CS_OPTION_AUTO(optcc_options, sections, 1, 1 << 24,
                   "any number of sections (of a copy and GPU); overrides rounds"),
    CS_OPTION_AUTO(optcc_options, ramp, 0, CS_OPTCC_MAX_RAMP, "smaller rounds at each end, l < 2"),
    CS_OPTION_CHOICE(optcc_options, bubbles, "auto|on|off",
                     "use the slow server's idle time, l < 2"),
    CS_OPTION_AUTO(optcc_options, copies, 1, CS_OPTCC_MAX_COPIES,
                   "interleaved copies; more than 1 hide a latency that holds no port (loggp)"),
    CS_OPTION_AUTO(optcc_options, around, 1, MOST_SLOW - 1,
                   "servers that it goes around: the slow ones and, if more, the first others"),
    CS_OPTION_CHOICE(optcc_options, late, "auto|delay|interleave",
                     "with a late rank: wait for it, or let what does not need it go first"),
    CS_OPTION_AUTO(optcc_options, lead, 0, 1 << 25,
                   "sections that the sums of the healthy run ahead, if interleaved"),
    CS_OPTION_CHOICE(optcc_options, chosen, "auto|optcc|r2ccl|" CS_RINGS_CHOICES,
                     "what runs; auto: the fastest"),
    CS_FIELD_END,
};

/* ---- the servers, and what they cost ---- */

/* The `around` servers, ascending, and their slowdowns (either may be NULL): the slow ones and, if
 * these are fewer, the first of the others. `around` = 0: the slow ones. Returns how many there
 * are; MOST_SLOW means that there may be more. O(servers log(steps) + steps). */
static uint32_t servers_around(const cs_scenario *scenario, uint32_t around, uint32_t *servers,
                               double *slowdowns)
{
    uint32_t list[MOST_SLOW] = {0}, n_uneven = 0, m = 0, n = 0;
    double   slow[MOST_SLOW];

    if (!cs_nics_are_even(scenario)) {
        n_uneven = cs_n_servers(&scenario->cluster);
    }
    for (uint32_t server = 0; server < n_uneven && m < MOST_SLOW; server++) {
        list[m] = server;
        slow[m] = cs_slowdown_always(scenario, server);
        m += slow[m] > 1;
    }
    uint32_t extra = around > m ? around - m : 0, used = 0;
    for (uint32_t s = 0; s < cs_n_servers(&scenario->cluster) && (used < m || extra > 0); s++) {
        bool is_slow = used < m && list[used] == s;
        if (!is_slow && extra == 0) {
            continue;
        }
        if (servers != NULL) {
            servers[n] = s;
        }
        if (slowdowns != NULL) {
            slowdowns[n] = is_slow ? slow[used] : 1;
        }
        extra -= !is_slow;
        used += is_slow;
        n++;
    }
    return n;
}

/* Servers, slowdowns and costs of messages, as the model of the forecast has them. */
static cs_optcc_setting setting_of(const cs_scenario *scenario, const double *slowdowns, uint32_t m)
{
    const cs_forecast *f      = scenario->forecast;
    const cs_fabric   *nic    = &scenario->cluster.fabrics[CS_NIC];
    const cs_fabric   *nvlink = &scenario->cluster.fabrics[CS_NVLINK];
    uint32_t           g      = scenario->cluster.gpus_per_server;
    cs_message_cost    cost   = {.port_s = nic->alpha_s};

    if (f != NULL && f->model->message_cost != NULL) {
        cost = f->model->message_cost(scenario, f->model_options, CS_NIC);
    }
    cs_optcc_setting t = {.p                 = cs_n_servers(&scenario->cluster),
                          .m                 = m,
                          .slowdown          = slowdowns,
                          .largest_slowdown  = 1,
                          .bytes             = scenario->bytes / g,
                          .port_s            = cost.port_s,
                          .gap_s             = cost.gap_s,
                          .beyond_s          = cost.beyond_s,
                          .s_per_byte        = 1 / nic->bandwidth_Bps,
                          .gpus_per_server   = g,
                          .nvlink_s_per_byte = 1 / cs_least_Bps(&scenario->cluster, CS_NVLINK),
                          .nvlink_alpha_s    = nvlink->alpha_s,
                          .nvlink_lanes =
                              g > 1 ? cs_links_at_once(&scenario->cluster, CS_NVLINK) : 1};
    t.nvlink_lanes     = t.nvlink_lanes > 0 ? t.nvlink_lanes : 1; /* none: alone in its socket */
    for (uint32_t i = 0; i < m; i++) {
        t.largest_slowdown = fmax(t.largest_slowdown, slowdowns[i]);
        t.sum_slowdown += slowdowns[i];
    }
    return t;
}

/* The finals of the last position still have to get out to the GPUs of the server. */
static cs_optcc_shape lengthen(cs_optcc_shape shape, const cs_scenario *scenario)
{
    shape.last_position += scenario->cluster.gpus_per_server > 1;
    return shape;
}

/* The shape of resolved options that are not a ring's. */
static cs_optcc_shape resolved_shape(const cs_scenario *scenario, const optcc_options *options)
{
    double           slowdowns[MOST_SLOW];
    uint32_t         m       = servers_around(scenario, options->around, NULL, slowdowns);
    cs_optcc_setting setting = setting_of(scenario, slowdowns, m);

    return lengthen(
        cs_optcc_shape_for(&setting, 0, options->sections, options->ramp, options->bubbles == 1),
        scenario);
}

/* ---- one schedule ---- */

extern const cs_algorithm cs_algorithm_optcc;

/* Does the user say how many sections there are? */
static bool is_fixed(const optcc_options *o)
{
    return o->segments != CS_AUTO || o->rounds != CS_AUTO || o->sections != CS_AUTO;
}

/* The shape that the options ask for; 0 where nothing is asked for. */
static cs_optcc_wish wish_of(const cs_optcc_setting *setting, const optcc_options *o)
{
    cs_optcc_wish wish = {.ramp = o->ramp, .bubbles = o->bubbles, .copies = o->copies};

    if (o->sections != CS_AUTO) {
        wish.sections = o->sections;
    } else if (o->rounds != CS_AUTO) {
        wish.rounds = o->rounds;
    } else if (o->segments != CS_AUTO) {
        wish.rounds = cs_optcc_rounds_of_segments(setting->p, setting->m, o->segments);
    }
    return wish;
}

/* Refuse more sections than bytes before anything is counted in 32 bits. */
static cs_status check_sections(const cs_optcc_setting *t, const cs_optcc_wish *wish, cs_error *err)
{
    uint64_t rounds   = wish->rounds > 1 ? wish->rounds : 0; /* the first is not full */
    uint64_t sections = wish->sections > 0 ? wish->sections : rounds * (t->p - t->m - 1);

    if (sections > t->bytes || sections > UINT32_MAX / 64) {
        return CS_FAIL(err, CS_EINVAL, "algorithm.options.segments",
                       "%llu sections of %llu bytes: fewer segments are accepted",
                       (unsigned long long)sections, (unsigned long long)t->bytes);
    }
    return CS_OK;
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

/* A schedule that may run: its resolved options, and when it ends. */
typedef struct detour {
    optcc_options options;
    cs_plan       plan;
    double        time_s; /* INFINITY: it cannot run */
    bool          is_exact;
} detour;

static cs_status make_detour(const cs_scenario *scenario, const cs_optcc_pick *pick,
                             uint32_t around, detour *d, cs_error *err)
{
    cs_optcc_shape shape  = lengthen(pick->shape, scenario);
    uint32_t       rounds = shape.rounds,
             segments     = (uint32_t)((uint64_t)rounds * (shape.H - 1) / shape.H);

    *d = (detour){.options = {.segments = segments > 0 ? segments : 1,
                              .rounds   = rounds,
                              .sections = shape.n_sections,
                              .ramp     = shape.ramp,
                              .bubbles  = shape.has_bubbles ? 1 : 2,
                              .copies   = pick->copies,
                              .around   = around,
                              .late     = LATE_DELAY,
                              .chosen   = CHOSEN_OPTCC},
                  .time_s  = pick->time_s};
    return make_plan(scenario, &shape, pick->copies, &d->plan, err);
}

/* Replace a prediction by what the forecast says. */
static cs_status time_exactly(const cs_scenario *scenario, detour *d, cs_error *err)
{
    const cs_forecast *f = scenario->forecast;

    if (f == NULL || d->is_exact || isinf(d->time_s)) {
        return CS_OK;
    }
    d->is_exact = true;
    return f->elapsed_s(f, scenario, &cs_algorithm_optcc, &d->options, &d->plan, &d->time_s, err);
}

/* Are predictions made for this: a model that says what messages cost, no links, nobody late? */
static bool is_predictable(const cs_scenario *scenario)
{
    const cs_forecast *f = scenario->forecast;

    return f == NULL || (f->model->message_cost != NULL && scenario->cluster.topology == NULL &&
                         scenario->cluster.sockets <= 1 && !(cs_last_arrival(scenario) > 0) &&
                         !cs_capacity_is_single(scenario));
}

/* ---- the best way around ---- */

/* What has been asked for, and around whom. */
typedef struct search {
    const cs_scenario   *scenario;
    const optcc_options *asked;
    cs_optcc_setting     setting;
    uint32_t             around;
    double               slowdowns[MOST_SLOW];
} search;

static void begin_search(search *s, const cs_scenario *scenario, const optcc_options *asked,
                         uint32_t around)
{
    s->scenario = scenario;
    s->asked    = asked;
    s->around   = servers_around(scenario, around, NULL, s->slowdowns);
    s->setting  = setting_of(scenario, s->slowdowns, s->around);
}

/* Of the picks that are predicted to be nearly as good as the first one, have those replayed that
 * are quick, and take the best. */
static cs_status refine(const search *s, const cs_optcc_pick *picks, uint32_t n, detour *best,
                        cs_error *err)
{
    for (uint32_t i = 0; i < n && picks[i].time_s <= NEARLY * picks[0].time_s; i++) {
        uint64_t messages =
            cs_optcc_messages(&picks[i].shape) * picks[i].copies * s->setting.gpus_per_server;
        detour d;
        if (messages > MOST_TRIED ||
            make_detour(s->scenario, &picks[i], s->around, &d, NULL) != CS_OK) {
            continue;
        }
        CS_TRY(time_exactly(s->scenario, &d, err));
        if (i == 0 || d.time_s < best->time_s) {
            *best = d;
        }
    }
    return CS_OK;
}

/* The best schedule around the servers of the search. */
static cs_status find_detour(const search *s, detour *d, cs_error *err)
{
    cs_optcc_pick picks[CS_OPTCC_MOST_PICKS];
    cs_optcc_wish wish = wish_of(&s->setting, s->asked);

    CS_TRY(check_sections(&s->setting, &wish, err));
    uint32_t n     = cs_optcc_choose(&s->setting, &wish, picks);
    uint64_t parts = (uint64_t)picks[0].shape.n_chunks * picks[0].copies;
    if (!is_fixed(s->asked) && parts * s->setting.gpus_per_server > s->scenario->bytes) {
        *d = (detour){.time_s = (double)INFINITY};
        return CS_OK;
    }
    picks[0].time_s = cs_optcc_predict_s(&s->setting, &picks[0].shape, picks[0].copies);
    CS_TRY(make_detour(s->scenario, &picks[0], s->around, d, err));
    if (s->scenario->forecast != NULL && s->setting.beyond_s > 0) {
        CS_TRY(refine(s, picks, n, d, err));
    }
    return CS_OK;
}

/* ---- a late rank ---- */

static const char interleave_note[] =
    "optcc: no NIC is slow; what does not need the late rank goes first";

/* Who is late, and who is slow: nobody else, or the late rank itself. `shape` has no sections. */
static const char *late_and_slow(const cs_scenario *scenario, cs_interleave_shape *shape,
                                 double *slowdown_p)
{
    uint32_t slow[MOST_SLOW], p = cs_n_servers(&scenario->cluster);
    double   slowdowns[MOST_SLOW];
    uint32_t m = servers_around(scenario, 0, slow, slowdowns), late = cs_last_rank(scenario);

    *shape      = (cs_interleave_shape){.p        = p,
                                        .late     = late,
                                        .slow     = m == 0 ? late : slow[0],
                                        .sections = CS_AUTO,
                                        .lead     = CS_AUTO};
    *slowdown_p = m == 0 ? 1 : slowdowns[0];
    if (scenario->cluster.gpus_per_server > 1) {
        return "servers of one GPU";
    }
    if (!(cs_last_arrival(scenario) > 0)) {
        return "a late rank";
    }
    if (m > 1) {
        return "one slow NIC at most";
    }
    return cs_interleave_ring(shape) < 2 || p < 3 ? "two other ranks" : NULL;
}

/* By alpha, whatever the model says: the order must be the same when it streams. */
static cs_interleave_pace pace_of(const cs_scenario *scenario, double slowdown)
{
    const cs_fabric *nic = &scenario->cluster.fabrics[CS_NIC];

    return (cs_interleave_pace){.slowdown  = slowdown,
                                .port_s    = nic->alpha_s,
                                .buffer_s  = (double)scenario->bytes / nic->bandwidth_Bps,
                                .arrival_s = scenario->arrival_s};
}

/* Free what a schedule keeps; it cannot run any more. */
static void drop(detour *d)
{
    cs_plan_release(&cs_algorithm_optcc, &d->plan);
    *d = (detour){.time_s = (double)INFINITY};
}

/* Does the end that an order was made for hold, but for the byte by which sections differ: on ports
 * of alpha-beta that stay as they are? */
static bool is_sure(const cs_scenario *scenario)
{
    const cs_forecast *f       = scenario->forecast;
    double             alpha_s = scenario->cluster.fabrics[CS_NIC].alpha_s;

    if (f == NULL || f->model->message_cost == NULL || scenario->cluster.topology != NULL ||
        scenario->cluster.servers != NULL || scenario->cluster.sockets > 1 ||
        cs_capacity_is_single(scenario) || !cs_capacity_is_constant(scenario)) {
        return false;
    }
    const cs_message_cost cost = f->model->message_cost(scenario, f->model_options, CS_NIC);
    return !(fabs(cost.port_s - alpha_s) > 0) && !(cost.gap_s > alpha_s) && !(cost.beyond_s > 0);
}

/* The best order, kept in the plan, which is the caller's to drop(); of time INFINITY where it is
 * not to be, does not end before `until_s`, or ends before `least_s`. */
static cs_status find_order(const cs_scenario *scenario, const optcc_options *asked, uint64_t most,
                            double until_s, double least_s, detour *d, cs_error *err)
{
    cs_interleave_shape shape;
    double              slowdown;
    bool sure = is_sure(scenario), may = late_and_slow(scenario, &shape, &slowdown) == NULL;
    cs_interleave made = {.order = NULL};

    *d             = (detour){.time_s = (double)INFINITY};
    shape.sections = asked->sections;
    shape.lead     = asked->lead;
    if (!may) {
        return CS_OK;
    }
    const cs_interleave_pace pace = pace_of(scenario, slowdown);
    CS_TRY(cs_interleave_choose(&shape, &pace, scenario->bytes, most,
                                (sure ? NEARLY : ROUGHLY) * until_s, &made, err));
    if (made.order == NULL || made.end_s > ROUGHLY * until_s) {
        cs_interleave_free(&made);
        return CS_OK;
    }
    shape               = made.shape;
    *d                  = (detour){.options = {.segments = shape.sections / shape.p + 1,
                                               .rounds   = shape.sections / cs_interleave_ring(&shape) + 1,
                                               .sections = shape.sections,
                                               .bubbles  = 2,
                                               .copies   = 1,
                                               .around   = 1,
                                               .late     = LATE_INTERLEAVE,
                                               .lead     = shape.lead,
                                               .chosen   = CHOSEN_OPTCC},
                                   .plan    = cs_interleave_plan(&shape),
                                   .time_s  = made.end_s};
    cs_interleave *kept = CS_NEW(cs_interleave, 1);
    if (kept == NULL) {
        cs_interleave_free(&made);
        return CS_NO_MEMORY(err, "an order of %u sections", shape.sections);
    }
    *kept            = made;
    d->plan.prepared = kept;
    cs_status status = cs_accept_slots(scenario, "optcc", d->plan.n_slots, err);
    double    slack  = 2.0 * shape.sections / (double)scenario->bytes + 1e-6;
    bool clear = sure && made.end_s * (1 + slack) < until_s && made.end_s * (1 - slack) > least_s;
    if (status == CS_OK && !clear) {
        status = time_exactly(scenario, d, err);
    }
    if (status != CS_OK || !(d->time_s < until_s) || d->time_s < least_s * (1 - SAME)) {
        drop(d);
    }
    return status;
}

/* Is it worth a search? Not where nobody is late, the choice is the user's, or what there is ends
 * soon after what the last bytes take. */
static bool may_interleave(const cs_scenario *scenario, const optcc_options *o, double until_s)
{
    cs_interleave_shape shape;
    double              slowdown;

    if (scenario->forecast == NULL || o->late != LATE_AUTO ||
        late_and_slow(scenario, &shape, &slowdown) != NULL) {
        return false;
    }
    const cs_interleave_pace pace = pace_of(scenario, slowdown);
    /* Before that bound none ends, counted from the last arrival. */
    return until_s - cs_last_arrival(scenario) > NEARLY * slowdown * pace.buffer_s;
}

/* What was asked for. */
static cs_status resolve_interleaved(const cs_scenario *scenario, optcc_options *o, cs_plan *plan,
                                     cs_error *err)
{
    cs_interleave_shape shape;
    double              slowdown;
    const char         *lacks = late_and_slow(scenario, &shape, &slowdown);
    detour              d;

    if (lacks != NULL) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.late",
                       "interleave needs %s; accepted are auto and delay", lacks);
    }
    shape.sections    = o->sections == CS_AUTO ? cs_interleave_ring(&shape) : o->sections;
    uint64_t messages = cs_interleave_transfers(&shape);
    if (messages > CS_INTERLEAVE_MOST) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.late",
                       "interleave keeps %llu messages of %u sections and %u ranks in order; at "
                       "most %d are accepted",
                       (unsigned long long)messages, shape.sections, shape.p, CS_INTERLEAVE_MOST);
    }
    if (shape.sections > scenario->bytes) {
        return CS_FAIL(err, CS_EINVAL, "algorithm.options.sections",
                       "%u sections of %llu bytes: fewer are accepted", shape.sections,
                       (unsigned long long)scenario->bytes);
    }
    CS_TRY(find_order(scenario, o, (uint64_t)CS_INTERLEAVE_MOST * shape.p, (double)INFINITY, 0, &d,
                      err));
    if (isinf(d.time_s)) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.late",
                       "no time is known for interleaved messages; accepted are auto and delay");
    }
    *o    = d.options;
    *plan = d.plan;
    return CS_OK;
}

/* ---- the choice ---- */

static cs_status ring_instead(const cs_scenario *scenario, optcc_options *o,
                              const char *const *notes, cs_plan *plan, cs_error *err)
{
    *o = (optcc_options){.bubbles = 2, .copies = 1, .late = LATE_DELAY, .chosen = o->chosen};
    return cs_ring_instead(scenario, CHOSEN_RINGS, notes, &o->chosen, plan, err);
}

/* Without a slow server: around how many should a schedule go that is to save start-ups? 0: they
 * are not worth it, compared with a ring that takes `ring_s` once all ranks are there. */
static uint32_t servers_to_save(const cs_scenario *scenario, double ring_s)
{
    uint32_t p = cs_n_servers(&scenario->cluster), best = 0;
    double   least_s = CLEARLY * ring_s, ones[MOST_AROUND];

    for (uint32_t i = 0; i < MOST_AROUND; i++) {
        ones[i] = 1;
    }
    for (uint32_t around = 1; around + 2 <= p && around <= MOST_AROUND;
         around += around < 4 ? 1 : around) {
        const cs_optcc_setting t           = setting_of(scenario, ones, around);
        double                 start_ups_s = 2 * (p - 1) * (t.port_s + t.beyond_s);
        double time_s = start_ups_s < START_UPS * ring_s ? least_s : cs_optcc_estimate_s(&t);
        best          = time_s < least_s ? around : best;
        least_s       = fmin(least_s, time_s);
    }
    return best;
}

/* Is its replay slow, and its prediction good? */
static bool is_large(const detour *d)
{
    return (uint64_t)d->plan.n_chunks * d->plan.n_slots > MOST_TRIED;
}

/* Without a slow server: a schedule that ends before the ring, which ends at `ring_s`, if there is
 * one. */
static cs_status find_start_ups(const cs_scenario *scenario, const optcc_options *asked,
                                double ring_s, detour *best, cs_error *err)
{
    uint32_t around = servers_to_save(scenario, ring_s - cs_last_arrival(scenario));
    search   s;

    *best = (detour){.time_s = (double)INFINITY};
    if (around > 0) {
        begin_search(&s, scenario, asked, around);
        CS_TRY(find_detour(&s, best, err));
    }
    bool may_win = best->is_exact || best->time_s + cs_last_arrival(scenario) <
                                         ring_s * (is_large(best) ? 1 : CLEARLY);
    if (may_win) {
        CS_TRY(time_exactly(scenario, best, err));
    }
    if (!(may_win && best->time_s < ring_s)) {
        best->time_s = (double)INFINITY;
    }
    return CS_OK;
}

/* When R2CCL ends, or INFINITY where that is not before `until_s` or would be before `least_s`. It
 * is replayed where it may be. */
static cs_status r2ccl_end_s(const cs_scenario *scenario, double until_s, double least_s,
                             double *time_s_p, cs_error *err)
{
    static const cs_algorithm *const only[]  = {&cs_algorithm_r2ccl};
    double                           first_s = cs_last_arrival(scenario), time_s;
    uint32_t                         which;

    *time_s_p = (double)INFINITY;
    if (scenario->forecast == NULL ||
        cs_r2ccl_estimate_s(scenario) > CS_R2CCL_WITHIN * (until_s - first_s)) {
        return CS_OK;
    }
    CS_TRY(cs_fastest(scenario, only, 1, &which, &time_s, err));
    if (time_s < until_s && time_s >= least_s * (1 - SAME)) {
        *time_s_p = time_s;
    }
    return CS_OK;
}

/* When the choice for the scenario without its faults ends; exactly where that is at most about
 * `until_s`. Without faults the choice has nobody but itself to be compared with: 0. */
static cs_status healthy_s(const cs_scenario *scenario, const optcc_options *asked, double until_s,
                           double *time_s_p, cs_error *err)
{
    cs_scenario healthy = *scenario;
    uint32_t    ring;
    search      s;
    detour      d       = {.time_s = (double)INFINITY};
    double      r2ccl_s = (double)INFINITY;

    healthy.capacity   = NULL;
    healthy.n_capacity = 0;
    if (scenario->n_capacity == 0) {
        *time_s_p = 0;
        return CS_OK;
    }
    CS_TRY(cs_fastest_ring(&healthy, &ring, time_s_p, err));
    if (!cs_nics_are_even(&healthy)) {
        begin_search(&s, &healthy, asked, 0);
        CS_TRY(s.around + 2 <= s.setting.p ? find_detour(&s, &d, err) : CS_OK);
        CS_TRY(isinf(d.time_s) ? CS_OK : time_exactly(&healthy, &d, err));
        CS_TRY(r2ccl_end_s(&healthy, fmin(d.time_s, *time_s_p), 0, &r2ccl_s, err));
    } else if (until_s < CLEARLY * *time_s_p) {
        CS_TRY(find_start_ups(&healthy, asked, *time_s_p, &d, err));
    }
    *time_s_p = fmin(*time_s_p, fmin(d.time_s, r2ccl_s));
    if (until_s < CLEARLY * *time_s_p && may_interleave(&healthy, asked, *time_s_p)) {
        CS_TRY(find_order(&healthy, asked, CS_INTERLEAVE_MOST_TRIED, *time_s_p, 0, &d, err));
        *time_s_p = fmin(*time_s_p, d.time_s);
        drop(&d);
    }
    return CS_OK;
}

/* Would a way around more servers than the slow ones save start-ups, and end earlier? Then the
 * search is that one. Long replays are done without: there predictions are compared. */
static cs_status widen(search *s, detour *d, cs_error *err)
{
    const double start_ups_s = 2 * (s->setting.p - 1) * (s->setting.port_s + s->setting.beyond_s);
    double       least_s     = cs_optcc_estimate_s(&s->setting);
    uint32_t     best = 0, slow = s->around;
    search       wider;
    detour       other;

    if (s->scenario->forecast == NULL || start_ups_s < START_UPS * least_s) {
        return CS_OK;
    }
    for (uint32_t more = 1;
         more <= MOST_AROUND && slow + more + 2 <= s->setting.p && slow + more < MOST_SLOW;
         more += more < 4 ? 1 : more) {
        begin_search(&wider, s->scenario, s->asked, slow + more);
        double time_s = cs_optcc_estimate_s(&wider.setting);
        best          = time_s < least_s ? more : best;
        least_s       = fmin(least_s, time_s);
    }
    if (best == 0) {
        return CS_OK;
    }
    begin_search(&wider, s->scenario, s->asked, slow + best);
    CS_TRY(find_detour(&wider, &other, err));
    if (!is_large(d) && (isinf(other.time_s) || !is_large(&other))) {
        CS_TRY(time_exactly(s->scenario, d, err));
        CS_TRY(time_exactly(s->scenario, &other, err));
    } else if (!is_predictable(s->scenario)) {
        return CS_OK;
    }
    if (other.time_s < d->time_s) {
        *d = other;
        begin_search(s, s->scenario, s->asked, slow + best);
    }
    return CS_OK;
}

/* Instead of a schedule that ends before `least_s`: one around more servers, or of more sections,
 * that does not, or none. */
static cs_status prolong(const search *s, double least_s, detour *d, cs_error *err)
{
    optcc_options first   = d->options;
    double        early_s = least_s * (1 - SAME);

    for (uint32_t more = 1; more <= MORE_AROUND && d->time_s < early_s; more++) {
        search wider;
        begin_search(&wider, s->scenario, s->asked, first.around + more);
        if (wider.around + 2 > wider.setting.p) {
            break;
        }
        CS_TRY(find_detour(&wider, d, err));
        CS_TRY(time_exactly(s->scenario, d, err));
    }
    for (uint32_t more = 1; d->time_s < early_s; more += more / 2 + 1) {
        cs_optcc_pick pick  = {.shape  = cs_optcc_shape_for(&s->setting, 0, first.sections + more,
                                                            first.ramp, first.bubbles == 1),
                               .copies = first.copies};
        uint64_t      parts = (uint64_t)pick.shape.n_chunks * pick.copies;
        if (more > MORE_SECTIONS || parts * s->setting.gpus_per_server > s->scenario->bytes ||
            make_detour(s->scenario, &pick, s->around, d, NULL) != CS_OK) {
            d->time_s = (double)INFINITY;
            break;
        }
        CS_TRY(time_exactly(s->scenario, d, err));
    }
    return CS_OK;
}

/* What else than OptCC may run around slow servers, and when that ends. */
typedef struct others {
    double ring_s, r2ccl_s;
    double least_s; /* nothing may end before: when the choice without the faults does */
} others;

/* With slow servers: the schedule, R2CCL, or the ring? */
static cs_status weigh(const search *s, detour *d, others *o, cs_error *err)
{
    uint32_t ring;

    if (s->scenario->forecast == NULL) {
        o->ring_s = cs_optcc_ring_s(&s->setting);
        return CS_OK;
    }
    CS_TRY(cs_fastest_ring(s->scenario, &ring, &o->ring_s, err));
    CS_TRY(healthy_s(s->scenario, s->asked, d->time_s, &o->least_s, err));
    bool is_clear = d->time_s < o->ring_s / CLEARLY || d->time_s > o->ring_s * CLEARLY;
    if (!is_predictable(s->scenario) || !is_clear || !is_large(d) ||
        d->time_s < CLEARLY * o->least_s) {
        CS_TRY(time_exactly(s->scenario, d, err));
    }
    CS_TRY(prolong(s, o->least_s, d, err));
    CS_TRY(r2ccl_end_s(s->scenario, fmin(d->is_exact ? d->time_s : CLEARLY * d->time_s, o->ring_s),
                       o->least_s, &o->r2ccl_s, err));
    return o->r2ccl_s < o->ring_s ? time_exactly(s->scenario, d, err) : CS_OK;
}

/* Can it be worth the replay of a ring to find out whether start-ups can be saved? Of one GPU per
 * server the ring's time is quick to predict. */
static bool may_save(const cs_scenario *scenario)
{
    const double           healthy = 1;
    const cs_optcc_setting t       = setting_of(scenario, &healthy, 1);

    return t.gpus_per_server > 1 || servers_to_save(scenario, cs_optcc_ring_s(&t)) > 0;
}

/* Nobody has to be gone around. */
static cs_status resolve_healthy(const cs_scenario *scenario, optcc_options *o, cs_plan *plan,
                                 cs_error *err)
{
    bool     is_free = o->chosen == CHOSEN_AUTO && !is_fixed(o);
    detour   d       = {.time_s = (double)INFINITY};
    double   ring_s;
    uint32_t ring;

    bool is_late = is_free && may_interleave(scenario, o, (double)INFINITY);
    if (is_free && scenario->forecast != NULL && (is_late || may_save(scenario))) {
        CS_TRY(cs_fastest_ring(scenario, &ring, &ring_s, err));
        CS_TRY(find_start_ups(scenario, o, ring_s, &d, err));
        ring_s = fmin(ring_s, d.time_s);
    }
    if (is_late && may_interleave(scenario, o, ring_s)) {
        detour order;
        CS_TRY(find_order(scenario, o, CS_INTERLEAVE_MOST_TRIED, ring_s, 0, &order, err));
        d = order.time_s < ring_s ? order : d; /* only that is kept */
    }
    if (isinf(d.time_s)) {
        return ring_instead(scenario, o, healthy_notes, plan, err);
    }
    *o         = d.options;
    *plan      = d.plan;
    plan->note = o->late == LATE_INTERLEAVE ? interleave_note : start_ups_note;
    return CS_OK;
}

static cs_status r2ccl_instead(const cs_scenario *scenario, optcc_options *o, cs_plan *plan,
                               cs_error *err)
{
    bool is_asked = o->chosen == CHOSEN_R2CCL;

    *o = (optcc_options){.bubbles = 2, .copies = 1, .late = LATE_DELAY, .chosen = CHOSEN_R2CCL};
    CS_TRY(cs_fallback_check(&cs_algorithm_r2ccl, (cs_fallback_option){0}, scenario, plan, err));
    plan->note = is_asked ? plan->note : r2ccl_note;
    return CS_OK;
}

/* OptCC cannot go around: R2CCL, or the ring. */
static cs_status resolve_others(const cs_scenario *scenario, optcc_options *o,
                                const char *const *notes, cs_plan *plan, cs_error *err)
{
    double   ring_s, least_s, time_s = (double)INFINITY;
    uint32_t ring;

    if (scenario->forecast != NULL && o->chosen == CHOSEN_AUTO && !is_fixed(o)) {
        CS_TRY(cs_fastest_ring(scenario, &ring, &ring_s, err));
        CS_TRY(healthy_s(scenario, o, ring_s, &least_s, err));
        CS_TRY(r2ccl_end_s(scenario, ring_s, least_s, &time_s, err));
    }
    return isinf(time_s) ? ring_instead(scenario, o, notes, plan, err)
                         : r2ccl_instead(scenario, o, plan, err);
}

/* There is something to go around and somebody to do it. */
static cs_status resolve_detour(const cs_scenario *scenario, optcc_options *o, cs_plan *plan,
                                cs_error *err)
{
    bool   is_free = o->chosen == CHOSEN_AUTO && !is_fixed(o) && o->around == CS_AUTO;
    others best    = {(double)INFINITY, (double)INFINITY, 0};
    detour order   = {.time_s = (double)INFINITY};
    search s;
    detour d;

    begin_search(&s, scenario, o, o->around == CS_AUTO ? 0 : o->around);
    CS_TRY(find_detour(&s, &d, err));
    if (isinf(d.time_s)) {
        return resolve_others(scenario, o, bytes_notes, plan, err);
    }
    if (is_free) {
        CS_TRY(widen(&s, &d, err));
        CS_TRY(weigh(&s, &d, &best, err));
    }
    double until_s = fmin(d.time_s, fmin(best.ring_s, best.r2ccl_s));
    if (is_free && may_interleave(scenario, o, until_s)) {
        CS_TRY(
            find_order(scenario, o, CS_INTERLEAVE_MOST_TRIED, until_s, best.least_s, &order, err));
    }
    if (order.time_s < until_s) {
        *o    = order.options;
        *plan = order.plan;
        return CS_OK;
    }
    if (best.r2ccl_s < fmin(best.ring_s, d.time_s)) {
        return r2ccl_instead(scenario, o, plan, err);
    }
    if (best.ring_s < d.time_s) {
        return ring_instead(scenario, o, slower_notes, plan, err);
    }
    *o    = d.options;
    *plan = d.plan;
    return CS_OK;
}

static cs_status resolve(const cs_scenario *scenario, optcc_options *options, cs_plan *plan,
                         cs_error *err)
{
    uint32_t p      = cs_n_servers(&scenario->cluster);
    uint32_t m      = servers_around(scenario, 0, NULL, NULL);
    uint32_t around = options->around == CS_AUTO ? m : options->around;

    CS_TRY(cs_accept_even_servers(scenario, "optcc", err));
    if (m == p && p > 1) {
        return CS_FAIL(err, CS_ENOTSUP, "faults",
                       "all %u servers are slow; optcc needs two that are not", p);
    }
    if (m >= MOST_SLOW) {
        return CS_FAIL(err, CS_ENOTSUP, scenario->n_capacity > 0 ? "faults" : "cluster.servers",
                       "optcc accepts fewer than %d servers whose NICs are slower than others",
                       MOST_SLOW);
    }
    if (options->chosen >= CHOSEN_RINGS) {
        return ring_instead(scenario, options, NULL, plan, err);
    }
    if (options->late == LATE_INTERLEAVE) {
        return resolve_interleaved(scenario, options, plan, err);
    }
    if (options->chosen == CHOSEN_R2CCL) {
        return r2ccl_instead(scenario, options, plan, err);
    }
    if (around < m || (options->around != CS_AUTO && p < around + 2)) {
        return CS_FAIL(err, CS_EINVAL, "algorithm.options.around",
                       "%u of %u servers, %u of which are slow; accepted are %u .. %u and auto",
                       around, p, m, m > 0 ? m : 1, p > 2 ? p - 2 : 0);
    }
    if (around == 0) {
        return resolve_healthy(scenario, options, plan, err);
    }
    return p < m + 2 ? resolve_others(scenario, options, few_notes, plan, err)
                     : resolve_detour(scenario, options, plan, err);
}

/* ---- the stream ---- */

typedef struct optcc {
    cs_optcc_stream      stream;
    cs_interleave_stream order;   /* for a late rank */
    cs_fallback          other;   /* open when a ring or R2CCL was chosen */
    uint32_t            *around;  /* [m] servers that are gone around, ascending */
    uint32_t            *healthy; /* [H] servers of the nodes */
} optcc;

static cs_status optcc_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                             cs_error *err)
{
    return resolve(scenario, options, plan, err);
}

static void optcc_release(void *prepared)
{
    cs_interleave_free(prepared);
    cs_free(prepared);
}

static void optcc_close(void *state)
{
    optcc *s = state;

    if (s != NULL) {
        cs_fallback_close(&s->other);
        cs_free(s->order.added);
        cs_free(s->around);
        cs_free(s->healthy);
        cs_free(s);
    }
}

/* Which server is which node. */
static cs_status number_servers(optcc *s, const cs_scenario *scenario, uint32_t around)
{
    uint32_t p = cs_n_servers(&scenario->cluster), nodes = 0, next = 0;

    s->around  = CS_NEW(uint32_t, p);
    s->healthy = CS_NEW(uint32_t, p);
    if (s->around == NULL || s->healthy == NULL) {
        return CS_ENOMEM;
    }
    uint32_t m = servers_around(scenario, around, s->around, NULL);
    for (uint32_t r = 0; r < p; r++) {
        if (next < m && s->around[next] == r) {
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
    if (number_servers(s, scenario, o->around) != CS_OK) {
        return CS_NO_MEMORY(err, "optcc over %u servers", cs_n_servers(&scenario->cluster));
    }
    s->stream = (cs_optcc_stream){.cluster = &scenario->cluster,
                                  .shape   = resolved_shape(scenario, o),
                                  .bytes   = scenario->bytes,
                                  .gpus    = scenario->cluster.gpus_per_server,
                                  .copies  = o->copies,
                                  .slow    = s->around,
                                  .healthy = s->healthy};
    cs_optcc_begin(&s->stream);
    return CS_OK;
}

static cs_status optcc_open(const cs_scenario *scenario, const void *options, const void *prepared,
                            void **state_p, cs_error *err)
{
    const optcc_options *o = options;
    optcc               *s = CS_NEW(optcc, 1);

    if (s == NULL) {
        return CS_NO_MEMORY(err, "optcc");
    }
    bool      is_order = o->late == LATE_INTERLEAVE;
    cs_status status =
        is_order ? cs_interleave_begin(&s->order, prepared, scenario->bytes, err)
        : o->chosen == CHOSEN_OPTCC
            ? begin_stream(s, scenario, o, err)
            : cs_fallback_open(&s->other,
                               o->chosen == CHOSEN_R2CCL ? &cs_algorithm_r2ccl
                                                         : cs_rings[o->chosen - CHOSEN_RINGS],
                               scenario, err);
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
    if (s->other.algorithm != NULL) {
        cs_fallback_next(&s->other, block);
    } else if (s->order.made != NULL) {
        cs_interleave_next(&s->order, block);
    } else {
        cs_optcc_next(&s->stream, block);
    }
}

const cs_algorithm cs_algorithm_optcc = {
    .name          = "optcc",
    .summary       = "AllReduce around slow NICs: a ring of the healthy, short cuts for the slow",
    .source        = "OptCC; own construction, sim/doc/optcc.md",
    .collectives   = 1u << CS_ALLREDUCE,
    .options       = table,
    .options_bytes = sizeof(optcc_options),
    .check         = optcc_check,
    .open_prepared = optcc_open,
    .release       = optcc_release,
    .next_block    = optcc_next_block,
    .close         = optcc_close,
};
