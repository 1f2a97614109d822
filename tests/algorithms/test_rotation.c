/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rotational pattern behind StragglAR, against its conditions C1 .. C4 checked by brute force
 * with a table of who holds what; wrong patterns must be refused. */
#include "algorithms/pattern/rotation.h"
#include "algorithms/pattern/tail.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static uint32_t ceil_log2(uint32_t n)
{
    uint32_t k = 0;
    while ((uint64_t)1 << k < n) {
        k++;
    }
    return k;
}

/* Bit a of held[p]: role p holds the chunk of age a before its round. A role that receives age
 * k holds it as age k + j, j rounds later, when its role is p - j. */
static uint64_t *holdings(const cs_rotation *r, uint32_t depth)
{
    uint64_t *held = calloc(r->early, sizeof *held);

    cr_assert_not_null(held);
    for (uint32_t p = 0; p < r->early; p++) {
        for (uint32_t j = 1; r->age[p] + j <= depth; j++) {
            uint32_t later = (uint32_t)(((uint64_t)p + r->early * (uint64_t)depth - j) % r->early);
            held[later] |= (uint64_t)1 << (r->age[p] + j);
        }
    }
    return held;
}

static bool role_is_right(const cs_rotation *r, const uint64_t *held, uint32_t depth, uint32_t p)
{
    uint32_t age = r->age[p], from = r->from[p];

    return __builtin_popcountll(held[p]) == 2 && age >= 1 && age <= depth && from >= 1 &&
           from < r->early && from != p && r->from[from] == p && (held[from] >> age & 1u) != 0;
}

static bool satisfies(const cs_rotation *r)
{
    uint32_t  depth = ceil_log2(r->n) + 1;
    uint64_t *held  = holdings(r, depth);
    uint8_t  *seen  = calloc(r->early, 1);
    bool      right = r->age[0] == 0 && (r->early == 1 || __builtin_popcountll(held[0]) == 2);

    cr_assert_not_null(seen);
    for (uint32_t p = 0; p < r->early; p++) {
        uint64_t gets = ((uint64_t)p + r->age[p]) % r->early;
        right         = right && seen[gets]++ == 0;
        right         = right && (p == 0 || role_is_right(r, held, depth, p));
    }
    free(held);
    free(seen);
    return right;
}

Test(rotation, holds_for_every_power_of_two)
{
    for (uint32_t n = 2; n <= 65536; n *= 2) {
        cs_arena    arena = {0};
        cs_rotation r;
        cr_assert(cs_rotation_exists(n));
        cr_assert_eq(cs_rotation_build(n, &arena, &r, NULL), CS_OK);
        cr_assert(r.n == n && r.early == n - 1 && r.q == ceil_log2(n));
        cr_assert(satisfies(&r), "n=%u", n);
        cr_assert(cs_rotation_holds(&r), "n=%u", n);
        cs_arena_free(&arena);
    }
}

Test(rotation, exists_for_powers_of_two_only)
{
    for (uint32_t n = 0; n <= 1100; n++) {
        uint32_t ones = (uint32_t)__builtin_popcount(n);
        cr_assert_eq(cs_rotation_exists(n), n >= 2 && ones == 1, "n=%u", n);
    }
}

/* Change one or two entries: both checkers must agree, and nearly all changes are wrong. */
Test(rotation, wrong_patterns_are_refused)
{
    ct_rng   rng   = ct_rng_for(8);
    uint32_t wrong = 0, made = 0;

    for (uint32_t n = 4; n <= 256; n *= 2) {
        for (int i = 0; i < 400; i++) {
            cs_arena    arena = {0};
            cs_rotation r;
            cr_assert_eq(cs_rotation_build(n, &arena, &r, NULL), CS_OK);
            uint32_t  p = ct_below(&rng, r.early), other = ct_below(&rng, r.early);
            uint32_t *table = i % 2 == 0 ? r.age : r.from;
            uint32_t  old   = table[p];
            table[p]        = i % 4 < 2 ? table[other] : ct_below(&rng, i % 2 == 0 ? r.q + 3 : n);
            table[other]    = i % 4 < 2 ? old : table[other];
            bool right      = satisfies(&r);
            cr_assert_eq(cs_rotation_holds(&r), right, "seed %llu n=%u case %d",
                         (unsigned long long)ct_seed(), n, i);
            wrong += !right;
            made++;
            cs_arena_free(&arena);
        }
    }
    cr_assert_gt(wrong * 10, made * 6, "%u of %u were wrong", wrong, made);
}

Test(rotation, says_who_holds_what)
{
    for (uint32_t n = 4; n <= 1024; n *= 2) {
        cs_arena    arena = {0};
        cs_rotation r;
        cr_assert_eq(cs_rotation_build(n, &arena, &r, NULL), CS_OK);
        uint64_t *held = holdings(&r, r.q + 1);
        for (uint32_t p = 0; p < r.early; p++) {
            for (uint32_t age = 1; age <= r.q + 1; age++) {
                cr_assert_eq(cs_rotation_has(&r, p, age), held[p] >> age & 1u);
            }
        }
        free(held);
        cs_arena_free(&arena);
    }
}

/* q - 1 rounds; in each, every early rank receives one chunk. */
Test(rotation, tail_gives_everybody_one_chunk_a_round)
{
    for (uint32_t n = 2; n <= 16384; n *= 2) {
        cs_arena    arena = {0};
        cs_rotation r;
        cs_tail     tail;
        cr_assert_eq(cs_rotation_build(n, &arena, &r, NULL), CS_OK);
        cr_assert_eq(cs_tail_build(&r, &arena, &tail, NULL), CS_OK);
        cr_assert_eq(tail.n_rounds, ceil_log2(n) - 1);
        uint32_t *got = calloc(n, sizeof *got);
        for (uint32_t t = 0; t < tail.n_rounds; t++) {
            size_t first = t == 0 ? 0 : tail.round_end[t - 1];
            cr_assert_eq(tail.round_end[t] - first, n - 1, "n=%u round %u", n, t);
            for (size_t i = first; i < tail.round_end[t]; i++) {
                cr_assert_eq(got[tail.transfers[i].dst]++, t);
                cr_assert_lt(tail.transfers[i].dst, n - 1, "the straggler has everything");
                cr_assert_lt(tail.transfers[i].chunk, n - 1);
            }
        }
        free(got);
        cs_arena_free(&arena);
    }
}

/* All patterns of 4, 6 and 8 ranks whose partners are pairs: 61440 of 8 ranks. One of 6 ranks is
 * right but for C2. */
static uint32_t count_right(uint32_t n, const uint32_t (*pairings)[8], uint32_t n_pairings)
{
    uint32_t    age[8] = {0}, from[8] = {0}, right = 0, depth = ceil_log2(n) + 1, total = 1;
    cs_rotation r = {.n = n, .early = n - 1, .q = depth - 1, .age = age, .from = from};

    for (uint32_t p = 1; p < r.early; p++) {
        total *= depth;
    }
    for (uint32_t code = 0; code < total * n_pairings; code++) {
        uint32_t rest = code / n_pairings;
        for (uint32_t p = 1; p < r.early; p++, rest /= depth) {
            age[p]  = 1 + rest % depth;
            from[p] = pairings[code % n_pairings][p];
        }
        bool want = satisfies(&r);
        cr_assert_eq(cs_rotation_holds(&r), want, "n=%u pattern %u", n, code);
        right += want;
    }
    return right;
}

Test(rotation, every_small_pattern)
{
    static const uint32_t pairs_of_4[3][8] = {{0, 2, 1, 4, 3}, {0, 3, 4, 1, 2}, {0, 4, 3, 2, 1}};
    uint32_t              pairings[15][8] = {{0}}, count = 0;

    for (uint32_t a = 2; a <= 6; a++) {
        uint32_t left[5], size = 0;
        for (uint32_t p = 2; p <= 6; p++) {
            left[size] = p;
            size += p != a;
        }
        for (uint32_t b = 1; b <= 3; b++, count++) {
            uint32_t c = b == 1 ? 2 : 1, d = 6 - b - c;
            pairings[count][1] = a, pairings[count][a] = 1;
            pairings[count][left[0]] = left[b], pairings[count][left[b]] = left[0];
            pairings[count][left[c]] = left[d], pairings[count][left[d]] = left[c];
        }
    }
    cr_assert_gt(count_right(8, (const uint32_t(*)[8])pairings, 15), 0);
    cr_assert_gt(count_right(6, pairs_of_4, 3), 0);
    cr_assert_gt(count_right(4, (const uint32_t(*)[8])(uint32_t[1][8]){{0, 2, 1}}, 1), 0);
}

/* Patterns of other even numbers of ranks, found by a SAT solver, in time order: step i of the life
 * is role -i; ages and partners. The tail must work for them, too. */
typedef struct known {
    uint32_t n, age[35], partner[35];
} known;

/* clang-format off */
static const known others[] = {
    {6,
     {0, 4, 3, 2, 1},
     {0, 4, 3, 2, 1}},
    {10,
     {0, 4, 4, 2, 5, 3, 1, 3, 5},
     {0, 6, 4, 7, 2, 8, 1, 3, 5}},
    {12,
     {0, 4, 3, 5, 3, 2, 4, 3, 1, 4, 4},
     {0, 8, 3, 2, 10, 9, 7, 6, 1, 5, 4}},
    {14,
     {0, 3, 5, 4, 3, 2, 4, 3, 3, 2, 1, 5, 4},
     {0, 10, 9, 8, 12, 11, 7, 6, 3, 2, 1, 5, 4}},
    {18,
     {0, 4, 6, 5, 3, 6, 3, 1, 6, 4, 6, 2, 5, 5, 4, 3, 5},
     {0, 7, 16, 15, 9, 14, 12, 1, 11, 4, 13, 8, 6, 10, 5, 3, 2}},
    {20,
     {0, 5, 3, 6, 6, 1, 5, 5, 5, 2, 5, 5, 3, 5, 3, 5, 4, 4, 4},
     {0, 5, 3, 2, 8, 1, 9, 12, 4, 6, 14, 18, 7, 16, 10, 17, 13, 15, 11}},
    {22,
     {0, 4, 6, 5, 5, 4, 3, 1, 6, 5, 5, 2, 5, 5, 3, 5, 3, 5, 4, 4, 4},
     {0, 7, 11, 14, 8, 10, 9, 1, 4, 6, 5, 2, 16, 20, 3, 18, 12, 19, 15, 17, 13}},
    {24,
     {0, 5, 5, 2, 6, 6, 4, 4, 4, 1, 3, 6, 6, 2, 5, 5, 3, 5, 3, 5, 4, 4, 4},
     {0, 9, 13, 10, 16, 6, 5, 11, 12, 1, 3, 7, 8, 2, 18, 22, 4, 20, 14, 21, 17, 19, 15}},
    {26,
     {0, 4, 6, 5, 2, 6, 3, 6, 4, 4, 3, 1, 6, 4, 6, 2, 5, 5, 3, 5, 3, 5, 4, 4, 4},
     {0, 11, 15, 18, 12, 10, 13, 8, 7, 14, 5, 1, 4, 6, 9, 2, 20, 24, 3, 22, 16, 23, 19, 21, 17}},
    {28,
     {0, 5, 5, 5, 5, 4, 4, 3, 5, 2, 5, 5, 1, 5, 4, 6, 4, 2, 5, 5, 3, 5, 3, 5, 4, 4, 4},
     {0, 12, 9, 7, 16, 11, 8, 3, 6, 2, 20, 5, 1, 17, 15, 14, 4, 13, 22, 26, 10, 24, 18, 25, 21, 23, 19}},
    {30,
     {0, 4, 6, 5, 1, 6, 5, 5, 4, 3, 5, 3, 5, 4, 4, 4, 2, 5, 5, 2, 5, 5, 3, 5, 3, 5, 4, 4, 4},
     {0, 4, 16, 9, 1, 19, 11, 15, 10, 3, 8, 6, 13, 12, 18, 7, 2, 22, 14, 5, 24, 28, 17, 26, 20, 27, 23, 25, 21}},
    {34,
     {0, 6, 6, 5, 7, 2, 7, 5, 7, 5, 4, 6, 5, 1, 5, 7, 6, 6, 5, 3, 6, 4, 7, 3, 6, 6, 4, 6, 4, 6, 5, 5, 5},
     {0, 13, 4, 22, 2, 14, 19, 21, 12, 17, 20, 18, 8, 1, 5, 23, 26, 9, 11, 6, 10, 7, 3, 15, 28, 32, 16, 30, 24, 31, 27, 29, 25}},
    {36,
     {0, 5, 7, 6, 6, 2, 7, 5, 7, 4, 6, 5, 3, 6, 1, 7, 6, 2, 7, 7, 6, 3, 3, 7, 7, 3, 6, 6, 4, 6, 4, 6, 5, 5, 5},
     {0, 14, 5, 12, 9, 2, 22, 23, 10, 4, 8, 20, 3, 24, 1, 17, 25, 15, 21, 28, 11, 18, 6, 7, 13, 16, 30, 34, 19, 32, 26, 33, 29, 31, 27}},
};
/* clang-format on */

static void pattern_of(const known *k, cs_arena *arena, cs_rotation *r)
{
    uint32_t early = k->n - 1;

    *r = (cs_rotation){.n     = k->n,
                       .early = early,
                       .q     = ceil_log2(k->n),
                       .age   = CS_ARENA_NEW(arena, uint32_t, early),
                       .from  = CS_ARENA_NEW(arena, uint32_t, early)};
    for (uint32_t step = 0; step < early; step++) {
        uint32_t role = (early - step) % early;
        r->age[role]  = k->age[step];
        r->from[role] = (early - k->partner[step]) % early;
    }
}

Test(rotation, other_even_numbers_work_as_well)
{
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        cs_arena    arena = {0};
        cs_rotation r;
        cs_tail     tail;
        uint32_t    got[40] = {0};
        pattern_of(&others[i], &arena, &r);
        cr_assert(satisfies(&r) && cs_rotation_holds(&r), "n=%u", r.n);
        cr_assert_eq(cs_tail_build(&r, &arena, &tail, NULL), CS_OK, "n=%u", r.n);
        for (uint32_t t = 0; t < tail.n_rounds; t++) {
            for (size_t j = t == 0 ? 0 : tail.round_end[t - 1]; j < tail.round_end[t]; j++) {
                cr_assert_eq(got[tail.transfers[j].dst]++, t);
            }
        }
        cr_assert_eq(tail.n_rounds, r.q - 1);
        cs_arena_free(&arena);
    }
}
