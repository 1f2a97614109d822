/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/measured_choices.h"

#include "base/alloc.h"
#include "base/random.h"
#include "input/folder.h"
#include "input/lines.h"
#include "traces/arrival_formats.h"
#include "traces/inspector.h"
#include "traces/nccl_tests.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 4096 };

static const char *const algorithms[] = {"tree", "ring",          "nvls",         "nvlstree",
                                         "pat",  "collnetdirect", "collnetchain", NULL};
static const char *const protocols[]  = {"ll", "ll128", "simple", NULL};

#define ACCEPTED                                                                         \
    "accepted are tree, ring, nvls, nvlstree, pat, collnetdirect and collnetchain, and " \
    "behind a slash ll, ll128 and simple"

/* What was forced; "": nothing. */
typedef struct forced {
    char algorithm[CS_CHOICE_NAME_BYTES], protocol[CS_CHOICE_NAME_BYTES];
} forced;

/* A name of NCCL's in lower case, without what is no letter or digit. */
static void set_name(char name[CS_CHOICE_NAME_BYTES], const char *text, size_t length)
{
    size_t used = 0;

    for (size_t i = 0; i < length && used + 1 < CS_CHOICE_NAME_BYTES; i++) {
        if (isalnum((unsigned char)text[i])) {
            name[used++] = (char)tolower((unsigned char)text[i]);
        }
    }
    name[used] = '\0';
}

static bool is_one_of(const char *const *names, const char *name)
{
    while (*names != NULL && strcmp(*names, name) != 0) {
        names++;
    }
    return *names != NULL;
}

static cs_status add(cs_measured_choices *choices, const cs_measured_choice *one, cs_error *err)
{
    if (!cs_grow(&choices->all, &choices->capacity, choices->n + 1, 256, sizeof *choices->all)) {
        return CS_NO_MEMORY(err, "measurements");
    }
    choices->all[choices->n++] = *one;
    return CS_OK;
}

/* ---- logs of nccl-tests ---- */

/* The word behind `words` in a line, if they are in it. */
static void find_setting(const cs_line_view *line, const char *words,
                         char name[CS_CHOICE_NAME_BYTES])
{
    const char *at = memmem(line->text, line->length, words, strlen(words));

    if (at != NULL) {
        size_t length = 0, most = (size_t)(line->text + line->length - (at += strlen(words)));
        while (length < most && (isalnum((unsigned char)at[length]) || at[length] == '_')) {
            length++;
        }
        bool is_alone = length == most || isspace((unsigned char)at[length]);
        if (length > 0 && is_alone) { /* of several, NCCL chose */
            set_name(name, at, length);
        }
    }
}

/* What NCCL says that its environment forced. */
static cs_status find_forced(const char *path, forced *f, cs_error *err)
{
    cs_lines    *lines    = NULL;
    cs_line_view line     = {.number = 0};
    bool         has_more = true;
    cs_status    status   = cs_lines_open(path, &lines, err);

    while (status == CS_OK && has_more) {
        status = cs_lines_next(lines, &line, &has_more, err);
        if (status == CS_OK && has_more) {
            find_setting(&line, "NCCL_ALGO set by environment to ", f->algorithm);
            find_setting(&line, "NCCL_PROTO set by environment to ", f->protocol);
        }
    }
    cs_lines_close(lines);
    return status;
}

static cs_status add_rows(cs_measured_choices *choices, const cs_nccl_log *log, const forced *f,
                          cs_error *err)
{
    size_t n_wrong = 0;

    for (size_t i = 0; i < log->n_rows; i++) {
        const cs_nccl_row    *row    = &log->rows[i];
        const cs_nccl_timing *timing = &row->timings[CS_NCCL_OUT_OF_PLACE];
        cs_measured_choice    one    = {.collective = log->collective,
                                        .n_ranks    = log->n_ranks,
                                        .bytes      = row->size_bytes,
                                        .is_forced = f->algorithm[0] != '\0' || f->protocol[0] != '\0',
                                        .time_s    = timing->time_s};
        if (!timing->is_measured || (timing->is_checked && timing->n_wrong > 0)) {
            n_wrong += timing->is_measured;
            continue;
        }
        memcpy(one.algorithm, f->algorithm, sizeof one.algorithm);
        memcpy(one.protocol, f->protocol, sizeof one.protocol);
        if (row->choice[0] != '\0') {
            size_t length = strcspn(row->choice, "/");
            set_name(one.algorithm, row->choice, length);
            set_name(one.protocol, row->choice + length, strlen(row->choice + length));
        }
        CS_TRY(add(choices, &one, err));
    }
    if (n_wrong > 0) {
        cs_text_add(&choices->notes, "left out: %zu rows of %s with wrong results\n", n_wrong,
                    log->reading.name);
    }
    return CS_OK;
}

static cs_status read_tests(cs_measured_choices *choices, const char *path, const forced *given,
                            cs_error *err)
{
    cs_nccl_logs logs   = {0};
    forced       f      = *given;
    cs_status    status = cs_nccl_read(path, 0, &logs, err);

    if (status == CS_OK && f.algorithm[0] == '\0' && f.protocol[0] == '\0') {
        status = find_forced(path, &f, err);
    }
    for (size_t i = 0; i < logs.n && status == CS_OK; i++) {
        const cs_nccl_log *log = logs.logs[i];
        if (log->measured != CS_NCCL_COLLECTIVE || log->collective_from == CS_NCCL_UNKNOWN ||
            log->n_ranks == 0 || log->schedule[0] != '\0') {
            cs_text_add(&choices->notes,
                        "left out: %s, which does not say which collective of NCCL on how many "
                        "ranks it is of\n",
                        log->reading.name);
        } else {
            status = add_rows(choices, log, &f, err);
        }
    }
    cs_nccl_logs_free(&logs);
    return status;
}

/* ---- logs of Inspector ---- */

/* One call of one rank. */
typedef struct record {
    uint64_t           group, sequence;
    cs_measured_choice one;
} record;

typedef struct inspection {
    record       *records; /* owned */
    size_t        n, capacity, n_unnamed;
    uint64_t      stride; /* calls whose number is a multiple are kept */
    const forced *given;
} inspection;

static void thin_out(inspection *in)
{
    size_t kept = 0;

    in->stride *= 2;
    for (size_t i = 0; i < in->n; i++) {
        if (in->records[i].sequence % in->stride == 0) {
            in->records[kept++] = in->records[i];
        }
    }
    in->n = kept;
}

static cs_status take(void *user, const cs_logged_call *call, const cs_inspected *extra,
                      cs_error *err)
{
    inspection *in = user;
    record      r  = {
              .sequence = call->sequence,
              .one      = {.collective = call->collective,
                           .n_ranks    = call->n_ranks,
                           .bytes      = call->bytes,
                           .is_forced = in->given->algorithm[0] != '\0' || in->given->protocol[0] != '\0',
                           .time_s    = (double)call->inside_ns * 1e-9}};

    if (call->bytes == 0 || call->n_ranks == 0 || call->inside_ns <= 0 ||
        call->sequence % in->stride != 0) {
        return CS_OK;
    }
    if (extra->algorithm.text == NULL || extra->protocol.text == NULL) {
        in->n_unnamed++;
        return CS_OK;
    }
    set_name(r.one.algorithm, extra->algorithm.text, extra->algorithm.length);
    set_name(r.one.protocol, extra->protocol.text, extra->protocol.length);
    for (size_t i = 0; i < call->group.length; i++) {
        r.group = cs_mix64(r.group ^ (unsigned char)call->group.text[i]);
    }
    while (in->n >= CS_CALL_LOG_MOST && in->stride < (uint64_t)1 << 40) {
        thin_out(in);
    }
    if (!cs_grow(&in->records, &in->capacity, in->n + 1, 1024, sizeof *in->records)) {
        return CS_NO_MEMORY(err, "the records of a log");
    }
    in->records[in->n++] = r;
    return CS_OK;
}

/* Calls beside each other, the shortest time of each first. */
static int compare(const void *left, const void *right)
{
    const record *a = left, *b = right;

#define BY(member)              \
    if (a->member != b->member) \
    return a->member < b->member ? -1 : 1
    BY(group);
    BY(one.collective);
    BY(sequence);
    BY(one.bytes); /* numbers begin again */
    BY(one.time_s);
#undef BY
    return 0;
}

static bool is_same_call(const record *a, const record *b)
{
    return a->group == b->group && a->one.collective == b->one.collective &&
           a->sequence == b->sequence && a->one.bytes == b->one.bytes;
}

static cs_status add_calls(cs_measured_choices *choices, inspection *in, cs_error *err)
{
    size_t end = 0, n_few = 0;

    if (in->n > 1) {
        qsort(in->records, in->n, sizeof in->records[0], compare);
    }
    for (size_t begin = 0; begin < in->n; begin = end) {
        for (end = begin; end < in->n && is_same_call(&in->records[begin], &in->records[end]);) {
            end++;
        }
        if (4 * (end - begin) < 3 * (size_t)in->records[begin].one.n_ranks) {
            n_few++;
            continue;
        }
        CS_TRY(add(choices, &in->records[begin].one, err));
    }
    if (in->n_unnamed > 0) {
        cs_text_add(&choices->notes,
                    "left out: %zu records of Inspector that do not say what ran (its version 4.2 "
                    "does)\n",
                    in->n_unnamed);
    }
    if (n_few > 0) {
        cs_text_add(&choices->notes,
                    "left out: %zu calls that less than three quarters of the ranks have\n", n_few);
    }
    if (in->stride > 1) {
        cs_text_add(&choices->notes, "one call of every %llu is used\n",
                    (unsigned long long)in->stride);
    }
    return CS_OK;
}

static cs_status read_inspector(cs_measured_choices *choices, const cs_arrival_text *texts,
                                size_t n, const forced *given, const cs_listener *listener,
                                cs_error *err)
{
    inspection in     = {.given = given, .stride = 1};
    cs_status  status = cs_inspector_visit(texts, n, listener, take, &in, &choices->notes, err);

    if (status == CS_OK) {
        status = add_calls(choices, &in, err);
    }
    cs_free(in.records);
    return status;
}

/* ---- files and folders ---- */

static bool is_inspector(const char *path)
{
    cs_lines   *lines = NULL;
    size_t      length;
    const char *text;

    if (cs_lines_open(path, &lines, NULL) != CS_OK) {
        return false; /* whoever reads it says why */
    }
    text    = cs_lines_ahead(lines, &length);
    bool is = cs_inspector_is(text, length);
    cs_lines_close(lines);
    return is;
}

/* Files of one name of a list: those of Inspector belong together. */
static cs_status read_files(cs_measured_choices *choices, char *const *paths, size_t n,
                            bool in_folder, const forced *given, const cs_listener *listener,
                            cs_error *err)
{
    cs_arrival_text *texts  = CS_NEW(cs_arrival_text, n);
    size_t           n_logs = 0;
    cs_status        status = texts != NULL ? CS_OK : CS_NO_MEMORY(err, "the files of a list");

    for (size_t i = 0; i < n && status == CS_OK; i++) {
        if (is_inspector(paths[i])) {
            texts[n_logs++] = (cs_arrival_text){.name = paths[i]};
            continue;
        }
        cs_error why = {0};
        status       = read_tests(choices, paths[i], given, &why);
        if (in_folder && (status == CS_EPARSE || status == CS_EINVAL)) {
            cs_text_add(&choices->notes, "left out: %s: %s\n", paths[i], why.message);
            status = CS_OK;
        } else if (status != CS_OK && err != NULL) {
            *err = why;
        }
    }
    if (status == CS_OK && n_logs > 0) {
        status = read_inspector(choices, texts, n_logs, given, listener, err);
    }
    cs_free(texts);
    return status;
}

/* Cut "ring/ll128=" off, if it is there: what stands behind it. */
static cs_status cut_forced(const char *name, forced *f, const char **path_p, cs_error *err)
{
    const char *equal = strchr(name, '='), *slash = strchr(name, '/');
    const char *end = slash != NULL && equal != NULL && slash < equal ? slash : equal;
    forced      cut = {.algorithm = ""};

    *path_p = name;
    if (equal == NULL) {
        return CS_OK;
    }
    set_name(cut.algorithm, name, (size_t)(end - name));
    if (!is_one_of(algorithms, cut.algorithm)) {
        return CS_OK; /* a name with an equals sign in it */
    }
    if (end < equal) {
        set_name(cut.protocol, end + 1, (size_t)(equal - end - 1));
        if (!is_one_of(protocols, cut.protocol)) {
            return CS_FAIL(err, CS_EINVAL, "--measured", "'%.*s' is no choice of NCCL's: " ACCEPTED,
                           (int)(equal - name < 80 ? equal - name : 80), name);
        }
    }
    *f      = cut;
    *path_p = equal + 1;
    return CS_OK;
}

static cs_status read_one(cs_measured_choices *choices, const char *name,
                          const cs_listener *listener, cs_error *err)
{
    forced      f    = {.algorithm = ""};
    const char *path = name;

    CS_TRY(cut_forced(name, &f, &path, err));
    if (path[0] == '\0') {
        return CS_FAIL(err, CS_EINVAL, "--measured", "'%.80s' names no file", name);
    }
    if (!cs_folder_is(path)) {
        char *only = cs_strdup(path);
        if (only == NULL) {
            return CS_NO_MEMORY(err, "a file's name");
        }
        cs_status status = read_files(choices, &only, 1, false, &f, listener, err);
        cs_free(only);
        return status;
    }
    cs_folder folder = {.n = 0};
    cs_status status = cs_folder_read(path, MOST_FILES, &folder, err);
    size_t    before = choices->n;
    if (status == CS_OK) {
        status = read_files(choices, folder.paths, folder.n, true, &f, listener, err);
    }
    if (status == CS_OK && choices->n == before) {
        status = CS_FAIL(err, CS_EINVAL, path,
                         "has no measurement: accepted are logs of nccl-tests and of NCCL's "
                         "Inspector from version 4.2 on");
    }
    cs_folder_free(&folder);
    return status;
}

cs_status cs_measured_choices_read(cs_measured_choices *choices, const char *list,
                                   const cs_listener *listener, cs_error *err)
{
    char     *copy   = cs_strdup(list);
    cs_status status = copy != NULL ? CS_OK : CS_NO_MEMORY(err, "a list");

    for (char *at = copy; at != NULL && status == CS_OK;) {
        char *comma = strchr(at, ',');
        if (comma != NULL) {
            *comma = '\0';
        }
        status = read_one(choices, at, listener, err);
        at     = comma != NULL ? comma + 1 : NULL;
    }
    cs_free(copy);
    return status == CS_OK ? cs_text_status(&choices->notes, err) : status;
}

void cs_measured_choices_free(cs_measured_choices *choices)
{
    cs_free(choices->all);
    cs_text_free(&choices->notes);
    *choices = (cs_measured_choices){0};
}
