/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fingerprints while the schedule is replayed; and the second pass over a schedule that fails them,
 * which finds the first transfer that is wrong. */
#include "engine/verify.h"

#include "base/random.h"

#include <assert.h>
#include <stdio.h>

/* Words of the two families come from different seeds; odd, so that no product vanishes. */
enum { RANK_SEED = 0x5261, CHUNK_SEED = 0x4368 };

static uint64_t word_of(uint64_t seed, uint32_t index)
{
    return cs_mix64(cs_mix64(seed) ^ index) | 1u;
}

static void fill_words(cs_fingerprints *f)
{
    const cs_chunks chunks    = cs_chunks_of(f->scenario, f->n_chunks);
    uint64_t        all_ranks = 0;

    for (uint32_t r = 0; r < f->n_ranks; r++) {
        f->rank[r].word = word_of(RANK_SEED, r);
        all_ranks += f->rank[r].word;
    }
    for (uint32_t c = 0; c < f->n_chunks; c++) {
        uint32_t who     = cs_chunk_contributor(&chunks, c);
        f->chunk[c].word = word_of(CHUNK_SEED, c);
        f->chunk[c].want =
            f->chunk[c].word * (who == CS_EVERY_RANK ? all_ranks : f->rank[who].word);
    }
}

cs_status cs_fingerprints_open(cs_fingerprints *f, cs_arena *arena, const cs_scenario *scenario,
                               const cs_plan *plan, cs_error *err)
{
    uint32_t n = scenario->cluster.n_ranks, ends = cs_plan_ends(plan, &scenario->cluster);

    *f       = (cs_fingerprints){.scenario = scenario,
                                 .n_ranks  = n,
                                 .n_ends   = ends,
                                 .n_chunks = plan->n_chunks,
                                 .n_slots  = plan->n_slots,
                                 .in_slots = plan->is_reactive};
    f->rank  = CS_ARENA_NEW(arena, cs_rank_print, ends);
    f->chunk = CS_ARENA_NEW(arena, cs_chunk_print, plan->n_chunks);
    f->value = CS_ARENA_NEW(arena, uint64_t, (size_t)plan->n_slots * ends);
    if (f->rank == NULL || f->chunk == NULL || f->value == NULL) {
        return CS_NO_MEMORY(err, "the fingerprints of %u ranks", n);
    }
    fill_words(f);
    for (uint32_t r = 0; plan->starts_own && r < n; r++) {
        for (uint32_t c = 0; c < plan->n_chunks; c++) {
            f->value[r * f->n_slots + c] = f->rank[r].word * f->chunk[c].word;
        }
    }
    return CS_OK;
}

/* One end of one chunk is done. */
static void finish(cs_fingerprints *f, uint32_t rank, uint32_t chunk, uint64_t value)
{
    f->differences |= value ^ f->chunk[chunk].want;
    f->rank[rank].done += f->chunk[chunk].want;
}

static void follow_chunk(cs_fingerprints *f, const cs_transfer *t, uint32_t k)
{
    uint32_t  chunk  = t->chunk + k;
    uint64_t  b      = f->chunk[chunk].word;
    uint64_t *source = &f->value[t->src * f->n_slots + t->src_slot + k];
    uint64_t *sink   = &f->value[t->dst * f->n_slots + t->dst_slot + k];
    uint64_t  theirs = (t->flags & CS_OWN_SRC) != 0 ? f->rank[t->src].word * b : *source;
    uint64_t  ours   = (t->flags & CS_OWN_DST) != 0 ? f->rank[t->dst].word * b : *sink;

    *sink = cs_transfer_op(t) == CS_OP_COPY ? theirs : theirs + ours;
    if (cs_transfer_op(t) == CS_OP_EXCHANGE) {
        *source = *sink;
    }
    if ((t->flags & CS_DONE_DST) != 0) {
        finish(f, t->dst, chunk, *sink);
    }
    if ((t->flags & CS_DONE_SRC) != 0) {
        finish(f, t->src, chunk, *source);
    }
}

__attribute__((noinline)) static void follow_general(cs_fingerprints *f, const cs_transfer *t)
{
    for (uint32_t k = 0; k < t->span; k++) {
        follow_chunk(f, t, k);
    }
}

/* Several chunks that are copied or added from slot to slot: loops that compilers turn into vector
 * instructions. */
static void follow_span(cs_fingerprints *f, const cs_transfer *t)
{
    const cs_chunk_print *print       = &f->chunk[t->chunk];
    const uint64_t       *source      = &f->value[t->src * f->n_slots + t->src_slot];
    uint64_t             *sink        = &f->value[t->dst * f->n_slots + t->dst_slot];
    uint64_t              keeps       = cs_transfer_op(t) == CS_OP_REDUCE ? UINT64_MAX : 0;
    uint64_t              differences = 0, done = 0;

    for (uint32_t k = 0; k < t->span; k++) {
        sink[k] = source[k] + (sink[k] & keeps);
    }
    if ((t->flags & CS_DONE_DST) != 0) {
        for (uint32_t k = 0; k < t->span; k++) {
            differences |= sink[k] ^ print[k].want;
            done += print[k].want;
        }
    }
    f->differences |= differences;
    f->rank[t->dst].done += done;
}

/* One chunk, COPY or REDUCE: a simple transfer (cs_is_simple) over any fabric, in a group or not.
 */
static inline bool is_of_one_chunk(const cs_transfer *t)
{
    cs_transfer mask = *t, want = *t; /* of which only the tails count */

    mask.span      = 0xffffu;
    mask.flags     = 0;
    mask.op_fabric = 0x0eu;
    want.span      = 1;
    want.flags     = 0;
    want.op_fabric = 0;
    return (cs_transfer_tail(t) & cs_transfer_tail(&mask)) == cs_transfer_tail(&want);
}

/* Such a transfer without a branch; returns the bits in which a final value is wrong. */
static inline uint64_t follow_simple(const cs_chunk_print *chunks, cs_rank_print *ranks,
                                     uint64_t *values, size_t n_slots, const cs_transfer *t)
{
    cs_chunk_print print  = chunks[t->chunk];
    uint64_t       theirs = values[t->src * n_slots + t->src_slot];
    uint64_t      *sink   = &values[t->dst * n_slots + t->dst_slot];
    uint64_t       ours   = *sink;
    uint64_t       adds   = 0 - (uint64_t)(t->op_fabric & 1u);
    uint64_t       ends   = 0 - (uint64_t)(t->flags / CS_DONE_DST & 1u);

    if ((t->flags & (CS_OWN_SRC | CS_OWN_DST)) != 0) {
        theirs = (t->flags & CS_OWN_SRC) != 0 ? ranks[t->src].word * print.word : theirs;
        ours   = (t->flags & CS_OWN_DST) != 0 ? ranks[t->dst].word * print.word : ours;
    }
    theirs += ours & adds;
    *sink = theirs;
    ranks[t->dst].done += print.want & ends;
    return (theirs ^ print.want) & ends;
}

void cs_fingerprints_block(cs_fingerprints *f, const cs_block *block)
{
    const cs_chunk_print *chunks      = f->chunk;
    cs_rank_print        *ranks       = f->rank;
    uint64_t             *values      = f->value;
    size_t                n_slots     = f->n_slots;
    uint64_t              differences = 0;

    for (size_t i = 0; i < block->count; i++) {
        const cs_transfer *t = &block->transfers[i];
        if (is_of_one_chunk(t)) {
            differences |= follow_simple(chunks, ranks, values, n_slots, t);
        } else if ((t->flags & (CS_OWN_SRC | CS_OWN_DST)) == 0 &&
                   cs_transfer_op(t) != CS_OP_EXCHANGE) {
            follow_span(f, t);
        } else {
            follow_general(f, t);
        }
    }
    f->differences |= differences;
}

/* The sum of want[] over what one rank is owed, given the sum over all chunks. O(n_chunks /
 * n_ranks) for the collectives that there are. */
static uint64_t owed_sum(const cs_fingerprints *f, uint32_t rank, uint64_t total)
{
    const cs_chunks          chunks   = cs_chunks_of(f->scenario, f->n_chunks);
    const cs_collective_row *row      = &cs_collectives[chunks.collective];
    uint32_t                 block    = f->n_chunks / f->n_ranks;
    uint64_t                 sum      = 0;
    bool                     gathers  = row->from == CS_PARTY_FIRST && row->to == CS_PARTY_ALL;
    bool                     scatters = row->from == CS_PARTY_ALL && row->to == CS_PARTY_FIRST;

    if (row->layout == CS_WHOLE) {
        return cs_chunk_is_owed(&chunks, 0, rank) ? total : 0;
    }
    if (row->layout == CS_BLOCK_PER_RANK && (gathers || scatters)) {
        for (uint32_t c = rank * block; c < (rank + 1) * block; c++) {
            sum += f->chunk[c].want;
        }
        return scatters ? sum : total - sum;
    }
    if (row->layout == CS_BLOCK_PER_PAIR && row->to == CS_PARTY_SECOND) {
        uint32_t of_pair = block / f->n_ranks;
        for (uint32_t from = 0; from < f->n_ranks; from++) {
            for (uint32_t k = 0; from != rank && k < of_pair; k++) {
                sum += f->chunk[from * block + rank * of_pair + k].want;
            }
        }
        return sum;
    }
    for (uint32_t c = 0; c < f->n_chunks; c++) {
        sum += cs_chunk_is_owed(&chunks, c, rank) ? f->chunk[c].want : 0;
    }
    return sum;
}

/* The first slot that ends with another value than is owed, where final values are in slots. */
static bool find_wrong_slot(const cs_fingerprints *f, uint32_t *rank_p, uint32_t *chunk_p)
{
    const cs_chunks chunks = cs_chunks_of(f->scenario, f->n_chunks);

    for (uint32_t r = 0; r < f->n_ranks; r++) {
        for (uint32_t c = 0; c < f->n_chunks; c++) {
            bool is_owed = cs_chunk_is_owed(&chunks, c, r) && (f->is_out == NULL || !f->is_out[r]);
            if (is_owed && f->value[r * f->n_slots + c] != f->chunk[c].want) {
                *rank_p  = r;
                *chunk_p = c;
                return true;
            }
        }
    }
    return false;
}

void cs_fingerprints_leave_out(cs_fingerprints *f, const bool *is_out)
{
    const cs_chunks chunks = cs_chunks_of(f->scenario, f->n_chunks);

    f->is_out = is_out;
    for (uint32_t r = 0; r < f->n_ranks; r++) {
        for (uint32_t c = 0; is_out[r] && c < f->n_chunks; c++) {
            bool is_in = cs_chunk_contributor(&chunks, c) == CS_EVERY_RANK;
            f->chunk[c].want -= is_in ? f->rank[r].word * f->chunk[c].word : 0;
        }
    }
}

cs_verdict cs_fingerprints_verdict(const cs_fingerprints *f)
{
    cs_verdict v = {.is_correct = cs_fingerprints_hold(f)};

    if (v.is_correct) {
        return v;
    }
    if (f->in_slots && find_wrong_slot(f, &v.rank, &v.chunk)) {
        snprintf(v.text, sizeof v.text, "chunk %u at rank %u ends as another sum than is owed",
                 v.chunk, v.rank);
    } else {
        snprintf(v.text, sizeof v.text, "a value that is owed is wrong or never complete");
    }
    return v;
}

bool cs_fingerprints_hold(const cs_fingerprints *f)
{
    uint64_t total = 0;
    uint32_t rank = 0, chunk = 0;

    if (f->differences != 0) {
        return false;
    }
    if (f->in_slots) {
        return !find_wrong_slot(f, &rank, &chunk);
    }
    for (uint32_t c = 0; c < f->n_chunks; c++) {
        total += f->chunk[c].want;
    }
    for (uint32_t r = 0; r < f->n_ranks; r++) {
        if (f->rank[r].done != owed_sum(f, r, total)) {
            return false;
        }
    }
    for (uint32_t s = f->n_ranks; s < f->n_ends; s++) {
        if (f->rank[s].done != 0) {
            return false;
        }
    }
    return true;
}

/* ---- the second pass over a schedule that fails its fingerprints ----
 *
 * It follows the stream with what every slot holds (which chunk, and for n <= 64 how often each
 * rank's contribution) and stops at the first end that is done with something else than it is owed.
 */

enum { COUNTED_RANKS = 64, BLOCK = 512, NO_CHUNK = -1 };

typedef struct contributions {
    const cs_scenario *scenario;
    cs_fingerprints    prints;
    uint32_t           n, n_ends, n_chunks;
    bool               counts_all; /* n <= COUNTED_RANKS */
    int64_t           *holds;      /* [n_ends][n_slots] chunk, or NO_CHUNK */
    uint16_t          *count;      /* [n_ends][n_slots][n] contributions, saturating */
    uint8_t           *done;       /* [n_chunks][n] times */
    uint32_t           round;
    cs_verdict        *verdict;
} contributions;

static bool fail_at(contributions *held, uint32_t rank, uint32_t chunk, const char *what)
{
    cs_verdict *v = held->verdict;

    v->is_located = true;
    v->rank       = rank;
    v->chunk      = chunk;
    v->round      = held->round;
    snprintf(v->text, sizeof v->text, "chunk %u at rank %u is wrong in round %u: %s", chunk, rank,
             held->round, what);
    return false;
}

static size_t cell(const contributions *held, uint32_t slot, uint32_t rank)
{
    return rank * held->prints.n_slots + slot;
}

/* Put the own contribution of `rank` to `chunk` into a slot's counts. */
static void begin_own(contributions *held, size_t at, uint32_t rank, uint32_t chunk)
{
    held->holds[at] = chunk;
    for (uint32_t r = 0; held->counts_all && r < held->n; r++) {
        held->count[at * held->n + r] = r == rank;
    }
}

static void add_counts(contributions *held, size_t to, const uint16_t *from, bool keeps)
{
    uint16_t *sum = held->count + to * held->n;

    for (uint32_t r = 0; r < held->n; r++) {
        uint32_t total = (uint32_t)from[r] + (keeps ? sum[r] : 0u);
        sum[r]         = (uint16_t)(total > UINT16_MAX ? UINT16_MAX : total);
    }
}

/* A done end must hold exactly the contributions that it is owed, once. */
static bool check_done(contributions *held, size_t at, uint32_t rank, uint32_t chunk)
{
    char            text[120];
    const cs_chunks chunks = cs_chunks_of(held->scenario, held->n_chunks);
    uint32_t        who    = cs_chunk_contributor(&chunks, chunk);

    if (rank >= held->n) {
        return fail_at(held, rank, chunk, "a switch is done with it, which is owed nothing");
    }
    if (!cs_chunk_is_owed(&chunks, chunk, rank)) {
        return fail_at(held, rank, chunk, "it is not owed to that rank");
    }
    for (uint32_t r = 0; held->counts_all && r < held->n; r++) {
        uint32_t want = who == CS_EVERY_RANK || who == r;
        uint32_t got  = held->count[at * held->n + r];
        if (got != want) {
            snprintf(text, sizeof text, "the contribution of rank %u is in it %u times, not %u", r,
                     got, want);
            return fail_at(held, rank, chunk, text);
        }
    }
    if (held->prints.value[at] != held->prints.chunk[chunk].want) {
        return fail_at(held, rank, chunk, "it is not the sum that is owed");
    }
    if (held->done[(size_t)chunk * held->n + rank]++ != 0) {
        return fail_at(held, rank, chunk, "it was already complete");
    }
    return true;
}

static bool count_chunk(contributions *held, const cs_transfer *t, uint32_t k)
{
    uint32_t chunk = t->chunk + k;
    size_t   from = cell(held, t->src_slot + k, t->src), to = cell(held, t->dst_slot + k, t->dst);
    uint16_t own[COUNTED_RANKS] = {0};
    bool     adds               = cs_transfer_op(t) != CS_OP_COPY;

    if ((t->flags & CS_OWN_SRC) == 0 && held->holds[from] != chunk) {
        return fail_at(held, t->src, chunk, "the sender does not hold that chunk");
    }
    if (adds && (t->flags & CS_OWN_DST) != 0) {
        begin_own(held, to, t->dst, chunk);
    }
    if (adds && held->holds[to] != chunk) {
        return fail_at(held, t->dst, chunk, "the receiver adds it to another chunk");
    }
    held->holds[to] = chunk;
    if (held->counts_all) {
        own[t->src % COUNTED_RANKS] = t->src < held->n;
        add_counts(held, to, (t->flags & CS_OWN_SRC) != 0 ? own : held->count + from * held->n,
                   adds);
        if (cs_transfer_op(t) == CS_OP_EXCHANGE) {
            add_counts(held, from, held->count + to * held->n, false);
        }
    }
    if (cs_transfer_op(t) == CS_OP_EXCHANGE) {
        held->holds[from] = chunk;
    }
    return true;
}

static bool follow_counting(contributions *held, const cs_transfer *t)
{
    held->round = t->round;
    for (uint32_t k = 0; k < t->span; k++) {
        if (!count_chunk(held, t, k)) {
            return false;
        }
    }
    cs_transfer one   = *t;
    cs_block    block = {.transfers = &one, .count = 1};
    cs_fingerprints_block(&held->prints, &block);
    for (uint32_t k = 0; k < t->span; k++) {
        if ((t->flags & CS_DONE_DST) != 0 &&
            !check_done(held, cell(held, t->dst_slot + k, t->dst), t->dst, t->chunk + k)) {
            return false;
        }
        if ((t->flags & CS_DONE_SRC) != 0 &&
            !check_done(held, cell(held, t->src_slot + k, t->src), t->src, t->chunk + k)) {
            return false;
        }
    }
    return true;
}

/* After the last transfer: what is owed and was never done? */
static bool check_complete(contributions *held)
{
    const cs_chunks chunks = cs_chunks_of(held->scenario, held->n_chunks);

    for (uint32_t c = 0; c < held->n_chunks; c++) {
        for (uint32_t r = 0; r < held->n; r++) {
            if (cs_chunk_is_owed(&chunks, c, r) && held->done[(size_t)c * held->n + r] == 0) {
                return fail_at(held, r, c, "it never becomes complete");
            }
        }
    }
    return true;
}

static cs_status open_contributions(contributions *held, cs_arena *arena, const cs_plan *plan,
                                    cs_error *err)
{
    size_t cells  = (size_t)plan->n_slots * held->n_ends;
    size_t counts = held->counts_all ? cells * held->n : 1;

    held->holds = CS_ARENA_NEW(arena, int64_t, cells);
    held->count = CS_ARENA_NEW(arena, uint16_t, counts);
    held->done  = CS_ARENA_NEW(arena, uint8_t, (size_t)plan->n_chunks * held->n);
    if (held->holds == NULL || held->count == NULL || held->done == NULL) {
        return CS_NO_MEMORY(err, "the contributions to %u chunks", plan->n_chunks);
    }
    for (size_t i = 0; i < cells; i++) {
        held->holds[i] = NO_CHUNK;
    }
    CS_TRY(cs_fingerprints_open(&held->prints, arena, held->scenario, plan, err));
    for (uint32_t c = 0; plan->starts_own && c < plan->n_chunks; c++) {
        for (uint32_t r = 0; r < held->n; r++) {
            begin_own(held, cell(held, c, r), r, c);
        }
    }
    return CS_OK;
}

static cs_status follow_stream(contributions *held, const cs_job *job, cs_arena *arena,
                               cs_error *err)
{
    void     *state    = NULL;
    cs_block  block    = {.transfers = CS_ARENA_NEW(arena, cs_transfer, BLOCK), .capacity = BLOCK};
    cs_status status   = block.transfers == NULL ? CS_NO_MEMORY(err, "a block of transfers")
                                                 : cs_job_open(job, &state, err);
    bool      is_right = true;

    if (status != CS_OK) {
        return status;
    }
    do {
        job->algorithm->next_block(state, &block);
        for (size_t i = 0; i < block.count && is_right; i++) {
            is_right = follow_counting(held, &block.transfers[i]);
        }
    } while (block.count > 0 && is_right);
    job->algorithm->close(state);
    if (is_right && held->prints.in_slots) {
        *held->verdict = cs_fingerprints_verdict(&held->prints);
    } else {
        held->verdict->is_correct = is_right && check_complete(held);
    }
    return CS_OK;
}

cs_status cs_locate_error(const cs_job *job, cs_verdict *verdict, cs_error *err)
{
    uint32_t      n     = job->scenario.cluster.n_ranks;
    cs_arena      arena = {0};
    contributions held  = {.scenario   = &job->scenario,
                           .n          = n,
                           .n_ends     = cs_plan_ends(&job->plan, &job->scenario.cluster),
                           .n_chunks   = job->plan.n_chunks,
                           .counts_all = n <= COUNTED_RANKS,
                           .verdict    = verdict};

    *verdict         = (cs_verdict){0};
    cs_status status = open_contributions(&held, &arena, &job->plan, err);
    if (status == CS_OK) {
        assert(held.prints.rank != NULL && held.prints.chunk != NULL && held.prints.value != NULL);
        status = follow_stream(&held, job, &arena, err);
    }
    cs_arena_free(&arena);
    return status;
}
