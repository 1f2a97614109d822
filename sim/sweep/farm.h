/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep/farm.h -- many independent items: worked on by many at once, collected by one.
 *
 * Item 0, 1, .. n - 1 each become a row of bytes; the rows come to one place, in whatever order
 * they are done. The work is done by the calling thread, by threads, or by other processes
 * (ranks): nobody who uses a farm needs to know by whom. At no time are there more than a few rows
 * per worker that were not collected yet.
 */
#ifndef CS_SWEEP_FARM_H
#define CS_SWEEP_FARM_H

#include "base/text.h"
#include "sweep/ranks.h"

#include <signal.h>

enum { CS_FARM_MAX_JOBS = 1024 };

/* What one item became; borrowed. */
typedef struct cs_farm_row {
    size_t      index;
    const char *data;
    size_t      bytes;
} cs_farm_row;

typedef struct cs_farm {
    size_t n_items;
    void  *user;

    /* Work on one item: add its row to the empty `*row`. Any thread of any process calls it, for
     * neighbours mostly. Where the machine or the program fails (cs_status_is_failure) the item is
     * left out, and the others are done; any other error ends the farm. */
    cs_status (*work)(void *user, size_t index, cs_text *row, cs_error *err);

    /* Take n >= 1 rows, on the calling thread of rank 0. What is collected in one call may be
     * written as one transaction. An error ends the farm. */
    cs_status (*collect)(void *user, const cs_farm_row *rows, size_t n, cs_error *err);

    /* What the work needs to know from rank 0: cs_farm_run() calls `learn` on every other rank
     * with these bytes before any work there. `learn` is NULL where there is nothing. */
    cs_farm_row lesson;
    cs_status (*learn)(void *user, const char *data, size_t bytes, cs_error *err);

    unsigned  jobs;  /* threads that work, of every process that does; 0 and 1: one */
    cs_ranks *ranks; /* that share the work, or NULL: this process alone */

    /* When it becomes true, on whatever rank, no item is begun any more. NULL: never. */
    const volatile sig_atomic_t *stop;
} cs_farm;

/* Items that were left out: how many, the first of them, and why it was. */
typedef struct cs_farm_misses {
    size_t   n, first;
    cs_error reason;
} cs_farm_misses;

/* Until all is done, stopped, or failed. Items that one rank could not do are tried by others.
 * Of several errors that end the farm, it returns that of the first item. `*misses_p` is filled in
 * any case. On a rank that is not 0 it works for rank 0 until that has had enough; what goes wrong
 * there is rank 0's to report, and only what keeps it from reporting is an error here. */
CS_MUST_CHECK cs_status cs_farm_run(const cs_farm *farm, cs_farm_misses *misses_p, cs_error *err);

/* For those who collect: one more was left out. */
void cs_farm_miss(cs_farm_misses *misses, size_t index, const cs_error *reason);

/* Processors that this process may use: at least 1. */
CS_API unsigned cs_farm_processors(void);

#endif
