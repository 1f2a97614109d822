/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/plain_text.c -- see plain_text.h. UTF-8 as in RFC 3629: no overlong forms, no
 * surrogates, nothing above U+10FFFF. */
#include "traces/plain_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Bytes of the well-formed character at `text`; 0 when it is malformed or a control. */
static size_t character_bytes(const unsigned char *text)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t                bytes = text[0] < 0xc0 ? 1 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
    uint32_t              code  = bytes == 1 ? text[0] : text[0] & (0x7fu >> bytes);

    if (text[0] >= 0xf8 || (text[0] >= 0x80 && text[0] < 0xc0)) {
        return 0;
    }
    for (size_t i = 1; i < bytes; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
        code = code << 6 | (text[i] & 0x3fu);
    }
    if (code < least[bytes] || code < 0x20 || (code >= 0x7f && code < 0xa0) ||
        (code >= 0xd800 && code < 0xe000) || code > 0x10ffff) {
        return 0;
    }
    return bytes;
}

void cs_plain_text(char *to, size_t bytes, const char *from)
{
    size_t used = 0;

    while (*from != '\0') {
        size_t length = character_bytes((const unsigned char *)from);
        bool   is_bad = length == 0;

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
