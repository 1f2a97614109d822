/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "schedules/export.h"

#include "base/alloc.h"
#include "base/random.h"
#include "schedules/export_list.h"

#include <string.h>

#define MAX_CELLS ((uint64_t)1 << 28)

static const struct {
    cs_status (*write)(const cs_export_list *list, cs_text *out, cs_error *err);
    cs_status (*draw)(const cs_job *job, cs_text *out, cs_error *err);
} formats[] = {
#define X(id, word, ...) [CS_EXPORT_##id] = {__VA_ARGS__},
    CS_EXPORTS(X)
#undef X
};

static cs_status limit(const cs_recording *recording, cs_error *err)
{
    return recording->n_transfers <= CS_EXPORT_MAX_TRANSFERS
               ? CS_OK
               : CS_FAIL(err, CS_ENOTSUP, "",
                         "the schedule has more transfers than the %d that are exported",
                         CS_EXPORT_MAX_TRANSFERS);
}

/* What every rank holds, as pseudo-random words: in the algorithm's slots, and with every chunk
 * in place. */
typedef struct holdings {
    uint64_t *slots, *chunks;
    uint8_t  *done; /* in place; after that nothing may be written there */
    uint32_t  n_slots, n_chunks;
} holdings;

static uint64_t own_word(uint32_t rank, uint32_t chunk)
{
    return cs_mix64(cs_mix64(rank) ^ chunk);
}

static void fill_own(holdings *h, uint32_t n_ranks, bool starts_own)
{
    for (uint32_t r = 0; r < n_ranks; r++) {
        for (uint32_t c = 0; c < h->n_chunks; c++) {
            h->chunks[(size_t)r * h->n_chunks + c] = own_word(r, c);
            if (starts_own) {
                h->slots[(size_t)r * h->n_slots + c] = own_word(r, c);
            }
        }
    }
}

/* One end writes `value` in both; false if it was done with that chunk already. */
static bool write_both(holdings *h, size_t slot_cell, size_t chunk_cell, uint64_t value,
                       bool is_done)
{
    bool was_done = h->done[chunk_cell] != 0;

    h->slots[slot_cell]   = value;
    h->chunks[chunk_cell] = value;
    h->done[chunk_cell]   = is_done;
    return !was_done;
}

/* Does one chunk of a transfer mean the same in both? */
static bool follow(holdings *h, const cs_transfer *t, uint32_t k)
{
    uint32_t chunk    = t->chunk + k;
    size_t   src_slot = (size_t)t->src * h->n_slots + t->src_slot + k;
    size_t   dst_slot = (size_t)t->dst * h->n_slots + t->dst_slot + k;
    size_t   src_cell = (size_t)t->src * h->n_chunks + chunk;
    size_t   dst_cell = (size_t)t->dst * h->n_chunks + chunk;
    bool     adds     = cs_transfer_op(t) != CS_OP_COPY;
    uint64_t theirs   = (t->flags & CS_OWN_SRC) != 0 ? own_word(t->src, chunk) : h->slots[src_slot];
    uint64_t ours     = (t->flags & CS_OWN_DST) != 0 ? own_word(t->dst, chunk) : h->slots[dst_slot];
    bool     is_same  = theirs == h->chunks[src_cell] && (!adds || ours == h->chunks[dst_cell]);
    uint64_t sum      = theirs + (adds ? ours : 0);

    is_same = is_same && write_both(h, dst_slot, dst_cell, sum, (t->flags & CS_DONE_DST) != 0);
    if (is_same && cs_transfer_op(t) == CS_OP_EXCHANGE) {
        is_same = write_both(h, src_slot, src_cell, sum, (t->flags & CS_DONE_SRC) != 0);
    }
    return is_same;
}

/* Would the schedule do the same with slot = chunk and every contribution in place? */
static cs_status find_in_place(cs_export_list *list, cs_error *err)
{
    uint64_t  n      = list->scenario->cluster.n_ranks;
    holdings  h      = {.n_slots = list->plan->n_slots, .n_chunks = list->plan->n_chunks};
    cs_status status = CS_OK;

    list->is_in_place = false;
    if (h.n_chunks > CS_MAX_SLOTS || n * h.n_slots > MAX_CELLS || n * h.n_chunks > MAX_CELLS) {
        return CS_OK;
    }
    h.slots  = CS_NEW(uint64_t, n * h.n_slots);
    h.chunks = CS_NEW(uint64_t, n * h.n_chunks);
    h.done   = CS_NEW(uint8_t, n * h.n_chunks);
    if (h.slots == NULL || h.chunks == NULL || h.done == NULL) {
        status = CS_NO_MEMORY(err, "an export");
    } else {
        fill_own(&h, (uint32_t)n, list->plan->starts_own);
        list->is_in_place = true;
    }
    for (size_t i = 0; i < list->recording.n_transfers && list->is_in_place; i++) {
        const cs_transfer *t = &list->recording.transfers[i];
        for (uint32_t k = 0; k < t->span && list->is_in_place; k++) {
            list->is_in_place = follow(&h, t, k);
        }
    }
    cs_free(h.slots);
    cs_free(h.chunks);
    cs_free(h.done);
    return status;
}

static cs_status record_and_write(cs_export_list *list, const cs_job *job, cs_export_format format,
                                  cs_text *out, cs_error *err)
{
    CS_TRY(cs_recording_stream(&list->recording, job, err));
    CS_TRY(find_in_place(list, err));
    CS_TRY(formats[format].write(list, out, err));
    return cs_text_status(out, err);
}

cs_status cs_export_schedule(const cs_job *job, cs_export_format format, cs_text *out,
                             cs_error *err)
{
    cs_export_list list = {.scenario  = &job->scenario,
                           .algorithm = job->algorithm,
                           .plan      = &job->plan,
                           .recording = {.limits = {limit}}};

    if (formats[format].draw != NULL) {
        return formats[format].draw(job, out, err);
    }
    if ((job->plan.uses & CS_USES_SWITCH) != 0) {
        return CS_FAIL(err, CS_ENOTSUP, "format",
                       "switches add up in %s, which this format cannot say: accepted is svg",
                       job->algorithm->name);
    }
    cs_status status = record_and_write(&list, job, format, out, err);
    cs_recording_free(&list.recording);
    return status;
}
