/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The paper's own two generators: Algorithm 1 for powers of two, a matching a round for
 * even numbers of labels. */
#include "algorithms/stragglar/matching.h"
#include "algorithms/stragglar/matching_rounds.h"
#include "algorithms/stragglar/paper_rounds.h"
#include "base/alloc.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static uint32_t fewest(uint32_t n)
{
    uint32_t q = 0;
    while (1u << q < n) {
        q++;
    }
    return n - 2 + q;
}

static cs_label_shape shape_of(uint32_t n)
{
    return (cs_label_shape){.n = n, .early = n - 1, .chunks = n - 1, .is_telephone = true};
}

Test(paper_rounds, powers_of_two_meet_the_bound)
{
    for (uint32_t n = 2; n <= 2048; n *= 2) {
        cs_arena        arena = {0};
        cs_error        err   = {0};
        cs_paper_rounds paper;
        cs_label_check  check;
        cs_label_shape  shape = shape_of(n);
        cr_assert(cs_paper_rounds_exist(n));
        cr_assert_eq(cs_paper_rounds_start(&paper, n, &arena, &err), CS_OK);
        cr_assert_eq(cs_label_check_start(&check, &shape, &err), CS_OK);
        while (cs_paper_rounds_next(&paper)) {
            cr_assert_leq(paper.count, 2 * n);
            cr_assert_eq(cs_label_check_round(&check, paper.out, paper.count, &err), CS_OK,
                         "n=%u: %s", n, err.message);
        }
        cr_assert(!paper.failed && paper.round == fewest(n) && paper.n_rounds == fewest(n));
        cr_assert_eq(cs_label_check_end(&check, &err), CS_OK, "n=%u: %s", n, err.message);
        cs_label_check_free(&check);
        cs_arena_free(&arena);
    }
}

Test(paper_rounds, other_numbers_have_none)
{
    for (uint32_t n = 0; n < 3000; n++) {
        cr_assert_eq(cs_paper_rounds_exist(n), n >= 2 && __builtin_popcount(n) == 1);
    }
}

Test(paper_rounds, rewound_rounds_are_the_same)
{
    cs_arena          arena = {0};
    cs_paper_rounds   paper;
    cs_label_transfer first[64];
    size_t            count = 0;

    cr_assert_eq(cs_paper_rounds_start(&paper, 16, &arena, NULL), CS_OK);
    for (int pass = 0; pass < 2; pass++) {
        for (uint32_t r = 0; r < 9; r++) {
            cr_assert(cs_paper_rounds_next(&paper));
        }
        cr_assert(pass == 0 ||
                  (count == paper.count && memcmp(first, paper.out, count * sizeof *first) == 0));
        count = paper.count;
        memcpy(first, paper.out, count * sizeof *first);
        cs_paper_rounds_rewind(&paper);
    }
    cs_arena_free(&arena);
}

/* ---- matchings ---- */

/* The largest sum of weights over all matchings, by trying all: `free_nodes` is a bit set. */
static int64_t heaviest(const int64_t *weight, uint32_t n, uint32_t free_nodes)
{
    int64_t  best = 0;
    uint32_t u    = 0;

    if (free_nodes == 0) {
        return 0;
    }
    while ((free_nodes >> u & 1u) == 0) {
        u++;
    }
    best = heaviest(weight, n, free_nodes & ~(1u << u));
    for (uint32_t v = u + 1; v < n; v++) {
        if ((free_nodes >> v & 1u) != 0 && weight[u * n + v] > 0) {
            int64_t with =
                weight[u * n + v] + heaviest(weight, n, free_nodes & ~(1u << u) & ~(1u << v));
            best = with > best ? with : best;
        }
    }
    return best;
}

Test(matching, is_the_heaviest)
{
    ct_rng rng = ct_rng_for(72);

    if (!cs_matching_is_here()) {
        cr_skip_test("built without LEMON");
    }
    for (uint32_t i = 0; i < 300; i++) {
        uint32_t         n          = 1 + ct_below(&rng, 9), mate[9];
        int64_t          weight[81] = {0}, sum = 0;
        cs_matching_edge edges[36];
        size_t           count = 0;
        for (uint32_t u = 0; u < n; u++) {
            for (uint32_t v = u + 1; v < n; v++) {
                if (ct_below(&rng, 3) > 0) {
                    weight[u * n + v] = 1 + (int64_t)ct_below(&rng, i % 2 == 0 ? 4 : 100000);
                    edges[count++]    = (cs_matching_edge){u, v, weight[u * n + v]};
                }
            }
        }
        cr_assert_eq(cs_matching_heaviest(n, edges, count, mate, NULL), CS_OK);
        for (uint32_t u = 0; u < n; u++) {
            cr_assert(mate[u] == CS_UNMATCHED || (mate[u] < n && mate[mate[u]] == u));
            if (mate[u] != CS_UNMATCHED && mate[u] > u) {
                cr_assert_gt(weight[u * n + mate[u]], 0);
                sum += weight[u * n + mate[u]];
            }
        }
        cr_assert_eq(sum, heaviest(weight, n, (1u << n) - 1), "case %u", i);
    }
}

static uint32_t matching_rounds(uint32_t n, cs_matching_ties ties)
{
    cs_label_rounds rounds = {0};
    cs_error        err    = {0};
    cs_label_shape  shape  = shape_of(n);

    cr_assert_eq(cs_matching_rounds_build(n, ties, &rounds, &err), CS_OK, "n=%u: %s", n,
                 err.message);
    cr_assert_eq(cs_label_rounds_check(&rounds, &shape, &err), CS_OK, "n=%u: %s", n, err.message);
    uint32_t count = rounds.n_rounds;
    cs_label_rounds_free(&rounds);
    return count;
}

/* The round counts that the paper publishes. */
Test(matching, published_rounds)
{
    static const uint32_t published[][2] = {{6, 7},   {12, 15},  {24, 27},
                                            {48, 57}, {96, 108}, {192, 208}};

    if (!cs_matching_is_here()) {
        cr_skip_test("built without LEMON");
    }
    for (size_t i = 0; i < sizeof published / sizeof published[0]; i++) {
        uint32_t rounds = matching_rounds(published[i][0], CS_TIES_PUBLISHED);
        cr_assert_eq(rounds, published[i][1], "n=%u: %u rounds", published[i][0], rounds);
    }
}

/* Every even number has a valid schedule, with either rule and between the bound and half as much
 * again; "newest" is close to the bound. */
Test(matching, every_even_number_works)
{
    uint32_t excess = 0;

    if (!cs_matching_is_here()) {
        cr_skip_test("built without LEMON");
    }
    for (uint32_t n = 2; n <= 64; n += 2) {
        uint32_t plain = matching_rounds(n, CS_TIES_PUBLISHED);
        uint32_t newer = matching_rounds(n, CS_TIES_NEWEST);
        cr_assert(plain >= fewest(n) && plain <= fewest(n) + fewest(n) / 2, "n=%u: %u", n, plain);
        cr_assert(newer >= fewest(n) && newer <= fewest(n) + 2, "n=%u: %u", n, newer);
        excess += newer - fewest(n);
    }
    cr_assert_leq(excess, 16, "%u", excess);
}

Test(matching, every_allocation_may_fail)
{
    cs_status status = CS_ENOMEM;
    long      failed = 0;

    if (!cs_matching_is_here()) {
        cr_skip_test("built without LEMON");
    }
    for (; status != CS_OK; failed++) {
        cs_label_rounds rounds = {0};
        cs_error        err    = {0};
        cs_alloc_fail_after(failed);
        status = cs_matching_rounds_build(10, CS_TIES_NEWEST, &rounds, &err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || (status == CS_ENOMEM && err.status == CS_ENOMEM));
        cr_assert(status == CS_OK || rounds.transfers == NULL);
        cs_label_rounds_free(&rounds);
    }
    cr_assert_gt(failed, 3);
}

Test(matching, without_the_library_it_says_what_is_missing)
{
    cs_label_rounds rounds = {0};
    cs_error        err    = {0};

    if (cs_matching_is_here()) {
        cr_skip_test("built with LEMON");
    }
    cr_assert_eq(cs_matching_rounds_build(6, CS_TIES_NEWEST, &rounds, &err), CS_EMISSING);
    cr_assert_not_null(strstr(err.message, "liblemon-dev"));
}
