/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/nccl_rows.h -- one row of a table of nccl-tests. */
#ifndef CS_TRACES_NCCL_ROWS_H
#define CS_TRACES_NCCL_ROWS_H

#include "traces/log_line.h"
#include "traces/nccl_tests.h"

/* A printed number: its value, and half a unit of its last digit. */
typedef struct cs_printed {
    double value, half;
} cs_printed;

/* Bytes of one element of a type's name, or 0 for a name that is unknown. */
uint32_t cs_nccl_type_bytes(const char *type);

/* Does the line claim to be a row (two numbers and a type)? Anything else is noise. */
bool cs_nccl_is_row(const cs_log_line *line);

/* Does such a row stand behind words that were not taken for a launcher's label? */
bool cs_nccl_is_labelled_row(const cs_log_line *line);

/* Read a row; on an error line->fault_column is the column of the field at fault. A row of
 * size 0 is read up to its type. An algbw that cannot be size / time, both as they are rounded, is
 * refused, unless the times are those of the CPU (`is_cputime`), of which algbw does not come. */
cs_status cs_nccl_row_parse(cs_log_line *line, bool is_cputime, cs_nccl_row *row_p, cs_error *err);

/* Take a time in us above 0 and rates in GB/s, wherever they were printed. What algbw must be is
 * checked as above; the error's key is "algbw". */
cs_status cs_nccl_timing_set(uint64_t size_bytes, cs_printed time, cs_printed algbw,
                             cs_printed busbw, bool is_cputime, cs_nccl_side side,
                             cs_nccl_timing *timing, cs_error *err);

/* "Ring/LL": algorithm and protocol by their names, in any case, or by the numbers that NCCL has
 * for them. */
void cs_nccl_choice_text(const char *algorithm, const char *protocol, char text[24]);

#endif
