/* SPDX-License-Identifier: GPL-3.0-or-later */
/* base/text.h -- a growing text: everything the program prints is built in one of these.
 *
 * `cs_text text = {0};` is an empty text. When memory runs out the text remembers it
 * (`failed`) and further additions do nothing, so that only the end needs a check.
 */
#ifndef CS_BASE_TEXT_H
#define CS_BASE_TEXT_H

#include "cs/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct cs_text {
    char  *data; /* NUL-terminated once anything was added; owned */
    size_t length, capacity;
    bool   failed; /* out of memory */
} cs_text;

/* Add formatted text. */
void cs_text_add(cs_text *text, const char *format, ...) CS_PRINTF(2, 3);

/* Add `length` bytes as they are. */
void cs_text_add_bytes(cs_text *text, const char *bytes, size_t length);

/* Write a number so that it reads back exactly: the shortest of 15, 16 or 17 significant
 * digits that does. NAN and infinities become `null`. */
void cs_number_text(double value, char *text, size_t text_bytes);

/* Add a number as cs_number_text() writes it. */
void cs_text_add_number(cs_text *text, double value);

/* Add a JSON string with quotes and escapes. NULL becomes `null`. */
void cs_text_add_json_string(cs_text *text, const char *string);

/* Add one CSV field, quoted where needed. */
void cs_text_add_csv_field(cs_text *text, const char *field);

/* Copy words from logs and command lines to `to` (room for `bytes` >= 1, always NUL-terminated) as
 * one line of valid UTF-8: control characters and malformed bytes become '?', and what does not fit
 * is cut between characters. */
void cs_plain_text(char *to, size_t bytes, const char *from);

/* Are the last letters of a text these? */
bool cs_ends_in(const char *text, const char *end);

/* CS_ENOMEM if memory ran out, else CS_OK. */
cs_status cs_text_status(const cs_text *text, cs_error *err);

/* Free; the text is empty and usable again. */
void cs_text_free(cs_text *text);

#endif
