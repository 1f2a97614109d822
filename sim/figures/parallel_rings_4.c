/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parallel Rings, figure 4: AllGathers inside one server whose GPUs have an NVLink from each to
 * each, over what each rank contributes. The paper's finding is that linear and 4-nomial take
 * least; its times are not in its text. */
#include "figures/parallel_rings_point.h"
#include "figures/rows.h"
#include "figures/script.h"

#include <math.h>

enum { N_ALGORITHMS = 5 };

static const char *const algorithms[N_ALGORITHMS] = {
    "ibcast_linear", "ibcast_knomial", "ibcast_btdd", "ibcast_btdh", "iallgather_rd",
};

static const char header[] =
    "size_MiB,ibcast_linear_ms,ibcast_knomial_ms,ibcast_btdd_ms,ibcast_btdh_ms,iallgather_rd_ms,"
    "linear_formula_ms,recursive_doubling_formula_ms\n";

static const char commands[] =
    "  set logscale xy\n"
    "  set logscale x 2\n"
    "  set xrange [1.7:300]\n"
    "  set xtics (2, 4, 8, 16, 32, 64, 128, 256)\n"
    "  set xlabel 'contribution of a rank, MiB (log scale)'\n"
    "  set ylabel 'AllGather inside the server, ms (log scale)'\n"
    "  set key top left Left reverse\n"
    "  plot DATA using 'size_MiB':'ibcast_btdd_ms' with linespoints ls 5 title 'Ibcast BTDD', \\\n"
    "    '' using 'size_MiB':'iallgather_rd_ms' with linespoints ls 3 "
    "title 'Iallgather RD (two steps, the second of two blocks)', \\\n"
    "    '' using 'size_MiB':'ibcast_btdh_ms' with linespoints ls 4 title 'Ibcast BTDH', \\\n"
    "    '' using 'size_MiB':'linear_formula_ms' with lines ls 8 title 'α + mβ', \\\n"
    "    '' using 'size_MiB':'ibcast_knomial_ms' with points ls 9 ps 2.4*PS "
    "title 'Ibcast 4-nomial', \\\n"
    "    '' using 'size_MiB':'ibcast_linear_ms' with points ls 1 "
    "title 'Ibcast and Iallgather linear: what Parallel Rings use here'\n";

static cs_status add_row(cs_figure_data *data, uint32_t mib, cs_error *err)
{
    const uint64_t   bytes  = (uint64_t)mib << 20;
    const cs_fabric *nvlink = &cs_rings_b.fabrics[CS_NVLINK];
    double           values[N_ALGORITHMS + 2], linear_s, doubling_s;
    cs_status        status = CS_OK;

    for (size_t i = 0; i < N_ALGORITHMS && status == CS_OK; i++) {
        const cs_rings_point point = {
            .cluster = &cs_rings_b, .servers = 1, .block_bytes = bytes, .algorithm = algorithms[i]};
        status = cs_rings_replay(data, &point, &values[i], err);
        values[i] *= 1e3;
    }
    if (status != CS_OK) {
        return status;
    }
    linear_s                 = cs_rings_message_s(&cs_rings_b, CS_NVLINK, (double)bytes);
    doubling_s               = 2 * nvlink->alpha_s + 3 * (double)bytes / nvlink->bandwidth_Bps;
    values[N_ALGORITHMS]     = 1e3 * linear_s;
    values[N_ALGORITHMS + 1] = 1e3 * doubling_s;
    cs_figure_check_at(data, "linear, ms, of MiB", mib, values[0], 1e3 * linear_s,
                       CS_REPLAY_DIGITS);
    cs_figure_check_at(data, "4-nomial, ms, of MiB", mib, values[1], 1e3 * linear_s,
                       CS_REPLAY_DIGITS);
    cs_figure_check_at(data, "recursive doubling, ms, of MiB", mib, values[4], 1e3 * doubling_s,
                       CS_REPLAY_DIGITS);
    for (size_t i = 2; i < N_ALGORITHMS; i++) {
        cs_figure_expect(data, "linear and 4-nomial take least, as in the paper",
                         values[i] > values[0]);
    }
    cs_figure_row(data, mib, values, sizeof values / sizeof values[0]);
    return CS_OK;
}

static cs_status compute(cs_figure_data *data, cs_error *err)
{
    cs_status status = CS_OK;

    cs_text_add(&data->csv, "%s", header);
    for (uint32_t mib = 2; mib <= 256 && status == CS_OK; mib *= 2) {
        status = add_row(data, mib, err);
    }
    cs_figure_title(&data->gnuplot, "AllGather among 4 GPUs with an NVLink from each to each",
                    "replayed on the alpha-beta model, α = 4 µs, 150 GB/s for each pair and "
                    "direction (cluster B)");
    cs_text_add(&data->gnuplot, "%s", commands);
    return status;
}

const cs_figure cs_figure_parallel_rings_4 = {
    .name    = "parallel-rings-4",
    .summary = "AllGathers inside a server with an NVLink mesh, over the size",
    .source  = "Parallel Rings (multi-HCA AllGather), figure 4",
    .compute = compute,
};
