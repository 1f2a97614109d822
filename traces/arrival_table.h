/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/arrival_table.h -- arrivals as a table: comma-separated values, or a markdown table.
 *
 * The first line names the columns, in any order:
 *   iteration (also step, call)   whole number; a markdown table may do without: one iteration
 *   rank                          0 .. n-1
 *   arrival_s (also arrival)      when the rank came: on one clock, or as an offset from the first
 *                                 arrival of the iteration (then the smallest is 0)
 *   inside_s (also inside, AR kernel)  how long the rank was inside
 *   bytes                         buffer of the call, per rank as in nccl-tests
 * At least one of arrival and inside must be there. Times are seconds or carry a unit ("3us"); a
 * column whose name ends in _ms, _us, _ns or "(us)" and so on has bare numbers of that unit.
 * "Arrival gap" is an arrival, too. Other columns are not used, which the notes say. Rows may
 * come in any order; empty lines and lines that begin with '#' are skipped, so are terminal
 * colours and launchers' labels (traces/log_line.h).
 */
#ifndef CS_TRACES_ARRIVAL_TABLE_H
#define CS_TRACES_ARRIVAL_TABLE_H

#include "traces/arrival_rows.h"

/* Add the records of a table. Errors carry line and column. O(length). */
CS_MUST_CHECK cs_status cs_arrival_table_read(const char *text, size_t length, const char *name,
                                              cs_arrival_rows *rows, cs_arrival_notes *notes,
                                              cs_error *err);

/* Add a trace as comma-separated values that are read back exactly: iteration,rank,arrival_s and,
 * where they are known, inside_s and bytes. Iterations count from 0. */
void cs_arrival_table_write(const cs_arrival_trace *trace, cs_text *text);

#endif
