/* SPDX-License-Identifier: GPL-3.0-or-later */
/* campaign/mpi/transport_mpi.c -- messages over MPI: the only file that knows it.
 *
 * Waiting is left to the caller, who asks (MPI_Iprobe) and sleeps: blocking calls of Open MPI
 * keep a processor busy for as long as they wait.
 */
#include "campaign/transport.h"

#include "cs/build.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int send_message(void *self, int to, int kind, const void *data, size_t bytes)
{
    (void)self;
    return MPI_Send(data, (int)bytes, MPI_BYTE, to, kind, MPI_COMM_WORLD) == MPI_SUCCESS ? 0 : -1;
}

static int probe_message(void *self, int *from_p, int *kind_p, size_t *bytes_p)
{
    MPI_Status status;
    int        waits = 0, bytes = 0;

    (void)self;
    if (MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &waits, &status) != MPI_SUCCESS) {
        return -1;
    }
    if (!waits) {
        return 0;
    }
    if (MPI_Get_count(&status, MPI_BYTE, &bytes) != MPI_SUCCESS || bytes < 0) {
        return -1;
    }
    *from_p  = status.MPI_SOURCE;
    *kind_p  = status.MPI_TAG;
    *bytes_p = (size_t)bytes;
    return 1;
}

static int receive_message(void *self, int from, int kind, void *data, size_t bytes)
{
    (void)self;
    return MPI_Recv(data, (int)bytes, MPI_BYTE, from, kind, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
                   MPI_SUCCESS
               ? 0
               : -1;
}

static void leave(void *self)
{
    (void)self;
    MPI_Finalize();
}

static void end_all(void *self, int code)
{
    (void)self;
    MPI_Abort(MPI_COMM_WORLD, code);
}

__attribute__((visibility("default"))) cs_transport_open_function cs_transport_open;

int cs_transport_open(const char *build, cs_transport *transport_p, char *message,
                      size_t message_bytes)
{
    int provided = 0;

    *transport_p = (cs_transport){.send    = send_message,
                                  .probe   = probe_message,
                                  .receive = receive_message,
                                  .leave   = leave,
                                  .abort   = end_all};
    if (strcmp(build, cs_build()) != 0) {
        snprintf(message, message_bytes, "is of build %s, the program of %s", cs_build(), build);
        return -1;
    }
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
        provided < MPI_THREAD_FUNNELED) {
        snprintf(message, message_bytes, "cannot start MPI with threads");
        return -1;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &transport_p->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &transport_p->size);
    return 0;
}
