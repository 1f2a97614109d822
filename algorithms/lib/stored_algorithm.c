/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The algorithm that streams a stored schedule: see stored.h. */
#include "algorithms/lib/stored.h"
#include "base/alloc.h"

#include <string.h>

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
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for a stored schedule");
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
};
