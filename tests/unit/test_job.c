/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is decided once for a job and by whom, what a run leaves as it was, and what observers are
 * told. */
#include "base/alloc.h"
#include "cs/result.h"
#include "support/scene.h"
#include "support/stream.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static ct_scene scene;

static void set_scene(const char *algorithm, uint32_t n)
{
    ct_scene_set(&scene, algorithm, CS_ALLREDUCE, n, 4096u * n);
}

static uint32_t option_of(const cs_job *job, const char *name)
{
    const cs_field *row   = cs_field_find(job->algorithm->options, name);
    uint32_t        value = 0;

    cr_assert_not_null(row);
    memcpy(&value, job->options.bytes + row->offset, sizeof value);
    return value;
}

Test(job, a_run_leaves_the_job_as_it_was_given)
{
    set_scene("stragglar", 8);
    cs_job    job = ct_scene_given(&scene, NULL);
    cs_result result, again;
    char      before[sizeof job];

    memcpy(before, &job, sizeof job);
    cr_assert_eq(option_of(&job, "straggler"), CS_AUTO);
    cr_assert_eq(cs_job_run(&job, NULL, 0, &result, NULL), CS_OK);
    cr_expect_eq(memcmp(&job, before, sizeof job), 0);
    cr_expect(result.verified);
    cr_assert_eq(cs_job_resolve(&job, NULL), CS_OK);
    cr_expect_eq(option_of(&job, "straggler"), 7);
    cr_assert_eq(cs_job_run(&job, NULL, 0, &again, NULL), CS_OK);
    cr_expect_eq(memcmp(&again.options, &job.options, sizeof job.options), 0);
    cr_expect_eq(memcmp(&again.options, &result.options, sizeof job.options), 0);
    cr_expect_eq(again.elapsed_s, result.elapsed_s);
    cr_expect_eq(again.rounds, job.plan.n_rounds);
    cs_job_release(&job);
    cr_expect_not(job.is_resolved);
    cs_job_release(&job);
}

/* Options that are set have nothing of others behind them. */
Test(job, options_are_copied_or_the_defaults)
{
    const struct {
        uint32_t channels;
        int      order;
    } two          = {2, 1};
    cs_job job     = {0};
    cs_job another = {0};

    memset(&job.options, 0xff, sizeof job.options);
    memset(&job.model_options, 0xff, sizeof job.model_options);
    set_scene("nccl_rings", 8);
    cs_job_set_algorithm(&job, scene.algorithm, &two);
    cr_assert_eq(sizeof two, scene.algorithm->options_bytes);
    cr_expect_eq(memcmp(&job.options, &two, sizeof two), 0);
    for (size_t i = sizeof two; i < sizeof job.options; i++) {
        cr_assert_eq(job.options.bytes[i], 0);
    }
    cs_job_set_algorithm(&job, scene.algorithm, NULL);
    cr_expect_eq(option_of(&job, "channels"), CS_AUTO);
    cs_job_set_model(&job, cs_models[0], NULL);
    cs_job_set_model(&another, cs_models[0], NULL);
    cr_expect_eq(memcmp(&job.model_options, &another.model_options, sizeof job.model_options), 0);
}

/* ---- an algorithm and a model that say what they are asked ---- */

static struct {
    int         checks, opens, model_checks;
    bool        is_refused, is_refused_by_model;
    const void *forecast_model;
} seen;

static cs_status asked_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                             cs_error *err)
{
    (void)options;
    seen.checks++;
    seen.forecast_model = scenario->forecast != NULL ? scenario->forecast->model : NULL;
    if (seen.is_refused) {
        return CS_FAIL(err, CS_ENOTSUP, "algorithm", "not today");
    }
    *plan = (cs_plan){.n_chunks = 1, .n_slots = 1, .n_rounds = 2};
    return CS_OK;
}

static cs_status asked_open(const cs_scenario *scenario, const void *options, void **state_p,
                            cs_error *err)
{
    uint32_t *next = CS_NEW(uint32_t, 1);

    (void)scenario;
    (void)options;
    seen.opens++;
    if (next == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for a test");
    }
    *state_p = next;
    return CS_OK;
}

/* The same with something prepared, which is counted while it is there. */
static int n_prepared;

static cs_status preparing_check(const cs_scenario *scenario, void *options, cs_plan *plan,
                                 cs_error *err)
{
    cs_status status = asked_check(scenario, options, plan, err);

    if (status == CS_OK) {
        plan->prepared = CS_NEW(uint32_t, 1);
        status = plan->prepared == NULL ? CS_FAIL(err, CS_ENOMEM, "", "out of memory for a test")
                                        : CS_OK;
        n_prepared += status == CS_OK;
    }
    return status;
}

static void release(void *prepared)
{
    cr_assert_not_null(prepared);
    n_prepared--;
    cs_free(prepared);
}

static const void *handed_over;

static cs_status open_prepared(const cs_scenario *scenario, const void *options,
                               const void *prepared, void **state_p, cs_error *err)
{
    handed_over = prepared;
    return asked_open(scenario, options, state_p, err);
}

/* Two ranks: 0 adds to 1, which sends the sum back. */
static void asked_next_block(void *state, cs_block *block)
{
    uint32_t *next = state;

    block->count = 0;
    if (*next < 2) {
        bool is_back = *next == 1;
        block->transfers[0] =
            (cs_transfer){.src   = is_back,
                          .dst   = !is_back,
                          .bytes = 1000,
                          .round = *next,
                          .span  = 1,
                          .flags = is_back ? CS_DONE_DST : CS_OWN_SRC | CS_OWN_DST | CS_DONE_DST,
                          .op_fabric = cs_op_fabric(is_back ? CS_OP_COPY : CS_OP_REDUCE, CS_NIC)};
        block->count = 1;
        ++*next;
    }
}

static const cs_algorithm asked = {.name        = "asked",
                                   .summary     = "a test's",
                                   .source      = "tests",
                                   .collectives = 1u << CS_ALLREDUCE,
                                   .check       = asked_check,
                                   .open        = asked_open,
                                   .next_block  = asked_next_block,
                                   .close       = cs_free};

static const cs_algorithm preparing = {.name          = "preparing",
                                       .summary       = "a test's",
                                       .source        = "tests",
                                       .collectives   = 1u << CS_ALLREDUCE,
                                       .check         = preparing_check,
                                       .open_prepared = open_prepared,
                                       .release       = release,
                                       .next_block    = asked_next_block,
                                       .close         = cs_free};

static cs_status asked_model_check(const cs_scenario *scenario, const void *options, cs_error *err)
{
    (void)scenario;
    (void)options;
    seen.model_checks++;
    return seen.is_refused_by_model ? CS_FAIL(err, CS_ENOTSUP, "model", "not here") : CS_OK;
}

static cs_model model;

static cs_job asked_job(void)
{
    cs_job job = {
        .scenario = {.collective = CS_ALLREDUCE,
                     .bytes      = 1000,
                     .cluster    = {.n_ranks         = 2,
                                    .gpus_per_server = 1,
                                    .fabrics = {{CS_SWITCHED, 1, 1e3}, {CS_SWITCHED, 1, 1e3}}}},
        .verify   = true};

    memset(&seen, 0, sizeof seen);
    model       = *cs_models[0];
    model.check = asked_model_check;
    cs_job_set_algorithm(&job, &asked, NULL);
    cs_job_set_model(&job, &model, NULL);
    return job;
}

Test(job, everything_is_decided_once)
{
    cs_job    job = asked_job();
    cs_result result;

    cr_assert_eq(cs_job_resolve(&job, NULL), CS_OK);
    cr_assert_eq(cs_job_resolve(&job, NULL), CS_OK);
    cr_expect_eq(seen.checks, 1);
    cr_expect_eq(seen.model_checks, 1);
    cr_expect_eq(seen.forecast_model, &model);
    for (int i = 1; i <= 3; i++) {
        cr_assert_eq(cs_job_run(&job, NULL, 0, &result, NULL), CS_OK);
        cr_expect(result.verified);
        cr_expect_float_eq(result.elapsed_s, 4, 1e-12);
        cr_expect_eq(seen.opens, i);
    }
    cr_expect_eq(seen.checks, 1);
    cs_job_release(&job);
    cr_assert_eq(cs_job_run(&job, NULL, 0, &result, NULL), CS_OK);
    cr_expect_eq(seen.checks, 2);
    cr_expect_not(job.is_resolved);
}

/* What was built to plan the schedule serves all its streams, whoever opens them, and is freed
 * once: by its owner, or where the model refuses. */
Test(job, what_is_prepared_serves_every_stream)
{
    cs_job         job = asked_job();
    cs_verdict     verdict;
    cs_result      result;
    cs_replay_pace pace;
    void          *state = NULL;

    cs_job_set_algorithm(&job, &preparing, NULL);
    cr_assert_eq(cs_job_run(&job, NULL, 0, &result, NULL), CS_OK);
    cr_expect_eq(n_prepared, 0);
    cr_assert_eq(cs_job_resolve(&job, NULL), CS_OK);
    cr_expect_eq(n_prepared, 1);
    cs_job borrower = job;
    cr_assert_eq(cs_job_run(&borrower, NULL, 0, &result, NULL), CS_OK);
    cr_expect_eq(handed_over, job.plan.prepared);
    handed_over = NULL;
    cr_assert_eq(cs_job_verify(&job, &verdict, NULL), CS_OK);
    cr_expect_eq(handed_over, job.plan.prepared);
    handed_over = NULL;
    cr_assert_eq(cs_job_pace(&job, 0, &pace, NULL), CS_OK);
    cr_expect_eq(handed_over, job.plan.prepared);
    cr_assert_eq(cs_job_open(&job, &state, NULL), CS_OK);
    preparing.close(state);
    cr_expect_eq(seen.checks, 2);
    cr_expect_eq(n_prepared, 1);
    cs_job_release(&job);
    cs_job_release(&job);
    cr_expect_eq(n_prepared, 0);
    seen.is_refused_by_model = true;
    cr_assert_eq(cs_job_resolve(&job, NULL), CS_ENOTSUP);
    cr_expect_eq(n_prepared, 0);
    cr_expect_null(job.plan.prepared);
}

Test(job, nothing_that_was_prepared_is_lost_when_memory_ends)
{
    cs_job    job    = asked_job();
    cs_status status = CS_ENOMEM;

    cs_job_set_algorithm(&job, &preparing, NULL);
    for (long passes = 0; status != CS_OK; passes++) {
        cs_result result;
        cr_assert_lt(passes, 100);
        cs_alloc_fail_after(passes);
        status = cs_job_run(&job, NULL, 0, &result, NULL);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM);
        cr_assert_eq(n_prepared, 0);
    }
}

/* First the scenario, then the algorithm, then the model. */
Test(job, the_first_refusal_is_returned)
{
    cs_job   job = asked_job();
    cs_error err = {0};

    seen.is_refused = seen.is_refused_by_model = true;
    job.scenario.bytes                         = 0;
    cr_expect_eq(cs_job_resolve(&job, &err), CS_EINVAL);
    cr_expect_str_eq(err.where, "bytes");
    cr_expect_eq(seen.checks, 0);
    cr_expect_not(job.is_checked);
    job.scenario.bytes = 1000;
    err                = (cs_error){0};
    cr_expect_eq(cs_job_resolve(&job, &err), CS_ENOTSUP);
    cr_expect_str_eq(err.where, "algorithm");
    cr_expect_eq(seen.model_checks, 0);
    cr_expect(job.is_checked);
    seen.is_refused = false;
    err             = (cs_error){0};
    cr_expect_eq(cs_job_resolve(&job, &err), CS_ENOTSUP);
    cr_expect_str_eq(err.where, "model");
    cr_expect_not(job.is_resolved);
    cr_expect_eq(job.plan.n_chunks, 0, "nothing is left of the plan");
    seen.is_refused_by_model = false;
    cr_expect_eq(cs_job_resolve(&job, NULL), CS_OK);
    cs_job_release(&job);
}

Test(job, a_scenario_that_was_checked_is_not_checked_again)
{
    cs_job job = asked_job();

    job.is_checked     = true;
    job.scenario.bytes = 0; /* which a check would refuse */
    cr_expect_eq(cs_job_resolve(&job, NULL), CS_OK);
    cs_job_release(&job);
}

Test(job, without_a_model_there_is_a_schedule)
{
    cs_job     job     = asked_job();
    cs_verdict verdict = {0};

    job.model = NULL;
    cr_assert_eq(cs_job_resolve(&job, NULL), CS_OK);
    cr_expect_null(seen.forecast_model);
    cr_assert_eq(cs_job_verify(&job, &verdict, NULL), CS_OK);
    cr_expect(verdict.is_correct);
    cs_job_release(&job);
}

/* Without an algorithm: ports that serve one message at a time, and alpha of each. */
Test(job, without_an_algorithm_there_are_bounds)
{
    cs_job job = asked_job();

    job.algorithm = NULL;
    cr_assert_eq(cs_job_resolve(&job, NULL), CS_OK);
    cr_expect_eq(seen.checks, 0);
    cr_expect_eq(seen.model_checks, 1);
    const cs_bound_context context = cs_job_bounds(&job);
    cr_expect_eq(context.scenario, &job.scenario);
    cr_expect(context.alpha_holds_port && context.alpha_per_message);
    cr_expect_not(context.is_round_synchronous);
    for (uint32_t f = 0; f < CS_FABRICS; f++) {
        cr_expect_eq(context.latency_s[f], model.latency_s(&job.scenario, &job.model_options, f));
    }
    seen.is_refused_by_model = true;
    cs_job_release(&job);
    cr_expect_eq(cs_job_resolve(&job, NULL), CS_ENOTSUP);
}

/* What a schedule shares and how it goes says what bounds may assume. */
Test(job, bounds_assume_what_the_plan_says)
{
    static const struct {
        const char *algorithm;
        bool        is_shared, is_synchronous;
    } rows[] = {{"ring", false, true}, {"allpairs", true, false}, {"stragglar", false, false}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        set_scene(rows[i].algorithm, 8);
        cs_job    job = ct_scene_given(&scene, NULL);
        cs_result result;
        cr_assert_eq(cs_job_resolve(&job, NULL), CS_OK);
        const cs_bound_context context = cs_job_bounds(&job);
        cr_expect_eq(context.alpha_per_message, !rows[i].is_shared, "%s", rows[i].algorithm);
        cr_expect_eq(context.alpha_holds_port, !rows[i].is_shared);
        cr_expect_eq(context.is_round_synchronous, rows[i].is_synchronous);
        cr_assert_eq(cs_job_run(&job, NULL, 0, &result, NULL), CS_OK);
        const char *name    = NULL;
        double      bound_s = cs_best_bound(&context, &name);
        cr_expect_str_eq(result.bound, name);
        cr_expect_float_eq(result.bound_s, bound_s, 1e-9 * bound_s);
        cs_job_release(&job);
    }
}

Test(job, the_closed_form_is_there_where_it_is_exact)
{
    set_scene("ring", 8);
    cs_job job = ct_scene_given(&scene, NULL);
    cr_assert_eq(cs_job_resolve(&job, NULL), CS_OK);
    cr_expect_float_eq(cs_job_closed_form_s(&job), 14 * (3e-6 + 4096 / 450e9), 1e-15);
    cs_job_release(&job);
    model                   = *cs_models[0];
    model.closed_forms_hold = NULL;
    cs_job_set_model(&job, &model, NULL);
    cr_assert_eq(cs_job_resolve(&job, NULL), CS_OK);
    cr_expect(isnan(cs_job_closed_form_s(&job)));
    cs_job_release(&job);
    set_scene("rhd", 7);
    job                    = ct_scene_given(&scene, NULL);
    scene.arrival_s[3]     = 1e-3;
    job.scenario.arrival_s = scene.arrival_s;
    cr_assert_eq(cs_job_resolve(&job, NULL), CS_OK);
    cr_expect(isnan(cs_job_closed_form_s(&job)));
    cs_job_release(&job);
}

/* ---- observers ---- */

typedef struct told {
    uint64_t n_transfers, n_seen;
    unsigned n_calls;
    bool     comes_first; /* the number, before any block */
} told;

static cs_status count_block(void *user, const cs_block *block, const cs_interval *intervals,
                             cs_error *err)
{
    told *t = user;

    (void)err;
    cr_assert_not_null(intervals);
    t->n_seen += block->count;
    return CS_OK;
}

static void count(void *user, uint64_t n_transfers)
{
    told *t        = user;
    t->n_transfers = n_transfers;
    t->comes_first = t->n_seen == 0;
    t->n_calls++;
}

/* Every hook by itself and beside the others; a port model does not count beforehand. */
Test(job, observers_see_what_they_have_hooks_for)
{
    static const char *const models[] = {"alpha-beta", "flow"};

    for (int m = 0; m < 2; m++) {
        for (int hooks = 0; hooks < 4; hooks++) {
            told        t[2] = {0};
            cs_observer observers[2];
            cs_outcome  outcome, alone;
            for (int i = 0; i < 2; i++) { /* two that divide the hooks among them, or not */
                bool sees    = (hooks & 1) != 0 && (i == 0 || hooks == 3);
                bool counts  = (hooks & 2) != 0 && (i == 1 || hooks == 3);
                observers[i] = (cs_observer){.block   = sees ? count_block : NULL,
                                             .counted = counts ? count : NULL,
                                             .user    = &t[i]};
            }
            set_scene("ring", 8);
            ct_scene_ready(&scene);
            const cs_job job = ct_scene_job(&scene, models[m]);
            cr_assert_eq(cs_job_replay(&job, observers, 2, &outcome, NULL), CS_OK);
            cr_assert_eq(cs_job_replay(&job, NULL, 0, &alone, NULL), CS_OK);
            cr_expect_eq(outcome.elapsed_s, alone.elapsed_s);
            cr_expect_eq(outcome.n_transfers, 8 * 14);
            for (int i = 0; i < 2; i++) {
                uint64_t n      = outcome.n_transfers;
                bool     counts = observers[i].counted != NULL && m == 1;
                cr_expect_eq(t[i].n_seen, observers[i].block != NULL ? n : 0);
                cr_expect_eq(t[i].n_calls, counts);
                cr_expect_eq(t[i].n_transfers, counts ? n : 0);
                cr_expect(!counts || t[i].comes_first);
            }
        }
    }
}

/* Only what asks for intervals pays for them: an observer of the number costs no memory. */
Test(job, nothing_is_recorded_for_those_who_only_count)
{
    told        t        = {0};
    cs_observer observer = {.counted = count, .user = &t};
    long        passes[2];

    set_scene("ring", 8);
    ct_scene_ready(&scene);
    const cs_job job = ct_scene_job(&scene, "flow");
    for (int i = 0; i < 2; i++) {
        cs_status status = CS_ENOMEM;
        for (passes[i] = 0; status != CS_OK; passes[i]++) {
            cs_outcome outcome;
            cs_alloc_fail_after(passes[i]);
            status = cs_job_replay(&job, &observer, (size_t)i, &outcome, NULL);
            cs_alloc_fail_after(-1);
            cr_assert(status == CS_OK || status == CS_ENOMEM);
            cr_assert_lt(passes[i], 1000);
        }
    }
    cr_expect_eq(passes[0], passes[1]);
}
