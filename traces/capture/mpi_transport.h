/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capture/mpi_transport.h -- messages of a job between ranks that are processes, over MPI.
 *
 * A message is cut into segments of CAP_MPI_SEGMENT floats, whatever pieces it consists of at
 * either end, and each segment is one MPI message. Several are under way at once: the sender starts
 * them ahead, the receiver posts its receives ahead, into the memory itself where it is given
 * enough of it, else into buffers from which it copies. So a segment is added while the next ones
 * come in.
 *
 * Two empty messages per message keep the port rule: "clear" and "confirm" from the receiver. Data
 * follow "clear", and the sender's port is free after "confirm". (MPI_Ssend would not do: it
 * returns when the receive has begun, not when all is there.) So alpha, as measured, contains a
 * round trip more than that of a bare MPI message.
 *
 * Both ports of a rank are threads that wait for different things, so MPI_THREAD_MULTIPLE is
 * needed. One thread with a loop over everything that may happen would need a second executor. Open
 * MPI's threads get into each other's way in MPI_Wait; cap_mpi_wait() asks instead (mpi_link.h): a
 * step of a ring with 64 bytes takes 50 us where it takes 500 with MPI_Wait (8 ranks, 2
 * processors).
 */
#ifndef CAPTURE_MPI_TRANSPORT_H
#define CAPTURE_MPI_TRANSPORT_H

#include "executor.h"

#include <mpi.h>

#define CAP_MPI_SEGMENT 65536u

typedef struct cap_mpi_transport cap_mpi_transport;

/* For one job, whose rank r is rank r of comm (which is borrowed). All ranks of comm call it. The
 * caller owns it. CS_ENOMEM; CS_ENOTSUP: more messages than MPI has tags. */
cs_status cap_mpi_transport_open(MPI_Comm comm, const cap_job *job, cap_mpi_transport **transport_p,
                                 cs_error *err);
/* All ranks of comm call it, when no message is under way. NULL is allowed. */
void cap_mpi_transport_close(cap_mpi_transport *transport);

/* The hooks; its state is the transport. */
cap_transport cap_mpi_transport_hooks(cap_mpi_transport *transport);

#endif
