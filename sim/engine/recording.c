/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Transfers, their intervals and barriers in arrays that grow block by block. */
#include "cs/recording.h"

#include "base/alloc.h"

#include <assert.h>
#include <string.h>

/* The first room for a stream: 8 MiB and 4 MiB for the times, of which only what is used is ever
 * touched. Growing copies, and touches anew. */
enum { BLOCK = 4096, FIRST_FENCES = 16, FIRST_TRANSFERS = 64, FIRST_OF_STREAM = 1 << 18 };

/* Room for `more` transfers and one barrier. */
static cs_status make_room(cs_recording *r, size_t more, size_t first, cs_error *err)
{
    bool has_room =
        cs_grow(&r->transfers, &r->capacity, r->n_transfers + more, first, sizeof *r->transfers) &&
        cs_grow(&r->fences, &r->fence_capacity, r->n_fences + 1, FIRST_FENCES, sizeof *r->fences);

    return has_room ? CS_OK
                    : CS_NO_MEMORY(err, "a recording of %zu transfers", r->n_transfers + more);
}

/* Add a block, whose transfers stand behind the others already, and the barrier before it. */
static void add_block(cs_recording *r, const cs_block *block)
{
    const cs_transfer *t = r->transfers + r->n_transfers;

    if (block->count > 0 && (t[0].flags & CS_FENCE) != 0) {
        r->fences[r->n_fences++] = (cs_fence){r->n_transfers, block->fence_except, block->fence_s};
    }
    for (size_t i = 0; i < block->count; i++) {
        r->n_exchanges += cs_transfer_op(&t[i]) == CS_OP_EXCHANGE;
        r->n_joins += (t[i].flags & CS_JOIN) != 0;
    }
    r->n_transfers += block->count;
}

static cs_status check_limits(const cs_recording *r, cs_error *err)
{
    for (size_t i = 0; i < CS_RECORDING_LIMITS && r->limits[i] != NULL; i++) {
        CS_TRY(r->limits[i](r, err));
    }
    return CS_OK;
}

static cs_status record_block(void *user, const cs_block *block, const cs_interval *intervals,
                              cs_error *err)
{
    cs_recording *r = user;

    CS_TRY(make_room(r, block->count, FIRST_OF_STREAM, err));
    if (!cs_grow(&r->intervals, &r->interval_capacity, r->n_transfers + block->count,
                 FIRST_OF_STREAM, sizeof *r->intervals)) {
        return CS_NO_MEMORY(err, "a recording of %zu transfers", r->n_transfers + block->count);
    }
    memcpy(r->transfers + r->n_transfers, block->transfers,
           block->count * sizeof *block->transfers);
    memcpy(r->intervals + r->n_transfers, intervals, block->count * sizeof *intervals);
    for (size_t i = 0; i < block->count; i++) {
        if (!(intervals[i].end_s <= r->last_end_s)) {
            r->last_end_s = intervals[i].end_s;
        }
    }
    add_block(r, block);
    return check_limits(r, err);
}

cs_observer cs_recording_observer(cs_recording *recording)
{
    return (cs_observer){.block = record_block, .user = recording};
}

cs_status cs_recording_stream(cs_recording *r, const cs_job *job, cs_error *err)
{
    cs_block  block  = {.capacity = BLOCK};
    void     *state  = NULL;
    cs_status status = job->plan.is_reactive
                           ? CS_FAIL(err, CS_ENOTSUP, "algorithm",
                                     "%s decides while it runs: there is no schedule to be kept",
                                     job->algorithm->name)
                           : cs_job_open(job, &state, err);

    if (status != CS_OK) {
        return status;
    }
    do {
        status = make_room(r, BLOCK, FIRST_OF_STREAM, err);
        if (status == CS_OK) {
            block.transfers = r->transfers + r->n_transfers;
            job->algorithm->next_block(state, &block);
            add_block(r, &block);
            status = check_limits(r, err);
        }
    } while (status == CS_OK && block.count > 0);
    job->algorithm->close(state);
    return status;
}

cs_status cs_recording_add(cs_recording *r, const cs_transfer *transfer, const cs_fence *fence,
                           cs_error *err)
{
    cs_block one = {.count = 1, .fence_except = fence->except, .fence_s = fence->cost_s};

    CS_TRY(make_room(r, 1, FIRST_TRANSFERS, err));
    r->transfers[r->n_transfers] = *transfer;
    add_block(r, &one);
    return CS_OK;
}

uint32_t cs_recording_slots(const cs_recording *recording)
{
    uint32_t most = 0;

    for (size_t i = 0; i < recording->n_transfers; i++) {
        const cs_transfer *t = &recording->transfers[i];
        uint32_t end = (uint32_t)(t->src_slot > t->dst_slot ? t->src_slot : t->dst_slot) + t->span;
        most         = end > most ? end : most;
    }
    return most;
}

void cs_recording_free(cs_recording *recording)
{
    cs_free(recording->transfers);
    cs_free(recording->intervals);
    cs_free(recording->fences);
    *recording = (cs_recording){0};
}
