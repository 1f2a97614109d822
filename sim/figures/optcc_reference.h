/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figures/optcc_reference.h -- bounds and baselines of OptCC against exact fractions. */
#ifndef CS_FIGURES_OPTCC_REFERENCE_H
#define CS_FIGURES_OPTCC_REFERENCE_H

#include "figures/figures.h"

/* Compare all formulas with all reference numbers. */
void cs_optcc_check_reference(cs_figure_data *data);

#endif
