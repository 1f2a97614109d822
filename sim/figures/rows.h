/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figures/rows.h -- rows of a figure's CSV, and checks that bear the row's place. */
#ifndef CS_FIGURES_ROWS_H
#define CS_FIGURES_ROWS_H

#include "figures/figures.h"

#include <stdint.h>

/* Add one row: a first column, then `count` numbers. A NAN becomes an empty field. */
void cs_figure_row(cs_figure_data *data, double first, const double *values, size_t count);

/* cs_figure_check() of "WHAT at n = N". */
void cs_figure_check_at(cs_figure_data *data, const char *what, uint32_t n, double got, double want,
                        double tolerance);

/* Half a unit of the last digit of a number given with six digits, relative. */
#define CS_SIX_DIGITS 5e-6

/* Replays agree with formulas to this, relative. */
#define CS_REPLAY_DIGITS 1e-9

/* Numbers that are given exactly (fractions). */
#define CS_EXACT 1e-12

#endif
