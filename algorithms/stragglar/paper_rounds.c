/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Algorithm 1 of the StragglAR paper: see paper_rounds.h. The age of a chunk in round r is
 * counted from the oldest active one: chunk r - k has age 0, chunk r - 1 age k - 1. */
#include "algorithms/stragglar/paper_rounds.h"

#include "algorithms/lib/accept.h"

#include <string.h>

uint32_t cs_paper_rounds_count(uint32_t n)
{
    return n - 2 + cs_log2_ceil(n);
}

cs_status cs_paper_rounds_start(cs_paper_rounds *paper, uint32_t n, cs_arena *arena, cs_error *err)
{
    uint32_t rounds = cs_paper_rounds_count(n);

    *paper     = (cs_paper_rounds){.n        = n,
                                   .k        = rounds - (n - 2),
                                   .early    = n - 1,
                                   .n_rounds = rounds,
                                   .active   = CS_ARENA_NEW(arena, uint32_t, n),
                                   .next     = CS_ARENA_NEW(arena, uint32_t, n),
                                   .by_age   = CS_ARENA_NEW(arena, uint32_t, n),
                                   .is_busy  = CS_ARENA_NEW(arena, bool, n)};
    paper->out = CS_ARENA_NEW(arena, cs_label_transfer, (size_t)2 * n);
    if (paper->active == NULL || paper->next == NULL || paper->by_age == NULL ||
        paper->is_busy == NULL || paper->out == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for the rounds of %u labels", n);
    }
    cs_paper_rounds_rewind(paper);
    return CS_OK;
}

void cs_paper_rounds_rewind(cs_paper_rounds *paper)
{
    paper->round  = 0;
    paper->count  = 0;
    paper->failed = false;
    memset(paper->active, 0xff, paper->n * sizeof *paper->active);
}

static void add(cs_paper_rounds *p, uint32_t src, uint32_t dst, uint32_t chunk, cs_label_kind kind)
{
    p->out[p->count++] = (cs_label_transfer){src, dst, chunk, kind};
}

/* A label hands its active chunk to one that has none. */
static void hand_on(cs_paper_rounds *p, uint32_t src, uint32_t dst)
{
    add(p, src, dst, p->active[src], CS_LABEL_COPY);
    p->next[dst]    = p->active[src];
    p->is_busy[src] = p->is_busy[dst] = true;
}

/* Rounds 1 .. k - 1: the one that met the straggler last prepares the label that has to have its
 * chunk when it meets the straggler itself, the others any label far behind. */
static void spread_first_chunks(cs_paper_rounds *p)
{
    uint32_t target = 2 * (p->k - 1) + 1, r = p->round;

    hand_on(p, r - 1, r - 1 + p->k);
    for (uint32_t g = 0; g < p->early && !p->failed; g++) {
        if (p->active[g] == CS_NO_LABEL || p->is_busy[g]) {
            continue;
        }
        while (target < p->early && (p->active[target] != CS_NO_LABEL || p->is_busy[target])) {
            target++;
        }
        if (target >= p->early) {
            p->failed = true;
        } else {
            hand_on(p, g, target++);
        }
    }
}

static uint32_t age_of(const cs_paper_rounds *p, uint32_t label)
{
    return p->active[label] - (p->round - p->k);
}

/* A counting sort of the free labels by the age of their chunk. */
static void sort_by_age(cs_paper_rounds *p)
{
    memset(p->start, 0, sizeof p->start);
    for (uint32_t g = 0; g < p->n && !p->failed; g++) {
        p->failed = !p->is_busy[g] && (p->active[g] == CS_NO_LABEL || age_of(p, g) >= p->k);
        if (!p->is_busy[g] && !p->failed) {
            p->start[age_of(p, g) + 1]++;
        }
    }
    for (uint32_t a = 0; a < p->k && !p->failed; a++) {
        p->cursor[a] = p->start[a];
        p->start[a + 1] += p->start[a];
    }
    for (uint32_t g = 0; g < p->n && !p->failed; g++) {
        if (!p->is_busy[g]) {
            p->by_age[p->cursor[age_of(p, g)]++] = g;
        }
    }
    memcpy(p->cursor, p->start, sizeof p->cursor);
}

/* Two labels exchange their active chunks; whose chunk was the oldest takes up the other's. */
static void exchange(cs_paper_rounds *p, uint32_t u, uint32_t v)
{
    uint32_t straggler = p->early;

    if (v != straggler) {
        add(p, u, v, p->active[u], CS_LABEL_COPY);
    }
    if (u != straggler) {
        add(p, v, u, p->active[v], CS_LABEL_COPY);
    }
    if (age_of(p, u) == 0) {
        p->next[u] = p->active[v];
    }
    if (age_of(p, v) == 0) {
        p->next[v] = p->active[u];
    }
    p->is_busy[u] = p->is_busy[v] = true;
}

/* The first free holder of a chunk of this age outside the window (first, end), or CS_NO_LABEL. */
static uint32_t holder_outside(cs_paper_rounds *p, uint32_t age, uint32_t first, uint32_t end)
{
    for (uint32_t *at = &p->cursor[age]; *at < p->start[age + 1]; ++*at) {
        uint32_t g = p->by_age[*at];
        if (!p->is_busy[g] && (g < first || g >= end)) {
            return g;
        }
    }
    return CS_NO_LABEL;
}

/* The critical window chooses first. */
static void pair_window(cs_paper_rounds *p)
{
    uint32_t first = p->round + 1, end = p->round + p->k;

    end = end < p->early ? end : p->early;
    for (uint32_t g = first; g < end && !p->failed; g++) {
        uint32_t holder = CS_NO_LABEL;
        for (uint32_t age = 0; age < p->k && holder == CS_NO_LABEL; age++) {
            holder = age == age_of(p, g) ? CS_NO_LABEL : holder_outside(p, age, first, end);
        }
        p->failed = holder == CS_NO_LABEL;
        if (!p->failed) {
            exchange(p, g, holder);
        }
    }
}

/* P with Q: the free holders of the oldest chunk with all others, in any order. */
static void pair_rest(cs_paper_rounds *p)
{
    uint32_t q = p->start[1], end = p->start[p->k];

    for (uint32_t i = 0; i < p->start[1] && !p->failed; i++) {
        uint32_t u = p->by_age[i];
        if (p->is_busy[u]) {
            continue;
        }
        while (q < end && p->is_busy[p->by_age[q]]) {
            q++;
        }
        p->failed = q == end;
        if (!p->failed) {
            exchange(p, u, p->by_age[q]);
        }
    }
    while (q < end && p->is_busy[p->by_age[q]]) {
        q++;
    }
    p->failed = p->failed || q != end;
}

static void exchange_all(cs_paper_rounds *p)
{
    if (p->round >= p->early) {
        p->active[p->early] = p->early - 1; /* the straggler offers the last chunk only */
    }
    sort_by_age(p);
    if (p->round < p->early && !p->failed) {
        pair_window(p);
    }
    if (!p->failed) {
        pair_rest(p);
    }
}

bool cs_paper_rounds_next(cs_paper_rounds *p)
{
    uint32_t *swapped = p->next;

    if (p->round >= p->n_rounds || p->failed) {
        return false;
    }
    p->count = 0;
    memset(p->is_busy, 0, p->n * sizeof *p->is_busy);
    memcpy(p->next, p->active, p->n * sizeof *p->next);
    if (p->round < p->early) {
        add(p, p->round, p->early, p->round, CS_LABEL_EXCHANGE);
        p->is_busy[p->round] = p->is_busy[p->early] = true;
    }
    if (p->round >= p->k) {
        exchange_all(p);
    } else if (p->round > 0) {
        spread_first_chunks(p);
    }
    if (p->round < p->early) {
        p->next[p->round] = p->round;
    }
    p->next   = p->active;
    p->active = swapped;
    p->round++;
    return !p->failed;
}

cs_status cs_paper_rounds_check(uint32_t n, cs_error *err)
{
    const cs_label_shape shape = {.n = n, .early = n - 1, .chunks = n - 1, .is_telephone = true};
    cs_arena             arena = {0};
    cs_label_check       check;
    cs_paper_rounds      paper;
    cs_status            status = cs_label_check_start(&check, &shape, err);

    if (status == CS_OK) {
        status = cs_paper_rounds_start(&paper, n, &arena, err);
    }
    while (status == CS_OK && cs_paper_rounds_next(&paper)) {
        status = cs_label_check_round(&check, paper.out, paper.count, err);
    }
    if (status == CS_OK) {
        status = cs_label_check_end(&check, err);
    }
    cs_label_check_free(&check);
    cs_arena_free(&arena);
    return status;
}
