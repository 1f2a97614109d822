/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of other benchmarks than nccl-tests, told by their titles; a file may hold several, one
 * after the other, and each becomes a log.
 *
 * OSU micro-benchmarks:
 *
 *     # OSU MPI-CUDA Bandwidth Test v7.2
 *     # Size      Bandwidth (MB/s)
 *     1048576     73675.19
 *
 * osu_latency has half a round trip, which is the time of one message. osu_bw has 64 messages under
 * way, and MB = 1e6; osu_bibw has both directions together. Collectives have the mean over the
 * ranks; the sizes of AllGather and AlltoAll are those of a rank's block.
 *
 * perftest:
 *
 *     RDMA_Write BW Test
 *     #bytes  #iterations  BW peak[MiB/sec]  BW average[MiB/sec]  MsgRate[Mpps]
 *
 * ib_write_bw, ib_send_bw and ib_read_bw: MB and MiB are 2^20 both, Gb 1e9 bits; a bidirectional
 * test has both directions together. ib_write_lat and ib_send_lat have half a round trip, of which
 * the median is taken (t_typical).
 *
 * nvbandwidth:
 *
 *     Running device_to_device_memcpy_read_ce.
 *     memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)
 *                0         1
 *      0       N/A    276.07
 *
 * Every pair is a row, of 512 MiB (its default, which it does not print); <-> has both directions.
 *
 * all_reduce_bench:
 *
 *     The average bandwidth of all_reduce over 8 ranks (5 warmups / 20 trials):
 *     | payload |    busbw   |    algbw   |
 *     |   32KiB |   0.92GBps |   0.53GBps |
 *
 * or, of one size, a title with "with a 4.0GB payload (5 trials, 8 ranks):" and a line
 * "algbw: .. GBps".
 */
#include "traces/nccl_reader.h"

#include "cs/cluster.h"
#include "cs/scenario.h"
#include "cs/units.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define MEBI (1024.0 * 1024.0)

/* A rate is printed with two digits behind the point: what it can be off by at most. */
#define COARSEST 0.05

typedef enum table_kind { NO_TABLE, OSU, PERFTEST, NVBANDWIDTH, REDUCE_BENCH } table_kind;

/* The table that is being read. */
typedef struct table {
    table_kind       kind;
    cs_nccl_measured measured;
    cs_collective    collective;
    char             program[32];
    uint32_t         n_ranks;     /* that the title says; 0: it does not */
    double           unit;        /* of a value: bytes per second, or seconds */
    bool             is_both;     /* both directions together */
    bool             has_columns; /* their heading was read: */
    size_t           column;      /* the value's */
    uint64_t         payload;     /* all_reduce_bench of one size; 0: a table */
    cs_nccl_log     *log;         /* owned */
    size_t           capacity;
} table;

typedef struct reading {
    table         table;
    char          device[64]; /* of all tables, or empty */
    const char   *name;
    uint32_t      n_ranks; /* known from elsewhere; 0: not */
    cs_nccl_logs *logs;
    cs_log_line  *line;
} reading;

static const char *token(const cs_log_line *line, size_t index)
{
    return index < line->n_tokens && index < CS_LOG_MAX_TOKENS ? line->tokens[index].text : "";
}

/* ---- titles ---- */

/* "# OSU MPI-CUDA Bi-Directional Bandwidth Test v7.2" */
static bool is_osu_title(const cs_log_line *line)
{
    return line->is_comment && strcmp(token(line, 1), "OSU") == 0 &&
           strstr(line->text, " Test") != NULL;
}

static bool is_perftest_title(const char *text)
{
    bool has_verb = strstr(text, "RDMA_Write ") != NULL || strstr(text, "RDMA_Read ") != NULL ||
                    strstr(text, "Send ") != NULL || strstr(text, "Atomic ") != NULL;
    return has_verb && (strstr(text, "BW Test") != NULL || strstr(text, "Latency Test") != NULL);
}

static bool is_perftest_columns(const cs_log_line *line)
{
    return strcmp(token(line, 0), "#bytes") == 0 && strcmp(token(line, 1), "#iterations") == 0;
}

bool cs_link_pairs(const char *description, bool *is_both_p)
{
    *is_both_p = strstr(description, "<->") != NULL && strstr(description, "Total") != NULL;
    return strstr(description, "GPU(row)") != NULL && strstr(description, "GPU(column)") != NULL &&
           strstr(description, "bandwidth (GB/s)") != NULL;
}

static const char *bench_title(const char *text)
{
    return strstr(text, "The average bandwidth of all_reduce ");
}

static bool is_nvbandwidth(const char *text)
{
    bool is_both;
    return (strstr(text, "(row)") != NULL && strstr(text, "(column)") != NULL &&
            strstr(text, "bandwidth (GB/s)") != NULL) ||
           cs_link_pairs(text, &is_both) || strncmp(text, "nvbandwidth Version:", 20) == 0;
}

bool cs_link_begins(const cs_log_line *line)
{
    return is_osu_title(line) || is_perftest_title(line->text) || is_perftest_columns(line) ||
           is_nvbandwidth(line->text) || bench_title(line->text) != NULL ||
           strstr(line->text, "_CudaDeviceProperties(name='") != NULL;
}

/* ---- a log ---- */

/* Put the log with its rows to the others. */
static cs_status finish_log(reading *r, cs_error *err)
{
    table       *t   = &r->table;
    cs_nccl_log *log = t->log;

    if (log->n_rows == 0) {
        return CS_OK;
    }
    const uint32_t n     = t->n_ranks > 0 ? t->n_ranks : r->n_ranks;
    log->measured        = t->measured;
    log->collective      = t->collective;
    log->collective_from = t->measured == CS_NCCL_COLLECTIVE ? CS_NCCL_STATED : CS_NCCL_UNKNOWN;
    log->n_ranks         = t->measured == CS_NCCL_COLLECTIVE ? n : 0;
    log->n_ranks_listed  = t->measured == CS_NCCL_COLLECTIVE ? t->n_ranks : 0;
    memcpy(log->program, t->program, sizeof log->program);
    memcpy(log->device, r->device, sizeof log->device);
    log->reading.n_rows  = log->n_rows;
    log->reading.n_lines = (size_t)r->line->number;
    if (t->measured == CS_NCCL_COLLECTIVE) {
        cs_nccl_remark_add(&log->reading, CS_NCCL_UNCHECKED, (int)log->rows[0].line,
                           "this benchmark does not check them by default");
    }
    t->log      = NULL;
    t->capacity = 0;
    return cs_nccl_logs_add(r->logs, log, r->name, err);
}

/* A new table begins. */
static cs_status begin(reading *r, table_kind kind, cs_nccl_measured measured, const char *program,
                       cs_error *err)
{
    table *t = &r->table;

    CS_TRY(finish_log(r, err));
    cs_nccl_log *log      = t->log;
    size_t       capacity = t->capacity;
    *t = (table){.kind = kind, .measured = measured, .log = log, .capacity = capacity};
    (void)snprintf(t->program, sizeof t->program, "%s", program);
    return log != NULL ? CS_OK : cs_nccl_log_new(r->name, program, &t->log, err);
}

static cs_status add_row(reading *r, uint64_t bytes, double time_s, cs_error *err)
{
    table       *t    = &r->table;
    cs_nccl_row  row  = {.size_bytes = bytes,
                         .count      = bytes,
                         .type       = "int8",
                         .root       = CS_NCCL_NO_ROOT,
                         .line       = (uint32_t)r->line->number};
    const double rate = (double)bytes / time_s;
    if (!(time_s > 0) || !isfinite(time_s) || !isfinite(rate)) {
        return CS_FAIL(err, CS_EPARSE, "time", "%.6g s: accepted is a finite time above 0", time_s);
    }
    const double ratio = t->measured == CS_NCCL_COLLECTIVE && t->n_ranks > 1
                             ? cs_busbw_factor(t->collective, t->n_ranks)
                             : 1;

    row.timings[0] = (cs_nccl_timing){.is_measured = true,
                                      .time_s      = time_s,
                                      .algbw_Bps   = rate,
                                      .busbw_Bps   = rate * ratio,
                                      .ratio_low   = ratio,
                                      .ratio_high  = ratio};
    if (t->log->n_rows > 0 && t->kind != NVBANDWIDTH &&
        bytes <= t->log->rows[t->log->n_rows - 1].size_bytes) {
        r->line->fault_column = r->line->tokens[t->kind == REDUCE_BENCH ? 1 : 0].column;
        return CS_FAIL(err, CS_EPARSE, "size",
                       "%llu after %llu: two tables are interleaved, or a second one begins "
                       "without a title",
                       (unsigned long long)bytes,
                       (unsigned long long)t->log->rows[t->log->n_rows - 1].size_bytes);
    }
    return cs_nccl_log_push(t->log, &t->capacity, &row, err);
}

/* A value above 0 in a column. */
static cs_status read_value(reading *r, size_t column, const char *what, double *value_p,
                            cs_error *err)
{
    cs_log_line *line = r->line;

    line->fault_column = line->tokens[0].column;
    if (column >= line->n_tokens || column >= CS_LOG_MAX_TOKENS) {
        return CS_FAIL(err, CS_EPARSE, what,
                       "fields: %zu, accepted: %zu or more; is the row cut off?", line->n_tokens,
                       column + 1);
    }
    line->fault_column = line->tokens[column].column;
    if (cs_parse_number(line->tokens[column].text, value_p, "", NULL) != CS_OK || !(*value_p > 0) ||
        !isfinite(*value_p)) {
        return CS_FAIL(err, CS_EPARSE, what, "'%.40s', accepted: a number above 0",
                       line->tokens[column].text);
    }
    return CS_OK;
}

/* The size in the first column; rows of size 0 are counted and left out (*bytes_p is 0). */
static cs_status read_size(reading *r, uint64_t *bytes_p, cs_error *err)
{
    cs_log_line *line = r->line;

    line->fault_column = line->tokens[0].column;
    if (cs_parse_integer(token(line, 0), 0, CS_MAX_BYTES, bytes_p, "", NULL) != CS_OK) {
        return CS_FAIL(err, CS_EPARSE, "size", "'%.40s', accepted: bytes up to 2^50",
                       token(line, 0));
    }
    if (*bytes_p == 0) {
        cs_nccl_remark_add(&r->table.log->reading, CS_NCCL_EMPTY_ROWS, line->number, line->text);
    }
    return CS_OK;
}

/* The time of a row from its value: a time, or a rate of one or both directions. */
static double time_of(const table *t, uint64_t bytes, double value)
{
    return t->measured == CS_NCCL_RATE ? (double)bytes / (value * t->unit / (t->is_both ? 2 : 1))
                                       : value * t->unit;
}

static bool begins_with_number(const cs_log_line *line)
{
    return !line->is_comment && line->n_tokens > 0 && isdigit((unsigned char)token(line, 0)[0]);
}

/* ---- OSU ---- */

/* The collective of "# OSU MPI Allreduce Latency Test"; false where the word is none. */
static bool find_collective(const cs_log_line *line, cs_collective *collective_p, char word[24])
{
    static const struct {
        const char   *word;
        cs_collective collective;
    } words[] = {{"Allreduce", CS_ALLREDUCE},
                 {"Allgather", CS_ALLGATHER},
                 {"All-to-All", CS_ALLTOALL},
                 {"Alltoall", CS_ALLTOALL},
                 {"Reduce_scatter", CS_REDUCESCATTER},
                 {"Broadcast", CS_BROADCAST},
                 {"Bcast", CS_BROADCAST},
                 {"Reduce", CS_REDUCE}};

    for (size_t t = 2; t < line->n_tokens && t < CS_LOG_MAX_TOKENS; t++) {
        for (size_t w = 0; w < sizeof words / sizeof words[0]; w++) {
            if (strcasecmp(token(line, t), words[w].word) == 0) {
                *collective_p = words[w].collective;
                (void)snprintf(word, 24, "%s", words[w].word);
                return true;
            }
        }
    }
    return false;
}

static cs_status read_osu_title(reading *r, cs_error *err)
{
    const char   *text       = r->line->text;
    cs_collective collective = CS_ALLREDUCE;
    char          word[24]   = "", program[32];
    /* "# OSU MPI-CUDA Latency Test": nothing stands between the library and what it measures */
    bool is_plain =
        strcmp(token(r->line, 3), "Latency") == 0 || strcmp(token(r->line, 3), "Bandwidth") == 0;

    r->line->fault_column = r->line->tokens[0].column;
    if (strstr(text, "Latency Test") != NULL && find_collective(r->line, &collective, word)) {
        (void)snprintf(program, sizeof program, "osu_%.20s", word);
        for (char *at = program; *at != '\0'; at++) {
            *at = (char)tolower((unsigned char)*at);
        }
        CS_TRY(begin(r, OSU, CS_NCCL_COLLECTIVE, program, err));
        r->table.collective = collective;
        return CS_OK;
    }
    if (strstr(text, "Bi-Directional Bandwidth Test") != NULL) {
        CS_TRY(begin(r, OSU, CS_NCCL_RATE, "osu_bibw", err));
        r->table.is_both = true;
        return CS_OK;
    }
    if (is_plain && strstr(text, "Bandwidth Test") != NULL) {
        return begin(r, OSU, CS_NCCL_RATE, "osu_bw", err);
    }
    if (is_plain && strstr(text, "Latency Test") != NULL) {
        return begin(r, OSU, CS_NCCL_MESSAGE, "osu_latency", err);
    }
    return CS_FAIL(err, CS_ENOTSUP, "OSU",
                   "'%.60s': accepted are osu_latency, osu_bw, osu_bibw and blocking collectives",
                   text + (r->line->tokens[0].column - 1));
}

/* "# Size      Bandwidth (MB/s)": the unit of the first column behind the size. */
static cs_status read_osu_columns(reading *r, cs_error *err)
{
    table      *t    = &r->table;
    const char *unit = strchr(r->line->text, '(');
    const char *want = t->measured == CS_NCCL_RATE ? "(MB/s)" : "(us)";

    if (unit == NULL || strncmp(unit, want, strlen(want)) != 0) {
        r->line->fault_column = unit != NULL ? (int)(unit - r->line->text) + 1 : 0;
        return CS_FAIL(err, CS_EPARSE, t->program,
                       "'%.20s', accepted behind the size is a column in %s",
                       unit != NULL ? unit : r->line->text, want);
    }
    t->unit        = t->measured == CS_NCCL_RATE ? 1e6 : 1e-6;
    t->column      = 1;
    t->has_columns = true;
    return CS_OK;
}

static cs_status read_osu_row(reading *r, cs_error *err)
{
    table   *t     = &r->table;
    uint64_t bytes = 0;
    double   value = 0;

    CS_TRY(read_size(r, &bytes, err));
    if (bytes == 0) {
        return CS_OK;
    }
    CS_TRY(read_value(r, t->column, t->measured == CS_NCCL_RATE ? "Bandwidth" : "Latency", &value,
                      err));
    bool is_of_block = t->measured == CS_NCCL_COLLECTIVE &&
                       (t->collective == CS_ALLGATHER || t->collective == CS_ALLTOALL);
    if (is_of_block && r->n_ranks == 0) {
        return CS_FAIL(err, CS_EINVAL, "ranks",
                       "%s does not say on how many it ran, and its sizes are those of one rank's "
                       "block: give the number (-n)",
                       t->program);
    }
    const uint64_t blocks = is_of_block ? r->n_ranks : 1;
    if (bytes > CS_MAX_BYTES / blocks) {
        return CS_FAIL(err, CS_EPARSE, "size", "%llu B of %llu ranks: accepted are up to %.15g B",
                       (unsigned long long)bytes, (unsigned long long)blocks, (double)CS_MAX_BYTES);
    }
    return add_row(r, bytes * blocks, time_of(t, bytes, value), err);
}

static cs_status read_osu(reading *r, bool *is_used_p, cs_error *err)
{
    const cs_log_line *line = r->line;

    *is_used_p = true;
    if (line->is_comment && strcmp(token(line, 1), "Size") == 0) {
        return read_osu_columns(r, err);
    }
    if (begins_with_number(line) && r->table.has_columns) {
        return read_osu_row(r, err);
    }
    *is_used_p = line->is_comment;
    return CS_OK;
}

/* ---- perftest ---- */

static cs_status read_perftest_title(reading *r, cs_error *err)
{
    const char *text       = r->line->text;
    bool        is_latency = strstr(text, "Latency Test") != NULL;
    bool        is_read    = strstr(text, "RDMA_Read ") != NULL;
    bool        is_both    = strstr(text, "Bidirectional") != NULL;

    if (strstr(text, "Atomic ") != NULL || (is_read && is_latency)) {
        r->line->fault_column = r->line->tokens[0].column;
        return CS_FAIL(err, CS_ENOTSUP, "perftest",
                       "'%.60s': a request goes before the data; accepted are ib_write_lat, "
                       "ib_send_lat and the tests of bandwidth",
                       text + (r->line->tokens[0].column - 1));
    }
    CS_TRY(begin(r, PERFTEST, is_latency ? CS_NCCL_MESSAGE : CS_NCCL_RATE,
                 strstr(text, "Send ") != NULL ? is_latency ? "ib_send_lat" : "ib_send_bw"
                 : is_read                     ? "ib_read_bw"
                 : is_latency                  ? "ib_write_lat"
                                               : "ib_write_bw",
                 err));
    r->table.is_both = is_both;
    return CS_OK;
}

/* "[MiB/sec]": bytes per second; 0: it is none of perftest's. */
static double perftest_unit(const char *unit)
{
    static const struct {
        const char *name;
        double      Bps;
    } units[] = {{"[MiB/sec]", MEBI}, {"[MB/sec]", MEBI}, {"[Gb/sec]", 1e9 / 8}};

    for (size_t u = 0; u < sizeof units / sizeof units[0]; u++) {
        if (strcmp(unit, units[u].name) == 0) {
            return units[u].Bps;
        }
    }
    return 0;
}

/* Where the average rate, or the typical time, stands. */
static cs_status read_perftest_columns(reading *r, cs_error *err)
{
    cs_log_line *line = r->line;
    table       *t    = &r->table;

    if (t->kind != PERFTEST || t->log->n_rows > 0) { /* without a title, or again */
        bool is_latency = strncmp(token(line, 2), "t_", 2) == 0;
        CS_TRY(begin(r, PERFTEST, is_latency ? CS_NCCL_MESSAGE : CS_NCCL_RATE,
                     is_latency ? "ib_write_lat" : "ib_write_bw", err));
        t = &r->table;
    }
    for (size_t c = 2; c < line->n_tokens && c < CS_LOG_MAX_TOKENS; c++) {
        const char *word = token(line, c);
        if (strcmp(word, "t_typical[usec]") == 0 && t->measured == CS_NCCL_MESSAGE) {
            t->column = c;
            t->unit   = 1e-6;
        } else if (strncmp(word, "average[", 8) == 0 && t->measured == CS_NCCL_RATE) {
            t->column          = 3;
            t->unit            = perftest_unit(word + strlen("average"));
            line->fault_column = line->tokens[c].column;
            if (t->unit == 0) {
                return CS_FAIL(err, CS_EPARSE, t->program,
                               "'%.30s', accepted: MiB/sec, MB/sec (2^20, too) and Gb/sec", word);
            }
        }
    }
    if (!(t->unit > 0)) {
        line->fault_column = line->tokens[0].column;
        return CS_FAIL(err, CS_EPARSE, t->program, "there is no column %s",
                       t->measured == CS_NCCL_RATE ? "'BW average[..]'" : "'t_typical[usec]'");
    }
    t->has_columns = true;
    return CS_OK;
}

static cs_status read_perftest(reading *r, bool *is_used_p, cs_error *err)
{
    table   *t     = &r->table;
    uint64_t bytes = 0;
    double   value = 0;

    *is_used_p = begins_with_number(r->line) && t->has_columns;
    if (!*is_used_p) {
        return CS_OK;
    }
    CS_TRY(read_size(r, &bytes, err));
    if (bytes == 0) {
        return CS_OK;
    }
    CS_TRY(read_value(r, t->column, t->measured == CS_NCCL_RATE ? "BW average" : "t_typical",
                      &value, err));
    return add_row(r, bytes, time_of(t, bytes, value), err);
}

/* ---- nvbandwidth ---- */

static cs_status read_matrix_title(reading *r, cs_error *err)
{
    bool is_both = false, is_pairs = cs_link_pairs(r->line->text, &is_both);

    CS_TRY(begin(r, NVBANDWIDTH, CS_NCCL_RATE, "nvbandwidth", err));
    r->table.unit    = is_pairs ? 1e9 : 0; /* 0: between a GPU and its host */
    r->table.is_both = is_both;
    return CS_OK;
}

cs_status cs_link_pair_row(const char *cell, bool is_both, cs_nccl_row *row_p, bool *has_row_p,
                           cs_error *err)
{
    double value = 0;

    *has_row_p = false;
    if (strcmp(cell, "N/A") == 0) {
        return CS_OK;
    }
    if (cs_parse_number(cell, &value, "", NULL) != CS_OK || value < 0 || value > 1e9) {
        return CS_FAIL(err, CS_EPARSE, "bandwidth", "'%.40s', accepted: GB/s, 0 or more, or N/A",
                       cell);
    }
    if (value > 0) {
        const double rate = value * 1e9 / (is_both ? 2 : 1);
        *has_row_p        = true;
        *row_p            = (cs_nccl_row){.size_bytes = CS_LINK_MATRIX_BYTES,
                                          .count      = CS_LINK_MATRIX_BYTES,
                                          .type       = "int8",
                                          .root       = CS_NCCL_NO_ROOT};
        row_p->timings[0] = (cs_nccl_timing){.is_measured = true,
                                             .time_s      = (double)CS_LINK_MATRIX_BYTES / rate,
                                             .algbw_Bps   = rate,
                                             .busbw_Bps   = rate,
                                             .ratio_low   = 1,
                                             .ratio_high  = 1};
    }
    return CS_OK;
}

/* The numbers of the columns, then rows with their number in front. */
static cs_status read_matrix(reading *r, bool *is_used_p, cs_error *err)
{
    table       *t    = &r->table;
    cs_log_line *line = r->line;

    *is_used_p = begins_with_number(line);
    if (!*is_used_p || t->unit == 0) {
        return CS_OK;
    }
    if (!t->has_columns) {
        t->column      = line->n_tokens;
        t->has_columns = true;
        return CS_OK;
    }
    line->fault_column = line->tokens[0].column;
    if (line->n_tokens != t->column + 1 || line->n_tokens > CS_LOG_MAX_TOKENS) {
        return CS_FAIL(err, CS_EPARSE, "nvbandwidth",
                       "cells: %zu below %zu columns, accepted: as many, up to %d; is the row "
                       "cut off?",
                       line->n_tokens - 1, t->column, CS_LOG_MAX_TOKENS - 1);
    }
    for (size_t c = 1; c < line->n_tokens; c++) {
        cs_nccl_row row;
        bool        has_row;
        line->fault_column = line->tokens[c].column;
        CS_TRY(cs_link_pair_row(token(line, c), t->is_both, &row, &has_row, err));
        if (has_row) {
            row.line = (uint32_t)line->number;
            CS_TRY(cs_nccl_log_push(t->log, &t->capacity, &row, err));
        }
    }
    return CS_OK;
}

/* ---- all_reduce_bench ---- */

/* The whole number in front of a word; false where there is none. */
static bool number_before(const char *text, const char *word, uint64_t *value_p)
{
    const char *at  = strstr(text, word);
    const char *end = at;
    char        digits[16];

    while (at != NULL && at > text && isdigit((unsigned char)at[-1])) {
        at--;
    }
    if (at == NULL || at == end || (size_t)(end - at) >= sizeof digits) {
        return false;
    }
    memcpy(digits, at, (size_t)(end - at));
    digits[end - at] = '\0';
    return cs_parse_integer(digits, 2, CS_MAX_RANKS, value_p, "", NULL) == CS_OK;
}

static cs_status read_bench_title(reading *r, cs_error *err)
{
    const char *text    = bench_title(r->line->text);
    const char *payload = strstr(text, "with a ");
    uint64_t    n_ranks = 0;
    double      size    = 0;
    char        word[16];

    CS_TRY(begin(r, REDUCE_BENCH, CS_NCCL_COLLECTIVE, "all_reduce_bench", err));
    r->line->fault_column = r->line->tokens[0].column;
    if (!number_before(text, " ranks", &n_ranks)) {
        return CS_FAIL(err, CS_EPARSE, "all_reduce_bench",
                       "the title does not say on how many ranks, accepted: '.. 8 ranks ..'");
    }
    r->table.n_ranks = (uint32_t)n_ranks;
    if (payload == NULL) {
        return CS_OK;
    }
    size_t length = strcspn(payload + strlen("with a "), "G ");
    if (length < sizeof word) {
        memcpy(word, payload + strlen("with a "), length);
        word[length] = '\0';
    }
    if (length >= sizeof word || strstr(text, "GB payload") == NULL ||
        cs_parse_number(word, &size, "", NULL) != CS_OK || !(size > 0 && size < 1e6)) {
        return CS_FAIL(err, CS_EPARSE, "all_reduce_bench",
                       "the title does not say the size, accepted: 'with a 4.0GB payload'");
    }
    r->table.payload = (uint64_t)(size * 1e9);
    return CS_OK;
}

/* "32KiB", which is "32KB" in older versions: powers of 1024 both. */
static cs_status read_payload(reading *r, const char *word, uint64_t *bytes_p, cs_error *err)
{
    const size_t digits = strspn(word, "0123456789.");
    char         number[24], unit[8];
    double       value = 0, factor = 0;

    (void)snprintf(number, sizeof number, "%.*s", digits < 20 ? (int)digits : 20, word);
    (void)snprintf(unit, sizeof unit, "%.7s", word + digits);
    for (size_t u = 0; u < 4; u++) {
        static const char *const names[][2] = {
            {"B", "B"}, {"KiB", "KB"}, {"MiB", "MB"}, {"GiB", "GB"}};
        if (strcmp(unit, names[u][0]) == 0 || strcmp(unit, names[u][1]) == 0) {
            factor = ldexp(1, 10 * (int)u);
        }
    }
    if (cs_parse_number(number, &value, "", NULL) != CS_OK || !(value * factor >= 1) ||
        !(value * factor <= (double)CS_MAX_BYTES)) {
        r->line->fault_column = r->line->tokens[1].column;
        return CS_FAIL(err, CS_EPARSE, "payload", "'%.40s', accepted: as 32KiB", word);
    }
    *bytes_p = (uint64_t)(value * factor);
    return CS_OK;
}

/* A rate in GBps, of which the last digit says how coarse it is. */
static cs_status add_bench_row(reading *r, uint64_t bytes, const char *word, size_t column,
                               cs_error *err)
{
    const size_t digits = strspn(word, "0123456789.");
    const char  *point  = strchr(word, '.');
    char         number[24];
    double       GBps = 0;

    (void)snprintf(number, sizeof number, "%.*s", digits < 20 ? (int)digits : 20, word);
    r->line->fault_column = r->line->tokens[column].column;
    bool has_unit         = word[digits] == '\0' || strcmp(word + digits, "GBps") == 0;
    if (!has_unit || cs_parse_number(number, &GBps, "", NULL) != CS_OK) {
        return CS_FAIL(err, CS_EPARSE, "algbw", "'%.40s', accepted: as 0.92GBps", word);
    }
    const double half = 0.5 * pow(10, point != NULL ? -(double)strspn(point + 1, "0123456789") : 0);
    if (half > COARSEST * GBps) {
        char text[64];
        (void)snprintf(text, sizeof text, "size %llu: algbw %.24s is too coarse",
                       (unsigned long long)bytes, word);
        cs_nccl_remark_add(&r->table.log->reading, CS_NCCL_UNMEASURED_ROWS, r->line->number, text);
        return CS_OK;
    }
    return add_row(r, bytes, (double)bytes / (GBps * 1e9), err);
}

static cs_status read_bench(reading *r, bool *is_used_p, cs_error *err)
{
    table             *t     = &r->table;
    const cs_log_line *line  = r->line;
    uint64_t           bytes = 0;

    *is_used_p = true;
    if (t->payload > 0 && strcmp(token(line, 0), "algbw:") == 0) {
        return add_bench_row(r, t->payload, token(line, 1), 1, err);
    }
    if (t->payload == 0 && strcmp(token(line, 1), "payload") == 0) {
        for (size_t c = 1; c < line->n_tokens && c < CS_LOG_MAX_TOKENS; c++) {
            t->column = strcmp(token(line, c), "algbw") == 0 ? c : t->column;
        }
        t->has_columns = t->column > 0;
        return CS_OK;
    }
    if (t->has_columns && strcmp(token(line, 0), "|") == 0 &&
        isdigit((unsigned char)token(line, 1)[0])) {
        CS_TRY(read_payload(r, token(line, 1), &bytes, err));
        if (t->column >= line->n_tokens) {
            r->line->fault_column = line->tokens[0].column;
            return CS_FAIL(err, CS_EPARSE, "algbw", "fields: %zu; is the row cut off?",
                           line->n_tokens);
        }
        return add_bench_row(r, bytes, token(line, t->column), t->column, err);
    }
    *is_used_p = strcmp(token(line, 0), "busbw:") == 0 || strcmp(token(line, 0), "|") == 0;
    return CS_OK;
}

/* ---- any of them ---- */

/* "- hardware: _CudaDeviceProperties(name='NVIDIA GB200', ..", "Device 0: NVIDIA A100-SXM4-80GB":
 * the GPU. */
static void read_device(reading *r, const char *text)
{
    const char *at = strstr(text, "name='");

    if (r->device[0] != '\0') {
        return;
    }
    if (at != NULL) {
        at += strlen("name='");
        (void)snprintf(r->device, sizeof r->device, "%.*s", (int)strcspn(at, "'"), at);
    } else if (strncmp(text, "Device 0: ", 10) == 0) {
        cs_plain_text(r->device, sizeof r->device, text + 10);
    }
}

static cs_status read_line(reading *r, cs_error *err)
{
    cs_log_line *line    = r->line;
    bool         is_used = true;

    read_device(r, line->text);
    if (is_osu_title(line)) {
        return read_osu_title(r, err);
    }
    if (is_perftest_title(line->text)) {
        return read_perftest_title(r, err);
    }
    if (is_perftest_columns(line)) {
        return read_perftest_columns(r, err);
    }
    if (strstr(line->text, "(row)") != NULL && strstr(line->text, "(column)") != NULL) {
        return read_matrix_title(r, err);
    }
    if (bench_title(line->text) != NULL) {
        return read_bench_title(r, err);
    }
    switch (r->table.kind) {
    case OSU: CS_TRY(read_osu(r, &is_used, err)); break;
    case PERFTEST: CS_TRY(read_perftest(r, &is_used, err)); break;
    case NVBANDWIDTH: CS_TRY(read_matrix(r, &is_used, err)); break;
    case REDUCE_BENCH: CS_TRY(read_bench(r, &is_used, err)); break;
    case NO_TABLE: is_used = false; break;
    }
    if (!is_used) {
        cs_nccl_skip_line(&r->table.log->reading, line);
    }
    return CS_OK;
}

static cs_status read_all(reading *r, cs_log_reader *reader, cs_error *err)
{
    const size_t n_before = r->logs->n;
    bool         has_more = true;

    while (has_more) {
        if (r->table.log == NULL) {
            CS_TRY(cs_nccl_log_new(r->name, r->table.program, &r->table.log, err));
        }
        CS_TRY(read_line(r, err));
        CS_TRY(cs_log_reader_next(reader, &has_more, err));
    }
    CS_TRY(finish_log(r, err));
    if (r->logs->n == n_before) {
        reader->line.number       = 0;
        reader->line.fault_column = 0;
        return CS_FAIL(err, CS_EPARSE, "",
                       "a title and no row below it: is it cut off? (accepted: tables of "
                       "nccl-tests, OSU, perftest, nvbandwidth and all_reduce_bench)");
    }
    return CS_OK;
}

cs_status cs_link_logs_read(cs_log_reader *reader, cs_nccl_log *log, const char *name,
                            uint32_t n_ranks, cs_nccl_logs *logs, cs_error *err)
{
    const size_t n_before = logs->n;
    reading      r        = {.table   = {.log = log},
                             .name    = name,
                             .n_ranks = n_ranks,
                             .logs    = logs,
                             .line    = &reader->line};
    cs_status    status   = read_all(&r, reader, err);

    cs_nccl_log_free(r.table.log);
    if (status != CS_OK) {
        cs_nccl_logs_cut(logs, n_before);
    }
    return status;
}
