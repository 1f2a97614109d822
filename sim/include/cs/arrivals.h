/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/arrivals.h -- when the ranks come to collective after collective, as it was measured.
 *
 * A *call* is one collective of one group of ranks. All times of a call count from the first
 * arrival of that call, so the smallest of every row is 0.
 */
#ifndef CS_ARRIVALS_H
#define CS_ARRIVALS_H

#include "cs/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

CS_BEGIN_C

typedef struct cs_arrival_trace {
    uint32_t n_ranks;   /* >= 2 */
    size_t   n_calls;   /* >= 1 */
    double  *arrival_s; /* n_calls rows of n_ranks; finite, >= 0, the smallest of a row is 0 */
    double  *inside_s;  /* same shape: how long each rank was inside the call; NULL: not known */
    double  *queued_s;  /* same shape, >= 0: from the host's call to the arrival of its kernel;
                           NULL: not known */
    uint64_t *bytes;    /* n_calls entries: the call's buffer; NULL: not known */

    bool   has_ends;      /* when ranks left was measured, too: arrival + inside, on one clock */
    double clock_error_s; /* ... and ranks that leave together differ by so much; 0: nothing */

    uint32_t *number;      /* [n_ranks] of the ranks in their group, where some of its ranks are not
                              in the trace; NULL: all are there, rank r is number r */
    uint32_t  group_ranks; /* how many the group has; 0: n_ranks */
    uint32_t *server;      /* [n_ranks] 0 .. n_servers - 1; NULL: not known */
    uint32_t  n_servers;
    char    **server_names; /* [n_servers] */
} cs_arrival_trace;

/* The number of a rank of the trace in its group. */
static inline uint32_t cs_trace_number(const cs_arrival_trace *trace, uint32_t rank)
{
    return trace->number != NULL ? trace->number[rank] : rank;
}

/* Free what the trace owns (all arrays are cs_alloc's); `{0}` is allowed. */
CS_API void cs_arrival_trace_free(cs_arrival_trace *trace);

/* The last of `n_ranks` arrivals; of several at the same time the highest rank. O(n_ranks). */
CS_API uint32_t cs_last_of_arrivals(const double *arrival_s, uint32_t n_ranks);

/* Fill `ranks` with 0 .. n_ranks - 1 in the order of their arrivals, of those that arrive together
 * the lowest first; NULL for `arrival_s`: all do. O(n_ranks log n_ranks), O(n_ranks) where they
 * come in the order of their numbers. */
CS_API void cs_ranks_by_arrival(const double *arrival_s, uint32_t n_ranks, uint32_t *ranks);

/* How far one of `n_ranks` arrivals is behind the last of the others; negative: it was there
 * before. O(n_ranks). */
CS_API double cs_behind_others_s(const double *arrival_s, uint32_t n_ranks, uint32_t rank);

/* Arrival of one rank in one call. */
static inline double cs_trace_arrival(const cs_arrival_trace *trace, size_t call, uint32_t rank)
{
    return trace->arrival_s[call * trace->n_ranks + rank];
}

CS_END_C

#endif
