/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/nccl_tests.c -- see nccl_tests.h.
 *
 * One pass over the lines (log_line.c): rows (nccl_row.c) are collected, all other lines are
 * asked what they know (nccl_heading.c); at the end both are put together (nccl_ranks.c).
 */
#include "traces/nccl_tests.h"

#include "base/alloc.h"
#include "base/text.h"
#include "traces/log_line.h"
#include "traces/nccl_heading.h"
#include "traces/nccl_ranks.h"
#include "traces/nccl_row.h"

#include <stdio.h>
#include <string.h>

const char *cs_nccl_side_name(cs_nccl_side side)
{
    return side == CS_NCCL_IN_PLACE ? "in-place" : "out-of-place";
}

static cs_status push_row(cs_nccl_log *log, size_t *capacity, const cs_nccl_row *row, cs_error *err)
{
    if (!cs_grow(&log->rows, capacity, log->n_rows + 1, 64, sizeof *log->rows)) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for the rows of a log");
    }
    log->rows[log->n_rows++] = *row;
    return CS_OK;
}

static cs_status read_row(cs_nccl_log *log, size_t *capacity, cs_log_line *line, bool is_cputime,
                          cs_error *err)
{
    cs_nccl_row row    = {0};
    cs_status   status = cs_nccl_row_read(line, is_cputime, &row, err);
    uint64_t    last   = log->n_rows > 0 ? log->rows[log->n_rows - 1].size_bytes : 0;

    if (status != CS_OK) {
        return status;
    }
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
static cs_status read_lines(cs_nccl_log *log, cs_nccl_heading *heading, cs_log_reader *reader,
                            cs_error *err)
{
    size_t    capacity = 0;
    bool      has_more = true;
    cs_status status   = cs_log_reader_next(reader, &has_more, err);

    while (status == CS_OK && has_more) {
        if (cs_nccl_row_is(&reader->line)) {
            status = read_row(log, &capacity, &reader->line, heading->is_cputime, err);
        } else {
            status = cs_nccl_heading_read(heading, &reader->line, &log->reading, err);
        }
        if (status == CS_OK) {
            status = cs_log_reader_next(reader, &has_more, err);
        }
    }
    return status;
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
    uint64_t block   = is_whole ? cs_nccl_type_bytes(log->rows[0].type) : 16 * n_ranks;

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
    cs_nccl_heading heading = {0};
    cs_status       status  = read_lines(log, &heading, reader, err);

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
    status = cs_nccl_log_conclude(log, &heading, n_ranks, line_p, err);
    if (status == CS_OK && log->reading.run.line > 0) {
        check_range(log);
    }
    if (status == CS_OK) {
        check_validation(log);
    }
    return status;
}

/* Without folders. */
static const char *name_of(const char *path)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;

    return slash != NULL ? slash + 1 : path != NULL ? path : "";
}

cs_status cs_nccl_log_parse_for(const char *text, size_t length, const char *name, uint32_t n_ranks,
                                cs_nccl_log **log_p, cs_error *err)
{
    cs_log_reader reader = {0};
    cs_nccl_log  *log    = CS_NEW(cs_nccl_log, 1);
    int           line = 0, column = 0;
    cs_status     status;

    if (log == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for a log");
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

cs_status cs_nccl_log_parse(const char *text, size_t length, const char *name, cs_nccl_log **log_p,
                            cs_error *err)
{
    return cs_nccl_log_parse_for(text, length, name, 0, log_p, err);
}

void cs_nccl_log_free(cs_nccl_log *log)
{
    if (log != NULL) {
        cs_free(log->rows);
        cs_free(log);
    }
}
