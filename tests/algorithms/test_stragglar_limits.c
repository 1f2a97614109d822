/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What stragglar would work on for minutes is refused before it begins, with what is accepted. */
#include "algorithms/stragglar/multi_late.h"
#include "algorithms/stragglar/multi_late_rounds.h"

#include <criterion/criterion.h>
#include <math.h>

extern const cs_algorithm cs_algorithm_stragglar;

static cs_scenario scenario_of(uint32_t n, const double *arrival_s)
{
    return (cs_scenario){.collective = CS_ALLREDUCE,
                         .bytes      = 1u << 30,
                         .cluster    = {.n_ranks         = n,
                                        .gpus_per_server = 1,
                                        .fabrics         = {[CS_NIC] = {CS_SWITCHED, 3e-6, 450e9}},
                                        .sockets         = 1},
                         .arrival_s  = arrival_s};
}

static cs_options options_of(const char *late_ranks, const char *chunks)
{
    const cs_field *table = cs_algorithm_stragglar.options;
    cs_options      o;

    cs_fields_default(table, &o);
    cr_assert_eq(cs_field_set(table, &o, "late_ranks", late_ranks, "", NULL), CS_OK);
    cr_assert_eq(cs_field_set(table, &o, "chunks", chunks, "", NULL), CS_OK);
    return o;
}

static void expect_refused(uint32_t n, const char *late_ranks, const char *chunks,
                           const char *message)
{
    cs_scenario s    = scenario_of(n, NULL);
    cs_options  o    = options_of(late_ranks, chunks);
    cs_plan     plan = {0};
    cs_error    err  = {0};

    cr_expect_eq(cs_algorithm_stragglar.check(&s, &o, &plan, &err), CS_ENOTSUP);
    cr_expect_str_eq(err.where, "algorithm.options.chunks");
    cr_expect_str_eq(err.message, message, "%s", err.message);
}

Test(stragglar_limits, more_chunks_than_can_be_replayed_are_refused)
{
    const uint32_t n    = 8192;
    cs_scenario    s    = scenario_of(n, NULL);
    cs_options     o    = options_of("1", "262144"); /* 2^31 messages */
    cs_plan        plan = {0};
    cs_error       err  = {0};

    cr_expect_eq(cs_algorithm_stragglar.check(&s, &o, &plan, &err), CS_OK, "%s", err.message);
    cr_expect_eq(plan.n_chunks, 262144);
    expect_refused(n, "1", "262145",
                   "262145 for 8192 ranks: 2.1e+09 messages would take minutes to replay; accepted "
                   "are at most 262144, and auto");
}

/* The paper's own number is accepted for any number of ranks. */
Test(stragglar_limits, as_many_chunks_as_ranks_are_accepted)
{
    const uint32_t n    = CS_MAX_RANKS;
    cs_scenario    s    = scenario_of(n, NULL);
    cs_options     o    = options_of("1", "0");
    cs_plan        plan = {0};
    cs_error       err  = {0};

    cr_assert_gt((uint64_t)n * (n - 1), (uint64_t)1 << 31);
    cr_expect_eq(cs_algorithm_stragglar.check(&s, &o, &plan, &err), CS_OK, "%s", err.message);
    cr_expect_eq(plan.n_chunks, n - 1);
}

Test(stragglar_limits, rounds_that_take_minutes_to_make_are_refused)
{
    expect_refused(1024, "2", "2044",
                   "2044: to make the rounds of 2 late ranks of 1024 would take minutes; accepted "
                   "are at most 1022, and auto");
    expect_refused(
        8, "2", "65532",
        "65532: to make the rounds of 2 late ranks of 8 would take minutes; accepted are "
        "at most 59622, and auto");
}

Test(stragglar_limits, the_estimate_grows_and_the_most_parts_are_its_last)
{
    static const uint32_t ns[] = {3, 8, 64, 100, 512, 1000, CS_MULTI_LATE_MOST_RANKS};

    for (size_t i = 0; i < sizeof ns / sizeof ns[0]; i++) {
        for (uint32_t late = 2; late < ns[i]; late += 1 + ns[i] / 5) {
            uint32_t early = ns[i] - late, most = cs_multi_late_most_parts(ns[i], early);
            cr_assert_geq(most, 1);
            cr_assert_leq(most * early, CS_MAX_SLOTS);
            cr_expect(most == 1 ||
                      cs_multi_late_work(ns[i], early, most * early) <= CS_MULTI_LATE_MOST_WORK);
            cr_expect((most + 1) * early > CS_MAX_SLOTS ||
                      cs_multi_late_work(ns[i], early, (most + 1) * early) >
                          CS_MULTI_LATE_MOST_WORK);
            cr_expect_lt(cs_multi_late_work(ns[i], early, early),
                         cs_multi_late_work(ns[i], early, 2 * early));
        }
    }
}

/* n ranks, two of them late: one shape is taken without a trial, of several the best, and none that
 * is not affordable. */
Test(stragglar_limits, a_choice_of_one_makes_no_rounds)
{
    cs_scenario         s     = scenario_of(CS_MULTI_LATE_MOST_RANKS, NULL);
    cs_multi_late_shape shape = {.parts = 3, .roots = CS_AUTO};
    cs_error            err   = {0};

    cs_multi_late_schedule *schedule = NULL;

    /* 3066 chunks are not affordable: nothing is made, and nothing is found */
    cr_assert_eq(cs_multi_late_choose_shape(&s, 2, 2, (double)INFINITY, &shape, &schedule, &err),
                 CS_OK);
    cr_expect_null(schedule);
    cr_expect_eq(shape.late, 0);
    shape = (cs_multi_late_shape){.parts = 1, .roots = CS_AUTO};
    cr_assert_eq(cs_multi_late_choose_shape(&s, 2, 2, (double)INFINITY, &shape, &schedule, &err),
                 CS_OK);
    cr_expect_null(schedule);
    cr_expect_eq(shape.late, 2);
    cr_expect_eq(shape.parts, 1);
}
