/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mpi_link.h -- what this program does over MPI besides schedules: waiting, comparing clocks,
 * probing links.
 *
 * Waiting asks MPI and gives way (sched_yield), and sleeps for 20 us at a time once it has lasted a
 * millisecond. MPI_Wait would keep a processor busy; with more ranks than processors, and two
 * threads a rank, that makes an empty message ten times slower.
 *
 * An error of MPI ends the run (MPI_ERRORS_ARE_FATAL): no function here returns one.
 */
#ifndef CAPTURE_MPI_LINK_H
#define CAPTURE_MPI_LINK_H

#include "clock.h"
#include "links.h"

#include <mpi.h>
#include <stdatomic.h>

/* Wait for a request; any thread may. false: *gives_up became true before (NULL: it never does),
 * and the request is still there. */
bool cap_mpi_wait(MPI_Request *request, const atomic_bool *gives_up);
/* Of all ranks of comm. */
void cap_mpi_barrier(MPI_Comm comm);

/* The clocks of all ranks against rank 0's, one rank after the other: at rank 0, n offsets
 * (the first one of them 0). Elsewhere offsets may be NULL. All ranks of comm call it. */
void cap_mpi_compare_clocks(MPI_Comm comm, uint32_t n_round_trips, cap_offset *offsets);

/* What to probe. */
typedef struct cap_mpi_probe {
    const uint64_t *sizes_bytes; /* rising, from 0 */
    uint32_t        n_sizes;
    uint32_t        repetitions; /* of each size, >= 1, after one that is not counted */
    uint32_t        busy; /* ranks of a host that are at work at the same time; 0: its processors */
} cap_mpi_probe;

/* All ranks of comm call it. At rank 0 *links_p is filled and fitted, elsewhere left alone.
 * CS_ENOMEM on all ranks: one of them had no memory. */
cs_status cap_mpi_probe_links(MPI_Comm comm, const cap_mpi_probe *probe, cap_links *links_p,
                              cs_error *err);

/* The status of the first rank that is not fine, CS_OK if all are; err of this rank is filled then.
 * All ranks of comm call it. */
cs_status cap_mpi_first_failure(MPI_Comm comm, cs_status mine, cs_error *err);

/* Go on together or not at all: CS_OK if all ranks are fine. */
static inline cs_status cap_mpi_agree(MPI_Comm comm, cs_status mine, cs_error *err)
{
    const cs_status all = cap_mpi_first_failure(comm, mine, err);

    return mine != CS_OK ? mine : all;
}

#endif
