/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The flow model by itself: random flows over random links that change, against water filling that
 * computes everything anew; then incast, caps and the like on a handful of flows by hand. The
 * hooks are called as the dispatcher calls them. */
#include "cs/model.h"
#include "cs/topology.h"
#include "support/fluid.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 12, INNER = 10, MOST_FLOWS = 60, MOST_LINKS = 2 * RANKS + INNER };

typedef struct flow_options {
    double incast_ratio, flow_cap_Bps;
    int    receivers;
} flow_options;

typedef struct world {
    cs_ports        ports;
    cs_cluster      cluster;
    cs_topology     topology;
    cs_link         inner[INNER];
    uint8_t         routes[RANKS][RANKS][5]; /* length, then links */
    double          arrival_s[RANKS];
    cs_rate_profile profiles[RANKS];
    double          from_s[RANKS][4], pace[RANKS][4];
    flow_options    options;
    ct_fluid_link   links[MOST_LINKS];
    ct_fluid_flow   flows[MOST_FLOWS];
    uint32_t        src[MOST_FLOWS], dst[MOST_FLOWS];
    double          start_s[MOST_FLOWS], startup_s[MOST_FLOWS], got_s[MOST_FLOWS];
    size_t          n_flows;
} world;

static uint32_t table_route(const cs_topology *topology, const cs_cluster *cluster, uint32_t src,
                            uint32_t dst, uint32_t fabric, uint32_t *links)
{
    const world *w = topology->data;

    (void)cluster;
    (void)fabric;
    for (uint32_t k = 0; k < w->routes[src][dst][0]; k++) {
        links[k] = w->routes[src][dst][k + 1];
    }
    return w->routes[src][dst][0];
}

static const cs_topology_kind table_kind = {.name = "table", .route = table_route};

/* NICs of 100 B/s, inner links as they are set later. */
static void begin_world(world *w)
{
    memset(w, 0, sizeof *w);
    w->topology = (cs_topology){&table_kind, INNER, w->inner, 4, w};
    w->cluster  = (cs_cluster){.n_ranks         = RANKS,
                               .gpus_per_server = 1,
                               .fabrics         = {{CS_SWITCHED, 0, 100}},
                               .topology        = &w->topology};
    w->options  = (flow_options){1, 0, 0};
    w->ports    = (cs_ports){.cluster    = &w->cluster,
                             .n_ranks    = RANKS,
                             .n_ports    = RANKS,
                             .s_per_byte = {1.0 / 100},
                             .arrival_s  = w->arrival_s};
    for (uint32_t l = 0; l < MOST_LINKS; l++) {
        w->links[l] = (ct_fluid_link){1, {0}, {100}, 1};
    }
    for (uint32_t l = 0; l < INNER; l++) {
        w->inner[l] = (cs_link){100, 0, false};
    }
}

static void set_inner(world *w, uint32_t link, double bandwidth_Bps, double latency_s)
{
    w->inner[link].bandwidth_Bps                = bandwidth_Bps;
    w->inner[link].latency_s                    = latency_s;
    w->links[2 * RANKS + link].bandwidth_Bps[0] = bandwidth_Bps;
}

static void add_flow(world *w, uint32_t src, uint32_t dst, double start_s, double startup_s,
                     uint64_t bytes)
{
    size_t         i = w->n_flows++;
    ct_fluid_flow *f = &w->flows[i];

    w->src[i]       = src;
    w->dst[i]       = dst;
    w->start_s[i]   = start_s;
    w->startup_s[i] = startup_s;
    *f              = (ct_fluid_flow){
                     start_s + startup_s, (double)bytes, w->options.flow_cap_Bps, {src, RANKS + dst}, 2, 0};
    for (uint32_t k = 0; k < w->routes[src][dst][0]; k++) {
        uint32_t link          = w->routes[src][dst][k + 1];
        f->links[f->n_links++] = 2 * RANKS + link;
        f->begin_s += w->inner[link].latency_s;
    }
}

/* The hooks, as the dispatcher calls them; flows are sorted by their start. */
static void run_model(world *w)
{
    const cs_model   *model = NULL;
    const cs_network *hooks;
    void             *state = NULL;
    size_t            next = 0, n_left = w->n_flows;

    cr_assert_eq(cs_model_find("flow", &model, NULL), CS_OK);
    hooks = model->network;
    cr_assert_eq(hooks->open(&w->ports, &w->options, &state, NULL), CS_OK);
    while (n_left > 0) {
        double          event_s, start_s = next < w->n_flows ? w->start_s[next] : (double)INFINITY;
        const uint32_t *ended;
        size_t          n_ended;
        cr_assert_eq(hooks->next(state, &event_s), CS_OK);
        if (event_s <= start_s) {
            cr_assert(isfinite(event_s));
            cr_assert_eq(hooks->advance(state, event_s, &ended, &n_ended), CS_OK);
            for (size_t i = 0; i < n_ended; i++) {
                w->got_s[ended[i]] = event_s;
                n_left--;
            }
            continue;
        }
        for (; next < w->n_flows && w->start_s[next] <= start_s; next++) {
            cs_flight f = {.id        = next,
                           .handle    = (uint32_t)next,
                           .src       = w->src[next],
                           .dst       = w->dst[next],
                           .tx        = w->src[next],
                           .rx        = w->dst[next],
                           .bytes     = (uint64_t)w->flows[next].bytes,
                           .start_s   = start_s,
                           .startup_s = w->startup_s[next]};
            cr_assert_eq(hooks->inject(state, &f), CS_OK);
        }
    }
    hooks->close(state);
}

static void compare(world *w, const char *what)
{
    ct_fluid_run(w->links, MOST_LINKS, w->flows, w->n_flows);
    run_model(w);
    for (size_t i = 0; i < w->n_flows; i++) {
        cr_assert(fabs(w->got_s[i] - w->flows[i].end_s) <= 1e-10 * w->flows[i].end_s,
                  "%s, seed %llu: flow %zu of %zu ends at %.15g s, not %.15g s", what,
                  (unsigned long long)ct_seed(), i, w->n_flows, w->got_s[i], w->flows[i].end_s);
    }
}

static void random_routes(world *w, ct_rng *rng)
{
    uint32_t longest = ct_below(rng, 5);

    for (uint32_t src = 0; src < RANKS; src++) {
        for (uint32_t dst = 0; dst < RANKS; dst++) {
            uint8_t *way = w->routes[src][dst];
            for (uint32_t want = ct_below(rng, longest + 1); want > 0; want--) {
                uint8_t link = (uint8_t)ct_below(rng, INNER);
                if (memchr(way + 1, link, way[0]) == NULL) {
                    way[++way[0]] = link;
                }
            }
        }
    }
}

/* NICs that slow down and recover. */
static void random_changes(world *w, ct_rng *rng)
{
    for (uint32_t r = 0; r < RANKS; r++) {
        ct_fluid_link *tx = &w->links[r], *rx = &w->links[RANKS + r];
        double         time_s = 0;
        tx->n_steps           = ct_below(rng, 5);
        tx->n_steps           = tx->n_steps == 0 ? 1 : tx->n_steps;
        for (size_t i = 0; i < tx->n_steps; i++) {
            tx->from_s[i]        = time_s;
            tx->bandwidth_Bps[i] = 100 / (1 + 3.0 * ct_below(rng, 3));
            w->from_s[r][i]      = time_s;
            w->pace[r][i]        = 1.0 / tx->bandwidth_Bps[i];
            time_s += ct_uniform(rng, 0.1, 5);
        }
        *rx            = *tx;
        w->profiles[r] = (cs_rate_profile){tx->n_steps, w->from_s[r], w->pace[r]};
    }
    w->ports.profiles = w->profiles;
}

static void random_flows(world *w, ct_rng *rng)
{
    uint32_t n       = 1 + ct_below(rng, MOST_FLOWS);
    bool     is_even = ct_below(rng, 2) == 0; /* many ends at one time */
    double   time_s  = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t src = ct_below(rng, RANKS), dst = (src + 1 + ct_below(rng, RANKS - 1)) % RANKS;
        uint64_t bytes = is_even ? 60 * (1 + ct_below(rng, 3)) : ct_below(rng, 500);
        time_s += ct_below(rng, 3) > 0 ? 0 : ct_uniform(rng, 0, 1);
        add_flow(w, src, dst, time_s, 0.5 * ct_below(rng, 3), bytes);
    }
}

Test(flow, equals_water_filling_on_random_links)
{
    static world w;
    ct_rng       rng = ct_rng_for(41);

    for (int i = 0; i < 1500; i++) {
        begin_world(&w);
        random_routes(&w, &rng);
        for (uint32_t l = 0; l < INNER; l++) {
            set_inner(&w, l, 20 * (1 + ct_below(&rng, 20)), 0.25 * ct_below(&rng, 3));
        }
        if (i % 3 == 0) {
            random_changes(&w, &rng);
        }
        if (i % 5 == 0) {
            w.options.flow_cap_Bps = 10 + 10 * ct_below(&rng, 5);
        }
        if (i % 7 == 0) {
            w.options.incast_ratio = 1 + 0.25 * ct_below(&rng, 5);
            for (uint32_t r = 0; r < RANKS; r++) {
                w.links[RANKS + r].incast_ratio = w.options.incast_ratio;
            }
            w.inner[3].is_ingress               = true;
            w.links[2 * RANKS + 3].incast_ratio = w.options.incast_ratio;
        }
        random_flows(&w, &rng);
        compare(&w, "random");
    }
}

/* Three flows into one port, of which one also crosses a link of 10 B/s: 10 + 45 + 45. When that
 * one is not there any more the others get 50. */
Test(flow, gives_the_rest_to_those_who_can_use_it)
{
    static world w;

    begin_world(&w);
    set_inner(&w, 0, 10, 2);
    memcpy(w.routes[1][0], (uint8_t[]){1, 0}, 2);
    add_flow(&w, 1, 0, 0, 0, 100);  /* 2 s of latency, then 10 s at 10 B/s */
    add_flow(&w, 2, 0, 0, 0, 1000); /* 2 s at 50, 10 s at 45, then 50 */
    add_flow(&w, 3, 0, 0, 0, 1000);
    compare(&w, "by hand");
    cr_assert_float_eq(w.got_s[0], 12, 1e-9);
    cr_assert_float_eq(w.got_s[1], 12 + 450.0 / 50, 1e-9);
    cr_assert_float_eq(w.got_s[2], 12 + 450.0 / 50, 1e-9);
}

/* Two flows at 50 B/s each; at 1 s the NIC of rank 1 falls to 20 B/s, at 3 s it is back. */
Test(flow, rates_running_flows_anew_when_a_nic_changes)
{
    static world w;

    begin_world(&w);
    for (uint32_t r = 0; r < RANKS; r++) {
        w.profiles[r] = (cs_rate_profile){r == 1 ? 3 : 1, w.from_s[r], w.pace[r]};
        w.pace[r][0] = w.pace[r][2] = 1.0 / 100;
    }
    memcpy(w.from_s[1], (double[]){0, 1, 3}, 3 * sizeof(double));
    w.pace[1][1]       = 1.0 / 20;
    w.ports.profiles   = w.profiles;
    w.links[1]         = (ct_fluid_link){3, {0, 1, 3}, {100, 20, 100}, 1};
    w.links[RANKS + 1] = w.links[1];
    add_flow(&w, 1, 0, 0, 0, 300); /* 50 + 2 * 20, then 50 until the other one ends */
    add_flow(&w, 2, 0, 0, 0, 300); /* 50 + 2 * 80, then 90 at 50 */
    compare(&w, "a NIC that changes");
    cr_assert_float_eq(w.got_s[1], 3 + 90.0 / 50, 1e-9);
    cr_assert_float_eq(w.got_s[0], 4.8 + (300 - 90 - 90) / 100.0, 1e-9);
}

Test(flow, has_incast_and_a_cap_per_flow)
{
    static world w;

    begin_world(&w);
    w.options                   = (flow_options){1.25, 30, 0};
    w.links[RANKS].incast_ratio = 1.25;
    add_flow(&w, 1, 0, 0, 0, 240); /* the cap, then a third of 80 B/s */
    add_flow(&w, 2, 0, 2, 0, 300);
    add_flow(&w, 3, 0, 2, 0, 300);
    compare(&w, "incast");
    double first = 2 + (240 - 60) * 3 / 80.0;
    cr_assert_float_eq(w.got_s[0], first, 1e-9);
    cr_assert_float_eq(w.got_s[1], first + (300 - 180) / 30.0, 1e-9);
}

Test(flow, ends_what_has_no_bytes_after_its_latency)
{
    static world w;

    begin_world(&w);
    set_inner(&w, 0, 10, 2);
    memcpy(w.routes[1][0], (uint8_t[]){1, 0}, 2);
    add_flow(&w, 1, 0, 0, 0, 0);
    add_flow(&w, 2, 0, 0, 1, 0);
    add_flow(&w, 2, 0, 1, 0, 0);
    run_model(&w);
    cr_assert_eq(w.got_s[0], 2);
    cr_assert_eq(w.got_s[1], 1);
    cr_assert_eq(w.got_s[2], 1);
}
