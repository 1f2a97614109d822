/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trees as MPI libraries have them: one for a Broadcast or a Reduce (binomial), or one from every
 * rank, all at once, for an AllGather (ibcast_linear, ibcast_knomial, ibcast_btdd, ibcast_btdh).
 * Recursive doubling (iallgather_rd) is no tree, but goes through the same steps.
 *
 * Step by step for all roots; v is a rank's number as its root sees it.
 *   linear    to all others in the order of their ranks
 *   knomial   v = (rank - root) mod n; in distances k^i, largest first: from v (a multiple of k d)
 *             to v + d, v + 2d, .. v + (k-1) d. k = 4; with halving distances (BTDH) and in
 *             binomial 2
 *   doubling  (BTDD) root and rank 0 change places; distances 1, 2, 4, ..: from v < d to v + d
 *   pairwise  recursive doubling, n a power of two; in step i the ranks r and
 *             r xor 2^i exchange all that they have
 * A Reduce is its Broadcast backwards: steps and arrows are turned round. A rank keeps block c in
 * slot c. An iterator: O(1) state, no allocation.
 *
 * Source: table I of Parallel Rings; Open MPI's coll/libnbc; R. Thakur, R. Rabenseifner, W. Gropp,
 * IJHPCA 19 (2005).
 */
#include "algorithms/lib/accept.h"
#include "base/alloc.h"

#include <assert.h>
#include <math.h>

enum { MOST_RADIX = 64 };

typedef enum pattern { LINEAR, KNOMIAL, DOUBLING, PAIRWISE } pattern;

typedef struct kind {
    pattern  pattern;
    uint32_t k; /* branches at every level of KNOMIAL */
} kind;

static const kind linear = {LINEAR, 0}, knomial = {KNOMIAL, 4}, doubling = {DOUBLING, 0},
                  halving = {KNOMIAL, 2}, pairwise = {PAIRWISE, 0};

typedef struct trees {
    const cs_scenario *scenario;
    kind               kind;
    uint32_t           n, steps, step, distance;
    uint32_t           first_root, end_root;
    bool               reduces;    /* backwards */
    uint32_t           round;      /* steps so far in which somebody sent */
    uint32_t           root, from; /* the next root, and v of the next sender */
    bool               has_sent;   /* somebody, in this step */
} trees;

/* Levels of a tree with k branches at every level. */
static uint32_t levels(uint32_t n, uint32_t k)
{
    uint32_t count = 0;

    for (uint64_t reach = 1; reach < n; reach *= k) {
        count++;
    }
    return count;
}

static uint32_t steps_of(kind what, uint32_t n)
{
    switch (what.pattern) {
    case LINEAR: return n - 1;
    case KNOMIAL: return (what.k - 1) * levels(n, what.k);
    case DOUBLING:
    case PAIRWISE: break;
    }
    return levels(n, 2);
}

static uint32_t power(uint32_t k, uint32_t exponent)
{
    uint32_t result = 1;

    while (exponent-- > 0) {
        result *= k;
    }
    return result;
}

/* The step as the tree counts it. */
static uint32_t tree_step(const trees *b)
{
    return b->reduces ? b->steps - 1 - b->step : b->step;
}

/* How far a block goes in a step. */
static uint32_t distance_of(const trees *b)
{
    uint32_t k = b->kind.k;

    switch (b->kind.pattern) {
    case LINEAR: return b->step + 1;
    case KNOMIAL: return power(k, levels(b->n, k) - 1 - tree_step(b) / (k - 1));
    case DOUBLING:
    case PAIRWISE: break;
    }
    return power(2, b->step);
}

/* Steps in which somebody sends: those of a k-nomial tree may reach beyond n. */
static uint32_t rounds_of(kind what, uint32_t n)
{
    uint32_t count = steps_of(what, n);

    for (uint32_t level = 0; what.pattern == KNOMIAL && level < levels(n, what.k); level++) {
        for (uint32_t j = 1; j < what.k; j++) {
            count -= (uint64_t)j * power(what.k, level) >= n;
        }
    }
    return count;
}

static cs_status trees_check(const cs_scenario *scenario, const char *algorithm, kind what,
                             cs_plan *plan, cs_error *err)
{
    uint32_t n        = scenario->cluster.n_ranks;
    bool     is_pairs = what.pattern == PAIRWISE;

    if (is_pairs && (n & (n - 1)) != 0) {
        return CS_FAIL(err, CS_ENOTSUP, "cluster.ranks", "%s needs a power of two, got %u ranks",
                       algorithm, n);
    }
    CS_TRY(cs_accept_slots(scenario, algorithm, n, err));
    *plan = (cs_plan){.n_chunks = n,
                      .n_slots  = n,
                      .n_rounds = rounds_of(what, n),
                      .uses     = cs_uses_nvlink(&scenario->cluster) |
                              (is_pairs ? (uint32_t)CS_USES_SPAN : 0),
                      .starts_own           = true,
                      .is_round_synchronous = is_pairs};
    return CS_OK;
}

static cs_status trees_open(const cs_scenario *scenario, kind what, void **state_p, cs_error *err)
{
    trees *b = CS_NEW(trees, 1);

    if (b == NULL) {
        return CS_NO_MEMORY(err, "a tree");
    }
    bool has_root = cs_collective_has_root(scenario->collective);
    b->scenario   = scenario;
    b->kind       = what;
    b->n          = scenario->cluster.n_ranks;
    b->steps      = steps_of(what, b->n);
    b->first_root = has_root ? scenario->root : 0;
    b->end_root   = has_root ? scenario->root + 1 : b->n;
    b->root       = b->first_root;
    b->reduces    = scenario->collective == CS_REDUCE;
    b->distance   = distance_of(b);
    *state_p      = b;
    return CS_OK;
}

/* The rank that its root calls v. */
static uint32_t rank_of(const trees *b, uint32_t v)
{
    if (b->kind.pattern == DOUBLING) {
        return v == 0 ? b->root : v == b->root ? 0 : v;
    }
    return (v + b->root) % b->n;
}

/* The next sender of this step and root, from `b->from` on, and whom it sends to. */
static bool find_pair(const trees *b, uint32_t *src_p, uint32_t *dst_p)
{
    uint32_t d = b->distance, v = b->from, to = v + d, k = b->kind.k;
    bool     sends = true;

    switch (b->kind.pattern) {
    case LINEAR:
        *src_p = b->root;
        *dst_p = b->step + (b->step >= b->root);
        return true;
    case PAIRWISE:
        *src_p = b->root;
        *dst_p = b->root ^ d;
        return true;
    case KNOMIAL:
        to    = v + (tree_step(b) % (k - 1) + 1) * d;
        sends = v % (k * d) == 0;
        break;
    case DOUBLING: sends = v < d; break;
    }
    if (!sends || to >= b->n) {
        return false;
    }
    *src_p = rank_of(b, b->reduces ? to : v);
    *dst_p = rank_of(b, b->reduces ? v : to);
    return true;
}

/* How many values of v are worth a look in this step, and how far they lie apart. */
static uint32_t end_of_senders(const trees *b)
{
    switch (b->kind.pattern) {
    case KNOMIAL: return b->n;
    case DOUBLING: return b->distance;
    case LINEAR:
    case PAIRWISE: break;
    }
    return 1;
}

static uint32_t stride(const trees *b)
{
    return b->kind.pattern == KNOMIAL ? b->kind.k * b->distance : 1;
}

static cs_transfer transfer(const trees *b, uint32_t src, uint32_t dst)
{
    const cs_scenario *s        = b->scenario;
    bool               many     = b->kind.pattern == PAIRWISE;
    bool               is_whole = cs_collective_has_root(s->collective);
    uint32_t           first    = many ? src / b->distance * b->distance : is_whole ? 0 : b->root;
    uint32_t           count    = many ? b->distance : 1;
    bool               is_last  = !b->reduces || tree_step(b) == 0; /* of a sum: to the root */

    return (cs_transfer){
        .src       = src,
        .dst       = dst,
        .chunk     = first,
        .src_slot  = (uint16_t)first,
        .dst_slot  = (uint16_t)first,
        .bytes     = is_whole ? s->bytes : cs_split_range(s->bytes, b->n, first, count),
        .round     = b->round,
        .span      = (uint16_t)count,
        .flags     = is_last ? CS_DONE_DST : 0,
        .op_fabric = cs_op_fabric(b->reduces ? CS_OP_REDUCE : CS_OP_COPY,
                                  cs_fabric_of(&s->cluster, src, dst)),
    };
}

/* All roots for one sender before the next one: no root's tree holds up the others. */
static void next_place(trees *b)
{
    if (++b->root < b->end_root) {
        return;
    }
    b->root = b->first_root;
    b->from += stride(b);
    if (b->from < end_of_senders(b)) {
        return;
    }
    b->from = 0;
    b->round += b->has_sent;
    b->has_sent = false;
    b->step++;
    b->distance = b->step < b->steps ? distance_of(b) : 0;
}

static void trees_next_block(void *state, cs_block *block)
{
    trees   *b = state;
    uint32_t src, dst;

    assert(b->n >= 2);
    block->count = 0;
    while (b->step < b->steps && block->count < block->capacity) {
        if (find_pair(b, &src, &dst)) {
            block->transfers[block->count++] = transfer(b, src, dst);
            b->has_sent                      = true;
        }
        next_place(b);
    }
}

/* check() and open() of one kind. */
#define HOOKS(id, what)                                                                          \
    static cs_status id##_check(const cs_scenario *scenario, void *options, cs_plan *plan,       \
                                cs_error *err)                                                   \
    {                                                                                            \
        (void)options;                                                                           \
        return trees_check(scenario, #id, what, plan, err);                                      \
    }                                                                                            \
    static cs_status id##_open(const cs_scenario *scenario, const void *options, void **state_p, \
                               cs_error *err)                                                    \
    {                                                                                            \
        (void)options;                                                                           \
        return trees_open(scenario, what, state_p, err);                                         \
    }

HOOKS(iallgather_rd, pairwise)
HOOKS(ibcast_btdd, doubling)
HOOKS(ibcast_btdh, halving)
HOOKS(ibcast_knomial, knomial)
HOOKS(ibcast_linear, linear)

/* An algorithm with these hooks. */
#define ALLGATHER(id, what, where, equal)                                                        \
    {                                                                                            \
        .name = #id, .summary = "AllGather" what, .source = where "; table I of Parallel Rings", \
        .collectives = 1u << CS_ALLGATHER, .check = id##_check, .open = id##_open,               \
        .next_block = trees_next_block, .close = cs_free, .takes_uneven = true,                  \
        .equal_messages = (equal),                                                               \
    }

const cs_algorithm cs_algorithm_iallgather_rd =
    ALLGATHER(iallgather_rd, " by recursive doubling, distances 1, 2, 4 ..; n a power of two",
              "R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19 (2005)", 0);
const cs_algorithm cs_algorithm_ibcast_btdd =
    ALLGATHER(ibcast_btdd, ": a broadcast from every rank, binomial tree, distances 1, 2, 4 ..",
              "Open MPI, coll/libnbc, binomial broadcast", 1u << CS_ALLGATHER);
const cs_algorithm cs_algorithm_ibcast_btdh =
    ALLGATHER(ibcast_btdh, ": a broadcast from every rank, binomial tree, distances .. 4, 2, 1",
              "binomial broadcast with halving distances", 1u << CS_ALLGATHER);
const cs_algorithm cs_algorithm_ibcast_knomial =
    ALLGATHER(ibcast_knomial, ": a broadcast from every rank over a 4-nomial tree",
              "Open MPI, coll/libnbc, k-nomial broadcast", 1u << CS_ALLGATHER);
const cs_algorithm cs_algorithm_ibcast_linear =
    ALLGATHER(ibcast_linear, ": a broadcast from every rank, straight to all others",
              "Open MPI, coll/libnbc, linear broadcast", 1u << CS_ALLGATHER);

/* ---- binomial: one tree, for the whole buffer ---- */

typedef struct binomial_options {
    uint32_t radix;
} binomial_options;

static const cs_field binomial_table[] = {
    CS_OPTION(binomial_options, radix, 2, 2, MOST_RADIX,
              "branches at every level: 2, a binomial tree; k, a k-nomial one"),
    CS_FIELD_END,
};

static kind tree_of(const void *options)
{
    return (kind){KNOMIAL, ((const binomial_options *)options)->radix};
}

static cs_status binomial_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                                cs_error *err)
{
    (void)err;
    *plan = (cs_plan){.n_chunks   = 1,
                      .n_slots    = 1,
                      .n_rounds   = rounds_of(tree_of(options), scenario->cluster.n_ranks),
                      .uses       = cs_uses_nvlink(&scenario->cluster),
                      .starts_own = true,
                      .uses_trees = true};
    return CS_OK;
}

static cs_status binomial_open(const cs_scenario *scenario, const void *options, void **state_p,
                               cs_error *err)
{
    return trees_open(scenario, tree_of(options), state_p, err);
}

/* Messages one behind the other until all of `n` have it: the root sends to subtrees of sizes
 * k^i, of which only the last one may be smaller than the others of its level. */
static uint32_t messages_of(uint32_t n, uint32_t k)
{
    uint32_t sent = 0, most = 0;

    if (n <= 1) {
        return 0;
    }
    for (uint32_t level = levels(n, k); level-- > 0;) {
        uint32_t d = power(k, level);
        for (uint32_t j = 1; j < k && (uint64_t)j * d < n; j++) {
            bool     is_whole = n - j * d >= d;
            uint32_t below    = is_whole ? (k - 1) * level : messages_of(n - j * d, k);
            sent++;
            most = sent + below > most ? sent + below : most;
        }
    }
    return most;
}

/* Every message alike, all together: those that are one behind the other. In servers of k^i GPUs
 * that are entered at the first one it goes over NICs, and then inside. A Reduce takes as long, as
 * the same messages backwards. */
static double binomial_closed_form_s(const cs_scenario *scenario, const void *options)
{
    const cs_cluster *c = &scenario->cluster;
    uint32_t          k = tree_of(options).k, l = c->gpus_per_server, n = cs_n_servers(c), fabric;

    if (cs_last_arrival(scenario) > 0) {
        return (double)NAN;
    }
    if (cs_is_uniform(scenario, &fabric)) {
        return messages_of(c->n_ranks, k) * cs_message_s(scenario, fabric, scenario->bytes);
    }
    if (l == 1 || !cs_is_even(c) || c->sockets > 1 || c->servers != NULL ||
        scenario->n_capacity > 0 || cs_waits_for_links(c, CS_NVLINK) ||
        power(k, levels(l, k)) != l || scenario->root % l != 0) {
        return (double)NAN;
    }
    bool     is_mesh = c->fabrics[CS_NVLINK].kind == CS_DIRECT;
    uint32_t inside  = is_mesh ? levels(l, k) : messages_of(l, k);
    return inside * cs_message_s(scenario, CS_NVLINK, scenario->bytes) +
           messages_of(n, k) * cs_message_s(scenario, CS_NIC, scenario->bytes);
}

const cs_algorithm cs_algorithm_binomial = {
    .name           = "binomial",
    .summary        = "Broadcast and Reduce of the whole buffer over a binomial tree",
    .source         = "R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19 (2005)",
    .collectives    = 1u << CS_BROADCAST | 1u << CS_REDUCE,
    .equal_messages = 1u << CS_BROADCAST | 1u << CS_REDUCE,
    .options        = binomial_table,
    .options_bytes  = sizeof(binomial_options),
    .check          = binomial_check,
    .open           = binomial_open,
    .next_block     = trees_next_block,
    .close          = cs_free,
    .closed_form_s  = binomial_closed_form_s,
    .takes_uneven   = true,
};
