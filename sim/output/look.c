/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/look.h"

#include <math.h>
#include <string.h>

/* clang-format off */
const cs_look cs_looks[] = {
    {"stragglar",          "StragglAR",        0xD55E00, 0xFF8A3D, "",          "circle",    7},
    {"ring",               "ring",             0x0072B2, 0x4BA6E8, "",          "square",    5},
    {"rhd",                "rhd",              0x009E73, 0x2CC79B, "9,3",       "triangle",  9},
    {"allpairs",           "allpairs",         0xC86DA0, 0xF2A6D0, "5,3",       "down",     11},
    {"broadcast",          "broadcast",        0x775566, 0xA8919D, "8,3,2,3",   "diamond",  13},
    {"circulant",          "circulant",        0x9977EE, 0xC9B8FF, "2,3",       "cross",     1},
    {"optcc",              "OptCC",            0x3322CC, 0x7A6CFF, "",          "star",      3},
    {"r2ccl",              "R2CCL",            0x993311, 0xC4563A, "6,2,1,2",   "pentagon", 15},
    /* in the order of arrivals */
    {"sorted_linear_tree", "sorted linear tree", 0x6E6A1F, 0xC2BC5A, "6,3",     "down",     11},
    {"pre_reduced_ring",   "pre-reduced ring", 0xC58B00, 0xF0C04A, "",          "star",      3},
    /* rings */
    {"nccl",               "NCCL",             0x0072B2, 0x4BA6E8, "12,3",      "square",    4},
    {"nccl_rings",         "NCCL's rings",     0x0072B2, 0x4BA6E8, "9,3",       "square",    4},
    {"flat_ring",          "flat ring",        0x0072B2, 0x4BA6E8, "2,3",       "square",    5},
    {"parallel_rings",     "parallel rings",   0x0072B2, 0x4BA6E8, "8,3,2,3",   "diamond",  13},
    {"reduce_ring",        "ring",             0x0072B2, 0x4BA6E8, "",          "square",    5},
    {"ibcast_linear",      "chain",            0x0072B2, 0x4BA6E8, "5,3",       "square",    5},
    /* halving and doubling */
    {"merged_rhd",         "merged rhd",       0x009E73, 0x2CC79B, "2,3",       "triangle",  8},
    {"latency_optimal",    "latency-optimal",  0x009E73, 0x2CC79B, "8,3,2,3",   "triangle",  8},
    {"iallgather_rd",      "recursive doubling", 0x009E73, 0x2CC79B, "",        "triangle",  9},
    {"ibcast_btdd",        "scatter, doubling", 0x009E73, 0x2CC79B, "5,3",      "triangle",  8},
    {"ibcast_btdh",        "scatter, halving", 0x009E73, 0x2CC79B, "6,2,1,2",   "triangle",  8},
    /* trees */
    {"double_binary_tree", "double binary tree", 0x8C5A1E, 0xC79A5B, "",        "diamond",  13},
    {"blink",              "Blink",            0x8C5A1E, 0xC79A5B, "5,3",       "diamond",  12},
    {"adapcc",             "AdapCC",           0x8C5A1E, 0xC79A5B, "8,3,2,3",   "diamond",  12},
    {"hierarchical",       "hierarchical",     0x8C5A1E, 0xC79A5B, "2,3",       "diamond",  13},
    {"binomial",           "binomial tree",    0x8C5A1E, 0xC79A5B, "9,3",       "diamond",  13},
    {"ibcast_knomial",     "k-nomial tree",    0x8C5A1E, 0xC79A5B, "6,2,1,2",   "diamond",  12},
    {"reduce_tree",        "tree",             0x8C5A1E, 0xC79A5B, "12,3",      "diamond",  12},
    /* switches that add up */
    {"nvls",               "NVLS",             0x4D7A00, 0x9CCB4A, "",          "pentagon", 15},
    {"nvls_tree",          "NVLSTree",         0x4D7A00, 0x9CCB4A, "9,3",       "pentagon", 14},
    {"collnet",            "CollNet",          0x4D7A00, 0x9CCB4A, "2,3",       "pentagon", 14},
    /* every rank to every rank */
    {"pairwise",           "pairwise",         0xC86DA0, 0xF2A6D0, "9,3",       "down",     10},
    {"two_step_alltoall",  "two steps",        0xC86DA0, 0xF2A6D0, "2,3",       "down",     10},
    {NULL,                 "other",            0x666666, 0xAAAAAA, "4,2",       "cross",     2},
};
/* clang-format on */

const cs_look *cs_look_of(const char *algorithm)
{
    size_t i = 0;

    while (cs_looks[i].algorithm != NULL &&
           (algorithm == NULL || strcmp(cs_looks[i].algorithm, algorithm) != 0)) {
        i++;
    }
    return &cs_looks[i];
}

const cs_look *cs_look_apart(size_t k)
{
    static const char *const names[CS_LOOKS_APART] = {"stragglar", "ring",  "rhd",
                                                      "allpairs",  "optcc", "double_binary_tree"};

    return cs_look_of(names[k]);
}

const char *cs_look_title(const char *algorithm)
{
    const cs_look *look = cs_look_of(algorithm);
    return look->algorithm != NULL ? look->title : algorithm;
}

uint32_t cs_look_mix(uint32_t colour, uint32_t ground, double strength)
{
    uint32_t mixed = 0;

    for (int shift = 0; shift <= 16; shift += 8) {
        double part = strength * (double)(colour >> shift & 255) +
                      (1 - strength) * (double)(ground >> shift & 255);
        mixed |= (uint32_t)lround(part) << shift;
    }
    return mixed;
}

bool cs_look_is_flattered(const char *algorithm, const char *model)
{
    return strcmp(algorithm, "allpairs") == 0 &&
           (strcmp(model, "alpha-beta") == 0 || strcmp(model, "loggp") == 0);
}
