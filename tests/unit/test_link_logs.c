/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of other benchmarks than nccl-tests: what becomes of their units and directions. What is
 * refused is in tests/logs. */
#include "base/alloc.h"
#include "support/folder.h"
#include "support/program.h"
#include "traces/nccl_tests.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static cs_nccl_logs parse(const char *text, uint32_t n_ranks)
{
    cs_nccl_logs logs = {0};
    cs_error     err  = {0};

    cr_assert_eq(cs_nccl_parse(text, strlen(text), "a.txt", n_ranks, &logs, &err), CS_OK,
                 "%d:%d: %s: %s", err.input_line, err.input_column, err.where, err.message);
    return logs;
}

static void expect_row(const cs_nccl_log *log, size_t row, uint64_t bytes, double time_s)
{
    cr_assert_lt(row, log->n_rows);
    cr_expect_eq(log->rows[row].size_bytes, bytes);
    cr_expect_float_eq(log->rows[row].timings[0].time_s / time_s, 1, 1e-12, "row %zu: %g, not %g",
                       row, log->rows[row].timings[0].time_s, time_s);
    cr_expect(!log->rows[row].timings[1].is_measured);
}

#define OSU_LATENCY                                                      \
    "$ mpirun -np 2 osu_latency D D\n# OSU MPI-CUDA Latency Test v7.2\n" \
    "# Size          Latency (us)\n# Datatype: MPI_CHAR.\n0 2.71\n1 3.04\n1048576 55.43\n"
#define OSU_BW "# OSU MPI-CUDA Bandwidth Test v7.2\n# Size  Bandwidth (MB/s)\n1000000 20000.00\n"
#define OSU_BIBW \
    "# OSU MPI Bi-Directional Bandwidth Test v7.2\n# Size  Bandwidth (MB/s)\n1000000 40000.00\n"

/* Half a round trip is the time of a message; MB is 1e6; both directions are halved. */
Test(link_logs, osu)
{
    cs_nccl_logs logs = parse(OSU_LATENCY OSU_BW OSU_BIBW, 0);

    cr_assert_eq(logs.n, 3);
    cr_expect_eq(logs.logs[0]->measured, CS_NCCL_MESSAGE);
    cr_expect_str_eq(logs.logs[0]->program, "osu_latency");
    cr_expect_eq(logs.logs[0]->n_rows, 2);
    expect_row(logs.logs[0], 0, 1, 3.04e-6);
    expect_row(logs.logs[0], 1, 1048576, 55.43e-6);
    cr_expect_eq(logs.logs[0]->reading.remarks[CS_NCCL_EMPTY_ROWS].n, 1);
    cr_expect_eq(logs.logs[0]->reading.remarks[CS_NCCL_LAUNCHERS].n, 1);
    cr_expect_eq(logs.logs[0]->n_ranks, 0);
    for (size_t l = 1; l < 3; l++) {
        cr_expect_eq(logs.logs[l]->measured, CS_NCCL_RATE);
        cr_expect_str_eq(logs.logs[l]->program, l == 1 ? "osu_bw" : "osu_bibw");
        expect_row(logs.logs[l], 0, 1000000, 50e-6);
    }
    cs_nccl_logs_free(&logs);
}

/* Sizes of AllGather are those of a rank's block, as OSU has them. */
Test(link_logs, osu_collectives)
{
    static const struct {
        const char   *title;
        cs_collective collective;
        uint64_t      bytes;
    } cases[] = {{"Allreduce", CS_ALLREDUCE, 1024},
                 {"Allgather", CS_ALLGATHER, 4096},
                 {"All-to-All Personalized Exchange", CS_ALLTOALL, 4096},
                 {"Reduce_scatter", CS_REDUCESCATTER, 1024}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[300];
        snprintf(text, sizeof text,
                 "# OSU MPI %s Latency Test v7.2\n# Size       Avg Latency(us)   Min Latency(us)\n"
                 "1024 10.5 9.0\n",
                 cases[i].title);
        cs_nccl_logs logs = parse(text, 4);
        cr_assert_eq(logs.n, 1);
        cr_expect_eq(logs.logs[0]->measured, CS_NCCL_COLLECTIVE);
        cr_expect_eq(logs.logs[0]->collective, cases[i].collective);
        cr_expect_eq(logs.logs[0]->n_ranks, 4);
        expect_row(logs.logs[0], 0, cases[i].bytes, 10.5e-6);
        cs_nccl_logs_free(&logs);
    }
}

#define BW_COLUMNS(unit) \
    " #bytes     #iterations    BW peak[" unit "]    BW average[" unit "]   MsgRate[Mpps]\n"

/* MB and MiB of perftest are 2^20, Gb 1e9 bits; the average counts, and the typical time. */
Test(link_logs, perftest)
{
    cs_nccl_logs logs = parse(
        "---\n RDMA_Write BW Test\n Mtu : 4096[B]\n" BW_COLUMNS(
            "MiB/sec") "Conflicting CPU frequency values detected\n 1048576 5000 0.00 20000.00 "
                       "0.2\n---\n"
                       " RDMA_Write Bidirectional BW Test\n" BW_COLUMNS(
                           "MB/sec") " 1048576 5000 1 40000.00 0.2\n"
                                     " Send BW Test\n" BW_COLUMNS(
                                         "Gb/sec") " 1000000 5000 1 160.00 0.2\n"
                                                   " RDMA_Write Latency Test\n #bytes #iterations  "
                                                   "  t_min[usec]    t_max[usec]  "
                                                   "t_typical[usec]    t_avg[usec]\n 2 1000 1.76 "
                                                   "6.12 1.79 1.80\n" BW_COLUMNS(
                                                       "MiB/sec") " 1048576 5000 1 20000.00 0.2\n",
        0);
    static const char *const programs[] = {"ib_write_bw", "ib_write_bw", "ib_send_bw",
                                           "ib_write_lat", "ib_write_bw"};

    cr_assert_eq(logs.n, 5);
    for (size_t l = 0; l < 5; l++) {
        cr_expect_str_eq(logs.logs[l]->program, programs[l]);
        cr_expect_eq(logs.logs[l]->measured, l == 3 ? CS_NCCL_MESSAGE : CS_NCCL_RATE);
    }
    expect_row(logs.logs[0], 0, 1048576, 50e-6);
    expect_row(logs.logs[1], 0, 1048576, 50e-6);
    expect_row(logs.logs[2], 0, 1000000, 50e-6);
    expect_row(logs.logs[3], 0, 2, 1.79e-6);
    expect_row(logs.logs[4], 0, 1048576, 50e-6);
    cs_nccl_logs_free(&logs);
}

/* Pairs of GPUs are rows; hosts are passed over. */
static void expect_pairs(const char *text, const char *device)
{
    const double size = 512.0 * 1024 * 1024;
    cs_nccl_logs logs = parse(text, 0);

    cr_assert_eq(logs.n, 2);
    for (size_t l = 0; l < 2; l++) {
        cr_assert_eq(logs.logs[l]->n_rows, 2);
        cr_expect_eq(logs.logs[l]->measured, CS_NCCL_RATE);
        cr_expect_str_eq(logs.logs[l]->device, device);
        expect_row(logs.logs[l], 0, (uint64_t)size, size / (l == 0 ? 276e9 : 260e9));
        expect_row(logs.logs[l], 1, (uint64_t)size, size / (l == 0 ? 275e9 : 262e9));
    }
    cs_nccl_logs_free(&logs);
}

Test(link_logs, nvbandwidth)
{
    expect_pairs(
        "nvbandwidth Version: v0.5\nDevice 0: NVIDIA A100-SXM4-80GB\n"
        "Running host_to_device_memcpy_ce.\n"
        "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n      0  1\n 0  24.94  24.95\n"
        "Running device_to_device_memcpy_read_ce.\n"
        "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n           0         1\n"
        " 0       N/A    276.00\n 1    275.00       N/A\n\nSUM a 551.00\n"
        "memcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s)\n           0         1\n"
        " 0       N/A    520.00\n 1    524.00       N/A\n",
        "NVIDIA A100-SXM4-80GB");
    expect_pairs(
        "{\"nvbandwidth\": {\"version\": \"v0.5\", \"testcases\": ["
        "{\"name\": \"h\", \"bandwidth_description\": \"memcpy CE CPU(row) -> GPU(column) "
        "bandwidth "
        "(GB/s)\", \"bandwidth_matrix\": [[\"24.9\"]]},"
        "{\"name\": \"a\", \"bandwidth_description\": \"memcpy CE GPU(row) -> GPU(column) "
        "bandwidth "
        "(GB/s)\", \"bandwidth_matrix\": [[\"N/A\", \"276.0\"], [\"275.0\", \"N/A\"]]},"
        "{\"name\": \"b\", \"bandwidth_description\": \"memcpy CE GPU(row) <-> GPU(column) Total "
        "bandwidth (GB/s)\", \"bandwidth_matrix\": [[\"N/A\", \"520.0\"], [\"524.0\", "
        "\"N/A\"]]}]}}",
        "");
}

/* Rates are coarse where they are small; sizes are powers of 1024 in the table, 1e9 in the title.
 */
Test(link_logs, all_reduce_bench)
{
    cs_nccl_logs logs = parse(
        "- hardware: _CudaDeviceProperties(name='NVIDIA H200', major=9)\n"
        "The average bandwidth of all_reduce over 8 ranks (5 warmups / 20 trials):\n\n"
        "| payload |    busbw   |    algbw   |\n| ------: | ---------: | ---------: |\n"
        "|    2KiB |   0.09GBps |   0.05GBps |\n|    1MiB |  17.50GBps |  10.00GBps |\n"
        "|     1GB | 350.00GBps | 200.00GBps |\nElapsed time: 0:01:00\n"
        "[n:0]:The average bandwidth of all_reduce with a 4.0GB payload (5 trials, 16 ranks):\n"
        "[n:0]: algbw: 40.000 GBps (320.0 Gbps)\n[n:0]: busbw: 75.000 GBps (600.0 Gbps)\n",
        0);

    cr_assert_eq(logs.n, 2);
    cr_expect_eq(logs.logs[0]->n_ranks, 8);
    cr_expect_eq(logs.logs[0]->collective, CS_ALLREDUCE);
    cr_expect_str_eq(logs.logs[0]->device, "NVIDIA H200");
    cr_expect_eq(logs.logs[0]->n_rows, 2);
    cr_expect_eq(logs.logs[0]->reading.remarks[CS_NCCL_UNMEASURED_ROWS].n, 1);
    expect_row(logs.logs[0], 0, 1048576, 1048576 / 10e9);
    expect_row(logs.logs[0], 1, 1 << 30, (double)(1 << 30) / 200e9);
    cr_expect_eq(logs.logs[1]->n_ranks, 16);
    expect_row(logs.logs[1], 0, 4000000000, 0.1);
    cs_nccl_logs_free(&logs);
}

/* Rank lines say on how many hosts a log was measured, where they are all there and in order. */
Test(link_logs, hosts)
{
    static const struct {
        const char *hosts[4];
        uint32_t    n_hosts;
    } cases[] = {{{"a", "a", "b", "b"}, 2}, {{"a", "a", "a", "a"}, 1}, {{"a", "b", "c", "d"}, 4},
                 {{"a", "b", "a", "b"}, 0}, {{"a", "a", "a", "b"}, 0}, {{"a", "a", "b", NULL}, 0}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cs_text text = {0};
        for (unsigned r = 0; r < 4; r++) {
            if (cases[i].hosts[r] != NULL) {
                cs_text_add(&text, "#  Rank %u Group 0 Pid 1 on %s device %u [0x07] X\n", r,
                            cases[i].hosts[r], r);
            }
        }
        cs_text_add(&text, "1048576 262144 float sum -1 100.0 10.4858 %s 0 100.0 10.4858 %s 0\n",
                    cases[i].hosts[3] != NULL ? "15.7286" : "13.9810",
                    cases[i].hosts[3] != NULL ? "15.7286" : "13.9810");
        cs_nccl_logs logs = parse(text.data, 0);
        cr_expect_eq(logs.logs[0]->n_hosts, cases[i].n_hosts, "case %zu: %u", i,
                     logs.logs[0]->n_hosts);
        cs_nccl_logs_free(&logs);
        cs_text_free(&text);
    }
}

TestSuite(link_levels, .init = ct_folder_enter, .fini = ct_folder_leave);

/* Latencies give alpha and the rate; rates above them go on with it; rates alone need an alpha. */
Test(link_levels, what_they_say_of_a_level)
{
    cs_text latency = {0}, rate = {0};

    cs_text_add(&latency, "# OSU MPI Latency Test v7.2\n# Size          Latency (us)\n");
    cs_text_add(&rate, "# OSU MPI Bandwidth Test v7.2\n# Size      Bandwidth (MB/s)\n");
    for (uint64_t bytes = 8; bytes <= 1 << 26; bytes *= 4) { /* 5 us and 20 GB/s; 1 us to send */
        if (bytes <= 1 << 20) {
            cs_text_add(&latency, "%llu %.4f\n", (unsigned long long)bytes,
                        5 + (double)bytes / 20e3);
        }
        cs_text_add(&rate, "%llu %.4f\n", (unsigned long long)bytes,
                    (double)bytes / (1 + (double)bytes / 20e3));
    }
    ct_file_write("latency.txt", latency.data);
    ct_file_write("rate.txt", rate.data);
    cs_text_free(&latency);
    cs_text_free(&rate);

    static const char *const commands[] = {
        "calibrate -g 1 --nic latency.txt -o c.json",
        "calibrate -g 1 --nic rate.txt --nic latency.txt -o c.json",
        "calibrate -g 1 --nic rate.txt --nic-alpha 5us -o c.json"};
    for (size_t i = 0; i < 3; i++) {
        ct_program_says(commands[i], 0, "any collective");
        json_t *result = ct_program_result(
            i == 0 ? "run --calibration c.json -n 8 -s 4M -a ring --format json"
                   : "run --calibration c.json -n 8 -s 256M -a ring --format json");
        const double bytes   = i == 0 ? 4.0 * 1048576 : 256.0 * 1048576;
        const double truth_s = 14 * (5e-6 + bytes / 8 / 20e9);
        const double time_s  = json_number_value(json_object_get(result, "elapsed_s"));
        cr_expect_float_eq(time_s / truth_s, 1, 1e-3, "%s: %g, not %g", commands[i], time_s,
                           truth_s);
        json_decref(result);
    }
    ct_program_says("calibrate -g 1 --nic rate.txt", 2, "rates alone");
    ct_program_says("calibrate -g 1 rate.txt", 2, "of one server, or of several?");
    ct_program_says("calibrate rate.txt", 2, "measures the link between two and no collective");
}

Test(link_logs, out_of_memory)
{
    static const char text[] = OSU_LATENCY OSU_BW
        "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n 0 1\n 0 N/A 2\n 1 3 N/A\n"
        "The average bandwidth of all_reduce with a 4.0GB payload (5 trials, 16 ranks):\n"
        " algbw: 40.000 GBps\n";
    cs_status status = CS_ENOMEM;

    for (long passes = 0; status != CS_OK; passes++) {
        cs_nccl_logs logs = {0};
        cr_assert_lt(passes, 1000);
        cs_alloc_fail_after(passes);
        status = cs_nccl_parse(text, sizeof text - 1, "a", 0, &logs, NULL);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%d", (int)status);
        cr_expect_eq(logs.n, status == CS_OK ? 4 : 0);
        cs_nccl_logs_free(&logs);
    }
}
