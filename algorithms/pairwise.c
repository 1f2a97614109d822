/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AlltoAll in n - 1 rounds of single messages: every rank sends to one partner a round.
 *
 * Whom rank r sends to in round k = 1 .. n - 1 is said by `order`:
 *
 *   xor     r xor k: partners exchange; n is a power of two
 *
 *   shift   (r + k) mod n
 *
 *   groups  from rank i of group g to rank (i + k mod M) mod M of group g + k div M, where the
 *           groups are M ranks side by side (a server, or a leaf of a network). A group sends to
 *           one other group and receives from one, so that messages do not meet where every rank
 *           has a link of its own out of its group. So does `xor` where M is a power of two.
 *
 *   rank    0, 1, 2, .. without r, as a loop over all ranks does it: all send to rank 0 first and
 *           wait there in line
 *
 * With the first three everybody receives one message a round. Rounds are not kept apart: a rank
 * goes on when its ports are free. `rounds` = apart puts a barrier between any two of them, so that
 * a network never carries messages of more than one.
 *
 * Where messages leave at once, on one alpha, it is allpairs.
 *
 * Sources: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication
 * operations in MPICH", IJHPCA 19 (2005); phases without contention: A. Faraj, X. Yuan, "Message
 * scheduling for all-to-all personalized communication on Ethernet switched clusters", IPDPS 2005;
 * E. Zahavi et al., "Optimized InfiniBand fat-tree routing for shift all-to-all communication
 * patterns", Concurrency and Computation 22 (2010).
 */
#include "algorithms/lib/accept.h"
#include "base/alloc.h"

#include <math.h>

typedef struct pairwise_options {
    int      order;  /* ORDER_AUTO .. */
    uint32_t group;  /* ranks; resolved */
    int      rounds; /* FREE, APART */
    double   barrier_s;
} pairwise_options;

enum { ORDER_AUTO, ORDER_XOR, ORDER_SHIFT, ORDER_GROUPS, ORDER_RANK };
enum { FREE, APART };

static const cs_field pairwise_table[] = {
    CS_OPTION_CHOICE(pairwise_options, order, "auto|xor|shift|groups|rank",
                     "who sends to whom in a round; auto: xor for powers of two, else groups, or "
                     "shift with a GPU a server"),
    CS_OPTION_AUTO(pairwise_options, group, 1, CS_MAX_RANKS,
                   "ranks of a group, for groups; auto: the GPUs of a server"),
    CS_OPTION_CHOICE(pairwise_options, rounds, "free|apart",
                     "a rank goes on when its ports are free, or when all have ended the round"),
    CS_OPTION(pairwise_options, barrier_s, 0, 0, 1e3, "cost of such a barrier"),
    CS_FIELD_END,
};

typedef struct pairwise {
    const cs_scenario *scenario;
    pairwise_options   options;
    uint32_t           n, round, rank; /* round: 1 .. n - 1 */
    uint32_t           ahead;          /* groups: k div M, */
    uint32_t           turn;           /* and k mod M */
} pairwise;

static bool is_power_of_two(uint32_t n)
{
    return (n & (n - 1)) == 0;
}

static cs_status choose_order(const cs_cluster *c, pairwise_options *o, cs_error *err)
{
    bool     is_even = cs_is_even(c), wants_group = o->group != CS_AUTO;
    uint32_t n = c->n_ranks, group = wants_group ? o->group : is_even ? c->gpus_per_server : 1;

    if (o->order == ORDER_AUTO) {
        o->order = wants_group              ? ORDER_GROUPS
                   : is_power_of_two(n)     ? ORDER_XOR
                   : group > 1 && group < n ? ORDER_GROUPS
                                            : ORDER_SHIFT;
    }
    o->group = group;
    if (o->order == ORDER_XOR && !is_power_of_two(n)) {
        return CS_FAIL(err, CS_ENOTSUP, "cluster.ranks",
                       "pairwise with order=xor needs a power of two, got %u ranks", n);
    }
    if (o->order == ORDER_GROUPS && n % group != 0) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.group",
                       "%u ranks are no groups of %u: accepted are divisors", n, group);
    }
    return CS_OK;
}

static cs_status pairwise_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                                cs_error *err)
{
    pairwise_options *o = options;
    uint32_t          n = scenario->cluster.n_ranks;

    CS_TRY(cs_accept_pairs(scenario, "pairwise", err));
    CS_TRY(choose_order(&scenario->cluster, o, err));
    *plan = (cs_plan){.n_chunks             = n * n,
                      .n_slots              = 1,
                      .n_rounds             = n - 1,
                      .uses                 = cs_uses_nvlink(&scenario->cluster),
                      .is_round_synchronous = o->order != ORDER_RANK};
    return CS_OK;
}

/* groups: what the round is. */
static void enter_round(pairwise *p)
{
    p->ahead = p->round / p->options.group;
    p->turn  = p->round % p->options.group;
}

static cs_status pairwise_open(const cs_scenario *scenario, const void *options, void **state_p,
                               cs_error *err)
{
    pairwise *p = CS_NEW(pairwise, 1);

    if (p == NULL) {
        return CS_NO_MEMORY(err, "pairwise");
    }
    *p       = (pairwise){.scenario = scenario,
                          .options  = *(const pairwise_options *)options,
                          .n        = scenario->cluster.n_ranks,
                          .round    = 1};
    *state_p = p;
    enter_round(p);
    return CS_OK;
}

static uint32_t partner(const pairwise *p)
{
    uint32_t r = p->rank, n = p->n, m = p->options.group, to;

    switch (p->options.order) {
    case ORDER_XOR: return r ^ p->round;
    case ORDER_RANK: return p->round - 1 + (p->round - 1 >= r);
    case ORDER_GROUPS:
        to = r / m * m + p->ahead * m + (r % m + p->turn) % m;
        return to < n ? to : to - n;
    default: break;
    }
    return r + p->round < n ? r + p->round : r + p->round - n;
}

static void pairwise_next_block(void *state, cs_block *block)
{
    pairwise          *p     = state;
    const cs_scenario *s     = p->scenario;
    uint64_t           least = s->bytes / p->n;
    uint32_t           large = (uint32_t)(s->bytes % p->n);
    cs_transfer model = {.span = 1, .flags = CS_OWN_SRC | CS_DONE_DST, .round = p->round - 1};
    uint64_t    tail  = cs_tail_of(&model);

    block->count = 0;
    while (p->round < p->n && block->count < block->capacity) {
        cs_transfer *t     = &block->transfers[block->count];
        uint32_t     to    = partner(p);
        bool         waits = p->options.rounds == APART && p->rank == 0 && p->round > 1;
        if (waits) {
            if (block->count > 0) {
                return; /* a barrier stands at the begin of a block */
            }
            block->fence_except = CS_FENCE_ALL;
            block->fence_s      = p->options.barrier_s;
        }
        cs_transfer_put(t, p->rank, to, p->rank * p->n + to, 0, least + (to < large), tail);
        t->op_fabric = cs_op_fabric(CS_OP_COPY, cs_fabric_of(&s->cluster, p->rank, to));
        t->flags |= waits ? CS_FENCE : 0;
        block->count++;
        if (++p->rank == p->n) {
            p->rank     = 0;
            model.round = p->round++;
            tail        = cs_tail_of(&model);
            enter_round(p);
        }
    }
}

/* Are the rounds inside servers and those between them different ones, in each of which all do the
 * same? */
static bool rounds_are_alike(const cs_scenario *scenario, const pairwise_options *o)
{
    const cs_cluster *c = &scenario->cluster;
    uint32_t          l = c->gpus_per_server;
    bool              is_aligned =
        o->order == ORDER_GROUPS ? o->group == l : o->order == ORDER_XOR && is_power_of_two(l);

    return is_aligned && cs_is_even(c) && c->sockets <= 1 && c->servers == NULL &&
           scenario->n_capacity == 0 && !(cs_last_arrival(scenario) > 0) &&
           !cs_waits_for_links(c, CS_NVLINK);
}

/* Equal blocks. With ports of one kind n - 1 messages one behind the other; with two kinds those
 * between servers, while those inside go over ports of their own. */
static double pairwise_closed_form_s(const cs_scenario *scenario, const void *options)
{
    const pairwise_options *o = options;
    const cs_cluster       *c = &scenario->cluster;
    uint32_t                n = c->n_ranks, l = c->gpus_per_server;
    bool                    is_apart   = o->rounds == APART;
    double                  barriers_s = is_apart ? (n - 2.0) * o->barrier_s : 0;
    cs_pace                 pace;

    if (scenario->bytes % n != 0 || o->order == ORDER_RANK) {
        return (double)NAN;
    }
    if (cs_pace_of_rounds(scenario, n, &pace)) {
        const uint64_t block_bytes = scenario->bytes / n;
        double         round_s     = pace.alpha_s + (double)block_bytes * pace.s_per_byte;
        return pace.start_s + (n - 1) * round_s + barriers_s;
    }
    if (l == 1 || !rounds_are_alike(scenario, o)) {
        return (double)NAN;
    }
    bool   is_mesh = c->fabrics[CS_NVLINK].kind == CS_DIRECT && !is_apart;
    double inside_s =
        (is_mesh ? 1 : l - 1) * cs_message_s(scenario, CS_NVLINK, scenario->bytes / n);
    double rails_s = l < n ? (n - l) * cs_message_s(scenario, CS_NIC, scenario->bytes / n) : 0;
    return is_apart ? inside_s + rails_s + barriers_s : fmax(inside_s, rails_s);
}

const cs_algorithm cs_algorithm_pairwise = {
    .name           = "pairwise",
    .summary        = "AlltoAll in n - 1 rounds, one partner a round: xor, shift, group by group",
    .source         = "R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19 (2005); A. Faraj, X. Yuan, "
                      "IPDPS 2005",
    .collectives    = 1u << CS_ALLTOALL,
    .equal_messages = 1u << CS_ALLTOALL,
    .options        = pairwise_table,
    .options_bytes  = sizeof(pairwise_options),
    .check          = pairwise_check,
    .open           = pairwise_open,
    .next_block     = pairwise_next_block,
    .close          = cs_free,
    .closed_form_s  = pairwise_closed_form_s,
    .takes_uneven   = true,
};
