/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capture/schedule.h -- a schedule as `collsim schedule ALGORITHM --format json` writes it
 * (sim/doc/schedules.md has the keys), read by collsim's own reader.
 *
 * Ranks move floats: a chunk begins at float floor(b / 4), where b bytes of chunks stand before it,
 * so that a message is up to 4 bytes longer or shorter than its bytes in the file.
 */
#ifndef CAPTURE_SCHEDULE_H
#define CAPTURE_SCHEDULE_H

#include "algorithms/stored.h"

/* More are not run: each has threads or a process of its own. */
#define CAP_MAX_RANKS 1024u

typedef struct cap_schedule {
    cs_stored   *stored;    /* collective, root, n_ranks, n_chunks, bytes, slots; owned */
    const char  *name;      /* of the algorithm; "unnamed" where the file does not say */
    cs_cluster   cluster;   /* its servers; no rates */
    cs_transfer *transfers; /* [n_transfers] in the order of the list; borrowed from `stored` */
    uint32_t     n_transfers;
    uint32_t     n_slots;     /* of a rank */
    uint64_t    *chunk_begin; /* [n_chunks + 1] in floats: a buffer with all chunks */
    bool is_in_place; /* the final value of chunk c is in slot c (where the rank is owed it);
                         false: where CS_DONE_* says */
} cap_schedule;

/* Read a schedule; the caller owns it. What is wrong is refused with file, line, column and key:
 * CS_EPARSE (no JSON), CS_EINVAL (what it says), CS_EIO, CS_ENOMEM. Whether it is the collective
 * that it claims to be shows when it is run. O(length). */
cs_status cap_schedule_load(const char *path, cap_schedule **schedule_p, cs_error *err);
cs_status cap_schedule_parse(const char *text, size_t length, const char *input,
                             cap_schedule **schedule_p, cs_error *err);

/* NULL is allowed. */
void cap_schedule_free(cap_schedule *schedule);

/* Floats of chunk `chunk`. */
static inline uint64_t cap_chunk_count(const cap_schedule *schedule, uint32_t chunk)
{
    return schedule->chunk_begin[chunk + 1] - schedule->chunk_begin[chunk];
}

/* What cs_chunk_contributor() and cs_chunk_is_owed() are asked about. */
static inline cs_chunks cap_chunks(const cap_schedule *schedule)
{
    const cs_stored *s = schedule->stored;
    return (cs_chunks){s->collective, s->n_ranks, s->root, s->n_chunks};
}

#endif
