/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs as NCCL groups, run on GPUs that the CPU plays (device_host.c): what stands in a group, what
 * waits for what, and that a wait that is left out, or messages that do not meet, are noticed. */
#include "base/alloc.h"
#include "base/text.h"
#include "traces/capture/gpu.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4, CHUNK = 25, SLICE = 10, SLICES = 3, SEEDS = 40 };

typedef struct made {
    cap_schedule *schedule;
    cap_job      *job;
    cap_groups   *groups;
} made;

/* An AllReduce of N ranks around a ring, chunks of CHUNK floats. */
static void ring_text(cs_text *text)
{
    cs_text_add(text,
                "{\"format\": \"collsim-schedule\", \"collective\": \"allreduce\", \"ranks\": %d, "
                "\"chunks\": %d, \"bytes\": %d, \"transfers\": [",
                N, N, N * CHUNK * 4);
    for (int round = 0; round < 2 * (N - 1); round++) {
        for (int r = 0; r < N; r++) {
            cs_text_add(
                text, "%s{\"round\": %d, \"src\": %d, \"dst\": %d, \"chunk\": %d, \"op\": \"%s\"}",
                round + r > 0 ? ", " : "", round, r, (r + 1) % N, (r + 2 * N - 1 - round) % N,
                round < N - 1 ? "reduce" : "copy");
        }
    }
    cs_text_add(text, "]}");
}

/* Two ranks exchange 100 floats, then rank 0 sends the sum to rank 2, which adds nothing. */
static const char exchange[] =
    "{\"format\": \"collsim-schedule\", \"collective\": \"allreduce\", \"ranks\": 3, \"chunks\": "
    "1, "
    "\"bytes\": 400, \"transfers\": ["
    "{\"round\": 0, \"src\": 2, \"dst\": 0, \"chunk\": 0, \"op\": \"reduce\"}, "
    "{\"round\": 1, \"src\": 0, \"dst\": 1, \"chunk\": 0, \"op\": \"exchange\"}, "
    "{\"round\": 2, \"src\": 0, \"dst\": 2, \"chunk\": 0, \"op\": \"copy\"}]}";

static cs_status make(const char *text, uint64_t slice, made *m, cs_error *err)
{
    *m = (made){0};
    CS_TRY(cap_schedule_parse(text, strlen(text), "text", &m->schedule, err));
    CS_TRY(cap_job_make(m->schedule, &m->job, err));
    return cap_groups_make(m->job, slice, &m->groups, err);
}

static void release(made *m)
{
    cap_groups_free(m->groups);
    cap_job_free(m->job);
    cap_schedule_free(m->schedule);
}

static made must_make(const char *text, uint64_t slice)
{
    made     m;
    cs_error err = {0};

    cr_assert_eq(make(text, slice, &m, &err), CS_OK, "%s: %s", err.where, err.message);
    return m;
}

static made make_ring(uint64_t slice)
{
    cs_text text = {0};

    ring_text(&text);
    made m = must_make(text.data, slice);
    cs_text_free(&text);
    return m;
}

/* ---- what stands in a group ---- */

Test(capture_groups, a_rank_sends_once_and_receives_once)
{
    made m = make_ring(SLICE);

    /* Sums are cut, copies are not. */
    cr_assert_eq(m.groups->n_groups, (N - 1) * (SLICES + 1));
    for (uint32_t g = 0; g < m.groups->n_groups; g++) {
        int sends[N] = {0}, receives[N] = {0};
        for (size_t i = m.groups->first_move[g]; i < m.groups->first_move[g + 1]; i++) {
            const cap_message *message = &m.job->messages[m.groups->moves[i].message];
            sends[message->src]++;
            receives[message->dst]++;
        }
        for (int r = 0; r < N; r++) {
            cr_expect_eq(sends[r], 1, "group %u, rank %d", g, r);
            cr_expect_eq(receives[r], 1, "group %u, rank %d", g, r);
        }
    }
    release(&m);
}

Test(capture_groups, a_slice_waits_for_the_slice_it_sends_on)
{
    made m = make_ring(SLICE);

    for (uint32_t g = 0; g < SLICES; g++) { /* nothing is there to wait for */
        cr_expect_eq(m.groups->wait_for[g * N], CAP_NO_GROUP);
    }
    for (uint32_t g = SLICES; g < (N - 1) * SLICES; g++) {
        cr_expect_eq(m.groups->wait_for[g * N], g - SLICES, "group %u waits for %u", g,
                     m.groups->wait_for[g * N]);
    }
    /* The first copy is whole, and waits for the last slice of the sum. */
    cr_expect_eq(m.groups->wait_for[(N - 1) * SLICES * N], (N - 1) * SLICES - 1);
    release(&m);
}

Test(capture_groups, copies_need_no_staging)
{
    made m = make_ring(0);

    for (uint32_t i = 0; i < m.job->n_messages; i++) {
        cr_expect_eq(m.groups->spans[i].is_staged, m.job->messages[i].round < N - 1);
    }
    cr_expect_eq(m.groups->n_staged[0], 2 * CHUNK);
    release(&m);
}

Test(capture_groups, both_ways_of_an_exchange_are_one_group)
{
    made m = must_make(exchange, 0);

    cr_assert_eq(m.job->n_messages, 4);
    cr_expect_eq(m.groups->n_groups, 3);
    cr_expect_eq(m.groups->spans[1].first, m.groups->spans[2].first);
    cr_expect(m.groups->spans[1].is_staged && m.groups->spans[2].is_staged);
    cr_expect_not(m.groups->spans[3].is_staged);
    release(&m);
}

/* ---- running them ---- */

/* Floats that were wrong, or UINT64_MAX where it ended with an error, which is then in err. */
static uint64_t run_once(const made *m, bool one_gpu, int seed, const double *late_s,
                         cap_times *times, cs_error *err)
{
    const uint32_t   n     = m->groups->n_ranks;
    cap_device_setup setup = {.n_ranks = n, .n_local = n, .one_gpu = one_gpu};
    cap_gpu         *gpu   = NULL;
    double           ends[N];
    cap_gpu_result   result = {.times = times, .end_s = ends};
    char             text[16];

    snprintf(text, sizeof text, "%d", seed);
    setenv("COLLSIM_HOST_SEED", text, 1);
    cs_status status = cap_gpu_open(m->groups, &setup, &gpu, err);
    if (status == CS_OK) {
        status = cap_gpu_fill(gpu, (uint32_t)seed, err);
    }
    if (status == CS_OK) {
        status = cap_gpu_repeat(gpu, (uint32_t)seed, cap_now_s(), late_s, 30, &result, err);
    }
    cap_gpu_close(gpu);
    return status == CS_OK ? result.wrong : UINT64_MAX;
}

Test(capture_gpu, right_in_any_order)
{
    made rings[] = {make_ring(0), make_ring(SLICE), must_make(exchange, 0), must_make(exchange, 7)};

    for (size_t i = 0; i < sizeof rings / sizeof rings[0]; i++) {
        for (int seed = 0; seed < SEEDS; seed++) {
            cs_error err = {0};
            cr_expect_eq(run_once(&rings[i], seed % 2 == 0, seed, NULL, NULL, &err), 0,
                         "%zu, seed %d: %s", i, seed, err.message);
        }
        release(&rings[i]);
    }
}

/* Without the waits, some order must give something else: else they are not tested above. */
Test(capture_gpu, waits_that_are_left_out_are_noticed)
{
    for (int one_gpu = 0; one_gpu < 2; one_gpu++) {
        made m       = make_ring(SLICE);
        int  noticed = 0;
        for (size_t i = 0; i < (size_t)m.groups->n_groups * N; i++) {
            m.groups->wait_for[i] = CAP_NO_GROUP;
        }
        for (int seed = 0; seed < SEEDS; seed++) {
            cs_error err = {0};
            noticed += run_once(&m, one_gpu != 0, seed, NULL, NULL, &err) > 0;
        }
        cr_expect_gt(noticed, SEEDS / 2, "%d of %d", noticed, SEEDS);
        release(&m);
    }
}

Test(capture_gpu, a_late_rank_keeps_up_only_who_waits_for_it)
{
    made         m         = must_make(exchange, 0);
    const double late_s[3] = {0, 0.02, 0};
    cap_times    times[4];
    cs_error     err = {0};

    cr_assert_eq(run_once(&m, false, 1, late_s, times, &err), 0, "%s", err.message);
    cr_expect_lt(times[0].received_s, 0.02); /* 2 to 0 */
    cr_expect_geq(times[1].sent_s, 0.02);    /* 0 to 1, which is late */
    cr_expect_geq(times[2].send_s, 0.02);
    for (int i = 0; i < 4; i++) {
        cr_expect_leq(times[i].send_s, times[i].sent_s);
        cr_expect_leq(times[i].send_s, times[i].received_s);
    }
    cr_expect_leq(times[0].received_s, times[1].sent_s);
    cr_expect_leq(times[2].received_s, times[3].send_s);
    release(&m);
}

/* ---- the device ---- */

static cap_devices *two_ranks(void)
{
    const cap_device_setup setup = {.n_ranks = 2, .n_local = 2, .n_events = 1};
    cap_devices           *d     = cap_devices_create(&setup);

    cr_assert_not_null(d);
    cr_assert_null(cap_device_error(d));
    return d;
}

Test(capture_device, groups_in_different_orders_hang)
{
    cap_devices *d = two_ranks();
    float       *a = cap_device_alloc(d, 0, 4), *b = cap_device_alloc(d, 1, 4);

    /* Each receives before it sends. */
    for (uint32_t member = 0; member < 2; member++) {
        cap_device_group_begin(d);
        cap_device_receive(d, member, 1 - member, member == 0 ? a : b, 2);
        cap_device_group_end(d);
        cap_device_group_begin(d);
        cap_device_send(d, member, 1 - member, member == 0 ? a : b, 2);
        cap_device_group_end(d);
    }
    cap_device_finish(d, 10);
    cr_assert_not_null(cap_device_error(d));
    cr_expect_not_null(strstr(cap_device_error(d), "waits for a message that cannot come"), "%s",
                       cap_device_error(d));
    cap_devices_destroy(d);
}

Test(capture_device, ends_of_different_sizes_are_an_error)
{
    cap_devices *d = two_ranks();
    float       *a = cap_device_alloc(d, 0, 4), *b = cap_device_alloc(d, 1, 4);

    cap_device_group_begin(d);
    cap_device_send(d, 0, 1, a, 3);
    cap_device_receive(d, 1, 0, b, 4);
    cap_device_group_end(d);
    cap_device_finish(d, 10);
    cr_assert_not_null(cap_device_error(d));
    cr_expect_str_eq(cap_device_error(d), "rank 0 sends 3 elements to rank 1, which receives 4");
    cap_devices_destroy(d);
}

Test(capture_device, an_event_that_nobody_records_is_an_error)
{
    cap_devices *d = two_ranks();

    cap_device_wait(d, 0, CAP_SUMS, 1, 0);
    cr_assert_not_null(cap_device_error(d));
    cr_expect_not_null(strstr(cap_device_error(d), "nobody has recorded"));
    cap_devices_destroy(d);
}

/* ---- without memory ---- */

Test(capture_groups, any_allocation_may_fail)
{
    made m      = make_ring(SLICE);
    int  passes = 0;

    for (bool failed = true; failed; passes++) {
        cap_groups *groups = NULL;
        cs_error    err    = {0};
        cs_alloc_fail_after(passes);
        const cs_status status = cap_groups_make(m.job, SLICE, &groups, &err);
        cs_alloc_fail_after(-1);
        failed = status != CS_OK;
        cr_expect_eq(status, failed ? CS_ENOMEM : CS_OK);
        cap_groups_free(groups);
    }
    cr_expect_gt(passes, 15);
    release(&m);
}

Test(capture_gpu, any_allocation_may_fail)
{
    made m      = must_make(exchange, 0);
    int  passes = 0;

    for (bool failed = true; failed; passes++) {
        cs_error err = {0};
        cs_alloc_fail_after(passes);
        const uint64_t wrong = run_once(&m, passes % 2 == 0, 0, NULL, NULL, &err);
        cs_alloc_fail_after(-1);
        failed = wrong != 0;
        cr_expect(wrong == 0 || wrong == UINT64_MAX);
        if (failed) {
            cr_expect_not_null(strstr(err.message, "out of memory"), "%s", err.message);
        }
    }
    cr_expect_gt(passes, 15);
    release(&m);
}
