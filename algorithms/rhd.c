/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recursive halving and doubling (Rabenseifner), every n.
 *
 * m = 2^f core ranks, f = floor(log2 n), and m chunks. In step k of the halving a core rank
 * exchanges half of its current range with a partner and keeps the other half, until it
 * holds one complete chunk; the doubling runs the same steps backwards.
 * For other n the first step takes two rounds of half a buffer: the m/2 pairs take up the n - m
 * extra ranks, one ("3-2 elimination") or two each, as spelt out at elimination_round().
 * 2 ceil(log2 n) rounds in all; 2(n-1)/n of the buffer per port for powers of two,
 * 2 (1.5 - 1/m) of it otherwise. A pair without extras is idle in the first round and starts its
 * second one at once, so that rounds overlap where n is no power of two.
 *
 * Sources: R. Rabenseifner, "Optimization of collective reduction operations", ICCS 2004;
 * R. Rabenseifner, J. L. Traeff, "More efficient reduction algorithms for non-power-of-two
 * number of processors in message-passing parallel systems", EuroPVM/MPI 2004 (3-2 elimination;
 * the two extras per pair used here extend it to every n).
 */
#include "algorithms/lib/accept.h"
#include "base/alloc.h"

#include <math.h>

typedef struct rhd {
    const cs_scenario *scenario;
    uint32_t           n, m, f;
    uint32_t           round, first_round, end_round;
    uint32_t           index; /* next core rank, or next pair in an elimination round */
} rhd;

static bool is_power_of_two(uint32_t n)
{
    return (n & (n - 1)) == 0;
}

static cs_status rhd_check(const cs_scenario *scenario, void *options, cs_plan *plan, cs_error *err)
{
    uint32_t n      = scenario->cluster.n_ranks;
    uint32_t chunks = 1u << cs_log2_floor(n);

    if (!is_power_of_two(n) && scenario->collective != CS_ALLREDUCE) {
        return CS_FAIL(err, CS_ENOTSUP, "collective",
                       "rhd for ranks that are not a power of two does not do %s; it does %s",
                       cs_collective_name(scenario->collective), cs_collective_name(CS_ALLREDUCE));
    }
    (void)options;
    CS_TRY(cs_accept_slots(scenario, "rhd", chunks, err));
    uint32_t half = cs_log2_ceil(n);
    *plan         = (cs_plan){.n_chunks   = chunks,
                              .n_slots    = chunks,
                              .n_rounds   = scenario->collective == CS_ALLREDUCE ? 2 * half : half,
                              .uses       = CS_USES_SPAN | cs_uses_nvlink(&scenario->cluster),
                              .starts_own = true,
                              .is_round_synchronous = is_power_of_two(n)};
    return CS_OK;
}

static cs_status rhd_open(const cs_scenario *scenario, const void *options, void **state_p,
                          cs_error *err)
{
    rhd *r = CS_NEW(rhd, 1);

    (void)options;
    if (r == NULL) {
        return CS_NO_MEMORY(err, "rhd");
    }
    r->scenario    = scenario;
    r->n           = scenario->cluster.n_ranks;
    r->f           = cs_log2_floor(r->n);
    r->m           = 1u << r->f;
    uint32_t half  = cs_log2_ceil(r->n);
    r->first_round = scenario->collective == CS_ALLGATHER ? half : 0;
    r->end_round   = scenario->collective == CS_REDUCESCATTER ? half : 2 * half;
    r->round       = r->first_round;
    *state_p       = r;
    return CS_OK;
}

/* Extra ranks that pair j takes up: 0, 1 or 2. */
static uint32_t extras_of(const rhd *r, uint32_t pair)
{
    uint32_t pairs = r->m / 2, extra = r->n - r->m;
    return extra / pairs + (pair < extra % pairs);
}

/* First rank of pair j; its extras follow its two core ranks. */
static uint32_t rank_of_pair(const rhd *r, uint32_t pair)
{
    uint32_t pairs = r->m / 2, extra = r->n - r->m, more = extra % pairs;
    return pair * (2 + extra / pairs) + (pair < more ? pair : more);
}

static uint32_t rank_of_core(const rhd *r, uint32_t core)
{
    return r->n == r->m ? core : rank_of_pair(r, core / 2) + (core & 1u);
}

/* Step k splits by this bit of the core rank: from the top, so that chunk c ends at rank c, for
 * powers of two; from the bottom otherwise, because pairs split first. */
static uint32_t bit_of(const rhd *r, uint32_t step)
{
    return r->n == r->m ? r->f - 1 - step : step;
}

/* First chunk of the range that a core rank holds after `steps` halvings. */
static uint32_t range_of(const rhd *r, uint32_t core, uint32_t steps)
{
    uint32_t first = 0;

    for (uint32_t j = 0; j < steps; j++) {
        first += (core >> bit_of(r, j) & 1u) * (r->m >> (j + 1));
    }
    return first;
}

static cs_transfer message(const rhd *r, uint32_t src, uint32_t dst, uint32_t chunk, uint32_t span,
                           cs_op op, uint32_t flags)
{
    const cs_scenario *s = r->scenario;

    return (cs_transfer){.src       = src,
                         .dst       = dst,
                         .chunk     = chunk,
                         .src_slot  = (uint16_t)chunk,
                         .dst_slot  = (uint16_t)chunk,
                         .bytes     = cs_split_range(s->bytes, r->m, chunk, span),
                         .round     = r->round - r->first_round,
                         .span      = (uint16_t)span,
                         .flags     = (uint8_t)flags,
                         .op_fabric = cs_op_fabric(op, cs_fabric_of(&s->cluster, src, dst))};
}

/* A core rank sends its partner's half in halving step k. */
static cs_transfer halving(const rhd *r, uint32_t core, uint32_t step)
{
    uint32_t partner = core ^ (1u << bit_of(r, step));

    return message(r, rank_of_core(r, core), rank_of_core(r, partner),
                   range_of(r, partner, step + 1), r->m >> (step + 1), CS_OP_REDUCE,
                   step + 1 == r->f ? CS_DONE_DST : 0);
}

/* The same step of the doubling: it sends all that it holds. */
static cs_transfer doubling(const rhd *r, uint32_t core, uint32_t step)
{
    uint32_t partner = core ^ (1u << bit_of(r, step));

    return message(r, rank_of_core(r, core), rank_of_core(r, partner), range_of(r, core, step + 1),
                   r->m >> (step + 1), CS_OP_COPY, CS_DONE_DST);
}

/* One row: sender and receiver (0 = A, 1 = B, 2 = C, 3 = D of a pair with its extras), which
 * half of the buffer. */
typedef struct step_row {
    uint8_t src, dst, half;
} step_row;

/* Rounds 0 and 1 of the reduction, rounds -2 and -1 of the gathering, by number of extras.
 * After round 1, A holds the sum of the first half over the pair and its extras, B that of the
 * second half. Every rank sends and receives at most once a round. A row with src = dst
 * ends a list. */
static const step_row elimination[2][2][3][5] = {
    {
        {{{0}}, {{2, 0, 0}, {0, 1, 1}, {0}}, {{2, 3, 1}, {3, 2, 0}, {0, 1, 1}, {1, 0, 0}, {0}}},
        {{{0, 1, 1}, {1, 0, 0}, {0}}, {{2, 1, 1}, {1, 0, 0}, {0}}, {{2, 0, 0}, {3, 1, 1}, {0}}},
    },
    {
        {{{0, 1, 0}, {1, 0, 1}, {0}}, {{1, 2, 1}, {0, 1, 0}, {0}}, {{0, 2, 0}, {1, 3, 1}, {0}}},
        {{{0}}, {{0, 2, 0}, {1, 0, 1}, {0}}, {{2, 3, 0}, {3, 2, 1}, {0, 1, 0}, {1, 0, 1}, {0}}},
    },
};

/* The rows of one pair in round `which` (0, 1) of the reduction or the gathering. */
static void elimination_round(rhd *r, bool gathers, uint32_t which, cs_block *block)
{
    uint32_t        pair = r->index++, first = rank_of_pair(r, pair);
    const step_row *row = elimination[gathers][which][extras_of(r, pair)];

    for (; row->src != row->dst; row++) {
        bool is_done = gathers || (r->f == 1 && which == 1);
        block->transfers[block->count++] =
            message(r, first + row->src, first + row->dst, row->half * (r->m / 2), r->m / 2,
                    gathers ? CS_OP_COPY : CS_OP_REDUCE, is_done ? CS_DONE_DST : 0);
    }
}

/* One core rank, or one pair, of the current round; returns how many there are. */
static uint32_t emit(rhd *r, cs_block *block)
{
    uint32_t half    = cs_log2_ceil(r->n);
    bool     gathers = r->round >= half;
    uint32_t at      = gathers ? 2 * half - 1 - r->round : r->round; /* mirrored */
    bool     splits  = r->n != r->m && at < 2;

    if (splits) {
        elimination_round(r, gathers, gathers ? 1 - at : at, block);
        return r->m / 2;
    }
    uint32_t step                    = r->n == r->m ? at : at - 1;
    uint32_t core                    = r->index++;
    block->transfers[block->count++] = gathers ? doubling(r, core, step) : halving(r, core, step);
    return r->m;
}

static void rhd_next_block(void *state, cs_block *block)
{
    rhd *r = state;

    block->count = 0;
    while (r->round < r->end_round && block->count + 4 <= block->capacity) {
        if (emit(r, block) == r->index) {
            r->index = 0;
            r->round++;
        }
    }
}

/* All chunks equal; a late power of two delays all, because every rank works in every round. */
static double rhd_closed_form_s(const cs_scenario *scenario, const void *options)
{
    uint32_t n = scenario->cluster.n_ranks, f = cs_log2_floor(n), fabric;
    double   last = cs_last_arrival(scenario), time = 0;
    bool     is_power = is_power_of_two(n);

    (void)options;
    if (!cs_is_uniform(scenario, &fabric) || scenario->bytes % (1u << f) != 0 ||
        (last > 0 && !is_power)) {
        return (double)NAN;
    }
    for (uint32_t k = 1; k <= f; k++) {
        time += cs_message_s(scenario, fabric, scenario->bytes >> k);
    }
    time += is_power ? 0 : cs_message_s(scenario, fabric, scenario->bytes / 2);
    return last + (scenario->collective == CS_ALLREDUCE ? 2 * time : time);
}

const cs_algorithm cs_algorithm_rhd = {
    .aliases       = "rabenseifner|recursive_halving_doubling",
    .name          = "rhd",
    .summary       = "recursive halving and doubling (Rabenseifner), 3-2 elimination for other n",
    .source        = "R. Rabenseifner, ICCS 2004; R. Rabenseifner, J. L. Traeff, EuroPVM/MPI 2004",
    .collectives   = 1u << CS_ALLREDUCE | 1u << CS_REDUCESCATTER | 1u << CS_ALLGATHER,
    .check         = rhd_check,
    .open          = rhd_open,
    .next_block    = rhd_next_block,
    .close         = cs_free,
    .closed_form_s = rhd_closed_form_s,
    .takes_uneven  = true,
};
