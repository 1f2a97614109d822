/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Faults of single NICs and faults that overlap, in a job: what a server has at every time, and
 * what is noticed of it. */
#include "support/config.h"
#include "whatif/timeline.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#define NEVER ((double)INFINITY)

typedef struct state {
    double from_s, until_s, slowdown;
} state;

typedef struct noticed {
    double from_s, slowdown;
    bool   is_down;
} noticed;

/* A job on 2 servers of 8 GPUs whose faults are noticed after 10 s. */
static cs_config *job_of(const char *faults)
{
    char json[900];

    snprintf(json, sizeof json,
             "{\"job\": {\"iterations\": 10, \"compute\": 1, \"bytes\": 1}, \"cluster\": "
             "{\"ranks\": 16, "
             "\"gpus_per_server\": 8}, \"timers\": {\"detect\": \"10s\", \"restart\": \"20s\"}, "
             "\"policies\": [\"iccl\", \"restart\"], \"faults\": [%s]}",
             faults);
    return ct_config_of(json);
}

static void expect_history(const char *faults, const state *states, size_t n_states,
                           const noticed *notices, size_t n_notices)
{
    cs_config    *config   = job_of(faults);
    cs_whatif_job job      = {0};
    cs_timeline   timeline = {0};
    cs_error      err      = {0};

    cr_assert_eq(cs_whatif_read(config, &job, &err), CS_OK, "%s", err.message);
    cr_assert_eq(cs_timeline_build(&job, &timeline, &err), CS_OK);
    cr_assert_eq(timeline.n_histories, 1);
    const cs_history *h = &timeline.histories[0];
    cr_assert_eq(h->n_spans, n_states, "%s: %zu spans", faults, h->n_spans);
    for (size_t i = 0; i < n_states; i++) {
        cr_expect(h->spans[i].from_s == states[i].from_s &&
                      h->spans[i].until_s == states[i].until_s &&
                      h->spans[i].slowdown == states[i].slowdown,
                  "%s: [%g, %g) %g", faults, h->spans[i].from_s, h->spans[i].until_s,
                  h->spans[i].slowdown);
    }
    cr_assert_eq(h->n_notices, n_notices, "%s: %zu notices", faults, h->n_notices);
    for (size_t i = 0; i < n_notices; i++) {
        const cs_notice *is = &h->notices[i];
        cr_expect(is->from_s == notices[i].from_s && is->slowdown == notices[i].slowdown &&
                      is->is_down == notices[i].is_down,
                  "%s: %g %g %d", faults, is->from_s, is->slowdown, is->is_down);
    }
    cs_timeline_free(&timeline);
    cs_whatif_job_free(&job);
    cs_config_free(config);
}

#define HISTORY(faults, states, notices)                                              \
    expect_history((faults), (states), sizeof(states) / sizeof(states)[0], (notices), \
                   sizeof(notices) / sizeof(notices)[0])

/* Two NICs die one after the other; a repair is no death. */
Test(whatif_nics, that_overlap_add_up)
{
    const state   states[]  = {{100, 200, 8.0 / 7}, {200, 300, 8.0 / 6}, {300, NEVER, 8.0 / 7}};
    const noticed notices[] = {{110, 8.0 / 7, true}, {210, 8.0 / 6, true}, {310, 8.0 / 7, false}};

    HISTORY("{\"server\": 1, \"nic\": 3, \"slowdown\": null, \"from\": 100}, "
            "{\"server\": 1, \"nic\": 5, \"slowdown\": null, \"from\": 200, \"until\": 300}",
            states, notices);
}

/* Nothing is left while the second one is not detected, which the first one slows, too. */
Test(whatif_nics, that_are_down_take_the_server_until_they_are_detected)
{
    const state states[] = {
        {100, 200, 2}, {200, 210, NEVER}, {210, 400, 8.0 / 7 * 2}, {400, NEVER, 8.0 / 7}};
    const noticed notices[] = {{110, 2, false}, {210, 8.0 / 7 * 2, true}, {410, 8.0 / 7, false}};

    HISTORY("{\"rank\": 8, \"slowdown\": 2, \"from\": 100, \"until\": 400}, "
            "{\"server\": 1, \"nic\": 5, \"slowdown\": null, \"from\": 200, \"down\": true}",
            states, notices);
}

/* A GPU that is cut off stops all, as does the last NIC. */
Test(whatif_nics, that_nothing_takes_the_place_of_stop_the_server)
{
    const state   states[]  = {{5, 50, NEVER}};
    const noticed notices[] = {{15, NEVER, true}, {60, 1, false}};

    HISTORY("{\"server\": 0, \"nic\": 2, \"slowdown\": null, \"from\": 5, \"until\": 50, "
            "\"failover\": \"none\"}",
            states, notices);
    HISTORY("{\"rank\": 0, \"slowdown\": null, \"from\": 5, \"until\": 50}", states, notices);
}
