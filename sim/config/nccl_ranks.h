/* SPDX-License-Identifier: GPL-3.0-or-later */
/* config/nccl_ranks.h -- the calls of one process group, rank by rank, out of NCCL traces. */
#ifndef CS_CONFIG_NCCL_RANKS_H
#define CS_CONFIG_NCCL_RANKS_H

#include "config/kineto_events.h"

/* One rank's calls, in the order in which they began. */
typedef struct cs_nccl_rank {
    size_t               file; /* index of its file */
    int64_t              rank; /* as the trace has it; -1: not said */
    const char          *process;
    const cs_nccl_call **calls; /* in the arena */
    size_t               n_calls;
} cs_nccl_rank;

typedef struct cs_nccl_ranks {
    cs_arena      arena;
    cs_nccl_rank *ranks; /* in the arena, in the order of their numbers */
    size_t        n;
    const char   *group; /* its name; "": not said */
} cs_nccl_ranks;

/* Who is who in `n` files, and the calls of the group that the options ask for (the one with most
 * calls of `collective` otherwise). Notes say what was chosen. Errors name a file. The caller owns
 * the ranks (cs_nccl_ranks_free) on CS_OK; they borrow the traces. */
CS_MUST_CHECK cs_status cs_nccl_ranks_find(const cs_arrival_text *texts,
                                           const cs_nccl_trace *traces, size_t n,
                                           const cs_arrival_options *options,
                                           cs_collective collective, cs_nccl_ranks *ranks_p,
                                           cs_arrival_notes *notes, cs_error *err);
void                    cs_nccl_ranks_free(cs_nccl_ranks *ranks);

#endif
