/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A growing text: capacity doubles, and the first failed allocation is remembered.
 *
 * JSON strings come out as valid UTF-8: bytes that are not (file names may have them) become
 * U+FFFD.
 */
#include "base/text.h"

#include "base/alloc.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Make room for `more` bytes and a NUL behind them. */
static bool reserve(cs_text *text, size_t more)
{
    size_t limit = SIZE_MAX / 2;

    if (text->failed) {
        return false;
    }
    if (more < text->capacity - text->length) {
        return true;
    }
    size_t capacity = text->capacity > 0 ? text->capacity : 128;
    while (more < limit - text->length && capacity - text->length <= more) {
        capacity *= 2;
    }
    char *data = more < limit - text->length ? cs_realloc(text->data, capacity, 1) : NULL;
    if (data == NULL) {
        text->failed = true;
        return false;
    }
    text->data     = data;
    text->capacity = capacity;
    return true;
}

void cs_text_add(cs_text *text, const char *format, ...)
{
    va_list args, again;

    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    if (length < 0) {
        text->failed = true;
    } else if (reserve(text, (size_t)length)) {
        (void)vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
    va_end(args);
}

void cs_text_add_bytes(cs_text *text, const char *bytes, size_t length)
{
    if (reserve(text, length)) {
        memcpy(text->data + text->length, bytes, length);
        text->length += length;
        text->data[text->length] = '\0';
    }
}

void cs_number_text(double value, char *text, size_t text_bytes)
{
    if (!isfinite(value)) {
        (void)snprintf(text, text_bytes, "null");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, text_bytes, "%.*g", digits, value);
        if (strtod(text, NULL) == value) {
            return;
        }
    }
}

void cs_text_add_number(cs_text *text, double value)
{
    char number[32];

    cs_number_text(value, number, sizeof number);
    cs_text_add_bytes(text, number, strlen(number));
}

/* Bytes of the UTF-8 character at `s`, or 0 if there is none: overlong forms, surrogates and
 * what lies above U+10FFFF are none. */
static size_t utf8_length(const char *s)
{
    const unsigned char *u     = (const unsigned char *)s;
    size_t               more  = u[0] < 0x80 ? 0 : u[0] < 0xe0 ? 1 : u[0] < 0xf0 ? 2 : 3;
    unsigned             first = u[0], second = first < 0x80 ? 0 : u[1];

    if (first < 0x80) {
        return 1;
    }
    bool wrong = first < 0xc2 || first > 0xf4 || (first == 0xe0 && second < 0xa0) ||
                 (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
                 (first == 0xf4 && second > 0x8f);
    for (size_t i = 1; !wrong && i <= more; i++) {
        wrong = (u[i] & 0xc0) != 0x80;
    }
    return wrong ? 0 : more + 1;
}

/* Would it do something else than stand in a line: a control character, of ASCII or behind it? */
static bool is_control(const char *s)
{
    const unsigned char *u = (const unsigned char *)s;
    return u[0] < 0x20 || u[0] == 0x7f || (u[0] == 0xc2 && u[1] < 0xa0);
}

void cs_plain_text(char *to, size_t bytes, const char *from)
{
    size_t used = 0;

    while (*from != '\0') {
        size_t length = utf8_length(from);
        bool   is_bad = length == 0 || is_control(from);

        length = is_bad ? 1 : length;
        if (used + length >= bytes) {
            break;
        }
        memcpy(to + used, is_bad ? "?" : from, length);
        used += length;
        from += length;
    }
    to[used] = '\0';
}

/* Add one character of a JSON string and return how many bytes it had. */
static size_t add_json_character(cs_text *text, const char *s)
{
    static const char escaped[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    const char       *found  = strchr(escaped, *s);
    size_t            length = utf8_length(s);

    if (found != NULL) {
        cs_text_add(text, "\\%c", letters[found - escaped]);
    } else if ((unsigned char)*s < 0x20 || *s == 0x7f) {
        cs_text_add(text, "\\u%04x", (unsigned)*s);
    } else if (length == 0) {
        cs_text_add_bytes(text, "\xef\xbf\xbd", 3);
    } else {
        cs_text_add_bytes(text, s, length);
    }
    return length > 0 ? length : 1;
}

void cs_text_add_json_string(cs_text *text, const char *string)
{
    if (string == NULL) {
        cs_text_add_bytes(text, "null", 4);
        return;
    }
    cs_text_add_bytes(text, "\"", 1);
    while (*string != '\0') {
        string += add_json_character(text, string);
    }
    cs_text_add_bytes(text, "\"", 1);
}

void cs_text_add_csv_field(cs_text *text, const char *field)
{
    size_t length = field != NULL ? strlen(field) : 0;
    bool   spaced = length > 0 && (field[0] == ' ' || field[length - 1] == ' ');

    if (length == 0 || (!spaced && strcspn(field, ",\"\r\n") == length)) {
        cs_text_add_bytes(text, field != NULL ? field : "", length);
        return;
    }
    cs_text_add_bytes(text, "\"", 1);
    for (size_t i = 0; i < length; i++) {
        cs_text_add_bytes(text, field + i, 1);
        if (field[i] == '"') {
            cs_text_add_bytes(text, "\"", 1);
        }
    }
    cs_text_add_bytes(text, "\"", 1);
}

bool cs_ends_in(const char *text, const char *end)
{
    size_t length = strlen(text), behind = strlen(end);

    return length >= behind && strcmp(text + length - behind, end) == 0;
}

cs_status cs_text_status(const cs_text *text, cs_error *err)
{
    if (text->failed) {
        return CS_NO_MEMORY(err, "a text of more than %zu bytes", text->length);
    }
    return CS_OK;
}

void cs_text_free(cs_text *text)
{
    cs_free(text->data);
    *text = (cs_text){0};
}
