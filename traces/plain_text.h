/* SPDX-License-Identifier: GPL-3.0-or-later */
/* traces/plain_text.h -- texts from logs and command lines, made fit for printing and JSON. */
#ifndef CS_TRACES_PLAIN_TEXT_H
#define CS_TRACES_PLAIN_TEXT_H

#include <stddef.h>

/* Copy `from` to `to` (room for `bytes` >= 1, always NUL-terminated) as one line of valid
 * UTF-8: control characters and malformed bytes become '?', and what does not fit is cut
 * between characters. */
void cs_plain_text(char *to, size_t bytes, const char *from);

#endif
