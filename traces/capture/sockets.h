/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capture/sockets.h -- the transport of collsim-testbed: plain TCP among ranks that are threads of
 * one process. Every rank may live in a network namespace of its own, since a socket stays in the
 * namespace in which it was opened. There is one connection for each ordered pair of ranks that
 * have a message over a link. Signals do not use the network (capture/signals.h). */
#ifndef CAPTURE_SOCKETS_H
#define CAPTURE_SOCKETS_H

#include "executor.h"

/* Where ranks are. In these texts {rank}, {host} (the rank + 1) and {server} are replaced. A rank
 * may have the place of another number, which {rank} and {host} are then of: so the ranks of a run
 * are any of the ranks of a network. */
typedef struct cap_places {
    const char *netns;       /* name below /var/run/netns, or a path; NULL: where the program is */
    const char *address;     /* IPv4 or IPv6, between servers; NULL: 127.0.0.1 */
    const char *inside;      /* the same for peers in the same server; NULL: as `address` */
    const char *congestion;  /* TCP's congestion control: "reno"; NULL: as the machine has it */
    uint64_t    prime_bytes; /* that every connection carries before the first repetition */
    uint32_t   *numbers;     /* [n_numbers] of ranks 0, 1, ..; NULL: their own */
    size_t      n_numbers;   /* as many as there are ranks */
} cap_places;

typedef struct cap_sockets cap_sockets;

/* Open and prime all connections. CS_ENOMEM, CS_EIO (what could not be done, and where), CS_EINVAL
 * (an address, another number of places than ranks). The caller owns them; close() takes NULL. */
cs_status cap_sockets_open(const cap_job *job, const cap_places *places, cap_sockets **sockets_p,
                           cs_error *err);
void      cap_sockets_close(cap_sockets *sockets);

/* The transport; it is valid until cap_sockets_close(). */
const cap_transport *cap_sockets_transport(const cap_sockets *sockets);

/* Before every repetition. */
void cap_sockets_reset(cap_sockets *sockets);

/* Segments that were sent again so far, on all connections. */
uint64_t cap_sockets_retransmits(const cap_sockets *sockets);

/* Cut all connections of a rank, as if it died. */
void cap_sockets_cut(cap_sockets *sockets, uint32_t rank);

#endif
