/* SPDX-License-Identifier: GPL-3.0-or-later */
/* OptCC, figures 8 to 10 and 20 to 22: time of an AllReduce over ranks, size and slowdown with one
 * slow server, two, and one of several GPUs.
 *
 * What the paper's text leaves open is read like this. Figures 8 to 10: a and c over the ranks, b
 * and d over the size, e over the slowdown; the sizes are not given: 1 GiB, and 0.25 to 4 GiB. In
 * figure 20, a and b have l = 2 as in figure 22, and p = 64. With g GPUs a server p counts GPUs.
 * The alphas are not given: 3 us for a NIC and 1 us for NVLink. The paper simulates packets and its
 * NCCL has fixed costs; here ports follow the alpha-beta or the LogGP model, so that shapes
 * compare, not milliseconds. */
#include "figures/optcc_sweep.h"

#define GIB (UINT64_C(1) << 30)

#define MODEL  "NIC 200 Gb/s, α = 3 µs (LogGP: o = 0, L = α); "
#define NVLINK "NVLink 300 GB/s and 1 µs; "

/* Figures 8 to 10: five panels around 1 GiB and 64 ranks, for two cases of slow NICs. */
#define OF_1_GIB(gpus_, n_slow_)                                     \
    .gpus = (gpus_), .n_slow = (n_slow_), .ranks = 64, .bytes = GIB, \
    .gib = {0.25, 0.5, 1, 1.5, 2, 3, 4}, .n_panels = 5
#define AT_1_GIB "1 GiB in a, c, e; 64 ranks in b, d, e"

/* Figures 20 to 22: three panels around 8 GiB and 64 ranks, for one case. */
#define OF_8_GIB(gpus_, n_slow_)                                         \
    .gpus = (gpus_), .n_slow = (n_slow_), .ranks = 64, .bytes = 8 * GIB, \
    .gib = {1, 2, 4, 6, 8, 12, 16}, .n_panels = 3
#define AT_8_GIB "8 GiB in a, c; 64 ranks in b, c"

/* The panels over ranks and size of one case. */
#define OVER_BOTH(label, ...)               \
    {CS_OVER_RANKS, {__VA_ARGS__}, label},  \
    {                                       \
        CS_OVER_BYTES, {__VA_ARGS__}, label \
    }
#define OVER_NICS                                      \
    {                                                  \
        CS_OVER_SLOWDOWN, {1}, "0 to 6 of 8 NICs lost" \
    }
#define OVER_BOTH_SERVERS                              \
    {                                                  \
        CS_OVER_SLOWDOWN, {1, 1}, "both servers alike" \
    }

static const cs_optcc_sweep sweep_8 = {.title    = "OptCC with one slow server, one GPU each",
                                       .subtitle = MODEL AT_1_GIB,
                                       OF_1_GIB(1, 1),
                                       .panels = {OVER_BOTH("1 of 8 NICs lost: l = 8/7", 8.0 / 7),
                                                  OVER_BOTH("4 of 8 NICs lost: l = 2", 2),
                                                  OVER_NICS}};

static const cs_optcc_sweep sweep_9 = {.title    = "OptCC with two slow servers, one GPU each",
                                       .subtitle = MODEL AT_1_GIB,
                                       OF_1_GIB(1, 2),
                                       .panels = {OVER_BOTH("l = 4/3 and 8/7", 4.0 / 3, 8.0 / 7),
                                                  OVER_BOTH("l = 2 and 4/3", 2, 4.0 / 3),
                                                  OVER_BOTH_SERVERS}};

static const cs_optcc_sweep sweep_10 = {.title    = "OptCC with one slow server, four GPUs each",
                                        .subtitle = MODEL NVLINK AT_1_GIB,
                                        OF_1_GIB(4, 1),
                                        .panels = {OVER_BOTH("1 of 8 NICs lost: l = 8/7", 8.0 / 7),
                                                   OVER_BOTH("4 of 8 NICs lost: l = 2", 2),
                                                   OVER_NICS}};

static const cs_optcc_sweep sweep_20 = {
    .title    = "OptCC with one slow server, one GPU each, large buffers",
    .subtitle = MODEL AT_8_GIB,
    OF_8_GIB(1, 1),
    .panels = {OVER_BOTH("l = 2", 2), OVER_NICS}};

static const cs_optcc_sweep sweep_21 = {
    .title    = "OptCC with two slow servers, one GPU each, large buffers",
    .subtitle = MODEL AT_8_GIB,
    OF_8_GIB(1, 2),
    .panels = {OVER_BOTH("l = 2 and 1.5", 2, 1.5), OVER_BOTH_SERVERS}};

static const cs_optcc_sweep sweep_22 = {
    .title    = "OptCC with one slow server, eight GPUs each, large buffers",
    .subtitle = MODEL NVLINK AT_8_GIB,
    OF_8_GIB(8, 1),
    .panels = {OVER_BOTH("l = 2", 2), OVER_NICS}};

#define DRAW(number)                                                       \
    static cs_status compute_##number(cs_figure_data *data, cs_error *err) \
    {                                                                      \
        return cs_optcc_draw(data, &sweep_##number, err);                  \
    }

/* clang-format off */
DRAW(8)
DRAW(9)
DRAW(10)
DRAW(20)
DRAW(21)
DRAW(22)
/* clang-format on */

#define FIGURE(number, summary_)                                                                   \
    {                                                                                              \
        .name = "optcc-" #number, .summary = summary_ ", on alpha-beta and LogGP",                 \
        .source =                                                                                  \
            "Don't Let a Few Network Failures Slow the Entire AllReduce (OptCC), figure " #number, \
        .compute = compute_##number,                                                               \
    }

const cs_figure cs_figure_optcc_8 =
    FIGURE(8, "time with one slow server over ranks, size and slowdown");
const cs_figure cs_figure_optcc_9 =
    FIGURE(9, "time with two slow servers over ranks, size and slowdown");
const cs_figure cs_figure_optcc_10 =
    FIGURE(10, "time with one slow server of 4 GPUs over ranks, size and slowdown");
const cs_figure cs_figure_optcc_20 =
    FIGURE(20, "time with one slow server for 8 GiB over ranks, size and slowdown");
const cs_figure cs_figure_optcc_21 =
    FIGURE(21, "time with two slow servers for 8 GiB over ranks, size and slowdown");
const cs_figure cs_figure_optcc_22 =
    FIGURE(22, "time with one slow server of 8 GPUs for 8 GiB over ranks, size and slowdown");
