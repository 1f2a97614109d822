/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What engines count on links: totals against the plain oracle, intervals of time against their
 * definition. */
#include "base/alloc.h"
#include "models/packet/counters.h"
#include "support/packet_driver.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* ---- engines against the oracle ---- */

static void expect_totals(const ct_packet_world *w, const ct_packet_answer *want,
                          const cs_link_report *got, const char *engine)
{
    for (uint32_t l = 0; l < w->net.n_links; l++) {
        const cs_link_counts *a = &got->links[l], *b = &want->links[l];
        cr_assert(a->packets == b->packets && a->bytes == b->bytes,
                  "%s, link %u: %" PRIu64 " packets, oracle %" PRIu64 ", %s", engine, l, a->packets,
                  b->packets, ct_packet_text(&w->setting));
        cr_assert_eq(a->deepest_bytes, b->deepest_bytes,
                     "%s, trains %d, link %u: a queue of %" PRIu64 " B, oracle %" PRIu64 ", %s",
                     engine, w->net.trains, l, a->deepest_bytes, b->deepest_bytes,
                     ct_packet_text(&w->setting));
        cr_assert(a->pauses == b->pauses && a->drops == b->drops && a->marks == b->marks,
                  "%s, link %u: %" PRIu64 " pauses (oracle %" PRIu64 "), %" PRIu64
                  " drops (%" PRIu64 "), %" PRIu64 " marks (%" PRIu64 "), %s",
                  engine, l, a->pauses, b->pauses, a->drops, b->drops, a->marks, b->marks,
                  ct_packet_text(&w->setting));
        cr_assert_float_eq(a->busy_s * 1e12, b->busy_s, 1e-3);
        cr_assert_float_eq(a->paused_s * 1e12, b->paused_s, 1e-3, "%s, link %u: paused %g, %g",
                           engine, l, a->paused_s * 1e12, b->paused_s);
    }
}

/* Sums and maxima over the intervals of a link are its totals. */
static void expect_samples(const cs_link_report *r, const char *text)
{
    cs_link_counts *sums = calloc(r->n_links, sizeof *sums);

    for (size_t i = 0; i < r->n_samples; i++) {
        const cs_link_sample *s = &r->samples[i];
        cs_link_counts       *t = &sums[s->link];
        cr_assert(i == 0 || s[-1].interval < s->interval ||
                  (s[-1].interval == s->interval && s[-1].link < s->link));
        cr_assert(s->paused_s <= r->sample_s * (1 + 1e-9), "%s", text);
        t->deepest_bytes = s->queue_bytes > t->deepest_bytes ? s->queue_bytes : t->deepest_bytes;
        t->bytes += s->bytes;
        t->drops += s->drops;
        t->marks += s->marks;
        t->paused_s += s->paused_s;
    }
    for (uint32_t l = 0; l < r->n_links; l++) {
        cr_assert_eq(sums[l].deepest_bytes, r->links[l].deepest_bytes, "%s", text);
        cr_assert_eq(sums[l].bytes, r->links[l].bytes, "%s", text);
        cr_assert(sums[l].drops == r->links[l].drops && sums[l].marks == r->links[l].marks);
        cr_assert_float_eq(sums[l].paused_s, r->links[l].paused_s, 1e-15);
    }
    free(sums);
}

static void count(const ct_packet_world *given, const ct_packet_answer *want,
                  const cs_packet_engine *engine, bool trains, cs_ps sample)
{
    ct_packet_world w = *given;
    cs_link_report  report;

    w.net.trains      = trains;
    w.net.counters    = cs_counters_open(&w.net, sample);
    ct_packet_run run = ct_packet_drive(&w, engine, 0);
    cs_ps         end = ct_packet_last_end(&w.schedule, run.end);
    cr_assert_eq(cs_counters_report(w.net.counters, end, &report), CS_OK);
    if (want->n_missing == 0 || !w.net.is_lossless) { /* in a deadlock pauses last */
        expect_totals(&w, want, &report, engine->name);
        if (sample > 0) {
            expect_samples(&report, ct_packet_text(&w.setting));
        }
        if (sample == CS_PS_NEVER && report.n_samples > 0) {
            uint64_t last = report.samples[report.n_samples - 1].interval;
            cr_assert(last < CS_MOST_SAMPLES);
            cr_assert(last >= CS_MOST_SAMPLES / 2 || report.sample_s < 1.5e-7);
        }
    }
    cs_counters_close(w.net.counters);
    ct_packet_run_free(&run);
}

static void try_all(const cs_packet_engine *engine, ct_packet_queues queues, uint64_t n)
{
    uint64_t first = ct_seed() * 1000000 + 500000, deep = 0, busy = 0, odd = 0;

    for (uint64_t i = 0; i < n; i++) {
        ct_packet_setting set = ct_packet_random(first + i, queues);
        ct_packet_world   w   = ct_packet_world_of(&set);
        ct_packet_answer  a   = ct_packet_oracle(&w.net, &w.schedule);
        count(&w, &a, engine, false, i % 2 == 0 ? 0 : CS_PS_NEVER);
        count(&w, &a, engine, true, (cs_ps)(1 + i * i % 97) * 100000);
        for (uint32_t l = 0; l < w.net.n_links; l++) {
            const cs_link_counts *c = &a.links[l];
            deep += c->deepest_bytes > 20000;
            busy += c->packets > 0;
            odd += c->pauses > 0 || c->drops > 0;
        }
        ct_packet_answer_free(&a);
        ct_packet_world_free(&w);
    }
    cr_assert(busy > n && deep > n / 4 && (odd > n / 4 || queues == CT_UNLIMITED),
              "%" PRIu64 " links, %" PRIu64 " with queues, %" PRIu64 " paused or lossy", busy, deep,
              odd);
}

Test(packet_counters, unlimited_queues_are_as_deep_as_the_oracles)
{
    try_all(&cs_packet_unlimited, CT_UNLIMITED, 200);
}

Test(packet_counters, lossless_queues_are_as_deep_and_ports_paused_as_long)
{
    try_all(&cs_packet_lossless, CT_LOSSLESS, 200);
    try_all(&cs_packet_transported, CT_LOSSLESS, 60);
}

Test(packet_counters, queues_that_drop_and_mark_say_where)
{
    try_all(&cs_packet_transported, CT_LOSSY, 200);
    try_all(&cs_packet_transported, CT_TRANSPORTED, 120);
}

/* ---- intervals against their definition ---- */

enum { EVENTS = 60, LINK = 1, OTHER = 2 };

typedef struct packets {
    cs_ps   came[EVENTS], started[EVENTS];
    int64_t bytes[EVENTS];
    int     n;
} packets;

/* Packets of one port that serves them in their order, some of them long after they came. */
static packets random_packets(ct_rng *rng, cs_ps window)
{
    packets p    = {.n = 1 + (int)ct_below(rng, EVENTS)};
    cs_ps   came = 0, free = 0;

    for (int i = 0; i < p.n; i++) {
        came += (cs_ps)ct_below(rng, 3) * ct_below(rng, 1 + (uint32_t)window);
        p.came[i]    = came;
        p.bytes[i]   = 1 + ct_below(rng, 2000);
        p.started[i] = came > free ? came : free;
        free         = p.started[i] + 1 + ct_below(rng, 1 + (uint32_t)window);
    }
    return p;
}

static int64_t waiting(const packets *p, cs_ps t)
{
    int64_t bytes = 0;

    for (int i = 0; i < p->n; i++) {
        bytes += p->came[i] <= t && t < p->started[i] ? p->bytes[i] : 0;
    }
    return bytes;
}

/* The queue is deepest when an interval begins or when a packet comes. */
static uint64_t deepest(const packets *p, cs_ps from, cs_ps until)
{
    int64_t most = waiting(p, from);

    for (int i = 0; i < p->n; i++) {
        int64_t bytes = p->came[i] >= from && p->came[i] < until ? waiting(p, p->came[i]) : 0;
        most          = bytes > most ? bytes : most;
    }
    return (uint64_t)most;
}

/* Halfway something happens on another link, after everything else. Starts are told at once, as an
 * engine without limits does, or in the window in which they are. */
static void tell(cs_packet_counters *c, const packets *p, cs_ps window, bool at_once)
{
    int told = 0;

    for (int i = 0; i < p->n; i++) {
        cs_ps begin = p->came[i] / window * window;
        if (i == p->n / 2) {
            cs_counters_drop(c, OTHER, p->started[p->n - 1] + 1);
        }
        for (; !at_once && told < i && p->started[told] < begin; told++) {
            cs_counters_start(c, LINK, p->started[told], 0, 1, p->bytes[told], 1);
        }
        cs_counters_come(c, LINK, p->came[i], 0, 1, p->bytes[i]);
        for (; at_once && told <= i; told++) {
            cs_counters_start(c, LINK, p->started[told], 0, 1, p->bytes[told], 1);
        }
    }
    for (; told < p->n; told++) {
        cs_counters_start(c, LINK, p->started[told], 0, 1, p->bytes[told], 1);
    }
}

static void expect_intervals(const packets *p, const cs_link_report *r)
{
    cs_ps  sample = (cs_ps)llround(r->sample_s * 1e12), last = p->started[p->n - 1];
    size_t next = 0;

    for (cs_ps from = 0; from <= last; from += sample) {
        uint64_t queue = deepest(p, from, from + sample), bytes = 0;
        for (int i = 0; i < p->n; i++) {
            bool is_in = p->started[i] >= from && p->started[i] < from + sample;
            bytes += is_in ? (uint64_t)p->bytes[i] : 0;
        }
        if (queue == 0 && bytes == 0) {
            continue;
        }
        cr_assert_lt(next, r->n_samples);
        const cs_link_sample *s = &r->samples[next++];
        cr_assert(s->interval == (uint64_t)(from / sample) && s->link == LINK);
        cr_assert_eq(s->queue_bytes, queue,
                     "%" PRIu64 " B in [%" PRId64 ", +%" PRId64 "), not %" PRIu64, s->queue_bytes,
                     from, sample, queue);
        cr_assert_eq(s->bytes, bytes);
    }
    cr_assert_eq(next + 1, r->n_samples);
    cr_assert(r->samples[next].link == OTHER && r->samples[next].drops == 1);
    cr_assert_eq(r->links[LINK].deepest_bytes, deepest(p, 0, CS_PS_NEVER));
}

/* Intervals of any length, and such that become longer with the run. */
Test(packet_counters, intervals_hold_what_happened_in_them)
{
    ct_rng rng = ct_rng_for(3100);

    for (int round = 0; round < 2000; round++) {
        bool           is_auto     = round % 4 == 3;
        cs_packet_link link        = {.bps = 1};
        cs_packet_net  net         = {.n_links = 3, .n_senders = 1, .links = &link};
        net.window                 = 1 + ct_below(&rng, is_auto ? 40000000 : 400);
        cs_ps               sample = is_auto ? CS_PS_NEVER : 1 + (cs_ps)ct_below(&rng, 1000);
        packets             p      = random_packets(&rng, net.window);
        cs_packet_counters *c      = cs_counters_open(&net, sample);
        cs_link_report      r;
        tell(c, &p, net.window, round / 4 % 2 == 0);
        cr_assert_eq(cs_counters_report(c, p.started[p.n - 1], &r), CS_OK);
        expect_intervals(&p, &r);
        cs_counters_close(c);
    }
}

/* From 150 to 1000 ns and from 2100 ns on, to the end; drops and a mark between them. */
Test(packet_counters, pauses_are_cut_at_intervals)
{
    cs_packet_link      link = {.bps = 1};
    cs_packet_net       net  = {.n_links = 2, .n_senders = 1, .links = &link, .window = 1000};
    cs_packet_counters *c    = cs_counters_open(&net, 400000);
    cs_link_report      r;
    const double        want_ns[] = {250, 400, 200, 0, 0, 300, 100};

    cs_counters_pause(c, LINK, 150000);
    cs_counters_resume(c, LINK, 1000000);
    cs_counters_drop(c, LINK, 1200000);
    cs_counters_drop(c, LINK, 1250000);
    cs_counters_mark(c, LINK, 1250000);
    cs_counters_pause(c, LINK, 2100000);
    cr_assert_eq(cs_counters_report(c, 2500000, &r), CS_OK);
    cr_assert_eq(r.links[LINK].pauses, 2);
    cr_assert_float_eq(r.links[LINK].paused_s, 1250e-9, 1e-18);
    cr_assert_eq(r.n_samples, 6);
    for (size_t i = 0; i < r.n_samples; i++) {
        const cs_link_sample *s = &r.samples[i];
        cr_assert_float_eq(s->paused_s, want_ns[s->interval] * 1e-9, 1e-18);
        cr_assert(s->drops == (s->interval == 3 ? 2 : 0) && s->marks == (s->interval == 3 ? 1 : 0));
    }
    cs_counters_close(c);
}

/* Intervals grow with the run; nothing is lost. */
Test(packet_counters, intervals_become_longer)
{
    cs_packet_link link = {.bps = 1};
    cs_packet_net  net  = {.n_links = 3, .n_senders = 1, .links = &link, .window = 1000};
    ct_rng         rng  = ct_rng_for(3200);

    for (int round = 0; round < 100; round++) {
        cs_packet_counters *c = cs_counters_open(&net, CS_PS_NEVER);
        cs_link_report      r;
        cs_ps               t     = 0;
        uint64_t            bytes = 0;
        for (int i = 0; i < 5000; i++) {
            uint32_t l = ct_below(&rng, 3);
            t += (cs_ps)ct_below(&rng, 200000) * (1 + round);
            cs_counters_come(c, l, t, 0, 1, 100);
            cs_counters_start(c, l, t + 50000, 0, 1, 100, 1);
            bytes += 100;
        }
        cr_assert_eq(cs_counters_report(c, t, &r), CS_OK);
        expect_samples(&r, "growing");
        for (size_t i = 0; i < r.n_samples; i++) {
            bytes -= r.samples[i].bytes;
        }
        cr_assert_eq(bytes, 0);
        double n = ((double)t + 50000) * 1e-12 / r.sample_s;
        cr_assert(n <= CS_MOST_SAMPLES && n >= CS_MOST_SAMPLES / 2 - 1, "%g intervals", n);
        cs_counters_close(c);
    }
}

Test(packet_counters, any_allocation_may_fail)
{
    ct_packet_setting set    = ct_packet_random(ct_seed() * 1000000 + 500001, CT_UNLIMITED);
    ct_packet_world   w      = ct_packet_world_of(&set);
    long              passes = 0, refused = 0;
    bool              is_enough = false;

    for (; !is_enough && passes < 400; passes++) {
        cs_link_report report;
        cs_alloc_fail_after(passes);
        w.net.counters = cs_counters_open(&w.net, 1000000);
        if (w.net.counters != NULL) {
            for (uint32_t i = 0; i < 20000; i++) {
                uint32_t l = i % w.net.n_links;
                cs_counters_come(w.net.counters, l, i * 10000, 0, 1, 100);
                cs_counters_start(w.net.counters, l, i * 10000 + 5, 0, 1, 100, 1);
            }
            is_enough = cs_counters_report(w.net.counters, 1, &report) == CS_OK;
        }
        refused += !is_enough;
        cs_alloc_fail_after(-1);
        cs_counters_close(w.net.counters);
    }
    cr_assert(is_enough && refused > 3, "%ld refused", refused);
    w.net.counters = NULL;
    ct_packet_world_free(&w);
}
