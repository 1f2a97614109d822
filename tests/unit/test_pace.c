/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How fast a job is replayed: measured on the beginning of its schedule, whatever that uses;
 * and the number of transfers, which is told before the first of them. */
#include "base/alloc.h"
#include "cs/job.h"
#include "cs/result.h"
#include "support/config.h"

#include <criterion/criterion.h>

typedef struct seen {
    cs_job         job; /* resolved */
    uint64_t       n_transfers;
    unsigned       n_calls;
    double         most_s;
    cs_replay_pace pace;
    cs_status      status;
    long           passes; /* allocations while it is measured; -1: all */
} seen;

static void look(void *user, uint64_t n_transfers)
{
    seen *s = user;

    s->n_transfers = n_transfers;
    s->n_calls++;
    cs_alloc_fail_after(s->passes);
    s->status = cs_job_pace(&s->job, s->most_s, &s->pace, NULL);
    cs_alloc_fail_after(-1);
}

static cs_result run(const cs_case *c, seen *s)
{
    cs_result   result   = {0};
    cs_error    err      = {0};
    cs_observer observer = {.counted = look, .user = s};

    s->job        = c->job;
    s->job.verify = true;
    cr_assert_eq(cs_job_resolve(&s->job, &err), CS_OK, "%s", err.message);
    cr_assert_eq(cs_job_run(&s->job, &observer, 1, &result, &err), CS_OK, "%s", err.message);
    cr_assert(result.verified);
    cs_job_release(&s->job);
    return result;
}

static cs_case case_of(const char *algorithm, const char *model, const char *ranks)
{
    cs_config *config = NULL;

    cr_assert_eq(cs_config_new(&config, NULL), CS_OK);
    ct_set(config, "algorithm.name", algorithm);
    ct_set(config, "model.name", model);
    ct_set(config, "cluster.ranks", ranks);
    ct_set(config, "cluster.gpus_per_server", "2");
    ct_set(config, "arrivals.late", "[{\"rank\": 1, \"delay\": \"50us\"}]");
    cs_case c = ct_case(config, 0);
    cs_config_free(config);
    return c;
}

Test(pace, transfers_are_counted_and_their_beginning_is_measured)
{
    static const char *const names[] = {
        "ring",  "allpairs",     "rhd",       "stragglar",       "nccl_rings",
        "optcc", "hierarchical", "circulant", "latency_optimal", "double_binary_tree"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        cs_case   c      = case_of(names[i], "flow", "64");
        seen      s      = {.most_s = 100, .passes = -1};
        cs_result result = run(&c, &s);
        cr_expect_eq(s.n_calls, 1);
        cr_expect_eq(s.status, CS_OK);
        cr_expect_eq(s.n_transfers, result.transfers, "%s", names[i]);
        cr_expect_eq(s.pace.n_transfers, result.transfers, "%s: there was time for all", names[i]);
        cr_expect_gt(s.pace.time_s, 0);
        s.most_s = 0;
        run(&c, &s);
        cr_expect(s.pace.n_transfers > 0 && s.pace.n_transfers <= result.transfers);
        cr_expect(result.transfers < 4000 || s.pace.n_transfers < result.transfers, "%s", names[i]);
        cs_case_free(&c);
    }
}

Test(pace, port_models_announce_nothing)
{
    cs_case c = case_of("ring", "alpha-beta", "8");
    seen    s = {.most_s = 1, .passes = -1};

    run(&c, &s);
    cr_expect_eq(s.n_calls, 0);
    cs_case_free(&c);
}

Test(pace, without_memory_it_says_so)
{
    cs_case c = case_of("ring", "flow", "16");
    seen    s = {.most_s = 1, .status = CS_ENOMEM};

    for (; s.status != CS_OK && s.passes < 200; s.passes++) {
        run(&c, &s);
        cr_assert(s.status == CS_OK || s.status == CS_ENOMEM);
    }
    cr_expect_gt(s.passes, 3);
    cr_expect_eq(s.status, CS_OK);
    cs_case_free(&c);
}
