/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output/delay_rows.h -- critical and ideal delays as a table, JSON or CSV. */
#ifndef CS_OUTPUT_DELAY_ROWS_H
#define CS_OUTPUT_DELAY_ROWS_H

#include "base/column.h"
#include "engine/delays.h"
#include "output/comparison.h"

/* The members down to `delay_reference` are the columns: those of a result by these names. */
typedef struct cs_delay_row {
    const char *algorithm, *model;
    uint64_t    ranks, bytes, gpus_per_server;
    double      critical_delay_s, ideal_delay_s; /* INFINITY: never */
    const char *delay_reference;
    char        setting[CS_SETTING_BYTES];
} cs_delay_row;
extern const cs_column cs_delay_columns[];

cs_delay_row cs_delay_row_of(const cs_job *job, const cs_delays *delays);

/* Add `n` rows. JSON: an array of objects; what is never is null there, an empty field in a CSV and
 * "never" in a table, whose last lines say what is printed. */
void cs_delay_rows_json(cs_text *text, const cs_delay_row *rows, size_t n,
                        const cs_extra_columns *extra);
void cs_delay_rows_csv(cs_text *text, const cs_delay_row *rows, size_t n,
                       const cs_extra_columns *extra);
void cs_delay_rows_table(cs_text *text, const cs_delay_row *rows, size_t n);

#endif
