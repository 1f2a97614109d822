/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hunt/hosts.h -- lists of hosts as clusters write them. */
#ifndef CS_HUNT_HOSTS_H
#define CS_HUNT_HOSTS_H

#include "base/arena.h"
#include "cs/error.h"

#include <stddef.h>

/* "a,b,c", with ranges in brackets as Slurm has them: "node[001-004,9],login". At most `most`
 * names, in the arena; errors are about `where`. */
CS_MUST_CHECK cs_status cs_hosts_parse(const char *list, size_t most, const char *where,
                                       cs_arena *arena, const char ***names_p, size_t *n_p,
                                       cs_error *err);

/* A host file: the first word of every line ("host slots=8" is a line of mpirun's), which may be a
 * list, too; # begins a comment. */
CS_MUST_CHECK cs_status cs_hosts_load(const char *path, size_t most, cs_arena *arena,
                                      const char ***names_p, size_t *n_p, cs_error *err);

#endif
