/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What ranks do in a tree of which only some are ready: the tuples of the paper and of a training
 * log; and, message by message, that every contribution arrives once, for all sets of late ranks
 * and all chunks at which they may become ready.
 */
#include "algorithms/adapcc/behaviour.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 6, CHUNKS = 3, CHUNK_BYTES = 100, SIZE_BYTES = 250 };

static void make(cs_strategy *s, uint32_t n_ranks, uint32_t n_trees)
{
    cs_error err = {0};

    cr_assert_eq(cs_strategy_make(s, n_ranks, n_trees, &err), CS_OK, "%s", err.message);
    cs_strategy_set_sizes(s, (uint64_t)n_trees * SIZE_BYTES, CHUNK_BYTES);
}

static void finish(cs_strategy *s)
{
    cs_error err = {0};
    cr_assert_eq(cs_strategy_check(s, &err), CS_OK, "%s", err.message);
}

/* ---- tuples ---- */

/* "1110 0101": isActive, hasRecv, hasKernel, hasSend of every rank. */
static void expect_tuples(const cs_strategy *s, uint32_t active_set, bool reduces, const char *want)
{
    cs_behaviour b[MOST];
    bool         active[MOST];
    char         text[8 * MOST] = "", *at = text;

    for (uint32_t g = 0; g < s->n_ranks; g++) {
        active[g] = active_set >> g & 1;
    }
    cs_behaviours_of(s, 0, active, reduces, b);
    for (uint32_t g = 0; g < s->n_ranks; g++) {
        at += sprintf(at, "%s%d%d%d%d", g > 0 ? " " : "", b[g].is_active, b[g].has_recv,
                      b[g].has_kernel, b[g].has_send);
    }
    cr_assert_str_eq(text, want, "active set %x", active_set);
}

#define BITS(...) bits((const int[]){__VA_ARGS__, -1})
static uint32_t bits(const int *ranks)
{
    uint32_t set = 0;
    for (; *ranks >= 0; ranks++) {
        set |= 1U << *ranks;
    }
    return set;
}

static void set_parents(cs_strategy *s, uint32_t m, const uint32_t *parents)
{
    memcpy(s->trees[m].parent, parents, s->n_ranks * sizeof *parents);
}

Test(adapcc_behaviour, tuples_of_the_log_and_the_paper)
{
    static const uint32_t fork[] = {CS_TREE_ROOT, 0, 1, 1}, chain[] = {2, 2, 3, CS_TREE_ROOT};
    cs_strategy           s;

    make(&s, 4, 1);
    set_parents(&s, 0, fork);
    finish(&s);
    expect_tuples(&s, BITS(0, 2), true, "1110 0101 1001 0000");
    expect_tuples(&s, BITS(0, 2, 3), true, "1110 0111 1001 1001");
    expect_tuples(&s, BITS(0, 1, 2, 3), true, "1110 1111 1001 1001");
    expect_tuples(&s, BITS(0), true, "1000 0000 0000 0000");
    expect_tuples(&s, BITS(3), true, "0100 0101 0000 1001");
    expect_tuples(&s, BITS(0, 2, 3), false, "1100 0101 1001 1001");
    s.trees[0].aggregates[1] = false;
    expect_tuples(&s, BITS(0, 1, 2, 3), true, "1110 1101 1001 1001");
    set_parents(&s, 0, chain);
    finish(&s);
    expect_tuples(&s, BITS(0, 2), true, "1001 0000 1111 0100");
    cs_strategy_free(&s);
}

/* Rank 1 was excluded. */
Test(adapcc_behaviour, who_is_in_no_tree_does_nothing)
{
    static const uint32_t parents[] = {CS_TREE_ROOT, CS_TREE_ABSENT, 0, 2};
    cs_strategy           s;

    make(&s, 4, 1);
    set_parents(&s, 0, parents);
    finish(&s);
    expect_tuples(&s, BITS(0, 1, 2, 3), true, "1110 0000 1111 1001");
    cs_strategy_free(&s);
}

Test(adapcc_behaviour, only_who_can_joins)
{
    const cs_behaviour leaf = {.has_send = true}, relay = {.has_recv = true, .can_join = true};

    cr_assert_eq(cs_join_chunk(&leaf, 0, 8), 8);
    cr_assert_eq(cs_join_chunk(&relay, 0, 8), 0);
    cr_assert_eq(cs_join_chunk(&relay, 6, 8), 6);
    cr_assert_eq(cs_join_chunk(&relay, 8, 8), 8);
    cr_assert_eq(cs_join_chunk(&relay, 9, 8), 8);
}

/* 0 <- 1 <- 2 <- 3, where 2 does not add up: it sends two messages, which rank 1 adds up although
 * it has one child and is a relay; it can join, rank 2 could not. A root adds up whatever is said.
 */
Test(adapcc_behaviour, who_forwards_sends_several_messages)
{
    static const uint32_t chain[] = {CS_TREE_ROOT, 0, 1, 2};
    const bool   active[] = {true, false, true, true}, others[] = {true, true, false, true};
    cs_behaviour b[4];
    cs_strategy  s;

    make(&s, 4, 1);
    set_parents(&s, 0, chain);
    s.trees[0].aggregates[2] = s.trees[0].aggregates[0] = false;
    finish(&s);
    expect_tuples(&s, BITS(0, 2, 3), true, "1110 0111 1101 1001");
    cs_behaviours_of(&s, 0, active, true, b);
    cr_assert(b[1].can_join && b[1].n_received == 2 && b[0].n_received == 1);
    cs_behaviours_of(&s, 0, others, true, b);
    cr_assert(!b[2].can_join && b[2].n_received == 1);
    cs_behaviours_of(&s, 0, active, false, b);
    cr_assert(!b[1].can_join && b[1].n_received == 2 && b[0].n_received == 2);
    cs_strategy_free(&s);
}

Test(adapcc_behaviour, bytes_of_the_first_chunks)
{
    cs_strategy_tree tree = {.size_bytes = SIZE_BYTES, .chunk_bytes = CHUNK_BYTES};

    for (uint64_t c0 = 0; c0 <= CHUNKS; c0++) {
        cr_assert_eq(cs_chunks_bytes(&tree, c0), c0 < 3 ? 100 * c0 : 250);
    }
}

/* ---- who is excluded ---- */

static void expect_left(const uint32_t *parents, uint32_t excluded_set, const uint32_t *want)
{
    bool        excluded[MOST];
    cs_strategy s;
    cs_error    err = {0};

    make(&s, 6, 2);
    for (uint32_t m = 0; m < 2; m++) {
        set_parents(&s, m, parents);
    }
    finish(&s);
    for (uint32_t g = 0; g < 6; g++) {
        excluded[g] = excluded_set >> g & 1;
    }
    cs_status status = cs_strategy_exclude(&s, excluded, &err);
    cr_assert_eq(status, want != NULL ? CS_OK : CS_EINVAL, "%s", err.message);
    for (uint32_t m = 0; m < 2 && want != NULL; m++) {
        for (uint32_t g = 0; g < 6; g++) {
            cr_assert_eq(s.trees[m].parent[g], want[g], "rank %u, without %x", g, excluded_set);
        }
    }
    cs_strategy_free(&s);
}

/* 0 <- {1, 2}, 1 <- {3, 4}, 4 <- 5. */
Test(adapcc_behaviour, trees_without_the_excluded)
{
    const uint32_t R = CS_TREE_ROOT, A = CS_TREE_ABSENT;
    const uint32_t tree[] = {R, 0, 0, 1, 1, 4};

    expect_left(tree, 0, tree);
    expect_left(tree, BITS(5), (const uint32_t[]){R, 0, 0, 1, 1, A});
    expect_left(tree, BITS(1), (const uint32_t[]){R, A, 0, 0, 0, 4});
    expect_left(tree, BITS(1, 4), (const uint32_t[]){R, A, 0, 0, A, 0});
    expect_left(tree, BITS(0), (const uint32_t[]){A, R, 1, 1, 1, 4});
    expect_left(tree, BITS(0, 1), (const uint32_t[]){A, A, R, 2, 2, 4});
    expect_left(tree, BITS(0, 2), (const uint32_t[]){A, R, A, 1, 1, 4});
    expect_left(tree, BITS(0, 1, 2, 4), (const uint32_t[]){A, A, A, R, A, 3});
    expect_left(tree, BITS(0, 1, 2, 3, 5), (const uint32_t[]){A, A, A, A, R, A});
    expect_left(tree, BITS(0, 1, 2, 3, 4, 5), NULL);
}

/* ---- every contribution once ---- */

/* Sets of ranks as bits: what messages of one chunk contain. */
typedef struct messages {
    uint32_t sets[MOST];
    uint32_t n;
} messages;

/* A tree, its late ranks, and the first chunk that each of them contributes to. */
typedef struct story {
    const cs_strategy *strategy;
    uint32_t           m, active_set;
    cs_behaviour       behaviours[MOST];
    uint64_t           c0[MOST];
} story;

/* What rank g sends of a chunk (the root: what it ends with), out of what its children sent. */
static messages pass_on(const story *s, uint32_t g, uint64_t chunk, const messages *sent)
{
    const cs_strategy_tree *tree = &s->strategy->trees[s->m];
    cs_behaviour            b    = s->behaviours[g];
    messages                all  = {.n = 0};
    uint32_t                sum  = 0;
    bool                    root = tree->parent[g] == CS_TREE_ROOT;

    if (!b.is_active && chunk >= s->c0[g]) {
        b = cs_behaviour_joined(b);
    }
    for (uint32_t child = 0; child < s->strategy->n_ranks; child++) {
        for (uint32_t i = 0; tree->parent[child] == g && i < sent[child].n; i++) {
            all.sets[all.n++] = sent[child].sets[i];
        }
    }
    cr_assert_eq(all.n, b.n_received, "rank %u waits for %u of %u", g, b.n_received, all.n);
    cr_assert_eq(b.has_recv, all.n > 0);
    if (b.is_active) {
        all.sets[all.n++] = 1U << g;
    }
    for (uint32_t i = 0; i < all.n; i++) {
        cr_assert_eq(sum & all.sets[i], 0, "rank %u has a contribution twice", g);
        sum |= all.sets[i];
    }
    if (b.has_kernel) {
        cr_assert(all.n > 1 && (tree->aggregates[g] || root), "rank %u adds up nothing", g);
        all = (messages){{sum}, 1};
    }
    cr_assert(all.n < 2 || !(tree->aggregates[g] || root), "rank %u should add up", g);
    cr_assert(root ? !b.has_send : b.has_send == (all.n > 0), "rank %u", g);
    return all;
}

/* Phase 1 of a chunk, then the broadcasts: every rank has every contribution once. */
static void expect_complete(const story *s, uint64_t chunk)
{
    const cs_strategy_tree *tree       = &s->strategy->trees[s->m];
    messages                sent[MOST] = {{{0}, 0}};
    uint32_t                n          = s->strategy->n_ranks;

    for (uint32_t i = n; i-- > 0;) {
        sent[tree->order[i]] = pass_on(s, tree->order[i], chunk, sent);
    }
    uint32_t sum = sent[tree->order[0]].sets[0];
    cr_assert_eq(sent[tree->order[0]].n, 1, "the result is one tensor");
    for (uint32_t g = 0; g < n; g++) {
        if (chunk < s->c0[g]) {
            cr_assert_eq(sum & 1U << g, 0, "rank %u is in phase 1 and 2", g);
            sum |= 1U << g;
        }
    }
    cr_assert_eq(sum, (1U << n) - 1, "active %x, chunk %d: %x", s->active_set, (int)chunk, sum);
}

/* With those who have joined the tuples are those of a tree in which they were active from the
 * beginning. */
static void expect_same_as_active(const story *s, uint64_t chunk)
{
    cs_behaviour want[MOST];
    bool         active[MOST];

    for (uint32_t g = 0; g < s->strategy->n_ranks; g++) {
        active[g] = chunk >= s->c0[g];
    }
    cs_behaviours_of(s->strategy, s->m, active, true, want);
    for (uint32_t g = 0; g < s->strategy->n_ranks; g++) {
        cs_behaviour b = s->behaviours[g];
        if (active[g] && !b.is_active) {
            b = cs_behaviour_joined(b);
        }
        cr_assert(b.is_active == want[g].is_active && b.has_recv == want[g].has_recv &&
                      b.has_kernel == want[g].has_kernel && b.has_send == want[g].has_send &&
                      b.can_join == want[g].can_join && b.n_received == want[g].n_received,
                  "rank %u", g);
    }
}

/* All chunks at which the late ranks may become ready, each on its own: digits of `code`. Returns
 * how many chunks need no broadcast. */
static uint64_t try_positions(story *s, uint32_t code)
{
    uint64_t saved = 0;

    for (uint32_t g = 0; g < s->strategy->n_ranks; g++) {
        s->c0[g] = 0;
        if (!(s->active_set >> g & 1)) {
            s->c0[g] = cs_join_chunk(&s->behaviours[g], code % (CHUNKS + 1), CHUNKS);
            saved += CHUNKS - s->c0[g];
            code /= CHUNKS + 1;
        }
    }
    for (uint64_t chunk = 0; chunk < CHUNKS; chunk++) {
        expect_complete(s, chunk);
        expect_same_as_active(s, chunk);
    }
    return saved;
}

/* Returns how many cases there were; adds to the chunks that late ranks need not broadcast. */
static uint64_t try_tree(const cs_strategy *strategy, uint32_t m, uint64_t *saved)
{
    uint32_t n = strategy->n_ranks, full = (1U << n) - 1;
    uint64_t cases = 0;

    cr_assert_eq(cs_tree_n_chunks(&strategy->trees[m]), CHUNKS);
    for (uint32_t set = 1; set <= full; set++) {
        story    s            = {.strategy = strategy, .m = m, .active_set = set};
        bool     active[MOST] = {false};
        uint32_t codes        = 1;
        for (uint32_t g = 0; g < n; g++) {
            active[g] = set >> g & 1;
            codes *= active[g] ? 1 : CHUNKS + 1;
        }
        cs_behaviours_of(strategy, m, active, true, s.behaviours);
        for (uint32_t code = 0; code < codes; code++, cases++) {
            *saved += try_positions(&s, code);
        }
    }
    return cases;
}

/* Do the parents have one root and no circle? */
static bool is_tree(const uint32_t *parents, uint32_t n)
{
    for (uint32_t g = 0; g < n; g++) {
        uint32_t at = g, steps = 0;
        while (parents[at] != CS_TREE_ROOT && steps++ < n) {
            at = parents[at];
        }
        if (steps > n) {
            return false;
        }
    }
    return true;
}

/* All n^(n-1) trees over n <= 4 ranks, and the 125 over five with root 0. */
Test(adapcc_behaviour, contributions_are_complete_in_all_trees)
{
    static const uint32_t n_trees[] = {0, 0, 1, 3, 16, 125};
    uint64_t              saved = 0, cases = 0;

    for (uint32_t n = 2; n <= 5; n++) {
        for (uint32_t root = 0; root < (n < 5 ? n : 1); root++) {
            cs_strategy s;
            uint32_t    m = 0, codes = 1;
            make(&s, n, n_trees[n]);
            for (uint32_t i = 1; i < n; i++) {
                codes *= n;
            }
            for (uint32_t code = 0; code < codes; code++) {
                uint32_t parents[MOST], rest = code;
                for (uint32_t g = 0; g < n; g++) {
                    parents[g] = g == root ? CS_TREE_ROOT : rest % n;
                    rest       = g == root ? rest : rest / n;
                }
                if (is_tree(parents, n)) {
                    cr_assert_lt(m, n_trees[n]);
                    set_parents(&s, m++, parents);
                }
            }
            cr_assert_eq(m, n_trees[n]);
            finish(&s);
            for (uint32_t tree = 0; tree < m; tree++) {
                cases += try_tree(&s, tree, &saved);
            }
            cs_strategy_free(&s);
        }
    }
    cr_assert_eq(cases, 286808);
    cr_assert_gt(saved, cases / 2, "late ranks do join");
}

/* Six ranks: a chain, a star, a heap and trees at random, whose ranks may forward without adding
 * up. */
Test(adapcc_behaviour, contributions_are_complete_for_six_ranks)
{
    enum { TREES = 32 };
    ct_rng      rng   = ct_rng_for(13);
    uint64_t    saved = 0, cases = 0;
    cs_strategy s;

    make(&s, 6, TREES);
    for (uint32_t m = 0; m < TREES; m++) {
        uint32_t order[6] = {0, 1, 2, 3, 4, 5};
        for (uint32_t i = 5; i > 0; i--) {
            uint32_t j = ct_below(&rng, i + 1), kept = order[i];
            order[i] = order[j];
            order[j] = kept;
        }
        s.trees[m].parent[order[0]] = CS_TREE_ROOT;
        for (uint32_t i = 1; i < 6; i++) {
            uint32_t up = m == 0 ? i - 1 : m == 1 ? 0 : m == 2 ? (i - 1) / 2 : ct_below(&rng, i);
            s.trees[m].parent[order[i]]     = order[up];
            s.trees[m].aggregates[order[i]] = m < 12 || ct_below(&rng, 3) > 0;
        }
    }
    finish(&s);
    for (uint32_t m = 0; m < TREES; m++) {
        cases += try_tree(&s, m, &saved);
    }
    cr_assert_eq(cases, TREES * (15625U - 4096U));
    cr_assert_gt(saved, cases);
    cs_strategy_free(&s);
}
