/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AdapCC: M parallel trees that are made for the rates of the cluster, each with its share of the
 * buffer in chunks (replay.h). They span all ranks: late ones are waited for, or relay (late.h).
 *
 * Chunks are chosen for the NICs at their full rates. With slow NICs there are two sets of trees,
 * made for the rates at the begin and for the full ones, and what ends first on the scenario's
 * model runs. Trees for slow NICs do not run where they would end before the others do without a
 * fault: the cost model being what it is, a lucky choice could.
 *
 * Source: X. Zhao et al., "AdapCC", ICDCS 2024.
 */
#include "algorithms/adapcc/adapcc.h"

#include "algorithms/adapcc/late.h"
#include "algorithms/lib/accept.h"

#include <math.h>

enum { MOST_CHUNK_BYTES = 1 << 30 };

static const cs_field table[] = {
    CS_OPTION_TEXT(cs_adapcc_options, strategy, "trees of this XML file, instead of making them"),
    CS_OPTION_TEXT(cs_adapcc_options, fingerprint, "of strategy: what the file must hold"),
    CS_OPTION(cs_adapcc_options, trees, 4, 1, CS_STRATEGY_MAX_TREES, "trees, at most"),
    CS_OPTION_AUTO(cs_adapcc_options, chunk, 1, MOST_CHUNK_BYTES,
                   "bytes of a chunk; auto: by the time that the trees take"),
    CS_OPTION_CHOICE(cs_adapcc_options, synthesizer, "heuristic|packing|milp|code",
                     "who makes the trees"),
    CS_OPTION(cs_adapcc_options, moves, 1000, 0, 1u << 20, "that the heuristic tries"),
    CS_OPTION(cs_adapcc_options, solver_s, 10, 1e-3, 86400, "time limit of packing and milp"),
    CS_OPTION(cs_adapcc_options, solver_nodes, 2000, 1, 1u << 30,
              "of branch and bound in packing and milp, at most"),
    CS_OPTION_CHOICE(cs_adapcc_options, cost, "turns|volume|literal|literal_k1|port_service",
                     "which cost the synthesiser lowers"),
    CS_OPTION_CHOICE(cs_adapcc_options, forward, "no|yes",
                     "may ranks forward instead of adding up, where that lowers it (heuristic)"),
    CS_OPTION_CHOICE(cs_adapcc_options, relay, "off|literal|premium",
                     "wait for all, or start with who is ready by this rule"),
    CS_OPTION_CHOICE(cs_adapcc_options, volumes, "auto|paper|code",
                     "of relay: what a start costs (auto: those of the rule)"),
    CS_OPTION_CHOICE(cs_adapcc_options, join, "interior|off|coordinator",
                     "of relay: who comes in phase 1 adds its data where it receives, nowhere, or "
                     "everywhere: the coordinator announces it"),
    CS_OPTION_CHOICE(cs_adapcc_options, rpc, "constant|measured",
                     "of relay: what messages to the coordinator take, rpc_s or as in the paper"),
    CS_OPTION(cs_adapcc_options, rpc_s, 0, 0, 1e3, "of a constant rpc, each way"),
    CS_OPTION(cs_adapcc_options, cycle_s, CS_RELAY_CYCLE_S, 1e-6, 1e3,
              "of relay: from one decision to the next"),
    CS_OPTION(cs_adapcc_options, one_starts, 0, 0, 1, "of relay: one worker alone may start"),
    CS_OPTION(
        cs_adapcc_options, exclude, 0, 0, 1,
        "of relay: leave out who is not ready at the deadline; the others' sum is the result"),
    CS_FIELD_END,
};

cs_cost_model cs_adapcc_cost_model(const cs_adapcc_options *options)
{
    static const cs_cost_model models[] = {CS_COST_TURNS, CS_COST_VOLUME, CS_COST_LITERAL,
                                           CS_COST_LITERAL_K1, CS_COST_PORT_SERVICE};

    return models[options->cost];
}

/* What options ask for. An allgather goes both ways on every edge, as an allreduce does: trees for
 * that one are good for it. */
static cs_synthesis request_of(const cs_scenario *scenario, const cs_logical *logical,
                               const cs_adapcc_options *o)
{
    bool has_root = cs_collective_has_root(scenario->collective);

    return (cs_synthesis){.logical      = logical,
                          .collective   = cs_cost_takes(scenario->collective) ? scenario->collective
                                                                              : CS_ALLREDUCE,
                          .root         = has_root ? scenario->root : CS_ANY_ROOT,
                          .bytes        = scenario->bytes,
                          .n_trees      = o->trees,
                          .chunk_bytes  = o->chunk == CS_AUTO ? 0 : o->chunk,
                          .n_moves      = o->moves,
                          .seed         = scenario->seed,
                          .solver_s     = o->solver_s,
                          .solver_nodes = o->solver_nodes,
                          .by           = (cs_synthesizer)o->synthesizer,
                          .model        = cs_adapcc_cost_model(o),
                          .may_forward  = o->forward != 0};
}

/* Where the chunk is to be chosen, the heuristic's families say which; the trees are made for that,
 * so that the options say all. */
cs_status cs_adapcc_synthesize(const cs_scenario *scenario, const cs_logical *logical,
                               cs_adapcc_options *options, cs_strategy *strategy,
                               cs_synthesis_result *result, cs_error *err)
{
    cs_synthesis q = request_of(scenario, logical, options);

    if (options->strategy[0] != '\0') {
        return CS_FAIL(err, CS_EINVAL, "algorithm.options.strategy",
                       "%s has the trees, and here they are made", options->strategy);
    }
    if (options->chunk == CS_AUTO) {
        cs_synthesis first = q;

        if (q.by != CS_SYNTHESIZE_CODE) {
            first.by          = CS_SYNTHESIZE_HEURISTIC;
            first.n_moves     = q.n_moves / 4;
            first.may_forward = false;
        }
        CS_TRY(cs_synthesize(&first, strategy, result, err));
        options->chunk = (uint32_t)cs_strategy_chunk_bytes(strategy);
        q              = request_of(scenario, logical, options);
        cs_strategy_free(strategy);
    }
    CS_TRY(cs_synthesize(&q, strategy, result, err));
    if (q.by == CS_SYNTHESIZE_CODE) { /* fewer than it was asked for */
        options->trees = strategy->n_trees;
    }
    return CS_OK;
}

/* An alltoall goes straight from rank to rank. */
static bool needs_trees(const cs_scenario *scenario)
{
    return scenario->collective != CS_ALLTOALL;
}

/* Trees with their plan. */
typedef struct candidate {
    cs_strategy     strategy;
    cs_late_control control;
    cs_plan         plan;
} candidate;

static cs_late_control control_of(const cs_adapcc_options *o)
{
    return (cs_late_control){.relay      = o->relay,
                             .volumes    = o->volumes,
                             .join       = o->join,
                             .rpc        = o->rpc,
                             .rpc_s      = o->rpc_s,
                             .cycle_s    = o->cycle_s,
                             .one_starts = o->one_starts,
                             .excludes   = o->exclude};
}

static void drop(candidate *c)
{
    cs_plan_release(&cs_algorithm_strategy, &c->plan);
    cs_strategy_free(&c->strategy);
}

/* Other options are for making trees. */
static cs_status check_file_options(const cs_adapcc_options *o, cs_error *err)
{
    static const char *const makes[] = {"synthesizer",  "moves", "solver_s",
                                        "solver_nodes", "cost",  "forward"};
    cs_adapcc_options        defaults;

    if (o->file == NULL) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.strategy",
                       "files are read for the algorithm of a scenario alone: accepted here are "
                       "the options that make trees");
    }
    cs_fields_default(table, &defaults);
    for (size_t i = 0; i < sizeof makes / sizeof makes[0]; i++) {
        const cs_field *row  = cs_field_find(table, makes[i]);
        double          want = cs_field_load(row, &defaults), is = cs_field_load(row, o);
        if (is < want || is > want) {
            return CS_FAIL(err, CS_EINVAL, "algorithm.options",
                           "%s is not accepted with strategy, whose file has the trees: accepted "
                           "are chunk, relay and what belongs to it",
                           makes[i]);
        }
    }
    if (o->trees != defaults.trees && o->trees != o->file->strategy.n_trees) {
        return CS_FAIL(err, CS_EINVAL, "algorithm.options",
                       "trees is not accepted with strategy, whose file has %u of them",
                       o->file->strategy.n_trees);
    }
    return CS_OK;
}

/* The trees of the file, cut for the scenario's size. */
static cs_status check_file(const cs_scenario *scenario, cs_adapcc_options *o, cs_plan *plan,
                            cs_error *err)
{
    cs_error         wrong = {0};
    cs_strategy_file file;

    CS_TRY(check_file_options(o, err));
    if (!needs_trees(scenario)) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm.options.strategy",
                       "an alltoall goes straight from rank to rank, not along trees");
    }
    file             = *o->file;
    file.strategy    = (cs_strategy){.n_trees = 0};
    cs_status status = cs_strategy_copy(&file.strategy, &o->file->strategy, err);
    if (status == CS_OK) {
        uint64_t chunk   = o->chunk == CS_AUTO ? 0 : o->chunk;
        file.strategy.ip = o->file->strategy.ip;
        status           = cs_strategy_file_finish(&file, scenario->bytes, chunk, &wrong);
        if (status != CS_OK) {
            (void)CS_FAIL(err, status, "algorithm.options.strategy", "%s: %s", o->strategy,
                          wrong.message);
        }
    }
    if (status == CS_OK) {
        cs_strategy_options given = {&file.strategy, 1, false, control_of(o)};
        status = cs_algorithm_check(&cs_algorithm_strategy, scenario, &given, plan, err);
    }
    if (status == CS_OK) {
        uint64_t chunk_bytes = file.strategy.trees[0].chunk_bytes;
        o->trees             = file.strategy.n_trees;
        o->chunk             = chunk_bytes <= MOST_CHUNK_BYTES ? (uint32_t)chunk_bytes : o->chunk;
    }
    cs_strategy_free(&file.strategy);
    return status;
}

static cs_status make(const cs_scenario *rates, const cs_scenario *scenario, cs_adapcc_options *o,
                      candidate *c, cs_error *err)
{
    cs_logical          logical = {0};
    cs_synthesis_result result;

    *c               = (candidate){.control = control_of(o)};
    cs_status status = cs_logical_of_scenario(&logical, rates, err);
    if (status == CS_OK && needs_trees(scenario)) {
        status = cs_adapcc_synthesize(scenario, &logical, o, &c->strategy, &result, err);
    }
    cs_logical_free(&logical);
    if (status == CS_OK) {
        cs_strategy_options given = {needs_trees(scenario) ? &c->strategy : NULL, o->chunk,
                                     rates != scenario, c->control};
        status = cs_algorithm_check(&cs_algorithm_strategy, scenario, &given, &c->plan, err);
    }
    return status;
}

static cs_status elapsed_s(const cs_forecast *forecast, const cs_scenario *scenario,
                           const candidate *c, double *elapsed_s_p, cs_error *err)
{
    const cs_strategy_options given = {&c->strategy, 1, false, c->control};

    return forecast->elapsed_s(forecast, scenario, &cs_algorithm_strategy, &given, &c->plan,
                               elapsed_s_p, err);
}

/* Are the trees for slow NICs better than those for full rates, and no better than these without
 * the faults? */
static cs_status compare(const cs_scenario *scenario, const cs_scenario *healthy,
                         const candidate *full, const candidate *slow, bool *is_better_p,
                         cs_error *err)
{
    const cs_forecast *f      = scenario->forecast;
    double             full_s = 0, slow_s = 0, healthy_s = 0;

    *is_better_p = true;
    if (f == NULL) {
        return CS_OK;
    }
    CS_TRY(elapsed_s(f, scenario, full, &full_s, err));
    CS_TRY(elapsed_s(f, scenario, slow, &slow_s, err));
    CS_TRY(elapsed_s(f, healthy, full, &healthy_s, err));
    *is_better_p = slow_s < full_s && slow_s >= healthy_s;
    return CS_OK;
}

static cs_status adapcc_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                              cs_error *err)
{
    cs_adapcc_options o       = *(cs_adapcc_options *)options;
    cs_scenario       healthy = *scenario;
    candidate         full = {0}, slow = {0};
    bool              is_better = false;

    CS_TRY(cs_accept_all_nics(scenario, "adapcc", err));
    if (o.strategy[0] != '\0') {
        CS_TRY(check_file(scenario, options, plan, err));
        plan->ignores_arrivals = o.relay == 0;
        return CS_OK;
    }
    if (!needs_trees(scenario) && o.chunk == CS_AUTO) {
        o.chunk = MOST_CHUNK_BYTES; /* a block, where it is no larger */
    }
    healthy.capacity   = NULL;
    healthy.n_capacity = 0;
    cs_status status   = make(&healthy, scenario, &o, &full, err);
    if (status == CS_OK && scenario->n_capacity > 0 && needs_trees(scenario)) {
        status = make(scenario, scenario, &o, &slow, err);
        if (status == CS_OK) {
            status = compare(scenario, &healthy, &full, &slow, &is_better, err);
        }
    }
    if (status == CS_OK) {
        candidate *best               = is_better ? &slow : &full;
        *(cs_adapcc_options *)options = o;
        *plan                         = best->plan;
        best->plan.prepared           = NULL; /* the caller's now */
        plan->ignores_arrivals        = o.relay == 0 && scenario->n_capacity == 0;
    }
    drop(&full);
    drop(&slow);
    return status;
}

const cs_algorithm cs_algorithm_adapcc = {
    .name          = "adapcc",
    .summary       = "parallel trees made for the cluster's rates, in chunks",
    .source        = "X. Zhao et al., \"AdapCC\", ICDCS 2024",
    .options       = table,
    .options_bytes = sizeof(cs_adapcc_options),
    .check         = adapcc_check,
    CS_STRATEGY_STREAMS};
