/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A matching a round: see matching_rounds.h. Weights, from the largest unit down: a pair at all,
 * its 1 or 2, the rule for ties, the pseudo-random rest. A unit is larger than everything
 * below it can be in one matching; with CS_MATCHING_MOST labels all of it stays below 2^56. */
#include "algorithms/stragglar/matching_rounds.h"

#include "algorithms/lib/accept.h"
#include "algorithms/stragglar/matching.h"
#include "base/random.h"

#include <string.h>

enum { NOISE_BITS = 20 };

/* The first number for which the published round counts come out. */
#define PUBLISHED_NOISE 54169u

typedef struct builder {
    uint32_t          n, q, early, words; /* words of a row of `have` */
    uint32_t          round;
    cs_matching_ties  ties;
    cs_arena          arena;
    uint64_t         *have;    /* [n][words] bit c: has the complete chunk c */
    uint64_t          missing; /* (label, chunk) pairs that are not complete */
    uint32_t         *newest;  /* [n] chunk, or CS_NO_LABEL */
    uint32_t         *node;    /* [n] label of a node of the graph */
    uint32_t         *mate;    /* [n] of a node */
    uint32_t         *plain;   /* [n] label -> its mate in the plain pass */
    bool             *is_busy; /* [n] */
    uint8_t          *worth;   /* [n][n] directions of a pair of free labels that are useful */
    cs_matching_edge *edges;   /* [n (n - 1) / 2] */
    cs_label_rounds   rounds;
} builder;

static cs_status prepare(builder *b, cs_error *err)
{
    size_t n = b->n;

    b->have    = CS_ARENA_NEW(&b->arena, uint64_t, n * b->words);
    b->newest  = CS_ARENA_NEW(&b->arena, uint32_t, n);
    b->node    = CS_ARENA_NEW(&b->arena, uint32_t, n);
    b->mate    = CS_ARENA_NEW(&b->arena, uint32_t, n);
    b->plain   = CS_ARENA_NEW(&b->arena, uint32_t, n);
    b->is_busy = CS_ARENA_NEW(&b->arena, bool, n);
    b->worth   = CS_ARENA_NEW(&b->arena, uint8_t, n * n);
    b->edges   = CS_ARENA_NEW(&b->arena, cs_matching_edge, n * (n - 1) / 2);
    if (b->have == NULL || b->newest == NULL || b->node == NULL || b->mate == NULL ||
        b->plain == NULL || b->is_busy == NULL || b->worth == NULL || b->edges == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for a matching of %u labels", b->n);
    }
    memset(b->newest, 0xff, n * sizeof *b->newest);
    b->missing = (uint64_t)n * b->early;
    return CS_OK;
}

/* The oldest (or newest) chunk that `from` has and `to` lacks, or CS_NO_LABEL. */
static uint32_t useful(const builder *b, uint32_t from, uint32_t to, bool newest)
{
    const uint64_t *has = b->have + (size_t)from * b->words, *had = b->have + (size_t)to * b->words;

    for (uint32_t i = 0; i < b->words; i++) {
        uint32_t w    = newest ? b->words - 1 - i : i;
        uint64_t bits = has[w] & ~had[w];
        if (bits != 0) {
            int bit = newest ? 63 - __builtin_clzll(bits) : __builtin_ctzll(bits);
            return w * 64 + (uint32_t)bit;
        }
    }
    return CS_NO_LABEL;
}

static void give(builder *b, uint32_t label, uint32_t chunk)
{
    b->have[(size_t)label * b->words + chunk / 64] |= (uint64_t)1 << chunk % 64;
    if (b->newest[label] == CS_NO_LABEL || b->newest[label] < chunk) {
        b->newest[label] = chunk;
    }
    b->missing--;
}

static cs_status send(builder *b, uint32_t src, uint32_t dst, uint32_t chunk, cs_error *err)
{
    return cs_label_rounds_add(&b->rounds, (cs_label_transfer){src, dst, chunk, CS_LABEL_COPY},
                               err);
}

/* What is fixed: the meeting with the straggler, and who prepares a later meeting. */
static cs_status add_fixed(builder *b, cs_error *err)
{
    uint32_t  r = b->round, straggler = b->early;
    cs_status status = CS_OK;

    memset(b->is_busy, 0, b->n * sizeof *b->is_busy);
    if (r > 0 && r < b->q) {
        b->is_busy[r - 1] = b->is_busy[r - 1 + b->q] = true;
        status                                       = send(b, r - 1, r - 1 + b->q, r - 1, err);
        give(b, r - 1 + b->q, r - 1);
    }
    if (r < b->early && status == CS_OK) {
        b->is_busy[r] = b->is_busy[straggler] = true;
        status                                = cs_label_rounds_add(&b->rounds,
                                                                    (cs_label_transfer){r, straggler, r, CS_LABEL_EXCHANGE}, err);
        give(b, r, r);
        give(b, straggler, r);
    }
    return status;
}

/* May a label of the critical window meet this one? Its newest chunk must be old enough to be
 * everywhere when the label meets the straggler. */
static bool window_allows(const builder *b, uint32_t label, uint32_t other)
{
    bool in_window = b->round < b->early && label > b->round && label < b->round + b->q;
    return !in_window || b->newest[other] == CS_NO_LABEL || b->newest[other] + b->q <= label;
}

/* How many directions of a pair are useful: its weight. */
static uint32_t directions(const builder *b, uint32_t u, uint32_t v)
{
    if (b->round < b->q) {
        bool u_has = b->newest[u] != CS_NO_LABEL, v_has = b->newest[v] != CS_NO_LABEL;
        return u_has != v_has && (u_has ? v : u) > 2 * (b->q - 1);
    }
    if (!window_allows(b, u, v) || !window_allows(b, v, u)) {
        return 0;
    }
    uint32_t count = useful(b, u, v, false) == CS_NO_LABEL ? 0 : 1;
    return count + (useful(b, v, u, false) == CS_NO_LABEL ? 0 : 1);
}

/* The plain pass: the highest free label with the lowest one that it can exchange chunks with. */
static void pair_plainly(builder *b, uint32_t n_nodes)
{
    memset(b->plain, 0xff, b->n * sizeof *b->plain);
    for (uint32_t i = n_nodes; i-- > 0 && b->round >= b->q;) {
        uint32_t u = b->node[i];
        for (uint32_t j = 0; j < n_nodes && b->plain[u] == CS_NO_LABEL; j++) {
            uint32_t v = b->node[j];
            if (b->plain[v] == CS_NO_LABEL && b->worth[u * b->n + v] == 2) {
                b->plain[u] = v;
                b->plain[v] = u;
            }
        }
    }
}

/* Free labels become nodes; what is every pair of them worth? */
static uint32_t weigh_pairs(builder *b)
{
    uint32_t n_nodes = 0;

    for (uint32_t g = 0; g < b->n; g++) {
        if (!b->is_busy[g]) {
            b->node[n_nodes++] = g;
        }
    }
    for (uint32_t i = 0; i < n_nodes; i++) {
        uint32_t u             = b->node[i];
        b->worth[u * b->n + u] = 0;
        for (uint32_t j = i + 1; j < n_nodes; j++) {
            uint32_t v             = b->node[j];
            uint8_t  worth         = (uint8_t)directions(b, u, v);
            b->worth[u * b->n + v] = b->worth[v * b->n + u] = worth;
        }
    }
    return n_nodes;
}

/* The rule for ties, 0 .. early. */
static uint32_t preference(const builder *b, uint32_t u, uint32_t v)
{
    if (b->ties == CS_TIES_PUBLISHED) {
        return b->plain[u] == v;
    }
    uint32_t to_v = useful(b, u, v, false) + 1, to_u = useful(b, v, u, false) + 1;
    return to_v > to_u ? to_v : to_u; /* CS_NO_LABEL + 1 is 0 */
}

static int64_t weight_of(const builder *b, uint32_t u, uint32_t v, uint32_t count)
{
    uint64_t number = b->ties == CS_TIES_PUBLISHED ? PUBLISHED_NOISE : 0;
    uint64_t place  = ((uint64_t)b->round << 32) + ((uint64_t)u << 16) + v;
    uint64_t noise  = cs_mix64(number * 0x9e3779b97f4a7c15u + place) & ((1u << NOISE_BITS) - 1);
    int64_t  n = b->n, rule = n << NOISE_BITS, half = n * n * rule / 2;

    return n * 2 * half + count * half + preference(b, u, v) * rule + (int64_t)noise;
}

static cs_status match(builder *b, uint32_t *n_nodes_p, cs_error *err)
{
    uint32_t n_nodes = weigh_pairs(b);
    size_t   n_edges = 0;

    pair_plainly(b, n_nodes);
    for (uint32_t i = 0; i < n_nodes; i++) {
        for (uint32_t j = i + 1; j < n_nodes; j++) {
            uint32_t u = b->node[i], v = b->node[j], count = b->worth[u * b->n + v];
            if (count > 0) {
                b->edges[n_edges++] = (cs_matching_edge){i, j, weight_of(b, u, v, count)};
            }
        }
    }
    *n_nodes_p = n_nodes;
    return cs_matching_heaviest(n_nodes, b->edges, n_edges, b->mate, err);
}

/* Both directions of a pair, as far as they are useful. */
static cs_status add_pair(builder *b, uint32_t u, uint32_t v, cs_error *err)
{
    bool      newest = b->round >= b->early;
    uint32_t  to_v = useful(b, u, v, newest), to_u = useful(b, v, u, newest);
    cs_status status = CS_OK;

    if (to_v != CS_NO_LABEL) {
        give(b, v, to_v);
        status = send(b, u, v, to_v, err);
    }
    if (to_u != CS_NO_LABEL && status == CS_OK) {
        give(b, u, to_u);
        status = send(b, v, u, to_u, err);
    }
    return status;
}

static cs_status add_round(builder *b, cs_error *err)
{
    uint64_t  before  = b->missing;
    uint32_t  n_nodes = 0;
    cs_status status  = add_fixed(b, err);

    if (status == CS_OK) {
        status = match(b, &n_nodes, err);
    }
    for (uint32_t i = 0; i < n_nodes && status == CS_OK; i++) {
        if (b->mate[i] != CS_UNMATCHED && b->mate[i] > i) {
            status = add_pair(b, b->node[i], b->node[b->mate[i]], err);
        }
    }
    if (status == CS_OK && b->missing == before) {
        status = CS_FAIL(err, CS_EINTERNAL, "cluster.ranks", "round %u of %u labels brings nothing",
                         b->round, b->n);
    }
    b->round++;
    return status == CS_OK ? cs_label_rounds_end(&b->rounds, err) : status;
}

cs_status cs_matching_rounds_build(uint32_t n, cs_matching_ties ties, cs_label_rounds *rounds_p,
                                   cs_error *err)
{
    builder b = {
        .n = n, .q = cs_log2_ceil(n), .early = n - 1, .words = (n + 62) / 64, .ties = ties};
    cs_status status = prepare(&b, err);

    while (status == CS_OK && b.missing > 0) {
        status = add_round(&b, err);
    }
    if (status == CS_OK) {
        const cs_label_shape shape = {
            .n = n, .early = b.early, .chunks = b.early, .is_telephone = true};
        status = cs_label_rounds_check(&b.rounds, &shape, err);
    }
    cs_arena_free(&b.arena);
    return cs_label_rounds_give(status, &b.rounds, rounds_p);
}
