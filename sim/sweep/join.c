/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep/join.c -- is there an mpirun around this process, and is there a module for it?
 *
 * Launchers tell by the environment: Open MPI's mpirun sets OMPI_COMM_WORLD_SIZE and _RANK; every
 * launcher that speaks PMIx (such as Slurm's srun --mpi=pmix) sets PMIX_RANK; those of MPICH and
 * its kin set PMI_SIZE and PMI_RANK.
 */
#include "base/alloc.h"
#include "base/module.h"
#include "cs/build.h"
#include "sweep/ranks.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    cs_status status = load(&transport, err);
    if (status != CS_OK) {
        return status;
    }
    if (transport.size == 1) {
        transport.leave(transport.self);
        return CS_OK;
    }
    *ranks_p = cs_ranks_over(&transport);
    if (*ranks_p == NULL) {
        transport.leave(transport.self);
        return CS_FAIL(err, CS_ENOMEM, NULL, "out of memory");
    }
    return CS_OK;
}
