/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/stragglar/telephone.h"

#include "base/arena.h"
#include "base/log2.h"
#include "base/random.h"

#include <stdlib.h>
#include <string.h>

enum { SLACK = 6 }; /* rounds above the bound that a try may take */

/* A set of chunks, bit c % 64 of word c / 64. */
enum { CHUNK_WORDS = (CS_TELEPHONE_MOST_RANKS + 62) / 64 };

typedef struct chunk_set {
    uint64_t word[CHUNK_WORDS];
} chunk_set;

/* ---- who talks to whom in a round ---- */

/* A rank that is free in the round. Its key is what it holds of the live chunks in order of rarity,
 * the rarest one in the highest bit of the first word. */
typedef struct free_rank {
    chunk_set key;
    uint32_t  wait;  /* rounds until it meets the late rank */
    uint32_t  noise; /* order among equals */
    uint32_t  held;  /* chunks that it has, live ones and others */
    uint32_t  rank;
} free_rank;

typedef struct rank_pair {
    free_rank a, b;
} rank_pair;

static int compare_keys(const chunk_set *a, const chunk_set *b)
{
    for (uint32_t w = 0; w < CHUNK_WORDS; w++) {
        if (a->word[w] != b->word[w]) {
            return a->word[w] > b->word[w] ? 1 : -1;
        }
    }
    return 0;
}

static uint32_t set_size(const chunk_set *set)
{
    uint32_t size = 0;

    for (uint32_t w = 0; w < CHUNK_WORDS; w++) {
        size += (uint32_t)__builtin_popcountll(set->word[w]);
    }
    return size;
}

static int by_value(const void *left, const void *right)
{
    const free_rank *a = left, *b = right;

    int value = compare_keys(&b->key, &a->key);

    if (value != 0) {
        return value;
    }
    if (a->wait != b->wait) {
        return a->wait < b->wait ? -1 : 1;
    }
    return a->noise != b->noise ? (a->noise < b->noise ? -1 : 1)
                                : (a->rank > b->rank) - (a->rank < b->rank);
}

static bool idles_rather(const free_rank *a, const free_rank *b, bool most_are_empty)
{
    uint32_t held_a = set_size(&a->key), held_b = set_size(&b->key);
    int      value = compare_keys(&a->key, &b->key);

    if (most_are_empty) {
        return a->wait > b->wait;
    }
    if (held_a != held_b) {
        return held_a > held_b;
    }
    return value != 0 ? value < 0 : a->noise < b->noise;
}

/* One of an odd number leaves; the order of the others stays. */
static uint32_t leave_one(free_rank *ranks, uint32_t count)
{
    uint32_t empty = 0, idle = UINT32_MAX;

    for (uint32_t i = 0; i < count; i++) {
        empty += ranks[i].held == 0;
    }
    bool most_are_empty = 2 * empty > count;
    for (uint32_t i = 0; i < count; i++) {
        bool may = !most_are_empty || ranks[i].held == 0;
        if (may && (idle == UINT32_MAX || idles_rather(&ranks[i], &ranks[idle], most_are_empty))) {
            idle = i;
        }
    }
    for (uint32_t i = idle; i + 1 < count; i++) {
        ranks[i] = ranks[i + 1];
    }
    return count - 1;
}

/* Useful directions between two ranks. */
static uint32_t use(const free_rank *a, const free_rank *b, uint32_t n_words)
{
    uint64_t there = 0, back = 0;

    for (uint32_t w = 0; w < n_words; w++) {
        there |= a->key.word[w] & ~b->key.word[w];
        back |= b->key.word[w] & ~a->key.word[w];
    }
    return (there != 0 ? 1u : 0u) + (back != 0 ? 1u : 0u);
}

static void swap(free_rank *a, free_rank *b)
{
    free_rank kept = *a;
    *a             = *b;
    *b             = kept;
}

/* Exchange partners of pair i with the pair that gains most by it. */
static void improve(rank_pair *pairs, uint32_t n_pairs, uint32_t n_words, uint32_t i)
{
    rank_pair *p = &pairs[i], *best = NULL;
    uint32_t   gain = 0, mine = use(&p->a, &p->b, n_words);
    bool       crossed = false;

    for (uint32_t j = 0;
         j < n_pairs && (best == NULL || gain + mine < 2 + use(&best->a, &best->b, n_words)); j++) {
        rank_pair *o    = &pairs[j];
        uint32_t   base = mine + use(&o->a, &o->b, n_words);
        uint32_t   one  = use(&p->a, &o->b, n_words) + use(&o->a, &p->b, n_words);
        uint32_t   two  = use(&p->a, &o->a, n_words) + use(&p->b, &o->b, n_words);
        uint32_t   most = one >= two ? one : two;
        if (j != i && most > base && most - base > gain) {
            gain    = most - base;
            best    = o;
            crossed = two > one;
        }
    }
    if (best != NULL) {
        swap(&p->b, crossed ? &best->a : &best->b);
    }
}

/* Pair the first half in order of value with the second half, backwards; then exchange partners
 * where that lets more chunks pass. One of an odd number stays alone. Sorts the ranks, whose keys
 * have `n_words` words; those that are equal in all else by number. Returns the number of pairs.
 * O(count^2) at worst. */
static uint32_t pair_ranks(free_rank *ranks, uint32_t count, uint32_t n_words, rank_pair *pairs)
{
    qsort(ranks, count, sizeof *ranks, by_value);
    count            = count % 2 == 1 ? leave_one(ranks, count) : count;
    uint32_t n_pairs = count / 2;
    for (uint32_t i = 0; i < n_pairs; i++) {
        pairs[i] = (rank_pair){ranks[i], ranks[count - 1 - i]};
    }
    for (uint32_t i = 0; i < n_pairs; i++) {
        if (use(&pairs[i].a, &pairs[i].b, n_words) < 2) {
            improve(pairs, n_pairs, n_words, i);
        }
    }
    return n_pairs;
}

/* ---- the rounds ----
 *
 * A chunk is *live* between its exchange and the round in which the last rank gets it. There are
 * few of them, mostly, but nothing depends on it. */

typedef struct greedy {
    uint32_t         early, met; /* N; chunks that have been exchanged */
    uint32_t         attempt;    /* varies the order among equals */
    uint32_t         n_words;    /* of keys, in this round */
    chunk_set       *held;       /* [N] bit c: it has chunk c */
    free_rank       *ranks;      /* [N] */
    rank_pair       *pairs;      /* [N / 2] */
    uint32_t        *holders;    /* [N] of a chunk; N: it is not live any more */
    uint32_t        *order;      /* [n_order] live chunks, rarest first */
    uint32_t         n_order;
    cs_label_rounds *rounds;
} greedy;

uint32_t cs_telephone_bound(uint32_t n)
{
    uint64_t early = n - 1, q = cs_log2_ceil(n);
    uint64_t counted  = early * (early + q + 1) - (q + ((uint64_t)1 << q) - 1);
    uint32_t by_count = (uint32_t)((counted + early - 1) / early), plain = n - 2 + (uint32_t)q;

    return by_count > plain ? by_count : plain;
}

static uint32_t noise_of(const greedy *g, uint32_t rank)
{
    uint64_t word = (uint64_t)g->attempt << 48 | (uint64_t)g->rounds->n_rounds << 24 | rank;
    return g->attempt == 0 ? 0 : (uint32_t)cs_mix64(word);
}

static bool has(const chunk_set *set, uint32_t chunk)
{
    return (set->word[chunk / 64] >> chunk % 64 & 1u) != 0;
}

static void put(chunk_set *set, uint32_t chunk)
{
    set->word[chunk / 64] |= (uint64_t)1 << chunk % 64;
}

/* Sort the live chunks by (holders, newest first). */
static void rank_by_rarity(greedy *g)
{
    g->n_order = 0;
    for (uint32_t c = 0; c < g->met; c++) {
        if (g->holders[c] == g->early) {
            continue;
        }
        uint32_t at = g->n_order++;
        while (at > 0 && g->holders[g->order[at - 1]] >= g->holders[c]) {
            g->order[at] = g->order[at - 1];
            at--;
        }
        g->order[at] = c;
    }
    g->n_words = (g->n_order + 63) / 64;
}

/* Everybody but `meets` (N: nobody meets the late rank). */
static uint32_t collect_free(greedy *g, uint32_t meets)
{
    uint32_t count = 0;

    for (uint32_t r = 0; r < g->early; r++) {
        free_rank s = {.wait  = r >= g->met ? r - g->met : g->early + r - g->met,
                       .noise = noise_of(g, r),
                       .held  = set_size(&g->held[r]),
                       .rank  = r};
        for (uint32_t i = 0; i < g->n_order; i++) {
            uint64_t bit = has(&g->held[r], g->order[i]) ? 1 : 0;
            s.key.word[i / 64] |= bit << (63 - i % 64);
        }
        if (r != meets) {
            g->ranks[count++] = s;
        }
    }
    return count;
}

static cs_status add_copy(greedy *g, const free_rank *src, const free_rank *dst, cs_error *err)
{
    for (uint32_t w = 0; w < g->n_words; w++) {
        uint64_t useful = src->key.word[w] & ~dst->key.word[w];
        if (useful != 0) {
            uint32_t chunk = g->order[64 * w + (uint32_t)__builtin_clzll(useful)];
            put(&g->held[dst->rank], chunk);
            g->holders[chunk]++;
            return cs_label_rounds_add(
                g->rounds, (cs_label_transfer){src->rank, dst->rank, chunk, CS_LABEL_COPY}, err);
        }
    }
    return CS_OK;
}

static cs_status add_round(greedy *g, cs_error *err)
{
    bool     meets = g->met < g->early;
    uint32_t count = collect_free(g, meets ? g->met : g->early);
    uint32_t pairs = pair_ranks(g->ranks, count, g->n_words, g->pairs);

    if (meets) {
        CS_TRY(cs_label_rounds_add(
            g->rounds, (cs_label_transfer){g->met, g->early, g->met, CS_LABEL_EXCHANGE}, err));
    }
    for (uint32_t i = 0; i < pairs; i++) {
        CS_TRY(add_copy(g, &g->pairs[i].a, &g->pairs[i].b, err));
        CS_TRY(add_copy(g, &g->pairs[i].b, &g->pairs[i].a, err));
    }
    if (meets) {
        put(&g->held[g->met], g->met);
        g->holders[g->met++] = 1;
    }
    return cs_label_rounds_end(g->rounds, err);
}

/* One try; `ends_p`: in at most `most` rounds. */
static cs_status build_once(greedy *g, uint32_t most, bool *ends_p, cs_error *err)
{
    g->met                 = 0;
    g->rounds->n_rounds    = 0;
    g->rounds->n_transfers = 0;
    memset(g->held, 0, g->early * sizeof *g->held);
    for (*ends_p = false; !*ends_p && g->rounds->n_rounds <= most;) {
        rank_by_rarity(g);
        *ends_p = g->met == g->early && g->n_order == 0;
        if (!*ends_p) {
            CS_TRY(add_round(g, err));
        }
    }
    return CS_OK;
}

/* Tries until the bound is reached; the best one ends in `best`. */
static cs_status try_all(greedy *g, uint32_t n, cs_label_rounds *best, cs_error *err)
{
    uint32_t bound = cs_telephone_bound(n), most = bound + SLACK, tries = n < 128 ? 16 : 4;

    for (; g->attempt < tries && most >= bound; g->attempt++) {
        bool ends = false;
        CS_TRY(build_once(g, most, &ends, err));
        if (ends && g->rounds->n_rounds <= most) {
            cs_label_rounds kept = *best;
            *best                = *g->rounds;
            *g->rounds           = kept;
            most                 = best->n_rounds - 1;
        }
    }
    if (best->n_rounds == 0) {
        return CS_FAIL(err, CS_EINTERNAL, "algorithm.options.model",
                       "no schedule of the telephone model was found for %u ranks", n);
    }
    return CS_OK;
}

static cs_status build(greedy *g, uint32_t n, cs_label_rounds *best, cs_error *err)
{
    const cs_label_shape shape = {.n = n, .early = n - 1, .chunks = n - 1, .is_telephone = true};

    if (g->held == NULL || g->holders == NULL || g->order == NULL || g->ranks == NULL ||
        g->pairs == NULL) {
        return CS_NO_MEMORY(err, "the greedy of %u ranks", n);
    }
    CS_TRY(try_all(g, n, best, err));
    return cs_label_rounds_check(best, &shape, err);
}

cs_status cs_telephone_build(uint32_t n, cs_label_rounds *rounds_p, cs_error *err)
{
    cs_arena        arena  = {0};
    cs_label_rounds rounds = {0}, best = {0};
    greedy          g      = {.early   = n - 1,
                              .held    = CS_ARENA_NEW(&arena, chunk_set, n),
                              .holders = CS_ARENA_NEW(&arena, uint32_t, n),
                              .order   = CS_ARENA_NEW(&arena, uint32_t, n),
                              .ranks   = CS_ARENA_NEW(&arena, free_rank, n),
                              .pairs   = CS_ARENA_NEW(&arena, rank_pair, n),
                              .rounds  = &rounds};
    cs_status       status = build(&g, n, &best, err);

    cs_arena_free(&arena);
    cs_label_rounds_free(&rounds);
    return cs_label_rounds_give(status, &best, rounds_p);
}
