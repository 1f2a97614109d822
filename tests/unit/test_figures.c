/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Figures are data: each of the folder is computed and passes all its checks; a wrong number, a
 * wrong name and a missing file are noticed; any of them is drawn for another cluster; memory that
 * runs out is an error. */
#include "base/alloc.h"
#include "campaign/thread_pool.h"
#include "cs/algorithm.h"
#include "figure_setup.h"
#include "output/look.h"

#include <dirent.h>
#include <jansson.h>
#include <math.h>
#include <unistd.h>

/* How many rows and checks those that come with the program have at least, so that none is lost
 * unnoticed. Others may stand beside them. */
static const struct {
    const char *name;
    size_t      rows, least_checks;
} wanted[] = {
    {"stragglar-2a", 200, 212},
    {"stragglar-2b", 63, 63},
    {"stragglar-5ab", 13, 446},
    {"stragglar-5c", 41, 844},
    {"stragglar-5c-measured", 41, 844},
    {"stragglar-5de", 13, 446},
    {"stragglar-5f", 41, 845},
    {"stragglar-6a", 13, 230},
    {"stragglar-6b", 13, 228},
    {"stragglar-6c", 9, 337},
    {"stragglar-7a", 17, 290},
    {"stragglar-7b", 17, 500},
    {"stragglar-9", 17, 665},
    {"stragglar-10ab", 11, 352},
    {"stragglar-10c", 41, 850},
    {"stragglar-13", 16, 581},
    {"stragglar-14", 16, 581},
    {"stragglar-rounds", 151, 754},
    {"stragglar-table2", 244, 99},
    {"optcc-bounds", 169, 1073},
    {"optcc-8", 70, 936},
    {"optcc-9", 70, 752},
    {"optcc-10", 66, 672},
    {"optcc-20", 42, 566},
    {"optcc-21", 42, 481},
    {"optcc-22", 38, 396},
    {"optcc-table", 32, 128},
    {"parallel-rings-4", 8, 128},
    {"parallel-rings-cif", 7, 62},
    {"parallel-rings-7", 24, 505},
    {"late-gpu", 51, 674},
    {"failures", 64, 271},
    {"validation", 376, 1437},
    {"servers-late", 60, 842},
    {"late-vs-nvls", 33, 430},
    {"arrival-order", 60, 1137},
    {"nccl-curve", 160, 467},
    {"servers-slow", 28, 368},
    {"servers-table", 42, 750},
    {"fidelity", 133, 2000},
    {"optcc-8-packets", 39, 554},
    {"optcc-9-packets", 16, 209},
    {"optcc-10-packets", 16, 138},
    {"decision-map", 75, 1290},
    {"adapcc-3b", 400, 808},
    {"adapcc-11", 6, 79},
    {"adapcc-12", 6, 101},
    {"adapcc-13", 6, 54},
    {"adapcc-14", 96, 860},
    {"adapcc-15", 3200, 4520},
    {"adapcc-16", 30, 270},
    {"adapcc-17", 30, 270},
    {"adapcc-18a", 120, 840},
    {"adapcc-18b", 72, 470},
    {"adapcc-19a", 14, 58},
    {"adapcc-19c", 16, 70},
    {"adapcc-19d", 2400, 2700},
};

enum { N_WANTED = sizeof wanted / sizeof wanted[0] };

TestSuite(figures, .init = find_figures);

static size_t place_of(const cs_figure_entry *list, size_t n, const char *name)
{
    size_t i = 0;

    while (i < n && strcmp(list[i].name, name) != 0) {
        i++;
    }
    return i;
}

Test(figures, all_are_listed_in_the_order_of_their_numbers)
{
    cs_figure_entry *list = NULL;
    size_t           n    = 0;
    cs_error         err  = {0};

    cr_assert_eq(cs_figure_list(&list, &n, &err), CS_OK, "%s", err.message);
    for (size_t i = 0; i < N_WANTED; i++) {
        size_t at = place_of(list, n, wanted[i].name);
        cr_assert_lt(at, n, "%s", wanted[i].name);
        cr_expect(list[at].title[0] != '\0' && list[at].source[0] != '\0', "%s", wanted[i].name);
        cr_expect_eq(list[at].has_trace, strcmp(wanted[i].name, "stragglar-2a") == 0);
    }
    cr_expect_lt(place_of(list, n, "stragglar-6c"), place_of(list, n, "stragglar-10c"));
    cr_expect_lt(place_of(list, n, "optcc-10"), place_of(list, n, "optcc-20"));
    cs_figure_list_free(list, n);
}

/* ---- what lies beside a figure ---- */

#define REFERENCES COLLSIM_SOURCE_DIR "/tests/figures"
#define PAGE       COLLSIM_SOURCE_DIR "/sim/doc/figures.md"

/* `text` stands between backticks in a line of a table of the page. */
static bool is_in_table(const char *page, const char *text)
{
    char quoted[128];

    (void)snprintf(quoted, sizeof quoted, "`%s`", text);
    for (const char *at = strstr(page, quoted); at != NULL; at = strstr(at + 1, quoted)) {
        const char *line = at;
        while (line > page && line[-1] != '\n') {
            line--;
        }
        if (*line == '|') {
            return true;
        }
    }
    return false;
}

/* "stragglar-5f" may stand there as "-5f", behind another one. */
static void expect_in_page(const char *page, const char *name)
{
    const char *suffix = strchr(name, '-');

    cr_expect(is_in_table(page, name) || (suffix != NULL && is_in_table(page, suffix)),
              "sim/doc/figures.md has no line for %s", name);
}

/* The file of its references, which it names, and a script: its own, or that of one it is like. */
static void expect_files(const char *name)
{
    char    path[256], beside[128];
    json_t *tree, *figure;

    (void)snprintf(path, sizeof path, "%s/%s.json", FIGURES, name);
    tree   = json_load_file(path, 0, NULL);
    figure = json_object_get(tree, "figure");
    (void)snprintf(beside, sizeof beside, "../../tests/figures/%s.json", name);
    const char *reference = json_string_value(json_object_get(figure, "reference"));
    cr_expect_str_eq(reference != NULL ? reference : "none", beside);
    (void)snprintf(path, sizeof path, "%s/%s.json", REFERENCES, name);
    cr_expect_eq(access(path, R_OK), 0, "%s is missing", path);
    (void)snprintf(path, sizeof path, "%s/%s.gp", FIGURES, name);
    cr_expect(access(path, R_OK) == 0 || json_object_get(figure, "like") != NULL ||
                  json_object_get(figure, "gnuplot") != NULL,
              "%s is missing", path);
    json_decref(tree);
}

/* Every file NAME.ENDING of the folder is of a figure of the list. */
static void expect_no_others(const char *place, const char *ending, const cs_figure_entry *list,
                             size_t n)
{
    DIR *dir = opendir(place);

    cr_assert_not_null(dir);
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        size_t length = strlen(entry->d_name), cut = strlen(ending);
        if (length > cut && strcmp(entry->d_name + length - cut, ending) == 0 &&
            strcmp(entry->d_name, "style.gp") != 0) {
            char name[256];
            (void)snprintf(name, sizeof name, "%.*s", (int)(length - cut), entry->d_name);
            cr_expect_lt(place_of(list, n, name), n, "%s/%s is of no figure", place, entry->d_name);
        }
    }
    closedir(dir);
}

Test(figures, each_has_its_script_its_references_and_a_line_in_the_page)
{
    cs_figure_entry *list = NULL;
    size_t           n = 0, length = 0;
    char            *page = NULL;

    cr_assert_eq(cs_file_read(PAGE, 1 << 20, &page, &length, NULL), CS_OK);
    cr_assert_eq(cs_figure_list(&list, &n, NULL), CS_OK);
    for (size_t i = 0; i < n; i++) {
        expect_in_page(page, list[i].name);
        expect_files(list[i].name);
    }
    expect_no_others(FIGURES, ".gp", list, n);
    expect_no_others(REFERENCES, ".json", list, n);
    cs_figure_list_free(list, n);
    cs_free(page);
}

/* Every row has as many fields as the header; returns how many rows there are. */
static size_t check_table(const cs_figure_data *data)
{
    char  *copy = strdup(data->csv.data), *save = NULL;
    size_t commas = 0, n = 0;

    for (char *line = strtok_r(copy, "\n", &save); line != NULL;
         line       = strtok_r(NULL, "\n", &save)) {
        commas = n == 0 ? count(line, ',') : commas;
        cr_assert_eq(count(line, ','), commas, "%s, line %zu: %s", data->name, n + 1, line);
        cr_assert_null(strstr(line, "nan"), "%s: %s", data->name, line);
        cr_assert_null(strstr(line, "null"), "%s: %s", data->name, line);
        n++;
    }
    free(copy);
    return n - 1;
}

/* With sanitizers, which make them fifteen times slower, every third, and none of those with
 * hundreds of millions of packets; scripts/test lets a build without them do all. */
#ifdef __SANITIZE_ADDRESS__
enum { EVERY = 3 };
static const char too_long[] = "-packets";
#else
enum { EVERY = 1 };
static const char too_long[] = " ";
#endif

Test(figures, every_one_computes_and_passes_its_checks)
{
    cs_figure_results *results = cs_figure_results_new();
    cs_figure_entry   *list    = NULL;
    size_t             n       = 0;

    cr_assert_eq(cs_figure_list(&list, &n, NULL), CS_OK);
    for (size_t i = 0; i < n; i += EVERY) {
        const cs_figure_request request = {
            .name = list[i].name, .jobs = cs_processors(), .results = results};
        cs_figure_data data = {0};
        cs_error       err  = {0};
        if (strstr(list[i].name, too_long) != NULL) {
            continue;
        }
        cr_assert_eq(cs_figure_compute(&request, &data, &err), CS_OK, "%s: %s: %s", list[i].name,
                     err.where, err.message);
        cr_expect_eq(data.n_failed, 0, "%s: %s", list[i].name, data.checks.data);
        cr_expect_not(data.skips_references);
        cr_expect_not_null(strstr(data.script.data, "plot "), "%s", list[i].name);
        size_t rows = check_table(&data);
        for (size_t k = 0; k < N_WANTED; k++) {
            if (strcmp(wanted[k].name, list[i].name) == 0) {
                cr_expect_eq(rows, wanted[k].rows, "%s has %zu rows", list[i].name, rows);
                cr_expect_geq(data.n_checks, wanted[k].least_checks, "%s: %zu checks", list[i].name,
                              data.n_checks);
            }
        }
        cs_figure_data_free(&data);
    }
    cs_figure_list_free(list, n);
    cs_figure_results_free(results);
}

Test(figures, the_same_bytes_for_any_number_of_threads_and_with_known_results)
{
    cs_figure_results *results = cs_figure_results_new();
    cs_figure_data     first   = {0};

    cr_assert_eq(compute_figure(small_figure, &first, NULL), CS_OK);
    for (unsigned jobs = 1; jobs <= 5; jobs += 2) {
        const cs_figure_request request = {.name = small_figure, .jobs = jobs, .results = results};
        cs_figure_data          data    = {0};
        cr_assert_eq(cs_figure_compute(&request, &data, NULL), CS_OK);
        cr_expect_str_eq(data.csv.data, first.csv.data);
        cr_expect_str_eq(data.script.data, first.script.data);
        cr_expect_eq(data.n_checks, first.n_checks);
        cs_figure_data_free(&data);
    }
    cs_figure_results_free(results);
    cs_figure_data_free(&first);
}

/* ---- counting ---- */

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
    cs_figure_data_free(&data);
}

/* ---- other clusters ---- */

/* The value of a column in a row of the table. */
static double cell(const cs_figure_data *data, size_t row, const char *column)
{
    const char *header = data->csv.data, *place = header, *line = header;
    size_t      index = 0, n = strlen(column);

    while (strncmp(place, column, n) != 0 || (place[n] != ',' && place[n] != '\n')) {
        place = strchr(place, ',');
        cr_assert_not_null(place, "no column %s", column);
        place++;
        index++;
    }
    for (size_t i = 0; i <= row; i++) {
        line = strchr(line, '\n') + 1;
    }
    for (; index > 0; index--) {
        line = strchr(line, ',') + 1;
    }
    return strtod(line, NULL);
}

static void expect_cell(const cs_figure_data *data, size_t row, const char *column, double want)
{
    double got = cell(data, row, column);
    cr_expect_float_eq(got, want, 1e-9 * fabs(want), "%s: %.17g, not %.17g", column, got, want);
}

/* Times by hand: 2 (n-1) (alpha + s / n / B) for the ring, (n - 2 + log2 n) (alpha + s / (n-1) / B)
 * for StragglAR at its best. */
Test(figures, redrawn_for_another_cluster_ranks_and_size)
{
    const cs_figure_set sets[] = {{"cluster.nic.bandwidth", "400Gb/s"},
                                  {"cluster.nic.alpha", "5us"},
                                  {"bytes", "64MiB"},
                                  {"sweep.cluster.ranks", "[6, 48]"}};
    cs_figure_data      data   = {0};
    cs_error            err    = {0};
    const double        x_ms   = 67108864 / 50e6;

    cr_assert_eq(compute_changed("stragglar-6c", sets, 4, &data, &err), CS_OK, "%s: %s", err.where,
                 err.message);
    cr_expect_eq(data.n_failed, 0, "%s", data.checks.data);
    cr_expect(data.skips_references);
    cr_expect_eq(check_table(&data), 2);
    expect_cell(&data, 0, "ring_ms", 10 * (5e-3 + x_ms / 6));
    expect_cell(&data, 1, "stragglar_best_ms", 52 * (5e-3 + x_ms / 47));
    cr_expect_not_null(strstr(data.script.data, "CHANGED = 1\n"));
    cr_expect_not_null(strstr(data.script.data, "RATE_GBPS = 50\n"));
    cs_figure_data_free(&data);
}

/* Panel a keeps its ranks, and all panels take the other rate; then it takes others. */
Test(figures, redrawn_panels)
{
    const cs_figure_set sets[] = {{"cluster.nic.bandwidth", "50GB/s"},
                                  {"cluster.nic.alpha", "0s"},
                                  {"cluster.ranks", "12"},
                                  {"sweep.cluster.ranks", "[4, 5]"},
                                  {"sweep.bytes", "[\"5MiB\"]"},
                                  {"sweep.faults", "[[{\"rank\": 0, \"slowdown\": 3}, {\"rank\": "
                                                   "1, \"slowdown\": 3}]]"}};
    cs_figure_data      data   = {0};
    cs_error            err    = {0};
    const double        gib_ms = 1073741824 / 50e6, mib5_ms = 5242880 / 50e6;
    size_t              n_sets = sizeof sets / sizeof sets[0];

    cr_assert_eq(compute_changed("optcc-9", sets, n_sets, &data, &err), CS_OK, "%s: %s", err.where,
                 err.message);
    cr_expect_eq(data.n_failed, 0, "%s", data.checks.data);
    cr_expect_eq(check_table(&data), 2 * (2 + 1 + 2 + 1 + 1));
    cr_expect_float_eq(cell(&data, 0, "fault_free_ms"), 2 * 3. / 4 * gib_ms, 1e-6 * gib_ms);
    cr_expect_float_eq(cell(&data, 1, "fault_free_ms"), 2 * 4. / 5 * gib_ms, 1e-6 * gib_ms);
    cr_expect_float_eq(cell(&data, 4, "fault_free_ms"), 2 * 11. / 12 * mib5_ms, 1e-5 * mib5_ms);
    cr_expect_eq(cell(&data, 12, "slowdown_1"), 3);
    cs_figure_data_free(&data);
}

/* Names of the figure itself can be changed like any key. */
Test(figures, redrawn_with_other_numbers_of_its_own)
{
    const cs_figure_set sets[] = {{"sweep.figure.let.persistence_percent", "[50]"},
                                  {"sweep.bytes", "[\"8MiB\", \"16MiB\"]"},
                                  {"cluster.ranks", "16"},
                                  {"arrivals.late[0].delay", "2ms"}};
    cs_figure_data      data   = {0};
    cs_error            err    = {0};
    const double        x_ms = 8388608 / 300e6, step = 3e-3 + x_ms / 15, best = 18 * step;

    cr_assert_eq(compute_changed("stragglar-table2", sets, 4, &data, &err), CS_OK, "%s: %s",
                 err.where, err.message);
    cr_expect_eq(check_table(&data), 2);
    expect_cell(&data, 0, "saved_ms", 30 * (3e-3 + x_ms / 16) - best - 0.5 * 14 * step);
    cs_figure_data_free(&data);
}

/* What all rows come to, without cells that are nan: the ring takes 4, 6 and 8 turns here. */
Test(figures, functions_over_all_rows)
{
    const cs_figure_set sets[] = {
        {"sweep.cluster.ranks", "[3, 4, 5, 6]"},
        {"cluster.nic.alpha", "1s"},
        {"bytes", "1B"},
        {"figure.columns", "[\"ranks\", \"turns = ranks == 6 ? nan : 2 * (ranks - 1)\"]"},
        {"figure.checks", "[]"},
        {"figure.values", "[\"LEAST = least_of('turns')\", \"MOST = most_of('turns')\", "
                          "\"MEAN = mean_of('turns')\", \"CUBE = geomean_of('turns') ^ 3\", "
                          "\"MEDIAN = median_of('ranks')\", \"SAME = near(geomean_of('ranks'), 360 "
                          "^ 0.25, 1e-12)\"]"}};
    cs_figure_data data = {0};
    cs_error       err  = {0};

    cr_assert_eq(compute_changed("stragglar-6c", sets, sizeof sets / sizeof sets[0], &data, &err),
                 CS_OK, "%s: %s", err.where, err.message);
    cr_expect_not_null(strstr(data.script.data, "\nLEAST = 4\nMOST = 8\nMEAN = 6\nCUBE = 19"));
    cr_expect_not_null(strstr(data.script.data, "\nMEDIAN = 4.5\nSAME = 1\n"));
    cs_figure_data_free(&data);
}

/* An optional run that is refused has no values, and a reason; one that is left out has neither. */
Test(figures, a_refusal_is_a_text)
{
    const cs_figure_set sets[] = {
        {"sweep.cluster.ranks", "[6, 8]"},
        {"figure.set", "{}"},
        {"figure.runs", "{\"odd\": {\"algorithm\": \"iallgather_rd\", \"optional\": true}, "
                        "\"no\": {\"when\": \"ranks < 0\"}}"},
        {"figure.columns", "[\"ranks\", \"ms = odd.elapsed_s\", \"why = odd.refusal\", "
                           "\"other = no.refusal\"]"},
        {"collective", "\"allgather\""},
        {"figure.checks", "[]"},
        {"figure.values", "[]"}};
    cs_figure_data data = {0};
    cs_error       err  = {0};

    cr_assert_eq(compute_changed("stragglar-6c", sets, sizeof sets / sizeof sets[0], &data, &err),
                 CS_OK, "%s: %s", err.where, err.message);
    cr_expect_not_null(strstr(data.csv.data, "power of two"), "%s", data.csv.data);
    cr_expect_not_null(strstr(data.csv.data, ",,\n"), "%s", data.csv.data);
    cs_figure_data_free(&data);
}

/* What cannot be changed, or would change nothing, is said. */
Test(figures, changes_that_are_refused)
{
    static const struct {
        const char *figure, *path, *json, *where, *message;
    } cases[] = {
        {"stragglar-6c", "sweep.bytes", "[1]", "--set sweep.bytes", "has no such axis"},
        {"optcc-9", "sweep.faults[0].slowdown", "[2]", "--set sweep", "has no such axis"},
        {"stragglar-6c", "sweep", "{}", "--set sweep", "accepted is an axis"},
        {"stragglar-6c", "algorithm", "ring", "--set algorithm", "changes nothing"},
        {"stragglar-6c", "arrivals.late", "[]", "--set arrivals.late", "sets its own"},
        {"stragglar-13", "bytes", "1MiB", "--set bytes", "sets its own"},
        {"stragglar-6c", "cluster.ranks", "0", "--set cluster.ranks", "outside"},
        {"stragglar-6c", "cluster.rank", "8", "--set cluster.rank", "did you mean 'ranks'"},
        {"stragglar-6c", "figure.titel", "\"x\"", "--set figure.titel", "did you mean 'title'"},
        {"stragglar-6c", "figure.columns", "[\"a = ring.elapsd_s\"]", "--set figure.columns[0]",
         "did you mean 'ring.elapsed_s'"},
        {"optcc-table", "cluster.ranks", "8", "--set cluster.ranks", "changes nothing"},
        {"stragglar-6c", "figure.runs.ring.algorithm", "rign", "", "did you mean 'ring'"},
        {"stragglar-6c", "figure.values", "[\"A = mean_of('rnig_ms')\"]", "--set figure.values[0]",
         "a column's name in quotes, not 'rnig_ms'"},
        {"stragglar-6c", "figure.values", "[\"A = mean_of(1)\"]", "--set figure.values[0]",
         "a column's name in quotes"},
        {"stragglar-6c", "figure.columns", "[\"a = 1\", \"b = most_of('a')\"]",
         "--set figure.columns[1]", "not known before all columns are"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const cs_figure_set set  = {cases[i].path, cases[i].json};
        cs_figure_data      data = {0};
        cs_error            err  = {0};
        char                text[800];
        cr_expect_neq(compute_changed(cases[i].figure, &set, 1, &data, &err), CS_OK, "%s=%s",
                      cases[i].path, cases[i].json);
        cs_error_text(&err, text, sizeof text);
        cr_expect_not_null(strstr(text, cases[i].where), "%s", text);
        cr_expect_not_null(strstr(text, cases[i].message), "%s", text);
        cs_figure_data_free(&data);
    }
}

/* ---- files of one's own ---- */

static char folder[CT_FOLDER_BYTES];

static void make_folder(void)
{
    find_figures();
    ct_folder_make(folder);
}

static void remove_folder(void)
{
    ct_folder_remove(folder);
}

TestSuite(own_figures, .init = make_folder, .fini = remove_folder);

/* A figure of two points of a ring; `more` are keys of it, with a comma before each. */
static void put_figure(const char *name, const char *columns, const char *more)
{
    char text[4096];

    (void)snprintf(text, sizeof text,
                   "{\"cluster\": {\"nic\": {\"alpha\": \"1us\", \"bandwidth\": \"1GB/s\"}},\n"
                   " \"bytes\": 4000, \"sweep\": {\"cluster.ranks\": [2, 4]},\n"
                   " \"figure\": {\"title\": \"t\", \"runs\": {\"ring\": {\"algorithm\": "
                   "\"ring\"}},\n  \"columns\": [%s]%s}}\n",
                   columns, more);
    put_file(folder, name, text);
    put_file(folder, "f.gp", "  plot DATA using 'ranks':'ring_us'\n");
}

static cs_status compute_own(const char *name, cs_figure_data *data, cs_error *err)
{
    char path[128];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return compute_figure(path, data, err);
}

static void refuse(const char *place, const char *message)
{
    cs_figure_data data = {0};
    cs_error       err  = {0};
    char           text[800];

    cr_expect_neq(compute_own("f.json", &data, &err), CS_OK, "%s", message);
    cs_error_text(&err, text, sizeof text);
    cr_expect_not_null(strstr(text, place), "%s", text);
    cr_expect_not_null(strstr(text, message), "%s", text);
    cs_figure_data_free(&data);
}

Test(own_figures, a_path_is_drawn)
{
    cs_figure_data data = {0};
    cs_error       err  = {0};

    put_figure("f.json", "\"ranks\", \"ring_us = round(1e6 * ring.elapsed_s)\"", "");
    cr_assert_eq(compute_own("f.json", &data, &err), CS_OK, "%s: %s", err.where, err.message);
    cr_expect_str_eq(data.name, "f");
    cr_expect_str_eq(data.csv.data, "ranks,ring_us\n2,6\n4,12\n");
    cr_expect_eq(data.n_checks, 6, "each run: correct, closed form, bound");
    cr_expect_eq(data.n_failed, 0);
    cr_expect_not(data.skips_references);
    cr_expect_not_null(strstr(data.script.data, "DATA = 'f.csv'\n"));
    cr_expect_not_null(strstr(data.script.data, "plot DATA using 'ranks':'ring_us'\n"));
    cs_figure_data_free(&data);
}

Test(own_figures, names_of_its_own_tables_rows_and_runs)
{
    cs_figure_data data = {0};
    cs_error       err  = {0};

    put_figure("f.json",
               "\"row\", \"kind\", \"ranks\", \"ring_us = round(1e6 * ring.elapsed_s)\", "
               "\"late_us = round(1e6 * late.elapsed_s)\", \"half\", \"known = table(ranks)\"",
               ",\n  \"let\": {\"half\": \"= ranks / 2\", \"kind\": \"b\"},"
               "\n  \"tables\": {\"table\": {\"4\": 44}},"
               "\n  \"rows\": [{\"let\": {\"kind\": \"a\"}, \"set\": {\"cluster.ranks\": 8}}, {}],"
               "\n  \"runs\": {\"ring\": {\"algorithm\": \"ring\"}, \"late\": {\"algorithm\": "
               "\"ring\", \"when\": \"kind == 'b'\", \"arrivals.late\": [{\"rank\": \"= ranks - "
               "1\", \"delay\": \"= half * 1e-3\"}]}}");
    cr_assert_eq(compute_own("f.json", &data, &err), CS_EPARSE, "a key stands twice");
    put_file(folder, "f.json",
             "{\"cluster\": {\"nic\": {\"alpha\": \"1us\", \"bandwidth\": \"1GB/s\"}},\n"
             " \"bytes\": 4000, \"sweep\": {\"cluster.ranks\": [2, 4]},\n"
             " \"figure\": {\"title\": \"t\", \"let\": {\"half\": \"= ranks / 2\", \"kind\": "
             "\"b\"}, \"tables\": {\"table\": {\"4\": 44}},\n"
             "  \"rows\": [{\"let\": {\"kind\": \"a\"}, \"set\": {\"cluster.ranks\": 8}}, {}],\n"
             "  \"runs\": {\"ring\": {\"algorithm\": \"ring\"}, \"late\": {\"algorithm\": "
             "\"ring\", \"when\": \"kind == 'b'\", \"arrivals.late\": [{\"rank\": \"= ranks - 1\", "
             "\"delay\": \"= half * 1e-3\"}]}},\n"
             "  \"columns\": [\"row\", \"kind\", \"ranks\", \"ring_us = round(1e6 * "
             "ring.elapsed_s)\", \"late_us = round(1e6 * late.elapsed_s)\", \"half\", \"known = "
             "table(ranks)\"]}}\n");
    err = (cs_error){0};
    cr_assert_eq(compute_own("f.json", &data, &err), CS_OK, "%s: %s", err.where, err.message);
    cr_expect_str_eq(data.csv.data, "row,kind,ranks,ring_us,late_us,half,known\n"
                                    "1,a,8,21,,4,\n2,b,2,6,1006,1,\n3,b,4,12,2012,2,44\n");
    cs_figure_data_free(&data);
}

/* A coordinator that is told at 0, 12, 0 and 1000 ms starts at the first tick behind 0 with two of
 * four; a ring has none. */
static void put_figure_with_relays(void)
{
    put_file(
        folder, "f.json",
        "{\"cluster\": {\"ranks\": 4, \"nic\": {\"bandwidth\": \"12.5GB/s\"}}, \"bytes\": "
        "\"64MiB\",\n \"arrivals\": {\"late\": [{\"rank\": 1, \"delay\": \"12ms\"}, {\"rank\": "
        "3, \"delay\": \"1s\"}]},\n \"sweep\": {\"figure.let.worker\": [0, 1, 2, 3, 4]},\n "
        "\"figure\": {\"title\": \"t\", \"let\": {\"worker\": 0},\n  \"runs\": {\"relay\": "
        "{\"algorithm\": {\"name\": \"adapcc\", \"options\": {\"relay\": \"premium\"}}}, "
        "\"ring\": {\"algorithm\": \"ring\"}},\n  \"columns\": [\"worker\", \"start_ms = "
        "round(1e3 * relay.start_s)\", \"heard_ms = round(1e3 * relay.heard_s(worker))\", "
        "\"is = relay.is_relay(worker)\", \"none = first(ring.start_s, ring.heard_s(0), "
        "ring.is_relay(1), relay.is_relay(-1), relay.is_relay('a'))\"]}}\n");
    put_file(folder, "f.gp", "  plot DATA using 'worker':'start_ms'\n");
}

Test(own_figures, what_a_coordinator_decided)
{
    cs_figure_results *results = cs_figure_results_new();
    char               path[128];

    put_figure_with_relays();
    (void)snprintf(path, sizeof path, "%s/f.json", folder);
    for (int again = 0; again < 2; again++) {
        const cs_figure_request request = {.name = path, .results = results};
        cs_figure_data          data    = {0};
        cs_error                err     = {0};
        cr_assert_eq(cs_figure_compute(&request, &data, &err), CS_OK, "%s: %s", err.where,
                     err.message);
        cr_expect_str_eq(data.csv.data, "worker,start_ms,heard_ms,is,none\n0,5,0,0,\n1,5,12,1,\n"
                                        "2,5,0,0,\n3,5,1000,1,\n4,5,,,\n");
        cs_figure_data_free(&data);
    }
    cs_figure_results_free(results);
}

Test(own_figures, decisions_that_are_not_there)
{
    put_figure("f.json", "\"t = ring.is_rely(1)\"", "");
    refuse("figure.columns[0]", "ring.is_relay");
    put_figure("f.json", "\"t = rng.is_relay(1)\"", "");
    refuse("figure.columns[0]", "rng.is_relay");
}

/* 51 start-ups and 147.168 MB a round: one round of two servers, three of four. */
Test(own_figures, what_a_profile_takes)
{
    cs_figure_data data = {0};
    cs_error       err  = {0};

    put_figure("f.json", "\"ranks\", \"profile_us = round(1e6 * profile_s)\"", "");
    cr_assert_eq(compute_own("f.json", &data, &err), CS_OK, "%s: %s", err.where, err.message);
    cr_expect_str_eq(data.csv.data, "ranks,profile_us\n2,147219\n4,441657\n");
    cs_figure_data_free(&data);
}

Test(own_figures, one_like_another)
{
    cs_figure_data data = {0};
    cs_error       err  = {0};

    put_figure("f.json", "\"ranks\", \"ring_us = 1e6 * ring.elapsed_s\"",
               ", \"reference\": \"nowhere.json\"");
    put_file(folder, "g.json",
             "{\"cluster\": {\"nic\": {\"bandwidth\": \"2GB/s\"}}, \"sweep\": {\"cluster.ranks\": "
             "[8]},\n \"figure\": {\"like\": \"f\", \"title\": \"u\"}}\n");
    cr_assert_eq(compute_own("g.json", &data, &err), CS_OK, "%s: %s", err.where, err.message);
    cr_expect_str_eq(data.csv.data, "ranks,ring_us\n8,17.5\n");
    cr_expect_not_null(strstr(data.script.data, "# g: u\n"));
    cs_figure_data_free(&data);
    put_file(folder, "g.json", "{\"figure\": {\"like\": \"g\"}}\n");
    cr_expect_eq(compute_own("g.json", &data, &err), CS_EINVAL);
    cr_expect_not_null(strstr(err.message, "like one another"), "%s", err.message);
    cs_figure_data_free(&data);
}

/* Its script and its schedules are those beside that one; what a run is taken away for is not run.
 */
Test(own_figures, one_like_a_figure_of_the_folder)
{
    cs_figure_data data = {0};
    cs_error       err  = {0};

    put_file(folder, "g.json",
             "{\"figure\": {\"like\": \"parallel-rings-cif\", \"columns\": [\"row\", \"queued_ms = "
             "1e3 * queued.elapsed_s\", \"proposed_ms = 1e3 * proposed_s\"], \"values\": [], "
             "\"checks\": [], \"runs\": {\"shared\": null, \"shared_incast\": null}}}");
    cr_assert_eq(compute_own("g.json", &data, &err), CS_OK, "%s: %s", err.where, err.message);
    cr_expect_eq(data.n_failed, 0);
    cr_expect_not_null(strstr(data.script.data, "congestion impact factor"));
    expect_cell(&data, 0, "proposed_ms", 8e-3 + 64e6 / 13.6e6 + 2 * (4e-3 + 64e6 / 100e6));
    cs_figure_data_free(&data);
}

/* Delays are found where they are asked for alone, also of a scenario that another run has. */
Test(own_figures, delays_of_a_run)
{
    cs_figure_data data = {0};
    cs_error       err  = {0};

    put_file(
        folder, "f.json",
        "{\"bytes\": 12582912, \"cluster\": {\"ranks\": 4, \"nic\": {\"alpha\": \"3us\", "
        "\"bandwidth\": "
        "\"450GB/s\"}}, \"figure\": {\"title\": \"t\", \"columns\": [\"ranks\", \"none_us = 1e6 * "
        "plain.critical_delay_s\", \"critical_us = 1e6 * asked.critical_delay_s\", \"ideal_us = "
        "1e6 * "
        "asked.ideal_delay_s\"], \"runs\": {\"plain\": {\"algorithm\": \"stragglar\"}, \"asked\": "
        "{\"algorithm\": \"stragglar\", \"delays\": true}}}}");
    put_file(folder, "f.gp", "");
    cr_assert_eq(compute_own("f.json", &data, &err), CS_OK, "%s", err.message);
    double x_us = 12582912 / 450e3;
    cr_expect_eq(strncmp(strchr(data.csv.data, '\n'), "\n4,,", 4), 0, "%s", data.csv.data);
    expect_cell(&data, 0, "critical_us", x_us / 2);
    expect_cell(&data, 0, "ideal_us", 2 * (3 + x_us / 3));
    cs_figure_data_free(&data);
}

/* An optional run that is refused has no values; one that is not is an error. */
Test(own_figures, runs_that_are_refused)
{
    const char    *columns = "\"ranks\", \"t = other.elapsed_s\"";
    cs_figure_data data    = {0};
    cs_error       err     = {0};
    char           text[512];

    for (int is_optional = 0; is_optional < 2; is_optional++) {
        (void)snprintf(text, sizeof text,
                       "{\"bytes\": 4000, \"cluster\": {\"ranks\": 2}, \"figure\": {\"title\": "
                       "\"t\", \"columns\": [%s], \"runs\": {\"other\": {\"algorithm\": "
                       "\"ring\", \"collective\": \"alltoall\"%s}}}}",
                       columns, is_optional ? ", \"optional\": true" : "");
        put_file(folder, "f.json", text);
        put_file(folder, "f.gp", "");
        cs_status status = compute_own("f.json", &data, &err);
        if (is_optional) {
            cr_expect_eq(status, CS_OK, "%s", err.message);
            cr_expect_str_eq(data.csv.data, "ranks,t\n2,\n");
        } else {
            cr_expect(cs_status_is_refusal(status), "%s", cs_status_text(status));
            cr_expect_not_null(strstr(err.message, "run 'other' of row 1: "), "%s", err.message);
            err = (cs_error){0};
        }
        cs_figure_data_free(&data);
    }
}

Test(own_figures, what_is_wrong_with_a_file_is_said_with_its_place)
{
    static const struct {
        const char *columns, *more, *place, *message;
    } cases[] = {
        {"\"ranks\", \"x = rign.elapsed_s\"", "", "f.json:4:24: figure.columns[1]",
         "did you mean 'ring.elapsed_s'"},
        {"\"ranks\", \"x = 1 +\"", "", "figure.columns[1]", "is missing before 'the end'"},
        {"\"ranks\", \"x y\"", "", "figure.columns[1]", "NAME = EXPRESSION"},
        {"\"ranks\", \"ranks\"", "", "figure.columns[1]", "'ranks' is there already"},
        {"\"ranks\", \"x = maxx(1, 2)\"", "", "figure.columns[1]", "did you mean 'max'"},
        {"\"ranks\", \"x = t0(1)\"", "", "figure.columns[1]", "t0 takes 2 arguments, not 1"},
        {"\"ranks\", \"a\"", ", \"let\": {\"a\": \"= b\", \"b\": \"= a\"}", "figure.let.",
         "needs itself"},
        {"\"ranks\", \"a\"", ", \"let\": {\"a\": [1]}", "figure.let.a", "is an array"},
        {"\"ranks\"", ", \"titel\": \"x\"", "figure.titel", "did you mean 'title'"},
        {"\"ranks\"", ", \"checks\": [{\"what\": \"w\", \"value\": \"1\"}]", "figure.checks[0]",
         "either 'holds', or 'value' and 'is'"},
        {"\"ranks\"", ", \"checks\": [{\"what\": \"w\", \"holds\": \"rank > 1\"}]",
         "figure.checks[0]", "did you mean 'ranks'"},
        {"\"ranks\"", ", \"values\": [\"A = rank\"]", "figure.values[0]", "did you mean 'ranks'"},
        {"\"ranks\"", ", \"rows\": [{\"sweep\": {\"bytes\": \"sizes\"}}]", "figure.rows[0]",
         "no list 'sizes'"},
        {"\"ranks\"", ", \"rows\": [{\"swep\": {}}]", "figure.rows[0].swep",
         "did you mean 'sweep'"},
        {"\"ranks\"", ", \"let\": 3", "figure.let", "is a number: accepted is an object"},
        {"\"ranks\"", ", \"lists\": []", "figure.lists", "is an array: accepted is an object"},
        {"\"ranks\"", ", \"like\": 3", "figure.like", "is a number"},
        {"\"ranks\"", ", \"rows\": [{\"let\": 3}]", "figure.rows[0].let", "is a number"},
        {"\"ranks\"", ", \"trace\": \"nowhere\"", "", "a trace, whose calls are its rows"},
        {"\"ranks\"", ", \"gnuplot\": \"nowhere.gp\"", "nowhere.gp", "cannot be opened"},
        {"\"ranks\"", ", \"reference\": \"nowhere.json\"", "nowhere.json", "cannot be opened"},
        {"\"ranks\"", ", \"like\": \"stragglar-6d\"", "figure.like", "did you mean 'stragglar-6"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        put_figure("f.json", cases[i].columns, cases[i].more);
        refuse(cases[i].place, cases[i].message);
    }
    put_file(folder, "f.json",
             "{\"figure\": {\"title\": \"t\", \"columns\": [\"ranks\"], \"runs\":\n"
             "{\"a\": {\"algoritm\": \"ring\"}}}}");
    refuse("f.json:2:20: figure.runs.a.algoritm: ", "did you mean 'algorithm'");
    put_file(folder, "f.json",
             "{\"figure\": {\"title\": \"t\", \"columns\": [\"ranks\"], \"runs\":\n"
             "{\"a\": {\"cluster.ranks\": \"x\"}}}}");
    refuse("f.json:2:25: figure.runs.a[\"cluster.ranks\"]: ", "is the text 'x'");
    put_file(folder, "f.json",
             "{\"figure\": {\"title\": \"t\", \"columns\": [\"ranks\"], \"runs\": "
             "{\"a b\": {}}}}");
    refuse("figure.runs", "a name is made of letters");
    put_file(folder, "f.json", "{\"cluster\": {\"ranks\": 4}}");
    refuse("figure", "is missing");
}

Test(own_figures, without_a_script_it_is_said_which_one)
{
    cs_figure_data data = {0};
    cs_error       err  = {0};
    char           text[800];

    put_figure("f.json", "\"ranks\"", "");
    put_figure("h.json", "\"ranks\"", "");
    cr_expect_eq(compute_own("h.json", &data, &err), CS_EINVAL);
    cs_error_text(&err, text, sizeof text);
    cr_expect_not_null(strstr(text, "figure: names no script, and h.gp is not there"), "%s", text);
    cs_figure_data_free(&data);
}

Test(own_figures, names_and_folders_that_are_not_there)
{
    cs_figure_data data = {0};
    cs_error       err  = {0};

    cr_expect_eq(compute_figure("stragglar-6d", &data, &err), CS_ENOENT);
    cr_expect_not_null(strstr(err.message, "did you mean 'stragglar-"), "%s", err.message);
    err = (cs_error){0};
    cr_expect_eq(compute_own("none.json", &data, &err), CS_EIO);
    setenv("COLLSIM_FIGURES", folder, 1);
    cs_figure_entry *list = NULL;
    size_t           n    = 0;
    err                   = (cs_error){0};
    cr_expect_eq(cs_figure_list(&list, &n, &err), CS_EMISSING);
    cr_expect_str_eq(err.where, "COLLSIM_FIGURES");
    cs_figure_data_free(&data);
}

/* ---- references ---- */

/* The figure of two rings with this file of references: its number of failed checks, whose text
 * has `said`; or an error with it. */
static size_t failures(const char *reference, const char *said)
{
    cs_figure_data data = {0};
    cs_error       err  = {0};
    char           text[800];

    put_figure("f.json", "\"ranks\", \"ring_us = 1e6 * ring.elapsed_s\"",
               ", \"reference\": \"r.json\"");
    put_file(folder, "r.json", reference);
    cs_status status = compute_own("f.json", &data, &err);
    size_t    n      = status == CS_OK ? data.n_failed : 1000;
    cs_error_text(&err, text, sizeof text);
    const char *told = status != CS_OK ? text : data.n_failed > 0 ? data.checks.data : "";
    cr_expect_not_null(strstr(told, said), "%s", told);
    cs_figure_data_free(&data);
    return n;
}

#define TABLE(rows, tolerance)                                                \
    "{\"source\": \"s\", \"tables\": [{\"match\": [\"ranks\"], \"columns\": " \
    "[\"ring_us\", \"ring_us / ranks\"], " tolerance ", \"rows\": [" rows "]}]}"

Test(own_figures, references_are_compared_row_by_row)
{
    cr_expect_eq(failures(TABLE("[2, 6, 3], [4, 12, \"6/2\"]", "\"relative\": 1e-9"), ""), 0);
    cr_expect_eq(failures(TABLE("[2, 6, null]", "\"relative\": 1e-9"), ""), 0);
    cr_expect_eq(failures(TABLE("[2, 6.00001, 3]", "\"relative\": 1e-9"),
                          "ring_us in row 1 (ranks = 2): got 6, want 6.00001"),
                 1);
    cr_expect_eq(failures(TABLE("[2, 6.4, 3.4]", "\"absolute\": 0.5"), ""), 0);
    cr_expect_eq(failures(TABLE("[2, 6.4, 3.6]", "\"absolute\": 0.5"), "ring_us / ranks"), 1);
    cr_expect_eq(
        failures(TABLE("[3, 6, 3]", "\"relative\": 1e-9"), "there is a row with ranks = 3"), 1);
    cr_expect_eq(failures("{\"source\": \"s\", \"tables\": [{\"what\": \"ring\", \"given\": "
                          "[\"p\"], \"columns\": [\"t0(p, 1)\"], \"relative\": 1e-12, \"rows\": "
                          "[[4, \"3/2\"], [8, \"7/4\"], [8, 1]]}]}",
                          "ring, t0(p, 1): got 1.75, want 1"),
                 1);
}

Test(own_figures, rules_of_references)
{
    cr_expect_eq(failures("{\"source\": \"s\", \"checks\": [{\"what\": \"six steps\", \"where\": "
                          "\"ranks == 4\", \"value\": \"ring.rounds\", \"is\": \"6\"}]}",
                          ""),
                 0);
    cr_expect_eq(failures("{\"source\": \"s\", \"checks\": [{\"what\": \"fast\", \"holds\": "
                          "\"ring_us < 7\"}]}",
                          "fast in row 2 (ranks = 4): does not hold\n    ring_us = 12\n"),
                 1);
    cr_expect_eq(failures("{\"source\": \"s\", \"checks\": [{\"what\": \"large\", \"where\": "
                          "\"ranks > 4\", \"holds\": \"1\"}]}",
                          "it applies to no row"),
                 1);
}

Test(own_figures, references_that_are_wrong_are_errors_with_a_place)
{
    cr_expect_eq(failures("{\"source\": \"s\", \"tables\": [{\"match\": [\"ranks\"], \"columns\": "
                          "[\"rign_us\"], \"rows\": [[2, 6]]}]}",
                          "r.json:1:61: tables[0].columns[0]: unknown name 'rign_us', did you mean "
                          "'ring_us'?"),
                 1000);
    cr_expect_eq(
        failures(TABLE("[2, 6]", "\"relative\": 1e-9"), "as many cells as there are names"), 1000);
    cr_expect_eq(failures(TABLE("[2, 6, [3]]", "\"relative\": 1e-9"), "accepted is a number"),
                 1000);
    cr_expect_eq(failures(TABLE("[2, 6, \"1/\"]", "\"relative\": 1e-9"), "is missing before"),
                 1000);
    cr_expect_eq(failures("{\"tables\": []}", "is missing"), 1000);
    cr_expect_eq(failures("{\"source\": \"s\", \"table\": []}", "did you mean 'tables'"), 1000);
    cr_expect_eq(failures("[", "not JSON"), 1000);
}

/* Change each number of a row of references in its sixth digit: exactly one check must fail. */
Test(own_figures, a_wrong_digit_of_a_reference_is_noticed)
{
    static const char *const row[]   = {"4.21766", "4.19366", "3.09483", "5.15806", "7.16728"};
    const char *const        columns = "\"ring_ms\", \"rhd_ms\", \"stragglar_best_ms\", "
                                       "\"stragglar_worst_ms\", \"broadcast_best_ms\"";

    put_file(folder, "g.json",
             "{\"figure\": {\"like\": \"stragglar-6c\", \"reference\": \"r.json\"}, \"sweep\": "
             "{\"cluster.ranks\": [8]}}");
    for (size_t wrong = 0; wrong <= 5; wrong++) {
        cs_figure_data data = {0};
        cs_error       err  = {0};
        char           text[1024], cells[256] = "8";
        for (size_t i = 0; i < 5; i++) {
            double value = strtod(row[i], NULL) * (i == wrong ? 1 + 1.2e-5 : 1);
            (void)snprintf(cells + strlen(cells), sizeof cells - strlen(cells), ", %.17g", value);
        }
        (void)snprintf(text, sizeof text,
                       "{\"source\": \"s\", \"tables\": [{\"match\": [\"ranks\"], \"columns\": "
                       "[%s], \"relative\": 5e-6, \"rows\": [[%s]]}]}",
                       columns, cells);
        put_file(folder, "r.json", text);
        cr_assert_eq(compute_own("g.json", &data, &err), CS_OK, "%s: %s", err.where, err.message);
        cr_expect_eq(data.n_failed, wrong < 5 ? 1 : 0, "%zu: %s", wrong,
                     data.n_failed > 0 ? data.checks.data : "");
        cs_figure_data_free(&data);
    }
}

/* ---- one colour, dash and mark for an algorithm ---- */

/* Every script knows the look of every algorithm, as the table has it. */
Test(figures, scripts_know_the_look_of_every_algorithm)
{
    cs_figure_data data = {0};
    cs_error       err  = {0};

    cr_assert_eq(compute_figure(small_figure, &data, &err), CS_OK, "%s", err.message);
    for (size_t i = 0; cs_algorithms[i] != NULL; i++) {
        const cs_look *look = cs_look_of(cs_algorithms[i]->name);
        char           text[200];
        (void)snprintf(text, sizeof text, "\ncol_%s = 0x%06X; ls_%s = ", cs_algorithms[i]->name,
                       (unsigned)look->light, cs_algorithms[i]->name);
        cr_expect_not_null(strstr(data.script.data, text), "%s", text);
        (void)snprintf(text, sizeof text, " lc rgb col_%s lw ", cs_algorithms[i]->name);
        const char *style = strstr(data.script.data, text);
        cr_assert_not_null(style, "%s", text);
        (void)snprintf(text, sizeof text,
                       look->dash[0] != '\0' ? " dt (%s) pt %d " : " dt 1%s pt %d ", look->dash,
                       look->point);
        const char *found = strstr(style, text);
        cr_expect(found != NULL && found < strchr(style, '\n'), "%s:%s", cs_algorithms[i]->name,
                  text);
    }
    cs_figure_data_free(&data);
}

/* A colour of an algorithm as a number of its own, or a line style by its number. */
static bool has_look_of_its_own(const char *script)
{
    for (const char *at = script; *at != '\0'; at++) {
        bool     is_number = strncmp(at, "0x", 2) == 0, is_style = strncmp(at, " ls ", 4) == 0;
        char    *end   = NULL;
        unsigned value = (unsigned)strtoul(at + (is_number ? 2 : 1), &end, 16);
        if (is_style && at[4] >= '0' && at[4] <= '9') {
            return true;
        }
        for (size_t i = 0; (is_number || *at == '#') && cs_looks[i].algorithm != NULL; i++) {
            if (value == cs_looks[i].light || value == cs_looks[i].dark) {
                return true;
            }
        }
    }
    return false;
}

/* What algorithms look like stands in the table alone. */
Test(figures, scripts_have_no_colours_of_algorithms_of_their_own)
{
    DIR *dir = opendir(FIGURES);
    int  n   = 0;

    cr_assert(has_look_of_its_own("lc rgb '#0072B2'") && has_look_of_its_own("plot 1 ls 3"));
    cr_assert_not(has_look_of_its_own("lc rgb '#E4E4E4' ls ls_ring"));
    cr_assert_not_null(dir);
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        size_t length = strlen(entry->d_name);
        char   path[512], *text = NULL;
        if (length > 3 && strcmp(entry->d_name + length - 3, ".gp") == 0) {
            (void)snprintf(path, sizeof path, "%s/%s", FIGURES, entry->d_name);
            cr_assert_eq(cs_file_read(path, 1 << 20, &text, &length, NULL), CS_OK);
            cr_expect_not(has_look_of_its_own(text), "%s", path);
            cs_free(text);
            n++;
        }
    }
    closedir(dir);
    cr_expect_gt(n, 30);
}

/* ---- memory ---- */

/* Wherever memory runs out, the figure says so and leaves nothing behind. */
static void run_out_of_memory(const char *name)
{
    cs_status status = CS_ENOMEM;

    for (long passes = 0; status == CS_ENOMEM && passes < 1000000; passes += 1 + passes / 8) {
        cs_figure_data data = {0};
        cs_error       err  = {0};
        cs_alloc_fail_after(passes);
        status = compute_figure(name, &data, &err);
        cs_alloc_fail_after(-1);
        cr_assert(status == CS_OK || status == CS_ENOMEM, "passes %ld: %s: %s", passes, err.where,
                  err.message);
        cs_figure_data_free(&data);
    }
    cr_assert_eq(status, CS_OK);
}

Test(figures, out_of_memory_is_an_error)
{
    run_out_of_memory(small_figure);
    run_out_of_memory("stragglar-2a");
    run_out_of_memory("parallel-rings-cif");
}

Test(own_figures, out_of_memory_for_decisions)
{
    char path[128];

    put_figure_with_relays();
    (void)snprintf(path, sizeof path, "%s/f.json", folder);
    run_out_of_memory(path);
}

Test(figures, out_of_memory_for_the_list)
{
    cs_status status = CS_ENOMEM;

    for (long passes = 0; status == CS_ENOMEM && passes < 100000; passes += 1 + passes / 8) {
        cs_figure_entry *list = NULL;
        size_t           n    = 0;
        cs_alloc_fail_after(passes);
        status = cs_figure_list(&list, &n, NULL);
        cs_alloc_fail_after(-1);
        if (status == CS_OK) {
            cs_figure_list_free(list, n);
        }
    }
    cr_assert_eq(status, CS_OK);
}
