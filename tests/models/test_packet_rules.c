/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rules of packets by hand, on the plain oracle and on the simulators: times that follow on
 * paper, and what must hold in every network. */
#include "support/packet_driver.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- 400 Gb/s, packets of 4096 and 82 bytes, which take 83.56 ns, 500 ns of delay ---- */

#define S     INT64_C(83560)
#define DELAY INT64_C(500000)

/* The simulators that the world is for end every message when the oracle does, in trains and packet
 * by packet. */
static void expect_engines(ct_packet_world *w, const ct_packet_answer *a)
{
    const cs_packet_net *net          = &w->net;
    const bool           has_no_marks = net->transport.kmax == 0;
    const bool           is_plain = !net->is_lossless && net->queue_bytes == 0 && has_no_marks &&
                          net->transport.recovery == CS_RECOVER_NONE &&
                          net->transport.error_rate <= 0;

    for (int i = 0; i < 2; i++) {
        w->net.trains = i == 0;
        ct_packet_same(w, a, &cs_packet_transported, 0);
        if (is_plain) {
            ct_packet_same(w, a, &cs_packet_unlimited, 0);
        }
        if (net->is_lossless && has_no_marks) {
            ct_packet_same(w, a, &cs_packet_lossless, 0);
        }
    }
}

/* The last end in a world, which is freed. */
static void expect_last(const char *what, ct_packet_world w, cs_ps end, uint64_t pauses)
{
    ct_packet_answer a   = ct_packet_oracle(&w.net, &w.schedule);
    const cs_ps      got = ct_packet_last_end(&w.schedule, a.end);

    cr_expect_eq(got, end, "%s: %" PRId64 " ps, not %" PRId64, what, got, end);
    cr_expect_eq(a.totals.pauses, pauses, "%s: %" PRIu64 " pauses", what, a.totals.pauses);
    cr_expect_eq(a.n_missing, 0, "%s: %zu messages are missing", what, a.n_missing);
    expect_engines(&w, &a);
    ct_packet_answer_free(&a);
    ct_packet_world_free(&w);
}

static void expect(const char *what, const ct_packet_setting *set, cs_ps end, uint64_t pauses)
{
    expect_last(what, ct_packet_world_of(set), end, pauses);
}

/* The ends of all messages in a world, which is freed. */
static void expect_ends(const char *what, ct_packet_world w, const cs_ps *want)
{
    ct_packet_answer a = ct_packet_oracle(&w.net, &w.schedule);

    for (size_t i = 0; i < w.schedule.n_sends; i++) {
        cr_expect_eq(a.end[i], want[i], "%s: message %zu ends at %" PRId64 " ps, not %" PRId64,
                     what, i, a.end[i], want[i]);
    }
    expect_engines(&w, &a);
    ct_packet_answer_free(&a);
    ct_packet_world_free(&w);
}

/* Give a link a rate, and one link of a world others from some times on. */
static void set_rate(ct_packet_world *w, uint32_t link, int64_t bps)
{
    w->net.links[link].bps = bps;
    cs_packet_net_finish(&w->net, 82);
}

static void change_rate(ct_packet_world *w, uint32_t link, cs_ps time, int64_t bps)
{
    cs_packet_link *l = &w->net.links[link];

    l->changes                     = w->net.changes;
    w->net.changes[l->n_changes++] = (cs_packet_change){time, bps};
    cs_packet_net_finish(&w->net, 82);
}

/* One message from rank 1 to rank 0, over two links. */
enum { SENDING = 1, RECEIVING = 2 };
static ct_packet_setting one(int64_t bytes)
{
    return ct_packet_plain(2, CT_FAN_IN, bytes);
}

Test(packet_rules, one_message)
{
    ct_packet_setting set = one(1 << 20);

    expect("2 delays + 257 packets", &set, 22474920, 0);
    set = one(10000);
    expect("2 delays + 3 packets + 1890 bytes", &set, 1288480, 0);
    set = one(0);
    expect("2 delays + 2 times 82 bytes", &set, 1003280, 0);
    set            = one(1 << 20);
    set.shape      = CT_LEAF_SPINE;
    set.n_switches = 2;
    set.n_spines   = 1;
    expect("4 delays + 259 packets", &set, 23642040, 0);
}

Test(packet_rules, cut_through)
{
    ct_packet_setting set = one(1 << 20);

    set.cut_through_bytes = 64;
    expect("2 delays + 256 packets + 64 bytes", &set, 22392640, 0);
    /* A port that is ever faster than the one before has to wait for the whole packet. */
    ct_packet_world w = ct_packet_world_of(&set);
    change_rate(&w, RECEIVING, INT64_C(1000000000000), 800000000000);
    expect_last("2 delays + 257 packets", w, 22474920, 0);
    /* A packet of an empty message is no longer than what is looked at of it. */
    set                   = one(0);
    set.cut_through_bytes = 82;
    expect("2 delays + 2 times 82 bytes", &set, 1003280, 0);
}

Test(packet_rules, ways_of_one_link_and_of_32)
{
    ct_packet_setting set = one(1 << 20);

    set.server            = 2;
    set.is_direct         = true;
    set.ports[1]          = set.ports[0];
    set.cut_through_bytes = 64; /* there is nothing behind the link */
    expect("a direct link", &set, DELAY + 256 * S, 0);
    set                = ct_packet_plain(31, CT_FAN_IN, 1 << 20);
    set.shape          = CT_SWITCH_RING;
    ct_packet_world w  = ct_packet_world_of(&set);
    w.schedule.n_sends = 1; /* rank 1's, around the ring */
    expect_last("31 switches", w, 32 * DELAY + (256 + 31) * S, 0);
}

Test(packet_rules, collectives)
{
    ct_packet_setting set = ct_packet_plain(8, CT_RING, 1 << 20);

    set.n_rounds = 14;
    expect("14 (2 delays + 257 packets)", &set, 314648880, 0);
    set          = ct_packet_plain(8, CT_ALL_PAIRS, 1 << 20);
    set.n_rounds = 2;
    expect("2 (2 delays + 1 + 7 times 256 packets)", &set, 301646160, 0);
}

Test(packet_rules, fan_in)
{
    ct_packet_setting set = ct_packet_plain(8, CT_FAN_IN, 1 << 20);

    expect("2 delays + 1 + 7 times 256 packets", &set, 150823080, 0);
    set.xoff = 100000;
    set.xon  = 50000;
    expect("the same with pauses", &set, 150823080, 49);
    set.xon = 0;
    expect("the port runs dry", &set, 154323960, 42);
}

/* Packets of one time are served by the number of the link that they came over. */
Test(packet_rules, ties_by_link)
{
    ct_packet_setting set = ct_packet_plain(8, CT_FAN_IN, 1 << 20);
    cs_ps             ends[7];

    for (int i = 0; i < 7; i++) {
        ends[i] = 150823080 - (6 - i) * S;
    }
    expect_ends("seven in step", ct_packet_world_of(&set), ends);
    set                = ct_packet_plain(4, CT_FAN_IN, 4096);
    ct_packet_world w  = ct_packet_world_of(&set);
    w.schedule.late[2] = 1; /* one picosecond later than both others */
    expect_ends("the second of three is late", w,
                (cs_ps[]){2 * DELAY + 2 * S, 2 * DELAY + 4 * S, 2 * DELAY + 3 * S});
}

/* A receiving port that is slow and never runs dry: with pauses or without, the message takes as
 * long. The sender stops two delays after the sixth packet has come, when 12 more are sent, and
 * goes on when one is left: 17 packets pass between two pauses. */
Test(packet_rules, a_slow_receiver_pauses_who_sends_to_it)
{
    const cs_ps slow = cs_packet_ps(10000000000, 4178);

    for (int pauses = 0; pauses < 2; pauses++) {
        ct_packet_setting set = one(INT64_C(40) * 4096);
        set.xoff              = (pauses != 0 ? 5 : 40) * INT64_C(4178);
        set.xon               = 4178;
        ct_packet_world w     = ct_packet_world_of(&set);
        set_rate(&w, RECEIVING, 10000000000);
        expect_last("40 packets", w, 2 * DELAY + S + 40 * slow, pauses != 0 ? 3 : 0);
    }
}

Test(packet_rules, a_rate_holds_for_packets_that_start_then)
{
    ct_packet_setting set = one(1 << 20);
    ct_packet_world   w   = ct_packet_world_of(&set);

    change_rate(&w, RECEIVING, 10000000, 200000000000);
    expect_last("113 packets start before 10 us, 143 later", w, 34424000, 0);
    /* The last one at a quarter of the rate is at the switch one packet after it was alone there.
     */
    w = ct_packet_world_of(&set);
    change_rate(&w, SENDING, 10 * S, 200000000000);
    change_rate(&w, SENDING, 10 * S + 1, 100000000000);
    change_rate(&w, SENDING, 14 * S, 400000000000);
    expect_last("10, 1 at half, 1 at a quarter, 244", w, 2 * DELAY + (10 + 2 + 4 + 244 + 1) * S, 0);
}

/* The last packet starts at the receiving port when the 101 of the sending port have come; the rate
 * changes then, or 1 ps later. */
Test(packet_rules, a_rate_holds_from_its_picosecond_on)
{
    const cs_ps starts = DELAY + 101 * S;

    for (cs_ps early = 0; early < 2; early++) {
        const ct_packet_setting set = one(4096 * 101);
        ct_packet_world         w   = ct_packet_world_of(&set);
        change_rate(&w, RECEIVING, starts + 1 - early, 200000000000);
        expect_last("101 packets", w, starts + S * (1 + early) + DELAY, 0);
    }
}

Test(packet_rules, sprayed_packets_go_over_their_ways_in_turn)
{
    const uint32_t    ways[2][6] = {{SENDING, 4, 5, 8, RECEIVING, CS_NO_LINK},
                                    {SENDING, 4, 6, 8, RECEIVING, CS_NO_LINK}};
    ct_packet_setting set        = one(256 * 4096);

    set.shape      = CT_LEAF_SPINE;
    set.n_switches = set.n_spines = 2;
    set.routes                    = CT_SPRAYED;
    expect("the last port has them all in a row again", &set, 4 * DELAY + 259 * S, 0);
    ct_packet_world w = ct_packet_world_of(&set);
    for (uint32_t p = 0; p < 2; p++) {
        memcpy(w.schedule.ways + p * (w.net.max_way + 1), ways[p], sizeof ways[p]);
    }
    expect_last("ways that part behind their first inner link", w, 5 * DELAY + 260 * S, 0);
    /* Packets 0, 2, .. over a spine that is four times slower: the message ends with packet 254,
     * which has waited there for all before it. */
    w = ct_packet_world_of(&set);
    set_rate(&w, 7, 100000000000);
    expect_last("one way is slow", w, 4 * DELAY + S + 128 * 4 * S + 2 * S, 0);
}

Test(packet_rules, clockwise_routes_wait_for_each_other)
{
    ct_packet_setting set = ct_packet_deadlock();
    ct_packet_world   w   = ct_packet_world_of(&set);
    ct_packet_answer  a   = ct_packet_oracle(&w.net, &w.schedule);
    ct_packet_run     run = ct_packet_drive(&w, &cs_packet_lossless, 0);

    cr_expect_gt(a.n_missing, 0);
    cr_assert_not_null(a.waits);
    for (uint32_t l = 6; l < 9; l++) {
        cr_expect(a.waits[l * w.net.n_links + 6 + (l - 5) % 3], "link %u does not wait", l);
    }
    expect_engines(&w, &a); /* with this cycle, since there is no other */
    cr_expect_str_eq(run.why, "deadlock: links 6 -> 7 -> 8 -> 6 wait for each other");
    ct_packet_run_free(&run);
    ct_packet_answer_free(&a);
    ct_packet_world_free(&w);
    set.xoff = 4000000;
    w        = ct_packet_world_of(&set);
    a        = ct_packet_oracle(&w.net, &w.schedule);
    cr_expect(a.n_missing == 0 && a.totals.pauses == 0);
    expect_engines(&w, &a);
    ct_packet_answer_free(&a);
    ct_packet_world_free(&w);
}

Test(packet_rules, headroom_that_is_too_small_is_an_error)
{
    ct_packet_setting set = ct_packet_plain(8, CT_FAN_IN, 1 << 20);

    set.xoff             = 100000;
    set.xon              = 50000;
    ct_packet_world w    = ct_packet_world_of(&set);
    w.net.headroom_bytes = 30000;
    for (int trains = 0; trains < 2; trains++) {
        w.net.trains      = trains != 0;
        ct_packet_run run = ct_packet_drive(&w, &cs_packet_lossless, 0);
        cr_expect_eq(run.status, CS_EWRONG);
        cr_expect_not_null(strstr(run.why, "headroom of link "), "%s", run.why);
        cr_expect_not_null(strstr(run.why, " is too small: "), "%s", run.why);
        cr_expect_not_null(strstr(run.why, "set headroom_bytes to "), "%s", run.why);
        ct_packet_run_free(&run);
    }
    ct_packet_world_free(&w);
}

/* One packet at a time: each but the last waits for its acknowledgement, 2 delays and 2 times 64
 * bytes later. */
Test(packet_rules, a_window_of_one)
{
    const cs_ps trip = 2 * (500000 + 83560), back = 2 * (500000 + 1280);

    for (int r = CS_RECOVER_GBN; r <= CS_RECOVER_SELECTIVE; r++) {
        ct_packet_setting set = one(5 * 4096);
        set.transport         = (cs_packet_transport){
                    .recovery = (cs_packet_recovery)r, .window = 1, .ack_every = 1, .rto = 500000000};
        expect("5 packets one by one", &set, 5 * trip + 4 * back, 0);
    }
}

/* Two senders, room for one packet that waits: of the two packets that come while one leaves and
 * one waits to be the next, the second is lost; so three times, for the first two both fit. */
Test(packet_rules, a_full_queue_drops_what_comes)
{
    ct_packet_setting set = ct_packet_plain(3, CT_FAN_IN, 4 * 4096);

    set.queue_bytes    = 4178;
    ct_packet_world  w = ct_packet_world_of(&set);
    ct_packet_answer a = ct_packet_oracle(&w.net, &w.schedule);
    cr_expect_eq(a.totals.drops, 3);
    cr_expect_eq(a.links[3].drops, 3);
    cr_expect_eq(a.links[3].deepest_bytes, 4178);
    expect_engines(&w, &a);
    ct_packet_answer_free(&a);
    ct_packet_world_free(&w);
}

/* ---- what must hold everywhere ---- */

/* The packets of a message, one after the other, at a rate. */
static cs_ps back_to_back(const ct_packet_send *s, int64_t bps)
{
    return (cs_packet_count(s->bytes, s->mtu) - 1) * cs_packet_ps(bps, s->mtu + s->header) +
           cs_packet_ps(bps, cs_packet_last_bytes(s->bytes, s->mtu, s->header));
}

/* Alone on links of one rate: the delays, all packets over the first link, and one packet more for
 * every other link: a full one, where the last one is not the only one, or what is cut through. */
Test(packet_rules, alone_a_message_takes_its_packets_and_one_more_a_link)
{
    for (uint64_t seed = 1; seed <= 300; seed++) {
        ct_packet_setting set      = ct_packet_random(seed, CT_UNLIMITED);
        set.pattern                = CT_RANDOM;
        set.n_rounds               = 1;
        set.n_changes              = 0;
        set.late                   = 0;
        set.server                 = 0;
        set.is_uneven              = false;
        set.inner_bps              = set.ports[0].bps;
        ct_packet_world       w    = ct_packet_world_of(&set);
        ct_packet_answer      a    = ct_packet_oracle(&w.net, &w.schedule);
        const ct_packet_send *s    = &w.schedule.sends[0];
        const uint32_t       *way  = w.schedule.ways + s->ways;
        const int64_t         cut  = set.cut_through_bytes;
        int64_t               more = cs_packet_count(s->bytes, s->mtu) > 1
                                         ? s->mtu + s->header
                                         : cs_packet_last_bytes(s->bytes, s->mtu, s->header);
        cs_ps                 end  = s->startup + back_to_back(s, set.ports[0].bps);
        more                       = cut > 0 && cut < more ? cut : more;
        for (uint32_t i = 0; way[i] != CS_NO_LINK; i++) {
            end += w.net.links[way[i]].delay + (i > 0 ? cs_packet_ps(set.ports[0].bps, more) : 0);
        }
        if (s->n_paths == 1) {
            cr_assert_eq(a.end[0], end, "%" PRId64 " ps, not %" PRId64 ": %s", a.end[0], end,
                         ct_packet_text(&set));
        }
        expect_engines(&w, &a);
        ct_packet_answer_free(&a);
        ct_packet_world_free(&w);
    }
}

/* No message is faster than its packets are on the slowest link of its way, at the best rate that
 * it ever has, and no link is used for longer than its messages are under way. */
static void expect_bounds(const ct_packet_world *w, const ct_packet_answer *a)
{
    const uint32_t n_links = w->net.n_links;
    cs_ps         *busy = calloc(n_links, sizeof *busy), *first = calloc(n_links, sizeof *first);
    cs_ps         *last = calloc(n_links, sizeof *last);

    for (size_t i = 0; i < w->schedule.n_sends; i++) {
        const ct_packet_send *s    = &w->schedule.sends[i];
        const uint32_t       *way  = w->schedule.ways + s->ways;
        cs_ps                 most = 0, delays = 0;
        for (uint32_t k = 0; way[k] != CS_NO_LINK && s->n_paths == 1; k++) {
            const uint32_t l    = way[k];
            const cs_ps    took = back_to_back(s, w->net.links[l].high_bps);
            most                = took > most ? took : most;
            first[l]            = busy[l] == 0 || a->start[i] < first[l] ? a->start[i] : first[l];
            last[l]             = a->end[i] > last[l] ? a->end[i] : last[l];
            busy[l] += took;
            delays += w->net.links[l].delay;
        }
        cr_assert_geq(a->end[i] - a->start[i], most + delays, "message %zu, %s", i,
                      ct_packet_text(&w->setting));
    }
    for (uint32_t l = 0; l < n_links; l++) {
        cr_assert_geq(last[l] - first[l], busy[l], "link %u, %s", l, ct_packet_text(&w->setting));
    }
    free(busy);
    free(first);
    free(last);
}

Test(packet_rules, nothing_is_faster_than_the_links_are)
{
    for (uint64_t seed = 1; seed <= 600; seed++) {
        ct_packet_setting set = ct_packet_random(seed, seed % 2 == 0 ? CT_UNLIMITED : CT_LOSSLESS);
        ct_packet_world   w   = ct_packet_world_of(&set);
        ct_packet_answer  a   = ct_packet_oracle(&w.net, &w.schedule);
        if (a.n_missing == 0) {
            expect_bounds(&w, &a);
        }
        ct_packet_answer_free(&a);
        ct_packet_world_free(&w);
    }
}
