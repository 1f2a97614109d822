/* SPDX-License-Identifier: GPL-3.0-or-later */
/* analytic/formula.h -- closed forms from the papers, as plain functions of numbers.
 *
 * `alpha_s` is the start-up time of a message; x_s = bytes / bandwidth is the time of the
 * whole buffer on one healthy port; results are seconds. All hold on the alpha-beta model with
 * equal ports, when the buffer splits evenly. `n_ranks` is at least 2, or what is said.
 * The functions of slowdowns return multiples of x_s.
 */
#ifndef CS_ANALYTIC_FORMULA_H
#define CS_ANALYTIC_FORMULA_H

#include <stddef.h>
#include <stdint.h>

/* Ring and pairwise algorithms (StragglAR, section 4 and appendix; "Devraj et al. 2025").
 * Everybody arrives together; the time from then on. */
double cs_formula_ring(uint32_t n_ranks, double alpha_s, double x_s);
/* Recursive halving and doubling; where n_ranks is no power of two, with 3-2 elimination. */
double cs_formula_rhd(uint32_t n_ranks, double alpha_s, double x_s);
/* MSCCL's allpairs: two steps in each of which everybody sends to everybody, alpha paid once. */
double cs_formula_allpairs(uint32_t n_ranks, double alpha_s, double x_s);
/* The straggler's data broadcast in a binomial tree: the delay hides the AllReduce of the
 * others (ideal), or hides nothing (worst). n_ranks >= 3 for the latter. */
double cs_formula_broadcast_ideal(uint32_t n_ranks, double alpha_s, double x_s);
double cs_formula_broadcast_worst(uint32_t n_ranks, double alpha_s, double x_s);
/* T_RS: ring reduce-scatter among n_ranks - 1 ranks. It is also StragglAR's ideal delay. */
double cs_formula_reduce_scatter(uint32_t n_ranks, double alpha_s, double x_s);

/* StragglAR. Rounds of its second phase: n - 2 + ceil(log2 n), for every n that is even, and
 * for odd n when a rank may send to one and receive from another in the same round. */
uint32_t cs_stragglar_rounds(uint32_t n_ranks);
/* Time after the last arrival: delay at least T_RS (best), or no delay at all (worst). */
double cs_formula_stragglar_best(uint32_t n_ranks, uint32_t rounds, double alpha_s, double x_s);
double cs_formula_stragglar_worst(uint32_t n_ranks, uint32_t rounds, double alpha_s, double x_s);
/* The delay from which StragglAR beats the ring: exact, and as the paper simplifies it for
 * rounds = cs_stragglar_rounds(n) (too small by (log2 n - 2) / (n (n-1)) x_s). */
double cs_formula_critical_delay_exact(uint32_t n_ranks, uint32_t rounds, double alpha_s,
                                       double x_s);
double cs_formula_critical_delay_simplified(uint32_t n_ranks, double alpha_s, double x_s);

/* OptCC ("Don't Let a Few Network Failures Slow the Entire AllReduce"): multiples of x_s for
 * AllReduce with alpha = 0. p ranks, one a server; or q servers of g GPUs with a NIC each;
 * slowdowns l >= 1 of one rank or server; m slowdowns l[] of m < p ranks in any order. */

/* Ring without faults, g rings at once. For g = 1 it is also a lower bound. */
double cs_formula_t0(uint32_t p, uint32_t g);
/* Ring over the slow NIC (ICCL), and R2CCL. */
double cs_formula_iccl(uint32_t p, uint32_t g, double l);
double cs_formula_r2ccl(uint32_t p, double l);
/* Lower bounds. Theorem 6 sharpens 1, Theorem 13 sharpens 3. */
double cs_formula_theorem_1(uint32_t p, double l);
double cs_formula_theorem_2(uint32_t p, uint32_t m, const double *l);
double cs_formula_theorem_3(uint32_t q, uint32_t g, double l);
double cs_formula_theorem_6(uint32_t p, double l);
double cs_formula_theorem_13(uint32_t q, uint32_t g, double l);
/* The paper's times of OptCC with k segments: one slow rank; m slow ranks; g GPUs a server and
 * one slow server (without bubble filling, 8 divides k, k >= 24). */
double cs_formula_optcc_single(uint32_t p, double l, uint32_t k);
double cs_formula_optcc_multi(uint32_t p, uint32_t m, const double *l, uint32_t k);
double cs_formula_optcc_servers(uint32_t g, double l, uint32_t k);

#endif
