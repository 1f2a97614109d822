/* SPDX-License-Identifier: GPL-3.0-or-later */
/* campaign/sweep.h -- every scenario of a config, over threads or ranks, into a file of results: a
 * campaign (campaign/campaign.h) of single replays.
 *
 * The rows depend on the config alone, not on the number of jobs or ranks, nor on how often the
 * sweep was killed and run again.
 */
#ifndef CS_CAMPAIGN_SWEEP_H
#define CS_CAMPAIGN_SWEEP_H

#include "campaign/campaign.h"
#include "study/all.h"

typedef struct cs_sweep_options {
    const char *path;           /* of the file of results; created where it is not there */
    bool        accepts_builds; /* go on where another build has written rows into it */
    unsigned    jobs;           /* threads that simulate; 0 and 1: the calling thread does */
    cs_ranks   *ranks;          /* that share the work, each with so many threads; NULL: alone */

    /* Called by the calling thread from time to time, and at the end; NULL: never. */
    void (*progress)(void *user, size_t done, size_t total);
    void *user;

    /* When it becomes true, no scenario is begun any more. NULL: never. */
    const volatile sig_atomic_t *stop;
} cs_sweep_options;

/* Counted are scenarios of the config, without those of algorithms that only "all" stands for and
 * that refuse them: these have no row. */
typedef struct cs_sweep_summary {
    cs_campaign_summary count;
    size_t              refused; /* of these, those that could not be run */
    size_t              wrong;   /* of these, those whose schedule was found wrong */
    cs_error            refusal; /* of the first that is refused, and of the first that is wrong */
    cs_error            mistake;
    cs_left_out         left_out; /* not counted as scenarios; the caller's (cs_left_out_free) */
} cs_sweep_summary;

/* Run what the file does not hold yet. A scenario that cannot be run (cs_status_is_refusal) is a
 * row with an error; one at which the machine or the program fails (cs_status_is_failure) is none;
 * the others are run all the same. Malformed input, and a config all of whose scenarios
 * cs_config_case() refuses, are errors of this function, the latter without touching the file; so
 * are files and memory that fail it itself. What was written is kept. `*summary_p` is filled in
 * every case. On a rank that is not 0 it works for rank 0, touches no file, and leaves the summary
 * empty. */
CS_MUST_CHECK cs_status cs_sweep(const cs_config *config, const cs_sweep_options *options,
                                 cs_sweep_summary *summary_p, cs_error *err);

#endif
