/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "algorithms/stragglar/multi_late_rounds.h"

#include "base/arena.h"
#include "base/log2.h"
#include "cs/schedule.h"

#include <string.h>

/* ---- spreading complete chunks over the ports that are free ----
 *
 * The second half of a round. Receivers in the order (fewest complete chunks, label); each takes
 * the lowest free sender of the rarest chunk that it lacks (fewest holders, then the chunk's
 * number). Who finds none tries augmenting paths, which makes the number of pairs as large as it
 * can be. Then every pair carries the rarest chunk that is useful to it. */

typedef struct label_pair {
    uint32_t src, dst, chunk;
} label_pair;

typedef struct spread {
    uint32_t    n, chunks;
    uint32_t    chunk_words, label_words;
    uint64_t   *full;      /* [n][chunk_words] bit c: has the complete chunk c */
    uint64_t   *holders;   /* [chunks][label_words] the same, the other way round */
    uint32_t   *n_full;    /* [n] */
    uint32_t   *n_holders; /* [chunks] */
    uint64_t    n_missing; /* (label, chunk) pairs */
    bool       *sends;     /* [n] the port is taken in this round; the caller's to set */
    bool       *gets;      /* [n] */
    bool       *is_away;   /* [n] has not come yet; the caller's to set */
    label_pair *pairs;     /* [n] what the round adds */
    uint32_t    n_pairs;
    label_pair *notes; /* [2 n] labels that get a complete chunk in this round (src unused) */
    uint32_t    n_notes;
    uint32_t   *order, n_order;         /* [chunks] chunks to spread, rarest first */
    uint32_t   *receivers, n_receivers; /* [n] */
    uint64_t   *free_senders;           /* [label_words] */
    uint64_t   *seen;                   /* [label_words] senders that no search may take any more */
    uint64_t   *dead; /* [label_words] ... and those of searches without success */
    uint32_t   *sender_of, *receiver_of; /* [n] or NOBODY */
    uint32_t   *stack, *via;             /* [n] receivers of a search, sender that led on */
    uint32_t   *bucket;                  /* [max(n, chunks) + 2] for sorting */
} spread;

#define NOBODY UINT32_MAX

/* `label` has the complete chunk after this round. */
static void note_full(spread *s, uint32_t label, uint32_t chunk)
{
    s->notes[s->n_notes++] = (label_pair){0, label, chunk};
}

static cs_status start_spread(spread *s, uint32_t n, uint32_t chunks, cs_arena *arena,
                              cs_error *err)
{
    uint32_t chunk_words = (chunks + 63) / 64, label_words = (n + 63) / 64;

    *s = (spread){
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
        .pairs        = CS_ARENA_NEW(arena, label_pair, n),
        .notes        = CS_ARENA_NEW(arena, label_pair, (size_t)2 * n),
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
        return CS_NO_MEMORY(err, "%u labels and %u chunks", n, chunks);
    }
    return CS_OK;
}

static bool has(const spread *s, uint32_t label, uint32_t chunk)
{
    return (s->full[(size_t)label * s->chunk_words + chunk / 64] >> chunk % 64 & 1u) != 0;
}

static bool is_useful(const spread *s, uint32_t src, uint32_t dst)
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
static uint32_t sort_by_key(spread *s, const uint32_t *key, uint32_t count, uint32_t low,
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
static void collect(spread *s)
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

static void join(spread *s, uint32_t src, uint32_t dst)
{
    s->sender_of[dst]   = src;
    s->receiver_of[src] = dst;
    s->free_senders[src / 64] &= ~((uint64_t)1 << src % 64);
}

/* The lowest free sender of a chunk, or NOBODY. */
static uint32_t free_holder(const spread *s, uint32_t chunk)
{
    const uint64_t *holders = s->holders + (size_t)chunk * s->label_words;

    for (uint32_t w = 0; w < s->label_words; w++) {
        uint64_t bits = holders[w] & s->free_senders[w];
        if (bits != 0) {
            return w * 64 + (uint32_t)__builtin_ctzll(bits);
        }
    }
    return NOBODY;
}

static void join_rarest(spread *s, uint32_t dst)
{
    for (uint32_t i = 0; i < s->n_order; i++) {
        uint32_t chunk = s->order[i], src = NOBODY;
        if (!has(s, dst, chunk)) {
            src = free_holder(s, chunk);
        }
        if (src != NOBODY) {
            join(s, src, dst);
            return;
        }
    }
}

/* The next sender from `from` on that no search has seen and that is useful to `dst`; it is seen
 * then. */
static uint32_t unseen_sender(spread *s, uint32_t dst, uint32_t from)
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
    return NOBODY;
}

/* Only those that may send count as not seen. */
static void forget_searches(spread *s)
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
static bool augment(spread *s, uint32_t dst)
{
    uint32_t depth = 1;

    s->stack[0] = dst;
    s->via[0]   = 0;
    while (depth > 0) {
        uint32_t src = unseen_sender(s, s->stack[depth - 1], s->via[depth - 1]);
        if (src == NOBODY) {
            depth--;
            continue;
        }
        s->via[depth - 1] = src;
        if (s->receiver_of[src] != NOBODY) {
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
static void augment_all(spread *s)
{
    size_t bytes = s->label_words * sizeof *s->seen;

    forget_searches(s);
    memcpy(s->dead, s->seen, bytes);
    for (uint32_t i = 0; i < s->n_receivers; i++) {
        if (s->sender_of[s->receivers[i]] != NOBODY) {
            continue;
        }
        if (augment(s, s->receivers[i])) {
            memcpy(s->seen, s->dead, bytes);
        } else {
            memcpy(s->dead, s->seen, bytes);
        }
    }
}

static uint32_t rarest_useful(const spread *s, uint32_t src, uint32_t dst)
{
    for (uint32_t i = 0; i < s->n_order; i++) {
        if (has(s, src, s->order[i]) && !has(s, dst, s->order[i])) {
            return s->order[i];
        }
    }
    return NOBODY;
}

/* Choose the pairs of this round, given the ports that are taken; returns their number. */
static uint32_t spread_round(spread *s)
{
    collect(s);
    for (uint32_t i = 0; i < s->n_receivers; i++) {
        join_rarest(s, s->receivers[i]);
    }
    augment_all(s);
    s->n_pairs = 0;
    for (uint32_t src = 0; src < s->n; src++) {
        uint32_t dst = s->receiver_of[src];
        if (dst != NOBODY) {
            s->pairs[s->n_pairs++] = (label_pair){src, dst, rarest_useful(s, src, dst)};
        }
    }
    return s->n_pairs;
}

static void set_full(spread *s, uint32_t label, uint32_t chunk)
{
    s->full[(size_t)label * s->chunk_words + chunk / 64] |= (uint64_t)1 << chunk % 64;
    s->holders[(size_t)chunk * s->label_words + label / 64] |= (uint64_t)1 << label % 64;
    s->n_full[label]++;
    s->n_holders[chunk]++;
    s->n_missing--;
}

/* After the round: what was noted and what was sent is there. */
static void end_spread(spread *s)
{
    for (uint32_t i = 0; i < s->n_notes; i++) {
        set_full(s, s->notes[i].dst, s->notes[i].chunk);
    }
    for (uint32_t i = 0; i < s->n_pairs; i++) {
        set_full(s, s->pairs[i].dst, s->pairs[i].chunk);
    }
    s->n_notes = 0;
}

/* ---- the raws, and the course of a round ---- */

typedef struct builder {
    cs_multi_late_task task;
    uint32_t           n, early, late, chunks, round;
    cs_arena           arena;
    spread             spread;
    uint32_t          *root;    /* [chunks] label */
    uint32_t          *merged;  /* [chunks] raws at the root */
    uint8_t           *sent;    /* [late][chunks] */
    uint32_t          *n_sent;  /* [late] */
    uint32_t          *order;   /* [late] who sends first */
    uint32_t          *touched; /* [late] chunk whose raw was sent in this round */
    uint32_t           n_touched;
    cs_label_rounds    rounds;
    cs_error          *err;
    cs_status          status;
} builder;

uint32_t cs_multi_late_fewest(uint32_t n, uint32_t early, uint32_t chunks)
{
    uint64_t messages = (uint64_t)chunks * (2 * (uint64_t)n - early - 1);
    uint64_t last     = (uint64_t)chunks - 1 + cs_log2_ceil(n);
    uint64_t ports    = (messages + n - 1) / n;

    return (uint32_t)(last > ports ? last : ports);
}

/* Spread the late roots evenly over the chunks, one late label after the other. */
static void choose_roots(builder *b)
{
    uint64_t num = b->task.root_num, den = b->task.root_den, next = 0;

    num = num < den ? num : den;
    for (uint64_t c = 0; c < b->chunks; c++) {
        bool is_late = (c + 1) * num / den > c * num / den;
        b->root[c]   = is_late ? b->early + (uint32_t)(next++ % b->late) : (uint32_t)c % b->early;
    }
}

static cs_status prepare(builder *b, cs_error *err)
{
    size_t chunks = b->chunks, late = b->late;

    b->root    = CS_ARENA_NEW(&b->arena, uint32_t, chunks);
    b->merged  = CS_ARENA_NEW(&b->arena, uint32_t, chunks);
    b->sent    = CS_ARENA_NEW(&b->arena, uint8_t, late * chunks);
    b->n_sent  = CS_ARENA_NEW(&b->arena, uint32_t, late);
    b->order   = CS_ARENA_NEW(&b->arena, uint32_t, late);
    b->touched = CS_ARENA_NEW(&b->arena, uint32_t, late);
    if (b->root == NULL || b->merged == NULL || b->sent == NULL || b->n_sent == NULL ||
        b->order == NULL || b->touched == NULL) {
        return CS_NO_MEMORY(err, "%u late ranks", b->late);
    }
    choose_roots(b);
    return start_spread(&b->spread, b->n, b->chunks, &b->arena, err);
}

static bool has_come(const builder *b, uint32_t label)
{
    return label < b->early || b->task.arrival == NULL ||
           b->task.arrival[label - b->early] <= b->round;
}

static void add(builder *b, uint32_t src, uint32_t dst, uint32_t chunk, cs_label_kind kind)
{
    if (b->status == CS_OK) {
        b->status =
            cs_label_rounds_add(&b->rounds, (cs_label_transfer){src, dst, chunk, kind}, b->err);
    }
}

/* Where the raw of late label i to this chunk may go now, or CS_NO_LABEL. */
static uint32_t raw_target(const builder *b, uint32_t i, uint32_t chunk)
{
    uint32_t root = b->root[chunk], owner = chunk % b->early;
    bool     is_root = root == b->early + i;
    uint32_t target  = is_root ? owner : root;

    if (b->sent[(size_t)i * b->chunks + chunk] != 0 || b->spread.gets[target] ||
        (is_root && b->merged[chunk] + 1 < b->late) || !has_come(b, target)) {
        return CS_NO_LABEL;
    }
    return target;
}

/* The chunk whose raw label i sends: most raws merged, a late root counting as one, its own root
 * first of all; then the lowest. */
static uint32_t choose_raw(const builder *b, uint32_t i, uint32_t *target_p)
{
    uint32_t best = CS_NO_LABEL, most = 0;

    for (uint32_t c = 0; c < b->chunks; c++) {
        uint32_t target = raw_target(b, i, c);
        if (target == CS_NO_LABEL) {
            continue;
        }
        bool     is_root = b->root[c] == b->early + i;
        uint32_t value   = is_root ? b->late : b->merged[c] + (b->root[c] >= b->early);
        if (best == CS_NO_LABEL || value > most) {
            best      = c;
            most      = value;
            *target_p = target;
        }
    }
    return best;
}

static void send_raw(builder *b, uint32_t i)
{
    spread  *s      = &b->spread;
    uint32_t target = 0, label = b->early + i, chunk = choose_raw(b, i, &target);

    if (chunk == CS_NO_LABEL) {
        return;
    }
    bool completes = target == chunk % b->early && b->merged[chunk] + 1 == b->late;
    bool exchanges = completes && !s->sends[target] && !s->gets[label];

    s->sends[label] = s->gets[target]      = true;
    b->sent[(size_t)i * b->chunks + chunk] = 1;
    b->n_sent[i]++;
    b->touched[b->n_touched++] = chunk;
    add(b, label, target, chunk,
        exchanges   ? CS_LABEL_EXCHANGE
        : completes ? CS_LABEL_LAST
                    : CS_LABEL_RAW);
    if (completes) {
        note_full(s, target, chunk);
    }
    if (exchanges) {
        s->sends[target] = s->gets[label] = true;
        note_full(s, label, chunk);
    }
}

/* Late labels that have come and still have raws, most raws left first. */
static uint32_t order_late(builder *b)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < b->late; i++) {
        uint32_t at = count;
        if (!has_come(b, b->early + i) || b->n_sent[i] == b->chunks) {
            continue;
        }
        while (at > 0 && b->n_sent[b->order[at - 1]] > b->n_sent[i]) {
            b->order[at] = b->order[at - 1];
            at--;
        }
        b->order[at] = i;
        count++;
    }
    return count;
}

/* The first arrival after this round, or the round itself when all are there. */
static uint32_t next_arrival(const builder *b)
{
    uint32_t next = b->round;

    for (uint32_t i = 0; i < b->late; i++) {
        if (!has_come(b, b->early + i) && (next == b->round || b->task.arrival[i] < next)) {
            next = b->task.arrival[i];
        }
    }
    return next;
}

static cs_status add_round(builder *b, cs_error *err)
{
    size_t  before = b->rounds.n_transfers;
    spread *s      = &b->spread;

    memset(s->sends, 0, b->n * sizeof *s->sends);
    memset(s->gets, 0, b->n * sizeof *s->gets);
    for (uint32_t label = b->early; label < b->n; label++) {
        s->is_away[label] = !has_come(b, label);
    }
    b->n_touched   = 0;
    uint32_t count = order_late(b);
    for (uint32_t i = 0; i < count; i++) {
        send_raw(b, b->order[i]);
    }
    uint32_t pairs = spread_round(s);
    for (uint32_t i = 0; i < pairs; i++) {
        add(b, s->pairs[i].src, s->pairs[i].dst, s->pairs[i].chunk, CS_LABEL_COPY);
    }
    for (uint32_t i = 0; i < b->n_touched; i++) {
        b->merged[b->touched[i]]++;
    }
    end_spread(s);
    if (b->status != CS_OK) {
        return b->status;
    }
    if (b->rounds.n_transfers > before) {
        b->round++;
        return cs_label_rounds_end(&b->rounds, err);
    }
    uint32_t next = next_arrival(b);
    if (next == b->round) {
        return CS_FAIL(err, CS_EINTERNAL, "algorithm.options.late_ranks",
                       "round %u of %u late ranks brings nothing", b->round, b->late);
    }
    b->round = next;
    return CS_OK;
}

static cs_status build(builder *b, cs_error *err)
{
    const cs_label_shape shape = {.n = b->n, .early = b->early, .chunks = b->chunks};

    CS_TRY(prepare(b, err));
    while (b->spread.n_missing > 0) {
        CS_TRY(add_round(b, err));
    }
    return cs_label_rounds_check(&b->rounds, &shape, err);
}

cs_status cs_multi_late_build(const cs_multi_late_task *task, cs_multi_late_rounds *rounds_p,
                              cs_error *err)
{
    builder   b      = {.task   = *task,
                        .n      = task->n,
                        .early  = task->early,
                        .late   = task->n - task->early,
                        .chunks = task->early * task->parts,
                        .err    = err};
    cs_status status = build(&b, err);

    if (status == CS_OK) {
        rounds_p->ticks = b.round;
    }
    cs_arena_free(&b.arena);
    return cs_label_rounds_give(status, &b.rounds, &rounds_p->rounds);
}

/* ---- how long that takes ---- */

double cs_multi_late_work(uint32_t n, uint32_t early, uint32_t chunks)
{
    double rounds   = cs_multi_late_fewest(n, early, chunks);
    double searches = (double)n * n * early / 80;
    double scans    = (2.0 * (n - early) + 1) * chunks;

    return rounds * (searches + scans);
}

/* The work grows with the parts, so that halving finds the last number. */
uint32_t cs_multi_late_most_parts(uint32_t n, uint32_t early)
{
    uint32_t low = 1, high = CS_MAX_SLOTS / early + 1;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (cs_multi_late_work(n, early, early * middle) <= CS_MULTI_LATE_MOST_WORK) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}
