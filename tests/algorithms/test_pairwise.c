/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AlltoAll in rounds of single messages: partners, completeness, time, and rounds without
 * contention in a network. */
#include "support/config.h"
#include "support/oracle.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static ct_scene scene;

static const char *const orders[] = {"xor", "shift", "groups", "rank"};
enum { XOR, SHIFT, GROUPS, RANK, ORDERS };

static void set(uint32_t servers, uint32_t locals, uint64_t bytes, int order)
{
    ct_scene_set(&scene, "pairwise", CS_ALLTOALL, servers * locals, bytes);
    scene.scenario.cluster.gpus_per_server = locals;
    ct_scene_option(&scene, "order", orders[order]);
}

static bool is_power_of_two(uint32_t n)
{
    return (n & (n - 1)) == 0;
}

/* Whom it sends to, by the definitions. */
static uint32_t partner(int order, uint32_t r, uint32_t k, uint32_t n, uint32_t m)
{
    switch (order) {
    case XOR: return r ^ k;
    case SHIFT: return (r + k) % n;
    case GROUPS: return (r / m + k / m) % (n / m) * m + (r % m + k % m) % m;
    default: return k - 1 < r ? k - 1 : k;
    }
}

Test(pairwise, complete_with_these_partners)
{
    for (uint32_t i = 0; i < 8 * 6 * ORDERS * 2; i++) {
        uint32_t n = 1 + i / 6 % 8, l = 1 + i % 6, ranks = n * l;
        int      order = (int)(i / 48 % ORDERS);
        if (ranks < 2 || (order == XOR && !is_power_of_two(ranks))) {
            continue;
        }
        set(n, l, 12345, order);
        ct_scene_option(&scene, "rounds", i >= 48 * ORDERS ? "apart" : "free");
        ct_scene_ready(&scene);
        ct_stream stream = ct_scene_judged(&scene);
        cr_assert_eq(stream.count, (size_t)ranks * (ranks - 1));
        for (size_t k = 0; k < stream.count; k++) {
            const cs_transfer *t = &stream.transfers[k];
            cr_assert_eq(t->src, k % ranks);
            cr_assert_eq(t->round, k / ranks);
            cr_assert_eq(t->dst, partner(order, t->src, t->round + 1, ranks, l));
        }
        ct_stream_free(&stream);
    }
}

Test(pairwise, auto_is_xor_or_the_servers_or_shift)
{
    static const struct {
        uint32_t servers, locals;
        int      order;
    } rows[] = {{16, 1, XOR}, {4, 4, XOR}, {6, 1, SHIFT}, {3, 4, GROUPS}, {1, 6, SHIFT}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t l = rows[i].locals, n = rows[i].servers * l;
        set(rows[i].servers, l, 4096, RANK);
        ct_scene_option(&scene, "order", "auto");
        ct_scene_ready(&scene);
        ct_stream stream = ct_scene_judged(&scene);
        for (size_t k = 0; k < stream.count; k++) {
            const cs_transfer *t = &stream.transfers[k];
            cr_assert_eq(t->dst, partner(rows[i].order, t->src, t->round + 1, n, l));
        }
        ct_stream_free(&stream);
    }
}

/* n - 1 messages, also with a rank that is late or slow; with NVLink those between servers. */
Test(pairwise, closed_form)
{
    for (uint32_t i = 0; i < 40 * 3 * 4; i++) {
        uint32_t n = 2 + i % 40, what = i / 120;
        int      order = (int)(i / 40 % 3);
        double   slow = what == 2 ? 1.75 : 1, late_s = what == 1 ? 1e-4 : 0;
        if (order == XOR && !is_power_of_two(n)) {
            continue;
        }
        set(n, 1, 4096u * n, order);
        ct_scene_option(&scene, "group", order == GROUPS && n % 3 == 0 ? "3" : "auto");
        ct_scene_option(&scene, "rounds", what == 3 ? "apart" : "free");
        ct_scene_option(&scene, "barrier_s", "2e-6");
        scene.arrival_s[n / 2]    = late_s;
        scene.scenario.arrival_s  = scene.arrival_s;
        scene.capacity[0]         = (cs_capacity){n / 3, slow, 0, (double)INFINITY, false};
        scene.scenario.capacity   = scene.capacity;
        scene.scenario.n_capacity = what == 2;
        ct_scene_ready(&scene);
        const cs_fabric *nic = &scene.scenario.cluster.fabrics[CS_NIC];
        double want_s        = late_s + (n - 1) * (nic->alpha_s + slow * 4096 / nic->bandwidth_Bps);
        want_s += what == 3 ? (n - 2) * 2e-6 : 0;
        double form_s = scene.algorithm->closed_form_s(&scene.scenario, &scene.options);
        double got_s  = ct_scene_replay(&scene, NULL).elapsed_s;
        cr_assert(ct_is_close(form_s, want_s, 1e-12), "%s", ct_scene_text(&scene));
        cr_assert(ct_is_close(got_s, want_s, 1e-12), "%s: %.17g, not %.17g", ct_scene_text(&scene),
                  got_s, want_s);
    }
}

Test(pairwise, closed_form_of_servers)
{
    for (uint32_t i = 0; i < 7 * 6 * 2 * 2 * 2; i++) {
        uint32_t n = 1 + i % 7, l = 2 + i / 7 % 6;
        bool     is_mesh = i / 42 % 2 == 1, is_apart = i / 84 % 2 == 1, is_slow = i >= 168;
        set(n, l, 4096u * n * l, is_power_of_two(l) && is_power_of_two(n) ? XOR : GROUPS);
        ct_scene_option(&scene, "rounds", is_apart ? "apart" : "free");
        scene.scenario.cluster.fabrics[CS_NVLINK].kind = is_mesh ? CS_DIRECT : CS_SWITCHED;
        scene.scenario.cluster.fabrics[CS_NVLINK].bandwidth_Bps /= is_slow ? 1000 : 1;
        ct_scene_ready(&scene);
        double inside_s =
            ct_scene_message_s(&scene, CS_NVLINK, 4096) * (is_mesh && !is_apart ? 1 : l - 1);
        double rails_s = ct_scene_message_s(&scene, CS_NIC, 4096) * ((n - 1) * l);
        double want_s  = is_apart ? inside_s + rails_s : fmax(inside_s, rails_s);
        double form_s  = scene.algorithm->closed_form_s(&scene.scenario, &scene.options);
        double got_s   = ct_scene_replay(&scene, NULL).elapsed_s;
        cr_assert(ct_is_close(form_s, want_s, 1e-12), "%s", ct_scene_text(&scene));
        cr_assert(ct_is_close(got_s, want_s, 1e-12), "%s: %.17g, not %.17g", ct_scene_text(&scene),
                  got_s, want_s);
    }
}

/* Leaves with a link up for every rank, and as many spines: group by group nothing meets, as long
 * as no two of a leaf's messages go over one spine, which is (src + dst) mod spines; that is so for
 * odd numbers. In the order of ranks all wait for one. */
Test(pairwise, groups_do_not_meet_in_a_network)
{
    static const char form[] =
        "{\"collective\": \"alltoall\", \"bytes\": %u, \"model\": \"flow\", \"algorithm\": "
        "{\"name\": "
        "\"pairwise\", \"options\": {\"order\": \"%s\", \"group\": %u, \"rounds\": \"apart\"}}, "
        "\"cluster\": {\"ranks\": %u, \"nic\": {\"alpha\": 0, \"bandwidth\": 1e9}, \"topology\": "
        "{\"kind\": \"leaf-spine\", \"leaves\": 3, \"spines\": %u, \"uplink_bandwidth\": 1e9, "
        "\"hop_latency\": 0}}}";

    for (uint32_t m = 3; m <= 7; m += 2) {
        double   end_s[2];
        uint32_t n = 3 * m;
        for (int way = 0; way < 2; way++) {
            char text[600];
            snprintf(text, sizeof text, form, n * 1000000u, way == 0 ? "groups" : "rank", m, n, m);
            cs_config *config = ct_config_of(text);
            cs_case    c      = ct_case(config, 0);
            end_s[way]        = ct_result(&c).elapsed_s;
            cs_case_free(&c);
            cs_config_free(config);
        }
        cr_assert(ct_is_close(end_s[0], (n - 1) * 1e-3, 1e-6), "%u: %g", n, end_s[0]);
        cr_assert_gt(end_s[1], 3 * end_s[0]);
    }
}

Test(pairwise, refuses)
{
    static const struct {
        uint32_t    servers, locals;
        const char *key, *value, *where;
    } rows[] = {{6, 1, "order", "xor", "cluster.ranks"},
                {6, 1, "group", "4", "algorithm.options.group"},
                {8193, 1, "order", "shift", "cluster.ranks"}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cs_error err = {0};
        set(2, rows[i].locals, 4096, GROUPS);
        ct_scene_option(&scene, rows[i].key, rows[i].value);
        scene.scenario.cluster.n_ranks = rows[i].servers * rows[i].locals;
        cs_plan plan                   = {0};
        cr_assert_eq(
            cs_algorithm_check(scene.algorithm, &scene.scenario, &scene.options, &plan, &err),
            CS_ENOTSUP);
        cr_assert_str_eq(err.where, rows[i].where);
    }
}
