/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output/bound_rows.h -- lower bounds as rows: what `collsim bound` prints. */
#ifndef CS_OUTPUT_BOUND_ROWS_H
#define CS_OUTPUT_BOUND_ROWS_H

#include "base/column.h"
#include "base/text.h"
#include "cs/job.h"

typedef enum cs_bound_format { CS_BOUND_TABLE, CS_BOUND_JSON, CS_BOUND_CSV } cs_bound_format;

/* Add every lower bound of a job that is not resolved, in seconds and as the bus bandwidth that
 * nccl-tests cannot exceed: what holds for its algorithm and model; where the algorithm does not do
 * the collective, for schedules whose transfers hold their ports, one at a time. In CSV the columns
 * of the sweep come behind, of which this is row `index`; of it alone they are used. */
CS_MUST_CHECK cs_status cs_bound_rows(cs_text *text, const cs_job *job, cs_bound_format format,
                                      const cs_extra_columns *extra, size_t index, cs_error *err);

/* Those of a row in CSV, and their line. */
extern const cs_column cs_bound_columns[];
void                   cs_bound_csv_keys(cs_text *text, const cs_extra_columns *extra);

#endif
