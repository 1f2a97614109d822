/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Circulant ReduceScatter, AllGather and AllReduce, every n.
 *
 * n chunks; chunk c ends at rank c. ceil(log2 n) rounds and (n-1)/n of the buffer per port for
 * either half, by lib/circulant.h; the AllReduce is one after the other. For the halves that
 * is the least possible for every n and size.
 *
 * Sources: J. Bruck et al., "Efficient algorithms for all-to-all communications in multiport
 * message-passing systems", IEEE TPDS 8 (1997); J. L. Traeff, "Optimal, non-pipelined
 * reduce-scatter and allreduce algorithms", arXiv 2410.14234 (2024).
 */
#include "algorithms/lib/circulant.h"

#include "algorithms/lib/accept.h"
#include "base/alloc.h"

#include <math.h>

typedef struct circulant {
    cs_circulant pass;
    bool         is_last; /* no AllGather after this pass */
} circulant;

static uint32_t n_halves(const cs_scenario *scenario)
{
    return scenario->collective == CS_ALLREDUCE ? 2 : 1;
}

static cs_status circulant_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                                 cs_error *err)
{
    uint32_t n = scenario->cluster.n_ranks;

    (void)options;
    CS_TRY(cs_accept_slots(scenario, "circulant", n, err));
    *plan = (cs_plan){.n_chunks = n,
                      .n_slots  = n,
                      .n_rounds = n_halves(scenario) * cs_circulant_steps(n),
                      .uses     = CS_USES_SPAN | CS_USES_JOIN | cs_uses_nvlink(&scenario->cluster),
                      .starts_own           = true,
                      .is_round_synchronous = true};
    return CS_OK;
}

static cs_status circulant_open(const cs_scenario *scenario, const void *options, void **state_p,
                                cs_error *err)
{
    circulant *c = CS_NEW(circulant, 1);
    uint32_t   n = scenario->cluster.n_ranks;

    (void)options;
    if (c == NULL) {
        return CS_NO_MEMORY(err, "a circulant graph");
    }
    c->is_last = n_halves(scenario) == 1;
    c->pass    = (cs_circulant){.cluster  = &scenario->cluster,
                                .m        = n,
                                .n_groups = 1,
                                .skip     = CS_CIRCULANT_ALL,
                                .bytes    = scenario->bytes,
                                .n_chunks = n,
                                .gathers  = scenario->collective == CS_ALLGATHER,
                                .has_own  = true,
                                .is_final = true};
    *state_p   = c;
    return CS_OK;
}

static void circulant_next_block(void *state, cs_block *block)
{
    circulant *c = state;

    block->count = 0;
    if (!cs_circulant_next(&c->pass, block) && !c->is_last) {
        c->is_last = true;
        cs_circulant_turn(&c->pass);
        cs_circulant_next(&c->pass, block);
    }
}

/* A round of width w takes alpha + w/n x; the widths of a half add up to n - 1. */
static double circulant_closed_form_s(const cs_scenario *scenario, const void *options)
{
    uint32_t n = scenario->cluster.n_ranks;
    cs_pace  pace;

    (void)options;
    if (!cs_pace_of_rounds(scenario, n, &pace)) {
        return (double)NAN;
    }
    return pace.start_s + n_halves(scenario) * cs_circulant_s(n, scenario->bytes, &pace);
}

const cs_algorithm cs_algorithm_circulant = {
    .name          = "circulant",
    .summary       = "circulant graphs (Bruck, Traeff): ceil(log2 n) rounds a half, for every n",
    .source        = "J. Bruck et al., IEEE TPDS 8 (1997); J. L. Traeff, arXiv 2410.14234 (2024)",
    .collectives   = 1u << CS_ALLREDUCE | 1u << CS_REDUCESCATTER | 1u << CS_ALLGATHER,
    .check         = circulant_check,
    .open          = circulant_open,
    .next_block    = circulant_next_block,
    .close         = cs_free,
    .closed_form_s = circulant_closed_form_s,
    .takes_uneven  = true,
};
