/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output/model_compare.h -- one schedule on every model there is, and where they part. */
#ifndef CS_OUTPUT_MODEL_COMPARE_H
#define CS_OUTPUT_MODEL_COMPARE_H

#include "base/listener.h"
#include "cs/recording.h"

enum { CS_MOST_SHARED = 8, CS_LINK_NAME_BYTES = 64 };

/* A link on the way of the first transfer that differs, and how many others used it meanwhile. */
typedef struct cs_shared_link {
    char     name[CS_LINK_NAME_BYTES];
    uint64_t n_others;
} cs_shared_link;

typedef struct cs_model_row {
    const cs_model *model;
    cs_error        refusal;     /* status CS_OK: it ran */
    bool            no_topology; /* it knows ports only: run on a crossbar */
    cs_outcome      outcome;

    /* Against the first row that ran: */
    bool        parts;
    uint64_t    index; /* of the first transfer that ends at another time, in the stream */
    cs_transfer transfer;
    cs_interval mine, theirs;                 /* theirs: of the first row */
    double      mine_alone_s, theirs_alone_s; /* how long its message takes with nobody else
                                                 there, from when it started here; NAN: unknown */
    cs_shared_link shared[CS_MOST_SHARED];
    size_t         n_shared;
} cs_model_row;

/* Run the schedule of a resolved job on all models, other models than its own with their default
 * options. Two ends differ if they are more than `tolerance` of the later one apart; of all
 * transfers for which they do, the one that ends first is named. `rows` has room for every model of
 * the list. Two recordings at a time; more than 20 million transfers are refused. The listener (or
 * NULL) is told how many of the models are done. */
CS_MUST_CHECK cs_status cs_compare_models(const cs_job *job, double tolerance,
                                          const cs_listener *listener, cs_model_row *rows,
                                          size_t *n_rows_p, cs_error *err);

#endif
