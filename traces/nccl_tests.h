/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/nccl_tests.h -- what a measurement of collectives or of a link says, and where it
 * contradicts itself: logs of nccl-tests, its JSON (-J), captured runs of our own, SimLLM's JSON,
 * and the tables of OSU's benchmarks, perftest, nvbandwidth (its JSON, too) and all_reduce_bench
 * (link_logs.c).
 *
 * One log holds one table of one program (all_reduce_perf, all_gather_perf, ...). Rows are
 *   size count type [redop] [root] time algbw busbw #wrong  time algbw busbw #wrong
 * with the out-of-place side first; with per-iteration columns each side has four more, and a
 * time stamp may follow. Units of the table: bytes, us, GB/s = 1e9 B/s; of the struct: SI.
 * Rows of size 0 are skipped, and so are all lines of which nothing is taken; they are counted by
 * what they look like, with the first of each kind, beside what casts doubt on the rows.
 *
 * The columns check each other: algbw must be size / time, and busbw / algbw is a function of
 * the number of ranks (nccl-tests, doc/PERFORMANCE.md), which must be the same in all rows and
 * fit the "# Rank" lines. Two tables in one log are refused: what stands between them cannot
 * be told apart.
 *
 * A captured run is such a table behind a first line
 *   # collsim-capture 1 collective allreduce schedule ring ranks 4 machine testbed
 * in which a size may stand several times, one row a run. SimLLM's JSON is one log for each
 * collective and number of ranks in it.
 *
 * Left out: what is in columns after the sixteen, or in per-iteration keys.
 */
#ifndef CS_TRACES_NCCL_TESTS_H
#define CS_TRACES_NCCL_TESTS_H

#include "base/text.h"
#include "cs/scenario.h"

#include <stdint.h>

/* ---- a row ---- */

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
    uint64_t       count;      /* elements, as the log has it */
    char           type[16];   /* "float" */
    char           redop[16];  /* "sum", "none", or empty where the column is blank */
    char           choice[24]; /* "Ring/LL", where NCCL or nccl-tests says it; or empty */
    int32_t        root;
    uint32_t       line; /* in the log; 0 in JSON */
    cs_nccl_timing timings[CS_NCCL_SIDES];
} cs_nccl_row;

/* ---- the reading of a log: which lines were skipped, by kind, and what casts doubt on those that
 * were not ---- */

/* The run that the header of a log announces, in a line as
 *   # nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20
 *     agg iters: 1 validation: 1 graph: 0
 * `{0}`: the log has no header. */
typedef struct cs_nccl_run {
    uint32_t line; /* where it stands; 0: nowhere */
    uint64_t min_bytes, max_bytes;
    uint64_t step_factor, step_bytes; /* the one that is not used is 0 */
    uint64_t n_gpus; /* that a thread launches on, one after the other; 0: not said */
    uint64_t n_warmup_iters, n_iters; /* 0: not said */
    bool     is_unchecked;            /* validation: 0 */
} cs_nccl_run;

/* How many rows the run prints; 0: the header does not say. */
uint64_t cs_nccl_run_n_rows(const cs_nccl_run *run);

/* Enum, name in files, is it a doubt (else: lines that were skipped), what is counted. What matters
 * most stands first. */
#define CS_NCCL_REMARK_MAP(X)                                                                      \
    X(FAILED_RESULTS, "failed-results", true, "footers by which results were wrong")               \
    X(FAILED_RUN, "failed-run", true, "lines by which the run failed")                             \
    X(WRONG_ROWS, "wrong-rows", true, "rows with wrong results in the column that is not used")    \
    X(UNCHECKED, "unchecked", true, "results were not checked")                                    \
    X(OUTSIDE_RANGE, "outside-range", true, "rows outside of minBytes .. maxBytes of the header")  \
    X(MISSING_ROWS, "missing-rows", true, "rows missing of those that the header announces")       \
    X(LABELLED_ROWS, "labelled-rows", false, "rows behind a label that is not known")              \
    X(TORN_ROWS, "torn-rows", false, "lines that begin with a number and are no rows")             \
    X(UNMEASURED_ROWS, "unmeasured-rows", false, "rows without a time in the column that is used") \
    X(EMPTY_ROWS, "empty-rows", false, "rows of size 0")                                           \
    X(WARNINGS, "nccl-warnings", false, "warnings of NCCL")                                        \
    X(MESSAGES, "nccl-messages", false, "messages of NCCL")                                        \
    X(LAUNCHERS, "launchers", false, "lines of launchers and shells")                              \
    X(COMMENTS, "comments", false, "comments that are not understood")                             \
    X(OTHERS, "others", false, "other lines")

typedef enum cs_nccl_remark_kind {
#define X(kind, name, is_doubt, what) CS_NCCL_##kind,
    CS_NCCL_REMARK_MAP(X)
#undef X
        CS_NCCL_REMARKS
} cs_nccl_remark_kind;

/* How often, and the first of them. */
typedef struct cs_nccl_remark {
    uint64_t n;          /* 0: never, the rest is empty */
    uint32_t first_line; /* 0: in none */
    char     first[96];  /* what stands there: plain, shortened */
} cs_nccl_remark;

/* One log. Lines without text are not skipped lines. */
typedef struct cs_nccl_reading {
    char           name[128]; /* of the log, without folders */
    size_t         n_lines;
    size_t         n_rows; /* with a size above 0 */
    cs_nccl_run    run;
    cs_nccl_remark remarks[CS_NCCL_REMARKS];
} cs_nccl_reading;

/* Static storage. */
const char *cs_nccl_remark_name(cs_nccl_remark_kind kind);
bool        cs_nccl_remark_is_doubt(cs_nccl_remark_kind kind);

/* Count something that was seen in a line, whose `text` is kept if it is the first. */
void cs_nccl_remark_add(cs_nccl_reading *reading, cs_nccl_remark_kind kind, int line,
                        const char *text);

uint64_t cs_nccl_n_skipped(const cs_nccl_reading *reading);

/* For people, as comments of a table: rows and lines, what was skipped, what is in doubt. */
void cs_nccl_reading_text(const cs_nccl_reading *reading, cs_text *text);

/* ---- a log ---- */

/* Where the collective is known from. */
typedef enum cs_nccl_evidence {
    CS_NCCL_UNKNOWN,
    CS_NCCL_STATED,  /* "# Collective test concluded: all_reduce_perf", or "starting" */
    CS_NCCL_COMMAND, /* the program's name stands elsewhere in the log */
    CS_NCCL_COLUMNS, /* from the columns and from busbw / algbw */
} cs_nccl_evidence;

/* What the time of a row is. */
typedef enum cs_nccl_measured {
    CS_NCCL_COLLECTIVE, /* of a collective on all ranks */
    CS_NCCL_MESSAGE,    /* of one message, from its sender to its receiver */
    CS_NCCL_RATE,       /* between two of many messages that are under way: what a link carries, and
                           nothing of how long one takes */
} cs_nccl_measured;

enum { CS_NCCL_SCHEDULE_BYTES = 32 };

typedef struct cs_nccl_log {
    cs_nccl_measured measured; /* no collective: `collective` means nothing, sizes are those of a
                                  message, rows have one side */
    char schedule[CS_NCCL_SCHEDULE_BYTES]; /* of a captured run, "ring"; empty: NCCL's own */
    bool is_part;                          /* one of several that a file holds */

    cs_nccl_evidence collective_from; /* CS_NCCL_UNKNOWN: `collective` means nothing */
    cs_collective    collective;
    char             program[32];    /* e.g. "all_reduce_perf", or empty */
    uint32_t         n_ranks;        /* 0: neither the Rank lines nor the rates say it */
    uint32_t         n_ranks_listed; /* by the Rank lines; 0: none */
    uint32_t         n_ranks_low;    /* what busbw / algbw allows; 0, 0: nothing known */
    uint32_t         n_ranks_high;
    uint32_t         n_hosts; /* by the Rank lines; 0: they are not all there, not in order, or the
                                 hosts have different numbers of them */
    bool            is_deviation; /* n_wrong is a deviation (column "error"), not a count */
    bool            is_cputime;   /* times are those of the CPU, not of the operation */
    char            device[64];   /* of the Rank lines, or empty */
    char            versions[96]; /* of NCCL and nccl-tests, or empty */
    cs_nccl_row    *rows;         /* sizes increase; in a captured run, some may be the same */
    size_t          n_rows;       /* >= 1 */
    cs_nccl_reading reading;
} cs_nccl_log;

/* The logs of one or more files, in the order in which they were read. `{0}` has none. */
typedef struct cs_nccl_logs {
    cs_nccl_log **logs;  /* owned */
    char        **names; /* their files, for errors; owned */
    size_t        n, capacity, names_capacity;
} cs_nccl_logs;

/* Read a file of any of the formats, which is told by its contents, and add what it holds to
 * `logs`. `n_ranks`, where it is known from elsewhere (0: it is not), overrules the Rank lines; it
 * must still fit busbw / algbw. In SimLLM's JSON it chooses nothing: all is read. A table is read
 * in a stream, whatever its length; JSON is at most 16 MiB. Errors carry the line, and the column
 * where one is at fault, or the key. On an error the logs that are there stay. O(length). */
cs_status cs_nccl_read(const char *path, uint32_t n_ranks, cs_nccl_logs *logs, cs_error *err);

/* The same from a text; `name` is its name in errors. */
cs_status cs_nccl_parse(const char *text, size_t length, const char *name, uint32_t n_ranks,
                        cs_nccl_logs *logs, cs_error *err);

/* Free the logs from `n` on. */
void cs_nccl_logs_cut(cs_nccl_logs *logs, size_t n);

void cs_nccl_logs_free(cs_nccl_logs *logs);

/* A table alone (of several the first), of `length` bytes (at most 256 MiB); `name` may be NULL. On
 * CS_OK *log_p is the caller's (cs_nccl_log_free). */
cs_status cs_nccl_log_parse(const char *text, size_t length, const char *name, uint32_t n_ranks,
                            cs_nccl_log **log_p, cs_error *err);

/* "2.29.3" for 22903, "2.8.4" for 2804: the number by which NCCL says its version, since 2.9 of
 * five digits. False, and nothing is written, if it is none. */
enum { CS_NCCL_VERSION_BYTES = 40 };
bool cs_nccl_version_of_code(uint64_t code, char version[CS_NCCL_VERSION_BYTES]);

/* NULL is allowed. */
void cs_nccl_log_free(cs_nccl_log *log);

#endif
