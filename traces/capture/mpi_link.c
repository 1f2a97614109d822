/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capture/mpi_link.c -- see mpi_link.h. */
#include "mpi_link.h"

#include "base/alloc.h"
#include "executor.h"

#include <limits.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TAG_CLOCK = 32000, TAG_PROBE };
enum { NAP_NS = 20000, ASK_BEFORE_TIME = 16 };
#define PATIENCE_S 1e-3
/* MPI counts in int. */
#define MOST_BYTES (1u << 30)

bool cap_mpi_wait(MPI_Request *request, const atomic_bool *gives_up)
{
    double since = 0;

    for (uint64_t asked = 1;; asked++) {
        int done = 0;
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (done) {
            return true;
        }
        if (gives_up != NULL && atomic_load_explicit(gives_up, memory_order_relaxed)) {
            return false;
        }
        if (asked % ASK_BEFORE_TIME == 0) {
            const double now = cap_now_s();
            since            = since > 0 ? since : now;
            if (now - since > PATIENCE_S) {
                nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
                continue;
            }
        }
        sched_yield();
    }
}

void cap_mpi_barrier(MPI_Comm comm)
{
    MPI_Request request;

    MPI_Ibarrier(comm, &request);
    cap_mpi_wait(&request, NULL);
}

static void send_bytes(MPI_Comm comm, int to, int tag, const char *data, uint64_t bytes)
{
    do {
        const uint64_t part = bytes < MOST_BYTES ? bytes : MOST_BYTES;
        MPI_Request    request;
        MPI_Isend(data, (int)part, MPI_BYTE, to, tag, comm, &request);
        cap_mpi_wait(&request, NULL);
        data += part;
        bytes -= part;
    } while (bytes > 0);
}

static void receive_bytes(MPI_Comm comm, int from, int tag, char *data, uint64_t bytes)
{
    do {
        const uint64_t part = bytes < MOST_BYTES ? bytes : MOST_BYTES;
        MPI_Request    request;
        MPI_Irecv(data, (int)part, MPI_BYTE, from, tag, comm, &request);
        cap_mpi_wait(&request, NULL);
        data += part;
        bytes -= part;
    } while (bytes > 0);
}

/* ---- clocks ---- */

static cap_offset ask_clock(MPI_Comm comm, int rank, uint32_t n_round_trips)
{
    cap_offset best = {0};

    /* The first round trips open connections; the shortest one counts. */
    for (uint32_t i = 0; i < n_round_trips; i++) {
        cap_round_trip trip;
        trip.asked_s = cap_now_s();
        send_bytes(comm, rank, TAG_CLOCK, NULL, 0);
        receive_bytes(comm, rank, TAG_CLOCK, (char *)&trip.answered_s, sizeof trip.answered_s);
        trip.heard_s           = cap_now_s();
        const cap_offset found = cap_offset_of(&trip, 1);
        best                   = i == 0 || found.error_s < best.error_s ? found : best;
    }
    return best;
}

void cap_mpi_compare_clocks(MPI_Comm comm, uint32_t n_round_trips, cap_offset *offsets)
{
    int rank = 0, n_ranks = 0;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &n_ranks);
    if (rank == 0) {
        offsets[0] = (cap_offset){.at_s = cap_now_s()};
        for (int other = 1; other < n_ranks; other++) {
            offsets[other] = ask_clock(comm, other, n_round_trips);
        }
    } else {
        for (uint32_t i = 0; i < n_round_trips; i++) {
            receive_bytes(comm, 0, TAG_CLOCK, NULL, 0);
            const double now = cap_now_s();
            send_bytes(comm, 0, TAG_CLOCK, (const char *)&now, sizeof now);
        }
    }
}

/* ---- links ---- */

typedef struct prober {
    MPI_Comm             comm;
    const cap_mpi_probe *probe;
    char                *out, *in;             /* the largest message */
    double              *times_s;              /* of the repetitions of one size */
    double              *minimum_s, *median_s; /* to each rank, of each size */
} prober;

static void send_all(prober *self, uint32_t partner)
{
    const cap_mpi_probe *probe = self->probe;
    const int            to    = (int)partner;

    for (uint32_t size = 0; size < probe->n_sizes; size++) {
        for (uint32_t i = 0; i <= probe->repetitions; i++) {
            const double start = cap_now_s();
            send_bytes(self->comm, to, TAG_PROBE, self->out, probe->sizes_bytes[size]);
            receive_bytes(self->comm, to, TAG_PROBE, NULL, 0);
            if (i > 0) {
                self->times_s[i - 1] = cap_now_s() - start;
            }
        }
        cap_minimum_median(self->times_s, probe->repetitions,
                           &self->minimum_s[partner * probe->n_sizes + size],
                           &self->median_s[partner * probe->n_sizes + size]);
    }
}

static void answer_all(prober *self, uint32_t partner)
{
    const cap_mpi_probe *probe = self->probe;

    for (uint32_t size = 0; size < probe->n_sizes; size++) {
        for (uint32_t i = 0; i <= probe->repetitions; i++) {
            receive_bytes(self->comm, (int)partner, TAG_PROBE, self->in, probe->sizes_bytes[size]);
            send_bytes(self->comm, (int)partner, TAG_PROBE, NULL, 0);
        }
    }
}

/* Which host each rank is on, numbered as they first occur, and how many of its ranks may be at
 * work: all ranks know of all. */
static void find_hosts(MPI_Comm comm, uint32_t n_ranks, uint32_t busy, char *names, uint32_t *host,
                       uint32_t *capacity)
{
    char           mine[MPI_MAX_PROCESSOR_NAME] = "";
    int            length                       = 0;
    const long     processors                   = sysconf(_SC_NPROCESSORS_ONLN);
    const uint32_t room    = busy > 0 ? busy : processors > 0 ? (uint32_t)processors : 1;
    uint32_t       n_hosts = 0;

    MPI_Get_processor_name(mine, &length);
    MPI_Allgather(mine, sizeof mine, MPI_CHAR, names, sizeof mine, MPI_CHAR, comm);
    MPI_Allgather(&room, 1, MPI_UINT32_T, capacity, 1, MPI_UINT32_T, comm);
    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        uint32_t first = 0;
        while (strcmp(names + first * sizeof mine, names + rank * sizeof mine) != 0) {
            first++;
        }
        if (first == rank) {
            capacity[n_hosts] = capacity[rank]; /* n_hosts <= rank: that one has been read */
            host[rank]        = n_hosts++;
        } else {
            host[rank] = host[first];
        }
    }
}

static void play_tournament(prober *self, uint32_t rank, uint32_t n, const uint32_t *host,
                            const uint32_t *capacity, uint32_t *turn, uint32_t *busy)
{
    for (uint32_t round = 0; round < cap_tournament_rounds(n); round++) {
        const uint32_t partner = cap_tournament_partner(n, round, rank);
        const uint32_t n_turns = cap_tournament_turns(n, round, host, capacity, turn, busy);
        for (uint32_t i = 0; i < n_turns; i++) {
            cap_mpi_barrier(self->comm);
            if (turn[rank] != i || partner == rank) {
                continue;
            }
            if (rank < partner) {
                send_all(self, partner);
                answer_all(self, partner);
            } else {
                answer_all(self, partner);
                send_all(self, partner);
            }
        }
    }
    cap_mpi_barrier(self->comm);
}

cs_status cap_mpi_first_failure(MPI_Comm comm, cs_status mine, cs_error *err)
{
    int rank = 0, first = 0;

    MPI_Comm_rank(comm, &rank);
    const int   candidate = mine == CS_OK ? INT_MAX : rank;
    MPI_Request request;
    MPI_Iallreduce(&candidate, &first, 1, MPI_INT, MPI_MIN, comm, &request);
    cap_mpi_wait(&request, NULL);
    if (first == INT_MAX) {
        return CS_OK;
    }
    cs_error theirs = {0};
    if (rank == first && err != NULL) {
        theirs = *err;
    }
    theirs.status = mine;
    theirs.file   = NULL; /* an address of that process */
    MPI_Bcast(&theirs, sizeof theirs, MPI_BYTE, first, comm);
    if (mine == CS_OK && err != NULL) {
        *err      = theirs;
        err->file = __FILE__;
    }
    return theirs.status;
}

static cs_status open_prober(prober *self, uint32_t n, cap_links *links, uint32_t **numbers_p,
                             char **names_p, cs_error *err)
{
    const cap_mpi_probe *probe   = self->probe;
    const uint64_t       largest = probe->sizes_bytes[probe->n_sizes - 1];
    const size_t         n_times = (size_t)n * probe->n_sizes;

    self->out       = cs_calloc(largest + 1, 1);
    self->in        = cs_calloc(largest + 1, 1);
    self->times_s   = cs_calloc(probe->repetitions, sizeof(double));
    self->minimum_s = cs_calloc(n_times, sizeof(double));
    self->median_s  = cs_calloc(n_times, sizeof(double));
    *numbers_p      = cs_calloc((size_t)n * (n + 2), sizeof(uint32_t));
    *names_p        = cs_calloc(n, MPI_MAX_PROCESSOR_NAME);
    if (self->out == NULL || self->in == NULL || self->times_s == NULL || self->minimum_s == NULL ||
        self->median_s == NULL || *numbers_p == NULL || *names_p == NULL) {
        return CS_NO_MEMORY(err, "messages of %llu bytes", (unsigned long long)largest);
    }
    memset(self->out, 1, largest + 1); /* pages that are there */
    memset(self->in, 1, largest + 1);
    return cap_links_create(links, n, probe->sizes_bytes, probe->n_sizes, err);
}

cs_status cap_mpi_probe_links(MPI_Comm comm, const cap_mpi_probe *probe, cap_links *links_p,
                              cs_error *err)
{
    int rank = 0, size = 0;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    const uint32_t n       = (uint32_t)size;
    const int      n_times = (int)(n * probe->n_sizes);
    cap_links      links   = {0};
    prober         self    = {.comm = comm, .probe = probe};
    uint32_t *numbers = NULL; /* capacity of hosts, turn of ranks, busy ranks of hosts in turns */
    char     *names   = NULL;
    cs_status status  = open_prober(&self, n, &links, &numbers, &names, err);

    status = cap_mpi_agree(comm, status, err);
    if (status == CS_OK) {
        find_hosts(comm, n, probe->busy, names, links.host, numbers);
        play_tournament(&self, (uint32_t)rank, n, links.host, numbers, numbers + n,
                        numbers + 2 * (size_t)n);
        MPI_Gather(self.minimum_s, n_times, MPI_DOUBLE, links.minimum_s, n_times, MPI_DOUBLE, 0,
                   comm);
        MPI_Gather(self.median_s, n_times, MPI_DOUBLE, links.median_s, n_times, MPI_DOUBLE, 0,
                   comm);
        status = cap_mpi_agree(comm, rank == 0 ? cap_links_fit(&links, err) : CS_OK, err);
    }
    if (status == CS_OK && rank == 0) {
        *links_p = links;
    } else {
        cap_links_destroy(&links);
    }
    cs_free(self.out);
    cs_free(self.in);
    cs_free(self.times_s);
    cs_free(self.minimum_s);
    cs_free(self.median_s);
    cs_free(numbers);
    cs_free(names);
    return status;
}
