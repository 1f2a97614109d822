/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parallel Rings, flat ring and rings per channel: completeness, closed forms, use of the NICs. */
#include "support/oracle.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

static ct_scene scene;

static const cs_collective collectives[] = {CS_ALLGATHER, CS_REDUCESCATTER, CS_ALLREDUCE};

/* Servers of L GPUs: the pairs of the specification's symbolic checks. */
static const uint32_t shapes[][2] = {{1, 4}, {2, 1},  {2, 2}, {2, 4}, {3, 4}, {4, 4}, {5, 3},
                                     {8, 4}, {16, 4}, {4, 8}, {3, 6}, {7, 5}, {1, 2}, {5, 6}};

static void set(const char *algorithm, cs_collective collective, uint32_t servers, uint32_t locals,
                uint64_t block)
{
    ct_scene_set(&scene, algorithm, collective, servers * locals, block * servers * locals);
    scene.scenario.cluster.gpus_per_server         = locals;
    scene.scenario.cluster.fabrics[CS_NVLINK].kind = CS_DIRECT;
}

/* Every rank receives every foreign block once, and nothing else. */
Test(parallel_rings, complete_and_without_a_transfer_too_many)
{
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        for (int v = 0; v < 12; v++) {
            uint32_t n = shapes[i][0], l = shapes[i][1];
            uint64_t p = (uint64_t)n * l, halves = v % 3 == 2 ? 2 : 1;
            uint32_t segments = v / 3 % 2 == 0 ? 1 : 3;
            if (v >= 6 && l % 2 != 0) {
                continue;
            }
            set("parallel_rings", collectives[v % 3], n, l, 999);
            ct_scene_option(&scene, "exchange", v < 6 ? "mesh" : "sockets");
            ct_scene_option(&scene, "segments", segments == 1 ? "1" : "3");
            ct_scene_ready(&scene);
            ct_stream stream = ct_scene_judged(&scene);
            cr_assert_eq(stream.count, halves * p * (p - 1) * segments);
            ct_stream_free(&stream);
        }
    }
}

/* The library's verdict on a stream that is played as it is. */
static bool is_refused(const ct_stream *stream)
{
    static ct_scene played;
    cs_verdict      verdict = {0};

    played.scenario = scene.scenario;
    ct_scene_play(&played, stream, &scene.plan);
    const cs_job job = ct_scene_job(&played, NULL);
    cr_assert_eq(cs_job_verify(&job, &verdict, NULL), CS_OK);
    cr_assert_eq(ct_judge(&scene.scenario, &scene.plan, stream).is_correct, verdict.is_correct);
    cr_assert(verdict.is_correct || verdict.is_located);
    return !verdict.is_correct;
}

/* The listing of the paper ends before what crossed last is handed on: P (q-1) blocks are missing
 * with q GPUs on a socket. */
Test(parallel_rings, without_the_last_exchange_it_is_no_allgather)
{
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        uint32_t n = shapes[i][0], l = shapes[i][1], left_out = 0;
        if (l % 2 != 0 || l < 4) {
            continue;
        }
        set("parallel_rings", CS_ALLGATHER, n, l, 4096);
        ct_scene_option(&scene, "exchange", "sockets");
        ct_scene_ready(&scene);
        ct_stream stream = ct_stream_record(&scene, 64);
        cr_assert_not(is_refused(&stream));
        while (stream.transfers[stream.count - 1].round + 1 == scene.plan.n_rounds) {
            ct_stream_remove(&stream, stream.count - 1);
            left_out++;
        }
        cr_assert_eq(left_out, n * l * (l / 2 - 1), "%u servers of %u", n, l);
        cr_assert(is_refused(&stream), "%u servers of %u", n, l);
        ct_stream_free(&stream);
    }
}

/* Between the sockets of a server a block moves once, and leaving out any transfer is noticed. */
Test(parallel_rings, every_transfer_is_needed)
{
    for (int v = 0; v < 12; v++) {
        uint32_t l = v < 6 ? 4 : 2;
        set("parallel_rings", collectives[v % 3], 3, l, 4096);
        ct_scene_option(&scene, "exchange", v / 3 % 2 == 0 ? "mesh" : "sockets");
        ct_scene_ready(&scene);
        ct_stream stream = ct_stream_record(&scene, 64);
        uint32_t  across = 0, halves = v % 3 == 2 ? 2 : 1;
        for (size_t i = 0; i < stream.count; i++) {
            ct_stream          less = ct_stream_copy(&stream);
            const cs_transfer *t    = &stream.transfers[i];
            across += t->src / l == t->dst / l && t->src % l / (l / 2) != t->dst % l / (l / 2);
            ct_stream_remove(&less, i);
            cr_assert(is_refused(&less), "without transfer %zu", i);
            ct_stream_free(&less);
        }
        cr_assert_eq(across, halves * 3 * 3 * l * (v / 3 % 2 == 0 ? l / 2 : 1));
        ct_stream_free(&stream);
    }
}

/* max((N-1) R + D, N D), whichever fabric is the slower one. */
Test(parallel_rings, closed_form)
{
    ct_rng rng = ct_rng_for(7);

    for (int i = 0; i < 200; i++) {
        uint32_t n = 1 + ct_below(&rng, 9), l = 2 + ct_below(&rng, 6);
        set("parallel_rings", collectives[i % 3], n, l, 4096 * (1 + ct_below(&rng, 500)));
        cs_fabric *f               = scene.scenario.cluster.fabrics;
        f[CS_NIC].bandwidth_Bps    = ct_uniform(&rng, 5e9, 100e9);
        f[CS_NVLINK].bandwidth_Bps = ct_uniform(&rng, 5e9, 100e9);
        f[CS_NVLINK].alpha_s       = ct_uniform(&rng, 0, 9e-6);
        ct_scene_ready(&scene);
        double block = (double)(scene.scenario.bytes / (n * l));
        double r     = ct_scene_message_s(&scene, CS_NIC, block),
               d     = ct_scene_message_s(&scene, CS_NVLINK, block);
        double want  = fmax((n - 1) * r + d, n * d) * (i % 3 == 2 ? 2 : 1);
        double form  = scene.algorithm->closed_form_s(&scene.scenario, &scene.options);
        cr_assert(ct_is_close(form, want, 1e-12));
        cr_assert(ct_is_close(ct_scene_replay(&scene, NULL).elapsed_s, want, 1e-12), "%s",
                  ct_scene_text(&scene));
    }
}

/* A server at half its rate: (N-1) 2 R, and the exchange behind. */
Test(parallel_rings, a_slow_server_slows_every_ring)
{
    set("parallel_rings", CS_ALLGATHER, 8, 4, 1 << 20);
    scene.capacity[0]         = (cs_capacity){0, 2, 0, (double)INFINITY, false};
    scene.scenario.capacity   = scene.capacity;
    scene.scenario.n_capacity = 1;
    ct_scene_ready(&scene);
    double slow = ct_scene_message_s(&scene, CS_NIC, 2.0 * (1 << 20)),
           d    = ct_scene_message_s(&scene, CS_NVLINK, 1 << 20);
    cr_assert(ct_is_close(ct_scene_replay(&scene, NULL).elapsed_s, 7 * slow + d, 1e-12));
}

/* The local ranks of a server whose NICs send, or receive, in a round; in any for UINT32_MAX. */
static uint32_t nics(const ct_stream *stream, uint32_t locals, uint32_t server, bool send,
                     uint32_t round)
{
    uint32_t used = 0;

    for (size_t i = 0; i < stream->count; i++) {
        const cs_transfer *t   = &stream->transfers[i];
        uint32_t           end = send ? t->src : t->dst;
        if (cs_transfer_fabric(t) == CS_NIC && end / locals == server &&
            (round == UINT32_MAX || t->round == round)) {
            used |= 1u << end % locals;
        }
    }
    return used;
}

/* All NICs of a server send and receive with as many rings, one each with a flat ring. */
Test(parallel_rings, which_nics_are_in_use)
{
    static const struct {
        const char *algorithm, *key, *value;
        uint32_t    in, out;
    } cases[] = {{"parallel_rings", "exchange", "mesh", 0xf, 0xf},
                 {"parallel_rings", "exchange", "sockets", 0xf, 0xf},
                 {"nccl_rings", "order", "rotated", 0xf, 0xf},
                 {"nccl_rings", "order", "sockets", 0xf, 0xf},
                 {"nccl_rings", "channels", "2", 0x3, 0x9},
                 {"flat_ring", NULL, NULL, 0x1, 0x8}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        set(cases[i].algorithm, CS_ALLGATHER, 3, 4, 4096);
        if (cases[i].key != NULL) {
            ct_scene_option(&scene, cases[i].key, cases[i].value);
        }
        ct_scene_ready(&scene);
        ct_stream stream = ct_stream_record(&scene, 64);
        cr_assert_eq(nics(&stream, 4, 1, false, UINT32_MAX), cases[i].in, "%s", cases[i].algorithm);
        cr_assert_eq(nics(&stream, 4, 1, true, UINT32_MAX), cases[i].out, "%s", cases[i].algorithm);
        ct_stream_free(&stream);
    }
}

/* In every ring step, both ways. */
Test(parallel_rings, all_nics_work_in_every_step)
{
    for (int v = 0; v < 4; v++) {
        set("parallel_rings", collectives[v % 2], 6, 4, 4096);
        ct_scene_option(&scene, "exchange", v < 2 ? "mesh" : "sockets");
        ct_scene_ready(&scene);
        ct_stream stream = ct_stream_record(&scene, 64);
        uint32_t  steps  = 0;
        for (uint32_t round = 0; round < scene.plan.n_rounds; round++) {
            uint32_t out = nics(&stream, 4, 2, true, round);
            cr_assert(out == 0 || out == 0xf);
            cr_assert_eq(nics(&stream, 4, 2, false, round), out);
            steps += out != 0;
        }
        cr_assert_eq(steps, 5);
        ct_stream_free(&stream);
    }
}

/* (n-1) (alpha + block / c) where the inside of the servers is fast. */
Test(channel_rings, closed_form)
{
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        for (int v = 0; v < 9; v++) {
            uint32_t n = shapes[i][0], l = shapes[i][1], parts = v < 3 ? 1 : l;
            if (n == 1 || (v >= 6 && l % 2 != 0)) {
                continue;
            }
            set(v < 3 ? "flat_ring" : "nccl_rings", collectives[v % 3], n, l, 1680 * 4096);
            scene.scenario.cluster.fabrics[CS_NVLINK].alpha_s       = 1e-7;
            scene.scenario.cluster.fabrics[CS_NVLINK].bandwidth_Bps = 9e12;
            if (v >= 3) {
                ct_scene_option(&scene, "order", v >= 6 ? "sockets" : "rotated");
            }
            ct_scene_ready(&scene);
            ct_stream stream = ct_scene_judged(&scene);
            ct_stream_free(&stream);
            double want = (n * l - 1) * ct_scene_message_s(&scene, CS_NIC, 1680.0 * 4096 / parts);
            want *= v % 3 == 2 ? 2 : 1;
            double form = scene.algorithm->closed_form_s(&scene.scenario, &scene.options);
            cr_assert(ct_is_close(ct_scene_replay(&scene, NULL).elapsed_s, want, 1e-12));
            cr_assert(ct_is_close(form, want, 1e-12));
        }
    }
}

static void refused(const char *algorithm, const char *key, const char *value, const char *word,
                    const char *where)
{
    cs_error err = {0};

    set(algorithm, CS_ALLGATHER, 2, 3, 4096);
    ct_scene_option(&scene, key, value);
    cr_assert_eq(ct_scene_check(&scene, &err), CS_ENOTSUP);
    cr_assert(strstr(err.message, word) != NULL, "%s", err.message);
    cr_assert_str_eq(err.where, where);
}

Test(parallel_rings, what_is_refused)
{
    cs_error err = {0};

    refused("parallel_rings", "exchange", "sockets", "socket", "cluster.gpus_per_server");
    refused("nccl_rings", "order", "sockets", "socket", "algorithm.options.order");
    refused("nccl_rings", "channels", "4", "NICs", "algorithm.options.channels");
    set("nccl_rings", CS_ALLGATHER, 1, 2, 4096);
    scene.scenario.cluster.fabrics[CS_NVLINK].kind = CS_SWITCHED;
    scene.scenario.cluster.n_ranks = scene.scenario.cluster.gpus_per_server = CS_MAX_RANKS;
    cr_assert_eq(ct_scene_check(&scene, &err), CS_ENOTSUP);
    err = (cs_error){0};
    set("parallel_rings", CS_ALLTOALL, 2, 2, 4096);
    cr_assert_eq(ct_scene_check(&scene, &err), CS_ENOTSUP);
}
