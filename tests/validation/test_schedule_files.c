/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Schedule files as a user has them: `verify` and `run --schedule` of MSCCL XML, their exit codes
 * and what they print. */
#include "support/program.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SAMPLES COLLSIM_SOURCE_DIR "/tests/exports/msccl/"
#define ERRORS  COLLSIM_SOURCE_DIR "/tests/errors/"

Test(schedule_files, verify_tells_right_wrong_and_broken_apart)
{
    static const struct {
        const char *arguments;
        int         code;
        const char *says;
    } cases[] = {
        {"verify " SAMPLES "ring-ll.xml", 0,
         "a correct allreduce over 4 ranks: 48 messages, 12 rounds\n"},
        {"verify " SAMPLES "broadcast.xml", 0,
         "a correct broadcast over 4 ranks: 9 messages, 5 rounds\n"},
        {"verify " ERRORS "msccl-race/input.xml", 1, "races with the step in line 4"},
        {"verify " ERRORS "msccl-own-chunk-lost/input.xml", 1, "ends without its own chunk"},
        {"verify " ERRORS "msccl-only-in-place/input.xml", 1,
         "out of place: chunk 0 at rank 0 is wrong"},
        {"verify " ERRORS "msccl-circle/input.xml", 2, "input.xml:4:7: step: waits for ever"},
        {"verify " ERRORS "msccl-custom/input.xml", 2, "coll=\"custom\": accepted are allreduce"},
        {"run --schedule " ERRORS "msccl-race/input.xml", 1, "races with the step in line 4"},
        {"run --schedule " ERRORS "msccl-circle/input.xml", 2, "waits for ever"},
        {"run --schedule " SAMPLES "ring-ll.xml -n 8", 2,
         "--algorithm and --ranks are not accepted"},
        {"verify " SAMPLES "none.xml", 3, "none.xml"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ct_program_says(cases[i].arguments, cases[i].code, cases[i].says);
    }
}

/* The value of a key in a row of JSON, as it is written. */
static void value_of(const cs_text *text, const char *key, char *value)
{
    const char *at = strstr(text->data, key);
    size_t      n  = 0;

    cr_assert_not_null(at, "%s in %s", key, text->data);
    for (at += strlen(key); at[n] != ',' && at[n] != '\n' && n < 39; n++) {
        value[n] = at[n];
    }
    value[n] = '\0';
}

/* An exported file takes the time of its algorithm, on any cluster; any size, any servers. */
Test(schedule_files, run_takes_the_time_of_the_algorithm)
{
    static const char *const algorithms[] = {"ring", "rhd", "circulant", "double_binary_tree"};
    static const char *const how =
        "-s 3M --alpha 3us --bandwidth 25GB/s --late 5=40us --format json";
    char path[] = "/tmp/collsim-schedule-XXXXXX", arguments[512], want[40], got[40];
    int  file   = mkstemp(path);

    cr_assert_geq(file, 0);
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++) {
        for (int g = 1; g <= 4; g *= 4) {
            cs_text direct = {0}, exported = {0}, replayed = {0};
            (void)snprintf(
                arguments, sizeof arguments,
                "schedule %s -n 8 -g %d -s 3M --alpha 3us --bandwidth 25GB/s --format msccl "
                "-o %s",
                algorithms[i], g, path);
            cr_assert_eq(ct_program(arguments, "2>&1", &exported), 0, "%s", exported.data);
            (void)snprintf(arguments, sizeof arguments, "run -a %s -n 8 -g %d %s", algorithms[i], g,
                           how);
            cr_assert_eq(ct_program(arguments, "2>&1", &direct), 0, "%s", direct.data);
            (void)snprintf(arguments, sizeof arguments, "run --schedule %s -g %d %s", path, g, how);
            cr_assert_eq(ct_program(arguments, "2>&1", &replayed), 0, "%s", replayed.data);
            value_of(&direct, "\"elapsed_s\": ", want);
            value_of(&replayed, "\"elapsed_s\": ", got);
            cr_expect_str_eq(got, want, "%s, %d GPUs a server", algorithms[i], g);
            value_of(&replayed, "\"verified\": ", got);
            cr_expect_str_eq(got, "true");
            cs_text_free(&direct);
            cs_text_free(&exported);
            cs_text_free(&replayed);
        }
    }
    (void)close(file);
    (void)unlink(path);
}
