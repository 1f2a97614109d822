/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli/whatif_trace.h -- `collsim whatif --trace`: its options and its answer. */
#ifndef CS_CLI_WHATIF_TRACE_H
#define CS_CLI_WHATIF_TRACE_H

#include "cli/arrival_args.h"
#include "cli/config_args.h"

/* What was chosen beside the configuration. Texts are borrowed from the command line. */
typedef struct cs_whatif_trace_choice {
    cs_arrival_choice arrivals;
    const char       *algorithms, *baseline;
    uint64_t          bytes;       /* 0: as in the trace */
    double            period_s;    /* 0: as in the trace */
    double            agreement_s; /* 0 */
} cs_whatif_trace_choice;

/* The table, of a cs_whatif_trace_choice; cs_arrival_args belongs beside it. */
extern const cs_arg cs_whatif_trace_args[];

/* Was a trace given? */
bool cs_whatif_trace_is_wanted(const cs_whatif_trace_choice *choice);

/* Read the trace, replay it on the configuration and add the answer to `text`; `format` is an
 * index of "table|json|csv". */
cs_status cs_whatif_trace_answer(const cs_whatif_trace_choice *choice, cs_config *config,
                                 int format, cs_text *text, cs_error *err);

#endif
