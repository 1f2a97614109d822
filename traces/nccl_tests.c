/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One pass over the lines (log_line.c): rows are collected (nccl_rows.c), all other lines are asked
 * what they know; at the end both are put together (nccl_conclude.c).
 *
 * Lines that are used: the one with the names of the columns, "# nThread ..", "#  Rank ..",
 * "# Collective test starting|concluded: ..", "# nccl-tests version ..", "NCCL version ..", the
 * footers, failures of nccl-tests and of launchers, and any line that names a program of nccl-tests
 * (a command line in an issue, for example). Other comments of nccl-tests are known to say nothing.
 */
#include "traces/nccl_tests.h"

#include "base/alloc.h"
#include "cs/cluster.h"
#include "cs/units.h"
#include "input/gzip.h"
#include "traces/log_line.h"
#include "traces/nccl_reader.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

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
    (void)read_key(text, "nGpus ", &read.n_gpus);
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

/* ---- captured runs ---- */

/* "# collsim-capture 1 collective allreduce schedule ring ranks 4 machine testbed of four": what
 * ran, where it was no program of nccl-tests. */
static cs_status read_capture(cs_nccl_heading *heading, cs_log_line *line, cs_error *err)
{
    static const char *const keys[]     = {"collective", "schedule", "ranks", "machine"};
    const cs_log_token      *tokens     = line->tokens;
    cs_collective            collective = CS_ALLREDUCE;
    uint64_t                 n_ranks    = 0;

    line->fault_column = tokens[0].column;
    if (heading->schedule[0] != '\0') {
        return CS_FAIL(err, CS_EPARSE, "", "a second captured run begins here: give one a file");
    }
    if (line->n_tokens < 11 || strcmp(tokens[2].text, "1") != 0) {
        return CS_FAIL(err, CS_EPARSE, "collsim-capture",
                       "accepted: # collsim-capture 1 collective C schedule S ranks N machine M");
    }
    for (size_t k = 0; k < 4; k++) {
        if (strcmp(tokens[3 + 2 * k].text, keys[k]) != 0) {
            line->fault_column = tokens[3 + 2 * k].column;
            return CS_FAIL(err, CS_EPARSE, "collsim-capture", "'%.40s', accepted: %s",
                           tokens[3 + 2 * k].text, keys[k]);
        }
    }
    line->fault_column = tokens[4].column;
    CS_TRY(cs_collective_find(tokens[4].text, &collective, err));
    line->fault_column = tokens[8].column;
    CS_TRY(cs_parse_integer(tokens[8].text, 2, CS_MAX_RANKS, &n_ranks, "ranks", err));
    cs_plain_text(heading->schedule, sizeof heading->schedule, tokens[6].text);
    cs_plain_text(heading->device, sizeof heading->device, line->text + (tokens[10].column - 1));
    heading->captured_ranks = (uint32_t)n_ranks;
    (void)snprintf(heading->stated, sizeof heading->stated, "%s",
                   cs_collectives[collective].perf_name);
    return CS_OK;
}

/* ---- what NCCL says of its choice ---- */

/* "AllReduce: 1048576 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}", or with numbers: what
 * NCCL chose for that size. */
typedef struct choice {
    uint64_t size_bytes;
    char     text[24];
} choice;

typedef struct choice_list {
    choice *choices;
    size_t  n, capacity;
} choice_list;

enum { MAX_CHOICES = 1024 };

/* Keep what was chosen last for a size; is it such a line? */
static bool read_choice(choice_list *list, const cs_log_line *line, cs_status *status_p,
                        cs_error *err)
{
    const cs_log_token *tokens = line->tokens;
    size_t              t = 1, at = 0;
    uint64_t            bytes = 0;

    while (t < line->n_tokens && t < CS_LOG_MAX_TOKENS && strcmp(tokens[t].text, "Bytes") != 0) {
        t++;
    }
    if (t + 5 >= line->n_tokens || t + 5 >= CS_LOG_MAX_TOKENS ||
        strcmp(tokens[t + 2].text, "Algo") != 0 || strcmp(tokens[t + 4].text, "proto") != 0 ||
        cs_parse_integer(tokens[t - 1].text, 1, (uint64_t)1 << 53, &bytes, "", NULL) != CS_OK) {
        return false;
    }
    while (at < list->n && list->choices[at].size_bytes != bytes) {
        at++;
    }
    if (at == MAX_CHOICES) {
        return true;
    }
    if (!cs_grow(&list->choices, &list->capacity, at + 1, 32, sizeof *list->choices)) {
        *status_p = CS_NO_MEMORY(err, "what NCCL chose");
        return true;
    }
    list->n                      = at == list->n ? at + 1 : list->n;
    list->choices[at].size_bytes = bytes;
    cs_nccl_choice_text(tokens[t + 3].text, tokens[t + 5].text, list->choices[at].text);
    return true;
}

static void give_choices(const choice_list *list, cs_nccl_log *log)
{
    for (size_t r = 0; r < log->n_rows; r++) {
        for (size_t c = 0; c < list->n; c++) {
            if (list->choices[c].size_bytes == log->rows[r].size_bytes) {
                memcpy(log->rows[r].choice, list->choices[c].text, sizeof log->rows[r].choice);
            }
        }
    }
}

/* ---- the lines around the rows ---- */

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

void cs_nccl_skip_line(cs_nccl_reading *reading, const cs_log_line *line)
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
    } else if (cs_nccl_is_labelled_row(line)) {
        kind = CS_NCCL_LABELLED_ROWS;
    } else if (isdigit((unsigned char)line->tokens[0].text[0])) {
        kind = CS_NCCL_TORN_ROWS;
    } else if (is_of_launcher(line)) {
        kind = CS_NCCL_LAUNCHERS;
    }
    cs_nccl_remark_add(reading, kind, line->number, line->text);
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
    return cs_nccl_is_program(name);
}

/* Takes the programs that are named; is there one? */
static bool read_mentions(cs_nccl_heading *heading, const char *text)
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

static cs_status read_conclusion(cs_nccl_heading *heading, cs_log_line *line, const char *at,
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

static cs_status read_columns(cs_nccl_heading *heading, const cs_log_line *line, cs_error *err)
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
static void read_device(cs_nccl_heading *heading, const char *text)
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

/* The host ends: has it as many ranks as the first one? */
static void end_host(cs_nccl_heading *heading)
{
    if (heading->n_hosts == 1) {
        heading->first_host = heading->on_host;
    }
    heading->is_scattered = heading->is_scattered || heading->on_host != heading->first_host;
}

/* "on HOST device": whose GPU it is. Hosts come one behind the other. */
static void read_host(cs_nccl_heading *heading, const cs_log_line *line)
{
    const char *host = "";

    for (size_t t = 0; t + 1 < line->n_tokens && t + 1 < CS_LOG_MAX_TOKENS; t++) {
        host = strcmp(line->tokens[t].text, "on") == 0 ? line->tokens[t + 1].text : host;
    }
    heading->n_rank_lines++;
    if (heading->n_hosts > 0 && strncmp(heading->host, host, sizeof heading->host - 1) == 0) {
        heading->on_host++;
        return;
    }
    if (heading->n_hosts > 0) {
        end_host(heading);
    }
    if (host[0] == '\0' || (heading->n_hosts > 0 && strcmp(heading->first_name, host) == 0)) {
        heading->is_scattered = true;
    }
    (void)snprintf(heading->host, sizeof heading->host, "%.63s", host);
    if (heading->n_hosts++ == 0) {
        memcpy(heading->first_name, heading->host, sizeof heading->first_name);
    }
    heading->on_host = 1;
}

static cs_status read_rank(cs_nccl_heading *heading, cs_log_line *line, bool *is_used_p,
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
    read_host(heading, line);
    read_device(heading, line->text);
    return CS_OK;
}

/* Takes the first line that has versions; is this one? */
static bool read_versions(cs_nccl_heading *heading, const char *text)
{
    const char *at = strstr(text, "nccl-tests version ");
    size_t      length;

    at = at != NULL ? at : strstr(text, "NCCL version ");
    at = at != NULL ? at : strstr(text, "RCCL version ");
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
        "JSON output",          "Errors with asterisks", ", medians",
    };

    return FIND_ANY(line->text, known) != NULL ||
           (line->n_tokens == 1 &&
            strspn(line->tokens[0].text, "#") == strlen(line->tokens[0].text));
}

static cs_status read_comment(cs_nccl_heading *heading, cs_log_line *line, cs_nccl_reading *reading,
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
    if (line->n_tokens > 1 && strcmp(line->tokens[1].text, "collsim-capture") == 0) {
        return read_capture(heading, line, err);
    }
    if (heading->schedule[0] != '\0' && line->n_tokens > 1 &&
        strcmp(line->tokens[1].text, "late:") == 0) {
        line->fault_column = line->tokens[1].column;
        return CS_FAIL(err, CS_EPARSE, "",
                       "a captured run with a late rank: its times are not those of alpha and "
                       "bandwidth alone; accepted: runs without late ranks");
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
static cs_status read_heading(cs_nccl_heading *heading, cs_log_line *line, cs_nccl_reading *reading,
                              cs_error *err)
{
    bool has_versions = read_versions(heading, line->text);
    bool is_failure   = read_failure(reading, line);
    bool is_used      = false;

    if (line->is_comment) {
        CS_TRY(read_comment(heading, line, reading, &is_used, err));
    }
    if (!read_mentions(heading, line->text) && !is_used && !has_versions && !is_failure) {
        cs_nccl_skip_line(reading, line);
    }
    return CS_OK;
}

/* ---- the log ---- */

cs_status cs_nccl_log_push(cs_nccl_log *log, size_t *capacity_p, const cs_nccl_row *row,
                           cs_error *err)
{
    if (!cs_grow(&log->rows, capacity_p, log->n_rows + 1, 64, sizeof *log->rows)) {
        return CS_NO_MEMORY(err, "the rows of a log");
    }
    log->rows[log->n_rows++] = *row;
    return CS_OK;
}

static cs_status read_row(cs_nccl_log *log, size_t *capacity, cs_log_line *line,
                          const cs_nccl_heading *heading, cs_error *err)
{
    cs_nccl_row row = {0};

    CS_TRY(cs_nccl_row_parse(line, heading->is_cputime, &row, err));
    uint64_t last = log->n_rows > 0 ? log->rows[log->n_rows - 1].size_bytes : 0;
    if (row.size_bytes == 0) {
        cs_nccl_remark_add(&log->reading, CS_NCCL_EMPTY_ROWS, line->number, line->text);
        return CS_OK;
    }
    bool is_another_run = heading->schedule[0] != '\0' && row.size_bytes == last;
    if (row.size_bytes <= last && !is_another_run) {
        line->fault_column = line->tokens[0].column;
        return CS_FAIL(err, CS_EPARSE, "size",
                       "%llu after %llu: two tables are interleaved, or a second one begins; give "
                       "one table per file",
                       (unsigned long long)row.size_bytes, (unsigned long long)last);
    }
    return cs_nccl_log_push(log, capacity, &row, err);
}

/* Read all lines, or up to the first one of another benchmark's table (*is_other_p); reader->line
 * stands at that line, or at the one at fault. */
static cs_status read_lines(cs_nccl_log *log, cs_nccl_heading *heading, choice_list *choices,
                            cs_log_reader *reader, bool *is_other_p, cs_error *err)
{
    size_t    capacity = 0;
    bool      has_more = true;
    cs_status status   = CS_OK;

    CS_TRY(cs_log_reader_next(reader, &has_more, err));
    while (has_more) {
        if (log->n_rows == 0 && cs_link_begins(&reader->line)) {
            *is_other_p = true;
            return CS_OK;
        }
        if (cs_nccl_is_row(&reader->line)) {
            CS_TRY(read_row(log, &capacity, &reader->line, heading, err));
        } else if (!read_choice(choices, &reader->line, &status, err)) {
            CS_TRY(read_heading(heading, &reader->line, &log->reading, err));
        }
        CS_TRY(status);
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

static cs_status read_log(cs_nccl_log *log, cs_log_reader *reader, uint32_t n_ranks,
                          bool *is_other_p, int *line_p, int *column_p, cs_error *err)
{
    cs_nccl_heading heading = {0};
    choice_list     choices = {0};
    cs_status       status  = read_lines(log, &heading, &choices, reader, is_other_p, err);

    give_choices(&choices, log);
    cs_free(choices.choices);
    *line_p   = reader->line.number;
    *column_p = reader->line.fault_column;
    if (status != CS_OK || *is_other_p) {
        return status;
    }
    *line_p              = 0;
    *column_p            = 0;
    log->reading.n_lines = (size_t)reader->line.number;
    log->reading.n_rows  = log->n_rows;
    if (log->n_rows == 0) {
        return refuse_without_rows(log, line_p, err);
    }
    return cs_nccl_conclude(log, &heading, n_ranks > 0 ? n_ranks : heading.captured_ranks, line_p,
                            err);
}

/* Without folders. */
static const char *name_of(const char *path)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;

    return slash != NULL ? slash + 1 : path != NULL ? path : "";
}

cs_status cs_nccl_log_new(const char *name, const char *part, cs_nccl_log **log_p, cs_error *err)
{
    cs_nccl_log *log = CS_NEW(cs_nccl_log, 1);
    char         words[256];

    if (log == NULL) {
        return CS_NO_MEMORY(err, "a log");
    }
    (void)snprintf(words, sizeof words, part != NULL ? "%.180s (%.60s)" : "%.180s%.60s",
                   name_of(name), part != NULL ? part : "");
    cs_plain_text(log->reading.name, sizeof log->reading.name, words);
    *log_p = log;
    return CS_OK;
}

/* The tables that an open reader stands at; the status of opening it is `status`. */
static cs_status parse(cs_log_reader *reader, cs_status status, const char *name, uint32_t n_ranks,
                       cs_nccl_logs *logs, cs_error *err)
{
    cs_nccl_log *log  = NULL;
    int          line = reader->line.number, column = reader->line.fault_column;
    bool         is_other = false;

    name = name != NULL ? name : "";
    if (status == CS_OK) {
        status = cs_nccl_log_new(name, NULL, &log, err);
    }
    if (status == CS_OK) {
        status = read_log(log, reader, n_ranks, &is_other, &line, &column, err);
    }
    if (status == CS_OK && is_other) {
        status = cs_link_logs_read(reader, log, name, n_ranks, logs, err);
        log    = NULL;
        line   = reader->line.number;
        column = reader->line.fault_column;
    }
    cs_log_reader_close(reader);
    if (status != CS_OK) {
        cs_error_locate(err, name, line, column);
        cs_nccl_log_free(log);
        return status;
    }
    return is_other ? CS_OK : cs_nccl_logs_add(logs, log, name, err);
}

cs_status cs_nccl_log_parse(const char *text, size_t length, const char *name, uint32_t n_ranks,
                            cs_nccl_log **log_p, cs_error *err)
{
    cs_log_reader reader = {0};
    cs_nccl_logs  logs   = {0};
    cs_status     status = cs_log_reader_open(&reader, text, length, err);

    status = parse(&reader, status, name, n_ranks, &logs, err);
    if (status == CS_OK) {
        *log_p       = logs.logs[0];
        logs.logs[0] = NULL;
    }
    cs_nccl_logs_free(&logs);
    return status;
}

bool cs_nccl_version_of_code(uint64_t code, char version[CS_NCCL_VERSION_BYTES])
{
    const uint64_t least = 1000, most = 9999999, major = code < 10000 ? 1000 : 10000;

    if (code < least || code > most) {
        return false;
    }
    (void)snprintf(version, CS_NCCL_VERSION_BYTES, "%u.%u.%u", (unsigned)(code / major),
                   (unsigned)(code % major / 100), (unsigned)(code % 100));
    return true;
}

void cs_nccl_log_free(cs_nccl_log *log)
{
    if (log != NULL) {
        cs_free(log->rows);
        cs_free(log);
    }
}

/* ---- files of any format ---- */

cs_status cs_nccl_logs_add(cs_nccl_logs *logs, cs_nccl_log *log, const char *name, cs_error *err)
{
    char *copy = cs_strdup(name);

    if (copy == NULL || !cs_grow(&logs->logs, &logs->capacity, logs->n + 1, 4, sizeof(void *)) ||
        !cs_grow(&logs->names, &logs->names_capacity, logs->n + 1, 4, sizeof(void *))) {
        cs_free(copy);
        cs_nccl_log_free(log);
        return CS_NO_MEMORY(err, "%zu logs", logs->n + 1);
    }
    logs->logs[logs->n]  = log;
    logs->names[logs->n] = copy;
    logs->n++;
    return CS_OK;
}

void cs_nccl_logs_cut(cs_nccl_logs *logs, size_t n)
{
    while (logs->n > n) {
        cs_nccl_log_free(logs->logs[--logs->n]);
        cs_free(logs->names[logs->n]);
    }
}

void cs_nccl_logs_free(cs_nccl_logs *logs)
{
    cs_nccl_logs_cut(logs, 0);
    cs_free(logs->logs);
    cs_free(logs->names);
    *logs = (cs_nccl_logs){0};
}

cs_status cs_nccl_parse(const char *text, size_t length, const char *name, uint32_t n_ranks,
                        cs_nccl_logs *logs, cs_error *err)
{
    cs_log_reader reader = {0};
    cs_status     status = cs_log_reader_open(&reader, text, length, err);

    if (status == CS_OK && cs_log_reader_peek(&reader) == '{') {
        cs_log_reader_close(&reader);
        return cs_nccl_json_parse(text, length, name, n_ranks, logs, err);
    }
    return parse(&reader, status, name, n_ranks, logs, err);
}

cs_status cs_nccl_read(const char *path, uint32_t n_ranks, cs_nccl_logs *logs, cs_error *err)
{
    cs_log_reader reader = {0};
    char         *text   = NULL;
    size_t        length = 0;
    cs_status     status = cs_log_reader_open_file(&reader, path, err);

    if (status == CS_OK && cs_log_reader_peek(&reader) == '{') {
        cs_log_reader_close(&reader);
        CS_TRY(cs_gzip_read(path, CS_NCCL_JSON_BYTES, &text, &length, err));
        status = cs_nccl_json_parse(text, length, path, n_ranks, logs, err);
        cs_free(text);
        return status;
    }
    return parse(&reader, status, path, n_ranks, logs, err);
}
