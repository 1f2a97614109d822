/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figures: every one computes, passes all its checks and is complete; a wrong number is
 * noticed; memory that runs out is an error. */
#include "base/alloc.h"
#include "figure_setup.h"
#include "figures/times.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    {"optcc-8", 70, 940},
    {"optcc-9", 70, 740},
    {"optcc-10", 66, 720},
    {"optcc-20", 42, 550},
    {"optcc-21", 42, 440},
    {"optcc-22", 38, 410},
    {"optcc-table", 32, 128},
    {"parallel-rings-4", 8, 128},
    {"parallel-rings-cif", 7, 68},
    {"parallel-rings-7", 24, 450},
};

enum { N_WANTED = sizeof wanted / sizeof wanted[0] };

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
