/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Closed forms against numbers computed apart: StragglAR's cost model for 1 GiB and 3 us, and the
 * theorems and baselines of OptCC as exact fractions. Printed numbers have six digits. */
#include "analytic/formula.h"
#include "base/log2.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* Milliseconds. */
typedef struct row {
    uint32_t n, rounds;
    double   ring, rhd, best, worst, broadcast_ideal, broadcast_worst, allpairs, reduce_scatter,
        critical_exact, critical_simplified;
} row;

/* 450e9 B/s. */
static const row rows_450e9[] = {
    {4, 4, 3.59714, 3.59114, 3.19346, 4.79019, 4.77819, 7.97164, 3.58514, 1.59673, 1.19305,
     1.19305},
    {6, 7, 4.00682, 5.98323, 3.36153, 5.2824, 7.16728, 11.009, 3.98282, 1.92087, 1.27558, 1.19605},
    {8, 9, 4.21766, 4.19366, 3.09483, 5.15806, 7.16728, 11.2937, 4.18166, 2.06322, 0.940394,
     0.897785},
    {12, 14, 4.4405, 6.58576, 3.07885, 5.27802, 9.55637, 13.9547, 4.3805, 2.19918, 0.837517,
     0.801364},
    {16, 18, 4.56392, 4.49792, 2.91731, 5.18633, 9.55637, 14.0944, 4.47992, 2.26902, 0.622407,
     0.602523},
    {24, 27, 4.71134, 6.89002, 2.88207, 5.23042, 11.9455, 16.6422, 4.57934, 2.34835, 0.519071,
     0.506103},
    {32, 35, 4.80906, 4.65306, 2.79898, 5.1981, 11.9455, 16.7437, 4.62906, 2.39912, 0.389043,
     0.381827},
    {48, 52, 4.95477, 7.04515, 2.79593, 5.26926, 14.3346, 19.2812, 4.67877, 2.47333, 0.314492,
     0.310262},
    {64, 68, 5.07562, 4.73362, 2.77947, 5.31368, 14.3346, 19.403, 4.70362, 2.53422, 0.238063,
     0.235696},
    {96, 101, 5.29248, 7.12571, 2.83979, 5.48277, 16.7237, 22.0096, 4.72848, 2.64298, 0.190294,
     0.188986},
    {128, 133, 5.4969, 4.7769, 2.89782, 5.64313, 16.7237, 22.2143, 4.7409, 2.7453, 0.146223,
     0.145489},
    {192, 198, 5.89333, 7.169, 3.06754, 6.01114, 19.1127, 24.9999, 4.75333, 2.9436, 0.117811,
     0.117421},
    {256, 262, 6.28354, 4.80154, 3.23759, 6.37633, 19.1127, 25.3902, 4.75954, 3.13874, 0.0927847,
     0.0925654},
    {384, 391, 7.05776, 7.19364, 3.60893, 7.1348, 21.5018, 28.5536, 4.76576, 3.52586, 0.0770376,
     0.0769241},
    {512, 519, 7.82887, 4.81687, 3.98045, 7.89187, 21.5018, 29.3247, 4.76887, 3.91142, 0.0630069,
     0.062943},
    {768, 776, 9.36797, 7.20896, 4.74209, 9.42307, 23.8909, 33.2529, 4.77197, 4.68098, 0.0551013,
     0.0550689},
    {1024, 1032, 10.9055, 4.82753, 5.50308, 10.9528, 23.8909, 34.7905, 4.77353, 5.44976, 0.0473199,
     0.0473017},
};

/* 450 GiB/s. */
static const row rows_450gib[] = {
    {4, 4, 3.35133, 3.34533, 2.97496, 4.46244, 4.45044, 7.42541, 3.33933, 1.48748, 1.11111,
     1.11111},
    {6, 7, 3.7337, 5.57356, 3.13211, 4.92189, 6.67567, 10.2552, 3.7097, 1.78978, 1.18819, 1.11411},
    {8, 9, 3.93089, 3.90689, 2.88414, 4.8069, 6.67567, 10.5212, 3.89489, 1.92276, 0.876016,
     0.836333},
    {12, 14, 4.14007, 6.13511, 2.87028, 4.92048, 8.90089, 13.0013, 4.08007, 2.0502, 0.780411,
     0.746741},
    {16, 18, 4.25667, 4.19067, 2.72067, 4.83674, 8.90089, 13.133, 4.17267, 2.11607, 0.580074,
     0.561556},
    {24, 27, 4.39726, 6.41889, 2.6897, 4.8813, 11.1261, 15.5093, 4.26526, 2.1916, 0.48404,
     0.471963},
    {32, 35, 4.49156, 4.33556, 2.61396, 4.8545, 11.1261, 15.6072, 4.31156, 2.24054, 0.362943,
     0.356222},
    {48, 52, 4.63385, 6.56378, 2.61463, 4.92757, 13.3513, 17.9772, 4.35785, 2.31294, 0.293718,
     0.289778},
    {64, 68, 4.753, 4.411, 2.60259, 4.97554, 13.3513, 18.0972, 4.381, 2.37295, 0.222538, 0.220333},
    {96, 101, 4.96815, 6.63922, 2.66557, 5.1464, 15.5766, 20.5382, 4.40415, 2.48083, 0.178255,
     0.177037},
    {128, 133, 5.17172, 4.45172, 2.72621, 5.30893, 15.5766, 20.742, 4.41572, 2.58272, 0.137211,
     0.136528},
    {192, 198, 5.5673, 6.67994, 2.89766, 5.67825, 17.8018, 23.363, 4.4273, 2.78059, 0.110956,
     0.110593},
    {256, 262, 5.95708, 4.47508, 3.06922, 6.04473, 17.8018, 23.7528, 4.43308, 2.97551, 0.0876487,
     0.0874444},
    {384, 391, 6.73087, 6.70331, 3.44164, 6.80406, 20.027, 26.7518, 4.43887, 3.36242, 0.0731891,
     0.0730833},
    {512, 519, 7.50176, 4.48976, 3.81401, 7.56189, 20.027, 27.5227, 4.44176, 3.74787, 0.060122,
     0.0600625},
    {768, 776, 9.04066, 6.71799, 4.5763, 9.09362, 22.2522, 31.2869, 4.44466, 4.51732, 0.0529654,
     0.0529352},
    {1024, 1032, 10.5781, 4.5001, 5.33777, 10.6238, 22.2522, 32.8243, 4.4461, 5.28605, 0.0457184,
     0.0457014},
};

/* With the rounds that the paper's heuristic needs: best, worst, critical delay. */
typedef struct published {
    uint32_t n, rounds;
    double   best, worst, critical_exact;
} published;

static const published published_450e9[] = {
    {6, 7, 3.36153, 5.2824, 1.27558},      {12, 15, 3.29876, 5.49794, 1.05743},
    {24, 27, 2.88207, 5.23042, 0.519071},  {48, 57, 3.06477, 5.5381, 0.583332},
    {96, 108, 3.03661, 5.67959, 0.387111}, {192, 208, 3.22247, 6.16607, 0.272737},
};

static const published published_450gib[] = {
    {6, 7, 3.13211, 4.92189, 1.18819},     {12, 15, 3.0753, 5.12551, 0.985431},
    {24, 27, 2.6897, 4.8813, 0.48404},     {48, 57, 2.86604, 5.17898, 0.545125},
    {96, 108, 2.85032, 5.33115, 0.362998}, {192, 208, 3.04401, 5.8246, 0.257303},
};

enum { N_ROWS = sizeof rows_450e9 / sizeof rows_450e9[0], N_PUBLISHED = 6 };

static const double alpha_s = 3e-6;

/* The paper's broadcast whose delay hides nothing: the AllReduce of the others comes first. */
static double broadcast_worst(uint32_t n_ranks, double a_s, double whole_s)
{
    return 2 * cs_formula_reduce_scatter(n_ranks, a_s, whole_s) +
           cs_formula_broadcast(n_ranks, a_s, whole_s);
}

/* Six significant digits: half a unit of the last one. */
static void expect_ms(double got_s, double want_ms, const char *what, uint32_t n)
{
    double half = 0.5 * pow(10, floor(log10(want_ms)) - 5);
    cr_expect(fabs(got_s * 1e3 - want_ms) <= half * 1.001, "%s n=%u: %.9g ms, want %g", what, n,
              got_s * 1e3, want_ms);
}

static void expect_row(const row *r, double x_s)
{
    uint32_t n = r->n, c = cs_stragglar_rounds(n);

    cr_expect_eq(c, r->rounds);
    expect_ms(cs_formula_ring(n, alpha_s, x_s), r->ring, "ring", n);
    expect_ms(cs_formula_rhd(n, alpha_s, x_s), r->rhd, "rhd", n);
    expect_ms(cs_formula_stragglar_best(n, c, alpha_s, x_s), r->best, "best", n);
    expect_ms(cs_formula_stragglar_worst(n, c, alpha_s, x_s), r->worst, "worst", n);
    expect_ms(cs_formula_broadcast(n, alpha_s, x_s), r->broadcast_ideal, "ideal", n);
    expect_ms(broadcast_worst(n, alpha_s, x_s), r->broadcast_worst, "worst bc", n);
    expect_ms(cs_formula_allpairs(n, alpha_s, x_s), r->allpairs, "allpairs", n);
    expect_ms(cs_formula_reduce_scatter(n, alpha_s, x_s), r->reduce_scatter, "T_RS", n);
    expect_ms(cs_formula_critical_delay_exact(n, c, alpha_s, x_s), r->critical_exact, "exact", n);
    expect_ms(cs_formula_critical_delay_simplified(n, alpha_s, x_s), r->critical_simplified,
              "simplified", n);
}

static void expect_published(const published *p, double x_s)
{
    expect_ms(cs_formula_stragglar_best(p->n, p->rounds, alpha_s, x_s), p->best, "best", p->n);
    expect_ms(cs_formula_stragglar_worst(p->n, p->rounds, alpha_s, x_s), p->worst, "worst", p->n);
    expect_ms(cs_formula_critical_delay_exact(p->n, p->rounds, alpha_s, x_s), p->critical_exact,
              "exact", p->n);
}

Test(formula, stragglar_tables)
{
    const double gib = 1073741824.0;

    for (size_t i = 0; i < N_ROWS; i++) {
        expect_row(&rows_450e9[i], gib / 450e9);
        expect_row(&rows_450gib[i], 1.0 / 450);
    }
    for (size_t i = 0; i < N_PUBLISHED; i++) {
        expect_published(&published_450e9[i], gib / 450e9);
        expect_published(&published_450gib[i], 1.0 / 450);
    }
}

Test(formula, log2_ceil)
{
    cr_expect_eq(cs_log2_ceil(0), 0);
    cr_expect_eq(cs_log2_ceil(1), 0);
    cr_expect_eq(cs_log2_ceil(2), 1);
    cr_expect_eq(cs_log2_ceil(3), 2);
    cr_expect_eq(cs_log2_ceil(1024), 10);
    cr_expect_eq(cs_log2_ceil(1025), 11);
    cr_expect_eq(cs_log2_ceil(UINT64_C(1) << 62), 62);
    cr_expect_eq(cs_log2_ceil(UINT64_MAX), 64);
}

Test(formula, critical_delay_is_never_negative)
{
    cr_expect_eq(cs_formula_critical_delay_exact(4, 1, 1e-3, 0), 0);
    cr_expect_eq(cs_formula_critical_delay_exact(1024, 1032, 0, 1e-3) > 0, true);
}

static void expect_ratio(double got, double numerator, double denominator, const char *what)
{
    double want = numerator / denominator;
    cr_expect(fabs(got - want) <= 1e-14 * want, "%s: %.17g, want %.17g", what, got, want);
}

Test(formula, one_slow_rank)
{
    expect_ratio(cs_formula_t0(3, 1), 4, 3, "T0 p=3");
    expect_ratio(cs_formula_t0(32, 8), 31, 128, "T0 p=32 g=8");
    expect_ratio(cs_formula_theorem_1(3, 8. / 7), 32, 23, "1: p=3 l=8/7");
    expect_ratio(cs_formula_theorem_1(4, 4. / 3), 8, 5, "1: p=4 l=4/3");
    expect_ratio(cs_formula_theorem_1(4, 1.5), 18, 11, "1: p=4 l=3/2");
    expect_ratio(cs_formula_theorem_1(3, 4), 4, 1, "1: p=3 l=4");
    expect_ratio(cs_formula_theorem_6(3, 8. / 7), 16, 11, "6: p=3 l=8/7");
    expect_ratio(cs_formula_theorem_6(3, 1.5), 12, 7, "6: p=3 l=3/2");
    expect_ratio(cs_formula_theorem_6(4, 4. / 3), 12, 7, "6: p=4 l=4/3");
    expect_ratio(cs_formula_theorem_6(4, 2), 2, 1, "6: p=4 l=2");
    expect_ratio(cs_formula_theorem_6(4, 3), 3, 1, "6: p=4 l=3");
    expect_ratio(cs_formula_theorem_6(8, 1), 7, 4, "6: no slowdown gives T0");
    expect_ratio(cs_formula_iccl(3, 1, 8. / 7), 32, 21, "ICCL p=3 l=8/7");
    expect_ratio(cs_formula_iccl(4, 1, 1.5), 9, 4, "ICCL p=4 l=3/2");
    expect_ratio(cs_formula_r2ccl(3, 8. / 7), 31, 21, "R2CCL p=3 l=8/7");
    expect_ratio(cs_formula_r2ccl(4, 8. / 7), 23, 14, "R2CCL p=4 l=8/7");
}

Test(formula, several_slow_ranks)
{
    expect_ratio(cs_formula_theorem_2(7, 2, (double[]){4. / 3, 8. / 7}), 96, 53, "2: 4/3 8/7");
    expect_ratio(cs_formula_theorem_2(7, 2, (double[]){8. / 7, 4. / 3}), 96, 53, "2: order");
    expect_ratio(cs_formula_theorem_2(7, 2, (double[]){1.5, 1.5}), 36, 19, "2: 3/2 3/2");
    expect_ratio(cs_formula_theorem_2(7, 2, (double[]){3, 2}), 3, 1, "2: 3 2");
    expect_ratio(cs_formula_theorem_2(7, 4, (double[]){2, 2, 2, 2}), 12, 5, "2: four of 2");
    expect_ratio(cs_formula_theorem_2(9, 1, (double[]){1.25}), cs_formula_theorem_1(9, 1.25), 1,
                 "2: m = 1 is Theorem 1");
}

Test(formula, slow_server)
{
    expect_ratio(cs_formula_theorem_3(4, 8, 8. / 7), 6, 31, "3: q=4 g=8 l=8/7");
    expect_ratio(cs_formula_theorem_3(16, 4, 4. / 3), 10, 21, "3: q=16 g=4 l=4/3");
    expect_ratio(cs_formula_theorem_3(32, 8, 4), 1, 2, "3: q=32 g=8 l=4");
    expect_ratio(cs_formula_theorem_13(4, 8, 8. / 7), 1, 5, "13: q=4 g=8 l=8/7");
    expect_ratio(cs_formula_theorem_13(16, 4, 4. / 3), 15, 31, "13: q=16 g=4 l=4/3");
    expect_ratio(cs_formula_theorem_13(128, 8, 8. / 7), 127, 511, "13: q=128 g=8 l=8/7");
}

Test(formula, times_of_optcc_as_published)
{
    expect_ratio(cs_formula_optcc_single(16, 2, 64), 2 * 65, 64, "l=2");
    expect_ratio(cs_formula_optcc_single(3, 4. / 3, 4), 26, 15, "l=4/3: 8/5 (4 + 1/3)/4");
    expect_ratio(cs_formula_optcc_multi(7, 2, (double[]){2, 4. / 3}, 4), 24, 5, "12/5 (k+4)/k");
    expect_ratio(cs_formula_optcc_multi(7, 2, (double[]){3, 2}, 8), 51, 10, "17/5 (k+4)/k");
    expect_ratio(cs_formula_optcc_servers(8, 1.5, 64), 69.5, 256, "max(2,l)/g (k+5.5)/k");
}

/* ---- OptCC as it is built here, in units of a section ---- */

typedef struct known_form {
    uint32_t servers, gpus, n_slow;
    double   slow[4];
    uint32_t rounds, ramp;
    bool     has_bubbles, is_exact;
    double   alpha_sections, sections, formula_sections, paper_sections;
} known_form;

/* From the statements by hand: l (N+1) + 2 (p-2); with alpha 1 added to each flow; 2 M + 2 H (l-1)
 * + 2 - l; tau (N+H+1) / H + sum l; single + 2. The paper: l (N+p-1); (N/H + 4) max(2 (p-1), l H +
 * 2 (m-1)); bodies of 2 (q-1), N / (q-1) + 5.5 of them. */
static const known_form known_forms[] = {
    {5, 1, 1, {2}, 4, 0, false, true, 0, 12, 32, 32},
    {5, 1, 1, {2}, 4, 0, false, true, 1, 12, 48, 32},
    {8, 1, 1, {3}, 4, 0, false, true, 0, 24, 87, 93},
    {5, 1, 1, {1.5}, 8, 0, false, true, 0, 23, 48 + 4 + 0.5, (double)NAN},
    {7, 1, 2, {2, 2}, 3, 0, false, false, 0, 10, 12 * 16 / 5.0 + 4, 6 * 12},
    {5, 4, 1, {2}, 8, 0, false, true, 0, 23, 58, 90},
};

Test(formula, optcc_by_hand)
{
    for (size_t i = 0; i < sizeof known_forms / sizeof known_forms[0]; i++) {
        const known_form *k    = &known_forms[i];
        cs_optcc_form     form = {k->servers, k->gpus, k->n_slow,      k->slow,
                                  k->rounds,  k->ramp, k->has_bubbles, 0};
        bool              is_exact;

        cr_assert_float_eq(cs_formula_optcc_sections(&form), k->sections, 1e-12, "case %zu", i);
        form.alpha = k->alpha_sections / k->sections;
        cr_assert_float_eq(cs_formula_optcc(&form, &is_exact) * k->sections, k->formula_sections,
                           1e-9, "case %zu", i);
        cr_assert_eq(is_exact, k->is_exact, "case %zu", i);
        if (!isnan(k->paper_sections)) {
            cr_assert_float_eq(cs_formula_optcc_paper(&form) * k->sections, k->paper_sections, 1e-9,
                               "case %zu", i);
        }
    }
}

/* p = 64, l = 4/3, R = 8, as printed with four decimals. */
Test(formula, optcc_with_ramp_bubbles_and_few_rounds)
{
    double        slow[] = {4.0 / 3};
    cs_optcc_form form   = {.servers = 64, .gpus = 1, .n_slow = 1, .slow = slow, .rounds = 8};
    bool          is_exact;

    form.has_bubbles = true;
    cr_assert_float_eq(cs_formula_optcc(&form, &is_exact), 2.0756, 5e-5);
    cr_assert(is_exact);
    cr_assert_float_eq(cs_formula_optcc_paper(&form), 2.0684, 5e-5);
    cr_assert_float_eq(cs_formula_optcc_limit(&form), 1.9843, 5e-5);
    form.ramp = 2;
    cr_assert_geq(cs_formula_optcc(&form, &is_exact), 2.0142);
    cr_assert_leq(cs_formula_optcc(&form, &is_exact), 2.0142 * 1.01);
    cr_assert_not(is_exact);
}

/* Four servers: (N-1) R + D or N D, whichever is longer; across sockets the slower one of R and C
 * steps, then C, then D. */
Test(formula, parallel_rings)
{
    cr_expect_float_eq(cs_formula_parallel_rings(4, 5, 2, (double)NAN), 17, 1e-12);
    cr_expect_float_eq(cs_formula_parallel_rings(4, 1, 3, (double)NAN), 12, 1e-12);
    cr_expect_float_eq(cs_formula_parallel_rings(4, 5, 2, 4), 21, 1e-12);
    cr_expect_float_eq(cs_formula_parallel_rings(4, 3, 2, 4), 18, 1e-12);
}

/* ---- by name ---- */

static double by_name(const char *name, size_t n, const double *arguments)
{
    for (const cs_formula *f = cs_formulas; f->name != NULL; f++) {
        if (strcmp(f->name, name) == 0) {
            cr_assert(n >= f->n_least && n <= f->n_most, "%s", name);
            return cs_formula_value(f, arguments, n);
        }
    }
    cr_assert_fail("no formula %s", name);
    return (double)NAN;
}

#define BY_NAME(name, ...) \
    by_name(name, sizeof(double[]){__VA_ARGS__} / sizeof(double), (double[]){__VA_ARGS__})

Test(formula, by_name)
{
    const double none = (double)NAN;

    cr_expect_eq(BY_NAME("ring", 8, 3e-6, 1e-3), cs_formula_ring(8, 3e-6, 1e-3));
    cr_expect_eq(BY_NAME("rhd", 6, 3e-6, 1e-3), cs_formula_rhd(6, 3e-6, 1e-3));
    cr_expect_eq(BY_NAME("allpairs", 6, 3e-6, 1e-3), cs_formula_allpairs(6, 3e-6, 1e-3));
    cr_expect_eq(BY_NAME("broadcast", 6, 3e-6, 1e-3), cs_formula_broadcast(6, 3e-6, 1e-3));
    cr_expect_eq(BY_NAME("reduce_scatter", 6, 3e-6, 1e-3),
                 cs_formula_reduce_scatter(6, 3e-6, 1e-3));
    cr_expect_eq(BY_NAME("stragglar_rounds", 12), 14);
    cr_expect_eq(BY_NAME("stragglar_best", 12, 15, 3e-6, 1e-3),
                 cs_formula_stragglar_best(12, 15, 3e-6, 1e-3));
    cr_expect_eq(BY_NAME("stragglar_worst", 12, 15, 3e-6, 1e-3),
                 cs_formula_stragglar_worst(12, 15, 3e-6, 1e-3));
    cr_expect_eq(BY_NAME("critical_delay", 8, 9, 3e-6, 1e-3),
                 cs_formula_critical_delay_exact(8, 9, 3e-6, 1e-3));
    cr_expect_eq(BY_NAME("critical_delay_simplified", 8, 3e-6, 1e-3),
                 cs_formula_critical_delay_simplified(8, 3e-6, 1e-3));
    cr_expect_eq(BY_NAME("iccl", 8, 2, 1.5), cs_formula_iccl(8, 2, 1.5));
    cr_expect_eq(BY_NAME("theorem_2", 7, 2, 4. / 3),
                 cs_formula_theorem_2(7, 2, (double[]){2, 4. / 3}));
    cr_expect_eq(BY_NAME("theorem_2", 7, 2, none, 4. / 3, none),
                 cs_formula_theorem_2(7, 2, (double[]){2, 4. / 3}));
    cr_expect_eq(BY_NAME("theorem_13", 4, 8, 2), cs_formula_theorem_13(4, 8, 2));
    cr_expect_eq(BY_NAME("parallel_rings", 4, 5, 2), 17);
    cr_expect_float_eq(BY_NAME("optcc", 5, 1, 4, 0, 0, 0, 2), 32. / 12, 1e-12);
    cr_expect_eq(BY_NAME("optcc_is_exact", 7, 1, 3, 0, 0, 0, 2, 2), 0);
    cr_expect_eq(BY_NAME("optcc_sections", 7, 1, 3, 0, 0, 0, 2, 2, none), 10);
    cr_expect_float_eq(BY_NAME("optcc_paper", 8, 1, 4, 0, 0, 0, 3), 93. / 24, 1e-12);
    cr_expect_float_eq(BY_NAME("optcc_limit", 64, 1, 8, 0, 1, 0, 4. / 3), 1.9843, 5e-5);
}

/* A formula says nothing about half a rank, one rank, or as many slow ones as there are. */
Test(formula, by_name_outside_of_what_it_is_about)
{
    const double none = (double)NAN;

    cr_expect(isnan(BY_NAME("ring", 1, 0, 1)));
    cr_expect(isnan(BY_NAME("ring", 2.5, 0, 1)));
    cr_expect(isnan(BY_NAME("ring", none, 0, 1)));
    cr_expect(isnan(BY_NAME("ring", 1e12, 0, 1)));
    cr_expect(isnan(BY_NAME("stragglar_best", 8, -1, 0, 1)));
    cr_expect(isnan(BY_NAME("theorem_2", 2, 2, 2)));
    cr_expect(isnan(BY_NAME("optcc", 5, 1, 4, 0, 0, 0, none)));
    cr_expect(isnan(BY_NAME("optcc", 3, 1, 4, 0, 0, 0, 2, 2)));
}
