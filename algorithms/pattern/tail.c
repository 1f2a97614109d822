/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tail of StragglAR: see tail.h. A missing set is a bit mask over the last D chunks: bit a - 1
 * is the chunk of age a at the end of the steady state, chunk N - a. */
#include "algorithms/pattern/tail.h"

#include <string.h>

enum { MAX_DEPTH = 20 };

typedef struct builder {
    const cs_rotation *rotation;
    uint32_t           n, depth, straggler;
    bool               is_folded;         /* pair A[i] with B[i] instead of B[h-1-i] */
    uint32_t          *missing;           /* [n] */
    uint32_t          *value;             /* [n] what a rank has, rarest chunk on top */
    uint32_t          *order;             /* [n] most valuable first */
    uint32_t          *bucket;            /* [2^depth + 1] */
    uint32_t           rarity[MAX_DEPTH]; /* bit -> rank of rarity, 0 = rarest */
    uint32_t           bit_of[MAX_DEPTH]; /* rank of rarity -> bit */
    uint32_t           incomplete;        /* chunks that somebody lacks */
    cs_tail_transfer  *next;
} builder;

static void missing_at_start(builder *b)
{
    const cs_rotation *r = b->rotation;

    for (uint32_t role = 0; role < r->early; role++) {
        uint32_t mask = 0;
        for (uint32_t age = 1; age <= b->depth && age <= r->early; age++) {
            mask |= cs_rotation_has(r, role, age) ? 0 : 1u << (age - 1);
        }
        b->missing[role] = mask; /* after round N - 1, role and label agree: N mod N = 0 */
    }
    b->missing[b->straggler] = 0;
}

/* Sort the incomplete chunks by (holders, newest first): the smaller age is newer. */
static void rank_by_rarity(builder *b)
{
    uint32_t holders[MAX_DEPTH] = {0};

    b->incomplete = 0;
    for (uint32_t bit = 0; bit < b->depth; bit++) {
        for (uint32_t g = 0; g < b->n; g++) {
            holders[bit] += (b->missing[g] >> bit & 1u) == 0;
        }
        if (holders[bit] == b->n) {
            continue;
        }
        uint32_t at = b->incomplete++;
        while (at > 0 && holders[b->bit_of[at - 1]] > holders[bit]) {
            b->bit_of[at] = b->bit_of[at - 1];
            at--;
        }
        b->bit_of[at] = bit;
    }
    for (uint32_t i = 0; i < b->incomplete; i++) {
        b->rarity[b->bit_of[i]] = i;
    }
}

static void value_ranks(builder *b)
{
    for (uint32_t g = 0; g < b->n; g++) {
        uint32_t value = 0;
        for (uint32_t i = 0; i < b->incomplete; i++) {
            value = value << 1 | (~b->missing[g] >> b->bit_of[i] & 1u);
        }
        b->value[g] = value;
    }
}

/* Counting sort by falling value; the straggler has everything and comes first. */
static void sort_by_value(builder *b)
{
    uint32_t buckets = 1u << b->incomplete;

    memset(b->bucket, 0, (buckets + 1) * sizeof *b->bucket);
    for (uint32_t g = 0; g < b->n; g++) {
        b->bucket[buckets - 1 - b->value[g] + 1]++;
    }
    for (uint32_t i = 0; i < buckets; i++) {
        b->bucket[i + 1] += b->bucket[i];
    }
    for (uint32_t g = 0; g < b->n; g++) {
        b->order[b->bucket[buckets - 1 - b->value[g]]++] = g;
    }
}

static uint32_t *partner_at(builder *b, uint32_t i)
{
    uint32_t half = b->n / 2;
    return &b->order[b->is_folded ? half + i : b->n - 1 - i];
}

/* Pairs of equal sets all belong to one class: exchange partners with pairs without it. */
static bool repair_pairs(builder *b)
{
    uint32_t half = b->n / 2, j = 0;

    for (uint32_t i = 0; i < half; i++) {
        uint32_t class = b->value[b->order[i]];
        if (class != b->value[*partner_at(b, i)]) {
            continue;
        }
        while (j < half &&
               (b->value[b->order[j]] == class || b->value[*partner_at(b, j)] == class)) {
            j++;
        }
        if (j == half) {
            return false;
        }
        uint32_t mine       = *partner_at(b, i);
        *partner_at(b, i)   = *partner_at(b, j);
        *partner_at(b, j++) = mine;
    }
    return true;
}

/* The rarest chunk that `src` has and `dst` lacks. */
static bool add_transfer(builder *b, uint32_t src, uint32_t dst)
{
    uint32_t useful = b->missing[dst] & ~b->missing[src];

    for (uint32_t i = 0; i < b->incomplete; i++) {
        if ((useful >> b->bit_of[i] & 1u) != 0) {
            uint32_t chunk = b->rotation->early - 1 - b->bit_of[i];
            *b->next++     = (cs_tail_transfer){src, dst, chunk};
            return true;
        }
    }
    return false;
}

static bool add_round(builder *b)
{
    cs_tail_transfer *first = b->next;
    bool              works = repair_pairs(b);

    for (uint32_t i = 0; i < b->n / 2 && works; i++) {
        uint32_t u = b->order[i], v = *partner_at(b, i);
        works = (v == b->straggler || add_transfer(b, u, v)) &&
                (u == b->straggler || add_transfer(b, v, u));
    }
    for (cs_tail_transfer *t = first; t < b->next && works; t++) {
        b->missing[t->dst] &= ~(1u << (b->rotation->early - 1 - t->chunk));
    }
    return works;
}

static bool build_rounds(builder *b, cs_tail *tail)
{
    b->next = tail->transfers;
    missing_at_start(b);
    for (uint32_t t = 0; t < tail->n_rounds; t++) {
        rank_by_rarity(b);
        value_ranks(b);
        sort_by_value(b);
        if (!add_round(b)) {
            return false;
        }
        tail->round_end[t] = (size_t)(b->next - tail->transfers);
    }
    for (uint32_t g = 0; g < b->n; g++) {
        if (b->missing[g] != 0) {
            return false;
        }
    }
    return true;
}

cs_status cs_tail_build(const cs_rotation *rotation, cs_arena *arena, cs_tail *tail_p,
                        cs_error *err)
{
    uint32_t n = rotation->n, rounds = rotation->q - 1;
    builder  b    = {.rotation = rotation, .n = n, .depth = rotation->q + 1, .straggler = n - 1};
    cs_tail  tail = {.n_rounds  = rounds,
                     .round_end = CS_ARENA_NEW(arena, size_t, rounds + 1),
                     .transfers = CS_ARENA_NEW(arena, cs_tail_transfer, (size_t)n * rounds + 1)};

    b.missing = CS_ARENA_NEW(arena, uint32_t, n);
    b.value   = CS_ARENA_NEW(arena, uint32_t, n);
    b.order   = CS_ARENA_NEW(arena, uint32_t, n);
    b.bucket  = CS_ARENA_NEW(arena, uint32_t, ((size_t)1 << b.depth) + 1);
    if (tail.round_end == NULL || tail.transfers == NULL || b.missing == NULL || b.value == NULL ||
        b.order == NULL || b.bucket == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for the last rounds of %u ranks", n);
    }
    for (int folded = 0; folded < 2; folded++) {
        b.is_folded = folded == 1;
        if (build_rounds(&b, &tail)) {
            *tail_p = tail;
            return CS_OK;
        }
    }
    return CS_FAIL(err, CS_EINTERNAL, "cluster.ranks", "no pairing for the last rounds of %u ranks",
                   n);
}
