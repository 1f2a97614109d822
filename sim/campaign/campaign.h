/* SPDX-License-Identifier: GPL-3.0-or-later */
/* campaign/campaign.h -- many scenarios, each of which becomes one row: by threads or by ranks, in
 * memory, and in a file that a killed campaign continues.
 *
 * A campaign is a list of scenarios, the work that makes the row of one, and the table of such
 * rows. Whoever works on a scenario says which text identifies its row, and does no more where the
 * file has that row. Rank 0 takes the rows as they come, and writes what is there at a time as one
 * transaction: a kill loses no more than the rows under way. Rows depend on their scenarios
 * alone, and are ordered by key in the file, so it does not matter who was first.
 *
 * A scenario's own error (the configuration refuses it, or the algorithm does) is a row. Errors of
 * the machine and of the program are not properties of the scenario: it is left out, and tried
 * again next time.
 */
#ifndef CS_CAMPAIGN_CAMPAIGN_H
#define CS_CAMPAIGN_CAMPAIGN_H

#include "campaign/workers.h"
#include "output/store.h"
#include "study/config.h"

/* The row of a scenario; what it points to is borrowed. */
typedef struct cs_campaign_row {
    size_t      scenario;
    bool        is_stored;       /* it was in the file before */
    bool        is_refused;      /* the scenario could not be run, and little of it is known */
    bool        is_wrong;        /* its schedule was found wrong */
    const void *columns, *texts; /* structs of the table */
} cs_campaign_row;

/* The work on one scenario, which is under way. */
typedef struct cs_work cs_work;

/* Say which text identifies the row. *is_stored_p: the file has it, and the work is done. Without a
 * file there is none. CS_EINVAL when its key belongs to another text. */
CS_MUST_CHECK cs_status cs_work_identify(cs_work *work, const char *text, bool *is_stored_p,
                                         cs_error *err);

/* Hand in the row, of which only `scenario` and `is_stored` need not be set. */
void cs_work_put(cs_work *work, const cs_campaign_row *row);

typedef struct cs_campaign {
    size_t                n_scenarios; /* numbered from 0 on */
    const cs_store_table *table;
    void                 *user;

    /* Called once on every rank before any work there: prepare, and say which of the scenarios are
     * to be worked on, in this order. NULL: all. What fails on another rank rank 0 is told. */
    cs_status (*begin)(void *user, const size_t **scenarios_p, size_t *n_p, cs_error *err);

    /* Identify the row of a scenario, and make it. Any thread of any process calls it, for
     * neighbours mostly. Where the work was given up because of *stop there is no row. Where the
     * machine or the program fails (cs_status_is_failure) the scenario is left out; any other error
     * ends the campaign. */
    cs_status (*work)(void *user, size_t scenario, cs_work *work, cs_error *err);

    /* Take a row, on the calling thread of rank 0. NULL: nobody wants them. */
    cs_status (*take)(void *user, const cs_campaign_row *row, cs_error *err);
    bool reads_stored; /* rows that the file had come with their columns and texts */

    /* The last look into the file, on rank 0. NULL: none. */
    cs_status (*finish)(void *user, cs_store *store, cs_error *err);

    const char      *path; /* of the file of results, created where it is not there; or NULL */
    bool             accepts_builds; /* go on where another build has written rows into it */
    const cs_config *config;         /* whose swept keys are columns of the file, too; NULL: none */
    unsigned         jobs;           /* threads that work; 0 and 1: the calling thread does */
    cs_ranks        *ranks; /* that share the work, each with so many threads; NULL: alone */

    /* Called by the calling thread of rank 0 from time to time; NULL: never. */
    void (*progress)(void *user, size_t done, size_t total);

    /* When it becomes true, no scenario is begun any more. NULL: never. */
    const volatile sig_atomic_t *stop;
} cs_campaign;

typedef struct cs_campaign_summary {
    size_t   total;       /* scenarios */
    size_t   done_before; /* of these, found in the file */
    size_t   run;         /* of these, run now; where the campaign fails, some may not be written */
    size_t   missing;    /* those that failed for want of memory, a file or a part of the program */
    cs_error failure;    /* of the first that is missing */
    bool     is_stopped; /* by *stop: done_before + run + missing < total */
} cs_campaign_summary;

/* Work on what the file does not hold yet. What was written is kept, also on failure;
 * `*summary_p` is filled in every case. On a rank that is not 0 it works for rank 0, touches no
 * file, and leaves the summary empty. */
CS_MUST_CHECK cs_status cs_campaign_run(const cs_campaign *campaign, cs_campaign_summary *summary_p,
                                        cs_error *err);

/* ---- how a row crosses from one process to another; for tests ---- */

/* What became of a scenario. */
typedef enum cs_row_state {
    CS_ROW_NEW,      /* there is a row */
    CS_ROW_STORED,   /* the file has it */
    CS_ROW_GIVEN_UP, /* there is none */
    CS_ROW_STATES
} cs_row_state;

typedef struct cs_packed_row {
    cs_row_state    state;
    bool            is_incomplete; /* of a stored row: as in cs_store_key, like `key` */
    uint64_t        key;
    cs_campaign_row row;
} cs_packed_row;

void cs_campaign_pack(cs_text *to, const cs_store_table *table, const cs_packed_row *row);

/* A new row is read into two structs of the table; their texts point into the bytes. CS_EIO when
 * these are no row. */
CS_MUST_CHECK cs_status cs_campaign_unpack(cs_work_item from, const cs_store_table *table,
                                           void *columns, void *texts, cs_packed_row *row_p,
                                           cs_error *err);

#endif
