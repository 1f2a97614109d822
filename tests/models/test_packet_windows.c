/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queues without limit as their driver sees them, and what windows are made of. Times are in
 * test_packet_rules.c, random networks in test_packet_engines.c. */
#include "models/packet/train.h"
#include "support/packet_driver.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <stdlib.h>

/* 400 Gb/s and 500 ns: a packet of 4178 bytes takes S. */
#define S     INT64_C(83560)
#define DELAY INT64_C(500000)

static const cs_packet_engine *const engine = &cs_packet_unlimited;

static void expect_end(const ct_packet_world *w, cs_ps end)
{
    ct_packet_run run = ct_packet_drive(w, engine, 0);

    cr_assert_eq(run.status, CS_OK);
    cr_expect_eq(run.end[0], end);
    ct_packet_run_free(&run);
}

/* No work for each of them, before and behind a change: windows are a second long here. */
Test(packet_windows, two_billion_packets)
{
    const int64_t     n = INT32_MAX, second = INT64_C(1000000000000);
    ct_packet_setting set = ct_packet_plain(2, CT_FAN_IN, n * 4096);

    set.ports[0].delay = second;
    ct_packet_world w  = ct_packet_world_of(&set);
    expect_end(&w, 2 * second + (n + 1) * S);

    cs_packet_link *to    = &w.net.links[w.net.n_senders];
    const cs_ps     first = second + S;
    const int64_t   whole = (100 * second - first + S - 1) / S;
    w.net.changes[0]      = (cs_packet_change){100 * second, 200000000000};
    to->changes           = w.net.changes;
    to->n_changes         = 1;
    cs_packet_net_finish(&w.net, 82);
    expect_end(&w, first + whole * S + (n - whole) * 2 * S + second);
    ct_packet_world_free(&w);
}

Test(packet_windows, processes_no_window_beyond_the_horizon_or_an_end)
{
    ct_packet_setting set  = ct_packet_plain(2, CT_FAN_IN, 1 << 20);
    ct_packet_world   w    = ct_packet_world_of(&set);
    cs_event_queue    ends = {0};
    void             *state;
    cs_packet_totals  totals;
    cs_packet_message given = {
        .bytes = 1 << 20, .mtu = 4096, .header = 82, .n_paths = 1, .ways = w.schedule.ways};

    cr_assert_eq(engine->open(&w.net, &ends, &state, NULL), CS_OK);
    cr_assert(engine->is_idle(state));
    cr_assert_eq(engine->run(state, CS_PS_NEVER),
                 CS_OK); /* has nothing to do, and passes no time */
    cr_assert_eq(engine->send(state, &given), CS_OK);
    cr_assert_eq(engine->run(state, 22474920 - DELAY - S), CS_OK);
    cr_assert_eq(ends.count, 0);
    cr_assert_not(engine->is_idle(state));

    /* Handed over while the first one is under way: behind it, at once. */
    given.key    = 1;
    given.number = 1;
    given.bytes  = 0;
    given.ready  = 22474920 - DELAY - S;
    cr_assert_eq(engine->send(state, &given), CS_OK);
    cr_assert_eq(engine->run(state, CS_PS_NEVER), CS_OK);
    cr_assert_eq((cs_ps)cs_events_next_s(&ends), 22474920);
    cr_assert_eq(ends.count, 1);
    cr_assert_not(engine->is_idle(state));
    cr_assert_eq(cs_events_take(&ends), 1);
    cr_assert_eq(engine->run(state, CS_PS_NEVER), CS_OK);
    cr_assert(engine->is_idle(state));
    cr_assert_eq((cs_ps)cs_events_next_s(&ends), given.ready + 1003280);
    engine->count(state, &totals);
    cr_assert_eq(totals.packets, 257);
    cr_assert_str_empty(engine->why(state));
    engine->close(state);
    engine->close(NULL);
    cs_events_free(&ends);
    ct_packet_world_free(&w);
}

/* ---- what it is made of ---- */

static int by_turn(const void *a, const void *b)
{
    const cs_turn *x = a, *y = b;

    if (x->t != y->t) {
        return x->t < y->t ? -1 : 1;
    }
    return x->in != y->in ? (x->in < y->in ? -1 : 1) : (x->run > y->run) - (x->run < y->run);
}

Test(packet_windows, turns_are_sorted_by_time_then_link_then_as_they_came)
{
    enum { MOST = 3000 };
    ct_rng   rng  = ct_rng_for(1104);
    cs_turns list = {0};
    cs_turn *want = calloc(MOST, sizeof *want);

    for (uint32_t i = 0; i < 400; i++) {
        /* Times far apart, a few times, one time; links in order, at random, backwards. */
        uint32_t n     = ct_below(&rng, i % 8 == 0 ? MOST : 50);
        uint32_t times = (uint32_t[]){1000000000, 1000, 3, 1}[ct_below(&rng, 4)], shape = i % 3;
        bool     is_spiked = ct_below(&rng, 3) == 0;
        list.n             = 0;
        cr_assert_eq(cs_turns_reserve(&list, n), CS_OK);
        for (uint32_t k = 0; k < n; k++) {
            uint32_t in = shape == 0 ? k / 3 : shape == 1 ? ct_below(&rng, 40) : (n - k) / 2;
            cs_ps    t  = 5000 + ct_below(&rng, times) + (is_spiked && k == 0 ? 1000000000000 : 0);
            list.all[list.n++] = want[k] = (cs_turn){t, in, k};
        }
        cs_turns_sort(&list);
        qsort(want, n, sizeof *want, by_turn);
        for (uint32_t k = 0; k < n; k++) {
            cr_assert(by_turn(&list.all[k], &want[k]) == 0, "%u of %u, case %u", k, n, i);
        }
    }
    cs_turns_free(&list);
    free(want);
}

Test(packet_windows, the_calendar_finds_tokens_that_are_rounds_away)
{
    enum { TOKENS = 40 };
    ct_rng       rng = ct_rng_for(1103);
    cs_calendar *c   = calloc(1, sizeof *c);
    int64_t      when[TOKENS];

    cr_assert_eq(cs_calendar_open(c, 10, TOKENS), CS_OK);
    for (int i = 0; i < TOKENS; i++) {
        when[i] = -1;
    }
    for (int i = 0; i < 20000; i++) {
        int64_t least = INT64_MAX, limit = c->window + 1 + ct_below(&rng, 30000);
        for (uint32_t t = 0; t < TOKENS; t++) {
            if (when[t] < 0 && ct_below(&rng, 8) == 0) {
                when[t] = c->window +
                          (ct_below(&rng, 2) == 0 ? ct_below(&rng, 6) : ct_below(&rng, 40000));
                cs_calendar_put(c, t, 10 * when[t] + ct_below(&rng, 10));
            }
            least = when[t] >= 0 && when[t] < least ? when[t] : least;
        }
        limit                = ct_below(&rng, 4) == 0 ? INT64_MAX : limit;
        const int64_t before = c->window;
        cr_assert_eq(cs_calendar_find(c, limit), least < limit);
        cr_assert_eq(c->window, least < limit ? least : limit != INT64_MAX ? limit : before);
        if (least < limit) {
            for (uint32_t t = cs_calendar_take(c); t != CS_NO_LINK; t = c->next[t]) {
                cr_assert_eq(when[t], least);
                when[t] = -1;
            }
            for (uint32_t t = 0; t < TOKENS; t++) {
                cr_assert_neq(when[t], least);
            }
            c->window++;
        }
    }
    cs_calendar_close(c);
    free(c);
}
