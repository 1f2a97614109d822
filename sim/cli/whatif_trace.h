/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli/whatif_trace.h -- `collsim whatif --trace`: its options and its answer. */
#ifndef CS_CLI_WHATIF_TRACE_H
#define CS_CLI_WHATIF_TRACE_H

#include "cli/arrival_args.h"
#include "cli/config_keys.h"

/* The table; cs_arrival_args belongs beside it. */
extern const cs_arg cs_whatif_trace_args[];
enum { CS_WHATIF_TRACE_FIRST = 300, CS_WHATIF_TRACE_LAST = 399 };

/* What was chosen; `{0}` is nothing. Texts are borrowed from the command line. */
typedef struct cs_whatif_trace_choice {
    cs_arrival_choice arrivals;
    const char       *algorithms, *bytes, *baseline, *period, *agreement;
    struct {
        const cs_config_key *key;
        const char          *value;
    } set[32];
    size_t      n_set;
    const char *last_option;
} cs_whatif_trace_choice;

/* Is it an id of this table or of cs_arrival_args? */
bool cs_whatif_trace_arg_is(int id);

/* Take such an option. */
cs_status cs_whatif_trace_add(cs_whatif_trace_choice *choice, int id, const cs_args *args,
                              cs_error *err);

/* Was a trace given? */
bool cs_whatif_trace_is_wanted(const cs_whatif_trace_choice *choice);

/* The last option of these that was given, or NULL. */
const char *cs_whatif_trace_option(const cs_whatif_trace_choice *choice);

/* Read the trace, replay it on the configuration and add the answer to `text`; `format` is an
 * index of "table|json|csv". */
cs_status cs_whatif_trace_answer(const cs_whatif_trace_choice *choice, cs_config *config,
                                 int format, cs_text *text, cs_error *err);

#endif
