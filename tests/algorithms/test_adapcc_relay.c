/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AdapCC's coordinator: the numbers of the paper and of its released code, worked examples by hand,
 * the orders event by event, and whole stories against a loop over ticks that knows nothing of it.
 */
#include "algorithms/adapcc/relay_times.h"
#include "base/alloc.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define MS    1e-3
#define NEVER ((double)INFINITY)

enum { MOST = 16 };

/* ---- what it costs ---- */

/* The constants of the released code: 0.78125 Gb of each of 16 workers, 50 Gb/s a worker; s / B =
 * 0.9765625 ms. */
static cs_relay_setting sixteen(cs_relay_rule rule)
{
    return cs_relay_setting_of(rule, 16, 0.78125e9 / 8, 16 * 50e9 / 8);
}

Test(adapcc_relay, first_ticks_of_sixteen_workers)
{
    static const struct {
        uint32_t k;
        double   premium_ms, premium_tick, buy_ms, literal_tick;
    } rows[]              = {{2, 1.953125, 1, 15.625, 4},
                             {4, 9.765625, 2, 17.578125, 4},
                             {8, 13.671875, 3, 21.484375, 5},
                             {12, 14.97395833333, 3, 25.390625, 6},
                             {15, 15.49479166667, 4, 28.3203125, 6}};
    cs_relay_setting code = sixteen(CS_RELAY_PREMIUM), paper = sixteen(CS_RELAY_LITERAL);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t k       = rows[i].k;
        double   premium = cs_relay_buy_s(&code, k) - cs_relay_phase1_s(&code, 16);
        cr_assert_float_eq(premium, rows[i].premium_ms * MS, 1e-12, "k = %u", k);
        cr_assert_float_eq(cs_relay_buy_s(&paper, k), rows[i].buy_ms * MS, 1e-12, "k = %u", k);
        cr_assert_eq(cs_relay_first_tick(&code, k), rows[i].premium_tick, "k = %u", k);
        cr_assert_eq(cs_relay_first_tick(&paper, k), rows[i].literal_tick, "k = %u", k);
    }
}

/* By the paper's volumes a start costs (N - k) s / B less than a collective of all: with the
 * premium rule it pays at once. By the code's it costs (N + 2 - 2 N / k) s / B more. */
Test(adapcc_relay, a_premium_is_none_by_the_volumes_of_the_paper)
{
    for (uint32_t N = 3; N <= 64; N++) {
        for (uint32_t k = 2; k < N; k++) {
            cs_relay_setting s      = cs_relay_setting_of(CS_RELAY_PREMIUM, N, 1e6, 1e9);
            double           full_s = cs_relay_phase1_s(&s, N), tensor_s = 1e-3;
            double           code_s = cs_relay_buy_s(&s, k) - full_s;
            cr_assert_float_eq(code_s, (N + 2 - 2.0 * N / k) * tensor_s, 1e-12);
            s.volumes = CS_RELAY_PAPER;
            cr_assert_float_eq(cs_relay_buy_s(&s, k) - full_s, ((double)k - N) * tensor_s, 1e-12);
            cr_assert_eq(cs_relay_first_tick(&s, k), 0);
        }
    }
}

Test(adapcc_relay, volumes_of_collectives)
{
    static const double want[CS_COLLECTIVE_COUNT] = {
        [CS_ALLREDUCE] = 8, [CS_ALLGATHER] = 4, [CS_REDUCESCATTER] = 4,
        [CS_ALLTOALL] = 5,  [CS_BROADCAST] = 1, [CS_REDUCE] = 4};
    cs_relay_setting s = cs_relay_setting_of(CS_RELAY_LITERAL, 8, 100, 50);

    for (int c = 0; c < CS_COLLECTIVE_COUNT; c++) {
        s.collective = (cs_collective)c;
        cr_assert_float_eq(cs_relay_volume_bytes(&s, 5), want[c] * 100, 1e-9, "%s",
                           cs_collective_name(s.collective));
        cr_assert_float_eq(cs_relay_phase1_s(&s, 5), want[c] * 2, 1e-9);
        cr_assert_float_eq(cs_relay_buy_s(&s, 5), want[c] * 2 + 3 * 2, 1e-9);
    }
}

/* A premium of more than 0.1 s is not waited for: from the first tick on behind it they start. */
Test(adapcc_relay, the_cap_of_the_code)
{
    cs_relay_setting s = cs_relay_setting_of(CS_RELAY_PREMIUM, 4, 1e9, 1e9);

    cr_assert_eq(cs_relay_first_tick(&s, 3), 21);
    s.cap_s = 0.104;
    cr_assert_eq(cs_relay_first_tick(&s, 3), 21);
    s.rule = CS_RELAY_LITERAL;
    cr_assert_eq(cs_relay_first_tick(&s, 3), ceil(cs_relay_buy_s(&s, 3) / s.cycle_s - 1e-6));
}

Test(adapcc_relay, one_worker_does_not_start)
{
    cs_relay_setting s = cs_relay_setting_of(CS_RELAY_LITERAL, 4, 64e6, 50e9);

    cr_assert(isinf(cs_relay_first_tick(&s, 1)));
    cr_assert(isinf(cs_relay_first_tick(&s, 0)));
    s.one_starts = true;
    cr_assert_eq(cs_relay_first_tick(&s, 1), 1, "three broadcasts: 3.84 ms");
    cr_assert(isinf(cs_relay_first_tick(&s, 0)));
    cr_assert_eq(cs_relay_first_tick(&s, 4), 0);
}

/* Two servers of two GPUs, and two trees that share their links: 1 -> 0 and 3 -> 2 (100 GB/s) and
 * the pair of NICs (12.5 GB/s), which carries 2 -> 0 and 3 -> 1; the second one also has 0 -> 1 and
 * 2 -> 3. */
Test(adapcc_relay, the_rate_of_distinct_links)
{
    static const uint32_t        parents[2][4] = {{CS_TREE_ROOT, 0, 0, 2}, {1, CS_TREE_ROOT, 3, 1}};
    static const cs_logical_kind kind          = {2, 2, 1, 12.5e9, {CS_DIRECT, 5e-6, 100e9}};
    cs_logical                   logical;
    cs_strategy                  s;
    double                       rate_Bps = 0;

    cr_assert_eq(cs_logical_make(&logical, &kind, 1, 20e-6, NULL), CS_OK);
    for (uint32_t n_trees = 1; n_trees <= 2; n_trees++) {
        double nvlinks_Bps = n_trees * 200e9;
        cr_assert_eq(cs_strategy_make(&s, 4, n_trees, NULL), CS_OK);
        for (uint32_t m = 0; m < n_trees; m++) {
            memcpy(s.trees[m].parent, parents[m], sizeof parents[m]);
        }
        cr_assert_eq(cs_strategy_check(&s, NULL), CS_OK);
        cr_assert_eq(cs_relay_rate(&s, &logical, CS_REDUCE, &rate_Bps, NULL), CS_OK);
        cr_assert_float_eq(rate_Bps, nvlinks_Bps + 12.5e9, 1);
        cr_assert_eq(cs_relay_rate(&s, &logical, CS_BROADCAST, &rate_Bps, NULL), CS_OK);
        cr_assert_float_eq(rate_Bps, nvlinks_Bps + 12.5e9, 1);
        cr_assert_eq(cs_relay_rate(&s, &logical, CS_ALLREDUCE, &rate_Bps, NULL), CS_OK);
        cr_assert_float_eq(rate_Bps, 400e9 + 25e9, 1);
        cs_alloc_fail_after(0);
        cr_assert_eq(cs_relay_rate(&s, &logical, CS_REDUCE, &rate_Bps, NULL), CS_ENOMEM);
        cs_alloc_fail_after(-1);
        cs_strategy_free(&s);
    }
    cs_logical_free(&logical);
}

/* 256 samples over 15 workers: one takes 18, fourteen take 17. */
Test(adapcc_relay, batches_keep_their_size)
{
    for (uint64_t batch = 0; batch < 300; batch += 1 + batch % 7) {
        for (uint32_t n = 1; n <= 17; n++) {
            uint64_t sum = 0;
            for (uint32_t i = 0; i < n; i++) {
                uint64_t part = cs_relay_batch_of(batch, n, i);
                cr_assert(part == batch / n || part == batch / n + 1);
                cr_assert(i == 0 || part <= cs_relay_batch_of(batch, n, i - 1));
                sum += part;
            }
            cr_assert_eq(sum, batch);
        }
    }
    cr_assert_eq(cs_relay_batch_of(256, 15, 0), 18);
    cr_assert_eq(cs_relay_batch_of(256, 15, 1), 17);
    cr_assert_eq(cs_relay_batch_of(256, 15, 14), 17);
}

/* ---- competitive ratios ---- */

/* When a coordinator of a very fine cycle stops to wait for the others, of which k are ready at 0
 * and the rest comes at last_s. */
static double waits_s(cs_relay_setting s, uint32_t k, double last_s, bool *starts_early)
{
    cs_relay relay  = {0};
    double   wake_s = NEVER;

    s.cycle_s = 1e-7;
    cr_assert_eq(cs_relay_init(&relay, &s, NULL), CS_OK);
    for (uint32_t i = 0; i < k; i++) {
        cs_relay_tell(&relay, CS_RELAY_IS_READY, i, 0);
        wake_s = relay.n_orders > 0 ? relay.orders[0].time_s : NEVER;
    }
    *starts_early = wake_s < last_s;
    cs_relay_free(&relay);
    return fmin(wake_s, last_s);
}

/* The worst ratio over all arrivals of the others, of what the rule pays to what one who knows the
 * arrival pays. Waiting costs its time and then T_full where `full` says so; starting costs the
 * buy, whenever they come. */
static double worst_ratio(const cs_relay_setting *s, uint32_t k, bool full)
{
    double buy_s  = cs_relay_buy_s(s, k);
    double full_s = full ? cs_relay_phase1_s(s, s->n_ranks) : 0, worst = 0;

    for (int i = 1; i < 4000; i++) {
        bool   starts = false;
        double last_s = i * buy_s / 997, waited = waits_s(*s, k, last_s, &starts);
        double paid = waited + (starts ? buy_s : full_s), best = fmin(last_s + full_s, buy_s);
        worst = fmax(worst, paid / best);
    }
    return worst;
}

/* Both are 2-competitive in what they count: the paper's the waiting alone, the code's the whole
 * time, where it is 2 - T_full / buy. */
Test(adapcc_relay, rules_are_competitive)
{
    for (uint32_t N = 3; N <= 24; N += 7) {
        for (uint32_t k = 2; k < N; k += 3) {
            cs_relay_setting paper = cs_relay_setting_of(CS_RELAY_LITERAL, N, 64e6, 50e9);
            cs_relay_setting code  = cs_relay_setting_of(CS_RELAY_PREMIUM, N, 64e6, 50e9);
            double           want  = 2 - cs_relay_phase1_s(&code, N) / cs_relay_buy_s(&code, k);
            code.cap_s             = NEVER;
            cr_assert_float_eq(worst_ratio(&paper, k, false), 2, 5e-3, "%u of %u", k, N);
            cr_assert_float_eq(worst_ratio(&code, k, true), want, 5e-3, "%u of %u", k, N);
            cr_assert_lt(want, 2);
        }
    }
}

/* Over the whole time the paper's rule is not: it may wait for as long as a start costs, and then
 * have all communicate, for 1 + T_full / buy of what a start costs. */
Test(adapcc_relay, the_rule_of_the_paper_is_not_competitive_over_the_whole_time)
{
    cs_relay_setting paper = cs_relay_setting_of(CS_RELAY_LITERAL, 8, 64e6, 50e9);

    cr_assert_float_eq(worst_ratio(&paper, 7, true), 1 + 14.0 / 13, 5e-3);
    cr_assert_float_eq(worst_ratio(&paper, 2, true), 3 - 2.0 / 8, 5e-3);
}

/* ---- whole stories ---- */

static cs_relay_times times_of(const cs_relay_case *c)
{
    cs_relay_times times;
    cs_error       err = {0};

    cr_assert_eq(cs_relay_times_of(c, &times, &err), CS_OK, "%s", err.message);
    return times;
}

/* Four workers of 64 MB, 50 GB/s: s / B = 1.28 ms, T_full = 7.68 ms. */
static cs_relay_times four(cs_relay_rule rule, double a, double b, double c, double d)
{
    const double  ready_s[] = {a * MS, b * MS, c * MS, d * MS};
    cs_relay_case given = {.setting = cs_relay_setting_of(rule, 4, 64e6, 50e9), .ready_s = ready_s};
    return times_of(&given);
}

#define EXPECT_MS(value_, want_) cr_assert_float_eq((value_), (want_)*MS, 1e-9)

Test(adapcc_relay, all_are_ready_in_the_first_cycle)
{
    for (int rule = CS_RELAY_LITERAL; rule <= CS_RELAY_PREMIUM; rule++) {
        cs_relay_times t = four((cs_relay_rule)rule, 0, 1, 2, 4);
        cr_assert_eq(t.ticks, 1);
        cr_assert_eq(t.n_active, 4);
        EXPECT_MS(t.decided_s, 5);
        EXPECT_MS(t.phase1_end_s, 12.68);
        EXPECT_MS(t.end_s, 12.68);
        EXPECT_MS(t.wait_all_s, 11.68);
        cr_assert(isnan(t.deadline_s));
        cs_relay_times_free(&t);
    }
}

Test(adapcc_relay, one_worker_is_late)
{
    cs_relay_times paper = four(CS_RELAY_LITERAL, 0, 1, 2, 30);
    cs_relay_times code  = four(CS_RELAY_PREMIUM, 0, 1, 2, 30);

    cr_assert_eq(paper.ticks, 2);
    cr_assert_eq(paper.n_active, 3);
    EXPECT_MS(paper.decided_s, 10);
    EXPECT_MS(paper.phase1_end_s, 15.12);
    EXPECT_MS(paper.deadline_s, 90.72);
    EXPECT_MS(paper.end_s, 31.28);
    EXPECT_MS(paper.wait_all_s, 37.68);
    cr_assert_eq(paper.workers[2].role, CS_WORKER_ACTIVE);
    cr_assert_float_eq(paper.workers[2].missing_bytes, 0, 0);
    cr_assert_eq(paper.workers[3].role, CS_WORKER_DONE);
    EXPECT_MS(paper.workers[3].from_s, 30);
    EXPECT_MS(paper.workers[3].to_s, 31.28);
    cr_assert_eq(code.ticks, 1);
    EXPECT_MS(code.decided_s, 5);
    EXPECT_MS(code.phase1_end_s, 10.12);
    EXPECT_MS(code.end_s, 31.28);
    cs_relay_times_free(&paper);
    cs_relay_times_free(&code);
}

Test(adapcc_relay, two_workers_are_late)
{
    cs_relay_times t = four(CS_RELAY_LITERAL, 0, 1, 20, 30);

    cr_assert_eq(t.ticks, 2);
    EXPECT_MS(t.phase1_end_s, 12.56);
    EXPECT_MS(t.workers[2].to_s, 21.28);
    EXPECT_MS(t.workers[3].to_s, 31.28);
    EXPECT_MS(t.end_s, 31.28);
    cs_relay_times_free(&t);
}

/* Ready at 20 and 20.5 ms: the first one sends 25 MB alone, then both share until it has sent the
 * other 39 MB, then the second one is alone again. */
Test(adapcc_relay, broadcasts_share_the_network)
{
    cs_relay_times t = four(CS_RELAY_LITERAL, 0, 1, 20, 20.5);

    EXPECT_MS(t.workers[2].to_s, 20.5 + 2 * 0.78);
    EXPECT_MS(t.workers[3].to_s, 20 + 2 * 1.28);
    cs_relay_times_free(&t);
}

/* Of 16 chunks 6 have started at 11.92 ms: 24 MB are broadcast, in 0.48 ms. */
Test(adapcc_relay, a_relay_joins_at_the_next_chunk)
{
    double         ready_s[] = {0, 1 * MS, 2 * MS, 10 * MS + 6 * 5.12 / 16 * MS};
    cs_relay_case  c         = {.setting     = cs_relay_setting_of(CS_RELAY_LITERAL, 4, 64e6, 50e9),
                                .ready_s     = ready_s,
                                .chunk_bytes = 4e6};
    cs_relay_times t         = times_of(&c);

    cr_assert_float_eq(t.workers[3].missing_bytes, 24e6, 1e-3);
    EXPECT_MS(t.workers[3].joined_s, 11.92);
    EXPECT_MS(t.end_s, 15.12 + 0.48);
    cr_assert(isnan(t.deadline_s), "nobody is waited for");
    cs_relay_times_free(&t);
    ready_s[3] += 0.01 * MS;
    t = times_of(&c);
    cr_assert_float_eq(t.workers[3].missing_bytes, 28e6, 1e-3, "the seventh has started");
    cs_relay_times_free(&t);
    c.chunk_bytes = 0;
    t             = times_of(&c);
    cr_assert_float_eq(t.workers[3].missing_bytes, 64e6, 0);
    EXPECT_MS(t.end_s, 15.12 + 1.28);
    cs_relay_times_free(&t);
}

/* Two trees of 32 MB, chunks of 4 MB, 0 <- 1 <- {2, 3} and 3 <- {0, 1, 2}: rank 3 is a leaf in the
 * first one and joins the second one only. */
Test(adapcc_relay, a_leaf_does_not_join)
{
    static const uint32_t parents[2][4] = {{CS_TREE_ROOT, 0, 1, 1}, {3, 3, 3, CS_TREE_ROOT}};
    const double          ready_s[]     = {0, 1 * MS, 2 * MS, 10 * MS + 3 * 5.12 / 8 * MS};
    cs_strategy           strategy      = {0};
    cs_relay_case         c = {.setting  = cs_relay_setting_of(CS_RELAY_LITERAL, 4, 64e6, 50e9),
                               .ready_s  = ready_s,
                               .strategy = &strategy};

    cr_assert_eq(cs_strategy_make(&strategy, 4, 2, NULL), CS_OK);
    memcpy(strategy.trees[0].parent, parents[0], sizeof parents[0]);
    memcpy(strategy.trees[1].parent, parents[1], sizeof parents[1]);
    cs_strategy_set_sizes(&strategy, 64000000, 4000000);
    cr_assert_eq(cs_strategy_check(&strategy, NULL), CS_OK);
    cs_relay_times t = times_of(&c);
    cr_assert_float_eq(t.workers[3].missing_bytes, 32e6 + 12e6, 1e-3);
    cr_assert(t.behaviours[4 + 3].has_recv && !t.behaviours[4 + 3].is_active);
    cr_assert(!t.behaviours[3].has_recv && t.behaviours[0].has_kernel);
    cs_relay_times_free(&t);

    c.announces = true; /* it joins the first one as well, when it has the answer */
    t           = times_of(&c);
    cr_assert_float_eq(t.workers[3].missing_bytes, 12e6 + 12e6, 1e-3);
    cs_relay_times_free(&t);
    c.setting.collective = CS_ALLGATHER; /* nothing is added up */
    t                    = times_of(&c);
    cr_assert_float_eq(t.workers[3].missing_bytes, 64e6, 1e-3);
    cs_relay_times_free(&t);
    c.setting.collective = CS_ALLREDUCE;
    c.rpc_s              = .64 * MS; /* as long as a chunk */
    t                    = times_of(&c);
    cr_assert_float_eq(t.workers[3].missing_bytes, 12e6 + 8e6, 1e-3);
    cs_relay_times_free(&t);
    c.announces = false;
    c.rpc_s     = 9 * MS;
    t           = times_of(&c);
    cr_assert_float_eq(t.phase1_from_s - t.decided_s, 9 * MS, 1e-12);
    cr_assert_float_eq(t.workers[3].missing_bytes, 32e6, 1e-3, "no chunk has started");
    cs_relay_times_free(&t);
    c.setting.n_ranks = 3;
    cr_assert_eq(cs_relay_times_of(&c, &t, NULL), CS_EINVAL);
    cs_strategy_free(&strategy);
}

Test(adapcc_relay, who_never_comes_is_excluded)
{
    cs_relay_times t = four(CS_RELAY_LITERAL, 0, 1, 2, NEVER);

    EXPECT_MS(t.phase1_end_s, 15.12);
    EXPECT_MS(t.deadline_s, 15.12 + 75.6);
    EXPECT_MS(t.end_s, 90.72);
    cr_assert_eq(t.n_faulty, 1);
    cr_assert_eq(t.workers[3].role, CS_WORKER_FAULTY);
    cr_assert(isinf(t.wait_all_s));
    cs_relay_times_free(&t);
    t = four(CS_RELAY_LITERAL, 0, 1, 2, 90.72);
    cr_assert_eq(t.n_faulty, 0, "at the deadline is in time");
    EXPECT_MS(t.end_s, 90.72 + 1.28);
    cs_relay_times_free(&t);
    t = four(CS_RELAY_LITERAL, 0, 1, 2, 90.73);
    cr_assert_eq(t.n_faulty, 1);
    EXPECT_MS(t.end_s, 90.72);
    cs_relay_times_free(&t);
}

/* A broadcast that is under way at the deadline goes on. */
Test(adapcc_relay, the_deadline_does_not_cut_a_broadcast)
{
    cs_relay_times t = four(CS_RELAY_LITERAL, 0, 1, 75, NEVER);

    EXPECT_MS(t.deadline_s, 6 * 12.56);
    EXPECT_MS(t.end_s, 75 + 1.28);
    cr_assert_eq(t.workers[2].role, CS_WORKER_DONE);
    cr_assert_eq(t.workers[3].role, CS_WORKER_FAULTY);
    cs_relay_times_free(&t);
}

/* Messages take 2 ms: all is decided as late, and phase 1 starts 2 ms behind its decision. */
Test(adapcc_relay, messages_take_time)
{
    const double   ready_s[] = {3 * MS, 4 * MS, 5 * MS, 33 * MS};
    cs_relay_case  c         = {.setting = cs_relay_setting_of(CS_RELAY_LITERAL, 4, 64e6, 50e9),
                                .ready_s = ready_s,
                                .rpc_s   = 2 * MS};
    cs_relay_times t         = times_of(&c);

    EXPECT_MS(t.first_s, 5);
    cr_assert_eq(t.ticks, 2);
    EXPECT_MS(t.decided_s, 15);
    EXPECT_MS(t.phase1_from_s, 17);
    EXPECT_MS(t.phase1_end_s, 22.12);
    EXPECT_MS(t.workers[3].from_s, 35);
    EXPECT_MS(t.end_s, 36.28);
    cr_assert_eq(cs_relay_ready_at(&c, &t, 0), 1);
    cr_assert_eq(cs_relay_ready_at(&c, &t, 1), 3);
    cs_relay_times_free(&t);
}

/* One worker alone, three broadcasts; phase 1 takes no time, and so the deadline is a cycle later.
 */
Test(adapcc_relay, one_worker_starts_where_it_may)
{
    const double  ready_s[] = {0, 7 * MS, 9 * MS, NEVER};
    cs_relay_case c         = {.setting = cs_relay_setting_of(CS_RELAY_PREMIUM, 4, 64e6, 50e9),
                               .ready_s = ready_s};
    cs_error      err       = {0};

    c.setting.one_starts = true;
    cs_relay_times t     = times_of(&c);
    cr_assert_eq(t.ticks, 0);
    EXPECT_MS(t.phase1_end_s, 0);
    EXPECT_MS(t.deadline_s, 5);
    EXPECT_MS(t.end_s, 5);
    cr_assert_eq(t.n_faulty, 3);
    cs_relay_times_free(&t);
    const double alone_s[] = {NEVER, NEVER, 0, NEVER};
    c.setting.one_starts   = false;
    c.ready_s              = alone_s;
    cr_assert_eq(cs_relay_times_of(&c, &t, &err), CS_EINVAL);
    cr_assert_not_null(strstr(err.message, "only worker 2 is ever ready"), "%s", err.message);
}

/* Years of waiting are not counted cycle by cycle. */
Test(adapcc_relay, waiting_for_long_costs_nothing)
{
    cs_relay_times t = four(CS_RELAY_LITERAL, 1e6, 1e12, 1e12, 1e12);

    cr_assert_float_eq(t.decided_s, 1e9, 6 * MS);
    cr_assert_float_eq(t.ticks, (1e9 - 1e3) / 5e-3, 2);
    cr_assert_eq(t.n_active, 4);
    cs_relay_times_free(&t);
}

Test(adapcc_relay, bad_settings_are_refused)
{
    double         ready_s[] = {0, 1};
    cs_relay_case  good      = {.setting = cs_relay_setting_of(CS_RELAY_LITERAL, 2, 1e6, 1e9),
                                .ready_s = ready_s};
    cs_relay_times t;

    for (int i = 0; i < 10; i++) {
        cs_relay_case c   = good;
        cs_error      err = {0};
        c.setting.n_ranks -= i == 0;
        c.setting.bytes        = i == 1 ? 0 : c.setting.bytes;
        c.setting.rate_Bps     = i == 2 ? -1 : i == 3 ? NEVER : c.setting.rate_Bps;
        c.setting.cycle_s      = i == 4 ? (double)NAN : c.setting.cycle_s;
        c.setting.cap_s        = i == 5 ? -1 : 0;
        c.setting.fault_factor = i == 6 ? -1 : c.setting.fault_factor;
        c.rpc_s                = i == 7 ? -1 : 0;
        c.chunk_bytes          = i == 8 ? -1 : 0;
        ready_s[1]             = i == 9 ? -1 : 1;
        cr_assert_eq(cs_relay_times_of(&c, &t, &err), CS_EINVAL, "%d", i);
        cr_assert_neq(err.message[0], '\0');
    }
    good.setting.cap_s        = 0;
    good.setting.fault_factor = 0;
    ready_s[1]                = 0;
    cr_assert_eq(cs_relay_times_of(&good, &t, NULL), CS_OK);
    cs_relay_times_free(&t);
    ready_s[0] = ready_s[1] = NEVER;
    cs_error err            = {0};
    cr_assert_eq(cs_relay_times_of(&good, &t, &err), CS_EINVAL);
    cr_assert_not_null(strstr(err.message, "nobody is ever ready"), "%s", err.message);
}

Test(adapcc_relay, memory_runs_out)
{
    const double  ready_s[] = {0, 1 * MS, 2 * MS, 30 * MS};
    cs_relay_case c         = {.setting = cs_relay_setting_of(CS_RELAY_LITERAL, 4, 64e6, 50e9),
                               .ready_s = ready_s};
    cs_status     status    = CS_ENOMEM;
    long          passes    = 0;

    for (; status == CS_ENOMEM && passes < 50; passes++) {
        cs_relay_times t;
        cs_alloc_fail_after(passes);
        status = cs_relay_times_of(&c, &t, NULL);
        cs_alloc_fail_after(-1);
        if (status == CS_OK) {
            cs_relay_times_free(&t);
        }
    }
    cr_assert_eq(status, CS_OK);
    cr_assert_gt(passes, 5);
}

/* ---- event by event ---- */

static void expect_orders(cs_relay *r, cs_relay_event event, uint32_t rank, double now_s,
                          const cs_relay_order *want, size_t n)
{
    cs_relay_tell(r, event, rank, now_s);
    cr_assert_eq(r->n_orders, n, "%zu orders, not %zu", r->n_orders, n);
    for (size_t i = 0; i < n; i++) {
        cr_assert_eq(r->orders[i].verb, want[i].verb, "order %zu: %d", i, (int)r->orders[i].verb);
        cr_assert_eq(r->orders[i].rank, want[i].rank);
        cr_assert_float_eq(r->orders[i].time_s, want[i].time_s, 1e-12);
    }
}
#define SILENCE(event, rank, now_s) expect_orders(&r, event, rank, now_s, NULL, 0)
#define ANSWER(event, rank, now_s, ...)                                          \
    expect_orders(&r, event, rank, now_s, (const cs_relay_order[]){__VA_ARGS__}, \
                  sizeof((const cs_relay_order[]){__VA_ARGS__}) / sizeof(cs_relay_order))

/* Six workers, s / B = 1 ms: 0 and 1 start at tick 2 (buy 6 ms); 2 and 3 join, 4 comes in phase 2,
 * 5 never. */
Test(adapcc_relay, orders_event_by_event)
{
    cs_relay_setting s = cs_relay_setting_of(CS_RELAY_LITERAL, 6, 1e6, 1e9);
    cs_relay         r;

    cr_assert_eq(cs_relay_init(&r, &s, NULL), CS_OK);
    SILENCE(CS_RELAY_TICK, 0, 0);
    SILENCE(CS_RELAY_IS_READY, 1, 1);
    cr_assert_eq(r.state, CS_RELAY_WAIT);
    SILENCE(CS_RELAY_IS_READY, 1, 1.001);
    SILENCE(CS_RELAY_TICK, 0, 1.005);
    ANSWER(CS_RELAY_IS_READY, 0, 1.0051, {CS_RELAY_WAKE, 0, 1.01});
    SILENCE(CS_RELAY_TICK, 0, 1.0099);
    SILENCE(CS_RELAY_PHASE1_ENDS, 0, 1.0099);
    ANSWER(CS_RELAY_TICK, 0, 1.01, {CS_RELAY_START, 0, 1.01});
    cr_assert(r.workers[0] == CS_WORKER_ACTIVE && r.workers[5] == CS_WORKER_RELAY);
    SILENCE(CS_RELAY_TICK, 0, 1.015);
    SILENCE(CS_RELAY_IS_READY, 0, 1.015);
    ANSWER(CS_RELAY_IS_READY, 3, 1.0152, {CS_RELAY_JOIN, 3, 1.0152});
    SILENCE(CS_RELAY_IS_READY, 3, 1.0153);
    ANSWER(CS_RELAY_IS_READY, 2, 1.016, {CS_RELAY_JOIN, 2, 1.016});
    SILENCE(CS_RELAY_BROADCAST_ENDS, 2, 1.0165);
    ANSWER(CS_RELAY_PHASE1_ENDS, 0, 1.02, {CS_RELAY_BROADCAST, 2, 1.02},
           {CS_RELAY_BROADCAST, 3, 1.02}, {CS_RELAY_WATCH, 0, 1.12});
    cr_assert_eq(r.state, CS_RELAY_PHASE2);
    SILENCE(CS_RELAY_PHASE1_ENDS, 0, 1.021);
    SILENCE(CS_RELAY_BROADCAST_ENDS, 3, 1.03);
    SILENCE(CS_RELAY_BROADCAST_ENDS, 3, 1.03);
    ANSWER(CS_RELAY_IS_READY, 4, 1.05, {CS_RELAY_BROADCAST, 4, 1.05});
    SILENCE(CS_RELAY_BROADCAST_ENDS, 2, 1.06);
    SILENCE(CS_RELAY_DEADLINE, 0, 1.11);
    ANSWER(CS_RELAY_DEADLINE, 0, 1.12, {CS_RELAY_EXCLUDE, 5, 1.12});
    SILENCE(CS_RELAY_IS_READY, 5, 1.13);
    ANSWER(CS_RELAY_BROADCAST_ENDS, 4, 1.14, {CS_RELAY_FINISH, 0, 1.14});
    cr_assert_eq(r.state, CS_RELAY_DONE);
    SILENCE(CS_RELAY_DEADLINE, 0, 2);
    cs_relay_free(&r);
}

/* A third worker comes while two wait: what was asked for is replaced, and the last one starts
 * phase 1 with all, without a phase 2. */
Test(adapcc_relay, a_new_worker_moves_the_tick)
{
    cs_relay_setting s = cs_relay_setting_of(CS_RELAY_LITERAL, 4, 4e6, 1e9);
    cs_relay         r;

    cr_assert_eq(cs_relay_init(&r, &s, NULL), CS_OK);
    SILENCE(CS_RELAY_IS_READY, 0, 0);
    ANSWER(CS_RELAY_IS_READY, 1, 0, {CS_RELAY_WAKE, 0, 0.02});
    ANSWER(CS_RELAY_IS_READY, 2, 0.016, {CS_RELAY_WAKE, 0, 0.02});
    ANSWER(CS_RELAY_IS_READY, 3, 0.016, {CS_RELAY_WAKE, 0, 0.02});
    ANSWER(CS_RELAY_TICK, 0, 0.02, {CS_RELAY_START, 0, 0.02});
    cr_assert_eq(r.n_active, 4);
    ANSWER(CS_RELAY_PHASE1_ENDS, 0, 0.03, {CS_RELAY_FINISH, 0, 0.03});
    cs_relay_free(&r);
}

/* ---- against a loop over ticks ---- */

/* When and with whom by rule 4.2 of the paper, or that of the code. */
static double loop_decides(const cs_relay_setting *s, const double *ready_s, bool *active)
{
    double first_s = NEVER, tensor_s = s->bytes / s->rate_Bps, N = s->n_ranks;

    for (uint32_t i = 0; i < s->n_ranks; i++) {
        first_s = fmin(first_s, ready_s[i]);
    }
    for (int tick = 0;; tick++) {
        double   acc = tick * 5e-3, now_s = first_s + acc;
        double   full_s = 2 * (N - 1) * tensor_s;
        uint32_t k      = 0;
        for (uint32_t i = 0; i < s->n_ranks; i++) {
            active[i] = ready_s[i] <= now_s + 1e-12;
            k += active[i];
        }
        double paper_s = 2 * (k - 1.0) * tensor_s + (N - k) * tensor_s;
        double code_s  = full_s * ((k - 1.0) / k) * (N / (N - 1)) + N * tensor_s;
        bool   buys    = s->rule == CS_RELAY_LITERAL ? acc >= paper_s - 1e-12
                                                     : acc + full_s >= code_s - 1e-12 || acc > 0.1;
        if (k == s->n_ranks || (k >= 2 && buys)) {
            return now_s;
        }
    }
}

/* The end: broadcasts of equal size one behind the other take as long as side by side. */
static double loop_ends(const cs_relay_setting *s, const double *ready_s, const bool *active,
                        double decided_s, uint32_t *n_faulty)
{
    double   first_s = NEVER, tensor_s = s->bytes / s->rate_Bps, end_s, last_s = 0;
    uint32_t k         = 0;
    bool     was[MOST] = {false};

    for (uint32_t i = 0; i < s->n_ranks; i++) {
        k += active[i];
        first_s = fmin(first_s, ready_s[i]);
        was[i]  = active[i];
    }
    double phase1_s = decided_s + 2 * (k - 1.0) * tensor_s;
    double dead_s   = phase1_s + fmax(5 * (phase1_s - first_s), 5e-3);
    end_s           = phase1_s;
    *n_faulty       = 0;
    for (uint32_t left = s->n_ranks - k; left > 0; left--) {
        uint32_t next = 0;
        while (was[next]) {
            next++;
        }
        for (uint32_t i = 0; i < s->n_ranks; i++) {
            next = !was[i] && ready_s[i] < ready_s[next] ? i : next;
        }
        was[next] = true;
        if (ready_s[next] <= dead_s) {
            end_s = fmax(fmax(end_s, ready_s[next]), phase1_s) + tensor_s;
        } else {
            (*n_faulty)++;
            last_s = dead_s;
        }
    }
    return fmax(end_s, last_s);
}

Test(adapcc_relay, any_ready_times)
{
    ct_rng   rng       = ct_rng_for(12);
    uint32_t n_partial = 0, n_given_up = 0;

    for (int i = 0; i < 4000; i++) {
        cs_relay_rule rule = (cs_relay_rule)ct_below(&rng, 2);
        uint32_t      N = 2 + (uint32_t)ct_below(&rng, MOST - 1), n_faulty = 0;
        double        ready_s[MOST], spread_ms = pow(10, (double)ct_below(&rng, 4));
        bool          active[MOST];
        cs_relay_case c = {
            .setting = cs_relay_setting_of(rule, N, 1e6 * (1 + (double)ct_below(&rng, 64)), 50e9),
            .ready_s = ready_s};
        for (uint32_t g = 0; g < N; g++) {
            ready_s[g] = (double)ct_below(&rng, 40) / 8 * spread_ms * MS;
            ready_s[g] = g > 1 && ct_below(&rng, 12) == 0 ? NEVER : ready_s[g];
        }
        double         decided_s = loop_decides(&c.setting, ready_s, active);
        double         end_s     = loop_ends(&c.setting, ready_s, active, decided_s, &n_faulty);
        cs_relay_times t         = times_of(&c);
        cr_assert_float_eq(t.decided_s, decided_s, 1e-9, "case %d", i);
        cr_assert_float_eq(t.end_s, end_s, 1e-9, "case %d: %.9g, not %.9g", i, t.end_s, end_s);
        cr_assert_eq(t.n_faulty, n_faulty, "case %d", i);
        for (uint32_t g = 0; g < N; g++) {
            cr_assert_eq(t.workers[g].role == CS_WORKER_ACTIVE, active[g], "case %d", i);
        }
        cr_assert_eq(cs_relay_ready_at(&c, &t, t.ticks), t.n_active);
        n_partial += t.n_active < N;
        n_given_up += n_faulty > 0;
        cs_relay_times_free(&t);
    }
    cr_assert(n_partial > 1000 && n_given_up > 100, "%u, %u", n_partial, n_given_up);
}
