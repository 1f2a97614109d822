/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `collsim plot` as a user runs it: pictures of what is run, of files, and what it refuses. */
#include "support/program.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The bytes with which a picture of that kind begins. */
static void expect_picture(const char *arguments, const char *end, const char *begin)
{
    char    path[64], line[400], head[64] = "";
    cs_text text = {0};

    (void)snprintf(path, sizeof path, "/tmp/cs_plotted_%ld.%s", (long)getpid(), end);
    (void)snprintf(line, sizeof line, "plot %s -o %s", arguments, path);
    cr_expect_eq(ct_program(line, "2>&1", &text), 0, "%s: %s", line, text.data);
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", line);
    size_t n = fread(head, 1, sizeof head - 1, file);
    (void)fclose(file);
    (void)unlink(path);
    cr_expect(n > 8 && strstr(head, begin) != NULL, "%s begins with %.20s", line, head);
    cs_text_free(&text);
}

Test(plot_command, draws_what_it_runs)
{
    expect_picture("-a ring,rhd -n 8:64:x2 -s 1M --alpha 3us", "svg", "<?xml");
    expect_picture("-a ring,rhd -n 8,16 -s 1k:1M:x4 --ratio-to ring", "png", "PNG");
    expect_picture("-a ring,rhd,allpairs -n 8:64:x2 -s 1k:1G:x16 --heat", "pdf", "%PDF");
    expect_picture("-a ring,rhd,stragglar -n 16 -s 1M:4G:x4 --late 7=10us:20ms:x4 --heat", "svg",
                   "<?xml");
    expect_picture("-a ring,stragglar -n 8,16 -s 1M:64M:x2 --y critical_delay_s", "svg", "<?xml");
    expect_picture("-a ring -n 8 -s 1k:1G:x4 --y gap --no-bound --log x --title 'a \"b\"'", "svg",
                   "<?xml");
}

Test(plot_command, draws_files_of_results)
{
    char    path[64], line[128];
    cs_text text = {0};

    for (int i = 0; i < 2; i++) {
        (void)snprintf(path, sizeof path, "/tmp/cs_to_plot_%ld.%s", (long)getpid(),
                       i == 0 ? "csv" : "json");
        (void)snprintf(line, sizeof line, "run -a ring,rhd -n 8,16 -s 1k:1M:x4 -o %s", path);
        cr_expect_eq(ct_program(line, "2>&1", &text), 0, "%s", text.data);
        cs_text_free(&text);
        expect_picture(path, "svg", "<?xml");
        (void)snprintf(line, sizeof line, "plot %s -n 8", path);
        ct_program_says(line, 2, "holds results: options are for configurations");
        (void)snprintf(line, sizeof line, "plot %s --where ranks=9", path);
        ct_program_says(line, 2, "none is left");
        (void)unlink(path);
    }
}

Test(plot_command, refuses_what_it_cannot_draw)
{
    ct_program_says("plot -n 8:64:x2 -o plot.jpg", 2, "names that end in .svg, .png or .pdf");
    ct_program_says("plot -n 8", 2, "no column of numbers varies");
    ct_program_says("plot /nowhere/at-all.csv", 3, "/nowhere/at-all.csv");
    ct_program_says("plot -n 8:64:x2 --log z", 2, "accepted");
    ct_program_says("plot -n 8:64:x2 -o /nowhere/x.svg", 3, "/nowhere/x.svg");
}
