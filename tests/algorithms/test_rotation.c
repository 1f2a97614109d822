/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rotational pattern behind StragglAR, against its conditions C1 .. C4 checked by brute force
 * with a table of who holds what, and its tail, replayed here by hand, for every n up to 2048 and
 * some beyond; wrong patterns must be refused. */
#include "algorithms/stragglar/rotation.h"
#include "algorithms/stragglar/tail.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

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
           from < r->early && from != p && (r->n % 2 == 1 || r->from[from] == p) &&
           (held[from] >> age & 1u) != 0;
}

static bool satisfies(const cs_rotation *r)
{
    uint32_t  depth = ceil_log2(r->n) + 1;
    uint64_t *held  = holdings(r, depth);
    uint8_t  *seen = calloc(r->early, 1), *sends = calloc(r->early, 1);
    bool      right = r->age[0] == 0 && (r->early == 1 || __builtin_popcountll(held[0]) == 2);

    cr_assert(seen != NULL && sends != NULL);
    for (uint32_t p = 0; p < r->early; p++) {
        uint64_t gets = ((uint64_t)p + r->age[p]) % r->early;
        right         = right && seen[gets]++ == 0;
        right         = right && (p == 0 || role_is_right(r, held, depth, p));
        right         = right && (p == 0 || sends[r->from[p]]++ == 0);
    }
    free(held);
    free(seen);
    free(sends);
    return right;
}

/* A pattern as it was built, and as it is after its tables were changed. */
static bool holds(const cs_rotation *r)
{
    cs_error  err    = {0};
    cs_status status = cs_rotation_check(r, &err);

    cr_assert(status == CS_OK || status == CS_EINTERNAL, "%s", err.message);
    cr_assert((status == CS_OK) == (err.message[0] == '\0'));
    return status == CS_OK;
}

static cs_rotation built(uint32_t n, cs_arena *arena)
{
    cs_rotation r   = {0};
    cs_error    err = {0};

    cr_assert_eq(cs_rotation_build(n, arena, &r, &err), CS_OK, "n=%u: %s", n, err.message);
    cr_assert(r.n == n && r.early == n - 1 && r.q == ceil_log2(n));
    return r;
}

/* What the labels lack when the steady state ends: bit a - 1 is the chunk of age a. */
static uint64_t *lacking(const cs_rotation *r)
{
    uint32_t  depth   = r->q + 1;
    uint64_t *missing = holdings(r, depth);

    for (uint32_t p = 0; p < r->early; p++) {
        uint64_t all = ((uint64_t)1 << (depth < r->early ? depth : r->early)) - 1;
        missing[p]   = ~(missing[p] >> 1) & all;
    }
    return missing;
}

/* One round: everybody but the straggler receives something that it lacks and the sender has, from
 * one to whom it sends (even n; the straggler receives nothing), and nobody sends twice. */
static void play_round(const cs_rotation *r, uint64_t *missing, const cs_label_transfer *t,
                       size_t count)
{
    uint32_t *to = malloc(r->n * sizeof *to), *from = malloc(r->n * sizeof *from);

    cr_assert(to != NULL && from != NULL);
    memset(to, 0xff, r->n * sizeof *to);
    memset(from, 0xff, r->n * sizeof *from);
    cr_assert_eq(count, r->early, "n=%u", r->n);
    for (size_t i = 0; i < count; i++) {
        uint64_t bit = (uint64_t)1 << (r->early - 1 - t[i].chunk);
        cr_assert(t[i].kind == CS_LABEL_COPY && t[i].src <= r->early && t[i].dst < r->early);
        cr_assert(t[i].chunk < r->early && to[t[i].src] == UINT32_MAX &&
                  from[t[i].dst] == UINT32_MAX);
        cr_assert((missing[t[i].dst] & bit) != 0, "n=%u: useless", r->n);
        cr_assert(t[i].src == r->early || (missing[t[i].src] & bit) == 0, "n=%u: not there", r->n);
        to[t[i].src]   = t[i].dst;
        from[t[i].dst] = t[i].src;
    }
    for (size_t i = 0; i < count; i++) {
        missing[t[i].dst] &= ~((uint64_t)1 << (r->early - 1 - t[i].chunk));
        cr_assert(r->n % 2 == 1 || from[t[i].src] == UINT32_MAX || from[t[i].src] == t[i].dst,
                  "n=%u: %u is no partner", r->n, t[i].src);
    }
    free(to);
    free(from);
}

/* q - 1 rounds, after which nobody lacks anything. */
static void check_tail(const cs_rotation *r)
{
    cs_label_rounds tail = {0};
    cs_error        err  = {0};

    cr_assert_eq(cs_tail_build(r, &tail, &err), CS_OK, "n=%u: %s", r->n, err.message);
    cr_assert_eq(tail.n_rounds, r->q - 1);
    uint64_t *missing = lacking(r), left = 0;
    for (uint32_t t = 0; t < tail.n_rounds; t++) {
        size_t                   count;
        const cs_label_transfer *round = cs_label_round(&tail, t, &count);
        play_round(r, missing, round, count);
    }
    for (uint32_t p = 0; p < r->early; p++) {
        left |= missing[p];
    }
    cr_assert_eq(left, 0, "n=%u", r->n);
    free(missing);
    cs_label_rounds_free(&tail);
}

static void check_n(uint32_t n)
{
    cs_arena    arena = {0};
    cs_rotation r     = built(n, &arena);

    cr_assert(satisfies(&r), "n=%u", n);
    cr_assert(holds(&r), "n=%u", n);
    check_tail(&r);
    cs_arena_free(&arena);
}

/* Together with the proof that a pattern that satisfies the conditions is a schedule for as long as
 * one likes, this is every n up to 2048. */
Test(rotation, holds_for_every_number_of_ranks)
{
    for (uint32_t n = 2; n <= 2048; n += n == 2 ? 2 : 1) {
        check_n(n);
    }
}

Test(rotation, holds_for_large_numbers_of_ranks)
{
    ct_rng rng = ct_rng_for(21);

    for (uint32_t n = 4096; n <= 65536; n *= 2) {
        for (uint32_t i = 0; i < 5; i++) {
            check_n(n - 4 + i);
        }
    }
    for (int i = 0; i < 12; i++) {
        check_n(2049 + ct_below(&rng, 30000));
    }
}

Test(rotation, three_ranks_have_none)
{
    cs_arena    arena = {0};
    cs_rotation r     = {0};
    cs_error    err   = {0};

    cr_assert_eq(cs_rotation_build(3, &arena, &r, &err), CS_EINTERNAL);
    cr_assert_null(r.age);
    cs_arena_free(&arena);
}

/* A power of two with a patch at its end, in whichever order its blocks stand, is a pattern. */
Test(rotation, powers_of_two_with_a_patch)
{
    for (uint32_t q = 4; q <= 14; q++) {
        uint32_t             n   = 1u << q, first_of[32];
        uint32_t            *age = calloc(n, sizeof *age), *partner = calloc(n, sizeof *partner);
        uint32_t            *k = calloc(n, sizeof *k), *f = calloc(n, sizeof *f);
        cs_rotation_sequence seq = {.age = age, .partner = partner};
        cr_assert(age != NULL && partner != NULL && k != NULL && f != NULL);
        cs_rotation_sequence_of_power(q, &seq, first_of);
        cr_assert_eq(seq.length, n - 1);
        const uint32_t patch[] = {q - 3, q, q, q - 2, q, q - 2, q, q - 1, q - 1, q - 1};
        cr_assert_eq(memcmp(age + n - 11, patch, sizeof patch), 0);
        for (uint32_t i = 0; i < n - 1; i++) {
            k[(n - 1 - i) % (n - 1)] = age[i];
            f[(n - 1 - i) % (n - 1)] = (n - 1 - partner[i]) % (n - 1);
        }
        cs_rotation r = {.n = n, .early = n - 1, .q = q, .age = k, .from = f};
        cr_assert(satisfies(&r), "q=%u", q);
        free(age);
        free(partner);
        free(k);
        free(f);
    }
}

/* Change one or two entries: both checkers must agree, and nearly all changes are wrong. */
Test(rotation, wrong_patterns_are_refused)
{
    ct_rng                rng   = ct_rng_for(8);
    uint32_t              wrong = 0, made = 0;
    static const uint32_t sizes[] = {4, 5, 8, 9, 12, 16, 27, 32, 38, 64, 128, 255};

    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        uint32_t n = sizes[s];
        for (int i = 0; i < 400; i++) {
            cs_arena    arena = {0};
            cs_rotation r     = built(n, &arena);
            uint32_t    p = ct_below(&rng, r.early), other = ct_below(&rng, r.early);
            uint32_t   *table = i % 2 == 0 ? r.age : r.from;
            uint32_t    old   = table[p];
            table[p]          = i % 4 < 2 ? table[other] : ct_below(&rng, i % 2 == 0 ? r.q + 3 : n);
            table[other]      = i % 4 < 2 ? old : table[other];
            bool right        = satisfies(&r);
            cr_assert_eq(holds(&r), right, "seed %llu n=%u case %d", (unsigned long long)ct_seed(),
                         n, i);
            wrong += !right;
            made++;
            cs_arena_free(&arena);
        }
    }
    cr_assert_gt(wrong * 10, made * 6, "%u of %u were wrong", wrong, made);
}

Test(rotation, says_who_holds_what)
{
    for (uint32_t n = 4; n <= 1024; n += 1 + n / 3) {
        cs_arena    arena = {0};
        cs_rotation r     = built(n, &arena);
        uint64_t   *held  = holdings(&r, r.q + 1);
        for (uint32_t p = 0; p < r.early; p++) {
            cr_assert_eq(cs_rotation_held(&r, p), held[p]);
        }
        free(held);
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
        cr_assert_eq(holds(&r), want, "n=%u pattern %u", n, code);
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
