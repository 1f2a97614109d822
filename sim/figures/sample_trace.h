/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figures/sample_trace.h -- the project's sample of arrivals, without a file.
 *
 * Figures draw the same wherever the program runs, so they cannot depend on a file that may not be
 * there. The sample is made by a formula; this is the same formula.
 */
#ifndef CS_FIGURES_SAMPLE_TRACE_H
#define CS_FIGURES_SAMPLE_TRACE_H

#include "base/text.h"

/* Add the bytes of traces/generated-arrivals8.csv, which scripts/make_sample_traces.py writes (a
 * test compares them): 200 calls of 8 ranks, 256 MiB each; rank 5 is last in most of them. */
CS_API void cs_figure_sample_arrivals(cs_text *csv);

#endif
