/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/host_clocks.h -- clocks of hosts that are off and drift, set by the ends of calls, which
 * all ranks leave together.
 *
 * Of each host the offset and the drift against the first rank's are the medians over calls of how
 * far the earlier quarter of its ranks is ahead, so that neither a few late ends nor one rank that
 * always leaves late move them. What is left of the differences is the clocks' error. A host all
 * of whose ranks always leave late looks like one whose clock is ahead.
 */
#ifndef CS_TRACES_HOST_CLOCKS_H
#define CS_TRACES_HOST_CLOCKS_H

#include "base/text.h"
#include "cs/error.h"

#include <stddef.h>
#include <stdint.h>

/* As many calls as clocks are set by; more say nothing more. */
#define CS_CLOCK_CALLS ((size_t)1024)

/* When ranks left calls, each on the clock of its host. */
typedef struct cs_call_ends {
    size_t          n_calls;
    uint32_t        n_ranks;
    const uint32_t *host;  /* [n_ranks] */
    const double   *end_s; /* [n_calls][n_ranks] NAN: not known; every call has one that is */
} cs_call_ends;

typedef struct cs_host_clocks {
    size_t   n_hosts;
    uint32_t reference;        /* the host of rank 0 */
    double  *offset_s, *drift; /* [n_hosts] against that one; NAN: has no rank; owned */
    double   error_s;          /* how far apart readings at the same time are */
} cs_host_clocks;

/* Set the clocks of hosts 0 .. n_hosts-1. `resolution_s`, how finely times are given, is the least
 * error. The caller frees the clocks on CS_OK. O(calls ranks log ranks). */
CS_MUST_CHECK cs_status cs_host_clocks_set(const cs_call_ends *ends, size_t n_hosts,
                                           double resolution_s, cs_host_clocks *clocks_p,
                                           cs_error *err);

/* The reading of a host's clock, on the reference's. */
static inline double cs_host_clocks_read(const cs_host_clocks *clocks, uint32_t host,
                                         double reading_s)
{
    return reading_s - clocks->offset_s[host] - clocks->drift[host] * reading_s;
}

/* A line for each of the first `most` clocks but the reference. */
void cs_host_clocks_note(const cs_host_clocks *clocks, char *const *names, size_t most,
                         cs_text *text);

/* `{0}` is allowed. */
void cs_host_clocks_free(cs_host_clocks *clocks);

#endif
