/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/algorithm.h -- what a collective algorithm provides, and the list of them.
 *
 * An algorithm is one file with a const struct at its bottom and one line in
 * algorithms/algorithms.def. It knows nothing of time: it streams transfers.
 */
#ifndef CS_ALGORITHM_H
#define CS_ALGORITHM_H

#include "cs/field.h"
#include "cs/named.h"
#include "cs/schedule.h"

typedef struct cs_algorithm cs_algorithm;

/* Times of schedules on the network model that a scenario will run on. */
struct cs_forecast {
    /* The elapsed time of a checked schedule on a scenario, which need not be the one that runs: in
     * closed form where one is exact, otherwise by a replay. INFINITY where the model refuses the
     * scenario. Fails with CS_ENOMEM, or with the error of a foreign simulator. */
    cs_status (*elapsed_s)(const cs_forecast *forecast, const cs_scenario *scenario,
                           const cs_algorithm *algorithm, const void *options, const cs_plan *plan,
                           double *elapsed_s_p, cs_error *err);
    const struct cs_model *model;
    const void            *model_options;
};

struct cs_algorithm {
    const char     *name;
    const char     *aliases;       /* other names, "a|b"; or NULL */
    const char     *summary;       /* one line */
    const char     *source;        /* citation */
    uint32_t        collectives;   /* bit 1u << CS_ALLREDUCE and so on */
    const cs_field *options;       /* table, or NULL */
    size_t          options_bytes; /* size of the options struct; 0 without one */

    /* Required. Refuse what cannot be run (with a reason), replace every "auto" in `options`
     * by the value that is used, and fill `plan`. Everything that can fail for a reason of
     * the user's is checked here. */
    cs_status (*check)(const cs_scenario *scenario, void *options, cs_plan *plan, cs_error *err);

    /* Required. Start a stream for checked options. `scenario` is borrowed until close().
     * Can fail with CS_ENOMEM only (or CS_EINTERNAL, when a construction does not hold what
     * it promises). The state is owned by the caller. */
    cs_status (*open)(const cs_scenario *scenario, const void *options, void **state_p,
                      cs_error *err);

    /* Required. Fill the block (count = 0 at the end). Cannot fail. */
    void (*next_block)(void *state, cs_block *block);

    /* Required. Free the state; NULL is allowed. */
    void (*close)(void *state);

    /* Optional. The elapsed time on the alpha-beta model in closed form, in seconds, or NAN
     * where no formula holds exactly for the scenario. Source in the file. */
    double (*closed_form_s)(const cs_scenario *scenario, const void *options);
    /* Optional. What a paper says that the schedule takes, in seconds, or NAN where it says
     * nothing. It is printed beside the time and used for nothing else: the paper leaves out alpha,
     * or the filling of a pipeline. */
    double (*published_form_s)(const cs_scenario *scenario, const void *options);
};

/* All registered algorithms in alphabetical order, ended by NULL. */
extern CS_API const cs_algorithm *const cs_algorithms[];
extern CS_API const cs_named            cs_algorithm_names;

/* Optional parts of algorithms that this build lacks: whose, which, and what they need. Ended by a
 * NULL name. */
typedef struct cs_missing_part {
    const char *name, *part, *missing;
} cs_missing_part;
extern CS_API const cs_missing_part cs_algorithms_missing[];

/* Find by name, alias or a part of the name (cs/named.h). CS_ENOENT names the nearest one and where
 * the list is. */
CS_API cs_status cs_algorithm_find(const char *name, const cs_algorithm **algorithm_p,
                                   cs_error *err);

#endif
