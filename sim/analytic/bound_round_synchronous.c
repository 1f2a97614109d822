/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The bound for AllReduce in synchronous rounds: alphas and bytes together.
 *
 * With R rounds and L = ceil(log2 n):
 *   R >= 2L - 1           (2L-1) alpha + 2(n-1)/n x    every byte needs 2(n-1) transfers
 *   L <= R <= 2L - 2      R alpha + 2 x                every rank sends a byte first in a round
 *                                                      <= R-L+1 and completes it in one >= L:
 *                                                      2n transfers
 *   R = L, n = 2^L        L (alpha + x)                what is known doubles in every round
 * The bound is the smallest of the three, with the least R that each allows (where the second
 * has no R, L + 1 in it gives more than the first). It is attained by
 * halving and doubling that exchange in the middle once (merged_rhd) where n = 2^L and
 * x >= max(2, n (L-2) / 2) alpha.
 *
 * Only for equal ports and arrivals, and only for schedules that run in rounds: therefore it is
 * printed with this label and never used as the bound of a result.
 * Source: the proofs above.
 */
#include "analytic/nodes.h"
#include "base/log2.h"

#include <math.h>

static bool is_even(const cs_nodes *nodes)
{
    return nodes->width == 1 && nodes->last_s <= 0 && cs_nics_are_even(nodes->scenario) &&
           cs_nodes_alpha_adds_up(nodes);
}

static double round_synchronous_seconds(const cs_bound_context *context)
{
    cs_nodes nodes;

    if (!context->is_round_synchronous || !cs_nodes_of_ranks(&nodes, context, 1u << CS_ALLREDUCE) ||
        !is_even(&nodes)) {
        return (double)NAN;
    }
    double   n = nodes.n_nodes, alpha_s = nodes.alpha_s, x_s = nodes.x_s;
    uint32_t steps    = cs_log2_ceil(nodes.n_nodes);
    bool     is_power = (nodes.n_nodes & (nodes.n_nodes - 1)) == 0;
    uint32_t rounds   = is_power ? steps + 1 : steps;
    double   bound_s  = (2.0 * steps - 1) * alpha_s + 2 * (n - 1) / n * x_s;

    bound_s = fmin(bound_s, rounds * alpha_s + 2 * x_s);
    return is_power ? fmin(bound_s, steps * (alpha_s + x_s)) : bound_s;
}

const cs_bound cs_bound_round_synchronous = {
    .name       = "round_synchronous",
    .summary    = "min of (2L-1) alpha + 2(n-1)/n x, R alpha + 2x, L (alpha + x); L = ceil(log2 n)",
    .assumption = "round-synchronous schedules only; AllReduce, all arrive together, equal ports",
    .source     = "transfers needed in R rounds",
    .is_general = false,
    .seconds    = round_synchronous_seconds,
};
