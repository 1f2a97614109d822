/* SPDX-License-Identifier: GPL-3.0-or-later */
/* processes_one.c -- see processes.h; a build without MPI. */
#include "processes.h"

cs_status cap_processes_join(int *argc, char ***argv, cap_processes *processes_p, cs_error *err)
{
    (void)argc;
    (void)argv;
    *processes_p = (cap_processes){.n = 1};
    if (cap_processes_launched() > 1) {
        return CS_FAIL(err, CS_ENOTSUP, "",
                       "%u processes were started, and this build has no MPI: one process for all "
                       "GPUs is accepted",
                       cap_processes_launched());
    }
    return CS_OK;
}

void cap_processes_leave(void)
{
}

cs_status cap_processes_agree(cs_status mine, cs_error *err)
{
    (void)err;
    return mine;
}

void cap_processes_share(void *bytes, size_t n)
{
    (void)bytes;
    (void)n;
}

void cap_processes_greatest(double *values, size_t n)
{
    (void)values;
    (void)n;
}

uint64_t cap_processes_sum(uint64_t mine)
{
    return mine;
}

double cap_processes_clock(double *error_s_p)
{
    *error_s_p = 0;
    return 0;
}
