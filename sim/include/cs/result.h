/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/result.h -- one result: a scenario's time, its proof and its lower bound. */
#ifndef CS_RESULT_H
#define CS_RESULT_H

#include "cs/job.h"

CS_BEGIN_C

/* The members down to `build` are the columns of a result (output/result_rows.h). A number that
 * does not exist is NAN. */
struct cs_result {
    const char *algorithm, *collective, *model;
    uint64_t    ranks, bytes, gpus_per_server;
    double      elapsed_s, exposed_s;
    double      closed_form_s;
    double      bound_s;
    const char *bound; /* the name of the largest */
    double      gap;   /* elapsed_s / bound_s */
    double      algbw_GBps, busbw_GBps;
    uint64_t    rounds, transfers, wire_bytes;
    bool        verified;
    double      published_form_s;
    const char *build;

    const cs_field *option_table; /* of the algorithm, or NULL */
    cs_options      options;      /* as resolved */
    const cs_field *model_option_table;
    cs_options      model_options;
    cs_verdict      verdict;
    uint32_t        uses; /* of the plan: CS_USES_... */
    const char     *note; /* what the algorithm says about its choice, static text; or NULL */
};

CS_END_C

#endif
