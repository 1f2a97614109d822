/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every algorithm of the registry, for every collective that it does, on many numbers of ranks,
 * sizes and clusters: its stream keeps the rules of cs/schedule.h and is the collective that it
 * claims to be, by a checker that knows nothing of the library's. */
#include "support/oracle.h"
#include "support/rng.h"

#include <criterion/criterion.h>
#include <stdlib.h>

/* A cluster of n ranks: GPUs per server and the kind of NVLink. */
typedef struct wiring {
    uint32_t       gpus_per_server; /* 0: all of them */
    cs_fabric_kind kind;
} wiring;

static const wiring shapes[] = {{1, CS_SWITCHED}, {2, CS_SWITCHED}, {2, CS_DIRECT},
                                {4, CS_SWITCHED}, {4, CS_DIRECT},   {0, CS_SWITCHED}};
/* A stream has about n_chunks * n_ranks transfers; those beyond MOST_MOVES, of rings with a channel
 * per GPU in a very large server, would take longer than all others together. */
enum { N_SHAPES = sizeof shapes / sizeof shapes[0], N_SIZES = 7, MOST_MOVES = 20000 };

static uint64_t size_of(uint32_t n, int which)
{
    const uint64_t sizes[N_SIZES] = {
        1, n - 1, n, n + 1, 1000, 12345677, (uint64_t)n * (n - 1) * 64,
    };
    return sizes[which];
}

/* One scene; false where the algorithm refuses it or it is too large. */
static bool prepare(ct_scene *scene, const cs_algorithm *algorithm, cs_collective collective,
                    uint32_t n, uint64_t bytes, wiring shape)
{
    uint32_t g = shape.gpus_per_server == 0 ? n : shape.gpus_per_server;

    if ((algorithm->collectives >> collective & 1u) == 0 || n % g != 0) {
        return false;
    }
    ct_scene_set(scene, algorithm->name, collective, n, bytes);
    scene->scenario.cluster.gpus_per_server         = g;
    scene->scenario.cluster.fabrics[CS_NVLINK].kind = shape.kind;
    ct_scene_slow(scene);
    if (n > 12) {
        ct_scene_hurry(scene);
    }
    cs_error  err    = {0};
    cs_status status = ct_scene_check(scene, &err);
    cr_assert(status == CS_OK || status == CS_ENOTSUP, "%s: %s", ct_scene_text(scene), err.message);
    cr_assert(status == CS_OK || err.message[0] != '\0');
    return status == CS_OK && (uint64_t)scene->plan.n_chunks * n <= MOST_MOVES;
}

static void both_checkers_accept(ct_scene *scene, const ct_stream *stream)
{
    ct_judgement judgement = ct_judge(&scene->scenario, &scene->plan, stream);
    cs_verdict   verdict   = {0};
    cs_error     err       = {0};
    const cs_job job       = ct_scene_job(scene, NULL);

    cr_assert(judgement.is_correct, "%s: %s", ct_scene_text(scene), judgement.text);
    cr_assert_eq(cs_job_verify(&job, &verdict, &err), CS_OK, "%s: %s", ct_scene_text(scene),
                 err.message);
    cr_assert(verdict.is_correct, "%s: %s", ct_scene_text(scene), verdict.text);
}

static void check_transfer(const ct_scene *scene, const cs_transfer *t, uint32_t last_round)
{
    const cs_cluster *c         = &scene->scenario.cluster;
    const cs_plan    *plan      = &scene->plan;
    bool              exchanges = cs_transfer_op(t) == CS_OP_EXCHANGE;

    uint32_t ends      = cs_plan_ends(plan, c);
    bool     is_switch = cs_is_switch(c, t->src) || cs_is_switch(c, t->dst);

    cr_assert(t->src < ends && t->dst < ends && t->src != t->dst);
    cr_assert(!cs_is_switch(c, t->src) || !cs_is_switch(c, t->dst));
    cr_assert(t->span >= 1 && t->chunk + t->span <= plan->n_chunks);
    cr_assert_leq((uint32_t)t->src_slot + t->span, plan->n_slots);
    cr_assert_leq((uint32_t)t->dst_slot + t->span, plan->n_slots);
    cr_assert(t->round >= last_round && t->round < plan->n_rounds, "%s: round %u after %u",
              ct_scene_text(scene), t->round, last_round);
    bool is_network = t->src == cs_network_switch(c) || t->dst == cs_network_switch(c);
    cr_assert(!is_network || (plan->uses & CS_USES_NETWORK_SWITCH) != 0);
    cr_assert_eq(cs_transfer_fabric(t), is_network  ? (uint32_t)CS_NIC
                                        : is_switch ? (uint32_t)CS_NVLINK
                                                    : cs_fabric_of(c, t->src, t->dst));
    cr_assert_leq(cs_transfer_op(t), CS_OP_EXCHANGE);
    cr_assert(exchanges || (t->flags & CS_DONE_SRC) == 0);
    cr_assert(t->span == 1 || (plan->uses & CS_USES_SPAN) != 0);
    cr_assert(!exchanges || (plan->uses & CS_USES_EXCHANGE) != 0);
    cr_assert((t->flags & CS_SHARED) == 0 || (plan->uses & CS_USES_SHARED) != 0);
    cr_assert(cs_transfer_fabric(t) == CS_NIC || (plan->uses & CS_USES_NVLINK) != 0);
}

/* Bytes of the parts [first, first + count) when `total` is dealt out one byte at a time. */
static uint64_t dealt(uint64_t total, uint32_t parts, uint32_t first, uint32_t count)
{
    uint64_t sum = 0;

    for (uint32_t i = first; i < first + count; i++) {
        sum += total >= i + 1 ? (total - i - 1) / parts + 1 : 0;
    }
    return sum;
}

/* Every chunk has one size, whoever sends it, alone or in a span, and the sizes add up to the
 * buffer (in an AlltoAll, to every rank's): nothing is lost, nothing enlarged. */
static void chunks_keep_their_bytes(const ct_scene *scene, const ct_stream *stream)
{
    uint32_t n_chunks = scene->plan.n_chunks;
    uint32_t buffers =
        scene->scenario.collective == CS_ALLTOALL ? scene->scenario.cluster.n_ranks : 1;
    uint32_t  parts = n_chunks / buffers;
    uint64_t  total = 0, unknown = UINT64_MAX;
    uint64_t *size = malloc(n_chunks * sizeof *size);

    cr_assert_not_null(size);
    for (uint32_t c = 0; c < n_chunks; c++) {
        size[c] =
            scene->plan.chunks_differ ? unknown : dealt(scene->scenario.bytes, parts, c % parts, 1);
    }
    for (size_t i = 0; i < stream->count; i++) {
        const cs_transfer *t = &stream->transfers[i];
        if (t->span == 1 && size[t->chunk] == unknown) {
            size[t->chunk] = t->bytes;
        }
    }
    for (size_t i = 0; i < stream->count; i++) {
        const cs_transfer *t   = &stream->transfers[i];
        uint64_t           sum = 0;
        for (uint32_t c = t->chunk; c < t->chunk + t->span && !cs_is_repeat(t); c++) {
            sum += size[c];
        }
        cr_assert_eq(t->bytes, sum, "%s: chunk %u", ct_scene_text(scene), t->chunk);
    }
    for (uint32_t c = 0; c < n_chunks; c++) {
        cr_assert_neq(size[c], unknown, "%s: chunk %u never moves alone", ct_scene_text(scene), c);
        total += size[c];
    }
    cr_assert_eq(total, buffers * scene->scenario.bytes, "%s", ct_scene_text(scene));
    free(size);
}

/* A part that joins stands behind one of the same message, in the same block. */
static void check_joins(const ct_scene *scene, const ct_stream *stream)
{
    for (size_t i = 0; i < stream->count; i++) {
        const cs_transfer *t = &stream->transfers[i];
        if ((t->flags & CS_JOIN) != 0) {
            cr_assert((scene->plan.uses & CS_USES_JOIN) != 0);
            cr_assert(i > 0 && t[-1].src == t->src && t[-1].dst == t->dst &&
                          t[-1].round == t->round && (t->flags & (CS_FENCE | CS_SHARED)) == 0,
                      "%s: transfer %zu joins another message", ct_scene_text(scene), i);
            cr_assert(cs_transfer_op(t) != CS_OP_EXCHANGE &&
                      cs_transfer_op(t - 1) != CS_OP_EXCHANGE);
            cr_assert_eq(cs_transfer_fabric(t), cs_transfer_fabric(t - 1));
        }
    }
}

static void stream_keeps_the_rules(ct_scene *scene, const ct_stream *stream)
{
    uint32_t n_chunks = scene->plan.n_chunks, round = 0;
    uint64_t messages = 0, bytes = 0;

    cr_assert(scene->plan.n_slots >= 1 && scene->plan.n_slots <= CS_MAX_SLOTS);
    cr_assert(!scene->plan.starts_own || scene->plan.n_slots >= n_chunks);
    for (size_t i = 0; i < stream->count; i++) {
        const cs_transfer *t    = &stream->transfers[i];
        uint32_t           ways = cs_transfer_op(t) == CS_OP_EXCHANGE ? 2 : 1;
        check_transfer(scene, t, round);
        round = t->round;
        messages += (t->flags & CS_JOIN) != 0 ? 0 : ways;
        bytes += ways * t->bytes;
    }
    chunks_keep_their_bytes(scene, stream);
    check_joins(scene, stream);
    cr_assert_eq(scene->plan.n_rounds, round + 1, "%s: %u rounds planned, %u used",
                 ct_scene_text(scene), scene->plan.n_rounds, round + 1);
    cs_outcome outcome = ct_scene_replay(scene, NULL);
    cr_assert(outcome.verified && outcome.verdict.is_correct);
    cr_assert_eq(outcome.n_transfers, messages);
    cr_assert_eq(outcome.wire_bytes, bytes);
}

static void any_block_gives_the_same_stream(ct_scene *scene, const ct_stream *stream)
{
    static const size_t capacities[] = {64, 65, 100, 4096};

    for (size_t i = 0; i < sizeof capacities / sizeof capacities[0]; i++) {
        ct_stream other = ct_stream_record(scene, capacities[i]);
        cr_assert(ct_stream_equal(stream, &other), "%s: blocks of %zu differ", ct_scene_text(scene),
                  capacities[i]);
        ct_stream_free(&other);
    }
}

/* How often does a rank send, and receive, in one round? At most once each, if the plan says that
 * the schedule runs in rounds. */
static void count_in_rounds(const ct_scene *scene, const ct_stream *stream)
{
    uint32_t  n    = scene->scenario.cluster.n_ranks;
    uint32_t *sent = calloc(n, sizeof *sent), *got = calloc(n, sizeof *got);

    cr_assert(sent != NULL && got != NULL);
    for (size_t i = 0; i < stream->count; i++) {
        const cs_transfer *t = &stream->transfers[i];
        if ((t->flags & CS_JOIN) != 0) {
            continue;
        }
        cr_assert(sent[t->src] != t->round + 1, "%s: rank %u sends twice in round %u",
                  ct_scene_text(scene), t->src, t->round);
        cr_assert(got[t->dst] != t->round + 1, "%s: rank %u receives twice in round %u",
                  ct_scene_text(scene), t->dst, t->round);
        sent[t->src] = got[t->dst] = t->round + 1;
        if (cs_transfer_op(t) == CS_OP_EXCHANGE) {
            sent[t->dst] = got[t->src] = t->round + 1;
        }
    }
    free(sent);
    free(got);
}

/* With equal chunks, arrivals and ports: does every round end before the next one starts? */
static void rounds_do_not_overlap(const ct_scene *scene, const ct_stream *stream)
{
    ct_run run     = ct_scene_observe(scene);
    double ended_s = 0, end_s = 0;

    for (size_t i = 0; i < stream->count; i++) {
        ended_s =
            i > 0 && stream->transfers[i].round > stream->transfers[i - 1].round ? end_s : ended_s;
        cr_assert(run.intervals[i].start_s >= ended_s * (1 - 1e-12),
                  "%s: a transfer of round %u starts at %.9g s, the round before ends at %.9g s",
                  ct_scene_text(scene), stream->transfers[i].round, run.intervals[i].start_s,
                  ended_s);
        end_s = run.intervals[i].end_s > end_s ? run.intervals[i].end_s : end_s;
    }
    ct_run_free(&run);
}

static void synchronous_means_it(ct_scene *scene, const ct_stream *stream)
{
    const cs_cluster *c = &scene->scenario.cluster;

    if (scene->plan.is_round_synchronous) {
        count_in_rounds(scene, stream);
        if (c->gpus_per_server == 1 && scene->scenario.bytes % scene->plan.n_chunks == 0) {
            rounds_do_not_overlap(scene, stream);
        }
    }
}

static size_t check_sizes(const cs_algorithm *algorithm, uint32_t n, wiring shape)
{
    static ct_scene scene;
    size_t          seen = 0;

    for (int size = n > 33 ? N_SIZES - 2 : 0; size < N_SIZES; size++) {
        for (int c = 0; c < CS_COLLECTIVE_COUNT; c++) {
            if (prepare(&scene, algorithm, (cs_collective)c, n, size_of(n, size), shape)) {
                ct_stream stream = ct_stream_record(&scene, 512);
                both_checkers_accept(&scene, &stream);
                stream_keeps_the_rules(&scene, &stream);
                any_block_gives_the_same_stream(&scene, &stream);
                synchronous_means_it(&scene, &stream);
                ct_stream_free(&stream);
                seen++;
            }
        }
    }
    return seen;
}

/* A scene is set up and recorded once for all that is asked of it. */
Test(conformance_algorithms, every_stream_is_right)
{
    static const uint32_t large[] = {64, 100, 128};
    const size_t          n_large = sizeof large / sizeof large[0];

    for (size_t a = 0; cs_algorithms[a] != NULL; a++) {
        bool   is_rare = ct_adds_in_switches(cs_algorithms[a]); /* it runs on few of the shapes */
        size_t seen    = 0;
        for (int s = 0; s < N_SHAPES; s++) {
            for (uint32_t n = 2; n <= 33; n++) {
                if ((n + a + (size_t)s) % CT_EVERY == 0 || is_rare) {
                    seen += check_sizes(cs_algorithms[a], n, shapes[s]);
                }
            }
            /* They take most of the time: a part of the tests has one of them for each shape. */
            for (size_t i = 0; i < n_large; i++) {
                if (CT_EVERY == 1 || (i + a + (size_t)s) % n_large == 0) {
                    seen += check_sizes(cs_algorithms[a], large[i], shapes[s]);
                }
            }
        }
        cr_assert_geq(seen, CT_CASES(100), "%s was hardly tested, %zu times",
                      cs_algorithms[a]->name, seen);
    }
}
