/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every value goes through put() and take_number(), which know the byte order. */
#include "campaign/wire.h"

#include <limits.h>
#include <string.h>

#define NO_TEXT UINT32_MAX

static void put(cs_text *to, uint64_t value, size_t n_bytes)
{
    char bytes[8];

    for (size_t i = 0; i < n_bytes; i++) {
        bytes[i] = (char)(unsigned char)(value >> (8 * i));
    }
    cs_text_add_bytes(to, bytes, n_bytes);
}

void cs_wire_put_u8(cs_text *to, uint8_t value)
{
    put(to, value, 1);
}

void cs_wire_put_u32(cs_text *to, uint32_t value)
{
    put(to, value, 4);
}

void cs_wire_put_u64(cs_text *to, uint64_t value)
{
    put(to, value, 8);
}

void cs_wire_put_f64(cs_text *to, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    put(to, bits, 8);
}

void cs_wire_put_text(cs_text *to, const char *text)
{
    if (text == NULL) {
        cs_wire_put_u32(to, NO_TEXT);
        return;
    }
    size_t length = strlen(text);
    if (length >= NO_TEXT) {
        to->failed = true;
        return;
    }
    cs_wire_put_u32(to, (uint32_t)length);
    cs_text_add_bytes(to, text, length + 1);
}

void cs_wire_put_bytes(cs_text *to, const char *bytes, size_t length)
{
    cs_wire_put_u64(to, length);
    cs_text_add_bytes(to, bytes, length);
}

void cs_wire_put_row(cs_text *to, const cs_row *row)
{
    for (const cs_column *c = row->columns; c->key != NULL; c++) {
        const char *member = (const char *)row->data + c->offset;
        const char *text;
        uint64_t    wide;
        uint32_t    narrow;
        double      real;

        switch (c->type) {
        case CS_COLUMN_TEXT:
        case CS_COLUMN_JSON:
            memcpy(&text, member, sizeof text);
            cs_wire_put_text(to, text);
            break;
        case CS_COLUMN_CHARS: cs_wire_put_text(to, member); break;
        case CS_COLUMN_COUNT:
        case CS_COLUMN_MAYBE:
            memcpy(&wide, member, sizeof wide);
            cs_wire_put_u64(to, wide);
            break;
        case CS_COLUMN_REAL:
            memcpy(&real, member, sizeof real);
            cs_wire_put_f64(to, real);
            break;
        case CS_COLUMN_U32:
            memcpy(&narrow, member, sizeof narrow);
            cs_wire_put_u32(to, narrow);
            break;
        case CS_COLUMN_BOOL: cs_wire_put_u8(to, *(const bool *)(const void *)member ? 1 : 0); break;
        }
    }
}

void cs_wire_put_error(cs_text *to, const cs_error *err)
{
    cs_wire_put_u8(to, (uint8_t)err->status);
    cs_wire_put_text(to, err->input);
    cs_wire_put_u32(to, (uint32_t)err->input_line);
    cs_wire_put_u32(to, (uint32_t)err->input_column);
    cs_wire_put_text(to, err->where);
    cs_wire_put_text(to, err->message);
}

cs_wire cs_wire_over(const char *bytes, size_t length)
{
    return (cs_wire){.at = bytes, .end = bytes + length};
}

/* The next `length` bytes, or NULL. */
static const char *take(cs_wire *from, size_t length)
{
    const char *bytes = from->at;

    if (from->failed || length > (size_t)(from->end - from->at)) {
        from->failed = true;
        return NULL;
    }
    from->at += length;
    return bytes;
}

static uint64_t take_number(cs_wire *from, size_t n_bytes)
{
    const char *bytes = take(from, n_bytes);
    uint64_t    value = 0;

    for (size_t i = 0; bytes != NULL && i < n_bytes; i++) {
        value |= (uint64_t)(unsigned char)bytes[i] << (8 * i);
    }
    return value;
}

uint8_t cs_wire_u8(cs_wire *from)
{
    return (uint8_t)take_number(from, 1);
}

uint32_t cs_wire_u32(cs_wire *from)
{
    return (uint32_t)take_number(from, 4);
}

uint64_t cs_wire_u64(cs_wire *from)
{
    return take_number(from, 8);
}

double cs_wire_f64(cs_wire *from)
{
    uint64_t bits = take_number(from, 8);
    double   value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* 0 or 1; anything else is wrong. */
static bool take_bool(cs_wire *from)
{
    uint8_t value = cs_wire_u8(from);

    from->failed = from->failed || value > 1;
    return value == 1;
}

const char *cs_wire_text(cs_wire *from)
{
    uint32_t length = cs_wire_u32(from);

    if (!from->failed && length == NO_TEXT) {
        return NULL;
    }
    const char *text = take(from, (size_t)length + 1);
    if (text != NULL && memchr(text, '\0', (size_t)length + 1) != text + length) {
        from->failed = true;
        text         = NULL;
    }
    return text != NULL ? text : "";
}

const char *cs_wire_bytes(cs_wire *from, size_t *length_p)
{
    uint64_t    length = cs_wire_u64(from);
    const char *bytes  = length <= SIZE_MAX ? take(from, (size_t)length) : NULL;

    from->failed = from->failed || bytes == NULL;
    *length_p    = bytes != NULL ? (size_t)length : 0;
    return bytes != NULL ? bytes : "";
}

/* A text into an array of `bytes` >= 1. NULL, and what is too long for it, is wrong: then it is "".
 */
static void take_chars(cs_wire *from, char *chars, size_t bytes)
{
    const char *text = cs_wire_text(from);

    if (text == NULL || strlen(text) >= bytes) {
        from->failed = true;
        text         = "";
    }
    memcpy(chars, text, strlen(text) + 1);
}

void cs_wire_take_row(cs_wire *from, const cs_column *columns, void *data)
{
    for (const cs_column *c = columns; c->key != NULL; c++) {
        void *member = cs_column_place(c, data);

        switch (c->type) {
        case CS_COLUMN_TEXT:
        case CS_COLUMN_JSON:
            *(const char **)member = cs_wire_text(from);
            from->failed = from->failed || (c->is_required && *(const char **)member == NULL);
            break;
        case CS_COLUMN_CHARS: take_chars(from, member, c->bytes); break;
        case CS_COLUMN_COUNT:
        case CS_COLUMN_MAYBE: *(uint64_t *)member = cs_wire_u64(from); break;
        case CS_COLUMN_REAL: *(double *)member = cs_wire_f64(from); break;
        case CS_COLUMN_U32: *(uint32_t *)member = cs_wire_u32(from); break;
        case CS_COLUMN_BOOL: *(bool *)member = take_bool(from); break;
        }
    }
}

void cs_wire_error(cs_wire *from, cs_error *err_p)
{
    char     input[sizeof err_p->input];
    char     where[sizeof err_p->where], message[sizeof err_p->message];
    uint8_t  status = cs_wire_u8(from);
    uint32_t line, column;

    take_chars(from, input, sizeof input);
    line   = cs_wire_u32(from);
    column = cs_wire_u32(from);
    take_chars(from, where, sizeof where);
    take_chars(from, message, sizeof message);
    from->failed = from->failed || status >= CS_STATUS_COUNT || line > INT_MAX || column > INT_MAX;
    *err_p       = (cs_error){0};
    if (!from->failed && status != CS_OK) {
        (void)CS_FAIL(err_p, (cs_status)status, where, "%s", message);
        cs_error_locate(err_p, input, (int)line, (int)column);
    }
}

cs_status cs_wire_end(const cs_wire *from, const char *what, cs_error *err)
{
    if (from->failed || from->at != from->end) {
        return CS_FAIL(err, CS_EIO, NULL, "%s arrived damaged", what);
    }
    return CS_OK;
}
