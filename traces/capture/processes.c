/* SPDX-License-Identifier: GPL-3.0-or-later */
/* processes.c -- see processes.h; what a launcher tells its processes by their environment. */
#include "processes.h"

#include <stdlib.h>

uint32_t cap_processes_launched(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *text = getenv(names[i]);
        const long  n    = text == NULL ? 0 : strtol(text, NULL, 10);
        if (n > 0) {
            return (uint32_t)n;
        }
    }
    /* PMIx (srun) says which one this is, and MPI how many there are. */
    return getenv("PMIX_RANK") == NULL ? 1 : UINT32_MAX;
}
