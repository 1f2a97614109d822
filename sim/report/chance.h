/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report/chance.h -- how the exposed time of every algorithm is distributed where arrivals are
 * random (sim/report/page/README.md, "chance").
 */
#ifndef CS_REPORT_CHANCE_H
#define CS_REPORT_CHANCE_H

#include "base/text.h"
#include "study/config.h"

enum { CS_CHANCE_ITERATIONS = 1000, CS_CHANCE_QUANTILES = 1001 };

/* Are the arrivals of the first scenario random? */
CS_MUST_CHECK cs_status cs_chance_is_there(const cs_config *config, bool *is_there_p,
                                           cs_error *err);

/* Run the scenarios of the first setting (every axis but the algorithm's at its first value) for
 * 1,000 iterations on `jobs` threads, fewer where a trace that is taken in order has fewer calls,
 * and add the object: what is random, and a row for every algorithm that could be run; of one that
 * is there with several options, or predictions, the first. CS_ENOTSUP where nothing is random or
 * none could be run. The same bytes for any number of threads. O(iterations) replays where there is
 * no closed form. */
CS_MUST_CHECK cs_status cs_chance_json(cs_text *json, const cs_config *config, unsigned jobs,
                                       cs_error *err);

#endif
