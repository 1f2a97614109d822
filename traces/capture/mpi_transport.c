/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capture/mpi_transport.c -- see mpi_transport.h. */
#include "mpi_transport.h"

#include "base/alloc.h"
#include "mpi_link.h"

#include <string.h>

enum { AHEAD = 8 }; /* segments of a message that are under way */

/* A port: the message that it is serving. Segment k uses request and buffer k % AHEAD. */
typedef struct port {
    const cap_message *message;
    uint64_t           done;   /* floats that the executor has given or got */
    uint64_t           posted; /* floats that MPI was asked to move */
    MPI_Request        requests[AHEAD];
    float             *buffers; /* [AHEAD][CAP_MPI_SEGMENT]; NULL: no message uses this port */
} port;

enum { DATA, CLEAR, CONFIRM, FENCE, COMMS };

struct cap_mpi_transport {
    const cap_job *job;
    MPI_Comm       comms[COMMS]; /* one per kind, so that tags are numbers of messages */
    uint32_t       rank;
    port           sending[CS_FABRICS], receiving[CS_FABRICS];
    atomic_bool    aborted;
};

static cs_status wait_for(cap_mpi_transport *self, MPI_Request *request, cs_error *err)
{
    if (!cap_mpi_wait(request, &self->aborted)) {
        return CS_FAIL(err, CS_EIO, "", "rank %u stops, as another port of it failed", self->rank);
    }
    return CS_OK;
}

/* An empty message of a kind. */
static cs_status signal_to(cap_mpi_transport *self, int kind, uint32_t rank, uint32_t tag,
                           cs_error *err)
{
    MPI_Request request;

    MPI_Isend(NULL, 0, MPI_BYTE, (int)rank, (int)tag, self->comms[kind], &request);
    return wait_for(self, &request, err);
}

static cs_status await_signal(cap_mpi_transport *self, int kind, uint32_t rank, uint32_t tag,
                              cs_error *err)
{
    MPI_Request request;

    MPI_Irecv(NULL, 0, MPI_BYTE, (int)rank, (int)tag, self->comms[kind], &request);
    return wait_for(self, &request, err);
}

static cs_status clear(void *state, const cap_message *message, cs_error *err)
{
    return signal_to(state, CLEAR, message->src, message->id, err);
}

static cs_status await_clear(void *state, const cap_message *message, cs_error *err)
{
    return await_signal(state, CLEAR, message->dst, message->id, err);
}

static cs_status confirm(void *state, const cap_message *message, cs_error *err)
{
    return signal_to(state, CONFIRM, message->src, message->id, err);
}

static cs_status await_confirm(void *state, const cap_message *message, cs_error *err)
{
    return await_signal(state, CONFIRM, message->dst, message->id, err);
}

static uint64_t segment_end(const cap_message *message, uint64_t at)
{
    const uint64_t end = (at / CAP_MPI_SEGMENT + 1) * CAP_MPI_SEGMENT;

    return end < message->count ? end : message->count;
}

static MPI_Request *request_of(port *own, uint64_t at)
{
    return &own->requests[at / CAP_MPI_SEGMENT % AHEAD];
}

static float *buffer_of(port *own, uint64_t at)
{
    return own->buffers + at / CAP_MPI_SEGMENT % AHEAD * CAP_MPI_SEGMENT + at % CAP_MPI_SEGMENT;
}

static port *serve(port *own, const cap_message *message)
{
    if (own->message != message) {
        own->message = message;
        own->done = own->posted = 0;
        for (size_t i = 0; i < AHEAD; i++) {
            own->requests[i] = MPI_REQUEST_NULL;
        }
    }
    return own;
}

/* ---- sending ---- */

/* Start the segment that begins at `posted`, when the one that used its place has left. */
static cs_status send_segment(cap_mpi_transport *self, port *own, const float *values,
                              cs_error *err)
{
    const cap_message *message = own->message;
    const uint64_t     end     = segment_end(message, own->posted);

    CS_TRY(wait_for(self, request_of(own, own->posted), err));
    MPI_Isend(values, (int)(end - own->posted), MPI_FLOAT, (int)message->dst, (int)message->id,
              self->comms[DATA], request_of(own, own->posted));
    own->posted = end;
    return CS_OK;
}

static cs_status send_floats(void *state, const cap_message *message, const float *values,
                             uint64_t count, cs_error *err)
{
    cap_mpi_transport *self = state;
    port              *own  = serve(&self->sending[message->link], message);

    while (count > 0) {
        const uint64_t end  = segment_end(message, own->done);
        const uint64_t part = count < end - own->done ? count : end - own->done;
        if (own->done == own->posted && own->done + part == end) {
            CS_TRY(send_segment(self, own, values, err));
        } else { /* a part of a segment: collected */
            if (own->done == own->posted) {
                CS_TRY(wait_for(self, request_of(own, own->done), err));
            }
            memcpy(buffer_of(own, own->done), values, part * sizeof *values);
            if (own->done + part == end) {
                CS_TRY(send_segment(self, own, buffer_of(own, own->posted), err));
            }
        }
        own->done += part;
        values += part;
        count -= part;
    }
    /* The executor may change the values from now on. */
    for (size_t i = 0; i < AHEAD; i++) {
        CS_TRY(wait_for(self, &own->requests[i], err));
    }
    own->message = own->done == message->count ? NULL : message;
    return CS_OK;
}

/* ---- receiving ---- */

static void post_receive(cap_mpi_transport *self, port *own, float *to)
{
    const cap_message *message = own->message;
    const uint64_t     end     = segment_end(message, own->posted);

    MPI_Irecv(to, (int)(end - own->posted), MPI_FLOAT, (int)message->src, (int)message->id,
              self->comms[DATA], request_of(own, own->posted));
    own->posted = end;
}

/* Receive whole segments where they belong. */
static cs_status receive_in_place(cap_mpi_transport *self, port *own, float *values, uint64_t count,
                                  uint64_t *got_p, cs_error *err)
{
    const cap_message *message = own->message;
    const uint64_t     begin = own->done, rest = message->count - begin;
    const uint64_t end = begin + (count < rest ? count / CAP_MPI_SEGMENT * CAP_MPI_SEGMENT : rest);

    while (own->done < end) {
        while (own->posted < end && own->posted - own->done < AHEAD * (uint64_t)CAP_MPI_SEGMENT) {
            post_receive(self, own, values + (own->posted - begin));
        }
        CS_TRY(wait_for(self, request_of(own, own->done), err));
        own->done = segment_end(message, own->done);
    }
    *got_p = end - begin;
    return CS_OK;
}

static cs_status receive_floats(void *state, const cap_message *message, float *values,
                                uint64_t count, uint64_t *got_p, cs_error *err)
{
    cap_mpi_transport *self = state;
    port              *own  = serve(&self->receiving[message->link], message);

    if (own->done == own->posted &&
        (count >= 2 * (uint64_t)CAP_MPI_SEGMENT || count >= message->count - own->done)) {
        CS_TRY(receive_in_place(self, own, values, count, got_p, err));
    } else {
        const uint64_t begin = own->done - own->done % CAP_MPI_SEGMENT;
        while (own->posted < message->count &&
               own->posted - begin < AHEAD * (uint64_t)CAP_MPI_SEGMENT) {
            post_receive(self, own, buffer_of(own, own->posted));
        }
        const uint64_t rest = segment_end(message, own->done) - own->done;
        *got_p              = count < rest ? count : rest;
        CS_TRY(wait_for(self, request_of(own, own->done), err));
        memcpy(values, buffer_of(own, own->done), *got_p * sizeof *values);
        own->done += *got_p;
    }
    own->message = own->done == message->count ? NULL : message;
    return CS_OK;
}

/* ---- fences ---- */

/* Dissemination: in step k everybody tells the one 2^k places ahead that all between it and
 * 2^k - 1 places behind it are there. */
static cs_status fence(void *state, uint32_t rank, uint32_t number, uint32_t except, cs_error *err)
{
    cap_mpi_transport *self  = state;
    const uint32_t     n_all = self->job->schedule->cluster.n_ranks;
    const uint32_t     n     = except < n_all ? n_all - 1 : n_all;
    const uint32_t     place = rank > except ? rank - 1 : rank;

    for (uint32_t step = 1; step < n; step *= 2) {
        uint32_t ahead = (place + step) % n, behind = (place + n - step) % n;
        ahead += ahead >= except;
        behind += behind >= except;
        MPI_Request request;
        MPI_Isend(NULL, 0, MPI_BYTE, (int)ahead, (int)number, self->comms[FENCE], &request);
        CS_TRY(await_signal(self, FENCE, behind, number, err));
        CS_TRY(wait_for(self, &request, err));
    }
    return CS_OK;
}

static void stop(void *state)
{
    cap_mpi_transport *self = state;

    atomic_store(&self->aborted, true);
}

/* ---- the transport ---- */

static cs_status open_port(port *own, uint32_t n_messages, cs_error *err)
{
    if (n_messages > 0) {
        own->buffers = cs_calloc((size_t)AHEAD * CAP_MPI_SEGMENT, sizeof *own->buffers);
        if (own->buffers == NULL) {
            return CS_NO_MEMORY(err, "segments of messages");
        }
    }
    return CS_OK;
}

static cs_status open_ports(cap_mpi_transport *self, const cap_job *job, cs_error *err)
{
    int *most_p = NULL, is_known = 0;

    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most_p, &is_known);
    if (is_known && (uint32_t)*most_p < job->n_messages) {
        return CS_FAIL(err, CS_ENOTSUP, "", "%u messages, and this MPI has tags for %d",
                       job->n_messages, *most_p);
    }
    for (uint32_t link = 0; link < CS_FABRICS; link++) {
        const cap_port *own = &job->ranks[self->rank].ports[link];
        CS_TRY(open_port(&self->sending[link], own->n_sends, err));
        CS_TRY(open_port(&self->receiving[link], own->n_receives, err));
    }
    return CS_OK;
}

cs_status cap_mpi_transport_open(MPI_Comm comm, const cap_job *job, cap_mpi_transport **transport_p,
                                 cs_error *err)
{
    cap_mpi_transport *self   = cs_calloc(1, sizeof *self);
    cs_status          status = CS_OK;
    int                rank   = 0;

    MPI_Comm_rank(comm, &rank);
    if (self == NULL) {
        status = CS_NO_MEMORY(err, "a transport");
    } else {
        self->job  = job;
        self->rank = (uint32_t)rank;
        status     = open_ports(self, job, err);
    }
    status = cap_mpi_agree(comm, status, err);
    if (status != CS_OK) {
        if (self != NULL) {
            for (int kind = 0; kind < COMMS; kind++) {
                self->comms[kind] = MPI_COMM_NULL;
            }
        }
        cap_mpi_transport_close(self);
        return status;
    }
    for (int kind = 0; kind < COMMS; kind++) {
        MPI_Comm_dup(comm, &self->comms[kind]);
    }
    *transport_p = self;
    return CS_OK;
}

void cap_mpi_transport_close(cap_mpi_transport *self)
{
    if (self == NULL) {
        return;
    }
    for (uint32_t link = 0; link < CS_FABRICS; link++) {
        cs_free(self->sending[link].buffers);
        cs_free(self->receiving[link].buffers);
    }
    for (int kind = 0; kind < COMMS; kind++) {
        if (self->comms[kind] != MPI_COMM_NULL) {
            MPI_Comm_free(&self->comms[kind]);
        }
    }
    cs_free(self);
}

cap_transport cap_mpi_transport_hooks(cap_mpi_transport *transport)
{
    return (cap_transport){.state         = transport,
                           .clear         = clear,
                           .await_clear   = await_clear,
                           .send          = send_floats,
                           .receive       = receive_floats,
                           .confirm       = confirm,
                           .await_confirm = await_confirm,
                           .fence         = fence,
                           .abort         = stop};
}
