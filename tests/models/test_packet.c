/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The packet model behind the dispatcher, on schedules whose times can be computed by hand to the
 * picosecond: 400 Gb/s, links of 500 ns, 4096 bytes of payload and 82 of headers, so that a full
 * packet takes 83 560 ps. The engines have tests of their own. */
#include "cs/topology.h"
#include "models/packet/ports.h"
#include "support/stream.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { MIB = 1 << 20 };

#define S     83560.0
#define DELAY 500000.0

static ct_scene   scene;
static ct_stream  stream;
static cs_options storage; /* of the model: those of the net come first */

static cs_packet_options *const set = (cs_packet_options *)(void *)storage.bytes;

static const cs_model *packet(void)
{
    const cs_model *model = NULL;

    cr_assert_eq(cs_model_find("packet", &model, NULL), CS_OK);
    cr_assert_leq(sizeof *set, model->options_bytes);
    return model;
}

static void set_cluster(uint32_t n, uint32_t gpus_per_server)
{
    scene.scenario.cluster =
        (cs_cluster){.n_ranks         = n,
                     .gpus_per_server = gpus_per_server,
                     .fabrics         = {{CS_SWITCHED, 1e-6, 50e9}, {CS_SWITCHED, 0.4e-6, 400e9}}};
    cs_fields_default(packet()->options, &storage);
}

static void begin(const char *algorithm, uint32_t n, uint64_t bytes)
{
    ct_scene_set(&scene, algorithm, CS_ALLREDUCE, n, bytes);
    set_cluster(n, 1);
}

static double elapsed_ps(void)
{
    cs_error err = {0};

    cr_assert_eq(packet()->check(&scene.scenario, &storage, &err), CS_OK, "%s", err.message);
    ct_run run = ct_scene_observe_on(&scene, packet(), &storage);
    double ps  = run.outcome.elapsed_s * 1e12;
    ct_run_free(&run);
    return ps;
}

static void expect_ps(double want)
{
    double got = elapsed_ps();
    cr_assert(fabs(got - want) < 0.5, "%.3f ps, not %.3f", got, want);
}

/* Both engines' ways of serving: the same bits. */
static void expect_both(double want)
{
    ct_scene_ready(&scene);
    set->trains = true;
    expect_ps(want);
    set->trains = false;
    expect_ps(want);
}

Test(packet, whole_collectives)
{
    begin("ring", 8, 8 * MIB);
    expect_both(14 * (2 * DELAY + 257 * S));
    begin("allpairs", 8, 8 * MIB);
    expect_both(2 * (2 * DELAY + S + 7 * 256 * S));
    begin("ring", 2, 2 * MIB);
    expect_both(2 * (2 * DELAY + 257 * S));
}

/* ---- messages by hand ---- */

typedef struct seen {
    cs_interval intervals[32];
    size_t      count;
    cs_outcome  outcome;
} seen;

static cs_status look(void *user, const cs_block *block, const cs_interval *intervals,
                      cs_error *err)
{
    seen *s = user;

    (void)err;
    memcpy(s->intervals + s->count, intervals, block->count * sizeof *intervals);
    s->count += block->count;
    return CS_OK;
}

static void begin_stream(uint32_t n, uint32_t gpus_per_server)
{
    ct_scene_set(&scene, "ring", CS_ALLREDUCE, n, 1000);
    set_cluster(n, gpus_per_server);
    stream = (ct_stream){0};
}

static void add(uint32_t src, uint32_t dst, uint64_t bytes, cs_op op)
{
    (void)ct_stream_send(&stream, &scene.scenario.cluster, src, dst, bytes, op, CS_OWN_SRC);
}

static cs_status play(seen *got, cs_error *err)
{
    cs_observer observer = {.block = look, .user = got};
    cs_plan     plan     = {.n_chunks = 4, .n_slots = 4, .n_rounds = 9, .uses = 15};

    ct_scene_play(&scene, &stream, &plan);
    cs_job job = ct_scene_job(&scene, "packet");
    job.verify = false;
    cs_job_set_model(&job, job.model, &storage);
    CS_TRY(cs_scenario_check(&scene.scenario, err));
    CS_TRY(job.model->check(&scene.scenario, &storage, err));
    return cs_job_replay(&job, &observer, 1, &got->outcome, err);
}

/* The ends of the messages, counted from the first arrival. */
static void expect_ends(const double *want_ps)
{
    seen      got    = {0};
    cs_error  err    = {0};
    cs_status status = play(&got, &err);

    cr_assert_eq(status, CS_OK, "%s: %s", err.where, err.message);
    for (size_t i = 0; i < got.count; i++) {
        double end = got.intervals[i].end_s * 1e12;
        cr_assert(fabs(end - want_ps[i]) < 0.75, "message %zu ends at %.3f, not %.3f", i, end,
                  want_ps[i]);
    }
    ct_stream_free(&stream);
}

static void expect_failure(cs_status status, const char *where, const char *text)
{
    seen     got = {0};
    cs_error err = {0};

    cr_expect_eq(play(&got, &err), status, "%s: %s", err.where, err.message);
    cr_expect_str_eq(err.where, where);
    cr_expect(strstr(err.message, text) != NULL, "%s", err.message);
    ct_stream_free(&stream);
}

Test(packet, messages_of_every_size)
{
    static const struct {
        uint64_t bytes;
        double   ps;
    } cases[] = {{MIB, 22474920}, {10000, 1288480}, {0, 1003280}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin_stream(2, 1);
        add(0, 1, cases[i].bytes, CS_OP_COPY);
        expect_ends(&cases[i].ps);
    }
}

/* The port goes on as soon as the last packet of a message has left. */
Test(packet, a_sending_port_does_not_wait_for_the_end)
{
    begin_stream(3, 1);
    add(0, 1, MIB, CS_OP_COPY);
    add(0, 2, MIB, CS_OP_COPY);
    expect_ends((double[]){2 * DELAY + 257 * S, 2 * DELAY + 513 * S});
}

/* What alpha has beyond the delays of two links holds no port. */
Test(packet, startup_holds_no_port)
{
    begin_stream(3, 1);
    set->link_delay_s = 100e-9;
    add(0, 1, MIB, CS_OP_COPY);
    add(0, 2, MIB, CS_OP_COPY);
    expect_ends((double[]){2 * DELAY + 257 * S, 2 * DELAY + 513 * S});
}

Test(packet, both_ways_of_an_exchange)
{
    begin_stream(3, 1);
    add(0, 1, MIB, CS_OP_EXCHANGE);
    add(2, 0, MIB, CS_OP_COPY);
    /* The two ways into rank 0 share its port, packet about. */
    expect_ends((double[]){2 * DELAY + 512 * S, 2 * DELAY + 513 * S});
}

/* Inside a server: 64 bytes of headers, 400 GB/s, 200 ns a link. */
Test(packet, nvlink_has_packets_of_its_own)
{
    begin_stream(4, 2);
    add(0, 1, 10 * 4096, CS_OP_COPY);
    expect_ends((double[]){2 * 200000.0 + 11 * 10400});
    begin_stream(4, 2);
    scene.scenario.cluster.fabrics[CS_NVLINK].kind = CS_DIRECT;
    add(0, 1, 10 * 4096, CS_OP_COPY);
    expect_ends((double[]){2 * 200000.0 + 10 * 10400}); /* nothing in between stores it */
}

/* Half of the rate from 10 us on: 113 packets at full rate, 143 at half. */
Test(packet, a_nic_that_becomes_slow)
{
    begin_stream(2, 1);
    scene.capacity[0]         = (cs_capacity){1, 2, 10e-6, (double)INFINITY};
    scene.scenario.capacity   = scene.capacity;
    scene.scenario.n_capacity = 1;
    add(0, 1, MIB, CS_OP_COPY);
    expect_ends((double[]){34424000});
}

Test(packet, cut_through)
{
    begin_stream(2, 1);
    set->cut_through_bytes = 64;
    add(0, 1, MIB, CS_OP_COPY);
    expect_ends((double[]){22392640});
}

/* ---- pauses ---- */

/* The last end of seven messages of 1 MiB that come to one port of lossless switches together. */
static double fan_in_ps(double alpha_s, uint32_t xon_bytes, bool *is_paused_p)
{
    seen     got  = {0};
    cs_error err  = {0};
    double   last = 0;

    begin_stream(8, 1);
    scene.scenario.cluster.fabrics[CS_NIC].alpha_s = alpha_s;
    set->lossless                                  = true;
    set->xon_bytes                                 = xon_bytes;
    for (uint32_t src = 1; src < 8; src++) {
        add(src, 0, MIB, CS_OP_COPY);
    }
    cr_assert_eq(play(&got, &err), CS_OK, "%g s: %s: %s", alpha_s, err.where, err.message);
    for (size_t i = 0; i < got.count; i++) {
        last = fmax(last, got.intervals[i].end_s * 1e12);
    }
    ct_stream_free(&stream);
    *is_paused_p = got.outcome.counts.pauses > 0;
    return last;
}

/* Automatic thresholds leave enough in a switch until the port that was paused brings more. */
Test(packet, automatic_pauses_cost_nothing)
{
    static const double alphas_s[] = {0, 20e-9, 1e-6, 4e-6, 0.25, 2};
    bool                is_paused;

    for (size_t i = 0; i < sizeof alphas_s / sizeof *alphas_s; i++) {
        double last = fan_in_ps(alphas_s[i], CS_AUTO, &is_paused);
        double want = alphas_s[i] * 1e12 + S + 7 * 256 * S;
        cr_expect(fabs(last - want) < 0.75, "%g s: %.3f ps, not %.3f", alphas_s[i], last, want);
        cr_expect_eq(is_paused, alphas_s[i] < 20e-6);
    }
    cr_expect_gt(fan_in_ps(1e-6, 0, &is_paused), 1e6 + S + 7 * 256 * S);
}

/* ---- ranks ---- */

Test(packet, late_ranks_send_when_they_come)
{
    begin_stream(2, 1);
    scene.arrival_s[1]       = 25e-6;
    scene.scenario.arrival_s = scene.arrival_s;
    add(0, 1, MIB, CS_OP_COPY);
    add(1, 0, MIB, CS_OP_COPY);
    /* Times count from the last arrival, intervals from the first. */
    expect_ends((double[]){25e6 + 22474920, 25e6 + 22474920});
}

/* ---- what is refused ---- */

Test(packet, impossible_options_are_refused)
{
#define REFUSED(change, where, text)            \
    do {                                        \
        begin_stream(2, 1);                     \
        add(0, 1, MIB, CS_OP_COPY);             \
        change;                                 \
        expect_failure(CS_EINVAL, where, text); \
    } while (0)
    REFUSED(set->header_bytes = CS_MAX_PACKET_BYTES, "mtu_bytes", "at most 2^20");
    REFUSED(set->nvlink_mtu_bytes = CS_MAX_PACKET_BYTES, "nvlink_mtu_bytes", "at most 2^20");
    REFUSED(set->queue_bytes = 1000, "queue_bytes", "hold no packet of 4178");
    REFUSED((set->queue_bytes = 10000, set->lossless = true), "queue_bytes", "either");
    REFUSED((set->xoff_bytes = 1000, set->xon_bytes = 2000), "xon_bytes", "at most");
    REFUSED((set->lossless = true, set->xon_bytes = 116713), "xon_bytes",
            "above the automatic xoff_bytes of NIC out of rank 0 (116712)");
    REFUSED(set->link_delay_s = 0.6e-6, "link_delay_s", "at most half");
#undef REFUSED
}

Test(packet, times_beyond_whole_picoseconds_are_refused)
{
    begin_stream(2, 1);
    scene.arrival_s[1]       = 5000;
    scene.scenario.arrival_s = scene.arrival_s;
    add(0, 1, MIB, CS_OP_COPY);
    expect_failure(CS_ENOTSUP, "model", "exact up to 4000 s");
    begin_stream(2, 1);
    scene.scenario.cluster.fabrics[CS_NIC].bandwidth_Bps = 1;
    add(0, 1, (uint64_t)1 << 40, CS_OP_COPY);
    expect_failure(CS_ENOTSUP, "model", "50 days");
    begin_stream(2, 1);
    scene.scenario.cluster.fabrics[CS_NIC].bandwidth_Bps = 1e4;
    add(0, 1, (uint64_t)41 << 20, CS_OP_COPY); /* 4386 s with its headers */
    expect_failure(CS_ENOTSUP, "model", "more than 4096 s");
    begin_stream(2, 1);
    set->mtu_bytes = 1;
    add(0, 1, (uint64_t)1 << 31, CS_OP_COPY);
    expect_failure(CS_ENOTSUP, "model", "2^31 packets");
}
