/* SPDX-License-Identifier: GPL-3.0-or-later */
/* campaign/wire.h -- values as bytes, and back: what crosses from one process to another.
 *
 * Numbers are little-endian and have a fixed width; a double is its 64 bits, so that it arrives
 * unchanged; a text is its length, its bytes and a NUL. Writing adds to a cs_text, which remembers
 * when memory runs out. Reading checks every length and remembers the first thing that is wrong
 * (`failed`): from then on it yields zeros and "", so that only the end needs a check.
 */
#ifndef CS_CAMPAIGN_WIRE_H
#define CS_CAMPAIGN_WIRE_H

#include "base/column.h"

void cs_wire_put_u8(cs_text *to, uint8_t value);
void cs_wire_put_u32(cs_text *to, uint32_t value);
void cs_wire_put_u64(cs_text *to, uint64_t value);
void cs_wire_put_f64(cs_text *to, double value);

/* A text without NUL inside; NULL stays NULL. */
void cs_wire_put_text(cs_text *to, const char *text);

/* Bytes of any kind, with their number in front. */
void cs_wire_put_bytes(cs_text *to, const char *bytes, size_t length);

/* All columns of a row, in the order of its table. */
void cs_wire_put_row(cs_text *to, const cs_row *row);

/* An error record without its place in the C source. */
void cs_wire_put_error(cs_text *to, const cs_error *err);

typedef struct cs_wire {
    const char *at, *end; /* what is left; borrowed */
    bool        failed;   /* it was too short, or not what was asked for */
} cs_wire;

cs_wire  cs_wire_over(const char *bytes, size_t length);
uint8_t  cs_wire_u8(cs_wire *from);
uint32_t cs_wire_u32(cs_wire *from);
uint64_t cs_wire_u64(cs_wire *from);
double   cs_wire_f64(cs_wire *from);

/* Texts and bytes are not copied: they point into what is read. */
const char *cs_wire_text(cs_wire *from);
const char *cs_wire_bytes(cs_wire *from, size_t *length_p);

/* The columns of a row into its struct, by the table that wrote them; texts are not copied. A row
 * without a text that is required is wrong. */
void cs_wire_take_row(cs_wire *from, const cs_column *columns, void *data);

/* An error record; CS_OK in it is possible, and leaves the rest empty. A status that there is not
 * is wrong. */
void cs_wire_error(cs_wire *from, cs_error *err_p);

/* CS_OK when nothing was wrong and nothing is left; else CS_EIO, saying what was read. */
cs_status cs_wire_end(const cs_wire *from, const char *what, cs_error *err);

#endif
