/* SPDX-License-Identifier: GPL-3.0-or-later */
/* groups.h -- a job as NCCL groups: which sends and receives stand in which group, where what came
 * is put, and what has to be waited for.
 *
 * Messages become *steps*: in the order of the list, each gets the first step that is not before
 * its round and in which
 *
 *   - no message before it uses one of its two ports (one send and one receive a rank and link);
 *   - all that its source has to have received came in an earlier step;
 *   - none of the old values that it replaces is sent in a later step.
 *
 * Both directions of an exchange are in one step. A step has as many *groups* as its longest
 * message has slices. On every rank groups run in the order of their numbers, on one stream. What
 * is to be added comes into a staging area and is added on a second stream, while the next group
 * already runs: so sums cost time only where the next message needs them, and where a message sends
 * on exactly what one before it brought, it waits for the slice that it sends, not for the last.
 *
 * Why groups cannot deadlock. A message has the same group at both its ends, groups have one order
 * for all ranks, and so have the messages of a pair inside a group: the k-th send meets the k-th
 * receive. Let g be the lowest group that some rank does not finish. All ranks have finished the
 * groups before g, so each rank with messages in g comes to it: what its streams wait for before,
 * sums of earlier groups, waits for those groups alone. In a group all messages progress together,
 * and both ends of each are there: the group ends. A rank without messages in a group passes over
 * it, and a late one keeps up only those that have a message with it.
 *
 * Where this is not the ports of collsim's models: a rank's next group starts when its send and its
 * receive of this one are both through, while ports of the models are free one by one; fences put
 * no rank to waiting (what is behind them waits for its data).
 */
#ifndef CAPTURE_GROUPS_H
#define CAPTURE_GROUPS_H

#include "job.h"

/* A run of floats that one ncclSend and one ncclRecv carry. */
typedef struct cap_move {
    uint32_t message;
    uint64_t from;      /* in the source's memory */
    uint64_t to;        /* in the destination's memory, or in its staging area: */
    bool     is_staged; /* where cap_placing fetches it */
    uint64_t count;
} cap_move;

/* What happens with a run of floats in the staging area of a rank. */
typedef struct cap_placing {
    uint32_t rank;
    uint64_t staged; /* where it lies there */
    uint64_t to;     /* to = base + staged if it adds, else to = staged */
    uint64_t base;
    uint64_t out; /* then out = to; CAP_NOWHERE: no */
    uint64_t count;
    bool     adds;
} cap_placing;

/* The group of a rank for which there is none. */
#define CAP_NO_GROUP UINT32_MAX

typedef struct cap_groups {
    const cap_job *job; /* borrowed */
    uint32_t       n_ranks, n_groups;
    cap_move      *moves;         /* in the order of groups, inside of the list */
    size_t        *first_move;    /* [n_groups + 1] */
    cap_placing   *placings;      /* likewise: done when the messages of their group are through */
    size_t        *first_placing; /* [n_groups + 1] */
    uint32_t      *wait_for;      /* [n_groups][n_ranks] before the rank's messages of a group: its
                                     placings of that one; CAP_NO_GROUP: nothing (any more) */
    uint64_t *n_staged;           /* [n_ranks] floats of the staging area */
    struct cap_span {
        uint32_t first, last; /* groups of a message */
        uint32_t placed;      /* its last part is in place after this group's ..*/
        bool     is_staged;   /* .. placings; else after its messages */
    } * spans;                /* [n_messages] */
} cap_groups;

/* Messages of which more has to be done than to copy what comes are cut into slices of `slice`
 * floats (0: they are not). The caller owns the groups and
 * keeps the job as long. CS_ENOMEM. O(m log m + groups * ranks) for m messages and their pieces. */
cs_status cap_groups_make(const cap_job *job, uint64_t slice, cap_groups **groups_p, cs_error *err);

/* NULL is allowed. */
void cap_groups_free(cap_groups *groups);

#endif
