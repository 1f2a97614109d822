/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files of a figure: whole, the same each time, never half-written; with a trace of the user,
 * without gnuplot, and in folders where nothing can be made. */
#include "base/alloc.h"
#include "campaign/thread_pool.h"
#include "figure_setup.h"

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

/* Into `to`, from a trace or without one. */
static cs_status write_to(const char *to, const char *name, const char *trace, cs_text *line,
                          bool *ok_p, bool *drawn_p, cs_error *err)
{
    const cs_figure_request request = {.name = name, .trace = trace};

    find_figures();
    return cs_figure_write(&request, to, line, ok_p, drawn_p, err);
}

static void write_figure(const char *name, bool *drawn_p)
{
    cs_text  line = {0};
    cs_error err  = {0};
    bool     ok   = false;
    char     wanted_line[256];

    cr_assert_eq(write_to(folder, name, NULL, &line, &ok, drawn_p, &err), CS_OK, "%s", err.message);
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
    cr_assert_eq(write_to(folder, "stragglar-2a", path, &line, &ok, &drawn, &err), CS_OK, "%s",
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
    cs_text  line = {0};
    cs_error err  = {0};
    bool     ok = false, drawn = false;

    make_folder();
    cr_assert_eq(write_to(folder, small_figure, "trace", &line, &ok, &drawn, &err), CS_EINVAL);
    cr_assert_not_null(strstr(err.message, "shows no trace"), "%s", err.message);
    cr_assert_eq(write_to(folder, "stragglar-2a", "/nonexistent", &line, &ok, &drawn, NULL),
                 CS_EIO);
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
        cr_expect_not_null(strstr(
            after[2], "<title>time over the delay of the last rank, 8 ranks, 4 GiB, all algorithms"
                      "</title>"));
        cr_expect_null(strstr(after[2], "<title>Gnuplot"));
        cr_expect_null(strstr(after[2], "<title>gnuplot_plot"));
        cr_assert_eq(memcmp(after[3], "\x89PNG\r\n", 6), 0);
        cr_assert_eq(memcmp(after[3] + n_after[3] - 8, "IEND", 4), 0);
    }
    for (size_t i = 0; i < n; i++) {
        cs_free(after[i]);
    }
    cr_assert_eq(remove_folder(), (int)n, "something temporary was left");
}

/* Of a figure of one's own: its files bear its name. */
Test(figure_files, a_failed_check_is_in_the_line)
{
    char     path[128];
    cs_text  line = {0};
    cs_error err  = {0};
    bool     ok = true, drawn = false;

    make_folder();
    put_file(folder, "wrong.json",
             "{\"cluster\": {\"ranks\": 2}, \"figure\": {\"title\": \"t\", \"columns\": "
             "[\"ranks\"], \"checks\": [{\"what\": \"right\", \"value\": \"1\", \"is\": "
             "\"1\"}, {\"what\": \"wrong\", \"value\": \"1\", \"is\": \"2\", \"relative\": "
             "0.1}]}}");
    put_file(folder, "wrong.gp", "  plot DATA using 'ranks':'ranks'\n");
    (void)snprintf(path, sizeof path, "%s/wrong.json", folder);
    cr_assert_eq(write_to(folder, path, NULL, &line, &ok, &drawn, &err), CS_OK, "%s", err.message);
    cr_assert_not(ok);
    cr_assert_not_null(strstr(line.data, "wrong: 1 checks passed, 1 failed -> "), "%s", line.data);
    cr_assert_not_null(strstr(line.data, "\nwrong in row 1 (ranks = 2): got 1, want 2"), "%s",
                       line.data);
    cs_text_free(&line);
    (void)remove_folder();
}

/* With something changed the line says that the references are left out. */
Test(figure_files, changes_are_in_the_line)
{
    const cs_figure_set     set     = {"cluster.nic.bandwidth", "100GB/s"};
    const cs_figure_request request = {.name = small_figure, .sets = &set, .n_sets = 1};
    cs_text                 line    = {0};
    cs_error                err     = {0};
    bool                    ok = false, drawn = false;

    make_folder();
    find_figures();
    cr_assert_eq(cs_figure_write(&request, folder, &line, &ok, &drawn, &err), CS_OK, "%s",
                 err.message);
    cr_expect(ok);
    cr_expect_not_null(strstr(line.data,
                              "\nstragglar-5ab: references of the paper apply to its own "
                              "cluster: not checked\n"),
                       "%s", line.data);
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

/* Draw with a program "gnuplot" of our own: the words of a shell that has the names of the two
 * pictures in $svg and $png. `err` is what cs_figure_write() says. */
static cs_status draw_with(const char *words, cs_error *err)
{
    cs_text line = {0}, script = {0};
    bool    ok = false, drawn   = false;
    char    program[128], *path = strdup(getenv("PATH") != NULL ? getenv("PATH") : "");

    cs_text_add(&script,
                "#!/bin/sh\nPATH=/usr/bin:/bin\n"
                "svg=$(echo \"$3\" | sed \"s/.*SVG = '\\([^']*\\)'.*/\\1/\")\n"
                "png=$(echo \"$3\" | sed \"s/.*PNG = '\\([^']*\\)'.*/\\1/\")\n%s\n",
                words);
    snprintf(program, sizeof program, "%s/gnuplot", folder);
    cr_assert_eq(cs_file_write(program, script.data, script.length, NULL), CS_OK);
    cr_assert_eq(chmod(program, 0755), 0);
    setenv("PATH", folder, 1);
    cs_status status = write_to(folder, "stragglar-5c", NULL, &line, &ok, &drawn, err);
    setenv("PATH", path, 1);
    cr_assert_eq(drawn, status == CS_OK);
    cr_assert_eq(line.length > 0, status == CS_OK);
    cr_assert_eq(unlink(program), 0);
    cs_text_free(&line);
    cs_text_free(&script);
    free(path);
    return status;
}

#define WHOLE_SVG "echo '<svg></svg>' >$svg; "
#define WHOLE_PNG "printf '\\211PNG..IEND\\256\\102\\140\\202' >$png; "

/* The error says what it said, no picture is left. */
Test(figure_files, a_failing_gnuplot_is_an_error)
{
    cs_error err = {0};

    make_folder();
    cr_assert_eq(draw_with("echo half >$svg\n"
                           "echo 'plot.gp line 7: undefined variable: x' >&2\nexit 3",
                           &err),
                 CS_EIO);
    cr_assert_not_null(strstr(err.message, "line 7: undefined variable: x"), "%s", err.message);
    cr_assert_eq(remove_folder(), 2, "something but the table and the script is left");
}

Test(figure_files, a_gnuplot_that_is_killed_is_an_error)
{
    cs_error err = {0};

    make_folder();
    cr_assert_eq(draw_with(WHOLE_SVG WHOLE_PNG "kill -9 $$", &err), CS_EIO);
    cr_assert_not_null(strstr(err.message, "stragglar-5c.gp: was ended by signal 9"), "%s",
                       err.message);
    cr_assert_eq(remove_folder(), 2, "something but the table and the script is left");
}

/* gnuplot does not say when the disk is full. */
Test(figure_files, half_a_picture_is_an_error)
{
    static const struct {
        const char *words, *message;
    } cases[] = {{WHOLE_SVG "printf '\\211PNG..' >$png", "drew half a png"},
                 {WHOLE_PNG "echo '<svg>' >$svg", "drew half a svg"},
                 {WHOLE_PNG ": >$svg", "drew no svg"},
                 {WHOLE_SVG, "drew no png"}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cs_error err = {0};
        make_folder();
        cr_expect_eq(draw_with(cases[i].words, &err), CS_EIO);
        cr_expect_not_null(strstr(err.message, cases[i].message), "%s", err.message);
        cr_expect_leq(remove_folder(), 3, "a half picture is left");
    }
}

/* Whoever may write into the folder cannot have the pictures written somewhere else. */
Test(figure_files, pictures_are_drawn_where_nobody_else_is)
{
    static const char *const suffixes[] = {"svg", "png"};
    char                     link[256], victim[256], *data;
    cs_error                 err = {0};
    size_t                   length;

    make_folder();
    snprintf(victim, sizeof victim, "%s/victim", folder);
    cr_assert_eq(cs_file_write(victim, "mine", 4, NULL), CS_OK);
    for (size_t i = 0; i < 2; i++) {
        snprintf(link, sizeof link, "%s/.stragglar-5c-%ld.%s", folder, (long)getpid(), suffixes[i]);
        cr_assert_eq(symlink("victim", link), 0);
    }
    cr_assert_eq(draw_with(WHOLE_SVG WHOLE_PNG "stat -c %a $(dirname $svg) >mode", &err), CS_OK,
                 "%s", err.message);
    cr_assert_eq(cs_file_read(victim, 100, &data, &length, NULL), CS_OK);
    cr_expect_str_eq(data, "mine");
    cs_free(data);
    snprintf(victim, sizeof victim, "%s/mode", folder);
    cr_assert_eq(cs_file_read(victim, 100, &data, &length, NULL), CS_OK);
    cr_expect_str_eq(data, "700\n", "others can look into the folder");
    cs_free(data);
    cr_expect_eq(remove_folder(), 8);
}

/* As every file that is overwritten. */
Test(figure_files, a_picture_keeps_its_permissions)
{
    char        path[256];
    cs_error    err = {0};
    struct stat info;

    make_folder();
    snprintf(path, sizeof path, "%s/stragglar-5c.svg", folder);
    cr_assert_eq(cs_file_write(path, "old", 3, NULL), CS_OK);
    cr_assert_eq(chmod(path, 0640), 0);
    cr_assert_eq(draw_with(WHOLE_SVG WHOLE_PNG, &err), CS_OK, "%s", err.message);
    cr_assert_eq(stat(path, &info), 0);
    cr_expect_eq(info.st_mode & 0777, 0640);
    cr_expect_eq(remove_folder(), 4);
}

Test(figure_files, a_missing_folder_is_an_io_error)
{
    cs_text  line = {0};
    cs_error err  = {0};
    bool     ok = false, drawn = false;

    cr_assert_eq(write_to("/nonexistent/folder", small_figure, NULL, &line, &ok, &drawn, &err),
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
    cr_assert_eq(write_to(where, small_figure, NULL, &line, &ok, &drawn, &err), CS_EIO);
    cr_assert_eq(chmod(folder, 0755), 0);
    cr_assert_eq(remove_folder(), 0);
    cs_text_free(&line);
}

/* ---- pictures of other clusters ---- */

/* What makes the figures small; all are drawn at another bandwidth, too. */
static const struct {
    const char   *name;
    cs_figure_set sets[3];
} smaller[] = {
    {"stragglar-2b", {{"sweep.cluster.ranks", "[6, 24]"}, {"bytes", "3MiB"}}},
    {"stragglar-5ab", {{"sweep.bytes", "[\"3KiB\", \"1MiB\"]"}, {"cluster.ranks", "12"}}},
    {"stragglar-5c", {{"bytes", "64KiB"}}},
    {"stragglar-5de", {{"arrivals.late[0].delay", "1us"}}},
    {"stragglar-10ab", {{"sweep.bytes", "[\"3KiB\", \"1MiB\"]"}, {"cluster.ranks", "12"}}},
    {"stragglar-6a", {{"sweep.bytes", "[\"3KiB\", \"1MiB\"]"}}},
    {"stragglar-6c", {{"sweep.cluster.ranks", "[100, 110]"}, {"bytes", "1KiB"}}},
    {"stragglar-7a", {{"sweep.cluster.ranks", "[6]"}, {"bytes", "20GiB"}}},
    {"stragglar-7b", {{"sweep.cluster.ranks", "[6, 10, 100]"}}},
    {"stragglar-9", {{"sweep.cluster.ranks", "[6, 10]"}}},
    {"stragglar-13", {{"sweep.cluster.ranks", "[6, 10]"}}},
    {"stragglar-14", {{"sweep.arrivals.late[0].delay", "[\"3ms\"]"}}},
    {"stragglar-rounds", {{"sweep.cluster.ranks", "[4, 8]"}}},
    {"stragglar-table2",
     {{"sweep.bytes", "[\"3KiB\", \"1MiB\"]"},
      {"sweep.figure.let.persistence_percent", "[50, 90]"}}},
    {"optcc-8", {{"sweep.cluster.ranks", "[6, 24]"}, {"sweep.bytes", "[\"64MiB\", \"80MiB\"]"}}},
    {"optcc-9", {{"sweep.cluster.ranks", "[6, 24]"}, {"cluster.ranks", "12"}}},
    {"optcc-10", {{"sweep.cluster.ranks", "[24, 48]"}, {"cluster.ranks", "24"}}},
    {"optcc-20", {{"sweep.cluster.ranks", "[6, 24]"}, {"sweep.faults[0].slowdown", "[1, 3]"}}},
    {"optcc-21", {{"sweep.cluster.ranks", "[6, 24]"}, {"cluster.ranks", "12"}}},
    {"optcc-22", {{"sweep.cluster.ranks", "[32]"}, {"bytes", "1GiB"}}},
    {"optcc-8-packets",
     {{"bytes", "1MiB"},
      {"sweep.bytes", "[\"1MiB\", \"3MiB\"]"},
      {"sweep.cluster.ranks", "[16, 24]"}}},
    {"optcc-9-packets", {{"bytes", "1MiB"}, {"sweep.cluster.ranks", "[16, 24]"}}},
    {"optcc-10-packets",
     {{"bytes", "1MiB"}, {"sweep.bytes", "[\"3MiB\"]"}, {"sweep.cluster.ranks", "[24, 48]"}}},
    {"fidelity", {{"bytes", "1MiB"}, {"sweep.figure.let.algorithm", "[\"ring\", \"rhd\"]"}}},
    {"optcc-bounds", {{"sweep.cluster.ranks", "[100, 110]"}, {"cluster.ranks", "24"}}},
    {"parallel-rings-4", {{"sweep.figure.let.block_mib", "[0.0625, 3]"}}},
    {"parallel-rings-7", {{"sweep.figure.let.block_mib", "[0.0625, 3]"}}},
    {"parallel-rings-cif", {{"bytes", "1MiB"}}},
    {"adapcc-3b", {{"figure.lists.seeds", "[1, 2]"}}},
    {"adapcc-14", {{"figure.lists.seeds", "[1, 2]"}}},
    {"adapcc-15", {{"figure.lists.seeds", "[1, 2]"}}},
    {"adapcc-16", {{"sweep.figure.let.batch", "[4, 16]"}, {"sweep.seed", "[1]"}}},
    {"adapcc-17", {{"sweep.figure.let.batch", "[32, 128]"}}},
    {"adapcc-18a", {{"sweep.figure.let.time", "[1, 2]"}}},
    {"adapcc-18b", {{"figure.lists.delays_s", "[0, 0.04]"}}},
    {"adapcc-19d", {{"sweep.seed", "[1, 2]"}}},
    {"decision-map",
     {{"sweep.figure.let.slowdown", "[1, 2]"}, {"sweep.figure.let.delay_T0", "[0, 0.5]"}}},
};

/* Of a cluster that is not that of the paper the picture must not say these. */
static const char *const papers[] = {"DGX",       "A100",        "V100",    "H100",
                                     "A30",       "measured",    "implied", "cluster A",
                                     "cluster B", "AdapCC paper"};

/* Whether the figure `name` is about `word`, whatever is set: its rows set what the word stands
 * for. */
static bool is_subject(const char *name, const char *word)
{
    static const struct {
        const char *name, *word;
    } subjects[] = {{"validation", "measured"},
                    {"late-vs-nvls", "H100"},
                    {"nccl-curve", "A100"},
                    {"nccl-curve", "H100"}};

    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++) {
        if (strcmp(subjects[i].name, name) == 0 && strcmp(subjects[i].word, word) == 0) {
            return true;
        }
    }
    return false;
}

static void redraw(const cs_figure_request *request, const char *name)
{
    cs_text  line = {0};
    cs_error err  = {0};
    bool     ok = false, drawn = false;
    char    *svg = NULL;
    size_t   length;

    cr_assert_eq(cs_figure_write(request, folder, &line, &ok, &drawn, &err), CS_OK, "%s: %s: %s",
                 name, err.where, err.message);
    cr_expect(ok, "%s", line.data);
    cs_text_free(&line);
    if (!drawn) {
        return;
    }
    read_figure(name, "svg", &svg, &length);
    cr_expect_not_null(strstr(svg, "<title>a figure redrawn with cluster.nic.bandwidth=37GB/s"),
                       "%s", name);
    for (size_t i = 0; i < sizeof papers / sizeof papers[0]; i++) {
        if (!is_subject(name, papers[i])) {
            cr_expect_null(strstr(svg, papers[i]), "%s says '%s'", name, papers[i]);
        }
    }
    cs_free(svg);
}

Test(figure_files, redrawn_they_say_nothing_of_the_papers_cluster)
{
    cs_figure_results *results = cs_figure_results_new();
    cs_figure_entry   *list    = NULL;
    size_t             n       = 0;

    find_figures();
    make_folder();
    cr_assert_eq(cs_figure_list(&list, &n, NULL), CS_OK);
    for (size_t i = 0; i < n; i++) {
        cs_figure_set sets[4] = {{"cluster.nic.bandwidth", "37GB/s"}};
        size_t        n_sets  = 1;
        for (size_t k = 0; k < sizeof smaller / sizeof smaller[0]; k++) {
            for (size_t m = 0; strcmp(smaller[k].name, list[i].name) == 0 && m < 3; m++) {
                sets[n_sets] = smaller[k].sets[m];
                n_sets += sets[n_sets].path != NULL;
            }
        }
        const cs_figure_request request = {.name    = list[i].name,
                                           .sets    = sets,
                                           .n_sets  = n_sets,
                                           .jobs    = cs_processors(),
                                           .results = results};
        redraw(&request, list[i].name);
    }
    cs_figure_list_free(list, n);
    cs_figure_results_free(results);
    (void)remove_folder();
}
