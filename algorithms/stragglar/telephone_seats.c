/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who talks to whom in a round: see telephone_seats.h. */
#include "algorithms/stragglar/telephone_seats.h"

#include <stdlib.h>

static int compare_keys(const cs_chunk_set *a, const cs_chunk_set *b)
{
    for (uint32_t w = 0; w < CS_CHUNK_WORDS; w++) {
        if (a->word[w] != b->word[w]) {
            return a->word[w] > b->word[w] ? 1 : -1;
        }
    }
    return 0;
}

uint32_t cs_chunk_set_size(const cs_chunk_set *set)
{
    uint32_t size = 0;

    for (uint32_t w = 0; w < CS_CHUNK_WORDS; w++) {
        size += (uint32_t)__builtin_popcountll(set->word[w]);
    }
    return size;
}

static int by_value(const void *left, const void *right)
{
    const cs_seat *a = left, *b = right;

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

static bool idles_rather(const cs_seat *a, const cs_seat *b, bool most_are_empty)
{
    uint32_t held_a = cs_chunk_set_size(&a->key), held_b = cs_chunk_set_size(&b->key);
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
static uint32_t leave_one(cs_seat *seats, uint32_t count)
{
    uint32_t empty = 0, idle = UINT32_MAX;

    for (uint32_t i = 0; i < count; i++) {
        empty += seats[i].held == 0;
    }
    bool most_are_empty = 2 * empty > count;
    for (uint32_t i = 0; i < count; i++) {
        bool may = !most_are_empty || seats[i].held == 0;
        if (may && (idle == UINT32_MAX || idles_rather(&seats[i], &seats[idle], most_are_empty))) {
            idle = i;
        }
    }
    for (uint32_t i = idle; i + 1 < count; i++) {
        seats[i] = seats[i + 1];
    }
    return count - 1;
}

/* Useful directions between two ranks. */
static uint32_t use(const cs_seat *a, const cs_seat *b, uint32_t n_words)
{
    uint64_t there = 0, back = 0;

    for (uint32_t w = 0; w < n_words; w++) {
        there |= a->key.word[w] & ~b->key.word[w];
        back |= b->key.word[w] & ~a->key.word[w];
    }
    return (there != 0 ? 1u : 0u) + (back != 0 ? 1u : 0u);
}

static void swap(cs_seat *a, cs_seat *b)
{
    cs_seat kept = *a;
    *a           = *b;
    *b           = kept;
}

/* Exchange partners of pair i with the pair that gains most by it. */
static void improve(cs_seat_pair *pairs, uint32_t n_pairs, uint32_t n_words, uint32_t i)
{
    cs_seat_pair *p = &pairs[i], *best = NULL;
    uint32_t      gain = 0, mine = use(&p->a, &p->b, n_words);
    bool          crossed = false;

    for (uint32_t j = 0;
         j < n_pairs && (best == NULL || gain + mine < 2 + use(&best->a, &best->b, n_words)); j++) {
        cs_seat_pair *o    = &pairs[j];
        uint32_t      base = mine + use(&o->a, &o->b, n_words);
        uint32_t      one  = use(&p->a, &o->b, n_words) + use(&o->a, &p->b, n_words);
        uint32_t      two  = use(&p->a, &o->a, n_words) + use(&p->b, &o->b, n_words);
        uint32_t      most = one >= two ? one : two;
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

uint32_t cs_seats_pair(cs_seat *seats, uint32_t count, uint32_t n_words, cs_seat_pair *pairs)
{
    qsort(seats, count, sizeof *seats, by_value);
    count            = count % 2 == 1 ? leave_one(seats, count) : count;
    uint32_t n_pairs = count / 2;
    for (uint32_t i = 0; i < n_pairs; i++) {
        pairs[i] = (cs_seat_pair){seats[i], seats[count - 1 - i]};
    }
    for (uint32_t i = 0; i < n_pairs; i++) {
        if (use(&pairs[i].a, &pairs[i].b, n_words) < 2) {
            improve(pairs, n_pairs, n_words, i);
        }
    }
    return n_pairs;
}
