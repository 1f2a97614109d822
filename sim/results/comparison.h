/* SPDX-License-Identifier: GPL-3.0-or-later */
/* results/comparison.h -- which schedule should run: the algorithms side by side, one row per
 * setting and size, with the lower bound and the best of them. */
#ifndef CS_RESULTS_COMPARISON_H
#define CS_RESULTS_COMPARISON_H

#include "base/text.h"
#include "cs/result.h"

enum { CS_SETTING_BYTES = 64 };

/* Who is late and what is broken, in a few words: "late 7 by 2000 us, nic 0 x 0.5". An empty text
 * when nothing is. */
void cs_setting_text(const cs_scenario *scenario, char *text, size_t text_bytes);

/* Add the comparison of `n` results as `#` lines (nccl-tests' parsers skip them); `settings` are
 * their cs_setting_text(). Nothing is added when there is only one algorithm. Results are
 * compared when they agree in everything but the algorithm. */
void cs_comparison(cs_text *text, const cs_result                  *results,
                   const char (*settings)[CS_SETTING_BYTES], size_t n);

#endif
