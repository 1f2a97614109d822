/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records are kept by group and collective ("streams"). In the end those of one stream become a
 * grid of calls by ranks, the clocks of whose hosts are set. */
#include "traces/call_log.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/random.h"
#include "base/statistics.h"
#include "cs/cluster.h"
#include "traces/call_grid.h"
#include "traces/host_clocks.h"
#include "traces/nccl_names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STREAMS = 1 << 16, MOST_HOSTS = 1 << 16, MOST_STREAM_RANKS = 1 << 22 };

/* A restart: so many of the counter are never only out of order. */
enum { MOST_OUT_OF_ORDER = 64 };

enum { EPOCH_SHIFT = 44 };

/* What is known of a rank of a stream. */
typedef struct seen_rank {
    uint64_t last, epoch; /* sequence of its last record */
    int64_t  last_ns;
    size_t   n;
    uint32_t host;
} seen_rank;

typedef struct stream {
    char           *group; /* in the arena */
    cs_collective   collective;
    uint32_t        n_ranks; /* as its records say, or as large as the ranks make it */
    cs_call_record *records; /* call: epoch << EPOCH_SHIFT | sequence */
    size_t          n, capacity;
    size_t          n_seen;   /* with those that were not kept */
    uint64_t        stride;   /* calls whose number is a multiple are kept */
    bool            is_stuck; /* thinning out takes nothing away: numbers repeat */
    seen_rank      *ranks;    /* [ranks_room] */
    size_t          ranks_room;
} stream;

struct cs_call_log {
    cs_arena arena;
    int64_t  resolution_ns;
    stream  *streams;
    size_t   n_streams, streams_room;
    size_t  *table; /* [table_size] index of a stream + 1, by a hash of its names; 0: free */
    size_t   table_size;
    size_t   last; /* the stream of the record before */
    char   **hosts;
    size_t   n_hosts, hosts_room, last_host;
    size_t   n_records;                  /* kept in all streams */
    size_t   n_restarts, n_stream_ranks; /* ..: of all streams */
    size_t   n_refused;                  /* records for which there was no room */
};

cs_status cs_call_log_open(int64_t resolution_ns, cs_call_log **log_p, cs_error *err)
{
    cs_call_log *log = CS_NEW(cs_call_log, 1);

    if (log == NULL) {
        return CS_NO_MEMORY(err, "a log of calls");
    }
    log->resolution_ns = resolution_ns;
    *log_p             = log;
    return CS_OK;
}

void cs_call_log_close(cs_call_log *log)
{
    for (size_t i = 0; log != NULL && i < log->n_streams; i++) {
        cs_free(log->streams[i].records);
        cs_free(log->streams[i].ranks);
    }
    if (log != NULL) {
        cs_free(log->streams);
        cs_free(log->table);
        cs_free(log->hosts);
        cs_arena_free(&log->arena);
    }
    cs_free(log);
}

void cs_note_left_out(const cs_left_out *list, size_t n, cs_text *text)
{
    for (size_t i = 0; i < n; i++) {
        if (list[i].n > 0) {
            cs_text_add(text, "left out: %zu %s\n", list[i].n, list[i].what);
        }
    }
}

static bool is_named(const char *name, cs_scan_text text)
{
    return strncmp(name, text.text, text.length) == 0 && name[text.length] == '\0';
}

/* A name in the arena, without what could not be printed. */
static char *keep_name(cs_call_log *log, cs_scan_text text)
{
    char *name = CS_ARENA_NEW(&log->arena, char, text.length + 1);

    for (size_t i = 0; name != NULL && i < text.length; i++) {
        name[i] = text.text[i];
    }
    return name;
}

cs_status cs_call_log_host(cs_call_log *log, cs_scan_text name, uint32_t *host_p, cs_error *err)
{
    size_t h = log->last_host;

    if (h >= log->n_hosts || !is_named(log->hosts[h], name)) {
        for (h = 0; h < log->n_hosts && !is_named(log->hosts[h], name);) {
            h++;
        }
    }
    if (h == log->n_hosts) {
        if (h == MOST_HOSTS) {
            return CS_FAIL(err, CS_EINVAL, "", "more than %d hosts", MOST_HOSTS);
        }
        if (!cs_grow(&log->hosts, &log->hosts_room, h + 1, 16, sizeof *log->hosts) ||
            (log->hosts[h] = keep_name(log, name)) == NULL) {
            return CS_NO_MEMORY(err, "a host's name");
        }
        log->n_hosts++;
    }
    log->last_host = h;
    *host_p        = (uint32_t)h;
    return CS_OK;
}

static uint64_t hash_of(cs_scan_text group, cs_collective collective)
{
    uint64_t hash = cs_mix64(collective);

    for (size_t i = 0; i < group.length; i++) {
        hash = cs_mix64(hash ^ (unsigned char)group.text[i]);
    }
    return hash;
}

/* The place of a stream in the table, or a free one. */
static size_t *place_of(const cs_call_log *log, cs_scan_text group, cs_collective collective)
{
    size_t at = hash_of(group, collective) & (log->table_size - 1);

    for (; log->table[at] > 0; at = (at + 1) & (log->table_size - 1)) {
        const stream *s = &log->streams[log->table[at] - 1];
        if (s->collective == collective && is_named(s->group, group)) {
            break;
        }
    }
    return &log->table[at];
}

/* Keep the table at most half full. */
static bool grow_table(cs_call_log *log)
{
    size_t  size  = log->table_size > 0 ? 2 * log->table_size : 64;
    size_t *table = CS_NEW(size_t, size);

    if (table == NULL) {
        return false;
    }
    cs_free(log->table);
    log->table      = table;
    log->table_size = size;
    for (size_t i = 0; i < log->n_streams; i++) {
        const stream *s                     = &log->streams[i];
        cs_scan_text  name                  = {s->group, strlen(s->group)};
        *place_of(log, name, s->collective) = i + 1;
    }
    return true;
}

static cs_status add_stream(cs_call_log *log, const cs_logged_call *call, cs_error *err)
{
    if (log->n_streams == MOST_STREAMS) {
        return CS_FAIL(err, CS_EINVAL, "", "more than %d process groups and collectives",
                       MOST_STREAMS);
    }
    char *group = keep_name(log, call->group);
    if (group == NULL ||
        !cs_grow(&log->streams, &log->streams_room, log->n_streams + 1, 16, sizeof *log->streams)) {
        return CS_NO_MEMORY(err, "a process group");
    }
    log->streams[log->n_streams++] =
        (stream){.group = group, .collective = call->collective, .stride = 1};
    return CS_OK;
}

static cs_status find_stream(cs_call_log *log, const cs_logged_call *call, stream **stream_p,
                             cs_error *err)
{
    if (log->last >= log->n_streams || log->streams[log->last].collective != call->collective ||
        !is_named(log->streams[log->last].group, call->group)) {
        if (2 * (log->n_streams + 1) > log->table_size && !grow_table(log)) {
            return CS_NO_MEMORY(err, "a process group");
        }
        size_t *place = place_of(log, call->group, call->collective);
        if (*place == 0) {
            CS_TRY(add_stream(log, call, err));
            *place = log->n_streams;
        }
        log->last = *place - 1;
    }
    *stream_p = &log->streams[log->last];
    return CS_OK;
}

static cs_status find_rank(cs_call_log *log, stream *s, const cs_logged_call *call,
                           seen_rank **rank_p, cs_error *err)
{
    uint32_t most = call->n_ranks > call->rank ? call->n_ranks : call->rank + 1;

    if (call->rank >= CS_MAX_RANKS || most > CS_MAX_RANKS ||
        (call->n_ranks > 0 && call->rank >= call->n_ranks)) {
        return CS_FAIL(err, CS_EINVAL, "rank", "rank %u of a group of %u; accepted are at most %u",
                       call->rank, call->n_ranks, (unsigned)CS_MAX_RANKS);
    }
    if (most > s->n_ranks) {
        log->n_stream_ranks += most - s->n_ranks;
        s->n_ranks = most;
    }
    if (log->n_stream_ranks > MOST_STREAM_RANKS) {
        return CS_FAIL(err, CS_EINVAL, "rank", "more than %d ranks in all groups together",
                       MOST_STREAM_RANKS);
    }
    size_t before = s->ranks_room;
    if (s->n_ranks > before) {
        if (!cs_grow(&s->ranks, &s->ranks_room, s->n_ranks, 8, sizeof *s->ranks)) {
            return CS_NO_MEMORY(err, "the ranks of a group");
        }
        memset(s->ranks + before, 0, (s->ranks_room - before) * sizeof *s->ranks);
    }
    *rank_p = &s->ranks[call->rank];
    return CS_OK;
}

/* Has the counter of a rank begun again? Then it is behind, but the clock is not. */
static bool is_restart(const seen_rank *rank, const cs_logged_call *call)
{
    if (rank->n == 0 || call->sequence > rank->last) {
        return false;
    }
    if (call->started_ns != CS_NO_TIME && rank->last_ns != CS_NO_TIME) {
        return call->started_ns > rank->last_ns;
    }
    return rank->last - call->sequence > MOST_OUT_OF_ORDER;
}

/* Keep every second of the calls that are kept of the largest stream of which that takes any away.
 * False: there is none. */
static bool thin_out(cs_call_log *log)
{
    stream *s    = NULL;
    size_t  kept = 0;

    for (size_t i = 0; i < log->n_streams; i++) {
        stream *t = &log->streams[i];
        s         = !t->is_stuck && (s == NULL || t->n > s->n) ? t : s;
    }
    if (s == NULL) {
        return false;
    }
    s->stride *= 2;
    for (size_t i = 0; i < s->n; i++) {
        if (s->records[i].call % s->stride == 0) {
            s->records[kept++] = s->records[i];
        }
    }
    s->is_stuck = kept == s->n || s->stride > (uint64_t)1 << (EPOCH_SHIFT - 2);
    log->n_records -= s->n - kept;
    s->n = kept;
    return true;
}

/* A time that can be: what is not counts as not known. */
static int64_t usual_ns(int64_t ns)
{
    return ns >= 0 && ns <= INT64_MAX / 4 ? ns : CS_NO_TIME;
}

cs_status cs_call_log_add(cs_call_log *log, const cs_logged_call *call, cs_error *err)
{
    stream    *s    = NULL;
    seen_rank *rank = NULL;

    CS_TRY(find_stream(log, call, &s, err));
    CS_TRY(find_rank(log, s, call, &rank, err));
    if (is_restart(rank, call)) {
        rank->epoch++;
        log->n_restarts++;
    }
    rank->n++;
    rank->host    = call->host;
    rank->last    = call->sequence;
    rank->last_ns = call->started_ns;
    s->n_seen++;
    const uint64_t       mask = ((uint64_t)1 << EPOCH_SHIFT) - 1;
    const cs_call_record r    = {.call       = rank->epoch << EPOCH_SHIFT | (call->sequence & mask),
                                 .started_ns = usual_ns(call->started_ns),
                                 .inside_ns  = usual_ns(call->inside_ns),
                                 .queued_ns  = usual_ns(call->queued_ns),
                                 .bytes      = call->bytes,
                                 .rank       = call->rank};
    if (r.call % s->stride != 0) {
        return CS_OK;
    }
    while (log->n_records >= CS_CALL_LOG_MOST && thin_out(log)) {
    }
    if (r.call % s->stride != 0) {
        return CS_OK;
    }
    if (log->n_records >= CS_CALL_LOG_MOST) {
        log->n_refused++;
        return CS_OK;
    }
    if (!cs_grow(&s->records, &s->capacity, s->n + 1, 1024, sizeof *s->records)) {
        return CS_NO_MEMORY(err, "the records of a log");
    }
    s->records[s->n++] = r;
    log->n_records++;
    return CS_OK;
}

/* ---- which stream ---- */

/* A list of streams' names for an error: "0x1f (allreduce), .." */
static void list_streams(const cs_call_log *log, cs_text *text)
{
    for (size_t i = 0; i < log->n_streams && i < CS_NOTED; i++) {
        char name[64];
        cs_plain_text(name, sizeof name, log->streams[i].group);
        cs_text_add(text, "%s%s (%s)", i > 0 ? ", " : "", name,
                    cs_collective_name(log->streams[i].collective));
    }
    cs_text_add(text, "%s", log->n_streams > CS_NOTED ? ", .." : "");
}

static bool fits(const stream *s, const char *group, const cs_collective *collective)
{
    return (group == NULL || strcmp(s->group, group) == 0) &&
           (collective == NULL || s->collective == *collective);
}

/* The stream with most records that fits, the first of several; NULL: none. */
static stream *largest(const cs_call_log *log, const char *group, const cs_collective *collective)
{
    stream *best = NULL;

    for (size_t i = 0; i < log->n_streams; i++) {
        stream *s = &log->streams[i];
        if (fits(s, group, collective) && (best == NULL || s->n_seen > best->n_seen)) {
            best = s;
        }
    }
    return best;
}

static cs_status choose(const cs_call_log *log, const cs_arrival_options *options, const char *name,
                        stream **stream_p, cs_error *err)
{
    cs_collective collective = CS_ALLREDUCE;

    if (options->collective != NULL) {
        CS_TRY(cs_collective_find(options->collective, &collective, err));
    }
    *stream_p = largest(log, options->group, &collective);
    if (*stream_p == NULL && options->collective == NULL) {
        *stream_p = largest(log, options->group, NULL);
    }
    if (*stream_p != NULL) {
        return CS_OK;
    }
    cs_text list = {0};
    list_streams(log, &list);
    if (log->n_streams == 0) {
        (void)CS_FAIL(err, CS_EPARSE, "", "no record of a collective is in it");
    } else {
        (void)CS_FAIL(err, CS_EINVAL, "", "no %s of group '%.60s': there are %.300s",
                      options->collective != NULL ? options->collective : "collective",
                      options->group != NULL ? options->group : "any",
                      list.data != NULL ? list.data : "");
    }
    cs_text_free(&list);
    cs_error_locate(err, name, 0, 0);
    return err != NULL ? err->status : CS_EINVAL;
}

static void note_choice(const cs_call_log *log, const stream *s, cs_text *text)
{
    size_t n_groups = 0, n_collectives = 0;
    char   name[64];

    for (size_t i = 0; i < log->n_streams; i++) {
        n_groups += log->streams[i].collective == s->collective && &log->streams[i] != s;
        n_collectives += strcmp(log->streams[i].group, s->group) == 0 && &log->streams[i] != s;
    }
    cs_plain_text(name, sizeof name, s->group);
    cs_text_add(text, "%s of group %s\n", cs_collective_name(s->collective), name);
    if (n_groups > 0) {
        cs_text_add(text, "%zu other groups have that collective, too (--group)\n", n_groups);
    }
    if (n_collectives > 0) {
        cs_text_add(text, "%zu other collectives of the group (--collective)\n", n_collectives);
    }
    if (s->stride > 1) {
        cs_text_add(text, "one call of every %llu is used: %zu records are more than are kept\n",
                    (unsigned long long)s->stride, s->n_seen);
    }
    if (log->n_refused > 0) {
        cs_text_add(text, "left out: %zu records whose numbers of calls repeat\n", log->n_refused);
    }
    if (log->n_restarts > 0) {
        cs_text_add(text, "counters of calls begin again %zu times: the job was restarted\n",
                    log->n_restarts);
    }
}

/* ---- the trace ---- */

/* The work of one call of cs_call_log_finish(). */
typedef struct finishing {
    cs_call_log      *log;
    stream           *s;
    cs_call_grid      grid;
    uint32_t         *host; /* [grid.n_rows] */
    cs_host_clocks    clocks;
    int64_t           base_ns; /* times on clocks count from there */
    cs_arrival_rows   rows;
    cs_arrival_notes *notes;
    cs_error         *err;
} finishing;

static cs_status make_grid(finishing *f)
{
    stream         *s       = f->s;
    cs_call_records given   = {.records = s->records, .n = s->n, .n_ranks = s->n_ranks};
    bool           *has_log = CS_NEW(bool, s->n_ranks);

    if (has_log == NULL) {
        return CS_NO_MEMORY(f->err, "the ranks of a group");
    }
    for (uint32_t r = 0; r < s->n_ranks; r++) {
        has_log[r] = s->ranks[r].n > 0;
    }
    given.has_log    = has_log;
    s->records       = NULL;
    cs_status status = cs_call_grid_make(&given, &f->grid, &f->notes->text, f->err);
    cs_free(has_log);
    if (status == CS_OK && (f->host = CS_NEW(uint32_t, f->grid.n_rows)) == NULL) {
        status = CS_NO_MEMORY(f->err, "the hosts of a log");
    }
    for (uint32_t i = 0; status == CS_OK && i < f->grid.n_rows; i++) {
        f->host[i] = s->ranks[f->grid.rank_of[i]].host;
    }
    return status;
}

/* The first record that is not lost. */
static size_t first_record(const cs_call_grid *grid)
{
    size_t first = 0;

    while (first + 1 < grid->n_calls * grid->n_rows &&
           cs_call_record_is_lost(&grid->records[first])) {
        first++;
    }
    return first;
}

/* When a row's kernel began, on its host's clock, from the base on. */
static double started_s(const finishing *f, const cs_call_record *r)
{
    return (double)(r->started_ns - f->base_ns) * 1e-9;
}

/* Clocks of all hosts, from calls that lie evenly over the log. */
static cs_status set_clocks(finishing *f)
{
    const cs_call_grid *grid  = &f->grid;
    const size_t        n     = grid->n_calls < CS_CLOCK_CALLS ? grid->n_calls : CS_CLOCK_CALLS;
    double             *end_s = CS_NEW(double, n * grid->n_rows);

    if (end_s == NULL) {
        return CS_NO_MEMORY(f->err, "the ends of calls");
    }
    f->base_ns = grid->records[first_record(grid)].started_ns;
    for (size_t k = 0; k < n; k++) {
        const cs_call_record *call = cs_call_grid_call(grid, k * grid->n_calls / n);
        for (uint32_t i = 0; i < grid->n_rows; i++) {
            end_s[k * grid->n_rows + i] =
                cs_call_record_is_lost(&call[i])
                    ? (double)NAN
                    : started_s(f, &call[i]) + (double)call[i].inside_ns * 1e-9;
        }
    }
    const cs_call_ends ends   = {n, grid->n_rows, f->host, end_s};
    cs_status          status = cs_host_clocks_set(&ends, f->log->n_hosts,
                                                   (double)f->log->resolution_ns * 1e-9, &f->clocks, f->err);
    if (status == CS_OK) {
        cs_host_clocks_note(&f->clocks, f->log->hosts, CS_NOTED, &f->notes->text);
    }
    cs_free(end_s);
    return status;
}

static double middle_of(double *x, size_t n)
{
    cs_sort_samples(x, n);
    return cs_estimate_quantile(x, n, 0.5, 0).value;
}

/* The size of a call: the largest that a rank has; 0 where one does not say its own. */
static uint64_t size_of(const cs_call_record *call, uint32_t n, size_t *n_uneven)
{
    uint64_t least = UINT64_MAX, most = 0;

    for (uint32_t i = 0; i < n; i++) {
        least = call[i].bytes < least ? call[i].bytes : least;
        most  = call[i].bytes > most ? call[i].bytes : most;
    }
    *n_uneven += least != most;
    return least > 0 ? most : 0;
}

/* A record as a row of the trace. */
static cs_arrival_row row_of(const finishing *f, const cs_call_record *r, uint32_t row_of_rank,
                             size_t call, uint64_t bytes)
{
    cs_arrival_row row = {.iteration = call,
                          .rank      = row_of_rank,
                          .arrival_s = (double)NAN,
                          .inside_s  = (double)r->inside_ns * 1e-9,
                          .queued_s  = (double)NAN,
                          .period_s  = (double)NAN,
                          .bytes     = bytes};

    if (f->grid.has_clocks) {
        row.arrival_s = cs_host_clocks_read(&f->clocks, f->host[row_of_rank], started_s(f, r));
    }
    if (r->queued_ns != CS_NO_TIME) {
        row.queued_s = (double)r->queued_ns * 1e-9;
    }
    return row;
}

/* The rows of a call; those that are lost come, leave and were called as the middle of the others.
 * `scratch` has room for three values of each rank. */
static cs_status add_call(finishing *f, const cs_call_record *call, size_t number, uint64_t bytes,
                          double *scratch)
{
    const uint32_t n     = f->grid.n_rows;
    double        *end_s = scratch + n, *queued_s = scratch + 2 * (size_t)n;
    size_t         n_known = 0, n_queued = 0;
    cs_arrival_row usual = {0};

    for (uint32_t i = 0; i < n; i++) {
        if (cs_call_record_is_lost(&call[i])) {
            continue;
        }
        const cs_arrival_row row = row_of(f, &call[i], i, number, bytes);
        usual                    = row;
        scratch[n_known]         = row.arrival_s;
        end_s[n_known++]         = (f->grid.has_clocks ? row.arrival_s : 0) + row.inside_s;
        queued_s[n_queued]       = row.queued_s;
        n_queued += isnan(row.queued_s) ? 0 : 1;
        CS_TRY(cs_arrival_rows_add(&f->rows, &row, f->err));
    }
    if (n_known == n) {
        return CS_OK;
    }
    usual.arrival_s = f->grid.has_clocks ? middle_of(scratch, n_known) : (double)NAN;
    usual.inside_s =
        fmax(middle_of(end_s, n_known) - (f->grid.has_clocks ? usual.arrival_s : 0), 0);
    usual.queued_s = n_queued > 0 ? middle_of(queued_s, n_queued) : (double)NAN;
    for (uint32_t i = 0; i < n; i++) {
        if (cs_call_record_is_lost(&call[i])) {
            usual.rank = i;
            CS_TRY(cs_arrival_rows_add(&f->rows, &usual, f->err));
        }
    }
    return CS_OK;
}

static cs_status add_rows(finishing *f)
{
    const uint32_t n        = f->grid.n_rows;
    size_t         n_uneven = 0;
    bool           has_size = true;
    double        *scratch  = CS_NEW(double, 3 * (size_t)n);
    cs_status      status   = CS_OK;

    if (scratch == NULL) {
        return CS_NO_MEMORY(f->err, "a call of a log");
    }
    for (size_t k = 0; k < f->grid.n_calls; k++) {
        has_size = size_of(cs_call_grid_call(&f->grid, k), n, &n_uneven) > 0 && has_size;
    }
    if (n_uneven > 0) {
        cs_text_add(&f->notes->text,
                    "ranks have different sizes in %zu calls: the largest is used\n", n_uneven);
    }
    for (size_t k = 0; k < f->grid.n_calls && status == CS_OK; k++) {
        const cs_call_record *call  = cs_call_grid_call(&f->grid, k);
        uint64_t              bytes = has_size ? size_of(call, n, &n_uneven) : 0;
        status                      = add_call(f, call, k, bytes, scratch);
    }
    cs_free(scratch);
    return status;
}

/* The mean distance of two calls, from those that are kept: the first and the last of some rank. */
static double period_of(const finishing *f)
{
    const cs_call_grid *grid  = &f->grid;
    size_t              first = first_record(grid), last = grid->n_calls * grid->n_rows - 1;

    last -= (last - first) % grid->n_rows;
    while (first < last && cs_call_record_is_lost(&grid->records[last])) {
        last -= grid->n_rows;
    }
    const cs_call_record *a = &grid->records[first], *b = &grid->records[last];
    double                n = (double)(b->call - a->call);
    if (!f->grid.has_clocks || a->call >> EPOCH_SHIFT != b->call >> EPOCH_SHIFT || n <= 0) {
        return (double)NAN;
    }
    return (double)(b->started_ns - a->started_ns) * 1e-9 / n;
}

/* The hosts of ranks, in their order. */
static cs_status name_servers(const finishing *f, cs_arrival_trace *trace)
{
    const size_t n_hosts   = f->log->n_hosts;
    uint32_t    *server_of = CS_NEW(uint32_t, n_hosts); /* + 1; 0: of no rank */
    cs_status    status    = server_of != NULL ? CS_OK : CS_NO_MEMORY(f->err, "the servers");

    for (uint32_t i = 0; i < f->grid.n_rows && status == CS_OK; i++) {
        server_of[f->host[i]] = 1;
    }
    for (size_t h = 0; h < n_hosts && status == CS_OK; h++) {
        if (server_of[h] > 0) {
            char *name                              = cs_strdup(f->log->hosts[h]);
            trace->server_names[trace->n_servers++] = name;
            server_of[h]                            = trace->n_servers;
            status = name != NULL ? CS_OK : CS_NO_MEMORY(f->err, "the servers of a trace");
        }
    }
    for (uint32_t i = 0; i < f->grid.n_rows && status == CS_OK; i++) {
        trace->server[i] = server_of[f->host[i]] - 1;
    }
    cs_free(server_of);
    return status;
}

/* Servers and numbers of the ranks that are there. */
static cs_status describe_ranks(const finishing *f, cs_arrival_trace *trace)
{
    const stream *s = f->s;

    trace->server       = CS_NEW(uint32_t, f->grid.n_rows);
    trace->server_names = CS_NEW(char *, f->log->n_hosts);
    trace->number       = f->grid.n_rows < s->n_ranks ? CS_NEW(uint32_t, f->grid.n_rows) : NULL;
    if (trace->server == NULL || trace->server_names == NULL ||
        (f->grid.n_rows < s->n_ranks && trace->number == NULL)) {
        return CS_NO_MEMORY(f->err, "the ranks of a trace");
    }
    trace->group_ranks = s->n_ranks;
    for (uint32_t i = 0; i < f->grid.n_rows && trace->number != NULL; i++) {
        trace->number[i] = f->grid.rank_of[i];
    }
    return name_servers(f, trace);
}

/* Nothing is left: say why. */
static cs_status refuse_empty(const finishing *f, const char *name)
{
    if (f->grid.n_rows < 2) {
        (void)CS_FAIL(f->err, CS_EINVAL, "",
                      "logs of one rank only (of %u): skew needs those of at least two",
                      f->s->n_ranks);
    } else {
        (void)CS_FAIL(f->err, CS_EINVAL, "",
                      "none of %zu calls is there on all %u ranks that have logs",
                      f->notes->n_incomplete, f->grid.n_rows);
    }
    cs_error_locate(f->err, name, 0, 0);
    return CS_EINVAL;
}

static cs_status build(finishing *f, const cs_arrival_options *options, const char *name,
                       cs_arrival_trace *trace)
{
    cs_arrival_options all          = *options;
    size_t             n_incomplete = f->notes->n_incomplete;

    all.skip_incomplete = true;
    CS_TRY(add_rows(f));
    CS_TRY(cs_arrival_rows_build(&f->rows, &all, 0, name, trace, f->notes, f->err));
    cs_status status = describe_ranks(f, trace);
    if (status != CS_OK) {
        cs_arrival_trace_free(trace);
        return status;
    }
    trace->clock_error_s       = f->grid.has_clocks ? f->clocks.error_s : 0;
    f->notes->n_incomplete     = n_incomplete;
    f->notes->n_records        = f->s->n_seen;
    f->notes->period_s         = period_of(f);
    f->notes->end_resolution_s = f->grid.has_clocks ? f->clocks.error_s : (double)NAN;
    return CS_OK;
}

static cs_status finish(finishing *f, const cs_arrival_options *options, const char *name,
                        cs_arrival_trace *trace)
{
    note_choice(f->log, f->s, &f->notes->text);
    f->notes->collective = cs_nccl_collective_name(f->s->collective);
    cs_plain_text(f->notes->group, sizeof f->notes->group, f->s->group);
    CS_TRY(make_grid(f));
    f->notes->n_incomplete = f->grid.n_left_out;
    if (f->grid.n_calls == 0) {
        return refuse_empty(f, name);
    }
    if (f->grid.has_clocks && cs_call_grid_steps_back(&f->grid)) {
        cs_text_add(&f->notes->text, "a clock steps back: its readings are not used\n");
        f->grid.has_clocks = false;
    }
    if (f->grid.has_clocks) {
        CS_TRY(set_clocks(f));
    } else {
        cs_text_add(&f->notes->text,
                    "arrivals come from the times inside: all ranks leave a call together\n");
    }
    return build(f, options, name, trace);
}

cs_status cs_call_log_finish(cs_call_log *log, const cs_arrival_options *options, const char *name,
                             cs_arrival_trace *trace_p, cs_arrival_notes *notes, cs_error *err)
{
    finishing f = {.log = log, .notes = notes, .err = err};

    CS_TRY(choose(log, options, name, &f.s, err));
    cs_status status = finish(&f, options, name, trace_p);
    cs_arrival_rows_free(&f.rows);
    cs_call_grid_free(&f.grid);
    cs_host_clocks_free(&f.clocks);
    cs_free(f.host);
    return status;
}
