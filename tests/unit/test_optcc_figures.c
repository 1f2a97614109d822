/* SPDX-License-Identifier: GPL-3.0-or-later */
/* OptCC's figures: the rows of the table notice a wrong reference, closed forms have the values of
 * hand-worked cases, and the paper's formulas those of its own statements. */
#include "figures/optcc_point.h"
#include "figures/optcc_table.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t failures(double time)
{
    cs_optcc_row   row  = {"one slow", 5, 1, 1, {2}, "4", "0", "off", time, 0};
    cs_figure_data data = {0};
    cs_error       err  = {0};

    cr_assert_eq(cs_optcc_add_row(&data, 1, &row, &err), CS_OK, "%s", err.message);
    cr_assert_eq(data.n_checks, 4);
    size_t failed = data.n_failed;
    cs_figure_free(&data);
    return failed;
}

Test(optcc_figures, a_wrong_reference_is_noticed)
{
    cr_assert_eq(failures(32.0 / 12), 0);
    cr_assert_eq(failures(31.0 / 12), 1);
    cr_assert_eq(failures(32.0 / 12 * (1 + 1e-8)), 1);
}

/* Units of a section. */
typedef struct known {
    uint32_t servers, gpus, n_slow;
    double   slow[4];
    uint32_t rounds, ramp;
    bool     has_bubbles, is_exact;
    double   alpha_sections, sections, formula_sections, paper_sections;
} known;

/* From the statements by hand: l (N+1) + 2 (p-2); with alpha 1 added to each flow; 2 M + 2 H (l-1)
 * + 2 - l; tau (N+H+1) / H + sum l; single + 2. The paper: l (N+p-1); (N/H + 4) max(2 (p-1), l H +
 * 2 (m-1)); bodies of 2 (q-1), N / (q-1) + 5.5 of them. */
static const known cases[] = {
    {5, 1, 1, {2}, 4, 0, false, true, 0, 12, 32, 32},
    {5, 1, 1, {2}, 4, 0, false, true, 1, 12, 48, 32},
    {8, 1, 1, {3}, 4, 0, false, true, 0, 24, 87, 93},
    {5, 1, 1, {1.5}, 8, 0, false, true, 0, 23, 48 + 4 + 0.5, (double)NAN},
    {7, 1, 2, {2, 2}, 3, 0, false, false, 0, 10, 12 * 16 / 5.0 + 4, 6 * 12},
    {5, 4, 1, {2}, 8, 0, false, true, 0, 23, 58, 90},
};

Test(optcc_figures, closed_forms_by_hand)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const known  *k    = &cases[i];
        cs_optcc_form form = {k->servers, k->gpus, k->n_slow,      k->slow,
                              k->rounds,  k->ramp, k->has_bubbles, 0};
        bool          is_exact;

        cr_assert_float_eq(cs_optcc_sections(&form), k->sections, 1e-12, "case %zu", i);
        form.alpha = k->alpha_sections / k->sections;
        cr_assert_float_eq(cs_optcc_formula(&form, &is_exact) * k->sections, k->formula_sections,
                           1e-9, "case %zu: %g", i,
                           cs_optcc_formula(&form, &is_exact) * k->sections);
        cr_assert_eq(is_exact, k->is_exact, "case %zu", i);
        if (!isnan(k->paper_sections)) {
            cr_assert_float_eq(cs_optcc_paper(&form) * k->sections, k->paper_sections, 1e-9,
                               "case %zu", i);
        }
    }
}

/* p = 64, l = 4/3, R = 8, as printed with four decimals. */
Test(optcc_figures, ramp_bubbles_and_paper_for_few_rounds)
{
    double        slow[] = {4.0 / 3};
    cs_optcc_form form   = {.servers = 64, .gpus = 1, .n_slow = 1, .slow = slow, .rounds = 8};
    bool          is_exact;

    form.has_bubbles = true;
    cr_assert_float_eq(cs_optcc_formula(&form, &is_exact), 2.0756, 5e-5);
    cr_assert(is_exact);
    cr_assert_float_eq(cs_optcc_paper(&form), 2.0684, 5e-5);
    cr_assert_float_eq(cs_optcc_limit(&form), 1.9843, 5e-5);
    form.ramp = 2;
    cr_assert_geq(cs_optcc_formula(&form, &is_exact), 2.0142);
    cr_assert_leq(cs_optcc_formula(&form, &is_exact), 2.0142 * 1.01);
    cr_assert_not(is_exact);
}

/* Figures 10 and 20 are left to the test of all figures: here only that a picture has all panels
 * and every check passes. */
Test(optcc_figures, two_slow_servers_large_buffers)
{
    const cs_figure *figure = NULL;
    cs_figure_data   data   = {0};
    cs_error         err    = {0};

    cr_assert_eq(cs_figure_find("optcc-21", &figure, &err), CS_OK);
    cr_assert_eq(figure->compute(&data, &err), CS_OK, "%s", err.message);
    cr_assert_eq(data.n_failed, 0, "%s", data.checks.data);
    cr_assert_geq(data.n_checks, 200);
    cr_assert_not_null(strstr(data.gnuplot.data, "set title 'c) "));
    cr_assert_not_null(strstr(data.csv.data, "\na,alpha-beta,8,1,2,2,1.5,8,"));
    cs_figure_free(&data);
}

/* Milliseconds in the column `name` of the row that begins with `row`. */
static double cell(const cs_figure_data *data, const char *row, const char *name)
{
    const char *header = data->csv.data, *column = strstr(header, name);
    char        start[128];

    (void)snprintf(start, sizeof start, "\n%s,", row);
    const char *field = strstr(data->csv.data, start);
    cr_assert_not_null(column, "%s", name);
    cr_assert_not_null(field, "no row %s", row);
    for (field++; header < column; header++) {
        if (*header == ',') {
            field = strchr(field, ',') + 1;
        }
    }
    return strtod(field, NULL);
}

/* l = 2, 1 GiB: what another program finds to be the best, in per cent above the fault-free ring.
 */
static const struct {
    uint32_t ranks;
    double   best_percent;
} interleaved[] = {{16, 6.7}, {32, 3.4}, {64, 1.9}, {128, 1.6}, {256, 1.7}};

Test(optcc_figures, loggp_stands_beside_alpha_beta)
{
    const cs_figure *figure = NULL;
    cs_figure_data   data   = {0};
    cs_error         err    = {0};

    cr_assert_eq(cs_figure_find("optcc-8", &figure, &err), CS_OK);
    cr_assert_eq(figure->compute(&data, &err), CS_OK, "%s", err.message);
    cr_assert_eq(data.n_failed, 0, "%s", data.checks.data);
    for (size_t i = 0; i < sizeof interleaved / sizeof interleaved[0]; i++) {
        char loggp[64], alpha_beta[64];
        (void)snprintf(loggp, sizeof loggp, "c,loggp,%u,1,1,2,,1", interleaved[i].ranks);
        (void)snprintf(alpha_beta, sizeof alpha_beta, "c,alpha-beta,%u,1,1,2,,1",
                       interleaved[i].ranks);
        double time_ms = cell(&data, loggp, "optcc_ms");
        double percent = 100 * (time_ms / cell(&data, loggp, "fault_free_ms") - 1);
        cr_expect_geq(percent, interleaved[i].best_percent - 0.5, "%s: %g %%", loggp, percent);
        cr_expect_leq(percent, interleaved[i].best_percent + 0.6, "%s: %g %%", loggp, percent);
        cr_expect_lt(time_ms, cell(&data, alpha_beta, "optcc_ms"), "%s", loggp);
        cr_expect_gt(cell(&data, loggp, "optcc_copies"), 1, "%s", loggp);
        cr_expect_eq(cell(&data, alpha_beta, "optcc_copies"), 1, "%s", alpha_beta);
    }
    cr_assert_not_null(strstr(data.gnuplot.data, "(at('c','loggp','ranks')):(column('optcc_ms'))"));
    cr_assert_not_null(strstr(data.gnuplot.data, "title 'OptCC, LogGP'"));
    cs_figure_free(&data);
}

/* The schedule that `auto` takes on one model, replayed on LogGP. */
static double on_loggp(cs_figure_data *data, cs_optcc_point point, const char *chosen_on)
{
    const char *keys[CS_OPTCC_OPTIONS] = {"sections", "ramp", "bubbles", "copies"};
    char        values[CS_OPTCC_OPTIONS][64];
    cs_result   result;
    cs_error    err = {0};

    point.model = chosen_on;
    cr_assert_eq(cs_optcc_replay(data, &point, &result, &err), CS_OK, "%s", err.message);
    cr_assert(cs_optcc_is(&result, "chosen", "optcc"));
    for (size_t i = 0; i < CS_OPTCC_OPTIONS; i++) {
        (void)cs_field_text(cs_field_find(result.option_table, keys[i]), &result.options, values[i],
                            sizeof values[i]);
        point.options[i].key   = keys[i];
        point.options[i].value = values[i];
    }
    point.model = "loggp";
    cr_assert_eq(cs_optcc_replay(data, &point, &result, &err), CS_OK, "%s", err.message);
    return result.elapsed_s;
}

Test(optcc_figures, what_auto_takes_on_loggp_is_never_slower_than_what_it_takes_on_alpha_beta)
{
    const double ratios[] = {8. / 7, 4. / 3, 2, 4};

    for (uint32_t servers = 8; servers <= 64; servers *= 2) {
        for (size_t i = 0; i < sizeof ratios / sizeof ratios[0]; i++) {
            cs_figure_data data    = {0};
            cs_optcc_point point   = {.algorithm = "optcc",
                                      .machine   = {3e-6, 25e9, 1e-6, 300e9},
                                      .servers   = servers,
                                      .gpus      = 1,
                                      .bytes     = UINT64_C(1) << 30,
                                      .n_slow    = 1,
                                      .slow      = {ratios[i]}};
            double         own_s   = on_loggp(&data, point, "loggp");
            double         other_s = on_loggp(&data, point, "alpha-beta");
            cr_expect_leq(own_s, other_s, "%u servers, l = %g: %g s, %g s", servers, ratios[i],
                          own_s, other_s);
            cr_expect_eq(data.n_failed, 0, "%s", data.checks.data);
            cs_figure_free(&data);
        }
    }
}
