/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Merged halving and doubling: AllReduce for every even n.
 *
 * n = m 2^j: 2^j groups of m consecutive ranks, m chunks. A ReduceScatter inside every group
 * (lib/circulant.h), then j exchanges of one chunk with the ranks of the same position in other
 * groups (recursive doubling: both ends add), then an AllGather inside every group. The last
 * halving and the first doubling of rhd, one message each, are one exchange here.
 *
 *   (2 ceil(log2 m) + j) alpha + (2 (1 - 1/m) + j/m) x
 *
 * j = 1, the default: 2 ceil(log2 n) - 1 rounds with the 2(n-1)/n x that no algorithm can do
 * without; where n is a power of two and x >= max(2, n (log2 n - 2) / 2) alpha, nothing that runs
 * in synchronous rounds is faster. Each further exchange saves one alpha and costs bytes; with m =
 * 1 it is recursive doubling.
 *
 * Sources: R. Rabenseifner, "Optimization of collective reduction operations", ICCS 2004; D.
 * Kolmakov, X. Zhang, "A generalization of the allreduce operation", 2020 (an early end of the
 * halving); lib/circulant.h.
 */
#include "algorithms/lib/circulant.h"
#include "base/alloc.h"

#include <math.h>

typedef struct merged_options {
    uint32_t exchanges;
} merged_options;

static const cs_field merged_table[] = {
    CS_OPTION_ROW(merged_options, exchanges, 1, 1, 16, true, NULL,
                  "exchanges j between 2^j groups of ranks; auto: the j of the least time"),
    CS_FIELD_END,
};

extern const cs_algorithm cs_algorithm_merged_rhd;

typedef enum phase { REDUCE, EXCHANGE, GATHER } phase;

typedef struct merged {
    const cs_scenario *scenario;
    cs_circulant       pass;
    phase              phase;
    uint32_t           exchanges, m;
    uint32_t           step, rank; /* of the exchanges */
} merged;

static uint32_t most_exchanges(uint32_t n)
{
    return (uint32_t)__builtin_ctz(n);
}

static uint32_t n_rounds(uint32_t n, uint32_t exchanges)
{
    return 2 * cs_circulant_steps(n >> exchanges) + exchanges;
}

static cs_plan plan_of(const cs_scenario *s, const merged_options *o)
{
    uint32_t n = s->cluster.n_ranks, m = n >> o->exchanges;

    return (cs_plan){.n_chunks = m,
                     .n_slots  = m,
                     .n_rounds = n_rounds(n, o->exchanges),
                     .uses     = CS_USES_SPAN | CS_USES_JOIN | CS_USES_EXCHANGE |
                             cs_uses_nvlink(&s->cluster),
                     .starts_own           = true,
                     .is_round_synchronous = true};
}

/* The time of a round in which every rank of a group of m sends `bytes` `distance` positions ahead
 * (or, for distances of m and more, to the same position of another group): that of the slower
 * fabric that is used, over the slowest NIC. */
static double round_s(const cs_scenario *s, double slow, uint32_t m, uint32_t distance,
                      double bytes)
{
    const cs_cluster *c      = &s->cluster;
    uint32_t          last   = c->gpus_per_server > 1 ? c->n_ranks : 1;
    double            time_s = 0;

    for (uint32_t i = 0; i < last; i++) {
        uint32_t group  = i - i % m;
        uint32_t there  = distance < m ? group + (i - group + distance) % m
                                       : (i / distance % 2 == 0 ? i + distance : i - distance);
        uint32_t fabric = cs_fabric_of(c, i, there);
        double   flow_s = bytes / c->fabrics[fabric].bandwidth_Bps;
        flow_s *= fabric == CS_NIC ? 1 : cs_server_ratio(c, cs_server_of(c, i), fabric);
        double all_s = c->fabrics[fabric].alpha_s + (fabric == CS_NIC ? slow : 1) * flow_s;
        time_s       = all_s > time_s ? all_s : time_s;
    }
    return time_s;
}

/* What j exchanges take when all ranks arrive together and the rounds do not overlap. */
static double predicted_s(const cs_scenario *s, double slow, uint32_t exchanges)
{
    uint32_t m      = s->cluster.n_ranks >> exchanges;
    double   block  = (double)s->bytes / m;
    double   time_s = 0;

    for (uint32_t k = 1; k <= cs_circulant_steps(m); k++) {
        uint32_t skip  = cs_circulant_skip(m, k);
        uint32_t width = cs_circulant_skip(m, k - 1) - skip;
        time_s += 2 * round_s(s, slow, m, skip, width * block);
    }
    for (uint32_t e = 0; e < exchanges; e++) {
        time_s += round_s(s, slow, m, m << e, block);
    }
    return time_s;
}

/* The least time, as the scenario's forecast has it, or without one as predicted; of equal ones the
 * fewest exchanges, which move the fewest bytes. */
static cs_status choose_exchanges(const cs_scenario *s, uint32_t *exchanges_p, cs_error *err)
{
    const cs_forecast *f       = s->forecast;
    double             least_s = (double)INFINITY, slow = cs_slowdown_most(s);

    for (uint32_t j = 1; j <= most_exchanges(s->cluster.n_ranks); j++) {
        const merged_options o      = {j};
        const cs_plan        plan   = plan_of(s, &o);
        double               time_s = predicted_s(s, slow, j);
        if (f != NULL) {
            CS_TRY(f->elapsed_s(f, s, &cs_algorithm_merged_rhd, &o, &plan, &time_s, err));
        }
        *exchanges_p = j == 1 || time_s < least_s ? j : *exchanges_p;
        least_s      = fmin(least_s, time_s);
    }
    return CS_OK;
}

static cs_status resolve(const cs_scenario *scenario, merged_options *o, cs_error *err)
{
    uint32_t n = scenario->cluster.n_ranks, most = n % 2 == 0 ? most_exchanges(n) : 0;

    if (most == 0) {
        return CS_FAIL(err, CS_ENOTSUP, "cluster.ranks",
                       "merged_rhd needs an even number of ranks, got %u; circulant does all "
                       "numbers",
                       n);
    }
    if (o->exchanges == CS_AUTO) {
        return choose_exchanges(scenario, &o->exchanges, err);
    }
    if (o->exchanges > most) {
        return CS_FAIL(err, CS_EINVAL, "algorithm.options.exchanges",
                       "%u exchanges need 2^%u groups; %u ranks have at most %u", o->exchanges,
                       o->exchanges, n, most);
    }
    return CS_OK;
}

static cs_status merged_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                              cs_error *err)
{
    merged_options *o = options;

    CS_TRY(resolve(scenario, o, err));
    *plan = plan_of(scenario, o);
    return cs_accept_slots(scenario, "merged_rhd", plan->n_slots, err);
}

static cs_status merged_open(const cs_scenario *scenario, const void *options, void **state_p,
                             cs_error *err)
{
    merged *g = CS_NEW(merged, 1);

    if (g == NULL) {
        return CS_NO_MEMORY(err, "merged_rhd");
    }
    g->scenario  = scenario;
    g->exchanges = ((const merged_options *)options)->exchanges;
    g->m         = scenario->cluster.n_ranks >> g->exchanges;
    g->pass      = (cs_circulant){.cluster  = &scenario->cluster,
                                  .m        = g->m,
                                  .n_groups = 1u << g->exchanges,
                                  .skip     = CS_CIRCULANT_ALL,
                                  .bytes    = scenario->bytes,
                                  .n_chunks = g->m,
                                  .has_own  = true};
    *state_p     = g;
    return CS_OK;
}

/* The ranks of one position in two groups exchange the chunk of that position. */
static cs_transfer exchange(const merged *g)
{
    const cs_scenario *s     = g->scenario;
    uint32_t           chunk = g->rank % g->m, dst = g->rank + (g->m << g->step);
    bool               is_last = g->step + 1 == g->exchanges;

    return (cs_transfer){.src      = g->rank,
                         .dst      = dst,
                         .chunk    = chunk,
                         .src_slot = (uint16_t)chunk,
                         .dst_slot = (uint16_t)chunk,
                         .bytes    = cs_split(s->bytes, g->m, chunk),
                         .round    = cs_circulant_steps(g->m) + g->step,
                         .span     = 1,
                         .flags    = is_last ? CS_DONE_SRC | CS_DONE_DST : 0,
                         .op_fabric =
                             cs_op_fabric(CS_OP_EXCHANGE, cs_fabric_of(&s->cluster, g->rank, dst))};
}

/* Of the groups whose number has bit `step` unset, with those that have it set. */
static void next_exchanges(merged *g, cs_block *block)
{
    uint32_t n = g->scenario->cluster.n_ranks;

    while (g->step < g->exchanges && block->count < block->capacity) {
        block->transfers[block->count++] = exchange(g);
        g->rank++;
        if ((g->rank / g->m >> g->step & 1u) != 0) {
            g->rank += g->m << g->step;
        }
        if (g->rank >= n) {
            g->rank = 0;
            g->step++;
        }
    }
}

static void merged_next_block(void *state, cs_block *block)
{
    merged *g = state;

    block->count = 0;
    if (g->phase == REDUCE && !cs_circulant_next(&g->pass, block)) {
        g->phase = EXCHANGE;
    }
    if (g->phase == EXCHANGE) {
        next_exchanges(g, block);
        if (block->count == 0) {
            g->phase         = GATHER;
            g->pass.is_final = true;
            cs_circulant_turn(&g->pass);
            g->pass.first_round += g->exchanges;
        }
    }
    if (g->phase == GATHER) {
        (void)cs_circulant_next(&g->pass, block);
    }
}

static double merged_closed_form_s(const cs_scenario *scenario, const void *options)
{
    uint32_t exchanges = ((const merged_options *)options)->exchanges;
    uint32_t m         = scenario->cluster.n_ranks >> exchanges;
    uint64_t bytes     = scenario->bytes / m;
    double   block     = (double)bytes;
    cs_pace  pace;

    if (!cs_pace_of_rounds(scenario, m, &pace)) {
        return (double)NAN;
    }
    return pace.start_s + 2 * cs_circulant_s(m, scenario->bytes, &pace) +
           exchanges * (pace.alpha_s + block * pace.s_per_byte);
}

const cs_algorithm cs_algorithm_merged_rhd = {
    .name          = "merged_rhd",
    .summary       = "halving and doubling in groups with an exchange in between, every even n",
    .source        = "R. Rabenseifner, ICCS 2004; D. Kolmakov, X. Zhang, 2020; circulant",
    .collectives   = 1u << CS_ALLREDUCE,
    .options       = merged_table,
    .options_bytes = sizeof(merged_options),
    .check         = merged_check,
    .open          = merged_open,
    .next_block    = merged_next_block,
    .close         = cs_free,
    .closed_form_s = merged_closed_form_s,
    .takes_uneven  = true,
};
