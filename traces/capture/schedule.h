/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capture/schedule.h -- a schedule as `collsim schedule ALGORITHM --format json` writes it
 * (sim/doc/schedules.md has the keys).
 *
 * Ranks move floats: a chunk begins at float floor(b / 4), where b bytes of chunks stand before it,
 * so that a message is up to 4 bytes longer or shorter than its bytes in the file.
 */
#ifndef CAPTURE_SCHEDULE_H
#define CAPTURE_SCHEDULE_H

#include "cs/cluster.h"
#include "cs/collective.h"
#include "cs/schedule.h"

/* At most so many ranks are run, each of which has threads or a process. */
#define CAP_MAX_RANKS 1024u

/* A file is so long at most. */
#define CAP_SCHEDULE_MAX_BYTES ((size_t)1 << 30)

typedef struct cap_schedule {
    char          name[64]; /* of the algorithm; "schedule" where the file does not say */
    cs_collective collective;
    uint32_t      root;
    uint64_t      bytes;   /* nccl-tests' size */
    cs_cluster    cluster; /* ranks and servers; no rates */
    cs_uneven     uneven;  /* what `cluster` borrows where servers differ */
    uint32_t      n_chunks, n_slots;
    bool          has_slots;  /* false: slot = chunk, and every contribution is in place */
    bool          starts_own; /* slot c of every rank begins with its own chunk c */
    cs_transfer  *transfers;  /* [n_transfers], flags and slots as in cs/schedule.h */
    uint32_t      n_transfers;
    uint32_t *fence_except; /* [n_fences] CS_FENCE_ALL or the rank that does not wait, in the order
                               of the transfers with CS_FENCE */
    uint32_t  n_fences;
    uint64_t *chunk_begin; /* [n_chunks + 1] in floats */
} cap_schedule;

/* Read a schedule; the caller owns it. What is wrong is refused with file, line, column and key:
 * CS_EPARSE (no JSON), CS_EINVAL (what it says), CS_EIO, CS_ENOMEM. Whether it is the collective
 * that it claims to be shows when it is run. O(length). */
cs_status cap_schedule_load(const char *path, cap_schedule **schedule_p, cs_error *err);
cs_status cap_schedule_parse(const char *text, size_t length, const char *input,
                             cap_schedule **schedule_p, cs_error *err);

/* NULL is allowed. */
void cap_schedule_free(cap_schedule *schedule);

#endif
