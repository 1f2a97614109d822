/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A recording as a timeline in Chrome's trace-event format.
 *
 * Times are rounded to picoseconds once and printed as microseconds with six decimals, so that
 * slices that touch in the simulation touch in the file. A track belongs to a port: (rank,
 * direction, fabric), and the peer where the fabric has a port for each. Slices of one
 * track never overlap: where a model lets messages of one port overlap (latency that holds no port,
 * shared groups), they take further lanes of the port, each a track of its own.
 * An arrow leads to each message from the one that made its source slot ready (of several,
 * the one that ended last). Fences are marked at the moment when all who wait have ended
 * what stands before. A counter is the number of sending ports with a message under way; each rank
 * has one of the bytes that it has sent and received so far. Links that counted have tracks of the
 * deepest queue, the rate and the share of the time that they were paused, each over an interval of
 * time. The critical path is a process of its own, on top, of the category "critical"; its
 * transfers are marked on the ranks' tracks, too (yellow where the viewer takes colours). The
 * scenario and its result are the metadata.
 *
 * Left out: what the model does inside a message (overheads, latency).
 * Source: "Trace Event Format", Google, 2016.
 */
#include "output/chrome_trace.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "engine/explain.h"
#include "output/comparison.h"
#include "output/tracks.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PS_PER_US 1000000

/* Who wrote a slot last. */
typedef struct writer {
    int64_t  end_ps;
    int64_t  middle_ps;
    uint32_t tid; /* of the receiving track; CS_TID_ARRIVAL: nobody */
} writer;

/* A message has left or reached a rank or a switch. */
typedef struct byte_change {
    int64_t  at_ps;
    uint64_t bytes;
    uint32_t end, direction;
} byte_change;

/* The file in the making. */
typedef struct drawing {
    const cs_scenario *scenario;
    cs_text            text;
    cs_tracks          tracks;
    double            *end_s;   /* [n_ranks] when a rank has ended all so far */
    writer            *writers; /* [n_slots][n_ranks] */
    size_t             n_slots;
    uint64_t           n_messages; /* so far: numbers the arrows */
    writer             latest;     /* the last message that was drawn */
    cs_causes          causes;
    uint8_t           *is_critical; /* [transfers] */
    byte_change       *moved;       /* owned */
    size_t             n_moved, moved_capacity;
    cs_arena           arena; /* of what is found before anything is drawn */
} drawing;

static const char *op_name(cs_op op)
{
    return op == CS_OP_COPY ? "copy" : op == CS_OP_EXCHANGE ? "exchange" : "reduce";
}

static int64_t to_ps(double time_s)
{
    return (int64_t)llround(time_s * 1e12);
}

static void add_us(cs_text *text, const char *key, int64_t time_ps)
{
    cs_text_add(text, ",\"%s\":%" PRId64 ".%06" PRId64, key, time_ps / PS_PER_US,
                time_ps % PS_PER_US);
}

/* Of a rank its number, of a switch one behind those of the cluster and of the links. */
static uint32_t pid_of(const drawing *d, uint32_t end)
{
    return cs_is_switch(&d->scenario->cluster, end) ? end + 2 : end;
}

/* "switch 0", "network switch", or a rank's number behind `word`. */
enum { END_NAME_BYTES = 32 };
static void name_end(const drawing *d, uint32_t end, const char *word, char name[END_NAME_BYTES])
{
    const cs_cluster *c = &d->scenario->cluster;

    if (end == cs_network_switch(c)) {
        (void)snprintf(name, END_NAME_BYTES, "network switch");
    } else {
        (void)snprintf(name, END_NAME_BYTES, "%s%" PRIu32, cs_is_switch(c, end) ? "switch " : word,
                       cs_is_switch(c, end) ? end - c->n_ranks : end);
    }
}

/* Open an event and leave it open: the caller adds what else it has, and the closing brace. */
static void begin_event(cs_text *text, const char *phase, uint32_t pid, uint32_t tid, int64_t at_ps)
{
    cs_text_add(text, ",\n{\"ph\":\"%s\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32, phase, pid, tid);
    add_us(text, "ts", at_ps);
}

static void add_late(drawing *d)
{
    for (uint32_t rank = 0; rank < d->scenario->cluster.n_ranks; rank++) {
        double arrival_s = cs_arrival(d->scenario, rank);
        d->end_s[rank]   = arrival_s;
        if (arrival_s > 0) {
            begin_event(&d->text, "X", rank, CS_TID_ARRIVAL, 0);
            add_us(&d->text, "dur", to_ps(arrival_s));
            cs_text_add(&d->text, ",\"name\":\"compute\",\"cat\":\"late\",\"args\":{}}");
        }
    }
}

static cs_status grow_writers(drawing *d, size_t n_slots)
{
    size_t ends = cs_n_ends(&d->scenario->cluster);

    if (n_slots <= d->n_slots) {
        return CS_OK;
    }
    if (n_slots < 2 * d->n_slots) {
        n_slots = 2 * d->n_slots;
    }
    writer *writers = cs_realloc(d->writers, n_slots * ends, sizeof *writers);
    if (writers == NULL) {
        return CS_ENOMEM;
    }
    for (size_t i = d->n_slots * ends; i < n_slots * ends; i++) {
        writers[i] = (writer){.tid = CS_TID_ARRIVAL};
    }
    d->writers = writers;
    d->n_slots = n_slots;
    return CS_OK;
}

/* One direction of a transfer. */
typedef struct message {
    uint32_t src, dst;
    uint16_t src_slot, dst_slot;
    bool     is_own;
} message;

/* "copy c3", "reduce c4-7" */
static void add_what(cs_text *text, const cs_transfer *t)
{
    cs_text_add(text, "%s c%" PRIu32, op_name(cs_transfer_op(t)), t->chunk);
    if (t->span > 1) {
        cs_text_add(text, "-%" PRIu32, t->chunk + t->span - 1u);
    }
}

/* The category, the colour of the critical path, the arguments, and the end of the event. */
static void end_slice(drawing *d, size_t index, const cs_transfer *t, const char *category)
{
    bool is_critical = d->is_critical[index] != 0;

    cs_text_add(&d->text,
                ",\"cat\":\"%s\"%s,\"args\":{\"op\":\"%s\",\"chunk\":%" PRIu32
                ",\"span\":%u,\"bytes\":%" PRIu64 ",\"round\":%" PRIu32
                ",\"waited for\":\"%s\"%s}}",
                category, is_critical ? ",\"cname\":\"yellow\"" : "", op_name(cs_transfer_op(t)),
                t->chunk, t->span, t->bytes, t->round, cs_wait_text(d->causes.causes[index].wait),
                is_critical ? ",\"critical\":true" : "");
}

static void add_slice(drawing *d, size_t index, const cs_transfer *t, const message *m,
                      uint32_t direction, uint32_t tid, int64_t start_ps, int64_t end_ps)
{
    char peer[END_NAME_BYTES];

    begin_event(&d->text, "X", pid_of(d, direction == CS_TX ? m->src : m->dst), tid, start_ps);
    add_us(&d->text, "dur", end_ps - start_ps);
    cs_text_add(&d->text, ",\"name\":\"");
    add_what(&d->text, t);
    name_end(d, direction == CS_TX ? m->dst : m->src, "", peer);
    cs_text_add(&d->text, " %s %s\"", direction == CS_TX ? "->" : "<-", peer);
    end_slice(d, index, t, cs_fabric_name(cs_transfer_fabric(t)));
}

static cs_status note_bytes(drawing *d, uint32_t end, uint32_t direction, int64_t at_ps,
                            uint64_t bytes)
{
    if (!cs_grow(&d->moved, &d->moved_capacity, d->n_moved + 1, 1024, sizeof *d->moved)) {
        return CS_ENOMEM;
    }
    d->moved[d->n_moved++] = (byte_change){at_ps, bytes, end, direction};
    return CS_OK;
}

static void add_arrow(drawing *d, const cs_transfer *t, const message *m, uint32_t tid,
                      int64_t start_ps)
{
    size_t        ends   = cs_n_ends(&d->scenario->cluster);
    const writer *latest = NULL;

    for (size_t i = 0; i < t->span && !m->is_own; i++) {
        const writer *w = &d->writers[(m->src_slot + i) * ends + m->src];
        if (w->tid != CS_TID_ARRIVAL && (latest == NULL || w->end_ps > latest->end_ps)) {
            latest = w;
        }
    }
    if (latest != NULL) {
        static const char rest[] = ",\"id\":%" PRIu64 ",\"name\":\"data\",\"cat\":\"data\"%s}";
        begin_event(&d->text, "s", pid_of(d, m->src), latest->tid, latest->middle_ps);
        cs_text_add(&d->text, rest, d->n_messages, "");
        begin_event(&d->text, "f", pid_of(d, m->src), tid, start_ps);
        cs_text_add(&d->text, rest, d->n_messages, ",\"bp\":\"e\"");
    }
}

static cs_status draw_message(drawing *d, size_t index, const cs_transfer *t, const message *m,
                              const cs_interval *interval, writer *writer_p)
{
    uint32_t fabric    = cs_transfer_fabric(t);
    bool     is_direct = d->scenario->cluster.fabrics[fabric].kind == CS_DIRECT;
    int64_t  start_ps  = to_ps(interval->start_s);
    int64_t  end_ps    = to_ps(interval->end_s);
    cs_track tx = {.direction = CS_TX, .fabric = fabric, .peer = is_direct ? m->dst : CS_NO_PEER};
    cs_track rx = {.direction = CS_RX, .fabric = fabric, .peer = is_direct ? m->src : CS_NO_PEER};
    uint32_t tx_tid, rx_tid;

    CS_TRY(cs_tracks_place(&d->tracks, m->src, tx, start_ps, end_ps, &tx_tid));
    CS_TRY(cs_tracks_place(&d->tracks, m->dst, rx, start_ps, end_ps, &rx_tid));
    d->n_messages++;
    CS_TRY(note_bytes(d, m->src, CS_TX, end_ps, t->bytes));
    CS_TRY(note_bytes(d, m->dst, CS_RX, end_ps, t->bytes));
    add_slice(d, index, t, m, CS_TX, tx_tid, start_ps, end_ps);
    add_slice(d, index, t, m, CS_RX, rx_tid, start_ps, end_ps);
    add_arrow(d, t, m, tx_tid, start_ps);
    *writer_p = (writer){end_ps, start_ps + (end_ps - start_ps) / 2, rx_tid};
    return CS_OK;
}

static void set_writers(drawing *d, uint32_t rank, uint16_t slot, uint16_t span, writer w)
{
    size_t ends = cs_n_ends(&d->scenario->cluster);

    for (size_t i = 0; i < span; i++) {
        d->writers[(slot + i) * ends + rank] = w;
    }
}

static cs_status draw_transfer(drawing *d, size_t index, const cs_transfer *t,
                               const cs_interval *interval)
{
    bool    is_both = cs_transfer_op(t) == CS_OP_EXCHANGE;
    message there   = {t->src, t->dst, t->src_slot, t->dst_slot, (t->flags & CS_OWN_SRC) != 0};
    message back    = {t->dst, t->src, t->dst_slot, t->src_slot, (t->flags & CS_OWN_DST) != 0};
    writer  at_dst, at_src;
    size_t  last_slot = (t->src_slot > t->dst_slot ? t->src_slot : t->dst_slot) + (size_t)t->span;

    CS_TRY(grow_writers(d, last_slot));
    if ((t->flags & CS_JOIN) != 0 && t->bytes == 0) {
        at_dst = d->latest; /* a part without bytes takes no time: nothing to see */
    } else {
        CS_TRY(draw_message(d, index, t, &there, interval, &at_dst));
    }
    if (is_both) {
        CS_TRY(draw_message(d, index, t, &back, interval, &at_src));
    }
    d->latest = at_dst;
    set_writers(d, t->dst, t->dst_slot, t->span, at_dst);
    if (is_both) {
        set_writers(d, t->src, t->src_slot, t->span, at_src);
    }
    d->end_s[t->src] = fmax(d->end_s[t->src], interval->end_s);
    d->end_s[t->dst] = fmax(d->end_s[t->dst], interval->end_s);
    return CS_OK;
}

static void draw_fence(drawing *d, const cs_fence *fence)
{
    double at_s = 0;

    for (uint32_t rank = 0; rank < d->scenario->cluster.n_ranks; rank++) {
        if (rank != fence->except) {
            at_s = fmax(at_s, d->end_s[rank]);
        }
    }
    begin_event(&d->text, "i", d->scenario->cluster.n_ranks, 0, to_ps(at_s));
    cs_text_add(&d->text, ",\"s\":\"g\",\"name\":\"fence\",\"args\":{\"cost_us\":");
    cs_text_add_number(&d->text, fence->cost_s * 1e6);
    if (fence->except != CS_FENCE_ALL) {
        cs_text_add(&d->text, ",\"except\":%" PRIu32, fence->except);
    }
    cs_text_add(&d->text, "}}");
}

static void add_name(cs_text *text, uint32_t pid, uint32_t tid, const char *what)
{
    cs_text_add(
        text, ",\n{\"ph\":\"M\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"name\":\"%s\",\"args\":{",
        pid, tid, what);
}

static void add_names(drawing *d, uint32_t end)
{
    const cs_track_list *list = &d->tracks.ranks[end];
    cs_text             *text = &d->text;
    uint32_t             rank = pid_of(d, end);
    char                 name[END_NAME_BYTES];

    add_name(text, rank, 0, "process_name");
    name_end(d, end, "rank ", name);
    cs_text_add(text, "\"name\":\"%s\"}}", name);
    add_name(text, rank, 0, "process_sort_index");
    cs_text_add(text, "\"sort_index\":%" PRIu32 "}}", rank);
    add_name(text, rank, CS_TID_ARRIVAL, "thread_name");
    cs_text_add(text, "\"name\":\"arrival\"}}");
    for (size_t i = 0; i < list->count; i++) {
        const cs_track *t = &list->tracks[i];
        add_name(text, rank, t->tid, "thread_name");
        cs_text_add(text, "\"name\":\"%s %s", t->direction == CS_TX ? "tx" : "rx",
                    cs_fabric_name(t->fabric));
        if (t->peer != CS_NO_PEER) {
            cs_text_add(text, " %s %" PRIu32, t->direction == CS_TX ? "->" : "<-", t->peer);
        }
        if (t->lane > 0) {
            cs_text_add(text, " (%" PRIu32 ")", t->lane + 1);
        }
        cs_text_add(text, "\"}}");
        add_name(text, rank, t->tid, "thread_sort_index");
        cs_text_add(text, "\"sort_index\":%" PRIu32 "}}", t->tid);
    }
}

static void add_counter(drawing *d, int64_t at_ps, int64_t n_busy)
{
    begin_event(&d->text, "C", d->scenario->cluster.n_ranks, 0, at_ps);
    cs_text_add(&d->text, ",\"name\":\"busy tx ports\",\"args\":{\"ports\":%" PRId64 "}}", n_busy);
}

static void add_counters(drawing *d)
{
    const cs_tracks *tracks = &d->tracks;
    int64_t          n_busy = 0, n_shown = 0;

    add_counter(d, 0, 0);
    cs_tracks_sort_changes(&d->tracks);
    for (size_t i = 0; i < tracks->n_changes; i++) {
        const cs_busy_change *change = &tracks->changes[i];
        bool is_last = i + 1 == tracks->n_changes || change[1].at_ps > change->at_ps;

        n_busy += change->change;
        if (is_last && n_busy != n_shown) {
            add_counter(d, change->at_ps, n_busy);
            n_shown = n_busy;
        }
    }
}

/* ---- bytes ---- */

static int compare_moved(const void *left, const void *right)
{
    const byte_change *a = left, *b = right;

    return a->end != b->end ? (a->end > b->end) - (a->end < b->end)
                            : (a->at_ps > b->at_ps) - (a->at_ps < b->at_ps);
}

static void add_bytes(drawing *d, uint32_t end, int64_t at_ps, const uint64_t bytes[2])
{
    begin_event(&d->text, "C", pid_of(d, end), 0, at_ps);
    cs_text_add(&d->text,
                ",\"name\":\"bytes\",\"args\":{\"sent\":%" PRIu64 ",\"received\":%" PRIu64 "}}",
                bytes[CS_TX], bytes[CS_RX]);
}

/* Of every rank and switch the bytes that messages that have ended have brought so far. */
static void add_byte_counters(drawing *d)
{
    uint64_t bytes[2] = {0};

    if (d->n_moved > 0) {
        qsort(d->moved, d->n_moved, sizeof *d->moved, compare_moved);
    }
    for (size_t i = 0; i < d->n_moved; i++) {
        const byte_change *change = &d->moved[i];
        if (i == 0 || change->end != change[-1].end) {
            bytes[CS_TX] = bytes[CS_RX] = 0;
            add_bytes(d, change->end, 0, bytes);
        }
        bytes[change->direction] += change->bytes;
        if (i + 1 == d->n_moved || compare_moved(change, change + 1) != 0) {
            add_bytes(d, change->end, change->at_ps, bytes);
        }
    }
}

/* ---- the critical path ---- */

static cs_status find_path(drawing *d, const cs_recording *recording, cs_error *err)
{
    CS_TRY(cs_causes_find(recording, d->scenario, &d->arena, &d->causes, err));
    d->is_critical = CS_ARENA_NEW(&d->arena, uint8_t, recording->n_transfers + 1);
    for (size_t k = 0; k < d->causes.n_path && d->is_critical != NULL; k++) {
        d->is_critical[d->causes.path[k]] = 1;
    }
    return d->is_critical != NULL ? CS_OK : CS_NO_MEMORY(err, "the critical path");
}

/* A process of its own, before all others, with a slice for each transfer of the path. Parts of one
 * message may overlap: they take further tracks. */
static cs_status draw_path(drawing *d, const cs_recording *recording)
{
    uint32_t  pid    = cs_n_ends(&d->scenario->cluster) + 2;
    cs_track  port   = {.direction = CS_TX, .fabric = CS_NIC, .peer = CS_NO_PEER};
    cs_tracks tracks = {0};
    cs_status status = cs_tracks_init(&tracks, 1);

    add_name(&d->text, pid, 0, "process_name");
    cs_text_add(&d->text, "\"name\":\"critical path\"}}");
    add_name(&d->text, pid, 0, "process_sort_index");
    cs_text_add(&d->text, "\"sort_index\":-1}}");
    for (size_t k = 0; k < d->causes.n_path && status == CS_OK; k++) {
        uint32_t           index = d->causes.path[k], tid = 0;
        const cs_transfer *t        = &recording->transfers[index];
        int64_t            start_ps = to_ps(recording->intervals[index].start_s);
        int64_t            end_ps   = to_ps(recording->intervals[index].end_s);
        char               src[END_NAME_BYTES], dst[END_NAME_BYTES];

        status = cs_tracks_place(&tracks, 0, port, start_ps, end_ps, &tid);
        name_end(d, t->src, "", src);
        name_end(d, t->dst, "", dst);
        begin_event(&d->text, "X", pid, tid, start_ps);
        add_us(&d->text, "dur", end_ps - start_ps);
        cs_text_add(&d->text, ",\"name\":\"%s -> %s ", src, dst);
        add_what(&d->text, t);
        cs_text_add(&d->text, "\"");
        end_slice(d, index, t, "critical");
    }
    for (size_t i = 0; i < (tracks.ranks != NULL ? tracks.ranks[0].count : 0); i++) {
        add_name(&d->text, pid, tracks.ranks[0].tracks[i].tid, "thread_name");
        cs_text_add(&d->text, "\"name\":\"what decides the time\"}}");
    }
    cs_tracks_free(&tracks);
    return status;
}

/* ---- the scenario ---- */

static void add_text_key(cs_text *text, const char *key, const char *value)
{
    cs_text_add(text, ",\n\"%s\":", key);
    cs_text_add_json_string(text, value);
}

static void add_options(cs_text *text, const char *key, const cs_field *table,
                        const cs_options *options)
{
    cs_text words = {0};
    char    value[64];

    for (const cs_field *row = table; row != NULL && row->name != NULL; row++) {
        (void)cs_field_text(row, options, value, sizeof value);
        cs_text_add(&words, "%s%s=%s", row == table ? "" : " ", row->name, value);
    }
    if (words.length > 0) {
        add_text_key(text, key, words.data);
    }
    text->failed = text->failed || words.failed;
    cs_text_free(&words);
}

static void add_number_key(cs_text *text, const char *key, double value)
{
    if (isfinite(value)) {
        cs_text_add(text, ",\n\"%s\":", key);
        cs_text_add_number(text, value);
    }
}

/* The metadata: what was run, and what came out. */
static void add_scenario(drawing *d, const cs_result *r)
{
    cs_text *text = &d->text;
    char     setting[CS_SETTING_BYTES];

    cs_setting_text(d->scenario, setting, sizeof setting);
    cs_text_add(text, "\n],\n\"otherData\":{\"collsim\":\"" COLLSIM_VERSION "\"");
    add_text_key(text, "setting", setting);
    add_number_key(text, "ranks", d->scenario->cluster.n_ranks);
    add_number_key(text, "gpus_per_server", d->scenario->cluster.gpus_per_server);
    if (r != NULL) {
        add_text_key(text, "collective", r->collective);
        add_text_key(text, "algorithm", r->algorithm);
        add_options(text, "algorithm_options", r->option_table, &r->options);
        add_text_key(text, "model", r->model);
        add_options(text, "model_options", r->model_option_table, &r->model_options);
        add_number_key(text, "bytes", (double)r->bytes);
        add_number_key(text, "elapsed_us", 1e6 * r->elapsed_s);
        add_number_key(text, "exposed_us", 1e6 * r->exposed_s);
        add_number_key(text, "bound_us", 1e6 * r->bound_s);
        add_text_key(text, "bound", r->bound);
        cs_text_add(text, ",\n\"verified\":%s", r->verified ? "true" : "false");
    }
    cs_text_add(text, "}}\n");
}

/* The moment before which no schedule ends. */
static void add_bound(drawing *d, const cs_result *r)
{
    if (r != NULL && r->bound_s > 0 && r->bound_s <= CS_CHROME_TRACE_MAX_S) {
        begin_event(&d->text, "i", d->scenario->cluster.n_ranks, 0, to_ps(r->bound_s));
        cs_text_add(&d->text, ",\"s\":\"g\",\"name\":\"lower bound\",\"args\":{\"bound\":");
        cs_text_add_json_string(&d->text, r->bound);
        cs_text_add(&d->text, "}}");
    }
}

/* ---- what links counted ---- */

/* The track of a link in one interval. */
static void add_link_counter(drawing *d, const char *what, const char *link, const char *unit,
                             int64_t at_ps, double value)
{
    begin_event(&d->text, "C", d->scenario->cluster.n_ranks + 1, 0, at_ps);
    cs_text_add(&d->text, ",\"name\":\"%s %s\",\"args\":{\"%s\":", what, link, unit);
    cs_text_add_number(&d->text, value);
    cs_text_add(&d->text, "}}");
}

static void add_link_counters(drawing *d, const cs_link_counters *c, const cs_link_sample *s,
                              uint64_t interval, uint32_t link)
{
    char    name[CS_COUNTED_NAME_BYTES];
    double  sample_s = c->report.sample_s;
    int64_t at_ps    = to_ps((double)interval * sample_s);

    cs_link_counters_name(c, link, name);
    if (c->links[link].deepest_bytes > 0) {
        add_link_counter(d, "queue", name, "bytes", at_ps, s != NULL ? (double)s->queue_bytes : 0);
    }
    add_link_counter(d, "rate", name, "GB/s", at_ps,
                     s != NULL ? (double)s->bytes / sample_s / 1e9 : 0);
    if (c->links[link].pauses > 0) {
        add_link_counter(d, "paused", name, "share", at_ps, s != NULL ? s->paused_s / sample_s : 0);
    }
}

/* `next[l]`: the interval of link l behind its last sample; UINT64_MAX: the link is not shown. */
static void add_samples(drawing *d, const cs_link_counters *c, uint64_t *next)
{
    const cs_link_report *r = &c->report;

    for (size_t i = 0; i < r->n_samples; i++) {
        const cs_link_sample *s = &r->samples[i];
        if (next[s->link] == UINT64_MAX) {
            continue;
        }
        if (next[s->link] < s->interval) {
            add_link_counters(d, c, NULL, next[s->link], s->link);
        }
        add_link_counters(d, c, s, s->interval, s->link);
        next[s->link] = s->interval + 1;
    }
    for (uint32_t l = 0; l < r->n_links; l++) {
        if (next[l] != UINT64_MAX) {
            add_link_counters(d, c, NULL, next[l], l);
        }
    }
}

static cs_status draw_links(drawing *d, const cs_link_counters *c)
{
    uint32_t *links = NULL, n = 0;

    if (c->report.n_samples == 0) {
        return CS_OK;
    }
    uint64_t *next = CS_NEW(uint64_t, c->report.n_links);
    if (next == NULL || cs_link_counters_order(c, &links, &n, NULL) != CS_OK) {
        cs_free(next);
        return CS_ENOMEM;
    }
    for (uint32_t l = 0; l < c->report.n_links; l++) {
        next[l] = UINT64_MAX;
    }
    for (uint32_t i = 0; i < n && i < CS_CHROME_TRACE_MOST_LINKS; i++) {
        next[links[i]] = 0;
    }
    add_name(&d->text, d->scenario->cluster.n_ranks + 1, 0, "process_name");
    cs_text_add(&d->text, "\"name\":\"links\"}}");
    add_samples(d, c, next);
    cs_free(next);
    cs_free(links);
    return CS_OK;
}

static cs_status draw_transfers(drawing *d, const cs_recording *recording)
{
    cs_status status     = CS_OK;
    size_t    next_fence = 0;

    for (size_t i = 0; i < recording->n_transfers && status == CS_OK && !d->text.failed; i++) {
        const cs_fence *fence = cs_recording_fence(recording, i, &next_fence);
        if (fence != NULL) {
            draw_fence(d, fence);
        }
        status = draw_transfer(d, i, &recording->transfers[i], &recording->intervals[i]);
    }
    return status;
}

static cs_status draw(drawing *d, const cs_recording *recording, const cs_link_counters *counters,
                      const cs_result *result)
{
    uint32_t n_ranks = d->scenario->cluster.n_ranks, ends = cs_n_ends(&d->scenario->cluster);

    CS_TRY(find_path(d, recording, NULL));
    d->end_s = CS_NEW(double, ends);
    if (d->end_s == NULL || cs_tracks_init(&d->tracks, ends) != CS_OK) {
        return CS_ENOMEM;
    }
    cs_text_add(&d->text,
                "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":%" PRIu32
                ",\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"cluster\"}}",
                n_ranks);
    add_late(d);
    cs_status status = draw_transfers(d, recording);
    for (uint32_t rank = 0; rank < ends && status == CS_OK; rank++) {
        if (rank < n_ranks || d->tracks.ranks[rank].count > 0) {
            add_names(d, rank);
        }
    }
    add_counters(d);
    add_byte_counters(d);
    add_bound(d, result);
    if (status == CS_OK) {
        status = draw_path(d, recording);
    }
    if (status == CS_OK) {
        status = draw_links(d, counters);
    }
    add_scenario(d, result);
    return status == CS_OK ? cs_text_status(&d->text, NULL) : status;
}

cs_status cs_chrome_trace_limit(const cs_recording *recording, cs_error *err)
{
    if (!(recording->last_end_s <= CS_CHROME_TRACE_MAX_S)) {
        return CS_FAIL(err, CS_EINVAL, "trace", "a message ends after %g s; at most %g s fit",
                       recording->last_end_s, CS_CHROME_TRACE_MAX_S);
    }
    if (recording->n_transfers + recording->n_exchanges > CS_CHROME_TRACE_MAX_MESSAGES) {
        return CS_FAIL(err, CS_EINVAL, "trace",
                       "more than %u messages, which no viewer opens; take fewer ranks or fewer "
                       "segments",
                       CS_CHROME_TRACE_MAX_MESSAGES);
    }
    return CS_OK;
}

cs_status cs_chrome_trace(const cs_recording *recording, const cs_scenario *scenario,
                          const cs_link_counters *counters, const cs_result *result,
                          cs_text *text_p, cs_error *err)
{
    drawing   d      = {.scenario = scenario};
    cs_status status = cs_chrome_trace_limit(recording, err);

    if (status != CS_OK) {
        return status;
    }
    status = draw(&d, recording, counters, result);
    if (status == CS_OK) {
        *text_p = d.text;
    } else {
        cs_text_free(&d.text);
        (void)CS_FAIL(err, status, "trace", "out of memory for the timeline");
    }
    cs_tracks_free(&d.tracks);
    cs_free(d.end_s);
    cs_free(d.writers);
    cs_free(d.moved);
    cs_arena_free(&d.arena);
    return status;
}
