/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is said about the progress, at times that are given. */
#include "base/listener.h"
#include "campaign/config_run.h"
#include "output/progress.h"
#include "support/config.h"

#include <criterion/criterion.h>
#include <string.h>

static void expect_step(cs_progress *p, uint64_t done, uint64_t total, double now_s,
                        const char *want)
{
    cs_text text = {0};

    cs_progress_step(p, done, total, now_s, &text);
    cr_expect_str_eq(text.data != NULL ? text.data : "", want, "at %g s: '%s'", now_s,
                     text.data != NULL ? text.data : "");
    cs_text_free(&text);
}

Test(progress, a_line_every_ten_seconds)
{
    cs_progress p;

    cs_progress_begin(&p, "sweep", false, 100);
    expect_step(&p, 1, 400, 101, "");
    expect_step(&p, 9, 400, 109.9, "");
    expect_step(&p, 10, 400, 110, "collsim: sweep: 10 of 400, 2 %, about 7 min left\n");
    expect_step(&p, 11, 400, 111, "");
    expect_step(&p, 19, 400, 119.9, "");
    expect_step(&p, 20, 400, 121, "collsim: sweep: 20 of 400, 5 %, about 7 min left\n");
    expect_step(&p, 399, 400, 199, "collsim: sweep: 399 of 400, 99 %, about 1 s left\n");
    expect_step(&p, 400, 400, 300, "");
}

Test(progress, what_was_there_before_is_no_part_of_the_pace)
{
    cs_progress p;

    cs_progress_begin(&p, "sweep", false, 0);
    expect_step(&p, 9000, 10000, 2, "");
    expect_step(&p, 9080, 10000, 10, "collsim: sweep: 9080 of 10000, 90 %, about 92 s left\n");
}

#define BAR(full, empty) "[" full empty "] run: "

Test(progress, a_bar_after_a_second_that_is_drawn_again)
{
    cs_progress p;
    cs_text     text = {0};

    cs_progress_begin(&p, "run", true, 0);
    expect_step(&p, 1, 10, 0.99, "");
    cs_progress_hide(&p, &text);
    cr_expect_eq(text.length, 0, "nothing stands there");
    expect_step(&p, 2, 10, 1,
                "\r" BAR("######", "........................") "2 of 10, 20 %, about 4 s left");
    expect_step(&p, 2, 10, 1.05, "");
    /* a shorter one covers the longer one */
    expect_step(&p, 10, 10, 1.1,
                "\r" BAR("##############################", "") "10 of 10, 100 %              ");
    cs_progress_hide(&p, &text);
    cr_expect_eq(text.length,
                 2 + strlen(BAR("##############################", "")) +
                     strlen("2 of 10, 20 %, about 4 s left"),
                 "%zu", text.length);
    cr_expect_eq(strspn(text.data, "\r "), text.length, "blanks alone");
    cs_text_free(&text);
    cs_progress_hide(&p, &text);
    cr_expect_eq(text.length, 0, "it is gone");
}

Test(progress, numbers_that_make_no_sense_do_no_harm)
{
    cs_progress p;

    cs_progress_begin(&p, "x", false, 0);
    expect_step(&p, 0, 0, 20, "");
    expect_step(&p, 30, 20, 20, "");
    cs_progress_begin(&p, "x", false, 0);
    expect_step(&p, 0, 20, 10, "collsim: x: 0 of 20, 0 %\n");
    expect_step(&p, UINT64_MAX / 2, UINT64_MAX, 20,
                "collsim: x: 9223372036854775807 of 18446744073709551615, 50 %, about 20 s left\n");
}

Test(progress, durations_are_read_at_a_glance)
{
    static const struct {
        double      time_s;
        const char *text;
    } cases[] = {{0.2, "1 s"}, {99, "99 s"}, {100, "2 min"}, {5999, "100 min"}, {7200, "2 h"}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[CS_DURATION_BYTES];
        cs_duration_text(cases[i].time_s, text);
        cr_expect_str_eq(text, cases[i].text);
    }
}

/* ---- who tells ---- */

typedef struct heard {
    uint64_t n, done, total;
    bool     goes_back;
} heard;

static void hear(void *user, uint64_t done, uint64_t total)
{
    heard *h     = user;
    h->goes_back = h->goes_back || done < h->done;
    *h           = (heard){h->n + 1, done, total, h->goes_back};
}

Test(progress, scenarios_that_are_run_are_told)
{
    static const char text[] = "{\"algorithm\": \"ring\", \"sweep\": {\"cluster.ranks\": "
                               "[2, 3, 4, 5, 6, 7, 8, 9], \"bytes\": [1024, 0]}}";
    for (unsigned jobs = 1; jobs <= 2; jobs++) {
        heard             h        = {0};
        const cs_listener listener = {hear, &h};
        cs_config        *config   = NULL;
        char             *json     = NULL;
        cr_assert_eq(cs_config_parse(text, sizeof text - 1, "x", &config, NULL), CS_OK);
        cr_assert_eq(cs_config_run_told(config, jobs, &listener, &json, NULL), CS_OK);
        cr_expect(h.n >= 1 && h.n <= 16 && !h.goes_back);
        cr_expect(h.done == 16 && h.total == 16, "refused ones count, too");
        cs_string_free(json);
        cs_config_free(config);
    }
}
