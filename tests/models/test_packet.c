/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The packet model behind the dispatcher, on schedules whose times can be computed by hand to the
 * picosecond: 400 Gb/s, links of 500 ns, 4096 bytes of payload and 82 of headers, so that a full
 * packet takes 83 560 ps. The engines have tests of their own. */
#include "cs/topology.h"
#include "models/packet/ports.h"
#include "support/foreign.h"
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

static void begin_stream(uint32_t n, uint32_t gpus_per_server)
{
    ct_scene_set(&scene, "ring", CS_ALLREDUCE, n, 1000);
    set_cluster(n, gpus_per_server);
    stream = (ct_stream){0};
}

static cs_transfer *add(uint32_t src, uint32_t dst, uint64_t bytes, cs_op op)
{
    return ct_stream_send(&stream, &scene.scenario.cluster, src, dst, bytes, op, CS_OWN_SRC);
}

static cs_status play(const cs_model *model, ct_run *got, cs_error *err)
{
    const cs_plan plan = {.n_chunks = 4, .n_slots = 4, .n_rounds = 9, .uses = 15};

    ct_scene_play(&scene, &stream, &plan);
    return ct_scene_try_on(&scene, model, &storage, got, err);
}

/* The ends of the messages, counted from the first arrival. */
static void expect_ends_on(const cs_model *model, const double *want_ps)
{
    ct_run    got;
    cs_error  err    = {0};
    cs_status status = play(model, &got, &err);

    cr_assert_eq(status, CS_OK, "%s: %s", err.where, err.message);
    cr_assert_eq(got.count, stream.count);
    for (size_t i = 0; i < got.count; i++) {
        double end = got.intervals[i].end_s * 1e12;
        cr_assert(fabs(end - want_ps[i]) < 0.75, "%s: message %zu ends at %.3f, not %.3f",
                  model->name, i, end, want_ps[i]);
    }
    ct_run_free(&got);
}

static void expect_ends(const double *want_ps)
{
    expect_ends_on(packet(), want_ps);
    ct_stream_free(&stream);
}

static void expect_failure(cs_status status, const char *where, const char *text)
{
    ct_run   got;
    cs_error err = {0};

    cr_expect_eq(play(packet(), &got, &err), status, "%s: %s", err.where, err.message);
    cr_expect_str_eq(err.where, where);
    cr_expect(strstr(err.message, text) != NULL, "%s", err.message);
    ct_run_free(&got);
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

/* A packet of nothing at all is a byte, so that it does not go through two ports at once. */
Test(packet, messages_of_nothing)
{
    begin_stream(3, 1);
    set->header_bytes = 0;
    add(0, 1, 0, CS_OP_COPY);
    add(1, 2, 0, CS_OP_COPY);
    expect_ends((double[]){2 * DELAY + 2 * 20, 2 * DELAY + 2 * 20});
    begin_stream(3, 1);
    set->header_bytes = 0;
    add(0, 1, 0, CS_OP_COPY);
    add(1, 2, 0, CS_OP_COPY)->flags = 0;
    expect_ends((double[]){2 * DELAY + 2 * 20, 4 * DELAY + 4 * 20});
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

/* A NIC has half of its rate from then on. */
static void slow_down(uint32_t rank, double from_s)
{
    scene.capacity[0]         = (cs_capacity){rank, 2, from_s, (double)INFINITY, false};
    scene.scenario.capacity   = scene.capacity;
    scene.scenario.n_capacity = 1;
}

/* Half of the rate from 10 us on: 113 packets at full rate, 143 at half. */
Test(packet, a_nic_that_becomes_slow)
{
    begin_stream(2, 1);
    slow_down(1, 10e-6);
    add(0, 1, MIB, CS_OP_COPY);
    expect_ends((double[]){34424000});
}

/* ---- a slow NIC that helps ---- */

/* The same served in both ways, and by ns-3 where that is. */
static void expect_ends_everywhere(const double *want_ps)
{
    const cs_model *ns3 = ct_foreign_model("ns3");

    expect_ends_on(packet(), want_ps);
    set->trains = false;
    expect_ends_on(packet(), want_ps);
    if (ns3 != NULL) {
        cs_fields_default(ns3->options, &storage);
        expect_ends_on(ns3, want_ps);
    }
    ct_stream_free(&stream);
}

/* Ranks 0 and 1 have a packet for rank 2, whose next message waits for rank 1's. They are there in
 * the same picosecond, and rank 0's goes first; if its NIC is slow, rank 1's does. */
static void two_packets_meet(bool is_slow, const double *want_ps)
{
    begin_stream(4, 1);
    if (is_slow) {
        slow_down(0, 0);
    }
    add(0, 2, 4096, CS_OP_COPY)->dst_slot = 1;
    add(1, 2, 4096, CS_OP_COPY);
    add(2, 3, MIB, CS_OP_COPY)->flags = 0;
    expect_ends_everywhere(want_ps);
}

Test(packet, a_slow_nic_helps_who_waits_for_its_packet)
{
    two_packets_meet(false, (double[]){2 * DELAY + 2 * S, 2 * DELAY + 3 * S, 4 * DELAY + 260 * S});
    two_packets_meet(true, (double[]){2 * DELAY + 3 * S, 2 * DELAY + 2 * S, 4 * DELAY + 259 * S});
}

/* Ranks 0 and 4 send 256 packets each to rank 2 at once, so that 256 of them wait there when one of
 * rank 1 comes, which the last message waits for. If rank 0 sends at half of its rate 128 packets
 * are not there yet. All others end sooner than that message in either case. */
static void a_queue_builds_up(bool is_slow, const double *want_ps)
{
    begin_stream(5, 1);
    if (is_slow) {
        slow_down(0, 0);
    }
    add(0, 2, MIB, CS_OP_COPY)->dst_slot = 1;
    add(4, 2, MIB, CS_OP_COPY)->dst_slot = 2;
    add(1, 3, MIB, CS_OP_COPY)->dst_slot = 1;
    add(1, 2, 4096, CS_OP_COPY);
    add(2, 3, MIB, CS_OP_COPY)->flags = 0;
    expect_ends_everywhere(want_ps);
}

Test(packet, a_slow_nic_helps_who_waits_behind_a_queue)
{
    a_queue_builds_up(false,
                      (double[]){2 * DELAY + 512 * S, 2 * DELAY + 513 * S, 2 * DELAY + 257 * S,
                                 2 * DELAY + 514 * S, 4 * DELAY + 771 * S});
    a_queue_builds_up(true,
                      (double[]){2 * DELAY + 514 * S, 2 * DELAY + 385 * S, 2 * DELAY + 257 * S,
                                 2 * DELAY + 386 * S, 4 * DELAY + 643 * S});
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
    ct_run   got;
    cs_error err  = {0};
    double   last = 0;

    begin_stream(8, 1);
    scene.scenario.cluster.fabrics[CS_NIC].alpha_s = alpha_s;
    set->lossless                                  = true;
    set->xon_bytes                                 = xon_bytes;
    for (uint32_t src = 1; src < 8; src++) {
        add(src, 0, MIB, CS_OP_COPY);
    }
    cr_assert_eq(play(packet(), &got, &err), CS_OK, "%g s: %s: %s", alpha_s, err.where,
                 err.message);
    for (size_t i = 0; i < got.count; i++) {
        last = fmax(last, got.intervals[i].end_s * 1e12);
    }
    *is_paused_p = got.outcome.counts.pauses > 0;
    ct_run_free(&got);
    ct_stream_free(&stream);
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
