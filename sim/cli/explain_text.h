/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cli/explain_text.h -- what `run --explain` prints: the ports and the critical path. */
#ifndef CS_CLI_EXPLAIN_TEXT_H
#define CS_CLI_EXPLAIN_TEXT_H

#include "base/text.h"
#include "cs/result.h"

typedef struct cs_explain_text cs_explain_text;

enum { CS_EXPLAIN_OBSERVERS = 2 };

/* Prepare for one run of a resolved job; the caller owns it. */
cs_status cs_explain_text_open(const cs_job *job, cs_explain_text **explain_p, cs_error *err);

/* Write its observers to `observers`; returns how many. */
size_t cs_explain_text_observers(cs_explain_text *explain, cs_observer *observers);

/* After the run: add the text. */
cs_status cs_explain_text_add(cs_explain_text *explain, const cs_result *result, cs_text *text,
                              cs_error *err);

void cs_explain_text_close(cs_explain_text *explain);

#endif
