/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What AdapCC is compared with, over six sets of GPUs of its testbed, against another program: a
 * fluid simulation in which all chunks that are on their way share NICs max-min fairly, and a
 * stage of Blink is a formula. 256 MiB; milliseconds. */
#include "base/text.h"
#include "support/program.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 6 };

/* A column of that program's table, and by how much the times here may differ. */
typedef struct column {
    const char *config;
    const char *algorithm, *options; /* what a row has; options: a part of them */
    double      want_ms[CASES];      /* NAN: not compared, see below */
    double      within;
} column;

/* AdapCC's trees, and the released program's. NCCL's trees with chunks of 1 MiB there, of the best
 * size here. With a slow server as a leaf (the last set) they take 36 to 42 % longer here: a port
 * takes one message at a time, and the slow one's takes as long as its NIC needs. */
static const column columns[] = {
    {"adapcc-against", "adapcc", "heuristic", {21.91, 32.65, 45.74, 45.26, 32.73, 45.26}, 0.05},
    {"adapcc-against", "adapcc", "\"code", {22.54, 33.25, 66.39, 77.70, 32.81, 65.78}, 0.03},
    {"adapcc-against", "nccl_rings", "channels", {37.86, 40.87, 81.13, 83.24, 37.86, 81.13}, 5e-4},
    {"adapcc-against", "blink", "\"ring", {23.59, 34.40, 68.57, 75.81, 38.20, 68.57}, 5e-3},
    {"adapcc-against",
     "double_binary_tree",
     "trees\"\": 2",
     {24.18, 45.86, 86.61, 88.71, 45.78, (double)NAN},
     0.1},
    {"adapcc-against",
     "double_binary_tree",
     "trees\"\": 1",
     {26.79, 70.03, 134.71, 134.99, 69.96, (double)NAN},
     0.12},
    {"adapcc-against-reduce",
     "reduce_ring",
     "channels",
     {21.59, 22.01, 43.72, 44.14, 24.47, 43.52},
     0.125},
    {"adapcc-against-reduce",
     "reduce_tree",
     "chunks",
     {26.64, 48.22, 86.15, 86.19, 48.19, (double)NAN},
     0.15},
    {"adapcc-against-reduce", "blink", "\"ring", {23.15, 24.53, 47.66, 49.04, 26.43, 46.98}, 0.03},
};

/* elapsed_s of a line of CSV: its seventh field. */
static double elapsed_ms(const char *line)
{
    for (int field = 1; field < 7; field++) {
        line = strchr(line, ',') + 1;
    }
    return 1e3 * strtod(line, NULL);
}

Test(adapcc_against, baselines_take_the_time_of_another_program)
{
    const char *of   = "";
    cs_text     text = {0};

    for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++) {
        const column *want = &columns[c];
        char          words[256], start[64];
        int           seen = 0;
        if (strcmp(of, want->config) != 0) {
            of = want->config;
            cs_text_free(&text);
            text = (cs_text){0};
            (void)snprintf(words, sizeof words,
                           "run " COLLSIM_SOURCE_DIR "/configs/%s.json --format csv", of);
            cr_assert_eq(ct_program(words, "", &text), 0);
        }
        (void)snprintf(start, sizeof start, "\n%s,", want->algorithm);
        for (const char *at = strstr(text.data, start); at != NULL; at = strstr(at + 1, start)) {
            char line[2048];
            (void)snprintf(line, sizeof line, "%.*s", (int)strcspn(at + 1, "\n"), at + 1);
            const char *scenario = strstr(line, "\"{\"\"algorithm"), *options = strstr(line, "\"{");
            char        mine[512];
            cr_assert(scenario != NULL && options != NULL && options < scenario, "%s", line);
            (void)snprintf(mine, sizeof mine, "%.*s", (int)(scenario - options), options);
            if (strstr(mine, want->options) == NULL) {
                continue;
            }
            cr_assert_lt(seen, CASES);
            double want_ms = want->want_ms[seen++], got_ms = elapsed_ms(line);
            cr_assert(isnan(want_ms) || fabs(got_ms / want_ms - 1) < want->within,
                      "%s %s, set %d: %.2f ms, not %.2f", want->algorithm, want->options, seen,
                      got_ms, want_ms);
        }
        cr_assert_eq(seen, CASES, "%s %s", want->algorithm, want->options);
    }
    cs_text_free(&text);
}
