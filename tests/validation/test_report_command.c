/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `collsim report` as a user runs it: pages of what is run, of files and of traces, and what it
 * refuses. */
#include "support/program.h"

#include "base/alloc.h"
#include "base/file.h"
#include "report/page_parts.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *page_path(void)
{
    static char path[64];

    (void)snprintf(path, sizeof path, "/tmp/cs_reported_%ld.html", (long)getpid());
    return path;
}

/* Without D3 the program says what to install. */
static bool has_pages(void)
{
    if (cs_page_parts[0].name == NULL) {
        ct_program_says("report -n 4", 3, "node-d3");
    }
    return cs_page_parts[0].name != NULL;
}

/* The page of these arguments has all these words, the last of which is NULL; it is gone then. */
static void expect_page(const char *arguments, const char *const *words)
{
    char     line[400];
    cs_text  said = {0};
    char    *page = NULL;
    size_t   length;
    cs_error err = {0};

    (void)snprintf(line, sizeof line, "report %s -o %s", arguments, page_path());
    cr_assert_eq(ct_program(line, "2>&1", &said), 0, "%s: %s", line, said.data);
    cr_assert_eq(cs_file_read(page_path(), 8 << 20, &page, &length, &err), CS_OK, "%s",
                 err.message);
    (void)unlink(page_path());
    for (; *words != NULL; words++) {
        cr_expect(strstr(page, *words) != NULL, "%s: the page has no '%s'", line, *words);
    }
    cs_free(page);
    cs_text_free(&said);
}

Test(report_command, makes_a_page_of_what_it_runs)
{
    static const char *const late[]   = {"When GPU 3 of <span class=\"num\" data-dim=\"ranks\">",
                                         "\"views\":[{\"name\":",
                                         "\"critical\":",
                                         "\"lower\":[",
                                         "<dt>Again</dt>",
                                         NULL};
    static const char *const dead[]   = {"NIC 0 of server 1 dead", "no NIC broken",
                                         "before and after", "With nothing broken", NULL};
    static const char *const random[] = {"\"chance\":{\"text\":", NULL};

    if (has_pages()) {
        expect_page("-a ring,stragglar -n 4,8 -s 1k:1M:x32 --late 3=1ms", late);
        expect_page("-a nccl_rings,r2ccl -n 8 -g 4 -s 1M --kill-nic 1.0", dead);
        expect_page(COLLSIM_SOURCE_DIR "/configs/montecarlo-arrivals.json --no-timeline", random);
    }
}

Test(report_command, makes_a_page_of_files)
{
    static const char *const rows[]  = {"12 schedules, all verified", NULL};
    static const char *const trace[] = {
        "GPU 2 comes last in", "\"late\":{\"text\":", "the model is not that machine", NULL};
    char    path[64], line[128];
    cs_text text = {0};

    if (!has_pages()) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        (void)snprintf(path, sizeof path, "/tmp/cs_to_report_%ld.%s", (long)getpid(),
                       i == 0 ? "csv" : "json");
        (void)snprintf(line, sizeof line, "run -a ring,rhd -n 8,16 -s 1k:1M:x32 -o %s", path);
        cr_expect_eq(ct_program(line, "2>&1", &text), 0, "%s", text.data);
        cs_text_free(&text);
        expect_page(path, rows);
        (void)snprintf(line, sizeof line, "report %s -n 8", path);
        ct_program_says(line, 2, "holds results: options are for configurations");
        (void)unlink(path);
    }
    expect_page("--trace " COLLSIM_SOURCE_DIR "/traces/generated-stragglar4.log", trace);
}

Test(report_command, makes_the_same_bytes_for_any_number_of_threads)
{
    char     line[300];
    char    *pages[2] = {NULL, NULL};
    size_t   length[2];
    cs_text  said = {0};
    cs_error err  = {0};

    for (int i = 0; has_pages() && i < 2; i++) {
        (void)snprintf(line, sizeof line,
                       "report -a ring,rhd,stragglar -n 8,16 -s 1k:1M:x8 --late 3=1ms -j %d -o %s "
                       "--title t",
                       i == 0 ? 1 : 4, page_path());
        cr_assert_eq(ct_program(line, "2>&1", &said), 0, "%s", said.data);
        cr_assert_eq(cs_file_read(page_path(), 8 << 20, &pages[i], &length[i], &err), CS_OK);
        (void)unlink(page_path());
        char *jobs = strstr(pages[i], i == 0 ? "-j 1 " : "-j 4 ");
        cr_assert_not_null(jobs, "the command that makes it again");
        for (; jobs != NULL; jobs = strstr(jobs, i == 0 ? "-j 1 " : "-j 4 ")) {
            jobs[3] = 'N';
        }
        cs_text_free(&said);
    }
    if (has_pages()) {
        cr_expect_str_eq(pages[0], pages[1]);
    }
    cs_free(pages[0]);
    cs_free(pages[1]);
}

Test(report_command, refuses_what_it_cannot_show)
{
    if (!has_pages()) {
        return;
    }
    ct_program_says("report -n 8 -o page.pdf", 2, "names that end in .html");
    ct_program_says("report /nowhere/at-all.csv", 3, "/nowhere/at-all.csv");
    ct_program_says("report -n 8 -o /nowhere/x.html", 3, "/nowhere/x.html");
    ct_program_says("report -n 8,16 --show bytes=1G -o /tmp/x.html", 2, "the same in all rows");
    ct_program_says("report " COLLSIM_SOURCE_DIR "/configs/training-llama.json", 2, "montecarlo");
    ct_program_says("report --trace /nowhere/x.log", 3, "/nowhere/x.log");
    ct_program_says("report --where ranks=9 --trace " COLLSIM_SOURCE_DIR
                    "/traces/generated-stragglar4.log",
                    2, "nothing to choose");
    ct_program_says("report -a ring,rhd --trace " COLLSIM_SOURCE_DIR
                    "/traces/generated-stragglar4.log",
                    2, "nothing to choose");
    ct_program_says("report -n 16 -g 8 --kill-nic 2.0 -o /tmp/x.html", 2, "server 2 is not there");
    ct_program_says("report -n 8 --slow 3=2 --slow 9=2 -o /tmp/x.html", 2, "9 is outside [0, 7]");
    ct_program_says("serve --port 0 -n 0", 2, "--ranks");
    ct_program_says("serve --port 0 -n 16 -g 8 --kill-nic 2.0", 2, "server 2 is not there");
    ct_program_says("sweep " COLLSIM_SOURCE_DIR "/configs/small-sweep.json -o /tmp/x.csv", 2,
                    "FILE.db");
}
