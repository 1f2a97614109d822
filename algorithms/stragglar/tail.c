/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A missing set is a bit mask over the last D chunks: bit a - 1
 * is the chunk of age a at the end of the steady state, chunk N - a. */
#include "algorithms/stragglar/tail.h"

#include "base/alloc.h"

#include <string.h>

enum { MAX_DEPTH = 20 };

/* What the greedy varies when it fails, one bit each. */
enum {
    FOLDED       = 1, /* pair A[i] with B[i] instead of B[h-1-i] */
    END_IN_LARGE = 2, /* odd n: w is of the largest class */
    VIA_LARGE    = 4, /* odd n: v is of a class as large as possible */
};

typedef struct builder {
    const cs_rotation *rotation;
    uint32_t           n, depth, straggler, mode;
    uint32_t          *missing;           /* [n] */
    uint32_t          *value;             /* [n] what a rank has, rarest chunk on top */
    uint32_t          *order;             /* [n] those who pair, most valuable first */
    uint32_t          *bucket;            /* [2^depth + 1] */
    uint32_t           rarity[MAX_DEPTH]; /* rank of rarity, 0 = rarest -> bit */
    uint32_t           incomplete;        /* chunks that somebody lacks */
    uint32_t           n_pairing;         /* in `order` */
    cs_label_rounds   *tail;              /* with room for all rounds */
} builder;

static void missing_at_start(builder *b)
{
    const cs_rotation *r   = b->rotation;
    uint32_t           all = b->depth <= r->early ? b->depth : r->early;

    for (uint32_t role = 0; role < r->early; role++) {
        /* After round N - 1 role and label agree: N mod N = 0. */
        b->missing[role] = ~(cs_rotation_held(r, role) >> 1) & ((1u << all) - 1);
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
        while (at > 0 && holders[b->rarity[at - 1]] > holders[bit]) {
            b->rarity[at] = b->rarity[at - 1];
            at--;
        }
        b->rarity[at] = bit;
    }
}

static void value_ranks(builder *b)
{
    for (uint32_t g = 0; g < b->n; g++) {
        uint32_t value = 0;
        for (uint32_t i = 0; i < b->incomplete; i++) {
            value = value << 1 | (~b->missing[g] >> b->rarity[i] & 1u);
        }
        b->value[g] = value;
    }
}

/* Counting sort by falling value of all but v and w; the straggler has everything and comes first,
 * or does not pair. */
static void sort_by_value(builder *b, uint32_t v, uint32_t w)
{
    uint32_t buckets = 1u << b->incomplete, most = b->n % 2 == 0 ? b->n : b->straggler;

    memset(b->bucket, 0, ((size_t)buckets + 1) * sizeof *b->bucket);
    for (uint32_t g = 0; g < most; g++) {
        b->bucket[buckets - 1 - b->value[g] + 1] += g != v && g != w;
    }
    for (uint32_t i = 0; i < buckets; i++) {
        b->bucket[i + 1] += b->bucket[i];
    }
    b->n_pairing = 0;
    for (uint32_t g = 0; g < most; g++) {
        if (g != v && g != w) {
            b->order[b->bucket[buckets - 1 - b->value[g]]++] = g;
            b->n_pairing++;
        }
    }
}

static uint32_t *partner_at(builder *b, uint32_t i)
{
    return &b->order[(b->mode & FOLDED) != 0 ? b->n_pairing / 2 + i : b->n_pairing - 1 - i];
}

/* Pairs of equal sets all belong to one class: exchange partners with pairs without it. */
static bool repair_pairs(builder *b)
{
    uint32_t half = b->n_pairing / 2, j = 0;

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
        if ((useful >> b->rarity[i] & 1u) != 0) {
            uint32_t chunk = b->rotation->early - 1 - b->rarity[i];
            b->tail->transfers[b->tail->n_transfers++] =
                (cs_label_transfer){src, dst, chunk, CS_LABEL_COPY};
            return true;
        }
    }
    return false;
}

/* Is early rank g, of a class of `size`, a better end of the path than the best so far? */
typedef struct end {
    uint32_t rank, score, value;
} end;

static void take_better(end *best, uint32_t rank, uint32_t score, uint32_t value)
{
    if (best->rank == UINT32_MAX || score > best->score ||
        (score == best->score && value < best->value)) {
        *best = (end){rank, score, value};
    }
}

/* Odd n: straggler -> v -> w. w holds the least valuable set; v another one, preferably one that
 * lacks the rarest chunk. The modes prefer large classes. */
static bool add_path(builder *b, uint32_t *v_p, uint32_t *w_p)
{
    uint32_t *size = b->bucket, top = 1u << (b->incomplete - 1);
    end       v = {.rank = UINT32_MAX}, w = {.rank = UINT32_MAX};

    memset(size, 0, ((size_t)1 << b->incomplete) * sizeof *size);
    for (uint32_t g = 0; g < b->straggler; g++) {
        size[b->value[g]]++;
    }
    for (uint32_t g = 0; g < b->straggler; g++) {
        take_better(&w, g, (b->mode & END_IN_LARGE) != 0 ? size[b->value[g]] : 0, b->value[g]);
    }
    for (uint32_t g = 0; g < b->straggler; g++) {
        uint32_t value = b->value[g];
        if (value != w.value) {
            uint32_t score = (b->mode & VIA_LARGE) != 0 ? size[value] : 0;
            take_better(&v, g, score + ((value & top) == 0 ? b->n : 0), value);
        }
    }
    *v_p = v.rank;
    *w_p = w.rank;
    return v.rank != UINT32_MAX && add_transfer(b, b->straggler, v.rank) &&
           add_transfer(b, v.rank, w.rank);
}

static bool add_round(builder *b)
{
    size_t   first = b->tail->n_transfers;
    uint32_t v = UINT32_MAX, w = UINT32_MAX;
    bool     works = b->incomplete > 0 && (b->n % 2 == 0 || add_path(b, &v, &w));

    if (works) {
        sort_by_value(b, v, w);
        works = repair_pairs(b);
    }
    for (uint32_t i = 0; i < b->n_pairing / 2 && works; i++) {
        uint32_t one = b->order[i], other = *partner_at(b, i);
        works = (other == b->straggler || add_transfer(b, one, other)) &&
                (one == b->straggler || add_transfer(b, other, one));
    }
    for (size_t i = first; i < b->tail->n_transfers && works; i++) {
        const cs_label_transfer *t = &b->tail->transfers[i];
        b->missing[t->dst] &= ~(1u << (b->rotation->early - 1 - t->chunk));
    }
    return works;
}

static bool build_rounds(builder *b)
{
    cs_label_rounds *tail = b->tail;

    tail->n_transfers = 0;
    missing_at_start(b);
    for (uint32_t t = 0; t < tail->n_rounds; t++) {
        rank_by_rarity(b);
        value_ranks(b);
        if (!add_round(b)) {
            return false;
        }
        tail->round_end[t] = tail->n_transfers;
    }
    for (uint32_t g = 0; g < b->n; g++) {
        if (b->missing[g] != 0) {
            return false;
        }
    }
    return true;
}

/* Room for every round: whoever is not the straggler receives once. */
static cs_status new_tail(uint32_t n, uint32_t n_rounds, cs_label_rounds *tail, cs_error *err)
{
    size_t most = (size_t)n_rounds * (n - 1);

    *tail = (cs_label_rounds){.n_rounds      = n_rounds,
                              .round_room    = n_rounds,
                              .transfer_room = most,
                              .round_end     = CS_NEW(size_t, n_rounds),
                              .transfers     = CS_NEW(cs_label_transfer, most)};
    if (tail->round_end != NULL && tail->transfers != NULL) {
        return CS_OK;
    }
    cs_label_rounds_free(tail);
    return CS_NO_MEMORY(err, "the last rounds of %u ranks", n);
}

static cs_status try_modes(builder *b, cs_arena *arena, cs_error *err)
{
    uint32_t n = b->n, modes = n % 2 == 0 ? 2 : 8;

    b->missing = CS_ARENA_NEW(arena, uint32_t, n);
    b->value   = CS_ARENA_NEW(arena, uint32_t, n);
    b->order   = CS_ARENA_NEW(arena, uint32_t, n);
    b->bucket  = CS_ARENA_NEW(arena, uint32_t, ((size_t)1 << b->depth) + 1);
    if (b->missing == NULL || b->value == NULL || b->order == NULL || b->bucket == NULL) {
        return CS_NO_MEMORY(err, "the last rounds of %u ranks", n);
    }
    for (b->mode = 0; b->mode < modes; b->mode++) {
        if (build_rounds(b)) {
            return CS_OK;
        }
    }
    return CS_FAIL(err, CS_EINTERNAL, "cluster.ranks", "no pairing for the last rounds of %u ranks",
                   n);
}

cs_status cs_tail_build(const cs_rotation *rotation, cs_label_rounds *tail_p, cs_error *err)
{
    uint32_t        n     = rotation->n;
    cs_arena        arena = {0};
    cs_label_rounds tail;
    builder         b = {
                .rotation = rotation, .n = n, .depth = rotation->q + 1, .straggler = n - 1, .tail = &tail};

    CS_TRY(new_tail(n, rotation->q - 1, &tail, err));
    cs_status status = try_modes(&b, &arena, err);
    cs_arena_free(&arena);
    return cs_label_rounds_give(status, &tail, tail_p);
}
