/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the program says beside its results, as a user sees it: numbers that are hardly meant, runs
 * that take long, iterations that are all the same. Results, exit codes and standard output are as
 * without it. And refusals cost a user no more than their number. */
#include "support/folder.h"
#include "support/program.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(run_notes, .init = ct_folder_enter, .fini = ct_folder_leave);

/* Run the program; returns the exit code. What it printed goes to both texts, which are freed by
 * the next call. */
static cs_text out, errors;

static int run(const char *arguments)
{
    cs_text nothing = {0};
    int     code    = ct_program(arguments, ">out 2>errors", &nothing);

    cs_text_free(&nothing);
    cs_text_free(&out);
    cs_text_free(&errors);
    out    = ct_file_read("out");
    errors = ct_file_read("errors");
    return code;
}

/* ---- numbers without a unit ---- */

Test(run_notes, bare_numbers_that_are_hardly_meant_are_said)
{
    cr_expect_eq(run("run -n 8 -s 1M --alpha 5 --bandwidth 400 --late 3=2 --nvlink-alpha 1 "
                     "-m loggp --model-opt gap_s=7 --format json"),
                 0);
    cr_expect_str_eq(
        errors.data,
        "collsim: note: --alpha: 5 is read as 5 s; write 5us for microseconds\n"
        "collsim: note: --bandwidth: 400 is read as 400 B/s; write 400GB/s or 400Gb/s\n"
        "collsim: note: --nvlink-alpha: 1 is read as 1 s; write 1us for microseconds\n"
        "collsim: note: --late: 2 is read as 2 s; write 2ms for milliseconds\n"
        "collsim: note: --model-opt gap_s: 7 is read as 7 s; write 7us for "
        "microseconds\n");
    json_t *rows = json_loads(out.data, 0, NULL);
    cr_assert_not_null(rows, "standard output is as it was");
    cr_expect_gt(json_number_value(json_object_get(json_array_get(rows, 0), "elapsed_s")), 7);
    json_decref(rows);
}

Test(run_notes, numbers_that_may_be_meant_are_not)
{
    static const char *const words[] = {
        "run -n 8 -s 1M --alpha 5us --bandwidth 400Gb/s --late 3=2s",
        "run -n 8 -s 1000 --alpha 3e-6 --bandwidth 50e9 --late 3=0.002",
        "run -n 8 -s 8 --alpha 0 --late 3=0",
        "bound -n 8 -s 8 --alpha 0",
    };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        cr_expect_eq(run(words[i]), 0);
        cr_expect_str_eq(errors.data, "", "%s", words[i]);
    }
}

/* Once for each number that somebody wrote, however many scenarios it is in. */
Test(run_notes, a_number_is_said_once)
{
    ct_file_write("c.json",
                  "{\"cluster\": {\"ranks\": 4, \"nic\": {\"bandwidth\": 400}},\n"
                  "\"sweep\": {\"bytes\": [1024, 2048, 4096], \"cluster.ranks\": [4, 8],\n"
                  "\"arrivals.late\": [[{\"rank\": 1, \"delay\": 3}]]}}\n");
    static const char want[] =
        "collsim: note: c.json:1:47: cluster.nic.bandwidth: 400 is read as 400 B/s; write 400GB/s "
        "or "
        "400Gb/s\n"
        "collsim: note: c.json:3:41: arrivals.late[0].delay: 3 is read as 3 s; write 3ms for "
        "milliseconds\n";
    static const char *const words[] = {"run c.json", "run c.json --format csv",
                                        "sweep c.json -o r.db -j 2", "montecarlo c.json -i 1"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        cr_expect_eq(run(words[i]), 0);
        cr_expect_str_eq(errors.data, want, "%s", words[i]);
    }
    cr_expect_eq(run("sweep c.json -o r.db -q"), 0);
    cr_expect_str_eq(errors.data, "");
}

Test(run_notes, many_numbers_are_a_few_lines)
{
    cs_text text = {0};

    cs_text_add(&text, "{\"sweep\": {\"cluster.nic.alpha\": [1");
    for (int i = 2; i <= 100; i++) {
        cs_text_add(&text, ", %d", i);
    }
    cs_text_add(&text, "]}}");
    ct_file_write("c.json", text.data);
    cs_text_free(&text);
    cr_expect_eq(run("run c.json -s 1M --format csv"), 0);
    cr_expect_not_null(strstr(errors.data, "cluster.nic.alpha: 8 is read as 8 s"));
    cr_expect_null(strstr(errors.data, "cluster.nic.alpha: 9 is read as 9 s"));
    cr_expect_not_null(
        strstr(errors.data, "collsim: note: 92 more numbers without a unit like these\n"));
}

/* ---- iterations ---- */

Test(run_notes, where_nothing_is_random_one_iteration_is_run)
{
    ct_file_write("c.json",
                  "{\"bytes\": \"1M\", \"arrivals\": {\"late\": [{\"rank\": 1, \"delay\": "
                  "\"1ms\"}]}, \"sweep\": {\"algorithm.name\": [\"ring\", \"rhd\"]}}\n");
    static const char note[] =
        "collsim: note: montecarlo: nothing is random in 2 of 2 scenarios: one "
        "iteration is enough there, and one was run\n";
    static const char *const words[] = {"montecarlo c.json --format json",
                                        "montecarlo c.json --format json -i 100 --sampling sobol",
                                        "montecarlo c.json --format json -o m.db",
                                        "montecarlo c.json --format json -o m.db"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        cr_expect_eq(run(words[i]), 0);
        cr_expect_str_eq(errors.data, note, "%s", words[i]);
        json_t *rows = json_loads(out.data, 0, NULL), *row = json_array_get(rows, 1);
        cr_expect_eq(json_integer_value(json_object_get(row, "iterations")), 1);
        cr_expect_gt(json_number_value(json_object_get(row, "exposed_mean_s")), 0);
        cr_expect(json_is_null(json_object_get(row, "exposed_stddev_s")));
        cr_expect(json_is_null(json_object_get(row, "exposed_mean_low_s")));
        cr_expect(json_is_null(json_object_get(row, "exposed_p99_low_s")),
                  "one sample, no interval");
        cr_expect(json_is_null(json_object_get(row, "exposed_p99_high_s")));
        cr_expect_gt(json_number_value(json_object_get(row, "saved_mean_s")), -1);
        json_decref(rows);
    }
    cr_expect_eq(run("montecarlo c.json"), 0);
    cr_expect_not_null(strstr(out.data, "# 1 iteration (random)"), "%s", out.data);
    cr_expect_eq(run("montecarlo c.json -i 1"), 0);
    cr_expect_str_eq(errors.data, "", "that is what was asked for");
    cr_expect_eq(run("montecarlo c.json -q"), 0);
    cr_expect_str_eq(errors.data, "");
}

Test(run_notes, where_something_is_random_all_iterations_are_run)
{
    static const char *const arrivals[] = {
        "{\"distribution\": {\"name\": \"exponential\", \"mean\": \"1ms\"}}",
        "{\"straggler\": {\"persistence\": 0.5, \"delay\": \"1ms\"}}",
        "{\"straggler\": {\"rank\": 1, \"persistence\": 0.5, \"delay\": \"1ms\"}}",
    };
    char text[256];

    for (size_t i = 0; i < sizeof arrivals / sizeof arrivals[0]; i++) {
        snprintf(text, sizeof text, "{\"bytes\": \"1M\", \"arrivals\": %s}", arrivals[i]);
        ct_file_write("c.json", text);
        cr_expect_eq(run("montecarlo c.json -i 50 --format json"), 0);
        cr_expect_str_eq(errors.data, "");
        cr_expect_not_null(strstr(out.data, "\"iterations\": 50"));
    }
    /* The first iteration knows nothing of the one before. */
    ct_file_write("c.json",
                  "{\"bytes\": \"1M\", \"arrivals\": {\"late\": [{\"rank\": 1, \"delay\": "
                  "\"9ms\"}]}, \"algorithm\": \"stragglar\", \"montecarlo\": {\"prediction\": "
                  "\"previous\", \"presumed\": 0}}");
    cr_expect_eq(run("montecarlo c.json -i 50 --format json"), 0);
    cr_expect_str_eq(errors.data, "");
    cr_expect_not_null(strstr(out.data, "\"hit_ratio\": 0.98"), "%s", out.data);
}

/* ---- what takes long ---- */

/* The first line that a ring over so many ranks writes to standard error; then it is killed. */
static void first_words_of_ring(const char *ranks, char *line, int line_bytes)
{
    int ends[2];

    line[0] = '\0';
    cr_assert_eq(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        cr_assert_not_null(freopen("/dev/null", "w", stdout));
        close(ends[0]);
        execl(COLLSIM_BINARY, "collsim", "run", "-m", "flow", "-n", ranks, "-s", "64M",
              "--no-verify", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    FILE *from = fdopen(ends[0], "r");
    cr_assert_not_null(from);
    if (fgets(line, line_bytes, from) == NULL) {
        line[0] = '\0';
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    fclose(from);
}

Test(run_notes, a_run_that_takes_long_over_a_network_model_says_so_first, .timeout = 250)
{
    char              line[400];
    static const char begin[] =
        "collsim: note: ring over 5002 ranks on flow: 50 million transfers, about ";

    first_words_of_ring("5002", line, sizeof line);
    cr_expect_eq(strncmp(line, begin, sizeof begin - 1), 0, "'%s'", line);
    cr_expect_not_null(strstr(line, " (the first "), "%s", line);
    cr_expect_eq(run("run -m flow -n 64 -s 1M"), 0);
    cr_expect_str_eq(errors.data, "");
    cr_expect_eq(run("run -n 5002 -s 64M --no-verify"), 0);
    cr_expect_str_eq(errors.data, "", "port models are quick");
}

/* ---- refusals ---- */

static double children_s(void)
{
    struct rusage usage;

    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)usage.ru_utime.tv_sec + 1e-6 * (double)usage.ru_utime.tv_usec;
}

/* Processor time for so many scenarios that the configuration refuses. */
static double time_refusals(const char *arguments, int n)
{
    cs_text text = {0};

    cs_text_add(&text, "{\"bytes\": \"1M\", \"sweep\": {\"cluster.ranks\": [4");
    for (int i = 1; i <= n; i++) {
        cs_text_add(&text, ", -%d", i);
    }
    cs_text_add(&text, "]}}");
    ct_file_write("c.json", text.data);
    cs_text_free(&text);
    double before = children_s();
    cr_assert_eq(run(arguments), 2);
    cr_assert_not_null(strstr(errors.data, "c.json:1:48: cluster.ranks: -1 is outside"), "%s",
                       errors.data);
    return children_s() - before;
}

Test(run_notes, refusals_cost_no_more_than_their_number, .timeout = 250)
{
    static const char *const words[] = {"run c.json --format csv", "sweep c.json -o r.db -j 1"};

    for (size_t i = 0; i < 2; i++) {
        double few = time_refusals(words[i], 5000);
        (void)remove("r.db");
        double many = time_refusals(words[i], 40000);
        (void)remove("r.db");
        cr_expect_lt(many, 20 * few + 0.5, "%s: %g s for 5000, %g s for 40000", words[i], few,
                     many);
    }
}

/* ---- algorithms that "all" leaves out ---- */

Test(run_notes, who_is_left_out_of_all_is_said_once)
{
    static const char *const words[] = {"run -a all -c allgather -n 6 -s 6K,12K --format csv",
                                        "run -a ring,all -c allgather -n 6 -s 6K",
                                        "bound -a all -c allgather -n 6 -s 6K",
                                        "compare -a all -c allgather -n 6 -s 6K"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        cr_expect_eq(run(words[i]), 0, "%s", words[i]);
        cr_expect_null(strstr(out.data, "iallgather_rd"), "%s", words[i]);
        if (strncmp(words[i], "bound", 5) != 0) {
            cr_expect_str_eq(errors.data,
                             "collsim: note: left out of all: iallgather_rd (cluster.ranks: "
                             "needs a power of two, got 6 ranks); nvls "
                             "(cluster.gpus_per_server: runs inside one server: accepted is 6, as "
                             "many as there are GPUs); rhd (collective: "
                             "for ranks that are not a power of two does not do allgather; it does "
                             "allreduce)\n",
                             "%s", words[i]);
        }
    }
}

Test(run_notes, who_is_asked_for_by_name_is_not_left_out)
{
    cr_expect_eq(run("run -a iallgather_rd,all -c allgather -n 6 -s 6K"), 2);
    cr_expect_not_null(strstr(out.data, "# refused: algorithm.name=iallgather_rd"));
    cr_expect_eq(run("run -a all -c alltoall -n 65536 -s 64M"), 2);
    cr_expect_not_null(strstr(errors.data, "no algorithm is left"));
    cr_expect_str_eq(out.data, "");
}
