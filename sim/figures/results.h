/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figures/results.h -- scenarios of a figure, run on several threads, each once. */
#ifndef CS_FIGURES_RESULTS_H
#define CS_FIGURES_RESULTS_H

#include "figures/figure.h"

/* Run what is not known yet; what is known is taken from `results`, which keeps the rest. Errors
 * of a scenario are in its item; the machine's and the program's are returned, too. */
CS_MUST_CHECK cs_status cs_figure_run_items(cs_figure_results *results, cs_figure_item *items,
                                            size_t n_items, unsigned jobs, cs_error *err);

#endif
