/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep/crew.h -- the threads of one process that work for a farm.
 *
 * They take numbers of items from a supply, work on them, and put the rows into a bounded queue.
 */
#ifndef CS_SWEEP_CREW_H
#define CS_SWEEP_CREW_H

#include "sweep/farm.h"
#include "sweep/queue.h"
#include "sweep/supply.h"

typedef struct cs_crew_member cs_crew_member;

/* What became of one item: a row; or none, and why. */
typedef struct cs_crew_row {
    size_t   index;
    cs_text  text;
    cs_error missed; /* status CS_OK: there is a row */
} cs_crew_row;

typedef struct cs_crew {
    const cs_farm  *farm;
    cs_supply       supply;
    cs_queue        rows; /* of cs_crew_row *, each owned by whoever takes it (cs_crew_free_row) */
    cs_crew_member *members; /* owned */
    size_t          n_members;
} cs_crew;

/* Start `n_threads` >= 1; fewer when the machine has no more. CS_EIO: not a single one. */
cs_status cs_crew_start(cs_crew *crew, const cs_farm *farm, size_t n_threads, cs_error *err);

/* Wait for the threads to end, and free everything, rows that are left, too. Close or halt the
 * supply before. Of several errors that ended a thread, that of the first item is returned, with
 * its number. */
cs_status cs_crew_end(cs_crew *crew, size_t *index_p, cs_error *err);

void cs_crew_free_row(cs_crew_row *row);

#endif
