/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A recording is the stream: what the observer of a replay keeps is what the algorithm says, with
 * one interval for every transfer, on every model; its limits stop a replay. */
#include "cs/recording.h"

#include "base/alloc.h"
#include "observer_setup.h"

#include <math.h>
#include <string.h>

enum { MOST = 40 };

static cs_status at_most_40(const cs_recording *recording, cs_error *err)
{
    return recording->n_transfers <= MOST
               ? CS_OK
               : CS_FAIL(err, CS_ENOTSUP, "reader", "takes at most %d", MOST);
}

static void expect_same_stream(const cs_recording *a, const cs_recording *b, const char *name)
{
    cr_assert_eq(a->n_transfers, b->n_transfers, "%s", name);
    cr_assert_eq(memcmp(a->transfers, b->transfers, a->n_transfers * sizeof *a->transfers), 0, "%s",
                 name);
    cr_assert_eq(a->n_fences, b->n_fences, "%s", name);
    for (size_t i = 0; i < a->n_fences; i++) {
        cr_assert_eq(a->fences[i].index, b->fences[i].index);
        cr_assert_eq(a->fences[i].except, b->fences[i].except);
        cr_assert_eq(a->fences[i].cost_s, b->fences[i].cost_s);
    }
}

static void expect_times(const cs_recording *r, const cs_result *result)
{
    double last_s = 0;

    for (size_t i = 0; i < r->n_transfers; i++) {
        cr_assert(r->intervals[i].start_s >= 0 && r->intervals[i].end_s >= r->intervals[i].start_s);
        last_s = fmax(last_s, r->intervals[i].end_s);
    }
    cr_assert_eq(last_s, r->last_end_s);
    cr_assert_float_eq(last_s, result->elapsed_s, 1e-9 * result->elapsed_s, "%s",
                       result->algorithm);
}

Test(recording, a_replay_leaves_the_stream_and_its_times)
{
    static const double arrival_s[8] = {0, 0, 0, 0, 0, 0, 0, 200e-6};
    size_t              n_compared = 0, n_fences = 0;

    for (size_t a = 0; cs_algorithms[a] != NULL; a++) {
        for (size_t m = 0; cs_models[m] != NULL; m++) {
            cs_scenario  scenario = scenario_of(8, 4, CS_SWITCHED);
            cs_recording seen = {0}, told = {0};
            cs_observer  observer = cs_recording_observer(&seen);
            cs_result    result;

            scenario.arrival_s = arrival_s;
            while ((cs_algorithms[a]->collectives >> scenario.collective & 1u) == 0) {
                scenario.collective++;
            }
            cs_job job = job_of(&scenario, cs_algorithms[a], cs_models[m]);
            if (cs_job_resolve(&job, NULL) != CS_OK ||
                cs_job_run(&job, &observer, 1, &result, NULL) != CS_OK) {
                cs_job_release(&job);
                cs_recording_free(&seen);
                continue;
            }
            cr_assert_eq(cs_recording_stream(&told, &job, NULL), CS_OK);
            cs_job_release(&job);
            expect_same_stream(&seen, &told, cs_algorithms[a]->name);
            cr_assert_null(told.intervals);
            expect_times(&seen, &result);
            cr_assert_eq(cs_recording_messages(&seen), result.transfers);
            n_compared++;
            n_fences += seen.n_fences;
            cs_recording_free(&seen);
            cs_recording_free(&told);
        }
    }
    cr_assert_gt(n_compared, 20);
    cr_assert_gt(n_fences, 0);
}

Test(recording, barriers_and_slots_are_found_again)
{
    static const cs_fence first = {7, CS_FENCE_ALL, 1e-6}, second = {0, 3, 0}, none = {0};
    cs_transfer           t    = {.src = 0, .dst = 1, .span = 1, .flags = CS_FENCE, .dst_slot = 4};
    cs_recording          r    = {0};
    size_t                next = 0;

    cr_assert_eq(cs_recording_slots(&r), 0);
    cr_assert_eq(cs_recording_add(&r, &t, &first, NULL), CS_OK);
    t.flags = 0;
    t.span  = 3;
    cr_assert_eq(cs_recording_add(&r, &t, &none, NULL), CS_OK);
    t.flags     = CS_FENCE;
    t.op_fabric = cs_op_fabric(CS_OP_EXCHANGE, CS_NIC);
    cr_assert_eq(cs_recording_add(&r, &t, &second, NULL), CS_OK);
    t.flags     = CS_JOIN;
    t.op_fabric = 0;
    cr_assert_eq(cs_recording_add(&r, &t, &none, NULL), CS_OK);

    cr_assert_eq(cs_recording_slots(&r), 7);
    cr_assert_eq(cs_recording_messages(&r), 4, "an exchange is two, a part that joins none");
    cr_assert_eq(r.n_fences, 2);
    const cs_fence *fence = cs_recording_fence(&r, 0, &next);
    cr_assert(fence != NULL && fence->except == CS_FENCE_ALL && fence->cost_s == 1e-6);
    cr_assert_null(cs_recording_fence(&r, 1, &next));
    fence = cs_recording_fence(&r, 2, &next);
    cr_assert(fence != NULL && fence->except == 3);
    cr_assert_null(cs_recording_fence(&r, 3, &next));
    cs_recording_free(&r);
    cr_assert(r.transfers == NULL && r.n_transfers == 0);
}

Test(recording, a_limit_stops_what_grows_too_large)
{
    cs_scenario  scenario = scenario_of(8, 1, CS_SWITCHED);
    cs_recording seen = {.limits = {at_most_40}}, told = {.limits = {NULL, at_most_40}};
    cs_observer  observer = cs_recording_observer(&seen);
    cs_job       job      = job_of(&scenario, ring(), cs_models[0]);
    cs_error     err      = {0};
    cs_result    result;

    cr_assert_eq(cs_job_resolve(&job, NULL), CS_OK);
    cr_assert(!run_with(&scenario, ring(), cs_models[0], &observer, 1, &result));
    cr_assert_eq(cs_recording_stream(&told, &job, NULL), CS_OK, "a limit behind NULL is none");
    cs_recording_free(&told);
    told.limits[0] = at_most_40;
    cr_assert_eq(cs_recording_stream(&told, &job, &err), CS_ENOTSUP);
    cr_assert_str_eq(err.where, "reader");
    cs_recording_free(&seen);
    cs_recording_free(&told);
    cs_job_release(&job);
}

Test(recording, every_failed_allocation_is_reported)
{
    cs_scenario scenario = scenario_of(8, 1, CS_SWITCHED);
    cs_job      job      = job_of(&scenario, ring(), cs_models[0]);

    cr_assert_eq(cs_job_resolve(&job, NULL), CS_OK);
    for (int way = 0; way < 2; way++) {
        cs_status status = CS_ENOMEM;
        for (long passes = 0; status != CS_OK; passes++) {
            cs_recording r        = {0};
            cs_observer  observer = cs_recording_observer(&r);
            cs_error     err      = {0};
            cs_result    result;
            cs_alloc_fail_after(passes);
            if (way == 0) {
                bool ran = run_with(&scenario, ring(), cs_models[0], &observer, 1, &result);
                status   = ran ? CS_OK : CS_ENOMEM;
            } else {
                status = cs_recording_stream(&r, &job, &err);
                cr_assert(status == CS_OK || err.message[0] != '\0');
            }
            cs_alloc_fail_after(-1);
            cr_assert(status == CS_OK || status == CS_ENOMEM);
            cr_assert_lt(passes, 200);
            cs_recording_free(&r);
        }
    }
    cs_job_release(&job);
}
