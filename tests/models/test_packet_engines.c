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

Test(packet_engines, oracle_alone)
{
    const cases c       = cases_of(1000);
    uint64_t    packets = 0, pauses = 0, drops = 0, stuck = 0;

    for (uint64_t i = 0; i < c.n; i++) {
        ct_packet_setting set = ct_packet_random(c.first + i, (ct_packet_queues)(i % 3));
        ct_packet_world   w   = ct_packet_world_of(&set);
        ct_packet_answer  a   = ct_packet_oracle(&w.net, &w.schedule);
        packets += a.totals.packets;
        pauses += a.totals.pauses;
        drops += a.totals.drops;
        stuck += a.n_missing > 0 && i % 3 == 1;
        cr_assert(a.overflowed == CS_NO_LINK, "%s", ct_packet_text(&set));
        cr_assert(i % 3 != 0 || a.n_missing == 0, "%s", ct_packet_text(&set));
        ct_packet_answer_free(&a);
        ct_packet_world_free(&w);
    }
    fprintf(stderr, "packets %lu pauses %lu drops %lu stuck %lu\n", packets, pauses, drops, stuck);
}
