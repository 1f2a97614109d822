/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Quantiles of the exposed time in the rows of many iterations: the order statistics of the
 * samples, in JSON and in files, not in CSV. */
#include "base/statistics.h"
#include "input/tree.h"
#include "montecarlo_setup.h"
#include "support/query.h"

#include <stdlib.h>

TestSuite(montecarlo_quantiles, .init = set_up, .fini = tear_down);

static int ascending(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Hyndman and Fan's type 7, written out. */
static double type_7(const double *sorted, size_t n, double q)
{
    double at    = q * (double)(n - 1);
    size_t below = (size_t)at, above = below + 1 < n ? below + 1 : below;

    return sorted[below] + (at - (double)below) * (sorted[above] - sorted[below]);
}

/* The numbers of row `index` of a JSON text; their array, which the caller releases. */
static json_t *row_of(const cs_text *text, size_t index)
{
    json_t  *rows = NULL, *row;
    cs_error err  = {0};

    cr_assert_eq(cs_tree_parse_array(text->data, text->length, "rows", &rows, &err), CS_OK, "%s",
                 err.message);
    row = json_incref(json_array_get(rows, index));
    json_decref(rows);
    return row;
}

static double value_at(const json_t *row, const char *key)
{
    return json_number_value(json_object_get(row, key));
}

static void expect_quantiles(const json_t *row, const cs_samples *samples)
{
    const json_t *list   = json_object_get(row, "exposed_quantiles_s");
    double       *sorted = calloc(samples->n, sizeof *sorted), last = 0;

    memcpy(sorted, samples->exposed_s, samples->n * sizeof *sorted);
    qsort(sorted, samples->n, sizeof *sorted, ascending);
    cr_assert_eq(json_array_size(list), 101);
    for (size_t k = 0; k <= 100; k++) {
        double got  = json_number_value(json_array_get(list, k));
        double want = type_7(sorted, samples->n, (double)k / 100);
        cr_expect_float_eq(got, want, 1e-12 * want, "%zu %%: %.17g, not %.17g", k, got, want);
        cr_expect_geq(got, last * (1 - 1e-15)); /* but for what interpolation rounds */
        last = got;
    }
    cr_expect_eq(json_number_value(json_array_get(list, 0)), value_at(row, "exposed_min_s"));
    cr_expect_eq(json_number_value(json_array_get(list, 50)), value_at(row, "exposed_p50_s"));
    cr_expect_eq(json_number_value(json_array_get(list, 95)), value_at(row, "exposed_p95_s"));
    cr_expect_eq(json_number_value(json_array_get(list, 99)), value_at(row, "exposed_p99_s"));
    cr_expect_eq(json_number_value(json_array_get(list, 100)), value_at(row, "exposed_max_s"));
    free(sorted);
}

/* Independent iterations, and such as have memory, whose intervals come from groups. */
Test(montecarlo_quantiles, are_the_order_statistics_of_the_samples)
{
    for (int has_memory = 0; has_memory < 2; has_memory++) {
        cs_config            *config  = random_config();
        cs_montecarlo_options options = options_of(1234, 2);
        if (has_memory) {
            ct_set(config, "arrivals.straggler.correlation", "0.5");
        }
        cs_text text = json_of_run(config, &options);
        for (size_t i = 0; i < 5; i++) {
            cs_case    c       = ct_case(config, i);
            cs_samples samples = samples_of(&c, 1234, false);
            json_t    *row     = row_of(&text, i);
            cr_assert_eq(samples.n_groups > 0, has_memory);
            expect_quantiles(row, &samples);
            json_decref(row);
            cs_samples_free(&samples);
            cs_case_free(&c);
        }
        cs_text_free(&text);
        cs_config_free(config);
    }
}

Test(montecarlo_quantiles, of_one_iteration_are_all_the_same)
{
    cs_config            *config  = base_config("ring");
    cs_montecarlo_options options = options_of(1000, 1);
    cs_text               text    = json_of_run(config, &options);
    json_t               *row     = row_of(&text, 0), *node;
    size_t                k;

    json_array_foreach(json_object_get(row, "exposed_quantiles_s"), k, node)
    {
        cr_expect_eq(json_number_value(node), value_at(row, "exposed_mean_s"));
    }
    cr_expect_eq(k, 101);
    json_decref(row);
    cs_text_free(&text);
    cs_config_free(config);
}

/* What could not be run has none; a table for machines has no lists. */
Test(montecarlo_quantiles, are_null_or_left_out)
{
    cs_config            *config  = base_config("stragglar");
    cs_montecarlo_options options = options_of(100, 1);

    ct_set(config, "arrivals", RANDOM_ARRIVALS);
    ct_set(config, "algorithm.options.straggler", "9");
    cs_montecarlo_report report = run(config, &options);
    cs_text              text = json_of(&report), csv = {0};
    json_t              *row = row_of(&text, 0);
    cr_expect_neq(report.rows[0].error[0], '\0');
    cr_expect(json_is_null(json_object_get(row, "exposed_quantiles_s")));
    cs_montecarlo_csv(&csv, report.rows, report.n_rows, &report.swept);
    cr_expect_null(strstr(csv.data, "quantiles"));
    json_decref(row);
    cs_text_free(&text);
    cs_text_free(&csv);
    cs_montecarlo_report_free(&report);
    cs_config_free(config);
}

/* A file has them as text, and gives them back. */
Test(montecarlo_quantiles, are_in_files)
{
    cs_config            *config  = random_config();
    cs_montecarlo_options options = options_of(300, 2);
    cs_text               want    = json_of_run(config, &options);

    options.path = path;
    for (int pass = 0; pass < 2; pass++) {
        cs_montecarlo_report report = run(config, &options);
        cs_text              got    = json_of(&report);
        cr_expect_eq(report.count.done_before, pass == 0 ? 0 : 5);
        cr_expect_str_eq(got.data, want.data);
        cr_expect_not_null(report.rows[0].quantiles_s);
        cs_text stored =
            ct_query(path, "SELECT exposed_quantiles_s FROM montecarlo WHERE algorithm = 'ring'");
        cr_expect_eq(
            strncmp(stored.data, report.rows[0].quantiles_s, strlen(report.rows[0].quantiles_s)), 0,
            "%s", stored.data);
        cs_text_free(&stored);
        cs_text_free(&got);
        cs_montecarlo_report_free(&report);
    }
    options.n_quantiles         = 11; /* other rows */
    cs_montecarlo_report report = run(config, &options);
    cr_expect_eq(report.count.done_before, 0);
    cs_montecarlo_report_free(&report);
    cs_text_free(&want);
    cs_config_free(config);
}

Test(montecarlo_quantiles, one_is_refused)
{
    cs_config            *config  = random_config();
    cs_montecarlo_options options = options_of(300, 1);
    cs_montecarlo_report  report  = {0};
    cs_error              err     = {0};

    options.n_quantiles = 1;
    cr_expect_eq(cs_montecarlo_run(config, &options, &report, &err), CS_EINVAL);
    cr_expect_not_null(strstr(err.message, "2 and more"));
    cs_config_free(config);
}

/* All algorithms with the first size; the rows are those of the whole run. */
Test(montecarlo_quantiles, the_first_setting_alone)
{
    cs_config            *config  = random_config();
    cs_montecarlo_options options = options_of(200, 1);

    ct_set(config, "sweep.bytes", "[1000, 2000]");
    cs_montecarlo_report all  = run(config, &options);
    options.is_first_setting  = true;
    cs_montecarlo_report some = run(config, &options);
    cr_assert_eq(all.n_rows, 10);
    cr_assert_eq(some.n_rows, 5);
    cr_expect_eq(some.n_repeats, 5);
    for (size_t i = 0, k = 0; i < all.n_rows; i++) {
        if (all.rows[i].bytes == 1000) {
            cr_expect_str_eq(some.rows[k].scenario, all.rows[i].scenario);
            cr_expect_str_eq(some.rows[k].quantiles_s, all.rows[i].quantiles_s);
            cr_expect_eq(some.rows[k].win_ratio > 0, all.rows[i].win_ratio > 0);
            k++;
        }
    }
    cs_montecarlo_report_free(&all);
    cs_montecarlo_report_free(&some);
    cs_config_free(config);
}
