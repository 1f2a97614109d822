/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records are sorted by call and rank, so that a call is a run of neighbours. */
#include "traces/call_grid.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* The work of one call of cs_call_grid_make(). */
typedef struct making {
    cs_call_record *records; /* [n]; owned */
    size_t          n;
    uint32_t       *row_of; /* [n_ranks] of a rank in the grid; UINT32_MAX: nowhere; owned */
    size_t          n_readings;
    cs_call_grid   *grid;
    cs_text        *notes;
    cs_error       *err;
} making;

static int compare(const void *left, const void *right)
{
    const cs_call_record *a = left, *b = right;

    if (a->call != b->call) {
        return a->call < b->call ? -1 : 1;
    }
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    return (a->started_ns > b->started_ns) - (a->started_ns < b->started_ns);
}

/* Sort; of a rank that has a call twice the first is kept. */
static void sort_records(making *m)
{
    size_t kept = 0;

    qsort(m->records, m->n, sizeof m->records[0], compare);
    for (size_t i = 0; i < m->n; i++) {
        const cs_call_record *r      = &m->records[i];
        const cs_call_record *before = kept > 0 ? &m->records[kept - 1] : NULL;
        if (before == NULL || before->call != r->call || before->rank != r->rank) {
            m->records[kept++] = *r;
        }
    }
    if (kept < m->n) {
        cs_text_add(m->notes,
                    "%zu records are there twice (copies, or two jobs in one folder): the earlier "
                    "one counts\n",
                    m->n - kept);
    }
    m->n = kept;
}

static cs_status find_rows(making *m, const cs_call_records *given)
{
    cs_call_grid *grid   = m->grid;
    uint32_t      listed = 0;

    m->row_of     = CS_NEW(uint32_t, given->n_ranks);
    grid->rank_of = CS_NEW(uint32_t, given->n_ranks);
    if (m->row_of == NULL || grid->rank_of == NULL) {
        return CS_NO_MEMORY(m->err, "the ranks of a group");
    }
    for (uint32_t r = 0; r < given->n_ranks; r++) {
        grid->rank_of[grid->n_rows] = r;
        m->row_of[r]                = given->has_log[r] ? grid->n_rows++ : UINT32_MAX;
    }
    const uint32_t n_missing = given->n_ranks - grid->n_rows;
    if (n_missing == 0) {
        return CS_OK;
    }
    cs_text_add(m->notes, "no log of %u of %u ranks: ", n_missing, given->n_ranks);
    for (uint32_t r = 0; r < given->n_ranks && listed < CS_NOTED; r++) {
        if (m->row_of[r] == UINT32_MAX) {
            cs_text_add(m->notes, "%s%u", listed++ > 0 ? ", " : "", r);
        }
    }
    cs_text_add(m->notes, "%s\n", n_missing > CS_NOTED ? ", .." : "");
    return CS_OK;
}

/* Is everything known of a record that is used? */
static bool is_known(const cs_call_record *r, bool has_clocks)
{
    return r->inside_ns != CS_NO_TIME && (!has_clocks || r->started_ns != CS_NO_TIME);
}

/* Where the records of the call end that begin there; *n_known_p of them are known. */
static size_t end_of_call(const making *m, size_t begin, bool has_clocks, size_t *n_known_p)
{
    size_t end = begin;

    *n_known_p = 0;
    for (; end < m->n && m->records[end].call == m->records[begin].call; end++) {
        *n_known_p += is_known(&m->records[end], has_clocks);
    }
    return end;
}

/* How many calls are there, on all ranks, and on so many that they can be used: from where the logs
 * of all ranks have begun until the first one ends, those that most ranks have, and all ranks that
 * have less than half of these. */
typedef struct census {
    size_t   n_all, n_whole, n_most, n_usable;
    uint64_t first, last; /* calls */
    bool    *is_thin;     /* [n_rows] a rank that has less than half; owned */
} census;

/* Where do the logs of all ranks overlap? First behind last: nowhere. */
static cs_status find_overlap(const making *m, bool has_clocks, census *c)
{
    const uint32_t n_rows   = m->grid->n_rows;
    uint64_t      *last     = CS_NEW(uint64_t, n_rows);
    bool          *is_there = CS_NEW(bool, n_rows);
    uint32_t       n_there  = 0;

    if (last == NULL || is_there == NULL) {
        cs_free(last);
        cs_free(is_there);
        return CS_NO_MEMORY(m->err, "the ranks of a log");
    }
    for (size_t i = 0; i < m->n; i++) {
        uint32_t row = m->row_of[m->records[i].rank];
        if (is_known(&m->records[i], has_clocks)) {
            last[row] = m->records[i].call;
            c->first  = is_there[row] ? c->first : m->records[i].call;
            n_there += !is_there[row];
            is_there[row] = true;
        }
    }
    c->last = UINT64_MAX;
    for (uint32_t i = 0; i < n_rows; i++) {
        c->last = last[i] < c->last ? last[i] : c->last;
    }
    if (n_there < n_rows) {
        c->first = UINT64_MAX;
        c->last  = 0;
    }
    cs_free(last);
    cs_free(is_there);
    return CS_OK;
}

/* Are so few ranks lost of a call that the others say enough? */
static bool is_most(const making *m, const census *c, size_t begin, size_t n_known)
{
    uint64_t call = m->records[begin].call;

    return n_known >= 2 && 4 * n_known >= 3 * (size_t)m->grid->n_rows && call >= c->first &&
           call <= c->last;
}

static size_t n_known_thin(const making *m, const census *c, size_t begin, size_t end,
                           bool has_clocks)
{
    size_t n = 0;

    for (size_t i = begin; i < end; i++) {
        const cs_call_record *r = &m->records[i];
        n += c->is_thin[m->row_of[r->rank]] && is_known(r, has_clocks);
    }
    return n;
}

static cs_status take_census(const making *m, bool has_clocks, census *c)
{
    const uint32_t n_rows = m->grid->n_rows;
    size_t        *n_of_row, end, n_known, n_thin = 0;

    *c = (census){.is_thin = CS_NEW(bool, n_rows)};
    if (c->is_thin == NULL) {
        return CS_NO_MEMORY(m->err, "the ranks of a log");
    }
    CS_TRY(find_overlap(m, has_clocks, c));
    n_of_row = CS_NEW(size_t, n_rows);
    if (n_of_row == NULL) {
        return CS_NO_MEMORY(m->err, "the ranks of a log");
    }
    for (size_t begin = 0; begin < m->n; begin = end) {
        end = end_of_call(m, begin, has_clocks, &n_known);
        c->n_all++;
        c->n_whole += n_known == n_rows;
        c->n_most += is_most(m, c, begin, n_known);
        for (size_t i = begin; i < end && is_most(m, c, begin, n_known); i++) {
            n_of_row[m->row_of[m->records[i].rank]] += is_known(&m->records[i], has_clocks);
        }
    }
    for (uint32_t i = 0; i < n_rows; i++) {
        c->is_thin[i] = 2 * n_of_row[i] < c->n_most;
        n_thin += c->is_thin[i];
    }
    cs_free(n_of_row);
    for (size_t begin = 0; begin < m->n; begin = end) {
        end = end_of_call(m, begin, has_clocks, &n_known);
        c->n_usable +=
            is_most(m, c, begin, n_known) && n_known_thin(m, c, begin, end, has_clocks) == n_thin;
    }
    return CS_OK;
}

/* Keep the calls that can be used; a record that is lost is one without times. */
static cs_status keep_usable(making *m, const census *c)
{
    const cs_call_grid *grid = m->grid;
    cs_call_record     *kept = CS_NEW(cs_call_record, c->n_usable * grid->n_rows);
    size_t              n = 0, n_filled = 0, n_partly = 0, end, n_known, n_thin = 0;

    if (kept == NULL) {
        return CS_NO_MEMORY(m->err, "the records of a log");
    }
    for (uint32_t i = 0; i < grid->n_rows; i++) {
        n_thin += c->is_thin[i];
    }
    for (size_t begin = 0; begin < m->n; begin = end) {
        end = end_of_call(m, begin, grid->has_clocks, &n_known);
        if (!is_most(m, c, begin, n_known) ||
            n_known_thin(m, c, begin, end, grid->has_clocks) < n_thin) {
            continue;
        }
        for (uint32_t i = 0; i < grid->n_rows; i++) {
            kept[n + i] = (cs_call_record){.call       = m->records[begin].call,
                                           .rank       = grid->rank_of[i],
                                           .bytes      = m->records[begin].bytes,
                                           .started_ns = CS_NO_TIME,
                                           .inside_ns  = CS_NO_TIME,
                                           .queued_ns  = CS_NO_TIME};
        }
        for (size_t i = begin; i < end; i++) {
            const cs_call_record *r = &m->records[i];
            if (is_known(r, grid->has_clocks)) {
                kept[n + m->row_of[r->rank]] = *r;
            }
        }
        n_filled += grid->n_rows - n_known;
        n_partly += n_known < grid->n_rows;
        n += grid->n_rows;
    }
    cs_free(m->records);
    m->records = kept;
    m->n       = n;
    cs_text_add(m->notes,
                "lost: %zu of %zu records (%.1f %%), in %zu of %zu calls: their ranks are taken to "
                "come and leave with the middle of the others\n",
                n_filled, n, 100 * (double)n_filled / (double)n, n_partly, c->n_usable);
    return CS_OK;
}

/* Keep the calls that all ranks have. */
static void keep_whole(making *m)
{
    const uint32_t n_rows = m->grid->n_rows;
    size_t         kept   = 0, end, n_known;

    for (size_t begin = 0; begin < m->n; begin = end) {
        end = end_of_call(m, begin, m->grid->has_clocks, &n_known);
        if (n_known == n_rows) {
            if (kept < begin) {
                memmove(&m->records[kept], &m->records[begin], n_rows * sizeof m->records[0]);
            }
            kept += n_rows;
        }
    }
    m->n = kept;
}

/* Leave only calls that can be used. */
static cs_status keep_by(making *m, const census *with, const census *without)
{
    cs_call_grid *grid = m->grid;

    grid->has_clocks = with->n_usable > 0 && 2 * with->n_usable >= without->n_usable;
    const census *c  = grid->has_clocks ? with : without;

    if (!grid->has_clocks && m->n_readings > 0) {
        cs_text_add(m->notes, "too few ranks have times of kernels: they are not used\n");
    }
    if (c->n_whole < c->n_usable) {
        CS_TRY(keep_usable(m, c));
    } else {
        keep_whole(m);
    }
    grid->n_calls    = m->n / grid->n_rows;
    grid->n_left_out = c->n_all - grid->n_calls;
    grid->records    = m->records;
    m->records       = NULL;
    return CS_OK;
}

static cs_status keep_complete(making *m)
{
    census with = {0}, without = {0};

    for (size_t i = 0; i < m->n; i++) {
        m->n_readings += m->records[i].started_ns != CS_NO_TIME;
    }
    cs_status status = take_census(m, true, &with);

    if (status == CS_OK) {
        status = take_census(m, false, &without);
    }
    if (status == CS_OK) {
        status = keep_by(m, &with, &without);
    }
    cs_free(with.is_thin);
    cs_free(without.is_thin);
    return status;
}

cs_status cs_call_grid_make(cs_call_records *given, cs_call_grid *grid_p, cs_text *notes,
                            cs_error *err)
{
    making m = {
        .records = given->records, .n = given->n, .grid = grid_p, .notes = notes, .err = err};

    *grid_p        = (cs_call_grid){0};
    given->records = NULL;
    sort_records(&m);
    cs_status status = find_rows(&m, given);
    if (status == CS_OK && grid_p->n_rows >= 2) {
        status = keep_complete(&m);
    }
    cs_free(m.records);
    cs_free(m.row_of);
    return status;
}

bool cs_call_grid_steps_back(const cs_call_grid *grid)
{
    const uint32_t        n = grid->n_rows;
    const cs_call_record *r = grid->records;

    for (size_t i = n; i < grid->n_calls * n; i++) {
        size_t k = i - n;
        while (cs_call_record_is_lost(&r[k]) && k >= n) {
            k -= n;
        }
        if (!cs_call_record_is_lost(&r[i]) && !cs_call_record_is_lost(&r[k]) &&
            r[i].started_ns < r[k].started_ns) {
            return true;
        }
    }
    return false;
}

void cs_call_grid_free(cs_call_grid *grid)
{
    cs_free(grid->records);
    cs_free(grid->rank_of);
    *grid = (cs_call_grid){0};
}
