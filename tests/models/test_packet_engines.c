/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulators of packets against the plain oracle, to the picosecond: by hand and in random settings
 * whose seeds are printed. COLLSIM_PACKET_CASES=N tries N of each kind, COLLSIM_PACKET_SEED=S
 * begins with seed S. */
#include "support/packet_driver.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Settings of a kind, with their seeds. */
typedef struct cases {
    uint64_t first, n;
} cases;

static cases cases_of(uint64_t n)
{
    const char *first = getenv("COLLSIM_PACKET_SEED"), *more = getenv("COLLSIM_PACKET_CASES");

    return (cases){first != NULL ? strtoull(first, NULL, 10) : ct_seed() * 1000000,
                   more != NULL ? strtoull(more, NULL, 10) : n};
}

static cs_ps last_end(const ct_packet_answer *a, size_t n)
{
    cs_ps last = 0;

    for (size_t i = 0; i < n; i++) {
        last = a->end[i] != CS_PS_NEVER && a->end[i] > last ? a->end[i] : last;
    }
    return last;
}

/* ---- by hand: 400 Gb/s, packets of 4096 and 82 bytes (83.56 ns), 500 ns of delay ---- */

static void expect(const char *what, const ct_packet_setting *set, cs_ps end, uint64_t pauses)
{
    ct_packet_world  w = ct_packet_world_of(set);
    ct_packet_answer a = ct_packet_oracle(&w.net, &w.schedule);

    cr_expect_eq(last_end(&a, w.schedule.n_sends), end, "%s: oracle %" PRId64 ", expected %" PRId64,
                 what, last_end(&a, w.schedule.n_sends), end);
    cr_expect_eq(a.totals.pauses, pauses, "%s: %" PRIu64 " pauses", what, a.totals.pauses);
    ct_packet_answer_free(&a);
    ct_packet_world_free(&w);
}

/* One message from rank 1 to rank 0. */
static ct_packet_setting one(int64_t bytes)
{
    return ct_packet_plain(2, CT_FAN_IN, bytes);
}

Test(packet_engines, do_what_the_rules_say)
{
    ct_packet_setting set = one(1 << 20);

    expect("1 MiB", &set, 22474920, 0);
    set = one(10000);
    expect("10 000 B", &set, 1288480, 0);
    set = one(0);
    expect("nothing", &set, 1003280, 0);
    set                   = one(1 << 20);
    set.cut_through_bytes = 64;
    expect("cut-through", &set, 22392640, 0);
    set            = one(1 << 20);
    set.shape      = CT_LEAF_SPINE;
    set.n_switches = 2;
    set.n_spines   = 1;
    expect("leaf/spine", &set, 23642040, 0);
    set          = ct_packet_plain(8, CT_RING, 1 << 20);
    set.n_rounds = 14;
    expect("ring", &set, 314648880, 0);
    set          = ct_packet_plain(8, CT_ALL_PAIRS, 1 << 20);
    set.n_rounds = 2;
    expect("all pairs", &set, 301646160, 0);
    set = ct_packet_plain(8, CT_FAN_IN, 1 << 20);
    expect("incast", &set, 150823080, 0);
    set.xoff = 100000;
    set.xon  = 50000;
    expect("incast, pauses", &set, 150823080, 49);
    set.xon = 0;
    expect("incast, dry", &set, 154323960, 42);
}

/* ---- random settings ---- */

/* What was seen, so that the settings are known to try something. */
typedef struct seen {
    uint64_t packets, pauses, drops, marks, resent, deadlocks;
} seen;

/* Runs of an engine. */
typedef struct variant {
    bool     trains;
    uint32_t window_parts; /* windows are so many times shorter */
    bool     stops;        /* at more times */
} variant;

/* A cycle of ports that wait for each other, if the oracle knows any. */
static void expect_reason(const ct_packet_world *w, const ct_packet_answer *want,
                          const ct_packet_run *run)
{
    static const char begin[] = "deadlock: links ";
    const char       *text    = run->why + sizeof begin - 1;
    unsigned          first, last, next;
    int               used;

    if (want->waits == NULL) {
        cr_expect(strncmp(run->why, "deadlock", 8) != 0, "%s: %s", run->why,
                  ct_packet_text(&w->setting));
        return;
    }
    cr_assert(strncmp(run->why, begin, sizeof begin - 1) == 0 &&
                  sscanf(text, "%u%n", &first, &used) == 1,
              "%s: %s", run->why, ct_packet_text(&w->setting));
    last = first;
    text += used;
    for (; sscanf(text, " -> %u%n", &next, &used) == 1; text += used, last = next) {
        cr_assert(last < w->net.n_links && next < w->net.n_links &&
                      want->waits[last * w->net.n_links + next],
                  "%u does not wait for %u: %s, %s", last, next, run->why,
                  ct_packet_text(&w->setting));
    }
    cr_assert(last == first && text > run->why + sizeof begin + 1 &&
                  strcmp(text, " wait for each other") == 0,
              "no cycle: %s", run->why);
}

static void compare(const ct_packet_world *w, const ct_packet_answer *want,
                    const cs_packet_engine *engine, variant v)
{
    ct_packet_world world = *w;

    world.net.trains  = v.trains;
    world.net.window  = (world.net.window + v.window_parts - 1) / v.window_parts;
    ct_packet_run run = ct_packet_drive(&world, engine, v.stops ? w->setting.seed : 0);
    cr_expect_eq(run.status, CS_OK, "%s: %s, %s", engine->name, run.why,
                 ct_packet_text(&w->setting));
    for (size_t i = 0; i < w->schedule.n_sends; i++) {
        cr_assert_eq(run.end[i], want->end[i],
                     "%s, trains %d, windows / %u: message %zu ends at %" PRId64
                     " ps, on the oracle at %" PRId64 ", %s",
                     engine->name, v.trains, v.window_parts, i, run.end[i], want->end[i],
                     ct_packet_text(&w->setting));
    }
    cr_assert(
        run.totals.packets == want->totals.packets && run.totals.pauses == want->totals.pauses &&
            run.totals.drops == want->totals.drops && run.totals.marks == want->totals.marks &&
            run.totals.resent == want->totals.resent,
        "%s: packets %" PRIu64 " (oracle %" PRIu64 "), pauses %" PRIu64 " (%" PRIu64
        "), drops %" PRIu64 " (%" PRIu64 "), marks %" PRIu64 " (%" PRIu64 "), resent %" PRIu64
        " (%" PRIu64 "), %s",
        engine->name, run.totals.packets, want->totals.packets, run.totals.pauses,
        want->totals.pauses, run.totals.drops, want->totals.drops, run.totals.marks,
        want->totals.marks, run.totals.resent, want->totals.resent, ct_packet_text(&w->setting));
    if (want->n_missing > 0) {
        expect_reason(w, want, &run);
    }
    ct_packet_run_free(&run);
}

static seen try_all(const char *what, const cs_packet_engine *engine, ct_packet_queues queues,
                    uint64_t n)
{
    const cases c = cases_of(n);
    seen        s = {0};

    for (uint64_t i = 0; i < c.n; i++) {
        const uint64_t    seed = c.first + i;
        ct_packet_setting set  = ct_packet_random(seed, queues);
        ct_packet_world   w    = ct_packet_world_of(&set);
        ct_packet_answer  a    = ct_packet_oracle(&w.net, &w.schedule);
        compare(&w, &a, engine, (variant){.window_parts = 1});
        compare(&w, &a, engine,
                (variant){.trains       = true,
                          .window_parts = (uint32_t[]){1, 1, 2, 3, 10}[seed % 5],
                          .stops        = seed % 2 == 0});
        s.packets += a.totals.packets;
        s.pauses += a.totals.pauses;
        s.drops += a.totals.drops;
        s.marks += a.totals.marks;
        s.resent += a.totals.resent;
        s.deadlocks += a.waits != NULL;
        ct_packet_answer_free(&a);
        ct_packet_world_free(&w);
    }
    (void)fprintf(stderr,
                  "%s: seeds %" PRIu64 " to %" PRIu64 ": %" PRIu64 " packets, %" PRIu64
                  " pauses, %" PRIu64 " drops, %" PRIu64 " marks, %" PRIu64 " resent, %" PRIu64
                  " deadlocks\n",
                  what, c.first, c.first + c.n - 1, s.packets, s.pauses, s.drops, s.marks, s.resent,
                  s.deadlocks);
    return s;
}

Test(packet_engines, unlimited_is_the_oracle)
{
    (void)try_all("unlimited", &cs_packet_unlimited, CT_UNLIMITED, 1000);
}

Test(packet_engines, lossless_is_the_oracle)
{
    const seen s = try_all("lossless", &cs_packet_lossless, CT_LOSSLESS, 1000);

    (void)s;
}

Test(packet_engines, transported_is_the_oracle)
{
    (void)try_all("transported, without limit", &cs_packet_transported, CT_UNLIMITED, 100);
    (void)try_all("transported, lossless", &cs_packet_transported, CT_LOSSLESS, 100);
    (void)try_all("transported, drop-tail", &cs_packet_transported, CT_LOSSY, 500);
    (void)try_all("transported", &cs_packet_transported, CT_TRANSPORTED, 500);
}
