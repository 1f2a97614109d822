/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output/diagnosis_text.h -- a diagnosis of a measured curve, as a table or JSON. */
#ifndef CS_OUTPUT_DIAGNOSIS_TEXT_H
#define CS_OUTPUT_DIAGNOSIS_TEXT_H

#include "algorithms/lib/nccl_diagnosis.h"
#include "base/text.h"
#include "output/gnuplot.h"

/* Rows, then what holds of them, with what to look at next. */
void cs_diagnosis_table(cs_text *text, const cs_diagnosis *diagnosis);

/* {"verdicts": [{"name", "from_bytes", "to_bytes", "evidence", "next"}], "rows": [..]}. */
void cs_diagnosis_json(cs_text *text, const cs_diagnosis *diagnosis);

/* The picture of it, drawn by gnuplot (CS_EMISSING where that is not there): bus bandwidth over
 * size, measured, expected and at the bound, or beside a baseline. */
CS_MUST_CHECK cs_status cs_diagnosis_draw(cs_text *picture, const cs_diagnosis *diagnosis,
                                          cs_picture kind, cs_error *err);

/* The rows alone. */
void cs_diagnosis_csv(cs_text *text, const cs_diagnosis *diagnosis);

#endif
