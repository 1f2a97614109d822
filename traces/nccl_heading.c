/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/nccl_heading.c -- see nccl_heading.h.
 *
 * Lines that are used: the one with the names of the columns, "# nThread ..", "#  Rank ..",
 * "# Collective test starting|concluded: ..", "# nccl-tests version ..", "NCCL version ..", the
 * footers, failures of nccl-tests and of launchers, and any line that names a program of nccl-tests
 * (a command line in an issue, for example). Other comments of nccl-tests are known to say nothing.
 */
#include "traces/nccl_heading.h"

#include "cs/cluster.h"
#include "cs/units.h"

#include <stdio.h>
#include <string.h>

/* Programs of nccl-tests that are none of cs_collective. */
static const char *const other_programs[] = {"sendrecv_perf", "gather_perf", "scatter_perf",
                                             "hypercube_perf", "alltoallv_perf"};

static bool is_program(const char *name)
{
    for (size_t p = 0; p < sizeof other_programs / sizeof other_programs[0]; p++) {
        if (strcmp(name, other_programs[p]) == 0) {
            return true;
        }
    }
    for (int c = 0; c < CS_COLLECTIVE_COUNT; c++) {
        if (strcmp(name, cs_collectives[c].perf_name) == 0) {
            return true;
        }
    }
    return false;
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
    read_device(heading, line->text);
    return CS_OK;
}

/* Takes the first line that has versions; is this one? */
static bool read_versions(cs_nccl_heading *heading, const char *text)
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
    if (line->n_tokens > 2 && strcmp(line->tokens[1].text, "Rank") == 0) {
        return read_rank(heading, line, is_used_p, err);
    }
    *is_used_p = cs_nccl_run_read(&reading->run, line) || is_known_comment(line);
    return CS_OK;
}

cs_status cs_nccl_heading_read(cs_nccl_heading *heading, cs_log_line *line,
                               cs_nccl_reading *reading, cs_error *err)
{
    bool      has_versions = read_versions(heading, line->text);
    bool      is_failure   = read_failure(reading, line);
    bool      is_used      = false;
    cs_status status       = CS_OK;

    if (line->is_comment) {
        status = read_comment(heading, line, reading, &is_used, err);
    }
    if (status == CS_OK && !read_mentions(heading, line->text) && !is_used && !has_versions &&
        !is_failure) {
        cs_nccl_remark_skip(reading, line);
    }
    return status;
}
