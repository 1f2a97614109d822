/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/nccl_row.h -- a row of nccl-tests' table, out of a line of a log. */
#ifndef CS_TRACES_NCCL_ROW_H
#define CS_TRACES_NCCL_ROW_H

#include "traces/log_line.h"

#include <stdint.h>

typedef enum cs_nccl_side { CS_NCCL_OUT_OF_PLACE, CS_NCCL_IN_PLACE, CS_NCCL_SIDES } cs_nccl_side;

/* "out-of-place" or "in-place"; static storage. */
const char *cs_nccl_side_name(cs_nccl_side side);

typedef struct cs_nccl_timing {
    bool   is_measured; /* false: N/A in the log, the rest is 0 */
    bool   is_checked;  /* the log says how many results were wrong */
    double n_wrong;     /* old logs: the largest deviation, see is_deviation */
    double time_s;
    double algbw_Bps, busbw_Bps;
    double ratio_low, ratio_high; /* what busbw / algbw can be, as both are rounded */
} cs_nccl_timing;

/* The root of a row without that column. */
#define CS_NCCL_NO_ROOT INT32_MIN

typedef struct cs_nccl_row {
    uint64_t       size_bytes;
    uint64_t       count;     /* elements, as the log has it */
    char           type[16];  /* "float" */
    char           redop[16]; /* "sum", "none", or empty where the column is blank */
    int32_t        root;
    uint32_t       line; /* in the log */
    cs_nccl_timing timings[CS_NCCL_SIDES];
} cs_nccl_row;

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
