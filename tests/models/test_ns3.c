/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ns-3 without stacks against the oracle of packets: every message ends at the same picosecond, and
 * queues drop the same packets, in random settings. Then the model beside the model packet, and
 * children that fail. Where ns-3 was not built in, the tests say so and pass. */
#include "cs/job.h"
#include "cs/result.h"
#include "cs/topology.h"
#include "models/packet/ports.h"
#include "support/foreign.h"
#include "support/packet_driver.h"
#include "support/rng.h"
#include "support/scene.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const ct_foreign ns3 = {"ns3", "collsim-ns3", "libns3-dev"};

/* ---- to the picosecond ---- */

typedef struct seen {
    uint64_t settings, packets, drops, lossy; /* settings in which packets were lost */
} seen;

/* ns-3 stores and forwards, and has headers itself. */
static ct_packet_setting setting_of(uint64_t seed, ct_packet_queues queues)
{
    ct_packet_setting set = ct_packet_random(seed, queues);

    set.cut_through_bytes = 0;
    for (size_t i = 0; i < 2; i++) {
        set.ports[i].header = set.ports[i].header < 2 ? 2 : set.ports[i].header;
    }
    return set;
}

static seen try_all(const char *what, ct_packet_queues queues, uint64_t n)
{
    const ct_packet_seeds seeds = ct_packet_seeds_of(n);
    const uint64_t        end   = seeds.first + seeds.n;
    seen                  s     = {.settings = seeds.n};

    for (uint64_t seed = seeds.first; seed < end; seed++) {
        ct_packet_setting set = setting_of(seed, queues);
        ct_packet_world   w   = ct_packet_world_of(&set);
        ct_packet_answer  a   = ct_packet_oracle(&w.net, &w.schedule);
        ct_packet_same(&w, &a, &cs_packet_ns3, seed % 2 == 0 ? seed : 0);
        s.packets += a.totals.packets;
        s.drops += a.totals.drops;
        s.lossy += a.totals.drops > 0;
        ct_packet_answer_free(&a);
        ct_packet_world_free(&w);
    }
    (void)fprintf(stderr,
                  "%s: seeds %" PRIu64 " to %" PRIu64 ": %" PRIu64 " packets, %" PRIu64
                  " dropped in %" PRIu64 " settings\n",
                  what, seeds.first, end - 1, s.packets, s.drops, s.lossy);
    return s;
}

Test(ns3, ends_messages_when_the_oracle_does)
{
    if (ct_foreign_model("ns3") != NULL) {
        seen s = try_all("unlimited queues", CT_UNLIMITED, 100);
        cr_assert_gt(s.packets, 100 * s.settings);
    }
}

Test(ns3, drops_the_packets_that_the_oracle_does)
{
    if (ct_foreign_model("ns3") != NULL) {
        seen s = try_all("queues that drop", CT_LOSSY, 60);
        cr_assert(s.lossy * 4 > s.settings, "%" PRIu64 " of %" PRIu64 " lose packets", s.lossy,
                  s.settings);
    }
}

/* ---- the model beside the model packet ---- */

static ct_scene        scene;
static cs_options      storage[2]; /* of packet and ns3: both begin with those of the net */
static cs_link         links[2 * 64 * 4];
static cs_leaf_spine   shape;
static cs_topology     topology;
static const cs_model *models[2];

static void set_default_options(void)
{
    for (size_t i = 0; i < 2; i++) {
        models[i] = ct_foreign_model(i == 0 ? "packet" : "ns3");
        cs_fields_default(models[i]->options, &storage[i]);
    }
}

/* The same for both. */
static void set_option(const char *key, const char *value)
{
    cs_error err = {0};

    for (size_t i = 0; i < 2; i++) {
        cr_assert_eq(cs_field_set(models[i]->options, &storage[i], key, value, key, &err), CS_OK,
                     "%s", err.message);
    }
}

static void set_random_options(ct_rng *rng)
{
    static const char *const mtus[] = {"256", "1500", "4096", "9000"};
    static const char *const ways[] = {"static", "hash", "spray"};

    set_option("mtu_bytes", mtus[ct_below(rng, 4)]);
    set_option("nvlink_mtu_bytes", mtus[ct_below(rng, 4)]);
    set_option("paths", ways[ct_below(rng, 3)]);
}

/* A scene that is not too much for ns-3; over leaves and spines where every server is a rank. */
static void set_random_scene(const cs_algorithm *algorithm, ct_rng *rng)
{
    do {
        ct_scene_random(&scene, algorithm, rng);
    } while (scene.scenario.bytes > 1 << 19);
    cs_cluster *c = &scene.scenario.cluster;
    if (c->gpus_per_server == 1 && c->topology == NULL && c->n_ranks % 2 == 0) {
        shape = (cs_leaf_spine){.n_leaves             = 2,
                                .n_spines             = 1 + ct_below(rng, 4),
                                .uplink_bandwidth_Bps = c->fabrics[CS_NIC].bandwidth_Bps,
                                .hop_latency_s        = ct_below(rng, 2) * 300e-9};
        cs_leaf_spine_make(&shape, links, &topology);
        c->topology = &topology;
    }
    if (ct_below(rng, 2) == 0) {
        ct_scene_break_nics(&scene, rng);
    }
}

static void expect_same(const char *what)
{
    ct_run run[2];

    for (size_t i = 0; i < 2; i++) {
        run[i] = ct_scene_observe_on(&scene, models[i], &storage[i]);
    }
    cr_assert_eq(run[0].count, run[1].count);
    for (size_t i = 0; i < run[0].count; i++) {
        cs_interval a = run[0].intervals[i], b = run[1].intervals[i];
        cr_assert(a.start_s == b.start_s && a.end_s == b.end_s,
                  "%s: %s: transfer %zu in [%.17g, %.17g] s on ns3, [%.17g, %.17g] s on packet",
                  what, ct_scene_text(&scene), i, b.start_s, b.end_s, a.start_s, a.end_s);
    }
    cr_assert_eq(run[0].outcome.elapsed_s, run[1].outcome.elapsed_s);
    ct_run_free(&run[0]);
    ct_run_free(&run[1]);
}

Test(ns3, is_packet_for_every_algorithm)
{
    enum { SCENES_EACH = 3 };

    for (size_t a = 0; cs_algorithms[a] != NULL && ct_foreign_model("ns3") != NULL; a++) {
        ct_rng rng = ct_rng_for(5200 + a);
        for (int i = 0; i < SCENES_EACH; i++) {
            cs_error err = {0};
            char     what[80];
            (void)snprintf(what, sizeof what, "seed %llu, scene %d", (unsigned long long)ct_seed(),
                           i);
            set_default_options();
            set_random_options(&rng);
            set_random_scene(cs_algorithms[a], &rng);
            if (ct_scene_check(&scene, &err) == CS_OK) {
                expect_same(what);
            }
        }
    }
}

/* What algorithms choose by: the model packet with the same packets, but where raw queues may lose
 * them. */
Test(ns3, has_its_times_forecast_without_ns3)
{
    static const char *const modes[] = {"raw", "udp", "tcp"};

    for (int k = 0; k < 6 && ct_foreign_model("ns3") != NULL; k++) {
        cs_options theirs;
        cs_error   err = {0};
        set_default_options();
        set_option("mtu_bytes", "1500");
        set_option("paths", "hash");
        set_option("queue_bytes", k < 3 ? "0" : "100000");
        cr_assert_eq(
            cs_field_set(models[1]->options, &storage[1], "mode", modes[k % 3], "mode", &err),
            CS_OK);
        const cs_model *cheaper = models[1]->forecasts_by(&storage[1], &theirs);
        cr_assert_eq(cheaper, k == 3 ? NULL : models[0]);
        if (cheaper != NULL) {
            const cs_packet_options *p = (const cs_packet_options *)&theirs;
            cr_expect(p->mtu_bytes == 1500 && p->paths == CS_PATHS_HASH && p->queue_bytes == 0);
            cr_expect(!p->lossless && p->trains);
            ct_scene_set(&scene, "ring", CS_ALLREDUCE, 4, 1 << 16);
            ct_scene_ready(&scene);
            cr_expect_eq(cheaper->check(&scene.scenario, &theirs, &err), CS_OK, "%s", err.message);
        }
    }
}

/* A schedule that is chosen by forecasts: the same one, which takes as long. */
Test(ns3, has_the_schedule_chosen_that_packet_has)
{
    const cs_capacity slow = {3, 2, 0, (double)INFINITY, false};

    for (uint64_t bytes = 1 << 14; bytes <= 1 << 20 && ct_foreign_model("ns3") != NULL;
         bytes *= 8) {
        cs_job    job[2]    = {{.algorithm = NULL}, {.algorithm = NULL}};
        cs_result result[2] = {{.elapsed_s = 0}, {.elapsed_s = 0}};
        set_default_options();
        ct_scene_set(&scene, "optcc", CS_ALLREDUCE, 8, bytes);
        scene.scenario.capacity   = &slow;
        scene.scenario.n_capacity = 1;
        for (size_t i = 0; i < 2; i++) {
            cs_error err    = {0};
            job[i].scenario = scene.scenario;
            job[i].verify   = true;
            cs_job_set_algorithm(&job[i], scene.algorithm, NULL);
            cs_job_set_model(&job[i], models[i], &storage[i]);
            cr_assert_eq(cs_job_run(&job[i], NULL, 0, &result[i], &err), CS_OK, "%s", err.message);
            cr_expect(result[i].verified);
        }
        cr_expect_eq(result[0].elapsed_s, result[1].elapsed_s);
        cr_expect_eq(memcmp(&result[0].options, &result[1].options, scene.algorithm->options_bytes),
                     0);
    }
}

/* ---- stacks ---- */

static double elapsed_on(size_t model)
{
    cs_error err = {0};

    cr_assert_eq(models[model]->check(&scene.scenario, &storage[model], &err), CS_OK, "%s",
                 err.message);
    ct_run run  = ct_scene_observe_on(&scene, models[model], &storage[model]);
    double time = run.outcome.elapsed_s;
    ct_run_free(&run);
    return time;
}

static double elapsed_in(const char *mode)
{
    cs_error err = {0};

    cr_assert_eq(cs_field_set(models[1]->options, &storage[1], "mode", mode, "mode", &err), CS_OK);
    return elapsed_on(1);
}

/* Servers of four ranks, their meshes, two leaves and two spines. */
static void set_servers(const char *algorithm)
{
    static const cs_leaf_spine two = {2, 2, 50e9, 100e-9};

    set_default_options();
    ct_scene_set(&scene, algorithm, CS_ALLREDUCE, 16, 1 << 20);
    scene.scenario.cluster.gpus_per_server = 4;
    scene.scenario.cluster.fabrics[CS_NIC] = (cs_fabric){CS_SWITCHED, 1e-6, 50e9};
    shape                                  = two;
    cs_leaf_spine_make(&shape, links, &topology);
    scene.scenario.cluster.topology = &topology;
    ct_scene_ready(&scene);
}

/* The header has what IPv4 and UDP need, so packets are as long. */
Test(ns3, udp_takes_as_long_as_no_stack_where_no_packets_tie)
{
    if (ct_foreign_model("ns3") == NULL) {
        return;
    }
    set_servers("ring");
    cr_assert_eq(elapsed_in("udp"), elapsed_on(0));
    scene.scenario.cluster.fabrics[CS_NVLINK].kind = CS_DIRECT;
    scene.scenario.cluster.topology                = NULL;
    ct_scene_ready(&scene);
    cr_assert_eq(elapsed_in("udp"), elapsed_on(0));
    set_servers("allpairs"); /* many tie */
    set_option("paths", "spray");
    cr_assert_float_eq(elapsed_in("udp") / elapsed_on(0), 1, 0.2);
}

/* Headers of 54 bytes, acknowledgements, a handshake, windows that grow. */
Test(ns3, tcp_takes_a_little_longer)
{
    if (ct_foreign_model("ns3") == NULL) {
        return;
    }
    set_default_options();
    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 8, 4 << 20);
    scene.scenario.cluster.fabrics[CS_NIC] = (cs_fabric){CS_SWITCHED, 1e-6, 50e9};
    ct_scene_ready(&scene);
    double tcp_s = elapsed_in("tcp"), no_stack_s = elapsed_on(0);
    cr_assert(tcp_s > no_stack_s && tcp_s < 1.05 * no_stack_s, "%.9g s, without %.9g s", tcp_s,
              no_stack_s);
    cr_assert_eq(elapsed_in("tcp"), tcp_s, "the same again");
}

/* What queues drop is an error with UDP and sent again by TCP; marks keep queues short. */
Test(ns3, queues_that_drop)
{
    cs_error err = {0};

    if (ct_foreign_model("ns3") == NULL) {
        return;
    }
    set_servers("allpairs");
    set_option("queue_bytes", "20000");
    cr_assert_eq(cs_field_set(models[1]->options, &storage[1], "mode", "udp", "mode", &err), CS_OK);
    cs_outcome outcome;
    cs_job     job = ct_scene_job(&scene, "ns3");
    job.verify     = false;
    cs_job_set_model(&job, job.model, &storage[1]);
    cr_assert_eq(cs_job_replay(&job, NULL, 0, &outcome, &err), CS_EWRONG);
    cr_assert_not_null(strstr(err.message, "were lost at"), "%s", err.message);
    double lossy_s = elapsed_in("tcp");
    set_option("queue_bytes", "0");
    double marked_s = elapsed_in("tcp");
    cr_assert(lossy_s > 0.2 && marked_s < 0.01, "%.9g s, %.9g s", lossy_s, marked_s);
}

static void expect_refusal(const char *key, const char *value, const char *mode, const char *where)
{
    cs_error        err   = {0};
    const cs_field *table = ct_foreign_model("ns3")->options;

    set_default_options();
    cr_assert_eq(cs_field_set(table, &storage[1], key, value, key, &err), CS_OK, "%s", err.message);
    cr_assert_eq(cs_field_set(table, &storage[1], "mode", mode, "mode", &err), CS_OK);
    cr_assert_eq(models[1]->check(&scene.scenario, &storage[1], &err), CS_EINVAL, "%s=%s", key,
                 value);
    cr_assert_str_eq(err.where, where);
}

Test(ns3, refuses_what_it_cannot)
{
    if (ct_foreign_model("ns3") == NULL) {
        return;
    }
    ct_scene_set(&scene, "ring", CS_ALLREDUCE, 4, 1000);
    expect_refusal("header_bytes", "1", "raw", "header_bytes");
    expect_refusal("nvlink_header_bytes", "29", "udp", "nvlink_header_bytes");
    expect_refusal("mtu_bytes", "65000", "udp", "header_bytes");
    expect_refusal("paths", "spray", "tcp", "paths");
    expect_refusal("queue_bytes", "5000000000", "raw", "queue_bytes");
    expect_refusal("queue_bytes", "100", "raw", "queue_bytes");
}

/* ---- children that fail ---- */

Test(ns3, leaves_nothing_behind_when_memory_ends)
{
    ct_foreign_without_memory(&ns3);
}

Test(ns3, says_how_its_child_failed)
{
    ct_foreign_fails(&ns3);
}

Test(ns3, names_what_is_not_there)
{
    ct_foreign_is_not_there(&ns3);
}

Test(ns3, survives_the_end_of_its_child_under_way)
{
    ct_foreign_is_killed(&ns3);
}
