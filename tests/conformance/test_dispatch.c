/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The dispatcher against the single pass: with the times of alpha-beta behind it, every start and
 * every end of every algorithm is the same to the last bit, with random clusters, arrivals and
 * slow NICs. */
#include "support/port_network.h"
#include "support/random_scene.h"
#include "support/stream.h"

#include <criterion/criterion.h>
#include <string.h>

enum { SCENES_EACH = 150 };

static void compare(const ct_scene *scene)
{
    ct_run want = ct_scene_observe(scene), got = ct_scene_observe_on(scene, &ct_port_network, NULL);

    cr_assert_eq(got.count, want.count, "%s", ct_scene_text(scene));
    for (size_t i = 0; i < want.count; i++) {
        cr_assert(memcmp(&got.intervals[i], &want.intervals[i], sizeof want.intervals[i]) == 0,
                  "%s: transfer %zu holds its ports in [%.17g, %.17g] s, not [%.17g, %.17g] s",
                  ct_scene_text(scene), i, got.intervals[i].start_s, got.intervals[i].end_s,
                  want.intervals[i].start_s, want.intervals[i].end_s);
    }
    cr_assert_eq(got.outcome.elapsed_s, want.outcome.elapsed_s, "%s: %.17g s, not %.17g s",
                 ct_scene_text(scene), got.outcome.elapsed_s, want.outcome.elapsed_s);
    cr_assert_eq(got.outcome.exposed_s, want.outcome.exposed_s);
    cr_assert_eq(got.outcome.n_transfers, want.outcome.n_transfers);
    cr_assert_eq(got.outcome.wire_bytes, want.outcome.wire_bytes);
    cr_assert_eq(got.outcome.verified, want.outcome.verified);
    ct_run_free(&want);
    ct_run_free(&got);
}

Test(dispatch, equals_the_single_pass_for_every_algorithm)
{
    static ct_scene scene;

    for (size_t a = 0; cs_algorithms[a] != NULL; a++) {
        ct_rng rng = ct_rng_for(700 + a);
        for (int i = 0; i < SCENES_EACH; i++) {
            ct_scene_random(&scene, cs_algorithms[a], &rng);
            if (i % 2 == 0) {
                ct_scene_break_nics(&scene, &rng);
                ct_scene_ready(&scene);
            }
            compare(&scene);
        }
    }
}
