/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Transports, marks and errors of packets by themselves: times that were computed by hand, DCQCN
 * step by step, the named sets, and what is refused. Random settings are held against the oracle in
 * test_packet_engines.c. */
#include "models/packet/dcqcn.h"
#include "models/packet/deadlock.h"
#include "models/packet/packet.h"
#include "support/packet_driver.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* 400 Gb/s, packets of 4178 bytes, 500 ns of delay, from rank 1 over links 1 and 2 to rank 0. */
enum { SLOT = 83560, FIRST = 2 * (SLOT + 500000), BACK = 2 * (1280 + 500000), BYTES = 4096 };
enum { SENDING = 1, RECEIVING = 2 };
/* From the start of a packet to the ACK that it is answered by, on an idle way. */
enum { ROUND_TRIP = FIRST + BACK };

#define LINE_BPS   INT64_C(400000000000)
#define WIRE_BYTES INT64_C(4178)

static ct_packet_world fan_in(uint32_t n_ranks, int64_t packets,
                              const cs_packet_transport *transport)
{
    ct_packet_setting set = ct_packet_plain(n_ranks, CT_FAN_IN, packets * BYTES);
    ct_packet_world   w   = ct_packet_world_of(&set);

    w.net.transport = *transport;
    return w;
}

static ct_packet_world one_message(int64_t packets, const cs_packet_transport *transport)
{
    return fan_in(2, packets, transport);
}

/* Run a world to its end, which is freed. */
static cs_packet_totals expect_end(const char *what, ct_packet_world *w, cs_ps end)
{
    ct_packet_run    run    = ct_packet_drive(w, &cs_packet_transported, 0);
    cs_packet_totals totals = run.totals;
    const cs_ps      last   = ct_packet_last_end(&w->schedule, run.end);

    cr_expect(run.status == CS_OK && run.n_missing == 0, "%s: %s", what, run.why);
    cr_expect_eq(last, end, "%s: %" PRId64 " ps, not %" PRId64, what, last, end);
    ct_packet_run_free(&run);
    ct_packet_world_free(w);
    return totals;
}

static const cs_packet_transport gbn = {
    .recovery = CS_RECOVER_GBN, .ack_every = 1, .rto = 500000000};
static const cs_packet_transport selective = {
    .recovery = CS_RECOVER_SELECTIVE, .ack_every = 1, .rto = 500000000};

static const cs_field *table_of_packet(void)
{
    const cs_model *model;

    cr_assert_eq(cs_model_find("packet", &model, NULL), CS_OK);
    return model->options;
}

/* What the options mean. */
static cs_packet_transport resolve(const char *const (*given)[2], size_t n, cs_error *err)
{
    const cs_field         *table = table_of_packet();
    cs_packet_model_options o;
    cs_packet_transport     t = {0};

    cs_fields_default(table, &o);
    for (size_t i = 0; i < n; i++) {
        cr_assert_eq(cs_field_set(table, &o, given[i][0], given[i][1], "", err), CS_OK, "%s=%s",
                     given[i][0], given[i][1]);
    }
    cs_status status = cs_packet_resolve(&o, LINE_BPS, &t, err);
    cr_assert_eq(status, err != NULL ? err->status : CS_OK);
    return t;
}

static cs_packet_transport dcqcn(const char *set)
{
    const char *const given[][2] = {{"transport", "dcqcn"}, {"dcqcn", set}};
    return resolve(given, 2, NULL);
}

/* ---- one message ---- */

Test(packet_transport, an_idle_way_costs_no_transport_anything)
{
    const cs_packet_transport all[] = {{0}, gbn, selective, dcqcn("paper"), dcqcn("hpcc")};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        ct_packet_world  w      = one_message(256, &all[i]);
        cs_packet_totals totals = expect_end("1 MiB", &w, 22474920);
        cr_expect(totals.packets == 256 && totals.resent == 0 && totals.marks == 0);
    }
}

Test(packet_transport, a_window_below_the_round_trip_stops_the_sender)
{
    cs_packet_transport t = gbn;

    for (int recovery = CS_RECOVER_GBN; recovery <= CS_RECOVER_SELECTIVE; recovery++) {
        t.recovery        = (cs_packet_recovery)recovery;
        t.ack_every       = 1;
        t.window          = 1;
        ct_packet_world w = one_message(4, &t);
        (void)expect_end("window 1", &w, 3 * ROUND_TRIP + FIRST);
        t.window = 8; /* packet i starts with the ACK of packet i - 8 */
        w        = one_message(64, &t);
        (void)expect_end("window 8", &w, 7 * ROUND_TRIP + 7 * SLOT + FIRST);
        t.ack_every = 4; /* packet 8 waits for the ACK that packet 3 is answered by */
        w           = one_message(9, &t);
        (void)expect_end("window 8, every 4th", &w, 3 * SLOT + ROUND_TRIP + FIRST);
    }
}

Test(packet_transport, a_window_above_the_round_trip_is_as_good_as_none)
{
    cs_packet_transport t = gbn;
    ct_packet_world     w;

    t.window = ROUND_TRIP / SLOT + 1; /* 26 */
    w        = one_message(1000, &t);
    (void)expect_end("26 packets", &w, 999 * SLOT + FIRST);
    t.window = ROUND_TRIP / SLOT;
    w        = one_message(26, &t);
    (void)expect_end("25 packets", &w, ROUND_TRIP + FIRST);
}

/* ---- a packet that is lost ---- */

/* A seed with which, of the first `n` packets on each of the links, `lost` on `link` alone is lost.
 */
static uint64_t seed_that_loses(uint32_t link, uint64_t lost, uint64_t n, double error_rate)
{
    for (uint64_t seed = 1;; seed++) {
        bool is_good = true;
        for (uint64_t i = 0; i < n && is_good; i++) {
            for (uint32_t l = 1; l <= 3; l++) {
                bool fails = cs_packet_draw(seed, CS_FATE_ERROR, l, i) < error_rate;
                is_good    = is_good && fails == (l == link && i == lost);
            }
        }
        if (is_good) {
            return seed;
        }
    }
}

static cs_packet_totals lose(const char *what, const cs_packet_transport *transport, uint32_t link,
                             uint64_t lost, cs_ps end)
{
    cs_packet_transport t = *transport;
    ct_packet_world     w;

    t.error_rate = 0.02;
    w            = one_message(10, &t);
    w.net.seed   = seed_that_loses(link, lost, 20, t.error_rate);
    return expect_end(what, &w, end);
}

Test(packet_transport, go_back_n_sends_everything_from_the_lost_packet_on)
{
    /* Packet 6 tells that 5 is missing. */
    const cs_ps      nak    = 6 * SLOT + FIRST + BACK;
    cs_packet_totals totals = lose("gbn", &gbn, SENDING, 5, nak + 4 * SLOT + FIRST);

    cr_expect(totals.packets == 15 && totals.resent == 5 && totals.drops == 1);
    totals = lose("gbn, last link", &gbn, RECEIVING, 5, nak + 4 * SLOT + FIRST);
    cr_expect(totals.packets == 15 && totals.resent == 5 && totals.drops == 1);
}

Test(packet_transport, selective_sends_the_lost_packet_alone)
{
    const cs_ps      nak    = 6 * SLOT + FIRST + BACK;
    cs_packet_totals totals = lose("selective", &selective, SENDING, 5, nak + FIRST);

    cr_expect(totals.packets == 11 && totals.resent == 1 && totals.drops == 1);
}

Test(packet_transport, the_last_packet_waits_for_the_timer)
{
    /* The ACK of packet 8 is the last that comes: from it on the timer runs. */
    const cs_packet_transport *both[] = {&gbn, &selective};

    for (int i = 0; i < 2; i++) {
        const cs_ps      out    = 8 * SLOT + FIRST + BACK + gbn.rto;
        cs_packet_totals totals = lose("the last one", both[i], RECEIVING, 9, out + FIRST);
        cr_expect(totals.packets == 11 && totals.resent == 1, "%" PRIu64 " packets",
                  totals.packets);
    }
}

Test(packet_transport, timeouts_in_a_row_wait_longer)
{
    /* Packet 9 is lost twice: so the timer fires twice, the second time after more than two rto. */
    const cs_packet_transport *both[] = {&gbn, &selective};

    for (int i = 0; i < 2; i++) {
        cs_packet_transport t = *both[i];
        t.error_rate          = 0.02;
        ct_packet_world w     = one_message(10, &t);
        for (w.net.seed = 1;; w.net.seed++) {
            bool is_good = true;
            for (uint64_t k = 0; k < 12 && is_good; k++) {
                bool fails = cs_packet_draw(w.net.seed, CS_FATE_ERROR, RECEIVING, k) < t.error_rate;
                is_good    = fails == (k == 9 || k == 10) &&
                          cs_packet_draw(w.net.seed, CS_FATE_ERROR, SENDING, k) >= t.error_rate;
            }
            if (is_good) {
                break;
            }
        }
        double      draw  = cs_packet_draw(w.net.seed, CS_FATE_TIMEOUT, SENDING, 1);
        const cs_ps again = llround((double)t.rto * 2 * (1 + draw));
        (void)expect_end("twice", &w, 8 * SLOT + FIRST + BACK + t.rto + again + FIRST);
    }
}

Test(packet_transport, what_is_lost_in_step_ends)
{
    /* Timeouts far below what the port needs, and one packet may wait. */
    cs_packet_transport t = selective;

    t.rto             = 1000000;
    ct_packet_world w = fan_in(9, 64, &t);
    w.net.queue_bytes = WIRE_BYTES;
    ct_packet_run run = ct_packet_drive(&w, &cs_packet_transported, 0);
    cr_expect(run.status == CS_OK && run.n_missing == 0, "%s", run.why);
    ct_packet_run_free(&run);
    ct_packet_world_free(&w);
}

Test(packet_transport, spraying_is_not_taken_for_loss)
{
    /* Two ways, of which one takes longer: packets overtake each other, none is missing. */
    ct_packet_setting set = ct_packet_plain(2, CT_FAN_IN, 40 * BYTES);
    set.shape             = CT_LEAF_SPINE;
    set.n_switches        = 2;
    set.n_spines          = 2;
    set.routes            = CT_SPRAYED;
    ct_packet_world w     = ct_packet_world_of(&set);
    w.net.transport       = selective;
    for (uint32_t l = 4; l < w.net.n_links; l += 2) {
        w.net.links[l].delay += 10 * SLOT;
    }
    cr_assert_gt(w.schedule.sends[0].n_paths, 1);
    ct_packet_run run = ct_packet_drive(&w, &cs_packet_transported, 0);
    cr_expect(run.status == CS_OK && run.n_missing == 0 && run.totals.resent == 0);
    ct_packet_run_free(&run);
    w.net.transport = gbn; /* which takes packets in order only */
    run             = ct_packet_drive(&w, &cs_packet_transported, 0);
    cr_expect(run.status == CS_OK && run.n_missing == 0 && run.totals.resent > 0);
    ct_packet_run_free(&run);
    ct_packet_world_free(&w);
}

/* ---- marks ----
 *
 * Ranks 1 and 2 send 256 packets each to rank 0, in step: in slot j the port has sent j of them and
 * j - 1 wait, so that the packet of rank 1 finds max(0, j - 1) and that of rank 2 finds j. */

static uint64_t marks_of(const cs_packet_transport *transport, uint64_t seed)
{
    ct_packet_world w = fan_in(3, 256, transport);

    w.net.seed = seed;
    return expect_end("two ranks", &w, 2 * SLOT + 1000000 + 511 * SLOT).marks;
}

Test(packet_transport, above_kmax_every_packet_is_marked)
{
    cs_packet_transport t = {.kmin = 10 * WIRE_BYTES, .kmax = 10 * WIRE_BYTES, .pmax = 0};

    /* Ranks 1: slots 12 to 255, ranks 2: slots 11 to 255. */
    cr_expect_eq(marks_of(&t, 1), 244 + 245);
    t.ecn_bps = LINE_BPS / 2; /* twice as much on this link */
    cr_expect_eq(marks_of(&t, 1), 234 + 235);
    t.kmax = 0;
    cr_expect_eq(marks_of(&t, 1), 0);
}

Test(packet_transport, between_the_thresholds_marks_are_drawn)
{
    enum { PACKETS = 1000, SEEDS = 60 };
    const cs_packet_transport t     = {.kmax = PACKETS * WIRE_BYTES, .pmax = 0.5};
    uint64_t                  total = 0;
    double                    mean = 0, variance = 0;

    for (uint64_t j = 0; j < 256; j++) {
        for (uint64_t found = j < 1 ? 0 : j - 1; found <= j && (j > 0 || found == 0); found++) {
            double p = t.pmax * (double)found / PACKETS;
            mean += p;
            variance += p * (1 - p);
        }
    }
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        uint64_t want = 0, got = marks_of(&t, seed);
        for (uint64_t n = 0; n < 512; n++) { /* what enters the port, in its order */
            uint64_t j = n / 2, found = n % 2 == 1 ? j : j < 1 ? 0 : j - 1;
            want += cs_packet_draw(seed, CS_FATE_MARK, 3, n) < t.pmax * (double)found / PACKETS;
        }
        cr_expect_eq(got, want, "seed %" PRIu64 ": %" PRIu64 " marks, not %" PRIu64, seed, got,
                     want);
        total += got;
    }
    cr_expect(fabs((double)total - SEEDS * mean) < 4 * sqrt(SEEDS * variance),
              "%" PRIu64 " marks in all, about %.0f were expected", total, SEEDS * mean);
}

/* ---- DCQCN, step by step ---- */

static void expect_rate(const char *what, const cs_dcqcn *s, int64_t rate_bps, int64_t target_bps)
{
    cr_expect(s->rate_bps == rate_bps && s->target_bps == target_bps,
              "%s: %" PRId64 " of %" PRId64 " bit/s, not %" PRId64 " of %" PRId64, what,
              s->rate_bps, s->target_bps, rate_bps, target_bps);
}

static const cs_packet_dcqcn at_once = {.is_there        = true,
                                        .g               = 1.0 / 256,
                                        .first_alpha     = 1,
                                        .first_cnp       = 1,
                                        .alpha_period    = 55000000,
                                        .increase_period = 55000000,
                                        .byte_counter    = 10000000,
                                        .ai_bps          = 40000000,
                                        .hai_bps         = 200000000,
                                        .min_bps         = 100000000,
                                        .fast_recovery   = 5,
                                        .clamp_target    = true,
                                        .hai_grows       = true};

Test(packet_transport, dcqcn_decreases_at_every_cnp_and_recovers)
{
    static const int64_t recovery[] = {30000000000, 35000000000, 37500000000, 38750000000,
                                       39375000000};
    cs_dcqcn             s;
    cs_ps                now = 7;

    cs_dcqcn_begin(&s, 40000000000);
    cs_dcqcn_count(&s, &at_once, 20000000); /* nothing before the first CNP */
    expect_rate("at first", &s, 40000000000, 40000000000);
    cs_dcqcn_cnp(&s, &at_once, now);
    expect_rate("first CNP", &s, 20000000000, 40000000000);
    cr_expect(s.alpha == 1 && s.due[CS_DCQCN_DECREASE] == CS_PS_NEVER);
    for (int i = 0; i < 5; i++) {
        now += 55000000;
        cr_assert(s.due[CS_DCQCN_ALPHA] == now && s.due[CS_DCQCN_INCREASE] == now);
        cs_dcqcn_fire(&s, &at_once, CS_DCQCN_ALPHA, now);
        cs_dcqcn_fire(&s, &at_once, CS_DCQCN_INCREASE, now);
        expect_rate("fast recovery", &s, recovery[i], 40000000000);
    }
    cr_expect_eq(s.alpha, 0.980620743007421); /* (255 / 256)^5 */
    cs_dcqcn_cnp(&s, &at_once, now + 1);
    expect_rate("second CNP", &s, 20069029122, 39375000000);
    cr_expect_eq(s.alpha, 0.9806964432300482);
    cr_expect(s.due[CS_DCQCN_ALPHA] == now + 55000001 &&
              s.due[CS_DCQCN_INCREASE] == now + 55000001);
}

Test(packet_transport, dcqcn_increases_additively_then_in_a_hurry)
{
    cs_dcqcn s;

    cs_dcqcn_begin(&s, 40000000000);
    cs_dcqcn_cnp(&s, &at_once, 0);
    s.rate_bps = s.target_bps = 1000000000;
    for (int i = 0; i < 5; i++) {
        cs_dcqcn_fire(&s, &at_once, CS_DCQCN_INCREASE, 0);
    }
    expect_rate("recovered", &s, 1000000000, 1000000000);
    cs_dcqcn_fire(&s, &at_once, CS_DCQCN_INCREASE, 0);
    expect_rate("6 and 0", &s, 1020000000, 1040000000);
    for (int i = 0; i < 5; i++) { /* 10 MB each */
        cs_dcqcn_count(&s, &at_once, 9999999);
        cs_dcqcn_count(&s, &at_once, 1);
    }
    cr_expect(s.byte_stage == 5 && s.time_stage == 6 && s.bytes == 0);
    cr_expect_eq(s.target_bps, 1240000000, "%" PRId64, s.target_bps);
    cs_dcqcn_count(&s, &at_once, 10000000); /* 6 and 6: 1 beyond 5 */
    cr_expect_eq(s.target_bps, 1440000000, "%" PRId64, s.target_bps);
    cs_dcqcn_fire(&s, &at_once, CS_DCQCN_INCREASE, 0); /* 7 and 6: still 1 */
    cr_expect_eq(s.target_bps, 1640000000, "%" PRId64, s.target_bps);
    cs_dcqcn_count(&s, &at_once, 10000000); /* 7 and 7: 2 */
    cr_expect_eq(s.target_bps, 2040000000, "%" PRId64, s.target_bps);
    s.target_bps = 39900000000;
    cs_dcqcn_count(&s, &at_once, 10000000);
    cr_expect_eq(s.target_bps, 40000000000);
}

Test(packet_transport, dcqcn_of_nics_looks_at_flags)
{
    cs_packet_dcqcn nic = dcqcn("nic").dcqcn;
    cs_dcqcn        s;
    cs_ps           us = 1000000;

    cs_dcqcn_begin(&s, LINE_BPS);
    cs_dcqcn_cnp(&s, &nic, 0);
    expect_rate("first CNP", &s, LINE_BPS, LINE_BPS);
    cr_expect(s.due[CS_DCQCN_ALPHA] == us && s.due[CS_DCQCN_DECREASE] == 4 * us &&
              s.due[CS_DCQCN_INCREASE] == CS_PS_NEVER);
    for (cs_ps t = 1; t <= 4; t++) {
        cs_dcqcn_fire(&s, &nic, CS_DCQCN_ALPHA, t * us);
    }
    cr_expect_eq(s.alpha, 0.979653707796742); /* 1023 / 1024 (1019 / 1024)^4 */
    cs_dcqcn_fire(&s, &nic, CS_DCQCN_DECREASE, 4 * us);
    expect_rate("first check", &s, 204069258441, LINE_BPS);
    cr_expect_eq(s.due[CS_DCQCN_INCREASE], 304 * us);
    cs_dcqcn_fire(&s, &nic, CS_DCQCN_DECREASE, 8 * us);
    expect_rate("no CNP", &s, 204069258441, LINE_BPS);
    s.alpha = 1;
    cs_dcqcn_cnp(&s, &nic, 9 * us);
    cs_dcqcn_fire(&s, &nic, CS_DCQCN_ALPHA, 10 * us);
    cr_expect(s.alpha == 1 && !s.alpha_flag);
    cs_dcqcn_fire(&s, &nic, CS_DCQCN_DECREASE, 12 * us);
    expect_rate("the target stays", &s, 102034629221, LINE_BPS);
    cs_dcqcn_fire(&s, &nic, CS_DCQCN_INCREASE, 312 * us);
    expect_rate("recovery", &s, 251017314610, LINE_BPS);
    cs_dcqcn_cnp(&s, &nic, 313 * us);
    cs_dcqcn_fire(&s, &nic, CS_DCQCN_DECREASE, 316 * us);
    expect_rate("the target follows", &s, 125508657305, 251017314610);
    nic.least = 0.75;
    cs_dcqcn_cnp(&s, &nic, 317 * us);
    cs_dcqcn_fire(&s, &nic, CS_DCQCN_DECREASE, 320 * us);
    expect_rate("not more than a quarter", &s, 94131492979, 251017314610);
}

Test(packet_transport, dcqcn_without_a_byte_counter_is_additive_once)
{
    const cs_packet_dcqcn hpcc = dcqcn("hpcc").dcqcn;
    cs_dcqcn              s;

    cs_dcqcn_begin(&s, LINE_BPS);
    cs_dcqcn_cnp(&s, &hpcc, 0);
    s.rate_bps = s.target_bps = 10000000000;
    cs_dcqcn_count(&s, &hpcc, 100000000);
    cs_dcqcn_fire(&s, &hpcc, CS_DCQCN_INCREASE, 0);
    expect_rate("recovery", &s, 10000000000, 10000000000);
    cs_dcqcn_fire(&s, &hpcc, CS_DCQCN_INCREASE, 0);
    expect_rate("additive", &s, 10040000000, 10080000000);
    cs_dcqcn_fire(&s, &hpcc, CS_DCQCN_INCREASE, 0);
    expect_rate("hyper", &s, 10460000000, 10880000000);
    cs_dcqcn_fire(&s, &hpcc, CS_DCQCN_INCREASE, 0);
    expect_rate("hyper", &s, 11070000000, 11680000000);
}

Test(packet_transport, a_rate_spaces_packets)
{
    /* The last link is half as fast, so that packet 3 is the first that finds another one waiting.
     * The CNP cuts the rate to an eighth before packet 33, behind which packets start eight slots
     * apart. */
    enum { HALF_BACK = 1280 + 2560 + 1000000, FOURTH_IS_THERE = 9 * SLOT + 1000000 };
    const int64_t       before = (FOURTH_IS_THERE + HALF_BACK) / SLOT;
    cs_packet_transport t      = gbn;
    ct_packet_world     w;

    t.kmin = t.kmax                = 1;
    t.dcqcn                        = at_once;
    t.dcqcn.first_cnp              = 0.25;
    t.dcqcn.cnp_interval           = INT64_C(1000000000000);
    t.dcqcn.increase_period        = INT64_C(1000000000000);
    t.dcqcn.byte_counter           = 0;
    w                              = one_message(64, &t);
    w.net.links[RECEIVING].bps     = LINE_BPS / 2;
    w.net.links[RECEIVING].low_bps = w.net.links[RECEIVING].high_bps = LINE_BPS / 2;
    cr_assert_eq(before, 32);
    (void)expect_end("an eighth", &w, 33 * SLOT + 30 * 8 * SLOT + 3 * SLOT + 1000000);
}

Test(packet_transport, pauses_and_marks_together)
{
    cs_packet_transport t    = dcqcn("hpcc");
    ct_packet_setting   set  = ct_packet_plain(8, CT_FAN_IN, 256 * BYTES);
    uint64_t            with = 0, without = 0;

    set.xoff = 100000;
    set.xon  = 50000;
    for (int i = 0; i < 2; i++) {
        ct_packet_world w = ct_packet_world_of(&set);
        if (i == 1) {
            w.net.transport      = t;
            w.net.transport.kmin = w.net.transport.kmax = 100000;
            w.net.transport.ecn_bps                     = 0;
        }
        ct_packet_run run = ct_packet_drive(&w, &cs_packet_transported, 0);
        cr_expect(run.status == CS_OK && run.n_missing == 0, "%s", run.why);
        cr_expect_eq(run.totals.drops, 0);
        *(i == 0 ? &without : &with) = run.totals.pauses;
        if (i == 0) {
            cr_expect_eq(ct_packet_last_end(&w.schedule, run.end), 150823080);
        } else {
            cr_expect_gt(run.totals.marks, 0);
        }
        ct_packet_run_free(&run);
        ct_packet_world_free(&w);
    }
    cr_expect_eq(without, 49);
    cr_expect(with < without, "%" PRIu64 " pauses with marks, %" PRIu64 " without", with, without);
}

/* Seven messages of 16 MiB to one port: their time over that of a port that is never idle. */
static double slowdown(const cs_packet_transport *transport, int64_t bps, int64_t queue_bytes)
{
    ct_packet_setting set = ct_packet_plain(8, CT_FAN_IN, 16 << 20);

    set.ports[0].bps   = bps;
    set.queue_bytes    = queue_bytes;
    ct_packet_world w  = ct_packet_world_of(&set);
    w.net.transport    = *transport;
    ct_packet_run run  = ct_packet_drive(&w, &cs_packet_transported, 0);
    const cs_ps   slot = cs_packet_ps(bps, WIRE_BYTES);
    const double  best = 1e6 + (7 * 4096 + 1) * (double)slot;
    const cs_ps   last = ct_packet_last_end(&w.schedule, run.end);
    cr_expect(run.status == CS_OK && run.n_missing == 0, "%s", run.why);
    ct_packet_run_free(&run);
    ct_packet_world_free(&w);
    return (double)last / best;
}

Test(packet_transport, published_increases_do_not_scale)
{
    /* 8.4 ms for 2.39 at 400 Gb/s were found by a simulator of its own, too. */
    const cs_packet_transport paper    = dcqcn("paper");
    cs_packet_transport       windowed = gbn;
    double                    at_400   = slowdown(&paper, LINE_BPS, 2000000);

    cr_expect_eq(slowdown(&(cs_packet_transport){0}, LINE_BPS, 0), 1);
    cr_expect(at_400 > 3.45 && at_400 < 3.55, "%g", at_400);
    cr_expect_lt(slowdown(&paper, LINE_BPS / 10, 2000000), 1.3);
    windowed.window    = 4;
    windowed.ack_every = 4;
    cr_expect_lt(slowdown(&windowed, LINE_BPS, 2000000), 1.05);
}

/* ---- what goes wrong ---- */

static void expect_why(ct_packet_world *w, cs_status status, const char *why)
{
    ct_packet_run run = ct_packet_drive(w, &cs_packet_transported, 0);

    cr_expect(run.status == status && run.n_missing > 0);
    cr_expect_str_eq(run.why, why);
    ct_packet_run_free(&run);
    ct_packet_world_free(w);
}

Test(packet_transport, losses_without_a_transport_say_where)
{
    static const cs_packet_transport none = {0};
    ct_packet_world                  w    = fan_in(3, 8, &none);

    /* One packet may wait. The first two that come are sent, then only that of the lower link. */
    w.net.queue_bytes = WIRE_BYTES;
    expect_why(&w, CS_OK,
               "7 packets of 1 message were lost at link 3: give a transport or a larger queue");
    w                          = fan_in(3, 8, &none);
    w.net.queue_bytes          = WIRE_BYTES;
    w.net.transport.error_rate = 0.02;
    w.net.seed                 = seed_that_loses(SENDING, 7, 20, 0.02);
    expect_why(&w, CS_OK,
               "7 packets of 2 messages were lost at several links, most (6) at link 3: give a "
               "transport or a larger queue");
    w                          = one_message(10, &none);
    w.net.transport.error_rate = 0.02;
    w.net.seed                 = seed_that_loses(SENDING, 5, 20, 0.02);
    expect_why(&w, CS_OK,
               "1 packet of 1 message was lost at link 1: give a transport or a larger queue");
}

Test(packet_transport, a_deadlock_is_told_with_timers_running)
{
    const ct_packet_setting set = ct_packet_deadlock();
    ct_packet_world         w   = ct_packet_world_of(&set);

    expect_why(&w, CS_OK, "deadlock: links 6 -> 7 -> 8 -> 6 wait for each other");
    w               = ct_packet_world_of(&set);
    w.net.transport = gbn;
    expect_why(&w, CS_OK, "deadlock: links 6 -> 7 -> 8 -> 6 wait for each other");
}

Test(packet_transport, headroom_that_is_too_small_is_an_error)
{
    ct_packet_setting set = ct_packet_plain(8, CT_FAN_IN, 256 * BYTES);
    ct_packet_world   w;

    set.xoff             = 20000;
    w                    = ct_packet_world_of(&set);
    w.net.headroom_bytes = WIRE_BYTES;
    ct_packet_run run    = ct_packet_drive(&w, &cs_packet_transported, 0);
    cr_expect_eq(run.status, CS_EWRONG);
    cr_expect(strstr(run.why, "headroom of link ") == run.why, "%s", run.why);
    ct_packet_run_free(&run);
    ct_packet_world_free(&w);
}

Test(packet_transport, circles_begin_at_their_lowest_link)
{
    cs_packet_net  net = {0};
    char           text[120];
    cs_packet_wait waits[] = {{9, 4}, {1, 4}, {4, 7}, {7, 3}, {3, 4}, {3, 8}, {7, 2}, {4, 7}};

    cs_packet_deadlock_text(&net, waits, 8, text, sizeof text);
    cr_expect_str_eq(text, "deadlock: links 3 -> 4 -> 7 -> 3 wait for each other");
    cs_packet_deadlock_text(&net, (cs_packet_wait[]){{1, 2}, {2, 3}}, 2, text, sizeof text);
    cr_expect_str_eq(text, "deadlock: paused links wait for each other");
    cs_packet_deadlock_text(&net, (cs_packet_wait[]){{5, 5}}, 1, text, sizeof text);
    cr_expect_str_eq(text, "deadlock: links 5 -> 5 wait for each other");
    cs_packet_wait many[100];
    for (uint32_t i = 0; i < 100; i++) {
        many[i] = (cs_packet_wait){i, (i + 1) % 100};
    }
    cs_packet_deadlock_text(&net, many, 100, text, sizeof text);
    cr_expect_str_eq(text, "deadlock: links 0 -> 1 -> 2 -> 3 -> 4 -> 5 -> 6 -> 7 -> 8 -> 9 -> .. "
                           "-> 0 wait for each other");
}

/* ---- the same bits ---- */

/* Drops, errors, marks and rates together. */
static ct_packet_world busy(void)
{
    cs_packet_transport t = dcqcn("paper");

    t.recovery        = CS_RECOVER_SELECTIVE;
    t.error_rate      = 0.01;
    t.rto             = 50000000;
    t.pmax            = 1;
    ct_packet_world w = fan_in(5, 64, &t);
    w.net.queue_bytes = 100000;
    return w;
}

Test(packet_transport, the_same_bits_however_it_is_driven)
{
    ct_packet_world w     = busy();
    ct_packet_run   first = ct_packet_drive(&w, &cs_packet_transported, 0);

    cr_assert(first.status == CS_OK && first.n_missing == 0 && first.totals.drops > 0 &&
              first.totals.marks > 0 && first.totals.resent > 0);
    for (uint64_t stops = 0; stops < 10; stops++) {
        ct_packet_run again = ct_packet_drive(&w, &cs_packet_transported, stops);
        cr_expect(memcmp(first.end, again.end, w.schedule.n_sends * sizeof *first.end) == 0);
        cr_expect(memcmp(&first.totals, &again.totals, sizeof first.totals) == 0);
        ct_packet_run_free(&again);
    }
    w.net.seed++;
    ct_packet_run other = ct_packet_drive(&w, &cs_packet_transported, 0);
    cr_expect(memcmp(first.end, other.end, w.schedule.n_sends * sizeof *first.end) != 0);
    ct_packet_run_free(&other);
    ct_packet_run_free(&first);
    ct_packet_world_free(&w);
}

/* ---- options ---- */

static void expect_set(const char *name, const cs_packet_transport *marks,
                       const cs_packet_dcqcn *want)
{
    const cs_packet_transport t = dcqcn(name);
    const cs_packet_dcqcn    *d = &t.dcqcn;

    cr_expect(t.kmin == marks->kmin && t.kmax == marks->kmax && t.pmax == marks->pmax &&
                  t.ecn_bps == marks->ecn_bps,
              "%s", name);
    cr_expect(d->is_there && d->g == want->g && d->first_alpha == want->first_alpha &&
                  d->first_cnp == want->first_cnp && d->least == want->least,
              "%s", name);
    cr_expect(d->cnp_interval == want->cnp_interval && d->alpha_period == want->alpha_period &&
                  d->decrease_period == want->decrease_period &&
                  d->increase_period == want->increase_period &&
                  d->byte_counter == want->byte_counter && d->fast_recovery == want->fast_recovery,
              "%s", name);
    cr_expect(d->ai_bps == want->ai_bps && d->hai_bps == want->hai_bps &&
                  d->min_bps == want->min_bps && d->hai_grows == want->hai_grows &&
                  d->clamp_target == want->clamp_target,
              "%s", name);
}

Test(packet_transport, sets_are_what_was_published)
{
    /* hpcc at 400 Gb/s: 16 times the increases of 25 */
    const cs_packet_transport paper_marks = {.kmin = 5000, .kmax = 200000, .pmax = 0.01};
    const cs_packet_transport nic_marks   = {.kmin = 100000, .kmax = 400000, .pmax = 0.2};
    cs_packet_transport       hpcc_marks  = nic_marks;
    const cs_packet_dcqcn     paper       = {.g               = 1.0 / 256,
                                             .first_alpha     = 1,
                                             .first_cnp       = 1,
                                             .cnp_interval    = 50000000,
                                             .alpha_period    = 55000000,
                                             .increase_period = 55000000,
                                             .byte_counter    = 10000000,
                                             .fast_recovery   = 5,
                                             .ai_bps          = 40000000,
                                             .hai_bps         = 200000000,
                                             .min_bps         = 100000000,
                                             .hai_grows       = true,
                                             .clamp_target    = true};
    const cs_packet_dcqcn     hpcc        = {.g               = 1.0 / 256,
                                             .first_alpha     = 1,
                                             .first_cnp       = 1,
                                             .alpha_period    = 1000000,
                                             .decrease_period = 4000000,
                                             .increase_period = 300000000,
                                             .fast_recovery   = 1,
                                             .ai_bps          = 80000000,
                                             .hai_bps         = 800000000,
                                             .min_bps         = 1000000000};
    const cs_packet_dcqcn     nic         = {.g               = 5.0 / 1024,
                                             .first_alpha     = 1023.0 / 1024,
                                             .first_cnp       = 1,
                                             .least           = 0.5,
                                             .cnp_interval    = 4000000,
                                             .alpha_period    = 1000000,
                                             .decrease_period = 4000000,
                                             .increase_period = 300000000,
                                             .byte_counter    = 2097088,
                                             .fast_recovery   = 1,
                                             .ai_bps          = 5000000,
                                             .hai_bps         = 50000000,
                                             .min_bps         = 1000000};
    cs_packet_dcqcn           hpcc_paper  = hpcc;

    hpcc_marks.ecn_bps         = 25000000000;
    hpcc_paper.alpha_period    = 50000000;
    hpcc_paper.decrease_period = 50000000;
    hpcc_paper.increase_period = 55000000;
    expect_set("paper", &paper_marks, &paper);
    expect_set("hpcc", &hpcc_marks, &hpcc);
    expect_set("hpcc_paper", &hpcc_marks, &hpcc_paper);
    expect_set("nic", &nic_marks, &nic);

    const cs_packet_transport t = dcqcn("paper");
    cr_expect(t.recovery == CS_RECOVER_GBN && t.ack_every == 4 && t.rto == 500000000);
}

Test(packet_transport, every_value_of_a_set_can_be_given)
{
    static const char *const given[][2] = {
        {"transport", "dcqcn_selective"},
        {"dcqcn", "hpcc"},
        {"dcqcn_g_ratio", "0.25"},
        {"dcqcn_first_alpha_ratio", "0.5"},
        {"dcqcn_first_cnp_ratio", "0.75"},
        {"dcqcn_least_ratio", "0.125"},
        {"dcqcn_cnp_s", "1us"},
        {"dcqcn_alpha_s", "2us"},
        {"dcqcn_decrease_s", "3us"},
        {"dcqcn_increase_s", "4us"},
        {"dcqcn_byte_counter_bytes", "5"},
        {"dcqcn_fast_recovery", "6"},
        {"dcqcn_ai_Bps", "56Mb/s"},
        {"dcqcn_hai_Bps", "64Mb/s"},
        {"dcqcn_min_Bps", "72Mb/s"},
        {"dcqcn_clamp_target", "1"},
        {"dcqcn_hai_grows", "1"},
        {"ecn_kmin_bytes", "10"},
        {"ecn_pmax_fraction", "0.5"},
        {"window", "3"},
        {"rto_s", "7us"},
        {"error_rate", "0.5"},
    };
    cs_packet_transport t = resolve(given, sizeof given / sizeof *given, NULL);

    cr_expect(t.recovery == CS_RECOVER_SELECTIVE && t.window == 3 && t.ack_every == 3);
    cr_expect(t.rto == 7000000 && t.error_rate == 0.5);
    cr_expect(t.kmin == 10 && t.kmax == 6400000 && t.pmax == 0.5 && t.ecn_bps == 0);
    cr_expect(t.dcqcn.g == 0.25 && t.dcqcn.first_alpha == 0.5 && t.dcqcn.first_cnp == 0.75 &&
              t.dcqcn.least == 0.125);
    cr_expect(t.dcqcn.cnp_interval == 1000000 && t.dcqcn.alpha_period == 2000000 &&
              t.dcqcn.decrease_period == 3000000 && t.dcqcn.increase_period == 4000000);
    cr_expect(t.dcqcn.byte_counter == 5 && t.dcqcn.fast_recovery == 6 &&
              t.dcqcn.ai_bps == 56000000 && t.dcqcn.hai_bps == 64000000 &&
              t.dcqcn.min_bps == 72000000 && t.dcqcn.clamp_target && t.dcqcn.hai_grows);
}

Test(packet_transport, options_that_contradict_each_other_are_refused)
{
    static const struct {
        const char *given[3][2];
        size_t      n;
        const char *where;
    } bad[] = {
        {{{"error_rate", "0.1"}}, 1, "error_rate"},
        {{{"window", "4"}}, 1, "window"},
        {{{"ecn_kmin_bytes", "5"}, {"ecn_kmax_bytes", "4"}}, 2, "ecn_kmin_bytes"},
        {{{"transport", "gbn"}, {"dcqcn_ai_Bps", "5Mb/s"}}, 2, "dcqcn_ai_Bps"},
        {{{"dcqcn_hai_grows", "0"}}, 1, "dcqcn_hai_grows"},
        {{{"transport", "dcqcn"}, {"ecn_kmin_bytes", "300000"}}, 2, "ecn_kmin_bytes"},
    };
    const cs_field         *table = table_of_packet();
    cs_packet_model_options o;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cs_error err = {0};
        (void)resolve(bad[i].given, bad[i].n, &err);
        cr_expect(err.status == CS_EINVAL && strstr(err.message, "accepted") != NULL, "%zu", i);
        cr_expect_str_eq(err.where, bad[i].where);
    }
    cs_fields_default(table, &o);
    cr_expect_neq(cs_field_set(table, &o, "error_rate", "1", "", NULL), CS_OK);
    cr_expect_neq(cs_field_set(table, &o, "rto_s", "0", "", NULL), CS_OK);
    cr_expect_neq(cs_field_set(table, &o, "ack_every", "0", "", NULL), CS_OK);
    cr_expect_neq(cs_field_set(table, &o, "dcqcn_alpha_s", "0", "", NULL), CS_OK);
}
