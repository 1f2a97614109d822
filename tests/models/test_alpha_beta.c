/* SPDX-License-Identifier: GPL-3.0-or-later */
/* alpha-beta on a handful of transfers whose times are computed by hand: ports, data, capacity
 * that changes, SHARED groups, exchanges, fences and NVLink. alpha = 1 s and 1 B/s, so that a
 * transfer of b bytes takes 1 + b seconds. */
#include "support/reference.h"
#include "support/stream.h"

#include <criterion/criterion.h>
#include <math.h>

static ct_scene  scene;
static ct_stream stream;

/* n ranks, alpha 1 s, 1 B/s; nothing in the stream. */
static void begin(uint32_t n, uint32_t gpus_per_server, cs_fabric_kind kind)
{
    ct_scene_set(&scene, "ring", CS_ALLREDUCE, n, 1000);
    scene.scenario.cluster = (cs_cluster){.n_ranks         = n,
                                          .gpus_per_server = gpus_per_server,
                                          .fabrics         = {{CS_SWITCHED, 1, 1}, {kind, 1, 2}}};
    stream                 = (ct_stream){0};
}

/* A transfer of chunk 0 from slot 0 to slot 0. */
static cs_transfer *add(uint32_t src, uint32_t dst, uint64_t bytes, cs_op op, uint32_t flags)
{
    return ct_stream_send(&stream, &scene.scenario.cluster, src, dst, bytes, op, flags);
}

static void add_fault(uint32_t rank, double slowdown, double from_s, double until_s)
{
    cs_capacity *f = &scene.capacity[scene.scenario.n_capacity++];

    *f                      = (cs_capacity){rank, slowdown, from_s, until_s, false};
    scene.scenario.capacity = scene.capacity;
}

/* Replay and compare every start and end with what is expected, and the reference with it. */
static void expect(const cs_interval *want)
{
    cs_plan plan = {.n_chunks = 4,
                    .n_slots  = 4,
                    .n_rounds = 9,
                    .uses     = CS_USES_EXCHANGE | CS_USES_SHARED | CS_USES_SPAN |
                            (scene.scenario.cluster.gpus_per_server > 1 ? CS_USES_NVLINK : 0)};

    cr_assert_eq(cs_scenario_check(&scene.scenario, NULL), CS_OK);
    ct_scene_play(&scene, &stream, &plan);
    ct_run   run   = ct_scene_observe(&scene);
    ct_times times = ct_reference(&scene.scenario, &plan, &stream, (ct_rules){0});
    cr_assert_eq(run.count, stream.count);
    for (size_t i = 0; i < run.count; i++) {
        cr_assert(ct_is_close(run.intervals[i].start_s, want[i].start_s, 1e-12) &&
                      ct_is_close(run.intervals[i].end_s, want[i].end_s, 1e-12),
                  "transfer %zu: [%.12g, %.12g], not [%.12g, %.12g]", i, run.intervals[i].start_s,
                  run.intervals[i].end_s, want[i].start_s, want[i].end_s);
        cr_assert(ct_is_close(times.intervals[i].end_s, want[i].end_s, 1e-12));
    }
    cr_assert(ct_is_close(run.outcome.elapsed_s, ct_scene_replay(&scene, NULL).elapsed_s, 1e-15));
    ct_times_free(&times);
    ct_run_free(&run);
    ct_stream_free(&stream);
}

/* A message of a group pays the gap wherever it is not the first one; alpha and the gap where one
 * of its ports is new and the other is not. The next round and messages alone pay none. */
Test(alpha_beta, a_group_pays_the_message_gap_between_its_messages)
{
    const struct {
        double propagation_s, message_gap_s;
    } options                = {0, 0.25};
    cs_plan           plan   = {.n_chunks = 4, .n_slots = 4, .n_rounds = 9, .uses = CS_USES_SHARED};
    ct_rules          rules  = {.message_gap_s = 0.25};
    const cs_interval want[] = {{0, 11},        {0, 11},        {11, 22.25},
                                {11, 22.25},    {22.25, 32.5},  {32.5, 43.75},
                                {43.75, 54.75}, {54.75, 65.75}, {65.75, 76.75}};

    begin(4, 1, CS_SWITCHED);
    add(0, 1, 10, CS_OP_COPY, CS_OWN_SRC | CS_SHARED);
    add(2, 3, 10, CS_OP_COPY, CS_OWN_SRC | CS_SHARED);
    add(0, 2, 10, CS_OP_COPY, CS_OWN_SRC | CS_SHARED); /* 0 known, 2 new: alpha + gap */
    add(1, 3, 10, CS_OP_COPY, CS_OWN_SRC | CS_SHARED); /* 3 known */
    add(0, 3, 10, CS_OP_COPY, CS_OWN_SRC | CS_SHARED); /* both known: the gap only */
    add(0, 3, 11, CS_OP_COPY, CS_OWN_SRC | CS_SHARED);
    add(0, 3, 10, CS_OP_COPY, CS_OWN_SRC | CS_SHARED)->round = 1;
    add(0, 3, 10, CS_OP_COPY, CS_OWN_SRC)->round             = 1;
    add(0, 3, 10, CS_OP_COPY, CS_OWN_SRC)->round             = 1;
    ct_scene_play(&scene, &stream, &plan);
    ct_run   run   = ct_scene_observe_on(&scene, cs_models[0], &options);
    ct_times times = ct_reference(&scene.scenario, &plan, &stream, rules);
    for (size_t i = 0; i < run.count; i++) {
        cr_assert(ct_same_interval(run.intervals[i], want[i], 100), "%zu: [%.12g, %.12g]", i,
                  run.intervals[i].start_s, run.intervals[i].end_s);
        cr_assert(ct_same_interval(times.intervals[i], want[i], 100), "%zu", i);
    }
    ct_times_free(&times);
    ct_run_free(&run);
    ct_stream_free(&stream);
}

/* A mesh of five, links of 2 B/s and 1 s. All links work side by side; where a GPU drives two at
 * once the third waits until the second of the others is free, in the order of the stream: the
 * second message to rank 1, which waits for its own link, takes no place but that of this link.
 * Where it drives one, everything out of it is in a row. What comes in is another direction. */
Test(alpha_beta, a_gpu_drives_so_many_links_at_once)
{
    const cs_interval wants[3][8] = {
        {{0, 6}, {0, 3}, {0, 2}, {6, 8}, {0, 2}, {0, 2}, {0, 3}, {0, 3}},
        {{0, 6}, {6, 9}, {9, 11}, {11, 13}, {13, 15}, {0, 2}, {15, 18}, {18, 21}},
        {{0, 6}, {0, 3}, {3, 5}, {6, 8}, {5, 7}, {0, 2}, {0, 3}, {3, 6}}};

    for (uint32_t links = 0; links < 3; links++) {
        begin(5, 5, CS_DIRECT);
        scene.scenario.cluster.nvlink_concurrent = links;
        add(0, 1, 10, CS_OP_COPY, CS_OWN_SRC);
        add(0, 2, 4, CS_OP_COPY, CS_OWN_SRC);
        add(0, 3, 2, CS_OP_COPY, CS_OWN_SRC);
        add(0, 1, 2, CS_OP_COPY, CS_OWN_SRC);
        add(0, 4, 2, CS_OP_COPY, CS_OWN_SRC);
        add(1, 0, 2, CS_OP_COPY, CS_OWN_SRC);
        add(1, 4, 4, CS_OP_COPY, CS_OWN_SRC);
        add(2, 4, 4, CS_OP_COPY, CS_OWN_SRC);
        expect(wants[links]);
    }
}

Test(alpha_beta, a_port_serves_in_stream_order)
{
    begin(4, 1, CS_SWITCHED);
    add(0, 1, 10, CS_OP_COPY, CS_OWN_SRC);
    add(0, 2, 5, CS_OP_COPY, CS_OWN_SRC);
    add(3, 1, 2, CS_OP_REDUCE, CS_OWN_SRC);
    add(1, 3, 4, CS_OP_COPY, CS_OWN_SRC);
    expect((cs_interval[]){{0, 11}, {11, 17}, {11, 14}, {0, 5}});
}

Test(alpha_beta, data_wait_for_the_slot)
{
    begin(4, 1, CS_SWITCHED);
    add(0, 1, 10, CS_OP_COPY, CS_OWN_SRC);
    add(1, 2, 1, CS_OP_COPY, 0);
    add(2, 3, 1, CS_OP_COPY, CS_OWN_SRC);
    add(2, 0, 1, CS_OP_COPY, 0)->src_slot = 1;
    expect((cs_interval[]){{0, 11}, {11, 13}, {0, 2}, {2, 4}});
}

Test(alpha_beta, a_span_waits_for_all_its_slots)
{
    begin(3, 1, CS_SWITCHED);
    add(0, 1, 10, CS_OP_COPY, CS_OWN_SRC)->dst_slot = 2;
    add(1, 2, 1, CS_OP_COPY, 0)->span               = 3;
    add(2, 0, 1, CS_OP_COPY, 0)->src_slot           = 2;
    add(1, 0, 3, CS_OP_COPY, 0)->span               = 2;
    expect((cs_interval[]){{0, 11}, {11, 13}, {13, 15}, {15, 19}});
}

Test(alpha_beta, ranks_that_have_not_come_neither_send_nor_receive)
{
    begin(3, 1, CS_SWITCHED);
    scene.arrival_s[1]       = 7;
    scene.scenario.arrival_s = scene.arrival_s;
    add(0, 1, 1, CS_OP_COPY, CS_OWN_SRC);
    add(0, 2, 1, CS_OP_COPY, CS_OWN_SRC);
    add(1, 2, 1, CS_OP_COPY, CS_OWN_SRC);
    expect((cs_interval[]){{7, 9}, {9, 11}, {11, 13}});
}

Test(alpha_beta, capacity_changes_inside_a_transfer)
{
    begin(2, 1, CS_SWITCHED);
    add_fault(0, 4, 5, 13);
    add(0, 1, 10, CS_OP_COPY, CS_OWN_SRC);
    expect((cs_interval[]){{0, 17}});
}

Test(alpha_beta, capacity_changes_several_times)
{
    begin(2, 1, CS_SWITCHED);
    add_fault(1, 2, 2, 4);
    add_fault(1, 10, 4, 14);
    add_fault(1, 2, 16, 18);
    add(0, 1, 6, CS_OP_COPY, CS_OWN_SRC);
    expect((cs_interval[]){{0, 18}});
}

Test(alpha_beta, the_slower_end_sets_the_pace)
{
    begin(2, 1, CS_SWITCHED);
    add_fault(0, 2, 1, 5);
    add_fault(1, 4, 3, 7);
    add(0, 1, 4, CS_OP_COPY, CS_OWN_SRC);
    expect((cs_interval[]){{0, 9}});
}

Test(alpha_beta, a_fault_may_last_for_ever)
{
    begin(3, 1, CS_SWITCHED);
    add_fault(2, 3, 4, (double)INFINITY);
    add(0, 2, 6, CS_OP_COPY, CS_OWN_SRC);
    add(1, 0, 6, CS_OP_COPY, CS_OWN_SRC);
    add(2, 1, 2, CS_OP_COPY, CS_OWN_SRC);
    expect((cs_interval[]){{0, 13}, {0, 7}, {0, 3}});
}

Test(alpha_beta, alpha_does_not_slow_down)
{
    begin(2, 1, CS_SWITCHED);
    add_fault(0, 100, 0, 1);
    add(0, 1, 3, CS_OP_COPY, CS_OWN_SRC);
    add(0, 1, 0, CS_OP_COPY, CS_OWN_SRC);
    expect((cs_interval[]){{0, 4}, {4, 5}});
}

Test(alpha_beta, a_change_at_the_very_end_does_not_matter)
{
    begin(2, 1, CS_SWITCHED);
    add_fault(0, 100, 4, 1000);
    add(0, 1, 3, CS_OP_COPY, CS_OWN_SRC);
    add(1, 0, 3, CS_OP_COPY, CS_OWN_SRC);
    expect((cs_interval[]){{0, 4}, {0, 4}});
}

/* A fault of one GPU's server slows the NICs of all its GPUs, and no NVLink. */
Test(alpha_beta, a_fault_is_the_whole_servers)
{
    begin(4, 2, CS_SWITCHED);
    add_fault(1, 5, 0, (double)INFINITY);
    add(0, 2, 2, CS_OP_COPY, CS_OWN_SRC);
    add(3, 1, 2, CS_OP_COPY, CS_OWN_SRC);
    add(0, 1, 2, CS_OP_COPY, CS_OWN_SRC);
    expect((cs_interval[]){{0, 11}, {0, 11}, {0, 2}});
}

Test(alpha_beta, a_shared_group_pays_alpha_once)
{
    begin(4, 1, CS_SWITCHED);
    for (uint32_t round = 0; round < 2; round++) {
        add(0, 1, 3, CS_OP_COPY, CS_OWN_SRC | CS_SHARED)->round = round;
        add(2, 3, 1, CS_OP_COPY, CS_OWN_SRC | CS_SHARED)->round = round;
        add(0, 3, 3, CS_OP_COPY, CS_OWN_SRC | CS_SHARED)->round = round;
    }
    expect((cs_interval[]){{0, 4}, {0, 2}, {4, 7}, {7, 11}, {7, 9}, {11, 14}});
}

Test(alpha_beta, an_exchange_holds_both_directions_of_both_ends)
{
    begin(3, 1, CS_SWITCHED);
    add(0, 1, 4, CS_OP_EXCHANGE, CS_OWN_SRC | CS_OWN_DST);
    add(1, 2, 1, CS_OP_COPY, CS_OWN_SRC);
    add(2, 0, 1, CS_OP_COPY, CS_OWN_SRC);
    add(0, 2, 1, CS_OP_COPY, 0);
    expect((cs_interval[]){{0, 5}, {5, 7}, {5, 7}, {7, 9}});
}

Test(alpha_beta, an_exchange_waits_for_the_data_of_both_ends)
{
    begin(3, 1, CS_SWITCHED);
    add(0, 1, 4, CS_OP_COPY, CS_OWN_SRC);
    add(2, 1, 1, CS_OP_EXCHANGE, CS_OWN_SRC);
    add(0, 1, 1, CS_OP_EXCHANGE, CS_OWN_SRC | CS_OWN_DST);
    add(2, 0, 1, CS_OP_COPY, 0);
    expect((cs_interval[]){{0, 5}, {5, 7}, {7, 9}, {9, 11}});
}

Test(alpha_beta, a_fence_holds_all_but_one)
{
    begin(4, 1, CS_SWITCHED);
    scene.arrival_s[3]       = 20;
    scene.scenario.arrival_s = scene.arrival_s;
    add(0, 1, 4, CS_OP_COPY, CS_OWN_SRC);
    cs_transfer fenced = *add(2, 0, 1, CS_OP_COPY, CS_OWN_SRC);
    ct_stream_remove(&stream, 1);
    fenced.flags |= CS_FENCE;
    ct_stream_add(&stream, fenced, &(ct_fence){3, 2});
    add(1, 2, 1, CS_OP_COPY, CS_OWN_SRC);
    ct_stream_add(&stream, fenced, &(ct_fence){CS_FENCE_ALL, 0.5});
    add(3, 1, 1, CS_OP_COPY, CS_OWN_SRC);
    expect((cs_interval[]){{0, 5}, {7, 9}, {7, 9}, {20.5, 22.5}, {20.5, 22.5}});
}

/* Switched: one port a rank. Direct: one for every peer, so that both flow at once. */
Test(alpha_beta, nvlink_ports)
{
    for (int direct = 0; direct < 2; direct++) {
        begin(6, 3, direct ? CS_DIRECT : CS_SWITCHED);
        add(3, 4, 8, CS_OP_COPY, CS_OWN_SRC);
        add(3, 5, 8, CS_OP_COPY, CS_OWN_SRC);
        add(3, 0, 8, CS_OP_COPY, CS_OWN_SRC);
        add(5, 4, 2, CS_OP_COPY, CS_OWN_SRC);
        double second = direct ? 0 : 5, last = direct ? 0 : 5;
        expect((cs_interval[]){{0, 5}, {second, second + 5}, {0, 9}, {last, last + 2}});
    }
}

static void random_case(ct_rng *rng, uint32_t uses, int faults)
{
    uint32_t n    = 2 + 2 * ct_below(rng, 6);
    cs_plan  plan = {.n_chunks = 4, .n_slots = 4, .n_rounds = 301, .uses = uses};

    begin(n, (uses & CS_USES_NVLINK) != 0 ? 2 : 1, ct_below(rng, 2) ? CS_DIRECT : CS_SWITCHED);
    if (ct_below(rng, 2) == 0) {
        ct_scene_arrive(&scene, rng, 100);
    }
    for (uint32_t server = 0; faults > 0 && server < n / (n > 2 ? 2 : 1) / 2; server++) {
        double until = faults == 1 ? (double)INFINITY : 1000 * ct_uniform(rng, 1, 5);
        double from  = faults == 1 ? 0 : 900 * ct_uniform(rng, 0, 1);
        add_fault(server * scene.scenario.cluster.gpus_per_server, ct_uniform(rng, 1, 9), from,
                  until);
    }
    cr_assert_eq(cs_scenario_check(&scene.scenario, NULL), CS_OK);
    ct_stream_add_random(&stream, rng, &scene.scenario.cluster, uses, 4, 2);
    ct_scene_play(&scene, &stream, &plan);
    ct_run   run   = ct_scene_observe(&scene);
    ct_times times = ct_reference(&scene.scenario, &plan, &stream, (ct_rules){0});
    double   fast  = ct_scene_replay(&scene, NULL).elapsed_s;
    for (size_t i = 0; i < run.count; i++) {
        cr_assert(ct_is_close(run.intervals[i].start_s, times.intervals[i].start_s, 1e-12));
        cr_assert(ct_is_close(run.intervals[i].end_s, times.intervals[i].end_s, 1e-12));
    }
    cr_assert(!(fast < run.outcome.elapsed_s) && !(fast > run.outcome.elapsed_s),
              "seed %llu: %.17g without an observer, %.17g with one", (unsigned long long)ct_seed(),
              fast, run.outcome.elapsed_s);
    ct_times_free(&times);
    ct_run_free(&run);
    ct_stream_free(&stream);
}

/* The loop without branches, the general one (with an observer) and the reference agree. */
Test(alpha_beta, both_paths_give_the_same_bits)
{
    ct_rng rng = ct_rng_for(9);

    for (int i = 0; i < 960; i++) {
        random_case(&rng, (uint32_t)i % 16, i / 16 % 3);
    }
}

/* The same for the algorithms: every elapsed time, bit by bit. */
Test(alpha_beta, both_paths_give_the_same_bits_for_every_algorithm)
{
    ct_rng rng          = ct_rng_for(10);
    size_t n_algorithms = 0;

    while (cs_algorithms[n_algorithms] != NULL) {
        n_algorithms++;
    }
    for (size_t i = 0; i < 20 * n_algorithms; i++) {
        const cs_algorithm *a = cs_algorithms[i % n_algorithms];
        if ((a->collectives >> CS_ALLREDUCE & 1u) == 0) {
            continue;
        }
        uint32_t n = 2u << ct_below(&rng, 5);
        ct_scene_set(&scene, a->name, CS_ALLREDUCE, n, 1 + ct_below(&rng, 1u << 24));
        if (ct_below(&rng, 2) == 0) {
            ct_scene_arrive(&scene, &rng, 1e-4);
        }
        if (ct_below(&rng, 3) == 0) {
            add_fault(ct_below(&rng, n), ct_uniform(&rng, 1, 4), 0, (double)INFINITY);
        }
        if (ct_adds_in_switches(a) && n < 4) { /* trees over servers need four GPUs */
            continue;
        }
        ct_scene_ready(&scene);
        ct_run run  = ct_scene_observe(&scene);
        double fast = ct_scene_replay(&scene, NULL).elapsed_s;
        cr_assert(!(fast < run.outcome.elapsed_s) && !(fast > run.outcome.elapsed_s), "%s",
                  ct_scene_text(&scene));
        ct_run_free(&run);
    }
}
