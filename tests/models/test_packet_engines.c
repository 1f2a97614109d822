/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulators of packets against the plain oracle, to the picosecond, in random settings whose seeds
 * are printed (ct_packet_seeds_of()); and memory that runs out. */
#include "base/alloc.h"
#include "support/packet_driver.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

/* What was seen, so that the settings are known to try something. */
typedef struct seen {
    ct_packet_seeds seeds;
    uint64_t        packets, pauses, drops, marks, resent, deadlocks, overflows;
} seen;

static void note(seen *s, const ct_packet_answer *a)
{
    s->packets += a->totals.packets;
    s->pauses += a->totals.pauses;
    s->drops += a->totals.drops;
    s->marks += a->totals.marks;
    s->resent += a->totals.resent;
    s->deadlocks += a->waits != NULL && a->overflowed == CS_NO_LINK;
    s->overflows += a->overflowed != CS_NO_LINK;
}

static void tell(const char *what, const seen *s)
{
    (void)fprintf(stderr,
                  "%s: seeds %" PRIu64 " to %" PRIu64 ": %" PRIu64 " packets, %" PRIu64
                  " pauses, %" PRIu64 " drops, %" PRIu64 " marks, %" PRIu64 " resent, %" PRIu64
                  " deadlocks, %" PRIu64 " overflows\n",
                  what, s->seeds.first, s->seeds.first + s->seeds.n - 1, s->packets, s->pauses,
                  s->drops, s->marks, s->resent, s->deadlocks, s->overflows);
}

/* Once as it is; packet by packet, or in trains; in shorter windows, or with more stops. */
static void compare(ct_packet_world *w, const ct_packet_answer *want,
                    const cs_packet_engine *engine)
{
    const uint64_t seed   = w->setting.seed;
    const cs_ps    window = w->net.window, parts = (cs_ps[]){1, 2, 3, 10, 100}[seed % 5];

    for (int i = 0; i < 2; i++) {
        const bool is_plain = (seed / 2 + (uint64_t)i) % 2 == 0;
        w->net.trains       = i == 0;
        w->net.window       = is_plain ? window : (window + parts - 1) / parts;
        ct_packet_same(w, want, engine, is_plain || seed % 3 == 0 ? 0 : seed);
    }
    w->net.window = window;
}

static seen compare_all(const char *what, const cs_packet_engine *engine, ct_packet_queues queues,
                        uint64_t n)
{
    seen s = {.seeds = ct_packet_seeds_of(n)};

    for (uint64_t i = 0; i < s.seeds.n; i++) {
        ct_packet_setting set = ct_packet_random(s.seeds.first + i, queues);
        ct_packet_world   w   = ct_packet_world_of(&set);
        ct_packet_answer  a   = ct_packet_oracle(&w.net, &w.schedule);
        cr_assert(a.overflowed == CS_NO_LINK, "%s", ct_packet_text(&set));
        cr_assert(set.queue_bytes > 0 || set.xoff > 0 || a.n_missing == 0, "%s",
                  ct_packet_text(&set));
        compare(&w, &a, engine);
        note(&s, &a);
        ct_packet_answer_free(&a);
        ct_packet_world_free(&w);
    }
    tell(what, &s);
    return s;
}

Test(packet_windows_oracle, same_ends)
{
    (void)compare_all("unlimited", &cs_packet_unlimited, CT_UNLIMITED, 1000);
}

Test(packet_lossless_oracle, same_ends_pauses_and_deadlocks)
{
    const seen s = compare_all("lossless", &cs_packet_lossless, CT_LOSSLESS, 1000);

    cr_expect(s.seeds.n < 100 || (s.pauses > 0 && s.deadlocks > 0 && s.drops == 0));
}

/* Headroom of a part of what is needed. */
Test(packet_lossless_oracle, headroom_is_exceeded_where_the_oracle_exceeds_it)
{
    seen s = {.seeds = ct_packet_seeds_of(200)};

    for (uint64_t i = 0; i < s.seeds.n; i++) {
        ct_packet_setting set = ct_packet_random(s.seeds.first + i, CT_LOSSLESS);
        ct_packet_world   w   = ct_packet_world_of(&set);
        w.net.headroom_bytes  = w.net.headroom_bytes * (cs_ps)(i % 4) / 8;
        ct_packet_answer a    = ct_packet_oracle(&w.net, &w.schedule);
        compare(&w, &a, &cs_packet_lossless);
        compare(&w, &a, &cs_packet_transported);
        note(&s, &a);
        ct_packet_answer_free(&a);
        ct_packet_world_free(&w);
    }
    tell("little headroom", &s);
    cr_expect(s.seeds.n < 100 || (s.overflows > 0 && s.overflows < s.seeds.n));
}

/* Thresholds that are never reached. */
Test(packet_lossless_oracle, queues_that_never_pause_are_without_limit)
{
    seen s = {.seeds = ct_packet_seeds_of(200)};

    for (uint64_t i = 0; i < s.seeds.n; i++) {
        ct_packet_setting set = ct_packet_random(s.seeds.first + i, CT_UNLIMITED);
        set.xoff = set.xon = INT64_C(1) << 40;
        ct_packet_world w  = ct_packet_world_of(&set);
        w.net.is_lossless  = false;
        ct_packet_answer a = ct_packet_oracle(&w.net, &w.schedule);
        w.net.is_lossless  = true;
        compare(&w, &a, &cs_packet_lossless);
        note(&s, &a);
        ct_packet_answer_free(&a);
        ct_packet_world_free(&w);
    }
    tell("never paused", &s);
    cr_expect_eq(s.pauses, 0);
}

Test(packet_transport_oracle, same_ends_without_a_transport)
{
    (void)compare_all("packet by packet", &cs_packet_transported, CT_UNLIMITED, 100);
    (void)compare_all("packet by packet, lossless", &cs_packet_transported, CT_LOSSLESS, 200);
    const seen s = compare_all("drop-tail", &cs_packet_transported, CT_LOSSY, 500);
    cr_expect(s.seeds.n < 100 || s.drops > 0);
}

Test(packet_transport_oracle, same_ends_losses_marks_and_repetitions)
{
    const seen s = compare_all("transports", &cs_packet_transported, CT_TRANSPORTED, 500);

    cr_expect(s.seeds.n < 100 || (s.drops > 0 && s.marks > 0 && s.resent > 0));
}

Test(packet_transport_oracle, same_rates)
{
    const seen s = compare_all("DCQCN", &cs_packet_transported, CT_CONGESTED, 100);

    cr_expect(s.seeds.n < 100 || s.marks > 0);
}

/* ---- memory that runs out ---- */

/* So many allocations succeed. */
static cs_status drive_with_memory(const ct_packet_world *w, const ct_packet_answer *want,
                                   const cs_packet_engine *engine, long passes)
{
    cs_alloc_fail_after(passes);
    ct_packet_run run = ct_packet_drive(w, engine, 0);
    cs_alloc_fail_after(-1);
    const cs_status status = run.status;
    cr_assert(status == CS_ENOMEM ||
                  (status == CS_OK && (run.n_missing == 0) == (run.why[0] == '\0')),
              "%s, %s", run.why, ct_packet_text(&w->setting));
    for (size_t i = 0; i < w->schedule.n_sends && status == CS_OK; i++) {
        cr_assert_eq(run.end[i], want->end[i]);
    }
    ct_packet_run_free(&run);
    return status;
}

/* Returns how many allocations are needed. */
static long fail_all(const ct_packet_setting *set, const cs_packet_engine *engine)
{
    ct_packet_world  w      = ct_packet_world_of(set);
    ct_packet_answer a      = ct_packet_oracle(&w.net, &w.schedule);
    long             passes = 0;

    while (drive_with_memory(&w, &a, engine, passes) == CS_ENOMEM) {
        passes++;
    }
    ct_packet_answer_free(&a);
    ct_packet_world_free(&w);
    return passes;
}

/* An engine says so, and leaves nothing behind. */
Test(packet_engines, memory_may_run_out_anywhere)
{
    static const struct {
        const cs_packet_engine *engine;
        ct_packet_queues        queues;
    } all[]                          = {{&cs_packet_unlimited, CT_UNLIMITED},
                                        {&cs_packet_lossless, CT_LOSSLESS},
                                        {&cs_packet_transported, CT_LOSSLESS},
                                        {&cs_packet_transported, CT_TRANSPORTED},
                                        {&cs_packet_transported, CT_CONGESTED}};
    const ct_packet_setting deadlock = ct_packet_deadlock();

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        long most = 0;
        for (uint64_t seed = ct_seed() * 1000; seed < ct_seed() * 1000 + 5; seed++) {
            ct_packet_setting set    = ct_packet_random(seed, all[i].queues);
            const long        passes = fail_all(&set, all[i].engine);
            most                     = passes > most ? passes : most;
        }
        cr_expect_gt(most, 20, "%s: %ld allocations", all[i].engine->name, most);
    }
    cr_expect_gt(fail_all(&deadlock, &cs_packet_lossless), 20);
    cr_expect_gt(fail_all(&deadlock, &cs_packet_transported), 10);
}
