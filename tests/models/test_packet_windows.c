/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queues without limit by themselves: closed forms to the picosecond, then random nets, where
 * trains, packets and windows of any size have the same bits. The engine is driven as the model
 * drives it: what ends hands over what waits for it. */
#include "models/packet/engine.h"
#include "models/packet/train.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 16, MOST_PATHS = 4, MOST_WAY = 32, MOST_LINKS = 100, MOST_MESSAGES = 600 };

/* A message of a round is handed over when `needs` messages of the round before have ended at its
 * source, in the order of the list. */
typedef struct sent {
    uint32_t src, dst, round, needs;
    int64_t  bytes;
    uint32_t n_paths, first_path;
    uint32_t ways[MOST_PATHS * (MOST_WAY + 1)];
    cs_ps    end;
} sent;

typedef struct world {
    cs_packet_net    net;
    cs_packet_link   links[MOST_LINKS];
    cs_packet_change changes[MOST_LINKS][4];
    uint32_t         n_ranks, n_leaves, n_spines;
    int64_t          mtu, header;
    cs_ps            arrival[MOST_RANKS];
    sent             messages[MOST_MESSAGES];
    uint32_t         n_messages, n_sent;
    uint32_t         ended[MOST_RANKS][MOST_MESSAGES]; /* rank, round */
} world;

/* Links of 400 Gb/s and 500 ns: a packet of 4178 bytes takes S. */
#define S     INT64_C(83560)
#define DELAY INT64_C(500000)

/* Sending ports, receiving ports, leaves to spines, spines to leaves. One leaf is a crossbar. */
static world *new_world(uint32_t n_ranks, uint32_t n_leaves, uint32_t n_spines)
{
    world   *w       = calloc(1, sizeof *w);
    uint32_t n_links = 2 * n_ranks + 2 * n_leaves * n_spines;

    w->n_ranks  = n_ranks;
    w->n_leaves = n_leaves;
    w->n_spines = n_spines;
    w->mtu      = 4096;
    w->header   = 82;
    w->net      = (cs_packet_net){.n_links   = n_links,
                                  .n_senders = n_ranks,
                                  .links     = w->links,
                                  .max_way   = MOST_WAY,
                                  .max_paths = MOST_PATHS,
                                  .trains    = true};
    for (uint32_t l = 0; l < n_links; l++) {
        w->links[l] = (cs_packet_link){.bps     = 400000000000,
                                       .delay   = DELAY,
                                       .changes = w->changes[l],
                                       .is_last = l >= n_ranks && l < 2 * n_ranks};
    }
    return w;
}

static void add_change(world *w, uint32_t link, cs_ps time, int64_t bps)
{
    w->changes[link][w->links[link].n_changes++] = (cs_packet_change){time, bps};
}

static void set_way(sent *m, uint32_t path, const uint32_t *links, uint32_t n)
{
    memcpy(m->ways + path * (MOST_WAY + 1), links, n * sizeof *links);
    m->ways[path * (MOST_WAY + 1) + n] = CS_NO_LINK;
}

static uint32_t leaf_of(const world *w, uint32_t rank)
{
    return rank * w->n_leaves / w->n_ranks;
}

/* Over one spine, or over `n_paths` of them in turn. */
static sent *add(world *w, uint32_t src, uint32_t dst, int64_t bytes, uint32_t n_paths)
{
    sent    *m    = &w->messages[w->n_messages++];
    uint32_t from = leaf_of(w, src), to = leaf_of(w, dst);

    *m = (sent){.src = src, .dst = dst, .bytes = bytes, .n_paths = from == to ? 1 : n_paths};
    for (uint32_t p = 0; p < m->n_paths; p++) {
        uint32_t spine    = (src + dst + p) % (w->n_spines > 0 ? w->n_spines : 1);
        uint32_t up       = 2 * w->n_ranks + from * w->n_spines + spine;
        uint32_t down     = 2 * w->n_ranks + w->n_leaves * w->n_spines + spine * w->n_leaves + to;
        uint32_t far_[4]  = {src, up, down, w->n_ranks + dst};
        uint32_t near_[2] = {src, w->n_ranks + dst};
        if (from == to) {
            set_way(m, p, near_, 2);
        } else {
            set_way(m, p, far_, 4);
        }
    }
    return m;
}

/* ---- the driver ---- */

typedef struct driver {
    world         *w;
    void          *state;
    cs_event_queue ends;
    cs_ps          now;
    uint32_t       at[MOST_RANKS]; /* the next message of the list for each source */
    uint32_t       free_numbers[MOST_MESSAGES], n_free, n_numbers;
    uint32_t       number[MOST_MESSAGES];
} driver;

static const cs_packet_engine *const engine = &cs_packet_unlimited;

static cs_status hand_over(driver *d, uint32_t i)
{
    const sent *m = &d->w->messages[i];

    d->number[i] = d->n_free > 0 ? d->free_numbers[--d->n_free] : d->n_numbers++;
    d->w->n_sent++;
    return engine->send(d->state, &(cs_packet_message){.key        = i,
                                                       .number     = d->number[i],
                                                       .bytes      = m->bytes,
                                                       .mtu        = d->w->mtu,
                                                       .header     = d->w->header,
                                                       .ready      = d->now,
                                                       .n_paths    = m->n_paths,
                                                       .first_path = m->first_path,
                                                       .ways       = m->ways});
}

static cs_status hand_over_all(driver *d)
{
    world *w = d->w;

    for (uint32_t r = 0; r < w->n_ranks; r++) {
        while (w->arrival[r] <= d->now && d->at[r] < w->n_messages) {
            const sent *m = &w->messages[d->at[r]];
            if (m->src == r) {
                if (m->needs > 0 && w->ended[r][m->round - 1] < m->needs) {
                    break;
                }
                CS_TRY(hand_over(d, d->at[r]));
            }
            d->at[r]++;
        }
    }
    return CS_OK;
}

static cs_status drive(driver *d)
{
    world *w = d->w;

    for (d->now = 0;;) {
        cs_ps arrival = CS_PS_NEVER;
        CS_TRY(hand_over_all(d));
        for (uint32_t r = 0; r < w->n_ranks; r++) {
            if (w->arrival[r] > d->now && w->arrival[r] < arrival) {
                arrival = w->arrival[r];
            }
        }
        CS_TRY(engine->run(d->state, arrival));
        double next = cs_events_next_s(&d->ends);
        if (isinf(next) && arrival == CS_PS_NEVER) {
            cr_assert(engine->is_idle(d->state));
            return CS_OK;
        }
        d->now   = next < (double)arrival ? (cs_ps)next : arrival;
        size_t n = next <= (double)arrival ? cs_events_take(&d->ends) : 0;
        for (size_t k = 0; k < n; k++) {
            sent *m = &w->messages[d->ends.batch[k].key];
            cr_assert_lt(m->end, 0);
            m->end = d->now;
            w->ended[m->dst][m->round]++;
            d->free_numbers[d->n_free++] = d->number[d->ends.batch[k].key];
        }
    }
}

/* The ends of all messages are in the world then. A window of 0 is that of the net. */
static cs_status try_run(world *w, bool trains, cs_ps window)
{
    driver   *d      = calloc(1, sizeof *d);
    cs_status status = CS_OK;

    d->w      = w;
    w->n_sent = 0;
    memset(w->ended, 0, sizeof w->ended);
    for (uint32_t i = 0; i < w->n_messages; i++) {
        w->messages[i].end = -1;
    }
    cs_packet_net_finish(&w->net, w->header);
    w->net.trains = trains;
    w->net.window = window > 0 ? window : w->net.window;
    status        = engine->open(&w->net, &d->ends, &d->state, NULL);
    if (status == CS_OK) {
        status = drive(d);
        engine->close(d->state);
    }
    cs_events_free(&d->ends);
    free(d);
    return status;
}

static void run(world *w)
{
    cr_assert_eq(try_run(w, true, 0), CS_OK);
    for (uint32_t i = 0; i < w->n_messages; i++) {
        cr_assert_geq(w->messages[i].end, 0, "message %u did not end", i);
    }
}

/* The last end; without trains, and with smaller windows, all ends are the same. */
static cs_ps last_end(world *w)
{
    static const struct {
        bool  trains;
        cs_ps part;
    } others[]                = {{false, 1}, {true, 3}, {false, 7}, {true, 100}};
    cs_ps last                = 0;
    cs_ps ends[MOST_MESSAGES] = {0};

    run(w);
    for (uint32_t i = 0; i < w->n_messages; i++) {
        ends[i] = w->messages[i].end;
        last    = ends[i] > last ? ends[i] : last;
    }
    for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
        cs_packet_net_finish(&w->net, w->header);
        cr_assert_eq(try_run(w, others[k].trains,
                             w->net.window / others[k].part + 1 - (others[k].part == 1)),
                     CS_OK);
        for (uint32_t i = 0; i < w->n_messages; i++) {
            cr_assert_eq(w->messages[i].end, ends[i], "%s, window %g: %u ends at %lld, not %lld",
                         others[k].trains ? "trains" : "packets", (double)w->net.window, i,
                         (long long)w->messages[i].end, (long long)ends[i]);
        }
    }
    return last;
}

static cs_ps end_of_one(world *w, int64_t bytes)
{
    add(w, 0, w->n_ranks - 1, bytes, 1);
    cs_ps end = last_end(w);
    free(w);
    return end;
}

/* ---- closed forms ---- */

Test(packet_windows, one_message)
{
    cr_assert_eq(end_of_one(new_world(8, 1, 0), 1 << 20), 2 * DELAY + 257 * S);
    cr_assert_eq(end_of_one(new_world(8, 1, 0), 1 << 20), 22474920);
    cr_assert_eq(end_of_one(new_world(8, 1, 0), 10000), 1288480);
    cr_assert_eq(end_of_one(new_world(8, 1, 0), 0), 1003280);
    cr_assert_eq(end_of_one(new_world(8, 2, 2), 1 << 20), 23642040);
}

Test(packet_windows, cut_through)
{
    world *w                 = new_world(8, 1, 0);
    w->net.cut_through_bytes = 64;
    cr_assert_eq(end_of_one(w, 1 << 20), 22392640);

    /* A port that is ever faster than the one before has to wait for the whole packet. */
    w                        = new_world(8, 1, 0);
    w->net.cut_through_bytes = 64;
    add_change(w, 8 + 7, INT64_C(1000000000000), 800000000000);
    cr_assert_eq(end_of_one(w, 1 << 20), 22474920);

    /* A packet of an empty message is no longer than what is looked at of it. */
    w                        = new_world(8, 1, 0);
    w->net.cut_through_bytes = 82;
    cr_assert_eq(end_of_one(w, 0), 1003280);
}

Test(packet_windows, a_way_of_one_link_is_delivered_by_the_sending_port)
{
    world   *w               = new_world(2, 1, 0);
    uint32_t link            = 0;
    sent    *m               = add(w, 0, 1, 1 << 20, 1);
    w->net.cut_through_bytes = 64; /* there is nothing behind it */
    w->links[0].is_last      = true;
    m->n_paths               = 2;
    set_way(m, 0, &link, 1);
    set_way(m, 1, &link, 1);
    set_way(add(w, 0, 1, 0, 1), 0, &link, 1);
    cr_assert_eq(last_end(w), DELAY + 256 * S + 1640);
    cr_assert_eq(w->messages[0].end, DELAY + 256 * S);
    free(w);
}

/* No work for each of them, before and behind a change: windows are a second long here. */
Test(packet_windows, two_billion_packets)
{
    const int64_t n = INT32_MAX, second = INT64_C(1000000000000);
    world        *w = new_world(2, 1, 0);

    w->links[0].delay = w->links[1].delay = w->links[2].delay = w->links[3].delay = second;
    add(w, 0, 1, n * 4096, 1);
    run(w);
    cr_assert_eq(w->messages[0].end, 2 * second + (n + 1) * S);

    add_change(w, 2 + 1, 100 * second, 200000000000);
    run(w);
    cs_ps   first = second + S;
    int64_t whole = (100 * second - first + S - 1) / S;
    cr_assert_eq(w->messages[0].end, first + whole * S + (n - whole) * 2 * S + second);
    free(w);
}

Test(packet_windows, the_longest_way)
{
    uint32_t links[MOST_WAY];
    world   *w = new_world(2, 4, 4); /* 36 links, in a row */

    for (uint32_t k = 0; k < MOST_WAY; k++) {
        links[k] = k == 0 ? 0 : k + 1 < MOST_WAY ? k + 3 : 3;
    }
    set_way(add(w, 0, 1, 1 << 20, 1), 0, links, MOST_WAY);
    cr_assert_eq(last_end(w), MOST_WAY * DELAY + (256 + MOST_WAY - 1) * S);
    free(w);
}

Test(packet_windows, fan_in)
{
    world *w = new_world(8, 1, 0);

    for (uint32_t r = 1; r < 8; r++) {
        add(w, r, 0, 1 << 20, 1);
    }
    cr_assert_eq(last_end(w), 2 * DELAY + S + 7 * 256 * S);
    /* Packets of one time are served by the number of the link that they came over. */
    for (uint32_t r = 0; r < 7; r++) {
        cr_assert_eq(w->messages[r].end, 150823080 - (6 - r) * S);
    }
    free(w);
}

Test(packet_windows, ring_and_all_pairs)
{
    world *w = new_world(8, 1, 0);

    for (uint32_t round = 0; round < 14; round++) {
        for (uint32_t r = 0; r < 8; r++) {
            sent *m  = add(w, r, (r + 1) % 8, 1 << 20, 1);
            m->round = round;
            m->needs = round > 0;
        }
    }
    cr_assert_eq(last_end(w), 314648880);
    free(w);
    w = new_world(8, 1, 0);
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t r = 0; r < 8; r++) {
            for (uint32_t k = 1; k < 8; k++) {
                sent *m  = add(w, r, (r + k) % 8, 1 << 20, 1);
                m->round = round;
                m->needs = round > 0 ? 7 : 0;
            }
        }
    }
    cr_assert_eq(last_end(w), 301646160);
    free(w);
}

Test(packet_windows, rates_change)
{
    world *w = new_world(8, 1, 0);

    add(w, 0, 1, 1 << 20, 1);
    add_change(w, 8 + 1, 10000000, 200000000000);
    cr_assert_eq(last_end(w), 34424000);
    free(w);

    /* The sending port, twice: packets that start before a change keep their rate. The last one at
     * half rate is at the switch one S after it was alone there. */
    w = new_world(8, 1, 0);
    add(w, 0, 1, 1 << 20, 1);
    add_change(w, 0, 10 * S, 200000000000);
    add_change(w, 0, 10 * S + 1, 100000000000);
    add_change(w, 0, 14 * S, 400000000000);
    cr_assert_eq(last_end(w), 2 * DELAY + (10 + 2 + 4 + 244 + 1) * S);
    free(w);
}

Test(packet_windows, ties_by_link)
{
    world *w = new_world(4, 1, 0);

    add(w, 2, 0, 4096, 1);
    add(w, 1, 0, 4096, 1);
    add(w, 3, 0, 4096, 1);
    w->arrival[2] = 1; /* one picosecond later than both others */
    run(w);
    cr_assert_eq(w->messages[0].end, 2 * DELAY + 4 * S);
    cr_assert_eq(w->messages[1].end, 2 * DELAY + 2 * S);
    cr_assert_eq(w->messages[2].end, 2 * DELAY + 3 * S);
    w->arrival[2] = 0;
    last_end(w);
    cr_assert_eq(w->messages[0].end, 2 * DELAY + 3 * S);
    cr_assert_eq(w->messages[1].end, 2 * DELAY + 2 * S);
    cr_assert_eq(w->messages[2].end, 2 * DELAY + 4 * S);
    free(w);
}

Test(packet_windows, sprayed)
{
    world *w = new_world(4, 2, 2);

    /* In turn over two equal paths: the last port has them all in a row again. */
    add(w, 0, 3, 256 * 4096, 2);
    cr_assert_eq(last_end(w), 4 * DELAY + 259 * S);
    free(w);

    /* Ways that part behind their first inner link, and meet again. */
    const uint32_t ways[2][5] = {{0, 8, 9, 12, 7}, {0, 8, 10, 12, 7}};
    w                         = new_world(4, 2, 2);
    sent *m                   = add(w, 0, 3, 256 * 4096, 2);
    set_way(m, 0, ways[0], 5);
    set_way(m, 1, ways[1], 5);
    cr_assert_eq(last_end(w), 5 * DELAY + 260 * S);
    free(w);

    /* Packets 0, 2, .. over a spine that is four times slower: the message ends with packet 254,
     * which has waited there for all before it. */
    w                                       = new_world(4, 2, 2);
    add(w, 0, 3, 256 * 4096, 2)->first_path = 1;
    w->links[8].bps                         = 100000000000;
    cr_assert_eq(last_end(w), 4 * DELAY + S + 128 * 4 * S + 2 * S);
    free(w);
}

/* ---- random nets ---- */

static int64_t pick(ct_rng *rng, const int64_t *values, uint32_t n)
{
    return values[ct_below(rng, n)];
}

static void draw_links(world *w, ct_rng *rng)
{
    static const int64_t rates[]  = {10, 100, 200, 400, 3600};
    static const int64_t delays[] = {0, 1, 100, 5000, 100000, 1500000};
    int64_t              delay = pick(rng, delays, 6), bps = pick(rng, rates, 5) * 1000000000;
    bool                 varies = ct_below(rng, 2) == 0;

    for (uint32_t l = 0; l < w->net.n_links; l++) {
        w->links[l].bps   = varies ? bps / (1 + ct_below(rng, 3)) : bps;
        w->links[l].delay = delay + (varies ? ct_below(rng, 1000) : 0);
        for (uint32_t k = 0; ct_below(rng, 4) == 0 && k < 4; k++) {
            cs_ps before = k > 0 ? w->changes[l][k - 1].time : 0;
            add_change(w, l, before + 1 + ct_below(rng, 50000000), bps / (1 + ct_below(rng, 5)));
        }
    }
    w->net.cut_through_bytes = ct_below(rng, 3) == 0 ? 1 + ct_below(rng, 200) : 0;
}

/* Any links in a row, of any length. */
static void draw_ways(world *w, ct_rng *rng, sent *m)
{
    uint32_t n_inner = w->net.n_links - 2 * w->n_ranks;

    m->n_paths    = 1 + ct_below(rng, MOST_PATHS);
    m->first_path = ct_below(rng, MOST_PATHS);
    for (uint32_t p = 0; p < m->n_paths; p++) {
        uint32_t links[MOST_WAY] = {m->src}, n = 1;
        for (uint32_t k = ct_below(rng, 6); k > 0 && n_inner > 0; k--) {
            links[n++] = 2 * w->n_ranks + ct_below(rng, n_inner);
        }
        links[n++] = w->n_ranks + m->dst;
        set_way(m, p, links, n);
    }
}

static world *draw_world(ct_rng *rng)
{
    static const int64_t mtus[] = {256, 1500, 4096, 9000}, headers[] = {1, 26, 66, 82};
    uint32_t             n = 2 + ct_below(rng, MOST_RANKS - 1), n_leaves = 1 + ct_below(rng, 4);
    world *w = new_world(n, n_leaves <= n ? n_leaves : n, n_leaves > 1 ? 1 + ct_below(rng, 4) : 0);
    uint32_t rounds = 1 + ct_below(rng, 12);
    bool     is_odd = ct_below(rng, 3) == 0;

    w->mtu    = pick(rng, mtus, 4);
    w->header = pick(rng, headers, 4);
    draw_links(w, rng);
    for (uint32_t r = 0; r < n; r++) {
        w->arrival[r] = ct_below(rng, 3) == 0 ? ct_below(rng, 100000000) : 0;
    }
    uint32_t ends_at[MOST_RANKS] = {0};
    for (uint32_t round = 0; round < rounds; round++) {
        uint32_t before[MOST_RANKS];
        memcpy(before, ends_at, sizeof before);
        memset(ends_at, 0, sizeof ends_at);
        for (uint32_t k = 0; k < 2 * n && w->n_messages < MOST_MESSAGES; k++) {
            uint32_t src = ct_below(rng, n), dst = (src + 1 + ct_below(rng, n - 1)) % n;
            int64_t  bytes =
                ct_below(rng, 4) > 0 ? ct_below(rng, 200000) : ct_below(rng, 3) * w->mtu;
            sent *m = add(w, src, dst, bytes, 1 + ct_below(rng, w->n_spines > 0 ? w->n_spines : 1));
            m->round = round;
            m->needs = round > 0 ? ct_below(rng, before[src] + 1) : 0;
            ends_at[dst]++;
            if (is_odd) {
                draw_ways(w, rng, m);
            }
        }
    }
    return w;
}

Test(packet_windows, random_nets_have_the_same_bits_with_trains_packets_and_any_window)
{
    ct_rng rng = ct_rng_for(1101);

    for (int i = 0; i < 150; i++) {
        world *w = draw_world(&rng);
        last_end(w);
        cr_assert_eq(w->n_sent, w->n_messages);
        free(w);
    }
}

Test(packet_windows, every_allocation_may_fail)
{
    ct_rng    rng    = ct_rng_for(1102);
    world    *w      = draw_world(&rng);
    cs_status status = CS_ENOMEM;
    long      passes = 0;

    for (; status != CS_OK; passes++) {
        cs_alloc_fail_after(passes);
        status = try_run(w, passes % 2 == 0, 0);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM);
    }
    cr_assert_gt(passes, 20);
    free(w);
}

/* ---- the engine as its driver sees it ---- */

Test(packet_windows, processes_no_window_beyond_the_horizon_or_an_end)
{
    world            *w    = new_world(2, 1, 0);
    cs_event_queue    ends = {0};
    void             *state;
    cs_packet_totals  totals;
    const sent       *m     = add(w, 0, 1, 1 << 20, 1);
    cs_packet_message given = {
        .bytes = m->bytes, .mtu = 4096, .header = 82, .n_paths = 1, .ways = m->ways};

    cs_packet_net_finish(&w->net, 82);
    cr_assert_eq(engine->open(&w->net, &ends, &state, NULL), CS_OK);
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
    free(w);
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
        cs_ps    begin = (cs_ps)ct_below(&rng, 1000) * 1000000;
        uint32_t n_runs, n;
        make_inbox(&rng, &list, begin);
        n_runs = list.n;
        n      = take_apart(&list, want);
        qsort(want, n, sizeof *want, by_turn);
        cr_assert_eq(cs_runs_put_in_order(&order, &list, begin), CS_OK);
        cr_assert_eq(take_apart(&list, found), n);
        for (uint32_t k = 0; k < n; k++) {
            cr_assert(want[k].t == found[k].t && want[k].in == found[k].in &&
                          want[k].step == found[k].step,
                      "packet %u of %u, case %u", k, n, i);
        }
        n_kept += list.n == n_runs;
        n_apart += list.n > n_runs;
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
