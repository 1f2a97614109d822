/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A tree of millions of transfers would take a kilobyte each. So the list is cut out of the text:
 * the rest is read as one small tree, then the transfers one at a time. Line and column of
 * an error in a transfer follow from where its text begins.
 */
#include "schedules/schedule_json.h"

#include "base/alloc.h"
#include "input/locate.h"
#include "input/reader.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_BYTES    ((double)((uint64_t)1 << 50))
#define MAX_TRANSFER (((uint64_t)1 << 53) - 1)

/* ---- the head ---- */

/* So many servers in a row. */
typedef struct server_run {
    uint32_t count, gpus;
} server_run;

typedef struct head_keys {
    int         format;
    uint32_t    version, ranks, chunks, root, slots, gpus_per_server, sockets;
    int         collective;
    const char *algorithm;
    uint64_t    bytes;
    bool        starts_own;
    server_run *servers;
    size_t      n_servers;
} head_keys;

/* clang-format off */
static const cs_field run_fields[] = {
    CS_KEY(server_run, count, "count", .fallback = 1, .min = 1, .max = CS_MAX_RANKS),
    CS_KEY(server_run, gpus, "gpus", .min = 1, .max = CS_MAX_RANKS, .is_required = true),
    CS_FIELD_END,
};
static const cs_field a_run = {.type = CS_FIELD_OBJECT, .fields = run_fields};
static const cs_field head_fields[] = {
    CS_KEY(head_keys, format, "format", .choices = "collsim-schedule", .is_required = true),
    CS_KEY(head_keys, version, "version", .min = 1, .max = 1),
    CS_KEY(head_keys, collective, "collective", .names = &cs_collective_names, .is_required = true),
    CS_KEY(head_keys, algorithm, "algorithm", .help = "that made it"),
    CS_KEY(head_keys, ranks, "ranks", .min = 2, .max = CS_MAX_RANKS, .is_required = true),
    CS_KEY(head_keys, chunks, "chunks", .min = 1, .max = UINT32_MAX, .is_required = true),
    CS_KEY(head_keys, bytes, "bytes", .unit = CS_UNIT_SIZE, .min = 1, .max = MAX_BYTES, .is_required = true),
    CS_KEY(head_keys, root, "root", .max = CS_MAX_RANKS - 1),
    CS_KEY(head_keys, slots, "slots", .min = 1, .max = CS_MAX_SLOTS),
    CS_KEY(head_keys, starts_own, "starts_own", .max = 1),
    {.name = "transfers", .type = CS_FIELD_ANY, .offset = CS_NOWHERE, .is_required = true},
    CS_KEY(head_keys, gpus_per_server, "gpus_per_server", .fallback = 1, .min = 1, .max = CS_MAX_RANKS),
    CS_KEY_LIST(head_keys, servers, n_servers, "servers", &a_run, .min = 1, .max = CS_MAX_RANKS),
    CS_KEY(head_keys, sockets, "sockets", .fallback = 1, .min = 1, .max = CS_MAX_RANKS),
    CS_FIELD_END,
};
/* clang-format on */

/* Servers with GPUs of their own, which say what gpus_per_server would. */
static void set_servers(cs_reading *r, const cs_place *head, const head_keys *keys, cs_stored *s)
{
    cs_place  servers = cs_place_get(head, "servers");
    uint64_t  n = 0, next = 0;
    uint32_t *gpus;

    if (cs_place_has(head, "gpus_per_server")) {
        CS_REFUSE(r, &servers, CS_EINVAL, "and gpus_per_server say the same: accepted is one");
        return;
    }
    for (size_t i = 0; i < keys->n_servers; i++) {
        n += keys->servers[i].count;
    }
    gpus = n <= keys->ranks ? CS_ARENA_NEW(r->arena, uint32_t, n) : NULL;
    if (gpus == NULL && n <= keys->ranks) {
        CS_REFUSE_MEMORY(r, &servers, "servers");
        return;
    }
    if (gpus == NULL) {
        CS_REFUSE(r, &servers, CS_EINVAL, "are %llu, but there are %u ranks", (unsigned long long)n,
                  keys->ranks);
        return;
    }
    for (size_t i = 0; i < keys->n_servers; i++) {
        for (uint32_t k = 0; k < keys->servers[i].count; k++) {
            gpus[next++] = keys->servers[i].gpus;
        }
    }
    (void)!cs_stored_set_gpus(s, gpus, (uint32_t)n, &r->error);
}

/* All keys of the head but the transfers. What is wrong goes into the reading. */
static void read_head(cs_reading *r, const cs_place *head, cs_stored *s)
{
    head_keys keys = {.algorithm = ""};

    cs_fields_default(head_fields, &keys);
    if (!cs_read_fields(r, head, head_fields, &keys)) {
        return;
    }
    s->collective      = (cs_collective)keys.collective;
    s->n_ranks         = keys.ranks;
    s->n_chunks        = keys.chunks;
    s->bytes           = keys.bytes;
    s->root            = keys.root;
    s->gpus_per_server = keys.gpus_per_server;
    s->sockets         = keys.sockets;
    s->n_slots         = keys.slots;
    s->has_slots       = keys.slots > 0;
    s->starts_own      = keys.starts_own;
    (void)snprintf(s->name, sizeof s->name, "%s", keys.algorithm);
    if (keys.n_servers > 0) {
        set_servers(r, head, &keys, s);
    }
    if (!cs_reading_failed(r)) {
        (void)!cs_stored_check(s, &r->error);
    }
}

/* What one key cannot show alone. */
static cs_status check_head(cs_reading *r, const cs_place *head, const cs_stored *s)
{
    cs_place starts = cs_place_get(head, "starts_own"), list = cs_place_get(head, "transfers");

    if (!cs_reading_failed(r) && !json_is_array(list.node)) {
        cs_refuse_kind(r, &list, "an array");
    }
    if (!cs_reading_failed(r) && s->starts_own && s->n_slots < s->n_chunks) {
        CS_REFUSE(r, &starts, CS_EINVAL, "needs as many slots as chunks");
    }
    return r->error.status;
}

/* ---- a transfer ---- */

typedef struct transfer_keys {
    uint32_t round, src, dst, chunk, span, src_slot, dst_slot;
    int      op, fabric; /* fabric: -1: what joins the ranks */
    int      own, done;
    uint64_t bytes; /* above MAX_TRANSFER: the chunks' share */
    bool     is_shared, joins, has_fence;
    cs_fence fence;
} transfer_keys;

/* clang-format off */
#define ENDS "none|src|dst|both"
static const cs_field transfer_fields[] = {
    CS_KEY(transfer_keys, round, "round", .max = UINT32_MAX - 1.0, .is_required = true),
    CS_KEY(transfer_keys, src, "src", .max = CS_MAX_RANKS - 1, .is_required = true, .is_rank = true),
    CS_KEY(transfer_keys, dst, "dst", .max = CS_MAX_RANKS - 1, .is_required = true, .is_rank = true),
    CS_KEY(transfer_keys, chunk, "chunk", .max = UINT32_MAX, .is_required = true),
    CS_KEY(transfer_keys, span, "span", .fallback = 1, .min = 1, .max = UINT16_MAX),
    CS_KEY(transfer_keys, op, "op", .choices = "copy|reduce|exchange"), /* as cs_op */
    CS_KEY(transfer_keys, fabric, "fabric", .fallback = -1, .choices = "nic|nvlink|cross"),
    CS_KEY(transfer_keys, bytes, "bytes", .unit = CS_UNIT_SIZE, .fallback = (double)(MAX_TRANSFER + 1),
           .max = (double)MAX_TRANSFER),
    CS_KEY(transfer_keys, is_shared, "shared", .max = 1),
    CS_KEY(transfer_keys, has_fence, "fence", .max = 1),
    CS_KEY(transfer_keys, fence.except, "fence_except", .fallback = CS_FENCE_ALL, .max = CS_FENCE_ALL - 1.0),
    CS_KEY(transfer_keys, fence.cost_s, "fence_s", .unit = CS_UNIT_TIME, .max = (double)INFINITY),
    CS_KEY(transfer_keys, src_slot, "src_slot", .max = CS_MAX_SLOTS - 1.0),
    CS_KEY(transfer_keys, dst_slot, "dst_slot", .max = CS_MAX_SLOTS - 1.0),
    CS_KEY(transfer_keys, own, "own", .choices = ENDS),
    CS_KEY(transfer_keys, done, "done", .choices = ENDS),
    CS_KEY(transfer_keys, joins, "join", .max = 1),
    CS_FIELD_END,
};
/* clang-format on */

static uint32_t flags_of(int which, uint32_t src_flag, uint32_t dst_flag)
{
    return ((which & 1) != 0 ? src_flag : 0) | ((which & 2) != 0 ? dst_flag : 0);
}

static void add_slots(cs_reading *r, const cs_place *item, const cs_stored *s,
                      const transfer_keys *keys, cs_transfer *t)
{
    static const char *const names[] = {"src_slot", "dst_slot", "own", "done"};

    for (size_t i = 0; i < sizeof names / sizeof names[0] && !s->has_slots; i++) {
        cs_place place = cs_place_get(item, names[i]);
        if (place.node != NULL && !cs_reading_failed(r)) {
            r->key_is_wrong = true;
            CS_REFUSE(r, &place, CS_EINVAL, "is accepted only in a schedule with the key 'slots'");
        }
    }
    if (!s->has_slots) {
        return;
    }
    cs_read_required(r, item, "src_slot");
    cs_read_required(r, item, "dst_slot");
    t->src_slot = (uint16_t)keys->src_slot;
    t->dst_slot = (uint16_t)keys->dst_slot;
    t->flags    = (uint8_t)(t->flags | flags_of(keys->own, CS_OWN_SRC, CS_OWN_DST) |
                         flags_of(keys->done, CS_DONE_SRC, CS_DONE_DST));
}

/* One element of the list of transfers; it is added to the schedule. */
static void read_transfer(cs_reading *r, const cs_place *item, cs_stored *s)
{
    transfer_keys keys = {.round = 0};

    cs_fields_default(transfer_fields, &keys);
    if (!cs_read_fields(r, item, transfer_fields, &keys)) {
        return;
    }
    cs_transfer t = {.round = keys.round,
                     .src   = keys.src,
                     .dst   = keys.dst,
                     .chunk = keys.chunk,
                     .span  = (uint16_t)keys.span};
    uint32_t    fabric =
        keys.fabric >= 0 ? (uint32_t)keys.fabric : cs_fabric_of(r->cluster, t.src, t.dst);
    t.op_fabric = cs_op_fabric((cs_op)keys.op, fabric);
    t.bytes     = keys.bytes <= MAX_TRANSFER ? keys.bytes : cs_stored_share(s, s->bytes, &t);
    t.flags     = (uint8_t)((keys.is_shared ? CS_SHARED : 0) | (keys.has_fence ? CS_FENCE : 0) |
                        (keys.joins ? CS_JOIN : 0)); /* the share asks nobody before it */
    add_slots(r, item, s, &keys, &t);
    if (!cs_reading_failed(r)) {
        (void)!cs_stored_add(s, &t, &keys.fence, &r->error);
    }
}

/* ---- the file ---- */

typedef struct reader {
    const char *text;
    size_t      length;
    const char *input;
    size_t      begin, end; /* of the list of transfers, with its brackets */
    cs_stored  *stored;
    cs_reading  reading;
    cs_cluster  servers; /* of the schedule */
} reader;

/* Put "transfers[index]" before the path in an error. */
static void prefix_where(cs_error *error, size_t index)
{
    char element[CS_PATH_BYTES], where[2 * CS_PATH_BYTES];
    bool has_dot = error->where[0] != '\0' && error->where[0] != '[';

    cs_path_add_index(element, "transfers", index);
    (void)snprintf(where, sizeof where, "%s%s%s", element, has_dot ? "." : "", error->where);
    (void)snprintf(error->where, sizeof error->where, "%.95s", where);
}

/* Copy what is wrong to `err` with its place: a path from the byte `origin` on. `index` is that
 * of a transfer, or SIZE_MAX. */
static cs_status refuse_at(const reader *rd, size_t origin, size_t index, cs_error *err)
{
    cs_error error = rd->reading.error;
    int      line, column, inner_line, inner_column;

    cs_line_column(rd->text, rd->length, origin, &line, &column);
    cs_locate(rd->text + origin, rd->length - origin, error.where, rd->reading.key_is_wrong,
              &inner_line, &inner_column);
    column = inner_line == 1 ? column + inner_column - 1 : inner_column;
    if (index != SIZE_MAX) {
        prefix_where(&error, index);
    }
    if (error.status != CS_ENOMEM) {
        cs_error_locate(&error, rd->input, line + inner_line - 1, column);
    }
    if (err != NULL && err->status == CS_OK) {
        *err = error;
    }
    return error.status;
}

/* The head. */

/* The text with an empty list of transfers. */
static char *head_text(const reader *rd, size_t *length_p)
{
    size_t rest = rd->length - rd->end;
    char  *head = CS_NEW(char, rd->begin + 2 + rest + 1);

    if (head != NULL) {
        memcpy(head, rd->text, rd->begin);
        memcpy(head + rd->begin, "[]", 2);
        memcpy(head + rd->begin + 2, rd->text + rd->end, rest);
        *length_p = rd->begin + 2 + rest;
    }
    return head;
}

/* Find the list; where there is none, the text is not what it should be in some other way, which
 * reading all of it shows. */
static bool find_transfers(reader *rd)
{
    cs_path path;

    return cs_path_parse("transfers", &path, NULL) == CS_OK &&
           cs_locate_value(rd->text, rd->length, &path, &rd->begin, &rd->end) &&
           rd->end - rd->begin >= 2 && rd->text[rd->begin] == '[' && rd->text[rd->end - 1] == ']';
}

/* What is not JSON is found again in the whole text, which gives its true place. */
static cs_status parse_head(reader *rd, const char *head, size_t length, json_t **tree_p,
                            cs_error *err)
{
    cs_status status = CS_EPARSE;

    if (head != NULL) {
        status = cs_tree_parse(head, length, rd->input, tree_p, NULL);
    }
    if (status == CS_EPARSE) {
        status = cs_tree_parse(rd->text, rd->length, rd->input, tree_p, err);
    }
    return status != CS_ENOMEM ? status : CS_NO_MEMORY(err, "a schedule");
}

static cs_status read_head_tree(reader *rd, json_t *tree, cs_error *err)
{
    cs_place root = cs_place_root(tree);

    read_head(&rd->reading, &root, rd->stored);
    if (check_head(&rd->reading, &root, rd->stored) != CS_OK) {
        return refuse_at(rd, 0, SIZE_MAX, err);
    }
    rd->servers         = cs_stored_cluster(rd->stored);
    rd->reading.cluster = &rd->servers;
    return CS_OK;
}

static cs_status read_head_text(reader *rd, cs_error *err)
{
    bool    is_cut = find_transfers(rd);
    size_t  length = rd->length;
    char   *head   = is_cut ? head_text(rd, &length) : NULL;
    json_t *tree   = NULL;

    if (is_cut && head == NULL) {
        return CS_NO_MEMORY(err, "a schedule");
    }
    cs_status status = parse_head(rd, head, length, &tree, err);
    if (status == CS_OK) {
        status = read_head_tree(rd, tree, err);
    }
    json_decref(tree);
    cs_free(head);
    return status;
}

/* The transfers. */

/* The element of the list that begins at `at`; `*end_p` is behind it. */
static cs_status read_element(reader *rd, size_t at, size_t index, size_t *end_p, cs_error *err)
{
    json_error_t problem = {.text = ""};
    size_t       flags   = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK;
    json_t      *tree    = json_loadb(rd->text + at, rd->end - at, flags, &problem);

    if (tree == NULL) {
        int line, column;
        cs_line_column(rd->text, rd->length, at, &line, &column);
        problem.column += problem.line == 1 ? column - 1 : 0;
        return cs_tree_refuse(&problem, rd->input, line - 1, err);
    }
    cs_place item = cs_place_root(tree);
    read_transfer(&rd->reading, &item, rd->stored);
    json_decref(tree);
    cs_arena_free(rd->reading.arena);
    *end_p = at + (size_t)problem.position;
    return cs_reading_failed(&rd->reading) ? refuse_at(rd, at, index, err) : CS_OK;
}

static size_t skip_space(const reader *rd, size_t at)
{
    while (at < rd->end && memchr(" \t\r\n", rd->text[at], 4) != NULL) {
        at++;
    }
    return at;
}

static cs_status read_transfers(reader *rd, cs_error *err)
{
    size_t last = rd->end - 1;
    size_t at   = skip_space(rd, rd->begin + 1);

    for (size_t index = 0; at < last; index++) {
        CS_TRY(read_element(rd, at, index, &at, err));
        at = skip_space(rd, at);
        if (at >= last) {
            break;
        }
        size_t next = skip_space(rd, at + 1);
        if (rd->text[at] != ',' || next >= last) {
            int line, column;
            cs_line_column(rd->text, rd->length, at, &line, &column);
            (void)CS_FAIL(err, CS_EPARSE, "transfers",
                          "not JSON: ',' and a transfer, or ']' expected");
            cs_error_locate(err, rd->input, line, column);
            return CS_EPARSE;
        }
        at = next;
    }
    return CS_OK;
}

static cs_status finish(reader *rd, cs_error *err)
{
    size_t    bad    = 0;
    cs_error  wrong  = {0};
    cs_status status = cs_stored_finish(rd->stored, &bad, &wrong);
    char      path[CS_PATH_BYTES];
    int       line, column;

    if (status == CS_OK || err == NULL || err->status != CS_OK) {
        return status;
    }
    cs_path_add_index(path, "transfers", bad);
    status = CS_FAIL(err, status, path, "%s", wrong.message);
    if (status != CS_ENOMEM) {
        cs_locate(rd->text, rd->length, path, false, &line, &column);
        cs_error_locate(err, rd->input, line, column);
    }
    return status;
}

static cs_status read_schedule(reader *rd, cs_error *err)
{
    CS_TRY(read_head_text(rd, err));
    CS_TRY(read_transfers(rd, err));
    return finish(rd, err);
}

cs_status cs_schedule_json_parse(const char *text, size_t length, const char *input,
                                 cs_stored **stored_p, cs_error *err)
{
    cs_arena arena = {0};
    reader   rd    = {.text = text, .length = length, .input = input};

    cs_tree_setup();
    rd.reading.arena = &arena;
    rd.stored        = cs_stored_new();
    if (rd.stored == NULL) {
        return CS_NO_MEMORY(err, "a schedule");
    }
    cs_status status = read_schedule(&rd, err);
    cs_arena_free(&arena);
    if (status != CS_OK) {
        cs_stored_free(rd.stored);
        return status;
    }
    *stored_p = rd.stored;
    return CS_OK;
}
