/* SPDX-License-Identifier: GPL-3.0-or-later */
/* output/table.h -- results as the table of nccl-tests: what `collsim run` prints by default.
 *
 * Lines that do not begin with '#' are rows exactly as nccl-tests prints them, so that its
 * parsers read them; everything that nccl-tests does not know stands in comment lines.
 */
#ifndef CS_OUTPUT_TABLE_H
#define CS_OUTPUT_TABLE_H

#include "base/text.h"
#include "cs/result.h"

/* Add one table: head, `n` rows, what nccl-tests cannot say (elapsed time, bound, gap, closed
 * form), and the closing lines. The results share algorithm, model and everything of `scenario`
 * but the size. The time column is `exposed_s`, from which the bandwidths are computed; both
 * halves of a row are equal, because simulated time does not depend on where the result goes.
 * `#wrong` is 0 for a verified schedule, 1 for a wrong one, N/A for one that was not checked. */
void cs_table_group(cs_text *text, const cs_result *results, size_t n, const cs_scenario *scenario);

#endif
