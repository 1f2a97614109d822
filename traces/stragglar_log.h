/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/stragglar_log.h -- logs of StragglAR's training script, one record per rank and step:
 *
 *   Rank 2 | Step 1 | Forward Time: 1499.21 ms | .. | Iteration Time: 4815.84 ms |
 *   AR Time: 117.94 ms | AR Buffer Size: 12549804.00 KB
 *
 * (on one line). Records come in any order, several may share a line, and each is in the colour
 * of its rank; other lines are skipped. KB means KiB there. `AR Time` is how long the rank was
 * inside the AllReduce, which all ranks leave together: the one with the shortest time came last.
 * Step 0 is warm-up. The iteration time gives the period.
 */
#ifndef CS_TRACES_STRAGGLAR_LOG_H
#define CS_TRACES_STRAGGLAR_LOG_H

#include "traces/arrival_rows.h"

/* Does the text have a record of such a log? O(length). */
bool cs_stragglar_log_is(const char *text, size_t length);

/* Add the records of a log. A record without its AR time (a log that was cut off, or records that
 * tore each other) is refused with line and column, or, with `skip_incomplete`, left out and
 * noted. O(length). */
CS_MUST_CHECK cs_status cs_stragglar_log_read(const char *text, size_t length, const char *name,
                                              const cs_arrival_options *options,
                                              cs_arrival_rows *rows, cs_arrival_notes *notes,
                                              cs_error *err);

#endif
