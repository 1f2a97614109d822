/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/ras.h"

#include "base/alloc.h"
#include "base/column.h"
#include "cs/cluster.h"
#include "input/gzip.h"
#include "input/json_scan.h"
#include "input/lines.h"
#include "input/tree.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 256, LISTED = 10 };

bool cs_ras_is(const char *text, size_t length)
{
    cs_scan      scan;
    cs_scan_text key;

    cs_scan_begin(&scan, text, length);
    for (bool is_in = cs_scan_enter(&scan, '{'); is_in && cs_scan_key(&scan, &key);) {
        if (cs_scan_is(key, "communicators")) {
            return true;
        }
        cs_scan_skip(&scan);
    }
    return false;
}

bool cs_ras_is_file(const char *path)
{
    cs_lines *lines = NULL;
    size_t    length;

    if (cs_lines_open(path, &lines, NULL) != CS_OK) {
        return false;
    }
    const char *text = cs_lines_ahead(lines, &length);
    bool        is   = cs_ras_is(text, length);
    cs_lines_close(lines);
    return is;
}

void cs_ras_free(cs_ras_report *report)
{
    cs_arena_free(&report->arena);
    *report = (cs_ras_report){0};
}

/* ---- one snapshot ---- */

/* The work of one call of cs_ras_read(). */
typedef struct reading {
    const cs_arrival_text *text;
    cs_ras_report         *report;
    cs_error              *err;
} reading;

static cs_status refuse(const reading *g, const char *where, const char *message)
{
    cs_status status = CS_FAIL(g->err, CS_EPARSE, where, "%s", message);

    cs_error_locate(g->err, g->text->name, 0, 0);
    return status;
}

static cs_status keep(const reading *g, const json_t *value, const char **text_p)
{
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    char        plain[128];

    cs_plain_text(plain, sizeof plain, text);
    *text_p = cs_arena_strdup(&g->report->arena, plain);
    return *text_p != NULL ? CS_OK : CS_NO_MEMORY(g->err, "a report of RAS");
}

static int64_t number_or(const json_t *object, const char *key, int64_t none)
{
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) ? json_integer_value(value) : none;
}

/* The place of a kind of collective among those of the report; as many as fit. */
static cs_status find_kind(const reading *g, const char *name, size_t *kind_p)
{
    cs_ras_report *report = g->report;
    size_t         k      = 0;

    while (k < report->n_kinds && strcmp(report->kinds[k], name) != 0) {
        k++;
    }
    if (k == report->n_kinds && k < CS_RAS_MOST_KINDS) {
        json_t   *text   = json_string(name);
        cs_status status = text != NULL ? keep(g, text, &report->kinds[k])
                                        : CS_NO_MEMORY(g->err, "a report of RAS");
        json_decref(text);
        CS_TRY(status);
        report->n_kinds++;
    }
    *kind_p = k;
    return CS_OK;
}

static cs_status read_counts(const reading *g, const json_t *object, cs_ras_rank *rank)
{
    json_t     *counts = json_object_get(object, "collective_counts"), *value;
    const char *name;

    json_object_foreach(counts, name, value)
    {
        size_t k = 0;
        CS_TRY(find_kind(g, name, &k));
        if (k < CS_RAS_MOST_KINDS && json_is_integer(value) && json_integer_value(value) > 0) {
            rank->counts[k] = (uint64_t)json_integer_value(value);
        }
    }
    return CS_OK;
}

static cs_status read_rank(const reading *g, const json_t *object, bool is_missing,
                           cs_ras_rank *rank)
{
    const json_t *status = json_object_get(object, "status");
    int64_t       number = number_or(object, "rank", -1);

    if (number < 0 || number >= CS_MAX_RANKS) {
        return refuse(g, "rank", "a rank without its number");
    }
    *rank = (cs_ras_rank){.rank = (uint32_t)number,
                          .pid  = number_or(object, "pid", -1),
                          .gpu  = number_or(object, "cuda_dev", -1)};
    CS_TRY(keep(g, json_object_get(object, "host"), &rank->host));
    if (is_missing) {
        bool is_dead = json_is_true(json_object_get(status, "considered_dead"));
        rank->state  = is_dead ? CS_RAS_DEAD : CS_RAS_UNRESPONSIVE;
        return CS_OK;
    }
    rank->is_starting = number_or(status, "init_state", 0) != 0;
    rank->has_failed  = number_or(status, "async_error", 0) != 0 ||
                       json_is_true(json_object_get(status, "abort_flag"));
    return read_counts(g, object, rank);
}

static int by_number(const void *left, const void *right)
{
    const cs_ras_rank *a = left, *b = right;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

static uint64_t calls_of(const cs_ras_rank *rank)
{
    uint64_t sum = 0;

    for (size_t k = 0; k < CS_RAS_MOST_KINDS; k++) {
        sum += rank->counts[k];
    }
    return sum;
}

static void judge(cs_ras_comm *comm)
{
    uint64_t most = 0;

    for (size_t i = 0; i < comm->n_ranks; i++) {
        uint64_t calls = calls_of(&comm->ranks[i]);
        most           = calls > most ? calls : most;
    }
    for (size_t i = 0; i < comm->n_ranks; i++) {
        cs_ras_rank *rank = &comm->ranks[i];
        if (rank->state != CS_RAS_ANSWERS) {
            comm->n_missing++;
        } else if (!rank->is_starting) {
            rank->behind = most - calls_of(rank);
            comm->n_behind += rank->behind > 0;
        }
    }
}

static cs_status read_comm(const reading *g, const json_t *object, cs_ras_comm *comm)
{
    const json_t *lists[] = {json_object_get(object, "ranks"),
                             json_object_get(object, "missing_ranks")};
    size_t        n       = json_array_size(lists[0]) + json_array_size(lists[1]);

    CS_TRY(keep(g, json_object_get(object, "hash"), &comm->hash));
    comm->ranks = CS_ARENA_NEW(&g->report->arena, cs_ras_rank, n + 1);
    if (comm->ranks == NULL) {
        return CS_NO_MEMORY(g->err, "a report of RAS");
    }
    for (size_t l = 0; l < 2; l++) {
        for (size_t i = 0; i < json_array_size(lists[l]); i++) {
            CS_TRY(
                read_rank(g, json_array_get(lists[l], i), l == 1, &comm->ranks[comm->n_ranks++]));
        }
    }
    qsort(comm->ranks, comm->n_ranks, sizeof comm->ranks[0], by_number);
    int64_t size = number_or(object, "size", (int64_t)n);
    comm->size   = size >= 0 && size <= (int64_t)CS_MAX_RANKS ? (uint32_t)size : (uint32_t)n;
    judge(comm);
    return CS_OK;
}

static cs_status read_tree(const reading *g, const json_t *tree)
{
    const json_t  *comms  = json_object_get(tree, "communicators");
    cs_ras_report *report = g->report;

    if (!json_is_array(comms)) {
        return refuse(g, "communicators", "no array: accepted is what ncclras -f json prints");
    }
    CS_TRY(keep(g, json_object_get(tree, "nccl_version"), &report->version));
    CS_TRY(keep(g, json_object_get(tree, "timestamp"), &report->time));
    report->comms = CS_ARENA_NEW(&report->arena, cs_ras_comm, json_array_size(comms) + 1);
    if (report->comms == NULL) {
        return CS_NO_MEMORY(g->err, "a report of RAS");
    }
    for (size_t i = 0; i < json_array_size(comms); i++) {
        CS_TRY(read_comm(g, json_array_get(comms, i), &report->comms[report->n_comms++]));
    }
    return CS_OK;
}

static cs_status read_snapshot(const cs_arrival_text *text, cs_ras_report *report, cs_error *err)
{
    const reading g       = {text, report, err};
    json_error_t  problem = {.text = ""};

    cs_tree_setup();
    json_t *tree = json_loadb(text->text, text->length, 0, &problem);
    if (tree == NULL) {
        return cs_tree_refuse(&problem, text->name, 0, err);
    }
    cs_status status = read_tree(&g, tree);
    json_decref(tree);
    return status;
}

/* ---- two snapshots ---- */

static const cs_ras_comm *same_comm(const cs_ras_report *report, const char *hash)
{
    for (size_t i = 0; i < report->n_comms; i++) {
        if (strcmp(report->comms[i].hash, hash) == 0) {
            return &report->comms[i];
        }
    }
    return NULL;
}

/* Has no rank made a call since? */
static bool stood_still(const cs_ras_comm *before, const cs_ras_comm *now)
{
    for (size_t i = 0; i < now->n_ranks; i++) {
        for (size_t k = 0; k < before->n_ranks; k++) {
            if (before->ranks[k].rank == now->ranks[i].rank &&
                now->ranks[i].state == CS_RAS_ANSWERS && before->ranks[k].state == CS_RAS_ANSWERS &&
                calls_of(&before->ranks[k]) != calls_of(&now->ranks[i])) {
                return false;
            }
        }
    }
    return true;
}

static void compare(const cs_ras_report *before, cs_ras_report *now)
{
    for (size_t i = 0; i < now->n_comms; i++) {
        cs_ras_comm       *comm = &now->comms[i];
        const cs_ras_comm *old  = same_comm(before, comm->hash);
        comm->is_stuck          = old != NULL && comm->n_behind + comm->n_missing > 0 &&
                         old->n_behind + old->n_missing > 0 && stood_still(old, comm);
    }
}

/* Keep the two last by their time stamps, which are in the order of time as texts; of the same time
 * the one that comes later. */
static void keep_last(cs_ras_report *here, cs_ras_report *last, cs_ras_report *before)
{
    cs_ras_report *place = last;

    if (last->comms != NULL && strcmp(here->time, last->time) < 0) {
        place = before;
    }
    if (place == before && before->comms != NULL && strcmp(here->time, before->time) < 0) {
        cs_ras_free(here);
        return;
    }
    cs_ras_free(before);
    *before = place == last ? *last : *here;
    *last   = place == last ? *here : *last;
}

cs_status cs_ras_read(const cs_arrival_text *texts, size_t n, cs_ras_report *report_p,
                      cs_error *err)
{
    cs_ras_report last = {.time = ""}, before = {.time = ""};
    cs_status     status = CS_OK;

    for (size_t i = 0; i < n && status == CS_OK; i++) {
        cs_ras_report here = {.time = ""};
        status             = read_snapshot(&texts[i], &here, err);
        if (status != CS_OK) {
            cs_ras_free(&here);
        } else {
            keep_last(&here, &last, &before);
        }
    }
    if (status == CS_OK && n > 1) {
        compare(&before, &last);
    }
    cs_ras_free(&before);
    if (status != CS_OK) {
        cs_ras_free(&last);
        return status;
    }
    last.n_snapshots = n;
    *report_p        = last;
    return CS_OK;
}

cs_status cs_ras_load(const char *const *paths, size_t n, cs_ras_report *report_p, cs_error *err)
{
    cs_arrival_text texts[MOST_FILES] = {{0}};
    char           *data[MOST_FILES]  = {0};
    cs_status       status            = CS_OK;

    n = n < MOST_FILES ? n : MOST_FILES;
    for (size_t i = 0; i < n && status == CS_OK; i++) {
        texts[i].name = paths[i];
        status = cs_gzip_read(paths[i], CS_ARRIVAL_MAX_BYTES, &data[i], &texts[i].length, err);
        texts[i].text = data[i];
    }
    if (status == CS_OK) {
        status = cs_ras_read(texts, n, report_p, err);
    }
    for (size_t i = 0; i < n; i++) {
        cs_free(data[i]);
    }
    return status;
}

/* ---- what it says ---- */

static void add_where(const cs_ras_rank *rank, cs_text *text)
{
    cs_text_add(text, "rank %u", rank->rank);
    if (rank->host[0] != '\0') {
        cs_text_add(text, " on %s", rank->host);
    }
    if (rank->gpu >= 0) {
        cs_text_add(text, ", GPU %lld", (long long)rank->gpu);
    }
    if (rank->pid >= 0) {
        cs_text_add(text, ", process %lld", (long long)rank->pid);
    }
}

static bool is_named(const cs_ras_rank *rank)
{
    return rank->state != CS_RAS_ANSWERS || rank->has_failed || rank->behind > 0;
}

static void add_rank(const cs_ras_rank *rank, cs_text *text)
{
    static const char *const states[CS_RAS_STATES] = {
        [CS_RAS_UNRESPONSIVE] = "does not answer", [CS_RAS_DEAD] = "is given up as dead"};

    cs_text_add(text, "  ");
    add_where(rank, text);
    if (states[rank->state] != NULL) {
        cs_text_add(text, ": %s\n", states[rank->state]);
    } else if (rank->has_failed) {
        cs_text_add(text, ": reports an error\n");
    } else {
        cs_text_add(text, ": %llu call%s behind\n", (unsigned long long)rank->behind,
                    rank->behind == 1 ? "" : "s");
    }
}

static void add_verdict(const cs_ras_report *report, const cs_ras_comm *comm, cs_text *text)
{
    if (comm->is_stuck) {
        cs_text_add(text, "nothing moved since the snapshot before: it hangs, and waits for");
    } else if (comm->n_missing > 0) {
        cs_text_add(text, "some do not answer: look at");
    } else if (comm->n_behind > 0 && report->n_snapshots > 1) {
        cs_text_add(text, "some are behind, but calls go on: no hang; just now behind are");
    } else if (comm->n_behind > 0) {
        cs_text_add(text, "some are behind, which is normal for a moment: a second snapshot tells "
                          "whether it hangs; behind are");
    } else {
        cs_text_add(text, "all ranks have made the same calls");
    }
    cs_text_add(text, "\n");
}

void cs_ras_table(const cs_ras_report *report, cs_text *text)
{
    cs_text_add(text, "NCCL RAS: %zu communicator%s", report->n_comms,
                report->n_comms == 1 ? "" : "s");
    if (report->version[0] != '\0') {
        cs_text_add(text, ", NCCL %s", report->version);
    }
    if (report->time[0] != '\0') {
        cs_text_add(text, ", %s", report->time);
    }
    if (report->n_snapshots > 1) {
        cs_text_add(text, ", the last of %zu snapshots", report->n_snapshots);
    }
    cs_text_add(text, "\n");
    for (size_t c = 0; c < report->n_comms; c++) {
        const cs_ras_comm *comm    = &report->comms[c];
        size_t             n_named = 0;
        cs_text_add(text, "%s, %u ranks: ", comm->hash, comm->size);
        add_verdict(report, comm, text);
        for (size_t i = 0; i < comm->n_ranks; i++) {
            if (is_named(&comm->ranks[i]) && n_named++ < LISTED) {
                add_rank(&comm->ranks[i], text);
            }
        }
        if (n_named > LISTED) {
            cs_text_add(text, "  and %zu more: --format json has all\n", n_named - LISTED);
        }
    }
}

typedef struct rank_row {
    uint32_t    rank;
    const char *host;
    const char *state; /* "answers", "unresponsive", "dead" */
    bool        failed;
    uint64_t    calls, behind;
} rank_row;

static const cs_column rank_columns[] = {
    CS_COLUMN(rank_row, rank),
    CS_COLUMN(rank_row, host),
    CS_COLUMN(rank_row, state),
    CS_COLUMN(rank_row, failed),
    CS_COLUMN(rank_row, calls),
    CS_COLUMN(rank_row, behind),
    CS_COLUMN_END,
};

typedef struct comm_row {
    const char *communicator;
    uint32_t    size;
    bool        stuck;
    uint64_t    missing, behind;
} comm_row;

static const cs_column comm_columns[] = {
    CS_COLUMN(comm_row, communicator), CS_COLUMN(comm_row, size),   CS_COLUMN(comm_row, stuck),
    CS_COLUMN(comm_row, missing),      CS_COLUMN(comm_row, behind), CS_COLUMN_END,
};

static void add_comm_json(const cs_ras_comm *comm, cs_text *text)
{
    static const char *const states[CS_RAS_STATES] = {"answers", "unresponsive", "dead"};
    const comm_row row = {comm->hash, comm->size, comm->is_stuck, comm->n_missing, comm->n_behind};

    cs_json_next(text, "\n  ", "\n  ");
    cs_text_add(text, "{");
    cs_json_row(text, &(cs_row){comm_columns, &row, false});
    cs_json_key(text, "ranks");
    cs_text_add(text, "[");
    for (size_t i = 0; i < comm->n_ranks; i++) {
        const cs_ras_rank *rank = &comm->ranks[i];
        const rank_row     line = {.rank   = rank->rank,
                                   .host   = rank->host,
                                   .state  = states[rank->state],
                                   .failed = rank->has_failed,
                                   .calls  = calls_of(rank),
                                   .behind = rank->behind};
        cs_json_next(text, "\n   ", "\n   ");
        cs_text_add(text, "{");
        cs_json_row(text, &(cs_row){rank_columns, &line, false});
        cs_text_add(text, "}");
    }
    cs_text_add(text, "]}");
}

void cs_ras_json(const cs_ras_report *report, cs_text *text)
{
    cs_text_add(text, "{");
    cs_json_key(text, "format");
    cs_text_add_json_string(text, "NCCL RAS");
    cs_json_key(text, "nccl_version");
    cs_text_add_json_string(text, report->version);
    cs_json_key(text, "timestamp");
    cs_text_add_json_string(text, report->time);
    cs_json_key(text, "snapshots");
    cs_text_add(text, "%zu", report->n_snapshots);
    cs_json_key(text, "communicators");
    cs_text_add(text, "[");
    for (size_t c = 0; c < report->n_comms; c++) {
        add_comm_json(&report->comms[c], text);
    }
    cs_text_add(text, "]}\n");
}
