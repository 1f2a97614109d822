/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cs/algorithm.h -- what a collective algorithm provides, and the list of them.
 *
 * An algorithm is one file (or folder) with a const struct at its bottom and one line in
 * algorithms/algorithms.def. It knows nothing of time: it streams transfers.
 */
#ifndef CS_ALGORITHM_H
#define CS_ALGORITHM_H

#include "cs/field.h"
#include "cs/named.h"
#include "cs/schedule.h"

CS_BEGIN_C

typedef struct cs_algorithm cs_algorithm;

/* Times of schedules on the network model that a scenario will run on, or on the one that it names
 * for that (cs_model's forecasts_by). */
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
    /* Does it take servers with different numbers of GPUs? False, as what a schedule says nothing
     * about: they are refused (cs_algorithm_check). */
    bool takes_uneven;
    /* Collectives (bits, as above) whose time depends on how long one message over each fabric
     * takes, and on nothing else: those over a fabric are of one size where the buffer divides,
     * none shares its start-up time with others, and no option is chosen by what the ports are. So
     * a time that was measured says how long a message took. */
    uint32_t equal_messages;

    /* Required. Asked for one of `collectives` alone (cs_algorithm_check). Refuse what cannot be
     * run (with a reason), replace every "auto" in `options`
     * by the value that is used, and fill `plan`. Everything that can fail for a reason of
     * the user's is checked here. */
    cs_status (*check)(const cs_scenario *scenario, void *options, cs_plan *plan, cs_error *err);

    /* Required, unless there is open_prepared(). Start a stream for checked options. `scenario` is
     * borrowed until close(). Can fail with CS_ENOMEM only (or CS_EINTERNAL, when a construction
     * does not hold what it promises). The state is owned by the caller. */
    cs_status (*open)(const cs_scenario *scenario, const void *options, void **state_p,
                      cs_error *err);

    /* Optional, both or neither: for a schedule that has to be searched for to be planned. check()
     * leaves what it has built in plan->prepared, nothing where it fails; that must not point into
     * the scenario or the options. Whoever called check() owns it and frees it with release()
     * (cs_plan_release). open_prepared() is called instead of open(), with plan->prepared, which
     * is borrowed until close(), stays as it is and serves any number of streams at once. */
    cs_status (*open_prepared)(const cs_scenario *scenario, const void *options,
                               const void *prepared, void **state_p, cs_error *err);
    void (*release)(void *prepared);

    /* Required. Fill the block (count = 0 at the end). Cannot fail. */
    void (*next_block)(void *state, cs_block *block);

    /* For streams whose plan is_reactive, both or neither.
     *
     * told() hears of every block in stream order, before
     * anybody else sees it: of some while the stream is asked for more, of all up to a stage's end
     * before it is asked for the next stage. Where two operations cost the same (a COPY, and a
     * REDUCE with CS_OWN_DST), it may now choose the other one in block->transfers. Times are
     * seconds after the first arrival. A stream that is never told (nothing is replayed: it is only
     * checked) must be a schedule, too, and one of at least as many messages. */
    void (*told)(void *state, const cs_block *block, const cs_interval *intervals);
    /* decided() is asked when the stream has ended: mark in is_out[n_ranks] who was left out, whose
     * contribution is owed to nobody and to whom nothing is owed (all are false before), and say in
     * *known_s_p (0 before) when the others knew it, in seconds after the first arrival. Returned
     * is what observers see that know the algorithm, or NULL; owned by the state. */
    const void *(*decided)(const void *state, bool *is_out, double *known_s_p);

    /* Optional, where all servers do the same at the same times in collectives without a root: have
     * a stream, before its first block, give only what server 0 sends. With the ranks of the next
     * server taken for those of this one that takes as long as the whole schedule, where servers
     * have equally many GPUs and ports that are alike, all arrive together and chunks are of one
     * size. */
    void (*keep_one_server)(void *state);

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

/* Refuse a collective that the algorithm does not do, and servers with different numbers of GPUs
 * that it does not take; then ask its check(). */
CS_API CS_MUST_CHECK cs_status cs_algorithm_check(const cs_algorithm *algorithm,
                                                  const cs_scenario *scenario, void *options,
                                                  cs_plan *plan, cs_error *err);

/* Start a stream of a checked schedule, by whichever of its hooks the algorithm has. */
static inline CS_MUST_CHECK cs_status cs_algorithm_open(const cs_algorithm *algorithm,
                                                        const cs_scenario  *scenario,
                                                        const void *options, const cs_plan *plan,
                                                        void **state_p, cs_error *err)
{
    return algorithm->open_prepared != NULL
               ? algorithm->open_prepared(scenario, options, plan->prepared, state_p, err)
               : algorithm->open(scenario, options, state_p, err);
}

/* Free what check() has prepared for a plan, if anything. */
static inline void cs_plan_release(const cs_algorithm *algorithm, cs_plan *plan)
{
    if (plan->prepared != NULL) {
        algorithm->release(plan->prepared);
        plan->prepared = NULL;
    }
}

/* All registered algorithms in alphabetical order, ended by NULL. */
extern CS_API const cs_algorithm *const cs_algorithms[];
extern CS_API const cs_named            cs_algorithm_names;

/* Find by name, alias or a part of the name (cs/named.h). CS_ENOENT names the nearest one and where
 * the list is. */
CS_API cs_status cs_algorithm_find(const char *name, const cs_algorithm **algorithm_p,
                                   cs_error *err);

CS_END_C

#endif
