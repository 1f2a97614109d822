/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/nccl_tests.c -- see nccl_tests.h.
 *
 * One pass over the lines (log_line.c): rows (nccl_row.c) are collected, all other lines are
 * asked what they know (nccl_heading.c); at the end both are put together (nccl_ranks.c).
 */
#include "traces/nccl_tests.h"

#include "base/alloc.h"
#include "traces/log_line.h"
#include "traces/nccl_heading.h"
#include "traces/nccl_ranks.h"
#include "traces/nccl_row.h"

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
        log->n_empty++;
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
            status = cs_nccl_heading_read(heading, &reader->line, err);
        }
        if (status == CS_OK) {
            status = cs_log_reader_next(reader, &has_more, err);
        }
    }
    return status;
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
    *line_p   = 0;
    *column_p = 0;
    if (log->n_rows == 0) {
        return CS_FAIL(err, CS_EPARSE, "",
                       "no row of nccl-tests (size count type redop root time algbw busbw #wrong "
                       "time algbw busbw #wrong) with a size above 0 in %d lines",
                       reader->line.number);
    }
    return cs_nccl_log_conclude(log, &heading, n_ranks, line_p, err);
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
