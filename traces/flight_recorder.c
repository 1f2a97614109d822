/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dumps of PyTorch's Flight Recorder as JSON, one file per rank. */
#include "traces/arrival_formats.h"

#include "base/text.h"
#include "cs/cluster.h"
#include "input/tree.h"
#include "traces/call_log.h"
#include "traces/nccl_names.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { RESOLUTION_NS = 1000, MOST_MEMBERS = 1 << 16, NAME_BYTES = 128, MOST_GROUPS = 32 };

/* Who the rank is in a group. */
typedef struct membership {
    const json_t *members; /* as the file lists them */
    uint32_t      place, size;
    bool          is_member;
} membership;

/* One file. */
typedef struct dump {
    cs_call_log           *log;
    const cs_arrival_text *text;
    json_t                *tree;
    int64_t                rank;                /* in the job */
    membership             groups[MOST_GROUPS]; /* that were looked up last in this file */
    size_t                 n_groups;
    size_t                 n_unfinished, n_point_to_point, n_other, n_odd; /* of all files */
    size_t                 n_polled;                                       /* without a duration */
} dump;

bool cs_flight_recorder_is(const char *text, size_t length)
{
    cs_scan      scan;
    cs_scan_text key;

    cs_scan_begin(&scan, text, length);
    for (bool is_in = cs_scan_enter(&scan, '{'); is_in && cs_scan_key(&scan, &key);) {
        if (cs_scan_is(key, "entries")) {
            return true;
        }
        cs_scan_skip(&scan);
    }
    return false;
}

/* The number behind the last "rank" in a file's name, else the last one: "job3_rank_12.json"; -1:
 * none. */
static int64_t rank_in_name(const char *name)
{
    const char *file    = strrchr(name, '/') != NULL ? strrchr(name, '/') + 1 : name;
    int64_t     rank    = -1;
    bool        is_said = false;

    for (const char *at = file; *at != '\0'; at++) {
        if (!isdigit((unsigned char)*at)) {
            continue;
        }
        int64_t     number = 0;
        const char *word   = at - (at > file && (at[-1] == '_' || at[-1] == '-'));
        bool        says   = word - file >= 4 && strncasecmp(word - 4, "rank", 4) == 0;
        for (; isdigit((unsigned char)*at); at++) {
            number = number < CS_MAX_RANKS ? 10 * number + (*at - '0') : number;
        }
        at--;
        if (says || !is_said) {
            rank = number;
        }
        is_said = is_said || says;
    }
    return rank;
}

static cs_status refuse(const dump *d, const char *where, const char *message, cs_error *err)
{
    cs_status status = CS_FAIL(err, CS_EPARSE, where, "%s", message);

    cs_error_locate(err, d->text->name, 0, 0);
    return status;
}

static cs_status find_rank(dump *d, cs_error *err)
{
    const json_t *said = json_object_get(d->tree, "rank");

    d->rank = json_is_integer(said) ? json_integer_value(said) : rank_in_name(d->text->name);
    if (d->rank < 0 || d->rank >= CS_MAX_RANKS) {
        return refuse(d, "rank",
                      "neither the dump nor the number in its file's name says which rank it is of",
                      err);
    }
    return CS_OK;
}

/* The members of a group, "[0, 1, 2]" or an array: the place of a rank among them. */
static bool place_in_group(const json_t *members, int64_t rank, uint32_t *place_p, uint32_t *size_p)
{
    const char *text  = json_string_value(members);
    bool        found = false;

    *size_p = (uint32_t)json_array_size(members);
    for (uint32_t i = 0; i < *size_p; i++) {
        if (json_integer_value(json_array_get(members, i)) == rank && !found) {
            *place_p = i;
            found    = true;
        }
    }
    while (text != NULL && *text != '\0' && *size_p < MOST_MEMBERS) {
        int64_t number = 0;
        text += strcspn(text, "0123456789");
        if (*text == '\0') {
            break;
        }
        for (; isdigit((unsigned char)*text); text++) {
            number = number < CS_MAX_RANKS ? 10 * number + (*text - '0') : number;
        }
        if (number == rank && !found) {
            *place_p = *size_p;
            found    = true;
        }
        (*size_p)++;
    }
    return found;
}

/* The same, of the groups of this file once only: a list may be as long as the job. */
static bool find_place(dump *d, const json_t *members, uint32_t *place_p, uint32_t *size_p)
{
    size_t g = 0;

    while (g < MOST_GROUPS && g < d->n_groups && d->groups[g].members != members) {
        g++;
    }
    if (g == MOST_GROUPS || g == d->n_groups) {
        g             = d->n_groups++ % MOST_GROUPS;
        membership *m = &d->groups[g];
        *m            = (membership){.members = members};
        m->is_member  = place_in_group(members, d->rank, &m->place, &m->size);
    }
    *place_p = d->groups[g].place;
    *size_p  = d->groups[g].size;
    return d->groups[g].is_member;
}

/* The group of an entry: its name, and who the rank is in it. */
static void find_group(dump *d, const json_t *entry, cs_logged_call *call, char *name)
{
    const json_t *group = json_object_get(entry, "process_group");
    const char   *said = json_string_value(json_is_array(group) ? json_array_get(group, 0) : group);
    const json_t *id   = json_object_get(entry, "pg_id");
    const json_t *config = json_object_get(d->tree, "pg_config");
    uint32_t      place  = (uint32_t)d->rank;
    uint32_t      size   = 0;

    if (said != NULL) {
        cs_plain_text(name, NAME_BYTES, said);
    } else {
        (void)snprintf(name, NAME_BYTES, "%lld", (long long)json_integer_value(id));
    }
    const json_t *members = json_object_get(json_object_get(config, name), "ranks");
    if (!find_place(d, members, &place, &size)) {
        place = (uint32_t)d->rank;
        size  = 0;
    }
    call->rank    = place;
    call->n_ranks = size <= CS_MAX_RANKS ? size : 0;
    call->group   = (cs_scan_text){name, strlen(name)};
}

/* The elements of all tensors of a list [[1024, 4], ..] times the size of their types. */
static uint64_t tensors_bytes(const json_t *sizes, const json_t *types)
{
    double bytes = 0;

    for (size_t t = 0; t < json_array_size(sizes); t++) {
        const json_t *shape = json_array_get(sizes, t);
        const json_t *type  = json_is_array(types) ? json_array_get(types, t) : types;
        double        n     = (double)cs_torch_type_bytes(json_string_value(type));
        for (size_t i = 0; i < json_array_size(shape); i++) {
            n *= json_number_value(json_array_get(shape, i));
        }
        bytes += n;
    }
    return bytes > 0 && bytes < 0x1p50 ? (uint64_t)bytes : 0;
}

static int64_t time_of(const json_t *entry, const char *key)
{
    const json_t *value = json_object_get(entry, key);

    return json_is_integer(value) && json_integer_value(value) > 0 ? json_integer_value(value)
                                                                   : CS_NO_TIME;
}

/* Times of an entry: its duration is the GPU's; when it began and ended is the watchdog's, which
 * looks now and then. False: it has not ended. */
static bool find_times(dump *d, const json_t *entry, cs_logged_call *call)
{
    const json_t *duration = json_object_get(entry, "duration_ms");
    int64_t       created  = time_of(entry, "time_created_ns");
    int64_t       started  = time_of(entry, "time_discovered_started_ns");
    int64_t       ended    = time_of(entry, "time_discovered_completed_ns");

    call->started_ns = CS_NO_TIME;
    call->inside_ns  = CS_NO_TIME;
    call->queued_ns  = CS_NO_TIME;
    if (json_is_number(duration) && json_number_value(duration) >= 0 &&
        json_number_value(duration) < 1e12) {
        call->inside_ns = (int64_t)llround(json_number_value(duration) * 1e6);
    } else if (started != CS_NO_TIME && ended != CS_NO_TIME && started <= ended) {
        call->inside_ns = ended - started;
        d->n_polled++;
    }
    if (ended == CS_NO_TIME || call->inside_ns == CS_NO_TIME) {
        return false;
    }
    if (created != CS_NO_TIME && created <= ended && ended - created >= call->inside_ns) {
        call->queued_ns = ended - created - call->inside_ns;
    } else if (created != CS_NO_TIME) {
        call->queued_ns = 0; /* the watchdog's reading is not that exact */
    }
    return true;
}

static cs_status add_entry(dump *d, const json_t *entry, uint32_t host, cs_error *err)
{
    char           group[NAME_BYTES];
    cs_logged_call call   = {.host = host};
    const char    *name   = json_string_value(json_object_get(entry, "profiling_name"));
    const json_t  *number = json_object_get(entry, "collective_seq_id");
    const json_t  *is_p2p = json_object_get(entry, "is_p2p");

    if (name == NULL || !json_is_integer(number) || json_integer_value(number) < 0) {
        d->n_odd++;
        return CS_OK;
    }
    if (json_is_true(is_p2p) || cs_nccl_name_has(name, "send") || cs_nccl_name_has(name, "recv")) {
        d->n_point_to_point++;
        return CS_OK;
    }
    if (cs_nccl_name_has(name, "barrier") || !cs_nccl_collective_named(name, &call.collective)) {
        d->n_other++;
        return CS_OK;
    }
    if (!find_times(d, entry, &call)) {
        d->n_unfinished++;
        return CS_OK;
    }
    uint64_t in   = tensors_bytes(json_object_get(entry, "input_sizes"),
                                  json_object_get(entry, "input_dtypes"));
    uint64_t out  = tensors_bytes(json_object_get(entry, "output_sizes"),
                                  json_object_get(entry, "output_dtypes"));
    call.bytes    = in > out ? in : out;
    call.sequence = (uint64_t)json_integer_value(number);
    find_group(d, entry, &call, group);
    return cs_call_log_add(d->log, &call, err);
}

static cs_status read_entries(dump *d, cs_error *err)
{
    const json_t *entries = json_object_get(d->tree, "entries");
    const char   *said    = json_string_value(json_object_get(d->tree, "hostname"));
    uint32_t      host    = 0;
    char          name[32];

    if (!json_is_array(entries)) {
        return refuse(d, "entries", "no array of entries: accepted are dumps of Flight Recorder",
                      err);
    }
    CS_TRY(find_rank(d, err));
    (void)snprintf(name, sizeof name, "rank %lld", (long long)d->rank);
    said = said != NULL ? said : name;
    CS_TRY(cs_call_log_host(d->log, (cs_scan_text){said, strlen(said)}, &host, err));
    for (size_t i = 0; i < json_array_size(entries); i++) {
        cs_status status = add_entry(d, json_array_get(entries, i), host, err);
        if (status != CS_OK) {
            cs_error_locate(err, d->text->name, 0, 0);
            return status;
        }
    }
    return CS_OK;
}

static cs_status read_dump(dump *d, cs_error *err)
{
    json_error_t problem = {.text = ""};

    cs_tree_setup();
    d->tree = json_loadb(d->text->text, d->text->length, 0, &problem);
    if (d->tree == NULL) {
        return cs_tree_refuse(&problem, d->text->name, 0, err);
    }
    d->n_groups      = 0;
    cs_status status = read_entries(d, err);
    json_decref(d->tree);
    return status;
}

static void note(const dump *d, cs_text *text)
{
    const cs_left_out counts[] = {
        {d->n_unfinished, "calls that had not ended, or have no times"},
        {d->n_point_to_point, "sends and receives"},
        {d->n_other, "other operations"},
        {d->n_odd, "entries without a name or number"},
    };

    cs_note_left_out(counts, sizeof counts / sizeof counts[0], text);
    if (d->n_polled > 0) {
        cs_text_add(text,
                    "%zu entries have no duration (TORCH_NCCL_ENABLE_TIMING=1 has them): the "
                    "watchdog's readings count, which are as coarse as it looks\n",
                    d->n_polled);
    }
}

cs_status cs_flight_recorder_read(const cs_arrival_text *texts, size_t n,
                                  const cs_arrival_options *options, cs_arrival_trace *trace_p,
                                  cs_arrival_notes *notes, cs_error *err)
{
    dump      d      = {0};
    cs_status status = cs_call_log_open(RESOLUTION_NS, &d.log, err);

    for (size_t i = 0; i < n && status == CS_OK; i++) {
        d.text = &texts[i];
        status = read_dump(&d, err);
    }
    if (status == CS_OK) {
        note(&d, &notes->text);
        notes->format = "PyTorch Flight Recorder";
        status        = cs_call_log_finish(d.log, options, texts[0].name, trace_p, notes, err);
    }
    cs_call_log_close(d.log);
    return status;
}
