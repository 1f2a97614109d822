/* SPDX-License-Identifier: GPL-3.0-or-later */
/* StragglAR, figures 13 and 14: an iteration of BERT-large over the number of ranks and the
 * delay, alpha 3 us (13) and 0.7 us (14). The paper takes kernels and buffers from FlexNet and
 * does not publish them. Here an iteration is a sum, data-parallel and without overlap:
 *
 *   compute    6 flop per parameter and token, 2 sequences of 512 tokens a GPU (the paper's batches
 *              are 2 a GPU at every n) at 40 % of the 989 Tflop/s of an H100: 5.2 ms
 *   AllReduce  of the gradients in float32, by replay from the first arrival to the end, one for
 *              each of the 24 layers and one for embeddings and pooler; one rank is late by
 *              the delay at every one of them */
#include "figures/rows.h"
#include "figures/script.h"
#include "figures/times.h"

enum { N_ALGORITHMS = 5, N_DELAYS = 4, N_SIZES = 4, N_LAYERS = 24 };

static const char *const algorithms[N_ALGORITHMS] = {"ring", "rhd", "allpairs", "broadcast",
                                                     "stragglar"};
enum { RING = 0, RHD = 1, STRAGGLAR = 4 };

static const double   delays_ms[N_DELAYS] = {0, 0.1, 0.5, 1};
static const uint32_t sizes[N_SIZES]      = {8, 16, 32, 64};

/* BERT-large: parameters of a layer (four matrices and their biases for attention, two for the
 * feed-forward part, two normalisations), and of the rest. */
#define HIDDEN           UINT64_C(1024)
#define LAYER_PARAMETERS (12 * HIDDEN * HIDDEN + 13 * HIDDEN)
#define OTHER_PARAMETERS ((30522 + 512 + 2 + 2) * HIDDEN + HIDDEN * HIDDEN + HIDDEN)
#define PARAMETERS       (N_LAYERS * LAYER_PARAMETERS + OTHER_PARAMETERS)

static const char header[] =
    "delay_ms,ranks,compute_ms,ring_ms,rhd_ms,allpairs_ms,broadcast_ms,stragglar_ms,"
    "stragglar_speedup_over_ring,stragglar_speedup_over_rhd\n";

static const char legend[] = "    keyentry with linespoints ls 1 title 'stragglar', \\\n"
                             "    keyentry with linespoints ls 3 title 'ring', \\\n"
                             "    keyentry with linespoints ls 4 title 'rhd', \\\n"
                             "    keyentry with linespoints ls 5 title 'allpairs', \\\n"
                             "    keyentry with linespoints ls 6 title 'broadcast'";

static const char panels[] =
    "  set logscale x 2\n"
    "  set xrange [7:73]\n"
    "  set xtics (8, 16, 32, 64)\n"
    "  set ytics 2\n"
    "  array DELAYS[4] = [0, 0.1, 0.5, 1]\n"
    "  do for [i = 0:3] {\n"
    "    set lmargin at screen (i % 2 == 0 ? 0.07 : 0.565)\n"
    "    set rmargin at screen (i % 2 == 0 ? 0.49 : 0.985)\n"
    "    set tmargin at screen (i < 2 ? 0.83 : 0.41)\n"
    "    set bmargin at screen (i < 2 ? 0.52 : 0.10)\n"
    "    set yrange [8 + 25 * DELAYS[i+1]:HIGH + 25 * DELAYS[i+1]]\n"
    "    set xlabel (i < 2 ? '' : 'number of ranks n (log scale)')\n"
    "    set ylabel 'iteration, ms'\n"
    "    set title (i == 0 ? 'no delay' : sprintf('delay %g ms at each of the 25 AllReduces', "
    "DELAYS[i+1])) offset 0,-0.5\n"
    "    plot DATA every ::(4*i)::(4*i+3) using 'ranks':'broadcast_ms' with linespoints ls 6, \\\n"
    "      '' every ::(4*i)::(4*i+3) using 'ranks':'allpairs_ms' with linespoints ls 5, \\\n"
    "      '' every ::(4*i)::(4*i+3) using 'ranks':'rhd_ms' with linespoints ls 4, \\\n"
    "      '' every ::(4*i)::(4*i+3) using 'ranks':'ring_ms' with linespoints ls 3, \\\n"
    "      '' every ::(4*i)::(4*i+3) using 'ranks':'stragglar_ms' with linespoints ls 1\n"
    "  }\n"
    "  unset multiplot\n";

static double compute_s(void)
{
    const double tokens = 2 * 512, flops = 0.4 * 989e12;
    return 6 * (double)PARAMETERS * tokens / flops;
}

/* Add the time of `count` AllReduces of float32 gradients. */
static cs_status add_allreduces(cs_figure_data *data, cs_figure_point point, uint64_t parameters,
                                unsigned count, double *seconds_p, cs_error *err)
{
    cs_result result;

    point.bytes      = 4 * parameters;
    cs_status status = cs_figure_replay(data, &point, &result, err);
    if (status == CS_OK) {
        *seconds_p += count * result.elapsed_s;
    }
    return status;
}

static cs_status iteration(cs_figure_data *data, const cs_figure_point *point, double *seconds_p,
                           cs_error *err)
{
    *seconds_p       = compute_s();
    cs_status status = add_allreduces(data, *point, LAYER_PARAMETERS, N_LAYERS, seconds_p, err);

    if (status == CS_OK) {
        status = add_allreduces(data, *point, OTHER_PARAMETERS, 1, seconds_p, err);
    }
    return status;
}

/* What the paper says of its own iterations, in as far as it is a matter of order. */
static void check_order(cs_figure_data *data, double alpha_s, double delay_ms, uint32_t n,
                        const double times_s[N_ALGORITHMS])
{
    double stragglar_s = times_s[STRAGGLAR];

    if (delay_ms <= 0) {
        cs_figure_expect(data, "without any delay StragglAR is slower than the ring",
                         stragglar_s > times_s[RING]);
    }
    if (delay_ms >= 0.5) {
        cs_figure_expect(data, "from 0.5 ms on StragglAR beats the ring",
                         stragglar_s < times_s[RING]);
        cs_figure_expect(data, "... and rhd, but for n = 64 and alpha = 3 us",
                         (stragglar_s < times_s[RHD]) == (n < 64 || alpha_s < 1e-6));
    }
}

static cs_status add_row(cs_figure_data *data, double alpha_s, double delay_ms, uint32_t n,
                         cs_error *err)
{
    const cs_figure_machine machine = {alpha_s, cs_figure_h100.bandwidth_Bps};
    double                  times_s[N_ALGORITHMS], values[2 + N_ALGORITHMS + 2];
    cs_status               status = CS_OK;

    values[0] = n;
    values[1] = 1e3 * compute_s();
    for (size_t i = 0; i < N_ALGORITHMS && status == CS_OK; i++) {
        const cs_figure_point point = {.algorithm = algorithms[i],
                                       .machine   = machine,
                                       .n_ranks   = n,
                                       .delay_s   = delay_ms / 1e3};
        status                      = iteration(data, &point, &times_s[i], err);
        values[2 + i]               = 1e3 * times_s[i];
    }
    if (status == CS_OK) {
        values[2 + N_ALGORITHMS]     = times_s[RING] / times_s[STRAGGLAR];
        values[2 + N_ALGORITHMS + 1] = times_s[RHD] / times_s[STRAGGLAR];
        check_order(data, alpha_s, delay_ms, n, times_s);
        cs_figure_row(data, delay_ms, values, sizeof values / sizeof values[0]);
    }
    return status;
}

static cs_status compute(cs_figure_data *data, double alpha_s, double high_ms, cs_error *err)
{
    cs_status status = CS_OK;

    cs_figure_check(data, "parameters of BERT-large", (double)PARAMETERS, 335141888, 0);
    cs_text_add(&data->csv, "%s", header);
    for (size_t d = 0; d < N_DELAYS; d++) {
        for (size_t i = 0; i < N_SIZES && status == CS_OK; i++) {
            status = add_row(data, alpha_s, delays_ms[d], sizes[i], err);
        }
    }
    cs_text_add(&data->gnuplot,
                "  HIGH = %g\n"
                "  set multiplot\n"
                "  set label 1 \"{/:Bold*1.15 Iteration of BERT-large, one rank late}\" "
                "at screen 0.5, 0.97 center\n"
                "  set label 2 '%.1f ms of compute and AllReduces of the gradients layer by layer, "
                "replayed with α = %g µs, 450 GB/s per port' at screen 0.5, 0.935 center\n",
                high_ms, 1e3 * compute_s(), 1e6 * alpha_s);
    cs_figure_legend(&data->gnuplot, 0.915, legend);
    cs_text_add(&data->gnuplot, "%s", panels);
    return status;
}

static cs_status compute_13(cs_figure_data *data, cs_error *err)
{
    return compute(data, 3e-6, 24, err);
}

static cs_status compute_14(cs_figure_data *data, cs_error *err)
{
    return compute(data, 0.7e-6, 20, err);
}

const cs_figure cs_figure_stragglar_13 = {
    .name    = "stragglar-13",
    .summary = "iteration of BERT-large over the number of ranks and the delay, alpha 3 us",
    .source  = "Efficient AllReduce with Stragglers (StragglAR), figure 13",
    .compute = compute_13,
};

const cs_figure cs_figure_stragglar_14 = {
    .name    = "stragglar-14",
    .summary = "iteration of BERT-large over the number of ranks and the delay, alpha 0.7 us",
    .source  = "Efficient AllReduce with Stragglers (StragglAR), figure 14",
    .compute = compute_14,
};
