/* SPDX-License-Identifier: GPL-3.0-or-later */
/* R2CCL's AllReduce around slow NICs, as a correct schedule.
 *
 * The part n / l of the buffer goes around a ring of all servers, l being the slowdown of the
 * slowest one; the rest is added by the others meanwhile and then crosses each slow NIC once in
 * each direction. The transfers are in stream.h; how the buffer is split, the choice of pieces and
 * owners by predicted time, and that time are in time.h. In the limit of many pieces, n being the
 * buffer's time on the healthy NICs of a server and T0 the ring's without a fault, that is
 *
 *   T0 + (l-1) n                                               around one server
 *   T0 + (1 - 1/l) max(l, 1 + sum l_i / K) n                   around m of them, K owners
 *
 * Here: which servers are gone around, or which ring runs instead. The slow servers are those whose
 * NICs are slow for the whole run, the slowest first (ties: the lowest number); how many of them
 * are gone around is a choice, too. The others are members of ring and line and slow them down. The
 * fastest of the rings (lib/fallback.h) runs instead, and `chosen` in the result says so, where no
 * NIC is slow for ever, there are fewer than three servers or too few bytes, or (unless an option
 * asks for R2CCL) where the ring ends earlier, or where without its faults the scenario would not
 * end before.
 *
 * Source: R2CCL, as quoted and compared in OptCC. Its released code
 * (github.com/r2cc-project/R-2CCL, f45cbcb) stands in an AllReduce of a part and a Broadcast of the
 * rest, which is timed alike and is not an AllReduce; the line that makes it one, the owners and
 * the GPUs of a server are this project's.
 */
#include "algorithms/r2ccl/r2ccl.h"

#include "algorithms/lib/accept.h"
#include "algorithms/lib/fallback.h"
#include "algorithms/r2ccl/stream.h"
#include "base/alloc.h"
#include "cs/capacity.h"
#include "cs/model.h"

#include <math.h>
#include <stdlib.h>

enum { CHOSEN_AUTO, CHOSEN_R2CCL, CHOSEN_RINGS /* and on: cs_rings */ };

enum { MOST_TRIED = 300000 }; /* messages that are replayed whatever is predicted */

static const double SAME = 1e-12;

typedef struct r2ccl_options {
    uint32_t pieces, around, owners;
    int      chosen;
} r2ccl_options;

static const cs_field r2ccl_table[] = {
    CS_OPTION_AUTO(r2ccl_options, pieces, 1, CS_R2CCL_MAX_PIECES,
                   "pieces (of a GPU's part) of what crosses the slow NICs at the end"),
    CS_OPTION_AUTO(r2ccl_options, around, 1, CS_MAX_RANKS - 2,
                   "slow servers that it goes around, the slowest; the others are members"),
    CS_OPTION_AUTO(r2ccl_options, owners, 1, CS_MAX_RANKS - 2,
                   "servers that add up what the slow ones send"),
    CS_OPTION_CHOICE(r2ccl_options, chosen, "auto|r2ccl|" CS_RINGS_CHOICES,
                     "what runs; auto: the fastest"),
    CS_FIELD_END,
};

/* ---- the servers ---- */

typedef struct server {
    double   slowdown;
    uint32_t number;
} server;

static int by_slowdown(const void *left, const void *right)
{
    const server *a = left, *b = right;

    if (a->slowdown != b->slowdown) {
        return a->slowdown > b->slowdown ? -1 : 1;
    }
    return (a->number > b->number) - (a->number < b->number);
}

/* Messages that a GPU sends at once inside its server: one, or one to each mate. */
static uint32_t lanes_of(const cs_cluster *cluster)
{
    uint32_t lanes = cluster->gpus_per_server > 1 ? cs_links_at_once(cluster, CS_NVLINK) : 1;
    return lanes > 0 ? lanes : 1; /* none: it is alone in its socket */
}

/* All servers. */
typedef struct servers {
    double *slowdown; /* [p] by number */
    server *sorted;   /* [p] the slowest first */
} servers;

static void free_servers(servers *all)
{
    cs_free(all->slowdown);
    cs_free(all->sorted);
}

/* A server is as slow as its slowest port for the whole run, where these differ, for each carries
 * as much. INFINITY: one of them is cut off. Whatever is returned is to be freed.
 * O(p log p + ranks). */
static cs_status list_servers(const cs_scenario *scenario, servers *all, cs_error *err)
{
    const cs_cluster *c         = &scenario->cluster;
    uint32_t          p         = cs_n_servers(c);
    bool              is_single = cs_capacity_is_single(scenario);

    *all = (servers){CS_NEW(double, p), CS_NEW(server, p)};
    if (all->slowdown == NULL || all->sorted == NULL) {
        return CS_NO_MEMORY(err, "r2ccl over %u servers", p);
    }
    for (uint32_t i = 0; i < p; i++) {
        double most = is_single ? 1 : cs_slowdown_always(scenario, i);
        for (uint32_t k = 0; is_single && k < cs_server_gpus(c, i); k++) {
            most = fmax(most, cs_port_slowdown_always(scenario, cs_server_first(c, i) + k));
        }
        all->slowdown[i] = most;
        all->sorted[i]   = (server){most, i};
    }
    qsort(all->sorted, p, sizeof *all->sorted, by_slowdown);
    return CS_OK;
}

/* Of the first `m` of the sorted servers? */
static bool is_around(const servers *all, uint32_t m, uint32_t number)
{
    const server here = {all->slowdown[number], number};
    return by_slowdown(&here, &all->sorted[m - 1]) <= 0;
}

static cs_r2ccl_setting setting_of(const cs_scenario *scenario, const servers *all, uint32_t m)
{
    const cs_cluster *c = &scenario->cluster;
    uint32_t          p = cs_n_servers(c), g = c->gpus_per_server;
    double            before = 0;
    cs_r2ccl_setting  t      = {.p                 = p,
                                .m                 = m,
                                .gpus              = g,
                                .bytes             = scenario->bytes,
                                .slowdown          = all->sorted[0].slowdown,
                                .other_slowdown    = m < p ? all->sorted[m].slowdown : 1,
                                .alpha_s           = c->fabrics[CS_NIC].alpha_s,
                                .s_per_byte        = 1 / c->fabrics[CS_NIC].bandwidth_Bps,
                                .nvlink_alpha_s    = c->fabrics[CS_NVLINK].alpha_s,
                                .nvlink_s_per_byte = 1 / cs_least_Bps(c, CS_NVLINK),
                                .nvlink_lanes      = lanes_of(c)};

    for (uint32_t i = 0; i < m; i++) {
        t.sum_slowdown += all->sorted[i].slowdown;
    }
    for (uint32_t i = 1; i < p; i++) { /* the hops of the line, which begins behind the slowest */
        uint32_t number = (all->sorted[0].number + i) % p;
        double   here   = all->slowdown[number];
        if (!is_around(all, m, number)) {
            t.chain_slowdowns += before > 0 ? fmax(before, here) : 0;
            before = here;
        }
    }
    return t;
}

/* The order of the ring: those that are gone around, then the line behind the slowest. */
static void order_servers(const cs_scenario *scenario, const servers *all, uint32_t m,
                          uint32_t *order)
{
    uint32_t p = cs_n_servers(&scenario->cluster), n = m;

    for (uint32_t i = 0; i < p; i++) {
        uint32_t number = (all->sorted[0].number + i) % p;
        if (i < m) {
            order[i] = all->sorted[i].number;
        }
        if (!is_around(all, m, number)) {
            order[n++] = number;
        }
    }
}

/* ---- the choice ---- */

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

#define NOTES(why) CS_RINGS_NOTES("r2ccl", why)
static const char *const healthy_notes[] = NOTES("no NIC is slow for the whole run");
static const char *const few_notes[]     = NOTES("it takes three servers to go around one");
static const char *const cut_notes[]     = NOTES("a NIC that it needs is cut off");
static const char *const bytes_notes[]   = NOTES("the buffer has too few bytes");
static const char *const slower_notes[]  = NOTES("it is predicted to be faster");
static const char *const early_notes[]   = NOTES("no fault may make a time shorter");

/* Bytes of a GPU's part that do not go around the ring. */
static uint64_t rest_of_part(const cs_scenario *scenario, double slowdown)
{
    const cs_r2ccl_setting t = {.bytes = scenario->bytes, .slowdown = slowdown};
    return cs_r2ccl_shape_of(&t, 1, 1).rest_bytes / scenario->cluster.gpus_per_server;
}

/* Why nothing can go around the slow NICs; NULL where something can. */
static const char *const *no_detour(const cs_scenario *scenario, const cs_r2ccl_setting *t)
{
    if (!(t->slowdown > 1)) {
        return healthy_notes;
    }
    if (t->p < 3) {
        return few_notes;
    }
    if (isinf(t->slowdown)) {
        return cut_notes;
    }
    bool is_tiny = t->bytes < (uint64_t)t->p * t->gpus || rest_of_part(scenario, t->slowdown) == 0;
    return is_tiny ? bytes_notes : NULL;
}

/* A schedule, and what it is predicted to take. */
typedef struct detour {
    cs_r2ccl_setting setting;
    cs_r2ccl_shape   shape;
    double           time_s;
} detour;

static detour detour_of(const cs_scenario *scenario, const servers *all, uint32_t m,
                        const r2ccl_options *o)
{
    detour d = {.setting = setting_of(scenario, all, m)};

    d.shape  = cs_r2ccl_choose(&d.setting, o->pieces, o->owners);
    d.time_s = cs_r2ccl_predict_s(&d.setting, &d.shape, NULL);
    return d;
}

/* Servers that are slow and can be gone around. */
static uint32_t most_around(const cs_scenario *scenario, const servers *all)
{
    uint32_t p = cs_n_servers(&scenario->cluster), most = 0;

    while (most + 2 < p && all->sorted[most].slowdown > 1) {
        most++;
    }
    return most;
}

/* Refuse what the cluster has not. */
static cs_status check_options(const cs_scenario *scenario, const servers *all,
                               const r2ccl_options *o, cs_error *err)
{
    uint32_t p = cs_n_servers(&scenario->cluster), most = most_around(scenario, all);
    uint32_t several = o->around != CS_AUTO ? o->around : most < 2 ? most : 2;
    uint32_t owners  = cs_r2ccl_most_owners(p, several);
    uint64_t rest    = rest_of_part(scenario, all->sorted[0].slowdown);

    if (o->around != CS_AUTO && o->around > most) {
        return CS_FAIL(err, CS_EINVAL, "algorithm.options.around",
                       "%u of %u servers: accepted are 1 .. %u, which are slow, and auto",
                       o->around, p, most);
    }
    if (o->owners != CS_AUTO && o->owners > owners) {
        return CS_FAIL(err, CS_EINVAL, "algorithm.options.owners",
                       "%u with %u servers around %u: accepted are 1 .. %u and auto", o->owners, p,
                       several, owners);
    }
    if (o->pieces != CS_AUTO && o->pieces > rest) {
        return CS_FAIL(err, CS_EINVAL, "algorithm.options.pieces",
                       "%u pieces of %llu bytes: at most one piece per byte is accepted", o->pieces,
                       (unsigned long long)rest);
    }
    if (o->pieces != CS_AUTO && o->owners != CS_AUTO && o->pieces < o->owners) {
        return CS_FAIL(err, CS_EINVAL, "algorithm.options.pieces",
                       "%u pieces for %u owners: one for each is needed", o->pieces, o->owners);
    }
    return CS_OK;
}

/* The best schedule that the options leave. */
static detour best_detour(const cs_scenario *scenario, const servers *all, const r2ccl_options *o)
{
    uint32_t p     = cs_n_servers(&scenario->cluster);
    uint32_t most  = o->around == CS_AUTO ? most_around(scenario, all) : o->around;
    uint32_t first = o->around == CS_AUTO ? 1 : o->around;
    detour   best  = {.time_s = (double)INFINITY};

    for (uint32_t m = first, last = 0; m > last; last = m, m = least(m + 1 + m / 8, most)) {
        if (o->owners == CS_AUTO || o->owners <= cs_r2ccl_most_owners(p, m)) {
            detour d = detour_of(scenario, all, m, o);
            best     = best.shape.pieces == 0 || d.time_s < best.time_s ? d : best;
        }
    }
    return best;
}

static void resolve(r2ccl_options *o, const detour *d)
{
    o->pieces = d->shape.pieces;
    o->around = d->shape.m;
    o->owners = d->shape.owners;
    o->chosen = CHOSEN_R2CCL;
}

/* Are predictions made for this: ports of alpha-beta and nobody late? */
static bool is_predictable(const cs_scenario *scenario)
{
    const cs_forecast *f = scenario->forecast;

    return f == NULL || (f->model->message_cost != NULL && scenario->cluster.topology == NULL &&
                         scenario->cluster.sockets <= 1 && !(cs_last_arrival(scenario) > 0) &&
                         !cs_capacity_is_single(scenario));
}

/* When the choice for the scenario without its faults ends; without faults: 0. */
static cs_status healthy_s(const cs_scenario *scenario, double *time_s_p, cs_error *err)
{
    const cs_algorithm *const all[] = {&cs_algorithm_r2ccl, cs_rings[0], cs_rings[1], cs_rings[2]};
    uint32_t                  n = scenario->cluster.gpus_per_server > 1 ? 1 + CS_RINGS : 2, fastest;
    cs_scenario               healthy = *scenario;

    healthy.capacity   = NULL;
    healthy.n_capacity = 0;
    *time_s_p          = 0;
    return scenario->n_capacity == 0 ? CS_OK
                                     : cs_fastest(&healthy, all, n, &fastest, time_s_p, err);
}

/* Does a ring run instead of the best schedule, and why? `*why_p` is NULL where none does. */
static cs_status weigh(const cs_scenario *scenario, detour *d, const char *const **why_p,
                       cs_error *err)
{
    const cs_forecast *f      = scenario->forecast;
    double             ring_s = cs_r2ccl_ring_s(&d->setting), least_s = 0;
    uint32_t           ring;

    if (f != NULL) {
        CS_TRY(cs_fastest_ring(scenario, &ring, &ring_s, err));
        CS_TRY(healthy_s(scenario, &least_s, err));
        double messages = (double)d->shape.gpus * d->shape.gpus * d->shape.p;
        bool   is_quick = messages * (d->shape.p + d->shape.pieces) < MOST_TRIED;
        bool   is_clear =
            !is_quick &&
            (d->time_s > CS_R2CCL_WITHIN * ring_s ||
             (d->time_s * CS_R2CCL_WITHIN < ring_s && d->time_s > CS_R2CCL_WITHIN * least_s));
        if (!is_clear || !is_predictable(scenario)) {
            r2ccl_options o;
            cs_plan       plan = cs_r2ccl_plan(&d->shape);
            resolve(&o, d);
            CS_TRY(f->elapsed_s(f, scenario, &cs_algorithm_r2ccl, &o, &plan, &d->time_s, err));
        }
    }
    *why_p = ring_s < d->time_s                 ? slower_notes
             : d->time_s < least_s * (1 - SAME) ? early_notes
                                                : NULL;
    return CS_OK;
}

double cs_r2ccl_estimate_s(const cs_scenario *scenario)
{
    const r2ccl_options free   = {.pieces = CS_AUTO, .around = CS_AUTO, .owners = CS_AUTO};
    double              time_s = (double)INFINITY;
    servers             all;

    if (list_servers(scenario, &all, NULL) == CS_OK) {
        const cs_r2ccl_setting t = setting_of(scenario, &all, 1);
        time_s =
            no_detour(scenario, &t) == NULL ? best_detour(scenario, &all, &free).time_s : time_s;
    }
    free_servers(&all);
    return time_s;
}

/* With the servers at hand. */
static cs_status choose(const cs_scenario *scenario, const servers *all, r2ccl_options *o,
                        cs_plan *plan, cs_error *err)
{
    bool is_free = o->pieces == CS_AUTO && o->around == CS_AUTO && o->owners == CS_AUTO &&
                   o->chosen == CHOSEN_AUTO;
    const cs_r2ccl_setting t   = setting_of(scenario, all, 1);
    const char *const     *why = o->chosen >= CHOSEN_RINGS ? NULL : no_detour(scenario, &t);
    detour                 d   = {.time_s = (double)INFINITY};

    bool is_ring = o->chosen >= CHOSEN_RINGS || why != NULL;
    if (!is_ring) {
        CS_TRY(check_options(scenario, all, o, err));
        d = best_detour(scenario, all, o);
        if (is_free) {
            CS_TRY(weigh(scenario, &d, &why, err));
        }
        is_ring = why != NULL;
    }
    if (is_ring) {
        *o = (r2ccl_options){.pieces = 1, .chosen = o->chosen};
        return cs_ring_instead(scenario, CHOSEN_RINGS, why, &o->chosen, plan, err);
    }
    resolve(o, &d);
    *plan = cs_r2ccl_plan(&d.shape);
    return cs_accept_slots(scenario, "r2ccl", plan->n_slots, err);
}

static cs_status r2ccl_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                             cs_error *err)
{
    servers   all;
    cs_status status = list_servers(scenario, &all, err);

    if (status == CS_OK) {
        status = choose(scenario, &all, options, plan, err);
    }
    free_servers(&all);
    return status;
}

/* ---- the stream ---- */

typedef struct r2ccl {
    cs_r2ccl_stream stream;
    cs_fallback     fallback; /* open when a ring was chosen */
    uint32_t       *servers;  /* [p] */
} r2ccl;

static void r2ccl_close(void *state)
{
    r2ccl *s = state;

    if (s != NULL) {
        cs_fallback_close(&s->fallback);
        cs_free(s->servers);
        cs_free(s);
    }
}

static cs_status begin_stream(r2ccl *s, const cs_scenario *scenario, const r2ccl_options *o,
                              cs_error *err)
{
    servers   all;
    cs_status status = list_servers(scenario, &all, err);

    s->servers = status == CS_OK ? CS_NEW(uint32_t, cs_n_servers(&scenario->cluster)) : NULL;
    if (s->servers == NULL) {
        free_servers(&all);
        return CS_NO_MEMORY(err, "r2ccl over %u servers", cs_n_servers(&scenario->cluster));
    }
    const cs_r2ccl_setting setting = setting_of(scenario, &all, o->around);
    order_servers(scenario, &all, o->around, s->servers);
    s->stream = (cs_r2ccl_stream){.cluster = &scenario->cluster,
                                  .shape   = cs_r2ccl_shape_of(&setting, o->pieces, o->owners),
                                  .servers = s->servers};
    cs_r2ccl_begin(&s->stream);
    free_servers(&all);
    return CS_OK;
}

static cs_status r2ccl_open(const cs_scenario *scenario, const void *options, void **state_p,
                            cs_error *err)
{
    const r2ccl_options *o = options;
    r2ccl               *s = CS_NEW(r2ccl, 1);

    if (s == NULL) {
        return CS_NO_MEMORY(err, "r2ccl");
    }
    cs_status status =
        o->chosen >= CHOSEN_RINGS
            ? cs_fallback_open(&s->fallback, cs_rings[o->chosen - CHOSEN_RINGS], scenario, err)
            : begin_stream(s, scenario, o, err);
    if (status != CS_OK) {
        r2ccl_close(s);
        return status;
    }
    *state_p = s;
    return CS_OK;
}

static void r2ccl_next_block(void *state, cs_block *block)
{
    r2ccl *s = state;

    block->count = 0;
    if (s->fallback.algorithm != NULL) {
        cs_fallback_next(&s->fallback, block);
    } else {
        cs_r2ccl_next(&s->stream, block);
    }
}

/* What the paper predicts, whatever runs: T0 (1 + p (l-1) / (2 (p-1))) = T0 + (l-1) n, with
 * T0 = 2 (p-1) / p n for the ring without a fault, n = bytes / rate of a server's NICs and no
 * alpha. The replay does not equal it: it pays the filling of the pipeline. Stated for one slow
 * server at most. */
static double r2ccl_published_form_s(const cs_scenario *scenario, const void *options)
{
    const cs_cluster *c    = &scenario->cluster;
    uint32_t          p    = cs_n_servers(c);
    double            ring = 2.0 * (p - 1) / p, published_s = (double)NAN;
    bool              is_ring = ((const r2ccl_options *)options)->chosen >= CHOSEN_RINGS;
    double  n_s = (double)scenario->bytes / c->gpus_per_server / c->fabrics[CS_NIC].bandwidth_Bps;
    servers all;

    if (is_ring || p < 2 || !cs_capacity_is_constant(scenario) || cs_capacity_is_single(scenario) ||
        cs_last_arrival(scenario) > 0) {
        return (double)NAN;
    }
    if (list_servers(scenario, &all, NULL) == CS_OK && !(all.sorted[1].slowdown > 1)) {
        published_s = (ring + all.sorted[0].slowdown - 1) * n_s;
    }
    free_servers(&all);
    return published_s;
}

/* The prediction, where it is exact: around one server, all of whose pieces are equal, with lasting
 * faults and nobody late. */
static double r2ccl_closed_form_s(const cs_scenario *scenario, const void *options)
{
    const r2ccl_options *o        = options;
    const cs_cluster    *c        = &scenario->cluster;
    bool                 is_exact = false;
    double               time_s   = (double)NAN;

    if (o->chosen >= CHOSEN_RINGS) {
        return cs_fallback_closed_form_s(cs_rings[o->chosen - CHOSEN_RINGS],
                                         (cs_fallback_option){0}, scenario);
    }
    if (cs_capacity_is_constant(scenario) && !cs_capacity_is_single(scenario) &&
        !(cs_last_arrival(scenario) > 0) && c->servers == NULL && c->sockets <= 1 &&
        c->fabrics[CS_NVLINK].kind == CS_SWITCHED) {
        servers all;
        if (list_servers(scenario, &all, NULL) == CS_OK) {
            const cs_r2ccl_setting t     = setting_of(scenario, &all, o->around);
            const cs_r2ccl_shape   shape = cs_r2ccl_shape_of(&t, o->pieces, o->owners);
            time_s                       = cs_r2ccl_predict_s(&t, &shape, &is_exact);
        }
        free_servers(&all);
    }
    return is_exact ? time_s : (double)NAN;
}

const cs_algorithm cs_algorithm_r2ccl = {
    .name             = "r2ccl",
    .summary          = "ring on 1/l of the buffer, the rest once each way over the slow NICs",
    .source           = "R2CCL, closed form as in OptCC; own correct schedule",
    .collectives      = 1u << CS_ALLREDUCE,
    .options          = r2ccl_table,
    .options_bytes    = sizeof(r2ccl_options),
    .check            = r2ccl_check,
    .open             = r2ccl_open,
    .next_block       = r2ccl_next_block,
    .close            = r2ccl_close,
    .closed_form_s    = r2ccl_closed_form_s,
    .published_form_s = r2ccl_published_form_s,
};
