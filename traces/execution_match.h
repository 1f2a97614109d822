/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/execution_match.h -- which nodes of different ranks are one call or one message.
 *
 * Calls of a group match by their number on each of its ranks (cs_work.sequence), messages by their
 * order from one rank to another with one tag; the order of a rank's messages is that of their
 * sequence, which becomes the number of the message.
 */
#ifndef CS_TRACES_EXECUTION_MATCH_H
#define CS_TRACES_EXECUTION_MATCH_H

#include "traces/execution_trace.h"

/* Fill in the calls and messages of a trace whose ranks and groups are there. `own` [n_ranks]: the
 * nodes of each rank, to be written; `paths` [n_paths]: the file of each rank, or one for all, for
 * errors. *n_uneven_p: of how many parts ranks name different sizes. Refused: ranks of a group with
 * fewer calls, or with other collectives or roots, than another; messages without another end. O(n
 * log n) of all nodes. */
CS_MUST_CHECK cs_status cs_execution_match(cs_execution_trace *trace, cs_work *const *own,
                                           const char *const *paths, size_t n_paths,
                                           uint64_t *n_uneven_p, cs_error *err);

#endif
