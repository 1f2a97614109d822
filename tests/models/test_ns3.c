/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ns-3 without stacks against the oracle of packets: every message ends at the same picosecond, and
 * queues drop the same packets, in random settings. Then the model beside the model packet, and
 * children that fail. Where ns-3 was not built in, the tests say so and pass.
 * COLLSIM_PACKET_CASES and COLLSIM_PACKET_SEED as in test_packet_engines.c. */
#include "support/foreign.h"
#include "support/packet_driver.h"
#include "support/rng.h"
#include "support/scene.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const ct_foreign ns3 = {"ns3", "collsim-ns3", "libns3-dev"};

/* ---- to the picosecond ---- */

typedef struct seen {
    uint64_t settings, packets, drops, lossy; /* settings in which packets were lost */
} seen;

/* ns-3 stores and forwards, and has headers itself. */
static ct_packet_setting setting_of(uint64_t seed, ct_packet_queues queues)
{
    ct_packet_setting set = ct_packet_random(seed, queues);

    set.cut_through_bytes = 0;
    for (size_t i = 0; i < 2; i++) {
        set.ports[i].header = set.ports[i].header < 2 ? 2 : set.ports[i].header;
    }
    return set;
}

static void compare(const ct_packet_world *w, const ct_packet_answer *want, uint64_t stops)
{
    const char   *text = ct_packet_text(&w->setting);
    ct_packet_run run  = ct_packet_drive(w, &cs_packet_ns3, stops);

    cr_assert_eq(run.status, CS_OK, "%s, %s", run.why, text);
    for (size_t i = 0; i < w->schedule.n_sends; i++) {
        cr_assert_eq(run.end[i], want->end[i],
                     "message %zu ends at %" PRId64 " ps, on the oracle at %" PRId64 ", %s", i,
                     run.end[i], want->end[i], text);
    }
    cr_assert(run.totals.packets == want->totals.packets && run.totals.drops == want->totals.drops,
              "packets %" PRIu64 " (oracle %" PRIu64 "), drops %" PRIu64 " (%" PRIu64 "), %s",
              run.totals.packets, want->totals.packets, run.totals.drops, want->totals.drops, text);
    if (want->totals.drops > 0) {
        char lost[64];
        (void)snprintf(lost, sizeof lost, "%" PRIu64 " packet", want->totals.drops);
        cr_assert(strncmp(run.why, lost, strlen(lost)) == 0, "%s: %s", run.why, text);
    }
    ct_packet_run_free(&run);
}

static seen try_all(const char *what, ct_packet_queues queues, uint64_t n)
{
    const char    *given = getenv("COLLSIM_PACKET_SEED"), *more = getenv("COLLSIM_PACKET_CASES");
    const uint64_t first = given != NULL ? strtoull(given, NULL, 10) : ct_seed() * 1000000;
    seen           s     = {.settings = more != NULL ? strtoull(more, NULL, 10) : n};

    for (uint64_t seed = first; seed < first + s.settings; seed++) {
        ct_packet_setting set = setting_of(seed, queues);
        ct_packet_world   w   = ct_packet_world_of(&set);
        ct_packet_answer  a   = ct_packet_oracle(&w.net, &w.schedule);
        compare(&w, &a, seed % 2 == 0 ? seed : 0);
        s.packets += a.totals.packets;
        s.drops += a.totals.drops;
        s.lossy += a.totals.drops > 0;
        ct_packet_answer_free(&a);
        ct_packet_world_free(&w);
    }
    (void)fprintf(stderr,
                  "%s: seeds %" PRIu64 " to %" PRIu64 ": %" PRIu64 " packets, %" PRIu64
                  " dropped in %" PRIu64 " settings\n",
                  what, first, first + s.settings - 1, s.packets, s.drops, s.lossy);
    return s;
}

Test(ns3, ends_messages_when_the_oracle_does)
{
    if (ct_foreign_model("ns3") != NULL) {
        seen s = try_all("unlimited queues", CT_UNLIMITED, 100);
        cr_assert_gt(s.packets, 100 * s.settings);
    }
}

Test(ns3, drops_the_packets_that_the_oracle_does)
{
    if (ct_foreign_model("ns3") != NULL) {
        seen s = try_all("queues that drop", CT_LOSSY, 60);
        cr_assert(s.lossy * 4 > s.settings, "%" PRIu64 " of %" PRIu64 " lose packets", s.lossy,
                  s.settings);
    }
}

/* ---- children that fail ---- */

Test(ns3, leaves_nothing_behind_when_memory_ends)
{
    ct_foreign_without_memory(&ns3);
}

Test(ns3, says_how_its_child_failed)
{
    ct_foreign_fails(&ns3);
}

Test(ns3, names_what_is_not_there)
{
    ct_foreign_is_not_there(&ns3);
}

Test(ns3, survives_the_end_of_its_child_under_way)
{
    ct_foreign_is_killed(&ns3);
}
