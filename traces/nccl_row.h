/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/nccl_row.h -- one line of a log as a row of nccl-tests' table. */
#ifndef CS_TRACES_NCCL_ROW_H
#define CS_TRACES_NCCL_ROW_H

#include "traces/log_line.h"
#include "traces/nccl_tests.h"

/* Does the line claim to be a row (two numbers and a type)? Anything else is noise. */
bool cs_nccl_row_is(const cs_log_line *line);

/* Read a row; on an error line->fault_column is the column of the field at fault. A row of
 * size 0 is read up to its type. */
cs_status cs_nccl_row_read(cs_log_line *line, cs_nccl_row *row_p, cs_error *err);

/* Bytes of one element of a type's name, or 0 for a name that is unknown. */
uint32_t cs_nccl_type_bytes(const char *type);

/* Is algbw the size over the time, within what is lost by rounding? */
cs_status cs_nccl_row_check(const cs_nccl_row *row, cs_error *err);

#endif
