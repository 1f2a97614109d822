/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lower bounds against values computed apart: exact rationals for the volume bound, fractions from
 * the proofs for the rest, and where each one must not speak. That no replay is faster than a bound
 * is tested in tests/conformance/test_bounds.c. */
#include "base/alloc.h"
#include "cs/bound.h"
#include "validation/bounds_reference.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { MOST_RANKS = 64 };

/* A scenario with its memory. One healthy NIC port moves 1e9 B/s. */
typedef struct bench {
    cs_scenario      scenario;
    cs_bound_context context;
    double           arrival_s[MOST_RANKS];
    cs_capacity      capacity[MOST_RANKS];
} bench;

static bench *new_bench(bench *b, uint32_t n, uint32_t g, double x_s, double alpha_s)
{
    *b = (bench){
        .scenario = {.bytes   = (uint64_t)(x_s * 1e9),
                     .cluster = {.n_ranks         = n,
                                 .gpus_per_server = g,
                                 .fabrics         = {{CS_SWITCHED, alpha_s, 1e9},
                                                     {CS_SWITCHED, alpha_s / 4, 8e9}}}},
        .context  = {.latency_s         = {alpha_s, alpha_s / 4},
                     .alpha_holds_port  = true,
                     .alpha_per_message = true},
    };
    b->scenario.arrival_s = b->arrival_s;
    b->scenario.capacity  = b->capacity;
    b->context.scenario   = &b->scenario;
    return b;
}

/* In the order of ranks. */
static bench *slow_down(bench *b, uint32_t rank, double ratio)
{
    b->capacity[b->scenario.n_capacity++] = (cs_capacity){rank, ratio, 0, (double)INFINITY, false};
    return b;
}

static double bound_of(const bench *b, const char *name)
{
    for (const cs_bound *const *bound = cs_bounds; *bound != NULL; bound++) {
        if (strcmp((*bound)->name, name) == 0) {
            return (*bound)->seconds(&b->context);
        }
    }
    cr_assert_fail("no bound %s", name);
    return (double)NAN;
}

static void expect_bound(const bench *b, const char *name, double want)
{
    double got = bound_of(b, name);
    cr_expect(fabs(got - want) <= 1e-12 * fabs(want), "%s: %.17g, want %.17g", name, got, want);
}

static void expect_best(const bench *b, const char *name, double want)
{
    const char *best;
    double      got = cs_best_bound(&b->context, &best);
    cr_expect(fabs(got - want) <= 1e-12 * want, "best: %.17g, want %.17g", got, want);
    cr_expect_str_eq(best, name);
}

static void expect_silent(const bench *b, const char *name)
{
    cr_expect(isnan(bound_of(b, name)), "%s speaks: %g", name, bound_of(b, name));
}

/* ---- AllReduce ---- */

enum { N_REFERENCES = sizeof references / sizeof references[0] };

Test(bound, every_row_is_complete_and_named_once)
{
    for (size_t i = 0; cs_bounds[i] != NULL; i++) {
        const cs_bound *a = cs_bounds[i];
        cr_expect(a->name && a->summary && a->assumption && a->source && a->seconds);
        for (size_t j = 0; j < i; j++) {
            cr_expect_str_neq(a->name, cs_bounds[j]->name);
        }
    }
}

Test(bound, volume_and_messages_reference)
{
    for (size_t i = 0; i < N_REFERENCES; i++) {
        const struct reference *r = &references[i];
        bench                   b;

        new_bench(&b, r->n, 1, 1, r->alpha_s);
        for (uint32_t rank = 0; rank < r->n; rank++) {
            b.arrival_s[rank] = r->arrival_s[rank];
            if (r->slow[rank] > 1) {
                slow_down(&b, rank, r->slow[rank]);
            }
        }
        expect_bound(&b, "volume", r->volume_s);
        expect_bound(&b, "messages", r->messages_s);
    }
}

Test(bound, plain_allreduce)
{
    bench b;

    new_bench(&b, 8, 1, 2, 0.5);
    expect_bound(&b, "t0", 3.5);
    expect_bound(&b, "async_allreduce", 14 * 2.5 / 8);
    expect_bound(&b, "last_rank", 3 * 0.5 + 2);
    expect_bound(&b, "last_rank_slow", 2.5);
    expect_bound(&b, "messages", 14 * 2.5 / 8);
    expect_bound(&b, "volume", 0.5 + 3.5);
    expect_best(&b, "async_allreduce", 14 * 2.5 / 8);
    new_bench(&b, 2, 1, 1, 0.25);
    expect_best(&b, "async_allreduce", 1.25);
    new_bench(&b, 5, 1, 1, 1);
    expect_best(&b, "async_allreduce", 4);
}

Test(bound, printed_values_for_450e9_and_3us)
{
    static const struct {
        double   kib;
        uint32_t n;
        double   async_us, rounds_us;
    } rows[] = {{64, 8, 9.15, 9.44},         {1024, 8, 11.33, 15.99},
                {1024, 64, 20.33, 25.66},    {16384, 8, 70.49, 80.24},
                {16384, 64, 79.31, 95.57},   {131072, 64, 593.11, 617.52},
                {1048576, 8, 4180.9, 4190.7}};
    bench b;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double half = rows[i].kib > 200000 ? 0.05 : 0.005;
        new_bench(&b, rows[i].n, 1, 1, 3e-6);
        b.scenario.cluster.fabrics[CS_NIC].bandwidth_Bps = 450e9;
        b.scenario.bytes                                 = (uint64_t)(rows[i].kib * 1024);
        b.context.is_round_synchronous                   = true;
        cr_expect_float_eq(bound_of(&b, "async_allreduce") * 1e6, rows[i].async_us, half * 1.01);
        cr_expect_float_eq(bound_of(&b, "round_synchronous") * 1e6, rows[i].rounds_us, half * 1.01);
    }
}

Test(bound, round_synchronous_only_where_it_holds)
{
    bench b;

    new_bench(&b, 3, 1, 1, 1);
    expect_silent(&b, "round_synchronous");
    b.context.is_round_synchronous = true;
    expect_bound(&b, "round_synchronous", 4); /* 2 rounds of 1 + 1; 3 rounds: 3 + 4/3 */
    new_bench(&b, 4, 1, 1, 0.125)->context.is_round_synchronous = true;
    expect_bound(&b, "round_synchronous", 3 * 0.125 + 1.5);
    expect_best(&b, "async_allreduce", 6 * 1.125 / 4); /* never the bound of a result */
    b.arrival_s[1] = 1e-9;
    expect_silent(&b, "round_synchronous");
}

/* Of 4 servers with rates B: S max(1 / min B, c (4 - 1) / sum B). */
Test(bound, trees_only_where_it_holds)
{
    bench b;

    new_bench(&b, 4, 1, 1, 0);
    expect_silent(&b, "trees");
    b.context.uses_trees = true;
    expect_bound(&b, "trees", 6. / 4);
    slow_down(&b, 2, 1.5);
    expect_bound(&b, "trees", 6 / (3 + 1 / 1.5));
    b.scenario.n_capacity = 0;
    slow_down(&b, 2, 2);
    expect_bound(&b, "trees", 2);
    b.capacity[0].until_s = 1; /* not for ever */
    expect_bound(&b, "trees", 6. / 4);
    b.capacity[0].until_s = (double)INFINITY;
    for (int i = 0; i < 2; i++) {
        b.scenario.collective = i == 0 ? CS_REDUCE : CS_BROADCAST;
        b.scenario.root       = 2;
        expect_bound(&b, "trees", 2);
        b.capacity[0].slowdown = 1.25;
        expect_bound(&b, "trees", 1.25);
        b.capacity[0].slowdown = 2;
    }
    b.scenario.collective = CS_ALLGATHER;
    expect_silent(&b, "trees");
    b.scenario.collective = CS_ALLREDUCE;
    expect_best(&b, "theorem_6", 2); /* never the bound of a result */
}

/* Of 2 servers with 4 GPUs: the NICs of a server count together; and a GPU has its NIC and its port
 * inside the server. */
Test(bound, trees_over_servers)
{
    bench b;

    new_bench(&b, 8, 4, 1, 0)->context.uses_trees = true;
    expect_bound(&b, "trees", .25);
    b.scenario.cluster.fabrics[CS_NVLINK].bandwidth_Bps = 2e9;
    expect_bound(&b, "trees", 14. / (8 * 3));
}

Test(bound, late_ranks)
{
    bench b;

    new_bench(&b, 8, 1, 1, 0.25)->arrival_s[3] = 5;
    expect_best(&b, "last_rank", 5 + 0.75 + 1);
    b.arrival_s[6] = 5;
    expect_bound(&b, "messages", 5 + 9 * 1.25 / 8);
    expect_bound(&b, "volume", 5 + 9. / 8);
    new_bench(&b, 8, 1, 1, 0)->arrival_s[3] = 5;
    b.arrival_s[6]                          = 5.25; /* a gap: M = 2 gap */
    expect_best(&b, "volume", 5.25 + 1 + 0.5 / 8);
    for (uint32_t rank = 0; rank < 4; rank++) {
        new_bench(&b, 8, 1, 1, 0);
        memset(b.arrival_s, 0, sizeof b.arrival_s);
        for (uint32_t late = 0; late <= rank; late++) {
            b.arrival_s[late] = 100;
        }
        double coefficient = (8 + rank) / 8.0;
        cr_expect_float_eq(cs_best_bound(&b.context, &(const char *){0}), 100 + coefficient, 1e-9);
    }
}

Test(bound, nothing_ends_before_the_last_rank_sent_something)
{
    bench b;

    new_bench(&b, 8, 1, 1, 3)->arrival_s[3] = 5;
    expect_bound(&b, "volume", 5 + 3);
}

Test(bound, late_and_slow)
{
    bench b;

    slow_down(new_bench(&b, 8, 1, 1, 0), 2, 1.5);
    b.arrival_s[2] = 0.25;
    expect_bound(&b, "volume", 21.25 / 11.5);
    expect_bound(&b, "last_rank", 1.75);
    b.arrival_s[2] = 0.5;
    expect_best(&b, "last_rank", 2);
    slow_down(new_bench(&b, 8, 1, 1, 0.5), 2, 3);
    b.arrival_s[4] = 2;
    expect_bound(&b, "last_rank_slow", 2 + 0.5 + 3);
    expect_bound(&b, "last_rank", 1.5 + 3); /* of rank 2; rank 4: 2 + 1.5 + 1 */
}

Test(bound, theorems_for_slow_ranks)
{
    bench b;

    slow_down(new_bench(&b, 8, 1, 2, 0), 5, 1.5);
    expect_bound(&b, "theorem_1", 2 * 21 / 11.5);
    expect_bound(&b, "theorem_2", 2 * 21 / 11.5);
    expect_best(&b, "theorem_6", 2 * 21. / 11);
    b.context.shares_ports = true;
    expect_silent(&b, "theorem_6");
    expect_best(&b, "theorem_2", 2 * 21 / 11.5);
    b.context.shares_ports = false;
    slow_down(&b, 7, 1.25);
    expect_silent(&b, "theorem_1");
    expect_silent(&b, "theorem_6");
    expect_best(&b, "theorem_2", 2 * 14 / (6 + 1 / 1.5 + 0.8));
    slow_down(new_bench(&b, 8, 1, 2, 0), 5, 2.5);
    expect_best(&b, "theorem_6", 5);
    expect_silent(&b, "theorem_3");
    expect_silent(&b, "theorem_13");
}

Test(bound, a_slowdown_that_ends_does_not_count)
{
    bench b;

    slow_down(new_bench(&b, 8, 1, 1, 0), 5, 3);
    b.capacity[0].until_s = 10;
    expect_silent(&b, "theorem_6");
    expect_silent(&b, "theorem_2");
    expect_best(&b, "t0", 1.75);
    b.capacity[0] = (cs_capacity){5, 3, 1e-6, (double)INFINITY, false};
    expect_silent(&b, "theorem_6");
}

Test(bound, alpha_that_holds_no_port_counts_once)
{
    bench b;

    new_bench(&b, 8, 1, 1, 0.25)->context.alpha_holds_port = false;
    expect_bound(&b, "async_allreduce", 1.75);
    expect_bound(&b, "last_rank", 1.25);
    expect_bound(&b, "messages", 1.75);
    expect_best(&b, "volume", 0.25 + 1.75);
    b.scenario.collective = CS_ALLGATHER;
    expect_best(&b, "gather", 0.25 + 7. / 8);
    b.scenario.collective = CS_BROADCAST;
    expect_best(&b, "root", 0.25 + 1);
    b.context.alpha_holds_port  = true;
    b.context.alpha_per_message = false;
    expect_best(&b, "root", 0.25 + 1);
}

Test(bound, alpha_may_pass_before_the_receiver_arrives)
{
    bench b;

    new_bench(&b, 2, 1, 1, 0.25)->context.alpha_holds_port = false;
    b.arrival_s[1]                                         = 0.125;
    b.scenario.collective                                  = CS_BROADCAST;
    expect_best(&b, "root", 0.25 + 1);
    b.arrival_s[1] = 0.5;
    expect_best(&b, "root", 0.5 + 1);
    b.scenario.collective = CS_REDUCE;
    expect_best(&b, "root", 0.5 + 0.25 + 1);
    b.scenario.root = 1;
    expect_best(&b, "root", 0.5 + 1);
    b.scenario.collective = CS_ALLGATHER;
    expect_best(&b, "gather", 0.5 + 0.25 + 0.5);
}

Test(bound, one_server_uses_nvlink)
{
    bench b;

    slow_down(new_bench(&b, 8, 8, 8, 4), 0, 5); /* NVLink: x = 1, alpha = 1 */
    expect_best(&b, "async_allreduce", 4);
    expect_silent(&b, "theorem_6");
    expect_silent(&b, "server_gossip");
    b.scenario.cluster.fabrics[CS_NVLINK].kind = CS_DIRECT; /* 7 ports: x = 1/7 */
    expect_bound(&b, "t0", 0.25);
    expect_bound(&b, "async_allreduce", 1 + 1. / 7);
    expect_bound(&b, "messages", 14. / 8 * (1. / 7 + 1. / 7));
    expect_best(&b, "volume", 1.25);
}

/* Of a mesh only the links count that a GPU drives at once; all of them are no limit. */
Test(bound, links_that_a_gpu_drives_at_once)
{
    bench b;

    new_bench(&b, 8, 8, 8, 4);
    b.scenario.cluster.fabrics[CS_NVLINK].kind = CS_DIRECT;
    for (uint32_t links = 1; links <= 9; links++) {
        double at_once = links < 7 ? links : 7; /* x = 1 / at_once */

        b.scenario.cluster.nvlink_concurrent = links;
        expect_bound(&b, "t0", 14. / 8 / at_once);
        expect_bound(&b, "messages", 14. / 8 * (1 / at_once + 1 / at_once));
        expect_bound(&b, "last_rank_slow", 1 + 1 / at_once);
    }
    b.scenario.cluster.nvlink_concurrent = 1; /* as through a switch */
    expect_best(&b, "async_allreduce", 4);
}

/* Two servers: the ports of a rank are its NIC and the links that it drives. */
Test(bound, a_rank_has_its_nic_and_the_links_that_it_drives)
{
    bench b;

    new_bench(&b, 16, 8, 8, 4);
    b.scenario.cluster.fabrics[CS_NVLINK].kind = CS_DIRECT;
    for (uint32_t links = 1; links <= 9; links++) {
        const cs_fabric *f = b.scenario.cluster.fabrics;
        double           all_Bps =
            f[CS_NIC].bandwidth_Bps + (links < 7 ? links : 7) * f[CS_NVLINK].bandwidth_Bps;
        b.scenario.cluster.nvlink_concurrent = links;
        b.scenario.cluster.sockets           = 0;
        expect_bound(&b, "rank_capacity",
                     fmin(b.context.latency_s[CS_NIC], b.context.latency_s[CS_NVLINK]) +
                         (double)b.scenario.bytes / all_Bps);
        /* Two sockets: three links, and the path to the other one. */
        b.scenario.cluster.sockets           = 2;
        b.scenario.cluster.fabrics[CS_CROSS] = (cs_fabric){CS_SWITCHED, 9, 5e9};
        b.context.latency_s[CS_CROSS]        = 9;
        all_Bps =
            f[CS_NIC].bandwidth_Bps + (links < 3 ? links : 3) * f[CS_NVLINK].bandwidth_Bps + 5e9;
        expect_bound(&b, "rank_capacity",
                     fmin(b.context.latency_s[CS_NIC], b.context.latency_s[CS_NVLINK]) +
                         (double)b.scenario.bytes / all_Bps);
    }
}

Test(bound, nothing_to_move_or_nobody_to_move_it_to)
{
    bench b;

    new_bench(&b, 8, 1, 0, 1);
    expect_best(&b, "none", 0);
    new_bench(&b, 1, 1, 1, 1);
    expect_best(&b, "none", 0);
}

Test(bound, without_memory_the_others_still_hold)
{
    bench b;

    new_bench(&b, 8, 1, 1, 0.25)->arrival_s[3] = 5;
    cs_alloc_fail_after(0);
    expect_silent(&b, "volume");
    expect_best(&b, "last_rank", 5 + 0.75 + 1);
    cs_alloc_fail_after(-1);
}

/* ---- other collectives, servers with several GPUs ---- */

Test(bound_collectives, gather_is_what_circulant_needs)
{
    static const cs_collective both[] = {CS_ALLGATHER, CS_REDUCESCATTER};
    bench                      b;

    for (uint32_t n = 2; n <= MOST_RANKS; n++) {
        for (size_t i = 0; i < 2; i++) {
            new_bench(&b, n, 1, 1, 0.25)->scenario.collective = both[i];
            b.scenario.bytes                                  = 1000000ull * n;
            expect_best(&b, "gather", ceil(log2(n)) * 0.25 + (n - 1) * 1e-3);
        }
    }
}

Test(bound_collectives, gather_of_late_and_slow_ranks)
{
    bench b;

    slow_down(new_bench(&b, 8, 1, 1, 0.25), 4, 3)->scenario.collective = CS_ALLGATHER;
    expect_best(&b, "gather", 0.25 + 3 * 7. / 8);
    b.arrival_s[4] = 10;
    expect_best(&b, "gather", 10.25 + 3 * 7. / 8);
    b.scenario.n_capacity = 0;
    expect_best(&b, "gather", 10 + 0.25 + 7. / 8); /* rank 4 collects; 10 + 0.75 + 1/8 is equal */
    b.context.latency_s[CS_NIC] = 0.5;
    expect_best(&b, "gather", 10 + 1.5 + 1. / 8); /* ... hands out its block */
    b.scenario.collective = CS_REDUCESCATTER;
    expect_best(&b, "gather", 10 + 1.5 + 7. / 8);
    b.scenario.collective = CS_ALLTOALL;
    expect_best(&b, "gather", 10 + 1.5 + 7. / 8);
}

Test(bound_collectives, a_slow_rank_receives_what_the_last_one_has)
{
    static const cs_collective all[] = {CS_ALLGATHER, CS_REDUCESCATTER, CS_ALLTOALL};
    bench                      b;

    slow_down(new_bench(&b, 8, 1, 1, 0.25), 1, 100)->arrival_s[4] = 200;
    for (size_t i = 0; i < 3; i++) {
        b.scenario.collective = all[i];
        expect_best(&b, "gather", 200 + 0.25 + 100. / 8);
    }
}

Test(bound_collectives, gather_of_few_bytes)
{
    bench b;

    new_bench(&b, 8, 1, 1, 0.25)->scenario.collective = CS_ALLGATHER;
    b.scenario.bytes                                  = 1; /* only rank 0 has any */
    expect_best(&b, "gather", 0.75 + 1e-9);
    b.scenario.collective = CS_REDUCESCATTER;
    expect_best(&b, "gather", 0.75 + 1e-9);
    b.scenario.collective = CS_ALLTOALL;
    expect_best(&b, "none", 0);
    b.scenario.bytes      = 15; /* blocks of 2, the last of 1: 14 bytes to rank 7 */
    b.scenario.collective = CS_ALLGATHER;
    expect_best(&b, "gather", 0.75 + 13e-9); /* 15/2 blocks; at least 0.25 + 14e-9 */
}

Test(bound_collectives, broadcast_and_reduce)
{
    bench b;

    new_bench(&b, 5, 1, 1, 0.25)->scenario.collective = CS_BROADCAST;
    b.scenario.root                                   = 2;
    expect_best(&b, "root", 0.75 + 1);
    b.arrival_s[2] = 3;
    expect_best(&b, "root", 3.75 + 1);
    b.arrival_s[4] = 8;
    expect_best(&b, "root", 8.25 + 1);
    slow_down(&b, 1, 10);
    expect_best(&b, "root", 3.25 + 10);
    b.scenario.collective = CS_REDUCE;
    expect_best(&b, "root", 0.25 + 10);
    b.scenario.n_capacity = 0;
    expect_best(&b, "root", 8.25 + 1);
    b.arrival_s[4] = b.arrival_s[2] = 0;
    expect_best(&b, "root", 0.75 + 1);
    slow_down(&b, 2, 2);
    expect_best(&b, "root", 0.75 + 2);
    b.arrival_s[4] = 1;
    expect_best(&b, "root", 1.25 + 2);
}

Test(bound_collectives, servers)
{
    bench b;

    slow_down(new_bench(&b, 32, 8, 8, 0), 8, 8. / 7);
    expect_silent(&b, "t0"); /* 31/128: a server can reduce before it sends */
    expect_silent(&b, "theorem_6");
    expect_bound(&b, "theorem_3", 8 * 6. / 31);
    expect_bound(&b, "theorem_13", 8. / 5);
    expect_best(&b, "port_volume", 2 * 31 * 8 / (24 * 9 + 8 * (8 + 7. / 8)));
    expect_bound(&b, "server_volume", 6 / (3 + 7. / 8));
    expect_bound(&b, "server_gossip", 8 * 6. / 32);
    expect_bound(&b, "rank_capacity", 8 / (8 + 7. / 8));
    b.context.shares_ports = true;
    expect_silent(&b, "theorem_13");
    b.context.shares_ports = false;
    slow_down(&b, 16, 2);
    expect_silent(&b, "theorem_13");
    expect_best(&b, "server_late", 2);
    new_bench(&b, 32, 2, 1, 0.5)->arrival_s[6] = 2;     /* 16 servers of 2; rank 7 is early */
    expect_bound(&b, "server_late", 2 + 3 * 0.5 + 0.5); /* 3^3 >= 16, and half a second of bytes */
    expect_bound(&b, "server_gossip", 1.5);             /* 30/32 (0.5 + 1) is less */
    b.arrival_s[7] = 4;
    expect_bound(&b, "server_gossip", 2 + 16. / 32 * 1.5);
    expect_bound(&b, "rank_capacity", 4 + 0.125 + 1. / 9);
    b.scenario.cluster.gpus_per_server         = 8;
    b.scenario.cluster.fabrics[CS_NVLINK].kind = CS_DIRECT;
    expect_bound(&b, "rank_capacity", 4 + 0.125 + 1. / (1 + 7 * 8));
    b.scenario.cluster.gpus_per_server = 2;
    b.context.alpha_holds_port         = false;
    expect_bound(&b, "server_late", 4 + 0.5 + 0.5);
}

/* Four servers of two NICs, 1e9 bytes. What the late servers' early ranks send is of no use. */
Test(bound_collectives, servers_that_wait_for_their_last_ranks)
{
    bench b;

    new_bench(&b, 8, 2, 1, 0)->arrival_s[7] = 0.25;
    expect_bound(&b, "server_late_volume", 0.25 + (6 - 3 * 0.5) / 8);
    expect_best(&b, "server_late_volume", 0.25 + (6 - 3 * 0.5) / 8);
    slow_down(&b, 2, 2);
    expect_bound(&b, "server_late_volume", 0.25 + (6 - 1 - 0.25) / 7);
    b.scenario.n_capacity = 0;
    b.arrival_s[7]        = 1;
    expect_bound(&b, "server_late_volume", 1 + 3. / 8);
    b.arrival_s[4] = 1; /* two late servers */
    expect_bound(&b, "server_late_volume", 1 + 4. / 8);
    b.arrival_s[4] = 0.9; /* its ranks have come when the last one has not */
    expect_bound(&b, "server_late_volume", 1 + 3. / 8);
    b.arrival_s[0] = b.arrival_s[1] = 0.9; /* (2 + 0.2 + 2) 1e9 bytes before it comes */
    expect_bound(&b, "server_late_volume", 1 + 3. / 8);
    b.arrival_s[2] = b.arrival_s[3] = 0.9;
    b.arrival_s[4] = b.arrival_s[5] = 0.9; /* 0.6e9 bytes */
    expect_bound(&b, "server_late_volume", 1 + (6 - 0.6) / 8);
    b.scenario.cluster.gpus_per_server = 1;
    expect_silent(&b, "server_late_volume");
}

/* 8 servers of 8 GPUs whose NVLink is slower than their NICs: 2 (n - 1) transfers of every byte
 * pass all ports together, whichever they are. */
Test(bound_collectives, ports_of_servers_with_poor_nvlink)
{
    static const cs_collective gathers[] = {CS_ALLGATHER, CS_REDUCESCATTER};
    bench                      b;
    double                     x = 1.073741824;

    new_bench(&b, 64, 8, x, 0);
    b.scenario.cluster.fabrics[CS_NVLINK].bandwidth_Bps = 0.4e9;
    expect_best(&b, "port_volume", 2 * 63. / 64 * x / 1.4);
    expect_bound(&b, "rank_capacity", x / 1.4);
    slow_down(&b, 3, 2); /* the NICs of eight ranks of 64 have 0.5 of 1 */
    expect_best(&b, "port_volume", 2 * 63 * x / (56 * 1.4 + 8 * 0.9));
    b.scenario.n_capacity = 0;
    b.arrival_s[9] = b.arrival_s[10] = 5;
    expect_best(&b, "port_messages", 5 + 65. / 64 * x / 1.4);
    b.arrival_s[9] = b.arrival_s[10]     = 0;
    b.scenario.cluster.sockets           = 2;
    b.scenario.cluster.fabrics[CS_CROSS] = (cs_fabric){CS_SWITCHED, 0, 0.1e9};
    b.context.latency_s[CS_CROSS]        = 0;
    expect_best(&b, "port_volume", 2 * 63. / 64 * x / 1.5);
    b.scenario.cluster.sockets = 1;
    for (size_t i = 0; i < 2; i++) {
        b.scenario.collective = gathers[i];
        b.scenario.bytes      = 64000000;
        expect_best(&b, "port_gather", 63e-3 / 1.4);
    }
    b.scenario.collective = CS_BROADCAST;
    expect_best(&b, "port_root", 64e-3 / 1.4);
}

Test(bound_collectives, collectives_between_servers)
{
    bench b;

    new_bench(&b, 8, 2, 1, 0.25)->scenario.collective = CS_ALLGATHER;
    expect_silent(&b, "gather");
    expect_best(&b, "server_gather", 0.25 + 0.75 / 2);
    b.context.latency_s[CS_NIC] = 4;             /* 3^2 >= 4 servers */
    expect_best(&b, "server_gather", 8 + 0.125); /* and two blocks of 1/8 over 2 NICs */
    new_bench(&b, 8, 2, 1, 0.25)->scenario.collective = CS_ALLTOALL;
    expect_best(&b, "server_gather", 0.25 + 0.75); /* 2 x 6 blocks of 1/8 over 2 NICs */
    b.arrival_s[5] = 9;                            /* 6 blocks of rank 5 are left */
    expect_best(&b, "server_gather", 9 + 0.25 + 0.375);
    b.context.latency_s[CS_NIC] = 4;
    expect_best(&b, "server_gather", 9 + 8);
    new_bench(&b, 8, 2, 1, 0.25)->scenario.collective = CS_REDUCE;
    expect_best(&b, "server_root", 2 * 0.25 + 0.5);
}
