/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How near do the plain algorithms come to what is proven? The reference table of AllReduce bounds
 * and best known times (alpha = 3 us, 450 GB/s), again from replays and the library's bounds; the
 * bounds that are met exactly; and the sum of both terms for the halves. */
#include "cs/bound.h"
#include "cs/result.h"
#include "support/scene.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static ct_scene scene;

static cs_result run(const char *algorithm, cs_collective collective, uint32_t n, uint64_t bytes,
                     const char *key, const char *value)
{
    cs_result result;
    cs_error  err = {0};

    ct_scene_set(&scene, algorithm, collective, n, bytes);
    if (key != NULL) {
        cr_assert_eq(cs_field_set(scene.algorithm->options, &scene.options, key, value, key, NULL),
                     CS_OK);
    }
    const cs_job job = ct_scene_given(&scene, NULL);
    cr_assert_eq(cs_job_run(&job, NULL, 0, &result, &err), CS_OK, "%s", err.message);
    cr_assert(result.verified, "%s", ct_scene_text(&scene));
    return result;
}

/* A bound by name, for the current scene and a schedule in synchronous rounds. */
static double bound_s(const char *name)
{
    double           alpha_s = scene.scenario.cluster.fabrics[CS_NIC].alpha_s;
    cs_bound_context context = {.scenario             = &scene.scenario,
                                .latency_s            = {alpha_s, alpha_s},
                                .alpha_holds_port     = true,
                                .alpha_per_message    = true,
                                .is_round_synchronous = true};

    for (size_t i = 0; cs_bounds[i] != NULL; i++) {
        if (strcmp(cs_bounds[i]->name, name) == 0) {
            return cs_bounds[i]->seconds(&context);
        }
    }
    cr_assert_fail("no bound %s", name);
    return (double)NAN;
}

/* The best of the plain algorithms. No bound may lie above any of them. */
static double best_known_s(uint32_t n, uint64_t bytes)
{
    static const char *const names[] = {"latency_optimal", "circulant", "rhd", "merged_rhd"};
    double                   best_s  = (double)INFINITY;

    for (int i = 0; i < (n % 2 == 0 ? 4 : 3); i++) {
        cs_result r = run(names[i], CS_ALLREDUCE, n, bytes, i == 3 ? "exchanges" : NULL, "auto");
        cr_assert(r.elapsed_s >= r.bound_s * (1 - 1e-12), "%s", ct_scene_text(&scene));
        cr_assert(r.elapsed_s >= bound_s("async_allreduce") * (1 - 1e-12));
        cr_assert(r.elapsed_s >= bound_s("round_synchronous") * (1 - 1e-12) ||
                      strcmp(names[i], "rhd") == 0,
                  "%s", ct_scene_text(&scene));
        best_s = fmin(best_s, r.elapsed_s);
    }
    return best_s;
}

/* Microseconds: the larger of both terms, the bounds, the best known. */
typedef struct row {
    uint64_t bytes;
    uint32_t n;
    double   separate, async, rounds, best, by_rounds, by_async, digit;
} row;

static const row table[] = {
    {65536, 8, 9.00, 9.15, 9.44, 9.44, 1.000, 1.032, 0.01},
    {1 << 20, 8, 9.00, 11.33, 15.99, 15.99, 1.000, 1.411, 0.01},
    {1 << 20, 64, 18.00, 20.33, 25.66, 29.16, 1.136, 1.434, 0.01},
    {1 << 24, 8, 65.24, 70.49, 80.24, 80.24, 1.000, 1.138, 0.01},
    {1 << 24, 64, 73.40, 79.31, 95.57, 104.57, 1.094, 1.318, 0.01},
    {1 << 27, 64, 587.20, 593.11, 617.52, 620.20, 1.004, 1.046, 0.01},
    {1 << 30, 8, 4175.7, 4180.9, 4190.7, 4190.7, 1.000, 1.002, 0.1},
};

static void expect(const row *r, const char *what, double got, double want, double digit)
{
    cr_assert(fabs(got - want) <= 0.501 * digit, "%llu bytes, n=%u: %s is %.6g, not %.6g",
              (unsigned long long)r->bytes, r->n, what, got, want);
}

Test(plain_allreduce, bounds_and_best_known)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const row *r      = &table[i];
        double     best_s = best_known_s(r->n, r->bytes), x_s = (double)r->bytes / 450e9;
        double     flow_s = 2 * (r->n - 1.0) / r->n * x_s, spread_s = log2(r->n) * 3e-6;
        double     async_s = bound_s("async_allreduce"), rounds_s = bound_s("round_synchronous");

        expect(r, "the larger term", 1e6 * fmax(flow_s, spread_s), r->separate, r->digit);
        expect(r, "the bound", 1e6 * async_s, r->async, r->digit);
        expect(r, "the bound in rounds", 1e6 * rounds_s, r->rounds, r->digit);
        expect(r, "the best known", 1e6 * best_s, r->best, r->digit);
        expect(r, "its ratio in rounds", best_s / rounds_s, r->by_rounds, 0.001);
        expect(r, "its ratio", best_s / async_s, r->by_async, 0.001);
    }
}

/* merged_rhd where x >= max(2, n (L - 2) / 2) alpha, latency_optimal where x vanishes. */
Test(plain_allreduce, powers_of_two_meet_the_bound_in_rounds)
{
    for (uint32_t n = 2, steps = 1; n <= 1024; n *= 2, steps++) {
        double   least_x_s = fmax(2, n * (steps - 2.0) / 2) * 3e-6;
        uint64_t bytes     = n * (1 + (uint64_t)(least_x_s * 450e9 / n));
        double   got_s     = run("merged_rhd", CS_ALLREDUCE, n, bytes, NULL, NULL).elapsed_s;
        cr_assert(ct_is_close(got_s, bound_s("round_synchronous"), 1e-12), "n=%u", n);
        got_s = run("latency_optimal", CS_ALLREDUCE, n, 1, NULL, NULL).elapsed_s;
        cr_assert(ct_is_close(got_s, bound_s("round_synchronous"), 1e-12), "n=%u", n);
    }
}

/* No algorithm that is not in the table lies below a bound either, for odd n too. */
Test(plain_allreduce, no_bound_lies_above_a_time)
{
    for (uint32_t n = 2; n <= 130; n++) {
        for (uint64_t bytes = n; bytes < (uint64_t)1 << 31; bytes *= 64) {
            double best_s = best_known_s(n, bytes);
            cr_assert(best_s >= bound_s("round_synchronous") * (1 - 1e-12), "n=%u", n);
        }
    }
}

/* AllGather and ReduceScatter: ceil(log2 n) alpha + (n-1)/n x is the bound, and is reached. */
Test(plain_allreduce, the_halves_meet_their_bound_for_every_n)
{
    for (uint32_t n = 2; n <= 260; n++) {
        for (int i = 0; i < 4; i++) {
            cs_collective c = i % 2 == 0 ? CS_ALLGATHER : CS_REDUCESCATTER;
            cs_result     r = run("circulant", c, n, (uint64_t)n << 10 * i, NULL, NULL);
            cr_assert(ct_is_close(r.elapsed_s, r.bound_s, 1e-12), "%s: %.17g, bound %.17g",
                      ct_scene_text(&scene), r.elapsed_s, r.bound_s);
            cr_assert_str_eq(r.bound, "gather");
        }
    }
}
