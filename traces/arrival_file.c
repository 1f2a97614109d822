/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/arrival_file.h"

#include "base/alloc.h"
#include "base/random.h"
#include "input/folder.h"
#include "input/gzip.h"
#include "input/lines.h"
#include "input/locate.h"
#include "traces/arrival_formats.h"
#include "traces/ras.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* Fail at a place of a text. */
static cs_status refuse(const cs_arrival_text *text, int line, const char *message, cs_error *err)
{
    cs_status status = CS_FAIL(err, CS_EPARSE, "", "%s", message);

    cs_error_locate(err, text->name, line, line);
    return status;
}

/* An object, or an array of objects: logs begin with '[', too. */
static bool is_json(const cs_arrival_text *text)
{
    size_t at = 0;

    if (text->length >= 3 && memcmp(text->text, "\xEF\xBB\xBF", 3) == 0) {
        at = 3;
    }
    while (at < text->length && isspace((unsigned char)text->text[at])) {
        at++;
    }
    if (at < text->length && text->text[at] == '[') {
        do {
            at++;
        } while (at < text->length && isspace((unsigned char)text->text[at]));
    }
    return at < text->length && (text->text[at] == '{' || text->text[at] == ']');
}

/* Has it the columns of a table of nccl-tests? */
static bool is_nccl_tests(const cs_arrival_text *text)
{
    return text->length > 0 && memmem(text->text, text->length, "algbw", 5) != NULL &&
           memmem(text->text, text->length, "busbw", 5) != NULL && !is_json(text);
}

static cs_status check_text(const cs_arrival_text *text, cs_error *err)
{
    const char *nul = text->length > 0 ? memchr(text->text, '\0', text->length) : NULL;

    if (text->length >= 2 && memcmp(text->text, "\x1f\x8b", 2) == 0) {
        return refuse(text, 1, "is compressed with gzip twice: gunzip it first", err);
    }
    if (text->length >= 4 && memcmp(text->text, "\x28\xb5\x2f\xfd", 4) == 0) {
        return refuse(text, 1, "is compressed with zstd: decompress it first", err);
    }
    if (text->length >= 2 && memcmp(text->text, "PK", 2) == 0) {
        return refuse(text, 1, "is a zip archive: unpack it first", err);
    }
    if (text->length >= 2 && (unsigned char)text->text[0] == 0x80 &&
        (unsigned char)text->text[1] <= 5) {
        return refuse(
            text, 1,
            "is a pickle (of Flight Recorder?), which may run any code: turn it into JSON "
            "where it is from: python3 -c 'import json, pickle, sys; "
            "json.dump(pickle.load(sys.stdin.buffer), sys.stdout)' < FILE > FILE.json",
            err);
    }
    if (cs_ras_is(text->text, text->length)) {
        return refuse(text, 0,
                      "is a snapshot of NCCL's RAS, which has no arrivals: 'arrivals' "
                      "alone reads it",
                      err);
    }
    if (is_nccl_tests(text)) {
        return refuse(text, 0,
                      "is a log of nccl-tests, which has no arrivals: 'calibrate' and "
                      "'diagnose' read it",
                      err);
    }
    if (text->length > CS_ARRIVAL_MAX_BYTES) {
        return refuse(text, 0, "is larger than 256 MiB, which is the most that is read", err);
    }
    if (nul != NULL) {
        int       line = 0, column = 0;
        cs_status status =
            CS_FAIL(err, CS_EPARSE, "", "a NUL byte: accepted are texts (not UTF-16)");
        cs_line_column(text->text, text->length, (size_t)(nul - text->text), &line, &column);
        cs_error_locate(err, text->name, line, column);
        return status;
    }
    return CS_OK;
}

/* A table or a log. */
static cs_status read_lines(const cs_arrival_text *text, const cs_arrival_options *options,
                            cs_arrival_trace *trace_p, cs_arrival_notes *notes, cs_error *err)
{
    cs_arrival_rows rows   = {0};
    bool            is_log = cs_stragglar_log_is(text->text, text->length);
    cs_status       status =
        is_log ? cs_stragglar_log_read(text->text, text->length, text->name, options, &rows, notes,
                                             err)
                     : cs_arrival_table_read(text->text, text->length, text->name, &rows, notes, err);

    if (status == CS_OK) {
        status = cs_arrival_rows_build(&rows, options, is_log, text->name, trace_p, notes, err);
    }
    cs_arrival_rows_free(&rows);
    return status;
}

/* What a text is, by its content. */
typedef enum format { LINES, EVENTS, INSPECTOR, FLIGHT_RECORDER, N_FORMATS } format;

static const char *const format_names[] = {"a table or a log", "a JSON trace", "a log of Inspector",
                                           "a dump of Flight Recorder"};

static format format_of(const cs_arrival_text *text)
{
    if (text->text == NULL || cs_inspector_is(text->text, text->length)) {
        return INSPECTOR;
    }
    if (!is_json(text)) {
        return LINES;
    }
    return cs_flight_recorder_is(text->text, text->length) ? FLIGHT_RECORDER : EVENTS;
}

/* All texts must be of one format; of tables and logs there is only one. */
static cs_status check_formats(const cs_arrival_text *texts, size_t n, format *format_p,
                               cs_error *err)
{
    *format_p = format_of(&texts[0]);
    for (size_t i = 1; i < n; i++) {
        format other = format_of(&texts[i]);
        if (other != *format_p) {
            cs_status status =
                CS_FAIL(err, CS_EPARSE, "", "is %s, but %.200s is %s: accepted is one format",
                        format_names[other], texts[0].name, format_names[*format_p]);
            cs_error_locate(err, texts[i].name, 0, 0);
            return status;
        }
    }
    return *format_p != LINES || n == 1
               ? CS_OK
               : refuse(&texts[1], 0,
                        "several files are accepted as NCCL traces (JSON) and logs of Inspector "
                        "only, one per rank",
                        err);
}

/* Options that choose among calls, or among events, are for formats that have such. */
static cs_status check_options(const cs_arrival_options *options, format form, const char *name,
                               cs_error *err)
{
    bool has_calls = form != LINES, has_events = form == EVENTS;

    if ((options->category != NULL && !has_events) ||
        ((options->group != NULL || options->collective != NULL) && !has_calls)) {
        return CS_FAIL(err, CS_EINVAL, "",
                       "--category, --group and --collective choose among the events of JSON "
                       "traces; %s is %s",
                       name, has_calls ? format_names[form] : "none");
    }
    return CS_OK;
}

static cs_status read_texts(const cs_arrival_text *texts, size_t n,
                            const cs_arrival_options *options, cs_arrival_trace *trace_p,
                            cs_arrival_notes *notes, cs_error *err)
{
    format form = LINES;

    for (size_t i = 0; i < n; i++) {
        if (texts[i].text != NULL) {
            CS_TRY(check_text(&texts[i], err));
        }
    }
    CS_TRY(check_formats(texts, n, &form, err));
    CS_TRY(check_options(options, form, texts[0].name, err));
    switch (form) {
    case EVENTS: return cs_kineto_read(texts, n, options, trace_p, notes, err);
    case INSPECTOR: return cs_inspector_read(texts, n, options, trace_p, notes, err);
    case FLIGHT_RECORDER: return cs_flight_recorder_read(texts, n, options, trace_p, notes, err);
    case LINES:
    case N_FORMATS: break;
    }
    return read_lines(texts, options, trace_p, notes, err);
}

cs_status cs_arrival_texts_read(const cs_arrival_text *texts, size_t n,
                                const cs_arrival_options *options, cs_arrival_trace *trace_p,
                                cs_arrival_notes *notes_p, cs_error *err)
{
    cs_arrival_notes notes  = {.format = ""};
    cs_arrival_trace trace  = {0};
    cs_status        status = read_texts(texts, n, options, &trace, &notes, err);

    if (status == CS_OK) {
        status = cs_text_status(&notes.text, err);
    }
    if (status != CS_OK) {
        cs_arrival_trace_free(&trace);
        cs_arrival_notes_free(&notes);
        return status;
    }
    *trace_p = trace;
    *notes_p = notes;
    return CS_OK;
}

/* ---- files and folders ---- */

#define ACCEPTED                                                                                   \
    "accepted are tables (iteration,rank,arrival_s), logs of StragglAR, logs of NCCL Inspector, "  \
    "JSON of PyTorch's profiler and Flight Recorder and Chrome traces, each also compressed with " \
    "gzip"

/* Files on their way into memory. */
typedef struct loading {
    cs_arrival_text texts[CS_ARRIVAL_MAX_FILES];
    char           *names[CS_ARRIVAL_MAX_FILES], *data[CS_ARRIVAL_MAX_FILES]; /* owned */
    bool            in_folder[CS_ARRIVAL_MAX_FILES];
    size_t          n, n_bytes;
    cs_text         left_out; /* files of folders that are no traces, with commas between them */
} loading;

/* Has its first line a column of ranks? */
static bool is_table(const cs_arrival_text *text)
{
    const char *at = text->text, *end = at + text->length;

    while (at < end) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        size_t      n    = line != NULL ? (size_t)(line - at) : (size_t)(end - at);
        if (n > 0 && *at != '#' && *at != '\r') {
            bool has_cells = memchr(at, ',', n) != NULL || memchr(at, '|', n) != NULL;
            bool has_ranks = false;
            for (size_t i = 0; i + 4 <= n && !has_ranks; i++) {
                has_ranks = strncasecmp(at + i, "rank", 4) == 0;
            }
            return has_cells && has_ranks;
        }
        at += n + 1;
    }
    return false;
}

static bool is_known(const cs_arrival_text *text)
{
    return text->text == NULL || is_json(text) || cs_stragglar_log_is(text->text, text->length) ||
           is_table(text);
}

/* Is it a log of Inspector? Such a file is read when its calls are. */
static bool is_streamed(const char *name)
{
    cs_lines   *lines = NULL;
    size_t      length;
    const char *text;

    if (cs_lines_open(name, &lines, NULL) != CS_OK) {
        return false; /* whoever reads it says why */
    }
    text    = cs_lines_ahead(lines, &length);
    bool is = cs_inspector_is(text, length);
    cs_lines_close(lines);
    return is;
}

/* Read a file. One `in_folder` that is no trace is left out. */
static cs_status load_file(loading *l, const char *name, bool in_folder, cs_error *err)
{
    char           *copy = cs_strdup(name), *data = NULL;
    cs_arrival_text text = {.name = copy};
    cs_status       status;

    if (copy == NULL) {
        return CS_NO_MEMORY(err, "a file's name");
    }
    status    = is_streamed(name) ? CS_OK
                                  : cs_gzip_read(name, CS_ARRIVAL_MAX_BYTES, &data, &text.length, err);
    text.text = data;
    if (status == CS_OK && l->n == CS_ARRIVAL_MAX_FILES) {
        status = CS_FAIL(err, CS_EINVAL, "--trace", "more than %d files", CS_ARRIVAL_MAX_FILES);
    }
    if (status == CS_OK && (l->n_bytes += text.length) > CS_ARRIVAL_MAX_TOTAL) {
        status = CS_FAIL(err, CS_EINVAL, "--trace", "more than 4 GiB in all files together");
    }
    bool is_taken = status == CS_OK && (!in_folder || is_known(&text));
    if (!is_taken) {
        if (status == CS_OK) {
            cs_text_add(&l->left_out, "%s%s", l->left_out.length > 0 ? ", " : "", name);
            l->n_bytes -= text.length;
        }
        cs_free(copy);
        cs_free(data);
        return status;
    }
    l->names[l->n]     = copy;
    l->data[l->n]      = data;
    l->in_folder[l->n] = in_folder;
    l->texts[l->n++]   = text;
    return CS_OK;
}

static cs_status load_folder(loading *l, const char *path, cs_error *err)
{
    cs_folder folder;
    size_t    before = l->n;
    cs_status status = cs_folder_read(path, CS_ARRIVAL_MAX_FILES, &folder, err);

    for (size_t i = 0; i < folder.n && status == CS_OK; i++) {
        status = load_file(l, folder.paths[i], true, err);
    }
    if (status == CS_OK) {
        status = cs_text_status(&l->left_out, err);
    }
    if (status == CS_OK && l->n == before) {
        status = CS_FAIL(err, CS_EINVAL, path, "has no trace%s%.200s%s: " ACCEPTED,
                         folder.n > 0 ? " (only " : "", folder.n > 0 ? l->left_out.data : "",
                         folder.n > 0 ? ")" : "");
    }
    cs_folder_free(&folder);
    return status;
}

/* One name of a list. */
static cs_status load_one(loading *l, const char *path, size_t length, cs_error *err)
{
    if (length == 0) {
        return CS_FAIL(err, CS_EINVAL, "--trace", "'%.80s' names no file", path);
    }
    char *name = CS_NEW(char, length + 1);
    if (name == NULL) {
        return CS_NO_MEMORY(err, "a file's name");
    }
    memcpy(name, path, length);
    cs_status status =
        cs_folder_is(name) ? load_folder(l, name, err) : load_file(l, name, false, err);
    cs_free(name);
    return status;
}

/* Of files of folders, leave those that are of the format that most of all files have. */
static cs_status keep_format(loading *l, cs_error *err)
{
    size_t counts[N_FORMATS] = {0}, kept = 0;
    format most = LINES;

    for (size_t i = 0; i < l->n; i++) {
        counts[format_of(&l->texts[i])]++;
    }
    for (format f = LINES; f < N_FORMATS; f++) {
        most = counts[f] > counts[most] ? f : most;
    }
    for (size_t i = 0; i < l->n; i++) {
        if (!l->in_folder[i] || format_of(&l->texts[i]) == most) {
            l->texts[kept]       = l->texts[i];
            l->names[kept]       = l->names[i];
            l->data[kept]        = l->data[i];
            l->in_folder[kept++] = l->in_folder[i];
        } else {
            cs_text_add(&l->left_out, "%s%s (%s)", l->left_out.length > 0 ? ", " : "", l->names[i],
                        format_names[format_of(&l->texts[i])]);
            cs_free(l->names[i]);
            cs_free(l->data[i]);
        }
    }
    l->n = kept;
    return cs_text_status(&l->left_out, err);
}

static void loading_free(loading *l)
{
    for (size_t i = 0; l != NULL && i < l->n; i++) {
        cs_free(l->names[i]);
        cs_free(l->data[i]);
    }
    if (l != NULL) {
        cs_text_free(&l->left_out);
    }
    cs_free(l);
}

/* The files of one list "a,b,..". */
static cs_status load_list(loading *l, const char *list, cs_error *err)
{
    for (const char *at = list; at != NULL;) {
        size_t length = strcspn(at, ",");
        CS_TRY(load_one(l, at, length, err));
        at = at[length] == ',' ? at + length + 1 : NULL;
    }
    return CS_OK;
}

/* The notes name what was left out. */
static cs_status note_left_out(const loading *l, cs_arrival_trace *trace, cs_arrival_notes *notes,
                               cs_error *err)
{
    if (l->left_out.length == 0) {
        return CS_OK;
    }
    cs_text_add(&notes->text, "left out of folders: %s\n", l->left_out.data);
    cs_status status = cs_text_status(&notes->text, err);
    if (status != CS_OK) {
        cs_arrival_trace_free(trace);
        cs_arrival_notes_free(notes);
    }
    return status;
}

cs_status cs_arrival_files_load(const char *const *paths, size_t n,
                                const cs_arrival_options *options, cs_arrival_trace *trace_p,
                                cs_arrival_notes *notes_p, cs_error *err)
{
    loading  *l      = CS_NEW(loading, 1);
    cs_status status = l != NULL ? CS_OK : CS_NO_MEMORY(err, "a trace");

    for (size_t i = 0; i < n && status == CS_OK; i++) {
        status = load_list(l, paths[i], err);
    }
    if (status == CS_OK) {
        status = keep_format(l, err);
    }
    if (status == CS_OK) {
        status = cs_arrival_texts_read(l->texts, l->n, options, trace_p, notes_p, err);
    }
    if (status == CS_OK) {
        status = note_left_out(l, trace_p, notes_p, err);
    }
    loading_free(l);
    return status;
}

/* The trace of all ranks. */
static cs_status load_whole(const char *path, cs_arrival_trace *trace_p, cs_arrival_notes *notes_p,
                            cs_error *err)
{
    const cs_arrival_options options = {0};

    CS_TRY(cs_arrival_files_load(&path, 1, &options, trace_p, notes_p, err));
    if (trace_p->number != NULL) {
        cs_status status =
            CS_FAIL(err, CS_EINVAL, path, "logs of %u of %u ranks: accepted are those of all",
                    trace_p->n_ranks, trace_p->group_ranks);
        cs_arrival_trace_free(trace_p);
        cs_arrival_notes_free(notes_p);
        return status;
    }
    return CS_OK;
}

cs_status cs_arrival_file_load(const char *path, cs_arrival_trace *trace_p, cs_error *err)
{
    cs_arrival_notes notes = {0};

    CS_TRY(load_whole(path, trace_p, &notes, err));
    cs_arrival_notes_free(&notes);
    return CS_OK;
}

/* A hash of the arrivals' bits. */
static uint64_t fingerprint_of(const cs_arrival_trace *trace)
{
    uint64_t hash = cs_mix64(trace->n_ranks);

    for (size_t i = 0; i < trace->n_calls * trace->n_ranks; i++) {
        uint64_t bits;
        memcpy(&bits, &trace->arrival_s[i], sizeof bits);
        hash = cs_mix64(hash ^ bits);
    }
    return hash;
}

static void close_file(void *content)
{
    cs_arrival_file *file = content;

    cs_arrival_trace_free(&file->trace);
    cs_text_free(&file->notes);
    cs_free(file);
}

static cs_status load_kind(const char *path, void **content_p, uint64_t *fingerprint_p,
                           cs_error *err)
{
    cs_arrival_file *file  = CS_NEW(cs_arrival_file, 1);
    cs_arrival_notes notes = {0};

    if (file == NULL) {
        return CS_NO_MEMORY(err, "a trace");
    }
    cs_status status = load_whole(path, &file->trace, &notes, err);
    if (status == CS_OK) {
        cs_arrival_notes_text(&notes, &file->notes);
        cs_arrival_notes_free(&notes);
        status = cs_text_status(&file->notes, err);
    }
    if (status != CS_OK) {
        close_file(file);
        return status;
    }
    *fingerprint_p = fingerprint_of(&file->trace);
    *content_p     = file;
    return CS_OK;
}

const cs_file_kind cs_arrival_file_kind = {.load = load_kind, .close = close_file};
