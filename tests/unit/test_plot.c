/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results as columns, and the scripts that draw them. */
#include "base/alloc.h"
#include "cs/algorithm.h"
#include "input/csv.h"
#include "output/look.h"
#include "report/plot.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A file of that text, which the next call replaces. */
static const char *file_of(const char *text)
{
    static char path[64];

    (void)snprintf(path, sizeof path, "/tmp/cs_plot_%ld", (long)getpid());
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    (void)fputs(text, file);
    cr_assert_eq(fclose(file), 0);
    return path;
}

static void read_text(const char *text, cs_data *data)
{
    cs_error    err    = {0};
    const char *path   = file_of(text);
    cs_status   status = cs_data_read(path, data, &err);

    (void)unlink(path);
    cr_assert_eq(status, CS_OK, "%s", err.message);
}

static void refuses(const char *text, cs_status expected, const char *words)
{
    cs_data     data   = {0};
    cs_error    err    = {0};
    const char *path   = file_of(text);
    cs_status   status = cs_data_read(path, &data, &err);

    (void)unlink(path);
    cr_expect_eq(status, expected, "%s: %s", text, err.message);
    cr_expect(strstr(err.message, words) != NULL, "%s: %s", text, err.message);
    cs_data_free(&data);
}

static const char rows[] = "algorithm,ranks,bytes,exposed_s,bound_s,elapsed_s\n"
                           "ring,8,1024,4e-3,1e-3,4e-3\n"
                           "rhd,8,1024,2e-3,1e-3,2e-3\n"
                           "ring,16,1024,8e-3,2e-3,8e-3\n"
                           "rhd,16,1024,3e-3,2e-3,3e-3\n";

Test(plot, every_algorithm_has_a_look_of_its_own)
{
    for (size_t i = 0; cs_algorithms[i] != NULL; i++) {
        const cs_look *look = cs_look_of(cs_algorithms[i]->name);
        cr_expect_not_null(look->algorithm, "%s has none", cs_algorithms[i]->name);
        for (size_t k = 0; cs_looks[k].algorithm != NULL; k++) {
            const cs_look *other = &cs_looks[k];
            cr_expect(other == look || strcmp(other->title, look->title) == 0 ||
                          other->light != look->light || strcmp(other->dash, look->dash) != 0 ||
                          other->point != look->point,
                      "%s looks like %s", look->algorithm, other->algorithm);
        }
    }
    cr_expect_null(cs_look_of("of somebody else")->algorithm);
    cr_expect_eq(cs_look_mix(0x204060, 0xffffff, 1), 0x204060);
    cr_expect_eq(cs_look_mix(0x204060, 0xffffff, 0), 0xffffff);
    cr_expect_eq(cs_look_mix(0x000000, 0xffffff, 0.5), 0x808080);
}

Test(plot, columns_have_numbers_or_words)
{
    cs_data data = {0};
    double  values[4];

    read_text("a,b,c,d\n1,x,,true\n# no row\n2,\"y, z\",5,false\n,7,5,true\n", &data);
    cr_assert_eq(data.n_rows, 3);
    const cs_data_column *a = cs_data_find(&data, "a"), *b = cs_data_find(&data, "b");
    const cs_data_column *c = cs_data_find(&data, "c"), *d = cs_data_find(&data, "d");
    cr_expect_not(a->has_words);
    cr_expect(a->values[0] == 1 && a->values[1] == 2 && isnan(a->values[2]));
    cr_expect(b->has_words);
    cr_expect_str_eq(cs_data_word(b, 1), "y, z");
    cr_expect_str_eq(cs_data_word(b, 2), "7");
    cr_expect(isnan(c->values[0]) && c->values[2] == 5);
    cr_expect_eq(cs_data_values(&data, c, values, 4), 1);
    cr_expect_eq(cs_data_values(&data, d, values, 4), 2);
    cr_expect(values[0] == 0 && values[1] == 1);
    cr_expect_null(cs_data_find(&data, "e"));
    cs_data_free(&data);
    read_text("[{\"n\": 1, \"o\": {\"k\": [2]}, \"w\": \"x\"}, {\"n\": null, \"w\": 3}]", &data);
    cr_expect(isnan(cs_data_find(&data, "n")->values[1]));
    cr_expect_str_eq(cs_data_word(cs_data_find(&data, "o"), 0), "{\"k\":[2]}");
    cr_expect_str_eq(cs_data_word(cs_data_find(&data, "w"), 1), "3");
    cs_data_free(&data);
}

Test(plot, what_is_no_table_is_refused)
{
    refuses("", CS_EINVAL, "has no rows");
    refuses("a,b\n", CS_EINVAL, "has no rows");
    refuses("a,b\n1\n", CS_EPARSE, "1 cells where the header has 2");
    refuses("a,b\n1,\"2\n", CS_EPARSE, "");
    refuses("[1]", CS_EPARSE, "element 0 is no object");
    refuses("[{]", CS_EPARSE, "");
    refuses("[]", CS_EINVAL, "has no rows");
}

Test(plot, rows_are_kept_by_a_value)
{
    cs_data  data = {0};
    cs_error err  = {0};

    read_text(rows, &data);
    cr_expect_eq(cs_data_keep(&data, "bytes=1K", "--where", &err), CS_OK);
    cr_expect_eq(data.n_rows, 4);
    cr_expect_eq(cs_data_keep(&data, "ranks=16", "--where", &err), CS_OK);
    cr_expect_eq(data.n_rows, 2);
    cr_expect_eq(cs_data_keep(&data, "algorithm=rhd", "--where", &err), CS_OK);
    cr_expect_eq(data.n_rows, 1);
    cr_expect(cs_data_find(&data, "exposed_s")->values[0] == 3e-3);
    cr_expect_eq(cs_data_keep(&data, "exposed_s=1ms", "--where", &err), CS_EINVAL);
    cr_expect_not_null(strstr(err.message, "none is left"));
    err = (cs_error){0};
    cr_expect_eq(cs_data_keep(&data, "ranks", "--where", &err), CS_EINVAL);
    err = (cs_error){0};
    cr_expect_eq(cs_data_keep(&data, "rank=1", "--where", &err), CS_EINVAL);
    cr_expect_not_null(strstr(err.message, "accepted are algorithm, ranks"), "%s", err.message);
    cs_data_free(&data);
}

/* The script, or the error, of a picture of these rows. */
static cs_status make(const char *text, const cs_plot_request *request, cs_plot *plot,
                      cs_error *err)
{
    cs_data data = {0};

    *plot = (cs_plot){.width = 0};
    read_text(text, &data);
    cs_status status = cs_plot_make(&data, request, plot, err);
    cs_data_free(&data);
    return status;
}

static bool says(const cs_plot *plot, const char *words)
{
    return plot->script.data != NULL && strstr(plot->script.data, words) != NULL;
}

Test(plot, axes_and_series_are_guessed)
{
    const cs_plot_request guess = {.x = NULL}, ratio = {.ratio_to = "ring"};
    const cs_plot_request heat = {.is_heat = true};
    cs_plot               plot;
    cs_error              err = {0};

    cr_assert_eq(make(rows, &guess, &plot, &err), CS_OK, "%s", err.message);
    cr_expect(says(&plot, "8 0.004") || says(&plot, "8 4"), "%s", plot.script.data);
    cr_expect(says(&plot, "#0072B2") && says(&plot, "#009E73"), "both colours");
    cr_expect(plot.width > 0 && plot.height > 0);
    cs_text_free(&plot.script);
    cr_assert_eq(make(rows, &ratio, &plot, &err), CS_OK, "%s", err.message);
    cr_expect(says(&plot, "8 0.5") && says(&plot, "16 0.375"), "%s", plot.script.data);
    cs_text_free(&plot.script);
    cr_expect_eq(make(rows, &heat, &plot, &err), CS_EINVAL);
    cr_expect_not_null(strstr(err.message, "only ranks does"), "%s", err.message);
    cs_text_free(&plot.script);
}

/* Two sizes by three delays; StragglAR has a critical delay of 2 ms and 4 ms, the ring none. */
static const char delays[] =
    "algorithm,bytes,arrivals.late[0].delay_s,exposed_s,critical_delay_s,delay_reference\n"
    "ring,1024,1e-3,4e-3,,\nring,1024,3e-3,4e-3,,\nring,1024,5e-3,4e-3,,\n"
    "ring,2048,1e-3,8e-3,,\nring,2048,3e-3,8e-3,,\nring,2048,5e-3,8e-3,,\n"
    "stragglar,1024,1e-3,5e-3,2e-3,ring\nstragglar,1024,3e-3,3e-3,2e-3,ring\n"
    "stragglar,1024,5e-3,3e-3,2e-3,ring\nstragglar,2048,1e-3,9e-3,4e-3,ring\n"
    "stragglar,2048,3e-3,9e-3,4e-3,ring\nstragglar,2048,5e-3,5e-3,4e-3,ring\n";

Test(plot, the_critical_delay_is_a_line_over_the_map)
{
    const cs_plot_request heat    = {.is_heat = true, .x = "bytes"};
    const cs_plot_request swapped = {.is_heat = true, .x = "delay", .y = "bytes"};
    cs_plot               plot;
    cs_error              err = {0};

    cr_assert_eq(make(delays, &heat, &plot, &err), CS_OK, "%s", err.message);
    cr_expect(says(&plot, "$P0C1 << EOD\n1024 0.002\n2048 0.004\nEOD"), "%s", plot.script.data);
    cr_expect(says(&plot, "title 'critical delay vs ring'"), "%s", plot.script.data);
    cr_expect(says(&plot, "$P0C1 with lines lc rgb '#16191D'"));
    cr_expect_not(says(&plot, "$P0C0 with"), "the ring has none");
    cr_expect(says(&plot, "set ylabel 'delay of the late GPU'"));
    cs_text_free(&plot.script);
    cr_assert_eq(make(delays, &swapped, &plot, &err), CS_OK, "%s", err.message);
    cr_expect(says(&plot, "$P0C1 << EOD\n0.002 1024\n0.004 2048\nEOD"), "%s", plot.script.data);
    cs_text_free(&plot.script);
}

Test(plot, lines_stand_for_what_is_best_somewhere_and_on_the_map)
{
    const cs_plot_request heat = {.is_heat = true, .x = "bytes", .y = "delay"};
    cs_plot               plot;
    cs_error              err = {0};

    /* late by 20 ms pays, which is not shown; it is the best one nowhere */
    cr_assert_eq(make("algorithm,bytes,late[0].delay_s,l.delay_s,exposed_s,critical_delay_s\n"
                      "ring,1,1,0,5,\nring,2,2,0,5,\nblink,1,1,0,4,20\nblink,2,2,0,4,20\n",
                      &(cs_plot_request){.is_heat = true, .x = "bytes", .y = "late[0].delay_s"},
                      &plot, &err),
                 CS_OK, "%s", err.message);
    cr_expect_not(says(&plot, "critical delay"), "%s", plot.script.data);
    cs_text_free(&plot.script);
    cr_assert_eq(make("algorithm,bytes,a.late[0].delay_s,exposed_s,critical_delay_s\n"
                      "ring,1,1,3,\nring,2,2,3,\nblink,1,1,4,1.5\nblink,2,2,4,1.5\n",
                      &heat, &plot, &err),
                 CS_OK, "%s", err.message);
    cr_expect_not(says(&plot, "critical delay"), "%s", plot.script.data);
    cs_text_free(&plot.script);
}

Test(plot, critical_delays_are_curves_of_who_has_them)
{
    const cs_plot_request asked = {.x = "bytes", .y = "critical_delay_s", .panel = "delay"};
    cs_plot               plot;
    cs_error              err = {0};

    cr_assert_eq(make(delays, &asked, &plot, &err), CS_OK, "%s", err.message);
    cr_expect(says(&plot, "title 'StragglAR'"), "%s", plot.script.data);
    cr_expect_not(says(&plot, "title 'ring'"), "it has no curve");
    cs_text_free(&plot.script);
}

Test(plot, titles_are_not_wider_than_the_picture)
{
    const cs_plot_request asked = {
        .title =
            "A title that is much longer than nine hundred pixels are wide at fourteen points, "
            "and that would be cut at both ends"};
    cs_plot  plot;
    cs_error err = {0};

    cr_assert_eq(make(rows, &asked, &plot, &err), CS_OK, "%s", err.message);
    cr_expect(says(&plot, "center font ',8.9") || says(&plot, "center font ',9"), "%s",
              plot.script.data);
    cs_text_free(&plot.script);
}

Test(plot, what_cannot_be_drawn_is_said)
{
    const struct {
        const char     *text;
        cs_plot_request request;
        const char     *words;
    } cases[] = {
        {rows, {.x = "delay"}, "there is no column 'delay'"},
        {"a.late[0].delay_s,a.late[1].delay_s,exposed_s\n1,2,3\n2,3,4\n",
         {.x = "delay"},
         "there is no column 'delay'"},
        {rows, {.x = "algorithm"}, "has words"},
        {rows, {.ratio_to = "blink"}, "blink"},
        {"ranks,late_s,gpu,exposed_s\n8,0,1,1\n8,1,2,2\n16,0,2,3\n16,1,1,4\n8,0,2,9\n",
         {.x = "ranks", .series = "late_s", .panel = "late_s"},
         "gpu differs, too"},
        {"ranks,exposed_s\n8,1\n", {.x = NULL}, "no column of numbers varies"},
        {"ranks,time\n8,1\n16,2\n", {.x = "ranks"}, "there is no column exposed_s"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cs_plot   plot;
        cs_error  err    = {0};
        cs_status status = make(cases[i].text, &cases[i].request, &plot, &err);
        cr_expect_eq(status, CS_EINVAL, "case %zu", i);
        cr_expect(strstr(err.message, cases[i].words) != NULL, "case %zu: %s", i, err.message);
        cs_text_free(&plot.script);
    }
}

static cs_status read_and_plot(const char *path, const cs_plot_request *request, cs_error *err)
{
    cs_data   data   = {0};
    cs_plot   plot   = {.width = 0};
    cs_status status = cs_data_read(path, &data, err);

    if (status == CS_OK) {
        status = cs_plot_make(&data, request, &plot, err);
    }
    cs_text_free(&plot.script);
    cs_data_free(&data);
    return status;
}

Test(plot, memory_may_run_out_anywhere)
{
    const cs_plot_request request = {.ratio_to = "ring"};
    cs_status             status  = CS_ENOMEM;
    char                  path[64];

    (void)snprintf(path, sizeof path, "%s", file_of(rows));
    for (long passes = 0; passes < 2000 && status != CS_OK; passes++) {
        cs_error err = {0};
        cs_alloc_fail_after(passes);
        status = read_and_plot(path, &request, &err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "%ld: %s", passes, err.message);
    }
    (void)unlink(path);
    cr_expect_eq(status, CS_OK);
}
