/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file is read by schedules/schedule_json.c; what is found here is how long the chunks are. */
#include "schedule.h"

#include "base/alloc.h"
#include "base/file.h"
#include "schedules/schedule_json.h"

#define UNKNOWN UINT64_MAX

void cap_schedule_free(cap_schedule *schedule)
{
    if (schedule != NULL) {
        cs_stored_free(schedule->stored);
        cs_free(schedule->chunk_begin);
        cs_free(schedule);
    }
}

/* The bytes of a message's chunks, which the file says for all of them together. Chunks that no
 * message has alone are equal parts. */
static cs_status learn_bytes(const cap_schedule *s, const cs_transfer *t, uint64_t *bytes,
                             cs_error *err)
{
    uint64_t known = 0;
    uint32_t open  = 0;

    for (uint32_t k = 0; k < t->span; k++) {
        bool is_known = bytes[t->chunk + k] != UNKNOWN;
        known += is_known ? bytes[t->chunk + k] : 0;
        open += !is_known;
    }
    if (known > t->bytes || (open == 0 && known != t->bytes)) {
        return CS_FAIL(
            err, CS_EINVAL, "bytes",
            "transfer %zu says %llu for %u chunks from %u on, other transfers say %s%llu: "
            "a chunk has one size",
            (size_t)(t - s->transfers), (unsigned long long)t->bytes, t->span, t->chunk,
            open > 0 ? "at least " : "", (unsigned long long)known);
    }
    for (uint32_t k = 0, next = 0; k < t->span; k++) {
        if (bytes[t->chunk + k] == UNKNOWN) {
            bytes[t->chunk + k] = cs_split(t->bytes - known, open, next++);
        }
    }
    return CS_OK;
}

/* Chunks that have a message of their own first. */
static cs_status learn_all(const cap_schedule *s, uint64_t *bytes, cs_error *err)
{
    for (uint32_t c = 0; c < s->stored->n_chunks; c++) {
        bytes[c] = UNKNOWN;
    }
    for (int is_span = 0; is_span <= 1; is_span++) {
        for (uint32_t i = 0; i < s->n_transfers; i++) {
            const cs_transfer *t = &s->transfers[i];
            if ((t->span > 1) == is_span && !cs_is_repeat(t)) {
                CS_TRY(learn_bytes(s, t, bytes, err));
            }
        }
    }
    return CS_OK;
}

/* From bytes to where chunks begin, in floats. A chunk that nobody sends has its share. */
static cs_status place_chunks(const cap_schedule *s, uint64_t *begin, cs_error *err)
{
    const cs_stored *stored = s->stored;
    uint64_t         at     = 0;

    for (uint32_t c = 0; c < stored->n_chunks; c++) {
        uint64_t bytes = begin[c] != UNKNOWN
                             ? begin[c]
                             : cs_chunk_bytes(stored->collective, stored->n_ranks, stored->n_chunks,
                                              stored->bytes, c, 1);
        begin[c]       = at / sizeof(float);
        at += bytes;
        if (at > (uint64_t)1 << 53) {
            return CS_FAIL(err, CS_EINVAL, "bytes", "the chunks are more than 2^53 bytes");
        }
    }
    begin[stored->n_chunks] = at / sizeof(float);
    return CS_OK;
}

static bool has_done(const cap_schedule *s)
{
    bool has = false;

    for (uint32_t i = 0; i < s->n_transfers && !has; i++) {
        has = (s->transfers[i].flags & (CS_DONE_SRC | CS_DONE_DST)) != 0;
    }
    return has;
}

static cs_status describe(cap_schedule *s, cs_error *err)
{
    cs_stored *stored = s->stored;

    if (stored->n_ranks > CAP_MAX_RANKS) {
        return CS_FAIL(err, CS_EINVAL, "ranks", "%u: accepted are at most %u", stored->n_ranks,
                       CAP_MAX_RANKS);
    }
    if (stored->recording.n_transfers > UINT32_MAX / 2 - 1) {
        return CS_FAIL(err, CS_EINVAL, "transfers", "there are more than 2^31");
    }
    s->name        = stored->name[0] != '\0' ? stored->name : "unnamed";
    s->cluster     = cs_stored_cluster(stored);
    s->transfers   = stored->recording.transfers;
    s->n_transfers = (uint32_t)stored->recording.n_transfers;
    s->n_slots     = stored->plan.n_slots;
    s->is_in_place = !stored->has_slots || (!has_done(s) && s->n_slots >= stored->n_chunks);
    s->chunk_begin = CS_NEW(uint64_t, (size_t)stored->n_chunks + 1);
    if (s->chunk_begin == NULL) {
        return CS_NO_MEMORY(err, "a schedule");
    }
    CS_TRY(learn_all(s, s->chunk_begin, err));
    return place_chunks(s, s->chunk_begin, err);
}

cs_status cap_schedule_parse(const char *text, size_t length, const char *input,
                             cap_schedule **schedule_p, cs_error *err)
{
    cap_schedule *s = CS_NEW(cap_schedule, 1);

    if (s == NULL) {
        return CS_NO_MEMORY(err, "a schedule");
    }
    cs_status status = cs_schedule_json_parse(text, length, input, &s->stored, err);
    if (status == CS_OK && (status = describe(s, err)) != CS_OK && status != CS_ENOMEM) {
        cs_error_locate(err, input, 0, 0);
    }
    if (status != CS_OK) {
        cap_schedule_free(s);
        return status;
    }
    *schedule_p = s;
    return CS_OK;
}

cs_status cap_schedule_load(const char *path, cap_schedule **schedule_p, cs_error *err)
{
    char  *text   = NULL;
    size_t length = 0;

    CS_TRY(cs_file_read(path, CS_SCHEDULE_MAX_BYTES, &text, &length, err));
    cs_status status = cap_schedule_parse(text, length, path, schedule_p, err);
    cs_free(text);
    return status;
}
