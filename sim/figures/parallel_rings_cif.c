/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parallel Rings, table I and figure 5: how many times longer than the exchange that the paper
 * proposes other AllGathers take inside a server of two sockets (its congestion impact factor), and
 * what is left of that on several servers.
 *
 * Three ways to receive: messages queue at a port, as everywhere else in this program; they come at
 * once and share the port (flow, receivers=share); and they do so with a port that carries 1.25
 * times less while two or more come (incast_ratio). The proposed exchange runs its three phases one
 * after the other here, as table I counts steps; the paper's listing overlaps the first two.
 *
 * Reference: ratios of the same model by another program, three digits, typed in. Two numbers of
 * the model are fitted to the paper's ratios: the rate between sockets (to recursive doubling)
 * and 1.25 (to linear). BTDD, the largest factor and that of several servers are not reproduced. */
#include "config/schedule_json.h"
#include "figures/parallel_rings_point.h"
#include "figures/rows.h"
#include "figures/script.h"

#include <stdio.h>
#include <string.h>

#define MB 1000000u

enum { N_ROWS = 7, N_WAYS = 3, BLOCK_MB = 64, BLOCK_MIB = 64 };

/* How messages are received: NULL queues. */
static const char *const ways[N_WAYS] = {NULL, "1", "1.25"};

typedef struct cif_row {
    const char *label, *algorithm;
    double      paper;     /* its ratio: 1 / (1 - improvement) */
    double      given[2];  /* without and with incast */
    const char *agreement; /* with the paper */
} cif_row;

static const cif_row rows[N_ROWS] = {
    {"Ibcast linear", "ibcast_linear", 1 / (1 - 0.746), {3.14, 3.92}, "incast fitted to it"},
    {"Ibcast BTDD", "ibcast_btdd", 1 / (1 - 0.682), {3.92, 4.71}, "not reproduced"},
    {"Ibcast BTDH", "ibcast_btdh", 1 / (1 - 0.605), {2.36, 2.36}, "within 7 %"},
    {"Ibcast 4-nomial", "ibcast_knomial", 1 / (1 - 0.757), {3.14, 3.92}, "within 5 %"},
    {"Iallgather linear", "ibcast_linear", 1 / (1 - 0.755), {3.14, 3.92}, "within 4 %"},
    {"Iallgather RD", "iallgather_rd", 1 / (1 - 0.405), {1.68, 1.68}, "rate fitted to it"},
    {"4 servers: linear", "parallel_rings", 2.24, {0, 4.40}, "not reproduced"},
};

/* The proposed exchange, phase by phase: to the mate, across, and what came across to the mate. */
static const char proposed[] =
    "{\"format\": \"collsim-schedule\", \"version\": 1, \"collective\": \"allgather\", "
    "\"ranks\": 4, \"chunks\": 4, \"bytes\": 256000000, \"gpus_per_server\": 4, \"sockets\": 2, "
    "\"transfers\": ["
    "{\"round\": 0, \"src\": 0, \"dst\": 1, \"chunk\": 0, \"op\": \"copy\"},"
    "{\"round\": 0, \"src\": 1, \"dst\": 0, \"chunk\": 1, \"op\": \"copy\"},"
    "{\"round\": 0, \"src\": 2, \"dst\": 3, \"chunk\": 2, \"op\": \"copy\"},"
    "{\"round\": 0, \"src\": 3, \"dst\": 2, \"chunk\": 3, \"op\": \"copy\"},"
    "{\"round\": 1, \"src\": 0, \"dst\": 2, \"chunk\": 0, \"op\": \"copy\", \"fence\": true},"
    "{\"round\": 1, \"src\": 1, \"dst\": 3, \"chunk\": 1, \"op\": \"copy\"},"
    "{\"round\": 1, \"src\": 2, \"dst\": 1, \"chunk\": 2, \"op\": \"copy\"},"
    "{\"round\": 1, \"src\": 3, \"dst\": 0, \"chunk\": 3, \"op\": \"copy\"},"
    "{\"round\": 2, \"src\": 0, \"dst\": 1, \"chunk\": 3, \"op\": \"copy\", \"fence\": true},"
    "{\"round\": 2, \"src\": 1, \"dst\": 0, \"chunk\": 2, \"op\": \"copy\"},"
    "{\"round\": 2, \"src\": 2, \"dst\": 3, \"chunk\": 0, \"op\": \"copy\"},"
    "{\"round\": 2, \"src\": 3, \"dst\": 2, \"chunk\": 1, \"op\": \"copy\"}]}";

static const char header[] =
    "row,algorithm,queued_ms,shared_ms,shared_incast_ms,proposed_ms,queued_over_proposed_1,"
    "shared_over_proposed_1,shared_incast_over_proposed_1,paper_over_proposed_1,agreement\n";

static const char commands[] =
    "  set xrange [0.4:7.6]\n"
    "  set yrange [0:5.6]\n"
    "  set ytics 1\n"
    "  set grid noxtics\n"
    "  set boxwidth 0.19\n"
    "  set style fill solid 1 border lc rgb '#303030'\n"
    "  set ylabel 'time over that of the proposed exchange'\n"
    "  set xtics scale 0 font ',11'\n"
    "  set bmargin at screen 0.19\n"
    "  set key at screen 0.5, 0.055 center center horizontal Left reverse maxrows 2 nobox\n"
    "  set arrow 2 from first 0.4, first 4.57 to first 6.5, first 4.57 nohead lt 1 dt (6,5) lw 2 "
    "lc rgb '#505050'\n"
    "  set label 3 \"the paper's largest, 4.57: not reproduced\" at first 6.42, first 4.67 right "
    "font ',10' tc rgb '#505050'\n"
    "  set arrow 1 from first 6.5, graph 0 to first 6.5, graph 1 nohead lt 1 lc rgb '#808080'\n"
    "  set label 1 'inside one server of two sockets, 4 GPUs, 64 MB each' at first 3.5, graph "
    "0.965 center font ',11'\n"
    "  set label 2 \"Parallel Rings,\\n16 GPUs\" at first 7, graph 0.965 center font ',11'\n"
    "  plot DATA using 1:(0):xtic(stringcolumn('algorithm').\"\\n{/*0.85 \"."
    "stringcolumn('agreement').'}') with dots lc rgb '#FFFFFF' notitle, \\\n"
    "    '' using ($1-0.3):'paper_over_proposed_1' with boxes fc rgb '#FFFFFF' "
    "title 'paper, measured (average; right: the largest)', \\\n"
    "    '' using ($1-0.1):'queued_over_proposed_1' with boxes fc rgb '#A9CCE3' "
    "title 'messages queue at a receiving port', \\\n"
    "    '' using ($1+0.1):'shared_over_proposed_1' with boxes fc rgb '#F5C39A' "
    "title 'they share it', \\\n"
    "    '' using ($1+0.3):'shared_incast_over_proposed_1' with boxes fc rgb '#D55E00' "
    "title 'they share it, incast: 1.25 times less', \\\n"
    "    '' using ($1-0.3):'paper_over_proposed_1':(sprintf('%.2f', "
    "column('paper_over_proposed_1'))) with labels offset 0,0.6 font ',9' notitle, \\\n"
    "    '' using ($1+0.3):'shared_incast_over_proposed_1':(sprintf('%.2f', "
    "column('shared_incast_over_proposed_1'))) with labels offset 0,0.6 font ',9' notitle\n";

/* What the schedule of table I takes, phase by phase, and its closed form. */
static cs_status replay_proposed(cs_figure_data *data, double *elapsed_s_p, cs_error *err)
{
    cs_stored *stored = NULL;
    cs_status  status =
        cs_schedule_parse(proposed, strlen(proposed), "proposed exchange", &stored, err);
    const cs_cluster *a = &cs_rings_a;

    if (status == CS_OK) {
        const cs_rings_point point = {.cluster      = a,
                                      .servers      = 1,
                                      .block_bytes  = (uint64_t)BLOCK_MB * MB,
                                      .incast_ratio = "1.25",
                                      .stored       = stored};
        status                     = cs_rings_replay(data, &point, elapsed_s_p, err);
    }
    if (status == CS_OK) {
        double bytes = BLOCK_MB * (double)MB;
        cs_figure_check(data, "proposed exchange, replay against closed form, s", *elapsed_s_p,
                        cs_rings_message_s(a, CS_CROSS, bytes) +
                            2 * cs_rings_message_s(a, CS_NVLINK, bytes),
                        CS_REPLAY_DIGITS);
    }
    cs_stored_free(stored);
    return status;
}

/* Parallel Rings on four servers with the proposed exchange. */
static cs_status replay_servers(cs_figure_data *data, double *elapsed_s_p, cs_error *err)
{
    const cs_rings_point point  = {.cluster      = &cs_rings_a,
                                   .servers      = 4,
                                   .block_bytes  = (uint64_t)BLOCK_MIB << 20,
                                   .algorithm    = "parallel_rings",
                                   .key          = "exchange",
                                   .value        = "sockets",
                                   .incast_ratio = "1.25"};
    cs_status            status = cs_rings_replay(data, &point, elapsed_s_p, err);

    if (status == CS_OK) {
        cs_figure_check(data, "Parallel Rings, replay against closed form, s", *elapsed_s_p,
                        cs_rings_parallel_s(&cs_rings_a, 4, point.block_bytes), CS_REPLAY_DIGITS);
    }
    return status;
}

static cs_status add_row(cs_figure_data *data, size_t i, double proposed_s, cs_error *err)
{
    const cif_row *row         = &rows[i];
    bool           has_servers = row->given[0] <= 0;
    double         s[N_WAYS];
    char           what[96];
    cs_status      status = CS_OK;

    for (size_t w = 0; w < N_WAYS && status == CS_OK; w++) {
        const cs_rings_point point = {.cluster      = &cs_rings_a,
                                      .servers      = has_servers ? 4 : 1,
                                      .block_bytes  = has_servers ? (uint64_t)BLOCK_MIB << 20
                                                                  : (uint64_t)BLOCK_MB * MB,
                                      .algorithm    = row->algorithm,
                                      .key          = has_servers ? "exchange" : NULL,
                                      .value        = "mesh",
                                      .incast_ratio = ways[w]};
        status                     = cs_rings_replay(data, &point, &s[w], err);
    }
    if (status != CS_OK) {
        return status;
    }
    cs_text_add(&data->csv, "%zu,%s,", i + 1, row->label);
    const double values[] = {1e3 * s[0],        1e3 * s[1],        1e3 * s[2],
                             1e3 * proposed_s,  s[0] / proposed_s, s[1] / proposed_s,
                             s[2] / proposed_s, row->paper};
    for (size_t k = 0; k < sizeof values / sizeof values[0]; k++) {
        cs_text_add_number(&data->csv, values[k]);
        cs_text_add(&data->csv, ",");
    }
    cs_text_add(&data->csv, "%s\n", row->agreement);
    for (size_t w = has_servers ? 2 : 1; w < N_WAYS; w++) {
        (void)snprintf(what, sizeof what, "%s over proposed, incast %s", row->label, ways[w]);
        cs_rings_check_within(data, what, s[w] / proposed_s, row->given[w - 1], 0.00501);
    }
    cs_figure_expect(data, "queues at receivers cost no more than incast",
                     s[0] <= s[2] * (1 + CS_REPLAY_DIGITS));
    return CS_OK;
}

static cs_status compute(cs_figure_data *data, cs_error *err)
{
    double    proposed_s = 0, servers_s = 0;
    cs_status status = replay_proposed(data, &proposed_s, err);

    if (status == CS_OK) {
        status = replay_servers(data, &servers_s, err);
    }
    cs_text_add(&data->csv, "%s", header);
    for (size_t i = 0; i < N_ROWS && status == CS_OK; i++) {
        status = add_row(data, i, i + 1 < N_ROWS ? proposed_s : servers_s, err);
    }
    cs_figure_title(&data->gnuplot, "Congestion impact factor between the sockets of a server",
                    "replayed: alpha-beta (queues), flow with shared receivers; 13.6 GB/s a GPU "
                    "between sockets, 100 GB/s NVLink pairs (cluster A)");
    cs_text_add(&data->gnuplot, "%s", commands);
    return status;
}

const cs_figure cs_figure_parallel_rings_cif = {
    .name    = "parallel-rings-cif",
    .summary = "congestion impact factor of AllGathers inside a server of two sockets",
    .source  = "Parallel Rings (multi-HCA AllGather), table I and figure 5",
    .compute = compute,
};
