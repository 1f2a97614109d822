/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scenarios: names, arrivals, everything that is refused, and the capacity of NICs. */
#include "base/alloc.h"
#include "base/random.h"
#include "cs/capacity.h"
#include "cs/scenario.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static cs_scenario sample(void)
{
    return (cs_scenario){
        .collective = CS_ALLREDUCE,
        .bytes      = 1 << 20,
        .cluster    = {.n_ranks         = 8,
                       .gpus_per_server = 2,
                       .fabrics         = {{CS_SWITCHED, 3e-6, 25e9}, {CS_DIRECT, 1e-6, 450e9}}},
    };
}

static void check_accepted(const cs_scenario *scenario)
{
    cs_error err = {0};
    cr_assert_eq(cs_scenario_check(scenario, &err), CS_OK, "%s: %s", err.where, err.message);
}

static void check_refused(const cs_scenario *scenario, const char *where, const char *message)
{
    cs_error err = {0};

    cr_assert_eq(cs_scenario_check(scenario, &err), CS_EINVAL, "accepted: %s", message);
    cr_assert_str_eq(err.where, where);
    cr_assert_str_eq(err.message, message);
}

Test(scenario, collectives_have_names)
{
    for (int i = 0; i < CS_COLLECTIVE_COUNT; i++) {
        cs_collective found = CS_COLLECTIVE_COUNT;
        cr_assert_eq(cs_collective_find(cs_collective_name((cs_collective)i), &found, NULL), CS_OK);
        cr_assert_eq((int)found, i);
    }
    cr_assert_str_eq(cs_collectives[CS_REDUCESCATTER].perf_name, "reduce_scatter_perf");
    cr_assert_str_eq(cs_collective_name((cs_collective)99), "unknown");
}

Test(scenario, collectives_are_found_however_they_are_written)
{
    static const struct {
        const char   *name;
        cs_collective collective;
    } cases[] = {{"AllReduce", CS_ALLREDUCE},          {"all_reduce", CS_ALLREDUCE},
                 {"reduce_scatter", CS_REDUCESCATTER}, {"Reduce-Scatter", CS_REDUCESCATTER},
                 {"ALL_TO_ALL", CS_ALLTOALL},          {"Broadcast", CS_BROADCAST},
                 {"all-gather", CS_ALLGATHER},         {"REDUCE", CS_REDUCE}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cs_collective found = CS_COLLECTIVE_COUNT;
        cr_expect_eq(cs_collective_find(cases[i].name, &found, NULL), CS_OK, "%s", cases[i].name);
        cr_expect_eq(found, cases[i].collective, "%s", cases[i].name);
    }
}

Test(scenario, unknown_collectives)
{
    cs_error      err   = {0};
    cs_collective found = CS_BROADCAST;

    cr_assert_eq(cs_collective_find("allreduced", &found, &err), CS_ENOENT);
    cr_assert_str_eq(err.where, "collective");
    cr_assert_str_eq(err.message,
                     "unknown collective 'allreduced', did you mean 'allreduce'?: accepted are "
                     "allreduce, allgather, reducescatter, alltoall, broadcast, reduce");
    cr_assert_eq(found, CS_BROADCAST);
    err = (cs_error){0};
    cr_assert_eq(cs_collective_find("", &found, &err), CS_ENOENT);
    cr_assert_str_eq(err.message, "unknown collective '': accepted are allreduce, allgather, "
                                  "reducescatter, alltoall, broadcast, reduce");
}

Test(scenario, arrivals)
{
    cs_scenario  s       = sample();
    const double late[8] = {0, 2, 5, 1, 5, 0, 5, 4};

    cr_assert(cs_arrival(&s, 7) == 0);
    cr_assert(cs_last_arrival(&s) == 0);
    cr_assert_eq(cs_last_rank(&s), 7);
    s.arrival_s = late;
    cr_assert(cs_arrival(&s, 1) == 2);
    cr_assert(cs_last_arrival(&s) == 5);
    cr_assert_eq(cs_last_rank(&s), 6);
    const double first[8] = {9};
    s.arrival_s           = first;
    cr_assert(cs_last_arrival(&s) == 9);
    cr_assert_eq(cs_last_rank(&s), 0);
}

Test(scenario, ranks)
{
    cs_scenario s = sample();

    check_accepted(&s);
    s.cluster.n_ranks = 1;
    check_refused(&s, "cluster.ranks", "1 is outside [2, 65536]");
    s.cluster.n_ranks = 65538;
    check_refused(&s, "cluster.ranks", "65538 is outside [2, 65536]");
    s.cluster.n_ranks = 65536;
    check_accepted(&s);
    s.cluster.n_ranks         = 6;
    s.cluster.gpus_per_server = 4;
    check_refused(&s, "cluster.gpus_per_server",
                  "4 does not divide the 6 ranks evenly among the servers");
    s.cluster.gpus_per_server = 0;
    check_refused(&s, "cluster.gpus_per_server",
                  "0 does not divide the 6 ranks evenly among the servers");
    s.cluster.gpus_per_server = 6;
    check_accepted(&s);
}

Test(scenario, fabrics)
{
    cs_scenario s = sample();

    s.cluster.fabrics[CS_NIC].alpha_s = -1;
    check_refused(&s, "cluster.nic.alpha", "-1 is outside [0, 1000000]");
    s.cluster.fabrics[CS_NIC].alpha_s = nan("");
    cr_assert_eq(cs_scenario_check(&s, NULL), CS_EINVAL);
    s.cluster.fabrics[CS_NIC].alpha_s = 0;
    check_accepted(&s);
    s.cluster.fabrics[CS_NIC].bandwidth_Bps = 0;
    check_refused(&s, "cluster.nic.bandwidth", "0 is outside [1, 1e+15]");
    s.cluster.fabrics[CS_NIC].bandwidth_Bps = 1e15;
    check_accepted(&s);
    s.cluster.fabrics[CS_NVLINK].bandwidth_Bps = HUGE_VAL;
    check_refused(&s, "cluster.nvlink.bandwidth", "inf is outside [1, 1e+15]");
    s.cluster.fabrics[CS_NVLINK].bandwidth_Bps = 1e9;
    s.cluster.nvlink_concurrent                = 70000; /* more than there are: all */
    check_accepted(&s);
    s.cluster.fabrics[CS_NVLINK].kind = CS_SWITCHED;
    check_refused(
        &s, "cluster.nvlink.concurrent",
        "is how many links of a mesh a GPU drives at once: accepted together with the kind "
        "direct");
    s.cluster.nvlink_concurrent = 0;
    check_accepted(&s);
    s.cluster.gpus_per_server = 1;
    check_accepted(&s);
    s.cluster.fabrics[CS_NIC].kind = CS_DIRECT;
    check_refused(&s, "cluster.nic.kind", "NICs are switched");
}

/* Links of a GPU, and how many of them it drives: a mesh of 8 GPUs, of 2 sockets with 4 each. */
Test(scenario, links_of_a_gpu)
{
    cs_cluster c = sample().cluster;

    for (uint32_t sockets = 0; sockets <= 8; sockets = 2 * sockets + (sockets == 0)) {
        uint32_t mates = 8 / (sockets > 1 ? sockets : 1) - 1;
        for (uint32_t most = 0; most < 10; most++) {
            c.n_ranks = c.gpus_per_server = 8;
            c.sockets                     = sockets;
            c.nvlink_concurrent           = most;
            c.fabrics[CS_NVLINK].kind     = CS_DIRECT;
            cr_assert_eq(cs_links_of(&c, CS_NVLINK), mates);
            cr_assert_eq(cs_links_at_once(&c, CS_NVLINK), most > 0 && most < mates ? most : mates);
            cr_assert_eq(cs_waits_for_links(&c, CS_NVLINK), most > 0 && most < mates);
            cr_assert_not(cs_waits_for_links(&c, CS_NIC));
            c.fabrics[CS_NVLINK].kind = CS_SWITCHED;
            c.nvlink_concurrent       = 0;
            cr_assert_eq(cs_links_at_once(&c, CS_NVLINK), mates > 0);
            cr_assert_eq(cs_links_at_once(&c, CS_CROSS), 1);
        }
    }
    c.gpus_per_server = 1;
    c.sockets         = 1;
    cr_assert_eq(cs_links_of(&c, CS_NVLINK), 0);
    cr_assert_eq(cs_links_at_once(&c, CS_NIC), 1);
}

Test(scenario, size_and_root)
{
    cs_scenario s = sample();

    s.bytes = 0;
    check_refused(&s, "bytes", "0 is outside [1, 1125899906842624]");
    s.bytes = (UINT64_C(1) << 50) + 1;
    check_refused(&s, "bytes", "1125899906842625 is outside [1, 1125899906842624]");
    s.bytes = UINT64_C(1) << 50;
    s.root  = 7;
    check_accepted(&s);
    s.root = 8;
    check_refused(&s, "root", "8 is outside [0, 7]");
    s.collective = CS_COLLECTIVE_COUNT;
    cr_assert_eq(cs_scenario_check(&s, NULL), CS_EINVAL);
}

Test(scenario, arrival_times)
{
    cs_scenario s          = sample();
    double      arrival[8] = {0};

    s.arrival_s = arrival;
    check_accepted(&s);
    arrival[3] = -1;
    check_refused(&s, "arrivals",
                  "rank 3 arrives at -1 s: accepted are finite times from 0 to 1e6 s");
    arrival[3] = HUGE_VAL;
    check_refused(&s, "arrivals",
                  "rank 3 arrives at inf s: accepted are finite times from 0 to 1e6 s");
    arrival[3] = nan("");
    cr_assert_eq(cs_scenario_check(&s, NULL), CS_EINVAL);
    for (int i = 0; i < 8; i++) {
        arrival[i] = 0.5 + i;
    }
    check_refused(
        &s, "arrivals",
        "the first rank arrives at 0.5 s: times count from the first arrival, so one rank "
        "must arrive at 0");
}

static void check_fault(cs_capacity fault, const char *message)
{
    cs_scenario s = sample();

    s.capacity   = &fault;
    s.n_capacity = 1;
    if (message == NULL) {
        check_accepted(&s);
    } else {
        check_refused(&s, "faults", message);
    }
}

Test(scenario, single_faults)
{
    check_fault((cs_capacity){7, 1, 0, HUGE_VAL, false}, NULL);
    check_fault((cs_capacity){7, 1e9, 5, 5.5, false}, NULL);
    check_fault((cs_capacity){8, 2, 0, 1, false}, "rank 8 is outside [0, 7]");
    check_fault((cs_capacity){1, 0.5, 0, 1, false},
                "slowdown 0.5 of rank 1 is outside [1, 1000000000]");
    check_fault((cs_capacity){1, HUGE_VAL, 0, 1, false},
                "slowdown inf of rank 1 is outside [1, 1000000000]");
    check_fault((cs_capacity){1, 2, -1, 1, false},
                "the fault of rank 1 begins at -1 s: accepted are finite times from 0 to 1e6 s");
    check_fault((cs_capacity){1, 2, HUGE_VAL, HUGE_VAL, false},
                "the fault of rank 1 begins at inf s: accepted are finite times from 0 to 1e6 s");
    check_fault((cs_capacity){1, 2, 3, 3, false},
                "the fault of rank 1 ends at 3 s, not after it begins at 3 s");
}

Test(scenario, nan_in_a_fault_is_refused)
{
    const cs_capacity faults[] = {
        {1, nan(""), 0, 1, false}, {1, 2, nan(""), 1, false}, {1, 2, 0, nan(""), false}};

    for (int i = 0; i < 3; i++) {
        cs_scenario s = sample();
        s.capacity    = &faults[i];
        s.n_capacity  = 1;
        cr_assert_eq(cs_scenario_check(&s, NULL), CS_EINVAL);
    }
}

Test(scenario, several_faults)
{
    cs_scenario s        = sample();
    cs_capacity faults[] = {
        {0, 2, 0, 1, false}, {1, 3, 1, HUGE_VAL, false}, {2, 2, 0, 5, false}, {3, 4, 5, 6, false}};

    s.capacity   = faults;
    s.n_capacity = 4;
    check_accepted(&s);
    faults[1].from_s = 0.5;
    check_refused(&s, "faults",
                  "two faults of server 0 overlap: rank 0 in [0 s, 1 s) and rank 1 in [0.5 s, inf "
                  "s)");
    faults[1] = (cs_capacity){4, 3, 1, HUGE_VAL, false};
    check_refused(&s, "faults",
                  "the fault of rank 4 from 1 s stands before that of rank 2 from 0 s: they must "
                  "be sorted by server, then by time");
    s.capacity = NULL;
    check_refused(&s, "faults", "4 faults are announced, but none given");
}

static bool is_ordered(const cs_capacity *a, const cs_capacity *b)
{
    uint32_t server_a = a->rank / 2, server_b = b->rank / 2;
    return server_a != server_b ? server_a < server_b : a->from_s <= b->from_s;
}

/* Any order of the input gives the same bytes. */
Test(capacity, sorting_is_total)
{
    enum { COUNT = 37 };
    cs_scenario s = sample();
    cs_capacity steps[COUNT], first[COUNT];
    gsl_rng    *stream = cs_random_stream(1, "sort");

    memset(steps, 0, sizeof steps);
    for (uint32_t i = 0; i < COUNT; i++) {
        steps[i].rank     = i * 5 % 8;
        steps[i].slowdown = 1 + i % 3;
        steps[i].from_s   = i % 4;
        steps[i].until_s  = i % 2 == 0 ? HUGE_VAL : 9;
    }
    for (int round = 0; round < 50; round++) {
        for (size_t i = COUNT - 1; i > 0; i--) {
            size_t      j    = gsl_rng_uniform_int(stream, i + 1);
            cs_capacity swap = steps[i];
            steps[i]         = steps[j];
            steps[j]         = swap;
        }
        cr_assert_eq(cs_capacity_sort(steps, COUNT, &s.cluster), CS_OK);
        if (round == 0) {
            memcpy(first, steps, sizeof steps);
        }
        cr_assert_eq(memcmp(first, steps, sizeof steps), 0);
    }
    for (int i = 1; i < COUNT; i++) {
        cr_assert(is_ordered(&steps[i - 1], &steps[i]));
    }
    gsl_rng_free(stream);
}

Test(capacity, sorting_few_and_out_of_memory)
{
    cs_scenario s        = sample();
    cs_capacity steps[2] = {{5, 2, 0, 1, false}, {1, 3, 0, 1, false}};

    cr_assert_eq(cs_capacity_sort(NULL, 0, &s.cluster), CS_OK);
    cr_assert_eq(cs_capacity_sort(steps, 1, &s.cluster), CS_OK);
    cs_alloc_fail_after(0);
    cr_assert_eq(cs_capacity_sort(steps, 2, &s.cluster), CS_ENOMEM);
    cs_alloc_fail_after(-1);
    cr_assert_eq(steps[0].rank, 5);
    cr_assert_eq(cs_capacity_sort(steps, 2, &s.cluster), CS_OK);
    cr_assert_eq(steps[0].rank, 1);
}

Test(capacity, is_constant)
{
    cs_scenario s       = sample();
    cs_capacity steps[] = {{0, 2, 0, HUGE_VAL, false}, {2, 2, 0, HUGE_VAL, false}};

    cr_assert(cs_capacity_is_constant(&s));
    s.capacity   = steps;
    s.n_capacity = 2;
    cr_assert(cs_capacity_is_constant(&s));
    steps[1].until_s = 1e9;
    cr_assert_not(cs_capacity_is_constant(&s));
    steps[1] = (cs_capacity){2, 2, 1e-9, HUGE_VAL, false};
    cr_assert_not(cs_capacity_is_constant(&s));
}

Test(capacity, slowdown_that_is_never_left)
{
    cs_scenario       s       = sample();
    const cs_capacity steps[] = {
        {0, 5, 0, 1, false}, /* a chain without a gap */
        {1, 3, 1, 2, false},          {0, 4, 2, HUGE_VAL, false}, {2, 5, 0, 1, false}, /* a gap */
        {2, 5, 1.5, HUGE_VAL, false}, {4, 7, 1, HUGE_VAL, false}, /* healthy at first */
        {6, 6, 0, 100, false},                                    /* healthy in the end */
    };

    cr_assert(cs_slowdown_always(&s, 0) == 1);
    s.capacity   = steps;
    s.n_capacity = 7;
    check_accepted(&s);
    cr_assert(cs_slowdown_always(&s, 0) == 3);
    cr_assert(cs_slowdown_always(&s, 1) == 1);
    cr_assert(cs_slowdown_always(&s, 2) == 1);
    cr_assert(cs_slowdown_always(&s, 3) == 1);

    const cs_capacity last = {7, 2.5, 0, HUGE_VAL, false};
    s.capacity             = &last;
    s.n_capacity           = 1;
    cr_assert(cs_slowdown_always(&s, 3) == 2.5);
    cr_assert(cs_slowdown_always(&s, 0) == 1);
}

/* Steps of single ports: of each its own, of the server what they carry together. */
Test(capacity, single_ports)
{
    cs_scenario s       = sample(); /* 2 GPUs a server */
    cs_capacity steps[] = {{0, 2, 0, HUGE_VAL, false},
                           {2, 4, 0, HUGE_VAL, true},
                           {3, 2, 1, 2, true},
                           {5, HUGE_VAL, 0, HUGE_VAL, true}};
    size_t      n       = 99;

    s.capacity   = steps;
    s.n_capacity = 4;
    check_accepted(&s);
    cr_assert(cs_capacity_is_single(&s) && cs_capacity_cuts_off(&s));
    cr_assert_eq(cs_capacity_of(&s, 1, &n), &steps[0]);
    cr_assert_eq(cs_capacity_of(&s, 2, &n), &steps[1]);
    cr_assert_eq(n, 1);
    cr_assert_eq(cs_capacity_of(&s, 3, &n), &steps[2]);
    cr_assert_eq(n, 1);
    cr_assert_null(cs_capacity_of(&s, 4, &n));
    cr_assert_eq(cs_capacity_of(&s, 5, &n), &steps[3]);
    cr_assert(cs_port_slowdown_always(&s, 1) == 2 && cs_slowdown_always(&s, 0) == 2);
    cr_assert(cs_port_slowdown_always(&s, 2) == 4 && cs_port_slowdown_always(&s, 3) == 1);
    cr_assert_float_eq(cs_slowdown_always(&s, 1), 2 / (1 + 0.25), 1e-15);
    cr_assert(isinf(cs_port_slowdown_always(&s, 5)));
    cr_assert(cs_slowdown_always(&s, 2) == 2, "half of what they carry");
    cr_assert(cs_slowdown_always(&s, 3) == 1);
    cr_assert(cs_slowdown_most(&s) == 4, "of those that carry anything");
    cs_capacity sorted[] = {steps[3], steps[2], steps[1], steps[0]};
    cr_assert_eq(cs_capacity_sort(sorted, 4, &s.cluster), CS_OK);
    for (size_t i = 0; i < 4; i++) {
        cr_assert_eq(sorted[i].rank, steps[i].rank);
    }
    steps[2].is_single = false;
    check_refused(&s, "faults", "server 1 has steps of single ports and of all of them");
    steps[2].is_single = true;
    steps[3].is_single = false;
    check_refused(&s, "faults", "slowdown inf of rank 5 is outside [1, 1000000000]");
}

/* Of one server: nothing before, between and behind its steps; the first one at their ends. */
Test(capacity, slowdown_at_a_time)
{
    cs_scenario       s       = sample();
    const cs_capacity steps[] = {{1, 2, 0, 1, false},
                                 {2, 5, 1, 2, false},
                                 {3, 4, 2, 3, false},
                                 {2, 1.5, 4, HUGE_VAL, false},
                                 {7, 9, 0, 1, false}};
    size_t            n       = 99;

    cr_assert_null(cs_capacity_of(&s, 2, &n));
    cr_assert_eq(n, 0);
    cr_assert(cs_slowdown_at(NULL, 0, 5) == 1);
    cr_assert(cs_slowdown_most(&s) == 1);
    s.capacity   = steps;
    s.n_capacity = 5;
    check_accepted(&s);
    cr_assert(cs_slowdown_most(&s) == 9);
    cr_assert_null(cs_capacity_of(&s, 4, &n));
    cr_assert_eq(n, 0);
    cr_assert_eq(cs_capacity_of(&s, 6, &n), &steps[4]);
    cr_assert_eq(n, 1);

    const cs_capacity *of_1 = cs_capacity_of(&s, 2, &n);
    cr_assert_eq(cs_capacity_of(&s, 3, &n), of_1);
    cr_assert_eq(of_1, &steps[1]);
    cr_assert_eq(n, 3);
    cr_assert(cs_slowdown_at(of_1, n, 0) == 1);
    cr_assert(cs_slowdown_at(of_1, n, 1) == 5);
    cr_assert(cs_slowdown_at(of_1, n, 2) == 4);
    cr_assert(cs_slowdown_at(of_1, n, 2.5) == 4);
    cr_assert(cs_slowdown_at(of_1, n, 3) == 1);
    cr_assert(cs_slowdown_at(of_1, n, 4) == 1.5);
    cr_assert(cs_slowdown_at(of_1, n, 1e9) == 1.5);
    cr_assert_eq(cs_capacity_after(of_1, n, 0), 0);
    cr_assert_eq(cs_capacity_after(of_1, n, 2), 1);
    cr_assert_eq(cs_capacity_after(of_1, n, 3), 2);
    cr_assert_eq(cs_capacity_after(of_1, n - 1, 3), 2);
}

Test(scenario, collectives_are_listed)
{
    char list[120], cut[8];

    cs_list_collectives((1u << CS_COLLECTIVE_COUNT) - 1, list, sizeof list);
    cr_assert_str_eq(list, CS_COLLECTIVE_LIST);
    cs_list_collectives(1u << CS_REDUCE | 1u << CS_ALLGATHER, list, sizeof list);
    cr_assert_str_eq(list, "allgather, reduce");
    cs_list_collectives(0, list, sizeof list);
    cr_assert_str_eq(list, "");
    cs_list_collectives(1u << CS_REDUCE | 1u << CS_ALLGATHER, cut, sizeof cut);
    cr_assert_str_eq(cut, "allgath");
}
