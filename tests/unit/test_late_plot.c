/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pictures of who is late: what the title answers, who has a colour, what is marked, and how many
 * points there are. */
#include "base/alloc.h"
#include "call_log_setup.h"
#include "output/look.h"
#include "report/late_plot.h"
#include "support/folder.h"
#include "support/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A trace in memory: up to 0.1 ms of jitter, and what a test adds. */
typedef struct planted {
    cs_arrival_trace trace;
    cs_skew          skew;
} planted;

static planted begin(uint32_t n_ranks, size_t n_calls)
{
    planted p = {.trace = {.n_ranks = n_ranks, .n_calls = n_calls}};

    p.trace.arrival_s = CS_NEW(double, n_ranks *n_calls);
    cr_assert_not_null(p.trace.arrival_s);
    for (size_t i = 0; i < n_ranks * n_calls; i++) {
        p.trace.arrival_s[i] = 1e-4 * draw(i, 1, 2);
    }
    return p;
}

static void add_late(planted *p, uint32_t rank, size_t from, size_t every, double delay_s)
{
    for (size_t c = from; c < p->trace.n_calls; c += every) {
        p->trace.arrival_s[c * p->trace.n_ranks + rank] += delay_s;
    }
}

/* The script; the caller's. The trace is freed. */
static cs_plot drawn(planted *p)
{
    const cs_arrival_notes notes = {.format = "planted"};
    cs_plot                plot  = {.width = 0};
    cs_error               err   = {0};

    cr_assert_eq(cs_skew_compute(&p->trace, &p->skew, &err), CS_OK);
    cr_assert_eq(cs_late_plot_make(&p->trace, &p->skew, &notes, &plot, &err), CS_OK, "%s",
                 err.message);
    cs_skew_free(&p->skew);
    cs_arrival_trace_free(&p->trace);
    return plot;
}

static bool says(const cs_plot *plot, const char *words)
{
    return strstr(plot->script.data, words) != NULL;
}

/* Lines of the block of a group, of which the last begins with `last_p`. */
static size_t n_points(const cs_plot *plot, size_t group, double *last_p)
{
    char   name[32];
    size_t n = 0;

    (void)snprintf(name, sizeof name, "$G%zu << END\n", group);
    const char *at = strstr(plot->script.data, name);
    cr_assert_not_null(at);
    for (at += strlen(name); strncmp(at, "END\n", 4) != 0; at = strchr(at, '\n') + 1) {
        *last_p = strtod(at, NULL);
        n++;
    }
    return n;
}

Test(late_plot, a_late_rank_has_a_colour_and_the_title)
{
    planted p    = begin(4, 10);
    double  last = 0;
    add_late(&p, 2, 0, 1, 5e-3);
    cs_plot plot = drawn(&p);

    cr_expect(says(&plot, "set label 1 'Rank 2 comes 5."), "%s", plot.script.data);
    cr_expect(says(&plot, "host or GPU, the trace does not tell"));
    cr_expect(says(&plot,
                   "'planted: 10 calls of 4 ranks; late: on average behind the first quarter "
                   "of the others'"));
    cr_expect(says(&plot, "the other 3 ranks, middle to 95 %"));
    cr_expect(says(&plot, "title 'rank 2'"));
    cr_expect(!says(&plot, "title 'rank 1'"));
    cr_expect(!says(&plot, "share a point"));
    cr_expect(!says(&plot, "logscale"));
    cr_expect(!says(&plot, "error of the clocks"), "there are none");
    cr_expect_eq(n_points(&plot, 0, &last), 10);
    cr_expect_eq(last, 9);
    cs_text_free(&plot.script);
}

Test(late_plot, nobody_is_accused)
{
    planted p    = begin(8, 50);
    cs_plot plot = drawn(&p);

    cr_expect(says(&plot, "Nobody is late more often than by chance; rank "), "%s",
              plot.script.data);
    cs_text_free(&plot.script);
}

/* Many calls share points: no call is left out, and a band shows what the middle does not. */
Test(late_plot, many_calls_share_points)
{
    planted p    = begin(8, 10007);
    double  last = 0;
    add_late(&p, 2, 0, 1, 5e-3);
    add_late(&p, 6, 0, 40, 4e-3); /* less often than half of the calls of a point */
    cs_plot plot = drawn(&p);

    cr_expect(
        says(&plot, "(26 share a point: their middle; a band from the least to the largest)"));
    cr_expect_eq(n_points(&plot, 0, &last), 385); /* of 10007 / 26 */
    cr_expect_eq(last, (384 * 26 + 10006) / 2.0);
    cr_expect_eq(n_points(&plot, CS_LOOKS_APART, &last), 385);
    cr_expect(says(&plot, "title 'rank 6'"));
    double      middle, least, most;
    const char *block = strstr(plot.script.data, "$G1 << END\n");
    cr_assert_eq(sscanf(block, "$G1 << END\n%*g %lg %lg %lg", &middle, &least, &most), 3);
    cr_expect(middle < 0.2 && least < middle && most > 3.8, "%g %g %g ms", least, middle, most);
    cs_text_free(&plot.script);
}

Test(late_plot, changes_are_marked)
{
    planted p = begin(8, 300);
    add_late(&p, 3, 100, 1, 2e-3);
    add_late(&p, 3, 250, 1, 4e-3);
    cs_plot plot = drawn(&p);

    cr_expect(says(&plot, "it changes 2 times"));
    cr_expect(says(&plot, "set arrow from first 99.5, graph 0 to first 99.5, graph 1"));
    cr_expect(says(&plot, "set label ' from call 100 on: 2.0"), "%s", plot.script.data);
    cr_expect(says(&plot, "set label ' 250'"), "there is little room");
    cs_text_free(&plot.script);
}

Test(late_plot, periods_and_drifts_are_marked)
{
    planted p = begin(8, 120);
    add_late(&p, 3, 7, 20, 2e-3);
    cs_plot plot = drawn(&p);

    cr_expect(says(&plot, "it repeats every 20 calls"));
    cr_expect(says(&plot, "set arrow from first 7, graph 0.97 to first 27, graph 0.97 heads"), "%s",
              plot.script.data);
    cs_text_free(&plot.script);

    p = begin(8, 120);
    for (size_t c = 0; c < 120; c++) {
        p.trace.arrival_s[c * 8 + 3] += 1e-4 * (double)c;
    }
    plot = drawn(&p);
    cr_expect(says(&plot, "later from call to call"));
    cr_expect(says(&plot, "to first 119,1"), "a line to some 12 ms");
    cs_text_free(&plot.script);
}

/* One call that takes seconds does not flatten what is usual. */
Test(late_plot, outliers_make_a_logarithmic_axis)
{
    planted p = begin(8, 200);
    add_late(&p, 3, 0, 1, 1e-3);
    add_late(&p, 3, 77, 1000, 2);
    cs_plot plot = drawn(&p);

    cr_expect(says(&plot, "set logscale y"));
    cr_expect(says(&plot, "what is less stands at the foot"));
    cs_text_free(&plot.script);
}

/* More late ranks than colours: the last ones share one. */
Test(late_plot, colours_are_few)
{
    planted p = begin(64, 100);
    for (uint32_t k = 0; k < 9; k++) {
        add_late(&p, 5 * k, 0, 1, 1e-3 * (1 + k));
    }
    cs_plot plot = drawn(&p);

    cr_expect(says(&plot, "Rank 40 comes"));
    cr_expect(says(&plot, "; 8 others are late, too'"));
    cr_expect(says(&plot, "title 'rank 20'"));
    cr_expect(!says(&plot, "title 'rank 15'"));
    cr_expect(says(&plot, "title '4 more'"));
    cr_expect(says(&plot, "the other 55 ranks"));
    cs_text_free(&plot.script);
}

/* Logs with clocks: whose network is slow leaves late, and a server is one group. */
Test(late_plot, logs_with_clocks)
{
    plant    p    = usual();
    cs_plot  plot = {.width = 0};
    cs_error err  = {0};

    p.cause   = CS_LATE_NETWORK;
    p.n_calls = 30;
    found f   = find(&p);
    cr_assert_eq(cs_late_plot_make(&f.trace, &f.skew, &f.notes, &plot, &err), CS_OK);
    cr_expect(says(&plot, "'Rank 11 leaves 5.0"), "%s", plot.script.data);
    cr_expect(says(&plot, "its network is slow"));
    cr_expect(says(&plot, "error of the clocks: "));
    cr_expect(says(&plot, "set object 1 rectangle"));
    cs_text_free(&plot.script);
    let_go(&f);

    static uint32_t server[] = {0, 0, 0, 0, 1, 1, 1, 1};
    static char     a[] = "a", b[] = "b";
    char           *names[] = {a, b};
    planted         q       = begin(8, 50);
    for (uint32_t r = 4; r < 8; r++) {
        add_late(&q, r, 0, 1, 3e-3);
    }
    q.trace.server       = server;
    q.trace.server_names = names;
    q.trace.n_servers    = 2;
    cr_assert_eq(cs_skew_compute(&q.trace, &q.skew, &err), CS_OK);
    const cs_arrival_notes notes = {.format = "planted"};
    cr_assert_eq(cs_late_plot_make(&q.trace, &q.skew, &notes, &plot, &err), CS_OK);
    cr_expect(says(&plot, "; so are 3 more of server b'"), "%s", plot.script.data);
    cr_expect(says(&plot, "title 'server b'"));
    cr_expect(says(&plot, "the other 4 ranks"));
    cs_text_free(&plot.script);
    cs_free(q.trace.arrival_s);
    cs_skew_free(&q.skew);
}

Test(late_plot, one_call)
{
    planted p = begin(4, 1);
    add_late(&p, 2, 0, 1, 1e-3);
    cs_plot plot = drawn(&p);

    cr_expect(says(&plot, "planted: 1 call of 4 ranks;"), "%s", plot.script.data);
    cr_expect(says(&plot, "set xrange [-1:1]\nset xtics 1\n"));
    cr_expect(says(&plot, "with yerrorbars"), "a band needs two points");
    cs_text_free(&plot.script);
}

/* The ending chooses: a picture, the same each time, or the table. */
Test(late_plot, as_a_command, .init = ct_folder_enter, .fini = ct_folder_leave)
{
    static const char *const endings[] = {"svg", "png", "PDF"};
    static const char *const begins[]  = {"<?xml", "\x89PNG", "%PDF"};
    const char              *logs      = COLLSIM_SOURCE_DIR "/traces/generated-inspector8";
    cs_text                  text      = {0};
    char                     arguments[400];

    for (int i = 0; i < 3; i++) {
        (void)snprintf(arguments, sizeof arguments, "arrivals %s -o a.%s", logs, endings[i]);
        int code = ct_program(arguments, "2>&1", &text);
        if (code == 3 && strstr(text.data, "gnuplot is missing") != NULL) {
            cs_text_free(&text);
            return;
        }
        cr_assert_eq(code, 0, "%s", text.data);
        cs_text_free(&text);
        (void)snprintf(arguments, sizeof arguments, "arrivals %s -o b.%s", logs, endings[i]);
        cr_assert_eq(ct_program(arguments, "", &text), 0);
        (void)snprintf(arguments, sizeof arguments, "a.%s", endings[i]);
        cs_text a    = ct_file_read(arguments);
        arguments[0] = 'b';
        cs_text b    = ct_file_read(arguments);
        cr_expect_eq(a.length, b.length);
        cr_expect_eq(memcmp(a.data, b.data, a.length), 0, "%s", endings[i]);
        cr_expect_eq(strncmp(a.data, begins[i], strlen(begins[i])), 0);
        cr_expect(i > 0 || strstr(a.data, "<title>Rank 5 comes 5.52 ms late: its GPU is late, the "
                                          "host makes the call in time</title>") != NULL);
        cs_text_free(&a);
        cs_text_free(&b);
        cs_text_free(&text);
    }
    (void)snprintf(arguments, sizeof arguments, "arrivals %s -o a.csv", logs);
    cr_assert_eq(ct_program(arguments, "", &text), 0);
    cs_text table = ct_file_read("a.csv");
    cr_expect_eq(strncmp(table.data, "iteration,rank,", 15), 0);
    cs_text_free(&table);
    cs_text_free(&text);
    ct_program_says("arrivals " COLLSIM_SOURCE_DIR "/traces/generated-ras8-1.json -o a.svg", 2,
                    "snapshots of NCCL RAS have no arrivals");
}

Test(late_plot, colours_differ)
{
    for (size_t i = 0; i < CS_LOOKS_APART; i++) {
        cr_expect_not_null(cs_look_apart(i)->algorithm, "in the table of colours");
        for (size_t k = 0; k < i; k++) {
            cr_expect_neq(cs_look_apart(i)->light, cs_look_apart(k)->light);
        }
    }
}

Test(late_plot, survives_every_failing_allocation)
{
    const cs_arrival_notes notes  = {.format = "planted"};
    cs_status              status = CS_ENOMEM;
    planted                p      = begin(6, 40);

    add_late(&p, 3, 20, 1, 2e-3);
    cr_assert_eq(cs_skew_compute(&p.trace, &p.skew, NULL), CS_OK);
    for (long passes = 0; status != CS_OK; passes++) {
        cs_plot plot = {.width = 0};
        cs_alloc_fail_after(passes);
        status = cs_late_plot_make(&p.trace, &p.skew, &notes, &plot, NULL);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM);
        cr_assert(passes < 1000);
        cs_text_free(&plot.script);
    }
    cs_skew_free(&p.skew);
    cs_arrival_trace_free(&p.trace);
}
