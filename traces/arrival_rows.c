/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The records are sorted by iteration and rank; then every iteration is a run of neighbours. A
 * first pass checks the runs and closes the gaps that skipped ones leave, a second one fills
 * the trace. */
#include "traces/arrival_rows.h"

#include "base/alloc.h"
#include "cs/scenario.h"

#include <math.h>
#include <stdlib.h>

void cs_arrival_notes_text(const cs_arrival_notes *notes, cs_text *text)
{
    if (notes->n_warmup > 0) {
        cs_text_add(text, "left out as warm-up: %zu\n", notes->n_warmup);
    }
    if (notes->n_incomplete > 0) {
        cs_text_add(text, "left out because a rank is missing: %zu\n", notes->n_incomplete);
    }
    if (notes->text.data != NULL) {
        cs_text_add(text, "%s", notes->text.data);
    }
}

void cs_arrival_notes_free(cs_arrival_notes *notes)
{
    cs_text_free(&notes->text);
    *notes = (cs_arrival_notes){0};
}

cs_status cs_arrival_rows_add(cs_arrival_rows *rows, const cs_arrival_row *row, cs_error *err)
{
    if (rows->n == CS_ARRIVAL_MAX_ENTRIES) {
        return CS_FAIL(err, CS_EINVAL, "", "more than %zu records", CS_ARRIVAL_MAX_ENTRIES);
    }
    if (!cs_grow(&rows->rows, &rows->capacity, rows->n + 1, 256, sizeof *rows->rows)) {
        return CS_NO_MEMORY(err, "the records of a trace");
    }
    rows->rows[rows->n++] = *row;
    return CS_OK;
}

void cs_arrival_rows_free(cs_arrival_rows *rows)
{
    cs_free(rows->rows);
    *rows = (cs_arrival_rows){0};
}

/* By iteration, then rank, then place. */
static int compare(const void *left, const void *right)
{
    const cs_arrival_row *a = left, *b = right;

    if (a->iteration != b->iteration) {
        return a->iteration < b->iteration ? -1 : 1;
    }
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    if (a->line != b->line) {
        return a->line < b->line ? -1 : 1;
    }
    return (a->column > b->column) - (a->column < b->column);
}

/* Some readers have them in order. */
static bool is_sorted(const cs_arrival_rows *rows)
{
    for (size_t i = 1; i < rows->n; i++) {
        if (compare(&rows->rows[i - 1], &rows->rows[i]) > 0) {
            return false;
        }
    }
    return true;
}

/* The work of one call of cs_arrival_rows_build(). */
typedef struct building {
    cs_arrival_rows          *rows;
    const cs_arrival_options *options;
    const char               *name;
    uint32_t                  n_ranks;
    size_t                    n_calls; /* kept at the front of `rows`, n_ranks rows each */
    size_t                    n_gaps;  /* from the first call kept to the last one, in iterations */
    cs_arrival_notes         *notes;
    cs_error                 *err;
} building;

/* Add the place of a record to an error. */
static cs_status at(const building *b, const cs_arrival_row *row, cs_status status)
{
    cs_error_locate(b->err, b->name, row->line, row->column);
    return status;
}

static unsigned long long number(const cs_arrival_row *row)
{
    return (unsigned long long)row->iteration;
}

static cs_status count_ranks(building *b)
{
    bool *is_there;

    for (size_t i = 0; i < b->rows->n; i++) {
        uint32_t rank = b->rows->rows[i].rank;
        b->n_ranks    = rank >= b->n_ranks ? rank + 1 : b->n_ranks;
    }
    if (b->n_ranks < 2) {
        cs_status status = CS_FAIL(b->err, CS_EINVAL, "rank",
                                   "only rank 0 is there: skew needs at least two ranks");
        return at(b, &b->rows->rows[0], status);
    }
    is_there = CS_NEW(bool, b->n_ranks);
    if (is_there == NULL) {
        return CS_NO_MEMORY(b->err, "%u ranks", b->n_ranks);
    }
    for (size_t i = 0; i < b->rows->n; i++) {
        is_there[b->rows->rows[i].rank] = true;
    }
    for (uint32_t r = 0; r < b->n_ranks; r++) {
        if (!is_there[r]) {
            cs_free(is_there);
            (void)CS_FAIL(b->err, CS_EINVAL, "rank",
                          "rank %u is nowhere, but rank %u is: accepted are ranks 0 .. n-1 without "
                          "a gap",
                          r, b->n_ranks - 1);
            return at(b, &(cs_arrival_row){0}, CS_EINVAL);
        }
    }
    cs_free(is_there);
    return CS_OK;
}

/* One iteration, `n` records from `first` on: is every rank there once? */
static cs_status check_run(const building *b, const cs_arrival_row *first, size_t n,
                           bool *is_complete_p)
{
    uint32_t missing = 0;

    for (size_t i = 1; i < n; i++) {
        if (first[i].rank == first[i - 1].rank) {
            (void)CS_FAIL(b->err, CS_EINVAL, "rank",
                          "rank %u has iteration %llu twice; the first time is in line %d",
                          first[i].rank, number(first), first[i - 1].line);
            return at(b, &first[i], CS_EINVAL);
        }
    }
    while (missing < n && first[missing].rank == missing) {
        missing++;
    }
    *is_complete_p = n == b->n_ranks;
    if (*is_complete_p || b->options->skip_incomplete) {
        return CS_OK;
    }
    (void)CS_FAIL(b->err, CS_EINVAL, "rank",
                  "iteration %llu has %zu of %u ranks, rank %u is missing: accepted are complete "
                  "iterations (--skip-incomplete leaves others out)",
                  number(first), n, b->n_ranks, missing);
    return at(b, first, CS_EINVAL);
}

/* Check all iterations and move those that are kept to the front. */
static cs_status keep_calls(building *b, uint32_t warmup)
{
    cs_arrival_row *rows = b->rows->rows;
    size_t          end, kept = 0, n_iterations = 0, first_kept = 0;

    for (size_t begin = 0; begin < b->rows->n; begin = end) {
        bool is_complete = false;
        for (end = begin + 1; end < b->rows->n && rows[end].iteration == rows[begin].iteration;) {
            end++;
        }
        cs_status status = check_run(b, &rows[begin], end - begin, &is_complete);
        if (status != CS_OK) {
            return status;
        }
        n_iterations++;
        if (n_iterations <= warmup) {
            b->notes->n_warmup++;
        } else if (!is_complete) {
            b->notes->n_incomplete++;
        } else {
            for (size_t i = begin; i < end; i++) {
                rows[kept++] = rows[i];
            }
            first_kept = b->n_calls++ == 0 ? n_iterations : first_kept;
            b->n_gaps  = n_iterations - first_kept;
        }
    }
    if (b->n_calls == 0) {
        (void)CS_FAIL(
            b->err, CS_EINVAL, "iteration",
            "no iteration is left: %zu of warm-up (--warmup 0 keeps them), %zu incomplete",
            b->notes->n_warmup, b->notes->n_incomplete);
        return at(b, &(cs_arrival_row){0}, CS_EINVAL);
    }
    return CS_OK;
}

/* One clock for all ranks and iterations, or offsets from each call's first arrival? */
static bool are_offsets(const building *b)
{
    const cs_arrival_row *row = b->rows->rows;

    for (size_t c = 0; c < b->n_calls; c++, row += b->n_ranks) {
        double first_s = row[0].arrival_s;
        for (uint32_t r = 1; r < b->n_ranks; r++) {
            first_s = fmin(first_s, row[r].arrival_s);
        }
        if (first_s != 0) {
            return false;
        }
    }
    return true;
}

/* A rank cannot come to a call before it came to the one before. */
static cs_status check_clock(const building *b)
{
    const cs_arrival_row *rows = b->rows->rows;

    for (size_t i = b->n_ranks; i < b->n_calls * b->n_ranks; i++) {
        const cs_arrival_row *before = &rows[i - b->n_ranks];
        if (rows[i].arrival_s < before->arrival_s) {
            (void)CS_FAIL(
                b->err, CS_EINVAL, "arrival_s",
                "rank %u comes to iteration %llu at %.9g s, to iteration %llu before it "
                "at %.9g s: the clock stepped back (accepted: one clock, or offsets whose "
                "smallest is 0 in every iteration)",
                rows[i].rank, number(&rows[i]), rows[i].arrival_s, number(before),
                before->arrival_s);
            return at(b, &rows[i], CS_EINVAL);
        }
    }
    return CS_OK;
}

/* A scenario takes no later arrival. */
static cs_status check_lateness(const building *b, const cs_arrival_trace *trace)
{
    for (size_t i = 0; i < b->n_calls * b->n_ranks; i++) {
        if (!(trace->arrival_s[i] <= CS_MAX_ARRIVAL_S)) {
            const cs_arrival_row *row = &b->rows->rows[i];
            (void)CS_FAIL(b->err, CS_EINVAL, "arrival_s",
                          "rank %u comes to iteration %llu %.9g s after the first: accepted are "
                          "at most %.0f s",
                          row->rank, number(row), trace->arrival_s[i], CS_MAX_ARRIVAL_S);
            return at(b, row, CS_EINVAL);
        }
    }
    return CS_OK;
}

/* Sizes are the call's, not the rank's. */
static cs_status check_sizes(const building *b)
{
    const cs_arrival_row *rows = b->rows->rows;

    for (size_t i = 0; i < b->n_calls * b->n_ranks; i++) {
        const cs_arrival_row *first = &rows[i - i % b->n_ranks];
        if (rows[i].bytes != first->bytes) {
            (void)CS_FAIL(b->err, CS_EINVAL, "bytes",
                          "rank %u has %llu bytes in iteration %llu, rank 0 has %llu: accepted is "
                          "one size for all ranks of a call",
                          rows[i].rank, (unsigned long long)rows[i].bytes, number(first),
                          (unsigned long long)first->bytes);
            return at(b, &rows[i], CS_EINVAL);
        }
    }
    return CS_OK;
}

/* Arrivals of one call from its records; they begin at 0. */
static void fill_call(const building *b, const cs_arrival_row *row, double *arrival_s)
{
    double first_s = (double)INFINITY;

    for (uint32_t r = 0; r < b->n_ranks; r++) {
        arrival_s[r] = isnan(row[r].arrival_s) ? -row[r].inside_s : row[r].arrival_s;
        first_s      = fmin(first_s, arrival_s[r]);
    }
    for (uint32_t r = 0; r < b->n_ranks; r++) {
        arrival_s[r] -= first_s;
    }
}

static double first_of_call(const building *b, size_t call)
{
    double first_s = (double)INFINITY;

    for (uint32_t r = 0; r < b->n_ranks; r++) {
        first_s = fmin(first_s, b->rows->rows[call * b->n_ranks + r].arrival_s);
    }
    return first_s;
}

/* What the records say themselves, else what one clock shows. */
static void set_period(building *b, bool is_clock)
{
    double sum_s = 0;

    for (size_t c = 0; c < b->n_calls; c++) {
        for (uint32_t r = 0; r < b->n_ranks; r++) {
            sum_s += b->rows->rows[c * b->n_ranks + r].period_s / b->n_ranks;
        }
    }
    b->notes->period_s = sum_s / (double)b->n_calls;
    if (isnan(sum_s) && is_clock && b->n_gaps > 0) {
        double span_s      = first_of_call(b, b->n_calls - 1) - first_of_call(b, 0);
        b->notes->period_s = span_s / (double)b->n_gaps;
    }
}

/* Do the ranks leave some call at times that differ by more than how finely these are given? Then
 * it was measured when they leave. */
static bool ends_differ(const building *b)
{
    const cs_arrival_row *row = b->rows->rows;

    for (size_t c = 0; c < b->n_calls; c++, row += b->n_ranks) {
        double first_s = (double)INFINITY, last_s = -(double)INFINITY;
        for (uint32_t r = 0; r < b->n_ranks; r++) {
            first_s = fmin(first_s, row[r].arrival_s + row[r].inside_s);
            last_s  = fmax(last_s, row[r].arrival_s + row[r].inside_s);
        }
        if (!isnan(row[0].arrival_s) && last_s - first_s > b->notes->end_resolution_s) {
            return true;
        }
    }
    return false;
}

static cs_status fill(building *b, cs_arrival_trace *trace)
{
    const cs_arrival_row *rows       = b->rows->rows;
    size_t                n          = b->n_calls * b->n_ranks;
    bool                  has_inside = true, has_queued = true;

    for (size_t i = 0; i < n; i++) {
        has_inside = has_inside && !isnan(rows[i].inside_s);
        has_queued = has_queued && !isnan(rows[i].queued_s);
    }
    trace->n_ranks   = b->n_ranks;
    trace->n_calls   = b->n_calls;
    trace->arrival_s = CS_NEW(double, n);
    trace->inside_s  = has_inside ? CS_NEW(double, n) : NULL;
    trace->queued_s  = has_queued ? CS_NEW(double, n) : NULL;
    trace->bytes     = rows[0].bytes > 0 ? CS_NEW(uint64_t, b->n_calls) : NULL;
    trace->has_ends  = has_inside && ends_differ(b);
    if (trace->arrival_s == NULL || (has_inside && trace->inside_s == NULL) ||
        (has_queued && trace->queued_s == NULL) || (rows[0].bytes > 0 && trace->bytes == NULL)) {
        return CS_NO_MEMORY(b->err, "a trace of %zu calls", b->n_calls);
    }
    for (size_t c = 0; c < b->n_calls; c++) {
        fill_call(b, &rows[c * b->n_ranks], &trace->arrival_s[c * b->n_ranks]);
        if (trace->bytes != NULL) {
            trace->bytes[c] = rows[c * b->n_ranks].bytes;
        }
    }
    for (size_t i = 0; i < n && has_inside; i++) {
        trace->inside_s[i] = rows[i].inside_s;
    }
    for (size_t i = 0; i < n && has_queued; i++) {
        trace->queued_s[i] = rows[i].queued_s;
    }
    return CS_OK;
}

/* Sort, check, keep. */
static cs_status arrange(building *b, uint32_t warmup)
{
    cs_arrival_rows *rows = b->rows;

    if (rows->n == 0) {
        (void)CS_FAIL(b->err, CS_EPARSE, "", "no record is in it");
        return at(b, &(cs_arrival_row){0}, CS_EPARSE);
    }
    CS_TRY(count_ranks(b));
    if (!is_sorted(rows)) {
        qsort(rows->rows, rows->n, sizeof rows->rows[0], compare);
    }
    CS_TRY(keep_calls(b, b->options->sets_warmup ? b->options->warmup : warmup));
    return check_sizes(b);
}

static cs_status fill_checked(building *b, bool is_clock, cs_arrival_trace *trace)
{
    if (is_clock) {
        CS_TRY(check_clock(b));
    }
    CS_TRY(fill(b, trace));
    return check_lateness(b, trace);
}

cs_status cs_arrival_rows_build(cs_arrival_rows *rows, const cs_arrival_options *options,
                                uint32_t warmup, const char *name, cs_arrival_trace *trace_p,
                                cs_arrival_notes *notes, cs_error *err)
{
    building b = {.rows = rows, .options = options, .name = name, .notes = notes, .err = err};
    cs_arrival_trace trace = {0};

    CS_TRY(arrange(&b, warmup));
    bool      is_clock = !isnan(rows->rows[0].arrival_s) && !are_offsets(&b);
    cs_status status   = fill_checked(&b, is_clock, &trace);
    if (status != CS_OK) {
        cs_arrival_trace_free(&trace);
        return status;
    }
    notes->n_records = rows->n;
    if (isnan(rows->rows[0].arrival_s)) {
        notes->end_resolution_s = (double)NAN;
    }
    set_period(&b, is_clock);
    *trace_p = trace;
    return CS_OK;
}
