/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every function is its formula written down; what is composed in the papers is composed here.
 *
 * Left out: uneven splits (a replay has them), and every alpha in the OptCC forms, which are
 * stated without.
 */
#include "analytic/formula.h"

#include "base/log2.h"

#include <assert.h>
#include <math.h>

double cs_formula_ring(uint32_t n_ranks, double alpha_s, double x_s)
{
    double n = n_ranks;
    return 2 * (n - 1) * alpha_s + 2 * (n - 1) / n * x_s;
}

double cs_formula_rhd(uint32_t n_ranks, double alpha_s, double x_s)
{
    double n = n_ranks, steps = cs_log2_ceil(n_ranks);

    if ((n_ranks & (n_ranks - 1)) == 0) {
        return 2 * steps * alpha_s + 2 * (n - 1) / n * x_s;
    }
    return 2 * steps * alpha_s + 2 * x_s * (1.5 - exp2(-(steps - 1)));
}

double cs_formula_allpairs(uint32_t n_ranks, double alpha_s, double x_s)
{
    double n = n_ranks;
    return 2 * alpha_s + 2 * (n - 1) / n * x_s;
}

double cs_formula_broadcast(uint32_t n_ranks, double alpha_s, double x_s)
{
    return cs_log2_ceil(n_ranks) * (alpha_s + x_s);
}

double cs_formula_reduce_scatter(uint32_t n_ranks, double alpha_s, double x_s)
{
    double n = n_ranks;
    return (n - 2) * (alpha_s + x_s / (n - 1));
}

uint32_t cs_stragglar_rounds(uint32_t n_ranks)
{
    assert(n_ranks >= 2);
    return n_ranks - 2 + cs_log2_ceil(n_ranks);
}

double cs_formula_stragglar_best(uint32_t n_ranks, uint32_t rounds, double alpha_s, double x_s)
{
    return rounds * (alpha_s + x_s / (n_ranks - 1.0));
}

double cs_formula_stragglar_worst(uint32_t n_ranks, uint32_t rounds, double alpha_s, double x_s)
{
    return cs_formula_reduce_scatter(n_ranks, alpha_s, x_s) +
           cs_formula_stragglar_best(n_ranks, rounds, alpha_s, x_s);
}

double cs_formula_critical_delay_exact(uint32_t n_ranks, uint32_t rounds, double alpha_s,
                                       double x_s)
{
    double delay_s = cs_formula_stragglar_worst(n_ranks, rounds, alpha_s, x_s) -
                     cs_formula_ring(n_ranks, alpha_s, x_s);
    return fmax(0, delay_s);
}

double cs_formula_critical_delay_simplified(uint32_t n_ranks, double alpha_s, double x_s)
{
    double steps = cs_log2_ceil(n_ranks);
    return (steps - 2) * alpha_s + steps / n_ranks * x_s;
}

double cs_formula_t0(uint32_t p, uint32_t g)
{
    return 2 * (p - 1.0) / ((double)g * p);
}

double cs_formula_iccl(uint32_t p, uint32_t g, double l)
{
    return l * cs_formula_t0(p, g);
}

double cs_formula_r2ccl(uint32_t p, double l)
{
    return cs_formula_t0(p, 1) * (1 + p * (l - 1) / (2 * (p - 1.0)));
}

double cs_formula_theorem_1(uint32_t p, double l)
{
    return fmax(2 * l * (p - 1.0) / (l * (p - 1.0) + 1), l);
}

static double largest(uint32_t m, const double *l)
{
    double most = 1;

    for (uint32_t i = 0; i < m; i++) {
        most = fmax(most, l[i]);
    }
    return most;
}

double cs_formula_theorem_2(uint32_t p, uint32_t m, const double *l)
{
    double rate = (double)p - m;

    for (uint32_t i = 0; i < m; i++) {
        rate += 1 / l[i];
    }
    return fmax(2 * (p - 1.0) / rate, largest(m, l));
}

double cs_formula_theorem_3(uint32_t q, uint32_t g, double l)
{
    return cs_formula_theorem_1(q, l) / g;
}

double cs_formula_theorem_6(uint32_t p, double l)
{
    return fmax(2 * l * (p - 1.0) / (l * (p - 2.0) + 2), l);
}

double cs_formula_theorem_13(uint32_t q, uint32_t g, double l)
{
    return cs_formula_theorem_6(q, l) / g;
}

double cs_formula_optcc_single(uint32_t p, double l, double k)
{
    return l >= 2 ? l * (k + 1) / k : cs_formula_theorem_6(p, l) * (k + l - 1) / k;
}

double cs_formula_optcc_multi(uint32_t p, uint32_t m, const double *l, double k)
{
    double healthy = (double)p - m;
    double slow    = largest(m, l) + 2 * (m - 1.0) / healthy;

    return fmax(2 * (p - 1.0) / healthy, slow) * (k + 4) / k;
}

double cs_formula_optcc_servers(uint32_t g, double l, double k)
{
    return fmax(2, l) / g * (k + 5.5) / k;
}

double cs_formula_parallel_rings(uint32_t servers, double nic_s, double nvlink_s, double cross_s)
{
    double steps = servers - 1.0;

    if (isnan(cross_s)) {
        return fmax(steps * nic_s + nvlink_s, servers * nvlink_s);
    }
    return steps * fmax(nic_s, cross_s) + cross_s + nvlink_s;
}
