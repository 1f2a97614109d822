/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatif/execution.h -- how long an iteration of an execution trace takes on a cluster with late
 * ranks and slow NICs, schedule by schedule.
 *
 * Every line runs the whole iteration (whatif/execution_pass.h): its algorithm for all calls that
 * it can do, the baseline for the others, and for what that cannot do the default. A call takes
 * what a replay with the arrivals of its ranks takes, on the ports, links and faults of its process
 * group (scenario/subset.h). Algorithms that presume a late rank are run with two predictions:
 * `dynamic`, the last rank of the call, and `static`, always the rank that is last most often with
 * the baseline; in calls of other ranks the baseline runs. `hindsight` takes in each call the
 * algorithm that ends first.
 *
 * The bound: no schedules of the calls end an iteration earlier. It is the longest chain of
 * dependencies in which every call takes its lower bound for the arrivals along that chain.
 */
#ifndef CS_WHATIF_EXECUTION_H
#define CS_WHATIF_EXECUTION_H

#include "base/listener.h"
#include "scenario/late_prediction.h"
#include "study/config.h"
#include "traces/execution_trace.h"
#include "whatif/execution_pass.h"

typedef struct cs_execution_options {
    const char *const *paths; /* of the trace */
    size_t             n_paths;
    const char        *groups_path; /* which ranks process groups have; NULL */
    const char *const *algorithms;  /* names; NULL: all that know a collective of the trace */
    size_t             n_algorithms;
    const char        *baseline; /* NULL: cs_default_algorithm() of each group */
    double             agreement_s;
    cs_listener        listener; /* is told how many lines are done */
} cs_execution_options;

typedef struct cs_execution_line {
    const char   *algorithm; /* static storage; "best of all" for hindsight, "default" */
    cs_prediction policy;
    bool          is_available; /* false: `reason` says why, and the numbers are NAN */
    bool          is_baseline;
    uint32_t      place; /* 1 is the fastest, equal ones share a place; 0: hindsight, or none */
    const char   *reason;
    double        iteration_s; /* from when the first rank begins to the end of the last node */
    double        exposed_s;   /* longer than if calls and messages took no time */
    double        saved_s;     /* against the baseline */
    double        gap;         /* over the bound */
    uint32_t      n_own;       /* calls that the line's algorithm ran */
} cs_execution_line;

typedef struct cs_execution_report {
    cs_arena           arena;
    cs_execution_trace trace;
    cs_execution_line *lines; /* by place, then hindsight, then not available */
    size_t             n_lines;
    bool               has_shared_links; /* of groups that have no rank in common */
    const char        *model;            /* its name */
    const char        *defaults;  /* the algorithms of the line "default"; NULL: there is none */
    double             compute_s; /* kernels of the rank that has most */
    double             without_calls_s; /* the iteration if calls and messages took no time */
    double             bound_s;
    double             late_s;    /* how late the last rank begins */
    uint32_t           late_rank; /* UINT32_MAX: all begin together */
    cs_pass_result     baseline;
    uint64_t           n_replays;
} cs_execution_report;

/* `config` describes the cluster, the model, faults (from the begin of the iteration on), and with
 * `arrivals` when ranks begin; its ranks are set here. The caller owns the report
 * (cs_execution_report_free) on CS_OK. O(lines x (nodes log nodes + calls x replay)); calls that
 * repeat with the same arrivals are replayed once. */
CS_MUST_CHECK cs_status cs_execution_whatif(cs_config *config, const cs_execution_options *options,
                                            cs_execution_report *report_p, cs_error *err);

/* `{0}` is allowed. */
void cs_execution_report_free(cs_execution_report *report);

/* ---- the report as text (execution_text.c) ---- */

void cs_execution_table(const cs_execution_report *report, cs_text *text);
void cs_execution_json(const cs_execution_report *report, cs_text *text);
void cs_execution_csv(const cs_execution_report *report, cs_text *text);

#endif
