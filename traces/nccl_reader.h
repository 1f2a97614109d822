/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/nccl_reader.h -- what the readers of measured collectives share (nccl_tests.c,
 * nccl_rows.c, nccl_conclude.c, nccl_json.c, link_logs.c): rows of a table, what stands around
 * them, what both say together, and a log while it is made. nccl_tests.h is for everybody else.
 */
#ifndef CS_TRACES_NCCL_READER_H
#define CS_TRACES_NCCL_READER_H

#include "traces/log_line.h"
#include "traces/nccl_tests.h"

/* ---- a row of a table (nccl_rows.c) ---- */

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

/* ---- what the rows and the lines around them say together (nccl_conclude.c) ---- */

/* What stands around the rows. */
typedef struct cs_nccl_heading {
    char     stated[32];    /* program in "Collective test concluded", or empty */
    char     mentioned[32]; /* the one program that is named anywhere else, or empty */
    bool     is_ambiguous;  /* several are named elsewhere */
    bool     has_columns;   /* the line that names the columns was seen: */
    bool     has_redop, has_root, is_deviation, is_cputime;
    uint32_t n_listed; /* highest rank of the Rank lines + 1 */
    uint32_t n_groups; /* highest group + 1; 0 without that column */
    uint32_t n_rank_lines;
    uint32_t n_hosts;             /* how often the host of a Rank line is another than before */
    uint32_t on_host, first_host; /* Rank lines on the last and on the first host */
    bool     is_scattered; /* a host has others between its ranks, or not as many as others */
    char     host[64], first_name[64];
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

/* ---- a log (nccl_tests.c) ---- */

/* A log without rows that is called after a file, and in it after `part` (may be NULL). */
cs_status cs_nccl_log_new(const char *name, const char *part, cs_nccl_log **log_p, cs_error *err);

/* Add a row; *capacity_p is the caller's. */
cs_status cs_nccl_log_push(cs_nccl_log *log, size_t *capacity_p, const cs_nccl_row *row,
                           cs_error *err);

/* Put a log behind the others; it is theirs then, or freed where that fails. */
cs_status cs_nccl_logs_add(cs_nccl_logs *logs, cs_nccl_log *log, const char *name, cs_error *err);

/* Count a line of which nothing is taken, by what it looks like. */
void cs_nccl_skip_line(cs_nccl_reading *reading, const cs_log_line *line);

/* ---- tables of other benchmarks (link_logs.c) ---- */

/* The size behind a rate of nvbandwidth, which does not print it. */
#define CS_LINK_MATRIX_BYTES ((uint64_t)512 << 20)

/* Does the line begin such a table? */
bool cs_link_begins(const cs_log_line *line);

/* Read from the line at which the reader stands to the end, and add a log for each table. `log` has
 * no rows, and what was skipped so far; it is used or freed. On an error reader->line is at fault.
 */
cs_status cs_link_logs_read(cs_log_reader *reader, cs_nccl_log *log, const char *name,
                            uint32_t n_ranks, cs_nccl_logs *logs, cs_error *err);

/* Is a matrix of nvbandwidth one of rates between GPUs; of both directions together? */
bool cs_link_pairs(const char *description, bool *is_both_p);

/* The row of one cell; none of "N/A" and of 0. */
cs_status cs_link_pair_row(const char *cell, bool is_both, cs_nccl_row *row_p, bool *has_row_p,
                           cs_error *err);

/* ---- JSON: what nccl-tests writes with -J, nvbandwidth's and SimLLM's (nccl_json.c) ---- */

#define CS_NCCL_JSON_BYTES ((size_t)16 * 1024 * 1024)

/* As cs_nccl_parse(); keys that are not used are passed over; errors carry line, column and key.
 * O(length). */
cs_status cs_nccl_json_parse(const char *text, size_t length, const char *name, uint32_t n_ranks,
                             cs_nccl_logs *logs, cs_error *err);

#endif
