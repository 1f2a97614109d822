/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The data of a figure: comparisons that are counted, and how it is freed. */
#include "figures/figures.h"

#include <math.h>

void cs_figure_check(cs_figure_data *data, const char *what, double got, double want,
                     double tolerance)
{
    data->n_checks++;
    if (got == want || fabs(got - want) <= tolerance * fabs(want)) {
        return;
    }
    data->n_failed++;
    cs_text_add(&data->checks, "%s: got %.12g, want %.12g (relative tolerance %.3g)\n", what, got,
                want, tolerance);
}

void cs_figure_expect(cs_figure_data *data, const char *what, bool holds)
{
    data->n_checks++;
    if (!holds) {
        data->n_failed++;
        cs_text_add(&data->checks, "%s: does not hold\n", what);
    }
}

void cs_figure_free(cs_figure_data *data)
{
    cs_text_free(&data->csv);
    cs_text_free(&data->gnuplot);
    cs_text_free(&data->checks);
    data->n_checks = 0;
    data->n_failed = 0;
}
