/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Spreading complete chunks over free ports: see klate_spread.h. */
#include "algorithms/stragglar/klate_spread.h"

#include <string.h>

cs_status cs_klate_spread_start(cs_klate_spread *s, uint32_t n, uint32_t chunks, cs_arena *arena,
                                cs_error *err)
{
    uint32_t chunk_words = (chunks + 63) / 64, label_words = (n + 63) / 64;

    *s = (cs_klate_spread){
        .n            = n,
        .chunks       = chunks,
        .chunk_words  = chunk_words,
        .label_words  = label_words,
        .n_missing    = (uint64_t)n * chunks,
        .full         = CS_ARENA_NEW(arena, uint64_t, (size_t)n * chunk_words),
        .holders      = CS_ARENA_NEW(arena, uint64_t, (size_t)chunks * label_words),
        .n_full       = CS_ARENA_NEW(arena, uint32_t, n),
        .n_holders    = CS_ARENA_NEW(arena, uint32_t, chunks),
        .sends        = CS_ARENA_NEW(arena, bool, n),
        .gets         = CS_ARENA_NEW(arena, bool, n),
        .is_away      = CS_ARENA_NEW(arena, bool, n),
        .pairs        = CS_ARENA_NEW(arena, cs_klate_pair, n),
        .notes        = CS_ARENA_NEW(arena, cs_klate_pair, (size_t)2 * n),
        .order        = CS_ARENA_NEW(arena, uint32_t, chunks),
        .receivers    = CS_ARENA_NEW(arena, uint32_t, n),
        .free_senders = CS_ARENA_NEW(arena, uint64_t, label_words),
        .seen         = CS_ARENA_NEW(arena, uint64_t, label_words),
        .dead         = CS_ARENA_NEW(arena, uint64_t, label_words),
        .sender_of    = CS_ARENA_NEW(arena, uint32_t, n),
        .receiver_of  = CS_ARENA_NEW(arena, uint32_t, n),
        .stack        = CS_ARENA_NEW(arena, uint32_t, n),
        .via          = CS_ARENA_NEW(arena, uint32_t, n),
        .bucket       = CS_ARENA_NEW(arena, uint32_t, (size_t)(n > chunks ? n : chunks) + 2),
    };
    if (s->full == NULL || s->holders == NULL || s->n_full == NULL || s->n_holders == NULL ||
        s->sends == NULL || s->gets == NULL || s->is_away == NULL || s->pairs == NULL ||
        s->notes == NULL || s->order == NULL || s->receivers == NULL || s->free_senders == NULL ||
        s->seen == NULL || s->dead == NULL || s->sender_of == NULL || s->receiver_of == NULL ||
        s->stack == NULL || s->via == NULL || s->bucket == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for %u labels and %u chunks", n, chunks);
    }
    return CS_OK;
}

static bool has(const cs_klate_spread *s, uint32_t label, uint32_t chunk)
{
    return (s->full[(size_t)label * s->chunk_words + chunk / 64] >> chunk % 64 & 1u) != 0;
}

static bool is_useful(const cs_klate_spread *s, uint32_t src, uint32_t dst)
{
    const uint64_t *from = s->full + (size_t)src * s->chunk_words;
    const uint64_t *to   = s->full + (size_t)dst * s->chunk_words;

    for (uint32_t w = 0; w < s->chunk_words; w++) {
        if ((from[w] & ~to[w]) != 0) {
            return true;
        }
    }
    return false;
}

/* Sort the numbers i < count that have a key in [low, high) by (key, i) into `sorted`. */
static uint32_t sort_by_key(cs_klate_spread *s, const uint32_t *key, uint32_t count, uint32_t low,
                            uint32_t high, uint32_t *sorted)
{
    uint32_t total = 0;

    memset(s->bucket, 0, ((size_t)high + 1) * sizeof *s->bucket);
    for (uint32_t i = 0; i < count; i++) {
        if (key[i] >= low && key[i] < high) {
            s->bucket[key[i] + 1]++;
            total++;
        }
    }
    for (uint32_t k = 0; k < high; k++) {
        s->bucket[k + 1] += s->bucket[k];
    }
    for (uint32_t i = 0; i < count; i++) {
        if (key[i] >= low && key[i] < high) {
            sorted[s->bucket[key[i]]++] = i;
        }
    }
    return total;
}

/* Who may send, who wants to receive, and which chunks are on their way. */
static void collect(cs_klate_spread *s)
{
    uint32_t kept = 0;

    memset(s->free_senders, 0, s->label_words * sizeof *s->free_senders);
    memset(s->sender_of, 0xff, s->n * sizeof *s->sender_of);
    memset(s->receiver_of, 0xff, s->n * sizeof *s->receiver_of);
    for (uint32_t g = 0; g < s->n; g++) {
        if (!s->sends[g] && s->n_full[g] > 0) {
            s->free_senders[g / 64] |= (uint64_t)1 << g % 64;
        }
    }
    s->n_order     = sort_by_key(s, s->n_holders, s->chunks, 1, s->n, s->order);
    s->n_receivers = sort_by_key(s, s->n_full, s->n, 0, s->chunks, s->receivers);
    for (uint32_t i = 0; i < s->n_receivers; i++) {
        uint32_t g = s->receivers[i];
        if (!s->gets[g] && !s->is_away[g]) {
            s->receivers[kept++] = g;
        }
    }
    s->n_receivers = kept;
}

static void join(cs_klate_spread *s, uint32_t src, uint32_t dst)
{
    s->sender_of[dst]   = src;
    s->receiver_of[src] = dst;
    s->free_senders[src / 64] &= ~((uint64_t)1 << src % 64);
}

/* The lowest free sender of a chunk, or CS_KLATE_NOBODY. */
static uint32_t free_holder(const cs_klate_spread *s, uint32_t chunk)
{
    const uint64_t *holders = s->holders + (size_t)chunk * s->label_words;

    for (uint32_t w = 0; w < s->label_words; w++) {
        uint64_t bits = holders[w] & s->free_senders[w];
        if (bits != 0) {
            return w * 64 + (uint32_t)__builtin_ctzll(bits);
        }
    }
    return CS_KLATE_NOBODY;
}

static void join_rarest(cs_klate_spread *s, uint32_t dst)
{
    for (uint32_t i = 0; i < s->n_order; i++) {
        uint32_t chunk = s->order[i], src = CS_KLATE_NOBODY;
        if (!has(s, dst, chunk)) {
            src = free_holder(s, chunk);
        }
        if (src != CS_KLATE_NOBODY) {
            join(s, src, dst);
            return;
        }
    }
}

/* The next sender from `from` on that no search has seen and that is useful to `dst`; it is seen
 * then. */
static uint32_t unseen_sender(cs_klate_spread *s, uint32_t dst, uint32_t from)
{
    for (uint32_t w = from / 64; w < s->label_words; w++) {
        uint64_t left = ~s->seen[w] & (w == from / 64 ? UINT64_MAX << from % 64 : UINT64_MAX);
        for (; left != 0; left &= left - 1) {
            uint32_t g = w * 64 + (uint32_t)__builtin_ctzll(left);
            if (is_useful(s, g, dst)) {
                s->seen[w] |= left & -left;
                return g;
            }
        }
    }
    return CS_KLATE_NOBODY;
}

/* Only those that may send count as not seen. */
static void forget_searches(cs_klate_spread *s)
{
    memset(s->seen, 0xff, s->label_words * sizeof *s->seen);
    for (uint32_t g = 0; g < s->n; g++) {
        if (!s->sends[g] && s->n_full[g] > 0) {
            s->seen[g / 64] &= ~((uint64_t)1 << g % 64);
        }
    }
}

/* A depth-first search for an augmenting path from `dst`, without recursion. What a search without
 * success has seen leads nowhere later either, and stays seen. */
static bool augment(cs_klate_spread *s, uint32_t dst)
{
    uint32_t depth = 1;

    s->stack[0] = dst;
    s->via[0]   = 0;
    while (depth > 0) {
        uint32_t src = unseen_sender(s, s->stack[depth - 1], s->via[depth - 1]);
        if (src == CS_KLATE_NOBODY) {
            depth--;
            continue;
        }
        s->via[depth - 1] = src;
        if (s->receiver_of[src] != CS_KLATE_NOBODY) {
            s->via[depth]     = 0;
            s->stack[depth++] = s->receiver_of[src];
            continue;
        }
        while (depth-- > 0) {
            join(s, s->via[depth], s->stack[depth]);
        }
        return true;
    }
    return false;
}

/* The searches, from every receiver that has no sender yet. */
static void augment_all(cs_klate_spread *s)
{
    size_t bytes = s->label_words * sizeof *s->seen;

    forget_searches(s);
    memcpy(s->dead, s->seen, bytes);
    for (uint32_t i = 0; i < s->n_receivers; i++) {
        if (s->sender_of[s->receivers[i]] != CS_KLATE_NOBODY) {
            continue;
        }
        if (augment(s, s->receivers[i])) {
            memcpy(s->seen, s->dead, bytes);
        } else {
            memcpy(s->dead, s->seen, bytes);
        }
    }
}

static uint32_t rarest_useful(const cs_klate_spread *s, uint32_t src, uint32_t dst)
{
    for (uint32_t i = 0; i < s->n_order; i++) {
        if (has(s, src, s->order[i]) && !has(s, dst, s->order[i])) {
            return s->order[i];
        }
    }
    return CS_KLATE_NOBODY;
}

uint32_t cs_klate_spread_round(cs_klate_spread *s)
{
    collect(s);
    for (uint32_t i = 0; i < s->n_receivers; i++) {
        join_rarest(s, s->receivers[i]);
    }
    augment_all(s);
    s->n_pairs = 0;
    for (uint32_t src = 0; src < s->n; src++) {
        uint32_t dst = s->receiver_of[src];
        if (dst != CS_KLATE_NOBODY) {
            s->pairs[s->n_pairs++] = (cs_klate_pair){src, dst, rarest_useful(s, src, dst)};
        }
    }
    return s->n_pairs;
}

static void set_full(cs_klate_spread *s, uint32_t label, uint32_t chunk)
{
    s->full[(size_t)label * s->chunk_words + chunk / 64] |= (uint64_t)1 << chunk % 64;
    s->holders[(size_t)chunk * s->label_words + label / 64] |= (uint64_t)1 << label % 64;
    s->n_full[label]++;
    s->n_holders[chunk]++;
    s->n_missing--;
}

void cs_klate_spread_end(cs_klate_spread *s)
{
    for (uint32_t i = 0; i < s->n_notes; i++) {
        set_full(s, s->notes[i].dst, s->notes[i].chunk);
    }
    for (uint32_t i = 0; i < s->n_pairs; i++) {
        set_full(s, s->pairs[i].dst, s->pairs[i].chunk);
    }
    s->n_notes = 0;
}
