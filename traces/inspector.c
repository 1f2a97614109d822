/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Logs of NCCL's profiler plugin Inspector: an object a line, read from front to back. */
#include "traces/inspector.h"
#include "traces/arrival_formats.h"

#include "base/alloc.h"
#include "cs/cluster.h"
#include "input/lines.h"
#include "traces/nccl_names.h"

#include <string.h>

enum { TOLD_LINES = 8192, TOLD_STEPS = 1000 };

enum { RESOLUTION_NS = 1000, NAME_BYTES = 64 };

/* Lines at the beginning of a file of which one must be a record: the first may be torn where logs
 * are rotated. */
enum { LEADING_LINES = 16 };

/* What is read of a line; times in us, CS_NO_TIME: not there. */
typedef struct line_record {
    cs_scan_text group, name, host, collective, algorithm, protocol;
    int64_t      rank, n_ranks, sequence, bytes, inside_us;
    int64_t      called_us, started_us, stopped_us; /* of the kernels, the first and the last */
    bool         has_call, is_point_to_point;
} line_record;

/* What is counted for the notes. */
typedef struct inspection {
    cs_inspector_taker take;
    void              *user; /* of it */
    size_t             n_point_to_point, n_unknown, n_other, n_without_rank, n_too_long, n_cut;
    size_t             n_without_events, n_torn, n_damaged; /* ..: lines, files */
    size_t             n_records;                           /* with those of no use */
    const char        *torn_name, *damaged_name;            /* the first ones */
    int                torn_line, damaged_line;
    line_record        before; /* header and metadata that stand once for many records (4.3) */
    char               kept[3][NAME_BYTES];   /* their texts */
    const char        *name;                  /* of the file */
    char               last_name[NAME_BYTES]; /* of a collective, and which it is */
    cs_collective      last;
    const cs_listener *listener;
    double             file; /* number of the file, from 0 */
    size_t             n_files;
    cs_error          *err;
} inspection;

static void read_header(cs_scan *scan, line_record *r)
{
    cs_scan_text key;

    for (bool is_in = cs_scan_enter(scan, '{'); is_in && cs_scan_key(scan, &key);) {
        if (cs_scan_is(key, "id")) {
            (void)cs_scan_string(scan, &r->group);
        } else if (cs_scan_is(key, "comm_name")) {
            (void)cs_scan_string(scan, &r->name);
        } else if (cs_scan_is(key, "rank")) {
            (void)cs_scan_integer(scan, &r->rank);
        } else if (cs_scan_is(key, "n_ranks")) {
            (void)cs_scan_integer(scan, &r->n_ranks);
        } else {
            cs_scan_skip(scan);
        }
    }
}

static void read_metadata(cs_scan *scan, line_record *r)
{
    cs_scan_text key;

    for (bool is_in = cs_scan_enter(scan, '{'); is_in && cs_scan_key(scan, &key);) {
        if (cs_scan_is(key, "hostname")) {
            (void)cs_scan_string(scan, &r->host);
        } else {
            cs_scan_skip(scan);
        }
    }
}

/* One channel's kernel. */
static void read_kernel(cs_scan *scan, line_record *r)
{
    cs_scan_text key;
    int64_t      at = 0;

    for (bool is_in = cs_scan_enter(scan, '{'); is_in && cs_scan_key(scan, &key);) {
        if (cs_scan_is(key, "kernel_start_ts")) {
            if (cs_scan_integer(scan, &at) && at > 0) {
                r->started_us =
                    r->started_us == CS_NO_TIME || at < r->started_us ? at : r->started_us;
            }
        } else if (cs_scan_is(key, "kernel_stop_ts")) {
            if (cs_scan_integer(scan, &at) && at > r->stopped_us) {
                r->stopped_us = at;
            }
        } else {
            cs_scan_skip(scan);
        }
    }
}

static void read_events(cs_scan *scan, line_record *r)
{
    cs_scan_text key;

    for (bool is_in = cs_scan_enter(scan, '{'); is_in && cs_scan_key(scan, &key);) {
        if (cs_scan_is(key, "coll_start_ts")) {
            (void)cs_scan_integer(scan, &r->called_us);
        } else if (cs_scan_is(key, "kernel_events") && cs_scan_enter(scan, '[')) {
            while (cs_scan_element(scan)) {
                read_kernel(scan, r);
            }
        } else if (!cs_scan_is(key, "kernel_events")) {
            cs_scan_skip(scan);
        }
    }
}

static void read_performance(cs_scan *scan, line_record *r)
{
    cs_scan_text key;

    for (bool is_in = cs_scan_enter(scan, '{'); is_in && cs_scan_key(scan, &key);) {
        if (cs_scan_is(key, "coll")) {
            (void)cs_scan_string(scan, &r->collective);
        } else if (cs_scan_is(key, "coll_sn")) {
            (void)cs_scan_integer(scan, &r->sequence);
        } else if (cs_scan_is(key, "coll_msg_size_bytes")) {
            (void)cs_scan_integer(scan, &r->bytes);
        } else if (cs_scan_is(key, "coll_exec_time_us")) {
            (void)cs_scan_integer(scan, &r->inside_us);
        } else if (cs_scan_is(key, "coll_algo")) {
            (void)cs_scan_string(scan, &r->algorithm);
        } else if (cs_scan_is(key, "coll_proto")) {
            (void)cs_scan_string(scan, &r->protocol);
        } else if (cs_scan_is(key, "event_trace_ts")) {
            read_events(scan, r);
        } else {
            cs_scan_skip(scan);
        }
    }
}

/* A line. False where it is no JSON object. */
static bool read_line(const char *text, size_t length, line_record *r)
{
    cs_scan      scan;
    cs_scan_text key;

    cs_scan_begin(&scan, text, length);
    bool is_object = cs_scan_enter(&scan, '{');
    while (is_object && cs_scan_key(&scan, &key)) {
        if (cs_scan_is(key, "header")) {
            read_header(&scan, r);
        } else if (cs_scan_is(key, "metadata")) {
            read_metadata(&scan, r);
        } else if (cs_scan_is(key, "coll_perf")) {
            r->has_call = true;
            read_performance(&scan, r);
        } else if (cs_scan_is(key, "p2p_perf")) {
            r->is_point_to_point = true;
            cs_scan_skip(&scan);
        } else {
            cs_scan_skip(&scan);
        }
    }
    return is_object && !scan.is_wrong && cs_scan_is_at_end(&scan);
}

/* What only Inspector has. */
static bool is_record(const line_record *r)
{
    return r->has_call || r->is_point_to_point || (r->rank >= 0 && r->group.text != NULL);
}

bool cs_inspector_is(const char *text, size_t length)
{
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3;
        length -= 3;
    }
    for (int i = 0; i < LEADING_LINES && length > 0; i++) {
        const char *end  = memchr(text, '\n', length);
        size_t      n    = end != NULL ? (size_t)(end - text) : length;
        line_record r    = {.rank = -1};
        bool        is_a = read_line(text, n, &r);
        /* A first line that is cut off may be all there is. */
        if ((is_a || i == 0) && is_record(&r)) {
            return true;
        }
        text += end != NULL ? n + 1 : n;
        length -= end != NULL ? n + 1 : n;
    }
    return false;
}

/* A text that outlives its line. */
static cs_scan_text keep(char room[NAME_BYTES], cs_scan_text text)
{
    size_t n = text.length < NAME_BYTES ? text.length : NAME_BYTES - 1;

    if (text.text == NULL) {
        return text;
    }
    memcpy(room, text.text, n);
    room[n] = '\0';
    return (cs_scan_text){room, n};
}

/* Keep what a line without a record says for those that follow (version 4.3). */
static void keep_header(inspection *in, const line_record *r)
{
    line_record *b = &in->before;

    if (r->group.text != NULL) {
        b->group   = keep(in->kept[0], r->group);
        b->rank    = r->rank;
        b->n_ranks = r->n_ranks;
    }
    if (r->host.text != NULL) {
        b->host = keep(in->kept[1], r->host);
    }
}

static int64_t to_ns(int64_t us)
{
    return us >= 0 && us <= INT64_MAX / 4000 ? 1000 * us : CS_NO_TIME;
}

/* Mostly it is that of the record before. */
static bool find_collective(inspection *in, cs_scan_text text, cs_collective *collective_p)
{
    char name[NAME_BYTES];

    if (cs_scan_is(text, in->last_name)) {
        *collective_p = in->last;
        return true;
    }
    (void)keep(name, text);
    if (!cs_nccl_collective_named(name, collective_p)) {
        return false;
    }
    memcpy(in->last_name, name, sizeof name);
    in->last = *collective_p;
    return true;
}

/* NCCL's count is that of one block, nccl-tests' size that of all; 0: not known. */
static uint64_t size_of(const line_record *r, cs_collective collective)
{
    uint64_t n = cs_collectives[collective].layout == CS_WHOLE ? 1
                 : r->n_ranks > 0                              ? (uint64_t)r->n_ranks
                                                               : 0;

    return r->bytes > 0 && n > 0 && (uint64_t)r->bytes <= CS_MAX_BYTES / n ? (uint64_t)r->bytes * n
                                                                           : 0;
}

static cs_status add_record(inspection *in, const line_record *r)
{
    const bool     has_events = r->started_us != CS_NO_TIME && r->stopped_us >= r->started_us;
    cs_logged_call call       = {.group      = r->group,
                                 .sequence   = (uint64_t)r->sequence,
                                 .rank       = (uint32_t)r->rank,
                                 .n_ranks    = r->n_ranks > 0 ? (uint32_t)r->n_ranks : 0,
                                 .started_ns = CS_NO_TIME,
                                 .queued_ns  = CS_NO_TIME,
                                 .inside_ns  = to_ns(r->inside_us)};

    if (!find_collective(in, r->collective, &call.collective)) {
        in->n_other++;
        return CS_OK;
    }
    call.bytes = size_of(r, call.collective);
    if (has_events) {
        call.started_ns = to_ns(r->started_us);
        call.inside_ns  = to_ns(r->stopped_us - r->started_us);
        if (r->called_us > 0 && r->called_us <= r->started_us) {
            call.queued_ns = to_ns(r->started_us - r->called_us);
        }
    }
    in->n_without_events += !has_events;
    const cs_inspected extra = {.host = r->host.text != NULL ? r->host : (cs_scan_text){"?", 1},
                                .algorithm = r->algorithm,
                                .protocol  = r->protocol};
    return in->take(in->user, &call, &extra, in->err);
}

static bool is_blank(const cs_line_view *line)
{
    size_t at = 0;

    while (at < line->length &&
           (line->text[at] == ' ' || line->text[at] == '\t' || line->text[at] == '\r')) {
        at++;
    }
    return at == line->length;
}

static cs_status take_line(inspection *in, const cs_line_view *line)
{
    line_record r = {.group      = in->before.group,
                     .host       = in->before.host,
                     .rank       = in->before.rank,
                     .n_ranks    = in->before.n_ranks,
                     .sequence   = -1,
                     .inside_us  = CS_NO_TIME,
                     .started_us = CS_NO_TIME};

    if (is_blank(line)) {
        return CS_OK;
    }
    if (line->is_cut) {
        in->n_too_long++;
        return CS_OK;
    }
    if (!read_line(line->text, line->length, &r)) {
        if (line->has_no_end) {
            in->n_cut++;
            return CS_OK;
        }
        if (in->n_torn++ == 0) {
            in->torn_name = in->name;
            in->torn_line = line->number;
        }
        return CS_OK;
    }
    in->n_records += is_record(&r);
    if (!r.has_call) {
        in->n_point_to_point += r.is_point_to_point;
        keep_header(in, &r);
        return CS_OK;
    }
    if (r.rank < 0 || r.rank >= CS_MAX_RANKS || r.n_ranks > CS_MAX_RANKS || r.sequence < 0 ||
        r.group.text == NULL || r.collective.text == NULL) {
        in->n_without_rank++;
        return CS_OK;
    }
    return add_record(in, &r);
}

static cs_status read_file(inspection *in, cs_lines *lines)
{
    cs_line_view line     = {.number = 0};
    bool         has_more = true;

    in->before = (line_record){.rank = -1};
    for (uint64_t n = 0;; n++) {
        if (n % TOLD_LINES == 0) {
            cs_tell(in->listener, (uint64_t)((in->file + cs_lines_share(lines)) * TOLD_STEPS),
                    (uint64_t)in->n_files * TOLD_STEPS);
        }
        cs_status status = cs_lines_next(lines, &line, &has_more, in->err);
        if (status == CS_EPARSE && in->n_records > 0) { /* what is in front of the damage counts */
            if (in->n_damaged++ == 0) {
                in->damaged_name = in->name;
                in->damaged_line = line.number;
            }
            if (in->err != NULL) {
                *in->err = (cs_error){.status = CS_OK};
            }
            return CS_OK;
        }
        if (status != CS_OK || !has_more) {
            return status;
        }
        if (line.number == 1 && line.length >= 3 && memcmp(line.text, "\xEF\xBB\xBF", 3) == 0) {
            line.text += 3;
            line.length -= 3;
        }
        status = take_line(in, &line);
        if (status != CS_OK) {
            cs_error_locate(in->err, in->name, line.number, 0);
            return status;
        }
    }
}

static cs_status read_files(inspection *in, const cs_arrival_text *texts, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        cs_lines *lines = NULL;
        in->name        = texts[i].name;
        in->file        = (double)i;
        CS_TRY(texts[i].text == NULL
                   ? cs_lines_open(texts[i].name, &lines, in->err)
                   : cs_lines_open_text(texts[i].text, texts[i].length, &lines, in->err));
        cs_status status = read_file(in, lines);
        cs_lines_close(lines);
        CS_TRY(status);
    }
    if (in->n_records == 0 && in->n_torn > 0) {
        cs_status status = CS_FAIL(in->err, CS_EPARSE, "",
                                   "no JSON object: accepted is one record of Inspector a line");
        cs_error_locate(in->err, in->torn_name, in->torn_line, 1);
        return status;
    }
    return CS_OK;
}

static void note(const inspection *in, cs_text *text)
{
    const cs_left_out counts[] = {
        {in->n_point_to_point, "records of sends and receives"},
        {in->n_other, "records of other operations"},
        {in->n_without_rank, "records without group, rank, operation or number"},
        {in->n_too_long, "lines of more than 1 MiB"},
        {in->n_cut, "records at the end of a file that is cut off"},
    };

    cs_note_left_out(counts, sizeof counts / sizeof counts[0], text);
    if (in->n_torn > 0) {
        cs_text_add(text, "left out: %zu lines that are no JSON object, the first is %s:%d\n",
                    in->n_torn, in->torn_name, in->torn_line);
    }
    if (in->n_damaged > 0) {
        cs_text_add(text,
                    "left out: the rest of %zu compressed files that are damaged or cut off, the "
                    "first is %s, behind line %d\n",
                    in->n_damaged, in->damaged_name, in->damaged_line);
    }
    if (in->n_without_events > 0) {
        cs_text_add(text,
                    "%zu records have no times of their kernels (NCCL_INSPECTOR_DUMP_VERBOSE=1 "
                    "writes them)\n",
                    in->n_without_events);
    }
}

cs_status cs_inspector_visit(const cs_arrival_text *texts, size_t n, const cs_listener *listener,
                             cs_inspector_taker take, void *user, cs_text *notes, cs_error *err)
{
    inspection in = {.err = err, .listener = listener, .n_files = n, .take = take, .user = user};

    CS_TRY(read_files(&in, texts, n));
    note(&in, notes);
    return CS_OK;
}

static cs_status take_call(void *user, const cs_logged_call *call, const cs_inspected *extra,
                           cs_error *err)
{
    cs_call_log   *log = user;
    cs_logged_call own = *call;

    CS_TRY(cs_call_log_host(log, extra->host, &own.host, err));
    return cs_call_log_add(log, &own, err);
}

cs_status cs_inspector_read(const cs_arrival_text *texts, size_t n,
                            const cs_arrival_options *options, cs_arrival_trace *trace_p,
                            cs_arrival_notes *notes, cs_error *err)
{
    cs_call_log *log = NULL;

    CS_TRY(cs_call_log_open(RESOLUTION_NS, &log, err));
    cs_status status =
        cs_inspector_visit(texts, n, options->listener, take_call, log, &notes->text, err);
    if (status == CS_OK) {
        notes->format = "NCCL Inspector";
        status        = cs_call_log_finish(log, options, texts[0].name, trace_p, notes, err);
    }
    cs_call_log_close(log);
    return status;
}
