/* SPDX-License-Identifier: GPL-3.0-or-later */
/* whatif/reason.h -- why a policy loses what it loses, in one line. */
#ifndef CS_WHATIF_REASON_H
#define CS_WHATIF_REASON_H

#include "base/text.h"
#include "whatif/whatif.h"

/* Add the line to `text`: what was lost, and which pieces of time it was lost in. */
void cs_whatif_reason(const cs_whatif_job *job, const cs_whatif_report *report,
                      const cs_whatif_line *line, cs_text *text);

#endif
