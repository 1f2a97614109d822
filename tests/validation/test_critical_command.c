/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `collsim critical` and the delays in what `run` prints, as a user sees them. */
#include "support/program.h"

#include <criterion/criterion.h>
#include <string.h>

#define EIGHT "-a stragglar -n 8 -s 1G"

static void expect_output(const char *arguments, const char *want)
{
    cs_text text = {0};

    cr_assert_eq(ct_program(arguments, "2>&1", &text), 0, "%s: %s", arguments, text.data);
    cr_assert_str_eq(text.data, want, "%s:\n%s", arguments, text.data);
    cs_text_free(&text);
}

static double number(const json_t *row, const char *key)
{
    cr_assert(json_is_number(json_object_get(row, key)), "%s", key);
    return json_number_value(json_object_get(row, key));
}

/* The numbers are those of the paper's formulas. */
Test(critical_command, table)
{
    expect_output(
        "critical -n 8,256 -s 1G",
        "# algorithm        ranks       size (B)  critical (us)     ideal (us)  faster than      "
        "setting\n"
        "broadcast              8     1073741824          never        4126.45  ring             "
        "nic 3 us, 450 GB/s\n"
        "stragglar              8     1073741824         940.39        2063.22  ring             "
        "nic 3 us, 450 GB/s\n"
        "broadcast            256     1073741824          never        6277.47  ring             "
        "nic 3 us, 450 GB/s\n"
        "stragglar            256     1073741824          92.79        3138.74  ring             "
        "nic 3 us, 450 GB/s\n"
        "# critical: the delay of the late rank after the last of the others from which on the "
        "algorithm is faster\n"
        "# ideal: nothing more is gained from it on; never: no delay is long enough\n");
}

Test(critical_command, json_of_a_list_of_alphas)
{
    json_t *first = ct_program_result(
        "critical " EIGHT " --set 'sweep.cluster.nic.alpha=[\"3us\",\"1us\"]' --format json");

    cr_assert_float_eq(number(first, "critical_delay_s"), 0.940394e-3, 1e-9);
    cr_assert_float_eq(number(first, "ideal_delay_s"), 2.06322e-3, 1e-8);
    cr_assert_eq(number(first, "cluster.nic.alpha_s"), 3e-6);
    cr_assert_eq(number(first, "ranks"), 8);
    cr_assert_eq(number(first, "bytes"), 1 << 30);
    cr_assert_str_eq(json_string_value(json_object_get(first, "delay_reference")), "ring");
    json_decref(first);
}

/* Twice two messages of alpha and a third of the buffer: 49.2827022 us. */
Test(critical_command, csv_with_an_empty_field_for_never)
{
    expect_output("critical -a broadcast -n 4 -s 12M --format csv",
                  "algorithm,model,ranks,bytes,gpus_per_server,critical_delay_s,ideal_delay_s,"
                  "delay_reference\n"
                  "broadcast,alpha-beta,4,12582912,1,,4.928270222222204e-05,ring\n");
}

Test(critical_command, run_has_the_same)
{
    json_t *row  = ct_program_result("critical " EIGHT " --format json");
    json_t *run  = ct_program_result("run " EIGHT " --late 7=1us --format json");
    json_t *ring = ct_program_result("run -a ring -n 8 -s 1G --late 7=1us --format json");

    cr_assert_eq(number(row, "critical_delay_s"), number(run, "critical_delay_s"));
    cr_assert_eq(number(row, "ideal_delay_s"), number(run, "ideal_delay_s"));
    cr_assert(json_is_null(json_object_get(ring, "critical_delay_s")));
    cr_assert(json_is_null(json_object_get(ring, "ideal_delay_s")));
    cr_assert(json_is_null(json_object_get(ring, "delay_reference")));
    json_decref(row);
    json_decref(run);
    json_decref(ring);
}

Test(critical_command, what_is_refused)
{
    ct_program_says("critical -a ring -n 8", 2,
                    "collsim: algorithm.name: ring presumes no rank late, so that no delay is "
                    "critical: accepted are broadcast, stragglar");
    ct_program_says("critical " EIGHT " --opt late_ranks=0", 2,
                    "algorithm.options.late_ranks: 0: nobody is presumed late");
    ct_program_says("critical " EIGHT " --against rings_of_saturn", 2,
                    "--against: no algorithm 'rings_of_saturn'");
    ct_program_says("critical -a stragglar -n 7 --against merged_rhd", 2, "merged_rhd");
    ct_program_says("critical -a stragglar -n 64 --opt chunks=2", 2, "accepted are 1, 7 or more");
    ct_program_says("critical -a stragglar -c allgather", 2,
                    "collsim: collective: no algorithm presumes a rank late in allgather: accepted "
                    "is allreduce\n");
    ct_program_says("critical -n 8 -s 1M -c alltoall", 2,
                    "collsim: collective: no algorithm presumes a rank late in alltoall");
    ct_program_says("critical " EIGHT " --against stragglar", 2,
                    "--against: stragglar is never faster than itself: accepted are other");
    ct_program_says("critical -n 8 -s 1G --against stragglar", 0, "  stragglar ");
}

Test(critical_command, against_best_and_all)
{
    ct_program_says("critical " EIGHT " --against best", 0, "967.39        2063.22  merged_rhd");
    ct_program_says("critical -a all -n 8 -s 1G", 0, "940.39        2063.22  ring");
}
