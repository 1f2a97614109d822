/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers of the figures by hand: the papers' formulas and tables, written out here once more. */
#include "figure_setup.h"

#include <math.h>

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

static void compute(const char *name, cs_figure_data *data)
{
    cs_error err = {0};

    cr_assert_eq(compute_figure(name, data, &err), CS_OK, "%s: %s", err.where, err.message);
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
Test(figure_numbers, measured_numbers_by_hand)
{
    const double   x_ms = (5.53 - 3e-3) / (1.0 / 7 + 1.0 / 4), a100_ms = 7.567 / (11.0 / 28);
    cs_figure_data data = {0};

    compute("stragglar-5c-measured", &data);
    expect_value(&data, "0", "ring_ms", 14 * 3e-3 + 1.75 * x_ms);
    expect_value(&data, "30", "stragglar_ms", 30 + 9 * (3e-3 + x_ms / 7));
    cs_figure_data_free(&data);
    compute("stragglar-6a", &data);
    expect_value(&data, "4096", "implied_ms", 6 * (3e-3 + x_ms / 7));
    expect_value(&data, "1024", "nominal_ms", 6 * (3e-3 + 1e3 * 1073741824 / 450e9 / 7));
    cs_figure_data_free(&data);
    compute("stragglar-5de", &data);
    expect_value(&data, "1024", "stragglar_delayed_gb_per_s",
                 1.073741824 / (9 * (3e-6 + a100_ms / 4e3 / 7)));
    expect_value(&data, "4096", "ring_gb_per_s", 4.294967296 / (14 * 3e-6 + 1.75e-3 * a100_ms));
    cs_figure_data_free(&data);
    compute("stragglar-10ab", &data);
    expect_value(&data, "512", "stragglar_delayed_gb_per_s",
                 0.536870912 / (4 * (3e-6 + a100_ms / 8e3)));
    expect_value(&data, "1024", "ring_gb_per_s",
                 1.073741824 / (6 * 3e-6 + 1.5e-3 * a100_ms / 4 * 3));
    cs_figure_data_free(&data);
    compute("stragglar-10c", &data);
    expect_value(&data, "0", "ring_ms", 6 * 3e-3 + 1.5 * a100_ms / 4 * 3);
    cs_figure_data_free(&data);
}

/* BERT-large: 24 buckets of 50,384,896 bytes and one of 131,330,048; table 2: 8 x 24 h. */
Test(figure_numbers, training_numbers_by_hand)
{
    const double   compute_ms = 6 * 335141888.0 * 1024 / 395.6e9;
    const double   x_ms = 50384896 / 450e6, y_ms = 131330048 / 450e6;
    const double   call_ms = 1e3 * 1073741824 / 300e9;
    cs_figure_data data    = {0};

    compute("stragglar-13", &data);
    expect_value(&data, "0,8", "ring_ms", compute_ms + 25 * 14 * 3e-3 + 1.75 * (24 * x_ms + y_ms));
    expect_value(&data, "1,64", "stragglar_ms",
                 compute_ms + 25 + 25 * 68 * 3e-3 + 68.0 / 63 * (24 * x_ms + y_ms));
    cs_figure_data_free(&data);
    compute("stragglar-table2", &data);
    expect_value(&data, "1,90", "gpu_hours_per_day", 9.12);
    expect_value(&data, "1,100", "saved_ms", 5 * 3e-3 + (1.75 - 9.0 / 7) * call_ms);
    double saved = 0.9 * 6 * (3e-3 + call_ms / 7) - (3e-3 + 11.0 / 28 * call_ms);
    expect_value(&data, "1,90", "implied_exposed_percent",
                 4.75 / (saved / (14 * 3e-3 + 1.75 * call_ms)));
    cs_figure_data_free(&data);
    compute("stragglar-2a", &data);
    expect_value(&data, "100", "delay_ms", 4.566);
    expect_value(&data, "0.5", "straggler_delay_ms", -4.367);
    cs_figure_data_free(&data);
}

/* Some numbers of the CSVs against the papers' formulas, written out here once more. */
Test(figure_numbers, numbers_by_hand)
{
    const double   x_ms = 1e3 * 1073741824 / 450e9, alpha_ms = 3e-3;
    cs_figure_data data = {0};

    compute("stragglar-6c", &data);
    double ring = 510 * alpha_ms + 510.0 / 256 * x_ms, best = 262 * (alpha_ms + x_ms / 255);
    cr_assert_float_eq(value_at(&data, "256", "ring_ms"), ring, 1e-9 * ring);
    cr_assert_float_eq(value_at(&data, "256", "stragglar_best_ms"), best, 1e-9 * best);
    cr_assert_float_eq(value_at(&data, "256", "stragglar_best_speedup_over_ring"), 1.94081, 5e-6);
    cs_figure_data_free(&data);

    compute("stragglar-5c", &data);
    double step = alpha_ms + 4 * x_ms / 7;
    cr_assert_float_eq(value_at(&data, "0", "stragglar_ms"), 15 * step, 1e-8);
    cr_assert_float_eq(value_at(&data, "20", "stragglar_ms"), 20 + 9 * step, 1e-8);
    cs_figure_data_free(&data);

    compute("stragglar-rounds", &data);
    cr_assert_eq(value_at(&data, "1024", "replayed_rounds"), 1032);
    cr_assert_eq(value_at(&data, "192", "published_rounds_over_bound"), 10);
    cs_figure_data_free(&data);
}
