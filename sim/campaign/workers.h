/* SPDX-License-Identifier: GPL-3.0-or-later */
/* campaign/workers.h -- many independent items: worked on by many at once, collected by one.
 *
 * Item 0, 1, .. n - 1 each become a row of bytes; the rows come to one place, in whatever order
 * they are done. The work is done by the calling thread, by threads, or by other processes
 * (ranks): nobody who uses workers needs to know by whom. At no time are there more than a few rows
 * per worker that were not collected yet.
 */
#ifndef CS_CAMPAIGN_WORKERS_H
#define CS_CAMPAIGN_WORKERS_H

#include "base/text.h"
#include "campaign/ranks.h"

#include <signal.h>

/* What one item became; borrowed. */
typedef struct cs_work_item {
    size_t      index;
    const char *data;
    size_t      bytes;
} cs_work_item;

typedef struct cs_workers {
    size_t n_items;
    void  *user;

    /* Work on one item: add its row to the empty `*row`. Any thread of any process calls it, for
     * neighbours mostly. Where the machine or the program fails (cs_status_is_failure) the item is
     * left out, and the others are done; any other error ends the work. */
    cs_status (*work)(void *user, size_t index, cs_text *row, cs_error *err);

    /* Take n >= 1 items, each of which comes once, on the calling thread of rank 0. What is
     * collected in one call may be written as one transaction. An error ends the work. */
    cs_status (*collect)(void *user, const cs_work_item *items, size_t n, cs_error *err);

    /* What the work needs to know from rank 0: cs_workers_run() calls `on_broadcast` on every other
     * rank with these bytes before any work there. NULL where there is nothing. */
    const char *broadcast;
    size_t      broadcast_bytes;
    cs_status (*on_broadcast)(void *user, const char *data, size_t bytes, cs_error *err);

    unsigned  jobs;  /* threads that work, of every process that does; 0 and 1: one */
    cs_ranks *ranks; /* that share the work, or NULL: this process alone */

    /* When it becomes true, on whatever rank, no item is begun any more. NULL: never. */
    const volatile sig_atomic_t *stop;
} cs_workers;

/* Items that were left out: how many, the first of them, and why it was. */
typedef struct cs_skipped_items {
    size_t   n, first;
    cs_error reason;
} cs_skipped_items;

/* Until all is done, stopped, or failed. Items that one rank could not do are tried by others.
 * Of several errors that end the work, it returns that of the first item. `*skipped_p` is filled in
 * any case. On a rank that is not 0 it works for rank 0 until that has had enough; what goes wrong
 * there is rank 0's to report, and only what keeps it from reporting is an error here. */
CS_MUST_CHECK cs_status cs_workers_run(const cs_workers *workers, cs_skipped_items *skipped_p,
                                       cs_error *err);

/* What rank 0 hands to a thread of another one at most. */
enum { CS_WORKERS_AHEAD = 32 };

#endif
