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

/* A packet of a list of runs; `place` is where it is in the list. */
typedef struct one {
    cs_ps    t;
    uint32_t in, step, place;
} one;

static int by_turn(const void *a, const void *b)
{
    const one *x = a, *y = b;

    if (x->t != y->t) {
        return x->t < y->t ? -1 : 1;
    }
    return x->in != y->in ? (x->in < y->in ? -1 : 1)
                          : (x->place > y->place) - (x->place < y->place);
}

static uint32_t take_apart(const cs_runs *list, one *packets)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < list->n; i++) {
        const cs_run *r = cs_runs_nth(list, i);
        for (uint32_t k = 0; k < r->count; k++, n++) {
            packets[n] = (one){r->t + (cs_ps)k * r->gap, r->in, r->step, n};
        }
    }
    return n;
}

/* Runs of some links in a window of 1,000,000 ps that begins at `begin`: of one packet, of many,
 * at one time, and links that are far apart in time. */
static void make_inbox(ct_rng *rng, cs_runs *list, cs_ps begin)
{
    uint32_t n_links = 1 + ct_below(rng, 6), longest = ct_below(rng, 2) == 0 ? 1 : 40;
    uint32_t times = (uint32_t[]){900000, 1000, 3, 1}[ct_below(rng, 4)], step = 0;

    list->n = 0;
    for (uint32_t in = 0; in < n_links; in++) {
        uint32_t n = ct_below(rng, ct_below(rng, 8) == 0 ? 60 : 4);
        cs_ps    t = begin + ct_below(rng, times);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t count = 1 + ct_below(rng, longest), room = 1000000 / (2 * n * count + 1);
            cs_ps    gap = ct_below(rng, 5) == 0 ? 0 : ct_below(rng, room < times ? room : times);
            if (t + (cs_ps)(count - 1) * gap < begin + 1000000) {
                cr_assert_eq(cs_runs_append(list, t, gap, count, step++, 100 + in, 7 * in), CS_OK);
                t += (cs_ps)(count + ct_below(rng, 2) - 1) * gap;
            }
        }
    }
}

Test(packet_windows, a_port_serves_by_time_then_link_then_as_they_came)
{
    enum { MOST = 6 * 60 * 40 };
    ct_rng       rng   = ct_rng_for(1104);
    cs_run_order order = {0};
    cs_runs      list  = {0};
    one         *want = calloc(MOST, sizeof *want), *found = calloc(MOST, sizeof *found);
    uint32_t     n_kept = 0, n_apart = 0;

    for (uint32_t i = 0; i < 3000; i++) {
        cs_ps          begin = (cs_ps)ct_below(&rng, 1000) * 1000000;
        const cs_runs *sorted;
        uint32_t       n;
        make_inbox(&rng, &list, begin);
        n = take_apart(&list, want);
        qsort(want, n, sizeof *want, by_turn);
        cr_assert_eq(cs_runs_in_order(&order, &list, begin, &sorted), CS_OK);
        cr_assert_eq(take_apart(sorted, found), n);
        for (uint32_t k = 0; k < n; k++) {
            cr_assert(want[k].t == found[k].t && want[k].in == found[k].in &&
                          want[k].step == found[k].step,
                      "packet %u of %u, case %u", k, n, i);
        }
        n_kept += sorted->n == list.n;
        n_apart += sorted->n > list.n;
    }
    cr_assert(n_kept > 300 && n_apart > 300, "%u as they were, %u cut", n_kept, n_apart);
    cs_run_order_free(&order);
    cs_free(list.runs);
    free(want);
    free(found);
}

Test(packet_windows, a_link_brings_packets_in_the_order_in_which_they_were_sent)
{
    enum { MESSAGES = 5, PACKETS = 20000 };
    ct_rng   rng    = ct_rng_for(1105);
    cs_runs  flight = {0};
    one     *queued = calloc(PACKETS, sizeof *queued);
    uint32_t n_sent = 0, n_there = 0, n_joined = 0;
    cs_ps    t = 0;

    while (n_there < PACKETS) {
        for (uint32_t i = ct_below(&rng, 30); i > 0 && n_sent < PACKETS; i--) {
            /* messages take turns, most of the time */
            uint32_t step = ct_below(&rng, 20) == 0 ? ct_below(&rng, MESSAGES) : n_sent % MESSAGES;
            cs_ps    lag  = ct_below(&rng, 50) == 0 ? 0 : 10;
            uint32_t was  = flight.n;
            t += lag;
            queued[n_sent++] = (one){.t = t, .step = step};
            cr_assert_eq(cs_flight_add(&flight, cs_flight_turns(true, lag), t, 0, 1, step, 100, 0),
                         CS_OK);
            n_joined += flight.n == was;
        }
        for (uint32_t i = ct_below(&rng, 30); i > 0 && flight.n > 0; i--) {
            const cs_run *r     = cs_runs_first(&flight);
            uint32_t      alone = flight.n == 1 ? r->count : 1;
            cr_assert(r->t == queued[n_there].t && r->step == queued[n_there].step, "packet %u",
                      n_there);
            for (uint32_t k = 0; k < alone; k++) {
                cr_assert_eq(queued[n_there + k].t, r->t + (cs_ps)k * r->gap);
            }
            n_there += alone;
            cs_flight_drop(&flight, alone);
        }
    }
    cr_assert(n_joined > PACKETS / 4, "%u joined", n_joined);
    cs_free(flight.runs);
    free(queued);
}

Test(packet_windows, links_are_taken_in_the_order_of_their_numbers)
{
    enum { LINKS = 700 };
    ct_rng      rng = ct_rng_for(1106);
    cs_link_set set;
    bool        is_in[LINKS] = {false};

    cr_assert_eq(cs_link_set_open(&set, LINKS), CS_OK);
    for (uint32_t i = 0; i < 500; i++) {
        for (uint32_t k = ct_below(&rng, 20); k > 0; k--) {
            uint32_t link = ct_below(&rng, LINKS);
            cs_link_set_add(&set, link);
            is_in[link] = true;
        }
        for (uint32_t link = 0; link < LINKS; link++) {
            if (is_in[link]) {
                cr_assert_eq(cs_link_set_take(&set), link);
                is_in[link] = false;
            }
        }
        cr_assert_eq(cs_link_set_take(&set), CS_NO_LINK);
    }
    cs_free(set.bits);
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
