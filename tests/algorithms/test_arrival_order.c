/* SPDX-License-Identifier: GPL-3.0-or-later */
/* AllReduces over the ranks in the order of their arrivals: sorted_linear_tree and
 * pre_reduced_ring. */
#include "support/stream.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ct_scene scene;

static void set_number(const char *key, uint32_t value)
{
    char text[16];

    snprintf(text, sizeof text, "%u", value);
    ct_scene_option(&scene, key, text);
}

/* One rank late by `late_s`, all others at 0. */
static void set_late(uint32_t rank, double late_s)
{
    scene.arrival_s[rank]    = late_s;
    scene.scenario.arrival_s = scene.arrival_s;
}

static void set_line(uint32_t n, uint32_t segments, uint64_t segment_bytes)
{
    ct_scene_set(&scene, "sorted_linear_tree", CS_ALLREDUCE, n, segments * segment_bytes);
    set_number("segments", segments);
}

static void set_ring(uint32_t n, uint32_t late, uint32_t segments, uint64_t bytes)
{
    ct_scene_set(&scene, "pre_reduced_ring", CS_ALLREDUCE, n, bytes);
    set_number("segments", segments);
    set_number("late", late);
}

/* Replayed, and in closed form. */
static void takes(double want_s)
{
    ct_scene_ready(&scene);
    double got_s = ct_scene_replay(&scene, NULL).elapsed_s;
    cr_assert(ct_is_close(got_s, want_s, 1e-12), "%s: %.17g, not %.17g", ct_scene_text(&scene),
              got_s, want_s);
    got_s = scene.algorithm->closed_form_s(&scene.scenario, &scene.options);
    cr_assert(ct_is_close(got_s, want_s, 1e-12), "%s: closed form %.17g, not %.17g",
              ct_scene_text(&scene), got_s, want_s);
}

/* Delays in messages of x: none, less than the line needs before its end, just that, more. */
static double delay_of(int which, uint32_t n, uint32_t segments)
{
    const double delays[] = {0, 0.5 * n, n - 2.0, n + segments / 2.0, 3.25 * (n + segments)};
    return delays[which];
}
enum { N_DELAYS = 5 };

/* Segment 0 comes to the last but one at (n-2) x, and goes to the last when that has come: at B,
 * the later of both. From there on the last but one sends every segment on and back: 2c messages,
 * of which the first is at B, and none waits: while segment k + 1 is on its way to the end, segment
 * k comes back. The last of them has n - 3 hops to go. A single segment goes to the end and n - 1
 * hops back; on two ranks nobody sends twice. */
Test(arrival_order, time_of_the_line)
{
    static const uint32_t segments[] = {1, 2, 3, 4, 7, 16, 61};

    for (uint32_t n = 2; n <= 20; n++) {
        for (size_t i = 0; i < sizeof segments / sizeof segments[0]; i++) {
            for (int d = 0; d < N_DELAYS; d++) {
                double c = segments[i], x_s = 3e-6 + 40960 / 450e9;
                double begins_s = fmax(delay_of(d, n, segments[i]), n - 2.0) * x_s;
                double messages = n == 2 || segments[i] == 1 ? c + n - 1 : 2 * c + n - 3;
                set_line(n, segments[i], 40960);
                set_late((uint32_t)i % n, delay_of(d, n, segments[i]) * x_s);
                takes(begins_s + messages * x_s);
            }
        }
    }
}

/* One rank is not waited for. Segment 0 is added up by the others at (n-2) x; the last rank adds
 * when it has come, and sends the sum to the first rank, 2x after the later of both. That one
 * passes on what it has of its own first, c messages, then the sums, c, which reach the last one
 * after n - 3 hops more. On two ranks the first one has no sum to pass on. */
Test(arrival_order, time_of_the_ring_that_does_not_wait)
{
    static const uint32_t segments[] = {1, 2, 3, 4, 7, 16, 61};

    for (uint32_t n = 2; n <= 20; n++) {
        for (size_t i = 0; i < sizeof segments / sizeof segments[0]; i++) {
            for (int d = 0; d < N_DELAYS; d++) {
                double c = segments[i], x_s = 3e-6 + 40960 / 450e9;
                double late_s = delay_of(d, n, segments[i]) * x_s;
                double sums_s = fmax(late_s, (n - 2) * x_s) + 2 * x_s;
                set_ring(n, 1, segments[i], segments[i] * 40960);
                set_late((uint32_t)i % n, late_s);
                takes((n == 2 ? sums_s : fmax(sums_s, c * x_s)) + (c + n - 3) * x_s);
            }
        }
    }
}

/* 2 (n-1) steps from the last arrival on. */
Test(arrival_order, time_of_the_plain_ring)
{
    for (uint32_t n = 2; n <= 20; n++) {
        for (int d = 0; d < N_DELAYS; d++) {
            double x_s = 3e-6 + 40960 / 450e9;
            set_ring(n, 0, 1, n * UINT64_C(40960));
            set_late(n / 2, delay_of(d, n, 1) * x_s);
            takes((delay_of(d, n, 1) + 2 * (n - 1)) * x_s);
        }
    }
}

/* Every segment is added n - 1 times and copied n - 1 times. */
Test(arrival_order, traffic_is_exact)
{
    static const uint64_t sizes[] = {1, 7, 1000, 12345677};
    ct_rng                rng     = ct_rng_for(3);

    for (uint32_t n = 2; n <= 33; n++) {
        for (int i = 0; i < 4; i++) {
            ct_scene_set(&scene, i % 2 == 0 ? "slt" : "prr", CS_ALLREDUCE, n, sizes[i]);
            set_number("segments", 1 + ct_below(&rng, 9));
            ct_scene_arrive(&scene, &rng, 1e-4);
            ct_scene_ready(&scene);
            cs_outcome out = ct_scene_replay(&scene, NULL);
            cr_assert_eq(out.wire_bytes, 2 * (uint64_t)(n - 1) * sizes[i]);
        }
    }
}

/* Position of every rank: arrivals are all different. */
static void positions(uint32_t *position)
{
    uint32_t n = scene.scenario.cluster.n_ranks;

    for (uint32_t r = 0; r < n; r++) {
        position[r] = 0;
        for (uint32_t other = 0; other < n; other++) {
            position[r] += scene.arrival_s[other] < scene.arrival_s[r];
        }
    }
}

/* On from each rank to the next one to come, and back, in every segment. */
Test(arrival_order, the_line_is_sorted)
{
    ct_rng rng = ct_rng_for(4);

    for (int i = 0; i < 200; i++) {
        uint32_t n = 2 + ct_below(&rng, 40), at[64];
        set_line(n, 1 + ct_below(&rng, 20), 1000);
        ct_scene_arrive(&scene, &rng, ct_uniform(&rng, 0, 1e-3));
        ct_scene_ready(&scene);
        positions(at);
        ct_stream s = ct_stream_record(&scene, 64);
        for (size_t k = 0; k < s.count; k++) {
            const cs_transfer *t = &s.transfers[k];
            int                d = cs_transfer_op(t) == CS_OP_REDUCE ? 1 : -1;
            cr_assert_eq((int)at[t->dst], (int)at[t->src] + d, "%s", ct_scene_text(&scene));
        }
        ct_stream_free(&s);
    }
}

/* Bytes that the busiest port sends in messages that begin at `from_s` or later, as a part of the
 * buffer; and how many messages among ranks that have come by then begin later. */
static double busiest_after(double from_s, uint32_t *early_p)
{
    ct_stream s        = ct_stream_record(&scene, 64);
    ct_run    run      = ct_scene_observe(&scene);
    double    sent[64] = {0}, most = 0;

    *early_p = 0;
    for (size_t k = 0; k < s.count; k++) {
        const cs_transfer *t       = &s.transfers[k];
        bool               reduces = cs_transfer_op(t) == CS_OP_REDUCE && t->chunk == 0;
        if (run.intervals[k].start_s < from_s) {
            continue;
        }
        sent[t->src] += (double)t->bytes;
        most = fmax(most, sent[t->src]);
        *early_p += reduces && scene.arrival_s[t->src] < from_s && scene.arrival_s[t->dst] < from_s;
    }
    ct_run_free(&run);
    ct_stream_free(&s);
    return most / (double)scene.scenario.bytes;
}

/* m ranks come when all others are done: of their g = floor(m/2) + 1 equal parts no port sends more
 * than 2g - 1 from then on, and no edge between early ranks adds anything of what starts there. */
Test(arrival_order, what_is_left_when_the_late_come)
{
    for (uint32_t n = 3; n <= 16; n++) {
        for (uint32_t m = 1; m < n; m++) {
            uint32_t g = m / 2 + 1, early, c = 12;
            set_ring(n, m, c, (uint64_t)g * c * 4096);
            for (uint32_t r = 0; r < n; r++) {
                scene.arrival_s[r] = r < m ? 1 : 0;
            }
            scene.scenario.arrival_s = scene.arrival_s;
            ct_scene_ready(&scene);
            double sent = busiest_after(1, &early);
            cr_assert_leq(sent, (2.0 * g - 1) / g + 1e-9, "%s late=%u: %g", ct_scene_text(&scene),
                          m, sent);
            cr_assert_eq(early, 0, "%s late=%u", ct_scene_text(&scene), m);
        }
    }
}

/* No sum waits behind one that needs a rank that has not come, however many segments there are. */
Test(arrival_order, the_line_is_done_before_the_last_one_comes)
{
    for (uint32_t n = 3; n <= 20; n++) {
        double   x_s = 3e-6 + 4096 / 450e9;
        uint32_t early;
        set_line(n, 200, 4096);
        set_late(n / 3, (n - 2 + 199 + 0.5) * x_s);
        ct_scene_ready(&scene);
        busiest_after(scene.arrival_s[n / 3], &early);
        cr_assert_eq(early, 0, "%s", ct_scene_text(&scene));
    }
}

static double elapsed_s(const char *late)
{
    cs_job     job = ct_scene_given(&scene, NULL);
    cs_outcome outcome;
    cs_error   err = {0};

    if (late != NULL) {
        cr_assert_eq(cs_field_set(job.algorithm->options, &job.options, "late", late, "late", &err),
                     CS_OK);
    }
    cr_assert_eq(cs_job_resolve(&job, &err), CS_OK, "%s", err.message);
    cr_assert_eq(cs_job_replay(&job, NULL, 0, &outcome, &err), CS_OK, "%s", err.message);
    return outcome.elapsed_s;
}

/* Auto knows the plain ring and the one that does not wait for the last rank. */
Test(arrival_order, auto_is_no_worse_than_either)
{
    ct_rng rng = ct_rng_for(6);

    for (int i = 0; i < CT_CASES(120); i++) {
        uint32_t n = 2 + ct_below(&rng, 30);
        ct_scene_set(&scene, "prr", CS_ALLREDUCE, n, 1 + ct_below(&rng, 1u << (4 + i % 20)));
        if (i % 3 > 0) {
            ct_scene_arrive(&scene, &rng, ct_scene_late_s(&scene, &rng));
        }
        double auto_s = elapsed_s(NULL);
        cr_assert_leq(auto_s, elapsed_s("0") * (1 + 1e-12), "%s", ct_scene_text(&scene));
    }
}

/* All that is late at random, over both fabrics and with many more ranks than segments. */
Test(arrival_order, many_ranks)
{
    ct_rng rng = ct_rng_for(7);

    for (int i = 0; i < 4; i++) {
        ct_scene_set(&scene, i % 2 == 0 ? "slt" : "prr", CS_ALLREDUCE, 1024,
                     i < 2 ? 1000 : 1 << 20);
        scene.scenario.cluster.gpus_per_server = 8;
        ct_scene_arrive(&scene, &rng, 1e-3);
        ct_scene_ready(&scene);
        cs_job     job     = ct_scene_job(&scene, NULL);
        cs_verdict verdict = {0};
        cr_assert_eq(cs_job_verify(&job, &verdict, NULL), CS_OK);
        cr_assert(verdict.is_correct, "%s", verdict.text);
    }
}

Test(arrival_order, more_late_ranks_than_others_can_wait_for)
{
    cs_error err = {0};

    set_ring(4, 4, 1, 4096);
    cr_assert_eq(ct_scene_check(&scene, &err), CS_EINVAL);
    cr_assert_str_eq(err.where, "algorithm.options.late");
    set_ring(4, 3, 1, 4096);
    ct_scene_ready(&scene);
}
