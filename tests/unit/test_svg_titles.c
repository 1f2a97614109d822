/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A picture says what it shows: one title, safe in XML, behind the head of the file, whoever drew
 * it. */
#include "output/gnuplot.h"
#include "output/svg.h"

#include <criterion/criterion.h>
#include <string.h>

static void expect_retitled(const char *drawn, const char *title, const char *want)
{
    cs_text out = {0};

    cs_svg_retitle(&out, drawn, strlen(drawn), title);
    cr_expect_str_eq(out.data != NULL ? out.data : "", want);
    cs_text_free(&out);
}

Test(svg_titles, the_first_is_replaced_and_others_go)
{
    expect_retitled(
        "<?xml?>\n<svg a=\"1\">\n<title>Gnuplot</title><g><title>plot 1</title>x</g></svg>",
        "time & <size>",
        "<?xml?>\n<svg a=\"1\">\n<title>time &amp; &lt;size&gt;</title>\n<g>x</g></svg>");
}

Test(svg_titles, a_file_without_any_gets_one)
{
    expect_retitled("<svg><g/></svg>", "t", "<svg>\n<title>t</title><g/></svg>");
}

/* What is no SVG, and a title that does not end, are left alone. */
Test(svg_titles, half_a_file_is_left_as_it_is)
{
    expect_retitled("", "t", "");
    expect_retitled("nothing", "t", "nothing");
    expect_retitled("<svg", "t", "<svg");
    expect_retitled("<svg><title>a</title", "t", "<svg>\n<title>t</title><title>a</title");
}

static size_t count(const cs_text *text, const char *words)
{
    size_t n = 0;

    for (const char *at = text->data; (at = strstr(at, words)) != NULL; at++) {
        n++;
    }
    return n;
}

/* The title of a script for gnuplot is that of its SVG; over panels it is label 1. */
Test(svg_titles, scripts_name_their_pictures)
{
    static const struct {
        const char *command, *want;
    } cases[] = {
        {"set title 'who''s late & why'\n", "<title>who's late &amp; why</title>"},
        {"set label 1 'panels' at screen 0.5, 0.9\n", "<title>panels</title>"},
        {"set xlabel 'x'\n", "<title>collsim</title>"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cs_text  script = {0}, picture = {0};
        cs_error err = {0};
        cs_text_add(&script, "%splot x\n", cases[i].command);
        cs_status status = cs_gnuplot_draw(&script, CS_PICTURE_SVG, 300, 200, &picture, &err);
        if (status == CS_EMISSING) {
            cs_text_free(&script);
            return;
        }
        cr_assert_eq(status, CS_OK, "%s", err.message);
        cr_expect_eq(count(&picture, cases[i].want), 1, "%s", cases[i].want);
        cr_expect_eq(count(&picture, "<title>"), 1);
        cs_text_free(&script);
        cs_text_free(&picture);
    }
}
