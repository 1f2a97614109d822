/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which collective ran on how many ranks. busbw / algbw is 2(n-1)/n for AllReduce, (n-1)/n for
 * AllGather, ReduceScatter and AlltoAll, and 1 for Broadcast, Reduce and SendRecv (nccl-tests,
 * doc/PERFORMANCE.md). Both columns are rounded, so each row gives an interval for the quotient;
 * the intervals of all rows have to meet, and their intersection, which the large rows make narrow,
 * bounds n. What the quotient leaves open about the collective, the columns may say: old versions
 * had no column redop for AllGather and left it blank for AlltoAll. New versions write "none" for
 * both, which is not enough.
 */
#include "traces/nccl_reader.h"

#include "cs/cluster.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Programs of nccl-tests that are none of cs_collective. */
static const char *const other_programs[] = {"sendrecv_perf", "gather_perf", "scatter_perf",
                                             "hypercube_perf", "alltoallv_perf"};

bool cs_nccl_find_program(const char *program, cs_collective *collective_p)
{
    for (int c = 0; c < CS_COLLECTIVE_COUNT; c++) {
        if (strcmp(program, cs_collectives[c].perf_name) == 0) {
            *collective_p = (cs_collective)c;
            return true;
        }
    }
    return false;
}

bool cs_nccl_is_program(const char *name)
{
    cs_collective any;

    for (size_t p = 0; p < sizeof other_programs / sizeof other_programs[0]; p++) {
        if (strcmp(name, other_programs[p]) == 0) {
            return true;
        }
    }
    return cs_nccl_find_program(name, &any);
}

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
static bool guess(const cs_nccl_log *log, const cs_nccl_heading *heading, ratio quotient,
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

static cs_status name_collective(cs_nccl_log *log, const cs_nccl_heading *heading, ratio quotient,
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
    if (!cs_nccl_find_program(program, &log->collective)) {
        if (strcmp(program, "sendrecv_perf") == 0) { /* every rank sends to the next one */
            log->measured = CS_NCCL_MESSAGE;
        }
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

static cs_status count_ranks(cs_nccl_log *log, const cs_nccl_heading *heading, uint32_t n_ranks,
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
                       "%u ranks are listed, but busbw / algbw is that of %s: give the number "
                       "of ranks",
                       log->n_ranks_listed, bounds);
    }
    log->n_ranks = n_ranks > 0 ? n_ranks : log->n_ranks_listed;
    if (log->n_ranks == 0 && log->n_ranks_low == log->n_ranks_high) {
        log->n_ranks = log->n_ranks_low;
    }
    return CS_OK;
}

/* On how many hosts, as far as the Rank lines are all there and say it. */
static uint32_t count_hosts(const cs_nccl_heading *heading)
{
    const uint32_t first    = heading->n_hosts > 1 ? heading->first_host : heading->on_host;
    const bool     is_whole = heading->n_hosts > 0 && heading->n_rank_lines == heading->n_listed &&
                          !heading->is_scattered && heading->on_host == first;

    return is_whole ? heading->n_hosts : 0;
}

static cs_status conclude(cs_nccl_log *log, const cs_nccl_heading *heading, uint32_t n_ranks,
                          int *line_p, cs_error *err)
{
    ratio quotient = {0};

    *line_p           = 0;
    log->is_deviation = heading->is_deviation;
    log->is_cputime   = heading->is_cputime;
    memcpy(log->device, heading->device, sizeof log->device);
    memcpy(log->versions, heading->versions, sizeof log->versions);
    memcpy(log->schedule, heading->schedule, sizeof log->schedule);
    CS_TRY(intersect(log, &quotient, line_p, err));
    CS_TRY(name_collective(log, heading, quotient, err));
    CS_TRY(bound_ranks(log, quotient, err));
    log->n_hosts = heading->n_groups > 1 ? 0 : count_hosts(heading);
    return count_ranks(log, heading, n_ranks, line_p, err);
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

cs_status cs_nccl_conclude(cs_nccl_log *log, const cs_nccl_heading *heading, uint32_t n_ranks,
                           int *line_p, cs_error *err)
{
    CS_TRY(conclude(log, heading, n_ranks, line_p, err));
    if (log->reading.run.line > 0) {
        check_range(log);
    }
    check_validation(log);
    return CS_OK;
}
