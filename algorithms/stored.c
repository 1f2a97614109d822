/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank is owed follows from the collective alone; the
 * replay checks the flags that are computed here against its own idea of it.
 */
#include "algorithms/stored.h"

#include "base/alloc.h"

#include <string.h>

#define MAX_CELLS ((uint64_t)1 << 28) /* ranks x chunks */
#define MAX_BYTES ((uint64_t)1 << 53)

/* One bit per rank and chunk. */
typedef struct bits {
    uint64_t *words;
    size_t    n_chunks;
} bits;

static bool take_bit(bits *b, uint32_t rank, uint32_t chunk)
{
    size_t   at   = (size_t)rank * b->n_chunks + chunk;
    uint64_t mask = (uint64_t)1 << at % 64;
    bool     was  = (b->words[at / 64] & mask) != 0;

    b->words[at / 64] |= mask;
    return !was;
}

static bool is_owed(const cs_stored *s, uint32_t rank, uint32_t chunk)
{
    const cs_chunks chunks = {s->collective, s->n_ranks, s->root, s->n_chunks};
    return cs_chunk_is_owed(&chunks, chunk, rank);
}

cs_stored *cs_stored_new(void)
{
    return CS_NEW(cs_stored, 1);
}

void cs_stored_free(cs_stored *stored)
{
    if (stored != NULL) {
        cs_recording_free(&stored->recording);
        cs_free(stored->uneven.first);
        cs_free(stored->uneven.server_of);
        cs_free(stored);
    }
}

/* ---- servers ---- */

cs_status cs_stored_set_gpus(cs_stored *s, const uint32_t *gpus, uint32_t n_servers, cs_error *err)
{
    uint64_t   n       = 0;
    cs_cluster cluster = {.n_ranks = s->n_ranks};

    for (uint32_t i = 0; i < n_servers; i++) {
        n += gpus[i];
    }
    if (n != s->n_ranks) {
        return CS_FAIL(err, CS_EINVAL, "servers", "have %llu GPUs, but there are %u ranks",
                       (unsigned long long)n, s->n_ranks);
    }
    s->uneven.first     = CS_NEW(uint32_t, (size_t)n_servers + 1);
    s->uneven.server_of = CS_NEW(uint32_t, n);
    if (s->uneven.first == NULL || s->uneven.server_of == NULL) {
        return CS_NO_MEMORY(err, "the servers of a schedule");
    }
    cs_cluster_set_gpus(&cluster, gpus, n_servers, &s->uneven);
    s->gpus_per_server = cluster.gpus_per_server;
    if (cluster.uneven == NULL) {
        s->uneven.n_servers = 0;
    }
    return CS_OK;
}

cs_cluster cs_stored_cluster(const cs_stored *s)
{
    return (cs_cluster){.n_ranks         = s->n_ranks,
                        .gpus_per_server = s->gpus_per_server,
                        .uneven          = s->uneven.n_servers > 0 ? &s->uneven : NULL,
                        .sockets         = s->sockets};
}

/* Has every server of the one as many GPUs as that of the other? */
static bool same_servers(const cs_cluster *a, const cs_cluster *b)
{
    bool is_same = cs_n_servers(a) == cs_n_servers(b);

    for (uint32_t s = 0; is_same && s < cs_n_servers(a); s++) {
        is_same = cs_server_gpus(a, s) == cs_server_gpus(b, s);
    }
    return is_same;
}

/* The servers of a scenario are those of the schedule; some have other GPUs than others. */
static cs_status check_uneven(const cs_stored *s, const cs_cluster *cluster, cs_error *err)
{
    const cs_cluster own = cs_stored_cluster(s);

    return same_servers(cluster, &own)
               ? CS_OK
               : CS_FAIL(
                     err, CS_ENOTSUP, "cluster.servers",
                     "the schedule is for %u servers of %u to %u GPUs, here are %u of %u to %u%s",
                     cs_n_servers(&own), cs_least_gpus(&own), own.gpus_per_server,
                     cs_n_servers(cluster), cs_least_gpus(cluster), cluster->gpus_per_server,
                     cs_n_servers(&own) == cs_n_servers(cluster) ? ", in another order" : "");
}

static cs_status check_chunks(const cs_stored *s, cs_error *err)
{
    cs_layout layout = cs_collectives[s->collective].layout;
    uint64_t  n = s->n_ranks, chunks = s->n_chunks;
    uint64_t  slots = s->has_slots ? s->n_slots : chunks;

    if (layout == CS_BLOCK_PER_PAIR && chunks % (n * n) != 0) {
        return CS_FAIL(err, CS_EINVAL, "chunks",
                       "%llu is not a multiple of %llu: the first k chunks of an %s go from "
                       "rank 0 to rank 0, the next k to rank 1 and so on",
                       (unsigned long long)chunks, (unsigned long long)(n * n),
                       cs_collective_name(s->collective));
    }
    if (layout == CS_BLOCK_PER_RANK && chunks % n != 0) {
        return CS_FAIL(
            err, CS_EINVAL, "chunks",
            "%llu is not a multiple of the %llu ranks, each of which has a block of them",
            (unsigned long long)chunks, (unsigned long long)n);
    }
    if (slots > CS_MAX_SLOTS || slots * n > MAX_CELLS || chunks * n > MAX_CELLS) {
        return CS_FAIL(
            err, CS_EINVAL, "chunks",
            "%llu chunks at each of %llu ranks are too many: accepted are %u chunks, and "
            "2^28 at all ranks together",
            (unsigned long long)slots, (unsigned long long)n, CS_MAX_SLOTS);
    }
    return CS_OK;
}

cs_status cs_stored_check(const cs_stored *s, cs_error *err)
{
    if (s->n_ranks < 2 || s->n_ranks > CS_MAX_RANKS || s->n_chunks == 0) {
        return CS_FAIL(err, CS_EINVAL, "ranks",
                       "%u ranks and %u chunks: accepted are 2 to %u ranks and at least 1 chunk",
                       s->n_ranks, s->n_chunks, CS_MAX_RANKS);
    }
    if (s->root >= s->n_ranks) {
        return CS_FAIL(err, CS_EINVAL, "root", "%u is outside [0, %u]", s->root, s->n_ranks - 1);
    }
    bool is_even = s->uneven.n_servers == 0;
    if (s->gpus_per_server == 0 || (is_even && s->n_ranks % s->gpus_per_server != 0)) {
        return CS_FAIL(err, CS_EINVAL, "gpus_per_server",
                       "%u does not divide the %u ranks evenly among the servers",
                       s->gpus_per_server, s->n_ranks);
    }
    if (s->sockets > 1 && !is_even) {
        return CS_FAIL(err, CS_EINVAL, "sockets",
                       "%u: servers with different numbers of GPUs are accepted with one socket",
                       s->sockets);
    }
    if (s->sockets > 1 && s->gpus_per_server % s->sockets != 0) {
        return CS_FAIL(err, CS_EINVAL, "sockets",
                       "%u sockets do not share the %u GPUs of a server evenly", s->sockets,
                       s->gpus_per_server);
    }
    return check_chunks(s, err);
}

static cs_status check_ends(const cs_stored *s, const cs_transfer *t, cs_error *err)
{
    const cs_cluster servers = cs_stored_cluster(s);

    if (t->src >= s->n_ranks || t->dst >= s->n_ranks) {
        return CS_FAIL(err, CS_EINVAL, t->src >= s->n_ranks ? "src" : "dst",
                       "%u is outside [0, %u]", t->src >= s->n_ranks ? t->src : t->dst,
                       s->n_ranks - 1);
    }
    if (t->src == t->dst) {
        return CS_FAIL(err, CS_EINVAL, "dst", "rank %u sends to itself", t->dst);
    }
    uint32_t fabric = cs_fabric_of(&servers, t->src, t->dst);
    if (cs_transfer_fabric(t) == CS_NVLINK && fabric == CS_NIC) {
        return CS_FAIL(err, CS_EINVAL, "fabric", "ranks %u and %u have no NVLink between them",
                       t->src, t->dst);
    }
    if (cs_transfer_fabric(t) != CS_NIC && cs_transfer_fabric(t) != fabric) {
        return CS_FAIL(err, CS_EINVAL, "fabric", "ranks %u and %u talk over %s, not %s", t->src,
                       t->dst, cs_fabric_name(fabric), cs_fabric_name(cs_transfer_fabric(t)));
    }
    if (cs_transfer_fabric(t) == CS_NIC && fabric != CS_NIC) {
        return CS_FAIL(err, CS_EINVAL, "fabric", "ranks %u and %u of one server talk over NVLink",
                       t->src, t->dst);
    }
    return CS_OK;
}

/* A part of a message must follow a part between the same ends, in the same round. */
static cs_status check_join(const cs_stored *s, const cs_transfer *t, cs_error *err)
{
    const cs_transfer *before =
        s->recording.n_transfers > 0 ? &s->recording.transfers[s->recording.n_transfers - 1] : NULL;

    if ((t->flags & CS_JOIN) == 0) {
        return CS_OK;
    }
    if (before == NULL || before->src != t->src || before->dst != t->dst ||
        before->round != t->round || cs_transfer_op(t) == CS_OP_EXCHANGE ||
        cs_transfer_op(before) == CS_OP_EXCHANGE || (t->flags & (CS_FENCE | CS_SHARED)) != 0) {
        return CS_FAIL(err, CS_EINVAL, "join",
                       "there is no copy or reduce from %u to %u right before it in round %u",
                       t->src, t->dst, t->round);
    }
    if (s->n_parts >= CS_MAX_PARTS) {
        return CS_FAIL(err, CS_EINVAL, "join", "a message has at most %u parts", CS_MAX_PARTS);
    }
    return CS_OK;
}

static cs_status check_transfer(const cs_stored *s, const cs_transfer *t, cs_error *err)
{
    uint32_t before = s->recording.n_transfers > 0
                          ? s->recording.transfers[s->recording.n_transfers - 1].round
                          : 0;

    if (t->span == 0 || t->chunk >= s->n_chunks || t->span > s->n_chunks - t->chunk) {
        return CS_FAIL(err, CS_EINVAL, "chunk", "%u chunks from %u on are outside [0, %u)", t->span,
                       t->chunk, s->n_chunks);
    }
    if (s->has_slots && ((uint32_t)t->src_slot + t->span > s->n_slots ||
                         (uint32_t)t->dst_slot + t->span > s->n_slots)) {
        return CS_FAIL(err, CS_EINVAL, "src_slot", "slots %u and %u are outside [0, %u)",
                       t->src_slot, t->dst_slot, s->n_slots);
    }
    if (t->round < before || t->round == UINT32_MAX) {
        return CS_FAIL(err, CS_EINVAL, "round", "%u after %u: rounds must not decrease", t->round,
                       before);
    }
    if (t->bytes >= MAX_BYTES) {
        return CS_FAIL(err, CS_EINVAL, "bytes", "%llu is more than 2^53 - 1",
                       (unsigned long long)t->bytes);
    }
    CS_TRY(check_ends(s, t, err));
    return check_join(s, t, err);
}

cs_status cs_stored_add(cs_stored *s, const cs_transfer *transfer, const cs_fence *fence,
                        cs_error *err)
{
    cs_transfer t = *transfer;

    CS_TRY(check_transfer(s, transfer, err));
    if (!s->has_slots) {
        t.src_slot = (uint16_t)t.chunk;
        t.dst_slot = (uint16_t)t.chunk;
        t.flags &= CS_SHARED | CS_FENCE | CS_JOIN;
    }
    CS_TRY(cs_recording_add(&s->recording, &t, fence, err));
    s->n_parts = (t.flags & CS_JOIN) != 0 ? s->n_parts + 1 : 1;
    return CS_OK;
}

/* How many of the chunks that end `rank` of a transfer writes are final there. Going backwards
 * through the stream, those are the owed ones that nobody has written yet. */
static uint32_t count_final(const cs_stored *s, bits *written, const cs_transfer *t, uint32_t rank)
{
    uint32_t count = 0;

    for (uint32_t k = 0; k < t->span; k++) {
        bool is_last = take_bit(written, rank, t->chunk + k);
        count += is_last && is_owed(s, rank, t->chunk + k);
    }
    return count;
}

static cs_status mark_end(cs_stored *s, bits *written, size_t index, bool is_src, size_t *bad_p,
                          cs_error *err)
{
    cs_transfer *t     = &s->recording.transfers[index];
    uint32_t     rank  = is_src ? t->src : t->dst;
    uint32_t     count = count_final(s, written, t, rank);

    if (count == t->span) {
        t->flags = (uint8_t)(t->flags | (is_src ? CS_DONE_SRC : CS_DONE_DST));
    } else if (count > 0) {
        *bad_p = index;
        return CS_FAIL(err, CS_EINVAL, "span",
                       "%u of %u chunks are final at rank %u after this, the others are not: write "
                       "two transfers",
                       count, t->span, rank);
    }
    return CS_OK;
}

/* The last transfer that writes a chunk where it is owed finishes it. */
static cs_status mark_ends(cs_stored *s, bits *written, size_t *bad_p, cs_error *err)
{
    for (size_t i = s->recording.n_transfers; i-- > 0;) {
        CS_TRY(mark_end(s, written, i, false, bad_p, err));
        if (cs_transfer_op(&s->recording.transfers[i]) == CS_OP_EXCHANGE) {
            CS_TRY(mark_end(s, written, i, true, bad_p, err));
        }
    }
    return CS_OK;
}

static cs_status mark_done(cs_stored *s, size_t *bad_p, cs_error *err)
{
    size_t cells   = (size_t)s->n_ranks * s->n_chunks;
    bits   written = {CS_NEW(uint64_t, cells / 64 + 1), s->n_chunks};

    if (written.words == NULL) {
        return CS_NO_MEMORY(err, "a schedule");
    }
    cs_status status = mark_ends(s, &written, bad_p, err);
    cs_free(written.words);
    return status;
}

uint64_t cs_stored_share(const cs_stored *s, uint64_t bytes, const cs_transfer *t)
{
    return cs_is_repeat(t)
               ? 0
               : cs_chunk_bytes(s->collective, s->n_ranks, s->n_chunks, bytes, t->chunk, t->span);
}

cs_status cs_stored_finish(cs_stored *s, size_t *bad_p, cs_error *err)
{
    uint32_t uses = s->gpus_per_server > 1 ? CS_USES_NVLINK : 0;

    s->is_scalable = true;
    for (size_t i = 0; i < s->recording.n_transfers; i++) {
        const cs_transfer *t = &s->recording.transfers[i];
        uses |= cs_transfer_op(t) == CS_OP_EXCHANGE ? CS_USES_EXCHANGE : 0;
        uses |= (t->flags & CS_SHARED) != 0 ? CS_USES_SHARED : 0;
        uses |= t->span > 1 ? CS_USES_SPAN : 0;
        uses |= (t->flags & CS_JOIN) != 0 ? CS_USES_JOIN : 0;
        s->is_scalable = s->is_scalable && t->bytes == cs_stored_share(s, s->bytes, t);
    }
    s->plan = (cs_plan){
        .n_chunks   = s->n_chunks,
        .n_slots    = s->has_slots ? s->n_slots : s->n_chunks,
        .n_rounds   = s->recording.n_transfers > 0
                          ? s->recording.transfers[s->recording.n_transfers - 1].round + 1
                          : 0,
        .uses       = uses,
        .starts_own = s->has_slots ? s->starts_own : true,
    };
    return s->has_slots ? CS_OK : mark_done(s, bad_p, err);
}

/* ---- the algorithm that streams it ---- */

typedef struct stream {
    const cs_stored  *schedule;
    const cs_cluster *cluster; /* NULL: the schedule knows its fabrics */
    uint64_t          bytes;
    bool              rescales;
    size_t            next, next_fence;
} stream;

static cs_status stored_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                              cs_error *err)
{
    const cs_stored *s = ((const cs_stored_options *)options)->schedule;

    if (scenario->cluster.n_ranks != s->n_ranks) {
        return CS_FAIL(err, CS_ENOTSUP, "cluster.ranks", "the schedule is for %u ranks, not %u",
                       s->n_ranks, scenario->cluster.n_ranks);
    }
    if (scenario->collective != s->collective) {
        return CS_FAIL(err, CS_ENOTSUP, "collective", "the schedule is for %s, not %s",
                       cs_collective_name(s->collective), cs_collective_name(scenario->collective));
    }
    bool has_root = cs_collective_has_root(s->collective);
    if (has_root && scenario->root != s->root) {
        return CS_FAIL(err, CS_ENOTSUP, "root", "the schedule is for root %u, not %u", s->root,
                       scenario->root);
    }
    bool is_uneven = s->uneven.n_servers > 0 || !cs_is_even(&scenario->cluster);
    if ((s->plan.uses & CS_USES_NVLINK) != 0 && is_uneven && !s->any_servers) {
        CS_TRY(check_uneven(s, &scenario->cluster, err));
    }
    if ((s->plan.uses & CS_USES_NVLINK) != 0 &&
        scenario->cluster.gpus_per_server != s->gpus_per_server) {
        return CS_FAIL(err, CS_ENOTSUP, "cluster.gpus_per_server",
                       "the schedule is for %u GPUs per server, not %u", s->gpus_per_server,
                       scenario->cluster.gpus_per_server);
    }
    if ((s->plan.uses & CS_USES_NVLINK) != 0 && (scenario->cluster.sockets > 1 || s->sockets > 1) &&
        scenario->cluster.sockets != s->sockets) {
        return CS_FAIL(err, CS_ENOTSUP, "cluster.sockets",
                       "the schedule is for %u sockets per server, not %u",
                       s->sockets > 1 ? s->sockets : 1,
                       scenario->cluster.sockets > 1 ? scenario->cluster.sockets : 1);
    }
    if (scenario->bytes != s->bytes && !s->is_scalable) {
        return CS_FAIL(
            err, CS_ENOTSUP, "bytes",
            "the schedule has messages that are not their chunks' share of the buffer, so "
            "it is for %llu bytes only",
            (unsigned long long)s->bytes);
    }
    *plan = s->plan;
    if (s->any_servers && scenario->cluster.gpus_per_server > 1) {
        plan->uses |= CS_USES_NVLINK;
    }
    return CS_OK;
}

static cs_status stored_open(const cs_scenario *scenario, const void *options, void **state_p,
                             cs_error *err)
{
    stream *st = CS_NEW(stream, 1);

    if (st == NULL) {
        return CS_NO_MEMORY(err, "a stored schedule");
    }
    st->schedule = ((const cs_stored_options *)options)->schedule;
    st->cluster  = st->schedule->any_servers && scenario->cluster.gpus_per_server > 1
                       ? &scenario->cluster
                       : NULL;
    st->bytes    = scenario->bytes;
    st->rescales = scenario->bytes != st->schedule->bytes;
    *state_p     = st;
    return CS_OK;
}

static void stored_next_block(void *state, cs_block *block)
{
    stream             *st   = state;
    const cs_recording *r    = &st->schedule->recording;
    size_t              from = st->next;
    size_t              end  = r->n_transfers - from;
    const cs_fence     *fence;

    end = from + (end < block->capacity ? end : block->capacity);
    if ((fence = cs_recording_fence(r, from, &st->next_fence)) != NULL) {
        block->fence_except = fence->except;
        block->fence_s      = fence->cost_s;
    }
    if (st->next_fence < r->n_fences && r->fences[st->next_fence].index < end) {
        end = r->fences[st->next_fence].index;
    }
    while (end < r->n_transfers && end > from + 1 && (r->transfers[end].flags & CS_JOIN) != 0) {
        end--; /* a message stays in one block */
    }
    block->count = end - from;
    if (block->count > 0) {
        memcpy(block->transfers, r->transfers + from, block->count * sizeof *block->transfers);
    }
    for (size_t i = 0; st->rescales && i < block->count; i++) {
        cs_transfer *t = &block->transfers[i];
        t->bytes       = cs_stored_share(st->schedule, st->bytes, &r->transfers[from + i]);
    }
    for (size_t i = 0; st->cluster != NULL && i < block->count; i++) {
        cs_transfer *t = &block->transfers[i];
        t->op_fabric   = cs_op_fabric(cs_transfer_op(t), cs_fabric_of(st->cluster, t->src, t->dst));
    }
    st->next = end;
}

const cs_algorithm cs_algorithm_stored = {
    .name          = "stored",
    .summary       = "a schedule from a file",
    .source        = "the file",
    .collectives   = (1u << CS_COLLECTIVE_COUNT) - 1,
    .options_bytes = sizeof(cs_stored_options),
    .check         = stored_check,
    .open          = stored_open,
    .next_block    = stored_next_block,
    .close         = cs_free,
    .takes_uneven  = true,
};
