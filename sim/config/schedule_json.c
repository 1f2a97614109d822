/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A tree of millions of transfers would take a kilobyte each. So the list is cut out of the text:
 * the rest is read as one small tree, then the transfers one at a time. Line and column of
 * an error in a transfer follow from where its text begins.
 */
#include "config/schedule_json.h"

#include "base/alloc.h"
#include "base/file.h"
#include "config/field.h"
#include "config/locate.h"
#include "config/msccl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The keys. */

#define COUNT(list) (sizeof(list) / sizeof(list)[0])
#define MAX_BYTES   ((uint64_t)1 << 50)

static const char *const head_keys[] = {
    "format", "version", "collective", "algorithm", "ranks",           "chunks",  "bytes",
    "root",   "slots",   "starts_own", "transfers", "gpus_per_server", "sockets",
};
static const char *const transfer_keys[] = {
    "round", "src",          "dst",     "chunk",    "span",     "op",  "fabric", "bytes", "shared",
    "fence", "fence_except", "fence_s", "src_slot", "dst_slot", "own", "done",   "join",
};
static const char *const formats[] = {"collsim-schedule"};
static const char *const ops[]     = {
        [CS_OP_COPY] = "copy", [CS_OP_REDUCE] = "reduce", [CS_OP_EXCHANGE] = "exchange"};
static const char *const fabrics[] = {
    [CS_NIC] = "nic", [CS_NVLINK] = "nvlink", [CS_CROSS] = "cross"};
static const char *const ends[] = {"none", "src", "dst", "both"};

static void read_collective(cs_reading *r, const cs_field *head, cs_collective *collective_p)
{
    const char *name = "";

    cs_read_required(r, head, "collective");
    cs_read_text(r, head, "collective", &name);
    if (!cs_reading_failed(r)) {
        (void)!cs_collective_find(name, collective_p, &r->error);
    }
}

static void read_name(cs_reading *r, const cs_field *head, cs_stored *s)
{
    const char *name = "";

    cs_read_text(r, head, "algorithm", &name);
    for (size_t i = 0; i + 1 < sizeof s->name && name[i] != '\0'; i++) {
        s->name[i] = name[i];
    }
}

/* All keys of the head but the transfers. What is wrong goes into the reading. */
static void read_head(cs_reading *r, const cs_field *head, cs_stored *s)
{
    size_t   format  = 0;
    uint32_t version = 1;

    if (!cs_read_object(r, head, head_keys, COUNT(head_keys))) {
        return;
    }
    cs_read_required(r, head, "format");
    cs_read_word(r, head, "format", formats, COUNT(formats), &format);
    cs_read_u32(r, head, "version", 1, 1, &version);
    read_collective(r, head, &s->collective);
    read_name(r, head, s);
    cs_read_required(r, head, "ranks");
    cs_read_u32(r, head, "ranks", 2, CS_MAX_RANKS, &s->n_ranks);
    cs_read_required(r, head, "chunks");
    cs_read_u32(r, head, "chunks", 1, UINT32_MAX, &s->n_chunks);
    cs_read_required(r, head, "bytes");
    cs_read_bytes(r, head, "bytes", &s->bytes);
    cs_read_u32(r, head, "root", 0, CS_MAX_RANKS - 1, &s->root);
    s->gpus_per_server = 1;
    s->sockets         = 1;
    cs_read_u32(r, head, "gpus_per_server", 1, CS_MAX_RANKS, &s->gpus_per_server);
    cs_read_u32(r, head, "sockets", 1, CS_MAX_RANKS, &s->sockets);
    cs_read_u32(r, head, "slots", 1, CS_MAX_SLOTS, &s->n_slots);
    cs_read_bool(r, head, "starts_own", &s->starts_own);
    cs_read_required(r, head, "transfers");
    s->has_slots = s->n_slots > 0;
    if (!cs_reading_failed(r)) {
        (void)!cs_stored_check(s, &r->error);
    }
}

/* What one key cannot show alone. */
static cs_status check_head(cs_reading *r, const cs_field *head, const cs_stored *s)
{
    cs_field bytes = cs_field_get(head, "bytes"), starts = cs_field_get(head, "starts_own");

    if (!cs_reading_failed(r) && (s->bytes == 0 || s->bytes > MAX_BYTES)) {
        CS_REFUSE(r, &bytes, CS_EINVAL, "%llu is outside [1, %llu]", (unsigned long long)s->bytes,
                  (unsigned long long)MAX_BYTES);
    }
    if (!cs_reading_failed(r) && s->starts_own && s->n_slots < s->n_chunks) {
        CS_REFUSE(r, &starts, CS_EINVAL, "needs as many slots as chunks");
    }
    return r->error.status;
}

static uint32_t flags_of(size_t which, uint32_t src_flag, uint32_t dst_flag)
{
    return ((which & 1u) != 0 ? src_flag : 0) | ((which & 2u) != 0 ? dst_flag : 0);
}

static void read_slots(cs_reading *r, const cs_field *item, const cs_stored *s, cs_transfer *t)
{
    uint32_t                 src_slot = 0, dst_slot = 0;
    size_t                   own = 0, done = 0;
    static const char *const keys[] = {"src_slot", "dst_slot", "own", "done"};

    for (size_t i = 0; i < COUNT(keys) && !s->has_slots; i++) {
        cs_field field = cs_field_get(item, keys[i]);
        if (field.node != NULL && !cs_reading_failed(r)) {
            r->blames_key = true;
            CS_REFUSE(r, &field, CS_EINVAL, "is accepted only in a schedule with the key 'slots'");
        }
    }
    if (!s->has_slots) {
        return;
    }
    cs_read_required(r, item, "src_slot");
    cs_read_required(r, item, "dst_slot");
    cs_read_u32(r, item, "src_slot", 0, s->n_slots - 1, &src_slot);
    cs_read_u32(r, item, "dst_slot", 0, s->n_slots - 1, &dst_slot);
    cs_read_word(r, item, "own", ends, COUNT(ends), &own);
    cs_read_word(r, item, "done", ends, COUNT(ends), &done);
    t->src_slot = (uint16_t)src_slot;
    t->dst_slot = (uint16_t)dst_slot;
    t->flags    = (uint8_t)(t->flags | flags_of(own, CS_OWN_SRC, CS_OWN_DST) |
                         flags_of(done, CS_DONE_SRC, CS_DONE_DST));
}

static void read_fence(cs_reading *r, const cs_field *item, cs_transfer *t, cs_fence *fence)
{
    bool     has_fence = false, is_shared = false, joins = false;
    cs_field cost = cs_field_get(item, "fence_s");

    *fence = (cs_fence){.except = CS_FENCE_ALL};
    cs_read_bool(r, item, "shared", &is_shared);
    cs_read_bool(r, item, "join", &joins);
    cs_read_bool(r, item, "fence", &has_fence);
    cs_read_u32(r, item, "fence_except", 0, CS_FENCE_ALL - 1, &fence->except);
    cs_read_time(r, item, "fence_s", &fence->cost_s);
    if (!cs_reading_failed(r) && !(fence->cost_s >= 0 && isfinite(fence->cost_s))) {
        CS_REFUSE(r, &cost, CS_EINVAL, "%.15g is outside [0, infinity)", fence->cost_s);
    }
    t->flags = (uint8_t)(t->flags | (is_shared ? CS_SHARED : 0) | (has_fence ? CS_FENCE : 0) |
                         (joins ? CS_JOIN : 0));
}

static void read_place(cs_reading *r, const cs_field *item, const cs_stored *s, cs_transfer *t)
{
    uint32_t span = 1;

    cs_read_required(r, item, "round");
    cs_read_u32(r, item, "round", 0, UINT32_MAX - 1, &t->round);
    cs_read_required(r, item, "src");
    cs_read_u32(r, item, "src", 0, s->n_ranks - 1, &t->src);
    cs_read_required(r, item, "dst");
    cs_read_u32(r, item, "dst", 0, s->n_ranks - 1, &t->dst);
    cs_read_required(r, item, "chunk");
    cs_read_u32(r, item, "chunk", 0, s->n_chunks - 1, &t->chunk);
    cs_read_u32(r, item, "span", 1, UINT16_MAX, &span);
    t->span = (uint16_t)span;
}

/* One element of the list of transfers; it is added to the schedule. */
static void read_transfer(cs_reading *r, const cs_field *item, cs_stored *s)
{
    cs_transfer t       = {.span = 1};
    cs_fence    fence   = {0};
    cs_cluster  servers = {
         .n_ranks = s->n_ranks, .gpus_per_server = s->gpus_per_server, .sockets = s->sockets};
    size_t op = CS_OP_COPY, fabric;

    if (!cs_read_object(r, item, transfer_keys, COUNT(transfer_keys))) {
        if (!cs_reading_failed(r)) {
            CS_REFUSE(r, item, CS_EINVAL, "is not an object");
        }
        return;
    }
    read_place(r, item, s, &t);
    fabric = cs_fabric_of(&servers, t.src, t.dst);
    cs_read_word(r, item, "op", ops, COUNT(ops), &op);
    cs_read_word(r, item, "fabric", fabrics, COUNT(fabrics), &fabric);
    t.op_fabric = cs_op_fabric((cs_op)op, (uint32_t)fabric);
    t.bytes     = cs_stored_share(s, s->bytes, &t);
    cs_read_bytes(r, item, "bytes", &t.bytes);
    read_slots(r, item, s, &t);
    read_fence(r, item, &t, &fence);
    if (!cs_reading_failed(r)) {
        (void)!cs_stored_add(s, &t, &fence, &r->error);
    }
}

/* The file. */

typedef struct reader {
    const char *text;
    size_t      length;
    const char *input;
    size_t      begin, end; /* of the list of transfers, with its brackets */
    cs_stored  *stored;
    cs_reading  reading;
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
    cs_locate(rd->text + origin, rd->length - origin, error.where, rd->reading.blames_key,
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
    return status != CS_ENOMEM ? status
                               : CS_FAIL(err, CS_ENOMEM, "", "out of memory for a schedule");
}

static cs_status read_head_text(reader *rd, cs_error *err)
{
    bool      is_cut = find_transfers(rd);
    size_t    length = rd->length;
    char     *head   = is_cut ? head_text(rd, &length) : NULL;
    json_t   *tree   = NULL;
    cs_status status;

    if (is_cut && head == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for a schedule");
    }
    status = parse_head(rd, head, length, &tree, err);
    if (status == CS_OK) {
        cs_field root = cs_field_root(tree), list = cs_field_get(&root, "transfers");
        read_head(&rd->reading, &root, rd->stored);
        (void)cs_read_array(&rd->reading, &list);
        status = check_head(&rd->reading, &root, rd->stored);
        status = status != CS_OK ? refuse_at(rd, 0, SIZE_MAX, err) : CS_OK;
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
    cs_field item = cs_field_root(tree);
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
    size_t    last   = rd->end - 1;
    size_t    at     = skip_space(rd, rd->begin + 1);
    cs_status status = CS_OK;

    for (size_t index = 0; at < last && status == CS_OK; index++) {
        status = read_element(rd, at, index, &at, err);
        at     = status == CS_OK ? skip_space(rd, at) : at;
        if (status == CS_OK && at < last) {
            size_t next = skip_space(rd, at + 1);
            if (rd->text[at] != ',' || next >= last) {
                int line, column;
                cs_line_column(rd->text, rd->length, at, &line, &column);
                status = CS_FAIL(err, CS_EPARSE, "transfers",
                                 "not JSON: ',' and a transfer, or ']' expected");
                cs_error_locate(err, rd->input, line, column);
            }
            at = next;
        }
    }
    return status;
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

/* Does the text begin like XML? */
static bool is_xml(const char *text, size_t length)
{
    size_t at = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

    while (at < length && memchr(" \t\r\n", text[at], 4) != NULL) {
        at++;
    }
    return at < length && text[at] == '<';
}

cs_status cs_schedule_parse(const char *text, size_t length, const char *input,
                            cs_stored **stored_p, cs_error *err)
{
    if (is_xml(text, length)) {
        return cs_msccl_parse(text, length, input, stored_p, err);
    }
    cs_arena arena = {0};
    reader   rd    = {.text = text, .length = length, .input = input};

    cs_tree_setup();
    rd.reading.arena = &arena;
    rd.stored        = cs_stored_new();
    if (rd.stored == NULL) {
        return CS_FAIL(err, CS_ENOMEM, "", "out of memory for a schedule");
    }
    cs_status status = read_head_text(&rd, err);
    if (status == CS_OK) {
        status = read_transfers(&rd, err);
    }
    if (status == CS_OK) {
        status = finish(&rd, err);
    }
    cs_arena_free(&arena);
    if (status != CS_OK) {
        cs_stored_free(rd.stored);
        return status;
    }
    *stored_p = rd.stored;
    return CS_OK;
}

cs_status cs_schedule_load(const char *path, cs_stored **stored_p, cs_error *err)
{
    char     *text   = NULL;
    size_t    length = 0;
    cs_status status = cs_file_read(path, CS_SCHEDULE_MAX_BYTES, &text, &length, err);

    if (status == CS_OK) {
        status = cs_schedule_parse(text, length, path, stored_p, err);
    }
    cs_free(text);
    return status;
}

void cs_schedule_scenario(const cs_stored *stored, cs_scenario *scenario)
{
    scenario->collective              = stored->collective;
    scenario->root                    = stored->root;
    scenario->bytes                   = stored->bytes > 0 ? stored->bytes : scenario->bytes;
    scenario->cluster.n_ranks         = stored->n_ranks;
    scenario->cluster.gpus_per_server = stored->gpus_per_server;
    scenario->cluster.sockets         = stored->sockets;
}

/* Any cluster will do: a schedule's meaning does not depend on time. */
cs_status cs_schedule_verify(const cs_stored *stored, cs_verdict *verdict_p, cs_error *err)
{
    const cs_stored_options options = {stored};
    const cs_fabric         port    = {CS_SWITCHED, 0, 1};
    cs_job                  job     = {
                             .scenario   = {.collective = stored->collective,
                                            .root       = stored->root,
                                            .bytes      = stored->bytes,
                                            .cluster    = {.n_ranks         = stored->n_ranks,
                                                           .gpus_per_server = stored->gpus_per_server,
                                                           .sockets         = stored->sockets,
                                                           .fabrics         = {port, port, port}}},
                             .is_checked = true,
    };

    cs_job_set_algorithm(&job, &cs_algorithm_stored, &options);
    cs_status status = cs_job_resolve(&job, err);
    if (status == CS_OK) {
        status = cs_job_verify(&job, verdict_p, err);
    }
    cs_job_release(&job);
    return status;
}
