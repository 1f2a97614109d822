/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two sockets in a server: Parallel Rings over the path between them, by its closed form and by
 * the published gains; every algorithm is served by the same ports.
 */
#include "support/oracle.h"

#include <criterion/criterion.h>
#include <math.h>

static ct_scene scene;

static double time_of(const char *algorithm, const char *option, const char *value,
                      uint32_t servers, uint32_t locals, double block)
{
    ct_scene_set(&scene, algorithm, CS_ALLGATHER, servers * locals,
                 (uint64_t)block * servers * locals);
    cs_cluster *c         = &scene.scenario.cluster;
    c->gpus_per_server    = locals;
    c->sockets            = 2;
    c->fabrics[CS_NIC]    = (cs_fabric){CS_SWITCHED, 11.3e-6, 12e9};
    c->fabrics[CS_NVLINK] = (cs_fabric){CS_DIRECT, 4e-6, 100e9};
    c->fabrics[CS_CROSS]  = (cs_fabric){CS_SWITCHED, 8e-6, 13.6e9};
    if (option != NULL) {
        ct_scene_option(&scene, option, value);
    }
    ct_scene_ready(&scene);
    ct_run run       = ct_scene_observe(&scene);
    double elapsed_s = run.outcome.elapsed_s;
    ct_run_free(&run);
    return elapsed_s;
}

/* T = (N - 1) max(R, X) + X + V, where R is a ring step, X a block across, V one within a
 * socket: all phases overlap the ring but the last. */
static double closed_form_s(uint32_t servers, double m)
{
    double ring = 11.3e-6 + m / 12e9, across = 8e-6 + m / 13.6e9, near = 4e-6 + m / 100e9;
    return (servers - 1) * fmax(ring, across) + across + near;
}

Test(two_sockets, parallel_rings_take_their_closed_form)
{
    for (double mib = 2; mib <= 256; mib *= 2) {
        double m = mib * 1048576;
        double t = time_of("parallel_rings", "exchange", "sockets", 4, 4, m);
        cr_assert(ct_is_close(t, closed_form_s(4, m), 1e-12), "%g MiB: %.9g, not %.9g", mib, t,
                  closed_form_s(4, m));
    }
}

/* 16 GPUs: less than a flat ring by 73.3 % at any size, more than one ring per channel by
 * 9.6, -6.1 and -6.6 %. */
Test(two_sockets, gains_are_the_published_ones)
{
    static const double mib[] = {2, 64, 256}, flat[] = {73.3, 73.3, 73.3},
                        channels[] = {9.6, -6.1, -6.6};

    for (int i = 0; i < 3; i++) {
        double m     = mib[i] * 1048576;
        double ours  = time_of("parallel_rings", "exchange", "sockets", 4, 4, m);
        double ring  = time_of("flat_ring", NULL, NULL, 4, 4, m);
        double rings = time_of("nccl_rings", "order", "sockets", 4, 4, m);
        cr_assert_float_eq(100 * (1 - ours / ring), flat[i], 0.1, "%g MiB", mib[i]);
        cr_assert_float_eq(100 * (1 - ours / rings), channels[i], 0.15, "%g MiB", mib[i]);
    }
}

/* Without sockets the third fabric does not exist. */
Test(two_sockets, pairs_use_the_fabric_of_their_places)
{
    cs_cluster c = {.n_ranks = 16, .gpus_per_server = 8, .sockets = 2};

    cr_assert_eq(cs_n_fabrics(&c), 3);
    for (uint32_t src = 0; src < 16; src++) {
        for (uint32_t dst = 0; dst < 16; dst++) {
            uint32_t want = src / 8 != dst / 8 ? CS_NIC : src / 4 != dst / 4 ? CS_CROSS : CS_NVLINK;
            cr_assert_eq(cs_fabric_of(&c, src, dst), want);
        }
    }
    for (c.sockets = 0; c.sockets < 2; c.sockets++) {
        cr_assert_eq(cs_n_fabrics(&c), 2);
        cr_assert_eq(cs_fabric_of(&c, 0, 7), CS_NVLINK);
    }
}
