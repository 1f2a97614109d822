/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figures: every one computes, passes all its checks and is complete; a wrong number is
 * noticed; files are whole, the same each time, and never half-written. */
#include "base/alloc.h"
#include "base/file.h"
#include "figures/figures.h"
#include "figures/gnuplot.h"
#include "figures/sample_trace.h"
#include "figures/times.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_BYTES = 4 << 20 };

static const struct {
    const char *name;
    size_t      rows, min_checks;
} wanted[] = {
    {"stragglar-2a", 200, 12},
    {"stragglar-2b", 21, 100},
    {"stragglar-5ab", 13, 350},
    {"stragglar-5c", 41, 600},
    {"stragglar-5c-measured", 41, 600},
    {"stragglar-5de", 13, 350},
    {"stragglar-5f", 41, 600},
    {"stragglar-6a", 13, 350},
    {"stragglar-6b", 13, 350},
    {"stragglar-6c", 9, 200},
    {"stragglar-7a", 17, 300},
    {"stragglar-7b", 17, 250},
    {"stragglar-9", 17, 400},
    {"stragglar-10c", 41, 600},
    {"stragglar-13", 16, 450},
    {"stragglar-14", 16, 450},
    {"stragglar-rounds", 151, 700},
    {"stragglar-table2", 61, 140},
    {"optcc-bounds", 169, 900},
    {"optcc-8", 37, 450},
    {"optcc-9", 37, 360},
    {"optcc-10", 35, 340},
    {"optcc-20", 22, 260},
    {"optcc-21", 22, 210},
    {"optcc-22", 20, 190},
    {"optcc-table", 32, 128},
    {"parallel-rings-4", 8, 128},
    {"parallel-rings-cif", 7, 68},
    {"parallel-rings-7", 24, 450},
};

enum { N_WANTED = sizeof wanted / sizeof wanted[0] };

/* The one that takes least time. */
static const cs_figure *small_figure(void)
{
    const cs_figure *figure = NULL;

    cr_assert_eq(cs_figure_find("stragglar-5c", &figure, NULL), CS_OK);
    return figure;
}

static size_t count(const char *text, char what)
{
    size_t n = 0;

    for (; *text != '\0'; text++) {
        n += *text == what;
    }
    return n;
}

Test(figures, all_are_listed_and_found)
{
    for (size_t i = 0; i < N_WANTED; i++) {
        const cs_figure *figure = NULL;
        cr_assert_eq(cs_figure_find(wanted[i].name, &figure, NULL), CS_OK);
        cr_assert_str_eq(figure->name, wanted[i].name);
        cr_assert(figure->summary[0] != '\0' && figure->source[0] != '\0');
    }
    cr_assert_not_null(cs_figures[N_WANTED - 1]);
    cr_assert_null(cs_figures[N_WANTED]);
}

Test(figures, unknown_name_has_a_hint)
{
    const cs_figure *figure = NULL;
    cs_error         err    = {0};

    cr_assert_eq(cs_figure_find("stragglar-6d", &figure, &err), CS_ENOENT);
    cr_assert_not_null(strstr(err.message, "did you mean 'stragglar-"), "%s", err.message);
    cr_assert_null(figure);
}

/* Every row has as many fields as the header, whose quantities bear units. */
static void check_table(const cs_figure_data *data, size_t rows, const char *name)
{
    char  *copy = strdup(data->csv.data), *save = NULL;
    size_t commas = 0, n = 0;

    for (char *line = strtok_r(copy, "\n", &save); line != NULL;
         line       = strtok_r(NULL, "\n", &save)) {
        commas = n == 0 ? count(line, ',') : commas;
        cr_assert_eq(count(line, ','), commas, "%s, line %zu: %s", name, n + 1, line);
        cr_assert_null(strstr(line, "nan"), "%s: %s", name, line);
        cr_assert_null(strstr(line, "null"), "%s: %s", name, line);
        n++;
    }
    cr_assert_eq(n, rows + 1, "%s has %zu rows", name, n - 1);
    free(copy);
}

Test(figures, every_one_computes_and_passes_its_checks)
{
    for (size_t i = 0; i < N_WANTED; i++) {
        const cs_figure *figure;
        cs_figure_data   data = {0};
        cs_error         err  = {0};

        cr_assert_eq(cs_figure_find(wanted[i].name, &figure, NULL), CS_OK);
        cr_assert_eq(figure->compute(&data, &err), CS_OK, "%s: %s", figure->name, err.message);
        cr_assert_eq(data.n_failed, 0, "%s: %s", figure->name, data.checks.data);
        cr_assert_geq(data.n_checks, wanted[i].min_checks, "%s: %zu checks", figure->name,
                      data.n_checks);
        cr_assert_not_null(strstr(data.gnuplot.data, "plot DATA"));
        check_table(&data, wanted[i].rows, figure->name);
        cs_figure_free(&data);
    }
}

/* The value of a column in the row that begins with `first`. */
static double value_at(const cs_figure_data *data, const char *first, const char *column)
{
    char   header[1024], row[1024] = "", start[32];
    size_t index = 0;

    snprintf(header, sizeof header, "%.*s", (int)strcspn(data->csv.data, "\n"), data->csv.data);
    char *place = strstr(header, column);
    cr_assert_not_null(place, "no column %s", column);
    *place = '\0';
    index  = count(header, ',');
    snprintf(start, sizeof start, "\n%s,", first);
    const char *found = strstr(data->csv.data, start);
    cr_assert_not_null(found, "no row %s", first);
    snprintf(row, sizeof row, "%.*s", (int)strcspn(found + 1, "\n"), found + 1);
    char *field = row;
    for (size_t i = 0; i < index; i++) {
        field = strchr(field, ',') + 1;
    }
    return strtod(field, NULL);
}

/* The sample in the program is the sample in traces/. */
Test(figures, sample_of_arrivals_is_the_file)
{
    cs_text  csv  = {0};
    char    *file = NULL;
    size_t   length;
    cs_error err = {0};

    cs_figure_sample_arrivals(&csv);
    cr_assert_eq(cs_text_status(&csv, &err), CS_OK);
    cr_assert_eq(cs_file_read(COLLSIM_SOURCE_DIR "/traces/generated-arrivals8.csv", MAX_BYTES,
                              &file, &length, &err),
                 CS_OK, "%s", err.message);
    cr_assert_eq(csv.length, length);
    cr_assert_eq(memcmp(csv.data, file, length), 0);
    cs_free(file);
    cs_text_free(&csv);
}

static void compute(const char *name, cs_figure_data *data)
{
    const cs_figure *figure = NULL;
    cs_error         err    = {0};

    cr_assert_eq(cs_figure_find(name, &figure, NULL), CS_OK);
    cr_assert_eq(figure->compute(data, &err), CS_OK, "%s", err.message);
}

static void expect_value(const cs_figure_data *data, const char *first, const char *column,
                         double want)
{
    double got = value_at(data, first, column);
    cr_assert_float_eq(got, want, 1e-9 * fabs(want), "%s at %s: %.17g, not %.17g", column, first,
                       got, want);
}

/* The figures at the bandwidths that measured critical delays imply, with the formulas of the
 * paper written out: 5.53 ms = 3 us + (1/7 + 1/4) x for 4 GiB. */
Test(figures, measured_numbers_by_hand)
{
    const double   x_ms = (5.53 - 3e-3) / (1.0 / 7 + 1.0 / 4), a100_ms = 7.567 / (11.0 / 28);
    cs_figure_data data = {0};

    compute("stragglar-5c-measured", &data);
    expect_value(&data, "0", "ring_ms", 14 * 3e-3 + 1.75 * x_ms);
    expect_value(&data, "30", "stragglar_ms", 30 + 9 * (3e-3 + x_ms / 7));
    cs_figure_free(&data);
    compute("stragglar-6a", &data);
    expect_value(&data, "4096", "implied_ms", 6 * (3e-3 + x_ms / 7));
    expect_value(&data, "1024", "nominal_ms", 6 * (3e-3 + 1e3 * 1073741824 / 450e9 / 7));
    cs_figure_free(&data);
    compute("stragglar-5de", &data);
    expect_value(&data, "1024", "stragglar_delayed_gb_per_s",
                 1.073741824 / (9 * (3e-6 + a100_ms / 4e3 / 7)));
    expect_value(&data, "4096", "ring_gb_per_s", 4.294967296 / (14 * 3e-6 + 1.75e-3 * a100_ms));
    cs_figure_free(&data);
    compute("stragglar-10c", &data);
    expect_value(&data, "0", "ring_ms", 6 * 3e-3 + 1.5 * a100_ms / 4 * 3);
    cs_figure_free(&data);
}

/* BERT-large: 24 buckets of 50,384,896 bytes and one of 131,330,048; table 2: 8 x 24 h. */
Test(figures, training_numbers_by_hand)
{
    const double   compute_ms = 6 * 335141888.0 * 1024 / 395.6e9;
    const double   x_ms = 50384896 / 450e6, y_ms = 131330048 / 450e6;
    const double   call_ms = 1e3 * 1073741824 / 300e9;
    cs_figure_data data    = {0};

    compute("stragglar-13", &data);
    expect_value(&data, "0,8", "ring_ms", compute_ms + 25 * 14 * 3e-3 + 1.75 * (24 * x_ms + y_ms));
    expect_value(&data, "1,64", "stragglar_ms",
                 compute_ms + 25 + 25 * 68 * 3e-3 + 68.0 / 63 * (24 * x_ms + y_ms));
    cs_figure_free(&data);
    compute("stragglar-table2", &data);
    expect_value(&data, "90", "gpu_hours_per_day", 9.12);
    expect_value(&data, "100", "saved_1gib_ms", 5 * 3e-3 + (1.75 - 9.0 / 7) * call_ms);
    double saved = 0.9 * 6 * (3e-3 + call_ms / 7) - (3e-3 + 11.0 / 28 * call_ms);
    expect_value(&data, "90", "implied_exposed_percent",
                 4.75 / (saved / (14 * 3e-3 + 1.75 * call_ms)));
    cs_figure_free(&data);
    compute("stragglar-2a", &data);
    expect_value(&data, "100", "delay_ms", 4.566);
    expect_value(&data, "0.5", "straggler_delay_ms", -4.367);
    cs_figure_free(&data);
}

/* Some numbers of the CSVs against the papers' formulas, written out here once more. */
Test(figures, numbers_by_hand)
{
    const double     x_ms = 1e3 * 1073741824 / 450e9, alpha_ms = 3e-3;
    const cs_figure *figure;
    cs_figure_data   data = {0};

    cr_assert_eq(cs_figure_find("stragglar-6c", &figure, NULL), CS_OK);
    cr_assert_eq(figure->compute(&data, NULL), CS_OK);
    double ring = 510 * alpha_ms + 510.0 / 256 * x_ms, best = 262 * (alpha_ms + x_ms / 255);
    cr_assert_float_eq(value_at(&data, "256", "ring_ms"), ring, 1e-9 * ring);
    cr_assert_float_eq(value_at(&data, "256", "stragglar_best_ms"), best, 1e-9 * best);
    cr_assert_float_eq(value_at(&data, "256", "stragglar_best_speedup_over_ring"), 1.94081, 5e-6);
    cs_figure_free(&data);

    cr_assert_eq(cs_figure_find("stragglar-5c", &figure, NULL), CS_OK);
    cr_assert_eq(figure->compute(&data, NULL), CS_OK);
    double step = alpha_ms + 4 * x_ms / 7;
    cr_assert_float_eq(value_at(&data, "0", "stragglar_ms"), 15 * step, 1e-8);
    cr_assert_float_eq(value_at(&data, "20", "stragglar_ms"), 20 + 9 * step, 1e-8);
    cs_figure_free(&data);

    cr_assert_eq(cs_figure_find("stragglar-rounds", &figure, NULL), CS_OK);
    cr_assert_eq(figure->compute(&data, NULL), CS_OK);
    cr_assert_eq(value_at(&data, "1024", "replayed_rounds"), 1032);
    cr_assert_eq(value_at(&data, "192", "published_rounds_over_bound"), 10);
    cs_figure_free(&data);
}

Test(figures, a_check_counts_misses_and_nan)
{
    cs_figure_data data = {0};

    cs_figure_check(&data, "equal", 2, 2, 0);
    cs_figure_check(&data, "near", 1 + 4e-6, 1, 5e-6);
    cs_figure_check(&data, "zero", 0, 0, 0);
    cr_assert_eq(data.n_failed, 0);
    cs_figure_check(&data, "too far", 1 + 6e-6, 1, 5e-6);
    cs_figure_check(&data, "not a number", (double)NAN, 1, 1);
    cs_figure_check(&data, "infinite", (double)INFINITY, 1, 1);
    cs_figure_expect(&data, "broken", false);
    cr_assert_eq(data.n_checks, 7);
    cr_assert_eq(data.n_failed, 4);
    cr_assert_eq(count(data.checks.data, '\n'), 4);
    cr_assert_not_null(strstr(data.checks.data, "too far: got 1.000006, want 1"));
    cs_figure_free(&data);
}

/* Change each number of a reference row in its sixth digit: exactly one check must fail. */
Test(figures, a_wrong_reference_fails)
{
    cs_figure_data             data = {0};
    cs_figure_times            t;
    const cs_figure_reference *row   = cs_figure_reference_at(8);
    const size_t               first = offsetof(cs_figure_reference, ring_ms);
    const size_t               last  = offsetof(cs_figure_reference, critical_ms);

    cr_assert_eq(cs_figure_times_of(&data, &cs_figure_h100, 8, CS_FIGURE_GIB, &t, NULL), CS_OK);
    cs_figure_check_times(&data, &t, row);
    cr_assert_eq(data.n_failed, 0, "%s", data.checks.data);
    for (size_t offset = first; offset <= last; offset += sizeof(double)) {
        cs_figure_reference wrong = *row;
        double              value;
        memcpy(&value, (char *)&wrong + offset, sizeof value);
        value *= 1 + 1.2e-5;
        memcpy((char *)&wrong + offset, &value, sizeof value);
        data.n_failed = 0;
        cs_figure_check_times(&data, &t, &wrong);
        cr_assert_eq(data.n_failed, 1, "offset %zu", offset);
    }
    cs_figure_reference wrong = *row;
    wrong.rounds++;
    data.n_failed = 0;
    cs_figure_check_times(&data, &t, &wrong);
    cr_assert_eq(data.n_failed, 1);
    cs_figure_free(&data);
}

Test(figures, a_replay_is_checked)
{
    cs_figure_data        data = {0};
    const cs_figure_point late = {
        .algorithm = "ring", .machine = cs_figure_h100, .n_ranks = 4, .bytes = 4096, .delay_s = 1};
    cs_result result;

    cr_assert_eq(cs_figure_replay(&data, &late, &result, NULL), CS_OK);
    cr_assert_eq(data.n_checks, 3);
    cr_assert_eq(data.n_failed, 0);
    cr_assert_float_eq(result.elapsed_s, 1 + 6 * (3e-6 + 1024 / 450e9), 1e-15);
    cs_figure_free(&data);
}

static char folder[64];

static void make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/cs_figures_XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

/* Remove the folder; returns how many files were in it. */
static int remove_folder(void)
{
    DIR *dir = opendir(folder);
    int  n   = 0;

    cr_assert_not_null(dir);
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        n += unlink(path) == 0;
    }
    closedir(dir);
    cr_assert_eq(rmdir(folder), 0);
    return n;
}

static void read_figure(const char *name, const char *extension, char **data_p, size_t *length_p)
{
    char     path[256];
    cs_error err = {0};

    snprintf(path, sizeof path, "%s/%s.%s", folder, name, extension);
    cr_assert_eq(cs_file_read(path, MAX_BYTES, data_p, length_p, &err), CS_OK, "%s: %s", path,
                 err.message);
}

static void write_figure(const char *name, bool *drawn_p)
{
    const cs_figure *figure;
    cs_text          line = {0};
    cs_error         err  = {0};
    bool             ok   = false;
    char             wanted_line[256];

    cr_assert_eq(cs_figure_find(name, &figure, NULL), CS_OK);
    cr_assert_eq(cs_figure_write(figure, NULL, folder, &line, &ok, drawn_p, &err), CS_OK, "%s",
                 err.message);
    cr_assert(ok);
    snprintf(wanted_line, sizeof wanted_line, " checks passed, 0 failed -> %s/%s.%s\n", folder,
             name, *drawn_p ? "{csv,svg,png}" : "csv");
    cr_assert_not_null(strstr(line.data, wanted_line), "%s", line.data);
    cs_text_free(&line);
}

/* A trace of the user: its calls, by hand, and no check against the sample. */
Test(figures, trace_instead_of_the_sample)
{
    const char *csv  = "iteration,rank,arrival_s\n0,0,1\n0,1,1.002\n0,2,1.001\n"
                       "1,0,2.004\n1,1,2.003\n1,2,2\n2,0,3\n2,1,3.007\n2,2,3.001\n";
    cs_text     line = {0};
    char        path[128], *data;
    size_t      length;
    cs_error    err = {0};
    bool        ok = false, drawn = false;

    make_folder();
    snprintf(path, sizeof path, "%s/trace", folder);
    cr_assert_eq(cs_file_write(path, csv, strlen(csv), NULL), CS_OK);
    const cs_figure *figure = NULL;
    cr_assert_eq(cs_figure_find("stragglar-2a", &figure, NULL), CS_OK);
    cr_assert_eq(cs_figure_write(figure, path, folder, &line, &ok, &drawn, &err), CS_OK, "%s",
                 err.message);
    cr_assert(ok, "%s", line.data);
    read_figure("stragglar-2a", "csv", &data, &length);
    const double wanted_ms[3][2] = {{1, -1}, {1, 1}, {6, 6}};
    const char  *row             = data;
    for (size_t i = 0; i < 3; i++) {
        double percent = 0, delay_ms = 0, straggler_ms = 0;
        row = strchr(row, '\n') + 1;
        cr_assert_eq(sscanf(row, "%lf,%lf,%lf", &percent, &delay_ms, &straggler_ms), 3, "%s", row);
        cr_expect_float_eq(percent, 100 * (double)(i + 1) / 3, 1e-9);
        cr_expect_float_eq(delay_ms, wanted_ms[i][0], 1e-9);
        cr_expect_float_eq(straggler_ms, wanted_ms[i][1], 1e-9);
    }
    cs_free(data);
    cs_text_free(&line);
    (void)remove_folder();
}

/* Figures that show no trace refuse one; a trace that is not there is an error of input. */
Test(figures, traces_that_cannot_be_drawn)
{
    const cs_figure *figure = NULL;
    cs_text          line   = {0};
    cs_error         err    = {0};
    bool             ok = false, drawn = false;

    make_folder();
    cr_assert_eq(cs_figure_write(small_figure(), "trace", folder, &line, &ok, &drawn, &err),
                 CS_EINVAL);
    cr_assert_not_null(strstr(err.message, "shows no trace"), "%s", err.message);
    cr_assert_eq(cs_figure_find("stragglar-2a", &figure, NULL), CS_OK);
    cr_assert_eq(cs_figure_write(figure, "/nonexistent", folder, &line, &ok, &drawn, NULL), CS_EIO);
    cr_assert_eq(remove_folder(), 0);
    cs_text_free(&line);
}

Test(figures, files_are_whole_and_the_same_each_time)
{
    static const char *const kinds[] = {"csv", "gp", "svg", "png"};
    char                    *before[4], *after[4];
    size_t                   n_before[4], n_after[4];
    bool                     drawn = false;

    make_folder();
    write_figure("stragglar-5c", &drawn);
    size_t n = drawn ? 4 : 2;
    for (size_t i = 0; i < n; i++) {
        read_figure("stragglar-5c", kinds[i], &before[i], &n_before[i]);
    }
    write_figure("stragglar-5c", &drawn);
    for (size_t i = 0; i < n; i++) {
        read_figure("stragglar-5c", kinds[i], &after[i], &n_after[i]);
        cr_assert_eq(n_before[i], n_after[i], "%s", kinds[i]);
        cr_assert_eq(memcmp(before[i], after[i], n_after[i]), 0, "%s", kinds[i]);
        cs_free(before[i]);
    }
    if (drawn) {
        cr_assert_not_null(strstr(after[2], "</svg>"));
        cr_assert_eq(memcmp(after[3], "\x89PNG\r\n", 6), 0);
        cr_assert_eq(memcmp(after[3] + n_after[3] - 8, "IEND", 4), 0);
    }
    for (size_t i = 0; i < n; i++) {
        cs_free(after[i]);
    }
    cr_assert_eq(remove_folder(), (int)n, "something temporary was left");
}

static cs_status compute_wrong(cs_figure_data *data, cs_error *err)
{
    (void)err;
    cs_text_add(&data->csv, "x,y_ms\n1,2\n");
    cs_text_add(&data->gnuplot, "  plot DATA using 'x':'y_ms'\n");
    cs_figure_check(data, "right", 1, 1, 0);
    cs_figure_check(data, "wrong", 1, 2, 0.1);
    return CS_OK;
}

Test(figures, a_failed_check_is_in_the_line)
{
    const cs_figure wrong = {.name    = "wrong",
                             .summary = "a figure that fails",
                             .source  = "nobody",
                             .compute = compute_wrong};
    cs_text         line  = {0};
    bool            ok = true, drawn = false;

    make_folder();
    cr_assert_eq(cs_figure_write(&wrong, NULL, folder, &line, &ok, &drawn, NULL), CS_OK);
    cr_assert_not(ok);
    cr_assert_not_null(strstr(line.data, "wrong: 1 checks passed, 1 failed -> "), "%s", line.data);
    cr_assert_not_null(strstr(line.data, "\nwrong: got 1, want 2"), "%s", line.data);
    cs_text_free(&line);
    (void)remove_folder();
}

Test(figures, without_gnuplot_there_is_the_table)
{
    bool  drawn = true;
    char *path  = strdup(getenv("PATH") != NULL ? getenv("PATH") : "");

    make_folder();
    setenv("PATH", "/nonexistent", 1);
    write_figure("stragglar-5c", &drawn);
    setenv("PATH", path, 1);
    cr_assert_not(drawn);
    cr_assert_eq(remove_folder(), 2);
    free(path);
}

/* A program "gnuplot" that fails: the error says what it said, no picture is left. */
Test(figures, a_failing_gnuplot_is_an_error)
{
    const char      *script = "#!/bin/sh\necho half > .stragglar-5c-0.svg\n"
                              "echo 'plot.gp line 7: undefined variable: x' >&2\nexit 3\n";
    const cs_figure *figure;
    cs_text          line = {0};
    cs_error         err  = {0};
    bool             ok = false, drawn   = false;
    char             program[128], *path = strdup(getenv("PATH") != NULL ? getenv("PATH") : "");

    make_folder();
    snprintf(program, sizeof program, "%s/gnuplot", folder);
    cr_assert_eq(cs_file_write(program, script, strlen(script), NULL), CS_OK);
    cr_assert_eq(chmod(program, 0755), 0);
    setenv("PATH", folder, 1);
    cr_assert_eq(cs_figure_find("stragglar-5c", &figure, NULL), CS_OK);
    cr_assert_eq(cs_figure_write(figure, NULL, folder, &line, &ok, &drawn, &err), CS_EIO);
    setenv("PATH", path, 1);
    cr_assert_not_null(strstr(err.message, "line 7: undefined variable: x"), "%s", err.message);
    cr_assert_eq(line.length, 0);
    snprintf(program, sizeof program, "%s/stragglar-5c.svg", folder);
    cr_assert_neq(access(program, F_OK), 0);
    (void)remove_folder();
    cs_text_free(&line);
    free(path);
}

Test(figures, a_missing_folder_is_an_io_error)
{
    cs_text  line = {0};
    cs_error err  = {0};
    bool     ok = false, drawn = false;

    cr_assert_eq(
        cs_figure_write(small_figure(), NULL, "/nonexistent/folder", &line, &ok, &drawn, &err),
        CS_EIO);
    cr_assert(err.message[0] != '\0');
    cr_assert_not(ok);
    cs_text_free(&line);
}

/* A folder in which nothing can be made: read-only for others than root, /proc for root. */
Test(figures, a_read_only_folder_is_an_io_error)
{
    cs_text  line = {0};
    cs_error err  = {0};
    bool     ok = false, drawn = false;

    make_folder();
    cr_assert_eq(chmod(folder, 0555), 0);
    const char *where = geteuid() == 0 ? "/proc/self" : folder;
    cr_assert_eq(cs_figure_write(small_figure(), NULL, where, &line, &ok, &drawn, &err), CS_EIO);
    cr_assert_eq(chmod(folder, 0755), 0);
    cr_assert_eq(remove_folder(), 0);
    cs_text_free(&line);
}

/* Wherever memory runs out, the figure says so and leaves nothing behind. */
static void run_out_of_memory(const cs_figure *figure)
{
    cs_status status = CS_ENOMEM;

    for (long passes = 0; status == CS_ENOMEM && passes < 100000; passes += 1 + passes / 8) {
        cs_figure_data data = {0};
        cs_error       err  = {0};
        cs_alloc_fail_after(passes);
        status = figure->compute(&data, &err);
        if (status == CS_OK && (data.csv.failed || data.gnuplot.failed || data.checks.failed)) {
            status = CS_ENOMEM;
        }
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "passes %ld: %s", passes, err.message);
        cs_figure_free(&data);
    }
    cr_assert_eq(status, CS_OK);
}

Test(figures, out_of_memory_is_an_error)
{
    const cs_figure *of_a_trace = NULL;

    cr_assert_eq(cs_figure_find("stragglar-2a", &of_a_trace, NULL), CS_OK);
    run_out_of_memory(small_figure());
    run_out_of_memory(of_a_trace);
}
