/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One pass over the lines (log_line.c): rows are collected, all other lines are asked what they
 * know; at the end both are put together.
 *
 * In a row, an operation (a word, may be blank) and a root (absent in old logs) stand behind size,
 * count and type, then 8 fields, or 16 with per-iteration columns: time, algbw, busbw, #wrong and,
 * with 16, four more, for each of the two sides; last a time stamp of two fields, which is dropped.
 * So the number of fields behind the operation says which of them there are.
 *
 * Lines that are used: the one with the names of the columns, "# nThread ..", "#  Rank ..",
 * "# Collective test starting|concluded: ..", "# nccl-tests version ..", "NCCL version ..", the
 * footers, failures of nccl-tests and of launchers, and any line that names a program of nccl-tests
 * (a command line in an issue, for example). Other comments of nccl-tests are known to say nothing.
 *
 * Which collective ran on how many ranks. busbw / algbw is 2(n-1)/n for AllReduce, (n-1)/n for
 * AllGather, ReduceScatter and AlltoAll, and 1 for Broadcast, Reduce and SendRecv (nccl-tests,
 * doc/PERFORMANCE.md). Both columns are rounded, so each row gives an interval for the quotient;
 * the intervals of all rows have to meet, and their intersection, which the large rows make narrow,
 * bounds n. What the quotient leaves open about the collective, the columns may say: old versions
 * had no column redop for AllGather and left it blank for AlltoAll. New versions write "none" for
 * both, which is not enough.
 */
#include "traces/nccl_tests.h"

#include "base/alloc.h"
#include "cs/cluster.h"
#include "cs/units.h"
#include "traces/log_line.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows ---- */

/* A printed number: its value, and half a unit of its last digit. */
typedef struct printed {
    double value, half;
} printed;

const char *cs_nccl_side_name(cs_nccl_side side)
{
    return side == CS_NCCL_IN_PLACE ? "in-place" : "out-of-place";
}

/* Bytes of one element of a type's name, or 0 for a name that is unknown. */
static uint32_t type_bytes(const char *type)
{
    static const struct {
        const char *name;
        uint32_t    bytes;
    } types[] = {
        {"float", 4},    {"half", 2},     {"bfloat16", 2}, {"double", 8},
        {"int8", 1},     {"uint8", 1},    {"int32", 4},    {"uint32", 4},
        {"int64", 8},    {"uint64", 8},   {"f8e4m3", 1},   {"f8e5m2", 1},
        {"fp8_e4m3", 1}, {"fp8_e5m2", 1}, {"char", 1},     {"int", 4},
    };

    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        if (strcmp(type, types[t].name) == 0) {
            return types[t].bytes;
        }
    }
    return 0;
}

static bool is_number(const char *text)
{
    return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

/* Does the line claim to be a row (two numbers and a type)? Anything else is noise. */
static bool is_row(const cs_log_line *line)
{
    const cs_log_token *tokens = line->tokens;

    if (line->is_comment || line->n_tokens < 3) {
        return false;
    }
    return type_bytes(tokens[2].text) > 0 ||
           (is_number(tokens[0].text) && is_number(tokens[1].text) && line->n_tokens >= 11);
}

/* Does such a row stand behind words that were not taken for a launcher's label? */
static bool is_labelled_row(const cs_log_line *line)
{
    const cs_log_token *tokens = line->tokens;

    for (size_t t = 1; t + 2 < line->n_tokens && t + 2 < CS_LOG_MAX_TOKENS; t++) {
        if (is_number(tokens[t].text) && is_number(tokens[t + 1].text) &&
            type_bytes(tokens[t + 2].text) > 0) {
            return true;
        }
    }
    return false;
}

/* Half a unit of the last digit of a number that is known to be one. */
static double half_unit(const char *text)
{
    const char *exponent = strpbrk(text, "eE");
    const char *point    = strchr(text, '.');
    long        power    = exponent != NULL ? strtol(exponent + 1, NULL, 10) : 0;

    if (point != NULL) {
        power -= (long)strspn(point + 1, "0123456789");
    }
    return 0.5 * pow(10.0, (double)power);
}

static bool read_number(const char *text, printed *number_p)
{
    double value = 0;

    if (cs_parse_number(text, &value, "", NULL) != CS_OK) {
        return false;
    }
    *number_p = (printed){value, half_unit(text)};
    return true;
}

static cs_status read_integer(cs_log_line *line, size_t index, const char *name, uint64_t *value_p,
                              cs_error *err)
{
    const char *text = line->tokens[index].text;

    line->fault_column = line->tokens[index].column;
    if (!is_number(text) ||
        cs_parse_integer(text, 0, (uint64_t)1 << 53, value_p, name, NULL) != CS_OK) {
        return CS_FAIL(err, CS_EPARSE, name, "'%.40s', accepted: an integer from 0 to 2^53", text);
    }
    return CS_OK;
}

static cs_status read_head(cs_log_line *line, cs_nccl_row *row, cs_error *err)
{
    const char *type = line->tokens[2].text;

    CS_TRY(read_integer(line, 0, "size", &row->size_bytes, err));
    CS_TRY(read_integer(line, 1, "count", &row->count, err));
    line->fault_column = line->tokens[2].column;
    if (type_bytes(type) == 0) {
        return CS_FAIL(err, CS_EPARSE, "type", "'%.40s', accepted: a type of nccl-tests as float",
                       type);
    }
    memcpy(row->type, type, strlen(type) + 1);
    row->line = (uint32_t)line->number;
    return CS_OK;
}

/* A rate in GB/s; `name` is the column's. */
static cs_status read_rate(cs_log_line *line, size_t index, const char *name, printed *rate_p,
                           cs_error *err)
{
    const char *text = line->tokens[index].text;

    line->fault_column = line->tokens[index].column;
    if (!read_number(text, rate_p) || rate_p->value < 0) {
        return CS_FAIL(err, CS_EPARSE, name, "'%.40s', accepted: GB/s, 0 or more", text);
    }
    return CS_OK;
}

static cs_status read_wrong(cs_log_line *line, size_t index, cs_nccl_timing *timing, cs_error *err)
{
    const char *text  = line->tokens[index].text;
    printed     wrong = {0};

    line->fault_column = line->tokens[index].column;
    if (strcmp(text, "N/A") == 0) {
        return CS_OK;
    }
    if (!read_number(text, &wrong) || wrong.value < 0) {
        return CS_FAIL(err, CS_EPARSE, "#wrong", "'%.40s', accepted: a number or N/A", text);
    }
    timing->is_checked = true;
    timing->n_wrong    = wrong.value;
    return CS_OK;
}

/* Where busbw / algbw lies, given that both are rounded. */
static void set_ratio(cs_nccl_timing *timing, printed algbw, printed busbw)
{
    double low  = busbw.value - busbw.half;
    double room = algbw.value - algbw.half;

    timing->ratio_low  = low > 0 ? low / (algbw.value + algbw.half) : 0;
    timing->ratio_high = room > 0 ? (busbw.value + busbw.half) / room : HUGE_VAL;
}

/* Slack for what the arithmetic of the bounds below loses itself. */
#define ROUNDING 1e-9

/* nccl-tests prints algbw = size / time for every collective, each of the two rounded on its own.
 * So the time, give or take half a unit of its last digit, leaves a range that algbw, give or take
 * half a unit of its own, must meet. */
static cs_status check_rate(cs_log_line *line, size_t index, uint64_t size_bytes, printed time,
                            printed algbw, cs_nccl_side side, cs_error *err)
{
    double size_GBps_us = (double)size_bytes * 1e-3; /* in GB/s x us, as the columns have it */
    double low          = size_GBps_us / (time.value + time.half);
    double high =
        time.value > time.half ? size_GBps_us / (time.value - time.half) : (double)INFINITY;

    if (algbw.value + algbw.half >= low * (1 - ROUNDING) &&
        algbw.value - algbw.half <= high * (1 + ROUNDING)) {
        return CS_OK;
    }
    line->fault_column = line->tokens[index].column;
    return CS_FAIL(err, CS_EPARSE, "algbw",
                   "%s GB/s %s is not size / time, which is %.6g to %.6g GB/s as the time is "
                   "rounded: columns are shifted, or the row is not as nccl-tests wrote it",
                   line->tokens[index].text, cs_nccl_side_name(side), low, high);
}

/* The four fields of one side, from `index` on. */
static cs_status read_side(cs_log_line *line, size_t index, cs_nccl_side side, bool is_cputime,
                           cs_nccl_row *row, cs_error *err)
{
    cs_nccl_timing *timing = &row->timings[side];
    const char     *text   = line->tokens[index].text;
    printed         time = {0}, algbw = {0}, busbw = {0};

    if (strcmp(text, "N/A") == 0) {
        return CS_OK;
    }
    line->fault_column = line->tokens[index].column;
    if (!read_number(text, &time) || time.value <= 0) {
        return CS_FAIL(err, CS_EPARSE, "time", "'%.40s', accepted: microseconds above 0, or N/A",
                       text);
    }
    CS_TRY(read_rate(line, index + 1, "algbw", &algbw, err));
    CS_TRY(read_rate(line, index + 2, "busbw", &busbw, err));
    CS_TRY(read_wrong(line, index + 3, timing, err));
    if (!is_cputime) {
        CS_TRY(check_rate(line, index + 1, row->size_bytes, time, algbw, side, err));
    }
    timing->is_measured = true;
    timing->time_s      = time.value * 1e-6;
    timing->algbw_Bps   = algbw.value * 1e9;
    timing->busbw_Bps   = busbw.value * 1e9;
    set_ratio(timing, algbw, busbw);
    return CS_OK;
}

/* "2026-01-31 12:00:00" at the end of a row. */
static bool has_timestamp(const cs_log_line *line)
{
    const char *date, *time;

    if (line->n_tokens < 2 || line->n_tokens > CS_LOG_MAX_TOKENS) {
        return false;
    }
    date = line->tokens[line->n_tokens - 2].text;
    time = line->tokens[line->n_tokens - 1].text;
    return strlen(date) == 10 && date[4] == '-' && date[7] == '-' && strlen(time) == 8 &&
           time[2] == ':' && time[5] == ':';
}

/* The optional fields between type and time. Sets *first_p to the index of the first time
 * and *side_p to the number of fields of a side. */
static cs_status read_middle(cs_log_line *line, cs_nccl_row *row, size_t *first_p, size_t *side_p,
                             cs_error *err)
{
    size_t      end   = line->n_tokens - (has_timestamp(line) ? 2 : 0);
    size_t      at    = 3;
    const char *redop = end > 3 ? line->tokens[3].text : "";
    size_t      fields;

    if (redop[0] >= 'a' && redop[0] <= 'z' && strlen(redop) < sizeof row->redop &&
        strcmp(redop, "nan") != 0 && strcmp(redop, "inf") != 0) {
        memcpy(row->redop, redop, strlen(redop) + 1);
        at++;
    }
    fields    = end - at;
    row->root = CS_NCCL_NO_ROOT;
    if (fields == 9 || fields == 17) {
        printed root       = {0};
        line->fault_column = line->tokens[at].column;
        if (!read_number(line->tokens[at].text, &root) || root.half != 0.5 || root.value < -1 ||
            root.value >= CS_MAX_RANKS) {
            return CS_FAIL(err, CS_EPARSE, "root", "'%.40s', accepted: a rank, or -1",
                           line->tokens[at].text);
        }
        row->root = (int32_t)root.value;
        at++;
        fields--;
    }
    if (fields != 8 && fields != 16) {
        line->fault_column = line->tokens[0].column;
        return CS_FAIL(err, CS_EPARSE, "",
                       "a row with %zu fields behind type and redop, accepted: 8 or 16, and a root",
                       fields);
    }
    *first_p = at;
    *side_p  = fields / 2;
    return CS_OK;
}

/* Read a row; on an error line->fault_column is the column of the field at fault. A row of
 * size 0 is read up to its type. An algbw that cannot be size / time, both as they are rounded, is
 * refused, unless the times are those of the CPU (`is_cputime`), of which algbw does not come. */
static cs_status parse_row(cs_log_line *line, bool is_cputime, cs_nccl_row *row_p, cs_error *err)
{
    cs_nccl_row row   = {0};
    size_t      first = 0, side_fields = 0;

    CS_TRY(read_head(line, &row, err));
    if (row.size_bytes > 0) {
        CS_TRY(read_middle(line, &row, &first, &side_fields, err));
        for (size_t side = 0; side < CS_NCCL_SIDES; side++) {
            CS_TRY(read_side(line, first + side * side_fields, (cs_nccl_side)side, is_cputime, &row,
                             err));
        }
    }
    line->fault_column = 0;
    if (row.size_bytes > 0 && !row.timings[0].is_measured && !row.timings[1].is_measured) {
        return CS_FAIL(err, CS_EPARSE, "time", "N/A out-of-place and in-place");
    }
    *row_p = row;
    return CS_OK;
}

/* ---- the run that the header announces ---- */

/* The whole number at `text`; NULL where there is none, else what stands behind it. */
static const char *read_whole(const char *text, uint64_t *value_p)
{
    char   word[24];
    size_t length = strspn(text, "0123456789");

    if (length >= sizeof word) {
        return NULL;
    }
    memcpy(word, text, length);
    word[length] = '\0';
    return cs_parse_integer(word, 0, (uint64_t)1 << 53, value_p, "", NULL) == CS_OK ? text + length
                                                                                    : NULL;
}

/* The number behind a key at or behind `text`; NULL where there is none, else what follows it. */
static const char *read_key(const char *text, const char *key, uint64_t *value_p)
{
    const char *at = strstr(text, key);

    return at != NULL ? read_whole(at + strlen(key), value_p) : NULL;
}

static bool read_header(cs_nccl_run *run, const cs_log_line *line)
{
    const char *text = line->text;
    cs_nccl_run read = {.line = (uint32_t)line->number};
    uint64_t    step = 0, validation = 1;

    if (read_key(text, "minBytes ", &read.min_bytes) == NULL ||
        read_key(text, "maxBytes ", &read.max_bytes) == NULL || read.min_bytes > read.max_bytes) {
        return false;
    }
    const char *unit = read_key(text, "step: ", &step);
    if (unit != NULL && strncmp(unit, "(factor)", 8) == 0) {
        read.step_factor = step;
    } else if (unit != NULL && strncmp(unit, "(bytes)", 7) == 0) {
        read.step_bytes = step;
    }
    const char *behind = read_key(text, "warmup iters: ", &read.n_warmup_iters);
    (void)read_key(behind != NULL ? behind : text, "iters: ", &read.n_iters);
    (void)read_key(text, "validation: ", &validation);
    read.is_unchecked = validation == 0;
    *run              = read;
    return true;
}

/* Take what a comment says of the run: the header, or that nccl-tests lowered maxBytes for lack of
 * memory. False where it says nothing of the kind. */
static bool read_run(cs_nccl_run *run, const cs_log_line *line)
{
    uint64_t max_bytes = 0;

    if (read_header(run, line)) {
        return true;
    }
    if (read_key(line->text, "Reducing maxBytes to ", &max_bytes) == NULL) {
        return false;
    }
    run->max_bytes = max_bytes < run->max_bytes ? max_bytes : run->max_bytes;
    run->min_bytes = max_bytes < run->min_bytes ? max_bytes : run->min_bytes;
    return true;
}

/* ---- the lines around the rows ---- */

typedef struct heading_lines {
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
} heading_lines;

/* Does the line begin with a launcher's name, or with a shell's prompt? */
static bool is_of_launcher(const cs_log_line *line)
{
    static const char *const names[] = {"srun",   "slurmstepd", "salloc",  "sbatch",
                                        "mpirun", "mpiexec",    "prterun", "orterun"};
    const char              *word    = line->tokens[0].text;

    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        if (strncmp(word, names[n], strlen(names[n])) == 0) {
            return true;
        }
    }
    return word[strlen(word) - 1] == '$';
}

/* Count a line of which nothing is taken, by what it looks like. */
static void skip_line(cs_nccl_reading *reading, const cs_log_line *line)
{
    cs_nccl_remark_kind kind = CS_NCCL_OTHERS;

    if (line->n_tokens == 0) {
        return;
    }
    if (line->is_comment) {
        kind = CS_NCCL_COMMENTS;
    } else if (strstr(line->text, "NCCL WARN") != NULL) {
        kind = CS_NCCL_WARNINGS;
    } else if (strstr(line->text, "NCCL INFO") != NULL ||
               strstr(line->text, "NCCL TRACE") != NULL) {
        kind = CS_NCCL_MESSAGES;
    } else if (is_labelled_row(line)) {
        kind = CS_NCCL_LABELLED_ROWS;
    } else if (isdigit((unsigned char)line->tokens[0].text[0])) {
        kind = CS_NCCL_TORN_ROWS;
    } else if (is_of_launcher(line)) {
        kind = CS_NCCL_LAUNCHERS;
    }
    cs_nccl_remark_add(reading, kind, line->number, line->text);
}

/* Programs of nccl-tests that are none of cs_collective. */
static const char *const other_programs[] = {"sendrecv_perf", "gather_perf", "scatter_perf",
                                             "hypercube_perf", "alltoallv_perf"};

static bool find_program(const char *program, cs_collective *collective_p)
{
    for (int c = 0; c < CS_COLLECTIVE_COUNT; c++) {
        if (strcmp(program, cs_collectives[c].perf_name) == 0) {
            *collective_p = (cs_collective)c;
            return true;
        }
    }
    return false;
}

static bool is_program(const char *name)
{
    cs_collective any;

    for (size_t p = 0; p < sizeof other_programs / sizeof other_programs[0]; p++) {
        if (strcmp(name, other_programs[p]) == 0) {
            return true;
        }
    }
    return find_program(name, &any);
}

/* The program whose name ends where "_perf" at `suffix` ends; false when it is none. */
static bool read_program(const char *begin, const char *suffix, char name[32])
{
    const char *first = suffix;
    size_t      length;

    while (first > begin && ((first[-1] >= 'a' && first[-1] <= 'z') || first[-1] == '_')) {
        first--;
    }
    length = (size_t)(suffix - first) + strlen("_perf");
    if (length >= 32) {
        return false;
    }
    memcpy(name, first, length);
    name[length] = '\0';
    return is_program(name);
}

/* Takes the programs that are named; is there one? */
static bool read_mentions(heading_lines *heading, const char *text)
{
    const char *suffix = text;
    bool        is_one = false;
    char        name[32];

    while ((suffix = strstr(suffix, "_perf")) != NULL) {
        if (read_program(text, suffix, name)) {
            if (heading->mentioned[0] != '\0' && strcmp(heading->mentioned, name) != 0) {
                heading->is_ambiguous = true;
            }
            memcpy(heading->mentioned, name, sizeof name);
            is_one = true;
        }
        suffix += strlen("_perf");
    }
    return is_one;
}

static cs_status read_conclusion(heading_lines *heading, cs_log_line *line, const char *at,
                                 cs_error *err)
{
    const char *suffix = strstr(at, "_perf");
    char        name[32];

    line->fault_column = (int)(at - line->text) + 1;
    if (suffix == NULL || !read_program(at, suffix, name)) {
        return CS_OK;
    }
    if (heading->stated[0] != '\0' && strcmp(heading->stated, name) != 0) {
        return CS_FAIL(err, CS_EPARSE, "", "%s, but %s above: give one table per file", name,
                       heading->stated);
    }
    memcpy(heading->stated, name, sizeof name);
    return CS_OK;
}

static bool has_token(const cs_log_line *line, const char *word)
{
    for (size_t t = 0; t < line->n_tokens && t < CS_LOG_MAX_TOKENS; t++) {
        if (strcmp(line->tokens[t].text, word) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_columns(const cs_log_line *line)
{
    return has_token(line, "size") && has_token(line, "count") && has_token(line, "type") &&
           has_token(line, "algbw") && has_token(line, "busbw");
}

static cs_status read_columns(heading_lines *heading, const cs_log_line *line, cs_error *err)
{
    if (heading->has_columns) {
        return CS_FAIL(err, CS_EPARSE, "",
                       "a second table begins here: give one table per file (several processes "
                       "of nccl-tests without MPI write several)");
    }
    heading->has_columns  = true;
    heading->has_redop    = has_token(line, "redop");
    heading->has_root     = has_token(line, "root");
    heading->is_deviation = has_token(line, "error");
    heading->is_cputime   = has_token(line, "cputime");
    return CS_OK;
}

/* The number behind a word such as "Group"; false when there is none. */
static bool number_after(const cs_log_line *line, const char *word, uint64_t *value_p)
{
    for (size_t t = 0; t + 1 < line->n_tokens && t + 1 < CS_LOG_MAX_TOKENS; t++) {
        if (strcmp(line->tokens[t].text, word) == 0) {
            return cs_parse_integer(line->tokens[t + 1].text, 0, CS_MAX_RANKS - 1, value_p, "",
                                    NULL) == CS_OK;
        }
    }
    return false;
}

/* What stands behind the last ']': the name of the GPU. */
static void read_device(heading_lines *heading, const char *text)
{
    const char *bracket = strrchr(text, ']');
    size_t      length;

    if (bracket == NULL) {
        return;
    }
    bracket += 1 + strspn(bracket + 1, " ");
    length = strlen(bracket);
    while (length > 0 && bracket[length - 1] == ' ') {
        length--;
    }
    snprintf(heading->device, sizeof heading->device, "%.*s", length < 63 ? (int)length : 63,
             bracket);
}

static cs_status read_rank(heading_lines *heading, cs_log_line *line, bool *is_used_p,
                           cs_error *err)
{
    uint64_t rank = 0, group = 0;

    *is_used_p = number_after(line, "Rank", &rank);
    if (!*is_used_p) {
        return CS_OK;
    }
    if (rank < heading->n_listed) {
        line->fault_column = line->tokens[1].column;
        return CS_FAIL(err, CS_EPARSE, "Rank",
                       "rank %u stands below rank %u: several programs wrote this log, give one "
                       "table per file",
                       (unsigned)rank, heading->n_listed - 1);
    }
    heading->n_listed  = (uint32_t)rank + 1;
    heading->rank_line = line->number;
    if (number_after(line, "Group", &group) && group >= heading->n_groups) {
        heading->n_groups = (uint32_t)group + 1;
    }
    read_device(heading, line->text);
    return CS_OK;
}

/* Takes the first line that has versions; is this one? */
static bool read_versions(heading_lines *heading, const char *text)
{
    const char *at = strstr(text, "nccl-tests version ");
    size_t      length;

    at = at != NULL ? at : strstr(text, "NCCL version ");
    if (at == NULL || heading->versions[0] != '\0') {
        return at != NULL;
    }
    length = strlen(at);
    while (length > 0 && at[length - 1] == ' ') {
        length--;
    }
    snprintf(heading->versions, sizeof heading->versions, "%.*s", length < 95 ? (int)length : 95,
             at);
    return true;
}

/* The first of `words` that the text has, or NULL. */
static const char *find_any(const char *text, const char *const *words, size_t n)
{
    for (size_t w = 0; w < n; w++) {
        const char *at = strstr(text, words[w]);
        if (at != NULL) {
            return at;
        }
    }
    return NULL;
}

#define FIND_ANY(text, words) find_any((text), (words), sizeof(words) / sizeof(words)[0])

/* Footers that say FAILED, and what nccl-tests and launchers write when they give up. */
static bool read_failure(cs_nccl_reading *reading, const cs_log_line *line)
{
    static const char *const failures[] = {
        "Test NCCL failure", "Test CUDA failure", ": Test failure ", ": Test timeout ",
        "srun: error:",      "mpirun noticed",    "prterun noticed"};
    const char *text       = line->text;
    bool        has_footer = line->is_comment && has_token(line, "FAILED");

    if (has_footer && strstr(text, "Out of bounds values") != NULL) {
        cs_nccl_remark_add(reading, CS_NCCL_FAILED_RESULTS, line->number, text);
    } else if ((has_footer && strstr(text, "Avg bus bandwidth") != NULL) ||
               (line->is_comment && strstr(text, "# error: ") != NULL) ||
               FIND_ANY(text, failures) != NULL) {
        cs_nccl_remark_add(reading, CS_NCCL_FAILED_RUN, line->number, text);
    } else {
        return false;
    }
    return true;
}

/* A comment of nccl-tests that says nothing of use, or nothing at all. */
static bool is_known_comment(const cs_log_line *line)
{
    static const char *const known[] = {
        "Using devices",        "out-of-place",          "(elements)",
        "Out of bounds values", "Avg bus bandwidth",     "GPU memory usage",
        "Blocking Enabled",     "Parallel Init Enabled", "Per-Iteration Report",
        "JSON output",          "Errors with asterisks",
    };

    return FIND_ANY(line->text, known) != NULL ||
           (line->n_tokens == 1 &&
            strspn(line->tokens[0].text, "#") == strlen(line->tokens[0].text));
}

static cs_status read_comment(heading_lines *heading, cs_log_line *line, cs_nccl_reading *reading,
                              bool *is_used_p, cs_error *err)
{
    static const char *const words[] = {"Collective test concluded:", "Collective test starting:"};
    const char              *at      = FIND_ANY(line->text, words);

    *is_used_p = true;
    if (at != NULL) {
        return read_conclusion(heading, line, at, err);
    }
    if (is_columns(line)) {
        return read_columns(heading, line, err);
    }
    if (line->n_tokens > 2 && strcmp(line->tokens[1].text, "Rank") == 0) {
        return read_rank(heading, line, is_used_p, err);
    }
    *is_used_p = read_run(&reading->run, line) || is_known_comment(line);
    return CS_OK;
}

/* Take what a line that is no row says; `reading` has the run that is announced, failures, and the
 * lines that say nothing. Refuses what shows that two programs wrote the log: the columns named
 * twice, ranks listed twice, two different conclusions. */
static cs_status read_heading(heading_lines *heading, cs_log_line *line, cs_nccl_reading *reading,
                              cs_error *err)
{
    bool has_versions = read_versions(heading, line->text);
    bool is_failure   = read_failure(reading, line);
    bool is_used      = false;

    if (line->is_comment) {
        CS_TRY(read_comment(heading, line, reading, &is_used, err));
    }
    if (!read_mentions(heading, line->text) && !is_used && !has_versions && !is_failure) {
        skip_line(reading, line);
    }
    return CS_OK;
}

/* ---- what rows and lines say together ---- */

typedef struct ratio {
    double low, high;
} ratio;

static cs_status intersect(const cs_nccl_log *log, ratio *common, int *line_p, cs_error *err)
{
    *common = (ratio){0, HUGE_VAL};
    for (size_t r = 0; r < log->n_rows; r++) {
        for (size_t side = 0; side < CS_NCCL_SIDES; side++) {
            const cs_nccl_timing *timing = &log->rows[r].timings[side];

            if (!timing->is_measured) {
                continue;
            }
            if (timing->ratio_low > common->high * (1 + 1e-9) ||
                timing->ratio_high < common->low * (1 - 1e-9)) {
                *line_p = (int)log->rows[r].line;
                return CS_FAIL(err, CS_EPARSE, "busbw",
                               "busbw / algbw = %.5g to %.5g contradicts the rows above (%.5g to "
                               "%.5g): the rows are not of one table",
                               timing->ratio_low, timing->ratio_high, common->low, common->high);
            }
            common->low  = fmax(common->low, timing->ratio_low);
            common->high = fmin(common->high, timing->ratio_high);
        }
    }
    return CS_OK;
}

static bool is_operation(const char *redop)
{
    return redop[0] != '\0' && strcmp(redop, "none") != 0;
}

/* The collective that quotient and columns leave, if it is one. */
static bool guess(const cs_nccl_log *log, const heading_lines *heading, ratio quotient,
                  cs_collective *collective_p)
{
    const cs_nccl_row *row     = &log->rows[log->n_rows - 1];
    bool               reduces = is_operation(row->redop);
    bool               is_one  = quotient.high - quotient.low < 0.01 && quotient.high >= 1;

    if (quotient.low > 1) {
        *collective_p = CS_ALLREDUCE;
        return true;
    }
    if (quotient.high < 1) {
        *collective_p = reduces              ? CS_REDUCESCATTER
                        : heading->has_redop ? CS_ALLTOALL
                                             : CS_ALLGATHER;
        return reduces || (heading->has_columns && row->redop[0] == '\0' && !heading->has_root);
    }
    if (is_one && row->root >= 0) {
        *collective_p = reduces ? CS_REDUCE : CS_BROADCAST;
        return true;
    }
    *collective_p = CS_ALLREDUCE;
    return is_one && reduces && row->root == -1;
}

/* Does the quotient fit what the program's bandwidth formula can give? */
static bool fits(cs_collective collective, ratio quotient)
{
    switch (cs_collectives[collective].bus) {
    case 2: return quotient.high >= 1 && quotient.low < 2; /* 2 (n - 1) / n */
    case 1: return quotient.low < 1;                       /* (n - 1) / n */
    default: return quotient.low <= 1 && quotient.high >= 1;
    }
}

static cs_status name_collective(cs_nccl_log *log, const heading_lines *heading, ratio quotient,
                                 cs_error *err)
{
    bool        is_stated = heading->stated[0] != '\0';
    const char *program   = is_stated               ? heading->stated
                            : heading->is_ambiguous ? ""
                                                    : heading->mentioned;

    memcpy(log->program, program, strlen(program) + 1);
    if (program[0] == '\0') {
        log->collective_from =
            guess(log, heading, quotient, &log->collective) ? CS_NCCL_COLUMNS : CS_NCCL_UNKNOWN;
        return CS_OK;
    }
    if (!find_program(program, &log->collective)) {
        return CS_OK;
    }
    log->collective_from = is_stated ? CS_NCCL_STATED : CS_NCCL_COMMAND;
    if (!fits(log->collective, quotient)) {
        return CS_FAIL(err, CS_EPARSE, "busbw",
                       "busbw / algbw = %.5g to %.5g cannot be of %s, which the log names",
                       quotient.low, quotient.high, program);
    }
    return CS_OK;
}

/* Ranks for a quotient; HUGE_VAL beyond what a number of ranks can give. */
static double ranks_of(double quotient, bool is_allreduce)
{
    double limit = is_allreduce ? 2 : 1;

    return quotient < limit ? limit / (limit - quotient) : HUGE_VAL;
}

static cs_status bound_ranks(cs_nccl_log *log, ratio quotient, cs_error *err)
{
    bool   is_allreduce = quotient.low > 1;
    double low, high;

    if (log->collective_from != CS_NCCL_UNKNOWN) {
        uint32_t bus = cs_collectives[log->collective].bus;
        is_allreduce = bus == 2;
        if (bus == 0) {
            return CS_OK;
        }
    } else if (quotient.low <= 1 && quotient.high >= 1) {
        return CS_OK;
    }
    low  = fmax(1, ceil(ranks_of(quotient.low, is_allreduce) - 1e-6));
    high = fmin(CS_MAX_RANKS, floor(ranks_of(quotient.high, is_allreduce) + 1e-6));
    if (low > high) {
        return CS_FAIL(err, CS_EPARSE, "busbw",
                       "busbw / algbw = %.6g to %.6g fits no number of ranks up to %u",
                       quotient.low, quotient.high, CS_MAX_RANKS);
    }
    log->n_ranks_low  = (uint32_t)low;
    log->n_ranks_high = (uint32_t)high;
    return CS_OK;
}

static bool is_bounded(const cs_nccl_log *log, uint32_t n_ranks)
{
    return log->n_ranks_high == 0 || (n_ranks >= log->n_ranks_low && n_ranks <= log->n_ranks_high);
}

/* "128", or "100 to 140". */
static void bounds_text(const cs_nccl_log *log, char text[32])
{
    if (log->n_ranks_low == log->n_ranks_high) {
        snprintf(text, 32, "%u", log->n_ranks_low);
    } else {
        snprintf(text, 32, "%u to %u", log->n_ranks_low, log->n_ranks_high);
    }
}

static cs_status count_ranks(cs_nccl_log *log, const heading_lines *heading, uint32_t n_ranks,
                             int *line_p, cs_error *err)
{
    uint32_t groups = heading->n_groups > 0 ? heading->n_groups : 1;
    char     bounds[32];

    bounds_text(log, bounds);
    log->n_ranks_listed = heading->n_listed / groups;
    if (n_ranks > 0 && !is_bounded(log, n_ranks)) {
        return CS_FAIL(err, CS_EINVAL, "ranks", "%u ranks given, but busbw / algbw is that of %s",
                       n_ranks, bounds);
    }
    if (n_ranks == 0 && log->n_ranks_listed > 0 && !is_bounded(log, log->n_ranks_listed)) {
        *line_p = heading->rank_line;
        return CS_FAIL(err, CS_EPARSE, "Rank",
                       "%u ranks by this line, but busbw / algbw is that of %s: give the number "
                       "of ranks",
                       log->n_ranks_listed, bounds);
    }
    log->n_ranks = n_ranks > 0 ? n_ranks : log->n_ranks_listed;
    if (log->n_ranks == 0 && log->n_ranks_low == log->n_ranks_high) {
        log->n_ranks = log->n_ranks_low;
    }
    return CS_OK;
}

/* Fill collective, program, n_ranks and their evidence in a log whose rows are read. `n_ranks`
 * overrules the Rank lines (0: does not). On an error *line_p is the line at fault, or 0. */
static cs_status conclude(cs_nccl_log *log, const heading_lines *heading, uint32_t n_ranks,
                          int *line_p, cs_error *err)
{
    ratio quotient = {0};

    *line_p           = 0;
    log->is_deviation = heading->is_deviation;
    log->is_cputime   = heading->is_cputime;
    memcpy(log->device, heading->device, sizeof log->device);
    memcpy(log->versions, heading->versions, sizeof log->versions);
    CS_TRY(intersect(log, &quotient, line_p, err));
    CS_TRY(name_collective(log, heading, quotient, err));
    CS_TRY(bound_ranks(log, quotient, err));
    return count_ranks(log, heading, n_ranks, line_p, err);
}

/* ---- the log ---- */

static cs_status push_row(cs_nccl_log *log, size_t *capacity, const cs_nccl_row *row, cs_error *err)
{
    if (!cs_grow(&log->rows, capacity, log->n_rows + 1, 64, sizeof *log->rows)) {
        return CS_NO_MEMORY(err, "the rows of a log");
    }
    log->rows[log->n_rows++] = *row;
    return CS_OK;
}

static cs_status read_row(cs_nccl_log *log, size_t *capacity, cs_log_line *line, bool is_cputime,
                          cs_error *err)
{
    cs_nccl_row row = {0};

    CS_TRY(parse_row(line, is_cputime, &row, err));
    uint64_t last = log->n_rows > 0 ? log->rows[log->n_rows - 1].size_bytes : 0;
    if (row.size_bytes == 0) {
        cs_nccl_remark_add(&log->reading, CS_NCCL_EMPTY_ROWS, line->number, line->text);
        return CS_OK;
    }
    if (row.size_bytes <= last) {
        line->fault_column = line->tokens[0].column;
        return CS_FAIL(err, CS_EPARSE, "size",
                       "%llu after %llu: two tables are interleaved, or a second one begins; give "
                       "one table per file",
                       (unsigned long long)row.size_bytes, (unsigned long long)last);
    }
    return push_row(log, capacity, &row, err);
}

/* Read all lines; reader->line stands at the line at fault on an error. */
static cs_status read_lines(cs_nccl_log *log, heading_lines *heading, cs_log_reader *reader,
                            cs_error *err)
{
    size_t capacity = 0;
    bool   has_more = true;

    CS_TRY(cs_log_reader_next(reader, &has_more, err));
    while (has_more) {
        if (is_row(&reader->line)) {
            CS_TRY(read_row(log, &capacity, &reader->line, heading->is_cputime, err));
        } else {
            CS_TRY(read_heading(heading, &reader->line, &log->reading, err));
        }
        CS_TRY(cs_log_reader_next(reader, &has_more, err));
    }
    return CS_OK;
}

static cs_status refuse_without_rows(const cs_nccl_log *log, int *line_p, cs_error *err)
{
    const cs_nccl_remark *labelled = &log->reading.remarks[CS_NCCL_LABELLED_ROWS];

    if (labelled->n > 0) {
        *line_p = (int)labelled->first_line;
        return CS_FAIL(
            err, CS_EPARSE, "",
            "%llu rows stand behind a label that is not known, and no other row is there: "
            "cut the label off (accepted: \"0: \", \"[1,0]<stdout>:\", \"[0]\")",
            (unsigned long long)labelled->n);
    }
    return CS_FAIL(err, CS_EPARSE, "",
                   "no row of nccl-tests (size count type redop root time algbw busbw #wrong "
                   "time algbw busbw #wrong) with a size above 0 in %zu lines",
                   log->reading.n_lines);
}

/* Is a size one of the header's range? nccl-tests rounds its sizes down, to elements or, where the
 * ranks share the buffer, to blocks of 16 bytes on each of them. */
static bool is_in_range(const cs_nccl_log *log, uint64_t size_bytes)
{
    const cs_nccl_run *run      = &log->reading.run;
    bool               is_whole = log->collective_from != CS_NCCL_UNKNOWN &&
                    cs_collectives[log->collective].layout == CS_WHOLE;
    uint64_t n_ranks = log->n_ranks > 0 ? log->n_ranks : CS_MAX_RANKS;
    uint64_t block   = is_whole ? type_bytes(log->rows[0].type) : 16 * n_ranks;

    return size_bytes <= run->max_bytes && size_bytes + block > run->min_bytes;
}

/* Are the rows those that the header announces? */
static void check_range(cs_nccl_log *log)
{
    cs_nccl_reading *reading   = &log->reading;
    uint64_t         n_empty   = reading->remarks[CS_NCCL_EMPTY_ROWS].n;
    uint64_t         n_there   = n_empty > 0 && is_in_range(log, 0) ? n_empty : 0;
    uint64_t         announced = cs_nccl_run_n_rows(&reading->run);
    char             text[96];

    for (size_t r = 0; r < log->n_rows; r++) {
        const cs_nccl_row *row = &log->rows[r];
        if (is_in_range(log, row->size_bytes)) {
            n_there++;
        } else {
            (void)snprintf(text, sizeof text, "size %llu", (unsigned long long)row->size_bytes);
            cs_nccl_remark_add(reading, CS_NCCL_OUTSIDE_RANGE, (int)row->line, text);
        }
    }
    if (n_there < announced) {
        (void)snprintf(text, sizeof text, "%llu rows announced, %llu are there",
                       (unsigned long long)announced, (unsigned long long)n_there);
        cs_nccl_remark_add(reading, CS_NCCL_MISSING_ROWS, (int)reading->run.line, text);
        reading->remarks[CS_NCCL_MISSING_ROWS].n = announced - n_there;
    }
}

/* Were the results checked, by the header, or else by any row? */
static void check_validation(cs_nccl_log *log)
{
    cs_nccl_reading *reading    = &log->reading;
    bool             is_checked = false;

    for (size_t r = 0; r < log->n_rows && !is_checked; r++) {
        const cs_nccl_timing *timings = log->rows[r].timings;
        is_checked                    = timings[0].is_checked || timings[1].is_checked;
    }
    if (reading->run.is_unchecked) {
        cs_nccl_remark_add(reading, CS_NCCL_UNCHECKED, (int)reading->run.line, "validation: 0");
    } else if (!is_checked) {
        cs_nccl_remark_add(reading, CS_NCCL_UNCHECKED, (int)log->rows[0].line,
                           "#wrong is N/A in all rows");
    }
}

static cs_status read_log(cs_nccl_log *log, cs_log_reader *reader, uint32_t n_ranks, int *line_p,
                          int *column_p, cs_error *err)
{
    heading_lines heading = {0};
    cs_status     status  = read_lines(log, &heading, reader, err);

    *line_p   = reader->line.number;
    *column_p = reader->line.fault_column;
    if (status != CS_OK) {
        return status;
    }
    *line_p              = 0;
    *column_p            = 0;
    log->reading.n_lines = (size_t)reader->line.number;
    log->reading.n_rows  = log->n_rows;
    if (log->n_rows == 0) {
        return refuse_without_rows(log, line_p, err);
    }
    CS_TRY(conclude(log, &heading, n_ranks, line_p, err));
    if (log->reading.run.line > 0) {
        check_range(log);
    }
    check_validation(log);
    return CS_OK;
}

/* Without folders. */
static const char *name_of(const char *path)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;

    return slash != NULL ? slash + 1 : path != NULL ? path : "";
}

cs_status cs_nccl_log_parse(const char *text, size_t length, const char *name, uint32_t n_ranks,
                            cs_nccl_log **log_p, cs_error *err)
{
    cs_log_reader reader = {0};
    cs_nccl_log  *log    = CS_NEW(cs_nccl_log, 1);
    int           line = 0, column = 0;
    cs_status     status;

    if (log == NULL) {
        return CS_NO_MEMORY(err, "a log");
    }
    cs_plain_text(log->reading.name, sizeof log->reading.name, name_of(name));
    status = cs_log_reader_open(&reader, text, length, err);
    if (status == CS_OK) {
        status = read_log(log, &reader, n_ranks, &line, &column, err);
    } else {
        line   = reader.line.number;
        column = reader.line.fault_column;
    }
    cs_log_reader_close(&reader);
    if (status != CS_OK) {
        cs_error_locate(err, name != NULL ? name : "", line, column);
        cs_nccl_log_free(log);
        return status;
    }
    *log_p = log;
    return CS_OK;
}

void cs_nccl_log_free(cs_nccl_log *log)
{
    if (log != NULL) {
        cs_free(log->rows);
        cs_free(log);
    }
}
