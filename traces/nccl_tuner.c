/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A ring of n GPUs takes k steps, 2 (n - 1) for AllReduce and n - 1 else, so that its latency is
 * base + k hop and its rate that of all channels times n / k. LL moves as much flag as data, LL128
 * 120 of 128 bytes. A tree (AllReduce alone) goes up and down; what it reaches at a size is a table
 * of NCCL's. NVLS lets the switch add up: 2 x the graph's rate x what of it is reached x 7 of 8
 * heads. */
#include "traces/nccl_tuner.h"

#include <math.h>
#include <string.h>

typedef struct gpu {
    const char *name;
    double      ring_GBps; /* all channels together */
    double      n_channels, ll_most_GBps;
    double      ll128_ring_GBps, ll128_tree_GBps, tree_GBps; /* of a channel */
    double      nvls_GBps;                                   /* 0: none */
} gpu;

static const gpu gpus[] = {
    {"A100", 240, 24, 87.7, 20, 20, 24, 0},
    {"H100", 360, 24, 141, 36.7, 36.7, 38.7, 8 * 2 * 40 * 0.85 * 7 / 8},
    {"H200", 360, 24, 141, 36.7, 36.7, 38.7, 8 * 2 * 40 * 0.85 * 7 / 8},
    {"B200", 720, 32, 282, 73.4, 55.6, 70, 8 * 2 * 80 * 0.74 * 7 / 8},
};

enum { LL, LL128, SIMPLE, PROTOCOLS, TREE_FACTORS = 23 };

static const double ring_base_us[PROTOCOLS] = {6.6, 14, 8.4},
                    ring_hop_us[PROTOCOLS]  = {0.6, 1.9, 3.4},
                    tree_base_us[PROTOCOLS] = {6.8, 14, 8.4},
                    tree_hop_us[PROTOCOLS]  = {0.6, 1.25, 4};

/* What a tree reaches of its rate at 64 B, 128 B and so on. */
static const double tree_reaches[PROTOCOLS][TREE_FACTORS] = {
    {1,   1,   1,   1,   0.9, 0.8, 0.7, 0.7, 0.7, 0.7, 0.6, 0.5,
     0.4, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1,   1,   1,   1},
    {1,   1,   1,   1,   1,   0.9, 0.8, 0.8, 0.8, 0.7, 0.6, 0.6,
     0.6, 0.6, 0.6, 0.6, 0.8, 0.9, 0.9, 0.9, 0.9, 1,   1},
    {0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8, 0.7, 0.6, 0.6, 0.5,
     0.5, 0.5, 0.5, 0.6, 0.7, 0.8, 0.7, 0.7, 0.8, 0.9, 0.9},
};

static const gpu *find_gpu(const char *machine)
{
    for (size_t g = 0; g < sizeof gpus / sizeof gpus[0]; g++) {
        const char *at = strstr(machine, gpus[g].name);
        if (at != NULL && (at == machine || strchr("GN", at[-1]) == NULL)) { /* GB200, GH200 */
            return &gpus[g];
        }
    }
    return NULL;
}

static double tree_reach(int protocol, uint64_t bytes)
{
    size_t at = 0;

    while (at < TREE_FACTORS && bytes / 128 >= (uint64_t)1 << at) {
        at++;
    }
    return at < TREE_FACTORS ? tree_reaches[protocol][at] : 1;
}

size_t cs_nccl_estimates(const char *machine, cs_collective collective, uint32_t n_ranks,
                         uint64_t bytes, cs_nccl_estimate estimates[CS_NCCL_MOST_ESTIMATES])
{
    static const char *const trees[] = {"Tree/LL", "Tree/LL128", "Tree/Simple"};
    static const char *const rings[] = {"Ring/LL", "Ring/LL128", "Ring/Simple"};
    const gpu               *g       = find_gpu(machine);
    const bool               is_all  = collective == CS_ALLREDUCE;
    size_t                   n       = 0;

    if (g == NULL || n_ranks < 2 || n_ranks > 8 ||
        !(is_all || collective == CS_ALLGATHER || collective == CS_REDUCESCATTER)) {
        return 0;
    }
    const double hops  = (double)n_ranks - 1;
    const double steps = is_all ? 2 * hops : hops, part = (double)n_ranks / steps;
    const double tree         = fmin(0.92 * g->ring_GBps, g->n_channels * g->tree_GBps);
    const double tree_rates[] = {fmin(tree / 3.8, g->ll_most_GBps),
                                 fmin(tree * 7 / 9, g->n_channels * g->ll128_tree_GBps), tree};
    const double ring_rates[] = {fmin(g->ll_most_GBps, 0.5 * g->ring_GBps),
                                 fmin(0.92 * g->ring_GBps, g->n_channels * g->ll128_ring_GBps),
                                 g->ring_GBps};
    for (int p = 0; p < PROTOCOLS && is_all; p++) {
        estimates[n++] = (cs_nccl_estimate){trees[p], tree_base_us[p] + 2 * hops * tree_hop_us[p],
                                            tree_rates[p] / 2 * tree_reach(p, bytes)};
    }
    for (int p = 0; p < PROTOCOLS; p++) {
        estimates[n++] = (cs_nccl_estimate){rings[p], ring_base_us[p] + steps * ring_hop_us[p],
                                            ring_rates[p] * part};
    }
    if (is_all && g->nvls_GBps > 0 && n_ranks > 2) {
        estimates[n++] = (cs_nccl_estimate){"NVLS/Simple", 25, g->nvls_GBps * part};
    }
    return n;
}

const char *cs_nccl_tuner_choice(const char *machine, cs_collective collective, uint32_t n_ranks,
                                 uint64_t bytes)
{
    cs_nccl_estimate estimates[CS_NCCL_MOST_ESTIMATES];
    const size_t     n        = cs_nccl_estimates(machine, collective, n_ranks, bytes, estimates);
    const char      *choice   = NULL;
    double           smallest = HUGE_VAL;

    for (size_t e = 0; e < n; e++) {
        double us = estimates[e].latency_us + (double)bytes / (1000 * estimates[e].rate_GBps);
        if (us < smallest) {
            smallest = us;
            choice   = estimates[e].choice;
        }
    }
    return choice;
}
