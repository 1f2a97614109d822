/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lossless queues by themselves: fan-in and a deadlock that were computed by hand, headroom that is
 * too small, memory that runs out; then random networks in which nothing may get lost and the
 * result may depend neither on trains nor on how far the engine is let run at a time. */
#include "base/alloc.h"
#include "models/packet/engine.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { MOST_LINKS = 64, MOST_CHANGES = 8, MOST_WAY = 4, MOST_PATHS = 3, MOST_MESSAGES = 200 };

/* A message of a scene: it is handed over when the rank is there and message `after` has ended. */
typedef struct sending {
    uint32_t src, after; /* CS_NO_LINK: after nothing */
    int64_t  bytes;
    uint32_t n_paths, first_path;
    uint32_t ways[MOST_PATHS][MOST_WAY + 1];
    cs_ps    end; /* found: CS_PS_NEVER if it has not */
    uint32_t n_ends;
} sending;

typedef struct scene {
    cs_packet_net    net;
    cs_packet_link   links[MOST_LINKS];
    cs_packet_change changes[MOST_CHANGES];
    cs_ps            arrival[MOST_LINKS];
    int64_t          mtu, header;
    sending          messages[MOST_MESSAGES];
    uint32_t         n_messages;
    cs_packet_totals totals;
    char             why[400];
} scene;

static void add_way(sending *m, const uint32_t *links, uint32_t n)
{
    uint32_t *way = m->ways[m->n_paths++];

    memcpy(way, links, n * sizeof *links);
    way[n] = CS_NO_LINK;
}

static void add_message(scene *s, uint32_t src, int64_t bytes, const uint32_t *links, uint32_t n)
{
    sending *m = &s->messages[s->n_messages++];

    *m = (sending){.src = src, .after = CS_NO_LINK, .bytes = bytes};
    add_way(m, links, n);
}

/* Ports of `n` ranks and `n_inner` inner links, all alike. */
static void begin_scene(scene *s, uint32_t n, uint32_t n_inner, int64_t bps, cs_ps delay)
{
    memset(s, 0, sizeof *s);
    s->mtu    = 4096;
    s->header = 82;
    s->net    = (cs_packet_net){.n_links     = 2 * n + n_inner,
                                .n_senders   = n,
                                .links       = s->links,
                                .max_way     = MOST_WAY,
                                .max_paths   = 1,
                                .is_lossless = true,
                                .trains      = true};
    for (uint32_t l = 0; l < s->net.n_links; l++) {
        s->links[l] = (cs_packet_link){.bps = bps, .delay = delay, .is_last = l >= n && l < 2 * n};
    }
}

/* Thresholds of all links; headroom for whatever can come after a pause was decided. */
static void set_thresholds(scene *s, int64_t xoff, int64_t xon)
{
    cs_packet_net_finish(&s->net, s->header);
    for (uint32_t l = 0; l < s->net.n_links; l++) {
        cs_packet_link *link = &s->links[l];
        double late = (double)(2 * link->delay + cs_packet_ps(link->low_bps, CS_PAUSE_FRAME_BYTES));
        int64_t bytes =
            (int64_t)((double)link->high_bps / 8e12 * late) + 1 + 2 * (s->mtu + s->header);
        link->xoff            = xoff;
        link->xon             = xon;
        s->net.headroom_bytes = bytes > s->net.headroom_bytes ? bytes : s->net.headroom_bytes;
    }
}

/* Hand over what may start at `now`: of every rank in the order of the messages. `next[r]` is where
 * rank r's next one is looked for. */
static cs_status hand_over(scene *s, void *state, cs_ps now, uint32_t *next)
{
    for (uint32_t r = 0; r < s->net.n_senders; r++) {
        for (; next[r] < s->n_messages && s->arrival[r] <= now; next[r]++) {
            sending *m = &s->messages[next[r]];
            if (m->src != r) {
                continue;
            }
            if (m->after != CS_NO_LINK && s->messages[m->after].end > now) {
                break;
            }
            cs_packet_message message = {.key        = next[r],
                                         .number     = next[r],
                                         .bytes      = m->bytes,
                                         .mtu        = s->mtu,
                                         .header     = s->header,
                                         .ready      = now,
                                         .n_paths    = m->n_paths,
                                         .first_path = m->first_path,
                                         .ways       = m->ways[0]};
            CS_TRY(cs_packet_lossless.send(state, &message));
        }
    }
    return CS_OK;
}

static void take_ends(scene *s, cs_event_queue *ends, cs_ps now)
{
    if (cs_events_next_s(ends) > (double)now) {
        return;
    }
    size_t n = cs_events_take(ends);
    for (size_t i = 0; i < n; i++) {
        sending *m = &s->messages[ends->batch[i].key];
        m->end     = now;
        m->n_ends++;
    }
}

/* Drive the engine as the dispatcher does, at most `step` further at a time. */
static cs_status drive(scene *s, void *state, cs_event_queue *ends, cs_ps step)
{
    uint32_t next[MOST_LINKS] = {0};
    cs_ps    now              = 0;

    for (;;) {
        cs_ps until = CS_PS_NEVER;
        CS_TRY(hand_over(s, state, now, next));
        for (uint32_t r = 0; r < s->net.n_senders; r++) {
            until = s->arrival[r] > now && s->arrival[r] < until ? s->arrival[r] : until;
        }
        if (step > 0 && !cs_packet_lossless.is_idle(state) && until - now > step) {
            until = now + step;
        }
        CS_TRY(cs_packet_lossless.run(state, until));
        double end = cs_events_next_s(ends);
        now        = end < (double)until ? (cs_ps)end : until;
        if (now == CS_PS_NEVER) {
            cr_assert(cs_packet_lossless.is_idle(state));
            return CS_OK;
        }
        take_ends(s, ends, now);
    }
}

static cs_status simulate(scene *s, bool trains, cs_ps step)
{
    cs_event_queue ends   = {0};
    void          *state  = NULL;
    cs_status      status = CS_OK;

    s->net.trains = trains;
    s->why[0]     = '\0';
    for (uint32_t i = 0; i < s->n_messages; i++) {
        s->messages[i].end    = CS_PS_NEVER;
        s->messages[i].n_ends = 0;
    }
    status = cs_packet_lossless.open(&s->net, &ends, &state, NULL);
    if (status == CS_OK) {
        status = drive(s, state, &ends, step);
        cs_packet_lossless.count(state, &s->totals);
        bool is_missing = false;
        for (uint32_t i = 0; i < s->n_messages; i++) {
            is_missing |= s->messages[i].end == CS_PS_NEVER;
        }
        if (is_missing) {
            (void)snprintf(s->why, sizeof s->why, "%s", cs_packet_lossless.why(state));
        }
        cs_packet_lossless.close(state);
    }
    cs_events_free(&ends);
    return status;
}

static cs_ps last_end(const scene *s)
{
    cs_ps last = 0;

    for (uint32_t i = 0; i < s->n_messages; i++) {
        last = s->messages[i].end > last ? s->messages[i].end : last;
    }
    return last;
}

/* ---- by hand ---- */

/* 7 ranks send 1 MiB each to rank 0 of a crossbar: 400 Gb/s, 500 ns. */
static void begin_fan_in(scene *s, int64_t xoff, int64_t xon)
{
    begin_scene(s, 8, 0, 400000000000, 500000);
    for (uint32_t r = 1; r < 8; r++) {
        add_message(s, r, 1 << 20, (uint32_t[]){r, 8}, 2);
    }
    set_thresholds(s, xoff, xon);
}

Test(packet_lossless, fan_in_takes_the_time_of_its_packets)
{
    scene s;

    for (int trains = 0; trains < 2; trains++) {
        begin_fan_in(&s, 100000, 50000);
        cr_assert_eq(simulate(&s, trains != 0, 0), CS_OK);
        cr_expect_eq(last_end(&s), 150823080);
        cr_expect_eq(s.totals.pauses, 49);
        cr_expect_eq(s.totals.packets, UINT64_C(7) * 256);
        begin_fan_in(&s, 100000, 0); /* the port runs dry */
        cr_assert_eq(simulate(&s, trains != 0, 0), CS_OK);
        cr_expect_eq(last_end(&s), 154323960);
        cr_expect_eq(s.totals.pauses, 42);
    }
}

/* Three switches in a ring, a rank each, ways clockwise: everybody sends to the next, then to the
 * one behind it, and so on; each message waits for the one that its sender got before. */
static void begin_ring(scene *s, int64_t xoff, int64_t xon)
{
    begin_scene(s, 3, 3, 100000000000, 500000);
    for (uint32_t round = 0; round < 8; round++) {
        for (uint32_t r = 0; r < 3; r++) {
            uint32_t k = round % 2 + 1, before = (round + 1) % 2 + 1;
            add_message(s, r, 1000000,
                        k == 1 ? (uint32_t[]){r, 6 + r, 3 + (r + 1) % 3}
                               : (uint32_t[]){r, 6 + r, 6 + (r + 1) % 3, 3 + (r + 2) % 3},
                        k + 2);
            s->messages[s->n_messages - 1].after =
                round == 0 ? CS_NO_LINK : 3 * (round - 1) + (r + 3 - before) % 3;
        }
    }
    set_thresholds(s, xoff, xon);
}

Test(packet_lossless, deadlock_is_told_with_its_cycle)
{
    scene s;

    for (int trains = 0; trains < 2; trains++) {
        begin_ring(&s, 20000, 10000);
        cr_assert_eq(simulate(&s, trains != 0, 0), CS_OK);
        cr_expect_eq(last_end(&s), CS_PS_NEVER);
        cr_expect_str_eq(s.why, "deadlock: links 6 -> 7 -> 8 -> 6 wait for each other");
        begin_ring(&s, 4000000, 2000000);
        cr_assert_eq(simulate(&s, trains != 0, 0), CS_OK);
        cr_expect_lt(last_end(&s), CS_PS_NEVER);
        cr_expect_eq(s.totals.pauses, 0);
    }
}

Test(packet_lossless, a_slow_receiver_pauses_who_sends_to_it)
{
    /* 40 packets of 4178 bytes to a receiving port of 10 Gb/s, which never runs dry: with pauses or
     * without, the message takes as long. */
    cs_ps fast = cs_packet_ps(400000000000, 4178), slow = cs_packet_ps(10000000000, 4178);
    scene s;

    for (int pauses = 0; pauses < 2; pauses++) {
        begin_scene(&s, 2, 0, 400000000000, 500000);
        s.links[3].bps = 10000000000;
        add_message(&s, 0, INT64_C(40) * 4096, (uint32_t[]){0, 3}, 2);
        set_thresholds(&s, pauses != 0 ? INT64_C(5) * 4178 : INT64_C(40) * 4178, 4178);
        cr_assert_eq(simulate(&s, true, 0), CS_OK);
        cr_expect_eq(last_end(&s), 2 * 500000 + fast + 40 * slow);
        cr_expect_eq(s.totals.pauses > 1, pauses != 0);
        cr_expect_leq(s.totals.pauses, 8); /* 5 packets pass between two of them */
    }
}

Test(packet_lossless, headroom_that_is_too_small_is_an_error)
{
    scene s;

    for (int trains = 0; trains < 2; trains++) {
        begin_fan_in(&s, 100000, 50000);
        s.net.headroom_bytes = 30000;
        cr_assert_eq(simulate(&s, trains != 0, 0), CS_EWRONG);
        cr_expect_not_null(strstr(s.why, "headroom of link "), "%s", s.why);
        cr_expect_not_null(strstr(s.why, " is too small: "), "%s", s.why);
        cr_expect_not_null(strstr(s.why, "set headroom_bytes to "), "%s", s.why);
    }
}

Test(packet_lossless, memory_that_runs_out_is_told)
{
    scene s;
    long  n = 0;

    for (cs_status status = CS_ENOMEM; status == CS_ENOMEM; n++) {
        begin_ring(&s, 20000, 10000);
        cs_alloc_fail_after(n);
        status = simulate(&s, true, 0);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM);
    }
    cr_expect_gt(n, 20);
}

/* ---- random networks ---- */

/* Ranks at up to 3 leaves with up to 3 spines: way of a message over a spine. */
typedef struct fabric {
    uint32_t n, n_leaves, n_spines;
} fabric;

static uint32_t find_way(const fabric *f, uint32_t src, uint32_t dst, uint32_t spine,
                         uint32_t *links)
{
    uint32_t up = 2 * f->n, down = up + f->n_leaves * f->n_spines;
    uint32_t from = src % f->n_leaves, to = dst % f->n_leaves, k = 0;

    links[k++] = src;
    if (from != to) {
        links[k++] = up + from * f->n_spines + spine;
        links[k++] = down + spine * f->n_leaves + to;
    }
    links[k++] = f->n + dst;
    return k;
}

static void random_message(scene *s, const fabric *f, ct_rng *rng)
{
    uint32_t id = s->n_messages, src = ct_below(rng, f->n), spine = ct_below(rng, f->n_spines);
    uint32_t dst        = (src + 1 + ct_below(rng, f->n - 1)) % f->n, links[MOST_WAY];
    bool     is_sprayed = s->net.max_paths > 1 && src % f->n_leaves != dst % f->n_leaves;

    add_message(s, src, ct_below(rng, ct_below(rng, 4) == 0 ? 100 : 300000), links,
                find_way(f, src, dst, spine, links));
    sending *m = &s->messages[id];
    m->n_paths = 0;
    for (uint32_t i = 0; i < (is_sprayed ? f->n_spines : 1); i++) {
        uint32_t n = find_way(f, src, dst, is_sprayed ? i : spine, links);
        add_way(m, links, n);
    }
    m->first_path = ct_below(rng, m->n_paths);
    m->after      = id > 0 && ct_below(rng, 2) == 0 ? ct_below(rng, id) : CS_NO_LINK;
}

static void random_scene(scene *s, ct_rng *rng)
{
    static const int64_t rates[]  = {10000000000, 100000000000, 400000000000, 3600000000000};
    static const cs_ps   delays[] = {0, 100, 30000, 500000, 1500000};
    static const int64_t xoffs[]  = {1, 10000, 40000, 400000};
    fabric               f    = {2 + ct_below(rng, 9), 1 + ct_below(rng, 3), 1 + ct_below(rng, 3)};
    int64_t              xoff = xoffs[ct_below(rng, 4)];

    f.n_leaves = f.n_leaves < f.n ? f.n_leaves : f.n;
    begin_scene(s, f.n, 2 * f.n_leaves * f.n_spines, rates[ct_below(rng, 4)],
                delays[ct_below(rng, 5)]);
    s->mtu                   = 200 + ct_below(rng, 9000);
    s->header                = ct_below(rng, 90);
    s->net.max_paths         = ct_below(rng, 2) == 0 ? 1 : f.n_spines;
    s->net.cut_through_bytes = ct_below(rng, 2) == 0 ? 0 : 64;
    for (uint32_t l = 0; l < s->net.n_links; l++) {
        s->links[l].bps /= 1 + ct_below(rng, 3);
        s->links[l].delay += ct_below(rng, 1000);
    }
    for (uint32_t i = 0; i < MOST_CHANGES; i++) { /* of rank 0's ports */
        s->changes[i] = (cs_packet_change){ct_below(rng, 20000000), rates[ct_below(rng, 3)]};
        if (i % (MOST_CHANGES / 2) > 0 && s->changes[i].time < s->changes[i - 1].time) {
            s->changes[i].time = s->changes[i - 1].time;
        }
    }
    for (uint32_t end = 0; end < 2 && ct_below(rng, 2) == 0; end++) {
        s->links[end * f.n].changes   = &s->changes[end * MOST_CHANGES / 2];
        s->links[end * f.n].n_changes = MOST_CHANGES / 2;
    }
    for (uint32_t r = 0; r < f.n && ct_below(rng, 3) > 0; r++) {
        s->arrival[r] = ct_below(rng, 30000000);
    }
    for (uint32_t i = 5 + ct_below(rng, MOST_MESSAGES - 5); i > 0; i--) {
        random_message(s, &f, rng);
    }
    set_thresholds(s, xoff, xoff / (1 + ct_below(rng, 3)));
}

/* No message ends before its bytes can have passed the slowest thing on its way. */
static void expect_whole(const scene *s, uint64_t seed)
{
    uint64_t packets = 0;

    for (uint32_t i = 0; i < s->n_messages; i++) {
        const sending *m     = &s->messages[i];
        cs_ps          least = 0;
        packets += (uint64_t)cs_packet_count(m->bytes, s->mtu);
        for (uint32_t k = 0; m->ways[0][k] != CS_NO_LINK; k++) {
            least += s->links[m->ways[0][k]].delay;
        }
        least += (cs_ps)((double)m->bytes * 8e12 / (double)s->links[m->src].high_bps);
        least += s->arrival[m->src];
        cr_assert_eq(m->n_ends, 1, "seed %llu: message %u ended %u times", (unsigned long long)seed,
                     i, m->n_ends);
        cr_assert_geq(m->end, least, "seed %llu: message %u ends too early",
                      (unsigned long long)seed, i);
    }
    cr_assert_eq(s->totals.packets, packets, "seed %llu", (unsigned long long)seed);
}

static void expect_equal(const scene *a, const scene *b, const char *what, uint64_t seed)
{
    cr_assert_eq(a->totals.packets, b->totals.packets, "seed %llu: %s", (unsigned long long)seed,
                 what);
    cr_assert_eq(a->totals.pauses, b->totals.pauses, "seed %llu: %s", (unsigned long long)seed,
                 what);
    for (uint32_t i = 0; i < a->n_messages; i++) {
        cr_assert_eq(a->messages[i].end, b->messages[i].end,
                     "seed %llu: message %u, %s: %lld and %lld", (unsigned long long)seed, i, what,
                     (long long)a->messages[i].end, (long long)b->messages[i].end);
    }
}

Test(packet_lossless, random_networks_lose_nothing)
{
    static scene s, other;
    uint32_t     n_paused = 0;

    for (uint64_t i = 0; i < 120; i++) {
        ct_rng rng = ct_rng_for(77000 + i);
        random_scene(&s, &rng);
        cr_assert_eq(simulate(&s, true, 0), CS_OK, "seed %llu: %s", (unsigned long long)i, s.why);
        expect_whole(&s, i);
        n_paused += s.totals.pauses > 0;
        for (int k = 0; k < 3; k++) {
            static const char *what[] = {"a second time", "without trains", "in small steps"};
            ct_rng             again  = ct_rng_for(77000 + i);
            random_scene(&other, &again);
            cr_assert_eq(simulate(&other, k != 1, k == 2 ? s.net.window + 100000 : 0), CS_OK);
            expect_equal(&s, &other, what[k], i);
        }
    }
    cr_expect_gt(n_paused, 30);
}
