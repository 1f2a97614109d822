/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The careful second look at a schedule that failed its fingerprints: follow the stream with
 * what every slot holds (which chunk, and for n <= 64 how often each rank's contribution) and
 * stop at the first end that is done with something else than it is owed. */
#include "replay/verify.h"

#include <stdio.h>

enum { COUNTED_RANKS = 64, BLOCK = 512, NO_CHUNK = -1 };

typedef struct ledger {
    const cs_scenario *scenario;
    cs_fingerprints    prints;
    uint32_t           n, n_chunks;
    bool               counts_all; /* n <= COUNTED_RANKS */
    int64_t           *holds;      /* [n][n_slots] chunk, or NO_CHUNK */
    uint16_t          *count;      /* [n][n_slots][n] contributions, saturating */
    uint8_t           *done;       /* [n_chunks][n] times */
    uint32_t           round;
    cs_verdict        *verdict;
} ledger;

static bool blame(ledger *l, uint32_t rank, uint32_t chunk, const char *what)
{
    cs_verdict *v = l->verdict;

    v->is_located = true;
    v->rank       = rank;
    v->chunk      = chunk;
    v->round      = l->round;
    snprintf(v->text, sizeof v->text, "chunk %u at rank %u is wrong in round %u: %s", chunk, rank,
             l->round, what);
    return false;
}

static size_t cell(const ledger *l, uint32_t slot, uint32_t rank)
{
    return rank * l->prints.n_slots + slot;
}

/* Put the own contribution of `rank` to `chunk` into a slot's counts. */
static void begin_own(ledger *l, size_t at, uint32_t rank, uint32_t chunk)
{
    l->holds[at] = chunk;
    for (uint32_t r = 0; l->counts_all && r < l->n; r++) {
        l->count[at * l->n + r] = r == rank;
    }
}

static void add_counts(ledger *l, size_t to, const uint16_t *from, bool keeps)
{
    uint16_t *sum = l->count + to * l->n;

    for (uint32_t r = 0; r < l->n; r++) {
        uint32_t total = (uint32_t)from[r] + (keeps ? sum[r] : 0u);
        sum[r]         = (uint16_t)(total > UINT16_MAX ? UINT16_MAX : total);
    }
}

/* A done end must hold exactly the contributions that it is owed, once. */
static bool check_done(ledger *l, size_t at, uint32_t rank, uint32_t chunk)
{
    char            text[120];
    const cs_chunks chunks = cs_chunks_of(l->scenario, l->n_chunks);
    uint32_t        who    = cs_chunk_contributor(&chunks, chunk);

    if (!cs_chunk_is_owed(&chunks, chunk, rank)) {
        return blame(l, rank, chunk, "it is not owed to that rank");
    }
    for (uint32_t r = 0; l->counts_all && r < l->n; r++) {
        uint32_t want = who == CS_EVERY_RANK || who == r;
        uint32_t got  = l->count[at * l->n + r];
        if (got != want) {
            snprintf(text, sizeof text, "the contribution of rank %u is in it %u times, not %u", r,
                     got, want);
            return blame(l, rank, chunk, text);
        }
    }
    if (l->prints.value[at] != l->prints.chunk[chunk].want) {
        return blame(l, rank, chunk, "it is not the sum that is owed");
    }
    if (l->done[(size_t)chunk * l->n + rank]++ != 0) {
        return blame(l, rank, chunk, "it was already complete");
    }
    return true;
}

static bool follow_chunk(ledger *l, const cs_transfer *t, uint32_t k)
{
    uint32_t chunk = t->chunk + k;
    size_t   from = cell(l, t->src_slot + k, t->src), to = cell(l, t->dst_slot + k, t->dst);
    uint16_t own[COUNTED_RANKS] = {0};
    bool     adds               = cs_transfer_op(t) != CS_OP_COPY;

    if ((t->flags & CS_OWN_SRC) == 0 && l->holds[from] != chunk) {
        return blame(l, t->src, chunk, "the sender does not hold that chunk");
    }
    if (adds && (t->flags & CS_OWN_DST) != 0) {
        begin_own(l, to, t->dst, chunk);
    }
    if (adds && l->holds[to] != chunk) {
        return blame(l, t->dst, chunk, "the receiver adds it to another chunk");
    }
    l->holds[to] = chunk;
    if (l->counts_all) {
        own[t->src % COUNTED_RANKS] = 1;
        add_counts(l, to, (t->flags & CS_OWN_SRC) != 0 ? own : l->count + from * l->n, adds);
        if (cs_transfer_op(t) == CS_OP_EXCHANGE) {
            add_counts(l, from, l->count + to * l->n, false);
        }
    }
    if (cs_transfer_op(t) == CS_OP_EXCHANGE) {
        l->holds[from] = chunk;
    }
    return true;
}

static bool follow(ledger *l, const cs_transfer *t)
{
    l->round = t->round;
    for (uint32_t k = 0; k < t->span; k++) {
        if (!follow_chunk(l, t, k)) {
            return false;
        }
    }
    cs_transfer one   = *t;
    cs_block    block = {.transfers = &one, .count = 1};
    cs_fingerprints_block(&l->prints, &block);
    for (uint32_t k = 0; k < t->span; k++) {
        if ((t->flags & CS_DONE_DST) != 0 &&
            !check_done(l, cell(l, t->dst_slot + k, t->dst), t->dst, t->chunk + k)) {
            return false;
        }
        if ((t->flags & CS_DONE_SRC) != 0 &&
            !check_done(l, cell(l, t->src_slot + k, t->src), t->src, t->chunk + k)) {
            return false;
        }
    }
    return true;
}

/* After the last transfer: what is owed and was never done? */
static bool check_complete(ledger *l)
{
    const cs_chunks chunks = cs_chunks_of(l->scenario, l->n_chunks);

    for (uint32_t c = 0; c < l->n_chunks; c++) {
        for (uint32_t r = 0; r < l->n; r++) {
            if (cs_chunk_is_owed(&chunks, c, r) && l->done[(size_t)c * l->n + r] == 0) {
                return blame(l, r, c, "it never becomes complete");
            }
        }
    }
    return true;
}

static cs_status open_ledger(ledger *l, cs_arena *arena, const cs_plan *plan, cs_error *err)
{
    size_t cells  = (size_t)plan->n_slots * l->n;
    size_t counts = l->counts_all ? cells * l->n : 1;

    l->holds = CS_ARENA_NEW(arena, int64_t, cells);
    l->count = CS_ARENA_NEW(arena, uint16_t, counts);
    l->done  = CS_ARENA_NEW(arena, uint8_t, (size_t)plan->n_chunks * l->n);
    if (l->holds == NULL || l->count == NULL || l->done == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory while locating the wrong transfer");
    }
    for (size_t i = 0; i < cells; i++) {
        l->holds[i] = NO_CHUNK;
    }
    cs_status status = cs_fingerprints_open(&l->prints, arena, l->scenario, plan, err);
    for (uint32_t c = 0; status == CS_OK && plan->starts_own && c < plan->n_chunks; c++) {
        for (uint32_t r = 0; r < l->n; r++) {
            begin_own(l, cell(l, c, r), r, c);
        }
    }
    return status;
}

static cs_status follow_stream(ledger *l, const cs_job *job, cs_arena *arena, cs_error *err)
{
    void     *state    = NULL;
    cs_block  block    = {.transfers = CS_ARENA_NEW(arena, cs_transfer, BLOCK), .capacity = BLOCK};
    cs_status status   = block.transfers == NULL
                             ? CS_FAIL(err, CS_ENOMEM, "", "out of memory for a block")
                             : cs_job_open(job, &state, err);
    bool      is_right = true;

    if (status != CS_OK) {
        return status;
    }
    do {
        job->algorithm->next_block(state, &block);
        for (size_t i = 0; i < block.count && is_right; i++) {
            is_right = follow(l, &block.transfers[i]);
        }
    } while (block.count > 0 && is_right);
    job->algorithm->close(state);
    l->verdict->is_correct = is_right && check_complete(l);
    return CS_OK;
}

cs_status cs_locate_error(const cs_job *job, cs_verdict *verdict, cs_error *err)
{
    uint32_t n     = job->scenario.cluster.n_ranks;
    cs_arena arena = {0};
    ledger   l     = {.scenario   = &job->scenario,
                      .n          = n,
                      .n_chunks   = job->plan.n_chunks,
                      .counts_all = n <= COUNTED_RANKS,
                      .verdict    = verdict};

    *verdict         = (cs_verdict){0};
    cs_status status = open_ledger(&l, &arena, &job->plan, err);
    if (status == CS_OK) {
        status = follow_stream(&l, job, &arena, err);
    }
    cs_arena_free(&arena);
    return status;
}
