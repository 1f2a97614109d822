/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/nccl_conclude.h -- what the rows of a table and the lines around it say together. */
#ifndef CS_TRACES_NCCL_CONCLUDE_H
#define CS_TRACES_NCCL_CONCLUDE_H

#include "traces/nccl_tests.h"

/* What stands around the rows. */
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
    char     schedule[CS_NCCL_SCHEDULE_BYTES]; /* of a captured run, or empty: */
    uint32_t captured_ranks;
} cs_nccl_heading;

/* The collective of a program of nccl-tests; false where it is none that is simulated. */
bool cs_nccl_find_program(const char *program, cs_collective *collective_p);

/* Is it any program of nccl-tests? */
bool cs_nccl_is_program(const char *name);

/* Fill collective, program, n_ranks and their evidence in a log whose rows (one or more) are read,
 * and note what casts doubt on them. `n_ranks` overrules the Rank lines (0: does not). On an error
 * *line_p is the line at fault, or 0. O(rows). */
cs_status cs_nccl_conclude(cs_nccl_log *log, const cs_nccl_heading *heading, uint32_t n_ranks,
                           int *line_p, cs_error *err);

#endif
