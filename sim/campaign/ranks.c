/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How ranks find each other, exchange messages and end.
 *
 * Launchers tell by the environment: Open MPI's mpirun sets OMPI_COMM_WORLD_SIZE and _RANK; every
 * launcher that speaks PMIx (such as Slurm's srun --mpi=pmix) sets PMIX_RANK; those of MPICH and
 * its relatives set PMI_SIZE and PMI_RANK.
 *
 * Whoever waits for a message asks for it, sleeping in between for ever longer, up to half a
 * millisecond: a rank that waits leaves its processor to others.
 */
#include "campaign/ranks.h"

#include "base/alloc.h"
#include "base/module.h"
#include "campaign/wire.h"
#include "cs/build.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FIRST_NAP_NS 10000
#define LAST_NAP_NS  500000
#define GOODBYE_S    5.0

/* ---- is there an mpirun around this process, and is there a module for it? ---- */

static const char file_name[] = "collsim-mpi.so";

bool cs_ranks_available(char *text, size_t text_bytes)
{
    char path[PATH_MAX + 64];

    if (cs_module_find(file_name, R_OK, path, sizeof path)) {
        return true;
    }
    snprintf(text, text_bytes,
             "%s is neither beside the program nor among its libraries: build with "
             "libopenmpi-dev installed",
             file_name);
    return false;
}

static cs_status load(cs_transport *transport, cs_error *err)
{
    char  path[PATH_MAX + 64], message[160] = "";
    void *module;

    if (!cs_module_find(file_name, R_OK, path, sizeof path)) {
        return CS_FAIL(err, CS_ENOTSUP, "mpirun",
                       "several ranks were started, and this collsim has no MPI (%s is missing; "
                       "build with libopenmpi-dev installed): without mpirun, -j uses all "
                       "processors of one machine",
                       file_name);
    }
    module = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (module == NULL) {
        return CS_FAIL(err, CS_ENOTSUP, "mpirun", "the module for MPI cannot be loaded: %s",
                       dlerror());
    }
    cs_transport_open_function *open_it;
    void                       *symbol = dlsym(module, CS_TRANSPORT_OPEN);
    memcpy(&open_it, &symbol, sizeof open_it);
    if (symbol == NULL || open_it(cs_build(), transport, message, sizeof message) != 0) {
        return CS_FAIL(err, CS_ENOTSUP, "mpirun", "%s %s", path,
                       symbol == NULL ? "is no module for MPI" : message);
    }
    return CS_OK;
}

static long number_of(const char *name, long fallback)
{
    const char *text = getenv(name);
    char       *end  = NULL;
    long        n    = text != NULL ? strtol(text, &end, 10) : fallback;

    return end != NULL && (end == text || *end != '\0') ? fallback : n;
}

bool cs_ranks_prints(const cs_ranks *ranks)
{
    if (ranks != NULL) {
        return cs_ranks_leads(ranks);
    }
    return number_of("OMPI_COMM_WORLD_RANK", number_of("PMIX_RANK", number_of("PMI_RANK", 0))) == 0;
}

cs_status cs_ranks_join(cs_ranks **ranks_p, cs_error *err)
{
    long         size      = number_of("OMPI_COMM_WORLD_SIZE", 0);
    cs_transport transport = {0};

    *ranks_p = NULL;
    if (size == 0 && getenv("PMIX_RANK") == NULL) {
        return number_of("PMI_SIZE", 1) <= 1
                   ? CS_OK
                   : CS_FAIL(err, CS_ENOTSUP, "mpirun",
                             "the launcher is not Open MPI's: several processes would write "
                             "the same file");
    }
    if (size == 1) {
        return CS_OK;
    }
    CS_TRY(load(&transport, err));
    if (transport.size == 1) {
        transport.leave(transport.self);
        return CS_OK;
    }
    *ranks_p = cs_ranks_over(&transport);
    if (*ranks_p == NULL) {
        transport.leave(transport.self);
        return CS_NO_MEMORY(err, "the ranks");
    }
    return CS_OK;
}

/* ---- messages ---- */

cs_ranks *cs_ranks_over(const cs_transport *transport)
{
    cs_ranks *ranks = CS_NEW(cs_ranks, 1);

    if (ranks != NULL) {
        ranks->transport = *transport;
    }
    return ranks;
}

bool cs_ranks_leads(const cs_ranks *ranks)
{
    return ranks == NULL || ranks->transport.rank == 0;
}

double cs_ranks_now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static cs_status lost(cs_ranks *ranks, cs_error *err)
{
    ranks->is_lost = true;
    return CS_FAIL(err, CS_EIO, NULL, "rank %d has lost the connection to the others",
                   ranks->transport.rank);
}

cs_status cs_ranks_send(cs_ranks *ranks, int to, cs_message_kind kind, const char *data,
                        size_t bytes, cs_error *err)
{
    const cs_transport *t = &ranks->transport;

    if (bytes > CS_TRANSPORT_MOST_BYTES) {
        return CS_FAIL(err, CS_EIO, NULL, "a message of %zu bytes is too long", bytes);
    }
    return t->send(t->self, to, (int)kind, data, bytes) == 0 ? CS_OK : lost(ranks, err);
}

static cs_status take_message(cs_ranks *ranks, cs_message *message_p, int kind, cs_error *err)
{
    const cs_transport *t = &ranks->transport;

    if (kind <= CS_MESSAGE_NONE || kind > CS_MESSAGE_BYE) {
        return CS_FAIL(err, CS_EIO, NULL, "rank %d sent a message of no kind that there is",
                       message_p->from);
    }
    message_p->data = CS_NEW(char, message_p->bytes + 1);
    if (message_p->data == NULL) {
        return CS_NO_MEMORY(err, "a message of %zu bytes", message_p->bytes);
    }
    if (t->receive(t->self, message_p->from, kind, message_p->data, message_p->bytes) != 0) {
        cs_message_free(message_p);
        return lost(ranks, err);
    }
    message_p->kind = (cs_message_kind)kind;
    ranks->n_left += message_p->kind == CS_MESSAGE_BYE;
    ranks->is_over =
        ranks->is_over || (message_p->kind == CS_MESSAGE_END && !cs_ranks_leads(ranks));
    return CS_OK;
}

cs_status cs_ranks_receive(cs_ranks *ranks, double wait_s, cs_message *message_p, cs_error *err)
{
    const cs_transport *t      = &ranks->transport;
    struct timespec     nap    = {0, FIRST_NAP_NS};
    double              before = wait_s > 0 ? cs_ranks_now_s() : 0;

    *message_p = (cs_message){.kind = CS_MESSAGE_NONE};
    for (;;) {
        int kind  = 0;
        int found = t->probe(t->self, &message_p->from, &kind, &message_p->bytes);
        if (found < 0) {
            return lost(ranks, err);
        }
        if (found > 0) {
            return take_message(ranks, message_p, kind, err);
        }
        if (!(wait_s > 0) || cs_ranks_now_s() - before >= wait_s) {
            return CS_OK;
        }
        nanosleep(&nap, NULL);
        nap.tv_nsec = nap.tv_nsec < LAST_NAP_NS / 2 ? 2 * nap.tv_nsec : LAST_NAP_NS;
    }
}

void cs_message_free(cs_message *message)
{
    cs_free(message->data);
    *message = (cs_message){.kind = CS_MESSAGE_NONE};
}

/* ---- the first and the last messages ---- */

static cs_status send_hello(cs_ranks *ranks, cs_status status, uint64_t fingerprint, cs_error *err)
{
    cs_text  hello = {0};
    cs_error wrong = status != CS_OK && err != NULL ? *err : (cs_error){0};

    wrong.status = status;
    cs_wire_put_text(&hello, cs_build());
    cs_wire_put_u64(&hello, fingerprint);
    cs_wire_put_error(&hello, &wrong);
    cs_status sent = cs_text_status(&hello, err);
    if (sent == CS_OK) {
        sent = cs_ranks_send(ranks, 0, CS_MESSAGE_HELLO, hello.data, hello.length, err);
    }
    cs_text_free(&hello);
    return status != CS_OK ? status : sent;
}

/* Rank 0: has the rank the same build and configuration, and no error? */
static cs_status check_hello(const cs_message *hello, uint64_t fingerprint, cs_error *err)
{
    cs_wire     from   = cs_wire_over(hello->data, hello->bytes);
    const char *build  = cs_wire_text(&from);
    uint64_t    theirs = cs_wire_u64(&from);
    cs_error    wrong;

    if (!from.failed && (build == NULL || strcmp(build, cs_build()) != 0)) {
        return CS_FAIL(err, CS_EINVAL, NULL,
                       "rank %d runs build %s of collsim, rank 0 runs build %s: all must run the "
                       "same",
                       hello->from, build != NULL ? build : "(unknown)", cs_build());
    }
    cs_wire_error(&from, &wrong);
    cs_status read = cs_wire_end(&from, "the greeting of a rank", err);
    if (read != CS_OK) {
        return read;
    }
    if (wrong.status != CS_OK) {
        (void)CS_FAIL(err, wrong.status, wrong.where, "%s (rank %d)", wrong.message, hello->from);
        cs_error_locate(err, wrong.input, wrong.input_line, wrong.input_column);
        return wrong.status;
    }
    return theirs == fingerprint
               ? CS_OK
               : CS_FAIL(err, CS_EINVAL, NULL,
                         "rank %d has another configuration than rank 0; all must have the same "
                         "files and arguments",
                         hello->from);
}

cs_status cs_ranks_agree(cs_ranks *ranks, cs_status status, uint64_t fingerprint, cs_error *err)
{
    if (ranks == NULL) {
        return status;
    }
    if (!cs_ranks_leads(ranks)) {
        return send_hello(ranks, status, fingerprint, err);
    }
    for (int n_heard = 1; n_heard < ranks->transport.size && status == CS_OK;) {
        cs_message message;
        status = cs_ranks_receive(ranks, 1, &message, err);
        if (status == CS_OK && message.kind == CS_MESSAGE_HELLO) {
            status = check_hello(&message, fingerprint, err);
            n_heard++;
        }
        cs_message_free(&message);
    }
    return status;
}

void cs_ranks_end(cs_ranks *ranks)
{
    for (int to = 1; to < ranks->transport.size && !ranks->is_over; to++) {
        if (cs_ranks_send(ranks, to, CS_MESSAGE_END, "", 0, NULL) != CS_OK) {
            break;
        }
    }
    ranks->is_over = true;
}

/* Rank 0: until everybody has said goodbye, or it takes too long. */
static void await_goodbyes(cs_ranks *ranks)
{
    double    until  = cs_ranks_now_s() + GOODBYE_S;
    cs_status status = CS_OK;

    while (ranks->n_left < ranks->transport.size - 1 && status == CS_OK &&
           cs_ranks_now_s() < until) {
        cs_message message;
        status = cs_ranks_receive(ranks, 0.1, &message, NULL);
        cs_message_free(&message);
    }
}

/* Another rank: until rank 0 says that it is over. */
static void await_end(cs_ranks *ranks)
{
    cs_status status = CS_OK;

    while (!ranks->is_over && status == CS_OK) {
        cs_message message;
        status = cs_ranks_receive(ranks, 1, &message, NULL);
        cs_message_free(&message);
    }
    if (status == CS_OK) {
        (void)!cs_ranks_send(ranks, 0, CS_MESSAGE_BYE, "", 0, NULL);
    }
}

void cs_ranks_leave(cs_ranks *ranks, int exit_code)
{
    if (ranks == NULL) {
        return;
    }
    bool         is_clean  = true;
    cs_transport transport = ranks->transport;
    if (!cs_ranks_leads(ranks) && !ranks->is_lost) {
        await_end(ranks);
    } else if (!ranks->is_lost) {
        cs_ranks_end(ranks);
        await_goodbyes(ranks);
        is_clean = ranks->n_left == transport.size - 1;
    }
    is_clean = is_clean && !ranks->is_lost;
    cs_free(ranks);
    if (is_clean) {
        transport.leave(transport.self);
    } else {
        transport.abort(transport.self, exit_code);
    }
}
