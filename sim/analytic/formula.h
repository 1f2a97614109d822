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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ring and pairwise algorithms (StragglAR, section 4 and appendix; "Devraj et al. 2025").
 * Everybody arrives together; the time from then on. */
double cs_formula_ring(uint32_t n_ranks, double alpha_s, double x_s);
/* Recursive halving and doubling; where n_ranks is no power of two, with 3-2 elimination. */
double cs_formula_rhd(uint32_t n_ranks, double alpha_s, double x_s);
/* MSCCL's allpairs: two steps in each of which everybody sends to everybody, alpha paid once. */
double cs_formula_allpairs(uint32_t n_ranks, double alpha_s, double x_s);
/* The straggler's data broadcast in a binomial tree, where its delay hides the AllReduce of the
 * others. */
double cs_formula_broadcast(uint32_t n_ranks, double alpha_s, double x_s);
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
double cs_formula_optcc_single(uint32_t p, double l, double k);
double cs_formula_optcc_multi(uint32_t p, uint32_t m, const double *l, double k);
double cs_formula_optcc_servers(uint32_t g, double l, double k);

/* Parallel Rings (multi-HCA AllGather): `servers` with as many rings as local ranks, and exchanges
 * inside the servers beside them. Times of one block over a NIC, over NVLink, and over the path
 * between the sockets of a server; NAN: no sockets, and an NVLink from each to each. */
double cs_formula_parallel_rings(uint32_t servers, double nic_s, double nvlink_s, double cross_s);

/* OptCC as it is built here (sim/doc/optcc.md): what the formulas need of a schedule. `n_slow`
 * slowdowns `slow` of as many servers; `alpha` in units of the time of the buffer's share of one
 * NIC, bytes / gpus. All results are in these units. */
typedef struct cs_optcc_form {
    uint32_t      servers, gpus, n_slow;
    const double *slow;
    uint32_t      rounds, ramp;
    bool          has_bubbles;
    double        alpha;
} cs_optcc_form;

/* Sections of equal size; a special one counts, bubbles do not. */
double cs_formula_optcc_sections(const cs_optcc_form *form);
/* The time; *is_exact_p: a replay must meet it, otherwise it must not exceed it. Costs of NVLink
 * are those of (gpus - 1) times the bandwidth of a NIC and no alpha. */
double cs_formula_optcc(const cs_optcc_form *form, bool *is_exact_p);
/* What the paper states for as many sections, without alpha; NAN for several slow servers of
 * several GPUs. */
double cs_formula_optcc_paper(const cs_optcc_form *form);
/* What cs_formula_optcc() tends to with ever more sections, without alpha. */
double cs_formula_optcc_limit(const cs_optcc_form *form);

/* The formulas by name, for whoever computes with them from a text: arguments in the order of
 * `arguments`; the last one may be repeated where that ends in "..". Ended by a NULL name. */
typedef struct cs_formula {
    const char *name;            /* "critical_delay" */
    const char *arguments;       /* "n, rounds, alpha_s, x_s" */
    const char *help;            /* one line, with what it is a multiple of where it is no time */
    size_t      n_least, n_most; /* arguments */
    size_t      n_counts;        /* the first of them: whole numbers */

    /* One of these: n is a count, d a number; or all of them, missing ones NAN. */
    double (*nd)(uint32_t, double);
    double (*ndd)(uint32_t, double, double);
    double (*nn)(uint32_t, uint32_t);
    double (*nnd)(uint32_t, uint32_t, double);
    double (*nndd)(uint32_t, uint32_t, double, double);
    double (*list)(const double *arguments);
} cs_formula;
extern const cs_formula cs_formulas[];

enum { CS_FORMULA_MOST_ARGUMENTS = 10 };

/* The value, NAN where the formula says nothing about the arguments. `n` must be what it takes. */
double cs_formula_value(const cs_formula *formula, const double *arguments, size_t n);

#endif
