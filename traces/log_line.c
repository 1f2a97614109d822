/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cleaning only overwrites with blanks, it never moves a character: an error in a token can
 * always name its column in the file. Cost: O(length) for the whole text.
 */
#include "traces/log_line.h"

#include "base/alloc.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static size_t skip_blanks(const char *text, size_t at)
{
    while (is_blank(text[at])) {
        at++;
    }
    return at;
}

static size_t skip_digits(const char *text, size_t at)
{
    while (is_digit(text[at])) {
        at++;
    }
    return at;
}

/* An escape sequence ("ESC [ parameters letter", or ESC and one character) ends before the
 * place that is returned. */
static size_t skip_escape(const char *text, size_t at)
{
    at++;
    if (text[at] != '[') {
        return text[at] != '\0' ? at + 1 : at;
    }
    at++;
    while (text[at] != '\0' && (text[at] < '@' || text[at] > '~')) {
        at++;
    }
    return text[at] != '\0' ? at + 1 : at;
}

static void blank_controls(char *text)
{
    for (size_t at = 0; text[at] != '\0';) {
        size_t end = at + 1;

        if (text[at] == '\033') {
            end = skip_escape(text, at);
        }
        if (iscntrl((unsigned char)text[at])) {
            memset(text + at, ' ', end - at);
        }
        at = end;
    }
}

/* Where the stream's name behind a label ends ("<stdout>:"), or `at`. */
static size_t skip_stream(const char *text, size_t at)
{
    static const char *const streams[] = {"<stdout>", "<stderr>"};

    for (size_t s = 0; s < 2; s++) {
        size_t bytes = strlen(streams[s]);
        if (strncmp(text + at, streams[s], bytes) == 0) {
            at += bytes;
            break;
        }
    }
    return text[at] == ':' ? at + 1 : at;
}

/* "[label]" of at most 64 characters without blanks; with `only_digits`, of digits and
 * commas. Where it ends, or `at` when there is none. */
static size_t skip_bracket(const char *text, size_t at, bool only_digits)
{
    size_t end = at + 1;

    if (text[at] != '[') {
        return at;
    }
    while (end - at < 64 && text[end] != '\0' && text[end] != ']' && !is_blank(text[end])) {
        if (only_digits && !is_digit(text[end]) && text[end] != ',') {
            return at;
        }
        end++;
    }
    if (text[end] != ']' || end == at + 1) {
        return at;
    }
    return skip_stream(text, end + 1);
}

/* "12: ". */
static size_t skip_number_label(const char *text, size_t at)
{
    size_t end = skip_digits(text, at);

    return end > at && text[end] == ':' && is_blank(text[end + 1]) ? end + 1 : at;
}

/* "2026-01-31T12:00:00.000Z ", as container logs have it. */
static size_t skip_timestamp(const char *text, size_t at)
{
    size_t end = skip_digits(text, at);

    if (end != at + 4 || text[end] != '-') {
        return at;
    }
    while (is_digit(text[end]) || (text[end] != '\0' && strchr("-T:.Z+", text[end]) != NULL)) {
        end++;
    }
    return end >= at + 19 && text[at + 10] == 'T' && is_blank(text[end]) ? end : at;
}

/* Blank up to four labels in front of the line. Returns where its own text begins. */
static size_t blank_front(char *text)
{
    size_t at = strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;

    memset(text, ' ', at);
    at = skip_blanks(text, at);
    for (int labels = 0; labels < 4; labels++) {
        size_t end = skip_bracket(text, at, false);

        end = end > at ? end : skip_number_label(text, at);
        end = end > at ? end : skip_timestamp(text, at);
        end = end == at && text[at] == '>' ? at + 1 : end;
        if (end == at) {
            break;
        }
        memset(text + at, ' ', end - at);
        at = skip_blanks(text, end);
    }
    return at;
}

static void blank_inner_labels(char *text, size_t at)
{
    while (text[at] != '\0') {
        size_t end = skip_bracket(text, at, true);

        memset(text + at, ' ', end - at);
        at = end > at ? end : at + 1;
    }
}

static void split(cs_log_reader *reader, size_t length)
{
    cs_log_line *line  = &reader->line;
    char        *words = reader->words;

    memcpy(words, reader->clean, length + 1);
    line->n_tokens = 0;
    for (size_t at = skip_blanks(words, 0); words[at] != '\0'; at = skip_blanks(words, at)) {
        if (line->n_tokens < CS_LOG_MAX_TOKENS) {
            line->tokens[line->n_tokens] = (cs_log_token){words + at, (int)at + 1};
        }
        line->n_tokens++;
        while (words[at] != '\0' && !is_blank(words[at])) {
            at++;
        }
        if (words[at] != '\0') {
            words[at++] = '\0';
        }
    }
}

static void clean(cs_log_reader *reader, const char *text, size_t length)
{
    size_t front;

    memcpy(reader->clean, text, length);
    reader->clean[length] = '\0';
    blank_controls(reader->clean);
    front                   = blank_front(reader->clean);
    reader->line.is_comment = reader->clean[front] == '#';
    if (!reader->line.is_comment) {
        blank_inner_labels(reader->clean, front);
    }
    split(reader, length);
}

/* The length of the line that begins at `text`, without its end; at most one byte more than
 * is accepted. */
static size_t line_length(const char *text, size_t left)
{
    size_t length = 0;

    while (length < left && length <= CS_LOG_MAX_LINE_BYTES && text[length] != '\n' &&
           text[length] != '\r') {
        length++;
    }
    return length;
}

/* Sets the line's number and column to those of the byte at `offset` of what is not read yet. */
static void place(cs_log_reader *reader, size_t offset)
{
    const char *text  = reader->text + reader->offset;
    size_t      begin = 0;

    reader->line.number++;
    for (size_t at = 0; at < offset; at++) {
        if (text[at] == '\n') {
            reader->line.number++;
            begin = at + 1;
        }
    }
    reader->line.fault_column = (int)(offset - begin) + 1;
}

/* Refuse a NUL byte in the last `added` bytes of the text. */
static cs_status refuse_nul(cs_log_reader *reader, size_t added, cs_error *err)
{
    const char *from = reader->text + reader->length - added;
    const char *nul  = added > 0 ? memchr(from, '\0', added) : NULL;

    if (nul == NULL) {
        return CS_OK;
    }
    place(reader, (size_t)(nul - reader->text) - reader->offset);
    return CS_FAIL(err, CS_EPARSE, "", "NUL byte; accepted: a text log (not UTF-16)");
}

enum { WINDOW_BYTES = 2 * (CS_LOG_MAX_LINE_BYTES + 2) };

/* Have the next line and the end of it in reach, or all that is left of the file. */
static cs_status fill(cs_log_reader *reader, cs_error *err)
{
    size_t left = reader->length - reader->offset;

    if (reader->file == NULL || reader->is_at_end || left >= WINDOW_BYTES / 2) {
        return CS_OK;
    }
    memmove(reader->window, reader->window + reader->offset, left);
    size_t added = 0;
    if (reader->gzip != NULL) {
        CS_TRY(cs_gzip_next(reader->gzip, reader->window + left, WINDOW_BYTES - left, &added, err));
    } else {
        added = fread(reader->window + left, 1, WINDOW_BYTES - left, reader->file);
    }
    reader->offset    = 0;
    reader->length    = left + added;
    reader->is_at_end = reader->length < WINDOW_BYTES;
    if (reader->is_at_end && ferror(reader->file)) {
        return CS_FAIL(err, CS_EIO, "", "cannot be read: %s", strerror(errno));
    }
    return refuse_nul(reader, added, err);
}

cs_status cs_log_reader_next(cs_log_reader *reader, bool *more_p, cs_error *err)
{
    reader->line.fault_column = 0;
    CS_TRY(fill(reader, err));
    const char *text   = reader->text + reader->offset;
    size_t      left   = reader->length - reader->offset;
    size_t      length = line_length(text, left);

    if (left == 0) {
        *more_p = false;
        return CS_OK;
    }
    reader->line.number++;
    if (length > CS_LOG_MAX_LINE_BYTES) {
        return CS_FAIL(err, CS_EPARSE, "", "the line is too long, accepted up to %zu bytes",
                       CS_LOG_MAX_LINE_BYTES);
    }
    clean(reader, text, length);
    reader->offset += length;
    if (length < left) {
        bool is_pair = text[length] == '\r' && length + 1 < left && text[length + 1] == '\n';
        reader->offset += is_pair ? 2 : 1;
    }
    *more_p = true;
    return CS_OK;
}

char cs_log_reader_peek(const cs_log_reader *reader)
{
    size_t at = reader->offset;

    while (at < reader->length && strchr(" \t\r\n\xEF\xBB\xBF", reader->text[at]) != NULL) {
        at++;
    }
    if (at == reader->length) {
        return '\0';
    }
    return reader->text[at];
}

static cs_status make_room(cs_log_reader *reader, cs_error *err)
{
    reader->clean     = CS_NEW(char, CS_LOG_MAX_LINE_BYTES + 1);
    reader->words     = CS_NEW(char, CS_LOG_MAX_LINE_BYTES + 1);
    reader->line.text = reader->clean;
    if (reader->clean == NULL || reader->words == NULL) {
        return CS_NO_MEMORY(err, "a line of a log");
    }
    return CS_OK;
}

cs_status cs_log_reader_open(cs_log_reader *reader, const char *text, size_t length, cs_error *err)
{
    *reader = (cs_log_reader){.text = text, .length = length};
    if (length > CS_LOG_MAX_BYTES) {
        return CS_FAIL(err, CS_EINVAL, "", "%zu bytes, accepted up to %zu (256 MiB)", length,
                       CS_LOG_MAX_BYTES);
    }
    CS_TRY(refuse_nul(reader, length, err));
    return make_room(reader, err);
}

/* Is it compressed? Then it is unpacked while it is read. */
static cs_status open_gzip(cs_log_reader *reader, cs_error *err)
{
    char   begin[2];
    size_t n = fread(begin, 1, sizeof begin, reader->file);

    rewind(reader->file);
    return cs_gzip_is(begin, n) ? cs_gzip_open(reader->file, &reader->gzip, err) : CS_OK;
}

cs_status cs_log_reader_open_file(cs_log_reader *reader, const char *path, cs_error *err)
{
    struct stat info;

    *reader      = (cs_log_reader){0};
    int fd       = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe must not hold us */
    reader->file = fd >= 0 ? fdopen(fd, "rb") : NULL;
    if (reader->file == NULL) {
        cs_status status = CS_FAIL(err, CS_EIO, NULL, "cannot be opened: %s", strerror(errno));
        if (fd >= 0) {
            (void)close(fd);
        }
        return status;
    }
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        return CS_FAIL(err, CS_EIO, NULL, "is not a regular file");
    }
    CS_TRY(make_room(reader, err));
    reader->window = CS_NEW(char, WINDOW_BYTES);
    if (reader->window == NULL) {
        return CS_NO_MEMORY(err, "a part of a log");
    }
    reader->text = reader->window;
    CS_TRY(open_gzip(reader, err));
    return fill(reader, err);
}

void cs_log_reader_close(cs_log_reader *reader)
{
    if (reader->file != NULL) {
        (void)fclose(reader->file);
    }
    cs_gzip_close(reader->gzip);
    cs_free(reader->window);
    cs_free(reader->clean);
    cs_free(reader->words);
    *reader = (cs_log_reader){.line.number = reader->line.number};
}
