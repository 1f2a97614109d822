/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/nccl_heading.h -- what the lines around the rows of a log of nccl-tests say. */
#ifndef CS_TRACES_NCCL_HEADING_H
#define CS_TRACES_NCCL_HEADING_H

#include "traces/log_line.h"
#include "traces/nccl_tests.h"

typedef struct cs_nccl_heading {
    char     stated[32];    /* program in "Collective test concluded", or empty */
    char     mentioned[32]; /* the one program that is named anywhere else, or empty */
    bool     is_ambiguous;  /* several are named elsewhere */
    bool     has_columns;   /* the line that names the columns was seen: */
    bool     has_redop, has_root, is_deviation, is_cputime;
    uint32_t n_listed;  /* highest rank of the Rank lines + 1 */
    uint32_t n_groups;  /* highest group + 1; 0 without that column */
    int      rank_line; /* where the last of them stands */
    char     device[64];
    char     versions[96];
} cs_nccl_heading;

/* Take what a line that is no row says; `reading` has the run that is announced, failures, and the
 * lines that say nothing. Refuses what shows that two programs wrote the log: the columns named
 * twice, ranks listed twice, two different conclusions. */
cs_status cs_nccl_heading_read(cs_nccl_heading *heading, cs_log_line *line,
                               cs_nccl_reading *reading, cs_error *err);

#endif
