/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows and checks: see rows.h. */
#include "figures/rows.h"

#include <math.h>
#include <stdio.h>

void cs_figure_row(cs_figure_data *data, double first, const double *values, size_t count)
{
    cs_text_add_number(&data->csv, first);
    for (size_t i = 0; i < count; i++) {
        cs_text_add_bytes(&data->csv, ",", 1);
        if (!isnan(values[i])) {
            cs_text_add_number(&data->csv, values[i]);
        }
    }
    cs_text_add_bytes(&data->csv, "\n", 1);
}

void cs_figure_check_at(cs_figure_data *data, const char *what, uint32_t n, double got, double want,
                        double tolerance)
{
    char text[96];

    (void)snprintf(text, sizeof text, "%s at n = %u", what, n);
    cs_figure_check(data, text, got, want, tolerance);
}
