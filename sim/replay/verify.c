/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streaming fingerprints: see replay/verify.h. */
#include "replay/verify.h"

#include "base/random.h"

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
    uint32_t n = scenario->cluster.n_ranks;

    *f = (cs_fingerprints){
        .scenario = scenario, .n_ranks = n, .n_chunks = plan->n_chunks, .n_slots = plan->n_slots};
    f->rank  = CS_ARENA_NEW(arena, cs_rank_print, n);
    f->chunk = CS_ARENA_NEW(arena, cs_chunk_print, plan->n_chunks);
    f->value = CS_ARENA_NEW(arena, uint64_t, (size_t)plan->n_slots * n);
    if (f->rank == NULL || f->chunk == NULL || f->value == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory while checking the schedule");
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

/* A simple transfer without a branch; returns the bits in which a final value is wrong. */
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
        if (cs_is_simple(t)) {
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

/* The sum of want[] over what one rank is owed, given the sum over all chunks. */
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
    for (uint32_t c = 0; c < f->n_chunks; c++) {
        sum += cs_chunk_is_owed(&chunks, c, rank) ? f->chunk[c].want : 0;
    }
    return sum;
}

bool cs_fingerprints_hold(const cs_fingerprints *f)
{
    uint64_t total = 0;

    if (f->differences != 0) {
        return false;
    }
    for (uint32_t c = 0; c < f->n_chunks; c++) {
        total += f->chunk[c].want;
    }
    for (uint32_t r = 0; r < f->n_ranks; r++) {
        if (f->rank[r].done != owed_sum(f, r, total)) {
            return false;
        }
    }
    return true;
}
