/* SPDX-License-Identifier: GPL-3.0-or-later */
/* input/locate.h -- line and column of a value in a JSON text.
 *
 * Jansson keeps no positions, so the text is scanned again once something is wrong with a
 * value. The scanner reads any bytes safely; what it cannot follow ends the search. Keys that
 * are written with escapes are not recognised: the object that holds them is the place then.
 */
#ifndef CS_INPUT_LOCATE_H
#define CS_INPUT_LOCATE_H

#include "input/path.h"

/* The 1-based line and column (in characters) of the byte at `offset`. */
void cs_line_column(const char *text, size_t length, size_t offset, int *line_p, int *column_p);

/* The bytes [*begin_p, *end_p) of the value at `path`; false if it is not there. O(length). */
bool cs_locate_value(const char *text, size_t length, const cs_path *path, size_t *begin_p,
                     size_t *end_p);

/* The place of the value at `path`, or of its key; of the nearest value around it where it is
 * not there. O(length). */
void cs_locate(const char *text, size_t length, const char *path, bool wants_key, int *line_p,
               int *column_p);

#endif
