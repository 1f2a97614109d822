/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/nccl_row.h -- one line of a log as a row of nccl-tests' table. */
#ifndef CS_TRACES_NCCL_ROW_H
#define CS_TRACES_NCCL_ROW_H

#include "traces/log_line.h"
#include "traces/nccl_tests.h"

/* Does the line claim to be a row (two numbers and a type)? Anything else is noise. */
bool cs_nccl_row_is(const cs_log_line *line);

/* Does such a row stand behind words that were not taken for a launcher's label? */
bool cs_nccl_row_is_labelled(const cs_log_line *line);

/* Read a row; on an error line->fault_column is the column of the field at fault. A row of
 * size 0 is read up to its type. An algbw that cannot be size / time, both as they are rounded, is
 * refused, unless the times are those of the CPU (`is_cputime`), of which algbw does not come. */
cs_status cs_nccl_row_read(cs_log_line *line, bool is_cputime, cs_nccl_row *row_p, cs_error *err);

/* Bytes of one element of a type's name, or 0 for a name that is unknown. */
uint32_t cs_nccl_type_bytes(const char *type);

#endif
