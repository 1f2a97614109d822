/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tuner's audit by measurements: a planted worse default is found at its sizes and nowhere
 * else, noise alone writes nothing, and what cannot be said is not.
 */
#include "base/alloc.h"
#include "base/random.h"
#include "output/tuner_audit.h"
#include "support/folder.h"
#include "support/program.h"
#include "traces/measured_choices.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 8, SIZES = 12, RUNS = 5, FIRST_BYTES = 1 << 16 };

TestSuite(tuner_audit, .init = ct_folder_enter, .fini = ct_folder_leave);

static cs_nccl_cluster cluster;

/* Eight H100 in a server. */
static cs_nccl_tuning tuning_of(void)
{
    static const cs_nccl_setting setting = {.minor      = CS_NCCL_NEWEST,
                                            .algorithms = UINT32_MAX,
                                            .protocols  = UINT32_MAX,
                                            .has_nvls   = true};
    cs_nccl_tuning               tuning;

    cluster = (cs_nccl_cluster){.gpu          = CS_NCCL_HOPPER,
                                .servers      = 1,
                                .gpus         = RANKS,
                                .nics         = 8,
                                .nic_GBps     = 50,
                                .pcie_GBps    = 48,
                                .sheet_GBps   = 450,
                                .has_nvswitch = true};
    cs_nccl_tune(&cluster, &setting, CS_ALLREDUCE, &tuning);
    return tuning;
}

/* A normal variable, nearly: the sum of 12 uniform ones. */
static double normal(uint64_t a, uint64_t b)
{
    double sum = -6;

    for (uint64_t i = 0; i < 12; i++) {
        sum += (double)(cs_mix64(cs_mix64(a * 1000003 + b) + i) >> 11) * 0x1p-53;
    }
    return sum;
}

static double time_of(uint64_t bytes, double factor, double noise, uint64_t seed)
{
    return factor * (20e-6 + (double)bytes / 100e9) * exp(noise * normal(seed, bytes));
}

/* A log of nccl-tests. `settings`: lines of NCCL above the table. */
static void write_log(const char *name, const char *settings, double factor, uint64_t slow_from,
                      uint64_t slow_to, double noise, uint64_t seed)
{
    cs_text text = {0};

    cs_text_add(&text,
                "# nThread 1 nGpus 1 minBytes 65536 maxBytes 134217728 step: 2(factor) warmup "
                "iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n");
    for (int r = 0; r < RANKS; r++) {
        cs_text_add(&text,
                    "#  Rank %2d Group  0 Pid %6d on      node0 device %2d [0x%02x] NVIDIA H100\n",
                    r, 100 + r, r, 16 + r);
    }
    cs_text_add(&text,
                "%s#\n#       size         count      type   redop    root     time   algbw   "
                "busbw #wrong     time   algbw   busbw #wrong\n",
                settings);
    for (int i = 0; i < SIZES; i++) {
        uint64_t bytes   = (uint64_t)FIRST_BYTES << i;
        bool     is_slow = bytes >= slow_from && bytes <= slow_to;
        double   us      = 1e6 * time_of(bytes, is_slow ? factor : 1, noise, seed);
        double   algbw   = (double)bytes / us / 1e3;
        cs_text_add(&text, "%12llu %12llu float sum -1", (unsigned long long)bytes,
                    (unsigned long long)bytes / 4);
        for (int side = 0; side < 2; side++) {
            cs_text_add(&text, " %8.4f %8.4f %8.4f 0", us, algbw, algbw * 1.75);
        }
        cs_text_add(&text, "\n");
    }
    cs_text_add(&text,
                "# Out of bounds values : 0 OK\n# Collective test concluded: all_reduce_perf\n");
    cr_assert(!text.failed);
    ct_file_write(name, text.data);
    cs_text_free(&text);
}

/* Five logs each of NCCL's own choice, which says tree/ll, and of two that were forced. */
static void write_runs(double factor, double noise, uint64_t seed)
{
    for (uint64_t run = 0; run < RUNS; run++) {
        char    name[32];
        cs_text said = {0};
        for (int i = 0; i < SIZES; i++) {
            cs_text_add(&said,
                        "node0:100:100 [0] NCCL INFO AllReduce: %llu Bytes -> Algo TREE proto "
                        "LL channel{Lo..Hi}={0..1}\n",
                        (unsigned long long)FIRST_BYTES << i);
        }
        (void)snprintf(name, sizeof name, "default%u.log", (unsigned)run);
        write_log(name, said.data, factor, 1 << 20, 1 << 22, noise, seed + 3 * run);
        cs_text_free(&said);
        (void)snprintf(name, sizeof name, "ring%u.log", (unsigned)run);
        write_log(name, "", 1, 0, 0, noise, seed + 3 * run + 1);
        (void)snprintf(name, sizeof name, "nvls%u.log", (unsigned)run);
        write_log(name,
                  "node0:100:100 [0] NCCL INFO NCCL_ALGO set by environment to NVLS\n"
                  "node0:100:100 [0] NCCL INFO NCCL_PROTO set by environment to Simple\n",
                  1, 0, 0, noise, seed + 3 * run + 2);
    }
}

static void read_runs(cs_measured_choices *measured, int runs)
{
    for (int run = 0; run < runs; run++) {
        char     list[120];
        cs_error err = {0};
        (void)snprintf(list, sizeof list, "default%d.log,ring/ll128=ring%d.log,nvls%d.log", run,
                       run, run);
        cr_assert_eq(cs_measured_choices_read(measured, list, NULL, &err), CS_OK, "%s: %s",
                     err.input, err.message);
    }
}

/* The audit; the text is the caller's. */
static cs_text audit(const cs_measured_choices *measured)
{
    const cs_nccl_tuning tuning = tuning_of();
    cs_text              text   = {0};
    cs_error             err    = {0};

    cr_assert_eq(cs_tuner_audit(measured, &tuning, 0.05, &text, &err), CS_OK, "%s", err.message);
    return text;
}

/* Lines for the plugin: those that are no comments. */
static size_t n_lines(const cs_text *text)
{
    size_t n = 0;

    for (const char *at = text->data; *at != '\0'; at = strchr(at, '\n') + 1) {
        n += *at != '#';
    }
    return n;
}

Test(tuner_audit, what_ran_is_known)
{
    cs_measured_choices measured = {.n = 0};
    size_t              n[3]     = {0};

    write_runs(1.4, 0.01, 1);
    read_runs(&measured, 1);
    cr_assert_eq(measured.n, 3 * SIZES, "one side of each row");
    for (size_t i = 0; i < measured.n; i++) {
        const cs_measured_choice *one = &measured.all[i];
        cr_expect_eq(one->collective, CS_ALLREDUCE);
        cr_expect_eq(one->n_ranks, RANKS);
        n[0] += strcmp(one->algorithm, "tree") == 0 && strcmp(one->protocol, "ll") == 0 &&
                !one->is_forced;
        n[1] += strcmp(one->algorithm, "ring") == 0 && strcmp(one->protocol, "ll128") == 0 &&
                one->is_forced;
        n[2] += strcmp(one->algorithm, "nvls") == 0 && strcmp(one->protocol, "simple") == 0 &&
                one->is_forced;
    }
    for (int k = 0; k < 3; k++) {
        cr_expect_eq(n[k], SIZES, "%d: %zu", k, n[k]);
    }
    cs_measured_choices_free(&measured);
}

/* 40 % slower from 1 to 4 MiB: one range, and its loss. */
Test(tuner_audit, a_planted_worse_default_is_found)
{
    for (uint64_t seed = 0; seed < 10; seed++) {
        cs_measured_choices measured = {.n = 0};
        write_runs(1.4, 0.01, 1000 * seed);
        read_runs(&measured, RUNS);
        cs_text     text = audit(&measured);
        const char *line = strstr(text.data, "\nallreduce,");
        unsigned    loss = 0;
        cr_assert_not_null(line, "%s", text.data);
        for (const char *at = line + 1; *at != '\0' && *at != '#'; at = strchr(at, '\n') + 1) {
            unsigned long long low, high;
            cr_assert_eq(sscanf(at, "allreduce,%llu,%llu,", &low, &high), 2, "%s", at);
            cr_expect(low >= 1 << 20 && high <= 1 << 22, "%s", text.data);
            cr_expect_not_null(strstr(at, ",-1,1,8,-1,-1\n"));
        }
        cr_expect_not_null(strstr(text.data, "# tree/ll takes up to "));
        cr_assert_eq(sscanf(strstr(text.data, "# tree/ll takes up to "),
                            "# tree/ll takes up to %u %% longer", &loss),
                     1);
        cr_expect(loss >= 37 && loss <= 45, "%u", loss);
        for (int i = 4; i <= 6; i++) { /* all three sizes are in a line */
            char words[64];
            (void)snprintf(words, sizeof words, "\n#%12d", FIRST_BYTES << i);
            const char *row = strstr(text.data, words);
            cr_assert_not_null(row);
            cr_expect(strstr(row, "  loses\n") < strchr(row + 1, '\n'), "%s", row);
        }
        cs_text_free(&text);
        cs_measured_choices_free(&measured);
    }
}

/* Neither little noise, of which nothing is worth a line, nor much: in 100 audits with 24
 * comparisons each, three runs at 4 and 15 %. */
Test(tuner_audit, noise_alone_writes_nothing)
{
    size_t n_wrong = 0;

    for (uint64_t seed = 0; seed < 100; seed++) {
        cs_measured_choices measured = {.n = 0};
        for (uint64_t i = 0; i < 3 * 3 * SIZES; i++) {
            static const char *const names[3][2] = {
                {"tree", "ll"}, {"ring", "ll128"}, {"nvls", "simple"}};
            const uint64_t     way = i % 3, bytes = (uint64_t)FIRST_BYTES << i / 9;
            cs_measured_choice one = {
                .collective = CS_ALLREDUCE,
                .n_ranks    = RANKS,
                .bytes      = bytes,
                .is_forced  = way > 0,
                .time_s     = time_of(bytes, 1, seed % 2 == 0 ? 0.04 : 0.15, 1000 * seed + i)};
            (void)snprintf(one.algorithm, sizeof one.algorithm, "%s", names[way][0]);
            (void)snprintf(one.protocol, sizeof one.protocol, "%s", names[way][1]);
            cr_assert(cs_grow(&measured.all, &measured.capacity, measured.n + 1, 64,
                              sizeof *measured.all));
            measured.all[measured.n++] = one;
        }
        cs_text text = audit(&measured);
        n_wrong += n_lines(&text) > 0;
        cr_expect(n_lines(&text) > 0 || strstr(text.data, "# nowhere\n") != NULL);
        cs_text_free(&text);
        cs_measured_choices_free(&measured);
    }
    cr_expect_leq(n_wrong, 2, "%zu of 100 audits of noise", n_wrong);
}

/* Two runs are stated, and no line is written of them. */
Test(tuner_audit, few_measurements_are_said)
{
    cs_measured_choices measured = {.n = 0};

    write_runs(1.4, 0.01, 5);
    read_runs(&measured, 2);
    cs_text text = audit(&measured);
    cr_expect_eq(n_lines(&text), 0, "%s", text.data);
    cr_expect_not_null(strstr(text.data, "  too few measurements\n"));
    cs_text_free(&text);
    cs_measured_choices_free(&measured);
}

/* Without a word of NCCL the model says what it chose; the range is that of the sizes. */
Test(tuner_audit, the_model_names_what_logs_do_not)
{
    cs_measured_choices  measured = {.n = 0};
    const cs_nccl_tuning tuning   = tuning_of();
    cs_nccl_choice       choice   = {.protocol = CS_NCCL_SIMPLE};
    char                 words[64];

    for (int run = 0; run < 3; run++) {
        write_log("own.log", "", 2, 1 << 18, 1 << 18, 0.01, (uint64_t)run);
        write_log("ring.log", "", 1, 0, 0, 0.01, (uint64_t)run + 100);
        cr_assert_eq(cs_measured_choices_read(&measured, "own.log,ring=ring.log", NULL, NULL),
                     CS_OK);
    }
    cs_text text = audit(&measured);
    cr_assert(cs_nccl_choose(&tuning, 1 << 18, &choice));
    (void)snprintf(words, sizeof words, " %s/%s? ", cs_nccl_algorithm_names[choice.algorithm],
                   cs_nccl_protocol_names[choice.protocol]);
    cr_expect_not_null(strstr(text.data, words), "%s: %s", words, text.data);
    cr_expect_eq(n_lines(&text), 1, "%s", text.data);
    cr_expect_not_null(strstr(text.data, "\nallreduce,262144,262144,ring,"), "%s", text.data);
    cs_text_free(&text);
    cs_measured_choices_free(&measured);
}

/* Algorithms that the model lacks are measured like others, and called as the plugin reads them. */
Test(tuner_audit, algorithms_that_the_model_lacks)
{
    cs_measured_choices measured = {.n = 0};

    for (int run = 0; run < 3; run++) {
        write_log("own.log", "", 2, 1 << 18, 1 << 18, 0.01, (uint64_t)run);
        write_log("chain.log", "x:1:1 [0] NCCL INFO NCCL_ALGO set by environment to CollnetChain\n",
                  1, 0, 0, 0.01, (uint64_t)run + 100);
        cr_assert_eq(cs_measured_choices_read(&measured, "own.log,chain.log", NULL, NULL), CS_OK);
    }
    cs_text text = audit(&measured);
    cr_expect_eq(n_lines(&text), 1, "%s", text.data);
    cr_expect_not_null(strstr(text.data, "\nallreduce,262144,262144,collnet_chain,simple,-1,"),
                       "%s", text.data);
    cs_text_free(&text);
    cs_measured_choices_free(&measured);
}

/* Inspector's records say what ran; a call takes as long as on the rank that came last. */
Test(tuner_audit, logs_of_inspector)
{
    static const char *const folders[] = {"own", "forced"};
    cs_measured_choices      measured  = {.n = 0};
    cs_error                 err       = {0};

    for (int k = 0; k < 2; k++) {
        char mkdir_words[64];
        (void)snprintf(mkdir_words, sizeof mkdir_words, "mkdir %s", folders[k]);
        cr_assert_eq(system(mkdir_words), 0);
        for (uint32_t r = 0; r < RANKS; r++) {
            cs_text text = {0};
            char    name[64];
            for (uint64_t call = 1; call <= 20; call++) {
                double us = (k == 0 ? 130 : 100) * (1 + 0.01 * normal(call, (uint64_t)k));
                us += r == 5 ? 0 : 1000; /* the others wait for rank 5 */
                if (call == 7 && r < 3) {
                    continue; /* lost by more than a quarter */
                }
                cs_text_add(&text,
                            "{\"header\": {\"id\": \"0x%d\", \"rank\": %u, \"n_ranks\": 8}, "
                            "\"coll_perf\": {\"coll\": \"AllReduce\", \"coll_algo\": \"%s\", "
                            "\"coll_proto\": \"%s\", \"coll_sn\": %llu, "
                            "\"coll_msg_size_bytes\": 1048576, \"coll_exec_time_us\": %.0f}}\n",
                            k, r, k == 0 ? "NVLS" : "Ring", k == 0 ? "Simple" : "LL128",
                            (unsigned long long)call, us);
            }
            (void)snprintf(name, sizeof name, "%s/%u.log", folders[k], r);
            ct_file_write(name, text.data);
            cs_text_free(&text);
        }
    }
    ct_file_write("own/README", "no log\n");
    cr_assert_eq(cs_measured_choices_read(&measured, "own,ring/ll128=forced", NULL, &err), CS_OK,
                 "%s", err.message);
    cr_expect_eq(measured.n, 38);
    cr_expect_not_null(
        strstr(measured.notes.data, "left out: 1 calls that less than three quarters"));
    cr_expect_not_null(strstr(measured.notes.data, "left out: own/README"), "%s",
                       measured.notes.data);
    cs_text text = audit(&measured);
    cr_expect_not_null(strstr(text.data, "\nallreduce,1048576,1048576,ring,ll128,-1,1,8,-1,-1\n"),
                       "%s", text.data);
    cr_expect_not_null(strstr(text.data, "# nvls/simple takes up to 3"));
    cr_expect_null(strstr(text.data, "nvls/simple? "), "it is said");
    cs_text_free(&text);
    cs_measured_choices_free(&measured);
}

Test(tuner_audit, what_cannot_be_said)
{
    cs_measured_choices measured = {.n = 0};
    cs_error            err      = {0};

    write_runs(1.4, 0.01, 9);
    cr_expect_eq(cs_measured_choices_read(&measured, "ring/l128=ring0.log", NULL, &err), CS_EINVAL);
    cr_expect_not_null(strstr(err.message, "'ring/l128' is no choice of NCCL's"), "%s",
                       err.message);
    cr_expect_eq(cs_measured_choices_read(&measured, "ring=", NULL, &err), CS_EINVAL);
    cr_expect_eq(cs_measured_choices_read(&measured, "nowhere.log", NULL, &err), CS_EIO);
    cr_expect_eq(cs_measured_choices_read(&measured, "tree/ll=nowhere.log", NULL, &err), CS_EIO);
    cr_expect_eq(measured.n, 0);
    ct_file_write("old.log", "{\"header\": {\"id\": \"a\", \"rank\": 0, \"n_ranks\": 8}, "
                             "\"coll_perf\": {\"coll\": \"AllReduce\", \"coll_sn\": 1, "
                             "\"coll_msg_size_bytes\": 1024, \"coll_exec_time_us\": 9}}\n");
    cr_assert_eq(cs_measured_choices_read(&measured, "old.log", NULL, &err), CS_OK);
    cr_expect_eq(measured.n, 0, "Inspector 4.1 does not say what ran");
    cr_expect_not_null(
        strstr(measured.notes.data, "left out: 1 records of Inspector that do not say"));
    for (int run = 0; run < 3; run++) { /* what was forced alone, none of it the model's */
        cr_assert_eq(cs_measured_choices_read(&measured, "tree/ll=ring0.log,pat/simple=ring1.log",
                                              NULL, &err),
                     CS_OK);
    }
    cs_text text = audit(&measured);
    cr_expect_eq(n_lines(&text), 0);
    cr_expect_not_null(strstr(text.data, "  NCCL's choice was not measured\n"), "%s", text.data);
    cs_text_free(&text);
    cs_measured_choices_free(&measured);
}

/* The program: what it prints is a configuration, and what does not go together is refused. */
Test(tuner_audit, as_a_command)
{
    write_runs(1.4, 0.01, 2);
    cr_assert_eq(system("mkdir all && mv default*.log nvls*.log all"), 0);
    ct_program_says("expect --topology dgx-h100 -n 8 --audit --measured all", 0,
                    ",nvls,simple,-1,1,8,-1,-1");
    ct_program_says(
        "expect --topology dgx-h100 -n 8 --audit --measured all --measured ring/ll128=all", 0,
        "# 240 measurements of allreduce on 8 ranks\n");
    ct_program_says(
        "expect --topology dgx-h100 -n 16 --audit --measured all", 2,
        "no measurement of allreduce on 16 ranks: the first of 120 is of allreduce on 8");
    ct_program_says("expect --topology dgx-h100 -n 8 --measured all", 2, "belongs to --audit");
    ct_program_says("expect --topology dgx-h100 -n 8 --audit --measured all -s 1M", 2,
                    "goes without sizes");
}

Test(tuner_audit, survives_every_failing_allocation)
{
    const cs_nccl_tuning tuning = tuning_of();
    cs_status            status = CS_ENOMEM;

    write_runs(1.4, 0.01, 3);
    for (long passes = 0; status != CS_OK; passes++) {
        cs_measured_choices measured = {.n = 0};
        cs_text             text     = {0};
        cs_alloc_fail_after(passes);
        status = cs_measured_choices_read(
            &measured, "default0.log,ring/ll128=ring0.log,nvls0.log,default1.log", NULL, NULL);
        if (status == CS_OK) {
            status = cs_tuner_audit(&measured, &tuning, 0.05, &text, NULL);
        }
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%d", (int)status);
        cr_assert(passes < 5000);
        cs_text_free(&text);
        cs_measured_choices_free(&measured);
    }
}
