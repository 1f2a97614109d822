/* SPDX-License-Identifier: GPL-3.0-or-later */
/* processes_mpi.c -- see processes.h; a build with MPI. */
#include "mpi_link.h"
#include "processes.h"

#include "base/alloc.h"

#include <limits.h>
#include <math.h>

enum { ROUND_TRIPS = 64 };

static bool has_joined; /* false: one process, which needs no MPI */

cs_status cap_processes_join(int *argc, char ***argv, cap_processes *processes_p, cs_error *err)
{
    int      n = 1, index = 0, on_host = 0;
    MPI_Comm host;

    (void)err;
    *processes_p = (cap_processes){.n = 1};
    if (cap_processes_launched() <= 1) {
        return CS_OK;
    }
    MPI_Init(argc, argv);
    has_joined = true;
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Comm_rank(MPI_COMM_WORLD, &index);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, index, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &on_host);
    MPI_Comm_free(&host);
    *processes_p =
        (cap_processes){.n = (uint32_t)n, .index = (uint32_t)index, .on_host = (uint32_t)on_host};
    return CS_OK;
}

void cap_processes_leave(void)
{
    if (has_joined) {
        MPI_Finalize();
        has_joined = false;
    }
}

cs_status cap_processes_agree(cs_status mine, cs_error *err)
{
    return has_joined ? cap_mpi_agree(MPI_COMM_WORLD, mine, err) : mine;
}

void cap_processes_share(void *bytes, size_t n)
{
    for (size_t done = 0; has_joined && done < n;) {
        const int part = n - done < INT_MAX ? (int)(n - done) : INT_MAX;
        MPI_Bcast((char *)bytes + done, part, MPI_BYTE, 0, MPI_COMM_WORLD);
        done += (size_t)part;
    }
}

void cap_processes_greatest(double *values, size_t n)
{
    for (size_t i = 0; has_joined && i < n; i++) {
        values[i] = isnan(values[i]) ? -HUGE_VAL : values[i];
    }
    for (size_t done = 0; has_joined && done < n;) {
        const int part = n - done < INT_MAX ? (int)(n - done) : INT_MAX;
        MPI_Allreduce(MPI_IN_PLACE, values + done, part, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        done += (size_t)part;
    }
    for (size_t i = 0; has_joined && i < n; i++) {
        values[i] = values[i] > -HUGE_VAL ? values[i] : (double)NAN;
    }
}

uint64_t cap_processes_sum(uint64_t mine)
{
    uint64_t sum = mine;

    if (has_joined) {
        MPI_Allreduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    }
    return sum;
}

double cap_processes_clock(double *error_s_p)
{
    int        n = 1, index = 0;
    cap_offset own = {0};

    *error_s_p = 0;
    if (!has_joined) {
        return 0;
    }
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Comm_rank(MPI_COMM_WORLD, &index);
    cap_offset *all = index == 0 ? cs_calloc((size_t)n, sizeof *all) : NULL;
    if (index == 0 && all == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    cap_mpi_compare_clocks(MPI_COMM_WORLD, ROUND_TRIPS, all);
    MPI_Scatter(all, sizeof own, MPI_BYTE, &own, sizeof own, MPI_BYTE, 0, MPI_COMM_WORLD);
    cs_free(all);
    *error_s_p = own.error_s;
    return own.offset_s;
}
