/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatif/whatif_text.h -- a what-if report as a table, as JSON and as CSV. */
#ifndef CS_WHATIF_WHATIF_TEXT_H
#define CS_WHATIF_WHATIF_TEXT_H

#include "base/text.h"
#include "whatif/whatif.h"

/* The ranking with its reasons, then the throughput over time (at most 12 intervals a policy). */
void cs_whatif_table(const cs_whatif_job *job, const cs_whatif_report *report, cs_text *text);

/* One object; numbers read back exactly, what never ends is null. */
void cs_whatif_json(const cs_whatif_job *job, const cs_whatif_report *report, cs_text *text);

/* One line per interval of every policy. */
void cs_whatif_csv(const cs_whatif_job *job, const cs_whatif_report *report, cs_text *text);

#endif
