/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The greedy for odd n: see telephone_odd.h. A chunk is *live* between its exchange and the round
 * in which the last rank gets it. There are few of them, mostly, but nothing depends on it. */
#include "algorithms/stragglar/telephone_odd.h"

#include "algorithms/lib/accept.h"
#include "algorithms/stragglar/telephone_seats.h"
#include "base/random.h"

#include <string.h>

enum { SLACK = 6 };

typedef struct greedy {
    uint32_t         early, met; /* N; chunks that have been exchanged */
    uint32_t         attempt;    /* varies the order among equals */
    uint32_t         n_words;    /* of keys, in this round */
    cs_chunk_set    *held;       /* [N] bit c: it has chunk c */
    cs_seat         *seats;      /* [N] */
    cs_seat_pair    *pairs;      /* [N / 2] */
    uint32_t        *holders;    /* [N] of a chunk; N: it is not live any more */
    uint32_t        *order;      /* [n_order] live chunks, rarest first */
    uint32_t         n_order;
    cs_label_rounds *rounds;
} greedy;

uint32_t cs_telephone_odd_bound(uint32_t n)
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

static bool has(const cs_chunk_set *set, uint32_t chunk)
{
    return (set->word[chunk / 64] >> chunk % 64 & 1u) != 0;
}

static void put(cs_chunk_set *set, uint32_t chunk)
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
static uint32_t take_seats(greedy *g, uint32_t meets)
{
    uint32_t count = 0;

    for (uint32_t r = 0; r < g->early; r++) {
        cs_seat s = {.wait  = r >= g->met ? r - g->met : g->early + r - g->met,
                     .noise = noise_of(g, r),
                     .held  = cs_chunk_set_size(&g->held[r]),
                     .rank  = r};
        for (uint32_t i = 0; i < g->n_order; i++) {
            uint64_t bit = has(&g->held[r], g->order[i]) ? 1 : 0;
            s.key.word[i / 64] |= bit << (63 - i % 64);
        }
        if (r != meets) {
            g->seats[count++] = s;
        }
    }
    return count;
}

static cs_status add_copy(greedy *g, const cs_seat *src, const cs_seat *dst, cs_error *err)
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
    bool      meets  = g->met < g->early;
    cs_status status = CS_OK;
    uint32_t  count  = take_seats(g, meets ? g->met : g->early);
    uint32_t  pairs  = cs_seats_pair(g->seats, count, g->n_words, g->pairs);

    if (meets) {
        status = cs_label_rounds_add(
            g->rounds, (cs_label_transfer){g->met, g->early, g->met, CS_LABEL_EXCHANGE}, err);
    }
    for (uint32_t i = 0; i < pairs && status == CS_OK; i++) {
        status = add_copy(g, &g->pairs[i].a, &g->pairs[i].b, err);
        if (status == CS_OK) {
            status = add_copy(g, &g->pairs[i].b, &g->pairs[i].a, err);
        }
    }
    if (meets) {
        put(&g->held[g->met], g->met);
        g->holders[g->met++] = 1;
    }
    return status == CS_OK ? cs_label_rounds_end(g->rounds, err) : status;
}

/* One try; `ends_p`: in at most `most` rounds. */
static cs_status build_once(greedy *g, uint32_t most, bool *ends_p, cs_error *err)
{
    cs_status status = CS_OK;

    g->met                 = 0;
    g->rounds->n_rounds    = 0;
    g->rounds->n_transfers = 0;
    memset(g->held, 0, g->early * sizeof *g->held);
    for (*ends_p = false; status == CS_OK && !*ends_p && g->rounds->n_rounds <= most;) {
        rank_by_rarity(g);
        *ends_p = g->met == g->early && g->n_order == 0;
        if (!*ends_p) {
            status = add_round(g, err);
        }
    }
    return status;
}

/* Tries until the bound is reached; the best one ends in `best`. */
static cs_status try_all(greedy *g, uint32_t n, cs_label_rounds *best, cs_error *err)
{
    uint32_t  bound = cs_telephone_odd_bound(n), most = bound + SLACK, tries = n < 128 ? 16 : 4;
    cs_status status = CS_OK;

    for (; status == CS_OK && g->attempt < tries && most >= bound; g->attempt++) {
        bool ends = false;
        status    = build_once(g, most, &ends, err);
        if (status == CS_OK && ends && g->rounds->n_rounds <= most) {
            cs_label_rounds kept = *best;
            *best                = *g->rounds;
            *g->rounds           = kept;
            most                 = best->n_rounds - 1;
        }
    }
    if (status == CS_OK && best->n_rounds == 0) {
        status = CS_FAIL(err, CS_EINTERNAL, "algorithm.options.model",
                         "no schedule of the telephone model was found for %u ranks", n);
    }
    return status;
}

cs_status cs_telephone_odd_build(uint32_t n, cs_label_rounds *rounds_p, cs_error *err)
{
    cs_arena        arena  = {0};
    cs_label_rounds rounds = {0}, best = {0};
    greedy          g      = {.early   = n - 1,
                              .held    = CS_ARENA_NEW(&arena, cs_chunk_set, n),
                              .holders = CS_ARENA_NEW(&arena, uint32_t, n),
                              .order   = CS_ARENA_NEW(&arena, uint32_t, n),
                              .seats   = CS_ARENA_NEW(&arena, cs_seat, n),
                              .pairs   = CS_ARENA_NEW(&arena, cs_seat_pair, n),
                              .rounds  = &rounds};
    cs_status       status = CS_OK;

    if (g.held == NULL || g.holders == NULL || g.order == NULL || g.seats == NULL ||
        g.pairs == NULL) {
        status = CS_FAIL(err, CS_ENOMEM, "", "out of memory for the greedy of %u ranks", n);
    }
    if (status == CS_OK) {
        status = try_all(&g, n, &best, err);
    }
    if (status == CS_OK) {
        const cs_label_shape shape = {
            .n = n, .early = n - 1, .chunks = n - 1, .is_telephone = true};
        status = cs_label_rounds_check(&best, &shape, err);
    }
    cs_arena_free(&arena);
    cs_label_rounds_free(&rounds);
    return cs_label_rounds_give(status, &best, rounds_p);
}
