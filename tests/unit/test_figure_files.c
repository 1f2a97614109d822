/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files of a figure: whole, the same each time, never half-written; with a trace of the user,
 * without gnuplot, and in folders where nothing can be made. */
#include "base/alloc.h"
#include "base/file.h"
#include "figure_setup.h"
#include "figures/gnuplot.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_BYTES = 4 << 20 };

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
Test(figure_files, trace_instead_of_the_sample)
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
Test(figure_files, traces_that_cannot_be_drawn)
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

Test(figure_files, files_are_whole_and_the_same_each_time)
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

Test(figure_files, a_failed_check_is_in_the_line)
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

Test(figure_files, without_gnuplot_there_is_the_table)
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
Test(figure_files, a_failing_gnuplot_is_an_error)
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

Test(figure_files, a_missing_folder_is_an_io_error)
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
Test(figure_files, a_read_only_folder_is_an_io_error)
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
