/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/process_groups.h -- which ranks the process groups have that a trace names.
 *
 * A name may stand for several groups, of which every rank is in one at most: the "tp" of the first
 * server, and that of the second.
 */
#ifndef CS_TRACES_PROCESS_GROUPS_H
#define CS_TRACES_PROCESS_GROUPS_H

#include "base/arena.h"
#include "cs/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CS_PROCESS_GROUP_BYTES = 64 }; /* of a name, with its NUL */

typedef struct cs_process_group {
    char      name[CS_PROCESS_GROUP_BYTES];
    uint32_t *ranks; /* ascending; NULL: all */
    uint32_t  n_ranks;
} cs_process_group;

/* `{.n_ranks = N}` is an empty list for a job of N ranks. */
typedef struct cs_process_groups {
    cs_arena          arena;
    cs_process_group *groups; /* owned */
    size_t            n, capacity;
    uint32_t          n_ranks;
} cs_process_groups;

/* Add those of a file: {"NAME": [0, 2], ..}, or {"NAME": [[0, 2], [1, 3]], ..}, also compressed.
 * Refuses what is no rank of the job and ranks that are in a group twice. */
CS_MUST_CHECK cs_status cs_process_groups_load(cs_process_groups *groups, const char *path,
                                               cs_error *err);

/* Add those that a node of PyTorch describes, if it does: a JSON array inside its own words for a
 * list of texts, with escapes or without: ['[{"pg_name": "0", "ranks": [0, 1]}]']. Without ranks it
 * is all of them. `name` is the file's in errors. */
CS_MUST_CHECK cs_status cs_process_groups_describe(cs_process_groups *groups, const char *text,
                                                   size_t length, const char *name, cs_error *err);

/* The group of that name that has the rank; NULL: none. *is_named_p becomes true where any has the
 * name, and stays as it is otherwise. */
const cs_process_group *cs_process_groups_find(const cs_process_groups *groups, const char *name,
                                               uint32_t rank, bool *is_named_p);

/* `{0}` is allowed. */
void cs_process_groups_free(cs_process_groups *groups);

#endif
