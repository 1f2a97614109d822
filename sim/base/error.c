/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The error record: filled once, by whoever decides that something is wrong.
 *
 * Every text in the record is one line: control characters become '?'. A message that does
 * not fit ends in "...", a path that does not fit begins with it.
 */
#include "cs/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *cs_status_text(cs_status status)
{
    static const char *const texts[] = {
#define X(name, text) [CS_##name] = text,
        CS_STATUS_MAP(X)
#undef X
    };
    return (unsigned)status < CS_STATUS_COUNT ? texts[status] : "unknown status";
}

bool cs_status_is_refusal(cs_status status)
{
    return status == CS_EINVAL || status == CS_ENOTSUP;
}

bool cs_status_is_failure(cs_status status)
{
    return status == CS_ENOMEM || status == CS_EIO || status == CS_EMISSING ||
           status == CS_EINTERNAL;
}

static void replace_control_characters(char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == 0x7f) {
            *text = '?';
        }
    }
}

/* Copy the head of `from`; cut text ends in "...". */
static void copy_head(char *to, size_t to_bytes, const char *from)
{
    size_t length = strnlen(from, to_bytes);

    if (length < to_bytes) {
        memcpy(to, from, length + 1);
    } else {
        memcpy(to, from, to_bytes - 4);
        memcpy(to + to_bytes - 4, "...", 4);
    }
    replace_control_characters(to);
}

/* Copy the tail of `from`; cut text begins with "...". */
static void copy_tail(char *to, size_t to_bytes, const char *from)
{
    size_t length = strlen(from);

    if (length < to_bytes) {
        memcpy(to, from, length + 1);
    } else {
        memcpy(to, "...", 3);
        memcpy(to + 3, from + length - (to_bytes - 4), to_bytes - 3);
    }
    replace_control_characters(to);
}

cs_status cs_error_set(cs_error *err, cs_status status, const char *file, int line,
                       const char *where, const char *format, ...)
{
    if (err == NULL || err->status != CS_OK) {
        return status;
    }
    char    message[sizeof err->message + 1];
    va_list args;
    va_start(args, format);
    if (vsnprintf(message, sizeof message, format, args) < 0) {
        message[0] = '\0';
    }
    va_end(args);
    err->status = status;
    err->file   = file;
    err->line   = line;
    copy_head(err->where, sizeof err->where, where != NULL ? where : "");
    copy_head(err->message, sizeof err->message, message);
    return status;
}

void cs_error_locate(cs_error *err, const char *input, int line, int column)
{
    if (err == NULL || err->status == CS_OK || err->input[0] != '\0' || err->input_line != 0) {
        return;
    }
    copy_tail(err->input, sizeof err->input, input != NULL ? input : "");
    err->input_line   = line > 0 ? line : 0;
    err->input_column = line > 0 && column > 0 ? column : 0;
}

/* The place in the user's file as "INPUT:LINE:COL: ", as far as it is known. */
static void place_text(const cs_error *err, char *text, size_t text_bytes)
{
    const char *colon = err->input[0] != '\0' ? ":" : "";

    if (err->input_line > 0 && err->input_column > 0) {
        (void)snprintf(text, text_bytes, "%s%s%d:%d: ", err->input, colon, err->input_line,
                       err->input_column);
    } else if (err->input_line > 0) {
        (void)snprintf(text, text_bytes, "%s%s%d: ", err->input, colon, err->input_line);
    } else if (err->input[0] != '\0') {
        (void)snprintf(text, text_bytes, "%s: ", err->input);
    }
}

void cs_error_reason(const cs_error *err, char *text, unsigned long text_bytes)
{
    const char *message = err->message[0] != '\0' ? err->message : cs_status_text(err->status);

    if (text_bytes > 0) {
        (void)snprintf(text, text_bytes, "%s%s%s", err->where, err->where[0] != '\0' ? ": " : "",
                       message);
    }
}

void cs_error_text(const cs_error *err, char *text, unsigned long text_bytes)
{
    char place[sizeof err->input + 32] = "", reason[sizeof err->where + sizeof err->message + 4];

    place_text(err, place, sizeof place);
    cs_error_reason(err, reason, sizeof reason);
    if (text_bytes > 0) {
        (void)snprintf(text, text_bytes, "%s%s", place, reason);
    }
}
