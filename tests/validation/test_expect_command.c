/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `collsim expect`, as a user sees it. */
#include "support/program.h"

#include <criterion/criterion.h>
#include <string.h>

static void expect_output(const char *arguments, const char *want)
{
    cs_text text = {0};

    cr_assert_eq(ct_program(arguments, "2>&1", &text), 0, "%s: %s", arguments, text.data);
    cr_assert_str_eq(text.data, want, "%s:\n%s", arguments, text.data);
    cs_text_free(&text);
}

Test(expect_command, table)
{
    expect_output(
        "expect --topology dgx-h100 --nccl-version 2.28 -s 8,1M,256M",
        "# expected of NCCL 2.28, 8 ranks: 1 x 8 Hopper GPUs of 450 GB/s NVLink\n"
        "#         size algorithm protocol channels        time    algbw    busbw       bound "
        "efficiency    +-\n"
        "#          (B)                                    (us)   (GB/s)   (GB/s)        (us)      "
        "  "
        "(%)   (%)\n"
        "             8      ring       ll        1       13.87     0.00     0.00        0.00      "
        "  "
        "0.0     9\n"
        "       1048576      ring       ll       24       25.95    40.41    70.71        2.33      "
        "  "
        "9.0    10\n"
        "     268435456      nvls   simple       16     1126.04   238.39   417.18      596.52      "
        " "
        "53.0     6\n"
        "# time: expected; +-: nine of ten measured times of such servers are so close\n"
        "# bound: by the data sheet of NVLink or of the NICs; efficiency: bound / time\n");
}

/* The keys are these, in this order. */
Test(expect_command, json)
{
    static const char *const keys[] = {"bytes", "algorithm", "protocol", "channels",  "expected_s",
                                       "low_s", "high_s",    "bound_s",  "busbw_GBps"};
    json_t     *row = ct_program_result("expect --topology dgx-h100 -n 16 -s 1G --format json");
    size_t      n   = 0;
    const char *key;
    json_t     *value;

    cr_assert_eq(json_object_size(row), sizeof keys / sizeof keys[0]);
    json_object_foreach(row, key, value)
    {
        cr_expect_str_eq(key, keys[n++]);
    }
    cr_expect_str_eq(json_string_value(json_object_get(row, "algorithm")), "nvlstree");
    cr_expect_eq(json_integer_value(json_object_get(row, "bytes")), 1 << 30);
    json_decref(row);
    row = ct_program_result("expect --topology dgx-h100 -c alltoall -s 1G --format json");
    cr_expect(json_is_null(json_object_get(row, "channels")));
    cr_expect_str_eq(json_string_value(json_object_get(row, "algorithm")), "p2p");
    json_decref(row);
}

/* nccl-tests' curve where no size is given: 8 B to 8 GiB. */
Test(expect_command, thirty_one_sizes)
{
    cs_text text  = {0};
    size_t  lines = 0;

    cr_assert_eq(ct_program("expect --topology dgx-h100 -n 16384 --format csv", "2>&1", &text), 0);
    for (const char *at = text.data; (at = strchr(at, '\n')) != NULL; at++) {
        lines++;
    }
    cr_assert_eq(lines, 32, "%s", text.data);
    cs_text_free(&text);
}

Test(expect_command, explain)
{
    ct_program_says(
        "expect --topology dgx-h100 --nccl-version 2.28 -s 2M --explain", 0,
        "#   nvls      simple         25.000       272.00         32.710        43.385  "
        "<- smallest estimate");
    ct_program_says("expect --topology dgx-h100 -s 2M --explain --nccl-algo ^nvls", 0,
                    "filtered out");
}

Test(expect_command, versions)
{
    ct_program_says("expect --topology dgx-h100 -s 1M --nccl-version 2.99", 0,
                    "collsim: note: --nccl-version: 2.99 is not known, 2.30 is taken");
    ct_program_says("expect --topology dgx-h100 -s 1M --nccl-version 2.99 --strict", 2,
                    "collsim: --nccl-version: 2.99 is not known: accepted with --strict are 2.8 to "
                    "2.30");
    ct_program_says("expect --topology dgx-h100 -s 1M --nccl-version new", 2,
                    "collsim: --nccl-version: 'new' is no version: accepted is "
                    "MAJOR.MINOR[.PATCH], as 2.28.3");
}

/* Where NCCL's choice loses: lines of its tuner's configuration, for sizes that do not overlap. */
Test(expect_command, audit)
{
    cs_text            text = {0};
    unsigned long long min = 0, max = 0, before = 0;
    char               algorithm[16], protocol[16];
    unsigned           lines = 0, nodes = 0, ranks = 0;

    cr_assert_eq(ct_program("expect --topology dgx-h100 -n 16 --audit", "2>&1", &text), 0);
    for (char *line = strtok(text.data, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (line[0] == '#') {
            continue;
        }
        cr_assert_eq(sscanf(line, "allreduce,%llu,%llu,%15[^,],%15[^,],-1,%u,%u,-1,-1", &min, &max,
                            algorithm, protocol, &nodes, &ranks),
                     6, "%s", line);
        cr_expect(min > before && min < max && nodes == 2 && ranks == 16, "%s", line);
        before = max;
        lines++;
    }
    cr_expect_geq(lines, 2);
    cs_text_free(&text);
    ct_program_says("expect --topology dgx-h100 -n 16 --audit -s 4M", 0,
                    "allreduce,4194304,4194304,tree,ll128,-1,2,16,-1,-1");
    ct_program_says("expect --topology nvl72 --audit", 0, "# nowhere");
    ct_program_says("expect --topology dgx-h100 --audit -c alltoall", 2, "--audit: alltoall");
    ct_program_says("expect --topology dgx-h100 --audit -s 4M,1M", 2, "--audit: needs sizes");
    ct_program_says("expect --topology dgx-h100 --audit --explain", 2, "--audit: goes without");
    ct_program_says("expect --topology dgx-h100 --audit --format json", 2, "--audit: is for");
}

Test(expect_command, refusals)
{
    static const struct {
        const char *arguments, *words;
    } cases[] = {
        {"", "collsim: --topology: needs a preset or a file"},
        {"--topology dgx-x900", "unknown topology"},
        {"--topology dgx-h100 -n 13", "collsim: --ranks: 13 GPUs do not fill servers of 8"},
        {"--topology dgx-h100 -g 9 -n 18", "collsim: --gpus-per-server: 9: dgx-h100 has 8 GPUs"},
        {"--topology dgx-h100 -g 1 -n 1", "--ranks"},
        {"--topology dgx-h100 --gpus-per-process 3",
         "collsim: --gpus-per-process: 3 does not divide the 8 of a server"},
        {"--topology adapcc", "collsim: --topology: adapcc: servers must be alike"},
        {"--topology parallel-rings-a", "NVLink does not join all of 4 GPUs"},
        {"--topology dgx-h100 -c broadcast", "the time of broadcast is not known"},
        {"--topology dgx-h100 -c alltoall -n 16", "of one server with NVSwitches alone"},
        {"--topology dgx-h100 -n 16 --fabric sockets", "times over TCP sockets are not known"},
        {"--topology dgx-h100 --nccl-algo rings", "collsim: --nccl-algo: unknown word 'rings': "
                                                  "accepted are tree, ring, nvls, nvlstree, pat"},
        {"--topology dgx-h100 --nccl-proto ^ll,x", "collsim: --nccl-proto: unknown word 'x'"},
        {"--topology dgx-h100 --nccl-algo pat",
         "collsim: --nccl-algo: nothing is left that does allreduce here"},
        {"--topology dgx-h100 -s 1M -b 8", "sizes are given by --bytes already"},
        {"--topology dgx-h100 -s 12parsecs", "12parsecs"},
        {"--topology dgx-h100 --explain --format json", "--explain: is for --format table"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char arguments[200];
        snprintf(arguments, sizeof arguments, "expect %s", cases[i].arguments);
        ct_program_says(arguments, 2, cases[i].words);
    }
}
