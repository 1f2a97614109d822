/* SPDX-License-Identifier: GPL-3.0-or-later */
/* OptCC, figures 8 to 10 and 20 to 22: time of an AllReduce over ranks, size and slowdown with one
 * slow server, two, and one of several GPUs.
 *
 * What the paper's text leaves open is read like this. Figures 8 to 10: a and c over the ranks, b
 * and d over the size, e over the slowdown; the sizes are not given: 1 GiB, and 0.25 to 4 GiB. In
 * figure 20, a and b have l = 2 as in figure 22, and p = 64. With g GPUs a server p counts GPUs.
 * The alphas are not given: 3 us for a NIC and 1 us for NVLink. The paper simulates packets and its
 * NCCL has fixed costs; here ports follow the alpha-beta model, so that shapes compare, not
 * milliseconds. */
#include "figures/optcc_sweep.h"

#define GIB (UINT64_C(1) << 30)

#define MODEL "alpha-beta model, NIC 200 Gb/s and α = 3 µs; "

static const cs_optcc_sweep sweep_8 = {
    .title    = "OptCC with one slow server, one GPU each",
    .subtitle = MODEL "1 GiB in a, c, e; 64 ranks in b, d, e",
    .gpus     = 1,
    .n_slow   = 1,
    .ranks    = 64,
    .bytes    = GIB,
    .gib      = {0.25, 0.5, 1, 1.5, 2, 3, 4},
    .n_panels = 5,
    .panels   = {{CS_OVER_RANKS, {8.0 / 7}, "1 of 8 NICs lost: l = 8/7"},
                 {CS_OVER_BYTES, {8.0 / 7}, "1 of 8 NICs lost: l = 8/7"},
                 {CS_OVER_RANKS, {2}, "4 of 8 NICs lost: l = 2"},
                 {CS_OVER_BYTES, {2}, "4 of 8 NICs lost: l = 2"},
                 {CS_OVER_SLOWDOWN, {1}, "0 to 6 of 8 NICs lost"}}};

static const cs_optcc_sweep sweep_9 = {
    .title    = "OptCC with two slow servers, one GPU each",
    .subtitle = MODEL "1 GiB in a, c, e; 64 ranks in b, d, e",
    .gpus     = 1,
    .n_slow   = 2,
    .ranks    = 64,
    .bytes    = GIB,
    .gib      = {0.25, 0.5, 1, 1.5, 2, 3, 4},
    .n_panels = 5,
    .panels   = {{CS_OVER_RANKS, {4.0 / 3, 8.0 / 7}, "l = 4/3 and 8/7"},
                 {CS_OVER_BYTES, {4.0 / 3, 8.0 / 7}, "l = 4/3 and 8/7"},
                 {CS_OVER_RANKS, {2, 4.0 / 3}, "l = 2 and 4/3"},
                 {CS_OVER_BYTES, {2, 4.0 / 3}, "l = 2 and 4/3"},
                 {CS_OVER_SLOWDOWN, {1, 1}, "both servers alike"}}};

static const cs_optcc_sweep sweep_10 = {
    .title    = "OptCC with one slow server, four GPUs each",
    .subtitle = MODEL "NVLink 300 GB/s and 1 µs; 1 GiB in a, c, e; 64 ranks in b, d, e",
    .gpus     = 4,
    .n_slow   = 1,
    .ranks    = 64,
    .bytes    = GIB,
    .gib      = {0.25, 0.5, 1, 1.5, 2, 3, 4},
    .n_panels = 5,
    .panels   = {{CS_OVER_RANKS, {8.0 / 7}, "1 of 8 NICs lost: l = 8/7"},
                 {CS_OVER_BYTES, {8.0 / 7}, "1 of 8 NICs lost: l = 8/7"},
                 {CS_OVER_RANKS, {2}, "4 of 8 NICs lost: l = 2"},
                 {CS_OVER_BYTES, {2}, "4 of 8 NICs lost: l = 2"},
                 {CS_OVER_SLOWDOWN, {1}, "0 to 6 of 8 NICs lost"}}};

static const cs_optcc_sweep sweep_20 = {
    .title    = "OptCC with one slow server, one GPU each, large buffers",
    .subtitle = MODEL "8 GiB in a, c; 64 ranks in b, c",
    .gpus     = 1,
    .n_slow   = 1,
    .ranks    = 64,
    .bytes    = 8 * GIB,
    .gib      = {1, 2, 4, 6, 8, 12, 16},
    .n_panels = 3,
    .panels   = {{CS_OVER_RANKS, {2}, "l = 2"},
                 {CS_OVER_BYTES, {2}, "l = 2"},
                 {CS_OVER_SLOWDOWN, {1}, "0 to 6 of 8 NICs lost"}}};

static const cs_optcc_sweep sweep_21 = {
    .title    = "OptCC with two slow servers, one GPU each, large buffers",
    .subtitle = MODEL "8 GiB in a, c; 64 ranks in b, c",
    .gpus     = 1,
    .n_slow   = 2,
    .ranks    = 64,
    .bytes    = 8 * GIB,
    .gib      = {1, 2, 4, 6, 8, 12, 16},
    .n_panels = 3,
    .panels   = {{CS_OVER_RANKS, {2, 1.5}, "l = 2 and 1.5"},
                 {CS_OVER_BYTES, {2, 1.5}, "l = 2 and 1.5"},
                 {CS_OVER_SLOWDOWN, {1, 1}, "both servers alike"}}};

static const cs_optcc_sweep sweep_22 = {
    .title    = "OptCC with one slow server, eight GPUs each, large buffers",
    .subtitle = MODEL "NVLink 300 GB/s and 1 µs; 8 GiB in a, c; 64 ranks in b, c",
    .gpus     = 8,
    .n_slow   = 1,
    .ranks    = 64,
    .bytes    = 8 * GIB,
    .gib      = {1, 2, 4, 6, 8, 12, 16},
    .n_panels = 3,
    .panels   = {{CS_OVER_RANKS, {2}, "l = 2"},
                 {CS_OVER_BYTES, {2}, "l = 2"},
                 {CS_OVER_SLOWDOWN, {1}, "0 to 6 of 8 NICs lost"}}};

#define PAPER "Don't Let a Few Network Failures Slow the Entire AllReduce (OptCC), "

static cs_status compute_8(cs_figure_data *data, cs_error *err)
{
    return cs_optcc_draw(data, &sweep_8, err);
}

const cs_figure cs_figure_optcc_8 = {
    .name    = "optcc-8",
    .summary = "time with one slow server over ranks, size and slowdown",
    .source  = PAPER "figure 8",
    .compute = compute_8,
};

static cs_status compute_9(cs_figure_data *data, cs_error *err)
{
    return cs_optcc_draw(data, &sweep_9, err);
}

const cs_figure cs_figure_optcc_9 = {
    .name    = "optcc-9",
    .summary = "time with two slow servers over ranks, size and slowdown",
    .source  = PAPER "figure 9",
    .compute = compute_9,
};

static cs_status compute_10(cs_figure_data *data, cs_error *err)
{
    return cs_optcc_draw(data, &sweep_10, err);
}

const cs_figure cs_figure_optcc_10 = {
    .name    = "optcc-10",
    .summary = "time with one slow server of 4 GPUs over ranks, size and slowdown",
    .source  = PAPER "figure 10",
    .compute = compute_10,
};

static cs_status compute_20(cs_figure_data *data, cs_error *err)
{
    return cs_optcc_draw(data, &sweep_20, err);
}

const cs_figure cs_figure_optcc_20 = {
    .name    = "optcc-20",
    .summary = "time with one slow server for 8 GiB over ranks, size and slowdown",
    .source  = PAPER "figure 20",
    .compute = compute_20,
};

static cs_status compute_21(cs_figure_data *data, cs_error *err)
{
    return cs_optcc_draw(data, &sweep_21, err);
}

const cs_figure cs_figure_optcc_21 = {
    .name    = "optcc-21",
    .summary = "time with two slow servers for 8 GiB over ranks, size and slowdown",
    .source  = PAPER "figure 21",
    .compute = compute_21,
};

static cs_status compute_22(cs_figure_data *data, cs_error *err)
{
    return cs_optcc_draw(data, &sweep_22, err);
}

const cs_figure cs_figure_optcc_22 = {
    .name    = "optcc-22",
    .summary = "time with one slow server of 8 GPUs for 8 GiB over ranks, size and slowdown",
    .source  = PAPER "figure 22",
    .compute = compute_22,
};
