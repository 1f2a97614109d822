/* SPDX-License-Identifier: GPL-3.0-or-later */
/* campaign/transport.h -- messages between the processes of one run.
 *
 * The one for MPI is a module of its own (campaign/mpi/transport_mpi.c), loaded only under mpirun:
 * the program itself does not depend on an MPI library, and does not pay for one when it starts.
 * Messages between two ranks arrive in the order in which they were sent. All functions are called
 * by one thread. They return 0, or -1 when the connection is lost.
 */
#ifndef CS_CAMPAIGN_TRANSPORT_H
#define CS_CAMPAIGN_TRANSPORT_H

#include <stddef.h>

/* The largest message, in bytes. */
#define CS_TRANSPORT_MOST_BYTES ((size_t)1 << 30)

typedef struct cs_transport {
    void *self;
    int   rank, size; /* 0 <= rank < size */

    /* Returns when `data` may be used again. `kind` >= 0 is whatever the two agree upon. */
    int (*send)(void *self, int to, int kind, const void *data, size_t bytes);

    /* Does a message wait? Then *from_p, *kind_p and *bytes_p are its own and 1 is returned. */
    int (*probe)(void *self, int *from_p, int *kind_p, size_t *bytes_p);

    /* Take the message that was probed. */
    int (*receive)(void *self, int from, int kind, void *data, size_t bytes);

    /* All ranks leave, each in its own time. */
    void (*leave)(void *self);

    /* End all ranks at once; mpirun's exit code is `code`. Does not return. */
    void (*abort)(void *self, int code);
} cs_transport;

/* What the module exports, under the name CS_TRANSPORT_OPEN. `build` is the program's (cs/build.h),
 * and must be the module's, too. Returns 0; or -1, and says why in `message`. */
typedef int cs_transport_open_function(const char *build, cs_transport *transport_p, char *message,
                                       size_t message_bytes);
#define CS_TRANSPORT_OPEN "cs_transport_open"

#endif
