/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figures/optcc_table.h -- OptCC's times at alpha = 0 against reference numbers. */
#ifndef CS_FIGURES_OPTCC_TABLE_H
#define CS_FIGURES_OPTCC_TABLE_H

#include "figures/figures.h"

#include <stdint.h>

/* One schedule and what a program of its own, which follows the description with exact fractions,
 * says it takes; in units of the time of one NIC's share of the buffer. */
typedef struct cs_optcc_row {
    const char *setting;
    uint32_t    servers, gpus, n_slow;
    double      slow[4];
    const char *rounds, *ramp, *bubbles; /* options */
    double      time;
    double      tolerance; /* relative: 0 for a fraction, else half a unit of the last digit */
} cs_optcc_row;

/* Replay the row, check it, and add its line to the table. `number` counts the rows. */
CS_API CS_MUST_CHECK cs_status cs_optcc_add_row(cs_figure_data *data, uint32_t number,
                                                const cs_optcc_row *row, cs_error *err);

#endif
