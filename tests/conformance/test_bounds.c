/* SPDX-License-Identifier: GPL-3.0-or-later */
/* No bound exceeds any replay: every algorithm on random clusters, with random arrivals, slow
 * NICs, sizes and models. A counterexample is printed with all that reproduces it;
 * COLLSIM_SEED=N in the environment runs another set. */
#include "base/arena.h"
#include "base/random.h"
#include "cs/bound.h"
#include "cs/graph.h"
#include "cs/machine.h"
#include "cs/result.h"
#include "support/foreign.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { CASES_EACH = CT_CASES(500), MOST_RANKS = 36, MOST_FAULTS = 6 };

typedef struct world {
    cs_arena        arena; /* of the topology */
    cs_scenario     scenario;
    double          arrival_s[MOST_RANKS];
    cs_capacity     capacity[MOST_FAULTS];
    const cs_model *model;
    cs_options      model_options;
} world;

static double log_uniform(gsl_rng *rng, double low, double high)
{
    return low * pow(high / low, gsl_rng_uniform(rng));
}

static uint32_t below(gsl_rng *rng, uint32_t limit)
{
    return (uint32_t)gsl_rng_uniform_int(rng, limit);
}

static cs_fabric random_fabric(gsl_rng *rng, bool may_be_direct)
{
    double alpha_s = below(rng, 4) == 0 ? 0 : log_uniform(rng, 1e-7, 1e-3);
    bool   direct  = may_be_direct && below(rng, 2) == 0;

    return (cs_fabric){direct ? CS_DIRECT : CS_SWITCHED, alpha_s, log_uniform(rng, 1e8, 1e11)};
}

static cs_cluster random_cluster(gsl_rng *rng)
{
    uint32_t  g   = below(rng, 3) == 0 ? 2 + below(rng, 5) : 1;
    uint32_t  q   = g > 1 ? 1 + below(rng, MOST_RANKS / g) : 2 + below(rng, MOST_RANKS - 1);
    cs_fabric nic = random_fabric(rng, false), nvlink = random_fabric(rng, true);

    if (g == 1 && below(rng, 3) == 0) {
        q = 1u << (1 + below(rng, 5));
    }
    cs_fabric cross   = random_fabric(rng, false);
    uint32_t  sockets = g % 2 == 0 && below(rng, 2) == 0 ? 2 : 1;
    uint32_t  links   = nvlink.kind == CS_DIRECT && below(rng, 2) == 0 ? 1 + below(rng, g) : 0;
    return (cs_cluster){.n_ranks           = g * q,
                        .gpus_per_server   = g,
                        .fabrics           = {nic, nvlink, cross},
                        .sockets           = sockets,
                        .nvlink_concurrent = links};
}

/* The ranks in servers of their own numbers of GPUs. */
static void random_gpus(world *w, gsl_rng *rng)
{
    cs_cluster *c      = &w->scenario.cluster;
    cs_uneven  *uneven = CS_ARENA_NEW(&w->arena, cs_uneven, 1);
    uint32_t   *gpus = CS_ARENA_NEW(&w->arena, uint32_t, c->n_ranks), n = 0, next = 0;
    uint32_t    most = c->gpus_per_server;

    while (next < c->n_ranks) {
        uint32_t left = c->n_ranks - next;
        gpus[n]       = 1 + below(rng, most < left ? most : left);
        next += gpus[n++];
    }
    uneven->first     = CS_ARENA_NEW(&w->arena, uint32_t, n + 1);
    uneven->server_of = CS_ARENA_NEW(&w->arena, uint32_t, next);
    c->sockets        = 1;
    cs_cluster_set_gpus(c, gpus, n, uneven);
}

/* Servers with ports of their own rates. */
static void random_rates(world *w, gsl_rng *rng)
{
    cs_cluster *c       = &w->scenario.cluster;
    uint32_t    n       = cs_n_servers(c);
    cs_server  *servers = CS_ARENA_NEW(&w->arena, cs_server, n);

    for (uint32_t s = 0; s < n; s++) {
        bool is_like_first = s > 0 && below(rng, 2) == 0;
        for (uint32_t f = 0; f < CS_FABRICS; f++) {
            servers[s].bandwidth_Bps[f] =
                is_like_first ? servers[0].bandwidth_Bps[f]
                              : c->fabrics[f].bandwidth_Bps * log_uniform(rng, 0.1, 1);
        }
    }
    cs_cluster_set_servers(c, servers);
}

static double whole_buffer_s(const world *w)
{
    return (double)w->scenario.bytes / w->scenario.cluster.fabrics[CS_NIC].bandwidth_Bps;
}

/* All together; one late; each at its time; some late together; a server late. */
static void random_arrivals(world *w, gsl_rng *rng)
{
    const cs_cluster *c    = &w->scenario.cluster;
    uint32_t          n    = c->n_ranks;
    uint32_t          kind = below(rng, 5), first = below(rng, n), who = below(rng, n);
    double            late_s = whole_buffer_s(w) * log_uniform(rng, 0.01, 10);

    for (uint32_t r = 0; r < n; r++) {
        bool   is_late[] = {false, r == who, true, below(rng, 3) == 0,
                            cs_server_of(c, r) == cs_server_of(c, who)};
        double delay_s   = kind == 2 ? late_s * gsl_rng_uniform(rng) : late_s;

        w->arrival_s[r] = r != first && is_late[kind] ? delay_s : 0;
    }
    w->scenario.arrival_s = w->arrival_s;
}

static void random_faults(world *w, gsl_rng *rng)
{
    const cs_cluster *cluster = &w->scenario.cluster;
    uint32_t          servers = cs_n_servers(cluster);
    uint32_t          count   = below(rng, 2) * (1 + below(rng, 3));
    double            x_s     = whole_buffer_s(w);

    for (uint32_t i = 0; i < count && i < servers; i++) {
        bool   is_always = below(rng, 3) > 0;
        double from_s    = is_always ? 0 : x_s * gsl_rng_uniform(rng);
        double until_s = is_always ? (double)INFINITY : from_s + x_s * 3 * gsl_rng_uniform_pos(rng);
        uint32_t server = i * (servers / count + (servers < count));

        w->capacity[w->scenario.n_capacity++] = (cs_capacity){
            cs_server_first(cluster, server), 1 + 3 * gsl_rng_uniform(rng), from_s, until_s, false};
    }
    w->scenario.capacity = w->capacity;
}

/* An option that the model lacks stays out. */
static void set_time(world *w, const char *key, double time_s)
{
    char text[40];

    (void)snprintf(text, sizeof text, "%.17g", time_s);
    (void)cs_field_set(w->model->options, &w->model_options, key, text, key, NULL);
}

static void random_model(world *w, gsl_rng *rng)
{
    const cs_fabric *fabrics = w->scenario.cluster.fabrics;
    double           alpha_s =
        fmin(fmin(fabrics[CS_NIC].alpha_s, fabrics[CS_NVLINK].alpha_s), fabrics[CS_CROSS].alpha_s);
    size_t count = 0;

    while (cs_models[count] != NULL) {
        count++;
    }
    w->model = cs_models[below(rng, (uint32_t)count)];
    /* A foreign simulator is a process for every replay, and packets are many: now and then. */
    const cs_network *network = w->model->network;
    uint32_t          once_in = network == NULL                   ? 1
                                : network->is_foreign             ? 100
                                : network->queues_senders != NULL ? 8
                                                                  : 1;
    if (below(rng, once_in) > 0 ||
        (once_in == 100 && ct_foreign_takes_long(w->model, &w->scenario))) {
        w->model = cs_models[0];
    }
    cs_fields_default(w->model->options, &w->model_options);
    if (below(rng, 2) == 0) {
        set_time(w, "overhead_s", alpha_s * gsl_rng_uniform(rng) / 2);
        set_time(w, "gap_s", alpha_s * gsl_rng_uniform(rng));
        set_time(w, "message_gap_s", alpha_s * gsl_rng_uniform(rng));
    }
}

static void random_leaf_spine(world *w, gsl_rng *rng, cs_topology *topology)
{
    uint32_t       servers = cs_n_servers(&w->scenario.cluster);
    cs_leaf_spine *shape   = CS_ARENA_NEW(&w->arena, cs_leaf_spine, 1);

    *shape         = (cs_leaf_spine){.n_leaves             = 1 + below(rng, servers),
                                     .n_spines             = 1 + below(rng, 3),
                                     .uplink_bandwidth_Bps = log_uniform(rng, 1e8, 1e11),
                                     .hop_latency_s        = below(rng, 2) * log_uniform(rng, 1e-7, 1e-4)};
    cs_link *links = CS_ARENA_NEW(&w->arena, cs_link, 2 * shape->n_leaves * shape->n_spines);
    cs_leaf_spine_make(shape, links, topology);
}

static cs_status random_fat_tree(world *w, gsl_rng *rng, cs_topology *topology)
{
    cs_fat_tree shape = {.leaf_servers          = 1 + below(rng, 4),
                         .uplinks               = 1 + below(rng, 3),
                         .pod_leaves            = below(rng, 3),
                         .core_uplinks          = below(rng, 3),
                         .oversubscription      = 1 + 3 * gsl_rng_uniform(rng),
                         .core_oversubscription = 1 + 3 * gsl_rng_uniform(rng)};
    cs_graph   *graph = CS_ARENA_NEW(&w->arena, cs_graph, 1);

    graph->arena = &w->arena;
    return cs_fat_tree_make(&shape, &w->scenario.cluster, graph, topology, NULL);
}

/* NICs that GPUs share, PCIe switches, links between sockets. */
static cs_status random_servers(world *w, gsl_rng *rng, cs_topology *topology)
{
    uint32_t        g      = w->scenario.cluster.gpus_per_server;
    cs_machine_mesh mesh[] = {CS_MESH_SWITCHED, CS_MESH_FULL, CS_MESH_SOCKETS, CS_MESH_NONE};
    double          rate[6];
    for (int i = 0; i < 6; i++) {
        rate[i] = log_uniform(rng, 1e8, 1e11);
    }
    cs_server_shape shape = {.n_gpus       = g,
                             .n_nics       = 1 + below(rng, g + 2),
                             .n_sockets    = 1 + below(rng, 2),
                             .n_switches   = below(rng, g + 1),
                             .mesh         = mesh[below(rng, 4)],
                             .nvlink_Bps   = rate[0],
                             .nic_Bps      = rate[1],
                             .nic_pcie_Bps = rate[2],
                             .pcie_Bps     = rate[3],
                             .uplink_Bps   = rate[4],
                             .socket_Bps   = rate[5]};
    cs_site         site = {.machine = cs_server_make(&shape, "server", &w->arena), .n_servers = 1};

    return cs_site_links(&site, &w->scenario.cluster, &w->arena, topology, NULL);
}

/* Links between the ports, for models that know them. */
static void random_topology(world *w, gsl_rng *rng)
{
    cs_topology *topology = CS_ARENA_NEW(&w->arena, cs_topology, 1);
    cs_status    status   = CS_OK;
    uint32_t     kind     = below(rng, 4);

    if (w->model->network == NULL) {
        return;
    }
    if (kind == 0) {
        random_leaf_spine(w, rng, topology);
    } else if (kind == 1 && w->scenario.cluster.uneven == NULL) {
        status = random_fat_tree(w, rng, topology);
    } else if (kind == 2 && w->scenario.cluster.uneven == NULL) {
        status = random_servers(w, rng, topology);
    }
    if (status == CS_OK && topology->kind != NULL) {
        w->scenario.cluster.topology = topology;
    }
}

static cs_collective random_collective(const cs_algorithm *algorithm, gsl_rng *rng)
{
    uint32_t collective = below(rng, CS_COLLECTIVE_COUNT);

    while ((algorithm->collectives >> collective & 1u) == 0) {
        collective = (collective + 1) % CS_COLLECTIVE_COUNT;
    }
    return (cs_collective)collective;
}

static void random_world(world *w, const cs_algorithm *algorithm, gsl_rng *rng)
{
    *w = (world){.scenario = {.cluster = random_cluster(rng)}};
    if (algorithm->takes_uneven && below(rng, 3) == 0) {
        random_gpus(w, rng);
    }
    if (below(rng, 3) == 0) {
        random_rates(w, rng);
    }
    w->scenario.collective = random_collective(algorithm, rng);
    w->scenario.root       = below(rng, w->scenario.cluster.n_ranks);
    w->scenario.bytes      = (uint64_t)log_uniform(rng, 1, 1e8);
    if (below(rng, 2) == 0) {
        w->scenario.bytes *= w->scenario.cluster.n_ranks;
    }
    random_arrivals(w, rng);
    random_faults(w, rng);
    random_model(w, rng);
    random_topology(w, rng);
}

static void print_world(const world *w, const cs_algorithm *algorithm)
{
    const cs_scenario *s = &w->scenario;

    cr_log_error("%s %s on %s: n=%u g=%u sockets=%u links=%u bytes=%llu root=%u", algorithm->name,
                 cs_collective_name(s->collective), w->model->name, s->cluster.n_ranks,
                 s->cluster.gpus_per_server, s->cluster.sockets, s->cluster.nvlink_concurrent,
                 (unsigned long long)s->bytes, s->root);
    for (int f = 0; f < CS_FABRICS; f++) {
        const cs_fabric *fabric = &s->cluster.fabrics[f];
        cr_log_error("  fabric %d: kind=%d alpha=%.17g bandwidth=%.17g", f, (int)fabric->kind,
                     fabric->alpha_s, fabric->bandwidth_Bps);
    }
    if (s->cluster.topology != NULL) {
        cr_log_error("  %s, %u links", s->cluster.topology->kind->name,
                     s->cluster.topology->n_links);
    }
    for (uint32_t i = 0; s->cluster.uneven != NULL && i < cs_n_servers(&s->cluster); i++) {
        cr_log_error("  server %u: %u GPUs", i, cs_server_gpus(&s->cluster, i));
    }
    for (uint32_t i = 0; s->cluster.servers != NULL && i < cs_n_servers(&s->cluster); i++) {
        const double *rate_Bps = s->cluster.servers[i].bandwidth_Bps;
        cr_log_error("  server %u: %.17g %.17g %.17g", i, rate_Bps[0], rate_Bps[1], rate_Bps[2]);
    }
    for (uint32_t r = 0; r < s->cluster.n_ranks; r++) {
        if (w->arrival_s[r] > 0) {
            cr_log_error("  rank %u arrives at %.17g", r, w->arrival_s[r]);
        }
    }
    for (size_t i = 0; i < s->n_capacity; i++) {
        cr_log_error("  rank %u slow %.17g from %.17g until %.17g", w->capacity[i].rank,
                     w->capacity[i].slowdown, w->capacity[i].from_s, w->capacity[i].until_s);
    }
}

static bool is_no_faster(double elapsed_s, double bound_s)
{
    return !(bound_s > elapsed_s * (1 + 1e-12));
}

/* The labelled bounds, too, where the schedule is what they are for. */
static bool holds_when_labelled(const cs_job *job, const cs_result *result)
{
    const cs_bound_context context = cs_job_bounds(job);

    for (size_t i = 0; cs_bounds[i] != NULL; i++) {
        bool is_meant = !context.uses_switches || cs_bounds[i]->in_network;
        if (is_meant && !is_no_faster(result->elapsed_s, cs_bounds[i]->seconds(&context))) {
            cr_log_error("bound %s", cs_bounds[i]->name);
            return false;
        }
    }
    return true;
}

/* 1 if the algorithm takes the scenario, 0 if it refuses. */
static int try_world(const world *w, const cs_algorithm *algorithm)
{
    cs_result result;
    cs_error  err = {0};
    cs_job    job = {.scenario = w->scenario, .verify = true};

    cs_job_set_algorithm(&job, algorithm, NULL);
    cs_job_set_model(&job, w->model, &w->model_options);
    cs_status status = cs_job_resolve(&job, &err);
    if (status == CS_ENOTSUP || status == CS_EINVAL) {
        return 0;
    }
    cr_assert_eq(status, CS_OK, "%s: %s", algorithm->name, err.message);
    cr_assert_eq(cs_job_run(&job, NULL, 0, &result, &err), CS_OK, "%s: %s", algorithm->name,
                 err.message);
    bool holds = result.verified && is_no_faster(result.elapsed_s, result.bound_s) &&
                 !(result.gap < 1) && /* not by the last digit either */
                 holds_when_labelled(&job, &result);
    cs_job_release(&job);
    if (!holds) {
        print_world(w, algorithm);
    }
    cr_expect(holds, "%s: %.17g s, bound %s %.17g s, verified %d", algorithm->name,
              result.elapsed_s, result.bound, result.bound_s, (int)result.verified);
    return 1;
}

static uint64_t seed(void)
{
    const char *text = getenv("COLLSIM_SEED");
    return text != NULL ? strtoull(text, NULL, 10) : 20250601;
}

Test(bounds, no_replay_is_faster)
{
    for (size_t i = 0; cs_algorithms[i] != NULL; i++) {
        gsl_rng *rng  = cs_random_stream(seed(), cs_algorithms[i]->name);
        int      runs = 0;

        for (int c = 0; c < CASES_EACH; c++) {
            world w;
            random_world(&w, cs_algorithms[i], rng);
            runs += try_world(&w, cs_algorithms[i]);
            cs_arena_free(&w.arena);
        }
        gsl_rng_free(rng);
        cr_log_info("%s: seed %llu, %d of %d scenarios run", cs_algorithms[i]->name,
                    (unsigned long long)seed(), runs, CASES_EACH);
        cr_expect_gt(runs, 0, "%s takes none of %d scenarios", cs_algorithms[i]->name, CASES_EACH);
    }
}
