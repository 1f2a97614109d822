/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trees as schedules: the times of worked examples, random trees against the cost model and the
 * bound, what is refused, the algorithm `adapcc` and its options. */
#include "algorithms/adapcc/adapcc.h"
#include "algorithms/adapcc/late.h"
#include "algorithms/adapcc/turns.h"
#include "base/alloc.h"
#include "cs/model.h"
#include "cs/result.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define ROOT CS_TREE_ROOT

enum { MOST_RANKS = 16, MIB = 1 << 20 };

static cs_scenario make_scenario(cs_collective collective, uint32_t n, uint32_t g, uint64_t bytes)
{
    cs_scenario s = {.collective = collective, .bytes = bytes, .seed = 1};

    s.cluster                    = (cs_cluster){.n_ranks = n, .gpus_per_server = g};
    s.cluster.fabrics[CS_NIC]    = (cs_fabric){CS_SWITCHED, 20e-6, 12.5e9};
    s.cluster.fabrics[CS_NVLINK] = (cs_fabric){CS_DIRECT, 5e-6, 100e9};
    return s;
}

static void make_trees(cs_strategy *s, uint32_t n_ranks, uint32_t n_trees, const uint32_t *parents,
                       uint64_t bytes, uint64_t chunk_bytes)
{
    cr_assert_eq(cs_strategy_make(s, n_ranks, n_trees, NULL), CS_OK);
    for (uint32_t m = 0; m < n_trees; m++) {
        memcpy(s->trees[m].parent, parents + (size_t)m * n_ranks, n_ranks * sizeof *parents);
    }
    cr_assert_eq(cs_strategy_check(s, NULL), CS_OK);
    cs_strategy_set_sizes(s, bytes, chunk_bytes);
}

static const cs_model *model_of(const char *name)
{
    const cs_model *model = NULL;

    cr_assert_eq(cs_model_find(name, &model, NULL), CS_OK);
    return model;
}

static cs_status run_on(const cs_model *model, const cs_scenario *scenario, const cs_strategy *s,
                        cs_result *result, cs_error *err)
{
    const cs_strategy_options options = {.strategy = s, .chunk_bytes = MIB};
    cs_job                    job     = {.scenario = *scenario, .verify = true};

    cs_job_set_algorithm(&job, &cs_algorithm_strategy, &options);
    cs_job_set_model(&job, model, NULL);
    return cs_job_run(&job, NULL, 0, result, err);
}

static cs_status run(const cs_scenario *scenario, const cs_strategy *s, cs_result *result,
                     cs_error *err)
{
    return run_on(cs_models[0], scenario, s, result, err); /* alpha-beta */
}

static double replay_on(const cs_model *model, const cs_scenario *scenario, const cs_strategy *s)
{
    cs_result result;
    cs_error  err = {0};

    cr_assert_eq(run_on(model, scenario, s, &result, &err), CS_OK, "%s", err.message);
    cr_assert(result.verified, "%s", result.verdict.text);
    cr_assert_geq(result.elapsed_s, result.bound_s * (1 - 1e-9));
    return result.elapsed_s;
}

static double replay_s(const cs_scenario *scenario, const cs_strategy *s)
{
    return replay_on(cs_models[0], scenario, s);
}

Test(adapcc_replay, worked_examples)
{
    static const cs_collective collectives[] = {CS_REDUCE, CS_BROADCAST, CS_ALLREDUCE};
    const uint32_t             parents[]     = {ROOT, 0, 0, 2};
    const double               want_s[]      = {815e-6, 815e-6, 930e-6};

    for (int i = 0; i < 3; i++) {
        cs_scenario scenario = make_scenario(collectives[i], 4, 2, 8000000);
        cs_strategy s;

        make_trees(&s, 4, 1, parents, 8000000, 1000000);
        cr_expect_float_eq(replay_s(&scenario, &s), want_s[i], 1e-12);
        cs_strategy_free(&s);
    }
}

/* A chain of four servers, a byte more than seven chunks. */
Test(adapcc_replay, the_last_chunk_is_smaller)
{
    const uint32_t parents[] = {ROOT, 0, 1, 2};
    cs_scenario    scenario  = make_scenario(CS_REDUCE, 4, 1, 7000001);
    cs_strategy    s;

    make_trees(&s, 4, 1, parents, 7000001, 1000000);
    cr_expect_float_eq(replay_s(&scenario, &s), (3 + 6) * 100e-6 + 20e-6 + 80e-12, 1e-12);
    cs_strategy_free(&s);
}

static void draw_tree(ct_rng *rng, uint32_t *parent, uint32_t n, uint32_t root)
{
    uint32_t order[MOST_RANKS];

    for (uint32_t g = 0; g < n; g++) {
        uint32_t at = ct_below(rng, g + 1);
        order[g]    = order[at];
        order[at]   = g;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (order[i] == root) {
            order[i] = order[0];
            order[0] = root;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        parent[order[i]] = i == 0 ? ROOT : order[ct_below(rng, i)];
    }
}

/* Random trees on random clusters, some of which have a slow server. */
typedef struct draw {
    cs_scenario scenario;
    cs_capacity slow;
    cs_strategy strategy;
} draw;

static void draw_strategy(ct_rng *rng, int trial, draw *d)
{
    static const cs_collective collectives[] = {CS_ALLREDUCE, CS_REDUCE, CS_BROADCAST};
    uint32_t g = 1 + ct_below(rng, 4), servers = 1 + (g == 1 ? 1u : 0u) + ct_below(rng, 3),
             n       = g * servers;
    uint32_t n_trees = 1 + ct_below(rng, 4), parents[4 * MOST_RANKS];
    uint64_t bytes   = 1 + ct_below(rng, 64 * MIB);

    d->scenario      = make_scenario(collectives[trial % 3], n, g, bytes);
    d->scenario.root = ct_below(rng, n);
    if (trial % 4 == 3) {
        d->slow = (cs_capacity){ct_below(rng, n), 1 + ct_below(rng, 3), 0, (double)INFINITY, false};
        d->scenario.capacity   = &d->slow;
        d->scenario.n_capacity = 1;
    }
    for (uint32_t m = 0; m < n_trees; m++) {
        draw_tree(rng, parents + (size_t)m * n, n,
                  trial % 3 == 0 ? ct_below(rng, n) : d->scenario.root);
    }
    make_trees(&d->strategy, n, n_trees, parents, bytes,
               1 + bytes / n_trees / (8 + ct_below(rng, 64)));
}

/* Replays are right, never faster than the bound, and near the cost model that knows how ports are
 * used. */
static void compare_with_cost(const char *name, int most_far, double most_off, double most_mean)
{
    const cs_model *model = model_of(name);
    ct_rng          rng   = ct_rng_for(3);
    double          sum = 0, worst = 0, sum_turns = 0;
    int             n_far  = 0;
    const int       trials = 240;

    for (int trial = 0; trial < trials; trial++) {
        draw       d;
        cs_logical l;
        cs_cost   *cost    = NULL;
        double     bound_s = 0;

        draw_strategy(&rng, trial, &d);
        cr_assert_eq(cs_logical_of_scenario(&l, &d.scenario, NULL), CS_OK);
        l.holds_both = !cs_ports_are_shared(model, NULL);
        cr_assert_eq(cs_cost_open(&l, d.strategy.n_trees, &cost, NULL), CS_OK);
        cr_assert_eq(cs_strategy_bound(&l, d.scenario.collective, d.scenario.bytes, CS_ANY_ROOT,
                                       &bound_s, NULL),
                     CS_OK);
        double took_s = replay_on(model, &d.scenario, &d.strategy);
        double cost_s = cs_cost_s(cost, &d.strategy, d.scenario.collective, CS_COST_VOLUME);
        double off = fabs(took_s / cost_s - 1), turns_s = 0;
        cr_assert_eq(cs_turns_cost_s(cost, &l, &d.strategy, d.scenario.collective, CS_COST_TURNS,
                                     &turns_s, NULL),
                     CS_OK);
        cr_expect_leq(fabs(took_s / turns_s - 1), most_off, "trial %d: turns, %.3f", trial,
                      took_s / turns_s);
        sum_turns += fabs(took_s / turns_s - 1);
        cr_expect_geq(took_s, bound_s * (1 - 1e-9), "trial %d", trial);
        cr_expect_leq(off, .2, "trial %d: %.3f", trial, off);
        n_far += off > .15;
        sum += off;
        worst = off > worst ? off : worst;
        cs_cost_close(cost);
        cs_logical_free(&l);
        cs_strategy_free(&d.strategy);
    }
    cr_expect_leq(n_far, most_far);
    cr_expect_leq(sum / trials, .02, "in the mean %.3f, at worst %.3f", sum / trials, worst);
    cr_expect_leq(sum_turns / trials, most_mean, "turns in the mean %.4f", sum_turns / trials);
}

Test(adapcc_replay, random_trees_are_right_and_near_their_cost_on_flow)
{
    compare_with_cost("flow", 1, .15, .01);
}

Test(adapcc_replay, random_trees_are_right_and_near_their_cost_on_ports)
{
    compare_with_cost("alpha-beta", 0, .05, .001);
}

/* Every model takes every collective along random trees, of which some ranks forward. */
Test(adapcc_replay, every_model_replays_every_collective)
{
    static const char *const models[] = {"alpha-beta", "loggp", "flow", "packet"};
    ct_rng                   rng      = ct_rng_for(4);

    for (int trial = 0; trial < 40; trial++) {
        static const cs_collective others[] = {CS_ALLGATHER, CS_ALLTOALL};
        const cs_model            *model    = model_of(models[trial % 4]);
        draw                       d;

        draw_strategy(&rng, trial, &d);
        for (uint32_t m = 0; m < d.strategy.n_trees; m++) {
            for (uint32_t g = 0; g < d.strategy.n_ranks; g++) {
                d.strategy.trees[m].aggregates[g] = ct_below(&rng, 4) > 0;
            }
        }
        (void)replay_on(model, &d.scenario, &d.strategy);
        for (int i = 0; i < 2; i++) {
            d.scenario.collective = others[i];
            (void)replay_on(model, &d.scenario, &d.strategy);
        }
        cs_strategy_free(&d.strategy);
    }
}

/* A chain: rank 1 sends four blocks of 4 MB, two that pass it and its own to both others. */
Test(adapcc_replay, an_allgather_broadcasts_every_block)
{
    const uint32_t parents[] = {ROOT, 0, 1};
    cs_scenario    scenario  = make_scenario(CS_ALLGATHER, 3, 1, 12000000);
    cs_strategy    s;

    make_trees(&s, 3, 1, parents, 12000000, 12000000);
    cr_expect_float_eq(replay_s(&scenario, &s), 4 * (20e-6 + 320e-6), 1e-9);
    cs_strategy_free(&s);
}

static void refuse(const cs_scenario *scenario, const cs_strategy *s, const char *why)
{
    cs_result result;
    cs_error  err    = {0};
    cs_status status = run(scenario, s, &result, &err);

    cr_assert(status == CS_ENOTSUP || status == CS_EINVAL);
    cr_assert(strstr(err.message, why) != NULL, "%s", err.message);
}

Test(adapcc_replay, what_cannot_be_replayed_is_refused)
{
    const uint32_t parents[] = {ROOT, 0, 0, 2};
    cs_scenario    scenario  = make_scenario(CS_REDUCE, 4, 2, 8000000);
    cs_strategy    s;

    make_trees(&s, 4, 1, parents, 8000000, 1000000);
    scenario.root = 1;
    refuse(&scenario, &s, "the root of tree 0 is rank 0, not 1");
    scenario.root  = 0;
    scenario.bytes = 7;
    refuse(&scenario, &s, "the trees are for 8000000 bytes, not 7");
    scenario.bytes           = 8000000;
    scenario.collective      = CS_ALLREDUCE;
    scenario.cluster.n_ranks = 6;
    refuse(&scenario, &s, "the trees are over 4 ranks, the cluster has 6");
    scenario.cluster.n_ranks = 4;
    scenario.bytes           = (uint64_t)1 << 26;
    cs_strategy_set_sizes(&s, scenario.bytes, 1);
    refuse(&scenario, &s, "chunks of 1 bytes are too small");
    cs_strategy_free(&s);
}

/* Rank 2 passes on what rank 3 sends, behind its own: two messages of 100 us a chunk to rank 0. */
Test(adapcc_replay, ranks_that_do_not_add_up_forward)
{
    const uint32_t parents[] = {ROOT, 0, 0, 2};
    cs_scenario    scenario  = make_scenario(CS_REDUCE, 4, 2, 8000000);
    cs_strategy    s;

    make_trees(&s, 4, 1, parents, 8000000, 1000000);
    s.trees[0].aggregates[3] = false; /* a leaf has nothing to forward */
    cr_expect_float_eq(replay_s(&scenario, &s), 815e-6, 1e-12);
    s.trees[0].aggregates[2] = false;
    cr_expect_float_eq(replay_s(&scenario, &s), 1600e-6, 1e-12);
    scenario.collective = CS_BROADCAST;
    cr_expect_float_eq(replay_s(&scenario, &s), 815e-6, 1e-12);
    cs_strategy_free(&s);
}

/* What was chosen makes the same schedule, asked for by itself. */
Test(adapcc_replay, options_are_resolved)
{
    const cs_algorithm *adapcc = NULL;
    cs_job              job    = {.scenario = make_scenario(CS_ALLREDUCE, 16, 4, 64 * MIB)};
    cs_adapcc_options   chosen;
    cs_result           first, again;

    cr_assert_eq(cs_algorithm_find("adapcc", &adapcc, NULL), CS_OK);
    cs_job_set_algorithm(&job, adapcc, NULL);
    cs_job_set_model(&job, cs_models[0], NULL);
    job.verify = true;
    cr_assert_eq(cs_job_run(&job, NULL, 0, &first, NULL), CS_OK);
    cr_assert(first.verified);
    memcpy(&chosen, &first.options, sizeof chosen);
    cr_assert_neq(chosen.chunk, CS_AUTO);
    cr_assert_eq(chosen.trees, 4u);
    cs_job_set_algorithm(&job, adapcc, &first.options);
    cr_assert_eq(cs_job_run(&job, NULL, 0, &again, NULL), CS_OK);
    cr_assert_float_eq(again.elapsed_s, first.elapsed_s, 0);

    chosen.synthesizer = CS_SYNTHESIZE_CODE;
    chosen.trees       = 9;
    cs_job_set_algorithm(&job, adapcc, &chosen);
    cr_assert_eq(cs_job_run(&job, NULL, 0, &again, NULL), CS_OK);
    memcpy(&chosen, &again.options, sizeof chosen);
    cr_assert_eq(chosen.trees, 4u, "as many as servers");
    cr_assert_gt(again.elapsed_s, first.elapsed_s);
}

/* The algorithm makes trees for all of its collectives, and one slow NIC changes none of that. */
Test(adapcc_replay, the_algorithm_does_its_collectives)
{
    const cs_capacity   slow    = {1, 3, 0, (double)INFINITY, false};
    cs_adapcc_options   options = {.trees = 2, .chunk = CS_AUTO, .moves = 3, .cycle_s = 5e-3};
    const cs_algorithm *adapcc  = NULL;

    cr_assert_eq(cs_algorithm_find("adapcc", &adapcc, NULL), CS_OK);
    for (int c = 0; c < CS_COLLECTIVE_COUNT; c++) {
        cs_job    job = {.scenario = make_scenario((cs_collective)c, 6, 2, MIB), .verify = true};
        cs_result result;
        cs_error  err = {0};

        job.scenario.capacity   = &slow;
        job.scenario.n_capacity = 1;
        cs_job_set_algorithm(&job, adapcc, &options);
        cs_job_set_model(&job, model_of(c % 2 == 0 ? "alpha-beta" : "flow"), NULL);
        cs_status status = cs_job_run(&job, NULL, 0, &result, &err);
        cr_assert_eq(status, c == CS_REDUCESCATTER ? CS_ENOTSUP : CS_OK, "%s", err.message);
        cr_assert(status != CS_OK || result.verified);
    }
}

static void end_memory_anywhere(const char *model, cs_collective collective, bool forwards)
{
    cs_scenario    scenario  = make_scenario(collective, 4, 2, 1000);
    const uint32_t parents[] = {ROOT, 0, 0, 2};
    cs_status      status    = CS_ENOMEM;
    cs_strategy    s;

    make_trees(&s, 4, 1, parents, 1000, 100);
    s.trees[0].aggregates[2] = !forwards;
    for (long passes = 0; status != CS_OK; passes++) {
        cs_result result;
        cs_error  err = {0};

        cr_assert_lt(passes, 1000);
        cs_alloc_fail_after(passes);
        status = run_on(model_of(model), &scenario, &s, &result, &err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%s", err.message);
    }
    cs_strategy_free(&s);
}

Test(adapcc_replay, memory_may_end_anywhere)
{
    static const char *const models[] = {"alpha-beta", "loggp", "flow", "packet"};

    for (int i = 0; i < 4; i++) {
        end_memory_anywhere(models[i], CS_ALLREDUCE, true);
        end_memory_anywhere(models[i], CS_ALLGATHER, false);
        end_memory_anywhere(models[i], CS_ALLTOALL, false);
    }
}

/* With a slow NIC two sets of trees are made and replayed: whatever fails, nothing is left behind.
 */
Test(adapcc_replay, memory_may_end_in_the_choice)
{
    const cs_capacity   slow    = {1, 3, 0, (double)INFINITY, false};
    const cs_algorithm *adapcc  = NULL;
    cs_adapcc_options   options = {.trees = 2, .chunk = CS_AUTO, .moves = 3};
    cs_status           status  = CS_ENOMEM;

    cr_assert_eq(cs_algorithm_find("adapcc", &adapcc, NULL), CS_OK);
    for (long passes = 0; status != CS_OK; passes++) {
        cs_job    job = {.scenario = make_scenario(CS_ALLREDUCE, 6, 2, MIB), .verify = true};
        cs_result result;
        cs_error  err = {0};

        cr_assert_lt(passes, 1000);
        job.scenario.capacity   = &slow;
        job.scenario.n_capacity = 1;
        cs_job_set_algorithm(&job, adapcc, &options);
        cs_job_set_model(&job, cs_models[0], NULL);
        cs_alloc_fail_after(passes);
        status = cs_job_run(&job, NULL, 0, &result, &err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%s", err.message);
        cr_assert(status != CS_OK || result.verified);
    }
}
