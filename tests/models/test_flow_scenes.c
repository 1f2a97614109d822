/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole schedules on the flow model, by formula: uplinks that are shared, latency of hops, groups
 * whose members come late, a cap per flow. */
#include "cs/topology.h"
#include "support/stream.h"

#include <criterion/criterion.h>
#include <math.h>

static ct_scene      scene;
static cs_link       links[256];
static cs_leaf_spine shape;
static cs_topology   topology;

/* n ranks with NICs of 1 GB/s and 1 us. */
static void begin(const char *algorithm, uint32_t n, uint64_t bytes)
{
    ct_scene_set(&scene, algorithm, CS_ALLREDUCE, n, bytes);
    scene.scenario.cluster.fabrics[CS_NIC] = (cs_fabric){CS_SWITCHED, 1e-6, 1e9};
}

static void set_leaves(uint32_t leaves, uint32_t spines, double uplink_Bps, double hop_s)
{
    shape = (cs_leaf_spine){leaves, spines, uplink_Bps, hop_s};
    cs_leaf_spine_make(&shape, links, &topology);
    scene.scenario.cluster.topology = &topology;
}

static const cs_model *flow(void)
{
    const cs_model *model = NULL;

    cr_assert_eq(cs_model_find("flow", &model, NULL), CS_OK);
    return model;
}

static double elapsed_s(double cap_Bps)
{
    const struct {
        double incast_ratio, flow_cap_Bps;
        int    receivers;
    } options  = {1, cap_Bps, 0};
    ct_run run = ct_scene_observe_on(&scene, flow(), &options);
    double s   = run.outcome.elapsed_s;
    ct_run_free(&run);
    return s;
}

static void expect_s(double want_s)
{
    double got_s = elapsed_s(0);
    cr_assert(ct_is_close(got_s, want_s, 1e-12), "%.17g s, not %.17g s", got_s, want_s);
}

/* Per round 4 times 4 messages of s / 8 cross the one uplink. */
Test(flow_scenes, allpairs_shares_the_uplink)
{
    begin("allpairs", 8, 800000);
    set_leaves(2, 1, 0.5e9, 0);
    ct_scene_ready(&scene);
    expect_s(2 * (1e-6 + 16 * 100000 / 0.5e9));
    set_leaves(2, 2, 0.5e9, 0); /* each spine has half of the pairs */
    ct_scene_ready(&scene);
    expect_s(2 * (1e-6 + 8 * 100000 / 0.5e9));
}

Test(flow_scenes, hops_cost_latency_and_the_slowest_link_sets_the_rate)
{
    begin("ring", 2, 1000000);
    set_leaves(2, 1, 0.25e9, 3e-6);
    ct_scene_ready(&scene);
    expect_s(2 * (1e-6 + 2 * 3e-6 + 500000 / 0.25e9));
    set_leaves(1, 1, 0.25e9, 3e-6); /* one leaf: nobody goes up */
    ct_scene_ready(&scene);
    expect_s(2 * (1e-6 + 500000 / 1e9));
}

/* rhd of 4 ranks: both pairs at distance 2 cross at once, both ways, with half of the buffer; the
 * pairs at distance 1 stay below. */
Test(flow_scenes, both_directions_of_an_uplink_are_there)
{
    begin("rhd", 4, 4000000);
    set_leaves(2, 1, 1e9, 0);
    ct_scene_ready(&scene);
    expect_s(2 * (1e-6 + 2 * 2000000 / 1e9) + 2 * (1e-6 + 1000000 / 1e9));
}

static cs_transfer transfer(uint32_t src, uint32_t dst, cs_op op, uint32_t flags)
{
    return (cs_transfer){.src       = src,
                         .dst       = dst,
                         .chunk     = 0,
                         .bytes     = 1000000,
                         .span      = 1,
                         .flags     = (uint8_t)flags,
                         .op_fabric = cs_op_fabric(op, CS_NIC)};
}

static void play(const ct_stream *stream)
{
    cs_plan plan = {.n_chunks   = 1,
                    .n_slots    = 1,
                    .n_rounds   = 1,
                    .uses       = CS_USES_SHARED | CS_USES_EXCHANGE,
                    .starts_own = true};
    ct_scene_play(&scene, stream, &plan);
}

/* Rank 0 sends to 1 and, when that one comes, to 2, whose port pays its own start-up. The first
 * message does not wait for the second. */
Test(flow_scenes, a_member_of_a_group_that_is_late_pays_for_its_own_port)
{
    ct_stream stream = {0};

    begin("ring", 3, 1000000);
    scene.arrival_s[2]       = 5e-3;
    scene.scenario.arrival_s = scene.arrival_s;
    ct_stream_add(&stream, transfer(0, 2, CS_OP_COPY, CS_SHARED), NULL);
    ct_stream_add(&stream, transfer(0, 1, CS_OP_COPY, CS_SHARED), NULL);
    play(&stream);
    expect_s(5e-3 + 1e-6 + 1e-3);
    scene.arrival_s[2] = 0.5e-3; /* from 0.5 ms + 1 us on both have half */
    expect_s(1e-6 + 2e-3);
    ct_stream_free(&stream);
}

/* An exchange ends when both directions have, one of which is shared. */
Test(flow_scenes, an_exchange_over_uplinks_ends_with_its_slower_half)
{
    ct_stream stream = {0};

    begin("ring", 4, 1000000);
    set_leaves(2, 1, 1e9, 0);
    ct_stream_add(&stream, transfer(0, 2, CS_OP_EXCHANGE, 0), NULL);
    ct_stream_add(&stream, transfer(1, 3, CS_OP_COPY, 0), NULL);
    play(&stream);
    expect_s(1e-6 + 2e-3); /* 0 -> 2 and 1 -> 3 share the way up; 2 -> 0 has the way down */
    ct_stream_free(&stream);
}

/* Times count from the last arrival: no time before it is special, neither to messages that share
 * an uplink and end a second before it nor to messages of no bytes that begin then. */
Test(flow_scenes, messages_end_a_second_before_the_last_arrival)
{
    ct_stream stream = {0};

    begin("ring", 6, 1000000);
    scene.scenario.cluster.fabrics[CS_NIC] = (cs_fabric){CS_SWITCHED, 0, 1e6};
    set_leaves(2, 1, 1e6, 0);
    scene.arrival_s[5]       = 3;
    scene.scenario.arrival_s = scene.arrival_s;
    ct_stream_add(&stream, transfer(0, 3, CS_OP_COPY, 0), NULL);
    ct_stream_add(&stream, transfer(1, 4, CS_OP_COPY, 0), NULL);
    ct_stream_add(&stream, transfer(3, 0, CS_OP_COPY, 0), NULL);
    ct_stream_add(&stream, transfer(4, 1, CS_OP_COPY, 0), NULL);
    stream.transfers[2].bytes = stream.transfers[3].bytes = 0;
    ct_stream_add(&stream, transfer(0, 2, CS_OP_COPY, 0), NULL);
    play(&stream);
    ct_run run = ct_scene_observe_on(&scene, flow(), NULL);
    for (size_t i = 0; i < stream.count; i++) {
        double want_s = i == 4 ? 3 : 2;
        cr_assert(ct_is_close(run.intervals[i].end_s, want_s, 1e-12), "%zu: %.17g s", i,
                  run.intervals[i].end_s);
    }
    ct_run_free(&run);
    ct_stream_free(&stream);
}

/* Four ranks and one byte: 18 of 24 messages have no bytes and take no time. The byte crosses two
 * leaves in a second each, waits for rank 0 and goes on over four more. */
Test(flow_scenes, a_ring_of_messages_without_bytes_ends)
{
    static const double lates_s[] = {0, 0.5, 1, 2, 1e6};

    for (size_t i = 0; i < sizeof lates_s / sizeof *lates_s; i++) {
        begin("ring", 4, 1);
        scene.scenario.cluster.fabrics[CS_NIC] = (cs_fabric){CS_SWITCHED, 0, 1e9};
        set_leaves(4, 1, 1, 0);
        scene.arrival_s[0]       = lates_s[i];
        scene.scenario.arrival_s = scene.arrival_s;
        ct_scene_ready(&scene);
        ct_run run = ct_scene_observe_on(&scene, flow(), NULL);
        cr_assert(run.outcome.verified);
        cr_assert(ct_is_close(run.outcome.elapsed_s, fmax(2, lates_s[i]) + 4, 1e-12), "%.17g s",
                  run.outcome.elapsed_s);
        ct_run_free(&run);
    }
}

Test(flow_scenes, no_flow_is_faster_than_the_cap)
{
    begin("ring", 2, 1000000);
    ct_scene_ready(&scene);
    cr_assert(ct_is_close(elapsed_s(0.2e9), 2 * (1e-6 + 500000 / 0.2e9), 1e-12));
    cr_assert(ct_is_close(elapsed_s(2e9), 2 * (1e-6 + 500000 / 1e9), 1e-12));
}

Test(flow_scenes, port_models_refuse_links)
{
    const char *names[] = {"alpha-beta", "loggp"};
    cs_options  options = {0};

    begin("ring", 2, 1000000);
    set_leaves(2, 1, 1e9, 0);
    for (int i = 0; i < 2; i++) {
        const cs_model *model = NULL;
        cs_error        err   = {0};
        cr_assert_eq(cs_model_find(names[i], &model, NULL), CS_OK);
        cs_fields_default(model->options, &options);
        cr_assert_eq(model->check(&scene.scenario, &options, &err), CS_ENOTSUP);
        cr_assert_str_eq(err.where, "cluster.topology");
        scene.scenario.cluster.topology = NULL;
        cr_assert_eq(model->check(&scene.scenario, &options, &err), CS_OK);
        scene.scenario.cluster.topology = &topology;
    }
}
