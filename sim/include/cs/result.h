/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/result.h -- one result: a scenario's time, its proof and its lower bound. */
#ifndef CS_RESULT_H
#define CS_RESULT_H

#include "cs/job.h"

CS_BEGIN_C

/* The members down to `build` are the columns of a result (output/result_rows.h). A number that
 * does not exist is NAN, of counts CS_NO_COUNT. All texts have static storage. */
struct cs_result {
    const char *algorithm, *collective, *model; /* names */
    uint64_t    ranks, bytes, gpus_per_server;  /* of the scenario */
    double      elapsed_s;                      /* from the first arrival to the last completion */
    double      exposed_s;                      /* from the last arrival to the last completion */
    double      closed_form_s;          /* elapsed, by the algorithm's formula where it is exact */
    double      bound_s;                /* no schedule ends earlier: the largest bound that holds */
    const char *bound;                  /* the name of that bound */
    double      gap;                    /* elapsed_s / bound_s */
    double      algbw_GBps, busbw_GBps; /* 1e9 bytes per second, as nccl-tests defines them */
    uint64_t    rounds;                 /* of the plan */
    uint64_t    transfers, wire_bytes;  /* messages on the wire, and their bytes */
    bool        verified;               /* checked, and correct: `verdict` */
    double      published_form_s;       /* elapsed, as a paper's formula has it */
    double      critical_delay_s; /* of the rank that the algorithm presumes late: from which on it
                                     is faster than delay_reference; ideal: nothing more is gained
                                     (engine/delays.h); INFINITY: never. cs_job_run() leaves it NAN,
                                     `run`, sweeps and cs_config_run() find it */
    double      ideal_delay_s;
    const char *delay_reference; /* an algorithm, with what is no default: "hierarchical
                                    segments=2"; or NULL */
    cs_counts   counts;          /* of the model: packets and what befell them */
    const char *build;           /* cs_build() */

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
