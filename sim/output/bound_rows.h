/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output/bound_rows.h -- lower bounds as rows: what `collsim bound` prints. */
#ifndef CS_OUTPUT_BOUND_ROWS_H
#define CS_OUTPUT_BOUND_ROWS_H

#include "base/text.h"
#include "cs/job.h"

typedef enum cs_bound_format { CS_BOUND_TABLE, CS_BOUND_JSON } cs_bound_format;

/* Add every lower bound of a job that is not resolved: what holds for its algorithm and model;
 * where the algorithm does not do the collective, for schedules whose transfers hold their ports,
 * one at a time. */
CS_MUST_CHECK cs_status cs_bound_rows(cs_text *text, const cs_job *job, cs_bound_format format,
                                      cs_error *err);

#endif
