/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lower bounds of the other collectives and of servers with several GPUs, against fractions from
 * the proofs. */
#include "bound_setup.h"

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
    new_bench(&b, 32, 2, 1, 0.5)->arrival_s[6] = 2; /* 16 servers of 2; rank 7 is early */
    expect_bound(&b, "server_late", 2 + 3 * 0.5);   /* 3^3 >= 16 */
    expect_bound(&b, "server_gossip", 1.5);         /* 30/32 (0.5 + 1) is less */
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
    b.context.latency_s[CS_NIC] = 4; /* 3^2 >= 4 servers */
    expect_best(&b, "server_gather", 8);
    new_bench(&b, 8, 2, 1, 0.25)->scenario.collective = CS_ALLTOALL;
    expect_best(&b, "server_gather", 0.25 + 0.75); /* 2 x 6 blocks of 1/8 over 2 NICs */
    b.arrival_s[5] = 9;                            /* 6 blocks of rank 5 are left */
    expect_best(&b, "server_gather", 9 + 0.25 + 0.375);
    b.context.latency_s[CS_NIC] = 4;
    expect_best(&b, "server_gather", 9 + 8);
    new_bench(&b, 8, 2, 1, 0.25)->scenario.collective = CS_REDUCE;
    expect_best(&b, "server_root", 0.25 + 0.5);
}
