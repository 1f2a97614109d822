/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/recording.h -- a schedule in memory: its transfers in stream order, its barriers and, where it
 * was replayed, the times of every transfer.
 *
 * It is filled in one of three ways: by the observer of a replay, from the stream of an algorithm
 * without a replay, or transfer by transfer. Whoever needs the whole run reads it: the timeline,
 * the picture of a schedule, the critical path, the comparison of models, the exports, schedules
 * from files. 32 bytes a transfer, 48 with its times. What needs running sums only (statistics of
 * ports, use of ports over time) remains an observer of its own and works for runs of any length.
 *
 * A reader bounds what it can take by a limit, which is asked while the recording grows.
 */
#ifndef CS_RECORDING_H
#define CS_RECORDING_H

#include "cs/job.h"

CS_BEGIN_C

/* A barrier before transfer `index`. */
typedef struct cs_fence {
    size_t   index;
    uint32_t except; /* CS_FENCE_ALL or a rank */
    double   cost_s;
} cs_fence;

typedef struct cs_recording cs_recording;

/* Refuses a recording that has become too large, in the words of its reader. Asked after every
 * block. */
typedef cs_status (*cs_recording_limit)(const cs_recording *recording, cs_error *err);

enum { CS_RECORDING_LIMITS = 2 };

/* `{0}` is an empty recording without limits. */
struct cs_recording {
    cs_transfer       *transfers; /* [n_transfers] in stream order; owned, as all below */
    cs_interval       *intervals; /* [n_transfers] NULL: it was not replayed */
    size_t             n_transfers;
    cs_fence          *fences; /* [n_fences] by index */
    size_t             n_fences;
    size_t             n_exchanges, n_joins; /* transfers that are an exchange; that have CS_JOIN */
    double             last_end_s;           /* 0: it was not replayed */
    size_t             capacity, interval_capacity, fence_capacity;
    cs_recording_limit limits[CS_RECORDING_LIMITS]; /* up to the first NULL */
};

/* The observer that records; for one replay. Fails as the limits do, or with CS_ENOMEM. */
CS_API cs_observer cs_recording_observer(cs_recording *recording);

/* Record the stream of a resolved job. */
CS_API CS_MUST_CHECK cs_status cs_recording_stream(cs_recording *recording, const cs_job *job,
                                                   cs_error *err);

/* Add one transfer without times. `fence` stands before it where it has CS_FENCE; its index is
 * set here. Asks no limit. */
CS_API CS_MUST_CHECK cs_status cs_recording_add(cs_recording      *recording,
                                                const cs_transfer *transfer, const cs_fence *fence,
                                                cs_error *err);

/* The barrier before transfer `index`, or NULL, for who goes through the transfers in order:
 * *next_p counts barriers and begins with 0. */
static inline const cs_fence *cs_recording_fence(const cs_recording *recording, size_t index,
                                                 size_t *next_p)
{
    bool is_here = *next_p < recording->n_fences && recording->fences[*next_p].index == index;
    return is_here ? &recording->fences[(*next_p)++] : NULL;
}

/* Messages on the wire: an exchange is two, parts that join one are none. */
static inline size_t cs_recording_messages(const cs_recording *recording)
{
    return recording->n_transfers + recording->n_exchanges - recording->n_joins;
}

/* Slots of a rank: one more than the last that a transfer names. O(transfers). */
CS_API uint32_t cs_recording_slots(const cs_recording *recording);

/* Free; the recording is empty and without limits. */
CS_API void cs_recording_free(cs_recording *recording);

CS_END_C

#endif
