/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output/heatmap.h -- a picture of how much of the ports and links of a run is in use: rows are
 * ports, time goes to the right, the darker the more of the nominal bandwidth is in use. */
#ifndef CS_OUTPUT_HEATMAP_H
#define CS_OUTPUT_HEATMAP_H

#include "base/text.h"
#include "cs/result.h"
#include "output/usage.h"

/* Inner links beyond these, those of which less is in use, are left out and counted. */
enum { CS_HEATMAP_MOST_LINKS = 48 };

/* Add a self-contained SVG 1.1 of what was counted during the run that gave `result`. Panels of
 * fabrics that carried nothing are left out. The same run gives the same bytes; at most some
 * 500 KB whatever the number of ranks. */
CS_MUST_CHECK cs_status cs_heatmap_svg(cs_usage *usage, const cs_result *result, cs_text *out,
                                       cs_error *err);

#endif
