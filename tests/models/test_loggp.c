/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LogGP on a handful of messages whose times are computed by hand. L = 10 s, o = 1 s (so alpha is
 * 12 s), 1 B/s: a message of k bytes takes 12 + k seconds, of which its sender is busy 1 + k and
 * its receiver k + 1. */
#include "support/stream.h"

#include <criterion/criterion.h>
#include <math.h>

typedef struct loggp_options {
    double overhead_s, gap_s, message_gap_s;
} loggp_options;

static ct_scene  scene;
static ct_stream stream;

static void begin(uint32_t n, uint32_t gpus_per_server)
{
    ct_scene_set(&scene, "ring", CS_ALLREDUCE, n, 1000);
    scene.scenario.cluster = (cs_cluster){.n_ranks         = n,
                                          .gpus_per_server = gpus_per_server,
                                          .fabrics = {{CS_SWITCHED, 12, 1}, {CS_SWITCHED, 4, 2}}};
    stream                 = (ct_stream){0};
}

static cs_transfer *add(uint32_t src, uint32_t dst, uint64_t bytes, cs_op op, uint32_t flags)
{
    return ct_stream_send(&stream, &scene.scenario.cluster, src, dst, bytes, op, flags);
}

static void expect_with(loggp_options options, const cs_interval *want, double elapsed_s)
{
    const cs_plan   plan  = {.n_chunks = 4, .n_slots = 4, .n_rounds = 9, .uses = 15};
    const cs_model *model = NULL;
    ct_run          got;

    cr_assert_eq(cs_model_find("loggp", &model, NULL), CS_OK);
    ct_scene_play(&scene, &stream, &plan);
    cr_assert_eq(ct_scene_try_on(&scene, model, &options, &got, NULL), CS_OK);
    cr_assert_eq(got.count, stream.count);
    for (size_t i = 0; i < stream.count; i++) {
        cr_assert(ct_is_close(got.intervals[i].start_s, want[i].start_s, 1e-12) &&
                      ct_is_close(got.intervals[i].end_s, want[i].end_s, 1e-12),
                  "message %zu: [%.12g, %.12g], not [%.12g, %.12g]", i, got.intervals[i].start_s,
                  got.intervals[i].end_s, want[i].start_s, want[i].end_s);
    }
    cr_assert(ct_is_close(got.outcome.elapsed_s, elapsed_s, 1e-12), "%.12g", got.outcome.elapsed_s);
    ct_run_free(&got);
    ct_stream_free(&stream);
}

static void expect(double overhead_s, double gap_s, const cs_interval *want, double elapsed_s)
{
    expect_with((loggp_options){overhead_s, gap_s, 0}, want, elapsed_s);
}

Test(loggp, one_message_costs_what_it_costs_on_alpha_beta)
{
    for (int overhead = 0; overhead <= 6; overhead++) {
        begin(2, 1);
        add(0, 1, 30, CS_OP_COPY, CS_OWN_SRC);
        expect(overhead, 0, (cs_interval[]){{0, 42}}, 42);
    }
}

/* The latency holds no port: three messages in a row overlap it. */
Test(loggp, messages_in_a_row_overlap_the_latency)
{
    begin(4, 1);
    for (uint32_t dst = 1; dst < 4; dst++) {
        add(0, dst, 5, CS_OP_COPY, CS_OWN_SRC);
    }
    expect(1, 0, (cs_interval[]){{0, 17}, {6, 23}, {12, 29}}, 29);
}

Test(loggp, a_gap_keeps_messages_apart)
{
    begin(4, 1);
    add(0, 1, 5, CS_OP_COPY, CS_OWN_SRC);
    add(0, 2, 50, CS_OP_COPY, CS_OWN_SRC);
    add(0, 3, 5, CS_OP_COPY, CS_OWN_SRC);
    expect(1, 20, (cs_interval[]){{0, 17}, {20, 82}, {71, 88}}, 88);
}

/* The second message's first byte waits until the receiver is done with the first one: 17; with a
 * gap of 20 until 11 + 20. */
Test(loggp, a_receiver_takes_one_after_the_other)
{
    begin(3, 1);
    add(0, 2, 5, CS_OP_COPY, CS_OWN_SRC);
    add(1, 2, 5, CS_OP_COPY, CS_OWN_SRC);
    expect(1, 0, (cs_interval[]){{0, 17}, {0, 23}}, 23);
    begin(3, 1);
    add(0, 2, 5, CS_OP_COPY, CS_OWN_SRC);
    add(1, 2, 5, CS_OP_COPY, CS_OWN_SRC);
    expect(1, 20, (cs_interval[]){{0, 17}, {0, 37}}, 37);
}

Test(loggp, data_go_on_when_they_are_there)
{
    begin(3, 1);
    add(0, 1, 5, CS_OP_COPY, CS_OWN_SRC);
    add(1, 2, 5, CS_OP_COPY, 0);
    expect(1, 0, (cs_interval[]){{0, 17}, {17, 34}}, 34);
}

Test(loggp, an_exchange_is_two_messages)
{
    begin(3, 1);
    add(0, 1, 5, CS_OP_EXCHANGE, CS_OWN_SRC | CS_OWN_DST);
    add(0, 2, 1, CS_OP_COPY, CS_OWN_SRC);
    add(1, 2, 1, CS_OP_COPY, 0);
    expect(1, 0, (cs_interval[]){{0, 17}, {6, 19}, {17, 30}}, 30);
}

Test(loggp, an_exchange_waits_for_both_senders)
{
    begin(3, 1);
    add(1, 2, 30, CS_OP_COPY, CS_OWN_SRC);
    add(0, 1, 5, CS_OP_EXCHANGE, CS_OWN_SRC | CS_OWN_DST);
    expect(1, 0, (cs_interval[]){{0, 42}, {31, 48}}, 48);
}

/* The slowed rate holds at both ends, each at its own time: bytes leave during [1, 6) and
 * arrive during [11, ..), 2 of them before the fault begins at 13. */
Test(loggp, a_slow_nic_slows_what_flows)
{
    begin(2, 1);
    scene.capacity[0]         = (cs_capacity){1, 3, 13, (double)INFINITY, false};
    scene.scenario.capacity   = scene.capacity;
    scene.scenario.n_capacity = 1;
    add(0, 1, 5, CS_OP_COPY, CS_OWN_SRC);
    add(0, 1, 0, CS_OP_COPY, CS_OWN_SRC);
    expect(1, 0, (cs_interval[]){{0, 23}, {6, 24}}, 24);
}

Test(loggp, a_shared_group_pays_the_overhead_once)
{
    begin(2, 1);
    add(0, 1, 5, CS_OP_COPY, CS_OWN_SRC | CS_SHARED);
    add(0, 1, 5, CS_OP_COPY, CS_OWN_SRC | CS_SHARED);
    expect(1, 0, (cs_interval[]){{0, 17}, {6, 22}}, 22);
}

/* A fan-out of three pays L + o + 3 kG and, at the sending port, the gap twice; each receiver pays
 * its own o. A fan-in the same at the receiving port, where the gap passes while nothing comes.
 * Both sides of an all-to-all: nothing twice. */
Test(loggp, a_group_pays_the_message_gap_between_its_messages)
{
    begin(4, 1);
    for (uint32_t dst = 1; dst < 4; dst++) {
        add(0, dst, 5, CS_OP_COPY, CS_OWN_SRC | CS_SHARED);
    }
    /* leave at 1; 6 + 3 + 1; 15 + 3 + 1 */
    expect_with((loggp_options){1, 0, 3}, (cs_interval[]){{0, 17}, {6, 26}, {15, 35}}, 35);
    begin(4, 1);
    for (uint32_t src = 1; src < 4; src++) {
        add(src, 0, 5, CS_OP_COPY, CS_OWN_SRC | CS_SHARED);
    }
    expect_with((loggp_options){1, 0, 3}, (cs_interval[]){{0, 17}, {0, 26}, {0, 35}}, 35);
    begin(2, 1);
    for (int i = 0; i < 3; i++) {
        add(0, 1, 5, CS_OP_COPY, CS_OWN_SRC | CS_SHARED);
    }
    /* 2 o + L + 15 + 2 gaps; the sending port is free at 1 + 5 + (3 + 5) + (3 + 5) */
    add(0, 1, 5, CS_OP_COPY, CS_OWN_SRC);
    expect_with((loggp_options){1, 0, 3}, (cs_interval[]){{0, 17}, {6, 25}, {14, 33}, {22, 39}},
                39);
}

/* The first message ends at 17 and the barrier with it. Rank 1's receiving port is closed until
 * 11 + 20, rank 0's sending port until 20, which concerns nobody but the messages that want them.
 */
Test(loggp, a_barrier_waits_for_ends_and_not_for_gaps)
{
    begin(4, 1);
    add(0, 1, 5, CS_OP_COPY, CS_OWN_SRC);
    add(2, 3, 5, CS_OP_COPY, CS_OWN_SRC)->flags |= CS_FENCE;
    add(0, 2, 5, CS_OP_COPY, CS_OWN_SRC);
    add(1, 0, 5, CS_OP_COPY, CS_OWN_SRC);
    add(3, 1, 5, CS_OP_COPY, CS_OWN_SRC);
    expect(1, 20, (cs_interval[]){{0, 17}, {17, 34}, {20, 37}, {17, 34}, {17, 37}}, 37);
    for (int late = 0; late <= 40; late += 40) { /* for a rank that is late it waits, too */
        begin(4, 1);
        scene.arrival_s[3]       = late;
        scene.scenario.arrival_s = scene.arrival_s;
        add(0, 1, 5, CS_OP_COPY, CS_OWN_SRC);
        add(0, 2, 5, CS_OP_COPY, CS_OWN_SRC)->flags |= CS_FENCE;
        double start_s = late > 20 ? late : 20;
        expect(1, 20, (cs_interval[]){{0, 17}, {start_s, start_s + 17}}, start_s + 17);
    }
}

/* A gap above all else sets the pace: n - 2 messages of a port before the barrier, n - 2 + log2 n
 * behind it, each g after the one before; no g is lost at the barrier. */
Test(loggp, stragglar_loses_no_gap_at_its_barriers)
{
    for (uint32_t n = 4, q = 2; n <= 64; n *= 2, q++) {
        const loggp_options options = {2e-6, 1e-3, 0};
        const cs_model     *model   = NULL;
        ct_scene_set(&scene, "stragglar", CS_ALLREDUCE, n, 100000 * (n - 1));
        scene.scenario.cluster.fabrics[CS_NIC] = (cs_fabric){CS_SWITCHED, 10e-6, 25e9};
        scene.arrival_s[n - 1]                 = 1e-4;
        scene.scenario.arrival_s               = scene.arrival_s;
        ct_scene_ready(&scene);
        cr_assert_eq(cs_model_find("loggp", &model, NULL), CS_OK);
        ct_run run    = ct_scene_observe_on(&scene, model, &options);
        double want_s = (2 * (n - 2) + q - 1) * 1e-3 + 10e-6 + 100000 / 25e9;
        cr_assert(ct_is_close(run.outcome.elapsed_s, want_s, 1e-12), "%u ranks: %.15g s, not %.15g",
                  n, run.outcome.elapsed_s, want_s);
        ct_run_free(&run);
    }
}

/* A message of no bytes that takes no time: the end is not when its ports are free again. */
Test(loggp, nothing_takes_no_time)
{
    begin(2, 1);
    scene.scenario.cluster.fabrics[CS_NIC].alpha_s = 0;
    add(0, 1, 0, CS_OP_COPY, CS_OWN_SRC);
    expect(0, 20, (cs_interval[]){{0, 0}}, 0);
}

Test(loggp, every_fabric_has_its_own_latency)
{
    begin(4, 2);
    add(0, 1, 6, CS_OP_COPY, CS_OWN_SRC);
    add(0, 2, 6, CS_OP_COPY, CS_OWN_SRC);
    expect(1, 0, (cs_interval[]){{0, 7}, {0, 18}}, 18);
}

Test(loggp, alpha_below_twice_the_overhead_is_refused)
{
    loggp_options   options = {7, 0, 0};
    const cs_model *model   = NULL;
    cs_error        err     = {0};

    begin(2, 1);
    cr_assert_eq(cs_model_find("loggp", &model, NULL), CS_OK);
    cr_assert_eq(model->check(&scene.scenario, &options, &err), CS_EINVAL);
    cr_assert_str_eq(err.where, "model.options.overhead_s");
    options.overhead_s = 6;
    cr_assert_eq(model->check(&scene.scenario, &options, NULL), CS_OK);
    begin(2, 2);
    cr_assert_eq(model->check(&scene.scenario, &options, NULL), CS_EINVAL, "NVLink counts, too");
    cr_assert(ct_is_close(model->latency_s(&scene.scenario, &options, CS_NVLINK), 4, 0));
    cr_assert_not(model->alpha_holds_port);
}

/* Without o and g, the ring and halving and doubling, in which every message waits for the one
 * before, cost what they cost on alpha-beta. */
Test(loggp, lockstep_algorithms_take_as_long_as_on_alpha_beta)
{
    static const char *const names[] = {"ring", "rhd"};

    for (uint32_t n = 2; n <= 64; n *= 2) {
        for (int i = 0; i < 2; i++) {
            ct_scene_set(&scene, names[i], CS_ALLREDUCE, n, 1u << 20);
            ct_scene_ready(&scene);
            double loggp_s = ct_scene_replay(&scene, "loggp").elapsed_s;
            double alpha_s = ct_scene_replay(&scene, "alpha-beta").elapsed_s;
            cr_assert(ct_is_close(loggp_s, alpha_s, 1e-12), "%s", ct_scene_text(&scene));
        }
    }
}
