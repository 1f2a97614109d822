/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Schedules from JSON: see schedule_json.h.
 *
 * A tree of millions of transfers would take a kilobyte each. So the list is cut out of the text:
 * the rest is read as one small tree, then the transfers one at a time. Line and column of
 * an error in a transfer follow from where its text begins.
 */
#include "config/schedule_json.h"

#include "base/alloc.h"
#include "base/file.h"
#include "config/locate.h"
#include "config/msccl.h"
#include "config/reader.h"
#include "config/schedule_fields.h"

#include <stdio.h>
#include <string.h>

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
        cs_place root = cs_place_root(tree);
        cs_schedule_read_head(&rd->reading, &root, rd->stored);
        status = cs_schedule_check_head(&rd->reading, &root, rd->stored);
        status = status != CS_OK ? refuse_at(rd, 0, SIZE_MAX, err) : CS_OK;
    }
    rd->servers         = (cs_cluster){.n_ranks         = rd->stored->n_ranks,
                                       .gpus_per_server = rd->stored->gpus_per_server,
                                       .sockets         = rd->stored->sockets};
    rd->reading.cluster = &rd->servers;
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
    cs_schedule_read_transfer(&rd->reading, &item, rd->stored);
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
    cs_scenario scenario = {
        .collective = stored->collective,
        .root       = stored->root,
        .bytes      = stored->bytes,
        .cluster    = {.n_ranks         = stored->n_ranks,
                       .gpus_per_server = stored->gpus_per_server,
                       .sockets         = stored->sockets,
                       .fabrics = {{CS_SWITCHED, 0, 1}, {CS_SWITCHED, 0, 1}, {CS_SWITCHED, 0, 1}}}};
    cs_stored_options options = {stored};
    cs_plan           plan    = {0};
    cs_status         status  = cs_algorithm_stored.check(&scenario, &options, &plan, err);

    if (status == CS_OK) {
        status = cs_verify(&scenario, &cs_algorithm_stored, &options, &plan, verdict_p, err);
    }
    return status;
}
