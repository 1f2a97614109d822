/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records are kept by group and collective ("streams"). In the end those of one stream are sorted
 * by call and rank, so that a call is a run of neighbours. */
#include "traces/call_log.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/random.h"
#include "base/statistics.h"
#include "cs/cluster.h"
#include "traces/nccl_names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STREAMS = 1 << 16, MOST_HOSTS = 1 << 16, MOST_STREAM_RANKS = 1 << 22, NOTED = 8 };

/* Calls by which clocks are set. */
enum { CLOCK_SAMPLES = 1024 };

/* A restart: so many of the counter are never only out of order. */
enum { MOST_OUT_OF_ORDER = 64 };

#define TO_SIGMA 1.4826 /* median of |x| of a normal variable to its standard deviation */

typedef struct record {
    uint64_t call; /* epoch << EPOCH_SHIFT | sequence */
    int64_t  started_ns, inside_ns, queued_ns;
    uint64_t bytes;
    uint32_t rank;
} record;

enum { EPOCH_SHIFT = 44 };

/* What is known of a rank of a stream. */
typedef struct seen_rank {
    uint64_t last, epoch; /* sequence of its last record */
    int64_t  last_ns;
    size_t   n;
    uint32_t host;
} seen_rank;

typedef struct stream {
    char         *group; /* in the arena */
    cs_collective collective;
    uint32_t      n_ranks; /* as its records say, or as large as the ranks make it */
    record       *records;
    size_t        n, capacity;
    size_t        n_seen;   /* with those that were not kept */
    uint64_t      stride;   /* calls whose number is a multiple are kept */
    bool          is_stuck; /* thinning out takes nothing away: numbers repeat */
    seen_rank    *ranks;    /* [ranks_room] */
    size_t        ranks_room;
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
    const uint64_t mask = ((uint64_t)1 << EPOCH_SHIFT) - 1;
    const record   r    = {.call       = rank->epoch << EPOCH_SHIFT | (call->sequence & mask),
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
    for (size_t i = 0; i < log->n_streams && i < NOTED; i++) {
        char name[64];
        cs_plain_text(name, sizeof name, log->streams[i].group);
        cs_text_add(text, "%s%s (%s)", i > 0 ? ", " : "", name,
                    cs_collective_name(log->streams[i].collective));
    }
    cs_text_add(text, "%s", log->n_streams > NOTED ? ", .." : "");
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

/* ---- the calls of a stream ---- */

/* The work of one call of cs_call_log_finish(). */
typedef struct finishing {
    cs_call_log      *log;
    stream           *s;
    uint32_t         *row_of;     /* [s->n_ranks] of a rank in the trace; UINT32_MAX: nowhere */
    uint32_t          n_present;  /* rows of the trace */
    uint32_t         *rank_of;    /* [n_present] the rank of a row */
    uint32_t         *by_host;    /* [n_present] the rows, host by host */
    uint32_t         *of_host;    /* [n_hosts + 1] where those of a host begin in that */
    bool              has_clocks; /* readings are used */
    size_t            n_readings; /* records that have one */
    size_t            n_filled;   /* records that are lost of calls that are kept */
    double           *offset_s, *drift; /* [n_hosts] of the hosts' clocks */
    int64_t           base_ns;
    double            clock_error_s;
    cs_arrival_rows   rows;
    cs_arrival_notes *notes;
    cs_error         *err;
} finishing;

static int compare(const void *left, const void *right)
{
    const record *a = left, *b = right;

    if (a->call != b->call) {
        return a->call < b->call ? -1 : 1;
    }
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    return (a->started_ns > b->started_ns) - (a->started_ns < b->started_ns);
}

/* Sort; of a rank that has a call twice the first is kept. */
static void sort_records(finishing *f)
{
    stream *s    = f->s;
    size_t  kept = 0;

    qsort(s->records, s->n, sizeof s->records[0], compare);
    for (size_t i = 0; i < s->n; i++) {
        const record *r = &s->records[i], *before = kept > 0 ? &s->records[kept - 1] : NULL;
        if (before == NULL || before->call != r->call || before->rank != r->rank) {
            s->records[kept++] = *r;
        }
    }
    if (kept < s->n) {
        cs_text_add(&f->notes->text,
                    "%zu records are there twice (copies, or two jobs in one folder): the earlier "
                    "one counts\n",
                    s->n - kept);
    }
    s->n = kept;
}

/* The rows of each host, by counting. */
static cs_status sort_by_host(finishing *f)
{
    f->by_host = CS_NEW(uint32_t, f->n_present);
    f->of_host = CS_NEW(uint32_t, f->log->n_hosts + 2);
    if (f->by_host == NULL || f->of_host == NULL) {
        return CS_NO_MEMORY(f->err, "the hosts of a log");
    }
    for (uint32_t i = 0; i < f->n_present; i++) {
        f->of_host[f->s->ranks[f->rank_of[i]].host + 2]++;
    }
    for (size_t h = 2; h < f->log->n_hosts + 2; h++) {
        f->of_host[h] += f->of_host[h - 1];
    }
    for (uint32_t i = 0; i < f->n_present; i++) {
        f->by_host[f->of_host[f->s->ranks[f->rank_of[i]].host + 1]++] = i;
    }
    return CS_OK;
}

static cs_status find_present(finishing *f)
{
    stream  *s      = f->s;
    uint32_t listed = 0;

    f->row_of  = CS_NEW(uint32_t, s->n_ranks);
    f->rank_of = CS_NEW(uint32_t, s->n_ranks);
    if (f->row_of == NULL || f->rank_of == NULL) {
        return CS_NO_MEMORY(f->err, "the ranks of a group");
    }
    for (uint32_t r = 0; r < s->n_ranks; r++) {
        f->rank_of[f->n_present] = r;
        f->row_of[r]             = s->ranks[r].n > 0 ? f->n_present++ : UINT32_MAX;
    }
    CS_TRY(sort_by_host(f));
    if (f->n_present == s->n_ranks) {
        return CS_OK;
    }
    cs_text_add(&f->notes->text, "no log of %u of %u ranks: ", s->n_ranks - f->n_present,
                s->n_ranks);
    for (uint32_t r = 0; r < s->n_ranks && listed < NOTED; r++) {
        if (f->row_of[r] == UINT32_MAX) {
            cs_text_add(&f->notes->text, "%s%u", listed++ > 0 ? ", " : "", r);
        }
    }
    cs_text_add(&f->notes->text, "%s\n", s->n_ranks - f->n_present > NOTED ? ", .." : "");
    return CS_OK;
}

/* Is everything known of a record that is used? */
static bool is_known(const record *r, bool has_clocks)
{
    return r->inside_ns != CS_NO_TIME && (!has_clocks || r->started_ns != CS_NO_TIME);
}

/* Where the records of the call end that begin there; *n_known_p of them are known. */
static size_t end_of_call(const stream *s, size_t begin, bool has_clocks, size_t *n_known_p)
{
    size_t end = begin;

    *n_known_p = 0;
    for (; end < s->n && s->records[end].call == s->records[begin].call; end++) {
        *n_known_p += is_known(&s->records[end], has_clocks);
    }
    return end;
}

/* How many calls are there, on all ranks, and on so many that they can be used: from where the logs
 * of all ranks have begun until the first one ends, those that most ranks have, and all ranks that
 * have less than half of these. */
typedef struct census {
    size_t   n_all, n_whole, n_most, n_usable;
    uint64_t first, last; /* calls */
    bool    *is_thin;     /* [n_present] a rank that has less than half; owned */
} census;

/* Where do the logs of all ranks overlap? First behind last: nowhere. */
static cs_status find_overlap(const finishing *f, bool has_clocks, census *c)
{
    const stream *s        = f->s;
    uint64_t     *last     = CS_NEW(uint64_t, f->n_present);
    bool         *is_there = CS_NEW(bool, f->n_present);
    uint32_t      n_there  = 0;

    if (last == NULL || is_there == NULL) {
        cs_free(last);
        cs_free(is_there);
        return CS_NO_MEMORY(f->err, "the ranks of a log");
    }
    for (size_t i = 0; i < s->n; i++) {
        uint32_t row = f->row_of[s->records[i].rank];
        if (is_known(&s->records[i], has_clocks)) {
            last[row] = s->records[i].call;
            c->first  = is_there[row] ? c->first : s->records[i].call;
            n_there += !is_there[row];
            is_there[row] = true;
        }
    }
    c->last = UINT64_MAX;
    for (uint32_t i = 0; i < f->n_present; i++) {
        c->last = last[i] < c->last ? last[i] : c->last;
    }
    if (n_there < f->n_present) {
        c->first = UINT64_MAX;
        c->last  = 0;
    }
    cs_free(last);
    cs_free(is_there);
    return CS_OK;
}

/* Are so few ranks lost of a call that the others say enough? */
static bool is_most(const finishing *f, const census *c, size_t begin, size_t n_known)
{
    uint64_t call = f->s->records[begin].call;

    return n_known >= 2 && 4 * n_known >= 3 * (size_t)f->n_present && call >= c->first &&
           call <= c->last;
}

static size_t n_known_thin(const finishing *f, const census *c, size_t begin, size_t end,
                           bool has_clocks)
{
    size_t n = 0;

    for (size_t i = begin; i < end; i++) {
        const record *r = &f->s->records[i];
        n += c->is_thin[f->row_of[r->rank]] && is_known(r, has_clocks);
    }
    return n;
}

static cs_status take_census(const finishing *f, bool has_clocks, census *c)
{
    const stream *s = f->s;
    size_t       *n_of_row, end, n_known, n_thin = 0;

    *c = (census){.is_thin = CS_NEW(bool, f->n_present)};
    if (c->is_thin == NULL) {
        return CS_NO_MEMORY(f->err, "the ranks of a log");
    }
    CS_TRY(find_overlap(f, has_clocks, c));
    n_of_row = CS_NEW(size_t, f->n_present);
    if (n_of_row == NULL) {
        return CS_NO_MEMORY(f->err, "the ranks of a log");
    }
    for (size_t begin = 0; begin < s->n; begin = end) {
        end = end_of_call(s, begin, has_clocks, &n_known);
        c->n_all++;
        c->n_whole += n_known == f->n_present;
        c->n_most += is_most(f, c, begin, n_known);
        for (size_t i = begin; i < end && is_most(f, c, begin, n_known); i++) {
            n_of_row[f->row_of[s->records[i].rank]] += is_known(&s->records[i], has_clocks);
        }
    }
    for (uint32_t i = 0; i < f->n_present; i++) {
        c->is_thin[i] = 2 * n_of_row[i] < c->n_most;
        n_thin += c->is_thin[i];
    }
    cs_free(n_of_row);
    for (size_t begin = 0; begin < s->n; begin = end) {
        end = end_of_call(s, begin, has_clocks, &n_known);
        c->n_usable +=
            is_most(f, c, begin, n_known) && n_known_thin(f, c, begin, end, has_clocks) == n_thin;
    }
    return CS_OK;
}

/* Keep the calls that can be used; a record that is lost is one without times. */
static cs_status keep_usable(finishing *f, const census *c)
{
    stream *s    = f->s;
    record *kept = CS_NEW(record, c->n_usable * f->n_present);
    size_t  n = 0, end, n_known, n_thin = 0;

    if (kept == NULL) {
        return CS_NO_MEMORY(f->err, "the records of a log");
    }
    for (uint32_t i = 0; i < f->n_present; i++) {
        n_thin += c->is_thin[i];
    }
    for (size_t begin = 0; begin < s->n; begin = end) {
        end = end_of_call(s, begin, f->has_clocks, &n_known);
        if (!is_most(f, c, begin, n_known) ||
            n_known_thin(f, c, begin, end, f->has_clocks) < n_thin) {
            continue;
        }
        for (uint32_t i = 0; i < f->n_present; i++) {
            kept[n + i] = (record){.call       = s->records[begin].call,
                                   .rank       = f->rank_of[i],
                                   .bytes      = s->records[begin].bytes,
                                   .started_ns = CS_NO_TIME,
                                   .inside_ns  = CS_NO_TIME,
                                   .queued_ns  = CS_NO_TIME};
        }
        for (size_t i = begin; i < end; i++) {
            const record *r = &s->records[i];
            if (is_known(r, f->has_clocks)) {
                kept[n + f->row_of[r->rank]] = *r;
            }
        }
        f->n_filled += f->n_present - n_known;
        n += f->n_present;
    }
    cs_free(s->records);
    s->records  = kept;
    s->n        = n;
    s->capacity = n;
    return CS_OK;
}

/* Keep the calls that all ranks have. */
static void keep_whole(finishing *f)
{
    stream *s    = f->s;
    size_t  kept = 0, end, n_known;

    for (size_t begin = 0; begin < s->n; begin = end) {
        end = end_of_call(s, begin, f->has_clocks, &n_known);
        if (n_known == f->n_present) {
            if (kept < begin) {
                memmove(&s->records[kept], &s->records[begin], f->n_present * sizeof s->records[0]);
            }
            kept += f->n_present;
        }
    }
    s->n = kept;
}

/* Leave only calls that can be used. Readings of clocks are used unless that costs more than half
 * of these. */
static cs_status keep_by(finishing *f, const census *with, const census *without)
{
    f->has_clocks   = with->n_usable > 0 && 2 * with->n_usable >= without->n_usable;
    const census *c = f->has_clocks ? with : without;

    if (!f->has_clocks && f->n_readings > 0) {
        cs_text_add(&f->notes->text, "too few ranks have times of kernels: they are not used\n");
    }
    if (c->n_whole < c->n_usable) {
        CS_TRY(keep_usable(f, c));
    } else {
        keep_whole(f);
    }
    f->notes->n_incomplete = c->n_all - f->s->n / f->n_present;
    if (f->n_filled > 0) {
        cs_text_add(&f->notes->text,
                    "lost: %zu of %zu records (%.1f %%): their ranks are taken to come and leave "
                    "with the middle of the others\n",
                    f->n_filled, f->s->n, 100 * (double)f->n_filled / (double)f->s->n);
    }
    return CS_OK;
}

static cs_status keep_complete(finishing *f)
{
    census with = {0}, without = {0};

    for (size_t i = 0; i < f->s->n; i++) {
        f->n_readings += f->s->records[i].started_ns != CS_NO_TIME;
    }
    cs_status status = take_census(f, true, &with);

    if (status == CS_OK) {
        status = take_census(f, false, &without);
    }
    if (status == CS_OK) {
        status = keep_by(f, &with, &without);
    }
    cs_free(with.is_thin);
    cs_free(without.is_thin);
    return status;
}

/* Is it a record that was lost? */
static bool is_lost(const record *r)
{
    return r->inside_ns == CS_NO_TIME;
}

/* ---- clocks ---- */

/* When a rank left a call, on its host's clock, from the base on. */
static double raw_end_s(const finishing *f, const record *r)
{
    return (double)(r->started_ns - f->base_ns) * 1e-9 + (double)r->inside_ns * 1e-9;
}

static uint32_t host_of(const finishing *f, const record *r)
{
    return f->s->ranks[r->rank].host;
}

/* The reading of a host's clock, on the first host's. */
static double set_clock(const finishing *f, uint32_t host, double reading_s)
{
    return reading_s - f->offset_s[host] - f->drift[host] * reading_s;
}

static double middle_of(double *x, size_t n)
{
    cs_sort_samples(x, n);
    return cs_estimate_quantile(x, n, 0.5, 0).value;
}

/* The earlier ones of values that are sorted: a quarter, of four the first. */
static double early_of(const double *sorted, size_t n)
{
    return sorted[(n - 1) / 4];
}

/* When the earlier ranks of a host left a call; not the middle of them, which would be moved by one
 * of two that always leaves late. NAN: all lost. */
static double host_end_s(const finishing *f, const record *call, uint32_t host, double *scratch)
{
    const uint32_t *rows = &f->by_host[f->of_host[host]];
    size_t          n    = f->of_host[host + 1] - f->of_host[host];

    size_t n_known = 0;

    for (size_t i = 0; i < n; i++) {
        if (!is_lost(&call[rows[i]])) {
            scratch[n_known++] = raw_end_s(f, &call[rows[i]]);
        }
    }
    cs_sort_samples(scratch, n_known);
    return n_known > 0 ? early_of(scratch, n_known) : (double)NAN;
}

/* Calls by which clocks are set: which one is the k-th of how many. */
static size_t n_samples(const finishing *f)
{
    size_t n_calls = f->s->n / f->n_present;
    return n_calls < CLOCK_SAMPLES ? n_calls : CLOCK_SAMPLES;
}

static const record *sample(const finishing *f, size_t k)
{
    size_t n_calls = f->s->n / f->n_present;
    return &f->s->records[k * n_calls / n_samples(f) * f->n_present];
}

/* Offset and drift of a clock from its differences `y` at readings `x`: the median of the slopes
 * between samples that are half of them apart (Theil and Sen, over the pairs that say most), then
 * of what is left. `scratch` has room for n. */
static void fit_clock(const double *x, const double *y, size_t n, double *scratch, double *offset_p,
                      double *drift_p)
{
    size_t half = n / 2, n_slopes = 0;

    for (size_t i = 0; i + half < n && half > 0; i++) {
        double dx = x[i + half] - x[i];
        if (dx > 0) {
            scratch[n_slopes++] = (y[i + half] - y[i]) / dx;
        }
    }
    *drift_p = n_slopes >= 4 ? middle_of(scratch, n_slopes) : 0;
    for (size_t i = 0; i < n; i++) {
        scratch[i] = y[i] - *drift_p * x[i];
    }
    *offset_p = middle_of(scratch, n);
}

/* How far ranks leave behind the earlier ones in each sample, [n_present][n samples], NAN: lost. */
static void find_ends_apart(const finishing *f, double *scratch, double *off_s)
{
    size_t n = n_samples(f);

    for (size_t k = 0; k < n; k++) {
        const record *call    = sample(f, k);
        size_t        n_known = 0;
        for (uint32_t i = 0; i < f->n_present; i++) {
            double end_s     = is_lost(&call[i])
                                   ? (double)NAN
                                   : set_clock(f, host_of(f, &call[i]), raw_end_s(f, &call[i]));
            off_s[i * n + k] = end_s;
            if (!is_lost(&call[i])) {
                scratch[n_known++] = end_s;
            }
        }
        if (f->n_present > 2) { /* of two, the earlier one is now this, now that */
            cs_sort_samples(scratch, n_known);
        }
        for (uint32_t i = 0; i < f->n_present; i++) {
            off_s[i * n + k] -= early_of(scratch, n_known);
        }
    }
}

/* The middle of what is known of values, by their size, or of the differences of neighbours. */
static double middle_size(const double *x, size_t n, bool of_neighbours, double *scratch)
{
    size_t n_known = 0;

    for (size_t k = of_neighbours; k < n; k++) {
        double size = fabs(of_neighbours ? (x[k] - x[k - 1]) / sqrt(2) : x[k]);
        if (!isnan(size)) {
            scratch[n_known++] = size;
        }
    }
    return n_known > 0 ? middle_of(scratch, n_known) : 0;
}

/* How far ends are apart of ranks that leave together: the larger one of how they vary from call to
 * call, and of how far most are behind the early ones. A rank that always leaves late is not in it:
 * of two ranks, the better one says how far they are apart. */
static cs_status find_error(finishing *f, double *scratch)
{
    size_t  n = n_samples(f), n_ranks = f->n_present;
    double *off_s  = CS_NEW(double, n *n_ranks);
    double *vary_s = CS_NEW(double, n_ranks), *apart_s = CS_NEW(double, n_ranks);

    if (off_s == NULL || vary_s == NULL || apart_s == NULL) {
        cs_free(off_s);
        cs_free(vary_s);
        cs_free(apart_s);
        return CS_NO_MEMORY(f->err, "the ends of calls");
    }
    find_ends_apart(f, scratch, off_s);
    for (uint32_t i = 0; i < n_ranks; i++) {
        vary_s[i]  = middle_size(&off_s[i * n], n, true, scratch);
        apart_s[i] = middle_size(&off_s[i * n], n, false, scratch);
    }
    cs_sort_samples(vary_s, n_ranks);
    cs_sort_samples(apart_s, n_ranks);
    f->clock_error_s = fmax(TO_SIGMA * fmax(vary_s[n_ranks / 2], apart_s[(n_ranks - 1) / 2]),
                            (double)f->log->resolution_ns * 1e-9);
    cs_free(off_s);
    cs_free(vary_s);
    cs_free(apart_s);
    return CS_OK;
}

static void note_clock(const finishing *f, uint32_t host, uint32_t reference)
{
    char name[64], other[64];

    cs_plain_text(name, sizeof name, f->log->hosts[host]);
    cs_plain_text(other, sizeof other, f->log->hosts[reference]);
    cs_text_add(&f->notes->text,
                "clock of %s: %.6g s %s %s, %.3g ppm %s; set by the ends of the calls\n", name,
                fabs(f->offset_s[host]), f->offset_s[host] < 0 ? "behind" : "ahead of", other,
                fabs(f->drift[host]) * 1e6, f->drift[host] < 0 ? "slow" : "fast");
}

/* Clocks of all hosts against that of the first rank's. */
static cs_status set_clocks(finishing *f)
{
    size_t   n = n_samples(f), n_noted = 0, first = 0;
    double  *x = CS_NEW(double, n), *y = CS_NEW(double, n), *scratch = NULL;
    uint32_t reference = host_of(f, &f->s->records[0]);

    f->offset_s = CS_NEW(double, f->log->n_hosts);
    f->drift    = CS_NEW(double, f->log->n_hosts);
    scratch     = CS_NEW(double, n > f->n_present ? n : f->n_present);
    if (x == NULL || y == NULL || scratch == NULL || f->offset_s == NULL || f->drift == NULL) {
        cs_free(x);
        cs_free(y);
        cs_free(scratch);
        return CS_NO_MEMORY(f->err, "the clocks of a log");
    }
    while (is_lost(&f->s->records[first])) { /* most of a call is not */
        first++;
    }
    f->base_ns = f->s->records[first].started_ns;
    for (uint32_t h = 0; h < f->log->n_hosts; h++) {
        if (h == reference || f->of_host[h] == f->of_host[h + 1]) {
            continue;
        }
        size_t n_known = 0;
        for (size_t k = 0; k < n; k++) {
            x[n_known] = host_end_s(f, sample(f, k), h, scratch);
            y[n_known] = x[n_known] - host_end_s(f, sample(f, k), reference, scratch);
            n_known += isnan(y[n_known]) ? 0 : 1;
        }
        if (n_known > 0) {
            fit_clock(x, y, n_known, scratch, &f->offset_s[h], &f->drift[h]);
        }
        if (n_noted++ < NOTED) {
            note_clock(f, h, reference);
        }
    }
    cs_status status = find_error(f, scratch);
    cs_free(x);
    cs_free(y);
    cs_free(scratch);
    return status;
}

/* Does a clock step back from call to call? */
static bool steps_back(const finishing *f)
{
    for (size_t i = f->n_present; i < f->s->n; i++) {
        const record *r = &f->s->records[i];
        size_t        k = i - f->n_present;
        while (is_lost(&f->s->records[k]) && k >= f->n_present) {
            k -= f->n_present;
        }
        if (!is_lost(r) && !is_lost(&f->s->records[k]) &&
            r->started_ns < f->s->records[k].started_ns) {
            return true;
        }
    }
    return false;
}

/* ---- the trace ---- */

/* The size of a call: the largest that a rank has; 0 where one does not say its own. */
static uint64_t size_of(const record *call, uint32_t n, size_t *n_uneven)
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
static cs_arrival_row row_of(const finishing *f, const record *r, size_t call, uint64_t bytes)
{
    cs_arrival_row row = {.iteration = call,
                          .rank      = f->row_of[r->rank],
                          .arrival_s = (double)NAN,
                          .inside_s  = (double)r->inside_ns * 1e-9,
                          .queued_s  = (double)NAN,
                          .period_s  = (double)NAN,
                          .bytes     = bytes};

    if (f->has_clocks) {
        row.arrival_s = set_clock(f, host_of(f, r), (double)(r->started_ns - f->base_ns) * 1e-9);
    }
    if (r->queued_ns != CS_NO_TIME) {
        row.queued_s = (double)r->queued_ns * 1e-9;
    }
    return row;
}

/* The rows of a call; those that are lost come, leave and were called as the middle of the others.
 * `scratch` has room for three values of each rank. */
static cs_status add_call(finishing *f, const record *call, size_t number, uint64_t bytes,
                          double *scratch)
{
    const uint32_t n     = f->n_present;
    double        *end_s = scratch + n, *queued_s = scratch + 2 * (size_t)n;
    size_t         n_known = 0, n_queued = 0;
    cs_arrival_row usual = {0};

    for (uint32_t i = 0; i < n; i++) {
        if (is_lost(&call[i])) {
            continue;
        }
        const cs_arrival_row row = row_of(f, &call[i], number, bytes);
        usual                    = row;
        scratch[n_known]         = row.arrival_s;
        end_s[n_known++]         = (f->has_clocks ? row.arrival_s : 0) + row.inside_s;
        queued_s[n_queued]       = row.queued_s;
        n_queued += isnan(row.queued_s) ? 0 : 1;
        CS_TRY(cs_arrival_rows_add(&f->rows, &row, f->err));
    }
    if (n_known == n) {
        return CS_OK;
    }
    usual.arrival_s = f->has_clocks ? middle_of(scratch, n_known) : (double)NAN;
    usual.inside_s  = fmax(middle_of(end_s, n_known) - (f->has_clocks ? usual.arrival_s : 0), 0);
    usual.queued_s  = n_queued > 0 ? middle_of(queued_s, n_queued) : (double)NAN;
    for (uint32_t i = 0; i < n; i++) {
        if (is_lost(&call[i])) {
            usual.rank = i;
            CS_TRY(cs_arrival_rows_add(&f->rows, &usual, f->err));
        }
    }
    return CS_OK;
}

static cs_status add_rows(finishing *f)
{
    const uint32_t n        = f->n_present;
    size_t         n_uneven = 0;
    bool           has_size = true;
    double        *scratch  = CS_NEW(double, 3 * (size_t)n);
    cs_status      status   = CS_OK;

    if (scratch == NULL) {
        return CS_NO_MEMORY(f->err, "a call of a log");
    }
    for (size_t i = 0; i < f->s->n; i += n) {
        has_size = size_of(&f->s->records[i], n, &n_uneven) > 0 && has_size;
    }
    if (n_uneven > 0) {
        cs_text_add(&f->notes->text,
                    "ranks have different sizes in %zu calls: the largest is used\n", n_uneven);
    }
    for (size_t i = 0; i < f->s->n && status == CS_OK; i += n) {
        const record *call  = &f->s->records[i];
        uint64_t      bytes = has_size ? size_of(call, n, &n_uneven) : 0;
        status              = add_call(f, call, i / n, bytes, scratch);
    }
    cs_free(scratch);
    return status;
}

/* The mean distance of two calls, from those that are kept: the first and the last of some rank. */
static double period_of(const finishing *f)
{
    size_t first = 0, last = f->s->n - 1;

    while (first < last && is_lost(&f->s->records[first])) {
        first++;
    }
    last -= (last - first) % f->n_present;
    while (first < last && is_lost(&f->s->records[last])) {
        last -= f->n_present;
    }
    const record *a = &f->s->records[first], *b = &f->s->records[last];
    double        n = (double)(b->call - a->call);
    if (!f->has_clocks || a->call >> EPOCH_SHIFT != b->call >> EPOCH_SHIFT || n <= 0) {
        return (double)NAN;
    }
    return (double)(b->started_ns - a->started_ns) * 1e-9 / n;
}

/* Servers and numbers of the ranks that are there. */
static cs_status describe_ranks(const finishing *f, cs_arrival_trace *trace)
{
    const stream *s = f->s;

    trace->server       = CS_NEW(uint32_t, f->n_present);
    trace->server_names = CS_NEW(char *, f->log->n_hosts);
    trace->number       = f->n_present < s->n_ranks ? CS_NEW(uint32_t, f->n_present) : NULL;
    if (trace->server == NULL || trace->server_names == NULL ||
        (f->n_present < s->n_ranks && trace->number == NULL)) {
        return CS_NO_MEMORY(f->err, "the ranks of a trace");
    }
    trace->group_ranks = s->n_ranks;
    for (uint32_t i = 0; i < f->n_present && trace->number != NULL; i++) {
        trace->number[i] = f->rank_of[i];
    }
    for (size_t h = 0; h < f->log->n_hosts; h++) {
        for (uint32_t i = f->of_host[h]; i < f->of_host[h + 1]; i++) {
            trace->server[f->by_host[i]] = trace->n_servers;
        }
        if (f->of_host[h] < f->of_host[h + 1]) {
            trace->server_names[trace->n_servers] = cs_strdup(f->log->hosts[h]);
            if (trace->server_names[trace->n_servers++] == NULL) {
                return CS_NO_MEMORY(f->err, "the servers of a trace");
            }
        }
    }
    return CS_OK;
}

/* Nothing is left: say why. */
static cs_status refuse_empty(const finishing *f, const char *name)
{
    if (f->n_present < 2) {
        (void)CS_FAIL(f->err, CS_EINVAL, "",
                      "logs of one rank only (of %u): skew needs those of at least two",
                      f->s->n_ranks);
    } else {
        (void)CS_FAIL(f->err, CS_EINVAL, "",
                      "none of %zu calls is there on all %u ranks that have logs",
                      f->notes->n_incomplete, f->n_present);
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
    trace->clock_error_s       = f->has_clocks ? f->clock_error_s : 0;
    f->notes->n_incomplete     = n_incomplete;
    f->notes->n_records        = f->s->n_seen;
    f->notes->period_s         = period_of(f);
    f->notes->end_resolution_s = f->has_clocks ? f->clock_error_s : (double)NAN;
    return CS_OK;
}

static cs_status finish(finishing *f, const cs_arrival_options *options, const char *name,
                        cs_arrival_trace *trace)
{
    note_choice(f->log, f->s, &f->notes->text);
    f->notes->collective = cs_nccl_collective_name(f->s->collective);
    cs_plain_text(f->notes->group, sizeof f->notes->group, f->s->group);
    sort_records(f);
    CS_TRY(find_present(f));
    if (f->n_present < 2) {
        return refuse_empty(f, name);
    }
    CS_TRY(keep_complete(f));
    if (f->s->n < f->n_present) {
        return refuse_empty(f, name);
    }
    if (f->has_clocks && steps_back(f)) {
        cs_text_add(&f->notes->text, "a clock steps back: its readings are not used\n");
        f->has_clocks = false;
    }
    if (f->has_clocks) {
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
    cs_free(f.row_of);
    cs_free(f.rank_of);
    cs_free(f.by_host);
    cs_free(f.of_host);
    cs_free(f.offset_s);
    cs_free(f.drift);
    return status;
}
