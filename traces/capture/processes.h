/* SPDX-License-Identifier: GPL-3.0-or-later */
/* processes.h -- the processes of collsim-nccl: one for all GPUs, or one per GPU under mpirun.
 *
 * processes_mpi.c is for a build with MPI, which it only touches where a launcher started several
 * processes; processes_one.c for one without. All processes call these functions in the same order
 * with the same arguments. What fails inside of MPI ends all processes.
 */
#ifndef CAPTURE_PROCESSES_H
#define CAPTURE_PROCESSES_H

#include "cs/error.h"

#include <stddef.h>
#include <stdint.h>

typedef struct cap_processes {
    uint32_t n, index; /* how many, and which one this is; 0 reads, prints and writes */
    uint32_t on_host;  /* which of those on its host */
} cap_processes;

/* CS_ENOTSUP: a launcher started several, and this build cannot bring them together. */
cs_status cap_processes_join(int *argc, char ***argv, cap_processes *processes_p, cs_error *err);
void      cap_processes_leave(void);

/* How many a launcher (Open MPI, PMIx, MPICH) says that it has started; 1 without one. */
uint32_t cap_processes_launched(void);

/* CS_OK where all processes are well; else, on all of them, what the first one that is not has. */
cs_status cap_processes_agree(cs_status mine, cs_error *err);
/* Bytes of process 0, to all. */
void cap_processes_share(void *bytes, size_t n);
/* The greatest that any process has, to all; NAN counts as nothing. */
void cap_processes_greatest(double *values, size_t n);
/* The sum of what all have, to all. */
uint64_t cap_processes_sum(uint64_t mine);
/* This process's clock is process 0's plus this, to *error_s_p. CLOCK_MONOTONIC. */
double cap_processes_clock(double *error_s_p);

#endif
