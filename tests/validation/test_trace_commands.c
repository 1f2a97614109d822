/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `collsim calibrate`, `arrivals` and `whatif --trace` as a user runs them: exit codes, errors, and
 * the numbers of the StragglAR paper's model for 4 GPUs, 1 GiB, 3 us and 450 GB/s (in ms):
 * ring 3.59714, best case 3.19346, critical delay 1.19305. */
#include "support/folder.h"
#include "support/program.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef COLLSIM_SOURCE_DIR
#define COLLSIM_SOURCE_DIR "."
#endif

#define TRACES COLLSIM_SOURCE_DIR "/traces/"

Test(trace_commands, answers)
{
    ct_program_says("calibrate " TRACES "generated-ring8.log", 0,
                    "# log        generated-ring8.log: 31 rows in 54 lines, 4 skipped\n");
    ct_program_says("calibrate --format json " TRACES "generated-ring8.log", 0,
                    "\"skipped_lines\": 4,");
    ct_program_says("calibrate " COLLSIM_SOURCE_DIR "/tests/fuzz/corpus/log/remarks.txt", 0,
                    "# warning    results were not checked, see line 4: validation: 0\n");
    ct_program_says("calibrate --hold-out 4 " TRACES "generated-ring8.log", 0,
                    "# error      held out, every k-th size, k = 4: median 0.");
    ct_program_says("calibrate --hold-out 1 " TRACES "generated-ring8.log", 2, "--hold-out: 1 is");
    ct_program_says("calibrate " COLLSIM_SOURCE_DIR "/tests/fuzz/corpus/log/simllm.json", 2,
                    "collective: the file holds allreduce, allgather: give one");
    ct_program_says("calibrate -n 4 -c allreduce " COLLSIM_SOURCE_DIR
                    "/tests/fuzz/corpus/log/simllm.json",
                    0, "# error      held out, 2 ranks: median ");
    ct_program_says("arrivals " TRACES "generated-arrivals8.csv", 0,
                    "rank 5 is last in 94.0 % of the calls");
    ct_program_says("arrivals " TRACES "generated-stragglar4.log", 0, "left out as warm-up: 1");
    ct_program_says("arrivals " TRACES "generated-kineto2-rank1.json " TRACES
                    "generated-kineto2-rank0.json",
                    0, "rank 1 is last in 75.0 %");
    ct_program_says("whatif -a stragglar --trace " TRACES "generated-stragglar4.log", 0,
                    "best: stragglar");
    ct_program_says("whatif --trace " TRACES "generated-kineto2-rank0.json," TRACES
                    "generated-kineto2-rank1.json --format csv",
                    0, "\nring,,");
}

Test(trace_commands, refusals)
{
    const char *trace = "whatif --trace " TRACES "generated-arrivals8.csv ";
    const struct {
        const char *more, *words;
    } cases[] = {
        {"--preset nccl", "collsim: --preset: belongs to a job, not to --trace"},
        {"-a rign", "collsim: --algorithm: no algorithm 'rign', did you mean 'ring'?"},
        {"--opt segments", "collsim: --opt: 'segments' is not of the form KEY=VALUE"},
        {"--set cluster.ranks=4", "collsim: cluster.ranks: is 4, the trace has 8 ranks"},
        {"--period 0", "collsim: --period: 0 s is outside (0 s, 1000000000 s]"},
        {"--category x", "choose among the events of JSON traces"},
        {COLLSIM_SOURCE_DIR "/configs/whatif-half-nic.json", "unknown key 'job'"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1024];
        (void)snprintf(text, sizeof text, "%s%s", trace, cases[i].more);
        ct_program_says(text, 2, cases[i].words);
    }
    ct_program_says("whatif --alpha 3us", 2, "collsim: --alpha: belongs to a trace of arrivals");
    ct_program_says("whatif", 2, "needs a configuration, a trace or a NIC");
    ct_program_says("arrivals", 2, "needs a trace");
    ct_program_says("arrivals /nonexistent", 3, "collsim: /nonexistent: cannot be opened");
    ct_program_says("arrivals " TRACES "generated-kineto2-rank0.json", 2,
                    "has 2 ranks, 1 of them is");
    ct_program_says("arrivals " TRACES "generated-arrivals8.csv,", 2, "names no file");
}

/* The line of an algorithm and policy in the JSON answer. */
static const json_t *line_of(const json_t *answer, const char *algorithm, const char *policy)
{
    size_t        i;
    const json_t *line;

    json_array_foreach(json_object_get(answer, "lines"), i, line)
    {
        const char *name = json_string_value(json_object_get(line, "algorithm"));
        const char *way  = json_string_value(json_object_get(line, "policy"));
        if (strcmp(name, algorithm) == 0 && strcmp(way != NULL ? way : "", policy) == 0) {
            return line;
        }
    }
    cr_assert(false, "no line of %s %s", algorithm, policy);
    return NULL;
}

static double number_of(const json_t *line, const char *key)
{
    return json_number_value(json_object_get(line, key));
}

Test(trace_commands, published_numbers)
{
    cs_text text = {0};

    cr_assert_eq(ct_program("whatif -a stragglar --format json --trace " TRACES
                            "generated-stragglar4.log",
                            "2>&1", &text),
                 0);
    json_t       *answer = json_loads(text.data, 0, NULL);
    const json_t *ring   = line_of(answer, "ring", "");
    const json_t *late   = line_of(answer, "stragglar", "static");

    cr_expect_float_eq(number_of(ring, "exposed_s"), 3.59714e-3, 5e-9);
    cr_expect_float_eq(number_of(late, "exposed_s"), 3.19346e-3, 5e-9);
    cr_expect_float_eq(number_of(late, "break_even_s"), 1.19305e-3, 5e-9);
    cr_expect_float_eq(number_of(late, "saved_s"), 0.40368e-3, 1e-8);
    cr_expect_float_eq(number_of(late, "won_ratio"), 1, 0);
    cr_expect_float_eq(number_of(late, "saved_per_day_gpu_hours"),
                       number_of(late, "saved_s") / number_of(answer, "period_s") * 4 * 24, 1e-12);
    json_decref(answer);
    cs_text_free(&text);
}

/* Arrivals that were taken from times inside end together, but for rounding (6.8e-15 us here):
 * neither they nor what is written of them is a measurement of the ends. */
Test(trace_commands, ends_of_calls)
{
    static const char inside[] =
        "iteration,rank,inside_us\n0,0,28.301\n0,1,85.622\n0,2,82.114\n0,3,12.447\n1,0,12.036\n"
        "1,1,53.313\n1,2,85.132\n1,3,40.496\n2,0,27.328\n2,1,43.769\n2,2,12.323\n2,3,27.735\n";
    char    from[64], to[64], arguments[512];
    cs_text text = {0};

    (void)snprintf(from, sizeof from, "/tmp/collsim-inside-%ld.csv", (long)getpid());
    (void)snprintf(to, sizeof to, "/tmp/collsim-ends-%ld.csv", (long)getpid());
    ct_file_write(from, inside);
    (void)snprintf(arguments, sizeof arguments, "arrivals -o %s %s", to, from);
    cr_assert_eq(ct_program(arguments, "2>&1", &text), 0, "%s", text.data);
    cr_expect(strstr(text.data, "\nranks leave a call") == NULL, "%s", text.data);
    cs_text_free(&text);
    (void)snprintf(arguments, sizeof arguments, "arrivals --format json %s", from);
    ct_program_says(arguments, 0, "\"end_spread_s\": null, \"end_resolution_s\": null");
    (void)snprintf(arguments, sizeof arguments, "arrivals %s", to);
    ct_program_says(arguments, 0,
                    "\nranks leave a call together, as finely as its times are given (0.001 us)\n");
    (void)unlink(from);
    (void)unlink(to);
}

/* What is written is read again with the same statistics. */
Test(trace_commands, written_arrivals)
{
    char    path[64], arguments[512];
    cs_text first = {0}, second = {0};

    (void)snprintf(path, sizeof path, "/tmp/collsim-arrivals-%ld.csv", (long)getpid());
    (void)snprintf(arguments, sizeof arguments,
                   "arrivals --format csv -o %s " TRACES "generated-kineto2-rank0.json," TRACES
                   "generated-kineto2-rank1.json",
                   path);
    cr_assert_eq(ct_program(arguments, "2>&1", &first), 0, "%s", first.data);
    (void)snprintf(arguments, sizeof arguments, "arrivals --format csv %s", path);
    cr_assert_eq(ct_program(arguments, "2>&1", &second), 0, "%s", second.data);
    cr_expect_str_eq(first.data, second.data);
    (void)remove(path);
    cs_text_free(&first);
    cs_text_free(&second);
}

/* A folder of compressed traces is the same as its files; what is no trace is named, and what is
 * damaged refused. */
Test(trace_commands, folders_and_compressed_files, .init = ct_folder_enter, .fini = ct_folder_leave)
{
    cr_assert_eq(system("mkdir traces empty && for r in 0 1; do gzip -c " TRACES
                        "generated-kineto2-rank$r.json > traces/rank$r.json.gz; done && "
                        "echo words > traces/notes.txt && gzip -c " TRACES
                        "generated-ring8.log > ring.log.gz && "
                        "head -c 500 traces/rank0.json.gz > cut.json.gz"),
                 0);
    ct_program_says("arrivals traces", 0, "rank 1 is last in 75.0 %");
    ct_program_says("arrivals traces", 0, "left out of folders: traces/notes.txt");
    ct_program_says("whatif -a broadcast --trace traces", 0, "best: broadcast");
    ct_program_says("calibrate ring.log.gz", 0, "# log        ring.log.gz: 31 rows in 54 lines");
    ct_program_says("run -n 8 -s 1M --calibration ring.log.gz", 0, "# Avg bus bandwidth");
    ct_program_says("arrivals empty", 2, "collsim: empty: has no trace: accepted are tables");
    ct_program_says("arrivals cut.json.gz", 2, "collsim: cut.json.gz: is cut off");
}

/* Two servers of 8 GPUs, rank 3 2 ms late in each of 20 calls. */
static void write_servers(const char *path)
{
    FILE *file = fopen(path, "w");

    cr_assert_not_null(file);
    (void)fputs("call,rank,arrival_s\n", file);
    for (int call = 0; call < 20; call++) {
        for (int rank = 0; rank < 16; rank++) {
            (void)fprintf(file, "%d,%d,%.3f\n", call, rank, call + (rank == 3 ? 0.002 : 0));
        }
    }
    (void)fclose(file);
}

#define SERVERS                                                                        \
    " -s 1G --set cluster.gpus_per_server=8 --set cluster.nic.bandwidth=50GB/s --set " \
    "cluster.nvlink.bandwidth=450GB/s "

/* What is saved is saved against the rings over all NICs, which is what would run: against the ring
 * over one NIC of eight a schedule that takes 38 ms saves some hours. StragglAR uses all NICs, too,
 * and lies between the bound (server_late, 4.6874 - 2 ms) and the rings. */
Test(trace_commands, the_baseline_of_servers_uses_all_their_nics)
{
    char    path[64], arguments[512];
    cs_text text = {0};

    (void)snprintf(path, sizeof path, "/tmp/collsim-servers-%ld.csv", (long)getpid());
    write_servers(path);
    (void)snprintf(arguments, sizeof arguments, "whatif --trace %s" SERVERS "--format json", path);
    cr_assert_eq(ct_program(arguments, "2>&1", &text), 0, "%s", text.data);
    json_t       *answer   = json_loads(text.data, 0, NULL);
    const json_t *baseline = line_of(answer, "nccl_rings", "");
    cr_expect(json_is_true(json_object_get(baseline, "baseline")));
    cr_expect_lt(number_of(baseline, "exposed_s"), 6e-3);
    cr_expect_lt(number_of(line_of(answer, "optcc", ""), "saved_per_day_gpu_hours"), 0.2);
    cr_expect_lt(number_of(line_of(answer, "hierarchical", ""), "saved_per_day_gpu_hours"), 0);
    const json_t *stragglar = line_of(answer, "stragglar", "static");
    cr_expect_geq(number_of(stragglar, "exposed_s"), 2.6873e-3);
    cr_expect_lt(number_of(stragglar, "exposed_s"), 3.3e-3);
    json_decref(answer);
    cs_text_free(&text);
    (void)snprintf(arguments, sizeof arguments, "whatif --trace %s -s 1G", path);
    ct_program_says(
        arguments, 0, /* 16 servers of one GPU */
        " ring               -                4.5639       0.0000         0      0.0            "
        "-       0.0000         0  baseline\n");
    (void)unlink(path);
}

Test(trace_commands, options_are_those_of_any_algorithm)
{
    char path[64], arguments[512];

    (void)snprintf(path, sizeof path, "/tmp/collsim-options-%ld.csv", (long)getpid());
    write_servers(path);
    (void)snprintf(arguments, sizeof arguments,
                   "whatif --trace %s -s 1G -a ring,stragglar --opt chunks=3", path);
    ct_program_says(
        arguments, 0,
        "not available: 16 ranks: accepted are 1, 5 or more, and auto, not 3"); /* a line of the
                                                                                   table says so */
    (void)snprintf(arguments, sizeof arguments,
                   "whatif --trace %s -s 1G -a ring,stragglar --opt chunks=auto", path);
    ct_program_says(arguments, 0, "best: ");
    (void)snprintf(arguments, sizeof arguments,
                   "whatif --trace %s -s 1G -a ring,stragglar --opt treez=8", path);
    ct_program_says(arguments, 2, "--opt treez: unknown option 'treez', did you mean 'trees'?");
    (void)unlink(path);
}

/* Without -a, and what ring is where it is asked for. */
Test(trace_commands, servers_run_rings_over_all_their_nics)
{
    ct_program_says("run -n 16 -g 8 -s 1G", 0, "# collsim 0.2.0: allreduce by nccl_rings, model");
    ct_program_says("run -n 16 -s 1G", 0, "# collsim 0.2.0: allreduce by ring, model");
    ct_program_says("run -n 8 -g 8 -s 1G -a ring", 0, "# collsim 0.2.0: allreduce by ring, model");
    ct_program_says(
        "run -n 16 -g 8 -s 1G -a ring", 0,
        ": ring: one ring over all GPUs has one NIC of a server at work at a time; nccl_rings "
        "has all of them\n");
}
