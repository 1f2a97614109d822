/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capture/mpi_watchdog.c -- see mpi_watchdog.h. */
#include "mpi_watchdog.h"

#include "base/alloc.h"
#include "base/text.h"
#include "executor.h"
#include "mpi_link.h"
#include "options.h"

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { ASKED = 1, ANSWERED };
#define TICK_S     0.05
#define ANSWER_S   1.0 /* in so long who is alive has answered */
#define RANK_0_S   3.0 /* in so long rank 0 has ended a run that hangs */
#define MOST_SHOWN 8   /* ranks that do not answer */

struct cap_watchdog {
    const char     *program;
    double          limit_s;
    MPI_Comm        comm;
    int             rank, n_ranks;
    char           *answered; /* [n_ranks] */
    atomic_bool     ends;
    pthread_t       thread;
    pthread_mutex_t lock;
    double          deadline_s; /* under the lock, like the text */
    char            doing[200];
};

static bool waits(cap_watchdog *dog, int tag, int *from_p)
{
    MPI_Status status;
    int        is_there = 0;

    MPI_Iprobe(MPI_ANY_SOURCE, tag, dog->comm, &is_there, &status);
    if (is_there) {
        *from_p = status.MPI_SOURCE;
        MPI_Recv(NULL, 0, MPI_BYTE, *from_p, tag, dog->comm, MPI_STATUS_IGNORE);
    }
    return is_there != 0;
}

/* An empty message that nobody waits for. */
static void tell(cap_watchdog *dog, int rank, int tag)
{
    MPI_Request request;

    MPI_Isend(NULL, 0, MPI_BYTE, rank, tag, dog->comm, &request);
    MPI_Request_free(&request);
}

/* Ask all ranks; write who does not answer. */
static void ask_all(cap_watchdog *dog, cs_text *text)
{
    const double until  = cap_now_s() + ANSWER_S;
    int          n_dead = 0, from = 0;

    dog->answered[0] = 1;
    for (int rank = 1; rank < dog->n_ranks; rank++) {
        tell(dog, rank, ASKED);
    }
    while (cap_now_s() < until) {
        while (waits(dog, ANSWERED, &from)) {
            dog->answered[from] = 1;
        }
        cap_sleep_until(cap_now_s() + TICK_S);
    }
    for (int rank = 0; rank < dog->n_ranks; rank++) {
        n_dead += !dog->answered[rank];
        if (!dog->answered[rank] && n_dead <= MOST_SHOWN) {
            cs_text_add(text, "%s %d", n_dead == 1 ? "; no answer from rank" : ",", rank);
        }
    }
    if (n_dead > MOST_SHOWN) {
        cs_text_add(text, " and %d more", n_dead - MOST_SHOWN);
    } else if (n_dead == 0) {
        cs_text_add(text, "; all ranks answer: it may need a longer --timeout");
    }
}

static void bark(cap_watchdog *dog, const char *doing)
{
    cs_text text = {0};

    if (dog->rank == 0) {
        ask_all(dog, &text);
    } else {
        cs_text_add(&text, "; rank 0 did not end the run, rank %d does", dog->rank);
    }
    fprintf(stderr, "%s: %s: not done after %g s%s\n", dog->program, doing, dog->limit_s,
            text.data != NULL ? text.data : "");
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, CAP_BROKEN);
}

static void *watch(void *argument)
{
    cap_watchdog *dog = argument;
    /* One after the other, so that one of them prints. */
    const double patience_s = dog->rank == 0 ? 0 : RANK_0_S + fmin(dog->rank, 10) * ANSWER_S;

    while (!atomic_load(&dog->ends)) {
        char doing[sizeof dog->doing];
        int  from = 0;
        while (waits(dog, ASKED, &from)) {
            tell(dog, from, ANSWERED);
        }
        pthread_mutex_lock(&dog->lock);
        const bool is_late = cap_now_s() > dog->deadline_s + patience_s;
        memcpy(doing, dog->doing, sizeof doing);
        pthread_mutex_unlock(&dog->lock);
        if (is_late) {
            bark(dog, doing);
        }
        cap_sleep_until(cap_now_s() + TICK_S);
    }
    return NULL;
}

cs_status cap_watchdog_start(const char *program, double limit_s, cap_watchdog **watchdog_p,
                             cs_error *err)
{
    cap_watchdog *dog    = cs_calloc(1, sizeof *dog);
    cs_status     status = CS_OK;

    if (dog != NULL) {
        MPI_Comm_rank(MPI_COMM_WORLD, &dog->rank);
        MPI_Comm_size(MPI_COMM_WORLD, &dog->n_ranks);
        dog->answered = cs_calloc((size_t)dog->n_ranks, 1);
    }
    if (dog == NULL || dog->answered == NULL) {
        status = CS_NO_MEMORY(err, "a watchdog");
    }
    status = cap_mpi_agree(MPI_COMM_WORLD, status, err);
    if (status == CS_OK) {
        MPI_Comm_dup(MPI_COMM_WORLD, &dog->comm);
        dog->program    = program;
        dog->limit_s    = limit_s;
        dog->deadline_s = cap_now_s() + limit_s;
        snprintf(dog->doing, sizeof dog->doing, "start");
        pthread_mutex_init(&dog->lock, NULL);
        if (pthread_create(&dog->thread, NULL, watch, dog) == 0) {
            *watchdog_p = dog;
            return CS_OK;
        }
        MPI_Comm_free(&dog->comm); /* the caller ends the run: the others need not hear of it */
        pthread_mutex_destroy(&dog->lock);
        status = CS_FAIL(err, CS_EIO, "", "no thread for a watchdog");
    }
    if (dog != NULL) {
        cs_free(dog->answered);
        cs_free(dog);
    }
    return status;
}

void cap_watchdog_expect(cap_watchdog *dog, double more_s, const char *format, ...)
{
    va_list arguments;

    pthread_mutex_lock(&dog->lock);
    va_start(arguments, format);
    vsnprintf(dog->doing, sizeof dog->doing, format, arguments);
    va_end(arguments);
    dog->deadline_s = cap_now_s() + dog->limit_s + more_s;
    pthread_mutex_unlock(&dog->lock);
}

void cap_watchdog_end(cap_watchdog *dog)
{
    if (dog != NULL) {
        cap_mpi_barrier(MPI_COMM_WORLD); /* nobody is asked any more */
        atomic_store(&dog->ends, true);
        pthread_join(dog->thread, NULL);
        pthread_mutex_destroy(&dog->lock);
        MPI_Comm_free(&dog->comm);
        cs_free(dog->answered);
        cs_free(dog);
    }
}
