/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Merged halving and doubling: time, traffic and rounds for every even number of ranks and every
 * number of exchanges, and the choice between them. */
#include "support/oracle.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static ct_scene scene;

enum { EVERY_UP_TO = 130 };
static const uint32_t sample[] = {254, 256, 258, 510, 768, 1000, 1024, 1026, 2046, 2048};
enum { N_SAMPLE = sizeof sample / sizeof sample[0] };

static uint32_t ceil_log2(uint32_t n)
{
    uint32_t k = 0;
    while ((1u << k) < n) {
        k++;
    }
    return k;
}

/* How often 2 divides n. */
static uint32_t most_exchanges(uint32_t n)
{
    uint32_t j = 0;
    while (n % 2 == 0) {
        n /= 2;
        j++;
    }
    return j;
}

static void set_exchanges(const char *value)
{
    ct_scene_option(&scene, "exchanges", value);
}

static void set(uint32_t n, uint64_t bytes, uint32_t exchanges)
{
    ct_scene_set(&scene, "merged_rhd", CS_ALLREDUCE, n, bytes);
    set_exchanges((const char[]){(char)('0' + exchanges / 10), (char)('0' + exchanges % 10), '\0'});
}

/* (2 ceil(log2 m) + j) alpha + (2 (1 - 1/m) + j/m) l x, n = m 2^j. */
static double formula_s(uint32_t n, uint32_t j, double slow)
{
    const cs_fabric *f   = &scene.scenario.cluster.fabrics[CS_NIC];
    double           x_s = slow * (double)scene.scenario.bytes / f->bandwidth_Bps, m = n >> j;

    return (2 * ceil_log2(n >> j) + j) * f->alpha_s + (2 * (1 - 1 / m) + j / m) * x_s;
}

static double closed_form_s(void)
{
    return scene.algorithm->closed_form_s(&scene.scenario, &scene.options);
}

static void check_formula(uint32_t n, uint32_t j, double slow, double last_s)
{
    ct_scene_ready(&scene);
    cs_outcome out    = ct_scene_replay(&scene, NULL);
    double     want_s = last_s + formula_s(n, j, slow);

    cr_assert(out.verified && ct_is_close(out.elapsed_s, want_s, 1e-12),
              "%s, %u exchanges: %.17g, not %.17g", ct_scene_text(&scene), j, out.elapsed_s,
              want_s);
    cr_assert(ct_is_close(closed_form_s(), want_s, 1e-12), "%s", ct_scene_text(&scene));
    cr_assert_eq(scene.plan.n_rounds, 2 * ceil_log2(n >> j) + j);
    cr_assert(scene.plan.is_round_synchronous);
}

Test(merged_rhd, time_of_every_even_number_of_ranks_and_exchanges)
{
    for (uint32_t i = 1; i <= EVERY_UP_TO / 2 + N_SAMPLE; i++) {
        uint32_t n = i <= EVERY_UP_TO / 2 ? 2 * i : sample[i - EVERY_UP_TO / 2 - 1];
        for (uint32_t j = 1; j <= most_exchanges(n); j++) {
            set(n, (uint64_t)4096 * n, j);
            check_formula(n, j, 1, 0);
        }
    }
}

/* By default: (2 L - 1) alpha + 2(n-1)/n x. */
Test(merged_rhd, one_exchange_by_default)
{
    for (uint32_t n = 2; n <= EVERY_UP_TO; n += 2) {
        ct_scene_set(&scene, "merged_rhd", CS_ALLREDUCE, n, (uint64_t)n << 20);
        ct_scene_ready(&scene);
        double want_s = (2 * ceil_log2(n) - 1) * 3e-6 + 2 * (n - 1.0) * (1u << 20) / 450e9;
        cr_assert(ct_is_close(ct_scene_replay(&scene, NULL).elapsed_s, want_s, 1e-12));
        cr_assert_eq(scene.plan.n_rounds, 2 * ceil_log2(n) - 1);
    }
}

/* Every chunk n - 2^j times in each half over some wire, and n times per exchange. */
Test(merged_rhd, traffic_of_every_size)
{
    for (uint32_t n = 2; n <= EVERY_UP_TO; n += 2) {
        const uint64_t sizes[] = {1, n / 2 - 1, n / 2 + 1, 12345677};
        for (int i = 0; i < 4; i++) {
            uint32_t j = 1 + (uint32_t)i % most_exchanges(n);
            set(n, sizes[i] == 0 ? 3 : sizes[i], j);
            scene.scenario.cluster.gpus_per_server = i % 2 == 0 ? 2 : 1;
            ct_scene_ready(&scene);
            cs_outcome out  = ct_scene_replay(&scene, NULL);
            uint64_t   each = 2 * (n - (1u << j)) + (uint64_t)j * (1u << j);
            cr_assert(out.verified, "%s", ct_scene_text(&scene));
            cr_assert_eq(out.wire_bytes, each * scene.scenario.bytes, "%s", ct_scene_text(&scene));
            cr_assert_eq(out.n_transfers, (uint64_t)n * scene.plan.n_rounds);
        }
    }
}

Test(merged_rhd, contributions_are_counted_once)
{
    for (uint32_t n = 2; n <= EVERY_UP_TO; n += n < 50 ? 2 : 6) {
        for (uint32_t j = 1; j <= most_exchanges(n); j++) {
            set(n, 1000, j);
            ct_scene_ready(&scene);
            ct_stream stream = ct_scene_judged(&scene);
            ct_stream_free(&stream);
        }
    }
}

Test(merged_rhd, late_ranks_and_slow_nics)
{
    ct_rng rng = ct_rng_for(61);

    for (uint32_t n = 2; n <= EVERY_UP_TO; n += 2) {
        uint32_t j = 1 + ct_below(&rng, most_exchanges(n));
        set(n, (uint64_t)n << ct_below(&rng, 20), j);
        ct_scene_arrive(&scene, &rng, 1e-3);
        check_formula(n, j, 1, cs_last_arrival(&scene.scenario));
        set(n, (uint64_t)n << ct_below(&rng, 20), j);
        scene.capacity[0]       = (cs_capacity){ct_below(&rng, n), 2.5, 0, (double)INFINITY, false};
        scene.scenario.capacity = scene.capacity;
        scene.scenario.n_capacity = 1;
        check_formula(n, j, 2.5, 0);
        ct_scene_arrive(&scene, &rng, 1e-3);
        ct_scene_ready(&scene);
        cr_assert(ct_scene_replay(&scene, NULL).verified);
        cr_assert(isnan(closed_form_s()), "late and slow");
    }
}

static uint32_t resolved(void)
{
    char text[32];

    cr_assert(cs_field_text(&scene.algorithm->options[0], &scene.options, text, sizeof text));
    return (uint32_t)(text[1] == '\0' ? text[0] - '0' : 10 * (text[0] - '0') + text[1] - '0');
}

/* auto is the best of all, from tiny buffers to large ones. */
Test(merged_rhd, auto_takes_the_least_time)
{
    uint32_t seen = 0;

    for (uint32_t n = 2; n <= 256; n = n < 130 ? n + 2 : n + 126) {
        for (uint32_t size = 0; size <= 28; size += 4) {
            uint64_t bytes   = (uint64_t)n << size;
            double   least_s = (double)INFINITY;
            for (uint32_t j = 1; j <= most_exchanges(n); j++) {
                set(n, bytes, j);
                least_s = fmin(least_s, formula_s(n, j, 1));
            }
            set(n, bytes, 1);
            set_exchanges("auto");
            ct_scene_ready(&scene);
            seen |= 1u << resolved();
            cr_assert(ct_is_close(ct_scene_replay(&scene, NULL).elapsed_s, least_s, 1e-12),
                      "%s: %u exchanges", ct_scene_text(&scene), resolved());
        }
    }
    cr_assert((seen & 1u << 1) != 0 && (seen & 1u << 5) != 0 && (seen & 1u << 8) != 0);
}

/* Four servers of eight GPUs, a large buffer, quick links inside: groups of a server, so that
 * little passes the NICs. */
Test(merged_rhd, auto_knows_the_servers)
{
    double elapsed_s[2];

    for (int i = 0; i < 2; i++) {
        set(32, 1u << 28, 1);
        scene.scenario.cluster.gpus_per_server               = 8;
        scene.scenario.cluster.fabrics[CS_NIC].bandwidth_Bps = 50e9;
        set_exchanges(i == 0 ? "1" : "auto");
        ct_scene_ready(&scene);
        elapsed_s[i] = ct_scene_replay(&scene, NULL).elapsed_s;
    }
    cr_assert_eq(resolved(), 2);
    cr_assert_lt(elapsed_s[1], elapsed_s[0] / 2);
    /* Rank 0 would stay inside its server in groups of 5; ranks 3 and 4 would not. */
    set(20, 20u << 20, 1);
    scene.scenario.cluster.gpus_per_server               = 4;
    scene.scenario.cluster.fabrics[CS_NIC].bandwidth_Bps = 50e9;
    set_exchanges("auto");
    ct_scene_ready(&scene);
    cr_assert_eq(resolved(), 1);
}

static void expect(uint32_t n, const char *exchanges, cs_status status, const char *where,
                   const char *part)
{
    cs_error err = {0};

    ct_scene_set(&scene, "merged_rhd", CS_ALLREDUCE, n, 4096);
    set_exchanges(exchanges);
    cr_assert_eq(ct_scene_check(&scene, &err), status);
    cr_assert_str_eq(err.where, where);
    cr_assert_not_null(strstr(err.message, part), "%s", err.message);
}

Test(merged_rhd, what_does_not_exist_is_refused)
{
    expect(3, "1", CS_ENOTSUP, "cluster.ranks", "circulant");
    expect(7, "auto", CS_ENOTSUP, "cluster.ranks", "even");
    expect(6, "2", CS_EINVAL, "algorithm.options.exchanges", "at most 1");
    expect(24, "4", CS_EINVAL, "algorithm.options.exchanges", "at most 3");
    cr_assert_neq(
        cs_field_set(scene.algorithm->options, &scene.options, "exchanges", "0", "", NULL), CS_OK);
    cr_assert(isnan(scene.algorithm->closed_form_s(
        &(cs_scenario){.bytes = 4097, .cluster = scene.scenario.cluster}, &(uint32_t){1})));
}
